#include "run/recipe.h"
#include <math.h>
#include <string.h>

const char *const recipe_names[RECIPE_COUNT] = {"zeros",    "iota",        "random", "positive", "normal",
                                                "integers", "adversarial", "huge",   "rope"};

recipe_kind recipe_by_name(const char *name) {
    for (int i = 0; i < RECIPE_COUNT; i++)
        if (strcmp(name, recipe_names[i]) == 0)
            return (recipe_kind)i;
    return RECIPE_COUNT;
}

uint64_t recipe_next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double unit_interval(uint64_t *state) {
    return (double)(recipe_next(state) >> 11) * 0x1p-53;
}

/* The awkward values of f32, which narrower types round to awkward values of their own. */
static double awkward(uint64_t *state, bool finite) {
    /* clang-format off */
    static const double values[] = {0x1.fffffep127,  -0x1.fffffep127, 1e30,      -1e30,     1e-30,   -1e-30, 0x1p-126, 0x1p-149,
                                    -0x1.8p-130,     0.0,             -0.0,      65504.0,   -65504., 6e-8,   448.0,    57344.0,
                                    0x1.000002p0,    -0x1.fffffep-1,  16777217., 2049.0,    88.7,    -103.9, 1e5,      NAN,
                                    (double)INFINITY, -(double)INFINITY};
    /* clang-format on */
    int count = sizeof values / sizeof *values - (finite ? 3 : 0);
    return values[recipe_next(state) % (uint64_t)count];
}

static double draw(recipe_kind kind, uint64_t *state, int64_t position, int64_t count) {
    switch (kind) {
    case RECIPE_IOTA: return (double)position;
    case RECIPE_ROPE: return pow(10000, -(double)position / (double)count);
    case RECIPE_RANDOM: return 2 * unit_interval(state) - 1;
    case RECIPE_POSITIVE: return unit_interval(state);
    case RECIPE_NORMAL: {
        double r = sqrt(-2 * log(1 - unit_interval(state)));
        return r * cos(6.283185307179586 * unit_interval(state));
    }
    case RECIPE_INTEGERS: return (double)(recipe_next(state) & 7);
    case RECIPE_ADVERSARIAL:
    case RECIPE_HUGE: return recipe_next(state) & 3 ? 2 * unit_interval(state) - 1 : awkward(state, kind == RECIPE_HUGE);
    default: return 0;
    }
}

/* Integers have no fractions: their random values are small enough that a product's sum stays far from 2^31. */
static double draw_integer(recipe_kind kind, uint64_t *state, element_type type, int64_t position) {
    bool is_signed = element_table[type].is_signed;
    switch (kind) {
    case RECIPE_IOTA:
        return (double)(type == ELEMENT_I8 ? position % 128 : type == ELEMENT_U8 ? position % 256 : position % 2147483648);
    case RECIPE_RANDOM:
    case RECIPE_NORMAL: return is_signed ? (double)(int64_t)(recipe_next(state) % 255) - 127 : (double)(recipe_next(state) % 256);
    case RECIPE_POSITIVE: return (double)(recipe_next(state) % 128);
    case RECIPE_INTEGERS: return (double)(recipe_next(state) & 7);
    case RECIPE_ADVERSARIAL:
    case RECIPE_HUGE: {
        static const double ends[] = {-2147483648.0, 2147483647.0, -128, 127, 255, 4294967295.0, 0, 1, -1};
        return recipe_next(state) & 3 ? (double)(recipe_next(state) % 100) : ends[recipe_next(state) % 9];
    }
    default: return 0;
    }
}

static void fill_blocks(recipe_kind kind, uint64_t state, element_type type, int64_t count, unsigned char *out) {
    const element_info *info = &element_table[type];
    int64_t blocks = (count + info->block_elements - 1) / info->block_elements;
    for (int64_t b = 0; b < blocks; b++, out += info->block_bytes) {
        double scale = kind == RECIPE_ZEROS ? 0 : kind == RECIPE_INTEGERS ? 1 : (0.5 + unit_interval(&state)) / 64;
        for (int i = element_set_scale(type, out, scale); i < info->block_bytes; i++)
            out[i] = kind == RECIPE_ZEROS ? 0 : (unsigned char)recipe_next(&state);
    }
}

void recipe_fill(recipe_kind kind, uint64_t seed, element_type type, int64_t bound, int64_t count, void *data) {
    uint64_t state = seed * 0xD1342543DE82EF95u + 0x632BE59BD9B4E019u;
    if (count <= 0)
        return;
    if (element_table[type].block_elements > 1) {
        fill_blocks(kind, state, type, count, data);
        return;
    }
    if (bound > 0) {
        int32_t *out = data;
        bound = bound > INT32_MAX ? INT32_MAX : bound; /* what an index word can hold */
        for (int64_t i = 0; i < count; i++)
            out[i] =
                kind == RECIPE_ZEROS ? 0 : (int32_t)((kind == RECIPE_IOTA ? (uint64_t)i : recipe_next(&state)) % (uint64_t)bound);
        return;
    }
    if (kind == RECIPE_ZEROS) {
        memset(data, 0, (size_t)element_bytes(type, count));
        return;
    }
    bool uniform = kind == RECIPE_RANDOM || kind == RECIPE_POSITIVE;
    if (type == ELEMENT_F32 && uniform) { /* the two common cases are worth a quick loop: weights are hundreds of megabytes */
        float *out = data;
        for (int64_t i = 0; i < count; i++) {
            float u = (float)(recipe_next(&state) >> 40) * 0x1p-24f;
            out[i] = kind == RECIPE_RANDOM ? 2 * u - 1 : u;
        }
        return;
    }
    if ((type == ELEMENT_F16 || type == ELEMENT_BF16) && uniform) {
        static const int codes = 65536;
        uint16_t table[65536];
        for (int i = 0; i < codes; i++) {
            float u = (float)((i + 0.5) / codes);
            u = kind == RECIPE_RANDOM ? 2 * u - 1 : u;
            table[i] = type == ELEMENT_F16 ? f32_to_f16(u) : f32_to_bf16(u);
        }
        uint16_t *out = data;
        int64_t i = 0;
        for (; i + 4 <= count; i += 4) {
            uint64_t r = recipe_next(&state);
            for (int j = 0; j < 4; j++)
                out[i + j] = table[(r >> (16 * j)) & 65535];
        }
        for (; i < count; i++)
            out[i] = table[recipe_next(&state) >> 48];
        return;
    }
    bool is_float = element_table[type].is_float;
    for (int64_t i = 0; i < count; i++) {
        double v = is_float ? draw(kind, &state, i, count) : draw_integer(kind, &state, type, i);
        if (type == ELEMENT_BOOL)
            v = kind == RECIPE_IOTA ? (double)(i & 1) : (double)(recipe_next(&state) & 1);
        element_store(type, data, i, v);
    }
}

/* A permutation of 0 .. 2^(2 half) - 1: four rounds of a Feistel network. */
static uint64_t shuffled(uint64_t x, int half, uint64_t seed) {
    uint64_t mask = ((uint64_t)1 << half) - 1, left = x >> half, right = x & mask;
    for (uint64_t round = 1; round <= 4; round++) {
        uint64_t state = seed ^ round << 40 ^ right;
        uint64_t next = left ^ (recipe_next(&state) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

void recipe_fill_distinct(recipe_kind kind, uint64_t seed, int64_t bound, int64_t count, int32_t *data) {
    uint64_t key = seed * 0xD1342543DE82EF95u + 0x632BE59BD9B4E019u;
    bound = bound > INT32_MAX ? INT32_MAX : bound;
    int half = 1;
    while ((int64_t)1 << 2 * half < bound)
        half++;
    for (int64_t i = 0; i < count && bound > 0; i++) {
        uint64_t x = (uint64_t)(i % bound);
        if (kind == RECIPE_ZEROS)
            x = 0;
        else if (kind != RECIPE_IOTA)
            do /* of the larger permutation, the part below the bound */
                x = shuffled(x, half, key);
            while (x >= (uint64_t)bound);
        data[i] = (int32_t)x;
    }
}
