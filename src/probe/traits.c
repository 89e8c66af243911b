/* The traits of a device: their table, how they are told and kept. */
#include "probe/trait.h"
#include <stdio.h>
#include <string.h>

const trait_row trait_rows[] = {
    {"caches", "How large is each cache, and how long does a load from it take?",
     "A chain of loads through rings of growing size in an order that nothing foresees; a cache ends where a hop takes longer "
     "from then on, found by halving.",
     trait_caches},
    {"line", "How many bytes come with a miss?",
     "In a ring larger than the nearest cache each hop also loads so many bytes behind: little longer where they came along, a "
     "whole miss where not.",
     trait_line},
    {"banks", "How many banks has shared memory, and what does a conflict cost?",
     "Every stride from 1 to 66 words between threads; the number of banks whose conflicts explain all the times.", trait_banks},
    {"limits", "How much is really accepted?",
     "Each limit by halving between what is accepted and what is refused; after every refusal the device must still accept one.",
     trait_limits},
    {"alignment", "Which alignment does each access really want?",
     "Each access at an address that is a multiple of its documented alignment alone, then of half of it, until it is refused or "
     "touches other bytes; each in a "
     "process of its own, which a fault may end.",
     trait_alignment},
};
const int trait_count = sizeof trait_rows / sizeof *trait_rows;

const char *const trait_limit_names[LIMIT_COUNT] = {"threads a block",
                                                    "bytes of shared memory declared",
                                                    "bytes of shared memory asked for",
                                                    "blocks along y",
                                                    "blocks along z",
                                                    "threads along z",
                                                    "bytes of parameters",
                                                    "registers a thread",
                                                    "threads a block with all registers",
                                                    "elements along a side of a tensor map's box",
                                                    "16-byte pieces across a box with a 128-byte swizzle"};

const trait_row *trait_find_row(const char *name) {
    for (int i = 0; i < trait_count; i++)
        if (!strcmp(trait_rows[i].name, name))
            return &trait_rows[i];
    return NULL;
}

static const char *name_of(const trait_box *box, int number, int *documented) {
    return access_name(box->device, number, documented);
}

static bool touches(const trait_box *box, arena *a, int number, int offset, access_outcome *outcome, const char **words,
                    diag_list *diags) {
    int documented;
    (void)diags;
    *outcome = access_ask(a, box->device, access_name(box->device, number, &documented), offset, words);
    return true;
}

bool trait_open(const char *device, trait_box *out, diag_list *diags) {
    *out = (trait_box){.device = device, .access_name = name_of, .touches = touches};
    if (!strcmp(device, "cpu"))
        return trait_open_cpu(out, diags);
    return trait_open_texts(device, out, diags);
}

void trait_close(trait_box *box) {
    if (box->close)
        box->close(box->context);
    box->close = NULL;
}

void trait_add_number(arena *a, trait_finding *f, const char *name, double value) {
    trait_number n = {name, value};
    VEC_PUSH(a, f->numbers, n);
}

void trait_print(const trait_row *row, const trait_finding *f, bool evidence) {
    printf("%-10s %s%s\n", row->name, f->contradicted ? "NOT AS DOCUMENTED: " : "", f->verdict);
    for (int e = 0; evidence && e < f->evidence.count; e++)
        printf("%-10s   %s\n", "", f->evidence.at[e]);
}

void trait_json(const trait_box *box, const trait_row *row, const trait_finding *f, json_t *rows) {
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:i}", "kind", "finding", "device", box->device,
                          "description", box->description, "instruction", "the device itself", "fact", row->name, "verdict",
                          f->verdict, "status",
                          !f->determined    ? "not determined"
                          : f->contradicted ? "contradicted"
                                            : "found",
                          "claim", f->claim, "asks", row->asks, "method", row->method, "questions", f->questions),
           *evidence = json_array();
    for (int e = 0; e < f->evidence.count; e++)
        json_array_append_new(evidence, json_string(f->evidence.at[e]));
    json_object_set_new(o, "evidence", evidence);
    json_t *numbers = json_object();
    for (int n = 0; n < f->numbers.count; n++)
        json_object_set_new(numbers, f->numbers.at[n].name, json_real(f->numbers.at[n].value));
    json_object_set_new(o, "numbers", numbers);
    json_array_append_new(rows, o);
}
