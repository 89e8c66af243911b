/* `tilec build --target metal`: NAME.metal, NAME_metal.c (its arguments, for the host program), and the files that all kernels' programs share. */
#include "base/file.h"
#include "target/c_plan.h"
#include "target/metal.h"
#include <string.h>

/* Written with an earlier kernel. */
static bool is_there(arena *a, const char *path, const char *text, size_t length) {
    diag_list quiet;
    size_t size;
    diag_init(&quiet, a);
    const char *old = file_exists(path) ? file_read(a, path, FILE_SOURCE_LIMIT, &size, &quiet) : NULL;
    return old && size == length && !memcmp(old, text, length);
}

static bool write_kit(arena *a, const char *directory, diag_list *diags) {
    for (int i = 0; i < metal_kit_count; i++) {
        text_buffer b = {0};
        for (const char *const *line = metal_kit[i].lines; *line; line++)
            text_add(&b, "%s", *line);
        const char *path = arena_printf(a, "%s/%s", directory, metal_kit[i].name);
        bool good = is_there(a, path, text_get(&b), b.length) || file_write(path, text_get(&b), b.length, diags);
        text_free(&b);
        if (!good)
            return false;
    }
    return true;
}

static void describe(arena *a, text_buffer *out, const launch_plan *plan) {
    text_add(out,
             "/* %s, written and proved by tilec.\n * Arrays are row-major, none overlaps one that is written. Before a launch "
             "the caller must know:\n",
             c_comment_text(a, plan->name));
    for (int i = 0; i < plan->checks.count; i++)
        text_add(out, " *   %s\n", c_comment_text(a, plan->checks.at[i].text));
    if (!plan->checks.count)
        text_add(out, " *   nothing further\n");
    text_add(out, " * The host program (%s_metal.c, tilec_metal.m) shows how to launch it. Compile without fast math. */\n",
             cfamily_legal(a, plan->name));
}

bool metal_build(const proved_plan *proved, const char *directory, diag_list *diags) {
    arena *a = arena_new();
    const launch_plan *plan = proved_plan_get(proved);
    gpu_program program;
    text_buffer text = {0}, host = {0};
    bool ok = metal_program(a, proved, &program, diags) && metal_host_print(a, plan, &program, &host, diags);
    if (ok) {
        describe(a, &text, plan);
        text_add_bytes(&text, program.text, strlen(program.text));
        ok = file_make_folders(directory, diags) && write_kit(a, directory, diags) &&
             file_write(arena_printf(a, "%s/%s_metal.c", directory, program.name), text_get(&host), host.length, diags) &&
             file_write(arena_printf(a, "%s/%s.metal", directory, program.name), text_get(&text), text.length, diags);
    }
    text_free(&text);
    text_free(&host);
    arena_free(a);
    return ok;
}
