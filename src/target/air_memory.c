/* AIR: loads and stores. Vectors whose lanes lie side by side are one access; prefix masks ask for each lane, or once where they take all or none. */
#include "target/air.h"
#include <string.h>

static const kernel_array *root_of(const kernel_array *array) {
    while (array->view_of)
        array = array->view_of;
    return array;
}

int air_space(const kernel_array *array) {
    memory_space s = root_of(array)->space;
    return s == SPACE_GLOBAL ? AIR_SPACE_DEVICE : s == SPACE_SHARED ? AIR_SPACE_THREADGROUP : AIR_SPACE_THREAD;
}

static int64_t elements_of(const kernel_array *array) {
    int64_t cells = kernel_array_cells(array);
    return element_table[array->element].block_elements > 1 ? element_bytes(array->element, cells) : cells;
}

/* A pointer to the array's first element. Memory of the block is a global, of the thread an alloca. */
static const char *base_of(air *a, const kernel_array *array) {
    const char **base = &a->array_bases[array->id];
    if (*base)
        return *base;
    const char *element = air_storage_type(array->element), *name = air_new_name(a, array->name);
    if (array->view_of) {
        air_refuse(a, array->span, "`%s`, a view of another array", array->name);
        return *base = "undef";
    }
    if (array->space == SPACE_GLOBAL)
        return *base = name; /* a parameter */
    const char *whole = arena_printf(a->arena, "[%lld x %s]", (long long)elements_of(array), element);
    bool shared = array->space == SPACE_SHARED;
    const char *object = name;
    if (shared) {
        object = arena_printf(a->arena, "@%s.%s", a->function, name + 1);
        text_add(&a->globals, "%s = internal addrspace(3) global %s undef, align 16\n", object, whole);
    } else {
        text_add(&a->entry, "  %s = alloca %s, align 16\n", name, whole);
    }
    const char *pointer = air_pointer(a, whole, shared ? AIR_SPACE_THREADGROUP : AIR_SPACE_THREAD);
    *base = air_new_name(a, array->name);
    text_add(&a->entry, "  %s = getelementptr %s, %s %s, i64 0, i64 0\n", *base, whole, pointer, object);
    return *base;
}

const char *air_place(air *a, const kernel_array *array, air_integer offset) {
    const char *element = air_storage_type(array->element), *base = base_of(a, array);
    if (offset.is_constant && !offset.value)
        return base;
    return air_pure(a, "getelementptr %s, %s %s, i64 %s", element, air_pointer(a, element, air_space(array)), base,
                    air_integer_text(a, offset));
}

int air_cell(air *a, const kernel_access *access, source_span span) {
    int64_t cell = 0, at, extent;
    for (int d = 0; d < access->array->rank; d++) {
        if (!air_constant_index(a, access->indices[d], &at) || !air_constant_index(a, access->array->dims[d], &extent) ||
            at < 0 || at >= extent) {
            air_refuse(a, span, "a register cell of `%s` whose index is no constant", access->array->name);
            return -1;
        }
        cell = cell * extent + at;
    }
    return a->array_slots[access->array->id] + (int)cell;
}

/* ---- one access ---- */

/* From what memory holds to the value, and back. */
static const char *taken(air *a, element_type t, int lanes, const char *x) {
    if (t == ELEMENT_BOOL)
        return air_pure(a, "icmp ne %s %s, %s", air_vector_of(a, "i8", lanes), x, lanes == 1 ? "0" : "zeroinitializer");
    if (t == ELEMENT_INDEX)
        return air_pure(a, "sext %s %s to %s", air_vector_of(a, "i32", lanes), x, air_vector_of(a, "i64", lanes));
    return x;
}

static const char *given(air *a, element_type t, int lanes, const char *x) {
    if (t == ELEMENT_BOOL)
        return air_pure(a, "zext %s %s to %s", air_vector_of(a, "i1", lanes), x, air_vector_of(a, "i8", lanes));
    if (t == ELEMENT_INDEX)
        return air_pure(a, "trunc %s %s to %s", air_vector_of(a, "i64", lanes), x, air_vector_of(a, "i32", lanes));
    return x;
}

/* The pointer as one to a vector of so many elements. */
static const char *vector_pointer(air *a, const kernel_array *array, const char *place, int lanes, const char **type) {
    const char *element = air_storage_type(array->element), *vector = air_vector_of(a, element, lanes);
    int space = air_space(array);
    *type = air_pointer(a, vector, space);
    if (lanes == 1 || a->form == AIR_OPAQUE)
        return place;
    return air_pure(a, "bitcast %s %s to %s", air_pointer(a, element, space), place, *type);
}

static int alignment_of(const kernel_access *access, int lanes) {
    int bytes = element_table[access->array->element].block_bytes, all = bytes * lanes;
    return access->aligned ? (all > 16 ? 16 : all) : bytes;
}

static const char *load_here(air *a, const kernel_access *access, int lane, int lanes) {
    const kernel_array *array = access->array;
    air_integer offset;
    if (!air_offset(a, access, lane, &offset))
        return "undef";
    const char *type, *pointer = vector_pointer(a, array, air_place(a, array, offset), lanes, &type);
    const char *x = air_result(a, "load %s, %s %s, align %d", air_vector_of(a, air_storage_type(array->element), lanes), type,
                               pointer, alignment_of(access, lanes));
    return taken(a, array->element, lanes, x);
}

static void store_here(air *a, const kernel_access *access, int lane, int lanes, const char *value) {
    const kernel_array *array = access->array;
    air_integer offset;
    if (!air_offset(a, access, lane, &offset))
        return;
    const char *type, *pointer = vector_pointer(a, array, air_place(a, array, offset), lanes, &type);
    air_line(a, "store %s %s, %s %s, align %d", air_vector_of(a, air_storage_type(array->element), lanes),
             given(a, array->element, lanes, value), type, pointer, alignment_of(access, lanes));
}

static const char *element_of(air *a, const char *vector_type, const char *vector, int lane) {
    return air_pure(a, "extractelement %s %s, i32 %d", vector_type, vector, lane);
}

/* "lanes below n take part": that this one does. */
static const char *takes_part(air *a, air_integer n, int lane) {
    return n.is_constant ? (n.value > lane ? "true" : "false") : air_pure(a, "icmp sgt i64 %s, %d", air_integer_text(a, n), lane);
}

/* Opens a block for what is done where `condition` holds; *after is where both ways meet again. */
static int open(air *a, const char *condition, const char **after, const char **from) {
    const char *inside = air_new_label(a, "part");
    *after = air_new_label(a, "on");
    *from = a->block;
    air_line(a, "br i1 %s, label %%%s, label %%%s", condition, inside, *after);
    air_begin_block(a, inside);
    return a->known.count;
}

static const char *masked(air *a, const kernel_access *access, int lane, int lanes, const char *condition, const char *zero,
                          const char *type) {
    if (!strcmp(condition, "true"))
        return load_here(a, access, lane, lanes);
    if (!strcmp(condition, "false"))
        return zero;
    const char *after, *from;
    int mark = open(a, condition, &after, &from);
    const char *x = load_here(a, access, lane, lanes), *inside = a->block;
    air_line(a, "br label %%%s", after);
    air_leave(a, mark);
    air_begin_block(a, after);
    return air_result(a, "phi %s [ %s, %%%s ], [ %s, %%%s ]", type, x, inside, zero, from);
}

const char *air_nothing(const char *type) {
    return *type == '<' ? "zeroinitializer" : *type == 'i' ? (type[1] == '1' && !type[2] ? "false" : "0") : "0.0";
}

static bool side_by_side(air *a, const kernel_access *access) {
    air_integer stride;
    return air_stride(a, access->array, access->vector_dim, &stride) && stride.is_constant && stride.value == 1;
}

const char *air_load(air *a, const kernel_access *access, source_span span) {
    const kernel_array *array = access->array;
    if (a->array_slots[array->id] >= 0) {
        int slot = air_cell(a, access, span);
        return slot < 0 ? "undef" : a->slots[slot] ? a->slots[slot] : "undef";
    }
    int lanes = access->lanes;
    const char *type = air_type(a, array->element, lanes), *one = air_type(a, array->element, 1);
    air_integer active = access->active ? air_index(a, access->active) : air_known_integer(lanes);
    if (array->lanes > 1) {
        air_refuse(a, span, "`%s`, vectors in memory", array->name);
        return "undef";
    }
    if (lanes == 1 || (side_by_side(a, access) && (!access->active || access->aligned))) /* every lane or none */
        return masked(a, access, 0, lanes, takes_part(a, active, 0), air_nothing(type), type);
    const char *vector = access->active ? air_nothing(type) : "undef";
    for (int l = 0; l < lanes && !a->failed; l++) {
        const char *x = masked(a, access, l, 1, takes_part(a, active, l), air_nothing(one), one);
        vector = air_pure(a, "insertelement %s %s, %s %s, i32 %d", type, vector, one, x, l);
    }
    return vector;
}

static void store_where(air *a, const kernel_access *access, int lane, int lanes, const char *condition, const char *value) {
    if (!strcmp(condition, "false"))
        return;
    if (!strcmp(condition, "true")) {
        store_here(a, access, lane, lanes, value);
        return;
    }
    const char *after, *from;
    int mark = open(a, condition, &after, &from);
    store_here(a, access, lane, lanes, value);
    air_line(a, "br label %%%s", after);
    air_leave(a, mark);
    air_begin_block(a, after);
}

void air_store(air *a, const kernel_access *access, const char *value, source_span span) {
    const kernel_array *array = access->array;
    if (a->array_slots[array->id] >= 0) {
        int slot = air_cell(a, access, span);
        if (slot >= 0)
            a->slots[slot] = value;
        return;
    }
    int lanes = access->lanes;
    air_integer active = access->active ? air_index(a, access->active) : air_known_integer(lanes);
    if (array->lanes > 1) {
        air_refuse(a, span, "`%s`, vectors in memory", array->name);
        return;
    }
    if (lanes == 1 || (side_by_side(a, access) && (!access->active || access->aligned))) {
        store_where(a, access, 0, lanes, takes_part(a, active, 0), value);
        return;
    }
    const char *type = air_type(a, array->element, lanes);
    for (int l = 0; l < lanes && !a->failed; l++)
        store_where(a, access, l, 1, takes_part(a, active, l), element_of(a, type, value, l));
}

/* ---- block formats: d of 2 bytes, then 32 bytes, or 16 of two elements each ---- */

static const char *byte_at(air *a, const kernel_array *array, const char *type, air_integer byte) {
    const char *place = air_place(a, array, byte);
    int space = air_space(array);
    if (!strcmp(type, "half") && a->form == AIR_TYPED)
        place = air_pure(a, "bitcast %s %s to %s", air_pointer(a, "i8", space), place, air_pointer(a, "half", space));
    return air_result(a, "load %s, %s %s, align %d", type, air_pointer(a, type, space), place, !strcmp(type, "half") ? 2 : 1);
}

/* Half of 2^(e - 127), as f32 has it: subnormal for e of 0 and 1; of 255 NaN. */
static const char *half_of_power(air *a, const char *e) {
    const char *wide = air_pure(a, "zext i8 %s to i32", e), *few = air_pure(a, "icmp ult i32 %s, 2", wide);
    const char *small = air_pure(a, "shl i32 2097152, %s", air_pure(a, "select i1 %s, i32 %s, i32 0", few, wide));
    const char *normal = air_pure(a, "shl i32 %s, 23", air_pure(a, "sub i32 %s, 1", wide));
    const char *bits = air_pure(a, "select i1 %s, i32 %s, i32 %s", few, small, normal);
    bits = air_pure(a, "select i1 %s, i32 2143289344, i32 %s", air_pure(a, "icmp eq i32 %s, 255", wide), bits);
    return air_pure(a, "bitcast i32 %s to float", bits);
}

/* What an E2M1 code means, doubled: m + max(m - 4, 0) + 2 max(m - 6, 0), with its sign. */
static const char *doubled_number(air *a, const char *code) {
    const char *m = air_pure(a, "and i32 %s, 7", code), *t = m;
    for (int from = 4; from <= 6; from += 2) {
        const char *over = air_pure(a, "sub i32 %s, %d", m, from);
        over = air_pure(a, "select i1 %s, i32 %s, i32 0", air_pure(a, "icmp sgt i32 %s, %d", m, from), over);
        t = air_pure(a, "add i32 %s, %s", t, from == 6 ? air_pure(a, "shl i32 %s, 1", over) : over);
    }
    return air_pure(a, "select i1 %s, i32 %s, i32 %s", air_pure(a, "icmp sgt i32 %s, 7", code), air_pure(a, "sub i32 0, %s", t),
                    t);
}

static const char *block_element(air *a, const kernel_access *access, int lane) {
    const kernel_array *array = access->array;
    bool nibbles = array->element != ELEMENT_Q8_0, eighth = array->element == ELEMENT_MXFP4;
    air_integer x;
    if (!air_offset(a, access, lane, &x))
        return "undef";
    /* the number of the block, and of the element in it */
    air_integer block = x.is_constant ? air_known_integer(x.value >> 5)
                                      : (air_integer){false, 0, air_pure(a, "ashr i64 %s, 5", x.text)},
                within = x.is_constant ? air_known_integer(x.value & 31)
                                       : (air_integer){false, 0, air_pure(a, "and i64 %s, 31", x.text)};
    air_integer first = air_multiply(a, block, air_known_integer(element_table[array->element].block_bytes));
    const char *scale = eighth ? half_of_power(a, byte_at(a, array, "i8", first))
                               : air_convert_to(a, ELEMENT_F32, ELEMENT_F16, 1, byte_at(a, array, "half", first)),
               *q;
    if (nibbles) {
        const char *at = air_integer_text(a, within), *low = air_pure(a, "and i64 %s, 15", at);
        const char *byte = byte_at(
            a, array, "i8", air_add(a, air_add(a, first, air_known_integer(eighth ? 1 : 2)), (air_integer){false, 0, low}));
        const char *high = air_pure(a, "icmp sgt i64 %s, 15", at), *wide = air_pure(a, "zext i8 %s to i32", byte);
        const char *upper = air_pure(a, "lshr i32 %s, 4", wide), *lower = air_pure(a, "and i32 %s, 15", wide);
        q = air_pure(a, "select i1 %s, i32 %s, i32 %s", high, upper, lower);
        q = eighth ? doubled_number(a, q) : air_pure(a, "sub i32 %s, 8", q);
    } else {
        q = air_pure(a, "sext i8 %s to i32",
                     byte_at(a, array, "i8", air_add(a, air_add(a, first, air_known_integer(2)), within)));
    }
    return air_pure(a, "fmul float %s, %s", scale, air_convert_to(a, ELEMENT_F32, ELEMENT_I32, 1, q));
}

const char *air_load_block(air *a, const kernel_access *access, source_span span) {
    (void)span;
    int lanes = access->lanes;
    const char *type = air_vector_of(a, "float", lanes), *vector = access->active ? air_nothing(type) : "undef";
    air_integer active = access->active ? air_index(a, access->active) : air_known_integer(lanes);
    for (int l = 0; l < lanes && !a->failed; l++) {
        const char *condition = takes_part(a, active, l), *x = "0.0";
        if (!strcmp(condition, "true")) {
            x = block_element(a, access, l);
        } else if (strcmp(condition, "false")) {
            const char *after, *from;
            int mark = open(a, condition, &after, &from);
            const char *inner = block_element(a, access, l), *inside = a->block;
            air_line(a, "br label %%%s", after);
            air_leave(a, mark);
            air_begin_block(a, after);
            x = air_result(a, "phi float [ %s, %%%s ], [ 0.0, %%%s ]", inner, inside, from);
        }
        if (lanes == 1)
            return x;
        vector = air_pure(a, "insertelement %s %s, float %s, i32 %d", type, vector, x, l);
    }
    return vector;
}
