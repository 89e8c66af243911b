# cuda_on_cpu FOLDER: the driver of our own (_cuda_on_cpu.c), built into FOLDER unless it is there, and the environment in which tilec takes it for CUDA's, with
# nothing else in FOLDER. 1: can't be here.
cuda_on_cpu() {
    if ! command -v c++ > /dev/null || ! echo '#include <immintrin.h>' | c++ -x c++ -mf16c -mfma -fsyntax-only - 2> /dev/null || ! grep -q f16c /proc/cpuinfo 2> /dev/null; then
        return 1
    fi
    mkdir -p "$1"
    set -- "$(cd "$1" && pwd)"
    local source built=$1/libcuda.so.1
    for source in test/run/_cuda_on_cpu.[ch] test/run/_cuda_on_cpu.sh; do
        [ "$built" -nt "$source" ] || rm -f "$built"
    done
    if ! [ -e "$built" ]; then
        # What stands in front of every kernel, compiled once; a compiler that takes no such file reads the text beside it. The options are _cuda_on_cpu.c's.
        cp test/run/_cuda_on_cpu.h "$1/shim.h"
        c++ -std=c++17 -O0 -w -mf16c -mfma -ffp-contract=off -fno-strict-aliasing -fPIC -x c++-header -o "$1/shim.h.gch" "$1/shim.h" || rm -f "$1/shim.h.gch"
        "${CC:-cc}" -std=c17 -O1 -g -Wall -Wextra -fvisibility=hidden -shared -fPIC -DSHIM="\"$1/shim.h\"" -o "$built" test/run/_cuda_on_cpu.c -ldl ||
            { echo "FAIL cuda: the driver for the CPU does not compile"; exit 1; }
    fi
    find "$1" -mindepth 1 ! -name 'shim.h*' ! -name libcuda.so.1 -delete
    export LD_LIBRARY_PATH=$1 TILEC_NVRTC=$built TILEC_CACHE=$1/cache
}
