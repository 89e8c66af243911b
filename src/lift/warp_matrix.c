/* Matrix products of a warp, ldmatrix and mma.sync of PTX as our own CUDA printer writes them: what they mean, lane by lane, as exchanges between lanes, loads and
 * sums. Which lane and register holds what stands in PTX's manual: with lane = 4 g + t, row g (and g + 8) of A and of the result, column g of B. */
#include "lift/lifter.h"
#include <stdio.h>
#include <string.h>

enum { WARP = 32, QUAD = 4, A_REGISTERS = 4, B_REGISTERS = 2, SUMS = 4, WORD = 4 };

static bool has_warps(lifter *l, const lift_value *v) {
    if (l->lanes == WARP && l->k->levels.count > 1)
        return true;
    lift_fail(l, "E1127", v, "a matrix instruction wants warps of %d lanes: --block, --subgroup", WARP);
    return false;
}

static kernel_value *from_lane(lifter *l, kernel_value *own, index_expr *lane) {
    kernel_value *x = kernel_op2(l->k, KERNEL_SHUFFLE, own->type, own, kernel_index(l->k, lane));
    x->scope = LEVEL_SUBGROUP;
    return kernel_ref(l->k, lift_let(l, "from", x));
}

static index_expr *times(lifter *l, int64_t n, index_expr *x) {
    return ix_mul(l->arena, ix_const(l->arena, n), x);
}

static index_expr *plus(lifter *l, index_expr *x, int64_t n) {
    return ix_add(l->arena, x, ix_const(l->arena, n));
}

/* "$($first,$..$)" */
static void add_list(text_buffer *b, int first, int count) {
    text_add(b, "$(");
    for (int i = 0; i < count; i++)
        text_add(b, "%s$%d", i ? "," : "", first + i);
    text_add(b, "$)");
}

/* ---- ldmatrix ---- */

/* Two neighbouring numbers of 16 bits, or one of two rows each, as one word. */
static lifted word_of(lifter *l, const lift_value *v, lift_object *o, index_expr *low, index_expr *high) {
    const lift_type *t = lift_integer_type(2);
    lifted x = lift_load(l, v, t, lift_pointer_at(l, o, low, t->size)),
           y = lift_load(l, v, t, lift_pointer_at(l, o, high, t->size));
    if (lift_stopped(l))
        return x;
    y = lift_integer(l, v, LIFT_SHL, lift_extend(l, v, LIFT_ZEXT, y, 16, 32), lifted_number(l, 32, 16));
    lifted word = lift_integer(l, v, LIFT_OR, lift_extend(l, v, LIFT_ZEXT, x, 16, 32), y);
    return lifted_value(32, kernel_ref(l->k, lift_let(l, "word", lift_as_value(l, word))));
}

static index_expr *row_from(lifter *l, kernel_value *own, index_expr *lane) {
    kernel_value *x = kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_INDEX, from_lane(l, own, lane));
    return ix_var(l->arena, lift_let(l, "row", x)->var);
}

/* Each lane names a row of 16 bytes: lanes 8 j .. 8 j + 7 those of matrix j. */
bool lift_ldmatrix(lifter *l, const lift_value *v, const char *mnemonic, const char *rest) {
    int count, used = 0;
    arena *a = l->arena;
    if (sscanf(mnemonic, "ldmatrix.sync.aligned.m8n8.x%d%n", &count, &used) != 1)
        return false;
    bool across = !strcmp(mnemonic + used, ".trans.shared.b16");
    text_buffer form = {0};
    add_list(&form, 0, count > 0 && count <= 4 ? count : 0);
    text_add(&form, ",[$%d]", count);
    bool known = (across || !strcmp(mnemonic + used, ".shared.b16")) && (count == 2 || count == 4) && v->operand_count == 1 &&
                 !strcmp(rest, text_get(&form));
    text_free(&form);
    if (!known)
        return false;
    lifted p = lift_operand(l, v->operands[0]);
    if (lift_stopped(l) || !has_warps(l, v))
        return true;
    index_expr *e = p.kind == LIFTED_POINTER && p.object->space == SPACE_SHARED ? lift_elements(l, p, 2) : NULL;
    if (!e) {
        lift_fail(l, "E1127", v, "ldmatrix of what is no row in shared memory");
        return true;
    }
    kernel_value *own =
        kernel_ref(l->k, lift_let(l, "own", kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_I32, kernel_index(l->k, e))));
    index_expr *group = ix_floordiv(a, l->lane, ix_const(a, QUAD)), *place = ix_mod(a, l->lane, ix_const(a, QUAD));
    lifted r = {.kind = LIFTED_ELEMENTS, .count = count, .elements = NEW_ARRAY(a, lifted, count)};
    for (int j = 0; j < count && !lift_stopped(l); j++) {
        if (across) {
            index_expr *low = row_from(l, own, plus(l, times(l, 2, place), 8 * j)),
                       *high = row_from(l, own, plus(l, times(l, 2, place), 8 * j + 1));
            r.elements[j] = word_of(l, v, p.object, ix_add(a, low, group), ix_add(a, high, group));
        } else {
            index_expr *row = ix_add(a, row_from(l, own, plus(l, group, 8 * j)), times(l, 2, place));
            r.elements[j] = word_of(l, v, p.object, row, plus(l, row, 1));
        }
    }
    l->env[v->id] = r;
    return true;
}

/* ---- mma.sync ---- */

typedef struct operand_type {
    const char *name;
    lift_type_kind kind;
    int bytes;
} operand_type;

static const operand_type operand_types[] = {
    {"f16", LIFT_HALF, 2}, {"bf16", LIFT_BFLOAT, 2}, {"s8", LIFT_INTEGER, 1}, {"tf32", LIFT_FLOAT, 4}};

/* Part `i` of a word, as f32 or i32. */
static kernel_value *part_of(lifter *l, const lift_value *v, kernel_value *word, const operand_type *t, int i) {
    lifted x = lifted_value(32, word);
    const lift_type own = {
        .kind = t->kind, .bits = t->kind == LIFT_INTEGER ? 8 * t->bytes : 0, .size = t->bytes, .text = t->name};
    if (i)
        x = lift_integer(l, v, LIFT_LSHR, x, lifted_number(l, 32, 8 * t->bytes * i));
    if (t->bytes == WORD) /* the last 13 bits are not looked at */
        x = lift_integer(l, v, LIFT_AND, x, lifted_number(l, 32, 0xffffe000));
    else
        x = lift_extend(l, v, LIFT_TRUNC, x, 32, 8 * t->bytes);
    kernel_value *part;
    if (t->kind == LIFT_INTEGER) {
        part = lift_as_value(l, lift_extend(l, v, LIFT_SEXT, x, 8 * t->bytes, 32));
    } else {
        x = lift_same_bits(l, v, lift_integer_type(t->bytes), &own, x);
        part = lift_as_value(l, x);
        part = t->bytes == WORD ? part : kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_F32, part);
    }
    return lift_stopped(l) ? word : kernel_ref(l->k, lift_let(l, "part", part));
}

static void product(lifter *l, const lift_value *v, const operand_type *t, int k) {
    int each = WORD / t->bytes;
    bool floats = t->kind != LIFT_INTEGER;
    element_type wide = floats ? ELEMENT_F32 : ELEMENT_I32;
    arena *a = l->arena;
    kernel_value *own[A_REGISTERS + B_REGISTERS], *x[2][64], *y[2][64];
    for (int i = 0; i < A_REGISTERS + B_REGISTERS; i++) {
        lifted word = lift_operand(l, v->operands[i]);
        if (lift_stopped(l))
            return;
        own[i] = kernel_ref(l->k, lift_let(l, "own", lift_as_value(l, word)));
    }
    index_expr *place = ix_mod(a, l->lane, ix_const(a, QUAD)), *quad = ix_sub(a, l->lane, place);
    for (int half = 0; half < 2; half++)
        for (int n = 0; n < 2; n++)             /* registers of A of these rows, of B of this column */
            for (int of = 0; of < QUAD; of++) { /* who holds it */
                kernel_value *u = from_lane(l, own[half + 2 * n], plus(l, quad, of)),
                             *w = from_lane(l, own[A_REGISTERS + n], plus(l, times(l, 2 * QUAD, place), QUAD * half + of));
                for (int i = 0; i < each && !lift_stopped(l); i++) {
                    int at = QUAD * each * n + each * of + i;
                    x[half][at] = part_of(l, v, u, t, i);
                    y[half][at] = part_of(l, v, w, t, i);
                }
            }
    lifted r = {.kind = LIFTED_ELEMENTS, .count = SUMS, .elements = NEW_ARRAY(a, lifted, SUMS)};
    for (int i = 0; i < SUMS && !lift_stopped(l); i++) {
        kernel_value *sum = lift_as_value(l, lift_operand(l, v->operands[A_REGISTERS + B_REGISTERS + i]));
        for (int n = 0; n < k && !lift_stopped(l); n++)
            sum = floats ? kernel_op3(l->k, KERNEL_FMA, wide, x[i / 2][n], y[i % 2][n], sum)
                         : kernel_op2(l->k, KERNEL_ADD, wide, kernel_op2(l->k, KERNEL_MUL, wide, x[i / 2][n], y[i % 2][n]), sum);
        r.elements[i] = lifted_value(32, kernel_ref(l->k, lift_let(l, "sum", sum)));
    }
    l->env[v->id] = r;
}

bool lift_mma(lifter *l, const lift_value *v, const char *mnemonic, const char *rest) {
    int m, n, k;
    char types[4][8];
    if (sscanf(mnemonic, "mma.sync.aligned.m%dn%dk%d.row.col.%7[^.].%7[^.].%7[^.].%7s", &m, &n, &k, types[0], types[1], types[2],
               types[3]) != 7)
        return false;
    text_buffer form = {0};
    static const int counts[] = {SUMS, A_REGISTERS, B_REGISTERS, SUMS};
    for (int i = 0, first = 0; i < 4; first += counts[i++]) {
        text_add(&form, i ? "," : "");
        add_list(&form, first, counts[i]);
    }
    bool listed = !strcmp(rest, text_get(&form)) && v->operand_count == A_REGISTERS + B_REGISTERS + SUMS;
    text_free(&form);
    for (size_t i = 0; i < sizeof operand_types / sizeof *operand_types; i++) {
        const operand_type *t = &operand_types[i];
        const char *sum = t->kind == LIFT_INTEGER ? "s32" : "f32";
        if (!listed || m != 16 || n != 8 || k * t->bytes != 32 || strcmp(types[1], t->name) || strcmp(types[2], t->name) ||
            strcmp(types[0], sum) || strcmp(types[3], sum))
            continue;
        if (has_warps(l, v))
            product(l, v, t, k);
        return true;
    }
    return false;
}
