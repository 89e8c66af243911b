/* CUDA C++: matrix instructions of warpgroups (wgmma, compute capability 9.0 alone). Operands are places in shared memory, which a descriptor says: rows of 128
 * bytes whose 16-byte pieces are exchanged over eight rows (the layout that Kernel IR calls box(.., R, 64) swizzle(3, 3, 3), from multiples of 1024 bytes on).
 *   bits 0..13 address / 16, 16..29 leading distance / 16, 32..45 stride distance / 16, 62..63: 1, the swizzle of 128 bytes
 * Where memory runs along the sum, the stride distance is from eight rows to the next eight, and the leading one is not looked at; where it runs across the sum,
 * they are from eight steps of the sum to the next eight, and from 64 rows to the next 64. test/run/_cuda_on_cpu.h says what the asm statements mean. */
#include "target/cuda_helpers.h"
#include "target/gpu_plan.h"
#include <string.h>

#define HEAD "static __device__ inline "
enum { ROW_BYTES = 128, ROWS = 8, PIECE_BYTES = 16 };

/* ---- places ---- */

/* Whether memory runs across the sum: along the rows of a, the columns of b. */
static bool runs_across(const kernel_stmt *load) {
    int last = load->access.array->rank - 1;
    return last == (load->fragments[0].fragment->role == FRAGMENT_A ? load->row_dim : load->column_dim);
}

/* What keeps the place from having a descriptor; NULL: nothing. */
static const char *refusal(cfamily *p, const kernel_stmt *s) {
    const kernel_array *a = s->access.array;
    const kernel_layout *l = &a->layout;
    const int last = a->rank - 1, other = s->row_dim == last ? s->column_dim : s->row_dim;
    const int bytes = element_table[a->element].block_bytes;
    int64_t extent;
    if (a->space != SPACE_SHARED || (bytes != 1 && bytes != 2 && bytes != 4) || a->alignment % (ROWS * ROW_BYTES) || a->view_of)
        return "operands by reference that are no elements of 8, 16 or 32 bits of shared memory aligned to 1024 bytes";
    if (l->kind != LAYOUT_BOX || l->bits != 3 || 1 << l->base != PIECE_BYTES / bytes || l->shift != 3 ||
        l->box[last] != ROW_BYTES / bytes || s->row_step || s->column_step || (s->row_dim != last && s->column_dim != last) ||
        other == last || !ix_is_const(a->dims[other], &extent) || l->box[other] != extent || extent % ROWS)
        return "operands by reference in another layout than boxes of all rows and 128 bytes, swizzled in pieces of 16";
    for (int d = 0; d < last; d++)
        if (d != other && l->box[d] != 1)
            return "operands by reference whose boxes are several tiles";
    if (bytes != 2 && runs_across(s))
        return "operands of other than 16 bits that run across the sum";
    /* whole groups of eight rows, and along memory steps of a row that stay in it, or whole rows */
    int64_t along = cfamily_multiple(p, cfamily_fold(p, s->access.indices[last]));
    int64_t wanted = runs_across(s) ? ROW_BYTES / bytes : 2 * PIECE_BYTES / bytes;
    if (cfamily_multiple(p, cfamily_fold(p, s->access.indices[other])) % ROWS || along % wanted)
        return "operands by reference that begin within eight rows, or within a piece of a row";
    return NULL;
}

bool cuda_warpgroup_place(cfamily *p, const kernel_stmt *s, const char *fragment) {
    const kernel_array *array = s->access.array;
    const char *why = refusal(p, s);
    if (why)
        return cfamily_refuse(p, s->span, "%s", why);
    if (cfamily_first_use(p, "operand_place"))
        text_add(&p->prelude,
                 HEAD "unsigned long long operand_place(const void *tile, unsigned leading, unsigned stride)\n{\n"
                      "    const unsigned address = (unsigned)__cvta_generic_to_shared(tile);\n"
                      "    return (unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |\n"
                      "           (unsigned long long)(stride >> 4) << 32 | 1ull << 62;\n}\n");
    const int last = array->rank - 1, other = s->row_dim == last ? s->column_dim : s->row_dim;
    int64_t rows = 0;
    ix_is_const(array->dims[other], &rows);
    p->arrays[array->id].used = true;
    cfamily_line(
        p, "%s = operand_place(%s, %lld, %d) + %s;", fragment, p->arrays[array->id].name,
        runs_across(s) ? (long long)rows * ROW_BYTES : 16ll, ROWS * ROW_BYTES,
        cfamily_wrap(p, cfamily_pieces(p, &s->access, PIECE_BYTES / element_table[array->element].block_bytes), PRECEDENCE_ADD));
    return true;
}

/* ---- arithmetic ---- */

/* The load by reference that fills the fragment: one statement does, as the prover has seen. */
static const kernel_stmt *load_of(const kernel_block *b, const kernel_fragment *f) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_FRAGMENT_LOAD && s->fragments[0].fragment == f)
            return s;
        const kernel_stmt *inside = load_of(&s->body, f);
        inside = inside ? inside : load_of(&s->otherwise, f);
        if (inside)
            return inside;
    }
    return NULL;
}

static const char *product(cfamily *p, const matrix_instruction *with, const char *type, bool across_a, bool across_b) {
    const bool halves = element_table[with->operand].block_bytes == 2, floats = element_table[with->accumulator].is_float;
    const char *operand = with->operand == ELEMENT_I8 ? "s8" : element_table[with->operand].name, *sum = floats ? "f32" : "s32";
    const char *name = arena_printf(p->arena, "wgmma_m%dn%dk%d_%s%s%s", with->m, with->n, with->k, operand,
                                    across_a ? "_a_across" : "", across_b ? "_b_across" : "");
    if (!cfamily_first_use(p, name))
        return name;
    const int elements = with->m * with->n / with->lanes;
    text_add(&p->prelude,
             "/* d += a b, until it is waited for */\n" HEAD "void %s(%s &d, unsigned long long a, unsigned long long b)\n{\n",
             name, type);
    if (halves)
        text_add(&p->prelude, "    const int across_a = %d, across_b = %d;\n", across_a, across_b);
    text_add(&p->prelude,
             "    asm volatile(\"{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m%dn%dk%d.%s.%s.%s \"\n  "
             "      \"{",
             with->m, with->n, with->k, sum, operand, operand);
    for (int e = 0; e < elements; e++)
        text_add(&p->prelude, "%s%%%d%s", e ? ", " : "", e, e % 16 == 15 && e < elements - 1 ? "\"\n        \"" : "");
    text_add(&p->prelude, "}, %%%d, %%%d, add", elements, elements + 1);
    if (halves)
        text_add(&p->prelude, ", 1, 1, %%%d, %%%d", elements + 2, elements + 3);
    else if (floats)
        text_add(&p->prelude, ", 1, 1");
    text_add(&p->prelude, "; }\"\n        :");
    for (int e = 0; e < elements; e++)
        text_add(&p->prelude, "%s\"+%s\"(d.v[%d])%s", e ? ", " : " ", floats ? "f" : "r", e,
                 e % 8 == 7 && e < elements - 1 ? "\n         " : "");
    text_add(&p->prelude, "\n        : \"l\"(a), \"l\"(b)%s : \"memory\");\n}\n",
             halves ? ", \"n\"(across_a), \"n\"(across_b)" : "");
    return name;
}

static const char *plain(cfamily *p, const char *name, const char *instruction) {
    if (cfamily_first_use(p, name))
        text_add(&p->prelude, HEAD "void %s()\n{\n    asm volatile(\"%s;\" : : : \"memory\");\n}\n", name, instruction);
    return name;
}

bool cuda_warpgroup_multiply(cfamily *p, const kernel_stmt *s, const cuda_product_names *n) {
    const matrix_instruction *with = matrix_of_mma(&cuda_machine()->matrices, s);
    const kernel_stmt *a = load_of(&p->kernel->body, s->fragments[1].fragment),
                      *b = load_of(&p->kernel->body, s->fragments[2].fragment);
    if (!with || with->holder != LEVEL_WARPGROUP)
        return cfamily_refuse(p, s->span, "an asynchronous product of such fragments");
    if (!a || !b || !a->by_reference || !b->by_reference || strcmp(n->d, n->c) != 0)
        return cfamily_refuse(p, s->span,
                              "an asynchronous product of other than operands by reference, added to where it is kept");
    if (!p->products_open) /* what registers held before is there for the unit to add to */
        cfamily_line(p, "%s();", plain(p, "products_begin", "wgmma.fence.sync.aligned"));
    p->products_open = true;
    cfamily_line(p, "%s(%s, %s, %s);", product(p, with, n->type, runs_across(a), runs_across(b)), n->d, n->a, n->b);
    return true;
}

/* Behind it the compiler moves no use of them before it, and keeps them where they are. */
void cuda_warpgroup_settle(cfamily *p, const kernel_fragment *f, const char *fragment) {
    const int elements = f->rows * f->columns / 128;
    const char *type = cuda_register_type(p, f->element, elements), *name = arena_printf(p->arena, "settle_%s", type);
    cfamily_line(p, "%s(%s);", name, fragment);
    if (!cfamily_first_use(p, name))
        return;
    text_add(&p->prelude, HEAD "void %s(%s &d)\n{\n", name, type);
    for (int e = 0; e < elements; e += 8) {
        text_add(&p->prelude, "    asm volatile(\"\" :");
        for (int i = e; i < e + 8 && i < elements; i++)
            text_add(&p->prelude, "%s\"+%s\"(d.v[%d])", i > e ? ", " : " ", f->element == ELEMENT_F32 ? "f" : "r", i);
        text_add(&p->prelude, " : : \"memory\");\n");
    }
    text_add(&p->prelude, "}\n");
}

bool cuda_warpgroup_group(cfamily *p, const kernel_stmt *s) {
    p->products_open = false;
    if (s->kind == KSTMT_COMMIT) {
        cfamily_line(p, "%s();", plain(p, "products_commit", "wgmma.commit_group.sync.aligned"));
        return true;
    }
    if (s->count < 0 || s->count > 7)
        return cfamily_refuse(p, s->span, "more than 7 groups of products left running");
    cfamily_line(p, "%s();",
                 plain(p, arena_printf(p->arena, "products_wait_%lld", (long long)s->count),
                       arena_printf(p->arena, "wgmma.wait_group.sync.aligned %lld", (long long)s->count)));
    for (int i = 0; i < p->kernel->fragments.count && !s->count; i++) {
        const kernel_fragment *f = p->kernel->fragments.at[i];
        if (f->holder != LEVEL_WARPGROUP || f->role != FRAGMENT_ACCUMULATOR ||
            (f->element != ELEMENT_F32 && f->element != ELEMENT_I32))
            continue;
        for (int n = 0; n < f->count; n++)
            cuda_warpgroup_settle(p, f, p->fragments[i][n]);
    }
    return true;
}

bool cuda_proxy_fence(cfamily *p, const kernel_stmt *s) {
    if (!s->proxy || s->scope != LEVEL_BLOCK || s->spaces != 1u << SPACE_SHARED)
        return false;
    cfamily_line(p, "%s();", plain(p, "fence_for_units", "fence.proxy.async.shared::cta"));
    return true;
}
