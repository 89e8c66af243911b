/* Loops that count: `for` statements found in tests and steps; loops whose trips can be computed beforehand. */
#include "lift/lifter.h"

enum { MOST_TRIPS = 256, MOST_CHAIN = 6, MOST_NESTING = 20 };

static bool inside(const flow_loop *inner, const lift_value *v) {
    return v->kind == LIFT_INSTRUCTION && v->block && inner->has[v->block->id];
}

static bool is_still(const lifter *l, const lift_value *v) {
    return lift_is_pure(v) || lift_is_parameter_load(l, v);
}

static bool is_invariant(const lifter *l, const flow_loop *inner, const lift_value *v, int nesting) {
    if (!inside(inner, v))
        return true;
    if (nesting > MOST_NESTING || !is_still(l, v))
        return false;
    for (int i = 0; i < v->operand_count; i++)
        if (!is_invariant(l, inner, v->operands[i], nesting + 1))
            return false;
    for (int i = 0; i < v->step_count; i++)
        if (!is_invariant(l, inner, v->steps[i].index, nesting + 1))
            return false;
    return true;
}

static void compute(lifter *l, const flow_loop *inner, const lift_value *v) {
    if (!inside(inner, v) || lift_stopped(l))
        return;
    for (int i = 0; i < v->operand_count; i++)
        compute(l, inner, v->operands[i]);
    for (int i = 0; i < v->step_count; i++)
        compute(l, inner, v->steps[i].index);
    l->now = v;
    if (v->op == LIFT_CALL)
        lift_call(l, v);
    else if (v->op == LIFT_LOAD)
        lift_set(l, v, lift_load(l, v, v->type, lift_operand(l, v->operands[0])));
    else
        lift_set(l, v, lift_operation(l, v));
}

bool lift_invariant(lifter *l, const flow_loop *inner, const lift_value *v) {
    if (!is_invariant(l, inner, v, 0))
        return false;
    compute(l, inner, v);
    return !lift_stopped(l);
}

/* phi, or phi plus something invariant, through widths: the phi, and the sum of what is added. `modulo`: only what it is modulo 2^bits is asked. */
static const lift_value *chain(lifter *l, const flow_loop *inner, const lift_value *v, index_expr **added, bool modulo,
                               int nesting) {
    if (!inside(inner, v) || nesting > MOST_CHAIN)
        return NULL;
    if (v->op == LIFT_PHI)
        return v->block == inner->header && v->type->kind == LIFT_INTEGER ? v : NULL;
    if (v->op == LIFT_SEXT || v->op == LIFT_ZEXT || v->op == LIFT_FREEZE || (modulo && v->op == LIFT_TRUNC))
        return chain(l, inner, v->operands[0], added, modulo, nesting + 1);
    if (v->op != LIFT_ADD && v->op != LIFT_SUB)
        return NULL;
    for (int side = 0; side < (v->op == LIFT_ADD ? 2 : 1); side++) {
        const lift_value *other = v->operands[!side];
        if (inside(inner, other) && !is_invariant(l, inner, other, 0))
            continue;
        const lift_value *phi = chain(l, inner, v->operands[side], added, modulo, nesting + 1);
        if (!phi || !lift_invariant(l, inner, other))
            return NULL;
        lifted x = lift_operand(l, other);
        x.bits = other->type->bits;
        index_expr *e = lift_exact(l, x, true);
        *added = v->op == LIFT_SUB ? ix_sub(l->arena, *added, e) : ix_add(l->arena, *added, e);
        return phi;
    }
    return NULL;
}

index_expr *lift_added(lifter *l, const flow_loop *inner, const lift_value *phi, const lift_value *next) {
    index_expr *by = ix_const(l->arena, 0);
    if (chain(l, inner, next, &by, true, 0) != phi)
        return NULL;
    for (const lift_value *v = next; v != phi;) { /* bits that a narrower value drops are none of the sum's */
        if (v->type->bits < phi->type->bits)
            return NULL;
        index_expr *part = ix_const(l->arena, 0);
        int side = v->operand_count > 1 && chain(l, inner, v->operands[0], &part, true, 0) != phi;
        v = v->operands[side];
    }
    return by;
}

static lift_predicate negated(lift_predicate p) {
    static const lift_predicate of[] = {
        [LIFT_EQ] = LIFT_NE,   [LIFT_NE] = LIFT_EQ,   [LIFT_UGT] = LIFT_ULE, [LIFT_UGE] = LIFT_ULT, [LIFT_ULT] = LIFT_UGE,
        [LIFT_ULE] = LIFT_UGT, [LIFT_SGT] = LIFT_SLE, [LIFT_SGE] = LIFT_SLT, [LIFT_SLT] = LIFT_SGE, [LIFT_SLE] = LIFT_SGT};
    return of[p];
}

static lift_predicate swapped(lift_predicate p) {
    static const lift_predicate of[] = {
        [LIFT_EQ] = LIFT_EQ,   [LIFT_NE] = LIFT_NE,   [LIFT_UGT] = LIFT_ULT, [LIFT_UGE] = LIFT_ULE, [LIFT_ULT] = LIFT_UGT,
        [LIFT_ULE] = LIFT_UGE, [LIFT_SGT] = LIFT_SLT, [LIFT_SGE] = LIFT_SLE, [LIFT_SLT] = LIFT_SGT, [LIFT_SLE] = LIFT_SGE};
    return of[p];
}

static bool over_launch(const index_expr *x, int nesting) {
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_SYMBOL || x->var->kind == INDEX_SCALAR;
    return nesting < MOST_NESTING && (x->op == IX_CONST || (over_launch(x->a, nesting + 1) && over_launch(x->b, nesting + 1)));
}

/* The phi's step: what is added to it in a trip. */
static index_expr *step_of(lifter *l, const flow_loop *inner, const lift_value *phi) {
    index_expr *step = ix_const(l->arena, 0);
    const lift_value *next = lift_incoming(phi, inner->latch);
    if (!next || next->op == LIFT_SEXT || next->op == LIFT_ZEXT || chain(l, inner, next, &step, true, 0) != phi || next == phi)
        return NULL;
    return step;
}

static bool has_secondary(lifter *l, const flow_loop *inner, const lift_value *phi) {
    (void)l;
    for (int i = 0; i < inner->header->items.count && inner->header->items.at[i]->op == LIFT_PHI; i++) {
        const lift_value *other = inner->header->items.at[i], *next = lift_incoming(other, inner->latch);
        if (other != phi && next && next->kind == LIFT_INSTRUCTION && (next->op == LIFT_ADD || next->op == LIFT_GEP))
            return true;
    }
    return false;
}

/* `for` with a positive step. */
static bool upwards(lifter *l, counted_loop *c, lift_predicate p, index_expr *bound, index_expr *added, bool secondary) {
    arena *a = l->arena;
    int64_t step;
    index_expr *one = ix_const(a, 1), *end = ix_sub(a, bound, added);
    bool constant = ix_is_const(c->step, &step);
    if (p == LIFT_SLE || p == LIFT_ULE)
        end = ix_add(a, end, one);
    else if (p == LIFT_NE) {
        if (!constant || step != 1 || c->after_body || lift_range_of(l, c->lo).hi > lift_range_of(l, end).lo)
            return false; /* it might go past */
    } else if (p != LIFT_SLT && p != LIFT_ULT)
        return false;
    if (c->after_body) /* the first trip asks nothing */
        end = ix_max(a, ix_add(a, c->lo, one), ix_add(a, end, c->step));
    if (!constant && (!over_launch(c->step, 0) || lift_range_of(l, c->step).lo < 1))
        return false;
    index_expr *lo = c->lo, *var = ix_var(a, c->var), *last = NULL;
    lift_range most = lift_range_of(l, end), by = lift_range_of(l, c->step);
    wide_integer limit = ((wide_integer)1 << (c->bits - c->is_signed)) - 1;
    c->value = var;
    if (most.hi - 1 + by.hi > limit && !(constant && step == 1 && most.hi <= limit + !c->widened))
        c->checked = ix_add(a, var, c->step);
    if (constant) {
        index_expr *count = ix_ceildiv(a, ix_max(a, ix_const(a, 0), ix_sub(a, end, lo)), c->step);
        last = step == 1 ? ix_max(a, lo, end) : ix_add(a, lo, ix_mul(a, c->step, count));
        c->trip = step == 1 ? ix_sub(a, var, lo) : NULL;
    }
    c->hi = end;
    c->last = c->after_body ? NULL : last;
    if (constant && step != 1 && secondary) { /* by trips, so that the others follow */
        c->hi = ix_ceildiv(a, ix_sub(a, end, lo), c->step);
        c->value = ix_add(a, lo, ix_mul(a, c->step, var));
        c->checked = c->checked ? ix_add(a, c->value, c->step) : NULL;
        c->trip = var;
        c->lo = ix_const(a, 0);
        c->step = one;
    }
    return true;
}

/* Downwards: by trips. */
static bool downwards(lifter *l, counted_loop *c, lift_predicate p, index_expr *bound, index_expr *added) {
    arena *a = l->arena;
    int64_t step;
    if (!ix_is_const(c->step, &step) || step >= 0)
        return false;
    index_expr *by = ix_const(a, -step), *room = ix_sub(a, ix_add(a, c->lo, added), bound), *var = ix_var(a, c->var);
    if (p == LIFT_SGE || p == LIFT_UGE)
        room = ix_add(a, room, ix_const(a, 1));
    else if (p == LIFT_NE) {
        if (step != -1 || c->after_body || lift_range_of(l, room).lo < 0)
            return false;
    } else if (p != LIFT_SGT && p != LIFT_UGT)
        return false;
    if (p == LIFT_UGE) /* an unsigned number is never less than 0 */
        if (lift_range_of(l, bound).lo < 1)
            return false;
    index_expr *count = ix_ceildiv(a, room, by);
    if (c->after_body)
        count = ix_max(a, ix_const(a, 1), ix_ceildiv(a, ix_add(a, room, c->step), by));
    c->value = ix_sub(a, c->lo, ix_mul(a, by, var));
    c->trip = var;
    c->last = c->after_body ? NULL : ix_sub(a, c->lo, ix_mul(a, by, ix_max(a, ix_const(a, 0), count)));
    c->hi = count;
    c->lo = ix_const(a, 0);
    c->step = ix_const(a, 1);
    return true;
}

/* Whether what is compared is the narrower phi widened as unsigned, as C widens unsigned char. */
static bool widened_unsigned(const lift_value *v, const lift_value *phi) {
    for (int depth = 0; v != phi && depth < MOST_CHAIN && v->kind == LIFT_INSTRUCTION && v->operand_count; depth++) {
        if (v->op == LIFT_ZEXT)
            return true;
        v = v->operands[v->operands[0]->kind != LIFT_INSTRUCTION && v->operand_count > 1]; /* the side that varies */
    }
    return false;
}

static bool counts_at(lifter *l, flow_loop *inner, lift_block *tested, counted_loop *c) {
    const lift_value *t = tested->items.at[tested->items.count - 1];
    if (t->op != LIFT_BR || t->block_count != 2)
        return false;
    int out = !inner->has[t->blocks[0]->id] ? 0 : !inner->has[t->blocks[1]->id] ? 1 : -1;
    if (out < 0 || !inner->has[t->blocks[!out]->id])
        return false;
    const lift_value *test = t->operands[0];
    if (test->kind != LIFT_INSTRUCTION || test->op != LIFT_ICMP || !inside(inner, test) ||
        test->operands[0]->type->kind != LIFT_INTEGER)
        return false;
    c->tested = tested;
    c->normal = t->blocks[out];
    c->inside = t->blocks[!out];
    c->after_body = tested != inner->header || inner->header == inner->latch;
    if (c->after_body && c->inside != inner->header)
        return false;
    arena *a = l->arena;
    lift_predicate p = out == 0 ? negated(test->predicate) : test->predicate; /* under which it goes on */
    for (int side = 0; side < 2; side++) {
        index_expr *added = ix_const(a, 0);
        const lift_value *other = test->operands[!side];
        if (!is_invariant(l, inner, other, 0))
            continue;
        c->phi = chain(l, inner, test->operands[side], &added, false, 0);
        if (!c->phi || !lift_invariant(l, inner, other))
            continue;
        if (side)
            p = swapped(p);
        bool is_unsigned = p >= LIFT_UGT && p <= LIFT_ULE;
        c->bits = c->phi->type->bits;
        c->widened = other->type->bits > c->bits;
        c->is_signed = !is_unsigned && !widened_unsigned(test->operands[side], c->phi);
        if (!(c->step = step_of(l, inner, c->phi)))
            return false;
        lifted first = lift_operand(l, lift_incoming(c->phi, inner->before)), bound = lift_operand(l, other);
        if (lift_stopped(l) || first.kind == LIFTED_ANY || bound.kind == LIFTED_ANY)
            return false;
        first.bits = c->bits;
        bound.bits = other->type->bits;
        l->now = test;
        c->lo = lift_exact(l, first, c->is_signed);
        index_expr *limit = lift_exact(l, bound, !is_unsigned);
        c->var = kernel_new_var(l->k, lift_name(l, c->phi->name, "i"), INDEX_LOOP);
        bool secondary = has_secondary(l, inner, c->phi);
        if (lift_stopped(l))
            return false;
        return lift_range_of(l, c->step).lo > 0 ? upwards(l, c, p, limit, added, secondary) : downwards(l, c, p, limit, added);
    }
    return false;
}

bool lift_counted(lifter *l, flow_loop *inner, counted_loop *c) {
    *c = (counted_loop){0};
    bool impure = false;
    for (int i = 0; i < inner->header->items.count; i++) {
        const lift_value *v = inner->header->items.at[i];
        impure = impure || (v->op != LIFT_PHI && v->op != LIFT_BR && !is_still(l, v));
    }
    if (inner->header != inner->latch && !impure && counts_at(l, inner, inner->header, c))
        return true;
    *c = (counted_loop){0};
    return !lift_stopped(l) && counts_at(l, inner, inner->latch, c);
}

/* ---- trips that can be computed ---- */

typedef struct computing {
    lifter *l;
    flow_loop *inner;
    int64_t *phis;
    bool *known; /* by position in the header */
} computing;

static uint64_t masked(uint64_t x, int bits) {
    return bits >= 64 ? x : x & (((uint64_t)1 << bits) - 1);
}

static int64_t extended(uint64_t x, int bits) {
    x = masked(x, bits);
    return bits < 64 && x >> (bits - 1) ? (int64_t)(x | ~(((uint64_t)1 << bits) - 1)) : (int64_t)x;
}

static bool compared(lift_predicate p, uint64_t x, uint64_t y, int bits) {
    int64_t a = extended(x, bits), b = extended(y, bits);
    x = masked(x, bits);
    y = masked(y, bits);
    switch (p) {
    case LIFT_EQ: return x == y;
    case LIFT_NE: return x != y;
    case LIFT_UGT: return x > y;
    case LIFT_UGE: return x >= y;
    case LIFT_ULT: return x < y;
    case LIFT_ULE: return x <= y;
    case LIFT_SGT: return a > b;
    case LIFT_SGE: return a >= b;
    case LIFT_SLT: return a < b;
    default: return a <= b;
    }
}

static bool number_of(computing *c, const lift_value *v, uint64_t *out, int nesting) {
    if (v->type->kind != LIFT_INTEGER || v->type->bits > 64 || nesting > MOST_NESTING)
        return false;
    if (v->kind == LIFT_CONSTANT_INTEGER) {
        *out = (uint64_t)v->number;
        return true;
    }
    if (!inside(c->inner, v)) {
        if ((v->kind != LIFT_INSTRUCTION && v->kind != LIFT_ARGUMENT) || !c->l->env[v->id].kind)
            return false;
        lifted x = c->l->env[v->id];
        int64_t n;
        if (!lift_is_number(&x, &n))
            return false;
        *out = (uint64_t)n;
        return true;
    }
    if (v->op == LIFT_PHI) {
        for (int i = 0; i < c->inner->header->items.count; i++)
            if (c->inner->header->items.at[i] == v && c->known[i]) {
                *out = (uint64_t)c->phis[i];
                return true;
            }
        return false;
    }
    if ((v->op == LIFT_CALL || v->op == LIFT_LOAD) && lift_invariant(c->l, c->inner, v)) {
        lifted x = lift_operand(c->l, v);
        int64_t n;
        if (!lift_is_number(&x, &n))
            return false;
        *out = (uint64_t)n;
        return true;
    }
    uint64_t x = 0, y = 0;
    int bits = v->type->bits;
    if (!lift_is_pure(v) || v->operand_count < 1 || v->operand_count > 2 || !number_of(c, v->operands[0], &x, nesting + 1) ||
        (v->operand_count == 2 && !number_of(c, v->operands[1], &y, nesting + 1)))
        return false;
    int from = v->operands[0]->type->bits;
    uint64_t ux = masked(x, bits), uy = masked(y, bits);
    switch (v->op) {
    case LIFT_ADD: *out = x + y; break;
    case LIFT_SUB: *out = x - y; break;
    case LIFT_MUL: *out = x * y; break;
    case LIFT_AND: *out = x & y; break;
    case LIFT_OR: *out = x | y; break;
    case LIFT_XOR: *out = x ^ y; break;
    case LIFT_SHL:
        if (uy >= (uint64_t)bits)
            return false;
        *out = x << uy;
        break;
    case LIFT_LSHR:
        if (uy >= (uint64_t)bits)
            return false;
        *out = ux >> uy;
        break;
    case LIFT_ASHR:
        if (uy >= (uint64_t)bits)
            return false;
        *out = (uint64_t)(extended(x, bits) >> uy);
        break;
    case LIFT_UDIV:
        if (!uy)
            return false;
        *out = ux / uy;
        break;
    case LIFT_UREM:
        if (!uy)
            return false;
        *out = ux % uy;
        break;
    case LIFT_SDIV:
        if (extended(y, bits) < 1)
            return false;
        *out = (uint64_t)(extended(x, bits) / extended(y, bits));
        break;
    case LIFT_SREM:
        if (extended(y, bits) < 1)
            return false;
        *out = (uint64_t)(extended(x, bits) % extended(y, bits));
        break;
    case LIFT_TRUNC:
    case LIFT_FREEZE: *out = x; break;
    case LIFT_ZEXT: *out = masked(x, from); break;
    case LIFT_SEXT: *out = (uint64_t)extended(x, from); break;
    case LIFT_ICMP: *out = compared(v->predicate, x, y, from); break;
    default: return false;
    }
    return true;
}

int lift_trips(lifter *l, flow_loop *inner, lift_block **normal, lift_block **into) {
    lift_block *h = inner->header;
    const lift_value *t = h->items.at[h->items.count - 1];
    if (inner->exit_count != 1 || t->op != LIFT_BR || t->block_count != 2 || h == inner->latch)
        return -1;
    int out = !inner->has[t->blocks[0]->id] ? 0 : !inner->has[t->blocks[1]->id] ? 1 : -1;
    if (out < 0)
        return -1;
    int n = 0, size = 0;
    while (h->items.at[n]->op == LIFT_PHI)
        n++;
    for (int i = 0; i < l->function->blocks.count; i++)
        size += inner->has[i] ? l->function->blocks.at[i]->items.count : 0;
    computing c = {l, inner, NEW_ARRAY(l->arena, int64_t, n + 1), NEW_ARRAY(l->arena, bool, n + 1)};
    for (int i = 0; i < n; i++) {
        uint64_t x;
        c.known[i] = number_of(&c, lift_incoming(h->items.at[i], inner->before), &x, 0);
        c.phis[i] = c.known[i] ? (int64_t)x : 0;
    }
    *normal = t->blocks[out];
    *into = t->blocks[!out];
    for (int trips = 0; trips <= MOST_TRIPS && trips * size <= 40000; trips++) {
        uint64_t go;
        if (!number_of(&c, t->operands[0], &go, 0))
            return -1;
        if ((go & 1) == (uint64_t)(out == 0))
            return trips;
        int64_t *next = NEW_ARRAY(l->arena, int64_t, n + 1);
        bool *known = NEW_ARRAY(l->arena, bool, n + 1);
        for (int i = 0; i < n; i++) {
            uint64_t x;
            known[i] = number_of(&c, lift_incoming(h->items.at[i], inner->latch), &x, 0);
            next[i] = known[i] ? (int64_t)x : 0;
        }
        c.phis = next;
        c.known = known;
    }
    return -1;
}
