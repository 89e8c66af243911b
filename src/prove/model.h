/* Private to prove/: a kernel as the prover sees it. The program is walked once into a tree of regions; each array access becomes
 * a set [parameters] -> { [ids, loop variables, ..., cell] }. doc/proof.md describes the encoding. */
#ifndef TILEC_PROVE_MODEL_H
#define TILEC_PROVE_MODEL_H
#include "prove/prove.h"
#include "prove/sets.h"

/* What encloses a place in the program; each adds a dimension or a condition to its parent. */
typedef enum scope_kind { SCOPE_ROOT, SCOPE_ID, SCOPE_LOOP, SCOPE_TRIP, SCOPE_VALUE, SCOPE_GUARD, SCOPE_DATA_GUARD } scope_kind;

/* How a scope's domain relates to what really runs: its points exactly; those that some data would bring about; a superset. */
typedef enum precision { PRECISE, DATA_CHOSEN, LOOSE } precision;

typedef struct scope {
    struct scope *parent;
    scope_kind kind;
    int depth;                  /* dimensions, its own included */
    index_var *var;             /* ID, LOOP, VALUE */
    index_expr *extent;         /* ID */
    kernel_stmt *stmt;          /* LOOP, TRIP, VALUE (the let), guards */
    cond *guard;                /* GUARD: holds here */
    bool negated;               /* GUARD: does not hold here */
    const kernel_stmt *counted; /* LOOP over trips: the loop itself */
    int_set *trips;             /* LOOP: its own constraints alone; NULL: not made yet */
    const char *trips_why;      /* which of them is left out; NULL: none */
    bool may_stop;              /* LOOP: holds a break, so later trips may not happen */
    bool own_loose;             /* its own constraint could not be expressed, so it adds none */
    bool done, computing;
    int_set *domain;
    precision precision;
    const char *why; /* what made it less than precise */
} scope;

/* The last two, for a region's `touches` alone: accesses of one thread, made at once, as program order has them. */
typedef enum access_use {
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_CONSUME = 4,
    ACCESS_PLAIN_READ = 8,
    ACCESS_PLAIN_WRITE = 16
} access_use;

typedef struct region region;
typedef struct place {
    kernel_array *array;
    access_use use;
    index_expr **indices;
    index_expr **extents;  /* a box of cells from `indices`; NULL: one cell or a vector */
    int lanes, vector_dim; /* vector_dim -1: a whole cell */
    bool aligned;          /* a vector that is promised to begin at a multiple of its size */
    index_expr *active;
    scope *scope;
    region *region;
    kernel_stmt *stmt;
    source_span span;
    const kernel_value *load; /* READ: the value that it gives; NULL: it is part of something else */
    bool asynchronous;        /* from here to the wait (or the phase) that covers it */
    bool matrix;              /* ASYNCHRONOUS: waited for by `wait_async mma` */
    bool atomic;
    level_kind atomic_scope;
    const kernel_stmt
        *won; /* READ of shared memory where this compare_exchange of the thread's has found what it expected (winner.c); NULL */
    bool collective; /* made by all lanes of `holder` together, by which of them is not known */
    level_kind holder;
    bool clip;      /* cells outside the array are not touched */
    bool combined;  /* WRITE: a share that grid_reduce combines with those of other tasks */
    bool unordered; /* stands for bounds alone: another place, of the bytes behind a view, stands for order */
    bool by_unit;   /* READ: by an asynchronous unit, which ordinary writes reach through a proxy fence alone */
    bool tried;
    int_set *cells; /* [scope's dimensions, cell]; a collective access by lane 0 */
    bool spread_tried;
    int_set *spread_cells; /* the same, by every lane that may make it */
    bool source_tried;
    int_set *source_cells;  /* the same, a scattered index replaced by its source */
    const char *not_affine; /* the term that cells ignores; NULL: none */
} place;

/* What the reference of an intrinsic touches: a cell, or a box, that its contract must name. It is no access by itself: the contract's is. */
typedef struct claim {
    place *at;
    kernel_stmt *intrinsic;
} claim;

typedef enum region_kind {
    REGION_SEQUENCE, /* children one after another */
    REGION_STEP,     /* one statement: its reads, then its writes */
    REGION_LOOP,     /* one child, repeated along the last dimension of `scope`, in order (task ids: in no order) */
    REGION_VALUE,    /* one child, below a let whose value is unknown: one value per instance */
    REGION_CHOICE,   /* children exclude one another by conditions that are in their domains */
    REGION_MAYBE     /* children exclude one another; which one runs is not known */
} region_kind;

typedef struct summary {
    int_set *set;
    bool done;
} summary;
enum {
    SUMMARY_MAY_READ,
    SUMMARY_MAY_WRITE,
    SUMMARY_MUST_WRITE,
    SUMMARY_MAY_CONSUME,
    SUMMARY_MUST_CONSUME,
    SUMMARY_SOURCE_READ, /* MAY, a scattered index replaced by its source */
    SUMMARY_SOURCE_WRITE,
    SUMMARY_PLAIN_READ, /* MAY, without the asynchronous, atomic and collective ones */
    SUMMARY_PLAIN_WRITE,
    SUMMARY_KINDS
};

struct region {
    region_kind kind;
    region *parent;
    int index;    /* among the parent's children */
    scope *scope; /* LOOP, VALUE: the inner one, with the own dimension; STEP, SEQUENCE: where they stand */
    int depth;    /* dimensions outside */
    bool tasks;   /* LOOP over a task id */
    bool threads; /* LOOP over an id below the task */
    bool trips;   /* SEQUENCE: the body of `tasks`, run for one task after another by one block */
    bool syncs;   /* holds a barrier, a fence, a wait or the like */
    kernel_stmt *stmt;
    VEC(region *) children;
    VEC(place *) places;    /* STEP */
    unsigned char *touches; /* by array id: access_use bits of everything inside */
    summary **summaries;    /* by array id, each [SUMMARY_KINDS]; made when first asked for, NULL before */
};

/* The last answer of array_inexact. */
typedef struct inexactness {
    unsigned uses;
    const char *why;
} inexactness;

typedef struct let_place {
    kernel_stmt *let;
    scope *scope;
} let_place;
/* A statement that orders, or that several threads must reach together. */
typedef struct meeting {
    kernel_stmt *stmt;
    scope *scope;
    region *region;
} meeting;
/* A subgroup's operation inside a value: all lanes reach it together. */
typedef struct exchange {
    const kernel_value *value;
    kernel_stmt *stmt;
    scope *scope;
} exchange;

typedef struct model {
    arena *arena;
    sets *sets;
    const kernel_ir *kernel; /* the kernel with arrays added for fragments and for the bytes behind views */
    const target_limits *limits;
    cond *launch;                /* what the plan guarantees: predicate and checks; NULL: nothing */
    VEC(index_var *) parameters; /* symbols, then integer scalars */
    index_var **known;           /* by variable id: the variable itself (a table entry is valid only for it) */
    index_expr **definition;     /* by variable id: an integer let that is an expression */
    int *position;               /* by variable id: its dimension, or -1 */
    kernel_stmt **loop;          /* by variable id: its FOR */
    scope **scope_of;            /* by variable id: the scope that adds it as a dimension */
    struct interval **intervals; /* by variable id; NULL: not asked for yet (interval.h) */
    struct interval **stored;    /* by array id: the integers that a thread's own array may hold; NULL: not asked for yet */
    struct interval **assumed;   /* by array id, while that is being found: what its loads are taken to give */
    int assuming, stored_steps;
    bool *wanted; /* by variable id: an integer let that index expressions use */
    region *root;
    int task_dims;
    int thread_dims;                   /* ids below the task: dimensions task_dims .. task_dims + thread_dims - 1 */
    int instance_dims[LEVEL_LANE + 1]; /* by level: how many of them tell its instances apart */
    int64_t *thread_extents;           /* [thread_dims] */
    index_var **thread_ids;            /* [thread_dims] */
    bool persistent;
    int var_room; /* length of the tables by variable id */
    bool roles;
    VEC(const kernel_stmt *) opaque_loops; /* LOOP statements */
    scope *inside_tasks; /* PERSISTENT: the scope of `tasks`, whose first dimensions are task ids; outside: a block's number */
    kernel_array **object_of;      /* by array id: the bytes behind views; NULL: the array is its own */
    kernel_array **fragment_array; /* by fragment id: the lanes' shares, as a register array [count, elements] */
    index_var **trip_of;           /* by variable id of a loop whose trips, not values, are the same in all threads: the trip */
    VEC(meeting) meetings;         /* in program order */
    VEC(exchange) exchanges;
    VEC(scope *) breaks;     /* where each `break` stands */
    struct ring_list *rings; /* ring.c */
    const char *rings_why;
    const char *flight_why;           /* why the end of some copy is not known; NULL: all are */
    VEC(struct known_order *) orders; /* answers kept: by the places' regions, the space and the question */
    VEC(claim) claims;                /* of the references of intrinsics */
    VEC(claim) promises; /* what intrinsics with references write by their contracts: the references write all of it */
    VEC(place *) places; /* all, in program order */
    VEC(let_place) lets;
    VEC(scope *) scopes;
    const char *beyond; /* what of this kernel is not judged yet; NULL: all is */
    source_span beyond_span;
    inexactness *inexact; /* by array id */
    int *visiting;        /* by array id, while stored values are collected: how deep its collection stands, from 1 */
    int visiting_depth;
    int met_visiting; /* the outermost collection in progress that was met again; INT_MAX: none */
    int arithmetic;   /* nesting of arithmetic around a value being collected */
    int steps;        /* of the expression being translated: definitions can make a short text long */
    const char *why;  /* the term that last could not be expressed */
} model;

/* ---- model.c ---- */
/* Walks the kernel. Never NULL; what it can't judge is in `beyond`. */
/* Why a question has no answer: too many steps, or no time is left. */
const char *model_gave_up(const model *m);
model *model_new(arena *a, sets *s, const kernel_ir *k, const target_limits *limits, cond *launch);
const char *model_name(const scope *s, int dim); /* the name of a dimension */
bool model_touched(const model *m, const kernel_array *a, unsigned uses);
bool model_is_object(const model *m, const kernel_array *a); /* the bytes behind views, not an array of the kernel */
bool model_knows(const model *m, const index_var *v);
/* Whether `fits` holds for every variable that x is made of, definitions looked through; launch values always do. False where x is nested too deep. */
bool model_every_variable(const model *m, const index_expr *x, bool (*fits)(const void *context, const index_var *v),
                          const void *context);
/* What an integer let stands for, if x is one. */
const index_expr *model_meaning(const model *m, const index_expr *x);
/* printf into the model's arena */
const char *model_text(model *m, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- domain.c ---- */
int_set *domain_of(model *m, scope *s);
int_set *cells_of(model *m, place *p);
/* The dimensions, as bits, that every access indexes by an element of one array without repetition (an array for each dimension). There,
 * an element's place in that array tells cells apart as well as the element does. */
unsigned scattered_dims(model *m, const kernel_array *a);
/* The same, if every access is an ordinary one of a single thread: then all questions about the array may be asked of sources. */
unsigned plainly_scattered_dims(model *m, const kernel_array *a);
int_set *source_cells_of(model *m, place *p);
int_set *spread_cells_of(model *m, place *p);
bool place_uses_data(model *m, const place *p); /* a value from memory decides where or whether it happens */
/* Why the place's set may hold accesses that never happen; NULL: it is precise (or, with `data_counts`, some data makes it so). */
const char *place_imprecise(model *m, place *p, bool data_counts);
/* The cells that must be written or consumed, over [cells]; NULL when not affine (m->why). */
int_set *promised_cells(model *m, const kernel_array *a);
int_set *array_box(model *m, const kernel_array *a, int dims); /* over [dims, cells] */
int_set *parameter_limit(model *m, int dims);                  /* parameters at most largest_extent, scalars within 32 bits */

/* The trips of a loop alone, over its scope's dimensions: what of it is affine. */
int_set *loop_trips(model *m, scope *s);
/* Whether the expression, or the condition, uses the variable, lets seen through. */
bool depends_on(model *m, const index_expr *x, const index_var *v);
bool condition_depends_on(model *m, const cond *c, const index_var *v);

/* ---- agree.c ---- */
/* The domain of a scope below a condition on data, but for where that and one around it cannot both hold, since they ask about one cell. */
int_set *without_contradictions(model *m, const scope *s, int_set *domain);

/* ---- affine.c ---- */
typedef struct affine affine;                               /* nested min and max over linear expressions */
affine *affine_of(model *m, int dims, const index_expr *x); /* NULL and m->why when it is not affine */
affine *affine_dim(model *m, int dims, int position);
affine *affine_constant(model *m, int dims, int64_t value);
affine *affine_add(model *m, affine *x, affine *y);
affine *affine_scale(model *m, affine *x, int64_t factor);
affine *affine_subtract(model *m, affine *x, affine *y);
int_set *affine_nonnegative(model *m, affine *x);
int_set *affine_zero(model *m, affine *x);
int_set *affine_multiple(model *m, int dims, affine *x, int64_t step); /* x is a multiple of step */
/* v - lo is a multiple of step. */
int_set *affine_stride(model *m, int dims, const index_var *v, const index_expr *lo, int64_t step);
/* Whether x mod step has one value everywhere, *value. */
bool affine_residue(model *m, const index_expr *x, int64_t step, int64_t *value);
int_set *affine_condition(model *m, int dims, const cond *c, bool negated);

/* ---- values.c ---- */
/* The values that v may take, over [s's dimensions, value]; NULL and m->why. *precision is lowered as needed. */
int_set *value_points(model *m, scope *s, const kernel_value *v, precision *precision);
/* The condition, when it depends on no data; NULL otherwise. */
cond *value_condition(model *m, const kernel_value *v);

/* ---- summary.c ---- */
/* Cells touched inside r over [r->depth dimensions, cell]; MAY is a superset, MUST a subset of what happens. NULL when not expressible. */
int_set *summary_of(model *m, region *r, const kernel_array *a, int kind);
/* Two accesses of one cell: the set over [prefix, (x, x' of the loop,) cell]. */
typedef struct conflict {
    int_set *set;
    region *where;     /* LOOP: two trips x < x'; SEQUENCE: two children */
    int first, second; /* SEQUENCE: the children */
    bool first_later;  /* LOOP over tasks: the pair is (first use at x', second use at x) */
    int in;            /* a conflict_scope */
} conflict;
/* ACROSS_THREADS: one after the other in the order of the program, which all threads of a task share, whichever threads make them; thread ids
 * in the set then say nothing. */
typedef enum conflict_scope { CONFLICT_TASKS, CONFLICT_WITHIN_TASK, CONFLICT_ACROSS_THREADS } conflict_scope;
/* Looks for a cell that is touched by `first` and later by `second` (SUMMARY_MAY_*). TRI_NO: none, TRI_YES: *out says where. */
tri conflict_find(model *m, const kernel_array *a, int first, int second, conflict_scope in, conflict *out);

/* Why a write (or consume) of the array may not happen, or happens at an unknown place; NULL: all are known exactly. */
const char *array_inexact(model *m, const kernel_array *a, unsigned uses);
/* The same, but that the value of a let that an access does not use may have no choice at all is left aside. */
const char *array_unsure(model *m, const kernel_array *a, unsigned uses);

/* ---- threads.c: what orders two threads ---- */
/* A place in the program: a step, or the children first..last of a sequence taken together. */
typedef struct position {
    scope *scope;
    region *region;
    int last;
} position;
static inline position meeting_position(const meeting *t) {
    return (position){t->scope, t->region, t->region->index};
}
static inline position place_position(const place *p) {
    return (position){p->scope, p->region, p->region->index};
}
/* The space of two positions: [task ids of a, (of b,) thread ids of a, of b, further dimensions of a, of b]. Task ids are shared but in a
 * persistent kernel. */
typedef struct pair_space {
    position a, b;
    int tasks_b, threads_a, threads_b, rest_a, rest_b, dims;
} pair_space;
pair_space pair_of(const model *m, position a, position b);
int_set *pair_first(model *m, const pair_space *s, int_set *x,
                    int more); /* x over [dimensions of a, more..]; the more at the end */
int_set *pair_second(model *m, const pair_space *s, int_set *x, int more);
const char **pair_names(model *m, const pair_space *s); /* for witnesses: the second's names have a ' */
int_set *pair_equal(model *m, const pair_space *s, int_set *x, int first, int second); /* two dimensions are equal */
int_set *pair_same_thread(model *m, const pair_space *s, int_set *x, int levels); /* equal in the first `levels` thread ids */
/* Where the dimensions of the pair (b, a) stand in the space of (a, b): for sets_remap. */
int *pair_back(const model *m, const pair_space *s, const pair_space *back);
int_set *pair_same_block(model *m, const pair_space *s, int_set *x);
/* Answers about two places, kept. `what` is the question; `of` more that it is about. */
typedef enum order_question {
    ORDER_BARRIERS,
    ORDER_CHAINS,
    ORDER_ALL,
    ORDER_RINGS,
    ORDER_ENDED,
    ORDER_COVERED,
    ORDER_ARRIVED,
    ORDER_WAITED
} order_question;
bool order_known(const model *m, const region *a, const region *b, const void *of, memory_space space, order_question what,
                 int_set **set);
int_set *order_keep(model *m, const region *a, const region *b, const void *of, memory_space space, order_question what,
                    int_set *set);
/* Where a stands before b in the order of the program, which all threads share. */
int_set *pair_before(model *m, const pair_space *s);
/* Where what a does to this space happens before what b does to it, a and b in different threads, by barriers. */
int_set *pair_ordered(model *m, const pair_space *s, memory_space space);
/* Whether the scope's set says exactly when it is reached, whatever data hold. */
bool scope_is_sure(model *m, scope *s);
/* More than one barrier, some of them of some threads only: order may come from several, one after another. */
bool barriers_are_partial(const model *m);
int_set *pair_chained(model *m, const pair_space *s, memory_space space,
                      bool *exact); /* by two; *exact false: more might order more */
/* The same, in one thread or two, by everything that orders. */
int_set *pair_happens_before(model *m, const pair_space *s, memory_space space);

/* ---- separated.c ---- */
/* Children first..last of a sequence. */
typedef struct stretch {
    const region *sequence;
    int first, last;
} stretch;
/* Two accesses that no barrier surely separates: a is the earlier (1) or the later one (-1) in the loop around both whose dimension is `depth`, those
 * outside having the same values; or all loops around both have the same values (depth -1). */
typedef struct open_case {
    int depth, direction;
} open_case;
enum { MOST_OPEN_CASES = 32 };
/* How many cases are open for two stretches of one task's program; -1: not known, all are. */
int separated(const model *m, const stretch *a, const stretch *b, memory_space space, open_case *open);
/* The points of x, over [pair.., more], that belong to the case. */
int_set *separated_case(model *m, const pair_space *s, const stretch *a, const stretch *b, const open_case *o, int_set *x);

/* ---- digits.c ---- */
/* Whether two accesses, each by one of the places (of one array), that agree in the dimensions outside `depth` and differ in v never touch one
 * cell. False: not seen. */
bool digits_tell(model *m, place *const *places, int count, const index_var *v, int depth);

/* Whether accesses by the place, of any threads of one task, that differ in a loop inside the scope never touch one cell. False: not seen. */
bool loops_told(model *m, place *p, const scope *outside);

/* ---- around.c ---- */
/* Whether two accesses of one shared array, at least one of them asynchronous, are ordered one way or the other where they may touch one cell, because
 * all is that the statements around them do, whichever threads they are of. The two may be one; `told`: its threads touch different cells. False: not
 * seen. */
bool ordered_around(model *m, place *a, place *b, memory_space space, bool told);

/* ---- line.c ---- */
/* Whether no x and no y touch one cell, the `depth` outer dimensions (which they share) being the same, because they stand apart in one
 * dimension of the array. False: not seen. */
bool lines_apart(model *m, place *const *x, int count_x, place *const *y, int count_y, int depth);

/* ---- standing.c ---- */
/* Whether the text shows that the same thread has written all that the read may touch. False: not seen. */
bool written_just_before(model *m, const place *read);

/* ---- together.c ---- */
/* Whether the text shows that the threads of the block have, one or the other, written all that the read of a shared array may touch. False: not
 * seen. */
bool written_together(model *m, const place *read);

/* ---- count.c ---- */
typedef struct counted {
    kernel_stmt_kind kind;
    bool matrix;
    const char *name;
} counted; /* COMMIT, or MBARRIER_ARRIVE of this name */
bool counted_is(const counted *c, const kernel_stmt *s);
/* How many of them a thread has run since `base`, a region around, when it comes to `at`. NULL: not known as an expression. */
index_expr *count_before(model *m, const region *at, const region *base, const counted *c);
const region *count_base(const region *x, const region *y);

/* ---- ring.c: mbarriers ---- */
/* Looks at the arrivals and waits, once; false: there are none, or what they order is not known (m->rings_why). */
bool rings_known(model *m);
/* Where a (or, with `landing`, the copy that signals) comes before a phase completes that b's thread has waited for. */
int_set *rings_order(model *m, const pair_space *s, memory_space space, const place *landing);

/* ---- flight.c: asynchronous accesses ---- */
/* A stands first, u next, b last: `first` over the pair (a, u), `second` over (u, b); u's thread is a's, or b's. */
int_set *pair_through(model *m, const pair_space *s, position u, int_set *first, int_set *second, bool thread_of_b);
/* Where a (NULL: a segment of ordinary accesses) has ended before b begins. */
int_set *flight_before(model *m, const pair_space *s, const place *a, memory_space space);
int_set *flight_unended(model *m, place *p);

/* ---- written.c ---- */
/* The cells of a read, over [its dimensions, cell], that no write is known to happen before: for kernels whose threads run apart. */
int_set *unwritten_before(model *m, place *reader, int_set *cells);

/* ---- winner.c ---- */
void find_winners(model *m); /* sets `won` of places; when all are known */
bool winner_exempt(const place *read, const place *exchange);
/* A compare_exchange's write, which happens where it finds what it expects alone. */
#define EXCHANGE_MAY_ONLY_READ "whether a compare-and-exchange finds what it expects"
bool may_only_read(const place *p);

/* ---- task_order.c ---- */
/* The child of r that `target` is, or lies in; NULL: neither. */
const region *region_towards(const region *r, const region *target);
/* Whether one task may come by x and then by y. */
bool region_may_precede(const region *x, const region *y);
/* Whether fences and atomics in the sight of all tasks may order the two accesses of different tasks, one way or the other: one of
 * them at least depends on data, and comes after something that orders. A place may be NULL: it is not known. */
bool tasks_may_order(const model *m, const place *x, const place *y);

/* ---- uniform.c ---- */
/* Whether the value is the same for all threads of one instance of the level. */
bool uniform_value(model *m, const kernel_value *v, level_kind level);
bool uniform_index(model *m, const index_expr *x, level_kind level); /* in equal trips of the loops around */
bool uniform_condition(model *m, const cond *c, level_kind level);
/* A fragment statement's value, extents and indices of fragments. */
bool uniform_operands(model *m, const kernel_stmt *s, level_kind level);
bool uniform_loop(model *m, const kernel_stmt *loop, level_kind level);

/* ---- witness.c ---- */
typedef struct witness {
    verdict verdict;     /* PROVED: the set is empty; REFUTED: values and text are set; UNKNOWN */
    int64_t *values;     /* parameters, then dimensions */
    const int64_t *dims; /* values after the parameters */
    const char *text;    /* "M = 1, N = 33, i0 = 0" over parameters and the named dimensions */
} witness;
/* The least point of `violations` within the target's limits; `named` dimensions are printed, under these names. */
witness witness_of(model *m, int_set *violations, const char *const *names, int named);
/* By parameters, then task ids; of equals, the first in the program stays. */
bool witness_is_less(const model *m, const witness *x, const witness *y);
/* The names of a scope's dimensions. */
const char **scope_names(model *m, const scope *s);
/* Evaluates at a witness whose dimensions begin with those of a scope. */
bool witness_eval(model *m, const witness *w, const index_expr *x, int64_t *value);
/* The first place inside r that touches this cell, the first `prefix_count` dimensions being as given; NULL: none found. */
place *witness_place(model *m, region *r, const kernel_array *a, unsigned use, const int64_t *parameters, const int64_t *prefix,
                     int prefix_count, const int64_t *cell);
const char *witness_cell(model *m, const kernel_array *a, const int64_t *cell); /* "y[3, 4]" */

/* ---- the properties: one a file ---- */
/* Memory between the kernels of one variant of a plan, by name. */
typedef struct between_kernels {
    const char *name;
    int_set *written;   /* the cells that earlier kernels have surely written, over [cell] */
    const char *unsure; /* why that may be fewer than they write; NULL: it is not */
} between_kernels;
/* Launches of small values that a property has been judged for, one by one. */
struct prover;
typedef struct small_launches {
    void (*judge)(struct prover *p); /* the property */
    const model *m;
    int64_t *at, *least, *most; /* the next one, by parameter */
    int trials;
    double milliseconds;
    bool all; /* there is no other */
    VEC(proof_item) refuted;
} small_launches;

typedef struct prover {
    arena *arena;
    model *m;
    const kernel_ir *kernel;
    const target_limits *limits;
    const launch_plan *plan; /* NULL: a kernel by itself */
    proof *proof;
    diag_list *diags;
    const char *property, *code;
    diag *last; /* of the last item; NULL: proved */
    double item_start;
    double end;                      /* of the time for this kernel, by prover_clock */
    cond *launch;                    /* what the plan guarantees for this kernel */
    void (*judge)(struct prover *p); /* the property being judged */
    bool small;                      /* a launch of small constants is being tried */
    bool quick;                      /* any refutation is looked for, by what takes little time */
    small_launches tried;
    VEC(const char *)
    put_off;        /* where one refutation is enough: subjects whose small launches are tried when no other is refuted */
    bool searching; /* they are being tried */
    bool settled;   /* the kernel is refuted, and the rest is not asked for (target_limits.settle) */
    bool narrow;    /* indices of PLAN_NARROW_BITS, and launches that fit them, are being judged */
    between_kernels *between; /* PLAN: its workspaces; NULL: the kernel is judged by itself */
    int between_count;
} prover;
/* The workspace that the array is; NULL: it is none, or the kernel is judged by itself. */
between_kernels *prover_between(const prover *p, const kernel_array *a);
/* The time that the kernel has begins, for its session of sets too. */
void prover_begin_time(prover *p, sets *s);
void prover_start(prover *p);
/* Tries the small launches that the property just judged has put off. */
void prover_search(prover *p);
/* An item, without a message. */
void prover_add_item(prover *p, verdict v, const char *subject, source_span span, const char *witness, const char *explanation);
/* The item, its texts in the prover's own arena. */
proof_item prover_kept(const prover *p, const proof_item *x);
void prover_proved(prover *p, const char *subject, source_span span);
void prover_refuted(prover *p, const char *subject, source_span span, const char *witness, const char *explanation,
                    const char *mend);
void prover_unknown(prover *p, const char *subject, source_span span, const char *witness, const char *explanation);
/* Unknown because a question failed: too many steps, or a term that is not affine. */
void prover_gave_up(prover *p, const char *subject, source_span span);
/* Adds a line to the last item's diagnostic. */
void prover_note(prover *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* Looks for two accesses of one cell (conflict_find). True when there is none; otherwise an item says so: `first_verb` "writes",
 * `second_verb` "reads". */
bool prover_no_conflict(prover *p, const kernel_array *a, int first, int second, conflict_scope in, const char *first_verb,
                        const char *second_verb);
/* True, and an unknown item, when order is needed that is not judged yet. */
bool prover_beyond(prover *p);

void judge_bounds(prover *p);
void judge_range(prover *p, let_place *l); /* among these: a value outside its stated range */
void judge_contracts(prover *p);           /* part of bounds: contract.c */
/* Adds an item for the first refutation of bounds that is found soon; others are of no account. */
void seek_out_of_bounds(prover *p);
/* Vectors marked `aligned` begin at multiples of their size, whatever the launch: the array's base by its `align`, the offset by its indices. */
void judge_alignment(prover *p);
void judge_race(prover *p);
void judge_thread_races(prover *p);
bool judge_waiting(prover *p); /* winner.c: no loop goes on until another thread has done something; false: told */
void judge_rings(prover *p);
void judge_units(prover *p);
void judge_initialised(prover *p);
void judge_coverage(prover *p);
void judge_update_order(prover *p);
void judge_contribution(prover *p);
void judge_overflow(prover *p);
void judge_capacity(prover *p);
void judge_layout(prover *p);
void judge_order(prover *p);
/* The plan as a whole; p->m is a model of no kernel, made for the plan's launch values. */
void judge_plan(prover *p);
#endif
