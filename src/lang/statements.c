/* Statements within `for tile`. */
#include "base/suggest.h"
#include "lang/build.h"
#include <string.h>

/* The ranges that a declared value varies over: `f32[i, j]`. False after an error. */
static bool declared_axes(builder *b, const type_syntax *t, tile_range ***axes, int *count) {
    *count = 0;
    *axes = NEW_ARRAY(b->arena, tile_range *, t->dims.count + 1);
    for (int i = 0; i < t->dims.count; i++) {
        const expr *e = t->dims.at[i];
        if (e->kind != EXPR_NAME) {
            diag *g =
                lang_error(b, "E0220", e->span, "`%s` is no range; a tile's axes are ranges", lang_source_text_of(b->arena, e));
            diag_caret(b->diags, g, "name ranges of `for tile` or of a loop around this");
            return false;
        }
        name_entry *n = name_find(b, e->name);
        if (!n) {
            name_unknown(b, e->name, e->span);
            return false;
        }
        if (n->kind != NAME_RANGE) {
            diag *g = lang_error(b, "E0220", e->span, "`%s` is %s; a tile's axes are ranges", e->name, name_describe(n));
            diag_caret(b->diags, g, "name ranges of `for tile` or of a loop around this");
            return false;
        }
        for (int j = 0; j < *count; j++)
            if ((*axes)[j] == n->range) {
                lang_error(b, "E0220", e->span, "range `%s` is named twice", e->name);
                return false;
            }
        (*axes)[(*count)++] = n->range;
    }
    return true;
}

/* The element type of a declared variable or value. */
static bool declared_type(builder *b, const type_syntax *t, bool changes) {
    if (!t->name) {
        diag *g = lang_error(b, "E0206", t->span, "lo..hi is a type of arguments");
        diag_caret(b->diags, g, "declare `i32` or `u32`");
        return false;
    }
    if (t->element == ELEMENT_COUNT || t->element == ELEMENT_INDEX || t->injective) {
        const char *names[ELEMENT_OF_LANGUAGE];
        for (int i = 0; i < ELEMENT_OF_LANGUAGE; i++)
            names[i] = element_table[i].name;
        const char *near = suggest_nearest(t->name, names, ELEMENT_OF_LANGUAGE);
        diag *g = lang_error(b, "E0206", t->span,
                             t->element == ELEMENT_COUNT ? "unknown element type `%s`" : "`%s` is a type of arguments", t->name);
        if (t->element == ELEMENT_COUNT && near)
            diag_caret(b->diags, g, "did you mean `%s`?", near);
        return false;
    }
    if (element_table[t->element].block_elements > 1) {
        diag *g = lang_error(b, "E0219", t->span, "block formats are read from arrays only");
        diag_caret(b->diags, g, "hold the values as f32");
        return false;
    }
    bool held = t->element == ELEMENT_F32 || t->element == ELEMENT_I32 || t->element == ELEMENT_U32 || t->element == ELEMENT_F16;
    if (changes && !held) {
        diag *g = lang_error(b, "E0206", t->span, "a variable does not hold %s", t->name);
        diag_caret(b->diags, g, "variables are f32, i32, u32, or f16 for a narrow accumulator");
        return false;
    }
    return true;
}

static void declare_error(builder *b, const stmt *s) {
    name_add(b, s->name, NAME_OPERAND, s->span); /* its later uses stay silent */
}

static void declare_state(builder *b, const stmt *s) {
    const declaration *c = s->type.name ? lang_find_declaration(b->m, DECLARE_COMBINE, s->type.name) : NULL;
    if (!c) {
        VEC(const char *) words = {0};
        for (int i = 0; i < b->m->syntax.items.count; i++)
            if (b->m->syntax.items.at[i]->kind == DECLARE_COMBINE)
                VEC_PUSH(b->arena, words, b->m->syntax.items.at[i]->name);
        diag *g = lang_error(b, "E0201", s->type.span, "unknown combine `%s`", s->type.name ? s->type.name : "?");
        const char *near = s->type.name ? suggest_nearest(s->type.name, words.at, words.count) : NULL;
        if (near)
            diag_caret(b->diags, g, "did you mean `%s`?", near);
        declare_error(b, s);
        return;
    }
    int n = c->names.count;
    if (c->broken || !c->empty || !c->value || s->fields.count != n) {
        if (!c->broken) {
            diag *g = lang_error(b, "E0208", s->type.span, "combine `%s` has %d field%s, and %d type%s given", c->name, n,
                                 n == 1 ? "" : "s", s->fields.count, s->fields.count == 1 ? " is" : "s are");
            diag_note(b->diags, g, "`%s` is declared in line %d", c->name, c->span.line);
        }
        declare_error(b, s);
        return;
    }
    tile_variable *x = tile_new_variable(b->k, s->name, n, s->span);
    x->combine = c->name;
    x->field_names = NEW_ARRAY(b->arena, const char *, n);
    bool ok = true;
    for (int f = 0; f < n; f++) {
        x->field_names[f] = c->names.at[f];
        ok &= declared_type(b, &s->fields.at[f], true);
        ok = ok && declared_axes(b, &s->fields.at[f], &x->axes[f], &x->axis_counts[f]);
        if (ok) {
            x->types[f] = s->fields.at[f].element;
            ok = lang_check_held(b, x->axes[f], x->axis_counts[f], s->span, s->name);
        }
    }
    if (!ok) {
        declare_error(b, s);
        return;
    }
    taint_declared(b, x);
    ok = lang_make_join(b, x, c, s->span);
    name_entry *entry = name_add(b, s->name, NAME_VARIABLE, s->span);
    if (entry && ok) {
        entry->variable = x;
        tile_append(b->k, b->block, TILE_STMT_VAR, s->span)->variable = x;
    }
}

static void declare_value(builder *b, const stmt *s, const stmt_list *list, int at) {
    bool changes = lang_statements_update(list, at + 1, s->name);
    tile_range **axes;
    int count;
    element_type type = s->type.element;
    if (!declared_type(b, &s->type, changes) || !declared_axes(b, &s->type, &axes, &count)) {
        declare_error(b, s);
        return;
    }
    operand e = lang_evaluate_left(b, s->value, axes, count, type);
    tile_value *v = lang_as_type(b, e, type, arena_printf(b->arena, "`%s`", s->name), s->value->span);
    bool ok = v && lang_check_axes(b, v, axes, count, s->value->span, arena_printf(b->arena, "`%s`", s->name)) &&
              lang_check_held(b, axes, count, s->span, s->name);
    if (!ok) {
        declare_error(b, s);
        return;
    }
    if (!changes) {
        name_entry *entry = name_add(b, s->name, NAME_OPERAND, s->span);
        if (entry)
            entry->operand = operand_of_value(lang_bind_value(b, v, s->name, true), s->value);
        return;
    }
    tile_variable *x = tile_new_variable(b->k, s->name, 1, s->span);
    x->types[0] = type;
    x->axes[0] = axes;
    x->axis_counts[0] = count;
    x->empty[0] = v;
    name_entry *entry = name_add(b, s->name, NAME_VARIABLE, s->span);
    if (!entry)
        return;
    entry->variable = x;
    taint_declared(b, x);
    missing_note_change(b, x, v);
    tile_append(b->k, b->block, TILE_STMT_VAR, s->span)->variable = x;
}

static void build_bind(builder *b, const stmt *s) {
    operand x = lang_evaluate(b, s->value);
    if (x.kind == OPERAND_STATE) {
        diag *g = lang_error(b, "E0224", s->value->span, "a state cannot be bound to another name");
        diag_caret(b->diags, g, "bind one of its fields");
        x = operand_error();
    }
    name_entry *n = name_find(b, s->name);
    if (n && n->kind == NAME_ARRAY && n->array->role != ARRAY_IN) {
        diag *g = lang_error(b, "E0203", s->span, "`%s` is an output array", s->name);
        diag_caret(b->diags, g, "store to its elements: `%s[...] = ...`", s->name);
        return;
    }
    if (x.kind == OPERAND_VALUE && !x.value->bound && !lang_check_held(b, x.value->axes, x.value->axis_count, s->span, s->name))
        x = operand_error();
    name_entry *entry = name_add(b, s->name, NAME_OPERAND, s->span);
    if (!entry)
        return;
    if (x.kind == OPERAND_VALUE)
        lang_bind_value(b, x.value, s->name, true);
    entry->operand = x;
}

static name_entry *find_variable(builder *b, const stmt *s, bool state) {
    name_entry *n = name_find(b, s->name);
    if (!n) {
        name_unknown(b, s->name, s->span);
        return NULL;
    }
    if (n->kind == NAME_OPERAND && n->operand.kind == OPERAND_ERROR)
        return NULL;
    if (n->kind == NAME_VARIABLE && !n->variable)
        return NULL;
    if (n->kind == NAME_VARIABLE && (n->variable->combine != NULL) == state)
        return n;
    diag *g;
    if (n->kind == NAME_VARIABLE) {
        g = lang_error(b, "E0314", s->span,
                       state ? "`%s` is no state; `<-` joins states" : "`%s` is a state; it changes by `<-` only", s->name);
        if (state)
            diag_caret(b->diags, g, "combine by `+=`, `max=` or `min=`");
        else
            diag_caret(b->diags, g, "write `%s <- (...)` with a value for each field", s->name);
    } else {
        g = lang_error(b, "E0314", s->span, "`%s` is %s and does not change", s->name, name_describe(n));
        if (n->kind == NAME_OPERAND)
            diag_caret(b->diags, g, "declare a variable with its type and first value: `%s: f32[...] = 0`", s->name);
        else if (n->kind == NAME_ARRAY)
            diag_caret(b->diags, g, "combine into a variable, and store it at the end");
    }
    return NULL;
}

static void build_update(builder *b, const stmt *s) {
    static const tile_op ops[] = {TILE_ADD, TILE_MAX, TILE_MIN};
    name_entry *n = find_variable(b, s, false);
    if (!n) {
        return;
    }
    tile_variable *x = n->variable;
    operand e = lang_evaluate_left(b, s->value, x->axes[0], x->axis_counts[0], x->types[0]);
    tile_value *v = lang_as_type(b, e, x->types[0], arena_printf(b->arena, "`%s`", s->name), s->value->span);
    if (!v || !lang_check_axes(b, v, x->axes[0], x->axis_counts[0], s->value->span, arena_printf(b->arena, "`%s`", s->name)))
        return;
    int errors = b->diags->errors;
    taint_check_update(b, x, ops[s->update], v, s);
    if (b->diags->errors == errors)
        missing_check_change(b, x, 0, v, s->span);
    missing_note_change(b, x, v);
    tile_stmt *out = tile_append(b->k, b->block, TILE_STMT_UPDATE, s->span);
    out->variable = x;
    out->update = ops[s->update];
    out->value = v;
}

static void build_join(builder *b, const stmt *s) {
    name_entry *n = find_variable(b, s, true);
    if (!n)
        return;
    tile_variable *x = n->variable;
    int given = s->value->kind == EXPR_TUPLE ? s->value->args.count : 1;
    if (s->value->kind == EXPR_ERROR)
        return;
    if (given != x->field_count) {
        diag *g = lang_error(b, "E0315", s->value->span, "`%s` has %d field%s, and %d value%s joined", s->name, x->field_count,
                             x->field_count == 1 ? "" : "s", given, given == 1 ? " is" : "s are");
        text_buffer t = {0};
        for (int f = 0; f < x->field_count; f++)
            text_add(&t, "%s%s", f ? ", " : "", x->field_names[f]);
        diag_caret(b->diags, g, "write `%s <- (%s)`", s->name, text_get(&t));
        text_free(&t);
        return;
    }
    tile_value **values = NEW_ARRAY(b->arena, tile_value *, x->field_count);
    bool ok = true;
    for (int f = 0; f < x->field_count; f++) {
        const expr *e = s->value->kind == EXPR_TUPLE ? s->value->args.at[f] : s->value;
        operand o = lang_evaluate_left(b, e, x->axes[f], x->axis_counts[f], x->types[f]);
        const char *field = arena_printf(b->arena, "`%s.%s`", s->name, x->field_names[f]);
        values[f] = lang_as_type(b, o, x->types[f], field, e->span);
        ok &= values[f] && lang_check_axes(b, values[f], x->axes[f], x->axis_counts[f], e->span, field);
    }
    if (!ok)
        return;
    int errors = b->diags->errors;
    taint_check_join(b, x, values, s->span);
    for (int f = 0; f < x->field_count && b->diags->errors == errors; f++)
        missing_check_change(b, x, f, values[f], s->value->kind == EXPR_TUPLE ? s->value->args.at[f]->span : s->span);
    for (int f = 0; f < x->field_count; f++)
        missing_note_change(b, x, values[f]);
    tile_stmt *out = tile_append(b->k, b->block, TILE_STMT_JOIN, s->span);
    out->variable = x;
    out->values = values;
}

static void collect_ranges(builder *b, const index_expr *x, tile_range **out, int *count, int limit) {
    if (!x || *count >= limit)
        return;
    tile_range *r = lang_only_range(x);
    if (r) {
        for (int i = 0; i < *count; i++)
            if (out[i] == r)
                return;
        out[(*count)++] = r;
        return;
    }
    const tile_value *v = x->op == IX_VAR && x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    for (int i = 0; v && i < v->axis_count; i++)
        collect_ranges(b, ix_var(b->arena, v->axes[i]->var), out, count, limit);
    collect_ranges(b, x->a, out, count, limit);
    collect_ranges(b, x->b, out, count, limit);
}

static void build_store(builder *b, const stmt *s) {
    const expr *target = s->targets.at[0];
    name_entry *n = name_find(b, s->name);
    if (!n) {
        name_unknown(b, s->name, s->span);
        return;
    }
    if (n->kind != NAME_ARRAY) {
        if (n->kind == NAME_OPERAND && n->operand.kind == OPERAND_ERROR)
            return;
        diag *g = lang_error(b, "E0304", s->span, "`%s` is %s; only outputs are stored to", s->name, name_describe(n));
        if (n->kind == NAME_VARIABLE)
            diag_caret(b->diags, g, "a variable changes as a whole, by `+=`, `max=`, `min=` or `<-`");
        return;
    }
    tile_array *array = n->array;
    if (array->role == ARRAY_IN) {
        diag *g = lang_error(b, "E0304", s->span, "`%s` is an input and cannot be written", s->name);
        diag_caret(b->diags, g, "declare it among the outputs: `-> (update %s: ...)`", s->name);
        return;
    }
    bool owned = false;
    for (int i = 0; i < b->k->owned.count; i++)
        owned |= b->k->owned.at[i]->array == array;
    if (!owned)
        return; /* `for tile` was wrong about it */
    index_expr **indices = NEW_ARRAY(b->arena, index_expr *, array->rank);
    /* Bounds follow from owning; dimensions and ranges are compared there. */
    if (!lang_array_indices(b, array, target, true, indices))
        return;
    tile_range *axes[64];
    int count = 0;
    for (int i = 0; i < array->rank; i++)
        collect_ranges(b, indices[i], axes, &count, 64);
    tile_range **kept = NEW_ARRAY(b->arena, tile_range *, count + 1);
    memcpy(kept, axes, sizeof *kept * (size_t)count);
    operand e = lang_evaluate_left(b, s->value, kept, count, array->type);
    tile_value *v = lang_as_type(b, e, array->type, arena_printf(b->arena, "`%s`", s->name), s->value->span);
    if (!v) {
        lang_record_store(b, array, indices, NULL, target);
        return;
    }
    if (!lang_record_store(b, array, indices, v, target))
        return;
    if (!lang_check_axes(b, v, kept, count, s->value->span,
                         arena_printf(b->arena, "`%s`", lang_source_text_of(b->arena, target))))
        return;
    taint_check_clean(b, v, s->span);
    tile_stmt *out = tile_append(b->k, b->block, TILE_STMT_STORE, s->span);
    out->array = array;
    out->indices = indices;
    out->value = v;
}

/* A call that stands alone stores: to the cell that its pointer is given. */
static void build_call(builder *b, const stmt *s) {
    const expr *call = s->value;
    const intrinsic *f = lang_store_called(b, call);
    if (!f) {
        operand x = lang_evaluate(b, call); /* what is wrong with the call itself */
        if (x.kind == OPERAND_ERROR)
            return;
        diag *g = lang_error(b, "E0333", s->span, "`%s` gives a value, which nothing takes", s->name);
        diag_caret(b->diags, g, "bind it, `x = %s`; intrinsics that write memory stand alone",
                   lang_source_text_of(b->arena, call));
        return;
    }
    const int written = intrinsic_written(f);
    expr *target = written < call->args.count ? call->args.at[written] : NULL;
    name_entry *n = target && target->kind == EXPR_INDEX ? name_find(b, target->name) : NULL;
    if (target && (!n || n->kind != NAME_ARRAY || n->array->type != f->type || n->array->rank < f->parameters[written].rank)) {
        diag *g =
            lang_error(b, "E0333", target->span, "`%s` of `%s` writes an element of an output of %s with at least %d dimension%s",
                       f->parameters[written].name, f->name, element_table[f->type].name, f->parameters[written].rank,
                       f->parameters[written].rank == 1 ? "" : "s");
        diag_caret(b->diags, g, "pass an element of an output, such as `y[i]`");
        return;
    }
    if (!target) {
        b->store_call = call;
        lang_call_intrinsic(b, call, lang_find_declaration(b->m, DECLARE_INTRINSIC, call->name)); /* says how many it takes */
        b->store_call = NULL;
        return;
    }
    stmt store = {.kind = STMT_STORE, .span = s->span, .name = target->name, .value = s->value};
    VEC_PUSH(b->arena, store.targets, target);
    b->store_call = call;
    build_store(b, &store);
    b->store_call = NULL;
}

/* acc = f(a, b, acc): what `acc += a @ b` says, by matrices that f multiplies. */
static void build_multiply(builder *b, const stmt *s) {
    const expr *call = s->value;
    const intrinsic *f = lang_product_called(b, call);
    if (!f) {
        build_bind(b, s);
        return;
    }
    const expr *last = call->args.count == 3 ? call->args.at[2] : NULL;
    if (!last || last->kind != EXPR_NAME || strcmp(last->name, s->name)) {
        diag *g =
            lang_error(b, "E0333", call->span, "`%s` multiplies two operands and adds to the variable that it sets", f->name);
        diag_caret(b->diags, g, "write `%s = %s(a, b, %s)`", s->name, f->name, s->name);
        return;
    }
    name_entry *n = name_find(b, s->name);
    if (n && n->kind == NAME_VARIABLE && n->variable && !n->variable->combine && n->variable->types[0] != f->type) {
        lang_error(b, "E0333", last->span, "`%s` adds to matrices of %s, and `%s` is %s", f->name, element_table[f->type].name,
                   s->name, element_table[n->variable->types[0]].name);
        return;
    }
    expr product = {.kind = EXPR_BINARY, .op = OP_DOT, .span = call->span, .start = call->start, .end = call->end};
    product.a = call->args.at[0];
    product.b = call->args.at[1];
    stmt update = {.kind = STMT_UPDATE, .update = UPDATE_ADD, .span = s->span, .name = s->name, .value = NEW(b->arena, expr)};
    *update.value = product;
    b->multiplies = f;
    build_update(b, &update);
    b->multiplies = NULL;
}

static void build_for(builder *b, const stmt *s) {
    if (b->loops.count >= MAX_LOOP_DEPTH) {
        lang_error(b, "E0110", s->span, "loops are nested more than %d deep", MAX_LOOP_DEPTH);
        return;
    }
    index_expr *extent = lang_integer_expression(b, s->extent, PLACE_EXTENT);
    bool whole = false, scheduled = false;
    index_expr *size = extent ? lang_range_size(b, s->size, extent, &whole, &scheduled) : NULL;
    if (!extent || !size)
        return; /* the body would only complain about the range */
    int names = b->names.count;
    name_entry *n = name_add(b, s->name, NAME_RANGE, s->span);
    if (!n)
        return;
    tile_range *r = tile_new_range(b->k, s->name, extent, size, s->span);
    r->whole = whole;
    r->scheduled = scheduled;
    n->range = r;
    loop_scope l = {.range = r, .syntax = s, .names = names, .serial = ++b->loop_serial};
    if (s->predicate) {
        l.predicate = lang_integer_condition(b, s->predicate, PLACE_PREDICATE);
        if (l.predicate && l.predicate->op == COND_TRUE)
            l.predicate = NULL;
    }
    tile_stmt *out = tile_append(b->k, b->block, TILE_STMT_LOOP, s->span);
    out->range = r;
    out->predicate = l.predicate;
    VEC_PUSH(b->arena, b->loops, l);
    tile_block *block = b->block;
    b->block = &out->body;
    lang_build_statements(b, &s->body);
    b->block = block;
    b->loops.count--;
    names_leave(b, names, s->name);
}

void lang_build_statements(builder *b, const stmt_list *list) {
    for (int i = 0; i < list->items.count && b->diags->errors < MAX_ERRORS && !b->too_large; i++) {
        const stmt *s = list->items.at[i];
        b->statement++;
        switch (s->kind) {
        case STMT_DECLARE: s->is_state ? declare_state(b, s) : declare_value(b, s, list, i); break;
        case STMT_BIND: build_bind(b, s); break;
        case STMT_UPDATE: build_update(b, s); break;
        case STMT_JOIN: build_join(b, s); break;
        case STMT_STORE: build_store(b, s); break;
        case STMT_CALL: build_call(b, s); break;
        case STMT_MULTIPLY: build_multiply(b, s); break;
        case STMT_FOR: build_for(b, s); break;
        case STMT_TILE: {
            diag *g = lang_error(b, "E0312", s->span, "`for tile` stands within another `for tile`");
            diag_caret(b->diags, g, "use a loop (`for k: BK in K`), or a second kernel and a `program`");
            break;
        }
        }
    }
}
