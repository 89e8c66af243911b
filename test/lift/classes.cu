// Functors, namespaces, static members, constexpr functions, default arguments, overloads, a kernel in a namespace, lambdas on the device.
#include <functional>
#include <type_traits>
namespace math {
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
template <typename T> struct silu {
    static constexpr float one = 1.0f;
    __host__ __device__ T operator()(T x) const { return x / (one + expf(-x)); }
};
struct scale {
    float by;
    __device__ explicit scale(float b = 2.0f) : by(b) {}
    __device__ float operator()(float x) const { return x * by; }
};
template <class F, int per_thread = 4> __global__ void map(const float *in, float *out, int n, F f)
{
    auto place = [&](int k) { return (blockIdx.x * per_thread + k) * blockDim.x + threadIdx.x; };
    for (int k = 0; k < per_thread; ++k)
        if (unsigned i = place(k); i < (unsigned)n)
            out[i] = f(in[i]);
}
} // namespace math

class runner {
  public:
    explicit runner(int n) : n_(n) {}
    void go(const float *in, float *out) { math::map<math::silu<float>><<<math::ceil_div(n_, 4 * 256), 256>>>(in, out, n_, math::silu<float>()); }

  private:
    int n_;
};

void also(const float *in, float *out, int n)
{
    using op = math::scale;
    math::map<op, 2><<<1, 64>>>(in, out, n, op(3.0f));
}
