/* Lowering to the threads of a block: operands of a product staged in shared memory. The tile of each operand is copied by all threads of the block,
 * each element once; a barrier; then every thread reads its rows and columns from there; a barrier, before the next trip writes the tile again. */
#include "schedule/lanes_stage.h"
#include "schedule/lanes_fragment.h"
#include <limits.h>
#include <stdlib.h>

enum { SWIZZLE_BYTES = 1024, MOST_IDS = 8 };

static int load_bytes(const tile_value *v, unsigned char *seen) {
    int most = 0;
    if (seen[v->id]++)
        return 0;
    if (v->op == TILE_LOAD)
        most = element_table[v->array->type].block_elements > 1
                   ? 2
                   : element_table[v->array->type].block_bytes; /* eight lie in one block */
    for (int i = 0; i < v->operand_count; i++) {
        int inner = load_bytes(v->operands[i], seen);
        most = inner > most ? inner : most;
    }
    return most;
}

static bool is_number_along(const tile_value *v, void *range) {
    return v->op == TILE_INDEX && ix_mentions(v->index, ((const tile_range *)range)->var);
}

static bool numbers_along(const lower *l, const tile_value *v, const tile_range *r) {
    return tile_value_some(v, l->value_count, is_number_along, (void *)r);
}

/* Elements of r that are copied at once: as many as an access of 16 bytes holds where memory is contiguous, and the predicates leave a prefix. Eight at
 * most where each is converted on its way. */
static int copy_width(lower *l, const tile_value *product, tile_value *x, const tile_range *r) {
    const matrix_instruction *with = l->matrices[product->id];
    const bool as_it_is = with && x->op == TILE_LOAD && x->array->type == with->operand;
    if (vector_score(l, x, r) <= 0 || leaves_along(l, x, r) || numbers_along(l, x, r))
        return 1;
    for (int i = 0; i < l->atoms.count; i++)
        if (atom_mentions(&l->atoms.at[i], r))
            return 1;
    int bytes = load_bytes(x, NEW_ARRAY(l->arena, unsigned char, l->value_count)),
        width = bytes && bytes <= ACCESS_BYTES ? ACCESS_BYTES / bytes : 1, most = l->machine->widest_vector;
    while (width > (as_it_is ? ACCESS_BYTES : 8) || (most && width > most) || (width > 1 && range_capacity(r) < width))
        width /= 2;
    return width;
}

/* Elements along r that some thread of the block reads, existing or not. */
static int64_t cells_read(const lower *l, const tile_value *product, const tile_range *r) {
    if (l->matrices[product->id])
        return lanes_fragment_cells(l, product, r);
    return spread_cells(l, r);
}

static bool on_threads(const lower *l, const tile_range *r) {
    const spread *s = &l->spreads[r->id];
    return s->subgroups > 1 || s->lanes > 1 || s->vector > 1 || s->run > 1;
}

/* Fragments are read from rows of either operand's range, so the tile lies as memory does; bytes can't be exchanged in pairs, words need not be. */
static const tile_range *last_of_matrix(lower *l, const tile_value *product, tile_value *x) {
    const tile_range *contracted = NULL, *other = NULL;
    for (int i = 0; i < x->axis_count; i++) {
        bool in = false;
        for (int c = 0; c < product->contract_count; c++)
            in = in || product->contract[c] == x->axes[i];
        if (range_capacity(x->axes[i]) != 1)
            *(in ? &contracted : &other) = x->axes[i];
    }
    const element_type of = l->matrices[product->id]->operand;
    bool halves = element_table[of].block_bytes == 2 || (of == ELEMENT_TF32 && !lanes_by_reference(l, product));
    return halves && other && copy_width(l, product, x, other) > copy_width(l, product, x, contracted) ? other : contracted;
}

/* A warpgroup's unit reads pieces of 16 bytes along the tile's last range: threads gather one at a time where memory runs along the other. */
static void turn(staged_tile *t) {
    lower *l = t->l;
    tile_axis *last = &t->axes[t->count - 1];
    int width = ACCESS_BYTES / element_table[t->matrix->operand].block_bytes;
    if (last->width > 1 || vector_score(l, t->x, last->r) == INT_MIN || leaves_along(l, t->x, last->r) ||
        numbers_along(l, t->x, last->r))
        return;
    for (int i = 0; i < l->atoms.count; i++)
        if (atom_mentions(&l->atoms.at[i], last->r))
            return;
    while (width > 8 || last->cells % width)
        width /= 2;
    for (int d = 0; d < t->count; d++)
        t->axes[d].width = 1;
    last->width = width;
    t->turned = width > 1;
}

/* The tile without its array; the axis that is copied in vectors has a width. */
staged_tile lanes_stage_shape(lower *l, const tile_value *product, int operand) {
    staged_tile t = {.l = l,
                     .x = product->operands[operand],
                     .matrix = l->matrices[product->id],
                     .slots = l->chain ? lanes_chain_slots(l, product, operand) : l->rings[product->id],
                     .span = product->span};
    if (lanes_rounds_later(l, product))
        t.x = lanes_rounded_load(l, product, operand);
    const tile_range *last = t.matrix ? last_of_matrix(l, product, t.x) : NULL;
    /* the range that threads are spread over last, what is contracted before it */
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < t.x->axis_count; i++) {
            tile_range *r = t.x->axes[i];
            bool contracted = false;
            for (int c = 0; c < product->contract_count; c++)
                contracted = contracted || product->contract[c] == r;
            int turn = contracted ? 1 : on_threads(l, r) ? 2 : 0;
            if (t.matrix)
                turn = r == last ? 2 : 1;
            if (range_capacity(r) == 1 || round != turn)
                continue;
            t.axes[t.count] = (tile_axis){r, cells_read(l, product, r), t.count, 1, contracted, NULL, 0};
            t.count++;
        }
    /* One range is copied in vectors: the one that memory is contiguous along. */
    tile_axis *widest = NULL;
    for (int d = 0; d < t.count; d++) {
        int width = copy_width(l, product, t.x, t.axes[d].r);
        if (!t.matrix && t.slots && d < t.count - 1)
            continue; /* a row of the tile at a time */
        if (width > 1 && (!widest || width > widest->width)) {
            if (widest)
                widest->width = 1;
            widest = &t.axes[d];
            widest->width = width;
        }
    }
    if (widest)
        widest->cells = (widest->cells + widest->width - 1) / widest->width * widest->width;
    if (t.matrix && t.count && lanes_by_reference(l, product))
        turn(&t);
    return t;
}

bool lanes_stage_same_elements(const tile_value *x, const tile_value *y) {
    if (x->op != y->op || x->type != y->type || x->axis_count != y->axis_count || x->operand_count != y->operand_count)
        return false;
    if (x->op == TILE_CONVERT)
        return !x->saturate && !y->saturate && lanes_stage_same_elements(x->operands[0], y->operands[0]);
    if (x->op != TILE_LOAD || x->array != y->array || x->array->role != ARRAY_IN || x->has_outside || y->has_outside)
        return false;
    for (int d = 0; d < x->array->rank; d++)
        if (!ix_equal(x->indices[d], y->indices[d]))
            return false;
    return true;
}

static kernel_array **array_of_tile(lower *l, const staged_tile *t, const tile_value *product, int operand) {
    return t->matrix ? &l->fragment_tiles[2 * product->id + operand] : &l->staged[t->x->id];
}

const copied_tile *lanes_stage_copied_before(lower *l, const staged_tile *t, element_type type) {
    for (int i = 0; i < l->copied.count; i++) {
        const copied_tile *c = &l->copied.at[i];
        bool same = c->in == l->block && c->matrix == t->matrix && c->array->element == type && c->count == t->count &&
                    !t->slots && lanes_stage_same_elements(c->x, t->x);
        for (int d = 0; d < t->count && same; d++)
            same = c->ranges[d] == t->axes[d].r && c->cells[d] == t->axes[d].cells;
        if (same)
            return c;
    }
    return NULL;
}

/* A ring of the same elements, which products of single threads share, and others whose tiles threads hold: noted for no block. */
static kernel_array *in_ring(lower *l, const staged_tile *t) {
    for (int i = 0; i < l->copied.count; i++)
        if (!l->copied.at[i].in && l->copied.at[i].matrix == t->matrix && l->copied.at[i].count == t->count &&
            lanes_stage_same_elements(l->copied.at[i].x, t->x))
            return l->copied.at[i].array;
    return NULL;
}

void lanes_stage_note_copied(lower *l, const staged_tile *t) {
    copied_tile c = {.in = t->slots ? NULL : l->block, .x = t->x, .array = t->array, .matrix = t->matrix, .count = t->count};
    c.ranges = NEW_ARRAY(l->arena, const tile_range *, t->count + 1);
    c.cells = NEW_ARRAY(l->arena, int64_t, t->count + 1);
    for (int d = 0; d < t->count; d++) {
        c.ranges[d] = t->axes[d].r;
        c.cells[d] = t->axes[d].cells;
    }
    VEC_PUSH(l->arena, l->copied, c);
}

/* As a warpgroup's instructions read it: boxes of rows of 128 bytes, their 16-byte pieces exchanged over eight rows. */
static void lay_out_by_reference(lower *l, kernel_array *array, int lead) {
    const int bytes = element_table[array->element].block_bytes;
    array->layout = (kernel_layout){.kind = LAYOUT_BOX, .bits = 3, .base = bytes == 1 ? 4 : bytes == 2 ? 3 : 2, .shift = 3};
    array->layout.box = NEW_ARRAY(l->arena, int64_t, array->rank);
    for (int d = 0; d < array->rank; d++) {
        array->layout.box[d] = 1;
        if (d >= lead && d < array->rank - 1)
            ix_is_const(array->dims[d], &array->layout.box[d]);
    }
    array->layout.box[array->rank - 1] = SWIZZLED_BYTES / bytes;
    array->alignment = SWIZZLE_BYTES;
}

/* Elements between rows of `cells`, so that the pieces of neighbouring rows that a subgroup reads at once lie in different banks: a row is an odd number of pieces. */
static int64_t padding(const lower *l, const staged_tile *t, element_type type, int64_t cells) {
    const int64_t piece =
        t->matrix && l->machine->fragment_row ? l->machine->fragment_row : ACCESS_BYTES / element_table[type].block_bytes;
    return !t->matrix || cells % piece ? piece : (cells / piece + 1) % 2 * piece;
}

staged_tile lanes_stage_tile(lower *l, const tile_value *product, int operand) {
    arena *a = l->arena;
    staged_tile t = lanes_stage_shape(l, product, operand);
    int lead = t.slots > 0;
    tile_axis *widest = NULL;
    for (int d = 0; d < t.count; d++)
        widest = t.axes[d].width > 1 ? &t.axes[d] : widest;
    kernel_array **made = array_of_tile(l, &t, product, operand);
    const bool of_threads = lead && !t.matrix;
    const bool shares = of_threads || (lead && l->machine->held_stages);
    if (!*made && shares)
        *made = in_ring(l, &t);
    if (!*made) {
        index_expr *dims[MOST_STAGED_AXES + 1] = {ix_const(a, t.slots)};
        for (int d = 0; d < t.count; d++)
            dims[d + lead] = ix_const(a, t.axes[d].cells);
        const char *name = t.x->name ? t.x->name : t.x->op == TILE_LOAD ? t.x->array->name : "operand";
        *made = kernel_add_array(l->ir, lower_name(l, arena_printf(a, "%s_tile", name)), SPACE_SHARED, USE_LOCAL,
                                 lanes_staged_type(l, product), t.count + lead, dims);
        (*made)->span = product->span;
        const bool across = of_threads && t.count && vector_score(l, t.x, t.axes[t.count - 1].r) <= 0;
        if (lanes_by_reference(l, product)) {
            lay_out_by_reference(l, *made, lead);
        } else if ((widest && widest->dim != t.count - 1) || t.matrix ||
                   across) { /* lanes of one vector, or neighbours in memory, go to rows apart: they start in other banks */
            (*made)->layout.kind = LAYOUT_PAD;
            (*made)->layout.amount = padding(l, &t, (*made)->element, t.axes[t.count - 1].cells);
            if (!(*made)->layout.amount)
                (*made)->layout.kind = LAYOUT_ROW;
        }
    }
    for (int d = 0; d < t.count; d++)
        ix_is_const((*made)->dims[d + lead], &t.axes[d].cells);
    t.array = *made;
    if (shares && !in_ring(l, &t))
        lanes_stage_note_copied(l, &t);
    return t;
}

/* ---- the copy: units of a tile dealt out to the threads ---- */

/* What is left of a thread's ids to deal out: `part` goes from 0 to extent - 1. */
typedef struct thread_digit {
    index_expr *part;
    int64_t extent;
} thread_digit;

/* The ids of a thread, those of neighbours first. */
static int thread_digits(const lower *l, thread_digit digits[MOST_IDS]) {
    int count = 0;
    for (int level = l->ir->levels.count - 1; level > 0; level--) {
        const kernel_level *at = &l->ir->levels.at[level];
        for (int d = at->rank - 1; d >= 0 && count < MOST_IDS; d--) {
            int64_t extent = 1;
            ix_is_const(at->extents[d], &extent);
            if (extent > 1)
                digits[count++] = (thread_digit){ix_var(l->arena, at->ids[d]), extent};
        }
    }
    return count;
}

static int64_t power_from(int64_t n) {
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Goes on where the condition holds. */
static kernel_stmt *within(point *p, cond *c, source_span span) {
    kernel_stmt *s = kernel_append(p->l->ir, p->block, KSTMT_IF, span);
    s->condition = c;
    p->block = &s->body;
    return s;
}

/* Places the axis for this thread: its units go first to the ids that are left, then to a loop. */
static void deal_axis(point *p, staged_tile *t, tile_axis *x, thread_digit *digits, int count) {
    lower *l = t->l;
    arena *a = l->arena;
    int64_t units = (x->cells + x->width - 1) / x->width, covered = 1;
    index_expr *unit = ix_const(a, 0);
    /* Neighbours take whole rows of memory: a copy of a warp then touches the fewest lines of the far cache, and pieces of one row lie in different banks. */
    const bool whole_rows = t->matrix != NULL;
    while (covered < units) {
        int64_t wanted = power_from((units + covered - 1) / covered);
        thread_digit *g = NULL, *larger = NULL;
        for (int i = 0; i < count && !g && !(larger && whole_rows); i++)
            if (digits[i].extent > 1 && digits[i].extent <= wanted)
                g = &digits[i];
            else if (digits[i].extent > wanted && !larger)
                larger = &digits[i];
        if (!g && !larger)
            break;
        if (g) {
            unit = ix_add(a, unit, ix_mul(a, g->part, ix_const(a, covered)));
            covered *= g->extent;
            g->extent = 1;
        } else { /* the low part of the id here, the rest of it to the next range */
            g = larger;
            index_expr *high = ix_floordiv(a, g->part, ix_const(a, wanted));
            index_expr *low =
                whole_rows ? ix_mod(a, g->part, ix_const(a, wanted)) : ix_sub(a, g->part, ix_mul(a, high, ix_const(a, wanted)));
            unit = ix_add(a, unit, ix_mul(a, low, ix_const(a, covered)));
            g->part = high;
            g->extent /= wanted;
            covered *= wanted;
        }
    }
    int64_t trips = (units + covered - 1) / covered;
    x->trips = trips;
    x->trip = ix_const(a, 0);
    if (trips > 1) {
        kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, arena_printf(a, "%s_copy", x->r->name)), ix_const(a, 0),
                                    ix_const(a, trips), 1, t->span);
        s->unroll = true;
        p->block = &s->body;
        x->trip = ix_var(a, s->var);
        unit = ix_add(a, unit, ix_mul(a, x->trip, ix_const(a, covered)));
    }
    if (covered * trips > units)
        within(p, cond_compare(a, COND_LT, unit, ix_const(a, units)), t->span);
    p->position[x->r->id] = name_index(l, p->block, arena_printf(a, "%s_at", x->r->name), ix_mul(a, unit, ix_const(a, x->width)));
}

/* Opens the axis where it was placed, and adds to `exists` when its element does. */
static void bound_axis(point *p, tile_axis *x, bool filled, cond **exists) {
    lower *l = p->l;
    arena *a = l->arena;
    index_expr *position = p->position[x->r->id], *lo, *hi;
    cond *guard = NULL;
    int64_t constant;
    p->position[x->r->id] = NULL;
    loop_bounds(p, x->r, false, &lo, &hi, &guard);
    p->position[x->r->id] = position;
    bool whole = ix_is_const(hi, &constant) && constant >= x->cells;
    if (x->width > 1) {
        p->vector = x->r;
        p->lanes = x->width;
        p->active = whole ? NULL : ix_sub(a, hi, position);
        if (!whole && filled) /* it is read where it begins, without a mask */
            *exists = cond_and(a, *exists, cond_compare(a, COND_LT, position, hi));
        return;
    }
    if (!ix_is_const(lo, &constant) || constant > 0)
        *exists = cond_and(a, *exists, cond_compare(a, COND_LE, lo, position));
    if (!whole)
        *exists = cond_and(a, *exists, cond_compare(a, COND_LT, position, hi));
}

/* Results that don't exist may be anything, as they are not stored: their rows read the last that exists, without a test. */
static void last_for_missing(point *p, const tile_axis *x) {
    arena *a = p->l->arena;
    index_expr *count = p->l->place[x->r->id].count;
    int64_t constant;
    if (!ix_is_const(count, &constant) || constant < x->cells)
        p->position[x->r->id] =
            name_index(p->l, p->block, arena_printf(a, "%s_from", x->r->name),
                       ix_min(a, p->position[x->r->id], ix_max(a, ix_const(a, 0), ix_sub(a, count, ix_const(a, 1)))));
}

kernel_access lanes_stage_access(const point *p, const staged_tile *t) {
    index_expr *at[MOST_STAGED_AXES + 1] = {t->slot};
    const int lead = t->slot != NULL;
    int vector = -1;
    for (int d = 0; d < t->count; d++) {
        at[d + lead] = p->position[t->axes[d].r->id];
        if (t->axes[d].r == p->vector)
            vector = d + lead;
    }
    kernel_access access = kernel_at(p->l->ir, t->array, at);
    if (vector >= 0) {
        access.lanes = p->lanes;
        access.vector_dim = vector;
    }
    return access;
}

static void store_cells(point *p, const staged_tile *t, kernel_value *v) {
    kernel_access to = lanes_stage_access(p, t);
    if (v->type != t->array->element)
        v = kernel_op1(p->l->ir, KERNEL_CONVERT, t->array->element, v);
    kernel_store(p->l->ir, p->block, to, kernel_broadcast(p->l->ir, v, to.lanes), t->span);
}

bool lanes_stage_zero_where_missing(const tile_value *v) {
    return (v->op == TILE_LOAD && !v->has_outside) || (v->op == TILE_CONVERT && lanes_stage_zero_where_missing(v->operands[0]));
}

/* Types that are only stored have no constants. */
static kernel_value *zero_of(lower *l, element_type t) {
    element_type computed = t == ELEMENT_F16 || t == ELEMENT_BOOL ? t : arithmetic_type(t);
    kernel_value *zero = kernel_const(l->ir, computed, 1, 0);
    return computed == t ? zero : kernel_op1(l->ir, KERNEL_CONVERT, t, zero);
}

int lanes_stage_deal(point *p, staged_tile *t, tile_axis *order[MOST_STAGED_AXES]) {
    lower *l = t->l;
    thread_digit digits[MOST_IDS];
    int count = thread_digits(l, digits);
    /* Neighbouring threads copy neighbouring vectors of memory, but where a vector's lanes go to rows apart: there, to different banks, neighbours in
     * the tile, and the near cache joins what they read. Single elements, and vectors gathered from rows of memory: neighbours in memory. */
    tile_axis *first = t->count ? &t->axes[t->count - 1] : NULL;
    bool vectors = false;
    int n = 0;
    for (int d = 0; d < t->count; d++)
        vectors = vectors || t->axes[d].width > 1;
    for (int d = t->count - 1; d >= 0 && (!vectors || t->turned); d--)
        if (vector_score(l, t->x, t->axes[d].r) > 0) {
            first = &t->axes[d];
            break;
        }
    if (first)
        order[n++] = first;
    for (int d = t->count - 1; d >= 0; d--)
        if (&t->axes[d] != first)
            order[n++] = &t->axes[d];
    for (int i = 0; i < n; i++)
        deal_axis(p, t, order[i], digits, count);
    cond *one = NULL; /* more threads than there is to copy */
    for (int i = 0; i < count; i++)
        if (digits[i].extent > 1)
            one = cond_and(l->arena, one, cond_compare(l->arena, COND_EQ, digits[i].part, ix_const(l->arena, 0)));
    if (one)
        within(p, one, t->span);
    return n;
}

/* The thread's cell of a kept load, for the unit that is open. */
static kernel_access kept_cell(const staged_tile *t, kernel_array *array) {
    index_expr *at[MOST_STAGED_AXES];
    int rank = 0;
    for (int d = 0; d < t->count; d++)
        if (t->axes[d].trips > 1)
            at[rank++] = t->axes[d].trip;
    return kernel_at(t->l->ir, array, at);
}

static void keep(point *p, const staged_tile *t, kept_load *k, kernel_value *v) {
    kernel_stmt *s = kernel_append(t->l->ir, p->block, KSTMT_STORE, t->span);
    s->access = kept_cell(t, k->array);
    s->value = v;
}

/* Loads into registers what is made into the tile's elements later; zeros where nothing exists. */
static void keep_loads(point *p, staged_tile *t, kernel_stmt *test) {
    lower *l = t->l;
    for (int i = 0; i < t->kept->items.count; i++) {
        kept_load *k = &t->kept->items.at[i];
        p->block = test ? &test->body : p->block;
        kernel_value *v = emit_value(p, k->load);
        if (!k->array) {
            index_expr *dims[MOST_STAGED_AXES];
            int rank = 0;
            for (int d = 0; d < t->count; d++)
                if (t->axes[d].trips > 1)
                    dims[rank++] = ix_const(l->arena, t->axes[d].trips);
            k->array = kernel_add_array(
                l->ir, lower_name(l, arena_printf(l->arena, "%s_kept", k->load->array ? k->load->array->name : t->array->name)),
                SPACE_REGISTER, USE_LOCAL, v->type, rank, dims);
            k->array->lanes = v->lanes;
            k->array->span = t->span;
        }
        keep(p, t, k, v);
        if (test) {
            p->block = &test->otherwise;
            keep(p, t, k, kernel_broadcast(l->ir, zero_of(l, v->type), v->lanes));
        }
    }
}

void lanes_stage_copy_tile(staged_tile *t) {
    lower *l = t->l;
    kernel_ir *ir = l->ir;
    tile_axis *order[MOST_STAGED_AXES];
    point p = point_new(l);
    int n = lanes_stage_deal(&p, t, order);
    index_expr *positions[MOST_STAGED_AXES];
    cond *reached = NULL, *exists = NULL; /* what is not reached by the sum is not read; results that don't exist read zeros */
    for (int i = 0; i < n; i++) {
        positions[i] = p.position[order[i]->r->id];
        const bool any = t->slot && !order[i]->contracted && order[i]->width == 1;
        if (any && t->phase != FILL_STORES)
            last_for_missing(&p, order[i]);
        else if (!any)
            bound_axis(&p, order[i], t->slot != NULL,
                       order[i]->contracted && !t->matrix ? &reached : &exists); /* a matrix unit takes whole steps of the sum */
    }
    if (reached)
        within(&p, reached, t->span);
    kernel_stmt *test = exists ? within(&p, exists, t->span) : NULL;
    if (t->phase == FILL_LOADS) {
        keep_loads(&p, t, test);
        return;
    }
    for (int i = 0; t->phase == FILL_STORES && i < t->kept->items.count; i++)
        p.known[t->kept->items.at[i].load->id] = kernel_load(ir, kept_cell(t, t->kept->items.at[i].array));
    kernel_value *v = emit_value(&p, t->x), *zero = zero_of(l, t->array->element);
    for (int i = 0; i < n; i++)
        p.position[order[i]->r->id] = positions[i];
    if (p.active && v->lanes > 1 && !lanes_stage_zero_where_missing(t->x)) {
        if (v->type != t->array->element)
            v = kernel_op1(ir, KERNEL_CONVERT, t->array->element, v);
        v = kernel_prefix_select(ir, p.active, v, kernel_broadcast(ir, zero, v->lanes));
    }
    store_cells(&p, t, v);
    if (test) {
        p.block = &test->otherwise;
        store_cells(&p, t, zero);
    }
}

int64_t lanes_stage_bytes(lower *l, const tile_value *product, int operand) {
    staged_tile t = lanes_stage_shape(l, product, operand);
    element_type type = lanes_staged_type(l, product);
    int64_t cells = 1;
    for (int d = 0; d < t.count; d++)
        cells *= t.axes[d].cells + (d == t.count - 1 ? padding(l, &t, type, t.axes[d].cells) : 0);
    return (element_bytes(type, cells) + 127) / 128 * 128;
}

void lanes_stage_copy_operand(lower *l, const tile_value *product, int operand, int64_t *bytes, text_buffer *names) {
    staged_tile t = lanes_stage_shape(l, product, operand);
    const copied_tile *before = lanes_stage_copied_before(l, &t, lanes_staged_type(l, product));
    kernel_array **made = array_of_tile(l, &t, product, operand);
    if (before && (!*made || *made == before->array)) { /* an operand of two products: one copy serves both */
        *made = before->array;
        if (names)
            text_add(names, "%s%s (copied before)", names->length ? ", " : "",
                     t.x->op == TILE_LOAD ? t.x->array->name : before->array->name);
        return;
    }
    t = lanes_stage_tile(l, product, operand);
    lanes_stage_copy_tile(&t);
    lanes_stage_note_copied(l, &t);
    if (bytes)
        *bytes += (element_bytes(t.array->element, kernel_array_cells(t.array)) + 127) / 128 * 128;
    if (names)
        text_add(names, "%s%s", names->length ? ", " : "", t.x->op == TILE_LOAD ? t.x->array->name : t.array->name);
}

void lanes_stage_copy(lower *l, const tile_value *product) {
    bool told = l->stages[product->id] > 1;
    l->stages[product->id] = 2;
    int64_t bytes = 0;
    text_buffer names = {0};
    for (int o = 0; o < 2; o++)
        lanes_stage_copy_operand(l, product, o, &bytes, &names);
    lanes_barrier(l, 1u << SPACE_SHARED, product->span);
    if (!told)
        VEC_PUSH(l->arena, l->out->routes,
                 arena_printf(l->arena, "line %d: operands %s staged in shared memory: %lld bytes (refused: direct)",
                              product->span.line, text_get(&names), (long long)bytes));
    text_free(&names);
}

void lanes_stage_read(point *p, const tile_value *product) {
    for (int o = 0; o < 2; o++) {
        tile_value *x = product->operands[o];
        bool open = !p->known[x->id];
        for (int i = 0; i < x->axis_count; i++)
            open = open && range_open(p, x->axes[i]);
        if (!open)
            continue;
        staged_tile t = lanes_stage_tile(p->l, product, o);
        t.slot = p->l->ring_slot;
        p->known[x->id] =
            emit_named(p, t.x->op == TILE_LOAD ? t.x->array->name : "x", kernel_load(p->l->ir, lanes_stage_access(p, &t)));
    }
}

/* ---- for matrix instructions ---- */

const tile_range *lanes_stage_last(lower *l, const tile_value *product, int operand) {
    return last_of_matrix(l, product, product->operands[operand]);
}

int lanes_stage_width(lower *l, const tile_value *product, int operand) {
    return copy_width(l, product, product->operands[operand], lanes_stage_last(l, product, operand));
}
