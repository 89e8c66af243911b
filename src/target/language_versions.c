/* Versions of targets' languages, by table. */
#include "target/language_versions.h"
#include <string.h>

static bool is_any(const kernel_ir *k) {
    (void)k;
    return true;
}

static bool has_fragment(const kernel_ir *k, element_type element, level_kind holder) {
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        bool is_vector = f->role == FRAGMENT_ROW_VECTOR || f->role == FRAGMENT_COLUMN_VECTOR;
        if (!is_vector && (element == ELEMENT_COUNT || f->element == element) && f->holder == holder)
            return true;
    }
    return false;
}

static bool has_bf16_matrices(const kernel_ir *k) {
    return has_fragment(k, ELEMENT_BF16, LEVEL_SUBGROUP);
}

static bool has_subgroup_matrices(const kernel_ir *k) {
    return has_fragment(k, ELEMENT_COUNT, LEVEL_SUBGROUP);
}

static bool has_fp8_matrices(const kernel_ir *k) {
    return has_fragment(k, ELEMENT_E4M3, LEVEL_SUBGROUP) || has_fragment(k, ELEMENT_E5M2, LEVEL_SUBGROUP);
}

static bool has_warpgroup_matrices(const kernel_ir *k) {
    return has_fragment(k, ELEMENT_COUNT, LEVEL_WARPGROUP);
}

static bool has_mbarriers(const kernel_ir *k) {
    return k->mbarriers.count > 0;
}

#define VERSION(target, order, name, with) {target, name, with, order},
#define FEATURE(target, name, since, used)
static const language_version versions[] = {
#include "target/language_versions.def"
};
#undef VERSION
#undef FEATURE
#define VERSION(target, order, name, with)
#define FEATURE(target, name, since, used) {target, name, since, used},
static const language_feature features[] = {
#include "target/language_versions.def"
};

const language_version *language_versions(int *count) {
    *count = sizeof versions / sizeof *versions;
    return versions;
}

const language_feature *language_features(int *count) {
    *count = sizeof features / sizeof *features;
    return features;
}

const language_version *language_since(const language_feature *f) {
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (!strcmp(versions[i].target, f->target) && versions[i].order >= f->since)
            return &versions[i];
    return NULL;
}

static const language_version *find(const char *target_name, const char *name, diag_list *diags) {
    text_buffer known = {0};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (!strcmp(versions[i].target, target_name)) {
            if (!strcmp(versions[i].name, name)) {
                text_free(&known);
                return &versions[i];
            }
            text_add(&known, "%s%s", known.length ? ", " : "", versions[i].name);
        }
    diag *g = diag_error(diags, "E0860", (source_span){0}, "--language %s: target %s has no such version", name, target_name);
    if (known.length)
        diag_note(diags, g, "there are %s", text_get(&known));
    text_free(&known);
    return NULL;
}

bool language_takes(const char *target_name, const char *version, const proved_plan *p, diag_list *diags) {
    const launch_plan *plan = proved_plan_get(p);
    const language_version *v = find(target_name, version, diags);
    bool good = v != NULL;
    for (size_t i = 0; v && i < sizeof features / sizeof *features; i++) {
        const language_feature *f = &features[i];
        bool used = false;
        for (int k = 0; k < plan->variants.count && f->used && !strcmp(f->target, target_name); k++)
            used |= f->used(plan->variants.at[k].kernel);
        if (!used || f->since <= v->order)
            continue;
        const language_version *first = language_since(f);
        diag *g = diag_error(diags, "E0554", (source_span){0}, "%s needs %s, which version %s of target %s lacks", plan->name,
                             f->name, version, target_name);
        diag_note(diags, g, "version %s (%s) is the first that has it", first->name, first->with);
        good = false;
    }
    return good;
}
