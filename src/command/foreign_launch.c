/* A launch of a foreign kernel: its values and data from the command line, and running it. */
#include "command/foreign_launch.h"
#include "command/foreign_plan.h"
#include "run/recipe.h"
#include "run/run.h"
#include <stdlib.h>
#include <string.h>

void launch_begin(launch *l, report *r, const lifted_kernel *x) {
    arena *a = r->arena;
    const kernel_ir *k = x->kernel;
    *l = (launch){.report = r, .kernel = k, .lifted = x};
    l->arrays = NEW_ARRAY(a, const kernel_array *, k->arrays.count + 1);
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL && !k->arrays.at[i]->view_of)
            l->arrays[l->count++] = k->arrays.at[i];
    l->data = NEW_ARRAY(a, void *, l->count + 1);
    l->files = NEW_ARRAY(a, npy_array, l->count + 1);
    l->kept = NEW_ARRAY(a, bool, l->count + 1);
    l->what = NEW_ARRAY(a, const char *, l->count + 1);
    l->integer_count = k->symbols.count;
    for (int i = 0; i < k->scalars.count; i++) {
        l->integer_count += k->scalars.at[i].var != NULL;
        l->float_count += k->scalars.at[i].var == NULL;
    }
    l->integers = NEW_ARRAY(a, int64_t, l->integer_count + 1);
    l->known = NEW_ARRAY(a, bool, l->integer_count + 1);
    l->floats = NEW_ARRAY(a, float, l->float_count + 1);
    l->float_known = NEW_ARRAY(a, bool, l->float_count + 1);
}

bool launch_lookup(void *context, const index_var *v, int64_t *value) {
    const launch *l = context;
    for (int i = 0; i < l->integer_count; i++)
        if (kernel_launch_integer(l->kernel, i) == v && l->known[i]) {
            *value = l->integers[i];
            return true;
        }
    return false;
}

bool launch_set_integer(launch *l, const char *name, int64_t value) {
    for (int i = 0; i < l->integer_count; i++)
        if (!strcmp(kernel_launch_integer(l->kernel, i)->name, name)) {
            l->integers[i] = value;
            l->known[i] = true;
            return true;
        }
    return false;
}

static int float_at(const launch *l, const char *name) {
    int at = 0;
    for (int i = 0; i < l->kernel->scalars.count; i++) {
        if (l->kernel->scalars.at[i].var)
            continue;
        if (!strcmp(l->kernel->scalars.at[i].name, name))
            return at;
        at++;
    }
    return -1;
}

int launch_array(const launch *l, const char *name) {
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->arrays[i]->name, name))
            return i;
    return -1;
}

/* Extents that a file's shape gives: where the kernel's array has one dimension, all its elements. */
static bool bind_shape(launch *l, int at) {
    const kernel_array *array = l->arrays[at];
    const npy_array *f = &l->files[at];
    int64_t whole = 1;
    for (int d = 0; d < f->rank; d++)
        whole *= f->dims[d];
    if (array->rank != 1 && array->rank != f->rank) {
        diag_error(&l->report->diags, "E0642", array->span, "`%s` has %d dimensions, the file has %d", array->name, array->rank,
                   f->rank);
        return false;
    }
    for (int d = 0; d < array->rank; d++) {
        int64_t extent = array->rank == 1 ? whole : f->dims[d], is;
        if (ix_eval(array->dims[d], launch_lookup, l, &is)) {
            if (is == extent)
                continue;
            diag_error(&l->report->diags, "E0644", array->span, "dimension %d of `%s` is %lld, the file has %lld", d, array->name,
                       (long long)is, (long long)extent);
            return false;
        }
        if (array->dims[d]->op == IX_VAR)
            launch_set_integer(l, array->dims[d]->var->name, extent);
    }
    return true;
}

static bool same_bits(element_type x, element_type y) {
    bool words = (x == ELEMENT_I32 || x == ELEMENT_U32) && (y == ELEMENT_I32 || y == ELEMENT_U32);
    bool bytes =
        (x == ELEMENT_I8 || x == ELEMENT_U8 || x == ELEMENT_BOOL) && (y == ELEMENT_I8 || y == ELEMENT_U8 || y == ELEMENT_BOOL);
    bool halves = x == ELEMENT_U16 && y == ELEMENT_BF16; /* what NumPy saves as u2 is read as either */
    return x == y || words || bytes || halves || (x == ELEMENT_BF16 && y == ELEMENT_U16);
}

/* A file of bytes is what lies in the memory, whatever it is accessed as. */
static void take_bytes(npy_array *f, element_type t) {
    int64_t size = element_table[t].block_bytes, whole = 1;
    bool bytes = !f->wide && (f->type == ELEMENT_U8 || f->type == ELEMENT_I8);
    for (int d = 0; d < f->rank; d++)
        whole *= f->dims[d];
    if (!bytes || size == 1 || whole % size)
        return;
    f->type = t;
    f->rank = 1;
    f->dims[0] = whole / size;
}

static bool bind(launch *l, const char *text) {
    report *r = l->report;
    const char *name, *value;
    if (!option_split(r->arena, "--arg", text, &name, &value, &r->diags))
        return false;
    char *end;
    int at = launch_array(l, name), f = float_at(l, name);
    size_t n = strlen(value);
    if (f >= 0) {
        l->floats[f] = strtof(value, &end);
        l->float_known[f] = end != value && !*end;
        if (!l->float_known[f])
            diag_error(&r->diags, "E0865", (source_span){0}, "--arg %s: `%s` is no number", name, value);
        return l->float_known[f];
    }
    if (at >= 0 && n > 4 && !strcmp(value + n - 4, ".npy")) {
        if (!npy_read(value, &l->files[at], &r->diags))
            return false;
        take_bytes(&l->files[at], l->arrays[at]->element);
        bool words = l->files[at].wide && l->files[at].wide_kind == 'i' && l->arrays[at]->element == ELEMENT_I64;
        if (words) {
            l->files[at].type = ELEMENT_I64;
            l->files[at].wide = 0;
        }
        if (!words && (l->files[at].wide || !same_bits(l->files[at].type, l->arrays[at]->element))) {
            diag_error(&r->diags, "E0647", l->arrays[at]->span, "`%s` holds %s, the file %s", name,
                       element_table[l->arrays[at]->element].name,
                       l->files[at].wide ? "numbers of 64 bits" : element_table[l->files[at].type].name);
            return false;
        }
        return bind_shape(l, at);
    }
    char kind[32];
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(value, ":"), value);
    if (at >= 0 && recipe_by_name(kind) != RECIPE_COUNT) {
        l->what[at] = value;
        return true;
    }
    long long number = strtoll(value, &end, 10);
    if (end != value && !*end && launch_set_integer(l, name, number))
        return true;
    strtod(value, &end);                    /* of something that the kernel takes and does not use, perhaps */
    if (at >= 0 || (end != value && !*end)) /* a shape, or of shared memory: the contract's */
        return true;
    bool known = false;
    for (int i = 0; i < l->integer_count; i++)
        known = known || !strcmp(kernel_launch_integer(l->kernel, i)->name, name);
    if (!known)
        diag_error(&r->diags, "E0640", l->kernel->span, "kernel %s has no argument `%s`", l->kernel->name, name);
    return known;
}

/* Memory that another step made: an extent that nobody said is its own, one that was said may be less. */
static void bind_kept(launch *l, int at) {
    const kernel_array *array = l->arrays[at];
    const npy_array *f = &l->files[at];
    int64_t size = element_table[array->element].block_bytes;
    bool alike = array->rank == f->rank && size == element_table[f->type].block_bytes;
    for (int d = 0; d < array->rank && (array->rank == 1 || alike); d++) {
        int64_t extent = array->rank == 1 ? f->bytes / size : f->dims[d], is;
        if (array->dims[d]->op == IX_VAR && !ix_eval(array->dims[d], launch_lookup, l, &is))
            launch_set_integer(l, array->dims[d]->var->name, extent);
    }
}

static bool fits_kept(launch *l, int at) {
    int64_t bytes = sim_array_bytes(l->kernel, l->arrays[at], l->integers);
    if (bytes >= 0 && bytes <= l->files[at].bytes)
        return true;
    diag_error(&l->report->diags, "E0644", l->arrays[at]->span,
               "`%s` has %lld bytes here, and what an earlier step made has %lld", l->arrays[at]->name, (long long)bytes,
               (long long)l->files[at].bytes);
    return false;
}

bool launch_bind(launch *l, const command_line *line) {
    for (int pass = 0; pass < 2; pass++) /* numbers before shapes are compared with them */
        for (int i = 0; i < line->option_count; i++) {
            const char *option = line->options[i].row->name, *text = line->options[i].value, *equals = strchr(text, '=');
            bool file = strlen(text) > 4 && !strcmp(text + strlen(text) - 4, ".npy");
            if (!strcmp(option, "--arg") && file == (pass == 1) && !bind(l, text))
                return false;
            int64_t n;
            if (!pass && !strcmp(option, "--shape") && equals) {
                const char *name = arena_strndup(l->report->arena, text, (size_t)(equals - text));
                if (!option_integer("--shape", equals + 1, &n, &l->report->diags))
                    return false;
                if (!launch_set_integer(l, name, n)) {
                    diag_error(&l->report->diags, "E0640", l->kernel->span, "kernel %s has no launch value `%s`", l->kernel->name,
                               name);
                    return false;
                }
            }
        }
    for (int i = 0; i < l->count; i++)
        if (l->kept[i])
            bind_kept(l, i);
    /* a range of one value */
    for (int i = 0; i < l->integer_count; i++) {
        const index_var *v = kernel_launch_integer(l->kernel, i);
        int64_t lo, hi;
        if (!l->known[i] && v->lo && v->hi && ix_is_const(v->lo, &lo) && ix_is_const(v->hi, &hi) && lo == hi) {
            l->integers[i] = lo;
            l->known[i] = true;
        }
    }
    for (int i = 0; i < l->integer_count; i++)
        if (!l->known[i]) {
            diag *g = diag_error(&l->report->diags, "E0643", l->kernel->span, "the launch does not say `%s`",
                                 kernel_launch_integer(l->kernel, i)->name);
            diag_note(&l->report->diags, g, "--arg %s=N, or --shape %s=N for extents and numbers of blocks",
                      kernel_launch_integer(l->kernel, i)->name, kernel_launch_integer(l->kernel, i)->name);
            return false;
        }
    for (int i = 0; i < l->float_count; i++)
        if (!l->float_known[i]) {
            diag_error(&l->report->diags, "E0643", l->kernel->span, "the launch does not say every float: --arg NAME=0.5");
            return false;
        }
    for (int i = 0; i < l->count; i++)
        if (l->kept[i] && !fits_kept(l, i))
            return false;
    return true;
}

static const lifted_initial *initial_of(const launch *l, const kernel_array *array) {
    for (int i = 0; i < l->lifted->initials.count; i++)
        if (!strcmp(l->lifted->initials.at[i].array, array->name))
            return &l->lifted->initials.at[i];
    return NULL;
}

bool launch_make_data(launch *l) {
    report *r = l->report;
    for (int i = 0; i < l->count; i++) {
        const kernel_array *array = l->arrays[i];
        int64_t bytes = sim_array_bytes(l->kernel, array, l->integers), cells = bytes / element_table[array->element].block_bytes;
        l->data[i] = bytes >= 0 && bytes < INT64_C(1) << 33 ? aligned_alloc(64, ((size_t)bytes + 128) / 64 * 64) : NULL;
        if (!l->data[i]) {
            diag_error(&r->diags, "E0803", array->span, "no memory for `%s`, %lld bytes", array->name, (long long)bytes);
            return false;
        }
        if (l->files[i].data) {
            memcpy(l->data[i], l->files[i].data, (size_t)(l->files[i].bytes < bytes ? l->files[i].bytes : bytes));
            continue;
        }
        const lifted_initial *begins = l->what[i] ? NULL : initial_of(l, array);
        if (begins && begins->bytes && begins->count == bytes) {
            memcpy(l->data[i], begins->bytes, (size_t)bytes);
            continue;
        }
        if (begins) {
            diag_error(&r->diags, "E0650", array->span, "`%s` begins with values that are not read: --arg %s=FILE.npy",
                       array->name, array->name);
            return false;
        }
        const char *what = l->what[i] ? l->what[i] : array->use == USE_IN ? "random" : "zeros";
        const char *colon = strchr(what, ':');
        char kind[32];
        snprintf(kind, sizeof kind, "%.*s", (int)strcspn(what, ":"), what);
        recipe_fill(recipe_by_name(kind), colon ? strtoull(colon + 1, NULL, 10) : (uint64_t)i + 1, array->element, 0, cells,
                    l->data[i]);
    }
    return true;
}

bool launch_simulate(launch *l, sim_report *seen) {
    report *r = l->report;
    sim_arguments args = {(void *const *)l->data, l->integers, l->floats};
    sim_options options = {.seed = 1};
    if (!launch_checks(foreign_plan(r->arena, kernel_copy(r->arena, l->kernel)), l->data, l->integers, l->floats, &r->diags))
        return false;
    return sim_run(r->arena, l->kernel, &args, &options, seen, &r->diags);
}

bool launch_on_device(launch *l, const char *name, proof *verdicts, legal_routes *routes) {
    report *r = l->report;
    int index;
    const runtime *rt = runtime_find(name, &index, &r->diags);
    const target *t = rt ? target_find(rt->target) : NULL;
    if (!t)
        return false;
    const proved_plan *p = foreign_prove_for(r, l->kernel, l->integers, t, verdicts, routes);
    device *d = p ? rt->open(index, &r->diags) : NULL;
    device_kernel *k = d ? rt->load(d, p, &r->diags) : NULL;
    bool held = k != NULL;
    void **there = NEW_ARRAY(r->arena, void *, l->count + 1);
    for (int i = 0; held && i < l->count; i++) {
        int64_t bytes = sim_array_bytes(l->kernel, l->arrays[i], l->integers);
        there[i] = rt->host_memory ? l->data[i] : rt->allocate(d, bytes ? bytes : 1, &r->diags);
        held = there[i] && (rt->host_memory || rt->copy_in(d, there[i], l->data[i], bytes, &r->diags));
    }
    held = held && rt->launch(d, k, there, l->integers, l->floats, &r->diags);
    for (int i = 0; i < l->count; i++) {
        int64_t bytes = sim_array_bytes(l->kernel, l->arrays[i], l->integers);
        if (held && !rt->host_memory)
            held = rt->copy_out(d, l->data[i], there[i], bytes, &r->diags);
        if (there[i] && !rt->host_memory)
            rt->release(d, there[i]);
    }
    if (k)
        rt->unload(d, k);
    if (d)
        rt->close(d);
    return held;
}

void launch_free(launch *l) {
    for (int i = 0; i < l->count; i++) {
        free(l->data[i]);
        if (l->files[i].data && !l->kept[i])
            npy_free(&l->files[i]);
    }
}

void launch_show(const char *name, element_type type, int64_t cells, const void *data) {
    printf("  %-9s %s, %lld elements = ", name, element_table[type].name, (long long)cells);
    for (int64_t j = 0; j < cells && j < SHOWN_ELEMENTS; j++)
        printf("%s%.6g", j ? ", " : "", element_load(type, data, j));
    printf("%s\n", cells > SHOWN_ELEMENTS ? ", .." : "");
}
