/* Conversions of one float format into another, asked of a device: every code, or every upper half with what decides below it. */
#ifndef TILEC_PROBE_CONVERSION_H
#define TILEC_PROBE_CONVERSION_H
#include "base/diag.h"
#include "probe/number.h"
#include <jansson.h>

/* A result's format may keep fewer bits of the fraction than its code has (tf32 in f32). */
typedef struct conversion_box {
    const char *device, *name; /* "cuda:0", "cvt.rn.satfinite.e4m3x2.f32" */
    char description[512];
    number_kind from, to;
    int kept_bits;     /* of the result's fraction; the others are not looked at */
    const char *claim; /* what the documents say */
    void *context;
    /* codes to codes, a word each. False with a diagnostic. */
    bool (*run)(void *context, const uint32_t *codes, uint32_t *answers, int count, diag_list *diags);
    void (*close)(void *context);
} conversion_box;

typedef enum { CONVERT_TO_EVEN, CONVERT_AWAY, CONVERT_TOWARD_ZERO, CONVERT_ROUNDINGS } conversion_rounding;
/* What a conversion does with finite values. */
typedef struct conversion_rule {
    conversion_rounding rounding;
    bool saturates;               /* beyond the largest: the largest, not infinity (or NaN, where there is none) */
    bool flushes_in, flushes_out; /* subnormal operands, and results that are subnormal after rounding, are zero */
} conversion_rule;
/* The result's code of a finite one. */
uint32_t conversion_apply(const conversion_box *box, const conversion_rule *rule, uint32_t code);
const char *conversion_rule_text(arena *a, const conversion_rule *rule);

typedef struct conversion_finding {
    bool determined;
    conversion_rule rule;
    int64_t questions;
    const char *verdict;
    VEC(const char *) evidence;
} conversion_finding;
/* The questions that a conversion is asked, in order: number i is i / patterns << low_bits | low[i % patterns]. Every code of 8 or 16 bits; of 32 bits every upper
 * part, above what lies below, at, or beside the half of any kept bit. */
enum { CONVERSION_MOST_PATTERNS = 8 };
typedef struct conversion_questions {
    int64_t count;
    int low_bits, patterns;
    uint32_t low[CONVERSION_MOST_PATTERNS];
} conversion_questions;
conversion_questions conversion_questions_of(number_kind from);
uint32_t conversion_question(const conversion_questions *q, int64_t i);
/* Holds every rule against all answers. False with a diagnostic when the device fails. */
bool conversion_find(arena *a, const conversion_box *box, conversion_finding *out, diag_list *diags);
void conversion_print(const conversion_box *box, const conversion_finding *f, bool evidence);
void conversion_json(const conversion_box *box, const conversion_finding *f, json_t *rows);

/* Names of a device's conversions; 0: it has none that can be asked. Arena. */
const char *const *conversion_names(arena *a, const char *device, int *count);
/* False with a diagnostic: E1203 no such conversion, E1202 the device has no such instruction. */
bool conversion_open(const char *device, const char *name, conversion_box *out, diag_list *diags);
void conversion_close(conversion_box *box);
/* The kernel `convert` (codes in, answers out, how many: a thread a code) in the target's language, "cuda" or "opencl", heap memory; and the box without a
 * device, which must not be run; 0, or the architecture from which on CUDA's devices have it. NULL: the target has no such conversion. */
char *conversion_text(const char *target, const char *name, conversion_box *out, int *architecture);

/* A simulated conversion, for tests: a rule, the code of NaN (0: the operand's upper bits), and one wrong answer among so many (0: none). */
typedef struct simulated_conversion {
    conversion_rule rule;
    uint32_t nan;
    int wrong;
    int64_t asked, fails_after;
    conversion_box *box;
} simulated_conversion;
conversion_box simulated_conversion_box(simulated_conversion *s, number_kind from, number_kind to, int kept_bits);
#endif
