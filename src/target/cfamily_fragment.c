/* Fragments in targets of the C family: a variable each. */
#include "target/cfamily.h"

void cfamily_fragments_name(cfamily *p, const kernel_ir *k) {
    p->fragments = NEW_ARRAY(p->arena, const char **, k->fragments.count);
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        p->fragments[i] = NEW_ARRAY(p->arena, const char *, f->count);
        for (int n = 0; n < f->count; n++)
            p->fragments[i][n] = cfamily_unique(p, f->count > 1 ? arena_printf(p->arena, "%s_%d", f->name, n) : f->name);
    }
}

void cfamily_fragments_declare(cfamily *p, const kernel_ir *k, const char *(*type_of)(cfamily *, const kernel_fragment *),
                               text_buffer *out) {
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        for (int n = 0; n < f->count; n++)
            text_add(out,
                     n % 8 ? ", %s"
                     : n   ? ";\n    %s %s"
                           : "    %s %s",
                     n % 8 ? p->fragments[i][n] : type_of(p, f), p->fragments[i][n]);
        text_add(out, ";\n");
    }
}

const char *cfamily_fragment_name(cfamily *p, const kernel_fragment *f, index_expr *index) {
    int64_t n = 0;
    if (index && (!ix_is_const(cfamily_fold(p, index), &n) || n < 0 || n >= f->count)) {
        cfamily_refuse(p, f->span, "a fragment's index that is no constant");
        return "0";
    }
    return p->fragments[f->id][n];
}
