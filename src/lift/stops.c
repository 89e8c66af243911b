/* Places that must not be reached, which are accesses of memory without an element, and functions that the launch gives, which are numbers. */
#include "lift/lifter.h"
#include <string.h>

static bool function_number(lifter *l, const lift_value *v) {
    const lift_value *argument = v->operands[0];
    while (argument->kind == LIFT_INSTRUCTION && (argument->op == LIFT_ADDRSPACECAST || argument->op == LIFT_BITCAST))
        argument = argument->operands[0];
    const char *name = argument->name, *coerced = strstr(name, ".coerce"), *list = v->callee + strlen(LLVM_FUNCTION_NUMBER);
    if (coerced && !coerced[strlen(".coerce")])
        name = arena_strndup(l->arena, name, (size_t)(coerced - name));
    lifted x = launch_scalar(l, lift_name(l, name, "function"), v->type, true);
    if (lift_stopped(l))
        return true;
    text_buffer text = {0};
    int number = 0;
    for (const char *c = list; *c; c += strspn(c, " ")) {
        size_t n = strcspn(c, " ");
        text_add(&text, "%s%d is `%.*s`", number ? ", " : "", number + 1, (int)n, c);
        number++;
        c += n;
    }
    VEC_PUSH(l->arena, l->out->assumed,
             arena_printf(l->arena, "`%s` is a function by its number: %s%sany other is no function that is known", name,
                          text_get(&text), number ? ", " : ""));
    text_free(&text);
    lift_set(l, v, x);
    return true;
}

bool lift_settled_call(lifter *l, const lift_value *v) {
    static const lift_type byte = {.kind = LIFT_INTEGER, .bits = 8, .size = 1, .text = "i8"};
    bool reached = !strcmp(v->callee, LLVM_REACHED), none = !strcmp(v->callee, LLVM_NO_FUNCTION);
    if (!strncmp(v->callee, LLVM_FUNCTION_NUMBER, strlen(LLVM_FUNCTION_NUMBER)) && v->operand_count == 1)
        return function_number(l, v);
    if (!strcmp(v->callee, LLVM_ADDRESS)) {
        l->out->opaque = "the address of an array, which it puts into memory";
        lift_any_value(l, v, "address");
        return true;
    }
    if (reached || none)
        lift_load(l, v, &byte, lift_nowhere(l, v, reached ? "unreachable" : "no_function"));
    return reached || none;
}
