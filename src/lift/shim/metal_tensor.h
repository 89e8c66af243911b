/* MetalPerformancePrimitives' matrix multiply of a SIMD group, as calls of a function that is never defined. */
namespace mpp {
namespace tensor_ops {
struct matmul2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
    int m, n, k;
    bool transposed_left, transposed_right, relaxed;
    mode how;
    constexpr matmul2d_descriptor(int m, int n, int k, bool left = false, bool right = false, bool relaxed = false, mode how = mode::multiply)
        : m(m), n(n), k(k), transposed_left(left), transposed_right(right), relaxed(relaxed), how(how) {}
    /* A template argument must be a number in C++17. */
    constexpr operator ulong() const {
        return (ulong)m | (ulong)n << 16 | (ulong)k << 32 | (ulong)transposed_left << 48 | (ulong)transposed_right << 49 | (ulong)relaxed << 50 |
               (ulong)(how == mode::multiply_accumulate) << 51;
    }
};
template <class T, int N> struct cooperative_tensor {
    using S = typename metal::msl_store<T>::type;
    metal::msl_ext<T, N> e;
    S &operator[](int i) { return ((S *)&e)[i]; }
    S operator[](int i) const { return e[i]; }
    static constexpr ushort get_capacity() { return N; }
};
template <class D, class A, class B> D air_matmul2d(ulong descriptor, A a, B b, D c);
template <ulong D, class Scope> struct matmul2d {
    static constexpr int M = D & 0xffff, N = D >> 16 & 0xffff, K = D >> 32 & 0xffff;
    template <class A, class B, class C> auto get_left_input_cooperative_tensor() { return cooperative_tensor<A, M * K / 32>(); }
    template <class A, class B, class C> auto get_right_input_cooperative_tensor() { return cooperative_tensor<B, K * N / 32>(); }
    template <class A, class B, class C> auto get_destination_cooperative_tensor() { return cooperative_tensor<C, M * N / 32>(); }
    template <class A, class B, class C> void run(A &a, B &b, C &c) { c.e = air_matmul2d(D, a.e, b.e, c.e); }
};
} // namespace tensor_ops
} // namespace mpp
