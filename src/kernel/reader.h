/* Tokens and integer expressions of the Kernel IR text, shared by the files that read it. After a failure every accept is
 * false and every token is the end, so that readers unwind without asking. */
#ifndef TILEC_KERNEL_READER_H
#define TILEC_KERNEL_READER_H
#include "kernel/names.h"

typedef enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SIGN } token_kind;
typedef struct token {
    token_kind kind;
    const char *text; /* NAME, SIGN: as written; STRING: its contents; NUMBER: its digits */
    source_span span;
} token;

typedef struct reader {
    arena *arena;
    const char *file, *at;
    int line, column;
    token now;          /* the token looked at */
    source_span before; /* the place of the one taken last */
    bool failed;
    int depth; /* nesting of blocks, values and parentheses; at most READER_DEPTH: more than the checker lets pass */
    diag_list *diags;
    kernel_ir *kernel;
    kernel_scope names;
} reader;
enum { READER_DEPTH = 400 };

void reader_init(reader *r, arena *a, const char *file, const char *text, diag_list *diags);
void reader_next(reader *r);
void reader_fail(reader *r, const char *code, source_span span, const char *message, ...) PRINTF_LIKE(4, 5);
bool reader_at(const reader *r, const char *text); /* a NAME or SIGN spelled so */
bool reader_accept(reader *r, const char *text);
void reader_expect(reader *r, const char *text);
const char *reader_name(reader *r, const char *what);                        /* an identifier; "?" after a failure */
int64_t reader_integer(reader *r, int64_t lo, int64_t hi, const char *what); /* digits, maybe after `-` */
bool reader_enter(reader *r); /* one level deeper; false and a diagnostic when too deep */
void reader_leave(reader *r);
bool reader_element(reader *r, element_type *type, int *lanes); /* f32, f32x16 */
/* "what names": looks a name up and demands one of this kind. NULL after a failure. */
const kernel_scope_entry *reader_lookup(reader *r, name_kind kind, const char *what);

/* Brings a name into scope; false and a diagnostic when it is there already. */
bool reader_declare(reader *r, source_span span, const char *name, name_kind kind, void *object, index_var *var);
void reader_declare_var(reader *r, source_span span, index_var *v);
int reader_word(reader *r, const char *const *words, int count); /* takes one of these words; -1: none of them is next */
level_kind reader_level(reader *r);
void reader_range(reader *r, index_var *v); /* [in lo .. hi] */

index_expr *read_index(reader *r);
cond *read_condition(reader *r);
kernel_access read_access(reader *r); /* array NULL after a failure */
kernel_value *read_value(reader *r);  /* never NULL */
fragment_ref read_fragment(reader *r);
index_expr **read_index_list(reader *r, int count, const char *close); /* count expressions, then `close` */
void read_block(reader *r, kernel_block *b, const char *close);
#endif
