/* Private to the walk over the kernel (model.c, walk.c, walk_order.c). */
#ifndef TILEC_PROVE_WALK_H
#define TILEC_PROVE_WALK_H
#include "prove/model.h"

enum { MOST_DEPTH = 200 };

typedef struct walk {
    model *m;
    region *sequence;
    scope *scope;
    scope *loop; /* the innermost FOR or LOOP; NULL: none */
    int depth;
} walk;

/* ---- model.c ---- */
scope *walk_scope(model *m, scope *parent, scope_kind kind, kernel_stmt *stmt, index_var *var);
region *walk_region(model *m, region *parent, region_kind kind, scope *s, int depth, kernel_stmt *stmt);
/* What cannot be judged: the first such thing is kept. */
void walk_beyond(model *m, source_span span, const char *what);
index_var *walk_new_var(model *m, const char *name, index_var_kind kind);
kernel_array *walk_new_array(model *m, const kernel_array *like); /* a copy with an id of its own, in the model's kernel */

/* ---- walk.c ---- */
void walk_block(walk *w, const kernel_block *b);
void walk_inside(walk *w, const kernel_block *b, region *sequence, scope *s, scope *loop);
region *walk_step(walk *w, kernel_stmt *s); /* a step at the walk's place */
/* The same, which nobody is told of. */
place *walk_new_place(walk *w, region *step, const kernel_access *access, access_use use, source_span span);
place *walk_place(walk *w, region *step, const kernel_access *access, access_use use, source_span span);
void walk_loads(walk *w, region *step, const kernel_value *v, int depth);
/* Once a place's flags are set: what of it the regions around touch. */
void walk_touch(place *p);

/* ---- walk_order.c ---- */
bool walk_order_stmt(walk *w, kernel_stmt *s); /* false: not a statement of this kind */
void walk_fragment_value(walk *w, region *step, const kernel_value *v);
index_expr **walk_fragment_box(walk *w, const kernel_stmt *s); /* the cells of memory that a load or store covers */
/* An intrinsic reads the fragments that it is given and writes the one that it gives, by all lanes of their holder together. */
void walk_fragments_given(walk *w, region *step, kernel_stmt *s);
void walk_fragment_result(walk *w, region *step, kernel_stmt *s);
void walk_fragments(model *m, const kernel_ir *k); /* register arrays for the lanes' shares */

/* ---- walk_view.c ---- */
void walk_views(model *m, const kernel_ir *k);
/* The place of the bytes behind a view; NULL: the array is its own object. */
place *walk_view_place(walk *w, region *step, const place *of);
#endif
