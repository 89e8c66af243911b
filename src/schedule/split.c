/* Whether a launch splits its kernel's loop over tasks of their own, and into chunks of how many elements. */
#include "tile/split.h"
#include "schedule/lower.h"
#include <inttypes.h>
#include <string.h>

/* Values that a block computes in a chunk at least: fewer are done before the second kernel has started. */
enum { LEAST_VALUES = 1 << 14, MOST_CHUNKS = 1 << 16 };
/* Blocks of 128 threads that keep a processor's memory busy (an H200 was quickest with 5 to 15 of them: sums of 8192 columns, of 10^8 elements); of others two, where
 * their chunks are long (attention over 32768 keys: 27 us for 43). */
enum { BLOCKS_A_PROCESSOR = 8, LONG_BLOCKS_A_PROCESSOR = 2, LONG = 8 };

struct split_sizes {
    schedule_choice chosen;
};

const split_sizes *schedule_split_sizes(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                                        const schedule_setting *settings, int setting_count, split_device device) {
    const char *why;
    bool fixed = true;
    for (int i = 0; i < k->symbols.count; i++)
        fixed = fixed && k->symbols.at[i]->kind != INDEX_STATIC;
    /* products have tiles for each launch (product_tiles.c), and rows of their own (few_tasks.c) */
    if (!device.blocks || !fixed || schedule_has_option(k, "operands") || !split_loop(k, &why))
        return NULL;
    split_sizes *s = NEW(a, split_sizes);
    diag_list quiet;
    diag_init(&quiet, a);
    return schedule_choose_settings(a, m, k, row, settings, setting_count, &s->chosen, &quiet) ? s : NULL;
}

static bool from_settings(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                          const schedule_setting *settings, int count, int64_t *chunk, diag_list *diags) {
    const tile_schedule *given = module_schedule(m, k, row->target, settings, count);
    schedule_setting found = {0};
    for (int i = 0; given && i < given->entries.count; i++)
        if (!strcmp(given->entries.at[i].key, "split"))
            found = (schedule_setting){"split", joined_words(a, &given->entries.at[i]), given->entries.at[i].span};
    for (int i = 0; i < count; i++)
        if (!strcmp(settings[i].key, "split"))
            found = settings[i];
    option_place place = {k, row, found.span.line ? found.span : k->span, diags};
    *chunk = 0;
    return !found.key || option_chunk(&place, &found, chunk);
}

typedef struct launch {
    const split_sizes *sizes;
    ix_lookup lookup;
    void *context;
} launch;

/* A tile size that the schedule will choose counts as one element where it is not known: there may be that many tasks. */
static bool number_of(void *context, const index_var *v, int64_t *value) {
    const launch *l = context;
    *value = 1;
    for (int i = 0; v->kind == INDEX_TILE && l->sizes && i < l->sizes->chosen.bindings.count; i++)
        if (!strcmp(l->sizes->chosen.bindings.at[i].name, v->name))
            *value = l->sizes->chosen.bindings.at[i].value;
    return v->kind == INDEX_TILE || l->lookup(l->context, v, value);
}

static int64_t product(int64_t x, int64_t y) {
    int64_t z;
    return __builtin_mul_overflow(x, y, &z) ? INT64_MAX : z;
}

/* Elements that a task has of the widest value in the loop, for each of the loop's. */
static int64_t widest_of(const tile_value *v, const tile_range *along, launch *l, unsigned char *seen) {
    if (seen[v->id]++)
        return 1;
    int64_t elements = 1, size, extent;
    for (int i = 0; i < v->axis_count; i++)
        if (v->axes[i] != along && ix_eval(v->axes[i]->size, number_of, l, &size) &&
            ix_eval(v->axes[i]->extent, number_of, l, &extent))
            elements = product(elements, size < extent ? size : extent);
    for (int i = 0; i < v->operand_count; i++) {
        int64_t of_operand = widest_of(v->operands[i], along, l, seen);
        elements = of_operand > elements ? of_operand : elements;
    }
    return elements;
}

static int64_t widest_in(const tile_block *b, const tile_range *along, launch *l, unsigned char *seen) {
    int64_t most = 1;
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        int64_t here = s->value ? widest_of(s->value, along, l, seen) : 1, inside = widest_in(&s->body, along, l, seen);
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++) {
            int64_t field = widest_of(s->values[f], along, l, seen);
            here = field > here ? field : here;
        }
        most = here > most ? here : most;
        most = inside > most ? inside : most;
    }
    return most;
}

/* A power of two, `least` or more, of which `chunks` go over the extent. */
static int64_t chunk_length(int64_t extent, int64_t chunks, int64_t least) {
    int64_t length = 1;
    while (length < least || product(length, chunks) < extent)
        length *= 2;
    return length;
}

bool schedule_split(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                    const schedule_setting *settings, int setting_count, split_device device, const split_sizes *sizes,
                    ix_lookup lookup, void *context, int64_t *chunk, const char **route, diag_list *diags) {
    *route = NULL;
    if (!from_settings(a, m, k, row, settings, setting_count, chunk, diags))
        return false;
    const char *why;
    const tile_stmt *loop = *chunk < 0 || (!*chunk && !device.blocks) ? NULL : split_loop(k, &why);
    launch l = {sizes, lookup, context};
    int64_t tasks = 1, extent = 0, units = (int64_t)device.units * (sizes ? BLOCKS_A_PROCESSOR : 1);
    if (*chunk > 0 || !loop) {
        if (*chunk > 0)
            *route = arena_printf(a, "split: over `%s`, chunks of %" PRId64 " as the schedule says", loop->range->name, *chunk);
        *chunk = *chunk > 0 ? *chunk : 0;
        return true;
    }
    for (int i = 0; i < k->task.count; i++) {
        int64_t size, length;
        const tile_range *r = k->task.at[i];
        if (!ix_eval(r->extent, number_of, &l, &length) || !ix_eval(r->size, number_of, &l, &size) || size < 1)
            return true;
        tasks = product(tasks, r->whole ? 1 : (length + size - 1) / size);
    }
    if (!ix_eval(split_reach(a, loop), number_of, &l, &extent) || tasks < 1 || tasks > units / 2)
        return true;
    int64_t each = widest_in(&loop->body, loop->range, &l, arena_alloc(a, (size_t)k->value_count + 1));
    int64_t length = chunk_length(extent, units / tasks, LEAST_VALUES / each);
    if (!sizes) {
        int64_t shorter = chunk_length(extent, units * LONG_BLOCKS_A_PROCESSOR / tasks, LEAST_VALUES * LONG / each);
        length = shorter < length ? shorter : length;
    }
    if (length >= extent || extent / length > MOST_CHUNKS)
        return true;
    *chunk = length;
    *route = arena_printf(a, "split: over `%s`, chunks of %" PRId64 ": %" PRId64 " task%s would leave most of the device idle",
                          loop->range->name, length, tasks, tasks == 1 ? "" : "s");
    return true;
}
