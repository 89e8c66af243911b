/* Variables: declared, combined, joined. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

static void forget_forms(variable_state *s, int field) {
    tensor *t = s->fields[field];
    tensor_free(t->settled);
    tensor_free(t->plain);
    t->settled = t->plain = NULL;
    tensor_free(s->reference);
    s->reference = NULL;
}

void variable_drop(oracle *o, const tile_variable *x) {
    variable_state *s = &o->variables[x->id];
    for (int f = 0; s->fields && f < x->field_count; f++)
        tensor_free(s->fields[f]);
    tensor_free(s->reference);
    free(s->fields);
    memset(s, 0, sizeof *s);
}

bool variable_declare(oracle *o, const tile_variable *x) {
    variable_drop(o, x);
    variable_state *s = &o->variables[x->id];
    tensor **fields = calloc((size_t)x->field_count, sizeof *fields);
    if (!fields)
        return false;
    bool ok = true;
    for (int f = 0; f < x->field_count && ok; f++) {
        tensor *t = evaluate_plain(o, x->empty[f]);
        if (t)
            t = tensor_expand(o, t, (const tile_range *const *)x->axes[f], x->axis_counts[f]);
        fields[f] = t ? tensor_copy_owned(o, t) : NULL;
        ok = fields[f] != NULL;
        if (ok)
            fields[f]->type = x->types[f];
    }
    s->fields = fields;
    s->depth = o->loop_count;
    if (!ok)
        variable_drop(o, x);
    return ok;
}

/* How many partial sums of the emitted loops this execution of an update stands for. */
static double emitted_trips(const oracle *o, const variable_state *s) {
    double trips = 1;
    for (int i = s->depth; i < o->loop_count; i++) {
        int id = o->loops[i]->range->id;
        int64_t size = o->size[id] > 0 ? o->size[id] : 1, end = o->start[id] + o->length[id];
        trips *= (double)((end + size - 1) / size - (o->start[id] + size - 1) / size);
    }
    return trips;
}

static bool is_zero(const tensor *t) {
    if (t->e)
        return false;
    for (int64_t i = 0; i < t->count; i++)
        if (t->v[i] != 0)
            return false;
    return true;
}

static bool replace_field(oracle *o, variable_state *s, const tensor *by) {
    tensor *copy = tensor_copy_owned(o, by);
    if (!copy)
        return false;
    tensor_free(s->fields[0]);
    s->fields[0] = copy;
    return true;
}

/* The running sum takes in a partial one: value, errors and magnitudes separately. */
static bool add_floats(oracle *o, variable_state *s, tensor *part) {
    if (part->tag.count != s->fields[0]->tag.count || !tag_same(&part->tag, &s->fields[0]->tag)) {
        if (is_zero(s->fields[0]) && part->tag.multiplies) {
            s->fields[0]->tag = part->tag; /* zero is relative to anything */
        } else {
            part = tensor_plain(o, part);
            tensor *mine = tensor_plain(o, s->fields[0]);
            if (!part || !mine)
                return false;
            pending carried = s->fields[0]->sum;
            if (mine != s->fields[0] && !replace_field(o, s, mine))
                return false;
            carried.s = NULL;
            carried.quantum = 0;
            s->fields[0]->sum = carried;
        }
    }
    tensor *t = s->fields[0];
    double trips = emitted_trips(o, s);
    if (!t->sum.s) {
        t->sum.s = tensor_numbers(t->count);
        for (int64_t i = 0; i < t->count; i++)
            t->sum.s[i] = isfinite(t->v[i]) ? fabs(t->v[i]) : 0;
        t->sum.quantum = t->e ? 0 : common_quantum(t->v, t->count, 24);
        t->sum.n += is_zero(t) ? 0 : 1;
    }
    if (part->sum.s) {
        pending_merge(&t->sum, &part->sum);
        t->sum.n += part->sum.n;
    } else {
        t->sum.quantum = fmin(t->sum.quantum, part->e ? 0 : common_quantum(part->v, part->count, 24));
        t->sum.n += trips;
    }
    t->sum.trips += trips;
    if (part->e && !t->e) {
        t->e = tensor_numbers(t->count);
        for (int64_t i = 0; i < t->count; i++)
            t->e[i] = 0;
    }
    for (int64_t i = 0; i < t->count; i++) {
        double s_part = part->sum.s ? part->sum.s[i] : isfinite(part->v[i]) ? fabs(part->v[i]) : 0;
        t->v[i] += part->v[i];
        t->sum.s[i] += s_part;
    }
    if (part->e)
        for (int64_t i = 0; i < t->count; i++)
            t->e[i] += part->e[i];
    return true;
}

bool variable_update(oracle *o, const tile_stmt *u) {
    const tile_variable *x = u->variable;
    variable_state *s = &o->variables[x->id];
    if (!s->fields) {
        oracle_fail(o, "E0704", u->span, "kernel `%s`: `%s` is changed before its declaration", o->k->name, x->name);
        return false;
    }
    bool adds = u->update == TILE_ADD && element_table[x->types[0]].is_float;
    tensor *part = adds ? evaluate_linear(o, u->value) : evaluate_plain(o, u->value);
    if (part && part->sum.s && part->type != x->types[0])
        part = tensor_settled(o, part);
    if (part)
        part = tensor_expand(o, part, (const tile_range *const *)x->axes[0], x->axis_counts[0]);
    if (!part)
        return false;
    return variable_take(o, x, u->update, part, u->span);
}

bool variable_take(oracle *o, const tile_variable *x, tile_op op, tensor *part, source_span span) {
    variable_state *s = &o->variables[x->id];
    if (op == TILE_ADD && element_table[x->types[0]].is_float) {
        bool ok = add_floats(o, s, part);
        if (ok)
            forget_forms(s, 0);
        return ok;
    }
    tensor *mine = tensor_plain(o, s->fields[0]);
    tile_value combine = {.op = op, .type = x->types[0], .span = span};
    tensor *r = mine ? evaluate_binary(o, &combine, mine, part) : NULL;
    if (!r || !replace_field(o, s, r))
        return false;
    forget_forms(s, 0);
    /* A maximum may serve as a reference: one for all that is relative to this value of it. */
    if (op == TILE_MAX && x->types[0] == ELEMENT_F32 && s->fields[0]->e) {
        tensor *reference = tensor_as_reference(o, s->fields[0]);
        if (!reference)
            return false;
        if (reference != s->fields[0])
            s->reference = tensor_copy_owned(o, reference);
    }
    return !o->failed;
}

bool variable_fill(oracle *o, const tile_variable *x, double number) {
    if (!variable_declare(o, x))
        return false;
    tensor *t = o->variables[x->id].fields[0];
    for (int64_t i = 0; i < t->count; i++)
        t->v[i] = number;
    free(t->e);
    t->e = NULL;
    memset(&t->tag, 0, sizeof t->tag);
    return true;
}
