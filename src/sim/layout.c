/* Where cells lie: extents and storage of every array at one launch's values, and the offset of a cell under each layout. */
#include "sim/machine.h"
#include <stdlib.h>
#include <string.h>

int64_t sim_add(int64_t x, int64_t y) {
    int64_t r;
    return __builtin_add_overflow(x, y, &r) ? INT64_MAX : r;
}

int64_t sim_multiply(int64_t x, int64_t y) {
    int64_t r;
    return __builtin_mul_overflow(x, y, &r) ? INT64_MAX : r;
}

static int64_t pieces(int64_t x, int64_t size) {
    return x / size + (x % size != 0);
}

/* The extent of dimension d in storage units. */
static int64_t extent(const sim_array *a, int d) {
    return d == a->source->rank - 1 ? a->last : a->dims[d];
}

static int64_t storage_of(const sim_array *a) {
    const kernel_layout *layout = &a->source->layout;
    int64_t units = 1;
    for (int d = 0; d < a->source->rank; d++)
        if (!extent(a, d))
            return 0;
    if (layout->kind == LAYOUT_STRIDES) {
        for (int d = 0; d < a->source->rank; d++) {
            if (a->strides[d] < 0)
                return -1;
            units = sim_add(units, sim_multiply(extent(a, d) - 1, a->strides[d]));
        }
        return units;
    }
    for (int d = 0; d < a->source->rank; d++) {
        int64_t size = extent(a, d);
        if (layout->kind == LAYOUT_PAD && d == a->source->rank - 1)
            size = sim_add(size, layout->amount);
        if (layout->kind == LAYOUT_PANEL && d == layout->dim)
            size = sim_multiply(pieces(size, layout->amount), layout->amount);
        if (layout->kind == LAYOUT_BOX)
            size = sim_multiply(pieces(size, layout->box[d]), layout->box[d]);
        units = sim_multiply(units, size);
    }
    if (kernel_swizzle_run(layout)) {
        int64_t group = (int64_t)1 << (layout->base + layout->bits);
        units = sim_multiply(pieces(units, group), group);
    }
    return units;
}

static int64_t swizzled(const kernel_layout *l, int64_t offset) {
    return kernel_swizzle_run(l) ? offset ^ (offset >> l->shift & (((int64_t)1 << l->bits) - 1) << l->base) : offset;
}

int64_t sim_unit_of(const sim_array *a, const int64_t *cell) {
    const kernel_layout *layout = &a->source->layout;
    int rank = a->source->rank, block = element_table[a->source->element].block_elements;
    int64_t at[16] = {0}, offset = 0;
    for (int d = 0; d < rank; d++)
        at[d] = d == rank - 1 ? cell[d] / block : cell[d];
    switch (layout->kind) {
    case LAYOUT_STRIDES:
        for (int d = 0; d < rank; d++)
            offset += at[d] * a->strides[d];
        return offset;
    case LAYOUT_PANEL:
        offset = at[layout->dim] / layout->amount;
        for (int d = 0; d < rank; d++)
            if (d != layout->dim)
                offset = offset * extent(a, d) + at[d];
        return offset * layout->amount + at[layout->dim] % layout->amount;
    case LAYOUT_BOX: {
        int64_t within = 0;
        for (int d = 0; d < rank; d++) {
            offset = offset * pieces(extent(a, d), layout->box[d]) + at[d] / layout->box[d];
            within = within * layout->box[d] + at[d] % layout->box[d];
        }
        for (int d = 0; d < rank; d++)
            offset *= layout->box[d];
        return swizzled(layout, offset + within);
    }
    default:
        for (int d = 0; d < rank; d++)
            offset = offset * (extent(a, d) + (layout->kind == LAYOUT_PAD && d == rank - 1 ? layout->amount : 0)) + at[d];
        return swizzled(layout, offset);
    }
}

/* Two cells at one place would make a store to one change the other. */
static void check_injective(sim_machine *m, const sim_array *a) {
    const kernel_array *source = a->source;
    int rank = source->rank, block = element_table[source->element].block_elements;
    int64_t cell[16] = {0}, count = 1;
    if (source->layout.kind == LAYOUT_ROW || source->layout.kind == LAYOUT_PAD || source->use == USE_IN || !a->storage || !rank)
        return;
    for (int d = 0; d < rank; d++)
        count = sim_multiply(count, a->dims[d]);
    unsigned char *taken = calloc((size_t)(a->storage + 7) / 8, 1);
    for (int64_t n = 0; taken && n < count; n++) {
        int64_t unit = sim_unit_of(a, cell);
        if (cell[rank - 1] % block == 0) {
            if (unit < 0 || unit >= a->storage || taken[unit / 8] >> unit % 8 & 1) {
                sim_report_finding(m, SIM_LAYOUT, NULL, -1, NULL, source->name, "another cell of `%s` lies where %s does",
                                   source->name, sim_cell_name(m, a, cell));
                break;
            }
            taken[unit / 8] |= (unsigned char)(1u << unit % 8);
        }
        for (int d = rank; d-- > 0 && ++cell[d] == a->dims[d];)
            cell[d] = 0;
    }
    free(taken);
}

static bool shape_failed(sim_machine *m, const kernel_array *a, const char *what) {
    diag_error(m->diags, "E0711", a->span, "`%s` %s at these launch values", a->name, what);
    return false;
}

static bool shape_array(sim_machine *m, const kernel_array *source, sim_array *a) {
    const element_info *info = &element_table[source->element];
    int rank = source->rank;
    a->source = source;
    a->dims = NEW_ARRAY(m->memory, int64_t, rank);
    a->width = source->space == SPACE_REGISTER && source->element == ELEMENT_INDEX ? 8 : info->block_bytes;
    a->root = source->id;
    for (int d = 0; d < rank; d++)
        if (!sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, source->dims[d]), -1, &a->dims[d]) ||
            a->dims[d] < 0)
            return shape_failed(m, source, "has an extent that is negative or does not fit");
    a->last = rank ? a->dims[rank - 1] / info->block_elements : 1;
    if (rank && a->dims[rank - 1] % info->block_elements)
        return shape_failed(m, source, "does not hold whole blocks of its format");
    if (source->space == SPACE_GHOST) {
        int64_t count = 1;
        for (int d = 0; d < rank; d++)
            count = sim_multiply(count, a->dims[d]);
        m->bytes = sim_add(m->bytes, sim_multiply(count, 5));
        if (m->bytes > m->options.byte_limit)
            return shape_failed(m, source, "is larger than the simulator may hold");
        a->consumed = NEW_ARRAY(m->memory, uint8_t, count);
        a->consumer = NEW_ARRAY(m->memory, int32_t, count);
        a->storage = count;
    } else {
        a->strides = NEW_ARRAY(m->memory, int64_t, rank);
        for (int d = 0; d < rank && source->layout.kind == LAYOUT_STRIDES; d++)
            if (!sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, source->layout.strides[d]), -1,
                                      &a->strides[d]))
                return shape_failed(m, source, "has a stride that does not fit");
        a->storage = storage_of(a);
        if (a->storage < 0)
            return shape_failed(m, source, "has a negative stride");
        if (source->lanes > 1)
            a->storage = sim_multiply(a->storage, source->lanes);
        if (sim_multiply(a->storage, a->width) > m->options.byte_limit)
            return shape_failed(m, source, "is larger than the simulator may hold");
    }
    if (source->cells) {
        a->promise = sim_compile_condition(m->memory, m->program, source->cells);
        a->promise_variables = NEW_ARRAY(m->memory, int, rank);
        for (int d = 0; d < rank; d++)
            a->promise_variables[d] = sim_variable(m->memory, m->program, source->cell_vars[d]);
    }
    return true;
}

bool sim_shape_arrays(sim_machine *m) {
    const kernel_ir *k = m->kernel;
    m->arrays = NEW_ARRAY(m->memory, sim_array, k->arrays.count);
    for (int i = 0; i < k->arrays.count; i++)
        if (!shape_array(m, k->arrays.at[i], &m->arrays[i]))
            return false;
    for (int i = 0; i < k->arrays.count; i++) {
        sim_array *a = &m->arrays[i];
        const kernel_array *of = a->source;
        for (int depth = 0; of->view_of && depth < 64; depth++) {
            a->view_offset = sim_add(a->view_offset, of->view_offset);
            of = of->view_of;
        }
        a->root = of->id;
        int64_t end = sim_add(a->view_offset, sim_multiply(a->storage, a->width));
        if (end > sim_multiply(m->arrays[a->root].storage, m->arrays[a->root].width) || a->view_offset < 0)
            sim_report_finding(m, SIM_LAYOUT, NULL, -1, NULL, a->source->name,
                               "the view `%s` ends %lld bytes into `%s`, which has %lld", a->source->name, (long long)end,
                               of->name, (long long)sim_multiply(m->arrays[a->root].storage, m->arrays[a->root].width));
        if (a->source->space != SPACE_GHOST)
            check_injective(m, a);
    }
    return true;
}

const char *sim_cell_name(sim_machine *m, const sim_array *a, const int64_t *cell) {
    text_buffer text = {0};
    text_add(&text, "`%s[", a->source->name);
    for (int d = 0; d < a->source->rank; d++)
        text_add(&text, "%s%lld", d ? ", " : "", (long long)cell[d]);
    text_add(&text, "]`");
    const char *name = arena_strdup(m->arena, text_get(&text));
    text_free(&text);
    return name;
}

typedef struct launch_values {
    const kernel_ir *kernel;
    const int64_t *integers;
} launch_values;

static bool launch_value(void *context, const index_var *v, int64_t *value) {
    const launch_values *l = context;
    int next = l->kernel->symbols.count;
    for (int i = 0; i < l->kernel->symbols.count; i++)
        if (l->kernel->symbols.at[i] == v) {
            *value = l->integers[i];
            return true;
        }
    for (int i = 0; i < l->kernel->scalars.count; i++)
        if (l->kernel->scalars.at[i].var) {
            if (l->kernel->scalars.at[i].var == v) {
                *value = l->integers[next];
                return true;
            }
            next++;
        }
    return false;
}

int64_t sim_array_bytes(const kernel_ir *k, const kernel_array *array, const int64_t *integers) {
    launch_values values = {k, integers};
    int64_t dims[16], strides[16] = {0};
    sim_array a = {.source = array, .dims = dims, .strides = strides, .width = element_table[array->element].block_bytes};
    if (array->rank > 16)
        return -1;
    for (int d = 0; d < array->rank; d++)
        if (!ix_eval(array->dims[d], launch_value, &values, &dims[d]) || dims[d] < 0 ||
            (array->layout.kind == LAYOUT_STRIDES && !ix_eval(array->layout.strides[d], launch_value, &values, &strides[d])))
            return -1;
    a.last = array->rank ? pieces(dims[array->rank - 1], element_table[array->element].block_elements) : 1;
    int64_t units = storage_of(&a), bytes;
    return units < 0 || __builtin_mul_overflow(units, (int64_t)a.width, &bytes) ? -1 : bytes;
}
