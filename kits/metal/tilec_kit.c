/* Made-up data, comparison, the clock: see tilec_kit.h. */
#include "tilec_kit.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 20, PARAMETERS = 31 };

/* ---- number formats ---- */

static float of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static float small_float(unsigned bits, int exponent_bits, int digits, bool infinite) {
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(bits >> digits) & ((1 << exponent_bits) - 1);
    unsigned fraction = bits & ((1u << digits) - 1), sign = bits >> (exponent_bits + digits) & 1;
    float f = exponent ? ldexpf(1 + ldexpf((float)fraction, -digits), exponent - bias) : ldexpf((float)fraction, 1 - bias - digits);
    if (infinite && exponent == (1 << exponent_bits) - 1)
        f = fraction ? NAN : INFINITY;
    if (!infinite && (bits & 0x7f) == 0x7f) /* e4m3 */
        f = NAN;
    return sign ? -f : f;
}

static float element_value(tilec_element e, const void *data, int64_t i) {
    switch (e) {
    case TILEC_F32: return ((const float *)data)[i];
    case TILEC_F16: return small_float(((const uint16_t *)data)[i], 5, 10, true);
    case TILEC_BF16: return of_bits((uint32_t)((const uint16_t *)data)[i] << 16);
    case TILEC_E4M3: return small_float(((const uint8_t *)data)[i], 4, 3, false);
    case TILEC_E5M2: return small_float(((const uint8_t *)data)[i], 5, 2, true);
    default: return 0;
    }
}

/* Nearest, ties to even; the values drawn are ordinary ones. */
static uint16_t to_f16(float f) {
    float m = fabsf(f);
    unsigned sign = signbit(f) ? 0x8000 : 0, bits;
    if (m < 0x1p-14f)
        bits = (unsigned)rintf(m * 0x1p24f);
    else {
        int exponent;
        float digits = rintf(frexpf(m, &exponent) * 2048);
        bits = (unsigned)((exponent + 13) * 1024) + (unsigned)digits;
    }
    return (uint16_t)(sign | bits);
}

static uint16_t to_bf16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint8_t to_f8(tilec_element e, float f) {
    uint8_t best = 0;
    float distance = INFINITY;
    for (int code = 0; code < (e == TILEC_E4M3 ? 0x7f : 0x7c); code++) { /* even codes win ties */
        uint8_t byte = (uint8_t)code;
        float d = fabsf(element_value(e, &byte, 0) - fabsf(f));
        if (d < distance || (d == distance && code % 2 == 0)) {
            distance = d;
            best = byte;
        }
    }
    return (uint8_t)(best | (signbit(f) ? 0x80 : 0));
}

static int bytes_of(tilec_element e) {
    return e == TILEC_F32 || e == TILEC_I32 || e == TILEC_U32 || e == TILEC_INDEX ? 4 : e == TILEC_F16 || e == TILEC_BF16 ? 2
         : e == TILEC_Q8_0                                                       ? 34
         : e == TILEC_Q4_0                                                       ? 18
         : e == TILEC_MXFP4                                                      ? 17
                                                                                 : 1;
}

static int64_t array_bytes(tilec_element e, int64_t cells) {
    return (e == TILEC_Q8_0 || e == TILEC_Q4_0 || e == TILEC_MXFP4 ? cells / 32 : cells) * bytes_of(e);
}

/* ---- data: the bytes that `tilec run --arg NAME=random:SEED` makes ---- */

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double unit_interval(uint64_t *state) {
    return (double)(next(state) >> 11) * 0x1p-53;
}

static uint64_t shuffled(uint64_t x, int half, uint64_t seed) {
    uint64_t mask = ((uint64_t)1 << half) - 1, left = x >> half, right = x & mask;
    for (uint64_t round = 1; round <= 4; round++) {
        uint64_t state = seed ^ round << 40 ^ right, other = left ^ (next(&state) & mask);
        left = right;
        right = other;
    }
    return left << half | right;
}

static void fill(const tilec_array *a, uint64_t seed, int64_t count, void *data) {
    uint64_t state = seed * 0xD1342543DE82EF95u + 0x632BE59BD9B4E019u, key = state;
    int64_t bound = a->bound ? a->bound() : 0;
    int half = 1;
    if (a->bound) {
        bound = bound > INT32_MAX ? INT32_MAX : bound;
        while ((int64_t)1 << 2 * half < bound)
            half++;
        for (int64_t i = 0; i < count && bound > 0; i++) {
            uint64_t x = (uint64_t)(i % bound);
            if (a->distinct)
                do
                    x = shuffled(x, half, key);
                while (x >= (uint64_t)bound);
            else
                x = next(&state) % (uint64_t)bound;
            ((int32_t *)data)[i] = (int32_t)x;
        }
        return;
    }
    uint16_t *words = data;
    uint8_t *bytes = data;
    switch (a->element) {
    case TILEC_F32:
        for (int64_t i = 0; i < count; i++)
            ((float *)data)[i] = 2 * ((float)(next(&state) >> 40) * 0x1p-24f) - 1;
        break;
    case TILEC_F16:
    case TILEC_BF16: {
        uint64_t r = 0;
        int64_t whole = count / 4 * 4;
        for (int64_t i = 0; i < count; i++) {
            r = i >= whole ? next(&state) >> 48 : i % 4 ? r >> 16 : next(&state);
            float u = 2 * (float)(((double)(r & 65535) + 0.5) / 65536) - 1;
            words[i] = a->element == TILEC_F16 ? to_f16(u) : to_bf16(u);
        }
        break;
    }
    case TILEC_Q8_0:
    case TILEC_Q4_0:
    case TILEC_MXFP4:
        for (int64_t b = 0, size = bytes_of(a->element); b < count / 32; b++) {
            float wanted = (float)((0.5 + unit_interval(&state)) / 64);
            uint16_t scale = to_f16(wanted);
            bool power = a->element == TILEC_MXFP4;
            memcpy(bytes + b * size, &scale, 2);
            if (power)
                bytes[b * size] = (uint8_t)(ilogbf(wanted) + 127);
            for (int64_t i = power ? 1 : 2; i < size; i++)
                bytes[b * size + i] = (uint8_t)next(&state);
        }
        break;
    case TILEC_E4M3:
    case TILEC_E5M2:
        for (int64_t i = 0; i < count; i++)
            bytes[i] = to_f8(a->element, (float)(2 * unit_interval(&state) - 1));
        break;
    case TILEC_I8:
        for (int64_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)((int)(next(&state) % 255) - 127);
        break;
    case TILEC_I32:
        for (int64_t i = 0; i < count; i++)
            ((int32_t *)data)[i] = (int32_t)(next(&state) % 255) - 127;
        break;
    case TILEC_U32:
    case TILEC_INDEX:
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)data)[i] = (uint32_t)(next(&state) % 256);
        break;
    case TILEC_U8:
        for (int64_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)(next(&state) % 256);
        break;
    case TILEC_BOOL:
        for (int64_t i = 0; i < count; i++) {
            next(&state);
            bytes[i] = next(&state) & 1;
        }
        break;
    }
}

/* ---- comparison ---- */

static double tolerance(tilec_element e) {
    return e == TILEC_F16 ? 0x1p-9 : e == TILEC_BF16 ? 0x1p-6 : e == TILEC_E4M3 ? 0x1p-2 : e == TILEC_E5M2 ? 0x1p-1 : 1e-4;
}

/* Integers, indices and truth values must be equal. Floats: both sides round as they sum, in different orders; what is asked is a difference of a few
 * roundings of the kernel's narrowest format, measured at the value or at the array's mean. (tilec's own check derives a bound for every element.) */
static int64_t wrong_elements(const tilec_array *a, int64_t cells, const void *got, const void *wanted, double share, double *worst) {
    int64_t wrong = 0;
    double mean = 0;
    *worst = 0;
    if (a->element > TILEC_E5M2) {
        const char *x = got, *y = wanted;
        int size = bytes_of(a->element);
        for (int64_t i = 0; i < cells; i++)
            wrong += memcmp(x + i * size, y + i * size, (size_t)size) != 0;
        return wrong;
    }
    for (int64_t i = 0; i < cells; i++) {
        float y = element_value(a->element, wanted, i);
        mean += isfinite(y) ? fabs((double)y) / (double)cells : 0;
    }
    for (int64_t i = 0; i < cells; i++) {
        float x = element_value(a->element, got, i), y = element_value(a->element, wanted, i);
        if ((isnan(x) && isnan(y)) || x == y)
            continue;
        double off = fabs((double)x - (double)y) / (share * (fabs((double)y) + mean));
        if (!(off <= 1))
            wrong++;
        if (!(off <= *worst))
            *worst = off;
    }
    return wrong;
}

/* ---- the command line ---- */

static bool set_value(tilec_kernel *k, const char *text) {
    const char *equals = strchr(text, '=');
    for (int i = 0; equals && i < k->value_count; i++) {
        tilec_value *v = &k->values[i];
        if (strlen(v->name) != (size_t)(equals - text) || strncmp(v->name, text, (size_t)(equals - text)))
            continue;
        char *end;
        if (v->integer)
            *v->integer = strtoll(equals + 1, &end, 10);
        else
            *v->real = strtof(equals + 1, &end);
        v->given = true;
        if (end != equals + 1 && !*end)
            return true;
    }
    fprintf(stderr, "%s: `%s` is not understood; one can set", k->name, text);
    for (int i = 0; i < k->value_count; i++)
        fprintf(stderr, " %s=..", k->values[i].name);
    fprintf(stderr, "\n");
    return false;
}

static bool set_arguments(const tilec_kernel *k, void *const *data, const int64_t *cells, int64_t *first, const tilec_entry *e,
                          tilec_argument *out) {
    static int64_t integers[PARAMETERS];
    static float floats[PARAMETERS];
    static int32_t truths[PARAMETERS]; /* and integers of 32 bits */
    if (e->parameter_count > PARAMETERS)
        return false;
    for (int i = 0; i < e->parameter_count; i++) {
        int at = e->parameters[i].position;
        switch (e->parameters[i].kind) {
        case 'a':
            out[i] = (tilec_argument){.bytes = data[at], .size = (size_t)array_bytes(k->arrays[at].element, cells[at]), .array = true,
                                      .written = k->arrays[at].written};
            break;
        case 'i':
            integers[i] = k->integer(at);
            out[i] = (tilec_argument){.bytes = &integers[i], .size = sizeof integers[i]};
            break;
        case 'I':
            truths[i] = (int32_t)k->integer(at);
            out[i] = (tilec_argument){.bytes = &truths[i], .size = sizeof truths[i]};
            break;
        case 'f':
            floats[i] = k->real(at);
            out[i] = (tilec_argument){.bytes = &floats[i], .size = sizeof floats[i]};
            break;
        case 'b':
            truths[i] = k->real(at) != 0;
            out[i] = (tilec_argument){.bytes = &truths[i], .size = sizeof truths[i]};
            break;
        case 'T': /* little-endian, as every Mac: the lower half stands first */
            out[i] = (tilec_argument){.bytes = first, .size = sizeof(int32_t), .first_task = true};
            break;
        default: out[i] = (tilec_argument){.bytes = first, .size = sizeof *first, .first_task = true}; break;
        }
    }
    return true;
}

static bool make_data(const tilec_kernel *k, void **device, void **host, int64_t *cells, double *traffic) {
    for (int i = 0; i < k->array_count; i++) {
        const tilec_array *a = &k->arrays[i];
        cells[i] = a->cells();
        if (cells[i] < 0 || cells[i] > (int64_t)1 << 34) {
            fprintf(stderr, "%s: `%s` has %" PRId64 " elements\n", k->name, a->name, cells[i]);
            return false;
        }
        size_t bytes = (size_t)array_bytes(a->element, cells[i]);
        host[i] = calloc(bytes / 64 + 1, 64);
        device[i] = calloc(bytes / 64 + 1, 64);
        if (!host[i] || !device[i]) {
            fprintf(stderr, "%s: no memory for `%s`\n", k->name, a->name);
            return false;
        }
        if (a->read)
            fill(a, 1 + (uint64_t)i, cells[i], host[i]);
        memcpy(device[i], host[i], bytes);
        *traffic += (double)bytes * ((a->read ? 1 : 0) + (a->written ? 1 : 0));
    }
    return true;
}

static int run(const tilec_kernel *k, void **device, void **host, int64_t *cells) {
    double traffic = 0;
    int64_t first = 0;
    if (!make_data(k, device, host, cells, &traffic))
        return 1;
    int code = k->reference(host);
    if (code) {
        fprintf(stderr, "%s: %s\n", k->name, k->error(code));
        return TILEC_REFUSED;
    }
    const tilec_entry *e = NULL;
    for (int i = 0; !e && i < k->entry_count; i++)
        e = k->entries[i].holds() ? &k->entries[i] : NULL;
    tilec_argument arguments[PARAMETERS];
    if (!e || !set_arguments(k, device, cells, &first, e, arguments)) {
        fprintf(stderr, "%s: no entry is made for these sizes\n", k->name);
        return 1;
    }
    double seconds = tilec_device_run(k->file, e->name, e->threads, e->tasks(), arguments, e->parameter_count, REPEATS);
    if (seconds < 0)
        return 1;
    int64_t wrong = 0;
    double worst = 0, share = 0;
    for (int i = 0; i < k->array_count; i++)
        share = tolerance(k->arrays[i].element) > share ? tolerance(k->arrays[i].element) : share;
    for (int i = 0; i < k->array_count; i++)
        if (k->arrays[i].written) {
            double off;
            wrong += wrong_elements(&k->arrays[i], cells[i], device[i], host[i], share, &off);
            worst = off > worst ? off : worst;
        }
    printf("%-18s", k->name);
    for (int i = 0; i < k->value_count; i++)
        k->values[i].integer ? printf(" %s=%" PRId64, k->values[i].name, *k->values[i].integer)
                             : printf(" %s=%g", k->values[i].name, (double)*k->values[i].real);
    printf("  %s", e->name);
    if (seconds > 0)
        printf("  %.1f us, %.1f GB/s", seconds * 1e6, traffic / seconds * 1e-9);
    if (wrong)
        printf("  FAILED: %" PRId64 " elements differ from the processor's\n", wrong);
    else
        printf("  agrees (%.3f of what is allowed)\n", worst);
    return wrong != 0;
}

int tilec_main(const tilec_kernel *given, int argc, char **argv) {
    tilec_kernel kernel = *given, *k = &kernel;
    for (int i = 1; i < argc; i++)
        if (!set_value(k, argv[i]))
            return 2;
    k->derive();
    void **device = calloc((size_t)k->array_count + 1, sizeof *device), **host = calloc((size_t)k->array_count + 1, sizeof *host);
    int64_t *cells = calloc((size_t)k->array_count + 1, sizeof *cells);
    int status = device && host && cells ? run(k, device, host, cells) : 1;
    for (int i = 0; device && host && i < k->array_count; i++) {
        free(device[i]);
        free(host[i]);
    }
    free(device);
    free(host);
    free(cells);
    return status;
}
