#!/usr/bin/env bash
# Attention over whole sequences, and kernels like it that do not come with tilec: any length, causal or not, groups of heads, every element against the oracle,
# on the CPU, on OpenCL where there is a device, and as CUDA's text on the CPU; and by which route each target goes.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
. test/run/_cuda_on_cpu.sh
# expect NAME STATUS PATTERN COMMAND..
expect() {
    local name=$1 status=$2 pattern=$3 output got
    shift 3
    output=$("$@" 2>&1)
    got=$?
    if [ $got -eq "$status" ] && grep -q -- "$pattern" <<< "$output"; then
        echo "ok $name"
    else
        echo "FAIL $name (status $got)"
        head -n 5 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}
# causal DEVICE LENGTH HEAD_SIZE; between DEVICE QUERIES KEYS EXISTING: not causal
causal() {
    expect "attention $1: causal, $2 positions, heads of $3" 0 "worst error" "$tilec" run kernels/attention.tile --kernel flash_causal --device "$1" \
        --shape "B=1,T=$2,KV=1,G=2,D=$3" --arg q=random:1 --arg k=random:2 --arg v=random:3 --arg scale=0.125 --check
}
between() {
    expect "attention $1: $2 queries, $4 of $3 keys" 0 "worst error" "$tilec" run test/accept/chains.tile --kernel everything --device "$1" \
        --shape "M=$2,T=$3,KV=1,G=2,D=64" --arg q=random:1 --arg k=random:2 --arg v=random:3 --arg len="$4" --arg scale=0.125 --check
}
for length in 1 17 64 65 200 513; do causal cpu $length 64; done
causal cpu 65 128
between cpu 200 65 1
between cpu 17 513 500
if "$tilec" devices | grep '^opencl ' | grep -qv missing; then
    between opencl 17 65 64
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in metal air; do
    expect "attention for $target stays in fragments" 0 "stay in fragments" "$tilec" build kernels/attention.tile --kernel flash_causal --shape D=64 --target $target --explain -o "$work"
done
expect "attention for opencl: why not is told" 0 "kept in fragments, refused: target opencl has no matrix" \
    "$tilec" build kernels/attention.tile --kernel flash_causal --shape D=64 --target opencl --explain -o "$work"
expect "attention for metal has no threadgroup memory and no barrier" 1 "" grep -q 'threadgroup [^_]\|threadgroup_barrier' "$work/flash_causal.metal"
fake=$(cd "$build" && pwd)/attention-on-cpu
if ! cuda_on_cpu "$fake"; then
    echo "skip attention as CUDA's text (it needs a C++ compiler and a processor with F16C)"
    exit $failed
fi
causal cuda 17 64
causal cuda 65 64
expect "attention for cuda: keys and values are copied ahead" 0 "asynchronously into a ring of 3" "$tilec" run kernels/attention.tile --kernel flash_causal --device cuda \
    --shape B=1,T=5,KV=1,G=1,D=64 --arg q=random:1 --arg k=random:2 --arg v=random:3 --arg scale=0.125 --no-check --explain
causal cuda 64 128
between cuda 17 65 50
chain=(run test/accept/chains.tile --device cuda --check)
expect "attention cuda: a window, a bias by distance, rows' own results" 0 "worst error" "$tilec" "${chain[@]}" --kernel windowed --shape T=70,H=1 --arg q=random:1 --arg k=random:2 \
    --arg v=random:3 --arg slope=random:4 --arg window=20
expect "attention cuda: a product of a gated product" 0 "worst error" "$tilec" "${chain[@]}" --kernel gated_twice --shape M=17,K=40,N=50,L=19 --arg x=random:1 --arg wg=random:2 \
    --arg wu=random:3 --arg wd=random:4 --arg r=random:5
biased=("${chain[@]}" --kernel biased --shape M=17,T=70 --arg q=random:1 --arg k=random:2 --arg v=random:3 --arg scale=random:4 --arg bias=random:5 --arg len=61)
expect "attention cuda: keys that are computed" 0 "worst error" "$tilec" "${biased[@]}"
FAKE_CUDA=narrow-sums expect "attention cuda: sums in f16 are not taken for sums in f32" 1 E0790 "$tilec" "${biased[@]}"
exit $failed
