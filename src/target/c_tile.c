/* Fragments of 16 rows in emitted C, in the registers of a matrix unit (AMX). The compilers know those registers by number alone, so a fragment is a number; where
 * there is no such unit they are arrays of the task's, and the functions of the prelude do with them what the unit does, bit for bit. */
#include "target/c_fragment.h"

static int step_of(const kernel_fragment *f) { /* of the sum: rows of 64 bytes */
    return 64 / element_table[f->element].block_bytes;
}

bool c_is_tile(const kernel_fragment *f) {
    bool operand = f->element == ELEMENT_BF16 || f->element == ELEMENT_I8;
    return f->holder == LEVEL_TASK &&
           ((f->role == FRAGMENT_A && operand && f->rows == TILE_ROWS && f->columns == step_of(f)) ||
            (f->role == FRAGMENT_B && operand && f->rows == step_of(f) && f->columns == FRAGMENT_LANES) ||
            (f->role == FRAGMENT_ACCUMULATOR && (f->element == ELEMENT_F32 || f->element == ELEMENT_I32) &&
             f->rows == TILE_ROWS && f->columns == FRAGMENT_LANES));
}

bool c_tiles_begin(cfamily *p, const kernel_ir *k) {
    int number = 0;
    for (int i = 0; i < k->fragments.count; i++)
        for (int n = 0; n < k->fragments.at[i]->count && c_is_tile(k->fragments.at[i]); n++, number++) {
            if (number == TILE_REGISTERS)
                return cfamily_refuse(p, k->fragments.at[i]->span, "more than %d fragments of 16 rows", TILE_REGISTERS);
            p->fragments[i][n] = arena_printf(p->arena, "%d", number);
        }
    return true;
}

static bool has_tiles(const kernel_ir *k) {
    for (int i = 0; i < k->fragments.count; i++)
        if (c_is_tile(k->fragments.at[i]))
            return true;
    return false;
}

/* ---- the prelude ---- */

/* A macro for each of the unit's instructions: by the unit where the system lets the process have it, by the functions otherwise. */
static const char native_text[] =
    "#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__) && defined(__x86_64__)\n"
    "/* A process asks for the unit's registers once. */\n"
    "static int tiles_allowed(void)\n{\n"
    "    static int known; /* 0: not asked; 1: no; 2: yes */\n"
    "    int state = __atomic_load_n(&known, __ATOMIC_RELAXED);\n"
    "    if (!state) {\n"
    "        long result;\n"
    "        __asm__ volatile(\"syscall\" : \"=a\"(result) : \"0\"(158L), \"D\"(0x1023L), \"S\"(18L) : \"rcx\", \"r11\", "
    "\"memory\");\n"
    "        state = result ? 1 : 2;\n"
    "        __atomic_store_n(&known, state, __ATOMIC_RELAXED);\n"
    "    }\n    return state == 2;\n}\n"
    "/* All tiles have 16 rows of 64 bytes. */\n"
    "static const struct {\n    uint8_t palette, start, reserved[14];\n    uint16_t bytes[16];\n    uint8_t rows[16];\n} "
    "tile_shapes = {\n"
    "    1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};\n"
    "#define TILES_BEGIN const int tiles = tiles_allowed(); if (tiles) __asm__ volatile(\"ldtilecfg %0\" : : "
    "\"m\"(tile_shapes))\n"
    "#define TILES_END if (tiles) __asm__ volatile(\"tilerelease\")\n"
    "#define TILE_BY(instruction, function) do { if (tiles) __asm__ volatile instruction; else function; } while (0)\n"
    "#else\n#define TILES_BEGIN\n#define TILES_END\n#define TILE_BY(instruction, function) function\n#endif\n"
    "#define TILE_ZERO(t) TILE_BY((\"tilezero %%tmm\" #t : :), __builtin_memset(tile[t], 0, 1024))\n"
    "#define TILE_LOAD(t, p, stride) \\\n"
    "    TILE_BY((\"tileloadd (%0,%1,1), %%tmm\" #t : : \"r\"(p), \"r\"((int64_t)(stride)) : \"memory\"), tile_load(tile[t], p, "
    "stride))\n"
    "#define TILE_STORE(t, p, stride) \\\n"
    "    TILE_BY((\"tilestored %%tmm\" #t \", (%0,%1,1)\" : : \"r\"(p), \"r\"((int64_t)(stride)) : \"memory\"), "
    "tile_store(tile[t], p, stride))\n"
    "#define TILE_DOT_BF16(d, a, b) \\\n"
    "    TILE_BY((\"tdpbf16ps %%tmm\" #b \", %%tmm\" #a \", %%tmm\" #d : :), tile_dot_bf16(tile[d], tile[a], tile[b]))\n"
    "#define TILE_DOT_I8(d, a, b) \\\n"
    "    TILE_BY((\"tdpbssd %%tmm\" #b \", %%tmm\" #a \", %%tmm\" #d : :), tile_dot_i8(tile[d], tile[a], tile[b]))\n";

/* What the unit does: the even and the odd products of a step are summed apart, in order, then added, and that to the sum; all with numbers below 2^-126 for zero. */
static const char portable_text[] =
    "INLINE void tile_load(int32_t *t, const void *p, int64_t stride)\n{\n    for (int r = 0; r < 16; r++)\n"
    "        __builtin_memcpy(t + 16 * r, (const char *)p + r * stride, 64);\n}\n"
    "INLINE void tile_store(const int32_t *t, void *p, int64_t stride)\n{\n    for (int r = 0; r < 16; r++)\n"
    "        __builtin_memcpy((char *)p + r * stride, t + 16 * r, 64);\n}\n"
    "static inline __attribute__((unused)) void tile_dot_bf16(int32_t *d, const int32_t *a, const int32_t *b)\n{\n"
    "    for (int r = 0; r < 16; r++)\n        for (int c = 0; c < 16; c++) {\n            float even = 0, odd = 0, sum;\n"
    "            for (int k = 0; k < 16; k++) {\n                int32_t x = a[16 * r + k], y = b[16 * k + c];\n"
    "                even = fma_flushed(upper_half((int32_t)((uint32_t)x << 16)), upper_half((int32_t)((uint32_t)y << 16)), "
    "even);\n"
    "                odd = fma_flushed(upper_half(x), upper_half(y), odd);\n            }\n"
    "            __builtin_memcpy(&sum, &d[16 * r + c], 4);\n"
    "            sum = fma_flushed(1, flushed(sum), fma_flushed(1, even, odd));\n"
    "            __builtin_memcpy(&d[16 * r + c], &sum, 4);\n        }\n}\n"
    "static inline __attribute__((unused)) void tile_dot_i8(int32_t *d, const int32_t *a, const int32_t *b)\n{\n"
    "    for (int r = 0; r < 16; r++)\n        for (int c = 0; c < 16; c++) {\n            uint32_t sum = (uint32_t)d[16 * r + "
    "c];\n"
    "            for (int k = 0; k < 16; k++)\n                for (int i = 0; i < 32; i += 8)\n"
    "                    sum += (uint32_t)((int8_t)((uint32_t)a[16 * r + k] >> i) * (int8_t)((uint32_t)b[16 * k + c] >> i));\n"
    "            d[16 * r + c] = (int32_t)sum;\n        }\n}\n";

static void write_prelude(cfamily *p) {
    if (names_have(&p->helpers, "TILE_DOT_BF16"))
        return;
    c_flushed_fma(p);
    names_add(p, &p->helpers, "TILE_DOT_BF16");
    text_add(&p->prelude, "%s%s", portable_text, native_text);
}

void c_tiles_declare(cfamily *p, const kernel_ir *k, text_buffer *out, bool end) {
    if (!has_tiles(k))
        return;
    write_prelude(p);
    text_add(out,
             end ? "    TILES_END;\n" : "    int32_t tile[8][256] __attribute__((aligned(64), unused));\n    TILES_BEGIN;\n");
}

/* ---- statements ---- */

static bool load_or_store(cfamily *p, const kernel_stmt *s) {
    arena *a = p->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    bool store = s->kind == KSTMT_FRAGMENT_STORE;
    const char *number = cfamily_fragment_name(p, f, s->fragments[0].index), *macro = store ? "TILE_STORE" : "TILE_LOAD";
    int bytes = element_table[f->element].block_bytes, group = f->role == FRAGMENT_B ? GROUP_BYTES / bytes : 1;
    c_transfer t;
    if (!c_fragment_transfer(p, s, &t))
        return true;
    if (t.whole && t.grouped) {
        cfamily_line(p, "%s(%s, %s, 64);", macro, number, t.place);
        return true;
    }
    if (t.whole && t.columns_along && f->role != FRAGMENT_B) {
        cfamily_line(p, "%s(%s, %s, (%s) * %d);", macro, number, t.place, t.row, bytes);
        return true;
    }
    if (t.grouped)
        return cfamily_refuse(p, s->span, "part of a fragment of 16 rows of groups");
    const char *one_by_one = c_fragment_elements(p, f, store);
    const char *call = arena_printf(a, "%s(part, %d, %d, %d, %s, %s, %s, %s, %s);", one_by_one, group, f->rows, f->columns,
                                    t.place, t.row, t.column, t.rows, t.columns);
    cfamily_line(p, "{");
    cfamily_line(p, "    int32_t part[256] __attribute__((aligned(64)));");
    if (store)
        cfamily_line(p, "    TILE_STORE(%s, part, 64);", number);
    cfamily_line(p, "    %s", call);
    if (!store)
        cfamily_line(p, "    TILE_LOAD(%s, part, 64);", number);
    cfamily_line(p, "}");
    return true;
}

static bool fill(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const char *number = cfamily_fragment_name(p, f, s->fragments[0].index);
    if (s->value->op == KERNEL_CONST && s->value->number == 0) {
        cfamily_line(p, "TILE_ZERO(%s);", number);
        return true;
    }
    cfamily_line(p, "{");
    cfamily_line(p, "    %s part[256] __attribute__((aligned(64))), all = %s;", c_storage_type(f->element),
                 cfamily_statement_value(p, s->value).text);
    cfamily_line(p, "    for (int i = 0; i < 256; i++)");
    cfamily_line(p, "        part[i] = all;");
    cfamily_line(p, "    TILE_LOAD(%s, part, 64);", number);
    cfamily_line(p, "}");
    return f->role == FRAGMENT_ACCUMULATOR;
}

bool c_tile_statement(cfamily *p, const kernel_stmt *s) {
    const char *name[4] = {NULL};
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL: return fill(p, s);
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: return load_or_store(p, s);
    case KSTMT_FRAGMENT_MMA:
        for (int i = 0; i < 4; i++)
            name[i] = cfamily_fragment_name(p, s->fragments[i].fragment, s->fragments[i].index);
        if (s->asynchronous)
            return false;
        if (name[0] != name[3]) /* the unit adds in place */
            return cfamily_refuse(p, s->span, "a product that is added to another fragment than the one it goes to");
        cfamily_line(p, "TILE_DOT_%s(%s, %s, %s);", s->fragments[0].fragment->element == ELEMENT_F32 ? "BF16" : "I8", name[0],
                     name[1], name[2]);
        return true;
    default: return false;
    }
}
