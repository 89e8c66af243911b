/* Metal's attributes, kernels, host names and function constants. */
#define _GNU_SOURCE
#include "lift/metal.h"
#include "lift/module_text.h"
#include <stdlib.h>
#include <string.h>

bool metal_attribute(const tokens *t, int i, int *end) {
    if (!tokens_is(t, i, "[") || !tokens_is(t, i + 1, "[") || t->at[i].at + 1 != t->at[i + 1].at)
        return false;
    int close = tokens_match(t, i), inner = tokens_match(t, i + 1);
    if (close < 0 || inner != close - 1)
        return false;
    *end = close + 1;
    return true;
}

/* ---- integer constants ---------------------------------------------------------------------------------------------------------- */

typedef struct evaluation {
    const tokens *t;
    int at, end, depth;
    bool bad;
} evaluation;

static int64_t sum(evaluation *e, int level);

static int64_t primary(evaluation *e) {
    if (e->at >= e->end || ++e->depth > 64) {
        e->bad = true;
        return 0;
    }
    int i = e->at++;
    int64_t v = 0;
    if (tokens_is(e->t, i, "("))
        v = sum(e, 0), e->bad |= !tokens_is(e->t, e->at++, ")");
    else if (tokens_is(e->t, i, "-"))
        v = -(uint64_t)primary(e);
    else if (tokens_is(e->t, i, "+"))
        v = primary(e);
    else if (tokens_kind(e->t, i) == TOKEN_NUMBER && !memchr(e->t->at[i].at, '.', (size_t)e->t->at[i].length))
        v = strtoll(e->t->at[i].at, NULL, 0);
    else
        e->bad = true;
    e->depth--;
    return v;
}

/* Levels 0 + and -, 1 * / %, of what macros make indices with. */
static int64_t sum(evaluation *e, int level) {
    int64_t v = level == 1 ? primary(e) : sum(e, 1);
    while (e->at < e->end && !e->bad) {
        int i = e->at;
        bool add = tokens_is(e->t, i, "+"), subtract = tokens_is(e->t, i, "-"), times = tokens_is(e->t, i, "*"),
             over = tokens_is(e->t, i, "/"), rest = tokens_is(e->t, i, "%"), left = tokens_is(e->t, i, "<<");
        if (level == 0 ? !(add || subtract || left) : !(times || over || rest))
            break;
        e->at++;
        int64_t w = level == 1 ? primary(e) : sum(e, 1);
        if ((over || rest) && (w == 0 || w == -1)) {
            e->bad = true;
            break;
        }
        v = add        ? (int64_t)((uint64_t)v + (uint64_t)w)
            : subtract ? (int64_t)((uint64_t)v - (uint64_t)w)
            : times    ? (int64_t)((uint64_t)v * (uint64_t)w)
            : over     ? v / w
            : rest     ? v % w
                       : (int64_t)((uint64_t)v << (w & 63));
    }
    return v;
}

bool metal_integer(const tokens *t, int from, int to, int64_t *value) {
    evaluation e = {.t = t, .at = from, .end = to};
    *value = sum(&e, 0);
    return !e.bad && e.at == to;
}

/* ---- attributes ------------------------------------------------------------------------------------------------------------------ */

/* The attribute called `name` in from..to, at depth 0 but for the brackets themselves: the tokens between its parentheses. */
static bool find_attribute(const tokens *t, int from, int to, const char *name, int *open, int *close) {
    for (int i = from, end; i < to; i++) {
        if (!metal_attribute(t, i, &end))
            continue;
        for (int k = i + 2; k < end - 2; k++)
            if (tokens_is(t, k, name)) {
                *open = k + 1;
                *close = tokens_is(t, k + 1, "(") ? tokens_match(t, k + 1) : k + 1;
                return true;
            }
        i = end - 1;
    }
    return false;
}

/* "abc" "def" -> abcdef */
static const char *joined_strings(arena *a, const tokens *t, int from, int to) {
    text_buffer b = {0};
    for (int i = from; i < to; i++)
        if (tokens_kind(t, i) == TOKEN_STRING && t->at[i].length >= 2)
            text_add_bytes(&b, t->at[i].at + 1, (size_t)t->at[i].length - 2);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

/* "a=buffer(0);i=thread_position_in_grid;" */
static const char *parameter_note(metal *m, int open) {
    const tokens *t = m->t;
    arena *a = m->f->arena;
    text_buffer b = {0};
    for (int from = open + 1, close = tokens_match(t, open); from < close;) {
        int to = from, name = -1, end, attribute = -1;
        bool past_name = false;
        for (; to < close && !tokens_is(t, to, ","); to++) {
            if (metal_attribute(t, to, &end)) {
                if (attribute < 0 && !tokens_is(t, to + 2, "maybe_unused"))
                    attribute = to + 2;
                past_name = true;
                to = end - 1;
            } else if (tokens_is(t, to, "<")) {
                int behind = tokens_angle(t, to);
                to = behind > to ? behind - 1 : to;
            } else if (tokens_is(t, to, "=") || tokens_is(t, to, "["))
                past_name = true, to = tokens_match(t, to) > to ? tokens_match(t, to) : to;
            else if (tokens_match(t, to) > to)
                to = tokens_match(t, to);
            else if (tokens_kind(t, to) == TOKEN_NAME && !past_name)
                name = to;
        }
        if (!(to == from + 1 && tokens_is(t, from, "void")))
            text_add(&b, "%s=", name > from ? tokens_word(a, t, name) : "");
        if (attribute >= 0) {
            int64_t value;
            text_add(&b, "%s", tokens_word(a, t, attribute));
            if (tokens_is(t, attribute + 1, "(")) {
                int stop = tokens_match(t, attribute + 1);
                if (metal_integer(t, attribute + 2, stop, &value))
                    text_add(&b, "(%lld)", (long long)value);
                else
                    text_add(&b, "(%s)", tokens_text(a, t, attribute + 2, stop));
            }
        }
        text_add(&b, ";");
        from = to + 1;
    }
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

/* Vectors that the launch fills in come as clang's own vectors: as structs they would come in pieces. The struct is made at the body's beginning. */
static void native_builtins(metal *m, int arguments, int body) {
    static const char *const vectors[] = {"uint2", "uint3", "uint4",  "ushort2", "ushort3", "ushort4",
                                          "int2",  "int3",  "short2", "short3",  NULL};
    const tokens *t = m->t;
    arena *a = m->f->arena;
    text_buffer b = {0};
    for (int from = arguments + 1, close = tokens_match(t, arguments); from < close;) {
        int to = from, type = from, end, attribute = -1;
        for (; to < close && !tokens_is(t, to, ","); to++) {
            if (metal_attribute(t, to, &end)) {
                attribute = attribute < 0 ? to : attribute;
                to = end - 1;
            } else if (tokens_match(t, to) > to)
                to = tokens_match(t, to);
        }
        while (tokens_is(t, type, "const"))
            type++;
        if (tokens_is(t, type, "metal") && tokens_is(t, type + 1, "::"))
            type += 2;
        /* `uint3 name [[what]]`, or in an instantiation `uint3` alone */
        int stop = attribute < 0 ? to : attribute;
        bool named = tokens_kind(t, type + 1) == TOKEN_NAME && type + 2 == stop;
        if (tokens_named(t, type, vectors) && (named || type + 1 == stop)) {
            const char *word = tokens_word(a, t, type), *name = named ? tokens_word(a, t, type + 1) : "";
            edits_replace(&m->edits, from, stop, "metal::native_%s %s%s", word, name, named ? METAL_NATIVE_ENDING : "");
            if (named)
                text_add(&b, " metal::vec<%.*s, %c> %s(%s" METAL_NATIVE_ENDING ", metal::msl_raw());", (int)strlen(word) - 1,
                         word, word[strlen(word) - 1], name, name);
        }
        from = to + 1;
    }
    if (body >= 0 && b.length)
        edits_replace(&m->edits, body, body + 1, "{%s", b.text);
    text_free(&b);
}

/* ---- the list -------------------------------------------------------------------------------------------------------------------- */

/* `kernel` or [[kernel]] before the body or the arguments. */
static int kernel_mark(const tokens *t, const declaration *d) {
    int stop = d->arguments >= 0 ? d->arguments : d->to;
    for (int i = d->from; i < stop; i++) {
        if (tokens_is(t, i, "kernel"))
            return i;
        if (tokens_is(t, i, "<") || (tokens_match(t, i) > i && !tokens_is(t, i, "["))) {
            int end = tokens_is(t, i, "<") ? tokens_angle(t, i) : tokens_match(t, i) + 1;
            i = end > i ? end - 1 : i;
        }
    }
    return -1;
}

static bool is_instantiation(const tokens *t, const declaration *d) {
    return tokens_is(t, d->head, "template") && !tokens_is(t, d->head + 1, "<");
}

/* What an instantiation is called in the source: f<float, 4>. The name is before its last template arguments. */
static const char *source_name(arena *a, const tokens *t, const declaration *d) {
    int end = d->arguments >= 0 ? d->arguments : d->to - 1;
    int open = tokens_is(t, end - 1, ">") ? tokens_angle_back(t, end - 1) : end;
    return open > d->head ? tokens_text(a, t, open - 1, end) : "";
}

/* The definition that an instantiation is of. */
static const declaration *definition_of(const metal *m, const declaration *d) {
    const char *name = source_name(m->f->arena, m->t, d);
    size_t n = strcspn(name, "< ");
    for (int k = 0; k < m->all.count; k++) {
        const declaration *x = &m->all.at[k];
        if (x->body >= 0 && x->name >= 0 && x->head > x->from && (size_t)m->t->at[x->name].length == n &&
            !memcmp(m->t->at[x->name].at, name, n))
            return x;
    }
    return NULL;
}

void metal_list(metal *m) {
    const tokens *t = m->t;
    arena *a = m->f->arena;
    declarations_read(a, t, &m->all);
    for (int k = 0; k < m->all.count; k++) {
        const declaration *d = &m->all.at[k];
        int open, close, mark = kernel_mark(t, d);
        bool named = find_attribute(t, d->from, d->body >= 0 ? d->body : d->to, "host_name", &open, &close);
        metal_kernel x = {.declaration = k, .instantiation = is_instantiation(t, d)};
        if (x.instantiation ? !named && mark < 0 : mark < 0 || d->head > d->from || d->body < 0)
            continue;
        x.host_name = named             ? joined_strings(a, t, open, close)
                      : x.instantiation ? source_name(a, t, d)
                                        : tokens_word(a, t, d->name);
        VEC_PUSH(a, m->kernels, x);
        const declaration *says = x.instantiation ? definition_of(m, d) : d;
        if (says && front_wants(m->f, x.host_name))
            front_keep_signature(m->f, t, says, x.host_name);
    }
}

/* ---- rewriting ------------------------------------------------------------------------------------------------------------------- */

static const source_constant *constant_given(const metal *m, const char *name, bool indexed, int64_t index) {
    for (int i = 0; i < m->f->options->constant_count; i++) {
        const source_constant *c = &m->f->options->constants[i];
        char *end;
        long long n = strtoll(c->name, &end, 10);
        if (!strcmp(c->name, name) || (indexed && *c->name && !*end && n == index))
            return c;
    }
    return NULL;
}

/* `constant short FC [[function_constant(600)]];`: the value when it was given, else an external symbol whose name carries the index. */
static bool function_constant(metal *m, const declaration *d) {
    const tokens *t = m->t;
    arena *a = m->f->arena;
    int open, close, end, name = -1, type = -1;
    if (d->body >= 0 || d->arguments >= 0 || d->is_class ||
        !find_attribute(t, d->from, d->to, "function_constant", &open, &close))
        return false;
    for (int i = d->from; i < d->to && name < 0; i++)
        if (tokens_kind(t, i) == TOKEN_NAME && metal_attribute(t, i + 1, &end))
            name = i;
    for (int i = d->from; i < name && type < 0; i++)
        if (!tokens_is(t, i, "constant") && !tokens_is(t, i, "static") && !tokens_is(t, i, "const") &&
            !tokens_is(t, i, "constexpr"))
            type = i;
    if (name < 0 || type < 0)
        return false;
    int64_t index = 0;
    bool indexed = metal_integer(t, open + 1, close, &index);
    const char *word = tokens_word(a, t, name), *type_text = tokens_text(a, t, type, name);
    const source_constant *given = constant_given(m, word, indexed, index);
    if (given)
        edits_replace(&m->edits, d->from, d->to, "constant %s %s = %s; constant bool %s_msl_defined = true;", type_text, word,
                      given->value, word);
    else {
        VEC_PUSH(a, m->f->constants, word);
        const char *number = indexed ? arena_printf(a, "%lld", (long long)index) : tokens_text(a, t, open + 1, close);
        edits_replace(&m->edits, d->from, d->to,
                      "extern constant %s %s __asm__(\"msl.function_constant.%s.%s\"); extern constant bool %s_msl_defined "
                      "__asm__(\"msl.function_constant_defined.%s.%s\");",
                      type_text, word, number, word, word, number, word);
    }
    return true;
}

/* `constant float scale = K * 2;` with a K that has no value is such a symbol too; what a kernel does not mention then does not matter to it. */
static bool derived_constant(metal *m, const declaration *d) {
    const tokens *t = m->t;
    arena *a = m->f->arena;
    if (d->value < 0 || d->arguments >= 0 || d->is_class || d->body >= 0 || tokens_kind(t, d->value - 1) != TOKEN_NAME)
        return false;
    bool derived = false;
    for (int i = 0; i < m->f->constants.count && !derived; i++)
        derived = tokens_have(t, d->value, d->to, m->f->constants.at[i]) ||
                  tokens_have(t, d->value, d->to, arena_printf(a, "%s_msl_defined", m->f->constants.at[i]));
    int type = d->head;
    while (tokens_is(t, type, "constant") || tokens_is(t, type, "static") || tokens_is(t, type, "const") ||
           tokens_is(t, type, "constexpr"))
        type++;
    if (!derived || type >= d->value - 1)
        return false;
    const char *word = tokens_word(a, t, d->value - 1);
    edits_replace(&m->edits, d->from, d->to, "extern constant %s %s __asm__(\"msl.function_constant.derived.%s\");",
                  tokens_text(a, t, type, d->value - 1), word, word);
    VEC_PUSH(a, m->f->constants, word);
    return true;
}

/* `constexpr constant T X<...>::name;`: redundant since C++17, and refused here. */
static bool redundant_definition(const tokens *t, const declaration *d) {
    if (d->arguments >= 0 || d->value >= 0 || d->is_class || d->body >= 0 || is_instantiation(t, d) ||
        !tokens_is(t, d->to - 1, ";"))
        return false;
    int i = d->to - 2;
    while (tokens_is(t, i, "]"))
        i = tokens_match(t, i) - 1;
    return i > d->head && tokens_kind(t, i) == TOKEN_NAME && tokens_is(t, i - 1, "::") &&
           (tokens_have(t, d->head, i, "constexpr") || tokens_have(t, d->head, i, "constant"));
}

static int64_t attribute_value(const metal *m, const declaration *d, const char *name) {
    int open, close;
    int64_t value = 0;
    bool found = find_attribute(m->t, d->from, d->body >= 0 ? d->body : d->to, name, &open, &close);
    return found && metal_integer(m->t, open + 1, close, &value) ? value : 0;
}

/* Annotations in place of `kernel` (or before the result's type). */
static void mark_kernel(metal *m, const declaration *d, const char *host_name) {
    const tokens *t = m->t;
    int mark = kernel_mark(t, d), end;
    text_buffer b = {0};
    bool instantiation = is_instantiation(t, d);
    if (host_name)
        text_add(&b, "__attribute__((annotate(\"" METAL_HOST_NAME_MARK "%s\"))) ", host_name);
    if (!instantiation && d->arguments >= 0)
        text_add(&b, "__attribute__((annotate(\"" METAL_PARAMETERS_MARK "%s\"))) ", parameter_note(m, d->arguments));
    int64_t most = attribute_value(m, d, "max_total_threads_per_threadgroup");
    if (most > 0)
        text_add(&b, "__attribute__((annotate(\"" METAL_THREADS_MARK "%lld\"))) ", (long long)most);
    int at = instantiation ? d->head + 1 : d->head;
    while (metal_attribute(t, at, &end))
        at = end;
    edits_replace(&m->edits, at, at, "%s", text_get(&b));
    if (d->arguments >= 0)
        native_builtins(m, d->arguments, d->body);
    if (mark >= 0 && !(tokens_is(t, mark - 1, "[") || tokens_is(t, mark + 1, "]")))
        edits_replace(&m->edits, mark, mark + 1, "%s", "");
    text_free(&b);
}

/* Written-out function types that instantiations go by: `typedef void (copy_t)(..., uint3 g [[...]]); template [[...]] kernel copy_t copy<float>;` */
static void function_types(metal *m) {
    const tokens *t = m->t;
    bool *seen = NEW_ARRAY(m->f->arena, bool, m->all.count + 1);
    for (int k = 0; k < m->kernels.count; k++) {
        const declaration *d = &m->all.at[m->kernels.at[k].declaration];
        int end = d->to - 1, open = m->kernels.at[k].instantiation && d->arguments < 0 && tokens_is(t, end - 1, ">")
                                        ? tokens_angle_back(t, end - 1)
                                        : -1;
        int type = open - 2; /* copy_t in `copy_t copy<float>` */
        if (type <= d->head || tokens_kind(t, type) != TOKEN_NAME)
            continue;
        for (int x = 0; x < m->all.count; x++) {
            const declaration *y = &m->all.at[x];
            bool alias = tokens_is(t, y->head, "using");
            if (seen[x] || (!alias && !tokens_is(t, y->head, "typedef")))
                continue;
            for (int i = y->head + 1; i < y->to; i++) {
                if (!tokens_same(t, i, type))
                    continue;
                int arguments = tokens_is(t, i + 1, ")") ? i + 2 : i + 1;
                while (alias && arguments < y->to && !tokens_is(t, arguments, "("))
                    arguments++;
                if (tokens_is(t, arguments, "(") && tokens_match(t, arguments) > arguments) {
                    seen[x] = true;
                    native_builtins(m, arguments, -1);
                }
                break;
            }
        }
    }
}

const char *metal_kernels(metal *m, size_t *length) {
    const tokens *t = m->t;
    m->edits = (edits){.arena = m->f->arena, .tokens = t};
    function_types(m);
    bool *handled = NEW_ARRAY(m->f->arena, bool, m->all.count + 1);
    for (int i = 0; i < m->kernels.count; i++) {
        const metal_kernel *k = &m->kernels.at[i];
        const declaration *d = &m->all.at[k->declaration];
        handled[k->declaration] = true;
        if (!front_wants(m->f, k->host_name))
            edits_replace(&m->edits, d->from, d->to, "%s", "");
        else
            mark_kernel(m, d, k->host_name);
    }
    for (int i = 0; i < m->all.count; i++) {
        const declaration *d = &m->all.at[i];
        if (handled[i])
            continue;
        if (redundant_definition(t, d))
            edits_replace(&m->edits, d->from, d->to, "%s", "");
        else if (!function_constant(m, d) && !derived_constant(m, d) && kernel_mark(t, d) >= 0)
            mark_kernel(m, d, NULL); /* a kernel template */
    }
    for (int i = 0, end; i < t->count; i++)
        if (metal_attribute(t, i, &end)) {
            if (!tokens_is(t, i + 2, "clang") && !tokens_is(t, i + 2, "gnu"))
                edits_replace(&m->edits, i, end, "%s", "");
            i = end - 1;
        }
    return edits_apply(&m->edits, length);
}
