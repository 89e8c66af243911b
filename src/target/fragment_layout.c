/* The table of fragment layouts. A row reads: lane bits, then element bits, each adding so many rows (R) or columns (C). */
#include "target/fragment_layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R(n)                                                                                                                     \
    { n, 0 }
#define C(n)                                                                                                                     \
    { 0, n }
/* A lane's number is 4 * group + place: what its two parts add. */
#define BY_ROWS(place, next)                                                                                                     \
    { C(place), C(next), R(1), R(2), R(4) }
#define BY_COLUMNS(place, next)                                                                                                  \
    { R(place), R(next), C(1), C(2), C(4) }
#define WARPGROUP(place, next)                                                                                                   \
    { C(place), C(next), R(1), R(2), R(4), R(16), R(32) }
#define PTX "PTX ISA, warp-level matrix instructions"
#define WGMMA "PTX ISA, asynchronous warpgroup-level matrix instructions"
#define SIMDGROUP "MLX, MAX and metal-flash-attention alike; the vendor does not say"

#define AMX "Intel SDM; a lane is a row of 64 bytes of a tile"
#define TILE_OF_BYTES(name)                                                                                                      \
    {"cpu", name, "", 'a', 16, 64, 16, 64, 8, {R(1), R(2), R(4), R(8)}, {C(1), C(2), C(4), C(8), C(16), C(32)}, AMX, true},      \
        {"cpu", name, "", 'b', 64, 16, 16, 64, 8, {R(4), R(8), R(16), R(32)}, {R(1), R(2), C(1), C(2), C(4), C(8)}, AMX, true},  \
    {                                                                                                                            \
        "cpu", name, "", 'c', 16, 16, 16, 16, 32, {R(1), R(2), R(4), R(8)}, {C(1), C(2), C(4), C(8)}, AMX, true                  \
    }

static const fragment_layout table[] = {
    {"cuda", "m16n8k8", "f16 bf16", 'a', 16, 8, 32, 4, 16, BY_ROWS(2, 4), {C(1), R(8)}, PTX, true},
    {"cuda", "m16n8k8", "f16 bf16", 'b', 8, 8, 32, 2, 16, BY_COLUMNS(2, 4), {R(1)}, PTX, true},
    {"cuda", "m16n8k16", "f16 bf16", 'a', 16, 16, 32, 8, 16, BY_ROWS(2, 4), {C(1), R(8), C(8)}, PTX, true},
    {"cuda", "m16n8k16", "f16 bf16", 'b', 16, 8, 32, 4, 16, BY_COLUMNS(2, 4), {R(1), R(8)}, PTX, true},
    {"cuda", "m16n8k4", "tf32", 'a', 16, 4, 32, 2, 32, BY_ROWS(1, 2), {R(8)}, PTX, true},
    {"cuda", "m16n8k4", "tf32", 'b', 4, 8, 32, 1, 32, BY_COLUMNS(1, 2), {{0}}, PTX, true},
    {"cuda", "m16n8k8", "tf32", 'a', 16, 8, 32, 4, 32, BY_ROWS(1, 2), {R(8), C(4)}, PTX, true},
    {"cuda", "m16n8k8", "tf32", 'b', 8, 8, 32, 2, 32, BY_COLUMNS(1, 2), {R(4)}, PTX, true},
    {"cuda", "m16n8k16", "s8 u8 e4m3 e5m2 e4m3xe5m2", 'a', 16, 16, 32, 8, 8, BY_ROWS(4, 8), {C(1), C(2), R(8)}, PTX, true},
    {"cuda", "m16n8k16", "s8 u8 e4m3 e5m2 e4m3xe5m2", 'b', 16, 8, 32, 4, 8, BY_COLUMNS(4, 8), {R(1), R(2)}, PTX, true},
    {"cuda",
     "m16n8k32",
     "s8 u8 e4m3 e5m2 e4m3xe5m2",
     'a',
     16,
     32,
     32,
     16,
     8,
     BY_ROWS(4, 8),
     {C(1), C(2), R(8), C(16)},
     PTX,
     true},
    {"cuda", "m16n8k32", "s8 u8 e4m3 e5m2 e4m3xe5m2", 'b', 32, 8, 32, 8, 8, BY_COLUMNS(4, 8), {R(1), R(2), R(16)}, PTX, true},
    {"cuda", "m16n8k64", "s4 u4", 'a', 16, 64, 32, 32, 4, BY_ROWS(8, 16), {C(1), C(2), C(4), R(8), C(32)}, PTX, true},
    {"cuda", "m16n8k64", "s4 u4", 'b', 64, 8, 32, 16, 4, BY_COLUMNS(8, 16), {R(1), R(2), R(4), R(32)}, PTX, true},
    {"cuda", "m16n8", "f32 s32", 'c', 16, 8, 32, 4, 32, BY_ROWS(2, 4), {C(1), R(8)}, PTX, true},
    {"cuda", "m16n8", "f16", 'c', 16, 8, 32, 4, 16, BY_ROWS(2, 4), {C(1), R(8)}, PTX, true},
    {"cuda", "wgmma.k16", "f16 bf16", 'a', 64, 16, 128, 8, 16, WARPGROUP(2, 4), {C(1), R(8), C(8)}, WGMMA, true},
    {"cuda", "wgmma.k8", "tf32", 'a', 64, 8, 128, 4, 32, WARPGROUP(1, 2), {R(8), C(4)}, WGMMA, true},
    {"cuda",
     "wgmma.k32",
     "s8 u8 e4m3 e5m2 e4m3xe5m2",
     'a',
     64,
     32,
     128,
     16,
     8,
     WARPGROUP(4, 8),
     {C(1), C(2), R(8), C(16)},
     WGMMA,
     true},
    {"cuda",
     "wgmma",
     "f32 s32",
     'c',
     64,
     256,
     128,
     128,
     32,
     WARPGROUP(2, 4),
     {C(1), R(8), C(8), C(16), C(32), C(64), C(128)},
     WGMMA,
     true},
    {"cuda",
     "wgmma",
     "f16",
     'c',
     64,
     256,
     128,
     128,
     16,
     WARPGROUP(2, 4),
     {C(1), R(8), C(8), C(16), C(32), C(64), C(128)},
     WGMMA,
     true},
    {"cpu", "tdpbf16ps", "", 'a', 16, 32, 16, 32, 16, {R(1), R(2), R(4), R(8)}, {C(1), C(2), C(4), C(8), C(16)}, AMX, true},
    {"cpu", "tdpbf16ps", "", 'b', 32, 16, 16, 32, 16, {R(2), R(4), R(8), R(16)}, {R(1), C(1), C(2), C(4), C(8)}, AMX, true},
    {"cpu", "tdpbf16ps", "", 'c', 16, 16, 16, 16, 32, {R(1), R(2), R(4), R(8)}, {C(1), C(2), C(4), C(8)}, AMX, true},
    TILE_OF_BYTES("tdpbssd"),
    TILE_OF_BYTES("tdpbsud"),
    TILE_OF_BYTES("tdpbusd"),
    TILE_OF_BYTES("tdpbuud"),
    {"metal", "simdgroup_matrix.8x8", "f32", 'a', 8, 8, 32, 2, 32, {C(2), R(1), R(2), C(4), R(4)}, {C(1)}, SIMDGROUP, false},
    {"metal", "simdgroup_matrix.8x8", "f32", 'b', 8, 8, 32, 2, 32, {C(2), R(1), R(2), C(4), R(4)}, {C(1)}, SIMDGROUP, false},
    {"metal", "simdgroup_matrix.8x8", "f16 bf16", 'a', 8, 8, 32, 2, 16, {C(2), R(1), R(2), C(4), R(4)}, {C(1)}, SIMDGROUP, false},
    {"metal", "simdgroup_matrix.8x8", "f16 bf16", 'b', 8, 8, 32, 2, 16, {C(2), R(1), R(2), C(4), R(4)}, {C(1)}, SIMDGROUP, false},
    {"metal", "simdgroup_matrix.8x8", "f32", 'c', 8, 8, 32, 2, 32, {C(2), R(1), R(2), C(4), R(4)}, {C(1)}, SIMDGROUP, false},
    {"metal", "simdgroup_matrix.8x8", "f16", 'c', 8, 8, 32, 2, 16, {C(2), R(1), R(2), C(4), R(4)}, {C(1)}, SIMDGROUP, false}};

const fragment_layout *fragment_layout_rows(int *count) {
    *count = sizeof table / sizeof *table;
    return table;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if (length && (at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static const fragment_layout *row_of(const char *target, const char *shape, const char *type, char operand) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].target, target) && !strcmp(table[i].shape, shape) && table[i].operand == operand &&
            (*type ? has_word(table[i].types, type) : !*table[i].types))
            return &table[i];
    return NULL;
}

/* "m16n8k16.f16.f16" into its parts; the accumulator that goes without saying. */
static bool split_name(const char *instruction, char shape[32], char type[16], char accumulator[8]) {
    size_t skip = !strncmp(instruction, "wgmma.", 6) ? 6 : !strncmp(instruction, "simdgroup_matrix.", 17) ? 17 : 0;
    const char *dot = strchr(instruction + skip, '.');
    if (!dot || dot - instruction >= 32 || strchr(instruction, ' ') || !strncmp(instruction, "wgmma.k", 7))
        return false;
    snprintf(shape, 32, "%.*s", (int)(dot - instruction), instruction);
    const char *second = strchr(dot + 1, '.');
    size_t length = second ? (size_t)(second - dot - 1) : strlen(dot + 1);
    if (length == 0 || length >= 16 || (second && (strlen(second + 1) >= 16 || strchr(second + 1, '.'))))
        return false;
    snprintf(type, 16, "%.*s", (int)length, dot + 1);
    bool whole = (type[0] == 's' || type[0] == 'u');
    if (whole && second && !strcmp(second, ".satfinite")) /* which changes the sum, not where it lies */
        second = NULL;
    snprintf(accumulator, 8, "%.7s", second ? second + 1 : whole ? "s32" : "f32");
    /* Whole numbers are summed in s32, and 16-bit sums are for what fits them. */
    return whole ? !strcmp(accumulator, "s32")
                 : !strcmp(accumulator, "f32") ||
                       (!strcmp(accumulator, "f16") && strcmp(type, "bf16") && strcmp(type, "tf32") && strcmp(type, "f32"));
}

bool fragment_layout_find(const char *target, const char *instruction, char operand, fragment_layout *out) {
    char shape[32], type[16], accumulator[8], known[32], text[32];
    int m, n, k;
    const fragment_layout *of_one_type = row_of(target, instruction, "", operand);
    if (of_one_type) {
        *out = *of_one_type;
        return true;
    }
    if (!split_name(instruction, shape, type, accumulator))
        return false;
    const fragment_layout *row;
    if (sscanf(shape, "wgmma.m%dn%dk%d", &m, &n, &k) == 3) {
        snprintf(text, sizeof text, "wgmma.m%dn%dk%d", m, n, k);
        snprintf(known, sizeof known, "wgmma.k%d", k);
        /* b stands in memory, so it has no row; a tells whether there is such an instruction. */
        if (strcmp(text, shape) || m != 64 || n < 8 || n > 256 || n % 8 || !row_of(target, known, type, 'a'))
            return false;
        row = operand == 'c' ? row_of(target, "wgmma", accumulator, 'c') : row_of(target, known, type, operand);
        if (!row)
            return false;
        *out = *row;
        if (operand == 'c') {
            out->columns = (short)n;
            out->elements = (short)(n / 2);
        }
        return true;
    }
    if (!row_of(target, shape, type, 'a'))
        return false;
    row = row_of(target, shape, operand == 'c' ? accumulator : type, operand);
    if (!row && operand == 'c' && !strncmp(shape, "m16n8k", 6))
        row = row_of(target, "m16n8", accumulator, 'c');
    if (!row)
        return false;
    *out = *row;
    return true;
}

bool fragment_layouts_find(const char *target, const char *instruction, fragment_layout out[3]) {
    for (int i = 0; i < 3; i++)
        if (!fragment_layout_find(target, instruction, "abc"[i], &out[i]))
            return false;
    return true;
}

void fragment_layout_place(const fragment_layout *l, int lane, int element, int *row, int *column) {
    *row = *column = 0;
    for (int i = 0; i < FRAGMENT_LANE_BITS; i++)
        if (lane >> i & 1) {
            *row += l->lane[i].row;
            *column += l->lane[i].column;
        }
    for (int i = 0; i < FRAGMENT_ELEMENT_BITS; i++)
        if (element >> i & 1) {
            *row += l->element[i].row;
            *column += l->element[i].column;
        }
}

bool fragment_layout_holder(const fragment_layout *l, int row, int column, int *lane, int *element) {
    *lane = *element = 0;
    if (row < 0 || column < 0 || row >= l->rows || column >= l->columns)
        return false;
    for (int i = 0; i < FRAGMENT_LANE_BITS; i++)
        if ((l->lane[i].row & row) || (l->lane[i].column & column))
            *lane |= 1 << i;
    for (int i = 0; i < FRAGMENT_ELEMENT_BITS; i++)
        if ((l->element[i].row & row) || (l->element[i].column & column))
            *element |= 1 << i;
    return true;
}

int fragment_layout_registers(const fragment_layout *l) {
    return (l->elements * l->bits + 31) / 32;
}
