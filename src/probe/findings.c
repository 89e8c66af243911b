/* The findings page: a section a device, an instruction below it, a row a fact. */
#include "probe/findings.h"
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ground:#fff;--ink:#1c2024;--quiet:#60646c;--line:#d9dce1;--good:#18794e;--bad:#c62a2f}"
    "@media(prefers-color-scheme:dark){:root{--ground:#101214;--ink:#edeef0;--quiet:#a9adb5;--line:#363a40;--good:#4cc38a;--bad:#"
    "ff6369}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1200px;padding:20px 16px "
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
    "ul{margin:4px 0;padding-left:18px}";

static const char *text_of(const json_t *row, const char *name) {
    const char *text = json_string_value(json_object_get(row, name));
    return text ? text : "";
}

static void add(text_buffer *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<': text_add(out, "&lt;"); break;
        case '>': text_add(out, "&gt;"); break;
        case '&': text_add(out, "&amp;"); break;
        case '"': text_add(out, "&quot;"); break;
        default: text_add_bytes(out, text, 1); break;
        }
}

static bool is_finding(const json_t *row) {
    const char *kind = text_of(row, "kind");
    return !strcmp(kind, "finding") || !strcmp(kind, "layout") || !strcmp(kind, "model");
}

/* A later row of the same fact of the same device takes an earlier one's place. */
static bool is_same(const json_t *x, const json_t *y) {
    static const char *const names[] = {"device", "description", "instruction", "fact"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text_of(x, names[i]), text_of(y, names[i])))
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
            add(out, json_string_value(item) ? json_string_value(item) : "");
            text_add(out, "</code></li>");
        }
        text_add(out, "</ul></details>");
    }
    if (json_array_size(plants)) {
        text_add(out, "<details><summary>planted errors</summary><ul>");
        json_array_foreach(plants, i, item) {
            text_add(out, "<li>");
            add(out, text_of(item, "planted"));
            long long of = json_integer_value(json_object_get(json_object_get(item, "dots") ? item : row,
                                                              json_object_get(item, "dots") ? "dots" : "plant_dots"));
            text_add(out, ": %lld of %lld dots differ</li>", (long long)json_integer_value(json_object_get(item, "mismatches")),
                     of);
        }
        text_add(out, "</ul></details>");
    }
}

static void add_row(text_buffer *out, const json_t *row) {
    const char *status = text_of(row, "status"), *class = !strcmp(status, "found")            ? "found"
                                                          : !strcmp(status, "not told apart") ? "open"
                                                                                              : "bad";
    text_add(out, "<tr><td class=\"fact\">");
    add(out, text_of(row, "fact"));
    text_add(out, "</td><td>");
    add(out, *text_of(row, "asks")                    ? text_of(row, "asks")
             : !strcmp(text_of(row, "kind"), "model") ? "Does a bit-exact model give the device's answers?"
                                                      : "Which lane holds what?");
    if (*text_of(row, "method")) {
        text_add(out, "<details><summary>method</summary>");
        add(out, text_of(row, "method"));
        if (json_object_get(row, "questions"))
            text_add(out, " (%lld asked)", (long long)json_integer_value(json_object_get(row, "questions")));
        text_add(out, "</details>");
    }
    text_add(out, "</td><td>");
    add(out, text_of(row, "verdict"));
    add_evidence(out, row);
    text_add(out, "</td><td class=\"%s\">", class);
    add(out, status);
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
        else if (strcmp(text_of(p->rows[at], "utc"), text_of(row, "utc")) <= 0)
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
    text_add(out, "<h3>");
    add(out, text_of(p->rows[first], "instruction"));
    text_add(out, "</h3>\n");
    for (size_t i = first; i < p->count; i++)
        if (!strcmp(text_of(p->rows[i], "instruction"), text_of(p->rows[first], "instruction")) &&
            !strcmp(text_of(p->rows[i], "kind"), "finding") && *text_of(p->rows[i], "claim")) {
            text_add(out, "<p class=\"quiet\">Documented: ");
            add(out, text_of(p->rows[i], "claim"));
            text_add(out, "</p>\n");
            break;
        }
    text_add(out, "<div class=\"wide\"><table><tr><th>fact</th><th>asked</th><th>measured</th><th>verdict</th></tr>\n");
    for (size_t i = first; i < p->count; i++)
        if (!strcmp(text_of(p->rows[i], "device"), text_of(p->rows[first], "device")) &&
            !strcmp(text_of(p->rows[i], "description"), text_of(p->rows[first], "description")) &&
            !strcmp(text_of(p->rows[i], "instruction"), text_of(p->rows[first], "instruction")))
            add_row(out, p->rows[i]);
    text_add(out, "</table></div>\n");
}

bool findings_page(const json_t *rows, text_buffer *out) {
    page p = {0};
    bool any = newest(rows, &p);
    if (any) {
        text_add(out,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                 "content=\"width=device-width,initial-scale=1\">"
                 "<title>What matrix units do</title><style>%s</style></head><body>\n<h1>What matrix units do</h1>\n"
                 "<p>Found by <code>tilec probe</code>: each instruction is a black box that is asked dots. Every value of every "
                 "parameter that an answer refutes "
                 "falls; what is left must then give the device's bits on random dots, and models a step off in one parameter "
                 "must not.</p>\n",
                 style);
        for (size_t i = 0; i < p.count; i++) {
            bool new_device = true, new_instruction = true;
            for (size_t j = 0; j < i; j++) {
                bool same = !strcmp(text_of(p.rows[i], "device"), text_of(p.rows[j], "device")) &&
                            !strcmp(text_of(p.rows[i], "description"), text_of(p.rows[j], "description"));
                new_device &= !same;
                new_instruction &= !(same && !strcmp(text_of(p.rows[i], "instruction"), text_of(p.rows[j], "instruction")));
            }
            if (new_device) {
                text_add(out, "<h2>");
                add(out, text_of(p.rows[i], "description"));
                text_add(out, "</h2>\n<p class=\"quiet\">as ");
                add(out, text_of(p.rows[i], "device"));
                text_add(out, ", ");
                add(out, text_of(p.rows[i], "utc"));
                text_add(out, "</p>\n");
            }
            if (new_instruction)
                add_instruction(out, &p, i);
        }
        text_add(out, "</body></html>\n");
    }
    free(p.rows);
    return any;
}
