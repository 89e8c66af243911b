/* Parameters of a unit as numbers that can be tried. */
#include "probe/find.h"
#include <inttypes.h>

/* shape in bits 0..3, descending bit 4, addend_apart bit 5, step_mask above. */
int64_t parameter_get(const matrix_unit *u, matrix_parameter p) {
    switch (p) {
    case PARAMETER_ORDER: return (int64_t)u->step_mask << 6 | u->addend_apart << 5 | u->descending << 4 | (int64_t)u->shape;
    case PARAMETER_ALIGNMENT: return u->alignment;
    case PARAMETER_CUT: return u->cut;
    case PARAMETER_OUTPUT_BITS: return u->output_bits;
    case PARAMETER_ROUNDING: return u->rounding;
    case PARAMETER_NORMALISED_PRODUCTS: return u->normalised_products;
    case PARAMETER_NORMALISED_OPERANDS: return u->normalised_operands;
    case PARAMETER_NORMALISED_ADDEND: return u->normalised_addend;
    case PARAMETER_ZEROS_COUNT: return u->zeros_count;
    case PARAMETER_LOWEST_EXPONENT: return u->lowest_exponent;
    case PARAMETER_FLUSH_OPERANDS: return u->flush_operands;
    case PARAMETER_FLUSH_ADDEND: return u->flush_addend;
    case PARAMETER_FLUSH_RESULT: return u->flush_result;
    case PARAMETER_SIGNED_ZERO: return u->signed_zero;
    case PARAMETER_OVERFLOW_CLAMPS: return u->overflow_clamps;
    case PARAMETER_NAN: return u->nan;
    case PARAMETER_IGNORED_BITS: return u->ignored_bits;
    case PARAMETER_SATURATE: return u->saturate;
    case PARAMETER_COUNT: break;
    }
    return 0;
}

void parameter_set(matrix_unit *u, matrix_parameter p, int64_t value) {
    switch (p) {
    case PARAMETER_ORDER:
        u->shape = (matrix_shape)(value & 15);
        u->descending = value >> 4 & 1;
        u->addend_apart = value >> 5 & 1;
        u->step_mask = (unsigned)(value >> 6);
        break;
    case PARAMETER_ALIGNMENT: u->alignment = (int)value; break;
    case PARAMETER_CUT: u->cut = (matrix_rounding)value; break;
    case PARAMETER_OUTPUT_BITS: u->output_bits = (int)value; break;
    case PARAMETER_ROUNDING: u->rounding = (matrix_rounding)value; break;
    case PARAMETER_NORMALISED_PRODUCTS: u->normalised_products = value; break;
    case PARAMETER_NORMALISED_OPERANDS: u->normalised_operands = (matrix_normalised)value; break;
    case PARAMETER_NORMALISED_ADDEND: u->normalised_addend = value; break;
    case PARAMETER_ZEROS_COUNT: u->zeros_count = value; break;
    case PARAMETER_LOWEST_EXPONENT: u->lowest_exponent = (int)value; break;
    case PARAMETER_FLUSH_OPERANDS: u->flush_operands = value; break;
    case PARAMETER_FLUSH_ADDEND: u->flush_addend = value; break;
    case PARAMETER_FLUSH_RESULT: u->flush_result = (matrix_flush)value; break;
    case PARAMETER_SIGNED_ZERO: u->signed_zero = value; break;
    case PARAMETER_OVERFLOW_CLAMPS: u->overflow_clamps = value; break;
    case PARAMETER_NAN: u->nan = (uint32_t)value; break;
    case PARAMETER_IGNORED_BITS: u->ignored_bits = (int)value; break;
    case PARAMETER_SATURATE: u->saturate = value; break;
    case PARAMETER_COUNT: break;
    }
}

static int range(int64_t *values, int from, int to) {
    int count = 0;
    for (int v = from; v <= to; v++)
        values[count++] = v;
    return count;
}

/* Any mask numbers steps. Two or four strands of two products at least, whose sums go to c. */
static bool is_order(int k, int shape, unsigned mask, int apart) {
    int strands = 1 << __builtin_popcount(mask);
    return shape == MATRIX_FUSED || (shape == MATRIX_STRANDS ? !apart && strands > 1 && strands <= 4 && 2 * strands <= k : !mask);
}

static int orders(int k, int64_t *values) {
    matrix_unit u = {.k = k};
    int count = 0;
    for (int apart = 0; apart < 2; apart++)
        for (int shape = 0; shape < MATRIX_SHAPES; shape++)
            for (unsigned mask = 0; mask < (unsigned)k; mask++)
                for (int descending = 0; is_order(k, shape, mask, apart) && descending < (mask ? 2 : 1); descending++) {
                    u.shape = (matrix_shape)shape;
                    u.step_mask = mask;
                    u.descending = descending;
                    u.addend_apart = apart;
                    values[count++] = parameter_get(&u, PARAMETER_ORDER);
                }
    return count;
}

int parameter_values(const matrix_unit *u, matrix_parameter p, int64_t *values) {
    int count = 0;
    switch (p) {
    case PARAMETER_ORDER: return orders(u->k, values);
    case PARAMETER_ALIGNMENT:
        count = range(values, 0, MATRIX_MOST_ALIGNMENT);
        values[count++] = MATRIX_EXACT;
        return count;
    case PARAMETER_CUT:
        values[count++] = MATRIX_TOWARD_ZERO;
        values[count++] = MATRIX_NEAREST;
        values[count++] = MATRIX_DOWN;
        return count;
    case PARAMETER_OUTPUT_BITS: return range(values, 1, number_table[u->c].stored_bits);
    case PARAMETER_ROUNDING: return range(values, 0, MATRIX_ROUNDINGS - 1);
    case PARAMETER_LOWEST_EXPONENT:
        values[count++] = MATRIX_NO_LOWEST;
        /* Only what some nonzero term is below can show. */
        for (int low = number_lowest_exponent(u->c), e = low - 24; e <= low + 8; e++)
            if (e > number_lowest_exponent(u->c) || e > number_lowest_exponent(u->a) + number_lowest_exponent(u->b))
                values[count++] = e;
        return count;
    case PARAMETER_IGNORED_BITS: return range(values, 0, number_table[u->a].stored_bits - 1);
    case PARAMETER_NORMALISED_OPERANDS: return range(values, 0, u->a == u->b ? MATRIX_BOTH : MATRIX_NORMALISED_COUNT - 1);
    case PARAMETER_FLUSH_RESULT: return range(values, 0, MATRIX_FLUSHES - 1);
    case PARAMETER_NAN: return 0;
    default: return range(values, 0, 1);
    }
}

bool parameter_aligns(matrix_parameter p) {
    return p == PARAMETER_CUT || p == PARAMETER_NORMALISED_PRODUCTS || p == PARAMETER_NORMALISED_OPERANDS ||
           p == PARAMETER_NORMALISED_ADDEND || p == PARAMETER_ZEROS_COUNT || p == PARAMETER_LOWEST_EXPONENT;
}

const char *parameter_name(matrix_parameter p) {
    static const char *const names[] = {"order",
                                        "alignment",
                                        "cut",
                                        "output bits",
                                        "rounding",
                                        "normalised products",
                                        "normalised operands",
                                        "normalised addend",
                                        "zeros count",
                                        "lowest exponent",
                                        "flush operands",
                                        "flush addend",
                                        "flush result",
                                        "signed zero",
                                        "overflow clamps",
                                        "nan",
                                        "ignored bits",
                                        "saturate"};
    return p < PARAMETER_COUNT ? names[p] : "?";
}

static const char *order_text(arena *a, const matrix_unit *u) {
    const char *last = u->addend_apart ? ", from 0; c is added last, rounding to nearest" : "";
    if (u->shape == MATRIX_TREE_NEIGHBOURS || u->shape == MATRIX_TREE_HALVES)
        return arena_printf(a, "a tree of pairs (%s), each sum rounded%s",
                            u->shape == MATRIX_TREE_HALVES ? "i and i + half" : "neighbours",
                            u->addend_apart ? last : ", c last");
    if (u->shape == MATRIX_LARGEST_FIRST)
        return arena_printf(a, "one after the other from the largest term on%s", last);
    int steps = 1 << __builtin_popcount(u->step_mask);
    text_buffer b = {0};
    if (u->shape == MATRIX_STRANDS)
        text_add(&b, "%d strands of %d products, each from 0, one after the other; strand = ", steps, u->k / steps);
    else if (steps == 1)
        return arena_printf(a, "all %d products at once%s", u->k, u->addend_apart ? last : ", with c");
    else if (steps == u->k)
        return arena_printf(a, "one product after the other, %s%s", u->descending ? "the last first" : "the first first", last);
    else
        text_add(&b, "%d steps of %d products, those of a step together; step = ", steps, u->k / steps);
    text_add(&b, "bit%s", __builtin_popcount(u->step_mask) > 1 ? "s" : "");
    for (int bit = 0; u->step_mask >> bit; bit++)
        if (u->step_mask >> bit & 1)
            text_add(&b, " %d", bit);
    if (u->shape == MATRIX_STRANDS)
        text_add(&b, " of the position%s; then the strands' sums in pairs, c last",
                 u->descending ? ", the last product first" : "");
    else
        text_add(&b, " of the position%s%s", u->descending ? ", the last step first" : "", last);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

const char *parameter_text(arena *a, const matrix_unit *u, matrix_parameter p, int64_t value) {
    static const char *const roundings[] = {"toward zero", "to nearest, ties to even", "to nearest, ties away", "down", "up"};
    matrix_unit other = *u;
    parameter_set(&other, p, value);
    switch (p) {
    case PARAMETER_ORDER: return order_text(a, &other);
    case PARAMETER_ALIGNMENT:
        return value == MATRIX_EXACT ? "terms are added exactly" : arena_printf(a, "terms are cut to 2^(E - %d)", (int)value);
    case PARAMETER_CUT: return arena_printf(a, "terms are cut %s", roundings[value]);
    case PARAMETER_OUTPUT_BITS: return arena_printf(a, "%d stored bits of the sum", (int)value);
    case PARAMETER_ROUNDING: return arena_printf(a, "the sum is rounded %s", roundings[value]);
    case PARAMETER_NORMALISED_PRODUCTS:
        return value ? "a product's exponent is its leading bit's" : "a product's exponent is its factors' sum";
    case PARAMETER_NORMALISED_OPERANDS:
        return value == MATRIX_NEITHER ? "a subnormal operand counts as the smallest normal exponent"
               : value == MATRIX_BOTH
                   ? "a subnormal operand counts by its leading bit: it was converted to a wider format"
                   : arena_printf(a,
                                  "a subnormal operand of %c counts by its leading bit: it was converted to a wider "
                                  "format, one of %c as the smallest normal exponent",
                                  value == MATRIX_A_ALONE ? 'a' : 'b', value == MATRIX_A_ALONE ? 'b' : 'a');
    case PARAMETER_NORMALISED_ADDEND:
        return value ? "a subnormal c counts by its leading bit" : "a subnormal c counts as the smallest normal exponent";
    case PARAMETER_ZEROS_COUNT: return value ? "zero products count for E" : "zero products do not count for E";
    case PARAMETER_LOWEST_EXPONENT:
        return value == MATRIX_NO_LOWEST ? "E has no lower limit" : arena_printf(a, "E is at least %d", (int)value);
    case PARAMETER_FLUSH_OPERANDS: return value ? "subnormal operands are read as zero" : "subnormal operands keep their value";
    case PARAMETER_FLUSH_ADDEND: return value ? "a subnormal c is read as zero" : "a subnormal c keeps its value";
    case PARAMETER_FLUSH_RESULT:
        return value == MATRIX_FLUSH_ROUNDED ? "results that are subnormal after rounding become zero"
               : value                       ? "results that are subnormal before rounding become zero"
                                             : "subnormal results are given";
    case PARAMETER_SIGNED_ZERO: return value ? "zero has the sign IEEE gives it" : "zero is +0";
    case PARAMETER_OVERFLOW_CLAMPS: return value ? "overflow gives the largest value" : "overflow gives infinity";
    case PARAMETER_NAN:
        return value ? arena_printf(a, "every NaN is 0x%0*" PRIX64, 2 * number_table[u->c].bytes, (uint64_t)value)
                     : "NaN results differ";
    case PARAMETER_IGNORED_BITS:
        return value ? arena_printf(a, "the lowest %d bits of an operand are not read", (int)value)
                     : "every bit of an operand is read";
    case PARAMETER_SATURATE: return value ? "sums clamp to s32" : "sums wrap mod 2^32";
    case PARAMETER_COUNT: break;
    }
    return "?";
}
