/* Compare-and-exchange: what is proved of the thread that finds what all expect, of loops that try again, and of those that wait; and that the simulator agrees. */
#include "sim_trials.h"

#include "prove/prove.h"

#define BLOCK(body)                                                                                                              \
    "kernel k { symbol N task (t < 1) lane (l < 4) shared c: i32[1] register mine: i32[] global update y: i32[4] rewritable\n"   \
    "if l == 0 { store c[0] <- 0:i32 } store mine[] <- 0:i32 barrier block orders shared\n" body " store y[l] <- mine[] }"
#define TURN(first, second, expected, given, extra, found, lost)                                                                 \
    BLOCK("for i in 0 .. 4 { " first " let b: i32 = c[0] " second " if_value eq(mine[], 0:i32) {\n"                              \
          "atomic was = compare_exchange c[0] if " expected " <- " given " scope block " extra "\n"                              \
          "if_value eq(was, " expected ") { " found " } else { " lost " } } }")
#define MEET "barrier block orders shared"
#define READS "let now: i32 = c[0] store mine[] <- now"
#define NEXT "add(b, 1:i32)"

#define LOOP(guess, body)                                                                                                        \
    "kernel k { symbol N task (t < N) lane (l < 4) register own: u32[] global update c: u32[2] rewritable\n" guess               \
    " loop { let g: u32 = own[] " body " } }"
#define TRY "atomic was = compare_exchange c[0] if g <- add(g, 1:u32) scope task "

enum { NOTHING = -4 }; /* nothing is run */

static const struct {
    trial run;
    verdict verdict;     /* of the worst item */
    const char *subject; /* .. */
    const char *words;   /* of what is said of it */
} rows[] = {
    {{"a turn each round", "N = 1", CLEAN, NULL, TURN(MEET, MEET, "b", NEXT, "", READS, "")}, VERDICT_PROVED, "", ""},
    {{"from constants", "N = 1", CLEAN, NULL,
      BLOCK("atomic was = compare_exchange c[0] if 0:i32 <- 7:i32 scope block if_value eq(0:i32, was) { " READS " }")},
     VERDICT_PROVED,
     "",
     ""},
    {{"who did not find it reads", "N = 1", MISBEHAVES, NULL,
      TURN(MEET, MEET, "b", NEXT, "", "", "let now: i32 = c[0] store mine[] <- now")},
     VERDICT_UNKNOWN,
     "c",
     "depends on data"},
    {{"no barrier between reading and trying", "N = 1", NOTHING, NULL, TURN(MEET, "", "b", NEXT, "", READS, "")},
     VERDICT_UNKNOWN,
     "c",
     ""},
    {{"no barrier between rounds", "N = 1", NOTHING, NULL, TURN("", "", "b", NEXT, "", READS, "")}, VERDICT_UNKNOWN, "c", ""},
    {{"each expects its own number", "N = 1", NOTHING, NULL,
      TURN(MEET, MEET, "convert(i32, index(l))", "add(convert(i32, index(l)), 1:i32)", "", READS, "")},
     VERDICT_UNKNOWN,
     "c",
     ""},
    {{"what is given may be what is expected", "N = 1", NOTHING, NULL, TURN(MEET, MEET, "b", "mul(b, 2:i32)", "", READS, "")},
     VERDICT_UNKNOWN,
     "c",
     ""},
    {{"another atomic puts it back", "N = 1", NOTHING, NULL,
      TURN(MEET, MEET, "b", NEXT, "", READS " atomic exchange c[0] <- b scope block", "")},
     VERDICT_UNKNOWN,
     "c",
     "depends on data"},
    {{"a plain store puts it back", "N = 1", MISBEHAVES, NULL, TURN(MEET, MEET, "b", NEXT, "", READS " store c[0] <- b", "")},
     VERDICT_UNKNOWN,
     "c",
     "depends on data"},
    {{"a sum by trying again", "N = 3", CLEAN, NULL,
      LOOP("store own[] <- 0:u32", TRY "if_value eq(was, g) { break } store own[] <- was")},
     VERDICT_PROVED,
     "",
     ""},
    {{"a guess read atomically", "N = 3", CLEAN, NULL,
      LOOP("atomic first = compare_exchange c[0] if 0:u32 <- 0:u32 scope task store own[] <- first",
           TRY "if_value not(ne(g, was)) { break } store own[] <- was")},
     VERDICT_PROVED,
     "",
     ""},
    {{"a guess that is a plain read", "N = 3", SIM_RACE, "c[0]",
      LOOP("let first: u32 = c[0] store own[] <- first", TRY "if_value eq(was, g) { break } store own[] <- was")},
     VERDICT_UNKNOWN,
     "c",
     ""},
    {{"a lock", "N = 3", NOTHING, NULL,
      LOOP("store own[] <- 0:u32",
           "atomic was = compare_exchange c[0] if 0:u32 <- 1:u32 scope task if_value eq(was, 0:u32) { break }")},
     VERDICT_UNKNOWN,
     "k",
     "goes on until another thread"},
    {{"a lock by exchange", "N = 3", NOTHING, NULL,
      LOOP("store own[] <- 0:u32", "atomic was = exchange c[0] <- 1:u32 scope task if_value eq(was, 0:u32) { break }")},
     VERDICT_UNKNOWN,
     "k",
     "goes on until another thread"},
    {{"a guess that stays as it is", "N = 3", NOTHING, NULL, LOOP("store own[] <- 0:u32", TRY "if_value eq(was, g) { break }")},
     VERDICT_UNKNOWN,
     "k",
     "goes on until another thread"},
    {{"a guess that is kept at times", "N = 3", NOTHING, NULL,
      LOOP("store own[] <- 0:u32", TRY "if_value eq(was, g) { break } if_value lt(was, 9:u32) { store own[] <- was }")},
     VERDICT_UNKNOWN,
     "k",
     "goes on until another thread"},
    {{"one side leaves, the other keeps", "N = 3", CLEAN, NULL,
      LOOP("store own[] <- 0:u32", TRY "if_value eq(was, g) { break } else { store own[] <- was }")},
     VERDICT_PROVED,
     "",
     ""},
    {{"a way out by a value that was kept", "N = 3", NOTHING, NULL,
      LOOP("store own[] <- 0:u32", "if_value eq(g, 1:u32) { break } atomic was = bit_or c[1] <- 0:u32 scope task if_value "
                                   "eq(was, 5:u32) { store own[] <- 1:u32 }")},
     VERDICT_UNKNOWN,
     "k",
     "goes on until another thread"},
    {{"numbers drawn until there are none left", "N = 3", CLEAN, NULL,
      LOOP("store own[] <- 0:u32", "atomic was = add c[0] <- 1:u32 scope task if_value le(5:u32, was) { break }")},
     VERDICT_PROVED,
     "",
     ""},
    {{"a plain read beside a failing exchange, in another block's sight", "N = 2", NOTHING, NULL,
      "kernel k { symbol N task (t < N) lane (l < 1) global update c: u32[1] global out y: u32[N]\n"
      "atomic compare_exchange c[0] if 5:u32 <- 6:u32 scope task store y[t] <- c[0] }"},
     VERDICT_UNKNOWN,
     "c",
     "whether a compare-and-exchange finds what it expects"},
    {{"a plain read beside atomic reads", "N = 2", CLEAN, NULL,
      "kernel k { symbol N task (t < N) lane (l < 1) global update c: u32[1] global out y: u32[N]\n"
      "atomic compare_exchange c[0] if 5:u32 <- 5:u32 scope task store y[t] <- c[0] }"},
     VERDICT_PROVED,
     "",
     ""},
    {{"a plain write beside one", "N = 2", SIM_RACE, "c[0]",
      "kernel k { symbol N task (t < 1) lane (l < 2) global update c: u32[1] rewritable\n"
      "if l == 0 { store c[0] <- 1:u32 } else { atomic compare_exchange c[0] if 5:u32 <- 6:u32 scope task } }"},
     VERDICT_REFUTED,
     "c",
     ""},
    {{"atomic stores, read behind a barrier", "N = 1", CLEAN, NULL,
      "kernel k { symbol N task (t < N) lane (l < 4) shared c: i32[2] global out y: i32[N, 4]\n"
      "if l < 2 { atomic exchange c[l] <- 3:i32 scope block } barrier block orders shared store y[t, l] <- c[(l mod 2)] }"},
     VERDICT_PROVED,
     "",
     ""},
    {{"an exchange of what nothing has set", "N = 1", SIM_UNWRITTEN, "c[0]",
      "kernel k { symbol N task (t < N) lane (l < 2) shared c: i32[2] global out y: i32[N, 2]\n"
      "atomic old = exchange c[0] <- 3:i32 scope block store y[t, l] <- old }"},
     VERDICT_REFUTED,
     "c",
     ""},
    {{"a message by ordered atomics between tasks", "N = 2", CLEAN, NULL,
      "kernel k { symbol N task (t < 2) lane (l < 1) global update c: u32[1] rewritable global update d: f32[1] rewritable "
      "global out y: f32[1]\n"
      "if t == 0 { store d[0] <- 1:f32 atomic exchange c[0] <- 1:u32 scope task ordered }\n"
      "if t == 1 { atomic was = add c[0] <- 0:u32 scope task ordered if_value eq(was, 1:u32) { let m: f32 = d[0] store y[0] <- m "
      "} else { store y[0] <- 0:f32 } } }"},
     VERDICT_UNKNOWN,
     "d",
     ""},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void verdicts(void **state) {
    (void)state;
    const target_limits limits = {.target = "sim",
                                  .private_bytes = 1 << 20,
                                  .shared_bytes = 1 << 16,
                                  .threads_per_block = 1024,
                                  .index_bits = 64,
                                  .largest_extent = (int64_t)1 << 31,
                                  .has_lanes = true};
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        kernel_ir *k = kernel_parse(a, rows[i].run.name, rows[i].run.text, &diags);
        if (!k)
            show(&diags, rows[i].run.name, "does not parse");
        assert_non_null(k);
        proof p;
        bool fine = prove_kernel(a, k, &limits, &p, &diags), told = fine && rows[i].verdict == VERDICT_PROVED;
        for (int j = 0; j < p.items.count && !told; j++) {
            const proof_item *t = &p.items.at[j];
            told = t->verdict == rows[i].verdict && t->verdict != VERDICT_PROVED && !strcmp(t->subject, rows[i].subject) &&
                   strstr(t->explanation, rows[i].words);
        }
        if (!told || p.refuted != (rows[i].verdict == VERDICT_REFUTED)) {
            show(&diags, rows[i].run.name, fine ? "is proved" : "is judged otherwise");
            wrong++;
        }
        arena_free(a);
    }
    assert_int_equal(wrong, 0);
}

static void runs(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].run.expected != NOTHING)
            run_trial(&rows[i].run, (sim_options){.zeros = true});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts), cmocka_unit_test(runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
