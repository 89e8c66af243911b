/* Values: integer expressions in mathematical integers, elements with each operation rounded by itself. */
#include "sim/machine.h"
#include <math.h>
#include <string.h>

bool sim_is_float(element_type t) {
    return element_table[t].is_float;
}

/* ---- integers ---- */
static int64_t floor_divide(int64_t x, int64_t y) {
    int64_t q = x / y;
    return x % y < 0 ? q - 1 : q;
}

static bool integer_failed(sim_machine *m, sim_thread *t, int instruction, const index_expr *x, const char *why) {
    if (!t || !t->finding) {
        text_buffer text = {0};
        ix_print(&text, x);
        sim_report_finding(m, SIM_OVERFLOW, t, instruction, NULL, NULL, "`%s` %s", text_get(&text), why);
        text_free(&text);
        if (t)
            t->finding = true;
    }
    return false;
}

static bool evaluate_integer(sim_machine *m, sim_thread *t, const sim_integer *x, int instruction, int64_t *value) {
    if (x->op == IX_CONST || x->op == IX_VAR) {
        *value = x->op == IX_CONST ? x->constant : t ? t->variables[x->variable] : m->launch[x->variable];
        return true;
    }
    int64_t a, b;
    if (!evaluate_integer(m, t, x->a, instruction, &a) || !evaluate_integer(m, t, x->b, instruction, &b))
        return false;
    bool overflow = false;
    switch (x->op) {
    case IX_ADD: overflow = __builtin_add_overflow(a, b, value); break;
    case IX_SUB: overflow = __builtin_sub_overflow(a, b, value); break;
    case IX_MUL: overflow = __builtin_mul_overflow(a, b, value); break;
    case IX_FLOORDIV:
    case IX_MOD:
        if (b <= 0)
            return integer_failed(m, t, instruction, x->source, "divides by what is not positive");
        *value = x->op == IX_FLOORDIV ? floor_divide(a, b) : a % b < 0 ? a % b + b : a % b;
        break;
    case IX_MIN: *value = a < b ? a : b; break;
    case IX_MAX: *value = a > b ? a : b; break;
    case IX_CONST:
    case IX_VAR: break;
    }
    if (overflow)
        return integer_failed(m, t, instruction, x->source, "does not fit 64 bits");
    if (m->options.index_bits == 32 && (*value < INT32_MIN || *value > INT32_MAX))
        return integer_failed(m, t, instruction, x->source, "does not fit 32 bits");
    return true;
}

bool sim_evaluate_integer(sim_machine *m, sim_thread *t, const sim_integer *x, int instruction, int64_t *value) {
    *value = 0;
    if (evaluate_integer(m, t, x, instruction, value))
        return true;
    *value = 0;
    return false;
}

int64_t sim_integer_of(sim_machine *m, sim_thread *t, const sim_integer *x, int instruction) {
    int64_t value;
    sim_evaluate_integer(m, t, x, instruction, &value);
    return value;
}

bool sim_condition_of(sim_machine *m, sim_thread *t, const sim_condition *c, int instruction) {
    int64_t x, y;
    switch (c->op) {
    case COND_TRUE: return true;
    case COND_AND: return sim_condition_of(m, t, c->a, instruction) && sim_condition_of(m, t, c->b, instruction);
    case COND_OR: return sim_condition_of(m, t, c->a, instruction) || sim_condition_of(m, t, c->b, instruction);
    case COND_NOT: return !sim_condition_of(m, t, c->a, instruction);
    default: break;
    }
    if (!sim_evaluate_integer(m, t, c->x, instruction, &x) || !sim_evaluate_integer(m, t, c->y, instruction, &y))
        return false;
    return c->op == COND_LE ? x <= y : c->op == COND_LT ? x < y : c->op == COND_EQ ? x == y : x != y;
}

/* ---- elements ---- */
/* The nearest value of a floating-point type, rounded once. */
static double round_to(element_type t, double x) {
    unsigned char bytes[8];
    if (t == ELEMENT_F32)
        return (double)(float)x;
    if (element_table[t].block_elements > 1)
        return x;
    element_store(t, bytes, 0, x);
    return element_load(t, bytes, 0);
}

static int width_of(element_type t) {
    return t == ELEMENT_INDEX ? 64 : t == ELEMENT_BOOL ? 1 : 8 * element_table[t].block_bytes;
}

/* An integer's low bits as the type reads them. */
static int64_t wrap(element_type t, uint64_t x) {
    switch (t) {
    case ELEMENT_I8: x &= 0xFF; return x < 0x80 ? (int64_t)x : (int64_t)x - 0x100;
    case ELEMENT_U8: return (int64_t)(x & 0xFF);
    case ELEMENT_U16: return (int64_t)(x & 0xFFFF);
    case ELEMENT_I32: x &= 0xFFFFFFFFu; return x < 0x80000000u ? (int64_t)x : (int64_t)x - 0x100000000;
    case ELEMENT_U32: return (int64_t)(x & 0xFFFFFFFFu);
    case ELEMENT_BOOL: return x != 0;
    default: {
        int64_t same;
        memcpy(&same, &x, sizeof same);
        return same;
    }
    }
}

/* Toward zero, saturating; NaN gives 0. */
static int64_t to_integer(element_type t, double x) {
    double lowest = t == ELEMENT_I8      ? -128
                    : t == ELEMENT_I32   ? (double)INT32_MIN
                    : t == ELEMENT_INDEX || t == ELEMENT_I64 ? -9223372036854775808.0
                                         : 0;
    double highest = t == ELEMENT_I8    ? 127
                     : t == ELEMENT_U8  ? 255
                     : t == ELEMENT_U16 ? 65535
                     : t == ELEMENT_I32 ? (double)INT32_MAX
                     : t == ELEMENT_U32 ? (double)UINT32_MAX
                                        : 9223372036854775808.0;
    if (isnan(x))
        return 0;
    if (x <= lowest)
        return t == ELEMENT_INDEX || t == ELEMENT_I64 ? INT64_MIN : (int64_t)lowest;
    if (x >= highest)
        return t == ELEMENT_INDEX || t == ELEMENT_I64 ? INT64_MAX : (int64_t)highest;
    return (int64_t)x;
}

sim_lane sim_convert(element_type to, element_type from, sim_lane x, bool saturate) {
    sim_lane r = {.i = 0};
    if (!sim_is_float(from)) {
        if (!sim_is_float(to))
            r.i = wrap(to, (uint64_t)x.i);
        else if (to == ELEMENT_F32)
            r.f = (double)(float)x.i;
        else
            r.f = round_to(to, (double)x.i);
        return r;
    }
    if (!sim_is_float(to)) {
        r.i = to_integer(to, x.f);
    } else if (to == ELEMENT_E4M3 && saturate) {
        r.f = (double)e4m3_to_f32(f32_to_e4m3((float)x.f, true));
    } else if (to == ELEMENT_E5M2 && saturate) {
        r.f = (double)e5m2_to_f32(f32_to_e5m2((float)x.f, true));
    } else {
        r.f = round_to(to, x.f);
    }
    return r;
}

/* a * b + c rounded once to t. For f16 the product is exact in a double and the sum is first rounded to odd, so that the second rounding
 * sees on which side of a tie it was. */
static double fused(element_type t, double a, double b, double c) {
    if (t == ELEMENT_F32)
        return (double)fmaf((float)a, (float)b, (float)c);
    double product = a * b, sum = product + c;
    if (isfinite(sum)) {
        double part = sum - product, error = (product - (sum - part)) + (c - part);
        uint64_t bits;
        memcpy(&bits, &sum, sizeof bits);
        if (error != 0 && !(bits & 1))
            sum = nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    }
    return round_to(t, sum);
}

static double least(double x, double y, bool greatest) {
    if (isnan(x))
        return y;
    if (isnan(y))
        return x;
    return greatest ? (x > y ? x : y) : (x < y ? x : y);
}

sim_lane sim_combine(kernel_op op, element_type t, sim_lane x, sim_lane y) {
    sim_lane r = {.i = 0};
    if (sim_is_float(t)) {
        switch (op) {
        case KERNEL_ADD: r.f = round_to(t, x.f + y.f); break;
        case KERNEL_SUB: r.f = round_to(t, x.f - y.f); break;
        case KERNEL_MUL: r.f = round_to(t, x.f * y.f); break;
        case KERNEL_DIV: r.f = round_to(t, x.f / y.f); break;
        case KERNEL_MIN:
        case KERNEL_MAX: r.f = least(x.f, y.f, op == KERNEL_MAX); break;
        case KERNEL_LT: r.i = x.f < y.f; break;
        case KERNEL_LE: r.i = x.f <= y.f; break;
        case KERNEL_EQ: r.i = x.f == y.f; break;
        case KERNEL_NE: r.i = x.f != y.f; break;
        default: break;
        }
        return r;
    }
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i, count = b & (uint64_t)(width_of(t) - 1);
    switch (op) {
    case KERNEL_ADD: r.i = wrap(t, a + b); break;
    case KERNEL_SUB: r.i = wrap(t, a - b); break;
    case KERNEL_MUL: r.i = wrap(t, a * b); break;
    case KERNEL_MIN: r.i = x.i < y.i ? x.i : y.i; break;
    case KERNEL_MAX: r.i = x.i > y.i ? x.i : y.i; break;
    case KERNEL_LT: r.i = x.i < y.i; break;
    case KERNEL_LE: r.i = x.i <= y.i; break;
    case KERNEL_EQ: r.i = x.i == y.i; break;
    case KERNEL_NE: r.i = x.i != y.i; break;
    case KERNEL_AND: r.i = x.i && y.i; break;
    case KERNEL_OR: r.i = x.i || y.i; break;
    case KERNEL_BIT_AND: r.i = wrap(t, a & b); break;
    case KERNEL_BIT_OR: r.i = wrap(t, a | b); break;
    case KERNEL_BIT_XOR: r.i = wrap(t, a ^ b); break;
    case KERNEL_SHL: r.i = wrap(t, a << count); break;
    case KERNEL_SHR: /* of a negative number: what floor(x / 2^count) gives */
        r.i = x.i < 0 ? (int64_t) ~(~a >> count) : (int64_t)(a >> count);
        break;
    default: break;
    }
    return r;
}

static sim_lane unary(kernel_op op, element_type t, sim_lane x) {
    sim_lane r = x;
    if (!sim_is_float(t)) {
        if (op == KERNEL_NOT)
            r.i = !x.i;
        else if (op == KERNEL_NEG || (op == KERNEL_ABS && x.i < 0))
            r.i = wrap(t, 0 - (uint64_t)x.i);
        return r;
    }
    float single = (float)x.f;
    switch (op) {
    case KERNEL_NEG: r.f = -x.f; break;
    case KERNEL_ABS: r.f = fabs(x.f); break;
    case KERNEL_FLOOR: r.f = floor(x.f); break;
    case KERNEL_RINT: r.f = rint(x.f); break;
    case KERNEL_SQRT: r.f = t == ELEMENT_F32 ? (double)sqrtf(single) : round_to(t, sqrt(x.f)); break;
    case KERNEL_EXP: r.f = (double)expf(single); break;
    case KERNEL_LOG: r.f = (double)logf(single); break;
    case KERNEL_TANH: r.f = (double)tanhf(single); break;
    case KERNEL_ERF: r.f = (double)erff(single); break;
    case KERNEL_SIN: r.f = (double)sinf(single); break;
    case KERNEL_COS: r.f = (double)cosf(single); break;
    case KERNEL_RSQRT: r.f = (double)(float)(1 / sqrt(x.f)); break;
    default: break;
    }
    return r;
}

static sim_lane bitcast(element_type to, element_type from, sim_lane x) {
    unsigned char bytes[8] = {0};
    sim_lane r = {.i = 0};
    element_store(from, bytes, 0, sim_is_float(from) ? x.f : (double)x.i);
    double value = element_load(to, bytes, 0);
    if (sim_is_float(to))
        r.f = value;
    else
        r.i = (int64_t)value;
    return r;
}

sim_lane *sim_scratch(sim_machine *m, int64_t count) {
    if (m->scratch_used + count > m->scratch_size) {
        /* the old piece stays valid: pointers into it are in use */
        m->scratch_size = 2 * (m->scratch_size + count);
        m->scratch = NEW_ARRAY(m->memory, sim_lane, m->scratch_size);
        m->scratch_used = 0;
    }
    sim_lane *lanes = m->scratch + m->scratch_used;
    m->scratch_used += count;
    memset(lanes, 0, sizeof *lanes * (size_t)count);
    return lanes;
}

/* Halves first: lane l with lane l + ceil(n / 2). */
static sim_lane across_lanes(kernel_op op, element_type t, sim_lane *lanes, int count) {
    while (count > 1) {
        int half = (count + 1) / 2;
        for (int l = 0; l + half < count; l++)
            lanes[l] = sim_combine(op, t, lanes[l], lanes[l + half]);
        count = half;
    }
    return lanes[0];
}

static void fill_constant(const sim_value *v, sim_lane *out) {
    for (int l = 0; l < v->lanes; l++)
        if (sim_is_float(v->type))
            out[l].f = round_to(v->type, v->source->number);
        else
            out[l].i = (int64_t)v->source->number;
}

static sim_lane *evaluate_leaf(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_value *v) {
    sim_lane *out;
    if (v->op == KERNEL_REF)
        return t->kept + v->place;
    out = sim_scratch(m, v->lanes);
    switch (v->op) {
    case KERNEL_CONST: fill_constant(v, out); break;
    case KERNEL_INDEX: out[0].i = sim_integer_of(m, t, v->index, by->instruction); break;
    case KERNEL_SCALAR:
        if (v->variable >= 0)
            out[0].i = wrap(v->type, (uint64_t)t->variables[v->variable]);
        else if (sim_is_float(v->type))
            out[0].f = round_to(v->type, (double)m->floats[v->place]);
        else
            out[0].i = to_integer(v->type, (double)m->floats[v->place]);
        break;
    case KERNEL_LOAD: sim_load(m, t, by, &v->access, out); break;
    case KERNEL_IOTA:
        for (int l = 0; l < v->lanes; l++)
            out[l].i = l;
        break;
    case KERNEL_LANE_VIEW: out[0] = sim_lane_view(m, t, v, by->instruction); break;
    case KERNEL_FRAGMENT_ELEMENT:
        out[0] = sim_fragment_element(m, t, v, m->position_row, m->position_column, by->instruction);
        break;
    default: break;
    }
    return out;
}

/* The element of a row or column vector at the map's position. */
static sim_lane vector_element(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_value *v) {
    int row = m->position_row, column = m->position_column;
    if (v->op == KERNEL_FRAGMENT_ROW)
        m->position_column = 0;
    else
        m->position_row = 0;
    sim_lane x = *sim_evaluate(m, t, by, v->operands[0]);
    m->position_row = row;
    m->position_column = column;
    return x;
}

sim_lane *sim_evaluate(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_value *v) {
    if (v->exchanges)
        return t->kept + v->place;
    if (!v->operand_count)
        return evaluate_leaf(m, t, by, v);
    if (v->op == KERNEL_FRAGMENT_ROW || v->op == KERNEL_FRAGMENT_COLUMN) {
        sim_lane *one = sim_scratch(m, 1);
        *one = vector_element(m, t, by, v);
        return one;
    }
    sim_lane *x[3] = {NULL, NULL, NULL};
    for (int i = 0; i < v->operand_count && i < 3; i++)
        x[i] = sim_evaluate(m, t, by, v->operands[i]);
    const sim_value *first = v->operands[0];
    element_type type = first->type;
    sim_lane *out = sim_scratch(m, v->lanes);
    switch (v->op) {
    case KERNEL_BROADCAST:
        for (int l = 0; l < v->lanes; l++)
            out[l] = x[0][0];
        break;
    case KERNEL_LANES_SUM:
    case KERNEL_LANES_MAX:
    case KERNEL_LANES_MIN: {
        sim_lane *work = sim_scratch(m, first->lanes);
        memcpy(work, x[0], sizeof *work * (size_t)first->lanes);
        out[0] = across_lanes(v->op == KERNEL_LANES_SUM   ? KERNEL_ADD
                              : v->op == KERNEL_LANES_MAX ? KERNEL_MAX
                                                          : KERNEL_MIN,
                              type, work, first->lanes);
        break;
    }
    case KERNEL_PREFIX_SELECT: {
        int64_t count = sim_integer_of(m, t, v->index, by->instruction);
        for (int l = 0; l < v->lanes; l++)
            out[l] = l < count ? x[0][l] : x[1][l];
        break;
    }
    case KERNEL_FMA:
        for (int l = 0; l < v->lanes; l++)
            out[l].f = fused(type, x[0][l].f, x[1][l].f, x[2][l].f);
        break;
    case KERNEL_SELECT:
        for (int l = 0; l < v->lanes; l++)
            out[l] = x[0][l].i ? x[1][l] : x[2][l];
        break;
    case KERNEL_CONVERT:
    case KERNEL_BITCAST:
        for (int l = 0; l < v->lanes; l++)
            out[l] = v->op == KERNEL_CONVERT ? sim_convert(v->type, type, x[0][l], v->source->saturate)
                                             : bitcast(v->type, type, x[0][l]);
        break;
    default:
        for (int l = 0; l < v->lanes; l++)
            out[l] = v->operand_count == 1 ? unary(v->op, type, x[0][l]) : sim_combine(v->op, type, x[0][l], x[1][l]);
        break;
    }
    return out;
}
