/* A launch plan as C: one function per variant does one task, an entry per variant runs a span of tasks. Private to target/. */
#ifndef TILEC_TARGET_C_PLAN_H
#define TILEC_TARGET_C_PLAN_H
#include "target/cfamily.h"

typedef struct c_plan {
    const char *name;      /* a legal C name */
    const char *prelude;   /* types and helper functions */
    cfamily_names helpers; /* their names */
    const char *functions; /* task functions and entries NAME_variant_0, .. */
} c_plan;

/* Prints every variant. Entries are as target.h says; `linkage` stands before each ("" or "static "); `written` (may be NULL) are helpers
 * that stand in front already. False with diagnostics. */
bool c_plan_print(arena *a, const launch_plan *plan, const char *linkage, const cfamily_names *written, c_plan *out,
                  diag_list *diags);
/* The text in front of the prelude: includes and pragmas. */
void c_plan_head(text_buffer *out);
/* Free text made safe inside a C comment. */
const char *c_comment_text(arena *a, const char *text);
/* Lines over 128 columns continued on the next, deeper one; lines with texts in quotes, and of the preprocessor, stay. */
const char *c_wrap_lines(arena *a, const char *text);

bool c_emit(const proved_plan *p, text_buffer *out, diag_list *diags);       /* c_plan.c */
bool c_build(const proved_plan *p, const char *directory, diag_list *diags); /* c_build.c */
struct gpu_program;
/* For readers of the text: beside each variant's functions one that runs all its tasks in one thread, TILEC_KERNEL in front of it and TILEC_DEVICE in front of
 * its arrays. c_reading.c */
bool c_program(arena *a, const proved_plan *p, struct gpu_program *out, diag_list *diags);
struct program_build;
bool c_build_program(const struct program_build *p, const char *directory, diag_list *diags); /* c_program.c */
const machine_model *c_machine(void);                                                         /* c_machine.c */
/* From now on c_machine is a processor of that name, which files are built for; *why: the names there are. False: there is no such; nothing changed. */
bool c_machine_name(const char *name, const char **why);
const target_limits *c_limits(void);
#endif
