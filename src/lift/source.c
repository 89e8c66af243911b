/* Reading a source text: what all languages have in common, and OpenCL C, which clang takes as it is. */
#include "lift/source.h"
#include "base/file.h"
#include "base/suggest.h"
#include "base/temporary.h"
#include "lift/front.h"
#include "lift/module_text.h"
#include "lift/tokens.h"
#include <string.h>

const char *const source_language_names[] = {"Metal", "CUDA", "OpenCL C", "LLVM IR", "C"};

bool source_language_of(const char *path, source_language *language) {
    static const char *const endings[] = {".metal", ".cu", ".cl", ".ll"};
    size_t length = strlen(path);
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && !strcmp(path + length - n, endings[i])) {
            *language = (source_language)i;
            return true;
        }
    }
    return false;
}

void front_word(front *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    VEC_PUSH(f->arena, f->words, arena_printf_va(f->arena, format, args));
    va_end(args);
}

bool front_write_source(front *f, const char *name, const char *before, const char *text, const char *after) {
    text_buffer b = {0};
    text_add(&b, "%s# 1 \"", before);
    for (const char *at = f->path; *at; at++)
        text_add(&b, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    text_add(&b, "\"\n");
    text_add_bytes(&b, text, strlen(text));
    text_add_bytes(&b, after, strlen(after));
    bool ok = clang_write(f->arena, f->folder, name, b.text, b.length, f->diags);
    text_free(&b);
    return ok;
}

static const char *run(front *f, const char *name, const char *result, const front_words *more, const char *const *last,
                       int last_count, size_t *length, clang_messages *messages) {
    front_words all = {0};
    for (int i = 0; i < f->words.count; i++)
        VEC_PUSH(f->arena, all, f->words.at[i]);
    for (int i = 0; more && i < more->count; i++)
        VEC_PUSH(f->arena, all, more->at[i]);
    for (int i = 0; i < last_count; i++)
        VEC_PUSH(f->arena, all, last[i]);
    const char *output = arena_printf(f->arena, "%s/%s", f->folder, result), *text = NULL;
    VEC_PUSH(f->arena, all, arena_printf(f->arena, "%s/%s", f->folder, name));
    VEC_PUSH(f->arena, all, "-o");
    VEC_PUSH(f->arena, all, output);
    int status = clang_run(f->arena, &f->clang, f->folder, all.at, all.count, &text, f->diags);
    if (status < 0)
        return NULL;
    clang_read_messages(f->arena, text, messages);
    if (!status)
        return file_read(f->arena, output, (size_t)1 << 31, length, f->diags);
    for (int i = 0; i < messages->count; i++)
        if (messages->at[i].kind == CLANG_ERROR)
            return NULL;
    diag *g = diag_error(f->diags, "E1103", (source_span){f->path, 0, 0, 0}, "%s ended with status %d without naming an error",
                         f->clang.path, status);
    for (int i = 0; i < 5 && *text; i++) {
        diag_note(f->diags, g, "%.*s", (int)strcspn(text, "\n"), text);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return NULL;
}

/* The options' macros: for the source's text, not for the headers of our own that the preprocessed text is compiled with. */
static void add_defines(front *f, front_words *words) {
    for (int i = 0; i < f->options->define_count; i++)
        VEC_PUSH(f->arena, *words, arena_printf(f->arena, "-D%s", f->options->defines[i]));
}

const char *front_preprocess(front *f, const char *name, const front_words *more, size_t *length, clang_messages *messages) {
    static const char *const last[] = {"-E", "-Wno-everything"};
    front_words words = {0};
    for (int i = 0; i < more->count; i++)
        VEC_PUSH(f->arena, words, more->at[i]);
    add_defines(f, &words);
    return run(f, name, "preprocessed", &words, last, sizeof last / sizeof *last, length, messages);
}

const char *front_compile(front *f, const char *name, const front_words *more, size_t *length, clang_messages *messages) {
    /* -O1 for its attributes and what clang itself then emits (no optnone, no redundant slots); no pass of LLVM's runs. */
    static const char *const last[] = {"-O1",
                                       "-Xclang",
                                       "-disable-llvm-passes",
                                       "-ffp-contract=off",
                                       "-gline-tables-only",
                                       "-fno-discard-value-names",
                                       "-Xclang", /* three elements are three, not four */
                                       "-fpreserve-vec3-type",
                                       "-ferror-limit=50",
                                       "-Wno-everything",
                                       "-S",
                                       "-emit-llvm"};
    return run(f, name, "module.ll", more, last, sizeof last / sizeof *last, length, messages);
}

void front_no_kernel(front *f, const char *name, const char *const *names, int count) {
    diag *g = diag_error(f->diags, "E1104", (source_span){f->path, 0, 0, 0}, "no kernel is called %s", name);
    const char *near = suggest_nearest(name, names, count);
    if (near)
        diag_note(f->diags, g, "the nearest name is %s", near);
    text_buffer b = {0};
    for (int i = 0; i < count && i < 12; i++)
        text_add(&b, "%s%s", i ? ", " : "", names[i]);
    if (count)
        diag_note(f->diags, g, "there are %d: %s%s", count, text_get(&b), count > 12 ? ", ..." : "");
    text_free(&b);
}

/* Without blanks, namespaces in front, and what stands behind numbers: math::sum<float,4U> is sum<float, 4>. */
static const char *plain_name(arena *a, const char *name) {
    tokens t;
    text_buffer b = {0};
    tokens_read(a, name, strlen(name), &t);
    int first = 0;
    while (tokens_kind(&t, first) == TOKEN_NAME && tokens_is(&t, first + 1, "::"))
        first += 2;
    for (int i = first; i < t.count; i++) {
        int length = t.at[i].length;
        while (tokens_kind(&t, i) == TOKEN_NUMBER && length > 1 && strchr("uUlL", t.at[i].at[length - 1]))
            length--;
        text_add(&b, "%s%.*s", i > first && tokens_kind(&t, i) == TOKEN_NAME && tokens_kind(&t, i - 1) == TOKEN_NAME ? " " : "",
                 length, t.at[i].at);
    }
    const char *plain = arena_strdup(a, text_get(&b));
    text_free(&b);
    return plain;
}

/* Names of instantiations may be spelt with or without blanks: sum<float,4>. Without its arguments, a template's name means each instantiation. */
bool front_is_called(arena *a, const char *host_name, const char *wanted) {
    if (!strcmp(host_name, wanted))
        return true;
    size_t n = strlen(wanted);
    if (!strchr(wanted, '<') && !strncmp(host_name, wanted, n) && host_name[n] == '<')
        return true;
    if (!strpbrk(wanted, "<:"))
        return false;
    return !strcmp(plain_name(a, host_name), plain_name(a, wanted));
}

bool front_wants(const front *f, const char *host_name) {
    for (int i = 0; i < f->options->kernel_count; i++)
        if (front_is_called(f->arena, host_name, f->options->kernels[i]))
            return true;
    return !f->options->kernel_count;
}

/* The options' folders, after the file's own. */
static void add_options(front *f) {
    const char *slash = strrchr(f->path, '/');
    front_word(f, "-iquote");
    front_word(f, "%.*s", slash ? (int)(slash - f->path + 1) : 1, slash ? f->path : ".");
    for (int i = 0; i < f->options->include_count; i++) {
        front_word(f, "-I");
        front_word(f, "%s", f->options->includes[i]);
    }
}

/* Calls of OpenCL's functions stay declarations, mangled by their argument types. Every extension is on: what a device has is the launch's matter. */
bool front_opencl(front *f, source_module *m) {
    static const char *const words[] = {"-x",           "cl",        "-cl-std=CL2.0", "-target",     "amdgcn-amd-amdhsa",
                                        "-mcpu=gfx900", "-nogpulib", "-Xclang",       "-cl-ext=+all"};
    /* Extensions that clang knows by their macros alone. */
    static const char *const extensions[] = {"cl_khr_subgroup_extended_types",
                                             "cl_khr_subgroup_non_uniform_vote",
                                             "cl_khr_subgroup_ballot",
                                             "cl_khr_subgroup_non_uniform_arithmetic",
                                             "cl_khr_subgroup_shuffle",
                                             "cl_khr_subgroup_shuffle_relative",
                                             "cl_khr_subgroup_clustered_reduce",
                                             "cl_khr_extended_bit_ops",
                                             "cl_khr_integer_dot_product",
                                             "__opencl_c_integer_dot_product_input_4x8bit",
                                             "__opencl_c_integer_dot_product_input_4x8bit_packed",
                                             "cl_intel_required_subgroup_size"};
    front_words all = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        VEC_PUSH(f->arena, all, words[i]);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        VEC_PUSH(f->arena, all, arena_printf(f->arena, "-D%s=1", extensions[i]));
    for (int i = 0; i < f->words.count; i++)
        VEC_PUSH(f->arena, all, f->words.at[i]);
    add_defines(f, &all);
    f->words.at = all.at;
    f->words.count = all.count;
    f->words.capacity = all.capacity;
    clang_messages messages = {0};
    if (!front_write_source(f, "source.cl", "#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)\n",
                            front_opencl_text(f), "\n#pragma clang attribute pop\n"))
        return false;
    m->text = front_compile(f, "source.cl", NULL, &m->length, &messages);
    if (!m->text)
        clang_report(f->arena, &messages, "E1102", true, FRONT_ERROR_LIMIT, f->diags);
    return m->text;
}

/* C with GNU's vectors, for no processor in particular, so that the portable form of each helper is what is read. No library's headers. A function marked
 * TILEC_KERNEL is a kernel, run by one thread; pointers marked TILEC_DEVICE are its arrays. */
bool front_c(front *f, source_module *m) {
    static const char *const words[] = {
        "-x", "c", "-std=gnu11", "-ffreestanding", "-nostdlibinc", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx900", "-nogpulib"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        front_word(f, "%s", words[i]);
    clang_messages messages = {0};
    if (!front_write_source(f, "source.c",
                            "#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)\n"
                            "#define TILEC_KERNEL __attribute__((amdgpu_kernel))\n"
                            "#define TILEC_DEVICE __attribute__((address_space(1)))\n",
                            f->text, "\n#pragma clang attribute pop\n"))
        return false;
    m->text = front_compile(f, "source.c", NULL, &m->length, &messages);
    if (!m->text)
        clang_report(f->arena, &messages, "E1102", true, FRONT_ERROR_LIMIT, f->diags);
    return m->text;
}

/* Parameters: each up to a comma, its name last (before a default, an array's extent or an attribute). */
void front_keep_signature(front *f, const tokens *t, const declaration *d, const char *name_of_kernel) {
    arena *a = f->arena;
    front_signature s = {.name = name_of_kernel};
    int end = tokens_match(t, d->arguments);
    for (int from = d->arguments + 1; from < end;) {
        int to = from, name = -1, stop = -1;
        for (; to < end && !tokens_is(t, to, ","); to++) {
            if (tokens_is(t, to, "=") || tokens_is(t, to, "["))
                stop = stop < 0 ? to : stop;
            if (tokens_match(t, to) > to)
                to = tokens_match(t, to);
            else if (tokens_is(t, to, "<")) {
                int close = tokens_angle(t, to);
                to = close > to ? close - 1 : to;
            } else if (tokens_kind(t, to) == TOKEN_NAME && stop < 0)
                name = to;
        }
        if (to == from + 1 && tokens_is(t, from, "void"))
            break;
        bool named = name > from && (stop < 0 || name == stop - 1); /* `int` alone is a type */
        const char *word = named ? tokens_word(a, t, name) : "";
        VEC_PUSH(a, s.types, tokens_text(a, t, from, named ? name : stop < 0 ? to : stop));
        VEC_PUSH(a, s.names, word);
        from = to + 1;
    }
    VEC_PUSH(a, f->signatures, s);
}

/* Names and types of parameters from the source's own declarations. */
static void name_parameters(const front *f, source_module *m) {
    for (int i = 0; i < m->kernels.count; i++) {
        source_kernel *k = &m->kernels.at[i];
        for (int j = 0; j < f->signatures.count; j++) {
            const front_signature *s = &f->signatures.at[j];
            size_t n = strlen(s->name);
            if (strncmp(k->host_name, s->name, n) || (k->host_name[n] && k->host_name[n] != '<') ||
                s->types.count != k->parameters.count)
                continue;
            for (int p = 0; p < s->types.count; p++) {
                source_parameter *x = &k->parameters.at[p];
                x->type = s->types.at[p];
                if (!*x->name)
                    x->name = s->names.at[p];
                const char *star = strrchr(x->type, '*'), *constant = strstr(x->type, "const");
                x->constant |= f->language == SOURCE_CUDA && x->kind == PARAMETER_BUFFER && star && constant && constant < star;
            }
            break;
        }
    }
}

/* Parameters without a name are called by their places, so that a contract can speak of them. */
static void name_the_rest(arena *a, source_module *m) {
    for (int i = 0; i < m->kernels.count; i++)
        for (int p = 0; p < m->kernels.at[i].parameters.count; p++)
            if (!*m->kernels.at[i].parameters.at[p].name)
                m->kernels.at[i].parameters.at[p].name = arena_printf(a, "arg%d", p);
}

/* A global that is computed before the launch, from function constants that nobody gave a value. */
static bool needs_constants(const front *f, const source_module *m) {
    const char *first = m->language == SOURCE_METAL ? strstr(m->text, "@_GLOBAL__sub_I_") : NULL;
    if (!first)
        return false;
    diag *g = diag_error(f->diags, "E1110", (source_span){f->path, 0, 0, 0},
                         "a constant is computed from function constants that have no value");
    for (int i = 0; i < f->constants.count; i++)
        diag_note(f->diags, g, "--constant %s=VALUE", f->constants.at[i]);
    return true;
}

/* Every host name of the source is there: none is lost in the rewriting. */
static bool all_came_out(const front *f, const source_module *m) {
    for (int i = 0; i < f->expected.count; i++) {
        bool found = false;
        for (int k = 0; k < m->kernels.count && !found; k++)
            found = !strcmp(m->kernels.at[k].host_name, f->expected.at[i]);
        if (!found) {
            diag_error(f->diags, "E1109", (source_span){f->path, 0, 0, 0},
                       "the kernel %s of the source did not come out of the compiler", f->expected.at[i]);
            return false;
        }
    }
    return true;
}

/* Keeps the kernels that were asked for. */
static bool choose_kernels(front *f, source_module *m) {
    const char **names = NEW_ARRAY(f->arena, const char *, m->kernels.count + 1);
    for (int i = 0; i < m->kernels.count; i++)
        names[i] = m->kernels.at[i].host_name;
    for (int i = 0; i < f->options->kernel_count; i++) {
        bool found = false;
        for (int j = 0; j < m->kernels.count && !found; j++)
            found = front_is_called(f->arena, names[j], f->options->kernels[i]);
        if (!found) {
            front_no_kernel(f, f->options->kernels[i], names, m->kernels.count);
            return false;
        }
    }
    int kept = 0;
    for (int i = 0; i < m->kernels.count; i++)
        if (front_wants(f, m->kernels.at[i].host_name))
            m->kernels.at[kept++] = m->kernels.at[i];
    m->kernels.count = kept;
    if (kept)
        return true;
    diag_error(f->diags, "E1104", (source_span){f->path, 0, 0, 0}, "there is no kernel in this %s text",
               source_language_names[f->language]);
    return false;
}

/* `names` not NULL: those alone, for Metal, which need no compilation. */
static bool compile(front *f, source_module *m, source_names *names) {
    if (!clang_find(f->arena, &f->clang, f->diags))
        return false;
    m->compiler = arena_printf(f->arena, "clang %s (%s)", f->clang.version, f->clang.path);
    f->folder = clang_folder(f->arena, f->diags);
    if (!f->folder)
        return false;
    add_options(f);
    bool ok = false;
    switch (f->language) {
    case SOURCE_OPENCL: ok = front_opencl(f, m); break;
    case SOURCE_C: ok = front_c(f, m); break;
    case SOURCE_CUDA: ok = front_cuda(f, m); break;
    case SOURCE_METAL: ok = names ? front_metal_names(f, names) : front_metal(f, m); break;
    case SOURCE_LLVM: break;
    }
    temporary_remove(f->folder);
    return ok;
}

static bool begin(arena *a, const char *path, const char *text, source_language language, const source_options *options,
                  diag_list *diags, front *f) {
    static const source_options none;
    *f = (front){
        .arena = a, .path = path, .text = text, .language = language, .options = options ? options : &none, .diags = diags};
    if (!text)
        f->text = file_read(a, path, FILE_SOURCE_LIMIT, NULL, diags);
    if (f->text)
        diag_add_source(diags, path, f->text);
    return f->text;
}

source_module *lift_source(arena *a, const char *path, const char *text, source_language language, const source_options *options,
                           diag_list *diags) {
    front f;
    if (!begin(a, path, text, language, options, diags, &f))
        return NULL;
    source_module *m = NEW(a, source_module);
    m->language = language;
    m->path = path;
    if (language == SOURCE_LLVM) {
        m->length = strlen(f.text);
        m->text = module_text_opaque(a, f.text, &m->length);
    } else if (!compile(&f, m, NULL))
        return NULL;
    if (!module_text_kernels(a, m, diags))
        return NULL;
    name_parameters(&f, m);
    name_the_rest(a, m);
    if (needs_constants(&f, m) || !all_came_out(&f, m))
        return NULL;
    return choose_kernels(&f, m) ? m : NULL;
}

bool lift_source_names(arena *a, const char *path, const char *text, source_language language, const source_options *options,
                       source_names *names, diag_list *diags) {
    source_options every = options ? *options : (source_options){0};
    every.kernel_count = 0;
    if (language == SOURCE_METAL) {
        front f;
        source_module ignored = {0};
        return begin(a, path, text, language, &every, diags, &f) && compile(&f, &ignored, names);
    }
    const source_module *m = lift_source(a, path, text, language, &every, diags);
    for (int i = 0; m && i < m->kernels.count; i++)
        VEC_PUSH(a, *names, m->kernels.at[i].host_name);
    return m;
}
