/* AIR: statements. Register cells and fragments are SSA values that change: where ways meet, phi says which one is meant. */
#include "target/air.h"
#include "target/intrinsics.h"
#include <string.h>

/* ---- values that change ---- */

static const char **copy_slots(air *a) {
    const char **copy = NEW_ARRAY(a->arena, const char *, a->slot_count + 1);
    memcpy(copy, a->slots, sizeof *copy * (size_t)a->slot_count);
    return copy;
}

/* Now at the block where the ways from two others meet. */
static void join(air *a, const char **x, const char *from_x, const char **y, const char *from_y) {
    for (int i = 0; i < a->slot_count; i++) {
        a->slots[i] = x[i];
        if (x[i] == y[i] || (x[i] && y[i] && !strcmp(x[i], y[i])))
            continue;
        /* what one way has not set nobody reads there: zero is as good as anything */
        const char *nothing = air_nothing(a->slot_types[i]);
        a->slots[i] = air_result(a, "phi %s [ %s, %%%s ], [ %s, %%%s ]", a->slot_types[i], x[i] ? x[i] : nothing, from_x,
                                 y[i] ? y[i] : nothing, from_y);
    }
}

/* Which slots the block may change. */
static void changed(const air *a, const kernel_block *b, bool *out) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_STORE && a->array_slots[s->access.array->id] >= 0) {
            int64_t cells = kernel_array_cells(s->access.array);
            for (int64_t c = 0; c < cells; c++)
                out[a->array_slots[s->access.array->id] + c] = true;
        }
        if (s->kind >= KSTMT_FRAGMENT_FILL && s->kind <= KSTMT_FRAGMENT_SET && s->kind != KSTMT_FRAGMENT_STORE) {
            const kernel_fragment *f = s->fragments[0].fragment;
            for (int n = 0; n < f->count; n++)
                out[a->fragment_slots[f->id] + n] = true;
        }
        changed(a, &s->body, out);
        changed(a, &s->otherwise, out);
    }
}

/* ---- loops ---- */

static void unrolled(air *a, const kernel_stmt *s, int64_t lo, int64_t hi, int64_t step) {
    for (int64_t i = lo; i < hi && !a->failed; i += step) {
        air_bind_constant(a, s->var, i);
        air_statements(a, &s->body);
    }
}

static void rolled(air *a, const kernel_stmt *s) {
    const char *lo = air_index_text(a, s->lo), *hi = air_index_text(a, s->hi), *step = air_index_text(a, s->step);
    const char *head = air_new_label(a, "loop"), *inside = air_new_label(a, "body"), *end = air_new_label(a, "end"),
               *before = a->block;
    bool *changes = NEW_ARRAY(a->arena, bool, a->slot_count + 1);
    changed(a, &s->body, changes);
    const char **first = copy_slots(a), **phi = NEW_ARRAY(a->arena, const char *, a->slot_count + 1);
    const char *var = air_new_name(a, s->var->name);
    text_buffer body = {0}, *out = a->out;
    for (int i = 0; i < a->slot_count; i++)
        if (changes[i])
            a->slots[i] = phi[i] = first[i] ? air_new_name(a, "held") : NULL;
    air_bind(a, s->var, var);
    int mark = a->known.count;
    a->out = &body;
    air_begin_block(a, inside);
    air_statements(a, &s->body);
    const char *next = air_result(a, "add i64 %s, %s", var, step), *latch = a->block;
    air_line(a, "br label %%%s", head);
    air_leave(a, mark);
    a->out = out;
    air_line(a, "br label %%%s", head);
    air_begin_block(a, head);
    air_line(a, "%s = phi i64 [ %s, %%%s ], [ %s, %%%s ]", var, lo, before, next, latch);
    for (int i = 0; i < a->slot_count; i++)
        if (phi[i])
            air_line(a, "%s = phi %s [ %s, %%%s ], [ %s, %%%s ]", phi[i], a->slot_types[i], first[i], before, a->slots[i], latch);
    const char *goes_on = air_result(a, "icmp slt i64 %s, %s", var, hi);
    air_line(a, "br i1 %s, label %%%s, label %%%s", goes_on, inside, end);
    text_add(a->out, "%s", text_get(&body));
    text_free(&body);
    air_begin_block(a, end);
    for (int i = 0; i < a->slot_count; i++)
        if (changes[i])
            a->slots[i] = phi[i];
}

static void loop(air *a, const kernel_stmt *s) {
    int64_t lo, hi, step;
    bool constant =
        air_constant_index(a, s->lo, &lo) && air_constant_index(a, s->hi, &hi) && air_constant_index(a, s->step, &step);
    if (s->unroll && constant && step > 0)
        unrolled(a, s, lo, hi, step);
    else if (s->unroll)
        air_refuse(a, s->span, "an unrolled loop without constant bounds");
    else
        rolled(a, s);
}

/* ---- branches ---- */

air_branch air_when(air *a, const char *condition) {
    const char *inside = air_new_label(a, "then");
    air_branch b = {air_new_label(a, "on"), a->block, copy_slots(a), a->known.count};
    air_line(a, "br i1 %s, label %%%s, label %%%s", condition, inside, b.end);
    air_begin_block(a, inside);
    return b;
}

void air_end_when(air *a, const air_branch *b) {
    const char **after = copy_slots(a), *inside = a->block;
    air_line(a, "br label %%%s", b->end);
    air_leave(a, b->mark);
    air_begin_block(a, b->end);
    join(a, b->before, b->from, after, inside);
}

static void branch(air *a, const kernel_stmt *s, const char *condition) {
    if (!strcmp(condition, "true") || !strcmp(condition, "false")) {
        air_statements(a, *condition == 't' ? &s->body : &s->otherwise);
        return;
    }
    if (!s->otherwise.items.count) {
        air_branch b = air_when(a, condition);
        air_statements(a, &s->body);
        air_end_when(a, &b);
        return;
    }
    const char *yes = air_new_label(a, "then"), *no = air_new_label(a, "else"), *end = air_new_label(a, "on");
    const char **before = copy_slots(a);
    int mark = a->known.count;
    air_line(a, "br i1 %s, label %%%s, label %%%s", condition, yes, no);
    air_begin_block(a, yes);
    air_statements(a, &s->body);
    const char **after_yes = copy_slots(a), *from_yes = a->block;
    air_line(a, "br label %%%s", end);
    air_leave(a, mark);
    memcpy(a->slots, before, sizeof *before * (size_t)a->slot_count);
    air_begin_block(a, no);
    air_statements(a, &s->otherwise);
    const char **after_no = copy_slots(a), *from_no = a->block;
    air_line(a, "br label %%%s", end);
    air_leave(a, mark);
    air_begin_block(a, end);
    join(a, after_yes, from_yes, after_no, from_no);
}

/* ---- barriers: flags 1 device, 2 threadgroup ---- */

static bool barrier(air *a, const kernel_stmt *s) {
    if (s->participants || (s->scope != LEVEL_BLOCK && s->scope != LEVEL_SUBGROUP))
        return false;
    int flags = (s->spaces & 1u << SPACE_GLOBAL ? 1 : 0) | (s->spaces & 1u << SPACE_SHARED ? 2 : 0);
    air_call(a, "void", s->scope == LEVEL_BLOCK ? "air.wg.barrier" : "air.simdgroup.barrier", "i32, i32",
             arena_printf(a->arena, "i32 %d, i32 1", flags));
    return true;
}

static bool statement(air *a, const kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_LET: {
        int mark = a->bound.count;
        const char *text = air_value(a, s->value);
        air_forget(a, mark);
        air_bind(a, s, text);
        if (s->var) {
            const char *wide = s->value->type == ELEMENT_INDEX ? text : air_convert_to(a, ELEMENT_INDEX, s->value->type, 1, text);
            int64_t constant;
            if (s->value->op == KERNEL_INDEX && air_constant_index(a, s->value->index, &constant))
                air_bind_constant(a, s->var, constant);
            else
                air_bind(a, s->var, wide);
        }
        return true;
    }
    case KSTMT_STORE: {
        int mark = a->bound.count;
        const char *text = air_value(a, s->value);
        air_store(a, &s->access, text, s->span);
        air_forget(a, mark);
        return true;
    }
    case KSTMT_CONSUME:
    case KSTMT_COMMENT: return true;
    case KSTMT_FOR: loop(a, s); return true;
    case KSTMT_IF: branch(a, s, air_condition(a, s->condition)); return true;
    case KSTMT_IF_VALUE: {
        int mark = a->bound.count;
        const char *condition = air_value(a, s->value);
        air_forget(a, mark);
        branch(a, s, condition);
        return true;
    }
    case KSTMT_BARRIER: return barrier(a, s);
    case KSTMT_INTRINSIC: return air_intrinsic(a, s) || a->failed;
    default: return s->kind >= KSTMT_FRAGMENT_FILL && s->kind <= KSTMT_FRAGMENT_SET && air_fragment_statement(a, s);
    }
}

/* Statements that only counting needs. */
static bool is_counted_only(const kernel_stmt *s) {
    if (s->kind == KSTMT_CONSUME || s->kind == KSTMT_COMMENT)
        return true;
    if (s->kind != KSTMT_IF && s->kind != KSTMT_FOR)
        return false;
    for (int i = 0; i < s->body.items.count; i++)
        if (!is_counted_only(s->body.items.at[i]))
            return false;
    for (int i = 0; i < s->otherwise.items.count; i++)
        if (!is_counted_only(s->otherwise.items.at[i]))
            return false;
    return true;
}

void air_statements(air *a, const kernel_block *b) {
    for (int i = 0; i < b->items.count && !a->failed; i++)
        if (!is_counted_only(b->items.at[i]) && !statement(a, b->items.at[i]))
            air_refuse(a, b->items.at[i]->span, "`%s`", kernel_stmt_names[b->items.at[i]->kind]);
}
