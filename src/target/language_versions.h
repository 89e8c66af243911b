/* Versions of targets' languages: which there are, and whether one has what a kernel's text needs. */
#ifndef TILEC_TARGET_LANGUAGE_VERSIONS_H
#define TILEC_TARGET_LANGUAGE_VERSIONS_H
#include "target/target.h"

typedef struct language_version {
    const char *target, *name, *with; /* "metal", "3.1", "AIR 2.6, macOS 14" */
    int order;
} language_version;
typedef struct language_feature {
    const char *target, *name;
    int since; /* order of the first version that has it */
    bool (*used)(const kernel_ir *k);
} language_feature;
const language_version *language_versions(int *count);
const language_feature *language_features(int *count);
/* The first version with a feature. */
const language_version *language_since(const language_feature *f);
/* False with a diagnostic: the target has no such version (E0860), or it lacks what the plan's kernels need (E0554, which names the first that has it). */
bool language_takes(const char *target_name, const char *version, const proved_plan *p, diag_list *diags);
#endif
