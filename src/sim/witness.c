/* Running a kernel at a witness: launch values from a line of text, data made up to fit the declarations. */
#include "sim/machine.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    const char *name;
    int64_t integer;
    double number;
    bool is_integer;
} pair;
typedef struct pairs {
    VEC(pair) at;
} pairs;

static bool unreadable(diag_list *diags, const kernel_ir *k, const char *at) {
    diag_error(diags, "E0726", k->span, "a witness is a list such as `M = 1, N = 33`; this is not: `%.40s`", at);
    return false;
}

static const char *skip_space(const char *c) {
    while (isspace((unsigned char)*c))
        c++;
    return c;
}

static bool read_pairs(arena *a, const kernel_ir *k, const char *text, pairs *out, diag_list *diags) {
    const char *c = skip_space(text ? text : "");
    while (*c) {
        const char *start = c, *name = c;
        while (isalnum((unsigned char)*c) || *c == '_' || *c == '.' || *c == '\'')
            c++;
        pair p = {.name = arena_strndup(a, name, (size_t)(c - name))};
        if (c == name)
            return unreadable(diags, k, start);
        c = skip_space(c);
        if (*c != '=')
            return unreadable(diags, k, start);
        c = skip_space(c + 1);
        char *end_integer, *end_number;
        errno = 0;
        p.integer = strtoll(c, &end_integer, 10);
        bool fits = !errno;
        p.number = strtod(c, &end_number);
        p.is_integer = fits && end_integer == end_number;
        if (end_number == c)
            return unreadable(diags, k, start);
        VEC_PUSH(a, out->at, p);
        c = skip_space(end_number);
        if (*c && *c != ',' && *c != ';')
            return unreadable(diags, k, start);
        c = *c ? skip_space(c + 1) : c;
    }
    return true;
}

static const pair *pair_of(const pairs *p, const char *name) {
    for (int i = 0; i < p->at.count; i++)
        if (!strcmp(p->at.at[i].name, name))
            return &p->at.at[i];
    return NULL;
}

bool sim_launch_value(void *context, const index_var *v, int64_t *value) {
    const sim_launch *x = context;
    int next = x->kernel->symbols.count;
    for (int i = 0; i < x->kernel->symbols.count; i++)
        if (x->kernel->symbols.at[i] == v) {
            *value = x->integers[i];
            return true;
        }
    for (int i = 0; i < x->kernel->scalars.count; i++) {
        if (x->kernel->scalars.at[i].var == v && v) {
            *value = x->integers[next];
            return true;
        }
        next += x->kernel->scalars.at[i].var != NULL;
    }
    return false;
}

/* The value of an integer launch value that the witness does not name. */
static int64_t unnamed(sim_launch *v, const index_var *var) {
    int64_t lo;
    return var && var->lo && ix_eval(var->lo, sim_launch_value, v, &lo) && (var->kind != INDEX_SYMBOL || lo > 0) ? lo : 1;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Block formats: random codes with a scale of 1/64. */
static void fill_blocks(element_type t, unsigned char *bytes, int64_t size, uint64_t *state) {
    int width = element_table[t].block_bytes;
    uint16_t scale = f32_to_f16(1.0f / 64);
    for (int64_t i = 0; i < size; i++)
        bytes[i] = i % width < 2 ? (unsigned char)(scale >> 8 * (i % width)) : (unsigned char)next_random(state);
}

/* An integer of an argument: small ones at first, since most mistakes need nothing more; then whatever the type holds, and its ends. */
static double integer_data(element_type t, uint64_t seed, uint64_t *state) {
    bool is_signed = element_table[t].is_signed;
    int bits = element_table[t].block_bytes * 8;
    double span = ldexp(1, bits), least = is_signed ? -span / 2 : 0;
    if (seed % 8 < 4)
        return (double)((int64_t)(next_random(state) % 7) - (is_signed ? 3 : 0));
    if (seed % 8 == 5)
        return least + span - 1;
    if (seed % 8 == 6)
        return least;
    return least + (double)(next_random(state) >> (64 - bits));
}

static void fill(const kernel_array *array, unsigned char *bytes, int64_t size, int64_t bound, uint64_t seed, uint64_t *state) {
    element_type t = array->element;
    if (element_table[t].block_elements > 1) {
        fill_blocks(t, bytes, size, state);
        return;
    }
    int64_t count = size / element_table[t].block_bytes;
    for (int64_t i = 0; i < count; i++) {
        double value;
        if (bound >= 0)
            value = bound ? (double)(array->element_injective ? i % bound : (int64_t)(next_random(state) % (uint64_t)bound)) : 0;
        else if (element_table[t].is_float)
            value = (double)((int64_t)(next_random(state) % 129) - 64) / 64;
        else if (t == ELEMENT_BOOL)
            value = (double)(next_random(state) & 1);
        else
            value = t == ELEMENT_INDEX ? 0 : integer_data(t, seed, state);
        element_store(t, bytes, i, value);
    }
    /* injective: the values 0 .. count - 1, shuffled */
    for (int64_t i = count - 1; bound >= 0 && array->element_injective && i > 0; i--) {
        int64_t j = (int64_t)(next_random(state) % (uint64_t)(i + 1));
        double x = element_load(t, bytes, i), y = element_load(t, bytes, j);
        element_store(t, bytes, i, y);
        element_store(t, bytes, j, x);
    }
}

/* An unnamed symbol S takes the value that an assumption `S == expression` gives it. */
static void settle_unnamed(const kernel_ir *k, const pairs *named, sim_launch *v) {
    for (int i = 0; i < k->assumptions.count; i++) {
        const cond *c = k->assumptions.at[i];
        for (int side = 0; c->op == COND_EQ && side < 2; side++) {
            const index_expr *symbol = side ? c->y : c->x, *given = side ? c->x : c->y;
            for (int s = 0; symbol->op == IX_VAR && s < k->symbols.count; s++) {
                int64_t value;
                if (k->symbols.at[s] == symbol->var && !pair_of(named, symbol->var->name) && !ix_mentions(given, symbol->var) &&
                    ix_eval(given, sim_launch_value, v, &value) && value >= 0)
                    v->integers[s] = value;
            }
        }
    }
}

bool sim_launch_of(arena *a, const kernel_ir *k, const char *bindings, sim_launch *out, diag_list *diags) {
    int next = k->symbols.count, next_float = 0;
    pairs given = {0};
    const pairs *named = &given;
    if (!read_pairs(a, k, bindings, &given, diags))
        return false;
    out->kernel = k;
    out->integers = NEW_ARRAY(a, int64_t, k->symbols.count + k->scalars.count);
    out->floats = NEW_ARRAY(a, float, k->scalars.count);
    for (int i = 0; i < k->symbols.count + k->scalars.count; i++) {
        bool symbol = i < k->symbols.count;
        const kernel_scalar *scalar = symbol ? NULL : &k->scalars.at[i - k->symbols.count];
        const index_var *var = symbol ? k->symbols.at[i] : scalar->var;
        const char *name = symbol ? var->name : scalar->name;
        const pair *p = pair_of(named, name);
        if (p && var && !p->is_integer) {
            diag_error(diags, "E0726", k->span, "`%s` is an integer", name);
            return false;
        }
        if (var)
            out->integers[symbol ? i : next++] = p ? p->integer : unnamed(out, var);
        else
            out->floats[next_float++] = p ? (float)p->number : 1;
    }
    settle_unnamed(k, named, out);
    return true;
}

/* Memory for the kernel's global arrays at these values, inputs filled. False with a diagnostic; what was allocated is freed by the caller. */
static bool make_arrays(const kernel_ir *k, const sim_launch *v, const sim_options *options, sim_binding *arrays,
                        diag_list *diags) {
    int64_t held = 0, limit = options && options->byte_limit > 0 ? options->byte_limit : (int64_t)1 << 30;
    uint64_t state = (options ? options->seed : 0) * 0x9E3779B97F4A7C15u ^ 0x2545F4914F6CDD1Du;
    state = state ? state : 1;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        int64_t size = sim_array_bytes(k, array, v->integers), bound = -1;
        held = size < 0 ? INT64_MAX : sim_add(held, size);
        if (held > limit || (array->element_bound && !ix_eval(array->element_bound, sim_launch_value, (void *)v, &bound))) {
            diag_error(diags, "E0711", array->span, "`%s` cannot be made at this witness: %lld bytes", array->name,
                       (long long)size);
            return false;
        }
        arrays[i].size = size;
        arrays[i].bytes = calloc((size_t)(size ? size : 1), 1);
        if (!arrays[i].bytes) {
            diag_error(diags, "E0710", array->span, "no memory for `%s`: %lld bytes", array->name, (long long)size);
            return false;
        }
        if ((array->use == USE_IN || array->use == USE_UPDATE) && (array->element_injective || !options || !options->zeros))
            fill(array, arrays[i].bytes, size, bound, options ? options->seed : 0, &state);
    }
    return true;
}

static void free_arrays(const kernel_ir *k, sim_binding *arrays) {
    for (int i = 0; i < k->arrays.count; i++)
        free(arrays[i].bytes);
}

bool sim_witness(arena *a, const kernel_ir *k, const char *bindings, const sim_options *options, sim_report *report,
                 diag_list *diags) {
    sim_launch v;
    memset(report, 0, sizeof *report);
    if (!kernel_check(k, diags) || !sim_launch_of(a, k, bindings, &v, diags))
        return false;
    sim_binding *arrays = NEW_ARRAY(a, sim_binding, k->arrays.count);
    bool fine =
        make_arrays(k, &v, options, arrays, diags) && sim_run_bound(a, k, arrays, v.integers, v.floats, options, report, diags);
    free_arrays(k, arrays);
    return fine;
}

bool sim_witness_plan(arena *a, const launch_plan *plan, const char *bindings, const sim_options *options, sim_report *report,
                      diag_list *diags) {
    memset(report, 0, sizeof *report);
    if (!plan->variants.count)
        return false;
    const kernel_ir *k = plan->variants.at[0].kernel;
    sim_launch v;
    if (!kernel_check(k, diags) || !sim_launch_of(a, k, bindings, &v, diags))
        return false;
    sim_binding *arrays = NEW_ARRAY(a, sim_binding, k->arrays.count);
    bool fine = make_arrays(k, &v, options, arrays, diags);
    if (fine) {
        void **given = NEW_ARRAY(a, void *, k->arrays.count + 1);
        for (int i = 0, next = 0; i < k->arrays.count; i++)
            if (k->arrays.at[i]->space == SPACE_GLOBAL)
                given[next++] = arrays[i].bytes;
        sim_arguments arguments = {given, v.integers, v.floats};
        fine = sim_run_plan(a, plan, &arguments, options, report, diags);
    }
    free_arrays(k, arrays);
    return fine;
}
