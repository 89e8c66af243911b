/* Parameters that lie in memory: structs of arguments in constant memory, function constants and constant variables that the host sets. What is read of them
 * at places that are known is a value of the launch. */
#include "lift/lifter.h"
#include <string.h>

/* Whether everything made of this address is read at constant places. */
static bool only_read(const lift_function *f, const lift_value *address, int nesting) {
    const lift_values *users = lift_users(f, address);
    int seen = 0;
    for (int i = 0; i < users->count; i++) {
        const lift_value *v = users->at[i];
        for (int n = 0; n < v->operand_count; n++) {
            if (v->operands[n] != address)
                continue;
            seen++;
            if (v->op == LIFT_LOAD)
                continue;
            bool step = v->op == LIFT_GEP || v->op == LIFT_BITCAST || v->op == LIFT_ADDRSPACECAST ||
                        (v->op == LIFT_PHI && v->operand_count == 1); /* on the way out of a loop */
            for (int s = 0; s < v->step_count; s++)
                step = step && v->steps[s].index->kind == LIFT_CONSTANT_INTEGER;
            if (!step || nesting > 8 || !only_read(f, v, nesting + 1))
                return false;
        }
    }
    return address->kind == LIFT_GLOBAL || seen == address->uses;
}

bool lift_are_parameters(const lifter *l, const lift_value *origin) {
    bool outside = origin->kind == LIFT_GLOBAL && origin->type->space != 3 && (origin->external || !origin->initial);
    return (outside || (origin->kind == LIFT_ARGUMENT && origin->type->space == 4)) && only_read(l->function, origin, 0);
}

bool lift_is_parameter_load(const lifter *l, const lift_value *v) {
    if (v->op != LIFT_LOAD || v->is_atomic)
        return false;
    const lift_value *at = v->operands[0];
    for (int i = 0; at->kind == LIFT_INSTRUCTION && i < 16; i++) {
        bool step = at->op == LIFT_GEP || at->op == LIFT_BITCAST || at->op == LIFT_ADDRSPACECAST ||
                    (at->op == LIFT_PHI && at->operand_count == 1); /* on the way out of a loop */
        if (!step)
            return false;
        at = at->operands[0];
    }
    return (at->kind == LIFT_ARGUMENT || at->kind == LIFT_GLOBAL) && lift_are_parameters(l, at);
}

static bool has(const char *text, const char *word) {
    return text && strstr(text, word);
}

bool lift_is_used_unsigned(const lift_function *f, const lift_value *x) {
    const lift_values *users = lift_users(f, x);
    bool as_unsigned = false;
    for (int i = 0; i < users->count; i++) {
        const lift_value *v = users->at[i];
        for (int n = 0; n < v->operand_count; n++) {
            if (v->operands[n] != x)
                continue;
            bool compares = v->op == LIFT_ICMP;
            if (v->op == LIFT_SEXT || v->op == LIFT_SDIV || v->op == LIFT_SREM || v->op == LIFT_ASHR || v->op == LIFT_SITOFP ||
                (compares && v->predicate >= LIFT_SGT && v->predicate <= LIFT_SLE))
                return false;
            as_unsigned = as_unsigned || v->op == LIFT_ZEXT || v->op == LIFT_UDIV || v->op == LIFT_UREM || v->op == LIFT_LSHR ||
                          v->op == LIFT_UITOFP || (compares && v->predicate >= LIFT_UGT && v->predicate <= LIFT_ULE);
        }
    }
    return as_unsigned;
}

/* `constant uint &`, as the source spells a single number. */
static bool is_scalar(const char *type) {
    static const char *const names[] = {"int",      "uint",    "float",    "half",   "bool",     "long",    "ulong",    "short",
                                        "ushort",   "char",    "uchar",    "size_t", "unsigned", "int32_t", "uint32_t", "int64_t",
                                        "uint64_t", "int16_t", "uint16_t", "int8_t", "uint8_t",  "bfloat"};
    if (!type || !strchr(type, '&'))
        return false;
    for (const char *c = type; *c;) {
        size_t n = strspn(c, " &*");
        c += n;
        n = strcspn(c, " &*");
        bool known = n == 0 || (n == 8 && !memcmp(c, "constant", 8)) || (n == 5 && !memcmp(c, "const", 5)) ||
                     (n == 6 && !memcmp(c, "device", 6));
        for (size_t i = 0; i < sizeof names / sizeof *names && !known; i++)
            known = strlen(names[i]) == n && !memcmp(names[i], c, n);
        if (!known)
            return false;
        c += n;
    }
    return true;
}

static const char *name_of(const lifter *l, const lift_object *o, const lift_type *t, int64_t offset) {
    bool argument = o->origin->kind == LIFT_ARGUMENT;
    if (o->origin->kind == LIFT_GLOBAL && o->origin->pointee->size == t->size)
        return o->name;
    if (argument && !offset && is_scalar(l->function->notes[o->origin->id].base_type)) /* `constant uint &n` */
        return o->name;
    return arena_printf(l->arena, "%s_%lld", o->name, (long long)offset);
}

lifted lift_parameter(lifter *l, const lift_value *v, lift_object *o, const lift_type *t, int64_t offset) {
    for (int i = 0; i < l->parameters.count; i++) {
        const launch_parameter *p = &l->parameters.at[i];
        if (p->object != o || p->offset != offset)
            continue;
        if (p->type->kind == t->kind && p->type->bits == t->bits)
            return p->value;
        lift_fail(l, "E1125", v, "`%s` is read as %s and as %s at one place", o->name, p->type->text, t->text);
        return (lifted){.kind = LIFTED_ANY};
    }
    bool not_negative = lift_is_used_unsigned(l->function, v);
    if (o->origin->kind == LIFT_ARGUMENT && o->origin->id < l->function->arguments.count) {
        const char *type = l->function->notes[o->origin->id].base_type;
        not_negative = not_negative || has(type, "uint") || has(type, "ulong") || has(type, "ushort") || has(type, "uchar") ||
                       has(type, "unsigned");
    }
    launch_parameter p = {o, offset, t, launch_scalar(l, name_of(l, o, t, offset), t, not_negative)};
    if (!p.value.kind)
        lift_fail(l, "E1124", v, "a parameter of type %s", t->text);
    VEC_PUSH(l->arena, l->parameters, p);
    return p.value;
}

void lift_single_parameters(lifter *l) {
    const lift_function *f = l->function;
    for (int i = 0; i < f->blocks.count; i++)
        for (int j = 0; j < f->blocks.at[i]->items.count && !lift_stopped(l); j++) {
            const lift_value *v = f->blocks.at[i]->items.at[j], *of = v->op == LIFT_LOAD ? v->operands[0] : NULL;
            if (!of || of->kind != LIFT_ARGUMENT || !is_scalar(f->notes[of->id].base_type) || !lift_are_parameters(l, of))
                continue;
            lifted p = lift_pointer_to(l, of);
            lift_parameter(l, v, p.object, v->type, 0);
        }
}

/* What an address of constant steps begins at, and how far behind it is; NULL: it is none. */
static const lift_value *origin_of(const lift_value *address, int64_t *offset) {
    *offset = 0;
    for (int nesting = 0; nesting < 16 && address->kind == LIFT_INSTRUCTION; nesting++) {
        bool step = address->op == LIFT_GEP || address->op == LIFT_BITCAST || address->op == LIFT_ADDRSPACECAST ||
                    (address->op == LIFT_PHI && address->operand_count == 1);
        *offset += address->op == LIFT_GEP ? address->offset : 0;
        for (int s = 0; s < address->step_count && step; s++) {
            step = address->steps[s].index->kind == LIFT_CONSTANT_INTEGER;
            *offset += address->steps[s].index->number * address->steps[s].stride;
        }
        if (!step)
            return NULL;
        address = address->operands[0];
    }
    return address->kind == LIFT_ARGUMENT || address->kind == LIFT_GLOBAL ? address : NULL;
}

bool lift_parameter_by_name(lifter *l, const char *name) {
    enum { MOST_NAMING = 16 }; /* texts that say one parameter by another */
    if (l->naming == MOST_NAMING)
        return false;
    for (int i = 0; i < l->function->blocks.count; i++)
        for (int j = 0; j < l->function->blocks.at[i]->items.count; j++) {
            const lift_value *v = l->function->blocks.at[i]->items.at[j];
            int64_t offset;
            const lift_value *origin = v->op == LIFT_LOAD ? origin_of(v->operands[0], &offset) : NULL;
            if (!origin || (v->type->kind != LIFT_INTEGER && v->type->kind != LIFT_FLOAT) || !lift_is_parameter_load(l, v))
                continue;
            lift_object *o = lift_pointer_to(l, origin).object;
            if (strcmp(name_of(l, o, v->type, offset), name))
                continue;
            l->naming++;
            lift_parameter(l, v, o, v->type, offset);
            l->naming--;
            return true;
        }
    return false;
}
