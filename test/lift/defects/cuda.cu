// The defects of the .cl files beside this one, as CUDA: all in one text, since it is compiled once.
#define T 8
#define GROUP 128
#define COLS 100

template <bool Last> __device__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[T][T], bs[T][T];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        bs[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += as[y][i] * bs[i][x];
        if (Last)
            __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
__global__ void loop_overwrites_broken(const float *a, const float *b, float *c, int n) { product<false>(a, b, c, n); }
__global__ void loop_overwrites_mended(const float *a, const float *b, float *c, int n) { product<true>(a, b, c, n); }

template <bool Apart> __device__ void masked(const int *mask, const float *x, float *y, int n)
{
    __shared__ int skip;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        if (threadIdx.x == 0)
            skip = mask[k];
        __syncthreads();
        int s = skip;
        if (Apart)
            __syncthreads();
        if (s)
            continue;
        sum += x[k * 32 + threadIdx.x];
    }
    y[blockIdx.x * 32 + threadIdx.x] = sum;
}
__global__ void mask_overwritten_broken(const int *mask, const float *x, float *y, int n) { masked<false>(mask, x, y, n); }
__global__ void mask_overwritten_mended(const int *mask, const float *x, float *y, int n) { masked<true>(mask, x, y, n); }

// The second reduction reuses the cells of the first.
__device__ float block_sum(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    float s = 0;
    for (int i = 0; i < GROUP; i++)
        s += part[i];
    return s;
}
template <bool Apart> __device__ void norm(const float *x, float *y, int n)
{
    __shared__ float part[GROUP];
    const float *row = x + (size_t)blockIdx.x * n;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += GROUP)
        s += row[i];
    float mean = block_sum(s, part) / n;
    if (Apart)
        __syncthreads();
    s = 0;
    for (int i = threadIdx.x; i < n; i += GROUP)
        s += (row[i] - mean) * (row[i] - mean);
    float v = block_sum(s, part);
    for (int i = threadIdx.x; i < n; i += GROUP)
        y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * rsqrtf(v / n + 1e-5f);
}
__global__ void norm_mean_broken(const float *x, float *y, int n) { norm<false>(x, y, n); }
__global__ void norm_mean_mended(const float *x, float *y, int n) { norm<true>(x, y, n); }

__global__ void overflow_broken(const unsigned char *x, unsigned char *y, long n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i];
}
__global__ void overflow_mended(const unsigned char *x, unsigned char *y, long n)
{
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i];
}

__global__ void rows_unwritten_broken(const float *x, float *y)
{
    int i = blockIdx.y * COLS + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COLS)
        y[i] = x[i] + 1;
}
__global__ void rows_unwritten_mended(const float *x, float *y)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * COLS + c;
    if (c < COLS)
        y[i] = x[i] + 1;
}

__global__ void scan_in_place_broken(float *x)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d)
            s[t] += s[t - d];
        __syncthreads();
    }
    x[blockIdx.x * 128 + t] = s[t];
}
__global__ void scan_in_place_mended(float *x)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    x[blockIdx.x * 128 + t] = s[t];
}

__global__ void skipped_barrier_broken(const float *x, float *y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i >= n)
        return;
    part[t] = x[i];
    __syncthreads();
    y[i] = part[t ^ 1];
}
__global__ void skipped_barrier_mended(const float *x, float *y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n)
        y[i] = part[t ^ 1];
}

__global__ void slice_past_end_broken(const float *x, float *y, int n)
{
    int first = blockIdx.x * 64;
    if (first < n)
        y[first + threadIdx.x] = 2 * x[first + threadIdx.x];
}
__global__ void slice_past_end_mended(const float *x, float *y, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}

template <bool Whole> __device__ void filled(const float *x, float *y, int n)
{
    extern __shared__ float tile[];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (Whole)
        tile[t] = 0;
    if (i < n)
        tile[t] = x[i];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += 0.0f * tile[k];
    if (i < n)
        y[i] = s;
}
__global__ void stale_cells_broken(const float *x, float *y, int n) { filled<false>(x, y, n); }
__global__ void stale_cells_mended(const float *x, float *y, int n) { filled<true>(x, y, n); }

__device__ void add(int *to, int x)
{
    if (to)
        *to += x;
}
__device__ void add_anyway(int *to, int x) { *to += x; }
__global__ void through_null_broken(int *y, int x)
{
    add_anyway(&y[blockIdx.x], x);
    if (x > 3)
        add_anyway(nullptr, x);
}
__global__ void through_null_mended(int *y, int x)
{
    add(&y[blockIdx.x], x);
    if (x > 3)
        add(nullptr, x);
}

__device__ int first(const int *p) { return p[threadIdx.x]; }
template <bool Apart> __device__ void shifted(int *y)
{
    __shared__ int s[65];
    s[threadIdx.x] = 0;
    __syncthreads();
    first(s);
    if (Apart)
        __syncthreads();
    s[threadIdx.x + 1] = 1;
    y[(size_t)blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x + 1];
}
__global__ void unused_read_broken(int *y) { shifted<false>(y); }
__global__ void unused_read_mended(int *y) { shifted<true>(y); }

// Lanes of a warp that each do a part, with and without meeting.
template <bool Meet> __device__ void halves(float *x)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    for (int d = 16; d > 0; d /= 2) {
        if (Meet)
            __syncwarp();
        float v = t % 32 + d < 32 ? s[t + d] : 0;
        if (Meet)
            __syncwarp();
        s[t] += v;
    }
    x[blockIdx.x * 64 + t] = s[t];
}
__global__ void warp_unmet_broken(float *x) { halves<false>(x); }
__global__ void warp_unmet_mended(float *x) { halves<true>(x); }

// A function chosen at the launch: broken where it is left null, and a place behind it that nobody should come by.
__device__ float twice(float v) { return v * 2; }
__device__ float half_of(float v) { return v / 2; }
template <bool All> __device__ void applied(float *x, int kind, int n)
{
    float (*f)(float) = nullptr;
    if (kind == 1)
        f = twice;
    else if (All || kind == 2)
        f = half_of;
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        x[i] = f(x[i]);
}
__global__ void called_unset_broken(float *x, int kind, int n) { applied<false>(x, kind, n); }
__global__ void called_unset_mended(float *x, int kind, int n) { applied<true>(x, kind, n); }
template <bool All> __device__ void by_size(float *x, int n)
{
    int i = threadIdx.x, part = i / 16;
    switch (part) {
    case 0:
    case 1: x[i] = 1; break;
    case 2: x[i] = 2; break;
    case 3:
        if (All) {
            x[i] = 3;
            break;
        }
    default: __builtin_unreachable();
    }
}
__global__ void no_way_on_broken(float *x, int n) { by_size<false>(x, n); }
__global__ void no_way_on_mended(float *x, int n) { by_size<true>(x, n); }

// A function that the launch gives, which it says to be one of two.
__global__ void given_unknown_broken(float *x, float (*f)(float), int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        x[i] = f(x[i]);
}
__global__ void given_unknown_mended(float *x, float (*f)(float), int n)
{
    __builtin_assume(f == twice | f == half_of);
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        x[i] = f(x[i]);
}

// What is stored was never set: the store is one like any other, and what it stores is no value.
__global__ void unset_stored_broken(int *y) { int v; y[threadIdx.x] = v; }
__global__ void unset_stored_mended(int *y) { int v = 1; y[threadIdx.x] = v; }

// Textures give anything; what is done with it is judged.
texture<float4, 2> pixels;
texture<unsigned char, 1, cudaReadModeNormalizedFloat> weights;
template <bool Guard> __device__ void texels(float *y, cudaTextureObject_t more, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 v = tex2D(pixels, i + 0.5f, 0.5f);
    if (!Guard || i < n)
        y[i] = v.y * tex1Dfetch(weights, i) + tex1Dfetch<float>(more, i);
}
__global__ void texel_past_end_broken(float *y, cudaTextureObject_t more, int n) { texels<false>(y, more, n); }
__global__ void texel_past_end_mended(float *y, cudaTextureObject_t more, int n) { texels<true>(y, more, n); }
