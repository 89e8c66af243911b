/* Lowering to the threads of a block: chains of products, wholly in fragments. Whether a kernel is one, and how each operand gets there. Nothing here knows
 * what the kernel computes. */
#include "schedule/lanes_chain.h"
#include "schedule/lanes_fragment.h"

enum { LEAST_ROWS = 16 };

/* ---- shapes ---- */

bool chain_shape(const lower *l, const tile_value *v, bool *rows, tile_range **columns) {
    *rows = false;
    *columns = NULL;
    for (int i = 0; i < v->axis_count; i++) {
        tile_range *r = v->axes[i];
        if (range_capacity(r) == 1)
            continue;
        if (r == l->chain->rows)
            *rows = true;
        else if (*columns)
            return false;
        else
            *columns = r;
    }
    return true;
}

static bool axes_shape(const lower *l, tile_range **axes, int count, bool *rows, tile_range **columns) {
    tile_value like = {.axes = axes, .axis_count = count};
    return chain_shape(l, &like, rows, columns);
}

static int64_t up_to(int64_t n, int64_t step) {
    return (n + step - 1) / step * step;
}

int64_t lanes_chain_cells(const lower *l, const tile_range *r) {
    const chain *c = l->chain;
    const matrix_instruction *with = c->with;
    int64_t step = r == c->rows ? (int64_t)with->m * c->subgroups : with->n > with->k ? with->n : with->k;
    return up_to(range_capacity(r), step);
}

int chain_across(const lower *l, const tile_range *columns) {
    return (int)(lanes_chain_cells(l, columns) / l->chain->with->n);
}

chain_product *chain_product_of(const lower *l, const tile_value *v) {
    for (int i = 0; l->chain && i < l->chain->products.count; i++)
        if (l->chain->products.at[i].v == v)
            return &l->chain->products.at[i];
    return NULL;
}

/* ---- whether ---- */

typedef struct judge {
    lower *l;
    VEC(const tile_stmt *) loops; /* around */
    unsigned char *seen;
    double *parts; /* is_long_written_out */
    const char *why;
    bool chained; /* what some product gives is reduced or multiplied again */
} judge;

static void no(judge *j, const char *why) {
    if (!j->why)
        j->why = why;
}

static bool is_result(const tile_value *v, void *nothing) {
    (void)nothing;
    return v->op == TILE_DOT || v->op == TILE_GET || v->op == TILE_FIELD;
}

static bool is_made(const tile_value *v, void *nothing) {
    return is_heavy(v) || is_result(v, nothing);
}

static void judge_value(judge *j, tile_value *v);

static bool varies_along(const tile_value *v, void *range) {
    return tile_has_axis(v, range);
}

/* The innermost loop around along which v varies. */
static const tile_stmt *home_of(const judge *j, tile_value *v) {
    for (int n = j->loops.count - 1; n >= 0; n--)
        if (tile_value_some(v, j->l->value_count, varies_along, j->loops.at[n]->range))
            return j->loops.at[n];
    return NULL;
}

static void judge_operand(judge *j, chain_product *p, int o) {
    lower *l = j->l;
    tile_value *x = p->v->operands[o];
    const operand_choice choice = l->machine->options.operands;
    const bool left = o == p->left;
    tile_range *along = left ? l->chain->rows : p->columns, *columns;
    bool rows;
    const char *why = lanes_stage_operand_refusal(l, x);
    p->home[o] = home_of(j, x);
    if (why && left) { /* what accumulators hold, as an operand */
        p->routes[o] = CHAIN_MADE;
        if (!(l->machine->left_of_sums >> element_table[x->type].block_bytes & 1))
            no(j, arena_printf(l->arena, "%s as a left operand does not lie as accumulators do", element_table[x->type].name));
        j->chained = j->chained || tile_value_some(x, l->value_count, is_result, NULL);
        if (!chain_shape(l, x, &rows, &columns) || !rows || columns != p->summed)
            no(j, "an operand made of results goes over other ranges than rows and what is summed");
        judge_value(j, x);
        return;
    }
    if (why)
        no(j, why);
    const char *direct = lanes_direct_operand_refusal(l, p->v, x, along, l->chain->with);
    const bool wanted =
        choice == OPERANDS_FRAGMENTS_DIRECT || (l->machine->direct_fragments && choice != OPERANDS_FRAGMENTS_STAGED);
    p->routes[o] = wanted && !direct ? CHAIN_DIRECT : CHAIN_COPIED;
    if (choice == OPERANDS_FRAGMENTS_DIRECT && direct)
        no(j, direct);
    for (int i = 0; i < x->axis_count; i++)
        if (range_capacity(x->axes[i]) != 1 && x->axes[i] != along && x->axes[i] != p->summed)
            no(j, "an operand goes over more than two ranges");
}

static void judge_product(judge *j, tile_value *v) {
    lower *l = j->l;
    chain *c = l->chain;
    chain_product p = {.v = v};
    bool rows;
    const tile_value *x = v->operands[0], *y = v->operands[1];
    const matrix_instruction *with =
        x->type == y->type ? matrix_row_of(&l->machine->matrices, x->type, accumulator_type(v)) : NULL;
    if (!with || with->holder != LEVEL_SUBGROUP || with->lanes != l->machine->subgroup_lanes || v->type != ELEMENT_F32 ||
        with->accumulator != ELEMENT_F32 || v->accumulator == ELEMENT_F16) {
        no(j, "no matrix instruction with sums of f32 takes the operands' types");
        return;
    }
    if (c->with && (c->with->m != with->m || c->with->n != with->n || c->with->k != with->k))
        no(j, "its products are made by instructions of different shapes");
    c->with = c->with ? c->with : with;
    if (with->k > with->n && (with->k % with->n || with->k / with->n > 3))
        no(j, "an operand would be made of more than three accumulators");
    if (!chain_shape(l, v, &rows, &p.columns) || !rows || !p.columns) {
        no(j, "a product is not over the rows and one range more");
        return;
    }
    for (int i = 0; i < v->contract_count; i++)
        if (range_capacity(v->contract[i]) != 1) {
            if (p.summed)
                no(j, "a product sums over several ranges");
            p.summed = v->contract[i];
        }
    if (!p.summed || p.summed == c->rows || range_capacity(p.summed) < 0 || range_capacity(p.columns) < 0) {
        no(j, "a product sums single elements, or over what has no constant size");
        return;
    }
    if (tile_has_axis(x, c->rows) == tile_has_axis(y, c->rows)) {
        no(j, "both operands of a product go over the rows");
        return;
    }
    p.left = tile_has_axis(x, c->rows) ? 0 : 1;
    if (!tile_has_axis(v->operands[!p.left], p.columns) || tile_has_axis(v->operands[p.left], p.columns))
        no(j, "a product's columns are not its other operand's");
    VEC_PUSH(l->arena, c->products, p);
    const int at = c->products.count - 1;
    for (int o = 0; o < 2 && !j->why; o++) {
        judge_operand(j, &p, o); /* which may find more of them */
        c->products.at[at] = p;
    }
}

static void judge_load(judge *j, const tile_value *v) {
    if (v->has_outside || v->array->role != ARRAY_IN || element_table[v->array->type].block_elements != 1)
        no(j, "what is made of results reads an array that a map of fragments can't");
    for (int d = 0; d < v->array->rank; d++) {
        bool plain = v->indices[d]->op == IX_VAR || v->indices[d]->op == IX_CONST;
        for (int i = 0; i < j->l->k->ranges.count && !plain; i++)
            if (range_capacity(j->l->k->ranges.at[i]) != 1 && ix_mentions(v->indices[d], j->l->k->ranges.at[i]->var))
                no(j, "what is made of results reads an array at computed places");
        if (index_mentions_data(v->indices[d]))
            no(j, "data says where what is made of results is read");
    }
}

static void judge_value(judge *j, tile_value *v) {
    lower *l = j->l;
    bool rows;
    tile_range *columns;
    if (j->why || j->seen[v->id]++)
        return;
    if (!chain_shape(l, v, &rows, &columns))
        no(j, "a value goes over more than rows and one range");
    if (is_long_written_out(v, j->parts))
        no(j, "what is made of results is too long an expression, its names written out");
    if (columns && range_capacity(columns) < 0)
        no(j, "a range has no constant size");
    switch (v->op) {
    case TILE_DOT: judge_product(j, v); return;
    case TILE_ARGMAX:
    case TILE_ARGMIN: no(j, "it looks for where an extreme stands"); return;
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
        j->chained = j->chained || tile_value_some(v->operands[0], l->value_count, is_result, NULL);
        if (v->type != ELEMENT_F32 || !chain_shape(l, v->operands[0], &rows, &columns) || !rows || columns != v->range)
            no(j, "a reduction is not along a row of f32");
        break;
    case TILE_LOAD: judge_load(j, v); break;
    case TILE_INDEX:
        if (index_mentions_data(v->index))
            no(j, "data stands in an index");
        break;
    default: break;
    }
    for (int i = 0; i < v->operand_count; i++)
        judge_value(j, v->operands[i]);
}

static void judge_variable(judge *j, const tile_variable *x) {
    for (int f = 0; f < x->field_count; f++) {
        bool rows;
        tile_range *columns;
        if (x->types[f] != ELEMENT_F32 || !axes_shape(j->l, x->axes[f], x->axis_counts[f], &rows, &columns) || !rows)
            no(j, "a variable is not of f32 over the rows and at most one range more");
        judge_value(j, x->empty[f]);
        if (x->combine)
            judge_value(j, x->join[f]);
    }
}

static void judge_store(judge *j, const tile_stmt *s) {
    lower *l = j->l;
    element_type t = s->array->type;
    tile_range *columns = NULL;
    for (int i = 0; i < l->k->ranges.count; i++) {
        tile_range *r = l->k->ranges.at[i];
        for (int d = 0; d < s->array->rank; d++)
            if (r != l->chain->rows && range_capacity(r) != 1 && ix_mentions(s->indices[d], r->var)) {
                if (columns && columns != r)
                    no(j, "results go over more than rows and one range");
                columns = r;
            }
    }
    bool rows;
    tile_range *own;
    if (s->array->role != ARRAY_OUT || !(t == ELEMENT_F32 || (columns && (t == ELEMENT_F16 || t == ELEMENT_BF16))))
        no(j, "results are stored in a type that fragments are not");
    if (lanes_stored_along(l, s, l->chain->rows) < 0 || (columns && lanes_stored_along(l, s, columns) < 0))
        no(j, "results are stored at computed places");
    if (!chain_shape(l, s->value, &rows, &own) || !rows || (own && own != columns))
        no(j, "what is stored does not go over the rows");
    if (columns && range_capacity(columns) < 0)
        no(j, "a range has no constant size");
    judge_value(j, s->value);
}

/* Parts that bound the rows alone would have to keep rows as they are. */
static void judge_predicate(judge *j, const tile_stmt *loop, const cond *c) {
    if (!c || c->op == COND_TRUE)
        return;
    if (c->op == COND_AND) {
        judge_predicate(j, loop, c->a);
        judge_predicate(j, loop, c->b);
        return;
    }
    if (cond_mentions(c, j->l->chain->rows->var) && !cond_mentions(c, loop->range->var))
        no(j, "a predicate leaves out whole rows");
}

static void judge_block(judge *j, const tile_block *b) {
    lower *l = j->l;
    for (int i = 0; i < b->items.count && !j->why; i++) {
        const tile_stmt *s = b->items.at[i];
        bool rows;
        tile_range *columns;
        switch (s->kind) {
        case TILE_STMT_LET: /* what is made of arrays alone is computed where it is used */
            if (!tile_value_some(s->value, l->value_count, is_made, NULL))
                break;
            judge_value(j, s->value);
            if (!(s->value->type == ELEMENT_F32 || s->value->type == ELEMENT_F16 || s->value->type == ELEMENT_BF16) &&
                tile_value_some(s->value, l->value_count, is_result, NULL))
                no(j, "a value made of results is of a type that fragments don't hold");
            break;
        case TILE_STMT_VAR: judge_variable(j, s->variable); break;
        case TILE_STMT_UPDATE:
            judge_value(j, s->value);
            if (chain_shape(l, s->value, &rows, &columns) && columns) {
                bool of_rows;
                tile_range *own;
                axes_shape(l, s->variable->axes[0], s->variable->axis_counts[0], &of_rows, &own);
                if (columns != own)
                    no(j, "an update goes over other ranges than its variable");
            }
            break;
        case TILE_STMT_JOIN:
            for (int f = 0; f < s->variable->field_count; f++)
                judge_value(j, s->values[f]);
            break;
        case TILE_STMT_STORE: judge_store(j, s); break;
        case TILE_STMT_LOOP:
            if (s->range == l->chain->rows || range_capacity(s->range) < 2)
                no(j, "a loop does not go over tiles of constant size");
            judge_predicate(j, s, s->predicate);
            VEC_PUSH(l->arena, j->loops, s);
            judge_block(j, &s->body);
            j->loops.count--;
            break;
        }
    }
}

static bool is_wanted(const lower *l) {
    const schedule_options *o = &l->machine->options;
    bool wanted = o->operands == OPERANDS_CHOSEN || operands_by_fragments(o->operands);
    return wanted && l->machine->matrices.count && !o->operand_warpgroups && !(o->subgroup_rows && o->subgroup_columns != 1);
}

static bool calls_elements(const tile_value *v, void *context) {
    return lower_calls_elements(context, v);
}

/* With these rows: NULL, or why not. */
static const char *judge_rows(lower *l, tile_range *rows, bool *chained) {
    arena *a = l->arena;
    judge j = {.l = l, .seen = NEW_ARRAY(a, unsigned char, l->value_count), .parts = NEW_ARRAY(a, double, l->value_count)};
    l->chain = NEW(a, chain);
    *l->chain = (chain){.rows = rows, .subgroups = l->machine->subgroups};
    judge_block(&j, &l->k->body);
    if (l->k->intrinsics.count && tile_block_some(&l->k->body, l->value_count, calls_elements, l))
        no(&j, "functions of the target are called for single elements");
    chain *c = l->chain;
    *chained = j.chained && c->products.count > 0;
    if (!j.why && c->with && 2 * range_capacity(rows) < (int64_t)c->with->m * c->subgroups)
        j.why = arena_printf(a, "its tile of %lld rows is less than half of %d fragments of %d, one a subgroup",
                             (long long)range_capacity(rows), c->subgroups, c->with->m);
    return j.why ? j.why : *chained ? NULL : "no product's results are reduced or multiplied again";
}

static bool is_rows_of_product(const tile_value *v, void *range) {
    const tile_range *r = range;
    return v->op == TILE_DOT && tile_has_axis(v, r) && tile_has_axis(v->operands[0], r) != tile_has_axis(v->operands[1], r) &&
           product_is_two_sided(v);
}

static bool is_two_sided(const tile_value *v, void *nothing) {
    (void)nothing;
    return v->op == TILE_DOT && product_is_two_sided(v);
}

static bool multiplies_results(const tile_value *v, void *context) {
    const lower *l = context;
    for (int o = 0; v->op == TILE_DOT && o < 2; o++)
        if (tile_value_some(v->operands[o], l->value_count, is_two_sided, NULL))
            return true;
    return false;
}

static void levels(lower *l) {
    static const char *const subgroup_name = "subgroup", *const lane_name = "lane";
    arena *a = l->arena;
    chain *c = l->chain;
    index_expr *extent[1] = {ix_const(a, c->subgroups)};
    kernel_add_level(l->ir, LEVEL_SUBGROUP, 1, &subgroup_name, extent);
    extent[0] = ix_const(a, l->machine->subgroup_lanes);
    kernel_add_level(l->ir, LEVEL_LANE, 1, &lane_name, extent);
    c->subgroup = l->ir->levels.at[1].ids[0];
    c->lane = l->ir->levels.at[2].ids[0];
    l->spreads = NEW_ARRAY(a, spread, l->k->ranges.count);
    for (int i = 0; i < l->k->ranges.count; i++)
        l->spreads[i] = (spread){1, 1, 1, 1, NULL, NULL};
    l->spreads[c->rows->id] = (spread){c->subgroups, l->machine->subgroup_lanes, 1, 1, c->subgroup, ix_var(a, c->lane)};
}

/* Whether a loop goes the further the later the rows stand: t <= i. */
static bool grows_with_rows(lower *l, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        atom_list parts = {0};
        if (s->kind == TILE_STMT_LOOP && s->predicate)
            predicate_atoms(l, &parts, s->predicate);
        for (int n = 0; n < parts.count; n++) {
            int64_t along, rows;
            index_expr *rest;
            if (parts.at[n].x && ix_coefficient(l->arena, parts.at[n].x, s->range->var, &along, &rest) && along > 0 &&
                ix_coefficient(l->arena, rest, l->chain->rows->var, &rows, &rest) && rows < 0)
                return true;
        }
        if (s->kind == TILE_STMT_LOOP && grows_with_rows(l, &s->body))
            return true;
    }
    return false;
}

/* Tasks with the most to do begin first: those that begin last would keep a device waiting the longest. */
static void last_rows_first(lower *l) {
    arena *a = l->arena;
    tile_range *r = l->chain->rows;
    range_place *place = &l->place[r->id];
    int64_t size;
    if (!l->task_ids[r->id] || !ix_is_const(lower_expression(l, r->size), &size) || !grows_with_rows(l, &l->k->body))
        return;
    index_expr *extent = lower_expression(l, r->extent), *tile = ix_const(a, size), *id = ix_var(a, l->task_ids[r->id]);
    index_expr *last = ix_sub(a, ix_ceildiv(a, extent, tile), ix_const(a, 1));
    place->start = name_index(l, l->block, arena_printf(a, "%s_start", r->name), ix_mul(a, tile, ix_sub(a, last, id)));
    place->count =
        name_index(l, l->block, arena_printf(a, "%s_count", r->name), ix_min(a, tile, ix_sub(a, extent, place->start)));
    VEC_PUSH(a, l->out->routes, arena_printf(a, "tasks of the last `%s` begin first: they have the most to do", r->name));
}

bool lanes_chain_choose(lower *l) {
    const char *why = NULL;
    bool chained = false, close = false;
    if (!l->machine->matrices.count && tile_block_some(&l->k->body, l->value_count, multiplies_results, l))
        VEC_PUSH(l->arena, l->out->routes,
                 arena_printf(l->arena, "products kept in fragments, refused: target %s has no matrix instructions",
                              l->machine->target));
    if (!is_wanted(l))
        return false;
    for (int i = 0; i < l->k->task.count; i++) {
        tile_range *r = l->k->task.at[i];
        if (range_capacity(r) < LEAST_ROWS || !tile_block_some(&l->k->body, l->value_count, is_rows_of_product, r))
            continue;
        const char *this = judge_rows(l, r, &chained);
        if (this) {
            why = chained || !why ? this : why;
            close = close || chained;
            continue;
        }
        chain *c = l->chain;
        c->across_rows = (int)(lanes_chain_cells(l, r) / c->subgroups / c->with->m);
        c->held = NEW_ARRAY(l->arena, kernel_fragment *, l->value_count);
        c->made = NEW_ARRAY(l->arena, kernel_fragment *, l->value_count);
        c->stored = NEW_ARRAY(l->arena, kernel_fragment *, l->value_count);
        c->slots = NEW_ARRAY(l->arena, index_expr *, l->k->ranges.count);
        c->fields = NEW_ARRAY(l->arena, kernel_fragment **, l->k->variables.count);
        for (int n = 0; n < c->products.count; n++) {
            const chain_product *p = &c->products.at[n];
            l->matrices[p->v->id] = c->with;
            l->stages[p->v->id] = 1;
            l->out->matrix_products++;
        }
        l->product_rows = r;
        levels(l);
        last_rows_first(l);
        chain_choose_rings(l);
        l->out->chained = true;
        VEC_PUSH(
            l->arena, l->out->routes,
            arena_printf(l->arena,
                         "products, what is reduced of them and multiplied again stay in fragments of %d x %d, rows `%s`, %d "
                         "of them a subgroup (refused: threads of single elements)",
                         c->with->m, c->with->n, r->name, c->across_rows));
        return true;
    }
    l->chain = NULL;
    if (why && close)
        VEC_PUSH(l->arena, l->out->routes, arena_printf(l->arena, "products kept in fragments, refused: %s", why));
    return false;
}
