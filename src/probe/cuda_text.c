/* Texts of CUDA probe kernels: PTX by hand, lanes' addresses from the table of layouts. No header is needed. */
#include "probe/cuda_text.h"
#include <stdlib.h>
#include <string.h>

#define MMA(shape, d, a, b) "mma.sync.aligned." shape ".row.col." d "." a "." b "." d
#define MMA_CLAMPED(shape, d, a, b) "mma.sync.aligned." shape ".row.col.satfinite." d "." a "." b "." d
#define WGMMA(shape, d, a, b) "wgmma.mma_async.sync.aligned." shape "." d "." a "." b
const cuda_instruction cuda_instructions[] = {
    {"m16n8k8.f16", NUMBER_F16, NUMBER_F16, NUMBER_F32, 16, 8, MMA("m16n8k8", "f32", "f16", "f16"), "", 80, false},
    {"m16n8k8.bf16", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 16, 8, MMA("m16n8k8", "f32", "bf16", "bf16"), "", 80, false},
    {"m16n8k8.f16.f16", NUMBER_F16, NUMBER_F16, NUMBER_F16, 16, 8, MMA("m16n8k8", "f16", "f16", "f16"), "", 80, false},
    {"m16n8k16.f16", NUMBER_F16, NUMBER_F16, NUMBER_F32, 16, 16, MMA("m16n8k16", "f32", "f16", "f16"), "", 80, false},
    {"m16n8k16.bf16", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 16, 16, MMA("m16n8k16", "f32", "bf16", "bf16"), "", 80, false},
    {"m16n8k16.f16.f16", NUMBER_F16, NUMBER_F16, NUMBER_F16, 16, 16, MMA("m16n8k16", "f16", "f16", "f16"), "", 80, false},
    {"m16n8k4.tf32", NUMBER_F32, NUMBER_F32, NUMBER_F32, 16, 4, MMA("m16n8k4", "f32", "tf32", "tf32"), "", 80, false},
    {"m16n8k8.tf32", NUMBER_F32, NUMBER_F32, NUMBER_F32, 16, 8, MMA("m16n8k8", "f32", "tf32", "tf32"), "", 80, false},
    {"m16n8k32.e4m3", NUMBER_E4M3, NUMBER_E4M3, NUMBER_F32, 16, 32, MMA("m16n8k32", "f32", "e4m3", "e4m3"), "", 89, false},
    {"m16n8k32.e5m2", NUMBER_E5M2, NUMBER_E5M2, NUMBER_F32, 16, 32, MMA("m16n8k32", "f32", "e5m2", "e5m2"), "", 89, false},
    {"m16n8k32.e4m3.f16", NUMBER_E4M3, NUMBER_E4M3, NUMBER_F16, 16, 32, MMA("m16n8k32", "f16", "e4m3", "e4m3"), "", 89, false},
    {"m16n8k16.e4m3", NUMBER_E4M3, NUMBER_E4M3, NUMBER_F32, 16, 16, MMA("m16n8k16", "f32", "e4m3", "e4m3"), "", 89, false},
    {"m16n8k32.e4m3xe5m2", NUMBER_E4M3, NUMBER_E5M2, NUMBER_F32, 16, 32, MMA("m16n8k32", "f32", "e4m3", "e5m2"), "", 89, false},
    {"m16n8k32.s8", NUMBER_S8, NUMBER_S8, NUMBER_S32, 16, 32, MMA("m16n8k32", "s32", "s8", "s8"), "", 80, false},
    {"m16n8k32.u8", NUMBER_U8, NUMBER_U8, NUMBER_S32, 16, 32, MMA("m16n8k32", "s32", "u8", "u8"), "", 80, false},
    {"m16n8k32.s8.satfinite", NUMBER_S8, NUMBER_S8, NUMBER_S32, 16, 32, MMA_CLAMPED("m16n8k32", "s32", "s8", "s8"), "", 80,
     false},
    {"m16n8k64.s4", NUMBER_S4, NUMBER_S4, NUMBER_S32, 16, 64, MMA("m16n8k64", "s32", "s4", "s4"), "", 80, false},
    {"m16n8k64.u4", NUMBER_U4, NUMBER_U4, NUMBER_S32, 16, 64, MMA("m16n8k64", "s32", "u4", "u4"), "", 80, false},
    {"wgmma.m64n8k16.f16", NUMBER_F16, NUMBER_F16, NUMBER_F32, 64, 16, WGMMA("m64n8k16", "f32", "f16", "f16"), ", 1, 1, 0, 0", 90,
     true},
    {"wgmma.m64n8k16.bf16", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 64, 16, WGMMA("m64n8k16", "f32", "bf16", "bf16"),
     ", 1, 1, 0, 0", 90, true},
    {"wgmma.m64n8k16.f16.f16", NUMBER_F16, NUMBER_F16, NUMBER_F16, 64, 16, WGMMA("m64n8k16", "f16", "f16", "f16"), ", 1, 1, 0, 0",
     90, true},
    {"wgmma.m64n8k8.tf32", NUMBER_F32, NUMBER_F32, NUMBER_F32, 64, 8, WGMMA("m64n8k8", "f32", "tf32", "tf32"), ", 1, 1", 90,
     true},
    {"wgmma.m64n8k32.e4m3", NUMBER_E4M3, NUMBER_E4M3, NUMBER_F32, 64, 32, WGMMA("m64n8k32", "f32", "e4m3", "e4m3"), ", 1, 1", 90,
     true},
    {"wgmma.m64n8k32.e5m2", NUMBER_E5M2, NUMBER_E5M2, NUMBER_F32, 64, 32, WGMMA("m64n8k32", "f32", "e5m2", "e5m2"), ", 1, 1", 90,
     true},
    {"wgmma.m64n8k32.e4m3.f16", NUMBER_E4M3, NUMBER_E4M3, NUMBER_F16, 64, 32, WGMMA("m64n8k32", "f16", "e4m3", "e4m3"), ", 1, 1",
     90, true},
    {"wgmma.m64n8k32.e4m3xe5m2", NUMBER_E4M3, NUMBER_E5M2, NUMBER_F32, 64, 32, WGMMA("m64n8k32", "f32", "e4m3", "e5m2"), ", 1, 1",
     90, true},
    {"wgmma.m64n8k32.s8.satfinite", NUMBER_S8, NUMBER_S8, NUMBER_S32, 64, 32, WGMMA("m64n8k32.satfinite", "s32", "s8", "s8"), "",
     90, true},
    {"wgmma.m64n8k32.s8", NUMBER_S8, NUMBER_S8, NUMBER_S32, 64, 32, WGMMA("m64n8k32", "s32", "s8", "s8"), "", 90, true},
    {"wgmma.m64n8k32.u8", NUMBER_U8, NUMBER_U8, NUMBER_S32, 64, 32, WGMMA("m64n8k32", "s32", "u8", "u8"), "", 90, true}};
const int cuda_instruction_count = sizeof cuda_instructions / sizeof *cuda_instructions;

const cuda_instruction *cuda_instruction_find(const char *name) {
    for (int i = 0; i < cuda_instruction_count; i++)
        if (!strcmp(cuda_instructions[i].name, name))
            return &cuda_instructions[i];
    return NULL;
}

int cuda_dots_tiles_a_block(const cuda_instruction *i) {
    return i->warpgroup ? 1 : 4;
}

/* row * row_bytes + column * column_bytes of a lane's element, as an expression of `lane`. */
void cuda_text_offset(text_buffer *t, const fragment_layout *l, int element, int row_bytes, int column_bytes) {
    int row, column;
    fragment_layout_place(l, 0, element, &row, &column);
    text_add(t, "%d", row * row_bytes + column * column_bytes);
    for (int bit = 0; 1 << bit < l->lanes; bit++)
        text_add(t, " + (lane >> %d & 1) * %d", bit, l->lane[bit].row * row_bytes + l->lane[bit].column * column_bytes);
}

void cuda_text_registers(text_buffer *t, const char *name, int count, const char *form) {
    for (int i = 0; i < count; i++) {
        text_add(t, i ? ", " : "");
        text_add(t, form, name, i);
    }
}

static int per_register(const fragment_layout *l) {
    return 32 / l->bits;
}

/* Registers of c as the instruction takes them: floats by themselves, everything else in words. */
const char *cuda_text_result_type(const cuda_instruction *i) {
    return i->c == NUMBER_F32 ? "float" : i->c == NUMBER_S32 ? "int" : "unsigned";
}

/* r[] to z.v[], and back. */
void cuda_text_results(text_buffer *t, const cuda_instruction *i, int registers, bool back) {
    const char *to = i->c == NUMBER_F32 ? "__uint_as_float" : "", *from = i->c == NUMBER_F32 ? "__float_as_uint" : "";
    text_add(t, "    for (int i = 0; i < %d; i++)\n", registers);
    if (back)
        text_add(t, "        r[i] = %s(z.v[i]);\n", from);
    else
        text_add(t, "        z.v[i] = %s(r[i]);\n", to);
}

/* A warp's instruction as a function product(d, a, b, c) over structures of registers. */
static void add_product(text_buffer *t, const cuda_instruction *i, int ra, int rb, int rc) {
    const char *out = i->c == NUMBER_F32 ? "\"=f\"(d.%s[%d])" : "\"=r\"(d.%s[%d])",
               *in = i->c == NUMBER_F32 ? "\"f\"(c.%s[%d])" : "\"r\"(c.%s[%d])";
    const int counts[] = {rc, ra, rb, rc};
    int at = 0;
    text_add(
        t,
        "struct operand_a {\n    unsigned v[%d];\n};\nstruct operand_b {\n    unsigned v[%d];\n};\nstruct operand_c {\n    %s "
        "v[%d];\n};\n"
        "static __device__ void product(operand_c &d, const operand_a &a, const operand_b &b, const operand_c &c) {\n    "
        "asm(\"%s ",
        ra, rb, cuda_text_result_type(i), rc, i->mnemonic);
    for (int operand = 0; operand < 4; operand++) {
        text_add(t, operand ? ", {" : "{");
        for (int r = 0; r < counts[operand]; r++)
            text_add(t, "%s%%%d", r ? ", " : "", at++);
        text_add(t, "}");
    }
    text_add(t, ";\"\n        : ");
    cuda_text_registers(t, "v", rc, out);
    text_add(t, "\n        : ");
    cuda_text_registers(t, "v", ra, "\"r\"(a.%s[%d])");
    text_add(t, ", ");
    cuda_text_registers(t, "v", rb, "\"r\"(b.%s[%d])");
    text_add(t, ", ");
    cuda_text_registers(t, "v", rc, in);
    text_add(t, ");\n}\n");
}

/* c's registers from memory, or to it; one cell of 32 bits an element there. */
void cuda_text_cells(text_buffer *t, const fragment_layout *c, bool load) {
    for (int e = 0; e < c->elements; e++) {
        int r = e / per_register(c), shift = e % per_register(c) * c->bits;
        if (load) {
            text_add(t, "    r[%d] %s (cells[", r, shift ? "|=" : "=");
            cuda_text_offset(t, c, e, 8, 1);
            text_add(t, "]%s) << %d;\n", c->bits == 16 ? " & 0xffffu" : "", shift);
        } else {
            text_add(t, "    results[");
            cuda_text_offset(t, c, e, 8, 1);
            text_add(t, "] = r[%d] >> %d%s;\n", r, shift, c->bits == 16 ? " & 0xffffu" : "");
        }
    }
}

const char *const cuda_text_dots_head =
    "extern \"C\" __global__ void __launch_bounds__(128) dots(const unsigned char *a, const unsigned char *b, const unsigned *c, "
    "unsigned *d, int tiles) {\n";

/* Codes of 4 bits lie in bytes, as all others do, until they are in registers. */
static const char *const nibbles_text =
    "static __device__ unsigned nibbles(const unsigned char *p) {\n    unsigned all = 0;\n    for (int i = 0; i < 8; i++)\n"
    "        all |= (p[i] & 15u) << 4 * i;\n    return all;\n}\n";

static char *warp_text(const cuda_instruction *i) {
    fragment_layout layouts[3];
    if (!fragment_layouts_find("cuda", i->name, layouts))
        return NULL;
    const fragment_layout a = layouts[0], b = layouts[1], c = layouts[2];
    int bytes = number_table[i->a].bytes, row = i->k * bytes, ra = fragment_layout_registers(&a),
        rb = fragment_layout_registers(&b), rc = fragment_layout_registers(&c);
    text_buffer t = {0};
    add_product(&t, i, ra, rb, rc);
    if (a.bits == 4)
        text_add(&t, "%s", nibbles_text);
    text_add(&t,
             "%s    const int lane = threadIdx.x & 31, tile = blockIdx.x * 4 + (threadIdx.x >> 5);\n    if (tile >= tiles)\n     "
             "   return;\n",
             cuda_text_dots_head);
    text_add(&t, "    const unsigned char *const pa = a + (long long)tile * %d, *const pb = b + (long long)tile * %d;\n",
             16 * row, 8 * row);
    text_add(&t, "    const unsigned *const cells = c + (long long)tile * 128;\n    unsigned *const results = d + (long "
                 "long)tile * 128;\n");
    text_add(&t, "    operand_a x;\n    operand_b y;\n    operand_c z;\n    unsigned r[%d];\n", rc);
    for (int r = 0; r < ra; r++) {
        text_add(&t, "    x.v[%d] = %s(pa + ", r, a.bits == 4 ? "nibbles" : "*(const unsigned *)");
        cuda_text_offset(&t, &a, r * per_register(&a), row, bytes);
        text_add(&t, ");\n");
    }
    /* b is stored column by column. */
    for (int r = 0; r < rb; r++) {
        text_add(&t, "    y.v[%d] = %s(pb + ", r, b.bits == 4 ? "nibbles" : "*(const unsigned *)");
        cuda_text_offset(&t, &b, r * per_register(&b), bytes, row);
        text_add(&t, ");\n");
    }
    cuda_text_cells(&t, &c, true);
    cuda_text_results(&t, i, rc, false);
    text_add(&t, "    product(z, x, y, z);\n");
    cuda_text_results(&t, i, rc, true);
    cuda_text_cells(&t, &c, false);
    text_add(&t, "}\n");
    return t.text;
}

char *cuda_dots_text(const cuda_instruction *i) {
    return i->warpgroup ? cuda_placed_text(i, PLACE_MEMORY) : warp_text(i);
}

char *cuda_onehot_text(const cuda_instruction *i) {
    fragment_layout layouts[3];
    if (i->warpgroup || !fragment_layouts_find("cuda", i->name, layouts))
        return NULL;
    const fragment_layout a = layouts[0], b = layouts[1], c = layouts[2];
    int ra = fragment_layout_registers(&a), rb = fragment_layout_registers(&b), rc = fragment_layout_registers(&c);
    text_buffer t = {0};
    add_product(&t, i, ra, rb, rc);
    text_add(&t,
             "extern \"C\" __global__ void __launch_bounds__(128) onehot(unsigned char *out, int first, int cases, unsigned "
             "one_a, unsigned one_b) {\n"
             "    const int lane = threadIdx.x & 31, number = blockIdx.x * 4 + (threadIdx.x >> 5);\n"
             "    if (number >= cases)\n"
             "        return;\n"
             "    const int pair = first + number, pa = pair / %d, pb = pair %% %d;\n"
             "    operand_a x;\n    operand_b y;\n    operand_c z;\n    unsigned r[%d];\n",
             32 * b.elements, 32 * b.elements, rc);
    text_add(&t,
             "    for (int i = 0; i < %d; i++)\n"
             "        x.v[i] = lane == pa / %d && i == pa %% %d / %d ? one_a << (pa %% %d * %d) : 0;\n",
             ra, a.elements, a.elements, per_register(&a), per_register(&a), a.bits);
    text_add(&t,
             "    for (int i = 0; i < %d; i++)\n"
             "        y.v[i] = lane == pb / %d && i == pb %% %d / %d ? one_b << (pb %% %d * %d) : 0;\n",
             rb, b.elements, b.elements, per_register(&b), per_register(&b), b.bits);
    text_add(&t, "    for (int i = 0; i < %d; i++)\n        r[i] = 0;\n", rc);
    cuda_text_results(&t, i, rc, false);
    text_add(&t, "    product(z, x, y, z);\n");
    cuda_text_results(&t, i, rc, true);
    text_add(&t, "    unsigned set = 0;\n");
    for (int e = 0; e < c.elements; e++)
        text_add(&t, "    set |= (r[%d] >> %d%s) != 0 ? %du : 0;\n", e / per_register(&c), e % per_register(&c) * c.bits,
                 c.bits == 16 ? " & 0xffffu" : "", 1 << e);
    text_add(&t, "    out[(long long)number * 32 + lane] = (unsigned char)set;\n}\n");
    return t.text;
}

/* Operands that are finite in every format, and differ from lane to lane: what a unit does with zeros may be faster. */
const char *const cuda_text_some_bits = "((threadIdx.x * 2654435761u + %du) & 0x3f3f3f3fu)";

/* Each chain has a b of its own and a changes from round to round: what an emulation would do once for all products, it does for each. */
static char *warp_rate_text(const cuda_instruction *i) {
    fragment_layout layouts[3];
    if (!fragment_layouts_find("cuda", i->name, layouts))
        return NULL;
    const fragment_layout a = layouts[0], b = layouts[1], c = layouts[2];
    int ra = fragment_layout_registers(&a), rb = fragment_layout_registers(&b), rc = fragment_layout_registers(&c);
    text_buffer t = {0};
    add_product(&t, i, ra, rb, rc);
    text_add(&t,
             "extern \"C\" __global__ void __launch_bounds__(128) rate(unsigned *out, int n) {\n"
             "    operand_a x;\n    operand_b y[%d];\n    operand_c z, chains[%d];\n    unsigned r[%d];\n",
             CUDA_RATE_CHAINS, CUDA_RATE_CHAINS, rc);
    for (int r = 0; r < ra; r++) {
        text_add(&t, "    x.v[%d] = ", r);
        text_add(&t, cuda_text_some_bits, r);
        text_add(&t, ";\n");
    }
    text_add(&t,
             "    for (int j = 0; j < %d; j++)\n        for (int i = 0; i < %d; i++)\n            y[j].v[i] = ", CUDA_RATE_CHAINS,
             rb);
    text_add(&t, cuda_text_some_bits, 7);
    text_add(&t, " ^ (j * 0x01010101u);\n");
    text_add(&t, "    for (int i = 0; i < %d; i++)\n        r[i] = 0;\n", rc);
    cuda_text_results(&t, i, rc, false);
    text_add(&t,
             "    for (int j = 0; j < %d; j++)\n        chains[j] = z;\n"
             "    for (int i = 0; i < n; i++) {\n        for (int j = 0; j < %d; j++)\n            x.v[j] ^= i & "
             "0x01010101;\n#pragma unroll\n"
             "        for (int j = 0; j < %d; j++)\n            product(chains[j], x, y[j], chains[j]);\n    }\n"
             "    unsigned all = 0;\n    for (int j = 0; j < %d; j++) {\n        z = chains[j];\n    ",
             CUDA_RATE_CHAINS, ra, CUDA_RATE_CHAINS, CUDA_RATE_CHAINS);
    cuda_text_results(&t, i, rc, true);
    text_add(&t, "        for (int i = 0; i < %d; i++)\n            all ^= r[i];\n    }\n", rc);
    text_add(&t, "    out[blockIdx.x * 128 + threadIdx.x] = all;\n}\n");
    return t.text;
}

char *cuda_rate_text(const cuda_instruction *i) {
    return i->warpgroup ? cuda_warpgroup_rate_text(i) : warp_rate_text(i);
}

char *cuda_scalar_rate_text(void) {
    text_buffer t = {0};
    text_add(&t,
             "extern \"C\" __global__ void __launch_bounds__(128) rate(unsigned *out, int n) {\n"
             "    float x[%d], y = 1.0f + threadIdx.x * 1e-6f;\n"
             "    for (int j = 0; j < %d; j++)\n        x[j] = j + threadIdx.x;\n"
             "#pragma unroll 8\n    for (int i = 0; i < n; i++)\n#pragma unroll\n        for (int j = 0; j < %d; j++)\n"
             "            x[j] = fmaf(x[j], y, 0.5f);\n"
             "    float all = 0;\n    for (int j = 0; j < %d; j++)\n        all += x[j];\n"
             "    out[blockIdx.x * 128 + threadIdx.x] = __float_as_uint(all);\n}\n",
             CUDA_RATE_CHAINS, CUDA_RATE_CHAINS, CUDA_RATE_CHAINS, CUDA_RATE_CHAINS);
    return t.text;
}
