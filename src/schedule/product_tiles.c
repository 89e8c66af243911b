/* Tiles of a product, by matrix instructions or of f32 by single threads, for one launch: of a few that differ in shape the one that a model of the device takes least time for. Settings are few,
 * so launches of many shapes share their code. What a schedule or the caller says of tiles, subgroups, stages or operands stands. Which tilings the kernel can have does
 * not depend on the launch: each is asked about once. */
#include "schedule/lower.h"
#include "schedule/product_model.h"
#include <inttypes.h>
#include <string.h>

static const tiling tilings[] = {
    {128, 256, 64, 8, 1, true, true, false},  {256, 128, 64, 8, 1, true, true, false},  {128, 128, 64, 8, 1, true, true, false},
    {128, 64, 64, 8, 1, true, true, false},   {64, 256, 64, 4, 1, true, true, false},   {64, 128, 64, 4, 1, true, true, false},
    {64, 64, 64, 4, 1, true, true, false},    {128, 256, 64, 8, 1, true, false, false}, {256, 128, 64, 8, 1, true, false, false},
    {128, 128, 64, 8, 1, true, false, false}, {128, 64, 64, 8, 1, true, false, false},  {64, 256, 64, 4, 1, true, false, false},
    {64, 128, 64, 4, 1, true, false, false},  {64, 64, 64, 4, 1, true, false, false},   {128, 128, 32, 2, 2, false, false, false},
    {128, 64, 64, 2, 2, false, false, false}, {64, 128, 64, 2, 2, false, false, false}, {64, 64, 32, 2, 2, false, false, false},
    {64, 64, 64, 2, 2, false, false, false},  {32, 64, 64, 2, 2, false, false, false},  {32, 32, 64, 2, 2, false, false, false},
    {16, 32, 64, 1, 4, false, false, false},  {128, 128, 8, 2, 4, false, false, true},  {128, 128, 8, 2, 2, false, false, true},
    {64, 128, 16, 1, 4, false, false, true},  {64, 128, 8, 1, 4, false, false, true},   {64, 64, 32, 1, 4, false, false, true},
    {64, 64, 16, 2, 2, false, false, true},   {32, 64, 32, 1, 4, false, false, true},   {32, 64, 16, 1, 4, false, false, true},
    {32, 32, 32, 1, 4, false, false, true},
};
enum { TILINGS = sizeof tilings / sizeof *tilings };

/* The kernel's products: ranges of their results and of the sum, each in tiles of one symbol, the same of all. */
typedef struct products {
    const tile_range *rows, *columns, *summed;
    int bytes; /* of an operand's element, 1, 2 or 4: a product of bytes is, to the model, one of half as many pairs, one of words of twice as many */
    product_work work;
    VEC(index_expr *) ends; /* elements of a row of each operand's array: a producer copies those at multiples of 16 bytes */
} products;

typedef struct search {
    arena *arena;
    const matrix_table *matrices;
    products *found;
    int value_count;
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
static int stride_score(arena *a, const tile_value *v, const tile_range *r, unsigned char *seen) {
    int sum = 0;
    if (seen[v->id]++ || !tile_has_axis(v, r))
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
        sum += stride_score(a, v->operands[i], r, seen);
    return sum;
}

/* The range that threads stand along as columns: the first of the product's own that its operands' loads are contiguous along; the last if they are along the
 * sum alone. It says which operand is the instruction's left one, whatever the source's order of them. */
static const tile_range *columns_of(arena *a, const tile_value *v, int value_count) {
    const tile_range *out = NULL;
    int best = 0;
    for (int i = 0; i < v->axis_count; i++) {
        int score = 0;
        for (int o = 0; o < 2; o++)
            score += stride_score(a, v->operands[o], v->axes[i], NEW_ARRAY(a, unsigned char, value_count));
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
    s->found->work.operations +=
        !strcmp(tile_op_table[v->op].kind, "math") ? OF_FUNCTION : v->op != TILE_DOT && v->operand_count > 0;
    if (v->op != TILE_DOT || s->other)
        return s->other;
    const tile_value *x = v->operands[0], *y = v->operands[1];
    const int bytes = element_table[x->type].block_bytes;
    const bool single = x->type == ELEMENT_F32 && y->type == ELEMENT_F32;
    bool fits = x->type == y->type && (bytes == 2 || x->type == ELEMENT_I8 || x->type == ELEMENT_TF32 || single) &&
                (!s->found->bytes || (s->found->bytes == bytes && s->found->work.single == single)) && v->contract_count == 1 &&
                (single || matrix_row_of(s->matrices, x->type, accumulator_type(v))) && note(&s->found->summed, v->contract[0]);
    const tile_range *columns = fits ? columns_of(s->arena, v, s->value_count) : NULL;
    for (int i = 0; i < v->axis_count && fits; i++) {
        const tile_range *r = v->axes[i];
        if (range_capacity(r) != 1)
            fits = tile_has_axis(x, r) != tile_has_axis(y, r) && note(r == columns ? &s->found->columns : &s->found->rows, r);
    }
    for (int o = 0; o < 2 && fits; o++) {
        const tile_value *operand = v->operands[o];
        if (operand->op == TILE_LOAD && operand->array->rank > 0)
            VEC_PUSH(s->arena, s->found->ends, operand->array->dims[operand->array->rank - 1]);
        else
            s->found->work.computed = true;
    }
    s->other = !fits;
    s->found->bytes = bytes;
    s->found->work.count++;
    s->found->work.bytes = single ? 4 : 2; /* of bytes a pair */
    s->found->work.single = single;
    return s->other;
}

static bool find_products(arena *a, const tile_kernel *k, const matrix_table *t, products *out) {
    *out = (products){0};
    search s = {a, t, out, k->value_count, false};
    tile_block_some(&k->body, k->value_count, look, &s);
    return out->work.count && !s.other && tiled(out->rows) && tiled(out->columns) && tiled(out->summed) &&
           out->rows->size->var != out->columns->size->var && out->rows->size->var != out->summed->size->var &&
           out->columns->size->var != out->summed->size->var;
}

/* ---- what is the same for all launches ---- */

struct product_choice {
    arena *arena;
    const tile_module *module;
    const tile_kernel *kernel;
    const machine_model *row;
    const schedule_setting *settings;
    int setting_count;
    split_device device;
    products found;
    tiling_cost costs[TILINGS];
    bool asked[TILINGS]; /* whether the schedule takes it; then costs[i].none says why it does not */
    schedule_setting own[TILINGS][PRODUCT_SETTINGS];
};

static bool is_said(const schedule_setting *settings, int count, const tile_schedule *given, const char *key) {
    for (int i = 0; i < count; i++)
        if (!strcmp(settings[i].key, key))
            return true;
    for (int i = 0; given && i < given->entries.count; i++)
        if (!strcmp(given->entries.at[i].key, key))
            return true;
    return false;
}

/* The settings that the tiling is. */
static void settings_of(const product_choice *c, int number, schedule_setting out[PRODUCT_SETTINGS]) {
    const tiling *t = &tilings[number];
    const tile_range *const ranges[] = {c->found.rows, c->found.columns, c->found.summed};
    const int sizes[] = {t->rows, t->columns, t->single ? t->step : t->step * 2 / c->found.bytes};
    for (int i = 0; i < 3; i++)
        out[i] = (schedule_setting){.key = ranges[i]->size->var->name, .value = arena_printf(c->arena, "%d", sizes[i])};
    out[3] =
        (schedule_setting){.key = "subgroups", .value = arena_printf(c->arena, "%dx%d", t->subgroup_rows, t->subgroup_columns)};
    out[4] = (schedule_setting){.key = "operands",
                                .value = t->single       ? "staged"
                                         : t->warpgroups ? "fragments(warpgroup)"
                                                         : "fragments"};
    out[5] = (schedule_setting){.key = "roles", .value = "producer"};
}

static int count_of(int number) {
    return tilings[number].producer ? PRODUCT_SETTINGS : PRODUCT_SETTINGS - 1;
}

product_choice *schedule_products(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                                  const schedule_setting *settings, int setting_count, split_device device) {
    static const char *const others[] = {"subgroups", "stages", "operands", "roles"};
    const tile_schedule *given = module_schedule(m, k, row->target, settings, setting_count);
    product_choice c = {a, m, k, row, settings, setting_count, device, .found = {0}};
    if (!device.blocks || device.units < 2 || !row->matrices.count || !find_products(a, k, &row->matrices, &c.found))
        return NULL;
    const tile_range *const ranges[] = {c.found.rows, c.found.columns, c.found.summed};
    for (int i = 0; i < 3; i++)
        if (is_said(settings, setting_count, given, ranges[i]->size->var->name))
            return NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_said(settings, setting_count, given, others[i]))
            return NULL;
    product_choice *out = NEW(a, product_choice);
    *out = c;
    for (int i = 0; i < TILINGS; i++) {
        out->costs[i] = product_cost(a, &tilings[i], &c.found.work, row, &device);
        out->asked[i] = out->costs[i].none != NULL;
    }
    return out;
}

static const char *refusal(arena *a, const diag_list *said) {
    const diag *g = said->items.count ? said->items.at[0] : NULL;
    if (!g)
        return "the schedule refuses it";
    return g->notes.count ? arena_printf(a, "%s: %s", g->message, g->notes.at[0]) : g->message;
}

/* Tilings by matrix instructions and those of single threads are for different products. */
static bool is_of_kind(const product_choice *c, int number) {
    return tilings[number].single == c->found.work.single;
}

/* Whether the kernel can have the tiling. */
static bool is_taken(product_choice *c, int number) {
    if (!c->asked[number]) {
        schedule_setting *all = NEW_ARRAY(c->arena, schedule_setting, c->setting_count + PRODUCT_SETTINGS);
        schedule_choice made;
        diag_list quiet;
        diag_init(&quiet, c->arena);
        settings_of(c, number, c->own[number]);
        for (int i = 0; i < c->setting_count + count_of(number); i++)
            all[i] = i < c->setting_count ? c->settings[i] : c->own[number][i - c->setting_count];
        if (!schedule_choose_settings(c->arena, c->module, c->kernel, c->row, all, c->setting_count + count_of(number), &made,
                                      &quiet))
            c->costs[number].none = refusal(c->arena, &quiet);
        c->asked[number] = true;
    }
    return !c->costs[number].none;
}

/* ---- one launch ---- */

typedef struct launch_extents {
    int64_t rows, columns, summed, times;
    bool bulk; /* rows of operands lie so that a producer may copy them */
} launch_extents;

/* Tasks for each of the product's tiles: other ranges of tasks, of one element each. False: not known. */
static bool beside(const tile_kernel *k, const products *p, ix_lookup lookup, void *context, int64_t *out) {
    *out = 1;
    for (int i = 0; i < k->task.count; i++) {
        const tile_range *r = k->task.at[i];
        int64_t extent, size;
        if (r == p->rows || r == p->columns)
            continue;
        if (r->whole || !ix_is_const(r->size, &size) || size < 1 || !ix_eval(r->extent, lookup, context, &extent) ||
            __builtin_mul_overflow(*out, (extent + size - 1) / size, out) || *out > INT32_MAX)
            return false;
    }
    return true;
}

static bool extents_of(const product_choice *c, ix_lookup lookup, void *context, launch_extents *out) {
    const int64_t most = 1 << 30;
    const products *p = &c->found;
    out->bulk = true;
    for (int i = 0; i < p->ends.count; i++) {
        int64_t elements;
        out->bulk = out->bulk && ix_eval(p->ends.at[i], lookup, context, &elements) && elements % PLAN_DIVIDED == 0;
    }
    if (!ix_eval(p->rows->extent, lookup, context, &out->rows) || !ix_eval(p->columns->extent, lookup, context, &out->columns) ||
        !ix_eval(p->summed->extent, lookup, context, &out->summed) || !beside(c->kernel, p, lookup, context, &out->times) ||
        out->rows < 1 || out->columns < 1 || out->summed < 1 || out->rows > most || out->columns > most || out->summed > most)
        return false;
    if (!p->work.single)
        out->summed = (out->summed * p->bytes + 1) / 2;
    return true;
}

/* The tiling of the least time, other than `but` (-1: none is left out); -1: there is none. */
static int best_of(product_choice *c, const launch_extents *e, int but, int64_t *time) {
    int64_t times[TILINGS];
    for (int i = 0; i < TILINGS; i++)
        times[i] = i == but || c->costs[i].none || (tilings[i].producer && !e->bulk)
                       ? -1
                       : product_clocks(&tilings[i], &c->costs[i], &c->device, e->rows, e->columns, e->summed, e->times);
    for (;;) {
        int best = -1;
        for (int i = 0; i < TILINGS; i++)
            if (times[i] >= 0 && (best < 0 || times[i] < times[best]))
                best = i;
        if (best < 0 || is_taken(c, best)) {
            *time = best < 0 ? 0 : times[best];
            return best;
        }
        times[best] = -1;
    }
}

int schedule_product_tiles(product_choice *c, ix_lookup lookup, void *context, schedule_setting out[PRODUCT_SETTINGS]) {
    launch_extents e;
    int64_t time;
    int best = c && extents_of(c, lookup, context, &e) ? best_of(c, &e, -1, &time) : -1;
    if (best < 0)
        return 0;
    memcpy(out, c->own[best], sizeof c->own[best]);
    return count_of(best);
}

/* ---- for people ---- */

static void add_tiling(text_buffer *b, const product_choice *c, const tiling *t) {
    text_add(b, "%d x %d x %d%s", t->rows, t->columns, t->single ? t->step : t->step * 2 / c->found.bytes,
             t->single       ? (t->subgroup_rows * t->subgroup_columns == 8 ? " by 256 threads" : " by 128 threads")
             : t->producer   ? " by warpgroups and a producer"
             : t->warpgroups ? " by warpgroups"
                             : "");
}

static void add_time(text_buffer *b, const product_choice *c, int64_t clocks) {
    if (c->device.clock_khz > 0)
        text_add(b, "%.1f us", (double)clocks * 1e3 / c->device.clock_khz);
    else
        text_add(b, "%" PRId64 " clocks", clocks);
}

/* Those that are none for the kernel, a line for each reason. */
static void add_refused(text_buffer *b, product_choice *c, const char *between) {
    bool told[TILINGS] = {false};
    for (int i = 0; i < TILINGS; i++) {
        if (told[i] || !is_of_kind(c, i) || is_taken(c, i))
            continue;
        text_add(b, "%srefused: ", between);
        for (int j = i; j < TILINGS; j++) {
            if (told[j] || !is_of_kind(c, j) || is_taken(c, j) || strcmp(c->costs[j].none, c->costs[i].none) != 0)
                continue;
            text_add(b, "%s", j == i ? "" : ", ");
            add_tiling(b, c, &tilings[j]);
            told[j] = true;
        }
        text_add(b, ": %s", c->costs[i].none);
    }
}

const char *schedule_product_route(arena *a, product_choice *c, ix_lookup lookup, void *context, const char *between) {
    launch_extents e;
    int64_t time, other;
    if (!c || !extents_of(c, lookup, context, &e))
        return NULL;
    text_buffer b = {0};
    int best = best_of(c, &e, -1, &time), next = best < 0 ? -1 : best_of(c, &e, best, &other);
    if (best < 0) {
        text_add(&b, "no tiles by a model of the device: the schedule's own");
    } else {
        const tiling *t = &tilings[best];
        text_add(&b, "tiles of ");
        add_tiling(&b, c, t);
        text_add(&b, " by a model of the device: %" PRId64 " of them, ",
                 (e.rows + t->rows - 1) / t->rows * ((e.columns + t->columns - 1) / t->columns) * e.times);
        add_time(&b, c, time);
    }
    if (next >= 0) {
        text_add(&b, "; the next best, ");
        add_tiling(&b, c, &tilings[next]);
        text_add(&b, ", ");
        add_time(&b, c, other);
    }
    if (!e.bulk && !c->found.work.single)
        text_add(&b, "%srefused: a producer: rows of operands are no multiples of %d elements in this launch", between,
                 PLAN_DIVIDED);
    text_add(&b, "%s%s", between, product_model_says(a, &c->device));
    add_refused(&b, c, between);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}
