/* The Metal standard library as clang's C++ for OpenCL reads it, part 1: types. What the device does itself is a declared
 * function `air.WHAT.TYPE`; the rest is plain C++. A vector is a struct around clang's ext_vector_type, so that every cast and
 * constructor converts element by element, in templates too. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#define MSL_UNROLL
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef ulong uintptr_t;
typedef long intptr_t;
typedef __bf16 bfloat;

namespace metal {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;

// ---- type traits -------------------------------------------------------------------------------------------
template <class T, T v> struct integral_constant {
    static constexpr __constant T value = v;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const { return v; }
    constexpr T operator()() const { return v; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T> struct type_identity { using type = T; };
template <class T, class = void> using type_identity_t = typename type_identity<T>::type;
template <class T> struct remove_cv { using type = T; };
template <class T> struct remove_cv<const T> { using type = T; };
template <class T> struct remove_cv<volatile T> { using type = T; };
template <class T> struct remove_cv<const volatile T> { using type = T; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_const_t = typename remove_cv<T>::type;
template <class T> struct remove_addrspace { using type = T; };
#define MSL_AS(as)                                                                                                               \
    template <class T> struct remove_addrspace<as T> { using type = T; };                                                        \
    template <class T> struct remove_addrspace<const as T> { using type = const T; };
MSL_AS(__global)
MSL_AS(__constant) MSL_AS(__local) MSL_AS(__private) MSL_AS(__generic)
#undef MSL_AS
    template <class T>
    using remove_addrspace_t = typename remove_addrspace<T>::type;
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T &> { using type = T; };
template <class T> struct remove_reference<T &&> { using type = T; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_pointer { using type = T; };
template <class T> struct remove_pointer<T *> { using type = T; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using decay_t = remove_cv_t<remove_addrspace_t<remove_cv_t<remove_reference_t<T>>>>;
template <class T, class U> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T, class U> constexpr __constant bool is_same_v = is_same<T, U>::value;
template <class T> struct msl_kind { static constexpr __constant int k = 0; };
#define MSL_KIND(T, K)                                                                                                           \
    template <> struct msl_kind<T> { static constexpr __constant int k = K; };
MSL_KIND(bool, 1)
MSL_KIND(char, 3) MSL_KIND(signed char, 3) MSL_KIND(short, 3) MSL_KIND(int, 3) MSL_KIND(long, 3) MSL_KIND(uchar, 1)
    MSL_KIND(ushort, 1) MSL_KIND(uint, 1) MSL_KIND(ulong, 1) MSL_KIND(half, 4) MSL_KIND(float, 4) MSL_KIND(bfloat, 4)
#undef MSL_KIND
#define MSL_TRAIT(name, expr)                                                                                                    \
    template <class T> struct name : bool_constant<(expr)> {};                                                                   \
    template <class T> constexpr __constant bool name##_v = name<T>::value;
        MSL_TRAIT(is_integral, (msl_kind<decay_t<T>>::k & 1) != 0) MSL_TRAIT(is_floating_point, msl_kind<decay_t<T>>::k == 4)
            MSL_TRAIT(is_arithmetic, msl_kind<decay_t<T>>::k != 0) MSL_TRAIT(is_scalar, msl_kind<decay_t<T>>::k != 0)
                MSL_TRAIT(is_signed, msl_kind<decay_t<T>>::k >= 3) MSL_TRAIT(is_unsigned, msl_kind<decay_t<T>>::k == 1)
                    MSL_TRAIT(is_enum, __is_enum(T)) MSL_TRAIT(is_class, __is_class(T))
                        MSL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T)) MSL_TRAIT(is_const, __is_const(T))
                            MSL_TRAIT(is_pointer, __is_pointer(T)) MSL_TRAIT(is_reference, __is_reference(T))
                                MSL_TRAIT(is_void, __is_void(T)) template <class F, class T>
                                struct is_convertible : bool_constant<__is_convertible(F, T)> {
};
template <class F, class T> constexpr __constant bool is_convertible_v = __is_convertible(F, T);
template <class T, class... A> constexpr __constant bool is_constructible_v = __is_constructible(T, A...);
template <class B, class D> constexpr __constant bool is_base_of_v = __is_base_of(B, D);
template <class... B> struct _disjunction : bool_constant<(B::value || ...)> {};
template <class... B> struct _conjunction : bool_constant<(B::value && ...)> {};
template <class... B> struct disjunction : bool_constant<(B::value || ...)> {};
template <class... B> struct conjunction : bool_constant<(B::value && ...)> {};
template <class B> struct negation : bool_constant<!B::value> {};
template <class T> T declval();
using nullptr_t = decltype(nullptr);
template <class T> using uniform = T;
template <class T> constexpr T make_uniform(T x) { return x; }
template <class T> constexpr T msl_rv(T x) { return x; }
template <class To, class From> constexpr To msl_cast(From x) { // static_cast, and half <-> bfloat through float
    if constexpr ((is_same<To, half>::value && is_same<From, bfloat>::value) ||
                  (is_same<To, bfloat>::value && is_same<From, half>::value))
        return static_cast<To>(static_cast<float>(x));
    else
        return static_cast<To>(x);
}

template <class T> struct numeric_limits { static constexpr __constant bool is_specialized = false; };
#define MSL_LIM(T, lo, hi, dig, sgn, isint, inf, nan, eps, low)                                                                  \
    template <> struct numeric_limits<T> {                                                                                       \
        static constexpr __constant bool is_specialized = true, is_signed = sgn, is_integer = isint, has_infinity = !isint;      \
        static constexpr __constant int digits = dig;                                                                            \
        static constexpr T min() { return lo; }                                                                                  \
        static constexpr T max() { return hi; }                                                                                  \
        static constexpr T lowest() { return low; }                                                                              \
        static constexpr T infinity() { return inf; }                                                                            \
        static constexpr T quiet_NaN() { return nan; }                                                                           \
        static constexpr T epsilon() { return eps; }                                                                             \
    };
#define MSL_ILIM(T, lo, hi, d, s) MSL_LIM(T, lo, hi, d, s, true, 0, 0, 0, lo)
MSL_ILIM(bool, false, true, 1, false)
MSL_ILIM(char, -128, 127, 7, true) MSL_ILIM(signed char, -128, 127, 7, true) MSL_ILIM(uchar, 0, 255, 8, false)
    MSL_ILIM(short, -32768, 32767, 15, true) MSL_ILIM(ushort, 0, 65535, 16, false)
        MSL_ILIM(int, (-2147483647 - 1), 2147483647, 31, true) MSL_ILIM(uint, 0, 4294967295u, 32, false)
            MSL_ILIM(long, (-9223372036854775807L - 1), 9223372036854775807L, 63, true)
                MSL_ILIM(ulong, 0, 18446744073709551615UL, 64, false)
                    MSL_LIM(float, FLT_MIN, FLT_MAX, 24, true, false, INFINITY, NAN, FLT_EPSILON, -FLT_MAX)
                        MSL_LIM(half, (half)6.103515625e-05f, (half)65504.0f, 11, true, false, (half)INFINITY, (half)NAN,
                                (half)0.0009765625f, (half)-65504.0f)
                            MSL_LIM(bfloat, (bfloat)FLT_MIN, (bfloat)3.38953139e38f, 8, true, false, (bfloat)INFINITY,
                                    (bfloat)NAN, (bfloat)0.0078125f, (bfloat)-3.38953139e38f)
#undef MSL_LIM
#undef MSL_ILIM

    // ---- vectors: a struct, so that every C++ cast and constructor converts element by element --------------------
    template <class T>
    struct msl_store {
    using type = T;
};
template <> struct msl_store<bool> { using type = uchar; };
template <class T, int N> using msl_ext = typename msl_store<T>::type __attribute__((ext_vector_type(N)));
template <class T, int N> struct vec;
template <class T> struct msl_isvec {
    static constexpr __constant int n = 0;
    using e = T;
};
template <class T, int N> struct msl_isvec<vec<T, N>> {
    static constexpr __constant int n = N;
    using e = T;
};
template <class T> constexpr __constant bool msl_scalar = is_arithmetic<T>::value || __is_enum(T);
// components are union members: clang's __declspec(property), used for the longer swizzles, fails under a dependent "+="
#define MSL_XYZW2                                                                                                                \
    struct {                                                                                                                     \
        S x, y;                                                                                                                  \
    };                                                                                                                           \
    struct {                                                                                                                     \
        S r, g;                                                                                                                  \
    };
#define MSL_XYZW3                                                                                                                \
    struct {                                                                                                                     \
        S x, y, z;                                                                                                               \
    };                                                                                                                           \
    struct {                                                                                                                     \
        S r, g, b;                                                                                                               \
    };
#define MSL_XYZW4                                                                                                                \
    struct {                                                                                                                     \
        S x, y, z, w;                                                                                                            \
    };                                                                                                                           \
    struct {                                                                                                                     \
        S r, g, b, a;                                                                                                            \
    };
#define MSL_S2(name, i, j)                                                                                                       \
    __declspec(property(get = g_##name, put = p_##name)) vec<T, 2> name;                                                         \
    constexpr vec<T, 2> g_##name() const { return vec<T, 2>(T(d[i]), T(d[j])); }                                                 \
    void p_##name(vec<T, 2> v) {                                                                                                 \
        ((S *)&d)[i] = v.d[0];                                                                                                   \
        ((S *)&d)[j] = v.d[1];                                                                                                   \
    }
#define MSL_S3(name, i, j, k)                                                                                                    \
    __declspec(property(get = g_##name, put = p_##name)) vec<T, 3> name;                                                         \
    constexpr vec<T, 3> g_##name() const { return vec<T, 3>(T(d[i]), T(d[j]), T(d[k])); }                                        \
    void p_##name(vec<T, 3> v) {                                                                                                 \
        ((S *)&d)[i] = v.d[0];                                                                                                   \
        ((S *)&d)[j] = v.d[1];                                                                                                   \
        ((S *)&d)[k] = v.d[2];                                                                                                   \
    }
#define MSL_S4(name, i, j, k, l)                                                                                                 \
    __declspec(property(get = g_##name)) vec<T, 4> name;                                                                         \
    constexpr vec<T, 4> g_##name() const { return vec<T, 4>(T(d[i]), T(d[j]), T(d[k]), T(d[l])); }
#define MSL_SW2 MSL_S2(xy, 0, 1) MSL_S2(yx, 1, 0) MSL_S2(xx, 0, 0) MSL_S2(yy, 1, 1) MSL_S2(rg, 0, 1) MSL_S4(xyxy, 0, 1, 0, 1)
#define MSL_SW3                                                                                                                  \
    MSL_SW2 MSL_S2(xz, 0, 2) MSL_S2(yz, 1, 2) MSL_S2(zx, 2, 0) MSL_S2(zy, 2, 1) MSL_S3(xyz, 0, 1, 2) MSL_S3(rgb, 0, 1, 2)        \
        MSL_S3(zyx, 2, 1, 0) MSL_S3(yzx, 1, 2, 0) MSL_S3(zxy, 2, 0, 1)
#define MSL_SW4                                                                                                                  \
    MSL_SW3 MSL_S2(zw, 2, 3) MSL_S2(xw, 0, 3) MSL_S2(yw, 1, 3) MSL_S2(wz, 3, 2) MSL_S3(yzw, 1, 2, 3) MSL_S4(xyzw, 0, 1, 2, 3)    \
        MSL_S4(rgba, 0, 1, 2, 3) MSL_S4(wzyx, 3, 2, 1, 0) MSL_S4(zwxy, 2, 3, 0, 1) MSL_S4(yxwz, 1, 0, 3, 2)
#define MSL_OP(op)                                                                                                               \
    friend constexpr vec operator op(vec a, vec b) { return vec(a.d op b.d, msl_raw()); }                                        \
    vec operator op##=(vec b) {                                                                                                  \
        d = d op b.d;                                                                                                            \
        return *this;                                                                                                            \
    }
struct msl_raw {};
#define MSL_VEC(N, SW, ...)                                                                                                      \
    template <class T> struct vec<T, N> {                                                                                        \
        using S = typename msl_store<T>::type;                                                                                   \
        using E = msl_ext<T, N>;                                                                                                 \
        union {                                                                                                                  \
            E d;                                                                                                                 \
            MSL_XYZW##N                                                                                                          \
        };                                                                                                                       \
        using value_type = T;                                                                                                    \
        vec() = default;                                                                                                         \
        constexpr vec(E v, msl_raw) : d(v) {}                                                                                    \
        template <class X, class = enable_if_t<is_same<X, vec>::value>> constexpr vec(const __constant X &o) : d(o.d) {}         \
        template <class U, class = enable_if_t<msl_scalar<U>>> constexpr vec(U s) : d((S)(T)s) {}                                \
        __VA_ARGS__                                                                                                              \
        template <class U, class = enable_if_t<!is_same<U, T>::value>>                                                           \
        constexpr explicit vec(const vec<U, N> &o) : d(cv(o.d)) {}                                                               \
        template <class X> static constexpr E cv(X x) {                                                                          \
            if constexpr (is_same<T, bool>::value)                                                                               \
                return __builtin_convertvector(-(x != 0), E);                                                                    \
            else if constexpr (is_floating_point<T>::value && sizeof(x[0]) == 2)                                                 \
                return __builtin_convertvector(__builtin_convertvector(x, msl_ext<float, N>), E);                                \
            else                                                                                                                 \
                return __builtin_convertvector(x, E);                                                                            \
        }                                                                                                                        \
        SW constexpr T operator[](int i) const { return T(d[i]); }                                                               \
        constexpr T operator[](int i) const __constant { return T(d[i]); }                                                       \
        S &operator[](int i) { return ((S *)&d)[i]; }                                                                            \
        constexpr vec operator-() const { return vec(-d, msl_raw()); }                                                           \
        constexpr vec operator+() const { return *this; }                                                                        \
        constexpr vec operator~() const { return vec(~d, msl_raw()); }                                                           \
        constexpr vec<bool, N> operator!() const { return *this == vec(T(0)); }                                                  \
        vec operator++() {                                                                                                       \
            d += 1;                                                                                                              \
            return *this;                                                                                                        \
        }                                                                                                                        \
        vec operator--() {                                                                                                       \
            d -= 1;                                                                                                              \
            return *this;                                                                                                        \
        }                                                                                                                        \
        vec operator++(int) {                                                                                                    \
            vec o = *this;                                                                                                       \
            d += 1;                                                                                                              \
            return o;                                                                                                            \
        }                                                                                                                        \
        MSL_OP(+)                                                                                                                \
        MSL_OP(-) MSL_OP(*) MSL_OP(/) MSL_OP(%) MSL_OP(&) MSL_OP(|) MSL_OP(^) MSL_OP(<<) MSL_OP(>>) MSL_CMP(==, N)               \
            MSL_CMP(!=, N) MSL_CMP(<, N) MSL_CMP(>, N) MSL_CMP(<=, N) MSL_CMP(>=, N) friend constexpr vec<bool, N>               \
            operator&&(vec a, vec b) {                                                                                           \
            return (a != vec(T(0))) & (b != vec(T(0)));                                                                          \
        }                                                                                                                        \
        friend constexpr vec<bool, N> operator||(vec a, vec b) { return (a != vec(T(0))) | (b != vec(T(0))); }                   \
    };
#define MSL_CMP(op, N)                                                                                                           \
    friend constexpr vec<bool, N> operator op(vec a, vec b) {                                                                    \
        return vec<bool, N>(__builtin_convertvector(-(a.d op b.d), msl_ext<bool, N>), msl_raw());                                \
    }
MSL_VEC(2, MSL_SW2, constexpr vec(T a, T b) : d{(S)a, (S)b} {})
MSL_VEC(
    3, MSL_SW3, constexpr vec(T a, T b, T c)
    : d{(S)a, (S)b, (S)c} {} constexpr vec(vec<T, 2> a, T c)
    : d{a.d[0], a.d[1], (S)c} {} constexpr vec(T a, vec<T, 2> c)
    : d{(S)a, c.d[0], c.d[1]} {})
MSL_VEC(
    4, MSL_SW4, constexpr vec(T a, T b, T c, T e)
    : d{(S)a, (S)b, (S)c, (S)e} {} constexpr vec(T a, T b, T c)
    : d{(S)a, (S)b, (S)c, (S)0} {} constexpr vec(vec<T, 3> a, T c)
    : d{a.d[0], a.d[1], a.d[2], (S)c} {} constexpr vec(T c, vec<T, 3> a)
    : d{(S)c, a.d[0], a.d[1], a.d[2]} {} constexpr vec(vec<T, 2> a, vec<T, 2> c)
    : d{a.d[0], a.d[1], c.d[0], c.d[1]} {} constexpr vec(vec<T, 2> a, T c, T e)
    : d{a.d[0], a.d[1], (S)c, (S)e} {} constexpr vec(T c, T e, vec<T, 2> a)
    : d{(S)c, (S)e, a.d[0], a.d[1]} {})
#define MSL_XYZW8
#define MSL_XYZW16
MSL_VEC(8, , ) MSL_VEC(16, , )
// Elements by number, and since Metal 2.1 by name. Several at once (.xy) are not there.
template <class T, int N> struct packed_elements;
template <class T> struct packed_elements<T, 2> {
    union { T e[2]; struct { T x, y; }; struct { T r, g; }; };
};
template <class T> struct packed_elements<T, 3> {
    union { T e[3]; struct { T x, y, z; }; struct { T r, g, b; }; };
};
template <class T> struct packed_elements<T, 4> {
    union { T e[4]; struct { T x, y, z, w; }; struct { T r, g, b, a; }; };
};
template <class T, int N> struct packed_vec : packed_elements<T, N> {
    using packed_elements<T, N>::e;
    packed_vec() = default;
    constexpr packed_vec(vec<T, N> v) { MSL_UNROLL for (int i = 0; i < N; i++) e[i] = v[i]; }
    template <class U, class = enable_if_t<!is_same<U, T>::value>> constexpr explicit operator vec<U, N>() const {
        return vec<U, N>(vec<T, N>(*this));
    }
    constexpr operator vec<T, N>() const {
        vec<T, N> v;
        MSL_UNROLL for (int i = 0; i < N; i++) v[i] = e[i];
        return v;
    }
    constexpr T &operator[](int i) { return e[i]; }
    constexpr T operator[](int i) const { return e[i]; }
};

// ---- matrices ----------------------------------------------------------------------------------------------------
template <class T, int C, int R> struct matrix {
    using V = vec<T, R>;
    V c[C];
    matrix() = default;
    template <class X, class = enable_if_t<is_same<X, matrix>::value>> matrix(const __constant X &o) {
        MSL_UNROLL for (int i = 0; i < C; i++) c[i] = o.c[i];
    }
    template <class U, class = enable_if_t<!is_same<U, T>::value>> explicit matrix(const matrix<U, C, R> &o) {
        MSL_UNROLL for (int i = 0; i < C; i++) c[i] = V(o.c[i]);
    }
    explicit matrix(T s) {
        MSL_UNROLL for (int i = 0; i < C; i++) {
            c[i] = V(T(0));
            if (i < R)
                c[i][i] = s;
        }
    }
    template <class... A, class = enable_if_t<sizeof...(A) == C - 1>> matrix(V a, A... r) : c{a, r...} {}
    template <class... A, class = enable_if_t<sizeof...(A) == C * R - 1>> matrix(T a, A... r) {
        T x[] = {a, T(r)...};
        MSL_UNROLL for (int i = 0; i < C; i++) MSL_UNROLL for (int j = 0; j < R; j++) c[i][j] = x[i * R + j];
    }
    V &operator[](int i) { return c[i]; }
    const V &operator[](int i) const { return c[i]; }
    const __constant V &operator[](int i) const __constant { return c[i]; }
    friend matrix operator+(const matrix &a, const matrix &b) {
        matrix r;
        MSL_UNROLL for (int i = 0; i < C; i++) r.c[i] = a.c[i] + b.c[i];
        return r;
    }
    friend matrix operator-(const matrix &a, const matrix &b) {
        matrix r;
        MSL_UNROLL for (int i = 0; i < C; i++) r.c[i] = a.c[i] - b.c[i];
        return r;
    }
    friend matrix operator*(const matrix &a, T s) {
        matrix r;
        MSL_UNROLL for (int i = 0; i < C; i++) r.c[i] = a.c[i] * s;
        return r;
    }
    friend matrix operator*(T s, const matrix &a) { return a * s; }
    friend V operator*(const matrix &a, vec<T, C> v) {
        V r(T(0));
        MSL_UNROLL for (int i = 0; i < C; i++) r += a.c[i] * v[i];
        return r;
    }
};
template <class T, int C, int K, int R> matrix<T, C, R> operator*(const matrix<T, K, R> &a, const matrix<T, C, K> &b) {
    matrix<T, C, R> r;
    MSL_UNROLL for (int i = 0; i < C; i++) r.c[i] = a * b.c[i];
    return r;
}
template <class T, int C, int R> matrix<T, R, C> transpose(const matrix<T, C, R> &a) {
    matrix<T, R, C> r;
    MSL_UNROLL for (int i = 0; i < C; i++) MSL_UNROLL for (int j = 0; j < R; j++) r.c[j][i] = a.c[i][j];
    return r;
}

template <class T, int N> struct array {
    T e[N];
    T &operator[](size_t i) { return e[i]; }
    const T &operator[](size_t i) const { return e[i]; }
    static constexpr size_t size() { return N; }
};
template <class A, class B> struct pair {
    A first;
    B second;
};
} // namespace metal

// scalar-prefixed names are global in MSL
#define MSL_NAMES(t, T)                                                                                                          \
    using t##2 = metal::vec<T, 2>;                                                                                               \
    using t##3 = metal::vec<T, 3>;                                                                                               \
    using t##4 = metal::vec<T, 4>;                                                                                               \
    using packed_##t##2 = metal::packed_vec<T, 2>;                                                                               \
    using packed_##t##3 = metal::packed_vec<T, 3>;                                                                               \
    using packed_##t##4 = metal::packed_vec<T, 4>;                                                                               \
    namespace metal {                                                                                                            \
    using ::t##2;                                                                                                                \
    using ::t##3;                                                                                                                \
    using ::t##4;                                                                                                                \
    }
MSL_NAMES(bool, bool)
MSL_NAMES(char, char) MSL_NAMES(uchar, uchar) MSL_NAMES(short, short) MSL_NAMES(ushort, ushort) MSL_NAMES(int, int)
    MSL_NAMES(uint, uint) MSL_NAMES(long, long) MSL_NAMES(ulong, ulong) MSL_NAMES(half, half) MSL_NAMES(float, float)
        MSL_NAMES(bfloat, bfloat)
#define MSL_MATS(T)                                                                                                              \
    using T##2x2 = metal::matrix<T, 2, 2>;                                                                                       \
    using T##2x3 = metal::matrix<T, 2, 3>;                                                                                       \
    using T##2x4 = metal::matrix<T, 2, 4>;                                                                                       \
    using T##3x2 = metal::matrix<T, 3, 2>;                                                                                       \
    using T##3x3 = metal::matrix<T, 3, 3>;                                                                                       \
    using T##3x4 = metal::matrix<T, 3, 4>;                                                                                       \
    using T##4x2 = metal::matrix<T, 4, 2>;                                                                                       \
    using T##4x3 = metal::matrix<T, 4, 3>;                                                                                       \
    using T##4x4 = metal::matrix<T, 4, 4>;
            MSL_MATS(float) MSL_MATS(half)

    // what the launch fills in
namespace metal {
using native_uint2 = msl_ext<uint, 2>;
using native_uint3 = msl_ext<uint, 3>;
using native_uint4 = msl_ext<uint, 4>;
using native_ushort2 = msl_ext<ushort, 2>;
using native_ushort3 = msl_ext<ushort, 3>;
using native_ushort4 = msl_ext<ushort, 4>;
using native_int2 = msl_ext<int, 2>;
using native_int3 = msl_ext<int, 3>;
using native_short2 = msl_ext<short, 2>;
using native_short3 = msl_ext<short, 3>;
} // namespace metal

// as_type and bit casts
    template <class To, class From>
    constexpr To as_type(From f) {
    return __builtin_bit_cast(To, f);
}
namespace metal {
using ::as_type;
}
