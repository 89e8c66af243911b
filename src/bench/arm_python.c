/* A Python callable as an arm: an adapter process that maps the work's buffers and measures with the same clock. */
#define _GNU_SOURCE
#include "base/file.h"
#include "bench/arm.h"
#include "bench/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* adapter.py, as the Makefile writes it into C */
static const char *const adapter_lines[] = {
#include "adapter.inc"
};

enum { REPLY_LIMIT_MS = 300000, END_LIMIT_MS = 2000 };

typedef struct python_arm {
    bench_work *work;
    int to, from;        /* the adapter's descriptors 0 and 4 */
    text_buffer pending; /* read but not yet a whole line */
} python_arm;

/* One line; heap text, NULL when the adapter ended or took too long. */
static char *read_line(python_arm *p) {
    for (;;) {
        char *end = p->pending.text ? memchr(p->pending.text, '\n', p->pending.length) : NULL;
        if (end) {
            char *line = strndup(p->pending.text, (size_t)(end - p->pending.text));
            size_t used = (size_t)(end - p->pending.text) + 1;
            p->pending.length -= used;
            memmove(p->pending.text, p->pending.text + used, p->pending.length + 1);
            return line;
        }
        struct pollfd f = {.fd = p->from, .events = POLLIN};
        int ready = poll(&f, 1, REPLY_LIMIT_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        char part[4096];
        ssize_t n = ready > 0 ? read(p->from, part, sizeof part) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return NULL;
        text_add_bytes(&p->pending, part, (size_t)n);
    }
}

static bool send_line(python_arm *p, json_t *request) {
    char *text = json_dumps(request, JSON_COMPACT);
    text_buffer line = {0};
    text_add(&line, "%s\n", text ? text : "");
    free(text);
    bool good = true;
    for (size_t at = 0; good && at < line.length;) {
        ssize_t n = send(p->to, line.text + at, line.length - at, MSG_NOSIGNAL); /* an adapter that ended is no reason to end */
        if (n < 0 && errno == EINTR)
            continue;
        good = n > 0;
        at += good ? (size_t)n : 0;
    }
    text_free(&line);
    return good;
}

/* Sends a request and takes the answer. NULL with a diagnostic. */
static json_t *ask(bench_arm *arm, json_t *request, diag_list *diags) {
    python_arm *p = arm->state;
    char *line = send_line(p, request) ? read_line(p) : NULL;
    json_decref(request);
    json_t *answer = line ? json_loads(line, 0, NULL) : NULL;
    free(line);
    if (answer && json_is_true(json_object_get(answer, "ok")))
        return answer;
    diag *g = diag_error(diags, "E1031", (source_span){0}, "%s: %s", arm->name,
                         answer ? "the function failed" : "the adapter ended, or gave no answer");
    const char *error = json_string_value(json_object_get(answer, "error"));
    for (const char *at = error ? error : ""; *at;) {
        size_t n = strcspn(at, "\n");
        diag_note(diags, g, "%.*s", (int)n, at);
        at += n + (at[n] == '\n');
    }
    if (error && strstr(error, "ModuleNotFoundError"))
        diag_note(diags, g, "set TILEC_PYTHON to an interpreter that has the module");
    json_decref(answer);
    return NULL;
}

static bool run_python(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    const bench_work *w = ((python_arm *)arm->state)->work;
    json_t *answer =
        ask(arm,
            json_pack("{s:I, s:I, s:I}", "first", (json_int_t)first_set, "count", (json_int_t)count, "sets", (json_int_t)w->sets),
            diags);
    if (!answer)
        return false;
    *nanoseconds = json_number_value(json_object_get(answer, "ns"));
    arm->shares_buffers = json_is_true(json_object_get(answer, "in_place"));
    json_decref(answer);
    return true;
}

static void close_python(bench_arm *arm) {
    python_arm *p = arm->state;
    if (p->to >= 0)
        close(p->to); /* the adapter's loop ends with its input */
    if (arm->process > 0) {
        struct pollfd f = {.fd = p->from, .events = 0};
        if (poll(&f, 1, END_LIMIT_MS) <= 0)
            kill(arm->process, SIGKILL);
        while (waitpid(arm->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (p->from >= 0)
        close(p->from);
    text_free(&p->pending);
    free(p);
}

static const bench_arm_kind python_kind = {"python", run_python, close_python};

/* The environment, with every library's number of threads set. Heap array, its own texts at the end. */
static char **environment_with_threads(int threads, char texts[][48], int count) {
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"};
    int n = 0;
    while (environ[n])
        n++;
    char **all = calloc((size_t)(n + count + 1), sizeof *all);
    int kept = 0;
    for (int i = 0; all && i < n; i++) {
        bool ours = !strncmp(environ[i], "OPENBLAS_CORETYPE=", 18) || !strncmp(environ[i], "OPENBLAS_L2_SIZE=", 17);
        for (int j = 0; j < count; j++)
            ours = ours || (!strncmp(environ[i], names[j], strlen(names[j])) && environ[i][strlen(names[j])] == '=');
        if (!ours)
            all[kept++] = environ[i];
    }
    for (int j = 0; all && j < count; j++) {
        snprintf(texts[j], 48, "%s=%d", names[j], threads);
        all[kept++] = texts[j];
    }
    return all;
}

static bool start(bench_arm *arm, python_arm *p, diag_list *diags) {
    /* The first is a socket, so that writing to an adapter that ended gives an error rather than a signal. */
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    const char *wanted = getenv("TILEC_PYTHON"), *python = wanted && *wanted ? wanted : "python3";
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) || pipe2(out, O_CLOEXEC)) {
        diag_error(diags, "E1030", (source_span){0}, "no pipe for the adapter: %s", strerror(errno));
        if (in[0] >= 0) {
            close(in[0]);
            close(in[1]);
        }
        return false;
    }
    text_buffer script = {0};
    for (size_t i = 0; i < sizeof adapter_lines / sizeof *adapter_lines; i++)
        text_add(&script, "%s", adapter_lines[i]);
    /* Descriptors above those that the child gets, so that none is overwritten before it is copied. */
    int high_in = fcntl(in[1], F_DUPFD_CLOEXEC, 16), high_out = fcntl(out[1], F_DUPFD_CLOEXEC, 16),
        high_memory = fcntl(p->work->shared_file, F_DUPFD_CLOEXEC, 16);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, high_in, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    posix_spawn_file_actions_adddup2(&actions, high_memory, 3);
    posix_spawn_file_actions_adddup2(&actions, high_out, 4);
    char texts[4][48];
    char **environment = environment_with_threads(p->work->threads, texts, 4);
    char *const words[] = {(char *)python, "-c", script.text, NULL};
    int error = environment ? posix_spawnp(&arm->process, python, &actions, NULL, words, environment) : ENOMEM;
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    text_free(&script);
    close(in[1]);
    close(out[1]);
    close(high_in);
    close(high_out);
    close(high_memory);
    p->to = in[0];
    p->from = out[0];
    if (!error)
        return true;
    arm->process = 0;
    diag *g = diag_error(diags, "E1030", (source_span){0}, "%s cannot be run: %s", python, strerror(error));
    diag_note(diags, g, "TILEC_PYTHON names another one");
    return false;
}

static const char *numpy_type(element_type t) {
    static const char *const names[ELEMENT_COUNT] = {
        [ELEMENT_F32] = "float32", [ELEMENT_F16] = "float16", [ELEMENT_BF16] = "uint16",
        [ELEMENT_I8] = "int8",     [ELEMENT_U8] = "uint8",    [ELEMENT_I32] = "int32",
        [ELEMENT_U32] = "uint32",  [ELEMENT_BOOL] = "bool",   [ELEMENT_INDEX] = "int32", [ELEMENT_U16] = "uint16", [ELEMENT_I64] = "int64"};
    return names[t] ? names[t] : "uint8";
}

static json_t *setup_request(bench_work *w, const char *file, const char *function) {
    json_t *arrays = json_array(), *scalars = json_object();
    for (int i = 0; i < w->arrays.count; i++) {
        const work_array *a = &w->arrays.at[i];
        const element_info *e = &element_table[a->shape.type];
        json_t *shape = json_array();
        for (int d = 0; d < a->shape.rank; d++) {
            bool last = d == a->shape.rank - 1;
            int64_t extent =
                last ? a->shape.dims[d] / e->block_elements * (e->block_elements > 1 ? e->block_bytes : 1) : a->shape.dims[d];
            json_array_append_new(shape, json_integer(extent));
        }
        json_array_append_new(arrays, json_pack("{s:s, s:s, s:o, s:I, s:I, s:b}", "name", a->name, "numpy",
                                                numpy_type(a->shape.type), "shape", shape, "offset", (json_int_t)a->offset,
                                                "bytes", (json_int_t)a->shape.bytes, "output", a->declared->role != ARRAY_IN));
    }
    for (int i = 0; i < w->scalars.count; i++) {
        bool whole = w->call->scalars.at[i].declared->type != ELEMENT_F32;
        json_object_set_new(scalars, w->scalars.at[i].name,
                            whole ? json_integer((json_int_t)w->scalars.at[i].value) : json_real(w->scalars.at[i].value));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:I}", "file", file, "function", function, "arrays", arrays, "scalars", scalars,
                     "stride", (json_int_t)w->set_bytes, "bytes", (json_int_t)w->memory_bytes);
}

bool arm_open_python(bench_arm *arm, bench_work *w, const char *words, bool *unsupported, diag_list *diags) {
    const char *colon = strrchr(words, ':');
    const char *file = colon ? arena_strndup(w->arena, words, (size_t)(colon - words)) : words,
               *function = colon ? colon + 1 : w->name;
    if (!*words || !file_exists(file)) {
        diag *g = diag_error(diags, "E1030", (source_span){0}, "no file `%s`", file);
        diag_note(diags, g, "python:FILE.py, or python:FILE.py:FUNCTION");
        return false;
    }
    python_arm *p = w->shared_file >= 0 ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        diag_error(diags, "E0648", (source_span){0}, "no shared memory for %s", arm->name);
        return false;
    }
    *p = (python_arm){.work = w, .to = -1, .from = -1};
    arm->kind = &python_kind;
    arm->state = p;
    arm->foreign = true;
    json_t *answer = start(arm, p, diags) ? ask(arm, setup_request(w, file, function), diags) : NULL;
    if (!answer)
        return false;
    bool has = json_is_true(json_object_get(answer, "has"));
    json_object_set(arm->description, "version", json_object_get(answer, "versions"));
    const char *clock = json_string_value(json_object_get(answer, "clock"));
    if (clock)
        arm->clock = arena_strdup(w->arena, clock);
    json_decref(answer);
    if (has)
        return true;
    *unsupported = true;
    diag_error(diags, "E1013", (source_span){.file = arena_strdup(diags->arena, file)}, "there is no function `%s`", function);
    return false;
}
