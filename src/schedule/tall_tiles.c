/* Tiles of a product for one launch on threads that are tasks' own. Each task packs the right operand for itself, so of many rows a task takes more; and an operand that lies
 * in the near cache as it is isn't packed. Neither changes a sum, so no result depends on it. */
#include "schedule/lower.h"
#include <inttypes.h>
#include <string.h>

enum {
    TASKS_OF_THREAD = 4,
    TALLEST = 384,
    HEIGHTS = 2
}; /* tasks that threads share evenly; rows, halved where memory or tasks want it */

/* Where the right operand is read in place: parts of the near cache that it may take, and bytes of a row. A row that begins inside a cache line costs a second line for each
 * vector, and rows a page apart share sets of the cache: packing mends both, so it pays sooner. Of few rows of results none pays: each element is read once for six. */
enum { PART_OF_ALIGNED = 8, PART_OF_OTHER = 32, PART_OF_FEW = 2, FEW_ROWS = 24, LINE = 64, LONGEST_ROW = 2048, NARROW = 64 };

/* Widths of those tiles: the widest, and on machines with registers for blocks of four vectors that are so wide, those of blocks of three and of two. What is left over goes
 * one vector at a time, which waits for each sum before the next; costs are tenths of clocks of a vector of 6 rows.
 * Below so many bytes of the operand a launch gains under a microsecond, and all share one text: many small shapes are not to compile several. */
static const struct { int vectors, cost; } widths[] = {{4, 30}, {3, 31}, {2, 33}};
enum { WIDTHS = sizeof widths / sizeof *widths, COST_ALONE = 50, BLOCK_REGISTERS = 32, LEAST_OF_WIDTHS = 8192 };

struct tall_choice {
    const tile_kernel *kernel;
    const tile_range *rows;
    schedule_choice usual;
    int64_t threads, value; /* the usual rows */
    int64_t most;           /* rows that the near cache has room for */
    schedule_setting heights[HEIGHTS];
    const tile_range *columns, *summed; /* of a product whose right operand may be read in place; NULL: it may not */
    int64_t cache_bytes;
    int lanes, width_count;
    schedule_setting direct, narrow[WIDTHS];
};

typedef struct search {
    const tile_kernel *k;
    const tile_range *rows, *columns, *summed;
    bool other;    /* a product without these */
    bool computed; /* operands that aren't f32 in memory, or the right one doesn't run along the columns there */
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

/* An operand that is read as it lies in memory. */
static bool is_plain(const tile_value *x) {
    return x->op == TILE_LOAD && !x->operand_count && x->array->type == ELEMENT_F32 && x->array->rank > 0;
}

/* Whether the load's neighbours along r, and only they, are neighbours in memory. */
static bool lies_along(const tile_value *x, const tile_range *r) {
    int last = x->array->rank - 1;
    for (int d = 0; d < last; d++)
        if (ix_mentions(x->indices[d], r->var))
            return false;
    return ix_mentions(x->indices[last], r->var);
}

static bool look(const tile_value *v, void *context) {
    search *s = context;
    if (v->op != TILE_DOT || !product_is_two_sided(v))
        return false;
    const tile_range *x = alone(v, 0), *y = alone(v, 1);
    bool turned = x && stored_along(&s->k->body, x);
    const tile_range *rows = turned ? y : x, *columns = turned ? x : y;
    s->other = s->other || !rows || !columns || v->contract_count != 1 || (s->rows && s->rows != rows) || !rows->is_task;
    const tile_value *right = v->operands[turned ? 0 : 1];
    s->computed = s->computed || (s->columns && s->columns != columns) || !is_plain(v->operands[0]) ||
                  !is_plain(v->operands[1]) || (columns && !lies_along(right, columns)) || s->summed;
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
    int along = binding_of(&c->usual, s.columns);
    if (s.computed || along < 0 || along == at || !c->usual.chosen.at[along] || columns < NARROW ||
        c->usual.options.operands != OPERANDS_CHOSEN)
        return c;
    c->columns = s.columns;
    c->summed = s.summed;
    c->cache_bytes = row->cache_bytes;
    c->lanes = row->vector_lanes;
    c->width_count = row->vector_registers >= BLOCK_REGISTERS && widths[0].vectors * c->lanes == NARROW ? WIDTHS : 1;
    c->direct = (schedule_setting){.key = "operands", .value = "direct"};
    for (int i = 0; i < c->width_count; i++)
        c->narrow[i] = (schedule_setting){.key = c->usual.bindings.at[along].name,
                                          .value = arena_printf(a, "%d", i ? widths[i].vectors * c->lanes : NARROW)};
    return c;
}

/* Whether the launch's right operand is read in place. */
static bool is_near(const tall_choice *c, ix_lookup lookup, void *context, int64_t *bytes) {
    int64_t rows, row, summed;
    if (!c || !c->columns || !ix_eval(c->rows->extent, lookup, context, &rows) ||
        !ix_eval(c->columns->extent, lookup, context, &row) || !ix_eval(c->summed->extent, lookup, context, &summed) ||
        rows < 0 || row < 0 || summed < 0 || __builtin_mul_overflow(row, 4, &row) || __builtin_mul_overflow(row, summed, bytes))
        return false;
    if (rows <= FEW_ROWS)
        return *bytes <= c->cache_bytes / PART_OF_FEW;
    return row <= LONGEST_ROW && *bytes <= c->cache_bytes / (row % LINE ? PART_OF_OTHER : PART_OF_ALIGNED);
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

/* Which width goes over the launch's columns soonest; the widest of those alike. */
static int width_of(const tall_choice *c, ix_lookup lookup, void *context, int64_t bytes) {
    int64_t columns, least = INT64_MAX;
    int best = 0;
    if (bytes < LEAST_OF_WIDTHS || !ix_eval(c->columns->extent, lookup, context, &columns))
        return 0;
    for (int i = 0; i < c->width_count; i++) {
        int64_t width = (int64_t)widths[i].vectors * c->lanes, left = columns % width;
        int64_t cost = columns / width * widths[i].vectors * widths[i].cost + (left + c->lanes - 1) / c->lanes * COST_ALONE;
        if (cost < least)
            least = cost, best = i;
    }
    return best;
}

int schedule_tall_tiles(const tall_choice *c, ix_lookup lookup, void *context, schedule_setting out[TALL_SETTINGS]) {
    int64_t bytes;
    if (is_near(c, lookup, context, &bytes)) {
        out[0] = c->direct;
        out[1] = c->narrow[width_of(c, lookup, context, bytes)];
        return TALL_SETTINGS;
    }
    int i = height_of(c, lookup, context);
    if (i >= 0)
        out[0] = c->heights[i];
    return i >= 0;
}

const char *schedule_tall_route(arena *a, const tall_choice *c, ix_lookup lookup, void *context) {
    int64_t bytes;
    if (is_near(c, lookup, context, &bytes))
        return arena_printf(a,
                            "the right operand, %" PRId64
                            " bytes, is read in place, in tiles of %s columns: the near cache (%" PRId64
                            " bytes) holds it, so a packed copy would not pay",
                            bytes, c->narrow[width_of(c, lookup, context, bytes)].value, c->cache_bytes);
    int i = height_of(c, lookup, context);
    if (i < 0)
        return NULL;
    return arena_printf(a,
                        "tiles of %s rows in place of %" PRId64 ": the tasks are still %d times as many as the threads (%" PRId64
                        "), and the other operand is packed less often",
                        c->heights[i].value, c->value, TASKS_OF_THREAD, c->threads);
}
