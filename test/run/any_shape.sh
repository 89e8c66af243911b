#!/usr/bin/env bash
# See test/run/any_shape.c.
exec "${BUILD:-build}/values/any_shape" "$@"
