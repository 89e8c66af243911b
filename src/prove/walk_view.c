/* Views: several typed arrays over the same bytes. For order, what is written and what is read, an array of granules stands behind them;
 * the array itself stands for bounds. */
#include "prove/walk.h"

static int64_t common(int64_t x, int64_t y) {
    while (y) {
        int64_t t = x % y;
        x = y;
        y = t;
    }
    return x;
}

static const kernel_array *base_of(const kernel_array *a, int64_t *offset) {
    *offset = 0;
    for (int hops = 0; a->view_of && hops < 64; hops++) {
        *offset += a->view_offset;
        a = a->view_of;
    }
    return a;
}

/* Row-major (padded, perhaps), of constant extents and whole bytes. */
static bool is_plain(const kernel_array *a) {
    int64_t x;
    for (int d = 0; d < a->rank; d++)
        if (!ix_is_const(a->dims[d], &x))
            return false;
    return (a->layout.kind == LAYOUT_ROW || a->layout.kind == LAYOUT_PAD) && element_table[a->element].block_elements == 1;
}

void walk_views(model *m, const kernel_ir *k) {
    int n = k->arrays.count;
    m->object_of = NEW_ARRAY(m->arena, kernel_array *, 2 * n + k->fragments.count + 1);
    for (int i = 0; i < n; i++) {
        int64_t offset, granule = 0, bytes = 0;
        const kernel_array *base = k->arrays.at[i];
        bool plain = true, any = false;
        for (int j = 0; j < n && !base->view_of; j++) {
            const kernel_array *v = k->arrays.at[j];
            if (base_of(v, &offset) != base)
                continue;
            any = any || v != base;
            plain = plain && is_plain(v);
            granule = common(common(granule, offset), element_table[v->element].block_bytes);
        }
        if (!any)
            continue;
        if (!plain || granule <= 0) {
            walk_beyond(m, base->span, "views of an array that is not of constant extents, row after row");
            return;
        }
        for (int j = 0; j < n; j++) {
            const kernel_array *v = k->arrays.at[j];
            int64_t end =
                base_of(v, &offset) == base ? offset + kernel_array_cells(v) * element_table[v->element].block_bytes : 0;
            bytes = end > bytes ? end : bytes;
        }
        kernel_array *object = walk_new_array(m, base);
        object->rank = 1;
        object->dims = NEW_ARRAY(m->arena, index_expr *, 1);
        object->dims[0] = ix_const(m->arena, (bytes + granule - 1) / granule);
        object->layout = (kernel_layout){.kind = LAYOUT_ROW};
        object->element = ELEMENT_U8;
        object->alignment = (int)granule; /* cells are granules of so many bytes */
        for (int j = 0; j < n; j++)
            if (base_of(k->arrays.at[j], &offset) == base)
                m->object_of[j] = object;
    }
}

place *walk_view_place(walk *w, region *step, const place *of) {
    model *m = w->m;
    arena *a = m->arena;
    const kernel_array *v = of->array;
    kernel_array *object =
        v->id < m->kernel->arrays.count && m->object_of && v->space != SPACE_GHOST ? m->object_of[v->id] : NULL;
    if (!object || object == v)
        return NULL;
    int64_t offset, granule = object->alignment, size = element_table[v->element].block_bytes, lanes = of->lanes;
    base_of(v, &offset);
    bool vector = lanes > 1;
    if ((vector && of->vector_dim != v->rank - 1) || (of->extents && v->rank > 1)) {
        walk_beyond(m, of->span, "an access through a view that is not one run of bytes");
        return NULL;
    }
    index_expr *at = ix_const(a, 0);
    for (int d = 0; d < v->rank; d++) {
        bool last = d == v->rank - 1;
        index_expr *extent =
            last && v->layout.kind == LAYOUT_PAD ? ix_add(a, v->dims[d], ix_const(a, v->layout.amount)) : v->dims[d];
        at = ix_add(a, ix_mul(a, at, extent), of->indices[d]);
    }
    index_expr *count = ix_const(a, vector ? lanes : 1), *each = ix_const(a, size / granule);
    if (of->active)
        count = ix_max(a, ix_const(a, 0), ix_min(a, count, of->active));
    if (of->extents)
        count = of->extents[0];
    kernel_access access = {.array = object, .lanes = 1, .vector_dim = -1};
    access.indices = NEW_ARRAY(a, index_expr *, 1);
    access.indices[0] = ix_add(a, ix_const(a, offset / granule), ix_mul(a, each, at));
    place *p = walk_place(w, step, &access, of->use, of->span);
    p->extents = NEW_ARRAY(a, index_expr *, 1);
    p->extents[0] = ix_mul(a, each, count);
    ((place *)of)->unordered = true;
    return p;
}
