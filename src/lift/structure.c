/* Blocks and branches as sequences and choices: each branch is walked to where its ways meet again. */
#include "lift/lifter.h"

enum { MOST_STATEMENTS = 250000, MOST_DEPTH = 90 };

static void lift_item(lifter *l, const lift_value *v) {
    l->now = v;
    switch (v->op) {
    case LIFT_LOAD:
        if (v->is_atomic)
            lift_atomic_operation(l, v);
        else
            lift_set(l, v, lift_load(l, v, v->type, lift_operand(l, v->operands[0])));
        return;
    case LIFT_STORE:
        if (v->is_atomic)
            lift_atomic_operation(l, v);
        else
            lift_store(l, v->pointee, lift_operand(l, v->operands[1]), lift_operand(l, v->operands[0]));
        return;
    case LIFT_ALLOCA: l->env[v->id] = lift_pointer_to(l, v); return;
    case LIFT_CALL: lift_call(l, v); return;
    case LIFT_ATOMIC:
    case LIFT_CMPXCHG:
    case LIFT_FENCE: lift_atomic_operation(l, v); return;
    default: lift_set(l, v, lift_operation(l, v)); return;
    }
}

void lift_items(lifter *l, lift_block *b) {
    for (int i = 0; i < b->items.count && !lift_stopped(l); i++) {
        const lift_value *v = b->items.at[i];
        if (v->op == LIFT_PHI || v->op == LIFT_BR || v->op == LIFT_RET || v->op == LIFT_UNREACHABLE)
            continue;
        if (l->statements > MOST_STATEMENTS)
            lift_fail(l, "E1123", v, "the kernel becomes more than %d statements", MOST_STATEMENTS);
        lift_item(l, v);
    }
}

static void read_phis(lifter *l, lift_block *b) {
    for (int i = 0; i < b->items.count && b->items.at[i]->op == LIFT_PHI; i++) {
        const lift_value *phi = b->items.at[i];
        l->now = phi;
        if (!l->aliased[phi->id])
            l->env[phi->id] = lift_phi_read(l, phi);
    }
}

void lift_branch(lifter *l, lifted c, kernel_block **yes, kernel_block **no) {
    bool condition = c.kind == LIFTED_CONDITION;
    kernel_value *v = condition ? NULL : lift_as_value(l, c);
    kernel_stmt *s = kernel_append(l->k, l->at, condition ? KSTMT_IF : KSTMT_IF_VALUE, lift_span(l, l->now));
    s->condition = condition ? c.c : NULL;
    s->value = v;
    *yes = &s->body;
    *no = &s->otherwise;
    l->statements++;
}

/* Number of a way out by a break, from 1. */
static int target_number(lifter *l, open_loop *o, lift_block *to) {
    for (int i = 0; i < o->targets.count; i++)
        if (o->targets.at[i] == to)
            return i + 1;
    VEC_PUSH(l->arena, o->targets, to);
    return o->targets.count;
}

lift_block *lift_leave(lifter *l, flow_loop *region, lift_block *to) {
    if (!region || region->has[to->id])
        return to;
    open_loop *o = l->loop;
    if (o->unrolled) {
        lift_fail(l, "E1123", l->now, "a way out of a loop that is unrolled");
        return NULL;
    }
    int number = target_number(l, o, to);
    if (o->exit)
        kernel_store(l->k, l->at, kernel_at(l->k, o->exit, NULL), kernel_const(l->k, ELEMENT_INDEX, 1, number),
                     lift_span(l, l->now));
    kernel_append(l->k, l->at, KSTMT_BREAK, lift_span(l, l->now));
    l->statements++;
    return NULL;
}

lift_block *lift_edge(lifter *l, flow_loop *region, lift_block *from, lift_block *to) {
    if (lift_stopped(l))
        return NULL;
    bool back = region && to == region->header, leaves = region && !region->has[to->id];
    l->now = from->items.at[from->items.count - 1];
    lift_event_gap(l, from, to);
    int phis = 0;
    while (phis < to->items.count && to->items.at[phis]->op == LIFT_PHI)
        phis++;
    if (back && l->loop->unrolled) {
        for (int i = 0; i < phis; i++)
            l->loop->next[i] = lift_named(l, to->items.at[i], lift_operand(l, lift_incoming(to->items.at[i], from)));
        return NULL;
    }
    if (!back && flow_loop_at(l->flow, region, to))
        return to;                                                 /* the loop asks for them itself */
    lifted *values = NEW_ARRAY(l->arena, lifted, phis ? phis : 1); /* all at once: phis may mention each other */
    for (int i = 0; i < phis; i++) {
        const lift_value *v = lift_incoming(to->items.at[i], from);
        if (!(back && l->loop->settled[i]) && !l->decided[to->items.at[i]->id] && v)
            values[i] = lift_operand(l, v);
    }
    bool only = !leaves && !back && to->before.count == 1;
    for (int i = 0; i < phis; i++) {
        const lift_value *phi = to->items.at[i];
        if ((back && l->loop->settled[i]) || l->decided[phi->id])
            continue;
        bool plain =
            phi->operand_count == 1 && values[i].kind == LIFTED_POINTER && !values[i].term_count; /* the same everywhere */
        l->aliased[phi->id] = only || plain;
        if (only || plain)
            lift_set(l, phi, values[i]);
        else
            lift_phi_store(l, phi, values[i]);
    }
    return back ? NULL : lift_leave(l, region, to);
}

/* Whether the edge leaves the loop at once. */
static bool leaves(const flow_loop *region, const lift_block *to) {
    return region && !region->has[to->id];
}

static void lift_side(lifter *l, flow_loop *region, lift_block *from, lift_block *to, lift_block *join, kernel_block *into) {
    kernel_block *before = l->at;
    l->at = into;
    lift_block *next = lift_edge(l, region, from, to);
    if (next && next != join)
        lift_sequence(l, region, next, join);
    l->at = before;
}

/* `if c {} else { .. }` the other way round. */
static void turn_empty(lifter *l, kernel_block *at, int position, lifted c) {
    if (position >= at->items.count)
        return;
    kernel_stmt *s = at->items.at[position];
    if (s->body.items.count || !s->otherwise.items.count)
        return;
    kernel_block t = s->body;
    s->body = s->otherwise;
    s->otherwise = t;
    if (s->kind == KSTMT_IF)
        s->condition = lift_not(l, c).c;
    else
        s->value = kernel_op1(l->k, KERNEL_NOT, ELEMENT_BOOL, s->value);
}

/* A branch in two. Returns the block to go on with. */
static lift_block *lift_choice(lifter *l, flow_loop *region, lift_block *b, const lift_value *t) {
    lifted c = lift_operand(l, t->operands[0]);
    int64_t known;
    l->now = t;
    if (lift_stopped(l))
        return NULL;
    if (c.kind == LIFTED_ANY) {
        lift_fail(l, "E1125", t, "a branch that depends on a value that nothing has set");
        return NULL;
    }
    lift_block *join = flow_join(l->flow, region, b);
    for (int i = 0; join && i < join->items.count && join->items.at[i]->op == LIFT_PHI; i++)
        l->decided[join->items.at[i]->id] = false;
    if (lift_is_number(&c, &known))
        return lift_edge(l, region, b, t->blocks[known ? 0 : 1]);
    if (t->blocks[0] == t->blocks[1])
        return lift_edge(l, region, b, t->blocks[0]);
    kernel_block *yes, *no, *at = l->at;
    int position = at->items.count;
    for (int side = 0; side < 2; side++) /* a way out stands by itself: what follows is reached where it is not taken */
        if (leaves(region, t->blocks[side]) && !leaves(region, t->blocks[!side]) && !l->loop->unrolled) {
            lifted out = side ? lift_not(l, c) : c;
            lift_branch(l, out, &yes, &no);
            lift_side(l, region, b, t->blocks[side], NULL, yes);
            kernel_stmt *s = at->items.count > position ? at->items.at[position] : NULL;
            if (s && s->kind == KSTMT_IF && yes->items.count == 1 && yes->items.at[0]->kind == KSTMT_BREAK) {
                s->kind = KSTMT_BREAK; /* break when */
                s->body = (kernel_block){0};
            }
            return lift_edge(l, region, b, t->blocks[!side]);
        }
    lift_decide(l, c, t, join && flow_loop_at(l->flow, region, join) ? NULL : join);
    position = at->items.count;
    lift_branch(l, c, &yes, &no);
    lift_side(l, region, b, t->blocks[0], join, yes);
    lift_side(l, region, b, t->blocks[1], join, no);
    turn_empty(l, at, position, c);
    return join;
}

void lift_sequence(lifter *l, flow_loop *region, lift_block *b, lift_block *stop) {
    if (++l->depth > MOST_DEPTH) {
        lift_fail(l, "E1123", l->now, "control flow nested deeper than %d", MOST_DEPTH);
        return;
    }
    bool first = true; /* of the walk through a loop's body: its phis are known */
    while (b && b != stop && !lift_stopped(l)) {
        if (flow_loop_at(l->flow, region, b)) {
            b = lift_loop(l, region, flow_loop_at(l->flow, region, b));
            first = false;
            continue;
        }
        if (!(first && region && b == region->header))
            read_phis(l, b);
        first = false;
        lift_items(l, b);
        const lift_value *t = b->items.at[b->items.count - 1];
        l->now = t;
        open_loop *o = l->loop;
        if (lift_stopped(l) || t->op != LIFT_BR) {
            b = NULL;
        } else if (region && o->loop == region && o->tested == b) {
            lift_block *inside = leaves(region, t->blocks[0]) ? t->blocks[1] : t->blocks[0];
            if (o->after_body) { /* what leaves by it, each time: the last counts */
                for (int i = 0; i < o->normal->items.count && o->normal->items.at[i]->op == LIFT_PHI; i++) {
                    const lift_value *phi = o->normal->items.at[i], *v = lift_incoming(phi, b);
                    l->aliased[phi->id] = false;
                    lift_phi_store(l, phi, lift_operand(l, v));
                }
            }
            b = lift_edge(l, region, b, inside);
        } else if (t->block_count == 1) {
            b = lift_edge(l, region, b, t->blocks[0]);
        } else {
            b = lift_choice(l, region, b, t);
        }
    }
    l->depth--;
}

void lift_body(lifter *l) {
    lift_sequence(l, NULL, l->function->blocks.at[0], NULL);
}
