/* Kits for Macs: simdgroup matrices of 8 x 8, a tile a simdgroup. */
#include "probe/kit.h"

/* Formats of operands, then of the sum where it is another. */
const kit_instruction kit_metal_instructions[] = {
    {"simdgroup_matrix.8x8.f16", NUMBER_F16, NUMBER_F16, NUMBER_F32, 8, 8, 1, false},
    {"simdgroup_matrix.8x8.f16.f16", NUMBER_F16, NUMBER_F16, NUMBER_F16, 8, 8, 1, false},
    {"simdgroup_matrix.8x8.bf16", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 8, 8, 1, false},
    {"simdgroup_matrix.8x8.f32", NUMBER_F32, NUMBER_F32, NUMBER_F32, 8, 8, 1, false}};
const int kit_metal_instruction_count = sizeof kit_metal_instructions / sizeof *kit_metal_instructions;

static const char *type_name(number_kind kind) {
    return kind == NUMBER_F16 ? "half" : kind == NUMBER_BF16 ? "bfloat" : "float";
}

char *kit_metal_text(const kit_instruction *i) {
    const char *operand = type_name(i->a), *sum = type_name(i->c);
    bool is_short = number_table[i->c].bytes == 2;
    text_buffer t = {0};
    text_add(&t,
             "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n\n"
             "// d = c + a b for a tile of 8 x 8; b is stored column by column; c and d are codes, 32 bits each.\n"
             "kernel void dots(device const %s *a [[buffer(0)]], device const %s *b [[buffer(1)]], device const uint *c "
             "[[buffer(2)]],\n"
             "                 device uint *d [[buffer(3)]], uint tile [[threadgroup_position_in_grid]], uint lane "
             "[[thread_index_in_simdgroup]]) {\n"
             "    threadgroup %s cells[64];\n",
             operand, operand, sum);
    for (int half = 0; half < 2; half++)
        text_add(&t,
                 is_short ? "    cells[lane + %d] = as_type<%s>(ushort(c[tile * 64 + lane + %d]));\n"
                          : "    cells[lane + %d] = as_type<%s>(c[tile * 64 + lane + %d]);\n",
                 32 * half, sum, 32 * half);
    text_add(&t,
             "    simdgroup_barrier(mem_flags::mem_threadgroup);\n"
             "    simdgroup_matrix<%s, 8, 8> x, y;\n"
             "    simdgroup_matrix<%s, 8, 8> z;\n"
             "    simdgroup_load(x, a + tile * 64, 8);\n"
             "    simdgroup_load(y, b + tile * 64, 8, ulong2(0, 0), true);\n"
             "    simdgroup_load(z, cells, 8);\n"
             "    simdgroup_multiply_accumulate(z, x, y, z);\n"
             "    simdgroup_store(z, cells, 8);\n"
             "    simdgroup_barrier(mem_flags::mem_threadgroup);\n",
             operand, sum);
    for (int half = 0; half < 2; half++)
        text_add(&t,
                 is_short ? "    d[tile * 64 + lane + %d] = as_type<ushort>(cells[lane + %d]);\n"
                          : "    d[tile * 64 + lane + %d] = as_type<uint>(cells[lane + %d]);\n",
                 32 * half, 32 * half);
    text_add(&t, "}\n");
    return t.text;
}
