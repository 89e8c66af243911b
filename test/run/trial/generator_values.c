#include "generator.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHANCE(percent) random_chance(&p->random, (percent))
#define PICK(...) pick(p, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static const char *pick(program *p, const char *const *from, int count) {
    return from[random_between(&p->random, 0, count - 1)];
}

node *make_node(program *p, value_type type, unsigned axes, const char *format, int parts, ...) {
    node *n = NEW(p->arena, node);
    n->format = arena_strdup(p->arena, format);
    n->type = type;
    n->axes = axes;
    n->parts = parts;
    va_list args;
    va_start(args, parts);
    for (int i = 0; i < parts; i++) {
        n->part[i] = va_arg(args, node *);
        n->axes |= n->part[i]->axes;
    }
    va_end(args);
    return n;
}

line *make_line(program *p, bool is_loop, const char *format, int parts, ...) {
    line *n = NEW(p->arena, line);
    n->format = arena_strdup(p->arena, format);
    n->is_loop = is_loop;
    n->parts = parts;
    va_list args;
    va_start(args, parts);
    for (int i = 0; i < parts; i++)
        n->part[i] = va_arg(args, node *);
    va_end(args);
    return n;
}

int count_bits(unsigned set) {
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

unsigned random_subset(program *p, unsigned set, int keep_percent) {
    unsigned out = 0;
    for (int r = 0; r < p->ranges.count; r++)
        if (set >> r & 1 && CHANCE(keep_percent))
            out |= 1u << r;
    return out;
}

/* The ranges of a set in order or shuffled; returns how many. */
static int list_axes(program *p, unsigned axes, bool shuffled, int *out) {
    int n = 0;
    for (int r = 0; r < p->ranges.count; r++)
        if (axes >> r & 1)
            out[n++] = r;
    for (int i = n - 1; shuffled && i > 0; i--) {
        int j = (int)random_between(&p->random, 0, i), t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
    return n;
}

const char *axes_text(program *p, unsigned axes, bool shuffled) {
    int list[32], n = list_axes(p, axes, shuffled, list);
    const char *text = "";
    for (int i = 0; i < n; i++)
        text = arena_printf(p->arena, "%s%s%s", text, i ? ", " : "", p->ranges.at[list[i]].name);
    return text;
}

static const char *add_argument(program *p, const char *prefix, const char *type) {
    argument a;
    a.name = arena_printf(p->arena, "%s%d", prefix, p->arguments.count);
    a.text = arena_printf(p->arena, "%s: %s", a.name, type);
    VEC_PUSH(p->arena, p->arguments, a);
    return a.name;
}

static const char *narrow_type(program *p) {
    return CHANCE(40) ? "f32" : PICK("f16", "bf16", "f16", "bf16", "e4m3", "e5m2");
}

static const char *convert_format(program *p, const char *type) {
    return !strcmp(type, "f32")    ? "f32(%0)"
           : !strcmp(type, "e4m3") ? PICK("e4m3(%0, sat)", "e4m3(%0, nan)")
           : !strcmp(type, "e5m2") ? PICK("e5m2(%0, sat)", "e5m2(%0, inf)")
           : !strcmp(type, "f16")  ? "f16(%0)"
                                   : "bf16(%0)";
}

/* A load over exactly `axes`; integers come from integer arrays. Some dimensions are offset, gathered through an index array or
 * fixed; `scope` are the ranges that an outside value may use. */
node *generate_load(program *p, value_type type, unsigned axes, unsigned scope) {
    int list[32], n = list_axes(p, axes, CHANCE(40), list);
    const char *dims = "", *indices = "";
    bool outside = false;
    if (n == 0) { /* one fixed element of a small array */
        const char *name = add_argument(p, "w",
                                        type == VALUE_F32    ? arena_printf(p->arena, "%s[5]", narrow_type(p))
                                        : type == VALUE_BOOL ? "bool[5]"
                                                             : arena_printf(p->arena, "%s[5]", PICK("i32", "i8", "u8")));
        const char *element = name;
        return make_node(
            p, type, 0,
            arena_printf(p->arena, type == VALUE_I32 ? "i32(%s[%d])" : "%s[%d]", element, (int)random_between(&p->random, 0, 4)),
            0);
    }
    for (int i = 0; i < n; i++) {
        const range *r = &p->ranges.at[list[i]];
        const char *separator = i ? ", " : "";
        /* Two ranges may index one product dimension. */
        if (i + 1 < n && CHANCE(10)) {
            const range *s = &p->ranges.at[list[i + 1]];
            dims = arena_printf(p->arena, "%s%s%s*%s", dims, separator, r->extent, s->extent);
            indices = arena_printf(p->arena, "%s%s(%s, %s)", indices, separator, r->name, s->name);
            i++;
        } else if (CHANCE(8)) {
            /* A gather; sometimes through two tables. */
            const char *table = add_argument(p, "ids", arena_printf(p->arena, "index(V)[%s]", r->extent));
            const char *at = arena_printf(p->arena, "%s[%s]", table, r->name);
            if (CHANCE(25)) {
                const char *second = add_argument(p, "ids", "index(V2)[V]");
                at = arena_printf(p->arena, "%s[%s]", second, at);
                dims = arena_printf(p->arena, "%s%sV2", dims, separator);
            } else {
                dims = arena_printf(p->arena, "%s%sV", dims, separator);
            }
            indices = arena_printf(p->arena, "%s%s%s", indices, separator, at);
        } else if (CHANCE(9)) {
            int by = (int)random_between(&p->random, 1, 3);
            dims = arena_printf(p->arena, "%s%s%s", dims, separator, r->extent);
            indices = arena_printf(p->arena, "%s%s%s %s %d", indices, separator, r->name, CHANCE(60) ? "-" : "+", by);
            outside = true;
        } else {
            dims = arena_printf(p->arena, "%s%s%s", dims, separator, r->extent);
            indices = arena_printf(p->arena, "%s%s%s", indices, separator, r->name);
        }
        if (CHANCE(4)) {
            dims = arena_printf(p->arena, "%s, 3", dims);
            indices = arena_printf(p->arena, "%s, %d", indices, (int)random_between(&p->random, 0, 2));
        }
    }
    const char *element = type == VALUE_F32 ? narrow_type(p) : type == VALUE_BOOL ? "bool" : PICK("i32", "i8", "u8", "i32");
    const char *name = add_argument(p, "a", arena_printf(p->arena, "%s[%s]", element, dims));
    const char *text = arena_printf(p->arena, "%s[%s]", name, indices);
    if (type == VALUE_I32 && !strcmp(element, "u8")) /* a u8 loads as u32 */
        return outside ? make_node(p, type, axes, arena_printf(p->arena, "i32(%s else 1)", text), 0)
                       : make_node(p, type, axes, arena_printf(p->arena, "i32(%s)", text), 0);
    if (!outside)
        return make_node(p, type, axes, text, 0);
    /* Outside stands a value of the element's own type. */
    bool narrow = strcmp(element, "f32") && type == VALUE_F32;
    node *other;
    if (CHANCE(60) || type == VALUE_BOOL || !strcmp(element, "i8"))
        other = make_node(p, type, 0, type == VALUE_BOOL ? "false" : type == VALUE_I32 ? "7" : PICK("0", "1", "-2"), 0);
    else
        other = generate_value(p, type, scope & axes, 0);
    if (narrow && *other->format != '0' && *other->format != '1' && *other->format != '-')
        other = make_node(p, type, 0, convert_format(p, element), 1, other);
    return make_node(p, type, axes, arena_printf(p->arena, "(%s else %%0)", text), 1, other);
}

node *generate_operand(program *p, const char *type, unsigned axes) {
    bool integer = !strcmp(type, "i8") || !strcmp(type, "u8");
    if (integer || CHANCE(75)) {
        int list[32], n = list_axes(p, axes, CHANCE(50), list);
        const char *dims = "", *indices = "";
        for (int i = 0; i < n; i++) {
            const range *r = &p->ranges.at[list[i]];
            bool product = i + 1 < n && CHANCE(12);
            const range *s = product ? &p->ranges.at[list[i + 1]] : r;
            dims = arena_printf(p->arena, product ? "%s%s%s*%s" : "%s%s%s", dims, i ? ", " : "", r->extent, s->extent);
            indices = arena_printf(p->arena, product ? "%s%s(%s, %s)" : "%s%s%s", indices, i ? ", " : "", r->name, s->name);
            i += product;
        }
        const char *name = add_argument(p, "b", arena_printf(p->arena, "%s[%s]", type, dims));
        return make_node(p, VALUE_NARROW, axes, arena_printf(p->arena, "%s[%s]", name, indices), 0);
    }
    node *inside = make_node(p, VALUE_F32, axes, PICK("(%0 + %1)", "(%0 * %1)", "max(%0, %1)", "%0"), 2,
                             generate_load(p, VALUE_F32, axes, axes), generate_value(p, VALUE_F32, axes, 1));
    return make_node(p, VALUE_NARROW, axes, convert_format(p, type), 1, inside);
}

static node *leaf(program *p, value_type type, unsigned scope) {
    /* A name that fits, when there is one. */
    if (CHANCE(45) && p->names.count) {
        for (int attempt = 0; attempt < 4; attempt++) {
            node *n = p->names.at[random_between(&p->random, 0, p->names.count - 1)];
            if (n->type == type && !(n->axes & ~scope)) {
                n->used = true;
                return n;
            }
        }
    }
    if (CHANCE(70) || type == VALUE_BOOL)
        return generate_load(p, type, random_subset(p, scope, count_bits(scope) > 2 ? 50 : 75), scope);
    if (type == VALUE_I32) {
        unsigned one = random_subset(p, scope, 50);
        if (one && CHANCE(50)) {
            int list[32], n = list_axes(p, one, true, list);
            (void)n;
            return make_node(p, type, 1u << list[0], p->ranges.at[list[0]].name, 0);
        }
        return make_node(p, type, 0, PICK("i32(1)", "i32(2)", "i32(3)", "i32(7)", "i32(100)"), 0);
    }
    if (CHANCE(35)) {
        const char *name = add_argument(p, "scale", "f32");
        return make_node(p, type, 0, name, 0);
    }
    if (CHANCE(15) && scope) {
        int list[32], n = list_axes(p, scope, true, list);
        (void)n;
        return make_node(p, type, 1u << list[0], arena_printf(p->arena, "f32(%s)", p->ranges.at[list[0]].name), 0);
    }
    return make_node(p, type, 0, PICK("0.5", "2.0", "1.25", "-1.0", "0.1", "3.0", "1e-3"), 0);
}

static node *comparison(program *p, unsigned scope, int depth) {
    const char *op = PICK("(%0 < %1)", "(%0 <= %1)", "(%0 > %1)", "(%0 >= %1)", "(%0 == %1)", "(%0 != %1)");
    if (CHANCE(30)) { /* triangular masks and the like */
        unsigned both = random_subset(p, scope, 80);
        if (count_bits(both) >= 2) {
            int list[32];
            list_axes(p, both, true, list);
            node *x = make_node(p, VALUE_I32, 1u << list[0], p->ranges.at[list[0]].name, 0);
            node *y = make_node(p, VALUE_I32, 1u << list[1], p->ranges.at[list[1]].name, 0);
            return make_node(p, VALUE_BOOL, 0, op, 2, x, y);
        }
    }
    value_type t = CHANCE(70) ? VALUE_F32 : VALUE_I32;
    /* Equality of rounded floats is undecidable within a bound: keep it for integers. */
    if (t == VALUE_F32 && (strstr(op, "==") || strstr(op, "!=")))
        t = VALUE_I32;
    return make_node(p, VALUE_BOOL, 0, op, 2, generate_value(p, t, scope, depth - 1), generate_value(p, t, scope, depth - 1));
}

static void need_function(program *p, unsigned bit, const char *text) {
    if (!(p->prelude_made & bit))
        VEC_PUSH(p->arena, p->prelude, text);
    p->prelude_made |= bit;
}

node *generate_value(program *p, value_type type, unsigned scope, int depth) {
    if (depth <= 0 || CHANCE(12))
        return leaf(p, type, scope);
    int next = depth - 1;
    if (type == VALUE_BOOL) {
        switch (random_between(&p->random, 0, 9)) {
        case 0: return make_node(p, type, 0, "(not %0)", 1, generate_value(p, type, scope, next));
        case 1:
        case 2:
            return make_node(p, type, 0, "(%0 and %1)", 2, generate_value(p, type, scope, next),
                             generate_value(p, type, scope, next));
        case 3:
        case 4:
            return make_node(p, type, 0, "(%0 or %1)", 2, generate_value(p, type, scope, next),
                             generate_value(p, type, scope, next));
        case 5: return leaf(p, type, scope);
        default: return comparison(p, scope, depth);
        }
    }
    node *x = generate_value(p, type, scope, next);
    if (type == VALUE_I32) {
        switch (random_between(&p->random, 0, 11)) {
        case 10:
            return make_node(p, type, 0,
                             PICK("bit_and(%0, %1)", "bit_or(%0, %1)", "bit_xor(%0, %1)", "shl(%0, %1)", "shr(%0, %1)"), 2, x,
                             generate_value(p, type, scope, next));
        case 11:
            need_function(p, 512,
                          "intrinsic mixed(a: i32, b: i32) -> i32 {\n    value = bit_xor(a, shl(b, 3)) + shr(b, 2)\n"
                          "    otherwise = value\n}\n");
            return make_node(p, type, 0, "mixed(%0, %1)", 2, x, generate_value(p, type, scope, next));
        case 0: return make_node(p, type, 0, "(-%0)", 1, x);
        case 1: return make_node(p, type, 0, "abs(%0)", 1, x);
        case 2: return make_node(p, type, 0, "i32(%0)", 1, generate_value(p, VALUE_F32, scope, next));
        case 3:
            return make_node(p, type, 0, "select(%0, %1, %2)", 3, generate_value(p, VALUE_BOOL, scope, next), x,
                             generate_value(p, type, scope, next));
        default:
            return make_node(p, type, 0,
                             PICK("(%0 + %1)", "(%0 - %1)", "(%0 * %1)", "min(%0, %1)", "max(%0, %1)", "(%0 + 2 * %1)"), 2, x,
                             generate_value(p, type, scope, next));
        }
    }
    switch (random_between(&p->random, 0, 31)) {
    case 0: return make_node(p, type, 0, "(-%0)", 1, x);
    case 1: return make_node(p, type, 0, "abs(%0)", 1, x);
    case 2: return make_node(p, type, 0, "floor(%0)", 1, x);
    case 3: return make_node(p, type, 0, PICK("sqrt(abs(%0))", "sqrt(%0 * %0)", "sqrt(%0)"), 1, x);
    case 4: return make_node(p, type, 0, "rsqrt(abs(%0) + 0.25)", 1, x);
    case 5: return make_node(p, type, 0, PICK("exp(-abs(%0))", "exp(min(%0, 4))", "exp(%0)"), 1, x);
    case 6: return make_node(p, type, 0, PICK("log(abs(%0) + 0.5)", "log(max(%0, 1))"), 1, x);
    case 7: return make_node(p, type, 0, "tanh(%0)", 1, x);
    case 8: return make_node(p, type, 0, "erf(%0)", 1, x);
    case 9: return make_node(p, type, 0, PICK("sin(%0)", "cos(%0)"), 1, x);
    case 10: return make_node(p, type, 0, "(%0 / (1 + abs(%1)))", 2, x, generate_value(p, type, scope, next));
    case 11: return make_node(p, type, 0, "(%0 / 3)", 1, x);
    case 12:
    case 13:
        return make_node(p, type, 0, "select(%0, %1, %2)", 3, generate_value(p, VALUE_BOOL, scope, next), x,
                         generate_value(p, type, scope, next));
    case 14: return make_node(p, type, 0, "f32(%0)", 1, generate_value(p, VALUE_I32, scope, next));
    case 15:
        return make_node(p, type, 0, PICK("f32(f16(%0))", "f32(bf16(%0))", "f32(e4m3(%0, sat))", "f32(e5m2(%0, inf))"), 1, x);
    case 16: need_function(p, 1, "fn silu(x) = x / (1 + exp(-x))\n"); return make_node(p, type, 0, "silu(%0)", 1, x);
    case 17:
        need_function(p, 2, "fn gelu(x) = 0.5 * x * (1 + erf(x * 0.7071067811865476))\n");
        return make_node(p, type, 0, "gelu(%0)", 1, x);
    case 18:
        need_function(p, 4, "fn blend(x, y, t) = x + t * (y - x)\n");
        return make_node(p, type, 0, "blend(%0, %1, 0.25)", 2, x, generate_value(p, type, scope, next));
    case 19:
    case 20: return make_node(p, type, 0, PICK("min(%0, %1)", "max(%0, %1)"), 2, x, generate_value(p, type, scope, next));
    default:
        return make_node(p, type, 0, PICK("(%0 + %1)", "(%0 - %1)", "(%0 * %1)"), 2, x, generate_value(p, type, scope, next));
    }
}
