#!/usr/bin/env bash
# Target metal without a Mac. Every text of the corpus and of test/accept is parsed by stock clang, address spaces checked, through a stand-in for Metal's
# library (test/shim); every host program compiles as C, and the part that speaks to the device against stubs of Apple's headers. The texts of the corpus
# and of some others are executed: the kit's own program, with the shim in the device's place, must find the same results as the kernel's C.
shopt -s nullglob
TILEC=$(realpath "$TILEC")
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
executed=' bf16 booleans fp8 integers int8_dot q4_0 functions scalars update_in_place argmax_index ' # the number formats and conversions
for file in test/accept/*.tile; do
    name=${file##*/} folder=$others
    [[ $executed == *" ${name%.tile} "* ]] && folder=$corpus
    # shellcheck disable=SC2046
    "$TILEC" build "$file" --target metal $(statics "$file" 16) -o "$folder" > "$work/log" 2>&1 || grep -q 'error E0\(420\|503\)' "$work/log"
    check "the kernels of $file" $?
    grep -q 'error E0' "$work/log" && echo "skip some of $file ($(grep -ho 'error E0[0-9]*' "$work/log" | sort -u | tr '\n' ' ')refused)"
done
[ "$(ls "$corpus"/*.metal | wc -l)" -ge 45 ] && [ "$(ls "$others"/*.metal | wc -l)" -ge 30 ]
check 'as many texts as there are kernels' $?

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
        's/const bool4 mask/const int4 mask/' 's/simd_shuffle_xor(r, mask)/simd_shuffle_xor(long(r), mask)/' 's/thread_number/thread/g'; do
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

# ---- execution ----
if ! command -v c++ > /dev/null || ! command -v cc > /dev/null; then
    echo 'skip execution (no C++ compiler)'
    exit $status
fi
cd "$corpus" || exit 1
for text in *.metal; do
    name=${text%.metal}
    # An array of a threadgroup is one for all its threads.
    printf 'namespace kernel_%s {\n' "$name"
    sed 's/^    threadgroup \(.*\];\)$/    static \1/' "$text"
    echo '}'
done > metal_texts.inc
for text in *.metal; do
    sed -n "s/^kernel void \([A-Za-z0-9_]*\)(\$/ENTRY(\"\1\", kernel_${text%.metal}::\1),/p" "$text"
done > metal_entries.inc
for program in *_metal.c; do echo "PROGRAM(program_${program%_metal.c})"; done > metal_programs.inc
compile() {
    cc -std=gnu11 -O0 -w -Wno-psabi -ffp-contract=off -c "$1.c" -o "$1.o" && cc -std=gnu11 -O0 -Wall -Wextra -Werror -Wno-unused-function -Wno-psabi -Dmain="program_$1" -c "$1_metal.c" -o "$1_metal.o"
}
export -f compile
{
    printf '%s\0' *.metal | sed -z 's/\.metal$//' | xargs -0 -P "$(nproc)" -I {} bash -c 'compile {} || echo {}'
    cc -std=gnu11 -O1 -Wall -Wextra -Werror -Dtilec_main=tilec_kit_main -c tilec_kit.c -o tilec_kit.o 2>&1
} > "$work/log" 2>&1
[ ! -s "$work/log" ]
check 'the host programs compile' $?
c++ -std=c++17 -O1 -w -ffp-contract=off -DTILEC_METAL_EXECUTE -isystem "$shim" -I. "$shim/run_metal.cc" ./*.o -lm -o run_metal > "$work/log" 2>&1
check 'the texts compile as C++' $?
./run_metal > "$work/out" 2> "$work/err"
grep '^ok\|^FAIL' "$work/out" | sed 's/^\(ok\|FAIL\) /\1 executed: /'
if grep -q '^FAIL' "$work/out" || ! grep -q '^ok' "$work/out"; then
    grep -B 4 '^FAIL' "$work/out"
    cat "$work/err"
    status=1
fi
grep -q '_aligned ' "$work/out"
check 'entries for aligned arrays were among them' $?
# A planted fault is seen: lanes that exchange nothing.
SHIM_FAULT=1 SHIM_ONLY=softmax ./run_metal > "$work/log" 2>&1
grep -q '^FAIL softmax' "$work/log"
check 'a planted fault is seen' $?
exit $status
