/* Integers that the source lets wrap around, as C does unsigned ones: where it is not shown that they stay in their range, they are their value modulo it. */
#include "prove/model.h"

/* Of one integer: every one that is not shown to fit stays a remainder, which is as right and only harder to reason about, so little time is spent. */
enum { QUESTION_OPERATIONS = 20000, MOST_ROUNDS = 4, MOST_DEPTH = 200 };

static bool any_wraps(const kernel_block *b, int depth) {
    for (int i = 0; i < b->items.count && depth < MOST_DEPTH; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (s->wraps || any_wraps(&s->body, depth + 1) || any_wraps(&s->otherwise, depth + 1))
            return true;
    }
    return false;
}

static bool stays_in_range(prover *p, let_place *l) {
    proof own = {0};
    diag_list quiet;
    diag_init(&quiet, p->arena);
    prover trial = *p;
    trial.proof = &own;
    trial.diags = &quiet;
    trial.quick = true;
    prover_start(&trial);
    judge_range(&trial, l);
    return own.proved == own.items.count;
}

/* Those that the model's kernel has and that are not shown to fit: how many are changed. */
static int wrap_round(prover *p, kernel_ir *k) {
    model *m = p->m;
    int changed = 0;
    for (int i = 0; i < m->lets.count; i++) {
        kernel_stmt *s = (kernel_stmt *)m->lets.at[i].let;
        int64_t lo, hi;
        if (!s->wraps || s->value->op != KERNEL_INDEX || !ix_is_const(s->var->lo, &lo) || !ix_is_const(s->var->hi, &hi) ||
            stays_in_range(p, &m->lets.at[i]))
            continue;
        index_expr *first = ix_const(p->arena, lo), *from = ix_sub(p->arena, s->value->index, first);
        s->value = kernel_index(k, ix_add(p->arena, ix_mod(p->arena, from, ix_const(p->arena, hi - lo + 1)), first));
        s->wraps = false;
        changed++;
    }
    return changed;
}

int prove_wraps(arena *a, kernel_ir *k, const target_limits *limits) {
    int changed = 0;
    proof none = {0};
    diag_list quiet;
    diag_init(&quiet, a);
    prover p = {
        .arena = a, .limits = limits, .kernel = k, .proof = &none, .diags = &quiet, .property = "bounds", .code = "E0401"};
    for (int round = 0; round < MOST_ROUNDS && any_wraps(&k->body, 0); round++) {
        sets *s = sets_new(QUESTION_OPERATIONS);
        if (!s)
            break;
        prover_begin_time(&p, s);
        p.m = model_new(a, s, k, limits, NULL);
        int now = p.m->beyond ? 0 : wrap_round(&p, k);
        sets_free(s);
        changed += now;
        if (!now)
            break;
    }
    return changed;
}
