/* The checker of Kernel IR that runs after every pass: declarations, names and scopes. It judges form; what the program does
 * is the prover's to judge. */
#include "kernel/check_parts.h"
#include <limits.h>
#include <string.h>

void check_fail(checker *c, const char *code, source_span span, const char *message, ...) {
    c->errors++;
    if (c->errors > CHECK_MOST_ERRORS)
        return;
    va_list args;
    va_start(args, message);
    text_buffer b = {0};
    text_add_va(&b, message, args);
    va_end(args);
    if (!span.line && c->stmt)
        span = c->stmt->span;
    if (!span.line)
        span = c->k->span;
    diag *d = diag_error(c->diags, code, span, "kernel %s: %s", c->k->name, text_get(&b));
    text_free(&b);
    if (c->stmt && (c->stmt->kind == KSTMT_LET || c->stmt->kind == KSTMT_STORE)) /* whole enough to be printed? */
        diag_note(c->diags, d, "in the statement `%s%s%s`", kernel_stmt_names[c->stmt->kind], c->stmt->name ? " " : "",
                  c->stmt->name ? c->stmt->name : "");
}

void check_declare(checker *c, const char *name, name_kind kind, void *object, index_var *var, source_span span) {
    if (!kernel_is_identifier(name)) {
        check_fail(c, "E0930", span, "`%s` is no name that the text form can spell", name ? name : "(none)");
        return;
    }
    if (kernel_scope_find(&c->names, name))
        check_fail(c, "E0930", span, "`%s` hides another name in scope", name);
    kernel_scope_add(&c->names, name, kind, object, var);
}

bool check_has_level(const checker *c, level_kind kind) {
    for (int i = 0; i < c->k->levels.count; i++)
        if (c->k->levels.at[i].kind == kind)
            return true;
    return false;
}

/* The level an id belongs to; LEVEL_TASK for what is no id. */
static level_kind level_of(const checker *c, const index_var *v) {
    for (int i = 0; i < c->k->levels.count; i++)
        for (int d = 0; d < c->k->levels.at[i].rank; d++)
            if (c->k->levels.at[i].ids[d] == v)
                return c->k->levels.at[i].kind;
    return LEVEL_TASK;
}

static void check_var(checker *c, const index_var *v, index_scope scope, level_kind level, const char *what) {
    source_span none = {0};
    const kernel_scope_entry *e = v && v->name ? kernel_scope_find(&c->names, v->name) : NULL;
    if (!v || !v->name) {
        check_fail(c, "E0935", none, "%s mentions a variable without a name", what);
    } else if (v->kind == INDEX_STATIC || v->kind == INDEX_TILE || v->kind == INDEX_RANGE) {
        check_fail(c, "E0936", none, "%s mentions `%s`, a name that only exists before lowering", what, v->name);
    } else if (!e || e->var != v) {
        check_fail(c, "E0935", none, "%s mentions `%s`, which is not in scope here", what, v->name);
    } else if (scope == INDEX_LAUNCH && v->kind != INDEX_SYMBOL && v->kind != INDEX_SCALAR) {
        check_fail(c, "E0935", none, "%s mentions `%s`, but may mention launch symbols and scalars only", what, v->name);
    } else if (scope == INDEX_BELOW && (v->kind != INDEX_ID || level_of(c, v) <= level)) {
        check_fail(c, "E0953", none, "%s mentions `%s`, but may mention ids below the %s only", what, v->name,
                   level_names[level]);
    }
}

static void check_index_at(checker *c, const index_expr *x, index_scope scope, level_kind level, const char *what, int depth) {
    source_span none = {0};
    if (!x) {
        check_fail(c, "E0964", none, "%s is missing", what);
    } else if (depth > CHECK_INDEX_DEPTH) {
        check_fail(c, "E0963", none, "%s is nested deeper than %d", what, CHECK_INDEX_DEPTH);
    } else if (x->op == IX_VAR) {
        check_var(c, x->var, scope, level, what);
    } else if (x->op != IX_CONST) {
        int64_t divisor;
        check_index_at(c, x->a, scope, level, what, depth + 1);
        check_index_at(c, x->b, scope, level, what, depth + 1);
        if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && x->b && ix_is_const(x->b, &divisor) && divisor <= 0)
            check_fail(c, "E0935", none, "%s divides by %lld", what, (long long)divisor);
    }
}

void check_index(checker *c, const index_expr *x, index_scope scope, level_kind level, const char *what) {
    check_index_at(c, x, scope, level, what, 0);
}

static void check_condition_at(checker *c, const cond *x, index_scope scope, level_kind level, const char *what, int depth) {
    source_span none = {0};
    if (!x)
        return;
    if (depth > CHECK_INDEX_DEPTH) {
        check_fail(c, "E0963", none, "%s is nested deeper than %d", what, CHECK_INDEX_DEPTH);
        return;
    }
    switch (x->op) {
    case COND_TRUE: return;
    case COND_NOT: check_condition_at(c, x->a, scope, level, what, depth + 1); return;
    case COND_AND:
    case COND_OR:
        check_condition_at(c, x->a, scope, level, what, depth + 1);
        check_condition_at(c, x->b, scope, level, what, depth + 1);
        return;
    default:
        check_index(c, x->x, scope, level, what);
        check_index(c, x->y, scope, level, what);
        return;
    }
}

void check_condition(checker *c, const cond *x, index_scope scope, level_kind level, const char *what) {
    check_condition_at(c, x, scope, level, what, 0);
}

bool check_constant(checker *c, const index_expr *x, int64_t lo, int64_t hi, const char *code, const char *what, int64_t *value) {
    source_span none = {0};
    int64_t found;
    if (!x || !ix_is_const(x, &found)) {
        check_fail(c, code, none, "%s must be a constant", what);
        return false;
    }
    if (found < lo || found > hi) {
        check_fail(c, code, none, "%s is %lld, it must be in %lld .. %lld", what, (long long)found, (long long)lo, (long long)hi);
        return false;
    }
    if (value)
        *value = found;
    return true;
}

/* Lets are seen through, so that a short text can stand for an endless expression: hence the steps. */
static bool is_settled(checker *c, const index_expr *x, int *steps) {
    if (!x || --*steps < 0)
        return false;
    if (x->op == IX_CONST)
        return true;
    if (x->op != IX_VAR)
        return is_settled(c, x->a, steps) && is_settled(c, x->b, steps);
    const kernel_scope_entry *e = x->var->name ? kernel_scope_find(&c->names, x->var->name) : NULL;
    if (!e || e->var != x->var || !e->object)
        return false;
    const kernel_stmt *owner = e->object;
    if (e->kind == NAME_LET) /* a let that only names a settled expression */
        return owner->value && owner->value->op == KERNEL_INDEX && is_settled(c, owner->value->index, steps);
    return e->kind == NAME_VAR && owner->kind == KSTMT_FOR && owner->unroll;
}

bool check_is_settled(checker *c, const index_expr *x) {
    int steps = CHECK_INDEX_DEPTH;
    return is_settled(c, x, &steps);
}

/* ---- declarations ---- */
static void check_range(checker *c, const index_var *v, const char *what) {
    if (v->lo)
        check_index(c, v->lo, INDEX_LAUNCH, LEVEL_TASK, what);
    if (v->hi)
        check_index(c, v->hi, INDEX_LAUNCH, LEVEL_TASK, what);
}

static void check_scalars(checker *c) {
    const kernel_ir *k = c->k;
    for (int i = 0; i < k->scalars.count; i++) {
        kernel_scalar *s = &k->scalars.at[i];
        bool integer = s->type == ELEMENT_I32 || s->type == ELEMENT_U32 || s->type == ELEMENT_INDEX;
        if (!integer && s->type != ELEMENT_F32 && s->type != ELEMENT_BOOL)
            check_fail(c, "E0947", k->span, "scalar `%s` is %s; launch scalars are f32, i32, u32, index or bool", s->name,
                       element_table[s->type].name);
        if (integer != (s->var != NULL))
            check_fail(c, "E0947", k->span, "scalar `%s`: %s", s->name,
                       integer ? "an integer without a variable" : "a float with a variable");
        check_declare(c, s->name, NAME_SCALAR, s, s->var, k->span);
        if (s->var && s->var->name && strcmp(s->var->name, s->name))
            check_fail(c, "E0947", k->span, "scalar `%s` has a variable of another name, `%s`", s->name, s->var->name);
    }
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var)
            check_range(c, k->scalars.at[i].var, "a scalar's range");
}

static void check_levels(checker *c) {
    const kernel_ir *k = c->k;
    if (!k->levels.count || k->levels.at[0].kind != LEVEL_TASK)
        check_fail(c, "E0931", k->span, "the outermost level must be the task");
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *l = &k->levels.at[i];
        if (i && l->kind <= k->levels.at[i - 1].kind)
            check_fail(c, "E0931", k->span, "level %s stands inside level %s", level_names[l->kind],
                       level_names[k->levels.at[i - 1].kind]);
        if (i && !l->rank)
            check_fail(c, "E0931", k->span, "level %s has no id", level_names[l->kind]);
        for (int d = 0; d < l->rank; d++) {
            if (l->kind == LEVEL_TASK)
                check_index(c, l->extents[d], INDEX_LAUNCH, LEVEL_TASK, "a task extent");
            else
                check_constant(c, l->extents[d], 1, 1 << 20, "E0931", "the extent of a level below the task", NULL);
        }
        for (int d = 0; d < l->rank; d++)
            if (!k->grid || l->kind != LEVEL_TASK) /* a persistent kernel's task ids live inside `tasks` */
                check_declare(c, l->ids[d]->name, NAME_VAR, NULL, l->ids[d], k->span);
    }
    if (k->grid)
        check_index(c, k->grid, INDEX_LAUNCH, LEVEL_TASK, "the grid");
}

static void check_swizzle(checker *c, const kernel_array *a) {
    const kernel_layout *l = &a->layout;
    if (l->bits < 0 || l->base < 0 || l->shift < 1 || l->bits + l->base + l->shift > 40)
        check_fail(c, "E0933", a->span,
                   "`%s`: swizzle(%d, %d, %d) is not a bijection of 40-bit offsets; shift must be at least 1", a->name, l->bits,
                   l->base, l->shift);
}

static void check_layout(checker *c, const kernel_array *a) {
    const kernel_layout *l = &a->layout;
    if (l->kind == LAYOUT_ROW)
        return;
    if (a->space == SPACE_REGISTER || a->space == SPACE_GHOST || element_table[a->element].block_elements > 1 || !a->rank)
        check_fail(c, "E0933", a->span, "`%s` can only be row-major", a->name);
    switch (l->kind) {
    case LAYOUT_ROW: break;
    case LAYOUT_STRIDES:
        for (int i = 0; i < a->rank; i++)
            check_index(c, l->strides ? l->strides[i] : NULL, INDEX_LAUNCH, LEVEL_TASK, "a stride");
        break;
    case LAYOUT_PAD:
        if (l->amount < 0)
            check_fail(c, "E0933", a->span, "`%s` is padded by %lld", a->name, (long long)l->amount);
        break;
    case LAYOUT_PANEL:
        if (l->dim < 0 || l->dim >= a->rank || l->amount < 1)
            check_fail(c, "E0933", a->span, "`%s` has %d dimensions, its layout is panel(%d, %lld)", a->name, a->rank, l->dim,
                       (long long)l->amount);
        break;
    case LAYOUT_SWIZZLE: check_swizzle(c, a); break;
    case LAYOUT_BOX:
        for (int i = 0; i < a->rank; i++)
            if (!l->box || l->box[i] < 1)
                check_fail(c, "E0933", a->span, "`%s`: a box extent is below 1", a->name);
        if (l->bits)
            check_swizzle(c, a);
        break;
    }
}

static void check_view(checker *c, const kernel_array *a) {
    const kernel_array *of = a->view_of;
    if (!of)
        return;
    if (a->space == SPACE_REGISTER || a->space == SPACE_GHOST || of->space != a->space || of->view_of || of->id >= a->id) {
        check_fail(c, "E0934", a->span, "`%s` cannot be a view of `%s`: memory of one space, declared earlier, not a view itself",
                   a->name, of->name);
        return;
    }
    if (a->view_offset < 0 || a->view_offset % element_table[a->element].block_bytes)
        check_fail(c, "E0934", a->span, "`%s` begins at byte %lld, which is no multiple of its element", a->name,
                   (long long)a->view_offset);
    int64_t cells = kernel_array_cells(a), room = kernel_array_cells(of), end;
    if (a->space == SPACE_GLOBAL || cells < 0 || room < 0)
        return; /* over launch symbols: bounds are the prover's */
    if (__builtin_add_overflow(a->view_offset, element_bytes(a->element, cells), &end) || end > element_bytes(of->element, room))
        check_fail(c, "E0934", a->span, "`%s` reaches past the end of `%s`", a->name, of->name);
}

static void check_cells(checker *c, const kernel_array *a) {
    if (!a->cells)
        return;
    if (!a->cell_vars || (a->space != SPACE_GHOST && a->use != USE_OUT && a->use != USE_UPDATE)) {
        check_fail(c, "E0932", a->span, "`%s`: only outputs, updates and ghosts say which cells they must have", a->name);
        return;
    }
    int mark = kernel_scope_mark(&c->names);
    for (int i = 0; i < a->rank; i++)
        check_declare(c, a->cell_vars[i]->name, NAME_VAR, NULL, a->cell_vars[i], a->span);
    check_condition(c, a->cells, INDEX_ANYWHERE, LEVEL_TASK, "a condition on cells");
    kernel_scope_undo(&c->names, mark);
}

static void check_array(checker *c, kernel_array *a, int position) {
    const element_info *info = &element_table[a->element];
    bool constant = a->space != SPACE_GLOBAL && a->space != SPACE_GHOST;
    if (a->id != position)
        check_fail(c, "E0932", a->span, "array `%s` stands at %d with the id %d", a->name, position, a->id);
    if ((a->space == SPACE_GLOBAL) != (a->use != USE_LOCAL))
        check_fail(c, "E0932", a->span,
                   "`%s` in %s memory: a use (in, out, update, workspace) belongs to global arrays, and only there", a->name,
                   space_names[a->space]);
    if (a->rewritable && a->use != USE_UPDATE)
        check_fail(c, "E0932", a->span, "`%s` is rewritable, which only an `update` can be", a->name);
    if (a->unset && a->use != USE_UPDATE)
        check_fail(c, "E0932", a->span, "`%s` is unset, which only an `update` can be said to be", a->name);
    if (a->lanes < 1 || a->lanes > 4096 || (a->lanes > 1 && a->space != SPACE_REGISTER))
        check_fail(c, "E0932", a->span, "`%s` holds vectors of %d: only register arrays hold vectors", a->name, a->lanes);
    if (a->space == SPACE_SHARED && c->k->levels.count < 2)
        check_fail(c, "E0932", a->span, "`%s` is shared, but the kernel has no level below the task", a->name);
    if (constant && info->block_elements > 1)
        check_fail(c, "E0932", a->span, "`%s`: block formats are for arguments", a->name);
    if (a->space == SPACE_GLOBAL && a->element == ELEMENT_TF32)
        check_fail(c, "E0932", a->span, "`%s` holds tf32, which no array of a launch does: it is what a kernel rounds an f32 to",
                   a->name);
    if (info->block_elements > 1 && !a->rank)
        check_fail(c, "E0932", a->span, "`%s` has no last dimension for the blocks of %s", a->name, info->name);
    for (int i = 0; i < a->rank; i++) {
        if (constant)
            check_constant(c, a->dims[i], 1, INT_MAX, "E0932", "an extent of an array outside global memory", NULL);
        else
            check_index(c, a->dims[i], INDEX_LAUNCH, LEVEL_TASK, "an array's extent");
    }
    if (a->element_bound)
        check_index(c, a->element_bound, INDEX_LAUNCH, LEVEL_TASK, "an element bound");
    if (a->element_bound && (info->is_float || a->element == ELEMENT_BOOL))
        check_fail(c, "E0932", a->span, "`%s` has bounded elements, but they are %s", a->name, info->name);
    if (a->element_bound && a->use != USE_IN)
        check_fail(c, "E0932", a->span, "`%s` has bounded elements, but only what a launch receives can be checked", a->name);
    if (a->alignment < 0 || (a->alignment & (a->alignment - 1)))
        check_fail(c, "E0932", a->span, "`%s` is aligned to %d, which is no power of two", a->name, a->alignment);
    check_layout(c, a);
    check_view(c, a);
    check_cells(c, a);
}

static void check_fragment(checker *c, const kernel_fragment *f) {
    bool float_or_int =
        f->element == ELEMENT_F32 || f->element == ELEMENT_F16 || f->element == ELEMENT_BF16 || f->element == ELEMENT_I32;
    if (f->rows < 1 || f->columns < 1 || f->count < 1)
        check_fail(c, "E0957", f->span, "fragment `%s` is %d x %d, %d times", f->name, f->rows, f->columns, f->count);
    if (f->holder == LEVEL_TASK) {
        if (c->k->levels.count > 1)
            check_fail(c, "E0957", f->span, "fragment `%s` is held by the task, which is several threads here", f->name);
    } else if (f->holder != LEVEL_SUBGROUP && f->holder != LEVEL_WARPGROUP)
        check_fail(c, "E0957", f->span,
                   "fragment `%s` is held by a %s; subgroups, warpgroups and tasks of one thread hold fragments", f->name,
                   level_names[f->holder]);
    else if (!check_has_level(c, f->holder) || !check_has_level(c, LEVEL_LANE))
        check_fail(c, "E0957", f->span, "fragment `%s` needs the levels %s and lane", f->name, level_names[f->holder]);
    if (element_table[f->element].block_elements > 1 || f->element == ELEMENT_BOOL || f->element == ELEMENT_INDEX)
        check_fail(c, "E0957", f->span, "fragment `%s` cannot hold %s", f->name, element_table[f->element].name);
    if (f->role == FRAGMENT_ACCUMULATOR && !float_or_int)
        check_fail(c, "E0957", f->span, "accumulator `%s` is %s; accumulators are f32, f16, bf16 or i32", f->name,
                   element_table[f->element].name);
    if ((f->role == FRAGMENT_ROW_VECTOR && f->columns != 1) || (f->role == FRAGMENT_COLUMN_VECTOR && f->rows != 1))
        check_fail(c, "E0957", f->span, "%s `%s` is %d x %d", role_names[f->role], f->name, f->rows, f->columns);
}

void check_block(checker *c, const kernel_block *b) {
    source_span none = {0};
    if (c->depth >= CHECK_BLOCK_DEPTH) {
        check_fail(c, "E0963", none, "statements are nested deeper than %d", CHECK_BLOCK_DEPTH);
        return;
    }
    c->depth++;
    int mark = kernel_scope_mark(&c->names);
    for (int i = 0; i < b->items.count && c->errors <= CHECK_MOST_ERRORS; i++) {
        const kernel_stmt *outer = c->stmt;
        c->stmt = b->items.at[i];
        check_stmt(c, c->stmt);
        c->stmt = outer;
    }
    kernel_scope_undo(&c->names, mark);
    c->depth--;
}

bool kernel_check(const kernel_ir *k, diag_list *diags) {
    arena *scratch = arena_new();
    checker c = {.k = k, .diags = diags};
    kernel_scope_init(&c.names, scratch);
    if (!kernel_is_identifier(k->name))
        check_fail(&c, "E0930", k->span, "`%s` is no name", k->name);
    for (int i = 0; i < k->symbols.count; i++) {
        index_var *v = k->symbols.at[i];
        if (v->kind != INDEX_SYMBOL)
            check_fail(&c, "E0935", k->span, "`%s` is listed as a launch symbol and is none", v->name);
        check_declare(&c, v->name, NAME_VAR, NULL, v, k->span);
    }
    check_scalars(&c);
    for (int i = 0; i < k->symbols.count; i++)
        check_range(&c, k->symbols.at[i], "a symbol's range");
    check_levels(&c);
    for (int i = 0; i < k->arrays.count; i++)
        check_declare(&c, k->arrays.at[i]->name, NAME_ARRAY, k->arrays.at[i], NULL, k->arrays.at[i]->span);
    for (int i = 0; i < k->fragments.count; i++) {
        check_declare(&c, k->fragments.at[i]->name, NAME_FRAGMENT, k->fragments.at[i], NULL, k->fragments.at[i]->span);
        check_fragment(&c, k->fragments.at[i]);
    }
    for (int i = 0; i < k->mbarriers.count; i++) {
        kernel_mbarrier *m = k->mbarriers.at[i];
        check_declare(&c, m->name, NAME_MBARRIER, m, NULL, m->span);
        if (m->slots < 1 || m->arrivals < 1 || k->levels.count < 2)
            check_fail(&c, "E0956", m->span, "mbarrier `%s` needs slots, arrivals and threads below the task", m->name);
    }
    for (int i = 0; i < k->arrays.count; i++)
        check_array(&c, k->arrays.at[i], i);
    for (int i = 0; i < k->assumptions.count; i++)
        check_condition(&c, k->assumptions.at[i], INDEX_LAUNCH, LEVEL_TASK, "an assumption");
    check_block(&c, &k->body);
    if ((k->grid != NULL) != (c.tasks_seen == 1))
        check_fail(&c, "E0952", k->span, k->grid ? "a persistent kernel holds exactly one `tasks`" : "`tasks` needs a `grid`");
    arena_free(scratch);
    return !c.errors;
}
