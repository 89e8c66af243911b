/* Printing random programs, and making them smaller while they fail. */
#include "generator.h"
#include <ctype.h>
#include <string.h>

/* ---- printing ---- */

static void print_node(text_buffer *out, const node *n);

static void print_format(text_buffer *out, const char *format, node *const *part) {
    for (const char *c = format; *c; c++)
        if (c[0] == '%' && isdigit((unsigned char)c[1]))
            print_node(out, part[*++c - '0']);
        else
            text_add_bytes(out, c, 1);
}

static void print_node(text_buffer *out, const node *n) {
    print_format(out, n->format, n->part);
}

static bool is_empty(const line *l) {
    if (l->removed)
        return true;
    for (int i = 0; l->is_loop && i < l->body.count; i++)
        if (!is_empty(l->body.at[i]))
            return false;
    return l->is_loop;
}

static void print_lines(text_buffer *out, line *const *lines, int count, int indent) {
    for (int i = 0; i < count; i++) {
        const line *l = lines[i];
        if (is_empty(l))
            continue;
        text_add(out, "%*s", indent, "");
        print_format(out, l->format, l->part);
        if (l->is_loop) {
            text_add(out, " {\n");
            print_lines(out, l->body.at, l->body.count, indent + 4);
            text_add(out, "%*s}", indent, "");
        }
        text_add(out, "\n");
    }
}

static bool mentions(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (starts && !(isalnum((unsigned char)at[n]) || at[n] == '_'))
            return true;
    }
    return false;
}

static bool mentions_first_word(const char *text, const char *declared) {
    char word[64];
    size_t n = strcspn(declared, " ");
    if (n >= sizeof word)
        return false;
    memcpy(word, declared, n);
    word[n] = 0;
    return mentions(text, word);
}

void program_print(const program *p, text_buffer *out) {
    text_buffer body = {0}, head = {0}, before = {0};
    print_lines(&body, p->body.at, p->body.count, 8);
    const char *separator = "";
    text_add(&head, "kernel %s(", p->name);
    for (int i = 0; i < p->arguments.count; i++)
        if (mentions(text_get(&body), p->arguments.at[i].name)) {
            text_add(&head, "%s%s", separator, p->arguments.at[i].text);
            separator = ", ";
        }
    text_add(&head, ")\n    -> (");
    separator = "";
    for (int i = 0; i < p->outputs.count; i++)
        if (!p->outputs.at[i].removed) {
            text_add(&head, "%s%s", separator, p->outputs.at[i].text);
            separator = ", ";
        }
    text_add(&head, ")");
    const char *word = " static ";
    for (int i = 0; i < p->statics.count; i++)
        if (mentions_first_word(text_get(&head), p->statics.at[i]) || mentions_first_word(text_get(&body), p->statics.at[i])) {
            text_add(&head, "%s%s", word, p->statics.at[i]);
            word = ", ";
        }
    word = " where ";
    for (int i = 0; i < p->wheres.count; i++) {
        text_add(&head, "%s%s", word, p->wheres.at[i]);
        word = ", ";
    }
    text_add(&head, " {\n    for tile ");
    separator = "";
    for (int i = 0; i < p->outputs.count; i++)
        if (!p->outputs.at[i].removed) {
            text_add(&head, "%s%s", separator, *separator ? p->outputs.at[i].owned : p->outputs.at[i].owned_first);
            separator = ", ";
        }
    text_add(&head, " {\n");
    for (int i = 0; i < p->prelude.count; i++) {
        const char *name = strchr(p->prelude.at[i], ' ') + 1;
        char first[64] = {0};
        for (int c = 0; c < 63 && (isalnum((unsigned char)name[c]) || name[c] == '_'); c++)
            first[c] = name[c];
        if (mentions(text_get(&body), first))
            text_add(&before, "%s", p->prelude.at[i]);
    }
    text_add(out, "%s%s%s    }\n}\n", text_get(&before), text_get(&head), text_get(&body));
    text_free(&body);
    text_free(&head);
    text_free(&before);
}

/* ---- making smaller ---- */

typedef struct minimiser {
    program *p;
    program_fails fails;
    void *context;
    int left, made;
    bool changed;
} minimiser;

static bool still_fails(minimiser *m) {
    if (m->left <= 0)
        return false;
    m->left--;
    text_buffer b = {0};
    program_print(m->p, &b);
    bool fails = m->fails(m->context, text_get(&b));
    text_free(&b);
    if (fails) {
        m->made++;
        m->changed = true;
    }
    return fails;
}

static void set_stores(line **lines, int count, int output, bool removed) {
    for (int i = 0; i < count; i++) {
        if (lines[i]->output == output)
            lines[i]->removed = removed;
        set_stores(lines[i]->body.at, lines[i]->body.count, output, removed);
    }
}

static void drop_lines(minimiser *m, line **lines, int count) {
    for (int i = count - 1; i >= 0; i--) {
        line *l = lines[i];
        if (l->removed || l->output)
            continue;
        l->removed = true;
        if (!still_fails(m)) {
            l->removed = false;
            drop_lines(m, l->body.at, l->body.count);
        }
    }
}

static bool is_constant(const node *n) {
    return !n->parts && !n->axes && !strchr(n->format, '[');
}

static void shrink_node(minimiser *m, node **slot) {
    node *n = *slot;
    for (int i = 0; i < n->parts; i++)
        if (n->part[i]->type == n->type) {
            *slot = n->part[i];
            if (still_fails(m)) {
                shrink_node(m, slot);
                return;
            }
        }
    *slot = n;
    if (!is_constant(n) && n->type != VALUE_NARROW) {
        *slot = make_node(m->p, n->type, 0, n->type == VALUE_F32 ? "1" : n->type == VALUE_I32 ? "i32(1)" : "true", 0);
        if (still_fails(m))
            return;
        *slot = n;
    }
    for (int i = 0; i < n->parts; i++)
        shrink_node(m, &n->part[i]);
}

static void shrink_lines(minimiser *m, line **lines, int count) {
    for (int i = 0; i < count; i++) {
        if (lines[i]->removed)
            continue;
        for (int k = 0; k < lines[i]->parts; k++)
            shrink_node(m, &lines[i]->part[k]);
        shrink_lines(m, lines[i]->body.at, lines[i]->body.count);
    }
}

int program_minimise(program *p, program_fails fails, void *context, int limit) {
    minimiser m = {p, fails, context, limit, 0, true};
    while (m.changed && m.left > 0) {
        m.changed = false;
        int kept = 0;
        for (int o = 0; o < p->outputs.count; o++)
            kept += !p->outputs.at[o].removed;
        for (int o = p->outputs.count - 1; o >= 0 && kept > 1; o--) {
            if (p->outputs.at[o].removed)
                continue;
            p->outputs.at[o].removed = true;
            set_stores(p->body.at, p->body.count, o + 1, true);
            if (still_fails(&m)) {
                kept--;
            } else {
                p->outputs.at[o].removed = false;
                set_stores(p->body.at, p->body.count, o + 1, false);
            }
        }
        drop_lines(&m, p->body.at, p->body.count);
        shrink_lines(&m, p->body.at, p->body.count);
    }
    return m.made;
}
