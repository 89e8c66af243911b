/* Options of `tilec bench`. */
#include "command/bench_options.h"
#include <stdlib.h>
#include <string.h>

const char bench_help[] =
    "Compares arms: things that do the work of one kernel. Every element of every arm is checked before anything is timed. Then "
    "rounds in\n"
    "the order A B B A are paired, and the median of their ratios is given with an interval by order statistics; an effect under "
    "the spread, or\n"
    "under what the first arm against itself shows, is INCONCLUSIVE. A ratio is an arm's time over the first arm's.\n\n"
    "  measure   tilec bench --kernel matmul_f32 --shape M=256,N=256,K=256 ours openblas python:bench/arms/numpy_arms.py\n"
    "  sweep     tilec bench --kernel vec_add --shape N=1536 --shape N=4194304 --threads 1,all ours file:mine/mine.json\n"
    "  schedules tilec bench --kernel matmul_f32 --shape M=512,N=512,K=512 --lever wide:BN=256 --lever narrow:vector=8 --lever direct:operands=direct\n"
    "  suite     tilec bench --suite bench/standard.json --shard 1/4\n"
    "  report    tilec bench --report html -o report.html\n"
    "  merge     tilec bench --merge node1/results node2/results\n\n"
    "Arms: ours, ours:BM=32,BN=64, file:MANIFEST.json (a drop-in kernel), read:FILE.cl[:KERNEL], openblas, python:FILE.py[:FUNCTION].\n"
    "doc/bench.md explains the protocol, the store, and how to add an arm in five minutes.";

const option_row bench_option_rows[] = {
    {"--kernel", "NAME", "the kernel or program whose work the arms do"},
    {"--file", "FILE.tile", "where it stands (default: the kernels that come with tilec)"},
    {"--shape", "NAME=N,...", "one point of the sweep; repeat it for more"},
    {"--arg", "NAME=WHAT", "a scalar's number (default 1) or an array's recipe (default random)"},
    {"--threads", "LIST", "numbers of threads, as in 1,2,all (default: 1,all)"},
    {"--cold", NULL, "rotate buffers over three times the last cache, so that data comes from memory"},
    {"--suite", "FILE.json", "the cells of a file instead"},
    {"--lever", "NAME:SET", "a tournament: these settings of the schedule (a tile size, vector, subgroups, operands) alone and\nstacked with the other levers, against the arm as it is; up to four"},
    {"--rounds", "N", "paired rounds, 6 or more (default: 12)"},
    {"--sample-ms", "MS", "how long a sample takes at least (default: 4)"},
    {"--no-marginal", NULL, "leave out the marginal cost (launches in one submission)"},
    {"--no-ceilings", NULL, "leave out the ceilings (read, copy, fma, matrix unit, launch)"},
    {"--threshold", "R", "write down before the run that a ratio of R decides, and print the verdict after"},
    {"--launches", "N", "repeat everything in N processes (default: 1)"},
    {"--shard", "I/N", "only the I-th of N shares of the cells"},
    {"--store", "DIR", "where rows are kept and read (default: bench/results)"},
    {"--no-store", NULL, "keep nothing"},
    {"--run", "ID", "the run that the rows belong to (default: a new one)"},
    {"--launch", "N", "which process of that run this is (default: 1)"},
    {"--report", "FORM", "text, markdown, html or csv, from the store; nothing is measured"},
    {"-o", "FILE", "where the report goes (default: standard output)"},
    {"--merge", NULL, "append the rows of other stores, given as arguments"},
    {"--reproduce", NULL, "rebuild README.md's table and bench/'s report and figures from the store"},
    {"--verify", "FILE.json", "hold the newest rows against expected facts"},
    {0}};

static bool number_option(const command_line *line, const char *name, double least, double *out, diag_list *diags) {
    const char *text = option_value(line, name);
    char *end;
    if (!text)
        return true;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= least)
        return true;
    diag_error(diags, "E0860", (source_span){0}, "%s: `%s` is not a number of %g or more", name, text, least);
    return false;
}

static bool count_option(const command_line *line, const char *name, int64_t least, int64_t most, int *out, diag_list *diags) {
    const char *text = option_value(line, name);
    int64_t n;
    if (!text)
        return true;
    if (!option_integer(name, text, &n, diags))
        return false;
    if (n < least || n > most) {
        diag_error(diags, "E0860", (source_span){0}, "%s: %s is not between %lld and %lld", name, text, (long long)least,
                   (long long)most);
        return false;
    }
    *out = (int)n;
    return true;
}

typedef struct word_list {
    arena *arena;
    VEC(const char *) items;
} word_list;

static bool add_word(void *context, const char *value) {
    word_list *list = context;
    VEC_PUSH(list->arena, list->items, value);
    return true;
}

static const char *join(arena *a, const word_list *list) {
    const char *all = "";
    for (int i = 0; i < list->items.count; i++)
        all = arena_printf(a, "%s%s%s", all, i ? " " : "", list->items.at[i]);
    return all;
}

/* The command as typed, for the rows; but for where they go, which is this machine's matter. */
static const char *command_text(const command_line *line, arena *a) {
    const char *text = "tilec bench";
    for (int i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].row->name, "--store"))
            text = arena_printf(a, "%s %s%s%s", text, line->options[i].row->name, line->options[i].row->value ? " " : "",
                                line->options[i].value);
    for (int i = 0; i < line->positional_count; i++)
        text = arena_printf(a, "%s %s", text, line->positional[i]);
    return text;
}

static bool read_cells(const command_line *line, arena *a, bench_options *o, diag_list *diags) {
    const char *suite_file = option_value(line, "--suite"), *kernel = option_value(line, "--kernel");
    word_list shapes = {.arena = a}, arguments = {.arena = a}, levers = {.arena = a};
    option_each(line, "--shape", add_word, &shapes);
    option_each(line, "--arg", add_word, &arguments);
    option_each(line, "--lever", add_word, &levers);
    if (suite_file) {
        if (kernel || line->positional_count || shapes.items.count) {
            diag_error(diags, "E0860", (source_span){0}, "--suite says which kernels, shapes and arms: it stands alone");
            return false;
        }
        return suite_read(a, suite_file, &o->suite, diags);
    }
    if (!kernel) {
        diag *g = diag_error(diags, "E0860", (source_span){0}, "bench: which kernel?");
        diag_note(diags, g,
                  "tilec bench --kernel matmul_f32 --shape M=256,N=256,K=256 ours openblas; or --suite bench/standard.json");
        return false;
    }
    lab_cell cell = {.kernel = kernel, .arguments = join(a, &arguments), .cold = option_given(line, "--cold")};
    for (int i = 0; i < line->positional_count; i++)
        VEC_PUSH(a, cell.arms, line->positional[i]);
    if (!cell.arms.count) {
        const char *ours = "ours";
        VEC_PUSH(a, cell.arms, ours);
    }
    if (levers.items.count && !suite_levers(a, &cell, levers.items.at, levers.items.count, diags))
        return false;
    return suite_add(a, &o->suite, &cell, shapes.items.at, shapes.items.count, option_value(line, "--threads"), diags);
}

bool bench_read_options(const command_line *line, arena *a, bench_options *o, diag_list *diags) {
    int rounds = 12, launch = 1, launches = 1;
    double sample_ms = 4, threshold = 0;
    const char *store = option_value(line, "--store"), *shard = option_value(line, "--shard");
    if (!count_option(line, "--rounds", STATISTICS_LEAST_ROUNDS, STATISTICS_MOST_ROUNDS, &rounds, diags) ||
        !count_option(line, "--launch", 1, 1000, &launch, diags) ||
        !count_option(line, "--launches", 1, 1000, &launches, diags) ||
        !number_option(line, "--sample-ms", 0.001, &sample_ms, diags) ||
        !number_option(line, "--threshold", 0.001, &threshold, diags) || !read_cells(line, a, o, diags) ||
        (shard && !suite_shard(&o->suite, shard, diags)))
        return false;
    o->launches = launches;
    o->lab = (lab_options){.folder = option_given(line, "--no-store") ? NULL
                                     : store                          ? store
                                                                      : "bench/results",
                           .kernels = command_kernels_folder(a),
                           .command = command_text(line, a),
                           .run = option_value(line, "--run"),
                           .launch = launch,
                           .rounds = rounds,
                           .sample_ms = sample_ms,
                           .marginal_budget_ms = option_given(line, "--no-marginal") ? 0 : 1500,
                           .threshold = threshold,
                           .ceilings = !option_given(line, "--no-ceilings")};
    return true;
}
