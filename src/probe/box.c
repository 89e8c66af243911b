/* Asking a black box, and simulated ones. */
#include "probe/box.h"
#include "probe/patience.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096 };

static bool ask_at(const matrix_box *box, matrix_question *questions, int count, int offset, uint32_t *answers,
                   diag_list *diags) {
    int each = box->rows < box->columns ? box->rows : box->columns, tiles = (count + each - 1) / each;
    size_t a_row = (size_t)box->k * (size_t)number_table[box->a].bytes,
           b_row = (size_t)box->k * (size_t)number_table[box->b].bytes;
    size_t cells = (size_t)(box->rows * box->columns) * (size_t)tiles;
    char *a = calloc((size_t)tiles * (size_t)box->rows, a_row), *b = calloc((size_t)tiles * (size_t)box->columns, b_row);
    uint32_t *c = calloc(cells, 4), *d = calloc(cells, 4);
    bool good = a && b && c && d;
    if (!good)
        diag_error(diags, "E0803", (source_span){0}, "no memory for %d dots", count);
    /* Question i stands at row and column (i + offset) of its tile. */
    for (int i = 0; good && i < count; i++) {
        int tile = i / each, at = (i % each + offset) % each;
        for (int p = 0; p < box->k; p++) {
            number_store(box->a, a + ((size_t)tile * (size_t)box->rows + (size_t)at) * a_row, p, questions[i].a[p]);
            number_store(box->b, b + ((size_t)tile * (size_t)box->columns + (size_t)at) * b_row, p, questions[i].b[p]);
        }
        c[((size_t)tile * (size_t)box->rows + (size_t)at) * (size_t)box->columns + (size_t)at] = questions[i].c;
    }
    good = good && ANSWERED(box->run(box->context, tiles, a, b, c, d, diags));
    for (int i = 0; good && i < count; i++) {
        size_t at = (size_t)((i % each + offset) % each);
        answers[i] = d[((size_t)(i / each) * (size_t)box->rows + at) * (size_t)box->columns + at];
    }
    free(a);
    free(b);
    free(c);
    free(d);
    return good;
}

bool matrix_box_ask(const matrix_box *box, matrix_question *questions, int count, int *unstable, diag_list *diags) {
    uint32_t first[BATCH], second[BATCH];
    *unstable = 0;
    for (int from = 0; from < count; from += BATCH) {
        int n = count - from < BATCH ? count - from : BATCH;
        if (!ask_at(box, questions + from, n, 0, first, diags) || !ask_at(box, questions + from, n, 3, second, diags))
            return false;
        for (int i = 0; i < n; i++) {
            questions[from + i].answer = first[i];
            *unstable += first[i] != second[i];
        }
    }
    return true;
}

static bool simulate(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d,
                     diag_list *diags) {
    simulated_unit *s = context;
    for (int64_t tile = 0; tile < tiles; tile++) {
        uint32_t x[MATRIX_LONGEST], y[MATRIX_LONGEST];
        for (int p = 0; p < s->unit.k; p++) {
            x[p] = number_load(s->unit.a, a, tile * s->unit.k + p);
            y[p] = number_load(s->unit.b, b, tile * s->unit.k + p);
        }
        s->asked++;
        if (s->fails_after && s->asked > s->fails_after) {
            diag_error(diags, "E0859", (source_span){0}, "the simulated device fails after %lld dots, as it was told to",
                       (long long)s->fails_after);
            return false;
        }
        d[tile] = matrix_unit_dot(&s->unit, x, y, c[tile]);
        if (s->noise && s->asked % s->noise == 0)
            d[tile] ^= 1;
    }
    return true;
}

matrix_box simulated_box(simulated_unit *unit, const char *instruction) {
    const matrix_unit *u = &unit->unit;
    return (matrix_box){"simulated", instruction, u->a, u->b, u->c, u->k, 1, 1, unit, simulate, NULL};
}
