/* CUDA C++: warps, vectors as structures of lanes, 16-byte accesses where Kernel IR says `aligned`. No header is included. */
#include "target/intrinsics.h"
#include "target/cuda_helpers.h"
#include "target/gpu_plan.h"
#include <math.h>
#include <string.h>

enum { WARP = 32 };

/* ---- memory ---- */

static const char *place_of(cfamily *p, const kernel_access *access) {
    return arena_printf(p->arena, "&%s[%s]", p->arrays[access->array->id].name, cfamily_offset(p, access, 0));
}

static const char *load(cfamily *p, const kernel_access *access, const char *stride, const char *active) {
    arena *a = p->arena;
    element_type t = access->array->element;
    const char *place = place_of(p, access), *v = cuda_register_type(p, t, access->lanes);
    if (!stride && !active && access->aligned)
        return arena_printf(a, "*(%s%s *)%s", access->array->use == USE_IN ? "const " : "", v, place);
    if (!stride && active && access->aligned) /* every lane or none */
        return arena_printf(a, "(%s > 0 ? *(%s%s *)%s : %s)", cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD),
                            access->array->use == USE_IN ? "const " : "", v, place, cfamily_zero(p, t, access->lanes));
    return arena_printf(a, "%s(%s%s%s%s%s)", cuda_memory_helper(p, t, access->lanes, false, stride, active), place,
                        stride ? ", " : "", stride ? stride : "", active ? ", " : "", active ? active : "");
}

static const char *store(cfamily *p, const kernel_access *access, const char *stride, const char *active, const char *value) {
    arena *a = p->arena;
    element_type t = access->array->element;
    const char *place = place_of(p, access);
    if (!stride && !active && access->aligned)
        return arena_printf(a, "*(%s *)%s = %s", cuda_register_type(p, t, access->lanes), place, value);
    if (!stride && active && access->aligned) /* every lane or none */
        return arena_printf(a, "if (%s > 0)\n%*s*(%s *)%s = %s",
                            cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD), 4 * p->indent + 4, "",
                            cuda_register_type(p, t, access->lanes), place, value);
    return arena_printf(a, "%s(%s, %s%s%s%s%s)", cuda_memory_helper(p, t, access->lanes, true, stride, active), place, value,
                        stride ? ", " : "", stride ? stride : "", active ? ", " : "", active ? active : "");
}

static const char *lane(cfamily *p, const char *vector, int l) {
    return arena_printf(p->arena, "%s.v[%d]", vector, l);
}

/* ---- values ---- */

static text_expr primary(const char *text) {
    return (text_expr){text, PRECEDENCE_PRIMARY};
}

static text_expr constant(cfamily *p, element_type t, double number) {
    float f = (float)number;
    const char *name = t != ELEMENT_F32 ? NULL : isnan(f) ? "NAN" : isinf(f) ? "INFINITY" : NULL;
    if (name && !names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "#ifndef %s\n#define %s __int_as_float(0x%x)\n#endif\n", name, name,
                 isnan(f) ? 0x7fffffffu : 0x7f800000u);
    }
    return cfamily_constant(p, t, number);
}

/* Operands of an infix operator that are printed as scalars, as cfamily_operation.c has it. */
static bool stands_as_scalar(cfamily *p, const kernel_value *v) {
    const cfamily_binding *b = cfamily_find(p, v);
    return !(b && b->text) && v->lanes > 1 && v->type != ELEMENT_BOOL && (v->op == KERNEL_CONST || v->op == KERNEL_BROADCAST);
}

static bool is_uniform(const kernel_value *v) {
    return v->op == KERNEL_CONST || v->op == KERNEL_BROADCAST;
}

/* Declares the operators that the text of a vector operation will use. */
static void operators(cfamily *p, const kernel_value *v) {
    static const struct {
        kernel_op op;
        const char *text;
        bool compares;
    } binary[] = {{KERNEL_ADD, "+", false},     {KERNEL_SUB, "-", false},     {KERNEL_MUL, "*", false},
                  {KERNEL_DIV, "/", false},     {KERNEL_BIT_AND, "&", false}, {KERNEL_BIT_OR, "|", false},
                  {KERNEL_BIT_XOR, "^", false}, {KERNEL_AND, "&", false},     {KERNEL_OR, "|", false},
                  {KERNEL_LT, "<", true},       {KERNEL_LE, "<=", true},      {KERNEL_EQ, "==", true},
                  {KERNEL_NE, "!=", true}};
    const kernel_value *x = v->operands[0], *y = v->operand_count > 1 ? v->operands[1] : NULL;
    int lanes = x->lanes;
    bool wraps = v->type == ELEMENT_I32 && (v->op == KERNEL_ADD || v->op == KERNEL_SUB || v->op == KERNEL_MUL); /* by functions */
    for (size_t i = 0; i < sizeof binary / sizeof *binary && !wraps && x->type != ELEMENT_F16; i++)
        if (binary[i].op == v->op)
            cuda_operator(p, binary[i].text, x->type, lanes, stands_as_scalar(p, x) && !is_uniform(y), stands_as_scalar(p, y),
                          binary[i].compares);
    if (v->op == KERNEL_NEG && v->type != ELEMENT_I32)
        cuda_prefix_operator(p, "-", x->type, lanes);
    if (v->op == KERNEL_NOT)
        cuda_prefix_operator(p, "~", x->type, lanes);
    while (y && y->op == KERNEL_BROADCAST)
        y = y->operands[0];
    bool constant_shift =
        y && y->op == KERNEL_CONST && y->number >= 0 && y->number < 32 && (v->op == KERNEL_SHR || v->type == ELEMENT_U32);
    if ((v->op == KERNEL_SHL || v->op == KERNEL_SHR) && constant_shift)
        cuda_operator(p, v->op == KERNEL_SHL ? "<<" : ">>", x->type, lanes, false, true, false);
}

static int lanes_of_subgroup(const kernel_ir *k) {
    int64_t lanes = 1, extent;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; k->levels.at[i].kind == LEVEL_LANE && d < k->levels.at[i].rank; d++)
            lanes *= ix_is_const(k->levels.at[i].extents[d], &extent) && extent > 0 && extent <= 1024 ? extent : 1025;
    return lanes > 1024 ? 0 : (int)lanes;
}

static text_expr warp_operation(cfamily *p, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    const char *name = cuda_warp_helper(p, v->op, v->type, v->lanes), *text = cfamily_value(p, x).text;
    if (lanes_of_subgroup(p->kernel) != WARP)
        cfamily_refuse(p, v->span, "`%s` in subgroups of other than 32 lanes", kernel_op_table[v->op].name);
    if (v->operand_count == 1)
        return primary(arena_printf(p->arena, "%s(%s)", name, text));
    return primary(arena_printf(p->arena, "%s(%s, %s)", name, text, cfamily_value(p, v->operands[1]).text));
}

/* Whether a function is called for v, as far as it is not named yet. */
static bool calls_function(cfamily *p, const kernel_value *v) {
    const cfamily_binding *b = cfamily_find(p, v);
    if (b && b->text)
        return false;
    bool found = !strcmp(kernel_op_table[v->op].kind, "math") || v->op == KERNEL_DIV || v->op == KERNEL_SQRT;
    for (int i = 0; i < v->operand_count && !found; i++)
        found = calls_function(p, v->operands[i]);
    return found;
}

/* Both sides are computed: a conditional expression would have NVRTC branch around a function, and neither loads nor what lanes exchange move across a branch. */
static text_expr select_of_both(cfamily *p, const kernel_value *v) {
    return primary(cfamily_call(p, HELPER_SELECT, v->type, v->type, 1, "%s, %s, %s", cfamily_value(p, v->operands[0]).text,
                                cfamily_value(p, v->operands[1]).text, cfamily_value(p, v->operands[2]).text));
}

static text_expr value(cfamily *p, const kernel_value *v) {
    if (v->op == KERNEL_SELECT && v->lanes == 1 && (calls_function(p, v->operands[1]) || calls_function(p, v->operands[2])))
        return select_of_both(p, v);
    if (v->op >= KERNEL_SUBGROUP_SUM && v->op <= KERNEL_SHUFFLE_DOWN)
        return warp_operation(p, v);
    if (v->op >= KERNEL_FRAGMENT_ELEMENT && v->op <= KERNEL_FRAGMENT_COLUMN && p->element)
        return primary(cuda_fragment_element(p, v));
    if (v->op == KERNEL_PREFIX_SELECT && v->lanes > 1 && cfamily_multiple(p, cfamily_fold(p, v->index)) % v->lanes == 0)
        return (text_expr){arena_printf(p->arena, "%s > 0 ? %s : %s", cfamily_wrap(p, cfamily_index(p, v->index), PRECEDENCE_ADD),
                                        cfamily_wrap(p, cfamily_value(p, v->operands[0]), PRECEDENCE_OR),
                                        cfamily_wrap(p, cfamily_value(p, v->operands[1]), PRECEDENCE_OR)),
                           PRECEDENCE_CONDITIONAL}; /* every lane or none */
    if (v->operand_count && v->operands[0]->lanes > 1)
        operators(p, v);
    return cfamily_operation(p, v);
}

/* ---- barriers ---- */

static bool statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind == KSTMT_INTRINSIC && s->fragments[0].fragment && s->fragments[1].fragment)
        return cuda_product_by_name(p, s) || p->failed;
    if (s->kind == KSTMT_INTRINSIC)
        return cfamily_intrinsic(p, s, &cuda_intrinsics) || p->failed;
    if (s->kind == KSTMT_COPY || s->kind == KSTMT_COMMIT || s->kind == KSTMT_WAIT_ASYNC)
        return cuda_copy_statement(p, s);
    if (s->kind == KSTMT_MBARRIER_ARRIVE || s->kind == KSTMT_MBARRIER_WAIT)
        return cuda_mbarrier_statement(p, s);
    if (s->kind == KSTMT_FENCE)
        return cuda_proxy_fence(p, s);
    if (s->kind >= KSTMT_FRAGMENT_FILL && s->kind <= KSTMT_FRAGMENT_SET)
        return lanes_of_subgroup(p->kernel) == WARP && cuda_fragment_statement(p, s);
    if (s->kind != KSTMT_BARRIER || s->participants || (s->scope != LEVEL_BLOCK && s->scope != LEVEL_SUBGROUP))
        return false;
    if (s->scope == LEVEL_SUBGROUP && lanes_of_subgroup(p->kernel) != WARP)
        return false;
    cfamily_line(p, s->scope == LEVEL_BLOCK ? "__syncthreads();" : "__syncwarp();");
    return true;
}

static const char *atomic_itself(arena *a, const char *update, element_type t, const char *place) {
    static const struct {
        const char *update, *function;
        bool of_floats;
    } known[] = {{"add", "Add", true},   {"min", "Min", false},      {"max", "Max", false},
                 {"and", "And", false},  {"or", "Or", false},        {"xor", "Xor", false},
                 {"xchg", "Exch", true}, {"inc_wrap", "Inc", false}, {"dec_wrap", "Dec", false}};
    (void)place;
    if (!strcmp(update, "cmpxchg"))
        return t == ELEMENT_F32
                   ? "    return __uint_as_float(atomicCAS((unsigned *)p, __float_as_uint(e), __float_as_uint(v)));\n"
               : t == ELEMENT_I64 ? "    return (long long)atomicCAS((unsigned long long *)p, (unsigned long long)e, "
                                    "(unsigned long long)v);\n"
                                  : "    return atomicCAS(p, e, v);\n";
    const char *form =
        t == ELEMENT_I64 ? "(long long)atomic%s((unsigned long long *)p, (unsigned long long)v)" : "atomic%s(p, v)";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(update, known[i].update) && (t != ELEMENT_F32 || known[i].of_floats))
            return arena_printf(a, form, known[i].function);
    return NULL;
}

/* Of floats: integers have each update themselves. */
static const char *atomic_loop(arena *a, const char *next, element_type t, const char *place) {
    (void)t;
    (void)place;
    return arena_printf(a,
                        "    unsigned *word = (unsigned *)p, seen = *word;\n"
                        "    for (;;) {\n"
                        "        const float old = __uint_as_float(seen);\n"
                        "        const unsigned was = atomicCAS(word, seen, __float_as_uint(%s));\n"
                        "        if (was == seen)\n"
                        "            return old;\n"
                        "        seen = was;\n"
                        "    }\n",
                        next);
}

static const cfamily_atomics cuda_atomics = {
    .device = "",
    .shared = "",
    .itself = atomic_itself,
    .loop = atomic_loop,
    .least = "fminf(old, v)",
    .greatest = "fmaxf(old, v)",
};

static const cfamily_dialect cuda_dialect = {
    .target = "cuda",
    .index_type = "long long",
    .narrow_type = "int",
    .register_type = cuda_register_type,
    .storage_type = cuda_storage_type,
    .helper = cuda_helper,
    .constant = constant,
    .nan = "NAN",
    .infinity = "INFINITY",
    .least_i32 = "(-2147483647 - 1)",
    .value = value,
    .vector_open = "{{",
    .vector_close = "}}",
    .bare_vectors = true,
    .rolled = "#pragma unroll 1\n",
    .unrolled = "#pragma unroll\n",
    .lane_zero = cuda_zero,
    .function_head = "static __device__ inline ",
    .lane = lane,
    .statement = statement,
    .load = load,
    .store = store,
    .atomics = &cuda_atomics,
    .has_lanes = true,
};

/* ---- kernels ---- */

static void head(arena *a, text_buffer *out, const gpu_entry *e) {
    (void)a;
    text_add(out, "extern \"C\" __global__ void __launch_bounds__(%lld)\n%s(", (long long)e->threads, e->name);
    gpu_parameter_list(out, e);
    text_add(out, ")\n{\n");
}

/* Launches may follow each other before the last one has ended (run/cuda.c): a block reads and writes no memory before all that came before is done. Only
 * then may the next launch's blocks take what is free, so what a near cache holds when they begin is not older than the launch before them. */
static const char in_turn[] = "#if __CUDA_ARCH__ >= 900\n"
                              "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
                              "    asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
                              "#endif\n";

const gpu_dialect cuda_gpu = {
    .values = &cuda_dialect,
    .file_head = "",
    .read_only = "const ",
    .written = "",
    .limit = "__restrict__ ",
    .shared = "",
    .shared_array = "__shared__ __align__(16) ",
    .shared_aligned = "__shared__ __align__(%d) ",
    .most_declared = 48 * 1024,
    .block_number = "blockIdx.x",
    .thread_number = "threadIdx.x",
    .subgroup_number = "__shfl_sync(0xffffffffu, threadIdx.x / 32, 0)",
    .lane_number = "threadIdx.x % 32",
    .groups_tasks = true,
    .begin = in_turn,
    .head = head,
    .integer_type = "const long long ",
    .narrow_integer_type = "const int ",
    .float_type = "const float ",
    .bool_type = "const int ",
    .begin_fragments = cuda_fragments_begin,
    .declare_fragments = cuda_fragments_declare,
    .begin_mbarriers = cuda_mbarriers_begin,
    .map_type = "const __grid_constant__ tensor_map ",
};

bool cuda_program(arena *a, const proved_plan *proved, gpu_program *out, diag_list *diags) {
    return gpu_plan_print(a, proved_plan_get(proved), &cuda_gpu, out, diags);
}

bool cuda_emit(const proved_plan *proved, text_buffer *out, diag_list *diags) {
    arena *a = arena_new();
    gpu_program program;
    bool ok = cuda_program(a, proved, &program, diags);
    if (ok)
        text_add(out, "%s", program.text);
    arena_free(a);
    return ok;
}
