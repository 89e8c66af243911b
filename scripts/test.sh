#!/usr/bin/env bash
# Runs every suite, or those whose names contain one of the arguments, and ends with one line of counts.
# A suite is
#   unit/X, asan/X, valgrind/X   $BUILD/unit/test_X as it is, built with sanitizers, and under valgrind (TILEC_QUICK=1)
#   test/*.sh test/*.py test/*/*.sh test/*/*.py   not beginning with `_`; run from the root with $TILEC, $BUILD; prints
#       `ok NAME`, `FAIL NAME ...` or `skip NAME (why)` a line, other lines being explanation, and exits non-zero after a failure
# A suite that prints no result, or ends badly without having said FAIL, counts as one failure. Suites run side by side; those named *_alone.* after the others.
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build}
export TILEC=${TILEC:-$BUILD/tilec}
logs=$BUILD/test-logs
limit=${TEST_LIMIT:-1800} # seconds a suite may take
jobs=${JOBS:-$(nproc)}

if [ "${1:-}" = --one ]; then
    suite=$2
    log=$logs/${suite//\//-}
    start=$(date +%s.%N)
    case $suite in
    unit/*) CMOCKA_MESSAGE_OUTPUT=TAP timeout "$limit" "$BUILD/unit/test_${suite#unit/}" > "$log.log" 2>&1 ;;
    asan/*) TILEC_QUICK=1 timeout "$limit" "$BUILD/asan/unit/test_${suite#asan/}" > "$log.log" 2>&1 ;;
    valgrind/*)
        TILEC_QUICK=1 timeout "$limit" valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
            "$BUILD/unit/test_${suite#valgrind/}" > "$log.log" 2>&1
        ;;
    *.py) timeout "$limit" python3 "$suite" > "$log.log" 2>&1 ;;
    *) timeout "$limit" bash "$suite" > "$log.log" 2>&1 ;;
    esac
    status=$?
    times > "$log.times" # of this shell, then of what it ran
    seconds=$(echo "$start $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    case $suite in
    unit/*)
        passed=$(grep -c '^ok [0-9]*\( - \|$\)' "$log.log")
        failed=$(grep '^not ok ' "$log.log" | grep -vc '# SKIP') # cmocka calls a skipped test not ok
        skipped=$(grep -cE '^(not )?ok [0-9]* # SKIP' "$log.log")
        ;;
    asan/* | valgrind/*)
        passed=$((status == 0)) failed=$((status != 0)) skipped=0
        ;;
    *)
        passed=$(grep -c '^ok ' "$log.log")
        failed=$(grep -c '^FAIL ' "$log.log")
        skipped=$(grep -c '^skip ' "$log.log")
        ;;
    esac
    note=
    if [ "$failed" -eq 0 ] && [ $status -ne 0 ]; then
        failed=1
        note=" (ended with status $status)"
        [ $status -eq 124 ] && note=" (stopped after $limit s)"
    elif [ $((passed + failed + skipped)) -eq 0 ]; then
        failed=1
        note=" (printed no result)"
    fi
    echo "$passed $failed $skipped" > "$log.count"
    processor=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += t[1] * 60 + t[2] } printf "%.1f", s }' "$log.times")
    echo "$processor $seconds $suite" > "$log.seconds"
    printf '%-34s %5d passed %3d failed %3d skipped %7s s (%s s of a processor)%s\n' "$suite" "$passed" "$failed" "$skipped" "$seconds" "$processor" "$note"
    exit 0
fi

mkdir -p "$logs" && rm -f "$logs"/*
# Suites say `python3`; let it be one that has NumPy (see scripts/setup.sh).
mkdir -p "$BUILD/test-bin" && rm -f "$BUILD/test-bin/python3"
if ! python3 -c 'import numpy' 2> /dev/null && /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
    ln -s /usr/bin/python3 "$BUILD/test-bin/python3"
fi
PATH=$(cd "$BUILD/test-bin" && pwd):$PATH
suites=()
for file in test/*/*.py test/*/*.sh test/*.py test/*.sh; do
    case ${file##*/} in _* | '*.py' | '*.sh') ;; *) suites+=("$file") ;; esac
done
for source in test/unit/test_*.c; do
    name=${source##*/test_}
    name=${name%.c}
    if command -v valgrind > /dev/null; then suites+=("valgrind/$name"); fi
    suites+=("unit/$name" "asan/$name")
done
if [ $# -gt 0 ]; then
    chosen=()
    for suite in "${suites[@]}"; do
        for word in "$@"; do [[ $suite == *"$word"* ]] && chosen+=("$suite") && break; done
    done
    suites=("${chosen[@]}")
fi
# Those that take longest begin, so that both cores stay busy to the end: what they took is in $BUILD/test-logs/*.seconds.
long=(test/run/random_programs.sh test/run/metal_execute.sh test/run/opencl.sh test/run/reference.py test/bench/device_arms.py test/mutate/mutate.sh test/api/threads.sh
    unit/prove_faults valgrind/oracle valgrind/smt test/run/oclgrind.sh test/run/cuda.sh test/run/warnings.sh)
side_by_side=() alone=()
for suite in "${long[@]}"; do
    for chosen in "${suites[@]}"; do [ "$chosen" = "$suite" ] && side_by_side+=("$suite"); done
done
for suite in "${suites[@]}"; do
    case " ${long[*]} " in *" $suite "*) continue ;; esac
    case $suite in *_alone.*) alone+=("$suite") ;; *) side_by_side+=("$suite") ;; esac
done
[ ${#side_by_side[@]} -gt 0 ] && printf '%s\0' "${side_by_side[@]}" | xargs -0 -P "$jobs" -n 1 "$0" --one
[ ${#alone[@]} -gt 0 ] && printf '%s\0' "${alone[@]}" | xargs -0 -P 1 -n 1 "$0" --one

passed=0 failed=0 skipped=0
for suite in "${suites[@]}"; do
    log=$logs/${suite//\//-}
    if [ -e "$log.count" ]; then
        read -r p f s < "$log.count"
    else
        p=0 f=1 s=0
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ "$s" -gt 0 ] && grep -h '^skip ' "$log.log"
    if [ "$f" -gt 0 ]; then
        printf '\n---- %s\n' "$suite"
        # Everything about each failure when the log is short; otherwise the failing lines and the end.
        if [ "$(wc -l < "$log.log")" -le 80 ]; then
            cat "$log.log"
        else
            grep -E '^(FAIL|not ok|# .*(error|[Ff]ail))' "$log.log" | head -n 40
            echo ...
            tail -n 30 "$log.log"
        fi
    fi
done
echo "$passed passed, $failed failed, $skipped skipped" | tee "$logs/total"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
