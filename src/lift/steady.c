/* What a loop carries and never changes, though its text seems to: il = il + 2 < n ? il + 2 : il % 2, where il is below 2 and n is 1. Shown by induction:
 * if it is what it began with, so it is after a trip. */
#include "lift/lifter.h"

enum { MOST_NESTING = 16 };

static bool inside(const flow_loop *inner, const lift_value *v) {
    return v->kind == LIFT_INSTRUCTION && v->block && inner->has[v->block->id];
}

/* The branch that says which way a phi behind two ways came by; NULL: it is none such. *yes: the value of its first way. */
static const lift_value *choice_of(const lifter *l, const flow_loop *inner, const lift_value *phi, const lift_value **yes,
                                   const lift_value **no) {
    int parent = phi->block_count == 2 && phi->block != inner->header ? l->flow->parent[phi->block->id] : -1;
    if (parent < 0 || !inner->has[parent])
        return NULL;
    lift_block *from = l->function->blocks.at[parent];
    const lift_value *t = from->items.at[from->items.count - 1];
    if (t->op != LIFT_BR || t->block_count != 2)
        return NULL;
    *yes = *no = NULL;
    for (int i = 0; i < 2; i++)
        for (int side = 0; side < 2; side++) {
            /* it comes from that side's block itself, which nothing else leads to, or straight from the branch */
            bool straight = phi->blocks[i] == from && t->blocks[side] == phi->block && t->blocks[!side] != phi->block;
            bool by = phi->blocks[i] == t->blocks[side] && t->blocks[side]->before.count == 1 && t->blocks[side] != phi->block;
            if (straight || by)
                *(side ? no : yes) = phi->operands[i];
        }
    return *yes && *no ? t : NULL;
}

/* Whether a condition holds, by what ranges say. */
static bool decided(lifter *l, const lifted *c, int64_t *n) {
    if (lift_is_number(c, n))
        return true;
    if (c->kind != LIFTED_CONDITION || (c->c->op != COND_LT && c->c->op != COND_LE))
        return false;
    lift_range x = lift_range_of(l, c->c->x), y = lift_range_of(l, c->c->y);
    bool strict = c->c->op == COND_LT;
    *n = strict ? x.hi < y.lo : x.hi <= y.lo;
    return *n || (strict ? x.lo >= y.hi : x.lo > y.hi);
}

static bool known(const lifter *l, const flow_loop *inner, const lift_value *v) {
    return !inside(inner, v) || (v->block == inner->header && v->op == LIFT_PHI && l->env[v->id].kind);
}

static bool can_compute(lifter *l, const flow_loop *inner, const lift_value *v, int nesting) {
    const lift_value *yes, *no;
    if (known(l, inner, v))
        return true;
    if (nesting > MOST_NESTING)
        return false;
    if (v->op == LIFT_PHI) {
        const lift_value *t = choice_of(l, inner, v, &yes, &no);
        return t && can_compute(l, inner, t->operands[0], nesting + 1) &&
               (can_compute(l, inner, yes, nesting + 1) || can_compute(l, inner, no, nesting + 1));
    }
    if (!lift_is_pure(v) && !lift_is_parameter_load(l, v))
        return false;
    for (int i = 0; i < v->operand_count; i++)
        if (!can_compute(l, inner, v->operands[i], nesting + 1))
            return false;
    for (int i = 0; i < v->step_count; i++)
        if (!can_compute(l, inner, v->steps[i].index, nesting + 1))
            return false;
    return true;
}

/* Below what the phis of the header are now; kind NONE: that is not enough. */
static lifted computed(lifter *l, const flow_loop *inner, const lift_value *v, int nesting) {
    lifted none = {0};
    if (lift_stopped(l) || nesting > MOST_NESTING)
        return none;
    if (known(l, inner, v))
        return lift_operand(l, v);
    if (v->op == LIFT_PHI) {
        const lift_value *yes, *no, *t = choice_of(l, inner, v, &yes, &no);
        lifted c = t ? computed(l, inner, t->operands[0], nesting + 1) : none;
        int64_t n;
        if (!decided(l, &c, &n))
            return none;
        const lift_value *taken = n ? yes : no;
        return can_compute(l, inner, taken, nesting + 1) ? computed(l, inner, taken, nesting + 1) : none;
    }
    for (int i = 0; i < v->operand_count + v->step_count; i++) {
        const lift_value *part = i < v->operand_count ? v->operands[i] : v->steps[i - v->operand_count].index;
        if (!known(l, inner, part)) {
            lifted x = computed(l, inner, part, nesting + 1);
            if (!x.kind)
                return none;
            l->env[part->id] = x;
        }
    }
    l->now = v;
    int64_t which;
    if (v->op == LIFT_SELECT) {
        lifted c = lift_operand(l, v->operands[0]);
        if (decided(l, &c, &which))
            return lift_operand(l, v->operands[which ? 1 : 2]);
    }
    if (v->op == LIFT_LOAD)
        return lift_load(l, v, v->type, lift_operand(l, v->operands[0]));
    if (v->op == LIFT_CALL) {
        lift_call(l, v);
        return l->env[v->id];
    }
    return lift_operation(l, v);
}

bool lift_steady(lifter *l, const flow_loop *inner, const lift_value *phi, lifted first) {
    const lift_value *next = lift_incoming(phi, inner->latch);
    if (phi->type->kind != LIFT_INTEGER || first.kind != LIFTED_INDEX || !next || !inside(inner, next) || lift_stopped(l))
        return false;
    if (next->op != LIFT_PHI && next->op != LIFT_SELECT && next->op != LIFT_TRUNC && next->op != LIFT_SEXT &&
        next->op != LIFT_ZEXT)
        return false; /* it counts, or is computed anew */
    int count = l->at->items.count, statements = l->statements;
    l->env[phi->id] = first;
    bool same = false;
    if (can_compute(l, inner, next, 0)) {
        lifted x = computed(l, inner, next, 0);
        x.bits = first.bits;
        same = x.kind == LIFTED_INDEX && lift_same(&x, &first);
    }
    if (!same) { /* what was stated on the way holds of nothing */
        l->env[phi->id] = (lifted){0};
        l->at->items.count = count;
        l->statements = statements;
    }
    return same;
}

const lift_value *lift_taken(lifter *l, const flow_loop *inner, const lift_value *v) {
    for (int depth = 0; v && inside(inner, v) && depth < MOST_NESTING && !lift_stopped(l); depth++) {
        const lift_value *yes, *no, *asked = NULL;
        if (v->op == LIFT_SELECT) {
            asked = v->operands[0];
            yes = v->operands[1];
            no = v->operands[2];
        } else if (v->op == LIFT_PHI && v->block != inner->header) {
            const lift_value *t = choice_of(l, inner, v, &yes, &no);
            asked = t ? t->operands[0] : NULL;
        }
        int64_t n;
        if (!asked || !can_compute(l, inner, asked, 0))
            return v;
        lifted c = computed(l, inner, asked, 0);
        if (!decided(l, &c, &n))
            return v;
        v = n ? yes : no;
    }
    return v;
}
