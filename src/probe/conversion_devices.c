/* The conversions of devices: CUDA's by PTX, this processor's by its intrinsics, OpenCL's by its built-in functions. */
#include "probe/conversion.h"
#include "probe/cpu_matrix.h"
#include "run/run.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef enum { ROW_CUDA, ROW_CPU, ROW_OPENCL, ROW_KINDS } row_kind;
typedef struct conversion_row {
    row_kind kind;
    const char *name;
    number_kind from, to;
    int kept_bits, architecture;
    const char *macro, *body, *claim;
} conversion_row;

static const conversion_row rows[] = {
#define CUDA(name, from, to, kept, architecture, body, claim)                                                                    \
    {ROW_CUDA, name, NUMBER_##from, NUMBER_##to, kept, architecture, NULL, body, claim},
#define CPU(name, from, to, kept, macro, body, claim) {ROW_CPU, name, NUMBER_##from, NUMBER_##to, kept, 0, macro, body, claim},
#define OPENCL(name, from, to, kept, body, claim) {ROW_OPENCL, name, NUMBER_##from, NUMBER_##to, kept, 0, NULL, body, claim},
#include "probe/conversions.def"
};
enum { ROWS = sizeof rows / sizeof *rows, MOST = 1 << 20, THREADS = 256 };

static row_kind kind_of(const char *device) {
    static const char *const names[ROW_KINDS] = {"cuda", "cpu", "opencl"};
    for (int i = 0; i < ROW_KINDS; i++) {
        size_t length = strlen(names[i]);
        if (!strncmp(device, names[i], length) && (!device[length] || device[length] == ':'))
            return (row_kind)i;
    }
    return ROW_KINDS;
}

const char *const *conversion_names(arena *a, const char *device, int *count) {
    const char **names = NEW_ARRAY(a, const char *, ROWS);
    *count = 0;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].kind == kind_of(device))
            names[(*count)++] = rows[i].name;
    return names;
}

/* ---- devices that take texts ---- */

typedef struct text_box {
    const runtime *runtime;
    device *device;
    text_kernel *kernel;
    void *in, *out;
} text_box;

static bool run_text(void *context, const uint32_t *codes, uint32_t *answers, int count, diag_list *diags) {
    text_box *b = context;
    const text_argument arguments[] = {{.array = b->in}, {.array = b->out}, {.bytes = 4, .value.i32 = count}};
    text_launch launch = {
        .blocks = {(count + THREADS - 1) / THREADS, 1, 1}, .threads = {THREADS, 1, 1}, .arguments = arguments, .count = 3};
    return b->runtime->copy_in(b->device, b->in, codes, (int64_t)count * 4, diags) &&
           b->runtime->text->launch(b->device, b->kernel, &launch, diags) &&
           b->runtime->copy_out(b->device, answers, b->out, (int64_t)count * 4, diags);
}

static void close_text(void *context) {
    text_box *b = context;
    if (b->kernel)
        b->runtime->text->unload(b->device, b->kernel);
    if (b->in)
        b->runtime->release(b->device, b->in);
    if (b->out)
        b->runtime->release(b->device, b->out);
    if (b->device)
        b->runtime->close(b->device);
    free(b);
}

static char *kernel_text(const conversion_row *row) {
    text_buffer t = {0};
    if (row->kind == ROW_CUDA)
        text_add(
            &t,
            "extern \"C\" __global__ void __launch_bounds__(%d) convert(const unsigned *in, unsigned *out, int n) {\n"
            "    int i = blockIdx.x * %d + threadIdx.x;\n    unsigned x, y;\n    if (i >= n)\n        return;\n    x = in[i];\n"
            "    asm volatile(\"{%s}\" : \"=r\"(y) : \"r\"(x));\n    out[i] = y;\n}\n",
            THREADS, THREADS, row->body);
    else
        text_add(&t,
                 "__kernel void convert(__global const uint *in, __global uint *out, int n) {\n    int i = get_global_id(0);\n"
                 "    if (i < n) {\n        uint x = in[i], y;\n        %s\n        out[i] = y;\n    }\n}\n",
                 row->body);
    return t.text;
}

static bool open_text(const conversion_row *row, conversion_box *out, diag_list *diags) {
    int index;
    const runtime *r = runtime_find(out->device, &index, diags);
    if (!r)
        return false;
    r->describe(index, out->description, sizeof out->description);
    const char *sm = strstr(out->description, "sm_");
    if (sm && atoi(sm + 3) < row->architecture) {
        diag_error(diags, "E1202", (source_span){0}, "%s has no %s: it is for sm_%d and later", out->device, row->name,
                   row->architecture);
        return false;
    }
    text_box *b = calloc(1, sizeof *b);
    char *text = kernel_text(row);
    if (!b || !text) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for a probe");
        free(b), free(text);
        return false;
    }
    b->runtime = r;
    out->context = b;
    out->run = run_text;
    out->close = close_text;
    bool good = (b->device = r->open(index, diags)) &&
                (b->kernel = r->text->load(b->device, row->name, text, "convert", diags)) &&
                (b->in = r->allocate(b->device, MOST * 4, diags)) && (b->out = r->allocate(b->device, MOST * 4, diags));
    free(text);
    return good;
}

/* ---- this processor ---- */

typedef int (*cpu_function)(long n, const uint32_t *in, uint32_t *out);
typedef struct processor_box {
    void *library;
    cpu_function convert;
} processor_box;

static bool run_cpu(void *context, const uint32_t *codes, uint32_t *answers, int count, diag_list *diags) {
    (void)diags;
    return ((processor_box *)context)->convert(count, codes, answers); /* counts are multiples of 16 */
}

static void close_cpu(void *context) {
    processor_box *b = context;
    if (b->library)
        dlclose(b->library);
    free(b);
}

static bool open_cpu(const conversion_row *row, conversion_box *out, diag_list *diags) {
    text_buffer t = {0};
    text_add(
        &t,
        "#if defined(%s)\n#include <immintrin.h>\n"
        "int convert(long n, const unsigned *in, unsigned *out) {\n    for (long i = 0; i < n; i += 16) {\n"
        "        __m512i x = _mm512_loadu_si512(in + i);\n        _mm512_storeu_si512(out + i, %s);\n    }\n    return 1;\n}\n"
        "#else\nint convert(long n, const unsigned *in, unsigned *out) {\n    return 0;\n}\n#endif\n",
        row->macro, row->body);
    processor_box *b = calloc(1, sizeof *b);
    if (b)
        *(void **)&b->convert = cpu_function_load(t.text, row->name, "convert", &b->library, diags);
    text_free(&t);
    if (!b || !b->library) {
        free(b);
        return false;
    }
    int index;
    const runtime *r = runtime_find("cpu", &index, diags);
    r->describe(index, out->description, sizeof out->description);
    out->context = b;
    out->run = run_cpu;
    out->close = close_cpu;
    if (b->convert && b->convert(0, NULL, NULL))
        return true;
    diag_error(diags, "E1202", (source_span){0}, "this processor has no %s", row->name);
    return false;
}

/* NULL: there is none. */
static const conversion_row *row_named(row_kind kind, const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i].kind == kind && !strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static conversion_box box_of(const conversion_row *row, const char *device) {
    return (conversion_box){
        .device = device, .name = row->name, .from = row->from, .to = row->to, .kept_bits = row->kept_bits, .claim = row->claim};
}

bool conversion_open(const char *device, const char *name, conversion_box *out, diag_list *diags) {
    const conversion_row *row = row_named(kind_of(device), name);
    *out = (conversion_box){.device = device};
    if (!row) {
        diag_error(diags, "E1203", (source_span){0}, "%s has no conversion `%s` that can be probed", device, name);
        return false;
    }
    *out = box_of(row, device);
    if (row->kind == ROW_CPU ? open_cpu(row, out, diags) : open_text(row, out, diags))
        return true;
    conversion_close(out);
    return false;
}

char *conversion_text(const char *target, const char *name, conversion_box *out, int *architecture) {
    const conversion_row *row = kind_of(target) == ROW_CPU ? NULL : row_named(kind_of(target), name);
    if (!row)
        return NULL;
    *out = box_of(row, target);
    *architecture = row->architecture;
    return kernel_text(row);
}

void conversion_close(conversion_box *box) {
    if (box->close)
        box->close(box->context);
    box->close = NULL;
}
