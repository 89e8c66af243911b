#!/usr/bin/env bash
# Conversions of number formats against others' own: the CUDA toolkit's headers as host code, and ml_dtypes, where they are installed.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

include=
for folder in ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda/include /usr/local/cuda-*/include /usr/local/include /usr/include; do
    [ -f "$folder/cuda_fp8.h" ] && include=$folder && break
done
if [ -z "$include" ] || ! command -v c++ > /dev/null; then
    echo "skip fp8 conversions against the CUDA toolkit's (no cuda_fp8.h, or no C++ compiler)"
elif ! c++ -std=c++17 -O1 -w -I"$include" -Isrc -o "$work/formats" test/run/_formats.cpp "$build/libtilec.a" -lm 2> "$work/log"; then
    if grep -q "No such file" "$work/log"; then
        echo "skip fp8 conversions against the CUDA toolkit's (its headers are not whole)"
    else
        echo "FAIL fp8 conversions do not compile"
        head -n 5 "$work/log" | sed 's/^/    /'
        failed=1
    fi
elif output=$("$work/formats"); then
    echo "ok fp8 conversions are the CUDA toolkit's: $output"
else
    echo "FAIL fp8 conversions against the CUDA toolkit's"
    head -n 8 <<< "$output" | sed 's/^/    /'
    failed=1
fi

if ! python3 -c 'import ml_dtypes, numpy' 2> /dev/null; then
    echo "skip conversions against ml_dtypes (not installed)"
elif ! ${CC:-cc} -std=c17 -O1 -Isrc -o "$work/dump" test/run/_formats_dump.c "$build/libtilec.a" -lm || ! "$work/dump" > "$work/codes"; then
    echo "FAIL conversions could not be written out"
    failed=1
else
    python3 - "$work/codes" << 'END' || failed=1
import sys
import ml_dtypes
import numpy as np

data = open(sys.argv[1], "rb").read()
codes = np.frombuffer(data, "u1", 65536 * 4).reshape(65536, 4)
values = np.frombuffer(data, "<f4", 512, 65536 * 4).reshape(256, 2)
halves = np.arange(65536, dtype="u2").view("f2").astype("f4")
bad = 0
for name, ours, kind, raw in (("e4m3", codes[:, 0], ml_dtypes.float8_e4m3fn, "u1"), ("e5m2", codes[:, 1], ml_dtypes.float8_e5m2, "u1"),
                              ("bf16", codes[:, 2].astype("u2") | codes[:, 3].astype("u2") << 8, ml_dtypes.bfloat16, "u2")):
    with np.errstate(all="ignore"):
        theirs = halves.astype(kind)
    same = (ours == theirs.view(raw)) | (np.isnan(ours.astype(raw).view(kind).astype("f4")) & np.isnan(theirs.astype("f4")))
    bad += int((~same).sum())
    if not same.all():
        at = int(np.argmin(same))
        print(f"    {name} of {halves[at]!r}: {int(ours[at]):#x}, ml_dtypes has {int(theirs.view(raw)[at]):#x}")
for name, ours, kind in (("e4m3", values[:, 0], ml_dtypes.float8_e4m3fn), ("e5m2", values[:, 1], ml_dtypes.float8_e5m2)):
    theirs = np.arange(256, dtype="u1").view(kind).astype("f4")
    bad += int((~((ours.view("u4") == theirs.view("u4")) | (np.isnan(ours) & np.isnan(theirs)))).sum())
print(f"{'FAIL' if bad else 'ok'} conversions are ml_dtypes': every half into e4m3, e5m2 and bf16, every fp8 code ({bad} differ)")
sys.exit(bad != 0)
END
fi
exit $failed
