/* The body of a kernel in Tile IR text: value definitions and statements. */
#include "tile/reader.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tile_read_axes(tile_reader *p, tile_range ***axes, int *count) {
    VEC(tile_range *) list = {0};
    tile_reader_expect(p, "[");
    while (!p->failed && !tile_reader_is(p, "]")) {
        VEC_PUSH(p->arena, list, tile_reader_range(p));
        if (!tile_reader_accept(p, ","))
            break;
    }
    tile_reader_expect(p, "]");
    *axes = list.at;
    *count = list.count;
}

/* --- values --- */
static double parse_number(tile_reader *p) {
    double sign = tile_reader_accept(p, "-") ? -1 : 1;
    if (tile_reader_accept(p, "inf"))
        return sign * INFINITY;
    if (tile_reader_accept(p, "nan"))
        return NAN;
    if (p->kind != TOKEN_NUMBER) {
        FAIL(p, "expected a number, found `%.*s`", p->length, p->token);
        return 0;
    }
    double x = strtod(arena_strndup(p->arena, p->token, (size_t)p->length), NULL);
    tile_reader_next(p);
    return sign * x;
}

static const intrinsic *read_intrinsic_name(tile_reader *p) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    for (int i = 0; i < p->k->intrinsics.count; i++)
        if (!strcmp(p->k->intrinsics.at[i]->name, name))
            return p->k->intrinsics.at[i];
    tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "no intrinsic is called `%s`", name));
    return NULL;
}

static void parse_value_payload(tile_reader *p, tile_value *v) {
    switch (v->op) {
    case TILE_CONST: v->number = parse_number(p); break;
    case TILE_INDEX: v->index = tile_read_index(p, 0); break;
    case TILE_SCALAR: {
        source_span span = p->span;
        const char *name = tile_reader_name(p);
        for (int i = 0; i < p->k->scalars.count; i++)
            if (!strcmp(p->k->scalars.at[i]->name, name))
                v->scalar = p->k->scalars.at[i];
        if (!v->scalar)
            tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "no scalar is called `%s`", name));
        break;
    }
    case TILE_PARAM:
        v->variable = tile_reader_variable(p);
        v->side = tile_reader_is(p, "right");
        if (!tile_reader_accept(p, "left"))
            tile_reader_expect(p, "right");
        v->field = tile_reader_field(p, v->variable);
        break;
    case TILE_GET: v->variable = tile_reader_variable(p); break;
    case TILE_FIELD:
        v->variable = tile_reader_variable(p);
        v->field = tile_reader_field(p, v->variable);
        break;
    case TILE_LOAD:
        v->array = tile_reader_array(p);
        if (p->failed)
            break;
        v->indices = NEW_ARRAY(p->arena, index_expr *, v->array->rank ? v->array->rank : 1);
        tile_reader_expect(p, "[");
        for (int d = 0; d < v->array->rank; d++) {
            if (d)
                tile_reader_expect(p, ",");
            v->indices[d] = tile_read_index(p, 0);
        }
        tile_reader_expect(p, "]");
        v->has_outside = tile_reader_accept(p, "else");
        break;
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN:
        tile_reader_expect(p, "[");
        v->range = tile_reader_range(p);
        tile_reader_expect(p, "]");
        break;
    case TILE_DOT: tile_read_axes(p, &v->contract, &v->contract_count); break;
    case TILE_INTRINSIC: v->intrinsic = read_intrinsic_name(p); break;
    default: break;
    }
}

static void remember(tile_reader *p, tile_value *v, int id, int depth) {
    while (p->values.count <= id) {
        VEC_PUSH(p->arena, p->values, NULL);
        VEC_PUSH(p->arena, p->depths, 0);
    }
    p->values.at[id] = v;
    p->depths.at[id] = depth;
    if (p->k->value_count <= id)
        p->k->value_count = id + 1;
}

static void parse_definition(tile_reader *p) {
    source_span span = p->span;
    long id = p->length > 8 ? 1L << 30 : strtol(p->token + 1, NULL, 10);
    if (id >= 1000000)
        tile_reader_fail(p, span, "E0151", "value numbers go up to 999999");
    else if (id < p->values.count && p->values.at[id])
        tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "%%%ld is defined twice", id));
    tile_reader_next(p);
    tile_reader_expect(p, "=");
    source_span op_span = p->span;
    const char *name = tile_reader_name(p);
    int op = 0;
    while (op < TILE_OP_COUNT && strcmp(tile_op_table[op].name, name))
        op++;
    if (op == TILE_OP_COUNT)
        tile_reader_fail(p, op_span, "E0151", arena_printf(p->arena, "`%s` is not an operation", name));
    if (p->failed)
        return;
    tile_value *v = NEW(p->arena, tile_value);
    v->op = (tile_op)op;
    v->span = span;
    v->id = (int)id;
    parse_value_payload(p, v);
    VEC(tile_value *) operands = {0};
    int depth = 0;
    while (!p->failed && p->kind == TOKEN_VALUE) {
        tile_value *o = tile_reader_value(p);
        VEC_PUSH(p->arena, operands, o);
        if (o && !o->bound && p->depths.at[o->id] > depth)
            depth = p->depths.at[o->id];
    }
    tile_reader_expect(p, ":");
    v->type = v->accumulator = tile_reader_type(p);
    if (p->failed)
        return;
    if (depth + 1 > TILE_DEEPEST_VALUE)
        tile_reader_fail(p, span, "E0153", "values nest too deeply: bind some of them with let");
    tile_set_operands(p->k, v, operands.count, operands.at);
    if (tile_reader_is(p, "["))
        tile_read_axes(p, &v->axes, &v->axis_count);
    if (tile_reader_accept(p, "accumulate"))
        v->accumulator = tile_reader_type(p);
    if (v->op == TILE_DOT && tile_reader_accept(p, "by"))
        for (int i = 0; i < 3; i++) {
            if (i)
                tile_reader_expect(p, ",");
            if (!tile_reader_accept(p, "-"))
                v->by[i] = read_intrinsic_name(p);
        }
    v->saturate = tile_reader_accept(p, "sat");
    if (tile_reader_accept(p, "index")) {
        index_expr *lo = NULL, *hi = NULL;
        if (p->previous_line == p->span.line && !tile_reader_is(p, "}")) {
            lo = tile_read_index(p, 0);
            tile_reader_expect(p, "..");
            hi = tile_read_index(p, 0);
        }
        tile_index_of(p->k, v, lo, hi);
    }
    remember(p, v, (int)id, depth + 1);
}

static tile_value **parse_tuple(tile_reader *p, int count) {
    tile_value **values = NEW_ARRAY(p->arena, tile_value *, count ? count : 1);
    tile_reader_expect(p, "(");
    for (int i = 0; i < count && !p->failed; i++) {
        if (i)
            tile_reader_expect(p, ",");
        values[i] = tile_reader_value(p);
    }
    tile_reader_expect(p, ")");
    return values;
}

/* --- statements --- */

static void parse_statement(tile_reader *p, tile_block *b) {
    source_span span = p->span;
    if (tile_reader_accept(p, "let")) {
        const char *name = NULL;
        if (p->kind == TOKEN_NAME) {
            name = tile_reader_name(p);
            tile_reader_expect(p, "=");
        }
        tile_value *v = tile_reader_value(p);
        if (p->failed)
            return;
        v->name = name;
        v->bound = true;
        if (v->value_var && name)
            v->value_var->name = name;
        tile_append(p->k, b, TILE_STMT_LET, span)->value = v;
    } else if (tile_reader_accept(p, "init")) {
        tile_variable *x = tile_reader_variable(p);
        tile_reader_expect(p, "=");
        if (p->failed)
            return;
        x->empty = parse_tuple(p, x->field_count);
        if (tile_reader_accept(p, "left")) {
            x->left = parse_tuple(p, x->field_count);
            tile_reader_expect(p, "right");
            x->right = parse_tuple(p, x->field_count);
            tile_reader_expect(p, "join");
            x->join = parse_tuple(p, x->field_count);
        }
        tile_append(p->k, b, TILE_STMT_VAR, span)->variable = x;
    } else if (tile_reader_accept(p, "update")) {
        tile_variable *x = tile_reader_variable(p);
        tile_op op = tile_reader_is(p, "+=")     ? TILE_ADD
                     : tile_reader_is(p, "max=") ? TILE_MAX
                     : tile_reader_is(p, "min=") ? TILE_MIN
                                                 : TILE_OP_COUNT;
        if (op == TILE_OP_COUNT)
            FAIL(p, "expected `+=`, `max=` or `min=`, found `%.*s`", p->length, p->token);
        tile_reader_next(p);
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_UPDATE, span);
        s->variable = x;
        s->update = op;
        s->value = tile_reader_value(p);
    } else if (tile_reader_accept(p, "join")) {
        tile_variable *x = tile_reader_variable(p);
        tile_reader_expect(p, "<-");
        if (p->failed)
            return;
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_JOIN, span);
        s->variable = x;
        s->values = parse_tuple(p, x->field_count);
    } else if (tile_reader_accept(p, "store")) {
        tile_array *x = tile_reader_array(p);
        if (p->failed)
            return;
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_STORE, span);
        s->array = x;
        s->indices = NEW_ARRAY(p->arena, index_expr *, x->rank ? x->rank : 1);
        tile_reader_expect(p, "[");
        for (int d = 0; d < x->rank; d++) {
            if (d)
                tile_reader_expect(p, ",");
            s->indices[d] = tile_read_index(p, 0);
        }
        tile_reader_expect(p, "]");
        tile_reader_expect(p, "=");
        s->value = tile_reader_value(p);
    } else if (tile_reader_accept(p, "for")) {
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_LOOP, span);
        s->range = tile_reader_range(p);
        if (tile_reader_accept(p, "where"))
            s->predicate = tile_read_condition(p, 0);
        tile_reader_expect(p, "{");
        if (++p->loops > TILE_DEEPEST_LOOP)
            tile_reader_fail(p, span, "E0153", "loops nest too deeply");
        tile_read_block(p, &s->body);
        p->loops--;
        tile_reader_expect(p, "}");
    } else {
        FAIL(p, "expected a statement, found `%.*s`", p->length, p->token);
    }
}

void tile_read_block(tile_reader *p, tile_block *b) {
    while (!p->failed && p->kind != TOKEN_END && !tile_reader_is(p, "}")) {
        if (p->kind == TOKEN_VALUE)
            parse_definition(p);
        else
            parse_statement(p, b);
    }
}
