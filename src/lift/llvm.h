/* What the files that know LLVM share; they alone make up tilec-lift.so, and speak LLVM's C API. Private to lift/llvm*.c. */
#ifndef TILEC_LIFT_LLVM_H
#define TILEC_LIFT_LLVM_H
#include "lift/module.h"
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

enum { LLVM_MOST_NESTING = 40 };

typedef struct llvm_entry {
    const void *key;
    void *value;
} llvm_entry;

typedef struct llvm_reading {
    arena *arena;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetDataRef data;
    const lift_reading *how;
    llvm_entry *table; /* LLVM's values, types and blocks to ours */
    int capacity, count, global_count;
    VEC(const char *) functions; /* those that have a number: from 1 on */
} llvm_reading;

/* ---- llvm.c ---- */
bool llvm_is_kernel(LLVMValueRef function);

/* ---- llvm_values.c ---- */
/* What stands for one of LLVM's values, types or blocks; the place moves when others are asked for. */
void **llvm_slot(llvm_reading *r, const void *key);
const lift_type *llvm_type(llvm_reading *r, LLVMTypeRef t, int nesting);
lift_value *llvm_value(llvm_reading *r, LLVMValueRef v, int nesting);
const char *llvm_name(llvm_reading *r, LLVMValueRef v);
/* What an instruction does; its operands may be read before they are, but not a phi's. */
void llvm_operation(llvm_reading *r, lift_value *x, LLVMValueRef v, int nesting);

/* ---- llvm_passes.c ---- */
/* Everything but the wanted kernels and what they call goes: the passes need not look at it. */
void llvm_keep_wanted(llvm_reading *r);
bool llvm_is_wanted(const llvm_reading *r, LLVMValueRef function);
/* Inlining, and promotion to registers only; NULL, or why LLVM refused. */
const char *llvm_run_passes(llvm_reading *r);

/* ---- llvm_calls.c ---- */
void llvm_mark_unreachable(llvm_reading *r); /* before passes take it for impossible that such a place is reached */
bool llvm_settle_calls(llvm_reading *r);     /* calls through pointers; whether there is anything to inline now */

/* ---- llvm_structs.c ---- */
void llvm_split_structs(llvm_reading *r); /* copies of structs become copies of their fields */

/* ---- llvm_pointers.c ---- */
void llvm_settle_pointers(llvm_reading *r); /* loads of program-scope pointers that nothing writes */
void llvm_number_pointers(llvm_reading *r); /* pointers that are put into memory, and copied there */

/* ---- llvm_events.c ---- */
void llvm_find_events(llvm_reading *r); /* wait_group_events of addresses becomes a call with the events themselves */
#endif
