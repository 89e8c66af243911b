/* Any bytes as a preprocessed Metal or CUDA text, or as LLVM IR: rewritten or refused, every line kept where it was. */
#include "lift/front.h"
#include "lift/module_text.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int lines(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const wanted[] = {"sum<float>"};
    static const source_options every, one = {.kernels = wanted, .kernel_count = 1};
    arena *a = arena_new();
    char *text = arena_strndup(a, (const char *)data, size);
    size_t length = strlen(text);
    for (int i = 0; i < 3; i++) {
        diag_list diags;
        diag_init(&diags, a);
        front f = {.arena = a, .path = "fuzz", .text = text, .options = i ? &one : &every, .diags = &diags};
        f.language = SOURCE_METAL;
        if (i < 2 && lines(front_metal_text(&f, text, length)) < lines(text))
            abort();
        f.language = SOURCE_CUDA;
        if (i < 2)
            front_cuda_text(&f, text, length);
        source_module m = {.language = i == 0 ? SOURCE_LLVM : i == 1 ? SOURCE_METAL : SOURCE_CUDA, .path = "fuzz", .length = length};
        m.text = module_text_opaque(a, text, &m.length);
        module_text_kernels(a, &m, &diags);
    }
    arena_free(a);
    return 0;
}
