/* Rows that the registers of a subgroup or of a block hold: for which lengths a kernel gets a form that reads them once (tile/hold.h). */
#include "tile/hold.h"
#include "schedule/lower.h"
#include <inttypes.h>
#include <string.h>

enum { LEAST_REGISTERS = 4 };

typedef struct planning {
    arena *arena;
    const tile_kernel *k;
    const machine_model *machine; /* with the schedule's options */
    const schedule_choice *choice;
    int rows_at;    /* the binding of the task tile that may be as long as there are subgroups, the innermost; -1: none */
    int64_t fixed;  /* rows that each subgroup has besides */
    int64_t length; /* of rows; -1: each launch's own */
    const char **why;
} planning;

static int binding_of(const planning *p, const index_expr *size) {
    for (int i = 0; size->op == IX_VAR && i < p->choice->bindings.count; i++)
        if (!strcmp(p->choice->bindings.at[i].name, size->var->name))
            return i;
    return -1;
}

/* Whether the loops' tiles are the compiler's choice, and which rows a block has. */
static bool survey_tiles(planning *p) {
    p->rows_at = -1;
    p->fixed = 1;
    for (int i = 0; i < p->k->ranges.count; i++) {
        const tile_range *r = p->k->ranges.at[i];
        int at = binding_of(p, r->size);
        int64_t size = at >= 0 ? p->choice->bindings.at[at].value : 1, extent;
        if (!r->is_task && at >= 0 && !p->choice->chosen.at[at]) {
            *p->why = "the tiles of its loops are given";
            return false;
        }
        if (!r->is_task || r->whole)
            continue;
        if (at >= 0 && p->choice->chosen.at[at])
            p->rows_at = at;
        else if (ix_is_const(r->size, &size) || at >= 0)
            p->fixed *= ix_is_const(r->extent, &extent) && extent < size ? extent : size;
        if (p->fixed > p->machine->row_registers) {
            *p->why = "a task has too many rows";
            return false;
        }
    }
    return true;
}

static int64_t power_below(int64_t x) {
    int64_t power = 1;
    while (power * 2 <= x)
        power *= 2;
    return x < 1 ? 0 : power;
}

/* The form for blocks of so many subgroups, each with rows of its own or all with one; false: nothing fits. */
static bool make_form(const planning *p, int subgroups, bool own_rows, row_form *out) {
    const char *why;
    for (int64_t halved = 1;; halved *= 2) {
        tile_held *h = tile_hold(p->arena, p->k, &why);
        if (!h) {
            *p->why = why;
            return false;
        }
        int64_t registers = power_below(p->machine->row_registers / (h->kept * p->fixed)) / halved;
        if (registers < LEAST_REGISTERS) {
            *p->why = "it keeps more of a row at a time than registers hold";
            return false;
        }
        *out = (row_form){.machine = *p->machine, .same = h->same, .kept = h->kept, .own_rows = own_rows};
        out->machine.subgroups = subgroups;
        out->most = registers * p->machine->subgroup_lanes * (own_rows ? 1 : subgroups);
        if (p->length > out->most)
            return false;
        tile_hold_size(h, out->most);
        tile_binding *bindings = NEW_ARRAY(p->arena, tile_binding, p->choice->bindings.count + 1);
        for (int i = 0; i < p->choice->bindings.count; i++)
            bindings[i] = p->choice->bindings.at[i];
        if (p->rows_at >= 0)
            bindings[p->rows_at].value = own_rows ? subgroups : 1;
        out->tiles = tile_specialise(p->arena, h->kernel, bindings, p->choice->bindings.count);
        if (schedule_fits(out->tiles, &out->machine))
            return true;
    }
}

row_form_list schedule_rows(arena *a, const tile_kernel *k, const machine_model *machine, const schedule_choice *choice,
                            const char **why) {
    row_form_list forms = {0};
    planning p = {.arena = a, .k = k, .machine = machine, .choice = choice, .length = -1, .why = why};
    *why = NULL;
    const index_expr *extent = machine->row_registers ? hold_extent(k, why) : NULL;
    if (!extent || !survey_tiles(&p))
        return forms;
    if (!ix_is_const(extent, &p.length) && (extent->op != IX_VAR || extent->var->kind != INDEX_SYMBOL)) {
        *why = "the length of its rows is computed";
        return forms;
    }
    row_form one, all;
    int asked = machine->options.subgroups, several = asked ? asked : machine->subgroups;
    int block = asked ? asked : machine->rereading_subgroups ? machine->rereading_subgroups : machine->subgroups;
    bool own_rows = p.rows_at >= 0 && several > 1;
    if (make_form(&p, own_rows ? several : 1, own_rows, &one) && (own_rows || asked < 2))
        VEC_PUSH(a, forms, one);
    if (!*why && block > 1 && (p.length < 0 || !forms.count) && make_form(&p, block, false, &all))
        VEC_PUSH(a, forms, all);
    return forms;
}

/* ---- their variants ---- */

static const tile_range *row_of(const tile_kernel *k) {
    for (int i = 0; i < k->body.items.count; i++)
        if (k->body.items.at[i]->kind == TILE_STMT_LOOP)
            return k->body.items.at[i]->range;
    return NULL;
}

/* The kernel's symbols in place of Tile IR's: those without a value, in order. */
static cond *at_launch(arena *a, const tile_kernel *k, const kernel_ir *ir, cond *c) {
    int at = 0;
    for (int i = 0; i < k->symbols.count; i++)
        if (!k->symbols.at[i]->has_value)
            c = cond_substitute(a, c, k->symbols.at[i], ix_var(a, ir->symbols.at[at++]));
    return cond_bind_constants(a, c);
}

/* above < extent <= most; a bound of 0 (none below) or INT64_MAX is left out. */
static cond *lengths(arena *a, index_expr *extent, int64_t above, int64_t most) {
    cond *c = above ? cond_compare(a, COND_LT, ix_const(a, above), extent) : NULL;
    return most < INT64_MAX ? cond_and(a, c, cond_compare(a, COND_LE, extent, ix_const(a, most))) : c;
}

static void say(arena *a, lowering *out, const lowering *of, int variant) {
    for (int i = 0; i < of->routes.count; i++)
        VEC_PUSH(a, out->routes, arena_printf(a, "variant %d: %s", variant, of->routes.at[i]));
}

static void say_form(arena *a, lowering *out, const row_form *f, const tile_range *row, int variant) {
    VEC_PUSH(a, out->routes,
             arena_printf(
                 a, "variant %d: rows of at most %" PRId64 " `%s` are read once, %d value%s of %s at a time in %s's registers",
                 variant, f->most, row->name, f->kept, f->kept == 1 ? "" : "s", f->kept == 1 ? "it" : "them",
                 f->own_rows || f->machine.subgroups == 1 ? "a subgroup" : "the block"));
}

/* A form's trees, by the values of the kernel that the oracle runs. */
static void add_trees(arena *a, lowering *out, const lowering *of, const row_form *f, int value_count, int range, int64_t above) {
    for (int i = 0; i < of->trees.count; i++)
        for (int v = 0; v < value_count; v++)
            if (f->same[v] == of->trees.at[i].value_id) {
                reduction_tree tree = of->trees.at[i];
                tree.value_id = v;
                tree.range = range;
                tree.above = above;
                tree.most = f->most;
                VEC_PUSH(a, out->trees, tree);
            }
}

bool lower_rows(arena *a, const tile_kernel *k, const machine_model *machine, const row_form_list *forms, lowering *out,
                diag_list *diags) {
    const tile_range *row = forms->count ? row_of(k) : NULL;
    bool always = row && ix_is_const(row->extent, NULL); /* then there is one form, for every launch */
    if (always)
        *out = (lowering){.plan = NULL};
    else if (!lower_kernel(a, k, machine, out, diags))
        return false;
    for (int i = 0; row && !always && i < out->trees.count; i++) {
        out->trees.at[i].range = row->id;
        out->trees.at[i].above = forms->at[forms->count - 1].most;
        out->trees.at[i].most = INT64_MAX;
    }
    int64_t above = -1;
    for (int i = 0; row && i < forms->count; i++) {
        const row_form *f = &forms->at[i];
        lowering of;
        if (!lower_kernel(a, f->tiles, &f->machine, &of, diags))
            return false;
        int variant = always ? 0 : i + 1;
        say_form(a, out, f, row, variant);
        say(a, out, &of, variant);
        add_trees(a, out, &of, f, k->value_count, row->id, above);
        if (always) {
            out->plan = of.plan;
            continue;
        }
        plan_variant v = of.plan->variants.at[0];
        v.predicate = at_launch(a, k, v.kernel, lengths(a, row->extent, above < 0 ? 0 : above, f->most));
        VEC_PUSH(a, out->plan->variants, v);
        above = f->most;
    }
    if (!row || always)
        return true;
    plan_variant *first = &out->plan->variants.at[0];
    first->predicate = at_launch(a, k, first->kernel, lengths(a, row->extent, above, INT64_MAX));
    return true;
}
