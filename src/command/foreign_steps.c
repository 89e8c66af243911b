/* tilec run k.cl with several launches in order, as a host program makes them: partial sums and their sum, a stencil back and forth. */
#include "command/foreign_launch.h"
#include "command/foreign_plan.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* An argument of the kernel's is called so by the host; a number: it is that. */
typedef struct renamed {
    const char *own, *host;
    bool number;
} renamed;

typedef struct step {
    const char *kernel;
    VEC(renamed) names;
} step;

/* An array of the host's. */
typedef struct memory {
    const char *name;
    npy_array shape; /* with its bytes, heap memory */
    bool written;
} memory;

typedef struct host {
    report *r;
    arena *a;
    const command_line *line;
    const char *path;
    VEC(memory) memories;
    bool *used; /* options that some step had a use for */
    json_t *list;
} host;

static const char *trimmed(arena *a, const char *text, size_t n) {
    while (n && isspace((unsigned char)*text))
        text++, n--;
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return arena_strndup(a, text, n);
}

static bool wrong(host *h, const char *text) {
    diag *g = diag_error(&h->r->diags, "E0860", (source_span){0}, "step %s: KERNEL, or KERNEL(NAME=OTHER, ..)", text);
    diag_note(&h->r->diags, g, "NAME is an argument of the kernel's, OTHER the host's name for it or a number");
    return false;
}

static bool read_step(host *h, const char *text, step *out) {
    size_t n = strlen(text);
    const char *open = n && text[n - 1] == ')' ? strrchr(text, '(') : NULL;
    *out = (step){.kernel = trimmed(h->a, text, open ? (size_t)(open - text) : n)};
    if (!*out->kernel)
        return wrong(h, text);
    for (const char *at = open ? open + 1 : ""; *at && *at != ')';) {
        size_t length = strcspn(at, ",)"), equals = strcspn(at, "=");
        if (equals >= length)
            return wrong(h, text);
        renamed one = {trimmed(h->a, at, equals), trimmed(h->a, at + equals + 1, length - equals - 1), false};
        char *end;
        strtod(one.host, &end);
        one.number = *one.host && !*end;
        if (!*one.own || !*one.host)
            return wrong(h, text);
        for (int i = 0; i < out->names.count; i++)
            if (!strcmp(out->names.at[i].own, one.own))
                return wrong(h, text);
        VEC_PUSH(h->a, out->names, one);
        at += length + (at[length] == ',');
    }
    return true;
}

static const char *host_name(const step *s, const char *own) {
    for (int i = 0; i < s->names.count; i++)
        if (!strcmp(s->names.at[i].own, own))
            return s->names.at[i].number ? NULL : s->names.at[i].host;
    return own;
}

static const option_row kernel_row = {"--kernel", "NAME", NULL}, arg_row = {"--arg", "NAME=WHAT", NULL};

static void add_option(command_line *line, const option_row *row, const char *value) {
    line->options[line->option_count].row = row;
    line->options[line->option_count++].value = value;
}

/* The command line as it would be for this kernel alone, in its own names. `l` not NULL: only what it has such arguments for. */
static command_line line_of(host *h, const step *s, const launch *l) {
    command_line own = *h->line;
    int most = h->line->option_count * (s->names.count + 2) + s->names.count + 2;
    own.options = (void *)NEW_ARRAY(h->a, struct given_option, most);
    own.option_count = 0;
    add_option(&own, &kernel_row, s->kernel);
    for (int i = 0; i < s->names.count; i++)
        if (s->names.at[i].number)
            add_option(&own, &arg_row, arena_printf(h->a, "%s=%s", s->names.at[i].own, s->names.at[i].host));
    for (int i = 0; i < h->line->option_count; i++) {
        const option_row *row = h->line->options[i].row;
        const char *value = h->line->options[i].value, *equals = value ? strchr(value, '=') : NULL;
        if (!strcmp(row->name, "--step") || !strcmp(row->name, "--out") || !strcmp(row->name, "--kernel"))
            continue;
        if ((strcmp(row->name, "--arg") && strcmp(row->name, "--shape")) || !equals) {
            add_option(&own, row, value);
            continue;
        }
        const char *name = trimmed(h->a, value, (size_t)(equals - value));
        for (int n = -1; n < s->names.count;
             n++) { /* as it is, unless the kernel's own of that name is something else; then under each name */
            const char *is = n < 0 ? name : s->names.at[n].own, *called = host_name(s, is);
            if (!called || strcmp(called, name) || (n >= 0 && !strcmp(is, name)))
                continue;
            bool known = !l || launch_array(l, is) >= 0;
            for (int k = 0; l && k < l->integer_count; k++)
                known = known || !strcmp(kernel_launch_integer(l->kernel, k)->name, is);
            for (int k = 0; l && k < l->kernel->scalars.count; k++)
                known = known || !strcmp(l->kernel->scalars.at[k].name, is);
            if (known)
                add_option(&own, row, arena_printf(h->a, "%s%s", is, equals));
            h->used[i] = h->used[i] || (l && known);
        }
    }
    return own;
}

static memory *find(host *h, const char *name) {
    for (int i = 0; i < h->memories.count; i++)
        if (!strcmp(h->memories.at[i].name, name))
            return &h->memories.at[i];
    return NULL;
}

/* Memories that steps before this one made. */
static bool take_memories(host *h, const step *s, launch *l) {
    for (int i = 0; i < l->count; i++) {
        const char *name = host_name(s, l->arrays[i]->name);
        if (!name) {
            diag_error(&h->r->diags, "E0860", l->arrays[i]->span, "`%s` of `%s` is an array, and the step gives it a number",
                       l->arrays[i]->name, l->kernel->name);
            return false;
        }
        for (int j = 0; j < i; j++)
            if (!strcmp(host_name(s, l->arrays[j]->name), name)) {
                diag_error(&h->r->diags, "E0649", l->arrays[i]->span, "`%s` and `%s` of `%s` are both the host's `%s`",
                           l->arrays[j]->name, l->arrays[i]->name, l->kernel->name, name);
                return false;
            }
        const memory *m = find(h, name);
        if (!m)
            continue;
        l->files[i] = m->shape;
        l->kept[i] = true;
    }
    return true;
}

/* What the step wrote, and what it was the first to use. */
static void leave_memories(host *h, const step *s, launch *l) {
    for (int i = 0; i < l->count; i++) {
        const kernel_array *array = l->arrays[i];
        int64_t bytes = sim_array_bytes(l->kernel, array, l->integers);
        bool written = array->use != USE_IN;
        memory *m = find(h, host_name(s, array->name));
        if (m) {
            if (written)
                memcpy(m->shape.data, l->data[i], (size_t)bytes);
            m->written = m->written || written;
            continue;
        }
        memory fresh = {.name = host_name(s, array->name), .written = written};
        fresh.shape = (npy_array){.type = array->element, .rank = array->rank, .data = l->data[i], .bytes = bytes};
        for (int d = 0; d < array->rank; d++)
            ix_eval(array->dims[d], launch_lookup, l, &fresh.shape.dims[d]);
        if (l->files[i].data && array->rank == 1) { /* in the shape that it came in */
            fresh.shape.rank = l->files[i].rank;
            memcpy(fresh.shape.dims, l->files[i].dims, sizeof fresh.shape.dims);
        }
        l->data[i] = NULL;
        VEC_PUSH(h->a, h->memories, fresh);
    }
}

static bool run_step(host *h, const step *s, const char *device) {
    report *r = h->r;
    foreign_list kernels = {0};
    command_line alone = line_of(h, s, NULL);
    if (!foreign_read(r, &alone, h->path, &kernels))
        return false;
    if (kernels.count != 1) {
        diag_error(&r->diags, "E0646", (source_span){.file = h->path}, "`%s` names %d kernels", s->kernel, kernels.count);
        return false;
    }
    if (!foreign_has_bodies(r, &kernels.at[0]))
        return false;
    launch l;
    launch_begin(&l, r, &kernels.at[0]);
    bool simulated = !strcmp(device, "sim");
    sim_report seen = {0};
    proof verdicts = {0};
    legal_routes routes = {0};
    command_line own = line_of(h, s, &l);
    bool held = take_memories(h, s, &l) && launch_bind(&l, &own) && launch_make_data(&l) &&
                (simulated ? launch_simulate(&l, &seen) : launch_on_device(&l, device, &verdicts, &routes));
    if (held && !r->json && simulated)
        printf("%s, on %s: nothing misbehaved; %lld tasks, %lld threads\n", l.kernel->name, device, (long long)seen.tasks,
               (long long)seen.threads);
    else if (held && !r->json)
        printf("%s, on %s; %d properties proved in %.0f ms\n", l.kernel->name, device, verdicts.proved, verdicts.milliseconds);
    json_t *entry = json_pack("{s:s, s:s, s:b}", "name", l.kernel->name, "device", device, "held", held);
    if (!simulated)
        foreign_explain(r, h->line, &routes, entry);
    json_array_append_new(h->list, entry);
    if (held)
        leave_memories(h, s, &l);
    launch_free(&l);
    report_flush(r);
    return held;
}

static bool write_out(host *h, const char *text) {
    const char *name, *path;
    if (!option_split(h->a, "--out", text, &name, &path, &h->r->diags))
        return false;
    const memory *m = find(h, name);
    if (!m)
        diag_error(&h->r->diags, "E0867", (source_span){.file = h->path}, "no step has an array `%s`", name);
    return m && npy_write(path, &m->shape, &h->r->diags);
}

/* Names that no step had a use for. */
static bool all_used(host *h) {
    for (int i = 0; i < h->line->option_count; i++) {
        const char *row = h->line->options[i].row->name;
        if ((strcmp(row, "--arg") && strcmp(row, "--shape")) || h->used[i])
            continue;
        diag_error(&h->r->diags, "E0640", (source_span){.file = h->path}, "no step has a use for %s %s", row,
                   h->line->options[i].value);
        return false;
    }
    return true;
}

bool foreign_steps_read(report *r, const command_line *line, const char *path, foreign_steps *out) {
    contract_steps lines = {0};
    for (int i = 0; i < line->option_count; i++)
        if (!strcmp(line->options[i].row->name, "--step"))
            VEC_PUSH(r->arena, *out, line->options[i].value);
    if (out->count && (!foreign_named(path) || option_given(line, "--kernel"))) {
        diag_error(&r->diags, "E0860", (source_span){.file = path},
                   "--step names kernels of a text in another language, without --kernel");
        return false;
    }
    if (out->count || option_given(line, "--kernel") || !foreign_named(path))
        return true;
    if (!contract_read_steps(r->arena, foreign_sidecar(r->arena, path), &lines, &r->diags))
        return false;
    for (int i = 0; i < lines.count; i++)
        VEC_PUSH(r->arena, *out, lines.at[i]);
    return true;
}

bool foreign_run_steps(report *r, const command_line *line, const char *path, const foreign_steps *steps) {
    const char *device = option_value(line, "--device") ? option_value(line, "--device") : "cpu";
    host h = {.r = r, .a = r->arena, .line = line, .path = path, .list = json_array()};
    h.used = NEW_ARRAY(r->arena, bool, line->option_count + 1);
    step *all = NEW_ARRAY(r->arena, step, steps->count + 1);
    bool held = true;
    for (int i = 0; i < steps->count && held; i++)
        held = read_step(&h, steps->at[i], &all[i]);
    for (int i = 0; i < steps->count && held; i++)
        held = run_step(&h, &all[i], device);
    held = held && all_used(&h);
    for (int i = 0; i < h.memories.count && held && !r->json; i++) {
        const memory *m = &h.memories.at[i];
        if (m->written)
            launch_show(m->name, m->shape.type, m->shape.bytes / element_table[m->shape.type].block_bytes, m->shape.data);
    }
    for (int i = 0; i < line->option_count && held; i++)
        held = strcmp(line->options[i].row->name, "--out") != 0 || write_out(&h, line->options[i].value);
    if (r->json)
        json_object_set(r->json, "run", h.list);
    json_decref(h.list);
    for (int i = 0; i < h.memories.count; i++)
        free(h.memories.at[i].shape.data);
    report_flush(r);
    return held;
}
