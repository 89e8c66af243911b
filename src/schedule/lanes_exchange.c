/* Lowering reductions to the threads of a block: how the shares of threads meet. Lanes exchange by shuffles, subgroups through shared memory. */
#include "schedule/lanes_reduction.h"

static kernel_value *shuffled(reduction *c, kernel_value *x, int64_t mask) {
    kernel_ir *ir = c->l->ir;
    element_type type = x->type == ELEMENT_INDEX ? ELEMENT_I32 : x->type; /* indices fit: extents do */
    if (type != x->type)
        x = kernel_op1(ir, KERNEL_CONVERT, type, x);
    kernel_value *other = kernel_op2(ir, KERNEL_SHUFFLE_XOR, type, x, kernel_const(ir, ELEMENT_I32, 1, (double)mask));
    return type == ELEMENT_I32 && c->extreme && x->op == KERNEL_CONVERT ? kernel_op1(ir, KERNEL_CONVERT, ELEMENT_INDEX, other)
                                                                        : other;
}

void reduction_fold_vector(point *p, reduction *c) {
    kernel_ir *ir = c->l->ir;
    if (c->reduced_vector) {
        kernel_access from = reduction_cell(p, c, c->parts[0].array);
        kernel_op op = combining_op(c->heavy);
        kernel_op across = op == KERNEL_MAX ? KERNEL_LANES_MAX : op == KERNEL_MIN ? KERNEL_LANES_MIN : KERNEL_LANES_SUM;
        kernel_value *x = reduction_get(c, from);
        reduction_set(p, c, reduction_cell(p, c, c->parts[1].array), kernel_op1(ir, across, x->type, x));
    }
}

void reduction_meet_lanes(point *p, reduction *c) {
    lower *l = c->l;
    kernel_ir *ir = l->ir;
    kernel_access to = reduction_cell(p, c, c->parts[c->reduced_vector ? 1 : 0].array);
    for (int i = 0; i < c->reduced_count; i++) {
        const spread *x = reduction_spread(c, i);
        if (x->lanes == 1)
            continue;
        int64_t stride = lane_stride(l, x->lane);
        kernel_op op = combining_op(c->heavy);
        if (!c->extreme && x->lanes == l->machine->subgroup_lanes) {
            kernel_op all = op == KERNEL_MAX ? KERNEL_SUBGROUP_MAX : op == KERNEL_MIN ? KERNEL_SUBGROUP_MIN : KERNEL_SUBGROUP_SUM;
            reduction_set(p, c, to, kernel_op1(ir, all, to.array->element, reduction_get(c, to)));
            continue;
        }
        for (int64_t half = x->lanes / 2; half >= 1; half /= 2) {
            if (c->extreme) {
                kernel_value *v = emit_named(p, "other", shuffled(c, reduction_get(c, to), half * stride));
                kernel_value *at = emit_named(
                    p, "other_at", shuffled(c, reduction_get(c, reduction_cell(p, c, c->parts[1].array)), half * stride));
                reduction_keep_better(p, c, v, at);
            } else {
                kernel_value *v = reduction_get(c, to);
                reduction_set(p, c, to, kernel_op2(ir, op, v->type, v, shuffled(c, v, half * stride)));
            }
        }
    }
}

void reduction_exchange_lanes(point *p, reduction *c) {
    reduction_fold_vector(p, c);
    reduction_meet_lanes(p, c);
}

/* ---- subgroups: through shared memory, [subgroup][cell of the tile] ---- */

static kernel_access shared_cell(point *p, reduction *c, int i, index_expr *subgroup) {
    index_expr *at[33];
    int rank = 0, vector = -1;
    at[rank++] = subgroup;
    for (int d = 0; d < c->axis_count; d++) {
        if (range_capacity(c->axes[d]) == 1)
            continue;
        if (c->axes[d] == p->vector)
            vector = rank;
        at[rank++] = p->position[c->axes[d]->id];
    }
    kernel_access access = kernel_at(c->l->ir, c->shared[i], at);
    if (vector >= 0) {
        access.lanes = p->lanes;
        access.vector_dim = vector;
        access.active = p->active;
    }
    return access;
}

const spread *reduction_crossing(const reduction *c) {
    for (int i = 0; i < c->reduced_count; i++)
        if (reduction_spread(c, i)->subgroups > 1)
            return reduction_spread(c, i);
    return NULL;
}

static bool uses_id(const spread *x, const index_var *id) {
    return x->lane && ix_mentions(x->lane, id);
}

static void leave_part(point *p, reduction *c) {
    lower *l = c->l;
    arena *a = l->arena;
    const spread *x = reduction_crossing(c);
    cond *first = NULL;
    for (int i = 0; i < c->reduced_count; i++)
        if (reduction_spread(c, i)->lane)
            first = cond_and(a, first, cond_compare(a, COND_EQ, reduction_spread(c, i)->lane, ix_const(a, 0)));
    /* of lanes that hold copies because no range of the result or the reduction uses them, the first writes */
    const kernel_level *lanes = &l->ir->levels.at[2];
    for (int d = 0; d < lanes->rank; d++) {
        bool used = false;
        for (int i = 0; i < c->axis_count; i++)
            used = used || uses_id(&l->spreads[c->axes[i]->id], lanes->ids[d]);
        for (int i = 0; i < c->reduced_count; i++)
            used = used || uses_id(reduction_spread(c, i), lanes->ids[d]);
        if (!used)
            first = cond_and(a, first, cond_compare(a, COND_EQ, ix_var(a, lanes->ids[d]), ix_const(a, 0)));
    }
    point q = *p;
    if (first) {
        kernel_stmt *s = kernel_append(l->ir, p->block, KSTMT_IF, c->span);
        s->condition = first;
        q.block = &s->body;
    }
    for (int i = reduction_first_result(c); i < c->part_count; i++)
        reduction_set(&q, c, shared_cell(p, c, i, ix_var(a, x->subgroup)),
                      reduction_get(c, reduction_cell(p, c, c->parts[i].array)));
}

static void gather_parts(point *p, reduction *c) {
    lower *l = c->l;
    arena *a = l->arena;
    const spread *x = reduction_crossing(c);
    int i = reduction_first_result(c);
    for (int k = i; k < c->part_count; k++)
        reduction_set(p, c, reduction_cell(p, c, c->parts[k].array), reduction_get(c, shared_cell(p, c, k, ix_const(a, 0))));
    for (int g = 1; g < x->subgroups; g++) {
        if (c->extreme) {
            kernel_value *v = emit_named(p, "other", reduction_get(c, shared_cell(p, c, 0, ix_const(a, g))));
            kernel_value *at = emit_named(p, "other_at", reduction_get(c, shared_cell(p, c, 1, ix_const(a, g))));
            reduction_keep_better(p, c, v, at);
        } else {
            kernel_access to = reduction_cell(p, c, c->parts[i].array);
            kernel_value *v = reduction_get(c, to);
            reduction_set(
                p, c, to,
                kernel_op2(l->ir, combining_op(c->heavy), v->type, v, reduction_get(c, shared_cell(p, c, i, ix_const(a, g)))));
        }
    }
}

bool reduction_exchange_subgroups(reduction *c) {
    lower *l = c->l;
    arena *a = l->arena;
    const spread *x = reduction_crossing(c);
    if (!x)
        return true;
    index_expr *dims[33];
    int rank = 0;
    dims[rank++] = ix_const(a, x->subgroups);
    for (int d = 0; d < c->axis_count; d++) {
        int64_t capacity = range_capacity(c->axes[d]);
        if (capacity < 0) {
            lower_error(l, "E0593", c->span,
                        "a reduction across subgroups would have to be held over all of `%s`, whose extent is not a compile-time "
                        "constant",
                        c->axes[d]->name);
            return false;
        }
        if (capacity != 1)
            dims[rank++] = ix_const(a, capacity);
    }
    for (int i = reduction_first_result(c); i < c->part_count; i++) {
        kernel_array **made = &l->across[2 * c->heavy->id + i];
        if (!*made) { /* the same reduction for the tiles at the edge uses it again */
            *made =
                kernel_add_array(l->ir, lower_name(l, "across"), SPACE_SHARED, USE_LOCAL, c->parts[i].array->element, rank, dims);
            (*made)->span = c->span;
        }
        c->shared[i] = *made;
    }
    point p = point_new(l);
    reduction_over(&p, c, c->axes, c->axis_count, true, leave_part);
    lanes_barrier(l, 1u << SPACE_SHARED, c->span);
    p = point_new(l);
    reduction_over(&p, c, c->axes, c->axis_count, true, gather_parts);
    if (l->loops.count) /* the next trip writes the same cells */
        lanes_barrier(l, 1u << SPACE_SHARED, c->span);
    return true;
}
