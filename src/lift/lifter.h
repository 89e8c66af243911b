/* What the files that turn a read function into Kernel IR share. Private to lift/.
 *
 * The function is walked as it would run, along its structured control flow; the table `env` says what each of its values is at that moment. So a loop can
 * be unrolled by walking its body again. What turns out too late (an array that is indexed flat, a value that leaves its scope) is noted in `facts` and
 * the walk begins again. */
#ifndef TILEC_LIFT_LIFTER_H
#define TILEC_LIFT_LIFTER_H
#include "lift/events.h"
#include "lift/lift.h"

/* What the walk makes of the function's values. */
typedef enum lifted_kind {
    LIFTED_NONE,  /* not met yet */
    LIFTED_ANY,   /* undefined: any value will do */
    LIFTED_INDEX, /* an integer that equals x modulo 2^bits */
    LIFTED_VALUE, /* v. Integers of 32 bits are i32, of 64 bits index, of fewer i32 from 0 on; i1 is bool; bfloat is held as bf16 */
    LIFTED_CONDITION, /* i1: c */
    LIFTED_BITS, /* an integer whose bits are those of v, a float as wide: half as 16 bits; or a double as memory holds it: v, an index, is its bits */
    LIFTED_POINTER,
    LIFTED_EITHER, /* a pointer: elements[0] where the condition elements[2] holds, elements[1] otherwise, and `offset` further */
    LIFTED_ELEMENTS /* a vector, or an aggregate */
} lifted_kind;

/* Elements of 1, 2, 4 and 8 bytes; those of one width are each other's bits. */
enum { LIFT_WIDTHS = 4 };

/* Memory that pointers point into. */
typedef struct lift_object {
    const char *name;
    const lift_value *origin; /* an argument, a global, an alloca */
    memory_space space;
    kernel_array *array;              /* made at the first access, of the narrowest elements that the memory is accessed with */
    kernel_array *views[LIFT_WIDTHS]; /* by the width of their elements: the array itself, or a view of it */
    const lift_type *type;            /* of a shared or private object; NULL: a buffer */
    int64_t bytes;                    /* of those */
    bool constant;
    bool parameters;   /* values of the launch */
    bool nothing;      /* what a null pointer leads to, and the like: memory without an element */
    const char *asked; /* the name that was asked for, of such */
    struct object_facts *facts;
} lift_object;

typedef struct object_facts {
    const lift_value *origin;
    const lift_type *element;               /* scalar, the narrowest that it is accessed with; NULL: not accessed yet */
    const lift_type *elements[LIFT_WIDTHS]; /* by width, each that it is accessed with */
    bool unsized;                           /* shared memory whose size the contract does not say */
    bool settled;                           /* `element` was known when the walk began */
    const contract_argument *said;
    bool flat; /* indexed past the extents of inner dimensions, or not by them */
    bool written, reads, atomic;
    bool is_unsigned; /* integers compared as unsigned by an atomic */
} object_facts;

typedef struct pointer_term {
    index_expr *index;
    int64_t stride, count; /* bytes; elements of the array stepped through, 0: not one */
} pointer_term;

typedef struct lifted lifted;
struct lifted {
    lifted_kind kind;
    int bits;   /* of integers */
    bool wraps; /* an index made by steps that the language lets wrap around: unsigned ones, and conversions */
    index_expr *x;
    kernel_value *v;
    cond *c;
    lift_object *object;
    pointer_term *terms;
    int term_count;
    int64_t offset; /* bytes */
    lifted *elements;
    int count;
};

enum { MOST_POINTEES = 8 };

/* What a phi of pointers was seen to point into. */
typedef struct phi_pointees {
    const lift_value *phi;
    int part, count;
    const lift_value *origins[MOST_POINTEES];
    bool nothing[MOST_POINTEES];   /* null */
    int64_t units[MOST_POINTEES];  /* bytes that divide all its distances there; 0: it was only seen at the beginning */
    int64_t wanted[MOST_POINTEES]; /* the widest element there, when that was found */
    bool moves;                    /* not always to their beginnings */
} phi_pointees;

typedef struct lift_facts {
    VEC(object_facts *) objects;
    VEC(phi_pointees *) pointees;
    bool looked_ahead;        /* for variables that are accessed as elements of several widths */
    bool lanes;               /* subgroup operations are used */
    bool matrices;            /* .. among them fragments */
    const lift_value *prints; /* a call of printf; NULL: there is none */
    bool uses[3];             /* dimensions of the launch that the kernel asks about */
} lift_facts;

/* A register that stands for a phi, or for a part of one. */
typedef struct phi_cell {
    const lift_value *phi;
    int part;
    kernel_array *cell;
    phi_pointees *pointees;       /* a pointer: what it points into, at so many times units[..] bytes */
    kernel_array *which;          /* of them; NULL where there is one */
    int64_t units[MOST_POINTEES]; /* as first used in this walk */
} phi_cell;

/* What a phi was set to last, and where: before the statement `position` of that block. */
typedef struct phi_kept {
    const lift_value *phi;
    lifted x;
    const kernel_block *at;
    int position;
} phi_kept;

/* A loop whose body is being walked. */
typedef struct open_loop {
    flow_loop *loop;
    struct open_loop *outer;
    lift_block *tested; /* the block whose test the loop statement (or unrolling) stands for; NULL: an opaque loop */
    lift_block *normal; /* where that test leads out to */
    bool after_body;    /* `tested` is the latch: what leaves by it is stored in every trip */
    bool unrolled;
    lifted *next;              /* unrolled: the header's phis in the next trip, by position */
    bool *settled;             /* phis that the loop's variable gives, by position: not stored */
    kernel_array *exit;        /* says which way the loop was left; NULL: there is only one */
    VEC(lift_block *) targets; /* of ways out by a break: number i + 1 */
} open_loop;

/* A widened integer that indexes an argument. */
typedef struct address_use {
    const lift_value *index, *array;
} address_use;

/* A value of the launch that lies in memory. */
typedef struct launch_parameter {
    lift_object *object;
    int64_t offset;
    const lift_type *type;
    lifted value;
} launch_parameter;

typedef struct lifter {
    arena *arena;
    diag_list *diags;
    const char *path;
    const lift_function *function;
    const lift_contract *contract;
    lifted_kernel *out;
    kernel_ir *k;
    flow *flow;
    lift_facts *facts;
    lifted *env, *global_env;
    int *nesting;       /* by value: how many operations stand in its text without a name in between */
    bool *aliased;      /* by value: a phi that stands for what came in */
    bool *decided;      /* by value: a phi that the branch before it has chosen already */
    bool *address_only; /* by value: a widened integer that is nothing but the one index of arguments' addresses */
    VEC(address_use) addresses;
    int global_count;
    VEC(lift_object *) objects;
    VEC(phi_cell) cells;
    VEC(phi_kept) kept;
    VEC(launch_parameter) parameters;
    kernel_block *at; /* where statements go */
    open_loop *loop;
    const lift_value *now; /* the instruction looked at */
    group_events events;   /* of the function */
    bool failed, again;
    int depth; /* of nested statements */
    int naming;
    int statements;
    index_expr *thread[3], *group[3], *groups[3], *lane, *subgroup;
    int64_t block[3];
    int lanes;
} lifter;

/* ---- lifter.c ---- */
source_span lift_span(const lifter *l, const lift_value *v);
/* Reports once; everything unwinds. */
void lift_fail(lifter *l, const char *code, const lift_value *v, const char *message, ...) PRINTF_LIKE(4, 5);
/* What the object, whose array is made, begins with: a store, or bytes for the launch. May stop the lifter. initial.c */
void lift_begin_with(lifter *l, lift_object *o);
bool lift_stopped(const lifter *l);                                        /* failed, or to be begun again */
const char *lift_name(lifter *l, const char *text, const char *otherwise); /* legal in Kernel IR */
kernel_stmt *lift_let(lifter *l, const char *name, kernel_value *v);
lifted lift_operand(lifter *l, const lift_value *v);
bool lift_fits_as_address(lifter *l, const lift_value *v);
void lift_set(lifter *l, const lift_value *v, lifted x);
lifted lift_named(lifter *l, const lift_value *v, lifted x); /* what v's uses share has a name */
lifted lifted_index(int bits, index_expr *x);
lifted lifted_value(int bits, kernel_value *v);
lifted lifted_condition(cond *c);
lifted lifted_number(lifter *l, int bits, int64_t n);
kernel_value *lift_zero(lifter *l, element_type e);

/* ---- integer.c, integer_forms.c, compare.c ---- */
__extension__ typedef __int128 wide_integer;
typedef struct lift_range {
    wide_integer lo, hi;
} lift_range;
lift_range lift_range_of(lifter *l, const index_expr *x);
/* An integer as an index expression, whatever its form; of a value from memory a let is made. */
index_expr *lift_as_index(lifter *l, lifted x);
/* Its exact value, signed or not: where x is not seen to fit the type, a let with a range, which the prover judges. NULL after a failure. */
index_expr *lift_exact(lifter *l, lifted x, bool is_signed);
kernel_value *lift_as_value(lifter *l, lifted x); /* i32 (up to 32 bits), index, bool, or the value itself */
lifted lift_integer(lifter *l, const lift_value *v, lift_opcode op, lifted x, lifted y);
lifted lift_compare(lifter *l, const lift_value *v, lift_predicate p, lifted x, lifted y, int bits);
/* Of one of several constants with a number: the conditions under which it is one that compares so. False: it is no such comparison. */
bool lift_compare_chosen(lifter *l, const lift_value *v, lifted y, lifted *out);
lifted lift_extend(lifter *l, const lift_value *v, lift_opcode op, lifted x, int from, int to);
lifted lift_select(lifter *l, lifted c, lifted x, lifted y, const lift_type *t);
/* c ? x : y where c compares the two by size: the lesser or the greater. False: it does not. */
bool lift_by_size(lifter *l, lifted c, lifted x, lifted y, lifted *out);
lifted lift_not(lifter *l, lifted c);
bool lift_same(const lifted *x, const lifted *y);
bool lift_is_number(const lifted *x, int64_t *n);

/* ---- value.c: everything computed from values ---- */
bool lift_is_pure(const lift_value *v);
lifted lift_operation(lifter *l, const lift_value *v);
lifted lift_same_bits(lifter *l, const lift_value *v, const lift_type *from, const lift_type *to, lifted x); /* of one width */
kernel_value *lift_double_bits(lifter *l, const kernel_value *v); /* of a constant, as an index; NULL: it is none */
element_type lift_value_type(const lift_type *t);                 /* in registers; ELEMENT_COUNT: none */

/* ---- memory.c ---- */
lifted lift_pointer_to(lifter *l, const lift_value *origin);
lifted lift_null(lifter *l, const lift_value *origin); /* leads to memory without an element */
lifted lift_nowhere(lifter *l, const lift_value *origin,
                    const char *name); /* the same, of another name; an access tells where not to be */
lifted lift_gep(lifter *l, const lift_value *v);
/* The cell that a scalar access of this type touches; array NULL after a failure. */
kernel_access lift_cell(lifter *l, const lift_type *t, lifted pointer, bool writes, bool reads);
/* A pointer's distance from the beginning of its object, in bytes. */
index_expr *lift_pointer_bytes(lifter *l, lifted pointer);
index_expr *lift_elements(lifter *l, lifted pointer, int64_t size); /* the same in elements; NULL where it may be between two */
int64_t
lift_widest(const lift_object *o); /* bytes of the widest element that it is accessed with, as far as is known; 1 where none is */
/* Bytes that divide a pointer's distance, and `unit` where that is not 0; launch values may be demanded to bring `wanted`, or the widest element. 0: it points to the beginning. */
int64_t lift_unit_with(int64_t unit, int64_t wanted, lifted pointer);
/* `index` elements of `unit` bytes further. */
lifted lift_pointer_on(lifter *l, lifted pointer, index_expr *index, int64_t unit);
lifted lift_pointer_at(lifter *l, lift_object *o, index_expr *bytes, int64_t unit);
/* ---- load_store.c ---- */
kernel_value *lift_from_memory(lifter *l, kernel_value *v, const lift_type *t);
/* A value of this type as an array of such elements holds it. */
kernel_value *lift_to_memory(lifter *l, element_type e, const lift_type *t, kernel_value *v);
lifted lift_load(lifter *l, const lift_value *v, const lift_type *t, lifted pointer);
void lift_store(lifter *l, const lift_type *t, lifted pointer, lifted x);

/* ---- math.c ---- */
/* A function of numbers by its plain name ("exp", "fmaf", "native_sin", "clamp"); vectors element by element. False: it is none; nothing was done. */
bool lift_math(lifter *l, const lift_value *v, const char *name, lifted *out);
bool lift_is_math(const char *name);
bool lift_says_unsigned(const char *callee); /* its name, of its first operand */

/* ---- bits.c: counts of bits, rotations, upper halves of products, sums of products of bytes ---- */
bool lift_bits_call(lifter *l, const lift_value *v, const char *name); /* false: the name is none of these; nothing was done */
bool lift_is_bits(const char *name);

/* ---- parameters.c ---- */
/* Whether what this address leads to is read at constant places alone, and set by the host: values of the launch. */
bool lift_are_parameters(const lifter *l, const lift_value *origin);
bool lift_is_parameter_load(const lifter *l, const lift_value *v); /* a load of such a value */
/* Those that the source spells as single numbers (`constant uint &n`), so that the contract may speak of them by name. */
void lift_single_parameters(lifter *l);
lifted lift_parameter(lifter *l, const lift_value *v, lift_object *o, const lift_type *t, int64_t offset);
/* Makes the one of this name a launch value, where the kernel has it: texts of the contract mention it before the walk comes by. */
bool lift_parameter_by_name(lifter *l, const char *name);
bool lift_is_used_unsigned(const lift_function *f, const lift_value *x); /* and never as signed */

/* ---- calls.c ---- */
/* A callee's plain name: of OpenCL's mangled names, llvm.NAME.TYPE, cuda.NAME and air.NAME.TYPE; at most `size` bytes. */
void lift_plain_name(const char *callee, char *name, size_t size);
bool lift_call(lifter *l, const lift_value *v);
bool lift_call_is_pure(const lift_value *v);
void lift_fence(lifter *l, level_kind scope);
level_kind lift_subgroup_scope(const kernel_ir *k); /* of barriers of a subgroup: the block's where it is one */
/* Whether operand i is a number known now. */
bool lift_constant_operand(lifter *l, const lift_value *v, int i, int64_t *n);

/* ---- either.c: pointers into one of several arrays ---- */
lifted lift_either(lifter *l, const lift_value *v, lifted c, lifted x, lifted y); /* two pointers, one of which is meant */
lifted lift_either_side(const lifted *p, int side);
/* Does `each` with one pointer under the condition, then with the other under its opposite. */
void lift_on_both(lifter *l, const lifted *p, void (*each)(lifter *l, lifted side, void *context), void *context);
lifted lift_either_load(lifter *l, const lift_value *v, const lift_type *t, lifted p); /* scalars */
void lift_either_store(lifter *l, const lift_type *t, lifted p, lifted x);
lifted lift_compare_pointers(lifter *l, const lift_value *v, lift_predicate p, lifted x, lifted y);
/* Phis of pointers, and of integers of which the lesser or the greater is taken, where the ways of a branch meet again, both of whose values are known at the
 * branch: which is meant is what it asks. */
void lift_decide(lifter *l, lifted c, const lift_value *branch, const lift_block *join);

/* ---- lanes.c: false: it is none; nothing was done ---- */
bool lift_lanes_call(lifter *l, const lift_value *v, const char *name);
bool lift_is_exchange(const char *name);

/* ---- matrix.c: matrices that a subgroup holds ---- */
bool lift_matrix_call(lifter *l, const lift_value *v); /* false: it is none; nothing was done */
bool lift_is_matrix_call(const lift_value *v);
/* How many elements of a value of this vector type a lane has itself: of 64 floats, which are a matrix of AIR's, two. */
int lift_own_elements(const lift_type *t);

/* ---- lockstep.c ---- */
void lift_lockstep(kernel_ir *k); /* barriers of the subgroup between accesses */

/* ---- group_copy.c: copies by the work-group, and waits for their events; false: it is none, nothing was done ---- */
bool lift_group_copy_call(lifter *l, const lift_value *v, const char *name);
void lift_event_gap(lifter *l, const lift_block *from, const lift_block *to); /* at an edge */

/* ---- opaque.c: false: the contract says nothing of such a function; nothing was done ---- */
bool lift_opaque_call(lifter *l, const lift_value *v, const char *name);
/* v is anything: a cell of memory that the host sets, for each thread and call. */
void lift_any_value(lifter *l, const lift_value *v, const char *name);
/* Whether v is a pointer that such a function gives, and that is used for accesses alone: as good as null. */
bool lift_gives_any_pointer(const lifter *l, const lift_value *v);
/* ---- images.c ---- */
bool lift_is_handle(const lifter *l, const lift_value *v);              /* an image, a sampler */
bool lift_image_call(lifter *l, const lift_value *v, const char *name); /* reads of what the kernel only reads */
/* ---- stops.c ---- */
/* What the plugin calls (module.h): places that must not be reached, and which function an argument is. */
bool lift_settled_call(lifter *l, const lift_value *v);
/* ---- parts.c ---- */
const lift_type *lift_integer_type(int64_t bytes); /* 1, 2 or 4; NULL for others */
/* The largest power of two up to `unit` of which every step and the offset of an address are multiples, as far as its text says. */
int64_t lift_unit_of(const lifted *pointer, int64_t unit);

/* ---- opencl.c ---- */
bool lift_opencl_call(lifter *l, const lift_value *v, const char *name); /* false: the name is none of these; nothing was done */

/* ---- assembly.c ---- */
void lift_assembly(lifter *l, const lift_value *v);
bool lift_wants_warps(const char *assembly); /* a matrix instruction */
/* ---- warp_matrix.c: false: of another form; nothing was done ---- */
bool lift_ldmatrix(lifter *l, const lift_value *v, const char *mnemonic, const char *rest);
bool lift_mma(lifter *l, const lift_value *v, const char *mnemonic, const char *rest);

/* ---- assume.c ---- */
void lift_assume(lifter *l, const lift_value *v);

/* ---- atomics.c ---- */
void lift_atomic_operation(lifter *l, const lift_value *v); /* LLVM's own, and fences */
/* ---- atomics.c, accesses.c: false: the name is none of these; nothing was done ---- */
bool lift_atomic_call(lifter *l, const lift_value *v, const char *name);
bool lift_memory_call(lifter *l, const lift_value *v, const char *name);
bool lift_copy_call(lifter *l, const lift_value *v, const char *name);
bool lift_wants_lanes(const char *callee);
void lift_uses_dimensions(const lift_function *f, bool uses[3]);

/* ---- phi.c: phis kept in registers ---- */
void lift_phi_store(lifter *l, const lift_value *phi, lifted x);
lifted lift_phi_read(lifter *l, const lift_value *phi);
/* A block that loops are left to in several ways: its phis are set on each of them, but which is taken data may decide. They begin as zeros, so that this need
 * not be found out; phis that some way leaves undefined do not. */
void lift_phi_begin(lifter *l, const lift_block *b);
const lift_value *lift_incoming(const lift_value *phi, const lift_block *from);
kernel_array *lift_register(lifter *l, const char *name, element_type e);

/* ---- update_loop.c ---- */
void lift_update_loops(kernel_ir *k);
/* ---- unread.c ---- */
void lift_drop_unread(kernel_ir *k); /* registers of phis, rank 0, that nothing but each other reads */

/* ---- structure.c, loop.c ---- */
void lift_body(lifter *l);
/* Walks from b to `stop` (NULL: to the end of every way) within the body of `region` (NULL: the function). */
void lift_sequence(lifter *l, flow_loop *region, lift_block *b, lift_block *stop);
/* Takes the edge: what phis there become is stored. Returns the block to go on with; NULL: the way has left the region or goes round. */
lift_block *lift_edge(lifter *l, flow_loop *region, lift_block *from, lift_block *to);
/* Goes on from where an inner loop was left, phis being stored already. */
lift_block *lift_leave(lifter *l, flow_loop *region, lift_block *to);
lift_block *lift_loop(lifter *l, flow_loop *region, flow_loop *inner);
void lift_items(lifter *l, lift_block *b);
/* Adds a choice; *yes and *no are its branches. */
void lift_branch(lifter *l, lifted c, kernel_block **yes, kernel_block **no);
/* ---- steady.c ---- */
/* Whether a phi of the loop's header, which begins as `first`, stays that; its value is set then. */
bool lift_steady(lifter *l, const flow_loop *inner, const lift_value *phi, lifted first);
/* A value of the loop, behind choices whose conditions are known by now. */
const lift_value *lift_taken(lifter *l, const flow_loop *inner, const lift_value *v);
/* ---- counted.c ---- */
typedef struct counted_loop {
    const lift_value *phi;
    lift_block *tested, *normal, *inside; /* the block with the test, where it leads out to, where it goes on */
    index_expr *lo, *hi, *step;           /* the statement's */
    index_expr *value,
        *trip;        /* of the phi, and how many trips came before, over the variable `var`; trip NULL: not said simply */
    index_expr *last; /* the phi after the last trip; NULL where it tests after the body */
    index_var *var;
    index_expr *checked; /* the phi's next value, to be shown to fit `bits` */
    int bits;
    bool is_signed, after_body;
    bool widened; /* compared as a wider integer, which its own may never reach */
} counted_loop;
/* Whether the loop counts; its invariant parts are put where statements go. */
bool lift_counted(lifter *l, flow_loop *inner, counted_loop *out);
/* What `next` adds to the phi, modulo 2^bits of it and through widths; NULL: not something invariant. */
index_expr *lift_added(lifter *l, const flow_loop *inner, const lift_value *phi, const lift_value *next);
bool lift_invariant(lifter *l, const flow_loop *inner, const lift_value *v);
/* How often a loop goes round whose test can be computed; -1: not known, or more than 256 times. */
int lift_trips(lifter *l, flow_loop *inner, lift_block **normal, lift_block **inside);

/* ---- launch.c ---- */
/* "global_id" and the like in a direction 0..2; NULL where it is none. doc/reading.md lists them. */
index_expr *launch_number(lifter *l, const char *what, int direction);
lifted launch_scalar(lifter *l, const char *name, const lift_type *t, bool not_negative); /* kind NONE: no type that is read */
index_expr *launch_expression(lifter *l, const char *text, source_span span); /* over launch values; NULL after a failure */
bool lift_launch(lifter *l);                                                  /* arguments and levels */
bool lift_conditions(lifter *l); /* what the contract demands of the launch; last, since every length has its symbol then */
#endif
