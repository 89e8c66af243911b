/* A launch plan as C. */
#include "target/c_plan.h"
#include "target/c_fragment.h"
#include <string.h>

/* One parameter of a task function, and what the entry passes for it. */
typedef struct parameter {
    const char *type, *name, *argument;
} parameter;

typedef struct task {
    cfamily *p;
    const kernel_ir *kernel;
    VEC(parameter) parameters;
    bool uses_arrays, uses_integers, uses_floats, uses_scratch;
} task;

const char *c_comment_text(arena *a, const char *text) {
    char *clean = arena_strdup(a, text ? text : "");
    for (char *c = clean; *c; c++)
        if ((*c == '/' && c > clean && c[-1] == '*') || (*c == '/' && c[1] == '*') || (unsigned char)*c < ' ')
            *c = ' ';
    return clean;
}

const char *c_wrap_lines(arena *a, const char *text) {
    enum { COLUMNS = 128 };
    text_buffer out = {0};
    while (*text) {
        int length = (int)strcspn(text, "\n"), indent = (int)strspn(text, " ");
        bool comment =
            text[indent] == '/' || (text[indent] == '*' && strchr(" /", text[indent + 1])); /* free text has no shape to keep */
        bool keep = text[0] == '#' || memchr(text, '"', (size_t)length) || comment;
        const char *lead = "";
        for (int room = COLUMNS; !keep && length > room; room = COLUMNS - indent - 4) {
            int at = room, least = indent + 20;
            while (at > room - 50 && at > least && (text[at] != ' ' || text[at - 1] != ',')) /* behind a comma reads best */
                at--;
            if (text[at] != ' ' || text[at - 1] != ',')
                at = room;
            while (at > least && text[at] != ' ')
                at--;
            if (at == least)
                break;
            text_add(&out, "%s%.*s\n", lead, at, text);
            lead = arena_printf(a, "%*s", indent + 4, "");
            text += at + 1;
            length -= at + 1;
        }
        text_add(&out, "%s%.*s%s", lead, length, text, text[length] ? "\n" : "");
        text += length + (text[length] == '\n');
    }
    const char *result = arena_strdup(a, text_get(&out));
    text_free(&out);
    return result;
}

static void add_parameter(task *t, const char *type, const char *name, const char *argument) {
    parameter one = {type, name, argument};
    VEC_PUSH(t->p->arena, t->parameters, one);
}

static const void *scalar_key(const kernel_scalar *s) {
    return s->var ? (const void *)s->var : (const void *)s;
}

static const cfamily_binding *name_of(const task *t, const void *key) {
    return cfamily_find(t->p, key);
}

/* The entry's position of a GLOBAL array among `arrays`. */
static int global_position(const kernel_ir *k, const kernel_array *array) {
    int position = 0;
    for (int i = 0; i < k->arrays.count && k->arrays.at[i] != array; i++)
        position += k->arrays.at[i]->space == SPACE_GLOBAL && !k->arrays.at[i]->view_of;
    return position;
}

static void bind_outside(task *t) {
    cfamily *p = t->p;
    const kernel_ir *k = t->kernel;
    for (int i = 0; i < k->arrays.count; i++)
        p->arrays[i].name = cfamily_unique(p, k->arrays.at[i]->name);
    for (int i = 0; i < k->symbols.count; i++)
        cfamily_bind(p, k->symbols.at[i], cfamily_unique(p, k->symbols.at[i]->name));
    for (int i = 0; i < k->scalars.count; i++)
        cfamily_bind(p, scalar_key(&k->scalars.at[i]), cfamily_unique(p, k->scalars.at[i].name));
    for (int i = 0; k->levels.count && i < k->levels.at[0].rank; i++)
        cfamily_bind(p, k->levels.at[0].ids[i], cfamily_unique(p, k->levels.at[0].ids[i]->name));
}

static void array_parameters(task *t) {
    cfamily *p = t->p;
    arena *a = p->arena;
    const kernel_ir *k = t->kernel;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i], *root = array;
        int64_t offset = 0;
        if (!p->arrays[i].used || (array->space != SPACE_GLOBAL && array->space != SPACE_PRIVATE))
            continue;
        for (; root->view_of; root = root->view_of)
            offset += root->view_offset;
        bool global = root->space == SPACE_GLOBAL, constant = global && root->use == USE_IN;
        bool apart = constant || !cfamily_has_views(k, array);
        const char *storage = c_storage_type(array->element), *limit = apart ? "restrict " : "";
        const char *type = arena_printf(a, "%s%s *", constant ? "const " : "",
                                        array->view_of && !apart ? cfamily_view_type(p, storage) : storage);
        const char *base = global ? arena_printf(a, "arrays[%d]", global_position(k, root)) : "scratch";
        offset += global ? 0 : p->arrays[root->id].scratch;
        const char *argument = offset ? arena_printf(a, "(%s)((char *)%s + %lld)", type, base, (long long)offset) : base;
        t->uses_arrays = t->uses_arrays || global;
        t->uses_scratch = t->uses_scratch || !global;
        add_parameter(t, arena_printf(a, "%s%s", type, limit), p->arrays[i].name, argument);
    }
}

static void launch_parameters(task *t) {
    arena *a = t->p->arena;
    const kernel_ir *k = t->kernel;
    int integers = 0, floats = 0;
    for (int i = 0; i < k->symbols.count; i++, integers++)
        if (name_of(t, k->symbols.at[i])->used) {
            add_parameter(t, "int64_t ", name_of(t, k->symbols.at[i])->text, arena_printf(a, "integers[%d]", integers));
            t->uses_integers = true;
        }
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        const cfamily_binding *b = name_of(t, scalar_key(s));
        int position = s->var ? integers++ : floats++;
        if (!b->used)
            continue;
        if (s->var)
            add_parameter(t, "int64_t ", b->text, arena_printf(a, "integers[%d]", position));
        else if (s->type == ELEMENT_BOOL)
            add_parameter(t, "bool ", b->text, arena_printf(a, "floats[%d] != 0", position));
        else
            add_parameter(t, "float ", b->text, arena_printf(a, "floats[%d]", position));
        t->uses_integers = t->uses_integers || s->var;
        t->uses_floats = t->uses_floats || !s->var;
    }
}

/* The entry declares what the task number is divided by; `lines` gets those declarations. */
static void id_parameters(task *t, text_buffer *lines) {
    cfamily *p = t->p;
    arena *a = p->arena;
    const kernel_ir *k = t->kernel;
    const kernel_level *level = k->levels.count ? &k->levels.at[0] : NULL;
    int rank = level ? level->rank : 0;
    /* In the entry, launch values have no names: each extent is written over integers[..]. */
    for (int i = 0; i < k->symbols.count; i++) {
        cfamily_binding *b = (cfamily_binding *)name_of(t, k->symbols.at[i]);
        b->text = arena_printf(a, "integers[%d]", i);
        b->used = false;
    }
    int position = k->symbols.count;
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var)
            ((cfamily_binding *)name_of(t, k->scalars.at[i].var))->text = arena_printf(a, "integers[%d]", position++);
    int needed = rank; /* the outermost id whose value matters: extents inside it are wanted */
    for (int i = rank - 1; i >= 0; i--)
        if (name_of(t, level->ids[i])->used)
            needed = i;
    for (int i = needed + 1; i < rank; i++) {
        text_add(lines, "    const int64_t count_%d = %s;\n", i, cfamily_index_text(p, level->extents[i]));
    }
    for (int i = 0; i < rank; i++) {
        const cfamily_binding *b = name_of(t, level->ids[i]);
        if (!b->used)
            continue;
        text_buffer e = {0};
        text_add(&e, "task");
        for (int j = rank - 1; j > i; j--)
            text_add(&e, " / count_%d", j);
        if (i > 0)
            text_add(&e, " %% count_%d", i);
        if (i > 0 && !(i > needed)) /* the modulus of the outermost wanted id is not among the counts yet */
            text_add(lines, "    const int64_t count_%d = %s;\n", i, cfamily_index_text(p, level->extents[i]));
        add_parameter(t, "int64_t ", b->text, arena_strdup(a, text_get(&e)));
        text_free(&e);
    }
    t->uses_integers = t->uses_integers || strstr(text_get(lines), "integers[");
}

static void add_comment(text_buffer *out, arena *a, const launch_plan *plan, int variant) {
    const kernel_ir *k = plan->variants.at[variant].kernel;
    text_add(out, "/* One task of %s", c_comment_text(a, plan->name));
    if (plan->variants.at[variant].predicate) {
        text_buffer predicate = {0};
        cond_print(&predicate, plan->variants.at[variant].predicate);
        text_add(out, ", when %s", c_comment_text(a, text_get(&predicate)));
        text_free(&predicate);
    }
    text_add(out, ".");
    if (k->schedule && *k->schedule)
        text_add(out, "\n * Schedule: %s", c_comment_text(a, k->schedule));
    text_add(out, " */\n");
}

static void add_register_cells(cfamily *p, text_buffer *out, const kernel_ir *k) {
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        const cfamily_array *known = &p->arrays[i];
        if (array->space != SPACE_REGISTER || !known->used)
            continue;
        if (!known->in_registers) {
            const char *type =
                array->lanes > 1 ? c_register_type(p, array->element, array->lanes) : c_storage_type(array->element);
            int64_t cells = kernel_array_cells(array);
            text_add(out, "    %s %s[%lld];\n", type, known->name, (long long)(cells > 0 ? cells : 1));
            continue;
        }
        int printed = 0;
        for (int64_t c = 0; c < known->cell_count; c++)
            if (known->cells[c]) {
                if (printed % 8 == 0)
                    text_add(out, "%s    %s %s", printed ? ";\n" : "", c_register_type(p, array->element, array->lanes),
                             known->cells[c]);
                else
                    text_add(out, ", %s", known->cells[c]);
                printed++;
            }
        if (printed)
            text_add(out, ";\n");
    }
}

static bool print_variant(cfamily *p, const launch_plan *plan, int variant, const char *name, const char *linkage,
                          text_buffer *out) {
    const kernel_ir *k = plan->variants.at[variant].kernel;
    arena *a = p->arena;
    cfamily_begin(p, k);
    if (plan->variants.at[variant].before.count || plan->workspaces.count)
        return cfamily_refuse(p, k->span, "pre-passes and workspaces");
    if (k->grid)
        return cfamily_refuse(p, k->span, "a persistent kernel (`grid`)");
    if (k->levels.count > 1)
        return cfamily_refuse(p, k->span, "the level `%s` below the task", level_names[k->levels.at[1].kind]);
    task t = {.p = p, .kernel = k};
    bind_outside(&t);
    if (!c_fragments_begin(p, k))
        return false;
    text_buffer body = {0}, lines = {0};
    p->out = &body;
    p->indent = 1;
    cfamily_block(p, &k->body);
    array_parameters(&t);
    launch_parameters(&t);
    id_parameters(&t, &lines);

    const char *task_name = arena_printf(a, plan->variants.count > 1 ? "%s_task_%d" : "%s_task", name, variant);
    add_comment(out, a, plan, variant);
    text_add(out, "static void %s(", task_name);
    for (int i = 0; i < t.parameters.count; i++)
        text_add(out, "%s%s%s", i ? ", " : "", t.parameters.at[i].type, t.parameters.at[i].name);
    text_add(out, "%s)\n{\n", t.parameters.count ? "" : "void");
    add_register_cells(p, out, k);
    c_fragments_declare(p, k, out);
    c_tiles_declare(p, k, out, false);
    text_add(out, "%s", text_get(&body));
    c_tiles_declare(p, k, out, true);
    text_add(out, "}\n\n");

    text_add(out,
             "%svoid %s_variant_%d(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t "
             "last, void *scratch)\n{\n",
             linkage, name, variant);
    const char *unused[] = {t.uses_arrays ? NULL : "arrays", t.uses_integers ? NULL : "integers", t.uses_floats ? NULL : "floats",
                            t.uses_scratch ? NULL : "scratch"};
    for (int i = 0; i < 4; i++)
        if (unused[i])
            text_add(out, "    (void)%s;\n", unused[i]);
    text_add(out, "%s    for (int64_t task = first; task < last; task++)\n        %s(", text_get(&lines), task_name);
    for (int i = 0; i < t.parameters.count; i++)
        text_add(out, "%s%s", i ? ", " : "", t.parameters.at[i].argument);
    text_add(out, ");\n}\n");
    text_free(&body);
    text_free(&lines);
    return !p->failed;
}

static bool same_arguments(const kernel_ir *x, const kernel_ir *y) {
    VEC(const kernel_array *) globals[2] = {{0}, {0}};
    const kernel_ir *both[2] = {x, y};
    arena *a = arena_new();
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < both[i]->arrays.count; j++)
            if (both[i]->arrays.at[j]->space == SPACE_GLOBAL && !both[i]->arrays.at[j]->view_of)
                VEC_PUSH(a, globals[i], both[i]->arrays.at[j]);
    bool same =
        globals[0].count == globals[1].count && x->symbols.count == y->symbols.count && x->scalars.count == y->scalars.count;
    for (int i = 0; same && i < globals[0].count; i++)
        same = !strcmp(globals[0].at[i]->name, globals[1].at[i]->name) && globals[0].at[i]->element == globals[1].at[i]->element;
    for (int i = 0; same && i < x->symbols.count; i++)
        same = !strcmp(x->symbols.at[i]->name, y->symbols.at[i]->name);
    for (int i = 0; same && i < x->scalars.count; i++)
        same = !strcmp(x->scalars.at[i].name, y->scalars.at[i].name);
    arena_free(a);
    return same;
}

void c_plan_head(text_buffer *out) {
    text_add(out, "#include <stdbool.h>\n#include <stdint.h>\n#ifndef __has_builtin\n#define __has_builtin(x) 0\n#endif\n"
                  "#define INLINE static inline __attribute__((always_inline, unused))\n"
                  "#pragma GCC diagnostic ignored \"-Wpsabi\" /* vectors are passed between functions of this file only */\n\n");
}

bool c_plan_print(arena *a, const launch_plan *plan, const char *linkage, const cfamily_names *written, c_plan *out,
                  diag_list *diags) {
    cfamily p = {.arena = a, .dialect = &c_dialect, .diags = diags};
    bool serialised = false;
    for (int i = 0; i < plan->variants.count; i++)
        serialised = serialised || plan->variants.at[i].kernel->serialised;
    if (serialised) /* GCC makes vectors of 32 bytes of its loops otherwise, on processors that have 64 */
        text_add(&p.prelude, "#if defined __AVX512F__ && defined __GNUC__ && !defined __clang__\n"
                             "#pragma GCC target(\"prefer-vector-width=512\")\n#endif\n\n");
    for (int i = 0; written && i < written->count; i++)
        names_add(&p, &p.helpers, written->at[i]);
    text_buffer functions = {0};
    *out = (c_plan){.name = cfamily_legal(a, plan->name)};
    for (int i = 0; i < plan->variants.count && !p.failed; i++) {
        const kernel_ir *k = plan->variants.at[i].kernel;
        if (!same_arguments(plan->variants.at[0].kernel, k)) {
            p.kernel = k;
            cfamily_refuse(&p, k->span, "variants with different arguments");
        } else {
            text_add(&functions, "%s", i ? "\n" : "");
            print_variant(&p, plan, i, out->name, linkage, &functions);
        }
    }
    out->prelude = c_wrap_lines(a, text_get(&p.prelude));
    out->helpers = p.helpers;
    out->functions = c_wrap_lines(a, text_get(&functions));
    text_free(&p.prelude);
    text_free(&functions);
    return !p.failed;
}

bool c_emit(const proved_plan *proved, text_buffer *out, diag_list *diags) {
    arena *a = arena_new();
    c_plan printed;
    bool ok = c_plan_print(a, proved_plan_get(proved), "", NULL, &printed, diags);
    if (ok) {
        c_plan_head(out);
        text_add(out, "%s\n%s", printed.prelude, printed.functions);
    }
    arena_free(a);
    return ok;
}
