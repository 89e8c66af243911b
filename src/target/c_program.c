/* `tilec build --target c` of a program: its kernels, and one function that runs them in order with temporaries of its own. */
#include "target/c_library.h"
#include "target/program.h"
#include "base/file.h"
#include <string.h>

/* Return codes of the function; a kernel's own come as 1000 * (position of its call from 1) + its code. */
enum { PROGRAM_MEMORY = 1, PROGRAM_EXTENT, PROGRAM_SHAPE, PROGRAM_OVERLAP, PROGRAM_LARGE, PROGRAM_MISSING, PROGRAM_CODES = 1000 };

/* An array of the program: an argument, or a temporary that a call makes. */
typedef struct program_array {
    const char *name, *c_name, *cells; /* cells: the variable that counts them */
    const tile_array *declared;        /* of the program, or of the kernel that makes it */
    bool temporary;
    index_expr **extents; /* by dimension that callers see, in the program's symbols */
} program_array;

typedef struct program_text {
    arena *a;
    cfamily p; /* names of the function's parameters and variables */
    const program_build *build;
    const tile_program *program;
    const char *name;
    c_library **libraries; /* by call; calls of one plan share one */
    VEC(program_array) arrays;
    const char *parameters;
    const char *fits, *code;
    text_buffer sizes, mismatches, calls;
    diag_list *diags;
    bool failed;
} program_text;

static bool refuse(program_text *t, source_span span, const char *what) {
    if (!t->failed)
        diag_error(t->diags, "E0868", span, "%s cannot be built: %s", t->program->name, what);
    return !(t->failed = true);
}

/* Every step is checked for overflow: extents are the caller's. */
static const char *expression(program_text *t, const index_expr *x) {
    static const char *const names[] = {
        [IX_ADD] = "add",    [IX_SUB] = "subtract", [IX_MUL] = "multiply", [IX_FLOORDIV] = "divide",
        [IX_MOD] = "modulo", [IX_MIN] = "smaller",  [IX_MAX] = "larger"};
    if (x->op == IX_CONST)
        return arena_printf(t->a, "%lld", (long long)x->value);
    if (x->op == IX_VAR) {
        const cfamily_binding *b = cfamily_find(&t->p, x->var);
        return b ? b->text : (refuse(t, t->program->span, arena_printf(t->a, "`%s` has no value", x->var->name)), "0");
    }
    return arena_printf(t->a, "%s_%s(%s, %s, &%s)", t->name, names[x->op], expression(t, x->a), expression(t, x->b), t->fits);
}

static void add_arithmetic(program_text *t, text_buffer *out) {
    static const struct {
        const char *name, *body;
    } helpers[] = {
        {"add", "    int64_t r;\n    *fits = !__builtin_add_overflow(x, y, &r) && *fits;\n    return r;\n"},
        {"subtract", "    int64_t r;\n    *fits = !__builtin_sub_overflow(x, y, &r) && *fits;\n    return r;\n"},
        {"multiply", "    int64_t r;\n    *fits = !__builtin_mul_overflow(x, y, &r) && *fits;\n    return r;\n"},
        {"divide", "    *fits = y > 0 && *fits;\n    return y > 0 ? x / y - (x % y < 0) : 0;\n"},
        {"modulo", "    *fits = y > 0 && *fits;\n    return y > 0 ? x % y + (x % y < 0 ? y : 0) : 0;\n"},
        {"smaller", "    (void)fits;\n    return x < y ? x : y;\n"},
        {"larger", "    (void)fits;\n    return x > y ? x : y;\n"},
    };
    text_add(out, "/* Integers; what does not fit clears *fits. */\n");
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        text_add(out, "INLINE int64_t %s_%s(int64_t x, int64_t y, bool *fits)\n{\n%s}\n", t->name, helpers[i].name,
                 helpers[i].body);
    text_add(out, "\n");
}

static program_array *find_array(program_text *t, const char *name) {
    for (int i = 0; i < t->arrays.count; i++)
        if (!strcmp(t->arrays.at[i].name, name))
            return &t->arrays.at[i];
    return NULL;
}

static array_use use_of(const program_array *x) {
    return x->declared->role == ARRAY_IN ? USE_IN : x->declared->role == ARRAY_OUT ? USE_OUT : USE_UPDATE;
}

/* The extents that callers see, each factor put through `in`. */
static index_expr **visible_extents(program_text *t, const tile_array *x, const tile_call *call) {
    index_expr **extents = NEW_ARRAY(t->a, index_expr *, x->group_count);
    for (int g = 0, flat = 0; g < x->group_count; g++) {
        extents[g] = ix_const(t->a, 1);
        for (int f = 0; f < x->groups[g]; f++, flat++) {
            index_expr *e = x->dims[flat];
            for (int s = 0; call && s < call->kernel->symbols.count; s++) {
                const index_var *v = call->kernel->symbols.at[s];
                if (!ix_mentions(e, v))
                    continue;
                index_expr *value = program_symbol(t->a, t->build, call, s);
                if (value)
                    e = ix_substitute(t->a, e, v, value);
                else
                    refuse(t, call->span,
                           arena_printf(t->a, "`%s` of `%s` does not follow from the arguments", v->name, call->kernel->name));
            }
            extents[g] = ix_mul(t->a, extents[g], program_expression(t->a, t->build, e));
        }
    }
    return extents;
}

static program_array *new_array(program_text *t, const char *name, const tile_array *declared, const tile_call *maker) {
    program_array x = {.name = name, .declared = declared, .temporary = maker != NULL};
    x.c_name = cfamily_unique(&t->p, name);
    x.extents = visible_extents(t, declared, maker);
    VEC_PUSH(t->a, t->arrays, x);
    return &t->arrays.at[t->arrays.count - 1];
}

static void list(text_buffer *b, const char *text) {
    text_add(b, "%s%s", b->length ? ", " : "", text);
}

/* Arrays, then extents, then scalars, as a built kernel takes them. */
static void name_parameters(program_text *t) {
    const tile_program *g = t->program;
    text_buffer b = {0};
    for (int i = 0; i < g->symbols.count; i++) /* names first: extents of arrays mention them */
        if (g->symbols.at[i]->kind == INDEX_SYMBOL)
            cfamily_bind(&t->p, g->symbols.at[i], cfamily_unique(&t->p, g->symbols.at[i]->name));
    for (int i = 0; i < g->scalars.count; i++) {
        const tile_scalar *s = g->scalars.at[i];
        cfamily_bind(&t->p, s->var ? (const void *)s->var : (const void *)s, cfamily_unique(&t->p, s->name));
    }
    for (int i = 0; i < g->arrays.count; i++) {
        const program_array *x = new_array(t, g->arrays.at[i]->name, g->arrays.at[i], NULL);
        list(&b,
             arena_printf(t->a, "%s%s *%s", use_of(x) == USE_IN ? "const " : "", c_storage_type(x->declared->type), x->c_name));
    }
    for (int i = 0; i < g->symbols.count; i++)
        if (g->symbols.at[i]->kind == INDEX_SYMBOL)
            list(&b, arena_printf(t->a, "int64_t %s", cfamily_find(&t->p, g->symbols.at[i])->text));
    for (int i = 0; i < g->scalars.count; i++) {
        const tile_scalar *s = g->scalars.at[i];
        const char *type = s->var ? "int64_t" : s->type == ELEMENT_BOOL ? "bool" : "float";
        list(&b, arena_printf(t->a, "%s %s", type, cfamily_find(&t->p, s->var ? (const void *)s->var : (const void *)s)->text));
    }
    t->parameters = b.length ? arena_strdup(t->a, text_get(&b)) : "void";
    text_free(&b);
}

/* What the call passes for an array of its kernel; a result with a new name is made. */
static program_array *passed_array(program_text *t, const tile_call *call, const tile_array *x) {
    const tile_kernel *k = call->kernel;
    int position = 0;
    if (x->role == ARRAY_IN) {
        for (int i = 0; i < k->arguments.count && i < call->arguments.count; i++)
            if (!k->argument_is_scalar.at[i] && k->arguments.at[i] == x)
                return find_array(t, call->arguments.at[i]);
        return NULL;
    }
    for (int i = 0; i < k->arrays.count && k->arrays.at[i] != x; i++)
        position += k->arrays.at[i]->role != ARRAY_IN;
    if (position >= call->results.count)
        return NULL;
    const char *name = call->results.at[position];
    program_array *known = find_array(t, name);
    return known ? known : new_array(t, name, x, call);
}

static const char *passed_scalar(program_text *t, const tile_call *call, const tile_scalar *s) {
    const tile_kernel *k = call->kernel;
    for (int i = 0; i < k->arguments.count && i < call->arguments.count; i++)
        if (k->argument_is_scalar.at[i] && k->arguments.at[i] == s)
            for (int j = 0; j < t->program->scalars.count; j++) {
                const tile_scalar *own = t->program->scalars.at[j];
                if (!strcmp(own->name, call->arguments.at[i]))
                    return cfamily_find(&t->p, own->var ? (const void *)own->var : (const void *)own)->text;
            }
    refuse(t, call->span, arena_printf(t->a, "`%s` is given no `%s`", k->name, s->name));
    return "0";
}

/* Code that gives an expression a name, where it is more than a name or a number. */
static const char *named(program_text *t, const char *wanted, const index_expr *x) {
    const char *text = expression(t, x);
    if (x->op == IX_CONST || x->op == IX_VAR)
        return text;
    const char *name = cfamily_unique(&t->p, wanted);
    text_add(&t->sizes, "    const int64_t %s = %s;\n", name, text);
    return name;
}

static void add_call(program_text *t, int position) {
    const tile_call *call = t->program->calls.at[position];
    const tile_kernel *k = call->kernel;
    const c_library *l = t->libraries[position];
    text_buffer arguments = {0};
    for (int i = 0; i < l->arrays.count; i++) {
        int id = l->arrays.at[i]->source_array;
        const tile_array *x = id >= 0 && id < k->arrays.count ? k->arrays.at[id] : NULL;
        program_array *given = x ? passed_array(t, call, x) : NULL;
        if (!given) {
            refuse(t, call->span, arena_printf(t->a, "`%s` is given no `%s`", k->name, l->arrays.at[i]->name));
            continue;
        }
        index_expr **wanted = visible_extents(t, x, call);
        for (int g = 0; g < x->group_count && g < given->declared->group_count; g++)
            if (!ix_equal(wanted[g], given->extents[g])) {
                const char *left = named(t, "wanted", wanted[g]), *right = named(t, "given", given->extents[g]);
                text_add(&t->mismatches, "%s%s != %s", t->mismatches.length ? " || " : "", left, right);
            }
        list(&arguments, given->c_name);
    }
    for (int i = 0; i < k->symbols.count; i++) {
        if (k->symbols.at[i]->kind != INDEX_SYMBOL)
            continue;
        index_expr *value = program_symbol(t->a, t->build, call, i);
        if (value)
            list(&arguments, named(t, arena_printf(t->a, "%s_%s", k->name, k->symbols.at[i]->name), value));
        else
            refuse(t, call->span,
                   arena_printf(t->a, "`%s` of `%s` does not follow from the arguments", k->symbols.at[i]->name, k->name));
    }
    for (int i = 0; i < k->scalars.count; i++)
        list(&arguments, passed_scalar(t, call, k->scalars.at[i]));
    text_add(&t->calls, "    if (!%s && (%s = %s(%s)))\n        %s += %d;\n", t->code, t->code, l->name, text_get(&arguments),
             t->code, PROGRAM_CODES * (position + 1));
    text_free(&arguments);
}

static const char *bytes_of(program_text *t, const program_array *x) {
    const element_info *e = &element_table[x->declared->type];
    int bytes = x->declared->type == ELEMENT_INDEX ? 4 : e->block_bytes;
    return e->block_elements > 1 ? arena_printf(t->a, "%s / %d * %d", x->cells, e->block_elements, bytes)
                                 : arena_printf(t->a, "%s * %d", x->cells, bytes);
}

static void count_cells(program_text *t, program_array *x) {
    index_expr *cells = ix_const(t->a, 1);
    for (int g = 0; g < x->declared->group_count; g++)
        cells = ix_mul(t->a, cells, x->extents[g]);
    x->cells = cfamily_unique(&t->p, arena_printf(t->a, "%s_cells", x->name));
    text_add(&t->sizes, "    const int64_t %s = %s;\n", x->cells, expression(t, cells));
}

static void add_function(program_text *t, text_buffer *out) {
    const tile_program *g = t->program;
    text_add(out, "int %s(%s)\n{\n    bool %s = true;\n", t->name, t->parameters, t->fits);
    for (int i = 0; i < g->symbols.count; i++)
        if (g->symbols.at[i]->kind == INDEX_SYMBOL) {
            const char *s = cfamily_find(&t->p, g->symbols.at[i])->text;
            text_add(out, "    if (%s < 0 || %s > %lld)\n        return %d;\n", s, s, (long long)c_limits()->largest_extent,
                     PROGRAM_EXTENT);
        }
    text_add(out, "%s", text_get(&t->sizes));
    text_add(out, "    if (!%s", t->fits);
    for (int i = 0; i < t->arrays.count; i++)
        text_add(out, " || %s < 0 || %s >= (int64_t)1 << 60", t->arrays.at[i].cells, t->arrays.at[i].cells);
    text_add(out, ")\n        return %d;\n", PROGRAM_LARGE);
    if (t->mismatches.length)
        text_add(out, "    if (%s)\n        return %d;\n", text_get(&t->mismatches), PROGRAM_SHAPE);
    for (int i = 0; i < g->arrays.count; i++)
        text_add(out, "    if (%s && !%s)\n        return %d;\n", t->arrays.at[i].cells, t->arrays.at[i].c_name, PROGRAM_MISSING);
    for (int i = 0; i < g->arrays.count; i++) /* one kernel may write what a later one still reads */
        for (int j = 0; j < i; j++) {
            const program_array *x = &t->arrays.at[i], *y = &t->arrays.at[j];
            if (use_of(x) == USE_IN && use_of(y) == USE_IN)
                continue;
            text_add(out,
                     "    if (%s && %s && (const char *)%s < (const char *)%s + %s && (const char *)%s < (const char *)%s + "
                     "%s)\n        "
                     "return %d;\n",
                     x->cells, y->cells, x->c_name, y->c_name, bytes_of(t, y), y->c_name, x->c_name, bytes_of(t, x),
                     PROGRAM_OVERLAP);
        }
    text_add(out, "    int %s = 0;\n", t->code);
    for (int i = g->arrays.count; i < t->arrays.count; i++) {
        const program_array *x = &t->arrays.at[i];
        text_add(out, "    %s *%s = aligned_alloc(64, (size_t)(%s) / 64 * 64 + 64);\n", c_storage_type(x->declared->type),
                 x->c_name, bytes_of(t, x));
    }
    for (int i = g->arrays.count; i < t->arrays.count; i++)
        text_add(out, "%s!%s%s", i > g->arrays.count ? " || " : "    if (", t->arrays.at[i].c_name,
                 i + 1 < t->arrays.count ? "" : ")\n");
    if (g->arrays.count < t->arrays.count)
        text_add(out, "        %s = %d;\n", t->code, PROGRAM_MEMORY);
    text_add(out, "%s", text_get(&t->calls));
    for (int i = g->arrays.count; i < t->arrays.count; i++)
        text_add(out, "    free(%s);\n", t->arrays.at[i].c_name);
    text_add(out, "    return %s;\n}\n", t->code);
}

static void add_errors(program_text *t, text_buffer *out) {
    text_add(
        out,
        "const char *%s_error(int code)\n{\n    static const char *const texts[] = {\n        \"no error\",\n        \"no memory "
        "for "
        "the temporaries\",\n        \"an extent is negative or above %lld\",\n        \"the extents of two arrays do not fit "
        "together\",\n        \"two arrays overlap and one of them is written\",\n        \"an array is too large\",\n        "
        "\"an array that is not empty was given no memory\",\n    };\n"
        "    if (code >= 0 && code < (int)(sizeof texts / sizeof *texts))\n        return texts[code];\n    switch (code / %d) "
        "{\n",
        t->name, (long long)c_limits()->largest_extent, PROGRAM_CODES);
    for (int i = 0; i < t->program->calls.count; i++)
        text_add(out, "    case %d: return %s_error(code %% %d);\n", i + 1, t->libraries[i]->name, PROGRAM_CODES);
    text_add(out, "    default: return \"unknown code\";\n    }\n}\n\n");
}

static void add_header(program_text *t, text_buffer *out) {
    const tile_program *g = t->program;
    text_buffer guard = {0};
    for (const char *c = t->name; *c; c++)
        text_add(&guard, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    text_add(out,
             "/* %s: a program of %d kernels, compiled by tilec to plain C. Compile %s.c with GCC or Clang; -O3 -march=native "
             "makes it\n"
             " * fast, and -ffp-contract=off keeps each operation rounding by itself. Needs -lm on processors without FMA.\n *\n"
             " * Arrays are row-major, without gaps, and may not overlap one that is written:\n",
             c_comment_text(t->a, g->name), g->calls.count, t->name);
    for (int i = 0; i < g->arrays.count; i++) {
        const program_array *x = &t->arrays.at[i];
        text_buffer shape = {0};
        for (int d = 0; d < x->declared->group_count; d++) {
            text_add(&shape, "%s", d ? ", " : "");
            ix_print(&shape, x->extents[d]);
        }
        text_add(out, " *   %s: %s\n", x->c_name,
                 c_comment_text(t->a, c_describe_array(t->a, text_get(&shape), x->declared->type, use_of(x))));
        text_free(&shape);
    }
    for (int i = 0; i < g->calls.count; i++) {
        const c_library *l = t->libraries[i];
        text_add(out, " * %d. %s%s\n", i + 1, c_comment_text(t->a, g->calls.at[i]->kernel->name),
                 l->plan->checks.count ? ", which checks before it runs:" : "");
        for (int c = 0; c < l->plan->checks.count; c++)
            text_add(out, " *      %s\n", c_comment_text(t->a, l->plan->checks.at[c].text));
    }
    text_add(out,
             " */\n#ifndef %s_H\n#define %s_H\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#ifdef "
             "__cplusplus\nextern "
             "\"C\" {\n#endif\n\n"
             "/* Runs the kernels in order, in the calling thread; temporaries are allocated within. 0, or a code that %s_error "
             "explains.\n"
             " * Codes from %d are of the kernel code / %d (counted from 1): what the kernels before it wrote stays written. */\n"
             "int %s(%s);\nconst char *%s_error(int code);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n",
             text_get(&guard), text_get(&guard), t->name, PROGRAM_CODES, PROGRAM_CODES, t->name, t->parameters, t->name);
    text_free(&guard);
}

/* Each different plan once, behind what is written already. */
static bool print_kernels(program_text *t, text_buffer *out) {
    const tile_program *g = t->program;
    const cfamily_names *written = NULL;
    for (int i = 0; i < g->calls.count; i++) {
        int namesakes = 0;
        for (int j = 0; j < i && !t->libraries[i]; j++) {
            if (t->build->plans[j] == t->build->plans[i])
                t->libraries[i] = t->libraries[j];
            namesakes += g->calls.at[j]->kernel == g->calls.at[i]->kernel;
        }
        if (t->libraries[i])
            continue;
        launch_plan *plan = NEW(t->a, launch_plan); /* the proved one, under a name that is the program's */
        *plan = *proved_plan_get(t->build->plans[i]);
        const char *number = namesakes ? arena_printf(t->a, "_%d", i + 1) : "";
        plan->name = arena_printf(t->a, "%s_%s%s", g->name, g->calls.at[i]->kernel->name, number);
        t->libraries[i] = NEW(t->a, c_library);
        text_buffer one = {0};
        bool good = c_library_print(t->a, plan, "static ", written, t->libraries[i], &one, t->diags);
        text_add_bytes(out, text_get(&one), one.length);
        text_add(out, "\n");
        text_free(&one);
        if (!good)
            return !(t->failed = true);
        written = &t->libraries[i]->p.helpers;
        static const char *const ends[] = {"",       "_error",         "_check",   "_task_count",
                                           "_tasks", "_scratch_bytes", "_variant", "_count"};
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            names_add(&t->p, &t->p.names, arena_printf(t->a, "%s%s", t->libraries[i]->name, ends[e]));
    }
    return true;
}

bool c_build_program(const program_build *build, const char *directory, diag_list *diags) {
    arena *a = arena_new();
    program_text t = {.a = a, .build = build, .program = build->program, .diags = diags};
    t.p = (cfamily){.arena = a, .dialect = &c_dialect, .diags = diags};
    t.name = cfamily_legal(a, build->program->name);
    t.libraries = NEW_ARRAY(a, c_library *, build->program->calls.count + 1);
    names_add(&t.p, &t.p.names, t.name);
    text_buffer source = {0}, body = {0}, header = {0};
    text_add(&source, "#include \"%s.h\"\n#include <stdlib.h>\n", t.name);
    c_plan_head(&source);
    if (print_kernels(&t, &source)) {
        name_parameters(&t);
        t.fits = cfamily_unique(&t.p, "fits");
        t.code = cfamily_unique(&t.p, "code");
        for (int i = 0; i < t.program->calls.count; i++)
            add_call(&t, i);
        for (int i = 0; i < t.arrays.count; i++)
            count_cells(&t, &t.arrays.at[i]);
        add_arithmetic(&t, &body);
        add_errors(&t, &body);
        add_function(&t, &body);
        add_header(&t, &header);
    }
    bool ok = !t.failed && !t.p.failed && file_make_folders(directory, diags);
    if (ok) {
        text_add(&source, "%s", c_wrap_lines(a, text_get(&body)));
        const char *text = c_wrap_lines(a, text_get(&header));
        ok = file_write(arena_printf(a, "%s/%s.h", directory, t.name), text, strlen(text), diags) &&
             file_write(arena_printf(a, "%s/%s.c", directory, t.name), text_get(&source), source.length, diags);
    }
    text_free(&source);
    text_free(&body);
    text_free(&header);
    text_free(&t.sizes);
    text_free(&t.mismatches);
    text_free(&t.calls);
    arena_free(a);
    return ok;
}
