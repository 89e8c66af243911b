/* NumPy's .npy format, versions 1 to 3: a magic, a header that is a Python dictionary, the data. */
#include "run/run.h"
#include "base/file.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 1 << 20, MAX_RANK = 32 };
static const source_span whole_file = {0};

/* ---- the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } ---- */

typedef struct header {
    const char *path;
    const char *at, *end;
    diag_list *diags;
    char descr[32];
    bool fortran, has_descr, has_order, has_shape;
    int rank;
    int64_t dims[MAX_RANK];
} header;

static bool malformed(header *h, const char *what) {
    diag_error(h->diags, "E0821", whole_file, "%s: malformed .npy header: %s", h->path, what);
    return false;
}

static void skip_space(header *h) {
    while (h->at < h->end && isspace((unsigned char)*h->at))
        h->at++;
}

static bool take(header *h, char c) {
    skip_space(h);
    if (h->at >= h->end || *h->at != c)
        return false;
    h->at++;
    return true;
}

static bool read_string(header *h, char *out, size_t size) {
    skip_space(h);
    if (h->at >= h->end || (*h->at != '\'' && *h->at != '"'))
        return false;
    char quote = *h->at++;
    size_t length = 0;
    for (; h->at < h->end && *h->at != quote; h->at++) {
        if (length + 1 >= size)
            return false;
        out[length++] = *h->at;
    }
    out[length] = 0;
    return h->at < h->end && *h->at++ == quote;
}

static bool read_shape(header *h) {
    if (!take(h, '('))
        return malformed(h, "the shape is no tuple");
    while (!take(h, ')')) {
        skip_space(h);
        int64_t dim = 0;
        const char *begin = h->at;
        for (; h->at < h->end && isdigit((unsigned char)*h->at); h->at++)
            if (__builtin_mul_overflow(dim, 10, &dim) || __builtin_add_overflow(dim, *h->at - '0', &dim))
                return malformed(h, "an extent does not fit 64 bits");
        if (h->at == begin)
            return malformed(h, "the shape holds something else than extents");
        if (h->at < h->end && *h->at == 'L') /* Python 2 wrote long integers so */
            h->at++;
        if (h->rank == MAX_RANK)
            return malformed(h, "more than 32 dimensions");
        h->dims[h->rank++] = dim;
        if (!take(h, ',')) {
            if (!take(h, ')'))
                return malformed(h, "the shape does not end");
            break;
        }
    }
    h->has_shape = true;
    return true;
}

static bool read_word(header *h, const char *word) {
    skip_space(h);
    size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n))
        return false;
    h->at += n;
    return true;
}

static bool read_header(header *h) {
    if (!take(h, '{'))
        return malformed(h, "no dictionary");
    while (!take(h, '}')) {
        char key[32];
        if (!read_string(h, key, sizeof key) || !take(h, ':'))
            return malformed(h, "a key was expected");
        if (!strcmp(key, "descr")) {
            skip_space(h);
            if (h->at < h->end && *h->at == '[') {
                diag *g = diag_error(h->diags, "E0823", whole_file, "%s holds records (a structured dtype)", h->path);
                diag_note(h->diags, g, "save one field by itself: np.save(path, a['field'])");
                return false;
            }
            if (!read_string(h, h->descr, sizeof h->descr))
                return malformed(h, "descr is no short text");
            h->has_descr = true;
        } else if (!strcmp(key, "fortran_order")) {
            h->fortran = read_word(h, "True");
            if (!h->fortran && !read_word(h, "False"))
                return malformed(h, "fortran_order is neither True nor False");
            h->has_order = true;
        } else if (!strcmp(key, "shape")) {
            if (!read_shape(h))
                return false;
        } else
            return malformed(h, "an unknown key");
        if (!take(h, ',')) {
            if (!take(h, '}'))
                return malformed(h, "it does not end");
            break;
        }
    }
    return h->has_descr && h->has_order && h->has_shape ? true : malformed(h, "descr, fortran_order or shape is missing");
}

/* ---- types ---- */

typedef struct npy_type {
    const char *code; /* without the byte order */
    element_type type;
    int bytes;
    char wide;
} npy_type;
/* Two raw bytes are how ml_dtypes saves bfloat16, and u2 how its words come through a view. */
static const npy_type npy_types[] = {{"f4", ELEMENT_F32, 4, 0},  {"f2", ELEMENT_F16, 2, 0},   {"i1", ELEMENT_I8, 1, 0},
                                     {"u1", ELEMENT_U8, 1, 0},   {"i4", ELEMENT_I32, 4, 0},   {"u4", ELEMENT_U32, 4, 0},
                                     {"b1", ELEMENT_BOOL, 1, 0}, {"f8", ELEMENT_F32, 8, 'f'}, {"i8", ELEMENT_I32, 8, 'i'},
                                     {"V2", ELEMENT_BF16, 2, 0}, {"u2", ELEMENT_BF16, 2, 0},  {"V1", ELEMENT_U8, 1, 0},
                                     {"i2", ELEMENT_U16, 2, 0}};

static const npy_type *find_type(header *h) {
    char order = h->descr[0];
    const char *code = h->descr + (order && strchr("<>|=", order) ? 1 : 0);
    if (*code == 'O') {
        diag *g = diag_error(h->diags, "E0823", whole_file, "%s holds Python objects", h->path);
        diag_note(h->diags, g, "convert it first: np.save(path, a.astype(np.float32))");
        return NULL;
    }
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
        if (!strcmp(npy_types[i].code, code)) {
            if (order == '>' && npy_types[i].bytes > 1) {
                diag *g = diag_error(h->diags, "E0822", whole_file, "%s is big-endian (dtype %s)", h->path, h->descr);
                diag_note(h->diags, g, "save it in this machine's order: np.save(path, a.astype(a.dtype.newbyteorder('<')))");
                return NULL;
            }
            return &npy_types[i];
        }
    diag *g = diag_error(h->diags, "E0823", whole_file, "%s has dtype %s, which there is no element type for", h->path, h->descr);
    diag_note(h->diags, g, "float32, float16, int8, uint8, int32, uint32 and bool can be used; float64 and int64 with :convert");
    return NULL;
}

/* From first index fastest to last index fastest. */
static bool rearrange(npy_array *a, int element) {
    int64_t cells = a->bytes / element, index[MAX_RANK] = {0};
    char *to = malloc((size_t)a->bytes + 1);
    if (!to)
        return false;
    int64_t stride[MAX_RANK];
    int64_t step = 1;
    for (int d = 0; d < a->rank; d++) {
        stride[d] = step;
        step *= a->dims[d];
    }
    const char *from = a->data;
    int64_t at = 0;
    for (int64_t c = 0; c < cells; c++) {
        memcpy(to + c * element, from + at * element, (size_t)element);
        for (int d = a->rank - 1; d >= 0; d--) {
            at += stride[d];
            if (++index[d] < a->dims[d])
                break;
            at -= stride[d] * a->dims[d];
            index[d] = 0;
        }
    }
    free(a->data);
    a->data = to;
    return true;
}

static bool read_data(FILE *f, header *h, const npy_type *type, npy_array *out) {
    int64_t cells = 1;
    bool empty = false, fits = true;
    out->rank = h->rank;
    for (int d = 0; d < h->rank; d++) {
        out->dims[d] = h->dims[d];
        empty = empty || !h->dims[d];
        fits = fits && !__builtin_mul_overflow(cells, h->dims[d], &cells);
    }
    cells = empty ? 0 : cells;
    fits = (fits || empty) && !__builtin_mul_overflow(cells, type->bytes, &out->bytes);
    out->type = type->type;
    out->wide = type->wide ? 8 : 0;
    out->wide_kind = type->wide;
    if (!fits)
        return malformed(h, "the shape has more elements than can be counted");
    /* Room is made as data comes, so that a false shape cannot ask for more memory than the file has bytes. */
    int64_t have = 0, room = 0;
    while (have < out->bytes) {
        if (have == room) {
            int64_t larger = room ? 2 * room : 1 << 20;
            larger = larger > out->bytes ? out->bytes : larger;
            void *grown = realloc(out->data, (size_t)larger);
            if (!grown) {
                diag_error(h->diags, "E0824", whole_file, "%s: no memory for %lld bytes", h->path, (long long)out->bytes);
                return false;
            }
            out->data = grown;
            room = larger;
        }
        size_t got = fread((char *)out->data + have, 1, (size_t)(room - have), f);
        if (!got) {
            diag_error(h->diags, "E0824", whole_file, "%s is cut short: its shape needs %lld bytes of data, it has %lld", h->path,
                       (long long)out->bytes, (long long)have);
            return false;
        }
        have += (int64_t)got;
    }
    if (!out->data && !(out->data = calloc(1, 1)))
        return malformed(h, "no memory");
    if (type->type == ELEMENT_BOOL)
        for (int64_t i = 0; i < out->bytes; i++)
            ((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
    return !h->fortran || h->rank < 2 || rearrange(out, type->bytes) || malformed(h, "no memory");
}

bool npy_read(const char *path, npy_array *out, diag_list *diags) {
    memset(out, 0, sizeof *out);
    FILE *f = fopen(path, "rb");
    if (!f) {
        diag_error(diags, errno == ENOENT ? "E0880" : "E0881", whole_file, "%s: %s", path, strerror(errno));
        return false;
    }
    header h = {.path = path, .diags = diags};
    unsigned char start[12] = {0};
    char *text = NULL;
    bool ok = false;
    if (fread(start, 1, 10, f) != 10 || memcmp(start, "\x93NUMPY", 6)) {
        diag *g = diag_error(diags, "E0820", whole_file, "%s is not a .npy file", path);
        if (!memcmp(start, "PK\x03\x04", 4))
            diag_note(diags, g, "it looks like a .npz archive: take one array out of it, np.save(path, np.load(file)[name])");
    } else if (start[6] < 1 || start[6] > 3) {
        diag_error(diags, "E0821", whole_file, "%s: .npy version %d is not known (1 to 3 are)", path, start[6]);
    } else {
        size_t length = start[8] | (size_t)start[9] << 8;
        bool wide = start[6] > 1;
        if (wide && fread(start + 10, 1, 2, f) == 2)
            length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
        if (length > HEADER_LIMIT || !(text = malloc(length + 1)) || fread(text, 1, length, f) != length) {
            malformed(&h, "longer than the file");
        } else {
            h.at = text;
            h.end = text + length;
            const npy_type *type = read_header(&h) ? find_type(&h) : NULL;
            ok = type && read_data(f, &h, type, out);
        }
    }
    free(text);
    fclose(f);
    if (!ok)
        npy_free(out);
    return ok;
}

bool npy_write(const char *path, const npy_array *in, diag_list *diags) {
    const char *descr = "<f4";
    if (in->wide)
        descr = in->wide_kind == 'f' ? "<f8" : "<i8";
    else
        switch (in->type) {
        case ELEMENT_F16: descr = "<f2"; break;
        case ELEMENT_BF16: descr = "<u2"; break; /* NumPy has no name for it: the words, as they are */
        case ELEMENT_I8: descr = "|i1"; break;
        case ELEMENT_I32:
        case ELEMENT_INDEX: descr = "<i4"; break;
        case ELEMENT_U32: descr = "<u4"; break;
        case ELEMENT_U16: descr = "<u2"; break;
        case ELEMENT_I64: descr = "<i8"; break;
        case ELEMENT_BOOL: descr = "|b1"; break;
        case ELEMENT_U8:
        case ELEMENT_E4M3:
        case ELEMENT_E5M2:
        case ELEMENT_Q8_0:
        case ELEMENT_Q4_0:
        case ELEMENT_MXFP4: descr = "|u1"; break;
        default: break;
        }
    text_buffer b = {0};
    text_add(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < in->rank; d++)
        text_add(&b, d ? ", %lld" : "%lld", (long long)in->dims[d]);
    text_add(&b, in->rank == 1 ? ",), }" : "), }");
    while ((10 + b.length + 1) % 64) /* the data begins at a multiple of 64 */
        text_add(&b, " ");
    text_add(&b, "\n");
    size_t header_bytes = b.length, total = 10 + header_bytes + (size_t)in->bytes;
    char *file = malloc(total);
    if (!file) {
        text_free(&b);
        diag_error(diags, "E0824", whole_file, "%s: no memory for %zu bytes", path, total);
        return false;
    }
    const char start[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(header_bytes & 255), (char)(header_bytes >> 8)};
    memcpy(file, start, 10);
    memcpy(file + 10, text_get(&b), header_bytes);
    if (in->bytes)
        memcpy(file + 10 + header_bytes, in->data, (size_t)in->bytes);
    text_free(&b);
    bool ok = file_write(path, file, total, diags);
    free(file);
    return ok;
}

void npy_free(npy_array *a) {
    free(a->data);
    a->data = NULL;
    a->bytes = 0;
}
