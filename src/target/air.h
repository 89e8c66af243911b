/* What the files of target air share: Kernel IR as LLVM IR text in Metal's form (AIR). LLVM IR is no C family, so the printer is one of its own: values are SSA
 * names, register cells and fragments are values that change their name, loops and branches join them by phi. Private to target/. */
#ifndef TILEC_TARGET_AIR_H
#define TILEC_TARGET_AIR_H
#include "kernel/kernel.h"
#include "prove/prove.h"
#include "kernel/legalize.h"
#include "target/cfamily.h"
#include "target/target.h"

/* Two spellings: what Apple's compilers have taken since LLVM 15 (opaque pointers, AIR 2.8: matrices by dims, strides and origin), and what they took before (typed
 * pointers, AIR 2.6: matrices by a leading dimension, an origin and a flag). */
typedef enum air_form { AIR_OPAQUE, AIR_TYPED } air_form;

enum { AIR_LANES = 32, AIR_SPACE_THREAD = 0, AIR_SPACE_DEVICE = 1, AIR_SPACE_CONSTANT = 2, AIR_SPACE_THREADGROUP = 3 };

typedef struct air_bound {
    const void *key; /* index_var, LET, value of the statement that is printed */
    const char *text;
    bool is_constant; /* an unrolled loop's variable */
    int64_t value;
    int older; /* of the same hash; -1: none */
} air_bound;

typedef struct air_known { /* an instruction in scope: its text, and the name of its result */
    const char *text, *name;
    int older;
} air_known;

/* An integer: a constant or a name. */
typedef struct air_integer {
    bool is_constant;
    int64_t value;
    const char *text;
} air_integer;

typedef struct air_parameter {
    const char *type, *name; /* of the function's parameter */
    const char *metadata;    /* behind "i32 position, " */
} air_parameter;

typedef struct air {
    arena *arena;
    diag_list *diags;
    bool failed;
    air_form form;
    const kernel_ir *kernel;
    const char *function; /* its name */
    text_buffer *out;     /* instructions */
    text_buffer entry;    /* those that stand at the function's beginning */
    const char *block;    /* label of the basic block that is written */
    int names, labels;
    VEC(air_bound) bound;
    VEC(air_known) known;
    int heads[1024]; /* of `known`, by hash; -1: none */
    int bound_heads[1024];
    const char **slots; /* the values of register cells and fragments now; NULL: none yet */
    const char **slot_types;
    int slot_count;
    int *array_slots;         /* by array id: the first; -1: the array is memory */
    int *fragment_slots;      /* by fragment id */
    const char **array_bases; /* by array id: pointer, once it is used */
    VEC(air_parameter) parameters;
    VEC(const char *) declared; /* external functions: "declare .." */
    VEC(const char *) made;     /* functions of ours, by name */
    text_buffer globals, functions;
    air_integer map_element; /* in a map over a fragment */
    bool in_map;
    const char *lane; /* the thread's number in its simdgroup, i32 */
} air;

/* ---- air_emit.c: instructions ---- */
bool air_refuse(air *a, source_span span, const char *what, ...) PRINTF_LIKE(3, 4); /* E0551; false */
void air_line(air *a, const char *format, ...) PRINTF_LIKE(2, 3);
/* The result of an instruction without effects: where the same is in scope, that one's. */
const char *air_pure(air *a, const char *format, ...) PRINTF_LIKE(2, 3);
const char *air_result(air *a, const char *format, ...) PRINTF_LIKE(2, 3); /* always a new one */
const char *air_new_name(air *a, const char *hint);
const char *air_new_label(air *a, const char *hint);
void air_begin_block(air *a, const char *label);
void air_leave(air *a, int mark); /* what became known since known.count was `mark` is out of scope */
/* Calls @name, declaring it; `arguments` as "float %x, i16 4"; `types` theirs. */
const char *air_call(air *a, const char *result, const char *name, const char *types, const char *arguments);
void air_declare(air *a, const char *result, const char *name, const char *types);
const char *air_type(air *a, element_type t, int lanes);         /* of values: "<4 x float>" */
const char *air_storage_type(element_type t);                    /* of an element in memory */
const char *air_pointer(air *a, const char *pointee, int space); /* "float addrspace(1)*", "ptr addrspace(1)" */
const char *air_float(air *a, double x);                         /* a literal */
const char *air_vector_of(air *a, const char *scalar_type, int lanes);
const char *air_constant(air *a, const char *scalar_type, const char *literal, int lanes);
const char *air_splat(air *a, const char *scalar_type, const char *x, int lanes);
void air_bind(air *a, const void *key, const char *text);
void air_bind_constant(air *a, const void *key, int64_t value);
const air_bound *air_find(const air *a, const void *key);
void air_forget(air *a, int mark); /* what was bound since bound.count was `mark` */

/* ---- air_index.c ---- */
air_integer air_index(air *a, const index_expr *x); /* i64 */
const char *air_index_text(air *a, const index_expr *x);
const char *air_integer_text(air *a, air_integer x);
air_integer air_add(air *a, air_integer x, air_integer y);
air_integer air_multiply(air *a, air_integer x, air_integer y);
air_integer air_known_integer(int64_t value);
bool air_constant_index(air *a, const index_expr *x, int64_t *value);
const char *air_condition(air *a, const cond *c); /* i1 */
/* In elements from the array's base; false with E0551 where the layout has no form. */
bool air_offset(air *a, const kernel_access *access, int lane, air_integer *out);
bool air_stride(air *a, const kernel_array *array, int d, air_integer *out); /* elements apart along dimension d */

/* ---- air_memory.c ---- */
const char *air_place(air *a, const kernel_array *array, air_integer offset); /* a pointer to the element */
int air_space(const kernel_array *array);
const char *air_nothing(const char *type); /* zero */
const char *air_load(air *a, const kernel_access *access, source_span span);
const char *air_load_block(air *a, const kernel_access *access, source_span span); /* of a block format, as f32 */
void air_store(air *a, const kernel_access *access, const char *value, source_span span);
int air_cell(air *a, const kernel_access *access, source_span span); /* the slot of a register cell; -1: diagnosed */

/* ---- air_value.c ---- */
const char *air_value(air *a, const kernel_value *v); /* operand text, of air_type(v->type, v->lanes) */
/* ---- air_convert.c ---- */
const char *air_convert(air *a, const kernel_value *v);
const char *air_convert_to(air *a, element_type to, element_type from, int lanes, const char *x);
/* ---- air_statement.c ---- */
void air_statements(air *a, const kernel_block *b);
/* A loop in which a condition says whether what follows is done: opens "if condition", and closes it, joining slots. */
typedef struct air_branch {
    const char *end, *from;
    const char **before;
    int mark;
} air_branch;
air_branch air_when(air *a, const char *condition);
void air_end_when(air *a, const air_branch *b);
/* ---- air_fragment.c ---- */
bool air_fragments(air *a);
const char *air_fragment_type(air *a, const kernel_fragment *f);
bool air_fragment_statement(air *a, const kernel_stmt *s);
const char *air_fragment_value(air *a, const kernel_value *v);
int air_fragment_slot(air *a, const kernel_fragment *f, const index_expr *index);
/* ---- air_metadata.c ---- */
/* A kernel's function as metadata lists it. */
typedef struct air_function {
    const char *name;
    int64_t threads;
    VEC(air_parameter) parameters;
} air_function;
void air_describe(arena *a, text_buffer *out, air_form form, const air_function *functions, int count);
const char *air_header(air_form form); /* data layout and triple */
const char *air_buffer(arena *a, int location, bool read_only, int space, int bytes, const char *type_name, const char *name);

/* ---- air.c ---- */
bool air_emit(const proved_plan *p, text_buffer *out, diag_list *diags); /* AIR_OPAQUE */
bool air_build(const proved_plan *p, const char *directory, diag_list *diags);
bool air_count(arena *a, const proved_plan *p, target_count_list *out, diag_list *diags); /* air_trim.c */
const machine_model *air_machine(void);
const target_limits *air_limits(void);
extern const legal_table air_legal;
/* ---- air_trim.c ---- */
const char *air_trim(arena *a, const char *text, int names); /* without instructions that nobody uses */
#endif
