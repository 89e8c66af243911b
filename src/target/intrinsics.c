/* Functions of targets that intrinsics may bind: names, types, and the cells that they read behind pointers. */
#include "target/intrinsics.h"
#include <string.h>

#define TABLE(name, rows) const intrinsic_table name = {rows, sizeof rows / sizeof *rows}

/* GCC's and Clang's builtins; none needs a header or a library. */
static const intrinsic_row c_rows[] = {
    {.name = "__builtin_popcount", .signature = "i32(u32)"},
    {.name = "__builtin_parity", .signature = "i32(u32)"},
    {.name = "__builtin_ffs", .signature = "i32(i32)"},
    {.name = "__builtin_clrsb", .signature = "i32(i32)"},
    {.name = "__builtin_bswap32", .signature = "u32(u32)"},
    {.name = "__builtin_copysignf", .signature = "f32(f32,f32)"},
    {.name = "__builtin_fabsf", .signature = "f32(f32)"},
    {.name = "__builtin_expect_with_probability", .signature = "i32(i32,#i32,#f32)"},
    {.name = "__atomic_load_n", .signature = "u32(*u32[1],#i32)"},
    {.name = "__atomic_load_n", .signature = "i32(*i32[1],#i32)"},
    {.name = "__atomic_store_n", .signature = "void(&u32[1],u32,#i32=0)"},
    {.name = "__atomic_store_n", .signature = "void(&i32[1],i32,#i32=0)"},
};
TABLE(c_intrinsics, c_rows);

/* CUDA's device functions, and instructions of PTX by their names. */
static const intrinsic_row cuda_rows[] = {
    {.name = "__popc", .signature = "i32(u32)"},
    {.name = "__clz", .signature = "i32(i32)"},
    {.name = "__ffs", .signature = "i32(i32)"},
    {.name = "__brev", .signature = "u32(u32)"},
    {.name = "__byte_perm", .signature = "u32(u32,u32,u32)"},
    {.name = "__funnelshift_l", .signature = "u32(u32,u32,u32)"},
    {.name = "__funnelshift_r", .signature = "u32(u32,u32,u32)"},
    {.name = "__umulhi", .signature = "u32(u32,u32)"},
    {.name = "__mulhi", .signature = "i32(i32,i32)"},
    {.name = "__usad", .signature = "u32(u32,u32,u32)"},
    {.name = "__sad", .signature = "u32(i32,i32,u32)"},
    {.name = "__hadd", .signature = "i32(i32,i32)"},
    {.name = "__uhadd", .signature = "u32(u32,u32)"},
    {.name = "__urhadd", .signature = "u32(u32,u32)"},
    {.name = "__dp4a", .signature = "i32(i32,i32,i32)"},
    {.name = "__dp4a", .signature = "u32(u32,u32,u32)"},
    {.name = "__dp2a_lo", .signature = "i32(i32,i32,i32)"},
    {.name = "__fns", .signature = "u32(u32,u32,i32)"},
    {.name = "__fmaf_rn", .signature = "f32(f32,f32,f32)"},
    {.name = "__fadd_rz", .signature = "f32(f32,f32)"},
    {.name = "__frcp_rn", .signature = "f32(f32)"},
    {.name = "__ldg", .signature = "f32(*f32[1])"},
    {.name = "__ldg", .signature = "i32(*i32[1])"},
    {.name = "__ldg", .signature = "u32(*u32[1])"},
    {.name = "__ldcs", .signature = "f32(*f32[1])"},
    {.name = "__ldcg", .signature = "f32(*f32[1])"},
    {.name = "__stcs", .signature = "void(&f32[1],f32)"},
    {.name = "__stcs", .signature = "void(&i32[1],i32)"},
    {.name = "__stcs", .signature = "void(&u32[1],u32)"},
    {.name = "__stcg", .signature = "void(&f32[1],f32)"},
    {.name = "__stwt", .signature = "void(&f32[1],f32)"},
    {.name = "lop3.b32", .signature = "u32(u32,u32,u32,#i32)", .style = INTRINSIC_INSTRUCTION},
    {.name = "prmt.b32", .signature = "u32(u32,u32,u32)", .style = INTRINSIC_INSTRUCTION},
    {.name = "popc.b32", .signature = "u32(u32)", .style = INTRINSIC_INSTRUCTION},
    {.name = "bfind.u32", .signature = "u32(u32)", .style = INTRINSIC_INSTRUCTION},
    {.name = "mad.hi.u32", .signature = "u32(u32,u32,u32)", .style = INTRINSIC_INSTRUCTION},
    {.name = "ex2.approx.f32", .signature = "f32(f32)", .style = INTRINSIC_INSTRUCTION},
    {.name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
     .signature = "mf32[16,8](mf16[16,16],mf16[16,8],mf32[16,8])",
     .style = INTRINSIC_INSTRUCTION},
    {.name = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
     .signature = "mf32[16,8](mbf16[16,16],mbf16[16,8],mf32[16,8])",
     .style = INTRINSIC_INSTRUCTION},
};
TABLE(cuda_intrinsics, cuda_rows);

static const intrinsic_row opencl_rows[] = {
    {.name = "popcount", .signature = "u32(u32)"},
    {.name = "clz", .signature = "u32(u32)"},
    {.name = "mul_hi", .signature = "u32(u32,u32)"},
    {.name = "mul_hi", .signature = "i32(i32,i32)"},
    {.name = "mad_hi", .signature = "u32(u32,u32,u32)"},
    {.name = "mad_hi", .signature = "i32(i32,i32,i32)"},
    {.name = "hadd", .signature = "u32(u32,u32)"},
    {.name = "rhadd", .signature = "u32(u32,u32)"},
    {.name = "rotate", .signature = "u32(u32,u32)"},
    {.name = "abs_diff", .signature = "u32(i32,i32)"},
    {.name = "add_sat", .signature = "i32(i32,i32)"},
    {.name = "sub_sat", .signature = "i32(i32,i32)"},
    {.name = "bitselect", .signature = "u32(u32,u32,u32)"},
    {.name = "copysign", .signature = "f32(f32,f32)"},
    {.name = "fma", .signature = "f32(f32,f32,f32)"},
    {.name = "dot", .signature = "f32(f32x4,f32x4)"},
    {.name = "vload_half", .signature = "f32(#i32=0,*f16[1])", .pointer = "__global const half *"},
    {.name = "vstore_half", .signature = "void(f32,#i32=0,&f16[1])", .pointer = "__global half *"},
    {.name = "vstore_half_rte", .signature = "void(f32,#i32=0,&f16[1])", .pointer = "__global half *"},
};
TABLE(opencl_intrinsics, opencl_rows);

static const intrinsic_row metal_rows[] = {
    {.name = "popcount", .signature = "u32(u32)"},
    {.name = "clz", .signature = "u32(u32)"},
    {.name = "ctz", .signature = "u32(u32)"},
    {.name = "reverse_bits", .signature = "u32(u32)"},
    {.name = "mulhi", .signature = "u32(u32,u32)"},
    {.name = "mulhi", .signature = "i32(i32,i32)"},
    {.name = "hadd", .signature = "u32(u32,u32)"},
    {.name = "rhadd", .signature = "u32(u32,u32)"},
    {.name = "rotate", .signature = "u32(u32,u32)"},
    {.name = "absdiff", .signature = "u32(i32,i32)"},
    {.name = "addsat", .signature = "i32(i32,i32)"},
    {.name = "copysign", .signature = "f32(f32,f32)"},
    {.name = "simdgroup_load", .signature = "mf32[8,8](*f32[8,8],i64=stride($, 0))", .style = INTRINSIC_RESULT_FIRST},
    {.name = "simdgroup_load", .signature = "mf16[8,8](*f16[8,8],i64=stride($, 0))", .style = INTRINSIC_RESULT_FIRST},
    {.name = "simdgroup_store", .signature = "void(mf32[8,8],&f32[8,8],i64=stride($, 0))"},
    {.name = "simdgroup_store", .signature = "void(mf16[8,8],&f16[8,8],i64=stride($, 0))"},
    {.name = "simdgroup_multiply_accumulate",
     .signature = "mf32[8,8](mf32[8,8],mf32[8,8],mf32[8,8])",
     .style = INTRINSIC_RESULT_FIRST},
    {.name = "simdgroup_multiply_accumulate",
     .signature = "mf32[8,8](mf16[8,8],mf16[8,8],mf32[8,8])",
     .style = INTRINSIC_RESULT_FIRST},
};
TABLE(metal_intrinsics, metal_rows);

/* AIR 2.8 tells a matrix's extents, strides and origin; AIR before that ("typed") its leading dimension, origin and whether it is transposed. */
#define MATRIX_STORE(type)                                                                                                       \
    {.name = "air.simdgroup_matrix_8x8_store",                                                                                   \
     .signature =                                                                                                                \
         "void(m" type "[8,8],&" type "[8,8],i64x2=i64x2(stride($, 0), 8),i64x2=i64x2(1, stride($, 0)),i64x2=i64x2(0, 0))",      \
     .style = INTRINSIC_OVERLOADED,                                                                                              \
     .form = ""},                                                                                                                \
    {                                                                                                                            \
        .name = "air.simdgroup_matrix_8x8_store",                                                                                \
        .signature = "void(m" type "[8,8],&" type "[8,8],i64=stride($, 0),i64x2=i64x2(0, 0),#bool=0)",                           \
        .style = INTRINSIC_OVERLOADED, .form = "typed"                                                                           \
    }
#define MATRIX_PRODUCT(operand)                                                                                                  \
    {                                                                                                                            \
        .name = "air.simdgroup_matrix_8x8_multiply_accumulate",                                                                  \
        .signature = "mf32[8,8](m" operand "[8,8],m" operand "[8,8],mf32[8,8])", .style = INTRINSIC_OVERLOADED                   \
    }
#define MATRIX_LOAD(type)                                                                                                        \
    {.name = "air.simdgroup_matrix_8x8_load",                                                                                    \
     .signature = "m" type "[8,8](*" type "[8,8],i64x2=i64x2(stride($, 0), 8),i64x2=i64x2(1, stride($, 0)),i64x2=i64x2(0, 0))",  \
     .style = INTRINSIC_OVERLOADED,                                                                                              \
     .form = ""},                                                                                                                \
    {                                                                                                                            \
        .name = "air.simdgroup_matrix_8x8_load",                                                                                 \
        .signature = "m" type "[8,8](*" type "[8,8],i64=stride($, 0),i64x2=i64x2(0, 0),#bool=0)", .style = INTRINSIC_OVERLOADED, \
        .form = "typed"                                                                                                          \
    }
static const intrinsic_row air_rows[] = {
    {.name = "air.popcount.i32", .signature = "u32(u32)"},
    {.name = "air.clz.i32", .signature = "u32(u32,#bool)"},
    {.name = "air.ctz.i32", .signature = "u32(u32,#bool)"},
    {.name = "air.reverse_bits.i32", .signature = "u32(u32)"},
    {.name = "air.mul_hi.u.i32", .signature = "u32(u32,u32)"},
    {.name = "air.mul_hi.s.i32", .signature = "i32(i32,i32)"},
    {.name = "air.fma.f32", .signature = "f32(f32,f32,f32)"},
    MATRIX_LOAD("f32"),
    MATRIX_LOAD("f16"),
    MATRIX_LOAD("bf16"),
    MATRIX_PRODUCT("f32"),
    MATRIX_PRODUCT("f16"),
    MATRIX_PRODUCT("bf16"),
    MATRIX_STORE("f32"),
    MATRIX_STORE("f16"),
};
TABLE(air_intrinsics, air_rows);

static bool matrix_fits(const intrinsic_type *t, const kernel_fragment *f) {
    return t->matrix && t->element == f->element && t->dims[0] == f->rows && t->dims[1] == f->columns;
}

static bool operand_fits(const intrinsic_type *t, const kernel_stmt *s, const contract_operand *c) {
    switch (c->effect) {
    case CONTRACT_VALUE: return !t->pointer && t->lanes == 1 && t->element == c->value->type;
    case CONTRACT_VECTOR: return !t->pointer && t->lanes == c->count && t->element == c->values[0]->type;
    case CONTRACT_FRAGMENT: return matrix_fits(t, s->fragments[c->which].fragment);
    case CONTRACT_RESULT: return false;
    default: return t->pointer && t->element == c->access.array->element && t->written == (c->effect == CONTRACT_WRITES);
    }
}

static bool row_fits(const intrinsic_row *r, const kernel_stmt *s) {
    const char *at = r->signature;
    const intrinsic_type result = intrinsic_next_type(&at);
    const kernel_fragment *matrix = s->fragments[0].fragment;
    const contract_operand *first = s->contract_count && s->contract[0].effect == CONTRACT_RESULT ? s->contract : NULL;
    if (result.nothing ? first != NULL
                       : !first || result.matrix != (matrix != NULL) ||
                             (matrix ? !matrix_fits(&result, matrix) : result.element != first->access.array->element))
        return false;
    int i = first != NULL;
    for (; *at && i < s->contract_count; i++) {
        const intrinsic_type t = intrinsic_next_type(&at);
        if (!operand_fits(&t, s, &s->contract[i]))
            return false;
    }
    return !*at && i == s->contract_count;
}

const intrinsic_row *intrinsic_row_of(const intrinsic_table *t, const char *form, const kernel_stmt *s) {
    for (int i = 0; i < t->count; i++) {
        const intrinsic_row *r = &t->at[i];
        if ((!r->form || !strcmp(r->form, form)) && !strcmp(r->name, s->name) && row_fits(r, s))
            return r;
    }
    return NULL;
}
