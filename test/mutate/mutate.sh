#!/usr/bin/env bash
# A few mutants of each kind of a few kernels, always the same ones; `make mutate` judges more. See doc/mutation.md.
mkdir -p "${BUILD:-build}/mutants"
exec "${BUILD:-build}/mutate" --one-in 10 --count 98 --seed 1 --foreign-one-in 3 --keep "${BUILD:-build}/mutants"
