/* What of LLVM runs over a module before it is read: inlining and promotion to registers, with every access held where the source has it. */
#include "lift/llvm.h"
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

enum { MOST_ROUNDS = 8 };

/* Passes that ask about address spaces need the target. */
static LLVMTargetMachineRef machine_of(LLVMModuleRef m) {
    const char *triple = LLVMGetTarget(m);
    LLVMTargetRef t = NULL;
    char *message = NULL;
    if (strncmp(triple, "amdgcn", 6))
        return NULL;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    if (LLVMGetTargetFromTriple(triple, &t, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    return LLVMCreateTargetMachine(t, triple, "gfx900", "", LLVMCodeGenLevelNone, LLVMRelocDefault, LLVMCodeModelDefault);
}

/* Private memory too: what reaches outside it, or goes through no pointer at all, would make passes take away all that comes after. */
static void set_held(llvm_reading *r, bool own, bool held) {
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                if (LLVMIsALoadInst(v) || LLVMIsAStoreInst(v)) {
                    LLVMTypeRef pointer = LLVMTypeOf(LLVMGetOperand(v, LLVMIsALoadInst(v) ? 0 : 1));
                    if (own || (int)LLVMGetPointerAddressSpace(pointer) != r->how->thread)
                        LLVMSetVolatile(v, held);
                }
}

static void hold_accesses(llvm_reading *r, bool own) {
    set_held(r, own, true);
}

static bool holds_pointers(LLVMTypeRef t, int nesting) {
    if (nesting > LLVM_MOST_NESTING)
        return false;
    switch (LLVMGetTypeKind(t)) {
    case LLVMPointerTypeKind: return true;
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind: return holds_pointers(LLVMGetElementType(t), nesting + 1);
    case LLVMStructTypeKind:
        for (unsigned i = 0; !LLVMIsOpaqueStruct(t) && i < LLVMCountStructElementTypes(t); i++)
            if (holds_pointers(LLVMStructGetTypeAtIndex(t, i), nesting + 1))
                return true;
        return false;
    default: return false;
    }
}

/* Arrays of pointers become registers where the short loops over them are unrolled. */
static bool keeps_pointers(llvm_reading *r) {
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                if (LLVMGetInstructionOpcode(v) == LLVMAlloca && holds_pointers(LLVMGetAllocatedType(v), 0))
                    return true;
    return false;
}

/* clang says of every loop at -O0 that it must not be unrolled. */
static void forget_loop_notes(llvm_reading *r) {
    unsigned kind = LLVMGetMDKindIDInContext(r->context, "llvm.loop", 9);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
            if (last)
                LLVMSetMetadata(last, kind, NULL);
        }
}

static bool calls_itself(llvm_reading *r) {
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef user = LLVMGetUser(u);
            if (LLVMIsACallInst(user) && LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) == f)
                return true;
        }
    return false;
}

const char *llvm_run_passes(llvm_reading *r) {
    LLVMTargetMachineRef machine = machine_of(r->module);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    llvm_find_events(r);
    llvm_split_structs(r);
    llvm_settle_pointers(r);
    llvm_mark_unreachable(r);
    LLVMErrorRef e = NULL;
    if (calls_itself(r)) {
        e = LLVMRunPasses(r->module, LIFT_PASSES_BEFORE_LOOPS, machine, options);
        hold_accesses(r, true);
        if (!e)
            e = LLVMRunPasses(r->module, LIFT_LOOP_PASSES, machine, options);
        set_held(r, true, false);
    }
    if (!e)
        e = LLVMRunPasses(r->module, LIFT_PASSES_BEFORE, machine, options);
    for (int i = 0; !e && i < MOST_ROUNDS && llvm_settle_calls(r); i++) /* what is called then may call through pointers itself */
        e = LLVMRunPasses(r->module, LIFT_PASSES_BEFORE, machine, options);
    if (!e && keeps_pointers(r)) {
        forget_loop_notes(r);
        hold_accesses(r, true); /* for these passes alone: those after them make registers of what is not held */
        e = LLVMRunPasses(r->module, LIFT_PASSES_BEFORE_UNROLLING, machine, options);
        set_held(r, true, false);
        if (!e)
            e = LLVMRunPasses(r->module, LIFT_UNROLL_PASSES, machine, options);
        hold_accesses(r, true);
        if (!e)
            e = LLVMRunPasses(r->module, LIFT_PASSES_AFTER_UNROLLING, machine, options);
        set_held(r, true, false);
        if (!e)
            e = LLVMRunPasses(r->module, LIFT_REGISTER_PASSES, machine, options);
    }
    if (!e) { /* constants meet the indices of small structs, which then are registers too */
        hold_accesses(r, false);
        e = LLVMRunPasses(r->module, LIFT_PASSES_BETWEEN, machine, options);
    }
    if (!e) {
        llvm_number_pointers(r);
        hold_accesses(r, true);
        e = LLVMRunPasses(r->module, LIFT_PASSES_AFTER, machine, options);
    }
    const char *why = NULL;
    if (e) {
        char *text = LLVMGetErrorMessage(e);
        why = arena_strdup(r->arena, text);
        LLVMDisposeErrorMessage(text);
    }
    LLVMDisposePassBuilderOptions(options);
    if (machine)
        LLVMDisposeTargetMachine(machine);
    return why;
}

bool llvm_is_wanted(const llvm_reading *r, LLVMValueRef function) {
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    for (int i = 0; i < r->how->kernel_count; i++)
        if (!strcmp(name, r->how->kernels[i]))
            return true;
    return !r->how->kernel_count;
}

/* Functions other than those wanted go first: the passes need not look at them. */
void llvm_keep_wanted(llvm_reading *r) {
    LLVMValueRef notes = LLVMGetNamedGlobal(r->module, "llvm.global.annotations"); /* it holds on to all of them */
    if (notes)
        LLVMDeleteGlobal(notes);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) != LLVMInternalLinkage && !llvm_is_wanted(r, f))
            LLVMSetLinkage(f, LLVMInternalLinkage); /* globaldce then takes what nothing calls */
}
