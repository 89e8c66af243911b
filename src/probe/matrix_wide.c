/* An exact sum of numbers of any exponent. */
#include "probe/matrix_wide.h"

static void add_words(matrix_wide *sum, const uint64_t *words, bool subtract) {
    unsigned carry = subtract;
    for (int i = 0; i < MATRIX_WIDE_WORDS; i++) {
        uint64_t word = subtract ? ~words[i] : words[i], total = sum->words[i] + word;
        unsigned next = total < word;
        total += carry;
        next |= total < carry;
        sum->words[i] = total;
        carry = next;
    }
}

void matrix_wide_add(matrix_wide *sum, const number *x) {
    uint64_t words[MATRIX_WIDE_WORDS] = {0}, magnitude = (uint64_t)x->significand;
    int at = x->place - MATRIX_WIDE_LOWEST, word = at / 64, bit = at % 64;
    if (!magnitude || at < 0 || word + 1 >= MATRIX_WIDE_WORDS)
        return;
    words[word] = magnitude << bit;
    words[word + 1] = bit ? magnitude >> (64 - bit) : 0;
    add_words(sum, words, x->negative);
}

void matrix_wide_round(const matrix_wide *sum, bool *negative, uint64_t *magnitude, int *place, bool *sticky) {
    matrix_wide positive = *sum;
    *negative = sum->words[MATRIX_WIDE_WORDS - 1] >> 63;
    *magnitude = 0;
    *place = 0;
    *sticky = false;
    if (*negative) {
        positive = (matrix_wide){0};
        add_words(&positive, sum->words, true);
    }
    int top = MATRIX_WIDE_WORDS - 1;
    while (top >= 0 && !positive.words[top])
        top--;
    if (top < 0)
        return;
    int highest = 64 * top + 63 - __builtin_clzll(positive.words[top]), lowest = highest > 59 ? highest - 59 : 0;
    int word = lowest / 64, bit = lowest % 64;
    *magnitude = positive.words[word] >> bit;
    if (bit && word + 1 < MATRIX_WIDE_WORDS)
        *magnitude |= positive.words[word + 1] << (64 - bit);
    *place = lowest + MATRIX_WIDE_LOWEST;
    *sticky = (positive.words[word] & (((uint64_t)1 << bit) - 1)) != 0;
    for (int i = 0; i < word; i++)
        *sticky |= positive.words[i] != 0;
}
