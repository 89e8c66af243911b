/* Declarations of intrinsics of matrices: a load gives what memory holds at each place, a product c + a b, a store leaves a matrix in memory. */
#include "lang/declared.h"
#include <string.h>

static bool is_name(const expr *e, const char *name) {
    return e->kind == EXPR_NAME && !strcmp(e->name, name);
}

/* `name[row, column]` */
static bool is_element(const expr *e, const char *name, const char *row, const char *column) {
    return e && e->kind == EXPR_INDEX && !strcmp(e->name, name) && e->args.count == 2 && is_name(e->args.at[0], row) &&
           is_name(e->args.at[1], column);
}

/* Both corners of the matrix are cells of the contract, so all are. */
static void check_corners(declared *c, const expr *cell, const intrinsic_parameter *p, const char *const names[2],
                          const int64_t extents[2], bool written) {
    for (int corner = 1; corner >= 0 && c->ok; corner--) {
        for (int i = 0; i < 2; i++) {
            c->names[i] = names[i];
            c->numbers[i] = corner ? extents[i] - 1 : 0;
        }
        c->count = 2;
        declared_cell(c, cell, p, written);
    }
    c->count = 0;
}

static void check_load(declared *c) {
    const declaration *d = c->d;
    const expr *v = d->value;
    if (c->f->parameter_count != 1 || c->f->parameters[0].rank != 2) {
        declared_fail(c, "E0331", d->span, "a matrix has one parameter, a pointer that sees two dimensions, or three matrices");
        return;
    }
    const intrinsic_parameter *p = &c->f->parameters[0];
    if (d->written || d->names.count != 2 || !is_element(v, p->name, d->names.at[0], d->names.at[1])) {
        diag *g = declared_fail(c, "E0331", v->span, "the value of a matrix is what memory holds at each place");
        diag_caret(c->m->diags, g, "write `value[r, c] = m[r, c]`, `m` being a pointer that sees two dimensions");
        return;
    }
    const int64_t extents[2] = {c->f->rows, c->f->columns};
    check_corners(c, v, p, (const char *const[]){d->names.at[0], d->names.at[1]}, extents, false);
    if (c->ok && p->type != c->f->type)
        declared_fail(c, "E0331", v->span, "`%s` points to %s, and the matrix is of %s", p->name, element_table[p->type].name,
                      element_table[c->f->type].name);
}

/* value[r, s] = c[r, s] + sum[k in 0..7](a[r, k] * b[k, s]), the sum's terms either way round */
static bool is_sum_of_products(declared *c, const expr *v, int64_t depth) {
    const declaration *d = c->d;
    const intrinsic_parameter *p = c->f->parameters;
    const char *row = d->names.at[0], *column = d->names.at[1];
    if (v->kind != EXPR_BINARY || v->op != OP_ADD)
        return false;
    const expr *sum = v->b->kind == EXPR_REDUCE ? v->b : v->a, *start = sum == v->b ? v->a : v->b;
    if (sum->kind != EXPR_REDUCE || !sum->bounded || strcmp(sum->name, "sum") || !is_element(start, p[2].name, row, column))
        return false;
    const expr *lo = sum->args.at[0], *hi = sum->args.at[1], *x = sum->a;
    bool all = lo->kind == EXPR_NUMBER && lo->integral && !lo->integer && hi->kind == EXPR_NUMBER && hi->integral &&
               hi->integer == depth - 1;
    const char *k = sum->range;
    return all && x->kind == EXPR_BINARY && x->op == OP_MUL &&
           ((is_element(x->a, p[0].name, row, k) && is_element(x->b, p[1].name, k, column)) ||
            (is_element(x->b, p[0].name, row, k) && is_element(x->a, p[1].name, k, column)));
}

static void check_product(declared *c) {
    const declaration *d = c->d;
    const intrinsic *f = c->f;
    const intrinsic_parameter *p = f->parameters;
    if (f->parameter_count != 3 || !p[0].matrix || !p[1].matrix || !p[2].matrix) {
        declared_fail(c, "E0331", d->span, "a function that is given matrices and gives one has three: a, b, and c to add to");
        return;
    }
    if (p[0].dims[0] != f->rows || p[1].dims[1] != f->columns || p[0].dims[1] != p[1].dims[0] || p[2].dims[0] != f->rows ||
        p[2].dims[1] != f->columns || p[0].type != p[1].type || p[2].type != f->type) {
        diag *g = declared_fail(c, "E0331", d->span, "these matrices do not multiply to one of %d x %d %s", f->rows, f->columns,
                                element_table[f->type].name);
        diag_caret(c->m->diags, g, "a is M x K, b is K x N of the same type, c and the result are M x N of theirs");
        return;
    }
    if (d->written || d->names.count != 2 || !is_sum_of_products(c, d->value, p[0].dims[1])) {
        diag *g = declared_fail(c, "E0331", d->value->span, "the value of a product of matrices is c + a b");
        diag_caret(c->m->diags, g, "write `value[r, s] = %s[r, s] + sum[k in 0..%lld](%s[r, k] * %s[k, s])`", p[2].name,
                   (long long)p[0].dims[1] - 1, p[0].name, p[1].name);
    }
}

static void check_store(declared *c) {
    const declaration *d = c->d;
    const intrinsic *f = c->f;
    const int written = intrinsic_written(f);
    const intrinsic_parameter *m = &f->parameters[written], *v = &f->parameters[1 - written];
    if (f->parameter_count != 2 || m->rank != 2 || !v->matrix || v->dims[0] != m->dims[0] || v->dims[1] != m->dims[1] ||
        v->type != m->type) {
        declared_fail(c, "E0331", d->span,
                      "a function that stores a matrix has it and a pointer that sees two dimensions, alike in type and extents");
        return;
    }
    const expr *cell = d->written;
    bool names = cell && !strcmp(cell->name, m->name) && cell->args.count == 2 && cell->args.at[0]->kind == EXPR_NAME &&
                 cell->args.at[1]->kind == EXPR_NAME && strcmp(cell->args.at[0]->name, cell->args.at[1]->name);
    if (!names || !is_element(d->value, v->name, cell->args.at[0]->name, cell->args.at[1]->name)) {
        diag *g = declared_fail(c, "E0331", d->value->span, "a matrix is stored as it is, each element at its place");
        diag_caret(c->m->diags, g, "write `value %s[r, c] = %s[r, c]`", m->name, v->name);
        return;
    }
    check_corners(c, cell, m, (const char *const[]){cell->args.at[0]->name, cell->args.at[1]->name}, m->dims, true);
    for (int i = 0; i < 2 && c->ok; i++) {
        const intrinsic_bound *lo = &m->lo[i], *hi = &m->hi[i];
        if (lo->constant < 0 || hi->constant >= m->dims[i]) {
            diag *g = declared_fail(c, "E0332", cell->span,
                                    "the contract of `%s` writes %s at %lld of dimension %d, and the value does not", f->name,
                                    m->name, (long long)(lo->constant < 0 ? lo->constant : hi->constant), i);
            diag_note(c->m->diags, g, "the prover takes a contract's cells for all that is written: each must be");
        }
    }
}

void declared_matrices(declared *c) {
    if (!c->d->value) {
        diag *g = declared_fail(c, "E0331", c->d->span, "a function of matrices says what it computes");
        diag_caret(c->m->diags, g, "of a load: `value[r, c] = m[r, c]`");
        return;
    }
    switch (intrinsic_kind_of(c->f)) {
    case INTRINSIC_LOADS: check_load(c); break;
    case INTRINSIC_MULTIPLIES: check_product(c); break;
    default: check_store(c); break;
    }
}
