/* Choosing tile sizes: what the command line says, else the module's schedule for the target, else the compiler from the kernel's shape. */
#include "schedule/lower.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_TILE = 1 << 20, MOST_UNROLLED = 1200, MOST_OF_HALF = 2000 };
/* Registers of a thread that accumulators of matrix instructions may take: half of what there are, and a fragment for what is stored. */
/* A chain of products (lanes_chain.h) has more of them at a time, and nothing else. */
enum { MOST_ACCUMULATED = 128 + 8, MOST_OF_WARPGROUP = 192 + 8, MOST_OF_CHAIN = 192 + 8, CHAIN_TILE = 64, LEAST_OF_CHAIN = 32 };

/* What a range does in the kernel: decides the size of its tiles. */
typedef struct range_role {
    bool product_rows, product_columns; /* a result range of a product with ranges on both sides */
    bool vector_rows;                   /* a result range of a matrix-vector product */
    bool contracted, contracted_twice_sided;
    bool reduced;
    bool contiguous; /* the last index of some access */
    bool strided;    /* an index of some access, not the last */
    bool joined;     /* its loop joins a state */
    int bytes;       /* contracted: of the widest element that a product reads along it */
} range_role;

typedef struct survey {
    arena *arena;
    const tile_kernel *k;
    range_role *roles;
    unsigned char *seen;
    const matrix_table *matrices;
    bool matrix_types; /* some product's operands are of a matrix instruction's type */
    bool chains;       /* what a product gives is summed by another, and joins a state */
} survey;

static bool only_in(const tile_value *x, const tile_value *y, const tile_range *r) {
    return tile_has_axis(x, r) && !tile_has_axis(y, r);
}

static void last_index(survey *s, index_expr **indices, int rank) {
    for (int i = 0; rank > 0 && i < s->k->ranges.count; i++)
        for (int d = 0; d < rank; d++)
            if (ix_mentions(indices[d], s->k->ranges.at[i]->var))
                *(d == rank - 1 ? &s->roles[i].contiguous : &s->roles[i].strided) = true;
}

static bool is_one(const tile_range *r) {
    int64_t size;
    return ix_is_const(r->size, &size) && size == 1;
}

bool product_is_two_sided(const tile_value *v) {
    const tile_value *x = v->operands[0], *y = v->operands[1];
    bool left = false, right = false;
    for (int i = 0; i < v->axis_count; i++) {
        left = left || (only_in(x, y, v->axes[i]) && !is_one(v->axes[i]));
        right = right || (only_in(y, x, v->axes[i]) && !is_one(v->axes[i]));
    }
    return left && right;
}

static int widest_load(const tile_value *v) {
    int most = v->op == TILE_LOAD ? element_table[v->array->type].block_bytes : 0;
    for (int i = 0; i < v->operand_count; i++) {
        int inner = widest_load(v->operands[i]);
        most = inner > most ? inner : most;
    }
    return most;
}

static void survey_value(survey *s, const tile_value *v) {
    if (s->seen[v->id]++)
        return;
    if (v->op == TILE_LOAD)
        last_index(s, v->indices, v->array->rank);
    if (v->range)
        s->roles[v->range->id].reduced = true;
    if (v->op == TILE_DOT) {
        const tile_value *x = v->operands[0], *y = v->operands[1];
        bool two_sided = product_is_two_sided(v);
        s->matrix_types = s->matrix_types || (two_sided && matrix_row_of(s->matrices, x->type, accumulator_type(v)));
        for (int i = 0; i < v->axis_count; i++) {
            range_role *role = &s->roles[v->axes[i]->id];
            role->product_rows = role->product_rows || (two_sided && only_in(x, y, v->axes[i]));
            role->product_columns = role->product_columns || (two_sided && only_in(y, x, v->axes[i]));
            role->vector_rows = role->vector_rows || !two_sided;
        }
        for (int i = 0; i < v->contract_count; i++) {
            s->roles[v->contract[i]->id].contracted = true;
            s->roles[v->contract[i]->id].bytes = widest_load(v);
            if (two_sided)
                s->roles[v->contract[i]->id].contracted_twice_sided = true;
        }
    }
    for (int i = 0; i < v->operand_count; i++)
        survey_value(s, v->operands[i]);
}

static void survey_block(survey *s, const tile_block *b, const tile_range *loop) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *t = b->items.at[i];
        if (t->value)
            survey_value(s, t->value);
        if (t->kind == TILE_STMT_JOIN) {
            for (int f = 0; f < t->variable->field_count; f++)
                survey_value(s, t->values[f]);
            if (loop)
                s->roles[loop->id].joined = true;
        }
        if (t->kind == TILE_STMT_STORE)
            last_index(s, t->indices, t->array->rank);
        if (t->kind == TILE_STMT_LOOP)
            survey_block(s, &t->body, t->range);
    }
}

/* The compiler's size for a range's tiles, before the budget is looked at. */
static int64_t proposed(const survey *s, const tile_range *r, bool several_wide) {
    const range_role *role = &s->roles[r->id];
    if (role->joined)
        return 64;
    if (role->contracted)
        return role->contracted_twice_sided ? 256 : 1024;
    if (role->product_rows || role->product_columns)
        return role->contiguous ? 256 : 96;
    if (role->vector_rows)
        return r->is_task ? 64 : 16;
    if (role->reduced)
        return 4096;
    if (!r->is_task)
        return 2048;
    if (role->contiguous && role->strided) /* rows with a result of their own, and both sides of a transpose */
        return 32;
    return role->contiguous ? several_wide ? 1024 : 8192 : 4;
}

/* Bounds of the range's elements in the condition: lo <= r and r < end. */
typedef struct range_bounds {
    arena *arena;
    const tile_range *r;
    VEC(index_expr *) lo, end;
} range_bounds;

static void bounds_in(range_bounds *b, const cond *c) {
    if (c && c->op == COND_AND) {
        bounds_in(b, c->a);
        bounds_in(b, c->b);
    }
    if (!c || (c->op != COND_LE && c->op != COND_LT))
        return;
    index_expr *one = ix_const(b->arena, 1);
    bool is_end = c->x->op == IX_VAR && c->x->var == b->r->var, is_lo = c->y->op == IX_VAR && c->y->var == b->r->var;
    if (is_end)
        VEC_PUSH(b->arena, b->end, c->op == COND_LT ? c->y : ix_add(b->arena, c->y, one));
    if (is_lo)
        VEC_PUSH(b->arena, b->lo, c->op == COND_LE ? c->x : ix_add(b->arena, c->x, one));
}

/* end - lo, when that is a constant whatever the task is; 0: it isn't. */
static int64_t constant_apart(arena *a, const tile_kernel *k, index_expr *lo, index_expr *end) {
    int64_t by_lo, by_end, apart;
    for (int i = 0; i < k->task.count; i++) {
        index_expr *rest_lo, *rest_end;
        const index_var *v = k->task.at[i]->var;
        if (!ix_coefficient(a, lo, v, &by_lo, &rest_lo) || !ix_coefficient(a, end, v, &by_end, &rest_end) || by_lo != by_end)
            return 0;
        lo = rest_lo;
        end = rest_end;
    }
    return ix_is_const(ix_sub(a, end, lo), &apart) && apart > 0 ? apart : 0;
}

/* The most elements that a task's loop goes over, when its predicate says so by two bounds a constant apart; 0: not known. */
static int64_t loop_span(arena *a, const tile_kernel *k, const tile_stmt *loop) {
    range_bounds b = {.arena = a, .r = loop->range};
    int64_t least = 0;
    bounds_in(&b, loop->predicate);
    for (int i = 0; i < b.lo.count; i++)
        for (int j = 0; j < b.end.count; j++) {
            int64_t apart = constant_apart(a, k, ix_bind_constants(a, b.lo.at[i]), ix_bind_constants(a, b.end.at[j]));
            least = apart && (!least || apart < least) ? apart : least;
        }
    return least;
}

/* Elements of a tile that one subgroup takes of a dealt loop: each has one where a task goes over few. */
static int64_t dealt_tile(const survey *s, const tile_stmt *loop, const machine_model *machine) {
    int64_t span = loop_span(s->arena, s->k, loop), size = 8;
    while (size > 1 && span > 0 && size * machine->subgroups > span)
        size /= 2;
    return size;
}

/* The same for a block of threads: tiles hold a few elements for each of them. */
static int64_t proposed_for_threads(const survey *s, const tile_range *r, const machine_model *machine, bool matrices) {
    const range_role *role = &s->roles[r->id];
    int64_t threads = (int64_t)machine->subgroup_lanes * machine->subgroups;
    if (matrices && s->chains && (role->joined || (r->is_task && (role->product_rows || role->product_columns))))
        return CHAIN_TILE;
    const tile_stmt *dealt = role->joined ? dealt_loop(s->k) : NULL;
    bool is_dealt = dealt && dealt->range == r; /* a tile is one subgroup's */
    if (role->joined)                           /* along the lanes where memory is */
        return role->contiguous && !role->strided && !role->contracted ? 8 * threads
               : is_dealt                                              ? dealt_tile(s, dealt, machine)
                                                                       : 8 * machine->subgroups;
    bool few = machine->options.tasks == TASKS_FEW;
    if (role->contracted_twice_sided)
        return machine->options.operand_warpgroups   ? SWIZZLED_BYTES / (role->bytes == 1 ? 1 : 2)
               : role->bytes > 2 && role->bytes <= 8 ? 16
                                                     : 32; /* a whole block of block formats */
    if (role->contracted) /* two loads of 16 bytes of f16 are under way in each thread (more leave more of a row to the guarded end), and several of blocks */
        return (role->bytes > 4 ? 32 : 16) * machine->subgroup_lanes * (few ? machine->subgroups : 1);
    if (role->product_rows || role->product_columns)
        return !matrices ? 64 : machine->matrix_tile ? machine->matrix_tile : 128;
    if (role->vector_rows)
        return !r->is_task ? 16 : few ? 1 : machine->subgroups;
    if (role->reduced || !r->is_task)
        return 8 * threads;
    return role->contiguous && !role->strided ? 8 * threads : 1;
}

static tile_range *range_of(const tile_kernel *k, const index_var *symbol, int *count) {
    tile_range *found = NULL;
    *count = 0;
    for (int i = 0; i < k->ranges.count; i++) {
        const index_expr *size = k->ranges.at[i]->size;
        if (size->op == IX_VAR && size->var == symbol) {
            found = k->ranges.at[i];
            ++*count;
        }
    }
    return found;
}

static bool legal_size(const char *name, int64_t value, source_span span, diag_list *diags) {
    if (value >= 1 && value <= LARGEST_TILE)
        return true;
    diag *g = diag_error(diags, "E0501", span, "tile size %s = %lld is outside 1 .. %d", name, (long long)value, LARGEST_TILE);
    diag_caret(diags, g, "the nearest legal value is %d", value < 1 ? 1 : LARGEST_TILE);
    return false;
}

static index_var *find_tile(const tile_kernel *k, const char *name) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE && !strcmp(k->symbols.at[i]->name, name))
            return k->symbols.at[i];
    return NULL;
}

static void list_tiles(const tile_kernel *k, text_buffer *out) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE)
            text_add(out, "%s%s", out->length ? ", " : "", k->symbols.at[i]->name);
}

static void unknown_key(const tile_kernel *k, const char *key, source_span span, const machine_model *machine, diag_list *diags) {
    static const char *const elsewhere[] = {"vector", "subgroups", "operands", "tasks",   "indices", "matrix_access",
                                            "roles",  "stages",    "swizzle",  "cluster", "promote"};
    text_buffer names = {0};
    list_tiles(k, &names);
    diag *g;
    bool known = false;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        known = known || !strcmp(elsewhere[i], key);
    if (known)
        g = diag_error(diags, "E0503", span, "`%s` is not a choice that target %s has", key, machine->target);
    else
        g = diag_error(diags, "E0502", span, "kernel `%s` has no tile size named `%s`", k->name, key);
    diag_caret(diags, g, "its tile sizes: %s", names.length ? text_get(&names) : "none");
    text_buffer options = {0};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (option_target_has(machine, elsewhere[i]))
            text_add(&options, "%s%s", options.length ? ", " : "", elsewhere[i]);
    diag_note(diags, g, "the options of target %s: %s", machine->target, text_get(&options));
    text_free(&options);
    text_free(&names);
}

const tile_schedule *module_schedule(const tile_module *m, const tile_kernel *k, const char *target) {
    const tile_schedule *found = NULL;
    const char *name = k->origin ? k->origin : k->name;
    for (int i = 0; m && i < m->schedules.count; i++) {
        const tile_schedule *s = m->schedules.at[i];
        if (strcmp(s->kernel, name))
            continue;
        if (s->target && !strcmp(s->target, target))
            return s;
        if (!s->target && !found)
            found = s;
    }
    return found;
}

typedef struct choice {
    index_var *symbol;
    int64_t value;
    bool chosen_here; /* by the compiler: may be made smaller to fit */
    bool of_loop;
} choice;

/* What a kernel takes with some sizes. */
typedef struct need {
    int64_t bytes;       /* of private memory, or of shared memory for a block of threads */
    int64_t statements;  /* with unrolled loops written out */
    int64_t accumulated; /* registers of a thread, where matrix instructions are used */
    int matrix_products;
    bool ringed; /* and operands are copied ahead */
    bool chained;
} need;

/* Operations of a value: what lanes hand to each other takes a step for each halving of the subgroup. */
static int64_t operations(const kernel_value *v) {
    int64_t sum = v->op == KERNEL_SUBGROUP_SUM || v->op == KERNEL_SUBGROUP_MAX || v->op == KERNEL_SUBGROUP_MIN ? 8 : 0;
    for (int i = 0; i < v->operand_count; i++)
        sum += operations(v->operands[i]);
    return sum;
}

/* Statements of a thread once its unrolled loops are written out. */
static int64_t unrolled_statements(const kernel_block *b) {
    int64_t sum = 0;
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        int64_t inside = unrolled_statements(&s->body) + unrolled_statements(&s->otherwise), lo, hi, step;
        if (s->kind == KSTMT_FOR && s->unroll && ix_is_const(s->lo, &lo) && ix_is_const(s->hi, &hi) &&
            ix_is_const(s->step, &step) && step > 0 && hi > lo)
            inside *= (hi - lo + step - 1) / step;
        sum += s->kind == KSTMT_LET || s->kind == KSTMT_STORE ? 1 + operations(s->value) : inside;
        if (sum > INT32_MAX)
            return INT32_MAX;
    }
    return sum;
}

static int64_t accumulated(const kernel_ir *k, int lanes, int warpgroup) {
    int64_t sum = 0;
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (f->role == FRAGMENT_ACCUMULATOR && f->holder == LEVEL_WARPGROUP) /* halves go in pairs */
            sum += (int64_t)f->rows * f->columns * f->count * element_table[f->element].block_bytes / (4 * lanes * warpgroup);
        else if (f->role == FRAGMENT_ACCUMULATOR)
            sum += (int64_t)f->rows * f->columns * f->count / lanes;
    }
    for (int i = 0; sum && i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        int64_t cells = a->space == SPACE_REGISTER ? kernel_array_cells(a) : 0;
        sum += cells > 0 ? cells * a->lanes : 0;
    }
    return sum;
}

static bool needs_bound(arena *a, const tile_kernel *bound, const machine_model *machine, need *out, diag_list *diags) {
    lowering low;
    if (!lower_kernel(a, bound, machine, &low, diags) ||
        (machine->options.producer && !lower_roles(a, bound, machine, &low, diags)))
        return false;
    const kernel_ir *ir = low.plan->variants.at[0].kernel;
    *out = (need){machine->subgroup_lanes ? kernel_shared_bytes(ir) : kernel_private_bytes(ir),
                  unrolled_statements(&ir->body),
                  ir->fragments.count && machine->subgroup_lanes
                      ? accumulated(ir, machine->subgroup_lanes, machine->warpgroup_subgroups)
                      : 0,
                  low.matrix_products,
                  low.ringed,
                  low.chained};
    return true;
}

/* False when it can't be lowered (then `diags` says why). */
static bool needs(const tile_kernel *k, const machine_model *machine, const choice *choices, int count, need *out,
                  diag_list *diags) {
    arena *a = arena_new();
    tile_binding *bindings = NEW_ARRAY(a, tile_binding, count);
    for (int i = 0; i < count; i++)
        bindings[i] = (tile_binding){choices[i].symbol->name, choices[i].value};
    diag_list quiet;
    diag_init(&quiet, a);
    bool lowered = needs_bound(a, tile_specialise(a, k, bindings, count), machine, out, &quiet);
    for (int i = 0; !lowered && i < quiet.items.count && diags; i++) {
        const diag *g = quiet.items.at[i];
        diag *copy = diag_error(diags, g->code, g->span, "%s", g->message);
        if (g->caret)
            diag_caret(diags, copy, "%s", g->caret);
        for (int n = 0; n < g->notes.count; n++)
            diag_note(diags, copy, "%s", g->notes.at[n]);
    }
    arena_free(a);
    return lowered;
}

/* The same, for memory alone; -1 when it can't be lowered. */
static int64_t bytes_needed(const tile_kernel *k, const machine_model *machine, const choice *choices, int count) {
    need n;
    return needs(k, machine, choices, count, &n, NULL) ? n.bytes : -1;
}

static int64_t bytes_there(const machine_model *m, const need *n) {
    return (n->ringed || n->chained) && m->ring_bytes ? m->ring_bytes : m->subgroup_lanes ? m->shared_bytes : m->private_bytes;
}

bool schedule_fits(const tile_kernel *bound, const machine_model *machine) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    need n;
    bool fits =
        needs_bound(a, bound, machine, &n, &quiet) && n.bytes <= bytes_there(machine, &n) && n.statements <= MOST_UNROLLED;
    arena_free(a);
    return fits;
}

/* Every slot of a range is written out, since registers can't be indexed: smaller tiles until a thread's text is of a length that compilers and
 * instruction caches like, each time of the range whose tiles save most. */
static void shorten(const tile_kernel *k, const machine_model *machine, choice *choices, int count, int64_t statements) {
    /* Halves of a split loop make few trips: one with more under way is worth a longer text. */
    const int64_t most = k->origin && dealt_loop(k) ? MOST_OF_HALF : MOST_UNROLLED;
    while (statements > most) {
        int best = -1;
        for (int i = 0; i < count; i++) {
            int64_t size = choices[i].value;
            need with;
            if (!choices[i].chosen_here || size < 2)
                continue;
            choices[i].value = (size + 1) / 2;
            if (needs(k, machine, choices, count, &with, NULL) && with.bytes <= bytes_there(machine, &with) &&
                with.statements < statements) {
                best = i;
                statements = with.statements;
            }
            choices[i].value = size;
        }
        if (best < 0)
            return;
        choices[best].value = (choices[best].value + 1) / 2;
    }
}

static bool fit(const tile_kernel *k, const machine_model *machine, choice *choices, int count, source_span span,
                diag_list *diags) {
    for (int round = 0; round < 200; round++) {
        need now;
        if (!needs(k, machine, choices, count, &now, diags))
            return false;
        int64_t bytes = now.bytes;
        int largest = -1;
        for (int i = 0; i < count; i++)
            if (choices[i].chosen_here && choices[i].value > 1 && (largest < 0 || choices[i].value > choices[largest].value))
                largest = i;
        for (int i = 0; now.chained && i < count; i++) /* fewer rows leave subgroups without any */
            if (choices[i].chosen_here && choices[i].of_loop && choices[i].value > LEAST_OF_CHAIN)
                largest = i;
        const int64_t most = now.chained                           ? MOST_OF_CHAIN
                             : machine->options.operand_warpgroups ? MOST_OF_WARPGROUP
                                                                   : MOST_ACCUMULATED;
        if (bytes <= bytes_there(machine, &now) && (now.accumulated <= most || largest < 0)) {
            if (machine->subgroup_lanes)
                shorten(k, machine, choices, count, now.statements);
            return true;
        }
        if (largest >= 0) {
            choices[largest].value = (choices[largest].value + 1) / 2;
            continue;
        }
        diag *g =
            diag_error(diags, "E0505", span, "schedule for %s needs %lld bytes of %s memory for each task, the device has %lld",
                       machine->target, (long long)bytes, machine->subgroup_lanes ? "shared" : "private",
                       (long long)bytes_there(machine, &now));
        for (int i = 0; i < count; i++) {
            choice smaller[64];
            if (count > 64 || choices[i].value < 2)
                continue;
            memcpy(smaller, choices, sizeof *choices * (size_t)count);
            for (smaller[i].value /= 2;
                 smaller[i].value > 1 && bytes_needed(k, machine, smaller, count) > bytes_there(machine, &now);)
                smaller[i].value /= 2;
            int64_t saved = bytes - bytes_needed(k, machine, smaller, count);
            if (saved > 0)
                diag_note(diags, g, "%s = %lld -> %lld saves %lld bytes", choices[i].symbol->name, (long long)choices[i].value,
                          (long long)smaller[i].value, (long long)saved);
        }
        return false;
    }
    return false;
}

const char *joined_words(arena *a, const tile_schedule_entry *e) {
    text_buffer text = {0};
    for (int i = 0; i < e->words.count; i++)
        text_add(&text, "%s", e->words.at[i]);
    const char *joined = arena_strdup(a, text_get(&text));
    text_free(&text);
    return joined;
}

static bool whole_number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !*end && !errno;
}

static void set_tile(choice *choices, int count, const index_var *symbol, const schedule_setting *s, source_span span,
                     diag_list *diags) {
    int64_t value;
    if (!whole_number(s->value, &value)) {
        diag *g = diag_error(diags, "E0501", span, "tile size %s must be an integer", s->key);
        diag_caret(diags, g, "an integer, 1 .. %d", LARGEST_TILE);
        return;
    }
    for (int i = 0; i < count; i++)
        if (choices[i].symbol == symbol && legal_size(s->key, value, span, diags)) {
            choices[i].value = value;
            choices[i].chosen_here = false;
        }
}

typedef VEC(schedule_setting) setting_list;

/* The compiler's size for each of the kernel's tile sizes. */
static int propose(const survey *s, const machine_model *machine, bool matrices, bool several_wide, choice *choices) {
    int count = 0;
    for (int i = 0; i < s->k->symbols.count; i++) {
        index_var *symbol = s->k->symbols.at[i];
        if (symbol->kind != INDEX_TILE)
            continue;
        int users;
        const tile_range *r = range_of(s->k, symbol, &users);
        choices[count++] = (choice){symbol,
                                    !r                        ? 1
                                    : machine->subgroup_lanes ? proposed_for_threads(s, r, machine, matrices)
                                                              : proposed(s, r, several_wide),
                                    true, r && !r->is_task};
    }
    return count;
}

bool schedule_choose_settings(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                              const schedule_setting *settings, int setting_count, schedule_choice *out, diag_list *diags) {
    int errors = diags->errors, count = 0;
    *out = (schedule_choice){0};
    const tile_schedule *given = module_schedule(m, k, row->target);
    source_span span = given && given->entries.count ? given->span : k->span;
    /* The module's first: what is set over it replaces it. */
    setting_list all = {0};
    for (int e = 0; given && e < given->entries.count; e++) {
        const tile_schedule_entry *entry = &given->entries.at[e];
        schedule_setting s = {entry->key, joined_words(a, entry), entry->span};
        VEC_PUSH(a, all, s);
    }
    for (int i = 0; i < setting_count; i++)
        VEC_PUSH(a, all, settings[i]);
    for (int i = 0; i < all.count; i++) {
        const schedule_setting *s = &all.at[i];
        option_place place = {k, row, s->span.line ? s->span : k->span, diags};
        if (find_tile(k, s->key))
            continue;
        bool of_source = i < all.count - setting_count;
        if (k->origin && of_source && !schedule_has_option(k, s->key))
            continue; /* for the other half, or for the whole */
        if (option_target_has(row, s->key))
            option_set(&place, s, &out->options);
        else
            unknown_key(k, s->key, place.span, row, diags);
    }
    const machine_model wanted = schedule_machine(row, &out->options), own = block_machine(a, k, &wanted), *machine = &own;
    survey s = {
        a,     k,    NEW_ARRAY(a, range_role, k->ranges.count), NEW_ARRAY(a, unsigned char, k->value_count), &machine->matrices,
        false, false};
    survey_block(&s, &k->body, NULL);
    for (int i = 0; i < k->ranges.count; i++)
        s.chains = s.chains || (s.roles[i].joined && s.roles[i].contracted_twice_sided && s.roles[i].product_columns);
    int wide = 0;
    for (int i = 0; i < k->task.count; i++)
        wide += !is_one(k->task.at[i]) && !k->task.at[i]->whole;
    choice *choices = NEW_ARRAY(a, choice, k->symbols.count);
    /* With tiles for matrix instructions first, if they may be used; where nothing came of it, as if there were none. */
    bool matrices = machine->matrices.count && s.matrix_types, settled = false;
    while (!settled) {
        need with = {0};
        count = propose(&s, machine, matrices, wide > 1, choices);
        for (int i = 0; i < all.count; i++) {
            const index_var *symbol = find_tile(k, all.at[i].key);
            if (symbol)
                set_tile(choices, count, symbol, &all.at[i], all.at[i].span.line ? all.at[i].span : k->span, diags);
        }
        if (diags->errors > errors)
            return false;
        settled = !matrices || (needs(k, machine, choices, count, &with, NULL) && with.matrix_products);
        matrices = false;
    }
    if (!fit(k, machine, choices, count, span, diags))
        return false;
    text_buffer text = {0};
    for (int i = 0; i < count; i++) {
        tile_binding b = {choices[i].symbol->name, choices[i].value};
        VEC_PUSH(a, out->bindings, b);
        VEC_PUSH(a, out->chosen, choices[i].chosen_here);
        text_add(&text, "%s%s = %lld%s", i ? ", " : "", b.name, (long long)b.value, choices[i].chosen_here ? " (chosen)" : "");
    }
    options_print(&text, &out->options);
    out->text = arena_strdup(a, text_get(&text));
    text_free(&text);
    return true;
}

schedule_setting *schedule_settings_of(arena *a, const tile_binding *bindings, int count) {
    schedule_setting *settings = NEW_ARRAY(a, schedule_setting, count + 1);
    for (int i = 0; i < count; i++)
        settings[i] = (schedule_setting){.key = bindings[i].name, .value = arena_printf(a, "%lld", (long long)bindings[i].value)};
    return settings;
}

bool schedule_choose(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *machine,
                     const tile_binding *overrides, int override_count, schedule_choice *out, diag_list *diags) {
    return schedule_choose_settings(a, m, k, machine, schedule_settings_of(a, overrides, override_count), override_count, out,
                                    diags);
}
