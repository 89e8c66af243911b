/* Calls of what the device does itself: ids, barriers, subgroup operations. What is not known is named, never guessed. */
#include "lift/lifter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lift_plain_name(const char *callee, char *name, size_t size) {
    name[0] = 0;
    if (!strncmp(callee, "_Z", 2)) {
        const char *c = callee + 2;
        size_t n = strtoul(c, (char **)&c, 10);
        if (n > 0 && n <= strlen(c))
            snprintf(name, size, "%.*s", (int)n, c);
        return;
    }
    const char *from = callee;
    bool typed = true;
    if (!strncmp(callee, "llvm.", 5) || !strncmp(callee, "cuda.", 5)) {
        from = callee + 5;
        typed = callee[0] == 'l';
    } else if (!strncmp(callee, "air.", 4)) {
        from = callee + 4;
    } else {
        typed = false;
    }
    size_t n = strlen(from);
    for (const char *dot = strchr(from, '.'); typed && dot;
         dot = strchr(dot + 1, '.')) { /* up to the first type: .f32 .v4f32 .i32 .p1 .u .s */
        const char *t = dot + 1;
        if (*t == 'v' && t[1] >= '0' && t[1] <= '9')
            t += 1 + strspn(t + 1, "0123456789");
        bool type = (strchr("fip", *t) && *t && t[1] >= '0' && t[1] <= '9') || !strncmp(t, "bf16", 4) ||
                    ((*t == 'u' || *t == 's') && (t[1] == 0 || t[1] == '.' || (t[1] >= '0' && t[1] <= '9')));
        if (type) {
            n = (size_t)(dot - from);
            break;
        }
    }
    snprintf(name, size, "%.*s", (int)n, from);
}

/* ---- numbers of the launch ---- */

static const struct {
    const char *name, *what;
    int direction;
} numbers[] = {{"get_global_id", "global_id", -1},
               {"get_local_id", "local_id", -1},
               {"get_group_id", "group_id", -1},
               {"get_local_size", "local_size", -1},
               {"get_enqueued_local_size", "local_size", -1},
               {"get_global_size", "global_size", -1},
               {"get_num_groups", "num_groups", -1},
               {"get_global_offset", "global_offset", -1},
               {"get_global_linear_id", "global_linear_id", 0},
               {"get_local_linear_id", "local_linear_id", 0},
               {"get_sub_group_local_id", "lane", 0},
               {"get_sub_group_id", "subgroup", 0},
               {"get_sub_group_size", "subgroup_size", 0},
               {"get_max_sub_group_size", "subgroup_size", 0},
               {"get_num_sub_groups", "num_subgroups", 0},
               {"tid.x", "local_id", 0},
               {"tid.y", "local_id", 1},
               {"tid.z", "local_id", 2},
               {"ctaid.x", "group_id", 0},
               {"ctaid.y", "group_id", 1},
               {"ctaid.z", "group_id", 2},
               {"ntid.x", "local_size", 0},
               {"ntid.y", "local_size", 1},
               {"ntid.z", "local_size", 2},
               {"nctaid.x", "num_groups", 0},
               {"nctaid.y", "num_groups", 1},
               {"nctaid.z", "num_groups", 2},
               {"laneid", "lane", 0},
               {"warpsize", "subgroup_size", 0},
               {"nvvm.read.ptx.sreg.tid.x", "local_id", 0},
               {"nvvm.read.ptx.sreg.tid.y", "local_id", 1},
               {"nvvm.read.ptx.sreg.tid.z", "local_id", 2},
               {"nvvm.read.ptx.sreg.ctaid.x", "group_id", 0},
               {"nvvm.read.ptx.sreg.ctaid.y", "group_id", 1},
               {"nvvm.read.ptx.sreg.ctaid.z", "group_id", 2},
               {"nvvm.read.ptx.sreg.ntid.x", "local_size", 0},
               {"nvvm.read.ptx.sreg.ntid.y", "local_size", 1},
               {"nvvm.read.ptx.sreg.ntid.z", "local_size", 2},
               {"nvvm.read.ptx.sreg.nctaid.x", "num_groups", 0},
               {"nvvm.read.ptx.sreg.nctaid.y", "num_groups", 1},
               {"nvvm.read.ptx.sreg.nctaid.z", "num_groups", 2},
               {"nvvm.read.ptx.sreg.laneid", "lane", 0}};

static int find_number(const char *name) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(numbers[i].name, name))
            return (int)i;
    return -1;
}

static int direction_of(const lift_value *v, int i) {
    if (numbers[i].direction >= 0)
        return numbers[i].direction;
    bool constant = v->operand_count == 1 && v->operands[0]->kind == LIFT_CONSTANT_INTEGER;
    return constant && v->operands[0]->number >= 0 && v->operands[0]->number <= 3 ? (int)v->operands[0]->number : -1;
}

/* Which elements of a position are asked for. */
static void uses_parts(const lift_value *argument, bool uses[3]) {
    for (int i = 0; i < argument->users.count; i++) {
        const lift_value *v = argument->users.at[i];
        int64_t part = -1;
        if (v->op == LIFT_EXTRACTELEMENT && v->operands[1]->kind == LIFT_CONSTANT_INTEGER)
            part = v->operands[1]->number;
        if (v->op == LIFT_EXTRACTVALUE && v->position_count)
            part = v->positions[0];
        for (int d = 1; d < 3 && d < argument->type->count; d++)
            uses[d] = uses[d] || part < 0 || part == d;
    }
}

void lift_uses_dimensions(const lift_function *f, bool uses[3]) {
    char name[64];
    uses[0] = true;
    for (int i = 0; i < f->blocks.count; i++)
        for (int j = 0; j < f->blocks.at[i]->items.count; j++) {
            const lift_value *v = f->blocks.at[i]->items.at[j];
            if (v->op != LIFT_CALL || !v->callee)
                continue;
            lift_plain_name(v->callee, name, sizeof name);
            int n = find_number(name), d = n < 0 ? -1 : direction_of(v, n);
            if (d > 0 && d < 3)
                uses[d] = true;
            if (n >= 0 && strstr(numbers[n].what, "linear"))
                uses[1] = uses[2] = true;
        }
    for (int i = 0; i < f->arguments.count; i++) {
        const char *b = f->notes[i].builtin;
        const lift_type *t = f->arguments.at[i]->type;
        bool position = b && (strstr(b, "position") || strstr(b, "_per_"));
        if (position && (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY))
            uses_parts(f->arguments.at[i], uses);
    }
}

static bool launch_call(lifter *l, const lift_value *v, const char *name) {
    int n = find_number(name);
    if (!strcmp(name, "get_work_dim")) {
        int dims = l->facts->uses[2] ? 3 : l->facts->uses[1] ? 2 : 1;
        l->env[v->id] = lifted_number(l, v->type->bits, dims);
        return true;
    }
    if (n < 0)
        return false;
    int d = direction_of(v, n);
    if (d < 0) {
        lift_fail(l, "E1128", v, "`%s` of a direction that is not constant", name);
        return true;
    }
    bool size = strstr(numbers[n].what, "size") || strstr(numbers[n].what, "num_");
    l->env[v->id] =
        d > 2 ? lifted_number(l, v->type->bits, size) : lifted_index(v->type->bits, launch_number(l, numbers[n].what, d));
    return true;
}

/* ---- barriers and fences ---- */

level_kind lift_subgroup_scope(const kernel_ir *k) {
    for (int i = 0; i < k->levels.count; i++)
        if (k->levels.at[i].kind == LEVEL_SUBGROUP)
            return LEVEL_SUBGROUP;
    return LEVEL_BLOCK;
}

static void barrier(lifter *l, level_kind scope, unsigned spaces) {
    if (l->k->levels.count < 2 || (scope == LEVEL_SUBGROUP && l->block[0] * l->block[1] * l->block[2] == 1))
        return;
    kernel_stmt *s = kernel_append(l->k, l->at, KSTMT_BARRIER, lift_span(l, l->now));
    s->scope = scope == LEVEL_SUBGROUP ? lift_subgroup_scope(l->k) : scope;
    s->spaces = spaces;
    l->statements++;
}

enum { BOTH = 1u << SPACE_GLOBAL | 1u << SPACE_SHARED };

static void fence(lifter *l, level_kind scope, unsigned spaces) {
    if (l->k->levels.count < 2 || !spaces)
        return;
    kernel_stmt *s = kernel_append(l->k, l->at, KSTMT_FENCE, lift_span(l, l->now));
    s->scope = scope;
    s->spaces = spaces;
    l->statements++;
}

void lift_fence(lifter *l, level_kind scope) {
    fence(l, scope, BOTH);
}

bool lift_constant_operand(lifter *l, const lift_value *v, int i, int64_t *n) {
    if (i >= v->operand_count)
        return false;
    lifted x = lift_operand(l, v->operands[i]);
    return !lift_stopped(l) && lift_is_number(&x, n);
}

/* Which memory a flag names: OpenCL 1 local, 2 global; Metal 1 device, 2 threadgroup. Of flags that are not constant nothing is certain: such a barrier
 * orders no memory, like one without flags, but all threads meet at it. */
static bool flags_of(lifter *l, const lift_value *v, bool metal, unsigned *spaces) {
    int64_t flags;
    if (!lift_constant_operand(l, v, 0, &flags))
        flags = 0;
    *spaces = 0;
    if (flags & (metal ? 2 : 1))
        *spaces |= 1u << SPACE_SHARED;
    if (flags & (metal ? 1 : 2))
        *spaces |= 1u << SPACE_GLOBAL;
    return !lift_stopped(l);
}

/* OpenCL C's memory_order and memory_scope */
enum { CL_ORDER_RELAXED = 0, CL_SCOPE_WORK_GROUP = 1, CL_SCOPE_DEVICE = 2, CL_SCOPE_ALL_DEVICES = 3 };

/* A barrier of a scope narrower than the work-group, or of one that is not constant, makes all threads meet, but orders none of their accesses. */
static bool orders_group(lifter *l, const lift_value *v) {
    int64_t scope = CL_SCOPE_WORK_GROUP;
    if (v->operand_count > 1 && !lift_constant_operand(l, v, 1, &scope))
        return false;
    return scope >= CL_SCOPE_WORK_GROUP && scope <= CL_SCOPE_ALL_DEVICES;
}

/* atomic_work_item_fence(flags, order, scope): within a work-group or wider; narrower ones order nothing between its threads. */
static void item_fence(lifter *l, const lift_value *v) {
    unsigned spaces;
    int64_t order = CL_ORDER_RELAXED, scope = -1;
    bool known = lift_constant_operand(l, v, 1, &order) && lift_constant_operand(l, v, 2, &scope);
    if (!flags_of(l, v, false, &spaces) || !known || order == CL_ORDER_RELAXED)
        return;
    if (scope >= CL_SCOPE_WORK_GROUP && scope <= CL_SCOPE_ALL_DEVICES)
        fence(l, scope == CL_SCOPE_WORK_GROUP ? LEVEL_BLOCK : LEVEL_TASK, spaces);
}

static bool order_call(lifter *l, const lift_value *v, const char *name) {
    unsigned spaces;
    bool cl = !strcmp(name, "barrier") || !strcmp(name, "work_group_barrier"), metal = !strcmp(name, "wg.barrier");
    if (cl && !strncmp(v->callee, "cuda.", 5)) {
        barrier(l, LEVEL_BLOCK, BOTH);
    } else if (cl || metal) {
        if (flags_of(l, v, metal, &spaces))
            barrier(l, LEVEL_BLOCK, metal || orders_group(l, v) ? spaces : 0);
    } else if (!strcmp(name, "sub_group_barrier") || !strcmp(name, "simdgroup.barrier")) {
        l->facts->lanes = true;
        if (flags_of(l, v, name[1] == 'i', &spaces))
            barrier(l, LEVEL_SUBGROUP, spaces);
    } else if (!strcmp(name, "syncwarp")) {
        int64_t mask;
        if (!lift_constant_operand(l, v, 0, &mask) || (uint32_t)mask != UINT32_MAX)
            lift_fail(l, "E1128", v, "__syncwarp of some lanes only");
        else
            barrier(l, LEVEL_SUBGROUP, BOTH);
    } else if (!strcmp(name, "mem_fence") || !strcmp(name, "read_mem_fence") || !strcmp(name, "write_mem_fence")) {
        if (flags_of(l, v, false, &spaces))
            fence(l, LEVEL_BLOCK, spaces);
    } else if (!strcmp(name, "atomic_work_item_fence")) {
        item_fence(l, v);
    } else if (!strcmp(name, "fence.block")) {
        lift_fence(l, LEVEL_BLOCK);
    } else if (!strcmp(name, "fence.device") || !strcmp(name, "fence.system")) {
        lift_fence(l, LEVEL_TASK);
    } else if (!strncmp(name, "nvvm.barrier0", 13) || !strcmp(name, "nvvm.barrier.cta.sync.aligned.all")) {
        barrier(l, LEVEL_BLOCK, BOTH);
    } else {
        return false;
    }
    return true;
}

bool lift_wants_lanes(const char *callee) {
    char name[64];
    lift_plain_name(callee, name, sizeof name);
    int n = find_number(name);
    return lift_is_exchange(name) || !strcmp(name, "sub_group_barrier") || !strcmp(name, "simdgroup.barrier") ||
           !strcmp(name, "syncwarp") || !strncmp(name, "simd", 4) || !strncmp(name, "sub_group", 9) ||
           !strncmp(name, "vote.", 5) || !strncmp(name, "shfl", 4) || !strncmp(name, "quad", 4) ||
           (n >= 0 && (!strcmp(numbers[n].what, "lane") || strstr(numbers[n].what, "subgroup")));
}

/* A threadgroup variable of a template, which the Metal headers spell as a call: id, bytes, alignment. */
static bool allocation_call(lifter *l, const lift_value *v, const char *name) {
    int64_t bytes;
    if (strcmp(name, "threadgroup.alloc"))
        return false;
    if (!lift_constant_operand(l, v, 1, &bytes) || bytes < 1 || bytes > 1 << 20) {
        lift_fail(l, "E1128", v, "threadgroup memory of a size that is not constant");
        return true;
    }
    lifted p = lift_pointer_to(l, v);
    if (p.kind == LIFTED_POINTER)
        p.object->bytes = bytes;
    l->env[v->id] = p;
    return true;
}

static bool is_nothing(const char *name) {
    static const char *const names[] = {
        "lifetime.start", "lifetime.end", "dbg.value", "dbg.declare", "dbg.label", "assume", "experimental.noalias.scope.decl",
        "donothing",      "prefetch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* What a pointer leads to that a cast or a step within the text may stand before. */
static bool is_constant_text(const lift_value *v) {
    for (int depth = 0; depth < 8 && v->kind == LIFT_INSTRUCTION && (v->op == LIFT_ADDRSPACECAST || v->op == LIFT_GEP); depth++)
        v = v->operands[0];
    return v->kind == LIFT_GLOBAL && v->initial;
}

/* printf touches no memory that others reach; text that lies there is not read. A launch prints nothing, which is said. */
static bool print_call(lifter *l, const lift_value *v, const char *name) {
    if (strcmp(name, "printf"))
        return false;
    for (int i = 1; i < v->operand_count; i++)
        if (v->operands[i]->type->kind == LIFT_POINTER && !is_constant_text(v->operands[i]))
            return false;
    l->facts->prints = v;
    l->env[v->id] = lifted_number(l, 32, 0);
    return true;
}

/* dot, length, normalize, cross of OpenCL */
static bool geometry_call(lifter *l, const lift_value *v, const char *name) {
    if (strcmp(name, "dot") || v->operand_count != 2)
        return false;
    lifted x = lift_operand(l, v->operands[0]), y = lift_operand(l, v->operands[1]);
    if (lift_stopped(l))
        return true;
    if (x.kind != LIFTED_ELEMENTS || y.kind != LIFTED_ELEMENTS || v->type->kind != LIFT_FLOAT)
        return false;
    kernel_value *sum = NULL;
    for (int i = 0; i < x.count; i++) {
        kernel_value *p =
            kernel_op2(l->k, KERNEL_MUL, ELEMENT_F32, lift_as_value(l, x.elements[i]), lift_as_value(l, y.elements[i]));
        sum = sum ? kernel_op2(l->k, KERNEL_ADD, ELEMENT_F32, sum, p) : p;
    }
    lift_set(l, v, lifted_value(32, sum));
    return true;
}

/* sincos(x, &cos) gives sin; CUDA's sincosf(x, &sin, &cos) nothing. */
static bool sincos_call(lifter *l, const lift_value *v, const char *name) {
    if ((strcmp(name, "sincos") && strcmp(name, "sincosf")) || v->operand_count < 2)
        return false;
    bool stores = v->operand_count == 3;
    const lift_type *t = v->operands[0]->type;
    lift_value as = *v;
    as.type = t;
    lifted sine = {0}, cosine = {0};
    if (!lift_math(l, &as, "sin", &sine) || lift_stopped(l) || !lift_math(l, &as, "cos", &cosine) || lift_stopped(l))
        return true;
    if (stores)
        lift_store(l, t, lift_operand(l, v->operands[1]), sine);
    else
        lift_set(l, v, sine);
    lift_store(l, t, lift_operand(l, v->operands[stores ? 2 : 1]), cosine);
    return true;
}

bool lift_call_is_pure(const lift_value *v) {
    char name[64];
    if (!v->callee)
        return false;
    lift_plain_name(v->callee, name, sizeof name);
    return find_number(name) >= 0 || lift_is_math(name) || lift_is_bits(name) || is_nothing(name) ||
           !strcmp(name, "get_work_dim") || !strcmp(name, "dot");
}

bool lift_call(lifter *l, const lift_value *v) {
    char name[64];
    l->now = v;
    if (v->assembly) {
        lift_assembly(l, v);
        return !lift_stopped(l);
    }
    if (!v->callee) {
        lift_fail(l, "E1127", v, "%s", v->text ? v->text : "a call through a pointer");
        return false;
    }
    lift_plain_name(v->callee, name, sizeof name);
    lifted r = {.kind = LIFTED_ANY};
    if (!strcmp(name, "assume"))
        lift_assume(l, v);
    if (lift_settled_call(l, v) || is_nothing(name) || print_call(l, v, name) || launch_call(l, v, name) ||
        order_call(l, v, name) || lift_lanes_call(l, v, name) || lift_matrix_call(l, v) || allocation_call(l, v, name) ||
        lift_atomic_call(l, v, name) || lift_memory_call(l, v, name) || lift_copy_call(l, v, name) ||
        lift_group_copy_call(l, v, name) || geometry_call(l, v, name) || sincos_call(l, v, name) ||
        (!lift_stopped(l) && lift_opencl_call(l, v, name)) || (!lift_stopped(l) && lift_bits_call(l, v, name)))
        return !lift_stopped(l);
    if (!lift_stopped(l) && lift_math(l, v, name, &r)) {
        if (!lift_stopped(l))
            lift_set(l, v, r);
        return !lift_stopped(l);
    }
    if (!lift_stopped(l) && v->text)
        lift_fail(l, "E1127", v, "`%s`, %s", name[0] ? name : v->callee, v->text);
    if (!lift_stopped(l) && lift_opaque_call(l, v, name[0] ? name : v->callee))
        return !lift_stopped(l);
    if (!lift_stopped(l) && lift_image_call(l, v, name[0] ? name : v->callee))
        return !lift_stopped(l);
    bool image = strstr(v->callee, "image") || strstr(v->callee, "texture") || strstr(v->callee, "sampler");
    lift_fail(l, image ? "E1129" : "E1128", v,
              image ? "`%s`: images and textures are not read" : "`%s`, a function that is not known",
              name[0] ? name : v->callee);
    return false;
}
