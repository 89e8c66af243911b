/* Foreign kernels for targets: plans, and what is built of them. */
#include "command/foreign_plan.h"
#include "base/file.h"
#include "bench/manifest.h"
#include "command/witness.h"
#include "kernel/serialise.h"
#include "target/target.h"
#include <string.h>

static void add_where(arena *a, launch_plan *p, cond *c) {
    text_buffer text = {0};
    cond_print(&text, c);
    launch_check check = {.kind = CHECK_WHERE, .condition = c, .text = arena_strdup(a, text_get(&text))};
    text_free(&text);
    VEC_PUSH(a, p->checks, check);
}

launch_plan *foreign_plan(arena *a, kernel_ir *k) {
    launch_plan *p = NEW(a, launch_plan);
    p->name = k->name;
    plan_variant only = {.kernel = k};
    VEC_PUSH(a, p->variants, only);
    for (int i = 0; i < k->symbols.count; i++) {
        index_var *v = k->symbols.at[i];
        if (v->lo && !(ix_is_const(v->lo, NULL) && v->lo->value <= 0))
            add_where(a, p, cond_compare(a, COND_LE, v->lo, ix_var(a, v)));
        if (v->hi)
            add_where(a, p, cond_compare(a, COND_LE, ix_var(a, v), v->hi));
    }
    for (int i = 0; i < k->scalars.count; i++) {
        kernel_scalar *s = &k->scalars.at[i];
        if (!s->var || (!s->var->lo && !s->var->hi) || kernel_scalar_is_whole_type(s))
            continue;
        text_buffer text = {0};
        text_add(&text, "%s in ", s->name);
        ix_print(&text, s->var->lo);
        text_add(&text, "..");
        ix_print(&text, s->var->hi);
        launch_check check = {.kind = CHECK_SCALAR_RANGE, .scalar = s, .text = arena_strdup(a, text_get(&text))};
        text_free(&text);
        VEC_PUSH(a, p->checks, check);
    }
    for (int i = 0; i < k->arrays.count; i++) {
        kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || !array->element_bound)
            continue;
        text_buffer text = {0};
        ix_print(&text, array->element_bound);
        launch_check check = {.kind = CHECK_INDEX_RANGE,
                              .array = array,
                              .text = arena_printf(a, "every element of %s is in 0 .. %s - 1", array->name, text_get(&text))};
        text_free(&text);
        VEC_PUSH(a, p->checks, check);
    }
    for (int i = 0; i < k->assumptions.count; i++)
        add_where(a, p, k->assumptions.at[i]);
    return p;
}

/* The order in which a task runs its threads is one that a device might take: what they do when they race is as good as any, but it is said. What else the
 * kernel lacks is asked of its threads in a row. */
static void warn_of_races(report *r, const kernel_ir *k) {
    proof as_written = {0};
    diag_list quiet;
    diag_init(&quiet, r->arena);
    prove_kernel(r->arena, k, kernel_any_machine(), &as_written, &quiet);
    const char *last = NULL;
    for (int i = 0; i < as_written.items.count; i++) {
        const proof_item *x = &as_written.items.at[i];
        if (strcmp(x->property, "race") || x->verdict == VERDICT_PROVED || (last && x->subject && !strcmp(last, x->subject)))
            continue;
        last = x->subject;
        diag *g = diag_warning(&r->diags, "E0553", x->span, "threads of %s %s on `%s`: here they run one after another", k->name,
                               x->verdict == VERDICT_REFUTED ? "race" : "may race", x->subject ? x->subject : "memory");
        diag_note(&r->diags, g, "tilec check says which threads, and when");
    }
}

/* The plan with its kernel's invariant loads before their loops, where that is proved too. NULL: as it is. */
static const proved_plan *prove_hoisted(report *r, const launch_plan *p, const target *t, proof *verdicts, legal_routes *routes) {
    kernel_ir *k = kernel_copy(r->arena, p->variants.at[0].kernel);
    diag_list quiet;
    diag_init(&quiet, r->arena);
    legal_routes own = {0};
    const proved_plan *proved = NULL;
    bool hoisted = kernel_hoist(k, &own), checked = hoisted && kernel_check(k, &quiet);
    if (checked) {
        kernel_simplify(k);
        proved = prove_plan(r->arena, foreign_plan(r->arena, k), t->limits(), verdicts, &quiet);
    }
    if (hoisted && !proved) { /* all of them stay */
        const proof_item *lacks = NULL;
        for (int i = 0; checked && i < verdicts->items.count && !lacks; i++)
            lacks = verdicts->items.at[i].verdict == VERDICT_PROVED ? NULL : &verdicts->items.at[i];
        legal_route(
            r->arena, routes,
            arena_printf(r->arena,
                         "reads of the block's memory stay in their loops (refused: before them, where %s%s%s%s is not proved)",
                         lacks ? lacks->property : "the form", lacks && lacks->subject ? " of `" : "",
                         lacks && lacks->subject ? lacks->subject : "", lacks && lacks->subject ? "`" : ""));
        return NULL;
    }
    for (int i = 0; i < own.count; i++)
        legal_route(r->arena, routes, own.at[i]);
    return proved;
}

const proved_plan *foreign_prove(report *r, launch_plan *p, const target *t, proof *verdicts, legal_routes *routes) {
    kernel_ir *k = p->variants.at[0].kernel;
    if (!t->limits()->has_lanes && k->levels.count > 1) { /* barriers cut it into regions, each a loop over the threads */
        warn_of_races(r, k);
        static const legal_table alone = {.target = "c", .subgroups = false, .f16_arithmetic = true, .vector_lanes = 4096};
        if (!kernel_legalize(k, &alone, routes, &r->diags) || !kernel_serialise(k, routes, &r->diags) ||
            !kernel_check(k, &r->diags))
            return NULL;
        kernel_simplify(k);
    }
    if (t->legal && (!kernel_legalize(k, t->legal, routes, &r->diags) || !kernel_check(k, &r->diags)))
        return NULL;
    const proved_plan *hoisted = k->serialised ? prove_hoisted(r, p, t, verdicts, routes) : NULL;
    return hoisted ? hoisted : prove_plan(r->arena, p, t->limits(), verdicts, &r->diags);
}

const proved_plan *foreign_prove_for(report *r, const kernel_ir *k, const int64_t *integers, const target *t, proof *verdicts,
                                     legal_routes *routes) {
    kernel_ir *own = kernel_copy(r->arena, k); /* legalising changes it */
    for (int i = 0; i < own->symbols.count; i++)
        VEC_PUSH(r->arena, own->assumptions,
                 cond_compare(r->arena, COND_EQ, ix_var(r->arena, own->symbols.at[i]), ix_const(r->arena, integers[i])));
    return foreign_prove(r, foreign_plan(r->arena, own), t, verdicts, routes);
}

void foreign_explain(report *r, const command_line *line, const legal_routes *routes, json_t *entry) {
    json_t *list = json_array();
    for (int i = 0; i < routes->count; i++) {
        json_array_append_new(list, json_string(routes->at[i]));
        if (!r->json && option_given(line, "--explain"))
            printf("  %-13s %s\n", i ? "" : "routes", routes->at[i]);
    }
    if (entry)
        json_object_set(entry, "routes", list);
    json_decref(list);
}

static bool build_one(report *r, const command_line *line, const lifted_kernel *x, const target *t, const char *folder,
                      json_t *list) {
    proof verdicts = {0};
    kernel_ir *own = kernel_copy(r->arena, x->kernel); /* legalising changes it */
    launch_plan *p = foreign_plan(r->arena, own);
    legal_routes routes = {0};
    const proved_plan *proved = file_make_folders(folder, &r->diags) ? foreign_prove(r, p, t, &verdicts, &routes) : NULL;
    const char *letters = option_value(line, "--dump");
    if (proved && letters && strchr(letters, 'e')) {
        text_buffer text = {0};
        if (t->emit(proved, &text, &r->diags))
            fputs(text_get(&text), r->json ? stderr : stdout);
        text_free(&text);
    }
    bool good =
        proved && t->build(proved, folder, &r->diags) && manifest_write(proved_plan_get(proved), t->name, folder, &r->diags);
    if (!r->json && good)
        printf("%-16s proved in %.0f ms, written to %s\n", x->kernel->name, verdicts.milliseconds, folder);
    json_t *entry = json_pack("{s:s, s:s, s:b, s:s, s:f}", "kernel", x->kernel->name, "target", t->name, "held", good, "folder",
                              folder, "proof_ms", verdicts.milliseconds);
    foreign_explain(r, line, &routes, entry);
    json_array_append_new(list, entry);
    report_flush(r);
    return good;
}

bool foreign_build(report *r, const command_line *line, const char *path, const target *t, const char *folder) {
    foreign_list kernels = {0};
    bool held = foreign_read(r, line, path, &kernels);
    json_t *list = json_array();
    report_flush(r);
    for (int i = 0; i < kernels.count; i++)
        for (int n = 0; n < (t ? 1 : target_count); n++) {
            const target *of = t ? t : &target_table[n];
            held = foreign_has_bodies(r, &kernels.at[i]) &&
                   build_one(r, line, &kernels.at[i], of, t ? folder : arena_printf(r->arena, "%s/%s", folder, of->name), list) &&
                   held;
        }
    if (r->json)
        json_object_set(r->json, "kernels", list);
    json_decref(list);
    return held;
}
