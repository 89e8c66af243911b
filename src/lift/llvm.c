/* A module of LLVM IR in the neutral form of module.h: its functions, their notes and places, and the plugin's one function. */
#include "lift/llvm.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <string.h>

/* clang writes names relative to the folder that it runs in. */
static bool is_file(const char *path, const char *name, size_t length) {
    size_t n = strlen(path);
    return length && n >= length && !memcmp(path + n - length, name, length) &&
           (n == length || path[n - length - 1] == '/' || name[0] == '/');
}

/* Where it stands: the innermost place inside the source file. */
static void read_place(llvm_reading *r, lift_value *x, LLVMValueRef v) {
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

static LLVMValueRef note_operand(llvm_reading *r, LLVMValueRef function, const char *name, unsigned *count,
                                 LLVMValueRef *operands, unsigned most) {
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

static void read_notes(llvm_reading *r, lift_function *f, LLVMValueRef function) {
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

static void note_users(llvm_reading *r, lift_function *f) {
    for (int i = 0; i < f->blocks.count; i++)
        for (int j = 0; j < f->blocks.at[i]->items.count; j++) {
            lift_value *v = f->blocks.at[i]->items.at[j];
            bool outside = false;
            for (int n = 0; n < v->operand_count; n++) {
                lift_value *x = v->operands[n];
                if (x->kind != LIFT_ARGUMENT && (x->kind != LIFT_INSTRUCTION || x->id < 0))
                    outside = outside || x->kind == LIFT_GLOBAL || x->kind == LIFT_INSTRUCTION;
                else if (!x->users.count || x->users.at[x->users.count - 1] != v)
                    VEC_PUSH(r->arena, x->users, v);
            }
            if (outside)
                VEC_PUSH(r->arena, f->outside, v);
        }
}

bool llvm_is_kernel(LLVMValueRef function) {
    enum { AMDGPU_KERNEL = 91, SPIR_KERNEL = 76, PTX_KERNEL = 71 };
    unsigned convention = LLVMGetFunctionCallConv(function);
    return convention == AMDGPU_KERNEL || convention == SPIR_KERNEL || convention == PTX_KERNEL;
}

static void read_function(llvm_reading *r, lift_module *m, LLVMValueRef function) {
    lift_function *f = NEW(r->arena, lift_function);
    f->name = f->host_name = llvm_name(r, function);
    f->is_kernel = llvm_is_kernel(function);
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
            .kind = LIFT_ARGUMENT, .type = llvm_type(r, LLVMTypeOf(v), 0), .name = llvm_name(r, v), .id = f->value_count++};
        for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
            x->uses++;
        *llvm_slot(r, v) = x;
        VEC_PUSH(r->arena, f->arguments, x);
    }
    read_notes(r, f, function);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        lift_block *x = NEW(r->arena, lift_block);
        x->id = f->blocks.count;
        x->name = arena_strdup(r->arena, LLVMGetBasicBlockName(b));
        *llvm_slot(r, b) = x;
        VEC_PUSH(r->arena, f->blocks, x);
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
            lift_value *i = NEW(r->arena, lift_value);
            *i = (lift_value){.kind = LIFT_INSTRUCTION,
                              .type = llvm_type(r, LLVMTypeOf(v), 0),
                              .name = llvm_name(r, v),
                              .id = f->value_count++,
                              .block = x};
            for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
                i->uses++;
            *llvm_slot(r, v) = i;
            VEC_PUSH(r->arena, x->items, i);
        }
    }
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        lift_block *x = *llvm_slot(r, b);
        int at = 0;
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
            lift_value *i = x->items.at[at++];
            read_place(r, i, v);
            llvm_operation(r, i, v, 0);
            if (i->callee && !strcmp(i->callee, f->name))
                f->calls_itself = true;
            if (i->op != LIFT_PHI)
                continue;
            unsigned n = LLVMCountIncoming(v);
            i->operand_count = i->block_count = (int)n;
            i->operands = NEW_ARRAY(r->arena, lift_value *, n);
            i->blocks = NEW_ARRAY(r->arena, lift_block *, n);
            for (unsigned j = 0; j < n; j++) {
                i->operands[j] = llvm_value(r, LLVMGetIncomingValue(v, j), 0);
                i->blocks[j] = *llvm_slot(r, LLVMGetIncomingBlock(v, j));
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
    note_users(r, f);
    VEC_PUSH(r->arena, m->functions, f);
}

static void hush(LLVMDiagnosticInfoRef info, void *context) {
    (void)info;
    (void)context;
}

/* Reading a module ends the process where its debug information is of today's version and something else is broken; the check that follows here says so instead. */
static void set_options(void) {
    static const char *const words[] = {"tilec", "-disable-auto-upgrade-debug-info"};
    static bool done;
    if (!done)
        LLVMParseCommandLineOptions(2, words, NULL);
    done = true;
}

__attribute__((visibility("default"))) lift_read_function tilec_lift_read;
lift_module *tilec_lift_read(int interface, arena *a, const char *text, size_t length, const lift_reading *how,
                             const char **error) {
    if (interface != LIFT_READ_INTERFACE) {
        *error = "tilec-lift.so is of another version of tilec";
        return NULL;
    }
    set_options();
    llvm_reading r = {.arena = a, .how = how, .context = LLVMContextCreate()};
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
        if (how->kernel_count)
            llvm_keep_wanted(&r);
        const char *why = llvm_run_passes(&r);
        if (why) {
            *error = arena_printf(a, "LLVM's passes failed: %s", why);
        } else {
            unsigned major, minor, patch;
            LLVMGetVersion(&major, &minor, &patch);
            m = NEW(a, lift_module);
            m->version = (int)major;
            r.data = LLVMGetModuleDataLayout(r.module);
            for (LLVMValueRef f = LLVMGetFirstFunction(r.module); f; f = LLVMGetNextFunction(f))
                if (!LLVMIsDeclaration(f) && llvm_is_wanted(&r, f))
                    read_function(&r, m, f);
        }
    }
    if (r.module)
        LLVMDisposeModule(r.module);
    LLVMContextDispose(r.context);
    return m;
}
