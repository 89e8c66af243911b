#include "compile.h"
#include "base/file.h"
#include "lang/lang.h"
#include "pipeline.h"
#include <string.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

tile_module *compile_load(arena *a, const char *path, const char *text, diag_list *diags) {
    if (!text)
        text = file_read(a, path, FILE_SOURCE_LIMIT, NULL, diags);
    return text ? lang_load(a, path, text, diags) : NULL;
}

/* Tried in turn for statics without a value, so that `check` can judge a kernel nobody has called yet. */
static const int64_t sample_values[] = {64, 32, 8, 4, 2, 1};
enum { SAMPLE_COUNT = sizeof sample_values / sizeof *sample_values };

static bool lookup_binding(void *context, const index_var *v, int64_t *value) {
    const compiled_kernel *c = context;
    for (int i = 0; i < c->statics.count; i++)
        if (strcmp(c->statics.at[i].name, v->name) == 0) {
            *value = c->statics.at[i].value;
            return true;
        }
    return false;
}

/* Whether the written `where`s that speak of statics alone hold. */
static bool statics_agree(const tile_kernel *k, compiled_kernel *c) {
    for (int i = 0; i < k->where.count; i++) {
        bool holds;
        if (cond_eval(k->where.at[i], lookup_binding, c, &holds) && !holds)
            return false;
    }
    return true;
}

bool compile_bind_statics(arena *a, const tile_kernel *k, const compile_options *o, compiled_kernel *out, diag_list *diags) {
    out->statics.count = 0;
    out->statics_sampled = false;
    int missing = 0;
    const char *first = NULL;
    VEC(int) sampled = {0};
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        if (v->kind != INDEX_STATIC)
            continue;
        tile_binding b = {v->name, 0};
        bool known = false;
        for (int j = 0; j < o->static_count; j++)
            if (strcmp(o->statics[j].name, v->name) == 0) {
                b.value = o->statics[j].value;
                known = true;
            }
        if (!known && v->has_value) {
            b.value = v->value;
            known = true;
        }
        if (!known) {
            first = missing++ ? first : v->name;
            VEC_PUSH(a, sampled, out->statics.count);
        }
        VEC_PUSH(a, out->statics, b);
    }
    for (int i = 0; i < out->statics.count; i++)
        if (out->statics.at[i].value < 0) {
            diag *g = diag_error(diags, "E0512", k->span, "`static %s` of %s cannot be %lld", out->statics.at[i].name, k->name,
                                 (long long)out->statics.at[i].value);
            diag_note(diags, g, "a static is an extent or a size: 0 or more");
            return false;
        }
    if (!missing)
        return true;
    if (!o->sample_statics) {
        diag *g = diag_error(diags, "E0510", k->span, "%s needs a value for `static %s`", k->name, first);
        diag_note(diags, g, "no argument's shape gives it: pass --shape %s=.., or write a default, `static %s = ..`", first,
                  first);
        return false;
    }
    /* Each static tries the samples in turn, the first one fastest; the first choice the `where`s allow is taken. */
    out->statics_sampled = true;
    int64_t choices = 1;
    for (int i = 0; i < sampled.count && choices < 100000; i++)
        choices *= SAMPLE_COUNT;
    for (int64_t c = 0; c < choices; c++) {
        int64_t rest = c;
        for (int i = 0; i < sampled.count; i++, rest /= SAMPLE_COUNT)
            out->statics.at[sampled.at[i]].value = sample_values[rest % SAMPLE_COUNT];
        if (statics_agree(k, out))
            return true;
    }
    diag *g = diag_error(diags, "E0510", k->span, "%s needs a value for `static %s`", k->name, first);
    diag_note(diags, g, "no sample value satisfies the kernel's `where`: pass --shape %s=..", first);
    return false;
}

bool compile_kernel(arena *a, const tile_module *m, const tile_kernel *k, const compile_options *o, compiled_kernel *out,
                    diag_list *diags) {
    double start = now_ms();
    memset(out, 0, sizeof *out);
    out->module = m;
    out->source = k;
    pipeline_state s = {.arena = a, .module = m, .options = o, .out = out, .diags = diags};
    bool good = pipeline_run(&s);
    out->milliseconds = now_ms() - start;
    return good;
}

void compile_print_proof(const compiled_kernel *c, text_buffer *out) {
    for (int i = 0; i < c->proof.items.count; i++) {
        const proof_item *p = &c->proof.items.at[i];
        text_add(out, "  %-14s %-24s %s", p->property, p->subject ? p->subject : "", verdict_names[p->verdict]);
        if (p->verdict != VERDICT_PROVED)
            text_add(out, ": %s%s%s", p->explanation ? p->explanation : "", p->witness ? ", when " : "",
                     p->witness ? p->witness : "");
        text_add(out, "  (%.1f ms)\n", p->milliseconds);
    }
    text_add(out, "  %d proved, %d refuted, %d not proved, %.0f ms\n", c->proof.proved, c->proof.refuted, c->proof.unknown,
             c->proof.milliseconds);
}

void compile_explain(const compiled_kernel *c, text_buffer *out) {
    text_add(out, "%s\n", c->source->name);
    if (c->statics.count) {
        text_add(out, "  statics       ");
        for (int i = 0; i < c->statics.count; i++)
            text_add(out, "%s%s = %lld", i ? ", " : "", c->statics.at[i].name, (long long)c->statics.at[i].value);
        text_add(out, "\n");
    }
    if (c->schedule.text)
        text_add(out, "  schedule      %s\n", c->schedule.text);
    for (int i = 0; i < c->lowered.routes.count; i++)
        text_add(out, "  %-13s %s\n", i ? "" : "routes", c->lowered.routes.at[i]);
    const launch_plan *plan = c->plan ? proved_plan_get(c->plan) : c->lowered.plan;
    if (!plan)
        return;
    for (int i = 0; i < plan->variants.count; i++) {
        const kernel_ir *k = plan->variants.at[i].kernel;
        text_buffer when = {0}, grid = {0};
        if (plan->variants.at[i].predicate)
            cond_print(&when, plan->variants.at[i].predicate);
        for (int d = 0; k->levels.count && d < k->levels.at[0].rank; d++) {
            text_add(&grid, "%s", d ? " x " : "");
            ix_print(&grid, k->levels.at[0].extents[d]);
        }
        text_add(out, "  variant %-5d %s; tasks %s; %lld bytes of private memory a task\n", i,
                 when.text ? text_get(&when) : "always", grid.text ? text_get(&grid) : "1", (long long)kernel_private_bytes(k));
        text_free(&when);
        text_free(&grid);
        const plan_variant *v = &plan->variants.at[i];
        if (v->narrow)
            text_add(
                out,
                "  index width   of variant %d: 32 bits where extents are at most %d and arrays have at most %d elements; 64 "
                "beyond\n",
                i, PLAN_NARROW_EXTENT, PLAN_NARROW_ELEMENTS);
        else if (v->not_narrow)
            text_add(out, "  index width   of variant %d: 64 bits; 32 are not known to be enough: %s\n", i, v->not_narrow);
        if (!v->aligned || c->proof.left_out)
            continue;
        text_add(out, "  aligned form  of variant %d: arrays begin at multiples of %d bytes", i, PLAN_ALIGNMENT);
        for (int d = 0; d < v->divided.count; d++)
            text_add(out, "%s%s", d ? ", " : arena_printf(c->module->arena, "; multiples of %d: ", v->multiple),
                     k->symbols.at[v->divided.at[d]]->name);
        text_add(out, "\n");
    }
    if (c->proof.left_out)
        text_add(out, "  aligned form  left out, since not proved: %s\n", c->proof.left_out);
    if (!plan->checks.count)
        text_add(out, "  launch checks none\n");
    for (int i = 0; i < plan->checks.count; i++)
        text_add(out, "  %-13s %s\n", i ? "" : "launch checks", plan->checks.at[i].text);
    text_add(out, "  proof\n");
    text_buffer proof = {0};
    compile_print_proof(c, &proof);
    for (const char *line = text_get(&proof); *line;) {
        const char *end = strchr(line, '\n');
        text_add(out, "  %.*s\n", (int)(end - line), line);
        line = end + 1;
    }
    text_free(&proof);
}
