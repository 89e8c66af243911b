/* Calls through pointers to functions become calls of the functions themselves. A pointer to a function is its number: 1 and up for the functions whose address the
 * text takes, 0 for null, -1 for what is no function that is known; what chooses between pointers chooses between their numbers. A call through one is a switch over
 * the functions that it may be. Places that must not be reached are marked before the passes take what leads there for impossible. */
#include "lift/llvm.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { MOST_FUNCTIONS = 64, MOST_NUMBERED = 256, MOST_CHOICES = 24 };

typedef struct function_numbers {
    llvm_reading *r;
    LLVMTypeRef number;                     /* i32 */
    LLVMValueRef functions[MOST_FUNCTIONS]; /* NULL: none of this number is left */
    int count;
    LLVMValueRef pointers[MOST_NUMBERED], numbers[MOST_NUMBERED];
    int numbered;
    bool failed;
} function_numbers;

/* ---- places that must not be reached ---- */

static bool never_returns(LLVMValueRef call) {
    unsigned kind = LLVMGetEnumAttributeKindForName("noreturn", 8);
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMIsAFunction(callee) && (LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, kind) ||
                                       LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind));
}

static LLVMValueRef declared(llvm_reading *r, const char *name, LLVMTypeRef type) {
    LLVMValueRef f = LLVMGetNamedFunction(r->module, name);
    return f ? f : LLVMAddFunction(r->module, name, type);
}

static LLVMTypeRef nothing_to_nothing(llvm_reading *r) {
    return LLVMFunctionType(LLVMVoidTypeInContext(r->context), NULL, 0, false);
}

/* A trap, or the like: a function that is elsewhere and gives back nothing. */
static bool is_a_stop(LLVMValueRef v) {
    return LLVMIsACallInst(v) && never_returns(v) && LLVMIsDeclaration(LLVMGetCalledValue(v)) && !LLVMGetFirstUse(v);
}

void llvm_mark_unreachable(llvm_reading *r) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(r->context);
    LLVMTypeRef type = nothing_to_nothing(r);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b), next; v; v = next) {
                next = LLVMGetNextInstruction(v);
                bool stops = is_a_stop(v);
                if (!stops && !LLVMIsAUnreachableInst(v))
                    continue;
                LLVMPositionBuilderBefore(builder, v);
                LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(v));
                LLVMBuildCall2(builder, type, declared(r, LLVM_REACHED, type), NULL, 0, "");
                if (stops)
                    LLVMInstructionEraseFromParent(v);
                if (stops && next && LLVMIsAUnreachableInst(next))
                    break; /* told already */
            }
    LLVMDisposeBuilder(builder);
}

/* ---- numbers of functions ---- */

static bool has_address_taken(LLVMValueRef f) {
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != f)
            return true;
        for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
            if (LLVMGetOperand(user, i) == f)
                return true;
    }
    return false;
}

/* A function has its number for good, in whatever round of inlining it comes up. */
static void number_functions(function_numbers *n) {
    llvm_reading *r = n->r;
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        bool known = false;
        for (int i = 0; i < r->functions.count; i++)
            known |= !strcmp(r->functions.at[i], name);
        if (known || LLVMIsDeclaration(f) || llvm_is_kernel(f) || r->functions.count == MOST_FUNCTIONS || !has_address_taken(f))
            continue;
        VEC_PUSH(r->arena, r->functions, arena_strndup(r->arena, name, length));
        LLVMSetLinkage(f, LLVMExternalLinkage); /* an argument may be it, though nothing mentions it any more */
    }
    n->count = r->functions.count;
    for (int i = 0; i < n->count; i++)
        n->functions[i] = LLVMGetNamedFunction(r->module, r->functions.at[i]);
}

static LLVMValueRef constant(const function_numbers *n, int x) {
    return LLVMConstInt(n->number, (unsigned long long)(long long)x, true);
}

static LLVMOpcode opcode_of(LLVMValueRef v) {
    return LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) : 0;
}

/* Casts do not change which function it is, nor does the way through an integer that promotion makes of two pointer types of one variable. */
static LLVMValueRef without_casts(LLVMValueRef p) {
    for (;;) {
        LLVMOpcode op = opcode_of(p);
        if (op == LLVMIntToPtr && opcode_of(LLVMGetOperand(p, 0)) == LLVMPtrToInt)
            p = LLVMGetOperand(p, 0);
        else if (op != LLVMAddrSpaceCast && op != LLVMBitCast)
            return p;
        p = LLVMGetOperand(p, 0);
    }
}

static void keep_number(function_numbers *n, LLVMValueRef pointer, LLVMValueRef number) {
    if (n->numbered == MOST_NUMBERED) {
        n->failed = true;
        return;
    }
    n->pointers[n->numbered] = pointer;
    n->numbers[n->numbered++] = number;
}

/* The launch says which function an argument is: of the name of this one the numbers can be read. */
static LLVMValueRef number_of_argument(function_numbers *n, LLVMBuilderRef builder, LLVMValueRef argument) {
    llvm_reading *r = n->r;
    LLVMTypeRef pointer = LLVMTypeOf(argument), type = LLVMFunctionType(n->number, &pointer, 1, false);
    const char *name = LLVM_FUNCTION_NUMBER;
    for (int i = 0; i < n->count; i++)
        name = arena_printf(r->arena, "%s%s%s", name, i ? " " : "", r->functions.at[i]);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetParamParent(argument));
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
    LLVMSetCurrentDebugLocation2(builder, NULL);
    return LLVMBuildCall2(builder, type, declared(r, name, type), &argument, 1, "");
}

static LLVMValueRef number_of(function_numbers *n, LLVMBuilderRef builder, LLVMValueRef pointer, int nesting) {
    LLVMValueRef p = without_casts(pointer), x = NULL;
    for (int i = 0; i < n->numbered; i++)
        if (n->pointers[i] == p)
            return n->numbers[i];
    if (nesting > MOST_CHOICES || LLVMGetTypeKind(LLVMTypeOf(p)) != LLVMPointerTypeKind) {
        n->failed = true;
        return constant(n, -1);
    }
    if (LLVMIsAArgument(p)) {
        x = number_of_argument(n, builder, p);
    } else if (LLVMIsAPHINode(p)) {
        unsigned count = LLVMCountIncoming(p);
        LLVMPositionBuilderBefore(builder, p);
        x = LLVMBuildPhi(builder, n->number, "function");
        keep_number(n, p, x); /* loops lead back here */
        for (unsigned i = 0; i < count; i++) {
            LLVMValueRef from = number_of(n, builder, LLVMGetIncomingValue(p, i), nesting + 1);
            LLVMBasicBlockRef block = LLVMGetIncomingBlock(p, i);
            LLVMAddIncoming(x, &from, &block, 1);
        }
        return x;
    } else if (LLVMIsASelectInst(p)) {
        LLVMValueRef a = number_of(n, builder, LLVMGetOperand(p, 1), nesting + 1);
        LLVMValueRef b = number_of(n, builder, LLVMGetOperand(p, 2), nesting + 1);
        LLVMPositionBuilderBefore(builder, p);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(p));
        x = LLVMBuildSelect(builder, LLVMGetOperand(p, 0), a, b, "function");
    } else if (LLVMIsConstant(p)) {
        int is = LLVMIsNull(p) ? 0 : -1;
        for (int i = 0; i < n->count; i++)
            is = n->functions[i] == p ? i + 1 : is;
        n->failed |= is < 0 && LLVMIsAFunction(p); /* it is elsewhere */
        x = constant(n, is);
    } else { /* what memory holds, or a function gives that is not known */
        n->failed = true;
        return constant(n, -1);
    }
    keep_number(n, p, x);
    return x;
}

/* Whether it is called, or made of functions. */
static bool is_of_functions(LLVMValueRef pointer, int nesting) {
    LLVMValueRef p = without_casts(pointer);
    if (LLVMIsAFunction(p))
        return true;
    if (nesting > 4 || LLVMIsAConstant(p))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(p); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == p)
            return true;
        if ((LLVMIsAPHINode(user) || LLVMIsASelectInst(user) || LLVMIsAAddrSpaceCastInst(user)) &&
            is_of_functions(user, nesting + 1))
            return true;
    }
    if (LLVMIsAPHINode(p))
        for (unsigned i = 0; i < LLVMCountIncoming(p); i++)
            if (LLVMIsAFunction(without_casts(LLVMGetIncomingValue(p, i))))
                return true;
    return LLVMIsASelectInst(p) &&
           (LLVMIsAFunction(without_casts(LLVMGetOperand(p, 1))) || LLVMIsAFunction(without_casts(LLVMGetOperand(p, 2))));
}

/* ---- calls ---- */

static void copy_attributes(LLVMValueRef from, LLVMValueRef to, unsigned count, bool to_call) {
    LLVMAttributeRef all[32];
    for (unsigned i = 0; i <= count; i++) { /* of what it gives, and of its arguments */
        unsigned attributes = LLVMGetAttributeCountAtIndex(from, i);
        if (attributes > sizeof all / sizeof *all)
            continue;
        LLVMGetAttributesAtIndex(from, i, all);
        for (unsigned j = 0; j < attributes; j++) {
            if (to_call)
                LLVMAddCallSiteAttribute(to, i, all[j]);
            else
                LLVMAddAttributeAtIndex(to, i, all[j]);
        }
    }
}

/* A function of its own with the switch, for calls of this type; inlining puts it in their place. */
static LLVMValueRef dispatcher(function_numbers *n, LLVMBuilderRef builder, LLVMTypeRef type) {
    llvm_reading *r = n->r;
    enum { MOST_ARGUMENTS = 32 };
    LLVMTypeRef types[MOST_ARGUMENTS + 1], result = LLVMGetReturnType(type), stop = nothing_to_nothing(r);
    unsigned count = LLVMCountParamTypes(type);
    if (count > MOST_ARGUMENTS || LLVMIsFunctionVarArg(type))
        return NULL;
    types[0] = n->number;
    LLVMGetParamTypes(type, types + 1);
    LLVMValueRef f = LLVMAddFunction(r->module, "tilec.call", LLVMFunctionType(result, types, count + 1, false)),
                 arguments[MOST_ARGUMENTS];
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(r->context, LLVMGetEnumAttributeKindForName("alwaysinline", 12), 0));
    for (unsigned i = 0; i < count; i++)
        arguments[i] = LLVMGetParam(f, i + 1);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(r->context, f, ""),
                      none = LLVMAppendBasicBlockInContext(r->context, f, "none");
    LLVMSetCurrentDebugLocation2(builder, NULL);
    LLVMPositionBuilderAtEnd(builder, none);
    LLVMBuildCall2(builder, stop, declared(r, LLVM_NO_FUNCTION, stop), NULL, 0, "");
    if (LLVMGetTypeKind(result) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(builder);
    else
        LLVMBuildRet(builder, LLVMConstNull(result)); /* of no account: nothing is right any more */
    LLVMPositionBuilderAtEnd(builder, entry);
    LLVMValueRef which = LLVMBuildSwitch(builder, LLVMGetParam(f, 0), none, (unsigned)n->count);
    for (int i = 0; i < n->count; i++) {
        if (!n->functions[i] || LLVMGlobalGetValueType(n->functions[i]) != type)
            continue;
        LLVMBasicBlockRef b = LLVMAppendBasicBlockInContext(r->context, f, "one");
        LLVMAddCase(which, constant(n, i + 1), b);
        LLVMPositionBuilderAtEnd(builder, b);
        LLVMValueRef call = LLVMBuildCall2(builder, type, n->functions[i], arguments, count, "");
        LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(n->functions[i]));
        copy_attributes(n->functions[i], call, count, true);
        if (LLVMGetTypeKind(result) == LLVMVoidTypeKind)
            LLVMBuildRetVoid(builder);
        else
            LLVMBuildRet(builder, call);
    }
    return f;
}

static bool settle_call(function_numbers *n, LLVMBuilderRef builder, LLVMValueRef call) {
    enum { MOST_ARGUMENTS = 32 };
    LLVMValueRef number = number_of(n, builder, LLVMGetCalledValue(call), 0), arguments[MOST_ARGUMENTS + 1];
    LLVMTypeRef type = LLVMGetCalledFunctionType(call);
    unsigned count = LLVMGetNumArgOperands(call);
    LLVMValueRef f = n->failed || count > MOST_ARGUMENTS ? NULL : dispatcher(n, builder, type);
    if (!f)
        return false;
    arguments[0] = number;
    for (unsigned i = 0; i < count; i++)
        arguments[i + 1] = LLVMGetOperand(call, i);
    LLVMPositionBuilderBefore(builder, call);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef now = LLVMBuildCall2(builder, LLVMGlobalGetValueType(f), f, arguments, count + 1, "");
    LLVMReplaceAllUsesWith(call, now);
    LLVMInstructionEraseFromParent(call);
    return true;
}

static bool settle_comparison(function_numbers *n, LLVMBuilderRef builder, LLVMValueRef v) {
    LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    LLVMIntPredicate p = LLVMGetICmpPredicate(v);
    if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMPointerTypeKind || (p != LLVMIntEQ && p != LLVMIntNE) ||
        (!is_of_functions(x, 0) && !is_of_functions(y, 0)))
        return false;
    LLVMValueRef a = number_of(n, builder, x, 0), b = number_of(n, builder, y, 0);
    if (n->failed)
        return false;
    LLVMPositionBuilderBefore(builder, v);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(v));
    LLVMReplaceAllUsesWith(v, LLVMBuildICmp(builder, p, a, b, ""));
    LLVMInstructionEraseFromParent(v);
    return true;
}

bool llvm_settle_calls(llvm_reading *r) {
    function_numbers *n = NEW(r->arena, function_numbers);
    *n = (function_numbers){.r = r, .number = LLVMInt32TypeInContext(r->context)};
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(r->context);
    bool any = false;
    number_functions(n);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f)) {
        if (!llvm_is_wanted(r, f))
            continue;
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b), next; v; v = next) {
                next = LLVMGetNextInstruction(v);
                n->failed = false;
                if (LLVMIsACallInst(v)) {
                    LLVMValueRef callee = LLVMGetCalledValue(v);
                    if (!LLVMIsAFunction(callee) && !LLVMIsAInlineAsm(callee))
                        any |= settle_call(n, builder, v);
                } else if (LLVMIsAICmpInst(v)) {
                    any |= settle_comparison(n, builder, v);
                }
            }
    }
    LLVMDisposeBuilder(builder);
    return any;
}
