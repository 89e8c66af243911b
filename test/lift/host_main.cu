// A whole program: host headers that are not there, host globals, error macros, main. Only the kernel is read.
#include <cstdio>
#include <vector>
#include <string>
#include <cuda_runtime.h>
#include <thrust/device_vector.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status));         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static std::vector<std::string> names = {"a", "b"};
cudaStream_t stream = nullptr;
typedef std::vector<float> host_array;
struct options {
    std::string path;
    int n = 1 << 20;
};
options parse(int argc, char **argv);

__global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}

static void verify(const host_array &x)
{
    for (float v : x)
        if (v != 4.0f)
            printf("wrong: %f\n", v);
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    host_array x(o.n, 1.0f);
    float *dx, *dy;
    CHECK(cudaMalloc(&dx, o.n * sizeof(float)));
    CHECK(cudaMalloc(&dy, o.n * sizeof(float)));
    thrust::device_vector<float> unused(10);
    saxpy<<<(o.n + 255) / 256, 256, 0, stream>>>(o.n, 2.0f, dx, dy);
    CHECK(cudaDeviceSynchronize());
    verify(x);
    return 0;
}
