// One dynamic array carved into parts of several types, and arrays of two dimensions.
extern __shared__ __align__(16) unsigned char arena[];

#define TILE 16

extern "C" __global__ void __launch_bounds__(TILE *TILE) carve(const double *in, float *out, int n, int rows)
{
    double *wide = reinterpret_cast<double *>(arena);
    float *narrow = (float *)(wide + rows);
    __shared__ float tile[TILE][TILE + 1];
    const int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    if (threadIdx.x < rows)
        wide[threadIdx.x] = in[blockIdx.x * rows + threadIdx.x];
    __syncthreads();
    narrow[threadIdx.x] = (float)wide[threadIdx.x % rows];
    tile[y][x] = narrow[threadIdx.x];
    __syncthreads();
    if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n)
        out[i] = tile[x][y];
}
