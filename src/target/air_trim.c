/* AIR: instructions whose results nobody uses leave a function's text (names end in a number of their own, by which uses are counted); what is left is counted
 * by kind. */
#include "target/air.h"
#include <stdlib.h>
#include <string.h>

typedef struct use_counts {
    int *of;
    int names;
} use_counts;

/* The number of the name that begins at c ('%'); -1: it is a label or an argument without one. *end: behind it. */
static int number_of(const char *c, const char **end) {
    const char *at = c + 1, *dot = NULL;
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_' || *at == '.') {
        if (*at == '.')
            dot = at;
        at++;
    }
    *end = at;
    return dot && dot[1] >= '0' && dot[1] <= '9' ? atoi(dot + 1) : -1;
}

static void count_uses(use_counts *u, const char *line, size_t length, int own, int by) {
    const char *end;
    for (const char *c = line; c < line + length; c++)
        if (*c == '%') {
            int n = number_of(c, &end);
            if (n >= 0 && n < u->names && n != own)
                u->of[n] += by;
            c = end - 1;
        }
}

static bool has_no_effect(const char *op) {
    static const char *const effects[] = {"tail call", "call", "atomicrmw"};
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (!strncmp(op, effects[i], strlen(effects[i])))
            return false;
    return true;
}

const char *air_trim(arena *a, const char *text, int names) {
    VEC(const char *) lines = {0};
    use_counts u = {NEW_ARRAY(a, int, names + 1), names};
    for (const char *at = text; *at;) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        VEC_PUSH(a, lines, arena_strndup(a, at, length));
        at += length + (end != NULL);
    }
    int *own = NEW_ARRAY(a, int, lines.count + 1);
    for (int i = 0; i < lines.count; i++) {
        const char *line = lines.at[i], *end;
        bool defines = !strncmp(line, "  %", 3);
        own[i] = defines ? number_of(line + 2, &end) : -1;
        if (defines && strncmp(end, " = ", 3))
            own[i] = -1;
        count_uses(&u, line, strlen(line), own[i], 1);
    }
    for (bool removed = true; removed;) {
        removed = false;
        for (int i = lines.count - 1; i >= 0; i--) {
            const char *line = lines.at[i];
            if (!line || own[i] < 0 || u.of[own[i]] || !has_no_effect(strstr(line, " = ") + 3))
                continue;
            count_uses(&u, line, strlen(line), own[i], -1);
            lines.at[i] = NULL;
            removed = true;
        }
    }
    text_buffer out = {0};
    for (int i = 0; i < lines.count; i++)
        if (lines.at[i])
            text_add(&out, "%s\n", lines.at[i]);
    const char *kept = arena_strdup(a, text_get(&out));
    text_free(&out);
    return kept;
}

/* ---- counts ---- */

static bool has(const char *line, size_t length, const char *text) {
    const char *at = strstr(line, text);
    return at && at < line + length;
}

static void count_line(target_counts *c, const char *line, size_t length) {
    static const char splat[] = "zeroinitializer";
    const char *end = line + length;
#define HAS(text) has(line, length, text)
    c->matrix_loads += HAS("@air.simdgroup_matrix_8x8_load");
    c->matrix_stores += HAS("@air.simdgroup_matrix_8x8_store");
    c->matrix_products += HAS("@air.simdgroup_matrix_8x8_multiply_accumulate");
    c->shuffles += HAS(" = shufflevector ") && memcmp(end - (sizeof splat - 1), splat, sizeof splat - 1) != 0;
    c->barriers += HAS("barrier(");
    c->loads += HAS(" = load ");
#undef HAS
}

bool air_count(arena *a, const proved_plan *p, target_count_list *out, diag_list *diags) {
    text_buffer text = {0};
    if (!air_emit(p, &text, diags))
        return false;
    target_counts *now = NULL;
    for (const char *at = text_get(&text); *at;) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        if (!strncmp(at, "define void @", 13)) {
            target_counts c = {.function = arena_strndup(a, at + 13, strcspn(at + 13, "("))};
            VEC_PUSH(a, *out, c);
            now = &out->at[out->count - 1];
        } else if (*at == '}') {
            now = NULL;
        } else if (now) {
            count_line(now, at, length);
        }
        at += length + (end != NULL);
    }
    text_free(&text);
    return true;
}
