/* Matrices of 8 x 8 that the lanes of a subgroup hold together: calls of the shim's functions and of AIR's become fragments.
 *
 * A matrix is a lane's own two elements everywhere else (which Metal calls thread_elements()): they lie in registers and arrays like any vector of two. Where
 * they still are the two views of one fragment, the next operation takes that fragment as it is; otherwise one is set from them. A fragment belongs to an
 * instruction, which is not run again before the last use of what it gave, so a view may be taken late.
 * AIR's <64 x T> stands for the same two: nothing takes it apart. */
#include "lift/delinearise.h"
#include "lift/lifter.h"
#include <string.h>

enum { SIDE = 8, OWN = 2, MATRIX_LANES = 32 };

typedef enum matrix_operation { MATRIX_LOAD, MATRIX_STORE, MATRIX_MULTIPLY, MATRIX_FILL, MATRIX_DIAGONAL } matrix_operation;

/* `unused`: the first operand of a product says nothing. */
static const struct {
    const char *name;
    matrix_operation operation;
    bool unused;
} operations[] = {{"simdgroup_matrix_load", MATRIX_LOAD, false},
                  {"simdgroup_matrix_store", MATRIX_STORE, false},
                  {"simdgroup_matrix_mma", MATRIX_MULTIPLY, true},
                  {"simdgroup_matrix_fill", MATRIX_FILL, false},
                  {"simdgroup_matrix_diagonal", MATRIX_DIAGONAL, false},
                  {"simdgroup_matrix_8x8_load", MATRIX_LOAD, false},
                  {"simdgroup_matrix_8x8_store", MATRIX_STORE, false},
                  {"simdgroup_matrix_8x8_multiply_accumulate", MATRIX_MULTIPLY, false},
                  {"simdgroup_matrix_8x8_init_filled", MATRIX_FILL, false},
                  {"simdgroup_matrix_8x8_init_diag", MATRIX_DIAGONAL, false}};

static int find_operation(const lift_value *v) {
    char name[64];
    if (v->op != LIFT_CALL || !v->callee || strncmp(v->callee, "air.", 4))
        return -1;
    lift_plain_name(v->callee, name, sizeof name);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].name, name))
            return (int)i;
    return -1;
}

bool lift_is_matrix_call(const lift_value *v) {
    return find_operation(v) >= 0;
}

int lift_own_elements(const lift_type *t) {
    bool floats = t->kind == LIFT_VECTOR &&
                  (t->element->kind == LIFT_FLOAT || t->element->kind == LIFT_HALF || t->element->kind == LIFT_BFLOAT);
    return floats && t->count == SIDE * SIDE ? OWN : (int)t->count;
}

static bool is_matrix_type(const lift_type *t) {
    return t->kind == LIFT_VECTOR && lift_own_elements(t) == OWN && lift_value_type(t->element) != ELEMENT_COUNT &&
           element_table[lift_value_type(t->element)].is_float;
}

enum { MOST_STEPS = 64 };

/* In which places of products a value is used, through what takes vectors apart, puts them together or carries them. */
static void find_roles(const lift_function *f, const lift_value *v, bool roles[3], const lift_value **seen, int *count) {
    for (int i = 0; i < *count; i++)
        if (seen[i] == v)
            return;
    if (*count == MOST_STEPS)
        return;
    seen[(*count)++] = v;
    const lift_values *users = lift_users(f, v);
    for (int i = 0; i < users->count; i++) {
        const lift_value *use = users->at[i];
        int what = find_operation(use);
        for (int n = 0; n < use->operand_count; n++) {
            if (use->operands[n] != v)
                continue;
            int place = what >= 0 && operations[what].operation == MATRIX_MULTIPLY ? n - operations[what].unused : -1;
            if (place >= 0 && place < 3)
                roles[place] = true;
            if (use->op == LIFT_EXTRACTELEMENT || use->op == LIFT_INSERTELEMENT || use->op == LIFT_PHI ||
                use->op == LIFT_EXTRACTVALUE || use->op == LIFT_INSERTVALUE)
                find_roles(f, use, roles, seen, count);
        }
    }
}

/* What a product takes it as; an accumulator where products take it in several places, or none does. */
static fragment_role role_of(const lift_function *f, const lift_value *v) {
    bool roles[3] = {false, false, false};
    const lift_value *seen[MOST_STEPS];
    int count = 0;
    find_roles(f, v, roles, seen, &count);
    return roles[0] && !roles[1] && !roles[2]   ? FRAGMENT_A
           : roles[1] && !roles[0] && !roles[2] ? FRAGMENT_B
                                                : FRAGMENT_ACCUMULATOR;
}

static kernel_fragment *new_fragment(lifter *l, const char *name, fragment_role role, element_type e) {
    kernel_fragment *f = kernel_add_fragment(l->k, lift_name(l, name, "matrix"), role, e, SIDE, SIDE, 1, LEVEL_SUBGROUP);
    f->span = lift_span(l, l->now);
    return f;
}

static kernel_stmt *append(lifter *l, kernel_stmt_kind kind, kernel_fragment *d) {
    kernel_stmt *s = kernel_append(l->k, l->at, kind, lift_span(l, l->now));
    s->fragments[0].fragment = d;
    l->statements++;
    return s;
}

static lifted value_of(lifter *l, kernel_fragment *f) {
    lifted r = {.kind = LIFTED_ELEMENTS, .count = OWN, .elements = NEW_ARRAY(l->arena, lifted, OWN)};
    for (int i = 0; i < OWN; i++) {
        kernel_value *v = NEW(l->arena, kernel_value);
        *v = (kernel_value){.op = KERNEL_LANE_VIEW,
                            .type = f->element,
                            .lanes = 1,
                            .fragment = f,
                            .index = ix_const(l->arena, i),
                            .span = lift_span(l, l->now)};
        r.elements[i] = lifted_value(element_table[f->element].block_bytes * 8, v);
    }
    return r;
}

static kernel_fragment *converted(lifter *l, kernel_fragment *f, fragment_role role, element_type e) {
    if (f->role == role && f->element == e)
        return f;
    kernel_fragment *to = new_fragment(l, f->name, role, e);
    append(l, KSTMT_FRAGMENT_CONVERT, to)->fragments[1].fragment = f;
    return to;
}

/* The fragment whose views these are; NULL: they are not all of one. */
static kernel_fragment *still_in(const lifted *x) {
    kernel_fragment *f = NULL;
    for (int i = 0; i < OWN; i++) {
        int64_t element;
        const kernel_value *v = x->elements[i].kind == LIFTED_VALUE ? x->elements[i].v : NULL;
        while (v && v->op == KERNEL_REF && v->let->kind == KSTMT_LET)
            v = v->let->value;
        if (!v || v->op != KERNEL_LANE_VIEW || (i && v->fragment != f) || !ix_is_const(v->index, &element) || element != i)
            return NULL;
        f = v->fragment;
    }
    return f;
}

static bool same_constant(lifter *l, const lifted *x, double *number) {
    for (int i = 0; i < OWN; i++) {
        kernel_value *v = x->elements[i].kind == LIFTED_VALUE ? lift_as_value(l, x->elements[i]) : NULL;
        while (v && v->op == KERNEL_CONVERT && element_table[v->operands[0]->type].is_float)
            v = v->operands[0];
        if (!v || v->op != KERNEL_CONST || (i && v->number != *number))
            return false;
        *number = v->number;
    }
    return true;
}

static kernel_value *number_of(lifter *l, element_type e, double number) {
    if (e == ELEMENT_BF16)
        return kernel_op1(l->k, KERNEL_CONVERT, e, kernel_const(l->k, ELEMENT_F32, 1, number));
    return kernel_const(l->k, e, 1, number);
}

/* A fragment of this role (-1: whichever) that holds the value, whose elements are of type `own`, as `e`. NULL after a failure. */
static kernel_fragment *fragment_of(lifter *l, const lift_value *v, int role, element_type own, element_type e) {
    lifted x = lift_operand(l, v);
    double number;
    if (lift_stopped(l))
        return NULL;
    kernel_fragment *f = x.kind == LIFTED_ELEMENTS && x.count >= OWN ? still_in(&x) : NULL;
    if (f)
        return converted(l, f, role < 0 ? f->role : (fragment_role)role, e);
    f = new_fragment(l, v->name ? v->name : "matrix", role < 0 ? FRAGMENT_ACCUMULATOR : (fragment_role)role, own);
    if (x.kind == LIFTED_ANY) /* nothing sets it, and to use it is an error */
        return converted(l, f, f->role, e);
    if (x.kind != LIFTED_ELEMENTS || x.count < OWN) {
        lift_fail(l, "E1128", l->now, "a matrix of a simdgroup that is no vector of two");
        return NULL;
    }
    if (same_constant(l, &x, &number)) {
        append(l, KSTMT_FRAGMENT_FILL, f)->value = number_of(l, own, number);
        return converted(l, f, f->role, e);
    }
    for (int i = 0; i < OWN; i++) {
        if (x.elements[i].kind == LIFTED_ANY)
            continue;
        kernel_value *element = lift_as_value(l, x.elements[i]);
        if (lift_stopped(l))
            return NULL;
        kernel_stmt *s = append(l, KSTMT_FRAGMENT_SET, f);
        s->element = ix_const(l->arena, i);
        s->value = element;
    }
    return converted(l, f, f->role, e);
}

/* ---- memory ---- */

/* The dimension that one step goes along, and how far in it: *step NULL is 1. */
static int direction(lifter *l, const kernel_array *array, index_expr *distance, index_expr **step) {
    arena *a = l->arena;
    index_expr *pitch = ix_const(a, 1), *own = lift_expanded(a, distance);
    int64_t n, unit;
    int last = array->rank - 1, found = last;
    *step = ix_is_const(distance, &n) && n == 1 ? NULL : distance;
    for (int d = last; d >= 0; d--) {
        if (ix_equal(lift_expanded(a, pitch), own)) {
            *step = NULL;
            return d;
        }
        if (ix_is_const(pitch, &unit) && ix_is_const(distance, &n) && unit > 0 && n % unit == 0) {
            found = d;
            *step = n == unit ? NULL : ix_const(a, n / unit);
        }
        pitch = ix_mul(a, pitch, array->dims[d]);
    }
    return found;
}

typedef struct moved_matrix {
    kernel_stmt_kind kind;
    kernel_fragment *fragment;
    const lift_type *type;
    index_expr *const *distances;
} moved_matrix;

static void transfer(lifter *l, kernel_stmt_kind kind, kernel_fragment *f, const lift_type *t, lifted pointer,
                     index_expr *const distances[2]);

static void transfer_side(lifter *l, lifted side, void *context) {
    const moved_matrix *m = context;
    transfer(l, m->kind, m->fragment, m->type, side, m->distances);
}

/* Element (row, column) lies at pointer + row * distances[0] + column * distances[1] elements. */
static void transfer(lifter *l, kernel_stmt_kind kind, kernel_fragment *f, const lift_type *t, lifted pointer,
                     index_expr *const distances[2]) {
    bool load = kind == KSTMT_FRAGMENT_LOAD;
    if (pointer.kind == LIFTED_EITHER) {
        moved_matrix m = {kind, f, t, distances};
        lift_on_both(l, &pointer, transfer_side, &m);
        return;
    }
    kernel_access access = lift_cell(l, t, pointer, !load, load);
    if (!access.array)
        return;
    if (access.array->space != SPACE_GLOBAL && access.array->space != SPACE_SHARED) {
        lift_fail(l, "E1125", l->now, "a matrix of a simdgroup in memory of one thread");
        return;
    }
    if (access.array->element != f->element) {
        lift_fail(l, "E1125", l->now, "a matrix of %s in `%s`, which holds %s", element_table[f->element].name,
                  access.array->name, element_table[access.array->element].name);
        return;
    }
    kernel_stmt *s = append(l, kind, f);
    s->access = access;
    s->row_dim = direction(l, access.array, distances[0], &s->row_step);
    s->column_dim = direction(l, access.array, distances[1], &s->column_step);
    if (s->row_dim == s->column_dim && !s->row_step && !s->column_step)
        s->row_step = s->column_step = ix_const(l->arena, 1);
}

static index_expr *whole(lifter *l, lifted x, bool is_signed) {
    x.bits = x.bits ? x.bits : 64;
    return x.kind == LIFTED_ANY ? ix_const(l->arena, 0) : lift_exact(l, x, is_signed);
}

static lifted part(lifter *l, lifted x, int i) {
    if (x.kind != LIFTED_ELEMENTS || i >= x.count) {
        lift_fail(l, "E1128", l->now, "a matrix's shape that is no vector of two");
        return (lifted){.kind = LIFTED_ANY};
    }
    return x.elements[i];
}

/* Where a load or store goes, by the operands behind `at`: the pointer, then elements a row, two numbers or a vector for the origin, and whether it is
 * turned round; or (AIR since 2.8) three vectors, extents, strides and origin, column first. */
static bool place(lifter *l, const lift_value *v, int at, const lift_type *t, lifted *pointer, index_expr *distances[2]) {
    int n = v->operand_count - at;
    arena *a = l->arena;
    lifted turned, origin[2], distance[2];
    *pointer = lift_operand(l, v->operands[at]);
    if (n == 4 && v->operands[at + 1]->type->kind == LIFT_VECTOR) {
        lifted strides = lift_operand(l, v->operands[at + 2]), from = lift_operand(l, v->operands[at + 3]);
        for (int i = 0; i < 2 && !lift_stopped(l); i++) {
            distance[i] = part(l, strides, i);
            origin[i] = part(l, from, i);
        }
        if (lift_stopped(l))
            return false;
        distances[0] = whole(l, distance[1], true);
        distances[1] = whole(l, distance[0], true);
    } else if (n == 5 || (n == 4 && v->operands[at + 2]->type->kind == LIFT_VECTOR)) {
        int64_t turn;
        lifted ahead = lift_operand(l, v->operands[at + 1]), from = lift_operand(l, v->operands[at + 2]);
        for (int i = 0; i < 2 && !lift_stopped(l); i++)
            origin[i] = n == 4 ? part(l, from, i) : i ? lift_operand(l, v->operands[at + 3]) : from;
        turned = lift_operand(l, v->operands[at + n - 1]);
        if (lift_stopped(l))
            return false;
        if (!lift_is_number(&turned, &turn)) {
            lift_fail(l, "E1128", v, "a matrix that is turned round or not by what is known at run time alone");
            return false;
        }
        distances[turn ? 1 : 0] = whole(l, ahead, false);
        distances[turn ? 0 : 1] = ix_const(a, 1);
    } else {
        lift_fail(l, "E1128", v, "`%s` with %d operands", v->callee, v->operand_count);
        return false;
    }
    if (lift_stopped(l) || pointer->kind != LIFTED_POINTER)
        return !lift_stopped(l);
    lifted moved = *pointer;
    moved.terms = NEW_ARRAY(a, pointer_term, pointer->term_count + OWN);
    if (pointer->term_count)
        memcpy(moved.terms, pointer->terms, sizeof *moved.terms * (size_t)pointer->term_count);
    for (int i = 0; i < 2 && !lift_stopped(l); i++) {
        int64_t zero;
        index_expr *by = ix_mul(a, whole(l, origin[i], true), distances[i ? 0 : 1]);
        if (!ix_is_const(by, &zero) || zero)
            moved.terms[moved.term_count++] = (pointer_term){by, t->size, 0};
    }
    *pointer = moved;
    return !lift_stopped(l);
}

/* ---- the calls ---- */

static void multiply(lifter *l, const lift_value *v, int from) {
    kernel_fragment *f[3];
    element_type types[3], sum = lift_value_type(v->type->element);
    for (int i = 0; i < 3; i++) {
        const lift_type *t = v->operands[from + i]->type;
        if (!is_matrix_type(t)) {
            lift_fail(l, "E1128", v, "a product of %s", t->text);
            return;
        }
        types[i] = lift_value_type(t->element);
    }
    element_type operand = types[0] == types[1] ? types[0] : ELEMENT_F32; /* which holds every value of the others */
    for (int i = 0; i < 3; i++)
        if (!(f[i] = fragment_of(l, v->operands[from + i], i, types[i], i < 2 ? operand : sum)))
            return;
    kernel_fragment *d = new_fragment(l, v->name, FRAGMENT_ACCUMULATOR, sum);
    kernel_stmt *s = append(l, KSTMT_FRAGMENT_MMA, d);
    for (int i = 0; i < 3; i++)
        s->fragments[i + 1].fragment = f[i];
    l->env[v->id] = value_of(l, d);
}

static void fill(lifter *l, const lift_value *v, fragment_role role, bool diagonal) {
    element_type e = lift_value_type(v->type->element);
    lifted x = lift_operand(l, v->operands[0]);
    if (lift_stopped(l))
        return;
    kernel_value *number = x.kind == LIFTED_ANY ? number_of(l, e, 0) : lift_as_value(l, x);
    if (lift_stopped(l))
        return;
    kernel_fragment *d = new_fragment(l, v->name, role, e);
    kernel_stmt *s = append(l, diagonal ? KSTMT_FRAGMENT_MAP : KSTMT_FRAGMENT_FILL, d);
    s->value = number;
    if (diagonal) {
        kernel_ir *k = l->k;
        for (int i = 0; i < 2; i++) {
            index_var *var = kernel_new_var(k, i ? "column" : "row", INDEX_LOOP);
            var->owner = s;
            var->lo = ix_const(l->arena, 0);
            var->hi = ix_const(l->arena, SIDE - 1);
            *(i ? &s->column : &s->row) = var;
        }
        kernel_value *row = kernel_index(k, ix_var(l->arena, s->row)), *column = kernel_index(k, ix_var(l->arena, s->column));
        s->value =
            kernel_op3(k, KERNEL_SELECT, e, kernel_op2(k, KERNEL_EQ, ELEMENT_BOOL, row, column), number, number_of(l, e, 0));
    }
    l->env[v->id] = value_of(l, d);
}

bool lift_matrix_call(lifter *l, const lift_value *v) {
    int what = find_operation(v);
    if (what < 0)
        return false;
    matrix_operation operation = operations[what].operation;
    bool stores = operation == MATRIX_STORE;
    int first = operations[what].unused ? 1 : 0, needs = operation == MATRIX_LOAD || stores ? 4 + stores
                                                         : operation == MATRIX_MULTIPLY     ? 3 + first
                                                                                            : 1;
    const lift_type *t = stores && v->operand_count ? v->operands[0]->type : v->type;
    if (v->operand_count < needs || !is_matrix_type(t)) {
        lift_fail(l, "E1128", v, "`%s` of %s with %d operands", v->callee, t->text, v->operand_count);
        return true;
    }
    if (l->lanes != MATRIX_LANES || l->k->levels.count < 2) {
        lift_fail(l, "E1128", v, "matrices of a simdgroup are held by %d lanes: --block, --subgroup", MATRIX_LANES);
        return true;
    }
    lifted pointer;
    index_expr *distances[2];
    element_type e = lift_value_type(t->element);
    switch (operation) {
    case MATRIX_LOAD:
        if (place(l, v, 0, t->element, &pointer, distances)) {
            kernel_fragment *d = new_fragment(l, v->name, role_of(l->function, v), e);
            transfer(l, KSTMT_FRAGMENT_LOAD, d, t->element, pointer, distances);
            l->env[v->id] = value_of(l, d);
        }
        break;
    case MATRIX_STORE: {
        kernel_fragment *f = fragment_of(l, v->operands[0], -1, e, e);
        if (f && place(l, v, 1, t->element, &pointer, distances))
            transfer(l, KSTMT_FRAGMENT_STORE, f, t->element, pointer, distances);
        break;
    }
    case MATRIX_MULTIPLY: multiply(l, v, first); break;
    case MATRIX_FILL:
    case MATRIX_DIAGONAL: fill(l, v, role_of(l->function, v), operation == MATRIX_DIAGONAL); break;
    }
    return true;
}
