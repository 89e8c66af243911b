#!/usr/bin/env bash
# See test/run/opencl.c. A processor's device takes tasks of one work-item, with vectors; every fourth kernel is run there in blocks of work-items, too, as other
# devices take it. (test/run/oclgrind.sh runs every kernel of kernels/ in blocks.) Then random kernels: 200, of which 140 in the form that the device takes, 14 of them as the
# driver compiles by itself and 126 without its optimiser, which takes three times as long as all besides; and 60 in blocks.
# Blocks are compiled without PoCL's optimiser, too: that of 3.1 drops the outer of two nested conditions of a store (doc/targets.md). It reads
# POCL_EXTRA_BUILD_FLAGS; other drivers do not.
values=${BUILD:-build}/values/opencl
if [ $# -gt 0 ]; then
    exec "$values" "$@"
fi
"$values"
status=$?
"$values" --random 14 || status=1
export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
"$values" --random 126 --from 100 || status=1
if "${TILEC:-build/tilec}" devices --json | grep -q opencl_cpu; then
    "$values" --target opencl --share 1/4 || status=1
    "$values" --target opencl --random 60 || status=1
fi
exit $status
