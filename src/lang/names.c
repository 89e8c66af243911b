/* Names in scope, those left behind, and what to say of unknown ones. */
#include "base/suggest.h"
#include "lang/build.h"
#include <string.h>

diag *lang_error(builder *b, const char *code, source_span span, const char *format, ...) {
    text_buffer t = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&t, format, args);
    va_end(args);
    diag *g = diag_error(b->diags, code, span, "%s", text_get(&t));
    text_free(&t);
    /* Inside a function's body, say whose call it was. */
    const frame *outermost = b->frame;
    while (outermost && outermost->outer)
        outermost = outermost->outer;
    if (outermost && outermost->function)
        diag_note(b->diags, g, "in `%s`, called from kernel `%s`", outermost->function->name, b->k ? b->k->name : b->d->name);
    return g;
}

const char *lang_source_text_of(arena *a, const expr *e) {
    enum { LONGEST = 60 };
    text_buffer t = {0};
    bool blank = false;
    for (const char *c = e->start; c < e->end; c++) {
        if (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r') {
            blank = true;
            continue;
        }
        if (c[0] == '/' && c[1] == '/') {
            while (c < e->end && *c != '\n')
                c++;
            blank = true;
            continue;
        }
        if (blank && t.length)
            text_add(&t, " ");
        blank = false;
        if (t.length >= LONGEST) {
            text_add(&t, "...");
            break;
        }
        text_add_bytes(&t, c, 1);
    }
    const char *copy = arena_strdup(a, text_get(&t));
    text_free(&t);
    return copy;
}

operand operand_error(void) {
    return (operand){.kind = OPERAND_ERROR, .side = -1};
}

name_entry *name_find(builder *b, const char *name) {
    for (int i = b->names.count - 1; i >= 0; i--)
        if (!strcmp(b->names.at[i].name, name)) {
            b->names.at[i].used = true;
            return &b->names.at[i];
        }
    return NULL;
}

const char *name_describe(const name_entry *n) {
    switch (n->kind) {
    case NAME_SYMBOL:
        return n->symbol->kind == INDEX_TILE ? "a tile size" : n->symbol->kind == INDEX_STATIC ? "a static name" : "an extent";
    case NAME_RANGE: return "a range";
    case NAME_ARRAY: return n->array->role == ARRAY_IN ? "an input array" : "an output array";
    case NAME_SCALAR: return "a scalar argument";
    case NAME_VARIABLE: return n->variable && n->variable->combine ? "a state" : "a variable";
    case NAME_OPERAND: return "a value";
    }
    return "a name";
}

name_entry *name_add(builder *b, const char *name, name_kind kind, source_span span) {
    for (int i = b->names.count - 1; i >= 0; i--) {
        const name_entry *old = &b->names.at[i];
        if (strcmp(old->name, name))
            continue;
        bool value = kind == NAME_OPERAND && (old->kind == NAME_OPERAND || old->kind == NAME_VARIABLE);
        diag *g = value ? lang_error(b, "E0203", span, "`%s` is bound already; a name is bound once", name)
                        : lang_error(b, "E0203", span, "`%s` is %s already", name, name_describe(old));
        if (value && old->kind == NAME_OPERAND && old->loop_depth < b->loops.count)
            diag_caret(b->diags, g, "to accumulate, declare `%s: f32[...] = 0` before the loop, and write `%s += ...`", name,
                       name);
        else if (value && old->kind == NAME_VARIABLE && !(old->variable && old->variable->combine))
            diag_caret(b->diags, g, "change it by combining (`%s += ...`), or choose another name", name);
        else
            diag_caret(b->diags, g, "choose another name");
        if (old->span.line)
            diag_note(b->diags, g, "`%s` was declared in line %d", name, old->span.line);
        return NULL;
    }
    name_entry n = {.name = name, .kind = kind, .span = span, .loop_depth = b->loops.count};
    n.operand = operand_error();
    VEC_PUSH(b->arena, b->names, n);
    return &b->names.at[b->names.count - 1];
}

void names_leave(builder *b, int count, const char *range) {
    while (b->names.count > count) {
        name_entry n = b->names.at[--b->names.count];
        /* tile sizes belong to the kernel, wherever they are met first */
        if (n.kind == NAME_SYMBOL)
            continue;
        n.left_by = range;
        VEC_PUSH(b->arena, b->left, n);
    }
    for (int i = 0; i < b->k->symbols.count; i++) {
        index_var *v = b->k->symbols.at[i];
        bool visible = false;
        for (int j = 0; j < b->names.count && !visible; j++)
            visible = b->names.at[j].kind == NAME_SYMBOL && b->names.at[j].symbol == v;
        if (!visible) {
            name_entry n = {.name = v->name, .kind = NAME_SYMBOL, .span = v->span, .symbol = v, .used = true};
            VEC_PUSH(b->arena, b->names, n);
        }
    }
}

/* As tile sizes are called: B and the range's name. */
static const char *tile_size_for(builder *b, const char *range) {
    char *size = arena_printf(b->arena, "B%s", range);
    for (char *c = size; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return size;
}

static void unknown(builder *b, const char *name, bool range, source_span span) {
    for (int i = b->left.count - 1; i >= 0; i--) {
        const name_entry *n = &b->left.at[i];
        if (strcmp(n->name, name))
            continue;
        diag *g = lang_error(b, "E0205", span, "`%s` is not visible here: it belongs to the loop over `%s`", name, n->left_by);
        if (n->kind == NAME_RANGE)
            diag_caret(b->diags, g, "use a range of a loop around this statement");
        else
            diag_caret(b->diags, g, "declare a variable before the loop and combine into it (`total += ...`)");
        diag_note(b->diags, g, "`%s` was declared in line %d", name, n->span.line);
        return;
    }
    const char **words = NEW_ARRAY(b->arena, const char *, b->names.count + 1);
    for (int i = 0; i < b->names.count; i++)
        words[i] = b->names.at[i].name;
    const char *near = suggest_nearest(name, words, b->names.count);
    diag *g = lang_error(b, "E0201", span, "unknown name `%s`", name);
    if (near)
        diag_caret(b->diags, g, "did you mean `%s`?", near);
    else if (range)
        diag_caret(b->diags, g, "no range is called so; a loop around this makes one: `for %s: %s in EXTENT { ... }`", name,
                   tile_size_for(b, name));
}

void name_unknown(builder *b, const char *name, source_span span) {
    unknown(b, name, false, span);
}

void name_unknown_range(builder *b, const char *name, source_span span) {
    unknown(b, name, true, span);
}

const declaration *lang_find_declaration(const module_builder *m, declaration_kind kind, const char *name) {
    for (int i = 0; i < m->syntax.items.count; i++) {
        const declaration *d = m->syntax.items.at[i];
        if (d->kind == kind && d->name && !strcmp(d->name, name))
            return d;
    }
    return NULL;
}
