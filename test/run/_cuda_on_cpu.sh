# cuda_on_cpu FOLDER: the driver of our own (_cuda_on_cpu.c), built into FOLDER, and the environment in which tilec takes it for CUDA's. 1: can't be here.
cuda_on_cpu() {
    if ! command -v c++ > /dev/null || ! echo '#include <immintrin.h>' | c++ -x c++ -mf16c -mfma -fsyntax-only - 2> /dev/null || ! grep -q f16c /proc/cpuinfo 2> /dev/null; then
        return 1
    fi
    rm -rf "$1" && mkdir -p "$1"
    "${CC:-cc}" -std=c17 -O1 -g -Wall -Wextra -fvisibility=hidden -shared -fPIC -DSHIM="\"$PWD/test/run/_cuda_on_cpu.h\"" -o "$1/libcuda.so.1" \
        test/run/_cuda_on_cpu.c -ldl || { echo "FAIL cuda: the driver for the CPU does not compile"; exit 1; }
    export LD_LIBRARY_PATH=$1 TILEC_NVRTC=$1/libcuda.so.1 TILEC_CACHE=$1/cache
}
