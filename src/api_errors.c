/* The public C API: diagnostics kept for the thread that caused them, and structures of other sizes. */
#include "api_parts.h"
#include <stdlib.h>
#include <string.h>

/* The calling thread's report; NULL when it has none yet and `make` is false, or when there is no memory. */
static api_report *own_report(tilec_context *t, bool make) {
    pthread_t self = pthread_self();
    for (api_report *r = t->reports; r; r = r->next)
        if (pthread_equal(r->thread, self))
            return r;
    api_report *r = make ? calloc(1, sizeof *r) : NULL;
    if (r) {
        r->thread = self;
        r->next = t->reports;
        t->reports = r;
    }
    return r;
}

static void clear(api_report *r) {
    arena_free(r->arena);
    r->arena = NULL;
    r->items.at = NULL;
    r->items.count = r->items.capacity = 0;
    r->text = NULL;
}

void api_free_reports(tilec_context *t) {
    for (api_report *r = t->reports, *next; r; r = next) {
        next = r->next;
        clear(r);
        free(r);
    }
    t->reports = NULL;
}

void api_begin(api_entry *e, tilec_context *t, const tilec_module *m) {
    pthread_mutex_lock(&t->lock);
    api_report *r = own_report(t, false);
    if (r)
        clear(r);
    e->context = t;
    e->arena = arena_new();
    diag_init(&e->diags, e->arena);
    for (int i = 0; m && i < m->sources.count; i++)
        diag_add_source(&e->diags, m->sources.at[i].file, m->sources.at[i].text);
}

void api_begin_call(api_entry *e, tilec_call *c) {
    api_begin(e, c->module->context, c->module);
    arena_free(c->view);
    c->view = NULL;
    c->shown = NULL;
}

static bool same_place(source_span x, source_span y) {
    return x.file && y.file && strcmp(x.file, y.file) == 0 && x.line == y.line && x.column == y.column;
}

/* The smallest case that shows the fault. The prover keeps it beside its verdict; the front end ends its message with it. */
static const char *witness_of_diagnostic(const diag *g, const run_call *call) {
    for (int i = 0; call && i < call->steps.count; i++) {
        const compiled_kernel *k = call->steps.at[i].compiled;
        for (int n = 0; k && n < k->proof.items.count; n++) {
            const proof_item *p = &k->proof.items.at[n];
            if (p->verdict != VERDICT_PROVED && p->witness && same_place(p->span, g->span) && strstr(g->message, p->explanation))
                return p->witness;
        }
    }
    const char *found = NULL;
    if (g->code && strncmp(g->code, "E030", 4) == 0)
        for (const char *at = g->message; (at = strstr(at, " when ")); at++)
            found = at + strlen(" when ");
    return found && strstr(found, " = ") ? found : NULL;
}

static const char *copy(arena *a, const char *text) {
    return text ? arena_strdup(a, text) : NULL;
}

static const char *printed(arena *a, const diag_list *diags, const diag *g) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return "";
    if (g)
        diag_print(diags, g, out, false);
    else
        diag_print_all(diags, out, false);
    fclose(out);
    const char *kept = text ? arena_strdup(a, text) : "";
    free(text);
    return kept;
}

/* Notes speak to someone at the command line; here symbols and tile sizes are named without its options. */
static const char *without_options(arena *a, const char *note) {
    static const char *const options[] = {"--kernel NAME, ", "--shape ", "--set "};
    text_buffer b = {0};
    for (const char *at = note; *at;) {
        size_t skipped = 0;
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strncmp(at, options[i], strlen(options[i])) == 0)
                skipped = strlen(options[i]);
        if (!skipped)
            text_add_bytes(&b, at++, 1);
        at += skipped;
    }
    const char *kept = arena_strdup(a, text_get(&b));
    text_free(&b);
    return kept;
}

static void address_callers(const diag_list *diags) {
    for (int i = 0; i < diags->items.count; i++) {
        diag *g = diags->items.at[i];
        int kept = 0;
        for (int n = 0; n < g->notes.count; n++)
            if (strncmp(g->notes.at[n], "--arg ", 6) != 0) /* which files and made-up data there are */
                g->notes.at[kept++] = without_options(diags->arena, g->notes.at[n]);
        g->notes.count = kept;
    }
}

static void keep(api_report *r, const diag_list *diags, bool good, const run_call *call) {
    arena *a = r->arena = arena_new();
    address_callers(diags);
    for (int i = 0; i < diags->items.count; i++) {
        const diag *g = diags->items.at[i];
        tilec_diagnostic d = {.size = sizeof d};
        d.severity = g->severity == SEVERITY_ERROR ? TILEC_ERROR : g->severity == SEVERITY_WARNING ? TILEC_WARNING : TILEC_NOTE;
        d.code = copy(a, g->code);
        d.file = copy(a, g->span.file);
        d.line = g->span.line;
        d.column = g->span.column;
        d.length = g->span.length;
        d.message = copy(a, g->message);
        d.caret = copy(a, g->caret);
        d.note_count = g->notes.count;
        const char **notes = NEW_ARRAY(a, const char *, g->notes.count + 1);
        for (int n = 0; n < g->notes.count; n++)
            notes[n] = copy(a, g->notes.at[n]);
        d.notes = notes;
        d.witness = copy(a, witness_of_diagnostic(g, call));
        d.text = printed(a, diags, g);
        VEC_PUSH(a, r->items, d);
    }
    r->text = good && !diags->errors ? NULL : printed(a, diags, NULL);
}

bool api_end(api_entry *e, bool good, const run_call *call) {
    api_report *r = e->diags.items.count ? own_report(e->context, true) : NULL;
    if (r)
        keep(r, &e->diags, good, call);
    arena_free(e->arena);
    pthread_mutex_unlock(&e->context->lock);
    return good;
}

/* The report is read without the lock afterwards: only its own thread changes it. */
static const api_report *find_report(const tilec_context *t) {
    tilec_context *own = (tilec_context *)t; /* the lock is no part of what a caller sees change */
    pthread_mutex_lock(&own->lock);
    const api_report *r = own_report(own, false);
    pthread_mutex_unlock(&own->lock);
    return r;
}

const char *tilec_error(const tilec_context *t) {
    const api_report *r = find_report(t);
    return r && r->text ? r->text : "";
}

int tilec_diagnostic_count(const tilec_context *t) {
    const api_report *r = find_report(t);
    return r ? r->items.count : 0;
}

bool tilec_diagnostic_at(const tilec_context *t, int index, tilec_diagnostic *out) {
    const api_report *r = find_report(t);
    if (!r || index < 0 || index >= r->items.count)
        return false;
    api_copy_out(out, &r->items.at[index], sizeof *out);
    return true;
}

const char *tilec_explain(const char *code) {
    const error_entry *e = code ? error_find(code) : NULL;
    return e ? e->explanation : NULL;
}

void api_copy_out(void *to, const void *from, size_t own_size) {
    size_t size;
    memcpy(&size, to, sizeof size);
    size_t shared = size < own_size ? size : own_size;
    if (shared > sizeof size)
        memcpy((char *)to + sizeof size, (const char *)from + sizeof size, shared - sizeof size);
}

bool api_copy_in(api_entry *e, void *to, const void *from, size_t own_size, size_t least, const char *name) {
    size_t size = 0;
    if (from)
        memcpy(&size, from, sizeof size);
    memset(to, 0, own_size);
    if (size < least || size > 1 << 16) {
        diag *g =
            diag_error(&e->diags, "E0661", (source_span){0}, "%s.size is %zu, which no version of the structure has", name, size);
        diag_note(&e->diags, g, "set it to sizeof(%s)", name);
        return false;
    }
    memcpy(to, from, size < own_size ? size : own_size);
    return true;
}
