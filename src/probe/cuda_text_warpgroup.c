/* Texts of CUDA probe kernels whose instructions belong to a warpgroup (wgmma): operands in shared memory, plain or swizzled, or a in registers. */
#include "probe/cuda_text.h"
#include <stdio.h>
#include <string.h>

enum { RATE_COLUMNS = 128, RATE_CHAINS = 2 }; /* wide enough that reading a from shared memory holds nothing up */

/* Core matrices of 8 rows of 16 bytes, 128 bytes on in K, 256 in M or N; with the swizzle rows of 128 bytes, 8 of which are 1024 on. */
static const char *const descriptor_text[] = {
    "static __device__ unsigned long long descriptor(const void *p) {\n"
    "    const unsigned at = (unsigned)__cvta_generic_to_shared(p);\n"
    "    return (unsigned long long)((at & 0x3ffffu) >> 4) | 8ull << 16 | 16ull << 32;\n}\n",
    "static __device__ unsigned long long descriptor(const void *p) {\n"
    "    const unsigned at = (unsigned)__cvta_generic_to_shared(p);\n"
    "    return (unsigned long long)((at & 0x3ffffu) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;\n}\n"};

static const char *const plain_store =
    "    __shared__ __align__(128) unsigned char sa[2048], sb[256];\n"
    "    *(uint4 *)(sa + (row >> 3) * 256 + half * 128 + (row & 7) * 16) = *(const uint4 *)(pa + row * 32 + half * 16);\n"
    "    if (lane < 16)\n"
    "        *(uint4 *)(sb + half * 128 + row * 16) = *(const uint4 *)(pb + row * 32 + half * 16);\n"
    "    const unsigned char *const da = sa, *const db = sb;\n";

/* A row of 128 bytes has room for four steps of k; tiles take them in turn, and the others are 0. */
static const char *const swizzled_store =
    "    __shared__ __align__(1024) unsigned char sa[8192], sb[1024];\n"
    "    const int step = tile & 3, at = row * 128 + step * 32 + half * 16, place = at ^ at % 1024 / 128 * 16;\n"
    "    for (int i = lane; i < 512; i += 128)\n        ((uint4 *)sa)[i] = make_uint4(0, 0, 0, 0);\n"
    "    if (lane < 64)\n        ((uint4 *)sb)[lane] = make_uint4(0, 0, 0, 0);\n"
    "    __syncthreads();\n"
    "    *(uint4 *)(sa + place) = *(const uint4 *)(pa + row * 32 + half * 16);\n"
    "    if (lane < 16)\n        *(uint4 *)(sb + place) = *(const uint4 *)(pb + row * 32 + half * 16);\n"
    "    const unsigned char *const da = sa + step * 32, *const db = sb + step * 32;\n";

/* Where a lies in registers the instruction takes no word on transposing it. */
static const char *tail_of(const cuda_instruction *i, bool in_registers) {
    return in_registers && !strcmp(i->tail, ", 1, 1, 0, 0") ? ", 1, 1, 0" : i->tail;
}

char *cuda_placed_text(const cuda_instruction *i, cuda_place place) {
    fragment_layout a, c;
    if (!i->warpgroup || !fragment_layout_find("cuda", i->name, 'c', &c) || !fragment_layout_find("cuda", i->name, 'a', &a))
        return NULL;
    bool swizzled = place == PLACE_SWIZZLED, in_registers = place == PLACE_REGISTERS;
    int rc = fragment_layout_registers(&c), ra = in_registers ? fragment_layout_registers(&a) : 0, per_register = 32 / a.bits;
    text_buffer t = {0};
    text_add(&t,
             "%s%s    const int lane = threadIdx.x, tile = blockIdx.x, row = lane >> 1, half = lane & 1;\n"
             "    const unsigned char *const pa = a + (long long)tile * 2048, *const pb = b + (long long)tile * 256;\n"
             "    const unsigned *const cells = c + (long long)tile * 512;\n"
             "    unsigned *const results = d + (long long)tile * 512;\n"
             "    if (tile >= tiles)\n"
             "        return;\n"
             "%s"
             "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
             "    __syncthreads();\n"
             "    unsigned r[%d];\n",
             descriptor_text[swizzled], cuda_text_dots_head, swizzled ? swizzled_store : plain_store, rc);
    cuda_text_cells(&t, &c, true);
    text_add(&t, "    struct {\n        %s v[%d];\n    } z;\n", cuda_text_result_type(i), rc);
    cuda_text_results(&t, i, rc, false);
    for (int r = 0; r < ra; r++) {
        text_add(&t, "    const unsigned x%d = *(const unsigned *)(pa + ", r);
        cuda_text_offset(&t, &a, r * per_register, 32, number_table[i->a].bytes);
        text_add(&t, ");\n");
    }
    text_add(&t, "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %d, 0;\\nwgmma.fence.sync.aligned;\\n%s {",
             place != PLACE_UNSCALED, i->mnemonic);
    for (int r = 0; r < rc; r++)
        text_add(&t, "%s%%%d", r ? ", " : "", r);
    text_add(&t, in_registers ? "}, {" : "}, %%%d", rc);
    for (int r = 0; r < ra; r++)
        text_add(&t, "%s%%%d", r ? ", " : "", rc + r);
    text_add(&t, "%s, %%%d, p%s;\\nwgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;\\n}\" : ",
             in_registers ? "}" : "", rc + (in_registers ? ra : 1), tail_of(i, in_registers));
    cuda_text_registers(&t, "v", rc, i->c == NUMBER_F32 ? "\"+f\"(z.%s[%d])" : "\"+r\"(z.%s[%d])");
    text_add(&t, " : ");
    if (in_registers)
        cuda_text_registers(&t, "x", ra, "\"r\"(%s%d)");
    else
        text_add(&t, "\"l\"(descriptor(da))");
    text_add(&t, ", \"l\"(descriptor(db)) : \"memory\");\n%s", in_registers ? "    (void)da;\n" : "");
    cuda_text_results(&t, i, rc, true);
    cuda_text_cells(&t, &c, false);
    text_add(&t, "}\n");
    return t.text;
}

double cuda_rate_products(const cuda_instruction *i) {
    return i->warpgroup ? RATE_CHAINS * 64.0 * RATE_COLUMNS * i->k : CUDA_RATE_CHAINS * 4.0 * i->rows * 8 * i->k;
}

/* "wgmma.m64n8k16.f16" with its columns replaced. */
static void widen(char out[96], const char *text) {
    const char *at = strstr(text, "m64n8k");
    snprintf(out, 96, "%.*sm64n%dk%s", (int)(at - text), text, RATE_COLUMNS, at + 6);
}

char *cuda_warpgroup_rate_text(const cuda_instruction *i) {
    char name[96], mnemonic[96];
    fragment_layout c;
    widen(name, i->name);
    widen(mnemonic, i->mnemonic);
    if (!fragment_layout_find("cuda", name, 'c', &c))
        return NULL;
    int rc = fragment_layout_registers(&c), all = rc * RATE_CHAINS;
    text_buffer t = {0};
    text_add(&t, "%s", descriptor_text[0]);
    text_add(&t,
             "extern \"C\" __global__ void __launch_bounds__(128) rate(unsigned *out, int n) {\n"
             "    __shared__ __align__(128) unsigned sa[512], sb[%d];\n"
             "    for (int i = threadIdx.x; i < 512; i += 128)\n        sa[i] = ",
             RATE_COLUMNS * 8);
    text_add(&t, cuda_text_some_bits, 1);
    text_add(&t, ";\n    for (int i = threadIdx.x; i < %d; i += 128)\n        sb[i] = ", RATE_COLUMNS * 8);
    text_add(&t, cuda_text_some_bits, 2);
    text_add(&t,
             ";\n    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n    __syncthreads();\n"
             "    struct {\n        %s v[%d];\n    } z;\n    for (int i = 0; i < %d; i++)\n        z.v[i] = 0;\n"
             "    for (int i = 0; i < n; i++)\n"
             "        asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\nwgmma.fence.sync.aligned;\\n",
             cuda_text_result_type(i), all, all);
    for (int chain = 0; chain < RATE_CHAINS; chain++) {
        text_add(&t, "%s {", mnemonic);
        for (int r = 0; r < rc; r++)
            text_add(&t, "%s%%%d", r ? ", " : "", chain * rc + r);
        text_add(&t, "}, %%%d, %%%d, p%s;\\n", all, all + 1, i->tail);
    }
    text_add(&t, "wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;\\n}\" : ");
    cuda_text_registers(&t, "v", all, i->c == NUMBER_F32 ? "\"+f\"(z.%s[%d])" : "\"+r\"(z.%s[%d])");
    text_add(&t, " : \"l\"(descriptor(sa)), \"l\"(descriptor(sb)) : \"memory\");\n");
    text_add(&t, "    unsigned all = 0;\n    for (int i = 0; i < %d; i++)\n        all ^= %s(z.v[i]);\n", all,
             i->c == NUMBER_F32 ? "__float_as_uint" : "");
    text_add(&t, "    out[blockIdx.x * 128 + threadIdx.x] = all;\n}\n");
    return t.text;
}
