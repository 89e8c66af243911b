/* Metal: preprocessed, rewritten by its tokens, and compiled as C++ for OpenCL with the headers of shim/metal_*.h. */
#define _GNU_SOURCE
#include "lift/metal.h"
#include "lift/shim.h"
#include <string.h>

/* Headers that stand empty: the shim is there already. What an unknown one would give is missing then, and said. */
static bool is_of_metal(const char *name, size_t length) {
    static const char *const others[] = {"simd/", "MetalPerformancePrimitives/", "TargetConditionals.h"};
    if (length >= 6 && !memcmp(name, "metal_", 6))
        return !memchr(name, '/', length);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (length >= strlen(others[i]) && !memcmp(name, others[i], strlen(others[i])))
            return true;
    return false;
}

static const char *preprocess(front *f, size_t *length) {
    front_words words = {0};
    const char *const fixed[] = {"-x",
                                 "c++",
                                 "-std=c++17",
                                 "-target",
                                 "x86_64-linux-gnu",
                                 "-undef",
                                 "-nostdinc",
                                 "-nostdinc++",
                                 "-imacros",
                                 arena_printf(f->arena, "%s/metal_macros.h", f->folder),
                                 "-idirafter",
                                 arena_printf(f->arena, "%s/headers", f->folder)};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        VEC_PUSH(f->arena, words, fixed[i]);
    if (!clang_write(f->arena, f->folder, "headers/metal_stdlib", "", 0, f->diags))
        return NULL;
    for (int round = 0;; round++) {
        clang_messages messages = {0};
        const char *text = front_preprocess(f, "source.metal", &words, length, &messages), *missing = NULL, *end = NULL;
        if (text)
            return text;
        for (int i = 0; i < messages.count && !missing; i++) {
            const clang_message *m = &messages.at[i];
            end = m->kind == CLANG_ERROR && *m->text == '\'' ? strstr(m->text, "' file not found") : NULL;
            missing = end ? m->text + 1 : NULL;
        }
        if (!missing || round == 63 || !is_of_metal(missing, (size_t)(end - missing))) {
            clang_report(f->arena, &messages, "E1102", true, FRONT_ERROR_LIMIT, f->diags);
            return NULL;
        }
        if (!clang_write(f->arena, f->folder, arena_printf(f->arena, "headers/%.*s", (int)(end - missing), missing), "", 0,
                         f->diags))
            return NULL;
    }
}

static bool begin(metal *m, tokens *t) {
    front *f = m->f;
    size_t length = 0;
    if (!front_write_source(f, "source.metal", "", f->text, "") || !shim_write(f, "metal"))
        return false;
    const char *text = preprocess(f, &length);
    if (!text)
        return false;
    tokens_read(f->arena, text, length, t);
    m->t = t;
    metal_list(m);
    return true;
}

bool front_metal_names(front *f, source_names *names) {
    tokens t;
    metal m = {.f = f};
    if (!begin(&m, &t))
        return false;
    for (int i = 0; i < m.kernels.count; i++)
        VEC_PUSH(f->arena, *names, m.kernels.at[i].host_name);
    return true;
}

/* Kernels that are not there are told before anything is compiled. */
static bool all_there(metal *m) {
    const char **names = NEW_ARRAY(m->f->arena, const char *, m->kernels.count + 1);
    for (int i = 0; i < m->kernels.count; i++)
        names[i] = m->kernels.at[i].host_name;
    for (int i = 0; i < m->f->options->kernel_count; i++) {
        bool found = false;
        for (int k = 0; k < m->kernels.count && !found; k++)
            found = front_is_called(m->f->arena, names[k], m->f->options->kernels[i]);
        if (!found) {
            front_no_kernel(m->f, m->f->options->kernels[i], names, m->kernels.count);
            return false;
        }
    }
    return true;
}

const char *front_metal_text(front *f, const char *text, size_t length) {
    tokens t;
    metal m = {.f = f, .t = &t};
    tokens_read(f->arena, text, length, &t);
    metal_list(&m);
    text = metal_kernels(&m, &length);
    return metal_rewrite(f->arena, text, &length);
}

bool front_metal(front *f, source_module *out) {
    static const char *const fixed[] = {
        "-x",
        "clcpp",
        "-cl-std=clc++2021",
        "-target",
        "amdgcn-amd-amdhsa",
        "-mcpu=gfx900",
        "-nogpulib",
        "-cl-no-stdinc",
        "-Xclang",
        "-cl-ext=+__opencl_c_generic_address_space,+__opencl_c_program_scope_global_variables,+cl_khr_fp16",
        "-fdeclspec",
        "-cl-single-precision-constant",
        "-ftemplate-depth=2048"};
    tokens t;
    metal m = {.f = f};
    if (!begin(&m, &t) || !all_there(&m))
        return false;
    for (int i = 0; i < m.kernels.count; i++)
        if (front_wants(f, m.kernels.at[i].host_name))
            VEC_PUSH(f->arena, f->expected, m.kernels.at[i].host_name);
    size_t length = 0;
    const char *text = metal_kernels(&m, &length);
    text = metal_rewrite(f->arena, text, &length);
    text_buffer b = {0};
    text_add(&b, "#include \"metal_macros.h\"\n#include \"metal_types.h\"\n#include \"metal_math.h\"\n#include "
                 "\"metal_simd.h\"\n#include \"metal_tensor.h\"\n");
    if (strstr(text, "__metal_"))
        text_add(&b, "#include \"metal_private.h\"\n");
    text_add_bytes(&b, text, length);
    text_add(&b, "\n#pragma clang attribute pop\n");
    bool ok = clang_write(f->arena, f->folder, "source.clcpp", b.text, b.length, f->diags);
    text_free(&b);
    front_words words = {0};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        VEC_PUSH(f->arena, words, fixed[i]);
    clang_messages messages = {0};
    if (ok && !(out->text = front_compile(f, "source.clcpp", &words, &out->length, &messages)))
        clang_report(f->arena, &messages, "E1102", false, FRONT_ERROR_LIMIT, f->diags);
    return ok && out->text;
}
