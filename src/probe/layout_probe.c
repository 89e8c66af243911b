/* Which lane and element holds which entry, found by one-hot operands: a product comes out only where both 1s meet in the same k. */
#include "probe/probe.h"
#include "probe/patience.h"
#include <inttypes.h>
#include <stdlib.h>

enum { CASES = 1 << 15, MOST_DIFFERENCES = 6, NOWHERE = -1 };

bool layout_simulate(void *context, int first, int cases, unsigned char *out, diag_list *diags) {
    const fragment_layout *l = context;
    (void)diags;
    int b_positions = 32 * l[1].elements;
    for (int i = 0; i < cases; i++) {
        int pa = (first + i) / b_positions, pb = (first + i) % b_positions, row, ka, kb, column, lane, element;
        fragment_layout_place(&l[0], pa / l[0].elements, pa % l[0].elements, &row, &ka);
        fragment_layout_place(&l[1], pb / l[1].elements, pb % l[1].elements, &kb, &column);
        for (int n = 0; n < 32; n++)
            out[i * 32 + n] = 0;
        if (ka == kb && fragment_layout_holder(&l[2], row, column, &lane, &element))
            out[i * 32 + lane] = (unsigned char)(1 << element);
    }
    return true;
}

/* The one place of the result that is set: lane * elements + element; NOWHERE: none; -2: several. */
static int place_of(const unsigned char *lanes, int elements) {
    int place = NOWHERE;
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < elements; e++)
            if (lanes[lane] >> e & 1)
                place = place == NOWHERE ? lane * elements + e : -2;
    return place;
}

typedef struct found_place {
    int row, column; /* NOWHERE: not seen */
} found_place;

static void add_difference(arena *a, layout_finding *out, char operand, int lane, int element, const found_place *found, int row,
                           int column) {
    if (out->differences.count >= MOST_DIFFERENCES)
        return;
    if (found->row == NOWHERE || found->column == NOWHERE)
        VEC_PUSH(a, out->differences,
                 arena_printf(a, "lane %d element %d of %c holds nothing that comes out", lane, element, operand));
    else
        VEC_PUSH(a, out->differences,
                 arena_printf(a, "lane %d element %d of %c holds (%d, %d), not (%d, %d)", lane, element, operand, found->row,
                              found->column, row, column));
}

void layout_settle(arena *a, layout_finding *first, const layout_finding *again) {
    first->unsteady = first->answers != again->answers;
    if (!first->unsteady)
        return;
    first->differences.count = 0;
    first->verdict = arena_printf(a,
                                  "not determined: asked again, the device answered otherwise (%" PRId64 ", then %" PRId64
                                  " of %" PRId64 " pairs of one-hot operands elsewhere than documented)",
                                  first->mismatches, again->mismatches, first->pairs);
}

static bool ask_pairs(arena *a, const probe_target *t, const fragment_layout layouts[3], layout_finding *out, diag_list *diags) {
    const fragment_layout *la = &layouts[0], *lb = &layouts[1], *lc = &layouts[2];
    int a_positions = 32 * la->elements, b_positions = 32 * lb->elements, total = a_positions * b_positions;
    unsigned char *answers = malloc((size_t)CASES * 32);
    found_place *of_a = NEW_ARRAY(a, found_place, a_positions), *of_b = NEW_ARRAY(a, found_place, b_positions);
    *out = (layout_finding){.asked = true, .pairs = total};
    for (int i = 0; i < a_positions; i++)
        of_a[i] = (found_place){NOWHERE, NOWHERE};
    for (int i = 0; i < b_positions; i++)
        of_b[i] = (found_place){NOWHERE, NOWHERE};
    if (!answers)
        diag_error(diags, "E0803", (source_span){0}, "no memory for one-hot answers");
    bool good = answers;
    for (int first = 0; good && first < total; first += CASES) {
        int count = total - first < CASES ? total - first : CASES;
        good = ANSWERED(t->onehot(t->context, first, count, answers, diags));
        for (int i = 0; good && i < count; i++) {
            int pa = (first + i) / b_positions, pb = (first + i) % b_positions, row, ka, kb, column, lane, element;
            int place = place_of(answers + (int64_t)i * 32, lc->elements), wanted = NOWHERE;
            fragment_layout_place(la, pa / la->elements, pa % la->elements, &row, &ka);
            fragment_layout_place(lb, pb / lb->elements, pb % lb->elements, &kb, &column);
            if (ka == kb && fragment_layout_holder(lc, row, column, &lane, &element))
                wanted = lane * lc->elements + element;
            out->mismatches += place != wanted;
            out->answers = out->answers * UINT64_C(0x100000001B3) + (uint64_t)(place + 3);
            if (place < 0)
                continue;
            out->hits++;
            fragment_layout_place(lc, place / lc->elements, place % lc->elements, &row, &column);
            of_a[pa] = (found_place){row, kb};
            of_b[pb].column = column;
            of_b[pb].row = kb;
        }
    }
    free(answers);
    for (int i = 0; good && i < a_positions; i++) {
        int row, column;
        fragment_layout_place(la, i / la->elements, i % la->elements, &row, &column);
        if (of_a[i].row != row || of_a[i].column != column)
            add_difference(a, out, 'a', i / la->elements, i % la->elements, &of_a[i], row, column);
    }
    for (int i = 0; good && i < b_positions; i++) {
        int row, column;
        fragment_layout_place(lb, i / lb->elements, i % lb->elements, &row, &column);
        if (of_b[i].row != row || of_b[i].column != column)
            add_difference(a, out, 'b', i / lb->elements, i % lb->elements, &of_b[i], row, column);
    }
    if (good)
        out->verdict =
            out->mismatches
                ? arena_printf(a,
                               "not as the table says: %" PRId64 " of %" PRId64 " pairs of one-hot operands come out elsewhere",
                               out->mismatches, out->pairs)
                : arena_printf(a, "as documented: all %" PRId64 " pairs of one-hot operands, %" PRId64 " of which meet",
                               out->pairs, out->hits);
    return good;
}

bool layout_probe(arena *a, const probe_target *t, const fragment_layout layouts[3], layout_finding *out, diag_list *diags) {
    layout_finding again;
    if (!ask_pairs(a, t, layouts, out, diags) || (out->mismatches && !ask_pairs(a, t, layouts, &again, diags))) {
        out->verdict = NULL;
        return false;
    }
    if (out->mismatches)
        layout_settle(a, out, &again);
    return true;
}
