/* Rule 3: tile sizes carry no meaning. A reduction over a range with a scheduled size, within the loop over it, sees a part of the
 * dimension. Such a partial value may only be combined: a partial sum by `+=`, a partial maximum by `max=`, anything by a join. */
#include "lang/build.h"
#include <math.h>
#include <string.h>

bool taint_partial(const tile_range *r) {
    return r->scheduled && !r->whole;
}

static const taint *find_taint(const taint_list *list, const tile_range *r) {
    for (int i = 0; i < list->items.count; i++)
        if (list->items.at[i].range == r)
            return &list->items.at[i];
    return NULL;
}

static void set_taint(builder *b, taint_list *list, tile_range *r, taint_kind kind, taint_kind origin, source_span span) {
    for (int i = 0; i < list->items.count; i++)
        if (list->items.at[i].range == r) {
            list->items.at[i].kind = kind;
            return;
        }
    taint t = {r, kind, origin, span};
    VEC_PUSH(b->arena, list->items, t);
}

static const taint_list *taints_of(builder *b, const tile_value *v) {
    return &b->info.at[v->id].taints;
}

/* What op makes of its operands' kinds with respect to one range; -1 marks an operand without any. */
static taint_kind kind_after(const tile_value *v, const int *kinds, const tile_range *r) {
    int first = kinds[0], second = v->operand_count > 1 ? kinds[1] : -1;
    switch (v->op) {
    case TILE_NEG: return first == TAINT_MAX ? TAINT_MIN : first == TAINT_MIN ? TAINT_MAX : (taint_kind)first;
    case TILE_CONVERT: return v->type == v->operands[0]->type ? (taint_kind)first : TAINT_OTHER;
    case TILE_ADD:
    case TILE_SUB: return first == TAINT_SUM && second == TAINT_SUM ? TAINT_SUM : TAINT_OTHER;
    case TILE_MUL:
        if (first == TAINT_SUM && second < 0 && !tile_has_axis(v->operands[1], r))
            return TAINT_SUM;
        return second == TAINT_SUM && first < 0 && !tile_has_axis(v->operands[0], r) ? TAINT_SUM : TAINT_OTHER;
    case TILE_DIV: return first == TAINT_SUM && second < 0 && !tile_has_axis(v->operands[1], r) ? TAINT_SUM : TAINT_OTHER;
    case TILE_DOT:
        if (first == TAINT_SUM && second < 0 && !tile_has_axis(v->operands[1], r))
            return TAINT_SUM;
        return second == TAINT_SUM && first < 0 && !tile_has_axis(v->operands[0], r) ? TAINT_SUM : TAINT_OTHER;
    case TILE_MAX: return first == TAINT_MAX && second == TAINT_MAX ? TAINT_MAX : TAINT_OTHER;
    case TILE_MIN: return first == TAINT_MIN && second == TAINT_MIN ? TAINT_MIN : TAINT_OTHER;
    case TILE_REDUCE_SUM: return first == TAINT_SUM ? TAINT_SUM : TAINT_OTHER;
    case TILE_REDUCE_MAX: return first == TAINT_MAX ? TAINT_MAX : TAINT_OTHER;
    case TILE_REDUCE_MIN: return first == TAINT_MIN ? TAINT_MIN : TAINT_OTHER;
    default: return TAINT_OTHER;
    }
}

static void taint_of_index(builder *b, tile_value *v, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_VALUE && x->var->owner) {
        const taint_list *from = taints_of(b, x->var->owner);
        for (int i = 0; i < from->items.count; i++)
            set_taint(b, &b->info.at[v->id].taints, from->items.at[i].range, TAINT_OTHER, from->items.at[i].origin,
                      from->items.at[i].span);
    }
    taint_of_index(b, v, x->a);
    taint_of_index(b, v, x->b);
}

/* A variable that a scheduled loop updates holds, within that loop, what the tiles so far have given. */
static void taint_of_variable(builder *b, tile_value *v) {
    const variable_info *x = &b->variables.at[v->variable->id];
    taint_list *mine = &b->info.at[v->id].taints;
    for (int i = 0; i < x->taints.items.count; i++)
        set_taint(b, mine, x->taints.items.at[i].range, x->taints.items.at[i].kind, x->taints.items.at[i].origin,
                  x->taints.items.at[i].span);
    for (int i = x->loop_depth; i < b->loops.count; i++) {
        const loop_scope *l = &b->loops.at[i];
        if (taint_partial(l->range) && lang_statements_update(&l->syntax->body, 0, v->variable->name))
            set_taint(b, mine, l->range, TAINT_OTHER, TAINT_OTHER, v->span);
    }
}

void taint_derive(builder *b, tile_value *v) {
    taint_list *mine = &b->info.at[v->id].taints;
    if (v->op == TILE_GET || v->op == TILE_FIELD) {
        taint_of_variable(b, v);
        return;
    }
    if (v->op == TILE_LOAD)
        for (int i = 0; i < v->array->rank; i++)
            taint_of_index(b, v, v->indices[i]);
    for (int i = 0; i < v->operand_count; i++) {
        const taint_list *from = taints_of(b, v->operands[i]);
        for (int j = 0; j < from->items.count; j++) {
            taint t = from->items.at[j];
            int kinds[3] = {-1, -1, -1};
            for (int o = 0; o < v->operand_count && o < 3; o++) {
                const taint *has = find_taint(taints_of(b, v->operands[o]), t.range);
                kinds[o] = has ? (int)has->kind : -1;
            }
            set_taint(b, mine, t.range, kind_after(v, kinds, t.range), t.origin, t.span);
        }
    }
    bool reduces = v->op == TILE_REDUCE_SUM || v->op == TILE_REDUCE_MAX || v->op == TILE_REDUCE_MIN;
    bool chooses = v->op == TILE_ARGMAX || v->op == TILE_ARGMIN;
    if ((reduces || chooses) && taint_partial(v->range)) {
        bool before = find_taint(mine, v->range) != NULL;
        taint_kind kind = v->op == TILE_REDUCE_SUM ? TAINT_SUM : v->op == TILE_REDUCE_MAX ? TAINT_MAX : TAINT_MIN;
        set_taint(b, mine, v->range, before || chooses ? TAINT_OTHER : kind, kind, v->span);
    }
    for (int i = 0; v->op == TILE_DOT && i < v->contract_count; i++)
        if (taint_partial(v->contract[i])) {
            bool before = find_taint(mine, v->contract[i]) != NULL;
            set_taint(b, mine, v->contract[i], before ? TAINT_OTHER : TAINT_SUM, TAINT_SUM, v->span);
        }
}

static diag *report(builder *b, const taint *t) {
    diag *g =
        lang_error(b, "E0305", t->span, "this value depends on the tile size %s", lang_index_text(b->arena, t->range->size));
    return g;
}

static void mend(builder *b, diag *g, const taint *t) {
    if (t->range->is_task)
        diag_caret(b->diags, g,
                   "it covers one task's part of `%s`; make `%s` the whole dimension, or reduce in a loop over another range",
                   t->range->name, t->range->name);
    else if (t->origin == TAINT_OTHER)
        diag_caret(b->diags, g, "it is only complete after the loop over `%s`", t->range->name);
    else
        diag_caret(b->diags, g, "a partial %s; finish it in a loop of its own first",
                   t->origin == TAINT_SUM   ? "sum"
                   : t->origin == TAINT_MAX ? "maximum"
                                            : "minimum");
}

void taint_check_clean(builder *b, const tile_value *v, source_span span) {
    (void)span;
    const taint_list *list = taints_of(b, v);
    if (list->items.count)
        mend(b, report(b, &list->items.at[0]), &list->items.at[0]);
}

static taint_kind kind_of_update(tile_op op) {
    return op == TILE_ADD ? TAINT_SUM : op == TILE_MAX ? TAINT_MAX : TAINT_MIN;
}

static bool is_identity(const tile_variable *x, tile_op op) {
    const tile_value *v = x->empty[0];
    while (v->op == TILE_CONVERT)
        v = v->operands[0];
    if (v->op != TILE_CONST)
        return false;
    return op == TILE_ADD ? v->number == 0 : isinf(v->number) && (v->number < 0) == (op == TILE_MAX);
}

void taint_declared(builder *b, tile_variable *x) {
    while (b->variables.count <= x->id) {
        variable_info empty = {0};
        VEC_PUSH(b->arena, b->variables, empty);
    }
    variable_info *info = &b->variables.at[x->id];
    info->loop_depth = b->loops.count;
    if (x->combine)
        return;
    const taint_list *from = taints_of(b, x->empty[0]);
    for (int i = 0; i < from->items.count; i++)
        set_taint(b, &info->taints, from->items.at[i].range, TAINT_OTHER, from->items.at[i].origin, from->items.at[i].span);
}

void taint_check_update(builder *b, tile_variable *x, tile_op op, const tile_value *v, const stmt *s) {
    variable_info *info = &b->variables.at[x->id];
    const taint_list *list = taints_of(b, v);
    taint_kind wanted = kind_of_update(op);
    const char *word = op == TILE_ADD ? "+=" : op == TILE_MAX ? "max=" : "min=";
    bool mixed = info->touched && info->update != op;
    /* Loops between the declaration and here: each must be combined over completely, and by this update alone. */
    for (int i = info->loop_depth; i < b->loops.count; i++) {
        tile_range *r = b->loops.at[i].range;
        if (!taint_partial(r))
            continue;
        const taint *t = find_taint(list, r);
        if (!t) {
            diag *g = lang_error(b, "E0305", s->span,
                                 "`%s %s ...` happens once for every tile of `%s`, so it depends on the tile size %s", x->name,
                                 word, r->name, lang_index_text(b->arena, r->size));
            diag_caret(b->diags, g, "reduce over `%s` (`sum[%s](...)`), or move it out of the loop", r->name, r->name);
            return;
        }
        if (t->kind != wanted) {
            diag *g = report(b, t);
            if (t->kind == TAINT_OTHER)
                diag_caret(b->diags, g, "a part of `%s` is used before it is complete; `%s` takes %s itself", r->name, word,
                           op == TILE_ADD   ? "sums of elements"
                           : op == TILE_MAX ? "maxima of elements"
                                            : "minima of elements");
            else
                diag_caret(b->diags, g, "a partial %s cannot be combined by `%s`",
                           t->kind == TAINT_SUM   ? "sum"
                           : t->kind == TAINT_MAX ? "maximum"
                                                  : "minimum",
                           word);
            return;
        }
        if (mixed) {
            diag *g = lang_error(b, "E0305", s->span, "`%s` is combined in two ways, so it depends on the tile size %s", x->name,
                                 lang_index_text(b->arena, r->size));
            diag_caret(b->diags, g, "use one variable for each way");
            return;
        }
    }
    /* Ranges around the declaration, and tasks: the variable itself holds a part. */
    bool first = !info->touched;
    info->touched = true;
    info->update = op;
    for (int i = 0; i < list->items.count; i++) {
        taint t = list->items.at[i];
        bool inner = false;
        for (int j = info->loop_depth; j < b->loops.count; j++)
            inner |= b->loops.at[j].range == t.range;
        if (inner)
            continue;
        const taint *old = find_taint(&info->taints, t.range);
        bool pure = t.kind == wanted && (old ? old->kind == wanted : first && is_identity(x, op));
        set_taint(b, &info->taints, t.range, pure ? t.kind : TAINT_OTHER, t.origin, t.span);
    }
    for (int i = 0; i < info->taints.items.count; i++)
        if (!find_taint(list, info->taints.items.at[i].range) || mixed)
            info->taints.items.at[i].kind = TAINT_OTHER;
}

void taint_check_join(builder *b, tile_variable *x, tile_value **values, source_span span) {
    variable_info *info = &b->variables.at[x->id];
    for (int i = info->loop_depth; i < b->loops.count; i++) {
        tile_range *r = b->loops.at[i].range;
        if (!taint_partial(r))
            continue;
        bool any = false;
        for (int f = 0; f < x->field_count; f++)
            any |= find_taint(taints_of(b, values[f]), r) != NULL;
        if (!any) {
            diag *g =
                lang_error(b, "E0305", span, "`%s <- ...` happens once for every tile of `%s`, so it depends on the tile size %s",
                           x->name, r->name, lang_index_text(b->arena, r->size));
            diag_caret(b->diags, g, "join what a reduction over `%s` gives, or move it out of the loop", r->name);
            return;
        }
    }
    for (int f = 0; f < x->field_count; f++) {
        const taint_list *list = taints_of(b, values[f]);
        for (int i = 0; i < list->items.count; i++) {
            bool inner = false;
            for (int j = info->loop_depth; j < b->loops.count; j++)
                inner |= b->loops.at[j].range == list->items.at[i].range;
            if (!inner)
                set_taint(b, &info->taints, list->items.at[i].range, TAINT_OTHER, list->items.at[i].origin,
                          list->items.at[i].span);
        }
    }
}

static bool statement_updates(const stmt *s, const char *name) {
    if ((s->kind == STMT_UPDATE || s->kind == STMT_JOIN || s->kind == STMT_MULTIPLY) && s->name && !strcmp(s->name, name))
        return true;
    return lang_statements_update(&s->body, 0, name);
}

bool lang_statements_update(const stmt_list *list, int from, const char *name) {
    for (int i = from; i < list->items.count; i++)
        if (statement_updates(list->items.at[i], name))
            return true;
    return false;
}
