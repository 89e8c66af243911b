/* A CUDA device's matrix instruction as a black box, through the runtime that runs other people's texts. */
#include "probe/cuda_matrix.h"
#include "bench/machine.h"
#include "run/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CELLS = 1 << 19, MOST_CASES = 1 << 15, THREADS = 128 };

/* What a matrix_box of it has for its context: which kernel. */
typedef struct placed_box {
    struct cuda_box *box;
    text_kernel *kernel;
} placed_box;

struct cuda_box {
    const cuda_instruction *instruction;
    const runtime *runtime;
    device *device;
    text_kernel *onehot, *rates[RATE_COUNT]; /* rates: when first asked for */
    placed_box places[PLACE_COUNT];          /* `dots`: the first at once, the others when first asked for */
    int launches[RATE_COUNT];                /* n of a launch that takes some milliseconds */
    struct cuda_box *older;                  /* when first asked for */
    void *a, *b, *c, *d, *found;             /* device memory, for MOST_CELLS cells and MOST_CASES cases */
    char name[64], text[512];
    matrix_box box;
};

static bool run(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d, diag_list *diags) {
    const placed_box *placed = context;
    cuda_box *x = placed->box;
    const runtime *r = x->runtime;
    int64_t rows = x->box.rows, columns = x->box.columns, row = (int64_t)x->box.k * number_table[x->box.a].bytes,
            most = MOST_CELLS / (rows * columns);
    for (int64_t first = 0; first < tiles; first += most) {
        int64_t count = tiles - first < most ? tiles - first : most, cells = count * rows * columns * 4;
        const text_argument arguments[] = {
            {.array = x->a}, {.array = x->b}, {.array = x->c}, {.array = x->d}, {.bytes = 4, .value.i32 = (int32_t)count}};
        int each = cuda_dots_tiles_a_block(x->instruction);
        text_launch launch = {{(count + each - 1) / each, 1, 1}, {THREADS, 1, 1}, arguments, 5, 0};
        if (!r->copy_in(x->device, x->a, (const char *)a + first * rows * row, count * rows * row, diags) ||
            !r->copy_in(x->device, x->b, (const char *)b + first * columns * row, count * columns * row, diags) ||
            !r->copy_in(x->device, x->c, c + first * rows * columns, cells, diags) ||
            !r->text->launch(x->device, placed->kernel, &launch, diags) ||
            !r->copy_out(x->device, d + first * rows * columns, x->d, cells, diags))
            return false;
    }
    return true;
}

/* "sm_90" in the device's description. */
static int architecture_of(const char *text) {
    const char *at = strstr(text, "sm_");
    return at ? atoi(at + 3) : 0;
}

static text_kernel *load(cuda_box *b, const cuda_instruction *i, char *text, const char *entry, diag_list *diags) {
    const runtime_text *t = b->runtime->text;
    char name[96];
    snprintf(name, sizeof name, "%s of %.60s", entry, i->name);
    text_kernel *k = NULL;
    if (!text)
        diag_error(diags, "E1204", (source_span){0}, "%s: the table of layouts has no such instruction", i->name);
    else
        k = (i->warpgroup ? t->load_specific : t->load)(b->device, name, text, entry, diags);
    free(text);
    return k;
}

static bool open_box(cuda_box *b, int index, diag_list *diags) {
    const cuda_instruction *i = b->instruction;
    const runtime *r = b->runtime;
    r->describe(index, b->text, sizeof b->text);
    int architecture = architecture_of(b->text);
    if (architecture < i->from || (i->warpgroup && architecture != i->from)) {
        diag_error(diags, "E1202", (source_span){0}, "%s has no %s: it is for sm_%d%s", b->name, i->name, i->from,
                   i->warpgroup ? "a alone" : " and later");
        return false;
    }
    if (!(b->device = r->open(index, diags)) || !(b->places[0].kernel = load(b, i, cuda_dots_text(i), "dots", diags)) ||
        (!i->warpgroup && !(b->onehot = load(b, i, cuda_onehot_text(i), "onehot", diags))))
        return false;
    int64_t row = (int64_t)i->k * number_table[i->a].bytes, tiles = MOST_CELLS / (i->rows * 8);
    return (b->a = r->allocate(b->device, tiles * i->rows * row, diags)) &&
           (b->b = r->allocate(b->device, tiles * 8 * row, diags)) && (b->c = r->allocate(b->device, MOST_CELLS * 4, diags)) &&
           (b->d = r->allocate(b->device, MOST_CELLS * 4, diags)) && (b->found = r->allocate(b->device, MOST_CASES * 32, diags));
}

cuda_box *cuda_box_open(const char *device_name, const cuda_instruction *i, diag_list *diags) {
    int index;
    const runtime *r = runtime_find(device_name, &index, diags);
    if (!r)
        return NULL;
    if (!r->text || !r->text->load_specific) {
        diag_error(diags, "E1202", (source_span){0}, "%s has no matrix instructions that can be probed", device_name);
        return NULL;
    }
    cuda_box *b = calloc(1, sizeof *b);
    if (!b) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for a probe");
        return NULL;
    }
    b->instruction = i;
    b->runtime = r;
    snprintf(b->name, sizeof b->name, "%s", device_name);
    b->box = (matrix_box){b->name, i->name, i->a, i->b, i->c, i->k, i->rows, 8, &b->places[0], run, NULL};
    for (int place = 0; place < PLACE_COUNT; place++)
        b->places[place].box = b;
    b->box.claim = number_table[i->c].exponent_bits ? "PTX ISA: products and sums of at least single precision; the order, the "
                                                      "rounding and what happens to subnormals are unspecified"
                                                    : "PTX ISA: the sum wraps unless .satfinite is given";
    if (open_box(b, index, diags))
        return b;
    cuda_box_close(b);
    return NULL;
}

void cuda_box_close(cuda_box *b) {
    if (!b)
        return;
    cuda_box_close(b->older);
    void *const memory[] = {b->a, b->b, b->c, b->d, b->found};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (memory[i])
            b->runtime->release(b->device, memory[i]);
    for (int i = 0; i < PLACE_COUNT; i++)
        if (b->places[i].kernel)
            b->runtime->text->unload(b->device, b->places[i].kernel);
    if (b->onehot)
        b->runtime->text->unload(b->device, b->onehot);
    for (int i = 0; i < RATE_COUNT; i++)
        if (b->rates[i])
            b->runtime->text->unload(b->device, b->rates[i]);
    if (b->device)
        b->runtime->close(b->device);
    free(b);
}

const matrix_box *cuda_box_matrix(const cuda_box *b) {
    return &b->box;
}

bool cuda_box_place(cuda_box *b, cuda_place place, matrix_box *out, diag_list *diags) {
    placed_box *p = &b->places[place];
    if (!p->kernel && !(p->kernel = load(b, b->instruction, cuda_placed_text(b->instruction, place), "dots", diags)))
        return false;
    *out = b->box;
    out->context = p;
    return true;
}

bool cuda_box_older(cuda_box *b, matrix_box *out, diag_list *diags) {
    if (!b->older && !(b->older = cuda_box_open(b->name, cuda_rate_instruction(b->instruction, RATE_LEGACY), diags)))
        return false;
    *out = b->older->box;
    return true;
}

const char *cuda_box_device(const cuda_box *b) {
    return b->text;
}

static int one_of(number_kind kind) {
    uint32_t code = 1;
    if (number_table[kind].exponent_bits)
        number_make(kind, false, 0, 0, &code);
    return (int)code;
}

bool cuda_box_onehot(cuda_box *b, int first, int cases, unsigned char *out, diag_list *diags) {
    const runtime *r = b->runtime;
    for (int done = 0; done < cases; done += MOST_CASES) {
        int count = cases - done < MOST_CASES ? cases - done : MOST_CASES;
        const text_argument arguments[] = {{.array = b->found},
                                           {.bytes = 4, .value.i32 = first + done},
                                           {.bytes = 4, .value.i32 = count},
                                           {.bytes = 4, .value.i32 = one_of(b->box.a)},
                                           {.bytes = 4, .value.i32 = one_of(b->box.b)}};
        text_launch launch = {{(count + 3) / 4, 1, 1}, {THREADS, 1, 1}, arguments, 5, 0};
        if (!r->text->launch(b->device, b->onehot, &launch, diags) ||
            !r->copy_out(b->device, out + (int64_t)done * 32, b->found, (int64_t)count * 32, diags))
            return false;
    }
    return true;
}

int cuda_box_architecture(const cuda_box *b) {
    return architecture_of(b->text);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int rate_blocks(const cuda_box *b) {
    enum { BLOCKS_A_UNIT = 4, MOST_BLOCKS = MOST_CELLS / THREADS };
    int units = b->runtime->units(b->device);
    return units * BLOCKS_A_UNIT < MOST_BLOCKS ? units * BLOCKS_A_UNIT : MOST_BLOCKS;
}

/* Launches n rounds of each of `times`, and waits for the last. */
static bool launch_rate(cuda_box *b, rate_of which, int times, diag_list *diags) {
    const runtime *r = b->runtime;
    uint32_t word;
    const text_argument arguments[] = {{.array = b->d}, {.bytes = 4, .value.i32 = b->launches[which]}};
    text_launch launch = {{rate_blocks(b), 1, 1}, {THREADS, 1, 1}, arguments, 2, 0};
    bool good = true;
    for (int i = 0; i < times && good; i++)
        good = r->text->launch(b->device, b->rates[which], &launch, diags);
    return good && r->copy_out(b->device, &word, b->d, 4, diags);
}

static bool time_rate(cuda_box *b, rate_of which, int times, double *took, diag_list *diags) {
    double start = seconds();
    bool good = launch_rate(b, which, times, diags);
    *took = (seconds() - start) / times;
    return good;
}

/* Multiply-adds of a launch. */
static double rate_products(const cuda_box *b, rate_of which) {
    const cuda_instruction *i = cuda_rate_instruction(b->instruction, which);
    double each = i ? cuda_rate_products(i) : THREADS * CUDA_RATE_CHAINS;
    return each * rate_blocks(b) * b->launches[which];
}

bool cuda_box_rate(cuda_box *b, rate_of which, double *per_second, diag_list *diags) {
    const cuda_instruction *i = cuda_rate_instruction(b->instruction, which);
    enum { MOST_ROUNDS = 1 << 24 };
    double took;
    if (!b->rates[which]) {
        char *text = i ? cuda_rate_text(i) : cuda_scalar_rate_text();
        if (!(b->rates[which] = load(b, i ? i : b->instruction, text, "rate", diags)))
            return false;
        b->launches[which] = 1;
        do { /* until a launch outweighs what starting it takes */
            b->launches[which] *= 2;
            if (!time_rate(b, which, 1, &took, diags))
                return false;
        } while (took < 0.004 && b->launches[which] < MOST_ROUNDS);
    }
    if (!time_rate(b, which, 1, &took, diags))
        return false;
    *per_second = rate_products(b, which) / took;
    return true;
}

static double drawn(void) {
    json_t *gpus = machine_gpus();
    double watts = json_array_size(gpus) == 1 ? json_number_value(json_object_get(json_array_get(gpus, 0), "watts")) : 0;
    json_decref(gpus);
    return watts;
}

bool cuda_box_sustained(cuda_box *b, rate_of which, double *per_second, double *watts, diag_list *diags) {
    const double long_enough = 1.2; /* the management library tells the mean of a second */
    double took;
    *watts = 0;
    if (!cuda_box_rate(b, which, per_second, diags))
        return false;
    double before = drawn();
    if (before <= 0)
        return true;
    int times = (int)(long_enough * *per_second / rate_products(b, which)) + 1;
    if (!time_rate(b, which, times, &took, diags))
        return false;
    *watts = drawn();
    *per_second = rate_products(b, which) / took;
    return true;
}
