#include "pipeline.h"
#include "kernel/align.h"
#include <string.h>

static void print_tiles_as_written(const pipeline_state *s, text_buffer *out) {
    tile_print_kernel(out, s->out->source);
}
static void print_tiles(const pipeline_state *s, text_buffer *out) {
    tile_print_kernel(out, s->out->tiles);
}
static void print_forms(const pipeline_state *s, text_buffer *out) {
    tile_print_kernel(out, s->out->tiles);
    for (int i = 0; i < s->out->rows.count; i++)
        tile_print_kernel(out, s->out->rows.at[i].tiles);
}
static void print_plan(const pipeline_state *s, text_buffer *out) {
    plan_print(out, s->out->lowered.plan);
}

static bool check_source(pipeline_state *s) {
    return tile_check(s->out->source, s->diags);
}
static bool check_tiles(pipeline_state *s) {
    return tile_check(s->out->tiles, s->diags);
}
static bool check_forms(pipeline_state *s) {
    bool good = true;
    for (int i = 0; i < s->out->rows.count; i++)
        good = tile_check(s->out->rows.at[i].tiles, s->diags) && good;
    return good;
}
static bool check_plan(pipeline_state *s) {
    bool good = true;
    const launch_plan *plan = s->out->lowered.plan;
    for (int i = 0; i < plan->variants.count; i++)
        good = kernel_check(plan->variants.at[i].kernel, s->diags) &&
               (!plan->variants.at[i].aligned || kernel_check(plan->variants.at[i].aligned, s->diags)) && good;
    return good;
}

/* p: the front end has built the Tile IR (compile_load); this row is where it is checked and printed. */
static bool run_parse(pipeline_state *s) {
    return s->out->source != NULL;
}

/* s: statics take their values, then the schedule settles the tile sizes. */
static bool run_specialise(pipeline_state *s) {
    const compile_options *o = s->options;
    const tile_kernel *source = s->out->source;
    if (!compile_bind_statics(s->arena, source, o, s->out, s->diags))
        return false;
    tile_kernel *k = tile_specialise(s->arena, source, s->out->statics.at, s->out->statics.count);
    int count = o->tile_count + o->setting_count;
    schedule_setting *settings = NEW_ARRAY(s->arena, schedule_setting, count + 1);
    memcpy(settings, schedule_settings_of(s->arena, o->tiles, o->tile_count), sizeof *settings * (size_t)o->tile_count);
    for (int i = 0; i < o->setting_count; i++)
        settings[o->tile_count + i] = o->settings[i];
    if (!schedule_choose_settings(s->arena, s->module, k, o->target->machine(), settings, count, &s->out->schedule, s->diags))
        return false;
    if (s->out->schedule.options.split > 0 && !o->splits) {
        diag *g = diag_error(s->diags, "E0507", source->span, "split = %lld: only a launch splits a kernel; here `%s` stays one",
                             (long long)s->out->schedule.options.split, source->name);
        diag_note(s->diags, g, "run it (tilec run, bench, the library), or write the two kernels and a program");
        return false;
    }
    s->out->tiles = tile_specialise(s->arena, k, s->out->schedule.bindings.at, s->out->schedule.bindings.count);
    return s->out->tiles != NULL;
}

/* h: forms of the kernel for rows that registers hold. */
static bool run_hold(pipeline_state *s) {
    compiled_kernel *out = s->out;
    const machine_model machine = schedule_machine(s->options->target->machine(), &out->schedule.options);
    if (machine.row_registers) {
        const tile_kernel *k = tile_specialise(s->arena, out->source, out->statics.at, out->statics.count);
        out->rows = schedule_rows(s->arena, k, &machine, &out->schedule, &out->rows_why);
    }
    return true;
}

/* l: Tile IR to a launch plan of Kernel IR. */
static bool run_lower(pipeline_state *s) {
    compiled_kernel *out = s->out;
    const machine_model machine = schedule_machine(s->options->target->machine(), &out->schedule.options);
    if (!lower_rows(s->arena, out->tiles, &machine, &out->rows, &out->lowered, s->diags))
        return false;
    if (machine.options.producer && !lower_roles(s->arena, out->tiles, &machine, &out->lowered, s->diags))
        return false;
    if (s->options->target_route)
        VEC_PUSH(s->arena, out->lowered.routes, s->options->target_route);
    if (!out->rows.count && out->rows_why)
        VEC_PUSH(s->arena, out->lowered.routes, arena_printf(s->arena, "rows are read again by each loop: %s", out->rows_why));
    return true;
}

/* z: dead lets, one-trip loops and constant index arithmetic go, so that what is proved is also what a person reads. */
static bool run_simplify(pipeline_state *s) {
    launch_plan *plan = s->out->lowered.plan;
    for (int i = 0; i < plan->variants.count; i++) {
        kernel_simplify(plan->variants.at[i].kernel);
        if (plan->variants.at[i].aligned)
            kernel_simplify(plan->variants.at[i].aligned);
    }
    return true;
}

/* g: what the target lacks is rewritten; what is proved afterwards is what runs. */
static bool run_legalize(pipeline_state *s) {
    const legal_table *table = s->options->target->legal;
    launch_plan *plan = s->out->lowered.plan;
    bool good = true;
    for (int i = 0; table && i < plan->variants.count; i++) {
        legal_routes routes = {0};
        good = kernel_legalize(plan->variants.at[i].kernel, table, &routes, s->diags) &&
               (!plan->variants.at[i].aligned || kernel_legalize(plan->variants.at[i].aligned, table, &routes, s->diags)) && good;
        for (int j = 0; j < routes.count; j++) {
            bool known = false;
            for (int r = 0; r < s->out->lowered.routes.count; r++)
                known = known || strcmp(s->out->lowered.routes.at[r], routes.at[j]) == 0;
            if (!known)
                VEC_PUSH(s->arena, s->out->lowered.routes, routes.at[j]);
        }
    }
    return good;
}

/* a: vectors that one wide access may take are marked, in a form of their own where that depends on the launch. */
static bool run_align(pipeline_state *s) {
    const legal_table *table = s->options->target->legal;
    launch_plan *plan = s->out->lowered.plan;
    for (int i = 0; table && i < plan->variants.count; i++) {
        if (table->aligned_shared)
            kernel_align_shared(plan->variants.at[i].kernel);
        if (table->aligned_forms && !plan->workspaces.count) {
            const bool own = plan->variants.at[i].aligned;
            kernel_align_variant(s->arena, &plan->variants.at[i], table->aligned_shared);
            if (own && !kernel_copies_in_bulk(plan->variants.at[i].aligned))
                VEC_PUSH(s->arena, s->out->lowered.routes,
                         "roles refused: rows of an operand never lie at multiples of 16 bytes");
        }
    }
    return true;
}

/* v: the one door: only a proved plan goes on. */
static bool run_prove(pipeline_state *s) {
    compiled_kernel *out = s->out;
    target_limits limits = *s->options->target->limits();
    limits.narrow_indices = limits.narrow_indices && !out->schedule.options.wide_indices;
    out->plan = prove_plan(s->arena, out->lowered.plan, &limits, &out->proof, s->diags);
    return out->plan != NULL;
}
static void print_proof(const pipeline_state *s, text_buffer *out) {
    compile_print_proof(s->out, out);
}

/* e: the target's text. */
static bool run_emit(pipeline_state *s) {
    return !s->wants_text || s->options->target->emit(s->out->plan, &s->emitted, s->diags);
}
static void print_text(const pipeline_state *s, text_buffer *out) {
    text_add_bytes(out, text_get(&s->emitted), s->emitted.length);
}

const pass pipeline[] = {
    {'p', "parse", "source text to Tile IR: names, types, ranges", run_parse, check_source, print_tiles_as_written},
    {'s', "specialise", "statics and tile sizes become constants", run_specialise, check_tiles, print_tiles},
    {'h', "hold", "rows that registers hold are read once, in forms of their own", run_hold, check_forms, print_forms},
    {'l', "lower", "Tile IR to a launch plan of Kernel IR", run_lower, check_plan, print_plan},
    {'z', "simplify", "dead code and trivial loops go", run_simplify, check_plan, print_plan},
    {'g', "legalize", "what the target lacks becomes what it has", run_legalize, check_plan, print_plan},
    {'a', "align", "vectors that one wide access may take are marked", run_align, check_plan, print_plan},
    {'v', "prove", "every property of the plan is judged", run_prove, NULL, print_proof},
    {'e', "emit", "the proved plan as the target's text", run_emit, NULL, print_text},
};
const int pipeline_count = sizeof pipeline / sizeof *pipeline;

char pipeline_unknown_letter(const char *letters) {
    for (; *letters; letters++) {
        bool known = false;
        for (int i = 0; i < pipeline_count; i++)
            known = known || pipeline[i].letter == *letters;
        if (!known)
            return *letters;
    }
    return 0;
}

static void dump(const pipeline_state *s, const pass *p, text_buffer *last, bool asked) {
    text_buffer now = {0};
    p->print(s, &now);
    FILE *out = s->options->dump_file ? s->options->dump_file : stdout;
    if (asked) {
        fprintf(out, "-- %c %s: %s\n", p->letter, p->name, s->out->source->name);
        if (last->text && strcmp(text_get(last), text_get(&now)) == 0)
            fputs("(unchanged)\n", out);
        else
            fprintf(out, "%s%s", text_get(&now), now.length && now.text[now.length - 1] == '\n' ? "" : "\n");
    }
    text_free(last);
    *last = now;
}

bool pipeline_run(pipeline_state *s) {
    const char *letters = s->options->dump ? s->options->dump : "";
    bool good = true;
    text_buffer last = {0};
    s->wants_text = strchr(letters, 'e') != NULL;
    for (int i = 0; good && i < pipeline_count; i++) {
        const pass *p = &pipeline[i];
        good = p->run(s);
        /* A refused proof is printed too: that is when it is read. */
        bool printable = good || p->run == run_prove;
        /* The text before a pass is needed to say "(unchanged)" about it. */
        bool next_asked = i + 1 < pipeline_count && strchr(letters, pipeline[i + 1].letter);
        if (printable && *letters && (strchr(letters, p->letter) || next_asked))
            dump(s, p, &last, strchr(letters, p->letter) != NULL);
        if (good && p->check)
            good = p->check(s);
    }
    text_free(&last);
    text_free(&s->emitted);
    return good;
}
