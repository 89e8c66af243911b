#include "tile/hold.h"
#include <string.h>

/* ---- which kernels ---- */

static bool is_product(const tile_value *v, void *unused) {
    (void)unused;
    return v->op == TILE_DOT;
}

static bool strides_along(const tile_value *v, void *range) {
    for (int d = 0; v->op == TILE_LOAD && d < v->array->rank - 1; d++)
        if (ix_mentions(v->indices[d], ((const tile_range *)range)->var))
            return true;
    return false;
}

static const char *loop_obstacle(const tile_kernel *k, const tile_stmt *loop) {
    if (!loop->range->scheduled || loop->range->whole)
        return "the tiles of a loop carry meaning";
    if (loop->predicate)
        return "the elements of a loop have a predicate";
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        if (s->kind == TILE_STMT_LOOP)
            return "a loop has loops within";
        if (s->kind == TILE_STMT_JOIN)
            return "a loop joins states";
        if (s->kind == TILE_STMT_VAR)
            return "variables begin within a loop";
        for (int d = 0; s->kind == TILE_STMT_STORE && d < s->array->rank - 1; d++)
            if (ix_mentions(s->indices[d], loop->range->var))
                return "rows are not contiguous in memory";
    }
    if (tile_block_some(&loop->body, k->value_count, is_product, NULL))
        return "a loop has products";
    if (tile_block_some(&loop->body, k->value_count, strides_along, loop->range))
        return "rows are not contiguous in memory";
    return NULL;
}

const index_expr *hold_extent(const tile_kernel *k, const char **why) {
    const index_expr *extent = NULL;
    int loops = 0;
    *why = NULL;
    for (int i = 0; i < k->body.items.count && !*why; i++) {
        const tile_stmt *s = k->body.items.at[i];
        if (s->kind == TILE_STMT_JOIN)
            *why = "it joins states";
        if (s->kind != TILE_STMT_LOOP)
            continue;
        *why = loop_obstacle(k, s);
        if (extent && !ix_equal(extent, s->range->extent))
            *why = "its loops go over different extents";
        extent = s->range->extent;
        loops++;
    }
    if (!*why && loops < 2)
        *why = "it goes over its rows once";
    return *why ? NULL : extent;
}

/* ---- one range, one block ---- */

enum { HEADS = 256 };

typedef struct holder {
    tile_held *out;
    tile_kernel *k;
    arena *a, *scratch;
    tile_range **becomes; /* by range id */
    /* By value id. */
    tile_value **stands; /* what stands for it; NULL: not come to yet */
    tile_value **older;  /* of the same hash */
    tile_value *heads[HEADS];
    int *version;         /* of the variable that a read of one read */
    int *looked;          /* the statement that last asked whether it is stale */
    unsigned char *named; /* a let binds it */
    int *at;              /* that let's statement */
    int *versions;        /* by variable id: how often it changed */
    const char *why;
    VEC(tile_stmt *) flat;
} holder;

static tile_value *settle(holder *h, tile_value *v);

static index_expr *settle_index(holder *h, index_expr *x) {
    if (!x || x->op == IX_CONST)
        return x;
    if (x->op != IX_VAR)
        return ix_op2(h->a, x->op, settle_index(h, x->a), settle_index(h, x->b));
    if (x->var->kind == INDEX_RANGE)
        return ix_var(h->a, h->becomes[((tile_range *)x->var->owner)->id]->var);
    if (x->var->kind != INDEX_VALUE || !x->var->owner)
        return x;
    tile_value *v = x->var->owner, *s = settle(h, v);
    if (s != v && !s->value_var) {
        s->value_var = v->value_var;
        s->value_var->owner = s;
    }
    return ix_var(h->a, s->value_var);
}

static tile_range *settle_range(const holder *h, tile_range *r) {
    return r ? h->becomes[r->id] : NULL;
}

static void settle_ranges(const holder *h, tile_range **rs, int count) {
    for (int i = 0; i < count; i++)
        rs[i] = settle_range(h, rs[i]);
}

static bool same_number(double x, double y) {
    return !memcmp(&x, &y, sizeof x);
}

static bool same_value(const holder *h, const tile_value *x, const tile_value *y) {
    bool same = x->op == y->op && x->type == y->type && x->operand_count == y->operand_count &&
                same_number(x->number, y->number) && !x->index == !y->index && (!x->index || ix_equal(x->index, y->index)) &&
                x->scalar == y->scalar && x->array == y->array && x->has_outside == y->has_outside && x->range == y->range &&
                x->contract_count == y->contract_count && x->accumulator == y->accumulator && x->saturate == y->saturate &&
                x->variable == y->variable && x->intrinsic == y->intrinsic && x->by[0] == y->by[0] && x->by[1] == y->by[1] &&
                x->by[2] == y->by[2] && x->field == y->field && x->side == y->side && x->axis_count == y->axis_count &&
                h->version[x->id] == h->version[y->id];
    for (int i = 0; same && i < x->operand_count; i++)
        same = x->operands[i] == y->operands[i];
    for (int d = 0; same && x->array && d < x->array->rank; d++)
        same = ix_equal(x->indices[d], y->indices[d]);
    for (int i = 0; same && i < x->contract_count; i++)
        same = x->contract[i] == y->contract[i];
    return same;
}

/* Whether a variable that the unnamed value reads has changed since the value was settled: then it means something else here. */
static bool stale(holder *h, const tile_value *v, int statement) {
    if (h->named[v->id] || h->looked[v->id] == statement + 1)
        return false;
    h->looked[v->id] = statement + 1;
    bool found = v->variable && h->version[v->id] != h->versions[v->variable->id];
    for (int i = 0; i < v->operand_count && !found; i++)
        found = stale(h, v->operands[i], statement);
    return found;
}

/* The value over the one range, or an equal one that came before. */
static tile_value *settle(holder *h, tile_value *v) {
    if (h->stands[v->id]) {
        if (stale(h, h->stands[v->id], h->flat.count))
            h->why = "a value is read before and after its variable changes";
        return h->stands[v->id];
    }
    for (int i = 0; i < v->operand_count; i++)
        v->operands[i] = settle(h, v->operands[i]);
    v->index = settle_index(h, v->index);
    for (int d = 0; v->array && d < v->array->rank; d++)
        v->indices[d] = settle_index(h, v->indices[d]);
    v->range = settle_range(h, v->range);
    settle_ranges(h, v->contract, v->contract_count);
    settle_ranges(h, v->axes, v->axis_count);
    h->version[v->id] = v->variable ? h->versions[v->variable->id] : 0;
    unsigned head = ((unsigned)v->op * 31 + (v->operand_count ? (unsigned)v->operands[0]->id : 0)) % HEADS;
    tile_value *found = h->heads[head];
    while (found && !same_value(h, found, v))
        found = h->older[found->id];
    if (!found) {
        h->older[v->id] = h->heads[head];
        found = h->heads[head] = v;
    }
    return h->stands[v->id] = found;
}

static void settle_statement(holder *h, tile_stmt *s) {
    if (s->kind == TILE_STMT_VAR)
        for (int f = 0; f < s->variable->field_count; f++) {
            s->variable->empty[f] = settle(h, s->variable->empty[f]);
            settle_ranges(h, s->variable->axes[f], s->variable->axis_counts[f]);
        }
    if (s->value)
        s->value = settle(h, s->value);
    for (int d = 0; s->kind == TILE_STMT_STORE && d < s->array->rank; d++)
        s->indices[d] = settle_index(h, s->indices[d]);
    if (s->kind == TILE_STMT_LET && !h->named[s->value->id]) {
        h->named[s->value->id] = 1;
        h->at[s->value->id] = h->flat.count;
    }
    if (s->kind == TILE_STMT_UPDATE)
        h->versions[s->variable->id]++;
    VEC_PUSH(h->scratch, h->flat, s);
}

static void settle_block(holder *h, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind == TILE_STMT_LOOP)
            settle_block(h, &b->items.at[i]->body);
        else
            settle_statement(h, b->items.at[i]);
}

/* ---- what is kept ---- */

/* A walk through what one statement, or one named value, computes itself: down to named values, which are readers of their own. */
typedef struct reach {
    holder *h;
    int reader;   /* a number for whoever reads; from 1 */
    int *readers; /* by value id: how many read it */
    int *last;    /* the last of them */
    bool chooses; /* the second walk: the outermost that several read are named */
    bool found;
    VEC(tile_value *) named; /* come to */
} reach;

static void reach_value(reach *r, tile_value *v);

static void reach_index(reach *r, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE && x->var->owner)
        reach_value(r, x->var->owner);
    reach_index(r, x->a);
    reach_index(r, x->b);
}

static void reach_inside(reach *r, const tile_value *v) {
    for (int i = 0; i < v->operand_count; i++)
        reach_value(r, v->operands[i]);
    reach_index(r, v->index);
    for (int d = 0; v->array && d < v->array->rank; d++)
        reach_index(r, v->indices[d]);
}

static bool costs(const tile_value *v, void *unused) {
    (void)unused;
    return v->op == TILE_LOAD || v->op == TILE_DIV || !strcmp(tile_op_table[v->op].kind, "math");
}

static bool worth_keeping(const holder *h, const tile_value *v) {
    const tile_range *row = h->out->row;
    if (v->type == ELEMENT_BOOL)
        return false;
    return v->range == row || (tile_has_axis(v, row) && tile_value_some(v, h->k->value_count, costs, NULL));
}

static void reach_value(reach *r, tile_value *v) {
    holder *h = r->h;
    if (r->last[v->id] == r->reader)
        return;
    bool again = r->last[v->id];
    r->last[v->id] = r->reader;
    if (!r->chooses)
        r->readers[v->id]++;
    else if (!h->named[v->id] && r->readers[v->id] > 1 && worth_keeping(h, v)) {
        h->named[v->id] = 1;
        h->at[v->id] = -1;
        r->found = true;
        return; /* what it is made of has one reader now */
    }
    if (!h->named[v->id])
        reach_inside(r, v);
    else if (!again)
        VEC_PUSH(h->scratch, r->named, v);
}

static void reach_statement(reach *r, const tile_stmt *s) {
    if (s->kind == TILE_STMT_LET)
        return;
    for (int f = 0; s->kind == TILE_STMT_VAR && f < s->variable->field_count; f++)
        reach_value(r, s->variable->empty[f]);
    if (s->value)
        reach_value(r, s->value);
    for (int d = 0; s->kind == TILE_STMT_STORE && d < s->array->rank; d++)
        reach_index(r, s->indices[d]);
}

static void reach_all(reach *r) {
    holder *h = r->h;
    r->last = NEW_ARRAY(h->scratch, int, h->k->value_count + 1);
    r->named.count = 0;
    r->reader = 1;
    for (int i = 0; i < h->flat.count; i++, r->reader++)
        reach_statement(r, h->flat.at[i]);
    for (int i = 0; i < r->named.count; i++, r->reader++)
        reach_inside(r, r->named.at[i]);
}

/* Names the outermost values that several readers have in common; what is made of them may have readers in common next. */
static bool name_shared(holder *h) {
    reach r = {.h = h, .readers = NEW_ARRAY(h->scratch, int, h->k->value_count + 1)};
    reach_all(&r);
    r.chooses = true;
    reach_all(&r);
    return r.found;
}

/* ---- the new block ---- */

typedef struct emission {
    holder *h;
    unsigned char *made; /* by value id */
    unsigned char *seen;
    tile_block *to;
} emission;

static void emit_lets(emission *e, tile_value *v);

static void lets_in_index(emission *e, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE && x->var->owner)
        emit_lets(e, x->var->owner);
    lets_in_index(e, x->a);
    lets_in_index(e, x->b);
}

static void lets_inside(emission *e, const tile_value *v) {
    for (int i = 0; i < v->operand_count; i++)
        emit_lets(e, v->operands[i]);
    lets_in_index(e, v->index);
    for (int d = 0; v->array && d < v->array->rank; d++)
        lets_in_index(e, v->indices[d]);
}

/* The lets that v needs and that no statement before had. */
static void emit_lets(emission *e, tile_value *v) {
    holder *h = e->h;
    if (e->seen[v->id]++)
        return;
    lets_inside(e, v);
    v->bound = h->named[v->id];
    if (!v->bound || e->made[v->id]++)
        return;
    tile_append(h->k, e->to, TILE_STMT_LET, v->span)->value = v;
}

static void emit_statement(emission *e, tile_stmt *s, int number) {
    holder *h = e->h;
    memset(e->seen, 0, (size_t)h->k->value_count + 1);
    if (s->kind == TILE_STMT_LET) {
        if (h->at[s->value->id] == number)
            emit_lets(e, s->value);
        return;
    }
    for (int f = 0; s->kind == TILE_STMT_VAR && f < s->variable->field_count; f++)
        emit_lets(e, s->variable->empty[f]);
    if (s->value)
        emit_lets(e, s->value);
    for (int d = 0; s->kind == TILE_STMT_STORE && d < s->array->rank; d++)
        lets_in_index(e, s->indices[d]);
    VEC_PUSH(h->a, e->to->items, s);
}

/* ---- registers, order ---- */

static bool is_held(const holder *h, const tile_stmt *s) {
    return s->kind == TILE_STMT_LET && tile_has_axis(s->value, h->out->row);
}

/* The most values over the row that are needed at one time; what a statement reads last may make room for what it gives. */
static int most_kept(holder *h, const tile_block *b) {
    int n = b->items.count, most = 0;
    int *ends = NEW_ARRAY(h->scratch, int, h->k->value_count + 1);
    for (int i = 0; i < n; i++) {
        reach r = {.h = h, .reader = 1};
        r.readers = NEW_ARRAY(h->scratch, int, h->k->value_count + 1);
        r.last = NEW_ARRAY(h->scratch, int, h->k->value_count + 1);
        if (b->items.at[i]->kind == TILE_STMT_LET)
            reach_inside(&r, b->items.at[i]->value);
        else
            reach_statement(&r, b->items.at[i]);
        for (int v = 0; v < h->k->value_count; v++)
            if (r.last[v])
                ends[v] = i;
    }
    for (int i = 0; i < n; i++) {
        int now = 0;
        for (int j = 0; j <= i; j++)
            now += is_held(h, b->items.at[j]) && ends[b->items.at[j]->value->id] > i;
        most = now > most ? now : most;
    }
    return most;
}

static bool loads(const tile_value *v, const tile_array *x, bool top, unsigned char *seen) {
    if (seen[v->id]++ || (v->bound && !top))
        return false;
    bool found = v->op == TILE_LOAD && v->array == x;
    for (int i = 0; i < v->operand_count && !found; i++)
        found = loads(v->operands[i], x, false, seen);
    return found;
}

/* An array that is changed in place is read before it is written. */
static bool reads_stored(const tile_kernel *k) {
    const tile_block *b = &k->body;
    unsigned char *seen = NEW_ARRAY(k->arena, unsigned char, k->value_count);
    for (int i = 0; i < b->items.count; i++)
        for (int j = i + 1; b->items.at[i]->kind == TILE_STMT_STORE && j < b->items.count; j++) {
            memset(seen, 0, (size_t)k->value_count);
            if (b->items.at[j]->value &&
                loads(b->items.at[j]->value, b->items.at[i]->array, b->items.at[j]->kind == TILE_STMT_LET, seen))
                return true;
        }
    return false;
}

/* ---- ranges ---- */

static bool mentions_range(const tile_value *v, void *range) {
    const tile_range *r = range;
    bool found = v->range == r || (v->index && ix_mentions(v->index, r->var)) || tile_has_axis(v, r);
    for (int d = 0; v->array && d < v->array->rank; d++)
        found = found || ix_mentions(v->indices[d], r->var);
    return found;
}

static bool stores_at(const tile_block *b, const tile_range *r) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        for (int d = 0; s->kind == TILE_STMT_STORE && d < s->array->rank; d++)
            if (ix_mentions(s->indices[d], r->var))
                return true;
        if (stores_at(&s->body, r))
            return true;
    }
    return false;
}

static void choose_ranges(holder *h) {
    tile_kernel *k = h->k;
    tile_range *row = NULL;
    for (int i = 0; i < k->ranges.count; i++)
        h->becomes[i] = k->ranges.at[i];
    for (int i = 0; i < k->body.items.count; i++)
        if (k->body.items.at[i]->kind == TILE_STMT_LOOP) {
            tile_range *r = k->body.items.at[i]->range;
            row = row ? row : r;
            h->becomes[r->id] = row;
        }
    /* `..` and what else owns rows and is not spoken of. */
    for (int i = 0; i < k->task.count; i++) {
        tile_range *r = k->task.at[i];
        bool owns = false;
        for (int o = 0; o < k->owned.count; o++)
            for (int d = 0; d < k->owned.at[o]->array->rank; d++)
                owns = owns || k->owned.at[o]->through[d];
        if (r->whole && !owns && ix_equal(r->extent, row->extent) && !stores_at(&k->body, r) &&
            !tile_block_some(&k->body, k->value_count, mentions_range, r))
            h->becomes[r->id] = row;
    }
    row->whole = row->held = row->is_task = true;
    row->scheduled = false;
    h->out->row = row;
}

static void settle_task(holder *h) {
    tile_kernel *k = h->k;
    int kept = 0;
    for (int i = 0; i < k->task.count; i++)
        if (h->becomes[k->task.at[i]->id] == k->task.at[i])
            k->task.at[kept++] = k->task.at[i];
    k->task.count = kept;
    VEC_PUSH(h->a, k->task, h->out->row);
    for (int o = 0; o < k->owned.count; o++)
        for (int d = 0; d < k->owned.at[o]->array->rank; d++)
            k->owned.at[o]->ranges[d] = settle_range(h, k->owned.at[o]->ranges[d]);
    kept = 0;
    for (int i = 0; i < k->ranges.count; i++)
        if (h->becomes[i] == k->ranges.at[i])
            k->ranges.at[kept++] = k->ranges.at[i];
    k->ranges.count = kept;
    for (int i = 0; i < kept; i++)
        k->ranges.at[i]->id = i;
}

/* Tile names of the loops that are gone. */
static void drop_tile_names(tile_kernel *k) {
    int kept = 0;
    for (int i = 0; i < k->symbols.count; i++) {
        bool used = k->symbols.at[i]->kind != INDEX_TILE;
        for (int r = 0; r < k->ranges.count; r++)
            used = used || ix_mentions(k->ranges.at[r]->size, k->symbols.at[i]);
        if (!used)
            continue;
        k->derived.at[kept] = k->derived.at[i];
        k->symbols.at[kept++] = k->symbols.at[i];
    }
    k->symbols.count = k->derived.count = kept;
}

static void hold(holder *h) {
    tile_kernel *k = h->k;
    arena *s = h->scratch;
    int count = k->value_count + 1;
    h->becomes = NEW_ARRAY(s, tile_range *, k->ranges.count + 1);
    h->stands = NEW_ARRAY(s, tile_value *, count);
    h->older = NEW_ARRAY(s, tile_value *, count);
    h->version = NEW_ARRAY(s, int, count);
    h->looked = NEW_ARRAY(s, int, count);
    h->named = NEW_ARRAY(s, unsigned char, count);
    h->at = NEW_ARRAY(s, int, count);
    h->versions = NEW_ARRAY(s, int, k->variables.count + 1);
    choose_ranges(h);
    settle_block(h, &k->body);
    if (h->why)
        return;
    int before = 0, now = 0;
    for (int i = 0; i < k->value_count; i++)
        before += h->named[i];
    while (name_shared(h))
        ;
    for (int i = 0; i < k->value_count; i++)
        now += h->named[i];
    k->body.items.count = 0;
    emission e = {h, NEW_ARRAY(s, unsigned char, count), NEW_ARRAY(s, unsigned char, count), &k->body};
    for (int i = 0; i < h->flat.count; i++)
        emit_statement(&e, h->flat.at[i], i);
    settle_task(h);
    h->out->kept = most_kept(h, &k->body);
    for (int i = 0; i < k->value_count; i++)
        h->out->same[i] = h->stands[i] ? h->stands[i]->id : i;
    if (now == before || !h->out->kept)
        h->why = "its loops share no reads";
    else if (reads_stored(k))
        h->why = "it reads what it has changed in place";
}

tile_held *tile_hold(arena *a, const tile_kernel *k, const char **why) {
    if (!hold_extent(k, why))
        return NULL;
    tile_held *out = NEW(a, tile_held);
    out->kernel = tile_copy(a, k);
    out->same = NEW_ARRAY(a, int, k->value_count + 1);
    holder h = {.out = out, .k = out->kernel, .a = a, .scratch = arena_new()};
    hold(&h);
    *why = h.why;
    arena_free(h.scratch);
    return *why ? NULL : out;
}

void tile_hold_size(tile_held *h, int64_t most) {
    arena *a = h->kernel->arena;
    int64_t length;
    h->row->size = ix_const(a, most);
    drop_tile_names(h->kernel);
    if (!ix_is_const(h->row->extent, &length) || length > most)
        VEC_PUSH(a, h->kernel->where, cond_compare(a, COND_LE, h->row->extent, h->row->size));
}
