/* A source text with many kernels: a line each and a summary. Batches of kernels are compiled and judged by processes of their own, as many at a time as
 * --jobs says; what ends one (LLVM's own failure, a kernel that takes too long) costs the kernel it was at, and the others go to the next. */
#define _GNU_SOURCE
#include "command/foreign_all.h"
#include "base/temporary.h"
#include "command/foreign.h"
#include "command/source_options.h"
#include "command/witness.h"
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGEST_BATCH = 32, SMALLEST_BATCH = 4, MOST_JOBS = 64, READING_SECONDS = 30 };

typedef struct range {
    int from, to;
} range;

typedef struct worker {
    pid_t pid; /* 0: none */
    int input;
    text_buffer text; /* of the line that has not ended yet */
    range batch;
    int at; /* the kernel that it is at; -1: none */
} worker;

typedef struct whole {
    report *r;
    const command_line *line;
    const char *path;
    foreign_check_options options;
    source_options source;
    const foreign_source *compiled; /* NULL: each batch is compiled by itself */
    const char *const *names;
    int count;
    json_t **rows;    /* by kernel; NULL: not judged yet */
    VEC(range) again; /* parts of batches that failed together */
    int next;         /* kernels before it have been given to somebody */
    whole_times times;
} whole;

/* ---- in a process of its own ---- */

static double children_ms(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void tell(FILE *out, json_t *x) {
    if (!x)
        x = json_pack("{s:s}", "message", "(not valid UTF-8)");
    json_dumpf(x, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
    fputc('\n', out);
    fflush(out);
    json_decref(x);
}

/* A report with memory of its own. */
static void begin_own(report *own) {
    *own = (report){.arena = arena_new(), .json = json_object()};
    diag_init(&own->diags, own->arena);
}

/* What goes on without answering for this long, is ended by the system. */
static void set_alarm(double seconds) {
    struct itimerval t = {.it_value = {.tv_sec = (time_t)seconds + 1}};
    setitimer(ITIMER_PROF, &t, NULL);
}

static void judge_one(const whole *w, FILE *out, const foreign_source *from, int i, int kernel) {
    report own;
    begin_own(&own);
    tell(out, json_pack("{s:i}", "begin", kernel));
    set_alarm(READING_SECONDS + 2 * w->options.seconds);
    double start = children_ms(RUSAGE_SELF);
    lifted_kernel x = {0};
    bool read = foreign_lift(&own, w->line, w->path, from, i, &x);
    double read_ms = children_ms(RUSAGE_SELF) - start;
    json_t *entry = NULL;
    const char *verdict = read ? "read" : "not read";
    if (read && w->options.seconds > 0) {
        proof verdicts;
        json_t *list = json_array();
        bool proved = kernel_ir_check(&own, w->line, x.kernel, w->options.limits, 0, &verdicts, list);
        verdict = proved ? "proved" : verdicts.refuted ? "refuted" : "open";
        entry = json_incref(json_array_get(list, 0));
        json_decref(list);
    }
    if (!entry)
        entry =
            json_pack("{s:s, s:b, s:o}", "kernel", w->names[kernel], "held", read, "diagnostics", report_diagnostics(&own, 0));
    if (entry) {
        json_object_set_new(entry, "kernel", json_string(w->names[kernel]));
        json_object_set_new(entry, "index", json_integer(kernel));
        json_object_set_new(entry, "verdict", json_string(verdict));
        json_object_set_new(entry, "read_ms", json_real(read_ms));
        json_object_set_new(entry, "line", json_integer(from->source->kernels.at[i].span.line));
    }
    tell(out, entry);
    json_decref(own.json);
    arena_free(own.arena);
}

/* What one kernel's arena frees is the next one's: given back to the system it would cost more than to set it to zero. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

/* Kernels of the source by their places in the batch. */
static void judge_batch(const whole *w, range b, FILE *out) {
    report own;
    keep_freed_memory();
    foreign_source from = {0};
    begin_own(&own);
    bool ready;
    set_alarm(READING_SECONDS * 4);
    if (w->compiled) {
        from = *w->compiled;
        ready = foreign_open_module(&own, w->path, b.from, b.to, &from);
    } else {
        source_options o = w->source;
        o.kernels = w->names + b.from;
        o.kernel_count = b.to - b.from;
        ready =
            foreign_open(&own, w->path, &o, &from) && foreign_open_module(&own, w->path, 0, from.source->kernels.count, &from);
    }
    tell(out, json_pack("{s:b, s:f, s:f, s:o}", "ready", ready, "clang_ms", children_ms(RUSAGE_CHILDREN), "module_ms",
                        children_ms(RUSAGE_SELF), "diagnostics", report_diagnostics(&own, 0)));
    for (int i = 0; ready && i < from.source->kernels.count; i++)
        for (int k = b.from; k < b.to; k++)
            if (w->compiled ? i == k : !strcmp(from.source->kernels.at[i].host_name, w->names[k])) {
                judge_one(w, out, &from, i, k);
                break;
            }
    arena_free(own.arena);
}

/* ---- the process that gives them out ---- */

static json_t *row_without_answer(const whole *w, int kernel, const char *verdict, json_t *diagnostics) {
    return json_pack("{s:s, s:b, s:i, s:s, s:o}", "kernel", w->names[kernel], "held", 0, "index", kernel, "verdict", verdict,
                     "diagnostics", diagnostics);
}

static json_t *one_message(const char *code, const char *message) {
    return json_pack("[{s:s, s:s, s:s, s:s, s:i, s:i}]", "code", code, "severity", "error", "message", message, "file", "",
                     "line", 0, "column", 0);
}

static bool next_batch(whole *w, range *b) {
    if (w->again.count) {
        *b = w->again.at[--w->again.count];
        return true;
    }
    int left = w->count - w->next, size = left / (2 * w->options.jobs);
    size = size > LARGEST_BATCH ? LARGEST_BATCH : size < SMALLEST_BATCH ? SMALLEST_BATCH : size;
    size = size > left ? left : size;
    *b = (range){w->next, w->next + size};
    w->next += size;
    return left > 0;
}

static bool start_worker(whole *w, worker *x, range b) {
    int ends[2];
    if (pipe(ends))
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        temporary_watch();
        close(ends[0]);
        FILE *out = fdopen(ends[1], "w");
        if (out)
            judge_batch(w, b, out);
        _exit(out && !fclose(out) ? 0 : 1);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *x = (worker){.pid = pid, .input = ends[0], .batch = b, .at = -1};
    return true;
}

static void take_line(whole *w, worker *x, const char *text) {
    json_error_t e;
    json_t *o = json_loads(text, 0, &e);
    json_t *index = json_object_get(o, "index"), *begin = json_object_get(o, "begin"), *ready = json_object_get(o, "ready");
    if (begin)
        x->at = (int)json_integer_value(begin);
    if (index && json_integer_value(index) < w->count) {
        w->rows[json_integer_value(index)] = json_incref(o);
        x->at = -1;
    }
    w->times.clang += json_number_value(json_object_get(o, "clang_ms"));
    w->times.module += json_number_value(json_object_get(o, "module_ms"));
    if (ready && json_is_false(ready) && x->batch.to - x->batch.from == 1)
        w->rows[x->batch.from] = row_without_answer(w, x->batch.from, "not read", json_incref(json_object_get(o, "diagnostics")));
    json_decref(o);
}

static void take_text(whole *w, worker *x, const char *bytes, size_t n) {
    text_add_bytes(&x->text, bytes, n);
    size_t from = 0;
    for (size_t i = x->text.length - n; i < x->text.length; i++)
        if (x->text.text[i] == '\n') {
            x->text.text[i] = 0;
            take_line(w, x, x->text.text + from);
            from = i + 1;
        }
    memmove(x->text.text, x->text.text + from, x->text.length - from);
    x->text.length -= from;
}

/* What it has not answered is given out again, less the kernel that it was at. */
static void end_worker(whole *w, worker *x) {
    int status = 0;
    struct rusage u = {0};
    while (wait4(x->pid, &status, 0, &u) < 0 && errno == EINTR)
        ;
    w->times.all +=
        (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
    close(x->input);
    text_free(&x->text);
    range b = x->batch;
    int at = x->at >= 0 ? x->at : b.to - b.from == 1 ? b.from : -1;
    if (at >= 0 && !w->rows[at]) {
        bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
        const char *why =
            late ? "gave up on it: not decided in the time that it may take"
                 : arena_printf(w->r->arena, "reading it ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
                                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        w->rows[at] = row_without_answer(w, at, late ? "open" : "not read", one_message(late ? "E0420" : "E1121", why));
    }
    int half = x->at < 0 ? (b.from + b.to) / 2 : b.to; /* it was no kernel's own failure */
    range left = {0, 0};
    for (int i = b.from; i < b.to; i++) {
        if (w->rows[i])
            continue;
        if (left.to != i || i == half || left.from == left.to) {
            if (left.to > left.from)
                VEC_PUSH(w->r->arena, w->again, left);
            left.from = i;
        }
        left.to = i + 1;
    }
    if (left.to > left.from)
        VEC_PUSH(w->r->arena, w->again, left);
    x->pid = 0;
}

bool foreign_judge_all(whole_source *s, json_t **rows, whole_times *times) {
    whole w = {.r = s->r,
               .line = s->line,
               .path = s->path,
               .options = s->options,
               .source = s->source,
               .compiled = s->compiled,
               .names = s->names,
               .count = s->count,
               .rows = rows};
    int jobs = w.options.jobs < MOST_JOBS ? w.options.jobs : MOST_JOBS;
    w.options.jobs = jobs;
    worker workers[MOST_JOBS] = {0};
    struct pollfd polls[MOST_JOBS];
    for (;;) {
        int busy = 0;
        bool started = true;
        range b;
        for (int i = 0; i < jobs && started; i++)
            if (!workers[i].pid && next_batch(&w, &b)) {
                started = start_worker(&w, &workers[i], b);
                if (!started)
                    VEC_PUSH(w.r->arena, w.again, b);
            }
        for (int i = 0; i < jobs; i++) {
            polls[i] = (struct pollfd){.fd = workers[i].pid ? workers[i].input : -1, .events = POLLIN};
            busy += workers[i].pid != 0;
        }
        if (!busy) {
            *times = w.times;
            if (started)
                return true;
            diag_error(&w.r->diags, "E1101", (source_span){.file = w.path}, "no process could be started: %s", strerror(errno));
            return false;
        }
        if (poll(polls, (nfds_t)jobs, -1) < 0 && errno != EINTR)
            continue;
        for (int i = 0; i < jobs; i++) {
            char bytes[1 << 16];
            if (!workers[i].pid || !(polls[i].revents & (POLLIN | POLLHUP | POLLERR)))
                continue;
            ssize_t n = read(workers[i].input, bytes, sizeof bytes);
            if (n > 0)
                take_text(&w, &workers[i], bytes, (size_t)n);
            else if (n == 0 || errno != EINTR)
                end_worker(&w, &workers[i]);
        }
        if (s->progress)
            s->progress(s);
    }
}
