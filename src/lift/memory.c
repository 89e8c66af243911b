/* Pointers as arrays and indices: objects, steps, and the cells that loads and stores touch. */
#include "lift/delinearise.h"
#include "lift/lifter.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 8, MOST_STEPS = 16 };

static const contract_argument *said_of(const lifter *l, const lift_value *origin) {
    const contract_argument *said = NULL;
    for (int i = 0; i < l->contract->arguments.count; i++)
        if (!strcmp(l->contract->arguments.at[i].name, origin->name))
            said = &l->contract->arguments.at[i];
    return said;
}

static object_facts *facts_of(lifter *l, const lift_value *origin) {
    for (int i = 0; i < l->facts->objects.count; i++)
        if (l->facts->objects.at[i]->origin == origin)
            return l->facts->objects.at[i];
    object_facts *f = NEW(l->arena, object_facts);
    f->origin = origin;
    VEC_PUSH(l->arena, l->facts->objects, f);
    f->said = said_of(l, origin);
    return f;
}

/* Shared memory whose size comes with the launch and that no argument names: `extern __shared__`. */
static bool comes_with_launch(const lift_value *origin) {
    return origin->kind == LIFT_GLOBAL && origin->type->space == 3 && (origin->pointee->size == 0 || origin->external);
}

/* All such variables begin at one place, whatever their names and types are: the object that one of them has already; NULL: none has. */
static lift_object *met_at_launch(lifter *l, const lift_value *origin) {
    for (int i = 0; i < l->objects.count && comes_with_launch(origin); i++) {
        lift_object *o = l->objects.at[i];
        if (!comes_with_launch(o->origin))
            continue;
        if (!o->facts->said && (o->facts->said = said_of(l, origin)))
            l->again = true; /* it has been made without */
        return o;
    }
    return NULL;
}

lifted lift_pointer_to(lifter *l, const lift_value *origin) {
    for (int i = 0; i < l->objects.count; i++)
        if (l->objects.at[i]->origin == origin)
            return (lifted){.kind = LIFTED_POINTER, .bits = 64, .object = l->objects.at[i]};
    lift_object *o = met_at_launch(l, origin);
    if (o)
        return (lifted){.kind = LIFTED_POINTER, .bits = 64, .object = o};
    o = NEW(l->arena, lift_object);
    int space = origin->type->space;
    o->origin = origin;
    o->facts = facts_of(l, origin);
    /* clang names shared arrays FUNCTION.NAME, or _ZZ FUNCTION E LENGTH NAME */
    const char *name = origin->name, *dot = strrchr(name, '.');
    for (const char *c = name; !strncmp(name, "_ZZ", 3) && *c; c++)
        if (c[0] == 'E' && isdigit((unsigned char)c[1])) {
            char *end;
            size_t length = strtoul(c + 1, &end, 10);
            if (length && length <= strlen(end) && (!end[length] || end[length] == '_' || end[length] == '.'))
                name = arena_strndup(l->arena, end, length);
        }
    if (origin->kind == LIFT_GLOBAL && name == origin->name && dot && dot[1] && !(dot[1] >= '0' && dot[1] <= '9'))
        name = dot + 1;
    o->name = lift_name(l, name, "memory");
    o->parameters = lift_are_parameters(l, origin);
    bool outside = origin->kind == LIFT_GLOBAL && space != 3 && !origin->initial; /* the host sets it: an argument like others */
    bool constant = origin->kind == LIFT_GLOBAL && space != 3 && (origin->initial || space == 4);
    o->space = origin->kind == LIFT_ARGUMENT ? (space == 3 ? SPACE_SHARED : SPACE_GLOBAL)
               : outside                     ? SPACE_GLOBAL
               : space == 3                  ? SPACE_SHARED
                                             : SPACE_PRIVATE;
    o->constant = constant || (origin->kind == LIFT_ARGUMENT && space == 4);
    if (origin->kind == LIFT_INSTRUCTION && origin->op == LIFT_CALL) {
        o->space = SPACE_SHARED; /* bytes without a shape */
    } else if (origin->kind != LIFT_ARGUMENT) {
        o->type = origin->pointee;
        o->bytes = origin->pointee->size;
        if (comes_with_launch(origin))
            o->type = NULL; /* its size comes with the launch */
    }
    VEC_PUSH(l->arena, l->objects, o);
    return (lifted){.kind = LIFTED_POINTER, .bits = 64, .object = o};
}

lifted lift_nowhere(lifter *l, const lift_value *origin, const char *name) {
    for (int i = 0; i < l->objects.count; i++)
        if (l->objects.at[i]->nothing && !strcmp(l->objects.at[i]->asked, name))
            return (lifted){.kind = LIFTED_POINTER, .bits = 64, .object = l->objects.at[i]};
    lift_object *o = NEW(l->arena, lift_object);
    *o = (lift_object){.name = lift_name(l, name, name),
                       .asked = name,
                       .origin = origin,
                       .space = SPACE_GLOBAL,
                       .facts = facts_of(l, origin),
                       .nothing = true};
    VEC_PUSH(l->arena, l->objects, o);
    return (lifted){.kind = LIFTED_POINTER, .bits = 64, .object = o};
}

lifted lift_null(lifter *l, const lift_value *origin) {
    return lift_nowhere(l, origin, "null");
}

static lifted moved(lifter *l, const lift_value *v, lifted p) {
    if (p.kind == LIFTED_EITHER) {
        lifted *both = NEW_ARRAY(l->arena, lifted, 3);
        for (int i = 0; i < 2; i++)
            both[i] = moved(l, v, p.elements[i]);
        both[2] = p.elements[2];
        p.elements = both;
        return p;
    }
    if (p.kind != LIFTED_POINTER) {
        lift_fail(l, "E1125", v, "an address computed from what is no pointer into an array");
        return p;
    }
    lifted r = p;
    r.offset += v->offset;
    r.terms = NEW_ARRAY(l->arena, pointer_term, p.term_count + v->step_count + 1);
    if (p.term_count)
        memcpy(r.terms, p.terms, sizeof *r.terms * (size_t)p.term_count);
    for (int i = 0; i < v->step_count; i++) {
        lifted x = lift_operand(l, v->steps[i].index);
        int64_t n, stride = v->steps[i].stride;
        if (lift_stopped(l))
            return p;
        if (!x.bits)
            x.bits = v->steps[i].index->type->bits;
        index_expr *e = lift_exact(l, x, true);
        if (ix_is_const(e, &n)) {
            r.offset += n * stride;
            continue;
        }
        r.terms[r.term_count++] = (pointer_term){e, stride, v->steps[i].count};
    }
    return r;
}

lifted lift_gep(lifter *l, const lift_value *v) {
    return moved(l, v, lift_operand(l, v->operands[0]));
}

index_expr *lift_pointer_bytes(lifter *l, lifted p) {
    arena *a = l->arena;
    index_expr *sum = ix_const(a, p.offset);
    for (int i = 0; i < p.term_count; i++)
        sum = ix_add(a, ix_mul(a, p.terms[i].index, ix_const(a, p.terms[i].stride)), sum);
    return sum;
}

lifted lift_pointer_on(lifter *l, lifted p, index_expr *index, int64_t unit) {
    int64_t n;
    if (p.kind != LIFTED_POINTER) {
        lift_fail(l, "E1125", NULL, "an address computed from what is no pointer into an array");
        return p;
    }
    if (ix_is_const(index, &n)) {
        p.offset += n * unit;
        return p;
    }
    pointer_term *terms = NEW_ARRAY(l->arena, pointer_term, p.term_count + 1);
    if (p.term_count)
        memcpy(terms, p.terms, sizeof *terms * (size_t)p.term_count);
    terms[p.term_count++] = (pointer_term){index, unit, 0};
    p.terms = terms;
    return p;
}

lifted lift_pointer_at(lifter *l, lift_object *o, index_expr *index, int64_t unit) {
    lifted p = {.kind = LIFTED_POINTER, .bits = 64, .object = o};
    int64_t n;
    if (ix_is_const(index, &n)) {
        p.offset = n * unit;
        return p;
    }
    p.terms = NEW(l->arena, pointer_term);
    p.terms[p.term_count++] = (pointer_term){index, unit, 0};
    return p;
}

static element_type memory_type(const lift_type *t) {
    switch (t->kind) {
    case LIFT_HALF: return ELEMENT_F16;
    case LIFT_BFLOAT: return ELEMENT_BF16;
    case LIFT_FLOAT: return ELEMENT_F32;
    case LIFT_INTEGER:
        return t->bits == 32                  ? ELEMENT_I32
               : t->bits == 8 || t->bits == 1 ? ELEMENT_U8
               : t->bits == 16                ? ELEMENT_U16
               : t->bits == 64                ? ELEMENT_I64
                                              : ELEMENT_COUNT;
    case LIFT_DOUBLE: return ELEMENT_I64; /* its bits */
    default: return ELEMENT_COUNT;
    }
}

/* The extents of a typed object, outermost first, and the bytes of a step along each. -1: it has no such shape. */
static int shape_of(const lift_type *t, int64_t size, int64_t *dims, int64_t *strides) {
    int rank = 0;
    while ((t->kind == LIFT_ARRAY || t->kind == LIFT_VECTOR) && rank < MOST_RANK) {
        strides[rank] = t->element->size;
        dims[rank++] = t->kind == LIFT_VECTOR ? t->size / t->element->size : t->count;
        t = t->element;
    }
    if (t->size != size || t->kind == LIFT_STRUCT || rank == MOST_RANK)
        return -1;
    if (!rank) {
        strides[0] = size;
        dims[rank++] = 1;
    }
    return rank;
}

static bool read_extents(lifter *l, lift_object *o, index_expr **dims, int *rank) {
    const contract_argument *said = o->facts->said;
    if (!said || !said->extents.count)
        return false;
    *rank = said->extents.count > MOST_RANK ? MOST_RANK : said->extents.count;
    for (int i = 0; i < *rank; i++)
        if (!(dims[i] = launch_expression(l, said->extents.at[i], said->span)))
            return false;
    return true;
}

static int width_of(int64_t bytes) {
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
}

static bool has_views(const object_facts *f) {
    int n = 0;
    for (int i = 0; i < LIFT_WIDTHS; i++)
        n += f->elements[i] != NULL;
    return n > 1;
}

static element_type element_of(lifter *l, const lift_object *o, const lift_type *t) {
    element_type e = memory_type(t);
    if (e == ELEMENT_COUNT)
        lift_fail(l, "E1125", NULL, "memory that holds %s, in `%s`", t->text, o->name);
    return e == ELEMENT_I32 && o->facts->is_unsigned ? ELEMENT_U32 : e;
}

/* What the contract says of an object that has views, or in bytes, in its narrowest elements, all along one dimension. */
static void in_a_row(lifter *l, const lift_object *o, int64_t size, index_expr **dims, int *rank) {
    arena *a = l->arena;
    const contract_argument *said = o->facts->said;
    for (int d = 1; d < *rank; d++)
        dims[0] = ix_mul(a, dims[0], dims[d]);
    if (said->has_type && element_table[said->type].block_elements == 1)
        dims[0] = ix_floordiv(a, ix_mul(a, dims[0], ix_const(a, element_table[said->type].block_bytes)), ix_const(a, size));
    *rank = 1;
}

static kernel_array *new_array(lifter *l, lift_object *o, const char *name, element_type e, int rank, index_expr **dims) {
    kernel_array *x = kernel_add_array(l->k, name, o->space, o->space == SPACE_GLOBAL ? USE_UPDATE : USE_LOCAL, e, rank, dims);
    x->span = lift_span(l, NULL);
    return x;
}

static bool make_array(lifter *l, lift_object *o) {
    arena *a = l->arena;
    const lift_type *t = o->facts->element;
    index_expr *dims[MOST_RANK];
    int64_t extents[MOST_RANK], strides[MOST_RANK];
    int rank = 1;
    element_type e = element_of(l, o, t);
    if (e == ELEMENT_COUNT)
        return false;
    if (o->type) {
        o->facts->flat = o->facts->flat || has_views(o->facts);
        rank = o->facts->flat ? -1 : shape_of(o->type, t->size, extents, strides);
        if (rank < 0) {
            extents[0] = (o->bytes + t->size - 1) / t->size;
            rank = 1;
            o->facts->flat = true;
        }
        for (int i = 0; i < rank; i++)
            dims[i] = ix_const(a, extents[i]);
    } else if (o->nothing) {
        dims[0] = ix_const(a, 0);
    } else if (o->bytes) {
        dims[0] = ix_const(a, (o->bytes + t->size - 1) / t->size);
    } else if (read_extents(l, o, dims, &rank)) {
        o->facts->unsized = false;
        bool bytes = o->facts->said->has_type && o->facts->said->type == ELEMENT_U8 && t->size > 1;
        if (has_views(o->facts) || bytes)
            in_a_row(l, o, t->size, dims, &rank);
    } else {
        if (lift_stopped(l))
            return false;
        rank = 1;
        int64_t bytes = o->space == SPACE_SHARED ? l->contract->shared_bytes : 0;
        o->facts->unsized = o->space == SPACE_SHARED && !bytes; /* reported when its elements are known */
        if (bytes) {
            dims[0] = ix_const(a, bytes / t->size);
            VEC_PUSH(a, l->out->assumed, arena_printf(a, "`%s` has %lld bytes", o->name, (long long)bytes));
        } else if (o->facts->unsized) {
            dims[0] = ix_const(a, 1);
        } else {
            dims[0] = ix_var(a, kernel_add_symbol(l->k, arena_printf(a, "%s_length", o->name)));
            VEC_PUSH(a, l->out->assumed,
                     arena_printf(a, "`%s` has %s_length elements of type %s", o->name, o->name, element_table[e].name));
        }
    }
    if (o->space == SPACE_SHARED)
        for (int i = 0; i < rank; i++)
            if (!ix_is_const(dims[i], NULL)) {
                lift_fail(l, "E1131", o->origin, "the extents of `%s`, which is shared, are not constant", o->name);
                return false;
            }
    o->array = new_array(l, o, o->name, e, rank, dims);
    o->views[width_of(t->size)] = o->array;
    if (o->origin->kind == LIFT_ARGUMENT)
        o->array->source_array = o->origin->id;
    lift_begin_with(l, o);
    return !lift_stopped(l);
}

/* The same bytes as wider elements; past the last whole one there is none. */
static bool make_view(lifter *l, lift_object *o, const lift_type *t) {
    arena *a = l->arena;
    element_type e = element_of(l, o, t);
    if (e == ELEMENT_COUNT)
        return false;
    int64_t narrow = o->facts->element->size;
    index_expr *bytes = ix_mul(a, o->array->dims[0], ix_const(a, narrow)), *dims[1];
    dims[0] = ix_floordiv(a, bytes, ix_const(a, t->size));
    kernel_array *view =
        new_array(l, o, lift_name(l, arena_printf(a, "%s_%s", o->name, element_table[e].name), "view"), e, 1, dims);
    view->view_of = o->array;
    o->views[width_of(t->size)] = view;
    return true;
}

/* Indices by dimension, where every step is one of a dimension's own. */
static bool by_dimension(lifter *l, const lift_object *o, const lifted *p, int64_t size, index_expr **indices) {
    int64_t dims[MOST_RANK], strides[MOST_RANK], offset = p->offset;
    int rank = shape_of(o->type, size, dims, strides);
    if (rank < 0 || offset < 0)
        return false;
    for (int d = 0; d < rank; d++) {
        if (!strides[d]) /* an inner extent is 0 */
            return false;
        indices[d] = ix_const(l->arena, offset / strides[d]);
        offset %= strides[d];
    }
    if (offset)
        return false;
    for (int i = 0; i < p->term_count; i++) {
        int d = 0;
        while (d < rank && !(p->terms[i].stride == strides[d] && (d == 0 || p->terms[i].count == dims[d])))
            d++;
        if (d == rank)
            return false;
        indices[d] = ix_add(l->arena, indices[d], p->terms[i].index);
    }
    return true;
}

/* Strides in bytes, as a host program gives them, are multiples of the element: a condition of the launch. */
static void demand_multiple(void *context, index_var *v, int64_t of) {
    lifter *l = context;
    arena *a = l->arena;
    cond *c = cond_compare(a, COND_EQ, ix_mod(a, ix_var(a, v), ix_const(a, of)), ix_const(a, 0));
    for (int i = 0; i < l->k->assumptions.count; i++) {
        const cond *x = l->k->assumptions.at[i];
        if (x->op == COND_EQ && ix_equal(x->x, c->x) && ix_equal(x->y, c->y))
            return;
    }
    VEC_PUSH(a, l->k->assumptions, c);
    VEC_PUSH(a, l->out->assumed, arena_printf(a, "`%s` is a multiple of %lld", v->name, (long long)of));
}

static index_expr *by_elements(lifter *l, const lifted *p, int64_t size) {
    arena *a = l->arena;
    if (p->offset % size)
        return NULL;
    index_expr *sum = ix_const(a, p->offset / size);
    for (int i = 0; i < p->term_count; i++) {
        const pointer_term *t = &p->terms[i];
        index_expr *part = t->stride % size ? lift_divided(a, t->index, t->stride, size, l, demand_multiple)
                                            : ix_mul(a, t->index, ix_const(a, t->stride / size));
        if (!part)
            return NULL;
        sum = ix_add(a, part, sum);
    }
    return sum;
}

index_expr *lift_elements(lifter *l, lifted pointer, int64_t size) {
    return by_elements(l, &pointer, size);
}

/* The widest element that is accessed there. */
int64_t lift_widest(const lift_object *o) {
    int64_t bytes = 1;
    for (int i = 0; i < LIFT_WIDTHS; i++)
        bytes = o->facts->elements[i] ? o->facts->elements[i]->size : bytes;
    return bytes;
}

int64_t lift_unit_with(int64_t unit, int64_t wanted, lifted x) {
    int64_t widest = lift_widest(x.object), own = x.offset < 0 ? -x.offset : x.offset;
    for (int i = -1; i < x.term_count; i++) {
        if (i >= 0)
            own = lift_common_unit(x.terms[i].index, x.terms[i].stride, wanted > widest ? wanted : widest);
        unit = !own ? unit : unit ? ix_gcd(unit, own) : own;
    }
    return unit;
}

/* The one instruction that uses v; NULL: there are more, or none. */
static const lift_value *user_of(const lifter *l, const lift_value *v) {
    const lift_values *users = lift_users(l->function, v);
    return v->uses == 1 && users->count == 1 ? users->at[0] : NULL;
}

static bool is_stored_to(const lifter *l, const lift_value *pointer) {
    const lift_values *users = lift_users(l->function, pointer);
    for (int i = 0; i < users->count; i++)
        if (users->at[i]->op == LIFT_STORE && users->at[i]->operands[1] == pointer)
            return true;
    return false;
}

/* A store to some elements of a vector in memory is a load of the vector, those elements set, and a store to where it was: no load of the source's. */
static bool is_for_some_elements(const lifter *l) {
    const lift_value *load = l->now, *v = load;
    if (!load || load->op != LIFT_LOAD || load->type->kind != LIFT_VECTOR)
        return false;
    if (!load->uses) /* all of them are set */
        return is_stored_to(l, load->operands[0]);
    do {
        v = user_of(l, v);
    } while (v && (v->op == LIFT_INSERTELEMENT || v->op == LIFT_SHUFFLEVECTOR));
    return v && v->op == LIFT_STORE && v->operands[1] == load->operands[0];
}

static bool holds_struct(const lift_type *t) {
    while (t->kind == LIFT_ARRAY)
        t = t->element;
    return t->kind == LIFT_STRUCT;
}

/* A struct is flat memory, in which an index past an array of its own would reach the field behind: that it does not is stated, for the prover to judge. */
static void keep_within_fields(lifter *l, lifted *p) {
    arena *a = l->arena;
    pointer_term *terms = NEW_ARRAY(a, pointer_term, p->term_count + 1);
    for (int i = 0; i < p->term_count; i++) {
        terms[i] = p->terms[i];
        lift_range r = lift_range_of(l, terms[i].index);
        if (!terms[i].count || (r.lo >= 0 && r.hi < terms[i].count))
            continue;
        kernel_stmt *let = lift_let(l, "at", kernel_index(l->k, terms[i].index));
        let->var->lo = ix_const(a, 0);
        let->var->hi = ix_const(a, terms[i].count - 1);
        terms[i].index = ix_var(a, let->var);
    }
    p->terms = terms;
}

/* The types, by width, of what is loaded from this address and stored to it, or from places inside what it leads to. */
static void find_accesses(const lifter *l, const lift_value *address, const lift_type *found[LIFT_WIDTHS], int nesting) {
    const lift_values *users = lift_users(l->function, address);
    for (int i = 0; i < users->count && nesting < MOST_STEPS; i++) {
        const lift_value *v = users->at[i];
        bool store = v->op == LIFT_STORE && v->operands[1] == address && v->operands[0] != address;
        if (v->op == LIFT_GEP || v->op == LIFT_ADDRSPACECAST) {
            find_accesses(l, v, found, nesting + 1);
        } else if (v->op == LIFT_LOAD || store) {
            const lift_type *t = store ? v->operands[0]->type : v->type;
            while (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY)
                t = t->element;
            int width = t->kind == LIFT_STRUCT || t->kind == LIFT_POINTER ? -1 : width_of(t->size);
            if (width >= 0 && (!found[width] || (found[width]->kind == LIFT_INTEGER && t->kind != LIFT_INTEGER)))
                found[width] = t;
        }
    }
}

/* One variable is accessed as elements of several widths: others that are, as results of functions that a register of another type carries, are found at once,
 * not each in a walk of its own. */
static void look_ahead(lifter *l) {
    if (l->facts->looked_ahead)
        return;
    l->facts->looked_ahead = true;
    for (int b = 0; b < l->function->blocks.count; b++)
        for (int i = 0; i < l->function->blocks.at[b]->items.count; i++) {
            const lift_value *v = l->function->blocks.at[b]->items.at[i];
            const lift_type *found[LIFT_WIDTHS] = {0};
            int widths = 0;
            if (v->op != LIFT_ALLOCA)
                continue;
            find_accesses(l, v, found, 0);
            for (int n = 0; n < LIFT_WIDTHS; n++)
                widths += found[n] != NULL;
            object_facts *f = widths > 1 ? facts_of(l, v) : NULL;
            for (int n = LIFT_WIDTHS - 1; f && n >= 0; n--)
                if (found[n]) {
                    f->elements[n] = f->elements[n] ? f->elements[n] : found[n];
                    f->element = f->elements[n];
                }
        }
}

kernel_access lift_cell(lifter *l, const lift_type *t, lifted p, bool writes, bool reads) {
    kernel_access none = {0};
    if (lift_stopped(l))
        return none;
    if (p.kind ==
        LIFTED_ANY) /* nobody has set it, or it leads outside a local variable: to memory without an element, like null */
        p = lift_null(l, l->now);
    lift_object *o = p.object;
    if (p.kind != LIFTED_POINTER) {
        lift_fail(l, "E1125", NULL, "memory is accessed through what is no pointer into an array");
        return none;
    }
    object_facts *f = o->facts;
    f->written = f->written || writes;
    f->reads = f->reads || reads;
    if (writes && o->constant) {
        lift_fail(l, "E1133", NULL, "`%s` lies in constant memory and is written", o->name);
        return none;
    }
    if (f->said && ((writes && f->said->only_read) || (reads && f->said->only_written && !is_for_some_elements(l)))) {
        lift_fail(l, "E1133", NULL, "`%s` is %s here, and the launch lets the kernel only %s it", o->name,
                  f->said->only_read ? "written" : "read", f->said->only_read ? "read" : "write");
        return none;
    }
    int width = width_of(t->size);
    const lift_type **element = width < 0 ? NULL : &f->elements[width];
    if (!element) {
        lift_fail(l, "E1125", NULL, "memory that holds %s, in `%s`", t->text, o->name);
        return none;
    }
    const lift_type *held = *element;
    bool bits = held && held->kind == LIFT_INTEGER && /* 16 bits are those of floats, and copies of structs go by integers */
                ((held->bits == 16 && t->kind != LIFT_INTEGER) ||
                 (held->bits == 32 && t->kind == LIFT_FLOAT && o->space == SPACE_PRIVATE));
    if (!held || bits) {
        l->again = l->again || f->element;
        *element = t;
        if (!f->element || t->size <= f->element->size)
            f->element = t;
        if (l->again && o->origin && o->origin->kind == LIFT_INSTRUCTION && o->origin->op == LIFT_ALLOCA)
            look_ahead(l);
        if (l->again)
            return none;
    }
    int64_t size = t->size;
    if (!o->array && !make_array(l, o))
        return none;
    if (!o->views[width] && !make_view(l, o, *element))
        return none;
    kernel_array *array = o->views[width];
    index_expr *indices[MOST_RANK];
    if (o->type && !f->flat) {
        if (!by_dimension(l, o, &p, size, indices)) {
            f->flat = true;
            l->again = true;
            return none;
        }
        return kernel_at(l->k, array, indices);
    }
    if (o->type && holds_struct(o->type))
        keep_within_fields(l, &p);
    index_expr *e = by_elements(l, &p, size);
    if (!e && !f->settled) { /* pointers that loops carry are counted in elements once these are known */
        l->again = true;
        return none;
    }
    if (!e) {
        text_buffer text = {0};
        ix_print(&text, lift_expanded(l->arena, lift_pointer_bytes(l, p)));
        lift_fail(l, "E1125", NULL, "`%s` is accessed at addresses that are no multiples of %lld bytes: %.160s%s", o->name,
                  (long long)size, text_get(&text), text.length > 160 ? " .." : "");
        text_free(&text);
        return none;
    }
    lift_delinearise(l->arena, e, array->dims, array->rank, indices);
    return kernel_at(l->k, array, indices);
}
