/* From answers to a unit: stages of questions, each with the parameters it settles. */
#include "probe/find.h"
#include "probe/search.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Floats, in order; a stage uses the questions of the stages before it too. What it does not settle must not touch its questions. */
typedef struct stage {
    const char *facts[5];
    matrix_parameter parameters[8];
    bool loose, only_normal, add_any;
} stage;
static const stage stages[] = {
    {{"operands"}, {PARAMETER_IGNORED_BITS, PARAMETER_FLUSH_OPERANDS, PARAMETER_COUNT}, true, false, false},
    {{"products", "order", "alignment", "result"},
     {PARAMETER_ORDER, PARAMETER_NORMALISED_PRODUCTS, PARAMETER_ALIGNMENT, PARAMETER_CUT, PARAMETER_OUTPUT_BITS,
      PARAMETER_ROUNDING, PARAMETER_ZEROS_COUNT, PARAMETER_COUNT},
     true,
     true,
     false},
    {{"exponent", "subnormals"},
     {PARAMETER_NORMALISED_OPERANDS, PARAMETER_NORMALISED_ADDEND, PARAMETER_FLUSH_ADDEND, PARAMETER_FLUSH_RESULT,
      PARAMETER_LOWEST_EXPONENT, PARAMETER_COUNT},
     true,
     false,
     false},
    {{"specials"}, {PARAMETER_NAN, PARAMETER_SIGNED_ZERO, PARAMETER_OVERFLOW_CLAMPS, PARAMETER_COUNT}, false, false, true}};
static const stage whole_stage = {{"whole numbers"}, {PARAMETER_SATURATE, PARAMETER_COUNT}, false, false, true};
enum { STAGES = sizeof stages / sizeof *stages, SUMS = 1, DENSE = 48, ANY = 64 };

typedef struct value_list {
    int64_t at[PARAMETER_MOST_VALUES];
    int count;
} value_list;

typedef struct finder {
    arena *arena;
    const matrix_box *box;
    const find_options *options;
    matrix_finding *finding;
    matrix_ladder ladders[16]; /* by fact */
    matrix_question *random;   /* DENSE of kind 0, then ANY of each kind */
    int random_count;
    matrix_unit *candidates;
    int candidate_count;
    value_list alignments; /* that explained the answers before `keep_exact` */
    diag_list *diags;
} finder;

static bool is_whole(const matrix_box *b) {
    return !number_table[b->c].exponent_bits;
}

static bool ask_everything(finder *f) {
    matrix_finding *out = f->finding;
    uint64_t state = f->options->seed;
    for (int i = 0; i < matrix_fact_count; i++) {
        f->ladders[i] = (matrix_ladder){.arena = f->arena, .box = f->box};
        if (matrix_fact_rows[i]->whole == is_whole(f->box))
            matrix_fact_rows[i]->ask(&f->ladders[i]);
        int unstable;
        if (!matrix_box_ask(f->box, f->ladders[i].questions.at, f->ladders[i].questions.count, &unstable, f->diags))
            return false;
        out->questions += f->ladders[i].questions.count;
        out->unstable += unstable;
    }
    f->random_count = DENSE + ANY * LADDER_KINDS;
    f->random = NEW_ARRAY(f->arena, matrix_question, f->random_count);
    for (int i = 0; i < f->random_count; i++)
        ladder_random(f->box, &state, i < DENSE ? 0 : (i - DENSE) / ANY, &f->random[i]);
    int unstable;
    if (!matrix_box_ask(f->box, f->random, f->random_count, &unstable, f->diags))
        return false;
    out->questions += f->random_count;
    out->unstable += unstable;
    return true;
}

static int fact_index(const char *name) {
    for (int i = 0; i < matrix_fact_count; i++)
        if (!strcmp(matrix_fact_rows[i]->name, name))
            return i;
    return -1;
}

/* Neither subnormal nor infinite nor NaN: nothing that later stages settle has a part in it. */
static bool is_plain(const matrix_box *b, uint32_t answer) {
    number x = number_decode(b->c, answer);
    return x.class == NUMBER_FINITE && (!x.significand || x.significand >> number_table[b->c].stored_bits);
}

typedef VEC(matrix_question) question_list;

static void gather(finder *f, const stage *s, question_list *out) {
    for (int i = 0; s->only_normal && i < DENSE; i++)
        if (is_plain(f->box, f->random[i].answer))
            VEC_PUSH(f->arena, *out, f->random[i]);
    for (int i = 0; i < 5 && s->facts[i]; i++) {
        const matrix_ladder *l = &f->ladders[fact_index(s->facts[i])];
        for (int q = 0; q < l->questions.count; q++)
            if (!s->only_normal || is_plain(f->box, l->questions.at[q].answer))
                VEC_PUSH(f->arena, *out, l->questions.at[q]);
    }
    for (int i = DENSE; s->add_any && i < f->random_count; i++)
        VEC_PUSH(f->arena, *out, f->random[i]);
}

/* The one code of all NaN answers; 0 when they differ or there is none. */
static uint32_t nan_of(const question_list *questions, number_kind kind) {
    uint32_t code = 0;
    for (int i = 0; i < questions->count; i++) {
        uint32_t answer = questions->at[i].answer;
        if (number_table[kind].exponent_bits && number_decode(kind, answer).class == NUMBER_NAN) {
            if (code && code != answer)
                return 0;
            code = answer;
        }
    }
    return code;
}

/* How many bits of a fraction the answers show, beyond the leading one. */
static int bits_seen(const question_list *questions, number_kind kind) {
    int most = 0, stored = number_table[kind].stored_bits;
    for (int i = 0; stored && i < questions->count; i++) {
        number x = number_decode(kind, questions->at[i].answer);
        if (x.class != NUMBER_FINITE || !(x.significand >> stored))
            continue;
        int bits = stored - __builtin_ctzll((uint64_t)x.significand);
        most = bits > most ? bits : most;
    }
    return most;
}

static bool run_stage(finder *f, const stage *s) {
    question_list questions = {0};
    gather(f, s, &questions);
    matrix_search search = {questions.at,
                            questions.count,
                            s->loose,
                            s->parameters,
                            nan_of(&questions, f->box->c),
                            bits_seen(&questions, f->box->c),
                            f->options->workers};
    matrix_unit *found;
    bool all;
    int count = matrix_search_run(&search, f->candidates, f->candidate_count, &found, &all);
    free(f->candidates);
    f->candidates = found;
    f->candidate_count = count;
    if (count < 0) {
        diag_error(f->diags, "E0803", (source_span){0}, "no memory for the candidates");
        return false;
    }
    if (count == 0)
        f->finding->why_not = arena_printf(f->arena, "no unit that can be described explains the answers about %s%s%s",
                                           s->facts[0], s->facts[1] ? ", " : "", s->facts[1] ? s->facts[1] : "");
    else if (!all)
        f->finding->why_not = arena_printf(f->arena, "more than %d units explain the answers about %s", SEARCH_MOST, s->facts[0]);
    return true;
}

/* ---- verdicts ---- */

static void values_left(const finder *f, matrix_parameter p, value_list *out) {
    out->count = 0;
    for (int c = 0; c < f->candidate_count; c++) {
        int64_t value = parameter_get(&f->candidates[c], p);
        int i = 0;
        while (i < out->count && out->at[i] != value)
            i++;
        if (i == out->count && out->count < PARAMETER_MOST_VALUES)
            out->at[out->count++] = value;
    }
}

static bool tells_apart(const finder *f, const matrix_unit *u, const matrix_ladder *l, int question) {
    const matrix_question *q = &l->questions.at[question];
    (void)f;
    return !matrix_unit_agrees(u, matrix_unit_dot(u, q->a, q->b, q->c), q->answer);
}

/* A line for each neighbouring value: the first question that refutes it. */
static void add_evidence(const finder *f, matrix_fact *fact, const matrix_ladder *own, matrix_parameter p) {
    matrix_unit *found = &f->finding->unit;
    int64_t values[PARAMETER_MOST_VALUES], here = parameter_get(found, p);
    int count = parameter_values(found, p, values), shown = 0, at = 0;
    for (int i = 0; i < count; i++)
        if (values[i] == here)
            at = i;
    for (int i = 0; i < count && shown < 4; i++) {
        bool near = count <= 6 || p == PARAMETER_ORDER || i == at - 1 || i == at + 1;
        matrix_unit other = *found;
        if (values[i] == here || !near)
            continue;
        parameter_set(&other, p, values[i]);
        for (int l = -1; l < matrix_fact_count; l++) {
            const matrix_ladder *ladder = l < 0 ? own : &f->ladders[l];
            int q = 0;
            while (q < ladder->questions.count && !tells_apart(f, &other, ladder, q))
                q++;
            if (q == ladder->questions.count)
                continue;
            const matrix_question *asked = &ladder->questions.at[q];
            int digits = 2 * number_table[f->box->c].bytes;
            VEC_PUSH(f->arena, fact->evidence,
                     arena_printf(f->arena, "%s: 0x%0*" PRIX32 "; \"%s\" would give 0x%0*" PRIX32,
                                  question_text(f->arena, f->box, asked), digits, asked->answer,
                                  parameter_text(f->arena, found, p, values[i]), digits,
                                  matrix_unit_dot(&other, asked->a, asked->b, asked->c)));
            shown++;
            break;
        }
    }
}

static void conclude(finder *f, int index) {
    const matrix_fact_row *row = matrix_fact_rows[index];
    matrix_fact fact = {.row = row, .questions = f->ladders[index].questions.count};
    if (row->whole != is_whole(f->box))
        return;
    text_buffer verdict = {0};
    if (f->finding->why_not) {
        fact.status = FACT_NOT_DETERMINED;
        text_add(&verdict, "not determined: %s", f->finding->why_not);
    } else {
        const matrix_unit *u = &f->finding->unit;
        int parameters = 0, shown_parameters = 0;
        bool one = true;
        for (; row->settles[parameters] != PARAMETER_COUNT; parameters++) {
            matrix_parameter p = row->settles[parameters];
            value_list left;
            if (u->alignment == MATRIX_EXACT && parameter_aligns(p))
                continue;
            values_left(f, p, &left);
            if (p == PARAMETER_ALIGNMENT && u->alignment == MATRIX_EXACT)
                left = f->alignments;
            text_add(&verdict, "%s%s", shown_parameters++ ? "; " : "", parameter_text(f->arena, u, p, parameter_get(u, p)));
            if (left.count > 1) {
                one = false;
                text_add(&verdict, " (nothing asked tells it from: ");
                for (int i = 0, shown = 0; i < left.count; i++) {
                    if (left.at[i] == parameter_get(u, p))
                        continue;
                    if (shown++ < 2)
                        text_add(&verdict, "%s%s", shown > 1 ? "; " : "", parameter_text(f->arena, u, p, left.at[i]));
                }
                if (left.count > 3)
                    text_add(&verdict, "; and %d more", left.count - 3);
                text_add(&verdict, ")");
            } else if (p != PARAMETER_NAN) {
                add_evidence(f, &fact, &f->ladders[index], p);
            }
        }
        if (!parameters)
            text_add(&verdict, "products are exact: all %d answers are those of exact products", fact.questions);
        else if (!shown_parameters)
            text_add(&verdict, "terms are not aligned, so none has a part in it");
        fact.status = one ? FACT_FOUND : FACT_UNREACHABLE;
    }
    fact.verdict = arena_strdup(f->arena, text_get(&verdict));
    text_free(&verdict);
    VEC_PUSH(f->arena, f->finding->facts, fact);
}

/* Where exact sums explain what alignments wide enough for the formats do as well, the exact ones go on alone: what is settled later is then settled once. */
static void keep_exact(finder *f) {
    values_left(f, PARAMETER_ALIGNMENT, &f->alignments);
    int left = 0;
    for (int i = 0; i < f->candidate_count; i++)
        left += f->candidates[i].alignment == MATRIX_EXACT;
    if (!left)
        return;
    left = 0;
    for (int i = 0; i < f->candidate_count; i++)
        if (f->candidates[i].alignment == MATRIX_EXACT)
            f->candidates[left++] = f->candidates[i];
    f->candidate_count = left;
}

static bool search(finder *f, bool all) {
    free(f->candidates);
    matrix_unit first = matrix_unit_plain(f->box->a, f->box->b, f->box->c, f->box->k);
    f->candidates = malloc(sizeof first);
    if (!f->candidates) {
        diag_error(f->diags, "E0803", (source_span){0}, "no memory for the candidates");
        return false;
    }
    f->candidates[0] = first;
    f->candidate_count = 1;
    if (is_whole(f->box))
        return run_stage(f, &whole_stage);
    for (int i = 0; i < STAGES && !f->finding->why_not; i++) {
        if (!run_stage(f, &stages[i]))
            return false;
        if (i == SUMS && !all)
            keep_exact(f);
    }
    return true;
}

/* Random dots against the first candidate; a dot that refutes it is asked of all, and the next is tried. */
static bool confirm(finder *f) {
    matrix_finding *out = f->finding;
    for (;;) {
        matrix_check check;
        out->unit = f->candidates[0];
        if (!matrix_check_run(f->box, &out->unit, 1, f->options->random, f->options->seed + 1, f->options->workers, &check,
                              f->diags))
            return false;
        out->checked = check.dots;
        out->mismatches = check.mismatches;
        if (!check.mismatches)
            return true;
        matrix_search again = {.questions = &check.first, .count = 1};
        int left = 0;
        for (int i = 0; i < f->candidate_count; i++)
            if (matrix_search_explains(&again, &f->candidates[i]))
                f->candidates[left++] = f->candidates[i];
        if (!left) {
            out->why_not =
                arena_printf(f->arena, "the unit found explains the ladders, but not %" PRId64 " of %" PRId64 " random dots",
                             check.mismatches, check.dots);
            return true;
        }
        f->candidate_count = left;
    }
}

bool matrix_find_ask(arena *a, const matrix_box *box, const find_options *o, diag_list *diags) {
    matrix_finding finding = {0};
    matrix_check none;
    finder f = {.arena = a, .box = box, .options = o, .finding = &finding, .diags = diags};
    return ask_everything(&f) && matrix_check_run(box, NULL, 0, o->random, o->seed + 1, o->workers, &none, diags);
}

bool matrix_find(arena *a, const matrix_box *box, const find_options *o, matrix_finding *out, diag_list *diags) {
    *out = (matrix_finding){0};
    finder *f = NEW(a, finder);
    *f = (finder){.arena = a, .box = box, .options = o, .finding = out, .diags = diags};
    bool good = ask_everything(f);
    if (good && out->unstable)
        out->why_not = arena_printf(a, "%d of %d answers differ when asked again", out->unstable, out->questions);
    /* The second time round without the short cut, where that was one too many. */
    for (int all = 0; good && !out->unstable && all < 2; all++) {
        out->why_not = NULL;
        good = search(f, all);
        if (good && !out->why_not)
            good = confirm(f);
        if (!out->why_not || f->alignments.count < 2)
            break;
    }
    for (int i = 0; good && i < matrix_fact_count; i++)
        conclude(f, i);
    out->determined = good && !out->why_not;
    free(f->candidates);
    return good;
}
