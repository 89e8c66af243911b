/* Names in scope, for the parser, the checker and kernel_settle_names. Inner scopes are undone by going back to a mark. */
#ifndef TILEC_KERNEL_NAMES_H
#define TILEC_KERNEL_NAMES_H
#include "kernel/kernel.h"

typedef enum name_kind { NAME_VAR, NAME_SCALAR, NAME_LET, NAME_ARRAY, NAME_FRAGMENT, NAME_MBARRIER } name_kind;
typedef struct kernel_scope_entry {
    const char *name;
    name_kind kind;
    void *object;   /* index_var, kernel_scalar, kernel_stmt (LET or ATOMIC), kernel_array, kernel_fragment, kernel_mbarrier */
    index_var *var; /* usable in index expressions under this name; NULL: not */
    int next;       /* older entry of the same bucket, -1: none */
    unsigned bucket;
} kernel_scope_entry;
enum { NAME_BUCKETS = 1024 };
typedef struct kernel_scope {
    arena *arena;
    VEC(kernel_scope_entry) entries;
    int heads[NAME_BUCKETS];
} kernel_scope;

void kernel_scope_init(kernel_scope *s, arena *a);
const kernel_scope_entry *kernel_scope_find(const kernel_scope *s, const char *name); /* innermost; NULL: none */
void kernel_scope_add(kernel_scope *s, const char *name, name_kind kind, void *object, index_var *var);
int kernel_scope_mark(const kernel_scope *s);
void kernel_scope_undo(kernel_scope *s, int mark);
/* A letter or _, then letters, digits, _; not a word of conditions (and, or, not, mod, true, false). */
bool kernel_is_identifier(const char *name);
#endif
