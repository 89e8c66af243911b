#!/usr/bin/env bash
# Two threads compile and launch at once, under ThreadSanitizer: the library, the pool of threads, the cache, and the kernels themselves.
unset MAKEFLAGS MAKELEVEL
build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! echo 'int main(void) { return 0; }' | cc -fsanitize=thread -x c - -o "$work/probe" 2> /dev/null || ! "$work/probe" 2> /dev/null; then
    echo 'skip threads (ThreadSanitizer does not work here)'
    exit 0
fi
if ! make -s -j"$(nproc)" BUILD="$build/tsan" CC=cc SANITIZE=thread CFLAGS='-O0 -g1' "$build/tsan/libtilec.a" > "$work/log" 2>&1 ||
    ! cc -std=c11 -g -Wall -Wextra -Wpedantic -fsanitize=thread -Iinclude test/api/threads.c -o "$work/threads" "$build/tsan/libtilec.a" \
        -lisl -lxxhash -ljansson -ldl -lm -lpthread > "$work/log" 2>&1; then
    echo 'FAIL threads: it does not build'
    cat "$work/log"
    exit 1
fi
status=0
# The system's loader has a lock of its own that the sanitizer cannot see.
printf 'race:_dl_close\nrace:_dl_open\nrace:_dl_map_object\nrace:_dl_relocate_object\n' > "$work/loader"
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 suppressions=$work/loader print_suppressions=0" TILEC_THREADS=3
run() {
    "$work/threads" > "$work/out" 2> "$work/log"
    local code=$?
    sed "s/^\(ok\|FAIL\) .*/&$1/" "$work/out"
    if grep -q 'WARNING: ThreadSanitizer' "$work/log"; then
        echo "FAIL no data races$1"
        head -n 60 "$work/log"
        status=1
    elif [ $code -ne 0 ]; then
        status=1
        cat "$work/log"
        [ -s "$work/out" ] || echo "FAIL threads$1: ended with status $code"
    else
        echo "ok no data races$1"
    fi
}
# Kernels built for ThreadSanitizer too, so that what the pool's threads read and write is seen.
TILEC_CACHE=$work/cache TILEC_CC='cc -fsanitize=thread' run ''
# No folder for a cache: objects lie in temporary folders until the process ends.
touch "$work/file"
TILEC_CACHE=$work/file TMPDIR=$work run ', without a cache'
if ls "$work"/tilec-* > /dev/null 2>&1; then
    echo 'FAIL temporary folders are removed at the end'
    status=1
else
    echo 'ok temporary folders are removed at the end'
fi
exit $status
