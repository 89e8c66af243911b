/* Lowering: what an expression needs before loops are made for it: its reductions, its cost, how it would vectorise. */
#include "schedule/lanes_fragment.h"
#include <limits.h>
#include <string.h>

bool is_heavy(const tile_value *v) {
    return v->op == TILE_DOT || v->op == TILE_REDUCE_SUM || v->op == TILE_REDUCE_MAX || v->op == TILE_REDUCE_MIN ||
           v->op == TILE_ARGMAX || v->op == TILE_ARGMIN;
}

int64_t range_capacity(const tile_range *r) {
    int64_t size, extent;
    if (ix_is_const(r->size, &size))
        return ix_is_const(r->extent, &extent) && extent < size ? extent : size;
    return -1;
}

static bool is_kept(lower *l, const tile_value *v) {
    return l->held[v->id] || l->held_scalar[v->id] || lanes_chain_holds(l, v);
}

/* Walks the expression once per node; what is held is a leaf. */
typedef struct walk {
    lower *l;
    unsigned char *seen;
} walk;

static tile_value *join_operand(lower *l, const tile_value *v) {
    return v->op == TILE_PARAM && v->side == 1 ? l->join_right[v->field] : NULL;
}

/* Values that the expression's index expressions use. */
static void index_owners(index_expr *x, void (*f)(void *, tile_value *), void *context) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE)
        f(context, x->var->owner);
    index_owners(x->a, f, context);
    index_owners(x->b, f, context);
}

typedef struct heavy_walk {
    walk w;
    value_list *out;
} heavy_walk;

static void heavy_in(void *context, tile_value *v) {
    heavy_walk *h = context;
    if (h->w.seen[v->id]++ || is_kept(h->w.l, v))
        return;
    if (is_heavy(v)) {
        VEC_PUSH(h->w.l->arena, *h->out, v);
        return;
    }
    tile_value *joined = join_operand(h->w.l, v);
    if (joined)
        heavy_in(h, joined);
    const whole_sum *sum = v->op == TILE_GET ? whole_sum_of(h->w.l, v->variable) : NULL;
    if (sum)
        heavy_in(h, sum->update->value);
    for (int i = 0; i < v->operand_count; i++)
        heavy_in(h, v->operands[i]);
    if (v->op == TILE_LOAD)
        for (int d = 0; d < v->array->rank; d++)
            index_owners(v->indices[d], heavy_in, h);
    if (v->op == TILE_INDEX)
        index_owners(v->index, heavy_in, h);
}

void find_heavy(lower *l, tile_value *v, value_list *out) {
    heavy_walk h = {{l, NEW_ARRAY(l->arena, unsigned char, l->value_count)}, out};
    heavy_in(&h, v);
}

bool is_cheap(lower *l, const tile_value *v) {
    if (is_kept(l, v))
        return true;
    switch (v->op) {
    case TILE_CONST:
    case TILE_INDEX:
    case TILE_SCALAR:
    case TILE_GET:
    case TILE_FIELD:
    case TILE_PARAM: return true;
    case TILE_LOAD: return !v->has_outside;
    case TILE_CONVERT: return is_cheap(l, v->operands[0]);
    default: return false;
    }
}

static bool is_updated(const tile_value *v, void *context) {
    (void)context;
    return v->op == TILE_LOAD && v->array->role == ARRAY_UPDATE;
}

bool value_reads_updated(const lower *l, const tile_value *v) {
    return tile_value_some(v, l->value_count, is_updated, NULL);
}

static bool is_state(const tile_value *v, void *context) {
    return v->op == TILE_GET || v->op == TILE_FIELD || is_updated(v, context);
}

bool value_mentions_state(const lower *l, const tile_value *v) {
    return tile_value_some(v, l->value_count, is_state, NULL);
}

/* ---- expressions without names ---- */

static double parts_of(const tile_value *v, double *parts) {
    if (parts[v->id] > 0)
        return parts[v->id];
    double sum = 1;
    for (int i = 0; !is_heavy(v) && i < v->operand_count; i++)
        sum += parts_of(v->operands[i], parts);
    return parts[v->id] = sum;
}

bool is_long_written_out(const tile_value *v, double *parts) {
    enum { MOST_PARTS = 2000 };
    return parts_of(v, parts) > MOST_PARTS;
}

static bool owner_varies(index_expr *x, const tile_range *r) {
    if (!x)
        return false;
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE && tile_has_axis(x->var->owner, r))
        return true;
    return owner_varies(x->a, r) || owner_varies(x->b, r);
}

bool value_index_varies(const tile_value *load, const tile_range *r) {
    for (int d = 0; d < load->array->rank; d++)
        if (owner_varies(load->indices[d], r))
            return true;
    return false;
}

bool index_mentions_data(const index_expr *x) {
    return x && ((x->op == IX_VAR && x->var->kind == INDEX_VALUE) || index_mentions_data(x->a) || index_mentions_data(x->b));
}

int load_dimension_along(arena *a, const tile_value *load, const tile_range *r) {
    int along = -1;
    for (int d = 0; d < load->array->rank; d++) {
        int64_t coefficient;
        index_expr *rest;
        if (!ix_mentions(load->indices[d], r->var))
            continue;
        if (along >= 0 || !ix_coefficient(a, load->indices[d], r->var, &coefficient, &rest) || coefficient != 1)
            return -1;
        along = d;
    }
    return along;
}

/* An access with these indices along r: +1 unit stride, -2 strided, 0 when it does not vary, INT_MIN when lanes cannot do it. */
static int access_score(lower *l, index_expr **indices, int rank, const tile_range *r) {
    int along = -1;
    for (int d = 0; d < rank; d++) {
        if (owner_varies(indices[d], r))
            return INT_MIN;
        if (!ix_mentions(indices[d], r->var))
            continue;
        int64_t coefficient;
        index_expr *rest, *at = l->unclamped ? index_unclamped(l->arena, indices[d], r->var) : indices[d];
        if (along >= 0 || !ix_coefficient(l->arena, at, r->var, &coefficient, &rest) || coefficient != 1)
            return INT_MIN;
        along = d;
    }
    return along < 0 ? 0 : along == rank - 1 ? 1 : -2;
}

static int add_scores(int x, int y) {
    return x == INT_MIN || y == INT_MIN ? INT_MIN : x + y;
}

static int kept_score(tile_range **axes, int count, const tile_range *r) {
    for (int d = 0; d < count; d++)
        if (axes[d] == r)
            return d == count - 1 ? 1 : -2;
    return 0;
}

static int score(walk *w, tile_value *v, const tile_range *r) {
    lower *l = w->l;
    if (w->seen[v->id]++ || l->held_scalar[v->id])
        return 0;
    if (l->held[v->id])
        return kept_score(l->held_axes[v->id], v->axis_count, r);
    tile_value *joined = join_operand(l, v);
    if (joined)
        return score(w, joined, r);
    int total = 0;
    if (lower_calls_singly(l, v, r))
        return INT_MIN;
    if (v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_PARAM) {
        const tile_variable *x = v->op == TILE_PARAM ? l->join_state : v->variable;
        int f = v->op == TILE_GET ? 0 : v->field;
        /* One that is declared further in has no place yet. */
        tile_range **axes = l->field_axes[x->id] ? l->field_axes[x->id][f] : NULL;
        total = axes || !x->axis_counts[f] ? kept_score(axes, x->axis_counts[f], r) : 0;
    } else if (v->op == TILE_LOAD) {
        total = access_score(l, v->indices, v->array->rank, r);
    } else if (v->op == TILE_INDEX && ix_mentions(v->index, r->var)) {
        int64_t coefficient;
        index_expr *rest;
        if (!ix_coefficient(l->arena, v->index, r->var, &coefficient, &rest) || owner_varies(v->index, r))
            return INT_MIN;
    } else if (v->op == TILE_INDEX && owner_varies(v->index, r)) {
        return INT_MIN;
    }
    for (int i = 0; i < v->operand_count; i++)
        total = add_scores(total, score(w, v->operands[i], r));
    return total;
}

int vector_score(lower *l, tile_value *v, const tile_range *r) {
    walk w = {l, NEW_ARRAY(l->arena, unsigned char, l->value_count)};
    return score(&w, v, r);
}

int store_score(lower *l, index_expr **indices, int rank, const tile_range *r) {
    return access_score(l, indices, rank, r);
}

/* ---- uses of LETs, per statement ---- */

typedef struct use_walk {
    walk w;
} use_walk;

static void use_in(void *context, tile_value *v) {
    walk *w = context;
    if (w->seen[v->id]++)
        return;
    if (v->bound) {
        w->l->uses[v->id]++;
        return;
    }
    for (int i = 0; i < v->operand_count; i++)
        use_in(w, v->operands[i]);
    if (v->op == TILE_LOAD)
        for (int d = 0; d < v->array->rank; d++)
            index_owners(v->indices[d], use_in, w);
    if (v->op == TILE_INDEX)
        index_owners(v->index, use_in, w);
}

static void uses_of(lower *l, tile_value *v) {
    walk w = {l, NEW_ARRAY(l->arena, unsigned char, l->value_count)};
    if (v->bound) { /* the LET's own statement: look inside */
        for (int i = 0; i < v->operand_count; i++)
            use_in(&w, v->operands[i]);
        return;
    }
    use_in(&w, v);
}

static void uses_in_block(lower *l, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LOOP)
            uses_in_block(l, &s->body);
        else if (s->kind == TILE_STMT_VAR)
            for (int f = 0; f < s->variable->field_count; f++)
                uses_of(l, s->variable->empty[f]);
        else if (s->kind == TILE_STMT_JOIN)
            for (int f = 0; f < s->variable->field_count; f++)
                s->values[f]->bound ? (void)l->uses[s->values[f]->id]++ : uses_of(l, s->values[f]);
        else if (s->kind != TILE_STMT_LET && s->value->bound)
            l->uses[s->value->id]++;
        else
            uses_of(l, s->value);
        if (s->kind == TILE_STMT_STORE) {
            walk w = {l, NEW_ARRAY(l->arena, unsigned char, l->value_count)};
            for (int d = 0; d < s->array->rank; d++)
                index_owners(s->indices[d], use_in, &w);
        }
    }
}

void count_uses(lower *l) {
    uses_in_block(l, &l->k->body);
}

/* ---- the shape of a register block ---- */

bool atom_mentions(const atom *a, const tile_range *r) {
    return a->x ? ix_mentions(a->x, r->var) : cond_mentions(a->guard, r->var);
}

/* A predicate relates the two ranges: one of them must be open before the other's loop is made, so they can't be in one block. */
static bool related(lower *l, const tile_range *r, const tile_range *q) {
    for (int i = 0; q && i < l->atoms.count; i++)
        if (atom_mentions(&l->atoms.at[i], r) && atom_mentions(&l->atoms.at[i], q))
            return true;
    return false;
}

/* A predicate relates this result range to a reduced one: then the reduction's bounds differ from element to element. */
static bool bounds_reduction(lower *l, const tile_range *r, const tile_value *heavy) {
    if (related(l, r, heavy->range))
        return true;
    for (int c = 0; c < heavy->contract_count; c++)
        if (related(l, r, heavy->contract[c]))
            return true;
    return false;
}

static bool is_guarded(lower *l, const tile_range *r) {
    for (int i = 0; i < l->atoms.count; i++)
        if (l->atoms.at[i].guard && cond_mentions(l->atoms.at[i].guard, r->var))
            return true;
    return false;
}

/* Every range that the atom mentions is open. */
bool atom_settled(const point *p, const atom *a) {
    const tile_kernel *k = p->l->k;
    for (int i = 0; i < k->ranges.count; i++)
        if (atom_mentions(a, k->ranges.at[i]) && !range_open(p, k->ranges.at[i]))
            return false;
    return true;
}

bool may_vectorise(lower *l, const tile_range *r) {
    int64_t capacity = range_capacity(r);
    /* Fewer elements than half a vector are quicker one by one. */
    return (l->spreads || l->machine->subgroup_lanes || l->machine->vector_lanes > 1) &&
           (capacity < 0 || 2 * capacity >= l->machine->vector_lanes) && !is_guarded(l, r);
}

/* Whether a load in v with an outside value may leave its array along r: an elementwise nest opens vectors only where they are
 * inside, a reduction has no such place. */
static bool leaves_within(lower *l, const tile_value *v, const tile_range *r, unsigned char *seen) {
    if (seen[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return false;
    if (v->op == TILE_PARAM && v->side == 1 && l->join_right && leaves_within(l, l->join_right[v->field], r, seen))
        return true;
    for (int d = 0; v->has_outside && d < v->array->rank; d++)
        if (ix_mentions(v->indices[d], r->var) && !(v->indices[d]->op == IX_VAR && ix_equal(r->extent, v->array->dims[d])))
            return true;
    for (int i = 0; i < v->operand_count; i++)
        if (leaves_within(l, v->operands[i], r, seen))
            return true;
    return false;
}

bool leaves_along(lower *l, const tile_value *v, const tile_range *r) {
    return leaves_within(l, v, r, NEW_ARRAY(l->arena, unsigned char, l->value_count));
}

static int operand_score(lower *l, const tile_value *heavy, const tile_range *r) {
    int total = 0;
    for (int i = 0; i < heavy->operand_count; i++) {
        if (leaves_along(l, heavy->operands[i], r))
            return INT_MIN;
        total = add_scores(total, vector_score(l, heavy->operands[i], r));
    }
    return total;
}

static int limited(int64_t capacity, int64_t most) {
    return (int)(capacity < 0 || capacity > most ? most : capacity);
}

/* Rows of a block that is so many vectors wide, for 32 registers: sums, a vector each of the one operand, and one of the other. */
enum { WIDEST_BLOCK = 4 };
static const int block_rows[WIDEST_BLOCK + 1] = {0, 12, 12, 8, 6};

reduction_shape choose_reduction_shape(lower *l, tile_range **axes, int axis_count, const tile_value *heavy) {
    reduction_shape shape = {.vectors = 1, .unroll = {1, 1}};
    if (heavy->op == TILE_ARGMAX || heavy->op == TILE_ARGMIN)
        return shape;
    int best = 0;
    /* Result ranges first: their lanes need no final reduction, so an equal score prefers them. */
    for (int i = 0; i < axis_count; i++) {
        tile_range *r = axes[i];
        if (!may_vectorise(l, r) || bounds_reduction(l, r, heavy))
            continue;
        int x = operand_score(l, heavy, r);
        if (x > best) {
            best = x;
            shape.vector = r;
        }
    }
    for (int c = -1; c < heavy->contract_count; c++) {
        tile_range *r = c < 0 ? heavy->range : heavy->contract[c];
        if (!r || !may_vectorise(l, r))
            continue;
        int x = operand_score(l, heavy, r);
        if (x > best) {
            best = x;
            shape.vector = r;
            shape.vector_reduced = true;
        }
    }
    /* Result ranges that only one operand varies along are worth blocking: the other operand is loaded once per block. */
    int found = 0;
    for (int i = axis_count - 1; i >= 0 && found < 2; i--) {
        tile_range *r = axes[i];
        if (r == shape.vector || range_capacity(r) == 1 || is_guarded(l, r) || bounds_reduction(l, r, heavy) ||
            related(l, r, shape.vector) || related(l, r, shape.unrolled[0]))
            continue;
        bool varies[2] = {false, false};
        for (int o = 0; o < heavy->operand_count; o++)
            varies[o] = tile_has_axis(heavy->operands[o], r);
        if (heavy->op != TILE_DOT || varies[0] == varies[1])
            continue;
        shape.unrolled[found++] = r;
        if (!shape.vector_reduced && shape.vector)
            break;
    }
    bool wide = l->machine->vector_registers >= 32;
    int64_t lanes = l->machine->vector_lanes;
    if (shape.vector && !shape.vector_reduced) {
        int64_t capacity = range_capacity(shape.vector);
        const bool fitted = wide && l->machine->options.halved_edges; /* rows fill the registers */
        shape.vectors = limited(capacity < 0 ? -1 : (capacity + lanes - 1) / lanes, wide ? 4 : 2);
        if (found)
            shape.unroll[0] = limited(range_capacity(shape.unrolled[0]), fitted ? block_rows[shape.vectors] : 6);
    } else if (shape.vector) {
        shape.vectors = found == 2 ? 1 : found == 1 ? 2 : 4;
        for (int i = 0; i < found; i++)
            shape.unroll[i] = limited(range_capacity(shape.unrolled[i]), 4);
    }
    return shape;
}
