/* Emitted texts against the Kernel IR that they were printed from. */
#include "command/read_back.h"
#include "base/file.h"
#include "base/pieces.h"
#include "command/foreign.h"
#include "command/read_back_parts.h"
#include <string.h>

bool read_back_open(back *b, const target *t, const proved_plan *p, source_language *language) {
    const char *ending;
    b->plan = proved_plan_get(p);
    int before = b->r->diags.errors;
    if (target_program(b->a, t, p, &b->program, &ending, &b->whole, &b->r->diags)) {
        b->path = arena_printf(b->a, "%s.%s", b->plan->name, ending);
        *language = SOURCE_C;
        return !strcmp(ending, "c") || source_language_of(b->path, language);
    }
    if (b->r->diags.errors == before)
        diag_error(&b->r->diags, "E0875", b->plan->variants.at[0].kernel->span, "texts of target %s are not read back", t->name);
    return false;
}

static lift_function *function_named(const lift_module *m, const char *name) {
    for (int i = 0; i < m->functions.count; i++)
        if (!strcmp(m->functions.at[i]->name, name))
            return m->functions.at[i];
    return NULL;
}

/* One entry of the module as Kernel IR. */
static bool read_entry(back *b, int i, const source_module *source, const lift_module *m) {
    const gpu_entry *e = b->entries[i];
    const source_kernel *k = NULL;
    for (int j = 0; j < source->kernels.count; j++)
        if (!strcmp(source->kernels.at[j].host_name, e->name))
            k = &source->kernels.at[j];
    lift_function *f = k ? function_named(m, k->function) : NULL;
    if (!f) {
        diag_error(&b->r->diags, "E1122", (source_span){.file = source->path}, "`%s` is not among the module's functions",
                   e->name);
        return false;
    }
    foreign_annotate(f, k);
    lift_contract contract = {.block = {e->threads, 1, 1}};
    contract_argument dynamic = {.name = "shared_memory", .has_type = true, .type = ELEMENT_U8};
    if (e->dynamic_bytes) {
        VEC_PUSH(b->a, dynamic.extents, arena_printf(b->a, "%lld", (long long)e->dynamic_bytes));
        VEC_PUSH(b->a, contract.arguments, dynamic);
    }
    return lift_kernel(b->a, f, source->path, &contract, &b->texts[i], &b->r->diags);
}

/* The entries of these kernels as one source, compiled once: what they say alike in front is there once. */
static bool read_entries(back *const *kernels, int count, source_language language) {
    back *first = kernels[0];
    report *r = first->r;
    arena *a = first->a;
    text_buffer text = {0};
    VEC(const char *) names = {0};
    VEC(const char *) texts = {0};
    for (int i = 0; i < count; i++) {
        VEC_PUSH(a, texts, kernels[i]->whole ? kernels[i]->whole : kernels[i]->program.prelude);
        for (int j = 0; j < kernels[i]->entry_count; j++) {
            VEC_PUSH(a, names, kernels[i]->entries[j]->name);
            if (!kernels[i]->whole)
                VEC_PUSH(a, texts, kernels[i]->entries[j]->text);
        }
    }
    if (count == 1 && first->whole)
        text_add(&text, "%s", first->whole);
    else
        pieces_join(texts.at, texts.count, &text);
    source_options o = {.kernels = names.at, .kernel_count = names.count};
    const source_module *source = lift_source(a, first->path, arena_strdup(a, text_get(&text)), language, &o, &r->diags);
    text_free(&text);
    if (!source)
        return false;
    const char **functions = NEW_ARRAY(a, const char *, source->kernels.count + 1);
    for (int i = 0; i < source->kernels.count; i++)
        functions[i] = source->kernels.at[i].function;
    lift_reading how = {.source = first->path,
                        .kernels = functions,
                        .kernel_count = source->kernels.count,
                        .device = source->spaces.device,
                        .threadgroup = source->spaces.threadgroup,
                        .constant = source->spaces.constant,
                        .thread = source->spaces.thread,
                        .generic = source->spaces.generic};
    const lift_module *m = lift_module_read(a, source->text, source->length, first->path, &how, &r->diags);
    for (int i = 0; m && i < count; i++)
        for (int j = 0; j < kernels[i]->entry_count; j++)
            kernels[i]->failed = !read_entry(kernels[i], j, source, m) || kernels[i]->failed;
    return m != NULL;
}

/* Texts that are modules are read one by one, others together; where those are refused together, each by itself, so that the one to blame is named. */
static void read_texts(back *const *kernels, int count, source_language language) {
    bool together = count > 1;
    for (int i = 0; i < count; i++)
        together = together && !kernels[i]->whole;
    if (together) {
        report *r = kernels[0]->r;
        diag_list real = r->diags;
        diag_init(&r->diags, r->arena);
        bool fine = read_entries(kernels, count, language);
        diag_list seen = r->diags;
        r->diags = real;
        for (int i = 0; fine && i < seen.items.count; i++) {
            VEC_PUSH(r->arena, r->diags.items, seen.items.at[i]);
            r->diags.errors += seen.items.at[i]->severity == SEVERITY_ERROR;
        }
        if (fine)
            return;
    }
    for (int i = 0; i < count; i++)
        kernels[i]->failed = !read_entries(&kernels[i], 1, language) || kernels[i]->failed;
}

void read_back_read(back *const *kernels, int count, source_language language) {
    VEC(back *) own = {0};
    for (int i = 0; i < count; i++)
        if (!kernels[i]->same)
            VEC_PUSH(kernels[i]->a, own, kernels[i]);
    if (own.count)
        read_texts(own.at, own.count, language);
    for (int i = 0; i < count; i++)
        if (kernels[i]->same) {
            memcpy(kernels[i]->texts, kernels[i]->same->texts, sizeof kernels[i]->texts);
            kernels[i]->failed = kernels[i]->same->failed;
        }
}

void read_back_tell(back *b, json_t *texts) {
    for (int i = 0; i < b->entry_count; i++) {
        bool same = !b->failed && read_back_compare(b, i);
        b->failed = b->failed || !same;
        if (texts)
            json_array_append_new(
                texts, json_pack("{s:s, s:b}", "text",
                                 b->label ? arena_printf(b->a, "%s%s", b->label, b->entries[i]->name) : b->entries[i]->name,
                                 "same", same));
        else
            printf("  read back     %s%s: %s\n", b->label ? b->label : "", b->entries[i]->name,
                   same ? "the same results, bit for bit" : "NOT the same");
    }
}

static void tell(back *b, json_t *entry) {
    json_t *texts = entry ? json_array() : NULL;
    read_back_tell(b, texts);
    if (texts)
        json_object_set_new(entry, "read_back", texts);
    if (entry && b->failed)
        json_object_set_new(entry, "held", json_false());
    report_flush(b->r);
}

bool read_back(report *r, const command_line *line, const read_back_kernel *kernels, int count, const target *t) {
    const char *what = option_value(line, "--read-back"), *text = NULL;
    bool all = !strcmp(what, "all"), held = true;
    source_language language = SOURCE_C;
    if (!all && strcmp(what, "quickest")) {
        text = file_read(r->arena, what, FILE_SOURCE_LIMIT, NULL, &r->diags);
        if (!text)
            return false;
    }
    VEC(back *) fine = {0};
    VEC(json_t *) entries = {0};
    for (int i = 0; i < count; i++) {
        back *b = NEW(r->arena, back);
        *b = (back){.r = r, .a = r->arena};
        if (!read_back_open(b, t, kernels[i].plan, &language)) {
            held = false;
            continue;
        }
        b->whole = text ? text : b->whole;
        b->path = text ? what : b->path;
        if (!read_back_launch(b, line, all)) {
            held = false;
            continue;
        }
        VEC_PUSH(r->arena, fine, b);
        VEC_PUSH(r->arena, entries, kernels[i].entry);
    }
    read_back_read(fine.at, fine.count, language);
    for (int i = 0; i < fine.count; i++) {
        tell(fine.at[i], entries.at[i]);
        held = held && !fine.at[i]->failed;
    }
    return held;
}
