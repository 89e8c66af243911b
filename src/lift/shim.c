/* The headers that stand for those of Metal and CUDA. */
#include "lift/shim.h"
#include <string.h>

static const struct {
    const char *name;
    const char *const *lines;
} shims[] = {
#include "shim.inc"
};

bool shim_write(front *f, const char *prefix) {
    for (size_t i = 0; i < sizeof shims / sizeof *shims; i++) {
        if (strncmp(shims[i].name, prefix, strlen(prefix)))
            continue;
        text_buffer b = {0};
        /* What clang says about them names no temporary folder. */
        text_add(&b, "# 1 \"<tilec>/%s\" 3\n", shims[i].name);
        for (const char *const *line = shims[i].lines; *line; line++)
            text_add(&b, "%s", *line);
        bool ok = clang_write(f->arena, f->folder, shims[i].name, b.text, b.length, f->diags);
        text_free(&b);
        if (!ok)
            return false;
    }
    return true;
}
