/* The Metal standard library, part 3: order, lanes of a SIMD group, matrices of a SIMD group, atomics.
 *
 *   void air.wg.barrier(i32 flags, i32 1), void air.simdgroup.barrier(i32 flags, i32 1): flags 1 device, 2 threadgroup memory
 *   void air.atomic.fence(i32 flags, i32 order, i32 scope)
 *   T air.simd_sum.T(T), ..._product, _min, _max, _and, _or, _xor, _prefix_inclusive_sum, _prefix_exclusive_sum, ...; quad_ alike
 *   T air.simd_shuffle.T(T, i16), _xor, _up, _down, _rotate_up, _rotate_down, _broadcast, _broadcast_first;
 * air.simd_shuffle_and_fill_up.T(T, T, i16, i16) i1 air.simd_all(i1), air.simd_any(i1), air.simd_is_first(), i64
 * air.simd_ballot(i1) ptr addrspace(3) air.threadgroup.alloc(i32 id, i32 bytes, i32 align): a threadgroup variable, one for each
 * id <2 x T> air.simdgroup_matrix_load.T.p1(ptr, i64 elements a row, i64 x, i64 y, i1 transposed), p3 from threadgroup memory;
 * void ..._store.T.p1(<2 x T>, ...) <2 x D> air.simdgroup_matrix_mma.D.A.B.C(<2 x D> unused, <2 x A>, <2 x B>, <2 x C>),
 * air.simdgroup_matrix_fill.T(T), ..._diagonal.T(T) a lane's two elements of an 8x8 matrix: row ((l>>1)&3) + ((l&16)>>2), columns
 * 2(l&1) + ((l&8)>>1) + {0,1} */
namespace metal {
// synchronisation
enum class mem_flags : uint {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return (mem_flags)((uint)a | (uint)b); }
enum memory_order {
    memory_order_relaxed = 0,
    memory_order_acquire = 2,
    memory_order_release = 3,
    memory_order_acq_rel = 4,
    memory_order_seq_cst = 5
};
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };
extern "C" void air_wg_barrier(uint flags, uint scope) __asm__("air.wg.barrier");
extern "C" void air_simdgroup_barrier(uint flags, uint scope) __asm__("air.simdgroup.barrier");
extern "C" void air_fence(uint flags, uint order, uint scope) __asm__("air.atomic.fence");
inline void threadgroup_barrier(mem_flags f) { air_wg_barrier((uint)f, 1); }
inline void threadgroup_barrier(mem_flags f, thread_scope) { air_wg_barrier((uint)f, 1); }
inline void simdgroup_barrier(mem_flags f) { air_simdgroup_barrier((uint)f, 1); }
inline void atomic_thread_fence(mem_flags f, memory_order o, thread_scope s = thread_scope_device) { air_fence((uint)f, o, s); }
// threadgroup storage of a non-kernel or template function: rewriting turns declarations into this
extern "C" __local void *air_tg_alloc(uint id, uint bytes, uint align) __asm__("air.threadgroup.alloc");
template <class A> __local A &msl_tg(uint id) { return *(__local A *)air_tg_alloc(id, sizeof(A), alignof(A)); }

// SIMD group and quad group
#define MSL_SG(HEAD, P, T, s, g)                                                                                                 \
    T air_##g##_sum(T) __asm__("air." #g "_sum." #s);                                                                            \
    T air_##g##_product(T) __asm__("air." #g "_product." #s);                                                                    \
    T air_##g##_min(T) __asm__("air." #g "_min." #s);                                                                            \
    T air_##g##_max(T) __asm__("air." #g "_max." #s);                                                                            \
    T air_##g##_psum(T) __asm__("air." #g "_prefix_inclusive_sum." #s);                                                          \
    T air_##g##_xsum(T) __asm__("air." #g "_prefix_exclusive_sum." #s);                                                          \
    T air_##g##_pprod(T) __asm__("air." #g "_prefix_inclusive_product." #s);                                                     \
    T air_##g##_xprod(T) __asm__("air." #g "_prefix_exclusive_product." #s);                                                     \
    T air_##g##_shuffle(T, ushort) __asm__("air." #g "_shuffle." #s);                                                            \
    T air_##g##_shuffle_xor(T, ushort) __asm__("air." #g "_shuffle_xor." #s);                                                    \
    T air_##g##_shuffle_up(T, ushort) __asm__("air." #g "_shuffle_up." #s);                                                      \
    T air_##g##_shuffle_down(T, ushort) __asm__("air." #g "_shuffle_down." #s);                                                  \
    T air_##g##_rotu(T, ushort) __asm__("air." #g "_shuffle_rotate_up." #s);                                                     \
    T air_##g##_rotd(T, ushort) __asm__("air." #g "_shuffle_rotate_down." #s);                                                   \
    T air_##g##_fillu(T, T, ushort, ushort) __asm__("air." #g "_shuffle_and_fill_up." #s);                                       \
    T air_##g##_filld(T, T, ushort, ushort) __asm__("air." #g "_shuffle_and_fill_down." #s);                                     \
    T air_##g##_broadcast(T, ushort) __asm__("air." #g "_broadcast." #s);                                                        \
    T air_##g##_first(T) __asm__("air." #g "_broadcast_first." #s);                                                              \
    HEAD g##_sum(P x) { return air_##g##_sum(x); }                                                                               \
    HEAD g##_product(P x) { return air_##g##_product(x); }                                                                       \
    HEAD g##_min(P x) { return air_##g##_min(x); }                                                                               \
    HEAD g##_max(P x) { return air_##g##_max(x); }                                                                               \
    HEAD g##_prefix_inclusive_sum(P x) { return air_##g##_psum(x); }                                                             \
    HEAD g##_prefix_exclusive_sum(P x) { return air_##g##_xsum(x); }                                                             \
    HEAD g##_prefix_inclusive_product(P x) { return air_##g##_pprod(x); }                                                        \
    HEAD g##_prefix_exclusive_product(P x) { return air_##g##_xprod(x); }                                                        \
    HEAD g##_shuffle(P x, ushort i) { return air_##g##_shuffle(x, i); }                                                          \
    HEAD g##_shuffle_xor(P x, ushort i) { return air_##g##_shuffle_xor(x, i); }                                                  \
    HEAD g##_shuffle_up(P x, ushort i) { return air_##g##_shuffle_up(x, i); }                                                    \
    HEAD g##_shuffle_down(P x, ushort i) { return air_##g##_shuffle_down(x, i); }                                                \
    HEAD g##_shuffle_rotate_up(P x, ushort i) { return air_##g##_rotu(x, i); }                                                   \
    HEAD g##_shuffle_rotate_down(P x, ushort i) { return air_##g##_rotd(x, i); }                                                 \
    HEAD g##_shuffle_and_fill_up(P x, P f, ushort i, ushort m = 32) { return air_##g##_fillu(x, f, i, m); }                      \
    HEAD g##_shuffle_and_fill_down(P x, P f, ushort i, ushort m = 32) { return air_##g##_filld(x, f, i, m); }                    \
    HEAD g##_broadcast(P x, ushort i) { return air_##g##_broadcast(x, i); }                                                      \
    HEAD g##_broadcast_first(P x) { return air_##g##_first(x); }
#define MSL_SG_S(T, s) MSL_SG(inline T, T, T, s, simd)
#define MSL_SG_Q(T, s) MSL_SG(inline T, T, T, s, quad)
#define MSL_SGB_S(T, s)                                                                                                          \
    T air_simd_and(T) __asm__("air.simd_and." #s);                                                                               \
    T air_simd_or(T) __asm__("air.simd_or." #s);                                                                                 \
    T air_simd_xor(T) __asm__("air.simd_xor." #s);                                                                               \
    inline T simd_and(T x) { return air_simd_and(x); }                                                                           \
    inline T simd_or(T x) { return air_simd_or(x); }                                                                             \
    inline T simd_xor(T x) { return air_simd_xor(x); }
#define MSL_LANE(X) X(float, f32) X(half, f16) X(char, i8) X(uchar, u8) X(short, i16) X(ushort, u16) X(int, i32) X(uint, u32)
MSL_LANE(MSL_SG_S)
MSL_SG(MSL_BFLOAT, B, bfloat, bf16, simd)
MSL_SG(MSL_BFLOAT, B, bfloat, bf16, quad)
MSL_LANE(MSL_SG_Q) MSL_INTS(MSL_SGB_S)
#define MSL_LIFTI(fn)                                                                                                            \
    template <class T, int N> inline vec<T, N> fn(vec<T, N> a, ushort k) {                                                       \
        vec<T, N> r;                                                                                                             \
        MSL_UNROLL for (int i = 0; i < N; i++) r[i] = fn(T(a.d[i]), k);                                                          \
        return r;                                                                                                                \
    }
#define MSL_LIFTF(fn)                                                                                                            \
    template <class T, int N> inline vec<T, N> fn(vec<T, N> a, vec<T, N> b, ushort k) {                                          \
        vec<T, N> r;                                                                                                             \
        MSL_UNROLL for (int i = 0; i < N; i++) r[i] = fn(T(a.d[i]), T(b.d[i]), k);                                               \
        return r;                                                                                                                \
    }
    MSL_LIFTF(simd_shuffle_and_fill_up) MSL_LIFTF(simd_shuffle_and_fill_down) MSL_LIFT1(simd_sum) MSL_LIFT1(simd_max)
        MSL_LIFT1(simd_min) MSL_LIFT1(simd_product) MSL_LIFTI(simd_shuffle) MSL_LIFTI(simd_shuffle_xor) MSL_LIFTI(simd_shuffle_up)
            MSL_LIFTI(simd_shuffle_down) MSL_LIFTI(simd_broadcast) MSL_LIFT1(simd_broadcast_first) MSL_LIFT1(quad_sum)
                MSL_LIFTI(quad_shuffle_xor) MSL_LIFTI(simd_shuffle_rotate_up) MSL_LIFTI(simd_shuffle_rotate_down)
                    MSL_LIFT1(simd_prefix_exclusive_sum)
                        MSL_LIFT1(simd_prefix_inclusive_sum) extern "C" bool air_simd_all(bool) __asm__("air.simd_all");
extern "C" bool air_simd_any(bool) __asm__("air.simd_any");
extern "C" bool air_simd_first(void) __asm__("air.simd_is_first");
extern "C" ulong air_simd_ballot(bool) __asm__("air.simd_ballot");
inline bool simd_all(bool x) { return air_simd_all(x); }
inline bool simd_any(bool x) { return air_simd_any(x); }
inline bool simd_is_first() { return air_simd_first(); }
struct simd_vote {
    ulong v;
    using vote_t = ulong;
    explicit constexpr simd_vote(ulong x = 0) : v(x) {}
    constexpr explicit operator vote_t() const { return v; }
    bool all() const { return v == 0xffffffffUL; }
    bool any() const { return v != 0; }
};
inline simd_vote simd_ballot(bool x) { return simd_vote(air_simd_ballot(x)); }
extern "C" AIR_PURE uint air_lane(void) __asm__("air.thread_index_in_simdgroup");
extern "C" AIR_PURE uint air_simd_size(void) __asm__("air.threads_per_simdgroup");

inline ushort __metal_get_thread_index_in_simdgroup(ushort) { return air_lane(); }
inline ushort __metal_get_simdgroup_size(ushort) { return air_simd_size(); }
// SIMD-group matrices: a fragment of two elements a thread
template <class T, int C = 8, int R = 8> struct simdgroup_matrix {
    vec<T, 2> e;
    simdgroup_matrix() = default;
    explicit simdgroup_matrix(T diag);
    __private vec<T, 2> &thread_elements() { return *(__private vec<T, 2> *)&e; }
    const __private vec<T, 2> &thread_elements() const { return *(const __private vec<T, 2> *)&e; }
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;
#define MSL_SGM_LS(T, s, as, a)                                                                                                  \
    msl_ext<T, 2> air_sgm_load(const as T *, ulong, ulong, ulong, bool) __asm__("air.simdgroup_matrix_load." #s "." a);          \
    void air_sgm_store(msl_ext<T, 2>, as T *, ulong, ulong, ulong, bool) __asm__("air.simdgroup_matrix_store." #s "." a);        \
    inline void simdgroup_load(simdgroup_matrix<T, 8, 8> &d, const as T *p, ulong ld = 8, ulong2 o = ulong2(0),                  \
                               bool tr = false) {                                                                                \
        d.e.d = air_sgm_load(p, ld, o.x, o.y, tr);                                                                               \
    }                                                                                                                            \
    inline void simdgroup_store(const simdgroup_matrix<T, 8, 8> &d, as T *p, ulong ld = 8, ulong2 o = ulong2(0), bool tr = false) {     \
        air_sgm_store(d.e.d, p, ld, o.x, o.y, tr);                                                                               \
    }
#define MSL_SGM(T, s)                                                                                                            \
    MSL_SGM_LS(T, s, __global, "p1")                                                                                             \
    MSL_SGM_LS(T, s, __local, "p3") msl_ext<T, 2> air_sgm_fill(T) __asm__("air.simdgroup_matrix_fill." #s);                      \
    msl_ext<T, 2> air_sgm_diag(T) __asm__("air.simdgroup_matrix_diagonal." #s);
MSL_FLOATS(MSL_SGM)
template <class T, int C, int R> simdgroup_matrix<T, C, R>::simdgroup_matrix(T x) { e.d = air_sgm_diag(x); }
template <class T, int C, int R = C> inline simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T x) {
    simdgroup_matrix<T, C, R> r;
    r.e.d = air_sgm_fill(x);
    return r;
}
#define MSL_MMA(D, A, B, C, s)                                                                                                   \
    msl_ext<D, 2> air_sgm_mma(msl_ext<D, 2>, msl_ext<A, 2>, msl_ext<B, 2>, msl_ext<C, 2>) __asm__("air.simdgroup_matrix_"        \
                                                                                                  "mma." s);
#define MSL_MMA2(A, B, s)                                                                                                        \
    MSL_MMA(float, A, B, float, "f32." s ".f32")                                                                                 \
    MSL_MMA(half, A, B, half, "f16." s ".f16") MSL_MMA(bfloat, A, B, bfloat, "bf16." s ".bf16")                                  \
        MSL_MMA(float, A, B, half, "f32." s ".f16")
MSL_MMA2(float, float, "f32.f32")
MSL_MMA2(half, half, "f16.f16") MSL_MMA2(bfloat, bfloat, "bf16.bf16") MSL_MMA2(half, float, "f16.f32")
    MSL_MMA2(float, half, "f32.f16") MSL_MMA2(bfloat, float, "bf16.f32") MSL_MMA2(float, bfloat, "f32.bf16")
        MSL_MMA2(half, bfloat, "f16.bf16") MSL_MMA2(bfloat, half, "bf16.f16") template <class D, class A, class B, class C>
        inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                                  const simdgroup_matrix<B, 8, 8> &b, const simdgroup_matrix<C, 8, 8> &c) {
    d.e.d = air_sgm_mma(msl_ext<D, 2>(0), a.e.d, b.e.d, c.e.d);
}
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                               const simdgroup_matrix<B, 8, 8> &b) {
    d.e.d = air_sgm_mma(msl_ext<D, 2>(0), a.e.d, b.e.d, msl_ext<D, 2>(0));
}
template <class T> inline simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8> &a, const simdgroup_matrix<T, 8, 8> &b) {
    simdgroup_matrix<T, 8, 8> r;
    simdgroup_multiply(r, a, b);
    return r;
}

// atomics: plain storage, clang's scoped builtins -> LLVM atomicrmw / cmpxchg
template <class T> using msl_word = conditional_t<sizeof(T) == 1, uchar, conditional_t<sizeof(T) == 4, uint, ulong>>;
struct execution_simdgroup {};
struct execution_thread {};
template <int N> struct execution_simdgroups {};
template <class T> struct _atomic { T v; };
template <class T> struct atomic { T v; };
#define atomic_int msl_atomic_int
#define atomic_uint msl_atomic_uint
#define atomic_bool msl_atomic_bool
#define atomic_float msl_atomic_float
#define atomic_ulong msl_atomic_ulong
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;
#define MSL_ATOM_AS(as, cv)                                                                                                      \
    template <class T> inline T atomic_load_explicit(const cv as atomic<T> *p, memory_order) {                                   \
        return __builtin_bit_cast(T, __scoped_atomic_load_n((const cv as msl_word<T> *)&p->v, 0, __MEMORY_SCOPE_DEVICE));        \
    }                                                                                                                            \
    template <class T> inline void atomic_store_explicit(cv as atomic<T> *p, type_identity_t<T, void> x, memory_order) {         \
        __scoped_atomic_store_n((cv as msl_word<T> *)&p->v, __builtin_bit_cast(msl_word<T>, x), 0, __MEMORY_SCOPE_DEVICE);       \
    }                                                                                                                            \
    template <class T> inline T atomic_exchange_explicit(cv as atomic<T> *p, type_identity_t<T, void> x, memory_order) {         \
        return __builtin_bit_cast(T, __scoped_atomic_exchange_n((cv as msl_word<T> *)&p->v, __builtin_bit_cast(msl_word<T>, x),  \
                                                                0, __MEMORY_SCOPE_DEVICE));                                      \
    }                                                                                                                            \
    template <class T>                                                                                                           \
    inline bool atomic_compare_exchange_weak_explicit(cv as atomic<T> *p, __private T *e, type_identity_t<T, void> x,            \
                                                      memory_order, memory_order) {                                              \
        msl_word<T> w = __builtin_bit_cast(msl_word<T>, *e);                                                                     \
        bool ok = __scoped_atomic_compare_exchange_n((cv as msl_word<T> *)&p->v, &w, __builtin_bit_cast(msl_word<T>, x), true,   \
                                                     0, 0, __MEMORY_SCOPE_DEVICE);                                               \
        *e = __builtin_bit_cast(T, w);                                                                                           \
        return ok;                                                                                                               \
    }                                                                                                                            \
    MSL_ATOM_OP(add, as, cv)                                                                                                     \
    MSL_ATOM_OP(sub, as, cv) MSL_ATOM_OP(and, as, cv) MSL_ATOM_OP(or, as, cv) MSL_ATOM_OP(xor, as, cv) MSL_ATOM_OP(min, as, cv)  \
        MSL_ATOM_OP(max, as, cv)
#define MSL_ATOM_OP(op, as, cv)                                                                                                  \
    template <class T> inline T atomic_fetch_##op##_explicit(cv as atomic<T> *p, type_identity_t<T, void> x, memory_order) {     \
        return __scoped_atomic_fetch_##op(&p->v, x, 0, __MEMORY_SCOPE_DEVICE);                                                   \
    }
MSL_ATOM_AS(__global, )
MSL_ATOM_AS(__local, ) MSL_ATOM_AS(__global, volatile) MSL_ATOM_AS(__local, volatile)

    struct os_log {
    constexpr os_log(const __constant char *, const __constant char *) __constant {}
    constexpr os_log(const __constant char *, const __constant char *) {}
    template <class... A> void log_debug(const __constant char *, A...) const {}
    template <class... A> void log_debug(const __constant char *, A...) const __constant {}
};
} // namespace metal
using metal::uniform;
namespace simd = metal;
