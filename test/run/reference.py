"""Every shipped kernel against NumPy in f64, written from the mathematics: so that tilec's oracle and its compiler cannot share a mistake.

Small odd shapes, a few seeds, every element compared within a bound derived in _bounded.py. Then the stated meaning of max, min and
argmax on NaN, zeros, infinities and ties, of empty reductions and of conversions.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from _bounded import Bounded, compare, erf, gelu, lift, matmul, silu, U  # noqa: E402
import numpy as np  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
TILEC = os.environ.get("TILEC", os.path.join(BUILD, "tilec"))
os.environ.setdefault("TILEC_CACHE", os.path.join(os.path.abspath(BUILD), "test-cache"))
WORK = tempfile.TemporaryDirectory(prefix="tilec-reference-")
FAILED, ONLY = 0, sys.argv[1:]


def report(good, name, text=""):
    global FAILED
    print(("ok " if good else "FAIL ") + name + ("  " + text if text else ""), flush=True)
    FAILED += not good


def find_files():
    where = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "kernels", "*.tile"))):
        with open(path, encoding="utf-8") as f:
            for name in re.findall(r"^\s*(?:kernel|program)\s+(\w+)\s*\(", f.read(), re.M):
                where[name] = path
    return where


FILES = find_files()


def tilec_run(path, kernel, arguments, outputs, shape=None, tiles=None):
    """Runs it; returns {output: array} or the error's text. outputs: names; an update array is given in arguments too."""
    command = [TILEC, "run", path, "--kernel", kernel, "--no-check"]  # NumPy alone judges here
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            file = os.path.join(WORK.name, name + ".npy")
            np.save(file, value)
            command += ["--arg", f"{name}={file}"]
        else:
            command += ["--arg", f"{name}={value!r}"]
    for name, value in (shape or {}).items():
        command += ["--shape", f"{name}={value}"]
    for name, value in (tiles or {}).items():
        command += ["--set", f"{name}={value}"]
    files = {name: os.path.join(WORK.name, "out-" + name + ".npy") for name in outputs}
    for name, file in files.items():
        if os.path.exists(file):
            os.remove(file)
        command += ["--out", f"{name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"tilec run ended with {done.returncode}: " + (done.stderr or done.stdout).strip()[:600]
    return {name: np.load(file) for name, file in files.items()}


class Data:
    """The arrays of one seed. Values that tilec sees are exactly what NumPy computes with."""

    def __init__(self, seed, kind):
        self.rng, self.kind = np.random.default_rng(seed), kind

    def f32(self, *shape):
        x = self.rng.random(shape) if self.kind == "positive" else self.rng.standard_normal(shape)
        return x.astype(np.float32)

    def f16(self, *shape):
        return self.f32(*shape).astype(np.float16)

    def weights(self, *shape):  # of the size that keeps a product's result near one
        return (self.f32(*shape) / np.float32(np.sqrt(max(shape[-1], 1)))).astype(np.float16)


def wide(x):
    return np.asarray(x, dtype=np.float64)


CASES = {}


def case(*shapes):
    """Registers a function (data, *shape) -> arguments, {output: Bounded}[, symbols]; the name is the kernel's."""

    def register(f):
        CASES[f.__name__] = (f, shapes)
        return f

    return register


def elementwise(name, f):
    def build(data, n):
        a, b = data.f32(n), data.f32(n)
        return dict(a=a, b=b), dict(y=f(lift(wide(a)), wide(b)))

    build.__name__ = name
    case((1,), (2,), (33,), (1000,), (0,))(build)


elementwise("vec_add", lambda a, b: a + b)
elementwise("vec_sub", lambda a, b: a - b)
elementwise("vec_mul", lambda a, b: a * b)


@case((1,), (31,), (65,), (0,))
def vec_exp(data, n):
    a = data.f32(n) * 10
    return dict(a=a), dict(y=lift(wide(a)).exp())


@case((1,), (33,), (1000,), (0,))
def residual_add(data, n):
    x, h = data.f32(n), data.f32(n)
    return dict(x=x, h=h), dict(h=lift(wide(h)) + wide(x))


GEMM = ((1, 1, 1), (3, 5, 2), (33, 31, 65), (17, 64, 127), (64, 64, 64), (5, 7, 0), (0, 4, 3))


@case(*GEMM, (66, 50, 512))
def matmul_(data, m, n, k):
    a, b = data.f16(m, k), data.f16(k, n)
    return dict(a=a, b=b), dict(c=matmul(wide(a), wide(b)))


@case(*GEMM)
def matmul_f32(data, m, n, k):
    a, b = data.f32(m, k), data.f32(k, n)
    return dict(a=a, b=b), dict(c=matmul(wide(a), wide(b)))


@case(*GEMM)
def gemm_i8w(data, m, n, k):
    a, w, scale = data.f16(m, k), data.rng.integers(-128, 128, (n, k)).astype(np.int8), data.f32(n)
    return dict(a=a, w=w, scale=scale), dict(c=matmul(wide(a), wide(w).T) * wide(scale))


@case(*GEMM)
def gemm(data, m, n, k):
    a, w = data.f16(m, k), data.f16(n, k)
    return dict(a=a, w=w), dict(c=matmul(wide(a), wide(w).T))


@case(*GEMM)
def gemm_f32(data, m, n, k):
    a, w = data.f32(m, k), data.f32(n, k)
    return dict(a=a, w=w), dict(c=matmul(wide(a), wide(w).T))


@case(*GEMM)
def gemm_bias_f32(data, m, n, k):
    a, w, bias = data.f32(m, k), data.f32(n, k), data.f32(n)
    return dict(a=a, w=w, bias=bias), dict(c=matmul(wide(a), wide(w).T) + wide(bias))


@case(*GEMM)
def matmul_tt_gelu(data, m, n, k):
    a, b, bias = data.f16(k, m), data.weights(n, k), data.f32(n)
    return dict(a=a, b=b, bias=bias), dict(ct=gelu(matmul(wide(b), wide(a)) + wide(bias).reshape(-1, 1)).to_f16())


@case(*GEMM)
def gemm_bias_gelu(data, m, n, k):
    a, w, bias = data.f16(m, k), data.weights(n, k), data.f32(n)
    return dict(a=a, w=w, bias=bias), dict(c=gelu(matmul(wide(a), wide(w).T) + wide(bias)).to_f16())


VECTOR = ((1, 1), (3, 2), (33, 65), (100, 1000), (5, 0), (0, 7))


def projection(name, bias):
    def build(data, n, k):
        x, w, b = data.f16(k), data.weights(n, k), data.f32(n)
        y = matmul(wide(w), wide(x).reshape(-1, 1)).reshape(-1)
        return (dict(x=x, w=w, b=b), dict(y=y + wide(b))) if bias else (dict(x=x, w=w), dict(y=y))

    build.__name__ = name
    case(*VECTOR)(build)


for _name, _bias in (("q_proj", True), ("k_proj", True), ("v_proj", True), ("o_proj", False), ("down_proj", False), ("lm_head", False),
                      ("proj", False), ("proj_bias", True)):
    projection(_name, _bias)


@case(*VECTOR)
def proj_f32(data, n, k):
    x, w = data.f32(k), data.f32(n, k)
    return dict(x=x, w=w), dict(y=matmul(wide(w), wide(x).reshape(-1, 1)).reshape(-1))


@case((1, 32), (33, 64), (5, 0), (7, 320))
def proj_q8(data, n, k):
    # a block is 34 bytes: a half d, then 32 signed bytes q; the value is d q
    x, d = data.f32(k), data.f16(n, k // 32)
    q = data.rng.integers(-128, 128, (n, k // 32, 32)).astype(np.int8)
    raw = np.concatenate([np.ascontiguousarray(d).view(np.uint8).reshape(n, k // 32, 2), q.view(np.uint8)], 2).reshape(n, k // 32 * 34)
    w = (wide(d)[:, :, None] * wide(q)).reshape(n, k)
    return dict(x=x, w=raw), dict(y=matmul(w, wide(x).reshape(-1, 1)).reshape(-1))


def gate_up(name, weights):
    def build(data, n, k):
        x, wg, wu = data.f16(k), data.weights(n, k), data.weights(n, k)
        if weights is np.float32:
            x, wg, wu = x.astype(np.float32), data.f32(n, k) / np.float32(8), data.f32(n, k) / np.float32(8)
        g, u = (matmul(wide(w), wide(x).reshape(-1, 1)).reshape(-1) for w in (wg, wu))
        y = silu(g) * u
        return dict(x=x, wg=wg, wu=wu), dict(y=y if weights is np.float32 else y.to_f16())

    build.__name__ = name
    case(*VECTOR)(build)


gate_up("gate_up_silu", np.float16)
gate_up("gate_up_silu_f32", np.float32)


@case((1, 1), (3, 31), (33, 65), (2, 1000), (4, 0), (0, 5))
def softmax(data, r, c):
    x = data.f32(r, c) * 5
    b = lift(wide(x))
    e = (b - b.max(1).reshape(-1, 1)).exp() if c else b
    return dict(x=x), dict(y=e / e.sum(1).reshape(-1, 1))


@case((1, 1), (3, 31), (33, 65), (1, 1536), (0, 5))
def rms_norm(data, r, c):
    x, w, eps = data.f32(r, c), data.f32(c), 1e-6
    b = lift(wide(x))
    rstd = ((b * b).sum(1) / c + float(np.float32(eps))).rsqrt()
    return dict(x=x, w=w, eps=eps), dict(y=b * rstd.reshape(-1, 1) * wide(w), rstd=rstd)


@case((1, 2), (3, 31), (33, 65), (1, 1000), (0, 5))
def layer_norm(data, r, c):
    x, w, bias, eps = data.f32(r, c), data.f32(c), data.f32(c), 1e-5
    b = lift(wide(x))
    d = b - (b.sum(1) / c).reshape(-1, 1)
    scale = ((d * d).sum(1) / c + float(np.float32(eps))).rsqrt().reshape(-1, 1)
    return dict(x=x, w=w, b=bias, eps=eps), dict(y=d * scale * wide(w) + wide(bias))


@case((1, 1), (12, 64), (3, 17), (0, 4))
def rope(data, h, p):
    x = data.f16(h, 2 * p)
    freq, pos = (1e4 ** (-np.arange(p) / max(p, 1))).astype(np.float32), 1234.0
    angle = lift(pos) * wide(freq)
    c, s = angle.cos(), angle.sin()
    lo, hi = lift(wide(x[:, :p])), lift(wide(x[:, p:]))
    y0, y1 = (lo * c - hi * s).to_f16(), (hi * c + lo * s).to_f16()
    y = Bounded(np.concatenate([y0.value, y1.value], 1), np.concatenate([y0.error, y1.error], 1))
    return dict(x=x, freq=freq, pos=pos), dict(y=y)


@case((1,), (2,), (1000,), (4096,), (9001,))
def argmax(data, n):
    x = np.round(data.f32(n) * 3).astype(np.float32)  # many ties: the lowest index wins
    return dict(x=x), dict(i=lift([float(np.argmax(x))]))


def attend(q, k, v, length, scale, halves=True):
    """One head: q [D], k [T, D], v [T, D] -> [D]."""
    s = matmul(k[:length], q.reshape(-1, 1)).reshape(-1) * scale
    p = (s - s.max(0)).exp()
    mixed = p.to_f16() if halves else p
    # joining parts that are each relative to their own maximum: at most one join a key, below 12 u each (see sentence_layer.py)
    joins = 12 * (length + 1) * U
    total = p.sum(0)
    total = Bounded(total.value, total.error + joins * (total.value + total.error))
    o = matmul(mixed.reshape(1, -1), v[:length]).reshape(-1)
    magnitude = (mixed.value + mixed.error) @ (np.abs(v.value[:length]) + v.error[:length])
    # the half that is rounded is relative to a part's own maximum, so its half-subnormal step is too: 2^-25 of the largest weight
    o = Bounded(o.value, o.error + joins * magnitude + 2.0 ** -25 * np.abs(v.value[:length]).sum(0))
    return o / total


ATTENTION = ((1, 1, 1, 1, 1), (2, 3, 8, 29, 7), (2, 6, 16, 65, 65), (1, 2, 64, 127, 1), (2, 6, 128, 40, 33), (3, 1, 5, 31, 0))


def gqa(data, kv, g, d, t, length):
    q, k, v = data.f16(kv * g, d), data.f16(t, kv, d), data.f16(t, kv, d)
    scale = np.float32(1 / np.sqrt(d))
    value, error = np.full((kv * g, d), np.nan), np.zeros((kv * g, d))  # over no key at all: 0 / 0
    for h in range(kv * g if length else 0):
        o = attend(lift(wide(q[h])), lift(wide(k[:, h // g])), lift(wide(v[:, h // g])), length, float(scale)).to_f16()
        value[h], error[h] = o.value, o.error
    return dict(q=q, k=k, v=v, len=length, scale=float(scale)), Bounded(value, error)


@case(*ATTENTION)
def attn_gqa(data, kv, g, d, t, length):
    arguments, o = gqa(data, kv, g, d, t, length)
    return arguments, dict(o=o), dict(G=g)


@case(*ATTENTION)
def attn_split(data, kv, g, d, t, length):
    arguments, o = gqa(data, kv, g, d, t, length)
    return arguments, dict(y=o), dict(G=g)


@case((1, 1, 1, 1, 1), (2, 9, 2, 3, 8), (1, 33, 1, 2, 16), (0, 3, 1, 1, 4))
def flash_causal(data, b, t, kv, g, d):
    q, k, v = data.f16(b, t, kv * g, d), data.f16(b, t, kv, d), data.f16(b, t, kv, d)
    scale = np.float32(1 / np.sqrt(d))
    value, error = np.zeros(q.shape), np.zeros(q.shape)
    for at in np.ndindex(b, t, kv * g):
        i, j, h = at
        o = attend(lift(wide(q[at])), lift(wide(k[i, :, h // g])), lift(wide(v[i, :, h // g])), j + 1, float(scale)).to_f16()
        value[at], error[at] = o.value, o.error
    return dict(q=q, k=k, v=v, scale=float(scale)), dict(o=Bounded(value, error)), dict(G=g)


@case((1, 1, 1, 1), (9, 2, 8, 7), (33, 3, 16, 33))
def attn_full_f32(data, t, h, d, length):
    q, k, v = data.f32(t, h, d), data.f32(t, h, d), data.f32(t, h, d)
    scale = np.float32(1 / np.sqrt(d))
    value, error = np.zeros(q.shape), np.zeros(q.shape)
    for i, j in np.ndindex(t, h):
        o = attend(lift(wide(q[i, j])), lift(wide(k[:, j])), lift(wide(v[:, j])), length, float(scale), halves=False)
        value[i, j], error[i, j] = o.value, o.error
    return dict(q=q, k=k, v=v, len=length, scale=float(scale)), dict(o=Bounded(value, error))


@case((1, 1, 1, 0), (29, 2, 8, 5), (64, 3, 17, 63))
def kv_append(data, t, kv, d, pos):
    row, cache = data.f16(kv, d), data.f16(t, kv, d)
    after = cache.copy()
    after[pos] = row
    return dict(row=row, pos=pos, cache=cache), dict(cache=lift(wide(after)))


@case((1, 1, 1, 1), (5, 29, 2, 8), (64, 64, 3, 17), (0, 3, 2, 4))
def kv_scatter(data, t, n, kv, d):
    row, cache, slot = data.f16(t, kv, d), data.f16(n, kv, d), data.rng.permutation(n)[:t].astype(np.int32)
    after = cache.copy()
    after[slot] = row
    return dict(row=row, slot=slot, cache=cache), dict(cache=lift(wide(after)))


@case((1, 1, 1), (33, 12, 8), (0, 3, 4))
def embedding_f32(data, t, v, d):
    table, ids = data.f32(v, d), data.rng.integers(0, v, t).astype(np.int32)
    return dict(ids=ids, table=table), dict(x=lift(wide(table[ids])))


@case((1, 1, 1), (33, 12, 8), (7, 100, 65), (0, 3, 4))
def embedding(data, t, v, d):
    table, ids = data.f16(v, d), data.rng.integers(0, v, t).astype(np.int32)
    return dict(ids=ids, table=table), dict(x=lift(wide(table[ids])))


@case((1, 1), (3, 2), (4, 9), (33, 65), (0, 3))
def conv3(data, r, c):
    x, w = data.f32(r, c), data.f32(3)
    z = np.pad(wide(x), ((0, 0), (1, 1)))
    y = (lift(wide(w[0])) * z[:, :-2] + lift(wide(w[1])) * z[:, 1:-1]) + lift(wide(w[2])) * z[:, 2:]
    return dict(x=x, w=w), dict(y=y)


@case((1, 1), (3, 31), (33, 65), (0, 3))
def bias_gelu_residual(data, r, c):
    x, b, res = data.f32(r, c), data.f32(c), data.f32(r, c)
    return dict(x=x, b=b, res=res), dict(y=gelu(lift(wide(x)) + wide(b)) + wide(res))


# Parts of programs: judged with the programs that call them.
PARTS = {"argmax_part", "argmax_last", "attn_part", "attn_join"}


def judge_kernels():
    missing = sorted(set(FILES) - {name.rstrip("_") for name in CASES} - PARTS)
    if not ONLY:
        report(not missing, "numpy covers every kernel", "" if not missing else "not " + ", ".join(missing))
    worst_of = {}
    for name, (build, shapes) in CASES.items():
        kernel = name.rstrip("_")
        if ONLY and kernel not in ONLY:
            continue
        if kernel not in FILES:
            report(False, kernel, "no file in kernels/ has it")
            continue
        worst, failure, runs = 0.0, None, 0
        for shape in shapes:
            for seed, kind in ((1, "normal"), (2, "positive")):
                made = build(Data(seed * 1000 + len(shape), kind), *shape)
                arguments, outputs, symbols = made if len(made) == 3 else (*made, {})
                signature = set(re.findall(r"(\w+)\s*:", signature_of(kernel)))
                arguments = {k: v for k, v in arguments.items() if k in signature}
                got = tilec_run(FILES[kernel], kernel, arguments, outputs, symbols)
                runs += 1
                if isinstance(got, str):
                    failure = f"at {shape}: {got}"
                    break
                for output, expected in outputs.items():
                    ratio, at = compare(got[output], expected)
                    worst = max(worst, ratio)
                    if ratio > 1 and not failure:
                        here = at if isinstance(at, tuple) else ()
                        failure = f"at {shape}, {kind}: {output}{list(at) if isinstance(at, tuple) else at}: error / bound {ratio:.3g}"
                        if isinstance(at, tuple):
                            failure += f", is {float(got[output][here])!r}, should be {float(expected.value[here])!r}"
            if failure:
                break
        report(failure is None, "numpy " + kernel, failure or f"{runs} runs, worst error / bound {worst:.3f}")
        worst_of[kernel] = worst


def signature_of(kernel):
    with open(FILES[kernel], encoding="utf-8") as f:
        text = f.read()
    at = re.search(r"^\s*(?:kernel|program)\s+" + kernel + r"\s*\(", text, re.M)
    return text[at.start():text.index("{", at.end())]


# ---- the stated meaning of special values ----

MEANING = """
kernel extremes(x: f32[R, C]) -> (high: f32[R], low: f32[R], where_high: i32[R], where_low: i32[R], total: f32[R]) {
    for tile high[r: BR], low[r], where_high[r], where_low[r], total[r] {
        a: f32[r] = -inf
        b: f32[r] = inf
        s: f32[r] = 0
        for c: BC in C {
            a max= max[c](x[r, c])
            b min= min[c](x[r, c])
            s += sum[c](x[r, c])
        }
        p: first(f32[r], i32[r])
        q: last(f32[r], i32[r])
        for c: BC in C {
            p <- (max[c](x[r, c]), argmax[c](x[r, c]))
            q <- (min[c](x[r, c]), argmin[c](x[r, c]))
        }
        high[r] = a
        low[r] = b
        where_high[r] = p.n
        where_low[r] = q.n
        total[r] = s
    }
}
combine first(v, n) {
    empty = (-inf, 0)
    join(a, b) = (max(a.v, b.v), select(a.v > b.v, a.n, select(b.v > a.v, b.n, min(a.n, b.n))))
}
combine last(v, n) {
    empty = (inf, 0)
    join(a, b) = (min(a.v, b.v), select(a.v < b.v, a.n, select(b.v < a.v, b.n, min(a.n, b.n))))
}
fn low16(x) = bit_and(x, 65535)
fn high16(x) = shr(x, 16)
fn middle(a, b) = high16(a) * low16(b) + high16(low16(a) * low16(b))
fn upper(a, b) = high16(a) * high16(b) + high16(middle(a, b)) + high16(low16(a) * high16(b) + low16(middle(a, b)))
kernel pairs(x: f32[N], y: f32[N], u: u32[N], m: u32)
    -> (high: f32[N], low: f32[N], less: bool[N], equal: bool[N], different: bool[N], whole: i32[N], word: u32[N])
{
    for tile high[i: B], low[i], less[i], equal[i], different[i], whole[i], word[i] {
        top = shr(m, 31)
        word[i] = bit_xor(upper(u[i], 3528531795), top)
        high[i] = max(x[i], y[i])
        low[i] = min(x[i], y[i])
        less[i] = x[i] < y[i]
        equal[i] = x[i] == y[i]
        different[i] = x[i] != y[i]
        whole[i] = i32(x[i])
    }
}
kernel halves(x: f32[N]) -> (h: f16[N], r: f32[N]) {
    for tile h[i: B], r[i] {
        h[i] = f16(x[i])
        r[i] = rsqrt(x[i])
    }
}
"""


def same(got, expected, zeros=False):
    """Bit for bit, NaNs being all alike and zeros too when their sign is unspecified."""
    got, expected = np.asarray(got), np.asarray(expected)
    equal = (got == expected) | (np.isnan(got) & np.isnan(expected) if got.dtype.kind == "f" else False)
    if got.dtype.kind == "f" and not zeros:
        equal &= np.isnan(got) | (np.signbit(got) == np.signbit(expected))
    return bool(got.shape == expected.shape and np.all(equal))


def first_of(x, better):
    best, at = None, 0
    for i, v in enumerate(x):
        if not np.isnan(v) and (best is None or better(v, best)):
            best, at = v, i
    return at


def judge_meaning():
    path = os.path.join(WORK.name, "meaning.tile")
    with open(path, "w", encoding="utf-8") as f:
        f.write(MEANING)
    nan, inf = np.nan, np.inf
    rows = np.array([[1, 3, 3, 2, -1, 0, 3], [nan, 2, nan, 5, 5, nan, 1], [nan] * 7, [-inf, -inf, nan, -inf, nan, nan, -inf],
                     [inf, nan, 1, inf, 2, -inf, -inf], [0.0, -0.0, 0.0, -0.0, nan, -0.0, 0.0], [-0.0] * 7,
                     [3e38, 3e38, -3e38, 1e-45, -1e-45, 0, 1]], dtype=np.float32)
    with np.errstate(all="ignore"):
        quiet = np.where(np.isnan(rows), -inf, rows).max(1), np.where(np.isnan(rows), inf, rows).min(1)
    for tiles in ({"BR": 1, "BC": 1}, {"BR": 3, "BC": 2}, {"BR": 8, "BC": 16}):
        got = tilec_run(path, "extremes", dict(x=rows), ("high", "low", "where_high", "where_low", "total"), tiles=tiles)
        title = "meaning of max, min, argmax, argmin, tiles " + " ".join(f"{k}={v}" for k, v in tiles.items())
        if isinstance(got, str):
            report(False, title, got)
            continue
        report(same(got["high"], quiet[0], True) and same(got["low"], quiet[1], True), title + ": a NaN is ignored, only NaN gives the identity",
               f"{got['high']} {got['low']}")
        # rows whose first tiles hold only NaN and then -inf are decided by the join that the kernel itself states
        decided = [0, 1, 2, 4, 5, 6, 7]
        want = [first_of(r, lambda a, b: a > b) for r in rows], [first_of(r, lambda a, b: a < b) for r in rows]
        report(all(got["where_high"][r] == want[0][r] and got["where_low"][r] == want[1][r] for r in decided),
               title + ": the lowest index of the extreme", f"{got['where_high']} {got['where_low']}")
        report(bool(np.isnan(got["total"][1]) and np.isnan(got["total"][4])), title + ": a sum keeps NaN")
    for shape in ((3, 0), (0, 4), (0, 0)):
        got = tilec_run(path, "extremes", dict(x=np.zeros(shape, np.float32)), ("high", "low", "where_high", "where_low", "total"))
        r = shape[0]
        report(not isinstance(got, str) and same(got["high"], np.full(r, -inf, np.float32)) and same(got["low"], np.full(r, inf, np.float32))
               and same(got["total"], np.zeros(r, np.float32)) and same(got["where_high"], np.zeros(r, np.int32)),
               f"meaning of reductions over nothing, shape {shape}", got if isinstance(got, str) else "")
    specials = np.array([0.0, -0.0, 1, -1, 1.5, -2.5, inf, -inf, nan, 3e9, -3e9, 2147483520, 1e-45, 65504, 65520, 6e-8, 2.9e-8, -7.9], dtype=np.float32)
    x, y = (a.ravel() for a in np.meshgrid(specials, specials))
    u = np.random.default_rng(4).integers(0, 2 ** 32, x.size).astype(np.uint32)
    pairs = dict(x=x.copy(), y=y.copy(), u=u, m=3000000000)
    for tiles in ({"vector": 1}, None):
        got = tilec_run(path, "pairs", pairs, ("high", "low", "less", "equal", "different", "whole", "word"), tiles=tiles)
        report(not isinstance(got, str) and same(got["high"], np.fmax(x, y), True) and same(got["low"], np.fmin(x, y), True),
               f"meaning of binary max and min: maximumNumber, minimumNumber{', element by element' if tiles else ''}", got if isinstance(got, str) else "")
    if not isinstance(got, str):
        report(np.array_equal(got["word"], (u.astype(np.uint64) * np.uint64(3528531795) >> np.uint64(32)).astype(np.uint32) ^ np.uint32(1)),
               "meaning of bits: those of a u32 scalar, and of a literal beyond i32, are u32's")
        report(np.array_equal(got["less"].astype(bool), x < y) and np.array_equal(got["equal"].astype(bool), x == y)
               and np.array_equal(got["different"].astype(bool), x != y), "meaning of comparisons with NaN, zeros and infinities")
        want = np.array([0 if np.isnan(v) else max(-2 ** 31, min(2 ** 31 - 1, int(np.trunc(np.float64(v))) if np.isfinite(v) else int(np.copysign(2 ** 40, v))))
                         for v in x], dtype=np.int32)
        report(np.array_equal(got["whole"], want), "meaning of i32(x): toward zero, saturating, NaN gives 0")
    # every half, its neighbours in f32 and the midpoints between halves
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = np.sort(halves[np.isfinite(halves)])
    middle = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    every = np.concatenate([halves, middle, np.nextafter(middle, np.float32(inf)), np.nextafter(middle, np.float32(-inf)),
                            np.array([65519.996, 65520, 65536, -65520, 1e30, 2.0 ** -25, 2.0 ** -26, 3e-45], np.float32)])
    got = tilec_run(path, "halves", dict(x=every), ("h", "r"))
    if isinstance(got, str):
        report(False, "meaning of f16(x)", got)
    else:
        report(same(got["h"], every.astype(np.float16)), f"meaning of f16(x): nearest, ties to even, over {every.size} values")
        zeros = every == 0
        report(bool(np.all(np.isinf(got["r"][zeros])) and np.all(np.isnan(got["r"][every < 0])) and np.all(got["r"][np.isposinf(every)] == 0)),
               "meaning of rsqrt at zeros, below zero and at infinity")


def judge_softmax():
    """softmax with -inf among the elements (weight zero), and the whole row -inf (no weights: NaN)."""
    inf = np.inf
    x = np.array([[0, -inf, 1, -inf, 2], [-inf, -inf, -inf, -inf, 3], [-inf] * 5, [1000, 1000, 999, -1000, -inf], [1, np.nan, 2, 3, 4]], np.float32)
    got = tilec_run(FILES["softmax"], "softmax", dict(x=x), ("y",))
    if isinstance(got, str):
        report(False, "softmax with -inf", got)
        return
    b = lift(wide(x[[0, 1, 3]]))
    e = (b - b.max(1).reshape(-1, 1)).exp()
    e = Bounded(e.value, np.where(np.isnan(e.error), 0, e.error))
    expected = e / e.sum(1).reshape(-1, 1)
    zero = np.isinf(x[[0, 1, 3]])
    ratio, at = compare(got["y"][[0, 1, 3]], expected)
    report(ratio <= 1 and bool(np.all(got["y"][[0, 1, 3]][zero] == 0)), "softmax with -inf: weight zero", f"error / bound {ratio:.3f} at {at}")
    report(bool(np.all(np.isnan(got["y"][[2, 4]]))), "softmax of only -inf, and with NaN: NaN", str(got["y"][[2, 4]]))


assert abs(erf(0.5) - 0.5204998778130465) < 1e-15
judge_kernels()
if not ONLY:
    judge_meaning()
    if "softmax" in FILES:
        judge_softmax()
sys.exit(1 if FAILED else 0)
