/* A stranger's program over include/tilec.h: prints `ok NAME` and `FAIL NAME` lines. */
#include <tilec.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static void report(const char *name, bool good, const char *why) {
    printf("%s %s\n", good ? "ok" : "FAIL", name);
    if (!good)
        printf("    %s\n", why);
    failures += !good;
}

static const char text[] =
    "kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }\n"
    "kernel product(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) {\n"
    "    for tile c[i: BM, j: BN] { acc: f32[i, j] = 0  for k: BK in K { acc += a[i, k] @ b[k, j] }  c[i, j] = acc }\n"
    "}\n"
    "kernel total_part(x: f32[N]) -> (s: f32[S]) static CH = 16 where S == (N + CH - 1) / CH {\n"
    "    for tile s[c: 1] { t: f32[c] = 0  for n: BN in N where c * CH <= n and n < (c + 1) * CH { t += sum[n](x[n]) }  s[c] = t "
    "}\n"
    "}\n"
    "kernel total_rest(s: f32[S]) -> (t: f32[1]) {\n"
    "    for tile t[o: 1] { a: f32[o] = 0  for c: BC in S { a += sum[c](s[c]) }  t[o] = a }\n"
    "}\n"
    "program total(x: f32[N]) -> (t: f32[1]) { s = total_part(x)  t = total_rest(s) }\n";

static void shapes_share_a_compile(tilec_context *t, tilec_module *m) {
    tilec_call *c = tilec_call_new(m, "product");
    int64_t before = tilec_compiler_calls();
    bool good = c != NULL;
    char why[4096] = "";
    for (int i = 0; good && i < 200; i++) {
        int64_t rows = (i * 7) % 41, depth = (i * 5) % 37, columns = (i * 3) % 43; /* zeros among them */
        float *a = malloc(sizeof *a * (size_t)(rows * depth + 1)), *b = malloc(sizeof *b * (size_t)(depth * columns + 1));
        for (int64_t n = 0; n < rows * depth; n++)
            a[n] = (float)((n + i) % 8);
        for (int64_t n = 0; n < depth * columns; n++)
            b[n] = (float)((n * 3 + i) % 5);
        good = tilec_bind_array(c, "a", TILEC_F32, 2, (int64_t[]){rows, depth}, a) &&
               tilec_bind_array(c, "b", TILEC_F32, 2, (int64_t[]){depth, columns}, b) && tilec_launch(c);
        if (!good)
            snprintf(why, sizeof why, "%s", tilec_error(t));
        int rank = 0;
        int64_t shape[TILEC_MAX_RANK];
        const float *result = good ? tilec_result(c, "c", &rank, shape) : NULL;
        good = good && rank == 2 && shape[0] == rows && shape[1] == columns;
        for (int64_t x = 0; good && x < rows; x++)
            for (int64_t y = 0; good && y < columns; y++) {
                float sum = 0; /* small integers: exact in any order */
                for (int64_t k = 0; k < depth; k++)
                    sum += a[x * depth + k] * b[k * columns + y];
                good = result[x * columns + y] == sum;
                if (!good)
                    snprintf(why, sizeof why, "shape %d: %g, not %g", i, (double)result[x * columns + y], (double)sum);
            }
        free(a);
        free(b);
    }
    report("200 shapes, right results", good, why);
    snprintf(why, sizeof why, "%lld compiler calls", (long long)(tilec_compiler_calls() - before));
    report("200 shapes, one compiler call", tilec_compiler_calls() - before == 1, why);
    tilec_call_free(c);
}

static void aliasing_is_refused(tilec_context *t, tilec_module *m) {
    float x[32] = {0}, y[32] = {0};
    int64_t shape[] = {16};
    struct {
        const char *name;
        float *a, *b, *y;
        bool good;
    } cases[] = {
        {"an output that is an input is refused", x, y, x, false},
        {"an output that overlaps an input is refused", x, y, x + 15, false},
        {"an output beside an input is fine", x, y, x + 16, true},
        {"inputs may be one array", x, x, y, true},
    };
    for (int i = 0; i < 4; i++) {
        tilec_call *c = tilec_call_new(m, "add");
        bool bound = tilec_bind_array(c, "a", TILEC_F32, 1, shape, cases[i].a) &&
                     tilec_bind_array(c, "b", TILEC_F32, 1, shape, cases[i].b) &&
                     tilec_bind_array(c, "y", TILEC_F32, 1, shape, cases[i].y);
        bool ran = tilec_launch(c);
        report(cases[i].name, bound && ran == cases[i].good && (ran || strstr(tilec_error(t), "E0649")), tilec_error(t));
        tilec_call_free(c);
    }
}

static void mistakes_are_values(tilec_context *t, tilec_module *m) {
    float x[16] = {0};
    int64_t shape[] = {16};
    report("an unknown kernel", !tilec_call_new(m, "ad") && strstr(tilec_error(t), "E0646"), tilec_error(t));
    tilec_call *c = tilec_call_new(m, "add");
    report("an unknown argument", !tilec_bind_array(c, "q", TILEC_F32, 1, shape, x) && strstr(tilec_error(t), "E0640"),
           tilec_error(t));
    report("a wrong type", !tilec_bind_array(c, "a", TILEC_I32, 1, shape, x) && strstr(tilec_error(t), "E0647"), tilec_error(t));
    report("a wrong rank", !tilec_bind_array(c, "a", TILEC_F32, 0, shape, x) && strstr(tilec_error(t), "E0642"), tilec_error(t));
    report("a missing argument",
           tilec_bind_array(c, "a", TILEC_F32, 1, shape, x) && !tilec_launch(c) && strstr(tilec_error(t), "E0650"),
           tilec_error(t));
    report("no scalar of that name", !tilec_bind_float(c, "s", 1) && strstr(tilec_error(t), "E0640"), tilec_error(t));
    report("an unknown symbol", !tilec_set_symbol(c, "Q", 1) && strstr(tilec_error(t), "E0640"), tilec_error(t));
    report("results are unknown before they are", !tilec_result(c, "nothing", NULL, NULL), "a result");
    report("the call still works", tilec_bind_array(c, "b", TILEC_F32, 1, shape, x) && tilec_launch(c) && !*tilec_error(t),
           tilec_error(t));
    tilec_call_free(c);
    report("a text with errors", !tilec_load_text(t, "bad.tile", "kernel k(") && strstr(tilec_error(t), "bad.tile:1"),
           tilec_error(t));
    report("a file that is not there", !tilec_load_file(t, "nowhere.tile") && strstr(tilec_error(t), "E0880"), tilec_error(t));
    tilec_context *none = tilec_open("abacus");
    report("an unknown device", none && !tilec_ready(none) && *tilec_error(none), "it opened");
    tilec_close(none);
}

static void programs_run(tilec_context *t, tilec_module *m) {
    tilec_call *c = tilec_call_new(m, "total");
    float x[100];
    for (int i = 0; i < 100; i++)
        x[i] = (float)i;
    int rank = 9;
    int64_t shape[TILEC_MAX_RANK];
    bool good = tilec_bind_array(c, "x", TILEC_F32, 1, (int64_t[]){100}, x) && tilec_launch(c);
    const float *sum = good ? tilec_result(c, "t", &rank, shape) : NULL;
    report("a program", good && sum && rank == 1 && shape[0] == 1 && *sum == 4950, tilec_error(t));
    sum = good ? tilec_result(c, "s", &rank, shape) : NULL;
    report("a program's temporary", sum && shape[0] == 7 && sum[0] == 120, "not 7 parts");
    good = tilec_bind_array(c, "x", TILEC_F32, 1, (int64_t[]){0}, x) && tilec_launch(c); /* another shape, an empty one */
    sum = good ? tilec_result(c, "t", NULL, NULL) : NULL;
    report("a program on nothing", good && *sum == 0, tilec_error(t));
    double worst = -1;
    good = tilec_bind_array(c, "x", TILEC_F32, 1, (int64_t[]){77}, x) && tilec_set_symbol(c, "CH", 5) &&
           tilec_launch_checked(c, &worst);
    report("a program checked, with another static", good && worst >= 0 && worst <= 1, tilec_error(t));
    tilec_call_free(c);
}

int main(void) {
    report("version", strcmp(tilec_version(), "0.") > 0, tilec_version());
    tilec_context *t = tilec_open(NULL);
    report("open", t && tilec_ready(t), tilec_error(t));
    tilec_module *m = tilec_load_text(t, "api.tile", text);
    report("load", m != NULL, tilec_error(t));
    if (!m)
        return 1;
    report("names", tilec_kernel_count(m) == 5 && strcmp(tilec_kernel_name(m, 0), "total") == 0 && !tilec_kernel_name(m, 5),
           "they differ");
    shapes_share_a_compile(t, m);
    aliasing_is_refused(t, m);
    mistakes_are_values(t, m);
    programs_run(t, m);
    tilec_close(t);
    tilec_close(NULL);
    return failures != 0;
}
