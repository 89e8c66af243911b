/* Failures prove nothing: whichever operation on sets fails, whichever allocation, no broken kernel is proved, no right one refuted, and nothing
 * crashes. Every index in turn for small kernels, a sample for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prove/model.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL;
}

/* ---- an allocator that fails once ---- */

#if defined(__SANITIZE_ADDRESS__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#if !defined(OWN_ALLOCATOR) && defined(__GLIBC__)
#define OWN_ALLOCATOR 1
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 0
#endif

static unsigned long allocations, failing; /* the one that fails, 0: none */

#if OWN_ALLOCATOR
#define VISIBLE __attribute__((visibility("default"))) /* to isl, too */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool denied(void) {
    allocations++;
    if (!failing || allocations != failing)
        return false;
    errno = ENOMEM;
    return true;
}
VISIBLE void *malloc(size_t size) {
    return denied() ? NULL : __libc_malloc(size);
}
VISIBLE void *calloc(size_t count, size_t size) {
    return denied() ? NULL : __libc_calloc(count, size);
}
VISIBLE void *realloc(void *old, size_t size) {
    return denied() ? NULL : __libc_realloc(old, size);
}
#endif

/* ---- kernels ---- */

/* Small ones: each has a right twin. */
static const struct {
    const char *name, *broken, *right;
} small[] = {
    {"a loop one long", "kernel k { symbol N task (t < 1) global out y: f32[N] for i in 0 .. N + 1 { store y[i] <- 0:f32 } }",
     "kernel k { symbol N task (t < 1) global out y: f32[N] for i in 0 .. N { store y[i] <- 0:f32 } }"},
    {"no barrier",
     "kernel k { symbol N task (t < N) lane (l < 4) global out y: f32[N, 4] shared s: f32[4] store s[l] <- 0:f32 store y[t, l] "
     "<- s[3 - l] }",
     "kernel k { symbol N task (t < N) lane (l < 4) global out y: f32[N, 4] shared s: f32[4] store s[l] <- 0:f32 barrier block "
     "orders shared "
     "store y[t, l] <- s[3 - l] }"},
    {"never written",
     "kernel k { symbol N task (t < N) global out y: f32[N] register s: f32[] if 1 <= t { store s[] <- 0:f32 } store y[t] <- s[] "
     "}",
     "kernel k { symbol N task (t < N) global out y: f32[N] register s: f32[] store s[] <- 0:f32 store y[t] <- s[] }"},
};

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static proof judge(arena *a, const char *text, bool *proved) {
    diag_list diags;
    diag_init(&diags, a);
    proof p = {0};
    kernel_ir *k = kernel_parse(a, "fault", text, &diags);
    target_limits limits = {.target = "sim",
                            .private_bytes = 1 << 20,
                            .shared_bytes = 232448,
                            .threads_per_block = 1024,
                            .index_bits = strstr(text, "offset_32bit") ? 32 : 64,
                            .largest_extent = (int64_t)1 << 31,
                            .has_lanes = true};
    *proved = k && prove_kernel(a, k, &limits, &p, &diags);
    return p;
}

/* ---- operations on sets ---- */

typedef struct trials {
    unsigned long tried, longest, right_kept;
} trials;

static void fail_operations(const char *name, const char *text, bool right, unsigned long sampling, trials *t) {
    bool reached = true;
    for (unsigned long n = 1; reached; n += sampling ? 1 + n / sampling : 1) {
        arena *a = arena_new();
        bool proved;
        sets_fail_at(n);
        proof p = judge(a, text, &proved);
        reached = !sets_fault_pending();
        sets_fail_at(0);
        if (proved && !right)
            print_message("%s is proved when operation %lu fails\n", name, n);
        if (right && p.refuted)
            print_message("%s, which is right, is refuted when operation %lu fails\n", name, n);
        assert_true(right || !proved);
        assert_true(!right || !p.refuted);
        t->right_kept += right && proved;
        t->longest = n > t->longest ? n : t->longest;
        t->tried++;
        arena_free(a);
    }
}

static void test_every_operation_fails(void **state) {
    (void)state;
    trials t = {0};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        fail_operations(small[i].name, small[i].broken, false, quick() ? 3 : 0, &t);
        fail_operations(small[i].name, small[i].right, true, quick() ? 3 : 0, &t);
    }
    print_message("%lu failures, each of up to %lu operations; %lu of right kernels left them proved\n", t.tried, t.longest,
                  t.right_kept);
    assert_true(t.tried > (quick() ? 15 : 300));
}

static void test_operations_fail_by_sample(void **state) {
    (void)state;
    trials t = {0};
    DIR *d = opendir("test/kernel-ir/defects");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 4, ".kir") || (quick() && n % 22))
            continue;
        char path[512];
        snprintf(path, sizeof path, "test/kernel-ir/defects/%s", e->d_name);
        char *text = read_text(path);
        fail_operations(e->d_name, text, strstr(e->d_name, "_mended") != NULL, quick() ? 2 : 10, &t);
        free(text);
    }
    closedir(d);
    print_message("%lu failures, among up to %lu operations\n", t.tried, t.longest);
}

/* ---- allocations: each in a process of its own, which may end for want of memory ---- */

enum { ENDED_RIGHT, ENDED_WRONG = 17, OUT_OF_MEMORY = 3 };

static unsigned long count_allocations(const char *text) {
    unsigned long before = allocations;
    arena *a = arena_new();
    bool proved;
    judge(a, text, &proved);
    arena_free(a);
    return allocations - before;
}

static int run_without(const char *text, bool right, unsigned long n) {
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], SIG_DFL); /* the test runner has handlers of its own */
        alarm(20);
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        failing = allocations + n;
        arena *a = arena_new();
        bool proved;
        proof p = judge(a, text, &proved);
        failing = 0;
        _exit(right ? (p.refuted ? ENDED_WRONG : ENDED_RIGHT) : proved ? ENDED_WRONG : ENDED_RIGHT);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static void test_every_allocation_fails(void **state) {
    (void)state;
    if (!OWN_ALLOCATOR || quick()) {
        print_message("skipped: the allocator is a sanitizer's, or valgrind's\n");
        skip();
    }
    unsigned long tried = 0, gave_up = 0, ended = 0, all = 0, most = 0;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        for (int right = 0; right < 2; right++) {
            /* another name, so that no proof of the kernel is kept from before */
            char text[1024];
            snprintf(text, sizeof text, "kernel no_memory_%zu_%d%s", i, right,
                     strstr(right ? small[i].right : small[i].broken, " {"));
            unsigned long count = 0;
            int status = run_without(text, right, 0);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == ENDED_RIGHT);
            pid_t child; /* a proof in this process would be kept */
            int ends[2];
            assert_int_equal(pipe(ends), 0);
            if (!(child = fork())) {
                count = count_allocations(text);
                _exit(write(ends[1], &count, sizeof count) == (ssize_t)sizeof count ? 0 : 1);
            }
            assert_true(child > 0 && read(ends[0], &count, sizeof count) == (ssize_t)sizeof count);
            close(ends[0]);
            close(ends[1]);
            waitpid(child, &status, 0);
            all += count;
            most = count > most ? count : most;
            unsigned long step = right ? 19 : 1, inside = 0;
            for (unsigned long n = 1; n <= count; n += step) {
                status = run_without(text, right, n);
                bool wrong = WIFEXITED(status) && WEXITSTATUS(status) == ENDED_WRONG;
                /* GMP, the number library behind isl, ends the process by abort(). isl_ctx_alloc itself does not survive two of its allocations. */
                bool fault = WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT;
                inside += fault;
                bool crashed = fault && inside > 2;
                if (wrong || crashed)
                    print_message("%s: allocation %lu of %lu fails: %s\n", small[i].name, n, count,
                                  wrong ? "a wrong verdict" : "a crash");
                assert_false(wrong);
                assert_false(crashed);
                tried++;
                ended += WIFSIGNALED(status) || WEXITSTATUS(status) == OUT_OF_MEMORY;
                gave_up += WIFEXITED(status) && WEXITSTATUS(status) == ENDED_RIGHT;
            }
        }
    print_message(
        "%lu failing allocations of %lu (up to %lu a proof): %lu ended with the right verdict or none, %lu for want of memory\n",
        tried, all, most, gave_up, ended);
}

/* ---- budgets ---- */

/* Whatever the steps of a question: what they do not suffice for is not proved, and says why. */
static void test_budgets_end_in_giving_up(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*judge)(prover *p);
    } properties[] = {{"order", judge_order},
                      {"bounds", judge_bounds},
                      {"initialised", judge_initialised},
                      {"race", judge_race},
                      {"coverage", judge_coverage}};
    enum { PROPERTIES = sizeof properties / sizeof *properties };
    int gave_up = 0, whole = 0;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        for (int right = 0; right < 2; right++)
            for (unsigned long operations = 1; operations < 100000; operations += 1 + operations / 4) {
                arena *a = arena_new();
                diag_list diags;
                diag_init(&diags, a);
                proof of = {0};
                kernel_ir *k = kernel_parse(a, "budget", right ? small[i].right : small[i].broken, &diags);
                target_limits limits = {.target = "sim",
                                        .private_bytes = 1 << 20,
                                        .shared_bytes = 232448,
                                        .threads_per_block = 1024,
                                        .index_bits = 64,
                                        .largest_extent = (int64_t)1 << 31,
                                        .has_lanes = true};
                sets *s = sets_new(operations);
                assert_true(k && s);
                prover p = {.arena = a, .kernel = k, .limits = &limits, .proof = &of, .diags = &diags, .code = "E0401"};
                p.m = model_new(a, s, k, &limits, NULL);
                for (int j = 0; j < PROPERTIES; j++) {
                    p.property = properties[j].name;
                    properties[j].judge(&p);
                }
                assert_true(right ? !of.refuted : of.refuted + of.unknown > 0);
                for (int j = 0; j < of.items.count; j++) {
                    bool unknown = of.items.at[j].verdict == VERDICT_UNKNOWN;
                    if (unknown && !strstr(of.items.at[j].explanation, "gave up on"))
                        print_message("%s, %lu operations: %s of %s: %s\n", small[i].name, operations, of.items.at[j].property,
                                      of.items.at[j].subject, of.items.at[j].explanation);
                    assert_true(!unknown || strstr(of.items.at[j].explanation, "gave up on"));
                    gave_up += unknown;
                }
                whole += right && !of.unknown;
                sets_free(s);
                arena_free(a);
            }
    print_message("gave up on %d items; %d budgets sufficed for all of a right kernel\n", gave_up, whole);
    assert_true(gave_up > 0 && whole > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budgets_end_in_giving_up),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_every_operation_fails),
        cmocka_unit_test(test_operations_fail_by_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
