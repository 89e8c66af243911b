/* tilec corpus: every kernel that comes with tilec, proved, run and checked, on every device found. */
#define _XOPEN_SOURCE 700
#include "command/corpus_table.h"
#include "bench/quick.h"
#include "command/arguments.h"
#include "command/library.h"
#include "run/judge.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double oracle_budget_ms = 500, timing_budget_ms = 150;

typedef struct corpus {
    report *report;
    kernel_library library;
    bool progress; /* stderr is a terminal */
    uint64_t seed;
    setting_list settings; /* --set */
    int rows, held, checks;
    double longest_proof_ms, proof_ms;
    json_t *list;
    text_buffer checks_seen; /* "kernel: check" lines, once each */
} corpus;

/* Calls `each` on every word of a text. */
static bool each_word(arena *a, const char *text, bool (*each)(void *context, const char *word), void *context) {
    for (;;) {
        text += strspn(text, " ");
        size_t n = strcspn(text, " ");
        if (!n)
            return true;
        if (!each(context, arena_strndup(a, text, n)))
            return false;
        text += n;
    }
}

static bool set_symbol(void *context, const char *word) {
    argument_list *list = context;
    const char *name, *value;
    int64_t n;
    return option_split(list->arena, "--shape", word, &name, &value, list->diags) &&
           option_integer("--shape", value, &n, list->diags) && call_set_symbol(list->call, name, n, list->diags);
}

static bool set_argument(void *context, const char *word) {
    return arguments_add(context, word);
}

/* Arrays the row does not mention are random, each with a seed of its own. */
static bool add_random(corpus *c, argument_list *list) {
    run_call *call = list->call;
    for (int i = 0; i < call->binding.signature.array_count; i++) {
        const tile_array *t = call->binding.signature.arrays[i];
        bool mentioned = t->role == ARRAY_OUT;
        for (int j = 0; j < list->items.count; j++)
            mentioned = mentioned || strcmp(list->items.at[j].name, t->name) == 0;
        if (!mentioned && !arguments_add(list, arena_printf(list->arena, "%s=random:%" PRIu64, t->name, c->seed)))
            return false;
    }
    return true;
}

static void note_checks(corpus *c, const run_call *call) {
    for (int i = 0; i < call->steps.count; i++) {
        const launch_plan *plan = proved_plan_get(call->steps.at[i].compiled->plan);
        for (int n = 0; n < plan->checks.count; n++) {
            char line[512];
            snprintf(line, sizeof line, "  %s: %s\n", call->steps.at[i].kernel->name, plan->checks.at[n].text);
            if (!strstr(text_get(&c->checks_seen), line)) {
                text_add(&c->checks_seen, "%s", line);
                c->checks++;
            }
        }
    }
}

static void print_row(corpus *c, const corpus_row *row, const session *s, double proof_ms, const judgement *j, double ms,
                      bool held) {
    double share = j->complete ? 100 : j->cells ? 100.0 * (double)j->compared / (double)j->cells : 100;
    double vacuous = j->compared ? 100.0 * (double)j->vacuous / (double)j->compared : 0;
    if (c->report->json) {
        json_array_append_new(c->list, json_pack("{s:s, s:s, s:s, s:b, s:f, s:f, s:f, s:f, s:f}", "kernel", row->kernel, "shape",
                                                 row->shape, "device", session_device_name(s), "held", held, "proof_ms", proof_ms,
                                                 "worst_ratio", isfinite(j->worst_ratio) ? j->worst_ratio : -1.0,
                                                 "vacuous_percent", vacuous, "compared_percent", share, "milliseconds", ms));
        return;
    }
    if (c->progress)
        fprintf(stderr, "\r\033[K");
    char shape[64];
    const char *len = strstr(row->arguments, "len=");
    snprintf(shape, sizeof shape, "%s%s%.*s", row->shape, len ? " " : "", len ? (int)strcspn(len, " ") : 0, len ? len : "");
    printf("%-18s %-33s %-6s", row->kernel, shape, session_device_name(s));
    if (j->compared || held)
        printf(" %8.0f  %11.3f  %6.2f%%  %7.1f%%  %9.1f  %s\n", proof_ms, j->worst_ratio, vacuous, share, ms * 1e3,
               held ? "ok" : "FAILED");
    else
        printf(" %8.0f  %11s  %7s  %8s  %9s  FAILED\n", proof_ms, "-", "-", "-", "-");
    fflush(stdout);
}

/* Rows whose kernel (of a program: some kernel) has every one of the settings. */
static bool takes_settings(const corpus *c, const tile_module *m, const char *name) {
    for (int i = 0; m && i < c->settings.items.count; i++) {
        const char *key = c->settings.items.at[i].key;
        const tile_kernel *k = tile_find_kernel(m, name);
        const tile_program *p = k ? NULL : tile_find_program(m, name);
        bool takes = k && session_takes_setting(k, key);
        for (int n = 0; p && n < p->calls.count; n++)
            takes = takes || session_takes_setting(p->calls.at[n]->kernel, key);
        if (!takes)
            return false;
    }
    return true;
}

static bool set_schedule(const corpus *c, run_call *call) {
    for (int i = 0; i < c->settings.items.count; i++)
        if (!call_set_schedule(call, c->settings.items.at[i].key, c->settings.items.at[i].value, &c->report->diags))
            return false;
    return true;
}

static bool run_row(corpus *c, const corpus_row *row, session *s) {
    report *r = c->report;
    const tile_module *m = library_find(&c->library, row->kernel, &r->diags);
    if (!takes_settings(c, m, row->kernel))
        return true;
    if (c->progress) {
        fprintf(stderr, "\r\033[K%d: %s %s", c->rows + 1, row->kernel, row->shape);
        fflush(stderr);
    }
    c->rows++;
    judgement j = {0};
    double proof_ms = 0, ms = 0;
    bool held = false;
    run_call *call = NULL;
    argument_list list = {.arena = r->arena, .diags = &r->diags};
    if (m && (call = list.call = call_new(s, m, row->kernel, &r->diags))) {
        judge_options o = {.budget_ms = oracle_budget_ms, .vacuous_share = 0.01, .seed = c->seed};
        held = set_schedule(c, call) && each_word(r->arena, row->shape, set_symbol, &list) &&
               each_word(r->arena, row->arguments, set_argument, &list) && add_random(c, &list) && call_solve(call, &r->diags) &&
               arguments_fill(&list) && judge_call(call, &o, &j, &r->diags) && j.passed;
        for (int i = 0; i < call->steps.count; i++)
            if (call->steps.at[i].compiled) {
                double one = call->steps.at[i].compiled->proof.milliseconds;
                proof_ms += one;
                c->longest_proof_ms = one > c->longest_proof_ms ? one : c->longest_proof_ms;
            }
        if (held) {
            note_checks(c, call);
            held = quick_launch_ms(call, 3, timing_budget_ms, &ms, &r->diags);
        }
    }
    c->held += held;
    print_row(c, row, s, proof_ms, &j, ms, held);
    report_flush(r);
    arguments_free(&list);
    call_free(call);
    return held;
}

static bool run_device(corpus *c, const command_line *line, const char *device) {
    report *r = c->report;
    session *s = session_open(device, &r->diags);
    if (!s)
        return false;
    const char *wanted = option_value(line, "--kernel");
    bool full = option_given(line, "--full"), held = true;
    int rows = c->rows;
    bool small = session_runtime(s)->simulated;
    const corpus_row *table = small ? corpus_small_table : corpus_table;
    for (int i = 0; i < (small ? corpus_small_count : corpus_count); i++)
        if ((full || !table[i].full) && (!wanted || strcmp(wanted, table[i].kernel) == 0))
            held = run_row(c, &table[i], s) && held;
    if (rows == c->rows) {
        diag_error(&r->diags, "E0646", (source_span){0}, "the corpus has no rows for `%s`%s", wanted ? wanted : "",
                   c->settings.items.count ? " with what is set" : "");
        held = false;
    }
    session_close(s);
    return held;
}

int command_corpus(const command_line *line) {
    report r;
    report_begin(&r, line);
    corpus c = {.report = &r, .progress = !r.json && isatty(STDERR_FILENO), .seed = 1, .list = json_array()};
    double start = command_now_ms();
    int64_t seed = 1;
    bool ready = command_settings(line, r.arena, &c.settings, &r.diags) &&
                 (!option_given(line, "--seed") || option_integer("--seed", option_value(line, "--seed"), &seed, &r.diags)) &&
                 library_load(&r, &c.library);
    c.seed = (uint64_t)seed;
    report_flush(&r);
    double load_ms = command_now_ms() - start;
    if (ready && !r.json)
        printf("%-18s %-33s %-6s %8s  %11s  %7s  %8s  %9s\n", "kernel", "shape", "device", "proof ms", "error/bound", "vacuous",
               "compared", "run us");
    const char *device = option_value(line, "--device");
    bool held = ready;
    for (int i = 0; ready && !device && i < runtime_count; i++)
        for (int d = 0; !runtime_table[i].simulated && d < runtime_table[i].count(); d++) {
            char name[64];
            snprintf(name, sizeof name, d ? "%s:%d" : "%s", runtime_table[i].name, d);
            held = run_device(&c, line, name) && held;
        }
    if (ready && device)
        held = run_device(&c, line, device);
    double begin = quick_start_up_ms(), seconds = (command_now_ms() - start) / 1e3;
    if (r.json) {
        json_object_set(r.json, "rows", c.list);
        json_object_set_new(r.json, "start_up_ms", json_real(begin));
        json_object_set_new(r.json, "longest_proof_ms", json_real(c.longest_proof_ms));
        json_object_set_new(r.json, "seconds", json_real(seconds));
    } else if (c.rows) {
        if (c.progress)
            fprintf(stderr, "\r\033[K");
        printf("\n%d of %d rows held; longest proof %.0f ms; start-up %.1f ms, kernels loaded in %.1f ms; %.1f s in all\n",
               c.held, c.rows, c.longest_proof_ms, begin, load_ms, seconds);
        printf("checked at each launch (all else of the kernels that ran is proved):\n%s",
               c.checks ? text_get(&c.checks_seen) : "  nothing\n");
    }
    json_decref(c.list);
    text_free(&c.checks_seen);
    return report_end(&r, held);
}
