/* The public C API from inside the process: what it tells of kernels, of failures, of arrays it cannot take. */
#include "tilec.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] = "kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }\n"
                           "kernel heads(q: f16[KV*G, D], s: f32) -> (o: f16[KV*G, D], update c: i32[KV*G])\n"
                           "    static G, D = 8 where G <= 12\n"
                           "{\n"
                           "    for tile o[(h: 1, g: G), d: D], c[(h, g)] {\n"
                           "        o[(h, g), d] = f16(f32(q[(h, g), d]) * s)\n"
                           "        c[(h, g)] = c[(h, g)] + 1\n"
                           "    }\n"
                           "}\n"
                           "kernel part(x: f32[N]) -> (s: f32[S]) static CH = 16 where S == (N + CH - 1) / CH {\n"
                           "    for tile s[c: 1] { t: f32[c] = 0  for n: BN in N where c * CH <= n and n < (c + 1) * CH { t += "
                           "sum[n](x[n]) }  s[c] = t }\n"
                           "}\n"
                           "kernel rest(s: f32[S]) -> (t: f32[1]) {\n"
                           "    for tile t[o: 1] { a: f32[o] = 0  for c: BC in S { a += sum[c](s[c]) }  t[o] = a }\n"
                           "}\n"
                           "program total(x: f32[N]) -> (t: f32[1]) { s = part(x)  t = rest(s) }\n";

static const char gather[] =
    "kernel gather(ids: injective index(V)[T], table: f32[V], pos: 0..T, on: i32) -> (update x: f32[T]) where T <= V {\n"
    "    for tile x[t: BT] { x[t] = select(t < pos, table[ids[t]], f32(on)) }\n"
    "}\n";

static tilec_context *opened;

static int open_context(void **state) {
    (void)state;
    opened = tilec_open(NULL);
    return opened && tilec_ready(opened) ? 0 : -1;
}
static int close_context(void **state) {
    (void)state;
    tilec_close(opened);
    return 0;
}

static tilec_module *load(const char *source) {
    tilec_module *m = tilec_load_text(opened, "api.tile", source);
    if (!m)
        print_message("%s\n", tilec_error(opened));
    assert_non_null(m);
    return m;
}

static tilec_call *call_of(tilec_module *m, const char *name) {
    tilec_call *c = tilec_call_new(m, name);
    if (!c)
        print_message("%s\n", tilec_error(opened));
    assert_non_null(c);
    return c;
}

static void must(bool good) {
    if (!good)
        print_message("%s\n", tilec_error(opened));
    assert_true(good);
}

/* The first diagnostic has this code, and so says the whole text. */
static tilec_diagnostic failure(const char *code) {
    tilec_diagnostic d = {.size = sizeof d};
    assert_true(tilec_diagnostic_at(opened, 0, &d));
    if (strcmp(d.code, code) != 0)
        print_message("%s\n", d.text);
    assert_string_equal(d.code, code);
    assert_non_null(strstr(tilec_error(opened), code));
    assert_non_null(tilec_explain(d.code));
    return d;
}

static tilec_argument argument(tilec_call *c, int index) {
    tilec_argument a = {.size = sizeof a};
    assert_true(tilec_argument_at(c, index, &a));
    return a;
}

static tilec_symbol symbol(tilec_call *c, const char *name, const char *kernel) {
    for (int i = 0;; i++) {
        tilec_symbol s = {.size = sizeof s};
        if (!tilec_symbol_at(c, i, &s))
            fail_msg("no symbol %s", name);
        if (strcmp(s.name, name) == 0 && (kernel ? s.kernel && strcmp(s.kernel, kernel) == 0 : !s.kernel))
            return s;
    }
}

static void arguments_are_told(void **state) {
    (void)state;
    tilec_module *m = load(gather);
    tilec_call *c = call_of(m, NULL);
    assert_int_equal(tilec_argument_count(c), 5);
    tilec_argument a = argument(c, 0);
    assert_string_equal(a.name, "ids");
    assert_int_equal(a.type, TILEC_I32);
    assert_string_equal(a.index_bound, "V");
    assert_true(a.is_injective);
    assert_int_equal(a.line, 1);
    assert_string_equal(a.file, "api.tile");
    assert_int_equal(a.column, 15);
    assert_string_equal(a.declaration, "ids: injective index(V)[T]");
    a = argument(c, 1);
    assert_string_equal(a.declaration, "table: f32[V]");
    assert_null(a.index_bound);
    a = argument(c, 2);
    assert_true(a.is_scalar);
    assert_string_equal(a.least, "0");
    assert_string_equal(a.most, "T");
    a = argument(c, 3);
    assert_true(a.is_scalar);
    assert_null(a.least);
    assert_int_equal(a.type, TILEC_I32);
    a = argument(c, 4);
    assert_int_equal(a.role, TILEC_UPDATE);
    assert_int_equal(a.rank, 1);
    assert_string_equal(a.shape[0], "T");
    assert_string_equal(a.declaration, "update x: f32[T]");
    tilec_argument none = {.size = sizeof none};
    assert_false(tilec_argument_at(c, 5, &none));
    assert_false(tilec_argument_at(c, -1, &none));
    assert_string_equal(tilec_where_at(c, 0), "T <= V");
    assert_null(tilec_where_at(c, 1));
    tilec_module_free(m); /* its call with it */
}

static void older_callers_are_served(void **state) {
    (void)state;
    tilec_module *m = load(text);
    tilec_call *c = call_of(m, "add");
    struct {
        tilec_argument a;
        unsigned char beyond[64];
    } x;
    memset(&x, 0x5A, sizeof x);
    x.a.size = offsetof(tilec_argument, rank); /* an earlier version of the structure, which ended there */
    assert_true(tilec_argument_at(c, 0, &x.a));
    assert_string_equal(x.a.name, "a");
    assert_int_equal(x.a.type, TILEC_F32);
    unsigned char untouched[sizeof x.a.rank];
    memset(untouched, 0x5A, sizeof untouched);
    assert_memory_equal(&x.a.rank, untouched, sizeof untouched);
    x.a.size = sizeof x; /* a later version: what this library knows is filled in, the rest left alone */
    assert_true(tilec_argument_at(c, 0, &x.a));
    assert_int_equal(x.a.rank, 1);
    assert_int_equal(x.beyond[0], 0x5A);
    assert_int_equal(x.a.size, sizeof x);
    float data[4] = {0};
    int64_t shape[] = {4};
    tilec_array sizeless = {.type = TILEC_F32, .rank = 1, .shape = shape, .data = data};
    assert_false(tilec_bind(c, "a", &sizeless));
    failure("E0661");
    assert_false(tilec_bind(c, "a", NULL));
    failure("E0661");
    tilec_module_free(m);
}

static void compiled_without_arguments(void **state) {
    (void)state;
    tilec_module *m = load(text);
    tilec_call *c = call_of(m, "add");
    assert_int_equal(tilec_step_count(c), 0);
    must(tilec_compile(c));
    assert_int_equal(tilec_step_count(c), 1);
    tilec_step s = {.size = sizeof s};
    assert_true(tilec_step_at(c, 0, &s));
    assert_string_equal(s.kernel, "add");
    assert_true(s.is_proved);
    assert_int_equal(s.refuted, 0);
    assert_int_equal(s.unknown, 0);
    assert_int_equal(s.check_count, 0);
    assert_true(s.proved > 0 && s.variant_count > 0);
    assert_int_equal(tilec_verdict_count(c, 0), s.proved);
    assert_non_null(strstr(s.code, "add"));
    assert_non_null(strstr(s.explanation, s.schedule));
    bool race = false, bounds = false;
    for (int i = 0; i < s.proved; i++) {
        tilec_verdict v = {.size = sizeof v};
        assert_true(tilec_verdict_at(c, 0, i, &v));
        assert_int_equal(v.judgement, TILEC_PROVED);
        assert_null(v.explanation);
        race = race || strcmp(v.property, "race") == 0;
        bounds = bounds || strcmp(v.property, "bounds") == 0;
    }
    assert_true(race && bounds);
    tilec_variant v = {.size = sizeof v};
    assert_true(tilec_variant_at(c, 0, 0, &v));
    assert_non_null(strstr(v.tasks, "N"));
    assert_false(tilec_variant_at(c, 0, s.variant_count, &v));
    assert_false(tilec_variant_at(c, 1, 0, &v));
    assert_false(tilec_step_at(c, 1, &s));
    assert_int_equal(tilec_verdict_count(c, 7), 0);
    tilec_symbol b = symbol(c, "B", NULL);
    assert_int_equal(b.kind, TILEC_TILE_SIZE);
    assert_true(b.is_known && b.value >= 1);
    assert_false(symbol(c, "N", NULL).is_known);
    must(tilec_set_tile(c, "B", 48));
    must(tilec_set_tile(c, "B", 32)); /* the later one counts */
    must(tilec_compile(c));
    assert_int_equal(symbol(c, "B", NULL).value, 32);
    must(tilec_set_schedule(c, "vector", "2") && tilec_set_schedule(c, "B", "64") && tilec_compile(c));
    assert_int_equal(symbol(c, "B", NULL).value, 64);
    assert_true(tilec_step_at(c, 0, &s));
    assert_string_equal(s.schedule, "B = 64, vector = 2");
    must(tilec_set_schedule(c, "vector", "3"));
    assert_false(tilec_compile(c));
    failure("E0504");
    must(tilec_set_tile(c, "vector", 4) && tilec_compile(c));

    int64_t before = tilec_compiler_calls();
    float x[5] = {1, 2, 3, 4, 5}, y[5];
    int64_t shape[] = {5};
    must(tilec_bind_array(c, "a", TILEC_F32, 1, shape, x) && tilec_bind_array(c, "b", TILEC_F32, 1, shape, x) &&
         tilec_bind_array(c, "y", TILEC_F32, 1, shape, y) && tilec_launch(c));
    for (int i = 0; i < 5; i++)
        assert_true(y[i] == 2 * x[i]);
    assert_true(symbol(c, "N", NULL).is_known && symbol(c, "N", NULL).value == 5);
    assert_int_equal(tilec_compiler_calls(), before);
    assert_true(tilec_launch_milliseconds(c) >= 0);
    tilec_module_free(m);
}

static void statics_and_programs(void **state) {
    (void)state;
    tilec_module *m = load(text);
    assert_int_equal(tilec_kernel_count(m), 5);
    assert_true(tilec_kernel_is_program(m, 0));
    assert_false(tilec_kernel_is_program(m, 1));
    tilec_call *c = call_of(m, "part");
    tilec_symbol s = symbol(c, "CH", NULL);
    assert_int_equal(s.kind, TILEC_STATIC);
    assert_true(s.has_default && s.default_value == 16);
    assert_string_equal(symbol(c, "S", NULL).derived, "floor((N + CH - 1) / CH)");
    must(tilec_set_symbol(c, "CH", 4));
    float x[10];
    for (int i = 0; i < 10; i++)
        x[i] = (float)i;
    int64_t shape[TILEC_MAX_RANK] = {10};
    int rank = 0;
    must(tilec_bind_array(c, "x", TILEC_F32, 1, shape, x));
    assert_false(tilec_shape(c, "s", &rank, shape));
    failure("E0662");
    must(tilec_solve(c) && tilec_shape(c, "s", &rank, shape));
    assert_true(rank == 1 && shape[0] == 3);
    assert_null(tilec_result(c, "s", NULL, NULL));
    failure("E0662");
    must(tilec_launch(c));
    const float *part = tilec_result(c, "s", NULL, NULL);
    assert_true(part && part[0] == 6 && part[1] == 22 && part[2] == 17);
    assert_int_equal(symbol(c, "CH", NULL).value, 4);

    c = call_of(m, "total");
    must(tilec_compile(c));
    assert_int_equal(tilec_step_count(c), 2);
    assert_int_equal(symbol(c, "CH", "part").value, 16);
    assert_true(symbol(c, "BC", "rest").is_known);
    must(tilec_set_symbol(c, "CH", 5));
    must(tilec_set_symbol(c, "CH", 2));
    must(tilec_set_tile(c, "BC", 1));
    assert_false(tilec_set_tile(c, "BX", 1));
    failure("E0666");
    assert_false(tilec_set_schedule(c, "operands", "direct")); /* neither has a product */
    failure("E0666");
    must(tilec_set_schedule(c, "vector", "2")); /* both take it */
    shape[0] = 10;
    must(tilec_bind_array(c, "x", TILEC_F32, 1, shape, x) && tilec_launch(c) && tilec_shape(c, "s", &rank, shape));
    assert_int_equal(shape[0], 5);
    assert_int_equal(symbol(c, "CH", "part").value, 2);
    assert_int_equal(symbol(c, "BC", "rest").value, 1);
    assert_true(*(float *)tilec_result(c, "t", NULL, NULL) == 45);
    tilec_module_free(m);
}

static void failures_are_told(void **state) {
    (void)state;
    assert_null(tilec_load_text(opened, "bad.tile",
                                "// a comment\nkernel k(x: f32[N]) -> (y: f32[N]) {\n"
                                "    for tile y[i: B] { y[i] = x[i + 1] }\n}\n"));
    tilec_diagnostic d = failure("E0301");
    assert_string_equal(d.file, "bad.tile");
    assert_int_equal(d.line, 3);
    assert_int_equal(d.column, 33);
    assert_int_equal(d.severity, TILEC_ERROR);
    assert_string_equal(d.witness, "N = 1, i = 0");
    assert_non_null(strstr(d.caret, "else"));
    assert_non_null(strstr(d.text, "bad.tile:3:33: error E0301"));
    assert_non_null(strstr(d.text, "   3 |     for tile y"));
    assert_int_equal(tilec_diagnostic_count(opened), 1);
    assert_false(tilec_diagnostic_at(opened, 1, &d));
    assert_false(tilec_diagnostic_at(opened, -1, &d));

    tilec_module *m = load(text);
    assert_int_equal(tilec_diagnostic_count(opened), 0);
    assert_string_equal(tilec_error(opened), "");
    tilec_call *c = call_of(m, "add");
    must(tilec_set_tile(c, "Q", 4)); /* judged with the schedule */
    assert_false(tilec_compile(c));
    d = (tilec_diagnostic){.size = sizeof d};
    assert_true(tilec_diagnostic_at(opened, 0, &d) && strncmp(d.code, "E05", 3) == 0 && d.line == 1);
    tilec_call_free(c);
    c = call_of(m, "heads");
    assert_false(tilec_compile(c)); /* G has no value */
    d = failure("E0510");
    assert_true(d.note_count > 0 && strstr(d.notes[0], "pass G=..")); /* no option of the command line */
    assert_null(strstr(d.text, "--shape"));
    assert_false(tilec_bind_integer(c, "s", INT64_MAX));
    failure("E0647");
    assert_false(tilec_bind_integer(c, "s", (INT64_C(1) << 53) + 1));
    failure("E0647");
    tilec_call_free(c);
    tilec_call_free(NULL);
    tilec_module_free(m);
    tilec_module_free(NULL);
    assert_null(tilec_explain("E9999"));
    assert_null(tilec_explain(NULL));
    assert_null(tilec_type_name((tilec_type)77));
    assert_string_equal(tilec_type_name(TILEC_BF16), "bf16");
    assert_int_equal(tilec_type_bytes(TILEC_Q8_0), 34);
    tilec_context *other = tilec_open("abacus");
    assert_non_null(other);
    assert_false(tilec_ready(other));
    m = tilec_load_text(other, "x.tile", text); /* kernels can be read without a device, not called */
    assert_non_null(m);
    assert_null(tilec_call_new(m, "add"));
    assert_non_null(strstr(tilec_error(other), "E0653"));
    tilec_close(other);
}

static void launches_are_checked(void **state) {
    (void)state;
    tilec_module *m = load(gather);
    tilec_call *c = call_of(m, "gather");
    int32_t ids[] = {2, 0, 1};
    float table[] = {10, 20, 30}, x[3] = {0}, huge[3];
    memcpy(huge, x, sizeof x);
    int64_t shape[] = {3};
    must(tilec_bind_array(c, "ids", TILEC_I32, 1, shape, ids) && tilec_bind_array(c, "table", TILEC_F32, 1, shape, table) &&
         tilec_bind_array(c, "x", TILEC_F32, 1, shape, x) && tilec_bind_integer(c, "pos", 2) && tilec_bind_integer(c, "on", -7));
    must(tilec_launch(c));
    assert_true(x[0] == 30 && x[1] == 10 && x[2] == -7);
    tilec_step s = {.size = sizeof s};
    assert_true(tilec_step_at(c, 0, &s));
    assert_true(s.check_count >= 3); /* the where, the range of pos, ids below V, ids injective */
    ids[1] = 3;
    assert_false(tilec_launch(c));
    tilec_diagnostic d = failure("E0603");
    assert_non_null(strstr(d.message, "ids[1]"));
    ids[1] = 2;
    assert_false(tilec_launch(c));
    failure("E0604");
    ids[1] = 1, ids[2] = 0;
    must(tilec_bind_integer(c, "pos", 4));
    x[0] = 5;
    assert_false(tilec_launch(c));
    failure("E0602");
    assert_true(x[0] == 5); /* nothing ran */
    must(tilec_bind_integer(c, "pos", 3));
    double worst = -1;
    must(tilec_launch_checked(c, &worst));
    assert_true(worst >= 0 && worst <= 1 && x[0] == 30);
    tilec_launch_options options = {.size = sizeof options};
    must(tilec_launch_with(c, &options));
    options.stream = &options;
    assert_false(tilec_launch_with(c, &options));
    failure("E0665");
    tilec_module_free(m);
}

static void arrays_of_others(void **state) {
    (void)state;
    tilec_module *m = load("kernel copy(x: f32[R, C]) -> (y: f32[R, C]) { for tile y[r: BR, c: BC] { y[r, c] = x[r, c] } }");
    tilec_call *c = call_of(m, NULL);
    float data[12], y[12];
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    int64_t shape[] = {2, 3}, row_major[] = {3, 1}, transposed[] = {1, 2}, wider[] = {4, 1}, one_row[] = {1, 3}, any[] = {99, 1};
    tilec_array x = {.size = sizeof x, .type = TILEC_F32, .rank = 2, .shape = shape, .strides = row_major, .data = data};
    must(tilec_bind(c, "x", &x));
    x.strides = transposed;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0660");
    x.strides = wider;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0660");
    x.shape = one_row; /* the stride of a single row says nothing */
    x.strides = any;
    must(tilec_bind(c, "x", &x));
    x.shape = shape;
    x.strides = NULL;
    x.bytes = 23;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0664");
    x.bytes = 24;
    must(tilec_bind(c, "x", &x));
    x.data = (char *)data + 2;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0663");
    x.data = data;
    x.memory = TILEC_DEVICE;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0665");
    x.memory = TILEC_HOST;
    x.device = &x;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0665");
    x.device = NULL;
    x.rank = 40;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0642");
    x.rank = 2;
    int64_t impossible[] = {-1, 3}, vast[] = {INT64_MAX, INT64_MAX};
    x.shape = impossible;
    assert_false(tilec_bind(c, "x", &x));
    x.bytes = 0;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0641");
    x.shape = vast;
    must(tilec_bind(c, "x", &x));
    assert_false(tilec_launch(c));
    failure("E0648");
    x.type = (tilec_type)99;
    assert_false(tilec_bind(c, "x", &x));
    failure("E0647");
    /* After all that, a good call. */
    x = (tilec_array){
        .size = sizeof x, .type = TILEC_F32, .rank = 2, .shape = shape, .strides = row_major, .data = data, .bytes = 24};
    tilec_array out = x;
    out.data = y;
    must(tilec_bind(c, "x", &x) && tilec_bind(c, "y", &out) && tilec_launch(c));
    assert_memory_equal(data, y, 24);
    tilec_module_free(m);
}

/* A service that loads kernels again and again: what is freed leaves nothing behind, and other modules stay whole. */
static void modules_come_and_go(void **state) {
    (void)state;
    tilec_module *stays = load(text);
    tilec_call *keep = call_of(stays, "add");
    must(tilec_compile(keep));
    for (int i = 0; i < 3; i++) {
        tilec_module *m = load(text);
        tilec_call *c = call_of(m, "add");
        float x[3] = {1, 2, 3};
        int64_t shape[] = {3};
        must(tilec_bind_array(c, "a", TILEC_F32, 1, shape, x) && tilec_bind_array(c, "b", TILEC_F32, 1, shape, x) &&
             tilec_launch(c));
        const float *y = tilec_result(c, "y", NULL, NULL);
        assert_true(y[2] == 6);
        if (i == 1)
            tilec_call_free(c);
        tilec_module_free(m);
    }
    tilec_step s = {.size = sizeof s};
    assert_true(tilec_step_at(keep, 0, &s) && s.is_proved);
    tilec_module_free(stays);
}

/* Valgrind knows no AVX-512, so kernels are then compiled for any machine. */
static void compile_for_any_machine(const char *folder) {
    char path[128];
    snprintf(path, sizeof path, "%s/cc", folder);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fputs("#!/bin/sh\nfor word; do\n    shift\n    [ \"$word\" = -march=native ] || set -- \"$@\" \"$word\"\ndone\nexec cc "
          "\"$@\"\n",
          f);
    if (!fclose(f) && !chmod(path, 0755))
        setenv("TILEC_CC", path, 1);
}

int main(void) {
    char cache[] = "/tmp/tilec-test-api-XXXXXX";
    if (mkdtemp(cache)) {
        setenv("TILEC_CACHE", cache, 1);
        if (getenv("TILEC_QUICK"))
            compile_for_any_machine(cache);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_told),         cmocka_unit_test(older_callers_are_served),
        cmocka_unit_test(compiled_without_arguments), cmocka_unit_test(statics_and_programs),
        cmocka_unit_test(failures_are_told),          cmocka_unit_test(launches_are_checked),
        cmocka_unit_test(arrays_of_others),           cmocka_unit_test(modules_come_and_go),
    };
    int failed = cmocka_run_group_tests(tests, open_context, close_context);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    return system(command) != 0 || failed != 0;
}
