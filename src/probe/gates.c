/* Asking NVRTC for every architecture that it knows whether it takes a feature. */
#include "probe/gates.h"
#include "run/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARCHITECTURES = 64 };

#define GATE(name, from, only, text) {name, from, only, text},
const gate_row gate_rows[] = {
#include "probe/gates.def"
};
const int gate_count = sizeof gate_rows / sizeof *gate_rows;

const gate_row *gate_find(const char *name) {
    for (int i = 0; i < gate_count; i++)
        if (!strcmp(gate_rows[i].name, name))
            return &gate_rows[i];
    return NULL;
}

const char *gate_compiler(arena *a, diag_list *diags) {
    const nvrtc_system *c = nvrtc_open_system();
    if (c->found)
        return arena_printf(a, "NVRTC %d.%d", c->major, c->minor);
    diag *g = diag_error(diags, "E0854", (source_span){0}, "no feature of PTX can be asked for");
    diag_note(diags, g, "%s", c->why);
    return NULL;
}

static const char *kernel_text(arena *a, const gate_row *row) {
    return arena_printf(
        a,
        "extern \"C\" __global__ void gate(unsigned *out, unsigned long long p, float *f) {\n"
        "    __shared__ __align__(128) unsigned s[1024];\n"
        "    unsigned x[8];\n    float y[4];\n"
        "    for (int i = 0; i < 8; i++)\n        x[i] = out[i];\n    for (int i = 0; i < 4; i++)\n        y[i] = f[i];\n"
        "    asm volatile(\"%s\" : \"+r\"(x[0]), \"+r\"(x[1]), \"+r\"(x[2]), \"+r\"(x[3]), \"+r\"(x[4]), \"+r\"(x[5]), "
        "\"+r\"(x[6]), "
        "\"+r\"(x[7])\n        : \"r\"((unsigned)__cvta_generic_to_shared(s)), \"l\"(p), \"f\"(y[0]), \"f\"(y[1]), \"f\"(y[2]), "
        "\"f\"(y[3]) : \"memory\");\n"
        "    for (int i = 0; i < 8; i++)\n        out[i] = x[i] + s[i];\n}\n",
        row->text);
}

/* What the compiler said: the first line of its log that names a fault. */
static const char *words(const diag_list *diags) {
    const char *last = NULL;
    for (int i = 0; i < diags->items.count; i++)
        for (int n = 0; n < diags->items.at[i]->notes.count; n++) {
            const char *text = diags->items.at[i]->notes.at[n];
            if (!last && (strstr(text, "error") || strstr(text, "requires") || strstr(text, "not supported")))
                last = text;
        }
    return last;
}

static bool takes(arena *a, const gate_row *row, const char *architecture, const char **said) {
    diag_list quiet;
    unsigned char *code = NULL;
    size_t length = 0;
    diag_init(&quiet, a);
    cuda_source source = {row->name, kernel_text(a, row), "source", "E1022", false};
    bool good = cuda_compile_source(&source, architecture, &code, &length, &quiet);
    free(code);
    if (!good)
        *said = words(&quiet);
    return good;
}

static bool is_documented(const gate_row *row, int architecture, bool specific) {
    if (!row->only)
        return architecture >= row->from;
    for (const char *at = row->only; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (specific && atoi(at) == architecture)
            return true;
    return false;
}

bool gate_probe(arena *a, const gate_row *row, gate_finding *out, diag_list *diags) {
    const nvrtc_system *c = nvrtc_open_system();
    int known[MOST_ARCHITECTURES], count = 0;
    *out = (gate_finding){.row = row, .as_documented = true};
    if (!gate_compiler(a, diags))
        return false;
    if (c->api.GetNumSupportedArchs(&count) || count > MOST_ARCHITECTURES || c->api.GetSupportedArchs(known)) {
        diag_error(diags, "E0854", (source_span){0}, "NVRTC does not tell which architectures it knows");
        return false;
    }
    const char *refused = NULL, *said = NULL, *against = NULL;
    text_buffer list = {0};
    for (int i = 0; i < count; i++)
        for (int specific = 0; specific < 2; specific++) {
            if (specific && known[i] < 90)
                continue;
            const char *name = arena_printf(a, "sm_%d%s", known[i], specific ? "a" : ""), *now = NULL;
            bool good = takes(a, row, name, &now);
            out->tried++;
            if (good) {
                VEC_PUSH(a, out->accepted, name);
                text_add(&list, "%s%s", list.length ? ", " : "", name);
            } else {
                refused = name;
                said = now ? now : said;
            }
            if (good != is_documented(row, known[i], specific)) {
                out->as_documented = false;
                against = name;
            }
        }
    out->verdict = arena_printf(a, "%s%s%s", out->accepted.count ? "taken for " : "taken for none of those asked",
                                out->accepted.count == out->tried ? "all of " : "", text_get(&list));
    if (!out->as_documented)
        out->verdict = arena_printf(a, "%s; the manual has it otherwise for %s", out->verdict, against);
    out->evidence = refused ? arena_printf(a, "%s: %s", refused, said ? said : "refused") : NULL;
    text_free(&list);
    return true;
}

void gate_print(const gate_finding *f, bool evidence) {
    printf("%-22s %s%s\n", f->row->name, f->as_documented ? "" : "NOT AS DOCUMENTED: ", f->verdict);
    if (evidence && f->evidence)
        printf("%-22s   %s\n", "", f->evidence);
}

void gate_json(const gate_finding *f, const char *compiler, json_t *rows) {
    char claim[96];
    snprintf(claim, sizeof claim, "PTX ISA: sm_%d%s", f->row->from,
             f->row->only ? "a and what later ones have alone" : " and later");
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[]}", "kind", "finding", "device", "nvrtc", "description", compiler,
        "instruction", "features of PTX", "fact", f->row->name, "verdict", f->verdict, "status",
        f->as_documented ? "found" : "contradicted", "claim", claim, "asks", "Which architectures does the compiler take it for?",
        "method", "A kernel with the instruction, compiled for every architecture that the compiler knows.", "evidence");
    if (f->evidence)
        json_array_append_new(json_object_get(row, "evidence"), json_string(f->evidence));
    json_array_append_new(rows, row);
}
