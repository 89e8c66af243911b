#include "kernel/matrix.h"
#include <string.h>

static const matrix_instruction *row_of(const matrix_table *t, element_type operand, element_type accumulator,
                                        level_kind holder) {
    const matrix_instruction *found = NULL;
    for (int i = 0; i < t->count; i++) {
        const matrix_instruction *r = &t->at[i];
        bool holds = r->operand == operand || (element_table[operand].is_float && element_holds(r->operand, operand));
        if (!holds || r->accumulator != accumulator || r->holder != holder)
            continue;
        if (r->operand == operand)
            return r;
        if (!found || element_table[r->operand].block_bytes < element_table[found->operand].block_bytes)
            found = r;
    }
    return found;
}

const matrix_instruction *matrix_row_of(const matrix_table *t, element_type operand, element_type accumulator) {
    return row_of(t, operand, accumulator, LEVEL_SUBGROUP);
}

const matrix_instruction *matrix_row_of_task(const matrix_table *t, element_type operand, element_type accumulator) {
    return row_of(t, operand, accumulator, LEVEL_TASK);
}

const matrix_instruction *matrix_row_by_reference(const matrix_table *t, element_type operand, element_type accumulator,
                                                  int64_t columns) {
    const matrix_instruction *found = NULL;
    for (int i = 0; i < t->count; i++) {
        const matrix_instruction *r = &t->at[i];
        if (r->operand == operand && r->accumulator == accumulator && r->holder == LEVEL_WARPGROUP && columns % r->n == 0 &&
            (!found || r->n > found->n))
            found = r;
    }
    return found;
}

const matrix_instruction *matrix_of_mma(const matrix_table *t, const kernel_stmt *mma) {
    const kernel_fragment *d = mma->fragments[0].fragment, *a = mma->fragments[1].fragment, *b = mma->fragments[2].fragment;
    for (int i = 0; i < t->count; i++) {
        const matrix_instruction *r = &t->at[i];
        if (r->operand == a->element && r->operand == b->element && r->accumulator == d->element && r->m == d->rows &&
            r->n == d->columns && r->k == a->columns && r->holder == d->holder)
            return r;
    }
    return NULL;
}

const char *matrix_operands(arena *a, const matrix_table *t) {
    text_buffer text = {0};
    for (int i = 0; i < t->count; i++)
        if (t->at[i].holder != LEVEL_WARPGROUP)
            text_add(&text, "%s%s", text.length ? ", " : "", element_table[t->at[i].operand].name);
    const char *all = text.length ? arena_strdup(a, text_get(&text)) : "none";
    text_free(&text);
    return all;
}

const char *matrix_nearest(arena *a, const matrix_table *t, element_type operand) {
    for (int i = 0; i < t->count; i++)
        if (operand == ELEMENT_F32 && t->at[i].operand == ELEMENT_TF32)
            return arena_printf(a, "the nearest, %s, keeps 10 of the 23 bits of its operands, for products of `tf32(..)`",
                                t->at[i].name);
    return NULL;
}

const char *matrix_unit_name(arena *a, const matrix_instruction *row) {
    return arena_printf(a, "%sn8k%d.%s", row->holder == LEVEL_WARPGROUP ? "wgmma.m64" : "m16", row->k,
                        element_table[row->operand].name);
}
