/* Inline assembly as our own CUDA printer writes it (target/cuda_copy.c, cuda_fragment.c, cuda_helpers.c): each form by its exact words. Any other is named and
 * refused. */
#include "lift/lifter.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `mnemonic rest;` with the rest's blanks taken out. */
typedef struct assembly {
    char mnemonic[96], rest[160];
} assembly;

static bool read_text(const char *text, assembly *out) {
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strcspn(text, " ;\t\n"), length = 0;
    if (!n || n >= sizeof out->mnemonic)
        return false;
    snprintf(out->mnemonic, sizeof out->mnemonic, "%.*s", (int)n, text);
    for (text += n; *text && *text != ';'; text++) {
        if (isspace((unsigned char)*text))
            continue;
        if (length + 1 >= sizeof out->rest)
            return false;
        out->rest[length++] = *text;
    }
    out->rest[length] = 0;
    for (text += *text == ';'; *text; text++)
        if (!isspace((unsigned char)*text))
            return false; /* a second instruction */
    return true;
}

static kernel_stmt *append(lifter *l, kernel_stmt_kind kind) {
    kernel_stmt *s = kernel_append(l->k, l->at, kind, lift_span(l, l->now));
    l->statements++;
    return s;
}

/* ---- asynchronous copies ---- */

/* Scalars that both sides hold: what is known of either. */
static const lift_type *element_of(const lifted *to, const lifted *from) {
    const lift_type *t = to->object->facts->element ? to->object->facts->element : from->object->facts->element;
    for (t = t ? t : to->object->type; t && (t->kind == LIFT_ARRAY || t->kind == LIFT_VECTOR);)
        t = t->element;
    return t;
}

/* One copy of `lanes` elements side by side. */
static void copy_box(lifter *l, const lift_type *t, lifted to, lifted from, int lanes) {
    kernel_access into = lift_cell(l, t, to, true, false), of = lift_cell(l, t, from, false, true);
    if (lift_stopped(l) || !into.array || !of.array)
        return;
    kernel_stmt *s = append(l, KSTMT_COPY);
    s->access = into;
    s->source = of;
    s->extents = NEW_ARRAY(l->arena, index_expr *, into.array->rank + 1);
    for (int d = 0; d < into.array->rank; d++)
        s->extents[d] = ix_const(l->arena, d == into.array->rank - 1 ? lanes : 1);
}

static void copy_async(lifter *l, const lift_value *v, int64_t bytes) {
    lifted to = lift_operand(l, v->operands[0]), from = lift_operand(l, v->operands[1]), count = lift_operand(l, v->operands[2]);
    int64_t n;
    if (lift_stopped(l))
        return;
    if (to.kind != LIFTED_POINTER || from.kind != LIFTED_POINTER || to.object->space != SPACE_SHARED ||
        from.object->space != SPACE_GLOBAL) {
        lift_fail(l, "E1127", v, "an asynchronous copy other than from global to shared memory");
        return;
    }
    const lift_type *t = element_of(&to, &from);
    if (!t || !t->size || bytes % t->size) {
        lift_fail(l, "E1127", v, "an asynchronous copy between memory of different elements");
        return;
    }
    if (lift_is_number(&count, &n) && n == bytes) {
        copy_box(l, t, to, from, (int)(bytes / t->size));
        return;
    }
    count.bits = 32;
    index_expr *there = lift_exact(l, count, true);
    for (int64_t at = 0; at < bytes && !lift_stopped(l); at += t->size) { /* what is not there becomes zero */
        kernel_block *outer = l->at;
        kernel_stmt *choice = append(l, KSTMT_IF);
        choice->condition = cond_compare(l->arena, COND_LT, ix_const(l->arena, at), there);
        l->at = &choice->body;
        copy_box(l, t, to, from, 1);
        l->at = &choice->otherwise;
        lift_store(l, t, to,
                   t->kind == LIFT_INTEGER ? lifted_number(l, t->bits, 0)
                                           : lifted_value((int)t->size * 8, lift_zero(l, lift_value_type(t))));
        l->at = outer;
        to.offset += t->size;
        from.offset += t->size;
    }
}

/* ---- conversions ---- */

static void convert(lifter *l, const lift_value *v, bool to_half) {
    static const lift_type half = {.kind = LIFT_HALF, .size = 2, .text = "half"};
    lifted x = lift_operand(l, v->operands[0]);
    if (lift_stopped(l))
        return;
    if (to_half) {
        kernel_value *h = kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_F16, lift_as_value(l, x));
        lift_set(l, v, lift_same_bits(l, v, &half, v->type, lifted_value(16, kernel_ref(l->k, lift_let(l, v->name, h)))));
        return;
    }
    x = lift_same_bits(l, v, v->operands[0]->type, &half, x);
    if (!lift_stopped(l))
        lift_set(l, v, lifted_value(32, kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_F32, lift_as_value(l, x))));
}

/* ---- the forms ---- */

void lift_assembly(lifter *l, const lift_value *v) {
    assembly x;
    long long bytes;
    char end;
    if (!read_text(v->assembly, &x)) {
        lift_fail(l, "E1127", v, "inline assembly: %s", v->assembly);
        return;
    }
    bool plain = !*x.rest && !v->operand_count;
    if (plain && (!strcmp(x.mnemonic, "griddepcontrol.wait") || !strcmp(x.mnemonic, "griddepcontrol.launch_dependents")))
        return; /* what ran before has ended: one launch is looked at */
    if (plain && !strcmp(x.mnemonic, "cp.async.commit_group")) {
        append(l, KSTMT_COMMIT);
        return;
    }
    if (!v->operand_count && !strcmp(x.mnemonic, "cp.async.wait_group") && isdigit((unsigned char)*x.rest)) {
        append(l, KSTMT_WAIT_ASYNC)->count = atoi(x.rest);
        return;
    }
    bool copies = !strcmp(x.mnemonic, "cp.async.ca.shared.global") || !strcmp(x.mnemonic, "cp.async.cg.shared.global");
    if (copies && v->operand_count == 3 && sscanf(x.rest, "[$0],[$1],%lld,$2%c", &bytes, &end) == 1 &&
        (bytes == 4 || bytes == 8 || bytes == 16)) {
        copy_async(l, v, bytes);
        return;
    }
    bool to_half = !strcmp(x.mnemonic, "cvt.rn.f16.f32");
    if ((to_half || !strcmp(x.mnemonic, "cvt.f32.f16")) && v->operand_count == 1 && !strcmp(x.rest, "$0,$1")) {
        convert(l, v, to_half);
        return;
    }
    if (lift_ldmatrix(l, v, x.mnemonic, x.rest) || lift_mma(l, v, x.mnemonic, x.rest))
        return;
    lift_fail(l, "E1127", v, "inline assembly: %s", v->assembly);
}

bool lift_wants_warps(const char *text) {
    assembly x;
    return read_text(text, &x) && (!strncmp(x.mnemonic, "ldmatrix.", 9) || !strncmp(x.mnemonic, "mma.", 4));
}
