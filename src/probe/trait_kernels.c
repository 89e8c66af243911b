/* Kernels that traits are asked with: one text, in both spellings. */
#include "probe/trait.h"
#include <string.h>

const char *const trait_text_names[TRAIT_TEXTS] = {"hop", "banks1", "banks2", "banks4", "empty"};
const char *const trait_text_entries[TRAIT_KERNELS] = {"hop", "banks", "banks", "banks", "empty", "heavy"};

static const char cuda_words[] = "#define FAR\n#define SHARED __shared__\n#define THREAD threadIdx.x\n"
                                 "#define MEET __syncthreads()\n";
static const char opencl_words[] = "#define FAR __global\n#define SHARED __local\n#define THREAD get_local_id(0)\n"
                                   "#define MEET barrier(CLK_LOCAL_MEM_FENCE)\n";
static const char hop_text[] =
    "hop(FAR const unsigned *ring, FAR unsigned *out, int hops, int behind) {\n"
    "    unsigned at = out[0];\n"
    "    if (behind)\n        for (int i = 0; i < hops; i++)\n            at = ring[ring[at] + behind];\n"
    "    else\n        for (int i = 0; i < hops; i++)\n            at = ring[at];\n"
    "    out[0] = at;\n}\n";
/* Every cell names itself, in words that add up to its number, so a thread reads one place again and again, each time after the last. */
static const char banks_text[] = "banks(FAR unsigned *out, int trips, int stride) {\n"
                                 "    SHARED cell s[CELLS];\n    cell v;\n"
                                 "    for (int i = THREAD; i < CELLS; i += 1024)\n        s[i] = CELL(i);\n"
                                 "    MEET;\n    unsigned at = THREAD % 32 * stride / WORDS % CELLS;\n"
                                 "    for (int i = 0; i < trips; i++) {\n"
                                 "        NEXT; NEXT; NEXT; NEXT; NEXT; NEXT; NEXT; NEXT;\n    }\n"
                                 "    out[THREAD] = at;\n}\n";
static const char empty_text[] = "empty(FAR unsigned *out) {\n    if (THREAD > 100000)\n        out[0] = 1;\n}\n";

/* More live values than a thread can have registers. */
static const char heavy_text[] = "heavy(FAR unsigned *out) {\n    unsigned v[300];\n"
                                 "    for (int i = 0; i < 300; i++)\n        v[i] = out[(i * THREAD) % 1024];\n"
                                 "    for (unsigned n = out[1]; n; n--)\n        for (int i = 0; i < 300; i++)\n            v[i] "
                                 "= v[i] * v[(i + 7) % 300] + n;\n"
                                 "    unsigned all = 0;\n    for (int i = 0; i < 300; i++)\n        all ^= v[i];\n"
                                 "    if (all == 12345)\n        out[0] = all;\n}\n";

static const char *const cuda_cells[] = {
    "typedef unsigned cell;\n#define CELL(i) i\n#define NEXT v = s[at], at = v\n#define WORDS 1\n#define CELLS 8192\n",
    "typedef uint2 cell;\n#define CELL(i) make_uint2(i, 0)\n#define NEXT v = s[at], at = v.x + v.y\n#define WORDS 2\n#define "
    "CELLS 4096\n",
    "typedef uint4 cell;\n#define CELL(i) make_uint4(i, 0, 0, 0)\n#define NEXT v = s[at], at = v.x + v.y + v.z + "
    "v.w\n#define WORDS 4\n#define CELLS 2048\n"};
static const char *const opencl_cells[] = {
    "typedef uint cell;\n#define CELL(i) i\n#define NEXT v = s[at], at = v\n#define WORDS 1\n#define CELLS 8192\n",
    "typedef uint2 cell;\n#define CELL(i) (uint2)(i, 0)\n#define NEXT v = s[at], at = v.x + v.y\n#define WORDS 2\n#define "
    "CELLS 4096\n",
    "typedef uint4 cell;\n#define CELL(i) (uint4)(i, 0, 0, 0)\n#define NEXT v = s[at], at = v.x + v.y + v.z + v.w\n#define "
    "WORDS 4\n#define CELLS 2048\n"};

static bool is_cuda(const char *target) {
    return !strcmp(target, "cuda");
}

static char *join(const char *target, const char *defines, const char *attribute, const char *text) {
    text_buffer all = {0};
    text_add(&all, "%s%s%s%s void %s", is_cuda(target) ? cuda_words : opencl_words, defines,
             is_cuda(target) ? "extern \"C\" __global__" : "__kernel", is_cuda(target) && *attribute ? attribute : "", text);
    return all.text;
}

char *trait_text_around(const char *target, const char *before, const char *text) {
    return join(target, before, "", text);
}

char *trait_text_of(const char *target, trait_kernel which, const char *attribute) {
    const char *const texts[TRAIT_KERNELS] = {hop_text, banks_text, banks_text, banks_text, empty_text, heavy_text};
    bool banks = which >= TRAIT_BANKS && which < TRAIT_EMPTY;
    return join(target, banks ? (is_cuda(target) ? cuda_cells : opencl_cells)[which - TRAIT_BANKS] : "", attribute, texts[which]);
}

char *trait_text(const char *target, trait_kernel which) {
    return trait_text_of(target, which, "");
}
