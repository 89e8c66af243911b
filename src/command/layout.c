/* tilec layout: who holds what of a matrix fragment; which banks an access to shared memory meets. */
#include "command/command.h"
#include "base/file.h"
#include "probe/layout_view.h"
#include <string.h>

static bool integer(const command_line *line, const char *option, int otherwise, int *out, diag_list *diags) {
    const char *text = option_value(line, option);
    int64_t value = otherwise;
    if (text && !option_integer(option, text, &value, diags))
        return false;
    if (text && (value < 0 || value > 1 << 20)) {
        diag_error(diags, "E0860", (source_span){0}, "%s %s: a whole number from 0 on", option, text);
        return false;
    }
    *out = (int)value;
    return true;
}

static layout_form form_of(const command_line *line, diag_list *diags) {
    const char *text = option_value(line, "--format");
    static const char *const names[] = {"text", "csv", "svg"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(text ? text : "text", names[i]))
            return (layout_form)i;
    diag_error(diags, "E0860", (source_span){0}, "--format %s: text, csv or svg", text);
    return LAYOUT_FORMS;
}

static void list(text_buffer *out) {
    int count;
    const fragment_layout *rows = fragment_layout_rows(&count);
    for (int i = 0; i < count; i++) {
        const char *at = rows[i].types;
        if (rows[i].operand != 'a')
            continue;
        if (!*at)
            text_add(out, "%-6s %s\n", rows[i].target, rows[i].shape);
        for (size_t length; *at; at += length + (at[length] == ' ')) {
            length = strcspn(at, " ");
            if (!strncmp(rows[i].shape, "wgmma.", 6))
                text_add(out, "%-6s wgmma.m64nN%s.%.*s   N = 8, 16, .. 256\n", rows[i].target, rows[i].shape + 6, (int)length,
                         at);
            else
                text_add(out, "%-6s %s.%.*s\n", rows[i].target, rows[i].shape, (int)length, at);
        }
    }
}

/* No two targets have instructions of one name. */
static const char *target_of(const char *instruction) {
    static const char *const targets[] = {"cuda", "metal", "cpu"};
    fragment_layout l;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (fragment_layout_find(targets[i], instruction, 'a', &l))
            return targets[i];
    return targets[0];
}

/* The operands asked for, in order. */
static bool fragments(const command_line *line, layout_form form, text_buffer *out, diag_list *diags) {
    const char *target = option_value(line, "--target"), *name = option_value(line, "--instruction"),
               *operand = option_value(line, "--operand");
    int lane, reg, row, column, shown = 0;
    if (!integer(line, "--lane", -1, &lane, diags) || !integer(line, "--register", -1, &reg, diags) ||
        !integer(line, "--row", -1, &row, diags) || !integer(line, "--column", -1, &column, diags))
        return false;
    if ((lane < 0) != (reg < 0) || (row < 0) != (column < 0) || (lane >= 0 && row >= 0)) {
        diag_error(diags, "E0860", (source_span){0}, "--lane goes with --register, --row with --column, and one pair at a time");
        return false;
    }
    target = target ? target : target_of(name);
    if (form == LAYOUT_SVG && (!operand || lane >= 0 || row >= 0)) {
        diag_error(diags, "E0860", (source_span){0}, "a picture is of one whole fragment: --operand a, b or c");
        return false;
    }
    for (const char *o = operand ? operand : "abc"; *o; o++) {
        fragment_layout l;
        if (!fragment_layout_find(target, name, *o, &l) || (operand && strlen(operand) != 1))
            continue;
        if (lane >= 0 || row >= 0) {
            bool inside = lane >= 0 ? lane < l.lanes && reg < fragment_layout_registers(&l) : row < l.rows && column < l.columns;
            if (!inside && operand) {
                diag_error(diags, "E1211", (source_span){0}, "%s of %s has %d rows and %d columns in %d lanes of %d registers",
                           operand, name, l.rows, l.columns, l.lanes, fragment_layout_registers(&l));
                return false;
            }
            if (!inside)
                continue;
            lane >= 0 ? layout_view_register(out, &l, lane, reg, form) : layout_view_entry(out, &l, row, column, form);
        } else {
            layout_view_fragment(out, &l, name, form);
        }
        shown++;
    }
    if (!shown) {
        diag *g = diag_error(diags, "E1210", (source_span){0}, "%s has no fragment %s%sof `%s`%s", target, operand ? operand : "",
                             operand ? " " : "", name, lane >= 0 || row >= 0 ? " with such an entry" : "");
        diag_note(diags, g, "`tilec layout --list` lists the instructions");
    }
    return shown > 0;
}

static bool banks(const command_line *line, layout_form form, text_buffer *out, diag_list *diags) {
    const char *element = option_value(line, "--element"), *access = option_value(line, "--access"),
               *name = option_value(line, "--instruction"), *operand = option_value(line, "--operand"),
               *target = option_value(line, "--target");
    element_type type = element_by_name(element ? element : "f16");
    layout_access_request r = {.access = access ? access : name ? "fragment" : "ldmatrix"};
    fragment_layout l;
    if (!integer(line, "--swizzle", 0, &r.swizzle, diags) || !integer(line, "--stride", 64, &r.stride, diags))
        return false;
    if (type == ELEMENT_COUNT || element_table[type].block_elements != 1) {
        diag_error(diags, "E0860", (source_span){0}, "--element %s: a type of whole elements, as f16", element);
        return false;
    }
    r.element_bytes = element_table[type].block_bytes;
    if (name) {
        if (!fragment_layout_find(target ? target : target_of(name), name, operand ? *operand : 'a', &l)) {
            diag_error(diags, "E1210", (source_span){0}, "no fragment %s of `%s`", operand ? operand : "a", name);
            return false;
        }
        r.fragment = &l;
    }
    const char *fault = layout_access_fault(&r);
    if (fault) {
        diag_error(diags, "E0860", (source_span){0}, "%s", fault);
        return false;
    }
    layout_view_banks(out, &r, form);
    return true;
}

int command_layout(const command_line *line) {
    report r;
    report_begin(&r, line);
    text_buffer out = {0};
    layout_form form = form_of(line, &r.diags);
    bool held = form != LAYOUT_FORMS;
    const char *path = option_value(line, "-o");
    if (held && option_given(line, "--list"))
        list(&out);
    else if (held && option_given(line, "--swizzle"))
        held = banks(line, form, &out, &r.diags);
    else if (held && option_given(line, "--instruction"))
        held = fragments(line, form, &out, &r.diags);
    else if (held) {
        diag *g = diag_error(&r.diags, "E0860", (source_span){0}, "layout: of which instruction?");
        diag_note(&r.diags, g, "as in `tilec layout --instruction m16n8k16.f16`; --list lists them");
        held = false;
    }
    if (held && path)
        held = file_write(path, text_get(&out), out.length, &r.diags);
    else if (held && r.json)
        json_object_set_new(r.json, "text", json_string(text_get(&out)));
    else if (held)
        fputs(text_get(&out), stdout);
    text_free(&out);
    return report_end(&r, held);
}
