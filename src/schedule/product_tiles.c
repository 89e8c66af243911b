/* Tiles of a product by matrix instructions for one launch: of a few that differ in shape the one that a model of the device takes least time for. Settings are few,
 * so launches of many shapes share their code. What a schedule or the caller says of tiles, subgroups, stages or operands stands. */
#include "schedule/lower.h"
#include <inttypes.h>
#include <string.h>

typedef struct tiling {
    int rows, columns, step, subgroup_rows, subgroup_columns;
    bool warpgroups;
} tiling;

static const tiling tilings[] = {
    {128, 256, 64, 8, 1, true}, {256, 128, 64, 8, 1, true}, {128, 128, 64, 8, 1, true}, {128, 64, 64, 8, 1, true},
    {64, 256, 64, 4, 1, true},  {64, 128, 64, 4, 1, true},  {64, 64, 64, 4, 1, true},   {128, 128, 32, 2, 2, false},
    {128, 64, 64, 2, 2, false}, {64, 128, 64, 2, 2, false}, {64, 64, 32, 2, 2, false},  {64, 64, 64, 2, 2, false},
    {32, 64, 64, 2, 2, false},  {32, 32, 64, 2, 2, false},  {16, 32, 64, 1, 4, false},
};
enum { TILINGS = sizeof tilings / sizeof *tilings };

/* A processor of an H200, in clocks: multiply-adds of each kind, bytes from shared memory and from the far cache; clocks until a copy lands, until a block has begun
 * and stored; what blocks share. */
enum {
    BY_WARPGROUP = 1800,
    BY_SUBGROUP = 1000,
    SHARED_BYTES = 128,
    FAR_BYTES = 40,
    FAR_BY_SUBGROUP = 24, /* copies wait behind the loads of fragments */
    LANDING = 900,
    AROUND = 2500,
    STORED_BYTES = 24,
    ALL_SHARED = 227 * 1024,
    ALL_REGISTERS = 64 * 1024,
    MOST_RESIDENT_THREADS = 2048,
    OTHER_REGISTERS = 64,
    OF_FUNCTION = 25, /* operations, about */
    AFTER_EACH = 4,   /* clocks from one to the next in a thread */
    BUSY_THREADS = 512,
    BUSY_SUBGROUPS = 8,
    MOST_REGISTERS = 255
};

/* The kernel's products: ranges of their results and of the sum, each in tiles of one symbol, the same of all. */
typedef struct products {
    const tile_range *rows, *columns, *summed;
    int count, bytes;
    int operations; /* of the kernel's values, about: what becomes of a result */
} products;

typedef struct search {
    arena *arena;
    const matrix_table *matrices;
    products *found;
    bool other; /* a product of another form */
} search;

static bool tiled(const tile_range *r) {
    return r && !r->whole && r->size->op == IX_VAR && r->size->var->kind == INDEX_TILE;
}

static bool note(const tile_range **at, const tile_range *r) {
    if (*at && *at != r)
        return false;
    *at = r;
    return true;
}

/* How the operand's loads go along r: 1 for each that reads neighbours, -2 for each that strides. As lower_plan.c counts before anything is held. */
static int stride_score(arena *a, const tile_value *v, const tile_range *r) {
    int sum = 0;
    if (!tile_has_axis(v, r))
        return 0;
    for (int d = 0; v->op == TILE_LOAD && d < v->array->rank; d++) {
        int64_t coefficient;
        index_expr *rest;
        if (ix_mentions(v->indices[d], r->var))
            sum += d == v->array->rank - 1 && ix_coefficient(a, v->indices[d], r->var, &coefficient, &rest) && coefficient == 1
                       ? 1
                       : -2;
    }
    for (int i = 0; i < v->operand_count; i++)
        sum += stride_score(a, v->operands[i], r);
    return sum;
}

/* The range that threads stand along as columns: the first of the product's own that its operands' loads are contiguous along; the last if they are along the
 * sum alone. It says which operand is the instruction's left one, whatever the source's order of them. */
static const tile_range *columns_of(arena *a, const tile_value *v) {
    const tile_range *out = NULL;
    int best = 0;
    for (int i = 0; i < v->axis_count; i++) {
        int score = stride_score(a, v->operands[0], v->axes[i]) + stride_score(a, v->operands[1], v->axes[i]);
        if (score > best)
            best = score, out = v->axes[i];
    }
    for (int i = v->axis_count - 1; i >= 0 && !out; i--)
        if (range_capacity(v->axes[i]) != 1 &&
            tile_has_axis(v->operands[0], v->axes[i]) != tile_has_axis(v->operands[1], v->axes[i]))
            out = v->axes[i];
    return out;
}

static bool look(const tile_value *v, void *context) {
    search *s = context;
    s->found->operations += !strcmp(tile_op_table[v->op].kind, "math") ? OF_FUNCTION : v->op != TILE_DOT && v->operand_count > 0;
    if (v->op != TILE_DOT || s->other)
        return s->other;
    const tile_value *x = v->operands[0], *y = v->operands[1];
    bool fits = x->type == y->type && element_table[x->type].block_bytes == 2 && v->contract_count == 1 &&
                matrix_row_of(s->matrices, x->type, accumulator_type(v)) && note(&s->found->summed, v->contract[0]);
    const tile_range *columns = fits ? columns_of(s->arena, v) : NULL;
    for (int i = 0; i < v->axis_count && fits; i++) {
        const tile_range *r = v->axes[i];
        if (range_capacity(r) != 1)
            fits = tile_has_axis(x, r) != tile_has_axis(y, r) && note(r == columns ? &s->found->columns : &s->found->rows, r);
    }
    s->other = !fits;
    s->found->count++;
    s->found->bytes = element_table[x->type].block_bytes;
    return s->other;
}

static bool find_products(arena *a, const tile_kernel *k, const matrix_table *t, products *out) {
    *out = (products){0};
    search s = {a, t, out, false};
    tile_block_some(&k->body, k->value_count, look, &s);
    return out->count && !s.other && tiled(out->rows) && tiled(out->columns) && tiled(out->summed) &&
           out->rows->size->var != out->columns->size->var && out->rows->size->var != out->summed->size->var &&
           out->columns->size->var != out->summed->size->var;
}

/* ---- the model ---- */

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}
static int64_t greatest(int64_t x, int64_t y) {
    return x > y ? x : y;
}
static int64_t up(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}

/* Clocks that the launch takes; -1: the tiling is none for it. */
static int64_t clocks(const tiling *t, const products *p, const machine_model *row, split_device device, int64_t m, int64_t n,
                      int64_t k, int64_t tasks_beside) {
    const int threads = row->subgroup_lanes * t->subgroup_rows * t->subgroup_columns;
    const int64_t accumulated = (int64_t)p->count * t->rows * t->columns / threads,
                  slot = (int64_t)p->count * (t->rows + t->columns) * t->step * p->bytes,
                  room = t->warpgroups ? row->warpgroup_bytes : row->ring_bytes;
    const int64_t stages = least(t->warpgroups ? row->warpgroup_stages : row->stages, room / slot),
                  ahead = t->warpgroups ? stages - 2 : stages - 1, registers = accumulated + OTHER_REGISTERS;
    if (ahead < 1 || registers > MOST_REGISTERS)
        return -1;
    const int64_t resident =
        least(least(ALL_SHARED / (stages * slot + 1024), ALL_REGISTERS / (threads * registers)), MOST_RESIDENT_THREADS / threads);
    if (resident < 1)
        return -1;
    /* what one step of one block takes of the processor */
    const int64_t multiplied = (int64_t)p->count * t->rows * t->columns * t->step / (t->warpgroups ? BY_WARPGROUP : BY_SUBGROUP);
    const int64_t wide = t->columns / t->subgroup_columns;
    const int64_t read = t->warpgroups ? (int64_t)t->rows / 64 * t->subgroup_columns * (64 + wide)
                                       : (int64_t)t->subgroup_columns * t->rows + (int64_t)t->subgroup_rows * t->columns;
    const int64_t shared = p->count * (read + t->rows + t->columns) * t->step * p->bytes / SHARED_BYTES,
                  far = slot / (t->warpgroups ? FAR_BYTES : FAR_BY_SUBGROUP);
    const int64_t each = greatest(multiplied, greatest(shared, far)), steps = up(k, t->step);
    /* what it takes at least, however few others there are: its subgroups wait for their own fragments */
    const int64_t alone = t->warpgroups ? multiplied : multiplied * BUSY_SUBGROUPS / (t->subgroup_rows * t->subgroup_columns);
    const int64_t tasks = up(m, t->rows) * up(n, t->columns) * tasks_beside, at_once = device.units * resident;
    const int64_t stored = (int64_t)t->rows * t->columns * 4 / STORED_BYTES, computed = accumulated * p->operations * AFTER_EACH;
    int64_t sum = 0;
    for (int i = 0; i < 2; i++) { /* whole waves, then what is left, whose blocks have more of the processor each */
        const int64_t waves = i ? tasks % at_once > 0 : tasks / at_once,
                      blocks = i ? up(tasks % at_once, device.units) : resident;
        if (waves)
            sum += waves * (steps * greatest(blocks * each, greatest(LANDING / ahead, alone)) + AROUND + blocks * stored +
                            computed * greatest(blocks * threads, BUSY_THREADS) / BUSY_THREADS);
    }
    return sum;
}

/* ---- the choice ---- */

static bool is_said(const schedule_setting *settings, int count, const tile_schedule *given, const char *key) {
    for (int i = 0; i < count; i++)
        if (!strcmp(settings[i].key, key))
            return true;
    for (int i = 0; given && i < given->entries.count; i++)
        if (!strcmp(given->entries.at[i].key, key))
            return true;
    return false;
}

/* Tasks for each of the product's tiles: other ranges of tasks, of one element each. False: not known. */
static bool beside(const tile_kernel *k, const products *p, ix_lookup lookup, void *context, int64_t *out) {
    *out = 1;
    for (int i = 0; i < k->task.count; i++) {
        const tile_range *r = k->task.at[i];
        int64_t extent, size;
        if (r == p->rows || r == p->columns)
            continue;
        if (r->whole || !ix_is_const(r->size, &size) || size < 1 || !ix_eval(r->extent, lookup, context, &extent) ||
            __builtin_mul_overflow(*out, up(extent, size), out) || *out > INT32_MAX)
            return false;
    }
    return true;
}

int schedule_product_tiles(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                           const schedule_setting *settings, int setting_count, split_device device, ix_lookup lookup,
                           void *context, schedule_setting out[PRODUCT_SETTINGS], const char **route) {
    static const char *const others[] = {"subgroups", "stages", "operands"};
    const tile_schedule *given = module_schedule(m, k, row->target);
    products p;
    int64_t rows, columns, summed, tasks_beside;
    *route = NULL;
    if (!device.blocks || device.units < 2 || !row->matrices.count || !find_products(a, k, &row->matrices, &p))
        return 0;
    const char *const tiles[] = {p.rows->size->var->name, p.columns->size->var->name, p.summed->size->var->name};
    for (int i = 0; i < 3; i++)
        if (is_said(settings, setting_count, given, tiles[i]) || is_said(settings, setting_count, given, others[i]))
            return 0;
    const int64_t most = 1 << 30;
    if (!ix_eval(p.rows->extent, lookup, context, &rows) || !ix_eval(p.columns->extent, lookup, context, &columns) ||
        !ix_eval(p.summed->extent, lookup, context, &summed) || !beside(k, &p, lookup, context, &tasks_beside) || rows < 1 ||
        columns < 1 || summed < 1 || rows > most || columns > most || summed > most)
        return 0;
    bool refused[TILINGS] = {false};
    for (;;) {
        int best = -1;
        int64_t time = 0;
        for (int i = 0; i < TILINGS; i++) {
            if (refused[i] || (tilings[i].warpgroups && !(device.warpgroups && row->warpgroups_pay)))
                continue;
            int64_t c = clocks(&tilings[i], &p, row, device, rows, columns, summed, tasks_beside);
            if (c >= 0 && (best < 0 || c < time))
                best = i, time = c;
        }
        if (best < 0)
            return 0;
        const tiling *t = &tilings[best];
        const int sizes[] = {t->rows, t->columns, t->step};
        int count = 0;
        for (int i = 0; i < 3; i++)
            out[count++] = (schedule_setting){.key = tiles[i], .value = arena_printf(a, "%d", sizes[i])};
        out[count++] =
            (schedule_setting){.key = "subgroups", .value = arena_printf(a, "%dx%d", t->subgroup_rows, t->subgroup_columns)};
        out[count++] = (schedule_setting){.key = "operands", .value = t->warpgroups ? "fragments(warpgroup)" : "fragments"};
        schedule_setting *all = NEW_ARRAY(a, schedule_setting, setting_count + count);
        for (int i = 0; i < setting_count + count; i++)
            all[i] = i < setting_count ? settings[i] : out[i - setting_count];
        schedule_choice made;
        diag_list quiet;
        diag_init(&quiet, a);
        if (schedule_choose_settings(a, m, k, row, all, setting_count + count, &made, &quiet)) {
            *route = arena_printf(a, "tiles of %d x %d by a model of the device: %" PRId64 " of them on %d processors", t->rows,
                                  t->columns, up(rows, t->rows) * up(columns, t->columns) * tasks_beside, device.units);
            return count;
        }
        refused[best] = true;
    }
}
