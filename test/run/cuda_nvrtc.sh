#!/usr/bin/env bash
# Emitted CUDA C++ through NVIDIA's compilers, for which no device is needed; each is skipped where it is not installed.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tilec=${TILEC:-$build/tilec}
failed=0
"$build/values/cuda" --compile || failed=1
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
if command -v nvcc > /dev/null; then # with the launcher for host programs
    built=$(mktemp -d)
    for kernel in normalise/softmax argmax/argmax_part embedding/embedding; do
        "$tilec" build "kernels/${kernel%/*}.tile" --kernel "${kernel#*/}" --target cuda -o "$built" > /dev/null &&
            nvcc -c -arch=sm_90 --fmad=false -Xcompiler -Wall,-Werror -o "$built/k.o" "$built/${kernel#*/}.cu" > "$built/said" 2>&1 && [ ! -s "$built/said" ] &&
            printf '#include "%s.h"\nint main(void) { return 0; }\n' "${kernel#*/}" | "${CC:-cc}" -std=c99 -Wall -Werror -I"$built" -x c -fsyntax-only - &&
            echo "ok nvcc ${kernel#*/}" || { echo "FAIL nvcc ${kernel#*/}"; head -n 8 "$built/said"; failed=1; }
    done
    rm -rf "$built"
else
    echo "skip nvcc (it is not installed)"
fi
exit $failed
