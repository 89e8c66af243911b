/* Values that the lanes of a subgroup exchange: reductions, broadcasts, shuffles, votes, sums over the lanes before. */
#include "lift/integer.h"
#include <string.h>

typedef enum exchange {
    REDUCE_SUM,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_PRODUCT,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR,
    BROADCAST,
    SHUFFLE,
    SHUFFLE_XOR,
    SHUFFLE_DOWN,
    SHUFFLE_UP,
    ROTATE_DOWN,
    ROTATE_UP,
    FILL_DOWN, /* what comes from beyond the end comes from another value's beginning */
    FILL_UP,
    EXCHANGES
} exchange;

/* Positions of operands; parts: the lanes that go together, 0: all of the subgroup. */
static const struct {
    const char *name;
    exchange kind;
    int value, other, parts;
} exchanges[] = {{"sub_group_reduce_add", REDUCE_SUM, 0, -1, 0},
                 {"sub_group_reduce_min", REDUCE_MIN, 0, -1, 0},
                 {"sub_group_reduce_max", REDUCE_MAX, 0, -1, 0},
                 {"sub_group_broadcast", BROADCAST, 0, 1, 0},
                 {"sub_group_shuffle", SHUFFLE, 0, 1, 0},
                 {"sub_group_shuffle_xor", SHUFFLE_XOR, 0, 1, 0},
                 {"sub_group_shuffle_down", SHUFFLE_DOWN, 0, 1, 0},
                 {"sub_group_shuffle_up", SHUFFLE_UP, 0, 1, 0},
                 {"simd_sum", REDUCE_SUM, 0, -1, 0},
                 {"simd_min", REDUCE_MIN, 0, -1, 0},
                 {"simd_max", REDUCE_MAX, 0, -1, 0},
                 {"simd_product", REDUCE_PRODUCT, 0, -1, 0},
                 {"simd_and", REDUCE_AND, 0, -1, 0},
                 {"simd_or", REDUCE_OR, 0, -1, 0},
                 {"simd_xor", REDUCE_XOR, 0, -1, 0},
                 {"simd_broadcast", BROADCAST, 0, 1, 0},
                 {"simd_broadcast_first", BROADCAST, 0, -1, 0},
                 {"simd_shuffle", SHUFFLE, 0, 1, 0},
                 {"simd_shuffle_xor", SHUFFLE_XOR, 0, 1, 0},
                 {"simd_shuffle_down", SHUFFLE_DOWN, 0, 1, 0},
                 {"simd_shuffle_up", SHUFFLE_UP, 0, 1, 0},
                 {"simd_shuffle_rotate_down", ROTATE_DOWN, 0, 1, 0},
                 {"simd_shuffle_rotate_up", ROTATE_UP, 0, 1, 0},
                 {"simd_shuffle_and_fill_down", FILL_DOWN, 0, 2, 0},
                 {"simd_shuffle_and_fill_up", FILL_UP, 0, 2, 0},
                 {"quad_sum", REDUCE_SUM, 0, -1, 4},
                 {"quad_min", REDUCE_MIN, 0, -1, 4},
                 {"quad_max", REDUCE_MAX, 0, -1, 4},
                 {"quad_product", REDUCE_PRODUCT, 0, -1, 4},
                 {"quad_broadcast", SHUFFLE, 0, 1, 4},
                 {"quad_shuffle", SHUFFLE, 0, 1, 4},
                 {"quad_shuffle_xor", SHUFFLE_XOR, 0, 1, 4},
                 {"quad_shuffle_down", SHUFFLE_DOWN, 0, 1, 4},
                 {"quad_shuffle_up", SHUFFLE_UP, 0, 1, 4},
                 {"shfl.idx", SHUFFLE, 1, 2, 0},
                 {"shfl.xor", SHUFFLE_XOR, 1, 2, 0},
                 {"shfl.down", SHUFFLE_DOWN, 1, 2, 0},
                 {"shfl.up", SHUFFLE_UP, 1, 2, 0},
                 {"redux.add", REDUCE_SUM, 1, -1, 0},
                 {"redux.min", REDUCE_MIN, 1, -1, 0},
                 {"redux.max", REDUCE_MAX, 1, -1, 0},
                 {"redux.umin", REDUCE_MIN, 1, -1, 0},
                 {"redux.umax", REDUCE_MAX, 1, -1, 0},
                 {"redux.and", REDUCE_AND, 1, -1, 0},
                 {"redux.or", REDUCE_OR, 1, -1, 0},
                 {"redux.xor", REDUCE_XOR, 1, -1, 0}};

static int find_exchange(const char *name) {
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
        if (!strcmp(exchanges[i].name, name))
            return (int)i;
    return -1;
}

bool lift_is_exchange(const char *name) {
    return find_exchange(name) >= 0;
}

/* How a value moves. */
typedef struct movement {
    exchange kind;
    bool is_unsigned;
    kernel_value *other; /* the lane, distance or mask, as i32; NULL: none */
    int width;           /* lanes that go together */
    const lifted *fill;
} movement;

static kernel_value *exchanged(lifter *l, kernel_op op, kernel_value *v, kernel_value *other) {
    kernel_value *x = other ? kernel_op2(l->k, op, v->type, v, other) : kernel_op1(l->k, op, v->type, v);
    x->scope = LEVEL_SUBGROUP;
    return x;
}

static kernel_value *from_lane(lifter *l, kernel_value *a, index_expr *lane) {
    return kernel_ref(l->k, lift_let(l, "from", exchanged(l, KERNEL_SHUFFLE, a, kernel_index(l->k, lane))));
}

static kernel_value *at_least(lifter *l, index_expr *x, index_expr *y) {
    return kernel_op2(l->k, KERNEL_LE, ELEMENT_BOOL, kernel_index(l->k, y), kernel_index(l->k, x));
}

/* Of lanes of the whole subgroup, where the IR has it; lanes beyond an end keep their own. */
static kernel_value *moved_whole(lifter *l, exchange kind, kernel_value *a, kernel_value *other) {
    kernel_ir *k = l->k;
    element_type own = a->type;
    kernel_value *r;
    if (kind == SHUFFLE_UP) {
        kernel_value *down, *from;
        if (other->op == KERNEL_CONST) { /* an index: which lane it is, is no data */
            index_expr *below = ix_sub(l->arena, l->lane, ix_const(l->arena, (int64_t)other->number));
            down = kernel_index(k, below);
            from = kernel_index(k, ix_max(l->arena, below, ix_const(l->arena, 0)));
        } else {
            kernel_value *distance = kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, other);
            down = kernel_op2(k, KERNEL_SUB, ELEMENT_INDEX, kernel_index(k, l->lane), distance);
            from = kernel_op2(k, KERNEL_MAX, ELEMENT_INDEX, down, kernel_const(k, ELEMENT_INDEX, 1, 0));
        }
        r = kernel_ref(k, lift_let(l, "from", exchanged(l, KERNEL_SHUFFLE, a, from)));
        return kernel_op3(k, KERNEL_SELECT, own,
                          kernel_op2(k, KERNEL_LE, ELEMENT_BOOL, kernel_const(k, ELEMENT_INDEX, 1, 0), down), r, a);
    }
    if (kind == SHUFFLE_DOWN) {
        kernel_value *up = kernel_op2(k, KERNEL_ADD, ELEMENT_INDEX, kernel_index(k, l->lane),
                                      kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, other));
        r = kernel_ref(k, lift_let(l, "from", exchanged(l, KERNEL_SHUFFLE_DOWN, a, other)));
        return kernel_op3(k, KERNEL_SELECT, own,
                          kernel_op2(k, KERNEL_LT, ELEMENT_BOOL, up, kernel_const(k, ELEMENT_INDEX, 1, l->lanes)), r, a);
    }
    return exchanged(l,
                     kind == BROADCAST ? KERNEL_SUBGROUP_BROADCAST
                     : kind == SHUFFLE ? KERNEL_SHUFFLE
                                       : KERNEL_SHUFFLE_XOR,
                     a, other);
}

/* Of `width` lanes from `base` on: lane `at` of them is where this thread is. */
static kernel_value *moved_in_parts(lifter *l, const lift_value *v, const movement *m, kernel_value *a, kernel_value *fill) {
    arena *r = l->arena;
    index_expr *width = ix_const(r, m->width), *last = ix_const(r, m->width - 1), *zero = ix_const(r, 0);
    index_expr *at = ix_mod(r, l->lane, width), *base = ix_sub(r, l->lane, at);
    int64_t n = m->other->op == KERNEL_CONST ? (int64_t)m->other->number : -1;
    if (m->kind == SHUFFLE_XOR) {
        if (n >= 0 && n < m->width)
            return exchanged(l, KERNEL_SHUFFLE_XOR, a, m->other);
        lift_fail(l, "E1128", v, "a shuffle by exclusive or within parts of a subgroup, by what is not below their size");
        return a;
    }
    index_expr *d = n >= 0 ? ix_const(r, n) : lift_as_index(l, lifted_value(32, m->other));
    bool down = m->kind == SHUFFLE_DOWN || m->kind == FILL_DOWN || m->kind == ROTATE_DOWN;
    index_expr *there = down ? ix_add(r, at, d) : ix_sub(r, at, d);
    switch (m->kind) {
    case SHUFFLE: return exchanged(l, KERNEL_SHUFFLE, a, kernel_index(l->k, ix_add(r, base, ix_mod(r, d, width))));
    case ROTATE_DOWN:
    case ROTATE_UP: return exchanged(l, KERNEL_SHUFFLE, a, kernel_index(l->k, ix_add(r, base, ix_mod(r, there, width))));
    default: break;
    }
    kernel_value *within = down ? at_least(l, last, there) : at_least(l, there, zero);
    kernel_value *own = from_lane(l, a, ix_add(r, base, ix_max(r, zero, ix_min(r, there, last))));
    kernel_value *beyond = fill ? from_lane(l, fill, ix_add(r, base, ix_mod(r, there, width))) : a;
    return kernel_op3(l->k, KERNEL_SELECT, a->type, within, own, beyond);
}

static kernel_value *joined(lifter *l, exchange kind, kernel_value *x, kernel_value *y) {
    static const kernel_op ops[] = {KERNEL_ADD,     KERNEL_MIN,    KERNEL_MAX,    KERNEL_MUL,
                                    KERNEL_BIT_AND, KERNEL_BIT_OR, KERNEL_BIT_XOR};
    return kernel_op2(l->k, ops[kind], x->type, x, y);
}

/* Over all lanes, or by twos, fours, .. up to the width. */
static kernel_value *reduced(lifter *l, const movement *m, kernel_value *a) {
    static const kernel_op ops[] = {KERNEL_SUBGROUP_SUM, KERNEL_SUBGROUP_MIN, KERNEL_SUBGROUP_MAX};
    kernel_ir *k = l->k;
    bool flips = m->is_unsigned && a->type == ELEMENT_I32 && (m->kind == REDUCE_MIN || m->kind == REDUCE_MAX);
    kernel_value *sign =
        kernel_const(k, ELEMENT_I32, 1, INT32_MIN); /* with it turned, signed order is that of unsigned numbers */
    if (flips)
        a = kernel_ref(k, lift_let(l, "own", kernel_op2(k, KERNEL_BIT_XOR, ELEMENT_I32, a, sign)));
    if (m->kind <= REDUCE_MAX && m->width == l->lanes) {
        a = exchanged(l, ops[m->kind], a, NULL);
    } else {
        for (int d = 1; d < m->width; d *= 2) {
            kernel_value *other = exchanged(l, KERNEL_SHUFFLE_XOR, a, kernel_const(k, ELEMENT_I32, 1, d));
            a = kernel_ref(k, lift_let(l, "own", joined(l, m->kind, a, kernel_ref(k, lift_let(l, "from", other)))));
        }
    }
    return flips ? kernel_op2(k, KERNEL_BIT_XOR, ELEMENT_I32, a, sign) : a;
}

/* What lanes exchange is f32, f16 or i32: others are that meanwhile. */
static kernel_value *as_word(lifter *l, const lift_type *t, const movement *m, lifted x) {
    kernel_ir *k = l->k;
    if (t->kind == LIFT_INTEGER && t->bits > 1 && t->bits < 32) {
        x.bits = t->bits;
        x = lift_extend(l, l->now, m->is_unsigned ? LIFT_ZEXT : LIFT_SEXT, x, t->bits, 32);
    }
    kernel_value *a = lift_as_value(l, x);
    if (lift_stopped(l))
        return a;
    if (a->type == ELEMENT_BF16)
        a = kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, a);
    if (a->type == ELEMENT_BOOL)
        a = kernel_op3(k, KERNEL_SELECT, ELEMENT_I32, a, kernel_const(k, ELEMENT_I32, 1, 1), kernel_const(k, ELEMENT_I32, 1, 0));
    return kernel_ref(k, lift_let(l, "own", a));
}

static lifted from_word(lifter *l, const lift_type *t, lifted x, kernel_value *r) {
    kernel_ir *k = l->k;
    if (t->kind == LIFT_INTEGER && t->bits == 1)
        return lifted_value(1, kernel_op2(k, KERNEL_NE, ELEMENT_BOOL, r, kernel_const(k, ELEMENT_I32, 1, 0)));
    if (t->kind == LIFT_INTEGER && t->bits < 32)
        return lift_extend(l, l->now, LIFT_TRUNC, lifted_value(32, r), 32, t->bits);
    if (x.kind == LIFTED_VALUE && x.v->type == ELEMENT_BF16)
        r = kernel_op1(k, KERNEL_CONVERT, ELEMENT_BF16, r);
    return lifted_value(x.kind == LIFTED_INDEX ? x.bits : t->kind == LIFT_INTEGER ? t->bits : (int)t->size * 8, r);
}

static lifted exchange_one(lifter *l, const lift_value *v, const movement *m, const lift_type *t, lifted x) {
    if (t->kind == LIFT_INTEGER && t->bits == 64 && m->kind >= BROADCAST) { /* by its halves */
        static const lift_type word = {.kind = LIFT_INTEGER, .bits = 32, .size = 4, .text = "i32"};
        x.bits = 64;
        lifted high = lift_integer(l, v, LIFT_ASHR, x, lifted_number(l, 64, 32)), filled[2] = {{0}};
        movement half = *m;
        if (m->fill) {
            lifted f = *m->fill;
            f.bits = 64;
            filled[0] = lift_extend(l, v, LIFT_TRUNC, f, 64, 32);
            filled[1] = lift_extend(l, v, LIFT_TRUNC, lift_integer(l, v, LIFT_ASHR, f, lifted_number(l, 64, 32)), 64, 32);
            half.fill = &filled[0];
        }
        lifted low = exchange_one(l, v, &half, &word, lift_extend(l, v, LIFT_TRUNC, x, 64, 32));
        half.fill = m->fill ? &filled[1] : NULL;
        high = exchange_one(l, v, &half, &word, lift_extend(l, v, LIFT_TRUNC, high, 64, 32));
        if (lift_stopped(l))
            return x;
        high = lift_integer(l, v, LIFT_SHL, lift_extend(l, v, LIFT_SEXT, high, 32, 64), lifted_number(l, 64, 32));
        return lift_integer(l, v, LIFT_OR, high, lift_extend(l, v, LIFT_ZEXT, low, 32, 64));
    }
    kernel_value *a = as_word(l, t, m, x), *fill = m->fill ? as_word(l, t, m, *m->fill) : NULL;
    if (lift_stopped(l))
        return x;
    if ((a->type != ELEMENT_F32 && a->type != ELEMENT_F16 && a->type != ELEMENT_I32) ||
        (m->kind >= REDUCE_AND && m->kind <= REDUCE_XOR && a->type != ELEMENT_I32)) {
        lift_fail(l, "E1128", v, "lanes exchange values of type %s", t->text);
        return x;
    }
    kernel_value *r;
    if (m->kind < BROADCAST)
        r = reduced(l, m, a);
    else if (m->width == l->lanes && m->kind <= SHUFFLE_UP)
        r = moved_whole(l, m->kind, a, m->other);
    else
        r = moved_in_parts(l, v, m, a, fill);
    return lift_stopped(l) ? x : from_word(l, t, x, r);
}

/* Whether all lanes, or any, say yes: the least or the largest of 0 and 1. */
static bool vote_call(lifter *l, const lift_value *v, const char *name) {
    static const struct {
        const char *name;
        bool all;
        int operand;
    } votes[] = {{"simd_all", true, 0}, {"simd_any", false, 0}, {"sub_group_all", true, 0}, {"sub_group_any", false, 0},
                 {"vote.all", true, 1}, {"vote.any", false, 1}, {"vote.ballot", false, 1},  {"simd_ballot", false, 0}};
    for (size_t i = 0; i < sizeof votes / sizeof *votes; i++) {
        if (strcmp(votes[i].name, name) || v->operand_count <= votes[i].operand)
            continue;
        int64_t mask;
        if (votes[i].operand && (!lift_constant_operand(l, v, 0, &mask) || (uint32_t)mask != UINT32_MAX)) {
            lift_fail(l, "E1128", v, "`%s` of some lanes only, or of a mask that is not constant", name);
            return true;
        }
        const lift_type *t = v->operands[votes[i].operand]->type;
        lifted x = lift_operand(l, v->operands[votes[i].operand]);
        if (lift_stopped(l) || t->kind != LIFT_INTEGER)
            return !lift_stopped(l) ? false : true;
        if (t->bits > 1)
            x = lift_compare(l, v, LIFT_NE, x, lifted_number(l, t->bits, 0), t->bits);
        kernel_value *one = kernel_const(l->k, ELEMENT_I32, 1, 1), *zero = kernel_const(l->k, ELEMENT_I32, 1, 0);
        bool ballot = strstr(name, "ballot") != NULL;
        if (ballot && l->lanes > 32) {
            lift_fail(l, "E1128", v, "`%s` of more than 32 lanes", name);
            return true;
        }
        if (ballot) /* a bit for each lane, which the sum of all puts together */
            one = kernel_op2(l->k, KERNEL_SHL, ELEMENT_I32, one,
                             kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_I32, kernel_index(l->k, l->lane)));
        kernel_value *own =
            kernel_ref(l->k, lift_let(l, "own", kernel_op3(l->k, KERNEL_SELECT, ELEMENT_I32, lift_as_value(l, x), one, zero)));
        kernel_op op = ballot ? KERNEL_SUBGROUP_SUM : votes[i].all ? KERNEL_SUBGROUP_MIN : KERNEL_SUBGROUP_MAX;
        kernel_value *all = kernel_ref(l->k, lift_let(l, v->name, exchanged(l, op, own, NULL)));
        if (ballot) {
            lifted bits = lifted_value(32, all);
            l->env[v->id] = v->type->bits == 32 ? bits : lift_extend(l, v, LIFT_ZEXT, bits, 32, v->type->bits);
            return true;
        }
        lifted r = lifted_value(1, kernel_op2(l->k, KERNEL_NE, ELEMENT_BOOL, all, zero));
        l->env[v->id] = v->type->bits == 1 ? r : lift_extend(l, v, LIFT_ZEXT, r, 1, v->type->bits);
        return true;
    }
    return false;
}

static bool subgroup_call(lifter *l, const lift_value *v, const char *name) {
    int i = find_exchange(name);
    if (i < 0)
        return false;
    movement m = {.kind = exchanges[i].kind, .width = exchanges[i].parts ? exchanges[i].parts : l->lanes};
    m.is_unsigned = lift_says_unsigned(v->callee) || !strncmp(name, "redux.u", 7);
    int64_t n = l->lanes;
    if (exchanges[i].value == 1 && (!lift_constant_operand(l, v, 0, &n) || (uint32_t)n != UINT32_MAX)) {
        lift_fail(l, "E1128", v, "`%s` of some lanes only, or of a mask that is not constant", name);
        return true;
    }
    if (v->operand_count == 4) {
        if (!lift_constant_operand(l, v, 3, &n) || n < 1 || n > l->lanes || (n & (n - 1)) || m.width < l->lanes) {
            lift_fail(l, "E1128", v, "`%s` within parts of a subgroup whose size is no power of two, or not constant", name);
            return true;
        }
        m.width = (int)n;
    }
    if (l->lanes % m.width) {
        lift_fail(l, "E1128", v, "`%s` in subgroups of %d lanes", name, l->lanes);
        return true;
    }
    if (exchanges[i].other >= 0) {
        lifted y = lift_operand(l, v->operands[exchanges[i].other]);
        y.bits = y.bits ? y.bits : 32;
        if (y.bits < 32)
            y = lift_extend(l, v, LIFT_ZEXT, y, y.bits, 32);
        lift_range all = {0, l->lanes - 1};
        bool within = y.kind == LIFTED_INDEX && lift_inside(lift_range_of(l, y.x), all);
        if (!strcmp(name, "shfl.idx") && m.width == l->lanes && !within) /* CUDA counts modulo them */
            y = lift_bitwise(l, LIFT_AND, y, lifted_number(l, 32, l->lanes - 1));
        m.other = lift_as_value(l, y);
    } else if (m.kind == BROADCAST) {
        m.other = kernel_const(l->k, ELEMENT_I32, 1, 0);
    }
    lifted x = lift_operand(l, v->operands[exchanges[i].value]);
    lifted fill = m.kind == FILL_DOWN || m.kind == FILL_UP ? lift_operand(l, v->operands[1]) : (lifted){.kind = LIFTED_NONE};
    if (lift_stopped(l))
        return true;
    lifted r = {.kind = LIFTED_ELEMENTS};
    if (x.kind == LIFTED_ELEMENTS) {
        r.count = x.count;
        r.elements = NEW_ARRAY(l->arena, lifted, x.count);
        for (int j = 0; j < x.count && !lift_stopped(l); j++) {
            m.fill = fill.kind == LIFTED_ELEMENTS ? &fill.elements[j] : NULL;
            r.elements[j] = exchange_one(l, v, &m, v->type->element, x.elements[j]);
        }
    } else {
        m.fill = fill.kind == LIFTED_NONE ? NULL : &fill;
        r = exchange_one(l, v, &m, v->type, x);
        if (!lift_stopped(l) && r.kind == LIFTED_VALUE) /* it is exchanged here, and once */
            r.v = kernel_ref(l->k, lift_let(l, v->name, r.v));
    }
    l->env[v->id] = r;
    return true;
}

/* Sums or products over the lanes up to each one's own, or below it, by doubling distances. In which order floats are taken, nobody says. */
static bool scan_call(lifter *l, const lift_value *v, const char *name) {
    static const struct {
        const char *name;
        exchange kind;
        bool inclusive;
    } scans[] = {
        {"simd_prefix_inclusive_sum", REDUCE_SUM, true},         {"simd_prefix_exclusive_sum", REDUCE_SUM, false},
        {"sub_group_scan_inclusive_add", REDUCE_SUM, true},      {"sub_group_scan_exclusive_add", REDUCE_SUM, false},
        {"simd_prefix_inclusive_product", REDUCE_PRODUCT, true}, {"simd_prefix_exclusive_product", REDUCE_PRODUCT, false}};
    int found = -1;
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++)
        found = strcmp(scans[i].name, name) ? found : (int)i;
    const lift_type *t = v->type;
    if (found < 0 || v->operand_count != 1 || t->kind == LIFT_VECTOR)
        return false;
    kernel_ir *k = l->k;
    movement up = {.kind = SHUFFLE_UP, .width = l->lanes, .is_unsigned = lift_says_unsigned(v->callee)};
    lifted x = lift_operand(l, v->operands[0]);
    if (t->kind == LIFT_INTEGER && t->bits == 64) {
        lift_fail(l, "E1128", v, "`%s` of 64-bit integers", name);
        return true;
    }
    kernel_value *own = as_word(l, t, &up, x);
    if (lift_stopped(l))
        return true;
    kernel_value *neutral = kernel_const(k, own->type, 1, scans[found].kind == REDUCE_PRODUCT);
    for (int d = scans[found].inclusive ? 1 : 0; d < l->lanes && !lift_stopped(l); d = d ? d * 2 : 1) {
        int by = d ? d : 1; /* the first step of one below takes the neighbour's alone */
        kernel_value *before =
            kernel_ref(k, lift_let(l, "before", moved_whole(l, SHUFFLE_UP, own, kernel_const(k, ELEMENT_I32, 1, by))));
        before = kernel_op3(k, KERNEL_SELECT, own->type, at_least(l, l->lane, ix_const(l->arena, by)), before, neutral);
        own = kernel_ref(k, lift_let(l, v->name, d ? joined(l, scans[found].kind, own, before) : before));
    }
    if (!lift_stopped(l))
        l->env[v->id] = from_word(l, t, x, own);
    return true;
}

bool lift_lanes_call(lifter *l, const lift_value *v, const char *name) {
    return subgroup_call(l, v, name) || scan_call(l, v, name) || vote_call(l, v, name);
}
