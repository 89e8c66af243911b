/* The checker of Tile IR: runs after every pass. What it refuses is a mistake of the pass before it (or of hand-written text), never of a
 * tile program, so every code is an E09xx. */
#include "tile/text.h"
#include <string.h>

typedef struct checker {
    const tile_kernel *k;
    diag_list *diags;
    int errors;
    arena *scratch;
    char *range_active;           /* by range id */
    char *range_used;             /* a range belongs to one loop or to the task */
    char *variable_live;          /* declared in an enclosing block */
    char *variable_declared;      /* anywhere before */
    char *value_live;             /* bound values whose let was passed, in this or an enclosing block */
    char *value_seen;             /* structure checked */
    const tile_value **by_id;     /* to find two values with one id */
    const tile_variable *joining; /* inside the join of this state */
    const tile_stmt *loops[TILE_DEEPEST_LOOP + 1];
    int loop_count;
    char *stored;                 /* by array id: a store was passed */
} checker;

static void report(checker *c, const char *code, source_span span, const char *format, ...) PRINTF_LIKE(4, 5);
static void report(checker *c, const char *code, source_span span, const char *format, ...) {
    if (++c->errors > 20) /* one broken pass makes many: enough is enough */
        return;
    text_buffer text = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&text, format, args);
    va_end(args);
    diag_error(c->diags, code, span, "internal: kernel `%s`: %s", c->k->name, text_get(&text));
    text_free(&text);
}

static bool is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX;
}
static bool is_number(element_type t) {
    return t == ELEMENT_F32 || is_integer(t);
}
/* INDEX and I32 are both signed integers: they mix. */
static bool same_type(element_type a, element_type b) {
    return a == b || ((a == ELEMENT_I32 || a == ELEMENT_INDEX) && (b == ELEMENT_I32 || b == ELEMENT_INDEX));
}
static bool valid_type(element_type t) {
    return (int)t >= 0 && t < ELEMENT_COUNT;
}

/* --- index expressions --- */
typedef enum { VARS_SYMBOLS, VARS_LAUNCH, VARS_ALL } allowed_vars; /* symbols; and scalars; and ranges and values in scope */

static bool known_symbol(const checker *c, const index_var *v) {
    for (int i = 0; i < c->k->symbols.count; i++)
        if (c->k->symbols.at[i] == v)
            return true;
    return false;
}

static void check_value(checker *c, const tile_value *v, int depth);

static void check_expr(checker *c, const index_expr *x, allowed_vars allowed, source_span span, const char *what, int depth) {
    if (!x) {
        report(c, "E0901", span, "%s is missing", what);
        return;
    }
    if (depth > 2 * TILE_DEEPEST_INDEX) {
        report(c, "E0901", span, "%s nests too deeply", what);
        return;
    }
    if (x->op == IX_CONST)
        return;
    if (x->op != IX_VAR) {
        int64_t divisor;
        check_expr(c, x->a, allowed, span, what, depth + 1);
        check_expr(c, x->b, allowed, span, what, depth + 1);
        if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && x->b && ix_is_const(x->b, &divisor) && divisor <= 0)
            report(c, "E0901", span, "%s divides by %lld", what, (long long)divisor);
        return;
    }
    const index_var *v = x->var;
    switch (v->kind) {
    case INDEX_SYMBOL:
    case INDEX_STATIC:
        if (!known_symbol(c, v))
            report(c, "E0902", span, "%s mentions `%s`, which is no symbol of this kernel", what, v->name);
        return;
    case INDEX_TILE:
        if (allowed == VARS_ALL) /* tile sizes carry no meaning: only a range's size may name one */
            report(c, "E0902", span, "%s mentions the tile size `%s`", what, v->name);
        else if (!known_symbol(c, v))
            report(c, "E0902", span, "%s mentions `%s`, which is no symbol of this kernel", what, v->name);
        return;
    case INDEX_SCALAR: {
        bool known = false;
        for (int i = 0; i < c->k->scalars.count; i++)
            known |= c->k->scalars.at[i]->var == v;
        if (!known || allowed == VARS_SYMBOLS)
            report(c, "E0902", span, "%s may not mention the scalar `%s`", what, v->name);
        return;
    }
    case INDEX_RANGE: {
        const tile_range *r = v->owner;
        if (!r || r->id < 0 || r->id >= c->k->ranges.count || c->k->ranges.at[r->id] != r)
            report(c, "E0902", span, "%s mentions `%s`, which is no range of this kernel", what, v->name);
        else if (allowed != VARS_ALL || !c->range_active[r->id])
            report(c, "E0903", span, "%s mentions the range `%s` outside its loop", what, v->name);
        return;
    }
    case INDEX_VALUE: {
        const tile_value *owner = v->owner;
        if (!owner || allowed != VARS_ALL || owner->value_var != v)
            report(c, "E0902", span, "%s may not mention the value `%s`", what, v->name);
        else if (!is_integer(owner->type))
            report(c, "E0905", span, "%s uses %%%d as an index, which is %s", what, owner->id, element_table[owner->type].name);
        else
            check_value(c, owner, depth + 1);
        return;
    }
    default:
        report(c, "E0902", span, "%s mentions `%s`, which Tile IR does not have", what, v->name);
        return;
    }
}

static void check_cond(checker *c, const cond *x, allowed_vars allowed, source_span span, const char *what, int depth) {
    if (!x || depth > 2 * TILE_DEEPEST_INDEX) {
        report(c, "E0901", span, "%s is missing a part or nests too deeply", what);
        return;
    }
    switch (x->op) {
    case COND_TRUE:
        return;
    case COND_AND:
    case COND_OR:
        check_cond(c, x->a, allowed, span, what, depth + 1);
        check_cond(c, x->b, allowed, span, what, depth + 1);
        return;
    case COND_NOT:
        check_cond(c, x->a, allowed, span, what, depth + 1);
        return;
    default:
        check_expr(c, x->x, allowed, span, what, depth + 1);
        check_expr(c, x->y, allowed, span, what, depth + 1);
        return;
    }
}

/* --- values --- */
static bool index_reads_value(const index_expr *x) {
    return x && ((x->op == IX_VAR && x->var->kind == INDEX_VALUE) || index_reads_value(x->a) || index_reads_value(x->b));
}

static bool cond_mentions_range(const cond *x, const tile_range *r) {
    return x && cond_mentions(x, r->var);
}

static void expect_axis(tile_kernel *k, tile_value *v, const tile_range *r, tile_range *const *dropped, int count) {
    for (int i = 0; i < count; i++)
        if (dropped[i] == r)
            return;
    tile_add_axis(k, v, (tile_range *)r);
}

/* The axes a value must have: those of the builder, and for a reduction also the ranges by which the predicates of its loops choose the elements
 * that exist. */
static void check_axes(checker *c, const tile_value *v) {
    tile_kernel shell = {.arena = c->scratch};
    tile_value derived = *v;
    tile_derive_axes(&shell, &derived);
    tile_range *single[1] = {v->range};
    tile_range *const *dropped = v->op == TILE_DOT ? v->contract : single;
    int dropped_count = v->op == TILE_DOT ? v->contract_count : v->range ? 1 : 0;
    for (int i = 0; i < c->loop_count; i++) {
        const cond *p = c->loops[i]->predicate;
        bool chooses = false;
        for (int d = 0; d < dropped_count; d++)
            chooses |= cond_mentions_range(p, dropped[d]);
        for (int r = 0; chooses && r < c->k->ranges.count; r++)
            if (cond_mentions_range(p, c->k->ranges.at[r]))
                expect_axis(&shell, &derived, c->k->ranges.at[r], dropped, dropped_count);
    }
    bool same = derived.axis_count == v->axis_count;
    for (int i = 0; i < v->axis_count; i++)
        same &= tile_has_axis(&derived, v->axes[i]);
    for (int i = 0; i < derived.axis_count; i++)
        if (!tile_has_axis(v, derived.axes[i]))
            report(c, "E0904", v->span, "%%%d lacks the axis `%s`", v->id, derived.axes[i]->name);
    if (!same && derived.axis_count <= v->axis_count)
        report(c, "E0904", v->span, "%%%d has an axis that its operands do not give it", v->id);
}

static void type_error(checker *c, const tile_value *v, const char *why) {
    report(c, "E0905", v->span, "%%%d = %s: %s", v->id, tile_op_table[v->op].name, why);
}

static void check_types(checker *c, const tile_value *v) {
    const char *kind = tile_op_table[v->op].kind;
    element_type a = v->operand_count > 0 ? v->operands[0]->type : v->type;
    element_type b = v->operand_count > 1 ? v->operands[1]->type : a;
    switch (v->op) {
    case TILE_CONST:
        if (element_table[v->type].block_elements > 1)
            type_error(c, v, "a constant of a block format");
        return;
    case TILE_INDEX:
        if (!is_integer(v->type))
            type_error(c, v, "must be an integer");
        return;
    case TILE_SCALAR:
        if (!same_type(v->type, v->scalar->type))
            type_error(c, v, "the scalar has another type");
        return;
    case TILE_PARAM:
    case TILE_FIELD:
    case TILE_GET:
        if (!same_type(v->type, v->variable->types[v->op == TILE_GET ? 0 : v->field]))
            type_error(c, v, "the variable has another type");
        return;
    case TILE_LOAD:
        if (!same_type(v->type, v->array->type))
            type_error(c, v, "a load has its array's type");
        if (v->has_outside && !same_type(a, v->type) && v->operands[0]->op != TILE_CONST)
            type_error(c, v, "the value outside has another type");
        return;
    case TILE_NEG:
    case TILE_ABS:
        if (!is_number(v->type) || !same_type(a, v->type))
            type_error(c, v, "operand and result must be one of f32, i32, u32");
        return;
    case TILE_NOT:
        if (v->type != ELEMENT_BOOL || a != ELEMENT_BOOL)
            type_error(c, v, "works on bool");
        return;
    case TILE_SELECT:
        if (a != ELEMENT_BOOL || !same_type(b, v->type) || !same_type(v->operands[2]->type, v->type))
            type_error(c, v, "needs a bool and two values of the result's type");
        return;
    case TILE_CONVERT:
        if (element_table[v->type].block_elements > 1)
            type_error(c, v, "to a block format");
        if (v->saturate && v->type != ELEMENT_E4M3 && v->type != ELEMENT_E5M2)
            type_error(c, v, "sat belongs to the 8-bit floats");
        return;
    case TILE_ARGMAX:
    case TILE_ARGMIN:
        if (!is_integer(v->type) || !is_number(a))
            type_error(c, v, "gives an integer from numbers");
        return;
    case TILE_DOT: {
        bool integers = a == ELEMENT_I8 || a == ELEMENT_U8 || is_integer(a);
        if (a != b || a == ELEMENT_BOOL)
            type_error(c, v, "both operands must have one number type");
        else if (integers ? !is_integer(v->type) : v->type != ELEMENT_F32 && v->type != ELEMENT_F16)
            type_error(c, v, "gives f32 (f16 when asked) from floats and i32 or u32 from integers");
        else if (integers ? !is_integer(v->accumulator) : v->accumulator != ELEMENT_F32 && v->accumulator != ELEMENT_F16)
            type_error(c, v, "the accumulator must be f32, i32, u32 or f16");
        return;
    }
    case TILE_FLOOR:
        if (v->type != ELEMENT_F32 || a != ELEMENT_F32)
            type_error(c, v, "works on f32");
        return;
    case TILE_DIV:
        if (v->type != ELEMENT_F32 || a != ELEMENT_F32 || b != ELEMENT_F32)
            type_error(c, v, "works on f32");
        return;
    default:
        break;
    }
    if (!strcmp(kind, "math") && (v->type != ELEMENT_F32 || a != ELEMENT_F32))
        type_error(c, v, "works on f32");
    if ((!strcmp(kind, "binary") || !strcmp(kind, "reduce")) && (!is_number(v->type) || !same_type(a, v->type) || !same_type(b, v->type)))
        type_error(c, v, "operands and result must have one type of f32, i32, u32");
    if (!strcmp(kind, "compare") && (v->type != ELEMENT_BOOL || !same_type(a, b)))
        type_error(c, v, "compares two values of one type and gives bool");
    if (!strcmp(kind, "compare") && !is_number(a) && !(a == ELEMENT_BOOL && (v->op == TILE_EQ || v->op == TILE_NE)))
        type_error(c, v, "compares f32, i32 or u32");
    if (!strcmp(kind, "logic") && (v->type != ELEMENT_BOOL || a != ELEMENT_BOOL || b != ELEMENT_BOOL))
        type_error(c, v, "works on bool");
}

/* Whether an index of a store, or of a read of an update array, stays within what the task owns in this dimension. */
static bool within_owned(const tile_owned *o, int d, const index_expr *x) {
    if (o->fixed[d])
        return ix_equal(x, o->fixed[d]);
    const tile_range *r = o->ranges[d];
    if (!r)
        return false;
    if (x->op == IX_VAR && x->var == r->var)
        return true;
    if (!r->whole)
        return false;
    int64_t value, extent;
    if (ix_is_const(x, &value))
        return value >= 0 && (!ix_is_const(r->extent, &extent) || value < extent);
    return x->op == IX_VAR && x->var->kind == INDEX_RANGE && x->var->owner &&
           ix_equal(((const tile_range *)x->var->owner)->extent, r->extent);
}

static bool within_task(checker *c, const tile_array *array, index_expr **indices, const char **why) {
    for (int i = 0; i < c->k->owned.count; i++) {
        const tile_owned *o = c->k->owned.at[i];
        if (o->array != array)
            continue;
        for (int d = 0; d < array->rank; d++)
            if (!within_owned(o, d, indices[d])) {
                *why = arena_printf(c->scratch, "dimension %d leaves the task's tile", d);
                return false;
            }
        return true;
    }
    *why = "the task owns nothing of it";
    return false;
}

static void check_load(checker *c, const tile_value *v, int depth) {
    const tile_array *x = v->array;
    if (!v->indices) {
        report(c, "E0901", v->span, "%%%d loads without indices", v->id);
        return;
    }
    for (int d = 0; d < x->rank; d++)
        check_expr(c, v->indices[d], VARS_ALL, v->span, "an index", depth + 1);
    const char *why = NULL;
    if (x->role == ARRAY_OUT)
        report(c, "E0907", v->span, "reads the output `%s`", x->name);
    else if (x->role == ARRAY_UPDATE && !c->errors && !within_task(c, x, v->indices, &why))
        report(c, "E0907", v->span, "reads `%s` beyond its own cells: %s", x->name, why);
    else if (x->role == ARRAY_UPDATE && c->stored[x->id])
        report(c, "E0907", v->span, "reads `%s` after writing it", x->name);
}

static bool payload_present(checker *c, const tile_value *v) {
    const tile_kernel *k = c->k;
    switch (v->op) {
    case TILE_INDEX:
        return v->index != NULL;
    case TILE_SCALAR:
        return v->scalar && v->scalar->id < k->scalars.count && k->scalars.at[v->scalar->id] == v->scalar;
    case TILE_LOAD:
        return v->array && v->array->id < k->arrays.count && k->arrays.at[v->array->id] == v->array;
    case TILE_GET:
    case TILE_FIELD:
    case TILE_PARAM:
        return v->variable && v->variable->id < k->variables.count && k->variables.at[v->variable->id] == v->variable &&
               v->field >= 0 && v->field < v->variable->field_count && (v->op != TILE_GET || v->variable->field_count == 1);
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN:
        return v->range && v->range->id < k->ranges.count && k->ranges.at[v->range->id] == v->range;
    case TILE_DOT:
        for (int i = 0; i < v->contract_count; i++)
            if (!v->contract[i] || v->contract[i]->id >= k->ranges.count || k->ranges.at[v->contract[i]->id] != v->contract[i])
                return false;
        return v->contract_count > 0;
    default:
        return true;
    }
}

static void check_value(checker *c, const tile_value *v, int depth) {
    if (!v) {
        report(c, "E0901", c->k->span, "a value is missing");
        return;
    }
    if (v->bound && v->id >= 0 && v->id < c->k->value_count && c->value_live[v->id])
        return;
    if (v->bound && c->joining == NULL && v->id < c->k->value_count && c->value_seen[v->id]) {
        report(c, "E0906", v->span, "%%%d is used where its let does not reach", v->id);
        return;
    }
    if (depth > TILE_DEEPEST_VALUE) {
        report(c, "E0901", v->span, "values nest too deeply");
        return;
    }
    if ((int)v->op < 0 || v->op >= TILE_OP_COUNT || v->id < 0 || v->id >= c->k->value_count || !valid_type(v->type)) {
        report(c, "E0901", v->span, "a value with a wrong operation, type or number");
        return;
    }
    if (c->by_id[v->id] && c->by_id[v->id] != v) {
        report(c, "E0901", v->span, "two values are numbered %d", v->id);
        return;
    }
    c->by_id[v->id] = v;
    int wanted = v->op == TILE_LOAD ? (v->has_outside ? 1 : 0) : tile_op_table[v->op].operands;
    if (v->operand_count != wanted || !payload_present(c, v)) {
        report(c, "E0901", v->span, "%%%d = %s: wrong operands or payload", v->id, tile_op_table[v->op].name);
        return;
    }
    int errors = c->errors;
    for (int i = 0; i < v->operand_count; i++)
        check_value(c, v->operands[i], depth + 1);
    if (c->errors > errors)
        return;
    if (c->joining && (v->op == TILE_LOAD || v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_INDEX || v->op == TILE_SCALAR))
        report(c, "E0909", v->span, "%%%d: a join works on its parameters and constants alone", v->id);
    if (v->op == TILE_PARAM && c->joining != v->variable)
        report(c, "E0909", v->span, "%%%d: a parameter outside the join of its state", v->id);
    if ((v->op == TILE_GET || v->op == TILE_FIELD) && !c->variable_live[v->variable->id])
        report(c, "E0906", v->span, "%%%d reads `%s` where it is not declared", v->id, v->variable->name);
    if (v->op == TILE_INDEX)
        check_expr(c, v->index, VARS_ALL, v->span, "an index value", depth + 1);
    if (v->op == TILE_LOAD)
        check_load(c, v, depth);
    if (v->op == TILE_DOT) {
        for (int i = 0; i < v->contract_count; i++) {
            if (!c->range_active[v->contract[i]->id])
                report(c, "E0903", v->span, "%%%d sums over `%s` outside its loop", v->id, v->contract[i]->name);
            if (!tile_has_axis(v->operands[0], v->contract[i]) || !tile_has_axis(v->operands[1], v->contract[i]))
                report(c, "E0904", v->span, "%%%d: both operands must vary over `%s`", v->id, v->contract[i]->name);
        }
    } else if (v->range && !c->range_active[v->range->id]) {
        report(c, "E0903", v->span, "%%%d reduces over `%s` outside its loop", v->id, v->range->name);
    }
    for (int i = 0; i < v->axis_count; i++)
        if (!c->joining && !c->range_active[v->axes[i]->id])
            report(c, "E0903", v->span, "%%%d varies over `%s` outside its loop", v->id, v->axes[i]->name);
    if (c->errors > errors)
        return;
    check_axes(c, v);
    check_types(c, v);
}

/* --- statements --- */
static bool axes_within(const tile_value *v, tile_range *const *axes, int count) {
    for (int i = 0; i < v->axis_count; i++) {
        bool found = false;
        for (int j = 0; j < count; j++)
            found |= axes[j] == v->axes[i];
        if (!found)
            return false;
    }
    return true;
}

static void check_fields(checker *c, const tile_variable *x, tile_value **values, source_span span, const char *what, bool constants) {
    if (!values) {
        report(c, "E0901", span, "`%s` has no %s", x->name, what);
        return;
    }
    for (int f = 0; f < x->field_count; f++) {
        int errors = c->errors;
        check_value(c, values[f], 0);
        if (c->errors > errors)
            continue;
        if (!same_type(values[f]->type, x->types[f]))
            report(c, "E0905", span, "%s of `%s`, field %d: has type %s, not %s", what, x->name, f, element_table[values[f]->type].name,
                   element_table[x->types[f]].name);
        if (!axes_within(values[f], x->axes[f], x->axis_counts[f]))
            report(c, "E0904", span, "%s of `%s`, field %d: varies over a range that the field lacks", what, x->name, f);
        if (constants && values[f]->op != TILE_CONST)
            report(c, "E0909", span, "the empty value of `%s`, field %d, is not a constant", x->name, f);
    }
}

static void check_declaration(checker *c, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    if (c->variable_declared[x->id])
        report(c, "E0906", s->span, "`%s` is declared twice", x->name);
    for (int f = 0; f < x->field_count; f++) {
        if (!is_number(x->types[f]) && x->types[f] != ELEMENT_BOOL && x->types[f] != ELEMENT_F16)
            report(c, "E0905", s->span, "`%s`, field %d: a variable is f32, i32, u32, bool or f16", x->name, f);
        for (int i = 0; i < x->axis_counts[f]; i++)
            if (!x->axes[f][i] || !c->range_active[x->axes[f][i]->id])
                report(c, "E0903", s->span, "`%s`, field %d, varies over a range outside its loop", x->name, f);
    }
    check_fields(c, x, x->empty, s->span, "initial value", x->combine != NULL);
    if (x->combine) {
        c->joining = x;
        check_fields(c, x, x->left, s->span, "left parameter", false);
        check_fields(c, x, x->right, s->span, "right parameter", false);
        for (int f = 0; x->left && x->right && f < x->field_count; f++)
            for (int side = 0; side < 2; side++) {
                const tile_value *v = side ? x->right[f] : x->left[f];
                if (v && (v->op != TILE_PARAM || v->side != side || v->field != f))
                    report(c, "E0909", s->span, "`%s`, field %d: not the %s parameter of its join", x->name, f, side ? "right" : "left");
            }
        check_fields(c, x, x->join, s->span, "join", false);
        c->joining = NULL;
    }
    c->variable_declared[x->id] = c->variable_live[x->id] = 1;
}

static void check_update(checker *c, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    if (!c->variable_live[x->id])
        report(c, "E0906", s->span, "`%s` is changed where it is not declared", x->name);
    if (x->combine)
        report(c, "E0909", s->span, "`%s` is a state: only a join changes it", x->name);
    if (!tile_update_word(s->update))
        report(c, "E0901", s->span, "`%s` is changed by something other than +=, max=, min=", x->name);
    if (s->value && !x->combine)
        check_fields(c, x, (tile_value *[]){s->value}, s->span, "update", false);
    else if (!s->value)
        report(c, "E0901", s->span, "an update without a value");
}

static void check_store(checker *c, const tile_stmt *s) {
    const tile_array *x = s->array;
    if (x->role == ARRAY_IN) {
        report(c, "E0908", s->span, "writes the input `%s`", x->name);
        return;
    }
    int errors = c->errors;
    for (int d = 0; d < x->rank; d++)
        check_expr(c, s->indices[d], VARS_ALL, s->span, "an index of a store", 0);
    check_value(c, s->value, 0);
    if (c->errors > errors)
        return;
    const char *why = NULL;
    if (!within_task(c, x, s->indices, &why))
        report(c, "E0908", s->span, "writes `%s`, but %s", x->name, why);
    if (!same_type(s->value->type, x->type))
        report(c, "E0905", s->span, "stores %s into `%s`, which is %s", element_table[s->value->type].name, x->name, element_table[x->type].name);
    for (int i = 0; i < s->value->axis_count; i++) {
        bool found = false;
        for (int d = 0; d < x->rank; d++)
            found |= ix_mentions(s->indices[d], s->value->axes[i]->var) || index_reads_value(s->indices[d]);
        if (!found)
            report(c, "E0908", s->span, "the value stored into `%s` varies over `%s`, which its indices do not", x->name, s->value->axes[i]->name);
    }
}

static void check_block(checker *c, const tile_block *b);

static void check_loop(checker *c, const tile_stmt *s) {
    const tile_range *r = s->range;
    if (!r || r->id < 0 || r->id >= c->k->ranges.count || c->k->ranges.at[r->id] != r) {
        report(c, "E0902", s->span, "a loop over a range that is not the kernel's");
        return;
    }
    if (c->range_used[r->id]) {
        report(c, "E0903", s->span, "the range `%s` has a loop already", r->name);
        return;
    }
    if (c->loop_count >= TILE_DEEPEST_LOOP) {
        report(c, "E0901", s->span, "loops nest too deeply");
        return;
    }
    c->range_used[r->id] = c->range_active[r->id] = 1;
    if (s->predicate)
        check_cond(c, s->predicate, VARS_ALL, s->span, "a predicate", 0);
    c->loops[c->loop_count++] = s;
    check_block(c, &s->body);
    c->loop_count--;
    c->range_active[r->id] = 0;
}

static void mark_stored(checker *c, const tile_stmt *s) {
    /* Stores to constant slices of a product dimension leave the other slices to be read: those are told apart by the oracle and the prover. */
    for (int d = 0; d < s->array->rank; d++)
        if (ix_is_const(s->indices[d], NULL))
            return;
    if (c->loop_count == 0)
        c->stored[s->array->id] = 1;
}

static void check_block(checker *c, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        bool needs_variable = s->kind == TILE_STMT_VAR || s->kind == TILE_STMT_UPDATE || s->kind == TILE_STMT_JOIN;
        if (needs_variable && (!s->variable || s->variable->id >= c->k->variables.count || c->k->variables.at[s->variable->id] != s->variable)) {
            report(c, "E0902", s->span, "a statement about a variable that is not the kernel's");
            continue;
        }
        if (s->kind == TILE_STMT_STORE && (!s->array || !s->indices || s->array->id >= c->k->arrays.count || c->k->arrays.at[s->array->id] != s->array)) {
            report(c, "E0902", s->span, "a store to an array that is not the kernel's");
            continue;
        }
        switch (s->kind) {
        case TILE_STMT_LET:
            if (!s->value || !s->value->bound) {
                report(c, "E0901", s->span, "a let without a bound value");
                break;
            }
            if (s->value->id >= 0 && s->value->id < c->k->value_count && c->value_seen[s->value->id]) {
                report(c, "E0906", s->span, "%%%d is bound twice", s->value->id);
                break;
            }
            check_value(c, s->value, 0);
            if (s->value->id >= 0 && s->value->id < c->k->value_count)
                c->value_live[s->value->id] = c->value_seen[s->value->id] = 1;
            break;
        case TILE_STMT_VAR:
            check_declaration(c, s);
            break;
        case TILE_STMT_UPDATE:
            check_update(c, s);
            break;
        case TILE_STMT_JOIN:
            if (!s->variable->combine)
                report(c, "E0909", s->span, "`%s` is no state", s->variable->name);
            if (!c->variable_live[s->variable->id])
                report(c, "E0906", s->span, "`%s` is changed where it is not declared", s->variable->name);
            check_fields(c, s->variable, s->values, s->span, "joined value", false);
            break;
        case TILE_STMT_STORE:
            check_store(c, s);
            mark_stored(c, s);
            break;
        case TILE_STMT_LOOP:
            check_loop(c, s);
            break;
        default:
            report(c, "E0901", s->span, "a statement of no known kind");
        }
    }
    for (int i = 0; i < b->items.count; i++) { /* what the block bound ends with it */
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LET && s->value && s->value->id >= 0 && s->value->id < c->k->value_count)
            c->value_live[s->value->id] = 0;
        if (s->kind == TILE_STMT_VAR && s->variable && s->variable->id < c->k->variables.count)
            c->variable_live[s->variable->id] = 0;
    }
}

/* --- declarations --- */
static void check_declarations(checker *c) {
    const tile_kernel *k = c->k;
    if (k->derived.count != k->symbols.count)
        report(c, "E0901", k->span, "the derived symbols do not match the symbols");
    if (k->arguments.count != k->argument_is_scalar.count)
        report(c, "E0901", k->span, "the list of arguments is torn");
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        if (!v || !v->name || (v->kind != INDEX_SYMBOL && v->kind != INDEX_STATIC && v->kind != INDEX_TILE))
            report(c, "E0901", k->span, "symbol %d is none", i);
        else if (v->has_value && v->kind == INDEX_SYMBOL)
            report(c, "E0901", v->span, "the symbol `%s` has a value at compile time", v->name);
    }
    for (int i = 0; i < k->derived.count && i < k->symbols.count; i++)
        if (k->derived.at[i])
            check_expr(c, k->derived.at[i], VARS_LAUNCH, k->span, "a derived symbol", 0);
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i]->id != i || !valid_type(k->scalars.at[i]->type) || is_integer(k->scalars.at[i]->type) != (k->scalars.at[i]->var != NULL))
            report(c, "E0901", k->scalars.at[i]->span, "the scalar `%s` is misnumbered or has no variable", k->scalars.at[i]->name);
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *x = k->arrays.at[i];
        int factors = 0;
        for (int g = 0; g < x->group_count; g++)
            factors += x->groups[g];
        if (x->id != i || !valid_type(x->type) || factors != x->rank)
            report(c, "E0901", x->span, "the array `%s` is misnumbered, or its dimensions and their groups disagree", x->name);
        for (int d = 0; d < x->rank; d++)
            check_expr(c, x->dims[d], VARS_SYMBOLS, x->span, "an extent", 0);
        if ((x->type == ELEMENT_INDEX) != (x->index_bound != NULL))
            report(c, "E0901", x->span, "the array `%s` is index(V) without a V", x->name);
        if (x->injective && x->type != ELEMENT_INDEX)
            report(c, "E0901", x->span, "the array `%s` is injective but holds no indices", x->name);
    }
    for (int i = 0; i < k->where.count; i++)
        check_cond(c, k->where.at[i], VARS_LAUNCH, k->span, "a where", 0);
    for (int i = 0; i < k->ranges.count; i++) {
        const tile_range *r = k->ranges.at[i];
        if (r->id != i || !r->var || r->var->kind != INDEX_RANGE || r->var->owner != r) {
            report(c, "E0901", r->span, "the range `%s` is misnumbered or its variable is not its own", r->name);
            continue;
        }
        int64_t size;
        check_expr(c, r->extent, VARS_LAUNCH, r->span, "an extent", 0);
        check_expr(c, r->size, VARS_LAUNCH, r->span, "a tile size", 0);
        if (r->size && ix_is_const(r->size, &size) && size < 1 && !r->whole)
            report(c, "E0901", r->span, "the range `%s` has tiles of %lld", r->name, (long long)size);
    }
    for (int i = 0; i < k->variables.count; i++)
        if (k->variables.at[i]->id != i || k->variables.at[i]->field_count < 1 ||
            (!k->variables.at[i]->combine && k->variables.at[i]->field_count != 1))
            report(c, "E0901", k->variables.at[i]->span, "the variable `%s` is misnumbered or has no field", k->variables.at[i]->name);
}

static void check_ownership(checker *c) {
    const tile_kernel *k = c->k;
    for (int i = 0; i < k->task.count; i++) {
        const tile_range *r = k->task.at[i];
        if (!r || r->id >= k->ranges.count || k->ranges.at[r->id] != r || !r->is_task) {
            report(c, "E0902", k->span, "task range %d is not a range of the task", i);
            continue;
        }
        if (c->range_used[r->id])
            report(c, "E0903", r->span, "the task range `%s` is listed twice", r->name);
        c->range_active[r->id] = c->range_used[r->id] = 1;
    }
    for (int i = 0; i < k->ranges.count; i++)
        if (k->ranges.at[i]->is_task && !c->range_active[i])
            report(c, "E0903", k->ranges.at[i]->span, "the range `%s` is not among the task's", k->ranges.at[i]->name);
    for (int i = 0; i < k->owned.count; i++) {
        const tile_owned *o = k->owned.at[i];
        if (!o->array || o->array->id >= k->arrays.count || k->arrays.at[o->array->id] != o->array || o->array->role == ARRAY_IN) {
            report(c, "E0908", o->span, "the task owns part of something that is no output");
            continue;
        }
        for (int j = 0; j < i; j++)
            if (k->owned.at[j]->array == o->array)
                report(c, "E0908", o->span, "`%s` is owned twice", o->array->name);
        for (int d = 0; d < o->array->rank; d++) {
            const tile_range *r = o->ranges[d];
            if ((r != NULL) == (o->fixed[d] != NULL)) {
                report(c, "E0908", o->span, "dimension %d of `%s` needs a range or a fixed index", d, o->array->name);
            } else if (r) {
                if (!r->is_task)
                    report(c, "E0908", o->span, "dimension %d of `%s` is owned through `%s`, which is no task range", d, o->array->name, r->name);
                else if (!ix_equal(r->extent, o->array->dims[d]))
                    report(c, "E0908", o->span, "dimension %d of `%s` and the range `%s` have different extents", d, o->array->name, r->name);
                for (int e = 0; e < d; e++)
                    if (o->ranges[e] == r)
                        report(c, "E0908", o->span, "`%s` is owned through `%s` twice", o->array->name, r->name);
            } else {
                check_expr(c, o->fixed[d], VARS_ALL, o->span, "a slice", 0);
            }
        }
        /* Two tasks must own different cells: every task range with more than one tile has to choose some dimension, or be one that slices choose. */
        for (int t = 0; t < k->task.count; t++) {
            const tile_range *r = k->task.at[t];
            int64_t extent, size = 1;
            bool one_tile = ix_is_const(r->extent, &extent) && (extent <= 1 || (ix_is_const(r->size, &size) && extent <= size));
            bool chooses = r->whole || one_tile;
            for (int d = 0; d < o->array->rank; d++)
                chooses |= o->ranges[d] == r || (o->fixed[d] && (ix_mentions(o->fixed[d], r->var) || index_reads_value(o->fixed[d])));
            if (!chooses)
                report(c, "E0908", o->span, "tasks that differ in `%s` own the same cells of `%s`", r->name, o->array->name);
        }
    }
    for (int i = 0; i < k->arrays.count; i++) {
        bool owned = k->arrays.at[i]->role == ARRAY_IN;
        for (int j = 0; j < k->owned.count; j++)
            owned |= k->owned.at[j]->array == k->arrays.at[i];
        if (!owned)
            report(c, "E0908", k->arrays.at[i]->span, "nobody owns the output `%s`", k->arrays.at[i]->name);
    }
}

static bool block_stores(const tile_block *b, const tile_array *x) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind == TILE_STMT_STORE ? b->items.at[i]->array == x : block_stores(&b->items.at[i]->body, x))
            return true;
    return false;
}

bool tile_check(const tile_kernel *k, diag_list *diags) {
    checker c = {.k = k, .diags = diags, .scratch = arena_new()};
    int values = k->value_count > 0 ? k->value_count : 1;
    c.range_active = arena_alloc(c.scratch, (size_t)k->ranges.count + 1);
    c.range_used = arena_alloc(c.scratch, (size_t)k->ranges.count + 1);
    c.variable_live = arena_alloc(c.scratch, (size_t)k->variables.count + 1);
    c.variable_declared = arena_alloc(c.scratch, (size_t)k->variables.count + 1);
    c.value_live = arena_alloc(c.scratch, (size_t)values);
    c.value_seen = arena_alloc(c.scratch, (size_t)values);
    c.by_id = NEW_ARRAY(c.scratch, const tile_value *, values);
    c.stored = arena_alloc(c.scratch, (size_t)k->arrays.count + 1);
    check_declarations(&c);
    if (!c.errors)
        check_ownership(&c);
    if (!c.errors)
        check_block(&c, &k->body);
    for (int i = 0; !c.errors && i < k->arrays.count; i++)
        if (k->arrays.at[i]->role != ARRAY_IN && !block_stores(&k->body, k->arrays.at[i]))
            report(&c, "E0908", k->arrays.at[i]->span, "the output `%s` is never written", k->arrays.at[i]->name);
    arena_free(c.scratch);
    return c.errors == 0;
}
