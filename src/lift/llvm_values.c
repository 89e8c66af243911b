/* LLVM's types, values and operations in the neutral form of module.h. */
#include "lift/llvm.h"
#include <string.h>

void **llvm_slot(llvm_reading *r, const void *key) {
    if (r->count * 2 >= r->capacity) {
        llvm_entry *old = r->table;
        int n = r->capacity;
        r->capacity = n ? n * 2 : 1024;
        r->table = NEW_ARRAY(r->arena, llvm_entry, r->capacity);
        r->count = 0;
        for (int i = 0; i < n; i++)
            if (old[i].key)
                *llvm_slot(r, old[i].key) = old[i].value;
    }
    size_t at = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20;
    for (;; at++) {
        llvm_entry *e = &r->table[at & (size_t)(r->capacity - 1)];
        if (e->key == key)
            return &e->value;
        if (!e->key) {
            e->key = key;
            r->count++;
            return &e->value;
        }
    }
}

static const char *printed_type(llvm_reading *r, LLVMTypeRef t) {
    char *text = LLVMPrintTypeToString(t);
    const char *copy = arena_strdup(r->arena, text);
    LLVMDisposeMessage(text);
    return copy;
}

/* As amdgcn numbers them. */
static int space_of(const llvm_reading *r, int space) {
    const lift_reading *h = r->how;
    if (space == h->generic)
        return 0;
    return space == h->device ? 1 : space == h->threadgroup ? 3 : space == h->constant ? 4 : space == h->thread ? 5 : space + 100;
}

const lift_type *llvm_type(llvm_reading *r, LLVMTypeRef t, int nesting) {
    void **at = llvm_slot(r, t);
    if (*at)
        return *at;
    lift_type *x = NEW(r->arena, lift_type);
    *at = x;
    x->text = printed_type(r, t);
    if (nesting > LLVM_MOST_NESTING) {
        x->kind = LIFT_OTHER;
        return x;
    }
    switch (LLVMGetTypeKind(t)) {
    case LLVMVoidTypeKind: x->kind = LIFT_VOID; break;
    case LLVMIntegerTypeKind:
        x->kind = LIFT_INTEGER;
        x->bits = (int)LLVMGetIntTypeWidth(t);
        break;
    case LLVMHalfTypeKind: x->kind = LIFT_HALF; break;
    case LLVMBFloatTypeKind: x->kind = LIFT_BFLOAT; break;
    case LLVMFloatTypeKind: x->kind = LIFT_FLOAT; break;
    case LLVMDoubleTypeKind: x->kind = LIFT_DOUBLE; break;
    case LLVMPointerTypeKind:
        x->kind = LIFT_POINTER;
        x->space = space_of(r, (int)LLVMGetPointerAddressSpace(t));
        break;
    case LLVMVectorTypeKind:
        x->kind = LIFT_VECTOR;
        x->count = (int64_t)LLVMGetVectorSize(t);
        x->element = llvm_type(r, LLVMGetElementType(t), nesting + 1);
        break;
    case LLVMArrayTypeKind:
        x->kind = LIFT_ARRAY;
        x->count = (int64_t)LLVMGetArrayLength2(t);
        x->element = llvm_type(r, LLVMGetElementType(t), nesting + 1);
        break;
    case LLVMStructTypeKind: {
        if (LLVMIsOpaqueStruct(t)) {
            x->kind = LIFT_OTHER;
            break;
        }
        unsigned n = LLVMCountStructElementTypes(t);
        x->kind = LIFT_STRUCT;
        x->count = n;
        x->fields = NEW_ARRAY(r->arena, const lift_type *, n);
        x->offsets = NEW_ARRAY(r->arena, int64_t, n);
        for (unsigned i = 0; i < n; i++)
            x->fields[i] = llvm_type(r, LLVMStructGetTypeAtIndex(t, i), nesting + 1);
        for (unsigned i = 0; i < n; i++)
            x->offsets[i] = (int64_t)LLVMOffsetOfElement(r->data, t, i);
        break;
    }
    default: x->kind = LIFT_OTHER; break;
    }
    if (x->kind != LIFT_VOID && x->kind != LIFT_OTHER && LLVMTypeIsSized(t))
        x->size = (int64_t)LLVMABISizeOfType(r->data, t);
    return x;
}

const char *llvm_name(llvm_reading *r, LLVMValueRef v) {
    size_t n;
    const char *name = LLVMGetValueName2(v, &n);
    return arena_strndup(r->arena, name ? name : "", name ? n : 0);
}

static void add_elements(llvm_reading *r, lift_value *x, LLVMValueRef v, int nesting) {
    const lift_type *t = x->type;
    if (t->count > 4096) { /* a table: its elements are read from where it lies, never from here */
        x->kind = LIFT_OTHER_VALUE;
        x->text = "a large constant";
        return;
    }
    x->kind = LIFT_AGGREGATE;
    x->element_count = (int)t->count;
    x->elements = NEW_ARRAY(r->arena, lift_value *, t->count);
    for (int i = 0; i < t->count; i++) {
        LLVMValueRef e = LLVMGetAggregateElement(v, (unsigned)i);
        x->elements[i] = e ? llvm_value(r, e, nesting + 1) : NULL;
        if (!x->elements[i]) {
            x->kind = LIFT_OTHER_VALUE;
            x->text = "a constant of an unknown form";
            return;
        }
    }
}

static const struct {
    LLVMOpcode from;
    lift_opcode to;
} opcodes[] = {{LLVMAdd, LIFT_ADD},
               {LLVMSub, LIFT_SUB},
               {LLVMMul, LIFT_MUL},
               {LLVMSDiv, LIFT_SDIV},
               {LLVMUDiv, LIFT_UDIV},
               {LLVMSRem, LIFT_SREM},
               {LLVMURem, LIFT_UREM},
               {LLVMShl, LIFT_SHL},
               {LLVMLShr, LIFT_LSHR},
               {LLVMAShr, LIFT_ASHR},
               {LLVMAnd, LIFT_AND},
               {LLVMOr, LIFT_OR},
               {LLVMXor, LIFT_XOR},
               {LLVMFAdd, LIFT_FADD},
               {LLVMFSub, LIFT_FSUB},
               {LLVMFMul, LIFT_FMUL},
               {LLVMFDiv, LIFT_FDIV},
               {LLVMFRem, LIFT_FREM},
               {LLVMFNeg, LIFT_FNEG},
               {LLVMICmp, LIFT_ICMP},
               {LLVMFCmp, LIFT_FCMP},
               {LLVMSelect, LIFT_SELECT},
               {LLVMTrunc, LIFT_TRUNC},
               {LLVMZExt, LIFT_ZEXT},
               {LLVMSExt, LIFT_SEXT},
               {LLVMFPTrunc, LIFT_FPTRUNC},
               {LLVMFPExt, LIFT_FPEXT},
               {LLVMFPToSI, LIFT_FPTOSI},
               {LLVMFPToUI, LIFT_FPTOUI},
               {LLVMSIToFP, LIFT_SITOFP},
               {LLVMUIToFP, LIFT_UITOFP},
               {LLVMBitCast, LIFT_BITCAST},
               {LLVMAddrSpaceCast, LIFT_ADDRSPACECAST},
               {LLVMPtrToInt, LIFT_PTRTOINT},
               {LLVMIntToPtr, LIFT_INTTOPTR},
               {LLVMGetElementPtr, LIFT_GEP},
               {LLVMLoad, LIFT_LOAD},
               {LLVMStore, LIFT_STORE},
               {LLVMAlloca, LIFT_ALLOCA},
               {LLVMCall, LIFT_CALL},
               {LLVMAtomicRMW, LIFT_ATOMIC},
               {LLVMAtomicCmpXchg, LIFT_CMPXCHG},
               {LLVMFence, LIFT_FENCE},
               {LLVMExtractElement, LIFT_EXTRACTELEMENT},
               {LLVMInsertElement, LIFT_INSERTELEMENT},
               {LLVMShuffleVector, LIFT_SHUFFLEVECTOR},
               {LLVMExtractValue, LIFT_EXTRACTVALUE},
               {LLVMInsertValue, LIFT_INSERTVALUE},
               {LLVMFreeze, LIFT_FREEZE},
               {LLVMPHI, LIFT_PHI},
               {LLVMBr, LIFT_BR},
               {LLVMRet, LIFT_RET},
               {LLVMUnreachable, LIFT_UNREACHABLE}};

static const char *opcode_name(LLVMOpcode op) {
    switch (op) {
    case LLVMSwitch: return "switch";
    case LLVMIndirectBr: return "indirectbr";
    case LLVMInvoke: return "invoke";
    case LLVMVAArg: return "va_arg";
    default: return "an instruction that is not read";
    }
}

/* A pointer's steps in bytes. */
static void read_steps(llvm_reading *r, lift_value *x, LLVMValueRef v, int nesting) {
    LLVMTypeRef t = LLVMGetGEPSourceElementType(v);
    int n = LLVMGetNumOperands(v);
    x->steps = NEW_ARRAY(r->arena, lift_step, n);
    for (int i = 1; i < n; i++) {
        LLVMValueRef index = LLVMGetOperand(v, (unsigned)i);
        int64_t stride, count = 0;
        if (i == 1) {
            stride = (int64_t)LLVMABISizeOfType(r->data, t);
        } else if (LLVMGetTypeKind(t) == LLVMStructTypeKind) {
            unsigned field = LLVMIsAConstantInt(index) ? (unsigned)LLVMConstIntGetZExtValue(index) : 0;
            x->offset += (int64_t)LLVMOffsetOfElement(r->data, t, field);
            t = LLVMStructGetTypeAtIndex(t, field);
            continue;
        } else {
            bool is_array = LLVMGetTypeKind(t) == LLVMArrayTypeKind;
            count = is_array ? (int64_t)LLVMGetArrayLength2(t) : (int64_t)LLVMGetVectorSize(t);
            t = LLVMGetElementType(t);
            stride = (int64_t)LLVMABISizeOfType(r->data, t);
        }
        if (LLVMIsAConstantInt(index) && LLVMConstIntGetSExtValue(index) == 0)
            continue;
        x->steps[x->step_count++] = (lift_step){llvm_value(r, index, nesting + 1), stride, count};
    }
}

/* By its text where LLVM's C interface of some version has no name for it. */
static lift_atomic atomic_of(LLVMValueRef v) {
    char *text = LLVMPrintValueToString(v);
    bool inc = strstr(text, " uinc_wrap ptr"), dec = strstr(text, " udec_wrap ptr"),
         unnamed = strstr(text, " usub_cond ptr") || strstr(text, " usub_sat ptr");
    LLVMDisposeMessage(text);
    if (inc || dec || unnamed)
        return inc ? LIFT_ATOMIC_INC_WRAP : dec ? LIFT_ATOMIC_DEC_WRAP : LIFT_ATOMIC_OTHER;
    switch (LLVMGetAtomicRMWBinOp(v)) {
    case LLVMAtomicRMWBinOpXchg: return LIFT_XCHG;
    case LLVMAtomicRMWBinOpAdd: return LIFT_ATOMIC_ADD;
    case LLVMAtomicRMWBinOpSub: return LIFT_ATOMIC_SUB;
    case LLVMAtomicRMWBinOpAnd: return LIFT_ATOMIC_AND;
    case LLVMAtomicRMWBinOpOr: return LIFT_ATOMIC_OR;
    case LLVMAtomicRMWBinOpXor: return LIFT_ATOMIC_XOR;
    case LLVMAtomicRMWBinOpMax: return LIFT_ATOMIC_MAX;
    case LLVMAtomicRMWBinOpMin: return LIFT_ATOMIC_MIN;
    case LLVMAtomicRMWBinOpUMax: return LIFT_ATOMIC_UMAX;
    case LLVMAtomicRMWBinOpUMin: return LIFT_ATOMIC_UMIN;
    case LLVMAtomicRMWBinOpFAdd: return LIFT_ATOMIC_FADD;
    case LLVMAtomicRMWBinOpFMax: return LIFT_ATOMIC_FMAX;
    case LLVMAtomicRMWBinOpFMin: return LIFT_ATOMIC_FMIN;
    default: return LIFT_ATOMIC_OTHER;
    }
}

/* What the operation is; its operands follow in `read_operands`, when every value of the function is known. */
void llvm_operation(llvm_reading *r, lift_value *x, LLVMValueRef v, int nesting) {
    bool expression = LLVMIsAConstantExpr(v) != NULL;
    LLVMOpcode op = expression ? LLVMGetConstOpcode(v) : LLVMGetInstructionOpcode(v);
    x->op = LIFT_UNREAD;
    x->text = opcode_name(op);
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (opcodes[i].from == op)
            x->op = opcodes[i].to;
    if (x->op != LIFT_UNREAD)
        x->text = NULL;
    int n = LLVMGetNumOperands(v);
    if (x->op == LIFT_GEP) {
        x->operand_count = 1;
        x->operands = NEW_ARRAY(r->arena, lift_value *, 1);
        x->operands[0] = llvm_value(r, LLVMGetOperand(v, 0), nesting + 1);
        read_steps(r, x, v, nesting);
        return;
    }
    if (x->op == LIFT_PHI)
        return; /* later */
    if (x->op == LIFT_CALL) {
        LLVMValueRef f = LLVMGetCalledValue(v);
        x->callee = LLVMIsAFunction(f) ? llvm_name(r, f) : NULL;
        if (LLVMIsAInlineAsm(f)) {
            size_t length;
            const char *words = LLVMGetInlineAsmAsmString(f, &length);
            x->text = "inline assembly";
            x->assembly = arena_strndup(r->arena, words, length);
        } else if (!x->callee)
            x->text = "a call through a pointer";
        else if (!LLVMIsDeclaration(f))
            x->text = "a call that no inlining ends: the function calls itself";
        n = (int)LLVMGetNumArgOperands(v);
    }
    if (x->op == LIFT_BR) {
        unsigned s = LLVMGetNumSuccessors(v);
        x->block_count = (int)s;
        x->blocks = NEW_ARRAY(r->arena, lift_block *, s);
        for (unsigned i = 0; i < s; i++)
            x->blocks[i] = *llvm_slot(r, LLVMGetSuccessor(v, i));
        n = LLVMIsConditional(v) ? 1 : 0;
    }
    if (x->op == LIFT_UNREAD)
        n = 0;
    x->operand_count = n;
    x->operands = NEW_ARRAY(r->arena, lift_value *, n ? n : 1);
    for (int i = 0; i < n; i++)
        x->operands[i] = x->op == LIFT_BR ? llvm_value(r, LLVMGetCondition(v), nesting + 1)
                                          : llvm_value(r, LLVMGetOperand(v, (unsigned)i), nesting + 1);
    switch (x->op) {
    case LIFT_ADD:
    case LIFT_SUB:
    case LIFT_MUL:
    case LIFT_SHL:
        if (!expression) {
            x->no_signed_wrap = LLVMGetNSW(v);
            x->no_unsigned_wrap = LLVMGetNUW(v);
        }
        break;
    case LIFT_ICMP: x->predicate = (lift_predicate)(LLVMGetICmpPredicate(v) - LLVMIntEQ) + LIFT_EQ; break;
    case LIFT_FCMP: x->predicate = (lift_predicate)(LLVMGetFCmpPredicate(v) - LLVMRealPredicateFalse) + LIFT_FALSE; break;
    case LIFT_LOAD:
    case LIFT_STORE:
        x->pointee = x->op == LIFT_LOAD ? x->type : x->operands[0]->type;
        x->is_atomic = LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic;
        x->ordered = LLVMGetOrdering(v) > LLVMAtomicOrderingMonotonic;
        x->align = (int)LLVMGetAlignment(v);
        break;
    case LIFT_ALLOCA:
        x->pointee = llvm_type(r, LLVMGetAllocatedType(v), 0);
        x->align = (int)LLVMGetAlignment(v);
        break;
    case LIFT_ATOMIC:
        x->atomic = atomic_of(v);
        x->pointee = x->type;
        x->ordered = LLVMGetOrdering(v) != LLVMAtomicOrderingMonotonic;
        break;
    case LIFT_CMPXCHG:
        x->pointee = x->operands[1]->type;
        x->ordered = LLVMGetCmpXchgSuccessOrdering(v) != LLVMAtomicOrderingMonotonic ||
                     LLVMGetCmpXchgFailureOrdering(v) != LLVMAtomicOrderingMonotonic;
        break;
    case LIFT_SHUFFLEVECTOR:
        x->position_count = (int)LLVMGetNumMaskElements(v);
        x->positions = NEW_ARRAY(r->arena, int, x->position_count);
        for (int i = 0; i < x->position_count; i++)
            x->positions[i] = LLVMGetMaskValue(v, (unsigned)i);
        break;
    case LIFT_EXTRACTVALUE:
    case LIFT_INSERTVALUE:
        x->position_count = (int)LLVMGetNumIndices(v);
        x->positions = NEW_ARRAY(r->arena, int, x->position_count);
        for (int i = 0; i < x->position_count; i++)
            x->positions[i] = (int)LLVMGetIndices(v)[i];
        break;
    default: break;
    }
    if (x->op == LIFT_ATOMIC || x->op == LIFT_CMPXCHG || x->op == LIFT_FENCE) {
        char *text = LLVMPrintValueToString(v), *at = strstr(text, "syncscope(\"");
        x->scope = at ? arena_strndup(r->arena, at + 11, strcspn(at + 11, "\"")) : "";
        LLVMDisposeMessage(text);
    }
}

lift_value *llvm_value(llvm_reading *r, LLVMValueRef v, int nesting) {
    void **at = llvm_slot(r, v);
    if (*at)
        return *at;
    lift_value *x = NEW(r->arena, lift_value);
    *at = x; /* `at` may move from here on */
    x->id = -1;
    x->type = llvm_type(r, LLVMTypeOf(v), 0);
    x->name = LLVMIsAConstant(v) && !LLVMIsAGlobalValue(v) ? "" : llvm_name(r, v);
    LLVMBool lossy;
    if (nesting > LLVM_MOST_NESTING) {
        x->kind = LIFT_OTHER_VALUE;
        x->text = "a constant nested too deeply";
    } else if (LLVMIsAConstantInt(v)) {
        x->kind = LIFT_CONSTANT_INTEGER;
        x->number = x->type->bits <= 64 ? LLVMConstIntGetSExtValue(v) : 0;
    } else if (LLVMIsAConstantFP(v)) {
        x->kind = LIFT_CONSTANT_FLOAT;
        x->real = LLVMConstRealGetDouble(v, &lossy);
    } else if (LLVMIsUndef(v) || LLVMIsPoison(v)) {
        x->kind = LIFT_UNDEFINED;
    } else if (LLVMIsAConstantPointerNull(v)) {
        x->kind = LIFT_ZERO;
    } else if (LLVMIsAGlobalVariable(v)) {
        x->kind = LIFT_GLOBAL;
        x->pointee = llvm_type(r, LLVMGlobalGetValueType(v), 0);
        x->external = LLVMIsDeclaration(v);
        x->align = (int)LLVMGetAlignment(v);
        LLVMValueRef initial = LLVMGetInitializer(v);
        if (initial && LLVMIsGlobalConstant(v))
            x->initial = llvm_value(r, initial, nesting + 1);
        else if (initial && !LLVMIsNull(initial) && !LLVMIsUndef(initial))
            x->begins = llvm_value(r, initial, nesting + 1);
        x->id = r->global_count++;
    } else if (LLVMIsAConstantExpr(v)) {
        x->kind = LIFT_INSTRUCTION;
        llvm_operation(r, x, v, nesting);
    } else if (LLVMIsAConstant(v) &&
               (x->type->kind == LIFT_VECTOR || x->type->kind == LIFT_ARRAY || x->type->kind == LIFT_STRUCT)) {
        add_elements(r, x, v, nesting);
    } else {
        x->kind = LIFT_OTHER_VALUE;
        x->text = LLVMIsAFunction(v) ? "a function's address" : "a value that is not read";
    }
    return x;
}
