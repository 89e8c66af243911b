/* Random dots in whole tiles: a device against models. */
#include "probe/find.h"
#include "run/pool.h"
#include "probe/patience.h"
#include <stdlib.h>
#include <string.h>

typedef struct checking {
    const matrix_box *box;
    const matrix_unit *units;
    int unit_count, kind;
    uint64_t seed;
    char *a, *b;
    uint32_t *c, *d;
    int64_t tiles;
    int workers;
    matrix_check *counts; /* workers x units */
} checking;

static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static void fill(void *context, int worker, int64_t first, int64_t last) {
    (void)worker;
    checking *x = context;
    const matrix_box *box = x->box;
    for (int64_t tile = first; tile < last; tile++) {
        uint64_t state = mixed(x->seed + (uint64_t)tile * 0x9E3779B97F4A7C15u);
        matrix_question q;
        /* Each row with the column of its number, so that what the two have in common is kept; c cell by cell. */
        int longer = box->rows > box->columns ? box->rows : box->columns;
        for (int i = 0; i < longer; i++) {
            ladder_random(box, &state, x->kind, &q);
            for (int p = 0; p < box->k; p++) {
                if (i < box->rows)
                    number_store(box->a, x->a, (tile * box->rows + i) * box->k + p, q.a[p]);
                if (i < box->columns)
                    number_store(box->b, x->b, (tile * box->columns + i) * box->k + p, q.b[p]);
            }
            for (int j = 0; i < box->rows && j < box->columns; j++) {
                /* An addend near this row's products, now and then one of its own. */
                uint32_t *c = &x->c[(tile * box->rows + i) * box->columns + j];
                *c = q.c;
                uint32_t low = number_table[box->c].exponent_bits
                                   ? (q.c & ~number_sign_bit(box->c) ? number_sign_bit(box->c) | 0xFF : 0)
                                   : 0xFFFF;
                if (j)
                    *c ^= (uint32_t)mixed(state + (uint64_t)j) & low;
            }
        }
    }
}

static void compare(void *context, int worker, int64_t first, int64_t last) {
    checking *x = context;
    const matrix_box *box = x->box;
    matrix_check *counts = &x->counts[worker * x->unit_count];
    matrix_question q = {0};
    for (int64_t tile = first; tile < last; tile++)
        for (int i = 0; i < box->rows; i++) {
            for (int p = 0; p < box->k; p++)
                q.a[p] = number_load(box->a, x->a, (tile * box->rows + i) * box->k + p);
            for (int j = 0; j < box->columns; j++) {
                int64_t cell = (tile * box->rows + i) * box->columns + j;
                for (int p = 0; p < box->k; p++)
                    q.b[p] = number_load(box->b, x->b, (tile * box->columns + j) * box->k + p);
                q.c = x->c[cell];
                q.answer = x->d[cell];
                for (int u = 0; u < x->unit_count; u++) {
                    counts[u].dots++;
                    if (matrix_unit_agrees(&x->units[u], matrix_unit_dot(&x->units[u], q.a, q.b, q.c), q.answer))
                        continue;
                    if (!counts[u].mismatches++)
                        counts[u].first = q;
                    counts[u].by_kind[x->kind]++;
                }
            }
        }
}

bool matrix_check_run(const matrix_box *box, const matrix_unit *units, int unit_count, int64_t dots, uint64_t seed, int workers,
                      matrix_check *out, diag_list *diags) {
    enum { CELLS = 1 << 19 };
    int64_t cells = (int64_t)box->rows * box->columns, batch = CELLS / cells, tiles = (dots + cells - 1) / cells;
    memset(out, 0, (size_t)unit_count * sizeof *out);
    if (workers < 1)
        workers = 1;
    if (batch > (tiles + LADDER_KINDS - 1) / LADDER_KINDS)
        batch = (tiles + LADDER_KINDS - 1) / LADDER_KINDS;
    if (batch < 1)
        return true;
    checking x = {.box = box, .units = units, .unit_count = unit_count, .workers = workers};
    x.a = calloc((size_t)(batch * box->rows * box->k), (size_t)number_table[box->a].bytes);
    x.b = calloc((size_t)(batch * box->columns * box->k), (size_t)number_table[box->b].bytes);
    x.c = calloc((size_t)(batch * cells), 4);
    x.d = calloc((size_t)(batch * cells), 4);
    x.counts = calloc((size_t)(workers * unit_count), sizeof *x.counts);
    pool *threads = pool_new(workers);
    bool good = x.a && x.b && x.c && x.d && x.counts && threads;
    if (!good)
        diag_error(diags, "E0803", (source_span){0}, "no memory for random dots");
    for (int64_t done = 0, turn = 0; good && done < tiles; done += x.tiles, turn++) {
        x.tiles = tiles - done < batch ? tiles - done : batch;
        x.kind = (int)(turn % LADDER_KINDS);
        x.seed = mixed(seed + (uint64_t)turn * 0xD1342543DE82EF95u);
        pool_run(threads, x.tiles, fill, &x);
        memset(x.d, 0xFF, (size_t)(x.tiles * cells) * 4);
        good = ANSWERED(box->run(box->context, x.tiles, x.a, x.b, x.c, x.d, diags));
        if (good)
            pool_run(threads, x.tiles, compare, &x);
    }
    for (int u = 0; good && u < unit_count; u++)
        for (int w = 0; w < workers; w++) {
            const matrix_check *part = &x.counts[w * unit_count + u];
            if (!out[u].mismatches && part->mismatches)
                out[u].first = part->first;
            out[u].dots += part->dots;
            out[u].mismatches += part->mismatches;
            for (int k = 0; k < LADDER_KINDS; k++)
                out[u].by_kind[k] += part->by_kind[k];
        }
    pool_free(threads);
    free(x.a);
    free(x.b);
    free(x.c);
    free(x.d);
    free(x.counts);
    return good;
}

int matrix_plants(arena *a, const matrix_unit *u, planted_unit *out) {
    int count = 0;
    for (int p = 0; p < PARAMETER_COUNT && count < PLANT_MOST; p++) {
        bool whole_parameter = p == PARAMETER_SATURATE;
        if (whole_parameter == (number_table[u->c].exponent_bits != 0) ||
            (u->alignment == MATRIX_EXACT && parameter_aligns((matrix_parameter)p)))
            continue;
        int64_t values[PARAMETER_MOST_VALUES], here = parameter_get(u, (matrix_parameter)p);
        int n = parameter_values(u, (matrix_parameter)p, values), at = -1;
        for (int i = 0; i < n; i++)
            if (values[i] == here)
                at = i;
        int tried[2] = {at > 0 ? at - 1 : at + 1, at > 0 && at + 1 < n ? at + 1 : -1};
        for (int t = 0; t < 2 && count < PLANT_MOST; t++)
            if (tried[t] >= 0 && tried[t] < n) {
                out[count].unit = *u;
                parameter_set(&out[count].unit, (matrix_parameter)p, values[tried[t]]);
                out[count].name = arena_strdup(a, parameter_text(a, u, (matrix_parameter)p, values[tried[t]]));
                count++;
            }
    }
    return count;
}
