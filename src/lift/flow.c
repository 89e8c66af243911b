/* Control flow of a read function. Cooper, Harvey and Kennedy's dominators; natural loops; post-dominators of each loop's body alone. */
#include "lift/flow.h"

static void number_blocks(flow *w) {
    typedef struct at {
        lift_block *b;
        int next;
    } at;
    at *stack = NEW_ARRAY(w->arena, at, w->count);
    bool *seen = NEW_ARRAY(w->arena, bool, w->count);
    int *post = NEW_ARRAY(w->arena, int, w->count);
    int depth = 0, done = 0;
    stack[depth++] = (at){w->function->blocks.at[0], 0};
    seen[0] = true;
    while (depth) {
        at *top = &stack[depth - 1];
        if (top->next < top->b->after.count) {
            lift_block *b = top->b->after.at[top->next++];
            if (!seen[b->id]) {
                seen[b->id] = true;
                stack[depth++] = (at){b, 0};
            }
        } else {
            post[done++] = top->b->id;
            depth--;
        }
    }
    for (int i = 0; i < w->count; i++)
        w->number[i] = -1;
    w->reached = done;
    for (int i = 0; i < done; i++) {
        w->order[i] = post[done - 1 - i];
        w->number[w->order[i]] = i;
    }
}

static int common(const flow *w, int x, int y) {
    while (x != y) {
        while (w->number[x] > w->number[y])
            x = w->parent[x];
        while (w->number[y] > w->number[x])
            y = w->parent[y];
    }
    return x;
}

static void find_dominators(flow *w) {
    for (int i = 0; i < w->count; i++)
        w->parent[i] = -1;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 1; i < w->reached; i++) {
            const lift_block *b = w->function->blocks.at[w->order[i]];
            int parent = -1;
            for (int j = 0; j < b->before.count; j++) {
                int p = b->before.at[j]->id;
                if (w->number[p] < 0 || (p != w->order[0] && w->parent[p] < 0))
                    continue;
                parent = parent < 0 ? p : common(w, parent, p);
            }
            changed = changed || parent != w->parent[b->id];
            w->parent[b->id] = parent;
        }
    }
}

bool flow_dominates(const flow *w, const lift_block *x, const lift_block *y) {
    int at = y->id;
    while (at >= 0 && w->number[at] > w->number[x->id])
        at = w->parent[at];
    return at == x->id;
}

static void fill_loop(flow *w, flow_loop *l) {
    lift_block **work = NEW_ARRAY(w->arena, lift_block *, w->count);
    int n = 0;
    l->has[l->header->id] = true;
    if (!l->has[l->latch->id]) {
        l->has[l->latch->id] = true;
        work[n++] = l->latch;
    }
    while (n) {
        lift_block *b = work[--n];
        for (int i = 0; i < b->before.count; i++) {
            lift_block *p = b->before.at[i];
            if (w->number[p->id] >= 0 && !l->has[p->id]) {
                l->has[p->id] = true;
                work[n++] = p;
            }
        }
    }
    for (int i = 0; i < w->count; i++)
        for (int j = 0; l->has[i] && j < w->function->blocks.at[i]->after.count; j++)
            l->exit_count += !l->has[w->function->blocks.at[i]->after.at[j]->id];
}

static void find_loops(flow *w) {
    for (int i = 0; i < w->reached; i++) { /* outer headers come first */
        lift_block *h = w->function->blocks.at[w->order[i]];
        flow_loop *l = NULL;
        for (int j = 0; j < h->before.count; j++) {
            lift_block *p = h->before.at[j];
            if (w->number[p->id] < 0 || w->number[p->id] < i)
                continue;
            if (!flow_dominates(w, h, p) || (l && l->latch)) {
                w->irreducible = h->items.at[0];
                return;
            }
            l = NEW(w->arena, flow_loop);
            l->header = h;
            l->latch = p;
        }
        if (!l)
            continue;
        for (int j = 0; j < h->before.count; j++)
            if (h->before.at[j] != l->latch && w->number[h->before.at[j]->id] >= 0) {
                if (l->before)
                    w->irreducible = h->items.at[0];
                l->before = h->before.at[j];
            }
        l->has = NEW_ARRAY(w->arena, bool, w->count);
        fill_loop(w, l);
        l->outer = w->loop[h->id];
        l->depth = l->outer ? l->outer->depth + 1 : 1;
        for (int b = 0; b < w->count; b++)
            if (l->has[b])
                w->loop[b] = l;
        VEC_PUSH(w->arena, w->loops, l);
    }
}

flow *flow_new(arena *a, const lift_function *f) {
    flow *w = NEW(a, flow);
    w->function = f;
    w->arena = a;
    w->count = f->blocks.count;
    w->parent = NEW_ARRAY(a, int, w->count);
    w->number = NEW_ARRAY(a, int, w->count);
    w->order = NEW_ARRAY(a, int, w->count);
    w->loop = NEW_ARRAY(a, flow_loop *, w->count);
    number_blocks(w);
    find_dominators(w);
    find_loops(w);
    return w;
}

/* The child of `region` that holds the block; NULL: the block is the region's own. */
static flow_loop *child_of(const flow *w, const flow_loop *region, const lift_block *b) {
    flow_loop *l = w->loop[b->id];
    if (l == region)
        return NULL;
    while (l && l->outer != region)
        l = l->outer;
    return l;
}

flow_loop *flow_loop_at(const flow *w, const flow_loop *region, const lift_block *b) {
    flow_loop *l = child_of(w, region, b);
    return l && l->header == b ? l : NULL;
}

/* Post-dominators, over numbers: a block's are settled after those of the blocks behind it. ENDED stands for every end. */
enum { UNKNOWN = -2, ENDED = -1 };

static int meet(const flow *w, const int *join, int x, int y) {
    if (x == UNKNOWN || y == UNKNOWN)
        return x == UNKNOWN ? y : x;
    while (x != y && x != ENDED && y != ENDED) {
        if (w->number[x] < w->number[y])
            x = join[x];
        else
            y = join[y];
    }
    return x == y ? x : ENDED;
}

static lift_block **joins(flow *w, flow_loop *region) {
    lift_block **at = region ? region->join : w->join;
    if (at)
        return at;
    int *join = NEW_ARRAY(w->arena, int, w->count);
    at = NEW_ARRAY(w->arena, lift_block *, w->count);
    for (int i = w->reached - 1; i >= 0; i--) {
        lift_block *b = w->function->blocks.at[w->order[i]];
        if ((region && !region->has[b->id]) || (child_of(w, region, b) && !flow_loop_at(w, region, b)))
            continue;
        flow_loop *inner = flow_loop_at(w, region, b);
        int found = UNKNOWN;
        for (int j = 0; j < w->count; j++) {
            lift_block *from = w->function->blocks.at[j];
            if (inner ? !inner->has[j] : from != b)
                continue;
            if (!from->after.count)
                found = meet(w, join, found, ENDED);
            for (int n = 0; n < from->after.count; n++) {
                lift_block *to = from->after.at[n];
                if (inner && inner->has[to->id])
                    continue;
                bool leaves = region && (!region->has[to->id] || to == region->header);
                found = meet(w, join, found, leaves ? ENDED : to->id);
            }
        }
        join[b->id] = found == UNKNOWN ? ENDED : found;
        at[b->id] = join[b->id] >= 0 ? w->function->blocks.at[join[b->id]] : NULL;
    }
    if (region)
        region->join = at;
    else
        w->join = at;
    return at;
}

lift_block *flow_join(flow *w, flow_loop *region, const lift_block *b) {
    return joins(w, region)[b->id];
}

lift_block *flow_join_after(flow *w, flow_loop *region, const flow_loop *inner) {
    return joins(w, region)[inner->header->id];
}
