/* Declarations of intrinsics: their text, and bounds of contracts. */
#include "tile/intrinsic.h"
#include <string.h>

const char *const intrinsic_space_words[] = {"", "global", "shared"};

int intrinsic_written(const intrinsic *f) {
    for (int i = 0; i < f->parameter_count; i++)
        if (f->parameters[i].writes)
            return i;
    return -1;
}

intrinsic_kind intrinsic_kind_of(const intrinsic *f) {
    bool matrices = false, writes = intrinsic_written(f) >= 0;
    for (int i = 0; i < f->parameter_count; i++)
        matrices = matrices || f->parameters[i].matrix;
    if (writes)
        return matrices ? INTRINSIC_STORES_MATRIX : INTRINSIC_STORES_CELLS;
    return f->rows ? matrices ? INTRINSIC_MULTIPLIES : INTRINSIC_LOADS : INTRINSIC_GIVES;
}

bool intrinsic_is_store(const intrinsic *f) {
    return intrinsic_written(f) >= 0;
}

int intrinsic_operands(const intrinsic *f) {
    return f->parameter_count - intrinsic_is_store(f) + f->referenced;
}

int intrinsic_operand_of(const intrinsic *f, int parameter) {
    const int written = intrinsic_written(f);
    return parameter - (written >= 0 && written < parameter);
}

index_expr *intrinsic_bound_of(arena *a, const intrinsic_bound *b, index_expr *const *indices, int count) {
    index_expr *x = ix_const(a, b->constant);
    for (int i = 0; i < count; i++)
        if (b->factors[i] && indices[i])
            x = ix_add(a, x, ix_mul(a, ix_const(a, b->factors[i]), indices[i]));
    return x;
}

void intrinsic_print_bound(text_buffer *out, const intrinsic *f, const intrinsic_bound *b) {
    bool some = false;
    for (int i = 0; i < f->parameter_count; i++)
        if (b->factors[i]) {
            text_add(out, "%s", some ? " + " : "");
            if (b->factors[i] != 1)
                text_add(out, "%lld * ", (long long)b->factors[i]);
            text_add(out, "%s", f->parameters[i].name);
            some = true;
        }
    if (b->constant || !some)
        text_add(out, "%s%lld", some ? " + " : "", (long long)b->constant);
}

static void print_parameter(text_buffer *out, const intrinsic *f, const intrinsic_parameter *p) {
    text_add(out, "%s: ", p->name);
    if (p->matrix) {
        text_add(out, "matrix %s[%lld, %lld]", element_table[p->type].name, (long long)p->dims[0], (long long)p->dims[1]);
        return;
    }
    if (!p->rank) {
        text_add(out, "%s", element_table[p->type].name);
        return;
    }
    text_add(out, "%s%s%s[", intrinsic_space_words[p->space], p->space ? " " : "", element_table[p->type].name);
    for (int d = 0; d < p->rank; d++)
        text_add(out, "%s%lld", d ? ", " : "", (long long)p->dims[d]);
    text_add(out, "] %s [", p->reads && p->writes ? "updates" : p->writes ? "writes" : "reads");
    for (int d = 0; d < p->rank; d++) {
        text_add(out, d ? ", " : "");
        intrinsic_print_bound(out, f, &p->lo[d]);
        text_add(out, " .. ");
        intrinsic_print_bound(out, f, &p->hi[d]);
    }
    text_add(out, "]");
}

void intrinsic_print_item(text_buffer *out, const intrinsic *f, const intrinsic_item *x) {
    switch (x->kind) {
    case ITEM_PARAMETER: text_add(out, "%s", f->parameters[x->parameter].name); break;
    case ITEM_INTEGER: text_add(out, "%lld", (long long)x->integer); break;
    case ITEM_STRIDE: text_add(out, "stride(%s, %d)", f->parameters[x->parameter].name, x->dim); break;
    case ITEM_VECTOR:
        text_add(out, "%sx%d(", element_table[x->type].name, x->count);
        for (int i = 0; i < x->count; i++) {
            text_add(out, i ? ", " : "");
            intrinsic_print_item(out, f, &x->items[i]);
        }
        text_add(out, ")");
        break;
    }
}

void intrinsic_print(text_buffer *out, const intrinsic *f, int indent) {
    text_add(out, "%*sintrinsic %s(", indent, "", f->name);
    for (int i = 0; i < f->parameter_count; i++) {
        text_add(out, i ? ", " : "");
        print_parameter(out, f, &f->parameters[i]);
    }
    text_add(out, ") -> %s", element_table[f->type].name);
    if (f->rows)
        text_add(out, "[%d, %d]", f->rows, f->columns);
    text_add(out, "%s%s\n", f->referenced ? " value" : "", f->anywhere ? " otherwise" : "");
    for (int i = 0; i < f->bindings.count; i++) {
        const intrinsic_binding *b = &f->bindings.at[i];
        text_add(out, "%*sfor %s = \"%s\"(", indent + 4, "", b->target, b->name);
        for (int j = 0; j < b->count; j++) {
            text_add(out, j ? ", " : "");
            intrinsic_print_item(out, f, &b->items[j]);
        }
        text_add(out, ")\n");
    }
}

bool intrinsic_vector_type(const char *word, element_type *element, int *lanes) {
    const char *x = strrchr(word, 'x');
    if (!x || x == word || x - word > 6 || x[1] < '2' || x[1] > '8' || x[2])
        return false;
    char name[8] = {0};
    memcpy(name, word, (size_t)(x - word));
    *element = !strcmp(name, "i64") ? ELEMENT_I64 : element_by_name(name);
    *lanes = x[1] - '0';
    bool number = *element != ELEMENT_COUNT && *element != ELEMENT_INDEX && element_table[*element].block_elements == 1;
    return number && (*lanes == 2 || *lanes == 3 || *lanes == 4 || *lanes == 8);
}
