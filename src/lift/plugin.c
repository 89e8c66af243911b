/* The plugin that reads LLVM IR: opened when it is needed first, kept. */
#include "lift/lift.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char opened[4096]; /* where the plugin was found */

static lift_read_function *open_plugin(arena *a, const char *path, const char **why) {
    snprintf(opened, sizeof opened, "%s", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *why = arena_strdup(a, dlerror());
        return NULL;
    }
    union { /* POSIX lets a function travel so */
        void *object;
        lift_read_function *function;
    } symbol = {dlsym(library, LIFT_READ_SYMBOL)};
    return symbol.function;
}

static lift_read_function *find_plugin(arena *a, const char **why) {
    const char *named = getenv("TILEC_LIFT");
    if (named && *named)
        return open_plugin(a, named, why);
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    lift_read_function *f = NULL;
    if (n > 0) {
        program[n] = 0;
        char *slash = strrchr(program, '/');
        if (slash)
            *slash = 0;
        /* beside the program, where it is installed, and beside the folder of test programs */
        static const char *const places[] = {"tilec-lift.so", "../lib/tilec/tilec-lift.so", "../tilec-lift.so"};
        for (size_t i = 0; i < sizeof places / sizeof *places && !f; i++) {
            const char *path = arena_printf(a, "%s/%s", program, places[i]);
            if (access(path, R_OK) == 0)
                f = open_plugin(a, path, why);
        }
    }
    return f ? f : *why ? NULL : open_plugin(a, "tilec-lift.so", why);
}

/* "module:4:1: error: expected .." and the line shown below it: what it says, and where. */
static const char *placed(arena *a, const char *why, source_span *span) {
    int line, column, length = 0;
    if (!why || sscanf(why, "module:%d:%d: error: %n", &line, &column, &length) != 2 || !length)
        return why;
    span->line = line;
    span->column = column;
    span->length = 1;
    return arena_strndup(a, why + length, strcspn(why + length, "\n"));
}

const lift_module *lift_module_read(arena *a, const char *text, size_t length, const char *path, const lift_reading *how,
                                    diag_list *diags) {
    static lift_read_function *read;
    const char *why = NULL;
    source_span span = {.file = path};
    if (!read)
        read = find_plugin(a, &why);
    if (!read) {
        diag *g = diag_error(diags, "E1120", span,
                             "kernels of other languages are read through tilec-lift.so, which could not be opened");
        diag_note(diags, g, "%s", why ? why : "it has no such function");
        diag_note(diags, g,
                  "it is built with tilec where LLVM is installed (Debian, Ubuntu: apt-get install llvm-19-dev), and needs "
                  "libLLVM at run time");
        return NULL;
    }
    const lift_module *m = read(LIFT_READ_INTERFACE, a, text, length, how, &why);
    if (!m) {
        if (!how->source)
            why = placed(a, why, &span);
        diag *g = diag_error(diags, "E1121", span, "%s", why ? why : "the module could not be read");
        diag_note(diags, g, "read by %s", opened);
    }
    return m;
}
