/* Typed pointers of LLVM 15 and older, written as today's opaque ones. Operands name their types already (`load float, float* %p`), so only the type's
 * spelling changes. */
#include "lift/module_text.h"
#include <ctype.h>
#include <string.h>

/* In the output so far: where the type begins that ends at `end`. A star follows a name, a bracketed type, a function type or another pointer. */
static size_t type_start(const char *out, size_t end) {
    size_t at = end;
    while (at && isspace((unsigned char)out[at - 1]))
        at--;
    if (!at)
        return end;
    char c = out[at - 1];
    while (at && strchr(")]}>", c = out[at - 1])) {
        int depth = 0;
        while (at) {
            c = out[--at];
            if (strchr(")]}>", c))
                depth++;
            else if (strchr("([{<", c) && --depth == 0)
                break;
        }
        /* <{ }> is one bracket inside another: done. A function type or addrspace(N) has a word before it. */
        if (out[at] == '(') {
            size_t word = at;
            while (word && isspace((unsigned char)out[word - 1]))
                word--;
            at = word >= 9 && !memcmp(out + word - 9, "addrspace", 9) ? word - 9 : word;
            while (at && isspace((unsigned char)out[at - 1]))
                at--;
            continue;
        }
        return at;
    }
    if (!at)
        return 0;
    if (c == '"') {
        at--;
        while (at && out[at - 1] != '"')
            at--;
        at -= at > 0;
    } else
        while (at && (isalnum((unsigned char)out[at - 1]) || strchr("$._-", out[at - 1])))
            at--;
    return at && out[at - 1] == '%' ? at - 1 : at;
}

const char *module_text_opaque(arena *a, const char *text, size_t *length) {
    if (!memchr(text, '*', *length))
        return text;
    char *out = arena_alloc(a, *length * 2 + 1); /* `i8*` is `ptr`: never longer than two characters a character */
    size_t n = 0, line = 0;
    bool changed = false;
    for (const char *at = text; *at; at++) {
        if (*at == ';' || *at == '"') { /* comments and strings as they are */
            char end = *at == ';' ? '\n' : '"';
            do
                out[n++] = *at++;
            while (*at && *at != end);
            if (!*at)
                break;
            out[n++] = *at;
            if (end == '\n')
                line = n;
            continue;
        }
        if (*at == '\n')
            line = n + 1;
        if (*at != '*') {
            out[n++] = *at;
            continue;
        }
        changed = true;
        size_t start = type_start(out, n);
        if (start < line)
            start = line;
        /* The pointer's own space stands just before the star; one in front of that belongs to what it points to. */
        char space[24] = "";
        size_t end = n;
        while (end > start && isspace((unsigned char)out[end - 1]))
            end--;
        if (end > start && out[end - 1] == ')') {
            size_t open = end - 1;
            while (open > start && isdigit((unsigned char)out[open - 1]))
                open--;
            bool of_pointee =
                open >= start + 14 && !memcmp(out + open - 14, "ptr addrspace(", 14); /* a pointer that was made just now */
            if (open > start + 10 && !memcmp(out + open - 10, "addrspace(", 10) && end - open < 8 && !of_pointee) {
                memcpy(space, out + open, end - open - 1);
                space[end - open - 1] = 0;
            }
        }
        n = start;
        n += (size_t)sprintf(out + n, *space ? "ptr addrspace(%s)" : "ptr", space);
    }
    out[n] = 0;
    if (!changed)
        return text;
    *length = n;
    return out;
}
