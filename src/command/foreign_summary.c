/* `tilec check FILE` with many kernels: a line each, then how many were read, proved, refuted, and for what kinds of reasons the others were not. */
#define _GNU_SOURCE
#include "command/foreign_all.h"
#include "command/source_options.h"
#include "command/witness.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More kernels than anyone reads all about at once. */
enum { MANY_KERNELS = 16, PROOF_SECONDS = 10, SHOWN_REASONS = 8, REASON_LENGTH = 100 };

static const char *const verdicts[] = {"proved", "refuted", "open", "read", "not read"};
enum { VERDICTS = sizeof verdicts / sizeof *verdicts };

static const char *text_of(const json_t *row, const char *key) {
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double number_of(const json_t *row, const char *key) {
    return json_number_value(json_object_get(row, key));
}

/* What is wrong with a kernel: its first refutation, else its first error. */
static const json_t *first_error(const json_t *row) {
    const json_t *list = json_object_get(row, "diagnostics"), *first = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        if (strcmp(text_of(x, "severity"), "error"))
            continue;
        if (strcmp(text_of(x, "code"), "E0420"))
            return x;
        first = first ? first : x;
    }
    return first;
}

/* What happens, without the values at which it does; names in quotes are left out where kinds are counted. */
static const char *reason(arena *a, const json_t *error, bool kind) {
    text_buffer b = {0};
    const char *when = strstr(text_of(error, "message"), ", when "), *at = text_of(error, "message");
    const char *end = when ? when : at + strlen(at);
    while (at < end && b.length < REASON_LENGTH) {
        const char *close = kind && *at == '`' ? memchr(at + 1, '`', (size_t)(end - at - 1)) : NULL;
        bool digit = kind && *at >= '0' && *at <= '9';
        if (close)
            text_add(&b, "`..`");
        else
            text_add(&b, "%c", digit ? 'N' : *at);
        at = close ? close + 1 : at + 1;
        while (digit && at < end && *at >= '0' && *at <= '9')
            at++;
    }
    if (at < end)
        text_add(&b, "..");
    const char *text = arena_printf(a, "%s %s", text_of(error, "code"), text_get(&b));
    text_free(&b);
    return text;
}

static void print_row(arena *a, const json_t *row) {
    const json_t *properties = json_object_get(row, "properties"), *error = first_error(row);
    int held = 0, all = (int)json_array_size(properties);
    for (int i = 0; i < all; i++)
        held += !strcmp(text_of(json_array_get(properties, (size_t)i), "verdict"), "proved");
    printf("%-44s %-8s", text_of(row, "kernel"), text_of(row, "verdict"));
    if (all)
        printf("  %3d of %3d properties in %4.0f ms", held, all, number_of(row, "proof_ms"));
    if (error)
        printf("  line %d: %s", (int)number_of(error, "line"), reason(a, error, false));
    printf("\n");
}

typedef struct reason_count {
    const char *what;
    int count;
} reason_count;
typedef VEC(reason_count) reason_counts;

static void count_reason(arena *a, reason_counts *all, const char *what) {
    for (int i = 0; i < all->count; i++)
        if (!strcmp(all->at[i].what, what)) {
            all->at[i].count++;
            return;
        }
    reason_count x = {what, 1};
    VEC_PUSH(a, *all, x);
}

static int more(const void *x, const void *y) {
    const reason_count *a = x, *b = y;
    return a->count != b->count ? b->count - a->count : strcmp(a->what, b->what);
}

/* Kinds of first errors of the kernels with this verdict, the most frequent first. */
static void reasons_of(arena *a, json_t *const *rows, int count, const char *verdict, reason_counts *out) {
    for (int i = 0; i < count; i++)
        if (!strcmp(text_of(rows[i], "verdict"), verdict) && first_error(rows[i]))
            count_reason(a, out, reason(a, first_error(rows[i]), true));
    if (out->count)
        qsort(out->at, (size_t)out->count, sizeof *out->at, more);
}

static double cost(const json_t *row) {
    return number_of(row, "read_ms") + number_of(row, "proof_ms");
}

/* {kernels, proved, refuted, .., reasons: {refuted: [{reason, kernels}]}, seconds, processor_seconds and its parts, slowest, slowest_seconds} */
static json_t *summary_of(arena *a, json_t *const *rows, int count, double seconds, const whole_times *times) {
    json_t *summary = json_object(), *kinds = json_object();
    int slowest = 0;
    json_object_set_new(summary, "kernels", json_integer(count));
    for (int v = 0; v < VERDICTS; v++) {
        reason_counts reasons = {0};
        int n = 0;
        for (int i = 0; i < count; i++)
            n += !strcmp(text_of(rows[i], "verdict"), verdicts[v]);
        reasons_of(a, rows, count, verdicts[v], &reasons);
        json_object_set_new(summary, verdicts[v], json_integer(n));
        json_t *list = json_array();
        for (int i = 0; i < reasons.count; i++)
            json_array_append_new(list, json_pack("{s:s, s:i}", "reason", reasons.at[i].what, "kernels", reasons.at[i].count));
        json_object_set_new(kinds, verdicts[v], list);
    }
    for (int i = 0; i < count; i++)
        slowest = cost(rows[i]) > cost(rows[slowest]) ? i : slowest;
    json_object_set_new(summary, "reasons", kinds);
    json_object_set_new(summary, "seconds", json_real(seconds));
    double reading = 0, proving = 0;
    for (int i = 0; i < count; i++) {
        reading += number_of(rows[i], "read_ms");
        proving += number_of(rows[i], "proof_ms");
    }
    json_object_set_new(summary, "processor_seconds", json_real(times->all / 1e3));
    json_object_set_new(summary, "clang_seconds", json_real(times->clang / 1e3));
    json_object_set_new(summary, "llvm_seconds", json_real(times->module / 1e3));
    json_object_set_new(summary, "lifting_seconds", json_real(reading / 1e3));
    json_object_set_new(summary, "proof_seconds", json_real(proving / 1e3));
    json_object_set_new(summary, "slowest", json_string(count ? text_of(rows[slowest], "kernel") : ""));
    json_object_set_new(summary, "slowest_seconds", json_real(count ? cost(rows[slowest]) / 1e3 : 0));
    return summary;
}

static void print_summary(const json_t *summary) {
    int count = (int)number_of(summary, "kernels");
    printf("%d kernels, %d read:", count, count - (int)number_of(summary, "not read"));
    for (int v = 0; v < VERDICTS; v++)
        if (number_of(summary, verdicts[v]) > 0)
            printf(" %d %s,", (int)number_of(summary, verdicts[v]), verdicts[v]);
    printf(" in %.1f s (%.1f s of processors: clang %.1f, LLVM %.1f, lifting %.1f, proofs %.1f); the slowest took %.1f s: %s\n",
           number_of(summary, "seconds"), number_of(summary, "processor_seconds"), number_of(summary, "clang_seconds"),
           number_of(summary, "llvm_seconds"), number_of(summary, "lifting_seconds"), number_of(summary, "proof_seconds"),
           number_of(summary, "slowest_seconds"), text_of(summary, "slowest"));
    for (int v = 0; v < VERDICTS; v++) {
        const json_t *list = json_object_get(json_object_get(summary, "reasons"), verdicts[v]);
        if (json_array_size(list))
            printf("%s:\n", verdicts[v]);
        for (size_t i = 0; i < json_array_size(list) && i < SHOWN_REASONS; i++)
            printf("  %4d  %s\n", (int)number_of(json_array_get(list, i), "kernels"), text_of(json_array_get(list, i), "reason"));
    }
}

/* ---- the command ---- */

typedef struct shown {
    json_t **rows;
    int next; /* those before it are printed */
} shown;

/* In the source's order. */
static void print_rows(whole_source *s) {
    shown *x = s->context;
    for (; x->next < s->count && x->rows[x->next]; x->next++)
        print_row(s->r->arena, x->rows[x->next]);
    fflush(stdout);
}

static bool jobs_of(report *r, const command_line *line, int *jobs) {
    const char *text = option_value(line, "--jobs");
    int64_t n = sysconf(_SC_NPROCESSORS_ONLN);
    if (text && (!option_integer("--jobs", text, &n, &r->diags) || n < 1 || n > 64)) {
        diag_error(&r->diags, "E0860", (source_span){0}, "--jobs: 1 to 64 processes at a time");
        return false;
    }
    *jobs = n < 1 ? 1 : n > 64 ? 64 : (int)n;
    return true;
}

/* Host names; of Metal without compiling a kernel, of other languages with the compiled source. */
static bool list_kernels(whole_source *s, foreign_source *compiled, source_names *names) {
    source_language language;
    arena *a = s->r->arena;
    if (!source_language_of(s->path, &language))
        return false;
    if (language == SOURCE_METAL) {
        source_names all = {0};
        if (!lift_source_names(a, s->path, NULL, language, &s->source, &all, &s->r->diags))
            return false;
        for (int i = 0; i < all.count; i++) {
            bool wanted = !s->source.kernel_count;
            for (int k = 0; k < s->source.kernel_count && !wanted; k++)
                wanted = !strcmp(all.at[i], s->source.kernels[k]);
            if (wanted)
                VEC_PUSH(a, *names, all.at[i]);
        }
        return true;
    }
    if (!foreign_open(s->r, s->path, &s->source, compiled))
        return false;
    for (int i = 0; i < compiled->source->kernels.count; i++)
        VEC_PUSH(a, *names, compiled->source->kernels.at[i].host_name);
    s->compiled = compiled;
    return true;
}

static bool wants_details(const command_line *line) {
    return option_given(line, "--dump") || option_given(line, "--witness") || option_given(line, "--explain");
}

bool foreign_check_all(report *r, const command_line *line, const char *path, json_t *list, bool *handled) {
    bool asked = option_given(line, "--summary");
    whole_source s = {.r = r, .line = line, .path = path, .progress = r->json ? NULL : print_rows};
    target_limits limits;
    foreign_source compiled = {0};
    source_names names = {0};
    source_language language;
    *handled = true;
    if (asked && wants_details(line)) {
        diag_error(&r->diags, "E0860", (source_span){0},
                   "--summary says a line for each kernel: no --dump, --witness or --explain");
        return false;
    }
    if (!kernel_proof_limits(r, line, PROOF_SECONDS, &limits) || !jobs_of(r, line, &s.options.jobs) ||
        !source_options_read(line, r->arena, &s.source, &r->diags))
        return false;
    limits.settle = true;
    s.options.limits = &limits;
    s.options.seconds = limits.milliseconds / 1e3;
    double start = command_now_ms();
    whole_times times = {0};
    *handled = asked || (!s.source.kernel_count && !wants_details(line) && source_language_of(path, &language) &&
                         language == SOURCE_METAL);
    if (!*handled)
        return true;
    if (!list_kernels(&s, &compiled, &names))
        return false;
    *handled = asked || names.count > MANY_KERNELS;
    if (!*handled)
        return true;
    s.names = names.at;
    s.count = names.count;
    shown x = {.rows = NEW_ARRAY(r->arena, json_t *, s.count + 1)};
    s.context = &x;
    bool held = foreign_judge_all(&s, x.rows, &times);
    json_t *summary = held ? summary_of(r->arena, x.rows, s.count, (command_now_ms() - start) / 1e3, &times) : NULL;
    if (summary && !r->json)
        print_summary(summary);
    if (summary && r->json)
        json_object_set(r->json, "summary", summary);
    json_decref(summary);
    for (int i = 0; i < s.count; i++) {
        const char *verdict = text_of(x.rows[i], "verdict");
        held = held && (!strcmp(verdict, "proved") || !strcmp(verdict, "read"));
        if (x.rows[i])
            json_array_append_new(list, x.rows[i]);
    }
    return held;
}
