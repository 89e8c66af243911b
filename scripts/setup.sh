#!/usr/bin/env bash
# Installs what is missing for `make run` (build), `make portable` (portable), `make test` (test) or `make fuzz` (fuzz): Debian and Ubuntu packages, when this
# user may; otherwise prints the one line to type and fails. Silent and quick when nothing is missing.
set -u
what=${1:-test}
missing=()

have_program() { command -v "$1" > /dev/null; }
have_header() {
    local folder
    for folder in /usr/include /usr/local/include /usr/include/*-linux-gnu; do
        [ -e "$folder/$1" ] && return 0
    done
    # Somewhere else the compiler knows of.
    have_program "${CC:-cc}" && echo "#include <$1>" | "${CC:-cc}" -E -x c - > /dev/null 2>&1
}
# The tests' Python is the first of python3 on the path and the system's own that has NumPy (scripts/test.sh chooses alike).
have_numpy() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -I -c 'import importlib.util as u, sys; sys.exit(u.find_spec("numpy") is None)' 2> /dev/null && return 0
    done
    return 1
}
have_pip() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -I -c 'import importlib.util as u, sys; sys.exit(u.find_spec("pip") is None)' 2> /dev/null && return 0
    done
    return 1
}
need() { # package, then the check that finds it
    local package=$1
    shift
    "$@" || missing+=("$package")
}

have_library() { have_file "/usr/lib/*/$1" || have_file "/usr/lib*/$1" || have_file "/usr/local/lib/$1"; }
have_file() { compgen -G "$1" > /dev/null; }
wished=()
wish() { # the same for what tests can do without
    local package=$1
    shift
    "$@" || wished+=("$package")
}

need gcc have_program gcc
need libc6-dev have_header stdio.h
need make have_program make
need libisl-dev have_header isl/ctx.h
need libxxhash-dev have_header xxhash.h
need libjansson-dev have_header jansson.h
if [ "$what" != build ]; then # inside `make portable`; isl's arithmetic is gmp's
    have_archive() { have_library "$1" || [ -e "$("${CC:-cc}" -print-file-name="$1" 2> /dev/null)" ]; }
    if [ "$what" = portable ]; then need libgmp-dev have_archive libgmp.a; else wish libgmp-dev have_archive libgmp.a; fi
fi
if [ "$what" = test ]; then
    need libcmocka-dev have_header cmocka.h
    need valgrind have_program valgrind
    need python3 have_program python3
    need python3-numpy have_numpy
    # The module as `pip install` installs it, and a model's weights as a package.
    wish python3-pip have_pip
    # An OpenCL device on the CPU, and an interpreter that judges OpenCL kernels. The suites that use them are skipped where they are missing.
    wish ocl-icd-libopencl1 have_library libOpenCL.so.1
    wish pocl-opencl-icd have_file '/etc/OpenCL/vendors/*.icd'
    wish oclgrind have_program oclgrind-kernel
    # The plugin that reads kernels of other languages.
    have_llvm() { local v; for v in 19 20 21 18 17; do have_program "llvm-config-$v" && return 0; done; return 1; }
    wish llvm-19-dev have_llvm
    # What isl can't say; without it those properties are not proved.
    wish libz3-4 have_library libz3.so.4
    # Kernels in Metal, CUDA and OpenCL C are read with it.
    wish clang-19 have_program clang-19
fi
if [ "$what" = fuzz ]; then
    need clang have_program clang
fi
[ ${#missing[@]} -eq 0 ] && [ ${#wished[@]} -eq 0 ] && exit 0

names=${missing[*]}
if [ ${#missing[@]} -eq 0 ] && { ! have_program apt-get || { [ "$(id -u)" -ne 0 ] && ! sudo -n true 2> /dev/null; }; }; then
    echo "not installed, and the tests that need them are skipped: ${wished[*]}" >&2
    exit 0
fi
if ! have_program apt-get; then
    echo "tilec needs these (by their Debian names), and this system has no apt-get to install them with: $names" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    root=()
elif have_program sudo && sudo -n true 2> /dev/null; then
    root=(sudo -n)
else
    echo "Packages are missing; type this, then run make again:" >&2
    echo "    sudo apt-get install -y $names" >&2
    exit 1
fi
echo "installing: $names" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${root[@]}" apt-get update && "${root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "The installation failed; what was tried: apt-get install -y $names" >&2
    exit 1
fi
for package in "${wished[@]}"; do
    "${root[@]}" apt-get install -y --no-install-recommends "$package" > /dev/null 2>&1 ||
        echo "$package could not be installed: the tests that need it are skipped" >&2
done
exit 0
