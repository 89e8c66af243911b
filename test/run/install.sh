#!/usr/bin/env bash
# `make install` puts everything in its place, and a program of somebody else's links with what was installed.
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
make -s BUILD="${BUILD:-build}" DESTDIR="$work" PREFIX=/opt/tilec install > "$work/log" 2>&1
check 'install' $?
root=$work/opt/tilec
for file in bin/tilec lib/libtilec.a lib/libtilec.so lib/pkgconfig/tilec.pc include/tilec.h share/tilec/kernels/matmul.tile; do
    test -s "$root/$file" > "$work/log" 2>&1
    check "installed $file" $?
done
"$root/bin/tilec" explain E0880 > "$work/log" 2>&1
check 'the installed program runs' $?
# Nothing but the header's own names is needed to compile, nor exported by the library.
echo '#include <tilec.h>
int main(void) { return 0; }' > "$work/stranger.c"
private=$(sed -n 's/^Libs.private: //p' "$root/lib/pkgconfig/tilec.pc")
cc -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$root/include" "$work/stranger.c" -o "$work/shared" -L"$root/lib" -ltilec > "$work/log" 2>&1 &&
    LD_LIBRARY_PATH=$root/lib "$work/shared"
check 'a program links with the shared library' $?
# shellcheck disable=SC2086
cc -std=c17 -I"$root/include" "$work/stranger.c" -o "$work/static" "$root/lib/libtilec.a" $private > "$work/log" 2>&1 && "$work/static"
check 'a program links with the static library' $?
nm -D --defined-only "$root/lib/libtilec.so" | awk '$2 ~ /[TDBR]/ && $3 !~ /^(tilec_|_init$|_fini$)/ { print $3; bad = 1 } END { exit bad }' > "$work/log" 2>&1
check 'the library exports tilec_ names only' $?
exit $status
