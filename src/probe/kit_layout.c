/* Layouts in kits: one-hot operands go out as a formula, what came out comes back as the few places that are set. Of a Mac's fragments each lane says what it holds. */
#include "base/file.h"
#include "probe/cuda_matrix.h"
#include "probe/kit.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int one_of(number_kind kind) {
    uint32_t code = 1;
    if (number_table[kind].exponent_bits)
        number_make(kind, false, 0, 0, &code);
    return (int)code;
}

static bool is_metal(const char *target) {
    return !strcmp(target, "metal");
}

/* Each lane writes the entries that its share of a matrix holds, whose entries are their own numbers. */
static char *metal_text(const kit_instruction *i) {
    const char *type = i->a == NUMBER_F16 ? "half" : i->a == NUMBER_BF16 ? "bfloat" : "float";
    text_buffer t = {0};
    text_add(&t,
             "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n\n"
             "kernel void holds(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {\n"
             "    threadgroup %s cells[64];\n    for (uint i = lane; i < 64; i += 32)\n        cells[i] = %s(float(i));\n"
             "    simdgroup_barrier(mem_flags::mem_threadgroup);\n    simdgroup_matrix<%s, 8, 8> x;\n    simdgroup_load(x, "
             "cells, 8);\n"
             "    for (uint e = 0; e < 2; e++)\n        out[2 * lane + e] = uint(float(x.thread_elements()[e]));\n}\n",
             type, type, type);
    return t.text;
}

static char *text_of(const char *target, const kit_instruction *i) {
    return is_metal(target) ? metal_text(i) : cuda_onehot_text(cuda_instruction_find(i->name));
}

static int cases_of(const fragment_layout l[3]) {
    return l[0].lanes * l[0].elements * l[1].lanes * l[1].elements;
}

bool kit_layout_write(arena *a, const char *folder, const char *target, const char *extension, const kit_instruction *i,
                      diag_list *diags) {
    fragment_layout layouts[3];
    char *text = text_of(target, i), hash[HASH_DIGITS + 1];
    if (!text) /* its operands lie in memory */
        return true;
    fragment_layouts_find(target, i->name, layouts);
    hash_bytes(text, strlen(text), hash);
    const char *line = arena_printf(a, "tilec layout 1 %s %d %d %d %s\n", i->name, is_metal(target) ? 64 : cases_of(layouts),
                                    one_of(i->a), one_of(i->b), hash);
    bool good = file_write(arena_printf(a, "%s/%s.%s.%s", folder, i->name, is_metal(target) ? "holds" : "onehot", extension),
                           text, strlen(text), diags) &&
                file_write(arena_printf(a, "%s/%s.layout", folder, i->name), line, strlen(line), diags);
    free(text);
    return good;
}

/* ---- back ---- */

/* A byte a lane of each case; most are 0. */
typedef struct set_places {
    unsigned char *bytes;
    int cases;
} set_places;

static bool onehot(void *context, int first, int cases, unsigned char *out, diag_list *diags) {
    const set_places *s = context;
    if (first + cases > s->cases) {
        diag_error(diags, "E1207", (source_span){0}, "more one-hot operands are asked than the answers have");
        return false;
    }
    memcpy(out, s->bytes + (size_t)first * 32, (size_t)cases * 32);
    return true;
}

static bool read_places(const char *at, const set_places *s) {
    while (*at) {
        int number, lane, elements, length = 0;
        if (sscanf(at, "%d:%d:%d%n", &number, &lane, &elements, &length) != 3 || number < 0 || number >= s->cases || lane < 0 ||
            lane > 31 || elements < 1 || elements > 255 || (at[length] && at[length] != ' '))
            return false;
        s->bytes[(size_t)number * 32 + (size_t)lane] = (unsigned char)elements;
        at += length + (at[length] == ' ');
    }
    return true;
}

static bool judge_onehot(arena *a, const char *digits, int cases, const fragment_layout layouts[3], probe_target *t,
                         layout_finding *out, const char **why, diag_list *diags) {
    set_places s = {calloc((size_t)cases + 1, 32), cases};
    bool good = s.bytes != NULL;
    if (!good)
        diag_error(diags, "E0803", (source_span){0}, "no memory for %d answers", cases);
    if (good && !read_places(digits, &s)) {
        *why = "an answer is no place";
        good = false;
    }
    t->context = &s;
    t->onehot = onehot;
    good = good && layout_probe(a, t, layouts, out, diags);
    free(s.bytes);
    return good;
}

/* What each lane said that it holds, against the table and against its transpose. */
static bool judge_holds(arena *a, const char *digits, const fragment_layout *l, layout_finding *out, const char **why) {
    int transposed = 0;
    *out = (layout_finding){.asked = true, .pairs = 64, .hits = 64};
    for (int place = 0; place < 64; place++) {
        char *end;
        long number = strtol(digits, &end, 10);
        int row, column;
        if (end == digits || number < 0 || number > 63 || (*end && *end != ' ')) {
            *why = "an answer is no entry of the matrix";
            return false;
        }
        digits = end + (*end == ' ');
        fragment_layout_place(l, place / 2, place % 2, &row, &column);
        bool wrong = number != row * 8 + column;
        out->mismatches += wrong;
        transposed += number == column * 8 + row;
        if (wrong && out->differences.count < 6)
            VEC_PUSH(a, out->differences,
                     arena_printf(a, "lane %d element %d holds (%ld, %ld), not (%d, %d)", place / 2, place % 2, number / 8,
                                  number % 8, row, column));
    }
    if (*digits) {
        *why = "the numbers of places and of answers do not go together";
        return false;
    }
    out->verdict = !out->mismatches ? "as MLX, MAX and metal-flash-attention have it: all 64 places"
                   : transposed == 64
                       ? "the transpose of what MLX, MAX and metal-flash-attention have, as the Rigel paper says: all 64 places"
                       : arena_printf(a, "neither as MLX has it nor its transpose: %d of 64 places hold another entry",
                                      (int)out->mismatches);
    return true;
}

bool kit_layout_read(arena *a, const json_t *row, const kit_instruction *i, const kit_visitor *visit, const char **why,
                     diag_list *diags) {
    const char *target, *device, *hash, *digits;
    char own_hash[HASH_DIGITS + 1];
    json_int_t cases;
    fragment_layout layouts[3];
    layout_finding found;
    if (json_unpack((json_t *)row, "{s:s, s:s, s:s, s:s, s:I}", "target", &target, "device", &device, "hash", &hash, "set",
                    &digits, "cases", &cases)) {
        *why = "this is no row of a probe kit";
        return false;
    }
    char *text = text_of(target, i);
    if (!text || !fragment_layouts_find(target, i->name, layouts)) {
        free(text);
        *why = "the instruction has no layout that can be asked for";
        return false;
    }
    hash_bytes(text, strlen(text), own_hash);
    free(text);
    if (strcmp(own_hash, hash) || cases != (is_metal(target) ? 64 : cases_of(layouts))) {
        *why = "the kit asked another kernel than this version of tilec does: write it anew";
        return false;
    }
    probe_target t = {.box = {.device = target, .instruction = i->name, .a = i->a, .b = i->b, .c = i->c, .k = i->k}};
    strncpy(t.description, device, sizeof t.description - 1);
    return (is_metal(target) ? judge_holds(a, digits, &layouts[0], &found, why)
                             : judge_onehot(a, digits, (int)cases, layouts, &t, &found, why, diags)) &&
           visit->layout(visit->context, &t, &found);
}
