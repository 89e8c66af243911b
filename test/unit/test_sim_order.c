/* What orders accesses in the simulator, and what does not: asynchronous copies, mbarriers, matrix units, fences, atomics. */
#include "sim_trials.h"

/* 8 lanes copy a row into shared memory and read it reversed. */
#define COPIED(after_issue, after_wait)                                                                                          \
    "kernel k { symbol R task (r < R) lane (l < 8) global in x: f32[R, 8] global out y: f32[R, 8] shared s: f32[8]\n"            \
    "copy_async s[l] <- x[r, l] box [1]\n" after_issue "\n" after_wait "\nstore y[r, l] <- s[7 - l] }"

/* Step t works on slot t mod 2 while the copy for t + 1 is in flight. */
#define RING(left, first_barrier, slots)                                                                                         \
    "kernel k { symbol T task (r < 1) lane (l < 4) global in x: f32[T, 4] global out y: f32[T, 4] shared s: f32[" slots ", 4]\n" \
    "if 0 < T { copy_async s[0, l] <- x[0, l] box [1, 1] } commit\n"                                                             \
    "for t in 0 .. T {\n"                                                                                                        \
    "  wait_async " left " " first_barrier "\n"                                                                                  \
    "  if t + 1 < T { copy_async s[(t + 1 mod " slots "), l] <- x[t + 1, l] box [1, 1] } commit\n"                               \
    "  store y[t, l] <- s[(t mod " slots "), 3 - l] } }"

static void copies_run_until_they_are_waited_for(void **state) {
    (void)state;
    static const trial trials[] = {
        {"waited for, then shown to all", "R = 2", CLEAN, NULL, COPIED("commit wait_async 0", "barrier block orders shared")},
        {"shown, not waited for", "R = 1", SIM_RACE, "an asynchronous write", COPIED("commit", "barrier block orders shared")},
        {"waited for, not shown", "R = 1", SIM_RACE, "an asynchronous write", COPIED("commit wait_async 0", "")},
        {"one group still in flight", "R = 1", SIM_RACE, "an asynchronous write",
         COPIED("commit wait_async 1", "barrier block orders shared")},
        {"not committed", "R = 1", SIM_RACE, "an asynchronous write",
         COPIED("commit wait_async 0 copy_async s[l] <- x[r, l] box [1] wait_async 0", "barrier block orders shared")},
        {"two in flight into one cell", "R = 1", SIM_RACE, "asynchronously",
         COPIED("copy_async s[l] <- x[r, l] box [1] commit wait_async 0", "barrier block orders shared")},
        {"the barrier before the wait", "R = 1", SIM_RACE, NULL, COPIED("commit barrier block orders shared", "wait_async 0")},
        {"shown in global memory alone", "R = 1", SIM_RACE, NULL, COPIED("commit wait_async 0", "barrier block orders global")},
        {"a ring of three", "T = 7", CLEAN, NULL, RING("0", "barrier block orders shared", "3")},
        {"a ring of two: the copy overwrites what others still read", "T = 7", CLEAN, NULL,
         RING("0", "barrier block orders shared", "2")},
        {"a ring of one", "T = 7", SIM_RACE, "asynchronously", RING("0", "barrier block orders shared", "1")},
        {"a ring of three that waits too little", "T = 7", SIM_RACE, "an asynchronous write",
         RING("1", "barrier block orders shared", "3")},
        {"a ring of three without its barrier", "T = 7", SIM_RACE, NULL, RING("0", "", "3")},
        {"the source overwritten in flight", "", SIM_RACE, "an asynchronous read",
         "kernel k { symbol R task (t < 1) lane (l < 2) global update x: f32[2] shared s: f32[2]\n"
         "copy_async s[l] <- x[l] box [1] commit store x[l] <- 1:f32 wait_async 0 }"},
        {"the source overwritten after the wait", "", CLEAN, NULL,
         "kernel k { symbol R task (t < 1) lane (l < 2) global update x: f32[2] shared s: f32[2]\n"
         "copy_async s[l] <- x[l] box [1] commit wait_async 0 store x[l] <- 1:f32 }"},
        {"shared memory that is still being read when the block ends", "", SIM_ASYNC, "still reads shared memory",
         "kernel k { symbol R task (t < 1) lane (l < 2) global in x: f32[2] global out y: f32[2] shared s: f32[2]\n"
         "copy_async s[l] <- x[l] box [1] commit wait_async 0 copy_async y[l] <- s[l] box [1] commit }"},
        {"a register in flight", "", SIM_RACE, "`r[0]`",
         "kernel k { symbol R task (t < 1) lane (l < 2) global in x: f32[2] global out y: f32[2] private r: f32[1]\n"
         "intrinsic \"load\" (async writes r[0] box [1], async reads x[l] box [1]) commit store y[l] <- r[0] }"},
        {"a register that has landed", "", CLEAN, NULL,
         "kernel k { symbol R task (t < 1) lane (l < 2) global in x: f32[2] global out y: f32[2] private r: f32[1]\n"
         "intrinsic \"load\" (async writes r[0] box [1], async reads x[l] box [1]) commit wait_async 0 store y[l] <- r[0] }"},
    };
    RUN(trials);
}

static void asynchronous_units_need_proxy_fences(void **state) {
    (void)state;
#define SENT(fence, barrier)                                                                                                     \
    "kernel k { symbol M task (t < 1) lane (l < 8) global out y: f32[8] shared s: f32[8]\n"                                      \
    "store s[l] <- 1:f32 " fence " " barrier "\nif l == 0 { copy_async y[0] <- s[0] box [8] commit wait_async 0 } }"
    static const trial trials[] = {
        {"fenced by the writers", "", CLEAN, NULL, SENT("fence block orders shared proxy", "barrier block orders shared")},
        {"not fenced", "", SIM_ASYNC, "no `fence ... proxy`", SENT("", "barrier block orders shared")},
        {"fenced without the proxy", "", SIM_ASYNC, "no `fence ... proxy`",
         SENT("fence block orders shared", "barrier block orders shared")},
        {"fenced for global memory", "", SIM_ASYNC, "no `fence ... proxy`",
         SENT("fence block orders global proxy", "barrier block orders shared")},
        {"fenced, not ordered", "", SIM_RACE, "asynchronous", SENT("fence block orders shared proxy", "")},
        {"one thread alone needs it too", "", SIM_ASYNC, "no `fence ... proxy`",
         "kernel k { symbol M task (t < 1) lane (l < 1) global out y: f32[1] shared s: f32[1]\nstore s[0] <- 1:f32 copy_async "
         "y[0] <- s[0] box [1] commit wait_async 0 }"},
        {"by the matrix unit's own reading", "", SIM_ASYNC, "no `fence ... proxy`",
         "kernel k { symbol M task (t < 1) warpgroup (w < 1) lane (l < 4) shared s: f16[4, 4] fragment a: a f16 4 x 4 held by "
         "warpgroup\n"
         "fragment b: b f16 4 x 4 held by warpgroup fragment c: accumulator f32 4 x 4 held by warpgroup\n"
         "for i in 0 .. 4 { store s[l, i] <- convert(f16, 1:f32) } barrier block orders shared fragment_fill c <- 0:f32\n"
         "fragment_load a <- s[0, 0] rows 0 columns 1 by_reference fragment_load b <- s[0, 0] rows 0 columns 1 fragment_mma c <- "
         "a, b, c }"},
    };
    RUN(trials);
}

/* One producing lane copies into a ring of two slots; the consuming lanes of another subgroup take them. */
#define PIPE(producer_wait, consumer_wait, consumer_arrive, arrivals)                                                            \
    "kernel k { symbol T task (r < 1) subgroup (g < 2) lane (l < 4) global in x: f32[T, 4] global out y: f32[T, 4] shared s: "   \
    "f32[2, 4]\n"                                                                                                                \
    "mbarrier full[2] arrivals 1 mbarrier empty[2] arrivals " arrivals "\n"                                                      \
    "role producer if g == 0 and l == 0 { for t in 0 .. T { " producer_wait "\n"                                                 \
    "  copy_async s[(t mod 2), 0] <- x[t, 0] box [1, 4] signals full[(t mod 2)]\n"                                               \
    "  arrive full[(t mod 2)] by g == 0 and l == 0 } }\n"                                                                        \
    "role consumer if g == 1 { for t in 0 .. T { " consumer_wait "\n"                                                            \
    "  store y[t, l] <- s[(t mod 2), 3 - l] " consumer_arrive " } } }"
#define TURN_BEFORE "wait empty[(t mod 2)] phase floor(t / 2) - 1"
#define LANDED "wait full[(t mod 2)] phase floor(t / 2)"
#define TAKEN "arrive empty[(t mod 2)] by g == 1"

static void mbarriers_order_arrivals_before_waits(void **state) {
    (void)state;
    static const trial trials[] = {
        {"producer and consumer", "T = 9", CLEAN, NULL, PIPE(TURN_BEFORE, LANDED, TAKEN, "4")},
        {"the consumer does not wait", "T = 3", SIM_RACE, NULL, PIPE(TURN_BEFORE, "", TAKEN, "4")},
        {"the producer does not wait", "T = 3", SIM_RACE, "asynchronously", PIPE("", LANDED, TAKEN, "4")},
        {"one arrival too few is wanted", "T = 3", MISBEHAVES, NULL, PIPE(TURN_BEFORE, LANDED, TAKEN, "3")},
        {"one arrival too many is wanted", "T = 3", SIM_STUCK, "never completes", PIPE(TURN_BEFORE, LANDED, TAKEN, "5")},
        {"the slot is given back before it is read", "T = 5", SIM_RACE, NULL, PIPE(TURN_BEFORE, LANDED " " TAKEN, "", "4")},
        {"the producer waits for its own turn", "T = 3", SIM_STUCK, "never completes",
         PIPE("wait empty[(t mod 2)] phase floor(t / 2)", LANDED, TAKEN, "4")},
        {"a consumer one turn late", "T = 9", SIM_RACE, NULL,
         PIPE(TURN_BEFORE, "wait full[(t mod 2)] phase floor(t / 2) - 1", TAKEN, "4")},
        {"ordinary stores travel the same way", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) lane (l < 4) global out y: f32[4] shared s: f32[4] mbarrier m[1] arrivals 4\n"
         "store s[l] <- 1:f32 arrive m[0] wait m[0] phase 0 store y[l] <- s[3 - l] }"},
        {"what is stored after the arrival does not", "", SIM_RACE, "s[",
         "kernel k { symbol M task (t < 1) lane (l < 4) global out y: f32[4] shared s: f32[4] mbarrier m[1] arrivals 4\n"
         "arrive m[0] store s[l] <- 1:f32 wait m[0] phase 0 store y[l] <- s[3 - l] }"},
        {"a phase long past", "", SIM_STUCK, "phase 0 of `m` is waited for while phase 2 is current",
         "kernel k { symbol M task (t < 1) lane (l < 1) mbarrier m[1] arrivals 1 arrive m[0] arrive m[0] wait m[0] phase 0 }"},
        {"a copy issued after the arrival for its phase", "", SIM_RACE, NULL,
         "kernel k { symbol M task (t < 1) lane (l < 1) global in x: f32[2] global out y: f32[1] shared s: f32[2] mbarrier m[1] "
         "arrivals 1\n"
         "arrive m[0] copy_async s[0] <- x[0] box [2] signals m[0] wait m[0] phase 0 store y[0] <- s[1] }"},
        {"a copy that another thread's arrival follows", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (g < 2) lane (l < 1) global in x: f32[2] shared s: f32[2] mbarrier m[2] "
         "arrivals 1\n"
         "role one if g == 0 { copy_async s[0] <- x[0] box [2] signals m[0] arrive m[1] by g == 0 wait m[0] phase 0 }\n"
         "role two if g == 1 { wait m[1] phase 0 arrive m[0] by g == 1 } }"},
        {"a copy that no arrival is ordered after", "", SIM_ASYNC, "may complete before this copy is issued",
         "kernel k { symbol M task (t < 1) subgroup (g < 2) lane (l < 1) global in x: f32[2] global update f: u32[1] shared s: "
         "f32[2] mbarrier m[1] arrivals 1\n"
         "role one if g == 0 { copy_async s[0] <- x[0] box [2] signals m[0] atomic max f[0] <- 1:u32 scope block }\n"
         "role two if g == 1 { loop { atomic seen = max f[0] <- 0:u32 scope block break when seen == 1 } arrive m[0] by g == 1 } "
         "}"},
        {"an arrive of all that some do not reach", "", SIM_BARRIER, "another participant 0 times",
         "kernel k { symbol M task (t < 1) lane (l < 4) mbarrier m[1] arrivals 1 role one if l == 1 { arrive m[0] wait m[0] "
         "phase 0 } }"},
    };
    RUN(trials);
}

/* A product in flight: operand a by reference, b in registers. */
#define PRODUCT(after) PRODUCT_BEHIND("fence block orders shared proxy", after)
#define PRODUCT_BEHIND(fence, after)                                                                                             \
    "kernel k { symbol M task (t < 1) warpgroup (w < 1) subgroup (g < 1) lane (l < 4) global in x: f16[4, 4] global out y: "     \
    "f32[4, 4]\n"                                                                                                                \
    "shared s: f16[4, 4] fragment a: a f16 4 x 4 held by warpgroup fragment b: b f16 4 x 4 held by warpgroup\n"                  \
    "fragment c: accumulator f32 4 x 4 held by warpgroup fragment d: accumulator f32 4 x 4 held by warpgroup\n"                  \
    "copy_async s[l, 0] <- x[l, 0] box [1, 4] commit wait_async 0 " fence " barrier block orders shared\n"                       \
    "fragment_fill c <- 0:f32 fragment_fill d <- 0:f32 fragment_load a <- s[0, 0] rows 0 columns 1 by_reference\n"               \
    "fragment_load b <- x[0, 0] rows 0 columns 1 fragment_mma c <- a, b, c async\n" after                                        \
    "\nfragment_store y[0, 0] <- c rows 0 columns 1 }"

static void products_run_until_they_are_waited_for(void **state) {
    (void)state;
    static const trial trials[] = {
        {"waited for", "", CLEAN, NULL, PRODUCT("commit mma wait_async mma 0")},
        {"a copy by the threads with no fence behind it", "", SIM_ASYNC, "which a copy by the threads wrote",
         PRODUCT_BEHIND("", "commit mma wait_async mma 0")},
        {"a fence of another proxy", "", SIM_ASYNC, "which a copy by the threads wrote",
         PRODUCT_BEHIND("fence block orders shared", "commit mma wait_async mma 0")},
        {"a place that is named anew in flight", "", CLEAN, NULL,
         PRODUCT("fragment_load a <- s[0, 0] rows 0 columns 1 by_reference commit mma wait_async mma 0")},
        {"not waited for", "", SIM_ASYNC, "`c` is read while", PRODUCT("commit mma")},
        {"waited for as a copy", "", SIM_ASYNC, "`c` is read while", PRODUCT("commit mma wait_async 0")},
        {"the group left in flight", "", SIM_ASYNC, "`c` is read while", PRODUCT("commit mma wait_async mma 1")},
        {"not committed", "", SIM_ASYNC, "`c` is read while", PRODUCT("wait_async mma 0")},
        {"an operand overwritten in flight", "", SIM_ASYNC, "`b` is written while",
         PRODUCT("fragment_load b <- x[0, 0] rows 0 columns 1 commit mma wait_async mma 0")},
        {"products that add to one accumulator", "", CLEAN, NULL,
         PRODUCT("fragment_mma c <- a, b, c async commit mma wait_async mma 0")},
        {"a product that takes another's unfinished sum", "", SIM_ASYNC, "`c` is read while",
         PRODUCT("fragment_mma d <- a, b, c async commit mma wait_async mma 0")},
        {"memory overwritten under the matrix unit", "", SIM_RACE, "s[",
         PRODUCT("commit mma store s[l, 0] <- convert(f16, 1:f32) wait_async mma 0")},
        {"overwritten after the wait, by another lane", "", SIM_RACE, "s[",
         PRODUCT("commit mma wait_async mma 0 store s[3 - l, 0] <- convert(f16, 1:f32)")},
        {"overwritten after the wait and a barrier", "", CLEAN, NULL,
         PRODUCT("commit mma wait_async mma 0 barrier block orders shared store s[3 - l, 0] <- convert(f16, 1:f32)")},
    };
    RUN(trials);
}

static void atomics_and_fences(void **state) {
    (void)state;
    /* each task leaves a number; the last to draw a ticket reads them all */
#define LAST(before, after)                                                                                                      \
    "kernel k { symbol N task (t < N) lane (l < 1) global update part: f32[N] global update ticket: u32[1] global update sum: "  \
    "f32[1]\n"                                                                                                                   \
    "store part[t] <- 1:f32 " before " atomic drawn = add ticket[0] <- 1:u32 scope task " after "\n"                             \
    "if_value eq(drawn, convert(u32, sub(index(N), 1:index))) { for i in 0 .. N { store sum[0] <- add(sum[0], part[i]) } } }"
    static const trial trials[] = {
        {"tasks count together", "N = 5", CLEAN, NULL,
         "kernel k { symbol N task (t < N) lane (l < 2) global update c: u32[1] atomic add c[0] <- 1:u32 scope task }"},
        {"tasks count in a scope too small", "N = 5", SIM_RACE, "c[0]",
         "kernel k { symbol N task (t < N) lane (l < 2) global update c: u32[1] atomic add c[0] <- 1:u32 scope block }"},
        {"threads of a block count in its scope", "", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) lane (l < 4) shared c: u32[1] if l == 0 { store c[0] <- 0:u32 } barrier block orders "
         "shared\n"
         "atomic add c[0] <- 1:u32 scope block }"},
        {"blocks of a cluster do not share the block's scope", "", SIM_RACE, "c[0]",
         "kernel k { symbol N task (t < 1) cluster (q < 1) block (b < 2) lane (l < 1) global update c: u32[1] atomic add c[0] <- "
         "1:u32 scope block }"},
        {"they share the cluster's", "", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) cluster (q < 1) block (b < 2) lane (l < 1) global update c: u32[1] atomic add c[0] <- "
         "1:u32 scope cluster }"},
        {"an ordinary read beside an atomic", "N = 2", SIM_RACE, "c[0]",
         "kernel k { symbol N task (t < N) lane (l < 1) global update c: u32[1] global out y: u32[N] atomic add c[0] <- 1:u32 "
         "scope task store y[t] <- c[0] }"},
        {"fences on both sides of the ticket", "N = 4", CLEAN, NULL,
         LAST("fence task orders global", "fence task orders global")},
        {"no fence before", "N = 4", SIM_RACE, "part[", LAST("", "fence task orders global")},
        {"no fence after", "N = 4", SIM_RACE, "part[", LAST("fence task orders global", "")},
        {"fences of the block alone", "N = 4", SIM_RACE, "part[", LAST("fence block orders global", "fence block orders global")},
        {"a fence of other memory", "N = 4", SIM_RACE, "part[", LAST("fence task orders shared", "fence task orders global")},
        {"an atomic on what nothing has written", "", SIM_UNWRITTEN, "c[0]",
         "kernel k { symbol N task (t < 1) lane (l < 1) shared c: u32[1] atomic add c[0] <- 1:u32 scope block }"},
        {"threads of a block pass a message", "", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) lane (l < 2) shared s: f32[1] shared f: u32[1] global update y: f32[1]\n"
         "if l == 0 { store f[0] <- 0:u32 } barrier block orders shared\n"
         "if l == 0 { store s[0] <- 1:f32 fence block orders shared atomic max f[0] <- 1:u32 scope block }\n"
         "if l == 1 { loop { atomic seen = max f[0] <- 0:u32 scope block break when seen == 1 } fence block orders shared store "
         "y[0] <- s[0] } }"},
        {"a message without a fence", "", SIM_RACE, "s[0]",
         "kernel k { symbol N task (t < 1) lane (l < 2) shared s: f32[1] shared f: u32[1] global update y: f32[1]\n"
         "if l == 0 { store f[0] <- 0:u32 } barrier block orders shared\n"
         "if l == 0 { store s[0] <- 1:f32 atomic max f[0] <- 1:u32 scope block }\n"
         "if l == 1 { loop { atomic seen = max f[0] <- 0:u32 scope block break when seen == 1 } fence block orders shared store "
         "y[0] <- s[0] } }"},
    };
    RUN(trials);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_run_until_they_are_waited_for),
        cmocka_unit_test(asynchronous_units_need_proxy_fences),
        cmocka_unit_test(mbarriers_order_arrivals_before_waits),
        cmocka_unit_test(products_run_until_they_are_waited_for),
        cmocka_unit_test(atomics_and_fences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
