/* The text form of Kernel IR (doc/kernel-ir.md). Names must be settled; what is printed parses back to the same program. */
#include "kernel/kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void indent(text_buffer *out, int depth) {
    text_add(out, "%*s", 4 * depth, "");
}

static void print_string(text_buffer *out, const char *text) {
    text_add(out, "\"");
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            text_add(out, "\\%c", *p);
        else if (*p == '\n')
            text_add(out, "\\n");
        else
            text_add(out, "%c", *p);
    }
    text_add(out, "\"");
}

static void print_type(text_buffer *out, element_type type, int lanes) {
    text_add(out, lanes > 1 ? "%sx%d" : "%s", element_table[type].name, lanes);
}

static void print_list(text_buffer *out, index_expr *const *items, int count) {
    for (int i = 0; i < count; i++) {
        if (i)
            text_add(out, ", ");
        ix_print(out, items[i]);
    }
}

static void print_number(text_buffer *out, double x, element_type type) {
    if (type == ELEMENT_BOOL) {
        text_add(out, x != 0 ? "true" : "false");
    } else if (isnan(x)) {
        text_add(out, "nan");
    } else if (isinf(x)) {
        text_add(out, x < 0 ? "-inf" : "inf");
    } else {
        char text[40];
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, x);
            if (strtod(text, NULL) == x)
                break;
        }
        text_add(out, "%s", text);
    }
}

void kernel_print_access(text_buffer *out, const kernel_access *access) {
    const kernel_array *array = access->array;
    text_add(out, "%s[", array->name);
    for (int i = 0; i < array->rank; i++) {
        if (i)
            text_add(out, ", ");
        ix_print(out, access->indices[i]);
        if (access->lanes > 1 && access->vector_dim == i)
            text_add(out, ":%d", access->lanes);
    }
    text_add(out, access->aligned ? "] aligned" : "]");
    if (access->active) {
        text_add(out, " active ");
        ix_print(out, access->active);
    }
}

static void print_fragment(text_buffer *out, const kernel_fragment *fragment, const index_expr *index) {
    text_add(out, "%s", fragment->name);
    if (index) {
        text_add(out, "[");
        ix_print(out, index);
        text_add(out, "]");
    }
}

static void print_direction(text_buffer *out, const char *word, int dimension, const index_expr *step) {
    text_add(out, "%s %d", word, dimension);
    if (step) {
        text_add(out, " by ");
        ix_print(out, step);
    }
}

static void print_fragment_ref(text_buffer *out, const fragment_ref *r) {
    print_fragment(out, r->fragment, r->index);
}

static void print_value(text_buffer *out, const kernel_value *v, int depth) {
    if (depth > 1000) {
        text_add(out, "...");
        return;
    }
    switch (v->op) {
    case KERNEL_CONST:
        print_number(out, v->number, v->type);
        text_add(out, ":");
        print_type(out, v->type, v->lanes);
        return;
    case KERNEL_SCALAR: text_add(out, "scalar(%s)", v->scalar); return;
    case KERNEL_REF: text_add(out, "%s", v->let->name); return;
    case KERNEL_LOAD: kernel_print_access(out, &v->access); return;
    case KERNEL_IOTA: text_add(out, "iota(%d)", v->lanes); return;
    default: break;
    }
    text_add(out, "%s(", kernel_op_table[v->op].name);
    const char *separator = "";
    if (v->op == KERNEL_CONVERT || v->op == KERNEL_BITCAST) {
        text_add(out, "%s", element_table[v->type].name);
        separator = ", ";
    }
    if (v->fragment) {
        print_fragment(out, v->fragment, v->fragment_index);
        separator = ", ";
    }
    for (int i = 0; i < v->operand_count; i++) {
        text_add(out, "%s", separator);
        print_value(out, v->operands[i], depth + 1);
        separator = ", ";
    }
    if (v->index) {
        text_add(out, "%s", separator);
        ix_print(out, v->index);
    }
    if (v->op == KERNEL_BROADCAST)
        text_add(out, ", %d", v->lanes);
    if (v->op == KERNEL_CONVERT && v->saturate)
        text_add(out, ", saturate");
    text_add(out, ")");
}

static void print_range(text_buffer *out, const index_var *v) {
    if (!v || !v->hi)
        return;
    text_add(out, " in ");
    if (v->lo)
        ix_print(out, v->lo);
    else
        text_add(out, "0");
    text_add(out, " .. ");
    ix_print(out, v->hi);
}

static void print_spaces(text_buffer *out, unsigned spaces) {
    const char *separator = " orders ";
    for (int i = 0; i <= SPACE_GHOST; i++)
        if (spaces & 1u << i) {
            text_add(out, "%s%s", separator, space_names[i]);
            separator = ", ";
        }
}

static void print_box(text_buffer *out, const char *word, index_expr *const *extents, int count) {
    text_add(out, " %s [", word);
    print_list(out, extents, count);
    text_add(out, "]");
}

static void print_let(text_buffer *out, const kernel_stmt *s) {
    const kernel_value *v = s->value;
    text_add(out, "let %s", s->name);
    if (v->op != KERNEL_INDEX) {
        text_add(out, ": ");
        print_type(out, v->type, v->lanes);
    }
    print_range(out, s->var);
    text_add(out, " = ");
    if (v->op == KERNEL_INDEX)
        ix_print(out, v->index);
    else
        print_value(out, v, 0);
}

static void print_intrinsic(text_buffer *out, const kernel_stmt *s) {
    static const char *const effects[] = {"value", "reads", "writes", "updates", "result", "vector", "fragment"};
    text_add(out, "intrinsic ");
    print_string(out, s->name);
    text_add(out, " (");
    for (int i = 0; i < s->contract_count; i++) {
        const contract_operand *c = &s->contract[i];
        text_add(out, "%s%s%s ", i ? ", " : "", c->asynchronous ? "async " : "", effects[c->effect]);
        if (c->effect == CONTRACT_VALUE) {
            print_value(out, c->value, 0);
            continue;
        }
        if (c->effect == CONTRACT_VECTOR) {
            text_add(out, "(");
            for (int n = 0; n < c->count; n++) {
                text_add(out, n ? ", " : "");
                print_value(out, c->values[n], 0);
            }
            text_add(out, ")");
            continue;
        }
        if (!contract_has_cells(c)) {
            text_add(out, c->effect == CONTRACT_RESULT ? "fragment " : "");
            print_fragment_ref(out, &s->fragments[c->which]);
            continue;
        }
        kernel_print_access(out, &c->access);
        if (c->effect == CONTRACT_RESULT)
            continue;
        print_box(out, "box", c->extents, c->access.array->rank);
        if (c->from)
            print_box(out, "from", c->from, c->access.array->rank);
    }
    text_add(out, ")");
}

static void print_mbarrier(text_buffer *out, const char *word, const kernel_stmt *s) {
    text_add(out, "%s %s[", word, s->name);
    ix_print(out, s->slot);
    text_add(out, "]");
}

static void print_fragment_stmt(text_buffer *out, const kernel_stmt *s) {
    const fragment_ref *f = s->fragments;
    text_add(out, "%s ", kernel_stmt_names[s->kind]);
    if (s->kind == KSTMT_FRAGMENT_STORE)
        kernel_print_access(out, &s->access);
    else
        print_fragment_ref(out, &f[0]);
    if (s->kind == KSTMT_FRAGMENT_MAP)
        text_add(out, " (%s, %s)", s->row->name, s->column->name);
    if (s->kind == KSTMT_FRAGMENT_SET) {
        text_add(out, " lane_view ");
        ix_print(out, s->element);
    }
    text_add(out, " <- ");
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL:
    case KSTMT_FRAGMENT_SET:
    case KSTMT_FRAGMENT_MAP: print_value(out, s->value, 0); break;
    case KSTMT_FRAGMENT_STORE: print_fragment_ref(out, &f[0]); break;
    case KSTMT_FRAGMENT_LOAD: kernel_print_access(out, &s->access); break;
    case KSTMT_FRAGMENT_MMA:
        for (int i = 1; i < 4; i++) {
            print_fragment_ref(out, &f[i]);
            text_add(out, i < 3 ? ", " : s->asynchronous ? " async" : "");
        }
        break;
    case KSTMT_FRAGMENT_REDUCE: text_add(out, "%s ", kernel_op_table[s->combine].name); /* fallthrough */
    default:
        for (int i = 1; i < 4 && f[i].fragment; i++) {
            text_add(out, i > 1 ? ", " : "");
            print_fragment_ref(out, &f[i]);
        }
        break;
    }
    if (s->kind == KSTMT_FRAGMENT_REDUCE)
        text_add(out, " axis %d", s->axis);
    if (s->kind == KSTMT_FRAGMENT_LOAD || s->kind == KSTMT_FRAGMENT_STORE) {
        print_direction(out, " rows", s->row_dim, s->row_step);
        print_direction(out, " columns", s->column_dim, s->column_step);
        if (s->extents) {
            text_add(out, " within (");
            print_list(out, s->extents, 2);
            text_add(out, ")");
        }
        if (s->by_reference)
            text_add(out, " by_reference");
    }
}

void kernel_print_stmt_head(text_buffer *out, const kernel_stmt *s) {
    const char *word = kernel_stmt_names[s->kind];
    switch (s->kind) {
    case KSTMT_LET: print_let(out, s); break;
    case KSTMT_STORE:
        text_add(out, "store ");
        kernel_print_access(out, &s->access);
        text_add(out, " <- ");
        print_value(out, s->value, 0);
        break;
    case KSTMT_CONSUME:
        text_add(out, "consume ");
        kernel_print_access(out, &s->access);
        break;
    case KSTMT_FOR:
        text_add(out, "for %s in ", s->var->name);
        ix_print(out, s->lo);
        text_add(out, " .. ");
        ix_print(out, s->hi);
        text_add(out, " step ");
        ix_print(out, s->step);
        text_add(out, s->unroll ? " unroll" : "");
        break;
    case KSTMT_TASKS: text_add(out, "tasks %s", s->var->name); break;
    case KSTMT_LOOP: text_add(out, "loop"); break;
    case KSTMT_BREAK:
    case KSTMT_IF:
        text_add(out, s->kind == KSTMT_IF ? "if " : s->condition ? "break when " : "break");
        if (s->condition)
            cond_print(out, s->condition);
        break;
    case KSTMT_IF_VALUE:
        text_add(out, "if_value ");
        print_value(out, s->value, 0);
        break;
    case KSTMT_ROLE:
        text_add(out, "role %s if ", s->name);
        cond_print(out, s->condition);
        break;
    case KSTMT_BARRIER:
    case KSTMT_FENCE:
        text_add(out, "%s %s", word, level_names[s->scope]);
        print_spaces(out, s->spaces);
        text_add(out, s->proxy ? " proxy" : "");
        if (s->participants) {
            text_add(out, " by ");
            cond_print(out, s->participants);
        }
        break;
    case KSTMT_COPY:
        text_add(out, "copy_async ");
        kernel_print_access(out, &s->access);
        text_add(out, " <- ");
        kernel_print_access(out, &s->source);
        print_box(out, "box", s->extents, s->access.array->rank);
        text_add(out, s->clip ? " clip" : "");
        if (s->name) {
            text_add(out, " ");
            print_mbarrier(out, "signals", s);
        }
        text_add(out, kernel_is_of_block(s) ? " by block" : "");
        break;
    case KSTMT_COMMIT: text_add(out, s->matrix ? "commit mma" : "commit"); break;
    case KSTMT_WAIT_ASYNC:
        text_add(out, s->matrix ? "wait_async mma %lld" : "wait_async %lld", (long long)s->count);
        text_add(out, kernel_is_of_block(s) ? " by block" : "");
        break;
    case KSTMT_MBARRIER_ARRIVE:
    case KSTMT_MBARRIER_WAIT:
        print_mbarrier(out, word, s);
        if (s->kind == KSTMT_MBARRIER_WAIT) {
            text_add(out, " phase ");
            ix_print(out, s->phase);
        }
        if (s->participants) {
            text_add(out, " by ");
            cond_print(out, s->participants);
        }
        break;
    case KSTMT_ATOMIC:
    case KSTMT_GRID_REDUCE:
        text_add(out, "%s ", word);
        if (s->name)
            text_add(out, "%s = ", s->name);
        text_add(out, "%s ", kernel_op_table[s->combine].name);
        kernel_print_access(out, &s->access);
        if (s->expected) {
            text_add(out, " if ");
            print_value(out, s->expected, 0);
        }
        text_add(out, " <- ");
        print_value(out, s->value, 0);
        if (s->kind == KSTMT_ATOMIC)
            text_add(out, " scope %s%s", level_names[s->scope], s->ordered ? " ordered" : "");
        break;
    case KSTMT_INTRINSIC: print_intrinsic(out, s); break;
    case KSTMT_COMMENT:
        text_add(out, "comment ");
        print_string(out, s->name);
        break;
    default: print_fragment_stmt(out, s); break;
    }
}

static void print_block(text_buffer *out, const kernel_block *b, int depth) {
    if (depth > 1000) {
        text_add(out, "...\n");
        return;
    }
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        indent(out, depth);
        kernel_print_stmt_head(out, s);
        switch (s->kind) {
        case KSTMT_INTRINSIC:
            if (s->body.items.count) {
                text_add(out, " reference {\n");
                print_block(out, &s->body, depth + 1);
                indent(out, depth);
                text_add(out, "}");
            }
            text_add(out, "\n");
            break;
        case KSTMT_FOR:
        case KSTMT_TASKS:
        case KSTMT_LOOP:
        case KSTMT_IF:
        case KSTMT_IF_VALUE:
        case KSTMT_ROLE:
            text_add(out, " {\n");
            print_block(out, &s->body, depth + 1);
            if (s->otherwise.items.count) {
                indent(out, depth);
                text_add(out, "} else {\n");
                print_block(out, &s->otherwise, depth + 1);
            }
            indent(out, depth);
            text_add(out, "}");
            break;
        default: break;
        }
        text_add(out, "\n");
    }
}

static void print_layout(text_buffer *out, const kernel_layout *l, int rank) {
    switch (l->kind) {
    case LAYOUT_ROW: break;
    case LAYOUT_STRIDES:
        text_add(out, " layout strides(");
        print_list(out, l->strides, rank);
        text_add(out, ")");
        break;
    case LAYOUT_PAD: text_add(out, " layout pad(%lld)", (long long)l->amount); break;
    case LAYOUT_PANEL: text_add(out, " layout panel(%d, %lld)", l->dim, (long long)l->amount); break;
    case LAYOUT_SWIZZLE: text_add(out, " layout swizzle(%d, %d, %d)", l->bits, l->base, l->shift); break;
    case LAYOUT_BOX:
        text_add(out, " layout box(");
        for (int i = 0; i < rank; i++)
            text_add(out, i ? ", %lld" : "%lld", (long long)l->box[i]);
        text_add(out, ")");
        if (l->bits > 0)
            text_add(out, " swizzle(%d, %d, %d)", l->bits, l->base, l->shift);
        break;
    }
}

static void print_array(text_buffer *out, const kernel_array *a) {
    static const char *const uses[] = {" in", " out", " update", " workspace", ""};
    text_add(out, "%s%s %s: ", space_names[a->space], uses[a->use], a->name);
    print_type(out, a->element, a->lanes);
    text_add(out, "[");
    print_list(out, a->dims, a->rank);
    text_add(out, "]");
    print_layout(out, &a->layout, a->rank);
    if (a->alignment)
        text_add(out, " align %d", a->alignment);
    if (a->element_bound) {
        text_add(out, " bound ");
        ix_print(out, a->element_bound);
        text_add(out, a->element_injective ? " injective" : "");
    }
    if (a->source_array >= 0)
        text_add(out, " argument %d", a->source_array);
    if (a->rewritable)
        text_add(out, " rewritable");
    if (a->unset)
        text_add(out, " unset");
    if (a->cells) {
        text_add(out, " cells (");
        for (int i = 0; i < a->rank; i++)
            text_add(out, i ? ", %s" : "%s", a->cell_vars[i]->name);
        text_add(out, ") where ");
        cond_print(out, a->cells);
    }
    if (a->view_of)
        text_add(out, " view %s at %lld", a->view_of->name, (long long)a->view_offset);
}

static void print_declarations(text_buffer *out, const kernel_ir *k, int depth) {
#define LINE(...) (indent(out, depth), text_add(out, __VA_ARGS__))
    if (k->schedule) {
        LINE("schedule ");
        print_string(out, k->schedule);
        text_add(out, "\n");
    }
    for (int i = 0; i < k->symbols.count; i++) {
        LINE("symbol %s", k->symbols.at[i]->name);
        print_range(out, k->symbols.at[i]);
        text_add(out, "\n");
    }
    for (int i = 0; i < k->scalars.count; i++) {
        LINE("scalar %s: %s", k->scalars.at[i].name, element_table[k->scalars.at[i].type].name);
        print_range(out, k->scalars.at[i].var);
        text_add(out, "\n");
    }
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *l = &k->levels.at[i];
        LINE("%s (", level_names[l->kind]);
        for (int d = 0; d < l->rank; d++) {
            text_add(out, d ? ", %s < " : "%s < ", l->ids[d]->name);
            ix_print(out, l->extents[d]);
        }
        text_add(out, ")\n");
    }
    if (k->grid) {
        LINE("grid ");
        ix_print(out, k->grid);
        text_add(out, "\n");
    }
    for (int i = 0; i < k->arrays.count; i++) {
        LINE("%s", "");
        print_array(out, k->arrays.at[i]);
        text_add(out, "\n");
    }
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        LINE("fragment %s: %s %s %d x %d", f->name, role_names[f->role], element_table[f->element].name, f->rows, f->columns);
        if (f->count > 1)
            text_add(out, " [%d]", f->count);
        text_add(out, " held by %s\n", level_names[f->holder]);
    }
    for (int i = 0; i < k->mbarriers.count; i++)
        LINE("mbarrier %s[%d] arrivals %lld\n", k->mbarriers.at[i]->name, k->mbarriers.at[i]->slots,
             (long long)k->mbarriers.at[i]->arrivals);
    for (int i = 0; i < k->assumptions.count; i++) {
        LINE("assume ");
        cond_print(out, k->assumptions.at[i]);
        text_add(out, "\n");
    }
#undef LINE
}

static void print_kernel(text_buffer *out, const kernel_ir *k, int depth) {
    indent(out, depth);
    text_add(out, "kernel %s {\n", k->name);
    print_declarations(out, k, depth + 1);
    text_add(out, "\n");
    print_block(out, &k->body, depth + 1);
    indent(out, depth);
    text_add(out, "}\n");
}

void kernel_print(text_buffer *out, const kernel_ir *k) {
    print_kernel(out, k, 0);
}

static void print_check(text_buffer *out, const launch_check *c) {
    switch (c->kind) {
    case CHECK_WHERE:
        text_add(out, "check where ");
        cond_print(out, c->condition);
        break;
    case CHECK_SCALAR_RANGE:
        text_add(out, "check scalar %s", c->scalar->name);
        print_range(out, c->scalar->var);
        break;
    case CHECK_INDEX_RANGE:
        text_add(out, "check elements of %s in 0 .. ", c->array->name);
        if (c->array->element_bound) {
            ix_print(out, c->array->element_bound);
            text_add(out, " - 1");
        }
        break;
    case CHECK_INJECTIVE: text_add(out, "check elements of %s are distinct", c->array->name); break;
    }
    text_add(out, "\n");
}

void plan_print(text_buffer *out, const launch_plan *p) {
    text_add(out, "plan %s {\n", p->name);
    for (int i = 0; i < p->checks.count; i++) {
        indent(out, 1);
        print_check(out, &p->checks.at[i]);
    }
    for (int i = 0; i < p->workspaces.count; i++) {
        indent(out, 1);
        print_array(out, p->workspaces.at[i]);
        text_add(out, "\n");
    }
    for (int i = 0; i < p->variants.count; i++) {
        const plan_variant *v = &p->variants.at[i];
        indent(out, 1);
        text_add(out, v->predicate ? "variant when " : "variant always");
        if (v->predicate)
            cond_print(out, v->predicate);
        text_add(out, " {\n");
        for (int b = 0; b < v->before.count; b++)
            print_kernel(out, v->before.at[b], 2);
        print_kernel(out, v->kernel, 2);
        indent(out, 1);
        text_add(out, "}");
        if (v->aligned) {
            text_add(out, " aligned when arrays begin at multiples of %d bytes", PLAN_ALIGNMENT);
            for (int d = 0; d < v->divided.count; d++)
                text_add(out, " and (%s mod %d) == 0", v->aligned->symbols.at[v->divided.at[d]]->name, v->multiple);
            text_add(out, " {\n");
            print_kernel(out, v->aligned, 2);
            indent(out, 1);
            text_add(out, "}");
        }
        text_add(out, "\n");
    }
    text_add(out, "}\n");
}
