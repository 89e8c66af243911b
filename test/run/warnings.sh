#!/usr/bin/env bash
# Every source compiles without a warning under gcc and under clang.
unset MAKEFLAGS MAKELEVEL
status=0
for compiler in gcc clang; do
    if ! command -v "$compiler" > /dev/null; then
        echo "skip $compiler warnings (no $compiler here)"
        continue
    fi
    # clang finds its warnings before it optimises, gcc some of them only then
    flags='-Werror -O1 -g0' # half the time of -O2, whose few further warnings the build itself shows
    [ "$compiler" = clang ] && flags='-Werror -fsyntax-only'
    if make -s -k -j"$(nproc)" BUILD="${BUILD:-build}/warnings-$compiler" CC="$compiler" CFLAGS="$flags" compile; then
        echo "ok $compiler warnings"
    else
        echo "FAIL $compiler warnings"
        status=1
    fi
done
exit $status
