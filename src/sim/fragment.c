/* Fragments as plain matrices, one per holder. All lanes of the holder have arrived with the same operands when a step is made; which lane holds which
 * element is not known, so memory is taken to be touched by any of them. */
#include "sim/machine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static sim_fragment *resolve(sim_machine *m, sim_thread *t, const sim_fragment_ref *ref, int instruction) {
    const kernel_fragment *f = ref->fragment;
    int64_t index = 0;
    if (ref->index && !sim_evaluate_integer(m, t, ref->index, instruction, &index))
        return NULL;
    if (index < 0 || index >= f->count) {
        sim_report_finding(m, SIM_BOUNDS, t, instruction, NULL, f->name, "`%s[%lld]` is outside: there are %d of `%s`", f->name,
                           (long long)index, f->count, f->name);
        return NULL;
    }
    return &m->group->fragments[f->id][sim_instance(m, t, f->holder) * f->count + index];
}

static bool running(const sim_thread *first, int count, uint32_t group) {
    for (int i = 0; group && i < count; i++)
        if (first[i].matrix_done < group)
            return true;
    return false;
}

/* A register in flight is not touched. */
static void check_free(sim_machine *m, const sim_thread *first, int count, const sim_fragment *x, const kernel_fragment *f,
                       bool write, int instruction) {
    if (running(first, count, x->writing) || (write && running(first, count, x->reading)))
        sim_report_finding(m, SIM_ASYNC, first, instruction, NULL, f->name,
                           "fragment `%s` is %s while an asynchronous product still %s it", f->name, write ? "written" : "read",
                           running(first, count, x->writing) ? "writes" : "reads");
}

static sim_lane element_of(sim_machine *m, const sim_thread *t, sim_fragment *x, const kernel_fragment *f, int row, int column,
                           int instruction) {
    int at = row * f->columns + column;
    if (!x->written[at]) {
        sim_report_finding(m, SIM_UNWRITTEN, t, instruction, NULL, f->name,
                           "element (%d, %d) of fragment `%s` is read, but nothing has set it", row, column, f->name);
        memset(x->written, 1, (size_t)(f->rows * f->columns));
    }
    return x->values[at];
}

/* ---- memory ---- */
typedef struct transfer {
    sim_machine *m;
    const kernel_fragment *fragment;
    const sim_array *array;
    sim_observer by;
    int64_t origin[16], row_step, column_step;
    int row_dim, column_dim;
} transfer;

/* The cell of element (row, column). The same element of fragments of one shape belongs to the same lane. */
static bool touch(transfer *x, int row, int column, sim_use use, int64_t *unit, sim_object **object) {
    const kernel_fragment *f = x->fragment;
    int64_t cell[16];
    memcpy(cell, x->origin, sizeof cell);
    cell[x->row_dim] = sim_add(cell[x->row_dim], sim_multiply(row, x->row_step));
    cell[x->column_dim] = sim_add(cell[x->column_dim], sim_multiply(column, x->column_step));
    uint64_t share = (((uint64_t)f->role * 16 + f->element) * 4096 + (uint64_t)f->rows) * 4096 + (uint64_t)f->columns;
    share = (share * 65536 + (uint64_t)(row * f->columns + column)) * 0x9E3779B97F4A7C15u >> 32;
    x->by.stamp.share = (uint32_t)share | 1;
    return sim_touch(x->m, &x->by, x->array, cell, 0, use, LEVEL_TASK, unit, object);
}

static bool transfer_of(sim_machine *m, sim_thread *first, int count, int instruction, transfer *x) {
    const sim_instruction *i = &m->program->code.at[instruction];
    x->m = m;
    x->fragment = i->fragments[0].fragment;
    x->array = &m->arrays[i->access.array->id];
    x->by = sim_observe_together(m, first, count, instruction);
    x->row_dim = i->stmt->row_dim;
    x->column_dim = i->stmt->column_dim;
    x->row_step = x->column_step = 1;
    if ((i->row_step && !sim_evaluate_integer(m, first, i->row_step, instruction, &x->row_step)) ||
        (i->column_step && !sim_evaluate_integer(m, first, i->column_step, instruction, &x->column_step)))
        return false;
    memset(x->origin, 0, sizeof x->origin);
    for (int d = 0; d < x->array->source->rank; d++)
        if (!sim_evaluate_integer(m, first, i->access.indices[d], instruction, &x->origin[d]))
            return false;
    return true;
}

static void load_or_store(sim_machine *m, sim_thread *first, int count, int instruction, sim_fragment *f) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *shape = i->fragments[0].fragment;
    bool load = i->stmt->kind == KSTMT_FRAGMENT_LOAD;
    transfer x;
    int64_t rows = shape->rows, columns = shape->columns, unit;
    check_free(m, first, count, f, shape, load, instruction);
    if (!transfer_of(m, first, count, instruction, &x))
        return;
    if (i->extents && (!sim_evaluate_integer(m, first, i->extents[0], instruction, &rows) ||
                       !sim_evaluate_integer(m, first, i->extents[1], instruction, &columns)))
        return;
    f->by_reference = load && i->stmt->by_reference;
    if (f->by_reference) {
        f->array = x.array;
        memcpy(f->origin, x.origin, sizeof f->origin);
        f->row_dim = x.row_dim, f->column_dim = x.column_dim;
        memset(f->written, 1, (size_t)(shape->rows * shape->columns));
        return;
    }
    for (int r = 0; r < shape->rows; r++)
        for (int c = 0; c < shape->columns; c++) {
            sim_object *o;
            int at = r * shape->columns + c;
            bool exists = r < rows && c < columns;
            if (load) {
                memset(&f->values[at], 0, sizeof f->values[at]);
                f->written[at] = 1;
                if (exists && touch(&x, r, c, SIM_READ, &unit, &o))
                    f->values[at] = sim_read_unit(x.array, o, unit, 0);
            } else if (exists) {
                sim_lane value = element_of(m, first, f, shape, r, c, instruction);
                if (!touch(&x, r, c, SIM_WRITE, &unit, &o))
                    return;
                sim_write_unit(x.array, o, unit, value);
            }
            if (m->stop)
                return;
        }
}

/* What the matrix unit reads itself, at each use. */
static void fetch(sim_machine *m, sim_thread *first, int count, int instruction, sim_fragment *f, const kernel_fragment *shape,
                  bool asynchronous) {
    transfer x = {.m = m,
                  .fragment = shape,
                  .array = f->array,
                  .row_dim = f->row_dim,
                  .column_dim = f->column_dim,
                  .row_step = 1,
                  .column_step = 1};
    memcpy(x.origin, f->origin, sizeof x.origin);
    x.by = asynchronous ? sim_observe_matrix(m, first, count, instruction) : sim_observe_together(m, first, count, instruction);
    x.by.stamp.unit = 1;
    for (int r = 0; r < shape->rows; r++)
        for (int c = 0; c < shape->columns; c++) {
            int64_t unit;
            sim_object *o;
            if (touch(&x, r, c, SIM_READ, &unit, &o))
                f->values[r * shape->columns + c] = sim_read_unit(x.array, o, unit, 0);
        }
}

/* ---- arithmetic ---- */
static sim_lane multiply_add(const kernel_fragment *result, sim_lane a, sim_lane b, sim_lane sum) {
    if (!sim_is_float(result->element)) {
        sim_lane product = sim_combine(KERNEL_MUL, ELEMENT_I32, a, b);
        return sim_combine(KERNEL_ADD, result->element, product, sum);
    }
    sum.f = (double)fmaf((float)a.f, (float)b.f, (float)sum.f);
    return sum;
}

/* What processors' own instructions do with operands of bf16, which a task of one thread has (doc/targets.md, C): numbers below 2^-126 are zero, sums by what they are
 * before they are rounded to a subnormal. */
static float flushed(double x) {
    return fabs(x) < 0x1p-126 ? copysignf(0, (float)x) : (float)x;
}
static float flushed_fma(double a, double b, float c) {
    float x = flushed(a), y = flushed(b), r = fmaf(x, y, c);
    return fabs((double)x * y + c) < 0x1.ffffffp-127 ? copysignf(0, r) : r;
}

/* Cut off, and the last bit set if anything was lost. */
static float add_odd(double a, double b) {
    double s = a + b, t = s - a, lost = (a - (s - t)) + (b - t);
    int64_t bits;
    const int64_t last = (int64_t)1 << 29; /* of f32, in a double */
    if (!isfinite(s))
        return (float)s;
    memcpy(&bits, &s, sizeof bits);
    if (lost != 0)
        bits = (bits - ((lost < 0) != (s < 0))) | 1;
    bits = (bits & -last) | (bits & (last - 1) ? last : 0);
    memcpy(&s, &bits, sizeof s);
    return fabs(s) < 0x1p-126 ? copysignf(0, (float)s) : (float)s;
}

/* One row of 4 lanes by vectors (BFDOT): a pair's products together, then that to the sum, both rounded to odd. */
static float dot_of_pair(const double x[2], const double y[2], float sum) {
    const float even = flushed((double)flushed(x[0]) * flushed(y[0])), odd = flushed((double)flushed(x[1]) * flushed(y[1]));
    return add_odd(flushed(sum), add_odd(even, odd));
}

/* One row of 16 lanes: the odd product of each pair first. More rows: the even and the odd products apart, then both together to the sum. */
static void dot_of_task(sim_machine *m, sim_thread *first, int instruction, sim_fragment **f, int row, int column,
                        sim_lane *sum) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *a = i->fragments[1].fragment, *b = i->fragments[2].fragment;
    float parts[2] = {0, 0}, c = flushed(sum->f);
    if (a->rows == 1 && a->columns == 2 && b->columns < 16) {
        double x[2], y[2];
        for (int k = 0; k < 2; k++) {
            x[k] = element_of(m, first, f[1], a, row, k, instruction).f;
            y[k] = element_of(m, first, f[2], b, k, column, instruction).f;
        }
        sum->f = dot_of_pair(x, y, (float)sum->f);
        return;
    }
    for (int k = 0; k < a->columns; k++) {
        int at = k ^ (a->rows == 1 && (k ^ 1) < a->columns);
        double x = element_of(m, first, f[1], a, row, at, instruction).f,
               y = element_of(m, first, f[2], b, at, column, instruction).f;
        if (a->rows == 1)
            c = flushed_fma(x, y, c);
        else
            parts[at % 2] = flushed_fma(x, y, parts[at % 2]);
    }
    sum->f = a->rows == 1 ? c : flushed_fma(1, c, flushed_fma(1, parts[0], parts[1]));
}

/* One row and column by the device's own unit. */
static bool dot(sim_machine *m, sim_thread *first, int instruction, sim_fragment **f, int row, int column, sim_lane *sum) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *a = i->fragments[1].fragment, *b = i->fragments[2].fragment;
    double x[256], y[256];
    if (a->columns > 256)
        return false;
    for (int k = 0; k < a->columns; k++) {
        x[k] = element_of(m, first, f[1], a, row, k, instruction).f;
        y[k] = element_of(m, first, f[2], b, k, column, instruction).f;
    }
    return m->options.matrix->dot(m->options.matrix->context, i->stmt, a->columns, x, y, sum->f, &sum->f);
}

static void product(sim_machine *m, sim_thread *first, int count, int instruction, sim_fragment **f) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *d = i->fragments[0].fragment, *a = i->fragments[1].fragment, *b = i->fragments[2].fragment,
                          *c = i->fragments[3].fragment;
    bool asynchronous = i->stmt->asynchronous;
    for (int n = 1; asynchronous && n < count; n++)
        if (first[n].matrix_committed != first->matrix_committed) {
            sim_report_finding(m, SIM_DIVERGENCE, &first[n], instruction, NULL, d->name,
                               "the lanes have committed different numbers of matrix groups");
            break;
        }
    /* products that add to one accumulator follow each other in the matrix unit */
    bool chained = asynchronous && f[3] == f[0];
    for (int n = 1; n <= (chained ? 2 : 3); n++)
        check_free(m, first, count, f[n], i->fragments[n].fragment, false, instruction);
    if (!chained)
        check_free(m, first, count, f[0], d, true, instruction);
    if (f[1]->by_reference)
        fetch(m, first, count, instruction, f[1], a, asynchronous);
    if (f[2]->by_reference)
        fetch(m, first, count, instruction, f[2], b, asynchronous);
    sim_lane *result = sim_scratch(m, (int64_t)d->rows * d->columns);
    for (int r = 0; r < d->rows; r++)
        for (int j = 0; j < d->columns; j++) {
            sim_lane sum = element_of(m, first, f[3], c, r, j, instruction);
            if (m->options.matrix && sim_is_float(d->element)) {
                if (!dot(m, first, instruction, f, r, j, &sum)) {
                    diag_error(m->diags, "E0710", i->stmt->span,
                               "the device's recorded matrix units have none for the fragments of `%s`", d->name);
                    m->failed = m->stop = true;
                    return;
                }
                result[r * d->columns + j] = sum;
                continue;
            }
            if (d->holder == LEVEL_TASK && a->element == ELEMENT_BF16 && d->element == ELEMENT_F32) {
                dot_of_task(m, first, instruction, f, r, j, &sum);
                result[r * d->columns + j] = sum;
                continue;
            }
            for (int k = 0; k < a->columns; k++)
                sum = multiply_add(d, element_of(m, first, f[1], a, r, k, instruction),
                                   element_of(m, first, f[2], b, k, j, instruction), sum);
            if (sim_is_float(d->element))
                sum = sim_convert(d->element, ELEMENT_F32, sum, false);
            result[r * d->columns + j] = sum;
        }
    memcpy(f[0]->values, result, sizeof *result * (size_t)(d->rows * d->columns));
    memset(f[0]->written, 1, (size_t)(d->rows * d->columns));
    f[0]->by_reference = false;
    if (asynchronous) {
        uint32_t group = first->matrix_committed + 1;
        f[0]->writing = f[3]->reading = group;
        for (int n = 1; n < 3; n++)
            if (!f[n]->by_reference) /* that one is a place alone, taken at the issue */
                f[n]->reading = group;
    }
}

static void map(sim_machine *m, sim_thread *first, int count, int instruction, sim_fragment *f) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *d = i->fragments[0].fragment;
    sim_lane *result = calloc((size_t)(d->rows * d->columns), sizeof *result);
    sim_observer by = sim_observe_together(m, first, count, instruction);
    if (!result) {
        diag_error(m->diags, "E0710", i->stmt->span, "no memory for a fragment");
        m->failed = m->stop = true;
        return;
    }
    for (int r = 0; r < d->rows && !m->stop; r++)
        for (int c = 0; c < d->columns && !m->stop; c++) {
            m->position_row = r, m->position_column = c;
            first->variables[i->row] = r;
            first->variables[i->column] = c;
            m->scratch_used = 0;
            result[r * d->columns + c] = *sim_evaluate(m, first, &by, i->value);
        }
    check_free(m, first, count, f, d, true, instruction);
    memcpy(f->values, result, sizeof *result * (size_t)(d->rows * d->columns));
    free(result);
    memset(f->written, 1, (size_t)(d->rows * d->columns));
    f->by_reference = false;
}

/* Neighbours first, then pairs of them: as lanes exchange on every target. */
static void reduce(sim_machine *m, sim_thread *first, int count, int instruction, sim_fragment **f) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *d = i->fragments[0].fragment, *a = i->fragments[1].fragment;
    bool rows = i->stmt->axis == 1;
    check_free(m, first, count, f[1], a, false, instruction);
    check_free(m, first, count, f[0], d, true, instruction);
    for (int n = 0; n < (rows ? a->rows : a->columns); n++) {
        int left = rows ? a->columns : a->rows;
        sim_lane *all = sim_scratch(m, left);
        for (int j = 0; j < left; j++)
            all[j] = element_of(m, first, f[1], a, rows ? n : j, rows ? j : n, instruction);
        for (; left > 1; left = (left + 1) / 2)
            for (int j = 0; j < (left + 1) / 2; j++)
                all[j] = 2 * j + 1 < left ? sim_combine(i->stmt->combine, a->element, all[2 * j], all[2 * j + 1]) : all[2 * j];
        f[0]->values[n] = all[0];
        f[0]->written[n] = 1;
    }
}

/* Fragments side by side become one. */
static void convert(sim_machine *m, sim_thread *first, int count, int instruction, sim_fragment **f) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *d = i->fragments[0].fragment;
    check_free(m, first, count, f[0], d, true, instruction);
    for (int n = 1, from = 0; n < 4 && f[n]; from += i->fragments[n++].fragment->columns) {
        const kernel_fragment *a = i->fragments[n].fragment;
        check_free(m, first, count, f[n], a, false, instruction);
        if (f[n]->by_reference)
            fetch(m, first, count, instruction, f[n], a, false);
        for (int e = 0; e < a->rows * a->columns; e++) {
            int row = e / a->columns, column = e % a->columns, at = row * d->columns + from + column;
            f[0]->values[at] =
                sim_convert(d->element, a->element, element_of(m, first, f[n], a, row, column, instruction), false);
            f[0]->written[at] = 1;
        }
    }
    f[0]->by_reference = false;
}

/* Operands must be the same in all lanes. */
static bool uniform(sim_machine *m, sim_thread *first, int count, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const char *name = i->fragments[0].fragment->name;
    for (int n = 1; n < count; n++) {
        bool same = i->stmt->kind != KSTMT_FRAGMENT_FILL || !memcmp(first[n].operand, first->operand, sizeof(sim_lane));
        for (int v = 0; v < i->uniform_variables; v++)
            same = same && first[n].variables[i->uniform[v]] == first->variables[i->uniform[v]];
        for (int p = 0; p < i->uniform_places; p++) {
            const int *place = &i->uniform[i->uniform_variables + 2 * p];
            same = same && !memcmp(first[n].kept + place[0], first->kept + place[0], sizeof(sim_lane) * (size_t)place[1]);
        }
        if (!same) {
            sim_report_finding(m, SIM_DIVERGENCE, &first[n], instruction, NULL, name,
                               "the lanes that hold `%s` bring different operands", name);
            return false;
        }
    }
    return true;
}

void sim_fragment_step(sim_machine *m, sim_thread *first, int count, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    sim_fragment *f[4] = {NULL, NULL, NULL, NULL};
    if (!uniform(m, first, count, instruction))
        return;
    for (int n = 0; n < 4; n++)
        if (i->fragments[n].fragment && !(f[n] = resolve(m, first, &i->fragments[n], instruction)))
            return;
    const kernel_fragment *d = i->fragments[0].fragment;
    int elements = d->rows * d->columns;
    switch (i->stmt->kind) {
    case KSTMT_FRAGMENT_FILL:
        check_free(m, first, count, f[0], d, true, instruction);
        for (int n = 0; n < elements; n++)
            f[0]->values[n] = first->operand[0];
        memset(f[0]->written, 1, (size_t)elements);
        f[0]->by_reference = false;
        break;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: load_or_store(m, first, count, instruction, f[0]); break;
    case KSTMT_FRAGMENT_MMA: product(m, first, count, instruction, f); break;
    case KSTMT_FRAGMENT_MAP: map(m, first, count, instruction, f[0]); break;
    case KSTMT_FRAGMENT_REDUCE: reduce(m, first, count, instruction, f); break;
    case KSTMT_FRAGMENT_CONVERT: convert(m, first, count, instruction, f); break;
    default: break;
    }
}

/* ---- single elements ---- */
sim_lane sim_fragment_element(sim_machine *m, sim_thread *t, const sim_value *v, int row, int column, int instruction) {
    sim_fragment *f = resolve(m, t, &v->fragment, instruction);
    sim_lane nothing = {.i = 0};
    if (!f)
        return nothing;
    if (f->by_reference)
        fetch(m, t, m->sizes[v->fragment.fragment->holder], instruction, f, v->fragment.fragment, false);
    check_free(m, t, m->sizes[v->fragment.fragment->holder], f, v->fragment.fragment, false, instruction);
    return element_of(m, t, f, v->fragment.fragment, row, column, instruction);
}

/* Element e of a lane's share of an 8 x 8 fragment: the one arrangement known (sim_compile refuses others). The lane's number is (hi, cb, mid, ca) in bits
 * 1, 1, 2, 1; it holds row 4 hi + mid, columns 4 cb + 2 ca + {0, 1}. */
static bool share_place(sim_machine *m, sim_thread *t, const kernel_fragment *f, const sim_integer *element, int instruction,
                        int *row, int *column) {
    int lane = t->number % m->sizes[f->holder];
    int64_t e;
    if (!sim_evaluate_integer(m, t, element, instruction, &e))
        return false;
    if (e < 0 || e > 1) {
        sim_report_finding(m, SIM_BOUNDS, t, instruction, NULL, f->name,
                           "a lane holds 2 elements of `%s`, there is no element %lld", f->name, (long long)e);
        return false;
    }
    *row = 4 * (lane >> 4) + (lane >> 1 & 3);
    *column = 4 * (lane >> 3 & 1) + 2 * (lane & 1) + (int)e;
    return true;
}

sim_lane sim_lane_view(sim_machine *m, sim_thread *t, const sim_value *v, int instruction) {
    const kernel_fragment *shape = v->fragment.fragment;
    sim_fragment *f = resolve(m, t, &v->fragment, instruction);
    sim_lane nothing = {.i = 0};
    int row, column;
    if (!f || !share_place(m, t, shape, v->index, instruction, &row, &column))
        return nothing;
    check_free(m, t, 1, f, shape, false, instruction);
    return element_of(m, t, f, shape, row, column, instruction);
}

void sim_fragment_set(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_fragment *shape = i->fragments[0].fragment;
    sim_fragment *f = resolve(m, t, &i->fragments[0], instruction);
    sim_observer by = sim_observe(m, t, instruction);
    sim_lane value = *sim_evaluate(m, t, &by, i->value);
    int row, column;
    if (!f || !share_place(m, t, shape, i->element, instruction, &row, &column))
        return;
    check_free(m, t, 1, f, shape, true, instruction);
    f->values[row * shape->columns + column] = value;
    f->written[row * shape->columns + column] = 1;
    f->by_reference = false;
}
