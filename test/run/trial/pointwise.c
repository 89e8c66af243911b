#include "pointwise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_AXES = 24 };

/* The elements of a tile, over the ranges in `axes`, laid out row-major over the extents that those ranges have in the current tile. */
typedef struct cells {
    tile_range **axes;
    int axis_count;
    double *at;
} cells;

typedef struct machine {
    const trial_case *c;
    trial_memory *m;
    const pointwise_faults *faults;
    const char *why;
    int64_t *lo, *hi;        /* by range id: the current tile */
    int64_t *index;          /* by range id: the current element */
    const tile_stmt **loops; /* enclosing loops, for their predicates */
    int depth;
    cells *lets;             /* by value id */
    cells *fields;           /* by variable id * MAX_FIELDS + field */
    const double *params[2]; /* join: the fields of both sides at this element */
} machine;

enum { MAX_FIELDS = 16 };

static double evaluate(machine *w, const tile_value *v);

static bool look_up(void *context, const index_var *v, int64_t *value) {
    machine *w = context;
    if (v->kind == INDEX_RANGE) {
        const tile_range *r = v->owner;
        *value = w->index[r->id];
        return true;
    }
    if (v->kind == INDEX_VALUE && v->owner) {
        *value = (int64_t)evaluate(w, v->owner);
        return true;
    }
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    for (int i = 0; i < w->c->kernel->symbols.count; i++)
        if (w->c->kernel->symbols.at[i] == v) {
            *value = w->c->symbols[i];
            return true;
        }
    for (int i = 0; i < w->c->kernel->scalars.count; i++)
        if (w->c->kernel->scalars.at[i]->var == v) {
            *value = (int64_t)w->c->scalars[w->c->kernel->scalars.at[i]->id];
            return true;
        }
    w->why = "a name has no value";
    return false;
}

static int64_t integer(machine *w, const index_expr *x) {
    int64_t value = 0;
    if (!ix_eval(x, look_up, w, &value))
        w->why = "an index expression has no value";
    return value;
}

/* Whether the current elements of `ranges` exist: the predicates of the loops over them hold. */
static bool exists(machine *w, tile_range **ranges, int count) {
    for (int i = 0; i < w->depth; i++) {
        bool holds = true, walked = false;
        for (int r = 0; r < count; r++)
            walked = walked || ranges[r] == w->loops[i]->range;
        if (walked && w->loops[i]->predicate && (!cond_eval(w->loops[i]->predicate, look_up, w, &holds) || !holds))
            return false;
    }
    return true;
}

static double rounded(element_type t, double x) {
    switch (t) {
    case ELEMENT_F32: return (double)(float)x;
    case ELEMENT_F16: return f16_to_f32(f32_to_f16((float)x));
    case ELEMENT_BF16: return bf16_to_f32(f32_to_bf16((float)x));
    case ELEMENT_I32: return (double)(int32_t)(uint32_t)(int64_t)x;
    case ELEMENT_U32: return (double)(uint32_t)(int64_t)x;
    default: return x;
    }
}

static int64_t wrapped(element_type t, int64_t x) {
    return t == ELEMENT_U32 ? (int64_t)(uint32_t)x : t == ELEMENT_I32 ? (int64_t)(int32_t)(uint32_t)x : x;
}

static double maximum(double x, double y) {
    return isnan(x) ? y : isnan(y) ? x : x > y ? x : y;
}

static double minimum(double x, double y) {
    return isnan(x) ? y : isnan(y) ? x : x < y ? x : y;
}

static size_t place(const machine *w, const cells *c) {
    size_t at = 0;
    for (int i = 0; i < c->axis_count; i++) {
        int r = c->axes[i]->id;
        at = at * (size_t)(w->hi[r] - w->lo[r]) + (size_t)(w->index[r] - w->lo[r]);
    }
    return at;
}

static double load(machine *w, const tile_value *v) {
    const tile_array *a = v->array;
    int64_t flat = 0;
    bool ok = true;
    for (int d = 0; d < a->rank; d++) {
        int64_t i = integer(w, v->indices[d]), n = trial_evaluate(w->c, a->dims[d], &ok);
        if (i < 0 || i >= n) {
            if (v->has_outside)
                return evaluate(w, v->operands[0]);
            w->why = "a load leaves its array";
            return 0;
        }
        flat = flat * n + i;
    }
    /* Update arrays are read before their own write, so the device's memory still holds the old value then. */
    return element_load(a->type, w->m->memory[a->id], flat);
}

static double sum_step(machine *w, element_type t, double total, double x) {
    if (t == ELEMENT_F32)
        return w->faults->half_accumulator ? rounded(ELEMENT_F16, total + x) : rounded(ELEMENT_F32, total + x);
    if (t == ELEMENT_F16)
        return rounded(ELEMENT_F16, total + x);
    return (double)wrapped(t, (int64_t)total + (int64_t)x);
}

typedef void step(machine *w, void *context);

static void walk_ranges(machine *w, tile_range **ranges, int count, int at, step *visit, void *context) {
    if (w->why)
        return;
    if (at == count) {
        if (exists(w, ranges, count))
            visit(w, context);
        return;
    }
    int r = ranges[at]->id;
    int64_t saved = w->index[r], lo = w->lo[r], hi = w->hi[r];
    for (int64_t i = lo; i < hi; i++) {
        w->index[r] = w->faults->reversed ? hi - 1 - (i - lo) : i;
        walk_ranges(w, ranges, count, at + 1, visit, context);
    }
    w->index[r] = saved;
}

/* Walks the existing elements of the ranges in their current tiles, calling back for each. */
static void for_each(machine *w, tile_range **ranges, int count, step *visit, void *context) {
    walk_ranges(w, ranges, count, 0, visit, context);
}

typedef struct reduction {
    const tile_value *v;
    double value, best;
    bool found;
} reduction;

static void reduce_step(machine *w, void *context) {
    reduction *r = context;
    const tile_value *v = r->v;
    double x = evaluate(w, v->operands[0]);
    switch (v->op) {
    case TILE_DOT: {
        double y = evaluate(w, v->operands[1]);
        element_type t = v->accumulator;
        if (t == ELEMENT_F32 || t == ELEMENT_F16)
            r->value = sum_step(w, t, r->value, rounded(ELEMENT_F32, x * y));
        else
            r->value = (double)wrapped(t, (int64_t)r->value + (int64_t)x * (int64_t)y);
        break;
    }
    case TILE_REDUCE_SUM: r->value = sum_step(w, v->type, r->value, x); break;
    case TILE_REDUCE_MAX: r->value = maximum(r->value, x); break;
    case TILE_REDUCE_MIN: r->value = minimum(r->value, x); break;
    default: { /* argmax, argmin: the lowest index that holds the extreme value */
        int64_t at = w->index[v->range->id];
        if (isnan(x))
            break;
        bool better = v->op == TILE_ARGMAX ? x > r->best : x < r->best;
        if (!r->found || better || (x == r->best && at < (int64_t)r->value)) {
            r->found = true;
            r->best = x;
            r->value = (double)at;
        }
        break;
    }
    }
}

static double identity(const tile_value *v) {
    bool integers = v->type == ELEMENT_I32 || v->type == ELEMENT_U32;
    if (v->op == TILE_REDUCE_MAX)
        return !integers ? -INFINITY : v->type == ELEMENT_I32 ? INT32_MIN : 0;
    if (v->op == TILE_REDUCE_MIN)
        return !integers ? INFINITY : v->type == ELEMENT_I32 ? INT32_MAX : (double)UINT32_MAX;
    return 0;
}

static double convert(const tile_value *v, double x) {
    switch (v->type) {
    case ELEMENT_E4M3: return e4m3_to_f32(f32_to_e4m3((float)x, v->saturate));
    case ELEMENT_E5M2: return e5m2_to_f32(f32_to_e5m2((float)x, v->saturate));
    case ELEMENT_I32:
    case ELEMENT_U32:
    case ELEMENT_I8:
    case ELEMENT_U8: {
        element_type from = v->operands[0]->type;
        if (!element_table[from].is_float && (v->type == ELEMENT_I32 || v->type == ELEMENT_U32))
            return (double)wrapped(v->type, (int64_t)x);
        double lo = v->type == ELEMENT_I32 ? INT32_MIN : v->type == ELEMENT_I8 ? -128 : 0;
        double hi = v->type == ELEMENT_I32   ? INT32_MAX
                    : v->type == ELEMENT_U32 ? (double)UINT32_MAX
                    : v->type == ELEMENT_I8  ? 127
                                             : 255;
        return isnan(x) ? 0 : x < lo ? lo : x > hi ? hi : trunc(x);
    }
    default: return rounded(v->type, x);
    }
}

static double compute(machine *w, const tile_value *v) {
    double x = 0, y = 0;
    bool integers = v->type == ELEMENT_I32 || v->type == ELEMENT_U32 || v->type == ELEMENT_INDEX;
    switch (v->op) {
    case TILE_CONST: return v->number;
    case TILE_INDEX: return (double)integer(w, v->index);
    case TILE_SCALAR: return w->c->scalars[v->scalar->id];
    case TILE_PARAM: return w->params[v->side][v->field];
    case TILE_GET:
    case TILE_FIELD: {
        const cells *c = &w->fields[v->variable->id * MAX_FIELDS + (v->op == TILE_FIELD ? v->field : 0)];
        return c->at ? c->at[place(w, c)] : 0;
    }
    case TILE_LOAD: return load(w, v);
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN: {
        reduction r = {v, identity(v), 0, false};
        tile_range *range = v->range;
        for_each(w, &range, 1, reduce_step, &r);
        return r.value;
    }
    case TILE_DOT: {
        reduction r = {v, 0, 0, false};
        for_each(w, v->contract, v->contract_count, reduce_step, &r);
        return r.value;
    }
    case TILE_SELECT: return evaluate(w, v->operands[evaluate(w, v->operands[0]) != 0 ? 1 : 2]);
    default: break;
    }
    x = evaluate(w, v->operands[0]);
    if (v->operand_count > 1)
        y = evaluate(w, v->operands[1]);
    int64_t i = integers && isfinite(x) ? (int64_t)x : 0, j = integers && isfinite(y) ? (int64_t)y : 0;
    switch (v->op) {
    case TILE_NEG: return integers ? (double)wrapped(v->type, -i) : -x;
    case TILE_ABS: return integers ? (double)wrapped(v->type, i < 0 ? -i : i) : fabs(x);
    case TILE_ADD: return integers ? (double)wrapped(v->type, i + j) : rounded(v->type, x + y);
    case TILE_SUB: return integers ? (double)wrapped(v->type, i - j) : rounded(v->type, x - y);
    case TILE_MUL: return integers ? (double)wrapped(v->type, (int64_t)((uint64_t)i * (uint64_t)j)) : rounded(v->type, x * y);
    case TILE_DIV: return rounded(v->type, x / y);
    case TILE_SHL: return (double)wrapped(v->type, (int64_t)((uint64_t)i << (j & 31)));
    case TILE_SHR: return v->type == ELEMENT_I32 ? (double)((int32_t)i >> (j & 31)) : (double)((uint32_t)i >> (j & 31));
    case TILE_BIT_AND: return (double)wrapped(v->type, i & j);
    case TILE_BIT_OR: return (double)wrapped(v->type, i | j);
    case TILE_BIT_XOR: return (double)wrapped(v->type, i ^ j);
    case TILE_INTRINSIC: /* the generator's only one, `mixed` */
        return (double)wrapped(v->type, (int64_t)(i ^ (int32_t)((uint32_t)j << 3)) + ((int32_t)j >> 2));
    case TILE_MIN: return minimum(x, y);
    case TILE_MAX: return maximum(x, y);
    case TILE_LT: return x < y;
    case TILE_LE: return x <= y;
    case TILE_EQ: return x == y;
    case TILE_NE: return x != y;
    case TILE_AND: return x != 0 && y != 0;
    case TILE_OR: return x != 0 || y != 0;
    case TILE_NOT: return x == 0;
    case TILE_FLOOR: return floor(x);
    case TILE_SQRT: return rounded(v->type, sqrt(x));
    case TILE_RSQRT: return rounded(v->type, 1 / sqrt(x));
    case TILE_EXP: return rounded(v->type, exp(x));
    case TILE_LOG: return rounded(v->type, log(x));
    case TILE_TANH: return rounded(v->type, tanh(x));
    case TILE_ERF: return rounded(v->type, erf(x));
    case TILE_SIN: return rounded(v->type, sin(x));
    case TILE_COS: return rounded(v->type, cos(x));
    case TILE_CONVERT: return convert(v, x);
    default: w->why = "an operation is not covered"; return 0;
    }
}

static double evaluate(machine *w, const tile_value *v) {
    if (w->why)
        return 0;
    if (v->bound && w->lets[v->id].at)
        return w->lets[v->id].at[place(w, &w->lets[v->id])];
    return compute(w, v);
}

static double *tile_cells(machine *w, cells *c, tile_range **axes, int count) {
    size_t n = 1;
    for (int i = 0; i < count; i++)
        n *= (size_t)(w->hi[axes[i]->id] - w->lo[axes[i]->id]);
    free(c->at);
    c->axes = axes;
    c->axis_count = count;
    c->at = calloc(n + 1, sizeof *c->at);
    return c->at;
}

typedef struct filling {
    cells *to;
    const tile_value *v;
    const tile_stmt *s;
    double *fresh; /* joins: where the new cells go, the old ones being read meanwhile */
    int field;
    cells *right; /* joins: the new part's fields */
} filling;

static void fill_step(machine *w, void *context) {
    filling *f = context;
    double x = evaluate(w, f->v);
    f->to->at[place(w, f->to)] = x;
}

static void update_step(machine *w, void *context) {
    filling *f = context;
    double x = evaluate(w, f->v), *cell = &f->to->at[place(w, f->to)];
    element_type t = f->s->variable->types[0];
    *cell = f->s->update == TILE_MAX   ? maximum(*cell, x)
            : f->s->update == TILE_MIN ? minimum(*cell, x)
                                       : sum_step(w, t, *cell, x);
}

static void join_step(machine *w, void *context) {
    filling *f = context;
    const tile_variable *v = f->s->variable;
    double left[MAX_FIELDS] = {0}, right[MAX_FIELDS] = {0};
    for (int i = 0; i < v->field_count; i++) {
        /* A join reads the fields whose axes this field has too. */
        bool narrower = true;
        for (int a = 0; a < v->axis_counts[i] && narrower; a++) {
            narrower = false;
            for (int b = 0; b < f->to->axis_count; b++)
                narrower = narrower || f->to->axes[b] == v->axes[i][a];
        }
        if (narrower) {
            cells *l = &w->fields[v->id * MAX_FIELDS + i];
            left[i] = l->at[place(w, l)];
            right[i] = f->right[i].at[place(w, &f->right[i])];
        }
    }
    const double *saved[2] = {w->params[0], w->params[1]};
    w->params[0] = left;
    w->params[1] = right;
    double joined = evaluate(w, v->join[f->field]);
    if (w->faults->half_accumulator && v->types[f->field] == ELEMENT_F32)
        joined = rounded(ELEMENT_F16, joined);
    f->fresh[place(w, f->to)] = joined;
    w->params[0] = saved[0];
    w->params[1] = saved[1];
}

static void run_join(machine *w, const tile_stmt *s) {
    const tile_variable *v = s->variable;
    cells right[MAX_FIELDS] = {{0}}, fresh[MAX_FIELDS] = {{0}};
    for (int i = 0; i < v->field_count; i++) {
        filling f = {.to = &right[i], .v = s->values[i]};
        tile_cells(w, &right[i], v->axes[i], v->axis_counts[i]);
        for_each(w, v->axes[i], v->axis_counts[i], fill_step, &f);
    }
    for (int i = 0; i < v->field_count; i++) {
        tile_cells(w, &fresh[i], v->axes[i], v->axis_counts[i]);
        filling f = {.to = &w->fields[v->id * MAX_FIELDS + i], .s = s, .fresh = fresh[i].at, .field = i, .right = right};
        for_each(w, v->axes[i], v->axis_counts[i], join_step, &f);
    }
    for (int i = 0; i < v->field_count; i++) {
        free(right[i].at);
        free(w->fields[v->id * MAX_FIELDS + i].at);
        w->fields[v->id * MAX_FIELDS + i] = fresh[i];
    }
}

static void store_step(machine *w, void *context) {
    filling *f = context;
    const tile_array *a = f->s->array;
    int64_t flat = 0;
    bool ok = true;
    for (int d = 0; d < a->rank; d++) {
        int64_t i = integer(w, f->s->indices[d]), n = trial_evaluate(w->c, a->dims[d], &ok);
        if (i < 0 || i >= n) {
            w->why = "a store leaves its array";
            return;
        }
        flat = flat * n + i;
    }
    double x = evaluate(w, f->v);
    if (!w->why)
        element_store(a->type, w->m->memory[a->id], flat, x);
}

static void collect_ranges(const index_expr *x, tile_range **out, int *count) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_RANGE) {
        for (int i = 0; i < *count; i++)
            if (out[i] == x->var->owner)
                return;
        if (*count < MAX_AXES)
            out[(*count)++] = x->var->owner;
        return;
    }
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE && x->var->owner) {
        const tile_value *v = x->var->owner;
        for (int i = 0; i < v->axis_count; i++) {
            index_expr e = {.op = IX_VAR, .var = v->axes[i]->var};
            collect_ranges(&e, out, count);
        }
        return;
    }
    collect_ranges(x->a, out, count);
    collect_ranges(x->b, out, count);
}

static void run_block(machine *w, const tile_block *b);

static void run_stmt(machine *w, const tile_stmt *s) {
    filling f = {.s = s, .v = s->value};
    switch (s->kind) {
    case TILE_STMT_LET:
        f.to = &w->lets[s->value->id];
        free(f.to->at);
        f.to->at = NULL;
        {
            /* Filled aside: while the cells are being computed the value has no cells to read from. */
            cells fresh = {0};
            tile_cells(w, &fresh, s->value->axes, s->value->axis_count);
            f.to = &fresh;
            for_each(w, s->value->axes, s->value->axis_count, fill_step, &f);
            w->lets[s->value->id] = fresh;
        }
        break;
    case TILE_STMT_VAR:
        for (int i = 0; i < s->variable->field_count; i++) {
            f.to = &w->fields[s->variable->id * MAX_FIELDS + i];
            tile_cells(w, f.to, s->variable->axes[i], s->variable->axis_counts[i]);
            f.v = s->variable->empty[i];
            for_each(w, s->variable->axes[i], s->variable->axis_counts[i], fill_step, &f);
        }
        break;
    case TILE_STMT_UPDATE:
        f.to = &w->fields[s->variable->id * MAX_FIELDS];
        for_each(w, s->variable->axes[0], s->variable->axis_counts[0], update_step, &f);
        break;
    case TILE_STMT_JOIN: run_join(w, s); break;
    case TILE_STMT_STORE: {
        tile_range *ranges[MAX_AXES];
        int count = 0;
        for (int d = 0; d < s->array->rank; d++)
            collect_ranges(s->indices[d], ranges, &count);
        for_each(w, ranges, count, store_step, &f);
        break;
    }
    case TILE_STMT_LOOP: {
        bool ok = true;
        int r = s->range->id;
        int64_t extent = integer(w, s->range->extent), size = trial_evaluate(w->c, s->range->size, &ok);
        if (w->faults->drop_last)
            extent--;
        if (size < 1)
            size = extent > 0 ? extent : 1;
        w->loops[w->depth++] = s;
        int64_t trips = extent > 0 ? (extent + size - 1) / size : 0;
        for (int64_t t = 0; t < trips && !w->why; t++) {
            int64_t lo = (w->faults->reversed ? trips - 1 - t : t) * size;
            w->lo[r] = lo;
            w->hi[r] = lo + size < extent ? lo + size : extent;
            w->index[r] = lo;
            run_block(w, &s->body);
        }
        w->depth--;
        break;
    }
    }
}

static void run_block(machine *w, const tile_block *b) {
    for (int i = 0; i < b->items.count && !w->why; i++)
        run_stmt(w, b->items.at[i]);
}

static void run_tasks(machine *w, int dim) {
    const tile_kernel *k = w->c->kernel;
    if (dim == k->task.count) {
        run_block(w, &k->body);
        return;
    }
    bool ok = true;
    const tile_range *r = k->task.at[dim];
    int64_t extent = trial_evaluate(w->c, r->extent, &ok), size = trial_evaluate(w->c, r->size, &ok);
    if (!ok) {
        w->why = "a task range has no extent";
        return;
    }
    if (size < 1)
        size = 1;
    for (int64_t lo = 0; lo < extent && !w->why; lo += size) {
        w->lo[r->id] = w->index[r->id] = lo;
        w->hi[r->id] = lo + size < extent ? lo + size : extent;
        run_tasks(w, dim + 1);
    }
}

bool pointwise_run(const trial_case *c, trial_memory *m, const pointwise_faults *faults, const char **why) {
    const tile_kernel *k = c->kernel;
    machine w = {.c = c, .m = m, .faults = faults};
    size_t ranges = (size_t)k->ranges.count + 1, variables = (size_t)k->variables.count * MAX_FIELDS + 1;
    w.lo = calloc(ranges, sizeof *w.lo);
    w.hi = calloc(ranges, sizeof *w.hi);
    w.index = calloc(ranges, sizeof *w.index);
    w.loops = calloc(ranges, sizeof *w.loops);
    w.lets = calloc((size_t)k->value_count + 1, sizeof *w.lets);
    w.fields = calloc(variables, sizeof *w.fields);
    for (int i = 0; i < k->variables.count; i++)
        if (k->variables.at[i]->field_count > MAX_FIELDS)
            w.why = "a state has many fields";
    /* Ranges that are neither task ranges nor loops (a slice fixes them) hold their one element. */
    bool ok = true;
    for (int i = 0; i < k->ranges.count; i++)
        w.hi[k->ranges.at[i]->id] = trial_evaluate(c, k->ranges.at[i]->extent, &ok);
    if (!w.why)
        run_tasks(&w, 0);
    *why = w.why;
    for (int i = 0; i < k->value_count; i++)
        free(w.lets[i].at);
    for (size_t i = 0; i < variables; i++)
        free(w.fields[i].at);
    free(w.lo);
    free(w.hi);
    free(w.index);
    free(w.loops);
    free(w.lets);
    free(w.fields);
    return !w.why;
}
