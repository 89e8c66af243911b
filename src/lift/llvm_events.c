/* wait_group_events takes the address of its events. Before promotion to registers it becomes a call that takes the events themselves, so that they need not lie in
 * memory: "tilec.wait_events". */
#include "lift/llvm.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { MOST_EVENTS = 64 };

static bool names(LLVMValueRef f, const char *what) {
    size_t n;
    const char *name = f ? LLVMGetValueName2(f, &n) : "";
    return strstr(name, what) != NULL;
}

/* What an event is: what such a copy gives, else what lies at the address. */
static LLVMTypeRef event_type(llvm_reading *r, LLVMValueRef address) {
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        if (names(f, "async_work_group_"))
            return LLVMGetReturnType(LLVMGlobalGetValueType(f));
    LLVMTypeRef t = LLVMIsAAllocaInst(address) ? LLVMGetAllocatedType(address) : NULL;
    while (t && LLVMGetTypeKind(t) == LLVMArrayTypeKind)
        t = LLVMGetElementType(t);
    return t;
}

static void replace(llvm_reading *r, LLVMBuilderRef b, LLVMValueRef call) {
    LLVMValueRef count = LLVMGetOperand(call, 0), address = LLVMGetOperand(call, 1);
    while (LLVMIsAAddrSpaceCastInst(address) || LLVMIsABitCastInst(address))
        address = LLVMGetOperand(address, 0);
    LLVMTypeRef t = event_type(r, address);
    long long n = LLVMIsAConstantInt(count) ? LLVMConstIntGetSExtValue(count) : -1;
    if (!t || n < 0 || n > MOST_EVENTS) /* named where it is met */
        return;
    LLVMTypeRef types[MOST_EVENTS];
    LLVMValueRef events[MOST_EVENTS];
    LLVMPositionBuilderBefore(b, call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(call));
    for (int i = 0; i < n; i++) {
        LLVMValueRef at = LLVMConstInt(LLVMInt32TypeInContext(r->context), (unsigned long long)i, false);
        types[i] = t;
        events[i] = LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, t, address, &at, 1, ""), "event");
    }
    LLVMTypeRef wait = LLVMFunctionType(LLVMVoidTypeInContext(r->context), types, (unsigned)n, false);
    char name[32] = "tilec.wait_events.00";
    name[sizeof "tilec.wait_events." - 1] += (char)(n / 10);
    name[sizeof "tilec.wait_events.0" - 1] += (char)(n % 10);
    LLVMValueRef f = LLVMGetNamedFunction(r->module, name);
    if (!f)
        f = LLVMAddFunction(r->module, name, wait);
    LLVMValueRef made = LLVMBuildCall2(b, wait, f, events, (unsigned)n, "");
    unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
    LLVMAddCallSiteAttribute(made, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(r->context, kind, 0));
    LLVMInstructionEraseFromParent(call);
}

void llvm_find_events(llvm_reading *r) {
    LLVMBuilderRef b = NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef v = LLVMGetFirstInstruction(block), next; v; v = next) {
                next = LLVMGetNextInstruction(v);
                if (!LLVMIsACallInst(v) || LLVMGetNumArgOperands(v) != 2 || !names(LLVMGetCalledValue(v), "wait_group_events"))
                    continue;
                b = b ? b : LLVMCreateBuilderInContext(r->context);
                replace(r, b, v);
            }
    if (b)
        LLVMDisposeBuilder(b);
}
