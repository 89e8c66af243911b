#!/usr/bin/env bash
# See test/run/random_programs.c.
exec "${BUILD:-build}/values/random_programs" "$@"
