/* What is checked before a plan runs: extents, scalars, `where`s, index data, overlapping arrays; and which variant holds. */
#include "run/run.h"
#include "target/target.h"
#include <inttypes.h>
#include <string.h>

/* A kernel's launch values. Variables are matched by name when they belong to another variant of the same plan. */
typedef struct values {
    const kernel_ir *k;
    const int64_t *integers;
} values;

static bool lookup(void *context, const index_var *v, int64_t *value) {
    const values *c = context;
    int at = 0;
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    for (int i = 0; i < c->k->symbols.count; i++) /* nearly always: names cost as much as all else of a launch's checks */
        if (c->k->symbols.at[i] == v) {
            *value = c->integers[i];
            return true;
        }
    for (int i = 0; i < c->k->symbols.count; i++, at++)
        if (!strcmp(c->k->symbols.at[i]->name, v->name)) {
            *value = c->integers[at];
            return true;
        }
    for (int i = 0; i < c->k->scalars.count; i++) {
        const index_var *s = c->k->scalars.at[i].var;
        if (!s)
            continue;
        if (s == v || !strcmp(s->name, v->name)) {
            *value = c->integers[at];
            return true;
        }
        at++;
    }
    return false;
}

bool launch_evaluate(const kernel_ir *k, const index_expr *x, const int64_t *integers, int64_t *value) {
    values c = {k, integers};
    return ix_eval(x, lookup, &c, value);
}

static const kernel_ir *any_kernel(const launch_plan *p) {
    return p->variants.count ? p->variants.at[0].kernel : NULL;
}

/* "M = 3, N = 0": what the launch was given, for notes. */
static void note_values(const kernel_ir *k, const int64_t *integers, diag_list *diags, diag *g) {
    text_buffer b = {0};
    for (int i = 0; i < k->symbols.count; i++)
        text_add(&b, "%s%s = %" PRId64, b.length ? ", " : "", k->symbols.at[i]->name, integers[i]);
    int at = k->symbols.count;
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var)
            text_add(&b, "%s%s = %" PRId64, b.length ? ", " : "", k->scalars.at[i].name, integers[at++]);
    if (b.length)
        diag_note(diags, g, "%s", text_get(&b));
    text_free(&b);
}

int launch_variant(const launch_plan *p, const int64_t *integers, diag_list *diags) {
    for (int i = 0; i < p->variants.count; i++) {
        values c = {p->variants.at[i].kernel, integers};
        bool holds = true;
        if (!p->variants.at[i].predicate || (cond_eval(p->variants.at[i].predicate, lookup, &c, &holds) && holds))
            return i;
    }
    const kernel_ir *k = any_kernel(p);
    diag *g = diag_error(diags, "E0608", (source_span){0}, "%s: no variant of the plan holds for these sizes", p->name);
    if (k)
        note_values(k, integers, diags, g);
    return -1;
}

/* Cells and bytes of a GLOBAL array; false when they cannot be counted. */
static bool array_size(const kernel_ir *k, const kernel_array *a, const int64_t *integers, int64_t *cells, int64_t *bytes) {
    bool empty = false;
    *cells = 1;
    for (int d = 0; d < a->rank; d++) {
        int64_t dim;
        if (!launch_evaluate(k, a->dims[d], integers, &dim) || dim < 0)
            return false;
        empty = empty || dim == 0;
        if (!empty && __builtin_mul_overflow(*cells, dim, cells))
            return false;
    }
    *cells = empty ? 0 : *cells;
    /* The prover takes it as a fact that arrays have fewer than 2^62 bytes. */
    if (*cells >= (int64_t)1 << 60)
        return false;
    *bytes = element_bytes(a->element, *cells);
    return true;
}

static bool check_extents(const launch_plan *p, const kernel_ir *k, const int64_t *integers, diag_list *diags) {
    const target *t = target_find("c");
    int64_t largest = t ? t->limits()->largest_extent : INT32_MAX;
    for (int i = 0; i < k->symbols.count; i++)
        if (integers[i] < 0 || integers[i] > largest) {
            diag_error(diags, "E0601", k->symbols.at[i]->span, "%s: %s = %" PRId64 ", but extents go from 0 to %" PRId64, p->name,
                       k->symbols.at[i]->name, integers[i], largest);
            return false;
        }
    return true;
}

typedef struct memory_span {
    const kernel_array *array;
    const char *begin, *end;
} memory_span;

/* Sizes, missing pointers, and arrays that overlap an output. */
static bool check_arrays(const launch_plan *p, const kernel_ir *k, void *const *arrays, bool are_handles, const int64_t *integers,
                         diag_list *diags) {
    memory_span spans[64];
    int count = 0, at = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        int64_t cells, bytes;
        if (a->space != SPACE_GLOBAL || a->view_of)
            continue;
        const char *memory = arrays[at++];
        if (!array_size(k, a, integers, &cells, &bytes)) {
            diag *g = diag_error(diags, "E0606", a->span, "%s: array `%s` is too large", p->name, a->name);
            note_values(k, integers, diags, g);
            return false;
        }
        if (!bytes)
            continue;
        if (!memory) {
            diag_error(diags, "E0607", a->span, "%s: array `%s` was given no memory", p->name, a->name);
            return false;
        }
        if (count == (int)(sizeof spans / sizeof *spans)) {
            diag_error(diags, "E0606", a->span, "%s: more than %d arrays", p->name, count);
            return false;
        }
        memory_span s = {a, memory, memory + (are_handles ? 1 : bytes)};
        for (int j = 0; j < count; j++)
            if ((a->use != USE_IN || spans[j].array->use != USE_IN) && s.begin < spans[j].end && spans[j].begin < s.end) {
                diag *g = diag_error(diags, "E0605", a->span, "%s: arrays `%s` and `%s` overlap, and one of them is written",
                                     p->name, spans[j].array->name, a->name);
                diag_note(diags, g, "give the output memory of its own");
                return false;
            }
        spans[count++] = s;
    }
    return true;
}

static int64_t element_of(const kernel_array *a, const void *memory, int64_t i) {
    switch (a->element) {
    case ELEMENT_I8: return ((const int8_t *)memory)[i];
    case ELEMENT_U8: return ((const uint8_t *)memory)[i];
    case ELEMENT_U16: return ((const uint16_t *)memory)[i];
    case ELEMENT_I64: return ((const int64_t *)memory)[i];
    case ELEMENT_U32: return ((const uint32_t *)memory)[i];
    default: return ((const int32_t *)memory)[i];
    }
}

/* Whether element i is in 0..bound-1; the plain loops over 32-bit elements are what compilers make vectors of. */
static int64_t first_outside(const kernel_array *a, const void *memory, int64_t cells, int64_t bound) {
    enum { CHUNK = 4096 };
    uint32_t limit = bound < 0 ? 0 : bound > UINT32_MAX ? UINT32_MAX : (uint32_t)bound;
    bool is_signed = a->element == ELEMENT_I32 || a->element == ELEMENT_INDEX;
    if (is_signed && limit > (uint32_t)INT32_MAX + 1)
        limit = (uint32_t)INT32_MAX + 1; /* a negative number is a large one when read without sign */
    for (int64_t start = 0; start < cells; start += CHUNK) {
        int64_t n = cells - start < CHUNK ? cells - start : CHUNK;
        if (element_table[a->element].block_bytes == 4) {
            const uint32_t *words = (const uint32_t *)memory + start;
            uint32_t bad = 0;
            for (int64_t i = 0; i < n; i++)
                bad |= words[i] >= limit;
            if (!bad && (bound <= UINT32_MAX || is_signed))
                continue;
        }
        for (int64_t i = start; i < start + n; i++) {
            int64_t v = element_of(a, memory, i);
            if (v < 0 || v >= bound)
                return i;
        }
    }
    return -1;
}

static void place_text(text_buffer *b, const kernel_ir *k, const kernel_array *a, const int64_t *integers, int64_t flat) {
    int64_t index[32];
    int rank = a->rank > 32 ? 32 : a->rank;
    for (int d = rank - 1; d >= 0; d--) {
        int64_t dim = 1;
        launch_evaluate(k, a->dims[d], integers, &dim);
        index[d] = dim > 0 ? flat % dim : 0;
        flat = dim > 0 ? flat / dim : 0;
    }
    text_add(b, "%s[", a->name);
    for (int d = 0; d < rank; d++)
        text_add(b, d ? ", %" PRId64 : "%" PRId64, index[d]);
    text_add(b, "]");
}

static bool check_index_range(const launch_plan *p, const kernel_ir *k, const kernel_array *a, const void *memory,
                              const int64_t *integers, diag_list *diags) {
    int64_t cells, bytes, bound;
    if (!a->element_bound || !array_size(k, a, integers, &cells, &bytes) ||
        !launch_evaluate(k, a->element_bound, integers, &bound))
        return true;
    int64_t at = first_outside(a, memory, cells, bound);
    if (at < 0)
        return true;
    text_buffer place = {0}, bound_text = {0};
    place_text(&place, k, a, integers, at);
    ix_print(&bound_text, a->element_bound);
    diag *g = diag_error(diags, "E0603", a->span, "%s: %s is %" PRId64 ", outside 0 .. %" PRId64, p->name, text_get(&place),
                         element_of(a, memory, at), bound - 1);
    diag_note(diags, g, "elements of `%s` index a dimension of extent %s = %" PRId64, a->name, text_get(&bound_text), bound);
    text_free(&place);
    text_free(&bound_text);
    return false;
}

static bool check_injective(const launch_plan *p, const kernel_ir *k, const kernel_array *a, const void *memory,
                            const int64_t *integers, diag_list *diags) {
    int64_t cells, bytes, bound;
    if (!array_size(k, a, integers, &cells, &bytes) || !a->element_bound ||
        !launch_evaluate(k, a->element_bound, integers, &bound) || bound < 0)
        return true;
    if (first_outside(a, memory, cells, bound) >= 0)
        return check_index_range(p, k, a, memory, integers, diags);
    arena *scratch = arena_new();
    unsigned char *seen = arena_alloc(scratch, (size_t)bound / 8 + 1);
    int64_t at = -1;
    for (int64_t i = 0; i < cells && at < 0; i++) {
        int64_t v = element_of(a, memory, i);
        if (seen[v / 8] >> (v % 8) & 1)
            at = i;
        seen[v / 8] |= (unsigned char)(1u << (v % 8));
    }
    arena_free(scratch);
    if (at < 0)
        return true;
    int64_t first = 0;
    while (element_of(a, memory, first) != element_of(a, memory, at))
        first++;
    text_buffer place = {0}, other = {0};
    place_text(&place, k, a, integers, at);
    place_text(&other, k, a, integers, first);
    diag *g = diag_error(diags, "E0604", a->span, "%s: %s and %s are both %" PRId64, p->name, text_get(&other), text_get(&place),
                         element_of(a, memory, at));
    diag_note(diags, g, "`%s` is declared injective: no value may stand in it twice", a->name);
    text_free(&place);
    text_free(&other);
    return false;
}

/* An array of another variant stands for the one of the same name in `k`. */
static const kernel_array *array_of(const kernel_ir *k, const kernel_array *a, int *position) {
    *position = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        if (k->arrays.at[i]->space != SPACE_GLOBAL || k->arrays.at[i]->view_of)
            continue;
        if (k->arrays.at[i] == a || !strcmp(k->arrays.at[i]->name, a->name))
            return k->arrays.at[i];
        ++*position;
    }
    return NULL;
}

static bool check_scalar(const launch_plan *p, const kernel_ir *k, const kernel_scalar *s, const int64_t *integers,
                         diag_list *diags) {
    int64_t value, lo = INT64_MIN, hi = INT64_MAX;
    if (!s->var || !launch_evaluate(k, &(index_expr){.op = IX_VAR, .var = s->var}, integers, &value))
        return true;
    bool known = (!s->var->lo || launch_evaluate(k, s->var->lo, integers, &lo)) &&
                 (!s->var->hi || launch_evaluate(k, s->var->hi, integers, &hi));
    if (known && lo <= value && value <= hi)
        return true;
    diag *g = diag_error(diags, "E0602", s->var->span, "%s: %s = %" PRId64 ", outside %" PRId64 " .. %" PRId64, p->name, s->name,
                         value, lo, hi);
    note_values(k, integers, diags, g);
    return false;
}

static bool run_checks(const launch_plan *p, void *const *arrays, void *const *data, const int64_t *integers, const float *floats,
                       diag_list *diags) {
    (void)floats; /* no check speaks of a float yet */
    const kernel_ir *k = any_kernel(p);
    if (!k || !check_extents(p, k, integers, diags))
        return false;
    values c = {k, integers};
    for (int i = 0; i < k->scalars.count; i++) /* integers come in 64 bits */
        if (kernel_scalar_is_whole_type(&k->scalars.at[i]) && !check_scalar(p, k, &k->scalars.at[i], integers, diags))
            return false;
    for (int i = 0; i < p->checks.count; i++) {
        const launch_check *check = &p->checks.at[i];
        bool holds = true;
        if (check->kind == CHECK_WHERE && (!cond_eval(check->condition, lookup, &c, &holds) || !holds)) {
            diag *g = diag_error(diags, "E0600", check->condition->span, "%s: `%s` does not hold", p->name,
                                 check->text ? check->text : "where");
            note_values(k, integers, diags, g);
            return false;
        }
        if (check->kind == CHECK_SCALAR_RANGE && !check_scalar(p, k, check->scalar, integers, diags))
            return false;
    }
    if (!check_arrays(p, k, arrays, arrays != data, integers, diags))
        return false;
    for (int i = 0; i < p->checks.count; i++) {
        const launch_check *check = &p->checks.at[i];
        int position;
        const kernel_array *a = check->array ? array_of(k, check->array, &position) : NULL;
        if (check->kind == CHECK_INDEX_RANGE && a && !check_index_range(p, k, a, data[position], integers, diags))
            return false;
        if (check->kind == CHECK_INJECTIVE && a && !check_injective(p, k, a, data[position], integers, diags))
            return false;
    }
    return true;
}

bool launch_checks(const launch_plan *p, void *const *arrays, const int64_t *integers, const float *floats, diag_list *diags) {
    return run_checks(p, arrays, arrays, integers, floats, diags);
}

bool launch_checks_elsewhere(const launch_plan *p, void *const *handles, void *const *data, const int64_t *integers,
                             const float *floats, diag_list *diags) {
    return run_checks(p, handles, data, integers, floats, diags);
}

int64_t launch_data_bytes(const launch_plan *p, int position, const int64_t *integers) {
    const kernel_ir *k = any_kernel(p);
    for (int i = 0; k && i < p->checks.count; i++) {
        const launch_check *check = &p->checks.at[i];
        int64_t cells, bytes = 0;
        int at = -1;
        const kernel_array *a = check->array ? array_of(k, check->array, &at) : NULL;
        if (a && at == position && (check->kind == CHECK_INDEX_RANGE || check->kind == CHECK_INJECTIVE) &&
            array_size(k, a, integers, &cells, &bytes))
            return bytes;
    }
    return 0;
}

bool launch_task_count(const launch_plan *p, int variant, const int64_t *integers, int64_t *tasks, diag_list *diags) {
    const kernel_ir *k = p->variants.at[variant].kernel;
    const kernel_level *level = k->levels.count ? &k->levels.at[0] : NULL;
    *tasks = 1;
    bool none = false, fits = true;
    for (int i = 0; level && i < level->rank; i++) {
        int64_t extent;
        fits = fits && launch_evaluate(k, level->extents[i], integers, &extent);
        if (!fits)
            break;
        none = none || extent <= 0;
        fits = none || !__builtin_mul_overflow(*tasks, extent, tasks);
    }
    if (none)
        *tasks = 0;
    if (!fits && !none)
        diag_error(diags, "E0609", k->span, "%s: more tasks than can be counted", p->name);
    return fits || none;
}

bool launch_fits_narrow(const launch_plan *p, int variant, const int64_t *integers) {
    const plan_variant *v = &p->variants.at[variant];
    const kernel_ir *k = v->kernel;
    arena *a = v->narrow ? arena_new() : NULL;
    diag_list quiet;
    int64_t tasks;
    if (!v->narrow)
        return false;
    diag_init(&quiet, a);
    bool fits = launch_task_count(p, variant, integers, &tasks, &quiet) && tasks <= PLAN_NARROW_TASKS;
    arena_free(a);
    for (int i = 0; i < k->symbols.count && fits; i++)
        fits = integers[i] <= PLAN_NARROW_EXTENT;
    for (int i = 0; i < k->arrays.count && fits; i++) {
        const kernel_array *array = k->arrays.at[i];
        int64_t cells = 1, extent;
        for (int d = 0; d < array->rank && fits && array->space == SPACE_GLOBAL && !array->view_of; d++)
            fits = launch_evaluate(k, array->dims[d], integers, &extent) && /* an extent of 0 counts as 1: every product fits */
                   !__builtin_mul_overflow(cells, extent > 0 ? extent : 1, &cells) && cells <= PLAN_NARROW_ELEMENTS;
    }
    return fits;
}
