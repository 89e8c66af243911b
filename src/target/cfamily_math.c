/* exp, log, ...: the straight-line Kernel IR of kernel/math.c printed as functions of the prelude. */
#include "kernel/math.h"
#include "target/cfamily.h"

/* What only some lanes need is skipped when none does. */
static void open_rare(cfamily *p, const math_function *math, int lanes) {
    for (int i = 0; i < MATH_RARE_VALUES; i++) {
        const kernel_stmt *s = math->rare[i];
        const char *name = cfamily_unique(p, s->name), *type = p->dialect->register_type(p, s->value->type, lanes);
        cfamily_line(p, "%s %s = %s;", type, name, cfamily_zero(p, s->value->type, lanes));
        cfamily_bind(p, s, name);
    }
    const char *common = cfamily_value(p, math->common).text;
    if (lanes > 1)
        common = cfamily_call(p, HELPER_ALL, ELEMENT_BOOL, ELEMENT_BOOL, lanes, "%s", common);
    cfamily_line(p, "if (!%s) {", common);
    p->indent++;
}

/* exp, log, ..: kernel/math.c describes them; here they become functions of the same kind. */
const char *cfamily_math(cfamily *p, kernel_op op, int lanes) {
    const char *name = lanes > 1 ? arena_printf(p->arena, "f32x%d_%s", lanes, kernel_op_table[op].name)
                                 : arena_printf(p->arena, "f32_%s", kernel_op_table[op].name);
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    math_function math;
    if (!math_describe(p->arena, op, lanes, &math))
        return name;
    text_buffer text = {0}, *out = p->out;
    const kernel_ir *kernel = p->kernel;
    cfamily_names names = p->names, cell_names = p->cell_names;
    const char *suffix = p->suffix;
    int indent = p->indent;
    p->out = &text;
    p->kernel = math.ir;
    p->names = p->cell_names = (cfamily_names){0};
    p->suffix = NULL;
    p->indent = 1;
    const char *v = p->dialect->register_type(p, ELEMENT_F32, lanes);
    cfamily_bind(p, math.argument, cfamily_unique(p, "x"));
    for (int i = 0; i < math.body->items.count; i++) {
        kernel_stmt *s = math.body->items.at[i];
        if (math.common && i == math.rare_first)
            open_rare(p, &math, lanes);
        const char *value = cfamily_statement_value(p, s->value).text;
        const cfamily_binding *declared = cfamily_find(p, s);
        if (declared) {
            cfamily_line(p, "%s = %s;", declared->text, value);
        } else {
            const char *let = cfamily_unique(p, s->name);
            cfamily_line(p, "const %s %s = %s;", p->dialect->register_type(p, s->value->type, lanes), let, value);
            cfamily_bind(p, s, let);
        }
        if (math.common && i == math.rare_last - 1) {
            p->indent--;
            cfamily_line(p, "}");
        }
    }
    cfamily_line(p, "return %s;", cfamily_statement_value(p, math.result).text);
    p->out = out;
    p->kernel = kernel;
    p->names = names;
    p->cell_names = cell_names;
    p->suffix = suffix;
    p->indent = indent;
    text_add(&p->prelude, "%s%s %s(%s x)\n{\n%s}\n", p->dialect->function_head, v, name, v, text_get(&text));
    text_free(&text);
    return name;
}
