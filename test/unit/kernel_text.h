/* Kernel IR text, printed as C, compiled and called: what the tests of the C target share. */
#ifndef TEST_KERNEL_TEXT_H
#define TEST_KERNEL_TEXT_H
#include "base/file.h"
#include "kernel/kernel.h"
#include "run/run.h"
#include "target/c_plan.h"
#include "target/target.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void (*entry_function)(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
                               void *scratch);

typedef struct compiled_text {
    entry_function run;
    int64_t scratch_bytes;
} compiled_text;

/* The emitted C of a Kernel IR text, heap; NULL with diagnostics printed when `expect` is NULL, else with its code copied there. */
static inline char *text_to_c(const char *text, compiled_text *out, char expect[8]) {
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    kernel_ir *k = kernel_parse(a, "test", text, &d);
    launch_plan plan = {.name = k ? k->name : "none"};
    plan_variant v = {.kernel = k};
    VEC_PUSH(a, plan.variants, v);
    c_plan printed;
    text_buffer all = {0};
    if (k && kernel_check(k, &d) && c_plan_print(a, &plan, "", NULL, &printed, &d)) {
        c_plan_head(&all);
        text_add(&all, "%s\n%s", printed.prelude, printed.functions);
        out->scratch_bytes = kernel_private_bytes(k);
    }
    if (expect)
        snprintf(expect, 8, "%s", d.items.count ? d.items.at[0]->code : "");
    else
        diag_print_all(&d, stderr, false);
    arena_free(a);
    return all.text;
}

static inline bool compile_text(const char *text, compiled_text *out) {
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    bool hit = false;
    char *c = text_to_c(text, out, NULL), *path = c ? cache_compile(c, "test", &hit, &d) : NULL;
    void *object = path ? dlopen(path, RTLD_NOW) : NULL;
    if (object) {
        const char *at = strstr(text, "kernel ") + 7;
        char *plan_name = strndup(at, strcspn(at, " {")), *name = target_entry_name(plan_name, 0);
        void *symbol = dlsym(object, name);
        memcpy(&out->run, &symbol, sizeof symbol);
        free(name);
        free(plan_name);
    }
    diag_print_all(&d, stderr, false);
    if (c && !path)
        fprintf(stderr, "%s", c);
    free(path);
    free(c);
    arena_free(a);
    return object && out->run;
}
#endif
