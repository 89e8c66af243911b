/* Target air: a plan's kernels as LLVM IR in the form that Metal's compilers exchange, in both spellings; `tilec build` writes each. The lowering is Metal's. */
#include "target/air.h"
#include "base/file.h"
#include "target/c_plan.h"
#include "target/metal.h"
#include <string.h>

/* ---- what lies in registers: arrays whose every index is constant once loops are unrolled ---- */

typedef struct register_walk {
    air *a;
    bool *memory; /* by array id */
    VEC(const index_var *) unrolled;
} register_walk;

static bool settled(const register_walk *w, const index_expr *x) {
    if (x->op == IX_CONST)
        return true;
    if (x->op != IX_VAR)
        return settled(w, x->a) && settled(w, x->b);
    for (int i = 0; i < w->unrolled.count; i++)
        if (w->unrolled.at[i] == x->var)
            return true;
    return x->var->has_value;
}

static void look_at_access(void *context, kernel_access *access, bool is_write) {
    register_walk *w = context;
    (void)is_write;
    for (int d = 0; access->array->space == SPACE_REGISTER && d < access->array->rank; d++)
        if (!settled(w, access->indices[d]))
            w->memory[access->array->id] = true;
}

static void look_at(register_walk *w, const kernel_block *b) {
    const kernel_visitor visitor = {.context = w, .access = look_at_access};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_visit_stmt(s, &visitor);
        int before = w->unrolled.count;
        if (s->kind == KSTMT_FOR && s->unroll)
            VEC_PUSH(w->a->arena, w->unrolled, s->var);
        look_at(w, &s->body);
        w->unrolled.count = before;
        look_at(w, &s->otherwise);
    }
}

static void add_slots(air *a, const char *type, int64_t count) {
    int total = a->slot_count + (int)count;
    const char **types = NEW_ARRAY(a->arena, const char *, total + 1);
    if (a->slot_count)
        memcpy(types, a->slot_types, sizeof *types * (size_t)a->slot_count);
    for (int i = a->slot_count; i < total; i++)
        types[i] = type;
    a->slot_types = types;
    a->slot_count = total;
}

static void place_registers(air *a) {
    const kernel_ir *k = a->kernel;
    register_walk w = {.a = a, .memory = NEW_ARRAY(a->arena, bool, k->arrays.count + 1)};
    look_at(&w, &k->body);
    a->array_slots = NEW_ARRAY(a->arena, int, k->arrays.count + 1);
    a->fragment_slots = NEW_ARRAY(a->arena, int, k->fragments.count + 1);
    a->array_bases = NEW_ARRAY(a->arena, const char *, k->arrays.count + 1);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        a->array_slots[i] = -1;
        if (array->space != SPACE_REGISTER || w.memory[i])
            continue;
        a->array_slots[i] = a->slot_count;
        add_slots(a, air_type(a, array->element, array->lanes), kernel_array_cells(array));
    }
    for (int i = 0; i < k->fragments.count; i++) {
        a->fragment_slots[i] = a->slot_count;
        add_slots(a, air_fragment_type(a, k->fragments.at[i]), k->fragments.at[i]->count);
    }
    a->slots = NEW_ARRAY(a->arena, const char *, a->slot_count + 1);
}

/* ---- arguments ---- */

typedef struct argument {
    const char *pointer; /* its name in the function */
    air_parameter parameter;
    bool read_only;
    int space, bytes;
    const char *type_name, *title;
    bool is_buffer;
} argument;
typedef VEC(argument) argument_list;

/* A launch value: loaded at once; what is not used is trimmed. */
static const char *launch_value(air *a, argument_list *list, const char *title, const char *type, const char *type_name,
                                int bytes) {
    argument g = {.pointer = air_new_name(a, title),
                  .read_only = true,
                  .space = AIR_SPACE_CONSTANT,
                  .bytes = bytes,
                  .type_name = type_name,
                  .title = title,
                  .is_buffer = true};
    const char *pointer = air_pointer(a, type, AIR_SPACE_CONSTANT), *value = air_new_name(a, title);
    g.parameter.type = pointer;
    VEC_PUSH(a->arena, *list, g);
    text_add(&a->entry, "  %s = load %s, %s %s, align %d\n", value, type, pointer, g.pointer, bytes);
    return value;
}

static const char *position(air *a, argument_list *list, const char *title, const char *what) {
    argument g = {.pointer = air_new_name(a, title), .title = title};
    g.parameter.type = "i32";
    g.parameter.metadata =
        arena_printf(a->arena, "!\"air.%s\", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"%s\"", what, title);
    VEC_PUSH(a->arena, *list, g);
    return g.pointer;
}

static const char *array_type_name(element_type t) {
    return metal_storage_type(t);
}

static void take_arguments(air *a, argument_list *list) {
    const kernel_ir *k = a->kernel;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        const char *storage = air_storage_type(array->element);
        argument g = {.pointer = air_new_name(a, array->name),
                      .read_only = array->use == USE_IN,
                      .space = AIR_SPACE_DEVICE,
                      .bytes = element_table[array->element].block_elements > 1 ? 1 : element_table[array->element].block_bytes,
                      .type_name = array_type_name(array->element),
                      .title = array->name,
                      .is_buffer = true};
        g.parameter.type = air_pointer(a, storage, AIR_SPACE_DEVICE);
        a->array_bases[i] = g.pointer;
        VEC_PUSH(a->arena, *list, g);
    }
    for (int i = 0; i < k->symbols.count; i++)
        air_bind(a, k->symbols.at[i], launch_value(a, list, k->symbols.at[i]->name, "i64", "long", 8));
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        if (s->var) {
            air_bind(a, s->var, launch_value(a, list, s->name, "i64", "long", 8));
        } else if (s->type == ELEMENT_BOOL) {
            const char *value = launch_value(a, list, s->name, "i32", "int", 4), *bit = air_new_name(a, s->name);
            text_add(&a->entry, "  %s = icmp ne i32 %s, 0\n", bit, value);
            air_bind(a, s, bit);
        } else {
            air_bind(a, s, launch_value(a, list, s->name, "float", "float", 4));
        }
    }
}

/* ---- ids, out of the block's and the thread's numbers ---- */

static void take_apart(air *a, const char *number, index_var *const *ids, index_expr *const *extents, int rank) {
    const char *rest = number;
    for (int i = rank - 1; i >= 0; i--) {
        const char *extent = air_index_text(a, extents[i]);
        if (i == 0) {
            air_bind(a, ids[i], rest);
            break;
        }
        air_bind(a, ids[i], air_pure(a, "urem i64 %s, %s", rest, extent));
        rest = air_pure(a, "udiv i64 %s, %s", rest, extent);
    }
}

static bool take_ids(air *a, argument_list *list, int64_t *threads) {
    const kernel_ir *k = a->kernel;
    const char *first = launch_value(a, list, "first_task", "i64", "long", 8);
    const char *block = position(a, list, "block_number", "threadgroup_position_in_grid"),
               *subgroup = position(a, list, "simd_number", "simdgroup_index_in_threadgroup");
    a->lane = position(a, list, "simd_lane", "thread_index_in_simdgroup");
    text_add(a->out, "%s", text_get(&a->entry));
    a->entry.length = 0;
    const char *task = air_pure(a, "add i64 %s, %s", first, air_pure(a, "zext i32 %s to i64", block));
    const char *wide = air_pure(a, "zext i32 %s to i64", subgroup);
    const char *thread =
        air_pure(a, "add i64 %s, %s", air_pure(a, "mul i64 %s, %d", wide, AIR_LANES), air_pure(a, "zext i32 %s to i64", a->lane));
    index_var *ids[64];
    index_expr *extents[64];
    int rank = 0;
    *threads = 1;
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *level = &k->levels.at[i];
        if (level->kind == LEVEL_TASK) {
            take_apart(a, task, level->ids, level->extents, level->rank);
            continue;
        }
        for (int d = 0; d < level->rank && rank < 64; d++) {
            int64_t extent;
            if (!ix_is_const(level->extents[d], &extent) || extent < 1 || *threads * extent > 1024)
                return air_refuse(a, k->span, "a block of more than 1024 threads");
            if ((level->kind == LEVEL_CLUSTER || level->kind == LEVEL_BLOCK) && extent > 1)
                return air_refuse(a, k->span, "several blocks for one task");
            *threads *= extent;
            ids[rank] = level->ids[d];
            extents[rank++] = level->extents[d];
        }
    }
    /* Numbers of the simdgroup are the same for all its lanes, and seen to be. */
    const kernel_level *g = k->levels.count == 3 ? &k->levels.at[1] : NULL, *lanes = g ? &k->levels.at[2] : NULL;
    int64_t count = 1, extent;
    for (int d = 0; lanes && d < lanes->rank; d++)
        count *= ix_is_const(lanes->extents[d], &extent) ? extent : 0;
    if (g && g->kind == LEVEL_SUBGROUP && lanes->kind == LEVEL_LANE && count == AIR_LANES) {
        take_apart(a, wide, g->ids, g->extents, g->rank);
        take_apart(a, air_pure(a, "zext i32 %s to i64", a->lane), lanes->ids, lanes->extents, lanes->rank);
    } else if (rank) {
        take_apart(a, thread, ids, extents, rank);
    }
    return true;
}

/* ---- kernels ---- */

static bool mentions(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if (!((at[length] >= '0' && at[length] <= '9')))
            return true;
    return false;
}

/* Arguments that the text uses, and the three positions, which the callers count on. */
static void keep_arguments(air *a, const argument_list *list, const char *text, air_function *f) {
    int location = 0;
    for (int i = 0; i < list->count; i++) {
        const argument *g = &list->at[i];
        air_parameter p = g->parameter;
        if (g->is_buffer && !mentions(text, g->pointer) && strcmp(g->title, "first_task"))
            continue;
        p.name = g->pointer;
        if (g->is_buffer)
            p.metadata = air_buffer(a->arena, location++, g->read_only, g->space, g->bytes, g->type_name, g->title);
        VEC_PUSH(a->arena, f->parameters, p);
    }
    if (location > METAL_BUFFERS)
        air_refuse(a, a->kernel->span, "%d arguments: a launch binds %d buffers", location, METAL_BUFFERS);
}

static bool printable(air *a, const launch_plan *plan, int variant) {
    const kernel_ir *k = a->kernel;
    if (plan->variants.at[variant].before.count || plan->workspaces.count)
        return air_refuse(a, k->span, "pre-passes and workspaces");
    if (k->grid)
        return air_refuse(a, k->span, "a persistent kernel (`grid`)");
    return k->mbarriers.count ? air_refuse(a, k->span, "mbarriers") : air_fragments(a);
}

static void comment(air *a, text_buffer *out, const launch_plan *plan, int variant, const air_function *f, bool aligned) {
    const plan_variant *v = &plan->variants.at[variant];
    text_add(out, "; %s: a threadgroup of %lld threads does one task", plan->name, (long long)f->threads);
    if (v->predicate) {
        text_buffer predicate = {0};
        cond_print(&predicate, v->predicate);
        text_add(out, ", when %s", text_get(&predicate));
        text_free(&predicate);
    }
    text_add(out, aligned ? ". Arrays begin at multiples of 16 bytes" : ".");
    for (int i = 0; aligned && i < v->divided.count; i++)
        text_add(out, "%s%s", i ? ", " : arena_printf(a->arena, "; multiples of %d: ", v->multiple),
                 a->kernel->symbols.at[v->divided.at[i]]->name);
    text_add(out, aligned ? ".\n" : "\n");
    if (a->kernel->schedule && *a->kernel->schedule)
        text_add(out, "; Schedule: %s\n", a->kernel->schedule);
}

static void print_kernel(air *a, const launch_plan *plan, int variant, bool aligned, text_buffer *out, air_function *f) {
    text_buffer body = {0}, all = {0};
    argument_list arguments = {0};
    a->kernel = aligned ? plan->variants.at[variant].aligned : plan->variants.at[variant].kernel;
    a->function = f->name;
    a->out = &body;
    a->bound.count = a->known.count = a->slot_count = a->names = a->labels = 0;
    a->entry.length = 0;
    memset(a->heads, 0xff, sizeof a->heads);
    memset(a->bound_heads, 0xff, sizeof a->bound_heads);
    a->block = "entry";
    if (printable(a, plan, variant)) {
        place_registers(a);
        take_arguments(a, &arguments);
        if (take_ids(a, &arguments, &f->threads))
            air_statements(a, &a->kernel->body);
    }
    if (!a->failed) {
        text_add(&all, "%s%s  ret void\n", a->entry.length ? text_get(&a->entry) : "", text_get(&body));
        const char *text = air_trim(a->arena, text_get(&all), a->names);
        keep_arguments(a, &arguments, text, f);
        comment(a, out, plan, variant, f, aligned);
        text_add(out, "define void @%s(", f->name);
        for (int i = 0; i < f->parameters.count; i++)
            text_add(out, "%s%s%s %s", i ? ", " : "", f->parameters.at[i].type,
                     !strncmp(f->parameters.at[i].metadata, "!\"air.buffer\"", 13) ? " nocapture noundef" : " noundef",
                     f->parameters.at[i].name);
        text_add(out, ") #0 {\nentry:\n%s}\n\n", text);
    }
    text_free(&body);
    text_free(&all);
}

static bool converges(const char *declaration) {
    return strstr(declaration, "@air.simd") || strstr(declaration, "barrier");
}

static bool air_text(const proved_plan *proved, air_form form, text_buffer *out, diag_list *diags) {
    arena *arena = arena_new();
    const launch_plan *plan = proved_plan_get(proved);
    air a = {.arena = arena, .diags = diags, .form = form};
    text_buffer kernels = {0};
    VEC(air_function) functions = {0};
    const char *name = cfamily_legal(arena, plan->name);
    for (int i = 0; i < plan->variants.count && !a.failed; i++)
        for (int aligned = plan->variants.at[i].aligned != NULL; aligned >= 0 && !a.failed; aligned--) {
            air_function f = {.name = arena_printf(arena, "%s_variant_%d%s", name, i, aligned ? "_aligned" : "")};
            print_kernel(&a, plan, i, aligned, &kernels, &f);
            VEC_PUSH(arena, functions, f);
        }
    if (!a.failed) {
        text_add(out, "; %s, written and proved by tilec. Before a launch the caller must know:\n", plan->name);
        for (int i = 0; i < plan->checks.count; i++)
            text_add(out, ";   %s\n", plan->checks.at[i].text);
        text_add(out, "%s%s\n", plan->checks.count ? "" : ";   nothing further\n", air_header(form));
        if (a.globals.length)
            text_add(out, "%s\n", text_get(&a.globals));
        text_add(out, "%s%s", text_get(&kernels), a.functions.length ? text_get(&a.functions) : "");
        for (int i = 0; i < a.declared.count; i++)
            text_add(out, "%s #%d\n", a.declared.at[i], converges(a.declared.at[i]) ? 1 : 3);
        text_add(out, "\nattributes #0 = { convergent nounwind }\nattributes #1 = { convergent nounwind }\n"
                      "attributes #2 = { alwaysinline nounwind }\nattributes #3 = { nounwind }\n\n");
        air_describe(arena, out, form, functions.at, functions.count);
    }
    text_free(&kernels);
    text_free(&a.globals);
    text_free(&a.functions);
    text_free(&a.entry);
    arena_free(arena);
    return !a.failed;
}

bool air_emit(const proved_plan *p, text_buffer *out, diag_list *diags) {
    return air_text(p, AIR_OPAQUE, out, diags);
}

bool air_build(const proved_plan *p, const char *directory, diag_list *diags) {
    arena *a = arena_new();
    const char *name = cfamily_legal(a, proved_plan_get(p)->name);
    bool good = file_make_folders(directory, diags);
    for (int form = 0; form < 2 && good; form++) {
        text_buffer text = {0};
        good = air_text(p, (air_form)form, &text, diags) &&
               file_write(arena_printf(a, "%s/%s%s.ll", directory, name, form == AIR_TYPED ? "_typed" : ""), text_get(&text),
                          text.length, diags);
        text_free(&text);
    }
    arena_free(a);
    return good;
}
