#!/usr/bin/env bash
# Runs each fuzz program for its share of FUZZ_SECONDS, starting from the kernels and the rejected programs as examples.
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
programs=("$BUILD"/fuzz/run/*)
[ -x "${programs[0]}" ] || { echo 'no fuzz programs were built (test/fuzz/*.c)'; exit 1; }
share=$((${FUZZ_SECONDS:-600} / ${#programs[@]}))
for program in "${programs[@]}"; do
    name=${program##*/}
    corpus=$BUILD/fuzz/corpus/$name
    mkdir -p "$corpus" "$BUILD/fuzz/crashes"
    examples=()
    for folder in kernels test/accept test/reject test/kernel-ir test/lift "test/fuzz/$name"; do [ -d "$folder" ] && examples+=("$folder"); done
    echo "$name: $share s"
    "$program" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
        -artifact_prefix="$BUILD/fuzz/crashes/$name-" "$corpus" "${examples[@]}" > "$BUILD/fuzz/$name.log" 2>&1 || {
        tail -n 60 "$BUILD/fuzz/$name.log"
        echo "FAIL fuzz $name: the input is in $BUILD/fuzz/crashes"
        exit 1
    }
    grep -E 'stat::number_of_executed_units|cov:' "$BUILD/fuzz/$name.log" | tail -n 2
    echo "ok fuzz $name"
done
