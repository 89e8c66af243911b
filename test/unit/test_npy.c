/* .npy and .safetensors: files made here byte by byte, as NumPy and safetensors write them, and many broken ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run/run.h"
#include "run/safetensors.h"
#include <cmocka.h>

static char folder[] = "/tmp/test_npy-XXXXXX";
static char path[64];

static void put_file(const void *bytes, size_t length) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    fclose(f);
}

/* A .npy file of that version; the header text is padded as NumPy does. */
static size_t make_npy(char *out, int version, const char *header, const void *data, size_t bytes) {
    size_t prefix = version == 1 ? 10 : 12, length = strlen(header) + 1;
    while ((prefix + length) % 64)
        length++;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    for (size_t i = 0; i < prefix - 8; i++)
        out[8 + i] = (char)(length >> (8 * i));
    memset(out + prefix, ' ', length);
    memcpy(out + prefix, header, strlen(header));
    out[prefix + length - 1] = '\n';
    if (bytes)
        memcpy(out + prefix + length, data, bytes);
    return prefix + length + bytes;
}

/* Reads the file; the first diagnostic's code goes to `code`. */
static bool read_npy(npy_array *a, char code[8]) {
    arena *m = arena_new();
    diag_list d;
    diag_init(&d, m);
    bool ok = npy_read(path, a, &d);
    snprintf(code, 8, "%s", d.items.count ? d.items.at[0]->code : "");
    assert_int_equal(ok, d.errors == 0);
    arena_free(m);
    return ok;
}

static void expect_refused(const char *header, const void *data, size_t bytes, const char *wanted) {
    static char file[8192];
    char code[8];
    npy_array a;
    put_file(file, make_npy(file, 1, header, data, bytes));
    if (read_npy(&a, code) || strcmp(code, wanted))
        fail_msg("%s: code %s, should be %s", header, code, wanted);
    assert_null(a.data);
}

static void test_versions_and_types(void **state) {
    (void)state;
    static const struct {
        const char *descr;
        element_type type;
        int bytes, wide;
    } types[] = {{"<f4", ELEMENT_F32, 4, 0},  {"<f2", ELEMENT_F16, 2, 0},  {"|i1", ELEMENT_I8, 1, 0},
                 {"|u1", ELEMENT_U8, 1, 0},   {"<i4", ELEMENT_I32, 4, 0},  {"<u4", ELEMENT_U32, 4, 0},
                 {"|b1", ELEMENT_BOOL, 1, 0}, {"<f8", ELEMENT_F32, 8, 8},  {"<i8", ELEMENT_I32, 8, 8},
                 {"=f4", ELEMENT_F32, 4, 0},  {"<V2", ELEMENT_BF16, 2, 0}, {"<u2", ELEMENT_BF16, 2, 0}};
    static char file[8192];
    unsigned char data[48];
    for (int i = 0; i < 48; i++)
        data[i] = (unsigned char)(i % 2);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int version = 1; version <= 3; version++) {
            char header[128], code[8];
            npy_array a;
            snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }", types[t].descr);
            put_file(file, make_npy(file, version, header, data, (size_t)types[t].bytes * 6));
            assert_true(read_npy(&a, code));
            assert_int_equal(a.type, types[t].type);
            assert_int_equal(a.wide, types[t].wide);
            assert_int_equal(a.rank, 2);
            assert_int_equal(a.dims[0], 2);
            assert_int_equal(a.dims[1], 3);
            assert_int_equal(a.bytes, types[t].bytes * 6);
            assert_memory_equal(a.data, data, (size_t)a.bytes);
            npy_free(&a);
        }
}

static void test_order(void **state) {
    (void)state;
    static char file[8192];
    char code[8];
    npy_array a;
    float data[24];
    /* x[i, j, k] = 100 i + 10 j + k, shape (2, 3, 4), first index fastest. */
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                data[i + 2 * (j + 3 * k)] = (float)(100 * i + 10 * j + k);
    put_file(file, make_npy(file, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }", data, sizeof data));
    assert_true(read_npy(&a, code));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                assert_true(((float *)a.data)[(i * 3 + j) * 4 + k] == (float)(100 * i + 10 * j + k));
    npy_free(&a);
    /* One dimension and none; keys in another order; no trailing comma; an empty array. */
    put_file(file, make_npy(file, 1, "{'shape': (5,), 'fortran_order': True, 'descr': '<f4'}", data, 20));
    assert_true(read_npy(&a, code) && a.rank == 1 && a.dims[0] == 5 && !memcmp(a.data, data, 20));
    npy_free(&a);
    put_file(file, make_npy(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", data, 4));
    assert_true(read_npy(&a, code) && a.rank == 0 && a.bytes == 4);
    npy_free(&a);
    put_file(file, make_npy(file, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 7), }", data, 0));
    assert_true(read_npy(&a, code) && a.rank == 2 && a.bytes == 0 && a.data);
    npy_free(&a);
}

static void test_refusals(void **state) {
    (void)state;
    float data[6] = {0};
    expect_refused("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", data, 24, "E0822");
    expect_refused("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", data, 24, "E0823");
    expect_refused("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (3,), }", data, 24, "E0823");
    expect_refused("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", data, 24, "E0823");
    expect_refused("{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }", data, 16, "E0823");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", data, 24, "E0824");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4), }", data, 24, "E0824");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }", data, 24, "E0821");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", data, 24, "E0821");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", data, 24, "E0821");
    expect_refused("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", data, 24, "E0821");
    expect_refused("{'descr': '<f4', 'shape': (1,), }", data, 24, "E0821");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", data, 24, "E0821");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1", data, 24, "E0821");
    expect_refused("", data, 24, "E0821");
    npy_array a;
    char code[8];
    put_file("PK\x03\x04 a zip archive, so", 20);
    assert_false(read_npy(&a, code));
    assert_string_equal(code, "E0820");
    put_file("", 0);
    assert_false(read_npy(&a, code));
    assert_string_equal(code, "E0820");
    put_file("\x93NUMPY\x04\x00\x10\x00", 10);
    assert_false(read_npy(&a, code));
    assert_string_equal(code, "E0821");
    put_file("\x93NUMPY\x01\x00\xff\xff{", 11);
    assert_false(read_npy(&a, code));
    assert_string_equal(code, "E0821");
    unlink(path);
    assert_false(read_npy(&a, code));
    assert_string_equal(code, "E0880");
}

/* Every single-byte change and every cut of a good file is read or refused, never worse. */
static void test_broken_files(void **state) {
    (void)state;
    static char file[8192], broken[8192];
    char code[8];
    npy_array a;
    float data[6] = {1, 2, 3, 4, 5, 6};
    size_t length = make_npy(file, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data);
    for (size_t n = 0; n < length; n++) {
        put_file(file, n);
        assert_false(read_npy(&a, code));
    }
    for (size_t n = 0; n < length; n++)
        for (int v = 0; v < 3; v++) {
            memcpy(broken, file, length);
            broken[n] = (char)(v == 0 ? 0 : v == 1 ? 0xff : broken[n] ^ 1);
            put_file(broken, length);
            if (read_npy(&a, code))
                npy_free(&a);
        }
}

static void test_write(void **state) {
    (void)state;
    arena *m = arena_new();
    diag_list d;
    diag_init(&d, m);
    float data[12];
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    npy_array out = {.type = ELEMENT_F32, .rank = 2, .dims = {3, 4}, .data = data, .bytes = sizeof data}, in;
    assert_true(npy_write(path, &out, &d));
    assert_true(npy_read(path, &in, &d));
    assert_int_equal(in.rank, 2);
    assert_memory_equal(in.data, data, sizeof data);
    npy_free(&in);
    /* The header as NumPy documents it, the data at a multiple of 64. */
    char text[200];
    FILE *f = fopen(path, "rb");
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_int_equal(n, 128 + sizeof data);
    assert_memory_equal(text + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 59);
    assert_int_equal(text[127], '\n');
    npy_array bad = {.type = ELEMENT_F32, .rank = 1, .dims = {3}, .data = data, .bytes = 12};
    assert_false(npy_write("/nowhere/at/all.npy", &bad, &d));
    assert_true(d.errors > 0);
    arena_free(m);
}

/* ---- safetensors ---- */

static size_t make_safetensors(char *out, const char *header, const void *data, size_t bytes) {
    uint64_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        out[i] = (char)(length >> (8 * i));
    memcpy(out + 8, header, length);
    memcpy(out + 8 + length, data, bytes);
    return 8 + length + bytes;
}

static bool read_tensor(const char *name, npy_array *a, char code[8]) {
    arena *m = arena_new();
    diag_list d;
    diag_init(&d, m);
    bool ok = safetensors_read(path, name, a, &d);
    snprintf(code, 8, "%s", d.items.count ? d.items.at[0]->code : "");
    arena_free(m);
    return ok;
}

static void test_safetensors(void **state) {
    (void)state;
    static char file[4096];
    char code[8];
    npy_array a;
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const char *header =
        "{\"__metadata__\":{\"format\":\"pt\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]},\"e\":{\"dtype\":\"I32\",\"shape\":[0,5],\"data_"
        "offsets\":[32,32]},"
        "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}";
    size_t length = make_safetensors(file, header, data, sizeof data);
    put_file(file, length);
    assert_true(read_tensor("w", &a, code) && a.rank == 2 && a.dims[1] == 3 && !memcmp(a.data, data, 24));
    npy_free(&a);
    assert_true(read_tensor("b", &a, code) && a.type == ELEMENT_BF16 && !memcmp(a.data, data + 6, 8));
    npy_free(&a);
    assert_true(read_tensor("e", &a, code) && a.bytes == 0);
    npy_free(&a);
    assert_true(read_tensor("n", &a, code) && a.wide == 8 && a.rank == 0);
    npy_free(&a);
    assert_false(read_tensor("missing", &a, code));
    assert_string_equal(code, "E0830");
    assert_false(read_tensor("__metadata__", &a, code));
    for (size_t n = 0; n < length; n++) {
        put_file(file, n);
        if (read_tensor("b", &a, code))
            fail_msg("cut at %zu was read", n);
    }
    static const char *const broken[] = {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}}",
                                         "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,48]}}",
                                         "{\"w\":{\"dtype\":\"F32\",\"shape\":[-2,3],\"data_offsets\":[0,24]}}",
                                         "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,0]}}",
                                         "{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}",
                                         "{\"w\":{\"dtype\":\"F32\",\"shape\":\"no\",\"data_offsets\":[0,24]}}",
                                         "{\"w\":{\"shape\":[2,3],\"data_offsets\":[0,24]}}",
                                         "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3]}}",
                                         "[]",
                                         "{\"w\":",
                                         "{\"w\":7}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        put_file(file, make_safetensors(file, broken[i], data, sizeof data));
        if (read_tensor("w", &a, code) || strcmp(code, "E0831"))
            fail_msg("%s: code %s", broken[i], code);
    }
    put_file(file, make_safetensors(file, "{\"w\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", data, sizeof data));
    assert_false(read_tensor("w", &a, code));
    assert_string_equal(code, "E0832");
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_and_types), cmocka_unit_test(test_order), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_broken_files),       cmocka_unit_test(test_write), cmocka_unit_test(test_safetensors)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
