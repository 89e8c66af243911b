/* The sizes of tiles that a kernel's shape suggests: what each of its ranges does, and the size that follows. */
#include "schedule/propose.h"
#include "schedule/lanes_fragment.h"

enum { CHAIN_TILE = 64 };

typedef struct array_access {
    index_expr **indices;
    int rank;
    bool store;
} array_access;

typedef struct walk {
    range_survey *s;
    unsigned char *seen; /* by value id */
    const matrix_table *matrices;
    VEC(array_access) accesses;
} walk;

static bool only_in(const tile_value *x, const tile_value *y, const tile_range *r) {
    return tile_has_axis(x, r) && !tile_has_axis(y, r);
}

static void survey_access(walk *w, index_expr **indices, int rank, bool store) {
    range_survey *s = w->s;
    VEC_PUSH(s->arena, w->accesses, ((array_access){indices, rank, store}));
    for (int i = 0; rank > 0 && i < s->k->ranges.count; i++)
        for (int d = 0; d < rank; d++)
            if (ix_mentions(indices[d], s->k->ranges.at[i]->var))
                *(d == rank - 1 ? &s->roles[i].contiguous : &s->roles[i].strided) = true;
}

/* The last index goes along r, or another of them does. */
static bool goes_along(const array_access *x, const tile_range *r, bool last) {
    for (int d = last ? x->rank - 1 : 0; d >= 0 && d < (last ? x->rank : x->rank - 1); d++)
        if (ix_mentions(x->indices[d], r->var))
            return true;
    return false;
}

/* Ranges of the task along which one side of a transpose is contiguous, and the other is not. */
static void find_turned(walk *w) {
    range_survey *s = w->s;
    const tile_kernel *k = s->k;
    for (int i = 0; i < w->accesses.count; i++)
        for (int j = 0; j < w->accesses.count; j++) {
            const array_access *to = &w->accesses.at[i], *from = &w->accesses.at[j];
            for (int n = 0; to->store && !from->store && n < k->task.count * k->task.count; n++) {
                const tile_range *a = k->task.at[n / k->task.count], *b = k->task.at[n % k->task.count];
                if (a != b && goes_along(to, a, true) && goes_along(to, b, false) && goes_along(from, b, true) &&
                    goes_along(from, a, false))
                    s->roles[a->id].turned = s->roles[b->id].turned = true;
            }
        }
}

static bool is_one(const tile_range *r) {
    int64_t size;
    return ix_is_const(r->size, &size) && size == 1;
}

bool product_is_two_sided(const tile_value *v) {
    const tile_value *x = v->operands[0], *y = v->operands[1];
    bool left = false, right = false;
    for (int i = 0; i < v->axis_count; i++) {
        left = left || (only_in(x, y, v->axes[i]) && !is_one(v->axes[i]));
        right = right || (only_in(y, x, v->axes[i]) && !is_one(v->axes[i]));
    }
    return left && right;
}

static int widest_load(const tile_value *v, unsigned char *seen) {
    if (seen[v->id]++)
        return 0;
    int most = v->op == TILE_LOAD ? element_table[v->array->type].block_bytes : 0;
    for (int i = 0; i < v->operand_count; i++) {
        int inner = widest_load(v->operands[i], seen);
        most = inner > most ? inner : most;
    }
    return most;
}

static void survey_value(walk *w, const tile_value *v) {
    range_survey *s = w->s;
    if (w->seen[v->id]++)
        return;
    if (v->op == TILE_LOAD)
        survey_access(w, v->indices, v->array->rank, false);
    if (v->range)
        s->roles[v->range->id].reduced = true;
    if (v->op == TILE_DOT) {
        const tile_value *x = v->operands[0], *y = v->operands[1];
        bool two_sided = product_is_two_sided(v);
        s->matrix_types = s->matrix_types || (two_sided && matrix_row_of(w->matrices, x->type, accumulator_type(v)));
        for (int i = 0; i < v->axis_count; i++) {
            range_role *role = &s->roles[v->axes[i]->id];
            role->product_rows = role->product_rows || (two_sided && only_in(x, y, v->axes[i]));
            role->product_columns = role->product_columns || (two_sided && only_in(y, x, v->axes[i]));
            role->vector_rows = role->vector_rows || !two_sided;
        }
        for (int i = 0; i < v->contract_count; i++) {
            s->roles[v->contract[i]->id].contracted = true;
            s->roles[v->contract[i]->id].bytes = widest_load(v, NEW_ARRAY(s->arena, unsigned char, s->k->value_count));
            if (two_sided)
                s->roles[v->contract[i]->id].contracted_twice_sided = true;
        }
    }
    for (int i = 0; i < v->operand_count; i++)
        survey_value(w, v->operands[i]);
}

static void survey_block(walk *w, const tile_block *b, const tile_range *loop) {
    range_survey *s = w->s;
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *t = b->items.at[i];
        if (t->value)
            survey_value(w, t->value);
        if (t->kind == TILE_STMT_JOIN) {
            for (int f = 0; f < t->variable->field_count; f++)
                survey_value(w, t->values[f]);
            if (loop)
                s->roles[loop->id].joined = true;
        }
        if (t->kind == TILE_STMT_STORE)
            survey_access(w, t->indices, t->array->rank, true);
        if (t->kind == TILE_STMT_LOOP)
            survey_block(w, &t->body, t->range);
    }
}

range_survey survey_ranges(arena *a, const tile_kernel *k, const matrix_table *matrices) {
    range_survey s = {.arena = a, .k = k, .roles = NEW_ARRAY(a, range_role, k->ranges.count)};
    walk w = {.s = &s, .seen = NEW_ARRAY(a, unsigned char, k->value_count), .matrices = matrices};
    survey_block(&w, &k->body, NULL);
    find_turned(&w);
    for (int i = 0; i < k->ranges.count; i++)
        s.chains = s.chains || (s.roles[i].joined && s.roles[i].contracted_twice_sided && s.roles[i].product_columns);
    int wide = 0;
    for (int i = 0; i < k->task.count; i++)
        wide += !is_one(k->task.at[i]) && !k->task.at[i]->whole;
    s.several_wide = wide > 1;
    return s;
}

int64_t proposed_for_task(const range_survey *s, const tile_range *r) {
    const range_role *role = &s->roles[r->id];
    if (role->joined) /* along memory: a state is joined once for many elements */
        return role->contiguous && !role->strided && !role->contracted ? 1024 : 64;
    if (role->contracted)
        return role->contracted_twice_sided ? 256 : 1024;
    if (role->product_rows || role->product_columns)
        return role->contiguous ? 256 : 96;
    if (role->vector_rows)
        return r->is_task ? 64 : 16;
    if (role->reduced)
        return 4096;
    if (!r->is_task)
        return 2048;
    if (role->contiguous && role->strided) /* rows with a result of their own, and both sides of a transpose */
        return 32;
    return role->contiguous ? s->several_wide ? 1024 : 8192 : 4;
}

/* Bounds of the range's elements in the condition: lo <= r and r < end. */
typedef struct range_bounds {
    arena *arena;
    const tile_range *r;
    VEC(index_expr *) lo, end;
} range_bounds;

static void bounds_in(range_bounds *b, const cond *c) {
    if (c && c->op == COND_AND) {
        bounds_in(b, c->a);
        bounds_in(b, c->b);
    }
    if (!c || (c->op != COND_LE && c->op != COND_LT))
        return;
    index_expr *one = ix_const(b->arena, 1);
    bool is_end = c->x->op == IX_VAR && c->x->var == b->r->var, is_lo = c->y->op == IX_VAR && c->y->var == b->r->var;
    if (is_end)
        VEC_PUSH(b->arena, b->end, c->op == COND_LT ? c->y : ix_add(b->arena, c->y, one));
    if (is_lo)
        VEC_PUSH(b->arena, b->lo, c->op == COND_LE ? c->x : ix_add(b->arena, c->x, one));
}

/* end - lo, when that is a constant whatever the task is; 0: it isn't. */
static int64_t constant_apart(arena *a, const tile_kernel *k, index_expr *lo, index_expr *end) {
    int64_t by_lo, by_end, apart;
    for (int i = 0; i < k->task.count; i++) {
        index_expr *rest_lo, *rest_end;
        const index_var *v = k->task.at[i]->var;
        if (!ix_coefficient(a, lo, v, &by_lo, &rest_lo) || !ix_coefficient(a, end, v, &by_end, &rest_end) || by_lo != by_end)
            return 0;
        lo = rest_lo;
        end = rest_end;
    }
    return ix_is_const(ix_sub(a, end, lo), &apart) && apart > 0 ? apart : 0;
}

/* The most elements that a task's loop goes over, when its predicate says so by two bounds a constant apart; 0: not known. */
static int64_t loop_span(arena *a, const tile_kernel *k, const tile_stmt *loop) {
    range_bounds b = {.arena = a, .r = loop->range};
    int64_t least = 0;
    bounds_in(&b, loop->predicate);
    for (int i = 0; i < b.lo.count; i++)
        for (int j = 0; j < b.end.count; j++) {
            int64_t apart = constant_apart(a, k, ix_bind_constants(a, b.lo.at[i]), ix_bind_constants(a, b.end.at[j]));
            least = apart && (!least || apart < least) ? apart : least;
        }
    return least;
}

/* Elements of a tile that one subgroup takes of a dealt loop: each has one where a task goes over few. */
static int64_t dealt_tile(const range_survey *s, const tile_stmt *loop, const machine_model *machine) {
    int64_t span = loop_span(s->arena, s->k, loop), size = 8;
    while (size > 1 && span > 0 && size * machine->subgroups > span)
        size /= 2;
    return size;
}

/* Tiles hold a few elements for each thread. */
int64_t proposed_for_threads(const range_survey *s, const tile_range *r, const machine_model *machine, bool matrices) {
    const range_role *role = &s->roles[r->id];
    int64_t threads = (int64_t)machine->subgroup_lanes * machine->subgroups;
    if (matrices && s->chains && (role->joined || (r->is_task && (role->product_rows || role->product_columns))))
        return CHAIN_TILE;
    const tile_stmt *dealt = role->joined ? dealt_loop(s->k) : NULL;
    bool is_dealt = dealt && dealt->range == r; /* a tile is one subgroup's */
    if (role->joined)                           /* along the lanes where memory is */
        return role->contiguous && !role->strided && !role->contracted ? 8 * threads
               : is_dealt                                              ? dealt_tile(s, dealt, machine)
                                                                       : 8 * machine->subgroups;
    bool few = machine->options.tasks == TASKS_FEW;
    if (role->contracted_twice_sided)
        return machine->options.operand_warpgroups   ? SWIZZLED_BYTES / (role->bytes == 1 ? 1 : 2)
               : role->bytes > 2 && role->bytes <= 8 ? 16
                                                     : 32; /* a whole block of block formats */
    if (role->contracted) /* two loads of 16 bytes of f16 are under way in each thread (more leave more of a row to the guarded end), and several of blocks */
        return (role->bytes > 4 ? 32 : 16) * machine->subgroup_lanes * (few ? machine->subgroups : 1);
    if (role->product_rows || role->product_columns)
        return !matrices ? 64 : machine->matrix_tile ? machine->matrix_tile : 128;
    if (role->vector_rows)
        return !r->is_task ? 16 : few ? 1 : machine->subgroups;
    if (role->reduced || !r->is_task)
        return 8 * threads;
    if (role->turned) /* by way of shared memory (lanes_stage.c) */
        return machine->subgroup_lanes;
    return role->contiguous && !role->strided ? 8 * threads : 1;
}
