/* Tile IR as text. doc/tile-ir.md describes the form; parse.c reads it back. */
#include "tile/text.h"
#include <math.h>
#include <string.h>

const char *tile_update_word(tile_op op) {
    return op == TILE_ADD ? "+=" : op == TILE_MAX ? "max=" : op == TILE_MIN ? "min=" : NULL;
}

/* How many earlier things share this name: symbols, scalars and ranges are one name space, in that order. */
static int namesakes_before(const tile_kernel *k, const index_var *v) {
    int n = 0;
    for (int i = 0; i < k->symbols.count; i++) {
        if (k->symbols.at[i] == v)
            return n;
        n += !strcmp(k->symbols.at[i]->name, v->name);
    }
    for (int i = 0; i < k->scalars.count; i++) {
        const tile_scalar *s = k->scalars.at[i];
        if (s->var == v)
            return n;
        n += s->var && !strcmp(s->name, v->name);
    }
    for (int i = 0; i < k->ranges.count; i++) {
        if (k->ranges.at[i]->var == v)
            return n;
        n += !strcmp(k->ranges.at[i]->name, v->name);
    }
    return 0;
}

static void print_var(text_buffer *out, const tile_kernel *k, const index_var *v) {
    if (v->kind == INDEX_VALUE) {
        text_add(out, "%%%d", v->owner ? ((const tile_value *)v->owner)->id : -1);
        return;
    }
    int n = k ? namesakes_before(k, v) : 0;
    if (n)
        text_add(out, "%s.%d", v->name, n);
    else
        text_add(out, "%s", v->name);
}

static void print_range(text_buffer *out, const tile_kernel *k, const tile_range *r) {
    print_var(out, k, r->var);
}

/* Precedences: 1 sums, 2 products, 3 atoms. Operands of the same level are parenthesised on the right. */
static void print_index_at(text_buffer *out, const tile_kernel *k, const index_expr *x, int level) {
    switch (x->op) {
    case IX_CONST: text_add(out, "%lld", (long long)x->value); return;
    case IX_VAR: print_var(out, k, x->var); return;
    case IX_ADD:
    case IX_SUB:
    case IX_MUL: {
        int mine = x->op == IX_MUL ? 2 : 1;
        if (mine < level)
            text_add(out, "(");
        print_index_at(out, k, x->a, mine);
        text_add(out, x->op == IX_ADD ? " + " : x->op == IX_SUB ? " - " : " * ");
        print_index_at(out, k, x->b, mine + 1);
        if (mine < level)
            text_add(out, ")");
        return;
    }
    case IX_FLOORDIV:
        text_add(out, "floor(");
        print_index_at(out, k, x->a, 2);
        text_add(out, " / ");
        print_index_at(out, k, x->b, 3);
        text_add(out, ")");
        return;
    case IX_MOD:
        text_add(out, "(");
        print_index_at(out, k, x->a, 2);
        text_add(out, " mod ");
        print_index_at(out, k, x->b, 3);
        text_add(out, ")");
        return;
    case IX_MIN:
    case IX_MAX:
        text_add(out, x->op == IX_MIN ? "min(" : "max(");
        print_index_at(out, k, x->a, 1);
        text_add(out, ", ");
        print_index_at(out, k, x->b, 1);
        text_add(out, ")");
        return;
    }
}

void tile_print_condition(text_buffer *out, const tile_kernel *k, const cond *x) {
    static const char *const words[] = {[COND_LE] = " <= ", [COND_LT] = " < ", [COND_EQ] = " == ", [COND_NE] = " != "};
    switch (x->op) {
    case COND_TRUE: text_add(out, "true"); return;
    case COND_AND:
    case COND_OR:
        text_add(out, "(");
        tile_print_condition(out, k, x->a);
        text_add(out, x->op == COND_AND ? ") and (" : ") or (");
        tile_print_condition(out, k, x->b);
        text_add(out, ")");
        return;
    case COND_NOT:
        text_add(out, "not (");
        tile_print_condition(out, k, x->a);
        text_add(out, ")");
        return;
    default:
        print_index_at(out, k, x->x, 1);
        text_add(out, "%s", words[x->op]);
        print_index_at(out, k, x->y, 1);
        return;
    }
}

static void print_number(text_buffer *out, double x) {
    if (isnan(x)) {
        text_add(out, "nan");
    } else if (isinf(x)) {
        text_add(out, x < 0 ? "-inf" : "inf");
    } else { /* the shortest text that reads back the same */
        char text[40];
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, x);
            double back = 0;
            if (sscanf(text, "%lf", &back) == 1 && back == x)
                break;
        }
        text_add(out, "%s", text);
    }
}

static void print_axes(text_buffer *out, const tile_kernel *k, tile_range **axes, int count) {
    if (!count)
        return;
    text_add(out, "[");
    for (int i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        print_range(out, k, axes[i]);
    }
    text_add(out, "]");
}

static void print_indices(text_buffer *out, const tile_kernel *k, index_expr **indices, int count) {
    text_add(out, "[");
    for (int i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        print_index_at(out, k, indices[i], 1);
    }
    text_add(out, "]");
}

static void print_variable_name(text_buffer *out, const tile_kernel *k, const tile_variable *x) {
    int n = 0;
    for (int i = 0; i < x->id && i < k->variables.count; i++)
        n += !strcmp(k->variables.at[i]->name, x->name);
    text_add(out, n ? "%s.%d" : "%s", x->name, n);
}

static void print_field(text_buffer *out, const tile_variable *x, int field) {
    if (x->field_names && x->field_names[field])
        text_add(out, "%s", x->field_names[field]);
    else
        text_add(out, "%d", field);
}

/* --- values: each is defined on a line of its own before the statement that first needs it --- */
typedef struct printer {
    text_buffer *out;
    const tile_kernel *k;
    char *done; /* by value id */
    int indent;
} printer;

static void start_line(printer *p) {
    text_add(p->out, "%*s", 4 * p->indent, "");
}

static void define(printer *p, const tile_value *v);

static void define_owners(printer *p, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR) {
        if (x->var->kind == INDEX_VALUE && x->var->owner)
            define(p, x->var->owner);
        return;
    }
    define_owners(p, x->a);
    define_owners(p, x->b);
}

static void print_payload(printer *p, const tile_value *v) {
    text_buffer *out = p->out;
    const tile_kernel *k = p->k;
    switch (v->op) {
    case TILE_CONST:
        text_add(out, " ");
        print_number(out, v->number);
        break;
    case TILE_INDEX:
        text_add(out, " ");
        print_index_at(out, k, v->index, 1);
        break;
    case TILE_SCALAR: text_add(out, " %s", v->scalar->name); break;
    case TILE_PARAM:
        text_add(out, " ");
        print_variable_name(out, k, v->variable);
        text_add(out, v->side ? " right " : " left ");
        print_field(out, v->variable, v->field);
        break;
    case TILE_GET:
        text_add(out, " ");
        print_variable_name(out, k, v->variable);
        break;
    case TILE_FIELD:
        text_add(out, " ");
        print_variable_name(out, k, v->variable);
        text_add(out, " ");
        print_field(out, v->variable, v->field);
        break;
    case TILE_LOAD:
        text_add(out, " %s", v->array->name);
        print_indices(out, k, v->indices, v->array->rank);
        if (v->has_outside)
            text_add(out, " else");
        break;
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN:
        text_add(out, "[");
        print_range(out, k, v->range);
        text_add(out, "]");
        break;
    case TILE_DOT: print_axes(out, k, v->contract, v->contract_count); break;
    case TILE_INTRINSIC: text_add(out, " %s", v->intrinsic->name); break;
    default: break;
    }
}

static void define(printer *p, const tile_value *v) {
    if (p->done[v->id])
        return;
    p->done[v->id] = 1;
    for (int i = 0; i < v->operand_count; i++)
        define(p, v->operands[i]);
    define_owners(p, v->index);
    if (v->op == TILE_LOAD)
        for (int i = 0; i < v->array->rank; i++)
            define_owners(p, v->indices[i]);
    start_line(p);
    text_add(p->out, "%%%d = %s", v->id, tile_op_table[v->op].name);
    print_payload(p, v);
    for (int i = 0; i < v->operand_count; i++)
        text_add(p->out, " %%%d", v->operands[i]->id);
    text_add(p->out, " : %s", element_table[v->type].name);
    print_axes(p->out, p->k, v->axes, v->axis_count);
    if (v->op == TILE_DOT && v->accumulator != v->type)
        text_add(p->out, " accumulate %s", element_table[v->accumulator].name);
    if (v->by[0] || v->by[1] || v->by[2])
        text_add(p->out, " by %s, %s, %s", v->by[0] ? v->by[0]->name : "-", v->by[1] ? v->by[1]->name : "-",
                 v->by[2] ? v->by[2]->name : "-");
    if (v->saturate)
        text_add(p->out, " sat");
    if (v->value_var) {
        text_add(p->out, " index");
        if (v->value_var->lo && v->value_var->hi) {
            text_add(p->out, " ");
            print_index_at(p->out, p->k, v->value_var->lo, 1);
            text_add(p->out, " .. ");
            print_index_at(p->out, p->k, v->value_var->hi, 1);
        }
    }
    text_add(p->out, "\n");
}

static void print_tuple(printer *p, tile_value **values, int count) {
    text_add(p->out, "(");
    for (int i = 0; i < count; i++)
        text_add(p->out, "%s%%%d", i ? ", " : "", values[i]->id);
    text_add(p->out, ")");
}

static void print_block(printer *p, const tile_block *b);

static void print_stmt(printer *p, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    if (s->value)
        define(p, s->value);
    if (s->kind == TILE_STMT_JOIN)
        for (int i = 0; i < x->field_count; i++)
            define(p, s->values[i]);
    if (s->kind == TILE_STMT_VAR) {
        tile_value **lists[] = {x->empty, x->left, x->right, x->join};
        for (int j = 0; j < 4; j++)
            for (int i = 0; lists[j] && i < x->field_count; i++)
                define(p, lists[j][i]);
    }
    if (s->kind == TILE_STMT_STORE)
        for (int i = 0; i < s->array->rank; i++)
            define_owners(p, s->indices[i]);
    start_line(p);
    switch (s->kind) {
    case TILE_STMT_LET:
        if (s->value->name)
            text_add(p->out, "let %s = %%%d\n", s->value->name, s->value->id);
        else
            text_add(p->out, "let %%%d\n", s->value->id);
        return;
    case TILE_STMT_VAR:
        text_add(p->out, "init ");
        print_variable_name(p->out, p->k, x);
        text_add(p->out, " = ");
        print_tuple(p, x->empty, x->field_count);
        if (x->join) {
            text_add(p->out, " left ");
            print_tuple(p, x->left, x->field_count);
            text_add(p->out, " right ");
            print_tuple(p, x->right, x->field_count);
            text_add(p->out, " join ");
            print_tuple(p, x->join, x->field_count);
        }
        text_add(p->out, "\n");
        return;
    case TILE_STMT_UPDATE:
        text_add(p->out, "update ");
        print_variable_name(p->out, p->k, x);
        text_add(p->out, " %s %%%d\n", tile_update_word(s->update), s->value->id);
        return;
    case TILE_STMT_JOIN:
        text_add(p->out, "join ");
        print_variable_name(p->out, p->k, x);
        text_add(p->out, " <- ");
        print_tuple(p, s->values, x->field_count);
        text_add(p->out, "\n");
        return;
    case TILE_STMT_STORE:
        text_add(p->out, "store %s", s->array->name);
        print_indices(p->out, p->k, s->indices, s->array->rank);
        text_add(p->out, " = %%%d\n", s->value->id);
        return;
    case TILE_STMT_LOOP:
        text_add(p->out, "for ");
        print_range(p->out, p->k, s->range);
        if (s->predicate) {
            text_add(p->out, " where ");
            tile_print_condition(p->out, p->k, s->predicate);
        }
        text_add(p->out, " {\n");
        p->indent++;
        print_block(p, &s->body);
        p->indent--;
        start_line(p);
        text_add(p->out, "}\n");
        return;
    }
}

static void print_block(printer *p, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++)
        print_stmt(p, b->items.at[i]);
}

/* --- declarations --- */
static void print_bounds(text_buffer *out, const tile_kernel *k, const index_var *v) {
    if (v->lo && v->hi) {
        text_add(out, " within ");
        print_index_at(out, k, v->lo, 1);
        text_add(out, " .. ");
        print_index_at(out, k, v->hi, 1);
    }
}

static void print_symbol(text_buffer *out, const tile_kernel *k, const index_var *v) {
    text_add(out, "    %s ", v->kind == INDEX_STATIC ? "static" : v->kind == INDEX_TILE ? "tile" : "symbol");
    print_var(out, k, v);
    print_bounds(out, k, v);
    if (v->has_value)
        text_add(out, " = %lld", (long long)v->value);
    text_add(out, "\n");
}

static void print_scalar(text_buffer *out, const tile_kernel *k, const tile_scalar *s) {
    text_add(out, "    scalar %s: %s", s->name, element_table[s->type].name);
    if (s->var)
        print_bounds(out, k, s->var);
    text_add(out, "\n");
}

static void print_array(text_buffer *out, const tile_kernel *k, const tile_array *x) {
    text_add(out, "    %s %s: %s",
             x->role == ARRAY_IN    ? "in"
             : x->role == ARRAY_OUT ? "out"
                                    : "update",
             x->name, element_table[x->type].name);
    if (x->index_bound) {
        text_add(out, "(");
        print_index_at(out, k, x->index_bound, 1);
        text_add(out, ")");
    }
    text_add(out, "[");
    for (int g = 0, d = 0; g < x->group_count; g++) {
        text_add(out, g ? ", " : "");
        if (x->groups[g] != 1)
            text_add(out, "(");
        for (int f = 0; f < x->groups[g] && d < x->rank; f++, d++) {
            text_add(out, f ? ", " : "");
            print_index_at(out, k, x->dims[d], 1);
        }
        if (x->groups[g] != 1)
            text_add(out, ")");
    }
    text_add(out, "]%s\n", x->injective ? " injective" : "");
}

static void print_variable(text_buffer *out, const tile_kernel *k, const tile_variable *x) {
    text_add(out, "    var ");
    print_variable_name(out, k, x);
    text_add(out, ": ");
    if (x->combine)
        text_add(out, "%s(", x->combine);
    for (int f = 0; f < x->field_count; f++) {
        text_add(out, f ? ", " : "");
        if (x->combine) {
            print_field(out, x, f);
            text_add(out, ": ");
        }
        text_add(out, "%s", element_table[x->types[f]].name);
        print_axes(out, k, x->axes[f], x->axis_counts[f]);
    }
    text_add(out, x->combine ? ")\n" : "\n");
}

void tile_print_kernel(text_buffer *out, const tile_kernel *k) {
    text_add(out, "kernel %s {\n", k->name);
    for (int i = 0; i < k->symbols.count; i++)
        print_symbol(out, k, k->symbols.at[i]);
    for (int i = 0; i < k->arguments.count; i++) {
        if (k->argument_is_scalar.at[i])
            print_scalar(out, k, k->arguments.at[i]);
        else
            print_array(out, k, k->arguments.at[i]);
    }
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->role != ARRAY_IN)
            print_array(out, k, k->arrays.at[i]);
    for (int i = 0; i < k->derived.count; i++)
        if (k->derived.at[i]) {
            text_add(out, "    derived %s = ", k->symbols.at[i]->name);
            print_index_at(out, k, k->derived.at[i], 1);
            text_add(out, "\n");
        }
    for (int i = 0; i < k->where.count; i++) {
        text_add(out, "    where ");
        tile_print_condition(out, k, k->where.at[i]);
        text_add(out, "\n");
    }
    for (int i = 0; i < k->ranges.count; i++) {
        const tile_range *r = k->ranges.at[i];
        text_add(out, "    range ");
        print_range(out, k, r);
        text_add(out, ": ");
        print_index_at(out, k, r->size, 1);
        text_add(out, " in ");
        print_index_at(out, k, r->extent, 1);
        text_add(out, "%s%s%s\n", r->whole ? " whole" : "", r->held ? " held" : "", r->scheduled ? " scheduled" : "");
    }
    if (k->task.count) {
        text_add(out, "    task ");
        for (int i = 0; i < k->task.count; i++) {
            text_add(out, i ? ", " : "");
            print_range(out, k, k->task.at[i]);
        }
        text_add(out, "\n");
    }
    for (int i = 0; i < k->owned.count; i++) {
        const tile_owned *o = k->owned.at[i];
        text_add(out, "    own %s[", o->array->name);
        for (int d = 0; d < o->array->rank; d++) {
            text_add(out, d ? ", " : "");
            if (o->through[d]) {
                text_add(out, "%s[", o->through[d]->name);
                print_range(out, k, o->ranges[d]);
                text_add(out, "]");
            } else if (o->ranges[d]) {
                print_range(out, k, o->ranges[d]);
            } else {
                text_add(out, "= ");
                print_index_at(out, k, o->fixed[d], 1);
            }
        }
        text_add(out, "]\n");
    }
    for (int i = 0; i < k->variables.count; i++)
        print_variable(out, k, k->variables.at[i]);
    for (int i = 0; i < k->intrinsics.count; i++)
        intrinsic_print(out, k->intrinsics.at[i], 4);
    text_add(out, "    do {\n");
    arena *scratch = arena_new();
    printer p = {.out = out, .k = k, .done = arena_alloc(scratch, (size_t)k->value_count + 1), .indent = 2};
    print_block(&p, &k->body);
    arena_free(scratch);
    text_add(out, "    }\n}\n");
}

/* A program's names resolve among its own symbols and scalars only: a kernel that holds nothing else prints them. */
static void print_program(text_buffer *out, const tile_program *g) {
    tile_kernel names = {.name = g->name};
    names.symbols.at = g->symbols.at;
    names.symbols.count = g->symbols.count;
    names.scalars.at = g->scalars.at;
    names.scalars.count = g->scalars.count;
    text_add(out, "program %s {\n", g->name);
    for (int i = 0; i < g->symbols.count; i++)
        print_symbol(out, &names, g->symbols.at[i]);
    for (int i = 0; i < g->arguments.count; i++) {
        if (g->argument_is_scalar.at[i])
            print_scalar(out, &names, g->arguments.at[i]);
        else
            print_array(out, &names, g->arguments.at[i]);
    }
    for (int i = 0; i < g->arrays.count; i++)
        if (g->arrays.at[i]->role != ARRAY_IN)
            print_array(out, &names, g->arrays.at[i]);
    for (int i = 0; i < g->calls.count; i++) {
        const tile_call *c = g->calls.at[i];
        text_add(out, "    call %s(", c->kernel->name);
        for (int j = 0; j < c->arguments.count; j++)
            text_add(out, "%s%s", j ? ", " : "", c->arguments.at[j]);
        text_add(out, ") -> (");
        for (int j = 0; j < c->results.count; j++)
            text_add(out, "%s%s", j ? ", " : "", c->results.at[j]);
        text_add(out, ")");
        for (int j = 0; j < c->bind_names.count; j++) {
            text_add(out, "%s%s = ", j ? ", " : " with ", c->bind_names.at[j]);
            print_index_at(out, &names, c->bind_values.at[j], 1);
        }
        text_add(out, "\n");
    }
    text_add(out, "}\n");
}

static void print_schedule(text_buffer *out, const tile_schedule *s) {
    text_add(out, "schedule %s%s%s {\n", s->kernel, s->target ? " for " : "", s->target ? s->target : "");
    for (int i = 0; i < s->entries.count; i++) {
        text_add(out, "    %s =", s->entries.at[i].key);
        for (int j = 0; j < s->entries.at[i].words.count; j++)
            text_add(out, " %s", s->entries.at[i].words.at[j]);
        text_add(out, "\n");
    }
    text_add(out, "}\n");
}

void tile_print_module(text_buffer *out, const tile_module *m) {
    bool first = true;
    for (int i = 0; i < m->kernels.count; i++, first = false) {
        text_add(out, first ? "" : "\n");
        tile_print_kernel(out, m->kernels.at[i]);
    }
    for (int i = 0; i < m->programs.count; i++, first = false) {
        text_add(out, first ? "" : "\n");
        print_program(out, m->programs.at[i]);
    }
    for (int i = 0; i < m->schedules.count; i++, first = false) {
        text_add(out, first ? "" : "\n");
        print_schedule(out, m->schedules.at[i]);
    }
}
