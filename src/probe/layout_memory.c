/* Layouts of operands that lie in memory: one-hot tiles through a box whose kernel places operands, and names results, as the documents say. */
#include "probe/probe.h"
#include "probe/patience.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIFFERENCES = 6, CELLS = 1 << 19 };

typedef struct onehot_tiles {
    char *a, *b;
    uint32_t *c, *d;
} onehot_tiles;

static uint32_t one_of(number_kind kind) {
    uint32_t code = 1;
    if (number_table[kind].exponent_bits)
        number_make(kind, false, 0, 0, &code);
    return code;
}

/* Pair number -> the places of the two 1s: (row, ka) of a, (kb, column) of b. */
typedef struct onehot_pair {
    int row, ka, kb, column;
} onehot_pair;
static onehot_pair pair_of(const matrix_box *box, int64_t number) {
    int k = box->k, columns = box->columns, in_b = (int)(number % (k * columns)), in_a = (int)(number / (k * columns));
    return (onehot_pair){in_a / k, in_a % k, in_b / columns, in_b % columns};
}

static void set(const matrix_box *box, onehot_tiles *t, int64_t tile, onehot_pair p, bool on) {
    number_store(box->a, t->a, (tile * box->rows + p.row) * box->k + p.ka, on ? one_of(box->a) : 0);
    number_store(box->b, t->b, (tile * box->columns + p.column) * box->k + p.kb, on ? one_of(box->b) : 0);
}

static void judge(arena *a, const matrix_box *box, const uint32_t *d, onehot_pair p, layout_finding *out) {
    bool meets = p.ka == p.kb, wrong = false;
    int at_row = -1, at_column = -1;
    for (int cell = 0; cell < box->rows * box->columns; cell++) {
        int row = cell / box->columns, column = cell % box->columns;
        bool is_set = d[cell] != 0;
        out->answers = out->answers * UINT64_C(0x100000001B3) + is_set + 1;
        wrong |= is_set != (meets && row == p.row && column == p.column);
        if (is_set)
            at_row = row, at_column = column;
    }
    out->hits += at_row >= 0;
    out->mismatches += wrong;
    if (!wrong || out->differences.count == MOST_DIFFERENCES)
        return;
    const char *where = at_row >= 0 ? arena_printf(a, "in (%d, %d)", at_row, at_column) : "nowhere";
    VEC_PUSH(a, out->differences,
             arena_printf(a, "1 in (%d, %d) of a and in (%d, %d) of b comes out %s", p.row, p.ka, p.kb, p.column, where));
}

static bool ask_tiles(arena *a, const matrix_box *box, layout_finding *out, diag_list *diags) {
    int64_t cells = (int64_t)box->rows * box->columns, total = cells * box->k * box->k,
            batch = CELLS / cells < total ? CELLS / cells : total;
    onehot_tiles t = {
        calloc((size_t)(batch * box->rows * box->k), (size_t)number_table[box->a].bytes),
        calloc((size_t)(batch * box->columns * box->k), (size_t)number_table[box->b].bytes),
        calloc((size_t)(batch * cells), 4),
        calloc((size_t)(batch * cells), 4),
    };
    *out = (layout_finding){.asked = true, .pairs = total};
    bool good = t.a && t.b && t.c && t.d;
    if (!good)
        diag_error(diags, "E0803", (source_span){0}, "no memory for one-hot tiles");
    for (int64_t first = 0; good && first < total; first += batch) {
        int64_t count = total - first < batch ? total - first : batch;
        for (int64_t i = 0; i < count; i++)
            set(box, &t, i, pair_of(box, first + i), true);
        memset(t.d, 0xFF, (size_t)(count * cells) * 4);
        good = ANSWERED(box->run(box->context, count, t.a, t.b, t.c, t.d, diags));
        for (int64_t i = 0; i < count; i++) {
            onehot_pair p = pair_of(box, first + i);
            if (good)
                judge(a, box, &t.d[i * cells], p, out);
            set(box, &t, i, p, false);
        }
    }
    free(t.a), free(t.b), free(t.c), free(t.d);
    if (good)
        out->verdict = out->mismatches ? arena_printf(a,
                                                      "not as documented: %" PRId64 " of %" PRId64
                                                      " pairs of one-hot operands in memory come out elsewhere",
                                                      out->mismatches, out->pairs)
                                       : arena_printf(a,
                                                      "as documented: all %" PRId64 " pairs of one-hot operands in memory, "
                                                      "%" PRId64 " of which meet",
                                                      out->pairs, out->hits);
    return good;
}

bool layout_probe_memory(arena *a, const matrix_box *box, layout_finding *out, diag_list *diags) {
    layout_finding again;
    if (!ask_tiles(a, box, out, diags) || (out->mismatches && !ask_tiles(a, box, &again, diags))) {
        out->verdict = NULL;
        return false;
    }
    if (out->mismatches)
        layout_settle(a, out, &again);
    return true;
}
