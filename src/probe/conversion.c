/* What a conversion does: every rule is held against every answer. */
#include "probe/conversion.h"
#include "probe/patience.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1 << 20, LOW_BITS = 12, PATTERNS = CONVERSION_MOST_PATTERNS, MOST_RULES = CONVERT_ROUNDINGS * 8 };

/* ---- a rule ---- */

static uint32_t beyond(const conversion_box *box, bool saturates) {
    uint32_t largest = number_largest(box->to) >> (number_table[box->to].stored_bits - box->kept_bits)
                                                      << (number_table[box->to].stored_bits - box->kept_bits);
    return saturates ? largest : number_infinity(box->to);
}

uint32_t conversion_apply(const conversion_box *box, const conversion_rule *rule, uint32_t code) {
    number x = number_decode(box->from, code);
    uint32_t sign = x.negative ? number_sign_bit(box->to) : 0, out;
    uint64_t significand = (uint64_t)x.significand;
    if (rule->flushes_in && !(significand >> number_table[box->from].stored_bits))
        significand = 0;
    if (!significand)
        return sign;
    int exponent = x.place + 63 - __builtin_clzll(significand), lowest = number_lowest_exponent(box->to);
    int unit = (exponent > lowest ? exponent : lowest) - box->kept_bits, place = x.place;
    if (place < unit) {
        int shift = unit - place;
        uint64_t whole = shift > 62 ? 0 : significand >> shift, rest = shift > 62 ? 1 : significand - (whole << shift),
                 half = shift > 62 ? 2 : UINT64_C(1) << (shift - 1);
        bool up = rule->rounding == CONVERT_TO_EVEN ? rest > half || (rest == half && (whole & 1))
                  : rule->rounding == CONVERT_AWAY  ? rest >= half
                                                    : false;
        significand = whole + up;
        place = unit;
    }
    if (!significand)
        return sign;
    exponent = place + 63 - __builtin_clzll(significand);
    if (exponent < lowest && rule->flushes_out)
        return sign;
    return number_encode(box->to, x.negative, significand, place, &out) ? out : sign | beyond(box, rule->saturates);
}

/* What all of some rules say; where they differ, no value tells. */
static const char *common_text(arena *a, const conversion_rule *const *rules, int count) {
    static const char *const roundings[] = {"rounds to nearest, ties to even", "rounds to nearest, ties away from zero",
                                            "rounds toward zero"};
    const conversion_rule *x = rules[0];
    bool rounds = true, saturates = true, in = true, out = true;
    for (int i = 1; i < count; i++) {
        rounds = rounds && rules[i]->rounding == x->rounding;
        saturates = saturates && rules[i]->saturates == x->saturates;
        in = in && rules[i]->flushes_in == x->flushes_in;
        out = out && rules[i]->flushes_out == x->flushes_out;
    }
    return arena_printf(a, "%s%s%s%s", rounds ? roundings[x->rounding] : "exact",
                        !saturates     ? ""
                        : x->saturates ? "; beyond the largest it gives the largest"
                                       : "; beyond the largest it gives infinity (NaN where there is none)",
                        !in             ? ""
                        : x->flushes_in ? "; subnormals are read as zero"
                                        : "; subnormals are read",
                        !out             ? ""
                        : x->flushes_out ? "; subnormal results are zero"
                                         : "; subnormal results are kept");
}

const char *conversion_rule_text(arena *a, const conversion_rule *rule) {
    return common_text(a, &rule, 1);
}

/* A quiet NaN with the operand's sign and as many of its fraction's upper bits as fit. */
static uint32_t nan_kept(const conversion_box *box, uint32_t code) {
    const number_info *from = &number_table[box->from], *to = &number_table[box->to];
    uint32_t fraction = code & ((1u << from->stored_bits) - 1), quiet = 1u << (to->stored_bits - 1);
    int shift = to->stored_bits - from->stored_bits;
    return (code & number_sign_bit(box->from) ? number_sign_bit(box->to) : 0) | number_infinity(box->to) | quiet |
           (shift < 0 ? fraction >> -shift : fraction << shift);
}

/* ---- questions ---- */

conversion_questions conversion_questions_of(number_kind from) {
    int bytes = number_table[from].bytes;
    if (bytes < 4)
        return (conversion_questions){INT64_C(1) << (8 * bytes), 0, 1, {0}};
    return (conversion_questions){
        (INT64_C(1) << (32 - LOW_BITS)) * PATTERNS, LOW_BITS, PATTERNS, {0, 1, 0x555, 0x7FF, 0x800, 0x801, 0xFFE, 0xFFF}};
}

uint32_t conversion_question(const conversion_questions *q, int64_t i) {
    return (uint32_t)(i / q->patterns) << q->low_bits | q->low[i % q->patterns];
}

typedef struct candidate {
    conversion_rule rule;
    int64_t wrong;
    uint32_t code, answer, said; /* the first that refutes it */
} candidate;

typedef struct specials {
    int64_t nans;
    uint32_t nan;
    bool one_nan, kept_upper;
    uint32_t infinity[2];
} specials;

static uint32_t kept(const conversion_box *box, uint32_t code) {
    int dropped = number_table[box->to].stored_bits - box->kept_bits;
    return code >> dropped << dropped;
}

static void note_special(const conversion_box *box, number x, uint32_t code, uint32_t answer, specials *s) {
    if (x.class == NUMBER_INFINITE) {
        s->infinity[x.negative] = answer;
        return;
    }
    if (!s->nans++)
        s->nan = answer, s->one_nan = s->kept_upper = true;
    s->one_nan = s->one_nan && answer == s->nan;
    s->kept_upper = s->kept_upper && kept(box, answer) == kept(box, nan_kept(box, code));
}

static const char *special_text(arena *a, const conversion_box *box, const specials *s) {
    const char *nan = !s->nans        ? "the operand has no NaN"
                      : s->one_nan    ? arena_printf(a, "NaN gives 0x%X", s->nan)
                      : s->kept_upper ? "NaN keeps its sign and upper bits, made quiet"
                                      : "NaN gives several codes";
    if (!number_table[box->from].has_infinity)
        return nan;
    return arena_printf(a, "%s; +infinity gives 0x%X, -infinity 0x%X", nan, s->infinity[0], s->infinity[1]);
}

static int make_rules(candidate rules[MOST_RULES]) {
    int count = 0;
    for (int r = 0; r < CONVERT_ROUNDINGS; r++)
        for (int flags = 0; flags < 8; flags++)
            rules[count++] = (candidate){.rule = {(conversion_rounding)r, flags & 1, (flags & 2) != 0, (flags & 4) != 0}};
    return count;
}

static void judge(const conversion_box *box, const uint32_t *codes, const uint32_t *answers, int count, candidate *rules,
                  int rule_count, specials *special) {
    for (int i = 0; i < count; i++) {
        number x = number_decode(box->from, codes[i]);
        if (x.class != NUMBER_FINITE) {
            note_special(box, x, codes[i], answers[i], special);
            continue;
        }
        for (int r = 0; r < rule_count; r++) {
            if (rules[r].wrong > 100) /* it has fallen */
                continue;
            uint32_t said = conversion_apply(box, &rules[r].rule, codes[i]);
            if (kept(box, said) == kept(box, answers[i]))
                continue;
            if (!rules[r].wrong++)
                rules[r].code = codes[i], rules[r].answer = answers[i], rules[r].said = said;
        }
    }
}

static void conclude(arena *a, const conversion_box *box, const candidate *rules, int count, const specials *special,
                     conversion_finding *out) {
    const conversion_rule *alive[MOST_RULES];
    int left = 0;
    for (int r = 0; r < count; r++)
        if (!rules[r].wrong)
            alive[left++] = &rules[r].rule;
    const candidate *nearest = &rules[0];
    for (int r = 1; r < count; r++)
        nearest = rules[r].wrong < nearest->wrong ? &rules[r] : nearest;
    out->determined = left > 0;
    if (!left) {
        out->verdict =
            arena_printf(a, "not determined: no rule explains the answers; 0x%X gives 0x%X, and the nearest rule (%s) 0x%X",
                         nearest->code, nearest->answer, conversion_rule_text(a, &nearest->rule), nearest->said);
        return;
    }
    out->rule = *alive[0];
    out->verdict = arena_printf(a, "%s; %s", common_text(a, alive, left), special_text(a, box, special));
    for (int r = 0; r < count; r++) { /* the neighbours, a parameter away */
        const conversion_rule *x = &rules[r].rule, *y = alive[0];
        int apart = (x->rounding != y->rounding) + (x->saturates != y->saturates) + (x->flushes_in != y->flushes_in) +
                    (x->flushes_out != y->flushes_out);
        if (apart == 1 && rules[r].wrong)
            VEC_PUSH(a, out->evidence,
                     arena_printf(a, "0x%X gives 0x%X; \"%s\" would give 0x%X", rules[r].code, rules[r].answer,
                                  conversion_rule_text(a, x), rules[r].said));
    }
}

bool conversion_find(arena *a, const conversion_box *box, conversion_finding *out, diag_list *diags) {
    candidate rules[MOST_RULES];
    int count = make_rules(rules);
    specials special = {0};
    const conversion_questions questions = conversion_questions_of(box->from);
    const int64_t all = questions.count;
    uint32_t *codes = malloc(sizeof *codes * BATCH * 2), *answers = codes + BATCH;
    *out = (conversion_finding){.questions = all};
    bool good = codes != NULL;
    if (!good)
        diag_error(diags, "E0803", (source_span){0}, "no memory for a probe");
    for (int64_t at = 0; good && at < all; at += BATCH) {
        int n = (int)(all - at < BATCH ? all - at : BATCH);
        for (int i = 0; i < n; i++)
            codes[i] = conversion_question(&questions, at + i);
        good = ANSWERED(box->run(box->context, codes, answers, n, diags));
        if (good)
            judge(box, codes, answers, n, rules, count, &special);
    }
    free(codes);
    if (good)
        conclude(a, box, rules, count, &special, out);
    return good;
}

/* ---- telling ---- */

void conversion_print(const conversion_box *box, const conversion_finding *f, bool evidence) {
    printf("%s: %s\n", box->name, f->verdict);
    for (int e = 0; evidence && e < f->evidence.count; e++)
        printf("  %s\n", f->evidence.at[e]);
}

void conversion_json(const conversion_box *box, const conversion_finding *f, json_t *rows) {
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:I}", "kind", "finding", "device", box->device,
                          "description", box->description, "instruction", box->name, "fact", "conversion", "verdict", f->verdict,
                          "status", f->determined ? "found" : "not determined", "claim", box->claim, "asks",
                          "What becomes of every value, of NaN and of infinities?", "method",
                          number_table[box->from].bytes < 4
                              ? "Every code; each rule of rounding, saturation and subnormals is held against all answers."
                              : "Every upper 20 bits with eight patterns below them; each rule of rounding, saturation and "
                                "subnormals is held against all answers.",
                          "questions", (json_int_t)f->questions),
           *evidence = json_array();
    for (int e = 0; e < f->evidence.count; e++)
        json_array_append_new(evidence, json_string(f->evidence.at[e]));
    json_object_set_new(o, "evidence", evidence);
    json_array_append_new(rows, o);
}

/* ---- simulated ---- */

static bool simulated_run(void *context, const uint32_t *codes, uint32_t *answers, int count, diag_list *diags) {
    simulated_conversion *s = context;
    const conversion_box *box = s->box;
    for (int i = 0; i < count; i++) {
        if (s->fails_after && s->asked >= s->fails_after) {
            diag_error(diags, "E1208", (source_span){0}, "the simulated device was lost");
            return false;
        }
        number x = number_decode(box->from, codes[i]);
        uint32_t sign = x.negative ? number_sign_bit(box->to) : 0;
        answers[i] = x.class == NUMBER_FINITE ? conversion_apply(box, &s->rule, codes[i])
                     : x.class == NUMBER_INFINITE
                         ? sign | (s->rule.saturates ? number_largest(box->to) : number_infinity(box->to))
                     : s->nan ? s->nan
                              : nan_kept(box, codes[i]);
        if (s->wrong && ++s->asked % s->wrong == 0)
            answers[i] ^= 1u << (number_table[box->to].stored_bits - box->kept_bits);
        s->asked += !s->wrong;
    }
    return true;
}

conversion_box simulated_conversion_box(simulated_conversion *s, number_kind from, number_kind to, int kept_bits) {
    return (conversion_box){.device = "simulated",
                            .name = "simulated",
                            .description = "no device",
                            .from = from,
                            .to = to,
                            .kept_bits = kept_bits,
                            .context = s,
                            .run = simulated_run};
}
