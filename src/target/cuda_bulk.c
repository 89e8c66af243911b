/* CUDA C++: copies in bulk and mbarriers (compute capability 9.0 and later). A copy that signals an mbarrier is one instruction of one thread: it moves a box of an
 * array, which a tensor map describes (run/cuda_maps.c makes it at the launch), into rows of 128 bytes whose 16-byte pieces are exchanged over eight rows; what lies
 * outside the array becomes zero. An mbarrier's phase completes when its arrivals are there and the bytes that it was told to expect; a wait names a phase by its
 * parity, and that of phase -1 is of one that is over. test/run/_cuda_on_cpu.h says what the asm statements mean. */
#include "target/cuda_helpers.h"
#include "target/gpu_plan.h"
#include <string.h>

#define HEAD "static __device__ inline "
enum { PIECE_BYTES = 16, ROW_BYTES = 128, ROWS = 8, MOST_BOX = 256, MOST_RANK = 5 };

/* ---- mbarriers ---- */

static const kernel_mbarrier *mbarrier_named(const kernel_ir *k, const char *name) {
    for (int i = 0; i < k->mbarriers.count; i++)
        if (!strcmp(k->mbarriers.at[i]->name, name))
            return k->mbarriers.at[i];
    return NULL;
}

static const char *slot_of(cfamily *p, const kernel_stmt *s) {
    const char *name = cfamily_find(p, mbarrier_named(p->kernel, s->name))->text;
    return s->slot ? arena_printf(p->arena, "&%s[%s]", name, cfamily_index_text(p, s->slot)) : name;
}

static const char *mbarrier_function(cfamily *p, const char *name, const char *parameter, const char *instruction,
                                     const char *operand) {
    if (cfamily_first_use(p, name))
        text_add(&p->prelude,
                 HEAD "void %s(unsigned long long *barrier%s%s)\n{\n"
                      "    const unsigned address = (unsigned)__cvta_generic_to_shared(barrier);\n"
                      "    asm volatile(\"%s;\" : : \"r\"(address)%s : \"memory\");\n}\n",
                 name, *parameter ? ", " : "", parameter, instruction, operand);
    return name;
}

void cuda_mbarriers_begin(cfamily *p, const kernel_ir *k, text_buffer *out) {
    const char *init =
        mbarrier_function(p, "mbarrier_init", "unsigned arrivals", "mbarrier.init.shared::cta.b64 [%0], %1", ", \"r\"(arrivals)");
    text_add(out, "    if (threadIdx.x == 0) {\n");
    for (int i = 0; i < k->mbarriers.count; i++) {
        const kernel_mbarrier *m = k->mbarriers.at[i];
        text_add(out, "#pragma unroll\n        for (int slot = 0; slot < %d; slot++)\n            %s(&%s[slot], %lld);\n",
                 m->slots, init, cfamily_find(p, m)->text, (long long)m->arrivals);
    }
    if (cfamily_first_use(p, "mbarriers_ready"))
        text_add(&p->prelude, HEAD "void mbarriers_ready()\n{\n"
                                   "    asm volatile(\"fence.mbarrier_init.release.cluster;\" : : : \"memory\");\n"
                                   "    asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");\n}\n");
    for (int i = 0; i < p->maps.count; i++) { /* the first copy need not wait for them */
        if (cfamily_first_use(p, "prefetch_map"))
            text_add(&p->prelude, HEAD "void prefetch_map(const tensor_map *map)\n{\n"
                                       "    asm volatile(\"prefetch.tensormap [%%0];\" : : \"l\"(map) : \"memory\");\n}\n");
        text_add(out, "        prefetch_map(&%s);\n", p->maps.at[i].name);
    }
    text_add(out, "        mbarriers_ready();\n    }\n    __syncthreads();\n");
}

static void wait(cfamily *p, const kernel_stmt *s) {
    if (cfamily_first_use(p, "mbarrier_wait"))
        text_add(&p->prelude,
                 HEAD "void mbarrier_wait(unsigned long long *barrier, unsigned phase)\n{\n"
                      "    const unsigned address = (unsigned)__cvta_generic_to_shared(barrier), parity = phase & 1;\n"
                      "    unsigned done;\n    do {\n"
                      "        asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%%1], %%2; \"\n"
                      "                     \"selp.u32 %%0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(address), \"r\"(parity) : "
                      "\"memory\");\n    } while (!done);\n}\n");
    cfamily_line(p, "mbarrier_wait(%s, (unsigned)%s);", slot_of(p, s),
                 cfamily_wrap(p, cfamily_index(p, s->phase), PRECEDENCE_PRIMARY));
}

bool cuda_mbarrier_statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind == KSTMT_MBARRIER_WAIT) {
        wait(p, s);
        return true;
    }
    cfamily_line(p, "%s(%s);", mbarrier_function(p, "mbarrier_arrive", "", "mbarrier.arrive.shared::cta.b64 _, [%0]", ""),
                 slot_of(p, s));
    return true;
}

/* ---- copies ---- */

/* The box over the source's dimensions; false: they are not the last ones of the box. */
static bool box_of(const kernel_stmt *s, int64_t box[MOST_RANK]) {
    const int rank = s->source.array->rank, to = s->access.array->rank;
    int64_t one;
    if (rank > MOST_RANK || rank < 2)
        return false;
    for (int d = 0; d < rank; d++) {
        const int at = d + to - rank;
        box[d] = 1;
        if (at >= 0 && (!ix_is_const(s->extents[at], &box[d]) || box[d] < 1 || box[d] > MOST_BOX))
            return false;
    }
    for (int d = 0; d < to - rank; d++)
        if (!ix_is_const(s->extents[d], &one) || one != 1)
            return false;
    return true;
}

/* What keeps the copy from being one transfer of a tensor map; NULL: nothing. */
static const char *refusal(cfamily *p, const kernel_stmt *s, int64_t box[MOST_RANK]) {
    const kernel_array *to = s->access.array, *from = s->source.array;
    const kernel_layout *l = &to->layout;
    const int last = to->rank - 1, each = element_table[to->element].block_bytes, row = ROW_BYTES / each;
    if (to->space != SPACE_SHARED || from->space != SPACE_GLOBAL || from->view_of || to->view_of || from->use != USE_IN ||
        from->layout.kind != LAYOUT_ROW || each > 2 || to->element != from->element)
        return "copies in bulk of other than 8-bit and 16-bit elements of an input, rows one after the other";
    if (!s->access.aligned || !s->source.aligned || from->alignment % GPU_ALIGNMENT || to->alignment % (ROWS * ROW_BYTES))
        return "copies in bulk of rows that are not known to lie at multiples of 16 bytes";
    if (!s->clip || !box_of(s, box) || box[from->rank - 1] != row)
        return "copies in bulk of boxes of other than 1 to 256 rows of 128 bytes, clipped to the array";
    if (l->kind != LAYOUT_BOX || l->bits != 3 || l->base != (each == 1 ? 4 : 3) || l->shift != 3 || l->box[last] != row)
        return "copies in bulk into another layout than boxes of 128 bytes of columns, swizzled in pieces of 16";
    for (int d = 0; d < last; d++) { /* consecutive rows of one box of the layout */
        int64_t extent = 0, first = 0;
        ix_is_const(s->extents[d], &extent);
        if (extent != 1 && (!ix_is_const(cfamily_fold(p, s->access.indices[d]), &first) || first % ROWS || l->box[d] < extent ||
                            first % l->box[d] + extent > l->box[d]))
            return "copies in bulk into several boxes of the layout, or from within eight rows";
    }
    return cfamily_multiple(p, cfamily_fold(p, s->access.indices[last])) % row ? "copies in bulk into parts of rows" : NULL;
}

static const char *map_of(cfamily *p, const kernel_array *from, const int64_t box[MOST_RANK]) {
    for (int i = 0; i < p->maps.count; i++) {
        bool same = p->maps.at[i].array == from;
        for (int d = 0; d < from->rank && same; d++)
            same = p->maps.at[i].box[d] == box[d];
        if (same)
            return p->maps.at[i].name;
    }
    if (cfamily_first_use(p, "tensor_map"))
        text_add(&p->prelude, "/* where an array lies, and what a copy moves of it: the driver's secret */\n"
                              "struct __align__(128) tensor_map { unsigned long long words[16]; };\n");
    cfamily_map m = {.array = from, .name = cfamily_unique(p, arena_printf(p->arena, "%s_map", from->name))};
    memcpy(m.box, box, sizeof m.box);
    VEC_PUSH(p->arena, p->maps, m);
    return m.name;
}

static const char *transfer(cfamily *p, int rank) {
    const char *name = arena_printf(p->arena, "copy_box_%dd", rank);
    if (!cfamily_first_use(p, name))
        return name;
    text_add(&p->prelude, HEAD "void %s(void *to, const tensor_map *from, unsigned long long *barrier, unsigned bytes", name);
    for (int d = 0; d < rank; d++)
        text_add(&p->prelude, ", int x%d", d);
    text_add(&p->prelude, ")\n{\n    const unsigned target = (unsigned)__cvta_generic_to_shared(to), address = "
                          "(unsigned)__cvta_generic_to_shared(barrier);\n"
                          "    asm volatile(\"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%0], %%1;\" : : \"r\"(address), "
                          "\"r\"(bytes) : \"memory\");\n");
    text_add(&p->prelude,
             "    asm volatile(\"cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes \"\n"
             "                 \"[%%0], [%%1, {",
             rank);
    for (int d = 0; d < rank; d++)
        text_add(&p->prelude, "%s%%%d", d ? ", " : "", d + 3);
    text_add(&p->prelude, "}], [%%2];\" : : \"r\"(target), \"l\"(from), \"r\"(address)");
    for (int d = 0; d < rank; d++)
        text_add(&p->prelude, ", \"r\"(x%d)", d);
    text_add(&p->prelude, " : \"memory\");\n}\n");
    return name;
}

bool cuda_bulk_copy(cfamily *p, const kernel_stmt *s) {
    arena *a = p->arena;
    const int each = element_table[s->access.array->element].block_bytes;
    int64_t box[MOST_RANK] = {0}, bytes = each;
    const char *why = refusal(p, s, box);
    if (why)
        return cfamily_refuse(p, s->span, "%s", why);
    const kernel_array *to = s->access.array, *from = s->source.array;
    p->arrays[to->id].used = true;
    for (int d = 0; d < from->rank; d++)
        bytes *= box[d];
    const char *map = map_of(p, from, box);
    text_buffer places = {0};
    for (int d = from->rank - 1; d >= 0; d--) /* the last dimension first */
        text_add(
            &places, ", %s%s", p->narrow ? "" : "(int)",
            cfamily_wrap(p, cfamily_index(p, s->source.indices[d]), p->narrow ? PRECEDENCE_CONDITIONAL : PRECEDENCE_PRIMARY));
    cfamily_line(p, "%s(%s + %d * %s, &%s, %s, %lld%s);", transfer(p, from->rank), p->arrays[to->id].name, PIECE_BYTES / each,
                 cfamily_wrap(p, cfamily_pieces(p, &s->access, PIECE_BYTES / each), PRECEDENCE_PRIMARY), map, slot_of(p, s),
                 (long long)bytes, arena_strdup(a, text_get(&places)));
    text_free(&places);
    return true;
}
