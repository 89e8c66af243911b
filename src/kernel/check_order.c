/* kernel_check: barriers, asynchronous copies, mbarriers, atomics, contracts and fragments. */
#include "kernel/check_parts.h"
#include <limits.h>
#include <string.h>

static const source_span here = {0};

static void check_barrier(checker *c, const kernel_stmt *s) {
    bool fence = s->kind == KSTMT_FENCE;
    const char *word = fence ? "a fence" : "a barrier";
    unsigned known = 1u << SPACE_GLOBAL | 1u << SPACE_SHARED;
    if (c->k->levels.count < 2)
        check_fail(c, "E0954", here, "%s in a kernel without threads below the task", word);
    if ((fence && !s->spaces) || (s->spaces & ~known)) /* a barrier may order nothing: threads only meet there */
        check_fail(c, "E0954", here, "%s orders global or shared memory, or both", word);
    if (s->scope == LEVEL_LANE || (!fence && s->scope == LEVEL_TASK))
        check_fail(c, "E0954", here, "%s of scope %s", word, level_names[s->scope]);
    else if (s->scope != LEVEL_BLOCK && s->scope != LEVEL_TASK && !check_has_level(c, s->scope))
        check_fail(c, "E0954", here, "%s of scope %s, a level that the kernel does not have", word, level_names[s->scope]);
    if (fence && s->participants)
        check_fail(c, "E0953", here, "a fence has no participants");
    check_condition(c, s->participants, INDEX_BELOW, s->scope, "the participants' condition");
    if (!fence && c->in_role && !s->participants && s->scope <= LEVEL_BLOCK)
        check_fail(c, "E0953", here, "a barrier of the whole %s inside a role: name its participants", level_names[s->scope]);
}

static void check_mbarrier(checker *c, const kernel_stmt *s) {
    const kernel_scope_entry *e = s->name ? kernel_scope_find(&c->names, s->name) : NULL;
    int64_t slot;
    if (!e || e->kind != NAME_MBARRIER) {
        check_fail(c, "E0956", here, "there is no mbarrier `%s`", s->name ? s->name : "(none)");
        return;
    }
    check_index(c, s->slot, INDEX_ANYWHERE, LEVEL_TASK, "an mbarrier's slot");
    if (s->slot && ix_is_const(s->slot, &slot) && (slot < 0 || slot >= ((const kernel_mbarrier *)e->object)->slots))
        check_fail(c, "E0956", here, "mbarrier `%s` has %d slots, no slot %lld", s->name,
                   ((const kernel_mbarrier *)e->object)->slots, (long long)slot);
    if (s->kind == KSTMT_MBARRIER_WAIT)
        check_index(c, s->phase, INDEX_ANYWHERE, LEVEL_TASK, "the phase waited for");
    if (s->kind == KSTMT_MBARRIER_WAIT && s->participants)
        check_fail(c, "E0956", here, "a wait has no participants");
    check_condition(c, s->participants, INDEX_BELOW, LEVEL_TASK, "the participants' condition");
}

/* Copies and waits of single threads and of the block are not told apart by `commit`: a kernel has one kind. */
static void check_of_block(checker *c, const kernel_stmt *s) {
    const bool of_block = kernel_is_of_block(s);
    if (s->matrix) {
        if (of_block)
            check_fail(c, "E0955", here, "a wait by the block is for copies");
        return;
    }
    if (of_block && c->k->levels.count < 2)
        check_fail(c, "E0955", here, "a copy by the block in a kernel without threads below the task");
    if (of_block && c->in_role)
        check_fail(c, "E0955", here, "a copy by the block inside a role");
    c->copies[of_block] = true;
    if (c->copies[!of_block])
        check_fail(c, "E0955", here, "asynchronous copies of single threads and of the block in one kernel");
}

static void check_copy(checker *c, const kernel_stmt *s) {
    c->transfer = s;
    bool target = check_cell(c, &s->access, ACCESS_WRITE), source = check_cell(c, &s->source, ACCESS_READ);
    c->transfer = NULL;
    if (!target || !source)
        return;
    const kernel_array *d = s->access.array, *a = s->source.array;
    bool in = d->space == SPACE_SHARED && a->space == SPACE_GLOBAL, out = d->space == SPACE_GLOBAL && a->space == SPACE_SHARED;
    if (!in && !out)
        check_fail(c, "E0955", here, "an asynchronous copy from %s to %s memory; it runs between global and shared",
                   space_names[a->space], space_names[d->space]);
    if (d->element != a->element)
        check_fail(c, "E0955", here, "a copy from %s to %s", element_table[a->element].name, element_table[d->element].name);
    if (!s->extents) {
        check_fail(c, "E0955", here, "a copy without a box");
        return;
    }
    const bool of_block = kernel_is_of_block(s);
    for (int i = 0; i < d->rank; i++) {
        int64_t extent = 0;
        if (of_block)
            check_index(c, s->extents[i], INDEX_ANYWHERE, LEVEL_TASK, "an extent of a copy's box");
        bool known = of_block ? s->extents[i] && (!ix_is_const(s->extents[i], &extent) || extent >= 0)
                              : check_constant(c, s->extents[i], 1, INT_MAX, "E0955", "an extent of a copy's box", &extent);
        if (!known && of_block)
            check_fail(c, "E0955", here, "a box of %lld cells", (long long)extent);
        if (known && i < d->rank - a->rank && extent != 1)
            check_fail(c, "E0955", here, "dimension %d of the box is %lld, but the source has no such dimension", i,
                       (long long)extent);
    }
    if ((s->clip || s->name) && !in)
        check_fail(c, "E0955", here, "only copies into shared memory are clipped or signal an mbarrier");
    if (of_block && (s->clip || s->name))
        check_fail(c, "E0955", here, "a copy by the block is not clipped and signals no mbarrier");
    check_of_block(c, s);
    if (s->name)
        check_mbarrier(c, s);
}

static void check_atomic(checker *c, const kernel_stmt *s) {
    bool grid = s->kind == KSTMT_GRID_REDUCE;
    bool bits = s->combine == KERNEL_BIT_AND || s->combine == KERNEL_BIT_OR || s->combine == KERNEL_BIT_XOR;
    /* an atomic on an output is a write; one that wants the old value reads too */
    if (!check_cell(c, &s->access, s->name ? ACCESS_UPDATE : ACCESS_WRITE))
        return;
    const kernel_array *a = s->access.array;
    check_value_is(c, s->value, a->element, 1, kernel_stmt_names[s->kind]);
    const kernel_op op = s->combine;
    bool exchanges = !grid && (op == KERNEL_EXCHANGE || op == KERNEL_COMPARE_EXCHANGE);
    bool wraps = !grid && a->element == ELEMENT_U32 && (op == KERNEL_INC_WRAP || op == KERNEL_DEC_WRAP);
    if (s->expected)
        check_value_is(c, s->expected, a->element, 1, "the expected value");
    if (!s->expected != (grid || op != KERNEL_COMPARE_EXCHANGE))
        check_fail(c, "E0961", here, "`compare_exchange` alone expects a value, and it does");
    bool wide =
        a->element == ELEMENT_I64 && !grid && (bits || exchanges || op == KERNEL_ADD); /* signed or not is the same to these */
    if (a->element != ELEMENT_F32 && a->element != ELEMENT_I32 && a->element != ELEMENT_U32 && !wide)
        check_fail(c, "E0961", here, "`%s` on %s; it takes f32, i32 or u32", kernel_stmt_names[s->kind],
                   element_table[a->element].name);
    if (op != KERNEL_ADD && op != KERNEL_MIN && op != KERNEL_MAX && !exchanges && !wraps &&
        !(bits && !grid && a->element != ELEMENT_F32))
        check_fail(c, "E0961", here, "`%s` cannot combine %s with `%s`", kernel_stmt_names[s->kind],
                   element_table[a->element].name,
                   s->combine >= 0 && s->combine < KERNEL_OP_COUNT ? kernel_op_table[s->combine].name : "?");
    if (grid && (a->space != SPACE_GLOBAL || a->use != USE_OUT))
        check_fail(c, "E0961", here, "`grid_reduce` into `%s`, which is no output", a->name);
    if (!grid && a->space != SPACE_GLOBAL && a->space != SPACE_SHARED)
        check_fail(c, "E0961", here, "an atomic in %s memory", space_names[a->space]);
    if (!grid && s->scope != LEVEL_TASK && s->scope != LEVEL_CLUSTER && s->scope != LEVEL_BLOCK)
        check_fail(c, "E0961", here, "an atomic of scope %s; scopes are task, cluster and block", level_names[s->scope]);
    if (grid && s->name)
        check_fail(c, "E0961", here, "`grid_reduce` has no old value");
    if (!grid && s->name)
        check_declare(c, s->name, NAME_LET, (void *)s, s->var, s->span);
}

static bool same_ref(const fragment_ref *x, const fragment_ref *y) {
    return x->fragment == y->fragment && (x->index && y->index ? ix_equal(x->index, y->index) : x->index == y->index);
}

/* What a statement of a reference reads and gives are fragments that the intrinsic is given and gives: the contract alone is judged. */
static void check_reference_fragments(checker *c, const kernel_stmt *s, const kernel_stmt *x) {
    const bool stores = x->kind == KSTMT_FRAGMENT_STORE;
    for (int i = 0; i < 4; i++) {
        const fragment_ref *f = &x->fragments[i];
        const bool reads = i > 0 || stores;
        bool named = !f->fragment || (!reads && same_ref(f, &s->fragments[0]));
        for (int n = 1; n < 4 && reads; n++)
            named = named || same_ref(f, &s->fragments[n]);
        if (!named)
            check_fail(c, "E0962", here, "the reference of `%s` %s `%s`, which its contract does not name", s->name,
                       reads ? "reads" : "makes", f->fragment->name);
    }
}

/* What it computes: stores, loads, stores and products of fragments, other intrinsics. */
static void check_reference(checker *c, const kernel_stmt *s) {
    for (int i = 0; i < s->body.items.count; i++) {
        const kernel_stmt *x = s->body.items.at[i];
        const bool transfer = x->kind == KSTMT_FRAGMENT_LOAD || x->kind == KSTMT_FRAGMENT_STORE;
        if (x->kind != KSTMT_STORE && !transfer && x->kind != KSTMT_FRAGMENT_MMA && x->kind != KSTMT_INTRINSIC)
            check_fail(c, "E0962", here,
                       "a reference is made of stores, loads, stores and products of fragments, and intrinsics, not of `%s`",
                       x->kind >= 0 && x->kind < KSTMT_COUNT ? kernel_stmt_names[x->kind] : "?");
        if (transfer && (x->extents || x->row_step || x->column_step || x->by_reference))
            check_fail(c, "E0962", here,
                       "a reference loads and stores whole fragments, whose rows and columns run along dimensions");
        if (x->kind == KSTMT_FRAGMENT_MMA && x->asynchronous)
            check_fail(c, "E0962", here, "a reference has its products at once");
        check_reference_fragments(c, s, x);
    }
    int mark = kernel_scope_mark(&c->names);
    check_block(c, &s->body);
    kernel_scope_undo(&c->names, mark);
}

static void check_vector(checker *c, const contract_operand *o, int operand) {
    if (o->count < 2 || !o->values)
        check_fail(c, "E0962", here, "operand %d is a vector of %d values", operand, o->count);
    for (int i = 0; i < o->count; i++) {
        check_value(c, o->values[i]);
        if (o->values[i] && (o->values[i]->lanes != 1 || o->values[i]->type != o->values[0]->type))
            check_fail(c, "E0962", here, "the values of operand %d are no scalars of one type", operand);
    }
}

static void check_intrinsic(checker *c, const kernel_stmt *s) {
    int results = 0, given = 0;
    if (!s->name || !*s->name)
        check_fail(c, "E0962", here, "an intrinsic without a text");
    for (int i = 0; i < 4; i++)
        if (s->fragments[i].fragment && check_fragment_ref(c, s->fragments[i].fragment, s->fragments[i].index) &&
            s->fragments[i].fragment->holder != kernel_fragment_holder(s))
            check_fail(c, "E0962", here, "its fragments have several holders");
    if (kernel_is_fragment_stmt(s) && !s->body.items.count)
        check_fail(c, "E0962", here, "an intrinsic of fragments says what it does with them: it lacks a reference");
    if (s->otherwise.items.count)
        check_fail(c, "E0964", here, "an intrinsic has no `else`");
    check_reference(c, s);
    for (int i = 0; i < s->contract_count; i++) {
        const contract_operand *o = &s->contract[i];
        static const access_use uses[] = {ACCESS_READ, ACCESS_READ, ACCESS_WRITE, ACCESS_UPDATE, ACCESS_WRITE};
        if (o->effect == CONTRACT_VALUE || o->effect == CONTRACT_VECTOR) {
            if (o->effect == CONTRACT_VALUE)
                check_value(c, o->value);
            else
                check_vector(c, o, i);
            if (o->asynchronous)
                check_fail(c, "E0962", here, "operand %d is a value: it is read at once", i);
            continue;
        }
        if (o->effect == CONTRACT_RESULT) {
            const kernel_array *a = o->access.array;
            if (++results > 1 || i || o->asynchronous)
                check_fail(c, "E0962", here, "there is one result, the first of the operands");
            if (a && kernel_is_fragment_stmt(s))
                check_fail(c, "E0962", here, "an intrinsic of fragments gives a fragment, or nothing");
            else if (!a && !s->fragments[0].fragment)
                check_fail(c, "E0962", here, "a result that goes nowhere");
            else if (a && check_access(c, &o->access, ACCESS_WRITE) && a->space != SPACE_REGISTER && a->space != SPACE_PRIVATE)
                check_fail(c, "E0962", here, "the result goes to %s memory", space_names[a->space]);
            continue;
        }
        if (o->effect == CONTRACT_FRAGMENT) {
            if (o->asynchronous || o->which != ++given || given > 3 || !s->fragments[given].fragment)
                check_fail(c, "E0962", here, "operand %d is a fragment that is used at once, the statement's %d.", i, given);
            continue;
        }
        if (o->effect < 0 || o->effect > CONTRACT_FRAGMENT) {
            check_fail(c, "E0962", here, "operand %d has no known effect", i);
            continue;
        }
        if (!check_cell(c, &o->access, uses[o->effect]))
            continue;
        if (o->access.array->rank && !o->extents) {
            check_fail(c, "E0962", here, "operand %d lacks its box", i);
            continue;
        }
        for (int d = 0; d < o->access.array->rank; d++) {
            int64_t extent;
            check_index(c, o->extents[d], INDEX_ANYWHERE, LEVEL_TASK, "a contract's box");
            if (o->from)
                check_index(c, o->from[d], INDEX_ANYWHERE, LEVEL_TASK, "the pointer's place in a contract's box");
            if (o->extents[d] && ix_is_const(o->extents[d], &extent) && extent < 0)
                check_fail(c, "E0962", here, "operand %d: a box of %lld cells", i, (long long)extent);
        }
    }
}

void check_order_stmt(checker *c, const kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_BARRIER:
    case KSTMT_FENCE: check_barrier(c, s); break;
    case KSTMT_COPY: check_copy(c, s); break;
    case KSTMT_COMMIT: break;
    case KSTMT_WAIT_ASYNC:
        if (s->count < 0)
            check_fail(c, "E0955", here, "a wait for all but %lld groups", (long long)s->count);
        check_of_block(c, s);
        break;
    case KSTMT_MBARRIER_ARRIVE:
    case KSTMT_MBARRIER_WAIT: check_mbarrier(c, s); break;
    case KSTMT_ATOMIC:
    case KSTMT_GRID_REDUCE: check_atomic(c, s); break;
    case KSTMT_INTRINSIC: check_intrinsic(c, s); break;
    default: check_fail(c, "E0964", here, "there is no statement %d", (int)s->kind); break;
    }
}

/* ---- fragments ---- */
bool check_fragment_ref(checker *c, const kernel_fragment *f, const index_expr *index) {
    bool known = false;
    for (int i = 0; i < c->k->fragments.count; i++)
        known = known || c->k->fragments.at[i] == f;
    if (!f || !known) {
        check_fail(c, "E0957", here, "no fragment of this kernel");
        return false;
    }
    int64_t value;
    if ((f->count > 1) != (index != NULL)) {
        check_fail(c, "E0957", here, f->count > 1 ? "`%s` is several fragments: say which" : "`%s` is a single fragment",
                   f->name);
    } else if (index) {
        check_index(c, index, INDEX_ANYWHERE, LEVEL_TASK, "a fragment's index");
        if (!check_is_settled(c, index))
            check_fail(c, "E0957", here, "the index of `%s` is not constant after unrolling", f->name);
        else if (ix_is_const(index, &value) && (value < 0 || value >= f->count))
            check_fail(c, "E0957", here, "`%s` has %d fragments, no fragment %lld", f->name, f->count, (long long)value);
    }
    return true;
}

static void check_mma(checker *c, const kernel_fragment *d, const kernel_fragment *a, const kernel_fragment *b,
                      const kernel_fragment *e) {
    bool fp8 = element_table[a->element].block_bytes == 1 && element_table[b->element].block_bytes == 1 &&
               element_table[a->element].is_float && element_table[b->element].is_float;
    if (d->role != FRAGMENT_ACCUMULATOR || a->role != FRAGMENT_A || b->role != FRAGMENT_B || e->role != FRAGMENT_ACCUMULATOR)
        check_fail(c, "E0958", here, "fragment_mma takes an accumulator, an a, a b and an accumulator");
    if (d->rows != a->rows || d->columns != b->columns || a->columns != b->rows || e->rows != d->rows || e->columns != d->columns)
        check_fail(c, "E0958", here, "shapes %d x %d = %d x %d * %d x %d + %d x %d do not fit", d->rows, d->columns, a->rows,
                   a->columns, b->rows, b->columns, e->rows, e->columns);
    if (a->element != b->element && !fp8)
        check_fail(c, "E0958", here, "the operands are %s and %s", element_table[a->element].name,
                   element_table[b->element].name);
    if (d->element != e->element || element_table[a->element].is_float != element_table[d->element].is_float)
        check_fail(c, "E0958", here, "products of %s cannot be summed into %s and %s", element_table[a->element].name,
                   element_table[d->element].name, element_table[e->element].name);
    if (a->holder != d->holder || b->holder != d->holder || e->holder != d->holder)
        check_fail(c, "E0958", here, "the fragments are not held by the same level");
}

static void check_transfer(checker *c, const kernel_stmt *s, const kernel_fragment *f) {
    bool load = s->kind == KSTMT_FRAGMENT_LOAD;
    c->transfer = s->by_reference ? NULL : s;
    bool cell = check_cell(c, &s->access, load ? ACCESS_READ : ACCESS_WRITE);
    c->transfer = NULL;
    if (!cell)
        return;
    const kernel_array *a = s->access.array;
    bool thin = f->rows == 1 || f->columns == 1; /* one direction has a single element, so its dimension says nothing */
    if (a->space != SPACE_GLOBAL && a->space != SPACE_SHARED && !(a->space == SPACE_PRIVATE && f->holder == LEVEL_TASK))
        check_fail(c, "E0960", here, "a fragment in %s memory", space_names[a->space]);
    if (a->element != f->element)
        check_fail(c, "E0960", here, "`%s` holds %s, fragment `%s` %s", a->name, element_table[a->element].name, f->name,
                   element_table[f->element].name);
    if (s->row_dim < 0 || s->row_dim >= a->rank || s->column_dim < 0 || s->column_dim >= a->rank ||
        (s->row_dim == s->column_dim && !thin && !s->row_step && !s->column_step))
        check_fail(c, "E0960", here, "rows along dimension %d and columns along %d of `%s`, which has %d", s->row_dim,
                   s->column_dim, a->name, a->rank);
    for (int i = 0; s->extents && i < 2; i++)
        check_index(c, s->extents[i], INDEX_ANYWHERE, LEVEL_TASK, "`within`");
    if (s->row_step)
        check_index(c, s->row_step, INDEX_ANYWHERE, LEVEL_TASK, "the distance of rows");
    if (s->column_step)
        check_index(c, s->column_step, INDEX_ANYWHERE, LEVEL_TASK, "the distance of columns");
    if (s->by_reference && (!load || a->space != SPACE_SHARED || (f->role != FRAGMENT_A && f->role != FRAGMENT_B) || s->extents ||
                            s->row_step || s->column_step))
        check_fail(c, "E0960", here, "only whole operands in shared memory are used by reference");
}

static void check_reduce(checker *c, const kernel_stmt *s, const kernel_fragment *d, const kernel_fragment *a) {
    bool rows = s->axis == 1; /* over the columns: one value a row remains */
    if (s->combine != KERNEL_ADD && s->combine != KERNEL_MIN && s->combine != KERNEL_MAX)
        check_fail(c, "E0961", here, "fragment_reduce combines with add, min or max");
    if ((s->axis != 0 && s->axis != 1) || d->role != (rows ? FRAGMENT_ROW_VECTOR : FRAGMENT_COLUMN_VECTOR) ||
        (rows ? d->rows != a->rows : d->columns != a->columns) || a->role == FRAGMENT_ROW_VECTOR ||
        a->role == FRAGMENT_COLUMN_VECTOR)
        check_fail(c, "E0958", here, "reducing `%s` over axis %d does not give `%s`", a->name, s->axis, d->name);
    if (d->element != a->element || d->holder != a->holder)
        check_fail(c, "E0958", here, "`%s` and `%s` differ in element type or holder", d->name, a->name);
}

/* What is converted stands side by side along the columns. */
static void check_fragment_convert(checker *c, const kernel_stmt *s, const kernel_fragment *d) {
    const kernel_fragment *a = s->fragments[1].fragment;
    int columns = 0;
    for (int i = 1; i < 4 && s->fragments[i].fragment; i++) {
        const kernel_fragment *x = s->fragments[i].fragment;
        if (!check_fragment_ref(c, x, s->fragments[i].index))
            return;
        columns += x->columns;
        if (x->rows != d->rows || x->holder != d->holder || (i > 1 && (x->role != a->role || x->element != a->element)))
            columns = -4096;
    }
    if (columns != d->columns)
        check_fail(c, "E0958", here, "`%s` is %d x %d, `%s` %d x %d%s: a conversion keeps the shape", d->name, d->rows,
                   d->columns, a->name, a->rows, a->columns, s->fragments[2].fragment ? ", and more beside it" : "");
    if (element_table[a->element].is_float != element_table[d->element].is_float)
        check_fail(c, "E0958", here, "fragment_convert from %s to %s", element_table[a->element].name,
                   element_table[d->element].name);
}

void check_fragment_stmt(checker *c, const kernel_stmt *s) {
    static const struct {
        kernel_stmt_kind kind;
        int count;
    } counts[] = {{KSTMT_FRAGMENT_FILL, 1}, {KSTMT_FRAGMENT_LOAD, 1},   {KSTMT_FRAGMENT_STORE, 1},   {KSTMT_FRAGMENT_MMA, 4},
                  {KSTMT_FRAGMENT_MAP, 1},  {KSTMT_FRAGMENT_REDUCE, 2}, {KSTMT_FRAGMENT_CONVERT, 2}, {KSTMT_FRAGMENT_SET, 1}};
    int count = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].kind == s->kind)
            count = counts[i].count;
    const fragment_ref *f = s->fragments;
    for (int i = 0; i < count; i++)
        if (!check_fragment_ref(c, f[i].fragment, f[i].index))
            return;
    const kernel_fragment *d = f[0].fragment;
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL: check_value_is(c, s->value, d->element, 1, "the fragment"); break;
    case KSTMT_FRAGMENT_SET:
        check_index(c, s->element, INDEX_ANYWHERE, LEVEL_TASK, "the lane's element");
        check_value_is(c, s->value, d->element, 1, "the fragment");
        break;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: check_transfer(c, s, d); break;
    case KSTMT_FRAGMENT_MMA: check_mma(c, d, f[1].fragment, f[2].fragment, f[3].fragment); break;
    case KSTMT_FRAGMENT_MAP: {
        if (!s->row || !s->column) {
            check_fail(c, "E0959", here, "a fragment_map without its position");
            return;
        }
        int mark = kernel_scope_mark(&c->names);
        check_declare(c, s->row->name, NAME_VAR, NULL, s->row, s->span);
        check_declare(c, s->column->name, NAME_VAR, NULL, s->column, s->span);
        c->map = s;
        check_value_is(c, s->value, d->element, 1, "the fragment");
        c->map = NULL;
        kernel_scope_undo(&c->names, mark);
        break;
    }
    case KSTMT_FRAGMENT_REDUCE: check_reduce(c, s, d, f[1].fragment); break;
    default: check_fragment_convert(c, s, d); break;
    }
}
