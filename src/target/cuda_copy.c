/* CUDA C++: asynchronous copies of rows into shared memory, by cp.async where both sides are aligned. Where they are not, a copy is made at once: what Kernel IR
 * promises of it is that it is made between its issue and the wait that covers it. test/run/_cuda_on_cpu.h says what the asm statements mean. */
#include "target/cuda_helpers.h"
#include <string.h>

#define HEAD "static __device__ inline "

/* (to, from, how many elements exist): the others become zero. `whole`: all exist or none, which is one instruction; of other sizes ptxas makes eight. */
static const char *asynchronous(cfamily *p, element_type t, int lanes, bool whole) {
    int each = element_table[t].block_bytes, bytes = each * lanes;
    const char *element = cuda_storage_type(t),
               *name = arena_printf(p->arena, "copy_async_%dx%d%s", each, lanes, whole ? "_whole" : "");
    if (!cfamily_first_use(p, name))
        return name;
    text_add(&p->prelude, HEAD "void %s(%s *to, const %s *from, long long count)\n{\n", name, element, element);
    if (whole)
        text_add(&p->prelude, "    const int bytes = count > 0 ? %d : 0;\n", bytes);
    else
        text_add(&p->prelude, "    const int bytes = count <= 0 ? 0 : count >= %d ? %d : (int)count * %d;\n", lanes, bytes, each);
    text_add(&p->prelude,
             "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800\n"
             "    for (int i = 0; i < %d; i++)\n        to[i] = i * %d < bytes ? from[i] : %s{0};\n#else\n"
             "    const unsigned address = (unsigned)__cvta_generic_to_shared(to);\n"
             "    asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %d, %%2;\" : : \"r\"(address), \"l\"(from), "
             "\"r\"(bytes) : \"memory\");\n#endif\n}\n",
             lanes, each, element, bytes == 16 ? "cg" : "ca", bytes);
    return name;
}

static const char *group_function(cfamily *p, const char *name, const char *instruction) {
    if (cfamily_first_use(p, name))
        text_add(&p->prelude,
                 HEAD "void %s()\n{\n#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800\n    asm volatile(\"%s;\" : : : "
                      "\"memory\");\n#endif\n}\n",
                 name, instruction);
    return name;
}

/* Whether x is an id, which its level's extent keeps below this one. */
static bool below_by_launch(const cfamily *p, const index_expr *x, const index_expr *extent) {
    const kernel_ir *k = p->kernel;
    for (int i = 0; x->op == IX_VAR && i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank; d++)
            if (k->levels.at[i].ids[d] == x->var)
                return ix_equal(k->levels.at[i].extents[d], extent);
    return false;
}

/* How many elements of the row exist: all, or none where another index is outside. *whole: never some of them. */
static const char *existing(cfamily *p, const kernel_stmt *s, int lanes, bool *whole) {
    arena *a = p->arena;
    const kernel_array *from = s->source.array;
    text_buffer inside = {0};
    const char *count = arena_printf(a, "%d", lanes);
    *whole = true;
    if (!s->clip)
        return count;
    for (int d = 0; d < from->rank; d++) {
        index_expr *x = s->source.indices[d];
        const char *text = cfamily_wrap(p, cfamily_index(p, x), PRECEDENCE_ADD),
                   *extent = cfamily_wrap(p, cfamily_index(p, from->dims[d]), PRECEDENCE_ADD);
        if (!cfamily_not_negative(p, x))
            text_add(&inside, "%s0 <= %s", inside.length ? " && " : "", text);
        if (d < from->rank - 1 && below_by_launch(p, x, from->dims[d]))
            continue;
        if (d < from->rank - 1)
            text_add(&inside, "%s%s < %s", inside.length ? " && " : "", text, extent);
        else {
            index_expr *left = ix_sub(a, from->dims[d], x);
            *whole = cfamily_multiple(p, cfamily_fold(p, left)) % lanes == 0;
            count = cfamily_index_text(p, left);
        }
    }
    if (inside.length)
        count = arena_printf(a, "%s ? %s : 0", text_get(&inside), count);
    text_free(&inside);
    return count;
}

static bool copy(cfamily *p, const kernel_stmt *s) {
    arena *a = p->arena;
    const kernel_array *to = s->access.array, *from = s->source.array;
    element_type t = to->element;
    int lanes = kernel_row_lanes(s), bytes = lanes * element_table[t].block_bytes;
    int64_t one;
    if (to->space != SPACE_SHARED || from->space != SPACE_GLOBAL || bytes < 2 || bytes > 16 || (lanes & (lanes - 1)))
        return false;
    for (int d = 0; d < to->rank - 1; d++)
        if (!ix_is_const(s->extents[d], &one) || one != 1)
            return false;
    kernel_access into = s->access;
    into.lanes = lanes;
    into.vector_dim = to->rank - 1;
    if (lanes > 1 && !cfamily_contiguous(p, &into))
        return false;
    p->arrays[to->id].used = p->arrays[from->id].used = true;
    bool whole;
    const char *target = arena_printf(a, "&%s[%s]", p->arrays[to->id].name, cfamily_offset(p, &s->access, 0));
    const char *source = arena_printf(a, "&%s[%s]", p->arrays[from->id].name, cfamily_far_offset(p, &s->source)),
               *count = existing(p, s, lanes, &whole);
    if (bytes >= 4 && (lanes == 1 || (s->access.aligned && s->source.aligned))) {
        cfamily_line(p, "%s(%s, %s, %s);", asynchronous(p, t, lanes, whole), target, source, count);
        return true;
    }
    const char *loaded = arena_printf(a, "%s(%s, %s)", cuda_memory_helper(p, t, lanes, false, false, true), source, count);
    if (s->access.aligned)
        cfamily_line(p, "*(%s *)%s = %s;", cuda_register_type(p, t, lanes), target, loaded);
    else
        cfamily_line(p, "%s(%s, %s);", cuda_memory_helper(p, t, lanes, true, false, false), target, loaded);
    return true;
}

bool cuda_copy_statement(cfamily *p, const kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_COPY: return s->name ? cuda_bulk_copy(p, s) : copy(p, s);
    case KSTMT_COMMIT:
        if (s->matrix)
            return cuda_warpgroup_group(p, s);
        cfamily_line(p, "%s();", group_function(p, "copy_commit", "cp.async.commit_group"));
        return true;
    default:
        if (s->matrix)
            return cuda_warpgroup_group(p, s);
        cfamily_line(p, "%s();",
                     group_function(p, arena_printf(p->arena, "copy_wait_%lld", (long long)s->count),
                                    arena_printf(p->arena, "cp.async.wait_group %lld", (long long)s->count)));
        return true;
    }
}
