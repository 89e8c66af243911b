/* `tilec build --target c`: a C file and a header that a stranger's program compiles and calls. */
#include "target/c_library.h"
#include "base/file.h"
#include <string.h>

static const char *keep(c_library *l, text_buffer *b) {
    const char *text = arena_strdup(l->a, text_get(b));
    text_free(b);
    return text;
}

static void list(text_buffer *b, const char *format, ...) PRINTF_LIKE(2, 3);
static void list(text_buffer *b, const char *format, ...) {
    va_list args;
    text_add(b, "%s", b->length ? ", " : "");
    va_start(args, format);
    text_add_va(b, format, args);
    va_end(args);
}

/* Names every argument once; sets the parameter lists. */
static void name_arguments(c_library *l) {
    cfamily *p = &l->p;
    const kernel_ir *k = l->k;
    text_buffer parameters = {0}, values = {0}, sizes = {0}, size_values = {0};
    names_add(p, &p->names, l->name);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->view_of)
            continue;
        const char *name = cfamily_unique(p, a->name);
        VEC_PUSH(l->a, l->arrays, a);
        VEC_PUSH(l->a, l->array_names, name);
        list(&parameters, "%s%s *%s", a->use == USE_IN ? "const " : "", c_storage_type(a->element), name);
        list(&values, "%s", name);
    }
    for (int i = 0; i < k->symbols.count; i++) {
        const char *name = cfamily_unique(p, k->symbols.at[i]->name);
        cfamily_bind(p, k->symbols.at[i], name);
        list(&parameters, "int64_t %s", name);
        list(&values, "%s", name);
        list(&sizes, "int64_t %s", name);
        list(&size_values, "%s", name);
    }
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        const char *name = cfamily_unique(p, s->name), *type = s->var ? "int64_t" : s->type == ELEMENT_BOOL ? "bool" : "float";
        cfamily_bind(p, s->var ? (const void *)s->var : (const void *)s, name);
        list(&parameters, "%s %s", type, name);
        list(&values, "%s", name);
        if (s->var) {
            list(&sizes, "int64_t %s", name);
            list(&size_values, "%s", name);
        }
    }
    l->parameters = keep(l, &parameters);
    l->values = keep(l, &values);
    l->sizes = keep(l, &sizes);
    l->size_values = keep(l, &size_values);
    if (!*l->parameters)
        l->parameters = "void";
    if (!*l->sizes)
        l->sizes = "void";
}

static const char *quoted(c_library *l, const char *text) {
    text_buffer b = {0};
    for (const char *c = text ? text : ""; *c; c++)
        text_add(&b, *c == '"' || *c == '\\' ? "\\%c" : "%c", (unsigned char)*c < ' ' ? ' ' : *c);
    return keep(l, &b);
}

/* ---- the header ---- */

const char *c_describe_array(arena *a, const char *shape, element_type type, array_use use) {
    const char *layout = "";
    switch (type) {
    case ELEMENT_F16: layout = "; IEEE half precision, as its 16 bits"; break;
    case ELEMENT_BF16: layout = "; bfloat16, as its 16 bits"; break;
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: layout = "; 8-bit floats, as their bits"; break;
    case ELEMENT_Q8_0: layout = "; blocks of 34 bytes: f16 scale, 32 x int8"; break;
    case ELEMENT_Q4_0: layout = "; blocks of 18 bytes: f16 scale, 32 x 4 bits"; break;
    case ELEMENT_MXFP4: layout = "; blocks of 17 bytes: 8-bit power of two, 32 x E2M1"; break;
    default: break;
    }
    return arena_printf(a, "%s[%s], %s%s", element_table[type].name, shape,
                        use == USE_IN    ? "read"
                        : use == USE_OUT ? "written"
                                         : "read and written",
                        layout);
}

static const char *describe_array(c_library *l, const kernel_array *a) {
    text_buffer b = {0};
    for (int d = 0; d < a->rank; d++) {
        text_add(&b, "%s", d ? ", " : "");
        ix_print(&b, a->dims[d]);
    }
    return c_describe_array(l->a, keep(l, &b), a->element, a->use);
}

static const char *make_header(c_library *l) {
    text_buffer b = {0};
    text_buffer guard = {0};
    for (const char *c = l->name; *c; c++)
        text_add(&guard, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    text_add(&b,
             "/* %s: compiled by tilec to plain C. Compile %s.c with GCC or Clang; -O3 -march=native makes it fast, and\n"
             " * -ffp-contract=off keeps each operation rounding by itself. Needs -lm on processors without FMA.\n",
             c_comment_text(l->a, l->plan->name), l->name);
    if (l->k->schedule && *l->k->schedule)
        text_add(&b, " * Schedule: %s\n", c_comment_text(l->a, l->k->schedule));
    text_add(&b, " *\n * Arrays are row-major, without gaps, and may not overlap one that is written:\n");
    for (int i = 0; i < l->arrays.count; i++)
        text_add(&b, " *   %s: %s\n", l->array_names.at[i], c_comment_text(l->a, describe_array(l, l->arrays.at[i])));
    if (l->plan->checks.count)
        text_add(&b, " * Checked before anything runs:\n");
    for (int i = 0; i < l->plan->checks.count; i++)
        text_add(&b, " *   %s\n", c_comment_text(l->a, l->plan->checks.at[i].text));
    text_add(&b,
             " */\n#ifndef %s_H\n#define %s_H\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#ifdef "
             "__cplusplus\nextern \"C\" {\n#endif\n\n",
             text_get(&guard), text_get(&guard));
    text_add(&b,
             "/* Checks the arguments and computes everything, in the calling thread. 0, or a code that %s_error explains; then "
             "nothing was written. */\n"
             "int %s(%s);\nconst char *%s_error(int code);\n\n",
             l->name, l->name, l->parameters, l->name);
    text_add(&b,
             "/* For callers with threads of their own: check once, then run tasks 0 .. %s_task_count() - 1 in any order, split "
             "among threads as you\n"
             " * like. Each thread needs %s_scratch_bytes() bytes aligned to 64 while it runs tasks. Results do not depend on "
             "the split. */\n",
             l->name, l->name);
    text_add(&b,
             "int %s_check(%s);\nint64_t %s_task_count(%s); /* -1: no variant is made for these sizes, or too many tasks "
             "*/\nsize_t %s_scratch_bytes(void);\n",
             l->name, l->parameters, l->name, l->sizes, l->name);
    text_add(&b, "void %s_tasks(%s%sint64_t first, int64_t last, void *scratch);\n\n", l->name,
             strcmp(l->parameters, "void") ? l->parameters : "", strcmp(l->parameters, "void") ? ", " : "");
    text_add(&b, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    text_free(&guard);
    return c_wrap_lines(l->a, keep(l, &b));
}

/* ---- the functions ---- */

static void add_errors(c_library *l) {
    text_buffer *b = &l->out;
    text_add(b,
             "%sconst char *%s_error(int code)\n{\n    static const char *const texts[] = {\n        \"no error\",\n        \"no "
             "memory for scratch\",\n"
             "        \"an extent is negative or above %lld\",\n        \"an array that is not empty was given no memory\",\n"
             "        \"two arrays overlap and one of them is written\",\n        \"an array is too large\",\n"
             "        \"no variant of the kernel is made for these sizes\",\n"
             "        \"an integer does not fit its type, i32 or u32\",\n",
             l->linkage, l->name, (long long)c_limits()->largest_extent);
    for (int i = 0; i < l->plan->checks.count; i++)
        text_add(b, "        \"does not hold: %s\",\n", quoted(l, l->plan->checks.at[i].text));
    text_add(
        b, "    };\n    return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : \"unknown code\";\n}\n\n");
}

static void add_variant_choice(c_library *l) {
    text_buffer *b = &l->out;
    text_add(b, "/* Which variant holds; -1 when none does. */\nstatic int %s_variant(%s)\n{\n", l->name, l->sizes);
    for (int i = 0; i < l->k->symbols.count; i++)
        text_add(b, "    (void)%s;\n", cfamily_find(&l->p, l->k->symbols.at[i])->text);
    for (int i = 0; i < l->k->scalars.count; i++)
        if (l->k->scalars.at[i].var)
            text_add(b, "    (void)%s;\n", cfamily_find(&l->p, l->k->scalars.at[i].var)->text);
    bool always = false;
    for (int i = 0; i < l->plan->variants.count && !always; i++) {
        const cond *c = l->plan->variants.at[i].predicate;
        always = !c || c->op == COND_TRUE;
        if (always)
            text_add(b, "    return %d;\n}\n\n", i);
        else
            text_add(b, "    if (%s)\n        return %d;\n", cfamily_cond(&l->p, c).text, i);
    }
    if (!always)
        text_add(b, "    return -1;\n}\n\n");
}

static void add_task_count(c_library *l) {
    text_buffer *b = &l->out;
    text_add(b,
             "%sint64_t %s_task_count(%s)\n{\n    int64_t tasks = 1;\n    bool fits = true, none = false;\n    switch "
             "(%s_variant(%s)) {\n",
             l->linkage, l->name, l->sizes, l->name, l->size_values);
    for (int i = 0; i < l->plan->variants.count; i++) {
        const kernel_ir *k = l->plan->variants.at[i].kernel;
        text_add(b, "    case %d:\n", i);
        for (int d = 0; k->levels.count && d < k->levels.at[0].rank; d++) {
            const char *extent = cfamily_index_text(&l->p, k->levels.at[0].extents[d]);
            text_add(b,
                     "        none = none || %s <= 0;\n        fits = fits && !__builtin_mul_overflow(tasks, (int64_t)(%s), "
                     "&tasks);\n",
                     cfamily_wrap(&l->p, cfamily_index(&l->p, k->levels.at[0].extents[d]), PRECEDENCE_ADD), extent);
        }
        text_add(b, "        break;\n");
    }
    text_add(b, "    default: return -1;\n    }\n    return none ? 0 : fits ? tasks : -1;\n}\n\n");
}

static void add_check(c_library *l) {
    text_buffer *b = &l->out;
    bool counts = l->arrays.count > 0;
    if (counts)
        text_add(b,
                 "static bool %s_count(int64_t *cells, int64_t extent)\n{\n    return extent >= 0 && "
                 "!__builtin_mul_overflow(*cells, extent, cells);\n}\n\n",
                 l->name);
    text_add(b, "%sint %s_check(%s)\n{\n", l->linkage, l->name, l->parameters);
    if (*l->values)
        for (int i = 0; i < l->k->scalars.count; i++)
            if (!l->k->scalars.at[i].var)
                text_add(b, "    (void)%s;\n", cfamily_find(&l->p, &l->k->scalars.at[i])->text);
    for (int i = 0; i < l->k->symbols.count; i++) {
        const char *name = cfamily_find(&l->p, l->k->symbols.at[i])->text;
        text_add(b, "    if (%s < 0 || %s > %lld)\n        return %d;\n", name, name, (long long)c_limits()->largest_extent,
                 CODE_EXTENT);
    }
    for (int i = 0; i < l->k->scalars.count; i++) /* integers come in 64 bits, so that sums of them are right */
        if (kernel_scalar_is_whole_type(&l->k->scalars.at[i]))
            text_add(b, "    if (%s != (%s)%s)\n        return %d;\n", cfamily_find(&l->p, l->k->scalars.at[i].var)->text,
                     l->k->scalars.at[i].type == ELEMENT_I32 ? "int32_t" : "uint32_t",
                     cfamily_find(&l->p, l->k->scalars.at[i].var)->text, CODE_SCALAR);
    for (int i = 0; i < l->plan->checks.count; i++) {
        const launch_check *check = &l->plan->checks.at[i];
        if (check->kind == CHECK_WHERE)
            text_add(b, "    if (!(%s))\n        return %d;\n", cfamily_cond(&l->p, check->condition).text, CODE_FIRST_CHECK + i);
        if (check->kind == CHECK_SCALAR_RANGE) {
            index_var *v = check->scalar->var;
            const char *value = cfamily_index_text(&l->p, ix_var(l->a, v));
            if (v->lo)
                text_add(b, "    if (%s < %s)\n        return %d;\n", value,
                         cfamily_wrap(&l->p, cfamily_index(&l->p, v->lo), PRECEDENCE_ADD), CODE_FIRST_CHECK + i);
            if (v->hi)
                text_add(b, "    if (%s > %s)\n        return %d;\n", value,
                         cfamily_wrap(&l->p, cfamily_index(&l->p, v->hi), PRECEDENCE_ADD), CODE_FIRST_CHECK + i);
        }
    }
    text_add(b, "    if (%s_variant(%s) < 0)\n        return %d;\n", l->name, l->size_values, CODE_VARIANT);
    for (int i = 0; i < l->arrays.count; i++) {
        const kernel_array *a = l->arrays.at[i];
        text_add(b, "    int64_t cells_%d = 1;\n", i);
        for (int d = 0; d < a->rank; d++)
            text_add(b, "    if (!%s_count(&cells_%d, %s))\n        return %d;\n", l->name, i,
                     cfamily_index_text(&l->p, a->dims[d]), CODE_LARGE);
        const element_info *e = &element_table[a->element];
        text_add(b, "    if (cells_%d >= (int64_t)1 << 60)\n        return %d;\n    if (cells_%d && !%s)\n        return %d;\n",
                 i, CODE_LARGE, i, l->array_names.at[i], CODE_MISSING);
        const char *blocks = e->block_elements > 1 ? arena_printf(l->a, " / %d", e->block_elements) : "";
        text_add(b, "    const char *begin_%d = (const char *)%s, *end_%d = begin_%d + cells_%d%s * %d;\n", i,
                 l->array_names.at[i], i, i, i, blocks, a->element == ELEMENT_INDEX ? 4 : e->block_bytes);
    }
    for (int i = 0; i < l->arrays.count; i++)
        for (int j = 0; j < i; j++)
            if (l->arrays.at[i]->use != USE_IN || l->arrays.at[j]->use != USE_IN)
                text_add(b,
                         "    if (begin_%d < end_%d && begin_%d < end_%d && begin_%d < end_%d && begin_%d < end_%d)\n        "
                         "return %d;\n",
                         i, i, j, j, i, j, j, i, CODE_OVERLAP);
    for (int i = 0; i < l->arrays.count; i++)
        text_add(b, "    (void)end_%d;\n", i);
    for (int i = 0; i < l->plan->checks.count; i++) {
        const launch_check *check = &l->plan->checks.at[i];
        int at = -1;
        for (int j = 0; check->array && j < l->arrays.count; j++)
            at = !strcmp(l->arrays.at[j]->name, check->array->name) ? j : at;
        if (at < 0 || !check->array->element_bound || (check->kind != CHECK_INDEX_RANGE && check->kind != CHECK_INJECTIVE))
            continue;
        text_add(b, "    for (int64_t i = 0; i < cells_%d; i++)\n        if (%s(int64_t)%s[i] >= %s)\n            return %d;\n",
                 at,
                 element_table[check->array->element].is_signed || check->array->element == ELEMENT_INDEX
                     ? arena_printf(l->a, "%s[i] < 0 || ", l->array_names.at[at])
                     : "",
                 l->array_names.at[at], cfamily_wrap(&l->p, cfamily_index(&l->p, check->array->element_bound), PRECEDENCE_ADD),
                 CODE_FIRST_CHECK + i);
        if (check->kind == CHECK_INJECTIVE) {
            const char *bound = cfamily_index_text(&l->p, check->array->element_bound);
            text_add(b,
                     "    {\n        unsigned char *seen = calloc((size_t)(%s) / 8 + 1, 1);\n        bool twice = false;\n       "
                     " if (!seen)\n            return %d;\n"
                     "        for (int64_t i = 0; i < cells_%d; i++) {\n            int64_t v = %s[i];\n            twice = "
                     "twice || (seen[v / 8] >> v %% 8 & 1);\n"
                     "            seen[v / 8] |= (unsigned char)(1 << v %% 8);\n        }\n        free(seen);\n        if "
                     "(twice)\n            return %d;\n    }\n",
                     bound, CODE_MEMORY, at, l->array_names.at[at], CODE_FIRST_CHECK + i);
        }
    }
    text_add(b, "    return 0;\n}\n\n");
}

static void add_running(c_library *l) {
    text_buffer *b = &l->out;
    int64_t bytes = 64;
    for (int i = 0; i < l->plan->variants.count; i++) {
        int64_t one = kernel_private_bytes(l->plan->variants.at[i].kernel);
        bytes = one > bytes ? one : bytes;
    }
    text_add(b, "%ssize_t %s_scratch_bytes(void)\n{\n    return %lld;\n}\n\n", l->linkage, l->name, (long long)bytes);
    bool any = strcmp(l->parameters, "void");
    text_add(b, "%svoid %s_tasks(%s%sint64_t first, int64_t last, void *scratch)\n{\n    void *const arrays[] = {", l->linkage,
             l->name, any ? l->parameters : "", any ? ", " : "");
    for (int i = 0; i < l->arrays.count; i++)
        text_add(b, "(void *)%s, ", l->array_names.at[i]);
    text_add(b, "NULL};\n    const int64_t integers[] = {");
    for (int i = 0; i < l->k->symbols.count; i++)
        text_add(b, "%s, ", cfamily_find(&l->p, l->k->symbols.at[i])->text);
    for (int i = 0; i < l->k->scalars.count; i++)
        if (l->k->scalars.at[i].var)
            text_add(b, "%s, ", cfamily_find(&l->p, l->k->scalars.at[i].var)->text);
    text_add(b, "0};\n    const float floats[] = {");
    for (int i = 0; i < l->k->scalars.count; i++)
        if (!l->k->scalars.at[i].var)
            text_add(b, "%s, ", cfamily_find(&l->p, &l->k->scalars.at[i])->text);
    text_add(b, "0};\n    switch (%s_variant(%s)) {\n", l->name, l->size_values);
    for (int i = 0; i < l->plan->variants.count; i++)
        text_add(b, "    case %d: %s_variant_%d(arrays, integers, floats, first, last, scratch); break;\n", i, l->name, i);
    text_add(b, "    default: break;\n    }\n}\n\n");
    text_add(b,
             "%sint %s(%s)\n{\n    int code = %s_check(%s);\n    int64_t tasks = code ? 0 : %s_task_count(%s);\n    if (code || "
             "tasks < 0)\n"
             "        return code ? code : %d;\n    void *scratch = aligned_alloc(64, %s_scratch_bytes());\n    if (!scratch)\n  "
             "      return %d;\n"
             "    %s_tasks(%s%s0, tasks, scratch);\n    free(scratch);\n    return 0;\n}\n",
             l->linkage, l->name, l->parameters, l->name, l->values, l->name, l->size_values, CODE_LARGE, l->name, CODE_MEMORY,
             l->name, l->values, any ? ", " : "");
}

bool c_library_print(arena *a, const launch_plan *plan, const char *linkage, const cfamily_names *written, c_library *l,
                     text_buffer *text, diag_list *diags) {
    *l = (c_library){.a = a, .plan = plan, .linkage = linkage};
    if (!plan->variants.count || !c_plan_print(a, plan, "static ", written, &l->printed, diags))
        return false;
    l->name = l->printed.name;
    l->k = plan->variants.at[0].kernel;
    l->p = (cfamily){.arena = a, .dialect = &c_dialect, .diags = diags, .kernel = l->k};
    l->p.helpers = l->printed.helpers; /* written already: the wrapper may use them */
    name_arguments(l);
    add_errors(l);
    add_variant_choice(l);
    add_task_count(l);
    add_check(l);
    add_running(l);
    text_add(text, "%s\n%s\n", l->printed.prelude, l->printed.functions);
    text_add(text, "%s", text_get(&l->p.prelude)); /* what only the wrapper needs */
    text_add(text, "%s", c_wrap_lines(a, text_get(&l->out)));
    text_free(&l->out);
    text_free(&l->p.prelude);
    return !l->p.failed;
}

bool c_build(const proved_plan *proved, const char *directory, diag_list *diags) {
    arena *a = arena_new();
    c_library l;
    text_buffer functions = {0};
    bool ok = c_library_print(a, proved_plan_get(proved), "", NULL, &l, &functions, diags);
    if (ok && (ok = file_make_folders(directory, diags))) {
        text_buffer source = {0};
        const char *header = make_header(&l);
        text_add(&source, "#include \"%s.h\"\n#include <stdlib.h>\n", l.name);
        c_plan_head(&source);
        text_add_bytes(&source, text_get(&functions), functions.length);
        ok = file_write(arena_printf(a, "%s/%s.h", directory, l.name), header, strlen(header), diags) &&
             file_write(arena_printf(a, "%s/%s.c", directory, l.name), text_get(&source), source.length, diags);
        text_free(&source);
    }
    text_free(&functions);
    arena_free(a);
    return ok;
}
