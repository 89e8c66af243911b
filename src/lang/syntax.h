/* The syntax tree of the tile language, private to lang/. */
#ifndef TILEC_LANG_SYNTAX_H
#define TILEC_LANG_SYNTAX_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/element.h"

typedef enum expr_kind {
    EXPR_ERROR,  /* diagnosed already */
    EXPR_NUMBER, /* number, integral, integer */
    EXPR_NAME,   /* name; `true`, `false` and `inf` are names too */
    EXPR_NEGATE, /* a */
    EXPR_NOT,    /* a */
    EXPR_BINARY, /* op, a, b */
    EXPR_INDEX,  /* name[args] */
    EXPR_CALL,   /* name(args) */
    EXPR_REDUCE, /* name[range](a): sum, max, min, argmax, argmin; range names the range */
    EXPR_FIELD,  /* a.name */
    EXPR_TUPLE,  /* (args) */
    EXPR_ELSE,   /* a else b */
    EXPR_RANGE,  /* name: a         in `for tile` */
    EXPR_ALL     /* ..              in `for tile` */
} expr_kind;

typedef enum binary_op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_DOT,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_AND,
    OP_OR
} binary_op;

typedef struct expr expr;
struct expr {
    expr_kind kind;
    source_span span;        /* what a diagnostic points at: the operator of `@`, else the beginning */
    const char *start, *end; /* the whole of it in the source text */
    int depth;
    double number;
    bool integral;
    int64_t integer;
    const char *name;
    const char *range;
    source_span range_span;
    binary_op op;
    expr *a, *b;
    VEC(expr *) args;
    bool bounded; /* REDUCE: `sum[j in lo..hi](a)`, args holding lo and hi: over so many values, written out */
};

typedef struct type_syntax {
    source_span span;
    const char *name;     /* as written: f32, index, a combine's name; NULL for lo..hi */
    element_type element; /* ELEMENT_COUNT when `name` is none */
    bool injective;
    expr *index_bound; /* index(V) */
    expr *lo, *hi;     /* lo..hi */
    bool has_dims;
    VEC(expr *) dims;
} type_syntax;

typedef struct parameter_syntax {
    const char *name;
    source_span span;
    bool update;
    type_syntax type;
} parameter_syntax;

typedef enum stmt_kind {
    STMT_TILE,    /* for tile targets { body } */
    STMT_FOR,     /* for name: size in extent where predicate { body } */
    STMT_DECLARE, /* name: type = value;  name: combine(fields) */
    STMT_BIND,    /* name = value */
    STMT_UPDATE,  /* name op= value */
    STMT_JOIN,    /* name <- value */
    STMT_STORE,   /* target = value */
    STMT_CALL,    /* an intrinsic that stores: value */
    STMT_MULTIPLY /* name = value, a call of which the name is an operand: an intrinsic that multiplies matrices */
} stmt_kind;

typedef enum update_op { UPDATE_ADD, UPDATE_MAX, UPDATE_MIN } update_op;

typedef struct stmt stmt;
typedef struct stmt_list {
    VEC(stmt *) items;
} stmt_list;
struct stmt {
    stmt_kind kind;
    source_span span; /* the name, or `for` */
    const char *name;
    VEC(expr *) targets;             /* TILE: EXPR_INDEX each; STORE: one */
    expr *size, *extent, *predicate; /* FOR */
    type_syntax type;                /* DECLARE */
    bool is_state;                   /* DECLARE of a combine state */
    VEC(type_syntax) fields;
    update_op update;
    expr *value;
    stmt_list body;
};

typedef struct static_syntax {
    const char *name;
    source_span span;
    expr *value; /* NULL: no default */
} static_syntax;

typedef struct call_syntax {
    VEC(const char *) results;
    VEC(source_span) result_spans;
    const char *callee;
    source_span span;
    VEC(expr *) args;
    VEC(const char *) bind_names;
    VEC(source_span) bind_spans;
    VEC(expr *) bind_values;
} call_syntax;

typedef struct schedule_entry_syntax {
    const char *key;
    source_span span;
    VEC(const char *) words;
    bool is_integer;
    int64_t integer;
} schedule_entry_syntax;

/* A parameter of an intrinsic. */
typedef struct intrinsic_parameter_syntax {
    const char *name;
    source_span span;
    const char *space; /* "global", "shared"; NULL: any */
    bool matrix;       /* a matrix that a subgroup holds */
    type_syntax type;  /* `index` without a bound: an integer */
} intrinsic_parameter_syntax;

typedef struct contract_syntax {
    bool reads, writes;
    const char *name;
    source_span span;
    bool whole;         /* all that the pointer sees */
    VEC(expr *) lo, hi; /* by dimension, both included */
} contract_syntax;

typedef struct binding_syntax {
    const char *target, *text;
    source_span span; /* of the function's name */
    bool listed;      /* its operands are; else the parameters in order */
    VEC(expr *) items;
} binding_syntax;

typedef enum declaration_kind {
    DECLARE_KERNEL,
    DECLARE_FN,
    DECLARE_COMBINE,
    DECLARE_PROGRAM,
    DECLARE_SCHEDULE,
    DECLARE_INTRINSIC
} declaration_kind;

typedef struct declaration {
    declaration_kind kind;
    const char *name;
    source_span span; /* of the name */
    /* kernel, program */
    VEC(parameter_syntax) inputs, outputs;
    VEC(static_syntax) statics;
    VEC(expr *) where;
    stmt_list body;
    VEC(call_syntax) calls;
    /* fn: names and body; combine: the fields' names, empty values and join(left, right) = results */
    VEC(const char *) names;
    VEC(source_span) name_spans;
    expr *value;
    expr *empty;
    const char *left, *right;
    source_span left_span, right_span;
    /* schedule */
    const char *target;
    VEC(schedule_entry_syntax) entries;
    /* intrinsic; names: of the row and column in `value[r, c]`, value: what it computes */
    VEC(intrinsic_parameter_syntax) parameters;
    type_syntax result;
    bool has_result;
    expr *written; /* the cell that `value` speaks of: `value m[r, c] = v[r, c]`; NULL: the result */
    VEC(contract_syntax) contracts;
    VEC(binding_syntax) bindings;
    bool anywhere; /* `otherwise = value` */
    source_span anywhere_span;
    const struct intrinsic *made;
    bool broken; /* a syntax error within: checked as far as it goes, without complaints about what may be missing */
} declaration;

typedef struct syntax_module {
    VEC(declaration *) items;
} syntax_module;

/* Parses; syntax errors are diagnosed (E01xx) and the rest is still returned. */
void lang_parse(arena *a, const char *file, const char *text, diag_list *diags, syntax_module *out);
#endif
