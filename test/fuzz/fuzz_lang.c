/* Any bytes as a source: the front end diagnoses or accepts them. What it accepts passes the checker of Tile IR, and its text reads back. */
#include "lang/lang.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *nowhere;
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        return 0;
    arena *a = arena_new();
    char *text = arena_strndup(a, (const char *)data, size);
    diag_list diags, later;
    diag_init(&diags, a);
    diag_init(&later, a);
    tile_module *m = lang_load(a, "fuzz.tile", text, &diags);
    diag_print_all(&diags, nowhere, false);
    if (!m != (diags.errors > 0))
        abort();
    if (m) {
        for (int i = 0; i < m->kernels.count; i++)
            if (!tile_check(m->kernels.at[i], &later)) {
                diag_print_all(&later, stderr, false);
                abort();
            }
        text_buffer once = {0}, again = {0};
        tile_print_module(&once, m);
        tile_module *back = tile_parse(a, "printed", text_get(&once), &later);
        if (!back) {
            diag_print_all(&later, stderr, false);
            abort();
        }
        tile_print_module(&again, back);
        if (strcmp(text_get(&once), text_get(&again)))
            abort();
        text_free(&once);
        text_free(&again);
    }
    arena_free(a);
    return 0;
}
