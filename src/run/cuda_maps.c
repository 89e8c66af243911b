/* Tensor maps: what the driver makes of an array's place and extents, for copies in bulk. */
#include "run/cuda.h"

enum { MOST_RANK = 5, LARGEST = 1 << 30 };
static const int64_t largest_stride = (int64_t)1 << 40;

typedef struct description {
    void *address;
    uint64_t extents[MOST_RANK], strides[MOST_RANK]; /* the last dimension of the array first; bytes from one to the next */
    uint32_t box[MOST_RANK];
} description;

static bool describe(const device_kernel *k, const gpu_tensor_map *m, void *const *arrays, const int64_t *integers,
                     description *out) {
    const kernel_ir *any = k->plan->variants.at[0].kernel; /* launch values have the same names in all */
    int64_t stride = element_table[m->element].block_bytes;
    out->address = arrays[m->array];
    if ((uintptr_t)out->address % GPU_ALIGNMENT || m->rank > MOST_RANK)
        return false;
    for (int d = m->rank - 1, at = 0; d >= 0; d--, at++) {
        int64_t extent;
        if (!launch_evaluate(any, m->extents[d], integers, &extent) || extent < 1 || extent > LARGEST ||
            (at && (stride % GPU_ALIGNMENT || stride >= largest_stride)))
            return false;
        out->extents[at] = (uint64_t)extent;
        out->strides[at] = (uint64_t)stride;
        out->box[at] = (uint32_t)m->box[d];
        if (__builtin_mul_overflow(stride, extent, &stride))
            return false;
    }
    return true;
}

bool cuda_maps_fit(const device *d, const device_kernel *k, const gpu_entry *e, void *const *arrays, const int64_t *integers) {
    description one;
    if (e->maps.count && (!d->system->encode_map || e->maps.count > CUDA_MOST_MAPS))
        return false;
    for (int i = 0; i < e->maps.count; i++)
        if (!describe(k, &e->maps.at[i], arrays, integers, &one))
            return false;
    return true;
}

bool cuda_make_maps(const device *d, const device_kernel *k, const gpu_entry *e, void *const *arrays, const int64_t *integers,
                    cu_tensor_map *maps, diag_list *diags) {
    static const uint32_t steps[MOST_RANK] = {1, 1, 1, 1, 1};
    for (int i = 0; i < e->maps.count; i++) {
        const gpu_tensor_map *m = &e->maps.at[i];
        const int type = m->element == ELEMENT_F16                    ? CU_MAP_FLOAT16
                         : m->element == ELEMENT_BF16                 ? CU_MAP_BFLOAT16
                         : element_table[m->element].block_bytes == 1 ? CU_MAP_UINT8
                                                                      : CU_MAP_UINT16;
        description one;
        cu_status status =
            describe(k, m, arrays, integers, &one)
                ? d->system->encode_map(&maps[i], type, (uint32_t)m->rank, one.address, one.extents, one.strides + 1, one.box,
                                        steps, 0, CU_MAP_SWIZZLE_128, CU_MAP_FETCH_256, 0)
                : 1;
        if (status)
            return cuda_fail(d, "a tensor map", status, diags);
    }
    return true;
}
