/* The structured program as a list of instructions with jumps, names turned into places: what a thread then runs has one program counter. */
#include "sim/machine.h"
#include <string.h>

/* Names to numbers, by address. */
typedef struct name_place {
    const void *key;
    int place;
} name_place;
struct sim_names {
    name_place *at;
    int count, capacity;
};

static name_place *find(struct sim_names *n, const void *key) {
    size_t mask = (size_t)n->capacity - 1;
    for (size_t i = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20 & mask;; i = (i + 1) & mask)
        if (!n->at[i].key || n->at[i].key == key)
            return &n->at[i];
}

/* The place of `key`; *fresh when it was not there, and its place is to be set. */
static name_place *name_of(arena *a, struct sim_names *n, const void *key, bool *fresh) {
    if (2 * (n->count + 1) > n->capacity) {
        struct sim_names old = *n;
        n->capacity = old.capacity ? 2 * old.capacity : 64;
        n->at = NEW_ARRAY(a, name_place, n->capacity);
        for (int i = 0; i < old.capacity; i++)
            if (old.at[i].key)
                *find(n, old.at[i].key) = old.at[i];
    }
    name_place *p = find(n, key);
    *fresh = !p->key;
    if (*fresh) {
        p->key = key;
        n->count++;
    }
    return p;
}

int sim_variable(arena *a, sim_program *p, const index_var *v) {
    bool fresh;
    name_place *place = name_of(a, p->names, v, &fresh);
    if (fresh)
        place->place = p->variables++;
    return place->place;
}

/* Where the lanes of a let, an atomic's old value or a subgroup operation are kept. */
static int kept_place(arena *a, sim_program *p, const void *what, int lanes) {
    bool fresh;
    name_place *place = name_of(a, p->names, what, &fresh);
    if (fresh) {
        place->place = p->places;
        p->places += lanes;
    }
    return place->place;
}

typedef struct compiler {
    arena *a;
    sim_program *p;
    diag_list *diags;
    bool failed;
    VEC(int) breaks;         /* jumps that leave the loops being compiled */
    bool in_map;             /* inside a fragment_map's value */
    VEC(int) used_variables; /* of the statement being compiled */
    VEC(int) used_places;    /* [place, lanes] pairs */
    const kernel_stmt *stmt;
    int within; /* 1 + the intrinsic whose reference is compiled; 0: none */
} compiler;

static void beyond(compiler *c, source_span span, const char *what) {
    if (!c->failed)
        diag_error(c->diags, "E0710", span, "the simulator does not run %s", what);
    c->failed = true;
}

static sim_integer *integer_at(compiler *c, const index_expr *x) {
    sim_integer *n = NEW(c->a, sim_integer);
    n->source = x;
    n->op = x->op;
    n->variable = -1;
    if (x->op == IX_CONST) {
        n->constant = x->value;
    } else if (x->op == IX_VAR) {
        if (x->var->has_value && (x->var->kind == INDEX_STATIC || x->var->kind == INDEX_TILE)) {
            n->op = IX_CONST;
            n->constant = x->var->value;
        } else {
            n->variable = sim_variable(c->a, c->p, x->var);
            VEC_PUSH(c->a, c->used_variables, n->variable);
        }
    } else {
        n->a = integer_at(c, x->a);
        n->b = integer_at(c, x->b);
    }
    return n;
}

static sim_integer *integer(compiler *c, const index_expr *x) {
    return x ? integer_at(c, x) : NULL;
}

static sim_condition *condition(compiler *c, const cond *x) {
    if (!x)
        return NULL;
    sim_condition *n = NEW(c->a, sim_condition);
    n->op = x->op;
    n->x = integer(c, x->x);
    n->y = integer(c, x->y);
    n->a = condition(c, x->a);
    n->b = condition(c, x->b);
    return n;
}

sim_integer *sim_compile_integer(arena *a, sim_program *p, const index_expr *x) {
    compiler c = {.a = a, .p = p};
    return integer(&c, x);
}

sim_condition *sim_compile_condition(arena *a, sim_program *p, const cond *x) {
    compiler c = {.a = a, .p = p};
    return condition(&c, x);
}

static sim_integer **integers(compiler *c, index_expr **x, int count) {
    if (!x)
        return NULL;
    sim_integer **list = NEW_ARRAY(c->a, sim_integer *, count);
    for (int i = 0; i < count; i++)
        list[i] = integer(c, x[i]);
    return list;
}

static sim_access access_of(compiler *c, const kernel_access *x) {
    sim_access access = {0};
    if (!x->array)
        return access;
    access.source = x;
    access.array = x->array;
    access.indices = integers(c, x->indices, x->array->rank);
    access.active = integer(c, x->active);
    access.lanes = x->lanes;
    access.vector_dim = x->vector_dim;
    return access;
}

static sim_fragment_ref fragment_of(compiler *c, const kernel_fragment *f, const index_expr *index) {
    sim_fragment_ref ref = {f, f ? integer(c, index) : NULL};
    return ref;
}

static int emit(compiler *c, sim_code code) {
    sim_instruction i = {.code = code,
                         .stmt = c->stmt,
                         .target = -1,
                         .variable = -1,
                         .place = -1,
                         .meeting = -1,
                         .mbarrier = -1,
                         .row = -1,
                         .column = -1,
                         .within = c->within};
    VEC_PUSH(c->a, c->p->code, i);
    return c->p->code.count - 1;
}

static sim_instruction *at(compiler *c, int i) {
    return &c->p->code.at[i];
}

static bool is_subgroup(kernel_op op) {
    return !strcmp(kernel_op_table[op].kind, "subgroup");
}

/* Operations of a subgroup become instructions before the statement, since lanes wait there for each other; the value finds their results. */
static sim_value *value_of(compiler *c, const kernel_value *v) {
    sim_value *n = NEW(c->a, sim_value);
    n->source = v;
    n->op = v->op;
    n->type = v->type;
    n->exchanges = !strcmp(kernel_op_table[v->op].kind, "subgroup");
    n->lanes = v->lanes;
    n->operand_count = v->operand_count;
    n->variable = n->place = -1;
    n->index = integer(c, v->index);
    if (v->op == KERNEL_LOAD)
        n->access = access_of(c, &v->access);
    n->fragment = fragment_of(c, v->fragment, v->fragment_index);
    n->operands = NEW_ARRAY(c->a, sim_value *, v->operand_count);
    for (int i = 0; i < v->operand_count; i++)
        n->operands[i] = value_of(c, v->operands[i]);
    if (v->op == KERNEL_REF) {
        n->place = kept_place(c->a, c->p, v->let, v->lanes);
        VEC_PUSH(c->a, c->used_places, n->place);
        VEC_PUSH(c->a, c->used_places, v->lanes);
    } else if (v->op == KERNEL_SCALAR) {
        const kernel_ir *k = c->p->kernel;
        for (int i = 0; i < k->scalars.count; i++)
            if (!strcmp(k->scalars.at[i].name, v->scalar)) {
                n->place = i;
                n->variable = c->p->scalar_variable[i];
            }
    } else if (is_subgroup(v->op)) {
        if (c->in_map)
            beyond(c, v->span, "subgroup operations inside a fragment_map");
        n->place = kept_place(c->a, c->p, n, v->lanes);
        int i = emit(c, CODE_SUBGROUP);
        at(c, i)->value = n;
        at(c, i)->place = n->place;
        at(c, i)->meeting = c->p->meetings++;
        at(c, i)->meeting_scope = LEVEL_SUBGROUP;
        VEC_PUSH(c->a, c->used_places, n->place);
        VEC_PUSH(c->a, c->used_places, v->lanes);
    }
    return n;
}

static void compile_block(compiler *c, const kernel_block *b);

static void compile_for(compiler *c, const kernel_stmt *s) {
    sim_integer *lo = integer(c, s->lo), *hi = integer(c, s->hi), *step = integer(c, s->step);
    int variable = sim_variable(c->a, c->p, s->var), counter = c->p->counters, outer = c->breaks.count;
    c->p->counters += 2;
    int start = emit(c, CODE_LOOP_START);
    at(c, start)->lo = lo, at(c, start)->hi = hi, at(c, start)->step = step;
    at(c, start)->variable = variable, at(c, start)->place = counter;
    int test = emit(c, CODE_LOOP_TEST);
    at(c, test)->variable = variable, at(c, test)->place = counter;
    compile_block(c, &s->body);
    c->stmt = s;
    int next = emit(c, CODE_LOOP_NEXT);
    at(c, next)->variable = variable, at(c, next)->place = counter;
    at(c, next)->target = test;
    at(c, test)->target = at(c, start)->target = c->p->code.count;
    while (c->breaks.count > outer)
        at(c, c->breaks.at[--c->breaks.count])->target = c->p->code.count;
}

static void compile_loop(compiler *c, const kernel_stmt *s) {
    int start = c->p->code.count, outer = c->breaks.count;
    compile_block(c, &s->body);
    c->stmt = s;
    int back = emit(c, CODE_JUMP);
    at(c, back)->target = start;
    while (c->breaks.count > outer)
        at(c, c->breaks.at[--c->breaks.count])->target = c->p->code.count;
}

static void compile_tasks(compiler *c, const kernel_stmt *s) {
    int variable = sim_variable(c->a, c->p, s->var), counter = c->p->counters++;
    int start = emit(c, CODE_TASKS_START);
    at(c, start)->variable = variable, at(c, start)->place = counter;
    int test = emit(c, CODE_TASKS_TEST);
    at(c, test)->variable = variable, at(c, test)->place = counter;
    compile_block(c, &s->body);
    c->stmt = s;
    int next = emit(c, CODE_TASKS_NEXT);
    at(c, next)->variable = variable, at(c, next)->place = counter;
    at(c, next)->target = test;
    at(c, test)->target = c->p->code.count;
}

static void compile_branch(compiler *c, const kernel_stmt *s) {
    int skip;
    if (s->kind == KSTMT_IF_VALUE) {
        sim_value *value = value_of(c, s->value);
        skip = emit(c, CODE_UNLESS_VALUE);
        at(c, skip)->value = value;
    } else {
        sim_condition *test = condition(c, s->condition);
        skip = emit(c, CODE_UNLESS);
        at(c, skip)->condition = test;
    }
    compile_block(c, &s->body);
    c->stmt = s;
    if (s->otherwise.items.count) {
        int end = emit(c, CODE_JUMP);
        at(c, skip)->target = c->p->code.count;
        compile_block(c, &s->otherwise);
        at(c, end)->target = c->p->code.count;
    } else {
        at(c, skip)->target = c->p->code.count;
    }
}

static int mbarrier_number(const kernel_ir *k, const char *name) {
    for (int i = 0; name && i < k->mbarriers.count; i++)
        if (!strcmp(k->mbarriers.at[i]->name, name))
            return i;
    return -1;
}

static bool lane_views_known(const kernel_ir *k, const kernel_fragment *f) {
    int64_t lanes = 1, extent;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank && k->levels.at[i].kind > f->holder; d++)
            lanes *= ix_is_const(k->levels.at[i].extents[d], &extent) ? extent : 1;
    return f->rows == 8 && f->columns == 8 && lanes == 32;
}

static void check_lane_views(compiler *c, const kernel_value *v) {
    if (v->op == KERNEL_LANE_VIEW && !lane_views_known(c->p->kernel, v->fragment))
        beyond(c, v->span, "lane_view of fragments other than 8 x 8 held by 32 lanes: which lane holds what is not known");
    for (int i = 0; i < v->operand_count; i++)
        check_lane_views(c, v->operands[i]);
}

static void compile_fragment(compiler *c, const kernel_stmt *s) {
    if (s->kind == KSTMT_FRAGMENT_SET && !lane_views_known(c->p->kernel, s->fragments[0].fragment))
        beyond(c, s->span, "fragment_set of fragments other than 8 x 8 held by 32 lanes: which lane holds what is not known");
    int row = s->row ? sim_variable(c->a, c->p, s->row) : -1, column = s->column ? sim_variable(c->a, c->p, s->column) : -1;
    c->used_variables.count = c->used_places.count = 0;
    c->in_map = s->kind == KSTMT_FRAGMENT_MAP;
    sim_value *value = s->value ? value_of(c, s->value) : NULL;
    c->in_map = false;
    /* what a fill is given is compared itself, lane by lane */
    if (s->kind == KSTMT_FRAGMENT_FILL)
        c->used_variables.count = c->used_places.count = 0;
    sim_instruction filled = {.code = s->kind == KSTMT_FRAGMENT_SET ? CODE_FRAGMENT_SET : CODE_FRAGMENT, .stmt = s};
    filled.target = filled.variable = filled.place = filled.meeting = filled.mbarrier = -1;
    filled.row = row, filled.column = column;
    filled.value = value;
    filled.access = access_of(c, &s->access);
    filled.extents = integers(c, s->extents, 2);
    filled.element = integer(c, s->element);
    filled.row_step = integer(c, s->row_step);
    filled.column_step = integer(c, s->column_step);
    for (int i = 0; i < 4; i++)
        filled.fragments[i] = fragment_of(c, s->fragments[i].fragment, s->fragments[i].index);
    if (filled.code == CODE_FRAGMENT) {
        filled.meeting = c->p->meetings++;
        filled.meeting_scope = s->fragments[0].fragment->holder;
        int count = 0;
        filled.uniform = NEW_ARRAY(c->a, int, c->used_variables.count + c->used_places.count);
        for (int i = 0; i < c->used_variables.count; i++)
            if (c->used_variables.at[i] != row && c->used_variables.at[i] != column)
                filled.uniform[count++] = c->used_variables.at[i];
        filled.uniform_variables = count;
        for (int i = 0; i < c->used_places.count; i++)
            filled.uniform[count++] = c->used_places.at[i];
        filled.uniform_places = c->used_places.count / 2;
    }
    if (s->kind == KSTMT_FRAGMENT_MMA && s->asynchronous)
        c->p->uses_matrix = true;
    if (s->kind == KSTMT_FRAGMENT_LOAD && s->by_reference)
        c->p->uses_units = true;
    filled.within = c->within;
    VEC_PUSH(c->a, c->p->code, filled);
}

static void compile_intrinsic(compiler *c, const kernel_stmt *s) {
    sim_operand *contract = NEW_ARRAY(c->a, sim_operand, s->contract_count + 1);
    for (int n = 0; n < s->contract_count; n++) {
        const contract_operand *o = &s->contract[n];
        contract[n].source = o;
        if (o->value)
            contract[n].value = value_of(c, o->value);
        contract[n].values = NEW_ARRAY(c->a, sim_value *, o->count + 1);
        for (int v = 0; v < o->count; v++)
            contract[n].values[v] = value_of(c, o->values[v]);
        if (!contract_has_cells(o))
            continue;
        contract[n].access = access_of(c, &o->access);
        contract[n].extents = integers(c, o->extents, o->access.array->rank);
        if (o->asynchronous)
            c->p->uses_copies = c->p->uses_units = true;
    }
    int i = emit(c, CODE_INTRINSIC), outer = c->within;
    at(c, i)->contract = contract;
    c->within = i + 1;
    compile_block(c, &s->body);
    c->within = outer;
    bool writes = false;
    for (int n = 0; n < s->contract_count; n++)
        writes = writes || s->contract[n].effect == CONTRACT_WRITES;
    if (writes && s->body.items.count) {
        int end = emit(c, CODE_WRITTEN);
        at(c, end)->stmt = s;
        at(c, end)->target = i;
        at(c, end)->contract = contract;
    }
}

static void meet_in_block(compiler *c, int i) {
    at(c, i)->meeting = c->p->meetings++;
    at(c, i)->meeting_scope = LEVEL_BLOCK;
}

static void compile_copy(compiler *c, const kernel_stmt *s) {
    sim_access target = access_of(c, &s->access), source = access_of(c, &s->source);
    sim_integer **extents = integers(c, s->extents, s->access.array->rank), *slot = integer(c, s->slot);
    int i = emit(c, CODE_COPY);
    at(c, i)->access = target, at(c, i)->source = source;
    at(c, i)->extents = extents;
    at(c, i)->slot = slot;
    at(c, i)->mbarrier = mbarrier_number(c->p->kernel, s->name);
    c->p->uses_copies = true;
    if (kernel_is_of_block(s))
        meet_in_block(c, i);
    else
        c->p->uses_units = true;
}

static void compile_stmt(compiler *c, const kernel_stmt *s) {
    int i;
    c->stmt = s;
    c->used_variables.count = c->used_places.count = 0;
    if (s->value)
        check_lane_views(c, s->value);
    switch (s->kind) {
    case KSTMT_LET: {
        sim_value *value = value_of(c, s->value);
        int place = kept_place(c->a, c->p, s, s->value->lanes), variable = s->var ? sim_variable(c->a, c->p, s->var) : -1;
        sim_integer *lo = s->var ? integer(c, s->var->lo) : NULL, *hi = s->var ? integer(c, s->var->hi) : NULL;
        i = emit(c, CODE_LET);
        at(c, i)->value = value, at(c, i)->place = place, at(c, i)->variable = variable;
        at(c, i)->lo = lo, at(c, i)->hi = hi;
        break;
    }
    case KSTMT_STORE: {
        sim_value *value = value_of(c, s->value);
        sim_access access = access_of(c, &s->access);
        i = emit(c, CODE_STORE);
        at(c, i)->value = value, at(c, i)->access = access;
        break;
    }
    case KSTMT_CONSUME: {
        sim_access access = access_of(c, &s->access);
        i = emit(c, CODE_CONSUME);
        at(c, i)->access = access;
        break;
    }
    case KSTMT_FOR: compile_for(c, s); break;
    case KSTMT_TASKS: compile_tasks(c, s); break;
    case KSTMT_LOOP: compile_loop(c, s); break;
    case KSTMT_BREAK: {
        sim_condition *test = condition(c, s->condition);
        i = emit(c, test ? CODE_WHEN : CODE_JUMP);
        at(c, i)->condition = test;
        VEC_PUSH(c->a, c->breaks, i);
        break;
    }
    case KSTMT_IF:
    case KSTMT_IF_VALUE:
    case KSTMT_ROLE: compile_branch(c, s); break;
    case KSTMT_BARRIER: {
        sim_condition *participants = condition(c, s->participants);
        i = emit(c, CODE_BARRIER);
        at(c, i)->condition = participants;
        at(c, i)->meeting = c->p->meetings++;
        at(c, i)->meeting_scope = s->scope;
        break;
    }
    case KSTMT_FENCE:
        emit(c, CODE_FENCE);
        c->p->fence_scopes |= 1u << s->scope;
        break;
    case KSTMT_COPY: compile_copy(c, s); break;
    case KSTMT_COMMIT:
    case KSTMT_WAIT_ASYNC:
        i = emit(c, s->kind == KSTMT_COMMIT ? CODE_COMMIT : CODE_WAIT_ASYNC);
        if (kernel_is_of_block(s))
            meet_in_block(c, i);
        if (s->matrix)
            c->p->uses_matrix = true;
        else
            c->p->uses_copies = true;
        break;
    case KSTMT_MBARRIER_ARRIVE:
    case KSTMT_MBARRIER_WAIT: {
        sim_integer *slot = integer(c, s->slot), *phase = integer(c, s->phase);
        sim_condition *participants = condition(c, s->participants);
        i = emit(c, s->kind == KSTMT_MBARRIER_ARRIVE ? CODE_ARRIVE : CODE_WAIT);
        at(c, i)->slot = slot, at(c, i)->phase = phase, at(c, i)->condition = participants;
        at(c, i)->mbarrier = mbarrier_number(c->p->kernel, s->name);
        at(c, i)->arrival = s->kind == KSTMT_MBARRIER_ARRIVE ? c->p->arrivals++ : -1;
        break;
    }
    case KSTMT_FRAGMENT_FILL:
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE:
    case KSTMT_FRAGMENT_MMA:
    case KSTMT_FRAGMENT_MAP:
    case KSTMT_FRAGMENT_REDUCE:
    case KSTMT_FRAGMENT_CONVERT:
    case KSTMT_FRAGMENT_SET: compile_fragment(c, s); break;
    case KSTMT_ATOMIC:
    case KSTMT_GRID_REDUCE: {
        sim_value *expected = s->expected ? value_of(c, s->expected) : NULL, *value = value_of(c, s->value);
        sim_access access = access_of(c, &s->access);
        i = emit(c, s->kind == KSTMT_ATOMIC ? CODE_ATOMIC : CODE_GRID_REDUCE);
        at(c, i)->value = value, at(c, i)->expected = expected, at(c, i)->access = access;
        c->p->fence_scopes |= s->ordered ? 1u << s->scope : 0;
        if (s->kind == KSTMT_ATOMIC && s->name)
            at(c, i)->place = kept_place(c->a, c->p, s, 1);
        if (s->kind == KSTMT_ATOMIC && s->var)
            at(c, i)->variable = sim_variable(c->a, c->p, s->var);
        break;
    }
    case KSTMT_INTRINSIC: compile_intrinsic(c, s); break;
    case KSTMT_COMMENT: break;
    case KSTMT_COUNT: break;
    }
}

static void compile_block(compiler *c, const kernel_block *b) {
    for (int i = 0; i < b->items.count && !c->failed; i++)
        compile_stmt(c, b->items.at[i]);
}

sim_program *sim_compile(arena *a, const kernel_ir *k, diag_list *diags) {
    sim_program *p = NEW(a, sim_program);
    p->kernel = k;
    p->names = NEW(a, struct sim_names);
    p->symbol_variable = NEW_ARRAY(a, int, k->symbols.count);
    p->scalar_variable = NEW_ARRAY(a, int, k->scalars.count);
    p->id_variable = NEW_ARRAY(a, int *, k->levels.count);
    for (int i = 0; i < k->symbols.count; i++)
        p->symbol_variable[i] = sim_variable(a, p, k->symbols.at[i]);
    for (int i = 0; i < k->scalars.count; i++)
        p->scalar_variable[i] = k->scalars.at[i].var ? sim_variable(a, p, k->scalars.at[i].var) : -1;
    for (int i = 0; i < k->levels.count; i++) {
        p->id_variable[i] = NEW_ARRAY(a, int, k->levels.at[i].rank);
        for (int d = 0; d < k->levels.at[i].rank; d++)
            p->id_variable[i][d] = sim_variable(a, p, k->levels.at[i].ids[d]);
    }
    compiler c = {.a = a, .p = p, .diags = diags};
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->rank > 16)
            beyond(&c, k->arrays.at[i]->span, "arrays of more than 16 dimensions");
    compile_block(&c, &k->body);
    kernel_stmt *end = NEW(a, kernel_stmt);
    end->kind = KSTMT_COMMENT;
    end->span = k->span;
    end->name = "the end";
    c.stmt = end;
    emit(&c, CODE_END);
    return c.failed ? NULL : p;
}
