/* Memory seen as elements of several widths, and integers of 16 and 64 bits in memory. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef struct { half scale; uchar codes[16]; } block; /* 32 numbers of 4 bits */

/* As quantised matrices are read: scales as halves, codes two bytes at a time. */
kernel void dot4(global const block *x, global const float *y, global float *out, int blocks)
{
    int row = get_global_id(0);
    float sum = 0;
    for (int b = 0; b < blocks; b++) {
        global const block *at = x + row * blocks + b;
        global const ushort *pairs = (global const ushort *)at->codes;
        float part = 0;
        for (int i = 0; i < 8; i++) {
            ushort p = pairs[i];
            part += y[32 * b + 2 * i] * ((p & 15) - 8.0f) + y[32 * b + 2 * i + 16] * (((p >> 4) & 15) - 8.0f);
            part += y[32 * b + 2 * i + 1] * (((p >> 8) & 15) - 8.0f) + y[32 * b + 2 * i + 17] * ((p >> 12) - 8.0f);
        }
        sum += part * (float)at->scale;
    }
    out[row] = sum;
}

/* Blocks written: a scale, then codes. */
kernel void quantise(global const float *x, global block *out)
{
    int b = get_global_id(0);
    float most = 0;
    for (int i = 0; i < 32; i++)
        most = fmax(most, fabs(x[32 * b + i]));
    float d = most / 7;
    out[b].scale = (half)d;
    for (int i = 0; i < 16; i++) {
        uchar low = (uchar)(x[32 * b + i] / d + 8.5f), high = (uchar)(x[32 * b + i + 16] / d + 8.5f);
        out[b].codes[i] = low | high << 4;
    }
}

/* One array of a group, as floats first and as halves then. */
kernel void half_sums(global const float *x, global float *out)
{
    local float words[32];
    local half *halves = (local half *)words;
    int i = get_local_id(0);
    words[i] = x[i] * 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    float before = words[31 - i];
    barrier(CLK_LOCAL_MEM_FENCE);
    halves[i] = (half)before;
    halves[i + 32] = (half)(before + 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = (float)halves[2 * i] + (float)halves[2 * i + 1];
}

/* A thread's own bytes, as words. */
kernel void own_bytes(global const uint *x, global uint *out)
{
    uchar bytes[8];
    int i = get_global_id(0);
    for (int j = 0; j < 4; j++) {
        bytes[j] = (uchar)(x[i] >> (24 - 8 * j));
        bytes[j + 4] = (uchar)(bytes[j] + j);
    }
    uint *words = (uint *)bytes;
    out[2 * i] = words[0];
    out[2 * i + 1] = words[1];
}

/* A word that begins between two: five bytes a record, the word behind the first. */
kernel void between(global const uchar *records, global uint *out)
{
    int i = get_global_id(0);
    struct __attribute__((packed)) record { uchar tag; uint word; };
    global const struct record *r = (global const struct record *)records;
    out[i] = r[i].word + r[i].tag;
}

kernel void shorts(global const short *x, global const ushort *u, global short *out)
{
    int i = get_global_id(0);
    out[i] = (short)(x[i] * 3 + (u[i] >> 3));
}

kernel void longs(global const long *at, global const float *x, global float *y, global long *next, int n)
{
    int i = get_global_id(0);
    long k = at[i];
    y[i] = x[k] + n;
    next[i] = k * 3 - 4000000000;
}

/* The bits of vectors, taken as numbers of other widths. */
kernel void joined(global const uchar4 *x, global float *out, global uchar *parts)
{
    int i = get_global_id(0);
    out[i] = as_float(x[i]) * 2;
    uchar4 p = as_uchar4(out[i] + 1);
    parts[i] = p.s3 ^ p.s0;
}

/* Structs as far apart in bytes as the launch says: their copies go by what they hold. */
kernel void pitched(global const float *x, global char *out, int pitch)
{
    int i = get_global_id(0);
    struct four { float at[4]; };
    struct four s;
    for (int j = 0; j < 4; j++)
        s.at[j] = x[4 * i + j];
    *(global struct four *)(out + i * pitch) = s;
}
