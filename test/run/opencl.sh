#!/usr/bin/env bash
# See test/run/opencl.c. A processor's device takes tasks of one work-item, with vectors; every fourth kernel is run there in blocks of work-items, too, as other
# devices take it, which the driver compiles five times as long. (test/run/oclgrind.sh runs every kernel of kernels/ in blocks.)
values=${BUILD:-build}/values/opencl
if [ $# -gt 0 ]; then
    exec "$values" "$@"
fi
"$values"
status=$?
"$values" --random 12 || status=1
if "${TILEC:-build/tilec}" devices --json | grep -q opencl_cpu; then
    "$values" --target opencl --share 1/4 || status=1
fi
exit $status
