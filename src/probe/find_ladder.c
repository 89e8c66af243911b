/* What ladders are made of: powers of two at positions, and random dots. */
#include "probe/find.h"
#include <stdlib.h>
#include <string.h>

ladder_dot ladder_zero(const matrix_ladder *l) {
    (void)l;
    return (ladder_dot){.possible = true};
}

void ladder_codes(const matrix_ladder *l, ladder_dot *d, int position, uint32_t a, uint32_t b) {
    if (position < 0 || position >= l->box->k) {
        d->possible = false;
        return;
    }
    d->question.a[position] = a;
    d->question.b[position] = b;
}

void ladder_power(const matrix_ladder *l, ladder_dot *d, int position, bool negative, int exponent) {
    number_kind ka = l->box->a, kb = l->box->b;
    int low_a = number_lowest_exponent(ka), high_a = number_highest_exponent(ka), low_b = number_lowest_exponent(kb);
    uint32_t a, b;
    /* The factor of a nearest to the middle for which b is normal; else b may be subnormal. */
    int middle = exponent / 2;
    for (int subnormal = 0; subnormal < 2; subnormal++)
        for (int away = 0; away <= high_a - low_a + 64; away++)
            for (int side = -1; side <= 1; side += 2) {
                int ea = middle + side * away, eb = exponent - ea;
                if ((!subnormal && (ea < low_a || eb < low_b)) || !number_make(ka, negative, ea, 0, &a) ||
                    !number_make(kb, false, eb, 0, &b))
                    continue;
                ladder_codes(l, d, position, a, b);
                return;
            }
    d->possible = false;
}

void ladder_addend(const matrix_ladder *l, ladder_dot *d, bool negative, int exponent, uint32_t fraction) {
    d->possible &= number_make(l->box->c, negative, exponent, fraction, &d->question.c);
}

void ladder_add(matrix_ladder *l, const ladder_dot *d) {
    if (d->possible)
        VEC_PUSH(l->arena, l->questions, d->question);
}

static int least(int x, int y) {
    return x < y ? x : y;
}

static int most(int x, int y) {
    return x > y ? x : y;
}

int ladder_highest(const matrix_box *b) {
    int products = number_highest_exponent(b->a) + number_highest_exponent(b->b);
    return least(least(products, number_highest_exponent(b->c) - 1), 60);
}

int ladder_lowest(const matrix_box *b) {
    int products = number_lowest_exponent(b->a) + number_lowest_exponent(b->b);
    return most(most(products, number_lowest_exponent(b->c)), -60);
}

/* ---- random dots ---- */

static uint64_t next(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static int between(uint64_t *state, int low, int high) {
    return high <= low ? low : low + (int)(next(state) % (uint64_t)(high - low + 1));
}

/* A code of about this exponent: subnormal or zero below the format, the largest above it. */
static uint32_t code_near(number_kind kind, uint64_t bits, int exponent) {
    const number_info *f = &number_table[kind];
    uint32_t sign = bits >> 63 ? number_sign_bit(kind) : 0, fraction = (uint32_t)(bits >> 8) & ((1u << f->stored_bits) - 1);
    int lowest = number_lowest_exponent(kind), highest = number_highest_exponent(kind);
    if (exponent < lowest) {
        int by = lowest - exponent;
        return sign | (by > f->stored_bits ? 0 : (fraction | 1u << f->stored_bits) >> by);
    }
    uint32_t code = (uint32_t)((exponent > highest ? highest : exponent) - lowest + 1) << f->stored_bits | fraction;
    return sign | (code > number_largest(kind) ? number_largest(kind) : code);
}

static uint32_t any_bits(number_kind kind, uint64_t *state, bool finite) {
    for (;;) {
        uint32_t code = (uint32_t)next(state) & (number_sign_bit(kind) * 2 - 1);
        if (!finite || number_decode(kind, code).class == NUMBER_FINITE)
            return code;
    }
}

static int stored(number_kind kind) {
    return number_table[kind].stored_bits;
}

static uint32_t operand(number_kind kind, uint64_t *state, int kind_of_dot, int half_lowest) {
    int low = number_lowest_exponent(kind), high = number_highest_exponent(kind), span = least(high, 20);
    uint64_t bits = next(state);
    switch (kind_of_dot) {
    case 0: return code_near(kind, bits, between(state, -1, 1));
    case 1:
    case 2: return code_near(kind, bits, between(state, most(low, -span), span / 4));
    case 3:
        return between(state, 0, 9) < 7 ? (uint32_t)(bits >> 63) * number_sign_bit(kind)
                                        : code_near(kind, bits, between(state, most(low - stored(kind), -span), span));
    case 4:
        return code_near(kind, bits,
                         low > -100 ? between(state, low - stored(kind), low + 2) : half_lowest + between(state, -12, 6));
    case 5: return code_near(kind, bits, low > -100 ? between(state, high - 5, high) : between(state, 58, 66));
    case 6: return any_bits(kind, state, true);
    default: return between(state, 0, 30) ? any_bits(kind, state, true) : any_bits(kind, state, false);
    }
}

static uint32_t addend(const matrix_box *b, uint64_t *state, int kind, int about) {
    int low = number_lowest_exponent(b->c);
    uint64_t bits = next(state);
    switch (between(state, 0, kind == 7 ? 9 : 8)) {
    case 0: return (uint32_t)(bits >> 63) * number_sign_bit(b->c);
    case 1: return any_bits(b->c, state, true);
    case 2: return code_near(b->c, bits, between(state, low - stored(b->c), low + 2));
    case 9: return any_bits(b->c, state, false);
    default: return code_near(b->c, bits, about + between(state, -4, 4));
    }
}

static void whole_dot(const matrix_box *b, uint64_t *state, int kind, matrix_question *q) {
    const uint32_t top_a = 1u << (number_bits(b->a) - 1), top_b = 1u << (number_bits(b->b) - 1);
    for (int i = 0; i < b->k; i++) {
        uint32_t x = (uint32_t)next(state), y = (uint32_t)next(state);
        bool edges = kind & 1;
        q->a[i] = edges ? (x & 1 ? top_a - 1 : top_a) : x & (2 * top_a - 1);
        q->b[i] = edges ? (y & 1 ? top_b - 1 : top_b) : y & (2 * top_b - 1);
    }
    /* a bit more than all products together */
    const int all = b->k << (number_bits(b->a) + number_bits(b->b) - 2);
    uint32_t near = (uint32_t)between(state, 0, all + all / 8);
    switch (kind / 2) {
    case 0: q->c = (uint32_t)next(state); break;
    case 1: q->c = 0x7FFFFFFFu - near; break;
    case 2: q->c = 0x80000000u + near; break;
    default: q->c = near - (uint32_t)all / 2; break;
    }
}

void ladder_random(const matrix_box *b, uint64_t *state, int kind, matrix_question *q) {
    if (!number_table[b->c].exponent_bits) {
        whole_dot(b, state, kind, q);
        return;
    }
    int about = -1000;
    /* Formats of a wide range: subnormals matter only beside what is as small, so now and then a whole dot has them, against large factors. */
    bool subnormals = kind == 4 && number_lowest_exponent(b->a) < -100 && between(state, 0, 3) == 0;
    for (int i = 0; i < b->k; i++) {
        q->a[i] = operand(b->a, state, kind, -68);
        q->b[i] = operand(b->b, state, kind, -68);
        if (subnormals) {
            q->a[i] = code_near(b->a, next(state), between(state, -134, -124));
            q->b[i] = code_near(b->b, next(state), between(state, 40, 60));
        }
        if (i && ((kind == 2 && between(state, 0, 2)) || (kind == 4 && between(state, 0, 3) == 0))) {
            /* The negative of an earlier product, sometimes a bit off. */
            int from = between(state, 0, i - 1);
            uint32_t a = q->a[from] ^ number_sign_bit(b->a) ^ (uint32_t)(between(state, 0, 2) == 0), other = q->b[from];
            if (number_decode(b->a, a).class == NUMBER_FINITE)
                q->a[i] = a, q->b[i] = other;
        }
        number x = number_decode(b->a, q->a[i]), y = number_decode(b->b, q->b[i]);
        if (x.class == NUMBER_FINITE && y.class == NUMBER_FINITE && x.significand && y.significand)
            about = most(about, x.exponent + y.exponent);
    }
    q->c = addend(b, state, kind, about == -1000 ? 0 : about);
    /* Sums of negative zeros alone. */
    if (kind == 3 && between(state, 0, 7) == 0) {
        for (int i = 0; i < b->k; i++) {
            q->a[i] = number_sign_bit(b->a);
            q->b[i] &= ~number_sign_bit(b->b);
        }
        q->c = number_sign_bit(b->c);
    }
}

const char *question_text(arena *a, const matrix_box *box, const matrix_question *q) {
    text_buffer b = {0};
    bool whole = !number_table[box->c].exponent_bits;
    if (whole)
        text_add(&b, "c = %d", (int)(int32_t)q->c);
    else if (number_decode(box->c, q->c).class == NUMBER_NAN)
        text_add(&b, "c = NaN 0x%X", q->c);
    else
        text_add(&b, "c = %a", number_value(box->c, q->c));
    int shown = 0, left = 0;
    for (int i = 0; i < box->k; i++) {
        if (!(q->a[i] & ~number_sign_bit(box->a)) && !(q->b[i] & ~number_sign_bit(box->b)))
            continue;
        if (shown == 6) {
            left++;
            continue;
        }
        if (whole)
            text_add(&b, "%s0x%02X x 0x%02X at %d", shown ? ", " : "; ", q->a[i], q->b[i], i);
        else
            text_add(&b, "%s%a x %a at %d", shown ? ", " : "; ", number_value(box->a, q->a[i]), number_value(box->b, q->b[i]), i);
        shown++;
    }
    if (left)
        text_add(&b, ", and %d more", left);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}
