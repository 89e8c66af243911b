/* Atomic updates: what a device has itself, or a loop that compares and exchanges. Each becomes a function of the prelude. */
#include "target/cfamily.h"

/* What the cell becomes, of `old` and `v`; NULL: no expression of these. */
static const char *combined(cfamily *p, kernel_op op, element_type t) {
    bool is_float = element_table[t].is_float;
    switch (op) {
    case KERNEL_ADD: return is_float ? "old + v" : NULL;
    case KERNEL_MIN: return is_float ? p->dialect->atomics->least : "old < v ? old : v";
    case KERNEL_MAX: return is_float ? p->dialect->atomics->greatest : "old < v ? v : old";
    case KERNEL_EXCHANGE: return is_float ? "v" : NULL;
    case KERNEL_INC_WRAP: return "old >= v ? 0u : old + 1u";
    case KERNEL_DEC_WRAP: return "old == 0u || old > v ? v : old - 1u";
    default: return NULL;
    }
}

static const char *word_of(kernel_op op) {
    switch (op) {
    case KERNEL_ADD: return "add";
    case KERNEL_MIN: return "min";
    case KERNEL_MAX: return "max";
    case KERNEL_BIT_AND: return "and";
    case KERNEL_BIT_OR: return "or";
    case KERNEL_BIT_XOR: return "xor";
    case KERNEL_EXCHANGE: return "xchg";
    case KERNEL_COMPARE_EXCHANGE: return "cmpxchg";
    case KERNEL_INC_WRAP: return "inc_wrap";
    case KERNEL_DEC_WRAP: return "dec_wrap";
    default: return NULL;
    }
}

/* The function's name; NULL: the target has no form for it. */
static const char *function_for(cfamily *p, kernel_op op, element_type t, memory_space space) {
    const cfamily_atomics *of = p->dialect->atomics;
    const char *word = word_of(op);
    bool wide = t == ELEMENT_I64 && op != KERNEL_MIN && op != KERNEL_MAX;
    if (!of || !word || (t != ELEMENT_I32 && t != ELEMENT_U32 && t != ELEMENT_F32 && !wide))
        return NULL;
    bool shared = space == SPACE_SHARED, expects = op == KERNEL_COMPARE_EXCHANGE;
    const char *name = arena_printf(p->arena, "atomic_%s_%s%s", word, c_type_tag(t), shared && *of->shared ? "_shared" : "");
    if (names_have(&p->helpers, name))
        return name;
    const char *type = p->dialect->register_type(p, t, 1), *place = shared ? of->shared : of->device;
    const char *itself = of->itself(p->arena, word, t, place), *next = combined(p, op, t);
    if (!itself && !next)
        return NULL;
    names_add(p, &p->helpers, name);
    text_add(&p->prelude, "%s%s %s(%s%s *p, %s%s%s v)\n{\n", p->dialect->function_head, type, name, place, type,
             expects ? type : "", expects ? " e, " : "", type);
    if (itself && !expects)
        cfamily_prelude_line(p, "return %s;", itself);
    else
        text_add(&p->prelude, "%s", itself ? itself : of->loop(p->arena, next, t, place));
    text_add(&p->prelude, "}\n");
    return name;
}

bool cfamily_atomic(cfamily *p, const kernel_stmt *s) {
    const kernel_array *a = s->access.array;
    element_type t = a->element;
    const char *function = a->space == SPACE_GLOBAL || a->space == SPACE_SHARED ? function_for(p, s->combine, t, a->space) : NULL;
    if (!function || s->access.lanes != 1 || s->access.active)
        return cfamily_refuse(p, s->span, "an atomic %s of %s", kernel_op_table[s->combine].name, element_table[t].name);
    const char *expected = s->expected ? cfamily_statement_value(p, s->expected).text : "";
    const char *value = cfamily_statement_value(p, s->value).text;
    const char *call = arena_printf(p->arena, "%s(&%s[%s], %s%s%s)", function, p->arrays[a->id].name,
                                    cfamily_offset(p, &s->access, 0), expected, s->expected ? ", " : "", value);
    p->arrays[a->id].used = true;
    if (!s->name || !(cfamily_is_live(p, s) || (s->var && cfamily_is_live(p, s->var)))) {
        cfamily_line(p, "%s;", call);
        return true;
    }
    const char *name = cfamily_unique(p, s->name);
    cfamily_line(p, "const %s %s = %s;", p->dialect->register_type(p, t, 1), name, call);
    cfamily_bind(p, s, name);
    if (s->var) {
        cfamily_binding *b = cfamily_bind(p, s->var, name);
        b->multiple = 1;
        b->least = INT64_MIN / 4;
        b->greatest = INT64_MAX / 4;
    }
    return true;
}
