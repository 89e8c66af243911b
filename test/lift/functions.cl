// What test/lift/functions.py holds against NumPy: functions of bits, and of angles and small numbers.
__kernel void bits(__global const uint *x, __global const uint *y, __global const ulong *w, __global int *out) {
    int i = get_global_id(0);
    uint a = x[i], b = y[i];
    __global int *o = out + 16 * i;
    o[0] = popcount(a);
    o[1] = clz(a);
    o[2] = ctz(a);
    o[3] = mul_hi(a, b);
    o[4] = mul_hi((int)a, (int)b);
    o[5] = rotate(a, b);
    o[6] = popcount(w[i]);
    o[7] = clz(w[i]);
    o[8] = rotate((uchar)a, (uchar)b);
    o[9] = clz((ushort)a);
    o[10] = mul_hi((short)a, (short)b);
    o[11] = mad_hi(a, b, a);
    o[12] = popcount((uchar)a);
    o[13] = ctz((uchar)(a >> 24));
    o[14] = mul_hi((uchar)a, (uchar)b);
    o[15] = clz((int)get_local_id(0));
}
__kernel void angles(__global const float *x, __global const float *y, __global float *out) {
    int i = get_global_id(0);
    float a = x[i], b = y[i];
    __global float *o = out + 16 * i;
    o[0] = asin(a);
    o[1] = acos(a);
    o[2] = atan(b);
    o[3] = atan2(b, a);
    o[4] = asinh(b);
    o[5] = acosh(1 + fabs(b));
    o[6] = atanh(a);
    o[7] = sinpi(b);
    o[8] = cospi(b);
    o[9] = tanpi(a);
    o[10] = expm1(b);
    o[11] = log1p(fabs(b) - 0.5f * a);
    o[12] = cbrt(b);
    o[13] = copysign(a, b);
    o[14] = isfinite(b) ? 1 : 0;
    o[15] = atan2(a, b);
}
