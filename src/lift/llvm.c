/* LLVM IR -> the neutral form of module.h. The only file that knows LLVM, by its C API; built into tilec-lift.so. */
#include "lift/module.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NESTING = 40 };

typedef struct entry {
    const void *key;
    void *value;
} entry;

typedef struct reading {
    arena *arena;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetDataRef data;
    const lift_reading *how;
    entry *table; /* LLVM's values, types and blocks to ours */
    int capacity, count, global_count;
} reading;

static void **slot(reading *r, const void *key) {
    if (r->count * 2 >= r->capacity) {
        entry *old = r->table;
        int n = r->capacity;
        r->capacity = n ? n * 2 : 1024;
        r->table = NEW_ARRAY(r->arena, entry, r->capacity);
        r->count = 0;
        for (int i = 0; i < n; i++)
            if (old[i].key)
                *slot(r, old[i].key) = old[i].value;
    }
    size_t at = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20;
    for (;; at++) {
        entry *e = &r->table[at & (size_t)(r->capacity - 1)];
        if (e->key == key)
            return &e->value;
        if (!e->key) {
            e->key = key;
            r->count++;
            return &e->value;
        }
    }
}

static const char *printed_type(reading *r, LLVMTypeRef t) {
    char *text = LLVMPrintTypeToString(t);
    const char *copy = arena_strdup(r->arena, text);
    LLVMDisposeMessage(text);
    return copy;
}

/* As amdgcn numbers them. */
static int space_of(const reading *r, int space) {
    const lift_reading *h = r->how;
    if (space == h->generic)
        return 0;
    return space == h->device ? 1 : space == h->threadgroup ? 3 : space == h->constant ? 4 : space == h->thread ? 5 : space + 100;
}

static const lift_type *type_of(reading *r, LLVMTypeRef t, int nesting) {
    void **at = slot(r, t);
    if (*at)
        return *at;
    lift_type *x = NEW(r->arena, lift_type);
    *at = x;
    x->text = printed_type(r, t);
    if (nesting > MOST_NESTING) {
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
        x->element = type_of(r, LLVMGetElementType(t), nesting + 1);
        break;
    case LLVMArrayTypeKind:
        x->kind = LIFT_ARRAY;
        x->count = (int64_t)LLVMGetArrayLength2(t);
        x->element = type_of(r, LLVMGetElementType(t), nesting + 1);
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
            x->fields[i] = type_of(r, LLVMStructGetTypeAtIndex(t, i), nesting + 1);
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

static lift_value *value_of(reading *r, LLVMValueRef v, int nesting);

static const char *name_of(reading *r, LLVMValueRef v) {
    size_t n;
    const char *name = LLVMGetValueName2(v, &n);
    return arena_strndup(r->arena, name ? name : "", name ? n : 0);
}

static void add_elements(reading *r, lift_value *x, LLVMValueRef v, int nesting) {
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
        x->elements[i] = e ? value_of(r, e, nesting + 1) : NULL;
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
static void read_steps(reading *r, lift_value *x, LLVMValueRef v, int nesting) {
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
        x->steps[x->step_count++] = (lift_step){value_of(r, index, nesting + 1), stride, count};
    }
}

static lift_atomic atomic_of(LLVMAtomicRMWBinOp op) {
    switch (op) {
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
static void read_operation(reading *r, lift_value *x, LLVMValueRef v, int nesting) {
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
        x->operands[0] = value_of(r, LLVMGetOperand(v, 0), nesting + 1);
        read_steps(r, x, v, nesting);
        return;
    }
    if (x->op == LIFT_PHI)
        return; /* later */
    if (x->op == LIFT_CALL) {
        LLVMValueRef f = LLVMGetCalledValue(v);
        x->callee = LLVMIsAFunction(f) ? name_of(r, f) : NULL;
        if (LLVMIsAInlineAsm(f))
            x->text = "inline assembly";
        else if (!x->callee)
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
            x->blocks[i] = *slot(r, LLVMGetSuccessor(v, i));
        n = LLVMIsConditional(v) ? 1 : 0;
    }
    if (x->op == LIFT_UNREAD)
        n = 0;
    x->operand_count = n;
    x->operands = NEW_ARRAY(r->arena, lift_value *, n ? n : 1);
    for (int i = 0; i < n; i++)
        x->operands[i] = x->op == LIFT_BR ? value_of(r, LLVMGetCondition(v), nesting + 1)
                                          : value_of(r, LLVMGetOperand(v, (unsigned)i), nesting + 1);
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
        x->align = (int)LLVMGetAlignment(v);
        break;
    case LIFT_ALLOCA:
        x->pointee = type_of(r, LLVMGetAllocatedType(v), 0);
        x->align = (int)LLVMGetAlignment(v);
        break;
    case LIFT_ATOMIC:
        x->atomic = atomic_of(LLVMGetAtomicRMWBinOp(v));
        x->pointee = x->type;
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

static lift_value *value_of(reading *r, LLVMValueRef v, int nesting) {
    void **at = slot(r, v);
    if (*at)
        return *at;
    lift_value *x = NEW(r->arena, lift_value);
    *at = x; /* `at` may move from here on */
    x->id = -1;
    x->type = type_of(r, LLVMTypeOf(v), 0);
    x->name = LLVMIsAConstant(v) && !LLVMIsAGlobalValue(v) ? "" : name_of(r, v);
    LLVMBool lossy;
    if (nesting > MOST_NESTING) {
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
        x->pointee = type_of(r, LLVMGlobalGetValueType(v), 0);
        x->external = LLVMIsDeclaration(v);
        x->align = (int)LLVMGetAlignment(v);
        LLVMValueRef initial = LLVMGetInitializer(v);
        if (initial && LLVMIsGlobalConstant(v))
            x->initial = value_of(r, initial, nesting + 1);
        x->id = r->global_count++;
    } else if (LLVMIsAConstantExpr(v)) {
        x->kind = LIFT_INSTRUCTION;
        read_operation(r, x, v, nesting);
    } else if (LLVMIsAConstant(v) &&
               (x->type->kind == LIFT_VECTOR || x->type->kind == LIFT_ARRAY || x->type->kind == LIFT_STRUCT)) {
        add_elements(r, x, v, nesting);
    } else {
        x->kind = LIFT_OTHER_VALUE;
        x->text = LLVMIsAFunction(v) ? "a function's address" : "a value that is not read";
    }
    return x;
}

/* clang writes names relative to the folder that it runs in. */
static bool is_file(const char *path, const char *name, size_t length) {
    size_t n = strlen(path);
    return length && n >= length && !memcmp(path + n - length, name, length) &&
           (n == length || path[n - length - 1] == '/' || name[0] == '/');
}

/* Where it stands: the innermost place inside the source file. */
static void read_place(reading *r, lift_value *x, LLVMValueRef v) {
    LLVMMetadataRef at = LLVMInstructionGetDebugLoc(v), inner = at;
    while (at) {
        LLVMMetadataRef scope = LLVMDILocationGetScope(at), file = scope ? LLVMDIScopeGetFile(scope) : NULL;
        unsigned length = 0;
        const char *name = file ? LLVMDIFileGetFilename(file, &length) : "";
        bool own = !r->how->source || is_file(r->how->source, name, length);
        LLVMMetadataRef outer = LLVMDILocationGetInlinedAt(at);
        if (own || at == inner || !outer) {
            x->line = (int)LLVMDILocationGetLine(at);
            x->column = (int)LLVMDILocationGetColumn(at);
            x->file = arena_strndup(r->arena, name, length);
        }
        if (own || !outer)
            return;
        at = outer;
    }
}

static LLVMValueRef note_operand(reading *r, LLVMValueRef function, const char *name, unsigned *count, LLVMValueRef *operands,
                                 unsigned most) {
    unsigned kind = LLVMGetMDKindIDInContext(r->context, name, (unsigned)strlen(name));
    size_t n = 0;
    LLVMValueMetadataEntry *all = LLVMGlobalCopyAllMetadata(function, &n);
    LLVMValueRef found = NULL;
    for (unsigned i = 0; i < n && !found; i++)
        if (LLVMValueMetadataEntriesGetKind(all, i) == kind)
            found = LLVMMetadataAsValue(r->context, LLVMValueMetadataEntriesGetMetadata(all, i));
    LLVMDisposeValueMetadataEntries(all);
    *count = found ? LLVMGetMDNodeNumOperands(found) : 0;
    if (*count > most)
        *count = most;
    if (*count && LLVMGetMDNodeNumOperands(found) <= most)
        LLVMGetMDNodeOperands(found, operands);
    else
        *count = 0;
    return found;
}

static void read_notes(reading *r, lift_function *f, LLVMValueRef function) {
    enum { MOST = 256 };
    LLVMValueRef operands[MOST];
    unsigned n, length;
    f->notes = NEW_ARRAY(r->arena, lift_argument_note, f->arguments.count ? f->arguments.count : 1);
    static const char *const names[] = {"kernel_arg_type", "kernel_arg_base_type", "kernel_arg_type_qual"};
    for (int which = 0; which < 3; which++) {
        note_operand(r, function, names[which], &n, operands, MOST);
        for (unsigned i = 0; i < n && i < (unsigned)f->arguments.count; i++) {
            const char *text = operands[i] ? LLVMGetMDString(operands[i], &length) : NULL;
            const char *copy = text ? arena_strndup(r->arena, text, length) : NULL;
            lift_argument_note *note = &f->notes[i];
            *(which == 0 ? &note->type : which == 1 ? &note->base_type : &note->qualifiers) = copy;
        }
    }
    note_operand(r, function, "reqd_work_group_size", &n, operands, MOST);
    for (unsigned i = 0; i < n && i < 3; i++)
        if (operands[i] && LLVMIsAConstantInt(operands[i]))
            f->block_size[i] = (int64_t)LLVMConstIntGetZExtValue(operands[i]);
}

static void read_function(reading *r, lift_module *m, LLVMValueRef function) {
    enum { AMDGPU_KERNEL = 91, SPIR_KERNEL = 76, PTX_KERNEL = 71 };
    lift_function *f = NEW(r->arena, lift_function);
    unsigned convention = LLVMGetFunctionCallConv(function);
    f->name = f->host_name = name_of(r, function);
    f->is_kernel = convention == AMDGPU_KERNEL || convention == SPIR_KERNEL || convention == PTX_KERNEL;
    LLVMMetadataRef program = LLVMGetSubprogram(function);
    if (program) {
        unsigned length = 0;
        LLVMMetadataRef file = LLVMDIScopeGetFile(program);
        const char *name = file ? LLVMDIFileGetFilename(file, &length) : "";
        f->line = (int)LLVMDISubprogramGetLine(program);
        f->file = arena_strndup(r->arena, name, length);
    }
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMValueRef v = LLVMGetParam(function, i);
        lift_value *x = NEW(r->arena, lift_value);
        *x = (lift_value){
            .kind = LIFT_ARGUMENT, .type = type_of(r, LLVMTypeOf(v), 0), .name = name_of(r, v), .id = f->value_count++};
        for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
            x->uses++;
        *slot(r, v) = x;
        VEC_PUSH(r->arena, f->arguments, x);
    }
    read_notes(r, f, function);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        lift_block *x = NEW(r->arena, lift_block);
        x->id = f->blocks.count;
        x->name = arena_strdup(r->arena, LLVMGetBasicBlockName(b));
        *slot(r, b) = x;
        VEC_PUSH(r->arena, f->blocks, x);
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
            lift_value *i = NEW(r->arena, lift_value);
            *i = (lift_value){.kind = LIFT_INSTRUCTION,
                              .type = type_of(r, LLVMTypeOf(v), 0),
                              .name = name_of(r, v),
                              .id = f->value_count++,
                              .block = x};
            for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
                i->uses++;
            *slot(r, v) = i;
            VEC_PUSH(r->arena, x->items, i);
        }
    }
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        lift_block *x = *slot(r, b);
        int at = 0;
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
            lift_value *i = x->items.at[at++];
            read_place(r, i, v);
            read_operation(r, i, v, 0);
            if (i->callee && !strcmp(i->callee, f->name))
                f->calls_itself = true;
            if (i->op != LIFT_PHI)
                continue;
            unsigned n = LLVMCountIncoming(v);
            i->operand_count = i->block_count = (int)n;
            i->operands = NEW_ARRAY(r->arena, lift_value *, n);
            i->blocks = NEW_ARRAY(r->arena, lift_block *, n);
            for (unsigned j = 0; j < n; j++) {
                i->operands[j] = value_of(r, LLVMGetIncomingValue(v, j), 0);
                i->blocks[j] = *slot(r, LLVMGetIncomingBlock(v, j));
            }
        }
        lift_value *last = x->items.at[x->items.count - 1];
        if (last->op != LIFT_BR)
            continue;
        for (int i = 0; i < last->block_count; i++) {
            if (i && last->blocks[i] == last->blocks[0])
                continue;
            VEC_PUSH(r->arena, x->after, last->blocks[i]);
            VEC_PUSH(r->arena, last->blocks[i]->before, x);
        }
    }
    VEC_PUSH(r->arena, m->functions, f);
}

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
static void set_held(reading *r, bool own, bool held) {
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                if (LLVMIsALoadInst(v) || LLVMIsAStoreInst(v)) {
                    LLVMTypeRef pointer = LLVMTypeOf(LLVMGetOperand(v, LLVMIsALoadInst(v) ? 0 : 1));
                    if (own || (int)LLVMGetPointerAddressSpace(pointer) != r->how->thread)
                        LLVMSetVolatile(v, held);
                }
}

static void hold_accesses(reading *r, bool own) {
    set_held(r, own, true);
}

static bool holds_pointers(LLVMTypeRef t, int nesting) {
    if (nesting > MOST_NESTING)
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
static bool keeps_pointers(reading *r) {
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                if (LLVMGetInstructionOpcode(v) == LLVMAlloca && holds_pointers(LLVMGetAllocatedType(v), 0))
                    return true;
    return false;
}

/* clang says of every loop at -O0 that it must not be unrolled. */
static void forget_loop_notes(reading *r) {
    unsigned kind = LLVMGetMDKindIDInContext(r->context, "llvm.loop", 9);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
            if (last)
                LLVMSetMetadata(last, kind, NULL);
        }
}

static const char *run_passes(reading *r) {
    LLVMTargetMachineRef machine = machine_of(r->module);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(r->module, LIFT_PASSES_BEFORE, machine, options);
    if (!e && keeps_pointers(r)) {
        forget_loop_notes(r);
        hold_accesses(r, true); /* for this pass alone: those after it make registers of what is not held */
        e = LLVMRunPasses(r->module, LIFT_PASSES_BEFORE_UNROLLING, machine, options);
        set_held(r, true, false);
        if (!e)
            e = LLVMRunPasses(r->module, LIFT_UNROLL_PASSES, machine, options);
    }
    if (!e) { /* constants meet the indices of small structs, which then are registers too */
        hold_accesses(r, false);
        e = LLVMRunPasses(r->module, LIFT_PASSES_BETWEEN, machine, options);
    }
    if (!e) {
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

/* Functions other than the one wanted go first: the passes need not look at them. */
static void keep_only(reading *r, const char *kernel) {
    LLVMValueRef notes = LLVMGetNamedGlobal(r->module, "llvm.global.annotations"); /* it holds on to all of them */
    if (notes)
        LLVMDeleteGlobal(notes);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (!LLVMIsDeclaration(f) && strcmp(name, kernel) && LLVMGetLinkage(f) != LLVMInternalLinkage)
            LLVMSetLinkage(f, LLVMInternalLinkage); /* globaldce then takes what nothing calls */
    }
}

static void hush(LLVMDiagnosticInfoRef info, void *context) {
    (void)info;
    (void)context;
}

__attribute__((visibility("default"))) lift_read_function tilec_lift_read;
lift_module *tilec_lift_read(int interface, arena *a, const char *text, size_t length, const lift_reading *how,
                             const char **error) {
    const char *kernel = how->kernel;
    if (interface != LIFT_READ_INTERFACE) {
        *error = "tilec-lift.so is of another version of tilec";
        return NULL;
    }
    reading r = {.arena = a, .how = how, .context = LLVMContextCreate()};
    LLVMContextSetDiagnosticHandler(r.context, hush, NULL);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, length, "module");
    char *message = NULL;
    lift_module *m = NULL;
    if (LLVMParseIRInContext(r.context, buffer, &r.module, &message)) {
        *error = arena_strdup(a, message ? message : "it is no LLVM IR");
        LLVMDisposeMessage(message);
    } else if (LLVMVerifyModule(r.module, LLVMReturnStatusAction, &message)) {
        *error = arena_printf(a, "it is no valid LLVM IR: %s", message);
        LLVMDisposeMessage(message);
    } else {
        LLVMDisposeMessage(message);
        if (kernel)
            keep_only(&r, kernel);
        const char *why = run_passes(&r);
        if (why) {
            *error = arena_printf(a, "LLVM's passes failed: %s", why);
        } else {
            unsigned major, minor, patch;
            LLVMGetVersion(&major, &minor, &patch);
            m = NEW(a, lift_module);
            m->version = (int)major;
            r.data = LLVMGetModuleDataLayout(r.module);
            for (LLVMValueRef f = LLVMGetFirstFunction(r.module); f; f = LLVMGetNextFunction(f))
                if (!LLVMIsDeclaration(f) && (!kernel || !strcmp(name_of(&r, f), kernel)))
                    read_function(&r, m, f);
        }
    }
    if (r.module)
        LLVMDisposeModule(r.module);
    LLVMContextDispose(r.context);
    return m;
}
