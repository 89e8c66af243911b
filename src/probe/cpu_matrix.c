/* The CPU's dot products. */
#include "probe/cpu_matrix.h"
#include "run/run.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define TILES "Intel SDM: the products of a step of four bytes are added to c, step by step, without saturation"
#define TILE_OF_BYTES(name, a, b)                                                                                                \
    { name, NUMBER_##a, NUMBER_##b, NUMBER_S32, 64, "__AMX_INT8__", NULL, false, TILES }
#define VNNI "Intel SDM: the four products are summed with c "
const cpu_instruction cpu_instructions[] = {{"vdpbf16ps", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 2, "__AVX512BF16__",
                                             "(__m512i)_mm512_dpbf16_ps((__m512)z, (__m512bh)x, (__m512bh)y)", true,
                                             "Intel SDM: each product is added in turn, rounding to nearest; subnormals are "
                                             "zero, in and out; MXCSR is neither consulted nor updated"},
                                            {"vpdpbusd", NUMBER_U8, NUMBER_S8, NUMBER_S32, 4, "__AVX512VNNI__",
                                             "_mm512_dpbusd_epi32(z, x, y)", false, VNNI "without saturation"},
                                            {"vpdpbusds", NUMBER_U8, NUMBER_S8, NUMBER_S32, 4, "__AVX512VNNI__",
                                             "_mm512_dpbusds_epi32(z, x, y)", false, VNNI "with signed saturation"},
                                            {"tdpbf16ps", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 32, "__AMX_BF16__", NULL, true,
                                             "Intel SDM: even and odd products are summed apart, in order, then added, and that "
                                             "to c, rounding to nearest; subnormals are zero, in and out; MXCSR is neither "
                                             "consulted nor updated"},
                                            TILE_OF_BYTES("tdpbssd", S8, S8),
                                            TILE_OF_BYTES("tdpbsud", S8, U8),
                                            TILE_OF_BYTES("tdpbusd", U8, S8),
                                            TILE_OF_BYTES("tdpbuud", U8, U8)};
const int cpu_instruction_count = sizeof cpu_instructions / sizeof *cpu_instructions;

const cpu_instruction *cpu_instruction_find(const char *name) {
    for (int i = 0; i < cpu_instruction_count; i++)
        if (!strcmp(cpu_instructions[i].name, name))
            return &cpu_instructions[i];
    return NULL;
}

/* n dots, a multiple of 16, or tiles; `control`: what MXCSR is while they run. 0 when the processor has no such instruction. */
typedef int (*dots_function)(long n, const void *a, const void *b, const void *c, void *d, unsigned control);
typedef struct cpu_box {
    void *library;
    dots_function dots;
    unsigned control;
    const cpu_instruction *instruction;
    cpu_rates rates;
} cpu_box;
enum { DEFAULT_CONTROL = 0x1F80, FLUSH = 0x8040, LANES = 16 };

static bool run(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d, diag_list *diags) {
    cpu_box *x = context;
    int64_t whole = tiles / LANES * LANES, row = (int64_t)x->instruction->k * number_table[x->instruction->a].bytes;
    char last[3][LANES * 4] = {{0}};
    uint32_t out[LANES];
    (void)diags;
    if (!x->instruction->intrinsic) {
        x->dots(tiles, a, b, c, d, x->control);
        return true;
    }
    x->dots(whole, a, b, c, d, x->control);
    if (whole < tiles) {
        memcpy(last[0], (const char *)a + whole * row, (size_t)((tiles - whole) * row));
        memcpy(last[1], (const char *)b + whole * row, (size_t)((tiles - whole) * row));
        memcpy(last[2], c + whole, (size_t)(tiles - whole) * 4);
        x->dots(LANES, last[0], last[1], last[2], out, x->control);
        memcpy(d + whole, out, (size_t)(tiles - whole) * 4);
    }
    return true;
}

static bool rate(void *context, rate_of which, double *per_second, diag_list *diags) {
    cpu_box *x = context;
    return cpu_rate(&x->rates, x->instruction, which, per_second, diags);
}

static const char *energy(void *context, arena *a) {
    cpu_box *x = context;
    return cpu_energy(&x->rates, x->instruction, a);
}

static void close_box(void *context) {
    cpu_box *x = context;
    if (x->rates.library)
        dlclose(x->rates.library);
    if (x->library)
        dlclose(x->library);
}

void *cpu_function_load(const char *text, const char *name, const char *symbol, void **library, diag_list *diags) {
    bool hit;
    char *path = cache_compile(text, name, &hit, diags);
    *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && !*library)
        diag_error(diags, "E0804", (source_span){0}, "%s: the compiled code cannot be loaded: %s", name, dlerror());
    free(path);
    return *library ? dlsym(*library, symbol) : NULL;
}

bool cpu_matrix_open(arena *a, const cpu_instruction *i, probe_target *out, diag_list *diags) {
    text_buffer t = {0};
    const bool tiled = !i->intrinsic;
    if (tiled)
        t.text = cpu_tile_text(i);
    else
        text_add(
            &t,
            "#if defined(%s)\n"
            "#include <immintrin.h>\n"
            "int dots(long n, const char *a, const char *b, const char *c, char *d, unsigned control) {\n"
            "    unsigned before = _mm_getcsr();\n"
            "    _mm_setcsr(control);\n"
            "    for (long i = 0; i < n; i += 16) {\n"
            "        __m512i x = _mm512_loadu_si512(a + 4 * i), y = _mm512_loadu_si512(b + 4 * i), z = _mm512_loadu_si512(c + 4 "
            "* i);\n"
            "        __m512i r = %s;\n"
            "        __asm__ volatile(\"\" : \"+v\"(r)); /* between the two settings */\n"
            "        _mm512_storeu_si512(d + 4 * i, r);\n"
            "    }\n"
            "    _mm_setcsr(before);\n"
            "    return 1;\n"
            "}\n" CPU_NO_DOTS,
            i->macro, i->intrinsic);
    void *library;
    void *function = cpu_function_load(t.text, i->name, "dots", &library, diags);
    text_free(&t);
    if (!library)
        return false;
    cpu_box *x = NEW(a, cpu_box);
    *x = (cpu_box){.library = library, .control = DEFAULT_CONTROL, .instruction = i};
    *(void **)&x->dots = function;
    if (!x->dots || !x->dots(0, NULL, NULL, NULL, NULL, DEFAULT_CONTROL)) {
        diag_error(diags, "E1202", (source_span){0}, "this processor has no %s, or the compiler does not know that it has",
                   i->name);
        close_box(x);
        return false;
    }
    int index;
    const runtime *r = runtime_find("cpu", &index, NULL);
    if (r)
        r->describe(0, out->description, sizeof out->description);
    out->box = (matrix_box){"cpu", i->name, i->a, i->b, i->c, i->k, tiled ? 16 : 1, tiled ? 16 : 1, x, run, i->claim};
    out->rate = rate;
    out->twin = "vfmadd231ps";
    /* two fma of 16 lanes a cycle; a product of tiles takes 16 cycles (Intel's optimization manual), which is 8 times the operations of a vector of such operands */
    out->twin_bits = tiled ? 8 * 32 : 32;
    out->opcodes = energy;
    out->context = x;
    out->close = close_box;
    return true;
}

int cpu_controlled(const probe_target *t, int count, diag_list *diags) {
    cpu_box *x = t->context;
    if (t->close != close_box || !x->instruction->floats)
        return -1;
    static const unsigned controls[] = {DEFAULT_CONTROL | 0x2000, DEFAULT_CONTROL | 0x4000, DEFAULT_CONTROL | 0x6000,
                                        DEFAULT_CONTROL | FLUSH};
    matrix_question *usual = calloc((size_t)count, sizeof *usual), *other = calloc((size_t)count, sizeof *other);
    int differ = usual && other ? 0 : -1, unstable;
    uint64_t state = 1;
    for (int i = 0; differ >= 0 && i < count; i++)
        ladder_random(&t->box, &state, i % LADDER_KINDS, &usual[i]);
    if (differ >= 0)
        memcpy(other, usual, (size_t)count * sizeof *usual);
    bool good = differ >= 0 && matrix_box_ask(&t->box, usual, count, &unstable, diags);
    for (size_t c = 0; good && c < sizeof controls / sizeof *controls; c++) {
        x->control = controls[c];
        good = matrix_box_ask(&t->box, other, count, &unstable, diags);
        for (int i = 0; good && i < count; i++)
            differ += usual[i].answer != other[i].answer;
    }
    x->control = DEFAULT_CONTROL;
    free(usual);
    free(other);
    return good ? differ : -1;
}
