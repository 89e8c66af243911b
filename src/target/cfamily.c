/* Statements: what is printed at all, which register arrays become variables, loops, unrolling. */
#include "target/cfamily.h"
#include <string.h>

enum { REGISTER_CELLS_LIMIT = 4096, UNROLL_LIMIT = 4096 };

void cfamily_prelude_line(cfamily *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add(&p->prelude, "    ");
    text_add_va(&p->prelude, format, args);
    text_add(&p->prelude, "\n");
    va_end(args);
}

bool cfamily_refuse(cfamily *p, source_span span, const char *what, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, what);
    text_add_va(&b, what, args);
    va_end(args);
    diag_error(p->diags, "E0551", span.line ? span : p->kernel->span, "target %s cannot express %s (kernel %s)",
               p->dialect->target, text_get(&b), p->kernel->name);
    text_free(&b);
    p->failed = true;
    return false;
}

void cfamily_line(cfamily *p, const char *format, ...) {
    va_list args;
    text_add(p->out, "%*s", 4 * p->indent, "");
    va_start(args, format);
    text_add_va(p->out, format, args);
    va_end(args);
    text_add(p->out, "\n");
}

/* ---- what a statement touches ---- */

static const kernel_array *root_array(const kernel_array *a) {
    while (a->view_of)
        a = a->view_of;
    return a;
}

static void mark_index(cfamily *p, const index_expr *x) {
    if (x->op == IX_VAR) {
        cfamily_mark(p, x->var);
        if (x->var->kind == INDEX_VALUE && x->var->owner)
            cfamily_mark(p, x->var->owner);
    } else if (x->op != IX_CONST) {
        mark_index(p, x->a);
        mark_index(p, x->b);
    }
}

static void mark_cond(cfamily *p, const cond *c) {
    if (c->x) {
        mark_index(p, c->x);
        mark_index(p, c->y);
    }
    if (c->a)
        mark_cond(p, c->a);
    if (c->b)
        mark_cond(p, c->b);
}

static void mark_access(cfamily *p, const kernel_access *a) {
    for (int d = 0; d < a->array->rank; d++)
        mark_index(p, a->indices[d]);
    if (a->active)
        mark_index(p, a->active);
}

static void mark_value(cfamily *p, const kernel_value *v) {
    if (v->op == KERNEL_REF)
        cfamily_mark(p, v->let);
    if (v->index)
        mark_index(p, v->index);
    if (v->op == KERNEL_LOAD)
        mark_access(p, &v->access);
    for (int i = 0; i < v->operand_count; i++)
        mark_value(p, v->operands[i]);
}

/* Stores to local arrays that nothing loads are dead. */
static bool store_needed(const cfamily *p, const kernel_array *a) {
    return a->space == SPACE_GLOBAL || p->arrays[root_array(a)->id].read;
}

static bool block_prints(const cfamily *p, const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind != KSTMT_COMMENT && cfamily_prints(p, b->items.at[i]))
            return true;
    return false;
}

bool cfamily_prints(const cfamily *p, const kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_LET: return cfamily_is_live(p, s) || (s->var && cfamily_is_live(p, s->var));
    case KSTMT_STORE: return store_needed(p, s->access.array);
    case KSTMT_CONSUME: return false;
    case KSTMT_INTRINSIC: /* calls of functions that give a value have no other effect */
        for (int i = 0; i < s->contract_count; i++)
            if (s->contract[i].effect == CONTRACT_RESULT && contract_has_cells(&s->contract[i]))
                return store_needed(p, s->contract[i].access.array);
        return true;
    case KSTMT_FOR: return block_prints(p, &s->body);
    case KSTMT_IF:
    case KSTMT_IF_VALUE: return block_prints(p, &s->body) || block_prints(p, &s->otherwise);
    default: return true;
    }
}

static void mark_operand(cfamily *p, const contract_operand *c) {
    if (c->value)
        mark_value(p, c->value);
    for (int i = 0; i < c->count; i++)
        mark_value(p, c->values[i]);
    if (contract_has_cells(c))
        mark_access(p, &c->access);
    for (int d = 0; c->from && d < c->access.array->rank; d++)
        mark_index(p, c->from[d]);
}

/* From the last statement to the first, so that a LET is known to be used before it is met. */
static void mark_block(cfamily *p, const kernel_block *b) {
    for (int i = b->items.count - 1; i >= 0; i--) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind != KSTMT_INTRINSIC)
            mark_block(p, &s->body);
        mark_block(p, &s->otherwise);
        if (!cfamily_prints(p, s))
            continue;
        for (int c = 0; c < s->contract_count; c++)
            mark_operand(p, &s->contract[c]);
        kernel_value *values[KERNEL_STMT_VALUES];
        for (int n = kernel_stmt_values(s, values) - 1; n >= 0; n--)
            mark_value(p, values[n]);
        if (s->kind == KSTMT_STORE || s->kind == KSTMT_ATOMIC || s->kind == KSTMT_FRAGMENT_LOAD ||
            s->kind == KSTMT_FRAGMENT_STORE || s->kind == KSTMT_COPY)
            mark_access(p, &s->access);
        if (s->kind == KSTMT_COPY)
            mark_access(p, &s->source);
        for (int e = 0; e < 2 && s->extents && s->kind != KSTMT_COPY; e++)
            mark_index(p, s->extents[e]);
        if (s->condition)
            mark_cond(p, s->condition);
        if (s->slot)
            mark_index(p, s->slot);
        if (s->phase)
            mark_index(p, s->phase);
        if (s->kind == KSTMT_FOR) {
            mark_index(p, s->lo);
            mark_index(p, s->hi);
            mark_index(p, s->step);
        }
    }
}

/* ---- register arrays: every index constant once loops are unrolled? ---- */

static bool settled(const cfamily *p, const index_expr *x) {
    if (x->op == IX_CONST)
        return true;
    if (x->op == IX_VAR) {
        const cfamily_binding *b = cfamily_find(p, x->var);
        return x->var->has_value || (b && b->is_constant);
    }
    return settled(p, x->a) && settled(p, x->b);
}

static bool access_needs(const kernel_access *a, const index_var *v) {
    for (int d = 0; a->array->space == SPACE_REGISTER && d < a->array->rank; d++)
        if (ix_mentions(a->indices[d], v))
            return true;
    return false;
}

static bool value_needs(const kernel_value *x, const index_var *v) {
    if (x->fragment_index && ix_mentions(x->fragment_index, v))
        return true;
    if (x->op == KERNEL_LOAD && access_needs(&x->access, v))
        return true;
    for (int i = 0; i < x->operand_count; i++)
        if (value_needs(x->operands[i], v))
            return true;
    return false;
}

static bool fragments_need(const kernel_stmt *s, const index_var *v) {
    for (int i = 0; i < 4; i++)
        if (s->fragments[i].index && ix_mentions(s->fragments[i].index, v))
            return true;
    return false;
}

static bool operands_need(const kernel_stmt *s, const index_var *v) {
    for (int i = 0; i < s->contract_count; i++) {
        const contract_operand *c = &s->contract[i];
        if ((c->value && value_needs(c->value, v)) || (contract_has_cells(c) && access_needs(&c->access, v)))
            return true;
    }
    return false;
}

/* Whether register cells or fragments are told apart by the loop's variable, in the block or by loops within. */
static bool block_needs(const kernel_block *b, const index_var *v) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if ((s->value && value_needs(s->value, v)) || (s->expected && value_needs(s->expected, v)) ||
            (s->kind == KSTMT_STORE && access_needs(&s->access, v)) ||
            (s->kind == KSTMT_FOR && (ix_mentions(s->lo, v) || ix_mentions(s->hi, v) || ix_mentions(s->step, v))) ||
            fragments_need(s, v) || operands_need(s, v) || block_needs(&s->body, v) || block_needs(&s->otherwise, v))
            return true;
    }
    return false;
}

static bool expands(const cfamily *p, const kernel_stmt *s) {
    if (!s->unroll || !settled(p, s->lo) || !settled(p, s->hi) || !settled(p, s->step))
        return false;
    /* With many threads a block the text would grow long: only what must be is unrolled here, the rest by the device's compiler. */
    return !p->dialect->has_lanes || block_needs(&s->body, s->var);
}

static void survey_access(cfamily *p, const kernel_access *a, bool load) {
    cfamily_array *known = &p->arrays[a->array->id];
    if (load)
        p->arrays[root_array(a->array)->id].read = true;
    if (a->array->space != SPACE_REGISTER)
        return;
    for (int d = 0; d < a->array->rank; d++)
        known->in_registers = known->in_registers && settled(p, a->indices[d]);
    if (a->lanes > 1 && a->vector_dim >= 0)
        known->in_registers = false;
}

static void survey_value(cfamily *p, const kernel_value *v) {
    if (v->op == KERNEL_LOAD)
        survey_access(p, &v->access, true);
    for (int i = 0; i < v->operand_count; i++)
        survey_value(p, v->operands[i]);
}

static void survey_operand(cfamily *p, const contract_operand *c) {
    if (c->value)
        survey_value(p, c->value);
    for (int i = 0; i < c->count; i++)
        survey_value(p, c->values[i]);
    if (contract_has_cells(c))
        survey_access(p, &c->access, c->effect != CONTRACT_RESULT && c->effect != CONTRACT_WRITES);
}

static void survey_block(cfamily *p, const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        kernel_value *values[KERNEL_STMT_VALUES];
        for (int n = 0, all = kernel_stmt_values(s, values); n < all; n++)
            survey_value(p, values[n]);
        bool reads = s->kind == KSTMT_FRAGMENT_LOAD || s->kind == KSTMT_ATOMIC;
        if (reads || s->kind == KSTMT_STORE || s->kind == KSTMT_FRAGMENT_STORE)
            survey_access(p, &s->access, reads);
        for (int c = 0; c < s->contract_count; c++)
            survey_operand(p, &s->contract[c]);
        if (s->kind == KSTMT_INTRINSIC) /* what it computes is not printed */
            continue;
        if (s->kind == KSTMT_COPY) {
            survey_access(p, &s->access, false);
            survey_access(p, &s->source, true);
        }
        bool unrolled = s->kind == KSTMT_FOR && expands(p, s);
        if (unrolled)
            cfamily_bind(p, s->var, NULL)->is_constant = true;
        survey_block(p, &s->body);
        survey_block(p, &s->otherwise);
        if (unrolled)
            cfamily_bind(p, s->var, NULL);
    }
}

void cfamily_begin(cfamily *p, const kernel_ir *k) {
    p->kernel = k;
    p->names = (cfamily_names){0};
    p->suffix = NULL;
    p->break_label = NULL;
    p->live = NULL;
    p->live_count = p->live_capacity = 0;
    p->arrays = NEW_ARRAY(p->arena, cfamily_array, k->arrays.count);
    int64_t scratch = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        cfamily_array *known = &p->arrays[i];
        int64_t cells = kernel_array_cells(a);
        known->in_registers = a->space == SPACE_REGISTER && !a->view_of && cells >= 0 && cells <= REGISTER_CELLS_LIMIT;
        if (a->view_of)
            p->arrays[root_array(a)->id].in_registers = false;
        if (a->space == SPACE_SHARED && !p->dialect->has_lanes)
            cfamily_refuse(p, a->span, "shared memory (array `%s`)", a->name);
        if (a->space != SPACE_PRIVATE || a->view_of)
            continue;
        if (cells < 0) {
            cfamily_refuse(p, a->span, "private array `%s` without constant extents", a->name);
            continue;
        }
        known->scratch = scratch;
        scratch += (element_bytes(a->element, cells * a->lanes) + 63) / 64 * 64;
    }
    survey_block(p, &k->body);
    mark_block(p, &k->body);
    for (int i = 0; i < k->arrays.count; i++) {
        int64_t cells = p->arrays[i].in_registers ? kernel_array_cells(k->arrays.at[i]) : 0;
        p->arrays[i].cell_count = cells;
        p->arrays[i].cells = NEW_ARRAY(p->arena, const char *, cells);
    }
}

/* ---- printing ---- */

static void inner_block(cfamily *p, const kernel_block *b) {
    int taken = p->names.count;
    p->indent++;
    cfamily_block(p, b);
    p->indent--;
    p->products_open = false;
    p->names.count = taken; /* names end with their block */
}

static void print_unrolled(cfamily *p, const kernel_stmt *s) {
    int64_t lo, hi, step, trips = 0;
    if (!ix_is_const(cfamily_fold(p, s->lo), &lo) || !ix_is_const(cfamily_fold(p, s->hi), &hi) ||
        !ix_is_const(cfamily_fold(p, s->step), &step) || step <= 0) {
        cfamily_refuse(p, s->span, "unrolling a loop whose bounds are not constants");
        return;
    }
    if (hi > lo && (hi - lo - 1) / step >= UNROLL_LIMIT) {
        cfamily_refuse(p, s->span, "unrolling %lld trips", (long long)((hi - lo - 1) / step + 1));
        return;
    }
    const char *suffix = p->suffix, *label = p->break_label;
    bool used = p->label_used;
    p->label_used = false;
    p->break_label = cfamily_unique(p, "unrolled");
    for (int64_t i = lo; i < hi && !p->failed; i += step, trips++) {
        cfamily_binding *b = cfamily_bind(p, s->var, NULL);
        b->is_constant = true;
        b->value = i;
        p->suffix = arena_printf(p->arena, "%s_%lld", suffix ? suffix : "", (long long)trips);
        cfamily_block(p, &s->body);
    }
    cfamily_bind(p, s->var, NULL);
    if (p->label_used)
        cfamily_line(p, "%s:;", p->break_label);
    p->suffix = suffix;
    p->break_label = label;
    p->label_used = used;
}

/* Whether products are begun here that run on. */
static bool runs_on(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if ((s->kind == KSTMT_FRAGMENT_MMA && s->asynchronous) || runs_on(&s->body) || runs_on(&s->otherwise))
            return true;
    }
    return false;
}

static void print_for(cfamily *p, const kernel_stmt *s) {
    if (expands(p, s)) {
        print_unrolled(p, s);
        return;
    }
    const char *lo = cfamily_index_text(p, s->lo), *step = cfamily_index_text(p, s->step), *label = p->break_label;
    const char *hi = cfamily_wrap(p, cfamily_index(p, s->hi), PRECEDENCE_ADD);
    int64_t multiple = ix_gcd(cfamily_multiple(p, cfamily_fold(p, s->lo)), cfamily_multiple(p, cfamily_fold(p, s->step)));
    int taken = p->names.count;
    const char *name = cfamily_unique(p, s->var->name);
    const int64_t least = cfamily_least(p, s->lo), greatest = cfamily_greatest(p, s->hi);
    cfamily_binding *b = cfamily_bind(p, s->var, name);
    b->multiple = multiple;
    b->least = least;
    b->greatest = greatest < INT64_MAX / 4 ? greatest - 1 : greatest;
    bool one = !strcmp(step, "1");
    if (p->dialect->rolled && runs_on(&s->body)) /* copies of its text would move accumulators that are still added to */
        text_add(p->out, "%s", p->dialect->rolled);
    else if (p->dialect->unrolled && s->unroll)
        text_add(p->out, "%s", p->dialect->unrolled);
    cfamily_line(p, one ? "for (%s %s = %s; %s < %s; %s++) {" : "for (%s %s = %s; %s < %s; %s += %s) {", cfamily_index_type(p),
                 name, lo, name, hi, name, step);
    p->break_label = NULL;
    inner_block(p, &s->body);
    p->break_label = label;
    cfamily_line(p, "}");
    cfamily_bind(p, s->var, NULL);
    p->names.count = taken;
}

static void print_if(cfamily *p, const kernel_stmt *s, const char *condition) {
    cfamily_line(p, "if (%s) {", condition);
    inner_block(p, &s->body);
    if (block_prints(p, &s->otherwise)) {
        cfamily_line(p, "} else {");
        inner_block(p, &s->otherwise);
    }
    cfamily_line(p, "}");
}

static void print_let(cfamily *p, const kernel_stmt *s) {
    const kernel_value *v = s->value;
    const char *text = cfamily_statement_value(p, v).text;
    const char *name = cfamily_unique(p, s->name ? s->name : "v");
    cfamily_line(p, "const %s %s = %s;", p->dialect->register_type(p, v->type, v->lanes), name, text);
    cfamily_bind(p, s, name);
    if (s->var) {
        int64_t multiple = v->op == KERNEL_INDEX ? cfamily_multiple(p, cfamily_fold(p, v->index)) : 1;
        int64_t lo = v->op == KERNEL_INDEX ? cfamily_least(p, v->index) : INT64_MIN / 4,
                hi = v->op == KERNEL_INDEX ? cfamily_greatest(p, v->index) : INT64_MAX / 4;
        cfamily_binding *b = cfamily_bind(p, s->var, name);
        b->multiple = multiple;
        b->least = lo;
        b->greatest = hi;
    }
}

static void print_comment(cfamily *p, const char *text) {
    char *clean = arena_strdup(p->arena, text ? text : "");
    for (char *c = clean; *c; c++)
        if ((unsigned char)*c < ' ' || (*c == '/' && c > clean && c[-1] == '*') || (*c == '/' && c[1] == '*'))
            *c = ' ';
    cfamily_line(p, "/* %s */", clean);
}

void cfamily_block(cfamily *p, const kernel_block *b) {
    for (int i = 0; i < b->items.count && !p->failed; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (!cfamily_prints(p, s))
            continue;
        switch (s->kind) {
        case KSTMT_LET: print_let(p, s); break;
        case KSTMT_STORE: cfamily_store(p, &s->access, s->value); break;
        case KSTMT_ATOMIC: cfamily_atomic(p, s); break;
        case KSTMT_FOR: print_for(p, s); break;
        case KSTMT_ROLE: /* all others pass by */
        case KSTMT_IF: print_if(p, s, cfamily_cond(p, s->condition).text); break;
        case KSTMT_IF_VALUE:
            if (s->value->lanes != 1)
                cfamily_refuse(p, s->span, "a branch on a vector");
            else
                print_if(p, s, cfamily_statement_value(p, s->value).text);
            break;
        case KSTMT_LOOP: {
            const char *label = p->break_label;
            p->break_label = NULL;
            cfamily_line(p, "for (;;) {");
            inner_block(p, &s->body);
            cfamily_line(p, "}");
            p->break_label = label;
            break;
        }
        case KSTMT_BREAK:
            if (s->condition)
                cfamily_line(p, "if (%s)", cfamily_cond(p, s->condition).text);
            p->label_used = p->label_used || p->break_label;
            if (p->break_label && p->dialect->no_goto)
                cfamily_refuse(p, s->span, "leaving an unrolled loop");
            else if (p->break_label)
                cfamily_line(p, "%sgoto %s;", s->condition ? "    " : "", p->break_label);
            else
                cfamily_line(p, "%sbreak;", s->condition ? "    " : "");
            break;
        case KSTMT_COMMENT:
            if (block_prints(p, b))
                print_comment(p, s->name);
            break;
        default:
            if (!p->dialect->statement || !p->dialect->statement(p, s))
                cfamily_refuse(p, s->span, "`%s`", kernel_stmt_names[s->kind]);
            break;
        }
    }
}

const char *cfamily_view_type(cfamily *p, const char *type) {
    char *name = arena_printf(p->arena, "%s_view", type);
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    if (!names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "typedef %s %s __attribute__((may_alias));\n", type, name);
    }
    return name;
}

bool cfamily_has_views(const kernel_ir *k, const kernel_array *a) {
    for (int i = 0; i < k->arrays.count && !a->view_of; i++)
        if (k->arrays.at[i]->view_of == a)
            return true;
    return a->view_of;
}

const char *cfamily_view_alignment(cfamily *p, const kernel_ir *k, const kernel_array *a) {
    int own = element_table[a->element].block_bytes, widest = own;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *view = k->arrays.at[i];
        int bytes = element_table[view->element].block_bytes * (view->lanes > 1 ? view->lanes : 1);
        if (view->view_of == a && bytes > widest)
            widest = bytes;
    }
    return widest > own ? arena_printf(p->arena, " __attribute__((aligned(%d)))", widest) : "";
}
