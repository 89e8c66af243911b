/* The scope table, and the pass that makes every name in scope distinct. */
#include "kernel/names.h"
#include <ctype.h>
#include <string.h>

void kernel_scope_init(kernel_scope *s, arena *a) {
    memset(s, 0, sizeof *s);
    s->arena = a;
    for (int i = 0; i < NAME_BUCKETS; i++)
        s->heads[i] = -1;
}

static unsigned bucket_of(const char *name) {
    unsigned h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % NAME_BUCKETS;
}

const kernel_scope_entry *kernel_scope_find(const kernel_scope *s, const char *name) {
    for (int i = s->heads[bucket_of(name)]; i >= 0; i = s->entries.at[i].next)
        if (!strcmp(s->entries.at[i].name, name))
            return &s->entries.at[i];
    return NULL;
}

void kernel_scope_add(kernel_scope *s, const char *name, name_kind kind, void *object, index_var *var) {
    kernel_scope_entry e = {.name = name, .kind = kind, .object = object, .var = var, .bucket = bucket_of(name)};
    e.next = s->heads[e.bucket];
    s->heads[e.bucket] = s->entries.count;
    VEC_PUSH(s->arena, s->entries, e);
}

int kernel_scope_mark(const kernel_scope *s) {
    return s->entries.count;
}

void kernel_scope_undo(kernel_scope *s, int mark) {
    while (s->entries.count > mark) {
        const kernel_scope_entry *e = &s->entries.at[--s->entries.count];
        s->heads[e->bucket] = e->next;
    }
}

static const char *const reserved[] = {"and", "or", "not", "mod", "true", "false"};

bool kernel_is_identifier(const char *name) {
    if (!name || !(isalpha((unsigned char)*name) || *name == '_'))
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(name, reserved[i]))
            return false;
    return true;
}

enum { FEW_ALIKE = 64 };

static bool numbered_is_free(const kernel_scope *s, const char *base, int number) {
    text_buffer b = {0};
    text_add(&b, "%s_%d", base, number);
    bool is_free = kernel_is_identifier(text_get(&b)) && !kernel_scope_find(s, text_get(&b));
    text_free(&b);
    return is_free;
}

/* An identifier close to `name` that nothing in scope uses. */
static const char *free_name(kernel_scope *s, const char *name) {
    char *base = arena_strdup(s->arena, name && *name ? name : "x");
    for (char *p = base; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            *p = '_';
    const char *candidate = base;
    if (isdigit((unsigned char)*base))
        candidate = base = arena_printf(s->arena, "x%s", base);
    bool taken = !kernel_is_identifier(candidate) || kernel_scope_find(s, candidate);
    /* One by one first; then, numbers in use lying side by side, by halves: some free number, the least where none is left out. */
    int used = 1, unused = 0;
    for (int i = 2; taken && !unused; i = i < FEW_ALIKE ? i + 1 : 2 * i)
        *(numbered_is_free(s, base, i) ? &unused : &used) = i;
    while (unused - used > 1) {
        int middle = used + (unused - used) / 2;
        *(numbered_is_free(s, base, middle) ? &unused : &used) = middle;
    }
    if (taken)
        candidate = arena_printf(s->arena, "%s_%d", base, unused);
    return name && !strcmp(candidate, name) ? name : candidate;
}

static void settle_var(kernel_scope *s, index_var *v) {
    v->name = free_name(s, v->name);
    kernel_scope_add(s, v->name, NAME_VAR, v, v);
}

static void settle_block(kernel_scope *s, kernel_block *b, kernel_ir *k, int depth) {
    if (depth > 1000)
        return; /* the checker refuses such nesting */
    int mark = kernel_scope_mark(s);
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *x = b->items.at[i];
        if (x->kind == KSTMT_LET || (x->kind == KSTMT_ATOMIC && x->name)) {
            x->name = free_name(s, x->name);
            if (x->var)
                x->var->name = x->name;
            kernel_scope_add(s, x->name, NAME_LET, x, x->var);
            continue;
        }
        int inner = kernel_scope_mark(s);
        if (x->kind == KSTMT_TASKS) {
            for (int d = 0; k->levels.count && d < k->levels.at[0].rank; d++)
                settle_var(s, k->levels.at[0].ids[d]);
        }
        if (x->var)
            settle_var(s, x->var);
        if (x->row && x->column) {
            settle_var(s, x->row);
            settle_var(s, x->column);
        }
        settle_block(s, &x->body, k, depth + 1);
        settle_block(s, &x->otherwise, k, depth + 1);
        kernel_scope_undo(s, inner);
    }
    kernel_scope_undo(s, mark);
}

void kernel_settle_names(kernel_ir *k) {
    kernel_scope s;
    kernel_scope_init(&s, k->arena);
    for (int i = 0; i < k->symbols.count; i++)
        settle_var(&s, k->symbols.at[i]);
    for (int i = 0; i < k->scalars.count; i++) /* keep their names: they are how the caller passes them */
        kernel_scope_add(&s, k->scalars.at[i].name, NAME_SCALAR, &k->scalars.at[i], k->scalars.at[i].var);
    for (int i = 0; i < k->arrays.count; i++) {
        kernel_array *a = k->arrays.at[i];
        a->name = free_name(&s, a->name);
        kernel_scope_add(&s, a->name, NAME_ARRAY, a, NULL);
    }
    for (int i = 0; i < k->fragments.count; i++) {
        k->fragments.at[i]->name = free_name(&s, k->fragments.at[i]->name);
        kernel_scope_add(&s, k->fragments.at[i]->name, NAME_FRAGMENT, k->fragments.at[i], NULL);
    }
    for (int i = 0; i < k->mbarriers.count; i++)
        kernel_scope_add(&s, k->mbarriers.at[i]->name, NAME_MBARRIER, k->mbarriers.at[i], NULL);
    for (int i = k->grid ? 1 : 0; i < k->levels.count; i++) /* a persistent kernel's task ids come into scope with TASKS */
        for (int d = 0; d < k->levels.at[i].rank; d++)
            settle_var(&s, k->levels.at[i].ids[d]);
    for (int i = 0; i < k->arrays.count; i++) {
        int mark = kernel_scope_mark(&s);
        for (int d = 0; k->arrays.at[i]->cell_vars && d < k->arrays.at[i]->rank; d++)
            settle_var(&s, k->arrays.at[i]->cell_vars[d]);
        kernel_scope_undo(&s, mark);
    }
    settle_block(&s, &k->body, k, 0);
}
