/* What emitted CUDA C++ needs in order to be C++ that runs on a CPU: a block's threads are coroutines that meet at barriers and shuffles. Included in
 * front of the text by test/run/_cuda_on_cpu.c. */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __CUDACC_RTC__ 1 /* what NVRTC defines: nothing is for the host */
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static
#define __grid_constant__

struct fake_number {
    unsigned x;
};
extern "C" {
extern fake_number fake_thread, fake_block;
extern uint64_t fake_slots[1024];
extern uint32_t fake_registers[1024][8];
extern unsigned long long fake_progress;
void fake_yield();        /* lets other threads go on */
void fake_meet(int warp); /* waits for the block's threads, or for the warp's */
}
#define threadIdx fake_thread
#define blockIdx fake_block

// clang-format off
static inline void __syncthreads() { fake_meet(0); }
static inline void __syncwarp() { fake_meet(1); }
// clang-format on

template <class To, class From> static inline To fake_bits(From x) {
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
// clang-format off
static inline float __int_as_float(int x) { return fake_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return fake_bits<float>(x); }
static inline int __float_as_int(float x) { return fake_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return fake_bits<unsigned>(x); }
static inline int __float2int_rz(float x) { return x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : (int)x; }
static inline unsigned __float2uint_rz(float x) { return x >= 0x1p32f ? UINT32_MAX : x <= 0 ? 0 : (unsigned)x; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
// clang-format on

static inline int fake_sum(int a, int b) {
    return (int)((unsigned)a + (unsigned)b);
}
static inline unsigned fake_sum(unsigned a, unsigned b) {
    return a + b;
}
static inline unsigned long long fake_sum(unsigned long long a, unsigned long long b) {
    return a + b;
}
static inline float fake_sum(float a, float b) {
    return a + b;
}
/* One coroutine runs at a time. */
#define FAKE_ATOMIC(name, next)                                                                                                  \
    template <class T> static inline T atomic##name(T *p, T v) {                                                                 \
        const T old = *p;                                                                                                        \
        *p = next;                                                                                                               \
        return old;                                                                                                              \
    }
FAKE_ATOMIC(Add, fake_sum(old, v))
FAKE_ATOMIC(Min, old < v ? old : v)
FAKE_ATOMIC(Max, old < v ? v : old)
FAKE_ATOMIC(And, old &v)
FAKE_ATOMIC(Or, old | v)
FAKE_ATOMIC(Xor, old ^ v)
FAKE_ATOMIC(Exch, v)
FAKE_ATOMIC(Inc, old >= v ? 0 : old + 1)
FAKE_ATOMIC(Dec, old == 0 || old > v ? v : old - 1)
template <class T> static inline T atomicCAS(T *p, T seen, T next) {
    const T old = *p;
    *p = old == seen ? next : old;
    return old;
}

template <class T> static T fake_exchange(T x, unsigned from) {
    const unsigned lane = fake_thread.x % 32, first = fake_thread.x - lane;
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    fake_slots[fake_thread.x] = bits;
    fake_meet(1);
    const uint64_t other = fake_slots[first + (from < 32 ? from : lane)];
    fake_meet(1);
    memcpy(&x, &other, sizeof x);
    return x;
}
template <class T> static T __shfl_sync(unsigned mask, T x, int lane) {
    return mask == 0xffffffffu ? fake_exchange(x, (unsigned)lane % 32) : (abort(), x);
}
template <class T> static T __shfl_xor_sync(unsigned mask, T x, int bits) {
    return __shfl_sync(mask, x, (int)(fake_thread.x % 32 ^ (unsigned)bits));
}
template <class T> static T __shfl_down_sync(unsigned mask, T x, int by) {
    return mask == 0xffffffffu ? fake_exchange(x, fake_thread.x % 32 + (unsigned)by) : (abort(), x);
}
#define FAKE_HALF_TO_FLOAT(f, h) f = _cvtsh_ss(h)
#define FAKE_FLOAT_TO_HALF(h, f) h = _cvtss_sh(f, 0)

/* ---- asynchronous copies: made as late as a wait allows, so that what is read too early is seen ---- */

#define __cvta_generic_to_shared(p) ((size_t)(p))

struct fake_copy {
    void *to;
    const void *from;
    int bytes, size;
    unsigned group;
};
enum { FAKE_COPIES = 256 };
static fake_copy fake_copies[1024][FAKE_COPIES];
static bool fake_unfenced[1024]; /* something has landed since the last fence */
static unsigned fake_copy_count[1024], fake_groups[1024];

static inline void fake_copy_async(void *to, const void *from, int bytes, int size) {
    const unsigned me = fake_thread.x;
    if ((size_t)to % (size_t)size || (bytes && (size_t)from % (size_t)size) || fake_copy_count[me] == FAKE_COPIES)
        abort(); /* a device stops here */
    fake_copies[me][fake_copy_count[me]++] = {to, from, bytes, size, fake_groups[me]};
}
static inline void fake_commit() {
    fake_groups[fake_thread.x]++;
}
static inline void fake_wait(unsigned left) {
    const unsigned me = fake_thread.x;
    unsigned kept = 0;
    for (unsigned i = 0; i < fake_copy_count[me]; i++) {
        const fake_copy c = fake_copies[me][i];
        if (c.group + left < fake_groups[me]) {
            memcpy(c.to, c.from, (size_t)c.bytes);
            memset((char *)c.to + c.bytes, 0, (size_t)(c.size - c.bytes));
            fake_unfenced[me] = true;
        } else
            fake_copies[me][kept++] = c;
    }
    fake_copy_count[me] = kept;
}

/* Memory that a launch gives the block. Descriptors tell 18 bits of an address, which are its own within it. */
static __align__(1024) unsigned char fake_shared[227 * 1024];

/* ---- mbarriers, and copies in bulk: made when somebody waits for the phase that they complete, so that what is read too early is seen ---- */

struct fake_map {
    uint64_t address, extents[5], strides[5];
    uint32_t rank, box[5];
};
struct fake_box {
    char *to;
    const fake_map *from;
    int at[5];
};
struct fake_mbarrier {
    const void *place;
    int arrivals, pending;
    long long bytes;
    unsigned phase;
    fake_box boxes[64];
    int box_count;
};
enum { FAKE_MBARRIERS = 64 };
static fake_mbarrier fake_mbarriers[FAKE_MBARRIERS];
static int fake_mbarrier_count;

static inline fake_mbarrier &fake_mbarrier_at(const void *place) {
    for (int i = 0; i < fake_mbarrier_count; i++)
        if (fake_mbarriers[i].place == place)
            return fake_mbarriers[i];
    if (fake_mbarrier_count == FAKE_MBARRIERS)
        abort();
    fake_mbarriers[fake_mbarrier_count].place = place;
    return fake_mbarriers[fake_mbarrier_count++];
}
static inline void fake_mbarrier_init(void *place, unsigned arrivals) {
    fake_mbarrier &m = fake_mbarrier_at(place);
    m.arrivals = m.pending = (int)arrivals;
    m.bytes = m.box_count = 0;
    m.phase = 0;
}
static inline void fake_mbarrier_settle(fake_mbarrier &m) {
    if (m.pending || m.bytes || m.box_count)
        return;
    m.pending = m.arrivals;
    m.phase++;
    fake_progress++;
}
static inline void fake_mbarrier_arrive(void *place) {
    fake_mbarrier &m = fake_mbarrier_at(place);
    if (!m.pending || !m.arrivals)
        abort(); /* more than the phase takes */
    m.pending--;
    fake_progress++;
    fake_mbarrier_settle(m);
}
static inline void fake_mbarrier_expect(void *place, unsigned bytes) {
    fake_mbarrier_at(place).bytes += bytes;
}
static inline void fake_copy_box(void *to, const void *from, void *place, int rank, const int *at) {
    fake_mbarrier &m = fake_mbarrier_at(place);
    const fake_map *map = (const fake_map *)from;
    if ((size_t)to % 1024 || map->rank != (uint32_t)rank || m.box_count == 64)
        abort();
    fake_box &b = m.boxes[m.box_count++];
    b.to = (char *)to;
    b.from = map;
    for (int d = 0; d < rank; d++)
        b.at[d] = at[d];
}
/* Elements of one byte or two, rows of 128 bytes, whose 16-byte pieces are exchanged by bits 7 to 9 of the address; outside the array zeros. */
static inline long long fake_land(const fake_box &b) {
    const fake_map &m = *b.from;
    const uint64_t each = m.strides[0];
    long long elements = 1;
    for (uint32_t d = 0; d < m.rank; d++)
        elements *= m.box[d];
    for (long long i = 0; i < elements; i++) {
        uint64_t from = m.address, to = (uint64_t)(size_t)b.to + each * (uint64_t)i;
        long long rest = i;
        bool inside = true;
        for (uint32_t d = 0; d < m.rank; d++) {
            const long long x = b.at[d] + rest % m.box[d];
            rest /= m.box[d];
            inside = inside && x >= 0 && x < (long long)m.extents[d];
            from += (uint64_t)x * m.strides[d];
        }
        to ^= (to >> 7 & 7) << 4;
        uint16_t bits = 0;
        if (inside)
            memcpy(&bits, (const void *)(size_t)from, each);
        memcpy((void *)(size_t)to, &bits, each);
    }
    return (long long)each * elements;
}
static inline unsigned fake_mbarrier_try(void *place, unsigned parity) {
    fake_mbarrier &m = fake_mbarrier_at(place);
    if ((m.phase & 1) == parity && !m.pending && m.box_count) {
        for (int i = 0; i < m.box_count; i++)
            m.bytes -= fake_land(m.boxes[i]);
        m.box_count = 0;
        fake_progress++;
        fake_mbarrier_settle(m);
    }
    if ((m.phase & 1) != parity)
        return 1;
    fake_yield();
    return 0;
}

/* ---- matrices: what the PTX manual says each lane holds, for groups of four lanes ---- */

/* Matrix j's rows begin where lanes 8j to 8j + 7 say; lane l then holds elements 2 (l % 4) and the next of row l / 4, or (turned round) of column l / 4. */
static inline void fake_ldmatrix(unsigned *to, int count, bool turned, const void *row) {
    const unsigned lane = fake_thread.x % 32, first = fake_thread.x - lane;
    if (lane < 8u * (unsigned)count && (size_t)row % 16)
        abort(); /* a device stops here */
    fake_slots[fake_thread.x] = (uint64_t)(size_t)row;
    fake_meet(1);
    for (int j = 0; j < count; j++) {
        uint16_t both[2];
        for (unsigned n = 0; n < 2; n++) {
            const unsigned r = turned ? lane % 4 * 2 + n : lane / 4, c = turned ? lane / 4 : lane % 4 * 2 + n;
            memcpy(&both[n], (const char *)(size_t)fake_slots[first + 8u * (unsigned)j + r] + 2 * c, 2);
        }
        to[j] = both[0] | (unsigned)both[1] << 16;
    }
    fake_meet(1);
}

/* The operands' registers of the warp. */
static inline void fake_hand_over(const unsigned *a, const unsigned *b) {
    memcpy(fake_registers[fake_thread.x], a, 16);
    memcpy(fake_registers[fake_thread.x] + 4, b, 8);
    fake_meet(1);
}

static inline double fake_half(uint16_t bits, bool wide) {
    return wide ? fake_bits<float>((uint32_t)bits << 16) : _cvtsh_ss(bits);
}
/* Of a product's factor: subnormals count as the smallest normal. */
static inline int fake_exponent(double x, int smallest) {
    const int e = ilogb(x);
    return e < smallest ? smallest : e;
}

/* C and so many exact products: each cut off at 2^-25 of the largest, their exact sum cut off at 24 bits: what was found on an H200. */
template <bool wide, int count = 16> static inline float fake_add_products(const double (*factors)[2], float c) {
    const int smallest = wide ? -126 : -14;
    int largest = c != 0 ? fake_exponent(c, -126) : INT32_MIN;
    double sum = c;
    for (int k = 0; k < count; k++) {
        const double x = factors[k][0], y = factors[k][1];
        sum += x * y;
        if (x != 0 && y != 0 && isfinite(x * y)) {
            const int e = fake_exponent(x, smallest) + fake_exponent(y, smallest);
            largest = e > largest ? e : largest;
        }
    }
    if (!isfinite(sum))
        return isnan(sum) ? fake_bits<float>(0x7fffffff) : (float)sum;
    if (largest == INT32_MIN)
        return 0;
    largest = wide && largest < -133 ? -133 : largest;
    double whole = trunc(ldexp(c, 25 - largest));
    for (int k = 0; k < count; k++)
        whole += trunc(ldexp(factors[k][0] * factors[k][1], 25 - largest));
    if (whole == 0)
        return 0;
    double exact = ldexp(whole, largest - 25);
    int unit = ilogb(exact) - 23;
    unit = unit < -149 ? -149 : unit;
    exact = ldexp(trunc(ldexp(exact, -unit)), unit);
    return exact >= 0x1p128 ? INFINITY : exact <= -0x1p128 ? -INFINITY : (float)exact;
}

template <bool wide> static inline void fake_mma_halves(float *d, const unsigned *a, const unsigned *b, const float *c) {
    const unsigned lane = fake_thread.x % 32, first = fake_thread.x - lane;
    static double left[16][16], right[16][8];
    static const char *const fault = getenv("FAKE_CUDA") ? getenv("FAKE_CUDA") : "";
    fake_hand_over(a, b);
    for (unsigned l = 0; l < 32; l++) {
        const unsigned group = l / 4, member = l % 4;
        for (unsigned i = 0; i < 8; i++) {
            const unsigned row = i < 2 || (i >= 4 && i < 6) ? group : group + 8, column = member * 2 + (i & 1) + (i >= 4 ? 8 : 0);
            left[row][column] = fake_half((uint16_t)(fake_registers[first + l][i / 2] >> 16 * (i & 1)), wide);
        }
        for (unsigned i = 0; i < 4; i++)
            right[member * 2 + (i & 1) + (i >= 2 ? 8 : 0)][group] =
                fake_half((uint16_t)(fake_registers[first + l][4 + i / 2] >> 16 * (i & 1)), wide);
    }
    for (unsigned i = 0; i < 4; i++) {
        const unsigned row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1);
        double factors[16][2];
        for (int k = 0; k < 16; k++) {
            factors[k][0] = left[row][k];
            factors[k][1] = right[k][column];
        }
        d[i] = fake_add_products<wide>(factors, c[i]);
        if (!strcmp(fault,
                    "narrow-sums")) /* faults, on request: f16 to nearest, and 14 bits cut as the fp8 unit of an H200 cuts them */
            d[i] = _cvtsh_ss(_cvtss_sh(d[i], 0));
        if (!strcmp(fault, "short-sums"))
            d[i] = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, d[i]) & ~0x3FFu);
    }
    fake_meet(1);
}

/* The last 13 bits of operands are not looked at. */
static inline void fake_mma_tf32(float *d, const unsigned *a, const unsigned *b, const float *c) {
    const unsigned lane = fake_thread.x % 32, first = fake_thread.x - lane;
    static double left[16][8], right[8][8];
    fake_hand_over(a, b);
    for (unsigned l = 0; l < 32; l++) {
        for (unsigned i = 0; i < 4; i++)
            left[l / 4 + i % 2 * 8][l % 4 + i / 2 * 4] = (double)fake_bits<float>(fake_registers[first + l][i] & 0xffffe000);
        for (unsigned i = 0; i < 2; i++)
            right[l % 4 + i * 4][l / 4] = (double)fake_bits<float>(fake_registers[first + l][4 + i] & 0xffffe000);
    }
    for (unsigned i = 0; i < 4; i++) {
        const unsigned row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1);
        double factors[8][2];
        for (int k = 0; k < 8; k++) {
            factors[k][0] = left[row][k];
            factors[k][1] = right[k][column];
        }
        d[i] = fake_add_products<true, 8>(factors, c[i]);
    }
    fake_meet(1);
}

static inline void fake_mma_bytes(int *d, const unsigned *a, const unsigned *b, const int *c) {
    const unsigned lane = fake_thread.x % 32, first = fake_thread.x - lane;
    static int left[16][32], right[32][8];
    fake_hand_over(a, b);
    for (unsigned l = 0; l < 32; l++) {
        const unsigned group = l / 4, member = l % 4;
        for (unsigned i = 0; i < 16; i++) {
            const unsigned row = i < 4 || (i >= 8 && i < 12) ? group : group + 8,
                           column = member * 4 + (i & 3) + (i >= 8 ? 16 : 0);
            left[row][column] = (int8_t)(fake_registers[first + l][i / 4] >> 8 * (i & 3));
        }
        for (unsigned i = 0; i < 8; i++)
            right[member * 4 + (i & 3) + (i >= 4 ? 16 : 0)][group] =
                (int8_t)(fake_registers[first + l][4 + i / 4] >> 8 * (i & 3));
    }
    for (unsigned i = 0; i < 4; i++) {
        const unsigned row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1);
        unsigned sum = (unsigned)c[i];
        for (int k = 0; k < 32; k++)
            sum += (unsigned)(left[row][k] * right[k][column]);
        d[i] = (int)sum;
    }
    fake_meet(1);
}

/* ---- products of warpgroups: made as late as a wait allows, like copies, so that a tile that is filled again too early is seen ---- */

enum fake_kind { FAKE_F16, FAKE_BF16, FAKE_S8, FAKE_E4M3, FAKE_E5M2, FAKE_TF32 };
struct fake_product {
    void *d;
    unsigned long long a, b;
    int n;
    fake_kind kind;
    bool across_a, across_b;
    unsigned group;
};
enum { FAKE_PRODUCTS = 256 };
static fake_product fake_products[1024][FAKE_PRODUCTS];
static unsigned fake_product_count[1024], fake_product_groups[1024];
static bool fake_begun[1024];

/* What this thread has copied reaches the matrix unit behind a fence alone. */
static inline void fake_fence() {
    fake_unfenced[fake_thread.x] = false;
}
static inline void fake_products_begin() {
    fake_begun[fake_thread.x] = true;
}
static inline void fake_products_commit() {
    fake_product_groups[fake_thread.x]++;
    fake_begun[fake_thread.x] = false;
}

static inline void fake_issue(void *d, int n, fake_kind kind, unsigned long long a, unsigned long long b, bool across_a,
                              bool across_b) {
    const unsigned me = fake_thread.x;
    if (fake_unfenced[me] || !fake_begun[me] || fake_product_count[me] == FAKE_PRODUCTS || a >> 62 != 1 || b >> 62 != 1)
        abort(); /* a device would give wrong numbers here, or stop */
    fake_products[me][fake_product_count[me]++] = {d, a, b, n, kind, across_a, across_b, fake_product_groups[me]};
}
static inline void fake_wgmma(float *d, int n, bool wide, unsigned long long a, unsigned long long b, bool across_a,
                              bool across_b) {
    fake_issue(d, n, wide ? FAKE_BF16 : FAKE_F16, a, b, across_a, across_b);
}
/* Operands of other than 16 bits run along the sum. */
static inline void fake_wgmma_along(void *d, int n, fake_kind kind, unsigned long long a, unsigned long long b) {
    fake_issue(d, n, kind, a, b, false, false);
}

/* Element (r, k) of the operand: rows of 128 bytes, whose 16-byte pieces are exchanged by bits 7 to 9 of the address. Along the sum: row r, bytes 2 k of it, eight
 * rows and then the stride distance. Across: row k, bytes 2 r, eight rows and then the stride distance, 64 elements and then the leading distance. */
static inline double fake_operand(unsigned long long place, bool across, int r, int k, bool wide) {
    const unsigned start = (unsigned)(place & 0x3fff) << 4, leading = (unsigned)(place >> 16 & 0x3fff) << 4,
                   stride = (unsigned)(place >> 32 & 0x3fff) << 4;
    unsigned at = across ? start + (unsigned)(r / 64) * leading + (unsigned)(k / 8) * stride + (unsigned)(k % 8) * 128 +
                               (unsigned)(r % 64) * 2
                         : start + (unsigned)(r / 8) * stride + (unsigned)(r % 8) * 128 + (unsigned)k * 2;
    at ^= (at >> 7 & 7) << 4;
    const unsigned within = (at - (unsigned)(size_t)fake_shared) & 0x3ffff;
    uint16_t bits;
    if (within + 2 > sizeof fake_shared)
        abort();
    memcpy(&bits, fake_shared + within, 2);
    return fake_half(bits, wide);
}

/* Byte k of row r of an operand that runs along the sum. */
static inline unsigned char fake_byte(unsigned long long place, int r, int k) {
    const unsigned start = (unsigned)(place & 0x3fff) << 4, stride = (unsigned)(place >> 32 & 0x3fff) << 4;
    unsigned at = start + (unsigned)(r / 8) * stride + (unsigned)(r % 8) * 128 + (unsigned)k;
    at ^= (at >> 7 & 7) << 4;
    const unsigned within = (at - (unsigned)(size_t)fake_shared) & 0x3ffff;
    if (within >= sizeof fake_shared)
        abort();
    return fake_shared[within];
}

/* An 8-bit float, and the exponent that its code has (of subnormals that of the smallest normal number). */
static inline double fake_eighth(unsigned char code, bool e4m3, int *exponent) {
    const int bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, field = (code & 0x7f) >> bits, fraction = code & ((1 << bits) - 1);
    const double sign = code & 0x80 ? -1 : 1;
    *exponent = field ? field - bias : 1 - bias;
    if (e4m3 ? (code & 0x7f) == 0x7f : field == 31)
        return !e4m3 && !fraction ? sign * INFINITY : NAN;
    return sign * ldexp((field ? 1 << bits : 0) + fraction, *exponent - bits);
}

/* C and 32 exact products: each cut off at 2^-13 of the largest, their exact sum cut off at 13 bits behind the point: what was found on an H200. */
static inline float fake_add_eighths(const fake_product &p, int row, int column, float c) {
    const bool e4m3 = p.kind == FAKE_E4M3;
    double terms[33], sum = c;
    int largest = c != 0 ? fake_exponent(c, -126) : INT32_MIN;
    terms[32] = c;
    for (int k = 0; k < 32; k++) {
        int ex, ey;
        const double x = fake_eighth(fake_byte(p.a, row, k), e4m3, &ex), y = fake_eighth(fake_byte(p.b, column, k), e4m3, &ey);
        terms[k] = x * y;
        sum += terms[k];
        if (x != 0 && y != 0 && isfinite(x * y))
            largest = ex + ey > largest ? ex + ey : largest;
    }
    if (!isfinite(sum))
        return isnan(sum) ? fake_bits<float>(0x7fffffff) : (float)sum;
    if (largest == INT32_MIN)
        return 0;
    largest = largest < -133 ? -133 : largest;
    double whole = 0;
    for (int k = 0; k < 33; k++)
        whole += trunc(ldexp(terms[k], 13 - largest));
    if (whole == 0)
        return 0;
    return fake_bits<float>(fake_bits<unsigned>((float)ldexp(whole, largest - 13)) & ~0x3ffu);
}

static inline void fake_multiply_bytes(const fake_product &p) {
    const unsigned lane = fake_thread.x % 32, warp = fake_thread.x / 32 % 4;
    for (int e = 0; e < p.n / 2; e++) {
        const int row = (int)(warp * 16 + lane / 4) + (e >> 1) % 2 * 8, column = (e >> 2) * 8 + (int)(lane % 4) * 2 + (e & 1);
        if (p.kind != FAKE_S8) {
            ((float *)p.d)[e] = fake_add_eighths(p, row, column, ((float *)p.d)[e]);
            continue;
        }
        unsigned sum = ((unsigned *)p.d)[e];
        for (int k = 0; k < 32; k++)
            sum += (unsigned)((int8_t)fake_byte(p.a, row, k) * (int8_t)fake_byte(p.b, column, k));
        ((unsigned *)p.d)[e] = sum;
    }
}

template <bool wide> static inline void fake_multiply(const fake_product &p) {
    const unsigned lane = fake_thread.x % 32, warp = fake_thread.x / 32 % 4;
    static const bool narrow = getenv("FAKE_CUDA") && !strcmp(getenv("FAKE_CUDA"), "narrow-sums");
    for (int e = 0; e < p.n / 2; e++) {
        const int row = (int)(warp * 16 + lane / 4) + (e >> 1) % 2 * 8, column = (e >> 2) * 8 + (int)(lane % 4) * 2 + (e & 1);
        double factors[16][2];
        for (int k = 0; k < 16; k++) {
            factors[k][0] = fake_operand(p.a, p.across_a, row, k, wide);
            factors[k][1] = fake_operand(p.b, p.across_b, column, k, wide);
        }
        float &d = ((float *)p.d)[e];
        d = fake_add_products<wide>(factors, d);
        if (narrow) /* a fault, on request */
            d = _cvtsh_ss(_cvtss_sh(d, 0));
    }
}

/* Words of which the unit takes no more than tf32 has; eight products at a time. */
static inline void fake_multiply_words(const fake_product &p) {
    const unsigned lane = fake_thread.x % 32, warp = fake_thread.x / 32 % 4;
    for (int e = 0; e < p.n / 2; e++) {
        const int row = (int)(warp * 16 + lane / 4) + (e >> 1) % 2 * 8, column = (e >> 2) * 8 + (int)(lane % 4) * 2 + (e & 1);
        double factors[8][2];
        for (int k = 0; k < 8; k++)
            for (int o = 0; o < 2; o++) {
                unsigned bits = 0;
                for (int i = 3; i >= 0; i--)
                    bits = bits << 8 | fake_byte(o ? p.b : p.a, o ? column : row, k * 4 + i);
                factors[k][o] = (double)fake_bits<float>(bits & 0xffffe000);
            }
        float &d = ((float *)p.d)[e];
        d = fake_add_products<true, 8>(factors, d);
    }
}

static inline void fake_products_wait(unsigned left) {
    const unsigned me = fake_thread.x;
    unsigned kept = 0;
    for (unsigned i = 0; i < fake_product_count[me]; i++) {
        const fake_product p = fake_products[me][i];
        if (p.group + left >= fake_product_groups[me])
            fake_products[me][kept++] = p;
        else if (p.kind == FAKE_BF16)
            fake_multiply<true>(p);
        else if (p.kind == FAKE_F16)
            fake_multiply<false>(p);
        else if (p.kind == FAKE_TF32)
            fake_multiply_words(p);
        else
            fake_multiply_bytes(p);
    }
    fake_product_count[me] = kept;
}

// Functions that intrinsics bind (test/accept/intrinsics.tile).
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned out = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned from = selector >> 4 * i & 7;
        out |= ((from < 4 ? x >> 8 * from : y >> 8 * (from - 4)) & 255) << 8 * i;
    }
    return out;
}
static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8)
        c += (int)(int8_t)(a >> i) * (int)(int8_t)(b >> i);
    return c;
}
template <class T> static inline T __ldg(const T *p) {
    return *p;
}
template <class T> static inline void __stcs(T *p, T v) {
    *p = v;
}
