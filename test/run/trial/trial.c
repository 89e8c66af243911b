#include "trial.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const data_kind_names[DATA_KIND_COUNT] = {"uniform", "zero-mean", "integers", "adversarial"};

/* ---- random numbers ---- */

uint64_t random_next(random_state *r) {
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t random_between(random_state *r, int64_t lo, int64_t hi) {
    if (hi <= lo)
        return lo;
    return lo + (int64_t)(random_next(r) % (uint64_t)(hi - lo + 1));
}

bool random_chance(random_state *r, int percent) {
    return random_between(r, 0, 99) < percent;
}

double random_unit(random_state *r) {
    return (double)(random_next(r) >> 11) * 0x1p-53;
}

double random_normal(random_state *r) {
    double u = random_unit(r), v = random_unit(r);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

/* ---- evaluating extents and conditions ---- */

static bool lookup(void *context, const index_var *v, int64_t *value) {
    const trial_case *c = context;
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    for (int i = 0; i < c->kernel->symbols.count; i++)
        if (c->kernel->symbols.at[i] == v || (v->kind == INDEX_SYMBOL && !strcmp(c->kernel->symbols.at[i]->name, v->name))) {
            *value = c->symbols[i];
            return true;
        }
    for (int i = 0; c->scalars && i < c->kernel->scalars.count; i++) {
        const tile_scalar *s = c->kernel->scalars.at[i];
        if (s->var == v || (s->var && v->kind == INDEX_SCALAR && !strcmp(s->name, v->name))) {
            *value = (int64_t)c->scalars[s->id];
            return true;
        }
    }
    return false;
}

int64_t trial_evaluate(const trial_case *c, const index_expr *x, bool *ok) {
    int64_t value = 0;
    if (!ix_eval(x, lookup, (void *)(uintptr_t)c, &value)) {
        *ok = false;
        return 0;
    }
    return value;
}

bool trial_holds(const trial_case *c, const cond *x) {
    bool value = false;
    return cond_eval(x, lookup, (void *)(uintptr_t)c, &value) && value;
}

void trial_describe(const trial_case *c, text_buffer *out) {
    const char *separator = "";
    for (int i = 0; i < c->kernel->symbols.count; i++) {
        const index_var *v = c->kernel->symbols.at[i];
        text_add(out, "%s%s = %lld", separator, v->name, (long long)(v->has_value ? v->value : c->symbols[i]));
        separator = ", ";
    }
    for (int i = 0; c->scalars && i < c->kernel->scalars.count; i++) {
        text_add(out, "%s%s = %.9g", separator, c->kernel->scalars.at[i]->name, c->scalars[c->kernel->scalars.at[i]->id]);
        separator = ", ";
    }
}

/* ---- choosing extents ---- */

static double block_work(const trial_case *c, const tile_block *b, bool *ok) {
    double work = 0;
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LOOP)
            work += (double)trial_evaluate(c, s->range->extent, ok) * block_work(c, &s->body, ok);
        else
            work += 1;
    }
    return work;
}

double trial_work(const trial_case *c) {
    bool ok = true;
    double work = block_work(c, &c->kernel->body, &ok);
    for (int i = 0; i < c->kernel->task.count; i++)
        work *= (double)trial_evaluate(c, c->kernel->task.at[i]->extent, &ok);
    return work;
}

static bool sizes_fit(trial_case *c, double work_limit, double cell_limit) {
    const tile_kernel *k = c->kernel;
    bool ok = true;
    for (int i = 0; i < k->where.count; i++)
        if (!trial_holds(c, k->where.at[i]))
            return false;
    double work = trial_work(c), cells = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *a = k->arrays.at[i];
        double n = 1;
        for (int d = 0; d < a->rank; d++) {
            int64_t extent = trial_evaluate(c, a->dims[d], &ok);
            if (extent < 0)
                return false;
            n *= (double)extent;
        }
        cells += n;
        if (a->rank && element_table[a->type].block_elements > 1 &&
            trial_evaluate(c, a->dims[a->rank - 1], &ok) % element_table[a->type].block_elements)
            return false;
    }
    /* A range lo..hi of a scalar must hold something. */
    for (int i = 0; i < k->scalars.count; i++) {
        const index_var *v = k->scalars.at[i]->var;
        if (v && v->lo && v->hi && trial_evaluate(c, v->lo, &ok) > trial_evaluate(c, v->hi, &ok))
            return false;
    }
    return ok && work <= work_limit && cells <= cell_limit;
}

bool trial_choose_symbols(const tile_kernel *k, random_state *r, const int64_t *sizes, int size_count, double work_limit,
                          double cell_limit, trial_case *out) {
    memset(out, 0, sizeof *out);
    out->kernel = k;
    out->symbols = calloc((size_t)k->symbols.count + 1, sizeof *out->symbols);
    for (int attempt = 0; attempt < 400; attempt++) {
        for (int i = 0; i < k->symbols.count; i++) {
            const index_var *v = k->symbols.at[i];
            /* Late tries lean on multiples of 32, for block formats and written divisibilities. */
            out->symbols[i] = v->has_value                   ? v->value
                              : attempt > 100 && attempt % 2 ? 32 * random_between(r, 0, 4)
                                                             : sizes[random_between(r, 0, size_count - 1)];
        }
        bool ok = true;
        for (int i = 0; i < k->derived.count && i < k->symbols.count; i++)
            if (k->derived.at[i] && !k->symbols.at[i]->has_value)
                out->symbols[i] = trial_evaluate(out, k->derived.at[i], &ok);
        if (ok && sizes_fit(out, work_limit, cell_limit))
            return true;
    }
    trial_case_free(out);
    return false;
}

/* ---- filling arguments ---- */

static double float_datum(data_kind kind, element_type type, bool specials, random_state *r) {
    switch (kind) {
    case DATA_UNIFORM: return random_unit(r);
    case DATA_ZERO_MEAN: return random_normal(r);
    case DATA_INTEGERS: return (double)random_between(r, -3, 3);
    default: break;
    }
    /* The largest and smallest magnitudes that the type stores. */
    double huge = type == ELEMENT_F16 ? 65504 : type == ELEMENT_E4M3 ? 448 : type == ELEMENT_E5M2 ? 57344 : 0x1.fep127;
    double tiny = type == ELEMENT_F16 ? 0x1p-14 : type == ELEMENT_E4M3 ? 0x1p-6 : type == ELEMENT_E5M2 ? 0x1p-14 : 0x1p-126;
    double subnormal = type == ELEMENT_F16    ? 0x1p-24
                       : type == ELEMENT_E4M3 ? 0x1p-9
                       : type == ELEMENT_E5M2 ? 0x1p-16
                       : type == ELEMENT_BF16 ? 0x1p-133
                                              : 0x1p-149;
    double sign = random_chance(r, 50) ? -1 : 1;
    switch (random_between(r, 0, 39)) {
    case 0: return sign * huge;
    case 1: return sign * tiny;
    case 2: return sign * subnormal;
    case 3: return sign * subnormal * (double)random_between(r, 1, 7);
    case 4: return sign * 0.0;
    case 5: return sign * sqrt(huge);
    case 6: return specials && random_chance(r, 20) ? (double)NAN : random_normal(r);
    case 7: return specials && random_chance(r, 20) ? sign * (double)INFINITY : random_normal(r);
    default: return random_normal(r);
    }
}

static void fill_blocks(unsigned char *p, element_type type, int64_t bytes, data_kind kind, random_state *r) {
    int block = element_table[type].block_bytes;
    for (int64_t at = 0; at < bytes; at++)
        p[at] = (unsigned char)random_next(r);
    for (int64_t at = 0; at + block <= bytes; at += block) {
        static const unsigned char whole[] = {0, 2, 4, 10, 12}; /* E2M1's 0, 1, 2, -1, -2 */
        int first = element_set_scale(type, p + at, kind == DATA_INTEGERS ? 1 : random_normal(r) / 64);
        if (kind == DATA_INTEGERS)
            for (int i = first; i < block; i++)
                p[at + i] = type == ELEMENT_Q8_0 ? (unsigned char)(int8_t)random_between(r, -3, 3)
                            : type == ELEMENT_MXFP4
                                ? (unsigned char)(whole[random_between(r, 0, 4)] | whole[random_between(r, 0, 4)] << 4)
                                : (unsigned char)(random_between(r, 5, 11) | random_between(r, 5, 11) << 4);
    }
}

static bool fill_array(trial_case *c, const tile_array *a, data_kind kind, random_state *r) {
    unsigned char *p = c->data[a->id];
    int64_t n = c->cells[a->id];
    if (element_table[a->type].block_elements > 1) {
        fill_blocks(p, a->type, c->bytes[a->id], kind, r);
        return true;
    }
    bool ok = true, specials = random_chance(r, 50);
    int64_t bound = a->index_bound ? trial_evaluate(c, a->index_bound, &ok) : 0;
    if (a->type == ELEMENT_INDEX) {
        if (n && (!a->index_bound || bound < 1 || (a->injective && bound < n)))
            return false;
        int32_t *index = (int32_t *)(void *)p;
        for (int64_t i = 0; i < n; i++)
            index[i] = (int32_t)(a->injective ? i : random_between(r, 0, bound - 1));
        /* A random selection of distinct indices: the identity, shuffled, each shifted within the slack. */
        int64_t slack = a->injective ? random_between(r, 0, bound - n) : 0;
        for (int64_t i = n - 1; a->injective && i >= 0; i--) {
            int64_t j = random_between(r, 0, i);
            int32_t t = index[i];
            index[i] = (int32_t)(index[j] + slack);
            if (i != j)
                index[j] = t;
        }
        return ok;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = 0;
        switch (a->type) {
        case ELEMENT_BOOL: x = (double)random_between(r, 0, 1); break;
        case ELEMENT_I8: x = (double)(kind == DATA_INTEGERS ? random_between(r, -3, 3) : random_between(r, -128, 127)); break;
        case ELEMENT_U8: x = (double)(kind == DATA_INTEGERS ? random_between(r, 0, 3) : random_between(r, 0, 255)); break;
        case ELEMENT_I32:
            x = (double)(kind == DATA_ADVERSARIAL ? random_between(r, INT32_MIN, INT32_MAX) : random_between(r, -9, 9));
            break;
        case ELEMENT_U32:
            x = (double)(kind == DATA_ADVERSARIAL ? random_between(r, 0, UINT32_MAX) : random_between(r, 0, 9));
            break;
        default: x = float_datum(kind, a->type, specials, r); break;
        }
        element_store(a->type, p, i, x);
    }
    return true;
}

bool trial_fill(trial_case *c, data_kind kind, random_state *r) {
    const tile_kernel *k = c->kernel;
    bool ok = true;
    int arrays = k->arrays.count;
    c->cells = calloc((size_t)arrays + 1, sizeof *c->cells);
    c->bytes = calloc((size_t)arrays + 1, sizeof *c->bytes);
    c->data = calloc((size_t)arrays + 1, sizeof *c->data);
    c->scalars = calloc((size_t)k->scalars.count + 1, sizeof *c->scalars);
    for (int i = 0; i < k->scalars.count; i++) {
        const tile_scalar *s = k->scalars.at[i];
        double x;
        if (s->var && (s->var->lo || s->var->hi)) {
            int64_t lo = s->var->lo ? trial_evaluate(c, s->var->lo, &ok) : -8;
            int64_t hi = s->var->hi ? trial_evaluate(c, s->var->hi, &ok) : lo + 16;
            x = (double)(random_chance(r, 25) ? hi : random_chance(r, 20) ? lo : random_between(r, lo, hi));
        } else if (s->type == ELEMENT_F32) {
            /* Scalars stay ordinary: they are epsilons, scales and positions. */
            x = kind == DATA_INTEGERS ? (double)random_between(r, 1, 3) : (double)(float)(0.05 + 1.45 * random_unit(r));
        } else {
            x = s->type == ELEMENT_BOOL ? (double)random_between(r, 0, 1) : (double)random_between(r, 0, 6);
        }
        c->scalars[s->id] = x;
    }
    for (int i = 0; i < arrays; i++) {
        const tile_array *a = k->arrays.at[i];
        int64_t n = 1, last = 1;
        for (int d = 0; d < a->rank; d++)
            n *= last = trial_evaluate(c, a->dims[d], &ok);
        c->cells[a->id] = n;
        c->bytes[a->id] = last > 0 ? n / last * element_bytes(a->type, last) : 0;
        if (a->role == ARRAY_OUT)
            continue;
        c->data[a->id] = malloc((size_t)c->bytes[a->id] + 64);
        if (!fill_array(c, a, kind, r))
            ok = false;
    }
    return ok;
}

void trial_case_free(trial_case *c) {
    for (int i = 0; c->data && i < c->kernel->arrays.count; i++)
        free(c->data[i]);
    free(c->data);
    free(c->cells);
    free(c->bytes);
    free(c->symbols);
    free(c->scalars);
    memset(c, 0, sizeof *c);
}

/* ---- memory with guards ---- */

enum { GUARD = TRIAL_GUARD, POISON = 0xA5, GUARD_BYTE = 0x5B };

void trial_memory_new(const trial_case *c, trial_memory *m) {
    m->count = c->kernel->arrays.count;
    m->block = calloc((size_t)m->count + 1, sizeof *m->block);
    m->memory = calloc((size_t)m->count + 1, sizeof *m->memory);
    for (int i = 0; i < m->count; i++) {
        size_t size = (size_t)c->bytes[i];
        m->block[i] = malloc(size + 2 * GUARD + 64);
        m->memory[i] = m->block[i] + GUARD + (64 - (uintptr_t)m->block[i] % 64) % 64;
        memset(m->block[i], GUARD_BYTE, size + 2 * GUARD + 64);
        if (c->data[i])
            memcpy(m->memory[i], c->data[i], size);
        else
            memset(m->memory[i], POISON, size);
    }
}

int trial_memory_damaged(const trial_case *c, const trial_memory *m) {
    for (int i = 0; i < m->count; i++) {
        for (int g = 1; g <= GUARD; g++)
            if (m->memory[i][-g] != GUARD_BYTE || m->memory[i][c->bytes[i] + g - 1] != GUARD_BYTE)
                return i;
        if (c->kernel->arrays.at[i]->role == ARRAY_IN && memcmp(m->memory[i], c->data[i], (size_t)c->bytes[i]))
            return i;
    }
    return -1;
}

void trial_memory_free(trial_memory *m) {
    for (int i = 0; i < m->count; i++)
        free(m->block[i]);
    free(m->block);
    free(m->memory);
    memset(m, 0, sizeof *m);
}

bool trial_launch_new(const trial_case *c, const trial_memory *m, const kernel_ir *k, trial_launch *out) {
    memset(out, 0, sizeof *out);
    bool ok = true;
    out->arrays = calloc((size_t)k->arrays.count + 1, sizeof *out->arrays);
    out->workspaces = calloc((size_t)k->arrays.count + 1, sizeof *out->workspaces);
    out->integers = calloc((size_t)(k->symbols.count + k->scalars.count) + 1, sizeof *out->integers);
    out->floats = calloc((size_t)k->scalars.count + 1, sizeof *out->floats);
    int globals = 0, integers = 0, floats = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL)
            continue;
        if (a->source_array >= 0) {
            out->arrays[globals++] = m->memory[a->source_array];
            continue;
        }
        int64_t cells = 1;
        for (int d = 0; d < a->rank; d++)
            cells *= trial_evaluate(c, a->dims[d], &ok);
        size_t size = ((size_t)element_bytes(a->element, cells) + 127) / 64 * 64;
        void *w = aligned_alloc(64, size);
        memset(w, POISON, size);
        out->workspaces[out->workspace_count++] = w;
        out->arrays[globals++] = w;
    }
    for (int i = 0; i < k->symbols.count; i++)
        ok = lookup((void *)(uintptr_t)c, k->symbols.at[i], &out->integers[integers++]) && ok;
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        bool found = false;
        for (int j = 0; j < c->kernel->scalars.count; j++)
            if (!strcmp(c->kernel->scalars.at[j]->name, s->name)) {
                double x = c->scalars[c->kernel->scalars.at[j]->id];
                if (s->var)
                    out->integers[integers++] = (int64_t)x;
                else
                    out->floats[floats++] = (float)x;
                found = true;
            }
        ok = ok && found;
    }
    out->tasks = 1;
    if (k->levels.count && k->levels.at[0].kind == LEVEL_TASK)
        for (int d = 0; d < k->levels.at[0].rank; d++)
            out->tasks *= trial_evaluate(c, k->levels.at[0].extents[d], &ok);
    return ok;
}

void trial_launch_free(trial_launch *l) {
    for (int i = 0; i < l->workspace_count; i++)
        free(l->workspaces[i]);
    free(l->workspaces);
    free(l->arrays);
    free(l->integers);
    free(l->floats);
    memset(l, 0, sizeof *l);
}

/* ---- comparing ---- */

trial_verdict trial_compare(const trial_case *c, const trial_memory *m, const oracle_result *expected) {
    trial_verdict v = {.passed = true};
    for (int i = 0; i < c->kernel->arrays.count; i++) {
        const tile_array *a = c->kernel->arrays.at[i];
        if (a->role == ARRAY_IN)
            continue;
        const oracle_output *e = &expected->outputs[a->id];
        for (int64_t n = 0; a->role == ARRAY_OUT && n < e->cells; n++)
            v.unwritten += !e->written[n];
        /* What no task owns of an updated array must be as it was. */
        int64_t size = c->cells[a->id] ? c->bytes[a->id] / c->cells[a->id] : 0;
        for (int64_t n = 0; a->role == ARRAY_UPDATE && n < e->cells; n++)
            v.changed += !e->written[n] && memcmp(m->memory[a->id] + n * size, c->data[a->id] + n * size, (size_t)size);
        value_check check = oracle_compare(a, m->memory[a->id], e);
        v.compared += check.compared;
        v.vacuous += check.vacuous;
        v.failed += check.failed;
        if (check.worst_ratio > v.worst_ratio)
            v.worst_ratio = check.worst_ratio;
        if (!check.passed && v.passed) {
            v.passed = false;
            v.array = a;
            v.check = check;
        }
    }
    if (v.unwritten || v.changed)
        v.passed = false;
    return v;
}

void trial_verdict_describe(const trial_case *c, const trial_verdict *v, text_buffer *out) {
    if (v->unwritten)
        text_add(out, "%lld output elements are written by no task; ", (long long)v->unwritten);
    if (v->changed)
        text_add(out, "%lld elements that no task owns have changed; ", (long long)v->changed);
    if (!v->array)
        return;
    text_add(out, "%s[", v->array->name);
    int64_t cell = v->check.worst_cell, index[64];
    bool ok = true;
    for (int d = v->array->rank - 1; d >= 0 && d < 64; d--) {
        int64_t extent = trial_evaluate(c, v->array->dims[d], &ok);
        index[d] = extent > 0 ? cell % extent : 0;
        cell = extent > 0 ? cell / extent : 0;
    }
    for (int d = 0; d < v->array->rank && d < 64; d++)
        text_add(out, "%s%lld", d ? ", " : "", (long long)index[d]);
    text_add(out, "] is %.9g, should be %.9g within %.3g; %lld of %lld elements are wrong", v->check.worst_device,
             v->check.worst_value, v->check.worst_bound, (long long)v->check.failed, (long long)v->check.compared);
}

/* ---- walking over values ---- */

typedef struct walk {
    unsigned char *seen;
    int count;
    void (*visit)(void *, const tile_value *);
    void *context;
} walk;

static void walk_value(walk *w, const tile_value *v);

static void walk_index(walk *w, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE && x->var->owner)
        walk_value(w, x->var->owner);
    walk_index(w, x->a);
    walk_index(w, x->b);
}

static void walk_value(walk *w, const tile_value *v) {
    if (!v || v->id < 0 || v->id >= w->count || w->seen[v->id])
        return;
    w->seen[v->id] = 1;
    w->visit(w->context, v);
    for (int i = 0; i < v->operand_count; i++)
        walk_value(w, v->operands[i]);
    walk_index(w, v->index);
    for (int i = 0; v->indices && v->array && i < v->array->rank; i++)
        walk_index(w, v->indices[i]);
}

static void walk_block(walk *w, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        walk_value(w, s->value);
        for (int f = 0; s->values && s->variable && f < s->variable->field_count; f++)
            walk_value(w, s->values[f]);
        if (s->variable)
            for (int f = 0; f < s->variable->field_count; f++) {
                if (s->variable->empty)
                    walk_value(w, s->variable->empty[f]);
                if (s->variable->join)
                    walk_value(w, s->variable->join[f]);
            }
        for (int d = 0; s->indices && s->array && d < s->array->rank; d++)
            walk_index(w, s->indices[d]);
        walk_block(w, &s->body);
    }
}

void trial_visit_values(const tile_kernel *k, void (*visit)(void *context, const tile_value *v), void *context) {
    walk w = {calloc((size_t)k->value_count + 1, 1), k->value_count, visit, context};
    walk_block(&w, &k->body);
    free(w.seen);
}

static void find_inexact(void *context, const tile_value *v) {
    switch (v->op) {
    case TILE_SQRT:
    case TILE_RSQRT:
    case TILE_EXP:
    case TILE_LOG:
    case TILE_TANH:
    case TILE_ERF:
    case TILE_SIN:
    case TILE_COS:
    case TILE_DIV: *(bool *)context = true; break;
    case TILE_CONST:
        if (v->number != floor(v->number) || fabs(v->number) > 16)
            *(bool *)context = true;
        break;
    case TILE_CONVERT:
        if (v->type == ELEMENT_E4M3 || v->type == ELEMENT_E5M2 || v->type == ELEMENT_BF16)
            *(bool *)context = true;
        break;
    case TILE_DOT:
        if (v->accumulator == ELEMENT_F16)
            *(bool *)context = true;
        break;
    default: break;
    }
}

bool trial_is_exact_class(const tile_kernel *k) {
    bool inexact = false;
    trial_visit_values(k, find_inexact, &inexact);
    return !inexact;
}

const tile_array *trial_compare_exact(const trial_case *c, const trial_memory *m, const oracle_result *expected, int64_t *cell,
                                      int64_t *compared) {
    for (int i = 0; i < c->kernel->arrays.count; i++) {
        const tile_array *a = c->kernel->arrays.at[i];
        const oracle_output *e = &expected->outputs[a->id];
        if (a->role == ARRAY_IN)
            continue;
        double limit = a->type == ELEMENT_F16 ? 0x1p11 : a->type == ELEMENT_BF16 ? 0x1p8 : 0x1p24;
        bool integer = !element_table[a->type].is_float;
        for (int64_t n = 0; n < e->cells; n++) {
            /* Integers are exact always; floats where no partial sum can leave the exact range. */
            if (!e->written[n] || isnan(e->value[n]) || (!integer && !(e->scale[n] < limit && fabs(e->value[n]) < limit)))
                continue;
            if (e->bound[n] == INFINITY)
                continue;
            ++*compared;
            if (element_load(a->type, m->memory[a->id], n) != e->value[n]) {
                *cell = n;
                return a;
            }
        }
    }
    return NULL;
}

/* ---- small things ---- */

const char *trial_first_error(const diag_list *d) {
    static char line[512];
    for (int i = 0; i < d->items.count; i++)
        if (d->items.at[i]->severity == SEVERITY_ERROR) {
            snprintf(line, sizeof line, "%s %s", d->items.at[i]->code, d->items.at[i]->message);
            return line;
        }
    return "";
}

char *trial_read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    text_buffer b = {0};
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        text_add_bytes(&b, chunk, n);
    fclose(f);
    if (!b.text)
        text_add(&b, "%s", "");
    return b.text ? b.text : calloc(1, 1);
}
