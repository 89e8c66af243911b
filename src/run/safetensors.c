/* .safetensors: 8 bytes of header length, a JSON header, the data. Every offset is checked against shape and file before use. */
#include "run/safetensors.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 100 * 1000 * 1000 };
static const source_span whole_file = {0};

typedef struct tensor_type {
    const char *name;
    element_type type;
    int bytes;
    char wide; /* 'f' or 'i' for types kept as read */
} tensor_type;
static const tensor_type tensor_types[] = {
    {"F32", ELEMENT_F32, 4, 0},      {"F16", ELEMENT_F16, 2, 0},      {"BF16", ELEMENT_BF16, 2, 0}, {"I8", ELEMENT_I8, 1, 0},
    {"U8", ELEMENT_U8, 1, 0},        {"I32", ELEMENT_I32, 4, 0},      {"U32", ELEMENT_U32, 4, 0},   {"BOOL", ELEMENT_BOOL, 1, 0},
    {"F8_E4M3", ELEMENT_E4M3, 1, 0}, {"F8_E5M2", ELEMENT_E5M2, 1, 0}, {"F64", ELEMENT_F32, 8, 'f'}, {"I64", ELEMENT_I32, 8, 'i'}};

static diag *fail(diag_list *diags, const char *path, const char *what) {
    return diag_error(diags, "E0831", whole_file, "%s: %s", path, what);
}

static json_t *read_header(FILE *f, const char *path, int64_t *data_start, int64_t *file_bytes, diag_list *diags) {
    unsigned char size_bytes[8];
    uint64_t size = 0;
    if (fseeko(f, 0, SEEK_END) || (*file_bytes = ftello(f)) < 0 || fseeko(f, 0, SEEK_SET)) {
        fail(diags, path, "cannot be read from any place (a pipe?)");
        return NULL;
    }
    if (fread(size_bytes, 1, 8, f) != 8) {
        fail(diags, path, "shorter than the 8 bytes that begin a .safetensors file");
        return NULL;
    }
    for (int i = 7; i >= 0; i--)
        size = size << 8 | size_bytes[i];
    if (size > HEADER_LIMIT || (int64_t)size > *file_bytes - 8) {
        diag *g = fail(diags, path, "not a .safetensors file, or cut short");
        diag_note(diags, g, "its header would have %llu bytes, the file has %lld", (unsigned long long)size,
                  (long long)*file_bytes);
        return NULL;
    }
    char *text = malloc(size + 1);
    if (!text || fread(text, 1, size, f) != size) {
        free(text);
        fail(diags, path, "the header cannot be read");
        return NULL;
    }
    json_error_t error;
    json_t *header = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!header || !json_is_object(header)) {
        diag *g = fail(diags, path, "its header is not a JSON object");
        if (!header)
            diag_note(diags, g, "%s", error.text);
        json_decref(header);
        return NULL;
    }
    *data_start = 8 + (int64_t)size;
    return header;
}

static FILE *open_file(const char *path, diag_list *diags) {
    FILE *f = fopen(path, "rb");
    if (!f)
        diag_error(diags, errno == ENOENT ? "E0880" : "E0881", whole_file, "%s: %s", path, strerror(errno));
    return f;
}

/* Shape and offsets of one entry; false with a diagnostic unless they agree with each other and with the file. */
static bool locate(const json_t *entry, const char *path, const char *name, int64_t room, npy_array *out, int64_t *at,
                   diag_list *diags) {
    const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    const tensor_type *found = NULL;
    if (!json_is_array(shape) || !json_is_array(offsets) || json_array_size(offsets) != 2 || !type) {
        diag_error(diags, "E0831", whole_file, "%s: the entry of `%s` lacks dtype, shape or data_offsets", path, name);
        return false;
    }
    for (size_t i = 0; i < sizeof tensor_types / sizeof *tensor_types; i++)
        if (!strcmp(tensor_types[i].name, type))
            found = &tensor_types[i];
    if (!found) {
        diag *g =
            diag_error(diags, "E0832", whole_file, "%s: `%s` has type %s, which there is no element type for", path, name, type);
        diag_note(diags, g, "F32, F16, BF16, I8, U8, I32, U32, BOOL, F8_E4M3 and F8_E5M2 can be used; F64 and I64 with :convert");
        return false;
    }
    if (json_array_size(shape) > sizeof out->dims / sizeof *out->dims) {
        diag_error(diags, "E0831", whole_file, "%s: `%s` has %zu dimensions", path, name, json_array_size(shape));
        return false;
    }
    int64_t cells = 1;
    bool fits = true;
    out->rank = (int)json_array_size(shape);
    for (int d = 0; d < out->rank; d++) {
        const json_t *dim = json_array_get(shape, (size_t)d);
        out->dims[d] = json_is_integer(dim) ? json_integer_value(dim) : -1;
        fits = fits && out->dims[d] >= 0 && !__builtin_mul_overflow(cells, out->dims[d], &cells);
    }
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    int64_t begin = json_is_integer(first) ? json_integer_value(first) : -1,
            end = json_is_integer(last) ? json_integer_value(last) : -1;
    fits = fits && !__builtin_mul_overflow(cells, found->bytes, &out->bytes) && begin >= 0 && end >= begin && end <= room &&
           end - begin == out->bytes;
    if (!fits) {
        diag *g = diag_error(diags, "E0831", whole_file, "%s: shape and offsets of `%s` do not agree, or lie outside the file",
                             path, name);
        diag_note(diags, g, "offsets %lld to %lld of %lld bytes of data", (long long)begin, (long long)end, (long long)room);
        return false;
    }
    out->type = found->type;
    out->wide = found->wide ? 8 : 0;
    out->wide_kind = found->wide;
    *at = begin;
    return true;
}

bool safetensors_read(const char *path, const char *tensor, npy_array *out, diag_list *diags) {
    int64_t start, bytes, at;
    memset(out, 0, sizeof *out);
    FILE *f = open_file(path, diags);
    if (!f)
        return false;
    json_t *header = read_header(f, path, &start, &bytes, diags);
    bool ok = header;
    const json_t *entry = header ? json_object_get(header, tensor) : NULL;
    if (ok && (!entry || !strcmp(tensor, "__metadata__"))) {
        diag *g = diag_error(diags, "E0830", whole_file, "%s has no tensor `%s`", path, tensor);
        const char *name;
        json_t *value;
        int listed = 0;
        json_object_foreach(header, name, value) if (strcmp(name, "__metadata__") && listed++ < 12)
            diag_note(diags, g, "it has %s", name);
        if (listed > 12)
            diag_note(diags, g, "and %d more", listed - 12);
        ok = false;
    }
    ok = ok && locate(entry, path, tensor, bytes - start, out, &at, diags);
    if (ok) {
        out->data = malloc((size_t)out->bytes + 1);
        ok = out->data && !fseeko(f, start + at, SEEK_SET) && fread(out->data, 1, (size_t)out->bytes, f) == (size_t)out->bytes;
        if (!ok) {
            fail(diags, path, out->data ? "reading the data failed" : "no memory for the tensor");
            npy_free(out);
        }
    }
    json_decref(header);
    fclose(f);
    return ok;
}
