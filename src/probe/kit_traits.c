/* Traits in kits: everything that asking a device from here might ask goes out, since what is asked next depends on the times before; the answers come back in order. */
#include "base/file.h"
#include "probe/kit.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a trait asked. */
typedef struct trait_question {
    char kind; /* 'c': chase, 's': shared, 't': threads */
    int64_t bytes;
    int a, b;
} trait_question;

typedef struct trait_list {
    arena *arena;
    VEC(trait_question) questions;
    const json_t *answers;
    int64_t *at; /* by question, how often it was asked before; of `answers` */
    diag_list *diags;
} trait_list;

static const char *line_of(arena *a, const trait_question *q) {
    return q->kind == 'c'   ? arena_printf(a, "chase %" PRId64 " %d %d\n", q->bytes, q->a, q->b)
           : q->kind == 's' ? arena_printf(a, "shared %d %d\n", q->a, q->b)
                            : arena_printf(a, "threads %d\n", q->a);
}

static void add(trait_list *l, char kind, int64_t bytes, int a, int b) {
    trait_question q = {kind, bytes, a, b};
    VEC_PUSH(l->arena, l->questions, q);
}

/* The ladders of trait_cache.c with every size that its halvings may come to, twice; trait_line.c's; trait_banks.c's where the device has shared memory. */
static void list_questions(trait_list *l) {
    enum { SLOT = 128, LINE_SLOT = 1024, MOST_STRIDE = 66, PARTS = 8, MOST_THREADS = 1 << 16 };
    int64_t sizes[64], next;
    int count = 0;
    for (int64_t octave = 4096; octave <= KIT_MOST_BYTES; octave *= 2)
        for (int half = 0; half < 2; half++)
            if ((half ? octave + octave / 2 : octave) <= KIT_MOST_BYTES)
                sizes[count++] = half ? octave + octave / 2 : octave;
    for (int i = 0; i < count; i++) {
        next = i + 1 < count ? sizes[i + 1] : sizes[i];
        for (int part = 0; part < PARTS && (!part || next > sizes[i]); part++)
            for (int again = 0; again < 2; again++)
                add(l, 'c', (sizes[i] + (next - sizes[i]) / PARTS * part) / SLOT * SLOT, SLOT, 0);
    }
    for (int beside = 4; beside <= 512; beside *= 2)
        add(l, 'c', KIT_LINE_BYTES, LINE_SLOT, beside == 4 ? 0 : beside);
    for (int stride = 1; stride <= MOST_STRIDE; stride++)
        add(l, 's', 0, stride, 1);
    for (int words = 1; words <= 4; words *= 2)
        add(l, 's', 0, words, words);
    add(l, 't', 0, MOST_THREADS, 0);
}

static const char *text_of(trait_list *l) {
    text_buffer t = {0};
    for (int i = 0; i < l->questions.count; i++)
        text_add(&t, "%s", line_of(l->arena, &l->questions.at[i]));
    const char *text = arena_strdup(l->arena, text_get(&t));
    text_free(&t);
    return text;
}

/* Of the questions and of the kernels. */
static void hash_of(trait_list *l, const char *target, char digits[HASH_DIGITS + 1]) {
    text_buffer t = {0};
    text_add(&t, "%s", text_of(l));
    for (int i = 0; i < TRAIT_TEXTS; i++) {
        char *text = trait_text(target, i);
        text_add(&t, "%s", text);
        free(text);
    }
    hash_bytes(text_get(&t), t.length, digits);
    text_free(&t);
}

bool kit_traits_write(arena *a, const char *folder, const char *target, const char *extension, diag_list *diags) {
    trait_list l = {.arena = a};
    char hash[HASH_DIGITS + 1];
    list_questions(&l);
    hash_of(&l, target, hash);
    const char *text = arena_printf(a, "tilec traits 1 %s\n%s", hash, text_of(&l));
    bool good = file_write(arena_printf(a, "%s/device.traits", folder), text, strlen(text), diags);
    for (int i = 0; i < TRAIT_TEXTS && good; i++) {
        char *kernel = trait_text(target, i);
        good = file_write(arena_printf(a, "%s/%s.%s", folder, trait_text_names[i], extension), kernel, strlen(kernel), diags);
        free(kernel);
    }
    return good;
}

/* ---- back ---- */

static bool find(trait_list *l, const trait_question *wanted, double *value) {
    int first = -1, seen = 0;
    for (int i = 0; i < l->questions.count; i++) {
        const trait_question *q = &l->questions.at[i];
        if (q->kind != wanted->kind || q->bytes != wanted->bytes || q->a != wanted->a || q->b != wanted->b)
            continue;
        first = first < 0 ? i : first;
        if (seen++ < l->at[first])
            continue;
        l->at[first]++;
        *value = json_number_value(json_array_get(l->answers, (size_t)i));
        return true;
    }
    if (first < 0) {
        diag_error(l->diags, "E1207", (source_span){0}, "the kit did not ask: %s", line_of(l->arena, wanted));
        return false;
    }
    l->at[first] = 1; /* asked more often than it was answered: from the beginning */
    *value = json_number_value(json_array_get(l->answers, (size_t)first));
    return true;
}

static bool chase(void *context, int64_t bytes, int slot, int beside, double *ns, diag_list *diags) {
    trait_list *l = context;
    l->diags = diags;
    return find(l, &(trait_question){'c', bytes, slot, beside}, ns);
}

static bool shared(void *context, int stride, int words, double *ns, diag_list *diags) {
    trait_list *l = context;
    l->diags = diags;
    return find(l, &(trait_question){'s', 0, stride, words}, ns);
}

static bool accepts(void *context, trait_limit limit, int64_t value, bool *accepted, diag_list *diags) {
    trait_list *l = context;
    (void)limit, (void)diags;
    *accepted = value <= (int64_t)json_number_value(json_array_get(l->answers, json_array_size(l->answers) - 1));
    return true;
}

static int64_t told(void *context, trait_limit limit) {
    (void)context;
    return limit == LIMIT_THREADS ? 0 : -1;
}

bool kit_traits_read(arena *a, const json_t *row, const kit_visitor *visit, const char **why, diag_list *diags) {
    const char *target, *device, *hash;
    char own_hash[HASH_DIGITS + 1];
    trait_list l = {.arena = a, .diags = diags};
    json_t *answers;
    if (json_unpack((json_t *)row, "{s:s, s:s, s:s, s:o}", "target", &target, "device", &device, "hash", &hash, "answers",
                    &answers)) {
        *why = "this is no row of a probe kit";
        return false;
    }
    list_questions(&l);
    if (!trait_text_names[0] || (strcmp(target, "cuda") && strcmp(target, "opencl"))) {
        *why = "the target has no traits that kits ask for";
        return false;
    }
    hash_of(&l, target, own_hash);
    if (strcmp(own_hash, hash)) {
        *why = "the kit asked other things than this version of tilec does: write it anew";
        return false;
    }
    if (json_array_size(answers) != (size_t)l.questions.count) {
        *why = "the numbers of questions and of answers do not go together";
        return false;
    }
    l.answers = answers;
    l.at = NEW_ARRAY(a, int64_t, l.questions.count + 1);
    trait_box box = {
        .device = target, .context = &l, .most_bytes = KIT_MOST_BYTES, .chase = chase, .accepts = accepts, .told = told};
    box.shared = shared;
    for (int i = 0; i < l.questions.count; i++)
        if (l.questions.at[i].kind == 's' && json_number_value(json_array_get(answers, (size_t)i)) <= 0)
            box.shared = NULL; /* a processor's local memory is memory like any other */
    strncpy(box.description, device, sizeof box.description - 1);
    return visit->traits(visit->context, &box);
}
