#!/usr/bin/env bash
# What can be wrong with OpenCL and its devices, each put in the way of the real loader by _opencl_faults.c: a message that names it, a non-zero exit, and other devices still run.
tilec=${TILEC:-build/tilec}
real=$(PATH=$PATH:/sbin ldconfig -p 2> /dev/null | awk '/libOpenCL\.so\.1 /{print $NF; exit}')
case $(uname -m) in
    x86_64 | aarch64) ;;
    *) real= ;;
esac
if [ -z "$real" ] || ! "$tilec" devices --json | grep -q '"opencl_cpu"'; then
    echo "skip opencl_faults (no OpenCL device that is a processor)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/between" "$work/empty"
if ! ${CC:-cc} -std=c17 -D_GNU_SOURCE -Wall -Wextra -shared -fPIC -Isrc test/run/_opencl_faults.c -o "$work/between/libOpenCL.so.1" -ldl ||
    ! ${CC:-cc} -shared -x c /dev/null -o "$work/empty/libOpenCL.so.1"; then
    echo "FAIL opencl_faults (the library in between does not compile)"
    exit 1
fi
export REAL_OPENCL=$real LD_LIBRARY_PATH=$work/between TILEC_CACHE=$work/cache
status=0
expect() { # name, exit, a pattern, the command
    local name=$1 code=$2 pattern=$3
    shift 3
    "$@" > "$work/log" 2>&1
    local got=$?
    if [ $got -eq "$code" ] && grep -q "$pattern" "$work/log"; then
        echo "ok $name"
    else
        echo "FAIL $name: exit $got"
        cat "$work/log"
        status=1
    fi
}
add=("$tilec" run kernels/elementwise.tile --kernel vec_add --shape N=100 --arg a=random:1 --arg b=random:2 --check)
norm=("$tilec" run kernels/normalise.tile --kernel softmax --shape R=5,C=9 --arg x=random:1 --check --device opencl)
expect "through the library in between" 0 "checked" "${add[@]}" --device opencl
FAKE_OPENCL=no-driver expect "no driver" 1 "E0802.*opencl" "${add[@]}" --device opencl
FAKE_OPENCL=no-driver expect "no driver: other devices are listed, and why it is missing" 0 "opencl.*missing: .*no driver" "$tilec" devices
FAKE_OPENCL=no-driver expect "no driver: other devices run" 0 "checked" "${add[@]}" --device cpu
FAKE_OPENCL=no-device expect "a platform without a device" 1 "E0802" "${add[@]}" --device opencl
LD_LIBRARY_PATH=$work/empty expect "an old loader" 1 "too old: it lacks cl" "${add[@]}" --device opencl
FAKE_OPENCL=busy expect "a device that does not open" 1 "E0850.*CL_DEVICE_NOT_AVAILABLE" "${add[@]}" --device opencl
FAKE_OPENCL=no-compiler expect "a device without a compiler" 1 "E0850.*has no compiler" "${add[@]}" --device opencl
FAKE_OPENCL=no-memory expect "no memory" 1 "E0803.*CL_MEM_OBJECT_ALLOCATION_FAILURE" "${add[@]}" --device opencl
FAKE_OPENCL=refuses expect "a driver that refuses the text" 1 "E0851.*refused.*CL_BUILD_PROGRAM_FAILURE" "${add[@]}" --device opencl
FAKE_OPENCL=lost-at-launch expect "a device lost before a launch" 1 "E0852.*CL_OUT_OF_RESOURCES" "${add[@]}" --device opencl
FAKE_OPENCL=lost expect "a device lost during one" 1 "E0852.*CL_DEVICE_NOT_AVAILABLE" "${add[@]}" --device opencl
export TILEC_OPENCL_FORM=blocks
FAKE_OPENCL=small-blocks expect "blocks over the device's limit" 1 "E0853.*the device allows 8" "${norm[@]}"
FAKE_OPENCL=few-registers expect "blocks over what it has registers for" 1 "E0853.*allows 8 for it" "${norm[@]}"
FAKE_OPENCL=little-local expect "more local memory than it has" 1 "E0853.*bytes of local memory, and the device has 64" "$tilec" run kernels/matmul.tile --kernel matmul_f32 --device opencl \
    --shape M=9,N=9,K=9 --arg a=random:1 --arg b=random:2 --check --set operands=staged
exit $status
