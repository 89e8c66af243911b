/* OpenCL C: its types and builtins; helpers are written only where it has no builtin. Plain OpenCL C 1.2: no subgroups, f16 is storage. */
#include "target/intrinsics.h"
#include "target/gpu_plan.h"
#include "target/opencl_helpers.h"
#include <string.h>

/* ---- types: f16, bf16 and fp8 travel as their bits, vectors of booleans as masks of int ---- */

const char *opencl_scalar_type(element_type t, bool in_vector) {
    switch (t) {
    case ELEMENT_F16:
    case ELEMENT_BF16:
    case ELEMENT_U16: return "ushort";
    case ELEMENT_I8: return "char";
    case ELEMENT_U8:
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: return "uchar";
    case ELEMENT_I32: return "int";
    case ELEMENT_U32: return "uint";
    case ELEMENT_BOOL: return in_vector ? "int" : "bool";
    case ELEMENT_INDEX:
    case ELEMENT_I64: return "long";
    default: return "float";
    }
}

const char *opencl_register_type(cfamily *p, element_type t, int lanes) {
    t = cfamily_index_element(p, t);
    return lanes == 1 ? opencl_scalar_type(t, false) : arena_printf(p->arena, "%s%d", opencl_scalar_type(t, true), lanes);
}

const char *opencl_storage_type(element_type t) {
    return t == ELEMENT_BOOL || element_table[t].block_elements > 1 ? "uchar"
           : t == ELEMENT_INDEX                                     ? "int"
                                                                    : opencl_scalar_type(t, false);
}

const char *opencl_space(const cfamily *p, const kernel_array *a) {
    while (a->view_of)
        a = a->view_of;
    bool local = a->space == SPACE_SHARED || (a->space == SPACE_PRIVATE && p->dialect->private_is_shared);
    return a->space == SPACE_GLOBAL ? "global" : local ? "local" : "private";
}

/* ---- memory ---- */

/* The first lane stands at a multiple of the whole vector; a local array is only sure to have its element's alignment. */
static bool is_aligned(const kernel_access *access) {
    return access->aligned && access->array->space == SPACE_GLOBAL &&
           kernel_aligned_lanes(access->array, access->lanes) == access->lanes;
}

static const char *place_of(cfamily *p, const kernel_access *access) {
    return arena_printf(p->arena, "&%s[%s]", p->arrays[access->array->id].name, cfamily_offset(p, access, 0));
}

const char *opencl_load_by_helper(cfamily *p, const kernel_access *access, const char *stride, const char *active) {
    const char *place = place_of(p, access), *name = opencl_memory_helper(p, access, false, stride, active);
    return arena_printf(p->arena, "%s(%s%s%s%s%s)", name, place, stride ? ", " : "", stride ? stride : "", active ? ", " : "",
                        active ? active : "");
}

const char *opencl_store_by_helper(cfamily *p, const kernel_access *access, const char *stride, const char *active,
                                   const char *value) {
    const char *place = place_of(p, access), *name = opencl_memory_helper(p, access, true, stride, active);
    return arena_printf(p->arena, "%s(%s, %s%s%s%s%s)", name, place, value, stride ? ", " : "", stride ? stride : "",
                        active ? ", " : "", active ? active : "");
}

static const char *load(cfamily *p, const kernel_access *access, const char *stride, const char *active) {
    arena *a = p->arena;
    element_type t = access->array->element;
    if (stride || active)
        return opencl_load_by_helper(p, access, stride, active);
    const char *place = place_of(p, access), *v = opencl_register_type(p, t, access->lanes);
    if (is_aligned(access))
        return arena_printf(a, "*(__%s %s%s *)%s", opencl_space(p, access->array), access->array->use == USE_IN ? "const " : "",
                            v, place);
    const char *plain = arena_printf(a, "vload%d(0, %s)", access->lanes, place);
    if (t == ELEMENT_INDEX)
        return arena_printf(a, "convert_%s(%s)", v, plain);
    return t == ELEMENT_BOOL ? arena_printf(a, "(convert_%s(%s) != 0)", v, plain) : plain;
}

static const char *store(cfamily *p, const kernel_access *access, const char *stride, const char *active, const char *value) {
    arena *a = p->arena;
    element_type t = access->array->element;
    if (stride || active)
        return opencl_store_by_helper(p, access, stride, active, value);
    const char *place = place_of(p, access);
    if (is_aligned(access))
        return arena_printf(a, "*(__%s %s *)%s = %s", opencl_space(p, access->array), opencl_register_type(p, t, access->lanes),
                            place, value);
    if (t == ELEMENT_INDEX)
        value = arena_printf(a, "convert_int%d(%s)", access->lanes, value);
    if (t == ELEMENT_BOOL)
        value = arena_printf(a, "convert_uchar%d((%s) & 1)", access->lanes, value);
    return arena_printf(a, "vstore%d(%s, 0, %s)", access->lanes, value, place);
}

const char *opencl_lane(cfamily *p, const char *vector, int l) {
    return arena_printf(p->arena, "%s.s%x", vector, (unsigned)l);
}

/* ---- barriers ---- */

static bool statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind == KSTMT_INTRINSIC)
        return cfamily_intrinsic(p, s, &opencl_intrinsics) || p->failed;
    if (s->kind != KSTMT_BARRIER || s->scope != LEVEL_BLOCK || s->participants)
        return false;
    bool local = s->spaces & 1u << SPACE_SHARED, global = s->spaces & 1u << SPACE_GLOBAL;
    cfamily_line(p, "barrier(%s%s%s);", local || !global ? "CLK_LOCAL_MEM_FENCE" : "", local && global ? " | " : "",
                 global ? "CLK_GLOBAL_MEM_FENCE" : "");
    return true;
}

static const char *atomic_itself(arena *a, const char *update, element_type t, const char *place) {
    static const char *const known[] = {"add", "min", "max", "and", "or", "xor", "xchg"};
    if (t == ELEMENT_I64)
        return NULL;
    if (!strcmp(update, "cmpxchg"))
        return t == ELEMENT_F32
                   ? arena_printf(a, "    return as_float(atomic_cmpxchg((%suint *)p, as_uint(e), as_uint(v)));\n", place)
                   : "    return atomic_cmpxchg(p, e, v);\n";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(update, known[i]) && (t != ELEMENT_F32 || !strcmp(update, "xchg")))
            return arena_printf(a, "atomic_%s(p, v)", update);
    return NULL;
}

static const char *atomic_loop(arena *a, const char *next, element_type t, const char *place) {
    const char *type = t == ELEMENT_F32 ? "float" : "uint";
    return arena_printf(a,
                        "    %suint *word = (%suint *)p;\n"
                        "    uint seen = *word;\n"
                        "    for (;;) {\n"
                        "        const %s old = as_%s(seen);\n"
                        "        const %s next = %s;\n"
                        "        const uint was = atomic_cmpxchg(word, seen, as_uint(next));\n"
                        "        if (was == seen)\n"
                        "            return old;\n"
                        "        seen = was;\n"
                        "    }\n",
                        place, place, type, type, type, next);
}

static const cfamily_atomics opencl_atomics = {
    .device = "volatile __global ",
    .shared = "volatile __local ",
    .itself = atomic_itself,
    .loop = atomic_loop,
    .least = "fmin(old, v)",
    .greatest = "fmax(old, v)",
};

static const cfamily_dialect opencl_dialect = {
    .target = "opencl",
    OPENCL_VALUES,
    .narrow_type = "int",
    .statement = statement,
    .load = load,
    .store = store,
    .atomics = &opencl_atomics,
    .has_lanes = true,
};

/* ---- kernels ---- */

void opencl_kernel_head(arena *a, text_buffer *out, const gpu_entry *e) {
    (void)a;
    text_add(out, "__kernel __attribute__((reqd_work_group_size(%lld, 1, 1)))\nvoid %s(", (long long)e->threads, e->name);
    gpu_parameter_list(out, e);
    text_add(out, ")\n{\n");
}

const gpu_dialect opencl_gpu = {
    .values = &opencl_dialect,
    .file_head = "#pragma OPENCL FP_CONTRACT OFF\n\n",
    OPENCL_LAUNCH,
    .thread_number = "(int)get_local_id(0)", /* PoCL 3.1 loses what 64-bit ids were made into behind a conditional barrier */
    .narrow_integer_type = "const int ",
};

const gpu_dialect *opencl_dialect_of(const launch_plan *plan) {
    for (int i = 0; i < plan->variants.count; i++) {
        const kernel_ir *k = plan->variants.at[i].kernel;
        for (int l = 0; l < k->levels.count; l++)
            if (k->levels.at[l].kind != LEVEL_TASK)
                return &opencl_gpu;
    }
    return &opencl_cpu_gpu;
}

bool opencl_program(arena *a, const proved_plan *proved, gpu_program *out, diag_list *diags) {
    const launch_plan *plan = proved_plan_get(proved);
    return gpu_plan_print(a, plan, opencl_dialect_of(plan), out, diags);
}

bool opencl_emit(const proved_plan *proved, text_buffer *out, diag_list *diags) {
    arena *a = arena_new();
    gpu_program program;
    bool ok = opencl_program(a, proved, &program, diags);
    if (ok)
        text_add(out, "%s", program.text);
    arena_free(a);
    return ok;
}
