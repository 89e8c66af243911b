#!/usr/bin/env bash
# The CUDA target and runtime. A device of NVIDIA's runs every kernel where there is one; elsewhere a driver of our own (_cuda_on_cpu.c) runs the same text on
# the CPU, behind the same interface, and fails on request.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
. test/run/_cuda_on_cpu.sh
# A program of a stranger's, linked with the static library and what that needs.
stranger() {
    "${CC:-cc}" -std=c17 -Wall -Wextra ${CFLAGS:-} -Iinclude -o "$1/stranger" test/run/_cuda_api.c "$build/libtilec.a" -lisl -lxxhash -ljansson -ldl -lm -lpthread -lrt &&
        "$1/stranger" || failed=1
}

if "$tilec" devices | grep '^cuda ' | grep -qv missing; then
    "$build/values/cuda" "$@" || failed=1
    work=$(mktemp -d)
    stranger "$work"
    rm -rf "$work"
    exit $failed
fi
fake=$(cd "$build" && pwd)/cuda-on-cpu
if ! cuda_on_cpu "$fake"; then
    echo "skip cuda on the CPU (it needs a C++ compiler and a processor with F16C)"
    exit $failed
fi
"$build/values/cuda" --small || failed=1
stranger "$fake"

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
softmax=(run kernels/normalise.tile --kernel softmax --device cuda --arg x=random:1)
expect "cuda devices are listed" 0 "^cuda .*sm_90" "$tilec" devices
expect "cuda rows of any length" 0 "worst error" "$tilec" "${softmax[@]}" --shape R=5,C=1001 --check
expect "cuda aligned rows" 0 "worst error" "$tilec" "${softmax[@]}" --shape R=5,C=1024 --check
FAKE_CUDA_LOG=$fake/log expect "cuda what the compiler made is told" 0 "32 registers a thread" "$tilec" "${softmax[@]}" --shape R=5,C=1024 --explain
expect "cuda rows that begin at multiples of 16 bytes take the entry for them" 0 softmax_variant_1_narrow_aligned cat "$fake/log"
expect "cuda functions and an instruction by name" 0 "\`pick\` calls \`lop3.b32\`" "$tilec" run test/accept/intrinsics.tile --kernel bits --device cuda \
    --shape N=300 --arg x=random:1 --arg y=random:2 --arg u=random:3 --arg v=random:4 --check --explain
expect "cuda a function of a pointer" 0 "\`cached\` calls \`__ldg\`" "$tilec" run test/accept/intrinsics.tile --kernel pointers --device cuda \
    --shape N=301,M=304 --arg z=random:1 --arg w=random:2 --check --explain
expect "cuda an instruction of fragments by name" 0 "\`multiply_sync\` calls \`mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\`" "$tilec" run test/accept/intrinsics.tile --kernel product_sync \
    --device cuda --shape M=70,N=40,K=20 --arg a=random:1 --arg b=random:2 --check --explain
# Rows that registers hold: which variant takes a length, with values that hold, also for kernels that do not come with tilec.
takes() {
    local entry=$1 kernel=$2
    shift 2
    FAKE_CUDA_LOG=$fake/rows expect "cuda $kernel at $1" 0 "worst error" "$tilec" run "${kernel%:*}" --kernel "${kernel#*:}" --device cuda --shape "${@:1:1}" "${@:2}" --check
    expect "cuda $kernel at $1 takes $entry" 0 "$entry " grep launch "$fake/rows"
}
for at in 1:1_narrow 33:1_narrow 1000:1_narrow_aligned 1025:2_narrow 8192:2_narrow_aligned 8193:0_narrow; do
    takes "softmax_variant_${at#*:}" kernels/normalise.tile:softmax "R=3,C=${at%:*}" --arg x=random:1
done
for at in 1000:1_narrow_aligned 1026:2_narrow; do
    takes "log_softmax_masked_variant_${at#*:}" test/accept/rows.tile:log_softmax_masked "R=3,C=${at%:*}" --arg x=random:1 --arg keep=random:2
done
for at in 512:1_narrow_aligned 514:2_narrow 4097:0_narrow; do
    takes "standardise_variant_${at#*:}" test/accept/rows.tile:standardise "B=2,T=4,C=${at%:*}" --arg x=random:1 --arg g=random:2
done
expect "cuda which variant a launch takes is told" 0 "launch        variant 1, since C <= 1024" "$tilec" "${softmax[@]}" --shape R=5,C=1000 --explain
FAKE_CUDA_LOG=$fake/program expect "cuda a program runs" 0 "ran" "$tilec" run kernels/argmax.tile --device cuda --shape N=9001 --arg x=random:1 --no-check
expect "cuda a program's launches follow each other without waiting" 0 "launch argmax_part_variant_0_narrow 3 128 launch argmax_last_variant_0_narrow 1 128 out 4 wait" \
    tr '\n' ' ' < "$fake/program"
FAKE_CUDA_LOG=$fake/graph expect "cuda launches are timed in a graph" 0 "ours@cuda" "$tilec" bench --kernel vec_add --shape N=16 --threads 1 --rounds 6 --no-store \
    --no-ceilings --sample-ms 1 ours@cuda
expect "cuda graphs are launched" 0 "^graph" cat "$fake/graph"
printf '\x93NUMPY\x01\x00\x76\x00%-117s\n\x01\x00\x00\x00\x07\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00' \
    "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }" > "$fake/ids.npy"
expect "cuda indices are checked before a launch" 1 E0603 "$tilec" run kernels/embedding.tile --kernel embedding_f32 --device cuda --shape V=8,D=64 \
    --arg table=random:1 --arg ids="$fake/ids.npy"
if python3 -c 'import numpy' 2> /dev/null; then
    TILEC_LIBRARY=$build/libtilec.so expect "cuda tensors from Python through DLPack" 0 "^taken$" python3 - << 'END'
import sys
sys.path.insert(0, "python")
import numpy as np
import tilec

class There:  # a tensor of another library's on the device
    def __init__(self, x):
        self.x = x
    def __dlpack_device__(self):
        return (2, 0)
    def __dlpack__(self, *, stream, max_version=None):
        assert stream == 1, "the launches are in order with CUDA's default stream"
        return self.x.__dlpack__()

add = tilec.kernel("kernels/elementwise.tile", "vec_add", device="cuda")
a, b, c = np.arange(40, dtype=np.float32), np.ones(40, np.float32), np.zeros(40, np.float32)
assert (add(a, b) == a + 1).all()
out = There(c)
assert add(There(a), There(b), out=out) is out and (c == a + 1).all()
for device, first in (("cuda", There(a[::2])), ("cpu", There(a))):
    try:
        tilec.kernel("kernels/elementwise.tile", "vec_add", device=device)(first, b[: first.x.size])
        sys.exit("not refused")
    except tilec.Error as e:
        assert e.code == "E0667", e
print("taken")
END
else
    echo "skip cuda tensors from Python through DLPack (no NumPy)"
fi
python3 test/lift/updates.py --device cuda:0 || failed=1
product=(run kernels/matmul.tile --kernel matmul --device cuda --arg a=random:1 --arg b=random:2 --check)
FAKE_CUDA_LOG=$fake/product expect "cuda products by matrix instructions, operands copied ahead" 0 "worst error" "$tilec" "${product[@]}" --shape M=144,N=48,K=176
expect "cuda such products take the entry for aligned arrays" 0 "matmul_variant_0.*_aligned" cat "$fake/product"
expect "cuda products of any shape" 0 "worst error" "$tilec" "${product[@]}" --shape M=131,N=77,K=99
long=(run kernels/matmul.tile --kernel matmul --device cuda --arg a=normal:1 --arg b=normal:2 --check --shape M=16,N=8,K=2048)
expect "cuda long sums" 0 "worst error" "$tilec" "${long[@]}"
FAKE_CUDA=narrow-sums expect "cuda long sums in f16 are not taken for sums in f32" 1 E0790 "$tilec" "${long[@]}"
FAKE_CUDA=short-sums expect "cuda long sums in 14 bits are not taken for sums in f32" 1 E0790 "$tilec" "${long[@]}"
# Products of warpgroups: operands along the sum and across it, several accumulators, a result that goes on, edges everywhere.
warpgroups=(--set "operands=fragments(warpgroup)" --set BN=64)
FAKE_CUDA_LOG=$fake/warpgroups expect "cuda products by warpgroups" 0 "worst error" "$tilec" "${product[@]}" "${warpgroups[@]}" --set BM=128 --set subgroups=4 --set roles=producer --shape M=136,N=72,K=200
expect "cuda rows that lie at other places are copied by all threads" 0 "_narrow [0-9]* 128$" grep launch "$fake/warpgroups"
expect "cuda such a text is for one architecture" 0 "option --gpu-architecture=sm_90a" cat "$fake/warpgroups"
expect "cuda products by warpgroups, rows apart, tiles of 128 of the sum" 0 "worst error" "$tilec" run kernels/matmul.tile --kernel gemm --device cuda --arg a=random:1 --arg w=random:2 --check \
    "${warpgroups[@]}" --set BM=64 --set BK=128 --set subgroups=4 --set stages=3 --shape M=65,N=9,K=131
FAKE_CUDA_LOG=$fake/roles expect "cuda a producer copies in bulk, both operands across, the result exchanged" 0 "worst error" "$tilec" run kernels/matmul.tile --kernel matmul_tt_gelu --device cuda --arg a=random:1 \
    --arg b=random:2 --arg bias=random:3 --check "${warpgroups[@]}" --set BM=128 --set stages=3 --set roles=producer --shape M=144,N=80,K=272
expect "cuda a producer is a warpgroup of its own" 0 "_narrow_aligned [0-9]* 384$" grep launch "$fake/roles"
FAKE_CUDA=narrow-sums expect "cuda sums of warpgroups in f16 are not taken for sums in f32" 1 E0790 "$tilec" "${product[@]}" "${warpgroups[@]}" --set BM=64 --set subgroups=4 --shape M=64,N=64,K=176
# Operands of bytes: whole numbers exactly; 8-bit floats to the bit as the model of an H200's unit, which keeps 14 bits, gives them: no bound of the oracle's tells so much.
cat > "$fake/bytes.tile" << 'END'
kernel whole(x: i8[M, K], w: i8[N, K], bias: i32[N]) -> (y: i32[M, N]) {
    for tile y[i: BM, j: BN] {
        acc: i32[i, j] = 0
        for k: BK in K { acc += x[i, k] @ w[j, k] }
        y[i, j] = max(acc + bias[j], 0)
    }
}
kernel floats(x: e4m3[M, K], w: e4m3[N, K], scale: f32[N]) -> (y: f32[M, N]) {
    for tile y[i: BM, j: BN] {
        acc: f32[i, j] = 0
        for k: BK in K { acc += x[i, k] @ w[j, k] }
        y[i, j] = acc * scale[j]
    }
}
END
bytes=(run "$fake/bytes.tile" --set "operands=fragments(warpgroup)" --set BM=64 --set BN=64 --set subgroups=4 --arg w=normal:2)
expect "cuda products of bytes by warpgroups" 0 "worst error 0 of" "$tilec" "${bytes[@]}" --kernel whole --device cuda --arg x=random:1 --arg bias=random:3 --check --shape M=65,N=9,K=160
floats=("${bytes[@]}" --kernel floats --set roles=producer --set promote=256 --arg x=normal:1 --arg scale=positive:3 --no-check --shape M=33,N=9,K=288)
"$tilec" "${floats[@]}" --device model:h200 --out y="$fake/model.npy" > "$fake/said" 2>&1 && "$tilec" "${floats[@]}" --device cuda --out y="$fake/floats.npy" >> "$fake/said" 2>&1
expect "cuda products of 8-bit floats by warpgroups, to the bit" 0 "" cmp "$fake/model.npy" "$fake/floats.npy"
# Operands that threads make themselves beside one that is copied: rounded, rounded and turned round, unpacked.
cat > "$fake/filled.tile" << 'END'
kernel filled(a: f32[M, K], b: f32[K, N], x: f16[M, K], w: q8_0[N, K]) -> (y: f32[M, N]) {
    for tile y[i: BM, j: BN] {
        acc: f32[i, j] = 0
        more: f32[i, j] = 0
        for k: BK in K {
            acc += tf32(a[i, k]) @ tf32(b[k, j])
            more += x[i, k] @ f16(w[j, k])
        }
        y[i, j] = acc + more
    }
}
END
expect "cuda products by warpgroups of operands that threads make" 0 "worst error" "$tilec" run "$fake/filled.tile" --device cuda "${warpgroups[@]}" --set BM=64 --set subgroups=4 \
    --arg a=normal:1 --arg b=normal:2 --arg x=normal:3 --arg w=normal:4 --check --shape M=65,N=9,K=96
expect "cuda products of tf32" 0 "worst error" "$tilec" run test/accept/bf16.tile --kernel gemm_tf32 --device cuda --arg a=normal:1 --arg w=normal:2 --arg r=normal:3 --check --shape M=19,N=9,K=37
FAKE_CUDA=ampere expect "cuda products by warpgroups on a device without them" 1 "E0858.*compute capability 9.0" "$tilec" "${product[@]}" "${warpgroups[@]}" --shape M=64,N=64,K=64
FAKE_CUDA=many expect "cuda tiles of a product for the device's processors" 0 "tiles of .* us; the next best, .* us$" "$tilec" run kernels/matmul.tile --kernel matmul --device cuda \
    --arg a=random:1 --arg b=random:2 --check --explain --shape M=40,N=40,K=64
FAKE_CUDA=no-device expect "cuda without a device" 1 "does not start" "$tilec" "${softmax[@]}" --shape R=5,C=9
FAKE_CUDA=no-device expect "cuda without a device leaves the others" 0 "^cpu" "$tilec" devices
FAKE_CUDA=old expect "cuda with an old driver" 1 "11.4 is needed" "$tilec" "${softmax[@]}" --shape R=5,C=9
FAKE_CUDA=capability expect "cuda on an old device" 1 E0855 "$tilec" "${softmax[@]}" --shape R=5,C=9
FAKE_CUDA=registers expect "cuda a kernel that takes too many registers" 1 "E0858.*32 registers" "$tilec" "${softmax[@]}" --shape R=5,C=9
many=() declared= sum=x[n]
for i in $(seq 260); do
    declared+="s$i: f32, "
    sum+=$([ $((i % 26)) -eq 1 ] && [ $i -gt 1 ] && echo ")")$([ $((i % 26)) -eq 1 ] && echo " + (s$i" || echo " + s$i") # groups: an expression nests 200 deep at most
    many+=(--arg "s$i=1")
done
sum+=")"
echo "kernel many(${declared}x: f32[N]) -> (y: f32[N]) { for tile y[n: B] { y[n] = $sum } }" > "$fake/many.tile"
expect "cuda a kernel of too many parameters" 1 "E0858.*parameters" "$tilec" run "$fake/many.tile" --device cuda --shape N=9 --arg x=random:1 "${many[@]}"
FAKE_CUDA=newer FAKE_CUDA_LOG=$fake/newer expect "cuda on a device newer than NVRTC" 0 "worst error" "$tilec" "${softmax[@]}" --shape R=5,C=9
expect "cuda as PTX for the newest that NVRTC knows" 0 "option --gpu-architecture=compute_90" cat "$fake/newer"
FAKE_CUDA=no-memory expect "cuda without memory" 1 "E0803.*are free" "$tilec" "${softmax[@]}" --shape R=5,C=9
FAKE_CUDA=lost expect "cuda loses the device" 1 E0859 "$tilec" "${softmax[@]}" --shape R=5,C=9
TILEC_NVRTC=/nowhere/libnvrtc.so expect "cuda without NVRTC" 1 E0854 "$tilec" "${softmax[@]}" --shape R=5,C=9 --set BC=512
exit $failed
