/* The shape of a random kernel: its ranges, outputs, phases (lets, reductions, nested loops, combine states) and stores. */
#include "generator.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CHANCE(percent) random_chance(&p->random, (percent))
#define BETWEEN(lo, hi) ((int)random_between(&p->random, (lo), (hi)))

static const char *format_text(program *p, const char *text) /* an arena copy; shortens the calls below */
{
    return arena_strdup(p->arena, text);
}

static int add_range(program *p, const char *name, const char *extent, const char *size, bool is_static) {
    range r = {format_text(p, name), format_text(p, extent), format_text(p, size), is_static};
    VEC_PUSH(p->arena, p->ranges, r);
    return p->ranges.count - 1;
}

static void push_line(program *p, line *body, line *l) {
    if (body)
        VEC_PUSH(p->arena, body->body, l);
    else
        VEC_PUSH(p->arena, p->body, l);
}

static void add_name(program *p, const char *name, value_type type, unsigned axes) {
    node *n = make_node(p, type, axes, name, 0);
    VEC_PUSH(p->arena, p->names, n);
}

static const char *fresh(program *p, const char *prefix) {
    return arena_printf(p->arena, "%s%d", prefix, p->counter++);
}

/* ---- what the task owns ---- */

static const char *const task_names[] = {"i", "j", "h", "g", "b"};
static const char *const task_symbols[] = {"M", "N", "H", "G", "B"};

/* One dimension of the outputs: a range, a product of two or three factors, or a whole dimension. Appends its extent, its form in
 * `for tile`, in further owned lists, in the store and (whole) the storing loop's range. */
typedef struct dimension {
    const char *extent, *declared, *owned, *index;
} dimension;

static dimension make_dimension(program *p, int at, bool last, bool *whole) {
    dimension d = {0};
    const char *name = task_names[at], *symbol = task_symbols[at];
    int kind = BETWEEN(0, 99);
    if (last && kind < 18 && p->ranges.count) { /* `..` */
        int r = add_range(p, "c", "C", "BC", false);
        p->whole_ranges |= 1u << r;
        *whole = true;
        return (dimension){"C", "..", "..", "c"};
    }
    if (kind < 36 && at < 3) { /* a product */
        const char *second = arena_printf(p->arena, "%s2", name);
        int form = BETWEEN(0, 3);
        if (form == 0) { /* 2*P: both halves */
            add_range(p, name, "2", "2", true);
            p->task_ranges |= 1u << (p->ranges.count - 1);
            add_range(p, second, symbol, arena_printf(p->arena, "B%s", symbol), false);
            p->task_ranges |= 1u << (p->ranges.count - 1);
            d = (dimension){arena_printf(p->arena, "2*%s", symbol),
                            arena_printf(p->arena, "(%s: 2, %s: B%s)", name, second, symbol), NULL, NULL};
        } else if (form == 1) { /* S*G with G static */
            const char *inner = arena_printf(p->arena, "%sS", symbol);
            VEC_PUSH(p->arena, p->statics, (const char *)arena_printf(p->arena, "%s = %d", inner, BETWEEN(1, 5)));
            add_range(p, name, symbol, "1", false);
            p->task_ranges |= 1u << (p->ranges.count - 1);
            add_range(p, second, inner, inner, true);
            p->task_ranges |= 1u << (p->ranges.count - 1);
            d = (dimension){arena_printf(p->arena, "%s*%s", symbol, inner),
                            arena_printf(p->arena, "(%s: 1, %s: %s)", name, second, inner), NULL, NULL};
        } else if (form == 2) { /* both free */
            add_range(p, name, symbol, arena_printf(p->arena, "B%s", symbol), false);
            p->task_ranges |= 1u << (p->ranges.count - 1);
            const char *other = arena_printf(p->arena, "%sQ", symbol);
            add_range(p, second, other, arena_printf(p->arena, "B%s", other), false);
            p->task_ranges |= 1u << (p->ranges.count - 1);
            d = (dimension){arena_printf(p->arena, "%s*%s", symbol, other),
                            arena_printf(p->arena, "(%s: B%s, %s: B%s)", name, symbol, second, other), NULL, NULL};
        } else { /* three factors */
            const char *third = arena_printf(p->arena, "%s3", name);
            add_range(p, name, symbol, "1", false);
            add_range(p, second, "2", "2", true);
            const char *other = arena_printf(p->arena, "%sQ", symbol);
            add_range(p, third, other, arena_printf(p->arena, "B%s", other), false);
            p->task_ranges |= 7u << (p->ranges.count - 3);
            d = (dimension){arena_printf(p->arena, "%s*2*%s", symbol, other),
                            arena_printf(p->arena, "(%s: 1, %s: 2, %s: B%s)", name, second, third, other),
                            arena_printf(p->arena, "(%s, %s, %s)", name, second, third), NULL};
        }
        if (!d.owned)
            d.owned = arena_printf(p->arena, "(%s, %s)", name, second);
        d.index = d.owned;
        return d;
    }
    const char *size = arena_printf(p->arena, "B%s", symbol);
    if (kind < 46)
        size = "1";
    else if (kind < 54)
        size = CHANCE(50) ? "4" : "3";
    else if (kind < 64) { /* a static dimension in one piece */
        VEC_PUSH(p->arena, p->statics, (const char *)arena_printf(p->arena, "%s = %d", symbol, BETWEEN(1, 12)));
        add_range(p, name, symbol, symbol, true);
        p->task_ranges |= 1u << (p->ranges.count - 1);
        return (dimension){symbol, arena_printf(p->arena, "%s: %s", name, symbol), name, name};
    }
    /* Now and then two dimensions have the same extent. */
    if (at == 1 && CHANCE(20) && !strcmp(p->ranges.at[0].extent, task_symbols[0]))
        symbol = task_symbols[0];
    add_range(p, name, symbol, size, false);
    p->task_ranges |= 1u << (p->ranges.count - 1);
    return (dimension){symbol, arena_printf(p->arena, "%s: %s", name, size), name, name};
}

static const char *output_type(program *p) {
    static const char *const types[] = {"f32", "f32",  "f32",  "f32",  "f16", "bf16", "i32",
                                        "i32", "e4m3", "e5m2", "bool", "i8",  "u8",   "u32"};
    return types[BETWEEN(0, 13)];
}

static value_type value_of(const char *type) {
    return !strcmp(type, "bool")                                                                        ? VALUE_BOOL
           : !strcmp(type, "i32") || !strcmp(type, "i8") || !strcmp(type, "u8") || !strcmp(type, "u32") ? VALUE_I32
                                                                                                        : VALUE_F32;
}

static const char *stored(program *p, const char *type) {
    if (!strcmp(type, "f32") || !strcmp(type, "i32") || !strcmp(type, "bool"))
        return "%0";
    if (!strcmp(type, "e4m3") || !strcmp(type, "e5m2"))
        return arena_printf(p->arena, "%s(%%0, %s)", type, CHANCE(50) ? "sat" : !strcmp(type, "e4m3") ? "nan" : "inf");
    return arena_printf(p->arena, "%s(%%0)", type);
}

static void make_outputs(program *p) {
    int dimensions = BETWEEN(1, 3), outputs = CHANCE(70) ? 1 : BETWEEN(2, 3);
    dimension d[3];
    bool whole = false;
    for (int i = 0; i < dimensions; i++)
        d[i] = make_dimension(p, i, i == dimensions - 1, &whole);
    for (int o = 0; o < outputs; o++) {
        bool update = !whole && CHANCE(10);
        const char *type = update ? "f32" : output_type(p), *name = fresh(p, "y");
        const char *extents = "", *declared = "", *owned = "", *indices = "";
        int order[3] = {0, 1, 2};
        if (o && dimensions > 1 && CHANCE(40)) { /* a later output may be transposed */
            order[0] = 1;
            order[1] = 0;
        }
        /* A later output may lack the whole dimension. */
        bool narrow = o && whole && CHANCE(60);
        const char *separator = "";
        bool loops = false;
        for (int i = 0; i < dimensions; i++) {
            int at = order[i];
            bool is_whole = !strcmp(d[at].declared, "..");
            if (narrow && is_whole)
                continue;
            loops = loops || is_whole;
            extents = arena_printf(p->arena, "%s%s%s", extents, separator, d[at].extent);
            declared = arena_printf(p->arena, "%s%s%s", declared, separator, d[at].declared);
            owned = arena_printf(p->arena, "%s%s%s", owned, separator, d[at].owned);
            indices = arena_printf(p->arena, "%s%s%s", indices, separator, d[at].index);
            separator = ", ";
        }
        output out = {0};
        out.name = name;
        out.text = arena_printf(p->arena, "%s%s: %s[%s]", update ? "update " : "", name, type, extents);
        out.owned_first = arena_printf(p->arena, "%s[%s]", name, declared);
        out.owned = arena_printf(p->arena, "%s[%s]", name, owned);
        /* An update array is read at its own cell before the store. */
        out.store = arena_printf(p->arena, update ? "%s[%s] = %s[%s] * 0.5 + %%0" : "%s[%s] = %s", name, indices,
                                 update ? name : stored(p, type), indices);
        VEC_PUSH(p->arena, p->outputs, out);
        (void)loops;
    }
}

/* ---- phases ---- */

static const char *empty_of(value_type t, const char *operator) {
    if (t == VALUE_I32)
        return "0";
    return !strcmp(operator, "max=") ? "-inf" : !strcmp(operator, "min=") ? "inf" : "0";
}

/* A loop range over a new dimension or one that a task range has too. Returns its bit; *predicate "" or " where ...". */
static unsigned open_loop(program *p, const char *name, const char *symbol, unsigned scope, const char **header,
                          unsigned *predicate_axes) {
    const char *extent = symbol;
    int same = -1;
    for (int r = 0; r < p->ranges.count && same < 0; r++)
        if (scope >> r & 1 && !p->ranges.at[r].is_static && CHANCE(18))
            same = r;
    if (same >= 0)
        extent = p->ranges.at[same].extent;
    const char *size = CHANCE(75) ? arena_printf(p->arena, "B%s", name) : CHANCE(50) ? "8" : "5";
    int at = add_range(p, name, extent, size, false);
    const char *predicate = "";
    *predicate_axes = 0;
    const char *k = p->ranges.at[at].name;
    if (same >= 0 && CHANCE(70)) {
        const char *i = p->ranges.at[same].name;
        *predicate_axes = 1u << same;
        switch (BETWEEN(0, 4)) {
        case 0: predicate = arena_printf(p->arena, " where %s <= %s", k, i); break;
        case 1: predicate = arena_printf(p->arena, " where %s > %s", k, i); break;
        case 2: predicate = arena_printf(p->arena, " where %s < %s or %s == %s + 1", k, i, k, i); break;
        case 3: predicate = arena_printf(p->arena, " where %s >= %s - 2 and %s <= %s + 2", k, i, k, i); break;
        default: predicate = arena_printf(p->arena, " where %s + 2 * %s < 20", k, i); break;
        }
    } else if (CHANCE(30)) {
        switch (BETWEEN(0, 3)) {
        case 0: {
            argument a;
            a.name = fresh(p, "len");
            a.text = arena_printf(p->arena, "%s: 0..%s", a.name, extent);
            VEC_PUSH(p->arena, p->arguments, a);
            predicate = arena_printf(p->arena, " where %s < %s", k, a.name);
            break;
        }
        case 1: predicate = arena_printf(p->arena, " where %s >= 3", k); break;
        case 2: predicate = arena_printf(p->arena, " where %s < 5 or %s >= 9", k, k); break;
        default: predicate = arena_printf(p->arena, " where 2 <= %s and %s < %s - 1", k, k, extent); break;
        }
    }
    *header = arena_printf(p->arena, "for %s: %s in %s%s", k, size, extent, predicate);
    return 1u << at;
}

static void add_lets(program *p, line *body, unsigned scope, int most) {
    for (int n = BETWEEN(0, most); n > 0; n--) {
        value_type type = CHANCE(80) ? VALUE_F32 : CHANCE(60) ? VALUE_I32 : VALUE_BOOL;
        node *v = generate_value(p, type, scope, BETWEEN(1, 3));
        const char *name = fresh(p, "t");
        push_line(p, body, make_line(p, false, arena_printf(p->arena, "%s = %%0", name), 1, v));
        add_name(p, name, type, v->axes);
    }
}

static const char *declared_type(program *p, const char *type, unsigned axes) {
    return axes ? arena_printf(p->arena, "%s[%s]", type, axes_text(p, axes, false)) : type;
}

/* The value of `@` with result axes exactly `axes`, contracting `k`. */
static node *product(program *p, unsigned axes, unsigned k, const char *type) {
    unsigned left = 0, right = 0;
    for (int r = 0; r < p->ranges.count; r++)
        if (axes >> r & 1) {
            int side = BETWEEN(0, 9);
            if (side < 5)
                left |= 1u << r;
            if (side >= 4)
                right |= 1u << r;
        }
    node *x = generate_operand(p, type, left | k), *y = generate_operand(p, type, right | k);
    node *n = make_node(p, VALUE_F32, 0, "%0 @ %1", 2, x, y);
    n->axes = axes;
    return n;
}

static const char *product_type(program *p) {
    static const char *const types[] = {"f16", "f16", "bf16", "f32", "f32", "e4m3", "e5m2"};
    return types[BETWEEN(0, 6)];
}

/* `acc: f32[..] = 0  for k in K { acc += .. }`, one to three accumulators, finishing with names in scope. */
static void reduction_phase(program *p, unsigned task) {
    const char *header;
    unsigned must, k = open_loop(p, fresh(p, "k"), arena_printf(p->arena, "K%d", p->counter), task, &header, &must);
    line *loop = make_line(p, true, header, 0);
    int outer = p->names.count, accumulators = BETWEEN(1, 2);
    struct {
        const char *name;
        value_type type;
        unsigned axes;
    } made[3];
    line *updates[3];
    for (int a = 0; a < accumulators; a++) {
        unsigned axes = random_subset(p, task, count_bits(task) > 2 ? 55 : 80) | must;
        const char *name = fresh(p, "acc");
        value_type type = VALUE_F32;
        const char *operator= "+=", *element = "f32";
        int kind = BETWEEN(0, 99);
        node *v;
        if (kind < 40) {
            v = product(p, axes, k, product_type(p));
            if (CHANCE(15)) {
                node *scale = generate_value(p, VALUE_F32, axes, 1);
                v = make_node(p, VALUE_F32, 0, "%0 * (%1)", 2, scale, v);
            }
        } else if (kind < 50) {
            type = VALUE_I32;
            element = "i32";
            v = product(p, axes, k, "i8");
        } else {
            if (CHANCE(25)) {
                type = VALUE_I32;
                element = "i32";
            }
            const char *how = "sum";
            if (CHANCE(45)) {
                how = CHANCE(50) ? "max" : "min";
                operator= arena_printf(p->arena, "%s=", how);
            }
            node *x = generate_value(p, type, axes | k, BETWEEN(1, 3));
            v = make_node(p, type, 0, arena_printf(p->arena, "%s[%s](%%0)", how, axes_text(p, k, false)), 1, x);
            if (!(x->axes & k)) /* a reduction needs its range in the value */
                v->part[0] = make_node(p, type, 0, "(%0 + %1)", 2, x, generate_load(p, type, k, k));
            v->axes = axes;
        }
        push_line(
            p, NULL,
            make_line(p, false,
                      arena_printf(p->arena, "%s: %s = %s", name, declared_type(p, element, axes), empty_of(type, operator)), 0));
        updates[a] = make_line(p, false, arena_printf(p->arena, "%s %s %%0", name, operator), 1, v);
        made[a].name = name;
        made[a].type = type;
        made[a].axes = axes;
    }
    for (int a = 0; a < accumulators; a++)
        VEC_PUSH(p->arena, loop->body, updates[a]);
    push_line(p, NULL, loop);
    p->names.count = outer;
    for (int a = 0; a < accumulators; a++)
        add_name(p, made[a].name, made[a].type, made[a].axes);
}

/* The same with lets inside the loop that several updates share. */
static void shared_lets_phase(program *p, unsigned task) {
    const char *header;
    unsigned must, k = open_loop(p, fresh(p, "k"), arena_printf(p->arena, "K%d", p->counter), task, &header, &must);
    unsigned axes = random_subset(p, task, count_bits(task) > 2 ? 45 : 75) | must;
    line *loop = make_line(p, true, header, 0);
    int outer = p->names.count;
    const char *t = fresh(p, "t"), *sum = fresh(p, "sum"), *high = fresh(p, "high");
    node *x = make_node(p, VALUE_F32, 0, "%0 + %1", 2, generate_load(p, VALUE_F32, axes | k, axes | k),
                        generate_value(p, VALUE_F32, axes | k, 2));
    push_line(p, NULL, make_line(p, false, arena_printf(p->arena, "%s: %s = 0", sum, declared_type(p, "f32", axes)), 0));
    push_line(p, NULL, make_line(p, false, arena_printf(p->arena, "%s: %s = -inf", high, declared_type(p, "f32", axes)), 0));
    VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s = %%0", t), 1, x));
    add_name(p, t, VALUE_F32, axes | k);
    add_lets(p, loop, axes | k, 1);
    const char *kn = axes_text(p, k, false);
    VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s += sum[%s](%s * %s)", sum, kn, t, t), 0));
    VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s max= max[%s](%s)", high, kn, t), 0));
    push_line(p, NULL, loop);
    p->names.count = outer;
    add_name(p, sum, VALUE_F32, axes);
    add_name(p, high, VALUE_F32, axes);
    if (CHANCE(50)) { /* a mean over the dimension, NaN when it is empty */
        const char *mean = fresh(p, "mean");
        int at = 0;
        while (!(k >> at & 1))
            at++;
        push_line(p, NULL, make_line(p, false, arena_printf(p->arena, "%s = %s / %s", mean, sum, p->ranges.at[at].extent), 0));
        add_name(p, mean, VALUE_F32, axes);
    }
}

/* A hidden layer computed tile by tile inside the loop that consumes it. */
static void nested_phase(program *p, unsigned task) {
    const char *outer_header, *inner_header;
    unsigned must, must_inner,
        k = open_loop(p, fresh(p, "k"), arena_printf(p->arena, "K%d", p->counter), task, &outer_header, &must);
    unsigned axes = random_subset(p, task, 50) | must;
    unsigned kept = random_subset(p, axes, 60) | must;
    int outer = p->names.count;
    line *loop = make_line(p, true, outer_header, 0);
    unsigned l = open_loop(p, fresh(p, "l"), arena_printf(p->arena, "L%d", p->counter), 0, &inner_header, &must_inner);
    line *inner = make_line(p, true, inner_header, 0);
    const char *hidden = fresh(p, "hidden"), *acc = fresh(p, "acc"), *u = fresh(p, "u");
    push_line(p, NULL, make_line(p, false, arena_printf(p->arena, "%s: %s = 0", acc, declared_type(p, "f32", axes)), 0));
    VEC_PUSH(p->arena, loop->body,
             make_line(p, false, arena_printf(p->arena, "%s: %s = 0", hidden, declared_type(p, "f32", kept | k)), 0));
    VEC_PUSH(p->arena, inner->body,
             make_line(p, false, arena_printf(p->arena, "%s += %%0", hidden), 1, product(p, kept | k, l, product_type(p))));
    VEC_PUSH(p->arena, loop->body, inner);
    VEC_PUSH(p->arena, loop->body,
             make_line(p, false, arena_printf(p->arena, CHANCE(50) ? "%s = tanh(%s)" : "%s = max(%s, 0)", u, hidden), 0));
    if (CHANCE(60)) {
        const char *type = CHANCE(50) ? "f16" : "bf16";
        node *w = generate_operand(p, type, (axes & ~kept) | k);
        VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s += %s(%s) @ %%0", acc, type, u), 1, w));
    } else {
        node *w = generate_load(p, VALUE_F32, (axes & ~kept) | k, axes | k);
        VEC_PUSH(p->arena, loop->body,
                 make_line(p, false, arena_printf(p->arena, "%s += sum[%s](%s * %%0)", acc, axes_text(p, k, false), u), 1, w));
    }
    push_line(p, NULL, loop);
    p->names.count = outer;
    add_name(p, acc, VALUE_F32, axes);
}

static void need_combine(program *p, unsigned bit, const char *text) {
    if (!(p->prelude_made & bit))
        VEC_PUSH(p->arena, p->prelude, text);
    p->prelude_made |= bit;
}

/* A combine state over a loop: softmax-weighted sums, extremes with their index, moments. */
static void combine_phase(program *p, unsigned task) {
    const char *header;
    unsigned must, k = open_loop(p, fresh(p, "k"), arena_printf(p->arena, "K%d", p->counter), task, &header, &must);
    unsigned axes = random_subset(p, task, 55) | must;
    if (!axes)
        axes = task & (~task + 1);
    int outer = p->names.count, kind = BETWEEN(0, 3);
    line *loop = make_line(p, true, header, 0);
    const char *state = fresh(p, "state"), *s = fresh(p, "s"), *kn = axes_text(p, k, false), *an = axes_text(p, axes, false);
    node *x = make_node(p, VALUE_F32, 0, "%0 + %1", 2, generate_load(p, VALUE_F32, axes | k, axes | k),
                        generate_value(p, VALUE_F32, axes | k, 1));
    if (kind == 0) {
        need_combine(p, 8,
                     "combine softsum(m, l, o) {\n    empty = (-inf, 0, 0)\n"
                     "    join(a, b) = (max(a.m, b.m), a.l * rescale(a.m, b.m) + b.l * rescale(b.m, a.m),\n"
                     "                  a.o * rescale(a.m, b.m) + b.o * rescale(b.m, a.m))\n}\n"
                     "fn rescale(mine, other) = select(mine >= other, 1, exp(mine - other))\n");
        unsigned extra = random_subset(p, task & ~axes, 50);
        push_line(p, NULL,
                  make_line(p, false,
                            arena_printf(p->arena, "%s: softsum(f32[%s], f32[%s], f32[%s])", state, an, an,
                                         axes_text(p, axes | extra, false)),
                            0));
        VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s = %%0", s), 1, x));
        const char *m = fresh(p, "m"), *e = fresh(p, "p");
        VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s = max[%s](%s)", m, kn, s), 0));
        VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s = exp(%s - %s)", e, s, m), 0));
        if (CHANCE(50)) {
            node *v = generate_operand(p, "f16", k | extra);
            VEC_PUSH(
                p->arena, loop->body,
                make_line(p, false, arena_printf(p->arena, "%s <- (%s, sum[%s](%s), f16(%s) @ %%0)", state, m, kn, e, e), 1, v));
        } else {
            node *v = generate_load(p, VALUE_F32, k | extra, axes | extra | k);
            VEC_PUSH(p->arena, loop->body,
                     make_line(p, false,
                               arena_printf(p->arena, "%s <- (%s, sum[%s](%s), sum[%s](%s * %%0))", state, m, kn, e, kn, e), 1,
                               v));
        }
        push_line(p, NULL, loop);
        p->names.count = outer;
        add_name(p, arena_printf(p->arena, "%s.o / %s.l", state, state), VALUE_F32, axes | extra);
        p->names.at[p->names.count - 1]->format = arena_printf(p->arena, "(%s.o / %s.l)", state, state);
        add_name(p, arena_printf(p->arena, "(%s.m + log(%s.l))", state, state), VALUE_F32, axes);
        return;
    }
    VEC_PUSH(p->arena, loop->body, make_line(p, false, arena_printf(p->arena, "%s = %%0", s), 1, x));
    if (kind == 1) {
        need_combine(p, 16,
                     "combine best(v, n) {\n    empty = (-inf, 0)\n"
                     "    join(a, b) = (max(a.v, b.v), select(a.v > b.v, a.n, select(b.v > a.v, b.n, min(a.n, b.n))))\n}\n");
        push_line(p, NULL, make_line(p, false, arena_printf(p->arena, "%s: best(f32[%s], i32[%s])", state, an, an), 0));
        VEC_PUSH(p->arena, loop->body,
                 make_line(p, false, arena_printf(p->arena, "%s <- (max[%s](%s), argmax[%s](%s))", state, kn, s, kn, s), 0));
    } else if (kind == 2) {
        need_combine(
            p, 32,
            "combine least(v, n, s) {\n    empty = (inf, 0, 0)\n"
            "    join(a, b) = (min(a.v, b.v), select(a.v < b.v, a.n, select(b.v < a.v, b.n, min(a.n, b.n))), a.s + b.s)\n}\n");
        push_line(p, NULL,
                  make_line(p, false, arena_printf(p->arena, "%s: least(f32[%s], i32[%s], f32[%s])", state, an, an, an), 0));
        VEC_PUSH(p->arena, loop->body,
                 make_line(p, false,
                           arena_printf(p->arena, "%s <- (min[%s](%s), argmin[%s](%s), sum[%s](%s))", state, kn, s, kn, s, kn, s),
                           0));
    } else {
        need_combine(p, 64,
                     "combine moments(n, s, q, m) {\n    empty = (0, 0, 0, -inf)\n"
                     "    join(a, b) = (a.n + b.n, a.s + b.s, a.q + b.q, max(a.m, b.m))\n}\n");
        push_line(p, NULL,
                  make_line(p, false,
                            arena_printf(p->arena, "%s: moments(f32[%s], f32[%s], f32[%s], f32[%s])", state, an, an, an, an), 0));
        VEC_PUSH(
            p->arena, loop->body,
            make_line(p, false,
                      arena_printf(p->arena, "%s <- (sum[%s](select(%s > 0, 1, 0)), sum[%s](%s), sum[%s](%s * %s), max[%s](%s))",
                                   state, kn, s, kn, s, kn, s, s, kn, s),
                      0));
    }
    push_line(p, NULL, loop);
    p->names.count = outer;
    if (kind == 3) {
        add_name(p, arena_printf(p->arena, "(%s.q - %s.s * %s.s / (%s.n + 1))", state, state, state, state), VALUE_F32, axes);
        add_name(p, arena_printf(p->arena, "%s.m", state), VALUE_F32, axes);
    } else {
        add_name(p, arena_printf(p->arena, "%s.v", state), VALUE_F32, axes);
        add_name(p, arena_printf(p->arena, "%s.n", state), VALUE_I32, axes);
        if (kind == 2)
            add_name(p, arena_printf(p->arena, "%s.s", state), VALUE_F32, axes);
    }
}

/* Sums and products over a range that the task holds whole. */
static bool whole_contract_phase(program *p, unsigned task) {
    unsigned candidates = 0;
    for (int r = 0; r < p->ranges.count; r++)
        if (task >> r & 1 && p->ranges.at[r].is_static)
            candidates |= 1u << r;
    if (!candidates)
        return false;
    unsigned d = candidates & (~candidates + 1), axes = random_subset(p, task & ~d, 60);
    const char *name = fresh(p, "s");
    if (CHANCE(50)) {
        push_line(p, NULL,
                  make_line(p, false, arena_printf(p->arena, "%s: %s = %%0", name, declared_type(p, "f32", axes)), 1,
                            product(p, axes, d, product_type(p))));
    } else {
        node *x = make_node(p, VALUE_F32, 0, "%0 * %1", 2, generate_load(p, VALUE_F32, d, d),
                            generate_value(p, VALUE_F32, axes | d, 2));
        axes = x->axes & ~d;
        const char *how = CHANCE(60) ? "sum" : CHANCE(50) ? "max" : "min";
        push_line(p, NULL,
                  make_line(p, false, arena_printf(p->arena, "%s = %s[%s](%%0)", name, how, axes_text(p, d, false)), 1, x));
    }
    add_name(p, name, VALUE_F32, axes);
    return true;
}

/* v and the name together, in v's type. */
static node *use_name(program *p, node *v, node *name) {
    name->used = true;
    if (v->type == VALUE_F32)
        return make_node(p, v->type, 0,
                         name->type == VALUE_F32   ? "(%0 + %1)"
                         : name->type == VALUE_I32 ? "(%0 - f32(%1))"
                                                   : "select(%1, %0, 2)",
                         2, v, name);
    if (v->type == VALUE_I32)
        return make_node(p, v->type, 0,
                         name->type == VALUE_F32   ? "(%0 + i32(%1))"
                         : name->type == VALUE_I32 ? "(%0 + %1)"
                                                   : "select(%1, %0, -%0)",
                         2, v, name);
    return make_node(p, v->type, 0,
                     name->type == VALUE_F32   ? "(%0 and %1 > 0.5)"
                     : name->type == VALUE_I32 ? "(%0 or %1 <= 3)"
                                               : "(%0 or %1)",
                     2, v, name);
}

static void store_outputs(program *p) {
    unsigned all = p->task_ranges | p->whole_ranges;
    line *loop = NULL;
    for (int o = 0; o < p->outputs.count; o++) {
        const output *out = &p->outputs.at[o];
        bool whole = p->whole_ranges && strstr(out->store, ", c]");
        whole = whole ||
                (p->whole_ranges && (strstr(out->store, "[c, ") || strstr(out->store, "[c]") || strstr(out->store, ", c, ")));
        const char *colon = strchr(out->text, ':') + 2;
        char type[16] = {0};
        for (int i = 0; i < 15 && isalnum((unsigned char)colon[i]); i++)
            type[i] = colon[i];
        unsigned scope = whole ? all : p->task_ranges;
        node *v = generate_value(p, value_of(type), scope, BETWEEN(1, 4));
        /* What was computed and not used yet goes into some output. */
        for (int n = p->names.count - 1; n >= 0 && !p->names.at[n]->used; n--)
            if (!(p->names.at[n]->axes & ~scope) && (o == p->outputs.count - 1 || CHANCE(60)))
                v = use_name(p, v, p->names.at[n]);
        line *store = make_line(p, false, out->store, 1, v);
        store->output = o + 1;
        if (whole) {
            if (!loop || CHANCE(50)) {
                loop = make_line(p, true, "for c: BC in C", 0);
                push_line(p, NULL, loop);
            }
            VEC_PUSH(p->arena, loop->body, store);
        } else {
            push_line(p, NULL, store);
        }
    }
}

static program *generate(uint64_t seed, int number, int attempt) {
    arena *a = arena_new();
    program *p = NEW(a, program);
    p->arena = a;
    p->random.state = seed * 0x9E3779B97F4A7C15u + (uint64_t)number * 0xD1B54A32D192ED03u + (uint64_t)attempt;
    p->name = arena_printf(a, "random_%d", number);
    make_outputs(p);
    int phases = BETWEEN(0, 3);
    for (int i = 0; i < phases; i++) {
        int kind = BETWEEN(0, 99);
        if (kind < 25)
            add_lets(p, NULL, p->task_ranges, 2);
        else if (kind < 55)
            reduction_phase(p, p->task_ranges);
        else if (kind < 65)
            shared_lets_phase(p, p->task_ranges);
        else if (kind < 75)
            nested_phase(p, p->task_ranges);
        else if (kind < 90 || !whole_contract_phase(p, p->task_ranges))
            combine_phase(p, p->task_ranges);
    }
    store_outputs(p);
    return p;
}

/* Whether some array's dimensions say what every range's extent is. */
static bool extents_are_bound(const program *p) {
    text_buffer b = {0};
    program_print(p, &b);
    bool bound = true;
    const char *end = strstr(text_get(&b), " {\n    for tile"), *begin = strstr(text_get(&b), "kernel ");
    for (int r = 0; r < p->ranges.count && bound && end; r++) {
        const char *name = p->ranges.at[r].extent;
        if (isdigit((unsigned char)*name))
            continue;
        bound = false;
        for (const char *at = begin; !bound && (at = strstr(at, name)) && at < end; at++)
            bound = !isalnum((unsigned char)at[-1]) && at[-1] != '.' && !isalnum((unsigned char)at[strlen(name)]);
    }
    text_free(&b);
    return bound;
}

program *program_new(uint64_t seed, int number) {
    for (int attempt = 0;; attempt++) {
        program *p = generate(seed, number, attempt);
        if (attempt == 20 || extents_are_bound(p))
            return p;
        program_free(p);
    }
}

void program_free(program *p) {
    arena_free(p->arena);
}
