#!/usr/bin/env bash
# Matrix-vector products of few rows: a row takes a block at a launch whose blocks would leave most of the device idle, in any kernel of that form, with the same
# values; the schedule may say so itself.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
. test/run/_cuda_on_cpu.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/k.tile" << 'END'
kernel plane(a: f16[B, M, K], b: f16[B, K], c: f32[M]) -> (y: f32[B, M]) {
    for tile y[h: 1, i: BI] {
        acc: f32[i] = 0
        for k: BK in K { acc += a[h, i, k] @ b[h, k] }
        y[h, i] = max(acc + c[i], 0)
    }
}
kernel two(a: f32[M, K], d: f32[M, K], b: f32[K]) -> (y: f32[M]) {
    for tile y[i: BI] {
        s: f32[i] = 0
        t: f32[i] = 0
        for k: BK in K { s += a[i, k] @ b[k] t += d[i, k] @ b[k] }
        y[i] = s * t
    }
}
END
# takes NAME ROUTE PATTERN ARGUMENTS..: every value holds, and the explanation has the pattern (or, ROUTE being `not`, has not)
takes() {
    local name=$1 route=$2 pattern=$3 output
    shift 3
    output=$("$tilec" run "$@" --check --explain 2>&1)
    if [ $? -eq 0 ] && grep -q "checked   all" <<< "$output" && { if [ "$route" = not ]; then ! grep -q "$pattern" <<< "$output"; else grep -q "$pattern" <<< "$output"; fi; }; then
        echo "ok few tasks: $name"
    else
        echo "FAIL few tasks: $name"
        tail -n 12 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}
refused() {
    local name=$1 pattern=$2 output
    shift 2
    output=$("$tilec" "$@" 2>&1)
    if [ $? -ne 0 ] && grep -q -- "$pattern" <<< "$output"; then
        echo "ok few tasks: $name"
    else
        echo "FAIL few tasks: $name"
        head -n 5 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}
plane="$work/k.tile --kernel plane --arg a=random:1 --arg b=random:2 --arg c=random:3"
two="$work/k.tile --kernel two --arg a=random:1 --arg d=random:2 --arg b=random:3"
# The device of our own has one multiprocessor: 4 blocks are few, 5 are many.
if (cuda_on_cpu "$work/cuda"); then
    cuda_on_cpu "$work/cuda"
    takes "a plane of rows" yes "routes *tasks: few: 4 blocks" $plane --device cuda --shape B=2,M=7,K=300
    takes "as many blocks as are few, long rows" yes "k over 4 subgroups x 32 lanes" $two --device cuda --shape M=16,K=4099
    takes "one block more" not "tasks: " $two --device cuda --shape M=17,K=9
    takes "a program's kernels" yes "routes *tasks: few: 3 blocks" kernels/projections.tile --kernel down_proj --device cuda --shape N=10,K=896 --arg x=random:1 --arg w=random:2
    takes "the schedule says many" not "k over 4 subgroups" $two --device cuda --shape M=5,K=9 --set tasks=many
    takes "the schedule says few" yes "k over 4 subgroups" $two --device cuda --shape M=50,K=9 --set tasks=few
else
    echo "skip few tasks on a device (it needs a C++ compiler and a processor with F16C)"
fi
takes "not on a processor" not "tasks: " $two --device cpu --shape M=5,K=9
refused "neither few nor many" "E0504.*neither few nor many" build "$work/k.tile" --kernel two --target cuda --set tasks=3 -o "$work"
refused "a target without blocks" "E0503" build "$work/k.tile" --kernel two --target c --set tasks=few -o "$work"
refused "a kernel without rows" "E0504.*no matrix-vector" build kernels/matmul.tile --kernel matmul --target cuda --set tasks=few -o "$work"
exit $failed
