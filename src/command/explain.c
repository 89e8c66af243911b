/* tilec explain: the long text of a diagnostic. */
#include "command/command.h"
#include "base/errors.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static json_t *entry_json(const error_entry *e) {
    return json_pack("{s:s, s:s, s:s}", "code", e->code, "title", e->title, "explanation", e->explanation);
}

/* "214", "e0214" and "E0214" are one code. */
static const error_entry *find_code(const char *text, char *code, size_t size) {
    const char *digits = *text == 'E' || *text == 'e' ? text + 1 : text;
    char *end;
    long n = strtol(digits, &end, 10);
    if (end == digits || *end || n < 0 || n > 9999)
        snprintf(code, size, "%s", text);
    else
        snprintf(code, size, "E%04ld", n);
    return error_find(code);
}

int command_explain(const command_line *line) {
    report r;
    report_begin(&r, line);
    bool held = true;
    json_t *list = json_array();
    if (option_given(line, "--all")) {
        if (r.json)
            for (int i = 0; i < error_entry_count; i++)
                json_array_append_new(list, entry_json(&error_entries[i]));
        else if (option_given(line, "--markdown"))
            error_print_markdown(stdout);
        else
            for (int i = 0; i < error_entry_count; i++)
                printf("%s  %s\n", error_entries[i].code, error_entries[i].title);
    } else if (!line->positional_count) {
        diag *g = diag_error(&r.diags, "E0860", (source_span){0}, "explain: which code?");
        diag_note(&r.diags, g, "as in `tilec explain E0214`; --all lists them");
        json_decref(list);
        return report_end(&r, false);
    }
    for (int i = 0; i < line->positional_count; i++) {
        char code[64];
        const error_entry *e = find_code(line->positional[i], code, sizeof code);
        if (!e) {
            diag *g = diag_error(&r.diags, "E0870", (source_span){0}, "no diagnostic has the code `%s`", code);
            diag_note(&r.diags, g, "`tilec explain --all` lists them");
            held = false;
        } else if (r.json) {
            json_array_append_new(list, entry_json(e));
        } else {
            error_print(stdout, e);
        }
    }
    if (r.json)
        json_object_set(r.json, "codes", list);
    json_decref(list);
    return report_end(&r, held);
}
