/* Kernels in other languages: reading and judging them. */
#include "command/foreign_all.h"
#include "base/file.h"
#include "command/source_options.h"
#include "command/witness.h"
#include <string.h>

bool foreign_named(const char *path) {
    source_language language;
    return source_language_of(path, &language);
}

const char *foreign_sidecar(arena *a, const char *path) {
    const char *dot = strrchr(path, '.');
    return arena_printf(a, "%.*s.launch", dot ? (int)(dot - path) : (int)strlen(path), path);
}

static bool is_data(const char *value) {
    const char *equals = strchr(value, '=');
    size_t n = strlen(value);
    return equals && (strchr(equals, ':') || (n > 4 && !strcmp(value + n - 4, ".npy")) || !strcmp(equals, "=zeros") ||
                      !strcmp(equals, "=iota"));
}

static bool contract_of(report *r, const command_line *line, const char *path, const char *kernel, lift_contract *c) {
    static const char *const keys[] = {"block", "grid", "arg", "where", "opaque", "shared", "subgroup", "lockstep", "largest"};
    if (!contract_read(r->arena, c, foreign_sidecar(r->arena, path), kernel, &r->diags))
        return false;
    for (int i = 0; i < line->option_count; i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (!strcmp(line->options[i].row->name + 2, keys[k]) && !(k == 2 && is_data(line->options[i].value)) &&
                !contract_add(r->arena, c, keys[k], line->options[i].value, (source_span){0}, &r->diags))
                return false;
    return true;
}

/* What the source's own reading knows of its parameters. */
void foreign_annotate(lift_function *f, const source_kernel *k) {
    f->host_name = k->host_name;
    for (int d = 0; d < 3; d++)
        if (k->block[d] && !f->block_size[d])
            f->block_size[d] = k->block[d];
    if (k->span.line && !f->line)
        f->line = k->span.line;
    for (int i = 0; i < k->parameters.count; i++) {
        const source_parameter *p = &k->parameters.at[i];
        for (int n = p->first; n < p->first + p->count && n >= 0 && n < f->arguments.count; n++) {
            f->notes[n].builtin = p->kind == PARAMETER_BUILTIN ? p->builtin : NULL;
            if (p->count == 1 && *p->name)
                f->arguments.at[n]->name = p->name;
            if (!f->notes[n].base_type)
                f->notes[n].base_type = p->type;
        }
    }
}

bool foreign_open(report *r, const char *path, const source_options *o, foreign_source *out) {
    source_language language;
    if (!source_language_of(path, &language))
        return false;
    char *text = file_read(r->arena, path, FILE_SOURCE_LIMIT, NULL, &r->diags);
    if (!text)
        return false;
    diag_add_source(&r->diags, path, text);
    out->source = lift_source(r->arena, path, NULL, language, o, &r->diags);
    return out->source != NULL;
}

bool foreign_open_module(report *r, const char *path, int from, int to, foreign_source *x) {
    const source_module *s = x->source;
    const char **functions = NEW_ARRAY(r->arena, const char *, to - from + 1);
    for (int i = from; i < to; i++)
        functions[i - from] = s->kernels.at[i].function;
    lift_reading how = {.source = s->language == SOURCE_LLVM ? NULL : path,
                        .kernels = functions,
                        .kernel_count = to - from,
                        .device = s->spaces.device,
                        .threadgroup = s->spaces.threadgroup,
                        .constant = s->spaces.constant,
                        .thread = s->spaces.thread,
                        .generic = s->spaces.generic};
    x->module = lift_module_read(r->arena, s->text, s->length, path, &how, &r->diags);
    return x->module != NULL;
}

enum { WRAPS_MS = 2000 };

/* What wraps around does so, where it is not shown to fit. */
static void settle_wraps(report *r, lifted_kernel *x) {
    target_limits limits = *kernel_any_machine();
    limits.milliseconds = WRAPS_MS;
    if (!x->wraps)
        return;
    kernel_ir *wrapped = kernel_copy(r->arena, x->kernel);
    if (!prove_wraps(r->arena, wrapped, &limits))
        return;
    x->stated = x->kernel;
    x->kernel = wrapped;
}

bool foreign_lift(report *r, const command_line *line, const char *path, const foreign_source *from, int i, lifted_kernel *out) {
    const source_kernel *k = &from->source->kernels.at[i];
    lift_function *f = NULL;
    for (int j = 0; j < from->module->functions.count && !f; j++)
        if (!strcmp(from->module->functions.at[j]->name, k->function))
            f = from->module->functions.at[j];
    if (!f) {
        diag_error(&r->diags, "E1122", k->span, "`%s` is not among the module's functions", k->host_name);
        return false;
    }
    foreign_annotate(f, k);
    lift_contract contract = {.subgroup = (int)k->subgroup};
    if (!contract_of(r, line, path, k->host_name, &contract) || !lift_kernel(r->arena, f, path, &contract, out, &r->diags))
        return false;
    settle_wraps(r, out);
    return true;
}

bool foreign_read(report *r, const command_line *line, const char *path, foreign_list *out) {
    source_options o;
    foreign_source from = {0};
    if (!source_options_read(line, r->arena, &o, &r->diags) || !foreign_open(r, path, &o, &from) ||
        !foreign_open_module(r, path, 0, from.source->kernels.count, &from))
        return false;
    bool held = true;
    for (int i = 0; i < from.source->kernels.count; i++) {
        lifted_kernel x = {0};
        if (foreign_lift(r, line, path, &from, i, &x))
            VEC_PUSH(r->arena, *out, x);
        else
            held = false;
    }
    return held;
}

bool foreign_has_bodies(report *r, const lifted_kernel *x) {
    if (x->opaque)
        diag_error(&r->diags, "E1132", x->kernel->span, "`%s` needs %s, which is not known", x->kernel->name, x->opaque);
    return !x->opaque;
}

/* What finding conditions may take, and how slow a proof may be that is made again and again. */
enum { SEARCH_MS = 4000, SLOW_PROOF_MS = 1000 };

/* Whether some launch with a thread in it meets the conditions: then a store to nowhere is refuted. */
static bool some_launch(report *r, const kernel_ir *k, const lift_conditions_list *conditions, const target_limits *limits) {
    kernel_ir *empty = kernel_copy(r->arena, k);
    index_expr *none = ix_const(r->arena, 0);
    kernel_array *nowhere = kernel_add_array(empty, "nowhere", SPACE_GLOBAL, USE_UPDATE, ELEMENT_F32, 1, &none);
    diag_list quiet;
    proof p;
    diag_init(&quiet, r->arena);
    empty->body = (kernel_block){0};
    kernel_store(empty, &empty->body, kernel_at(empty, nowhere, &none), kernel_const(empty, ELEMENT_F32, 1, 0), k->span);
    for (int i = 0; i < conditions->count; i++)
        VEC_PUSH(r->arena, empty->assumptions, conditions->at[i]);
    prove_kernel(r->arena, empty, limits, &p, &quiet);
    return p.refuted > 0;
}

/* Conditions below which everything is proved, as few as that takes one by one; empty: none were found. */
static void find_conditions(report *r, const kernel_ir *k, const target_limits *limits, lift_conditions_list *out) {
    lift_conditions_list all = {0}, kept = {0};
    kernel_ir *own = kernel_copy(r->arena, k);
    lift_suggest(own, &all);
    double start = command_now_ms();
    for (int without = -1; without < all.count && command_now_ms() - start < SEARCH_MS; without++) {
        diag_list quiet;
        proof p;
        kernel_ir *with = kernel_copy(r->arena, own);
        kept.count = 0;
        for (int i = 0; i < all.count; i++)
            if (i != without)
                VEC_PUSH(r->arena, kept, all.at[i]);
        for (int i = 0; i < kept.count; i++)
            VEC_PUSH(r->arena, with->assumptions, kept.at[i]);
        diag_init(&quiet, r->arena);
        bool held = prove_kernel(r->arena, with, limits, &p, &quiet);
        if (without < 0 && !held)
            return;
        if (without >= 0 && held) {
            all.count = 0;
            for (int i = 0; i < kept.count; i++)
                VEC_PUSH(r->arena, all, kept.at[i]);
            without--;
        }
    }
    if (some_launch(r, own, &all, limits))
        *out = all;
}

/* "--where .." for what the proof needs and nobody said. */
static void print_conditions(report *r, const command_line *line, const kernel_ir *k, const target_limits *limits) {
    lift_conditions_list needed = {0};
    find_conditions(r, k, limits, &needed);
    json_t *list = r->json ? json_array() : NULL;
    (void)line;
    for (int i = 0; i < needed.count; i++) {
        text_buffer text = {0};
        cond_print(&text, needed.at[i]);
        if (list)
            json_array_append_new(list, json_string(text_get(&text)));
        else
            printf("  %-13s --where '%s'\n", i ? "" : "proved with", text_get(&text));
        text_free(&text);
    }
    if (list)
        json_object_set_new(r->json, "where", list);
}

bool foreign_check(report *r, const command_line *line, const char *path, json_t *list) {
    target_limits limits;
    bool handled, all = foreign_check_all(r, line, path, list, &handled);
    if (handled || !all || !kernel_proof_limits(r, line, 0, &limits))
        return all && handled;
    foreign_list kernels = {0};
    int first = r->diags.items.count;
    bool held = foreign_read(r, line, path, &kernels);
    report_flush(r);
    for (int i = 0; i < kernels.count; i++) {
        const lifted_kernel *x = &kernels.at[i];
        const char *letters = option_value(line, "--dump");
        if (letters && strchr(letters, 'l')) {
            text_buffer text = {0};
            kernel_print(&text, x->kernel);
            fprintf(r->json ? stderr : stdout, "%s", text_get(&text));
            text_free(&text);
        }
        if (option_given(line, "--limit") && limits.milliseconds <= 0) {
            if (!r->json)
                printf("%-16s read\n", x->kernel->name);
            continue;
        }
        proof verdicts;
        bool proved = kernel_ir_check(r, line, x->kernel, &limits, first, &verdicts, list);
        held = held && proved;
        if (!proved && verdicts.milliseconds < SLOW_PROOF_MS)
            print_conditions(r, line, x->stated ? x->stated : x->kernel, &limits);
        first = r->diags.items.count;
        if (!r->json && (option_given(line, "--explain") || verdicts.refuted))
            for (int j = 0; j < x->assumed.count; j++)
                printf("  taken         %s\n", x->assumed.at[j]);
    }
    return held;
}
