/* Names in printed code: legal, unique within a function; and the table of what each thing of the IR is called. */
#include "target/cfamily.h"
#include <ctype.h>
#include <string.h>

/* Words that C, OpenCL C, CUDA C++ or Metal give a meaning, and names that the printed functions use themselves. */
static const char *const reserved[] = {
    "alignas",  "alignof",   "and",       "asm",           "atomic",      "auto",       "bfloat",
    "block",    "bool",      "break",     "case",          "catch",       "char",       "class",
    "complex",  "const",     "constant",  "constexpr",     "continue",    "default",    "delete",
    "device",   "do",        "double",    "else",          "enum",        "explicit",   "extern",
    "false",    "float",     "for",       "fragment",      "friend",      "generic",    "global",
    "goto",     "half",      "if",        "imaginary",     "inline",      "int",        "int8_t",
    "int16_t",  "int32_t",   "int64_t",   "kernel",        "linux",       "local",      "long",
    "main",     "mutable",   "namespace", "new",           "not",         "nullptr",    "operator",
    "or",       "private",   "protected", "public",        "ptrdiff_t",   "register",   "restrict",
    "return",   "short",     "signed",    "size_t",        "sizeof",      "static",     "struct",
    "switch",   "template",  "this",      "thread",        "threadgroup", "throw",      "true",
    "try",      "typedef",   "typename",  "typeof",        "uint",        "uint8_t",    "uint16_t",
    "uint32_t", "uint64_t",  "uintptr_t", "union",         "unix",        "unsigned",   "using",
    "vector",   "vertex",    "virtual",   "void",          "volatile",    "wchar_t",    "while",
    "xor",      "arrays",    "integers",  "floats",        "first",       "last",       "scratch",
    "task",     "index_min", "index_max", "floor_div",     "floor_mod",   "swizzle",    "signbit",
    "isnan",    "exp",       "log",       "tanh",          "erf",         "sin",        "cos",
    "sqrt",     "abs",       "malloc",    "free",          "memcpy",      "min",        "max",
    "select",   "fma",       "all",       "any",           "fabs",        "floor",      "rint",
    "fmin",     "fmax",      "barrier",   "isnan",         "NAN",         "INFINITY",   "INT_MIN",
    "uchar",    "ushort",    "ulong",     "image2d_t",     "sampler_t",   "event_t",    "pipe",
    "uniform",  "half",      "ptr_t",     "thread_number", "task_number", "first_task", "block_number",
    "precise",  "threadIdx", "blockIdx",  "blockDim",      "gridDim",     "warpSize",   "metal",
    "simd",     "asm"};

/* float4, uint8, ..: vector types of OpenCL C, CUDA and Metal; vload4, as_int, convert_float: functions of theirs. */
static bool is_vector_word(const char *name) {
    static const char *const stems[] = {"char", "uchar", "short", "ushort", "int",  "uint",
                                        "long", "ulong", "float", "double", "half", "bool"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t n = strlen(stems[i]);
        if (!strncmp(name, stems[i], n) && (!strcmp(name + n, "2") || !strcmp(name + n, "3") || !strcmp(name + n, "4") ||
                                            !strcmp(name + n, "8") || !strcmp(name + n, "16")))
            return true;
    }
    return !strncmp(name, "as_", 3) || !strncmp(name, "convert_", 8) || !strncmp(name, "vload", 5) ||
           !strncmp(name, "vstore", 6) || !strncmp(name, "get_", 4) || !strncmp(name, "simd_", 5) || !strncmp(name, "packed_", 7);
}

static bool is_reserved(const char *name) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (*name == *reserved[i] && !strcmp(name, reserved[i]))
            return true;
    if (is_vector_word(name))
        return true;
    /* f32_.., i8x16_..: types and helpers of ours. */
    const char *s = name;
    if (!strncmp(s, "bf", 2) || !strncmp(s, "q4_0", 4) || !strncmp(s, "q8_0", 4) || !strncmp(s, "e4m3", 4) ||
        !strncmp(s, "tf32", 4) || !strncmp(s, "mxfp4", 5) || !strncmp(s, "e5m2", 4))
        return true;
    if (*s && strchr("fiu", *s) && isdigit((unsigned char)s[1])) {
        for (s++; isdigit((unsigned char)*s); s++)
            ;
        return *s == 'x' || *s == '_';
    }
    return false;
}

const char *cfamily_legal(arena *a, const char *wanted) {
    char *name = arena_printf(a, "%s%s", isdigit((unsigned char)wanted[0]) ? "v" : "", *wanted ? wanted : "v");
    for (char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            *s = '_';
    while (name[0] == '_') /* such names belong to the implementation */
        name++;
    if (!*name)
        name = arena_strdup(a, "v");
    if (isdigit((unsigned char)name[0]))
        name = arena_printf(a, "v%s", name);
    return is_reserved(name) ? arena_printf(a, "%s_", name) : name;
}

static unsigned name_slot(const char *name, int slot_count) {
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return (h ^ h >> 15) & (unsigned)(slot_count - 1);
}

bool names_have(const cfamily_names *n, const char *name) {
    if (!n->slot_count)
        return false;
    for (unsigned slot = name_slot(name, n->slot_count); n->slots[slot] >= 0; slot = (slot + 1) & (unsigned)(n->slot_count - 1))
        if (n->slots[slot] < n->count && !strcmp(n->at[n->slots[slot]], name))
            return true;
    return false;
}

static void take_slot(cfamily_names *n, int position) {
    unsigned slot = name_slot(n->at[position], n->slot_count);
    while (n->slots[slot] >= 0)
        slot = (slot + 1) & (unsigned)(n->slot_count - 1);
    n->slots[slot] = position;
    n->slots_taken++;
}

void names_add(cfamily *p, cfamily_names *n, const char *name) {
    if (n->count == n->capacity)
        n->at = arena_grow(p->arena, n->at, n->count, &n->capacity, sizeof *n->at);
    n->at[n->count++] = name;
    if (2 * (n->slots_taken + 1) <= n->slot_count) {
        take_slot(n, n->count - 1);
        return;
    }
    int wanted = 64;
    while (wanted < 4 * n->count)
        wanted *= 2;
    n->slots = NEW_ARRAY(p->arena, int, wanted);
    n->slot_count = wanted;
    n->slots_taken = 0;
    memset(n->slots, -1, (size_t)wanted * sizeof *n->slots);
    for (int i = 0; i < n->count; i++)
        take_slot(n, i);
}

bool cfamily_first_use(cfamily *p, const char *name) {
    if (names_have(&p->helpers, name))
        return false;
    names_add(p, &p->helpers, name);
    return true;
}

const char *cfamily_unique(cfamily *p, const char *wanted) {
    const char *legal = cfamily_legal(p->arena, arena_printf(p->arena, "%s%s", wanted, p->suffix ? p->suffix : ""));
    const char *name = legal;
    for (int i = 2; names_have(&p->names, name) || names_have(&p->cell_names, name); i++)
        name = arena_printf(p->arena, "%s_v%d", legal, i);
    names_add(p, &p->names, name);
    return name;
}

static unsigned slot_of(const void *key, int capacity) {
    uint64_t h = (uint64_t)(uintptr_t)key;
    h = (h >> 4) * 0x9e3779b97f4a7c15u;
    return (unsigned)(h >> 32) & (unsigned)(capacity - 1);
}

cfamily_binding *cfamily_bind(cfamily *p, const void *key, const char *text) {
    if (2 * (p->binding_count + 1) > p->binding_capacity) {
        cfamily_binding *old = p->bindings;
        int old_capacity = p->binding_capacity;
        p->binding_capacity = old_capacity ? 2 * old_capacity : 64;
        p->bindings = NEW_ARRAY(p->arena, cfamily_binding, p->binding_capacity);
        p->binding_count = 0;
        for (int i = 0; i < old_capacity; i++)
            if (old[i].key)
                *cfamily_bind(p, old[i].key, NULL) = old[i];
    }
    unsigned slot = slot_of(key, p->binding_capacity);
    while (p->bindings[slot].key && p->bindings[slot].key != key)
        slot = (slot + 1) & (unsigned)(p->binding_capacity - 1);
    p->binding_count += !p->bindings[slot].key;
    p->bindings[slot] =
        (cfamily_binding){.key = key, .text = text, .multiple = 1, .least = INT64_MIN / 4, .greatest = INT64_MAX / 4};
    return &p->bindings[slot];
}

const cfamily_binding *cfamily_find(const cfamily *p, const void *key) {
    if (!p->binding_capacity)
        return NULL;
    for (unsigned slot = slot_of(key, p->binding_capacity); p->bindings[slot].key;
         slot = (slot + 1) & (unsigned)(p->binding_capacity - 1))
        if (p->bindings[slot].key == key)
            return &p->bindings[slot];
    return NULL;
}

bool cfamily_is_live(const cfamily *p, const void *key) {
    if (!p->live_capacity)
        return false;
    for (unsigned slot = slot_of(key, p->live_capacity); p->live[slot]; slot = (slot + 1) & (unsigned)(p->live_capacity - 1))
        if (p->live[slot] == key)
            return true;
    return false;
}

void cfamily_mark(cfamily *p, const void *key) {
    if (cfamily_is_live(p, key))
        return;
    if (2 * (p->live_count + 1) > p->live_capacity) {
        const void **old = p->live;
        int old_capacity = p->live_capacity;
        p->live_capacity = old_capacity ? 2 * old_capacity : 64;
        p->live = NEW_ARRAY(p->arena, const void *, p->live_capacity);
        p->live_count = 0;
        for (int i = 0; i < old_capacity; i++)
            if (old[i])
                cfamily_mark(p, old[i]);
    }
    unsigned slot = slot_of(key, p->live_capacity);
    while (p->live[slot])
        slot = (slot + 1) & (unsigned)(p->live_capacity - 1);
    p->live[slot] = key;
    p->live_count++;
}
