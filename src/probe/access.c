/* Accesses and their alignment: texts for devices that take them, and the process that asks. */
#include "probe/access.h"
#include "base/file.h"
#include "base/process.h"
#include "base/temporary.h"
#include "run/cuda.h"
#include "run/run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 4096, RESULT = 3584, MOST_POLLS = 1000000 };

typedef struct access_row {
    const char *name;
    int alignment;
    char holds;
    const char *statement;
} access_row;
#define ACCESS(name, alignment, holds, statement) {name, alignment, holds, statement},
static const access_row cuda_rows[] = {
#include "probe/accesses.def"
};
/* A type whose pointer is read through. */
static const access_row opencl_rows[] = {{"uint", 4, 'x', "*(__global const uint *)(p + at)"},
                                         {"uint2", 8, 'x', "*(__global const uint2 *)(p + at)"},
                                         {"uint4", 16, 'x', "*(__global const uint4 *)(p + at)"},
                                         {"local uint4", 16, 'x', "*(__local const uint4 *)(s + at)"},
                                         {"vload4 of uint", 4, 'x', "vload4(0, (__global const uint *)(p + at))"}};
/* Arguments of the driver's call that makes a tensor map. */
static const access_row map_rows[] = {{"tensor map, address", 16, 'a', NULL},
                                      {"tensor map, stride", 16, 's', NULL},
                                      {"tensor map, innermost bytes of the box", 16, 'b', NULL}};
enum {
    CUDA_ROWS = sizeof cuda_rows / sizeof *cuda_rows,
    OPENCL_ROWS = sizeof opencl_rows / sizeof *opencl_rows,
    MAP_ROWS = sizeof map_rows / sizeof *map_rows
};

const char *access_outcome_text(access_outcome o) {
    static const char *const texts[] = {"taken", "taken, but elsewhere", "refused by the compiler", "refused by the device",
                                        "not asked"};
    return texts[o];
}

static const access_row *row_at(const char *device, int number) {
    if (!strncmp(device, "cuda", 4))
        return number < CUDA_ROWS ? &cuda_rows[number] : number < CUDA_ROWS + MAP_ROWS ? &map_rows[number - CUDA_ROWS] : NULL;
    return !strncmp(device, "opencl", 6) && number < OPENCL_ROWS ? &opencl_rows[number] : NULL;
}

const char *access_name(const char *device, int number, int *documented) {
    if (!strncmp(device, "cpu", 3))
        return access_cpu_name(number, documented);
    const access_row *row = row_at(device, number);
    *documented = row ? row->alignment : 0;
    return row ? row->name : NULL;
}

static char *text_for_cuda(arena *a, const access_row *row) {
    return arena_printf(a,
                        "extern \"C\" __global__ void touch(unsigned char *p, int at) {\n"
                        "    __shared__ __align__(1024) unsigned char s[3072];\n    unsigned x[4] = {0x04030201u, 2, 3, 4};\n"
                        "    for (int i = threadIdx.x; i < 2048; i += 32)\n        s[i] = %s;\n    __syncthreads();\n"
                        "    const unsigned to = (unsigned)__cvta_generic_to_shared(s);\n"
                        "    asm volatile(\"%s\" : \"+r\"(x[0]), \"+r\"(x[1]), \"+r\"(x[2]), \"+r\"(x[3]) : \"r\"(to + at), "
                        "\"l\"(p + at), \"r\"(to), "
                        "\"l\"(p), \"r\"(threadIdx.x), \"r\"(32 + at) : \"memory\");\n"
                        "    __syncthreads();\n"
                        "    for (int i = 0; i < 4 && !threadIdx.x; i++)\n        p[%d + i] = %s;\n"
                        "    /* all that was read is wanted, or less would be read */\n"
                        "    for (int i = 0; i < 12 && !threadIdx.x; i++)\n        p[%d + i] = (unsigned char)(x[1 + i / 4] >> 8 "
                        "* (i %% 4));\n}\n",
                        row->holds == 'x' ? "(unsigned char)(i * 7 + 1)" : "0xFF", row->statement, RESULT,
                        row->holds == 'x'   ? "(unsigned char)(x[0] >> 8 * i)"
                        : row->holds == 's' ? "s[i]"
                        : row->holds == 't' ? "s[at + i]"
                        : row->holds == 'l' ? "s[28 + at + i]"
                                            : "p[at + i]",
                        RESULT + 4);
}

static char *text_for_opencl(arena *a, const access_row *row) {
    const bool four = strstr(row->statement, "4") != NULL, two = strstr(row->statement, "uint2") != NULL;
    return arena_printf(
        a,
        "__kernel void touch(__global uchar *p, int at) {\n    __local uchar s[1024] __attribute__((aligned(64)));\n"
        "    for (int i = get_local_id(0); i < 1024; i += 32)\n        s[i] = p[i];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n    const %s v = %s;\n"
        "    /* all that was read is wanted, or less would be read */\n    const uint x = v%s, rest = %s;\n"
        "    for (int i = 0; i < 4 && !get_local_id(0); i++) {\n        p[%d + i] = (uchar)(x >> 8 * i);\n"
        "        p[%d + i] = (uchar)(rest >> 8 * i);\n    }\n}\n",
        four  ? "uint4"
        : two ? "uint2"
              : "uint",
        row->statement, four || two ? ".x" : "",
        four  ? "v.y ^ v.z ^ v.w"
        : two ? "v.y"
              : "0",
        RESULT, RESULT + 4);
}

char *access_text(arena *a, const char *device, int number) {
    const access_row *row = row_at(device, number);
    return !row || !row->statement ? NULL : strncmp(device, "cuda", 4) ? text_for_opencl(a, row) : text_for_cuda(a, row);
}

static const char *first_words(arena *a, const diag_list *diags) {
    for (int i = 0; i < diags->items.count; i++) {
        const diag *g = diags->items.at[i];
        for (int n = 0; n < g->notes.count; n++)
            if (strstr(g->notes.at[n], "error"))
                return g->notes.at[n];
        return arena_strdup(a, g->message);
    }
    return NULL;
}

/* 4 bytes that the access should have moved. */
static uint32_t wanted(const access_row *row, int offset) {
    uint32_t all = 0;
    /* what comes from the aligned place, and what from the asked one */
    int from = row->holds == 'x' || row->holds == 's' ? offset : row->holds == 'l' ? 28 + offset : 0;
    for (int i = 0; i < 4; i++)
        all |= (uint32_t)(unsigned char)((i + from) * 7 + 1) << 8 * i;
    return row->holds == 'g' ? 0x04030201u : all;
}

static access_outcome try_text(arena *a, const char *device_name, const access_row *row, int offset, const char **words) {
    diag_list diags;
    diag_init(&diags, a);
    int index;
    const runtime *r = runtime_find(device_name, &index, &diags);
    unsigned char bytes[BYTES];
    uint32_t got, polls;
    if (!r || !r->text)
        return ACCESS_NOT_ASKED;
    device *d = r->open(index, &diags);
    void *memory = d ? r->allocate(d, BYTES, &diags) : NULL;
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
    if (!memory || !r->copy_in(d, memory, bytes, BYTES, &diags))
        return ACCESS_NOT_ASKED;
    text_kernel *k =
        r->text->load(d, "touch", !strcmp(r->name, "cuda") ? text_for_cuda(a, row) : text_for_opencl(a, row), "touch", &diags);
    if (!k) {
        *words = first_words(a, &diags);
        return ACCESS_NOT_COMPILED;
    }
    const text_argument arguments[] = {{.array = memory}, {.bytes = 4, .value.i32 = offset}};
    text_launch launch = {.blocks = {1, 1, 1}, .threads = {32, 1, 1}, .arguments = arguments, .count = 2};
    if (!r->text->launch(d, k, &launch, &diags) || !r->copy_out(d, bytes, memory, BYTES, &diags)) {
        *words = first_words(a, &diags);
        return ACCESS_FAULTED;
    }
    memcpy(&got, bytes + RESULT, 4);
    memcpy(&polls, bytes + RESULT + 12, 4);
    if (strstr(row->name, "bulk") && polls >= MOST_POLLS) {
        *words = "its end was never told to the mbarrier";
        return ACCESS_ELSEWHERE;
    }
    *words = got == wanted(row, offset) ? NULL : arena_printf(a, "it moved 0x%08X, and not 0x%08X", got, wanted(row, offset));
    return got == wanted(row, offset) ? ACCESS_TAKEN : ACCESS_ELSEWHERE;
}

bool access_map(device *d, const void *memory, int64_t offset, int64_t stride, uint32_t box_elements, uint32_t rows,
                bool swizzled, int *status) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    const cuda_system *s = cuda_open_system();
    cu_tensor_map map;
    const uint64_t extents[] = {1024, 64}, strides[] = {(uint64_t)stride};
    const uint32_t box[] = {box_elements, rows}, steps[] = {1, 1};
    bool good = s->encode_map && cuda_enter(d, &quiet);
    if (good) {
        *status = (int)s->encode_map(&map, CU_MAP_UINT16, 2, (char *)(uintptr_t)memory + offset, extents, strides, box, steps, 0,
                                     swizzled ? CU_MAP_SWIZZLE_128 : 0, CU_MAP_FETCH_256, 0);
        cuda_leave(d);
    }
    arena_free(a);
    return good;
}

static access_outcome try_map(arena *a, const char *device_name, const access_row *row, int offset, const char **words) {
    diag_list diags;
    diag_init(&diags, a);
    int status, index;
    const runtime *r = runtime_find(device_name, &index, &diags);
    device *d = r ? r->open(index, &diags) : NULL;
    void *memory = d ? r->allocate(d, 1 << 20, &diags) : NULL;
    if (!memory || !access_map(d, memory, row->holds == 'a' ? offset : 0, 4096 + (row->holds == 's' ? offset : 0),
                               row->holds == 'b' ? (uint32_t)(32 + offset) / 2 : 64, 8, row->holds != 'b', &status))
        return ACCESS_NOT_ASKED;
    *words = status ? arena_printf(a, "cuTensorMapEncodeTiled gives %d", status) : NULL;
    return status ? ACCESS_FAULTED : ACCESS_TAKEN;
}

static access_outcome try_local(arena *a, const char *device_name, int bytes, const char **words) {
    diag_list diags;
    diag_init(&diags, a);
    int index;
    const runtime *r = runtime_find(device_name, &index, &diags);
    device *d = r && !strcmp(r->name, "opencl") ? r->open(index, &diags) : NULL;
    void *memory = d ? r->allocate(d, BYTES, &diags) : NULL;
    unsigned char word[4];
    if (!memory || bytes < 1)
        return ACCESS_NOT_ASKED;
    const char *text =
        arena_printf(a,
                     "__kernel void touch(__global uchar *p) {\n    __local uchar s[%d];\n    s[p[0] %% %d] = p[1];\n"
                     "    barrier(CLK_LOCAL_MEM_FENCE);\n    p[2] = s[p[3] %% %d];\n}\n",
                     bytes, bytes, bytes);
    text_kernel *k = r->text->load(d, "touch", text, "touch", &diags);
    const text_argument arguments[] = {{.array = memory}};
    text_launch launch = {.blocks = {1, 1, 1}, .threads = {1, 1, 1}, .arguments = arguments, .count = 1};
    if (k && r->text->launch(d, k, &launch, &diags) && r->copy_out(d, word, memory, 4, &diags))
        return ACCESS_TAKEN;
    *words = first_words(a, &diags);
    return k ? ACCESS_FAULTED : ACCESS_NOT_COMPILED;
}

access_outcome access_try(arena *a, const char *device, const char *name, int offset, const char **words) {
    int documented;
    const char *at;
    *words = NULL;
    if (!strcmp(name, ACCESS_LOCAL_MEMORY))
        return try_local(a, device, offset, words);
    for (int i = 0; (at = access_name(device, i, &documented)); i++)
        if (!strcmp(at, name)) {
            if (!strncmp(device, "cpu", 3))
                return access_cpu_try(i, offset);
            const access_row *row = row_at(device, i);
            return row->statement ? try_text(a, device, row, offset, words) : try_map(a, device, row, offset, words);
        }
    return ACCESS_NOT_ASKED;
}

access_outcome access_ask(arena *a, const char *device, const char *name, int offset, const char **words) {
    char program[1024], output[] = "/tmp/tilec-access-XXXXXX";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    int file = length > 0 ? temporary_file(output) : -1;
    *words = NULL;
    if (file < 0)
        return ACCESS_NOT_ASKED;
    close(file);
    program[length] = 0;
    const char *const arguments[] = {"tilec", "probe", name, "--device", device, "--offset", arena_printf(a, "%d", offset), NULL};
    diag_list quiet;
    diag_init(&quiet, a);
    int status = process_run(program, arguments, output);
    char *said = file_read(a, output, 1 << 16, NULL, &quiet);
    temporary_remove(output);
    if (status > 128) {
        *words = arena_printf(a, "signal %d", status - 128);
        return ACCESS_FAULTED;
    }
    for (int o = ACCESS_TAKEN; said && o < ACCESS_NOT_ASKED; o++) {
        const char *text = access_outcome_text((access_outcome)o);
        size_t size = strlen(text);
        if (!strncmp(said, text, size) && (said[size] == '\n' || said[size] == ':')) {
            char *end = strchr(said, '\n');
            if (end)
                *end = 0;
            *words = said[size] == ':' ? said + size + 2 : NULL;
            return (access_outcome)o;
        }
    }
    return ACCESS_NOT_ASKED;
}
