/* A pointer in program-scope memory that nothing writes is what it was set to at its declaration: loads of it become that. */
#include "lift/llvm.h"

/* Whether all that is done with the variable, in every function of the text, is to load it. */
static bool only_loaded(LLVMValueRef variable) {
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsALoadInst(user) || LLVMGetTypeKind(LLVMTypeOf(user)) != LLVMPointerTypeKind)
            return false;
    }
    return true;
}

void llvm_settle_pointers(llvm_reading *r) {
    for (LLVMValueRef v = LLVMGetFirstGlobal(r->module); v; v = LLVMGetNextGlobal(v)) {
        LLVMValueRef initial = LLVMGetInitializer(v);
        if (!initial || LLVMGetTypeKind(LLVMGlobalGetValueType(v)) != LLVMPointerTypeKind || !only_loaded(v))
            continue;
        while (LLVMGetFirstUse(v)) {
            LLVMValueRef load = LLVMGetUser(LLVMGetFirstUse(v));
            if (LLVMTypeOf(load) != LLVMTypeOf(initial))
                break;
            LLVMReplaceAllUsesWith(load, initial);
            LLVMInstructionEraseFromParent(load);
        }
    }
}
