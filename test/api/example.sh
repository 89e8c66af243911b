#!/usr/bin/env bash
# examples/c as its reader would use it: against an installed tilec, found by pkg-config, run from anywhere.
unset MAKEFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
check() {
    if [ "$2" -eq 0 ]; then echo "ok $1"; else
        echo "FAIL $1"
        cat "$work/log"
        status=1
    fi
}
make -s BUILD="${BUILD:-build}" PREFIX="$work/prefix" install > "$work/log" 2>&1 || { check 'install for the example' 1; exit 1; }
pc=$work/prefix/lib/pkgconfig
if command -v pkg-config > /dev/null; then
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs tilec)
else # what pkg-config would print
    flags=$(sed -n -e 's/^Cflags: //p' -e 's/^Libs: //p' "$pc/tilec.pc" | sed "s|\${prefix}|$work/prefix|g" | tr '\n' ' ')
fi
# shellcheck disable=SC2086
cc -std=c11 -Wall -Wextra -Wpedantic -Werror examples/c/nearest.c $flags -o "$work/nearest" > "$work/log" 2>&1
check 'the example builds against what was installed' $?
export LD_LIBRARY_PATH=$work/prefix/lib TILEC_CACHE=$work/cache
(cd / && "$work/nearest" "$OLDPWD/examples/c/nearest.tile") > "$work/log" 2>&1
check 'the example runs' $?
for line in 'takes table: f32\[N, D\]' 'gives at: u32\[1\]' '^cosines: schedule .*; [0-9]* properties proved, 0 checked at launch' \
    'refused, as it should be: E0644 dimension' 'nearest row: 1234'; do
    grep -q "$line" "$work/log"
    check "the example prints $line" $?
done
# Its failures leave by the door.
! "$work/nearest" nowhere.tile > "$work/log" 2>&1 && grep -q E0880 "$work/log"
check 'the example without its kernels' $?
exit $status
