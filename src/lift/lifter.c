/* The walk over a read function: what its values are, places, names, failures, and beginning again with what was learnt. */
#include "lift/lifter.h"
#include <ctype.h>
#include <string.h>

enum { MOST_WALKS = 600 }; /* each learns something of an object or a phi */

source_span lift_span(const lifter *l, const lift_value *v) {
    source_span s = {.file = l->path, .line = l->function->line, .length = 1};
    for (int i = 0; v && !v->line && v->kind == LIFT_INSTRUCTION && v->block && i < v->block->items.count; i++)
        if (v->block->items.at[i]->line) /* of its block, one that has a place */
            v = v->block->items.at[i];
    if (v && v->line) {
        s.line = v->line;
        s.column = v->column ? v->column : 1;
    }
    return s;
}

void lift_fail(lifter *l, const char *code, const lift_value *v, const char *message, ...) {
    if (lift_stopped(l))
        return;
    va_list args;
    text_buffer b = {0};
    va_start(args, message);
    text_add_va(&b, message, args);
    va_end(args);
    diag_error(l->diags, code, lift_span(l, v ? v : l->now), "%s", text_get(&b));
    text_free(&b);
    l->failed = true;
}

bool lift_stopped(const lifter *l) {
    return l->failed || l->again;
}

const char *lift_name(lifter *l, const char *text, const char *otherwise) {
    text_buffer b = {0};
    for (const char *c = text; *c && *c != '.'; c++) {
        char name = (char)(isalnum((unsigned char)*c) ? *c : '_');
        text_add_bytes(&b, &name, 1);
    }
    const char *name = text_get(&b);
    bool fits = *name && !isdigit((unsigned char)*name) && strspn(name, "_") < strlen(name);
    name = arena_strdup(l->arena, fits ? name : otherwise);
    text_free(&b);
    return name;
}

kernel_stmt *lift_let(lifter *l, const char *name, kernel_value *v) {
    kernel_stmt *s = kernel_let(l->k, l->at, lift_name(l, name, "t"), v, lift_span(l, l->now));
    l->statements++;
    return s;
}

lifted lifted_index(int bits, index_expr *x) {
    return (lifted){.kind = LIFTED_INDEX, .bits = bits, .x = x};
}

lifted lifted_value(int bits, kernel_value *v) {
    return (lifted){.kind = LIFTED_VALUE, .bits = bits, .v = v};
}

lifted lifted_condition(cond *c) {
    return (lifted){.kind = LIFTED_CONDITION, .bits = 1, .c = c};
}

lifted lifted_number(lifter *l, int bits, int64_t n) {
    if (bits == 1) {
        cond *c = NEW(l->arena, cond);
        c->op = COND_TRUE;
        return lifted_condition(n & 1 ? c : cond_not(l->arena, c));
    }
    if (bits > 0 && bits < 64) {
        uint64_t low = (uint64_t)n & (((uint64_t)1 << bits) - 1);
        n = low >> (bits - 1) ? (int64_t)(low | ~(((uint64_t)1 << bits) - 1)) : (int64_t)low;
    }
    return lifted_index(bits, ix_const(l->arena, n));
}

kernel_value *lift_zero(lifter *l, element_type e) {
    kernel_value *zero = kernel_const(l->k, e == ELEMENT_BF16 ? ELEMENT_F32 : e, 1, 0);
    return e == ELEMENT_BF16 ? kernel_op1(l->k, KERNEL_CONVERT, e, zero) : zero;
}

static lifted constant(lifter *l, const lift_value *v) {
    kernel_ir *k = l->k;
    switch (v->kind) {
    case LIFT_CONSTANT_INTEGER:
        if (v->type->bits > 64)
            lift_fail(l, "E1124", NULL, "an integer of %d bits", v->type->bits);
        return lifted_number(l, v->type->bits, v->number);
    case LIFT_CONSTANT_FLOAT:
        switch (v->type->kind) {
        case LIFT_HALF: return lifted_value(16, kernel_const(k, ELEMENT_F16, 1, v->real));
        case LIFT_BFLOAT:
            return lifted_value(16, kernel_op1(k, KERNEL_CONVERT, ELEMENT_BF16, kernel_const(k, ELEMENT_F32, 1, v->real)));
        case LIFT_FLOAT: return lifted_value(32, kernel_const(k, ELEMENT_F32, 1, v->real));
        default: return (lifted){.kind = LIFTED_VALUE, .bits = 64, .v = kernel_const(k, ELEMENT_F32, 1, v->real)};
        }
    case LIFT_UNDEFINED: return (lifted){.kind = LIFTED_ANY};
    case LIFT_AGGREGATE: {
        lifted x = {.kind = LIFTED_ELEMENTS, .count = v->element_count};
        x.elements = NEW_ARRAY(l->arena, lifted, v->element_count ? v->element_count : 1);
        for (int i = 0; i < v->element_count; i++)
            x.elements[i] = lift_operand(l, v->elements[i]);
        return x;
    }
    case LIFT_ZERO: return lift_null(l, v);
    default:
        lift_fail(l, "E1124", NULL, "%s", v->text ? v->text : "a value that is not read");
        return (lifted){.kind = LIFTED_ANY};
    }
}

lifted lift_operand(lifter *l, const lift_value *v) {
    switch (v->kind) {
    case LIFT_ARGUMENT:
        if (!l->env[v->id].kind)
            lift_fail(l, "E1124", NULL, "the argument `%s` has a type that is not read: %s", v->name, v->type->text);
        return l->env[v->id];
    case LIFT_GLOBAL:
        if (v->id >= l->global_count) {
            int n = v->id * 2 + 16;
            lifted *more = NEW_ARRAY(l->arena, lifted, n);
            if (l->global_count)
                memcpy(more, l->global_env, sizeof *more * (size_t)l->global_count);
            l->global_env = more;
            l->global_count = n;
        }
        if (!l->global_env[v->id].kind)
            l->global_env[v->id] = lift_pointer_to(l, v);
        return l->global_env[v->id];
    case LIFT_INSTRUCTION:
        if (v->id < 0)
            return lift_operation(l, v); /* a constant expression */
        if (!l->env[v->id].kind && !lift_stopped(l))
            lift_fail(l, "E1123", v, "the value `%s` is used where the walk has not met it", v->name);
        return l->env[v->id];
    default: return constant(l, v);
    }
}

static bool is_leaf(const lifted *x) {
    return x->kind != LIFTED_VALUE || x->v->op == KERNEL_CONST || x->v->op == KERNEL_REF || x->v->op == KERNEL_INDEX ||
           x->v->op == KERNEL_SCALAR || x->v->op == KERNEL_LANE_VIEW;
}

static int index_size(const index_expr *x, int most) {
    if (x->op == IX_CONST || x->op == IX_VAR)
        return 1;
    int n = 1 + index_size(x->a, most);
    return n > most ? n : n + index_size(x->b, most);
}

enum { LONGEST_CHAIN = 16 };

static lifted let_named(lifter *l, const lift_value *v, lifted x) {
    if (!is_leaf(&x)) {
        kernel_value *now = x.v;
        x.v = kernel_ref(l->k, lift_let(l, v->name, now));
    } else if (x.kind == LIFTED_INDEX && index_size(x.x, 12) > 12) {
        kernel_stmt *let = lift_let(l, v->name, kernel_index(l->k, x.x));
        x.x = ix_var(l->arena, let->var);
    } else if (x.kind == LIFTED_ELEMENTS) {
        lifted *elements = NEW_ARRAY(l->arena, lifted, x.count ? x.count : 1);
        for (int i = 0; i < x.count; i++)
            elements[i] = let_named(l, v, x.elements[i]);
        x.elements = elements;
    }
    return x;
}

lifted lift_named(lifter *l, const lift_value *v, lifted x) {
    if (lift_stopped(l) || (v->uses < 2 && l->nesting[v->id] < LONGEST_CHAIN))
        return x;
    l->nesting[v->id] = 0;
    return let_named(l, v, x);
}

/* Operations without a name in between, at most: a value's text must not nest too deep. */
static int chain_of(const lifter *l, const lift_value *v) {
    int longest = 0;
    for (int i = 0; i < v->operand_count; i++)
        if (v->operands[i]->kind == LIFT_INSTRUCTION && v->operands[i]->id >= 0 && l->nesting[v->operands[i]->id] > longest)
            longest = l->nesting[v->operands[i]->id];
    return longest + 1;
}

void lift_set(lifter *l, const lift_value *v, lifted x) {
    l->nesting[v->id] = chain_of(l, v);
    l->env[v->id] = lift_named(l, v, x);
}

/* ---- a walk ---- */

static bool walk(lifter *l) {
    l->k = kernel_new(l->arena, lift_name(l, l->function->host_name, "kernel"), lift_span(l, NULL));
    l->env = NEW_ARRAY(l->arena, lifted, l->function->value_count + 1);
    l->nesting = NEW_ARRAY(l->arena, int, l->function->value_count + 1);
    l->aliased = NEW_ARRAY(l->arena, bool, l->function->value_count + 1);
    l->decided = NEW_ARRAY(l->arena, bool, l->function->value_count + 1);
    l->global_env = NULL;
    l->global_count = 0;
    l->objects.count = l->cells.count = l->kept.count = l->parameters.count = 0;
    l->at = &l->k->body;
    l->loop = NULL;
    l->now = NULL;
    l->again = false;
    l->depth = l->statements = 0;
    l->out->assumed.count = l->out->initials.count = 0;
    l->out->opaque = NULL;
    l->out->wraps = false;
    for (int i = 0; i < l->facts->objects.count; i++)
        l->facts->objects.at[i]->settled = l->facts->objects.at[i]->element != NULL;
    if (lift_launch(l))
        lift_body(l);
    if (!lift_stopped(l))
        lift_conditions(l);
    return !lift_stopped(l);
}

/* Whether all that an address is for is to be accessed. */
static bool only_accessed(const lift_function *f, const lift_value *address) {
    const lift_values *users = lift_users(f, address);
    int seen = 0;
    for (int i = 0; i < users->count; i++) {
        const lift_value *v = users->at[i];
        for (int n = 0; n < v->operand_count; n++) {
            bool accessed = v->op == LIFT_LOAD || (v->op == LIFT_STORE && n == 1) || v->op == LIFT_ATOMIC;
            if (v->operands[n] == address && !accessed)
                return false;
            seen += v->operands[n] == address;
        }
    }
    return seen == address->uses;
}

/* Widened integers that are nothing but the one index of addresses in arguments. */
static void find_addresses(lifter *l) {
    const lift_function *f = l->function;
    int *found = NEW_ARRAY(l->arena, int, f->value_count + 1);
    l->address_only = NEW_ARRAY(l->arena, bool, f->value_count + 1);
    for (int i = 0; i < f->blocks.count; i++)
        for (int j = 0; j < f->blocks.at[i]->items.count; j++) {
            const lift_value *v = f->blocks.at[i]->items.at[j];
            if (v->op != LIFT_GEP || v->step_count != 1 || v->offset || v->operands[0]->kind != LIFT_ARGUMENT)
                continue;
            const lift_value *x = v->steps[0].index;
            if (x->kind != LIFT_INSTRUCTION || x->id < 0 || !only_accessed(f, v))
                continue;
            found[x->id]++;
            address_use use = {x, v->operands[0]};
            VEC_PUSH(l->arena, l->addresses, use);
        }
    for (int i = 0; i < f->blocks.count; i++)
        for (int j = 0; j < f->blocks.at[i]->items.count; j++) {
            const lift_value *v = f->blocks.at[i]->items.at[j];
            if ((v->op == LIFT_SEXT || v->op == LIFT_ZEXT) && v->operands[0]->type->bits == 32)
                l->address_only[v->id] = found[v->id] == v->uses;
        }
}

/* Whether such an integer fits because the access is in bounds: the arrays have fewer than 2^31 elements. */
bool lift_fits_as_address(lifter *l, const lift_value *v) {
    if (v->id < 0 || !l->address_only[v->id] || (l->contract->largest && l->contract->largest > INT32_MAX))
        return false;
    for (int i = 0; i < l->addresses.count; i++) {
        if (l->addresses.at[i].index != v)
            continue;
        wide_integer most = 1;
        for (int j = 0; j < l->contract->arguments.count; j++) {
            const contract_argument *said = &l->contract->arguments.at[j];
            if (strcmp(said->name, l->addresses.at[i].array->name))
                continue;
            for (int d = 0; d < said->extents.count && most <= INT32_MAX; d++) {
                index_expr *extent = launch_expression(l, said->extents.at[d], said->span);
                wide_integer hi = extent ? lift_range_of(l, extent).hi : 0;
                most = hi > INT32_MAX ? hi : most * hi;
            }
        }
        if (most > INT32_MAX)
            return false;
    }
    return true;
}

static void prepare(lifter *l) {
    find_addresses(l);
    for (int i = 0; i < l->function->arguments.count; i++) {
        const char *builtin = l->function->notes[i].builtin;
        if (builtin && strstr(builtin, "simdgroup") && l->function->arguments.at[i]->uses)
            l->facts->lanes = true;
    }
    for (int i = 0; i < l->function->blocks.count; i++) {
        const lift_block *b = l->function->blocks.at[i];
        for (int j = 0; j < b->items.count; j++)
            l->facts->matrices = l->facts->matrices || lift_is_matrix_call(b->items.at[j]);
        for (int j = 0; j < b->items.count; j++)
            if (b->items.at[j]->op == LIFT_CALL && (b->items.at[j]->callee     ? lift_wants_lanes(b->items.at[j]->callee)
                                                    : b->items.at[j]->assembly ? lift_wants_warps(b->items.at[j]->assembly)
                                                                               : false))
                l->facts->lanes = true;
    }
    l->facts->lanes = l->facts->lanes || l->contract->lockstep;
    lift_uses_dimensions(l->function, l->facts->uses);
}

/* Arguments that are only read are inputs; of those that are written nothing is promised, unless the contract does. */
static void settle_use(lifter *l, lift_object *o) {
    object_facts *f = o->facts;
    bool promised = f->said && f->said->promised;
    if (promised && (!f->written || f->reads)) {
        diag_error(l->diags, "E1130", f->said->span, "`%s` is promised as an output, but the kernel %s", o->name,
                   f->written ? "reads it too" : "never writes it");
        l->failed = true;
    }
    bool unset = f->said && f->said->unset && !promised;
    array_use use = promised ? USE_OUT : f->written || unset ? USE_UPDATE : USE_IN;
    bool fits = !f->said || !f->said->has_type, views = false;
    for (int i = 0; i < LIFT_WIDTHS; i++) {
        kernel_array *x = o->views[i];
        if (!x)
            continue;
        x->use = use;
        x->rewritable = use == USE_UPDATE;
        x->unset = unset;
        views = views || x != o->array;
        fits = fits || f->said->type == x->element || (f->said->type == ELEMENT_I32 && x->element == ELEMENT_U32) ||
               (f->said->type == ELEMENT_U32 && x->element == ELEMENT_I32) || f->said->type == ELEMENT_U8; /* so many bytes */
    }
    if (promised && views) {
        diag_error(l->diags, "E1130", f->said->span,
                   "`%s` is promised as an output, but the kernel accesses it as elements of several widths", o->name);
        l->failed = true;
    }
    if (f->said && f->said->below) {
        if (f->written || views || element_table[o->array->element].is_float) {
            diag_error(l->diags, "E1130", f->said->span, "`%s` %s: nothing can be said of its elements", o->name,
                       f->written ? "is written"
                       : views    ? "is accessed as elements of several widths"
                                  : "holds floats");
            l->failed = true;
        } else {
            o->array->element_bound = launch_expression(l, f->said->below, f->said->span);
        }
    }
    if (!fits) {
        diag_error(l->diags, "E1130", f->said->span, "`%s` is said to hold %s, but the kernel accesses %s", o->name,
                   element_table[f->said->type].name, element_table[o->array->element].name);
        l->failed = true;
    }
}

bool lift_kernel(arena *a, const lift_function *f, const char *path, const lift_contract *contract, lifted_kernel *out,
                 diag_list *diags) {
    lift_facts facts = {0};
    lifter l = {.arena = a, .diags = diags, .path = path, .function = f, .contract = contract, .out = out, .facts = &facts};
    if (f->calls_itself) {
        lift_fail(&l, "E1127", NULL, "`%s` calls itself", f->name);
        return false;
    }
    l.flow = flow_new(a, f);
    if (l.flow->irreducible) {
        lift_fail(&l, "E1123", l.flow->irreducible, "a loop that can be entered in two places");
        return false;
    }
    prepare(&l);
    lift_find_waits(l.flow, a, &l.events);
    bool done = false;
    for (int i = 0; i < MOST_WALKS && !done && !l.failed; i++)
        done = walk(&l);
    if (!done) {
        lift_fail(&l, "E1123", NULL, "the kernel could not be settled in %d walks", MOST_WALKS);
        if (!l.failed)
            diag_error(diags, "E1123", lift_span(&l, NULL), "the kernel could not be settled in %d walks", MOST_WALKS);
        return false;
    }
    for (int i = 0; i < l.objects.count && !l.failed; i++) {
        const lift_object *o = l.objects.at[i];
        if (o->array && o->facts->unsized)
            lift_fail(&l, "E1131", o->origin, "the size of `%s` comes with the launch: --arg %s=COUNT says how many %s it has",
                      o->name, o->origin->name, element_table[o->array->element].name);
    }
    /* arguments that are only read are inputs */
    for (int i = 0; i < l.objects.count; i++) {
        lift_object *o = l.objects.at[i];
        if (o->array && o->space == SPACE_GLOBAL)
            settle_use(&l, o);
    }
    if (l.failed)
        return false;
    if (l.facts->prints)
        diag_warning(diags, "E1134", lift_span(&l, l.facts->prints), "what `%s` prints is left out", l.function->host_name);
    lift_drop_unread(l.k);
    lift_update_loops(l.k);
    if (contract->lockstep)
        lift_lockstep(l.k);
    kernel_settle_names(l.k);
    l.k->holds_loads = true;
    kernel_simplify(l.k);
    out->kernel = l.k;
    out->function = f;
    return kernel_check(l.k, diags);
}
