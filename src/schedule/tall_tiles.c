/* Tiles of a product for one launch on threads that are tasks' own. Each task packs the right operand for itself, so of many rows a task takes more; an operand that lies
 * in the near cache as it is isn't packed; and sums of a single tile are stored from registers. None of it changes a sum, so no result depends on it. */
#include "schedule/lower.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASKS_OF_THREAD = 4,
    TALLEST = 384,
    HEIGHTS = 2
}; /* tasks that threads share evenly; rows, halved where memory or tasks want it */

/* Where the right operand is read in place: parts of the near cache that it may take, and bytes of a row. A row that begins inside a cache line costs a second line for each
 * vector, and rows a page apart share sets of the cache: packing mends both, so it pays sooner. Of few rows of results none pays: each element is read once for six. */
enum { PART_OF_ALIGNED = 8, PART_OF_OTHER = 32, PART_OF_FEW = 2, FEW_ROWS = 24, LINE = 64, LONGEST_ROW = 2048, NARROW = 64 };

/* Widths of those tiles: the widest, and on machines with registers for blocks of four vectors that are so wide, that of blocks of three. What is left over goes two vectors at a
 * time (blocks of four only), then one, which waits for each sum before the next; costs are tenths of clocks of a vector of 6 rows.
 * Below so many bytes of the operand a launch gains under a microsecond, and all share one text: many small shapes are not to compile several. */
static const struct { int vectors, cost, cost_left; } widths[] = {{4, 30, 36}, {3, 31, 50}};
enum {
    WIDTHS = sizeof widths / sizeof *widths,
    COST_ALONE = 50,
    BLOCK_REGISTERS = 32,
    LEAST_OF_WIDTHS = 8192,
    LEAST_PACKED = 4 * LEAST_OF_WIDTHS
};

/* Where the usual tiles leave threads without a task: rows halved so often at most, to one block of the arithmetic's, as long as each task has products that take many times longer
 * than to wake a thread. */
enum { SHARES = 4, LEAST_ROWS = 6, LEAST_PRODUCTS = 1 << 20 };

struct tall_choice {
    const tile_kernel *kernel;
    const tile_range *rows;
    schedule_choice usual;
    int64_t threads, value; /* the usual rows */
    int64_t most;           /* rows that the near cache has room for */
    schedule_setting heights[HEIGHTS];
    schedule_setting shares[SHARES];
    const tile_range *product_columns, *product_summed; /* with the rows: how many products there are */
    const tile_range *columns, *summed;
    int bytes;      /* of an element of the right operand */
    int64_t tile;   /* of the sum; 0: sums and edges are as the schedule has them, or a matrix instruction's */
    bool has_store; /* its sums may be stored from registers */
    bool in_place;  /* the right operand may be read in place */
    int64_t cache_bytes;
    int lanes, width_count;
    schedule_setting narrow[WIDTHS];
};

typedef struct search {
    const tile_kernel *k;
    const tile_range *rows, *columns, *summed;
    const tile_value *product;
    bool other; /* a product without these */
    bool several;
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
    s->several = s->product;
    s->product = v;
    s->computed = s->computed || s->several || !is_plain(v->operands[0]) || !is_plain(v->operands[1]) ||
                  (columns && !lies_along(right, columns));
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

static int64_t share_rows(const tall_choice *c, int number) {
    return (c->value + (2 << number) - 1) / (2 << number);
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
    for (int i = 0; i < SHARES; i++)
        c->shares[i] =
            (schedule_setting){.key = c->usual.bindings.at[at].name, .value = arena_printf(a, "%" PRId64, share_rows(c, i))};
    c->product_columns = s.columns;
    c->product_summed = s.summed;
    const element_type type = s.product->operands[0]->type;
    const matrix_instruction *by =
        type == s.product->operands[1]->type ? matrix_row_of_task(&row->matrices, type, accumulator_type(s.product)) : NULL;
    if (s.several || c->usual.options.operands != OPERANDS_CHOSEN || (by && !by->no_gain))
        return c;
    int along = binding_of(&c->usual, s.columns), over = binding_of(&c->usual, s.summed);
    c->columns = s.columns;
    c->summed = s.summed;
    c->bytes = element_table[type].block_elements == 1 ? element_table[type].block_bytes : 1;
    c->tile = c->usual.options.whole_sums || c->usual.options.halved_edges ? 0 : summed;
    c->has_store = c->tile && over >= 0 && sums_have_store(k);
    c->cache_bytes = row->cache_bytes;
    c->lanes = row->vector_lanes;
    c->in_place = !s.computed && along >= 0 && along != at && c->usual.chosen.at[along] && columns >= NARROW;
    c->width_count = row->vector_registers >= BLOCK_REGISTERS && widths[0].vectors * c->lanes == NARROW ? WIDTHS : 1;
    for (int i = 0; i < c->width_count && along >= 0; i++)
        c->narrow[i] = (schedule_setting){.key = c->usual.bindings.at[along].name,
                                          .value = arena_printf(a, "%d", i ? widths[i].vectors * c->lanes : NARROW)};
    return c;
}

/* What the launch's right operand takes in memory. */
static bool size_of_right(const tall_choice *c, ix_lookup lookup, void *context, int64_t *row, int64_t *bytes) {
    int64_t summed;
    return c && c->columns && ix_eval(c->columns->extent, lookup, context, row) &&
           ix_eval(c->summed->extent, lookup, context, &summed) && *row >= 0 && summed >= 0 &&
           !__builtin_mul_overflow(*row, c->bytes, row) && !__builtin_mul_overflow(*row, summed, bytes);
}

/* Whether the launch's right operand is read in place. */
static bool is_near(const tall_choice *c, ix_lookup lookup, void *context, int64_t *bytes) {
    int64_t rows, row;
    if (!size_of_right(c, lookup, context, &row, bytes) || !c->in_place || !ix_eval(c->rows->extent, lookup, context, &rows) ||
        rows < 0)
        return false;
    if (rows <= FEW_ROWS)
        return *bytes <= c->cache_bytes / PART_OF_FEW;
    return row <= LONGEST_ROW && *bytes <= c->cache_bytes / (row % LINE ? PART_OF_OTHER : PART_OF_ALIGNED);
}

/* The rows, and how many tasks each of their tiles makes. `width`: of the columns' tiles, 0: the usual one. */
static bool extents_of(const tall_choice *c, int64_t width, ix_lookup lookup, void *context, int64_t *rows, int64_t *others) {
    int64_t extent;
    *rows = 0;
    *others = 1;
    for (int i = 0; i < c->kernel->task.count; i++) {
        const tile_range *r = c->kernel->task.at[i];
        int64_t size = width && r == c->product_columns ? width : size_of(&c->usual, r);
        if (r->whole)
            continue;
        if (!ix_eval(r->extent, lookup, context, &extent) || extent < 0 || size < 1)
            return false;
        if (r == c->rows)
            *rows = extent;
        else if (__builtin_mul_overflow(*others, (extent + size - 1) / size, others))
            return false;
    }
    return true;
}

/* Which fewer rows give more threads a task; -1: the usual ones. */
static int share_of(const tall_choice *c, int64_t width, ix_lookup lookup, void *context) {
    int64_t rows, others, columns, summed, products, most, tasks;
    if (!c || !extents_of(c, width, lookup, context, &rows, &others) ||
        !ix_eval(c->product_columns->extent, lookup, context, &columns) ||
        !ix_eval(c->product_summed->extent, lookup, context, &summed) || __builtin_mul_overflow(rows, columns, &products) ||
        __builtin_mul_overflow(products, summed, &products) ||
        __builtin_mul_overflow(others, (rows + c->value - 1) / c->value, &most))
        return -1;
    int best = -1;
    for (int i = 0; i < SHARES && most < c->threads; i++) {
        int64_t size = share_rows(c, i);
        if (size < LEAST_ROWS || __builtin_mul_overflow(others, (rows + size - 1) / size, &tasks) ||
            products / LEAST_PRODUCTS < tasks)
            break;
        if (tasks > most)
            best = i, most = tasks;
    }
    return best;
}

/* -1: the usual tiles. */
static int height_of(const tall_choice *c, ix_lookup lookup, void *context) {
    int64_t others, rows;
    if (!c || !extents_of(c, 0, lookup, context, &rows, &others))
        return -1;
    for (int i = 0; i < HEIGHTS; i++) {
        int64_t height = TALLEST >> i, tasks;
        const bool alone = c->threads == 1 && rows > c->value && (rows > height / 2 || i == HEIGHTS - 1);
        if (height > c->value && height <= c->most && !__builtin_mul_overflow(others, (rows + height - 1) / height, &tasks) &&
            (tasks >= TASKS_OF_THREAD * c->threads || alone)) /* a thread has no other to share with */
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
        int64_t width = (int64_t)widths[i].vectors * c->lanes, left = columns % width, pairs = left / (2 * c->lanes);
        int64_t cost = columns / width * widths[i].vectors * widths[i].cost + 2 * pairs * widths[i].cost_left +
                       (left - 2 * pairs * c->lanes + c->lanes - 1) / c->lanes * COST_ALONE;
        if (cost < least)
            least = cost, best = i;
    }
    return best;
}

static bool is_one_tile(const tall_choice *c, ix_lookup lookup, void *context) {
    int64_t summed;
    return c && c->has_store && ix_eval(c->summed->extent, lookup, context, &summed) && summed <= c->tile;
}

int schedule_tall_tiles(const tall_choice *c, ix_lookup lookup, void *context, schedule_setting out[TALL_SETTINGS]) {
    int64_t bytes = 0, row;
    int count = 0;
    const bool near = is_near(c, lookup, context, &bytes), known = size_of_right(c, lookup, context, &row, &bytes);
    const int height = near ? -1 : height_of(c, lookup, context);
    const bool large = known && bytes >= (near ? LEAST_OF_WIDTHS : LEAST_PACKED);
    const int width = near ? width_of(c, lookup, context, bytes) : -1;
    const int share = height >= 0 ? -1 : share_of(c, width < 0 ? 0 : (int64_t)widths[width].vectors * c->lanes, lookup, context);
    if (near) {
        out[count++] = (schedule_setting){.key = "operands", .value = "direct"};
        out[count++] = c->narrow[width];
    } else if (height >= 0) {
        out[count++] = c->heights[height];
    }
    if (share >= 0)
        out[count++] = c->shares[share];
    if ((near || large) && is_one_tile(c, lookup, context))
        out[count++] = (schedule_setting){.key = "sums", .value = "registers"};
    if (large && c->tile)
        out[count++] = (schedule_setting){.key = "edges", .value = "halved"};
    return count;
}

const char *schedule_tall_route(arena *a, const tall_choice *c, ix_lookup lookup, void *context) {
    schedule_setting taken[TALL_SETTINGS];
    const int count = schedule_tall_tiles(c, lookup, context, taken);
    int64_t bytes;
    text_buffer b = {0};
    for (int i = 0; i < count; i++) {
        const char *join = i ? "; " : "";
        if (!strcmp(taken[i].key, "operands")) {
            is_near(c, lookup, context, &bytes);
            text_add(&b,
                     "%sthe right operand, %" PRId64 " bytes, is read in place, in tiles of %s columns: the near cache (%" PRId64
                     " bytes) holds it, so a packed copy would not pay",
                     join, bytes, taken[++i].value, c->cache_bytes);
        } else if (!strcmp(taken[i].key, "sums")) {
            text_add(&b, "%ssums are of one tile, at most %" PRId64 " products, and are stored from registers", join, c->tile);
        } else if (!strcmp(taken[i].key, "edges")) {
            text_add(&b, "%swhat blocks leave over goes in smaller ones", join);
        } else if (atoll(taken[i].value) < c->value) {
            text_add(&b,
                     "%stiles of %s rows in place of %" PRId64 ", which would leave some of the %" PRId64
                     " threads without a task",
                     join, taken[i].value, c->value, c->threads);
        } else if (c->threads == 1) {
            text_add(&b, "%stiles of %s rows in place of %" PRId64 ": the other operand is packed less often", join,
                     taken[i].value, c->value);
        } else {
            text_add(&b,
                     "%stiles of %s rows in place of %" PRId64 ": the tasks are still %d times as many as the threads (%" PRId64
                     "), and the other operand is packed less often",
                     join, taken[i].value, c->value, TASKS_OF_THREAD, c->threads);
        }
    }
    const char *route = count ? arena_strdup(a, text_get(&b)) : NULL;
    text_free(&b);
    return route;
}
