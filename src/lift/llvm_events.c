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
        if (names(f, "async_work_group_") && LLVMGetTypeKind(LLVMGetReturnType(LLVMGlobalGetValueType(f))) == LLVMPointerTypeKind)
            return LLVMGetReturnType(LLVMGlobalGetValueType(f));
    LLVMTypeRef t = LLVMIsAAllocaInst(address) ? LLVMGetAllocatedType(address) : NULL;
    while (t && LLVMGetTypeKind(t) == LLVMArrayTypeKind)
        t = LLVMGetElementType(t);
    return t && LLVMGetTypeKind(t) == LLVMPointerTypeKind ? t : NULL;
}

/* `events + i` where i is not constant: how many events the array has, and i; 0: it is something else. */
static unsigned chosen_of(LLVMValueRef address, LLVMTypeRef event, LLVMValueRef *array, LLVMValueRef *index) {
    if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumOperands(address) != 2 || LLVMGetGEPSourceElementType(address) != event ||
        LLVMIsAConstantInt(LLVMGetOperand(address, 1)))
        return 0;
    *index = LLVMGetOperand(address, 1);
    *array = LLVMGetOperand(address, 0);
    while (LLVMIsAGetElementPtrInst(*array)) { /* the array as a pointer to its first element */
        for (int i = 1; i < LLVMGetNumOperands(*array); i++)
            if (!LLVMIsAConstantInt(LLVMGetOperand(*array, (unsigned)i)) ||
                LLVMConstIntGetZExtValue(LLVMGetOperand(*array, (unsigned)i)))
                return 0;
        *array = LLVMGetOperand(*array, 0);
    }
    LLVMTypeRef t = LLVMIsAAllocaInst(*array) ? LLVMGetAllocatedType(*array) : NULL;
    if (!t || LLVMGetTypeKind(t) != LLVMArrayTypeKind || LLVMGetElementType(t) != event || LLVMGetArrayLength2(t) > MOST_EVENTS)
        return 0;
    return (unsigned)LLVMGetArrayLength2(t);
}

static LLVMValueRef event_at(llvm_reading *r, LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef array, unsigned i) {
    LLVMValueRef at = LLVMConstInt(LLVMInt32TypeInContext(r->context), i, false);
    return LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, t, array, &at, 1, ""), "event");
}

/* Element by element, so that the array becomes registers. */
static LLVMValueRef chosen_event(llvm_reading *r, LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef array, unsigned count,
                                 LLVMValueRef index) {
    LLVMValueRef event = event_at(r, b, t, array, count - 1);
    for (unsigned i = count - 1; i-- > 0;) {
        LLVMValueRef this = LLVMBuildICmp(b, LLVMIntEQ, index, LLVMConstInt(LLVMTypeOf(index), i, false), "");
        event = LLVMBuildSelect(b, this, event_at(r, b, t, array, i), event, "event");
    }
    return event;
}

static void replace(llvm_reading *r, LLVMBuilderRef b, LLVMValueRef call) {
    LLVMValueRef count = LLVMGetOperand(call, 0), address = LLVMGetOperand(call, 1);
    while (LLVMIsAAddrSpaceCastInst(address) || LLVMIsABitCastInst(address))
        address = LLVMGetOperand(address, 0);
    LLVMTypeRef t = event_type(r, address);
    long long n = LLVMIsAConstantInt(count) ? LLVMConstIntGetSExtValue(count) : -1;
    if (LLVMGetTypeKind(LLVMTypeOf(address)) != LLVMPointerTypeKind || LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind ||
        !t || n < 0 || n > MOST_EVENTS) /* named where it is met */
        return;
    LLVMTypeRef types[MOST_EVENTS];
    LLVMValueRef events[MOST_EVENTS];
    LLVMPositionBuilderBefore(b, call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef array, index;
    unsigned of = n == 1 ? chosen_of(address, t, &array, &index) : 0;
    for (int i = 0; i < n; i++) {
        types[i] = t;
        events[i] = of ? chosen_event(r, b, t, array, of, index) : event_at(r, b, t, address, (unsigned)i);
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
