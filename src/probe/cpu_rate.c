/* How fast this processor's dot products are beside its fma on vectors of f32, and what they draw where the system tells. */
#include "probe/cpu_matrix.h"
#include "bench/power.h"
#include <stdlib.h>
#include <time.h>

enum { CHAINS = CPU_CHAINS, LANES = 16 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cpu_rate_chains(text_buffer *t, int number, const char *expression) {
    /* 0x3C003C00: small numbers in every format. Sums are variables of their own: an array stays in memory, whose loads and stores would be timed. */
    text_add(t,
             "static int rate%d(long n) {\n    __m512i x = _mm512_set1_epi32(0x3C003C00), y = _mm512_set1_epi32(0x3C013C01), all "
             "= x;\n",
             number);
    for (int c = 0; c < CHAINS; c++)
        text_add(t, "    __m512i s%d = _mm512_set1_epi32(0x3C000000 + %d);\n", c, c);
    text_add(t, "    for (long i = 0; i < n; i++) {\n");
    for (int c = 0; c < CHAINS; c++)
        text_add(t,
                 "        {\n            __m512i z = s%d;\n            s%d = %s;\n            __asm__ volatile(\"\" : "
                 "\"+v\"(s%d));\n        }\n",
                 c, c, expression, c);
    text_add(t, "    }\n");
    for (int c = 0; c < CHAINS; c++)
        text_add(t, "    all = _mm512_xor_si512(all, s%d);\n", c);
    text_add(t, "    return _mm512_reduce_or_epi32(all);\n}\n");
}

char *cpu_rate_text(const cpu_instruction *i) {
    if (!i->intrinsic)
        return cpu_tile_rate_text(i);
    text_buffer t = {0};
    text_add(&t, "#if defined(%s)\n#include <immintrin.h>\n", i->macro);
    cpu_rate_chains(&t, 0, i->intrinsic);
    cpu_rate_chains(&t, 1, "(__m512i)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z)");
    text_add(&t, "int rate(long n, int scalar) {\n    return scalar ? rate1(n) : rate0(n);\n}\n#endif\n");
    return t.text;
}

/* Multiply-adds of n rounds. */
static double products(const cpu_instruction *i, rate_of which, double n) {
    return n * CHAINS * LANES * (which != RATE_OWN ? 1 : i->intrinsic ? i->k : 16 * i->k);
}

static double timed(cpu_rates *r, rate_of which, long n) {
    double start = seconds();
    r->sink += r->rate(n, which != RATE_OWN);
    return seconds() - start;
}

bool cpu_rate(cpu_rates *r, const cpu_instruction *i, rate_of which, double *per_second, diag_list *diags) {
    if (!r->rate) {
        char *text = cpu_rate_text(i);
        *(void **)&r->rate = cpu_function_load(text, i->name, "rate", &r->library, diags);
        free(text);
        if (!r->rate)
            return false;
    }
    long n = 1024;
    double took = timed(r, which, n);
    while (took < 0.002)
        took = timed(r, which, n *= 2);
    for (int again = 0; again < 4; again++) { /* the best: whoever else runs here only takes away */
        double now = timed(r, which, n);
        took = now < took ? now : took;
    }
    *per_second = products(i, which, (double)n) / took;
    return true;
}

const char *cpu_energy(cpu_rates *r, const cpu_instruction *i, arena *a) {
    power_meter meter;
    double energy[2];
    const long rounds = 20000000;
    if (!power_begin(&meter, NULL))
        return arena_printf(a, "nobody tells what the processor draws: %s", meter.why_not);
    for (int which = 0; which < 2; which++) {
        power_begin(&meter, NULL);
        timed(r, which ? RATE_SCALAR : RATE_OWN, rounds);
        energy[which] = power_end(&meter) / products(i, which ? RATE_SCALAR : RATE_OWN, (double)rounds) * 1e12;
    }
    return energy[0] < 0 || energy[1] < 0
               ? "RAPL's counters ended while it ran"
               : arena_printf(a, "by RAPL, the whole package: %.3g pJ a multiply-add; fma of f32: %.3g pJ", energy[0], energy[1]);
}
