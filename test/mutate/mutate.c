/* Mutation: broken versions of every proved kernel, judged by the simulator and by the prover, who must agree.
 *   mutate [--count N] [--seed N] [--kernel PART] [--one-in N] [--foreign-one-in N] [--operator PART] [--keep FOLDER] [--seconds N] [--workers N] [--list] [--unproved]
 * Without --count every mutant is judged; with it so many, spread over the operators. Prints `ok NAME` and `FAIL NAME why` lines. */
#define _DEFAULT_SOURCE
#include "bases.h"
#include "foreign.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_EACH = 100, MOST_WORKERS = 64 }; /* of processor time */

typedef struct settings {
    int count, seconds, workers, one_in, foreign_one_in;
    uint64_t seed;
    const char *kernel, *operators, *keep;
    bool list, unproved;
} settings;

typedef struct job {
    int base, site, op;
} job;

/* Shared among the workers. */
typedef struct board {
    int next;
    int owner[1]; /* per job: the process that judges it; the results stand behind */
} board;

typedef struct mutation_run {
    settings s;
    mutation_bases bases;
    VEC(job) jobs;
    board *board;
    mutant_result *results;
    time_t start;
} mutation_run;

/* ---- which mutants ---- */

typedef struct site_list {
    mutation_run *run;
    int base, site;
} site_list;

static void add_job(void *context, const mutation *m) {
    site_list *l = context;
    job j = {l->base, l->site++, (int)m->op};
    const char *wanted = l->run->s.operators;
    if (!wanted || strstr(mutation_table[m->op].name, wanted))
        VEC_PUSH(l->run->bases.arena, l->run->jobs, j);
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* `count` of the jobs, taken from the operators in turn, each time one by chance. */
static void choose_jobs(mutation_run *r) {
    int total = r->jobs.count, kept = 0;
    uint64_t state = r->s.seed * 2654435761u + 99;
    if (!r->s.count || r->s.count >= total)
        return;
    for (int i = total - 1; i > 0; i--) {
        int j = (int)(next_random(&state) % (uint64_t)(i + 1));
        job t = r->jobs.at[i];
        r->jobs.at[i] = r->jobs.at[j];
        r->jobs.at[j] = t;
    }
    for (bool more = true; more && kept < r->s.count;) {
        more = false;
        for (int op = 0; op < MUTATE_COUNT && kept < r->s.count; op++)
            for (int i = kept; i < total; i++)
                if (r->jobs.at[i].op == op) {
                    job t = r->jobs.at[i];
                    r->jobs.at[i] = r->jobs.at[kept];
                    r->jobs.at[kept++] = t;
                    more = true;
                    break;
                }
    }
    r->jobs.count = kept;
}

/* ---- workers: processes, so that a crash is one mutant's ---- */

static bool out_of_time(const mutation_run *r) {
    return r->s.seconds && time(NULL) - r->start >= r->s.seconds;
}

static void work(mutation_run *r) {
    struct itimerval limit = {.it_value = {.tv_sec = SECONDS_EACH}};
    for (int i; !out_of_time(r) && (i = __atomic_fetch_add(&r->board->next, 1, __ATOMIC_SEQ_CST)) < r->jobs.count;) {
        mutant_result *m = &r->results[i];
        r->board->owner[i] = (int)getpid();
        m->op = r->jobs.at[i].op;
        m->state = MUTANT_RUNNING;
        setitimer(ITIMER_PROF, &limit, NULL); /* whoever hangs is ended by the signal, and that is a result */
        mutation_judge(&r->bases.items.at[r->jobs.at[i].base], r->jobs.at[i].site, r->s.keep,
                       r->s.foreign_one_in && i % r->s.foreign_one_in == 0, m);
    }
    limit.it_value.tv_sec = 0;
    setitimer(ITIMER_PROF, &limit, NULL);
}

static bool run_workers(mutation_run *r) {
    int n = r->jobs.count, alive = 0;
    size_t owners = (sizeof(board) + sizeof(int) * (size_t)n + 63) / 64 * 64,
           size = owners + sizeof(mutant_result) * (size_t)(n + 1);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    r->board = (board *)(void *)memory;
    r->results = (mutant_result *)(void *)(memory + owners);
    fflush(NULL);
    for (int to_start = r->s.workers; to_start || alive;) {
        for (; to_start; to_start--, alive++) {
            pid_t child = fork();
            if (child < 0)
                return false;
            if (!child) {
                work(r);
                _exit(0);
            }
        }
        int status;
        pid_t ended = wait(&status);
        if (ended < 0)
            return false;
        alive--;
        if (WIFEXITED(status) && !WEXITSTATUS(status))
            continue;
        for (int i = 0; i < n; i++)
            if (r->results[i].state == MUTANT_RUNNING && r->board->owner[i] == (int)ended) {
                r->results[i].state = MUTANT_CRASHED;
                snprintf(r->results[i].reason, sizeof r->results[i].reason, "signal %d",
                         WIFSIGNALED(status) ? WTERMSIG(status) : 0);
            }
        to_start = 1;
    }
    return true;
}

/* ---- the report ---- */

typedef struct tally {
    int all, refused, harmful, harmful_refuted, harmful_unknown, harmful_proved, harmless, harmless_proved, harmless_unknown,
        crashed;
    int affine_harmful, affine_refuted, affine_unknown, by_witness;
    int witnesses, confirmed, not_run, unconfirmed;
    double prove_ms, worst_prove_ms;
} tally;

static void count_result(tally *t, const mutant_result *m) {
    if (m->state == MUTANT_WAITING)
        return;
    t->all++;
    t->refused += m->state == MUTANT_REFUSED;
    t->crashed += m->state == MUTANT_CRASHED;
    if (m->state != MUTANT_JUDGED)
        return;
    bool refuted = m->verdict == VERDICT_REFUTED, proved = m->verdict == VERDICT_PROVED, unknown = m->verdict == VERDICT_UNKNOWN;
    t->harmful += m->harmful;
    t->harmful_refuted += m->harmful && refuted;
    t->harmful_unknown += m->harmful && unknown;
    t->harmful_proved += m->harmful && proved;
    t->harmless += !m->harmful;
    t->harmless_proved += !m->harmful && proved;
    t->harmless_unknown += !m->harmful && unknown;
    t->affine_harmful += m->affine && m->harmful;
    t->affine_refuted += m->affine && m->harmful && refuted;
    t->affine_unknown += m->affine && unknown;
    t->by_witness += m->by_witness;
    t->witnesses += m->refuted;
    t->confirmed += m->confirmed;
    t->not_run += m->not_run;
    t->unconfirmed += m->unconfirmed;
    t->prove_ms += m->prove_ms;
    t->worst_prove_ms = m->prove_ms > t->worst_prove_ms ? m->prove_ms : t->worst_prove_ms;
}

static void print_row(const char *name, const tally *t) {
    printf("%-22s %6d %8d | %8d %8d %8d %8d | %8d %8d %8d\n", name, t->all, t->refused, t->harmful, t->harmful_refuted,
           t->harmful_unknown, t->harmful_proved, t->harmless, t->harmless_proved, t->harmless_unknown);
}

static void print_mutant(const mutation_run *r, int i, const char *what) {
    const mutant_result *m = &r->results[i];
    printf("  %s: %s, line %d: %s: %s\n      %s%s%s%s%s%s\n", what, r->bases.items.at[r->jobs.at[i].base].name, m->line,
           mutation_table[m->op].name, m->what, verdict_names[m->verdict], m->reason[0] ? ": " : "", m->reason,
           m->harm[0] ? "; simulator: " : "", m->harm, m->endless ? "; ran beyond its steps" : "");
}

static bool say(bool good, const char *name, const char *why) {
    printf("%s %s%s%s\n", good ? "ok" : "FAIL", name, good ? "" : " ", good ? "" : why);
    return good;
}

/* Among the texts that had several mutants judged, the one with the fewest whose witnesses misbehave. */
static void print_least_confirmed(const mutation_run *r) {
    int least = -1, of_least = 0;
    for (int b = 0; b < r->bases.items.count; b++) {
        int confirmed = 0, judged = 0;
        for (int i = 0; i < r->jobs.count; i++)
            if (r->jobs.at[i].base == b) {
                confirmed += r->results[i].confirmed > 0;
                judged += r->results[i].state == MUTANT_JUDGED;
            }
        if (judged >= 10 && (least < 0 || confirmed < of_least)) {
            least = b;
            of_least = confirmed;
        }
    }
    if (least >= 0)
        printf("each kernel with ten mutants or more has at least %d whose witness misbehaves (%s)\n", of_least,
               r->bases.items.at[least].name);
}

/* The second judge: what it objects to in a mutant whose base it finds fault with neither, the prover must not have proved. */
static bool report_foreign(const mutation_run *r) {
    int put = 0, asked = 0, both = 0, neither = 0, simulator_alone = 0, foreign_alone = 0, proved = 0, base = 0;
    if (!r->s.foreign_one_in || !foreign_available()) {
        printf("one judge of harm only: oclgrind is not %s\n\n", foreign_available() ? "asked" : "installed");
        return true;
    }
    for (int i = 0; i < r->jobs.count; i++) {
        const mutant_result *m = &r->results[i];
        bool harm = m->foreign == FOREIGN_HARM;
        if (m->state != MUTANT_JUDGED || m->foreign == FOREIGN_NOT_PUT)
            continue;
        put++;
        if (m->foreign == FOREIGN_NO_ANSWER)
            continue;
        asked++;
        both += harm && m->harmful_there;
        neither += !harm && !m->harmful_there;
        simulator_alone += !harm && m->harmful_there;
        foreign_alone += harm && !m->harmful_there;
        proved += harm && m->verdict == VERDICT_PROVED;
        base += harm && m->foreign_base == FOREIGN_HARM;
        if (harm && (!m->harmful_there || m->verdict == VERDICT_PROVED || m->foreign_base == FOREIGN_HARM))
            print_mutant(r, i, m->foreign_said);
    }
    printf("oclgrind, a second judge, of %d mutants: both see harm in %d, neither in %d, the simulator alone in %d, oclgrind "
           "alone in %d; no answer to %d more\n\n",
           asked, both, neither, simulator_alone, foreign_alone, put - asked);
    bool answers = !put || asked;
    if (!answers)
        say(false, "oclgrind answers", "it gave none");
    return say(!proved && !foreign_alone && !base, "nothing that oclgrind objects to is proved or harmless in the simulator",
               "see above") &&
           answers;
}

static bool report_all(const mutation_run *r) {
    tally all = {0}, of[MUTATE_COUNT] = {0};
    int shown = 0;
    for (int i = 0; i < r->jobs.count; i++) {
        count_result(&all, &r->results[i]);
        count_result(&of[r->jobs.at[i].op], &r->results[i]);
    }
    printf("\n%-22s %6s %8s | %8s %8s %8s %8s | %8s %8s %8s\n", "mutation", "made", "checker", "harmful", "refuted", "unproved",
           "PROVED", "harmless", "proved", "unproved");
    for (int op = 0; op < MUTATE_COUNT; op++)
        if (of[op].all)
            print_row(mutation_table[op].name, &of[op]);
    print_row("all", &all);
    printf("\n%d harmful of affine kernels: %d refuted (%.1f%%); affine and not proved, harmful or not: %d\n", all.affine_harmful,
           all.affine_refuted, all.affine_harmful ? 100.0 * all.affine_refuted / all.affine_harmful : 100.0, all.affine_unknown);
    printf("%d witnesses: %d misbehave in the simulator, %d do not, %d cannot be run there; %d mutants did harm only at the "
           "prover's witness\n",
           all.witnesses, all.confirmed, all.unconfirmed, all.not_run, all.by_witness);
    printf("proofs: %.1f ms on average, %.0f ms at most\n", all.all > all.refused ? all.prove_ms / (all.all - all.refused) : 0,
           all.worst_prove_ms);
    print_least_confirmed(r);
    if (all.all < r->jobs.count)
        printf("%d of those chosen were not reached in the time given\n", r->jobs.count - all.all);
    bool foreign_agrees = report_foreign(r);
    for (int i = 0; i < r->jobs.count; i++) {
        const mutant_result *m = &r->results[i];
        bool unknown = m->state == MUTANT_JUDGED && m->verdict == VERDICT_UNKNOWN && m->affine;
        if (m->state == MUTANT_CRASHED)
            print_mutant(r, i, "CRASHED");
        else if (r->s.list && m->not_run)
            print_mutant(r, i, "WITNESS NOT RUN");
        else if (mutation_is_wrong(m))
            print_mutant(r, i, m->verdict == VERDICT_PROVED ? "PROVED BUT HARMFUL" : "REFUTED BUT HARMLESS THERE");
        else if (unknown && (r->s.list || shown++ < 20))
            print_mutant(r, i, "not proved");
        else if (r->s.list && m->state == MUTANT_JUDGED)
            print_mutant(r, i, m->harmful ? "harmful" : "harmless");
    }
    bool good = say(!all.crashed, "every mutant is judged", "some crashed or hung") && foreign_agrees;
    good = say(!all.harmful_proved, "no harmful mutant is proved", "see above") && good;
    good = say(!all.unconfirmed, "every witness that can be run misbehaves", "see above") && good;
    good = say(all.affine_refuted * 10 >= all.affine_harmful * 9, "at least 90% of the affine harmful ones are refuted",
               "too many are not") &&
           good;
    good = say(!all.affine_unknown, "every affine mutant is proved or refuted", "some are not, see above") && good;
    good = say(all.harmful > 0 && all.harmful > all.all / 20, "the mutants do harm",
               "too few do: the simulator or the launches are at fault") &&
           good;
    good = say(!r->bases.wrongly_refuted, "no kernel is refuted at a witness where it behaves", "see above") && good;
    return say(!r->bases.misbehaving, "no kernel misbehaves as it stands", "see above") && good;
}

static bool read_settings(settings *s, int argc, char **argv) {
    *s = (settings){.seed = 1, .foreign_one_in = 1, .workers = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--list")) {
            s->list = true;
            continue;
        }
        if (!strcmp(name, "--unproved")) {
            s->unproved = true;
            continue;
        }
        if (!value)
            return false;
        i++;
        if (!strcmp(name, "--count"))
            s->count = atoi(value);
        else if (!strcmp(name, "--seed"))
            s->seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--seconds"))
            s->seconds = atoi(value);
        else if (!strcmp(name, "--one-in"))
            s->one_in = atoi(value);
        else if (!strcmp(name, "--foreign-one-in"))
            s->foreign_one_in = atoi(value);
        else if (!strcmp(name, "--workers"))
            s->workers = atoi(value);
        else if (!strcmp(name, "--kernel"))
            s->kernel = value;
        else if (!strcmp(name, "--operator"))
            s->operators = value;
        else if (!strcmp(name, "--keep"))
            s->keep = value;
        else
            return false;
    }
    s->workers = s->workers < 1 ? 1 : s->workers > MOST_WORKERS ? MOST_WORKERS : s->workers;
    return true;
}

int main(int argc, char **argv) {
    mutation_run r = {.start = time(NULL)};
    if (!read_settings(&r.s, argc, argv)) {
        fprintf(stderr, "usage: mutate [--count N] [--seed N] [--kernel PART] [--one-in N] [--foreign-one-in N] [--operator "
                        "PART] [--keep FOLDER] [--seconds N] [--workers N] [--list] [--unproved]\n");
        return 2;
    }
    r.bases.arena = arena_new();
    r.bases.unproved_too = r.s.unproved;
    r.bases.one_in = r.s.one_in;
    bases_collect(&r.bases, r.s.kernel);
    for (int i = 0; i < r.bases.left_out.count; i++)
        printf("left out: %s\n", r.bases.left_out.at[i]);
    for (int i = 0; i < r.bases.items.count; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        kernel_ir *k = kernel_parse(a, r.bases.items.at[i].name, r.bases.items.at[i].text, &diags);
        site_list l = {&r, i, 0};
        mutation_sites(k, add_job, &l);
        arena_free(a);
    }
    int total = r.jobs.count;
    choose_jobs(&r);
    printf("%d kernels, %d left out; %d places to change, %d chosen\n", r.bases.items.count, r.bases.left_out.count, total,
           r.jobs.count);
    bool good = r.jobs.count > 0 && run_workers(&r) && report_all(&r);
    if (!r.jobs.count)
        printf("FAIL nothing to mutate\n");
    arena_free(r.bases.arena);
    return good ? 0 : 1;
}
