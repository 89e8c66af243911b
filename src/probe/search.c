/* Trying every combination of parameters' values against the answers. */
#include "probe/search.h"
#include "run/pool.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 12, MOST_DEPTH = 8 };

typedef struct search_state {
    const matrix_search *search;
    const matrix_unit *from;
    int from_count, depth, alignment_depth; /* which of the parameters is the alignment; -1: none, it is settled */
    bool first_is_dense;                    /* the first question has no zeros */
    int64_t *values[MOST_DEPTH];
    int counts[MOST_DEPTH];
    pthread_mutex_t lock;
    matrix_unit *found;
    int found_count, capacity;
    bool all, failed;
} search_state;

static bool alike(const matrix_search *s, const matrix_unit *u, uint32_t model, uint32_t answer) {
    if (model == answer)
        return true;
    if (!s->loose)
        return matrix_unit_agrees(u, model, answer);
    if (!number_table[u->c].exponent_bits)
        return false;
    number x = number_decode(u->c, model), y = number_decode(u->c, answer);
    return (x.class == NUMBER_NAN && y.class == NUMBER_NAN) ||
           (x.class == NUMBER_FINITE && y.class == NUMBER_FINITE && !x.significand && !y.significand);
}

bool matrix_search_explains(const matrix_search *s, const matrix_unit *u) {
    for (int i = 0; i < s->count; i++)
        if (!alike(s, u, matrix_unit_dot(u, s->questions[i].a, s->questions[i].b, s->questions[i].c), s->questions[i].answer))
            return false;
    return true;
}

static bool changes_products(matrix_parameter p) {
    return p == PARAMETER_NORMALISED_PRODUCTS || p == PARAMETER_NORMALISED_OPERANDS || p == PARAMETER_FLUSH_OPERANDS ||
           p == PARAMETER_IGNORED_BITS;
}

/* The products of the first questions, which most candidates do not get past. */
static void remember(const search_state *s, const matrix_unit *u, matrix_terms *terms) {
    for (int i = 0; i < REMEMBERED && i < s->search->count; i++)
        matrix_unit_products(u, s->search->questions[i].a, s->search->questions[i].b, &terms[i]);
}

static void keep(search_state *s, const matrix_unit *u) {
    pthread_mutex_lock(&s->lock);
    if (s->found_count == SEARCH_MOST) {
        s->all = false;
    } else {
        if (s->found_count == s->capacity) {
            int capacity = s->capacity ? 2 * s->capacity : 64;
            matrix_unit *more = realloc(s->found, (size_t)capacity * sizeof *more);
            s->failed |= !more;
            if (more) {
                s->found = more;
                s->capacity = capacity;
            }
        }
        if (s->found_count < s->capacity)
            s->found[s->found_count++] = *u;
    }
    pthread_mutex_unlock(&s->lock);
}

static void test(search_state *s, const matrix_unit *u, const matrix_terms *terms) {
    const matrix_search *search = s->search;
    for (int i = 0; i < search->count; i++) {
        const matrix_question *q = &search->questions[i];
        uint32_t model = i < REMEMBERED ? matrix_unit_sum(u, &terms[i], q->c) : matrix_unit_dot(u, q->a, q->b, q->c);
        if (!alike(search, u, model, q->answer))
            return;
    }
    keep(s, u);
}

static void descend(search_state *s, matrix_unit *u, int depth, matrix_terms *terms) {
    if (depth == s->depth) {
        test(s, u, terms);
        return;
    }
    matrix_parameter p = s->search->parameters[depth];
    /* What has no part in the first question is not tried where that fails. */
    if (p == PARAMETER_ZEROS_COUNT && s->first_is_dense &&
        !alike(s->search, u, matrix_unit_sum(u, &terms[0], s->search->questions[0].c), s->search->questions[0].answer))
        return;
    for (int i = 0; i < s->counts[depth]; i++) {
        if (i && depth > s->alignment_depth && u->alignment == MATRIX_EXACT && parameter_aligns(p))
            break;
        if (p == PARAMETER_OUTPUT_BITS && s->values[depth][i] < s->search->least_bits)
            continue;
        parameter_set(u, p, s->values[depth][i]);
        if (changes_products(p))
            remember(s, u, terms);
        descend(s, u, depth + 1, terms);
    }
}

/* A piece: a candidate and a value of the first parameter. */
static void pieces(void *context, int worker, int64_t first, int64_t last) {
    (void)worker;
    search_state *s = context;
    for (int64_t piece = first; piece < last; piece++) {
        matrix_terms terms[REMEMBERED];
        matrix_unit u = s->from[piece / s->counts[0]];
        parameter_set(&u, s->search->parameters[0], s->values[0][piece % s->counts[0]]);
        remember(s, &u, terms);
        descend(s, &u, 1, terms);
    }
}

/* The plainest first: nothing is cut, nothing is special. */
static int by_parameters(const void *x, const void *y) {
    const matrix_unit *u = x, *v = y;
    for (int p = 0; p < PARAMETER_COUNT; p++) {
        int64_t a = parameter_get(u, (matrix_parameter)p), b = parameter_get(v, (matrix_parameter)p);
        if (p == PARAMETER_ALIGNMENT) {
            a = a == MATRIX_EXACT ? -1 : a;
            b = b == MATRIX_EXACT ? -1 : b;
        }
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

int matrix_search_run(const matrix_search *search, const matrix_unit *from, int from_count, matrix_unit **out, bool *all) {
    search_state s = {.search = search, .from = from, .from_count = from_count, .alignment_depth = -1, .all = true};
    s.first_is_dense = search->count > 0;
    for (int i = 0; s.first_is_dense && i < from->k; i++)
        s.first_is_dense = number_decode(from->a, search->questions[0].a[i]).significand &&
                           number_decode(from->b, search->questions[0].b[i]).significand;
    for (; s.depth < MOST_DEPTH && search->parameters[s.depth] != PARAMETER_COUNT; s.depth++) {
        s.values[s.depth] = calloc(PARAMETER_MOST_VALUES, sizeof(int64_t));
        if (!s.values[s.depth]) {
            s.failed = true;
            break;
        }
        if (search->parameters[s.depth] == PARAMETER_ALIGNMENT)
            s.alignment_depth = s.depth;
        s.counts[s.depth] = parameter_values(from, search->parameters[s.depth], s.values[s.depth]);
        if (search->parameters[s.depth] == PARAMETER_NAN)
            s.values[s.depth][s.counts[s.depth]++] = search->nan;
    }
    if (!s.failed) {
        pool *threads = pool_new(search->workers > 0 ? search->workers : 1);
        pthread_mutex_init(&s.lock, NULL);
        if (threads)
            pool_run(threads, (int64_t)from_count * s.counts[0], pieces, &s);
        else
            pieces(&s, 0, 0, (int64_t)from_count * s.counts[0]);
        pthread_mutex_destroy(&s.lock);
        pool_free(threads);
        if (s.found_count)
            qsort(s.found, (size_t)s.found_count, sizeof *s.found, by_parameters);
    }
    for (int i = 0; i < s.depth; i++)
        free(s.values[i]);
    *out = s.found;
    *all = s.all;
    return s.failed ? -1 : s.found_count;
}
