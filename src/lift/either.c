/* Pointers that lead into one of several arrays: a condition and both pointers. What is done with one is done under its condition, so every access stays one to a
 * single array. What a branch chooses of two values that are known where it stands is decided there. */
#include "lift/lifter.h"

enum { MOST_COMPUTED = 8 };

static bool is_pointer(const lifted *x) {
    return x->kind == LIFTED_POINTER || x->kind == LIFTED_EITHER;
}

lifted lift_either(lifter *l, const lift_value *v, lifted c, lifted x, lifted y) {
    int64_t n;
    if (lift_is_number(&c, &n))
        return n ? x : y;
    if (x.kind == LIFTED_ANY || y.kind == LIFTED_ANY)
        return x.kind == LIFTED_ANY ? y : x;
    if (!is_pointer(&x) || !is_pointer(&y)) {
        lift_fail(l, "E1125", v, "a pointer that is not one into an array");
        return x;
    }
    if (x.kind == LIFTED_POINTER && y.kind == LIFTED_POINTER && x.object == y.object) { /* it is their distance that is chosen */
        int64_t unit = lift_unit_with(lift_unit_with(0, 1, x), 1, y);
        unit = unit ? unit : 1;
        index_expr *p = lift_elements(l, x, unit), *q = lift_elements(l, y, unit);
        if (!p || !q) {
            unit = 1;
            p = lift_pointer_bytes(l, x);
            q = lift_pointer_bytes(l, y);
        }
        lifted r = lift_select(l, c, lifted_index(64, p), lifted_index(64, q), &(lift_type){.kind = LIFT_INTEGER, .bits = 64});
        return lift_pointer_at(l, x.object, lift_as_index(l, r), unit);
    }
    lifted r = {.kind = LIFTED_EITHER, .bits = 64, .count = 2, .elements = NEW_ARRAY(l->arena, lifted, 3)};
    if (c.kind == LIFTED_VALUE && c.v->op != KERNEL_REF) /* it is asked at each access */
        c.v = kernel_ref(l->k, lift_let(l, "first", c.v));
    r.elements[0] = x;
    r.elements[1] = y;
    r.elements[2] = c;
    return r;
}

lifted lift_either_side(const lifted *p, int side) {
    lifted x = p->elements[side];
    x.offset += p->offset;
    return x;
}

void lift_on_both(lifter *l, const lifted *p, void (*each)(lifter *l, lifted side, void *context), void *context) {
    kernel_block *into[2], *before = l->at;
    lift_branch(l, p->elements[2], &into[0], &into[1]);
    for (int i = 0; i < 2 && !lift_stopped(l); i++) {
        l->at = into[i];
        each(l, lift_either_side(p, i), context);
    }
    l->at = before;
}

typedef struct one_load {
    const lift_value *v;
    const lift_type *type;
    kernel_array *into;
} one_load;

static void load_side(lifter *l, lifted side, void *context) {
    const one_load *o = context;
    lifted x = lift_load(l, o->v, o->type, side);
    if (!lift_stopped(l))
        x.v = lift_as_value(l, x);
    if (!lift_stopped(l))
        kernel_store(l->k, l->at, kernel_at(l->k, o->into, NULL), x.v, lift_span(l, l->now));
}

lifted lift_either_load(lifter *l, const lift_value *v, const lift_type *t, lifted p) {
    element_type e = lift_value_type(t);
    if (e == ELEMENT_COUNT) {
        lift_fail(l, "E1125", v, "%s, read through a pointer into one of several arrays", t->text);
        return (lifted){.kind = LIFTED_ANY};
    }
    one_load o = {v, t, lift_register(l, "read", e)};
    lift_on_both(l, &p, load_side, &o);
    if (lift_stopped(l))
        return (lifted){.kind = LIFTED_ANY};
    kernel_stmt *let = lift_let(l, *v->name ? v->name : "read", kernel_load(l->k, kernel_at(l->k, o.into, NULL)));
    if (let->var)
        return lifted_index(t->bits, ix_var(l->arena, let->var));
    return lifted_value(t->kind == LIFT_INTEGER ? t->bits : (int)t->size * 8, kernel_ref(l->k, let));
}

typedef struct one_store {
    const lift_type *type;
    lifted x;
} one_store;

static void store_side(lifter *l, lifted side, void *context) {
    const one_store *o = context;
    lift_store(l, o->type, side, o->x);
}

void lift_either_store(lifter *l, const lift_type *t, lifted p, lifted x) {
    one_store o = {t, x};
    lift_on_both(l, &p, store_side, &o);
}

static lift_predicate turned(lift_predicate p) {
    switch (p) {
    case LIFT_UGT: return LIFT_ULT;
    case LIFT_UGE: return LIFT_ULE;
    case LIFT_ULT: return LIFT_UGT;
    case LIFT_ULE: return LIFT_UGE;
    default: return p;
    }
}

lifted lift_compare_pointers(lifter *l, const lift_value *v, lift_predicate p, lifted x, lifted y) {
    if (x.kind == LIFTED_EITHER || y.kind == LIFTED_EITHER) {
        lifted of[2], *either = x.kind == LIFTED_EITHER ? &x : &y;
        for (int i = 0; i < 2; i++)
            of[i] = either == &x ? lift_compare_pointers(l, v, p, lift_either_side(&x, i), y)
                                 : lift_compare_pointers(l, v, p, x, lift_either_side(&y, i));
        if (lift_stopped(l))
            return of[0];
        return lift_select(l, either->elements[2], of[0], of[1], &(lift_type){.kind = LIFT_INTEGER, .bits = 1});
    }
    if (x.kind == LIFTED_POINTER && y.kind == LIFTED_POINTER && x.object != y.object) {
        if (x.object->nothing && !y.object->nothing)
            return lift_compare_pointers(l, v, turned(p), y, x);
        if (y.object->nothing && !y.term_count && !y.offset) { /* null is no place in any memory, and before all of them */
            if (p == LIFT_EQ || p == LIFT_ULT || p == LIFT_ULE)
                return lifted_number(l, 1, 0);
            if (p == LIFT_NE || p == LIFT_UGT || p == LIFT_UGE)
                return lifted_number(l, 1, 1);
        } else if (!y.object->nothing && (p == LIFT_EQ || p == LIFT_NE)) { /* arrays are apart: places in them differ */
            return lifted_number(l, 1, p == LIFT_NE);
        }
    }
    if (x.kind != LIFTED_POINTER || y.kind != LIFTED_POINTER || x.object != y.object) {
        lift_fail(l, "E1125", v, "pointers into different arrays, or null, are compared");
        return (lifted){.kind = LIFTED_ANY};
    }
    return lift_compare(l, v, p, lifted_index(64, lift_pointer_bytes(l, x)), lifted_index(64, lift_pointer_bytes(l, y)), 64);
}

/* Known at b's end whatever comes after it: what is no instruction, or stands where every way to b has come by. */
static bool ready(const lifter *l, const lift_value *x, const lift_block *b) {
    return x && (x->kind != LIFT_INSTRUCTION || (x->id >= 0 && flow_dominates(l->flow, x->block, b)));
}

/* A pointer that is the same wherever it is made: what is cast on the way is known before. */
static const lift_value *without_casts(const lift_value *x) {
    while (x && x->kind == LIFT_INSTRUCTION && x->id >= 0 && (x->op == LIFT_ADDRSPACECAST || x->op == LIFT_BITCAST))
        x = x->operands[0];
    return x;
}

static bool is_settled(const lifter *l, const lift_value *x, const lift_block *b) {
    x = without_casts(x);
    return ready(l, x, b) || (x && lift_gives_any_pointer(l, x));
}

static lifted settled(lifter *l, const lift_value *x) {
    x = without_casts(x);
    return lift_gives_any_pointer(l, x) ? lift_null(l, x) : lift_operand(l, x);
}

/* The same, or made of that by arithmetic alone: computed at once, it is what it would be on its way. */
static bool can_compute(const lifter *l, const lift_value *v, const lift_block *b, int nesting) {
    if (ready(l, v, b))
        return true;
    if (!v || nesting > MOST_COMPUTED || v->id < 0)
        return false;
    switch (v->op) {
    case LIFT_ADD:
    case LIFT_SUB:
    case LIFT_MUL:
    case LIFT_TRUNC:
    case LIFT_ZEXT:
    case LIFT_SEXT:
    case LIFT_GEP: break;
    case LIFT_LOAD:
        if (!lift_is_parameter_load(l, v))
            return false;
        break;
    default: return false;
    }
    for (int i = 0; i < v->operand_count; i++)
        if (!can_compute(l, v->operands[i], b, nesting + 1))
            return false;
    for (int i = 0; i < v->step_count; i++)
        if (!can_compute(l, v->steps[i].index, b, nesting + 1))
            return false;
    return true;
}

static lifted computed(lifter *l, const lift_value *v, const lift_block *b) {
    if (ready(l, v, b))
        return lift_operand(l, v);
    for (int i = 0; i < v->operand_count + v->step_count; i++) {
        const lift_value *part = i < v->operand_count ? v->operands[i] : v->steps[i - v->operand_count].index;
        if (!ready(l, part, b))
            l->env[part->id] = computed(l, part, b);
    }
    l->now = v;
    return v->op == LIFT_LOAD ? lift_load(l, v, v->type, lift_operand(l, v->operands[0])) : lift_operation(l, v);
}

/* The integer that the phi is, where it is the lesser or the greater of what its branch compares. False: it is not, or not seen to be. */
static bool decide_integer(lifter *l, lifted c, const lift_value *phi, const lift_block *b, int first) {
    int count = l->at->items.count, statements = l->statements;
    const lift_value *now = l->now;
    lifted r;
    if (c.kind != LIFTED_CONDITION || !can_compute(l, phi->operands[0], b, 0) || !can_compute(l, phi->operands[1], b, 0))
        return false;
    lifted x = computed(l, phi->operands[first], b), y = computed(l, phi->operands[!first], b);
    bool done = !lift_stopped(l) && l->at->items.count == count && lift_by_size(l, c, x, y, &r);
    if (l->at->items.count != count) { /* what is stated on the way holds there alone */
        l->at->items.count = count;
        l->statements = statements;
    }
    l->now = now;
    if (done)
        lift_set(l, phi, r);
    return done;
}

void lift_decide(lifter *l, lifted c, const lift_value *branch, const lift_block *join) {
    const lift_block *b = branch->block;
    for (int i = 0; join && i < join->items.count && join->items.at[i]->op == LIFT_PHI && !lift_stopped(l); i++) {
        const lift_value *phi = join->items.at[i];
        bool pointer = phi->type->kind == LIFT_POINTER, integer = phi->type->kind == LIFT_INTEGER && phi->type->bits > 1;
        if ((!pointer && !integer) || join->before.count != 2 || phi->block_count != 2 || phi->blocks[0] == phi->blocks[1])
            continue;
        bool from[2][2]; /* whether the branch's side is how the incoming way begins */
        for (int side = 0; side < 2; side++)
            for (int way = 0; way < 2; way++) {
                const lift_block *to = branch->blocks[side];
                from[side][way] = to == join ? phi->blocks[way] == b : flow_dominates(l->flow, to, phi->blocks[way]);
            }
        bool straight = from[0][0] && from[1][1] && !from[0][1] && !from[1][0];
        bool crossed = from[0][1] && from[1][0] && !from[0][0] && !from[1][1];
        int first = straight ? 0 : crossed ? 1 : -1;
        if (first < 0)
            continue;
        if (integer) {
            l->decided[phi->id] = l->aliased[phi->id] = decide_integer(l, c, phi, b, first);
            continue;
        }
        if (!is_settled(l, phi->operands[0], b) || !is_settled(l, phi->operands[1], b))
            continue;
        lifted x = settled(l, phi->operands[first]), y = settled(l, phi->operands[!first]);
        if (lift_stopped(l) || !is_pointer(&x) || !is_pointer(&y))
            continue;
        l->decided[phi->id] = l->aliased[phi->id] = true;
        lift_set(l, phi, lift_either(l, phi, c, x, y));
    }
}
