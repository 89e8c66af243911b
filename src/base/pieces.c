#include "base/pieces.h"
#include <string.h>

typedef VEC(const char *) text_set;

static void add_new(arena *a, text_buffer *out, text_set *seen, const char *text) {
    const char *from = text, *at = text;
    int braces = 0, conditions = 0;
    while (*at) {
        const char *end = strchr(at, '\n');
        end = end ? end : at + strlen(at);
        const char *first = at;
        while (first < end && (*first == ' ' || *first == '\t'))
            first++;
        bool directive = *first == '#';
        if (directive && (!strncmp(first, "#if", 3)))
            conditions++;
        else if (directive && !strncmp(first, "#endif", 6))
            conditions--;
        for (const char *c = at; !directive && c < end; c++)
            braces += *c == '{' ? 1 : *c == '}' ? -1 : 0;
        const char *last = end;
        while (last > at && (last[-1] == ' ' || last[-1] == '\r'))
            last--;
        bool closes = last > at && (last[-1] == ';' || last[-1] == '}' || directive);
        at = *end ? end + 1 : end;
        if (braces || conditions || !closes)
            continue;
        while (*from == '\n') /* the same piece may follow an empty line in one text and none in another */
            from++;
        size_t length = (size_t)(at - from);
        bool known = false;
        for (int i = 0; i < seen->count && !known; i++)
            known = !strncmp(seen->at[i], from, length) && !seen->at[i][length];
        if (!known) {
            VEC_PUSH(a, *seen, arena_strndup(a, from, length));
            text_add_bytes(out, from, length);
        }
        from = at;
    }
    text_add(out, "%s\n", from);
}

void pieces_join(const char *const *texts, int count, text_buffer *out) {
    arena *a = arena_new();
    text_set seen = {0};
    for (int i = 0; i < count; i++)
        add_new(a, out, &seen, texts[i]);
    arena_free(a);
}
