#!/usr/bin/env bash
# Every source compiles without a warning under gcc and under clang. What gcc said while the build was made is beside its objects.
unset MAKEFLAGS MAKELEVEL
build=${BUILD:-build}
status=0
# said COMPILER FLAGS FOLDER: compiles what is not there yet, and prints what was said of everything
said() {
    make -s -k -j"$(nproc)" BUILD="$3" CC="$1" CFLAGS="$2" compile > /dev/null 2>&1 || echo 'not everything compiles'
    find "$3/src" "$3/test" -name '*.said' -size +0 | while read -r file; do
        source=${file#"$3"/} # which may be gone since
        [ -e "${source%.said}.c" ] && cat "$file"
    done
}
# Whether the build is gcc's with the Makefile's own flags, and what was said is there for all of it.
built_by_gcc() {
    local by
    [ -e "$build/flags" ] && read -r by _ < "$build/flags" && "$by" --version 2> /dev/null | grep -q 'Free Software Foundation' &&
        [ "$(make -s BUILD="$build" CC="$by" CFLAGS= print-flags)" = "$(cat "$build/flags")" ] &&
        [ -z "$(find "$build/src" "$build/test" -name '*.o' | while read -r o; do [ -e "${o%.o}.said" ] || echo "$o"; done)" ]
}
for compiler in gcc clang; do
    if ! command -v "$compiler" > /dev/null; then
        echo "skip $compiler warnings (no $compiler here)"
        continue
    fi
    # clang finds its warnings before it optimises, gcc some of them only then
    if [ "$compiler" = clang ]; then
        text=$(said clang -fsyntax-only "$build/warnings-clang")
    elif built_by_gcc; then
        text=$(said "$(cut -d " " -f 1 "$build/flags")" "" "$build")
    else
        text=$(said gcc '-O1 -g0' "$build/warnings-gcc")
    fi
    if [ -z "$text" ]; then
        echo "ok $compiler warnings"
    else
        echo "FAIL $compiler warnings"
        echo "$text"
        status=1
    fi
done
exit $status
