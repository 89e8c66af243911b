/* The findings page: a section a device, an instruction below it, a row a fact. */
#include "probe/findings.h"
#include "probe/findings_parts.h"
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ground:#fff;--ink:#1c2024;--quiet:#60646c;--line:#d9dce1;--good:#18794e;--bad:#c62a2f}"
    "@media(prefers-color-scheme:dark){:root{--ground:#101214;--ink:#edeef0;--quiet:#a9adb5;--line:#363a40;--good:#4cc38a;--bad:#"
    "ff6369}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1320px;padding:20px 16px "
    "60px;background:var(--ground);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "h1{font-size:26px;margin:8px 0 4px}h2{font-size:20px;margin:36px 0 4px}h3{font-size:16px;margin:26px 0 "
    "6px;font-family:ui-monospace,monospace}"
    "p{max-width:80ch;margin:6px 0}.quiet{color:var(--quiet)}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%;font-size:14px}th,td{padding:6px "
    "10px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}"
    "th{color:var(--quiet);font-weight:500}td.fact{white-space:nowrap;font-weight:600}td.found{color:var(--good);white-space:"
    "nowrap}"
    "td.open{color:var(--quiet);white-space:nowrap}td.bad{color:var(--bad);white-space:nowrap}"
    "details{margin-top:4px;color:var(--quiet)}summary{cursor:pointer}code{font:12px/1.5 "
    "ui-monospace,monospace;overflow-wrap:anywhere}"
    "ul{margin:4px 0;padding-left:18px}a{color:inherit}td.quiet{color:var(--quiet)}"
    "table.facts{table-layout:fixed;min-width:1100px}table.facts th:nth-child(1){width:11%}table.facts th:nth-child(2){width:18%}"
    "table.facts th:nth-child(3){width:14%}table.facts th:nth-child(5){width:25%}table.facts "
    "th:nth-child(6){width:8%}table.facts td{overflow-wrap:anywhere;white-space:normal}"
    /* Where a table has no room a row is a block, a cell a line that its column's name begins. */
    "@media(max-width:760px){.wide table,.wide tbody,.wide tr,.wide td{display:block;width:auto}table.facts{min-width:0}.wide "
    "tr:first-child{display:none}.wide tr{border-bottom:1px solid var(--line);padding:8px 0}.wide td{border:0;padding:2px 0;"
    "white-space:normal;overflow-wrap:anywhere}.wide td:empty{display:none}"
    ".wide td[data-of]::before{content:attr(data-of) \": \";color:var(--quiet);font-weight:400}}";

const char *findings_text(const json_t *row, const char *name) {
    const char *text = json_string_value(json_object_get(row, name));
    return text ? text : "";
}

void findings_add(text_buffer *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<': text_add(out, "&lt;"); break;
        case '>': text_add(out, "&gt;"); break;
        case '&': text_add(out, "&amp;"); break;
        case '"': text_add(out, "&quot;"); break;
        default: text_add_bytes(out, text, 1); break;
        }
}

bool findings_same_device(const json_t *x, const json_t *y) {
    return !strcmp(findings_text(x, "device"), findings_text(y, "device")) &&
           !strcmp(findings_text(x, "description"), findings_text(y, "description"));
}

static bool is_finding(const json_t *row) {
    const char *kind = findings_text(row, "kind");
    return !strcmp(kind, "finding") || !strcmp(kind, "layout") || !strcmp(kind, "model");
}

/* A later row of the same fact of the same device takes an earlier one's place. */
static bool is_same(const json_t *x, const json_t *y) {
    static const char *const names[] = {"device", "description", "instruction", "fact"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(findings_text(x, names[i]), findings_text(y, names[i])))
            return false;
    return true;
}

static void add_evidence(text_buffer *out, const json_t *row) {
    const json_t *evidence = json_object_get(row, "evidence"), *plants = json_object_get(row, "plants"), *item;
    size_t i;
    if (json_array_size(evidence)) {
        text_add(out, "<details><summary>evidence</summary><ul>");
        json_array_foreach(evidence, i, item) {
            text_add(out, "<li><code>");
            findings_add(out, json_string_value(item) ? json_string_value(item) : "");
            text_add(out, "</code></li>");
        }
        text_add(out, "</ul></details>");
    }
    if (json_array_size(plants)) {
        text_add(out, "<details><summary>planted errors</summary><ul>");
        json_array_foreach(plants, i, item) {
            text_add(out, "<li>");
            findings_add(out, findings_text(item, "planted"));
            long long of = json_integer_value(json_object_get(json_object_get(item, "dots") ? item : row,
                                                              json_object_get(item, "dots") ? "dots" : "plant_dots"));
            text_add(out, ": %lld of %lld dots differ</li>", (long long)json_integer_value(json_object_get(item, "mismatches")),
                     of);
        }
        text_add(out, "</ul></details>");
    }
}

/* `common`: what stands above the table as documented of all its rows. */
static void add_row(text_buffer *out, const json_t *row, const char *common) {
    const char *status = findings_text(row, "status"), *claim = findings_text(row, "claim"),
               *class = !strcmp(status, "found")            ? "found"
                        : !strcmp(status, "not told apart") ? "open"
                                                            : "bad";
    text_add(out, "<tr><td class=\"fact\">");
    findings_add(out, findings_text(row, "fact"));
    text_add(out, "</td><td data-of=\"question\">");
    findings_add(out, *findings_text(row, "asks")                    ? findings_text(row, "asks")
                      : !strcmp(findings_text(row, "kind"), "model") ? "Does a bit-exact model give the device's answers?"
                                                                     : "Which lane holds what?");
    if (*findings_text(row, "method")) {
        text_add(out, "<details><summary>method</summary>");
        findings_add(out, findings_text(row, "method"));
        if (json_object_get(row, "questions"))
            text_add(out, " (%lld asked)", (long long)json_integer_value(json_object_get(row, "questions")));
        text_add(out, "</details>");
    }
    text_add(out, "</td><td data-of=\"documented\"%s>", !*claim || !strcmp(claim, common) ? " class=\"quiet\"" : "");
    findings_add(out, !*claim ? "nothing" : !strcmp(claim, common) ? "as above" : claim);
    text_add(out, "</td><td data-of=\"measured\">");
    findings_add(out, findings_text(row, "verdict"));
    text_add(out, "</td><td>");
    add_evidence(out, row);
    text_add(out, "</td><td data-of=\"verdict\" class=\"%s\">", class);
    findings_add(out, status);
    text_add(out, "</td></tr>\n");
}

typedef struct page {
    const json_t **rows;
    size_t count;
} page;

static bool newest(const json_t *rows, page *p) {
    size_t i;
    const json_t *row;
    p->rows = calloc(json_array_size(rows) + 1, sizeof *p->rows);
    if (!p->rows)
        return false;
    json_array_foreach(rows, i, row) {
        if (!is_finding(row))
            continue;
        size_t at = 0;
        while (at < p->count && !is_same(p->rows[at], row))
            at++;
        if (at == p->count)
            p->rows[p->count++] = row;
        else if (strcmp(findings_text(p->rows[at], "utc"), findings_text(row, "utc")) <= 0)
            p->rows[at] = row;
    }
    return p->count > 0;
}

json_t *findings_newest(const json_t *rows) {
    page p = {0};
    json_t *out = json_array();
    if (newest(rows, &p))
        for (size_t i = 0; i < p.count; i++)
            json_array_append(out, (json_t *)p.rows[i]);
    free(p.rows);
    return out;
}

static void add_instruction(text_buffer *out, const page *p, size_t first) {
    const char *common = "";
    text_add(out, "<h3 id=\"");
    findings_add(out, findings_text(p->rows[first], "instruction"));
    text_add(out, "\">");
    findings_add(out, findings_text(p->rows[first], "instruction"));
    text_add(out, "</h3>\n");
    for (size_t i = first; i < p->count && !*common; i++)
        if (findings_same_device(p->rows[i], p->rows[first]) &&
            !strcmp(findings_text(p->rows[i], "instruction"), findings_text(p->rows[first], "instruction")) &&
            !strcmp(findings_text(p->rows[i], "fact"), "order"))
            common = findings_text(p->rows[i], "claim");
    if (*common) {
        text_add(out, "<p class=\"quiet\">Documented of its arithmetic: ");
        findings_add(out, common);
        text_add(out, "</p>\n");
    }
    text_add(out,
             "<div class=\"wide\"><table class=\"facts\"><tr><th>fact</th><th>question</th><th>documented</th><th>measured</th>"
             "<th>evidence</th><th>verdict</th></tr>\n");
    for (size_t i = first; i < p->count; i++)
        if (findings_same_device(p->rows[i], p->rows[first]) &&
            !strcmp(findings_text(p->rows[i], "instruction"), findings_text(p->rows[first], "instruction")))
            add_row(out, p->rows[i], common);
    text_add(out, "</table></div>\n");
}

/* Whether no row before is of the same device (and instruction). */
static bool is_first(const page *p, size_t i, bool of_instruction) {
    for (size_t j = 0; j < i; j++)
        if (findings_same_device(p->rows[i], p->rows[j]) &&
            (!of_instruction || !strcmp(findings_text(p->rows[i], "instruction"), findings_text(p->rows[j], "instruction"))))
            return false;
    return true;
}

/* All of a device, wherever its rows stand. */
static void add_device(text_buffer *out, const page *p, size_t first) {
    text_add(out, "<h2 id=\"device-%zu\">", first);
    findings_add(out, findings_text(p->rows[first], "description"));
    text_add(out, "</h2>\n<p class=\"quiet\">as ");
    findings_add(out, findings_text(p->rows[first], "device"));
    text_add(out, ", ");
    findings_add(out, findings_text(p->rows[first], "utc"));
    text_add(out, "</p>\n");
    for (size_t i = first; i < p->count; i++)
        if (findings_same_device(p->rows[i], p->rows[first]) && is_first(p, i, true))
            add_instruction(out, p, i);
}

bool findings_page(const json_t *rows, text_buffer *out) {
    page p = {0};
    bool any = newest(rows, &p);
    if (any) {
        text_add(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
            "content=\"width=device-width,initial-scale=1\">"
            "<title>What devices do, and do not say</title><style>%s</style></head><body>\n<h1>What devices do, and do not "
            "say</h1>\n"
            "<p>Found by <code>tilec probe</code>. An instruction is a black box that is asked dots: every value of every "
            "parameter that an answer refutes falls; what is left must then give the device's bits on random dots, and models a "
            "step off in one parameter must not. Caches, banks, limits and alignments are asked by trying, what a compiler takes "
            "by "
            "compiling. Each fact states what is documented of it, what was measured, and the evidence: the questions whose "
            "answers "
            "refute the neighbouring values.</p>\n",
            style);
        findings_summary(p.rows, p.count, out);
        text_add(out, "<h2>Fact by fact</h2>\n<ul>");
        for (size_t i = 0; i < p.count; i++)
            if (is_first(&p, i, false)) {
                text_add(out, "<li><a href=\"#device-%zu\">", i);
                findings_add(out, findings_text(p.rows[i], "description"));
                text_add(out, "</a></li>");
            }
        text_add(out, "</ul>\n");
        for (size_t i = 0; i < p.count; i++)
            if (is_first(&p, i, false))
                add_device(out, &p, i);
        text_add(out, "</body></html>\n");
    }
    free(p.rows);
    return any;
}
