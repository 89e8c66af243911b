/* The launch of a foreign kernel: levels of threads, arguments, and what the contract says of them. */
#include "kernel/reader.h"
#include "lift/lifter.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int64_t largest(const lifter *l) {
    return l->contract->largest ? l->contract->largest : (int64_t)1 << 30;
}

/* ---- texts of the contract ---- */

static bool is_word(const char *text, size_t n) {
    static const char *const words[] = {"min", "max", "mod", "floor", "and", "or", "not", "true"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !memcmp(words[i], text, n))
            return true;
    return false;
}

static const index_var *find_variable(const lifter *l, const char *name) {
    for (int i = 0; i < l->k->symbols.count; i++)
        if (!strcmp(l->k->symbols.at[i]->name, name))
            return l->k->symbols.at[i];
    for (int i = 0; i < l->k->scalars.count; i++)
        if (l->k->scalars.at[i].var && !strcmp(l->k->scalars.at[i].name, name))
            return l->k->scalars.at[i].var;
    return NULL;
}

/* What the contract says of a launch value that the kernel itself does not have: numbers. */
static void narrow(lifter *l, index_var *v) {
    for (int i = 0; i < l->contract->arguments.count; i++) {
        const contract_argument *x = &l->contract->arguments.at[i];
        char *end, *stop;
        if (strcmp(x->name, v->name) || !x->low)
            continue;
        long long lo = strtoll(x->low, &end, 10), hi = strtoll(x->high, &stop, 10);
        if (*end || *stop || lo < 0 || hi < lo)
            continue;
        v->lo = ix_const(l->arena, lo);
        v->hi = ix_const(l->arena, hi);
    }
}

/* Names that the text has and the kernel does not are launch values of their own: extents, for the most part. */
static void begin_text(lifter *l, reader *r, const char *text, source_span span) {
    for (const char *c = text; *c;) {
        if (!isalpha((unsigned char)*c) && *c != '_') {
            c++;
            continue;
        }
        size_t n = 0;
        while (isalnum((unsigned char)c[n]) || c[n] == '_')
            n++;
        const char *name = arena_strndup(l->arena, c, n);
        if (!is_word(c, n) && !find_variable(l, name) && !lift_parameter_by_name(l, name)) {
            index_var *v = kernel_add_symbol(l->k, name);
            v->lo = ix_const(l->arena, 0);
            v->hi = ix_const(l->arena, largest(l));
            narrow(l, v);
        }
        c += n;
    }
    reader_init(r, l->arena, span.file ? span.file : "the launch contract", text, l->diags);
    r->kernel = l->k;
    for (int i = 0; i < l->k->symbols.count; i++)
        reader_declare_var(r, span, l->k->symbols.at[i]);
    for (int i = 0; i < l->k->scalars.count; i++)
        if (l->k->scalars.at[i].var)
            reader_declare_var(r, span, l->k->scalars.at[i].var);
}

static bool end_text(lifter *l, reader *r, const char *text, source_span span) {
    if (!r->failed && r->now.kind != TOKEN_END)
        diag_error(l->diags, "E1130", span, "`%s` is not understood from `%s` on", text, r->now.text);
    else if (!r->failed)
        return true;
    else
        diag_error(l->diags, "E1130", span, "`%s` is not understood", text);
    l->failed = true;
    return false;
}

index_expr *launch_expression(lifter *l, const char *text, source_span span) {
    reader r;
    begin_text(l, &r, text, span);
    index_expr *x = read_index(&r);
    if (!end_text(l, &r, text, span))
        return NULL;
    for (int i = 0; i < l->k->scalars.count; i++) {
        index_var *v = l->k->scalars.at[i].var;
        if (v && v->lo && v->lo == v->hi)
            x = ix_substitute(l->arena, x, v, v->lo);
    }
    return x;
}

bool lift_conditions(lifter *l) {
    for (int i = 0; i < l->contract->conditions.count; i++) {
        const char *text = l->contract->conditions.at[i];
        reader r;
        begin_text(l, &r, text, (source_span){0});
        cond *c = read_condition(&r);
        if (!end_text(l, &r, text, (source_span){0}))
            return false;
        VEC_PUSH(l->arena, l->k->assumptions, c);
    }
    return true;
}

/* ---- levels ---- */

static const char *const axes = "xyz";

static bool add_tasks(lifter *l) {
    arena *a = l->arena;
    const char *names[3];
    index_expr *extents[3];
    int rank = 0, of[3];
    for (int d = 0; d < 3; d++) {
        if (d < l->contract->grid.count) {
            if (!(l->groups[d] = launch_expression(l, l->contract->grid.at[d], (source_span){0})))
                return false;
        } else if (l->facts->uses[d] && !l->contract->grid.count) {
            index_var *v = kernel_add_symbol(l->k, arena_printf(a, "groups_%c", axes[d]));
            v->lo = ix_const(a, 1);
            v->hi = ix_const(a, largest(l) / l->block[d]);
            l->groups[d] = ix_var(a, v);
            VEC_PUSH(a, l->k->assumptions, cond_compare(a, COND_LE, v->lo, l->groups[d]));
            VEC_PUSH(a, l->k->assumptions, cond_compare(a, COND_LE, l->groups[d], v->hi));
            VEC_PUSH(a, l->out->assumed,
                     arena_printf(a, "groups_%c blocks of %lld in direction %c, %lld threads at the most", axes[d],
                                  (long long)l->block[d], axes[d], (long long)largest(l)));
        } else {
            l->groups[d] = ix_const(a, 1);
        }
    }
    for (int d = 2; d >= 0; d--) {
        int64_t n;
        l->group[d] = ix_const(a, 0);
        if (ix_is_const(l->groups[d], &n) && n == 1)
            continue;
        names[rank] = arena_printf(a, "group_%c", axes[d]);
        extents[rank] = l->groups[d];
        of[rank++] = d;
    }
    kernel_add_level(l->k, LEVEL_TASK, rank, names, extents);
    for (int i = 0; i < rank; i++)
        l->group[of[i]] = ix_var(a, l->k->levels.at[0].ids[i]);
    return true;
}

/* Without subgroup operations every thread is a lane of the block. With them, 32 threads in a row (along x, then y, then z) are a subgroup: each
 * direction is cut where the lanes end, so that no id is ever divided. */
static bool add_threads(lifter *l) {
    arena *a = l->arena;
    int64_t lanes_left = l->facts->lanes ? l->lanes : INT64_MAX, inner[3], outer[3];
    for (int d = 0; d < 3; d++) {
        inner[d] = l->block[d] < lanes_left ? l->block[d] : lanes_left;
        if (l->block[d] % inner[d] || (l->facts->lanes && lanes_left % inner[d])) {
            lift_fail(l, "E1131", NULL, "blocks of %lld x %lld x %lld threads do not divide into subgroups of %d",
                      (long long)l->block[0], (long long)l->block[1], (long long)l->block[2], l->lanes);
            return false;
        }
        outer[d] = l->block[d] / inner[d];
        if (l->facts->lanes)
            lanes_left /= inner[d];
    }
    if (l->facts->lanes && lanes_left != 1) {
        lift_fail(l, "E1131", NULL, "a block of %lld threads is no whole subgroup of %d",
                  (long long)(l->block[0] * l->block[1] * l->block[2]), l->lanes);
        return false;
    }
    index_expr *parts[2][3];
    for (int level = 0; level < 2; level++) {
        const char *names[3];
        index_expr *extents[3];
        int rank = 0, of[3];
        for (int d = 2; d >= 0; d--) {
            int64_t n = level ? inner[d] : outer[d];
            parts[level][d] = ix_const(a, 0);
            if (n == 1)
                continue;
            names[rank] = arena_printf(a, level ? "local_%c" : "subgroup_%c", axes[d]);
            extents[rank] = ix_const(a, n);
            of[rank++] = d;
        }
        bool holds = !level && l->facts->matrices; /* one subgroup holds fragments, too */
        if (!rank && !holds && (!level || l->k->levels.count > 1))
            continue;
        if (!rank) { /* a block of one thread still is a block */
            names[rank] = level ? "local_x" : "subgroup_x";
            extents[rank] = ix_const(a, 1);
            of[rank++] = 0;
        }
        kernel_add_level(l->k, level ? LEVEL_LANE : LEVEL_SUBGROUP, rank, names, extents);
        for (int i = 0; i < rank; i++)
            parts[level][of[i]] = ix_var(a, l->k->levels.at[l->k->levels.count - 1].ids[i]);
    }
    l->lane = l->subgroup = ix_const(a, 0);
    for (int d = 2; d >= 0; d--) {
        l->thread[d] = ix_add(a, ix_mul(a, parts[0][d], ix_const(a, inner[d])), parts[1][d]);
        if (l->block[d] == 1)
            l->thread[d] = ix_const(a, 0);
        l->lane = ix_add(a, ix_mul(a, l->lane, ix_const(a, inner[d])), parts[1][d]);
        l->subgroup = ix_add(a, ix_mul(a, l->subgroup, ix_const(a, outer[d])), parts[0][d]);
    }
    return true;
}

static bool read_block_size(lifter *l) {
    bool said = false;
    for (int d = 0; d < 3; d++) {
        int64_t wanted = l->function->block_size[d], given = l->contract->block[d];
        if (wanted && given && wanted != given) {
            lift_fail(l, "E1131", NULL, "the kernel asks for blocks of %lld threads in direction %c, --block says %lld",
                      (long long)wanted, axes[d], (long long)given);
            return false;
        }
        l->block[d] = given ? given : wanted;
        said = said || l->block[d];
        l->block[d] = l->block[d] ? l->block[d] : 1;
    }
    if (!said) {
        lift_fail(l, "E1131", NULL, "the size of its blocks comes with the launch: --block X,Y,Z says it");
        return false;
    }
    int64_t threads = l->block[0] * l->block[1] * l->block[2];
    if (threads < 1 || threads > MOST_BLOCK_THREADS) {
        lift_fail(l, "E1131", NULL, "blocks of %lld threads; 1 to %d are read", (long long)threads, MOST_BLOCK_THREADS);
        return false;
    }
    l->lanes = l->contract->subgroup ? l->contract->subgroup : 32;
    return true;
}

/* ---- numbers of the launch ---- */

index_expr *launch_number(lifter *l, const char *what, int d) {
    arena *a = l->arena;
    index_expr *size = ix_const(a, l->block[d]);
    int64_t threads = l->block[0] * l->block[1] * l->block[2];
    if (!strcmp(what, "local_id"))
        return l->thread[d];
    if (!strcmp(what, "group_id"))
        return l->group[d];
    if (!strcmp(what, "global_id"))
        return ix_add(a, ix_mul(a, l->group[d], size), l->thread[d]);
    if (!strcmp(what, "local_size"))
        return size;
    if (!strcmp(what, "num_groups"))
        return l->groups[d];
    if (!strcmp(what, "global_size"))
        return ix_mul(a, l->groups[d], size);
    if (!strcmp(what, "global_offset"))
        return ix_const(a, 0);
    if (!strcmp(what, "lane"))
        return l->lane;
    if (!strcmp(what, "subgroup"))
        return l->subgroup;
    if (!strcmp(what, "subgroup_size"))
        return ix_const(a, l->lanes);
    if (!strcmp(what, "num_subgroups"))
        return ix_const(a, (threads + l->lanes - 1) / l->lanes);
    if (!strcmp(what, "local_linear_id") || !strcmp(what, "global_linear_id")) {
        bool local = what[0] == 'l';
        index_expr *sum = ix_const(a, 0);
        for (int i = 2; i >= 0; i--)
            sum = ix_add(a, ix_mul(a, sum, launch_number(l, local ? "local_size" : "global_size", i)),
                         launch_number(l, local ? "local_id" : "global_id", i));
        return sum;
    }
    return NULL;
}

static const struct {
    const char *metal, *what;
} metal_names[] = {{"thread_position_in_grid", "global_id"},
                   {"thread_position_in_threadgroup", "local_id"},
                   {"threadgroup_position_in_grid", "group_id"},
                   {"threads_per_threadgroup", "local_size"},
                   {"dispatch_threads_per_threadgroup", "local_size"},
                   {"threadgroups_per_grid", "num_groups"},
                   {"threads_per_grid", "global_size"},
                   {"thread_index_in_threadgroup", "local_linear_id"},
                   {"thread_index_in_simdgroup", "lane"},
                   {"simdgroup_index_in_threadgroup", "subgroup"},
                   {"threads_per_simdgroup", "subgroup_size"},
                   {"simdgroups_per_threadgroup", "num_subgroups"}};

static lifted builtin_argument(lifter *l, const char *builtin, const lift_type *t) {
    const char *what = NULL;
    for (size_t i = 0; i < sizeof metal_names / sizeof *metal_names; i++)
        if (!strcmp(metal_names[i].metal, builtin))
            what = metal_names[i].what;
    if (!what)
        return (lifted){0};
    if (t->kind == LIFT_INTEGER)
        return lifted_index(t->bits, launch_number(l, what, 0));
    if (t->kind != LIFT_VECTOR && t->kind != LIFT_ARRAY)
        return (lifted){0};
    lifted r = {.kind = LIFTED_ELEMENTS, .count = (int)t->count, .elements = NEW_ARRAY(l->arena, lifted, t->count)};
    for (int i = 0; i < r.count; i++)
        r.elements[i] = i < 3 ? lifted_index(t->element->bits, launch_number(l, what, i)) : (lifted){.kind = LIFTED_ANY};
    return r;
}

/* ---- arguments ---- */

static bool is_unsigned(const lift_argument_note *note) {
    const char *t = note->base_type ? note->base_type : "";
    return t[0] == 'u' || !strncmp(t, "size_t", 6);
}

lifted launch_scalar(lifter *l, const char *name, const lift_type *t, bool not_negative) {
    arena *a = l->arena;
    kernel_scalar s = {.name = arena_strdup(a, name)};
    const contract_argument *said = NULL;
    for (int i = 0; i < l->contract->arguments.count; i++)
        if (!strcmp(l->contract->arguments.at[i].name, name))
            said = &l->contract->arguments.at[i];
    if (t->kind == LIFT_FLOAT || t->kind == LIFT_HALF || t->kind == LIFT_BFLOAT) {
        s.type = ELEMENT_F32;
        VEC_PUSH(a, l->k->scalars, s);
        kernel_value *v = NEW(a, kernel_value);
        *v = (kernel_value){.op = KERNEL_SCALAR, .type = ELEMENT_F32, .lanes = 1, .scalar = s.name};
        if (t->kind != LIFT_FLOAT)
            v = kernel_op1(l->k, KERNEL_CONVERT, lift_value_type(t), v);
        return lifted_value(t->kind == LIFT_FLOAT ? 32 : 16, v);
    }
    if (t->kind != LIFT_INTEGER || t->bits > 64)
        return (lifted){0};
    int64_t most = largest(l), least = not_negative ? 0 : -most;
    if (t->bits < 31) {
        int64_t end = (int64_t)1 << (t->bits - !not_negative);
        most = end - 1 < most ? end - 1 : most;
        least = not_negative ? 0 : -most - 1;
    }
    if (t->bits == 1)
        least = 0, most = 1;
    s.type = t->bits > 32 ? ELEMENT_INDEX : not_negative ? ELEMENT_U32 : ELEMENT_I32;
    s.var = kernel_new_var(l->k, s.name, INDEX_SCALAR);
    s.var->lo = ix_const(a, least);
    s.var->hi = ix_const(a, most);
    if (said && said->low) {
        index_expr *lo = launch_expression(l, said->low, said->span), *hi = launch_expression(l, said->high, said->span);
        if (!lo || !hi)
            return (lifted){0};
        bool single = !strcmp(said->low, said->high);
        s.var->lo = lo;
        s.var->hi = single ? lo : hi;
        int64_t n, m;
        if (ix_is_const(lo, &n) && ix_is_const(hi, &m) && t->bits <= 32) { /* what the type holds */
            int64_t limit = (int64_t)1 << t->bits;
            if (m < n || n < -(limit / 2) || m >= limit || (n < 0 && m >= limit / 2)) {
                diag_error(l->diags, "E1130", said->span, "`%s` has %d bits: it can't be in %s .. %s", name, t->bits, said->low,
                           said->high);
                l->failed = true;
            }
            s.type = m >= limit / 2 && t->bits == 32 ? ELEMENT_U32 : s.type;
            if (n < 0 && s.type == ELEMENT_U32)
                s.type = ELEMENT_I32;
        }
    }
    VEC_PUSH(a, l->k->scalars, s);
    /* one value, as nb = 4 * cols: products with it are linear, and extents said by it divide; the launch checks it */
    index_expr *x = s.var->lo == s.var->hi ? s.var->lo : ix_var(a, s.var);
    if (t->bits == 1)
        return lifted_condition(cond_compare(a, COND_NE, x, ix_const(a, 0)));
    return lifted_index(t->bits, x);
}

/* A vector, array or struct by value: NAME_0, NAME_1_2, ... for what it holds. */
static lifted parts(lifter *l, const char *name, const lift_type *t, bool not_negative) {
    if (t->kind != LIFT_VECTOR && t->kind != LIFT_ARRAY && t->kind != LIFT_STRUCT)
        return launch_scalar(l, name, t, not_negative);
    lifted r = {
        .kind = LIFTED_ELEMENTS, .count = (int)t->count, .elements = NEW_ARRAY(l->arena, lifted, t->count ? t->count : 1)};
    for (int i = 0; i < r.count; i++)
        r.elements[i] =
            parts(l, arena_printf(l->arena, "%s_%d", name, i), t->kind == LIFT_STRUCT ? t->fields[i] : t->element, not_negative);
    return r;
}

static lifted argument(lifter *l, const lift_value *v, const lift_argument_note *note) {
    const lift_type *t = v->type;
    if (note->builtin)
        return builtin_argument(l, note->builtin, t);
    if (t->kind == LIFT_POINTER)
        return t->space == 1 || t->space == 3 || t->space == 4 ? lift_pointer_to(l, v) : (lifted){0};
    const char *name = lift_name(l, v->name, "value");
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT)
        return parts(l, name, t, is_unsigned(note));
    return launch_scalar(l, name, t, is_unsigned(note) || (!note->base_type && lift_is_used_unsigned(l->function, v)));
}

bool lift_launch(lifter *l) {
    if (!read_block_size(l))
        return false;
    for (int i = 0; i < l->function->arguments.count && !lift_stopped(l); i++) {
        const lift_value *v = l->function->arguments.at[i];
        if (!l->function->notes[i].builtin && v->uses)
            l->env[v->id] = argument(l, v, &l->function->notes[i]);
    }
    if (!lift_stopped(l))
        lift_single_parameters(l);
    if (lift_stopped(l) || !add_tasks(l) || !add_threads(l))
        return false;
    for (int i = 0; i < l->function->arguments.count; i++)
        if (l->function->notes[i].builtin)
            l->env[l->function->arguments.at[i]->id] = argument(l, l->function->arguments.at[i], &l->function->notes[i]);
    return true;
}
