/* Integer expressions, conditions and layouts as text. */
#include "target/cfamily.h"
#include <string.h>

const char *cfamily_wrap(cfamily *p, text_expr e, precedence at_least) {
    return e.precedence >= at_least ? e.text : arena_printf(p->arena, "(%s)", e.text);
}

const char *cfamily_index_type(const cfamily *p) {
    return p->narrow ? p->dialect->narrow_type : p->dialect->index_type;
}

element_type cfamily_index_element(const cfamily *p, element_type t) {
    return p->narrow && t == ELEMENT_INDEX ? ELEMENT_I32 : t;
}

const char *cfamily_index_helper(cfamily *p, cfamily_helper h, const char *head) {
    static const struct {
        cfamily_helper h;
        const char *name, *text; /* T: the type */
    } table[] = {
        {HELPER_FLOOR_DIV, "floor_div", "T a, T b)\n{\n    return a / b - (a % b < 0);\n}\n"},
        {HELPER_FLOOR_MOD, "floor_mod", "T a, T b)\n{\n    const T r = a % b;\n    return r < 0 ? r + b : r;\n}\n"},
        {HELPER_INDEX_MIN, "index_min", "T a, T b)\n{\n    return a < b ? a : b;\n}\n"},
        {HELPER_INDEX_MAX, "index_max", "T a, T b)\n{\n    return a > b ? a : b;\n}\n"},
        {HELPER_SWIZZLE, "swizzle",
         "T x, int bits, int base, int shift)\n{\n    return x ^ ((x >> shift) & ((((T)1 << bits) - 1) << base));\n}\n"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].h != h)
            continue;
        const char *name = p->narrow ? arena_printf(p->arena, "%s_%d", table[i].name, PLAN_NARROW_BITS) : table[i].name;
        if (names_have(&p->helpers, name))
            return name;
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "%s %s %s(", head, cfamily_index_type(p), name);
        for (const char *c = table[i].text; *c; c++)
            if (*c == 'T')
                text_add(&p->prelude, "%s", cfamily_index_type(p));
            else
                text_add(&p->prelude, "%c", *c);
        return name;
    }
    return NULL;
}

index_expr *cfamily_fold(cfamily *p, index_expr *x) {
    if (x->op == IX_CONST)
        return x;
    if (x->op == IX_VAR) {
        const cfamily_binding *b = cfamily_find(p, x->var);
        if (b && b->is_constant)
            return ix_const(p->arena, b->value);
        return x->var->has_value ? ix_const(p->arena, x->var->value) : x;
    }
    index_expr *l = cfamily_fold(p, x->a), *r = cfamily_fold(p, x->b);
    return l == x->a && r == x->b ? x : ix_op2(p->arena, x->op, l, r);
}

/* Divisors are kept small: only vector widths, block and panel sizes matter, and products must not overflow. */
enum { MULTIPLE_LIMIT = 1 << 20 };

int64_t cfamily_multiple(cfamily *p, const index_expr *x) {
    switch (x->op) {
    case IX_CONST: return x->value == INT64_MIN ? 1 : x->value < 0 ? -x->value : x->value;
    case IX_VAR: {
        const cfamily_binding *b = cfamily_find(p, x->var);
        return !b ? 1 : b->is_constant ? (b->value < 0 ? -b->value : b->value) : b->multiple;
    }
    case IX_ADD:
    case IX_SUB:
    case IX_MIN:
    case IX_MAX: return ix_gcd(cfamily_multiple(p, x->a), cfamily_multiple(p, x->b));
    case IX_MUL: {
        int64_t a = cfamily_multiple(p, x->a), b = cfamily_multiple(p, x->b);
        return a > MULTIPLE_LIMIT ? a : b > MULTIPLE_LIMIT ? b : a * b;
    }
    case IX_FLOORDIV: {
        int64_t a = cfamily_multiple(p, x->a), d;
        return ix_is_const(x->b, &d) && d > 0 && a % d == 0 ? a / d : 1;
    }
    case IX_MOD: return ix_gcd(cfamily_multiple(p, x->a), cfamily_multiple(p, x->b));
    }
    return 1;
}

/* Known bounds stay within a quarter of the range, so that sums of two are safe. */
static int64_t saturate(int64_t x) {
    return x < INT64_MIN / 4 ? INT64_MIN / 4 : x > INT64_MAX / 4 ? INT64_MAX / 4 : x;
}

/* The least value x is known to have; INT64_MIN / 4 when nothing is known. `depth` bounds how many variables' bounds are followed. */
/* INT64_MIN: not known. */
static int64_t least(cfamily *p, const index_expr *x, int depth) {
    const int64_t unknown = INT64_MIN / 4;
    int64_t a, b, c;
    switch (x->op) {
    case IX_CONST: return saturate(x->value);
    case IX_VAR: {
        const cfamily_binding *bound = cfamily_find(p, x->var);
        if (bound && bound->is_constant)
            return saturate(bound->value);
        if (x->var->kind == INDEX_SYMBOL || x->var->kind == INDEX_ID)
            return 0;
        a = x->var->lo && depth > 0 ? least(p, x->var->lo, depth - 1) : unknown;
        return bound && bound->least > a ? bound->least : a;
    }
    case IX_ADD:
        a = least(p, x->a, depth), b = least(p, x->b, depth);
        return a == unknown || b == unknown ? unknown : saturate(a + b);
    case IX_SUB: a = least(p, x->a, depth); return a != unknown && ix_is_const(x->b, &c) ? saturate(a - saturate(c)) : unknown;
    case IX_MUL:
        a = least(p, x->a, depth), b = least(p, x->b, depth);
        return a < 0 || b < 0 ? unknown : __builtin_mul_overflow(a, b, &c) ? INT64_MAX / 4 : saturate(c);
    case IX_FLOORDIV: return least(p, x->a, depth) >= 0 ? 0 : unknown;
    case IX_MOD: return 0;
    case IX_MIN: a = least(p, x->a, depth), b = least(p, x->b, depth); return a < b ? a : b;
    case IX_MAX: a = least(p, x->a, depth), b = least(p, x->b, depth); return a > b ? a : b;
    }
    return unknown;
}

/* The greatest value x is known to have; INT64_MAX / 4 when nothing is known. */
static int64_t greatest(cfamily *p, const index_expr *x, int depth) {
    const int64_t unknown = INT64_MAX / 4;
    int64_t a, b, c;
    switch (x->op) {
    case IX_CONST: return saturate(x->value);
    case IX_VAR: {
        const cfamily_binding *bound = cfamily_find(p, x->var);
        if (bound && bound->is_constant)
            return saturate(bound->value);
        a = x->var->hi && depth > 0 ? greatest(p, x->var->hi, depth - 1) : unknown;
        return bound && bound->greatest < a ? bound->greatest : a;
    }
    case IX_ADD:
        a = greatest(p, x->a, depth), b = greatest(p, x->b, depth);
        return a == unknown || b == unknown ? unknown : saturate(a + b);
    case IX_SUB:
        a = greatest(p, x->a, depth), b = least(p, x->b, depth);
        return a == unknown || b == INT64_MIN / 4 ? unknown : saturate(a - b);
    case IX_MUL:
        a = greatest(p, x->a, depth), b = greatest(p, x->b, depth);
        if (least(p, x->a, depth) < 0 || least(p, x->b, depth) < 0 || a == unknown || b == unknown)
            return unknown;
        return __builtin_mul_overflow(a, b, &c) ? unknown : saturate(c);
    case IX_FLOORDIV:
        a = greatest(p, x->a, depth);
        return ix_is_const(x->b, &c) && c > 0 && a != unknown && a >= 0 ? a / c : unknown;
    case IX_MOD: return ix_is_const(x->b, &c) && c > 0 ? c - 1 : unknown;
    case IX_MIN: a = greatest(p, x->a, depth), b = greatest(p, x->b, depth); return a < b ? a : b;
    case IX_MAX: a = greatest(p, x->a, depth), b = greatest(p, x->b, depth); return a > b ? a : b;
    }
    return unknown;
}

/* Splits a sum into what d divides and the rest. */
static void split_multiples(cfamily *p, index_expr *x, int64_t d, index_expr **multiples, index_expr **rest) {
    arena *m = p->arena;
    index_expr *am, *ar, *bm, *br;
    if (cfamily_multiple(p, x) % d == 0) {
        *multiples = x;
        *rest = ix_const(m, 0);
    } else if (x->op == IX_ADD || x->op == IX_SUB) {
        split_multiples(p, x->a, d, &am, &ar);
        split_multiples(p, x->b, d, &bm, &br);
        *multiples = ix_op2(m, x->op, am, bm);
        *rest = ix_op2(m, x->op, ar, br);
    } else {
        *multiples = ix_const(m, 0);
        *rest = x;
    }
}

/* x / d where d divides x, term by term as far as that goes. */
static index_expr *exact_quotient(cfamily *p, index_expr *x, int64_t d) {
    arena *m = p->arena;
    int64_t c;
    if ((x->op == IX_ADD || x->op == IX_SUB) && cfamily_multiple(p, x->a) % d == 0 && cfamily_multiple(p, x->b) % d == 0)
        return ix_op2(m, x->op, exact_quotient(p, x->a, d), exact_quotient(p, x->b, d));
    if (x->op == IX_CONST)
        return ix_const(m, x->value / d);
    if (x->op == IX_MUL && ix_is_const(x->a, &c) && c % d == 0)
        return ix_mul(m, ix_const(m, c / d), x->b);
    if (x->op == IX_MUL && ix_is_const(x->b, &c) && c % d == 0)
        return ix_mul(m, x->a, ix_const(m, c / d));
    return ix_floordiv(m, x, ix_const(m, d));
}

/* floor(x / d) and x mod d, without a division where the parts of x show the answer. */
static void divide(cfamily *p, index_expr *x, int64_t d, index_expr **quotient, index_expr **remainder) {
    index_expr *multiples, *rest;
    split_multiples(p, x, d, &multiples, &rest);
    if (least(p, rest, 8) >= 0 && greatest(p, rest, 8) < d) {
        *quotient = exact_quotient(p, multiples, d);
        *remainder = rest;
    } else {
        *quotient = ix_floordiv(p->arena, x, ix_const(p->arena, d));
        *remainder = ix_mod(p->arena, x, ix_const(p->arena, d));
    }
}

static bool power_of_two(int64_t x, int *exponent) {
    if (x <= 0 || (x & (x - 1)))
        return false;
    for (*exponent = 0; x > 1; x >>= 1)
        ++*exponent;
    return true;
}

static text_expr expr(const char *text, precedence at) {
    return (text_expr){text, at};
}

static text_expr infix(cfamily *p, text_expr a, const char *op, text_expr b, precedence at) {
    return expr(arena_printf(p->arena, "%s %s %s", cfamily_wrap(p, a, at), op, cfamily_wrap(p, b, at + 1)), at);
}

static text_expr variable(cfamily *p, const index_var *v) {
    const cfamily_binding *b = cfamily_find(p, v);
    const kernel_stmt *let = v->kind == INDEX_VALUE ? v->owner : NULL;
    if (!b && let)
        b = cfamily_find(p, let);
    for (int i = 0; !b && i < p->kernel->symbols.count; i++) /* a plan's checks may use another variant's variables */
        if (!strcmp(p->kernel->symbols.at[i]->name, v->name))
            b = cfamily_find(p, p->kernel->symbols.at[i]);
    for (int i = 0; !b && i < p->kernel->scalars.count; i++)
        if (p->kernel->scalars.at[i].var && !strcmp(p->kernel->scalars.at[i].name, v->name))
            b = cfamily_find(p, p->kernel->scalars.at[i].var);
    if (!b || !b->text) {
        diag_error(p->diags, "E0951", v->span, "printing %s: the variable `%s` has no value here", p->kernel->name, v->name);
        p->failed = true;
        return expr("0", PRECEDENCE_PRIMARY);
    }
    ((cfamily_binding *)b)->used = true;
    /* Integers that were loaded have 32 bits in registers; index arithmetic has 64. */
    if (let && let->value && let->value->type != ELEMENT_INDEX)
        return expr(arena_printf(p->arena, "(%s)%s", cfamily_index_type(p), b->text), PRECEDENCE_UNARY);
    return expr(b->text, PRECEDENCE_PRIMARY);
}

static text_expr index_text(cfamily *p, index_expr *x) {
    if (x->op == IX_CONST) {
        if (x->value == INT64_MIN)
            return expr("(-9223372036854775807 - 1)", PRECEDENCE_PRIMARY);
        return expr(arena_printf(p->arena, "%lld", (long long)x->value), x->value < 0 ? PRECEDENCE_UNARY : PRECEDENCE_PRIMARY);
    }
    if (x->op == IX_VAR)
        return variable(p, x->var);
    int64_t c;
    int shift;
    text_expr a = index_text(p, x->a), b = index_text(p, x->b);
    switch (x->op) {
    case IX_ADD:
        if (ix_is_const(x->b, &c) && c < 0 && c > INT64_MIN)
            return infix(p, a, "-", expr(arena_printf(p->arena, "%lld", -(long long)c), PRECEDENCE_PRIMARY), PRECEDENCE_ADD);
        if (b.precedence == PRECEDENCE_ADD && b.text[0] != '-' &&
            !p->narrow) /* a + (b + c) is (a + b) + c here: 64 bits are enough for all of them */
            return expr(arena_printf(p->arena, "%s + %s", cfamily_wrap(p, a, PRECEDENCE_ADD), b.text), PRECEDENCE_ADD);
        return infix(p, a, "+", b, PRECEDENCE_ADD);
    case IX_SUB: return infix(p, a, "-", b, PRECEDENCE_ADD);
    case IX_MUL: return infix(p, a, "*", b, PRECEDENCE_MULTIPLY);
    case IX_FLOORDIV:
        if (least(p, x->a, 8) >= 0)
            return infix(p, a, "/", b, PRECEDENCE_MULTIPLY);
        if (ix_is_const(x->b, &c) && power_of_two(c, &shift)) /* an arithmetic shift rounds down */
            return expr(arena_printf(p->arena, "%s >> %d", cfamily_wrap(p, a, PRECEDENCE_PRIMARY), shift), PRECEDENCE_BITS);
        break;
    case IX_MOD:
        if (least(p, x->a, 8) >= 0)
            return infix(p, a, "%", b, PRECEDENCE_MULTIPLY);
        if (ix_is_const(x->b, &c) && power_of_two(c, &shift))
            return expr(arena_printf(p->arena, "%s & %lld", cfamily_wrap(p, a, PRECEDENCE_PRIMARY), (long long)c - 1),
                        PRECEDENCE_BITS);
        break;
    default: break;
    }
    cfamily_helper h = x->op == IX_FLOORDIV ? HELPER_FLOOR_DIV
                       : x->op == IX_MOD    ? HELPER_FLOOR_MOD
                       : x->op == IX_MIN    ? HELPER_INDEX_MIN
                                            : HELPER_INDEX_MAX;
    return expr(cfamily_call(p, h, ELEMENT_INDEX, ELEMENT_INDEX, 1, "%s, %s", a.text, b.text), PRECEDENCE_PRIMARY);
}

text_expr cfamily_index(cfamily *p, index_expr *x) {
    return index_text(p, cfamily_fold(p, x));
}

const char *cfamily_index_text(cfamily *p, index_expr *x) {
    return cfamily_index(p, x).text;
}

text_expr cfamily_cond(cfamily *p, const cond *c) {
    const char *op = "==";
    switch (c->op) {
    case COND_TRUE: return expr("true", PRECEDENCE_PRIMARY);
    case COND_NOT:
        return expr(arena_printf(p->arena, "!%s", cfamily_wrap(p, cfamily_cond(p, c->a), PRECEDENCE_PRIMARY)), PRECEDENCE_UNARY);
    case COND_AND:
    case COND_OR: {
        text_expr a = cfamily_cond(p, c->a), b = cfamily_cond(p, c->b);
        bool both = c->op == COND_AND;
        precedence at = both ? PRECEDENCE_AND : PRECEDENCE_COMPARE; /* && inside || is parenthesised, as compilers ask */
        return expr(arena_printf(p->arena, "%s %s %s", cfamily_wrap(p, a, at), both ? "&&" : "||", cfamily_wrap(p, b, at)),
                    both ? PRECEDENCE_AND : PRECEDENCE_OR);
    }
    case COND_LE: op = "<="; break;
    case COND_LT: op = "<"; break;
    case COND_NE: op = "!="; break;
    case COND_EQ: break;
    }
    text_expr x = cfamily_index(p, c->x), y = cfamily_index(p, c->y);
    return expr(arena_printf(p->arena, "%s %s %s", cfamily_wrap(p, x, PRECEDENCE_ADD), op, cfamily_wrap(p, y, PRECEDENCE_ADD)),
                PRECEDENCE_COMPARE);
}

/* ---- layouts ---- */

static index_expr *row_major(cfamily *p, const kernel_array *a, index_expr **indices, int without) {
    index_expr *offset = ix_const(p->arena, 0);
    for (int d = 0; d < a->rank; d++) {
        if (d == without)
            continue;
        index_expr *dim = cfamily_fold(p, a->dims[d]);
        if (a->layout.kind == LAYOUT_PAD && d == a->rank - 1)
            dim = ix_add(p->arena, dim, ix_const(p->arena, a->layout.amount));
        offset = ix_add(p->arena, ix_mul(p->arena, offset, dim), indices[d]);
    }
    return offset;
}

/* The element offset of a place, before a swizzle. */
static index_expr *linear_offset(cfamily *p, const kernel_array *a, index_expr **indices) {
    arena *m = p->arena;
    const kernel_layout *l = &a->layout;
    switch (l->kind) {
    case LAYOUT_ROW:
    case LAYOUT_PAD:
    case LAYOUT_SWIZZLE: return row_major(p, a, indices, -1);
    case LAYOUT_STRIDES: {
        index_expr *offset = ix_const(m, 0);
        for (int d = 0; d < a->rank; d++)
            offset = ix_add(m, offset, ix_mul(m, indices[d], cfamily_fold(p, l->strides[d])));
        return offset;
    }
    case LAYOUT_PANEL: {
        /* [dim / amount][the others][dim mod amount] */
        index_expr *amount = ix_const(m, l->amount), *others = ix_const(m, 1), *quotient, *within;
        divide(p, indices[l->dim], l->amount, &quotient, &within);
        for (int d = 0; d < a->rank; d++)
            if (d != l->dim)
                others = ix_mul(m, others, cfamily_fold(p, a->dims[d]));
        index_expr *offset = ix_add(m, ix_mul(m, quotient, others), row_major(p, a, indices, l->dim));
        return ix_add(m, ix_mul(m, offset, amount), within);
    }
    case LAYOUT_BOX: {
        index_expr *outer = ix_const(m, 0), *inner = ix_const(m, 0);
        int64_t cells = 1;
        for (int d = 0; d < a->rank; d++) {
            index_expr *size = ix_const(m, l->box[d]);
            index_expr *quotient, *within, *boxes = ix_ceildiv(m, cfamily_fold(p, a->dims[d]), size);
            divide(p, indices[d], l->box[d], &quotient, &within);
            outer = ix_add(m, ix_mul(m, outer, boxes), quotient);
            inner = ix_add(m, ix_mul(m, inner, size), within);
            cells *= l->box[d];
        }
        return ix_add(m, ix_mul(m, outer, ix_const(m, cells)), inner);
    }
    }
    return ix_const(m, 0);
}

static index_expr **folded_indices(cfamily *p, const kernel_access *access, int lane) {
    index_expr **indices = NEW_ARRAY(p->arena, index_expr *, access->array->rank);
    for (int d = 0; d < access->array->rank; d++) {
        indices[d] = cfamily_fold(p, access->indices[d]);
        if (lane && d == access->vector_dim)
            indices[d] = ix_add(p->arena, indices[d], ix_const(p->arena, lane));
    }
    return indices;
}

int64_t cfamily_least(cfamily *p, index_expr *x) {
    return least(p, cfamily_fold(p, x), 8);
}

int64_t cfamily_greatest(cfamily *p, index_expr *x) {
    return greatest(p, cfamily_fold(p, x), 8);
}

text_expr cfamily_pieces(cfamily *p, const kernel_access *access, int64_t n) {
    return cfamily_index(p, exact_quotient(p, linear_offset(p, access->array, folded_indices(p, access, 0)), n));
}

const char *cfamily_offset(cfamily *p, const kernel_access *access, int lane) {
    const kernel_layout *l = &access->array->layout;
    text_expr offset = index_text(p, linear_offset(p, access->array, folded_indices(p, access, lane)));
    if (kernel_swizzle_run(l) && l->bits > 0)
        return cfamily_call(p, HELPER_SWIZZLE, ELEMENT_INDEX, ELEMENT_INDEX, 1, "%s, %d, %d, %d", offset.text, l->bits, l->base,
                            l->shift);
    return offset.text;
}

const char *cfamily_far_offset(cfamily *p, const kernel_access *access) {
    const kernel_array *a = access->array;
    if (!p->narrow || a->space != SPACE_GLOBAL || a->layout.kind != LAYOUT_ROW || !a->rank)
        return cfamily_offset(p, access, 0);
    index_expr **at = folded_indices(p, access, 0);
    const char *text =
        arena_printf(p->arena, "(%s)%s", p->dialect->index_type, cfamily_wrap(p, cfamily_index(p, at[0]), PRECEDENCE_PRIMARY));
    for (int d = 1; d < a->rank; d++)
        text = arena_printf(p->arena, "%s%s%s * %s + %s", d > 1 ? "(" : "", text, d > 1 ? ")" : "",
                            cfamily_wrap(p, cfamily_index(p, cfamily_fold(p, a->dims[d])), PRECEDENCE_UNARY),
                            cfamily_wrap(p, cfamily_index(p, at[d]), PRECEDENCE_MULTIPLY));
    return text;
}

/* The distance between neighbouring lanes; NULL when it differs from lane to lane or cannot be told. */
static index_expr *lane_stride(cfamily *p, const kernel_access *access) {
    const kernel_array *a = access->array;
    const kernel_layout *l = &a->layout;
    arena *m = p->arena;
    int v = access->vector_dim;
    if (access->lanes <= 1)
        return ix_const(m, 1);
    index_expr *stride = ix_const(m, 1);
    int64_t multiple = cfamily_multiple(p, cfamily_fold(p, access->indices[v]));
    switch (l->kind) {
    case LAYOUT_STRIDES: return cfamily_fold(p, l->strides[v]);
    case LAYOUT_ROW:
    case LAYOUT_PAD:
        for (int d = v + 1; d < a->rank; d++) {
            index_expr *dim = cfamily_fold(p, a->dims[d]);
            if (l->kind == LAYOUT_PAD && d == a->rank - 1)
                dim = ix_add(m, dim, ix_const(m, l->amount));
            stride = ix_mul(m, stride, dim);
        }
        return stride;
    case LAYOUT_SWIZZLE: /* runs of 2^base elements stay together */
        return v == a->rank - 1 && l->base >= 0 && l->base < 62 && ((int64_t)1 << l->base) % access->lanes == 0 &&
                       multiple % access->lanes == 0 &&
                       cfamily_multiple(p, row_major(p, a, folded_indices(p, access, 0), -1)) % access->lanes == 0
                   ? stride
                   : NULL;
    case LAYOUT_PANEL:
        if (v == l->dim) /* within one panel when both begin at multiples of the lanes */
            return l->amount % access->lanes == 0 && multiple % access->lanes == 0 ? stride : NULL;
        for (int d = v + 1; d < a->rank; d++)
            if (d != l->dim)
                stride = ix_mul(m, stride, cfamily_fold(p, a->dims[d]));
        return ix_mul(m, stride, ix_const(m, l->amount));
    case LAYOUT_BOX: {
        int64_t inner = 1, run = kernel_swizzle_run(l);
        if (l->box[v] % access->lanes || multiple % access->lanes)
            return NULL;
        if (run && (v != a->rank - 1 || run % access->lanes || l->box[v] % run)) /* runs stay together in rows of whole ones */
            return NULL;
        for (int d = v + 1; d < a->rank; d++)
            inner *= l->box[d];
        return ix_const(m, inner);
    }
    }
    return NULL;
}

bool cfamily_contiguous(cfamily *p, const kernel_access *access) {
    int64_t c;
    index_expr *stride = lane_stride(p, access);
    return stride && ix_is_const(stride, &c) && c == 1;
}

const char *cfamily_stride(cfamily *p, const kernel_access *access) {
    index_expr *stride = lane_stride(p, access);
    return stride ? cfamily_index_text(p, stride) : NULL;
}

bool cfamily_not_negative(cfamily *p, index_expr *x) {
    return least(p, cfamily_fold(p, x), 0) >= 0;
}
