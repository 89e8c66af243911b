/* Any bytes as Kernel IR text: the reader, the checker, simplification and the printer never crash, and what the checker lets pass
 * prints and reads back the same. */
#include "kernel/kernel.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *printed(const kernel_ir *k) {
    text_buffer b = {0};
    kernel_print(&b, k);
    return b.text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1);
    memcpy(text, data, size);
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, "input", text, &diags);
    if (k && kernel_check(k, &diags)) {
        char *once = printed(k);
        kernel_ir *again = kernel_parse(a, "printed", once, &diags);
        char *twice = again ? printed(again) : NULL;
        if (!twice || strcmp(once, twice) || !kernel_check(again, &diags))
            abort();
        kernel_simplify(again);
        diag_list after;
        diag_init(&after, a);
        if (!kernel_check(again, &after))
            abort();
        free(once);
        free(twice);
    } else if (!diags.errors) {
        abort(); /* refused without a word */
    }
    arena_free(a);
    free(text);
    return 0;
}
