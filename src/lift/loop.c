/* Loops: counted ones as `for`, short ones whose trips are known unrolled, others as opaque loops that breaks end. */
#include "lift/lifter.h"

static int phi_count(const lift_block *b) {
    int n = 0;
    while (n < b->items.count && b->items.at[n]->op == LIFT_PHI)
        n++;
    return n;
}

/* ---- unrolled ---- */

static lift_block *unroll(lifter *l, flow_loop *region, flow_loop *inner, int trips, lift_block *normal, lift_block *into) {
    int n = phi_count(inner->header);
    open_loop o = {.loop = inner, .outer = l->loop, .tested = inner->header, .normal = normal, .unrolled = true};
    lifted *now = NEW_ARRAY(l->arena, lifted, n + 1);
    for (int i = 0; i < n; i++)
        now[i] = lift_operand(l, lift_incoming(inner->header->items.at[i], inner->before));
    (void)into;
    for (int trip = 0; trip <= trips && !lift_stopped(l); trip++) {
        for (int i = 0; i < n; i++)
            l->env[inner->header->items.at[i]->id] = now[i];
        if (trip == trips)
            break;
        o.next = NEW_ARRAY(l->arena, lifted, n + 1);
        l->loop = &o;
        lift_sequence(l, inner, inner->header, NULL);
        l->loop = o.outer;
        now = o.next;
    }
    lift_items(l, inner->header);
    return lift_stopped(l) ? NULL : lift_edge(l, region, inner->header, normal);
}

/* ---- the others ---- */

/* Ways out other than the test's: how many different blocks they lead to, and whether one leads where the test does. */
static int ways_out(const lifter *l, const flow_loop *inner, const lift_block *tested, const lift_block *normal, bool *shared) {
    int count = 0;
    lift_block **seen = NEW_ARRAY(l->arena, lift_block *, inner->exit_count + 1);
    *shared = false;
    for (int i = 0; i < l->function->blocks.count; i++) {
        lift_block *b = l->function->blocks.at[i];
        for (int j = 0; inner->has[i] && j < b->after.count; j++) {
            lift_block *to = b->after.at[j];
            if (inner->has[to->id] || (b == tested && to == normal))
                continue;
            bool known = false;
            for (int n = 0; n < count; n++)
                known = known || seen[n] == to;
            if (!known)
                seen[count++] = to;
            *shared = *shared || to == normal;
        }
    }
    return count;
}

/* A phi that moves along with the counter. */
static bool follow(lifter *l, flow_loop *inner, const lift_value *phi, const counted_loop *c, lifted first, lifted *out) {
    const lift_value *next = lift_taken(l, inner, lift_incoming(phi, inner->latch));
    arena *a = l->arena;
    if (!c->trip || !next || next->kind != LIFT_INSTRUCTION || next->operand_count < 1)
        return false;
    if (phi->type->kind == LIFT_INTEGER && phi->type->bits > 1 && first.kind == LIFTED_INDEX) {
        index_expr *by = lift_added(l, inner, phi, next);
        if (!by)
            return false;
        *out = lifted_index(phi->type->bits, ix_add(a, first.x, ix_mul(a, by, c->trip)));
        return true;
    }
    if (phi->type->kind != LIFT_POINTER || next->op != LIFT_GEP || next->operands[0] != phi || first.kind != LIFTED_POINTER)
        return false;
    for (int i = 0; i < next->step_count; i++)
        if (!lift_invariant(l, inner, next->steps[i].index))
            return false;
    *out = first;
    out->terms = NEW_ARRAY(a, pointer_term, first.term_count + next->step_count + 1);
    for (int i = 0; i < first.term_count; i++)
        out->terms[i] = first.terms[i];
    if (next->offset)
        out->terms[out->term_count++] = (pointer_term){c->trip, next->offset, 0};
    for (int i = 0; i < next->step_count; i++) {
        lifted by = lift_operand(l, next->steps[i].index);
        by.bits = next->steps[i].index->type->bits;
        index_expr *e = lift_exact(l, by, true);
        out->terms[out->term_count++] = (pointer_term){ix_mul(a, e, c->trip), next->steps[i].stride, 0};
    }
    return true;
}

/* What leaves by the test, once the loop has run to its end. */
static void after_test(lifter *l, flow_loop *inner, const counted_loop *c, const open_loop *o, bool shared,
                       const lifted *followed) {
    int n = phi_count(inner->header), out = phi_count(c->normal);
    if (!out || c->after_body)
        return;
    for (int i = 0; i < n; i++) {
        const lift_value *phi = inner->header->items.at[i];
        if (phi == c->phi)
            l->env[phi->id] = c->last ? lifted_index(phi->type->bits, c->last) : (lifted){0};
        else
            l->env[phi->id] = o->settled[i] ? followed[i] : lift_phi_read(l, phi);
    }
    if (c->last)
        lift_items(l, inner->header);
    for (int i = n; i < inner->header->items.count && !c->last; i++) /* what the counter ends with is not said: nor is this */
        l->env[inner->header->items.at[i]->id] = (lifted){0};
    for (int i = 0; i < out && !lift_stopped(l); i++) {
        const lift_value *phi = c->normal->items.at[i];
        lifted x = lift_operand(l, lift_incoming(phi, inner->header));
        bool plain = phi->operand_count == 1 && x.kind == LIFTED_POINTER && !x.term_count;
        l->aliased[phi->id] = plain || (!shared && c->normal->before.count == 1);
        if (l->aliased[phi->id])
            l->env[phi->id] = x;
        else
            lift_phi_store(l, phi, x);
    }
}

static lifted last_of(lifter *l, const counted_loop *c, lifted x) {
    /* the trip, after the last one */
    arena *a = l->arena;
    index_expr *end = ix_max(a, c->lo, c->hi);
    if (x.kind == LIFTED_INDEX)
        x.x = ix_substitute(a, x.x, c->var, end);
    if (x.kind == LIFTED_POINTER) {
        pointer_term *terms = NEW_ARRAY(a, pointer_term, x.term_count + 1);
        for (int i = 0; i < x.term_count; i++) {
            terms[i] = x.terms[i];
            terms[i].index = ix_substitute(a, terms[i].index, c->var, end);
        }
        x.terms = terms;
    }
    return x;
}

/* Goes on behind the loop: where it was left to, by number. */
static lift_block *go_on(lifter *l, flow_loop *region, flow_loop *inner, open_loop *o, const counted_loop *c, bool shared,
                         const lifted *followed) {
    if (!o->exit) {
        if (c && !o->targets.count) {
            after_test(l, inner, c, o, false, followed);
            return lift_stopped(l) ? NULL : lift_leave(l, region, c->normal);
        }
        if (!o->targets.count) /* a loop that nothing leaves */
            return NULL;
        return lift_leave(l, region, o->targets.at[0]);
    }
    lift_block *join = flow_join_after(l->flow, region, inner);
    kernel_stmt *let = lift_let(l, "way", kernel_load(l->k, kernel_at(l->k, o->exit, NULL)));
    kernel_block *before = l->at;
    for (int i = c ? 0 : 1; i <= o->targets.count && !lift_stopped(l); i++) {
        lift_block *to = i ? o->targets.at[i - 1] : c->normal;
        bool last = i == o->targets.count;
        kernel_block *yes = l->at, *no = l->at;
        if (!last) {
            cond *way = cond_compare(l->arena, COND_EQ, ix_var(l->arena, let->var), ix_const(l->arena, i));
            lift_branch(l, lifted_condition(way), &yes, &no);
        }
        l->at = yes;
        if (!i)
            after_test(l, inner, c, o, shared, followed);
        lift_block *next = lift_stopped(l) ? NULL : lift_leave(l, region, to);
        if (next && next != join)
            lift_sequence(l, region, next, join);
        l->at = no;
    }
    l->at = before;
    return join;
}

lift_block *lift_loop(lifter *l, flow_loop *region, flow_loop *inner) {
    counted_loop counted, *c = NULL;
    lift_block *normal, *into;
    arena *a = l->arena;
    int n = phi_count(inner->header);
    l->now = inner->header->items.at[inner->header->items.count - 1];
    if (lift_counted(l, inner, &counted))
        c = &counted;
    if (lift_stopped(l))
        return NULL;
    bool shared = false;
    int others = ways_out(l, inner, c ? c->tested : NULL, c ? c->normal : NULL, &shared);
    if (c && others && !c->last && !c->after_body)
        c = NULL; /* what the counter is after a break is not said */
    if (!c) {
        int trips = lift_trips(l, inner, &normal, &into);
        if (lift_stopped(l))
            return NULL;
        if (trips >= 0)
            return unroll(l, region, inner, trips, normal, into);
        others = ways_out(l, inner, NULL, NULL, &shared);
    }
    open_loop o = {.loop = inner, .outer = l->loop, .settled = NEW_ARRAY(a, bool, n + 1)};
    lifted *followed = NEW_ARRAY(a, lifted, n + 1), *first = NEW_ARRAY(a, lifted, n + 1);
    if (c) {
        o.tested = c->tested;
        o.normal = c->normal;
        o.after_body = c->after_body;
    }
    for (int i = 0; i < n; i++)
        first[i] = lift_operand(l, lift_incoming(inner->header->items.at[i], inner->before));
    for (int i = 0; i < n && !lift_stopped(l); i++) /* nothing of an earlier walk */
        l->env[inner->header->items.at[i]->id] = (lifted){0};
    for (int i = 0; i < n && !lift_stopped(l); i++) {
        const lift_value *phi = inner->header->items.at[i];
        if (!(c && phi == c->phi) && lift_steady(l, inner, phi, first[i])) {
            followed[i] = first[i];
            o.settled[i] = true;
        }
    }
    for (int i = 0; i < n && !lift_stopped(l); i++) {
        const lift_value *phi = inner->header->items.at[i];
        if (o.settled[i])
            continue;
        if (c && phi == c->phi) {
            followed[i] = lifted_index(phi->type->bits, c->value);
            o.settled[i] = true;
        } else {
            o.settled[i] = c && follow(l, inner, phi, c, first[i], &followed[i]);
        }
    }
    for (int i = 0; i < n && !lift_stopped(l); i++)
        if (!o.settled[i])
            lift_phi_store(l, inner->header->items.at[i], first[i]);
    if (others)
        for (int i = 0; i < l->function->blocks.count; i++)
            for (int j = 0; inner->has[i] && j < l->function->blocks.at[i]->after.count; j++)
                if (!inner->has[l->function->blocks.at[i]->after.at[j]->id])
                    lift_phi_begin(l, l->function->blocks.at[i]->after.at[j]);
    if (others + (c ? 1 : 0) > 1) {
        o.exit = lift_register(l, "way_out", ELEMENT_INDEX);
        if (c)
            kernel_store(l->k, l->at, kernel_at(l->k, o.exit, NULL), kernel_const(l->k, ELEMENT_INDEX, 1, 0),
                         lift_span(l, l->now));
    }
    if (lift_stopped(l))
        return NULL;
    kernel_stmt *s = kernel_append(l->k, l->at, c ? KSTMT_FOR : KSTMT_LOOP, lift_span(l, l->now));
    l->statements++;
    if (c) {
        s->var = c->var;
        s->var->owner = s;
        s->var->span = s->span;
        s->var->lo = s->lo = c->lo;
        s->hi = c->hi;
        s->var->hi = ix_sub(a, c->hi, ix_const(a, 1));
        s->step = c->step;
    } else {
        s->opaque = true;
    }
    kernel_block *before = l->at;
    l->at = &s->body;
    l->loop = &o;
    for (int i = 0; i < n && !lift_stopped(l); i++) {
        const lift_value *phi = inner->header->items.at[i];
        l->now = phi;
        l->env[phi->id] = o.settled[i] ? followed[i] : lift_phi_read(l, phi);
    }
    if (c && c->checked) { /* the counter's next value fits its type */
        l->now = lift_incoming(c->phi, inner->latch);
        lift_exact(l, lifted_index(c->bits, c->checked), c->is_signed);
    }
    lift_sequence(l, inner, inner->header, NULL);
    l->loop = o.outer;
    l->at = before;
    if (lift_stopped(l))
        return NULL;
    for (int i = 0; c && i < n; i++)
        if (o.settled[i])
            followed[i] = last_of(l, c, followed[i]);
    return go_on(l, region, inner, &o, c, shared, followed);
}
