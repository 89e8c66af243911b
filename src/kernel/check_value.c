/* kernel_check: accesses and values. */
#include "kernel/check_parts.h"
#include <math.h>
#include <string.h>

static const source_span here = {0}; /* check_fail takes the statement's place */

static bool knows_array(const checker *c, const kernel_array *a) {
    for (int i = 0; i < c->k->arrays.count; i++)
        if (c->k->arrays.at[i] == a)
            return true;
    return false;
}

static void check_use(checker *c, const kernel_array *a, access_use use) {
    bool reads = use == ACCESS_READ || use == ACCESS_UPDATE, writes = use == ACCESS_WRITE || use == ACCESS_UPDATE;
    if ((a->space == SPACE_GHOST) != (use == ACCESS_CONSUME))
        check_fail(c, "E0940", here,
                   a->space == SPACE_GHOST ? "`%s` is a ghost: it can only be consumed"
                                           : "`%s` is memory: only ghosts are consumed",
                   a->name);
    if (writes && a->use == USE_IN)
        check_fail(c, "E0940", here, "`%s` is an input and is written", a->name);
    if (reads && a->use == USE_OUT)
        check_fail(c, "E0940", here, "`%s` is an output and is read; an `update` may be", a->name);
    if (writes && element_table[a->element].block_elements > 1)
        check_fail(c, "E0940", here, "`%s` holds %s, which cannot be stored", a->name, element_table[a->element].name);
}

/* An aligned vector: lanes side by side in memory whose base is known to be aligned. Its offset is the prover's. */
static void check_aligned(checker *c, const kernel_access *a, int lanes, int along) {
    const kernel_array *array = a->array, *root = array;
    const kernel_layout *l = &array->layout;
    int64_t stride = 0, offset = array->view_of ? array->view_offset : 0;
    if (lanes < 2 || (lanes & (lanes - 1)) || along != array->rank - 1 || element_table[array->element].block_elements > 1) {
        check_fail(c, "E0939", here, "an aligned access to `%s` must be a vector of 2, 4, 8, .. lanes along its last dimension",
                   array->name);
        return;
    }
    bool side_by_side =
        l->kind == LAYOUT_ROW || l->kind == LAYOUT_PAD ||
        (l->kind == LAYOUT_STRIDES && l->strides && ix_is_const(l->strides[array->rank - 1], &stride) && stride == 1) ||
        (l->kind == LAYOUT_BOX && l->box && lanes == kernel_aligned_lanes(array, lanes) && l->box[array->rank - 1] % lanes == 0 &&
         kernel_swizzle_run(l) % lanes == 0);
    if (!side_by_side)
        check_fail(c, "E0939", here, "an aligned access to `%s`, whose layout may part the lanes", array->name);
    while (root->view_of)
        root = root->view_of;
    int bytes = kernel_aligned_lanes(array, lanes) * element_table[array->element].block_bytes;
    int known = root->alignment ? root->alignment : element_table[root->element].block_bytes;
    if (known % bytes || offset % bytes)
        check_fail(c, "E0939", here,
                   "an aligned access to `%s` takes %d bytes, of which its base is not known to be a multiple (`align %d`)",
                   array->name, bytes, bytes);
}

bool check_access(checker *c, const kernel_access *a, access_use use) {
    if (!a->array || !knows_array(c, a->array)) {
        check_fail(c, "E0938", here, "an access to no array of this kernel");
        return false;
    }
    const kernel_array *array = a->array;
    if (array->rank && !a->indices) {
        check_fail(c, "E0938", here, "an access to `%s` without indices", array->name);
        return false;
    }
    check_use(c, array, use);
    for (int i = 0; i < array->rank; i++) {
        check_index(c, a->indices[i], INDEX_ANYWHERE, LEVEL_TASK, "an index");
        if (array->space == SPACE_REGISTER && a->indices[i] && !check_is_settled(c, a->indices[i]))
            check_fail(c, "E0941", here, "`%s` lies in registers, but its index is not constant after unrolling", array->name);
    }
    if (array->lanes > 1) {
        if (a->lanes != array->lanes || a->vector_dim != -1)
            check_fail(c, "E0939", here, "the cells of `%s` are vectors of %d: they are accessed whole (vector_dim -1)",
                       array->name, array->lanes);
    } else if (a->lanes < 1 || a->lanes > 4096) {
        check_fail(c, "E0939", here, "an access to `%s` with %d lanes", array->name, a->lanes);
    } else if (a->lanes > 1 && (a->vector_dim < 0 || a->vector_dim >= array->rank)) {
        check_fail(c, "E0939", here, "%d lanes along dimension %d of `%s`, which has %d", a->lanes, a->vector_dim, array->name,
                   array->rank);
    } else if (a->lanes > 1 && array->space == SPACE_REGISTER) {
        check_fail(c, "E0939", here, "`%s` lies in registers as scalars and is accessed as a vector", array->name);
    }
    if (a->aligned && !c->transfer)
        check_aligned(c, a, a->lanes, a->vector_dim);
    if (a->aligned && c->transfer) /* of a fragment's rows */
        check_aligned(c, a, kernel_row_lanes(c->transfer), array->rank - 1);
    if (a->active) {
        check_index(c, a->active, INDEX_ANYWHERE, LEVEL_TASK, "a mask");
        if (a->lanes == 1 && !(c->map && use == ACCESS_READ)) /* in a map no condition can stand around it */
            check_fail(c, "E0939", here, "a mask on a scalar access to `%s`", array->name);
    }
    return true;
}

bool check_cell(checker *c, const kernel_access *a, access_use use) {
    if (!check_access(c, a, use))
        return false;
    if (a->lanes != 1 || a->active)
        check_fail(c, "E0939", here, "`%s` is accessed with lanes where a first cell is meant", a->array->name);
    return true;
}

static bool is_float(element_type t) {
    return t == ELEMENT_F32 || t == ELEMENT_F16;
}

static bool is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX;
}

static bool is_block(element_type t) {
    return element_table[t].block_elements > 1;
}

static void check_const(checker *c, const kernel_value *v) {
    double lowest = 0, highest = 0;
    switch (v->type) {
    case ELEMENT_F32:
    case ELEMENT_F16: return;
    case ELEMENT_BOOL: highest = 1; break;
    case ELEMENT_I32: lowest = -2147483648.0, highest = 2147483647.0; break;
    case ELEMENT_U32: highest = 4294967295.0; break;
    case ELEMENT_INDEX: lowest = -9007199254740992.0, highest = 9007199254740992.0; break;
    default:
        check_fail(c, "E0946", v->span, "a constant of the storage type %s; convert one", element_table[v->type].name);
        return;
    }
    if (!(v->number >= lowest && v->number <= highest) || v->number != floor(v->number))
        check_fail(c, "E0946", v->span, "%g is no constant of type %s", v->number, element_table[v->type].name);
}

static void check_convert(checker *c, const kernel_value *v) {
    element_type from = v->operands[0]->type, to = v->type;
    const char *name = element_table[to].name, *source = element_table[from].name;
    bool to_fp8 = to == ELEMENT_E4M3 || to == ELEMENT_E5M2;
    if (v->op == KERNEL_BITCAST) {
        if (is_block(from) || is_block(to) || from == ELEMENT_BOOL || to == ELEMENT_BOOL || from == ELEMENT_INDEX ||
            to == ELEMENT_INDEX || element_table[from].block_bytes != element_table[to].block_bytes)
            check_fail(c, "E0945", v->span, "the bits of %s are not those of a %s", source, name);
        return;
    }
    if (is_block(to) || to == ELEMENT_BOOL)
        check_fail(c, "E0945", v->span, "nothing converts to %s", name);
    bool memory = to == ELEMENT_U16 || to == ELEMENT_I64;
    if (memory && (element_table[from].is_float || from == ELEMENT_BOOL))
        check_fail(c, "E0945", v->span, "%s does not convert to %s directly", source, name);
    if ((from == ELEMENT_INDEX || to == ELEMENT_INDEX) &&
        (element_table[from].is_float || (element_table[to].is_float && to != ELEMENT_F32)))
        check_fail(c, "E0945", v->span, "%s does not convert to %s directly", source, name);
    if (to_fp8 && !element_table[from].is_float)
        check_fail(c, "E0945", v->span, "%s does not convert to %s directly", source, name);
    if (v->saturate && !to_fp8)
        check_fail(c, "E0945", v->span, "a saturating conversion to %s: only fp8 has modes", name);
}

static void want(checker *c, const kernel_value *v, bool ok, const char *kinds) {
    if (!ok)
        check_fail(c, "E0944", v->span, "`%s` of %s: it takes %s", kernel_op_table[v->op].name,
                   element_table[v->operands[0]->type].name, kinds);
}

/* Operand `i` has operand `first`'s type. */
static void same_type(checker *c, const kernel_value *v, int first, int i) {
    element_type x = v->operands[first]->type, y = v->operands[i]->type;
    if (x != y)
        check_fail(c, "E0944", v->span, "`%s` of %s and %s", kernel_op_table[v->op].name, element_table[x].name,
                   element_table[y].name);
}

static void result(checker *c, const kernel_value *v, element_type type, int lanes) {
    if (v->type != type)
        check_fail(c, "E0944", v->span, "`%s` gives %s, but is marked %s", kernel_op_table[v->op].name, element_table[type].name,
                   element_table[v->type].name);
    if (v->lanes != lanes)
        check_fail(c, "E0943", v->span, "`%s` gives %d lanes, but is marked %d", kernel_op_table[v->op].name, lanes, v->lanes);
}

static void same_lanes(checker *c, const kernel_value *v) {
    for (int i = 1; i < v->operand_count; i++)
        if (v->operands[i]->lanes != v->operands[0]->lanes)
            check_fail(c, "E0943", v->span, "`%s` of %d and %d lanes; a scalar is broadcast explicitly",
                       kernel_op_table[v->op].name, v->operands[0]->lanes, v->operands[i]->lanes);
}

/* Types by operand class: what an op takes, and what it gives. */
static void check_arithmetic(checker *c, const kernel_value *v) {
    element_type t = v->operands[0]->type, gives = t;
    bool number = is_float(t) || is_integer(t);
    same_lanes(c, v);
    switch (v->op) {
    case KERNEL_NEG:
    case KERNEL_ABS: want(c, v, number, "f32, f16, i32, u32 or index"); break;
    case KERNEL_FLOOR:
    case KERNEL_RINT:
    case KERNEL_SQRT: want(c, v, is_float(t), "f32 or f16"); break;
    case KERNEL_NOT: want(c, v, t == ELEMENT_BOOL, "bool"); break;
    case KERNEL_AND:
    case KERNEL_OR:
        want(c, v, t == ELEMENT_BOOL, "bool");
        same_type(c, v, 0, 1);
        break;
    case KERNEL_DIV:
        want(c, v, is_float(t), "f32 or f16");
        same_type(c, v, 0, 1);
        break;
    case KERNEL_FMA:
        want(c, v, is_float(t), "f32 or f16");
        same_type(c, v, 0, 1);
        same_type(c, v, 0, 2);
        break;
    case KERNEL_LT:
    case KERNEL_LE:
    case KERNEL_EQ:
    case KERNEL_NE:
        want(c, v, number || (t == ELEMENT_BOOL && (v->op == KERNEL_EQ || v->op == KERNEL_NE)), "f32, f16, i32, u32 or index");
        same_type(c, v, 0, 1);
        gives = ELEMENT_BOOL;
        break;
    case KERNEL_SELECT:
        want(c, v, t == ELEMENT_BOOL, "bool first");
        same_type(c, v, 1, 2);
        gives = v->operands[1]->type;
        if (is_block(gives))
            check_fail(c, "E0944", v->span, "`select` of %s; convert first", element_table[gives].name);
        break;
    case KERNEL_SHL:
    case KERNEL_SHR:
    case KERNEL_BIT_AND:
    case KERNEL_BIT_OR:
    case KERNEL_BIT_XOR:
        want(c, v, is_integer(t), "i32, u32 or index");
        same_type(c, v, 0, 1);
        break;
    case KERNEL_ADD:
    case KERNEL_SUB:
    case KERNEL_MUL:
    case KERNEL_MIN:
    case KERNEL_MAX:
        want(c, v, number, "f32, f16, i32, u32 or index");
        same_type(c, v, 0, 1);
        break;
    default: want(c, v, t == ELEMENT_F32, "f32"); break; /* math */
    }
    result(c, v, gives, v->operands[0]->lanes);
}

static void check_vector(checker *c, const kernel_value *v) {
    element_type t = v->operand_count ? v->operands[0]->type : v->type;
    int lanes = v->operand_count ? v->operands[0]->lanes : v->lanes;
    switch (v->op) {
    case KERNEL_BROADCAST:
        if (lanes != 1 || v->lanes < 2)
            check_fail(c, "E0943", v->span, "`broadcast` of %d lanes to %d", lanes, v->lanes);
        if (is_block(t))
            check_fail(c, "E0944", v->span, "`broadcast` of %s; convert first", element_table[t].name);
        result(c, v, t, v->lanes);
        break;
    case KERNEL_IOTA:
        if (v->type != ELEMENT_I32 || v->lanes < 2)
            check_fail(c, "E0943", v->span, "`iota` is a vector of i32");
        break;
    case KERNEL_PREFIX_SELECT:
        same_lanes(c, v);
        same_type(c, v, 0, 1);
        check_index(c, v->index, INDEX_ANYWHERE, LEVEL_TASK, "the count of `prefix_select`");
        if (lanes < 2)
            check_fail(c, "E0943", v->span, "`prefix_select` of scalars");
        result(c, v, t, lanes);
        break;
    default:
        want(c, v, is_float(t) || is_integer(t), "f32, f16, i32, u32 or index");
        if (lanes < 2)
            check_fail(c, "E0943", v->span, "`%s` of a scalar", kernel_op_table[v->op].name);
        result(c, v, t, 1);
        break;
    }
}

static void check_subgroup(checker *c, const kernel_value *v) {
    element_type t = v->operands[0]->type;
    if (!check_has_level(c, LEVEL_LANE))
        check_fail(c, "E0948", v->span, "`%s` in a kernel without lanes", kernel_op_table[v->op].name);
    want(c, v, is_float(t) || t == ELEMENT_I32 || t == ELEMENT_U32, "f32, f16, i32 or u32");
    if (v->operand_count == 2 && (!is_integer(v->operands[1]->type) || v->operands[1]->lanes != 1))
        check_fail(c, "E0944", v->span, "`%s`: the lane is a scalar integer", kernel_op_table[v->op].name);
    result(c, v, t, v->operands[0]->lanes);
}

static bool same_layout(const kernel_fragment *f, const kernel_fragment *g) {
    return f->role == g->role && f->rows == g->rows && f->columns == g->columns && f->holder == g->holder;
}

static void check_fragment_value(checker *c, const kernel_value *v) {
    const kernel_fragment *d = c->map ? c->map->fragments[0].fragment : NULL;
    if (v->op == KERNEL_LANE_VIEW) {
        if (check_fragment_ref(c, v->fragment, v->fragment_index))
            result(c, v, v->fragment->element, 1);
        check_index(c, v->index, INDEX_ANYWHERE, LEVEL_TASK, "the lane's element");
        return;
    }
    if (!d) {
        check_fail(c, "E0959", v->span, "`%s` outside a fragment_map", kernel_op_table[v->op].name);
        return;
    }
    if (v->op == KERNEL_FRAGMENT_ELEMENT) {
        if (!check_fragment_ref(c, v->fragment, v->fragment_index))
            return;
        if (!same_layout(v->fragment, d))
            check_fail(c, "E0959", v->span,
                       "`%s` and `%s` differ in role or shape, so no element of one is at the place of the other's",
                       v->fragment->name, d->name);
        result(c, v, v->fragment->element, 1);
        return;
    }
    bool rows = v->op == KERNEL_FRAGMENT_ROW;
    const kernel_value *x = v->operands[0];
    if (x->op != KERNEL_FRAGMENT_ELEMENT || !x->fragment) {
        check_fail(c, "E0959", v->span, "`%s` takes element(...) of such a vector", kernel_op_table[v->op].name);
        return;
    }
    const kernel_fragment *f = x->fragment;
    check_fragment_ref(c, f, x->fragment_index);
    if (f->role != (rows ? FRAGMENT_ROW_VECTOR : FRAGMENT_COLUMN_VECTOR) ||
        (rows ? f->rows != d->rows : f->columns != d->columns) || f->holder != d->holder)
        check_fail(c, "E0959", v->span, "`%s` is no %s of `%s`", f->name, kernel_op_table[v->op].name, d->name);
    result(c, v, x->type, 1);
}

static void check_leaf(checker *c, const kernel_value *v) {
    switch (v->op) {
    case KERNEL_CONST: check_const(c, v); break;
    case KERNEL_INDEX:
        check_index(c, v->index, INDEX_ANYWHERE, LEVEL_TASK, "an integer value");
        result(c, v, ELEMENT_INDEX, 1);
        break;
    case KERNEL_SCALAR: {
        const kernel_scalar *s = NULL;
        for (int i = 0; i < c->k->scalars.count && v->scalar; i++)
            if (!strcmp(c->k->scalars.at[i].name, v->scalar))
                s = &c->k->scalars.at[i];
        if (!s)
            check_fail(c, "E0947", v->span, "there is no launch scalar `%s`", v->scalar ? v->scalar : "(none)");
        else
            result(c, v, s->type, 1);
        break;
    }
    case KERNEL_REF: {
        const kernel_scope_entry *e = v->let && v->let->name ? kernel_scope_find(&c->names, v->let->name) : NULL;
        if (!e || e->object != v->let || !v->let->value)
            check_fail(c, "E0937", v->span, "`%s` is used where it is not in scope",
                       v->let && v->let->name ? v->let->name : "(none)");
        else
            result(c, v, v->let->value->type, v->let->value->lanes);
        break;
    }
    default: break;
    }
}

static void check_value_at(checker *c, const kernel_value *v, int depth) {
    if (!v) {
        check_fail(c, "E0942", here, "a value is missing");
        return;
    }
    if (depth > CHECK_VALUE_DEPTH) {
        check_fail(c, "E0963", v->span, "a value is nested deeper than %d", CHECK_VALUE_DEPTH);
        return;
    }
    if (v->op < 0 || v->op >= KERNEL_OP_COUNT) {
        check_fail(c, "E0942", v->span, "there is no op %d", (int)v->op);
        return;
    }
    const kernel_op_info *info = &kernel_op_table[v->op];
    if (!strcmp(info->kind, "atomic")) {
        check_fail(c, "E0942", v->span, "`%s` is no value: an atomic alone makes it", info->name);
        return;
    }
    if (v->operand_count != info->operands) {
        check_fail(c, "E0942", v->span, "`%s` has %d operands, it takes %d", info->name, v->operand_count, info->operands);
        return;
    }
    bool of_vector = v->op == KERNEL_FRAGMENT_ROW || v->op == KERNEL_FRAGMENT_COLUMN; /* judges its operand itself */
    for (int i = 0; i < v->operand_count; i++) {
        if (!v->operands[i]) {
            check_fail(c, "E0942", v->span, "operand %d of `%s` is missing", i, info->name);
            return;
        }
        if (!of_vector)
            check_value_at(c, v->operands[i], depth + 1);
    }
    if (v->lanes < 1 || v->lanes > 4096)
        check_fail(c, "E0943", v->span, "`%s` with %d lanes", info->name, v->lanes);
    if (v->op == KERNEL_LOAD) {
        if (check_access(c, &v->access, ACCESS_READ))
            result(c, v, v->access.array->element, v->access.lanes);
    } else if (!strcmp(info->kind, "leaf")) {
        check_leaf(c, v);
    } else if (!strcmp(info->kind, "vector")) {
        check_vector(c, v);
    } else if (!strcmp(info->kind, "convert")) {
        check_convert(c, v);
        if (v->lanes != v->operands[0]->lanes)
            check_fail(c, "E0943", v->span, "`%s` changes the lanes from %d to %d", info->name, v->operands[0]->lanes, v->lanes);
    } else if (!strcmp(info->kind, "subgroup")) {
        check_subgroup(c, v);
    } else if (!strcmp(info->kind, "fragment")) {
        check_fragment_value(c, v);
    } else {
        check_arithmetic(c, v);
    }
}

void check_value(checker *c, const kernel_value *v) {
    check_value_at(c, v, 0);
}

void check_value_is(checker *c, const kernel_value *v, element_type type, int lanes, const char *what) {
    check_value(c, v);
    if (!v)
        return;
    if (v->type != type)
        check_fail(c, "E0949", here, "%s takes %s, the value is %s", what, element_table[type].name, element_table[v->type].name);
    if (v->lanes != lanes)
        check_fail(c, "E0949", here, "%s takes %d lane%s, the value has %d", what, lanes, lanes == 1 ? "" : "s", v->lanes);
}
