/* Whether a launch has too few tasks for its device when each row of results has a subgroup: then a row takes a block. */
#include "schedule/lower.h"
#include <inttypes.h>
#include <string.h>

/* Blocks of the usual size that fill a quarter of a processor: 2048 threads, blocks of 128. An H200 was quicker with a row for a block below 3 of them,
 * and with a row for a subgroup from 6 on, at rows of 1536 and 8960 f16 weights. */
enum { BLOCKS_OF_QUARTER = 4 };

typedef struct sizes {
    const schedule_choice *chosen;
    ix_lookup lookup;
    void *context;
} sizes;

static bool number_of(void *context, const index_var *v, int64_t *value) {
    const sizes *s = context;
    for (int i = 0; v->kind == INDEX_TILE && i < s->chosen->bindings.count; i++)
        if (!strcmp(s->chosen->bindings.at[i].name, v->name)) {
            *value = s->chosen->bindings.at[i].value;
            return true;
        }
    return s->lookup(s->context, v, value);
}

/* Tasks of the kernel under a choice; -1: not known. */
static int64_t tasks_of(const tile_kernel *k, const schedule_choice *chosen, ix_lookup lookup, void *context) {
    sizes s = {chosen, lookup, context};
    int64_t tasks = 1;
    for (int i = 0; i < k->task.count; i++) {
        const tile_range *r = k->task.at[i];
        int64_t size, extent;
        if (r->whole)
            continue;
        if (!ix_eval(r->extent, number_of, &s, &extent) || !ix_eval(r->size, number_of, &s, &size) || size < 1 || extent < 0 ||
            __builtin_mul_overflow(tasks, (extent + size - 1) / size, &tasks))
            return -1;
    }
    return tasks;
}

static bool same_sizes(const schedule_choice *x, const schedule_choice *y) {
    bool same = x->bindings.count == y->bindings.count;
    for (int i = 0; same && i < x->bindings.count; i++)
        same = x->bindings.at[i].value == y->bindings.at[i].value;
    return same;
}

struct few_choice {
    const tile_kernel *kernel;
    schedule_choice many;
    int64_t most; /* tasks */
};

const few_choice *schedule_few(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                               const schedule_setting *settings, int setting_count, split_device device) {
    if (!device.blocks || !option_target_has(row, "tasks") || !schedule_has_option(k, "tasks"))
        return NULL;
    schedule_setting *wanted = NEW_ARRAY(a, schedule_setting, setting_count + 1);
    for (int i = 0; i < setting_count; i++)
        wanted[i] = settings[i];
    wanted[setting_count] = (schedule_setting){.key = "tasks", .value = "few"};
    schedule_choice few;
    few_choice *c = NEW(a, few_choice);
    diag_list quiet;
    diag_init(&quiet, a);
    if (!schedule_choose_settings(a, m, k, row, settings, setting_count, &c->many, &quiet) || c->many.options.tasks ||
        !schedule_choose_settings(a, m, k, row, wanted, setting_count + 1, &few, &quiet) || same_sizes(&c->many, &few))
        return NULL;
    c->kernel = k;
    c->most = (int64_t)device.units * BLOCKS_OF_QUARTER;
    return c;
}

bool schedule_few_tasks(const few_choice *c, ix_lookup lookup, void *context) {
    int64_t tasks = c ? tasks_of(c->kernel, &c->many, lookup, context) : -1;
    return tasks >= 1 && tasks <= c->most;
}

const char *schedule_few_route(arena *a, const few_choice *c, ix_lookup lookup, void *context) {
    if (!schedule_few_tasks(c, lookup, context))
        return NULL;
    int64_t tasks = tasks_of(c->kernel, &c->many, lookup, context);
    return arena_printf(
        a, "tasks: few: %" PRId64 " block%s of a row for each subgroup would leave three quarters of the device idle", tasks,
        tasks == 1 ? "" : "s");
}
