/* Traits of a device, found on simulated ones with planted facts. */
#include "probe/trait.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const simulated_traits plain = {.cache_bytes = {48 << 10, 2 << 20},
                                       .cache_ns = {2, 7, 80},
                                       .caches = 2,
                                       .line = 64,
                                       .banks = 32,
                                       .limits = {1024, 49152, 232448, 65535, 65535, 64, 32764, 255, 256, 256, 8},
                                       .told = {1024, 49152, 232448, 65535, 65535, 64, 32764, 255, 256, 256, 8},
                                       .alignment = {4, 8, 16, 32}};

/* What a trait finds, its verdict copied; "": the device failed. */
static trait_finding find(simulated_traits s, const char *trait, char verdict[512], bool *good) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    trait_box box = simulated_trait_box(&s);
    trait_finding found = {0};
    *good = trait_find_row(trait)->find(a, &box, &found, &diags);
    assert_int_equal(*good, !diags.errors);
    snprintf(verdict, 512, "%s", *good && found.verdict ? found.verdict : "");
    arena_free(a);
    return found;
}

static void expect_found(simulated_traits s, const char *trait, bool contradicted, const char *verdict) {
    char text[512];
    bool good;
    trait_finding f = find(s, trait, text, &good);
    if (!good || !f.determined || f.contradicted != contradicted || !strstr(text, verdict))
        fail_msg("%s: \"%s\", not \"%s\"", trait, text, verdict);
}

static void plants_are_found(void **state) {
    (void)state;
    simulated_traits s = plain;
    expect_found(s, "caches", false, "level 1 holds 48 KiB, and 50 KiB no longer, at 2 ns; level 2 holds 2 MiB");
    expect_found(s, "caches", false, "what is farther takes 7");
    s.page = 4096, s.pages = 96; /* pages that are looked up again end no cache */
    s.cache_told[0] = 48 << 10, s.cache_told[1] = 2 << 20;
    expect_found(s, "caches", false, "beyond 384 KiB pages of 4096 bytes are looked up anew");
    s.pages = 4096; /* more than the nearest cache has lines for: 16 MiB, where nothing ends */
    expect_found(s, "caches", false, "level 2 holds 2 MiB");
    s.page = 0;
    s.cache_told[0] = 48 << 10, s.cache_told[1] = 4 << 20; /* half of it is far */
    expect_found(s, "caches", true, "level 2 holds 2 MiB");
    expect_found(s, "line", false, "64 bytes come with a miss");
    expect_found(s, "banks", false, "32 banks of 4 bytes");
    expect_found(
        s, "limits", false,
        "1024 threads a block, 49152 bytes of shared memory declared, 232448 bytes of shared memory asked for, 65535 blocks");
    expect_found(s, "limits", false,
                 "64 threads along z, 32764 bytes of parameters, 255 registers a thread, 256 threads a block with all");
    expect_found(s, "alignment", false, "4 of 4 accesses are taken at their documented alignment and refused at half of it");
    s.alignment[1] = 2;
    expect_found(s, "alignment", false,
                 "3 of 4 accesses are taken at their documented alignment and refused at half of it; load of 8 bytes takes "
                 "multiples of 2");
    s.alignment[2] = 32;
    expect_found(s, "alignment", true, "load of 16 bytes is not taken");
    s.limits[LIMIT_PARAMETERS] = 40000; /* nobody looks for the end */
    expect_found(s, "limits", false, "32764 bytes of parameters or more");
    s.limits[LIMIT_REGISTERS] = 128;
    expect_found(s, "limits", true, "fewer than 255 registers a thread");
    s.cache_told[0] = s.cache_told[1] = 0;
    s.cache_bytes[0] = 192 << 10;
    s.caches = 1;
    expect_found(s, "caches", false, "level 1 holds 192 KiB");
    for (s.line = 32; s.line <= 256; s.line *= 2) {
        char text[64];
        snprintf(text, sizeof text, "%d bytes come", s.line);
        expect_found(s, "line", false, text);
    }
    s.banks = 16;
    expect_found(s, "banks", true, "16 banks");
    s.banks = 64;
    expect_found(s, "banks", true, "64 banks");
    s.limits[LIMIT_SHARED_ASKED] = 101376;
    s.limits[LIMIT_THREADS] = 1536;
    expect_found(s, "limits", true, "1536 threads a block, 49152 bytes of shared memory declared, 101376 bytes");
}

static void expect_open(simulated_traits s, const char *trait, const char *verdict) {
    char text[512];
    bool good;
    trait_finding f = find(s, trait, text, &good);
    if (!good || f.determined || !strstr(text, verdict))
        fail_msg("%s: \"%s\", not \"%s\"", trait, text, verdict);
}

static void what_cannot_be_told_is_not(void **state) {
    (void)state;
    simulated_traits s = plain;
    s.noise = 0.3;
    expect_open(s, "caches", "noisy");
    expect_open(s, "banks", "no number of banks explains");
    s = plain;
    s.cache_ns[1] = s.cache_ns[2] = 2; /* a device without caches: all is as near */
    expect_open(s, "line", "not determined");
}

static void a_lost_device_is_told(void **state) {
    (void)state;
    for (int i = 0; i < trait_count; i++)
        for (int after = 1; after < 12; after += 5) {
            simulated_traits s = plain;
            s.fails_after = after;
            char text[512];
            bool good;
            find(s, trait_rows[i].name, text, &good);
            assert_true(!good || after >= 6);
        }
}

/* A ring is one cycle through all its slots, either way of asking. */
static void rings_are_cycles(void **state) {
    (void)state;
    for (int beside = 0; beside <= 64; beside += 64) {
        const int slot = 128, slots = 777;
        uint32_t *ring = calloc((size_t)slots * slot / 4, 4), at = 0;
        unsigned char seen[777] = {0};
        trait_ring(ring, (int64_t)slots * slot, slot, beside, 5);
        for (int i = 0; i < slots; i++) {
            assert_int_equal(at % (slot / 4), 0);
            assert_false(seen[at / (slot / 4)]++);
            at = beside ? ring[ring[at] + beside / 4] : ring[at];
        }
        assert_int_equal(at, 0);
        free(ring);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plants_are_found), cmocka_unit_test(what_cannot_be_told_is_not),
                                       cmocka_unit_test(a_lost_device_is_told), cmocka_unit_test(rings_are_cycles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
