/* The reader of Tile IR text, shared by its files. Private to src/tile. Every function does nothing once reading has failed. */
#ifndef TILEC_TILE_READER_H
#define TILEC_TILE_READER_H
#include "tile/text.h"

typedef enum { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_VALUE, TOKEN_SYMBOL, TOKEN_STRING, TOKEN_BAD } token_kind;

typedef struct tile_reader {
    arena *arena;
    diag_list *diags;
    const char *file, *at;
    int line;
    const char *line_start;
    bool failed;
    /* the current token */
    token_kind kind;
    source_span span;
    const char *token;
    int length;
    int previous_line; /* of the token before */
    /* the kernel being read */
    tile_kernel *k;
    VEC(tile_value *) values; /* by id; NULL: not defined yet */
    VEC(int) depths;          /* nesting of unbound values, by id */
    int loops;
} tile_reader;

/* --- reader.c: tokens and names --- */
void tile_reader_next(tile_reader *p);
void tile_reader_fail(tile_reader *p, source_span span, const char *code,
                      const char *message); /* the first failure is the one reported */
#define FAIL(p, ...) tile_reader_fail((p), (p)->span, "E0151", arena_printf((p)->arena, __VA_ARGS__))
bool tile_reader_is(const tile_reader *p, const char *text); /* the current token is this name or symbol */
bool tile_reader_accept(tile_reader *p, const char *text);
void tile_reader_expect(tile_reader *p, const char *text);
const char *tile_reader_name(tile_reader *p);
const char *tile_reader_split(tile_reader *p, const char *name, int *namesake); /* `c.2` -> `c`, 2 */
int64_t tile_reader_integer(tile_reader *p);
element_type tile_reader_type(tile_reader *p);
index_var *tile_reader_find(tile_reader *p, const char *full); /* a symbol, scalar or range; NULL when there is none */
tile_range *tile_reader_range(tile_reader *p);
tile_array *tile_reader_array(tile_reader *p);
tile_variable *tile_reader_variable(tile_reader *p);
int tile_reader_field(tile_reader *p, const tile_variable *x);
tile_value *tile_reader_value(tile_reader *p);

/* --- read_intrinsic.c --- */
void tile_read_intrinsic(tile_reader *p); /* behind the word; of the kernel being read */

/* --- read_index.c --- */
index_expr *tile_read_index(tile_reader *p, int depth);
cond *tile_read_condition(tile_reader *p, int depth);

/* --- read_body.c: value definitions and statements --- */
void tile_read_axes(tile_reader *p, tile_range ***axes, int *count);
void tile_read_block(tile_reader *p, tile_block *b);
#endif
