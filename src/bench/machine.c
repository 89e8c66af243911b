/* What the machine is, and its state. */
#define _GNU_SOURCE
#include "bench/machine.h"
#include "base/hash.h"
#include "bench/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The first line of a file that begins with `key` (NULL: the first), without key and separators. Heap text; NULL. */
static char *file_line(const char *path, const char *key) {
    FILE *f = fopen(path, "r");
    char line[512], *found = NULL;
    while (f && !found && fgets(line, sizeof line, f))
        if (!key || !strncmp(line, key, strlen(key))) {
            const char *at = line + (key ? strlen(key) : 0);
            at += strspn(at, " \t:=\"");
            found = strndup(at, strcspn(at, "\n\""));
        }
    if (f)
        fclose(f);
    return found;
}

int machine_processors(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (int)n;
}

int64_t machine_last_cache_bytes(void) {
    int64_t largest = 0;
    for (int i = 0; i < 8; i++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        char *text = file_line(path, NULL), *end;
        int64_t n = text ? strtoll(text, &end, 10) : 0;
        if (text)
            n *= *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
        largest = n > largest ? n : largest;
        free(text);
    }
    return largest ? largest : 32 << 20;
}

static int64_t memory_kilobytes(const char *key) {
    char *text = file_line("/proc/meminfo", key);
    int64_t n = text ? strtoll(text, NULL, 10) : 0;
    free(text);
    return n;
}

int64_t machine_available_bytes(void) {
    int64_t n = memory_kilobytes("MemAvailable");
    return n ? n * 1024 : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
}

char *machine_ask(const char *const *words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int error = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)words, environ), status = 1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    char line[512] = "";
    if (f && !error && !fgets(line, sizeof line, f))
        line[0] = 0;
    char rest[512];
    while (f && !error && fread(rest, 1, sizeof rest, f) > 0)
        ;
    if (f)
        fclose(f);
    else
        close(ends[0]);
    if (error || waitpid(child, &status, 0) != child || status)
        return NULL;
    line[strcspn(line, "\n")] = 0;
    return strdup(line);
}

static void set_text(json_t *object, const char *key, char *text) {
    json_object_set_new(object, key, text && *text ? json_string(text) : json_null());
    free(text);
}

/* "gcc (Debian 12.2.0-14) 12.2.0" of the compiler that kernels are compiled with. */
static char *compiler_version(void) {
    const char *own = getenv("TILEC_CC");
    char word[512];
    snprintf(word, sizeof word, "%.*s", own && *own ? (int)strcspn(own + strspn(own, " "), " ") : 2,
             own && *own ? own + strspn(own, " ") : "cc");
    const char *const words[] = {word, "--version", NULL};
    return machine_ask(words);
}

json_t *machine_environment(void) {
    json_t *e = json_object();
    char *model = file_line("/proc/cpuinfo", "model name");
    set_text(e, "processor", model ? model : file_line("/proc/cpuinfo", "CPU part"));
    json_object_set_new(e, "processors", json_integer(machine_processors()));
    json_object_set_new(e, "last_cache_bytes", json_integer(machine_last_cache_bytes()));
    json_object_set_new(e, "memory_gigabytes", json_integer((memory_kilobytes("MemTotal") + (1 << 19)) >> 20));
    set_text(e, "microcode", file_line("/proc/cpuinfo", "microcode"));
    set_text(e, "governor", file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL));
    set_text(e, "system", file_line("/etc/os-release", "PRETTY_NAME"));
    struct utsname u;
    if (!uname(&u)) {
        json_object_set_new(e, "kernel", json_sprintf("%s %s", u.sysname, u.release));
        json_object_set_new(e, "architecture", json_string(u.machine));
    }
    char library[128];
    if (confstr(_CS_GNU_LIBC_VERSION, library, sizeof library))
        json_object_set_new(e, "libc", json_string(library));
    set_text(e, "compiler", compiler_version());
    json_t *gpus = machine_gpus(), *names = json_array(), *gpu;
    size_t i;
    json_array_foreach(gpus, i, gpu)
        json_array_append_new(names, json_sprintf("%s, driver %s", json_string_value(json_object_get(gpu, "name")),
                                                  json_string_value(json_object_get(gpu, "driver"))));
    json_object_set_new(e, "gpus", names);
    json_decref(gpus);
    return e;
}

void machine_environment_hash(const json_t *environment, char digits[13]) {
    char all[HASH_DIGITS + 1], *text = json_dumps(environment, JSON_COMPACT | JSON_SORT_KEYS);
    hash_bytes(text ? text : "", text ? strlen(text) : 0, all);
    free(text);
    memcpy(digits, all, 12);
    digits[12] = 0;
}

json_t *machine_overrides(void) {
    static const char *const prefixes[] = {"OMP_",  "OPENBLAS_", "GOTO_", "MKL_",  "TILEC_",
                                           "BLIS_", "NUMPY_",    "KMP_",  "GOMP_", "MALLOC_"};
    json_t *o = json_object();
    for (char **e = environ; *e; e++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (!strncmp(*e, prefixes[i], strlen(prefixes[i]))) {
                size_t n = strcspn(*e, "=");
                char name[128];
                snprintf(name, sizeof name, "%.*s", (int)n, *e);
                /* where things lie is nobody's business, and changes no time */
                if (strcmp(name, "TILEC_CACHE") && strcmp(name, "TILEC_KERNELS") && strcmp(name, "TILEC_PYTHON"))
                    json_object_set_new(o, name, json_string((*e)[n] ? *e + n + 1 : ""));
            }
    return o;
}

machine_mark machine_now(const pid_t *others, int count) {
    machine_mark m = {.wall_ns = clock_now_ns(), .own_ns = clock_used_ns(0)};
    for (int i = 0; i < count; i++) {
        double one = others[i] > 0 ? clock_used_ns(others[i]) : 0;
        m.own_ns += one > 0 ? one : 0;
    }
    char *text = file_line("/proc/stat", "cpu ");
    double t[8] = {0};
    if (text && sscanf(text, "%lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 8) {
        m.busy_ticks = t[0] + t[1] + t[2] + t[5] + t[6];
        m.steal_ticks = t[7];
        m.total_ticks = m.busy_ticks + t[3] + t[4] + t[7];
    }
    free(text);
    return m;
}

/* Now, in MHz; 0 when the system does not tell. */
static double frequency(void) {
    char *text = file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", NULL);
    double mhz = text ? strtod(text, NULL) / 1000 : 0;
    free(text);
    if (mhz > 0)
        return mhz;
    text = file_line("/proc/cpuinfo", "cpu MHz");
    mhz = text ? strtod(text, NULL) : 0;
    free(text);
    return mhz;
}

json_t *machine_state(const machine_mark *from, const machine_mark *to) {
    double load[1] = {-1}, total = to->total_ticks - from->total_ticks, wall = to->wall_ns - from->wall_ns;
    if (getloadavg(load, 1) != 1)
        load[0] = -1;
    double steal = total > 0 ? (to->steal_ticks - from->steal_ticks) / total : 0;
    double busy = total > 0 ? (to->busy_ticks - from->busy_ticks) / total * machine_processors() : 0;
    double others = wall > 0 ? busy - (to->own_ns - from->own_ns) / wall : 0;
    others = others > 0 ? others : 0;
    /* Ticks are 10 ms: under half a second they say nothing about a twentieth. */
    bool told = total > 0 && wall > 0.5e9, loaded = told && (others > 0.05 * machine_processors() || steal > 0.01);
    return json_pack("{s:f, s:f, s:f, s:f, s:s}", "load", load[0], "steal", steal, "others_processors", others, "megahertz",
                     frequency(), "state",
                     !told    ? "not told"
                     : loaded ? "loaded"
                              : "quiet");
}
