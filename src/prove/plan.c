/* The launch plan as a whole: exactly one variant holds for any launch that passes the checks; what the kernels take for granted is
 * checked; the variants take the same arguments. */
#include "prove/model.h"
#include <string.h>

static const char *index_text(model *m, const index_expr *x) {
    text_buffer b = {0};
    if (x)
        ix_print(&b, x);
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

static const char *condition_text(model *m, const cond *c) {
    text_buffer b = {0};
    cond_print(&b, c);
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

static int_set *within_bounds(model *m, int_set *all, const index_var *v) {
    for (int side = 0; side < 2; side++) {
        index_expr *bound = side ? v->hi : v->lo;
        affine *b = bound ? affine_of(m, 0, bound) : NULL, *own = b ? affine_of(m, 0, ix_var(m->arena, (index_var *)v)) : NULL;
        if (own)
            all = sets_intersect(m->sets, all,
                                 affine_nonnegative(m, side ? affine_subtract(m, b, own) : affine_subtract(m, own, b)));
    }
    return all;
}

/* The parameters of launches that pass the checks: symbols at least 0, scalars in ranges that are checked or their type's, every `where`. */
static int_set *checked_launches(prover *p) {
    model *m = p->m;
    sets *z = m->sets;
    int_set *all = parameter_limit(m, 0);
    for (int i = 0; i < m->parameters.count; i++)
        if (m->parameters.at[i]->kind == INDEX_SYMBOL)
            all = sets_intersect(z, all, sets_nonnegative(z, linear_parameter(z, 0, i)));
    for (int i = 0; i < p->plan->checks.count; i++) {
        const launch_check *c = &p->plan->checks.at[i];
        if (c->kind == CHECK_WHERE) {
            int_set *by = affine_condition(m, 0, c->condition, false);
            all = by ? sets_intersect(z, all, by) : all; /* not affine: not used, which is larger */
        }
        if (c->kind == CHECK_SCALAR_RANGE)
            all = within_bounds(m, all, c->scalar->var);
    }
    for (int i = 0; i < m->kernel->scalars.count; i++)
        if (kernel_scalar_is_whole_type(&m->kernel->scalars.at[i]))
            all = within_bounds(m, all, m->kernel->scalars.at[i].var);
    return all;
}

static int_set *variant_set(prover *p, int v, bool negated) {
    const cond *c = p->plan->variants.at[v].predicate;
    if (!c)
        return negated ? sets_empty(p->m->sets, 0) : sets_universe(p->m->sets, 0);
    return affine_condition(p->m, 0, c, negated);
}

static bool judge_empty(prover *p, int_set *x, const char *subject, const char *explanation) {
    witness w = witness_of(p->m, x, NULL, 0);
    if (w.verdict == VERDICT_REFUTED)
        prover_refuted(p, subject, p->kernel->span, w.text, explanation, NULL);
    else if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, subject, p->kernel->span);
    return w.verdict == VERDICT_PROVED;
}

static void judge_variants(prover *p, int_set *launches) {
    model *m = p->m;
    int_set *none = launches;
    prover_start(p);
    sets_question(m->sets);
    m->why = NULL;
    for (int i = 0; i < p->plan->variants.count; i++) {
        none = sets_intersect(m->sets, none, variant_set(p, i, true));
        for (int j = 0; j < i; j++) {
            int_set *both =
                sets_intersect(m->sets, launches, sets_intersect(m->sets, variant_set(p, i, false), variant_set(p, j, false)));
            if (!judge_empty(p, both, p->plan->name, model_text(m, "variants %d and %d both hold", j, i)))
                return;
        }
    }
    if (judge_empty(p, none, p->plan->name, "no variant holds"))
        prover_proved(p, p->plan->name, p->kernel->span);
}

/* What a kernel assumes follows from the checks and the predicate. */
static bool judge_assumption(prover *p, int variant, int_set *launches, const cond *c) {
    sets_question(p->m->sets);
    p->m->why = NULL;
    int_set *broken = sets_intersect(p->m->sets, launches, variant_set(p, variant, false));
    broken = sets_intersect(p->m->sets, broken, affine_condition(p->m, 0, c, true));
    if (!broken) { /* not affine: then the very same text must be checked */
        const char *text = condition_text(p->m, c);
        for (int i = 0; i < p->plan->checks.count; i++)
            if (p->plan->checks.at[i].kind == CHECK_WHERE && !strcmp(condition_text(p->m, p->plan->checks.at[i].condition), text))
                return true;
    }
    return judge_empty(p, broken, p->kernel->name,
                       model_text(p->m, "the kernel assumes `%s`, which no launch check guarantees", condition_text(p->m, c)));
}

static const launch_check *find_check(prover *p, check_kind kind, const char *name) {
    for (int i = 0; i < p->plan->checks.count; i++) {
        const launch_check *c = &p->plan->checks.at[i];
        const char *of = c->kind != kind              ? NULL
                         : kind == CHECK_SCALAR_RANGE ? c->scalar->name
                         : kind == CHECK_WHERE        ? NULL
                                                      : c->array->name;
        if (of && !strcmp(of, name))
            return c;
    }
    return NULL;
}

static bool missing(prover *p, const char *subject, source_span span, const char *what) {
    prover_refuted(p, subject, span, NULL, model_text(p->m, "no launch check guarantees %s", what), NULL);
    return false;
}

/* `aligned`: what every launch of the kernel's form checks its arrays' beginnings for. */
static bool judge_array(prover *p, const kernel_array *a, int aligned) {
    model *m = p->m;
    if (a->space != SPACE_GLOBAL)
        return true;
    if (a->element_bound) {
        const launch_check *c = find_check(p, CHECK_INDEX_RANGE, a->name);
        const char *bound = index_text(m, a->element_bound);
        if (!c || !c->array->element_bound || strcmp(index_text(m, c->array->element_bound), bound))
            return missing(p, a->name, a->span, model_text(m, "that the elements of `%s` are below `%s`", a->name, bound));
    }
    if (a->element_injective && !find_check(p, CHECK_INJECTIVE, a->name))
        return missing(p, a->name, a->span, model_text(m, "that no element of `%s` occurs twice", a->name));
    if (a->alignment > element_table[a->element].block_bytes && a->alignment > 1 && (!aligned || aligned % a->alignment))
        return missing(p, a->name, a->span, model_text(m, "that `%s` is aligned to %d bytes", a->name, a->alignment));
    return true;
}

static bool judge_scalar(prover *p, const kernel_scalar *s) {
    if (!s->var || (!s->var->lo && !s->var->hi) || kernel_scalar_is_whole_type(s))
        return true;
    const launch_check *c = find_check(p, CHECK_SCALAR_RANGE, s->name);
    const index_var *v = c ? c->scalar->var : NULL;
    if (v && !strcmp(index_text(p->m, v->lo), index_text(p->m, s->var->lo)) &&
        !strcmp(index_text(p->m, v->hi), index_text(p->m, s->var->hi)))
        return true;
    return missing(
        p, s->name, p->kernel->span,
        model_text(p->m, "that `%s` is in %s..%s", s->name, index_text(p->m, s->var->lo), index_text(p->m, s->var->hi)));
}

static bool judge_symbol(prover *p, int variant, int_set *launches, index_var *v) {
    arena *a = p->arena;
    cond *c = NULL;
    if (v->lo)
        c = cond_and(a, c, cond_compare(a, COND_LE, v->lo, ix_var(a, v)));
    if (v->hi)
        c = cond_and(a, c, cond_compare(a, COND_LE, ix_var(a, v), v->hi));
    return !c || judge_assumption(p, variant, launches, c);
}

static const kernel_array *workspace_named(const launch_plan *plan, const char *name) {
    for (int i = 0; i < plan->workspaces.count; i++)
        if (!strcmp(plan->workspaces.at[i]->name, name))
            return plan->workspaces.at[i];
    return NULL;
}

static bool is_workspace(const launch_plan *plan, const kernel_array *a) {
    return a->use == USE_WORKSPACE || workspace_named(plan, a->name);
}

/* The arguments of a variant: symbols, scalars and global arrays, in order. */
static const char *signature(model *m, const launch_plan *plan, const kernel_ir *k) {
    text_buffer b = {0};
    for (int i = 0; i < k->symbols.count; i++)
        text_add(&b, "%s,", k->symbols.at[i]->name);
    for (int i = 0; i < k->scalars.count; i++)
        text_add(&b, "%s:%d,", k->scalars.at[i].name, k->scalars.at[i].type);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL || is_workspace(plan, a))
            continue;
        text_add(&b, "%s:%d:%d[", a->name, a->element, a->use);
        for (int d = 0; d < a->rank; d++)
            text_add(&b, "%s,", index_text(m, a->dims[d]));
        text_add(&b, "],");
    }
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

/* ---- the kernels of a variant ---- */

static bool unknown(prover *p, const char *subject, source_span span, const char *why) {
    prover_unknown(p, subject, span, NULL, why);
    return false;
}

static bool same_memory(model *m, const kernel_array *a, const kernel_array *b) {
    bool same = a->element == b->element && a->rank == b->rank && a->lanes == b->lanes && a->layout.kind == b->layout.kind;
    for (int d = 0; same && d < a->rank; d++)
        same = !strcmp(index_text(m, a->dims[d]), index_text(m, b->dims[d]));
    return same;
}

static bool writes(const kernel_array *a) {
    return a->use == USE_OUT || a->use == USE_UPDATE;
}

/* What the array is in the plan: a workspace of the same shape, or an argument of the variant's own kernel. */
static bool judge_binding(prover *p, const kernel_ir *k, const kernel_ir *own, const kernel_array *a) {
    model *m = p->m;
    const kernel_array *w = workspace_named(p->plan, a->name);
    if (a->space != SPACE_GLOBAL)
        return true;
    if (w && (a->element_bound || a->element_injective))
        return unknown(p, a->name, a->span, "what the elements of a workspace are");
    if (w ? !same_memory(m, a, w) : a->use == USE_WORKSPACE) {
        prover_refuted(p, a->name, a->span, NULL,
                       model_text(m, "`%s` is no workspace of the plan, or not of this shape", a->name), NULL);
        return false;
    }
    if (w || k == own)
        return true;
    for (int i = 0; i < own->arrays.count; i++) {
        const kernel_array *b = own->arrays.at[i];
        if (b->space != SPACE_GLOBAL || strcmp(a->name, b->name))
            continue;
        if (writes(a) || writes(b))
            return unknown(p, a->name, a->span, "an argument that one kernel of the plan writes and another one touches");
        return same_memory(m, a, b) || unknown(p, a->name, a->span, "an argument that two kernels take in two shapes");
    }
    prover_refuted(p, a->name, a->span, NULL, model_text(m, "`%s` is neither an argument nor a workspace", a->name), NULL);
    return false;
}

/* Two kernels before the main one do not touch one argument that either writes: the main one takes all arguments, so this is seen there. */
static bool judge_one(prover *p, int v, const kernel_ir *k, int_set *launches, int aligned) {
    const kernel_ir *own = aligned ? k : p->plan->variants.at[v].kernel; /* an aligned form runs in the kernel's place */
    bool fine = true;
    p->kernel = k;
    for (int i = 0; i < k->assumptions.count && fine; i++)
        fine = judge_assumption(p, v, launches, k->assumptions.at[i]);
    for (int i = 0; i < k->symbols.count && fine; i++)
        fine = judge_symbol(p, v, launches, k->symbols.at[i]);
    for (int i = 0; i < k->scalars.count && fine; i++)
        fine = judge_scalar(p, &k->scalars.at[i]);
    for (int i = 0; i < k->arrays.count && fine; i++)
        fine = judge_binding(p, k, own, k->arrays.at[i]) && judge_array(p, k->arrays.at[i], aligned);
    return fine;
}

/* The aligned form takes the variant's arguments; what it takes for granted is checked before it is chosen. */
static bool judge_aligned_launch(prover *p, int v, int_set *launches) {
    const plan_variant *variant = &p->plan->variants.at[v];
    const kernel_ir *k = variant->aligned;
    model *m = p->m;
    if (variant->before.count || p->plan->workspaces.count)
        return unknown(p, k->name, k->span, "an aligned form between other kernels");
    if (strcmp(signature(m, p->plan, k), signature(m, p->plan, variant->kernel))) {
        prover_refuted(p, k->name, k->span, NULL, "the aligned form takes other arguments than the kernel", NULL);
        return false;
    }
    if (variant->divided.count && variant->multiple < 1)
        return unknown(p, k->name, k->span, "extents divided by nothing");
    for (int i = 0; i < variant->divided.count; i++) {
        int symbol = variant->divided.at[i];
        if (symbol < 0 || symbol >= k->symbols.count)
            return unknown(p, k->name, k->span, "a divided extent that is none");
        affine *x = affine_of(m, 0, ix_var(m->arena, k->symbols.at[symbol]));
        launches = sets_intersect(m->sets, launches, affine_multiple(m, 0, x, variant->multiple));
    }
    return judge_one(p, v, k, launches, PLAN_ALIGNMENT);
}

static void judge_variant(prover *p, int v, int_set *launches) {
    const plan_variant *variant = &p->plan->variants.at[v];
    const kernel_ir *k = variant->kernel;
    bool fine = true;
    prover_start(p);
    p->kernel = k;
    if (strcmp(signature(p->m, p->plan, k), signature(p->m, p->plan, p->plan->variants.at[0].kernel))) {
        prover_refuted(p, k->name, k->span, NULL, model_text(p->m, "variant %d takes other arguments than variant 0", v), NULL);
        return;
    }
    for (int i = 0; i < variant->before.count && fine; i++)
        fine = judge_one(p, v, variant->before.at[i], launches, 0);
    if (fine && judge_one(p, v, k, launches, 0) && (!variant->aligned || judge_aligned_launch(p, v, launches)))
        prover_proved(p, k->name, k->span);
}

void judge_plan(prover *p) {
    int_set *launches = checked_launches(p);
    judge_variants(p, launches);
    for (int i = 0; i < p->plan->variants.count; i++)
        judge_variant(p, i, launches);
}
