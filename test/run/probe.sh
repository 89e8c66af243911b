#!/usr/bin/env bash
# tilec probe and tilec layout: on the model of a device, on this processor, and on the driver that runs CUDA texts on the CPU.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

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
        head -n 8 <<< "$output" | sed 's/^/    /'
        failed=1
    fi
}

model=("$tilec" probe m16n8k8.f16 --device model:h200 --dots 20000)
"${model[@]}" --evidence --store "$work/store" > "$work/found" 2>&1
expect "probe finds a model" 0 "^0$" echo $?
expect "its alignment" 0 "alignment *terms are cut to 2^(E - 25); terms are cut toward zero$" cat "$work/found"
expect "and what refuted its neighbours" 0 "\"terms are cut to 2^(E - 24)\" would give 0x" cat "$work/found"
expect "probe keeps rows" 0 '"fact":"alignment"' cat "$work"/store/*.jsonl
expect "probe writes a page of them" 0 "" "$tilec" probe --report "$work/page.html" --store "$work/store"
expect "the page has what was measured" 0 "terms are cut to 2^(E - 25)" cat "$work/page.html"
"$tilec" probe --report "$work/again.html" --store "$work/store"
expect "the same rows give the same page" 0 "" cmp "$work/page.html" "$work/again.html"
"$tilec" probe --report "$work/findings.html" --store bench/findings
expect "bench/findings.html is what the committed rows give (make reproduce)" 0 "" cmp "$work/findings.html" bench/findings.html
"$tilec" probe --describe "NVIDIA H200" > "$work/h200.json"
expect "bench/devices is what the committed rows give (make reproduce)" 0 "" cmp "$work/h200.json" bench/devices/nvidia-h200.json
expect "no findings of such a device" 1 E1205 "$tilec" probe --describe "NVIDIA H2"
expect "probe lists instructions" 0 "^wgmma.m64n8k32.e4m3$" "$tilec" probe --device cuda:0 --list
expect "and traits" 0 "^caches$" "$tilec" probe --device cuda:0 --list
expect "a processor has no banks of shared memory" 1 E1202 "$tilec" probe banks
expect "probe knows no such device" 1 E1201 "$tilec" probe --device abacus
expect "an aligned load of this processor" 0 "^movaps: a multiple of 16 bytes is taken; 8 bytes on: refused\|^skip" sh -c "[ \"\$(uname -m)\" = x86_64 ] || { echo skip; exit; }; '$tilec' probe alignment --evidence | sed 's/^ *//'"
expect "no such access" 1 E1202 "$tilec" probe abacus --offset 4
expect "there is one processor" 1 E0802 "$tilec" probe vpdpbusd --device cpu:7
expect "probe knows no such model" 1 E1201 "$tilec" probe --device model:abacus
expect "probe knows no such instruction" 1 E1203 "$tilec" probe m16n8k16.f64 --device model:h200
expect "there are kits for three targets" 1 E1206 "$tilec" probe --write "$work/none" --target c
expect "a kit of an instruction that is not there" 1 E1203 "$tilec" probe --write "$work/none" --target metal m16n8k8.f16
expect "a row that is none" 1 E1207 "$tilec" probe --read README.md
expect "rows that are not there" 1 E0880 "$tilec" probe --read "$work/nowhere.jsonl"
expect "a kit for Macs" 0 "" "$tilec" probe --write "$work/metal" --target metal --dots 1000
# Who holds what is asked by one text, whose type alone differs: the two types that differ most.
rm -f "$work"/metal/*.f32.holds.metal "$work"/metal/*.f16.f16.holds.metal
for text in "$work"/metal/*.metal; do
    expect "clang reads $(basename "$text")" 0 "dots\|holds" "$tilec" kernels "$text"
done
if command -v clang > /dev/null; then
    expect "its program, against stubs of Apple's headers" 0 "" clang -x objective-c -std=gnu11 -fobjc-arc -target arm64-apple-macosx13.0 -isystem test/shim/apple \
        -nostdlibinc -fsyntax-only -Wall -Wextra -Werror -Wno-objc-root-class "$work/metal/metal_probe.m"
else
    echo "skip the Mac's program (no clang)"
fi
# Where published layouts differ, a Mac's answers settle it: those of either camp are told for what they are.
holds() { # row and column of lane l's element e, in awk
    local hash
    hash=$(cut -d' ' -f8 "$work/metal/simdgroup_matrix.8x8.f16.layout")
    awk -v order="$1" -v hash="$hash" 'BEGIN {
        printf "{\"layout\": \"simdgroup_matrix.8x8.f16\", \"target\": \"metal\", \"device\": \"a Mac\", \"hash\": \"%s\", \"cases\": 64, \"set\": \"", hash
        for (l = 0; l < 32; l++)
            for (e = 0; e < 2; e++) {
                row = int(l / 2) % 4 + int(l / 16) * 4; column = l % 2 * 2 + int(l / 8) % 2 * 4 + e
                printf "%s%d", (l + e) ? " " : "", order == "transposed" ? column * 8 + row : order == "mixed" && l == 5 ? 0 : row * 8 + column
            }
        print "\"}"
    }' > "$work/holds.jsonl"
}
holds plain
expect "a Mac with the layout of libraries" 0 "^simdgroup_matrix.8x8.f16: as MLX" "$tilec" probe --read "$work/holds.jsonl" --store "$work/mac"
expect "is kept" 0 '"fact":"layout"' cat "$work"/mac/*.jsonl
holds transposed
expect "one with the transpose" 1 "the transpose of what MLX" "$tilec" probe --read "$work/holds.jsonl"
holds mixed
expect "one with neither" 1 "lane 5 element 1 holds (0, 0), not (2, 3)" "$tilec" probe --read "$work/holds.jsonl"
expect "versions of languages" 0 "^metal *3.1 *AIR 2.6, macOS 14" "$tilec" probe --device languages
cat > "$work/product.tile" << 'END'
kernel product(a: bf16[M, K], b: bf16[K, N]) -> (c: f32[M, N]) {
    for tile c[i: BM, j: BN] {
        acc: f32[i, j] = 0
        for k: BK in K { acc += a[i, k] @ b[k, j] }
        c[i, j] = acc
    }
}
END
expect "what an older version lacks names the first that has it" 1 "version 3.1 (AIR 2.6, macOS 14) is the first" "$tilec" build "$work/product.tile" --target metal --language 3.0 -o "$work/built"
expect "which takes it" 0 proved "$tilec" build "$work/product.tile" --target metal --language 3.1 -o "$work/built"
expect "so it is with architectures" 1 "E0554.*mma.sync.*sm_75\|E0554" "$tilec" build "$work/product.tile" --target cuda --language sm_75 -o "$work/built"
expect "there is no such version" 2 "E0860" "$tilec" build "$work/product.tile" --target metal --language 9 -o "$work/built"
expect "there is no such gate" 1 "E1203\|E0854" "$tilec" probe --device nvrtc abacus
if "$tilec" probe --device nvrtc ldmatrix 2>&1 | grep -q "E0854\|NVRTC 99"; then
    echo "skip features that NVRTC takes (no NVRTC)"
else
    "$tilec" probe --device nvrtc wgmma tcgen05 --evidence > "$work/gates" 2>&1
    expect "NVRTC takes wgmma for one architecture" 0 "^wgmma *taken for sm_90a$" cat "$work/gates"
    if command -v nvdisasm > /dev/null || [ -x /usr/local/cuda/bin/nvdisasm ]; then
        expect "what fp8 is made of" 0 "made of others: 12 F2FP.*, 2 HMMA.16816.F32, 4 FADD$" "$tilec" probe --device nvrtc m16n8k32.e4m3
    else
        expect "no disassembler: said so" 1 "E1202.*nvdisasm is missing" "$tilec" probe --device nvrtc m16n8k32.e4m3
    fi
    expect "and says why not for others" 0 "not supported on .target" cat "$work/gates"
fi
expect "probe wants a thousand dots" 2 E0860 "$tilec" probe m16n8k8.f16 --device model:h200 --dots 3
expect "a store without findings has no page" 1 E1205 "$tilec" probe --report "$work/none.html" --store "$work/nothing"

# OpenCL's kit asks conversions: what its program's rows show is what asking the device from here finds.
expect "an OpenCL kit has no matrix instruction" 1 E1203 "$tilec" probe --write "$work/none" --target opencl m16n8k8.f16
if "$tilec" devices | grep '^opencl ' | grep -qv missing; then
    "$tilec" probe --write "$work/opencl" --target opencl vload_half
    expect "an OpenCL kit's program answers" 0 "" make -s -C "$work/opencl" run
    "$tilec" probe vload_half --device opencl:0 > "$work/asked"
    "$tilec" probe --read "$work/opencl/answers.jsonl" > "$work/read"
    expect "and its rows are found" 0 "1 of 1 conversions determined" cat "$work/read"
    expect "to show what asking the device shows" 0 "" cmp "$work/read" "$work/asked"
    # Traits: the program answers a few of the questions; a whole row, of a device that is made up, is found to be what it is.
    "$tilec" probe --write "$work/opencl" --target opencl traits
    { sed -n '1,3p' "$work/opencl/device.traits"; tail -n 2 "$work/opencl/device.traits"; } > "$work/opencl/few.traits"
    expect "a kit's program asks for traits" 0 '"answers": \[[0-9.e-]*, [0-9.e-]*, -1, [0-9]*\]' "$work/opencl/opencl_probe" "$work/opencl/few.traits"
    awk 'NR == 1 { printf "{\"traits\": 1, \"target\": \"opencl\", \"device\": \"made up\", \"hash\": \"%s\", \"answers\": [", $4; next }
        { near = $2 <= 48 * 1024 ? 1 : 48 * 1024 / $2; value = $1 == "threads" ? 512 : $1 == "shared" ? -1 : near * 2 + (1 - near) * 80
          if ($1 == "chase" && $4) value += $4 < 64 ? 2 : value
          printf "%s%.6g", (NR > 2 ? ", " : ""), value } END { print "]}" }' "$work/opencl/device.traits" > "$work/traits.jsonl"
    "$tilec" probe --read "$work/traits.jsonl" > "$work/read"
    expect "its rows show caches" 0 "^caches *level 1 holds 48 KiB, and 5[0-9] KiB no longer, at 2 ns" cat "$work/read"
    expect "lines" 0 "^line *64 bytes come with a miss" cat "$work/read"
    expect "and limits" 0 "^limits *512 threads a block$" cat "$work/read"
    sed 's/"answers": .[0-9.e]*, /"answers": [/' "$work/traits.jsonl" > "$work/short.jsonl"
    expect "an answer that is missing is told" 1 "E1207.*do not go together" "$tilec" probe --read "$work/short.jsonl"
    sed 's/ 3f800000 / 3f800001 /' "$work/opencl/answers.jsonl" > "$work/changed.jsonl"
    expect "a conversion's answer that was changed shows" 1 "0x3C00 gives 0x3F800001" "$tilec" probe --read "$work/changed.jsonl"
    sed 's/ 3f800000 / /' "$work/opencl/answers.jsonl" > "$work/short.jsonl"
    expect "one that is missing is told" 1 "E1207.*do not go together" "$tilec" probe --read "$work/short.jsonl"
    sed 's/"hash": "../"hash": "xx/' "$work/opencl/answers.jsonl" > "$work/other.jsonl"
    expect "answers to other codes are told" 1 "E1207.*write it anew" "$tilec" probe --read "$work/other.jsonl"
else
    echo "skip OpenCL's kit (no device)"
fi

if grep -q avx512_bf16 /proc/cpuinfo 2> /dev/null; then
    expect "vdpbf16ps is determined" 0 "1 of 1 instructions determined" "$tilec" probe vdpbf16ps --dots 20000 --store "$work/vdpbf16ps"
    expect "vcvtneps2bf16 flushes what it reads" 0 "ties to even.*subnormals are read as zero; NaN keeps" "$tilec" probe vcvtneps2bf16
    expect "vdpbf16ps adds the odd pair first" 0 "\"verdict\":\"one product after the other, the last first\"" cat "$work"/vdpbf16ps/*.jsonl
    expect "vdpbf16ps ignores the rounding control" 0 "\"verdict\":\"rounding control and flush flags are ignored" cat "$work"/vdpbf16ps/*.jsonl
    expect "vdpbf16ps flushes what is subnormal after rounding" 0 "results that are subnormal after rounding become zero" cat "$work"/vdpbf16ps/*.jsonl
    # Intel's cores begin it every second clock, two fma a clock: no sums that wait for memory would show that.
    grep -q GenuineIntel /proc/cpuinfo &&
        expect "vdpbf16ps is half as quick as fma on Intel's" 0 '"fact":"speed".*"verdict":"not \(accelerated\|determined: the machine is noisy\)' cat "$work"/vdpbf16ps/*.jsonl
else
    echo "skip vdpbf16ps (this processor has none)"
    expect "an instruction that the processor lacks is told" 1 E1202 "$tilec" probe vdpbf16ps
fi
if grep -q amx_int8 /proc/cpuinfo 2> /dev/null; then
    expect "tiles: b's rows hold four bytes of k of each column" 0 "as documented: all 1048576 pairs" "$tilec" probe tdpbusd --dots 1000
else
    echo "skip tiles of AMX (this processor has none)"
    expect "a tile's instruction that the processor lacks is told" 1 E1202 "$tilec" probe tdpbusd
fi
if grep -q avx512_vnni /proc/cpuinfo 2> /dev/null; then
    expect "vpdpbusd wraps" 0 "sums wrap mod 2^32" "$tilec" probe vpdpbusd --dots 2000
    expect "vpdpbusds clamps" 0 "sums clamp to s32" "$tilec" probe vpdpbusds --dots 2000
else
    echo "skip vpdpbusd (this processor has none)"
fi

if "$tilec" devices | grep '^cuda ' | grep -qv missing; then
    expect "a CUDA device's f16 unit" 0 "1 of 1 instructions determined" "$tilec" probe m16n8k16.f16 --device cuda:0 --dots 1000000
else
    . test/run/_cuda_on_cpu.sh
    fake=$(mkdir -p "$build" && cd "$build" && pwd)/probe-on-cpu
    if (cuda_on_cpu "$fake"); then
        cuda_on_cpu "$fake"
        # of tf32, whose fragments are the smallest here; the driver does not know what becomes of its NaN, so the unit is not determined
        cuda=("$tilec" probe --device cuda:0 --dots 2000 m16n8k8.tf32)
        expect "CUDA texts: layouts as documented" 1 "as documented: all 8192 pairs" "${cuda[@]}"
        expect "what a device takes: more declared memory here than it tells" 1 "1024 accepted, 1025 refused; told 1024" "$tilec" probe limits --device cuda:0 --evidence
        # Two implementations of one unit: the model's in integers, the driver's in doubles.
        matmul=(run kernels/matmul.tile --kernel matmul --shape M=33,N=40,K=70 --arg a=normal:1 --arg b=normal:2 --no-check)
        expect "matmul on the driver" 0 ran "$tilec" "${matmul[@]}" --device cuda --out c="$work/driver.npy"
        expect "matmul on a recorded device" 0 ran "$tilec" "${matmul[@]}" --device model:h200 --out c="$work/model.npy"
        expect "matmul in single roundings" 0 ran "$tilec" "${matmul[@]}" --device sim --out c="$work/sim.npy"
        expect "a recorded device gives the driver's bits" 0 "" cmp "$work/driver.npy" "$work/model.npy"
        expect "and not those of single roundings" 1 differ cmp "$work/model.npy" "$work/sim.npy"
        # A device that was probed is judged by its own units: 16 products at once and two bits below the largest, where every device has 8 and one.
        share() { "$tilec" "${matmul[@]}" --device cuda --check --explain | sed -n 's/^probed *//p; s/.*worst error \([0-9.e-]*\) of its bound.*/\1/p'; }
        matmul=("${matmul[@]:0:${#matmul[@]}-1}")
        unprobed=$(share) probed=$(FAKE_CUDA=h200 share)
        expect "a device that was never probed says so" 0 "^never" echo "$unprobed"
        expect "one that was is judged by its units" 0 "^NVIDIA H200" echo "$probed"
        expect "whose bound is tighter" 0 "" awk "BEGIN { exit !(${probed##*$'\n'} > ${unprobed##*$'\n'}) }"
        # Tiles are chosen by speeds of the description: where warps multiply at a fortieth, warpgroups are taken.
        sed 's/"multiply_adds_per_second": [0-9.e+]*/"multiply_adds_per_second": 6.6e12/' bench/devices/nvidia-h200.json > "$work/slow.json"
        tiles() { FAKE_CUDA=h200 TILEC_DESCRIPTION=$1 "$tilec" run kernels/matmul.tile --kernel matmul --shape M=16,N=2048,K=128 --arg a=normal:1 --arg b=normal:2 --device cuda --no-check --explain; }
        expect "tiles of a device that was probed" 0 "tiles of 16 x 32 x 64 by a model" tiles ""
        expect "and of one whose warps are slow" 0 "tiles of 64 x 64 x 64 by warpgroups" tiles "$work/slow.json"
        # A kit: its program asks the driver, and its rows give the findings that asking it from here gives.
        expect "a kit is written" 0 "" "$tilec" probe --write "$work/kit" m16n8k16.f16 --dots 2000
        expect "and its program answers" 0 "" make -s -C "$work/kit" run
        expect "its layout too" 0 "as documented: all 32768 pairs" "$tilec" probe --read "$work/kit/answers.jsonl"
        sed 's/"set": "\([0-9]*:[0-9]*\):[0-9]*/"set": "\1:8/' "$work/kit/answers.jsonl" > "$work/moved.jsonl"
        expect "and one product that comes out elsewhere" 1 "1 of 32768 pairs of one-hot operands come out elsewhere" "$tilec" probe --read "$work/moved.jsonl"
        expect "what it answered is found" 0 "the recorded unit: 0 of 2000 random dots differ" "$tilec" probe --read "$work/kit/answers.jsonl"
        sed 's/\("answers": "[0-9a-f]\{4003\}\)[0-9a-f]/\1e/' "$work/kit/answers.jsonl" > "$work/changed.jsonl"
        expect "an answer that was changed shows" 1 "1 of 2 instructions determined" "$tilec" probe --read "$work/changed.jsonl"
        sed 's/"answers": "[0-9a-f]\{8\}/"answers": "/' "$work/kit/answers.jsonl" > "$work/short.jsonl"
        expect "an answer that is missing is told" 1 E1207 "$tilec" probe --read "$work/short.jsonl"
        sed 's/"hash": "./"hash": "x/' "$work/kit/answers.jsonl" > "$work/other.jsonl"
        expect "answers to other dots are told" 1 "E1207.*write it anew" "$tilec" probe --read "$work/other.jsonl"
        # The driver reads no PTX: what stands in for the instruction is a plain shift, which is what widening bf16 is.
        "$tilec" probe --write "$work/kit" cvt.f32.bf16
        sed -i 's/asm volatile.*/y = x << 16;/' "$work/kit/cvt.f32.bf16.cu"
        (cd "$work/kit" && ./cuda_probe cvt.f32.bf16.codes > answers.jsonl)
        expect "a conversion's answers are found" 0 "^cvt.f32.bf16: exact; subnormals are read; .*+infinity gives 0x7F800000" "$tilec" probe --read "$work/kit/answers.jsonl"
        FAKE_CUDA=lost expect "a kit's program tells what the device does" 1 "error 719" "$work/kit/cuda_probe" "$work/kit/m16n8k16.f16.dots"
        FAKE_CUDA=lost expect "a device that is lost is told" 1 E08 "${cuda[@]}" --store "$work/lost"
        expect "and nothing is recorded of it" 2 "No such file" ls "$work/lost"
        FAKE_CUDA=hangs expect "one that never answers ends the process" 143 "E1208: the device has not answered a question for 1 s" "${cuda[@]}" --patience 1 --store "$work/lost"
        expect "and records nothing either" 2 "No such file" ls "$work/lost"
        expect "the device lacks it: left out without a name, told with one" 1 "E1022\|E1202" "$tilec" probe --device cuda:0 wgmma.m64n8k16.f16
    else
        echo "skip CUDA texts on the CPU (it needs a C++ compiler and a processor with F16C)"
    fi
fi

# What judges a result is what the description says: of an H200's unit; of one that cuts at 12 bits, whose bound is wider; and a sum kept in fewer bits.
judged() { TILEC_DESCRIPTION=$1 "$tilec" run kernels/matmul.tile --kernel matmul --device model:h200 --shape M=16,N=16,K=64 --arg a=normal:1 --arg b=normal:2 --check --explain 2>&1; }
worst() { sed -n 's/.*worst error \([0-9.e-]*\) of its bound.*/\1/p'; }
expect "results of a recorded device are judged by its units" 0 "^probed *NVIDIA H200, 2026" judged ""
sed 's/"alignment": 25/"alignment": 12/' bench/devices/nvidia-h200.json > "$work/blunt.json"
expect "a description of one's own judges otherwise" 0 "" awk "BEGIN { exit !($(judged "" | worst) > 100 * $(judged "$work/blunt.json" | worst)) }"
head -n 20 bench/devices/nvidia-h200.json > "$work/torn.json"
expect "a torn description is told, with its line" 1 "E1209" judged "$work/torn.json"
echo '[]' > "$work/torn.json"
expect "and one that is none" 1 "E1209.*no .name." judged "$work/torn.json"
expect "no such recorded device" 1 E0802 "$tilec" run kernels/matmul.tile --kernel matmul --device model:abacus --shape M=1,N=1,K=1 --arg a=zeros --arg b=zeros
layout=("$tilec" layout)
expect "layout of an entry" 0 "^a: row 3, column 7 is in lane 15, register 0, bits 16 to 31" "${layout[@]}" --instruction m16n8k16.f16 --row 3 --column 7
expect "layout of a register" 0 "^a: row 1, column 11 is in lane 5, register 2" "${layout[@]}" --instruction m16n8k16.f16 --operand a --lane 5 --register 2
expect "layout of wgmma's result" 0 "64 x 24, 128 lanes of 12 elements" "${layout[@]}" --instruction wgmma.m64n24k16.bf16 --operand c
expect "layout of a simdgroup's matrix" 0 "not documented" "${layout[@]}" --target metal --instruction simdgroup_matrix.8x8.f16 --operand a
expect "layout of a processor's tile" 0 "^b: row 3, column 5 is in lane 1, register 5, bits 16 to 31" "${layout[@]}" --instruction tdpbf16ps --operand b --row 3 --column 5
expect "a picture is of one fragment" 2 E0860 "${layout[@]}" --instruction m16n8k16.f16 --format svg
expect "layout draws" 0 "</svg>" "${layout[@]}" --instruction m16n8k16.f16 --operand b --format svg
expect "banks without a swizzle" 0 "32 cycles where 4 would do" "${layout[@]}" --swizzle 0 --element f16 --stride 64
expect "banks with one" 0 "no conflict" "${layout[@]}" --swizzle 128 --element f16 --stride 64
expect "no such fragment" 1 E1210 "${layout[@]}" --instruction m16n8k16.f64
expect "no such operand in registers" 1 E1210 "${layout[@]}" --instruction wgmma.m64n8k16.f16 --operand b
expect "an entry outside" 1 E1211 "${layout[@]}" --instruction m16n8k16.f16 --operand a --row 16 --column 0
expect "half a question" 2 E0860 "${layout[@]}" --instruction m16n8k16.f16 --row 1
expect "no such form" 2 E0860 "${layout[@]}" --instruction m16n8k16.f16 --format png
exit $failed
