/* Lowering: sums that never leave registers. A variable to which one loop adds a product, and which one store reads, is that product's total in the store's own nest, where the loop
 * makes one trip: its range has no more elements than a tile, which the plan then asks of a launch. Each sum is what it is by way of private memory, to the bit. */
#include "schedule/lower.h"
#include <inttypes.h>

typedef struct reading {
    const tile_variable *of; /* or, NULL: */
    const tile_array *array;
} reading;

static bool is_reading(const tile_value *v, void *context) {
    const reading *r = context;
    return r->of ? (v->op == TILE_GET || v->op == TILE_FIELD) && v->variable == r->of
                 : v->op == TILE_LOAD && v->array == r->array;
}

static bool is_reduction(const tile_value *v, void *unused) {
    (void)unused;
    return is_heavy(v);
}

static bool reads_variable(const tile_kernel *k, const tile_stmt *s, const tile_variable *x) {
    reading r = {.of = x};
    tile_block one = {.items = {.at = (tile_stmt **)&s, .count = 1}};
    return tile_block_some(&one, k->value_count, is_reading, &r);
}

static bool reads_array(const tile_kernel *k, const tile_value *v, const tile_array *array) {
    reading r = {.array = array};
    return tile_value_some(v, k->value_count, is_reading, &r);
}

/* The loop's only update, behind LETs: x += a product summed over the loop's range. */
static const tile_stmt *added_product(const tile_stmt *loop, const tile_variable *x) {
    const int count = loop->body.items.count;
    const tile_stmt *s = count ? loop->body.items.at[count - 1] : NULL;
    for (int i = 0; i < count - 1; i++)
        if (loop->body.items.at[i]->kind != TILE_STMT_LET)
            return NULL;
    const bool fits = s && s->kind == TILE_STMT_UPDATE && s->variable == x && s->update == TILE_ADD && !loop->predicate &&
                      s->value->op == TILE_DOT && product_is_two_sided(s->value) && s->value->contract_count == 1 &&
                      s->value->contract[0] == loop->range && s->value->accumulator != ELEMENT_F16;
    return fits ? s : NULL;
}

static bool find_at(const tile_kernel *k, int at, whole_sum *out) {
    const tile_block *b = &k->body;
    const tile_variable *x = b->items.at[at]->kind == TILE_STMT_VAR ? b->items.at[at]->variable : NULL;
    *out = (whole_sum){.variable = x};
    if (!x || x->combine || x->field_count != 1 || tile_value_some(x->empty[0], k->value_count, is_reduction, NULL))
        return false;
    for (int i = at + 1; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (!out->loop && s->kind == TILE_STMT_LOOP && (out->update = added_product(s, x))) {
            out->loop = s;
            reading r = {.of = x};
            if (tile_value_some(out->update->value, k->value_count, is_reading, &r))
                return false;
            continue;
        }
        const bool reads = reads_variable(k, s, x);
        if (!out->loop && (reads || (s->kind != TILE_STMT_LET && s->kind != TILE_STMT_VAR)))
            return false;
        if (!out->loop || (out->store && !reads) || (s->kind == TILE_STMT_LET && !out->store))
            continue;
        const bool by_call =
            s->kind == TILE_STMT_STORE && s->value->op == TILE_INTRINSIC && intrinsic_is_store(s->value->intrinsic);
        if (out->store || s->kind != TILE_STMT_STORE || !reads || by_call)
            return false; /* read twice, or something happens between the sum and its store */
        out->store = s;
    }
    return out->store && !reads_array(k, out->update->value, out->store->array);
}

bool sums_have_store(const tile_kernel *k) {
    whole_sum f;
    for (int i = 0; i < k->body.items.count; i++)
        if (find_at(k, i, &f))
            return true;
    return false;
}

/* ---- the lowering ---- */

const whole_sum *whole_sum_of(const lower *l, const tile_variable *x) {
    for (int i = 0; i < l->whole_sums.count; i++)
        if (l->whole_sums.at[i].variable == x)
            return &l->whole_sums.at[i];
    return NULL;
}

static bool is_other_reduction(lower *l, const whole_sum *f) {
    value_list heavy = {0};
    find_heavy(l, f->store->value, &heavy);
    return heavy.count != 1 || heavy.at[0] != f->update->value;
}

static bool is_function(const tile_value *v, void *unused) {
    (void)unused;
    switch (v->op) {
    case TILE_EXP:
    case TILE_LOG:
    case TILE_TANH:
    case TILE_ERF:
    case TILE_SIN:
    case TILE_COS: return true;
    default: return false;
    }
}

/* Why the sums go by private memory all the same; NULL: they need not. The variable's sums are whole already. */
static const char *refusal(lower *l, const whole_sum *f, tile_range **axes, int count) {
    tile_value *product = f->update->value;
    const int64_t tile = range_capacity(f->loop->range);
    int64_t extent;
    if (tile < 1 || (ix_is_const(f->loop->range->extent, &extent) && extent > tile))
        return "the sum is of more than a tile";
    if (!has_just_ranges(product, axes, count))
        return "the store has other ranges than the sums";
    if (is_other_reduction(l, f))
        return "what is stored has another reduction in it";
    reduction_shape shape = choose_reduction_shape(l, axes, count, product);
    if (shape.vector && !shape.vector_reduced &&
        (vector_score(l, f->store->value, shape.vector) < 0 ||
         store_score(l, f->store->indices, f->store->array->rank, shape.vector) < 1))
        return "what is stored does not run along the sums' lanes in memory";
    /* Lanes that each hold a part of one sum: a function of it would be called for one number at a time, which is many times what memory costs. */
    if (shape.vector && shape.vector_reduced && tile_value_some(f->store->value, l->k->value_count, is_function, NULL))
        return "lanes share each sum, and what is stored calls a function, which takes vectors of them from memory";
    return NULL;
}

/* Whether the sums of the variable that item `at` of the kernel's statements declares are lowered with their store. */
static bool begin(lower *l, int at) {
    whole_sum f;
    arena *a = l->arena;
    if (!find_at(l->k, at, &f))
        return false;
    tile_range **axes = NEW_ARRAY(a, tile_range *, l->k->ranges.count), *r = f.loop->range;
    int count = 0;
    for (int d = 0; d < f.store->array->rank; d++)
        lower_collect_ranges(f.store->indices[d], axes, &count);
    VEC_PUSH(a, l->whole_sums, f);
    const char *why = refusal(l, &f, axes, count);
    if (why) {
        l->whole_sums.count--;
        VEC_PUSH(a, l->out->routes, arena_printf(a, "line %d: sums are kept in private memory: %s", f.update->span.line, why));
        return false;
    }
    index_expr *extent = lower_expression(l, r->extent);
    if (!ix_is_const(extent, NULL))
        VEC_PUSH(a, l->ir->assumptions, cond_compare(a, COND_LE, extent, ix_const(a, range_capacity(r))));
    VEC_PUSH(a, l->out->routes,
             arena_printf(a, "line %d: sums are stored from registers: each is one tile, of at most %" PRId64 " `%s`",
                          f.update->span.line, range_capacity(r), r->name));
    return true;
}

static void store(lower *l, const whole_sum *f) {
    tile_range *r = f->loop->range;
    tile_block lets = f->loop->body;
    l->place[r->id] = (range_place){
        .start = ix_const(l->arena, 0), .count = lower_expression(l, r->extent), .capacity = range_capacity(r), .entered = true};
    VEC_PUSH(l->arena, l->loops, r);
    lets.items.count--; /* the update is the store's own */
    lower_block(l, &lets);
    lower_store(l, f->store);
    l->loops.count--;
    l->place[r->id].entered = false;
}

bool lower_whole_sums(lower *l, const tile_block *b, int at) {
    const tile_stmt *s = b->items.at[at];
    if (!l->machine->options.whole_sums || b != &l->k->body)
        return false;
    if (s->kind == TILE_STMT_VAR)
        return begin(l, at);
    for (int i = 0; i < l->whole_sums.count; i++) {
        const whole_sum *f = &l->whole_sums.at[i];
        if (s == f->store)
            store(l, f);
        if (s == f->store || s == f->loop || (s->kind == TILE_STMT_LET && reads_variable(l->k, s, f->variable)))
            return true;
    }
    return false;
}
