/* CUDA: the device side of a source text. Host functions are taken out, what they launch is instantiated, and clang's HIP mode reads the rest with headers
 * of our own (shim/cuda*.h), so that neither CUDA nor its headers are needed. */
#define _GNU_SOURCE
#include "lift/front.h"
#include "lift/shim.h"
#include <stdlib.h>
#include <string.h>

enum { HEADERS = 200 }; /* that are not there */
enum { ROUNDS = 12 };   /* of compiling again without a host declaration that needs headers which are not there */

typedef struct place {
    const char *file; /* as the line markers say; NULL before the first */
    int first, last;  /* lines */
} place;

typedef struct cuda {
    front *f;
    const tokens *t;
    declaration_list all;
    edits edits;
    VEC(int) kernels;       /* indices into `all`: __global__ definitions */
    VEC(bool) left_out;     /* of `all` */
    place *places;          /* of `all`; made when first asked for */
    const char **reasons;   /* of `all`: clang's words where it was left out for them */
    VEC(const char *) uses; /* lines of text that instantiate kernels; "" when it was taken back */
    VEC(int) use_from;      /* the declaration that each comes from */
    text_buffer forwards;   /* the templates among them, declared */
} cuda;

static const char *const device_marks[] = {"__global__", "__device__", "__constant__", "__shared__", "__managed__", NULL};
static const char *const global_mark[] = {"__global__", NULL};
static const char *const constants[] = {"const", "constexpr", NULL};
static const char *const constant_functions[] = {"constexpr", "consteval", NULL};
static const char *const scopes[] = {"typedef", "using", "static_assert", "namespace", NULL};

/* ---- headers --------------------------------------------------------------------------------------------------------------------- */

/* Stand-ins for headers lie so deep that "../../common/x.h" stays inside the private folder. */
#define DEEP "headers/1/2/3/4/5/6/7/8"
enum { UPWARDS = 8 };

/* An empty file for a header: folders of the user are searched before. False, without a diagnostic, for a name that cannot be stood in for. */
static bool stand_in(front *f, const char *name, size_t length) {
    int up = 0;
    while (length > 3 && !memcmp(name, "../", 3)) {
        name += 3;
        length -= 3;
        up++;
    }
    if (!length || length > 200 || up > UPWARDS || *name == '/' || memmem(name, length, "..", 2))
        return false;
    return clang_write(f->arena, f->folder,
                       arena_printf(f->arena, "%.*s/%.*s", (int)strlen(DEEP) - 2 * up, DEEP, (int)length, name), "", 0, f->diags);
}

static void stand_in_for_headers(front *f, const tokens *t) {
    for (int i = 0; i < t->count; i++) {
        const token *d = &t->at[i];
        const char *word = d->kind == TOKEN_DIRECTIVE ? memmem(d->at, (size_t)d->length, "include", 7) : NULL;
        const char *open = word ? memchr(word, '<', (size_t)(d->at + d->length - word)) : NULL;
        const char *close = open ? memchr(open, '>', (size_t)(d->at + d->length - open)) : NULL;
        if (close)
            stand_in(f, open + 1, (size_t)(close - open - 1));
    }
}

/* Preprocesses; a header that is not there is taken as empty, and said so when it is none of the language's own. */
static const char *preprocess(front *f, size_t *length) {
    front_words words = {0};
    const char *const fixed[] = {"-x",
                                 "c++",
                                 "-std=c++17",
                                 "-target",
                                 "x86_64-linux-gnu",
                                 "-nostdinc",
                                 "-nostdinc++",
                                 "-imacros",
                                 arena_printf(f->arena, "%s/cuda_macros.h", f->folder),
                                 "-idirafter",
                                 arena_printf(f->arena, "%s/" DEEP, f->folder)};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        VEC_PUSH(f->arena, words, fixed[i]);
    tokens raw;
    tokens_read(f->arena, f->text, strlen(f->text), &raw);
    if (!clang_write(f->arena, f->folder, DEEP "/none", "", 0, f->diags))
        return NULL;
    stand_in_for_headers(f, &raw);
    for (int round = 0;; round++) {
        clang_messages messages = {0};
        const char *text = front_preprocess(f, "source.cu", &words, length, &messages), *missing = NULL, *end = NULL;
        if (text)
            return text;
        const clang_message *m = NULL;
        for (int i = 0; i < messages.count && !missing; i++) {
            m = &messages.at[i];
            end = m->kind == CLANG_ERROR && *m->text == '\'' ? strstr(m->text, "' file not found") : NULL;
            missing = end ? m->text + 1 : NULL;
        }
        if (!missing || round == HEADERS || !stand_in(f, missing, (size_t)(end - missing))) {
            clang_report(f->arena, &messages, "E1102", true, FRONT_ERROR_LIMIT, f->diags);
            return NULL;
        }
        if (!clang_line_has(f->arena, m->span, '"', f->diags)) /* <...>: the language's own, or a library's of the host */
            continue;
        diag *g = diag_warning(f->diags, "E1107", m->span, "the header %.*s was not found, and is taken as empty",
                               (int)(end - missing), missing);
        diag_note(f->diags, g, "-I DIR names the folder where it is");
    }
}

/* ---- host code ------------------------------------------------------------------------------------------------------------------- */

static bool is_kernel(const cuda *c, const declaration *d) {
    return d->name >= 0 && declaration_has(c->t, d, global_mark);
}

/* texture<..> name; at namespace scope */
static bool is_texture(const cuda *c, const declaration *d) {
    int at = d->head;
    while (tokens_is(c->t, at, "static") || tokens_is(c->t, at, "extern") || tokens_is(c->t, at, "const"))
        at++;
    return tokens_is(c->t, at, "texture") && tokens_is(c->t, at + 1, "<") && d->body < 0;
}

/* Whether a declaration stays. */
static bool stays(const cuda *c, const declaration *d) {
    const tokens *t = c->t;
    if (is_texture(c, d))
        return true;
    if (d->is_class && tokens_is(t, d->head, "template")) /* an explicit instantiation of a host's class */
        return false;
    if (declaration_has(t, d, device_marks) || tokens_named(t, d->head, scopes) || d->is_class)
        return !(d->is_class && d->body >= 0) ||
               declaration_has(t, d, device_marks); /* a host function that returns a struct goes */
    if (d->name >= 0 && d->value < 0)
        return declaration_has(t, d, constant_functions);
    for (int i = d->head; i < (d->value >= 0 ? d->value : d->to); i++)
        if (tokens_named(t, i, constants))
            return true;
    return false;
}

static int declaration_of_name(const cuda *c, int i, bool kernels) {
    for (int k = 0; k < c->all.count; k++) {
        const declaration *d = &c->all.at[k];
        if (d->name < 0 || is_kernel(c, d) != kernels || (kernels && c->left_out.at[k]) ||
            (!kernels && (d->body < 0 || d->head == d->from)))
            continue;
        if (c->t->at[d->name].length == c->t->at[i].length &&
            !memcmp(c->t->at[d->name].at, c->t->at[i].at, (size_t)c->t->at[i].length) && (d->head > d->from || !kernels))
            return k;
    }
    return -1;
}

typedef VEC(int) int_list;

static void names_of(const cuda *c, int from, int to, int_list *out) {
    for (int i = from; i < to; i++)
        if (tokens_kind(c->t, i) == TOKEN_NAME)
            VEC_PUSH(c->f->arena, *out, i);
}

/* Constants and types of the function's own that the arguments at from..to mention, innermost last: "const int B = 256; " */
static const char *locals_for(const cuda *c, const declaration *d, int from, int to) {
    const tokens *t = c->t;
    int_list wanted = {0};
    names_of(c, from, to, &wanted);
    const char *text = "";
    for (int i = from; i > d->body; i--) {
        if (!tokens_is(t, i - 1, ";") && !tokens_is(t, i - 1, "{") && !tokens_is(t, i - 1, "}"))
            continue;
        bool alias = tokens_is(t, i, "using") || tokens_is(t, i, "typedef");
        if (!alias && !tokens_named(t, i, constants) && !(tokens_is(t, i, "static") && tokens_named(t, i + 1, constants)) &&
            !tokens_is(t, i, "enum"))
            continue;
        int end = i, name = -1;
        while (end < from && !tokens_is(t, end, ";"))
            end++;
        if (end >= from)
            continue;
        for (int k = i + 1; k < end && name < 0; k++)
            if (tokens_is(t, k + 1, "=") || (tokens_is(t, i, "typedef") && k + 1 == end))
                name = k;
        bool used = false;
        for (int k = 0; k < wanted.count && !used; k++)
            used = name >= 0 ? tokens_same(t, wanted.at[k], name)
                             : tokens_is(t, i, "enum") && tokens_have(t, i, end, tokens_word(c->f->arena, t, wanted.at[k]));
        if (!used)
            continue;
        names_of(c, i, end, &wanted);
        text = arena_printf(c->f->arena, "%s; %s", tokens_text(c->f->arena, t, i, end), text);
    }
    return text;
}

static void add_use(cuda *c, int from, const char *text) {
    for (int i = 0; i < c->uses.count; i++)
        if (!strcmp(c->uses.at[i], text))
            return;
    VEC_PUSH(c->f->arena, c->uses, text);
    VEC_PUSH(c->f->arena, c->use_from, from);
}

/* template <class T, int N = 4> without the defaults, which a second declaration may not repeat. */
static const char *head_again(const cuda *c, const declaration *d) {
    const tokens *t = c->t;
    text_buffer b = {0};
    for (int i = d->from; i < d->head; i++) {
        if (tokens_is(t, i, "=")) {
            while (i < d->head && !tokens_is(t, i, ",") &&
                   !(tokens_is(t, i, ">") && (i + 1 == d->head || tokens_is(t, i + 1, "template")))) {
                int end = tokens_is(t, i, "<") ? tokens_angle(t, i) : tokens_match(t, i) > i ? tokens_match(t, i) + 1 : i + 1;
                i = end > i ? end : i + 1;
            }
            if (i >= d->head)
                break;
        }
        text_add(&b, "%s ", tokens_word(c->f->arena, t, i));
    }
    const char *text = arena_strdup(c->f->arena, text_get(&b));
    text_free(&b);
    return text;
}

/* `name<...>` of a kernel template or of a host function template, anywhere in host code: what it instantiates. Host templates become templates that
 * instantiate in turn: template <class T> void use_7() { &sum<T>; use_9<T>(); } */
static void read_uses(cuda *c, int number) {
    const tokens *t = c->t;
    arena *a = c->f->arena;
    const declaration *d = &c->all.at[number];
    bool is_template = d->head > d->from, explicit_one = tokens_is(t, d->head, "template");
    text_buffer body = {0};
    if (explicit_one && d->is_class) { /* template class solver<float>; instantiates the methods that are defined outside of it */
        int name = d->head + 2, end = tokens_is(t, name + 1, "<") ? tokens_angle(t, name + 1) : -1;
        for (int k = 0; end > 0 && k < c->all.count; k++) {
            const declaration *y = &c->all.at[k];
            for (int i = y->head; y->body >= 0 && y->head > y->from && i < y->body; i++)
                if (tokens_same(t, i, name) && tokens_is(t, i + 1, "<") && tokens_is(t, tokens_angle(t, i + 1), "::")) {
                    text_add(&body, "template void tilec_host_%d%s(); ", k, tokens_text(a, t, name + 1, end));
                    break;
                }
        }
    }
    for (int i = d->body >= 0 ? d->body : d->head; i + 1 < d->to && !d->is_class; i++) {
        if (tokens_kind(t, i) != TOKEN_NAME || !tokens_is(t, i + 1, "<"))
            continue;
        int kernel = declaration_of_name(c, i, true), host = kernel < 0 ? declaration_of_name(c, i, false) : -1;
        int end = kernel >= 0 || host >= 0 ? tokens_angle(t, i + 1) : -1;
        if (end < 0 || host == number || (d->body < 0 && !explicit_one))
            continue;
        const char *arguments = tokens_text(a, t, i + 1, end), *locals = d->body >= 0 ? locals_for(c, d, i, end) : "";
        int start = i;
        while (tokens_is(t, start - 1, "::"))
            start -= start > 1 && tokens_kind(t, start - 2) == TOKEN_NAME ? 2 : 1;
        const char *name = tokens_text(a, t, start, i + 1);
        if (kernel >= 0 && d->body >= 0)
            text_add(&body, "{ %s(void)&%s%s; } ", locals, name, arguments);
        else if (host >= 0)
            text_add(&body, explicit_one ? "%stemplate void tilec_host_%d%s();" : "{ %stilec_host_%d%s(); } ", locals, host,
                     arguments);
    }
    /* One line each, so that an error tells which; where the function stands, so that names mean the same. */
    const char *use = NULL;
    if (explicit_one && body.length)
        use = text_get(&body);
    else if (is_template)
        use = arena_printf(a, "%s void tilec_host_%d() { %s}", head_again(c, d), number, text_get(&body));
    else if (body.length)
        use = arena_printf(a, "inline void tilec_host_%d() { %s}", number, body.text);
    if (is_template)
        text_add(&c->forwards, "%s%s void tilec_host_%d();%s ", d->opens, tokens_text(a, t, d->from, d->head), number, d->closes);
    if (use)
        add_use(c, number, arena_printf(a, "%s%s%s", d->opens, use, d->closes));
    text_free(&body);
}

/* ---- rewriting ------------------------------------------------------------------------------------------------------------------- */

/* asm("..." : "=r"(x) : "l"(p)): NVIDIA's register classes become the one that clang's target has. The text itself stays. */
static void rewrite_assembly(cuda *c, int from) {
    const tokens *t = c->t;
    int open = from + 1;
    while (tokens_is(t, open, "volatile") || tokens_is(t, open, "__volatile__"))
        open++;
    if (!tokens_is(t, open, "(") || tokens_match(t, open) < open)
        return;
    int part = 0;
    for (int i = open + 1; i < tokens_match(t, open); i++) {
        if (tokens_is(t, i, "(") && tokens_match(t, i) > i) {
            i = tokens_match(t, i);
            continue;
        }
        part += tokens_is(t, i, ":") ? 1 : tokens_is(t, i, "::") ? 2 : 0;
        if (tokens_kind(t, i) != TOKEN_STRING || part < 1 || part > 2)
            continue;
        char *text = tokens_word(c->f->arena, t, i);
        for (char *at = text; *at; at++)
            if (strchr("rlfhdqc", *at))
                *at = 'v';
        edits_replace(&c->edits, i, i + 1, "%s", text);
    }
}

static void rewrite(cuda *c) {
    const tokens *t = c->t;
    c->edits = (edits){.arena = c->f->arena, .tokens = t};
    for (int k = 0; k < c->all.count; k++)
        if (c->left_out.at[k])
            edits_replace(&c->edits, c->all.at[k].from, c->all.at[k].to, "%s", "");
        else if (is_texture(c, &c->all.at[k]) && !declaration_has(t, &c->all.at[k], device_marks)) /* it has none of its own */
            edits_replace(&c->edits, c->all.at[k].from, c->all.at[k].from, "__device__ ");
    for (int i = 0; i < t->count; i++) {
        const token *d = &t->at[i];
        if (d->kind == TOKEN_DIRECTIVE && memmem(d->at, (size_t)d->length, "pragma", 6) &&
            memmem(d->at, (size_t)d->length, "unroll", 6))
            edits_replace(&c->edits, i, i + 1, "%s", "");
        else if (tokens_is(t, i, "asm") || tokens_is(t, i, "__asm__") || tokens_is(t, i, "__asm"))
            rewrite_assembly(c, i);
    }
}

/* sum in math::sum<float, 4> */
static const char *base_of(arena *a, const char *name) {
    size_t end = strcspn(name, "< "), from = end;
    while (from && name[from - 1] != ':')
        from--;
    return arena_strndup(a, name + from, end - from);
}

/* Which kernels are read, and instantiations that the options ask for by their arguments. */
static bool choose(cuda *c) {
    arena *a = c->f->arena;
    const source_options *o = c->f->options;
    VEC(const char *) names = {0};
    for (int i = 0; i < c->kernels.count; i++)
        VEC_PUSH(a, names, tokens_word(a, c->t, c->all.at[c->kernels.at[i]].name));
    for (int i = 0; i < o->kernel_count; i++) {
        const char *base = base_of(a, o->kernels[i]);
        bool found = false;
        for (int k = 0; k < names.count; k++)
            found |= !strcmp(base, names.at[k]);
        if (!found) {
            front_no_kernel(c->f, o->kernels[i], names.at, names.count);
            return false;
        }
        if (strchr(o->kernels[i], '<'))
            add_use(c, -1, arena_printf(a, "inline void tilec_asked_%d() { (void)&%s; }", i, o->kernels[i]));
    }
    for (int i = 0; o->kernel_count && i < c->kernels.count; i++) {
        bool wanted = false;
        for (int k = 0; k < o->kernel_count; k++)
            wanted |= !strcmp(base_of(a, o->kernels[k]), names.at[i]);
        if (!wanted)
            c->left_out.at[c->kernels.at[i]] = true;
    }
    for (int k = 0; k < c->all.count; k++)
        if (c->left_out.at[k] && !declaration_has(c->t, &c->all.at[k], device_marks))
            read_uses(c, k);
    return true;
}

static void read_declarations(cuda *c) {
    declarations_read(c->f->arena, c->t, &c->all);
    for (int k = 0; k < c->all.count; k++) {
        bool out = !stays(c, &c->all.at[k]);
        VEC_PUSH(c->f->arena, c->left_out, out);
        if (is_kernel(c, &c->all.at[k]) && c->all.at[k].body >= 0) {
            VEC_PUSH(c->f->arena, c->kernels, k);
            front_keep_signature(c->f, c->t, &c->all.at[k], tokens_word(c->f->arena, c->t, c->all.at[k].name));
        }
    }
}

/* Where each declaration stands in the source, in one walk through the line markers. */
static void find_places(cuda *c) {
    const tokens *t = c->t;
    const char *file = NULL, *at = t->text;
    int line = 1, k = 0;
    c->places = NEW_ARRAY(c->f->arena, place, c->all.count + 1);
    c->reasons = NEW_ARRAY(c->f->arena, const char *, c->all.count + 1);
    for (int i = 0; i < t->count && k < c->all.count; i++) {
        for (; at < t->at[i].at; at++)
            line += *at == '\n';
        const char *digits = t->at[i].at + 1;
        while (*digits == ' ')
            digits++;
        if (tokens_kind(t, i) == TOKEN_DIRECTIVE && *digits >= '0' && *digits <= '9') {
            const char *quote = memchr(digits, '"', (size_t)(t->at[i].at + t->at[i].length - digits));
            file = quote ? arena_strndup(c->f->arena, quote + 1, strcspn(quote + 1, "\"")) : file;
            line = atoi(digits) - 1; /* its own line's end counts */
        }
        if (i == c->all.at[k].from)
            c->places[k] = (place){file, line, line};
        if (i == c->all.at[k].to - 1)
            c->places[k++].last = line;
    }
}

/* A declaration without a device's mark, or a use, that the error lies in is left out. False when it lies elsewhere. */
static bool leave_out(cuda *c, const clang_message *m) {
    if (!m->span.file)
        return false;
    int line = m->span.line;
    if (!c->places)
        find_places(c);
    if (!strcmp(m->span.file, "<launches>")) {
        int from = line >= 1 && line <= c->uses.count && *c->uses.at[line - 1] ? c->use_from.at[line - 1] : -1;
        if (from < 0)
            return false;
        diag *g = diag_warning(c->f->diags, "E1108", (source_span){c->places[from].file, c->places[from].first, 1, 1},
                               "what this host code launches could not be made out: %s", m->text);
        diag_note(c->f->diags, g, "name the instantiation: --kernel 'NAME<ARGUMENTS>'");
        c->uses.at[line - 1] = "";
        return true;
    }
    for (int k = 0; k < c->all.count; k++) {
        const place *p = &c->places[k];
        if (c->left_out.at[k] || !p->file || line < p->first || line > p->last || strcmp(p->file, m->span.file) ||
            declaration_has(c->t, &c->all.at[k], device_marks))
            continue;
        c->reasons[k] = m->text;
        return c->left_out.at[k] = true;
    }
    return false;
}

/* Behind an error about a name that is not known: the declaration of it that was left out, and why. */
static clang_messages explained(cuda *c, const clang_messages *messages) {
    clang_messages out = {0};
    for (int i = 0; i < messages->count; i++) {
        const clang_message *m = &messages->at[i];
        VEC_PUSH(c->f->arena, out, *m);
        const char *quote = strchr(m->text, '\''), *end = quote ? strchr(quote + 1, '\'') : NULL;
        if (m->kind != CLANG_ERROR || !end || (!strstr(m->text, "undeclared") && !strstr(m->text, "unknown type")))
            continue;
        const char *name = arena_strndup(c->f->arena, quote + 1, (size_t)(end - quote - 1));
        for (int k = 0; k < c->all.count; k++) {
            const declaration *d = &c->all.at[k];
            if (!c->left_out.at[k] || is_kernel(c, d) || !tokens_have(c->t, d->from, d->body >= 0 ? d->body : d->to, name))
                continue;
            clang_message note = {.span = {c->places[k].file, c->places[k].first, 1, 1}, .kind = CLANG_NOTE};
            if (tokens_is(c->t, d->head, "surface"))
                note.text = "this is a surface: they are not read";
            else
                note.text =
                    arena_printf(c->f->arena, "this was left out, %s%s",
                                 c->reasons[k] ? "as it does not compile here: " : "as the host's: it has no mark of the device",
                                 c->reasons[k] ? c->reasons[k] : "");
            VEC_PUSH(c->f->arena, out, note);
            break;
        }
    }
    return out;
}

/* What clang is given. */
static void device_text(cuda *c, text_buffer *b) {
    size_t length;
    rewrite(c);
    const char *body = edits_apply(&c->edits, &length);
    text_add(b, "#include \"cuda_device.h\"\n#include \"cuda_half.h\"\n#include \"cuda_groups.h\"\n");
    text_add_bytes(b, body, length);
    text_add(b, "\n# 1 \"<launches>\"\n%s\n", text_get(&c->forwards));
    for (int last = 0; last < 2; last++) /* explicit instantiations behind what they instantiate */
        for (int i = 0; i < c->uses.count; i++)
            if ((strncmp(c->uses.at[i], "template void", 13) == 0) == last)
                text_add(b, "# %d \"<launches>\"\n%s\n", i + 1, c->uses.at[i]);
    text_add(b, "#pragma clang attribute pop\n");
}

static bool compile(cuda *c, source_module *m) {
    front *f = c->f;
    front_words words = {0};
    const char *const fixed[] = {"-x",
                                 "hip",
                                 "--cuda-device-only",
                                 "-nogpuinc",
                                 "-nogpulib",
                                 "-nostdinc",
                                 "-nostdinc++",
                                 "--offload-arch=gfx900",
                                 "-std=c++17",
                                 "-fdeclspec",
                                 "-fno-builtin",
                                 "-fno-exceptions",
                                 "-ftemplate-depth=2048"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        VEC_PUSH(f->arena, words, fixed[i]);
    clang_messages messages = {0};
    for (int round = 0; round < ROUNDS; round++) {
        text_buffer b = {0};
        device_text(c, &b);
        bool ok = clang_write(f->arena, f->folder, "device.cu", b.text, b.length, f->diags);
        text_free(&b);
        messages = (clang_messages){0};
        if (!ok || (m->text = front_compile(f, "device.cu", &words, &m->length, &messages)))
            return ok;
        bool again = false;
        for (int i = 0; i < messages.count; i++)
            if (messages.at[i].kind == CLANG_ERROR)
                again |= leave_out(c, &messages.at[i]);
        if (!again)
            break;
    }
    messages = explained(c, &messages);
    clang_report(f->arena, &messages, "E1102", false, FRONT_ERROR_LIMIT, f->diags);
    return false;
}

static bool begin(cuda *c, front *f, const char *text, size_t length, tokens *t) {
    tokens_read(f->arena, text, length, t);
    *c = (cuda){.f = f, .t = t};
    read_declarations(c);
    return choose(c);
}

bool front_cuda(front *f, source_module *m) {
    if (!front_write_source(f, "source.cu", "", f->text, "") || !shim_write(f, "cuda"))
        return false;
    size_t length = 0;
    const char *text = preprocess(f, &length);
    if (!text)
        return false;
    tokens t;
    cuda c;
    bool ok = begin(&c, f, text, length, &t) && compile(&c, m);
    text_free(&c.forwards);
    return ok;
}

const char *front_cuda_text(front *f, const char *text, size_t length) {
    tokens t;
    cuda c;
    text_buffer b = {0};
    if (begin(&c, f, text, length, &t))
        device_text(&c, &b);
    const char *result = arena_strdup(f->arena, text_get(&b));
    text_free(&b);
    text_free(&c.forwards);
    return result;
}
