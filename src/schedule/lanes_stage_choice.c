/* Whether the operands of a product are staged in shared memory, seen from its structure alone: that any thread can compute their elements, that their tiles fit,
 * and that copying them pays. */
#include "schedule/lanes_fragment.h"
#include <stdlib.h>

static bool mentions_any(const cond *c, tile_range *const *list, int count, bool among, const tile_kernel *k) {
    for (int i = 0; i < k->ranges.count; i++) {
        const tile_range *r = k->ranges.at[i];
        bool listed = false;
        for (int n = 0; n < count; n++)
            listed = listed || list[n] == r;
        if (listed == among && range_capacity(r) != 1 && cond_mentions(c, r->var))
            return true;
    }
    return false;
}

bool lanes_bounds_contracted(const lower *l, const cond *c, const tile_value *product) {
    if (!c || c->op == COND_TRUE)
        return true;
    if (c->op == COND_AND)
        return lanes_bounds_contracted(l, c->a, product) && lanes_bounds_contracted(l, c->b, product);
    if (mentions_any(c, product->axes, product->axis_count, true, l->k))
        return false;
    if (!mentions_any(c, product->contract, product->contract_count, true, l->k))
        return true;
    return (c->op == COND_LE || c->op == COND_LT || c->op == COND_EQ) &&
           !mentions_any(c, product->contract, product->contract_count, false, l->k);
}

static const char *operand_refusal(lower *l, const tile_value *v, unsigned char *seen) {
    if (seen[v->id]++)
        return NULL;
    if (is_heavy(v))
        return "it holds a reduction, whose results lie in the registers of single threads";
    if (v->axis_count && (v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_PARAM))
        return "it reads a variable, which lies in the registers of single threads";
    if (v->axis_count && v->bound && l->uses[v->id] > 1 && !is_cheap(l, v))
        return "it is used elsewhere too and kept in registers";
    if (v->op == TILE_LOAD && v->array->role == ARRAY_UPDATE)
        return "it reads an array that the kernel updates";
    for (int i = 0; i < v->operand_count; i++) {
        const char *why = operand_refusal(l, v->operands[i], seen);
        if (why)
            return why;
    }
    return NULL;
}

const char *lanes_stage_operand_refusal(lower *l, const tile_value *v) {
    return operand_refusal(l, v, NEW_ARRAY(l->arena, unsigned char, l->value_count));
}

element_type lanes_staged_type(const lower *l, const tile_value *product) {
    if (lanes_rounds_later(l, product))
        return ELEMENT_F32;
    if (l->matrices[product->id]) /* matrix instructions take operands as they are */
        return l->matrices[product->id]->operand;
    return l->machine->options.operand_typed ? l->machine->options.operand_type : accumulator_type(product);
}

const char *lanes_stage_refusal(lower *l, const tile_value *product, const tile_range *rows, const tile_range *columns,
                                const tile_stmt *const *loops, int loop_count, int64_t *taken) {
    arena *a = l->arena;
    const tile_value *x = product->operands[0], *y = product->operands[1];
    if (!rows || !columns || !tile_has_axis(product, rows) || !tile_has_axis(product, columns) ||
        tile_has_axis(x, rows) == tile_has_axis(y, rows) || tile_has_axis(x, columns) == tile_has_axis(y, columns) ||
        tile_has_axis(x, rows) == tile_has_axis(x, columns))
        return "no thread shares an element with others: threads don't stand as rows and columns of this product";
    for (int i = 0; i < product->contract_count; i++) {
        bool around = false;
        for (int n = 0; n < loop_count; n++)
            around = around || loops[n]->range == product->contract[i];
        if (!around || product->contract[i]->whole)
            return arena_printf(a, "no loop goes over tiles of `%s`", product->contract[i]->name);
    }
    for (int n = 0; n < loop_count; n++)
        if (loops[n]->predicate && !lanes_bounds_contracted(l, loops[n]->predicate, product))
            return "a predicate says for single results what is summed";
    int64_t bytes = l->staged_bytes;
    for (int o = 0; o < 2; o++) {
        const tile_value *v = product->operands[o];
        const char *why = lanes_stage_operand_refusal(l, v);
        if (why)
            return arena_printf(a, "operand %d can't be computed by any thread: %s", o + 1, why);
        int64_t cells = 1;
        if (v->axis_count > MOST_STAGED_AXES)
            return "an operand has too many ranges";
        for (int i = 0; i < v->axis_count; i++) {
            int64_t capacity = range_capacity(v->axes[i]);
            if (capacity < 0)
                return arena_printf(a, "operand %d goes over all of `%s`, whose extent is not a compile-time constant", o + 1,
                                    v->axes[i]->name);
            bool padded = (v->axes[i] == rows || v->axes[i] == columns) && !lanes_by_reference(l, product);
            cells = cells > INT32_MAX ? cells : cells * (capacity + (padded ? 4 : 0));
        }
        bytes += cells * element_table[lanes_staged_type(l, product)].block_bytes;
    }
    /* Sizes that the compiler chose may still become smaller. */
    if (l->machine->options.operands == OPERANDS_CHOSEN && bytes > l->machine->shared_bytes)
        return arena_printf(a, "tiles would take %lld bytes of shared memory, a block has %lld", (long long)bytes,
                            (long long)l->machine->shared_bytes);
    *taken = bytes;
    return NULL;
}

/* Whether a copy is better than what it is made of, wherever it lies: computed or converted once, or in vectors where memory has none. */
static bool better_copied(lower *l, const tile_value *product, const tile_range *columns) {
    for (int o = 0; o < 2; o++) {
        tile_value *x = product->operands[o];
        if (x->type != accumulator_type(product) || !is_cheap(l, x) ||
            (tile_has_axis(x, columns) && vector_score(l, x, columns) <= 0))
            return true;
    }
    return false;
}

void lanes_stage_decide(lower *l, const tile_value *product, const tile_range *rows, const tile_range *columns,
                        const tile_stmt *const *loops, int loop_count) {
    const operand_choice choice = l->machine->options.operands;
    int64_t taken = 0;
    const char *unfit = NULL, *why;
    bool wanted = choice == OPERANDS_CHOSEN || operands_by_fragments(choice);
    const matrix_instruction *with = wanted ? lanes_fragment_row(l, product, rows, columns, &unfit) : NULL;
    if (with && choice != OPERANDS_FRAGMENTS_STAGED && (l->machine->direct_fragments || choice == OPERANDS_FRAGMENTS_DIRECT)) {
        const bool ahead = l->machine->held_stages && l->machine->options.stages > 1 && choice != OPERANDS_FRAGMENTS_DIRECT;
        why = ahead ? "tiles are copied a step ahead" : lanes_direct_refusal(l, product, with, rows, columns, loops, loop_count);
        if (!why) {
            l->matrices[product->id] = with;
            l->stages[product->id] = l->direct[product->id] = true;
            l->out->matrix_products++;
            return;
        }
        if (choice == OPERANDS_FRAGMENTS_DIRECT) {
            with = NULL;
            unfit = why;
        } else {
            VEC_PUSH(l->arena, l->out->routes,
                     arena_printf(l->arena, "line %d: fragments of dot loaded straight from memory, refused: %s",
                                  product->span.line, why));
        }
    }
    if (with) {
        l->matrices[product->id] = with;
        unfit = lanes_stage_refusal(l, product, rows, columns, loops, loop_count, &taken);
        if (!unfit) {
            l->stages[product->id] = 1;
            l->ring_bytes[product->id] = taken - l->staged_bytes;
            l->staged_bytes = taken;
            l->out->matrix_products++;
            return;
        }
        l->matrices[product->id] = NULL;
    }
    if (unfit && operands_by_fragments(choice)) {
        const source_span at = l->machine->options.operands_at;
        diag *g = diag_error(l->diags, "E0506", at.line ? at : product->span, "the product in line %d can't be made of fragments",
                             product->span.line);
        diag_caret(l->diags, g,
                   l->machine->options.operand_warpgroups ? "leave it out, or say fragments"
                                                          : "leave it out, or say staged or direct");
        diag_note(l->diags, g, "%s", unfit);
        l->failed = true;
        return;
    }
    if (unfit && l->machine->matrices.count)
        VEC_PUSH(l->arena, l->out->routes,
                 arena_printf(l->arena, "line %d: dot by multiply-adds of single elements, refused: fragments: %s",
                              product->span.line, unfit));
    why = lanes_stage_refusal(l, product, rows, columns, loops, loop_count, &taken);
    bool two_sided = rows && columns && tile_has_axis(product, rows) && tile_has_axis(product, columns);
    if (!why && (choice == OPERANDS_STAGED ||
                 (choice == OPERANDS_CHOSEN && (l->machine->staging_pays || better_copied(l, product, columns))))) {
        l->stages[product->id] = 1;
        l->staged_bytes = taken;
        return;
    }
    if (choice == OPERANDS_STAGED) {
        const source_span at = l->machine->options.operands_at;
        diag *g = diag_error(l->diags, "E0506", at.line ? at : product->span,
                             "operands of the product in line %d can't be staged", product->span.line);
        diag_caret(l->diags, g, "the nearest legal value is direct");
        diag_note(l->diags, g, "%s", why);
        l->failed = true;
        return;
    }
    if (!why)
        why = choice == OPERANDS_DIRECT
                  ? "the schedule says so"
                  : "copies would be the same elements in the same order, and shared memory may be no nearer";
    if (two_sided || choice == OPERANDS_DIRECT)
        VEC_PUSH(l->arena, l->out->routes,
                 arena_printf(l->arena, "line %d: operands of dot read directly: %s", product->span.line, why));
}

bool lanes_staged(const lower *l, const tile_value *product) {
    return product->op == TILE_DOT && l->stages[product->id];
}
