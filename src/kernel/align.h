/* Wide accesses: which vectors begin at multiples of their size. Nothing here is believed: the prover judges each mark. */
#ifndef TILEC_KERNEL_ALIGN_H
#define TILEC_KERNEL_ALIGN_H
#include "kernel/kernel.h"

/* Marks the vectors of shared arrays that are `aligned` once those begin at multiples of PLAN_ALIGNMENT, and gives them that `align`. For targets that
 * declare shared arrays so. */
void kernel_align_shared(kernel_ir *k);
/* Gives the variant its aligned form (plan_variant.aligned, divided), where that has a vector of a global array to mark; a variant with pre-passes has
 * none. `shared`: there, vectors of shared arrays too, as kernel_align_shared does. The kernel itself stays. A kernel that the variant has for it already is marked
 * in place, and stays where it copies in bulk (kernel_copies_in_bulk); else it goes. */
void kernel_align_variant(arena *a, plan_variant *v, bool shared);
/* Whether the kernel has mbarriers, and all copies that signal them lie as bulk copies need it. */
bool kernel_copies_in_bulk(const kernel_ir *k);
/* Whether `aligned` is `plain` but for marks, `align`s and further assumptions: the same statements at fewer launches, so that whatever is proved of
 * `plain` without regard to marks holds of it too. */
bool kernel_is_aligned_form(const kernel_ir *aligned, const kernel_ir *plain);
#endif
