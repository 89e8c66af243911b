#include "run/session_parts.h"
#include "base/suggest.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

session *session_open(const char *device_name, diag_list *diags) {
    int index = 0;
    const runtime *r = runtime_find(device_name ? device_name : "cpu", &index, diags);
    if (!r)
        return NULL;
    const char *why;
    if (!device_descriptions_read(diags))
        return NULL;
    const target *t = target_find(runtime_target(r, index, &why));
    device *d = t ? r->open(index, diags) : NULL;
    if (!t)
        diag_error(diags, "E0651", (source_span){0}, "device %s takes code for %s, a target that is not built in", r->name,
                   r->target);
    if (!d)
        return NULL;
    arena *a = arena_new();
    session *s = NEW(a, session);
    s->arena = a;
    s->runtime = r;
    s->target = t;
    s->target_route = why;
    s->device = d;
    s->shares_memory = r->host_memory;
    s->index = index;
    snprintf(s->name, sizeof s->name, index ? "%s:%d" : "%s", r->name, index);
    return s;
}

static void forget_entry(session *s, compiled_entry *e) {
    if (e->loaded)
        s->runtime->unload(s->device, e->loaded);
    arena_free(e->arena);
}

void session_close(session *s) {
    if (!s)
        return;
    for (int i = 0; i < s->compiled.count; i++)
        forget_entry(s, &s->compiled.at[i]);
    s->runtime->close(s->device);
    arena_free(s->arena);
}

static bool has_kernel(const tile_module *m, const tile_kernel *k) {
    for (int i = 0; i < m->kernels.count; i++)
        if (m->kernels.at[i] == k)
            return true;
    return false;
}

void session_forget(session *s, const tile_module *m) {
    int kept = 0;
    for (int i = 0; i < s->compiled.count; i++) {
        const tile_kernel *k = s->compiled.at[i].kernel;
        for (int j = 0; j < s->splits.count; j++)
            if (s->splits.at[j]->part == k || s->splits.at[j]->join == k)
                k = s->splits.at[j]->whole;
        bool of_module = has_kernel(m, k);
        if (of_module)
            forget_entry(s, &s->compiled.at[i]);
        else
            s->compiled.at[kept++] = s->compiled.at[i];
    }
    s->compiled.count = kept;
    kept = 0;
    for (int i = 0; i < s->splits.count; i++)
        if (!has_kernel(m, s->splits.at[i]->whole))
            s->splits.at[kept++] = s->splits.at[i];
    s->splits.count = kept;
}

const runtime *session_runtime(const session *s) {
    return s->runtime;
}
device *session_device(const session *s) {
    return s->device;
}
const device_description *session_description(const session *s) {
    char words[512];
    return s->runtime->describe(s->index, words, sizeof words) ? device_description_find(words) : NULL;
}
const target *session_target(const session *s) {
    return s->target;
}
const char *session_device_name(const session *s) {
    return s->name;
}

const char *call_names(arena *a, const tile_module *m) {
    text_buffer text = {0};
    for (int i = 0; i < m->programs.count; i++)
        text_add(&text, "%s%s", text.length ? ", " : "", m->programs.at[i]->name);
    for (int i = 0; i < m->kernels.count; i++)
        text_add(&text, "%s%s", text.length ? ", " : "", m->kernels.at[i]->name);
    const char *copy = arena_strdup(a, text_get(&text));
    text_free(&text);
    return copy;
}

static bool find_callable(const tile_module *m, const char *name, const tile_kernel **k, const tile_program **p,
                          diag_list *diags) {
    *k = NULL;
    *p = NULL;
    if (!name) {
        if (m->programs.count == 1)
            *p = m->programs.at[0];
        else if (m->programs.count == 0 && m->kernels.count == 1)
            *k = m->kernels.at[0];
        if (*k || *p)
            return true;
        diag *g = diag_error(diags, "E0646", (source_span){0}, "%s",
                             m->kernels.count ? "the file has several kernels: say which" : "the file has no kernel");
        if (m->kernels.count)
            diag_note(diags, g, "--kernel NAME, one of: %s", call_names(diags->arena, m));
        return false;
    }
    *p = tile_find_program(m, name);
    *k = *p ? NULL : tile_find_kernel(m, name);
    if (*p || *k)
        return true;
    const char *names[256];
    int count = 0;
    for (int i = 0; i < m->programs.count && count < 256; i++)
        names[count++] = m->programs.at[i]->name;
    for (int i = 0; i < m->kernels.count && count < 256; i++)
        names[count++] = m->kernels.at[i]->name;
    diag *g = diag_error(diags, "E0646", (source_span){0}, "no kernel `%s`", name);
    const char *near = suggest_nearest(name, names, count);
    if (near)
        diag_note(diags, g, "did you mean %s?", near);
    else
        diag_note(diags, g, "there are: %s", call_names(diags->arena, m));
    return false;
}

run_call *call_new(session *s, const tile_module *m, const char *name, diag_list *diags) {
    const tile_kernel *k;
    const tile_program *p;
    if (!find_callable(m, name, &k, &p, diags))
        return NULL;
    arena *a = arena_new();
    run_call *c = NEW(a, run_call);
    c->session = s;
    c->arena = a;
    c->module = m;
    c->kernel = k;
    c->program = p;
    signature sig = k ? signature_of_kernel(k) : signature_of_program(p);
    binding_init(&c->binding, a, sig);
    for (int i = 0; i < sig.array_count; i++) {
        call_array array = {.name = sig.arrays[i]->name, .declared = sig.arrays[i], .is_output = sig.arrays[i]->role != ARRAY_IN};
        array.host.type = sig.arrays[i]->type;
        array.host.rank = sig.arrays[i]->group_count;
        VEC_PUSH(a, c->arrays, array);
    }
    for (int i = 0; i < sig.scalar_count; i++) {
        call_scalar scalar = {.declared = sig.scalars[i]};
        VEC_PUSH(a, c->scalars, scalar);
    }
    return c;
}

void call_free(run_call *c) {
    if (!c)
        return;
    for (int i = 0; i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        if (x->device && !x->on_device && !c->session->shares_memory)
            c->session->runtime->release(c->session->device, x->device);
        if (x->host.owned)
            free(x->host.data);
    }
    arena_free(c->arena);
}

int64_t host_array_bytes(element_type type, int rank, const int64_t *dims) {
    int64_t rows = 1, last = rank ? dims[rank - 1] : 1, total;
    for (int i = 0; i + 1 < rank; i++)
        if (__builtin_mul_overflow(rows, dims[i], &rows))
            return -1;
    if (last > INT64_MAX / 64 || __builtin_mul_overflow(rows, element_bytes(type, last), &total))
        return -1;
    return total;
}

/* Whether a program's kernels have a symbol of this name. */
static bool callee_has_symbol(const run_call *c, const char *name) {
    for (int i = 0; c->program && i < c->program->calls.count; i++) {
        const tile_kernel *k = c->program->calls.at[i]->kernel;
        for (int j = 0; j < k->symbols.count; j++)
            if (k->symbols.at[j]->kind != INDEX_TILE && strcmp(k->symbols.at[j]->name, name) == 0)
                return true;
    }
    return false;
}

bool call_set_symbol(run_call *c, const char *name, int64_t value, diag_list *diags) {
    char origin[96];
    c->shapes_solved = c->prepared = false;
    snprintf(origin, sizeof origin, "the value given for %.60s", name);
    if (binding_find_symbol(&c->binding, name) < 0 && callee_has_symbol(c, name)) {
        tile_binding b = {arena_strdup(c->arena, name), value};
        VEC_PUSH(c->arena, c->extra, b);
        return true;
    }
    return binding_set_symbol(&c->binding, name, value, origin, diags);
}

bool session_takes_setting(const tile_kernel *k, const char *key) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE && strcmp(k->symbols.at[i]->name, key) == 0)
            return true;
    return schedule_has_option(k, key);
}

static bool some_kernel_takes(run_call *c, const char *key, diag_list *diags) {
    static const char *const options[] = {"vector", "subgroups", "operands", "tasks", "indices"};
    const char *names[128];
    int count = 0;
    for (; count < (int)(sizeof options / sizeof *options); count++)
        names[count] = options[count];
    for (int i = 0; i < c->program->calls.count; i++) {
        const tile_kernel *k = c->program->calls.at[i]->kernel;
        if (session_takes_setting(k, key))
            return true;
        for (int j = 0; j < k->symbols.count; j++)
            if (k->symbols.at[j]->kind == INDEX_TILE && count < 128)
                names[count++] = k->symbols.at[j]->name;
    }
    diag *g = diag_error(diags, "E0666", c->binding.signature.span, "no kernel of program %s has a tile size or option `%s`",
                         c->program->name, key);
    const char *near = suggest_nearest(key, names, count);
    if (near && strcmp(near, key) != 0)
        diag_note(diags, g, "did you mean %s?", near);
    return false;
}

bool call_set_schedule(run_call *c, const char *key, const char *value, diag_list *diags) {
    if (c->program && !some_kernel_takes(c, key, diags))
        return false;
    /* A kernel's own: schedule_choose_settings refuses unknown ones, since it knows the target and the limits. */
    c->prepared = false;
    schedule_setting s = {.key = arena_strdup(c->arena, key), .value = arena_strdup(c->arena, value)};
    for (int i = 0; i < c->settings.count; i++)
        if (strcmp(c->settings.at[i].key, key) == 0) {
            c->settings.at[i] = s;
            return true;
        }
    VEC_PUSH(c->arena, c->settings, s);
    return true;
}

bool call_set_tile(run_call *c, const char *name, int64_t value, diag_list *diags) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    return call_set_schedule(c, name, digits, diags);
}

static bool unknown_argument(run_call *c, const char *name, diag_list *diags) {
    const signature *s = &c->binding.signature;
    const char *names[128];
    int count = 0;
    text_buffer list = {0};
    for (int i = 0; i < s->array_count && count < 128; i++) {
        text_add(&list, "%s%s", count ? ", " : "", s->arrays[i]->name);
        names[count++] = s->arrays[i]->name;
    }
    for (int i = 0; i < s->scalar_count && count < 128; i++) {
        text_add(&list, "%s%s", count ? ", " : "", s->scalars[i]->name);
        names[count++] = s->scalars[i]->name;
    }
    diag *g = diag_error(diags, "E0640", s->span, "%s %s has no argument `%s`", s->sort, s->name, name);
    const char *near = suggest_nearest(name, names, count);
    if (near)
        diag_note(diags, g, "did you mean %s?", near);
    else
        diag_note(diags, g, "its arguments: %s", text_get(&list));
    text_free(&list);
    return false;
}

/* An index array may come as i32 or u32 words; they are the same bytes for every index there is. */
bool session_type_fits(element_type declared, element_type given) {
    if (declared == given)
        return true;
    if (declared == ELEMENT_INDEX)
        return given == ELEMENT_I32 || given == ELEMENT_U32;
    if (declared == ELEMENT_E4M3 || declared == ELEMENT_E5M2 || element_table[declared].block_elements > 1)
        return given == ELEMENT_U8; /* its bytes */
    return false;
}

bool call_bind_array(run_call *c, const char *name, element_type type, int rank, const int64_t *dims, void *data,
                     diag_list *diags) {
    int at = binding_find_array(&c->binding, name);
    if (at < 0)
        return unknown_argument(c, name, diags);
    call_array *x = &c->arrays.at[at];
    const tile_array *t = x->declared;
    if (!session_type_fits(t->type, type)) {
        diag *g = diag_error(diags, "E0647", t->span, "argument `%s` is %s, but %s wants %s", name, element_table[type].name,
                             c->binding.signature.name, element_table[t->type].name);
        if (t->type == ELEMENT_INDEX)
            diag_note(diags, g, "an index array is given as i32");
        return false;
    }
    int64_t extents[BINDING_MAX_RANK];
    for (int i = 0; i < rank && i < BINDING_MAX_RANK; i++) {
        extents[i] = dims[i];
        if (dims[i] < 0) {
            diag_error(diags, "E0641", t->span, "dimension %d of `%s` cannot be %" PRId64, i, name, dims[i]);
            return false;
        }
    }
    const element_info *info = &element_table[t->type];
    if (info->block_elements > 1 && type == ELEMENT_U8 && rank > 0 &&
        rank <= BINDING_MAX_RANK) { /* the last dimension counts bytes */
        if (extents[rank - 1] % info->block_bytes) {
            diag *g = diag_error(diags, "E0644", t->span, "the last dimension of `%s` is %" PRId64 " bytes, not whole %s blocks",
                                 name, extents[rank - 1], info->name);
            diag_note(diags, g, "a block of %d elements takes %d bytes", info->block_elements, info->block_bytes);
            return false;
        }
        extents[rank - 1] = extents[rank - 1] / info->block_bytes * info->block_elements;
    }
    if (!binding_set_shape(&c->binding, at, rank, extents, diags))
        return false;
    if (x->host.owned)
        free(x->host.data);
    x->host.owned = false;
    x->host.data = data;
    if (x->on_device)
        x->device = NULL;
    x->on_device = false;
    x->bound = true;
    c->shapes_solved = c->prepared = false;
    return true;
}

bool call_bind_device(run_call *c, const char *name, element_type type, int rank, const int64_t *dims, void *pointer,
                      diag_list *diags) {
    const runtime_streams *streams = c->session->runtime->streams;
    int at = binding_find_array(&c->binding, name);
    bool empty = false;
    for (int i = 0; i < rank; i++)
        empty = empty || dims[i] == 0;
    if (at >= 0 && !empty && (!streams || !streams->owns(c->session->device, pointer, diags))) {
        diag *g = diag_error(diags, "E0665", c->arrays.at[at].declared->span,
                             "argument `%s` is memory of a device, but not of %s", name, c->session->name);
        diag_note(diags, g,
                  streams ? "copy it to this device, or open the device that has it"
                          : "it has none apart from the host's: copy it to host memory first");
        return false;
    }
    if (!call_bind_array(c, name, type, rank, dims, NULL, diags))
        return false;
    call_array *x = &c->arrays.at[at];
    if (x->device && !c->session->shares_memory)
        c->session->runtime->release(c->session->device, x->device);
    x->device = pointer;
    x->device_room = 0;
    x->on_device = true;
    return true;
}

bool call_bind_scalar(run_call *c, const char *name, double value, diag_list *diags) {
    int at = binding_find_scalar(&c->binding, name);
    if (at < 0)
        return unknown_argument(c, name, diags);
    const tile_scalar *t = c->scalars.at[at].declared;
    /* Beyond 2^53 a double may stand for several whole numbers; NaN fails every comparison. */
    bool whole = value >= -0x1p53 && value <= 0x1p53 && value == (double)(int64_t)value;
    if (t->type != ELEMENT_F32 && !whole) {
        diag_error(diags, "E0647", t->span, "argument `%s` is a whole number, not %g", name, value);
        return false;
    }
    bool same = c->scalars.at[at].bound && c->scalars.at[at].value == value;
    c->scalars.at[at].bound = true;
    c->scalars.at[at].value = t->type == ELEMENT_F32 ? (double)(float)value : value;
    if (!same)
        call_scalar_changed(c, t);
    return true;
}
