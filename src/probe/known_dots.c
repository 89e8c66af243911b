/* Dots on which published models of matrix units differ: what the device answers, and which models that refutes. */
#include "probe/probe.h"
#include <math.h>
#include <string.h>

enum { MOST_FACTORS = 4 };
typedef struct known_factor {
    double a, b;
    int times;
} known_factor;
typedef struct known_dot {
    const char *instructions;
    uint32_t c;
    int steps, from, distance;
    known_factor factors[MOST_FACTORS];
    uint32_t answer;
} known_dot;
#define FACTORS(...)                                                                                                             \
    { __VA_ARGS__ }
#define KNOWN(instructions, c, steps, from, distance, factors, answer) {instructions, c, steps, from, distance, factors, answer},
static const known_dot rows[] = {
#include "probe/known_dots.def"
};

/* A model that has been published of such units, as parameters; false: it is none of these formats. */
typedef struct published_model {
    const char *name;
    bool (*make)(const matrix_box *box, matrix_unit *out);
} published_model;

static bool is_byte(const matrix_box *b) {
    return number_table[b->a].bytes == 1;
}

static matrix_unit fused(const matrix_box *box, int alignment) {
    matrix_unit u = matrix_unit_plain(box->a, box->b, box->c, box->k);
    u.step_mask = 0;
    u.alignment = alignment;
    u.rounding = box->c == NUMBER_F16 ? MATRIX_NEAREST : MATRIX_TOWARD_ZERO;
    u.nan = box->c == NUMBER_F16 ? 0x7FFF : 0x7FFFFFFF;
    u.ignored_bits = box->a == NUMBER_F32 ? 13 : 0;
    u.signed_zero = false;
    return u;
}

static bool in_order(const matrix_box *box, matrix_unit *out) {
    *out = matrix_unit_plain(box->a, box->b, box->c, box->k);
    out->nan = fused(box, 25).nan; /* no model says which NaN */
    out->ignored_bits = fused(box, 25).ignored_bits;
    return true;
}

static bool exact_sum(const matrix_box *box, matrix_unit *out) {
    *out = fused(box, MATRIX_EXACT);
    out->rounding = MATRIX_NEAREST;
    return true;
}

static bool volta(const matrix_box *box, matrix_unit *out) {
    *out = fused(box, 23);
    out->step_mask = box->k > 4 ? (unsigned)(box->k - 1) & ~3u : 0;
    return !is_byte(box);
}

static bool ampere(const matrix_box *box, matrix_unit *out) {
    *out = fused(box, 24);
    out->step_mask = box->k > 8 ? 8 : 0;
    return !is_byte(box);
}

static bool native(const matrix_box *box, matrix_unit *out) {
    *out = fused(box, 25);
    return true;
}

static bool narrow(const matrix_box *box, matrix_unit *out) {
    *out = fused(box, 13);
    out->output_bits = box->c == NUMBER_F32 ? 13 : 10;
    return is_byte(box);
}

static const published_model models[] = {
    {"products added one after the other, each sum to nearest", in_order},
    {"the exact sum rounded once, to nearest", exact_sum},
    {"4 products at a time cut to 23 bits (said of V100)", volta},
    {"8 products at a time cut to 24 bits (said of A100)", ampere},
    {"all products of an instruction cut to 25 bits, E without a lower limit (said of f16 on Hopper)", native},
    {"all products of an instruction cut to 13 bits, 14 kept (said of fp8 on Hopper)", narrow},
};
enum { MODELS = sizeof models / sizeof *models };

static uint32_t code_of(number_kind kind, double value) {
    uint32_t code = 0;
    int exponent;
    double m = frexp(fabs(value), &exponent);
    if (!number_table[kind].exponent_bits)
        return (uint32_t)(int32_t)value & (uint32_t)((UINT64_C(1) << number_bits(kind)) - 1);
    /* what tf32 does not read may stand below what it keeps: f32 has it all */
    return number_encode(kind, signbit(value), (uint64_t)ldexp(m, 40), exponent - 40, &code) ? code : 0;
}

/* Whether `word` stands among words. */
static bool among(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

/* Step number `step` of a row, without c. */
static void place(const known_dot *row, const matrix_box *box, int step, matrix_question *q) {
    int at = row->from;
    memset(q, 0, sizeof *q);
    for (int f = 0; f < MOST_FACTORS; f++)
        for (int i = 0; i < row->factors[f].times; i++, at += row->distance)
            if (at / box->k == step) {
                q->a[at % box->k] = code_of(box->a, row->factors[f].a);
                q->b[at % box->k] = code_of(box->b, row->factors[f].b);
            }
}

static bool ask(const known_dot *row, const matrix_box *box, uint32_t *answer, diag_list *diags) {
    int unstable;
    *answer = row->c;
    for (int step = 0; step < row->steps; step++) {
        matrix_question q;
        place(row, box, step, &q);
        q.c = *answer;
        if (!matrix_box_ask(box, &q, 1, &unstable, diags))
            return false;
        *answer = q.answer;
    }
    return true;
}

static uint32_t modelled(const known_dot *row, const matrix_box *box, const matrix_unit *u) {
    uint32_t c = row->c;
    for (int step = 0; step < row->steps; step++) {
        matrix_question q;
        place(row, box, step, &q);
        c = matrix_unit_dot(u, q.a, q.b, c);
    }
    return c;
}

/* The dot in words: question_text of it where it is one instruction's. */
static const char *words(arena *a, const known_dot *row, const matrix_box *box) {
    matrix_question q;
    if (row->steps == 1) {
        place(row, box, 0, &q);
        q.c = row->c;
        return question_text(a, box, &q);
    }
    text_buffer t = {0};
    text_add(&t, "%d instructions one after the other: ", row->steps);
    for (int f = 0; f < MOST_FACTORS && row->factors[f].times; f++)
        text_add(&t, "%s%d x %g", f ? ", then " : "", row->factors[f].times, row->factors[f].a * row->factors[f].b);
    const char *text = arena_strdup(a, text_get(&t));
    text_free(&t);
    return text;
}

bool known_dots(arena *a, const probe_target *t, known_finding *out, diag_list *diags) {
    const matrix_box *box = &t->box;
    int refuted[MODELS] = {0};
    matrix_unit units[MODELS];
    bool fits[MODELS], whole = !number_table[box->c].exponent_bits;
    for (int m = 0; m < MODELS; m++)
        fits[m] = !whole && models[m].make(box, &units[m]) && !matrix_unit_fault(&units[m]);
    *out = (known_finding){0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t answer;
        if (!among(rows[i].instructions, box->instruction))
            continue;
        if (!ask(&rows[i], box, &answer, diags))
            return false;
        text_buffer line = {0};
        text_add(&line, "%s: 0x%X", words(a, &rows[i], box), answer);
        if (answer != rows[i].answer)
            text_add(&line, ", and not 0x%X as recorded", rows[i].answer);
        for (int m = 0; m < MODELS; m++) {
            uint32_t its = fits[m] ? modelled(&rows[i], box, &units[m]) : answer;
            if (its == answer)
                continue;
            text_add(&line, "; \"%s\" would give 0x%X", models[m].name, its);
            refuted[m]++;
        }
        out->asked++;
        out->as_recorded += answer == rows[i].answer;
        VEC_PUSH(a, out->evidence, arena_strdup(a, text_get(&line)));
        text_free(&line);
    }
    text_buffer verdict = {0};
    int left = 0;
    for (int m = 0; m < MODELS; m++)
        left += fits[m] && !refuted[m];
    text_add(&verdict, "%d of %d as recorded of an H200", out->as_recorded, out->asked);
    for (int m = 0, any = 0; m < MODELS; m++)
        if (refuted[m]) {
            text_add(&verdict, "%s\"%s\" (%d)", any++ ? ", " : "; refuted: ", models[m].name, refuted[m]);
        }
    for (int m = 0, any = 0; m < MODELS && out->asked; m++)
        if (fits[m] && !refuted[m])
            text_add(&verdict, "%s\"%s\"", any++ ? ", " : "; not refuted by them: ", models[m].name);
    if (!left && !whole && out->asked)
        text_add(&verdict, "; none of the published models is left");
    out->verdict = arena_strdup(a, text_get(&verdict));
    text_free(&verdict);
    return true;
}
