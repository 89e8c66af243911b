/* OpenCL C's text before clang sees it: kernels' arguments of the types that OpenCL forbids there, since their size is the device's. */
#include "lift/front.h"
#include <string.h>

/* What such an argument is read as: devices have addresses of 64 bits here. Of the same length or shorter, so that columns behind it move little. */
static const char *replacement(const tokens *t, int i) {
    static const struct {
        const char *name, *of_64_bits;
    } types[] = {{"size_t", "ulong"}, {"uintptr_t", "ulong"}, {"ptrdiff_t", "long"}, {"intptr_t", "long"}};
    for (size_t k = 0; tokens_kind(t, i) == TOKEN_NAME && k < sizeof types / sizeof *types; k++)
        if (tokens_is(t, i, types[k].name))
            return types[k].of_64_bits;
    return NULL;
}

static int line_of(const tokens *t, int i) {
    int line = 1;
    for (const char *c = t->text; c < t->at[i].at; c++)
        line += *c == '\n';
    return line;
}

const char *front_opencl_text(front *f) {
    static const char *const kernels[] = {"kernel", "__kernel", NULL};
    tokens t;
    declaration_list all = {0};
    edits e = {.arena = f->arena, .tokens = &t};
    if (!strstr(f->text, "size_t") && !strstr(f->text, "ptr_t") && !strstr(f->text, "ptrdiff_t"))
        return f->text;
    tokens_read(f->arena, f->text, strlen(f->text), &t);
    declarations_read(f->arena, &t, &all);
    for (int n = 0; n < all.count; n++) {
        const declaration *d = &all.at[n];
        if (d->arguments < 0 || !declaration_has(&t, d, kernels))
            continue;
        for (int i = d->arguments + 1; i < tokens_match(&t, d->arguments); i++) {
            const char *now = replacement(&t, i);
            bool name = tokens_is(&t, i + 1, ",") || tokens_is(&t, i + 1, ")"); /* of an argument, or a type alone */
            if (!now || (name && tokens_kind(&t, i - 1) == TOKEN_NAME))
                continue;
            if (d->name >= 0 && front_wants(f, tokens_word(f->arena, &t, d->name)))
                diag_warning(f->diags, "E1111", (source_span){f->path, line_of(&t, i), 0, 0},
                             "an argument of type %s, which OpenCL forbids, is read as %s", tokens_word(f->arena, &t, i), now);
            edits_replace(&e, i, i + 1, "%s", now);
        }
    }
    size_t length;
    return e.items.count ? edits_apply(&e, &length) : f->text;
}
