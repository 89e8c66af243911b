/* What a schedule says besides tile sizes: vector, subgroups, operands, tasks, split, indices. Each is legal for the target and the kernel, or an error that names the limit. */
#include "schedule/lower.h"
#include "tile/split.h"
#include <stdlib.h>
#include <string.h>

enum { VECTOR_BYTES = 16 };

/* ---- what the kernel has ---- */

static bool is_product(const tile_value *v, void *unused) {
    (void)unused;
    return v->op == TILE_DOT;
}

static bool has_products(const tile_kernel *k) {
    return tile_block_some(&k->body, k->value_count, is_product, NULL);
}

static bool is_matrix_vector(const tile_value *v, void *unused) {
    return is_product(v, unused) && v->axis_count && !product_is_two_sided(v);
}

static bool has_rows(const tile_kernel *k) {
    return tile_block_some(&k->body, k->value_count, is_matrix_vector, NULL);
}

bool schedule_has_option(const tile_kernel *k, const char *key) {
    return !strcmp(key, "vector") || !strcmp(key, "subgroups") || !strcmp(key, "indices") || !strcmp(key, SCHEDULE_KEY) ||
           ((!strcmp(key, "operands") || !strcmp(key, "stages") || !strcmp(key, "roles") || !strcmp(key, "promote") ||
             !strcmp(key, "matrix_access") || !strcmp(key, "edges")) &&
            has_products(k)) ||
           (!strcmp(key, "sums") && sums_have_store(k)) || (!strcmp(key, "tasks") && has_rows(k));
}

/* ---- vector ---- */

/* The most elements of the kernel's arrays that one access can take. */
static int64_t widest(const tile_kernel *k, const machine_model *machine) {
    if (!machine->subgroup_lanes)
        return machine->vector_lanes;
    int64_t most = 1;
    for (int i = 0; i < k->arrays.count; i++) {
        const element_info *e = &element_table[k->arrays.at[i]->type];
        if (e->block_elements == 1 && VECTOR_BYTES / e->block_bytes > most)
            most = VECTOR_BYTES / e->block_bytes;
    }
    return machine->widest_vector && most > machine->widest_vector ? machine->widest_vector : most;
}

static bool is_power(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

static int64_t nearest_power(int64_t n, int64_t most) {
    int64_t below = 1;
    while (below * 2 <= n && below * 2 <= most)
        below *= 2;
    return below * 2 <= most && below * 2 - n < n - below ? below * 2 : below;
}

/* A whole number and nothing else. */
static bool whole_number(const char *text, int64_t *value) {
    char *end;
    if (!*text || strlen(text) > 18)
        return false;
    *value = strtoll(text, &end, 10);
    return !*end;
}

static bool set_vector(const option_place *p, const schedule_setting *s, schedule_options *out) {
    int64_t n, most = widest(p->k, p->machine);
    if (!whole_number(s->value, &n)) {
        diag *g = diag_error(p->diags, "E0504", p->span, "vector = %s is not a whole number", s->value);
        diag_caret(p->diags, g, "a power of two, 1 .. %lld", (long long)most);
        return false;
    }
    if (!is_power(n) || n > most) {
        diag *g = diag_error(p->diags, "E0504", p->span,
                             "vector = %lld is not a power of two in 1 .. %lld, what %s takes at once%s", (long long)n,
                             (long long)most, p->machine->target, p->machine->subgroup_lanes ? " of this kernel's elements" : "");
        diag_caret(p->diags, g, "the nearest legal value is %lld", (long long)nearest_power(n, most));
        return false;
    }
    out->vector = (int)n;
    out->vector_at = s->span;
    return true;
}

/* ---- subgroups ---- */

static bool set_subgroups(const option_place *p, const schedule_setting *s, schedule_options *out) {
    const machine_model *m = p->machine;
    const char *x = strchr(s->value, 'x');
    char first[24] = "";
    int64_t rows = 0, columns = 0;
    if (x && x - s->value < (int)sizeof first) {
        memcpy(first, s->value, (size_t)(x - s->value));
        first[x - s->value] = 0;
    }
    if (x ? !whole_number(first, &rows) || !whole_number(x + 1, &columns) : !whole_number(s->value, &rows)) {
        diag *g = diag_error(p->diags, "E0504", p->span, "subgroups = %s is neither a number nor rows x columns", s->value);
        diag_caret(p->diags, g, "as in `subgroups = %d` or `subgroups = 2 x 2`", m->subgroups);
        return false;
    }
    int64_t across = x ? columns : 1;
    if (!is_power(rows) || !is_power(across) || rows > m->most_subgroups || across > m->most_subgroups ||
        rows * across > m->most_subgroups) {
        diag *g = diag_error(p->diags, "E0504", p->span,
                             "subgroups = %s: a block of %s has 1 .. %d subgroups of %d threads, powers of two", s->value,
                             m->target, m->most_subgroups, m->subgroup_lanes);
        if (x) {
            int64_t r = nearest_power(rows, m->most_subgroups);
            diag_caret(p->diags, g, "the nearest legal value is %lld x %lld", (long long)r,
                       (long long)nearest_power(columns, m->most_subgroups / r));
        } else {
            diag_caret(p->diags, g, "the nearest legal value is %lld", (long long)nearest_power(rows, m->most_subgroups));
        }
        return false;
    }
    out->subgroups = (int)(rows * across);
    out->subgroup_rows = x ? (int)rows : 0;
    out->subgroup_columns = x ? (int)columns : 0;
    out->subgroups_at = s->span;
    return true;
}

/* ---- operands ---- */

typedef struct exactness {
    element_type type;
    const tile_value *rounded; /* an operand that the type does not hold */
} exactness;

static bool is_rounded(const tile_value *v, void *context) {
    exactness *e = context;
    for (int i = 0; v->op == TILE_DOT && i < 2; i++)
        if (!e->rounded && v->operands[i]->axis_count && !element_holds(e->type, v->operands[i]->type))
            e->rounded = v->operands[i];
    return e->rounded;
}

static bool set_operands(const option_place *p, const schedule_setting *s, schedule_options *out) {
    static const char staged[] = "staged";
    size_t n = sizeof staged - 1, length = strlen(s->value);
    bool warpgroups = !strcmp(s->value, "fragments(warpgroup)"), direct = !strcmp(s->value, "direct"), typed = false;
    const operand_choice fragments = warpgroups || !strcmp(s->value, "fragments") ? OPERANDS_FRAGMENTS
                                     : !strcmp(s->value, "fragments(direct)")     ? OPERANDS_FRAGMENTS_DIRECT
                                     : !strcmp(s->value, "fragments(staged)")     ? OPERANDS_FRAGMENTS_STAGED
                                                                                  : OPERANDS_CHOSEN;
    element_type type = ELEMENT_COUNT;
    if (!direct && !fragments && !strncmp(s->value, staged, n) && s->value[n] == '(' && s->value[length - 1] == ')') {
        char name[16] = "";
        if (length - n - 2 < sizeof name)
            memcpy(name, s->value + n + 1, length - n - 2);
        type = element_by_name(name);
        typed = type != ELEMENT_COUNT && element_table[type].block_elements == 1;
    }
    if (fragments && !p->machine->matrices.count) {
        diag *g = diag_error(p->diags, "E0504", p->span, "operands = %s: target %s has no matrix instructions", s->value,
                             p->machine->target);
        diag_caret(p->diags, g, "the nearest legal value is staged");
        return false;
    }
    if (warpgroups && !p->machine->warpgroup_subgroups) {
        diag *g =
            diag_error(p->diags, "E0504", p->span,
                       "operands = fragments(warpgroup): target %s has no matrix instructions of warpgroups", p->machine->target);
        diag_caret(p->diags, g, "the nearest legal value is fragments");
        return false;
    }
    if (!direct && !fragments && !typed && strcmp(s->value, staged) != 0) {
        diag *g = diag_error(p->diags, "E0504", p->span, "operands = %s is not a way to read operands", s->value);
        diag_caret(p->diags, g, "%sdirect, staged, or staged(f32): copies of that element type",
                   p->machine->warpgroup_subgroups ? "fragments, fragments(warpgroup), "
                   : p->machine->matrices.count    ? "fragments, "
                                                   : "");
        return false;
    }
    if (!has_products(p->k)) {
        diag *g =
            diag_error(p->diags, "E0504", p->span, "operands = %s: kernel `%s` has no product, `@`, whose operands it could mean",
                       s->value, p->k->name);
        diag_caret(p->diags, g, "leave it out");
        return false;
    }
    exactness e = {type, NULL};
    if (typed && tile_block_some(&p->k->body, p->k->value_count, is_rounded, &e) && e.rounded) {
        element_type from = e.rounded->type;
        diag *g = diag_error(p->diags, "E0504", p->span, "operands = %s would round an operand of %s", s->value,
                             element_table[from].name);
        diag_caret(p->diags, g, "the nearest legal value is staged(%s)",
                   element_table[from].block_elements > 1 ? "f32" : element_table[from].name);
        diag_note(p->diags, g, "the operand is in line %d; a schedule changes no operand's value", e.rounded->span.line);
        return false;
    }
    out->operands = direct ? OPERANDS_DIRECT : fragments ? fragments : OPERANDS_STAGED;
    out->operand_warpgroups = warpgroups;
    out->operand_typed = typed;
    out->operand_type = typed ? type : ELEMENT_F32;
    out->operands_at = s->span;
    return true;
}

/* ---- tasks ---- */

static bool set_tasks(const option_place *p, const schedule_setting *s, schedule_options *out) {
    out->tasks = !strcmp(s->value, "few") ? TASKS_FEW : !strcmp(s->value, "many") ? TASKS_MANY : TASKS_CHOSEN;
    if (!has_rows(p->k)) {
        diag *g = diag_error(p->diags, "E0504", p->span,
                             "tasks = %s: kernel `%s` has no matrix-vector product, whose rows it means", s->value, p->k->name);
        diag_caret(p->diags, g, "leave it out");
        return false;
    }
    if (out->tasks)
        return true;
    diag *g = diag_error(p->diags, "E0504", p->span, "tasks = %s is neither few nor many", s->value);
    diag_caret(p->diags, g, "few: a row takes a block; many: a subgroup");
    return false;
}

/* ---- stages ---- */

enum { MOST_STAGES = 8 };

static bool set_stages(const option_place *p, const schedule_setting *s, schedule_options *out) {
    int64_t n;
    if (!whole_number(s->value, &n) || n < 1 || n > MOST_STAGES) {
        diag *g = diag_error(p->diags, "E0504", p->span, "stages = %s is not a whole number in 1 .. %d", s->value, MOST_STAGES);
        diag_caret(p->diags, g, "1: operands are copied before each step; 2 and more: that many tiles, copied ahead");
        return false;
    }
    if (!has_products(p->k)) {
        diag *g = diag_error(p->diags, "E0504", p->span,
                             "stages = %s: kernel `%s` has no product, `@`, whose operands it could mean", s->value, p->k->name);
        diag_caret(p->diags, g, "leave it out");
        return false;
    }
    out->stages = (int)n;
    out->stages_at = s->span;
    return true;
}

/* ---- roles ---- */

static bool set_roles(const option_place *p, const schedule_setting *s, schedule_options *out) {
    out->producer = !strcmp(s->value, "producer");
    out->roles_at = s->span;
    if (!out->producer && strcmp(s->value, "none") != 0) {
        diag *g = diag_error(p->diags, "E0504", p->span, "roles = %s is neither producer nor none", s->value);
        diag_caret(p->diags, g, "producer: a thread of its own copies operands in bulk, warpgroups multiply them");
        return false;
    }
    if (has_products(p->k))
        return true;
    diag *g = diag_error(p->diags, "E0504", p->span, "roles = %s: kernel `%s` has no product, `@`, whose operands it could mean",
                         s->value, p->k->name);
    diag_caret(p->diags, g, "leave it out");
    return false;
}

/* ---- promote ---- */

enum { LEAST_PROMOTE = 32, MOST_PROMOTE = 1 << 20 };

static bool set_promote(const option_place *p, const schedule_setting *s, schedule_options *out) {
    int64_t n;
    if (!whole_number(s->value, &n) || n < LEAST_PROMOTE || n > MOST_PROMOTE || n % LEAST_PROMOTE) {
        diag *g = diag_error(p->diags, "E0504", p->span, "promote = %s is no multiple of %d in %d .. %d", s->value, LEAST_PROMOTE,
                             LEAST_PROMOTE, MOST_PROMOTE);
        diag_caret(p->diags, g, "as in promote = 128: so many products are summed by the unit, then added in f32");
        return false;
    }
    if (!has_products(p->k)) {
        diag *g = diag_error(p->diags, "E0504", p->span,
                             "promote = %s: kernel `%s` has no product, `@`, whose sums it could mean", s->value, p->k->name);
        diag_caret(p->diags, g, "leave it out");
        return false;
    }
    out->promote = (int)n;
    out->promote_at = s->span;
    return true;
}

/* ---- split ---- */

bool option_chunk(const option_place *p, const schedule_setting *s, int64_t *chunk) {
    const char *why;
    *chunk = -1;
    if (!strcmp(s->value, "none") || p->k->origin)
        return true;
    const int64_t most = 1 << 30;
    if (!whole_number(s->value, chunk) || !is_power(*chunk) || *chunk > most) {
        diag *g =
            diag_error(p->diags, "E0504", p->span, "split = %s is not a power of two in 1 .. %lld", s->value, (long long)most);
        diag_caret(p->diags, g, "the elements of a chunk%s or none",
                   *chunk > 0 ? arena_printf(p->diags->arena, ": the nearest legal value is %lld,",
                                             (long long)nearest_power(*chunk, most))
                              : ",");
        return false;
    }
    if (split_loop(p->k, &why))
        return true;
    diag *g = diag_error(p->diags, "E0504", p->span, "split = %s: kernel `%s` can't be split: %s", s->value, p->k->name, why);
    diag_caret(p->diags, g, "leave it out, or say split = none");
    return false;
}

/* ---- indices ---- */

static bool set_indices(const option_place *p, const schedule_setting *s, schedule_options *out) {
    out->wide_indices = !strcmp(s->value, "64");
    if (out->wide_indices)
        return true;
    diag *g = diag_error(p->diags, "E0504", p->span, "indices = %s: a schedule can ask for 64 bits alone", s->value);
    diag_caret(p->diags, g, "64, or leave it out: where 32 bits are enough is for the prover to say");
    return false;
}

/* ---- access to matrices ---- */

static bool set_access(const option_place *p, const schedule_setting *s, schedule_options *out) {
    out->lane_access = !strcmp(s->value, "lanes");
    if (!out->lane_access && strcmp(s->value, "native") != 0) {
        diag *g = diag_error(p->diags, "E0504", p->span, "matrix_access = %s is neither native nor lanes", s->value);
        diag_caret(p->diags, g, "native: by the target's functions; lanes: each lane its own elements");
        return false;
    }
    if (has_products(p->k))
        return true;
    diag *g =
        diag_error(p->diags, "E0504", p->span,
                   "matrix_access = %s: kernel `%s` has no product, `@`, whose matrices it could mean", s->value, p->k->name);
    diag_caret(p->diags, g, "leave it out");
    return false;
}

/* ---- sums, edges ---- */

static bool set_sums(const option_place *p, const schedule_setting *s, schedule_options *out) {
    out->whole_sums = !strcmp(s->value, "registers");
    if (!out->whole_sums && strcmp(s->value, "memory") != 0) {
        diag *g = diag_error(p->diags, "E0504", p->span, "sums = %s is neither registers nor memory", s->value);
        diag_caret(p->diags, g,
                   "registers: of launches whose sums are one tile, stored as they are; memory: kept from tile to tile");
        return false;
    }
    if (sums_have_store(p->k))
        return true;
    diag *g = diag_error(p->diags, "E0504", p->span,
                         "sums = %s: kernel `%s` has no variable that one loop adds a product, `@`, to and one store reads",
                         s->value, p->k->name);
    diag_caret(p->diags, g, "leave it out");
    return false;
}

static bool set_edges(const option_place *p, const schedule_setting *s, schedule_options *out) {
    out->halved_edges = !strcmp(s->value, "halved");
    if (!out->halved_edges && strcmp(s->value, "single") != 0) {
        diag *g = diag_error(p->diags, "E0504", p->span, "edges = %s is neither halved nor single", s->value);
        diag_caret(p->diags, g, "halved: rows and vectors left over go in smaller blocks; single: one at a time");
        return false;
    }
    if (has_products(p->k))
        return true;
    diag *g = diag_error(p->diags, "E0504", p->span, "edges = %s: kernel `%s` has no product, `@`, whose blocks it could mean",
                         s->value, p->k->name);
    diag_caret(p->diags, g, "leave it out");
    return false;
}

/* ---- all ---- */

bool option_target_has(const machine_model *machine, const char *key) {
    return !strcmp(key, "vector") || !strcmp(key, "split") ||
           ((!strcmp(key, "subgroups") || !strcmp(key, "indices")) && machine->subgroup_lanes) ||
           (!strcmp(key, "tasks") && machine->subgroup_lanes) || (!strcmp(key, "operands") && machine->stages_operands) ||
           ((!strcmp(key, "sums") || !strcmp(key, "edges")) && !machine->subgroup_lanes && machine->stages_operands) ||
           (!strcmp(key, "stages") && (machine->stages || machine->held_stages)) ||
           (!strcmp(key, "roles") && machine->warpgroup_subgroups) || (!strcmp(key, "promote") && machine->warpgroup_subgroups) ||
           (!strcmp(key, "matrix_access") && machine->direct_fragments);
}

bool option_set(const option_place *p, const schedule_setting *s, schedule_options *out) {
    return !strcmp(s->key, "vector")          ? set_vector(p, s, out)
           : !strcmp(s->key, "subgroups")     ? set_subgroups(p, s, out)
           : !strcmp(s->key, "tasks")         ? set_tasks(p, s, out)
           : !strcmp(s->key, "stages")        ? set_stages(p, s, out)
           : !strcmp(s->key, "roles")         ? set_roles(p, s, out)
           : !strcmp(s->key, "promote")       ? set_promote(p, s, out)
           : !strcmp(s->key, "split")         ? option_chunk(p, s, &out->split)
           : !strcmp(s->key, "indices")       ? set_indices(p, s, out)
           : !strcmp(s->key, "sums")          ? set_sums(p, s, out)
           : !strcmp(s->key, "edges")         ? set_edges(p, s, out)
           : !strcmp(s->key, "matrix_access") ? set_access(p, s, out)
                                              : set_operands(p, s, out);
}

void options_print(text_buffer *out, const schedule_options *o) {
    if (o->split > 0)
        text_add(out, "%ssplit = %lld", out->length ? ", " : "", (long long)o->split);
    if (o->tasks)
        text_add(out, "%stasks = %s", out->length ? ", " : "", o->tasks == TASKS_FEW ? "few" : "many");
    if (o->vector)
        text_add(out, "%svector = %d", out->length ? ", " : "", o->vector);
    if (o->subgroup_rows)
        text_add(out, "%ssubgroups = %d x %d", out->length ? ", " : "", o->subgroup_rows, o->subgroup_columns);
    else if (o->subgroups)
        text_add(out, "%ssubgroups = %d", out->length ? ", " : "", o->subgroups);
    if (o->stages)
        text_add(out, "%sstages = %d", out->length ? ", " : "", o->stages);
    if (o->promote)
        text_add(out, "%spromote = %d", out->length ? ", " : "", o->promote);
    if (o->operands == OPERANDS_DIRECT)
        text_add(out, "%soperands = direct", out->length ? ", " : "");
    else if (operands_by_fragments(o->operands))
        text_add(out, "%soperands = fragments%s", out->length ? ", " : "",
                 o->operand_warpgroups                      ? "(warpgroup)"
                 : o->operands == OPERANDS_FRAGMENTS_DIRECT ? "(direct)"
                 : o->operands == OPERANDS_FRAGMENTS_STAGED ? "(staged)"
                                                            : "");
    else if (o->operands == OPERANDS_STAGED && o->operand_typed)
        text_add(out, "%soperands = staged(%s)", out->length ? ", " : "", element_table[o->operand_type].name);
    else if (o->operands == OPERANDS_STAGED)
        text_add(out, "%soperands = staged", out->length ? ", " : "");
    if (o->whole_sums)
        text_add(out, "%ssums = registers", out->length ? ", " : "");
    if (o->halved_edges)
        text_add(out, "%sedges = halved", out->length ? ", " : "");
    if (o->producer)
        text_add(out, "%sroles = producer", out->length ? ", " : "");
    if (o->lane_access)
        text_add(out, "%smatrix_access = lanes", out->length ? ", " : "");
    if (o->wide_indices)
        text_add(out, "%sindices = 64", out->length ? ", " : "");
}

machine_model schedule_machine(const machine_model *row, const schedule_options *o) {
    machine_model m = *row;
    m.options = *o;
    if (o->vector && m.subgroup_lanes)
        m.widest_vector = o->vector;
    else if (o->vector)
        m.vector_lanes = o->vector;
    if (o->operand_warpgroups) {
        m.ring_bytes = m.warpgroup_bytes;
        m.stages = m.warpgroup_stages;
    }
    return m;
}
