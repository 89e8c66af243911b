/* A function of an LLVM module in a neutral form, so that LLVM stays behind a few files (llvm*.c, in a plugin of its own: plain commands start without it).
 * Everything lives in the arena that was given. */
#ifndef TILEC_LIFT_MODULE_H
#define TILEC_LIFT_MODULE_H
#include "base/arena.h"
#include <stdbool.h>

typedef enum lift_type_kind {
    LIFT_VOID,
    LIFT_INTEGER, /* bits */
    LIFT_HALF,
    LIFT_BFLOAT,
    LIFT_FLOAT,
    LIFT_DOUBLE,
    LIFT_POINTER, /* space: 0 generic, 1 global, 3 shared, 4 constant, 5 private (amdgcn's numbers) */
    LIFT_VECTOR,  /* count elements */
    LIFT_ARRAY,   /* count elements */
    LIFT_STRUCT,  /* fields */
    LIFT_OTHER    /* text */
} lift_type_kind;

typedef struct lift_type lift_type;
struct lift_type {
    lift_type_kind kind;
    int bits, space;
    int64_t count;
    const lift_type *element;
    const lift_type **fields;
    int64_t *offsets; /* bytes, of fields */
    int64_t size;     /* bytes from one element of an array of it to the next; 0 where it has none */
    const char *text; /* as LLVM prints it */
};

typedef enum lift_opcode {
    LIFT_ADD,
    LIFT_SUB,
    LIFT_MUL,
    LIFT_SDIV,
    LIFT_UDIV,
    LIFT_SREM,
    LIFT_UREM,
    LIFT_SHL,
    LIFT_LSHR,
    LIFT_ASHR,
    LIFT_AND,
    LIFT_OR,
    LIFT_XOR,
    LIFT_FADD,
    LIFT_FSUB,
    LIFT_FMUL,
    LIFT_FDIV,
    LIFT_FREM,
    LIFT_FNEG,
    LIFT_ICMP,
    LIFT_FCMP,
    LIFT_SELECT,
    LIFT_TRUNC,
    LIFT_ZEXT,
    LIFT_SEXT,
    LIFT_FPTRUNC,
    LIFT_FPEXT,
    LIFT_FPTOSI,
    LIFT_FPTOUI,
    LIFT_SITOFP,
    LIFT_UITOFP,
    LIFT_BITCAST,
    LIFT_ADDRSPACECAST,
    LIFT_PTRTOINT,
    LIFT_INTTOPTR,
    LIFT_GEP,
    LIFT_LOAD,
    LIFT_STORE,
    LIFT_ALLOCA,
    LIFT_CALL,
    LIFT_ATOMIC,
    LIFT_CMPXCHG,
    LIFT_FENCE,
    LIFT_EXTRACTELEMENT,
    LIFT_INSERTELEMENT,
    LIFT_SHUFFLEVECTOR,
    LIFT_EXTRACTVALUE,
    LIFT_INSERTVALUE,
    LIFT_FREEZE,
    LIFT_PHI,
    LIFT_BR,
    LIFT_RET,
    LIFT_UNREACHABLE,
    LIFT_UNREAD /* text: what LLVM calls it */
} lift_opcode;

/* LLVM's predicates */
typedef enum lift_predicate {
    LIFT_EQ,
    LIFT_NE,
    LIFT_UGT,
    LIFT_UGE,
    LIFT_ULT,
    LIFT_ULE,
    LIFT_SGT,
    LIFT_SGE,
    LIFT_SLT,
    LIFT_SLE,
    LIFT_FALSE,
    LIFT_OEQ,
    LIFT_OGT,
    LIFT_OGE,
    LIFT_OLT,
    LIFT_OLE,
    LIFT_ONE,
    LIFT_ORD,
    LIFT_UNO,
    LIFT_UEQ,
    LIFT_FUGT,
    LIFT_FUGE,
    LIFT_FULT,
    LIFT_FULE,
    LIFT_UNE,
    LIFT_TRUE
} lift_predicate;

typedef enum lift_atomic {
    LIFT_XCHG,
    LIFT_ATOMIC_ADD,
    LIFT_ATOMIC_SUB,
    LIFT_ATOMIC_AND,
    LIFT_ATOMIC_OR,
    LIFT_ATOMIC_XOR,
    LIFT_ATOMIC_MAX,
    LIFT_ATOMIC_MIN,
    LIFT_ATOMIC_UMAX,
    LIFT_ATOMIC_UMIN,
    LIFT_ATOMIC_FADD,
    LIFT_ATOMIC_FMAX,
    LIFT_ATOMIC_FMIN,
    LIFT_ATOMIC_INC_WRAP,
    LIFT_ATOMIC_DEC_WRAP,
    LIFT_ATOMIC_OTHER
} lift_atomic;

typedef enum lift_value_kind {
    LIFT_CONSTANT_INTEGER, /* number, sign-extended */
    LIFT_CONSTANT_FLOAT,   /* real */
    LIFT_UNDEFINED,        /* undef, poison */
    LIFT_ZERO,             /* null pointers; zero of an aggregate has elements instead */
    LIFT_AGGREGATE,        /* elements: a constant vector, array or struct */
    LIFT_ARGUMENT,
    LIFT_GLOBAL,
    LIFT_INSTRUCTION, /* constant expressions too */
    LIFT_OTHER_VALUE  /* text */
} lift_value_kind;

typedef struct lift_value lift_value;
typedef struct lift_block lift_block;
typedef VEC(lift_value *) lift_values;

/* base + constant + the sum of index * stride, all in bytes */
typedef struct lift_step {
    lift_value *index;
    int64_t stride;
    int64_t count; /* elements of the array that is stepped through; 0: a step of the pointer itself */
} lift_step;

struct lift_value {
    lift_value_kind kind;
    const lift_type *type;
    const char *name; /* as in the source where LLVM kept it; "" */
    int id;           /* of arguments and instructions within their function; of globals within the module; others -1 */
    int64_t number;
    double real;
    lift_value **elements; /* AGGREGATE: type->count of them, or fields */
    int element_count;
    const char *text;
    /* GLOBAL: pointee, space in type */
    const lift_type *pointee; /* ALLOCA too; LOAD and STORE: the type accessed; ATOMIC, CMPXCHG: of the value */
    lift_value *initial;      /* a constant's value; NULL */
    lift_value *begins;       /* what a variable that the host may set begins with; NULL: nothing is said, or zeros */
    bool external;
    int align;
    /* INSTRUCTION */
    lift_opcode op;
    lift_predicate predicate;
    lift_atomic atomic;
    bool ordered; /* ATOMIC, CMPXCHG, atomic LOAD and STORE: stronger than monotonic (relaxed) */
    bool no_signed_wrap, no_unsigned_wrap, is_atomic; /* each access is made once and in order, as volatile ones ask */
    int operand_count;
    lift_value **
        operands; /* PHI: incoming values. STORE: value, pointer. ATOMIC: pointer, value. CMPXCHG: pointer, expected, value. BR: the condition, if any */
    lift_block **blocks; /* PHI: incoming blocks; BR: one or two successors */
    int block_count;
    int64_t offset; /* GEP: constant bytes */
    lift_step *steps;
    int step_count;
    int *positions; /* SHUFFLEVECTOR: the mask (-1: any); EXTRACTVALUE, INSERTVALUE: the path */
    int position_count;
    const char *callee;   /* CALL; NULL: not a named function */
    const char *assembly; /* CALL of inline assembly: its text, with operands as $0, $1, .. results first; NULL */
    const char *scope;    /* ATOMIC, CMPXCHG, FENCE: "workgroup", "agent", "" */
    int line, column;
    const char *file;
    int uses; /* by operands, as LLVM counts them */
    lift_values
        users; /* arguments and instructions: the instructions of which it is an operand, in the order of the text, each once */
    lift_block *block;
};

struct lift_block {
    const char *name;
    int id;
    VEC(lift_value *) items; /* phis first, a terminator last */
    VEC(lift_block *) before, after;
};

typedef struct lift_argument_note {
    const char *type, *base_type, *qualifiers; /* OpenCL's metadata: "float4*", "uint"; NULL where there is none */
    const char *builtin;                       /* Metal: what the argument is, "thread_position_in_grid" */
} lift_argument_note;

typedef struct lift_function {
    const char *name;      /* in the module */
    const char *host_name; /* as a host program asks for it; the name where nothing else is known */
    bool is_kernel;        /* by its calling convention or by an annotation */
    VEC(lift_value *) arguments;
    lift_argument_note *notes;
    VEC(lift_block *) blocks; /* the entry first */
    int value_count;
    lift_values outside;   /* instructions with an operand that is no argument, instruction or number: of globals */
    int64_t block_size[3]; /* reqd_work_group_size; 0: not said */
    int line;
    const char *file;
    bool calls_itself; /* recursion is left */
} lift_function;

typedef struct lift_module {
    VEC(lift_function *) functions;
    int version; /* of LLVM */
} lift_module;

/* The instructions of f of which v may be an operand, without looking through all of it. */
static inline const lift_values *lift_users(const lift_function *f, const lift_value *v) {
    bool own = v->kind == LIFT_ARGUMENT || (v->kind == LIFT_INSTRUCTION && v->id >= 0);
    return own ? &v->users : &f->outside;
}

/* What runs before reading: inlining and promotion to registers, no more. Then the accesses of memory that are left are held (as if volatile), so that
 * every access of the source is still there afterwards: one whose value nobody needs may be the very one that is the defect. Then loops get one way in
 * and one way round, and values that leave a loop pass through a phi. */
#define LIFT_PASSES_BEFORE "always-inline,globaldce,function(sroa,infer-address-spaces,sroa)"
#define LIFT_PASSES_BETWEEN "function(instsimplify,sroa,bdce)"
#define LIFT_PASSES_AFTER "function(early-cse,instsimplify,simplifycfg,lower-switch,loop-simplify,lcssa)"

/* Of functions that call themselves, ahead of inlining: a call that is the last thing done becomes a loop. */
#define LIFT_PASSES_BEFORE_LOOPS "function(sroa)"
#define LIFT_LOOP_PASSES "function(simplifycfg,tailcallelim)"

/* Where arrays of pointers are left after the first: the short loops over them are unrolled, so that they become registers. Conditions joined by && become one
 * first, so that a loop that may end earlier still shows how often it goes round at the most. */
#define LIFT_PASSES_BEFORE_UNROLLING "function(simplifycfg)"
#define LIFT_UNROLL_PASSES                                                                                                       \
    "function(loop-simplify,lcssa,loop-unroll<full-unroll-max=64;no-partial;no-peeling;no-runtime;upperbound;O3>)"
/* What is left of a trip after the last goes, which would reach outside. */
#define LIFT_PASSES_AFTER_UNROLLING "function(instsimplify,simplifycfg)"
#define LIFT_REGISTER_PASSES "function(sroa,infer-address-spaces,sroa)"

/* Functions that are called in what was read, and that no source has. */
#define LLVM_REACHED "tilec.reached"                  /* a place that must not be reached */
#define LLVM_NO_FUNCTION "tilec.no_function"          /* a call through a pointer to no function that is known */
#define LLVM_FUNCTION_NUMBER "tilec.function_number:" /* which function an argument is, 0: none; their names follow, from 1 on */
#define LLVM_ADDRESS "tilec.address"                  /* the number that a pointer is where memory holds it */

/* How a module is read. */
typedef struct lift_reading {
    const char *source;         /* calls inlined from other files are placed where this one makes them; NULL: innermost places */
    const char *const *kernels; /* the functions wanted; what they do not call is not looked at */
    int kernel_count;           /* 0: all are wanted */
    int device, threadgroup, constant, thread, generic; /* the module's numbers of address spaces; -1: it has none such */
} lift_reading;

/* What the plugin exports. `text`: LLVM IR as text or bitcode. NULL on failure, *error then says why (text of the arena). */
#define LIFT_READ_SYMBOL "tilec_lift_read"
enum { LIFT_READ_INTERFACE = 5 };
typedef lift_module *lift_read_function(int interface, arena *a, const char *text, size_t length, const lift_reading *how,
                                        const char **error);
#endif
