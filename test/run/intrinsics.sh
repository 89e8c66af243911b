#!/usr/bin/env bash
# Intrinsics: what they compute on devices that have the functions, against the oracle; matrices of AIR and Metal out of both memories, read back and executed; names and
# contracts that a target refuses.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME STATUS PATTERN COMMAND..: every line of PATTERN is in what the command says
expect() {
    local name=$1 status=$2 pattern=$3 output got line
    shift 3
    output=$("$@" 2>&1)
    got=$?
    [ $got -eq "$status" ] || got=wrong
    while read -r line; do
        grep -qF -- "$line" <<< "$output" || got="no '$line'"
    done <<< "$pattern"
    if [ "$got" = "$status" ]; then
        echo "ok $name"
    else
        echo "FAIL $name ($got)"
        head -n 8 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}
file=test/accept/intrinsics.tile
# Bits that are random in every place, negative numbers and the ends of their ranges among them.
python3 - "$work" << 'END' || exit 1
import sys
try:
    import numpy as np
except ImportError:
    sys.exit("skip intrinsics (NumPy is not installed)")
r = np.random.default_rng(7)
for name, type in ("x", np.int32), ("y", np.int32), ("u", np.uint32), ("v", np.uint32):
    a = r.integers(np.iinfo(type).min, np.iinfo(type).max, 300, dtype=type, endpoint=True)
    a[:4] = [0, 1, np.iinfo(type).max, np.iinfo(type).min]
    np.save(f"{sys.argv[1]}/{name}.npy", a)
for name, shape in ("a", (70, 20)), ("b", (20, 40)), ("bias", 40):
    a = r.standard_normal(shape).astype(np.float32)
    np.save(f"{sys.argv[1]}/{name}.npy", a)
    np.save(f"{sys.argv[1]}/{name}_half.npy", a.astype(np.float16))
END
bits=(run "$file" --kernel bits --check --explain)
for a in x y u v; do bits+=(--arg "$a=$work/$a.npy"); done
pointers=(run "$file" --kernel pointers --shape N=301,M=304 --arg z=random:1 --arg w=random:2 --check --explain)
expect "C: builtins" 0 $'`ones` calls `__builtin_popcount` of target c\n`keep` calls `__atomic_store_n` of target c\n`dot4` computes its value\nall 900 elements; worst error 0' "$tilec" "${bits[@]}"
expect "C: pointers and cells in terms of an operand, computed" 0 'worst error 0' "$tilec" "${pointers[@]}"
if "$tilec" devices | grep '^opencl' | grep -qv missing; then
    expect "OpenCL: mad_hi and bitselect" 0 $'`product_above` calls `mad_hi`\n`pick` calls `bitselect`\nall 900 elements; worst error 0' "$tilec" "${bits[@]}" --device opencl
    expect "OpenCL: pointers to half" 0 $'`half` calls `vload_half`\n`narrow` calls `vstore_half_rte`\nworst error 0' "$tilec" "${pointers[@]}" --device opencl
else
    echo "skip intrinsics on OpenCL (no device)"
fi
expect "AIR: product from device memory" 0 $'air.simdgroup_matrix_8x8_load` of target air on global memory\nbit for bit' \
    "$tilec" check "$file" --kernel product --target air --set "operands=fragments(direct)" --explain --read-back quickest --shape M=70,N=40,K=20
expect "AIR: product_f32 from threadgroup memory, two stages" 0 $'air.simdgroup_matrix_8x8_load` of target air on shared memory\n`air.simdgroup_matrix_8x8_store` of target air on global memory\nloaded into registers before a step\nbit for bit' \
    "$tilec" check "$file" --kernel product_f32 --target air --set "operands=fragments(staged)" --set stages=2 --set BK=16 --explain --read-back quickest --shape M=70,N=40,K=20
expect "Metal: a product of a product by name" 0 $'`multiply` calls `simdgroup_multiply_accumulate` of target metal\nleft from accumulators\nbit for bit' \
    "$tilec" check "$file" --kernel layers --target metal --explain --read-back quickest --shape M=20,N=17,K=9,L=11
expect "CUDA: single elements by name are no fragments'" 0 $'products kept in fragments, refused: functions of the target are called for single elements\n`scaled` calls `__frcp_rn`' \
    "$tilec" check "$file" --kernel layers --target cuda --explain
expect "Metal: matrices by name" 0 $'`multiply` calls `simdgroup_multiply_accumulate`\n`store` calls `simdgroup_store` of target metal on global memory\n`matrix` calls `simdgroup_load` of target metal on global memory\nbit for bit' \
    "$tilec" check "$file" --kernel product --target metal --explain --read-back quickest --shape M=70,N=40,K=20
# Texts whose matrices are loaded, multiplied and stored by name, read and run; each element against NumPy's product.
by_name() {
    local name=$1 kernel=$2 text=$3 operands=$4 half=$5 suffix=$6 folder
    folder=$work/$operands
    [ -e "$folder/$text" ] || "$tilec" build "$file" --kernel "$kernel" --target "$7" --set "operands=fragments($operands)" -o "$folder" > /dev/null
    local arguments=(--arg a="$work/a$half.npy" --arg b="$work/b$half.npy" --arg "c=f32[70,40]")
    [ -z "$half" ] || arguments=("${arguments[@]:0:4}" --arg bias="$work/bias.npy" --arg "c=f16[70,40]")
    expect "$name" 0 'nothing misbehaved' "$tilec" run "$folder/$text" --kernel "${kernel}_variant_0" --device sim --block 128 --grid 2 \
        "${arguments[@]}" --arg M$suffix=70 --arg K$suffix=20 --arg N$suffix=40 --arg first_task$suffix=0 --out c="$work/c.npy"
    expect "$name: NumPy's product" 0 "" python3 - "$work" "$half" << 'END'
import sys
import numpy as np
half = sys.argv[2]
a, b, bias = (np.load(f"{sys.argv[1]}/{n}.npy").astype(np.float64) for n in (f"a{half}", f"b{half}", "bias"))
got, want = np.load(f"{sys.argv[1]}/c.npy").astype(np.float64), a @ b + (bias if half else 0)
room = 20 * 2.0**-23 * (abs(a) @ abs(b) + abs(bias)) + (2.0**-11 * abs(want) if half else 0)
wrong = np.argwhere(~(abs(got - want) <= room))
sys.exit(f"{len(wrong)} wrong, the first at {wrong[0]}" if len(wrong) else 0)
END
    rm -f "$work/c.npy"
}
by_name "AIR by name, f32 from device memory, the older spelling" product_f32 product_f32_typed.ll direct "" _0 air
by_name "AIR by name, f16 from threadgroup memory" product product.ll staged _half _0 air
by_name "MSL by name, f16 from device memory" product product.metal direct _half "" metal
"$tilec" build "$file" --kernel product --target air -o "$work/air" > /dev/null
expect "AIR: the functions by name, in both spellings" 0 \
    $'@air.simdgroup_matrix_8x8_load.v64f16.p1f16(ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)\n@air.simdgroup_matrix_8x8_load.v64f16.p1f16(half addrspace(1)*, i64, <2 x i64>, i1)\n@air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16.v64f32(<64 x half>, <64 x half>, <64 x float>)\n@air.simdgroup_matrix_8x8_store.v64f16.p1f16(<64 x half>, ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)\n@air.simdgroup_matrix_8x8_store.v64f16.p1f16(<64 x half>, half addrspace(1)*, i64, <2 x i64>, i1)' \
    cat "$work/air/product.ll" "$work/air/product_typed.ll"

# refused NAME PATTERN TARGET TEXT
refused() {
    printf '%s\n' "$4" > "$work/refused.tile"
    expect "$1" 1 "$2" "$tilec" check "$work/refused.tile" --target "$3"
}
one='kernel k(x: u32[N]) -> (y: i32[N]) { for tile y[i: B] { y[i] = f(x[i]) } }'
product='kernel k(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { for tile c[i: BM, j: BN] {
    acc: f32[i, j] = 0
    for k: BK in K { acc += f(a[i, k]) @ f(b[k, j]) }
    c[i, j] = acc } }'
refused "an unknown function: the nearest" $'E0521\n__builtin_popcount`' c "intrinsic f(x: u32) -> i32 { c = \"__builtin_popcnt\" }
$one"
refused "no function for the target" $'E0521\ndoes not say what it computes' c "intrinsic f(x: u32) -> i32 { cuda = \"__popc\" }
$one"
refused "a value that is not to stand in" $'E0521\n`otherwise = value`' c "intrinsic f(x: u32) -> i32 { cuda = \"__popc\" value = i32(x) }
$one"
refused "types that the function does not take" $'E0522\n`x` is u32, and __clz takes i32 there' cuda "intrinsic f(x: u32) -> i32 { cuda = \"__clz\" }
$one"
refused "a contract without the cell that the function reads" $'E0522\n__atomic_load_n reads p[0], and the contract of `f` names p[1..1] alone' c 'intrinsic f(p: u32[2]) -> u32 {
    reads p[1]
    c = "__atomic_load_n"(p, 0) }
kernel k(x: u32[M]) -> (y: u32[N]) where M == N + 1 { for tile y[i: B] { y[i] = f(x[i]) } }'
refused "an operand with which it reads other cells" $'E0522\nit would read other cells than the contract' metal "intrinsic f(m: f32[8, 8]) -> f32[8, 8] { reads m
 metal = \"simdgroup_load\"(m, 8) value[r, c] = m[r, c] }
$product"
refused "a function that writes, by a contract that reads" $'E0522\n__atomic_store_n gives nothing' c 'intrinsic f(p: u32[1], v: u32) -> u32 { reads p
 c = "__atomic_store_n"(p, v, 0) }
kernel k(x: u32[N]) -> (y: u32[N]) { for tile y[i: B] { y[i] = f(x[i], x[i]) } }'
refused "a product of other matrices than the function multiplies" $'E0522\nrow.col.f32.f16.f16.f32 gives f32[16, 8]' cuda 'intrinsic f(x: matrix f16[8, 8], y: matrix f16[8, 8], z: matrix f32[8, 8]) -> f32[8, 8] {
 cuda = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" value[r, c] = z[r, c] + sum[k in 0..7](x[r, k] * y[k, c]) }
kernel k(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) { for tile c[i: BM, j: BN] {
    acc: f32[i, j] = 0
    for k: BK in K { acc = f(a[i, k], b[k, j], acc) }
    c[i, j] = acc } }'
refused "a matrix where the product is made without" $'E0523' c "intrinsic f(m: f32[8, 8]) -> f32[8, 8] { reads m
 metal = \"simdgroup_load\"(m, stride(m, 0)) value[r, c] = m[r, c] }
$product"
exit $failed
