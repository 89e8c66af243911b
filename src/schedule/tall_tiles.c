/* Rows of a product's tiles for one launch on threads that are tasks' own: each task packs the right operand for itself, so of many rows a task takes more. How many they are
 * changes no sum, so no result depends on it. */
#include "schedule/lower.h"
#include <inttypes.h>
#include <string.h>

enum {
    TASKS_OF_THREAD = 4,
    TALLEST = 384,
    HEIGHTS = 2
}; /* tasks that threads share evenly; rows, halved where memory or tasks want it */

struct tall_choice {
    const tile_kernel *kernel;
    const tile_range *rows;
    schedule_choice usual;
    int64_t threads, value; /* the usual rows */
    int64_t most;           /* rows that the near cache has room for */
    schedule_setting heights[HEIGHTS];
};

typedef struct search {
    const tile_kernel *k;
    const tile_range *rows, *columns, *summed;
    bool other; /* a product without these */
} search;

static const tile_range *alone(const tile_value *product, int operand) {
    const tile_range *found = NULL;
    for (int i = 0; i < product->axis_count; i++) {
        const tile_range *r = product->axes[i];
        if (tile_has_axis(product->operands[operand], r) && !tile_has_axis(product->operands[1 - operand], r) &&
            range_capacity(r) != 1) {
            if (found)
                return NULL;
            found = r;
        }
    }
    return found;
}

/* Whether a store runs along r, whose elements then lie side by side. */
static bool stored_along(const tile_block *b, const tile_range *r) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LOOP && stored_along(&s->body, r))
            return true;
        if (s->kind == TILE_STMT_STORE && s->array->rank && ix_mentions(s->indices[s->array->rank - 1], r->var))
            return true;
    }
    return false;
}

static bool look(const tile_value *v, void *context) {
    search *s = context;
    if (v->op != TILE_DOT || !product_is_two_sided(v))
        return false;
    const tile_range *x = alone(v, 0), *y = alone(v, 1);
    bool turned = x && stored_along(&s->k->body, x);
    const tile_range *rows = turned ? y : x, *columns = turned ? x : y;
    s->other = s->other || !rows || !columns || v->contract_count != 1 || (s->rows && s->rows != rows) || !rows->is_task;
    s->rows = rows;
    s->columns = columns;
    s->summed = v->contract_count ? v->contract[0] : NULL;
    return s->other;
}

static int binding_of(const schedule_choice *c, const tile_range *r) {
    for (int i = 0; r->size->op == IX_VAR && r->size->var->kind == INDEX_TILE && i < c->bindings.count; i++)
        if (!strcmp(c->bindings.at[i].name, r->size->var->name))
            return i;
    return -1;
}

static int64_t size_of(const schedule_choice *c, const tile_range *r) {
    int at = binding_of(c, r);
    return at >= 0 ? c->bindings.at[at].value : range_capacity(r);
}

const tall_choice *schedule_tall(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                                 const schedule_setting *settings, int setting_count, split_device device) {
    search s = {.k = k};
    diag_list quiet;
    diag_init(&quiet, a);
    if (device.blocks || row->subgroup_lanes || device.units < 1)
        return NULL;
    tile_block_some(&k->body, k->value_count, look, &s);
    if (s.other || !s.rows)
        return NULL;
    tall_choice *c = NEW(a, tall_choice);
    if (!schedule_choose_settings(a, m, k, row, settings, setting_count, &c->usual, &quiet))
        return NULL;
    int at = binding_of(&c->usual, s.rows);
    int64_t columns = size_of(&c->usual, s.columns), summed = size_of(&c->usual, s.summed);
    if (at < 0 || !c->usual.chosen.at[at] || columns < 1 || summed < 1)
        return NULL;
    c->kernel = k;
    c->rows = s.rows;
    c->threads = device.units;
    c->value = c->usual.bindings.at[at].value;
    c->most = row->cache_bytes / 2 / 4 / columns - summed; /* results and the right operand's tile take half of it */
    for (int i = 0; i < HEIGHTS; i++)
        c->heights[i] = (schedule_setting){.key = c->usual.bindings.at[at].name, .value = arena_printf(a, "%d", TALLEST >> i)};
    return c;
}

/* -1: the usual tiles. */
static int height_of(const tall_choice *c, ix_lookup lookup, void *context) {
    int64_t others = 1, rows = 0, extent;
    for (int i = 0; c && i < c->kernel->task.count; i++) {
        const tile_range *r = c->kernel->task.at[i];
        int64_t size = size_of(&c->usual, r);
        if (r->whole)
            continue;
        if (!ix_eval(r->extent, lookup, context, &extent) || extent < 0 || size < 1)
            return -1;
        if (r == c->rows)
            rows = extent;
        else if (__builtin_mul_overflow(others, (extent + size - 1) / size, &others))
            return -1;
    }
    for (int i = 0; c && i < HEIGHTS; i++) {
        int64_t height = TALLEST >> i, tasks;
        if (height > c->value && height <= c->most && !__builtin_mul_overflow(others, (rows + height - 1) / height, &tasks) &&
            tasks >= TASKS_OF_THREAD * c->threads)
            return i;
    }
    return -1;
}

const schedule_setting *schedule_tall_tiles(const tall_choice *c, ix_lookup lookup, void *context) {
    int i = height_of(c, lookup, context);
    return i < 0 ? NULL : &c->heights[i];
}

const char *schedule_tall_route(arena *a, const tall_choice *c, ix_lookup lookup, void *context) {
    int i = height_of(c, lookup, context);
    if (i < 0)
        return NULL;
    return arena_printf(a,
                        "tiles of %s rows in place of %" PRId64 ": the tasks are still %d times as many as the threads (%" PRId64
                        "), and the other operand is packed less often",
                        c->heights[i].value, c->value, TASKS_OF_THREAD, c->threads);
}
