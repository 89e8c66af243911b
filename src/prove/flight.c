/* Asynchronous accesses: they run from where they are issued to where their thread has waited for them. */
#include "prove/model.h"

int_set *pair_happens_before(model *m, const pair_space *s, memory_space space)
{
    sets *z = m->sets;
    int_set *own = pair_same_thread(m, s, pair_before(m, s), m->thread_dims);
    if (m->persistent)
        own = pair_same_block(m, s, own);
    return sets_simplify(z, sets_union(z, own, pair_ordered(m, s, space)));
}

int_set *flight_before(model *m, const pair_space *s, const place *a, const place *b, memory_space space)
{
    (void)b;
    if (a && a->asynchronous)
        return sets_empty(m->sets, s->dims);
    return pair_happens_before(m, s, space);
}
