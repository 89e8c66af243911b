/* Copies of structs are made field by field before anything is promoted to registers: what lies between fields has no value that anybody set, and is not copied. Which bytes
 * are fields is said by the note that clang leaves at the copy ("tbaa.struct"), or by the type of the constant that is copied. */
#include "lift/llvm.h"
#include <string.h>

enum { MOST_RANGES = 256 };

typedef struct ranges {
    int count;
    unsigned long long first[MOST_RANGES], size[MOST_RANGES];
    bool fits;
} ranges;

/* Members of unions lie over one another. */
static void add(ranges *r, unsigned long long first, unsigned long long size) {
    unsigned long long end = first + size;
    int kept = 0;
    for (int i = 0; i < r->count; i++) {
        unsigned long long own = r->first[i] + r->size[i];
        if (first <= own && r->first[i] <= end) {
            first = r->first[i] < first ? r->first[i] : first;
            end = own > end ? own : end;
        } else {
            r->first[kept] = r->first[i];
            r->size[kept++] = r->size[i];
        }
    }
    r->count = kept;
    if (r->count == MOST_RANGES) {
        r->fits = false;
        return;
    }
    r->first[r->count] = first;
    r->size[r->count++] = end - first;
}

/* !{i64 offset, i64 size, !type, ...} */
static bool noted_fields(llvm_reading *r, LLVMValueRef call, unsigned long long bytes, ranges *out) {
    LLVMValueRef note = LLVMGetMetadata(call, LLVMGetMDKindIDInContext(r->context, "tbaa.struct", 11)), operands[3 * MOST_RANGES];
    unsigned n = note ? LLVMGetMDNodeNumOperands(note) : 0;
    if (!n || n % 3 || n > 3 * MOST_RANGES)
        return false;
    LLVMGetMDNodeOperands(note, operands);
    for (unsigned i = 0; i < n; i += 3) {
        if (!operands[i] || !operands[i + 1] || !LLVMIsAConstantInt(operands[i]) || !LLVMIsAConstantInt(operands[i + 1]))
            return false;
        unsigned long long first = LLVMConstIntGetZExtValue(operands[i]), size = LLVMConstIntGetZExtValue(operands[i + 1]);
        if (first > bytes || size > bytes - first)
            return false;
        add(out, first, size);
    }
    return true;
}

static void fields_of(llvm_reading *r, LLVMTypeRef t, unsigned long long at, ranges *out, int nesting) {
    if (nesting > LLVM_MOST_NESTING || !out->fits) {
        out->fits = false;
    } else if (LLVMGetTypeKind(t) == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(t); i++)
            fields_of(r, LLVMStructGetTypeAtIndex(t, i), at + LLVMOffsetOfElement(LLVMGetModuleDataLayout(r->module), t, i), out,
                      nesting + 1);
    } else if (LLVMGetTypeKind(t) == LLVMArrayTypeKind && LLVMGetTypeKind(LLVMGetElementType(t)) == LLVMStructTypeKind) {
        unsigned long long size = LLVMABISizeOfType(LLVMGetModuleDataLayout(r->module), LLVMGetElementType(t));
        for (unsigned long long i = 0; i < LLVMGetArrayLength2(t) && out->fits; i++)
            fields_of(r, LLVMGetElementType(t), at + i * size, out, nesting + 1);
    } else {
        add(out, at, LLVMStoreSizeOfType(LLVMGetModuleDataLayout(r->module), t));
    }
}

static bool constant_fields(llvm_reading *r, LLVMValueRef from, unsigned long long bytes, ranges *out) {
    while (LLVMIsAConstantExpr(from) && LLVMGetConstOpcode(from) == LLVMAddrSpaceCast)
        from = LLVMGetOperand(from, 0);
    if (!LLVMIsAGlobalVariable(from) || !LLVMIsGlobalConstant(from))
        return false;
    LLVMTypeRef t = LLVMGlobalGetValueType(from);
    if (LLVMABISizeOfType(LLVMGetModuleDataLayout(r->module), t) != bytes)
        return false;
    fields_of(r, t, 0, out, 0);
    return true;
}

static void split(llvm_reading *r, LLVMBuilderRef b, LLVMValueRef call, const ranges *of) {
    LLVMValueRef to = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1);
    LLVMTypeRef byte = LLVMInt8TypeInContext(r->context), number = LLVMTypeOf(LLVMGetOperand(call, 2));
    LLVMPositionBuilderBefore(b, call); /* which takes the call's place in the source, too */
    for (int i = 0; i < of->count; i++) {
        LLVMValueRef at = LLVMConstInt(number, of->first[i], false);
        LLVMBuildMemCpy(b, LLVMBuildGEP2(b, byte, to, &at, 1, ""), 1, LLVMBuildGEP2(b, byte, from, &at, 1, ""), 1,
                        LLVMConstInt(number, of->size[i], false));
    }
    LLVMInstructionEraseFromParent(call);
}

void llvm_split_structs(llvm_reading *r) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(r->context);
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef v = LLVMGetFirstInstruction(block), next; v; v = next) {
                next = LLVMGetNextInstruction(v);
                size_t n;
                if (!LLVMIsACallInst(v) || strncmp(LLVMGetValueName2(LLVMGetCalledValue(v), &n), "llvm.memcpy.", 12) ||
                    !LLVMIsAConstantInt(LLVMGetOperand(v, 2)))
                    continue;
                unsigned long long bytes = LLVMConstIntGetZExtValue(LLVMGetOperand(v, 2));
                ranges noted = {.fits = true}, typed = {.fits = true};
                const ranges *of = noted_fields(r, v, bytes, &noted)                         ? &noted
                                   : constant_fields(r, LLVMGetOperand(v, 1), bytes, &typed) ? &typed
                                                                                             : NULL;
                if (of && of->fits && of->count && !(of->count == 1 && of->size[0] == bytes))
                    split(r, b, v, of);
            }
    LLVMDisposeBuilder(b);
}
