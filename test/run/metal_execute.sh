#!/usr/bin/env bash
# Emitted MSL executed without a Mac: the host program of the kit, with test/shim/run_metal.cc in the device's place, must find the same results as the
# kernel's C, for every kernel of the corpus and for those of test/accept with other number formats, at ragged, aligned and long shapes.
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
corpus=$work/corpus shim=$PWD/test/shim
if ! command -v c++ > /dev/null || ! command -v cc > /dev/null; then
    echo 'skip execution (no C++ compiler)'
    exit 0
fi
# Statics without a default.
statics() {
    grep -ho 'static [A-Z][A-Z0-9, ]*' "$1" | sed 's/^static //' | tr ', ' '\n\n' | grep '^[A-Z]' | sort -u | sed 's/.*/--shape &=16/'
}
export -f statics
export TILEC corpus
files=$(printf 'test/accept/%s.tile\n' fragments bf16 booleans fp8 integers int8_dot q4_0 functions scalars update_in_place argmax_index transposes; ls kernels/*.tile)
names() { sed -n 's/^kernel \([A-Za-z0-9_]*\).*/\1/p' "$@" | sort -u; }
# shellcheck disable=SC2086
all=$(names $files | wc -l) own=$(names kernels/*.tile)
echo "$files" | xargs -P "$(nproc)" -I {} bash -c '"$TILEC" build {} --target metal $(statics {}) -o "$corpus" 2>&1 || echo failed' > "$work/log"
! grep -q '^failed\|error' "$work/log" && [ "$(ls "$corpus"/*.metal | wc -l)" -eq "$all" ]
check 'the kernels are built' $?
cd "$corpus" || exit 1
for text in *.metal; do
    name=${text%.metal}
    # An array of a threadgroup is one for all its threads.
    printf 'namespace kernel_%s {\n' "$name"
    sed 's/^    alignas(16) threadgroup \(.*\];\)$/    alignas(16) static \1/' "$text"
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
c++ -std=c++17 -O0 -w -ffp-contract=off -DTILEC_METAL_EXECUTE -isystem "$shim" -I. "$shim/run_metal.cc" ./*.o -lm -o run_metal > "$work/log" 2>&1
check 'the texts compile as C++' $?
./run_metal > "$work/out" 2> "$work/err"
grep '^ok\|^FAIL' "$work/out" | sed 's/^\(ok\|FAIL\) /\1 executed: /'
if grep -q '^FAIL' "$work/out" || ! grep -q '^ok' "$work/out"; then
    grep -B 4 '^FAIL' "$work/out"
    cat "$work/err"
    status=1
fi
comm -23 <(echo "$own") <(sed -n 's/^ok //p' "$work/out" | sort -u) > "$work/log"
[ ! -s "$work/log" ]
check 'every kernel of the corpus is executed' $?
grep -q '_aligned ' "$work/out"
check 'entries for aligned arrays were among them' $?
# Planted faults are seen: lanes that exchange nothing, barriers at which nobody waits.
for fault in exchange barrier; do
    SHIM_FAULT=$fault SHIM_ONLY=softmax ./run_metal > "$work/log" 2>&1
    grep -q '^FAIL softmax' "$work/log"
    check "a planted fault is seen: $fault" $?
done
exit $status
