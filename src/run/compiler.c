/* Running the system's C compiler. */
#define _GNU_SOURCE
#include "run/compiler.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/temporary.h"
#include "run/run.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* Each operation rounds by itself (no contraction); traps and errno are not observed. */
static const char *const flags[] = {
    "-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared", "-w"};
enum { FLAG_COUNT = sizeof flags / sizeof *flags, WORD_LIMIT = 32, OUTPUT_LINES = 12 };

struct compiler {
    char *words[WORD_LIMIT + 1]; /* the program as typed, its first arguments */
    int word_count;
    char *path; /* where the program was found */
    char *identity;
};

static atomic_llong calls;

int64_t compiler_calls(void) {
    return atomic_load(&calls);
}

/* What -march=native can see. */
static void add_processor(text_buffer *b) {
#if defined(__x86_64__) || defined(__i386__)
    unsigned r[4];
    const unsigned leaves[][2] = {{0, 0},    {1, 0},    {7, 0},          {7, 1},         {13, 1},
                                  {0x14, 0}, {0x19, 0}, {0x80000001, 0}, {0x80000008, 0}};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (__get_cpuid_count(leaves[i][0], leaves[i][1], &r[0], &r[1], &r[2], &r[3])) {
            if (leaves[i][0] == 1) { /* the core's own number, and whether the system saves its state: of no matter here */
                r[1] = 0;
                r[2] &= ~(1u << 27);
            }
            text_add(b, "%08x%08x%08x%08x", r[0], r[1], r[2], r[3]);
        }
#else
    struct utsname u;
    char line[1024];
    if (!uname(&u))
        text_add(b, "%s %s", u.sysname, u.machine);
    FILE *f = fopen("/proc/cpuinfo", "r");
    for (int i = 0; f && i < 40 && fgets(line, sizeof line, f); i++)
        if (!strncmp(line, "Features", 8) || !strncmp(line, "CPU part", 8))
            text_add(b, "%s", line);
    if (f)
        fclose(f);
#endif
}

compiler *compiler_find(diag_list *diags) {
    const char *wanted = getenv("TILEC_CC");
    compiler *c = calloc(1, sizeof *c);
    if (!c) {
        diag_error(diags, "E0841", (source_span){0}, "no memory to run the compiler");
        return NULL;
    }
    for (const char *at = wanted && *wanted ? wanted : "cc"; *at && c->word_count < WORD_LIMIT;) {
        size_t space = strspn(at, " \t"), length = strcspn(at + space, " \t");
        if (length)
            c->words[c->word_count++] = strndup(at + space, length);
        at += space + length;
    }
    char *found = c->word_count ? process_find(c->words[0]) : NULL;
    c->path = found ? realpath(found, NULL) : NULL;
    free(found);
    struct stat s;
    if (!c->path || stat(c->path, &s)) {
        diag *g =
            diag_error(diags, "E0840", (source_span){0}, "no C compiler: `%s` was not found", c->word_count ? c->words[0] : "");
        diag_note(diags, g, "install one (Debian, Ubuntu: apt-get install gcc), or set TILEC_CC to yours");
        compiler_free(c);
        return NULL;
    }
    text_buffer b = {0}, processor = {0};
    text_add(&b, "compiler: %s (%lld bytes, of %lld.%09ld)\ncommand:", c->path, (long long)s.st_size, (long long)s.st_mtim.tv_sec,
             s.st_mtim.tv_nsec);
    for (int i = 0; i < c->word_count; i++)
        text_add(&b, " %s", c->words[i]);
    for (int i = 0; i < FLAG_COUNT; i++)
        text_add(&b, " %s", flags[i]);
    char digits[HASH_DIGITS + 1];
    add_processor(&processor);
    hash_bytes(text_get(&processor), processor.length, digits);
    text_add(&b, "\nprocessor: %s", digits);
    text_free(&processor);
    c->identity = b.text;
    return c;
}

void compiler_free(compiler *c) {
    if (!c)
        return;
    for (int i = 0; i < c->word_count; i++)
        free(c->words[i]);
    free(c->path);
    free(c->identity);
    free(c);
}

const char *compiler_identity(const compiler *c) {
    return c->identity;
}

char *compiler_work_folder(const char *otherwise) {
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {tmp && *tmp ? tmp : NULL, "/tmp", otherwise};
    for (int i = 0; i < 3; i++) {
        if (!places[i])
            continue;
        text_buffer b = {0};
        text_add(&b, "%s/tilec-XXXXXX", places[i]);
        if (temporary_folder(b.text))
            return b.text;
        text_free(&b);
    }
    return NULL;
}

/* Objects that are in use until the process ends. */
static struct {
    pthread_mutex_t lock;
    char **at;
    int count;
} leftovers = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

static void remove_leftovers(void) {
    pthread_mutex_lock(&leftovers.lock);
    for (int i = 0; i < leftovers.count; i++) {
        temporary_remove(leftovers.at[i]);
        free(leftovers.at[i]);
    }
    free(leftovers.at);
    leftovers.at = NULL;
    leftovers.count = 0;
    pthread_mutex_unlock(&leftovers.lock);
}

void compiler_remove_at_exit(const char *folder) {
    static bool registered;
    pthread_mutex_lock(&leftovers.lock);
    if (!registered)
        registered = !atexit(remove_leftovers);
    char **grown = realloc(leftovers.at, (size_t)(leftovers.count + 1) * sizeof *grown);
    if (grown) {
        leftovers.at = grown;
        if ((grown[leftovers.count] = strdup(folder)))
            leftovers.count++;
    }
    pthread_mutex_unlock(&leftovers.lock);
}

static bool write_source(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text);
    return f && !fclose(f) && ok;
}

static void note_output(diag_list *diags, diag *g, const char *path) {
    char line[512];
    FILE *f = fopen(path, "r");
    for (int i = 0; f && i < OUTPUT_LINES && fgets(line, sizeof line, f); i++)
        diag_note(diags, g, "%.*s", (int)strcspn(line, "\n"), line);
    if (f)
        fclose(f);
}

char *compiler_run(compiler *c, const char *folder, const char *text, diag_list *diags) {
    text_buffer source = {0}, object = {0}, output = {0};
    text_add(&source, "%s/kernel.c", folder);
    text_add(&object, "%s/kernel.so", folder);
    text_add(&output, "%s/output", folder);
    bool ok = write_source(source.text, text);
    if (!ok)
        diag_error(diags, "E0842", (source_span){0}, "%s cannot be written: %s", source.text, strerror(errno));
    else {
        char *arguments[WORD_LIMIT + FLAG_COUNT + 6];
        int n = 0;
        for (int i = 0; i < c->word_count; i++)
            arguments[n++] = c->words[i];
        for (int i = 0; i < FLAG_COUNT; i++)
            arguments[n++] = (char *)flags[i];
        arguments[n++] = (char *)"-o";
        arguments[n++] = object.text;
        arguments[n++] = source.text;
        arguments[n++] = (char *)"-lm";
        arguments[n] = NULL;
        atomic_fetch_add(&calls, 1);
        int status = process_run(c->path, (const char *const *)arguments, output.text);
        ok = !status;
        if (status < 0)
            diag_error(diags, "E0841", (source_span){0}, "%s cannot be run: %s", c->path, strerror(errno));
        else if (status) {
            diag *g = diag_error(diags, "E0843", (source_span){0}, "%s refused the emitted code (status %d)", c->path, status);
            note_output(diags, g, output.text);
        }
    }
    char *result = ok ? strdup(object.text) : NULL;
    text_free(&source);
    text_free(&object);
    text_free(&output);
    return result;
}

void compiler_note_output(diag_list *diags, diag *g, const char *folder) {
    text_buffer output = {0};
    text_add(&output, "%s/output", folder);
    note_output(diags, g, output.text);
    text_free(&output);
}

bool compiler_make_program(compiler *c, const char *folder, const char *const *files, bool *checked, diag_list *diags) {
    enum { MOST_FILES = 8 };
    static const char *const careful[] = {
        "-std=gnu11", "-O0", "-ffp-contract=off", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"};
    text_buffer program = {0}, output = {0}, paths[MOST_FILES] = {{0}};
    text_add(&program, "%s/program", folder);
    text_add(&output, "%s/output", folder);
    int status = -1;
    for (int without = 0; status && without < 2; without++) {
        const char *arguments[WORD_LIMIT + 16 + MOST_FILES];
        int n = 0;
        for (int i = 0; i < c->word_count; i++)
            arguments[n++] = c->words[i];
        for (size_t i = 0; i < sizeof careful / sizeof *careful - (without ? 2 : 0); i++)
            arguments[n++] = careful[i];
        arguments[n++] = "-o";
        arguments[n++] = program.text;
        for (int i = 0; files[i] && i < MOST_FILES; i++) {
            if (!paths[i].length)
                text_add(&paths[i], "%s/%s", folder, files[i]);
            arguments[n++] = paths[i].text;
        }
        arguments[n++] = "-lm";
        arguments[n] = NULL;
        *checked = !without;
        status = process_run(c->path, arguments, output.text);
    }
    if (status < 0)
        diag_error(diags, "E0841", (source_span){0}, "%s cannot be run: %s", c->path, strerror(errno));
    else if (status)
        note_output(diags,
                    diag_error(diags, "E0843", (source_span){0}, "%s refused the program's text (status %d)", c->path, status),
                    output.text);
    for (int i = 0; i < MOST_FILES; i++)
        text_free(&paths[i]);
    text_free(&program);
    text_free(&output);
    return !status;
}

int compiler_run_program(const char *folder) {
    text_buffer program = {0}, output = {0};
    text_add(&program, "%s/program", folder);
    text_add(&output, "%s/output", folder);
    const char *const arguments[] = {program.text, folder, NULL};
    int status = process_run(program.text, arguments, output.text);
    text_free(&program);
    text_free(&output);
    return status;
}
