#!/usr/bin/env bash
# Target metal without a Mac: every text of the corpus and of test/accept is parsed by stock clang, address spaces checked, through a stand-in for Metal's
# library (test/shim); the part of the host program that speaks to the device is checked against stubs of Apple's headers. metal_execute.sh runs texts.
shopt -s nullglob
unset MAKEFLAGS MAKELEVEL
TILEC=$(realpath "$TILEC")
export TILEC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
check() {
    if [ "$2" -eq 0 ]; then echo "ok $1"; else
        echo "FAIL $1"
        head -n 30 "$work/log"
        status=1
    fi
}
corpus=$work/corpus others=$work/others shim=$PWD/test/shim
export shim
# Statics without a default: 64 where that may be.
statics() {
    grep -ho 'static [A-Z][A-Z0-9, ]*' "$1" | sed 's/^static //' | tr ', ' '\n\n' | grep '^[A-Z]' | sort -u | sed "s/.*/--shape &=$2/"
}
for file in kernels/*.tile; do
    # shellcheck disable=SC2046
    "$TILEC" build "$file" --target metal $(statics "$file" 16) -o "$corpus" > "$work/log" 2>&1
    check "the kernels of $file" $?
done
# What a target cannot do, or a proof not yet, is refused with a code; the rest is written. schedules.tile asks for choices that the target has not.
for file in test/accept/*.tile; do
    # shellcheck disable=SC2046
    "$TILEC" build "$file" --target metal $(statics "$file" 16) -o "$others" > "$work/log" 2>&1 || grep -q 'error E0\(420\|503\)' "$work/log"
    check "the kernels of $file" $?
    grep -q 'error E0' "$work/log" && echo "skip some of $file ($(grep -ho 'error E0[0-9]*' "$work/log" | sort -u | tr '\n' ' ')refused)"
done
[ "$(ls "$corpus"/*.metal | wc -l)" -ge 35 ] && [ "$(ls "$others"/*.metal | wc -l)" -ge 40 ]
check 'as many texts as there are kernels' $?

# The corpus as a kit: a program for each kernel, and shapes whose names the programs know.
scripts/metal_kit.sh "$work/kit" > "$work/log" 2>&1 && [ "$(wc -l < "$work/kit/shapes.txt")" -ge 40 ]
check 'scripts/metal_kit.sh' $?
while read -r name values; do
    for value in $values; do grep -q "^    {\"${value%%=*}\", " "$work/kit/${name}_metal.c" || echo "$name has no ${value%%=*}"; done
done < "$work/kit/shapes.txt" > "$work/log" 2>&1
[ ! -s "$work/log" ]
check 'the kit'\''s shapes name what its programs know' $?
make -n -C "$work/kit" all > "$work/log" 2>&1 && [ "$(grep -c 'clang .*_metal.c .*tilec_kit.c tilec_metal.m -framework' "$work/log")" -eq "$(ls "$work/kit"/*.metal | wc -l)" ]
check 'the kit'\''s Makefile makes a program of each' $?

# ---- parsing ----
parse() {
    clang -x clcpp -cl-std=clc++ -cl-no-stdinc -target spir64 -isystem "$shim" -fsyntax-only -Wall -Wextra -Werror -Wno-unknown-attributes -Wno-unknown-pragmas \
        -Wno-unused-function -Wno-unused-parameter "$1" > "$1.log" 2>&1 || { echo "FAIL parsing ${1##*/}"; head -n 12 "$1.log"; }
}
export -f parse
if command -v clang > /dev/null; then
    printf '%s\0' "$corpus"/*.metal "$others"/*.metal | xargs -0 -P "$(nproc)" -I {} bash -c 'parse {}' > "$work/log" 2>&1
    [ ! -s "$work/log" ]
    check "stock clang parses the $(ls "$corpus"/*.metal "$others"/*.metal | wc -l) texts" $?
    # The stand-in can refuse: an address space left out, a conversion that MSL has not, an exchange of 64 bits, a keyword as a name.
    first=$corpus/softmax.metal
    for fault in 's/device const float \*x/const float *x/' 's/(device const packed_float4 \*)/(threadgroup const packed_float4 *)/' 's/precise::fmax(total, across\[1\])/fmax(total, across[1])/' \
        's/const bool4 mask/const int4 mask/' 's/simd_shuffle_xor(r, mask)/simd_shuffle_xor(long(r), mask)/' 's/\blane\b/thread/g'; do
        sed "$fault" "$first" > "$work/fault.metal"
        cmp -s "$first" "$work/fault.metal" && echo "nothing changed by $fault" > "$work/log"
        ! cmp -s "$first" "$work/fault.metal" && parse "$work/fault.metal" | tee "$work/log" | grep -q FAIL
        check "refused: $fault" $?
    done
    clang -x objective-c -std=gnu11 -fobjc-arc -target arm64-apple-macosx13.0 -isystem "$shim/apple" -I "$corpus" -nostdlibinc -fsyntax-only -Wall -Wextra -Werror -Wno-objc-root-class "$corpus/tilec_metal.m" > "$work/log" 2>&1
    check 'the part that speaks to the device, against stubs of Apple'\''s headers' $?
else
    echo 'skip parsing (no clang)'
fi
exit $status
