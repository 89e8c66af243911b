/* The table of commands, and what reads a command line. */
#include "command/bench_options.h"
#include "command/source_options.h"
#include "base/suggest.h"
#include <stdlib.h>
#include <string.h>

/* Rows and texts laid out by hand, as they are printed. */
/* clang-format off */
#define DUMP_ROW {"--dump", "LETTERS", "print the IR after these passes: p parse, s specialise, h hold, l lower, z simplify, g legalize, a align, v prove, e emit"}
#define SHAPE_ROW {"--shape", "NAME=N", "the value of a symbol or a static; several, or separated by commas"}
#define SET_ROW {"--set", "KEY=VALUE", "what the schedule would choose: a tile size, vector=N, subgroups=N or RxC,\n" "operands=direct or staged or staged(TYPE) or fragments, stages=N, roles=producer, indices=64; several, or separated by commas"}
#define WITNESS_ROW {"--witness", NULL, "run what was refuted in the simulator, at its witness, and show that it misbehaves;\n" "of kernel texts also what is not proved: what a run shows is refuted"}
#define KERNEL_ROW {"--kernel", "NAME", "one kernel or program of the file"}

#define LAUNCH_ROWS                                                                                                                     \
    {"--block", "X,Y,Z", "of a kernel in another language: the threads of a block"},                                                     \
    {"--grid", "X,Y,Z", "the blocks of the launch, over its values: 'floor((n + 255) / 256)'"},                                         \
    {"--where", "COND", "what the launch guarantees: 'n <= lda'; several"},                                                              \
    {"--opaque", "NAME", "a function without a body: it touches no memory of others, orders nothing, may give anything"},                \
    {"--shared", "BYTES", "what each shared array has whose size comes with the launch and is not said by --arg"},                      \
    {"--subgroup", "N", "lanes of a subgroup (default: 32)"},                                                                            \
    {"--lockstep", "N", "subgroups of N lanes that make each access together: a barrier of the subgroup stands between two"},              \
    {"--largest", "N", "extents and integers are at most this (default: 2^30)"}, SOURCE_OPTION_ROWS

static const option_row check_options[] = {
    {"--kernel", "NAME", "this kernel or program of the file; several"}, {"--target", "NAME", "the target to prove it for (default: c)"}, SHAPE_ROW, SET_ROW, DUMP_ROW,
    WITNESS_ROW,
    {"--machine", "NAME", "the processor that target c's text is for, avx512, avx2, sse or neon, with features as in avx2+vnni (default: this one)"},
    {"--read-back", "WHAT", "quickest or all: read the text printed for the target again and hold its results against those of the Kernel IR that was proved, at --shape; FILE: that text instead"},
    {"--arg", "NAME=WHAT", "of a kernel in another language: a value 5, a range 0..100, or a shape f32[M, K]"}, LAUNCH_ROWS,
    {"--summary", NULL, "of a text in another language: a line for each kernel, by several processes (of Metal with more than 16 kernels by itself)"},
    {"--jobs", "N", "with --summary: processes at a time (default: the processors there are)"},
    {"--limit", "SECONDS", "of a kernel in another language: processor time of its proof, then the rest is open (default: 40, with --summary 10; 0: no proof)"},
    {"--explain", NULL, "the schedule chosen, routes taken and refused, the launch plan, every property proved"}, {0}};
static const option_row build_options[] = {
    KERNEL_ROW, {"--target", "NAME", "the target (default: c); all: every one, each into DIR/TARGET"},
    {"-o", "DIR", "the folder to write to (default: the current one)"},
    SHAPE_ROW, SET_ROW, DUMP_ROW,
    {"--machine", "NAME", "the processor that target c's text is for, avx512, avx2, sse or neon, with features as in avx2+vnni (default: this one)"},
    {"--arg", "NAME=WHAT", "of a kernel in another language: a value 5, a range 0..100, or a shape f32[M, K]"}, LAUNCH_ROWS,
    {"--explain", NULL, "the schedule chosen, the launch plan, every property proved"},
    {"--language", "VERSION", "what the text must be taken by: 3.0, 3.1, .. of metal and air, sm_80, .. of cuda (`tilec probe --device languages`)"},
    {"--stat", NULL, "how many matrix instructions, shuffles, barriers and loads each function of the text has (target air)"}, {0}};
static const option_row run_options[] = {
    KERNEL_ROW,
    {"--step", "KERNEL(A=B,..)", "of a text in another language: one of several launches in order; its argument A is the host's B, a name or a number"},
    {"--arg", "NAME=WHAT", "an argument: FILE.npy, FILE.safetensors:TENSOR, a number, or a recipe: zeros, iota,\n"
                           "random:SEED, positive:SEED, normal:SEED, integers:SEED, adversarial:SEED"},
    SHAPE_ROW, SET_ROW,
    {"--out", "NAME=FILE", "write a result to FILE.npy"},
    {"--device", "NAME", "the device (default: cpu)"},
    {"--machine", "NAME", "a processor that the kernel is lowered for in place of this one, as for build; what this one lacks is done by other means"},
    {"--check", NULL, "compare every element with the oracle, however long that takes"},
    {"--no-check", NULL, "don't compare (default: as many elements as fit two seconds)"},
    {"--repeat", "N", "launch N times and report the median time"},
    WITNESS_ROW,
    DUMP_ROW, LAUNCH_ROWS,
    {"--explain", NULL, "the schedule chosen, the launch plan, every property proved"}, {0}};
static const option_row corpus_options[] = {
    {"--kernel", "NAME", "only the rows of this kernel"}, {"--device", "NAME", "only this device"},
    {"--full", NULL, "the large shapes too"}, SET_ROW, {"--seed", "N", "another seed for the data"}, {0}};
static const option_row kernels_options[] = {
    {"-o", "DIR", "write them to this folder"}, {"--kernel", "NAME", "of FILE: this one; several"}, SOURCE_OPTION_ROWS,
    {"--names", NULL, "of FILE: the names alone, without compiling the kernels"}, {"--ir", "FILE.ll", "write what clang made of FILE, before any pass"}, {0}};
static const option_row no_options[] = {{0}};
static const option_row explain_options[] = {
    {"--all", NULL, "every code"}, {"--markdown", NULL, "as doc/errors.md"}, {0}};
static const option_row probe_options[] = {
    {"--device", "NAME", "cpu, cuda:N, opencl:N, model:h200, nvrtc (what it takes, and makes of matrix instructions), or languages (versions by\n"
                         "table; nothing is asked) (default: cpu)"},
    {"--list", NULL, "the instructions and traits (caches, line, banks, limits, alignment) that can be probed there"},
    {"--dots", "N", "random dots that the model is held against (default: 1000000; of a kit 20000)"},
    {"--seed", "N", "another seed for them"},
    {"--evidence", NULL, "what refuted the neighbouring values"},
    {"--patience", "S", "seconds that a device may take for an answer (default: 300); then this ends, and nothing is recorded"},
    {"--offset", "N", "one access of the trait alignment, N bytes behind an aligned place: whether it is taken; a fault may end the program"},
    {"--store", "DIR", "append the findings as rows to this folder's store"},
    {"--report", "FILE", "no probing: write the findings of --store (default: bench/findings) as a page"},
    {"--describe", "NAME", "no probing: print the description of the device of this name that the findings of --store give"},
    {"--write", "DIR", "no probing: write a kit for somebody else's device, to be run there"},
    {"--target", "NAME", "of the kit: cuda, metal or opencl (default: cuda)"},
    {"--read", "FILE", "no probing here: find what the rows show that a kit's program printed"}, {0}};
static const option_row layout_options[] = {
    {"--target", "NAME", "cuda, metal or cpu (default: the one that has the instruction)"},
    {"--instruction", "NAME", "m16n8k16.f16, wgmma.m64n24k16.bf16, simdgroup_matrix.8x8.f16, .."},
    {"--operand", "a|b|c", "which fragment (default: all)"},
    {"--lane", "N", "with --register: the entries that this register of this lane holds"}, {"--register", "N", "a register of 32 bits"},
    {"--row", "N", "with --column: the lane and register that hold this entry"}, {"--column", "N", "a column"},
    {"--swizzle", "BYTES", "shared memory instead: 0, 32, 64 or 128 bytes"},
    {"--element", "TYPE", "of shared memory (default: f16)"}, {"--stride", "N", "elements of a row of it (default: 64)"},
    {"--access", "KIND", "row, column, ldmatrix, or fragment (of --instruction's --operand)"},
    {"--format", "FORM", "text, csv or svg"}, {"-o", "FILE", "write it there"},
    {"--list", NULL, "the instructions known"}, {0}};
static const option_row cache_options[] = {{"--keep", "MB", "prune: how much to keep, the most recently used first (default: 0)"}, {0}};

const command commands[] = {
    {"check", "FILE...", "prove the kernels of a file",
     "Parses and type-checks each FILE, evaluates every kernel at three random tilings, chooses a schedule, lowers it, and proves the\n"
     "lowered kernel free of races, out-of-bounds accesses, unwritten reads and overflows for every shape. A line per kernel tells the\n"
     "verdict, the time the proof took, and what is left to check at launch. A `static` nobody gives a value is checked at a sample value.\n"
     "A file X.kir is Kernel IR and is proved as it stands.",
     check_options, command_check, false},
    {"build", "FILE [-o DIR]", "write a kernel as source for a target",
     "Proves the kernels of FILE and writes each as self-contained source: for target c, NAME.c and NAME.h, which any C program can\n"
     "compile and call, and NAME.json, which makes it an arm of `tilec bench`. --kernel PROGRAM writes a program so: its kernels and one\n"
     "function that runs them in order.",
     build_options, command_build, false},
    {"run", "FILE [--arg NAME=WHAT]...", "run a kernel on data",
     "Compiles one kernel or program of FILE, binds its arguments, checks them, launches it, and compares the results with an f64\n"
     "evaluation of the same kernel on the same bytes, within an error bound derived for each element.\n\n"
     "    tilec run kernels/matmul.tile --kernel matmul --arg a=a.npy --arg b=random:1 --shape N=64 --out c=c.npy\n\n"
     "--device sim checks every access while it runs. Kernel IR runs there on made-up data,\n"
     "on other devices on what --arg gives: tilec run X.kir --device sim --shape M=33",
     run_options, command_run, false},
    {"corpus", "", "run and check every kernel that comes with tilec",
     "Compiles, proves, runs and checks every kernel of the corpus on every device found, a row each: the kernel, its shape, the device,\n"
     "the time of the proof, the worst error as a share of the bound, the share of elements whose bound says nothing, and the run time.\n"
     "The simulator is asked for by name, --device sim, and runs small shapes.",
     corpus_options, command_corpus, false},
    {"kernels", "[-o DIR] | FILE...", "list the kernels that come with tilec, or those of a Metal, CUDA or OpenCL C text",
     "Lists the files of kernels that come with tilec with what each defines; -o writes them to a folder. They are taken from $TILEC_KERNELS, from\n"
     "the folder beside the program, or out of the program itself.\n"
     "With files (.metal, .cu, .cl, .ll): the kernels of each, by the name that a host program uses, and the arguments each takes. clang reads them.",
     kernels_options, command_kernels, false},
    {"devices", "", "list the devices found", "Lists the devices this program can launch on, and why a runtime is missing.", no_options,
     command_devices, false},
    {"explain", "CODE | --all", "what a diagnostic means and how to mend it", "Prints the long text of a diagnostic's code, as in E0214.",
     explain_options, command_explain, false},
    {"cache", "[list | explain KEY | prune]", "the cache of compiled kernels",
     "Lists the compiled kernels kept on disk, tells what one was made from, or removes the least recently used ones.", cache_options,
     command_cache, false},
    {"bench", "--kernel K [ARM...] | --suite FILE | --report FORM", "measure kernels against other arms, and report", bench_help, bench_option_rows,
     command_bench, false},
    {"probe", "[INSTRUCTION or TRAIT...] [--device NAME]", "ask a device what its documents leave out, with evidence",
     "Finds what each matrix instruction of a device does to the bit: layouts by one-hot operands, and alignment, rounding, order, subnormals, NaN by ladders of\n"
     "dots whose answers refute every other value. Then holds a bit-exact model against the device on random dots, and planted errors against the same answers.\n"
     "And traits of the device itself: its caches, what comes with a miss, banks of shared memory, what it refuses.\n"
     "doc/probe.md explains the method.",
     probe_options, command_probe, false},
    {"layout", "--instruction NAME | --swizzle BYTES", "which lane and register holds which entry of a matrix fragment; banks of shared memory",
     "Prints or draws who holds what: the fragment of a matrix instruction by rows and columns, or one entry or register of it; or the banks that an access to\n"
     "shared memory meets under a swizzle, and its conflicts.\n\n"
     "    tilec layout --instruction m16n8k16.f16 --operand a --row 3 --column 7\n"
     "    tilec layout --swizzle 128 --element f16 --stride 64 --access column",
     layout_options, command_layout, false},
};
/* clang-format on */
const int command_count = sizeof commands / sizeof *commands;

static const option_row common_options[] = {
    {"--json", NULL, "one JSON object instead of text"}, {"--help", NULL, "this text"}, {0}};

static void print_rows(FILE *out, const option_row *rows) {
    for (; rows->name; rows++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", rows->name, rows->value ? " " : "", rows->value ? rows->value : "");
        fprintf(out, "  %-20s ", left);
        for (const char *c = rows->help; *c; c++)
            *c == '\n' ? fprintf(out, "\n%23s", "") : fputc(*c, out);
        fputc('\n', out);
    }
}

static void print_command_help(FILE *out, const command *c) {
    fprintf(out, "tilec %s%s%s\n\n%s\n\n", c->name, *c->usage ? " " : "", c->usage, c->help);
    print_rows(out, c->options);
    print_rows(out, common_options);
}

static void print_help(FILE *out) {
    fputs("tilec compiles safe tile kernels: checked, proved, lowered, run, and compared with what they mean.\n\n"
          "usage: tilec COMMAND ...\n\n",
          out);
    for (int i = 0; i < command_count; i++)
        if (!commands[i].hidden)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`tilec COMMAND --help` tells more. Exit status: 0 when everything asked for held, 1 when something did not,\n"
          "2 when the command line was not understood.\n",
          out);
}

static const command *find_command(const char *name) {
    for (int i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[32];
    for (int i = 0; i < command_count; i++)
        names[i] = commands[i].name;
    const char *near = suggest_nearest(name, names, command_count);
    if (near)
        fprintf(stderr, "tilec: no command `%s`; did you mean `%s`?\n", name, near);
    else
        fprintf(stderr, "tilec: no command `%s`; `tilec help` lists them\n", name);
    return EXIT_USAGE;
}

static int unknown_option(const command *c, const char *text, size_t length) {
    const char *names[64];
    int count = 0;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    for (const option_row *o = c->options; o->name; o++)
        names[count++] = o->name;
    for (const option_row *o = common_options; o->name; o++)
        names[count++] = o->name;
    const char *near = suggest_nearest(word, names, count);
    if (near)
        fprintf(stderr, "tilec %s: no option `%s`; did you mean `%s`?\n", c->name, word, near);
    else
        fprintf(stderr, "tilec %s: no option `%s`; `tilec %s --help` lists them\n", c->name, word, c->name);
    return EXIT_USAGE;
}

static const option_row *find_option(const option_row *rows, const char *text, size_t length) {
    for (; rows->name; rows++)
        if (strlen(rows->name) == length && strncmp(rows->name, text, length) == 0)
            return rows;
    return NULL;
}

/* A result that could not be printed is not a result. */
static int printed(int status) {
    if ((!fflush(stdout) && !ferror(stdout)) || status != EXIT_HELD)
        return status;
    fprintf(stderr, "tilec: the output could not be written\n");
    return EXIT_FAILED;
}

int command_main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
        printf("tilec %s\n", TILEC_VERSION);
        return printed(EXIT_HELD);
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        if (argc < 3) {
            print_help(stdout);
            return printed(EXIT_HELD);
        }
        const command *about = find_command(argv[2]);
        if (!about)
            return unknown_command(argv[2]);
        print_command_help(stdout, about);
        return printed(EXIT_HELD);
    }
    command_line line = {.command = find_command(first)};
    if (!line.command)
        return unknown_command(first);
    line.positional = calloc((size_t)argc, sizeof *line.positional);
    line.options = calloc((size_t)argc, sizeof *line.options);
    int status = EXIT_USAGE;
    if (!line.positional || !line.options)
        goto done;
    bool only_names = false;
    for (int i = 2; i < argc; i++) {
        const char *text = argv[i];
        if (only_names || text[0] != '-' || !text[1]) {
            line.positional[line.positional_count++] = text;
            continue;
        }
        if (strcmp(text, "--") == 0) {
            only_names = true;
            continue;
        }
        const char *equals = text[1] == '-' ? strchr(text, '=') : NULL;
        size_t length = equals ? (size_t)(equals - text) : strlen(text);
        const option_row *row = strcmp(text, "-h") == 0 ? &common_options[1] : find_option(line.command->options, text, length);
        const char *behind = NULL; /* -DNAME, -IDIR */
        if (!row && text[1] != '-' && length > 2 && (row = find_option(line.command->options, text, 2))) {
            behind = text + 2;
            row = row->value ? row : NULL;
        }
        if (!row)
            row = find_option(common_options, text, length);
        if (!row) {
            status = unknown_option(line.command, text, length);
            goto done;
        }
        const char *value = "";
        if (row->value) {
            value = behind ? behind : equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (!value) {
                fprintf(stderr, "tilec %s: %s wants %s behind it\n", line.command->name, row->name, row->value);
                goto done;
            }
        } else if (equals) {
            fprintf(stderr, "tilec %s: %s takes no value\n", line.command->name, row->name);
            goto done;
        }
        line.options[line.option_count].row = row;
        line.options[line.option_count++].value = value;
    }
    if (option_given(&line, "--help")) {
        print_command_help(stdout, line.command);
        status = EXIT_HELD;
    } else {
        status = line.command->run(&line);
    }
    status = printed(status);
done:
    free(line.positional);
    free(line.options);
    return status;
}
