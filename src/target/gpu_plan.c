/* Kernels for blocks of threads: parameters, ids taken apart once at the top, shared arrays, the body. */
#include "target/gpu_plan.h"
#include "target/c_plan.h"
#include <string.h>

enum {
    SHARED_STEP = 128, /* shared arrays begin at multiples of it */
    GROUP_ROWS = 8     /* tasks of a product: so many rows of them share the columns that run at a time */
};

typedef struct printed {
    cfamily *p;
    const gpu_dialect *dialect;
    const kernel_ir *kernel;
    gpu_entry *entry;
} printed;

static const void *scalar_key(const kernel_scalar *s) {
    return s->var ? (const void *)s->var : (const void *)s;
}

static bool used(const cfamily *p, const void *key) {
    return cfamily_find(p, key)->used;
}

static const kernel_array *root_of(const kernel_array *a, int64_t *offset) {
    for (*offset = 0; a->view_of; a = a->view_of)
        *offset += a->view_offset;
    return a;
}

static void bind_outside(cfamily *p, const kernel_ir *k) {
    for (int i = 0; i < k->arrays.count; i++)
        p->arrays[i].name = cfamily_unique(p, k->arrays.at[i]->name);
    for (int i = 0; i < k->symbols.count; i++)
        cfamily_bind(p, k->symbols.at[i], cfamily_unique(p, k->symbols.at[i]->name));
    for (int i = 0; i < k->scalars.count; i++)
        cfamily_bind(p, scalar_key(&k->scalars.at[i]), cfamily_unique(p, k->scalars.at[i].name));
    for (int i = 0; i < k->mbarriers.count; i++)
        cfamily_bind(p, k->mbarriers.at[i], cfamily_unique(p, k->mbarriers.at[i]->name));
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank; d++)
            cfamily_bind(p, k->levels.at[i].ids[d], cfamily_unique(p, k->levels.at[i].ids[d]->name));
}

static const char *integer_type(const printed *t) {
    return t->p->narrow ? t->dialect->narrow_integer_type : t->dialect->integer_type;
}

static void add_parameter(printed *t, gpu_parameter_kind kind, int position, const char *type, const char *name, bool read_only) {
    gpu_parameter one = {kind, position, type, name, read_only};
    VEC_PUSH(t->p->arena, t->entry->parameters, one);
}

static void parameters(printed *t) {
    cfamily *p = t->p;
    arena *a = p->arena;
    const kernel_ir *k = t->kernel;
    int position = 0, floats = 0;
    bool views = false;
    for (int i = 0; i < k->arrays.count; i++)
        views = views || k->arrays.at[i]->view_of;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        bool constant = array->use == USE_IN, wanted = p->arrays[i].used;
        for (int j = 0; j < k->arrays.count; j++) {
            int64_t offset;
            wanted = wanted || (p->arrays[j].used && root_of(k->arrays.at[j], &offset) == array);
        }
        const char *qualifier = constant ? t->dialect->read_only : t->dialect->written;
        if (wanted)
            add_parameter(
                t, GPU_ARRAY, position,
                arena_printf(a, "%s%s *%s", qualifier, p->dialect->storage_type(array->element), views ? "" : t->dialect->limit),
                p->arrays[i].name, constant);
        position++;
    }
    for (int i = 0; i < p->maps.count; i++) {
        const cfamily_map *m = &p->maps.at[i];
        gpu_tensor_map map = {.element = m->array->element, .rank = m->array->rank, .extents = m->array->dims};
        memcpy(map.box, m->box, sizeof map.box);
        for (int j = 0; k->arrays.at[j] != m->array; j++)
            map.array += k->arrays.at[j]->space == SPACE_GLOBAL && !k->arrays.at[j]->view_of;
        VEC_PUSH(a, t->entry->maps, map);
        add_parameter(t, GPU_TENSOR_MAP, i, t->dialect->map_type, m->name, true);
    }
    for (int i = 0; i < k->symbols.count; i++)
        if (used(p, k->symbols.at[i]))
            add_parameter(t, GPU_INTEGER, i, integer_type(t), cfamily_find(p, k->symbols.at[i])->text, true);
    position = k->symbols.count;
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        int at = s->var ? position++ : floats++;
        if (!used(p, scalar_key(s)))
            continue;
        bool is_bool = !s->var && s->type == ELEMENT_BOOL;
        add_parameter(t,
                      s->var    ? GPU_INTEGER
                      : is_bool ? GPU_BOOL
                                : GPU_FLOAT,
                      at,
                      s->var    ? integer_type(t)
                      : is_bool ? t->dialect->bool_type
                                : t->dialect->float_type,
                      cfamily_find(p, scalar_key(s))->text, true);
    }
    add_parameter(t, GPU_FIRST_TASK, 0, integer_type(t), "first_task", true);
}

/* Ids out of one flat number, the last one fastest; only those that are used. */
static void take_apart(printed *t, text_buffer *out, const char *flat, const char *flat_text, index_var **ids,
                       index_expr **extents, int rank) {
    cfamily *p = t->p;
    const char *type = cfamily_index_type(p);
    int wanted = 0, first = rank;
    for (int i = rank - 1; i >= 0; i--)
        if (used(p, ids[i])) {
            wanted++;
            first = i;
        }
    if (!wanted)
        return;
    if (rank == 1) {
        text_add(out, "    const %s %s = %s;\n", type, cfamily_find(p, ids[0])->text, flat_text);
        return;
    }
    text_add(out, "    const %s %s = %s;\n", type, flat, flat_text);
    const char *counts[64];
    for (int i = first > 0 ? first : 1; i < rank; i++) {
        int64_t constant;
        counts[i] = cfamily_wrap(p, cfamily_index(p, extents[i]), PRECEDENCE_PRIMARY);
        if (!ix_is_const(extents[i], &constant) && extents[i]->op != IX_VAR) {
            const char *name = cfamily_unique(p, arena_printf(p->arena, "%s_count", ids[i]->name));
            text_add(out, "    const %s %s = %s;\n", type, name, cfamily_index_text(p, extents[i]));
            counts[i] = name;
        }
    }
    text_add(out, "    const %s ", type);
    for (int i = first, printed_ids = 0; i < rank; i++) {
        if (!used(p, ids[i]))
            continue;
        text_add(out, "%s%s = %s", printed_ids++ ? ", " : "", cfamily_find(p, ids[i])->text, flat);
        for (int j = rank - 1; j > i; j--)
            text_add(out, " / %s", counts[j]);
        if (i > 0)
            text_add(out, " %% %s", counts[i]);
    }
    text_add(out, ";\n");
}

/* The last two ids of tasks as groups of GROUP_ROWS rows, each column by column; ids before them are the slower ones. Every number below the extents' product
 * gives each tuple once. */
static bool take_apart_in_groups(printed *t, text_buffer *out, const char *flat_text, index_var **ids, index_expr **extents,
                                 int rank) {
    cfamily *p = t->p;
    arena *a = p->arena;
    int64_t rows;
    const int outer = rank - 2;
    if (!t->dialect->groups_tasks || !t->kernel->fragments.count || outer < 0 || !used(p, ids[outer]) ||
        !used(p, ids[outer + 1]) || (ix_is_const(extents[outer], &rows) && rows <= 1))
        return false;
    index_var **const all_ids = ids;
    index_expr **const all_extents = extents;
    ids += outer, extents += outer;
    const char *type = cfamily_index_type(p), *x = cfamily_find(p, ids[0])->text, *y = cfamily_find(p, ids[1])->text,
               *task = outer ? "place" : "task";
    const char *row_count = cfamily_unique(p, arena_printf(a, "%s_count", ids[0]->name)),
               *column_count = cfamily_unique(p, arena_printf(a, "%s_count", ids[1]->name)),
               *group = cfamily_unique(p, arena_printf(a, "%s_group", ids[0]->name)), *across = cfamily_unique(p, "group_rows"),
               *within = cfamily_unique(p, "within_group");
    text_add(out, "    const %s task = %s;\n", type, flat_text);
    text_add(out, "    const %s %s = %s, %s = %s;\n", type, row_count, cfamily_index_text(p, extents[0]), column_count,
             cfamily_index_text(p, extents[1]));
    if (outer) {
        const char *plane = cfamily_unique(p, "plane");
        task = cfamily_unique(p, task);
        text_add(out, "    const %s %s = task / (%s * %s), %s = task - %s * (%s * %s);\n", type, plane, row_count, column_count,
                 task, plane, row_count, column_count);
        take_apart(t, out, "planes", plane, all_ids, all_extents, outer);
    }
    text_add(out, "    const %s %s = %s / (%d * %s) * %d;\n", type, group, task, GROUP_ROWS, column_count, GROUP_ROWS);
    text_add(out, "    const %s %s = %s - %s < %d ? %s - %s : %d;\n", type, across, row_count, group, GROUP_ROWS, row_count,
             group, GROUP_ROWS);
    text_add(out, "    const %s %s = %s - %s * %s;\n", type, within, task, group, column_count);
    text_add(out, "    const %s %s = %s + %s %% %s, %s = %s / %s;\n", type, x, group, within, across, y, within, across);
    return true;
}

static bool value_exchanges(const kernel_value *v) {
    if (v->op >= KERNEL_SUBGROUP_SUM && v->op <= KERNEL_SHUFFLE_DOWN)
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (value_exchanges(v->operands[i]))
            return true;
    return false;
}

static bool block_exchanges(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if ((s->value && value_exchanges(s->value)) || (s->expected && value_exchanges(s->expected)) ||
            block_exchanges(&s->body) || block_exchanges(&s->otherwise))
            return true;
    }
    return false;
}

/* Whether a branch or a loop depends on the subgroup: it is then seen to be the same for all lanes. */
static bool branches_on(const kernel_block *b, const kernel_level *g) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        bool here = branches_on(&s->body, g) || branches_on(&s->otherwise, g);
        for (int d = 0; d < g->rank && !here; d++)
            here = (s->condition && cond_mentions(s->condition, g->ids[d])) || (s->lo && ix_mentions(s->lo, g->ids[d])) ||
                   (s->hi && ix_mentions(s->hi, g->ids[d]));
        if (here)
            return true;
    }
    return false;
}

/* Subgroups and lanes apart, as the dialect numbers them; false: out of the thread's number. */
static bool ids_by_subgroup(printed *t, text_buffer *out) {
    const kernel_ir *k = t->kernel;
    const bool warpgroups = k->levels.count == 4 && k->levels.at[1].kind == LEVEL_WARPGROUP;
    const kernel_level *g = k->levels.count == 3 + warpgroups ? &k->levels.at[1 + warpgroups] : NULL,
                       *lane = g ? &k->levels.at[2 + warpgroups] : NULL;
    int64_t lanes = 1, extent;
    if (!t->dialect->subgroup_number || !g || g->kind != LEVEL_SUBGROUP || lane->kind != LEVEL_LANE ||
        !(warpgroups || block_exchanges(&k->body) || branches_on(&k->body, g)))
        return false;
    for (int d = 0; d < lane->rank; d++)
        lanes *= ix_is_const(lane->extents[d], &extent) ? extent : 0;
    if (lanes != 32)
        return false;
    index_var *vars[64]; /* of warpgroups, then of their subgroups */
    index_expr *extents[64];
    int rank = 0;
    for (const kernel_level *at = warpgroups ? g - 1 : g; at <= g; at++)
        for (int d = 0; d < at->rank && rank < 64; d++) {
            extents[rank] = at->extents[d];
            vars[rank++] = at->ids[d];
        }
    take_apart(t, out, cfamily_unique(t->p, "subgroup_number"), t->dialect->subgroup_number, vars, extents, rank);
    take_apart(t, out, cfamily_unique(t->p, "lane_number"), t->dialect->lane_number, lane->ids, lane->extents, lane->rank);
    return true;
}

static void ids(printed *t, text_buffer *out) {
    const kernel_ir *k = t->kernel;
    index_var *vars[64];
    index_expr *extents[64];
    int rank = 0;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; k->levels.at[i].kind != LEVEL_TASK && d < k->levels.at[i].rank && rank < 64; d++) {
            extents[rank] = k->levels.at[i].extents[d];
            vars[rank++] = k->levels.at[i].ids[d];
        }
    const char *task = arena_printf(t->p->arena, "first_task + %s", t->dialect->block_number);
    if (k->levels.count && k->levels.at[0].kind == LEVEL_TASK &&
        !take_apart_in_groups(t, out, task, k->levels.at[0].ids, k->levels.at[0].extents, k->levels.at[0].rank))
        take_apart(t, out, "task", task, k->levels.at[0].ids, k->levels.at[0].extents, k->levels.at[0].rank);
    if (!ids_by_subgroup(t, out))
        take_apart(t, out, t->dialect->thread_name ? t->dialect->thread_name : "thread", t->dialect->thread_number, vars, extents,
                   rank);
}

/* Shared arrays, private ones, register cells, and views of them. */
static void declarations(printed *t, text_buffer *out) {
    cfamily *p = t->p;
    const kernel_ir *k = t->kernel;
    int64_t given = 0; /* by the launch: what of it is taken */
    if (t->entry->dynamic_bytes) {
        int64_t alignment = 0;
        for (int i = 0; i < k->arrays.count; i++)
            if (k->arrays.at[i]->space == SPACE_SHARED && k->arrays.at[i]->alignment > alignment)
                alignment = k->arrays.at[i]->alignment;
        text_add(out, "    extern %sunsigned char shared_memory[];\n",
                 alignment > SHARED_STEP && t->dialect->shared_aligned
                     ? arena_printf(p->arena, t->dialect->shared_aligned, (int)alignment)
                 : t->dialect->shared_array ? t->dialect->shared_array
                                            : t->dialect->shared);
    }
    bool private_is_shared = p->dialect->private_is_shared;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        const cfamily_array *known = &p->arrays[i];
        int64_t offset;
        const kernel_array *root = root_of(array, &offset);
        bool wanted = known->used;
        for (int j = 0; !wanted && j < k->arrays.count; j++)
            wanted = p->arrays[j].used && root_of(k->arrays.at[j], &offset) == array;
        if (!wanted || array->space == SPACE_GHOST)
            continue;
        const char *storage = p->dialect->storage_type(array->element);
        if (array->view_of) {
            root_of(array, &offset);
            const char *qualifier =
                root->space == SPACE_GLOBAL ? (root->use == USE_IN ? t->dialect->read_only : t->dialect->written)
                : root->space == SPACE_SHARED || (root->space == SPACE_PRIVATE && private_is_shared) ? t->dialect->shared
                                                                                                     : "";
            const char *type = root->space == SPACE_GLOBAL && root->use == USE_IN ? storage : cfamily_view_type(p, storage);
            text_add(out, "    %s%s *const %s = (%s%s *)((%schar *)%s + %lld);\n", qualifier, type, known->name, qualifier, type,
                     qualifier, p->arrays[root->id].name, (long long)offset);
            continue;
        }
        int64_t cells = kernel_array_cells(array);
        int64_t elements = element_table[array->element].block_elements > 1 ? element_bytes(array->element, cells) : cells;
        if (array->space == SPACE_SHARED && t->entry->dynamic_bytes) { /* as kernel_shared_bytes counts */
            if (array->alignment > SHARED_STEP)
                given = (given + array->alignment - 1) / array->alignment * array->alignment;
            text_add(out, "    %s *const %s = (%s *)(shared_memory + %lld);\n", storage, known->name, storage, (long long)given);
            given += (element_bytes(array->element, cells) + SHARED_STEP - 1) / SHARED_STEP * SHARED_STEP;
        } else if (array->space == SPACE_SHARED || (array->space == SPACE_PRIVATE && private_is_shared)) {
            text_add(out, "    %s%s %s[%lld]%s;\n", t->dialect->shared_array ? t->dialect->shared_array : t->dialect->shared,
                     storage, known->name, (long long)(elements > 0 ? elements : 1), cfamily_view_alignment(p, k, array));
        } else if (array->space == SPACE_PRIVATE || (array->space == SPACE_REGISTER && !known->in_registers)) {
            text_add(out, "    %s %s[%lld]%s;\n",
                     array->lanes > 1 ? p->dialect->register_type(p, array->element, array->lanes) : storage, known->name,
                     (long long)(elements > 0 ? elements : 1), cfamily_view_alignment(p, k, array));
        } else if (array->space == SPACE_REGISTER) {
            int printed_cells = 0;
            for (int64_t c = 0; c < known->cell_count; c++)
                if (known->cells[c]) {
                    if (printed_cells % 8 == 0)
                        text_add(out, "%s    %s %s", printed_cells ? ";\n" : "",
                                 p->dialect->register_type(p, array->element, array->lanes), known->cells[c]);
                    else
                        text_add(out, ", %s", known->cells[c]);
                    printed_cells++;
                }
            if (printed_cells)
                text_add(out, ";\n");
        }
    }
}

/* Behind the arrays, as kernel_shared_bytes counts. */
static void declare_mbarriers(printed *t, text_buffer *out) {
    int64_t at = kernel_shared_bytes(t->kernel);
    for (int i = t->kernel->mbarriers.count - 1; i >= 0; i--)
        at -= kernel_mbarrier_bytes(t->kernel->mbarriers.at[i]);
    for (int i = 0; i < t->kernel->mbarriers.count; i++) {
        const kernel_mbarrier *m = t->kernel->mbarriers.at[i];
        if (t->entry->dynamic_bytes)
            text_add(out, "    unsigned long long *const %s = (unsigned long long *)(shared_memory + %lld);\n",
                     cfamily_find(t->p, m)->text, (long long)at);
        else
            text_add(out, "    %sunsigned long long %s[%d];\n",
                     t->dialect->shared_array ? t->dialect->shared_array : t->dialect->shared, cfamily_find(t->p, m)->text,
                     m->slots);
        at += kernel_mbarrier_bytes(m);
    }
}

void gpu_parameter_list(text_buffer *out, const gpu_entry *e) {
    for (int i = 0; i < e->parameters.count; i++)
        text_add(out, "%s%s%s", i ? ", " : "", e->parameters.at[i].type, e->parameters.at[i].name);
}

static void comment(arena *a, text_buffer *out, const launch_plan *plan, int variant, const gpu_entry *e, bool aligned) {
    const kernel_ir *k = plan->variants.at[variant].kernel;
    text_add(out, "/* %s: a %s does one task", c_comment_text(a, plan->name),
             e->threads == 1 ? "thread" : arena_printf(a, "block of %lld threads", (long long)e->threads));
    if (plan->variants.at[variant].predicate) {
        text_buffer predicate = {0};
        cond_print(&predicate, plan->variants.at[variant].predicate);
        text_add(out, ", when %s", c_comment_text(a, text_get(&predicate)));
        text_free(&predicate);
    }
    text_add(out, aligned ? ". Arrays begin at multiples of 16 bytes" : ".");
    for (int i = 0; i < e->divided.count; i++)
        text_add(out, "%s%s", i ? ", " : arena_printf(a, "; multiples of %d: ", e->multiple),
                 k->symbols.at[e->divided.at[i]]->name);
    if (aligned)
        text_add(out, ".");
    if (e->narrow)
        text_add(out, " Extents are at most %d, and no array has more than %d elements.", PLAN_NARROW_EXTENT,
                 PLAN_NARROW_ELEMENTS);
    if (k->schedule && *k->schedule)
        text_add(out, "\n * Schedule: %s", c_comment_text(a, k->schedule));
    text_add(out, " */\n");
}

/* What this form of kernel leaves out. */
static bool printable(cfamily *p, const gpu_dialect *dialect, const launch_plan *plan, int variant, const kernel_ir *k,
                      int64_t *threads) {
    *threads = 1;
    if (plan->variants.at[variant].before.count || plan->workspaces.count)
        return cfamily_refuse(p, k->span, "pre-passes and workspaces");
    if (k->grid)
        return cfamily_refuse(p, k->span, "a persistent kernel (`grid`)");
    if (k->mbarriers.count && !dialect->begin_mbarriers)
        return cfamily_refuse(p, k->span, "mbarriers");
    if (k->fragments.count && !dialect->begin_fragments)
        return cfamily_refuse(p, k->span, "fragments");
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *level = &k->levels.at[i];
        if (level->kind == LEVEL_TASK)
            continue;
        for (int d = 0; d < level->rank; d++) {
            int64_t extent;
            if (!ix_is_const(level->extents[d], &extent) || extent < 1 || extent > 1024 || *threads * extent > 1024)
                return cfamily_refuse(p, k->span, "a block of more than 1024 threads");
            if ((level->kind == LEVEL_CLUSTER || level->kind == LEVEL_BLOCK) && extent > 1)
                return cfamily_refuse(p, k->span, "several blocks for one task");
            *threads *= extent;
        }
    }
    return true;
}

/* What an aligned form takes to be multiples: whole masks and quotients print shorter. Its accesses say themselves which are aligned. */
static void divide(printed *t, const plan_variant *v) {
    t->entry->multiple = v->multiple;
    for (int i = 0; i < v->divided.count; i++) {
        cfamily_binding *b = (cfamily_binding *)cfamily_find(t->p, t->kernel->symbols.at[v->divided.at[i]]);
        if (b)
            b->multiple = v->multiple;
        VEC_PUSH(t->p->arena, t->entry->divided, v->divided.at[i]);
    }
}

static const char *print_variant(cfamily *p, const gpu_dialect *dialect, const launch_plan *plan, int variant, bool aligned,
                                 gpu_entry *entry) {
    const plan_variant *v = &plan->variants.at[variant];
    const kernel_ir *k = aligned ? v->aligned : v->kernel;
    arena *a = p->arena;
    cfamily_begin(p, k);
    p->cell_names = (cfamily_names){0};
    p->maps.at = NULL;
    p->maps.count = p->maps.capacity = 0;
    p->narrow = entry->narrow;
    if (p->failed || !printable(p, dialect, plan, variant, k, &entry->threads))
        return "";
    printed t = {p, dialect, k, entry};
    names_add(p, &p->names, "task");
    names_add(p, &p->names, "shared_memory");
    names_add(p, &p->names, dialect->thread_name ? dialect->thread_name : "thread");
    bind_outside(p, k);
    if (k->fragments.count && !dialect->begin_fragments(p, k))
        return "";
    for (int i = 0; i < k->fragments.count; i++)
        entry->warpgroups = entry->warpgroups || k->fragments.at[i]->holder == LEVEL_WARPGROUP;
    if (aligned)
        divide(&t, v);
    text_buffer body = {0}, lines = {0}, kept = {0}, ready = {0}, all = {0};
    p->out = &body;
    p->indent = 1;
    cfamily_block(p, &k->body);
    ids(&t, &lines);
    entry->shared_bytes = kernel_shared_bytes(k) + (p->dialect->private_is_shared ? kernel_private_bytes(k) : 0);
    bool far_apart = false; /* at multiples of more than what is declared has */
    for (int i = 0; i < k->arrays.count; i++)
        far_apart = far_apart || (k->arrays.at[i]->space == SPACE_SHARED && k->arrays.at[i]->alignment > SHARED_STEP);
    entry->dynamic_bytes =
        dialect->most_declared && (far_apart || entry->shared_bytes > dialect->most_declared) ? entry->shared_bytes : 0;
    declarations(&t, &kept);
    declare_mbarriers(&t, &kept);
    if (k->fragments.count)
        dialect->declare_fragments(p, k, &kept);
    if (k->mbarriers.count)
        dialect->begin_mbarriers(p, k, &ready);
    parameters(&t);
    comment(a, &all, plan, variant, entry, aligned);
    dialect->head(a, &all, entry);
    text_add(&all, "%s%s%s%s%s}\n", text_get(&kept), text_get(&ready), dialect->begin ? dialect->begin : "", text_get(&lines),
             text_get(&body));
    text_free(&ready);
    text_free(&body);
    text_free(&lines);
    text_free(&kept);
    const char *text = c_wrap_lines(a, text_get(&all));
    text_free(&all);
    return text;
}

const char *const gpu_form_suffixes[GPU_FORMS] = {"_narrow_aligned", "_narrow", "_aligned", ""};

static bool has_form(const gpu_dialect *dialect, const plan_variant *v, gpu_form f) {
    bool narrow = f == GPU_NARROW_ALIGNED || f == GPU_NARROW;
    return (!narrow || (v->narrow && dialect->values->narrow_type)) && (!gpu_form_is_aligned(f) || v->aligned);
}

gpu_form gpu_quickest_form(const gpu_program *p, int variant) {
    int f = 0;
    while (f < GPU_PLAIN && !p->forms[f].at[variant].name)
        f++;
    return (gpu_form)f;
}

int gpu_module_of(const gpu_program *p, int variant, gpu_form f) {
    return f == gpu_quickest_form(p, variant) ? 0 : (int)f;
}

const gpu_entry *gpu_module_entry(const gpu_program *p, int module, int variant) {
    gpu_form quickest = gpu_quickest_form(p, variant);
    const gpu_entry *e = &p->forms[module ? module : (int)quickest].at[variant];
    return !module || (e->name && module != (int)quickest) ? e : NULL;
}

const char *gpu_module_text(arena *a, const gpu_program *p, int module) {
    text_buffer b = {0};
    text_add(&b, "%s", p->prelude);
    for (int i = 0; i < p->variants; i++)
        if (gpu_module_entry(p, module, i))
            text_add(&b, "%s\n", gpu_module_entry(p, module, i)->text);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

bool gpu_plan_print(arena *a, const launch_plan *plan, const gpu_dialect *dialect, gpu_program *out, diag_list *diags) {
    cfamily p = {.arena = a, .dialect = dialect->values, .diags = diags};
    text_buffer functions = {0}, all = {0};
    *out = (gpu_program){.name = cfamily_legal(a, plan->name), .variants = plan->variants.count};
    for (int i = 0; i < plan->variants.count; i++)
        for (int f = 0; f < GPU_FORMS && !p.failed; f++) {
            gpu_entry entry = {0};
            if (has_form(dialect, &plan->variants.at[i], (gpu_form)f)) {
                entry.name = arena_printf(a, "%s_variant_%d%s", out->name, i, gpu_form_suffixes[f]);
                entry.narrow = f == GPU_NARROW_ALIGNED || f == GPU_NARROW;
                entry.text = print_variant(&p, dialect, plan, i, gpu_form_is_aligned((gpu_form)f), &entry);
                text_add(&functions, "%s%s", functions.length ? "\n" : "", entry.text);
            }
            VEC_PUSH(a, out->forms[f], entry);
        }
    text_add(&all, "%s%s%s", dialect->file_head, c_wrap_lines(a, text_get(&p.prelude)), p.prelude.length ? "\n" : "");
    out->prelude = arena_strdup(a, text_get(&all));
    text_add(&all, "%s", text_get(&functions));
    out->text = arena_strdup(a, text_get(&all));
    text_free(&p.prelude);
    text_free(&functions);
    text_free(&all);
    return !p.failed;
}

void gpu_elements_function(text_buffer *out, const char *integer) {
    text_add(out,
             "/* Elements of so many rows of an extent, those of an empty one counted as 1; never more than one over %d. */\n"
             "static %s narrow_elements(%s rows, %s extent)\n{\n    return extent <= 1 ? rows : rows > %d / extent ? %d : rows * "
             "extent;\n}\n",
             PLAN_NARROW_ELEMENTS, integer, integer, integer, PLAN_NARROW_ELEMENTS, PLAN_NARROW_ELEMENTS + 1);
}

const char *gpu_fits_narrow_text(cfamily *p, const plan_variant *v, const char *tasks) {
    const kernel_ir *k = v->kernel;
    text_buffer b = {0};
    text_add(&b, "%s <= %d", tasks, PLAN_NARROW_TASKS);
    for (int i = 0; i < k->symbols.count; i++)
        if (!k->symbols.at[i]->has_value)
            text_add(&b, " && %s <= %d", cfamily_wrap(p, cfamily_index(p, ix_var(p->arena, k->symbols.at[i])), PRECEDENCE_ADD),
                     PLAN_NARROW_EXTENT);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->view_of)
            continue;
        const char *elements = "1";
        for (int d = 0; d < a->rank; d++)
            elements = arena_printf(p->arena, "narrow_elements(%s, %s)", elements, cfamily_index_text(p, a->dims[d]));
        text_add(&b, " && %s <= %d", elements, PLAN_NARROW_ELEMENTS);
    }
    const char *text = arena_strdup(p->arena, text_get(&b));
    text_free(&b);
    return text;
}
