/* Pointers in memory. One in program-scope memory that nothing writes is what it was set to at its declaration: loads of it become that. One that is put into memory, or
 * copied there from elsewhere, and through which nothing is accessed, is a number of 64 bits: which one, nobody knows. */
#include "lift/llvm.h"
#include <llvm-c/DebugInfo.h>

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

static bool is_pointer(LLVMValueRef v) {
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind;
}

static bool stores_pointer(LLVMValueRef v) {
    return LLVMIsAStoreInst(v) && is_pointer(LLVMGetOperand(v, 0));
}

/* A load of a pointer that is only put elsewhere. */
static bool is_copied(LLVMValueRef load) {
    if (!LLVMIsALoadInst(load) || !is_pointer(load))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(load); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!stores_pointer(user) || LLVMGetOperand(user, 1) == load)
            return false;
    }
    return true;
}

static bool has_64_bits(llvm_reading *r, LLVMValueRef v) {
    return LLVMStoreSizeOfType(LLVMGetModuleDataLayout(r->module), LLVMTypeOf(v)) == 8;
}

static void store_number(LLVMBuilderRef builder, LLVMValueRef store, LLVMValueRef number) {
    LLVMPositionBuilderBefore(builder, store);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(store));
    LLVMValueRef now = LLVMBuildStore(builder, number, LLVMGetOperand(store, 1));
    LLVMSetVolatile(now, LLVMGetVolatile(store));
    LLVMSetAlignment(now, LLVMGetAlignment(store));
    LLVMInstructionEraseFromParent(store);
}

/* A copied pointer is loaded as a number, which is put wherever it is. */
static void copy_number(llvm_reading *r, LLVMBuilderRef builder, LLVMValueRef load) {
    LLVMPositionBuilderBefore(builder, load);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(load));
    LLVMValueRef number = LLVMBuildLoad2(builder, LLVMInt64TypeInContext(r->context), LLVMGetOperand(load, 0), "");
    LLVMSetVolatile(number, LLVMGetVolatile(load));
    LLVMSetAlignment(number, LLVMGetAlignment(load));
    while (LLVMGetFirstUse(load))
        store_number(builder, LLVMGetUser(LLVMGetFirstUse(load)), number);
    LLVMInstructionEraseFromParent(load);
}

static void put_number(llvm_reading *r, LLVMBuilderRef builder, LLVMValueRef store) {
    LLVMTypeRef number = LLVMInt64TypeInContext(r->context), type = LLVMFunctionType(number, NULL, 0, false);
    LLVMValueRef pointer = LLVMGetOperand(store, 0), any = LLVMGetNamedFunction(r->module, LLVM_ADDRESS);
    if (LLVMIsAConstant(pointer) && LLVMIsNull(pointer)) {
        store_number(builder, store, LLVMConstInt(number, 0, false));
        return;
    }
    any = any ? any : LLVMAddFunction(r->module, LLVM_ADDRESS, type);
    LLVMPositionBuilderBefore(builder, store);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(store));
    store_number(builder, store, LLVMBuildCall2(builder, type, any, NULL, 0, ""));
}

void llvm_number_pointers(llvm_reading *r) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(r->context);
    for (int stores = 0; stores < 2; stores++) { /* the copies first: what is stored then was made here */
        VEC(LLVMValueRef) found = {0};
        for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
            for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
                for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                    if (stores ? stores_pointer(v) && has_64_bits(r, LLVMGetOperand(v, 0)) : is_copied(v) && has_64_bits(r, v))
                        VEC_PUSH(r->arena, found, v);
        for (int i = 0; i < found.count; i++)
            if (stores)
                put_number(r, builder, found.at[i]);
            else
                copy_number(r, builder, found.at[i]);
    }
    LLVMDisposeBuilder(builder);
}
