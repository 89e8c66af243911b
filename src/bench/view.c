/* Views of rows. */
#include "bench/view.h"
#include "bench/statistics.h"
#include <math.h>
#include <string.h>

const char *row_text(const json_t *row, const char *key) {
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

double row_number(const json_t *row, const char *key) {
    const json_t *x = json_object_get(row, key);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

/* The environment that stands for the row's: machines that differ in the build of the system's kernel alone are one. */
static const char *environment_of(const view *v, const json_t *row) {
    const char *own = row_text(row, "environment"), *named = json_string_value(json_object_get(v->environments, own));
    return named ? named : own;
}

static void name_environment(view *v, const char *own, const json_t *machine) {
    if (json_object_get(v->environments, own))
        return;
    json_t *plain = json_copy((json_t *)machine);
    json_object_del(plain, "kernel");
    const char *hash, *found = own;
    json_t *other;
    json_object_foreach(v->machines, hash, other) {
        json_t *of_other = json_copy(other);
        json_object_del(of_other, "kernel");
        if (json_equal(plain, of_other))
            found = json_string_value(json_object_get(v->environments, hash));
        json_decref(of_other);
    }
    json_object_set_new(v->environments, own, json_string(found));
    json_decref(plain);
}

static bool same_thing(const view *v, const view_entry *e, const json_t *row) {
    return !strcmp(e->kernel, row_text(row, "kernel")) && !strcmp(e->shape, row_text(row, "shape")) &&
           !strcmp(e->arm, row_text(row, "arm")) && !strcmp(e->mode, row_text(row, "mode")) &&
           !strcmp(e->environment, environment_of(v, row)) && !strcmp(e->lever, row_text(row, "lever")) &&
           !strcmp(e->beside, row_text(row, "beside")) && !strcmp(e->arguments, row_text(row, "arguments")) &&
           e->threads == (int)row_number(row, "threads");
}

/* Joins the ratios of every launch of the entry's run. */
static void join_launches(view *v, view_entry *e) {
    double medians[STATISTICS_MOST_ROUNDS];
    size_t i;
    json_t *row;
    json_array_foreach(v->rows, i, row) {
        const json_t *ratio = json_object_get(row, "ratio");
        if (strcmp(row_text(row, "kind"), "arm") || !same_thing(v, e, row) ||
            strcmp(row_text(row, "run"), row_text(e->row, "run")) || !json_is_object(ratio) ||
            e->launches >= STATISTICS_MOST_ROUNDS)
            continue;
        double low = row_number(ratio, "low"), high = row_number(ratio, "high");
        e->low = e->launches == 0 || low < e->low ? low : e->low;
        e->high = e->launches == 0 || high > e->high ? high : e->high;
        medians[e->launches++] = row_number(ratio, "median");
    }
    e->has_ratio = e->launches > 0;
    if (e->has_ratio)
        e->ratio = statistics_median(medians, e->launches);
}

static void fill(view *v, view_entry *e, const json_t *hashes) {
    const json_t *row = e->row, *ratio = json_object_get(row, "ratio");
    e->apart = *e->lever || *e->beside;
    e->timed = !strcmp(row_text(row, "status"), "pass");
    e->ns = row_number(row, "t_median_ns");
    e->loaded = !strcmp(row_text(json_object_get(row, "state"), "state"), "loaded");
    e->launch_bound = json_is_true(json_object_get(json_object_get(row, "ceiling"), "launch_bound"));
    const char *now = json_string_value(json_object_get(hashes, e->kernel));
    e->stale = hashes && (!now || strcmp(now, row_text(row, "kernel_hash")));
    e->first = row_text(ratio, "first");
    e->verdict = row_text(row, "verdict");
    join_launches(v, e);
    if (e->has_ratio && e->launches > 1 && e->low <= 1 && e->high >= 1) /* the launches do not agree */
        e->verdict = "inconclusive";
    v->stale += e->stale;
    v->loaded += e->timed && e->loaded;
    v->failed += !strcmp(row_text(row, "status"), "fail");
    v->unsupported += !strcmp(row_text(row, "status"), "unsupported");
}

bool view_same_place(const view_entry *x, const view_entry *y) {
    return !strcmp(x->environment, y->environment) && !strcmp(x->device, y->device);
}

static bool same_kernel(const view_entry *x, const view_entry *y) {
    return view_same_place(x, y) && !strcmp(x->kernel, y->kernel);
}

static bool same_shape(const view_entry *x, const view_entry *y) {
    return same_kernel(x, y) && !strcmp(x->shape, y->shape) && !strcmp(x->arguments, y->arguments);
}

bool view_same_work(const view_entry *x, const view_entry *y) {
    return same_shape(x, y) && !strcmp(x->mode, y->mode) && x->threads == y->threads;
}

/* Brings what is of one kind together, behind the first of it; from the coarsest kind to the finest this is a tree's order. */
static void gather(view *v, bool (*same)(const view_entry *, const view_entry *)) {
    for (int i = 0; i < v->entries.count; i++)
        for (int end = i + 1, j = end; j < v->entries.count; j++) {
            view_entry e = v->entries.at[j];
            if (!same(&v->entries.at[i], &e))
                continue;
            memmove(v->entries.at + end + 1, v->entries.at + end, (size_t)(j - end) * sizeof e);
            v->entries.at[end++] = e;
        }
}

static const char *device_in(arena *a, const char *arm) {
    const char *of = strstr(arm, ": "), *at = of ? of + 2 : arm; /* "vec_add: ours@cuda" is of another kernel */
    if (strncmp(at, "ours@", 5))
        return "";
    at += 5;
    size_t length = strcspn(at, ":"), digits = at[length] ? strspn(at + length + 1, "0123456789") : 0; /* cuda:1; cuda:BM=64 */
    return arena_strndup(a, at, length + (digits ? 1 + digits : 0));
}

/* An arm that was not timed names no first arm: it belongs to the cell of that run which is otherwise its own. */
static void place_untimed(view *v, view_entry *e) {
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *x = &v->entries.at[i];
        e->device = x->device;
        if (!x->has_ratio && *x->device && !strcmp(row_text(x->row, "run"), row_text(e->row, "run")) && view_same_work(x, e))
            return;
    }
    e->device = "";
}

/* The code that the first arm of the entry's run was; "" where it has none. */
static const char *first_code(const view *v, const view_entry *e) {
    static const char *const same[] = {"run", "kernel", "shape", "arguments", "mode", "environment"};
    size_t i;
    json_t *row;
    json_array_foreach(v->rows, i, row) {
        bool is_it = !strcmp(row_text(row, "kind"), "arm") && !strcmp(row_text(row, "arm"), e->first) &&
                     (int)row_number(row, "threads") == e->threads;
        for (size_t n = 0; is_it && n < sizeof same / sizeof *same; n++)
            is_it = !strcmp(row_text(row, same[n]), row_text(e->row, same[n]));
        if (is_it)
            return row_text(row, "code_hash");
    }
    return "";
}

/* A ratio is to the first arm of its own run: where that arm was measured again since, with other code, the ratio says nothing of what is there now. */
static bool is_superseded(const view *v, const view_entry *e) {
    for (int i = 0; e->has_ratio && i < v->entries.count; i++) {
        const view_entry *x = &v->entries.at[i];
        if (x != e && !strcmp(x->arm, e->first) && view_same_work(x, e) &&
            strcmp(row_text(x->row, "run"), row_text(e->row, "run")) &&
            strcmp(row_text(x->row, "utc"), row_text(e->row, "utc")) > 0) {
            const char *code = first_code(v, e);
            if (!*code || strcmp(code, row_text(x->row, "code_hash")))
                return true;
        }
    }
    return false;
}

typedef struct arm_count {
    const char *name;
    int rows; /* -1: ours */
} arm_count;

/* Ranks the arms of the place whose entries stand in [first, end). */
static void rank_arms(view *v, int first, int end) {
    VEC(arm_count) arms = {0};
    for (int i = first; i < end; i++) {
        view_entry *e = &v->entries.at[i];
        const char *name = view_arm_name(v, e);
        while (e->rank < arms.count && strcmp(arms.at[e->rank].name, name))
            e->rank++;
        if (e->rank == arms.count)
            VEC_PUSH(v->arena, arms, ((arm_count){name, view_is_ours(v, e) ? -1 : 0}));
        arms.at[e->rank].rows += arms.at[e->rank].rows >= 0 && !e->apart;
    }
    for (int i = first; i < end; i++) {
        int own = v->entries.at[i].rank, rank = 0;
        for (int n = 0; n < arms.count; n++)
            rank += arms.at[n].rows > arms.at[own].rows || (arms.at[n].rows == arms.at[own].rows && n <= own);
        v->entries.at[i].rank = arms.at[own].rows < 0 ? 0 : rank;
    }
}

view *view_new(json_t *rows, const json_t *hashes) {
    arena *a = arena_new();
    view *v = NEW(a, view);
    *v = (view){.arena = a,
                .rows = json_incref(rows),
                .machines = json_object(),
                .environments = json_object(),
                .ceilings = json_object()};
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) {
        if (!strcmp(row_text(row, "kind"), "run")) {
            name_environment(v, row_text(row, "environment"), json_object_get(row, "machine"));
            json_object_set(v->machines, environment_of(v, row), json_object_get(row, "machine"));
        }
    }
    json_array_foreach(rows, i, row) {
        const char *kind = row_text(row, "kind"), *environment = environment_of(v, row);
        if (!strcmp(kind, "ceilings"))
            json_object_set(v->ceilings, arena_printf(a, "%s %d", environment, (int)row_number(row, "threads")), row);
        if (strcmp(kind, "arm"))
            continue;
        int at = 0;
        while (at < v->entries.count && !same_thing(v, &v->entries.at[at], row))
            at++;
        view_entry e = {.row = row,
                        .kernel = row_text(row, "kernel"),
                        .shape = row_text(row, "shape"),
                        .arguments = row_text(row, "arguments"),
                        .arm = row_text(row, "arm"),
                        .mode = row_text(row, "mode"),
                        .environment = environment,
                        .lever = row_text(row, "lever"),
                        .beside = row_text(row, "beside"),
                        .threads = (int)row_number(row, "threads")};
        if (at == v->entries.count)
            VEC_PUSH(a, v->entries, e);
        else if (strcmp(row_text(row, "utc"), row_text(v->entries.at[at].row, "utc")) >= 0)
            v->entries.at[at] = e;
    }
    for (int n = 0; n < v->entries.count; n++)
        fill(v, &v->entries.at[n], hashes);
    for (int n = 0; n < v->entries.count; n++) {
        view_entry *e = &v->entries.at[n];
        e->device = device_in(a, e->has_ratio ? e->first : e->arm);
    }
    int kept = 0;
    for (int n = 0; n < v->entries.count; n++)
        v->entries.at[n].superseded = is_superseded(v, &v->entries.at[n]);
    for (int n = 0; n < v->entries.count; n++)
        if (!v->entries.at[n].superseded)
            v->entries.at[kept++] = v->entries.at[n];
    v->entries.count = kept;
    for (int n = 0; n < v->entries.count; n++)
        if (!v->entries.at[n].timed && strncmp(v->entries.at[n].arm, "ours", 4))
            place_untimed(v, &v->entries.at[n]);
    gather(v, view_same_place);
    gather(v, same_kernel);
    gather(v, same_shape);
    gather(v, view_same_work);
    for (int first = 0, n = 1; n <= v->entries.count; n++)
        if (n == v->entries.count || !view_same_place(&v->entries.at[n], &v->entries.at[first])) {
            rank_arms(v, first, n);
            first = n;
        }
    return v;
}

void view_free(view *v) {
    if (!v)
        return;
    json_decref(v->rows);
    json_decref(v->machines);
    json_decref(v->environments);
    json_decref(v->ceilings);
    arena_free(v->arena);
}

const json_t *view_ceilings(const view *v, const char *environment, int threads) {
    char key[128];
    snprintf(key, sizeof key, "%s %d", environment, threads);
    return json_object_get(v->ceilings, key);
}

const char *view_arm_name(const view *v, const view_entry *e) {
    const char *kind = row_text(e->row, "arm_kind");
    const json_t *version = json_object_get(e->row, "version");
    if (*e->lever)
        return e->lever;
    if (*e->beside)
        return arena_printf(v->arena, "%s, beside %s", e->arm, e->beside);
    if (!strcmp(e->arm, "openblas"))
        return "OpenBLAS";
    if (!strcmp(kind, "python") || !strncmp(e->arm, "python:", 7)) {
        static const struct {
            const char *module, *name;
        } known[] = {{"triton", "Triton"}, {"torch", "PyTorch"}, {"jax", "JAX"}, {"numpy", "NumPy"}};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (json_object_get(version, known[i].module))
                return known[i].name;
    }
    const char *slash = strrchr(e->arm, '/');
    return slash ? arena_strdup(v->arena, slash + 1) : e->arm;
}

bool view_is_ours(const view *v, const view_entry *e) {
    const char *name = view_arm_name(v, e);
    return !e->has_ratio && !strncmp(name, "ours", 4) && (!name[4] || name[4] == '@');
}

const char *view_shape_name(const view *v, const view_entry *e) {
    const json_t *s = json_object_get(e->row, "symbols");
    const json_t *m = json_object_get(s, "M"), *n = json_object_get(s, "N"), *k = json_object_get(s, "K");
    const char *len = strstr(e->arguments, "len=");
    if (m && n && k && json_object_size(s) == 3)
        return arena_printf(v->arena, "%d x %d x %d", (int)json_integer_value(m), (int)json_integer_value(n),
                            (int)json_integer_value(k));
    return len ? arena_printf(v->arena, "%s, %.*s", e->shape, (int)strcspn(len, " "), len) : e->shape;
}
