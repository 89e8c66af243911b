/* kernel_check: sequential statements and control flow. */
#include "kernel/check_parts.h"

static const source_span here = {0};

static void check_let(checker *c, const kernel_stmt *s) {
    check_value(c, s->value);
    if (!s->value)
        return;
    element_type t = s->value->type;
    bool integer = s->value->lanes == 1 && !element_table[t].is_float && t != ELEMENT_BOOL;
    if (element_table[t].block_elements > 1)
        check_fail(c, "E0944", here, "`%s` names a value of the block format %s; convert first", s->name ? s->name : "?",
                   element_table[t].name);
    if (s->var && (!integer || s->var->kind != INDEX_VALUE || s->var->owner != s))
        check_fail(c, "E0935", here, "`%s` is marked as an integer that index expressions may use, and is none",
                   s->name ? s->name : "?");
    if (s->value->op == KERNEL_INDEX && !s->var)
        check_fail(c, "E0935", here, "`%s` is an integer without a variable", s->name ? s->name : "?");
    if (s->var && s->var->lo)
        check_index(c, s->var->lo, INDEX_ANYWHERE, LEVEL_TASK, "a let's range");
    if (s->var && s->var->hi)
        check_index(c, s->var->hi, INDEX_ANYWHERE, LEVEL_TASK, "a let's range");
    check_declare(c, s->name, NAME_LET, (void *)s, s->var, s->span);
}

static void check_body(checker *c, const kernel_stmt *s) {
    check_block(c, &s->body);
    check_block(c, &s->otherwise);
}

static void no_else(checker *c, const kernel_stmt *s) {
    if (s->otherwise.items.count)
        check_fail(c, "E0964", here, "`%s` has an else", kernel_stmt_names[s->kind]);
}

static bool over_launch(const index_expr *x, int depth) {
    if (depth > CHECK_INDEX_DEPTH)
        return false;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_SYMBOL || x->var->kind == INDEX_SCALAR;
    return x->op == IX_CONST || (over_launch(x->a, depth + 1) && over_launch(x->b, depth + 1));
}

static void check_for(checker *c, const kernel_stmt *s) {
    int64_t lo, hi, step;
    check_index(c, s->lo, INDEX_ANYWHERE, LEVEL_TASK, "a loop's start");
    check_index(c, s->hi, INDEX_ANYWHERE, LEVEL_TASK, "a loop's end");
    check_index(c, s->step, INDEX_ANYWHERE, LEVEL_TASK, "a loop's step");
    if (!s->lo || !s->hi || !s->step || !s->var) {
        check_fail(c, "E0964", here, "a loop lacks its variable or bounds");
        return;
    }
    if (ix_is_const(s->step, &step) ? step < 1 : !over_launch(s->step, 0))
        check_fail(c, "E0950", here, "the step of `%s` must be a positive constant or an expression over launch symbols",
                   s->var->name);
    if (s->unroll && (!ix_is_const(s->lo, &lo) || !ix_is_const(s->hi, &hi) || !ix_is_const(s->step, &step)))
        check_fail(c, "E0950", here, "the loop over `%s` is to be unrolled, but its bounds are not constant", s->var->name);
    else if (s->unroll && step > 0 && hi > lo && (hi - lo - 1) / step >= 4096)
        check_fail(c, "E0950", here, "the loop over `%s` is to be unrolled into more than 4096 copies", s->var->name);
    if (s->var->kind != INDEX_LOOP)
        check_fail(c, "E0935", here, "`%s` is no loop variable", s->var->name);
    no_else(c, s);
    int mark = kernel_scope_mark(&c->names);
    check_declare(c, s->var->name, NAME_VAR, (void *)s, s->var, s->span);
    c->loops++;
    check_block(c, &s->body);
    c->loops--;
    kernel_scope_undo(&c->names, mark);
}

static void check_tasks(checker *c, const kernel_stmt *s) {
    const kernel_ir *k = c->k;
    c->tasks_seen++;
    if (!k->grid || c->depth != 1 || c->tasks_seen > 1 || !s->var || !k->levels.count) {
        check_fail(c, "E0952", here, "`tasks` stands once, at the top of a kernel with a `grid`");
        return;
    }
    no_else(c, s);
    int mark = kernel_scope_mark(&c->names);
    const kernel_level *l = &k->levels.at[0];
    for (int d = 0; d < l->rank; d++)
        check_declare(c, l->ids[d]->name, NAME_VAR, NULL, l->ids[d], s->span);
    check_declare(c, s->var->name, NAME_VAR, NULL, s->var, s->span);
    int loops = c->loops;
    c->loops = 0; /* a break cannot leave the tasks */
    check_block(c, &s->body);
    c->loops = loops;
    kernel_scope_undo(&c->names, mark);
}

static void check_role(checker *c, const kernel_stmt *s) {
    if (c->k->levels.count < 2)
        check_fail(c, "E0953", here, "a role in a kernel without threads below the task");
    if (c->in_role)
        check_fail(c, "E0953", here, "a role inside a role");
    if (!s->condition)
        check_fail(c, "E0953", here, "a role without a condition");
    if (!kernel_is_identifier(s->name))
        check_fail(c, "E0930", here, "a role without a name");
    check_condition(c, s->condition, INDEX_BELOW, LEVEL_TASK, "a role's condition");
    no_else(c, s);
    int loops = c->loops;
    bool outer = c->in_role;
    c->loops = 0; /* a break inside would leave the role with the loop */
    c->in_role = true;
    check_block(c, &s->body);
    c->in_role = outer;
    c->loops = loops;
}

static void check_break(checker *c, const kernel_stmt *s) {
    if (!c->loops)
        check_fail(c, "E0965", here, "a break outside a loop");
    check_condition(c, s->condition, INDEX_ANYWHERE, LEVEL_TASK, "a break's condition");
}

void check_stmt(checker *c, const kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_LET: check_let(c, s); break;
    case KSTMT_STORE:
        if (check_access(c, &s->access, ACCESS_WRITE))
            check_value_is(c, s->value, s->access.array->element, s->access.lanes, "the store");
        break;
    case KSTMT_CONSUME: check_access(c, &s->access, ACCESS_CONSUME); break;
    case KSTMT_FOR: check_for(c, s); break;
    case KSTMT_TASKS: check_tasks(c, s); break;
    case KSTMT_LOOP:
        no_else(c, s);
        c->loops++;
        check_block(c, &s->body);
        c->loops--;
        break;
    case KSTMT_BREAK: check_break(c, s); break;
    case KSTMT_IF:
        if (!s->condition)
            check_fail(c, "E0964", here, "an `if` without a condition");
        check_condition(c, s->condition, INDEX_ANYWHERE, LEVEL_TASK, "a condition");
        check_body(c, s);
        break;
    case KSTMT_IF_VALUE:
        check_value_is(c, s->value, ELEMENT_BOOL, 1, "`if_value`");
        check_body(c, s);
        break;
    case KSTMT_ROLE: check_role(c, s); break;
    case KSTMT_COMMENT:
        if (!s->name)
            check_fail(c, "E0964", here, "a comment without a text");
        break;
    case KSTMT_FRAGMENT_FILL:
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE:
    case KSTMT_FRAGMENT_MMA:
    case KSTMT_FRAGMENT_MAP:
    case KSTMT_FRAGMENT_REDUCE:
    case KSTMT_FRAGMENT_CONVERT:
    case KSTMT_FRAGMENT_SET: check_fragment_stmt(c, s); break;
    default: check_order_stmt(c, s); break;
    }
}
