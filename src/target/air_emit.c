/* AIR: instructions, names and literals. What has no effect is written once in a scope: a table of texts tells the name that has the value already. */
#include "target/air.h"
#include <string.h>

bool air_refuse(air *a, source_span span, const char *what, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, what);
    text_add_va(&b, what, args);
    va_end(args);
    if (!a->failed)
        diag_error(a->diags, "E0551", span.line ? span : a->kernel->span, "target air cannot express %s (kernel %s)",
                   text_get(&b), a->kernel->name);
    text_free(&b);
    a->failed = true;
    return false;
}

static const char *formatted(air *a, const char *format, va_list args) {
    text_buffer b = {0};
    text_add_va(&b, format, args);
    const char *text = arena_strdup(a->arena, text_get(&b));
    text_free(&b);
    return text;
}

void air_line(air *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add(a->out, "  %s\n", formatted(a, format, args));
    va_end(args);
}

const char *air_new_name(air *a, const char *hint) {
    text_buffer b = {0};
    for (const char *c = hint; *c; c++)
        text_add(&b, "%c",
                 (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' ? *c : '_');
    const char *name = arena_printf(a->arena, "%%%s.%d", text_get(&b), a->names++);
    text_free(&b);
    return name;
}

static int *head_of(air *a, const char *text) {
    uint32_t h = 2166136261u;
    for (const char *c = text; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return &a->heads[h % (sizeof a->heads / sizeof *a->heads)];
}

const char *air_pure(air *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = formatted(a, format, args);
    va_end(args);
    int *head = head_of(a, text);
    for (int i = *head; i >= 0; i = a->known.at[i].older)
        if (!strcmp(a->known.at[i].text, text))
            return a->known.at[i].name;
    air_known k = {text, air_new_name(a, "v"), *head};
    *head = a->known.count;
    VEC_PUSH(a->arena, a->known, k);
    text_add(a->out, "  %s = %s\n", k.name, text);
    return k.name;
}

const char *air_result(air *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = formatted(a, format, args), *name = air_new_name(a, "v");
    va_end(args);
    text_add(a->out, "  %s = %s\n", name, text);
    return name;
}

void air_leave(air *a, int mark) {
    while (a->known.count > mark) {
        const air_known *k = &a->known.at[--a->known.count];
        *head_of(a, k->text) = k->older;
    }
}

const char *air_new_label(air *a, const char *hint) {
    return arena_printf(a->arena, "%s.%d", hint, a->labels++);
}

void air_begin_block(air *a, const char *label) {
    text_add(a->out, "%s:\n", label);
    a->block = label;
}

void air_declare(air *a, const char *result, const char *name, const char *types) {
    const char *text = arena_printf(a->arena, "declare %s @%s(%s)", result, name, types);
    for (int i = 0; i < a->declared.count; i++)
        if (!strcmp(a->declared.at[i], text))
            return;
    VEC_PUSH(a->arena, a->declared, text);
}

const char *air_call(air *a, const char *result, const char *name, const char *types, const char *arguments) {
    air_declare(a, result, name, types);
    if (!strcmp(result, "void")) {
        air_line(a, "tail call void @%s(%s)", name, arguments);
        return NULL;
    }
    return air_result(a, "tail call %s @%s(%s)", result, name, arguments);
}

/* ---- types and literals ---- */

static const char *scalar_type(element_type t) {
    switch (t) {
    case ELEMENT_F32:
    case ELEMENT_TF32:
    case ELEMENT_MXFP4:
    case ELEMENT_Q8_0: /* a block's element is a float at once */
    case ELEMENT_Q4_0: return "float";
    case ELEMENT_F16: return "half";
    case ELEMENT_BF16: return "i16";
    case ELEMENT_I8:
    case ELEMENT_U8:
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: return "i8";
    case ELEMENT_BOOL: return "i1";
    case ELEMENT_INDEX: return "i64";
    default: return "i32";
    }
}

const char *air_storage_type(element_type t) {
    return t == ELEMENT_BOOL || element_table[t].block_elements > 1 ? "i8" : t == ELEMENT_INDEX ? "i32" : scalar_type(t);
}

const char *air_vector_of(air *a, const char *scalar, int lanes) {
    return lanes == 1 ? scalar : arena_printf(a->arena, "<%d x %s>", lanes, scalar);
}

const char *air_type(air *a, element_type t, int lanes) {
    return air_vector_of(a, scalar_type(t), lanes);
}

const char *air_pointer(air *a, const char *pointee, int space) {
    const char *in = space ? arena_printf(a->arena, " addrspace(%d)", space) : "";
    return a->form == AIR_OPAQUE ? arena_printf(a->arena, "ptr%s", in) : arena_printf(a->arena, "%s%s*", pointee, in);
}

const char *air_float(air *a, double x) {
    double rounded = (float)x;
    uint64_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    if (rounded != rounded)
        bits = 0x7ff8000000000000u;
    return arena_printf(a->arena, "0x%016llX", (unsigned long long)bits);
}

const char *air_constant(air *a, const char *scalar, const char *literal, int lanes) {
    if (lanes == 1)
        return literal;
    text_buffer b = {0};
    for (int l = 0; l < lanes; l++)
        text_add(&b, "%s%s %s", l ? ", " : "<", scalar, literal);
    text_add(&b, ">");
    const char *text = arena_strdup(a->arena, text_get(&b));
    text_free(&b);
    return text;
}

const char *air_splat(air *a, const char *scalar, const char *x, int lanes) {
    if (lanes == 1)
        return x;
    if (*x != '%')
        return air_constant(a, scalar, x, lanes);
    const char *one = air_pure(a, "insertelement <%d x %s> undef, %s %s, i32 0", lanes, scalar, scalar, x);
    return air_pure(a, "shufflevector <%d x %s> %s, <%d x %s> undef, <%d x i32> zeroinitializer", lanes, scalar, one, lanes,
                    scalar, lanes);
}

/* ---- what names stand for ---- */

static int *head_of_key(const air *a, const void *key) {
    uintptr_t h = (uintptr_t)key >> 4;
    return (int *)&a->bound_heads[(h ^ h >> 10) % (sizeof a->bound_heads / sizeof *a->bound_heads)];
}

static air_bound *slot_of(air *a, const void *key) {
    int *head = head_of_key(a, key);
    for (int i = *head; i >= 0; i = a->bound.at[i].older)
        if (a->bound.at[i].key == key)
            return &a->bound.at[i];
    air_bound b = {.key = key, .older = *head};
    *head = a->bound.count;
    VEC_PUSH(a->arena, a->bound, b);
    return &a->bound.at[a->bound.count - 1];
}

void air_forget(air *a, int mark) {
    while (a->bound.count > mark) {
        const air_bound *b = &a->bound.at[--a->bound.count];
        *head_of_key(a, b->key) = b->older;
    }
}

void air_bind(air *a, const void *key, const char *text) {
    air_bound *b = slot_of(a, key);
    b->text = text;
    b->is_constant = false;
}

void air_bind_constant(air *a, const void *key, int64_t value) {
    air_bound *b = slot_of(a, key);
    b->text = NULL;
    b->is_constant = true;
    b->value = value;
}

const air_bound *air_find(const air *a, const void *key) {
    for (int i = *head_of_key(a, key); i >= 0; i = a->bound.at[i].older)
        if (a->bound.at[i].key == key)
            return a->bound.at[i].text || a->bound.at[i].is_constant ? &a->bound.at[i] : NULL;
    return NULL;
}
