#!/usr/bin/env bash
# The public C API as a stranger uses it: include/tilec.h and libtilec.so alone, under gcc's sanitizers too when libtilec has none.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TILEC_CACHE=$work/cache
build=$(cd "${BUILD:-build}" && pwd)
if ! ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Iinclude test/run/_api.c -o "$work/api" -L"$build" -ltilec -lm -Wl,-rpath,"$build" 2> "$work/log"; then
    echo "FAIL api: it does not compile and link"
    cat "$work/log"
    exit 1
fi
"$work/api"
status=$?
# The header reads as C++ too.
if command -v c++ > /dev/null; then
    echo '#include <tilec.h>' > "$work/header.cpp"
    if c++ -std=c++17 -Wall -Wextra -Wpedantic -Iinclude -fsyntax-only "$work/header.cpp" 2> "$work/log"; then
        echo "ok api header as C++"
    else
        echo "FAIL api header as C++"
        cat "$work/log"
        status=1
    fi
fi
exit $status
