/* The first sections of the findings page: what a reader wants to know before the tables of each instruction. */
#include "probe/findings_parts.h"
#include <string.h>

static bool is(const json_t *row, const char *name, const char *value) {
    return !strcmp(findings_text(row, name), value);
}

/* 10,000,000 */
static void add_grouped(text_buffer *out, long long n) {
    if (n >= 1000) {
        add_grouped(out, n / 1000);
        text_add(out, ",%03lld", n % 1000);
    } else {
        text_add(out, "%lld", n);
    }
}

static void add_count(const json_t *const *rows, size_t count, text_buffer *out) {
    size_t devices = 0, found = 0, open = 0, not_found = 0, against = 0;
    long long dots = 0, mismatches = 0;
    for (size_t i = 0; i < count; i++) {
        bool new_device = true;
        for (size_t j = 0; j < i; j++)
            new_device &= !findings_same_device(rows[i], rows[j]);
        devices += new_device;
        found += is(rows[i], "status", "found");
        open += is(rows[i], "status", "not told apart");
        not_found += is(rows[i], "status", "not determined");
        against += is(rows[i], "status", "contradicted");
        dots += json_integer_value(json_object_get(rows[i], "dots"));
        mismatches += json_integer_value(json_object_get(rows[i], "mismatches"));
    }
    text_add(out,
             "<p>%zu facts of %zu devices and compilers: %zu found, %zu found up to what nothing that was asked can tell apart, "
             "%zu not "
             "determined, %zu not as documented. The bit-exact models were held against ",
             count, devices, found, open, not_found, against);
    add_grouped(out, dots);
    text_add(out, " random dots, of which ");
    add_grouped(out, mismatches);
    text_add(out, " differed.</p>\n");
}

/* A section whose rows are those that `wanted` takes: nothing where there are none. */
static void add_list(const json_t *const *rows, size_t count, const char *title, const char *before,
                     bool (*wanted)(const json_t *), text_buffer *out) {
    bool any = false;
    const char *above = "";
    for (size_t i = 0; i < count; i++) {
        if (!wanted(rows[i]))
            continue;
        const char *claim = findings_text(rows[i], "claim");
        const bool again = any && !strcmp(claim, above);
        if (!any)
            text_add(out,
                     "<h2>%s</h2>\n<p>%s</p>\n<div class=\"wide\"><table><tr><th>device</th><th>of</th><th>documented</th>"
                     "<th>measured</th></tr>\n",
                     title, before);
        any = true;
        text_add(out, "<tr><td>");
        const char *device = findings_text(rows[i], "description");
        char name[64] = {0};
        strncat(name, device, strcspn(device, ",") < 63 ? strcspn(device, ",") : 63);
        findings_add(out, name);
        text_add(out, "</td><td class=\"fact\">");
        findings_add(out, findings_text(rows[i], "instruction"));
        text_add(out, "<br>");
        findings_add(out, findings_text(rows[i], "fact"));
        text_add(out, "</td><td data-of=\"documented\"%s>", again ? " class=\"quiet\"" : "");
        findings_add(out, again ? "as above" : claim);
        above = claim;
        text_add(out, "</td><td data-of=\"measured\">");
        findings_add(out, findings_text(rows[i], "verdict"));
        text_add(out, "</td></tr>\n");
    }
    if (any)
        text_add(out, "</table></div>\n");
}

static bool is_against(const json_t *row) {
    return is(row, "status", "contradicted");
}

static bool is_on_record(const json_t *row) {
    return is(row, "fact", "on record") && strstr(findings_text(row, "verdict"), "; refuted: ");
}

static bool is_emulated(const json_t *row) {
    return is(row, "fact", "speed") && !strncmp(findings_text(row, "verdict"), "not accelerated", 15);
}

static const char *verdict_of(const json_t *const *rows, size_t count, const json_t *of, const char *fact) {
    for (size_t i = 0; i < count; i++)
        if (findings_same_device(rows[i], of) && is(rows[i], "instruction", findings_text(of, "instruction")) &&
            is(rows[i], "fact", fact))
            return findings_text(rows[i], "verdict");
    return "";
}

static bool has_unit(const json_t *row) {
    return is(row, "fact", "order");
}

enum { UNIT_FACTS = 5 };
static const char *const unit_facts[UNIT_FACTS] = {"order", "alignment", "result", "speed", "place"};

/* `columns`: bits of the facts that some row of its table has. */
static void add_unit(const json_t *const *rows, size_t count, const json_t *row, unsigned columns, text_buffer *out) {
    text_add(out, "<tr><td class=\"fact\"><a href=\"#");
    findings_add(out, findings_text(row, "instruction"));
    text_add(out, "\">");
    findings_add(out, findings_text(row, "instruction"));
    text_add(out, "</a></td>");
    for (size_t f = 0; f < UNIT_FACTS; f++) {
        const char *verdict = verdict_of(rows, count, row, unit_facts[f]),
                   *aside = strstr(verdict, " ("); /* what nothing tells apart stands in the section below */
        char text[256] = {0};
        size_t length = aside ? (size_t)(aside - verdict) : strlen(verdict);
        strncat(text, verdict, length < 255 ? length : 255);
        if (!(columns >> f & 1))
            continue;
        text_add(out, "<td data-of=\"%s\">", unit_facts[f]);
        findings_add(out, text);
        text_add(out, "</td>");
    }
    text_add(out, "</tr>\n");
}

/* A table a device, a line an instruction whose terms are aligned. */
static void add_units(const json_t *const *rows, size_t count, text_buffer *out) {
    for (size_t i = 0; i < count; i++) {
        bool first = has_unit(rows[i]);
        for (size_t j = 0; j < i; j++)
            first &= !has_unit(rows[j]) || !findings_same_device(rows[i], rows[j]);
        if (!first)
            continue;
        text_add(out, "<h2>Units side by side: ");
        findings_add(out, findings_text(rows[i], "description"));
        unsigned columns = 0;
        for (size_t j = i; j < count; j++)
            for (size_t f = 0; f < UNIT_FACTS && has_unit(rows[j]) && findings_same_device(rows[i], rows[j]); f++)
                columns |= (unsigned)(*verdict_of(rows, count, rows[j], unit_facts[f]) != 0) << f;
        text_add(out, "</h2>\n<div class=\"wide\"><table><tr><th>instruction</th>");
        for (size_t f = 0; f < UNIT_FACTS; f++)
            if (columns >> f & 1)
                text_add(out, "<th>%s</th>", unit_facts[f]);
        text_add(out, "</tr>\n");
        for (size_t j = i; j < count; j++)
            if (has_unit(rows[j]) && findings_same_device(rows[i], rows[j]))
                add_unit(rows, count, rows[j], columns, out);
        text_add(out, "</table></div>\n");
    }
}

void findings_summary(const json_t *const *rows, size_t count, text_buffer *out) {
    add_count(rows, count, out);
    add_list(rows, count, "What is not as documented", "Measured against what the vendor's documents, or the driver, say.",
             is_against, out);
    add_list(
        rows, count, "What is slower than its operands allow",
        "Listed by the vendor as the others are. Less than 3/4 of what a unit for such operands would do: it is made of other "
        "instructions, or of fewer units (where a disassembler is at hand, the evidence of speed below names the machine's "
        "instructions).",
        is_emulated, out);
    add_list(rows, count, "What settles between published models",
             "Dots on which published models of matrix units differ, asked again: in brackets, how many of them refute a model.",
             is_on_record, out);
    add_units(rows, count, out);
}
