/* A program's texts against the Kernel IR of its steps, in its order. */
#include "base/file.h"
#include "base/temporary.h"
#include "command/arguments.h"
#include "command/program.h"
#include "command/read_back.h"
#include "command/read_back_parts.h"
#include "run/built.h"
#include <stdlib.h>
#include <string.h>

typedef struct program_back {
    report *r;
    arena *a;
    const tile_program *program;
    program_build build;
    run_call *call; /* its arrays and the values of its symbols; nothing is launched by it */
    void **given;   /* what the arguments held at first, by array */
} program_back;

static bool takes(const program_back *x, const char *name) {
    for (int i = 0; i < x->program->symbols.count; i++)
        if (!strcmp(x->program->symbols.at[i]->name, name))
            return true;
    return false;
}

/* Symbols and scalars: what --shape says; floats that nobody gives are 0.75, integers the least that they may be. */
static bool give_values(program_back *x, const command_line *line) {
    name_values given;
    run_call *c = x->call;
    if (!command_name_values(line, "--shape", x->a, &given, &x->r->diags))
        return false;
    for (int i = 0; i < given.items.count; i++)
        if (takes(x, given.items.at[i].name) &&
            !call_set_symbol(c, given.items.at[i].name, given.items.at[i].value, &x->r->diags))
            return false;
    for (int i = 0; i < x->program->scalars.count; i++) {
        const tile_scalar *s = x->program->scalars.at[i];
        int64_t lo = 1;
        double value = 0.75;
        if (s->var)
            value = s->var->lo && ix_is_const(s->var->lo, &lo) ? (double)lo : 1;
        else if (s->type == ELEMENT_BOOL)
            value = 1;
        for (int j = 0; j < given.items.count; j++)
            if (!strcmp(given.items.at[j].name, s->name))
                value = (double)given.items.at[j].value;
        if (!call_bind_scalar(c, s->name, value, &x->r->diags))
            return false;
    }
    return true;
}

static bool make_arrays(program_back *x) {
    run_call *c = x->call;
    argument_list list = {.arena = x->a, .call = c, .diags = &x->r->diags};
    for (int i = 0; i < x->program->arrays.count; i++)
        if (x->program->arrays.at[i]->role != ARRAY_OUT &&
            !arguments_add(&list, arena_printf(x->a, "%s=random:%d", x->program->arrays.at[i]->name, i + 1)))
            return false;
    if (!call_solve(c, &x->r->diags) || !arguments_fill(&list))
        return false;
    x->given = NEW_ARRAY(x->a, void *, c->arrays.count + 1);
    for (int i = 0; i < c->arrays.count; i++) {
        host_array *h = &c->arrays.at[i].host;
        if (!h->data) {
            if (!call_allocate(c, i, &x->r->diags))
                return false;
            memset(h->data, 0xa5, (size_t)h->bytes);
        }
        x->given[i] = arena_alloc(x->a, (size_t)h->bytes + 1);
        memcpy(x->given[i], h->data, (size_t)h->bytes);
    }
    return true;
}

/* The array of the step's kernel that one of its plan's stands for. */
static int array_of_step(const call_step *s, const char *name) {
    for (int i = 0; i < s->kernel->arrays.count; i++)
        if (!strcmp(s->kernel->arrays.at[i]->name, name))
            return s->arrays[i];
    return -1;
}

static bool scalar_of_step(const program_back *x, const call_step *s, const char *name, double *value) {
    for (int i = 0; i < s->kernel->scalars.count; i++)
        if (!strcmp(s->kernel->scalars.at[i]->name, name)) {
            *value = x->call->scalars.at[s->scalars[i]].value;
            return true;
        }
    return false;
}

static bool lacks(const program_back *x, const kernel_ir *k, const char *name) {
    diag_error(&x->r->diags, "E0643", k->span, "nothing in %s says what `%s` of `%s` is", x->program->name, name, k->name);
    return false;
}

/* One step with the data that the steps before it left; what it makes is left for those after it. */
static bool run_step(program_back *x, int i, back *b, bool all) {
    const call_step *s = &x->call->steps.at[i];
    const kernel_ir *k = b->plan->variants.at[0].kernel;
    sim_launch launch = {.kernel = k,
                         .integers = NEW_ARRAY(x->a, int64_t, k->symbols.count + k->scalars.count + 1),
                         .floats = NEW_ARRAY(x->a, float, k->scalars.count + 1)};
    read_back_data *data = NEW_ARRAY(x->a, read_back_data, k->arrays.count + 1);
    int count = 0, next = k->symbols.count, floats = 0;
    for (int n = 0; n < k->symbols.count; n++) {
        int at = binding_find_symbol(&s->binding, k->symbols.at[n]->name);
        if (at < 0 || !s->binding.known[at])
            return lacks(x, k, k->symbols.at[n]->name);
        launch.integers[n] = s->binding.values[at];
    }
    for (int n = 0; n < k->scalars.count; n++) {
        double value;
        if (!scalar_of_step(x, s, k->scalars.at[n].name, &value))
            return lacks(x, k, k->scalars.at[n].name);
        if (k->scalars.at[n].var)
            launch.integers[next++] = (int64_t)value;
        else
            launch.floats[floats++] = (float)value;
    }
    for (int n = 0; n < k->arrays.count; n++) {
        const kernel_array *array = k->arrays.at[n];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        int at = array_of_step(s, array->name);
        if (at < 0)
            return lacks(x, k, array->name);
        data[count++] = (read_back_data){x->call->arrays.at[at].host.data, x->call->arrays.at[at].host.bytes};
    }
    return read_back_step(b, &launch, data, all);
}

/* An earlier step whose texts are this one's. */
static back *same_texts(const program_back *x, back *const *steps, int i) {
    for (int j = 0; j < i; j++) {
        bool same = x->build.plans[j] == x->build.plans[i] && steps[j]->entry_count == steps[i]->entry_count && !steps[j]->same;
        for (int e = 0; same && e < steps[i]->entry_count; e++)
            same = !strcmp(steps[j]->entries[e]->name, steps[i]->entries[e]->name);
        if (same)
            return steps[j];
    }
    return NULL;
}

/* ---- the program's own text ---- */

/* What a symbol is: the call's value, or, of one that results alone mention, an extent of such a result. */
static bool value_of(const program_back *x, const index_var *v, int64_t *value) {
    const run_call *c = x->call;
    int at = binding_find_symbol(&c->binding, v->name);
    if (at >= 0 && c->binding.known[at]) {
        *value = c->binding.values[at];
        return true;
    }
    for (int i = 0; i < x->program->arrays.count; i++) {
        const tile_array *array = x->program->arrays.at[i];
        for (int g = 0, d = 0; g < array->group_count; d += array->groups[g++])
            if (array->groups[g] == 1 && array->dims[d]->op == IX_VAR && array->dims[d]->var == v) {
                *value = c->arrays.at[i].host.dims[g];
                return true;
            }
    }
    diag_error(&x->r->diags, "E0643", x->program->span, "nothing says what `%s` is: --shape %s=N", v->name, v->name);
    return false;
}

/* NULL with a diagnostic. */
static const char *values_text(const program_back *x) {
    text_buffer b = {0};
    const run_call *c = x->call;
    for (int i = 0; i < x->program->symbols.count; i++)
        if (x->program->symbols.at[i]->kind == INDEX_SYMBOL) {
            int64_t value;
            if (!value_of(x, x->program->symbols.at[i], &value)) {
                text_free(&b);
                return NULL;
            }
            text_add(&b, "%s%lld", b.length ? ", " : "", (long long)value);
        }
    for (int i = 0; i < x->program->scalars.count; i++) {
        const tile_scalar *s = x->program->scalars.at[i];
        text_add(&b, s->var ? "%s%.0f" : "%s%a", b.length ? ", " : "", c->scalars.at[i].value);
    }
    const char *text = arena_strdup(x->a, text_get(&b));
    text_free(&b);
    return text;
}

static bool same_arrays(program_back *x, const built_array *made) {
    for (int i = 0; i < x->program->arrays.count; i++) {
        const host_array *h = &x->call->arrays.at[i].host;
        const element_info *e = &element_table[h->type];
        int64_t size = e->block_bytes;
        for (int64_t n = 0; made[i].written && n < h->bytes / size; n++) {
            const char *w = (const char *)h->data + n * size, *g = (const char *)made[i].data + n * size;
            bool single = e->block_elements == 1, same = !memcmp(w, g, (size_t)size);
            double want = single ? element_load(h->type, h->data, n) : 0,
                   got = single ? element_load(h->type, made[i].data, n) : 0;
            if (same || (single && e->is_float && want != want && got != got))
                continue;
            diag_error(&x->r->diags, "E0874", x->program->span,
                       "the text of %s gives %s[%lld] = %.9g, its steps' Kernel IR in order %.9g", x->program->name,
                       x->program->arrays.at[i]->name, (long long)n, got, want);
            return false;
        }
    }
    return true;
}

/* Compiles the text that `build` writes, or `file`, and calls it on what the arguments held at first. */
static bool run_text(program_back *x, const target *t, const char *file, bool *checked, bool *ran) {
    diag_list *diags = &x->r->diags;
    const char *name = cfamily_legal(x->a, x->program->name);
    char *folder = built_folder(diags);
    if (!folder)
        return false;
    bool good = target_build_program(t, &x->build, folder, diags);
    if (good && file) {
        size_t length;
        const char *text = file_read(x->a, file, FILE_SOURCE_LIMIT, &length, diags);
        good = text && file_write(arena_printf(x->a, "%s/%s.c", folder, name), text, length, diags);
    }
    int count = x->program->arrays.count;
    built_array *arrays = NEW_ARRAY(x->a, built_array, count + 1);
    for (int i = 0; i < count; i++) {
        arrays[i] = (built_array){.bytes = x->call->arrays.at[i].host.bytes,
                                  .data = arena_alloc(x->a, (size_t)x->call->arrays.at[i].host.bytes + 1),
                                  .written = x->program->arrays.at[i]->role != ARRAY_IN};
        memcpy(arrays[i].data, x->given[i], (size_t)arrays[i].bytes);
    }
    built_call call = {.name = name, .folder = folder, .arrays = arrays, .array_count = count, .values = values_text(x)};
    *ran = good && call.values && built_run(x->a, &call, x->program->span, checked, diags);
    good = *ran && same_arrays(x, arrays);
    temporary_remove(folder);
    free(folder);
    return good;
}

static bool tell_text(program_back *x, const target *t, const char *file, json_t *texts) {
    bool checked = false, ran = false, same = run_text(x, t, file, &checked, &ran);
    if (texts)
        json_array_append_new(texts, json_pack("{s:s, s:b}", "text", x->program->name, "same", same));
    else
        printf("  read back     %s, its steps in order: %s%s\n", x->program->name,
               same  ? "the same results, bit for bit"
               : ran ? "NOT the same"
                     : "it did not run to its end",
               same && !checked ? " (the compiler has no checks of addresses)" : "");
    report_flush(x->r);
    return same;
}

/* Runs the steps' Kernel IR in order; unless the program's text comes from a file, each step's text is compared with it. */
static bool compare_steps(program_back *x, const target *t, bool all, bool file, json_t *texts) {
    int count = x->program->calls.count;
    back **steps = NEW_ARRAY(x->a, back *, count + 1);
    source_language language = SOURCE_C;
    bool held = true;
    for (int i = 0; i < count; i++) {
        steps[i] = NEW(x->a, back);
        *steps[i] = (back){.r = x->r, .a = x->a, .label = arena_printf(x->a, "%s, step %d: ", x->program->name, i + 1)};
        if (!read_back_open(steps[i], t, x->build.plans[i], &language) || !run_step(x, i, steps[i], all))
            return false;
        steps[i]->same = same_texts(x, steps, i);
    }
    if (!file)
        read_back_read(steps, count, language);
    for (int i = 0; i < count && !file; i++) {
        read_back_tell(steps[i], texts);
        held = held && !steps[i]->failed;
    }
    return held;
}

bool read_back_program(report *r, const command_line *line, const tile_module *m, const tile_program *p, const compile_options *o,
                       json_t *list) {
    const char *what = option_value(line, "--read-back");
    const target *own = target_find("c");
    bool all = !strcmp(what, "all"), file = !all && strcmp(what, "quickest");
    program_back x = {.r = r, .a = r->arena, .program = p};
    double proof_ms;
    if (file && o->target != own) {
        diag_error(&r->diags, "E0875", p->span, "%s is a program: only target c has its text in one file", p->name);
        return false;
    }
    if (!program_compile(r, m, p, *o, &x.build, &proof_ms))
        return false;
    session *s = session_open(NULL, &r->diags);
    x.call = s ? call_new(s, m, p->name, &r->diags) : NULL;
    json_t *texts = r->json ? json_array() : NULL;
    bool held = x.call && give_values(&x, line) && make_arrays(&x);
    held = held && compare_steps(&x, o->target, all, file, texts);
    if (held && o->target == own)
        held = tell_text(&x, own, file ? what : NULL, texts);
    if (texts)
        json_array_append_new(list, json_pack("{s:s, s:b, s:o}", "program", p->name, "held", held, "read_back", texts));
    if (x.call)
        call_free(x.call);
    if (s)
        session_close(s);
    report_flush(r);
    return held;
}
