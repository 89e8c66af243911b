#!/usr/bin/env bash
# The CPU target's speed beside a copy loop and OpenBLAS (see `tilec bench --help`). A stopgap until the measuring lab.
set -u
if ! ldconfig -p 2> /dev/null | grep -q libopenblas; then
    echo "OpenBLAS is missing: to compare matrix products with it, apt-get install libopenblas0-pthread" >&2
fi
exec "${BUILD:-build}/tilec" bench "$@"
