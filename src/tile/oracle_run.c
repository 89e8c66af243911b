/* Running a kernel: tasks, statements, loops. */
#include "tile/oracle_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements of a tile that the oracle likes to work on at a time: they fit a core's cache. */
enum { TASK_ELEMENTS = 1 << 13, TILE_ELEMENTS = 1 << 15 };

static void run_block(oracle *o, const tile_block *b);

/* How much of a loop's range to take at a time: a whole number of its tiles where tiles carry no meaning. */
static int64_t loop_step(const oracle *o, const tile_range *r) {
    int64_t size = o->size[r->id];
    if (o->comparing_tilings || !r->scheduled || o->joins[r->id])
        return size;
    int64_t widest = 1;
    const loop_values *l = &o->loop_values[r->id];
    for (int i = 0; i < l->values.count; i++) {
        const tile_value *v = l->values.at[i];
        int64_t others = 1;
        for (int j = 0; j < v->axis_count; j++)
            if (v->axes[j] != r && (o->in_scope[v->axes[j]->id]) && others < TILE_ELEMENTS)
                others *= o->length[v->axes[j]->id];
        widest = others > widest ? others : widest;
    }
    int64_t step = TILE_ELEMENTS / widest;
    step = step < 16 ? 16 : step > 8192 ? 8192 : step;
    if (size <= step)
        return step / size * size;
    return size <= 8 * step ? size : step;
}

void oracle_run_tiles(oracle *o, const tile_stmt *s, int64_t from, int64_t to) {
    const tile_range *r = s->range;
    int id = r->id;
    int64_t step = loop_step(o, r);
    if (step < 1)
        step = 1;
    for (int64_t at = from; at < to && !o->failed; at = (at / step + 1) * step) { /* tiles lie at multiples of their size */
        int64_t room = step - at % step;
        o->start[id] = at;
        o->length[id] = to - at < room ? to - at : room;
        bool any;
        loop_mask mask;
        bool ok = mask_make(o, s, &mask, &any);
        oracle_free_temporaries(o);
        o->epoch++;
        if (!ok)
            break;
        if (any) {
            o->loops[o->loop_count] = s;
            o->masks[o->loop_count] = mask;
            o->loop_count++;
            run_block(o, &s->body);
            o->loop_count--;
        }
        free(mask.exists);
    }
}

static void run_loop(oracle *o, const tile_stmt *s) {
    int id = s->range->id;
    const oracle_chunks *chunks = o->options->chunks;
    o->in_scope[id] = true;
    o->start[id] = o->length[id] = 0;
    if (chunks && chunks->range == id)
        oracle_run_chunks(o, s, chunks);
    else
        oracle_run_tiles(o, s, 0, o->extent[id]);
    o->in_scope[id] = false;
}

static void run_join(oracle *o, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    variable_state *state = &o->variables[x->id];
    if (!state->fields) {
        oracle_fail(o, "E0704", s->span, "kernel `%s`: `%s` is joined before its declaration", o->k->name, x->name);
        return;
    }
    tensor **parts = NEW_ARRAY(o->memory, tensor *, x->field_count);
    for (int f = 0; f < x->field_count; f++) {
        parts[f] = tensor_settled(o, evaluate(o, s->values[f]));
        if (!parts[f])
            return;
    }
    oracle_join(o, x, state, parts);
}

static void run_statement(oracle *o, const tile_stmt *s) {
    switch (s->kind) {
    case TILE_STMT_LET: {
        tensor *t = evaluate(o, s->value);
        if (!t)
            break;
        if (t->kept) { /* another name, or a variable that may change */
            t = tensor_copy_owned(o, t);
        } else {
            tensor_keep(t);
        }
        o->lets[s->value->id] = t;
        break;
    }
    case TILE_STMT_VAR: variable_declare(o, s->variable); break;
    case TILE_STMT_UPDATE: variable_update(o, s); break;
    case TILE_STMT_JOIN: run_join(o, s); break;
    case TILE_STMT_STORE: oracle_store(o, s); break;
    case TILE_STMT_LOOP: run_loop(o, s); break;
    }
    oracle_free_temporaries(o);
    o->epoch++;
}

static void run_block(oracle *o, const tile_block *b) {
    for (int i = 0; i < b->items.count && !o->failed; i++)
        run_statement(o, b->items.at[i]);
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LET) {
            tensor_free(o->lets[s->value->id]);
            o->lets[s->value->id] = NULL;
        } else if (s->kind == TILE_STMT_VAR) {
            variable_drop(o, s->variable);
        }
    }
}

/* --- preparation --- */
static void collect_values(oracle *o, const tile_value *v, char *seen) {
    if (!v || seen[v->id])
        return;
    seen[v->id] = 1;
    for (int i = 0; i < v->axis_count; i++)
        VEC_PUSH(o->memory, o->loop_values[v->axes[i]->id].values, v);
    for (int i = 0; i < v->operand_count; i++)
        collect_values(o, v->operands[i], seen);
}

/* Loops between a state's declaration and its joins run at the emitted size: a join rounds once per tile. */
static void prepare_block(oracle *o, const tile_block *b, const tile_stmt **stack, int depth, int *declared, char *seen) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        collect_values(o, s->value, seen);
        if (s->kind == TILE_STMT_VAR)
            declared[s->variable->id] = depth;
        if (s->kind == TILE_STMT_JOIN) {
            for (int f = 0; f < s->variable->field_count; f++)
                collect_values(o, s->values[f], seen);
            for (int l = declared[s->variable->id]; l < depth; l++)
                o->joins[stack[l]->range->id] = true;
        }
        if (s->kind == TILE_STMT_LOOP && depth < TILE_DEEPEST_LOOP) {
            stack[depth] = s;
            prepare_block(o, &s->body, stack, depth + 1, declared, seen);
        }
    }
}

static bool extent_of(oracle *o, const index_expr *x, source_span span, const char *what, int64_t *value) {
    if (!ix_eval(x, oracle_lookup, o, value)) {
        oracle_fail(o, "E0704", span, "kernel `%s`: %s has no value: a tile size, static or symbol is not bound", o->k->name,
                    what);
        return false;
    }
    if (*value < 0) {
        oracle_fail(o, "E0701", span, "kernel `%s`: %s is %" PRId64, o->k->name, what, *value);
        return false;
    }
    return true;
}

static bool prepare_arrays(oracle *o) {
    const tile_kernel *k = o->k;
    o->out->array_count = k->arrays.count;
    o->out->outputs = calloc((size_t)k->arrays.count + 1, sizeof *o->out->outputs);
    if (!o->out->outputs)
        return false;
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *x = k->arrays.at[i];
        if (x->rank > ORACLE_MAX_AXES) {
            oracle_fail(o, "E0704", x->span, "kernel `%s`: `%s` has more than %d dimensions", k->name, x->name, ORACLE_MAX_AXES);
            return false;
        }
        int64_t cells = 1, *dims = o->array_dims + i * ORACLE_MAX_AXES, *strides = o->array_strides + i * ORACLE_MAX_AXES;
        for (int d = x->rank - 1; d >= 0; d--) {
            if (!extent_of(o, x->dims[d], x->span, "an extent", &dims[d]))
                return false;
            strides[d] = cells;
            if (__builtin_mul_overflow(cells, dims[d], &cells) || cells > INT64_MAX / 64) {
                oracle_fail(o, "E0701", x->span, "kernel `%s`: `%s` has too many elements", k->name, x->name);
                return false;
            }
        }
        if (x->role == ARRAY_IN)
            continue;
        oracle_output *out = &o->out->outputs[i];
        size_t n = (size_t)(cells ? cells : 1);
        out->cells = cells;
        out->value = calloc(n, sizeof(double));
        out->bound = calloc(n, sizeof(double));
        out->scale = calloc(n, sizeof(double));
        out->written = calloc(n, 1);
        if (!out->value || !out->bound || !out->scale || !out->written) {
            oracle_fail(o, "E0701", x->span, "kernel `%s`: `%s` has %" PRId64 " elements, more than fit in memory", k->name,
                        x->name, cells);
            return false;
        }
    }
    return true;
}

static bool prepare_ranges(oracle *o) {
    for (int i = 0; i < o->k->ranges.count; i++) {
        const tile_range *r = o->k->ranges.at[i];
        if (!extent_of(o, r->extent, r->span, "the extent of a range", &o->extent[i]) ||
            !extent_of(o, r->size, r->span, "a tile size", &o->size[i]))
            return false;
        if (r->whole)
            o->size[i] = o->extent[i];
        if (o->size[i] < 1 && !r->whole) {
            oracle_fail(o, "E0704", r->span, "kernel `%s`: the tile size of `%s` is %" PRId64, o->k->name, r->name, o->size[i]);
            return false;
        }
    }
    return true;
}

/* --- tasks --- */
static void run_task(oracle *o, const int64_t *starts, const int64_t *tiles) {
    for (int i = 0; i < o->k->task.count; i++) {
        int id = o->k->task.at[i]->id;
        o->in_scope[id] = true;
        o->start[id] = starts[i];
        o->length[id] = o->extent[id] - starts[i] < tiles[i] ? o->extent[id] - starts[i] : tiles[i];
    }
    run_block(o, &o->k->body);
    for (int i = 0; i < o->task_tensors.count; i++)
        tensor_free(o->task_tensors.at[i]);
    o->task_tensors.count = 0;
    o->references.count = 0;
}

static void run_tasks(oracle *o) {
    const tile_kernel *k = o->k;
    int n = k->task.count;
    int64_t *tiles = NEW_ARRAY(o->memory, int64_t, n + 1), *counts = NEW_ARRAY(o->memory, int64_t, n + 1),
            *starts = NEW_ARRAY(o->memory, int64_t, n + 1);
    int64_t total = 1, elements = 1;
    for (int i = 0; i < n; i++) {
        int id = k->task.at[i]->id;
        tiles[i] = o->size[id];
        counts[i] = k->task.at[i]->whole ? 1 : (o->extent[id] + tiles[i] - 1) / tiles[i];
        if (__builtin_mul_overflow(total, counts[i], &total))
            total = INT64_MAX;
        int64_t used = tiles[i] < o->extent[id] ? tiles[i] : o->extent[id];
        if (used > 0 && elements < TASK_ELEMENTS)
            elements *= used;
    }
    int64_t first = o->options->first_task, last = o->options->last_task < 0 ? total - 1 : o->options->last_task;
    bool all = first <= 0 && last >= total - 1;
    if (all && !o->comparing_tilings) { /* many small tasks are done together where their size carries no meaning */
        total = 1;
        for (int i = n - 1; i >= 0; i--) {
            const tile_range *r = k->task.at[i];
            if (r->scheduled && !r->whole && tiles[i] < o->extent[r->id]) {
                int64_t together = TASK_ELEMENTS / elements;
                together = together < 1 ? 1 : together > counts[i] ? counts[i] : together;
                tiles[i] *= together;
                elements *= together;
                counts[i] = (o->extent[r->id] + tiles[i] - 1) / tiles[i];
            }
        }
        for (int i = 0; i < n; i++)
            total *= counts[i];
        first = 0;
        last = total - 1;
    }
    for (int64_t task = first < 0 ? 0 : first; task <= last && task < total && !o->failed; task++) {
        int64_t rest = task;
        for (int i = n - 1; i >= 0; i--) {
            starts[i] = rest % counts[i] * tiles[i];
            rest /= counts[i];
        }
        run_task(o, starts, tiles);
    }
}

/* The scale against which a bound is judged: the element's own magnitude, or the mean one of its array where that is larger. */
static void finish_outputs(oracle *o) {
    for (int i = 0; i < o->k->arrays.count; i++) {
        oracle_output *out = &o->out->outputs[i];
        const tile_array *x = o->k->arrays.at[i];
        double sum = 0;
        int64_t count = 0;
        for (int64_t c = 0; c < out->cells; c++) {
            if (!out->written[c]) {
                if (x->role == ARRAY_UPDATE && o->args->data[i])
                    out->value[c] = element_load(x->type, o->args->data[i], c);
            } else if (isfinite(out->value[c])) {
                sum += fabs(out->value[c]);
                count++;
            }
        }
        double mean = count ? sum / (double)count : 0;
        for (int64_t c = 0; c < out->cells; c++)
            if (out->written[c])
                out->scale[c] = fmax(fabs(out->value[c]), mean);
    }
}

bool oracle_run_sized(const tile_kernel *k, const oracle_arguments *args, const oracle_options *options, bool comparing_tilings,
                      oracle_result *out, diag_list *diags) {
    memset(out, 0, sizeof *out);
    arena *memory = arena_new();
    oracle o = {.k = k,
                .args = args,
                .options = options,
                .model = options->model,
                .diags = diags,
                .out = out,
                .memory = memory,
                .comparing_tilings = comparing_tilings,
                .epoch = 1};
    if (!o.model)
        o.model = arithmetic_model_find("c");
    int ranges = k->ranges.count + 1, values = k->value_count + 1;
    o.start = NEW_ARRAY(memory, int64_t, ranges);
    o.length = NEW_ARRAY(memory, int64_t, ranges);
    o.extent = NEW_ARRAY(memory, int64_t, ranges);
    o.size = NEW_ARRAY(memory, int64_t, ranges);
    o.position = NEW_ARRAY(memory, int64_t, ranges);
    o.in_scope = NEW_ARRAY(memory, bool, ranges);
    o.joins = NEW_ARRAY(memory, bool, ranges);
    o.loop_values = NEW_ARRAY(memory, loop_values, ranges);
    o.variables = NEW_ARRAY(memory, variable_state, k->variables.count + 1);
    o.memo = NEW_ARRAY(memory, tensor *, values);
    o.memo_epoch = NEW_ARRAY(memory, int, values);
    o.lets = NEW_ARRAY(memory, tensor *, values);
    o.array_dims = NEW_ARRAY(memory, int64_t, (k->arrays.count + 1) * ORACLE_MAX_AXES);
    o.array_strides = NEW_ARRAY(memory, int64_t, (k->arrays.count + 1) * ORACLE_MAX_AXES);
    const tile_stmt *stack[TILE_DEEPEST_LOOP + 1];
    prepare_block(&o, &k->body, stack, 0, NEW_ARRAY(memory, int, k->variables.count + 1), arena_alloc(memory, (size_t)values));
    if (prepare_arrays(&o) && prepare_ranges(&o))
        run_tasks(&o);
    oracle_free_temporaries(&o);
    if (!o.failed)
        finish_outputs(&o);
    arena_free(memory);
    if (o.failed)
        oracle_free(out);
    return !o.failed;
}

bool oracle_run(const tile_kernel *k, const oracle_arguments *args, const oracle_options *options, oracle_result *out,
                diag_list *diags) {
    return oracle_run_sized(k, args, options, false, out, diags);
}

void oracle_free(oracle_result *r) {
    for (int i = 0; r->outputs && i < r->array_count; i++) {
        free(r->outputs[i].value);
        free(r->outputs[i].bound);
        free(r->outputs[i].scale);
        free(r->outputs[i].written);
    }
    free(r->outputs);
    memset(r, 0, sizeof *r);
}
