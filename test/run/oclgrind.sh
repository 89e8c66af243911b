#!/usr/bin/env bash
# Every kernel of kernels/ as OpenCL C in oclgrind, an interpreter that knows nothing of tilec: it must see no race, no access outside a buffer, no value
# read before it is written, and results within the oracle's bounds. A kernel robbed of its barriers shows that it would see a race. Some kernels are also run
# in the form that processors take, whose private arrays its 32 KiB of local memory hold.
BUILD=${BUILD:-build}
TILEC=${TILEC:-$BUILD/tilec}
driver=
for folder in /usr/lib/oclgrind /usr/local/lib/oclgrind /usr/lib/*/oclgrind; do
    [ -e "$folder/liboclgrind-rt-icd.so" ] && driver=$folder/liboclgrind-rt-icd.so
done
if [ -z "$driver" ] || ! command -v oclgrind-kernel > /dev/null; then
    echo "skip oclgrind (it is not installed)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1 OCLGRIND_CHECK_API=1 OCLGRIND_BUILD_OPTIONS=-cl-opt-disable TILEC_CACHE=$work/cache
# Its check of uninitialised values knows no `freeze`, which optimised code has: hence -cl-opt-disable.
export OCL_ICD_VENDORS=$driver OCL_ICD_FILENAMES=$driver
if ! "$TILEC" devices | grep -q '^opencl .*[Oo]clgrind'; then
    echo "skip oclgrind (the OpenCL loader does not take it as a driver)"
    exit 0
fi
failed=0
OCLGRIND_LOG=$work/log "$BUILD/values/opencl" --small --exact "$@" | sed 's/^\(ok\|FAIL\|skip\) opencl/\1 oclgrind/' > "$work/out"
[ "${PIPESTATUS[0]}" -eq 0 ] || failed=1
cat "$work/out"
if [ -s "$work/log" ]; then
    echo "FAIL oclgrind: it objects"
    head -n 40 "$work/log"
    failed=1
else
    echo "ok oclgrind finds nothing"
fi
# Its check of uninitialised values loses track of vectors of sixteen, `((float16)(1.0f)).hi` for one.
for kernel in vec_add vec_exp proj_bias proj_q8 gate_up_silu rms_norm softmax argmax_part rope embedding kv_scatter conv3; do
    env -u OCLGRIND_UNINITIALIZED OCLGRIND_LOG=$work/vectors "$BUILD/values/opencl" --small --exact --target opencl_cpu --kernel $kernel kernels/*.tile
    cat "$work/vectors" >> "$work/vectors.all"
done > "$work/out"
sed -n 's/^\(ok\|FAIL\|skip\) opencl_cpu/\1 oclgrind vectors/p' "$work/out"
if [ "$(grep -c '^ok opencl_cpu' "$work/out")" -eq 12 ] && ! [ -s "$work/vectors.all" ]; then
    echo "ok oclgrind finds nothing in vectors"
else
    echo "FAIL oclgrind: it objects to vectors"
    head -n 40 "$work/vectors.all"
    failed=1
fi
# A fault planted: the barriers gone.
"$TILEC" build kernels/normalise.tile --kernel softmax --target opencl -o "$work" > /dev/null || failed=1
sed '/barrier(/d' "$work/softmax.cl" > "$work/broken.cl"
for text in softmax broken; do
    printf '%s.cl\nsoftmax_variant_0\n256 1 1\n128 1 1\n<size=1600 fill=1 float>\n<size=1600 fill=0 float>\n<size=8 fill=200 long>\n<size=8 fill=0 long>\n' "$text" > "$work/$text.sim"
    (cd "$work" && env -u OCLGRIND_UNINITIALIZED oclgrind-kernel --data-races "$text.sim") > "$work/$text.said" 2>&1
done
if grep -qi 'data race' "$work/broken.said" && ! grep -qi 'data race\|error' "$work/softmax.said"; then
    echo "ok oclgrind sees the race when barriers are gone"
else
    echo "FAIL oclgrind: a kernel without its barriers, and the whole one, said:"
    head -n 12 "$work/broken.said" "$work/softmax.said"
    failed=1
fi
exit $failed
