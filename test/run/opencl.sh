#!/usr/bin/env bash
# See test/run/opencl.c.
exec "${BUILD:-build}/values/opencl" "$@"
