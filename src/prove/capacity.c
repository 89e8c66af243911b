/* Capacity: memory and threads against the target's limits. Constant arithmetic. */
#include "prove/model.h"
#include <inttypes.h>

static void judge_bytes(prover *p, memory_space space, int64_t bytes, int64_t limit) {
    const kernel_ir *k = p->kernel;
    const char *name = space_names[space];
    bool any = false;
    for (int i = 0; i < k->arrays.count; i++)
        any = any || k->arrays.at[i]->space == space;
    if (!any)
        return;
    prover_start(p);
    if (bytes < 0)
        prover_unknown(p, name, k->span, NULL, arena_printf(p->arena, "the size of a %s array, which is not a constant", name));
    else if (bytes > limit)
        prover_refuted(p, name, k->span, NULL,
                       arena_printf(p->arena, "`%s` needs %" PRId64 " bytes of %s memory, %s has %" PRId64, k->name, bytes, name,
                                    p->limits->target ? p->limits->target : "the target", limit),
                       arena_printf(p->arena, "%" PRId64 " bytes too many", bytes - limit));
    else
        prover_proved(p, name, k->span);
}

/* Register arrays must be of constant size; how many registers they take is the target's matter. */
static void judge_registers(prover *p) {
    bool any = false;
    prover_start(p);
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        any = any || a->space == SPACE_REGISTER;
        if (a->space == SPACE_REGISTER && kernel_array_cells(a) < 0) {
            prover_unknown(p, a->name, a->span, NULL,
                           arena_printf(p->arena, "the size of `%s`, which is not a constant", a->name));
            return;
        }
    }
    if (any)
        prover_proved(p, "register", p->kernel->span);
}

static void judge_threads(prover *p) {
    const kernel_ir *k = p->kernel;
    int64_t threads = 1;
    if (k->levels.count < 2)
        return;
    prover_start(p);
    if (!p->limits->has_lanes) {
        prover_refuted(p, k->name, k->span, NULL,
                       arena_printf(p->arena, "`%s` has levels below the task, the target has none", k->name), NULL);
        return;
    }
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *l = &k->levels.at[i];
        for (int j = 0; l->kind > LEVEL_BLOCK && j < l->rank; j++) {
            int64_t extent;
            if (!ix_is_const(l->extents[j], &extent) || extent < 0 || __builtin_mul_overflow(threads, extent, &threads)) {
                prover_unknown(p, k->name, k->span, NULL, "the number of threads of a block, which is not a constant");
                return;
            }
        }
    }
    if (threads > p->limits->threads_per_block)
        prover_refuted(p, k->name, k->span, NULL,
                       arena_printf(p->arena, "a block of `%s` has %" PRId64 " threads, the target allows %" PRId64, k->name,
                                    threads, p->limits->threads_per_block),
                       NULL);
    else
        prover_proved(p, k->name, k->span);
}

void judge_capacity(prover *p) {
    judge_bytes(p, SPACE_PRIVATE, kernel_private_bytes(p->kernel), p->limits->private_bytes);
    judge_bytes(p, SPACE_SHARED, kernel_shared_bytes(p->kernel), p->limits->shared_bytes);
    judge_registers(p);
    judge_threads(p);
}
