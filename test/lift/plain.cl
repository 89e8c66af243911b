// OpenCL C: qualifiers, local arrays and arguments, vectors, an attribute, a helper, images that nothing reads.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef struct { float a; int b[3]; } options_t;
__constant float weights[3] = {0.25f, 0.5f, 0.25f};
static inline float at(__global const float *p, int i, int n) { return p[clamp(i, 0, n - 1)]; }

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void blur(global const float *restrict in, global float4 *out, local float *row,
                                                                   int n, const options_t o, constant half *h)
{
    local float edge[2];
    const int i = get_global_id(0), l = get_local_id(0);
    row[l] = at(in, i + o.b[1], n);
    if (l < 2)
        edge[l] = vload_half(0, h);
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 v = (float4)(row[l], row[63 - l], edge[l & 1], weights[l % 3]);
    if (i < n)
        out[i] = convert_float4(convert_int4_sat(v)) * o.a + native_exp(v).wzyx;
}

kernel void picture(read_only image2d_t image, sampler_t sampler, global float4 *out)
{
    out[0] = read_imagef(image, sampler, (float2)(0.5f, 0.5f));
}
