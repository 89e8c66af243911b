/* Conversions in kits: what is asked goes out as a formula, what was answered comes back in order. */
#include "base/file.h"
#include "probe/kit.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of the codes in order, and of the kernel that they are put to. */
static bool hash_questions(const conversion_questions *q, const char *text, char digits[HASH_DIGITS + 1], diag_list *diags) {
    const size_t codes = (size_t)q->count * 4, length = strlen(text);
    unsigned char *bytes = malloc(codes + length);
    if (!bytes) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for %" PRId64 " codes", q->count);
        return false;
    }
    for (int64_t i = 0; i < q->count; i++) {
        uint32_t code = conversion_question(q, i);
        memcpy(bytes + i * 4, &code, 4);
    }
    memcpy(bytes + codes, text, length);
    hash_bytes(bytes, codes + length, digits);
    free(bytes);
    return true;
}

bool kit_conversion_write(arena *a, const char *folder, const char *target, const char *name, const char *extension,
                          diag_list *diags) {
    conversion_box box;
    int architecture;
    char hash[HASH_DIGITS + 1], *text = conversion_text(target, name, &box, &architecture);
    if (!text) {
        diag_error(diags, "E1203", (source_span){0}, "%s has no conversion `%s` that can be probed", target, name);
        return false;
    }
    const conversion_questions q = conversion_questions_of(box.from);
    text_buffer file = {0};
    bool good = hash_questions(&q, text, hash, diags);
    if (good) {
        text_add(&file, "tilec codes 1 %s %" PRId64 " %d %s %d %d", name, q.count, architecture, hash, q.low_bits, q.patterns);
        for (int i = 0; i < q.patterns; i++)
            text_add(&file, " %x", (unsigned)q.low[i]);
        text_add(&file, "\n");
        good = file_write(arena_printf(a, "%s/%s.%s", folder, name, extension), text, strlen(text), diags) &&
               file_write(arena_printf(a, "%s/%s.codes", folder, name), text_get(&file), file.length, diags);
    }
    text_free(&file);
    free(text);
    return good;
}

/* ---- back ---- */

typedef struct answer_list {
    const uint32_t *answers;
    int64_t count, at;
} answer_list;

static bool run(void *context, const uint32_t *codes, uint32_t *answers, int count, diag_list *diags) {
    answer_list *l = context;
    (void)codes; /* their hash says that they are these */
    if (l->count - l->at < count) {
        diag_error(diags, "E1207", (source_span){0}, "more codes are asked than the answers have");
        return false;
    }
    memcpy(answers, l->answers + l->at, (size_t)count * sizeof *answers);
    l->at += count;
    return true;
}

/* "3c00 0*4096 7bff": hexadecimal numbers, and how often each stands in a row. What is wrong; NULL: nothing. */
static const char *read_answers(const char *at, int64_t count, uint32_t *out) {
    int64_t read = 0;
    while (*at) {
        size_t digits = strspn(at, "0123456789abcdef");
        if (digits < 1 || digits > 8)
            return "an answer is no number";
        uint32_t answer = (uint32_t)strtoul(at, NULL, 16);
        int64_t times = 1;
        at += digits;
        if (*at == '*') {
            digits = strspn(++at, "0123456789");
            if (digits < 1 || digits > 10)
                return "an answer is no number";
            times = strtoll(at, NULL, 10);
            at += digits;
        }
        if (*at && *at++ != ' ')
            return "an answer is no number";
        if (times > count - read)
            return "the numbers of codes and of answers do not go together";
        while (times-- > 0)
            out[read++] = answer;
    }
    return read == count ? NULL : "the numbers of codes and of answers do not go together";
}

bool kit_conversion_read(const json_t *row, const kit_visitor *visit, const char **why, diag_list *diags) {
    const char *target, *name, *device, *hash, *digits;
    json_int_t count;
    conversion_box box;
    int architecture;
    char own_hash[HASH_DIGITS + 1];
    if (json_unpack((json_t *)row, "{s:s, s:s, s:s, s:s, s:s, s:I}", "target", &target, "conversion", &name, "device", &device,
                    "hash", &hash, "answers", &digits, "codes", &count)) {
        *why = "this is no row of a probe kit";
        return false;
    }
    char *text = conversion_text(target, name, &box, &architecture);
    if (!text) {
        *why = "the target has no such conversion that can be probed";
        return false;
    }
    const conversion_questions q = conversion_questions_of(box.from);
    bool good = hash_questions(&q, text, own_hash, diags);
    free(text);
    if (!good)
        return false;
    if (q.count != count || strcmp(own_hash, hash)) {
        *why = "the kit asked other codes than this version of tilec does: write it anew";
        return false;
    }
    uint32_t *answers = malloc((size_t)q.count * sizeof *answers);
    if (!answers) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for %" PRId64 " answers", q.count);
        return false;
    }
    *why = read_answers(digits, q.count, answers);
    if (!*why) {
        answer_list list = {answers, q.count, 0};
        box.context = &list;
        box.run = run;
        strncpy(box.description, device, sizeof box.description - 1);
        good = visit->conversion(visit->context, &box);
    }
    good = good && !*why;
    free(answers);
    return good;
}
