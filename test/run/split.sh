#!/usr/bin/env bash
# Kernels whose loop runs in chunks, each a task, joined by a second kernel: the whole's meaning holds at any chunk, on the CPU, in the simulator and, through
# CUDA's interface, for blocks of threads; what can't be split is refused.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
. test/run/_cuda_on_cpu.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/k.tile" << 'END'
combine best(v, n) {
    empty = (-inf, 0)
    join(a, b) = (max(a.v, b.v), select(a.v > b.v, a.n, select(b.v > a.v, b.n, min(a.n, b.n))))
}
combine last(v, n) {
    empty = (0, 0)
    join(a, b) = (select(b.n > 0, b.v, a.v), a.n + b.n)
}
kernel columns(x: f32[R, C]) -> (y: f32[C]) {
    for tile y[c: BC] {
        s: f32[c] = 0
        for r: BR in R { s += sum[r](x[r, c]) }
        y[c] = s
    }
}
kernel total(x: f32[N], b: f32[M]) -> (y: f32[M]) {
    for tile y[i: 1] {
        s: f32[i] = b[i]
        m: f32[i] = -inf
        for n: BN in N { s += sum[n](x[n] * x[n]) m max= max[n](x[n]) }
        y[i] = s / m
    }
}
kernel counts(x: i32[N], bins: i32[M], lo: 0..1000) -> (y: i32[M], z: i32[M]) {
    for tile y[i: 1], z[i] {
        s: i32[i] = 0
        m: i32[i] = 7
        for n: BN in N where n >= lo { s += sum[n](select(x[n] == bins[i], 1, 0)) m min= min[n](x[n]) }
        y[i] = s + bins[i]
        z[i] = m
    }
}
kernel rows(a: f16[M, K], b: f16[K], c: f32[M]) -> (y: f32[M]) {
    for tile y[i: BI] {
        acc: f32[i] = 0
        for k: BK in K { acc += a[i, k] @ b[k] }
        y[i] = max(acc + c[i], 0)
    }
}
kernel most(x: f32[N]) -> (i: u32[1], v: f32[1]) {
    for tile i[one: 1], v[one] {
        acc: best(f32[one], u32[one])
        for n: BN in N { acc <- (max[n](x[n]), argmax[n](x[n])) }
        i[one] = acc.n
        v[one] = acc.v
    }
}
kernel last_of(x: f32[S, H]) -> (y: f32[H]) {
    for tile y[h: 1] {
        acc: last(f32[h], f32[h])
        for s: BS in S { acc <- (sum[s](x[s, h]), sum[s](abs(x[s, h]))) }
        y[h] = acc.v
    }
}
kernel picked(x: f32[N, G, H], w: f32[G]) -> (y: f32[G, H]) static G = 4, H = 3 {
    for tile y[g: G, h: H] {
        s: f32[g, h] = 0
        for n: BN in N { s += sum[n](x[n, g, h]) }
        y[g, h] = s * w[argmax[g](w[g])]
    }
}
END
sed -i 's/for s: BS in S { acc <- (sum\[s\](x\[s, h\]), sum\[s\](abs(x\[s, h\]))) }/for s: BS in S { acc <- (max[s](x[s, h]), sum[s](abs(x[s, h]))) }/' "$work/k.tile"

# holds NAME DEVICE ARGUMENTS..: for several chunks
holds() {
    local name=$1 device=$2 chunk output
    shift 2
    for chunk in ${CHUNKS:-1 8 64 1024}; do
        output=$("$tilec" run "$@" --device "$device" --set split=$chunk --check --explain 2>&1)
        if [ $? -eq 0 ] && grep -q "chunks of $chunk as the schedule says" <<< "$output" && grep -q "checked   all" <<< "$output" && ! grep -q "worst error nan" <<< "$output"; then
            continue
        fi
        echo "FAIL split $name on $device in chunks of $chunk"
        tail -n 5 <<< "$output" | sed 's/^/    /'
        failed=1
        return
    done
    echo "ok split $name on $device"
}
# refused NAME PATTERN ARGUMENTS..
refused() {
    local name=$1 pattern=$2 output
    shift 2
    output=$("$tilec" "$@" 2>&1)
    if [ $? -eq 1 ] && grep -q -- "$pattern" <<< "$output"; then
        echo "ok split $name"
    else
        echo "FAIL split $name"
        head -n 5 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}
all() {
    local device=$1
    holds attn_gqa "$device" kernels/attention.tile --kernel attn_gqa --shape KV=2,G=3,D=16,T=77 --arg len=70 --arg scale=0.2 --arg q=random:1 --arg k=random:2 --arg v=random:3
    holds "sums that begin with something" "$device" "$work/k.tile" --kernel total --shape N=333,M=2 --arg x=random:1 --arg b=random:2
    holds "integers and a predicate" "$device" "$work/k.tile" --kernel counts --shape N=201,M=3 --arg x=integers:1 --arg bins=integers:2 --arg lo=13
    holds "rows of a product" "$device" "$work/k.tile" --kernel rows --shape M=5,K=130 --arg a=random:1 --arg b=random:2 --arg c=random:3
    holds "a state with indices" "$device" "$work/k.tile" --kernel most --shape N=301 --arg x=random:1
    holds "a place found among what tasks keep together" "$device" "$work/k.tile" --kernel picked --shape N=201 --arg x=random:1 --arg w=random:2
    holds "nothing to do" "$device" "$work/k.tile" --kernel total --shape N=0,M=2 --arg x=random:1 --arg b=random:2
}
all cpu
CHUNKS="4 64" all sim
if (cuda_on_cpu "$work/cuda"); then
    (cuda_on_cpu "$work/cuda" && CHUNKS="4 64" all cuda && exit $failed) || failed=1
else
    echo "skip split for blocks of threads (it needs a C++ compiler and a processor with F16C)"
fi
# The routes that decode steps take on a device of warps, for kernels of that structure whatever they are called.
routes() {
    local name=$1 output
    shift
    output=$("$tilec" run "$@" --device cuda --set split=64 --check --explain 2>&1) &&
        grep -q "the tiles of \`.*\` go to 8 subgroups in turn" <<< "$output" && grep -q "results of reductions over the lanes are dealt out to them" <<< "$output" &&
        grep -q "the tiles of \`.*_part\` go to 16 subgroups" <<< "$output" && grep -q "checked   all" <<< "$output"
    if [ $? -eq 0 ]; then echo "ok split $name"; else
        echo "FAIL split $name"
        tail -n 5 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}
if (cuda_on_cpu "$work/cuda"); then
    (cuda_on_cpu "$work/cuda" || exit 1
        routes "decode attention over heads that share keys" kernels/attention.tile --kernel attn_gqa --shape KV=1,G=6,D=64,T=200 --arg len=190 --arg scale=0.2 \
            --arg q=random:1 --arg k=random:2 --arg v=random:3
        # tasks are counted in the tiles that they have: 16 of them, for a device of 132 processors
        output=$(FAKE_CUDA=h200 "$tilec" run "$work/k.tile" --kernel columns --shape R=600,C=2001 --arg x=random:1 --device cuda --check --explain 2>&1)
        if grep -q 'split: over `r`, chunks of 128: 16 tasks' <<< "$output" && grep -q "checked   all" <<< "$output"; then echo "ok split sums of columns"; else
            echo "FAIL split sums of columns"
            tail -n 5 <<< "$output" | sed 's/^/    /'
            failed=1
        fi
        routes "means weighted by learned queries" test/accept/results_apart.tile --kernel pooled --shape N=130 --arg x=random:1 --arg w=random:2 --arg bias=random:3
        if python3 -c 'import numpy' 2> /dev/null; then
            TILEC_LIBRARY=$build/libtilec.so python3 test/run/_split_lengths.py cuda > "$work/lengths" 2>&1 && echo "ok split by the length of each launch" ||
                { echo "FAIL split by the length of each launch"; tail -n 3 "$work/lengths" | sed 's/^/    /'; failed=1; }
        else
            echo "skip split by the length of each launch (no NumPy)"
        fi
        exit $failed) || failed=1
fi
refused "of several loops" "E0504.*several loops" run kernels/normalise.tile --kernel softmax --shape R=2,C=9 --arg x=random:1 --set split=4
refused "without a loop" "E0504.*no loop" run kernels/elementwise.tile --kernel vec_add --shape N=9 --set split=4
refused "into nothing" "E0504.*power of two" run "$work/k.tile" --kernel most --shape N=9 --arg x=random:1 --set split=0
refused "of a program" E0666 run kernels/argmax.tile --shape N=9 --arg x=random:1 --set split=4
refused "where kernels are written" "E0507" build "$work/k.tile" --kernel most --set split=4 -o "$work"
exit $failed
