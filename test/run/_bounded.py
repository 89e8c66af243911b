"""Values with error bounds, in f64: what a correct f32 evaluation may differ by, derived from the textbook rules.

Written from the mathematics, apart from tilec's own oracle: every rule is the standard forward error analysis with unit roundoff
u = 2^-24. A sum of n terms in any order whatever is off by at most gamma_{n-1} times the sum of magnitudes (Higham, Accuracy and
Stability of Numerical Algorithms, 4.2); a function evaluated within `ulps` units in the last place adds ulps * 2^-23 relative.
"""
import numpy as np

U = 2.0 ** -24
TINY = 2.0 ** -149
FUNCTION_ULPS = 4  # exp, log, tanh, erf, sin, cos, rsqrt of any sound library stay below this
np.seterr(all="ignore")


def gamma(n):
    n = max(int(n), 1)
    return n * U / (1 - n * U)


class Bounded:
    """value: f64; error: |what f32 arithmetic gives - value| is at most this."""

    def __init__(self, value, error=0.0):
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.broadcast_to(np.asarray(error, dtype=np.float64), self.value.shape)

    def rounded(self, value, error, ulps=0.5):
        magnitude = np.abs(value) + error
        return Bounded(value, error + 2 * ulps * U * magnitude + TINY)

    def __add__(self, other):
        other = lift(other)
        return self.rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other):
        other = lift(other)
        return self.rounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other):
        other = lift(other)
        error = np.abs(self.value) * other.error + np.abs(other.value) * self.error + self.error * other.error
        return self.rounded(self.value * other.value, error)

    def __truediv__(self, other):
        other = lift(other)
        value = self.value / other.value
        least = np.abs(other.value) - other.error
        error = np.where(least > 0, (self.error + np.abs(value) * other.error) / least, np.inf)
        return self.rounded(value, error)

    __radd__ = __add__

    def __rmul__(self, other):
        return lift(other) * self

    def __rsub__(self, other):
        return lift(other) - self

    def __rtruediv__(self, other):
        return lift(other) / self

    def __neg__(self):
        return Bounded(-self.value, self.error)

    def __getitem__(self, at):
        return Bounded(self.value[at], self.error[at])

    @property
    def T(self):
        return Bounded(self.value.T, self.error.T)

    @property
    def shape(self):
        return self.value.shape

    def reshape(self, *shape):
        return Bounded(self.value.reshape(*shape), self.error.reshape(*shape))

    def sum(self, axis):
        n = self.value.shape[axis]
        value = self.value.sum(axis)
        error = self.error.sum(axis)
        return Bounded(value, error + gamma(n) * (np.abs(self.value) + self.error).sum(axis) + n * TINY)

    def max(self, axis):
        n = self.value.shape[axis]
        if n == 0:
            return Bounded(np.full(np.delete(self.value.shape, axis), -np.inf))
        return Bounded(self.value.max(axis), self.error.max(axis))

    def exp(self):
        value = np.exp(self.value)
        return self.rounded(value, value * np.expm1(self.error), FUNCTION_ULPS)

    def erf(self):
        # |erf'| <= 2 / sqrt(pi) exp(-x^2), largest at the point of the interval nearest to zero
        nearest = np.maximum(np.abs(self.value) - self.error, 0)
        return self.rounded(erf(self.value), self.error * 1.1283791670955126 * np.exp(-nearest ** 2), FUNCTION_ULPS)

    def sin(self):
        return self.rounded(np.sin(self.value), self.error, FUNCTION_ULPS)

    def cos(self):
        return self.rounded(np.cos(self.value), self.error, FUNCTION_ULPS)

    def tanh(self):
        return self.rounded(np.tanh(self.value), self.error, FUNCTION_ULPS)

    def rsqrt(self):
        value = 1 / np.sqrt(self.value)
        least = self.value - self.error
        error = np.where(least > 0, 1 / np.sqrt(np.maximum(least, TINY)) - value, np.inf)
        return self.rounded(value, error, FUNCTION_ULPS)

    def to_f16(self):
        # half a unit of an 11-bit significand, or half the smallest subnormal, 2^-25
        magnitude = np.abs(self.value) + self.error
        exact = (self.error == 0) & (self.value == self.value.astype(np.float16).astype(np.float64))
        return Bounded(self.value, np.where(exact, 0, self.error + 2.0 ** -11 * magnitude + 2.0 ** -25))


def lift(x):
    return x if isinstance(x, Bounded) else Bounded(x)


def matmul(a, b):
    """a @ b over the last axis of a and the last but one of b, products rounded or not, summed in any order."""
    a, b = lift(a), lift(b)
    n = a.shape[-1]
    absolute_a, absolute_b = np.abs(a.value) + a.error, np.abs(b.value) + b.error
    error = absolute_a @ absolute_b - np.abs(a.value) @ np.abs(b.value)
    # the subtraction above cancels; its own rounding in f64 is covered by this small share of the magnitudes
    scale = absolute_a @ absolute_b
    return Bounded(a.value @ b.value, error + (gamma(n + 1) + 2.0 ** -45) * scale + (n + 1) * TINY)


# W. J. Cody's rational approximations are not needed: math.erf is the C library's, in f64.
_erf = np.frompyfunc(__import__("math").erf, 1, 1)


def erf(x):
    return np.asarray(_erf(x), dtype=np.float64)


def silu(x):
    return x / (1 + (-x).exp())


def gelu(x):
    return 0.5 * x * (1 + (x * 0.7071067811865476).erf())


def compare(got, expected):
    """Every element: returns (worst error / bound, index of the worst). NaN matches NaN only, an infinity itself only."""
    got = np.asarray(got, dtype=np.float64)
    if got.shape != expected.shape:
        return np.inf, f"shape {got.shape} instead of {expected.shape}"
    value, error = expected.value, expected.error
    difference = np.abs(got - value)
    ratio = np.where(difference == 0, 0, difference / np.where(error == 0, TINY, error))
    both_nan = np.isnan(got) & np.isnan(value)
    same_infinity = np.isinf(value) & (got == value)
    ratio = np.where(both_nan | same_infinity, 0, ratio)
    # an infinite bound would accept anything: whoever wants that says so before
    ratio = np.where(np.isnan(ratio) | np.isinf(error) | (np.isnan(got) != np.isnan(value)), np.inf, ratio)
    if ratio.size == 0:
        return 0.0, None
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return float(ratio[at]), tuple(int(i) for i in at)
