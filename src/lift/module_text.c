/* The kernels of an LLVM IR text: definitions, their arguments, and the metadata that says what each is. */
#define _GNU_SOURCE
#include "lift/module_text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text ------------------------------------------------------------------------------------------------------------ */

typedef struct piece { /* a part of the text */
    const char *at;
    size_t length;
} piece;
typedef VEC(piece) pieces;

typedef struct definition {
    piece name;      /* without @ and quotes */
    piece before;    /* between `define` and the name: linkage, calling convention, type */
    piece arguments; /* between the parentheses */
    piece after;     /* from there to the brace: attributes, metadata */
    const char *host_name, *parameters, *threads;
    bool kernel;
} definition;

typedef struct reading {
    arena *arena;
    source_module *m;
    diag_list *diags;
    VEC(definition) definitions;
    pieces nodes;   /* !N = what follows it */
    pieces groups;  /* attributes #N = */
    pieces strings; /* @.str... = private constants: the line */
} reading;

static piece line_at(const char *at) {
    return (piece){at, strcspn(at, "\n")};
}

/* Behind the bracket that closes the one at `at`; strings are skipped. NULL when there is none before `end`. */
static const char *closing(const char *at, const char *end) {
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '"') {
            while (++at < end && *at != '"')
                ;
            if (at >= end)
                return NULL;
        } else if (strchr("([{<", *at))
            depth++;
        else if (strchr(")]}>", *at) && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* The next part up to a comma outside brackets; advances. False at the end. */
static bool next_part(piece *rest, piece *part) {
    const char *at = rest->at, *end = rest->at + rest->length;
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (at >= end)
        return false;
    part->at = at;
    int depth = 0;
    for (; at < end && (depth || *at != ','); at++) {
        if (*at == '"') {
            const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
            at = quote ? quote : end - 1;
        } else if (strchr("([{<", *at))
            depth++;
        else if (strchr(")]}>", *at))
            depth--;
    }
    part->length = (size_t)(at - part->at);
    while (part->length && isspace((unsigned char)part->at[part->length - 1]))
        part->length--;
    rest->length = at < end ? (size_t)(end - at - 1) : 0;
    rest->at = at < end ? at + 1 : end;
    return true;
}

static const char *find(piece p, const char *word) {
    return p.length ? memmem(p.at, p.length, word, strlen(word)) : NULL;
}

static bool starts(piece p, const char *word) {
    return p.length >= strlen(word) && !memcmp(p.at, word, strlen(word));
}

/* A name behind @ or %, quoted or not. */
static piece read_name(const char *at, const char *end) {
    if (at < end && *at == '"') {
        const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
        return (piece){at + 1, (size_t)((quote ? quote : end) - at - 1)};
    }
    const char *start = at;
    while (at < end && (isalnum((unsigned char)*at) || strchr("$._-", *at)))
        at++;
    return (piece){start, (size_t)(at - start)};
}

static void keep_numbered(reading *r, pieces *l, const char *digits, const char *at) {
    int n = atoi(digits);
    if (n < 0 || n > (1 << 26))
        return;
    while (l->count <= n)
        VEC_PUSH(r->arena, *l, ((piece){"", 0}));
    l->at[n] = line_at(at);
}

static void read_lines(reading *r) {
    for (const char *at = r->m->text; *at;) {
        piece line = line_at(at);
        if (starts(line, "define ")) {
            const char *end = line.at + line.length, *name = memchr(line.at, '@', line.length);
            definition d = {0};
            if (name) {
                d.before = (piece){line.at, (size_t)(name - line.at)};
                d.name = read_name(name + 1, end);
                const char *open = memchr(d.name.at + d.name.length, '(', (size_t)(end - d.name.at - d.name.length));
                const char *close = open ? closing(open, end) : NULL;
                if (close) {
                    d.arguments = (piece){open + 1, (size_t)(close - open - 2)};
                    d.after = (piece){close, (size_t)(end - close)};
                    VEC_PUSH(r->arena, r->definitions, d);
                }
            }
        } else if (line.length > 5 && line.at[0] == '!' && isdigit((unsigned char)line.at[1])) {
            const char *equals = find(line, " = ");
            if (equals)
                keep_numbered(r, &r->nodes, line.at + 1, equals + 3);
        } else if (starts(line, "attributes #")) {
            const char *equals = find(line, " = ");
            if (equals)
                keep_numbered(r, &r->groups, line.at + 12, equals + 3);
        } else if (starts(line, "@.str") && find(line, " c\""))
            VEC_PUSH(r->arena, r->strings, line);
        at += line.length + (at[line.length] == '\n');
    }
}

/* ---- metadata -------------------------------------------------------------------------------------------------------------- */

/* The node that "!12" names; an empty piece when there is none. */
static piece node(const reading *r, const char *reference) {
    int n = reference && *reference == '!' && isdigit((unsigned char)reference[1]) ? atoi(reference + 1) : -1;
    return n >= 0 && n < r->nodes.count ? r->nodes.at[n] : (piece){"", 0};
}

/* What stands between the braces of !{...}. */
static piece inside(piece n) {
    const char *open = n.length ? memchr(n.at, '{', n.length) : NULL, *close = open ? closing(open, n.at + n.length) : NULL;
    return close ? (piece){open + 1, (size_t)(close - open - 2)} : (piece){"", 0};
}

/* Metadata attached to a definition: " !dbg !9" gives node 9. */
static piece attached(const reading *r, const definition *d, const char *kind) {
    char *word = arena_printf(r->arena, "!%s !", kind);
    const char *at = find(d->after, word);
    return at ? node(r, at + strlen(word) - 1) : (piece){"", 0};
}

/* A field of a DI node: `name: "..."` or `line: 12`. */
static const char *field(const reading *r, piece n, const char *name) {
    char *word = arena_printf(r->arena, "%s: ", name);
    for (const char *at = n.at; n.length && (at = memmem(at, (size_t)(n.at + n.length - at), word, strlen(word))); at++)
        if (at == n.at || at[-1] == ' ' || at[-1] == '(') {
            at += strlen(word);
            if (*at == '"')
                return arena_strndup(r->arena, at + 1, strcspn(at + 1, "\""));
            return arena_strndup(r->arena, at, strcspn(at, ",)"));
        }
    return NULL;
}

/* The text of !"..." or c"...", its \XX undone. */
static const char *unquoted(const reading *r, const char *quote, const char *end) {
    char *out = arena_alloc(r->arena, (size_t)(end - quote) + 1);
    size_t n = 0;
    for (const char *at = quote + 1; at < end && *at != '"'; at++) {
        unsigned value;
        char digits[3] = {0};
        if (*at == '\\' && end - at > 2) {
            memcpy(digits, at + 1, 2);
            if (sscanf(digits, "%2x", &value) == 1) {
                if (value)
                    out[n++] = (char)value;
                at += 2;
                continue;
            }
        }
        out[n++] = *at;
    }
    return out;
}

/* Part number `index` of a node's list, as text (quoted or not); NULL. */
static const char *item(const reading *r, piece n, int index) {
    piece rest = inside(n), part;
    while (next_part(&rest, &part))
        if (index-- == 0)
            return starts(part, "!\"") ? unquoted(r, part.at + 1, part.at + part.length)
                                       : arena_strndup(r->arena, part.at, part.length);
    return NULL;
}

static definition *definition_named(const reading *r, piece name) {
    for (int i = 0; i < r->definitions.count; i++) {
        definition *d = &r->definitions.at[i];
        if (d->name.length == name.length && !memcmp(d->name.at, name.at, name.length))
            return d;
    }
    return NULL;
}

/* The line of the text that begins with these words; an empty piece. */
static piece line_named(const reading *r, const char *start) {
    char *word = arena_printf(r->arena, "\n%s", start);
    const char *at = strstr(r->m->text, word);
    return at ? line_at(at + 1) : (piece){"", 0};
}

/* @llvm.global.annotations: { ptr @function, ptr @.str, ... } each. */
static void read_annotations(reading *r) {
    piece line = line_named(r, "@llvm.global.annotations = ");
    for (const char *at = line.at; line.length && (at = memmem(at, (size_t)(line.at + line.length - at), "{ ptr", 5)); at++) {
        const char *end = closing(at, line.at + line.length);
        if (!end)
            return;
        const char *function = memchr(at, '@', (size_t)(end - at));
        const char *string = function ? memchr(function + 1, '@', (size_t)(end - function - 1)) : NULL;
        if (!string)
            continue;
        definition *d = definition_named(r, read_name(function + 1, end));
        piece name = read_name(string + 1, end);
        const char *text = NULL;
        for (int i = 0; i < r->strings.count && !text; i++) {
            piece s = r->strings.at[i];
            if (s.length > name.length + 2 && !memcmp(s.at + 1, name.at, name.length) && s.at[name.length + 1] == ' ')
                text = unquoted(r, find(s, " c\"") + 2, s.at + s.length);
        }
        if (!d || !text)
            continue;
        if (!strncmp(text, METAL_THREADS_MARK, strlen(METAL_THREADS_MARK)))
            d->threads = text + strlen(METAL_THREADS_MARK);
        else if (!strncmp(text, METAL_HOST_NAME_MARK, strlen(METAL_HOST_NAME_MARK))) {
            d->kernel = true;
            d->host_name = text + strlen(METAL_HOST_NAME_MARK);
        } else if (!strncmp(text, METAL_PARAMETERS_MARK, strlen(METAL_PARAMETERS_MARK)))
            d->parameters = text + strlen(METAL_PARAMETERS_MARK);
    }
}

/* ---- arguments and kernels ------------------------------------------------------------------------------------------------- */

typedef struct argument {
    piece type, name; /* name: without %, empty when it has none */
    int space;        /* of a pointer; -1: no pointer */
    bool by_value;    /* a pointer to a copy: byref or byval */
    bool restricted, read_only;
} argument;

typedef VEC(argument) argument_list;

static void read_arguments(const reading *r, const definition *d, argument_list *out) {
    piece rest = d->arguments, part;
    while (next_part(&rest, &part)) {
        argument x = {.space = -1};
        const char *end = part.at + part.length, *percent = memrchr(part.at, '%', part.length);
        /* %struct types have a % too: a name is what stands last. */
        if (percent) {
            x.name = read_name(percent + 1, end);
            if (x.name.at + x.name.length + (percent[1] == '"') != end || percent == part.at)
                x.name = (piece){"", 0};
        }
        const char *type_end = strchr("<[{", *part.at) ? closing(part.at, end) : NULL;
        if (!type_end)
            for (type_end = part.at; type_end < end && !isspace((unsigned char)*type_end); type_end++)
                ;
        x.type = (piece){part.at, (size_t)(type_end - part.at)};
        if (starts(x.type, "ptr")) {
            x.space = 0;
            if (end - type_end > 11 && !memcmp(type_end, " addrspace(", 11)) {
                x.space = atoi(type_end + 11);
                x.type.length = (size_t)(closing(type_end + 10, end) - part.at);
            }
        }
        x.by_value = find(part, " byref(") || find(part, " byval(");
        x.restricted = find(part, " noalias") != NULL;
        x.read_only = find(part, " readonly") || find(part, " readnone");
        VEC_PUSH(r->arena, *out, x);
    }
}

static parameter_kind kind_of(const reading *r, const argument *x) {
    if (x->space < 0 || x->by_value)
        return PARAMETER_VALUE;
    return x->space == r->m->spaces.threadgroup ? PARAMETER_THREADGROUP : PARAMETER_BUFFER;
}

/* Does argument `name` carry parameter `want`: the name itself, or NAME.coerce, NAME.coerce1, ...? */
static bool carries(piece name, const char *want, size_t length) {
    if (!length || name.length < length || memcmp(name.at, want, length))
        return false;
    if (name.length == length)
        return true;
    piece rest = {name.at + length, name.length - length};
    if (rest.length == strlen(METAL_NATIVE_ENDING) && starts(rest, METAL_NATIVE_ENDING))
        return true;
    if (!starts(rest, ".coerce"))
        return false;
    for (size_t i = 7; i < rest.length; i++)
        if (!isdigit((unsigned char)rest.at[i]))
            return false;
    return true;
}

/* A parameter for each argument, with OpenCL's metadata where there is some; pieces of one value are joined. */
static void plain_parameters(const reading *r, const definition *d, source_kernel *k) {
    argument_list arguments = {0};
    read_arguments(r, d, &arguments);
    piece types = attached(r, d, "kernel_arg_type"), qualifiers = attached(r, d, "kernel_arg_type_qual"),
          names = attached(r, d, "kernel_arg_name");
    for (int i = 0, position = 0; i < arguments.count; position++) {
        const argument *x = &arguments.at[i];
        source_parameter p = {.kind = kind_of(r, x), .index = position, .first = i, .count = 1, .name = ""};
        size_t stem = x->name.length;
        const char *coerce = stem ? memmem(x->name.at, stem, ".coerce", 7) : NULL;
        if (coerce)
            stem = (size_t)(coerce - x->name.at);
        if (stem && !isdigit((unsigned char)*x->name.at))
            p.name = arena_strndup(r->arena, x->name.at, stem);
        const char *named = item(r, names, position), *typed = item(r, types, position), *quality = item(r, qualifiers, position);
        if (named)
            p.name = named;
        p.type = typed ? typed : arena_strndup(r->arena, x->type.at, x->type.length);
        p.restricted = x->restricted;
        p.constant = p.kind == PARAMETER_BUFFER &&
                     (x->space == r->m->spaces.constant || x->read_only || (quality && strstr(quality, "const")));
        if (typed && (!strncmp(typed, "image", 5) || !strncmp(typed, "sampler", 7) || !strncmp(typed, "pipe", 4) ||
                      !strncmp(typed, "queue", 5) || !strncmp(typed, "event", 5)))
            p.kind = PARAMETER_OTHER;
        for (i++; coerce && i < arguments.count && carries(arguments.at[i].name, x->name.at, stem); i++)
            p.count++;
        VEC_PUSH(r->arena, k->parameters, p);
    }
}

/* "a=buffer(0);i=thread_position_in_grid;b=" in order; the function's arguments by their names. */
static void metal_parameters(const reading *r, const definition *d, source_kernel *k) {
    argument_list arguments = {0};
    read_arguments(r, d, &arguments);
    int at_argument = 0, next_buffer = 0, next_threadgroup = 0;
    for (const char *at = d->parameters; *at;) {
        size_t length = strcspn(at, ";"), name = strcspn(at, "=");
        if (name > length)
            name = length;
        piece attribute = {at + name + (name < length), length - name - (name < length)};
        source_parameter p = {.name = arena_strndup(r->arena, at, name), .index = -1, .first = at_argument};
        /* An argument without use may be gone; one without a name cannot be told from it, and stays. */
        for (int i = at_argument; i < arguments.count && name; i++)
            if (carries(arguments.at[i].name, at, name)) {
                p.first = at_argument = i;
                break;
            }
        while (at_argument + p.count < arguments.count && carries(arguments.at[at_argument + p.count].name, at, name))
            p.count++;
        if (!name && at_argument < arguments.count) /* without a name, its argument has none either */
            p.count = 1;
        const argument *x = p.count ? &arguments.at[at_argument] : NULL;
        p.type = x ? arena_strndup(r->arena, x->type.at, x->type.length) : "";
        p.restricted = x && x->restricted;
        if (starts(attribute, "buffer(") || starts(attribute, "threadgroup(") || (x && x->space >= 0 && !attribute.length)) {
            p.kind = x ? kind_of(r, x) : PARAMETER_BUFFER;
            const char *open = memchr(attribute.at, '(', attribute.length);
            int *next = p.kind == PARAMETER_THREADGROUP ? &next_threadgroup : &next_buffer;
            p.index = open ? atoi(open + 1) : *next;
            *next = p.index + 1;
            p.constant = p.kind == PARAMETER_BUFFER && x && x->space == r->m->spaces.constant;
        } else if (starts(attribute, "texture") || starts(attribute, "sampler"))
            p.kind = PARAMETER_OTHER;
        else if (attribute.length) {
            p.kind = PARAMETER_BUILTIN;
            p.builtin = arena_strndup(r->arena, attribute.at, attribute.length);
        } else
            p.kind = PARAMETER_VALUE;
        VEC_PUSH(r->arena, k->parameters, p);
        at_argument += p.count;
        at += length + (at[length] == ';');
    }
}

/* AIR's own description: !{ptr @f, !results, !{!{i32 0, !"air.buffer", !"air.location_index", i32 0, ...}, ...}} */
static void air_parameters(const reading *r, piece list, const definition *d, source_kernel *k) {
    argument_list arguments = {0};
    read_arguments(r, d, &arguments);
    piece rest = inside(list), part;
    while (next_part(&rest, &part)) {
        piece n = node(r, part.at), fields = inside(n), f;
        source_parameter p = {.name = "", .type = "", .index = -1, .count = 1, .kind = PARAMETER_BUILTIN};
        const char *word = NULL;
        for (int i = 0; next_part(&fields, &f); i++) {
            const char *text = starts(f, "!\"") ? unquoted(r, f.at + 1, f.at + f.length) : NULL;
            if (i == 0 && starts(f, "i32 "))
                p.first = atoi(f.at + 4);
            else if (i == 1 && text)
                p.builtin = !strncmp(text, "air.", 4) ? text + 4 : text;
            if (word && !strcmp(word, "air.location_index") && starts(f, "i32 "))
                p.index = atoi(f.at + 4);
            if (word && text && !strcmp(word, "air.arg_name"))
                p.name = text;
            if (word && text && !strcmp(word, "air.arg_type_name"))
                p.type = text;
            if (text && !strcmp(text, "air.read"))
                p.constant = true;
            word = text;
        }
        if (p.first < 0 || p.first >= arguments.count) {
            p.first = 0;
            p.count = 0;
        }
        if (p.builtin && (!strcmp(p.builtin, "buffer") || !strcmp(p.builtin, "indirect_buffer"))) {
            p.kind = p.count ? kind_of(r, &arguments.at[p.first]) : PARAMETER_BUFFER;
            p.restricted = p.count && arguments.at[p.first].restricted;
            p.builtin = NULL;
        } else if (p.builtin && (strstr(p.builtin, "texture") || strstr(p.builtin, "sampler")))
            p.kind = PARAMETER_OTHER;
        VEC_PUSH(r->arena, k->parameters, p);
    }
}

/* The source's line; of an IR text, the definition's own. */
static source_span span_of(const reading *r, const definition *d, piece program) {
    if (r->m->language == SOURCE_LLVM) {
        int line = 1;
        for (const char *at = r->m->text; at < d->name.at; at++)
            line += *at == '\n';
        return (source_span){r->m->path, line, 1, 1};
    }
    const char *line = field(r, program, "line"), *file = field(r, program, "file");
    const char *name = file ? field(r, node(r, file), "filename") : NULL;
    return (source_span){name ? name : r->m->path, line ? atoi(line) : 0, 1, 1};
}

static void block_of(const reading *r, const definition *d, source_kernel *k) {
    piece size = attached(r, d, "reqd_work_group_size");
    for (int i = 0; size.length && i < 3; i++) {
        const char *text = item(r, size, i), *space = text ? strchr(text, ' ') : NULL;
        k->block[i] = space ? strtoll(space, NULL, 10) : 0;
    }
    const char *lanes = item(r, attached(r, d, "intel_reqd_sub_group_size"), 0), *lanes_space = lanes ? strchr(lanes, ' ') : NULL;
    k->subgroup = lanes_space ? strtoll(lanes_space, NULL, 10) : 0;
    if (d->threads)
        k->threads_per_block = strtoll(d->threads, NULL, 10);
    const char *group = memchr(d->after.at, '#', d->after.length);
    int n = group ? atoi(group + 1) : -1;
    if (r->m->language == SOURCE_CUDA && n >= 0 && n < r->groups.count) {
        const char *word = "\"amdgpu-flat-work-group-size\"=\"", *at = find(r->groups.at[n], word);
        const char *comma = at ? strchr(at + strlen(word), ',') : NULL;
        k->threads_per_block = comma ? strtoll(comma + 1, NULL, 10) : 0;
        if (k->threads_per_block == 1024) /* what any block may have */
            k->threads_per_block = 0;
    }
}

static source_spaces spaces_of(piece triple) {
    if (find(triple, "air64"))
        return (source_spaces){1, 3, 2, 0, -1};
    if (find(triple, "spir"))
        return (source_spaces){1, 3, 2, 0, 4};
    return (source_spaces){1, 3, 4, 5, 0}; /* amdgcn, nvptx */
}

static void add_kernel(const reading *r, const definition *d, piece air) {
    piece program = attached(r, d, "dbg");
    source_kernel k = {.function = arena_strndup(r->arena, d->name.at, d->name.length), .span = span_of(r, d, program)};
    const char *name = field(r, program, "name");
    k.host_name = d->host_name ? d->host_name : name && r->m->language != SOURCE_LLVM ? name : k.function;
    if (d->parameters)
        metal_parameters(r, d, &k);
    else if (air.length)
        air_parameters(r, air, d, &k);
    else
        plain_parameters(r, d, &k);
    block_of(r, d, &k);
    VEC_PUSH(r->arena, r->m->kernels, k);
}

bool module_text_kernels(arena *a, source_module *m, diag_list *diags) {
    reading r = {.arena = a, .m = m, .diags = diags};
    piece triple = line_named(&r, "target triple = ");
    m->spaces = spaces_of(triple);
    read_lines(&r);
    read_annotations(&r);
    /* Kernels that metadata names: !air.kernel = !{!9, ...}, !nvvm.annotations = !{!{ptr @f, !"kernel", i32 1}} */
    static const char *const lists[] = {"!air.kernel = ", "!nvvm.annotations = "};
    for (int i = 0; i < 2; i++) {
        piece rest = inside(line_named(&r, lists[i])), part;
        while (next_part(&rest, &part)) {
            piece n = node(&r, part.at);
            const char *at = n.length ? memchr(n.at, '@', n.length) : NULL, *third = item(&r, n, 2), *kind = item(&r, n, 1);
            definition *d = at ? definition_named(&r, read_name(at + 1, n.at + n.length)) : NULL;
            if (!d || d->kernel)
                continue;
            if (i == 0)
                add_kernel(&r, d, node(&r, third));
            else if (kind && !strcmp(kind, "kernel"))
                d->kernel = true;
        }
    }
    for (int i = 0; i < r.definitions.count; i++) {
        const definition *d = &r.definitions.at[i];
        if (starts(d->name, "_GLOBAL__"))
            continue;
        if (d->kernel || find(d->before, "amdgpu_kernel") || find(d->before, "spir_kernel") || find(d->before, "ptx_kernel"))
            add_kernel(&r, d, (piece){"", 0});
    }
    return true;
}
