#!/usr/bin/env bash
# `make portable`: one executable that asks for the C library alone, and works where nothing else is.
unset MAKEFLAGS MAKELEVEL
BUILD=${BUILD:-build}
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
# What it prints must hold each of the words behind the status and the command's name.
says() { # name, wanted status, words ..., --, command ...
    local name=$1 wanted=$2 words=() got word
    shift 2
    while [ "$1" != -- ]; do words+=("$1") && shift; done
    shift
    "$@" > "$work/log" 2>&1
    got=$?
    for word in "${words[@]}"; do grep -qF -- "$word" "$work/log" || got="$got, without: $word"; done
    [ "$got" = "$wanted" ] || echo "status $got, wanted $wanted" >> "$work/log"
    [ "$got" = "$wanted" ]
    check "$name" $?
}
for archive in libisl.a libgmp.a libxxhash.a libjansson.a; do
    if [ ! -e "$(cc -print-file-name=$archive 2> /dev/null)" ]; then
        echo "skip portable ($archive is not installed)"
        exit 0
    fi
done
make -s BUILD="$BUILD" portable > "$work/log" 2>&1
check 'it builds' $?
[ $status -eq 0 ] || exit 1
mkdir -p "$work/place" "$work/home"
cp "$BUILD/tilec-portable" "$work/place/tilec"
program=$work/place/tilec
readelf -d "$program" | awk '/NEEDED/ && !/\[(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux[^]]*)\]/ { print; bad = 1 }
    /RPATH|RUNPATH/ { print; bad = 1 } END { exit bad }' > "$work/log"
check 'it needs the C library only' $?
ldd "$program" | awk '!/linux-vdso|libc\.so\.6|libm\.so\.6|ld-linux|libpthread|libdl|librt/ { print; bad = 1 } END { exit bad }' > "$work/log"
check 'nothing else is loaded with it' $?
# Symbols' versions come from the system it is linked on: on Debian 12 or older, it runs on anything since.
own=$(getconf GNU_LIBC_VERSION 2> /dev/null | awk '{ print $2 }')
newest=$(objdump -T "$program" 2> /dev/null | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
if [ -n "$own" ] && printf '%s\n2.36\n' "$own" | sort -VC; then
    printf '%s\nGLIBC_2.36\n' "$newest" | tee "$work/log" | sort -VC
    check "a C library of 2022 serves (it asks for $newest)" $?
else
    echo "skip the age of the C library (this system's own, $own, is newer than Debian 12's)"
fi

cat > "$work/place/double.tile" << 'END'
kernel double(x: f32[N]) -> (y: f32[N]) {
    for tile y[n: B] { y[n] = 2 * x[n] }
}
END
cd "$work/place" || exit 1
bare=(env -i "HOME=$work/home" PATH=/usr/bin:/bin)
alone=(env -i PATH=/nonexistent "HOME=$work/home")
says 'devices in an empty environment' 0 cpu sim opencl -- "${bare[@]}" "$program" devices
says 'check' 0 'double' 'ok' -- "${bare[@]}" "$program" check double.tile
says 'run on the cpu' 0 'double' -- "${bare[@]}" "$program" run double.tile --device cpu --arg x=iota --shape N=1000 --check
says 'its kernels are inside it' 0 matmul.tile stencil.tile -- "${bare[@]}" "$program" kernels -o kernels-here
for file in kernels-here/*.tile; do
    cmp "$file" "$OLDPWD/kernels/${file##*/}" > "$work/log" 2>&1
    check "its ${file##*/} is the folder's" $?
done
rm -r kernels-here
says 'the corpus out of the program' 0 '1 of 1 rows held' -- "${bare[@]}" "$program" corpus --device sim --kernel softmax
says 'no home, no environment at all' 0 'double' -- env -i "$program" check double.tile
says 'without a compiler, devices says so' 0 'no C compiler' 'sim' -- "${alone[@]}" "$program" devices
says 'without a compiler, the cpu refuses' 1 E0840 -- "${alone[@]}" "$program" run double.tile --device cpu --arg x=iota --shape N=100
says 'without a compiler, the simulator runs' 0 'double' -- "${alone[@]}" "$program" run double.tile --device sim --arg x=iota --shape N=100
says 'without a compiler, source is written' 0 'double' -- "${alone[@]}" "$program" build double.tile -o out

# A root with the C library alone.
root=$work/root
mkdir -p "$root/home"
for file in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
done
cp "$program" "$root/tilec" && cp double.tile "$root/"
if [ "$(id -u)" -eq 0 ] && chroot "$root" /tilec --version > /dev/null 2>&1; then
    inside=(chroot "$root")
elif unshare -r chroot "$root" /tilec --version > /dev/null 2>&1; then
    inside=(unshare -r chroot "$root")
else
    echo 'skip a root with the C library alone (this user may not enter one)'
    exit $status
fi
says 'alone with the C library: devices' 0 'cpu' 'no C compiler' 'sim' 'opencl   missing: ' -- "${inside[@]}" /tilec devices
says 'alone with the C library: check' 0 'ok' -- "${inside[@]}" /tilec check /double.tile
says 'alone with the C library: the corpus on the simulator' 0 '1 of 1 rows held' -- "${inside[@]}" /tilec corpus --device sim --kernel vec_add
says 'alone with the C library: build' 0 'double' -- "${inside[@]}" /tilec build /double.tile -o /out
says 'alone with the C library: the cpu refuses' 1 E0840 -- "${inside[@]}" /tilec run /double.tile --device cpu --arg x=iota --shape N=100
exit $status
