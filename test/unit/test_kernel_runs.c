/* The texts of test/kernel-ir run in the simulator: nothing misbehaves at ragged and at whole sizes, under several interleavings; what they
 * compute is what the mathematics says; and a twin with one place broken is caught. */
#include "sim/sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL;
}

static char *read_text(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "test/kernel-ir/%s.kir", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot read %s (run from the project's root)", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return text;
}

static kernel_ir *parse(arena *a, const char *name, const char *text, diag_list *diags) {
    diag_init(diags, a);
    diag_add_source(diags, name, text);
    kernel_ir *k = kernel_parse(a, name, text, diags);
    if (!k || !kernel_check(k, diags)) {
        diag_print_all(diags, stderr, false);
        fail_msg("%s is refused", name);
    }
    return k;
}

/* Nothing misbehaves at these launch values. *kinds: what did, 1u << sim_kind. */
static bool behaves(const char *name, const char *text, const char *launch, uint64_t seed, unsigned *kinds, bool show) {
    arena *a = arena_new();
    diag_list diags;
    kernel_ir *k = parse(a, name, text, &diags);
    sim_options options = {.seed = seed};
    sim_report report = {0};
    bool well = sim_witness(a, k, launch, &options, &report, &diags);
    if (show && !well)
        diag_print_all(&diags, stderr, false);
    for (int i = 0; kinds && i < report.findings.count; i++)
        *kinds |= 1u << report.findings.at[i].kind;
    arena_free(a);
    return well;
}

static const struct {
    const char *name, *launches[3];
} texts[] = {
    {"packed_matmul", {"M = 13, N = 70, K = 130", "M = 1, N = 1, K = 1", "M = 3, N = 2, K = 0"}},
    {"direct_fragments", {"M = 1, N = 33, K = 9", "M = 70, N = 64, K = 16", "M = 3, N = 2, K = 0"}},
    {"staged_barrier", {"M = 1, N = 33, K = 9", "M = 65, N = 65, K = 17", "M = 3, N = 2, K = 0"}},
    {"staged_fragments", {"M = 33, N = 9, K = 41", "M = 64, N = 16, K = 64", "M = 3, N = 2, K = 0"}},
    {"task_fragments", {"M = 4, N = 33, K = 9", "M = 3, N = 32, K = 8", "M = 1, N = 1, K = 0"}},
    {"tiles_in_turn", {"R = 2, T = 40, len = 23", "R = 1, T = 64, len = 64", "R = 1, T = 1, len = 0"}},
    {"async_ring", {"M = 1, N = 33, K = 9", "M = 65, N = 65, K = 130", "M = 3, N = 2, K = 0"}},
    {"block_copies", {"M = 2, N = 70", "M = 1, N = 32", "M = 1, N = 0"}},
    {"producer_consumer", {"M = 1, N = 33, K = 9", "M = 130, N = 65, K = 400", "M = 3, N = 2, K = 0"}},
    {"bulk_ring", {"M = 1, N = 33, K = 9", "M = 130, N = 65, K = 330", "M = 3, N = 2, K = 0"}},
    {"warpgroup_ring", {"M = 1, N = 33, K = 9", "M = 130, N = 65, K = 200", "M = 3, N = 2, K = 0"}},
    {"filled_ring", {"M = 1, N = 33, K = 9", "M = 130, N = 65, K = 200", "M = 3, N = 2, K = 0"}},
    {"cross_subgroup_reduction", {"R = 2, C = 700", "R = 1, C = 5", "R = 1, C = 1"}},
    {"grid_reduction", {"N = 0", "N = 9000", "N = 4096"}},
    {"persistent_tasks", {"M = 65, N = 40, blocks = 2", "M = 3, N = 3, blocks = 5", "M = 0, N = 7, blocks = 1"}},
    {"swizzled_tile", {"M = 65, N = 40", "M = 32, N = 32", "M = 1, N = 1"}},
    {"pointer_style",
     {"n_src = 1000, n_dst = 1000, ne00 = 150, ne01 = 5, ld = 200", "n_src = 8, n_dst = 9, ne00 = 3, ne01 = 2, ld = 4", NULL}},
    {"subgroup_scan", {"R = 3, C = 70", "R = 1, C = 1", NULL}},
    {"fragment_attention", {"Q = 17, T = 33", "Q = 1, T = 1", "Q = 16, T = 16"}},
    {"fragment_beside", {"Q = 17, T = 33", "Q = 1, T = 1", NULL}},
    {"lane_view", {"K = 9", "K = 16", "K = 0"}},
    {"stepped_fragments", {"T = 3", "T = 1", NULL}},
    {"atomic_last_block", {"N = 9000, tasks_in_all = 3", "N = 1, tasks_in_all = 1", NULL}},
    {"exchanges", {"N = 50", "N = 1", NULL}},
    {"intrinsics", {"M = 100", "M = 64", NULL}},
    {"contracts", {"M = 17, N = 9", "M = 8, N = 8", NULL}},
    {"bulk_store", {"M = 24", "M = 8", "M = 0"}},
    {"softmax_argmax", {"R = 5, C = 40, len = 33", "R = 20, C = 17, len = 17", "R = 2, C = 3, len = 0"}},
    {"activations", {"T = 5, P = 3", "T = 1, P = 1", NULL}},
    {"quantize", {"R = 3, B = 2", "R = 1, B = 1", NULL}},
    {"counter_random", {"N = 1100", "N = 7", NULL}},
    {"gather_scatter", {"V = 7, S = 9, D = 70, T = 5, stride = 80", "V = 1, S = 1, D = 1, T = 1, stride = 1", NULL}},
};
enum { TEXTS = sizeof texts / sizeof *texts };

static void texts_behave(void **state) {
    (void)state;
    int seeds = quick() ? 1 : 3, launches = quick() ? 1 : 3;
    for (int i = 0; i < TEXTS; i += quick() ? 3 : 1) {
        char *text = read_text(texts[i].name);
        for (int l = 0; l < launches && texts[i].launches[l]; l++)
            for (int seed = 0; seed < seeds; seed++)
                if (!behaves(texts[i].name, text, texts[i].launches[l], (uint64_t)seed, NULL, true))
                    fail_msg("%s misbehaves at %s, seed %d", texts[i].name, texts[i].launches[l], seed);
        free(text);
    }
}

static void broken_twins_are_caught(void **state) {
    (void)state;
    static const struct {
        const char *name, *launch, *was, *becomes;
        sim_kind kind;
    } twins[] = {
        /* no barrier after the last read of a stage */
        {"staged_barrier", "M = 64, N = 64, K = 32", "        barrier block orders shared\n    }\n", "    }\n", SIM_RACE},
        /* the barrier fences other memory */
        {"swizzled_tile", "M = 32, N = 32", "orders shared", "orders global", SIM_RACE},
        /* a group still in flight is read */
        {"async_ring", "M = 64, N = 64, K = 96", "wait_async 1", "wait_async 2", SIM_RACE},
        /* the ring has a slot less than its users think */
        {"async_ring", "M = 64, N = 64, K = 160", "let s = (t + 2 mod 3)", "let s = (t + 3 mod 3)", SIM_RACE},
        /* what one thread still does is copied by another; what the block copies is read before its wait; threads of two minds */
        {"block_copies", "M = 1, N = 32", "        barrier block orders shared\n", "", SIM_RACE},
        {"block_copies", "M = 1, N = 64", "wait_async 1", "wait_async 2", SIM_RACE},
        {"block_copies", "M = 1, N = 32", "turned[0] box", "turned[min(l, 1)] box", SIM_DIVERGENCE},
        /* the producer does not wait for the slot to be free */
        {"producer_consumer", "M = 128, N = 8, K = 512", "phase floor(t / 4) - 1", "phase -1", SIM_RACE},
        /* the consumers leave before the matrix unit has read the slot */
        {"producer_consumer", "M = 128, N = 8, K = 512", "wait_async mma 0\n            arrive", "arrive", SIM_ASYNC},
        /* one warpgroup of two arrives: the slot never becomes free */
        {"producer_consumer", "M = 128, N = 8, K = 512", "arrive empty[(t mod 4)] by 1 <= g",
         "if g == 1 { arrive empty[(t mod 4)] by 1 <= g }", SIM_STUCK},
        /* the same, where nobody waits for the slot: an arrive has the participants it names */
        {"producer_consumer", "M = 1, N = 1, K = 1", "arrive empty[(t mod 4)] by 1 <= g", "arrive empty[(t mod 4)] by 2 <= g",
         SIM_BARRIER},
        {"producer_consumer", "M = 1, N = 1, K = 1", "arrive empty[(t mod 4)] by 1 <= g", "arrive empty[(t mod 4)]", SIM_BARRIER},
        /* the slot is left while this step's products still read it */
        {"bulk_ring", "M = 128, N = 8, K = 512", "wait_async mma 1", "wait_async mma 2", SIM_RACE},
        /* copies by the threads, which no proxy fence has published */
        {"warpgroup_ring", "M = 1, N = 1, K = 1", "        fence block orders shared proxy\n", "", SIM_ASYNC},
        /* two steps' products run on, and the slot of the older is filled */
        {"warpgroup_ring", "M = 128, N = 64, K = 256", "wait_async mma 1", "wait_async mma 2", SIM_RACE},
        /* the copies of this step are not waited for */
        {"warpgroup_ring", "M = 128, N = 64, K = 128", "wait_async 0\n", "wait_async 1\n", SIM_RACE},
        /* what threads have stored themselves, which no proxy fence has published */
        {"filled_ring", "M = 1, N = 1, K = 1", "    fence block orders shared proxy\n", "", SIM_ASYNC},
        /* threads fill the slot that the step before last still reads */
        {"filled_ring", "M = 1, N = 64, K = 256", "wait_async mma 1", "wait_async mma 2", SIM_RACE},
        /* sums are stored while they are added to */
        {"warpgroup_ring", "M = 1, N = 1, K = 1", "    wait_async mma 0\n", "", SIM_ASYNC},
        /* a value of data at the end of its type */
        {"persistent_tasks", "M = 1, N = 1, blocks = 1", "lookup[v]", "lookup[v + 1]", SIM_BOUNDS},
        /* lanes that hold nothing read what nobody wrote */
        {"cross_subgroup_reduction", "R = 1, C = 40", "if l < 8 {", "if l < 9 {", SIM_BOUNDS},
        {"cross_subgroup_reduction", "R = 1, C = 40", "if l == 0 {", "if l == 0 and g < 7 {", SIM_UNWRITTEN},
        /* a stride that skips */
        {"cross_subgroup_reduction", "R = 1, C = 600", "for c in 32 * g + l .. C step 256 {\n        store y",
         "for c in 32 * g + l .. C step 512 {\n        store y", SIM_UNCOVERED},
        /* the persistent loop's next trip overwrites what this one reads */
        {"persistent_tasks", "M = 96, N = 96, blocks = 2", "        barrier block orders shared\n    }\n", "    }\n", SIM_RACE},
        /* a barrier in a branch that not every thread takes */
        {"staged_barrier", "M = 64, N = 64, K = 16", "barrier block orders shared", "if sm == 0 { barrier block orders shared }",
         SIM_BARRIER},
        /* a bulk store of what no proxy fence has published */
        {"bulk_store", "M = 8", "fence block orders shared proxy\n", "\n", SIM_ASYNC},
        /* the last K mod 8 dropped: no cell is missed, but the ghost of the packed product tells */
        {"packed_matmul", "M = 2, N = 2, K = 9", "for k in 0 .. kn {\n                    let b0",
         "for k in 0 .. kn - 1 {\n                    let b0", SIM_CONTRIBUTION},
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i += quick() ? 6 : 1) {
        char *text = read_text(twins[i].name), *at = strstr(text, twins[i].was);
        if (!at)
            fail_msg("%s does not hold `%s`", twins[i].name, twins[i].was);
        char *twin = calloc(1, strlen(text) + strlen(twins[i].becomes) + 1);
        memcpy(twin, text, (size_t)(at - text));
        strcat(twin, twins[i].becomes);
        strcat(twin, at + strlen(twins[i].was));
        unsigned kinds = 0;
        for (uint64_t seed = 0; !(kinds >> twins[i].kind & 1) && seed < 6; seed++)
            behaves(twins[i].name, twin, twins[i].launch, seed, &kinds, false);
        if (!(kinds >> twins[i].kind & 1))
            fail_msg("%s with `%s`: expected %s, found 0x%x", twins[i].name, twins[i].becomes, sim_kinds[twins[i].kind].name,
                     kinds);
        free(twin);
        free(text);
    }
}

/* ---- values ---- */
typedef struct tensor {
    element_type type;
    int64_t cells;
    void *data;
} tensor;

static uint64_t random_state;

static double small_number(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int)((random_state >> 33) % 65) / 16 - 2; /* exact in f16; sums of products are exact in f32 */
}

static tensor new_tensor(element_type type, int64_t cells, bool fill) {
    tensor t = {type, cells, calloc(1, (size_t)element_bytes(type, cells) + 64)};
    for (int64_t i = 0; i < cells; i++)
        element_store(type, t.data, i, fill ? small_number() : 12345);
    return t;
}

static double at(const tensor *t, int64_t i) {
    return element_load(t->type, t->data, i);
}

static void run(const char *name, tensor *const *tensors, const int64_t *integers, const float *floats) {
    arena *a = arena_new();
    diag_list diags;
    char *text = read_text(name);
    kernel_ir *k = parse(a, name, text, &diags);
    void *arrays[8];
    int count = 0;
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL) {
            assert_int_equal(k->arrays.at[i]->element, tensors[count]->type);
            assert_int_equal(sim_array_bytes(k, k->arrays.at[i], integers),
                             element_bytes(tensors[count]->type, tensors[count]->cells));
            arrays[count] = tensors[count]->data;
            count++;
        }
    sim_arguments arguments = {arrays, integers, floats};
    sim_options options = {.seed = 7};
    sim_report report = {0};
    if (!sim_run(a, k, &arguments, &options, &report, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("%s misbehaves", name);
    }
    free(text);
    arena_free(a);
}

static void products_are_products(void **state) {
    (void)state;
    static const struct {
        const char *name;
        element_type operand;
    } products[] = {{"packed_matmul", ELEMENT_F32},  {"direct_fragments", ELEMENT_F16}, {"staged_barrier", ELEMENT_F32},
                    {"async_ring", ELEMENT_F16},     {"bulk_ring", ELEMENT_F16},        {"lane_view", ELEMENT_F32},
                    {"warpgroup_ring", ELEMENT_F16}, {"task_fragments", ELEMENT_BF16}};
    static const int64_t shapes[][3] = {{13, 33, 70}, {1, 1, 1}, {13, 70, 133}, {65, 33, 40}};
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        for (size_t s = 0; s < (quick() ? 1 : sizeof shapes / sizeof *shapes); s++) {
            bool fixed = !strcmp(products[p].name, "lane_view");
            int64_t m = fixed ? 8 : shapes[s][0], n = fixed ? 8 : shapes[s][1], k = shapes[s][2];
            random_state = p * 10 + s;
            tensor a = new_tensor(products[p].operand, m * k, true), b = new_tensor(products[p].operand, k * n, true);
            tensor c = new_tensor(ELEMENT_F32, m * n, false);
            int64_t sizes[] = {m, n, k};
            run(products[p].name, (tensor *[]){&a, &b, &c}, fixed ? &k : sizes, NULL);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    double sum = 0;
                    for (int64_t x = 0; x < k; x++)
                        sum += at(&a, i * k + x) * at(&b, x * n + j);
                    if (at(&c, i * n + j) != sum)
                        fail_msg("%s at %d %d %d: c[%d, %d] = %g, not %g", products[p].name, (int)m, (int)n, (int)k, (int)i,
                                 (int)j, at(&c, i * n + j), sum);
                }
            free(a.data);
            free(b.data);
            free(c.data);
        }
}

static void near_to(const char *what, double got, double expected) {
    if (!(fabs(got - expected) <= 1e-5 * (fabs(expected) + 1)))
        fail_msg("%s: %.9g, not %.9g", what, got, expected);
}

static void others_compute_what_they_say(void **state) {
    (void)state;
    random_state = 99;
    { /* rows of one matrix times rows of another */
        int64_t m = 35, n = 10, k = 41;
        tensor a = new_tensor(ELEMENT_F16, m * k, true), b = new_tensor(ELEMENT_F16, n * k, true),
               c = new_tensor(ELEMENT_F32, m * n, false);
        run("staged_fragments", (tensor *[]){&a, &b, &c}, (int64_t[]){m, n, k}, NULL);
        for (int64_t i = 0; i < m * n; i++) {
            double sum = 0;
            for (int64_t x = 0; x < k; x++)
                sum += at(&a, i / n * k + x) * at(&b, i % n * k + x);
            near_to("staged_fragments", at(&c, i), sum);
        }
        free(a.data);
        free(b.data);
        free(c.data);
    }
    { /* every place below `len` once, whichever thread takes it */
        int64_t t = 40, len = 23;
        tensor x = new_tensor(ELEMENT_F32, 2 * t * 8, true), y = new_tensor(ELEMENT_F32, 2 * 128, false);
        run("tiles_in_turn", (tensor *[]){&x, &y}, (int64_t[]){2, t, len}, NULL);
        for (int64_t r = 0; r < 2; r++) {
            double sum = 0, got = 0;
            for (int64_t i = 0; i < len * 8; i++)
                sum += at(&x, r * t * 8 + i);
            for (int64_t i = 0; i < 128; i++)
                got += at(&y, r * 128 + i);
            near_to("tiles_in_turn", got, sum);
        }
        free(x.data);
        free(y.data);
    }
    { /* rows divided by their root mean square */
        tensor x = new_tensor(ELEMENT_F32, 3 * 300, true), y = new_tensor(ELEMENT_F32, 3 * 300, false);
        run("cross_subgroup_reduction", (tensor *[]){&x, &y}, (int64_t[]){3, 300}, (float[]){0.5f});
        for (int r = 0; r < 3; r++) {
            double sum = 0;
            for (int c = 0; c < 300; c++)
                sum += at(&x, r * 300 + c) * at(&x, r * 300 + c);
            for (int c = 0; c < 300; c++)
                near_to("rms norm", at(&y, r * 300 + c), at(&x, r * 300 + c) / sqrt(sum / 300 + 0.5));
        }
        free(x.data), free(y.data);
    }
    if (quick()) /* texts_behave has run the others */
        return;
    { /* the sum of everything */
        tensor x = new_tensor(ELEMENT_F32, 9001, true), y = new_tensor(ELEMENT_F32, 1, false);
        run("grid_reduction", (tensor *[]){&x, &y}, (int64_t[]){9001}, NULL);
        double sum = 0;
        for (int i = 0; i < 9001; i++)
            sum += at(&x, i);
        near_to("sum", at(&y, 0), sum);
        free(x.data), free(y.data);
    }
    { /* a transpose */
        tensor x = new_tensor(ELEMENT_F32, 65 * 40, true), y = new_tensor(ELEMENT_F32, 65 * 40, false);
        run("swizzled_tile", (tensor *[]){&x, &y}, (int64_t[]){65, 40}, NULL);
        for (int i = 0; i < 65; i++)
            for (int j = 0; j < 40; j++)
                assert_true(at(&y, j * 65 + i) == at(&x, i * 40 + j));
        free(x.data), free(y.data);
    }
    { /* rows less their mean; what lies between the rows stays */
        tensor x = new_tensor(ELEMENT_F32, 5 * 200, true), y = new_tensor(ELEMENT_F32, 5 * 200, false);
        run("pointer_style", (tensor *[]){&x, &y}, (int64_t[]){1000, 1000, 150, 5, 200}, NULL);
        for (int r = 0; r < 5; r++) {
            double sum = 0;
            for (int c = 0; c < 150; c++)
                sum += at(&x, r * 200 + c);
            for (int c = 0; c < 200; c++)
                near_to("mean", at(&y, r * 200 + c), c < 150 ? at(&x, r * 200 + c) - sum / 150 : 12345);
        }
        free(x.data), free(y.data);
    }
    { /* softmax over the first min(C, len, r + 1) columns, and where the greatest stands */
        enum { R = 30, C = 40, LEN = 25 };
        tensor x = new_tensor(ELEMENT_F32, R * C, true), y = new_tensor(ELEMENT_F32, R * C, false),
               best = new_tensor(ELEMENT_I32, R, false);
        run("softmax_argmax", (tensor *[]){&x, &y, &best}, (int64_t[]){R, C, LEN}, NULL);
        for (int r = 0; r < R; r++) {
            int n = r + 1 < LEN ? r + 1 : LEN, lowest = 0;
            double sum = 0;
            for (int c = 0; c < n; c++) {
                sum += exp(at(&x, r * C + c));
                lowest = at(&x, r * C + c) > at(&x, r * C + lowest) ? c : lowest;
            }
            for (int c = 0; c < C; c++)
                near_to("softmax", at(&y, r * C + c), c < n ? exp(at(&x, r * C + c)) / sum : 0);
            assert_int_equal((int)at(&best, r), lowest);
        }
        free(x.data), free(y.data), free(best.data);
    }
    static const char *const attentions[] = {"fragment_attention", "fragment_beside"};
    for (int n = 0; n < 2; n++) { /* attention of 17 queries to 33 keys */
        enum { Q = 17, T = 33, D = 64 };
        tensor q = new_tensor(ELEMENT_F16, Q * D, true), k = new_tensor(ELEMENT_F16, T * D, true),
               v = new_tensor(ELEMENT_F16, T * D, true);
        tensor bias = new_tensor(ELEMENT_F32, T, true), o = new_tensor(ELEMENT_F32, Q * D, false);
        run(attentions[n], (tensor *[]){&q, &k, &v, &bias, &o}, (int64_t[]){Q, T}, (float[]){0.03125f});
        for (int i = 0; i < Q; i++) {
            double p[T], sum = 0;
            for (int t = 0; t < T; t++) {
                double dot = 0;
                for (int d = 0; d < D; d++)
                    dot += at(&q, i * D + d) * at(&k, t * D + d);
                sum += p[t] = exp(dot / 32 + at(&bias, t));
            }
            for (int d = 0; d < D; d++) {
                double value = 0;
                for (int t = 0; t < T; t++)
                    value += p[t] * at(&v, t * D + d);
                if (fabs(at(&o, i * D + d) - value / sum) > 4e-3) /* probabilities pass through f16 */
                    fail_msg("attention: %g, not %g", at(&o, i * D + d), value / sum);
            }
        }
        free(q.data), free(k.data), free(v.data), free(bias.data), free(o.data);
    }
    { /* running sums of 32 columns */
        tensor x = new_tensor(ELEMENT_F32, 2 * 70, true), prefix = new_tensor(ELEMENT_F32, 2 * 70, false);
        tensor spread = new_tensor(ELEMENT_F32, 2 * 70, false), rise = new_tensor(ELEMENT_F32, 2 * 70, false);
        run("subgroup_scan", (tensor *[]){&x, &prefix, &spread, &rise}, (int64_t[]){2, 70}, NULL);
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 70; c++) {
                double sum = 0;
                for (int e = c / 32 * 32; e <= c; e++)
                    sum += at(&x, r * 70 + e);
                near_to("running sum", at(&prefix, r * 70 + c), sum);
                if (c % 32 < 31 && c + 1 < 70)
                    near_to("difference", at(&rise, r * 70 + c), at(&x, r * 70 + c + 1) - at(&x, r * 70 + c));
            }
        free(x.data), free(prefix.data), free(spread.data), free(rise.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_behave),
        cmocka_unit_test(broken_twins_are_caught),
        cmocka_unit_test(products_are_products),
        cmocka_unit_test(others_compute_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
