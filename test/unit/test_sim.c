/* The simulator against kernels that misbehave, each beside a twin that does not. */
#include "sim_trials.h"

static void accesses_outside_are_seen(void **state) {
    (void)state;
    static const trial trials[] = {
        {"inside", "M = 33", CLEAN, NULL,
         "kernel k { symbol M task (i0 < floor((M + 31) / 32)) global in x: f32[M] global out y: f32[M]\n"
         "for i in 32 * i0 .. min(M, 32 * i0 + 32) { store y[i] <- x[i] } }"},
        {"past the end", "M = 33", SIM_BOUNDS, "`x[33]` is outside: dimension 0 of `x` has 33",
         "kernel k { symbol M task (i0 < floor((M + 31) / 32)) global in x: f32[M] global out y: f32[M]\n"
         "for i in 32 * i0 .. 32 * i0 + 32 { store y[i] <- x[i] } }"},
        {"before the start", "M = 4", SIM_BOUNDS, "`x[-1]`",
         "kernel k { symbol M task (i < M) global in x: f32[M] global out y: f32[M] store y[i] <- x[i - 1] }"},
        {"another dimension", "M = 4", SIM_BOUNDS, "dimension 0 of `x` has 4",
         "kernel k { symbol M task (i < M) global in x: f32[M, 8] global out y: f32[M] store y[i] <- x[i + 1, 0] }"},
        {"masked lanes", "M = 21", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) global in x: f32[M] global out y: f32[M]\n"
         "for i in 0 .. M step 16 { store y[i:16] active M - i <- x[i:16] active M - i } }"},
        {"one lane too many", "M = 21", SIM_BOUNDS, "`x[21]`",
         "kernel k { symbol M task (t < 1) global in x: f32[M] global out y: f32[M]\n"
         "for i in 0 .. M step 16 { store y[i:16] active M - i <- x[i:16] active M - i + 1 } }"},
        {"a slice whose start and extent exceed the buffer", "M = 40", SIM_BOUNDS, "`s[32]`",
         "kernel k { symbol M task (t < 1) global in x: f32[M] global out y: f32[M] private s: f32[32]\n"
         "for i in 0 .. 40 { store s[i] <- x[i] } for i in 0 .. M { store y[i] <- s[i] } }"},
        {"gather within its bound", "V = 3, T = 5", CLEAN, NULL,
         "kernel k { symbol V, T task (t < T) global in ids: index[T] bound V global in x: f32[V] global out y: f32[T]\n"
         "let v: index = ids[t] store y[t] <- x[v] }"},
        {"a stated range", "T = 5", SIM_RANGE, "`v` is 4",
         "kernel k { symbol T task (t < T) global out y: index[T] let v: index in 0 .. 3 = index(t) store y[t] <- v }"},
        {"an mbarrier's slot", "", SIM_BOUNDS, "`m[2]`",
         "kernel k { symbol N task (t < 1) lane (l < 2) mbarrier m[2] arrivals 1 arrive m[l + 1] }"},
        {"an intrinsic's box", "N = 8", SIM_BOUNDS, "`x[8]`",
         "kernel k { symbol N task (t < 1) global in x: f32[N] private p: f32[1] intrinsic \"touch\" (reads x[4] box [5], writes "
         "p[0] box [1]) }"},
        {"a copy without clip", "N = 5", SIM_BOUNDS, "`x[5]`",
         "kernel k { symbol N task (t < 1) lane (l < 1) global in x: f32[N] shared s: f32[8]\ncopy_async s[0] <- x[0] box [8] "
         "commit wait_async 0 }"},
        {"a copy with clip", "N = 5", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) lane (l < 1) global in x: f32[N] shared s: f32[8]\ncopy_async s[0] <- x[0] box [8] "
         "clip commit wait_async 0 }"},
        {"a fragment at the edge", "M = 9", SIM_BOUNDS, "`a[9, 0]`",
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global in a: f32[M, 8] fragment f: a f32 8 x 8 held by "
         "subgroup\n"
         "fragment_load f <- a[8, 0] rows 0 columns 1 }"},
        {"a fragment within the edge", "M = 9", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global in a: f32[M, 8] fragment f: a f32 8 x 8 held by "
         "subgroup\n"
         "fragment_load f <- a[8, 0] rows 0 columns 1 within (M - 8, 8) }"},
        {"block formats", "N = 64", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) global in w: q8_0[N] global out y: f32[N]\nfor i in 0 .. N step 8 { store y[i:8] <- "
         "convert(f32, w[i:8]) } }"},
    };
    RUN(trials);
}

static void unwritten_reads_are_seen(void **state) {
    (void)state;
    static const trial trials[] = {
        {"private", "M = 2", SIM_UNWRITTEN, "`p[1]`",
         "kernel k { symbol M task (i < M) global out y: f32[M] private p: f32[2] store p[0] <- 1:f32 store y[i] <- p[1] }"},
        {"private, written", "M = 2", CLEAN, NULL,
         "kernel k { symbol M task (i < M) global out y: f32[M] private p: f32[2] store p[1] <- 1:f32 store y[i] <- p[1] }"},
        {"register", "M = 2", SIM_UNWRITTEN, "`p[]`",
         "kernel k { symbol M task (i < M) global out y: f32[M] register p: f32[] store y[i] <- p[] }"},
        {"a vector half written", "M = 2", SIM_UNWRITTEN, "`p[6]`",
         "kernel k { symbol M task (i < M) global out y: f32[M] private p: f32[8] store p[0:8] active 6 <- 1:f32x8 store y[i] <- "
         "lanes_sum(p[0:8]) }"},
        {"shared", "", SIM_UNWRITTEN, "`s[3]`",
         "kernel k { symbol M task (i < 1) lane (l < 4) global out y: f32[4] shared s: f32[4] if l < 3 { store s[l] <- 1:f32 }\n"
         "barrier block orders shared store y[l] <- s[l] }"},
        {"shared memory of the task before", "M = 2", SIM_UNWRITTEN, "`s[0]`",
         "kernel k { symbol M task (i < M) lane (l < 1) global out y: f32[M] shared s: f32[1] if i == 0 { store s[0] <- 1:f32 } "
         "store y[i] <- s[0] }"},
        {"an asynchronous copy without its zero fill", "N = 5", SIM_UNWRITTEN, "`s[",
         "kernel k { symbol N task (t < 1) lane (l < 8) global in x: f32[N] global out y: f32[8] shared s: f32[8]\n"
         "if l < N { copy_async s[l] <- x[l] box [1] } commit wait_async 0 barrier block orders shared store y[l] <- s[l] }"},
        {"the same with clip", "N = 5", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) lane (l < 8) global in x: f32[N] global out y: f32[8] shared s: f32[8]\n"
         "copy_async s[l] <- x[l] box [1] clip commit wait_async 0 barrier block orders shared store y[l] <- s[l] }"},
        {"fragment", "", SIM_UNWRITTEN, "element (0, 0) of fragment `f`",
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global out y: f32[4, 4] fragment f: accumulator f32 4 x "
         "4 held by subgroup\n"
         "fragment_store y[0, 0] <- f rows 0 columns 1 }"},
        {"fragment, filled", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global out y: f32[4, 4] fragment f: accumulator f32 4 x "
         "4 held by subgroup\n"
         "fragment_fill f <- 2:f32 fragment_store y[0, 0] <- f rows 0 columns 1 }"},
        {"through a view", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) global out y: u32[4] private p: f32[4] private v: u32[4] view p at 0\n"
         "for i in 0 .. 4 { store p[i] <- 1:f32 } for i in 0 .. 4 { store y[i] <- v[i] } }"},
        {"through a view, the bytes beside", "", SIM_UNWRITTEN, "`v[1]`",
         "kernel k { symbol M task (t < 1) global out y: u8[2] private p: f32[4] private v: u8[4] view p at 3\n"
         "store p[0] <- 1:f32 for i in 0 .. 2 { store y[i] <- v[i] } }"},
        {"update arrays hold values", "M = 3", CLEAN, NULL,
         "kernel k { symbol M task (i < M) global update y: f32[M] store y[i] <- add(y[i], 1:f32) }"},
    };
    RUN(trials);
}

/* 32 lanes in two subgroups write a tile and read each other's cells. */
#define EXCHANGE(between)                                                                                                        \
    "kernel k { symbol R task (r < R) subgroup (g < 2) lane (l < 16) global in x: f32[R, 32] global out y: f32[R, 32] shared "   \
    "s: f32[32]\n"                                                                                                               \
    "store s[16 * g + l] <- x[r, 16 * g + l]\n" between "\nstore y[r, 16 * g + l] <- s[31 - 16 * g - l] }"

static void races_are_seen(void **state) {
    (void)state;
    static const trial trials[] = {
        {"with a barrier", "R = 2", CLEAN, NULL, EXCHANGE("barrier block orders shared")},
        {"without", "R = 2", SIM_RACE, "s[", EXCHANGE("")},
        {"a barrier of global memory alone", "R = 2", SIM_RACE, "orders global memory alone",
         EXCHANGE("barrier block orders global")},
        {"a barrier of the subgroup alone", "R = 2", SIM_RACE, "s[", EXCHANGE("barrier subgroup orders shared")},
        {"a subgroup's exchange orders no memory", "R = 2", SIM_RACE, "s[", EXCHANGE("let z: f32 = subgroup_sum(x[r, l])")},
        {"within one subgroup its barrier does", "R = 1", CLEAN, NULL,
         "kernel k { symbol R task (r < R) subgroup (g < 2) lane (l < 16) global out y: f32[R, 32] shared s: f32[32]\n"
         "store s[16 * g + l] <- 1:f32 barrier subgroup orders shared store y[r, 16 * g + l] <- s[16 * g + 15 - l] }"},
        {"lanes of one subgroup are threads", "R = 1", SIM_RACE, "s[",
         "kernel k { symbol R task (r < R) subgroup (g < 2) lane (l < 16) global out y: f32[R, 32] shared s: f32[32]\n"
         "store s[16 * g + l] <- 1:f32 store y[r, 16 * g + l] <- s[16 * g + 15 - l] }"},
        {"two tasks, one cell", "M = 3", SIM_RACE,
         "i = ", "kernel k { symbol M task (i < M) global update y: f32[M] store y[0] <- 1:f32 }"},
        {"a scan in place", "M = 4", SIM_RACE, "y[",
         "kernel k { symbol M task (i < M - 1) global update y: f32[M] store y[i + 1] <- add(y[i], y[i + 1]) }"},
        {"a scratch reused while it is read", "R = 3", SIM_RACE, "s[",
         "kernel k { symbol R task (t < 1) lane (l < 8) global in x: f32[R, 8] global out y: f32[R, 8] shared s: f32[8]\n"
         "for r in 0 .. R { store s[l] <- x[r, l] barrier block orders shared store y[r, l] <- s[7 - l] } }"},
        {"the same with a second barrier", "R = 3", CLEAN, NULL,
         "kernel k { symbol R task (t < 1) lane (l < 8) global in x: f32[R, 8] global out y: f32[R, 8] shared s: f32[8]\n"
         "for r in 0 .. R { store s[l] <- x[r, l] barrier block orders shared store y[r, l] <- s[7 - l] barrier block orders "
         "shared } }"},
        {"a decision from a shared flag that others overwrite", "R = 3", SIM_RACE, "flag",
         "kernel k { symbol R task (t < 1) lane (l < 4) global in x: f32[R] global update y: f32[4] shared flag: i32[1]\n"
         "for r in 0 .. R { if l == 0 { store flag[0] <- convert(i32, x[r]) } barrier block orders shared\n"
         "if_value eq(flag[0], 0:i32) { store y[l] <- 1:f32 } } }"},
        {"persistent blocks, a tile between trips", "M = 5, G = 2", SIM_RACE, "s[",
         "kernel k { symbol M, G task (i < M) lane (l < 4) grid G global in x: f32[M, 4] global out y: f32[M, 4] shared s: "
         "f32[4] assume 1 <= G\n"
         "tasks n { store s[l] <- x[i, l] barrier block orders shared store y[i, l] <- s[3 - l] } }"},
        {"the same with the barrier at the end", "M = 5, G = 2", CLEAN, NULL,
         "kernel k { symbol M, G task (i < M) lane (l < 4) grid G global in x: f32[M, 4] global out y: f32[M, 4] shared s: "
         "f32[4] assume 1 <= G\n"
         "tasks n { store s[l] <- x[i, l] barrier block orders shared store y[i, l] <- s[3 - l] barrier block orders shared } }"},
        {"a fragment stored, then read by another lane", "", SIM_RACE, "s[",
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global out y: f32[4] shared s: f32[4, 4] fragment f: "
         "accumulator f32 4 x 4 held by subgroup\n"
         "fragment_fill f <- 2:f32 fragment_store s[0, 0] <- f rows 0 columns 1 store y[l] <- s[0, l] }"},
        {"with the subgroup's barrier", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global out y: f32[4] shared s: f32[4, 4] fragment f: "
         "accumulator f32 4 x 4 held by subgroup\n"
         "fragment_fill f <- 2:f32 fragment_store s[0, 0] <- f rows 0 columns 1 barrier subgroup orders shared store y[l] <- "
         "s[0, l] }"},
        {"a fragment taken and put back in place", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global update y: f32[4, 4] fragment f: accumulator f32 "
         "4 x 4 held by subgroup\n"
         "fragment_load f <- y[0, 0] rows 0 columns 1 fragment_map f (i, j) <- add(element(f), 1:f32)\nfragment_store y[0, 0] <- "
         "f rows 0 columns 1 }"},
        {"put back transposed", "", SIM_RACE, "y[",
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global update y: f32[4, 4] fragment f: accumulator f32 "
         "4 x 4 held by subgroup\n"
         "fragment_load f <- y[0, 0] rows 0 columns 1 fragment_store y[0, 0] <- f rows 1 columns 0 }"},
    };
    RUN(trials);
}

static void barriers_and_exchanges_need_everybody(void **state) {
    (void)state;
    static const trial trials[] = {
        {"some threads only", "", SIM_BARRIER, "2 of 4 threads reach this; another has ended",
         "kernel k { symbol M task (t < 1) lane (l < 4) shared s: f32[4] if l < 2 { barrier block orders shared } store s[l] <- "
         "1:f32 }"},
        {"a subgroup skips the barrier of the others", "", SIM_BARRIER, "g = 1",
         "kernel k { symbol M task (t < 1) subgroup (g < 2) lane (l < 2) shared s: f32[4] if g == 0 { store s[l] <- 1:f32 "
         "barrier block orders shared } }"},
        {"named participants", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (g < 2) lane (l < 2) shared s: f32[4]\n"
         "role a if g == 0 { store s[l] <- 1:f32 barrier block orders shared by g == 0 } }"},
        {"somebody who does not take part", "", SIM_BARRIER, "does not take part",
         "kernel k { symbol M task (t < 1) subgroup (g < 2) lane (l < 2) barrier block orders shared by g == 0 }"},
        {"different trip counts", "", SIM_BARRIER, NULL,
         "kernel k { symbol M task (t < 1) lane (l < 3) for i in 0 .. l + 1 { barrier block orders shared } }"},
        {"two barriers, met by halves", "", SIM_BARRIER, "waits elsewhere",
         "kernel k { symbol M task (t < 1) lane (l < 4) if l < 2 { barrier block orders shared } else { barrier block orders "
         "shared } }"},
        {"a subgroup's sum, some lanes only", "", SIM_DIVERGENCE, NULL,
         "kernel k { symbol M task (t < 1) lane (l < 4) global update y: f32[4] if l < 2 { let s: f32 = subgroup_sum(1:f32) "
         "store y[l] <- s } }"},
        {"a subgroup's sum, whole subgroups", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) subgroup (g < 2) lane (l < 4) global update y: f32[4]\n"
         "if g == 0 { let s: f32 = subgroup_sum(1:f32) store y[l] <- s } }"},
        {"a source lane that is not uniform", "", SIM_DIVERGENCE, "different sources",
         "kernel k { symbol M task (t < 1) lane (l < 4) global out y: f32[4] let s: f32 = subgroup_broadcast(1:f32, convert(i32, "
         "index(l))) store y[l] <- s }"},
        {"a source lane that does not exist", "", SIM_DIVERGENCE, "no lane 4",
         "kernel k { symbol M task (t < 1) lane (l < 4) global out y: f32[4] let s: f32 = shuffle(1:f32, 4:i32) store y[l] <- s "
         "}"},
        {"a fragment filled with different values", "", SIM_DIVERGENCE, "different operands",
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) fragment f: accumulator f32 4 x 4 held by subgroup "
         "fragment_fill f <- convert(f32, index(l)) }"},
        {"a fragment loaded from different places", "", SIM_DIVERGENCE, "different operands",
         "kernel k { symbol M task (t < 1) subgroup (w < 1) lane (l < 4) global in a: f32[8, 8] fragment f: a f32 4 x 4 held by "
         "subgroup\n"
         "fragment_load f <- a[l, 0] rows 0 columns 1 }"},
        {"an opaque loop that each thread leaves when it will", "", CLEAN, NULL,
         "kernel k { symbol M task (t < 1) lane (l < 4) register c: index[] global out y: f32[4]\n"
         "store c[] <- index(l) loop { let at: index = c[] break when 6 <= at store c[] <- add(c[], 2:index) }\nstore y[l] <- "
         "convert(f32, c[]) }"},
        {"a loop without an end", "", SIM_STEPS, "has not ended",
         "kernel k { symbol M task (t < 1) lane (l < 2) loop { comment \"turns\" } }"},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        run_trial(&trials[i], (sim_options){.zeros = true, .step_limit = 20000});
}

static void results_are_written_once(void **state) {
    (void)state;
    static const trial trials[] = {
        {"rows past the first unwritten", "R = 3, C = 4", SIM_UNCOVERED, "`y[1, 0]`, nor 7 other cells",
         "kernel k { symbol R, C task (i < R * C) global in x: f32[R, C] global out y: f32[R, C]\n"
         "let r = floor(i / max(C, 1)) let c = (i mod max(C, 1)) if i < C { store y[r, c] <- x[r, c] } }"},
        {"all rows", "R = 3, C = 4", CLEAN, NULL,
         "kernel k { symbol R, C task (i < R * C) global in x: f32[R, C] global out y: f32[R, C]\n"
         "let r = floor(i / max(C, 1)) let c = (i mod max(C, 1)) if i < R * C { store y[r, c] <- x[r, c] } }"},
        {"twice by one thread", "M = 1", SIM_TWICE, "`y[0]`",
         "kernel k { symbol M task (i < M) global out y: f32[M] store y[i] <- 1:f32 store y[i] <- 2:f32 }"},
        {"an update that promises", "M = 4", CLEAN, NULL,
         "kernel k { symbol M task (i < M) global update y: f32[M] cells (j) where j < 2 if i < 2 { store y[i] <- 1:f32 } }"},
        {"an update that breaks its promise", "M = 4", SIM_UNCOVERED, "`y[1]`, nor 0",
         "kernel k { symbol M task (i < M) global update y: f32[M] cells (j) where j < 2 if i < 1 { store y[i] <- 1:f32 } }"},
        {"an update written twice", "M = 4", SIM_TWICE, "`y[0]`",
         "kernel k { symbol M task (i < M) global update y: f32[M] cells (j) where j < 2 if i < 2 { store y[i] <- 1:f32 store "
         "y[i] <- 2:f32 } }"},
        {"an update beyond its promise", "M = 4", SIM_UNASKED, "`y[2]`",
         "kernel k { symbol M task (i < M) global update y: f32[M] cells (j) where j < 2 if i < 3 { store y[i] <- 1:f32 } }"},
        {"a reduction", "K = 37", CLEAN, NULL,
         "kernel k { symbol K task (t < 1) ghost used: f32[K] for i in 0 .. K step 16 { consume used[i:16] active K - i } }"},
        {"its remainder dropped", "K = 37", SIM_CONTRIBUTION, "`used[32]`, nor 4 other",
         "kernel k { symbol K task (t < 1) ghost used: f32[K] for i in 0 .. K - 15 step 16 { consume used[i:16] } }"},
        {"an index entered twice", "K = 37", SIM_CONTRIBUTION, "`used[15]` is consumed a second time",
         "kernel k { symbol K task (t < 1) ghost used: f32[K] for i in 0 .. K step 15 { consume used[i:16] active K - i } }"},
        {"a causal promise", "K = 5", CLEAN, NULL,
         "kernel k { symbol K task (t < K) ghost used: f32[K, K] cells (i, j) where j <= i for j in 0 .. t + 1 { consume used[t, "
         "j] } }"},
        {"more than the promise", "K = 5", SIM_CONTRIBUTION, "no part of the reduction",
         "kernel k { symbol K task (t < K) ghost used: f32[K, K] cells (i, j) where j <= i for j in 0 .. K { consume used[t, j] "
         "} }"},
        {"a grid-wide sum", "N = 5", CLEAN, NULL,
         "kernel k { symbol N task (t < N) lane (l < 2) global out y: f32[2] grid_reduce add y[l] <- 1:f32 }"},
        {"given twice by a task", "N = 5", SIM_TWICE, "two values",
         "kernel k { symbol N task (t < N) lane (l < 2) global out y: f32[1] grid_reduce add y[0] <- 1:f32 }"},
        {"given by nobody", "N = 0", SIM_UNCOVERED, "`y[0]`",
         "kernel k { symbol N task (t < N) global out y: f32[1] grid_reduce add y[0] <- 1:f32 }"},
        {"no tasks for no cells", "N = 0", CLEAN, NULL,
         "kernel k { symbol N task (t < N) global out y: f32[N] store y[t] <- 1:f32 }"},
    };
    RUN(trials);
}

static void integers_stay_in_their_width(void **state) {
    (void)state;
    static const trial wide[] = {
        {"a product past 64 bits", "N = 4294967296", SIM_OVERFLOW, "does not fit 64 bits",
         "kernel k { symbol N task (t < 1) register r: index[] store r[] <- index(N * N) }"},
        {"a divisor of zero", "N = 0", SIM_OVERFLOW, "divides",
         "kernel k { symbol N task (t < 1) register r: index[] store r[] <- index(floor(5 / N)) }"},
        {"a step of zero", "N = 0", SIM_OVERFLOW, "the step of `i`",
         "kernel k { symbol N task (t < 1) for i in 0 .. 5 step N { comment \"\" } }"},
    };
    static const trial narrow[] = {
        {"a last step past 32 bits", "N = 2147483646", SIM_OVERFLOW, "the last step of `i`",
         "kernel k { symbol N task (t < 1) for i in N - 1 .. N step 8 { comment \"\" } }"},
        {"a product past 32 bits", "N = 65536", SIM_OVERFLOW, "does not fit 32 bits",
         "kernel k { symbol N task (t < 1) register r: index[] store r[] <- index(N * 32768) }"},
        {"a product within 32 bits", "N = 65535", CLEAN, NULL,
         "kernel k { symbol N task (t < 1) register r: index[] store r[] <- index(N * 32768) }"},
    };
    RUN(wide);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        run_trial(&narrow[i], (sim_options){.zeros = true, .index_bits = 32});
}

static void layouts_keep_cells_apart(void **state) {
    (void)state;
#define THROUGH(layout)                                                                                                          \
    "kernel k { symbol R task (t < 1) global out y: f32[6, 10] private s: f32[6, 10] layout " layout "\n"                        \
    "for i in 0 .. 6 { for j in 0 .. 10 { store s[i, j] <- convert(f32, index(10 * i + j)) } }\n"                                \
    "for i in 0 .. 6 { for j in 0 .. 10 { store y[i, j] <- s[i, j] } } }"
    static const trial trials[] = {
        {"padded", "", CLEAN, NULL, THROUGH("pad(3)")},
        {"panels of rows", "", CLEAN, NULL, THROUGH("panel(0, 4)")},
        {"panels of columns", "", CLEAN, NULL, THROUGH("panel(1, 4)")},
        {"swizzled", "", CLEAN, NULL, THROUGH("swizzle(3, 0, 3)")},
        {"boxes", "", CLEAN, NULL, THROUGH("box(4, 4)")},
        {"swizzled boxes", "", CLEAN, NULL, THROUGH("box(4, 4) swizzle(2, 1, 2)")},
        {"strides", "R = 6", CLEAN, NULL,
         "kernel k { symbol R task (i < R, j < 3) global update y: f32[R, 3] layout strides(4, 1) store y[i, j] <- 1:f32 }"},
        {"strides that overlap", "R = 6", SIM_LAYOUT, "y[",
         "kernel k { symbol R task (i < R, j < 3) global update y: f32[R, 3] layout strides(2, 1) store y[i, j] <- 1:f32 }"},
        {"an input may repeat its rows", "R = 6", CLEAN, NULL,
         "kernel k { symbol R task (i < R, j < 3) global in x: f32[R, 3] layout strides(0, 1) global out y: f32[R, 3] store y[i, "
         "j] <- x[i, j] }"},
    };
    RUN(trials);
}

static void launches_that_break_declarations_are_refused(void **state) {
    (void)state;
    static const trial trials[] = {
        {"an assumption", "N = 3", REFUSED, "assumes `4 <= N`", "kernel k { symbol N task (t < 1) assume 4 <= N comment \"\" }"},
        {"an unnamed symbol that an assumption settles", "N = 9", CLEAN, NULL,
         "kernel k { symbol N, S task (t < S) global out y: f32[S] assume S == floor((N + 3) / 4) store y[t] <- 1:f32 }"},
        {"fragments beyond the limit", "", REFUSED, "1024 rows",
         "kernel k { symbol N task (t < 1) subgroup (w < 1) lane (l < 4) fragment f: accumulator f32 2000 x 4 held by subgroup\n"
         "fragment_fill f <- 1:f32 }"},
        {"a scalar's range", "s = 9", REFUSED, "`s` = 9",
         "kernel k { symbol N scalar s: i32 in 0 .. 8 task (t < 1) comment \"\" }"},
        {"no block", "G = 0", REFUSED, "the grid has no block",
         "kernel k { symbol G task (t < 3) grid G tasks n { comment \"\" } }"},
        {"no list", "N : 3", REFUSED, "a witness is a list", "kernel k { symbol N task (t < 1) comment \"\" }"},
        {"not an integer", "N = 1.5", REFUSED, "is an integer", "kernel k { symbol N task (t < 1) comment \"\" }"},
        {"more memory than is allowed", "N = 9000000000", REFUSED, "cannot be made",
         "kernel k { symbol N task (t < 1) global update x: f32[N] comment \"\" }"},
        {"more threads than there may be", "", REFUSED, "4096 threads",
         "kernel k { symbol N task (t < 1) subgroup (g < 200) lane (l < 32) comment \"\" }"},
        {"a lane's share of an unknown arrangement", "", REFUSED, "does not run lane_view",
         "kernel k { symbol N task (t < 1) subgroup (w < 1) lane (l < 4) global out y: f32[4] fragment f: accumulator f32 4 x 4 "
         "held by subgroup\n"
         "fragment_fill f <- 1:f32 store y[l] <- lane_view(f, 0) }"},
    };
    RUN(trials);
}

static void arguments_that_overlap_are_refused(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(
        a, "alias", "kernel k { symbol N task (t < N) global in x: f32[N] global out y: f32[N] store y[t] <- x[t] }", &diags);
    assert_non_null(k);
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t n = 4;
    sim_report report;
    assert_true(sim_run(a, k, &(sim_arguments){(void *[]){data, data + 4}, &n, NULL}, NULL, &report, &diags));
    assert_true(data[4] == 1 && data[7] == 4);
    assert_int_equal(report.tasks, 4);
    assert_false(sim_run(a, k, &(sim_arguments){(void *[]){data, data + 3}, &n, NULL}, NULL, &report, &diags));
    assert_string_equal(diags.items.at[0]->code, "E0711");
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_outside_are_seen),
        cmocka_unit_test(unwritten_reads_are_seen),
        cmocka_unit_test(races_are_seen),
        cmocka_unit_test(barriers_and_exchanges_need_everybody),
        cmocka_unit_test(results_are_written_once),
        cmocka_unit_test(integers_stay_in_their_width),
        cmocka_unit_test(layouts_keep_cells_apart),
        cmocka_unit_test(launches_that_break_declarations_are_refused),
        cmocka_unit_test(arguments_that_overlap_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
