#!/usr/bin/env bash
# `tilec build --target all`: every target in a folder of its own; what one refuses hinders no other.
TILEC=$(realpath "$TILEC")
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
status=0
check() {
    if [ "$2" -eq 0 ]; then echo "ok $1"; else
        echo "FAIL $1"
        cat log
        status=1
    fi
}
# The targets there are, by the note of an unknown one.
"$TILEC" check --target nonesuch "$root/kernels/stencil.tile" > log 2>&1
targets=$(sed -n 's/^ *| *\([a-z_]*\):.*/\1/p' log)
[ "$(wc -w <<< "$targets")" -ge 2 ]
check 'the targets are listed' $?
"$TILEC" build "$root/kernels/elementwise.tile" --kernel vec_add --target all -o out > log 2>&1
check 'vec_add for every target' $?
for target in $targets; do
    [ "$(grep -c "^vec_add  *$target  *proved in" log)" -eq 1 ] && [ -n "$(find "out/$target" -name 'vec_add.*' -size +0)" ]
    check "one line and files for $target" $?
done
# What all writes is what each target writes alone.
for target in $targets; do
    "$TILEC" build "$root/kernels/elementwise.tile" --kernel vec_add --target "$target" -o "alone-$target" > /dev/null 2> log && diff -r "out/$target" "alone-$target" > log 2>&1
    check "$target: the same files as alone" $?
done
cat > two.tile << 'END'
program twice(x: f32[N]) -> (z: f32[N]) {
    y = double(x)
    z = double(y)
}
kernel double(x: f32[N]) -> (y: f32[N]) {
    for tile y[n: B] { y[n] = 2 * x[n] }
}
END
"$TILEC" build two.tile --kernel twice --target all -o programs > log 2>&1
[ $? -eq 1 ]
check 'a program: what some targets refuse makes the status 1' $?
grep -q '^twice .*written to programs/c' log && [ -s programs/c/twice.c ]
check 'and the others are written' $?
grep -q '^twice  *opencl  *refused: E0868' log
check 'and the refusal names its target and code' $?
# A kernel of 32 arrays and an extent: more than the 31 buffers of a Metal launch, by MSL or AIR; the other kernel of the file is written everywhere.
{
    printf 'kernel many('
    for i in $(seq 0 31); do printf '%sx%d: f32[N]' "${comma-}" "$i" && comma=', '; done
    printf ') -> (y: f32[N]) {\n    for tile y[n: B] { y[n] = x0[n]'
    for i in $(seq 1 31); do printf ' + x%d[n]' "$i"; done
    printf ' }\n}\n'
    tail -n 3 two.tile
} > many.tile
"$TILEC" build many.tile --target all -o many > log 2>&1
[ $? -eq 1 ] && grep -q '^many  *metal  *refused: E0551' log && grep -q '^many  *air  *refused: E0551' log && [ "$(grep -c '^many .*proved in' log)" -eq $(($(wc -w <<< "$targets") - 2)) ]
check 'a kernel that one target refuses' $?
[ "$(grep -c '^double .*proved in' log)" -eq "$(wc -w <<< "$targets")" ] && [ -s many/c/many.c ] && [ -s many/metal/double_.metal ] && [ ! -e many/metal/many.metal ]
check 'the others, and the other kernel, are written' $?
"$TILEC" build two.tile --kernel nothing --target all -o none > log 2>&1
[ $? -eq 1 ] && grep -q E0646 log
check 'no such kernel' $?
"$TILEC" build two.tile --target all --json -o json > log 2>&1 && python3 -c '
import json, sys
rows = json.load(open("log"))["kernels"]
sys.exit(not (len(rows) == len(sys.argv) - 1 and {r["target"] for r in rows} == set(sys.argv[1:]) and all(r["held"] for r in rows)))' $targets
check '--json tells each target' $?
exit $status
