#include "command/arguments.h"
#include "base/file.h"
#include "base/suggest.h"
#include "run/safetensors.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool parse_number(const char *text, double *value) {
    char *end;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *value = *text == 't';
        return true;
    }
    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end;
}

static bool add_scalar(argument_list *list, const char *name, const char *what) {
    double value;
    if (parse_number(what, &value))
        return call_bind_scalar(list->call, name, value, list->diags);
    diag *g = diag_error(list->diags, "E0864", (source_span){0}, "--arg %s=%s: `%s` is a number", name, what, name);
    diag_note(list->diags, g, "as in --arg %s=0.5", name);
    return false;
}

/* An element as a double; i64 and f64 files too. */
static double file_element(const npy_array *a, int64_t i) {
    if (a->wide && a->wide_kind == 'f') {
        double v;
        memcpy(&v, (const char *)a->data + 8 * i, 8);
        return v;
    }
    if (a->wide) {
        int64_t v;
        memcpy(&v, (const char *)a->data + 8 * i, 8);
        return (double)v;
    }
    return element_load(a->type, a->data, i);
}

static const char *file_type_name(const npy_array *a) {
    return !a->wide ? element_table[a->type].name : a->wide_kind == 'f' ? "f64" : "i64";
}

static bool is_integer_file(const npy_array *a) {
    return a->wide ? a->wide_kind != 'f' : !element_table[a->type].is_float;
}

/* Changes a file's array to the declared type. Integers to integers must fit exactly; anything else only when the user said :convert. */
static bool convert_file(argument_list *list, const char *name, npy_array *a, element_type to, bool asked) {
    bool whole = !element_table[to].is_float && is_integer_file(a);
    bool lossless = whole && a->wide && to != ELEMENT_BOOL;
    if (!asked && !lossless)
        return true; /* the binding says what is wrong */
    if (element_table[to].block_elements > 1) {
        diag_error(list->diags, "E0865", (source_span){0}, "`%s`: there is no conversion to %s", name, element_table[to].name);
        return false;
    }
    int64_t count = 1;
    for (int d = 0; d < a->rank; d++)
        count *= a->dims[d];
    void *data = malloc((size_t)element_bytes(to, count) + 1);
    if (!data) {
        diag_error(list->diags, "E0648", (source_span){0}, "no memory for `%s`", name);
        return false;
    }
    element_type store = to == ELEMENT_INDEX ? ELEMENT_I32 : to;
    for (int64_t i = 0; i < count; i++) {
        double v = file_element(a, i);
        element_store(store, data, i, v);
        if (whole && element_load(store, data, i) != v) {
            diag_error(list->diags, "E0865", (source_span){0}, "`%s`: element %" PRId64 " is %.0f, which %s cannot hold", name, i,
                       v, element_table[to].name);
            free(data);
            return false;
        }
    }
    free(a->data);
    a->data = data;
    a->type = store;
    a->wide = 0;
    a->bytes = element_bytes(to, count);
    return true;
}

static bool add_file(argument_list *list, const char *name, const char *what, element_type declared) {
    bool convert = ends_with(what, ":convert");
    const char *path = convert ? arena_strndup(list->arena, what, strlen(what) - strlen(":convert")) : what;
    argument_source source = {.name = name};
    const char *tensor = strstr(path, ".safetensors:");
    if (tensor) {
        const char *file = arena_strndup(list->arena, path, (size_t)(tensor - path) + strlen(".safetensors"));
        if (!safetensors_read(file, tensor + strlen(".safetensors:"), &source.file, list->diags))
            return false;
    } else if (!npy_read(path, &source.file, list->diags)) {
        return false;
    }
    npy_array *a = &source.file;
    bool good = convert_file(list, name, a, declared, convert);
    if (good && a->wide) {
        diag *g = diag_error(list->diags, "E0647", (source_span){0}, "argument `%s` is %s, but it is declared %s", name,
                             file_type_name(a), element_table[declared].name);
        diag_note(list->diags, g, "--arg %s=%s:convert rounds each element to %s", name, path, element_table[declared].name);
        good = false;
    }
    /* A .npy file has no name for bf16: its words may come as they are. */
    element_type type = declared == ELEMENT_BF16 ? ELEMENT_BF16 : a->type;
    good = good && call_bind_array(list->call, name, type, a->rank, a->dims, a->data, list->diags);
    if (!good)
        npy_free(a);
    else
        VEC_PUSH(list->arena, list->items, source);
    return good;
}

bool arguments_add(argument_list *list, const char *text) {
    const char *name, *what;
    if (!option_split(list->arena, "--arg", text, &name, &what, list->diags))
        return false;
    if (binding_find_scalar(&list->call->binding, name) >= 0)
        return add_scalar(list, name, what);
    int at = binding_find_array(&list->call->binding, name);
    if (at < 0) /* says what there is */
        return call_bind_array(list->call, name, ELEMENT_F32, 0, NULL, NULL, list->diags);
    if (list->call->arrays.at[at].declared->role == ARRAY_OUT) {
        diag *g = diag_error(list->diags, "E0864", (source_span){0}, "--arg %s=%s: `%s` is a result", name, what, name);
        diag_note(list->diags, g, "--out %s=FILE.npy writes it", name);
        return false;
    }
    for (int i = 0; i < list->items.count; i++)
        if (strcmp(list->items.at[i].name, name) == 0) {
            diag_error(list->diags, "E0860", (source_span){0}, "--arg %s: given twice", name);
            return false;
        }
    const char *colon = strchr(what, ':');
    const char *word = colon ? arena_strndup(list->arena, what, (size_t)(colon - what)) : what;
    recipe_kind recipe = recipe_by_name(word);
    if (recipe != RECIPE_COUNT) {
        argument_source source = {.name = name, .is_recipe = true, .recipe = recipe};
        int64_t seed = 1;
        if (colon && !option_integer("--arg", colon + 1, &seed, list->diags))
            return false;
        source.seed = (uint64_t)seed;
        list->has_awkward = list->has_awkward || recipe == RECIPE_ADVERSARIAL || recipe == RECIPE_HUGE;
        VEC_PUSH(list->arena, list->items, source);
        return true;
    }
    if (ends_with(what, ".npy") || strstr(what, ".safetensors") || strchr(what, '/') || file_exists(what) ||
        ends_with(what, ":convert"))
        return add_file(list, name, what, list->call->arrays.at[at].declared->type);
    diag *g = diag_error(list->diags, "E0864", (source_span){0}, "--arg %s=%s: neither a file nor a recipe", name, what);
    const char *near = suggest_nearest(word, recipe_names, RECIPE_COUNT);
    if (near)
        diag_note(list->diags, g, "did you mean %s?", near);
    else
        diag_note(list->diags, g,
                  "FILE.npy, FILE.safetensors:TENSOR, zeros, iota, random:SEED, positive:SEED, normal:SEED, integers:SEED, "
                  "adversarial:SEED");
    return false;
}

bool arguments_fill(argument_list *list) {
    run_call *c = list->call;
    for (int i = 0; i < list->items.count; i++) {
        const argument_source *s = &list->items.at[i];
        if (!s->is_recipe)
            continue;
        int at = binding_find_array(&c->binding, s->name);
        call_array *x = &c->arrays.at[at];
        int64_t bound = 0;
        if (x->declared->index_bound && !binding_evaluate(&c->binding, x->declared->index_bound, &bound))
            bound = 0;
        if (x->declared->type == ELEMENT_INDEX && bound <= 0 && x->host.cells > 0) {
            diag_error(list->diags, "E0866", x->declared->span, "`%s` cannot be made by a recipe: no index is in bounds",
                       s->name);
            return false;
        }
        if (!call_allocate(c, at, list->diags))
            return false;
        uint64_t seed = s->seed; /* two arguments with one seed are not the same data */
        for (const char *n = s->name; *n; n++)
            seed = seed * 31 + (unsigned char)*n;
        if (x->declared->injective)
            recipe_fill_distinct(s->recipe, seed, bound, x->host.cells, x->host.data);
        else
            recipe_fill(s->recipe, seed, x->host.type, bound, x->host.cells, x->host.data);
    }
    return true;
}

void arguments_free(argument_list *list) {
    for (int i = 0; i < list->items.count; i++)
        if (list->items.at[i].file.data)
            npy_free(&list->items.at[i].file);
}

bool arguments_write(run_call *c, const char *name, const char *path, diag_list *diags) {
    int at = -1;
    const char *names[64];
    int count = 0;
    for (int i = 0; i < c->arrays.count; i++) {
        if (strcmp(c->arrays.at[i].name, name) == 0)
            at = i;
        if (c->arrays.at[i].is_output && count < 64)
            names[count++] = c->arrays.at[i].name;
    }
    if (at < 0) {
        diag *g = diag_error(diags, "E0867", c->binding.signature.span, "--out: %s has no result `%s`", c->binding.signature.name,
                             name);
        for (int i = 0; i < count; i++)
            diag_note(diags, g, "it has `%s`", names[i]);
        return false;
    }
    const host_array *h = &c->arrays.at[at].host;
    npy_array out = {.type = h->type, .rank = h->rank, .data = h->data, .bytes = h->bytes};
    for (int d = 0; d < h->rank; d++)
        out.dims[d] = h->dims[d];
    return npy_write(path, &out, diags);
}
