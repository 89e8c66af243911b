#!/usr/bin/env python3
"""Fits the polynomials of src/kernel/math.c: a minimax fit by Remez exchange, then each coefficient rounded to f32. Needs mpmath."""
import struct
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, exp, log, tanh, erf, erfc, sin, sqrt

mp.prec = 200

def f32(x):
    return mpf(struct.unpack('f', struct.pack('f', float(x)))[0])

def remez(f, weight, lo, hi, powers, rounds=30):
    n = len(powers) + 1
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / (n - 1)) for i in range(n)]
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / 400) for i in range(401)]
    c = None
    for _ in range(rounds):
        a, b = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(xs):
            w = weight(x)
            for j, p in enumerate(powers):
                a[i, j] = w * x ** p
            a[i, n - 1] = (-1) ** i
            b[i] = w * f(x)
        s = lu_solve(a, b)
        c = [s[j] for j in range(n - 1)]
        err = [weight(x) * (sum(cj * x ** p for cj, p in zip(c, powers)) - f(x)) for x in grid]
        extrema, run = [], [0]
        for i in range(1, len(grid)):
            if (err[i] > 0) == (err[run[-1]] > 0):
                run.append(i)
            else:
                extrema.append(max(run, key=lambda k: abs(err[k])))
                run = [i]
        extrema.append(max(run, key=lambda k: abs(err[k])))
        while len(extrema) > n:
            extrema.pop(0 if abs(err[extrema[0]]) < abs(err[extrema[-1]]) else -1)
        if len(extrema) < n:
            break
        new = [grid[k] for k in extrema]
        if new == xs:
            break
        xs = new
    return c, max(abs(e) for e in err)

def fit(name, f, weight, lo, hi, powers):
    lo, hi = mpf(lo), mpf(hi)
    c, ideal = remez(f, weight, lo, hi, list(powers))
    fixed = [(f32(x), p) for x, p in zip(c, powers)]
    grid = [lo + (hi - lo) * i / 1000 for i in range(1001)]
    worst = max(abs(weight(x) * (sum(c * x ** p for c, p in fixed) - f(x))) for x in grid)
    print(name, 'ideal 2^%.2f, rounded 2^%.2f' % (float(log(ideal, 2)), float(log(worst, 2))))
    for c, p in fixed:
        print('    x^%d  %s  %.9g' % (p, float(c).hex(), float(c)))

eps = mpf(10) ** -12
# exp(r) = 1 + r + r^2 P(r)
fit('exp', lambda r: (exp(r) - 1 - r) / r ** 2 if abs(r) > eps else mpf(1) / 2 + r / 6, lambda r: r ** 2 / exp(r), -log(2) / 2 * mpf('1.01'), log(2) / 2 * mpf('1.01'), range(0, 5))
# log(1 + f) = f - f^2/2 + f^3 P(f)
def logp(f):
    return (log(1 + f) - f + f ** 2 / 2) / f ** 3 if abs(f) > mpf(10) ** -8 else mpf(1) / 3 - f / 4 + f * f / 5
fit('log', logp, lambda f: abs(f ** 3 / log(1 + f)) if abs(f) > mpf(10) ** -8 else f * f, sqrt(mpf(2)) / 2 - 1, sqrt(mpf(2)) - 1, range(0, 9))
# tanh(x) = x + x s P(s), s = x^2
fit('tanh', lambda s: (tanh(sqrt(s)) / sqrt(s) - 1) / s if s > mpf(10) ** -10 else -mpf(1) / 3 + 2 * s / 15, lambda s: s, mpf(0), mpf('0.625') ** 2, range(0, 5))
# erf(x) = x + x P(s) below 1
fit('erf small', lambda s: erf(sqrt(s)) / sqrt(s) - 1 if s > mpf(10) ** -10 else 2 / sqrt(pi) - 1 - 2 / sqrt(pi) * s / 3, lambda s: mpf(1), mpf(0), mpf(1), range(0, 7))
# log(erfc(t)) = -t + t-polynomial on [1, 4]
fit('erf large', lambda t: log(erfc(t)) + t, lambda t: erfc(t), mpf('0.99'), mpf('3.95'), range(0, 8))
fit('sin', lambda s: (sin(sqrt(s)) / sqrt(s) - 1) / s if s > mpf(10) ** -10 else -mpf(1) / 6 + s / 120, lambda s: s, mpf(0), (pi / 4 * mpf('1.01')) ** 2, range(0, 3))
fit('cos', lambda s: (cos(sqrt(s)) - 1 + s / 2) / s ** 2 if s > mpf(10) ** -10 else mpf(1) / 24 - s / 720, lambda s: s ** 2 / cos(sqrt(s)), mpf(0), (pi / 4 * mpf('1.01')) ** 2, range(0, 3))
def split(name, v, bits):
    parts = []
    for b in bits:
        if b == 24:
            p = f32(v)
        else:
            from mpmath import floor, frexp
            m, e = frexp(v)
            p = mp.floor(v * mpf(2) ** (b - e) + mpf('0.5')) / mpf(2) ** (b - e)
        parts.append(p)
        v = v - p
    print(name, [float(p).hex() for p in parts])
split('ln2', log(2), [24, 24])
split('ln2 short', log(2), [16, 24])
split('pi/2', pi / 2, [24, 24, 24, 24])
print('2/pi', float(f32(2 / pi)).hex(), 'log2e', float(f32(1 / log(2))).hex())
x = 2 / pi
words = []
for i in range(7):
    x = x * 2 ** 32
    w = int(mp.floor(x))
    x -= w
    words.append('0x%08x' % w)
print('2/pi words', words)
