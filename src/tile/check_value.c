/* Checks index expressions and values: structure, scope, axes, types. */
#include "tile/check_private.h"
#include <string.h>

bool tile_check_is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX;
}
bool tile_check_is_number(element_type t) {
    return t == ELEMENT_F32 || tile_check_is_integer(t);
}
/* INDEX and I32 are both signed integers: they mix. */
bool tile_check_same_type(element_type a, element_type b) {
    return a == b || ((a == ELEMENT_I32 || a == ELEMENT_INDEX) && (b == ELEMENT_I32 || b == ELEMENT_INDEX));
}
bool tile_check_valid_type(element_type t) {
    return (int)t >= 0 && t < ELEMENT_COUNT;
}

/* --- index expressions --- */

static bool known_symbol(const tile_checker *c, const index_var *v) {
    for (int i = 0; i < c->k->symbols.count; i++)
        if (c->k->symbols.at[i] == v)
            return true;
    return false;
}

void tile_check_index(tile_checker *c, const index_expr *x, tile_check_allows allowed, source_span span, const char *what,
                      int depth) {
    if (!x) {
        tile_check_report(c, "E0901", span, "%s is missing", what);
        return;
    }
    if (depth > 2 * TILE_DEEPEST_INDEX) {
        tile_check_report(c, "E0901", span, "%s nests too deeply", what);
        return;
    }
    if (x->op == IX_CONST)
        return;
    if (x->op != IX_VAR) {
        int64_t divisor;
        tile_check_index(c, x->a, allowed, span, what, depth + 1);
        tile_check_index(c, x->b, allowed, span, what, depth + 1);
        if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && x->b && ix_is_const(x->b, &divisor) && divisor <= 0)
            tile_check_report(c, "E0901", span, "%s divides by %lld", what, (long long)divisor);
        return;
    }
    const index_var *v = x->var;
    switch (v->kind) {
    case INDEX_SYMBOL:
    case INDEX_STATIC:
        if (!known_symbol(c, v))
            tile_check_report(c, "E0902", span, "%s mentions `%s`, which is no symbol of this kernel", what, v->name);
        return;
    case INDEX_TILE:
        if (allowed == VARS_ALL) /* tile sizes carry no meaning: only a range's size may name one */
            tile_check_report(c, "E0902", span, "%s mentions the tile size `%s`", what, v->name);
        else if (!known_symbol(c, v))
            tile_check_report(c, "E0902", span, "%s mentions `%s`, which is no symbol of this kernel", what, v->name);
        return;
    case INDEX_SCALAR: {
        bool known = false;
        for (int i = 0; i < c->k->scalars.count; i++)
            known |= c->k->scalars.at[i]->var == v;
        if (!known || allowed == VARS_SYMBOLS)
            tile_check_report(c, "E0902", span, "%s may not mention the scalar `%s`", what, v->name);
        return;
    }
    case INDEX_RANGE: {
        const tile_range *r = v->owner;
        if (!r || r->id < 0 || r->id >= c->k->ranges.count || c->k->ranges.at[r->id] != r)
            tile_check_report(c, "E0902", span, "%s mentions `%s`, which is no range of this kernel", what, v->name);
        else if (allowed != VARS_ALL || !c->range_active[r->id])
            tile_check_report(c, "E0903", span, "%s mentions the range `%s` outside its loop", what, v->name);
        return;
    }
    case INDEX_VALUE: {
        const tile_value *owner = v->owner;
        if (!owner || allowed != VARS_ALL || owner->value_var != v)
            tile_check_report(c, "E0902", span, "%s may not mention the value `%s`", what, v->name);
        else if (!tile_check_is_integer(owner->type))
            tile_check_report(c, "E0905", span, "%s uses %%%d as an index, which is %s", what, owner->id,
                              element_table[owner->type].name);
        else
            tile_check_value(c, owner, depth + 1);
        return;
    }
    default: tile_check_report(c, "E0902", span, "%s mentions `%s`, which Tile IR does not have", what, v->name); return;
    }
}

void tile_check_condition(tile_checker *c, const cond *x, tile_check_allows allowed, source_span span, const char *what,
                          int depth) {
    if (!x || depth > 2 * TILE_DEEPEST_INDEX) {
        tile_check_report(c, "E0901", span, "%s is missing a part or nests too deeply", what);
        return;
    }
    switch (x->op) {
    case COND_TRUE: return;
    case COND_AND:
    case COND_OR:
        tile_check_condition(c, x->a, allowed, span, what, depth + 1);
        tile_check_condition(c, x->b, allowed, span, what, depth + 1);
        return;
    case COND_NOT: tile_check_condition(c, x->a, allowed, span, what, depth + 1); return;
    default:
        tile_check_index(c, x->x, allowed, span, what, depth + 1);
        tile_check_index(c, x->y, allowed, span, what, depth + 1);
        return;
    }
}

/* --- values --- */
bool tile_check_reads_value(const index_expr *x) {
    return x &&
           ((x->op == IX_VAR && x->var->kind == INDEX_VALUE) || tile_check_reads_value(x->a) || tile_check_reads_value(x->b));
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
static void check_axes(tile_checker *c, const tile_value *v) {
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
            tile_check_report(c, "E0904", v->span, "%%%d lacks the axis `%s`", v->id, derived.axes[i]->name);
    if (!same && derived.axis_count <= v->axis_count)
        tile_check_report(c, "E0904", v->span, "%%%d has an axis that its operands do not give it", v->id);
}

static void type_error(tile_checker *c, const tile_value *v, const char *why) {
    tile_check_report(c, "E0905", v->span, "%%%d = %s: %s", v->id, tile_op_table[v->op].name, why);
}

/* Pointers are loads of the element that they point to. */
static void check_call(tile_checker *c, const tile_value *v) {
    const intrinsic *f = v->intrinsic;
    if (f->rows)
        type_error(c, v, "gives a matrix, which is an operand of dot");
    if (intrinsic_is_store(f) && c->store_call != v)
        type_error(c, v, "writes memory: it is the value of a store and nothing else");
    for (int i = 0; i < f->parameter_count; i++) {
        const intrinsic_parameter *p = &f->parameters[i];
        if (p->writes)
            continue;
        const tile_value *x = v->operands[intrinsic_operand_of(f, i)];
        if (p->rank && (x->op != TILE_LOAD || x->has_outside || x->array->rank < p->rank || x->array->type != p->type))
            type_error(c, v, "a pointer points to an element of an array of its type, which has as many dimensions");
        else if (!p->rank && (p->type == ELEMENT_INDEX ? x->op != TILE_INDEX : x->type != p->type))
            type_error(c, v, "an operand has another type than its parameter");
    }
    if (v->type != f->type || (f->referenced && v->operands[v->operand_count - 1]->type != f->type))
        type_error(c, v, "the result has another type");
}

/* Matrices come from an input's memory, and are products' operands alone. */
static void check_matrices(tile_checker *c, const tile_value *v) {
    for (int i = 0; i < 2; i++) {
        const intrinsic *f = v->by[i];
        bool known = !f;
        for (int n = 0; n < c->k->intrinsics.count; n++)
            known = known || c->k->intrinsics.at[n] == f;
        const tile_value *x = v->operands[i];
        if (!known || (f && (intrinsic_kind_of(f) != INTRINSIC_LOADS || f->type != x->type || x->op != TILE_LOAD ||
                             x->has_outside || x->array->role != ARRAY_IN)))
            type_error(c, v, "an intrinsic loads matrices of elements of an input array");
    }
    const intrinsic *f = v->by[2];
    bool known = !f;
    for (int n = 0; n < c->k->intrinsics.count; n++)
        known = known || c->k->intrinsics.at[n] == f;
    if (!known || (f && (intrinsic_kind_of(f) != INTRINSIC_MULTIPLIES || f->parameters[0].type != v->operands[0]->type ||
                         f->type != v->accumulator)))
        type_error(c, v, "an intrinsic multiplies matrices of the operands' type and adds to those of the sum's");
}

static void check_types(tile_checker *c, const tile_value *v) {
    const char *kind = tile_op_table[v->op].kind;
    element_type a = v->operand_count > 0 ? v->operands[0]->type : v->type;
    element_type b = v->operand_count > 1 ? v->operands[1]->type : a;
    switch (v->op) {
    case TILE_CONST:
        if (element_table[v->type].block_elements > 1)
            type_error(c, v, "a constant of a block format");
        return;
    case TILE_INDEX:
        if (!tile_check_is_integer(v->type))
            type_error(c, v, "must be an integer");
        return;
    case TILE_SCALAR:
        if (!tile_check_same_type(v->type, v->scalar->type))
            type_error(c, v, "the scalar has another type");
        return;
    case TILE_PARAM:
    case TILE_FIELD:
    case TILE_GET:
        if (!tile_check_same_type(v->type, v->variable->types[v->op == TILE_GET ? 0 : v->field]))
            type_error(c, v, "the variable has another type");
        return;
    case TILE_LOAD:
        if (!tile_check_same_type(v->type, v->array->type))
            type_error(c, v, "a load has its array's type");
        if (v->has_outside && !tile_check_same_type(a, v->type) && v->operands[0]->op != TILE_CONST)
            type_error(c, v, "the value outside has another type");
        return;
    case TILE_NEG:
    case TILE_ABS:
        if (!tile_check_is_number(v->type) || !tile_check_same_type(a, v->type))
            type_error(c, v, "operand and result must be one of f32, i32, u32");
        return;
    case TILE_NOT:
        if (v->type != ELEMENT_BOOL || a != ELEMENT_BOOL)
            type_error(c, v, "works on bool");
        return;
    case TILE_SELECT:
        if (a != ELEMENT_BOOL || !tile_check_same_type(b, v->type) || !tile_check_same_type(v->operands[2]->type, v->type))
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
        if (!tile_check_is_integer(v->type) || !tile_check_is_number(a))
            type_error(c, v, "gives an integer from numbers");
        return;
    case TILE_DOT: {
        check_matrices(c, v);
        bool integers = a == ELEMENT_I8 || a == ELEMENT_U8 || tile_check_is_integer(a);
        if (a != b || a == ELEMENT_BOOL)
            type_error(c, v, "both operands must have one number type");
        else if (integers ? !tile_check_is_integer(v->type) : v->type != ELEMENT_F32 && v->type != ELEMENT_F16)
            type_error(c, v, "gives f32 (f16 when asked) from floats and i32 or u32 from integers");
        else if (integers ? !tile_check_is_integer(v->accumulator)
                          : v->accumulator != ELEMENT_F32 && v->accumulator != ELEMENT_F16)
            type_error(c, v, "the accumulator must be f32, i32, u32 or f16");
        return;
    }
    case TILE_INTRINSIC: check_call(c, v); return;
    case TILE_FLOOR:
        if (v->type != ELEMENT_F32 || a != ELEMENT_F32)
            type_error(c, v, "works on f32");
        return;
    case TILE_DIV:
        if (v->type != ELEMENT_F32 || a != ELEMENT_F32 || b != ELEMENT_F32)
            type_error(c, v, "works on f32");
        return;
    default: break;
    }
    if (!strcmp(kind, "math") && (v->type != ELEMENT_F32 || a != ELEMENT_F32))
        type_error(c, v, "works on f32");
    if ((!strcmp(kind, "binary") || !strcmp(kind, "reduce")) &&
        (!tile_check_is_number(v->type) || !tile_check_same_type(a, v->type) || !tile_check_same_type(b, v->type)))
        type_error(c, v, "operands and result must have one type of f32, i32, u32");
    if (!strcmp(kind, "bits") && ((v->type != ELEMENT_I32 && v->type != ELEMENT_U32) || a != v->type || b != v->type))
        type_error(c, v, "operands and result must have one type of i32, u32");
    if (!strcmp(kind, "compare") && (v->type != ELEMENT_BOOL || !tile_check_same_type(a, b)))
        type_error(c, v, "compares two values of one type and gives bool");
    if (!strcmp(kind, "compare") && !tile_check_is_number(a) && !(a == ELEMENT_BOOL && (v->op == TILE_EQ || v->op == TILE_NE)))
        type_error(c, v, "compares f32, i32 or u32");
    if (!strcmp(kind, "logic") && (v->type != ELEMENT_BOOL || a != ELEMENT_BOOL || b != ELEMENT_BOOL))
        type_error(c, v, "works on bool");
}

bool tile_check_extents_agree(const tile_checker *c, const index_expr *x, const index_expr *y) {
    const tile_kernel *k = c->k;
    if (ix_equal(x, y))
        return true;
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        for (int j = 0; (ix_mentions(x, v) || ix_mentions(y, v)) && j < k->where.count; j++)
            if (cond_mentions(k->where.at[j], v))
                return true;
    }
    return false;
}

/* Whether an index of a store, or of a read of an update array, stays within what the task owns in this dimension. */
static bool within_owned(const tile_checker *c, const tile_owned *o, int d, index_expr *x) {
    if (o->fixed[d])
        return ix_equal(x, o->fixed[d]);
    const tile_range *r = o->ranges[d];
    if (!r)
        return false;
    if (o->through[d] && tile_index_source(x, &x) != o->through[d])
        return false;
    if (x->op == IX_VAR && x->var == r->var)
        return true;
    if (!r->whole)
        return false;
    int64_t value, extent;
    if (ix_is_const(x, &value))
        return !o->through[d] && value >= 0 && (!ix_is_const(r->extent, &extent) || value < extent);
    return x->op == IX_VAR && x->var->kind == INDEX_RANGE && x->var->owner &&
           tile_check_extents_agree(c, ((const tile_range *)x->var->owner)->extent, r->extent);
}

bool tile_check_within_task(tile_checker *c, const tile_array *array, index_expr **indices, const char **why) {
    for (int i = 0; i < c->k->owned.count; i++) {
        const tile_owned *o = c->k->owned.at[i];
        if (o->array != array)
            continue;
        for (int d = 0; d < array->rank; d++)
            if (!within_owned(c, o, d, indices[d])) {
                *why = arena_printf(c->scratch, "dimension %d leaves the task's tile", d);
                return false;
            }
        return true;
    }
    *why = "the task owns nothing of it";
    return false;
}

static void check_load(tile_checker *c, const tile_value *v, int depth) {
    const tile_array *x = v->array;
    if (!v->indices) {
        tile_check_report(c, "E0901", v->span, "%%%d loads without indices", v->id);
        return;
    }
    for (int d = 0; d < x->rank; d++)
        tile_check_index(c, v->indices[d], VARS_ALL, v->span, "an index", depth + 1);
    const char *why = NULL;
    if (x->role == ARRAY_OUT)
        tile_check_report(c, "E0907", v->span, "reads the output `%s`", x->name);
    else if (x->role == ARRAY_UPDATE && !c->errors && !tile_check_within_task(c, x, v->indices, &why))
        tile_check_report(c, "E0907", v->span, "reads `%s` beyond its own cells: %s", x->name, why);
    else if (x->role == ARRAY_UPDATE && c->stored[x->id])
        tile_check_report(c, "E0907", v->span, "reads `%s` after writing it", x->name);
}

static bool payload_present(tile_checker *c, const tile_value *v) {
    const tile_kernel *k = c->k;
    switch (v->op) {
    case TILE_INDEX: return v->index != NULL;
    case TILE_SCALAR: return v->scalar && v->scalar->id < k->scalars.count && k->scalars.at[v->scalar->id] == v->scalar;
    case TILE_LOAD: return v->array && v->array->id < k->arrays.count && k->arrays.at[v->array->id] == v->array;
    case TILE_GET:
    case TILE_FIELD:
    case TILE_PARAM:
        return v->variable && v->variable->id < k->variables.count && k->variables.at[v->variable->id] == v->variable &&
               v->field >= 0 && v->field < v->variable->field_count && (v->op != TILE_GET || v->variable->field_count == 1);
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN: return v->range && v->range->id < k->ranges.count && k->ranges.at[v->range->id] == v->range;
    case TILE_INTRINSIC:
        for (int i = 0; i < k->intrinsics.count; i++)
            if (k->intrinsics.at[i] == v->intrinsic)
                return true;
        return false;
    case TILE_DOT:
        for (int i = 0; i < v->contract_count; i++)
            if (!v->contract[i] || v->contract[i]->id >= k->ranges.count || k->ranges.at[v->contract[i]->id] != v->contract[i])
                return false;
        return v->contract_count > 0;
    default: return true;
    }
}

void tile_check_value(tile_checker *c, const tile_value *v, int depth) {
    if (!v) {
        tile_check_report(c, "E0901", c->k->span, "a value is missing");
        return;
    }
    if (v->bound && v->id >= 0 && v->id < c->k->value_count && c->value_live[v->id])
        return;
    if (v->bound && c->joining == NULL && v->id < c->k->value_count && c->value_seen[v->id]) {
        tile_check_report(c, "E0906", v->span, "%%%d is used where its let does not reach", v->id);
        return;
    }
    if (depth > TILE_DEEPEST_VALUE) {
        tile_check_report(c, "E0901", v->span, "values nest too deeply");
        return;
    }
    if ((int)v->op < 0 || v->op >= TILE_OP_COUNT || v->id < 0 || v->id >= c->k->value_count || !tile_check_valid_type(v->type)) {
        tile_check_report(c, "E0901", v->span, "a value with a wrong operation, type or number");
        return;
    }
    if (c->by_id[v->id] && c->by_id[v->id] != v) {
        tile_check_report(c, "E0901", v->span, "two values are numbered %d", v->id);
        return;
    }
    c->by_id[v->id] = v;
    int wanted = v->op == TILE_LOAD        ? (v->has_outside ? 1 : 0)
                 : v->op == TILE_INTRINSIC ? (v->intrinsic ? intrinsic_operands(v->intrinsic) : -1)
                                           : tile_op_table[v->op].operands;
    if (v->operand_count != wanted || !payload_present(c, v)) {
        tile_check_report(c, "E0901", v->span, "%%%d = %s: wrong operands or payload", v->id, tile_op_table[v->op].name);
        return;
    }
    int errors = c->errors;
    for (int i = 0; i < v->operand_count; i++)
        tile_check_value(c, v->operands[i], depth + 1);
    if (c->errors > errors)
        return;
    if (c->joining &&
        (v->op == TILE_LOAD || v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_INDEX || v->op == TILE_SCALAR))
        tile_check_report(c, "E0909", v->span, "%%%d: a join works on its parameters and constants alone", v->id);
    if (v->op == TILE_PARAM && c->joining != v->variable)
        tile_check_report(c, "E0909", v->span, "%%%d: a parameter outside the join of its state", v->id);
    if ((v->op == TILE_GET || v->op == TILE_FIELD) && !c->variable_live[v->variable->id])
        tile_check_report(c, "E0906", v->span, "%%%d reads `%s` where it is not declared", v->id, v->variable->name);
    if (v->op == TILE_INDEX)
        tile_check_index(c, v->index, VARS_ALL, v->span, "an index value", depth + 1);
    if (v->op == TILE_LOAD)
        check_load(c, v, depth);
    if (v->op == TILE_DOT) {
        for (int i = 0; i < v->contract_count; i++) {
            if (!c->range_active[v->contract[i]->id])
                tile_check_report(c, "E0903", v->span, "%%%d sums over `%s` outside its loop", v->id, v->contract[i]->name);
            if (!tile_has_axis(v->operands[0], v->contract[i]) || !tile_has_axis(v->operands[1], v->contract[i]))
                tile_check_report(c, "E0904", v->span, "%%%d: both operands must vary over `%s`", v->id, v->contract[i]->name);
        }
    } else if (v->range && !c->range_active[v->range->id]) {
        tile_check_report(c, "E0903", v->span, "%%%d reduces over `%s` outside its loop", v->id, v->range->name);
    }
    for (int i = 0; i < v->axis_count; i++)
        if (!c->joining && !c->range_active[v->axes[i]->id])
            tile_check_report(c, "E0903", v->span, "%%%d varies over `%s` outside its loop", v->id, v->axes[i]->name);
    if (c->errors > errors)
        return;
    check_axes(c, v);
    check_types(c, v);
}
