/* Solving a call: the shapes of every array, through each kernel of a program. */
#include "run/session_parts.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The extents of a bound array are those given: they were compared with the declaration. Others follow from the symbols. */
static bool settle_extents(run_call *c, const binding *b, int array, const tile_array *declared, diag_list *diags) {
    host_array *h = &c->arrays.at[array].host;
    int64_t dims[BINDING_MAX_RANK];
    if (declared->group_count > BINDING_MAX_RANK || !binding_extents(b, declared, dims)) {
        diag *g = diag_error(diags, "E0643", declared->span, "the shape of `%s` is not known", c->arrays.at[array].name);
        diag_note(diags, g, "known are: %s", *binding_text(b) ? binding_text(b) : "no symbols");
        return false;
    }
    h->rank = declared->group_count;
    h->cells = 1;
    for (int d = 0; d < h->rank; d++) {
        h->dims[d] = dims[d];
        if (__builtin_mul_overflow(h->cells, dims[d], &h->cells))
            h->cells = -1;
    }
    h->bytes = h->cells < 0 ? -1 : host_array_bytes(h->type, h->rank, h->dims);
    if (h->bytes < 0) {
        diag_error(diags, "E0648", declared->span, "`%s` has more elements than memory can hold", c->arrays.at[array].name);
        return false;
    }
    const element_info *info = &element_table[h->type];
    if (info->block_elements > 1 && h->rank && h->dims[h->rank - 1] % info->block_elements) {
        diag_error(diags, "E0644", declared->span,
                   "the last dimension of `%s` is %" PRId64 ", not a whole number of %s blocks of %d", c->arrays.at[array].name,
                   h->dims[h->rank - 1], info->name, info->block_elements);
        return false;
    }
    return true;
}

static call_step *new_step(run_call *c, const tile_kernel *k) {
    call_step step = {.kernel = k};
    binding_init(&step.binding, c->arena, signature_of_kernel(k));
    step.arrays = NEW_ARRAY(c->arena, int, k->arrays.count + 1);
    step.scalars = NEW_ARRAY(c->arena, int, k->scalars.count + 1);
    VEC_PUSH(c->arena, c->steps, step);
    return &c->steps.at[c->steps.count - 1];
}

static int find_array(const run_call *c, const char *name) {
    for (int i = 0; i < c->arrays.count; i++)
        if (strcmp(c->arrays.at[i].name, name) == 0)
            return i;
    return -1;
}

static bool step_inputs(run_call *c, const tile_call *call, call_step *step, diag_list *diags) {
    const tile_kernel *k = step->kernel;
    int given = 0;
    for (int i = 0; i < k->arguments.count; i++) {
        if (given >= call->arguments.count) {
            diag_error(diags, "E0652", call->span, "%s is called with too few arguments", k->name);
            return false;
        }
        const char *name = call->arguments.at[given++];
        if (k->argument_is_scalar.at[i]) {
            const tile_scalar *s = k->arguments.at[i];
            int from = binding_find_scalar(&c->binding, name), to = binding_find_scalar(&step->binding, s->name);
            if (from < 0 || to < 0) {
                diag_error(diags, "E0652", call->span, "`%s` is not a scalar of program %s", name, c->binding.signature.name);
                return false;
            }
            step->scalars[to] = from;
            continue;
        }
        const tile_array *t = k->arguments.at[i];
        int from = find_array(c, name), to = binding_find_array(&step->binding, t->name);
        if (from < 0 || to < 0) {
            diag_error(diags, "E0652", call->span, "`%s` is not an array that exists when %s is called", name, k->name);
            return false;
        }
        const call_array *x = &c->arrays.at[from];
        if (!session_type_fits(t->type, x->host.type)) {
            diag_error(diags, "E0647", call->span, "`%s` is %s, but %s wants %s for `%s`", name, element_table[x->host.type].name,
                       k->name, element_table[t->type].name, t->name);
            return false;
        }
        step->arrays[to] = from;
        if (!binding_set_shape(&step->binding, to, x->host.rank, x->host.dims, diags))
            return false;
    }
    return true;
}

/* Symbols of the callee that the call binds (CH = 4096), that the user gave, or that are the program's own under the same name. */
static bool step_symbols(run_call *c, const tile_call *call, call_step *step, diag_list *diags) {
    for (int i = 0; i < call->bind_names.count; i++) {
        int64_t value;
        if (!binding_evaluate(&c->binding, call->bind_values.at[i], &value)) {
            diag_error(diags, "E0643", call->span, "the value of %s in the call of %s is not known", call->bind_names.at[i],
                       step->kernel->name);
            return false;
        }
        if (!binding_set_symbol(&step->binding, call->bind_names.at[i], value, "the program's call", diags))
            return false;
    }
    for (int i = 0; i < c->extra.count; i++) {
        int at = binding_find_symbol(&step->binding, c->extra.at[i].name);
        if (at >= 0 && !step->binding.known[at] &&
            !binding_set_symbol(&step->binding, c->extra.at[i].name, c->extra.at[i].value, "the value given", diags))
            return false;
    }
    return true;
}

static void take_memory(call_array *to, call_array *from) {
    to->device = from->device;
    to->device_room = from->device_room;
    to->host.data = from->host.data;
    to->host.owned = from->host.owned;
    to->host.room = from->host.room;
    from->device = from->host.data = NULL;
    from->host.owned = false;
}

static bool step_outputs(run_call *c, const tile_call *call, call_step *step, diag_list *diags) {
    const tile_kernel *k = step->kernel;
    int given = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *t = k->arrays.at[i];
        if (t->role == ARRAY_IN)
            continue;
        if (given >= call->results.count) {
            diag_error(diags, "E0652", call->span, "%s gives more results than the call names", k->name);
            return false;
        }
        const char *name = call->results.at[given++];
        int at = find_array(c, name);
        if (at < 0) {
            if (t->role == ARRAY_UPDATE) {
                diag_error(diags, "E0652", call->span, "`%s` is updated by %s before anything made it", name, k->name);
                return false;
            }
            call_array temporary = {.name = name, .declared = t, .temporary = true};
            at = c->arrays.count;
            if (at < c->spare.count) /* memory of an earlier shape's */
                take_memory(&temporary, &c->spare.at[at]);
            temporary.host.type = t->type;
            VEC_PUSH(c->arena, c->arrays, temporary);
        }
        step->arrays[i] = at;
        call_array *x = &c->arrays.at[at];
        if (x->host.type != t->type) {
            diag_error(diags, "E0647", call->span, "`%s` is %s, but %s gives %s", name, element_table[x->host.type].name, k->name,
                       element_table[t->type].name);
            return false;
        }
        /* What exists already (an updated array, an output of the program) tells its shape to the kernel. */
        if (!x->temporary && x->host.rank && (x->declared->role == ARRAY_UPDATE || c->binding.shapes[at].given) &&
            !binding_set_shape(&step->binding, i, x->host.rank, x->host.dims, diags))
            return false;
    }
    return true;
}

/* The extents the kernel gives its results become the temporaries'; a program's own outputs are compared with its declaration. */
static bool settle_results(run_call *c, const tile_call *call, call_step *step, diag_list *diags) {
    for (int i = 0; i < step->kernel->arrays.count; i++) {
        const tile_array *t = step->kernel->arrays.at[i];
        if (t->role != ARRAY_OUT)
            continue;
        int at = step->arrays[i];
        int64_t declared[BINDING_MAX_RANK];
        bool own = at < c->binding.signature.array_count;
        bool known = own && binding_extents(&c->binding, c->arrays.at[at].declared, declared);
        if (!settle_extents(c, &step->binding, at, t, diags))
            return false;
        for (int d = 0; known && d < c->arrays.at[at].host.rank; d++)
            if (declared[d] != c->arrays.at[at].host.dims[d]) {
                diag_error(diags, "E0644", call->span,
                           "dimension %d of `%s` is %" PRId64 " from %s, but program %s declares %" PRId64, d,
                           c->arrays.at[at].name, c->arrays.at[at].host.dims[d], step->kernel->name, c->binding.signature.name,
                           declared[d]);
                return false;
            }
    }
    return true;
}

const tile_program *call_program(const run_call *c) {
    return c->program ? c->program : c->split;
}

static bool lookup(void *context, const index_var *v, int64_t *value) {
    const run_call *c = context;
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    if (v->kind == INDEX_SCALAR) {
        int at = binding_find_scalar(&c->binding, v->name);
        *value = at < 0 ? 0 : (int64_t)c->scalars.at[at].value;
        return at >= 0 && c->scalars.at[at].bound;
    }
    int at = binding_find_symbol(&c->binding, v->name);
    if (at < 0 || !c->binding.known[at])
        return false;
    *value = c->binding.values[at];
    return true;
}

static int bits_of(int64_t n) {
    int bits = 0;
    for (; n > 0; n /= 2)
        bits++;
    return bits;
}

/* Chunks are as many, or a loop that runs as it is about as long: what was solved stays. */
static bool reaches_alike(const run_call *c, int64_t reach) {
    return c->split ? (reach + c->chunk - 1) / c->chunk == c->chunk_count : bits_of(reach) == bits_of(c->reach);
}

void call_scalar_changed(run_call *c, const tile_scalar *s) {
    const char *why;
    if (!c->shapes_solved || !c->kernel || c->keeps_whole || !s->var ||
        !(c->split || c->session->target->machine()->subgroup_lanes))
        return;
    const tile_stmt *loop = split_loop(c->kernel, &why);
    arena *scratch = arena_new();
    index_expr *end = loop ? split_reach(scratch, loop) : NULL;
    int64_t reach;
    if (end && ix_mentions(end, s->var) && !(ix_eval(end, lookup, c, &reach) && reaches_alike(c, reach)))
        c->shapes_solved = c->prepared = false;
    arena_free(scratch);
}

/* Whether this launch of a kernel runs in two, and how. */
static bool choose_split(run_call *c, diag_list *diags) {
    session *s = c->session;
    c->split = NULL;
    const machine_model *row = s->target->machine();
    if (!c->kernel || c->keeps_whole)
        return true;
    for (int i = 0; i < c->settings.count; i++)
        if (strcmp(c->settings.at[i].key, "split") != 0 && !session_takes_setting(c->kernel, c->settings.at[i].key))
            return true; /* the compiler says what is wrong with it */
    if (!schedule_split(c->arena, c->module, c->kernel, row, c->settings.at, c->settings.count, session_processors(s),
                        session_split_sizes(c), lookup, c, &c->chunk, &c->split_route, diags))
        return false;
    const char *why;
    const tile_stmt *loop = split_loop(c->kernel, &why);
    bool known = loop && ix_eval(split_reach(c->arena, loop), lookup, c, &c->reach);
    if (!c->chunk || !known) /* a scalar is still to come */
        return true;
    tile_split *split = NULL;
    for (int i = 0; i < s->splits.count; i++)
        split = s->splits.at[i]->whole == c->kernel ? s->splits.at[i] : split;
    if (!split) {
        split = split_kernel(s->arena, c->kernel);
        VEC_PUSH(s->arena, s->splits, split);
    }
    c->chunk_count = (c->reach + c->chunk - 1) / c->chunk;
    c->split = split_program(c->arena, split, c->chunk, c->chunk_count);
    return true;
}

static bool solve_steps(run_call *c, int own, diag_list *diags) {
    if (!binding_solve(&c->binding, c->kernel != NULL, diags) || !choose_split(c, diags))
        return false;
    for (int i = 0; i < own; i++) {
        const tile_array *t = c->arrays.at[i].declared;
        int64_t dims[BINDING_MAX_RANK];
        bool later = c->program && t->role == ARRAY_OUT && !binding_extents(&c->binding, t, dims);
        if (!later && !settle_extents(c, &c->binding, i, t, diags))
            return false;
    }
    const tile_program *program = call_program(c);
    if (!program) {
        call_step *step = new_step(c, c->kernel);
        step->binding = c->binding;
        for (int i = 0; i < own; i++)
            step->arrays[i] = i;
        for (int i = 0; i < c->scalars.count; i++)
            step->scalars[i] = i;
    } else {
        for (int i = 0; i < program->calls.count; i++) {
            const tile_call *call = program->calls.at[i];
            call_step *step = new_step(c, call->kernel);
            if (!step_inputs(c, call, step, diags) || !step_symbols(c, call, step, diags) ||
                !step_outputs(c, call, step, diags) || !binding_solve(&step->binding, true, diags) ||
                !settle_results(c, call, step, diags))
                return false;
        }
    }
    return true;
}

static void release_spare(run_call *c) {
    for (int i = 0; i < c->spare.count; i++) {
        if (c->spare.at[i].device && !c->session->shares_memory)
            c->session->runtime->release(c->session->device, c->spare.at[i].device);
        if (c->spare.at[i].host.owned && c->spare.at[i].host.data)
            free(c->spare.at[i].host.data);
    }
    c->spare.count = 0;
}

bool call_solve(run_call *c, diag_list *diags) {
    if (c->shapes_solved)
        return true;
    int own = c->binding.signature.array_count;
    c->steps.count = 0;
    if (c->arrays.count > own) { /* temporaries of an earlier shape */
        release_spare(c);
        for (int i = 0; i < c->arrays.count; i++) {
            VEC_PUSH(c->arena, c->spare, c->arrays.at[i]);
            if (i < own) /* it stands for its place alone */
                c->spare.at[i].device = c->spare.at[i].host.data = NULL;
        }
        c->arrays.count = own;
    }
    bool solved = solve_steps(c, own, diags);
    release_spare(c);
    c->shapes_solved = solved;
    return solved;
}
