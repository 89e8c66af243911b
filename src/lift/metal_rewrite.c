/* Metal's expressions, threadgroup variables and address spaces in C++ for OpenCL. What the mode lacks, and what is done about it, is said at each. */
#define _GNU_SOURCE
#include "lift/metal.h"
#include <string.h>

typedef struct rewriter {
    arena *arena;
    const tokens *t;
    edits e;
    VEC(int) classes; /* names of classes */
    int variables;    /* threadgroup variables so far */
} rewriter;

static const char *const qualifier_ends[] = {"noexcept", ":", "{", ";", NULL};
static const char *const member_marks[] = {".", "->", "::", NULL};
static const char *const statement_ends[] = {";", "{", "}", NULL};
static const char *const after_variable[] = {"[", ",", ";", "=", NULL};
static const char *const specifiers[] = {"static", "inline", "const", "constexpr", "constant", "extern", NULL};
static const char *const scalars[] = {"bool",    "half",     "float",    "bfloat",   "char",   "short",   "int",      "long",
                                      "uchar",   "ushort",   "uint",     "ulong",    "int8_t", "int16_t", "int32_t",  "int64_t",
                                      "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "signed",  "unsigned", NULL};
static const char *const small_floats[] = {"half", "bfloat", "bf16", "bfloat16_t", "float16_t", NULL};

/* Behind the type at i: [typename] a::b<...>::c; -1 when there is none. */
static int behind_type(const tokens *t, int i) {
    if (tokens_is(t, i, "typename"))
        i++;
    while (tokens_is(t, i, "unsigned") || tokens_is(t, i, "signed"))
        if (tokens_kind(t, ++i) != TOKEN_NAME ||
            (!tokens_is(t, i, "int") && !tokens_is(t, i, "char") && !tokens_is(t, i, "short") && !tokens_is(t, i, "long")))
            return i;
    for (;;) {
        if (tokens_kind(t, i) != TOKEN_NAME)
            return -1;
        i++;
        if (tokens_is(t, i, "<")) {
            i = tokens_angle(t, i);
            if (i < 0)
                return -1;
        }
        if (!tokens_is(t, i, "::"))
            return i;
        i++;
    }
}

/* ---- threadgroup variables --------------------------------------------------------------------------------------------------------- */

/* Only kernels may have local variables there, and templates are none: `threadgroup T a[N], b;` becomes `auto &a = metal::msl_tg<T [N]>(1u); ...`,
 * which the shim makes a call that the reader knows. */
static int threadgroup_variables(rewriter *r, int i) {
    const tokens *t = r->t;
    int before = i - 1;
    while (tokens_is(t, before, "static") || (tokens_is(t, before, ")") && tokens_is(t, tokens_match(t, before) - 1, "alignas")))
        before = tokens_is(t, before, ")") ? tokens_match(t, before) - 2 : before - 1;
    if (before >= 0 && !tokens_named(t, before, statement_ends) && tokens_kind(t, before) != TOKEN_DIRECTIVE &&
        !tokens_is(t, before, ")"))
        return -1;
    int type = i + 1;
    while (tokens_is(t, type, "const") || tokens_is(t, type, "volatile"))
        type++;
    int name = behind_type(t, type), end = name;
    if (name < 0 || tokens_kind(t, name) != TOKEN_NAME || !tokens_named(t, name + 1, after_variable))
        return -1;
    while (!tokens_is(t, end, ";")) {
        if (end >= t->count || tokens_is(t, end, "(") || tokens_is(t, end, "}"))
            return -1;
        end = tokens_match(t, end) > end ? tokens_match(t, end) + 1 : end + 1;
    }
    const char *type_text = tokens_text(r->arena, t, type, name);
    text_buffer b = {0};
    for (int at = name; at < end;) {
        int dims = at + 1, stop = dims;
        while (tokens_is(t, stop, "["))
            stop = tokens_match(t, stop) + 1;
        text_add(&b, "auto &%s = metal::msl_tg<%s%s>(%uu);", tokens_word(r->arena, t, at), type_text,
                 tokens_text(r->arena, t, dims, stop), (unsigned)++r->variables);
        while (stop < end && !tokens_is(t, stop, ",")) /* an initialiser, which Metal ignores too */
            stop = tokens_match(t, stop) > stop ? tokens_match(t, stop) + 1 : stop + 1;
        at = stop + 1;
    }
    edits_replace(&r->e, before + 1, end + 1, "%s", text_get(&b));
    text_free(&b);
    return end;
}

/* ---- address spaces ---------------------------------------------------------------------------------------------------------------- */

/* Behind the arguments of a method: the ( of the arguments; -1 when i stands elsewhere. */
static int method_arguments(const tokens *t, int i) {
    int before = i - 1;
    if (tokens_is(t, before, "const"))
        before--;
    return tokens_is(t, before, ")") && tokens_named(t, i + 1, qualifier_ends) ? tokens_match(t, before) : -1;
}

/* The template head of the function that token i's parameter belongs to says `typename NAME`, or is that of a specialisation. */
static bool deduced(const tokens *t, int i, int name) {
    int k = i;
    while (k > 0 && !tokens_named(t, k, statement_ends))
        k--;
    for (; k < i; k++) {
        if (!tokens_is(t, k, "template") || !tokens_is(t, k + 1, "<"))
            continue;
        int end = tokens_angle(t, k + 1);
        if (end == k + 3)
            return true;
        for (int p = k + 2; p < end; p++)
            if ((tokens_is(t, p - 1, "typename") || tokens_is(t, p - 1, "class")) && tokens_same(t, p, name))
                return true;
    }
    return false;
}

/* `thread`: private. But a constructor makes its object anywhere, and a constant reference must take temporaries, which have no space. */
static void thread_space(rewriter *r, int i) {
    const tokens *t = r->t;
    int open = method_arguments(t, i);
    if (open >= 0) {
        bool conversion = false, constructor = false;
        for (int k = open - 1; k > open - 12 && k >= 0 && !tokens_named(t, k, statement_ends); k--)
            conversion |= tokens_is(t, k, "operator") && tokens_kind(t, k + 1) == TOKEN_NAME;
        for (int k = 0; k < r->classes.count && !constructor; k++)
            constructor = tokens_same(t, r->classes.at[k], open - 1);
        edits_replace(&r->e, constructor && !conversion && tokens_is(t, i - 1, "const") ? i - 1 : i, i + 1, "%s",
                      conversion || constructor ? "" : "__private");
        return;
    }
    bool constant_before = tokens_is(t, i - 1, "const"), constant_after = tokens_is(t, i + 1, "const");
    int type = i + 1 + constant_after, end = constant_before || constant_after ? behind_type(t, type) : -1;
    bool reference = end > 0 && tokens_is(t, end, "&") && !deduced(t, i, tokens_is(t, type, "typename") ? type + 1 : type);
    edits_replace(&r->e, i, i + 1, "%s", reference ? "" : "__private");
}

/* `constant`: its data is const. A constexpr value of a class loses the space, so that it can be copied. */
static void constant_space(rewriter *r, int i) {
    const tokens *t = r->t;
    if (method_arguments(t, i) >= 0) {
        edits_replace(&r->e, i, i + 1, "__constant");
        return;
    }
    int from = i, to = i + 1;
    bool constexpr_one = false;
    while (tokens_named(t, from - 1, specifiers))
        from--;
    while (tokens_named(t, to, specifiers))
        to++;
    for (int k = from; k < to; k++)
        constexpr_one |= tokens_is(t, k, "constexpr");
    int name = constexpr_one && !tokens_named(t, to, scalars) ? behind_type(t, to) : -1;
    if (name > 0 && tokens_kind(t, name) == TOKEN_NAME &&
        (tokens_is(t, name + 1, "=") || tokens_is(t, name + 1, "{") || tokens_is(t, name + 1, "<"))) {
        edits_replace(&r->e, i, i + 1, "%s", "");
        return;
    }
    bool already = tokens_is(t, i - 1, "const") || tokens_is(t, i + 1, "const");
    edits_replace(&r->e, i, i + 1, already ? "__constant" : "const __constant");
}

/* ---- expressions --------------------------------------------------------------------------------------------------------------------- */

/* a[i], p->x, s.x, *...: something in memory, whose type carries a space. (A value made of more than that may be taken as one: no harm.) */
static bool in_memory(const tokens *t, int from, int to) {
    while (tokens_is(t, from, "(") && tokens_match(t, from) == to - 1) {
        from++;
        to--;
    }
    if (tokens_is(t, from, "*"))
        return true;
    bool reaches = false;
    if (from >= to || tokens_kind(t, from) != TOKEN_NAME)
        return false;
    for (int i = from + 1; i < to; i++) {
        if (tokens_is(t, i, "["))
            i = tokens_match(t, i);
        else if ((tokens_is(t, i, ".") || tokens_is(t, i, "->")) && tokens_kind(t, i + 1) == TOKEN_NAME)
            i++;
        else
            return false;
        if (i < from)
            return false;
        reaches = true;
    }
    return reaches;
}

/* c ? a : b with a class's value in memory: both arms become values, since their spaces would differ. */
static void ternary(rewriter *r, int i) {
    const tokens *t = r->t;
    int j = i + 1, depth = 0;
    for (; j < t->count; j++) {
        if (tokens_match(t, j) > j)
            j = tokens_match(t, j);
        else if (tokens_is(t, j, "?"))
            depth++;
        else if (tokens_is(t, j, ":") && depth-- == 0)
            break;
        else if (tokens_is(t, j, ";") || tokens_is(t, j, ")") || tokens_is(t, j, "]") || tokens_is(t, j, "}"))
            return;
    }
    int k = j + 1;
    for (; k < t->count; k++) {
        if (tokens_match(t, k) > k)
            k = tokens_match(t, k);
        else if (tokens_is(t, k, ";") || tokens_is(t, k, ",") || tokens_is(t, k, ")") || tokens_is(t, k, "]") ||
                 tokens_is(t, k, "}") || tokens_is(t, k, ":") || tokens_is(t, k, "?"))
            break;
    }
    if (k >= t->count || tokens_is(t, k, "?") || j == i + 1 || k == j + 1 || tokens_is(t, k - 1, ">"))
        return; /* > closes template arguments: no values of classes there */
    /* A name beside an expression too: the result is a value then anyway. */
    bool name = j == i + 2 && tokens_kind(t, i + 1) == TOKEN_NAME, other = k == j + 2 && tokens_kind(t, j + 1) == TOKEN_NAME;
    if (name == other && !in_memory(t, i + 1, j) && !in_memory(t, j + 1, k))
        return;
    edits_replace(&r->e, i + 1, i + 1, "metal::msl_rv(");
    edits_replace(&r->e, j, j, ")");
    edits_replace(&r->e, j + 1, j + 1, "metal::msl_rv(");
    edits_replace(&r->e, k, k, ")");
}

/* Metal has no double, and suffixes of its own: 1.0 -> 1.0f, 1.0h -> ((half)1.0f), 1.0bf -> ((bfloat)1.0f). */
static void literal(rewriter *r, int i) {
    const token *n = &r->t->at[i];
    int length = n->length;
    if (length > 1 && n->at[0] == '0' && (n->at[1] | 32) == 'x')
        return;
    const char *type = NULL;
    if (length > 2 && !memcmp(n->at + length - 2, "bf", 2))
        type = "bfloat", length -= 2;
    else if ((n->at[length - 1] | 32) == 'h')
        type = "half", length--;
    bool fraction =
        memchr(n->at, '.', (size_t)length) || memchr(n->at, 'e', (size_t)length) || memchr(n->at, 'E', (size_t)length);
    bool bare = fraction && strchr("0123456789.", n->at[length - 1]);
    if (type)
        edits_replace(&r->e, i, i + 1, "((%s)%.*s%s)", type, length, n->at, bare ? "f" : "");
    else if (bare)
        edits_replace(&r->e, i, i + 1, "%.*sf", length, n->at);
}

/* static_cast and half(x) between half and bfloat have no conversion in clang: through the shim's own. */
static void conversion(rewriter *r, int i) {
    const tokens *t = r->t;
    if (tokens_is(t, i, "static_cast") && tokens_is(t, i + 1, "<")) {
        int end = tokens_angle(t, i + 1);
        if (end > 0 && !tokens_have(t, i, end, "*") && !tokens_have(t, i, end, "&"))
            edits_replace(&r->e, i, i + 1, "metal::msl_cast");
    } else if (tokens_named(t, i, small_floats) && tokens_is(t, i + 1, "(") && !tokens_is(t, i - 1, "operator") &&
               !tokens_named(t, i - 1, member_marks) && !tokens_is(t, i + 2, "*") && !tokens_is(t, i + 2, "&"))
        edits_replace(&r->e, i, i + 1, "metal::msl_cast<%s>", tokens_word(r->arena, t, i));
}

/* Function pointers become references: the mode gives what a pointer points to a space. */
static void function_pointers(rewriter *r, int i) {
    const tokens *t = r->t;
    int end = -1;
    if (tokens_is(t, i, "template") && tokens_is(t, i + 1, "<"))
        end = tokens_angle(t, i + 1);
    else if (tokens_is(t, i, "typedef") || tokens_is(t, i, "using")) {
        end = i;
        while (end < t->count && !tokens_is(t, end, ";") && !tokens_is(t, end, "{"))
            end++;
    }
    for (int k = i; k + 3 < end; k++)
        if (tokens_is(t, k, "(") && tokens_is(t, k + 1, "*") &&
            tokens_match(t, k) == k + 2 + (tokens_kind(t, k + 2) == TOKEN_NAME) && tokens_is(t, tokens_match(t, k) + 1, "("))
            edits_replace(&r->e, k + 1, k + 2, "&");
}

const char *metal_rewrite(arena *a, const char *text, size_t *length) {
    tokens t;
    tokens_read(a, text, *length, &t);
    rewriter r = {.arena = a, .t = &t, .e = {.arena = a, .tokens = &t}};
    for (int i = 0; i + 1 < t.count; i++)
        if ((tokens_is(&t, i, "struct") || tokens_is(&t, i, "class") || tokens_is(&t, i, "union")) &&
            tokens_kind(&t, i + 1) == TOKEN_NAME)
            VEC_PUSH(a, r.classes, i + 1);
    for (int i = 0; i < t.count; i++) {
        const token *k = &t.at[i];
        if (k->kind == TOKEN_DIRECTIVE) {
            if (memmem(k->at, (size_t)k->length, "pragma", 6) && memmem(k->at, (size_t)k->length, "unroll", 6))
                edits_replace(&r.e, i, i + 1, "%s", ""); /* every loop as written */
        } else if (k->kind == TOKEN_NUMBER)
            literal(&r, i);
        else if (tokens_is(&t, i, "?"))
            ternary(&r, i);
        else if (tokens_is(&t, i, "+=") && tokens_kind(&t, i - 1) == TOKEN_NAME && tokens_kind(&t, i + 1) == TOKEN_NAME &&
                 tokens_is(&t, i + 2, ";") && tokens_named(&t, i - 2, statement_ends))
            /* pointer += class with a conversion finds no operator */
            edits_replace(&r.e, i, i + 1, "= %s +", tokens_word(a, &t, i - 1));
        else if (k->kind != TOKEN_NAME || (i && tokens_named(&t, i - 1, member_marks)))
            continue;
        else if (tokens_is(&t, i, "threadgroup")) {
            int end = threadgroup_variables(&r, i);
            if (end >= 0)
                i = end;
            else
                edits_replace(&r.e, i, i + 1, "__local");
        } else if (tokens_is(&t, i, "device"))
            edits_replace(&r.e, i, i + 1, "__global");
        else if (tokens_is(&t, i, "thread"))
            thread_space(&r, i);
        else if (tokens_is(&t, i, "constant"))
            constant_space(&r, i);
        else if (tokens_is(&t, i, "coherent"))
            edits_replace(&r.e, i, tokens_is(&t, i + 1, "(") ? tokens_match(&t, i + 1) + 1 : i + 1, "%s", "");
        else if (tokens_is(&t, i, "template") || tokens_is(&t, i, "typedef") || tokens_is(&t, i, "using"))
            function_pointers(&r, i);
        else
            conversion(&r, i);
    }
    return edits_apply(&r.e, length);
}
