/* Options of the commands that read other people's kernels. */
#include "command/source_options.h"
#include <string.h>

typedef struct reading {
    arena *arena;
    diag_list *diags;
    VEC(const char *) words;
    VEC(source_constant) constants;
} reading;

static bool add_word(void *context, const char *value) {
    reading *r = context;
    VEC_PUSH(r->arena, r->words, arena_strdup(r->arena, value));
    return true;
}

static bool add_constant(void *context, const char *value) {
    reading *r = context;
    source_constant c;
    if (!option_split(r->arena, "--constant", value, &c.name, &c.value, r->diags))
        return false;
    VEC_PUSH(r->arena, r->constants, c);
    return true;
}

/* Every value as it stands: macros and template arguments hold commas. */
static void words_of(const command_line *line, arena *a, const char *name, const char *const **at, int *count) {
    reading r = {.arena = a};
    for (int i = 0; i < line->option_count; i++)
        if (!strcmp(line->options[i].row->name, name))
            add_word(&r, line->options[i].value);
    *at = r.words.at;
    *count = r.words.count;
}

bool source_options_read(const command_line *line, arena *a, source_options *out, diag_list *diags) {
    reading r = {.arena = a, .diags = diags};
    *out = (source_options){0};
    words_of(line, a, "-D", &out->defines, &out->define_count);
    words_of(line, a, "-I", &out->includes, &out->include_count);
    words_of(line, a, "--kernel", &out->kernels, &out->kernel_count);
    if (!option_each(line, "--constant", add_constant, &r))
        return false;
    out->constants = r.constants.at;
    out->constant_count = r.constants.count;
    return true;
}
