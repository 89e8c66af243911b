/* NAME_metal.c: one kernel's arguments as tables and functions for kits/metal/tilec_kit.c. Launch values are members of `at`, so that no name of the
 * kernel's meets a name of C's. */
#include "target/c_library.h"
#include "target/metal.h"
#include <string.h>

typedef struct host {
    arena *a;
    cfamily p;
    const launch_plan *plan;
    const kernel_ir *k; /* of variant 0: all variants have the same arguments */
    const gpu_program *program;
    text_buffer *out;
    VEC(const kernel_array *) arrays;
    VEC(const void *) settable; /* keys of the values that the command line can set, in the table's order */
    const char *name;
} host;

static const char *index_text(host *h, index_expr *x) {
    return cfamily_index_text(&h->p, x);
}

static const char *element_name(element_type t) {
    switch (t) {
    case ELEMENT_F32: return "TILEC_F32";
    case ELEMENT_F16: return "TILEC_F16";
    case ELEMENT_BF16: return "TILEC_BF16";
    case ELEMENT_E4M3: return "TILEC_E4M3";
    case ELEMENT_E5M2: return "TILEC_E5M2";
    case ELEMENT_I8: return "TILEC_I8";
    case ELEMENT_U8: return "TILEC_U8";
    case ELEMENT_I32: return "TILEC_I32";
    case ELEMENT_U32: return "TILEC_U32";
    case ELEMENT_BOOL: return "TILEC_BOOL";
    case ELEMENT_Q8_0: return "TILEC_Q8_0";
    case ELEMENT_Q4_0: return "TILEC_Q4_0";
    case ELEMENT_MXFP4: return "TILEC_MXFP4";
    default: return "TILEC_INDEX";
    }
}

static const void *scalar_key(const kernel_scalar *s) {
    return s->var ? (const void *)s->var : (const void *)s;
}

/* A default that is small enough for every array, and a whole number of blocks. */
static int64_t default_extent(const host *h) {
    bool blocks = false;
    int free_symbols = 0;
    for (int i = 0; i < h->arrays.count; i++)
        blocks = blocks || element_table[h->arrays.at[i]->element].block_elements > 1;
    for (int i = 0; i < h->plan->checks.count; i++)
        blocks = blocks || strchr(h->plan->checks.at[i].text, '%');
    for (int i = 0; i < h->k->symbols.count; i++)
        free_symbols += !h->k->symbols.at[i]->has_value;
    return free_symbols <= 2 ? (blocks ? 1024 : 1000) : free_symbols == 3 ? (blocks ? 96 : 100) : blocks ? 32 : 20;
}

static const index_var *alone(const index_expr *x, const index_expr *other) {
    return x->op == IX_VAR && x->var->kind == INDEX_SYMBOL && !ix_mentions(other, x->var) ? x->var : NULL;
}

/* The symbol that a written `where S == ..` settles, and what it is. */
static const index_var *settled_by(const launch_check *check, index_expr **is) {
    const cond *c = check->kind == CHECK_WHERE ? check->condition : NULL;
    if (!c || c->op != COND_EQ)
        return NULL;
    const index_var *v = alone(c->x, c->y);
    *is = v ? c->y : c->x;
    return v ? v : alone(c->y, c->x);
}

static bool is_free(const host *h, const index_var *v) {
    index_expr *is;
    for (int i = 0; i < h->plan->checks.count; i++)
        if (settled_by(&h->plan->checks.at[i], &is) == v)
            return false;
    return true;
}

static void value(host *h, const void *key, const char *wanted, bool real, bool extent, text_buffer *members,
                  text_buffer *table) {
    const char *name = cfamily_unique(&h->p, wanted);
    cfamily_bind(&h->p, key, arena_printf(h->a, "at.%s", name));
    text_add(members, "    %s %s;\n", real ? "float" : "int64_t", name);
    text_add(table, "    {\"%s\", %s&at.%s%s, %s, false},\n", wanted, real ? "NULL, " : "", name, real ? "" : ", NULL",
             extent ? "true" : "false");
    VEC_PUSH(h->a, h->settable, key);
}

/* Extents and scalars. Those that the kernel was compiled for are numbers. */
static void values(host *h) {
    text_buffer members = {0}, table = {0};
    for (int i = 0; i < h->k->symbols.count; i++) {
        index_var *v = h->k->symbols.at[i];
        if (v->has_value)
            cfamily_bind(&h->p, v, arena_printf(h->a, "%lld", (long long)v->value));
        else
            value(h, v, v->name, false, is_free(h, v), &members, &table);
    }
    for (int i = 0; i < h->k->scalars.count; i++)
        value(h, scalar_key(&h->k->scalars.at[i]), h->k->scalars.at[i].name, !h->k->scalars.at[i].var, false, &members, &table);
    text_add(h->out,
             "static struct {\n%s    int none;\n} at;\n\nstatic tilec_value values[] = {\n%s    {NULL, NULL, NULL, false, "
             "false}};\n\n",
             text_get(&members), text_get(&table));
    text_free(&members);
    text_free(&table);
}

static int value_number(const host *h, const void *key) {
    for (int i = 0; i < h->settable.count; i++)
        if (h->settable.at[i] == key)
            return i;
    return -1;
}

static void settle(host *h, text_buffer *functions, const void *key, const char *is) {
    int at = value_number(h, key);
    if (at >= 0)
        text_add(functions, "    if (!values[%d].given)\n        %s = %s;\n", at, cfamily_find(&h->p, key)->text, is);
}

/* Defaults, then what a `where S == ..` settles, then scalars, whose bounds may name extents. */
static void derive(host *h, text_buffer *functions) {
    text_add(functions, "static void derive(void)\n{\n");
    for (int i = 0; i < h->k->symbols.count; i++)
        settle(h, functions, h->k->symbols.at[i], arena_printf(h->a, "%lld", (long long)default_extent(h)));
    for (int i = 0; i < h->plan->checks.count; i++) {
        index_expr *is;
        const index_var *v = settled_by(&h->plan->checks.at[i], &is);
        if (v)
            settle(h, functions, v, index_text(h, is));
    }
    for (int i = 0; i < h->k->scalars.count; i++) {
        const kernel_scalar *s = &h->k->scalars.at[i];
        bool ranged = s->var && s->var->hi && !kernel_scalar_is_whole_type(s);
        settle(h, functions, scalar_key(s),
               ranged                              ? index_text(h, s->var->hi)
               : s->var || s->type == ELEMENT_BOOL ? "1"
                                                   : "0.5f");
    }
    text_add(functions, "}\n\n");
}

static void arrays(host *h, text_buffer *functions, text_buffer *table) {
    arena *a = h->a;
    for (int i = 0; i < h->arrays.count; i++) {
        const kernel_array *array = h->arrays.at[i];
        text_buffer cells = {0};
        for (int d = 0; d < array->rank; d++)
            text_add(&cells, "%s(%s)", d ? " * " : "", index_text(h, array->dims[d]));
        text_add(functions, "static int64_t cells_%d(void) /* %s */\n{\n    return %s;\n}\n\n", i, c_comment_text(a, array->name),
                 array->rank ? text_get(&cells) : "1");
        text_free(&cells);
        if (array->element_bound)
            text_add(functions, "static int64_t bound_%d(void)\n{\n    return %s;\n}\n\n", i,
                     index_text(h, array->element_bound));
        bool distinct = false;
        for (int c = 0; c < h->plan->checks.count; c++)
            distinct = distinct ||
                       (h->plan->checks.at[c].kind == CHECK_INJECTIVE && !strcmp(h->plan->checks.at[c].array->name, array->name));
        text_add(table, "    {\"%s\", %s, %s, %s, cells_%d, %s, %s},\n", array->name, element_name(array->element),
                 array->use == USE_OUT ? "false" : "true", array->use == USE_IN ? "false" : "true", i,
                 array->element_bound ? arena_printf(a, "bound_%d", i) : "NULL", distinct ? "true" : "false");
    }
}

static void entry(host *h, text_buffer *functions, text_buffer *table, int variant, gpu_form f) {
    const gpu_entry *e = &h->program->forms[f].at[variant];
    const plan_variant *v = &h->plan->variants.at[variant];
    const char *tag = gpu_form_suffixes[f];
    static const char kinds[] = {
        [GPU_ARRAY] = 'a', [GPU_INTEGER] = 'i', [GPU_FLOAT] = 'f', [GPU_BOOL] = 'b', [GPU_FIRST_TASK] = 't'};
    if (!e->name)
        return;
    text_add(functions, "static const tilec_parameter parameters_%d%s[] = {", variant, tag);
    for (int i = 0; i < e->parameters.count; i++) {
        gpu_parameter_kind kind = e->parameters.at[i].kind;
        char letter = kinds[kind];
        if (e->narrow && (kind == GPU_INTEGER || kind == GPU_FIRST_TASK))
            letter = kind == GPU_INTEGER ? 'I' : 'T';
        text_add(functions, "%s{'%c', %d}", i ? ", " : "", letter, e->parameters.at[i].position);
    }
    text_add(functions, "};\nstatic bool holds_%d%s(void)\n{\n", variant, tag);
    text_add(functions, "    return ");
    for (int i = 0; i < e->divided.count; i++) {
        const index_var *symbol = h->k->symbols.at[e->divided.at[i]];
        text_add(functions, "%s %% %d == 0 && ", cfamily_find(&h->p, symbol)->text, e->multiple);
    }
    if (e->narrow)
        text_add(functions, "%s && ", gpu_fits_narrow_text(&h->p, v, arena_printf(h->a, "tasks_%d()", variant)));
    bool always = !v->predicate || v->predicate->op == COND_TRUE;
    text_add(functions, "%s;\n}\n\n", always ? "true" : arena_printf(h->a, "(%s)", cfamily_cond(&h->p, v->predicate).text));
    if (f == GPU_PLAIN) {
        text_add(functions, "static int64_t tasks_%d(void)\n{\n    int64_t tasks = 1;\n", variant);
        for (int d = 0; v->kernel->levels.count && d < v->kernel->levels.at[0].rank && v->kernel->levels.at[0].kind == LEVEL_TASK;
             d++)
            text_add(functions, "    tasks *= %s;\n",
                     cfamily_wrap(&h->p, cfamily_index(&h->p, v->kernel->levels.at[0].extents[d]), PRECEDENCE_PRIMARY));
        text_add(functions, "    return tasks;\n}\n\n");
    }
    text_add(table, "    {\"%s\", %lld, parameters_%d%s, %d, holds_%d%s, tasks_%d},\n", e->name, (long long)e->threads, variant,
             tag, e->parameters.count, variant, tag, variant);
}

static void launch_values(host *h, text_buffer *out) {
    int real = 0;
    text_add(out, "static int64_t integer(int position)\n{\n    const int64_t all[] = {");
    for (int i = 0; i < h->k->symbols.count; i++)
        text_add(out, "%s, ", cfamily_find(&h->p, h->k->symbols.at[i])->text);
    for (int i = 0; i < h->k->scalars.count; i++)
        if (h->k->scalars.at[i].var)
            text_add(out, "%s, ", cfamily_find(&h->p, h->k->scalars.at[i].var)->text);
    text_add(out, "0};\n    return all[position];\n}\n\nstatic float real(int position)\n{\n    const float all[] = {");
    for (int i = 0; i < h->k->scalars.count; i++)
        if (!h->k->scalars.at[i].var && ++real)
            text_add(out, "%s, ", cfamily_find(&h->p, &h->k->scalars.at[i])->text);
    text_add(out, "0};\n    return all[position];\n}\n\n");
    text_add(out, "static int reference(void *const *arrays)\n{\n    return %s(", h->name);
    int count = 0;
    for (int i = 0; i < h->arrays.count; i++)
        text_add(out, "%sarrays[%d]", count++ ? ", " : "", i);
    for (int i = 0; i < h->k->symbols.count; i++)
        text_add(out, "%s%s", count++ ? ", " : "", cfamily_find(&h->p, h->k->symbols.at[i])->text);
    for (int i = 0; i < h->k->scalars.count; i++)
        text_add(out, "%s%s%s", count++ ? ", " : "", cfamily_find(&h->p, scalar_key(&h->k->scalars.at[i]))->text,
                 !h->k->scalars.at[i].var && h->k->scalars.at[i].type == ELEMENT_BOOL ? " != 0" : "");
    text_add(out, ");\n}\n\n");
}

bool metal_host_print(arena *a, const launch_plan *plan, const gpu_program *program, text_buffer *out, diag_list *diags) {
    text_buffer functions = {0}, array_table = {0}, entry_table = {0}, body = {0};
    host h = {.a = a, .plan = plan, .k = plan->variants.at[0].kernel, .program = program, .out = &body, .name = program->name};
    h.p = (cfamily){.arena = a, .dialect = &c_dialect, .diags = diags, .kernel = h.k};
    for (int i = 0; i < h.k->arrays.count; i++)
        if (h.k->arrays.at[i]->space == SPACE_GLOBAL && !h.k->arrays.at[i]->view_of)
            VEC_PUSH(a, h.arrays, h.k->arrays.at[i]);
    values(&h);
    derive(&h, &functions);
    arrays(&h, &functions, &array_table);
    bool narrow = false;
    for (int i = 0; i < plan->variants.count; i++)
        narrow = narrow || plan->variants.at[i].narrow;
    if (narrow)
        gpu_elements_function(&functions, "int64_t");
    for (int f = 0; f < GPU_FORMS; f++) /* the first that holds is taken; counts of tasks are written with the last */
        for (int i = 0; i < plan->variants.count; i++)
            entry(&h, &functions, &entry_table, i, (gpu_form)f);
    launch_values(&h, &functions);
    text_add(out,
             "/* %s on a Metal device, beside the same kernel as C: what tilec_kit.c needs to know of it. Written by tilec. */\n"
             "#include \"tilec_kit.h\"\n#include \"%s.h\"\n\n",
             c_comment_text(a, plan->name), h.name);
    text_add(out, "%s%s%s", text_get(&h.p.prelude), h.p.prelude.length ? "\n" : "", text_get(&body));
    for (int i = 0; i < plan->variants.count; i++)
        text_add(out, "static int64_t tasks_%d(void);\n", i);
    text_add(out, "\n%s", c_wrap_lines(a, text_get(&functions)));
    text_add(out, "static const tilec_array arrays[] = {\n%s};\n\nstatic const tilec_entry entries[] = {\n%s};\n\n",
             text_get(&array_table), text_get(&entry_table));
    text_add(out,
             "static const tilec_kernel kernel = {\n    \"%s\", \"%s.metal\", arrays, %d, values, %d, entries, (int)(sizeof "
             "entries / sizeof *entries), "
             "derive, integer, real, reference, %s_error};\n\nint main(int argc, char **argv)\n{\n    return tilec_main(&kernel, "
             "argc, argv);\n}\n",
             h.name, h.name, h.arrays.count, h.settable.count, h.name);
    text_free(&functions);
    text_free(&array_table);
    text_free(&entry_table);
    text_free(&body);
    text_free(&h.p.prelude);
    return !h.p.failed;
}
