/* OpenCL C for a device that is a processor: a task is one work-item, elements go in vectors. What differs from opencl.c is how memory is read and
 * written: through packed structures, since drivers take `vload16` apart into small pieces, and behind a mask by the processor's own instruction, where
 * the driver's compiler has it. Private arrays are local memory, of which the device tells how much it has. */
#include "target/intrinsics.h"
#include "target/c_helpers.h"
#include "target/opencl_helpers.h"
#include <string.h>

static bool is_plain(element_type t) {
    return t != ELEMENT_INDEX && t != ELEMENT_BOOL;
}

static const char *memory_vector(cfamily *p, element_type t, int lanes) {
    return arena_printf(p->arena, "%s%d", p->dialect->storage_type(t), lanes);
}

const char *opencl_packed_type(cfamily *p, element_type t, int lanes) {
    const char *name = arena_printf(p->arena, "%sx%d_packed", c_type_tag(t), lanes);
    if (!names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "typedef struct __attribute__((packed)) {\n    %s v;\n} %s;\n", memory_vector(p, t, lanes), name);
    }
    return name;
}

/* Whether the processor may have an instruction for it. */
static const c_masked *masked(element_type t, int lanes) {
    return is_plain(t) ? c_masked_access(c_lane_bytes(t), lanes) : NULL;
}

bool opencl_masked_prepare(cfamily *p, element_type t, int lanes) {
    if (!masked(t, lanes))
        return false;
    if (!names_have(&p->helpers, "prefix_mask")) {
        names_add(p, &p->helpers, "prefix_mask");
        text_add(&p->prelude, "static inline uint prefix_mask(long count, int lanes)\n{\n"
                              "    return count <= 0 ? 0 : count >= lanes ? (1u << lanes) - 1 : (1u << (int)count) - 1;\n}\n");
    }
    return true;
}

void opencl_masked_access(cfamily *p, element_type t, int lanes, bool is_store) {
    const c_masked *k = masked(t, lanes);
    const char *v = memory_vector(p, t, lanes), *taken = arena_printf(p->arena, "%s%d", k->element, lanes);
    text_add(&p->prelude, "#if defined(%s) && __has_builtin(%s)\n", k->macro, is_store ? k->store : k->load);
    if (is_store)
        cfamily_prelude_line(p, "%s((void *)(size_t)a, as_%s(v), prefix_mask(count, %d));", k->store, taken, lanes);
    else
        cfamily_prelude_line(p, "return as_%s(%s((const void *)(size_t)a, (%s)(0), prefix_mask(count, %d)));", v, k->load, taken,
                             lanes);
    text_add(&p->prelude, "#else\n");
}

/* f16 by the processor's own instruction: vload_half and vstore_half go through memory, and by pieces. */
bool opencl_half_convert(cfamily *p, element_type to, int lanes) {
    static const struct {
        int lanes;
        bool widens;
        const char *macro, *builtin, *form;
    } table[] = {
        {16, true, "__AVX512F__", "__builtin_ia32_vcvtph2ps512_mask", "%s(as_short16(x), (float16)(0), -1, 4)"},
        {16, false, "__AVX512F__", "__builtin_ia32_vcvtps2ph512_mask", "as_ushort16(%s(x, 0, (short16)(0), -1))"},
        {8, true, "__F16C__", "__builtin_ia32_vcvtph2ps256", "%s(as_short8(x))"},
        {8, false, "__F16C__", "__builtin_ia32_vcvtps2ph256", "as_ushort8(%s(x, 0))"},
        {1, true, "__F16C__", "__builtin_ia32_vcvtph2ps", "as_float4(%s((short8)(as_short(x), 0, 0, 0, 0, 0, 0, 0))).s0"},
        {1, false, "__F16C__", "__builtin_ia32_vcvtps2ph", "as_ushort8(%s((float4)(x, 0, 0, 0), 0)).s0"},
    };
    for (int i = 0; i < COUNT(table); i++) {
        if (table[i].lanes != lanes || table[i].widens != (to == ELEMENT_F32))
            continue;
        const char *hole = strstr(table[i].form, "%s");
        text_add(&p->prelude, "#if defined(%s) && __has_builtin(%s)\n", table[i].macro, table[i].builtin);
        cfamily_prelude_line(p, "return %.*s%s%s;", (int)(hole - table[i].form), table[i].form, table[i].builtin, hole + 2);
        text_add(&p->prelude, "#else\n");
        return true;
    }
    return false;
}

static bool statement(cfamily *p, const kernel_stmt *s) {
    return s->kind == KSTMT_INTRINSIC && (cfamily_intrinsic(p, s, &opencl_intrinsics) || p->failed);
}

static const cfamily_dialect opencl_cpu_dialect = {
    .target = "opencl_cpu",
    OPENCL_VALUES,
    .statement = statement,
    .load = opencl_load_by_helper,
    .store = opencl_store_by_helper,
    .private_is_shared = true,
};

const gpu_dialect opencl_cpu_gpu = {
    .values = &opencl_cpu_dialect,
    .file_head = "#pragma OPENCL FP_CONTRACT OFF\n#ifndef __has_builtin\n#define __has_builtin(x) 0\n#endif\n\n",
    OPENCL_LAUNCH,
    .thread_number = "0",
};
