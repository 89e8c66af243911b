/* The model of a matrix unit: exact integers throughout. */
#include "probe/matrix_unit.h"
#include "probe/matrix_wide.h"
#include <string.h>

matrix_unit matrix_unit_plain(number_kind a, number_kind b, number_kind c, int k) {
    matrix_unit u = {.a = a, .b = b, .c = c, .k = k, .shape = MATRIX_FUSED, .step_mask = (unsigned)k - 1};
    u.alignment = MATRIX_EXACT;
    u.output_bits = number_table[c].stored_bits;
    u.rounding = MATRIX_NEAREST;
    u.lowest_exponent = MATRIX_NO_LOWEST;
    u.signed_zero = true;
    return u;
}

static bool is_whole(number_kind kind) {
    return !number_table[kind].exponent_bits;
}

const char *matrix_unit_fault(const matrix_unit *u) {
    if (u->k < 1 || u->k > MATRIX_LONGEST || (u->k & (u->k - 1)))
        return "the number of products is no power of two up to 64";
    if (u->a < 0 || u->a >= NUMBER_COUNT || u->b < 0 || u->b >= NUMBER_COUNT || u->c < 0 || u->c >= NUMBER_COUNT)
        return "no such number format";
    if (is_whole(u->a) || is_whole(u->b) || is_whole(u->c))
        return is_whole(u->a) && is_whole(u->b) && u->c == NUMBER_S32 && number_table[u->a].bytes == 1 &&
                       number_table[u->b].bytes == 1
                   ? NULL
                   : "whole numbers of 8 or 4 bits are summed in s32";
    if (u->c != NUMBER_F32 && u->c != NUMBER_F16)
        return "sums are f32 or f16";
    if (u->alignment != MATRIX_EXACT && (u->alignment < 0 || u->alignment > MATRIX_MOST_ALIGNMENT))
        return "terms are aligned to 0 to 40 bits, or exact";
    if (u->output_bits < 0 || u->output_bits > number_table[u->c].stored_bits)
        return "the result has more bits than its format";
    if (u->step_mask >= (unsigned)u->k || u->shape < 0 || u->shape >= MATRIX_SHAPES || u->cut < 0 || u->cut >= MATRIX_ROUNDINGS ||
        u->normalised_operands < 0 || u->normalised_operands >= MATRIX_NORMALISED_COUNT || u->rounding < 0 ||
        u->rounding >= MATRIX_ROUNDINGS)
        return "no such shape or rounding";
    if (u->ignored_bits < 0 || u->ignored_bits > 31)
        return "no such number of ignored bits";
    return NULL;
}

/* ---- rounding ---- */

/* Whether a magnitude cut off behind `odd`'s place goes up; `half`: -1, 0, 1 as the rest is less than, equal to, more than half of a unit; `rest`: it
 * is not zero. */
static bool goes_up(matrix_rounding mode, bool negative, bool odd, int half, bool rest) {
    switch (mode) {
    case MATRIX_NEAREST: return half > 0 || (half == 0 && odd);
    case MATRIX_NEAREST_AWAY: return half >= 0;
    case MATRIX_DOWN: return rest && negative;
    case MATRIX_UP: return rest && !negative;
    default: return false;
    }
}

static uint64_t shift_right(uint64_t magnitude, int by, matrix_rounding mode, bool negative) {
    if (by >= 64) {
        /* All of it is the rest; of 2^64 and more it is less than half, since magnitudes are below 2^63. */
        return goes_up(mode, negative, false, -1, magnitude != 0);
    }
    uint64_t kept = magnitude >> by, rest = magnitude - (kept << by), middle = (uint64_t)1 << (by - 1);
    return kept + goes_up(mode, negative, kept & 1, rest > middle ? 1 : rest == middle ? 0 : -1, rest != 0);
}

static uint32_t infinity_code(const matrix_unit *u, bool negative) {
    return number_infinity(u->c) | (negative ? number_sign_bit(u->c) : 0);
}

static uint32_t nan_code(const matrix_unit *u) {
    return u->nan ? u->nan : u->c == NUMBER_F16 ? 0x7E00 : 0x7FC00000;
}

/* The result's code of magnitude * 2^place, `sticky` when something below it was lost (then it is not zero). */
static uint32_t round_result(const matrix_unit *u, bool negative, uint64_t magnitude, int place, bool sticky, int bits,
                             matrix_rounding mode) {
    const number_info *f = &number_table[u->c];
    uint32_t sign = negative ? number_sign_bit(u->c) : 0, zero = u->signed_zero ? sign : 0;
    int lowest = number_lowest_exponent(u->c);
    if (!magnitude)
        return zero;
    int exponent = place + 63 - __builtin_clzll(magnitude);
    bool subnormal = exponent < lowest;
    if (subnormal && u->flush_result == MATRIX_FLUSH_EXACT)
        return zero;
    int unit = (subnormal && u->flush_result == MATRIX_KEEP ? lowest : exponent) - bits;
    if (sticky) { /* one more bit stands for all that is below it */
        if (magnitude >> 61) {
            magnitude |= 1;
        } else {
            magnitude = magnitude << 2 | 1;
            place -= 2;
        }
    }
    if (place < unit) {
        magnitude = shift_right(magnitude, unit - place, mode, negative);
        place = unit;
    }
    if (!magnitude || (u->flush_result == MATRIX_FLUSH_ROUNDED && place + 63 - __builtin_clzll(magnitude) < lowest))
        return zero;
    exponent = place + 63 - __builtin_clzll(magnitude);
    if (exponent > number_highest_exponent(u->c)) {
        bool clamps = u->overflow_clamps || (mode == MATRIX_DOWN && !negative) || (mode == MATRIX_UP && negative);
        return clamps ? number_largest(u->c) | sign : infinity_code(u, negative);
    }
    int format_unit = (exponent < lowest ? lowest : exponent) - f->stored_bits;
    uint64_t significand = place >= format_unit ? magnitude << (place - format_unit) : magnitude >> (format_unit - place);
    uint32_t field = significand >> f->stored_bits ? (uint32_t)(format_unit + f->stored_bits - lowest + 1) : 0;
    return sign | field << f->stored_bits | ((uint32_t)significand & ((1u << f->stored_bits) - 1));
}

/* ---- a step ---- */

/* Infinities and NaN among the terms. */
static bool special(const matrix_unit *u, const number *terms, int count, uint32_t *code) {
    bool plus = false, minus = false, nan = false;
    for (int i = 0; i < count; i++) {
        nan |= terms[i].class == NUMBER_NAN;
        plus |= terms[i].class == NUMBER_INFINITE && !terms[i].negative;
        minus |= terms[i].class == NUMBER_INFINITE && terms[i].negative;
    }
    if (!nan && !plus && !minus)
        return false;
    *code = nan || (plus && minus) ? nan_code(u) : infinity_code(u, minus);
    return true;
}

static bool all_negative(const number *terms, int count) {
    for (int i = 0; i < count; i++)
        if (!terms[i].negative)
            return false;
    return true;
}

static int leading(const number *x) {
    return x->place + 63 - __builtin_clzll((uint64_t)x->significand);
}

/* The sum of terms, cut, added exactly and rounded. Terms that are products count by `exponent`, as the unit's rules made it. */
static uint32_t add_terms(const matrix_unit *u, const number *terms, int count, int bits, matrix_rounding mode) {
    uint32_t code;
    if (special(u, terms, count, &code))
        return code;
    if (u->alignment == MATRIX_EXACT) {
        matrix_wide sum = {0};
        for (int i = 0; i < count; i++)
            matrix_wide_add(&sum, &terms[i]);
        bool negative, sticky;
        uint64_t magnitude;
        int place;
        matrix_wide_round(&sum, &negative, &magnitude, &place, &sticky);
        return round_result(u, magnitude ? negative : all_negative(terms, count), magnitude, place, sticky, bits, mode);
    }
    int largest = INT32_MIN;
    for (int i = 0; i < count; i++)
        if (terms[i].exponent > largest && (terms[i].significand || (u->zeros_count && i + 1 < count)))
            largest = terms[i].exponent;
    if (largest == INT32_MIN)
        return round_result(u, all_negative(terms, count), 0, 0, false, bits, mode);
    if (largest < u->lowest_exponent)
        largest = u->lowest_exponent;
    int unit = largest - u->alignment;
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        uint64_t magnitude = (uint64_t)terms[i].significand;
        if (!magnitude)
            continue;
        int by = terms[i].place - unit;
        magnitude = by >= 0 ? magnitude << by : shift_right(magnitude, -by, u->cut, terms[i].negative);
        sum += terms[i].negative ? -(int64_t)magnitude : (int64_t)magnitude;
    }
    bool negative = sum ? sum < 0 : all_negative(terms, count);
    return round_result(u, negative, sum < 0 ? (uint64_t)-sum : (uint64_t)sum, unit, false, bits, mode);
}

static number addend_of(const matrix_unit *u, uint32_t code) {
    number x = number_decode(u->c, code);
    if (x.class != NUMBER_FINITE || x.significand >= (int64_t)1 << number_table[u->c].stored_bits)
        return x;
    if (u->flush_addend)
        x.significand = 0;
    else if (u->normalised_addend && x.significand)
        x.exponent = leading(&x);
    return x;
}

/* ---- a dot ---- */

static number operand_of(const matrix_unit *u, number_kind kind, bool normalised, uint32_t code) {
    number x = number_decode(kind, u->ignored_bits ? code & ~((1u << u->ignored_bits) - 1) : code);
    if (x.class != NUMBER_FINITE || x.significand >= (int64_t)1 << number_table[kind].stored_bits)
        return x;
    if (u->flush_operands)
        x.significand = 0;
    else if (normalised && x.significand)
        x.exponent = leading(&x);
    return x;
}

void matrix_unit_products(const matrix_unit *u, const uint32_t *a, const uint32_t *b, matrix_terms *out) {
    const matrix_normalised n = u->normalised_operands;
    const bool of_a = n == MATRIX_BOTH || n == MATRIX_A_ALONE, of_b = n == MATRIX_BOTH || n == MATRIX_B_ALONE;
    out->count = u->k;
    for (int i = 0; i < u->k; i++) {
        number x = operand_of(u, u->a, of_a, a[i]), y = operand_of(u, u->b, of_b, b[i]), *p = &out->products[i];
        p->negative = x.negative != y.negative;
        p->significand = x.significand * y.significand;
        p->exponent = x.exponent + y.exponent;
        p->place = x.place + y.place;
        p->class = NUMBER_FINITE;
        if (x.class == NUMBER_NAN || y.class == NUMBER_NAN)
            p->class = NUMBER_NAN;
        else if (x.class == NUMBER_INFINITE || y.class == NUMBER_INFINITE)
            p->class = (x.class == NUMBER_FINITE && !x.significand) || (y.class == NUMBER_FINITE && !y.significand)
                           ? NUMBER_NAN
                           : NUMBER_INFINITE;
        else if (u->normalised_products && p->significand)
            p->exponent = leading(p);
    }
}

/* The position's bits under the mask, moved together. */
static unsigned step_of(unsigned position, unsigned mask) {
    unsigned step = 0;
    for (unsigned bit = 0, to = 0; mask >> bit; bit++)
        if (mask >> bit & 1)
            step |= (position >> bit & 1) << to++;
    return step;
}

static uint32_t sum_in_steps(const matrix_unit *u, const matrix_terms *t, uint32_t code) {
    int steps = 1 << __builtin_popcount(u->step_mask), width = u->k / steps;
    number terms[MATRIX_LONGEST + 1], placed[MATRIX_LONGEST];
    int filled[MATRIX_LONGEST] = {0};
    const number *products = t->products;
    if (steps > 1) {
        for (int i = 0; i < u->k; i++) {
            unsigned step = step_of((unsigned)i, u->step_mask);
            if (u->descending)
                step = (unsigned)steps - 1 - step;
            placed[(int)step * width + filled[step]++] = t->products[i];
        }
        products = placed;
    }
    for (int s = 0; s < steps; s++) {
        memcpy(terms, products + s * width, (size_t)width * sizeof *terms);
        terms[width] = addend_of(u, code);
        code = add_terms(u, terms, width + 1, u->output_bits, u->rounding);
    }
    return code;
}

static uint32_t add_two(const matrix_unit *u, uint32_t x, uint32_t y) {
    number terms[2] = {addend_of(u, x), addend_of(u, y)};
    return add_terms(u, terms, 2, u->output_bits, u->rounding);
}

static uint32_t sum_in_tree(const matrix_unit *u, const matrix_terms *t, uint32_t code) {
    uint32_t at[MATRIX_LONGEST];
    for (int i = 0; i < u->k; i++)
        at[i] = add_terms(u, &t->products[i], 1, u->output_bits, u->rounding);
    for (int count = u->k; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++)
            at[i] = u->shape == MATRIX_TREE_HALVES ? add_two(u, at[i], at[i + count / 2]) : add_two(u, at[2 * i], at[2 * i + 1]);
    return add_two(u, code, at[0]);
}

static uint32_t sum_in_strands(const matrix_unit *u, const matrix_terms *t, uint32_t code) {
    int strands = 1 << __builtin_popcount(u->step_mask);
    uint32_t at[MATRIX_LONGEST] = {0};
    for (int i = 0; i < u->k; i++) {
        int position = u->descending ? u->k - 1 - i : i;
        unsigned strand = step_of((unsigned)position, u->step_mask);
        number terms[2] = {t->products[position], addend_of(u, at[strand])};
        at[strand] = add_terms(u, terms, 2, u->output_bits, u->rounding);
    }
    for (int count = strands; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++)
            at[i] = add_two(u, at[2 * i], at[2 * i + 1]);
    return add_two(u, code, at[0]);
}

/* Whether x is larger than y in magnitude. */
static bool is_larger(const number *x, const number *y) {
    if (!x->significand || !y->significand)
        return x->significand > y->significand;
    int ex = leading(x), ey = leading(y);
    if (ex != ey)
        return ex > ey;
    int place = x->place < y->place ? x->place : y->place;
    return x->significand << (x->place - place) > y->significand << (y->place - place);
}

static uint32_t sum_from_largest(const matrix_unit *u, const matrix_terms *t, uint32_t code) {
    number terms[MATRIX_LONGEST + 1], pair[2];
    uint32_t sum;
    terms[0] = addend_of(u, code);
    memcpy(terms + 1, t->products, (size_t)u->k * sizeof *terms);
    if (special(u, terms, u->k + 1, &sum))
        return sum;
    int first = 0;
    for (int i = 1; i <= u->k; i++)
        if (is_larger(&terms[i], &terms[first]))
            first = i;
    sum = add_terms(u, &terms[first], 1, u->output_bits, u->rounding);
    for (int i = 0; i <= u->k; i++)
        if (i != first) {
            pair[0] = terms[i];
            pair[1] = addend_of(u, sum);
            sum = add_terms(u, pair, 2, u->output_bits, u->rounding);
        }
    return sum;
}

static uint32_t sum_whole(const matrix_unit *u, const matrix_terms *t, uint32_t c) {
    int64_t sum = (int32_t)c;
    for (int i = 0; i < u->k; i++)
        sum += t->products[i].negative ? -t->products[i].significand : t->products[i].significand;
    if (u->saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

uint32_t matrix_unit_sum(const matrix_unit *u, const matrix_terms *t, uint32_t c) {
    if (is_whole(u->c))
        return sum_whole(u, t, c);
    uint32_t first = u->addend_apart ? 0 : c, sum;
    switch (u->shape) {
    case MATRIX_TREE_NEIGHBOURS:
    case MATRIX_TREE_HALVES: sum = sum_in_tree(u, t, first); break;
    case MATRIX_STRANDS: sum = sum_in_strands(u, t, first); break;
    case MATRIX_LARGEST_FIRST: sum = sum_from_largest(u, t, first); break;
    default: sum = sum_in_steps(u, t, first); break;
    }
    if (!u->addend_apart)
        return sum;
    /* An addition of its own: exact, to nearest, with a zero's sign. */
    matrix_unit last = *u;
    last.alignment = MATRIX_EXACT;
    last.signed_zero = true;
    last.overflow_clamps = false;
    number terms[2] = {addend_of(u, c), addend_of(u, sum)};
    return add_terms(&last, terms, 2, number_table[u->c].stored_bits, MATRIX_NEAREST);
}

uint32_t matrix_unit_dot(const matrix_unit *u, const uint32_t *a, const uint32_t *b, uint32_t c) {
    matrix_terms t;
    matrix_unit_products(u, a, b, &t);
    return matrix_unit_sum(u, &t, c);
}

bool matrix_unit_agrees(const matrix_unit *u, uint32_t model, uint32_t answer) {
    return model == answer || (!is_whole(u->c) && !u->nan && number_decode(u->c, model).class == NUMBER_NAN &&
                               number_decode(u->c, answer).class == NUMBER_NAN);
}
