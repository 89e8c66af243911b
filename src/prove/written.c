/* Writes before reads where threads run apart (roles, mbarriers): a write that happens before the read, by whatever orders. */
#include "prove/model.h"

int_set *unwritten_before(model *m, place *reader, int_set *cells) {
    sets *z = m->sets;
    const kernel_array *a = reader->array;
    int rank = a->rank;
    for (int i = 0; i < m->places.count; i++) {
        place *w = m->places.at[i];
        if (w->array != a || w->use != ACCESS_WRITE || place_imprecise(m, w, false))
            continue;
        sets_question(z);
        pair_space s = pair_of(m, place_position(w), place_position(reader));
        int_set *before = flight_before(m, &s, w, a->space);
        sets_question(z);
        int_set *x = sets_intersect(z, sets_insert(z, before, s.dims, rank), pair_first(m, &s, cells_of(m, w), rank));
        x = pair_same_block(m, &s, x);
        /* [tasks of w, (of r,) threads of w, of r, rest of w, of r, cell] -> [tasks, threads, rest, cell] of the reader */
        x = sets_project(z, x, s.rest_a, s.rest_b - s.rest_a);
        x = sets_project(z, x, s.threads_a, m->thread_dims);
        if (s.tasks_b)
            x = sets_project(z, x, 0, s.tasks_b);
        cells = sets_subtract(z, cells, sets_simplify(z, x));
        if (sets_is_empty(z, cells) == TRI_YES)
            break;
    }
    return cells;
}
