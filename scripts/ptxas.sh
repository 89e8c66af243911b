#!/usr/bin/env bash
# Registers, spills and shared memory of every kernel of kernels/ as ptxas tells them: bench/ptxas.csv, or the file given.
#   scripts/ptxas.sh [FILE.csv] [ARCHITECTURE..]     (sm_80 sm_90a sm_100)
# Needs nvcc and ptxas: on the path, in $CUDA_HOME or in /usr/local/cuda.
cd "$(dirname "$0")/.." || exit 1
tilec=${TILEC:-${BUILD:-build}/tilec}
out=${1:-bench/ptxas.csv}
[ $# -gt 0 ] && shift
architectures=("$@")
[ $# -gt 0 ] || architectures=(sm_80 sm_90a sm_100)
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
command -v ptxas > /dev/null && command -v nvcc > /dev/null || { echo "ptxas and nvcc are not installed"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in kernels/*.tile; do # statics without a default: the corpus's values
    "$tilec" build "$file" --target cuda --shape G=6 --shape D=128 -o "$work" > /dev/null 2>&1 ||
        for kernel in $(sed -n 's/^kernel \([a-z_0-9]*\).*/\1/p' "$file"); do
            for statics in "G=6,D=128" "D=128" "G=6" ""; do
                "$tilec" build "$file" --kernel "$kernel" --target cuda ${statics:+--shape "$statics"} -o "$work" > /dev/null 2>&1 && break
            done
        done
done
version=$(ptxas --version | sed -n 's/.*release \([0-9.]*\), V\([0-9.]*\).*/\2/p')
{
    echo "kernel,architecture,entry,registers,spill_stores,spill_loads,stack_bytes,shared_bytes,ptxas"
    for source in "$work"/*.cu; do
        name=$(basename "$source" .cu)
        for architecture in "${architectures[@]}"; do
            nvcc --fmad=false -w -ptx -arch="${architecture/sm_/compute_}" -o "$work/$name.ptx" "$source" || exit 1
            ptxas -v -arch="$architecture" -o /dev/null "$work/$name.ptx" 2>&1 | awk -v OFS=, -v name="$name" -v architecture="$architecture" -v version="$version" '
                /Compiling entry function/ { split($0, part, "\047"); entry = part[2] }
                /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
                /Used [0-9]+ registers/ {
                    shared = 0
                    for (i = 2; i <= NF; i++)
                        if ($i ~ /^smem/) shared = $(i - 2)
                    match($0, /Used [0-9]+/)
                    print name, architecture, entry, substr($0, RSTART + 5, RLENGTH - 5), stores, loads, stack, shared, version
                }'
        done
    done | sort
} > "$out"
echo "$(($(wc -l < "$out") - 1)) rows in $out"
