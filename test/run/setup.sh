#!/usr/bin/env bash
# scripts/setup.sh: silent and quick when nothing is missing; otherwise it installs, or says the one line to type.
status=0
check() { # name, condition's status
    if [ "$2" -eq 0 ]; then echo "ok $1"; else
        echo "FAIL $1"
        status=1
    fi
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

start=$(date +%s%N)
scripts/setup.sh test > "$work/out" 2>&1
code=$?
took=$((($(date +%s%N) - start) / 1000000))
[ $code -eq 0 ] && [ ! -s "$work/out" ]
check 'nothing missing: silent' $?
[ $took -lt 500 ]
check "nothing missing: quick ($took ms)" $?

# A system of our own: a path with the tools the script uses, and neither gcc nor valgrind.
mkdir "$work/bin"
for tool in bash cat mktemp tail rm make python3 env; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
fake() { # name, body
    printf '#!/bin/bash\n%s\n' "$2" > "$work/bin/$1"
    chmod +x "$work/bin/$1"
}
try() { PATH=$work/bin bash scripts/setup.sh test > "$work/out" 2>&1; }

fake id 'echo 1000'
try
[ $? -ne 0 ] && grep -q 'no apt-get.*gcc.*valgrind' "$work/out"
check 'no apt-get: the names are said' $?

fake apt-get "echo \"\$@\" >> $work/calls"
try
[ $? -ne 0 ] && grep -qx '    sudo apt-get install -y gcc .*valgrind.*' "$work/out" && [ ! -e "$work/calls" ]
check 'not root: one line to type' $?

fake sudo 'shift; [ "$1" = true ] || exec "$@"'
ln -s "$(command -v true)" "$work/bin/true"
try
[ $? -eq 0 ] && grep -q '^install .*gcc .*valgrind' "$work/calls"
check 'sudo without a password: installs' $?
rm -f "$work/calls" "$work/bin/sudo"

fake id 'echo 0'
try
[ $? -eq 0 ] && grep -q '^install .*gcc .*valgrind' "$work/calls"
check 'root: installs' $?

fake apt-get 'echo "E: no network"; exit 100'
try
[ $? -ne 0 ] && grep -q 'E: no network' "$work/out" && grep -q 'installation failed' "$work/out"
check 'a failed installation is shown' $?
exit $status
