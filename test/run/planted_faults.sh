#!/usr/bin/env bash
# See test/run/planted_faults.c.
exec "${BUILD:-build}/values/planted_faults" "$@"
