/* The launch contract: flags and sidecar files. */
#include "lift/contract.h"
#include "base/file.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *trimmed(arena *a, const char *text, size_t n) {
    while (n && isspace((unsigned char)*text)) {
        text++;
        n--;
    }
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return arena_strndup(a, text, n);
}

typedef VEC(const char *) text_list;

/* Parts between commas that stand in no parentheses. */
static void split(arena *a, const char *text, text_list *out) {
    int depth = 0;
    const char *from = text;
    for (const char *c = text;; c++) {
        depth += *c == '(' || *c == '[';
        depth -= *c == ')' || *c == ']';
        if (*c && !(*c == ',' && depth == 0))
            continue;
        VEC_PUSH(a, *out, trimmed(a, from, (size_t)(c - from)));
        if (!*c)
            return;
        from = c + 1;
    }
}

static bool wrong(diag_list *diags, source_span span, const char *key, const char *value, const char *want) {
    diag *g = diag_error(diags, "E1130", span, "%s `%s` is not understood", key, value);
    diag_note(diags, g, "%s", want);
    return false;
}

static bool whole(const char *text, int64_t *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && !*end;
}

/* What stands behind the word, where the text begins with it. */
static const char *after_word(arena *a, const char *text, const char *word, bool *given) {
    size_t n = strlen(word);
    *given = !strncmp(text, word, n) && (!text[n] || isspace((unsigned char)text[n]));
    return *given ? trimmed(a, text + n, strlen(text + n)) : text;
}

/* NAME = 5, NAME = 0 .. N, NAME = [M, K], NAME = f32[M, K], NAME = out f32[M, K], NAME = in f32[M], NAME = unread f32[M], NAME = unset f32[M],
 * NAME = i32[M] below N */
static bool add_argument(arena *a, lift_contract *c, const char *value, source_span span, diag_list *diags) {
    const char *equals = strchr(value, '='),
               *want = "NAME=5, NAME=0..100, NAME=[M, K], NAME=f32[M, K], NAME=out f32[M, K] or NAME=i32[M] below N";
    if (!equals)
        return wrong(diags, span, "arg", value, want);
    contract_argument x = {.name = trimmed(a, value, (size_t)(equals - value)), .span = span};
    const char *what = trimmed(a, equals + 1, strlen(equals + 1)), *open = strchr(what, '['), *dots = strstr(what, "..");
    if (!*x.name || !*what)
        return wrong(diags, span, "arg", value, want);
    if (open) {
        const char *close = strrchr(what, ']');
        const char *rest = close ? trimmed(a, close + 1, strlen(close + 1)) : "";
        size_t n = close ? (size_t)(close + 1 - what) : strlen(what);
        if (!strncmp(rest, "below", 5) && rest[5] && !isalnum((unsigned char)rest[5]) && rest[5] != '_')
            x.below = trimmed(a, rest + 5, strlen(rest + 5));
        else if (*rest)
            return wrong(diags, span, "arg", value, want);
        const char *type = trimmed(a, what, (size_t)(open - what));
        text_list extents = {0};
        if (what[n - 1] != ']')
            return wrong(diags, span, "arg", value, want);
        type = after_word(a, type, "out", &x.promised);
        type = after_word(a, type, "in", &x.only_read);
        type = after_word(a, type, "unread", &x.only_written);
        type = after_word(a, type, "unset", &x.unset);
        if (*type) {
            x.type = element_of_memory_by_name(type);
            x.has_type = x.type != ELEMENT_COUNT;
            if (!x.has_type)
                return wrong(diags, span, "arg", value, "an element type: f32, f16, bf16, i32, u32, u8");
        }
        split(a, arena_strndup(a, open + 1, n - 2 - (size_t)(open - what)), &extents);
        for (int i = 0; i < extents.count; i++)
            VEC_PUSH(a, x.extents, extents.at[i]);
    } else if (dots) {
        x.low = trimmed(a, what, (size_t)(dots - what));
        x.high = trimmed(a, dots + 2, strlen(dots + 2));
    } else {
        x.low = x.high = what;
        VEC_PUSH(a, x.extents, what);
    }
    VEC_PUSH(a, c->arguments, x);
    return true;
}

bool contract_add(arena *a, lift_contract *c, const char *key, const char *value, source_span span, diag_list *diags) {
    text_list parts = {0};
    int64_t n;
    if (!strcmp(key, "block")) {
        split(a, value, &parts);
        for (int i = 0; i < parts.count; i++)
            if (i > 2 || !whole(parts.at[i], &n) || n < 1 || n > MOST_BLOCK_THREADS)
                return wrong(diags, span, key, value, "one to three numbers of threads, as 16,16");
            else
                c->block[i] = n;
        for (int i = parts.count; i < 3; i++)
            c->block[i] = 1;
    } else if (!strcmp(key, "grid")) {
        split(a, value, &parts);
        c->grid.count = 0;
        if (parts.count > 3)
            return wrong(diags, span, key, value,
                         "one to three numbers of blocks, which may mention launch values: floor((n + 255) / 256)");
        for (int i = 0; i < parts.count; i++)
            VEC_PUSH(a, c->grid, parts.at[i]);
    } else if (!strcmp(key, "arg")) {
        return add_argument(a, c, value, span, diags);
    } else if (!strcmp(key, "where")) {
        VEC_PUSH(a, c->conditions, arena_strdup(a, value));
    } else if (!strcmp(key, "opaque")) {
        split(a, value, &parts);
        for (int i = 0; i < parts.count; i++)
            VEC_PUSH(a, c->opaque, parts.at[i]);
    } else if (!strcmp(key, "subgroup") || !strcmp(key, "lockstep")) {
        if (!whole(value, &n) || n < 1 || n > 128 || (n & (n - 1)))
            return wrong(diags, span, key, value, "a power of two up to 128");
        c->subgroup = (int)n;
        c->lockstep = c->lockstep || !strcmp(key, "lockstep");
    } else if (!strcmp(key, "shared")) {
        if (!whole(value, &n) || n < 1 || n > 1 << 24)
            return wrong(diags, span, key, value, "a number of bytes up to 2^24");
        c->shared_bytes = n;
    } else if (!strcmp(key, "largest")) {
        if (!whole(value, &n) || n < 1 || n > INT64_C(1) << 40)
            return wrong(diags, span, key, value, "a number up to 2^40");
        c->largest = n;
    } else {
        return wrong(diags, span, "the line", key,
                     "lines begin with block, grid, arg, where, opaque, shared, subgroup, lockstep, largest, step or kernel");
    }
    return true;
}

/* Lines of a sidecar file, without comments; false: there are no more. */
typedef struct sidecar {
    arena *a;
    const char *path, *at;
    int line;
    const char *key, *value;
    source_span span;
} sidecar;

static bool next_line(sidecar *s) {
    while (*s->at) {
        size_t n = strcspn(s->at, "\n"), used = 0;
        s->line++;
        while (used < n && s->at[used] != '#')
            used++;
        const char *words = trimmed(s->a, s->at, used);
        s->at += n + (s->at[n] == '\n');
        if (!*words)
            continue;
        size_t key_length = strcspn(words, " \t");
        s->key = arena_strndup(s->a, words, key_length);
        s->value = trimmed(s->a, words + key_length, strlen(words + key_length));
        s->span = (source_span){.file = s->path, .line = s->line, .column = 1, .length = (int)key_length};
        return true;
    }
    return false;
}

static bool open_sidecar(sidecar *s, arena *a, const char *path, diag_list *diags) {
    char *text = file_read(a, path, FILE_SOURCE_LIMIT, NULL, diags);
    if (text)
        diag_add_source(diags, path, text);
    *s = (sidecar){.a = a, .path = path, .at = text ? text : ""};
    return text != NULL;
}

bool contract_read(arena *a, lift_contract *c, const char *path, const char *kernel, diag_list *diags) {
    sidecar s;
    if (!file_exists(path))
        return true;
    if (!open_sidecar(&s, a, path, diags))
        return false;
    for (bool wanted = true; next_line(&s);)
        if (!strcmp(s.key, "kernel"))
            wanted = !strcmp(s.value, kernel);
        else if (strcmp(s.key, "step") && wanted && !contract_add(a, c, s.key, s.value, s.span, diags))
            return false;
    return true;
}

bool contract_read_steps(arena *a, const char *path, contract_steps *out, diag_list *diags) {
    sidecar s;
    if (!file_exists(path))
        return true;
    if (!open_sidecar(&s, a, path, diags))
        return false;
    while (next_line(&s))
        if (!strcmp(s.key, "step"))
            VEC_PUSH(a, *out, s.value);
    return true;
}
