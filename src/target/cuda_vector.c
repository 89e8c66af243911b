/* CUDA C++: row and column vectors of 16 x 8 accumulators, and what accumulators become, in registers. Lane l holds of a row vector the elements l / 4 and
 * l / 4 + 8, which are the rows of its accumulators' elements, and of a column vector l % 4 * 2 and the next; lanes of a row, or of a column, hold copies. */
#include "target/cuda_helpers.h"

#define HEAD "static __device__ inline "

static const char *register_type(cfamily *p, const kernel_fragment *f) {
    return cuda_register_type(p, f->element, cuda_is_vector(f) ? CUDA_VECTOR_SHARE : f->rows * f->columns / 32);
}

const char *cuda_vector_access(cfamily *p, const kernel_fragment *f, bool store) {
    bool row = f->role == FRAGMENT_ROW_VECTOR;
    const char *element = cuda_storage_type(f->element), *type = register_type(p, f);
    const char *name =
        arena_printf(p->arena, "%s_%s_%s", store ? "store" : "load", role_names[f->role], element_table[f->element].name);
    if (!cfamily_first_use(p, name))
        return name;
    const char *of = cuda_lane_functions(p, f);
    if (store)
        text_add(&p->prelude, HEAD "void %s(%s *tile, const %s &f, long long step, long long rows, long long columns)\n{\n", name,
                 element, type);
    else
        text_add(&p->prelude, HEAD "%s %s(const %s *tile, long long step, long long rows, long long columns)\n{\n    %s f;\n",
                 type, name, element, type);
    text_add(&p->prelude, "#pragma unroll\n    for (int e = 0; e < %d; e++) {\n        const int n = %s_%s;\n", CUDA_VECTOR_SHARE,
             of, row ? "row(2 * e)" : "column(e)");
    const char *exists = row ? "n < rows && 0 < columns" : "n < columns && 0 < rows";
    if (store) /* of the lanes that hold an element the first stores it */
        text_add(&p->prelude, "        if (%s && %s == 0)\n            tile[n * step] = f.v[e];\n    }\n}\n", exists,
                 row ? "threadIdx.x % 4" : "(threadIdx.x >> 2) % 8");
    else
        text_add(&p->prelude, "        f.v[e] = %s ? tile[n * step] : 0;\n    }\n    return f;\n}\n", exists);
    return name;
}

/* Neighbours first, then pairs of them: first a row's two elements of a lane, then those of the lanes of the row; of a column the lanes, then rows 8 apart. */
bool cuda_vector_reduce(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *to = s->fragments[0].fragment, *from = s->fragments[1].fragment;
    bool rows = s->axis == 1, real = to->element == ELEMENT_F32; /* to an element for each row */
    if (from->role != FRAGMENT_ACCUMULATOR || from->holder != LEVEL_SUBGROUP || (!real && to->element != ELEMENT_I32))
        return cfamily_refuse(p, s->span, "reducing a fragment of %s, role %s (it has accumulators of f32 and i32)",
                              element_table[from->element].name, role_names[from->role]);
    const char *how = s->combine == KERNEL_ADD ? "add" : s->combine == KERNEL_MAX ? "max" : "min";
    const char *name = arena_printf(p->arena, "%s_of_%s_%s", how, rows ? "rows" : "columns", element_table[to->element].name);
    if (cfamily_first_use(p, name)) {
        const char *form = s->combine == KERNEL_ADD   ? real ? "%s + %s" : "(int)((unsigned)%s + (unsigned)%s)"
                           : s->combine == KERNEL_MAX ? real ? "fmaxf(%s, %s)" : "max(%s, %s)"
                           : real                     ? "fminf(%s, %s)"
                                                      : "min(%s, %s)";
        text_add(&p->prelude, HEAD "%s %s(const %s &f)\n{\n    %s r;\n#pragma unroll\n    for (int n = 0; n < %d; n++) {\n",
                 register_type(p, to), name, register_type(p, from), register_type(p, to), CUDA_VECTOR_SHARE);
        const char *scalar = cuda_scalar_type(to->element), *exchange = "__shfl_xor_sync(0xffffffffu, %s, apart)";
        if (rows) {
            text_add(&p->prelude, "        %s x = ", scalar);
            text_add(&p->prelude, form, "f.v[2 * n]", "f.v[2 * n + 1]");
            text_add(&p->prelude, ";\n");
        } else {
            text_add(&p->prelude, "        %s x = f.v[n], y = f.v[n + 2];\n", scalar);
        }
        text_add(&p->prelude, "#pragma unroll\n        for (int apart = %d; apart < %d; apart *= 2) {\n", rows ? 1 : 4,
                 rows ? 4 : 32);
        for (int half = 0; half < (rows ? 1 : 2); half++) {
            const char *x = half ? "y" : "x";
            text_add(&p->prelude, "            %s = ", x);
            text_add(&p->prelude, form, x, arena_printf(p->arena, exchange, x));
            text_add(&p->prelude, ";\n");
        }
        text_add(&p->prelude, "        }\n        r.v[n] = ");
        if (rows)
            text_add(&p->prelude, "x");
        else
            text_add(&p->prelude, form, "x", "y");
        text_add(&p->prelude, ";\n    }\n    return r;\n}\n");
    }
    cfamily_line(p, "%s = %s(%s);", cfamily_fragment_name(p, to, s->fragments[0].index), name,
                 cfamily_fragment_name(p, from, s->fragments[1].index));
    return true;
}

static const char *converted(cfamily *p, element_type to, element_type from, const char *x) {
    return to == from ? x : arena_printf(p->arena, "%s(%s)", cuda_helper(p, HELPER_CONVERT, to, from, 1), x);
}

/* Registers of an operand, each an f32 that becomes a tf32. */
static void round_operand(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *to = s->fragments[0].fragment;
    const int registers = to->rows * to->columns / 32;
    const char *type = cuda_register_type(p, ELEMENT_U32, registers), *name = arena_printf(p->arena, "round_%s", type);
    const char *one = converted(p, ELEMENT_TF32, ELEMENT_F32, "__uint_as_float(x.v[n])");
    if (cfamily_first_use(p, name))
        text_add(&p->prelude,
                 HEAD "%s %s(const %s &x)\n{\n    %s d;\n#pragma unroll\n    for (int n = 0; n < %d; n++)\n"
                      "        d.v[n] = __float_as_uint(%s);\n    return d;\n}\n",
                 type, name, type, type, registers, one);
    cfamily_line(p, "%s = %s(%s);", cfamily_fragment_name(p, to, s->fragments[0].index), name,
                 cfamily_fragment_name(p, s->fragments[1].fragment, s->fragments[1].index));
}

/* Two accumulators side by side lie as the left operand of 16 columns does, in pairs: registers 0 and 1 are the first's rows, 2 and 3 the second's. */
bool cuda_fragment_convert(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *to = s->fragments[0].fragment, *from = s->fragments[1].fragment;
    bool pair = s->fragments[2].fragment && !s->fragments[3].fragment, alone = !s->fragments[2].fragment;
    bool narrow = to->element == ELEMENT_F16 || to->element == ELEMENT_BF16;
    bool operand = to->role == FRAGMENT_A && to->rows == 16 && to->columns == 16 && narrow && pair &&
                   from->role == FRAGMENT_ACCUMULATOR,
         sums = to->role == from->role && alone && to->role != FRAGMENT_A && to->role != FRAGMENT_B;
    if (to->role == from->role && alone && (to->role == FRAGMENT_A || to->role == FRAGMENT_B) && to->element == ELEMENT_TF32 &&
        from->element == ELEMENT_F32 && to->holder == LEVEL_SUBGROUP) {
        round_operand(p, s);
        return true;
    }
    if ((!operand && !sums) || to->holder != LEVEL_SUBGROUP)
        return cfamily_refuse(p, s->span,
                              "making fragments of role %s of role %s in registers (it has left operands of f16 and bf16, of two "
                              "accumulators, and accumulators)",
                              role_names[to->role], role_names[from->role]);
    const char *out = operand ? cuda_register_type(p, ELEMENT_U32, 4) : register_type(p, to), *in = register_type(p, from);
    const char *name = arena_printf(p->arena, "%s_%s_of_%s", role_names[to->role], element_table[to->element].name,
                                    element_table[from->element].name);
    const char *of = cfamily_fragment_name(p, from, s->fragments[1].index);
    const char *one = converted(p, to->element, from->element, "x.v[e]"), *low = NULL, *high = NULL;
    if (operand) {
        low = converted(p, to->element, from->element, "x.v[2 * r]");
        high = converted(p, to->element, from->element, "x.v[2 * r + 1]");
    }
    const bool first = cfamily_first_use(p, name);
    if (first && operand)
        text_add(&p->prelude,
                 HEAD "%s %s(const %s &left, const %s &right)\n{\n    %s d;\n#pragma unroll\n    for (int i = 0; i < 4; i++) {\n"
                      "        const %s &x = i < 2 ? left : right;\n        const int r = i %% 2;\n"
                      "        d.v[i] = (unsigned)%s | (unsigned)%s << 16;\n    }\n    return d;\n}\n",
                 out, name, in, in, out, in, low, high);
    else if (first)
        text_add(&p->prelude,
                 HEAD "%s %s(const %s &x)\n{\n    %s d;\n#pragma unroll\n    for (int e = 0; e < %d; e++)\n        d.v[e] = %s;\n"
                      "    return d;\n}\n",
                 out, name, in, out, cuda_is_vector(to) ? CUDA_VECTOR_SHARE : to->rows * to->columns / 32, one);
    if (operand)
        cfamily_line(p, "%s = %s(%s, %s);", cfamily_fragment_name(p, to, s->fragments[0].index), name, of,
                     cfamily_fragment_name(p, s->fragments[2].fragment, s->fragments[2].index));
    else
        cfamily_line(p, "%s = %s(%s);", cfamily_fragment_name(p, to, s->fragments[0].index), name, of);
    return true;
}
