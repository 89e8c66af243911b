/* MSL: simdgroups, vectors of up to four elements, half as a type of its own; bf16 and fp8 travel as their bits. Nothing relaxes arithmetic. */
#include "target/intrinsics.h"
#include "target/metal.h"
#include <math.h>
#include <string.h>

static text_expr primary(const char *text) {
    return (text_expr){text, PRECEDENCE_PRIMARY};
}

/* ---- memory ---- */

static const char *space_of(const kernel_array *a) {
    while (a->view_of)
        a = a->view_of;
    return a->space == SPACE_GLOBAL ? "device" : a->space == SPACE_SHARED ? "threadgroup" : "thread";
}

static const char *place_of(cfamily *p, const kernel_access *access) {
    return arena_printf(p->arena, "&%s[%s]", p->arrays[access->array->id].name, cfamily_offset(p, access, 0));
}

static const char *by_helper(cfamily *p, const kernel_access *access, const char *value, const char *stride, const char *active) {
    return arena_printf(p->arena, "%s(%s%s%s%s%s%s%s)",
                        metal_memory_helper(p, access->array->element, access->lanes, value != NULL, stride, active),
                        place_of(p, access), value ? ", " : "", value ? value : "", stride ? ", " : "", stride ? stride : "",
                        active ? ", " : "", active ? active : "");
}

static const char *load(cfamily *p, const kernel_access *access, const char *stride, const char *active) {
    arena *a = p->arena;
    const kernel_array *array = access->array;
    element_type t = array->element;
    if (!stride && active && access->aligned) /* every lane or none */
        return arena_printf(a, "(%s > 0 ? %s(*(%s %s%s *)%s) : %s)",
                            cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD),
                            metal_register_type(p, t, access->lanes), space_of(array), array->use == USE_IN ? "const " : "",
                            metal_register_type(p, t, access->lanes), place_of(p, access), cfamily_zero(p, t, access->lanes));
    if (stride || active)
        return by_helper(p, access, NULL, stride, active);
    const char *v = metal_register_type(p, t, access->lanes), *place = place_of(p, access);
    const char *constant = array->use == USE_IN && array->space == SPACE_GLOBAL ? "const " : "";
    if (access->aligned)
        return arena_printf(a, "*(%s %s%s *)%s", space_of(array), constant, v, place);
    const char *stored = metal_storage_type(t);
    const char *packed = arena_printf(a, "%s%d(*(%s %spacked_%s%d *)%s)", stored, access->lanes, space_of(array), constant,
                                      stored, access->lanes, place);
    return t == ELEMENT_BOOL    ? arena_printf(a, "(%s != %s%d(0))", packed, stored, access->lanes)
           : t == ELEMENT_INDEX ? arena_printf(a, "%s(%s)", v, packed)
                                : packed;
}

static const char *store(cfamily *p, const kernel_access *access, const char *stride, const char *active, const char *value) {
    arena *a = p->arena;
    const kernel_array *array = access->array;
    element_type t = array->element;
    if (!stride && active && access->aligned) /* every lane or none */
        return arena_printf(a, "if (%s > 0)\n%*s*(%s %s *)%s = %s",
                            cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD), 4 * p->indent + 4, "",
                            space_of(array), metal_register_type(p, t, access->lanes), place_of(p, access), value);
    if (stride || active)
        return by_helper(p, access, value, stride, active);
    if (access->aligned)
        return arena_printf(a, "*(%s %s *)%s = %s", space_of(array), metal_register_type(p, t, access->lanes),
                            place_of(p, access), value);
    const char *stored = metal_storage_type(t);
    if (t == ELEMENT_BOOL || t == ELEMENT_INDEX)
        value = arena_printf(a, "%s%d(%s)", stored, access->lanes, value);
    return arena_printf(a, "*(%s packed_%s%d *)%s = %s", space_of(array), stored, access->lanes, place_of(p, access), value);
}

static const char *lane(cfamily *p, const char *vector, int l) {
    return arena_printf(p->arena, "%s.%c", vector, "xyzw"[l & 3]);
}

/* ---- values ---- */

static text_expr constant(cfamily *p, element_type t, double number) {
    if (t != ELEMENT_F16)
        return cfamily_constant(p, t, number);
    double f = f16_to_f32(f32_to_f16((float)number));
    return primary(arena_printf(p->arena, "half(%s)", cfamily_constant(p, ELEMENT_F32, f).text));
}

static bool lanes_are_simdgroups(const kernel_ir *k) {
    int64_t lanes = 1, extent;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; k->levels.at[i].kind == LEVEL_LANE && d < k->levels.at[i].rank; d++)
            lanes *= ix_is_const(k->levels.at[i].extents[d], &extent) && extent > 0 && extent <= 1024 ? extent : METAL_LANES + 1;
    return lanes == METAL_LANES;
}

static text_expr simd_operation(cfamily *p, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    bool narrow = v->type == ELEMENT_F32 || v->type == ELEMENT_I32 || v->type == ELEMENT_U32;
    const char *name = v->op == KERNEL_SHUFFLE_XOR          ? "simd_shuffle_xor"
                       : v->op == KERNEL_SHUFFLE_DOWN       ? "simd_shuffle_down"
                       : v->op == KERNEL_SHUFFLE            ? "simd_shuffle"
                       : v->op == KERNEL_SUBGROUP_BROADCAST ? "simd_shuffle"
                                                            : metal_simd_helper(p, v->op, v->type, v->lanes);
    if (!lanes_are_simdgroups(p->kernel))
        cfamily_refuse(p, v->span, "`%s` in subgroups of other than %d lanes", kernel_op_table[v->op].name, METAL_LANES);
    else if (!name || !(narrow || (v->operand_count > 1 && v->type == ELEMENT_F16)))
        cfamily_refuse(p, v->span, "`%s` on %s", kernel_op_table[v->op].name, element_table[v->type].name);
    if (p->failed)
        return primary("0");
    const char *text = cfamily_value(p, x).text;
    return v->operand_count == 1
               ? primary(arena_printf(p->arena, "%s(%s)", name, text))
               : primary(arena_printf(p->arena, "%s(%s, ushort(%s))", name, text, cfamily_value(p, v->operands[1]).text));
}

static text_expr value(cfamily *p, const kernel_value *v) {
    if (v->op == KERNEL_PREFIX_SELECT && v->lanes > 1 &&
        cfamily_multiple(p, cfamily_fold(p, v->index)) % v->lanes == 0) /* every lane or none */
        return (text_expr){arena_printf(p->arena, "%s > 0 ? %s : %s", cfamily_wrap(p, cfamily_index(p, v->index), PRECEDENCE_ADD),
                                        cfamily_wrap(p, cfamily_value(p, v->operands[0]), PRECEDENCE_OR),
                                        cfamily_wrap(p, cfamily_value(p, v->operands[1]), PRECEDENCE_OR)),
                           PRECEDENCE_CONDITIONAL};
    if (v->op >= KERNEL_SUBGROUP_SUM && v->op <= KERNEL_SHUFFLE_DOWN)
        return simd_operation(p, v);
    if (v->op >= KERNEL_FRAGMENT_ELEMENT && v->op <= KERNEL_LANE_VIEW && metal_fragment_element(p, v))
        return primary(metal_fragment_element(p, v));
    if (v->lanes > 1 && v->type == ELEMENT_BOOL && (v->op == KERNEL_NOT || v->op == KERNEL_AND || v->op == KERNEL_OR)) {
        const char *x = cfamily_wrap(p, cfamily_value(p, v->operands[0]), PRECEDENCE_PRIMARY);
        if (v->op == KERNEL_NOT)
            return (text_expr){arena_printf(p->arena, "!%s", x), PRECEDENCE_UNARY};
        return (text_expr){arena_printf(p->arena, "%s %s %s", x, v->op == KERNEL_AND ? "&&" : "||",
                                        cfamily_wrap(p, cfamily_value(p, v->operands[1]), PRECEDENCE_PRIMARY)),
                           PRECEDENCE_OR};
    }
    return cfamily_operation(p, v);
}

/* ---- barriers, fragments ---- */

static bool statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind == KSTMT_INTRINSIC)
        /* of plans for AIR, whose entries this printer tells, nobody reads the text */
        return cfamily_intrinsic(p, s, intrinsic_row_of(&air_intrinsics, "", s) ? &air_intrinsics : &metal_intrinsics) ||
               p->failed;
    if (s->kind >= KSTMT_FRAGMENT_FILL && s->kind <= KSTMT_FRAGMENT_SET)
        return lanes_are_simdgroups(p->kernel) && metal_fragment_statement(p, s);
    if (s->kind != KSTMT_BARRIER || s->participants || (s->scope != LEVEL_BLOCK && s->scope != LEVEL_SUBGROUP) ||
        (s->scope == LEVEL_SUBGROUP && !lanes_are_simdgroups(p->kernel)))
        return false;
    bool shared = s->spaces & 1u << SPACE_SHARED, global = s->spaces & 1u << SPACE_GLOBAL;
    cfamily_line(p, "%s(%s%s%s);", s->scope == LEVEL_BLOCK ? "threadgroup_barrier" : "simdgroup_barrier",
                 shared || !global ? "mem_flags::mem_threadgroup" : "", shared && global ? " | " : "",
                 global ? "mem_flags::mem_device" : "");
    return true;
}

static const char *atomic_itself(arena *a, const char *update, element_type t, const char *place) {
    static const char *const known[] = {"add", "min", "max", "and", "or", "xor"};
    const bool is_float = t == ELEMENT_F32;
    const char *type = t == ELEMENT_I32 ? "int" : "uint";
    if (t == ELEMENT_I64)
        return NULL;
    if (!strcmp(update, "xchg"))
        return is_float ? arena_printf(a,
                                       "as_type<float>(atomic_exchange_explicit((%satomic_uint *)p, as_type<uint>(v), "
                                       "memory_order_relaxed))",
                                       place)
                        : arena_printf(a, "atomic_exchange_explicit((%satomic_%s *)p, v, memory_order_relaxed)", place, type);
    if (!strcmp(update, "cmpxchg")) /* the weak form is the one there is: it may fail though the cell holds what is expected */
        return arena_printf(
            a,
            "    %satomic_uint *word = (%satomic_uint *)p;\n"
            "    const uint wanted = as_type<uint>(e);\n"
            "    uint seen = wanted;\n"
            "    while (!atomic_compare_exchange_weak_explicit(word, &seen, as_type<uint>(v), memory_order_relaxed, "
            "memory_order_relaxed) && seen == wanted) {\n"
            "    }\n"
            "    return as_type<%s>(seen);\n",
            place, place, is_float ? "float" : type);
    for (size_t i = 0; !is_float && i < sizeof known / sizeof *known; i++)
        if (!strcmp(update, known[i]))
            return arena_printf(a, "atomic_fetch_%s_explicit((%satomic_%s *)p, v, memory_order_relaxed)", update, place, type);
    return NULL;
}

static const char *atomic_loop(arena *a, const char *next, element_type t, const char *place) {
    const char *type = t == ELEMENT_F32 ? "float" : "uint";
    return arena_printf(
        a,
        "    %satomic_uint *word = (%satomic_uint *)p;\n"
        "    uint seen = atomic_load_explicit(word, memory_order_relaxed);\n"
        "    for (;;) {\n"
        "        const %s old = as_type<%s>(seen);\n"
        "        const %s next = %s;\n"
        "        if (atomic_compare_exchange_weak_explicit(word, &seen, as_type<uint>(next), memory_order_relaxed, "
        "memory_order_relaxed))\n"
        "            return old;\n"
        "    }\n",
        place, place, type, type, type, next);
}

static const cfamily_atomics metal_atomics = {
    .device = "volatile device ",
    .shared = "volatile threadgroup ",
    .itself = atomic_itself,
    .loop = atomic_loop,
    .least = "fmin(old, v)",
    .greatest = "fmax(old, v)",
};

const cfamily_dialect metal_dialect = {
    .target = "metal",
    .index_type = "long",
    .narrow_type = "int",
    .register_type = metal_register_type,
    .storage_type = metal_storage_type,
    .helper = metal_helper,
    .constant = constant,
    .nan = "NAN",
    .infinity = "INFINITY",
    .least_i32 = "(-2147483647 - 1)",
    .value = value,
    .vector_open = "(",
    .vector_close = ")",
    .bare_vectors = true,
    .function_head = "static inline ",
    .lane = lane,
    .statement = statement,
    .load = load,
    .store = store,
    .atomics = &metal_atomics,
    .has_lanes = true,
    .no_goto = true,
};

/* ---- kernels ---- */

static void head(arena *a, text_buffer *out, const gpu_entry *e) {
    (void)a;
    text_add(out, "[[max_total_threads_per_threadgroup(%lld)]]\nkernel void %s(\n", (long long)e->threads, e->name);
    for (int i = 0; i < e->parameters.count; i++)
        text_add(out, "    %s%s [[buffer(%d)]],\n", e->parameters.at[i].type, e->parameters.at[i].name, i);
    text_add(out,
             "    uint block_number [[threadgroup_position_in_grid]],\n    uint simd_number [[simdgroup_index_in_threadgroup]],\n"
             "    uint simd_lane [[thread_index_in_simdgroup]])\n{\n");
}

const gpu_dialect metal_gpu = {
    .values = &metal_dialect,
    .file_head =
        "#include <metal_stdlib>\n#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\nusing namespace metal;\n\n",
    .read_only = "device const ",
    .written = "device ",
    .limit = "",
    .shared = "threadgroup ",
    .shared_array = "alignas(16) threadgroup ",
    .block_number = "block_number",
    .thread_name = "thread_number",
    .thread_number = "simd_number * 32 + simd_lane",
    .subgroup_number = "simd_number",
    .lane_number = "simd_lane",
    .head = head,
    .integer_type = "constant long &",
    .narrow_integer_type = "constant int &",
    .float_type = "constant float &",
    .bool_type = "constant int &",
    .begin_fragments = metal_fragments_begin,
    .declare_fragments = metal_fragments_declare,
};

/* What only the whole shows: a launch binds no more than 31 buffers. */
static bool complete(const launch_plan *plan, const gpu_program *program, diag_list *diags) {
    source_span span = plan->variants.count ? plan->variants.at[0].kernel->span : (source_span){0};
    for (int i = 0; i < program->variants; i++)
        if (program->forms[GPU_PLAIN].at[i].parameters.count > METAL_BUFFERS) {
            diag_error(diags, "E0551", span, "target metal cannot express %d arguments: a launch binds %d buffers (kernel %s)",
                       program->forms[GPU_PLAIN].at[i].parameters.count, METAL_BUFFERS, plan->name);
            return false;
        }
    return true;
}

bool metal_program(arena *a, const proved_plan *proved, gpu_program *out, diag_list *diags) {
    const launch_plan *plan = proved_plan_get(proved);
    return gpu_plan_print(a, plan, &metal_gpu, out, diags) && complete(plan, out, diags);
}

bool metal_emit(const proved_plan *proved, text_buffer *out, diag_list *diags) {
    arena *a = arena_new();
    gpu_program program;
    bool ok = metal_program(a, proved, &program, diags);
    if (ok)
        text_add(out, "%s", program.text);
    arena_free(a);
    return ok;
}
