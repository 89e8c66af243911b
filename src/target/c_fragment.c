/* Fragments in emitted C: those of a vector's instructions are variables. A fragment of `a` with one row is the four bytes of its step of the sum; of `b`, a vector's
 * columns of such four bytes; accumulators are as many lanes: 16, 8 or 4. Each instruction is one function of the prelude, whose portable form gives the same bits. */
#include "target/c_fragment.h"
#include <string.h>

static bool first_use(cfamily *p, const char *name) {
    if (names_have(&p->helpers, name))
        return false;
    names_add(p, &p->helpers, name);
    return true;
}

static int group_of(const kernel_fragment *f) {
    return GROUP_BYTES / element_table[f->element].block_bytes;
}

static bool has_type(const kernel_fragment *f) {
    return f->role == FRAGMENT_ACCUMULATOR ? f->element == ELEMENT_F32 || f->element == ELEMENT_I32
                                           : f->element == ELEMENT_BF16 || f->element == ELEMENT_I8;
}

static bool has_lanes(const kernel_fragment *f) { /* bytes in vectors of 16, 32 or 64 of them, bf16 in those of 16 and 64 bytes */
    const bool whole = f->element == ELEMENT_I8 || f->element == ELEMENT_I32;
    return f->columns == FRAGMENT_LANES || f->columns == FRAGMENT_LANES / 4 || (whole && f->columns == FRAGMENT_LANES / 2);
}

static bool is_vector(const kernel_fragment *f) {
    return f->holder == LEVEL_TASK && has_type(f) &&
           ((f->role == FRAGMENT_A && f->rows == 1 && f->columns == group_of(f)) ||
            (f->role == FRAGMENT_B && f->rows == group_of(f) && has_lanes(f)) ||
            (f->role == FRAGMENT_ACCUMULATOR && f->rows == 1 && has_lanes(f)));
}

bool c_fragments_begin(cfamily *p, const kernel_ir *k) {
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (!is_vector(f) && !c_is_tile(f))
            return cfamily_refuse(
                p, f->span,
                "fragments of %d x %d %s, role %s, held by a %s (it has 1 x 4, 1 x 16 and 16 x 16 accumulators of f32 and "
                "i32, 1 x 8 of i32, and operands of bf16 and i8 of four bytes, or 64, along the sum, held by a task)",
                f->rows, f->columns, element_table[f->element].name, role_names[f->role], level_names[f->holder]);
    }
    cfamily_fragments_name(p, k);
    return c_tiles_begin(p, k);
}

static const char *words(cfamily *p, int lanes) {
    return c_vector(p, "i32", "int32_t", 4, lanes);
}

/* Functions of 16 lanes have no number in their names. */
static const char *of_lanes(cfamily *p, const char *name, int lanes) {
    return lanes == FRAGMENT_LANES ? name : arena_printf(p->arena, "%s_x%d", name, lanes);
}

static const char *type_of(cfamily *p, const kernel_fragment *f) {
    return f->role == FRAGMENT_A   ? "int32_t"
           : f->role == FRAGMENT_B ? words(p, f->columns)
                                   : c_register_type(p, f->element, f->columns);
}

void c_fragments_declare(cfamily *p, const kernel_ir *k, text_buffer *out) {
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        for (int n = 0; n < f->count && is_vector(f); n++)
            text_add(out, "    %s %s;\n", type_of(p, f), p->fragments[i][n]);
    }
}

/* ---- memory ---- */

static bool reaches(cfamily *p, index_expr *extent, int size) {
    int64_t n;
    return ix_is_const(cfamily_fold(p, extent), &n) && n >= size;
}

static kernel_access two_along(const kernel_access *access, int d) {
    kernel_access two = *access;
    two.lanes = 2;
    two.vector_dim = d;
    two.active = NULL;
    return two;
}

static const char *pitch(cfamily *p, const kernel_access *by, index_expr *step) {
    const char *unit = cfamily_stride(p, by);
    return unit && step ? arena_printf(p->arena, "(%s) * (%s)", unit, cfamily_index_text(p, step)) : unit;
}

/* Whether the fragment covers whole boxes of 16 columns and four bytes of rows, in whose order the array lies. */
static bool is_grouped(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const kernel_array *a = s->access.array;
    int group = group_of(f);
    return f->role == FRAGMENT_B && a->layout.kind == LAYOUT_BOX && a->layout.bits == 0 && a->rank == 2 && s->row_dim == 1 &&
           s->column_dim == 0 && !s->row_step && !s->column_step && a->layout.box[0] == f->columns && a->layout.box[1] == group &&
           cfamily_multiple(p, cfamily_fold(p, s->access.indices[0])) % f->columns == 0 &&
           cfamily_multiple(p, cfamily_fold(p, s->access.indices[1])) % group == 0;
}

bool c_fragment_transfer(cfamily *p, const kernel_stmt *s, c_transfer *out) {
    arena *a = p->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    kernel_access by_row = two_along(&s->access, s->row_dim), by_column = two_along(&s->access, s->column_dim);
    const kernel_layout *layout = &s->access.array->layout;
    *out = (c_transfer){.grouped = is_grouped(p, s)};
    if (s->by_reference || s->access.array->element != f->element ||
        (!out->grouped && layout->kind != LAYOUT_ROW && layout->kind != LAYOUT_PAD && layout->kind != LAYOUT_STRIDES))
        return cfamily_refuse(p, s->span, "fragments in a layout whose rows lie at no equal distances");
    p->arrays[s->access.array->id].used = true;
    out->whole = !s->extents || (reaches(p, s->extents[0], f->rows) && reaches(p, s->extents[1], f->columns));
    out->place = arena_printf(a, "&%s[%s]", p->arrays[s->access.array->id].name, cfamily_offset(p, &s->access, 0));
    out->rows = s->extents ? cfamily_index_text(p, s->extents[0]) : arena_printf(a, "%d", f->rows);
    out->columns = s->extents ? cfamily_index_text(p, s->extents[1]) : arena_printf(a, "%d", f->columns);
    if (out->grouped)
        return true;
    out->row = pitch(p, &by_row, s->row_step);
    out->column = pitch(p, &by_column, s->column_step);
    out->rows_along = !s->row_step && cfamily_contiguous(p, &by_row);
    out->columns_along = !s->column_step && cfamily_contiguous(p, &by_column);
    return out->row && out->column ? true : cfamily_refuse(p, s->span, "fragments whose rows lie at no equal distances");
}

static void shuffled(cfamily *p, const char *x, const char *y,
                     int count) { /* of `count` elements each, one of x, one of y, and so on */
    text_add(&p->prelude, "__builtin_shufflevector(%s, %s", x, y);
    for (int i = 0; i < 2 * count; i++)
        text_add(&p->prelude, ", %d", i / 2 + i % 2 * count);
    text_add(&p->prelude, ")");
}

/* Rows r[0], .. of a few elements, by instructions that interleave: compilers widen bytes of short vectors one by one. */
static void interleave(cfamily *p, int lanes, bool bytes) {
    const char *w = words(p, lanes);
    text_add(&p->prelude, "#if __has_builtin(__builtin_shufflevector)\n");
    if (!bytes) {
        text_add(&p->prelude, "    return (%s)", w);
        shuffled(p, "r[0]", "r[1]", lanes);
        text_add(&p->prelude, ";\n#else\n");
        return;
    }
    const char *all = c_vector(p, "u8", "uint8_t", 1, 2 * lanes);
    for (int i = 0; i < 2; i++) {
        text_add(&p->prelude, "    %s %s = ", all, i ? "high" : "low");
        shuffled(p, i ? "r[2]" : "r[0]", i ? "r[3]" : "r[1]", lanes);
        text_add(&p->prelude, ";\n");
    }
    text_add(&p->prelude, "    return (%s)", w);
    const char *pair = c_vector(p, "u16", "uint16_t", 2, lanes);
    shuffled(p, arena_printf(p->arena, "(%s)low", pair), arena_printf(p->arena, "(%s)high", pair), lanes);
    text_add(&p->prelude, ";\n#else\n");
}

/* (pointer, elements between rows): four bytes of rows, made columns of them. */
static const char *group_of_rows(cfamily *p, const kernel_fragment *f) {
    bool bytes = element_table[f->element].block_bytes == 1;
    const int lanes = f->columns;
    const char *name = of_lanes(p, bytes ? "group_of_4_rows" : "group_of_2_rows", lanes), *narrow = bytes ? "u8" : "u16",
               *type = c_storage_type(f->element);
    if (names_have(&p->helpers, name))
        return name;
    const char *wider = c_resize(p, narrow, "i32", lanes), *w = words(p, lanes);
    if (lanes < FRAGMENT_LANES && bytes)
        c_vector(p, "u8", "uint8_t", 1, 2 * lanes),
            c_vector(p, "u16", "uint16_t", 2, lanes); /* their definitions stand in front of the function */
    names_add(p, &p->helpers, name);
    text_add(&p->prelude, "INLINE %s %s(const %s *p, int64_t row)\n{\n    %sx%d r[%d];\n", w, name, type, narrow, lanes,
             group_of(f));
    for (int i = 0; i < group_of(f); i++)
        text_add(&p->prelude, "    __builtin_memcpy(&r[%d], p + %d * row, sizeof r[%d]);\n", i, i, i);
    if (lanes < FRAGMENT_LANES)
        interleave(p, lanes, bytes);
    text_add(&p->prelude,
             bytes ? "    return %s(r[0]) | %s(r[1]) << 8 | %s(r[2]) << 16 | %s(r[3]) << 24;\n"
                   : "    return %s(r[0]) | %s(r[1]) << 16;\n",
             wider, wider, wider, wider);
    text_add(&p->prelude, lanes < FRAGMENT_LANES ? "#endif\n}\n" : "}\n");
    return name;
}

/* (pointer, bytes between columns): columns of four bytes that lie side by side each. */
static const char *group_of_columns(cfamily *p, int lanes) {
    const char *name = of_lanes(p, "group_of_columns", lanes);
    if (names_have(&p->helpers, name))
        return name;
    const char *w = words(p, lanes);
    names_add(p, &p->helpers, name);
    if (first_use(p, "word_at"))
        text_add(&p->prelude,
                 "INLINE int32_t word_at(const void *p)\n{\n    int32_t x;\n    __builtin_memcpy(&x, p, 4);\n    return x;\n}\n");
    text_add(&p->prelude, "INLINE %s %s(const void *q, int64_t column)\n{\n    const char *p = q;\n    return (%s){", w, name, w);
    for (int i = 0; i < lanes; i++)
        text_add(&p->prelude, "%sword_at(p + %d * column)", i ? ", " : "", i);
    text_add(&p->prelude, "};\n}\n");
    return name;
}

const char *c_fragment_elements(cfamily *p, const kernel_fragment *f, bool store) {
    const char *type = c_storage_type(f->element),
               *name = arena_printf(p->arena, "%s_elements_%s", store ? "store" : "load", type);
    if (!first_use(p, name))
        return name;
    text_add(&p->prelude,
             "INLINE void %s(%svoid *fragment, int group, int all_rows, int all_columns, %s%s *p, int64_t row, int64_t column, "
             "int64_t rows, int64_t columns)\n{\n    %s%s *e = fragment;\n",
             name, store ? "const " : "", store ? "" : "const ", type, store ? "const " : "", type);
    text_add(
        &p->prelude,
        "    for (int r = 0; r < all_rows; r++)\n        for (int c = 0; c < all_columns; c++)\n"
        "            %s\n}\n",
        store ? "if (r < rows && c < columns)\n                p[r * row + c * column] = e[(r / group * all_columns + c) * group "
                "+ r % group];"
              : "e[(r / group * all_columns + c) * group + r % group] = r < rows && c < columns ? p[r * row + c * column] : 0;");
    return name;
}

static const char *one_row(c_transfer *t, cfamily *p) { /* how many elements of a single row exist */
    return t->rows[0] == '1' && !t->rows[1] ? t->columns : arena_printf(p->arena, "(%s) > 0 ? %s : 0", t->rows, t->columns);
}

static bool load_or_store(cfamily *p, const kernel_stmt *s) {
    arena *a = p->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    bool store = s->kind == KSTMT_FRAGMENT_STORE;
    const char *x = cfamily_fragment_name(p, f, s->fragments[0].index);
    element_type e = f->element;
    c_transfer t;
    if (!c_fragment_transfer(p, s, &t))
        return true;
    if (f->role == FRAGMENT_ACCUMULATOR) {
        cfamily_helper h = store ? HELPER_STORE : HELPER_LOAD;
        const char *count = t.whole ? "" : arena_printf(a, ", %s", one_row(&t, p)),
                   *stride = t.columns_along ? "" : arena_printf(a, ", %s", t.column),
                   *value = store ? arena_printf(a, ", %s", x) : "";
        h = t.columns_along ? (cfamily_helper)(h + !t.whole) : (cfamily_helper)(h + 2 + !t.whole);
        cfamily_line(p, "%s%s%s;", store ? "" : x, store ? "" : " = ",
                     cfamily_call(p, h, e, e, f->columns, "%s%s%s%s", t.place, stride, value, count));
        return true;
    }
    bool side_by_side = t.grouped || (f->role == FRAGMENT_A ? t.columns_along
                                                            : t.rows_along && !strcmp(t.column, arena_printf(a, "%d", f->rows)));
    if (t.whole && side_by_side) {
        const char *own = arena_printf(a, "&%s", x);
        cfamily_line(p, "__builtin_memcpy(%s, %s, %d);", store ? t.place : own, store ? own : t.place,
                     f->role == FRAGMENT_A ? GROUP_BYTES : GROUP_BYTES * f->columns);
    } else if (t.whole && !store && f->role == FRAGMENT_B && t.columns_along) {
        cfamily_line(p, "%s = %s(%s, %s);", x, group_of_rows(p, f), t.place, t.row);
    } else if (t.whole && !store && f->role == FRAGMENT_B && t.rows_along) {
        cfamily_line(p, "%s = %s(%s, (%s) * %d);", x, group_of_columns(p, f->columns), t.place, t.column,
                     element_table[e].block_bytes);
    } else {
        if (t.grouped)
            t.row = "1", t.column = arena_printf(a, "%d", group_of(f));
        int group = f->role == FRAGMENT_A ? 1 : group_of(f);
        cfamily_line(p, "%s(&%s, %d, %d, %d, %s, %s, %s, %s, %s);", c_fragment_elements(p, f, store), x, group, f->rows,
                     f->columns, t.place, t.row, t.column, t.rows, t.columns);
    }
    return true;
}

/* ---- products ---- */

/* The instruction adds the odd products first and then the even ones, each sum rounded once, whatever the rounding mode; operands and sums below 2^-126 are
 * zero, sums by what they are before they are rounded to a subnormal (bench/findings). */
const char *c_flushed_fma(cfamily *p) {
    static const char name[] = "fma_flushed";
    if (first_use(p, name))
        text_add(
            &p->prelude,
            "INLINE float flushed(float x)\n{\n    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;\n}\n"
            "INLINE float upper_half(int32_t x)\n{\n    float f;\n    x &= -65536;\n    __builtin_memcpy(&f, &x, 4);\n    "
            "return flushed(f);\n}\n"
            "INLINE float fma_flushed(float a, float b, float c)\n{\n    float r = __builtin_fmaf(a, b, c);\n"
            "    return __builtin_fabs((double)a * b + c) < 0x1.ffffffp-127 ? __builtin_copysignf(0, r) : r;\n}\n");
    return name;
}

/* BFDOT sums the two products and adds that to the sum, both rounded to odd: cut off, and the last bit set if anything was lost. Numbers below 2^-126 are zero, before they are
 * rounded; what is over all f32 is infinite. */
static const char odd_text[] =
    "INLINE float add_odd(float x, float y)\n{\n    double a = x, b = y, s = a + b, t = s - a, lost = (a - (s - t)) + (b - t);\n"
    "    int64_t bits;\n    __builtin_memcpy(&bits, &s, 8);\n"
    "    if (!(__builtin_fabs(s) < 0x1p1000))\n        return x + y;\n"
    "    if (lost != 0)\n        bits = (bits - ((lost < 0) != (s < 0))) | 1;\n"
    "    bits = (bits & -(1ll << 29)) | ((bits & ((1ll << 29) - 1)) ? 1ll << 29 : 0);\n"
    "    __builtin_memcpy(&s, &bits, 8);\n"
    "    return __builtin_fabs(s) < 0x1p-126 ? __builtin_copysignf(0, (float)s) : (float)s;\n}\n";

static const char *odd_dot_of_two(cfamily *p) {
    static const char name[] = "dot_bf16_x4";
    if (names_have(&p->helpers, name))
        return name;
    const char *w = words(p, FRAGMENT_LANES / 4), *v = c_register_type(p, ELEMENT_F32, FRAGMENT_LANES / 4);
    c_flushed_fma(p);
    names_add(p, &p->helpers, name);
    text_add(
        &p->prelude,
        "%sINLINE %s %s(int32_t a, %s b, %s c)\n{\n"
        "#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) && defined(__aarch64__) && !defined(__AARCH64EB__)\n"
        "    __asm__(\"bfdot %%0.4s, %%1.8h, %%2.8h\" : \"+w\"(c) : \"w\"((%s){0} + a), \"w\"(b));\n    return c;\n"
        "#else\n    for (int l = 0; l < %d; l++) {\n"
        "        float even = flushed(upper_half((int32_t)((uint32_t)a << 16)) * upper_half((int32_t)((uint32_t)b[l] << 16)));\n"
        "        c[l] = add_odd(flushed(c[l]), add_odd(even, flushed(upper_half(a) * upper_half(b[l]))));\n"
        "    }\n    return c;\n#endif\n}\n",
        odd_text, v, name, w, v, w, FRAGMENT_LANES / 4);
    return name;
}

static const char *dot_of_two(cfamily *p) {
    static const char name[] = "dot_bf16";
    if (names_have(&p->helpers, name))
        return name;
    const char *w = words(p, FRAGMENT_LANES), *v = c_register_type(p, ELEMENT_F32, FRAGMENT_LANES), *fma = c_flushed_fma(p);
    names_add(p, &p->helpers, name);
    text_add(&p->prelude,
             "INLINE %s %s(int32_t a, %s b, %s c)\n{\n"
             "#if defined(__AVX512BF16__) && defined(__AVX512F__)\n"
             "    __asm__(\"vdpbf16ps %%2, %%1, %%0\" : \"+v\"(c) : \"v\"(b), \"v\"((%s){0} + a));\n    return c;\n"
             "#else\n    for (int l = 0; l < %d; l++) {\n"
             "        float odd = %s(upper_half(a), upper_half(b[l]), flushed(c[l]));\n"
             "        c[l] = %s(upper_half((int32_t)((uint32_t)a << 16)), upper_half((int32_t)((uint32_t)b[l] << 16)), odd);\n"
             "    }\n    return c;\n#endif\n}\n",
             v, name, w, v, w, FRAGMENT_LANES, fma, fma);
    return name;
}

/* VPDPBUSD multiplies bytes without sign by such with one: 128 is added to the former, and 128 times the latter taken off again. */
static const char biased[] = "    %s bias = (%s){0} + (int32_t)0x80808080, x = (%s){0} + (a ^ (int32_t)0x80808080);\n"
                             "    c = (%s)((%s)c - (%s)%s((%s){0}, bias, b));\n    return %s(c, x, b);\n";
/* VPMADDWD sums pairs of products of 16 bits: of the even bytes, then of the odd ones. */
static const char in_words[] =
    "    %s x = (%s)((%s){0} + a), y = (%s)b;\n"
    "    c += (%s)%s((x << 8) >> 8, (y << 8) >> 8);\n    c += (%s)%s(x >> 8, y >> 8);\n    return c;\n";
typedef struct byte_dot {
    int lanes;
    const char *macro, *function; /* a builtin; NULL: the compiler knows the instruction by its name alone */
} byte_dot;
static const byte_dot byte_dots[] = {
    {16, "defined(__AVX512VNNI__)", "__builtin_ia32_vpdpbusd_v16si"},
    {16, "defined(__AVX512VNNI__)", "__builtin_ia32_vpdpbusd512"},
    {8, "(defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__)))", "__builtin_ia32_vpdpbusd_v8si"},
    {8, "(defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__)))", "__builtin_ia32_vpdpbusd256"},
    {8, "defined(__AVX2__)", "__builtin_ia32_pmaddwd256"},
    {4, "defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_NEON) && !defined(__AARCH64EB__) && defined(__aarch64__)", NULL},
};

static const char *dot_of_four(cfamily *p, int lanes) {
    const char *name = of_lanes(p, "dot_i8", lanes);
    if (names_have(&p->helpers, name))
        return name;
    const char *w = words(p, lanes), *u = c_vector(p, "u32", "uint32_t", 4, lanes),
               *h = c_vector(p, "i16", "int16_t", 2, 2 * lanes);
    names_add(p, &p->helpers, name);
    text_add(&p->prelude, "INLINE %s %s(int32_t a, %s b, %s c)\n{\n", w, name, w, w);
    const char *test = "#if";
    for (int i = 0; i < COUNT(byte_dots); i++) {
        const byte_dot *d = &byte_dots[i];
        if (d->lanes != lanes)
            continue;
        text_add(&p->prelude, d->function ? "%s %s && __has_builtin(%s)\n" : "%s %s\n", test, d->macro, d->function);
        if (!d->function)
            text_add(
                &p->prelude,
                "    __asm__(\"sdot %%0.4s, %%1.16b, %%2.16b\" : \"+w\"(c) : \"w\"((%s){0} + a), \"w\"(b));\n    return c;\n", w);
        else if (strstr(d->function, "pmaddwd"))
            text_add(&p->prelude, in_words, h, h, w, h, w, d->function, w, d->function);
        else
            text_add(&p->prelude, biased, w, w, w, w, u, u, d->function, w, d->function);
        test = "#elif";
    }
    text_add(&p->prelude,
             "#else\n    for (int l = 0; l < %d; l++) {\n        uint32_t sum = (uint32_t)c[l];\n"
             "        for (int i = 0; i < 32; i += 8)\n"
             "            sum += (uint32_t)((int8_t)((uint32_t)a >> i) * (int8_t)((uint32_t)b[l] >> i));\n"
             "        c[l] = (int32_t)sum;\n    }\n    return c;\n#endif\n}\n",
             lanes);
    return name;
}

static bool multiply(cfamily *p, const kernel_stmt *s) {
    const char *name[4];
    for (int i = 0; i < 4; i++)
        name[i] = cfamily_fragment_name(p, s->fragments[i].fragment, s->fragments[i].index);
    const kernel_fragment *d = s->fragments[0].fragment;
    if (s->asynchronous)
        return false;
    cfamily_line(p, "%s = %s(%s, %s, %s);", name[0],
                 d->element != ELEMENT_F32      ? dot_of_four(p, d->columns)
                 : d->columns == FRAGMENT_LANES ? dot_of_two(p)
                                                : odd_dot_of_two(p),
                 name[1], name[2], name[3]);
    return true;
}

bool c_fragment_statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind < KSTMT_FRAGMENT_FILL || s->kind > KSTMT_FRAGMENT_SET)
        return false;
    const kernel_fragment *f = s->fragments[0].fragment;
    for (int i = 1; i < 4 && s->kind == KSTMT_FRAGMENT_MMA; i++)
        if (c_is_tile(s->fragments[i].fragment) != c_is_tile(f))
            return false;
    if (c_is_tile(f))
        return c_tile_statement(p, s);
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL:
        if (f->role != FRAGMENT_ACCUMULATOR)
            return false;
        cfamily_line(
            p, "%s = %s;", cfamily_fragment_name(p, f, s->fragments[0].index),
            cfamily_call(p, HELPER_SPLAT, f->element, f->element, f->columns, "%s", cfamily_statement_value(p, s->value).text));
        return true;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: return load_or_store(p, s);
    case KSTMT_FRAGMENT_MMA: return multiply(p, s);
    default: return false;
    }
}
