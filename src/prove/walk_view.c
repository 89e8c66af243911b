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

/* Row-major (padded, perhaps), of whole bytes, and of constant extents or one dimension. */
static bool is_plain(const kernel_array *a) {
    int64_t x;
    for (int d = 0; d < a->rank; d++)
        if (!ix_is_const(a->dims[d], &x) && (a->rank != 1 || a->layout.kind != LAYOUT_ROW))
            return false;
    return (a->layout.kind == LAYOUT_ROW || a->layout.kind == LAYOUT_PAD) && element_table[a->element].block_elements == 1;
}

/* Bytes of the base up to the end of this view. */
static index_expr *end_of(arena *a, const kernel_array *v, int64_t offset) {
    int64_t cells = kernel_array_cells(v), size = element_table[v->element].block_bytes;
    index_expr *bytes = cells < 0 ? ix_mul(a, v->dims[0], ix_const(a, size)) : ix_const(a, cells * size);
    return ix_add(a, ix_const(a, offset), bytes);
}

/* Whether a view of an argument, whose extents the checker does not know, surely ends inside it: as many whole elements as there are, or fewer. */
static bool ends_inside(arena *a, const kernel_array *v, const kernel_array *base, int64_t offset) {
    int64_t cells = kernel_array_cells(v), room = kernel_array_cells(base), size = element_table[v->element].block_bytes;
    if (v == base || base->space != SPACE_GLOBAL)
        return true;
    if (cells >= 0 && room >= 0)
        return offset + cells * size <= element_bytes(base->element, room);
    index_expr *bytes = ix_mul(a, base->dims[0], ix_const(a, element_table[base->element].block_bytes));
    return base->rank == 1 && v->rank == 1 &&
           ix_equal(v->dims[0], ix_floordiv(a, ix_sub(a, bytes, ix_const(a, offset)), ix_const(a, size)));
}

static bool is_stored(const kernel_block *b, const kernel_array *base, int depth);

static bool stores(const kernel_stmt *s, const kernel_array *base, int depth) {
    int64_t offset;
    if (s->access.array && base_of(s->access.array, &offset) == base && s->kind != KSTMT_FRAGMENT_LOAD)
        return true;
    for (int i = 0; i < s->contract_count; i++)
        if (s->contract[i].access.array && s->contract[i].effect != CONTRACT_READS &&
            base_of(s->contract[i].access.array, &offset) == base)
            return true;
    return is_stored(&s->body, base, depth + 1) || is_stored(&s->otherwise, base, depth + 1);
}

/* Whether something may be written there (too deep: it may). */
static bool is_stored(const kernel_block *b, const kernel_array *base, int depth) {
    for (int i = 0; i < b->items.count; i++)
        if (depth > 100 || stores(b->items.at[i], base, depth))
            return true;
    return false;
}

void walk_views(model *m, const kernel_ir *k) {
    int n = k->arrays.count;
    m->object_of = NEW_ARRAY(m->arena, kernel_array *, 2 * n + k->fragments.count + 1);
    for (int i = 0; i < n; i++) {
        int64_t offset, granule = 0;
        const kernel_array *base = k->arrays.at[i];
        bool plain = true, any = false;
        for (int j = 0; j < n && !base->view_of; j++) {
            const kernel_array *v = k->arrays.at[j];
            if (base_of(v, &offset) != base)
                continue;
            any = any || v != base;
            plain = plain && is_plain(v);
            if (!ends_inside(m->arena, v, base, offset)) {
                walk_beyond(m, v->span, "a view of an argument that has other extents than so many whole elements of it");
                return;
            }
            granule = common(common(granule, offset), element_table[v->element].block_bytes);
        }
        if (!any || (base->space == SPACE_GLOBAL && base->use != USE_WORKSPACE && !is_stored(&k->body, base, 0)))
            continue; /* of what is only read, and has been written before, order says nothing */
        if (!plain || granule <= 0) {
            walk_beyond(m, base->span,
                        "views of an array that is neither of constant extents, row after row, nor of one dimension");
            return;
        }
        index_expr *bytes = ix_const(m->arena, 0);
        for (int j = 0; j < n; j++) {
            const kernel_array *v = k->arrays.at[j];
            if (base_of(v, &offset) == base)
                bytes = ix_max(m->arena, bytes, end_of(m->arena, v, offset));
        }
        kernel_array *object = walk_new_array(m, base);
        object->rank = 1;
        object->dims = NEW_ARRAY(m->arena, index_expr *, 1);
        object->dims[0] = ix_ceildiv(m->arena, bytes, ix_const(m->arena, granule));
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
