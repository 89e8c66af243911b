#!/usr/bin/env python3
"""The Python module: calls on NumPy arrays and DLPack tensors, errors as exceptions, inspection, forks, threads, pip."""
import ctypes
import gc
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
sys.dont_write_bytecode = True  # nothing of ours stays in the checkout
work = tempfile.mkdtemp(prefix="tilec-python-")
os.environ["TILEC_LIBRARY"] = os.path.join(BUILD, "libtilec.so")
os.environ["TILEC_CACHE"] = os.path.join(work, "cache")
sys.path.insert(0, os.path.join(ROOT, "python"))

try:
    import numpy as np
except ImportError:
    print("skip python (no NumPy here)")
    sys.exit(0)
import tilec  # noqa: E402
from tilec import _dlpack  # noqa: E402

TEXT = """
kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }
kernel product(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {
    for tile c[i: BM, j: BN] { acc: f32[i, j] = 0  for k: BK in K { acc += a[i, k] @ b[k, j] }  c[i, j] = acc }
}
kernel copy(x: f32[R, C]) -> (y: f32[R, C]) { for tile y[r: BR, c: BC] { y[r, c] = x[r, c] } }
kernel rows(ids: index(V)[T], table: f32[V, D]) -> (x: f32[T, D]) { for tile x[t: BT, d: BD] { x[t, d] = table[ids[t], d] } }
kernel put(row: f32[D], pos: 0..T-1) -> (update cache: f32[T, D]) { for tile cache[pos, d: BD] { cache[pos, d] = row[d] } }
kernel both(x: f32[N], s: f32, n: i32) -> (twice: f32[N], shifted: i32[N]) {
    for tile twice[i: B], shifted[i] { twice[i] = x[i] * s  shifted[i] = i32(x[i]) + n }
}
kernel part(x: f32[N]) -> (s: f32[S]) static CH = 16 where S == (N + CH - 1) / CH {
    for tile s[c: 1] { t: f32[c] = 0  for n: BN in N where c * CH <= n and n < (c + 1) * CH { t += sum[n](x[n]) }  s[c] = t }
}
kernel rest(s: f32[S]) -> (t: f32[1]) { for tile t[o: 1] { a: f32[o] = 0  for c: BC in S { a += sum[c](s[c]) }  t[o] = a } }
program total(x: f32[N]) -> (t: f32[1]) { s = part(x)  t = rest(s) }
kernel halves(x: bf16[N], w: bf16[N]) -> (y: bf16[N]) { for tile y[i: B] { y[i] = bf16(x[i] * w[i]) } }
kernel tiny(x: f32[N]) -> (y: e4m3[N], z: e5m2[N]) { for tile y[i: B], z[i] { y[i] = e4m3(x[i], sat)  z[i] = e5m2(x[i], inf) } }
kernel widen(y: e4m3[N], z: e5m2[N]) -> (p: f32[N], q: f32[N]) { for tile p[i: B], q[i] { p[i] = y[i]  q[i] = z[i] } }
kernel choose(on: bool, m: bool[N], x: i8[N], u: u8[N]) -> (y: i32[N], b: bool[N]) {
    for tile y[i: B], b[i] { y[i] = select(on and m[i], i32(x[i]), i32(u[i]))  b[i] = not m[i] }
}
kernel products(a: f16[M, K], w8: q8_0[N, K], w4: q4_0[N, K], wx: mxfp4[N, K]) -> (y: f32[M, N], z: f32[M, N], v: f32[M, N]) {
    for tile y[i: BM, j: BN], z[i, j], v[i, j] {
        p: f32[i, j] = 0
        q: f32[i, j] = 0
        r: f32[i, j] = 0
        for k: BK in K {
            p += a[i, k] @ f16(w8[j, k])
            q += a[i, k] @ f16(w4[j, k])
            r += tf32(a[i, k]) @ tf32(wx[j, k])
        }
        y[i, j] = p
        z[i, j] = q
        v[i, j] = r
    }
}
kernel blocks(w: q8_0[R, K]) -> (y: f32[R, K]) { for tile y[r: BR, k: BK] { y[r, k] = w[r, k] } }
"""
failed = False


def report(name, problem=None):
    global failed
    if problem:
        failed = True
        print(f"FAIL {name}")
        for line in str(problem).splitlines():
            print("    " + line)
    else:
        print(f"ok {name}")


def test(function):
    name = function.__name__.replace("_", " ")
    try:
        function()
    except Exception as e:  # a failure is told, and the next test runs
        import traceback
        report(name, traceback.format_exc() if not isinstance(e, AssertionError) else traceback.format_exc(limit=-2))
    else:
        report(name)


def refused(code, function, *words, **named):
    """The Error with this code; fails when there is none."""
    try:
        function(*words, **named)
    except tilec.Error as e:
        assert e.code == code, f"{e.code} rather than {code}: {e}"
        assert e.code in e.text and str(e) == e.text
        assert tilec.explain(e.code)
        return e
    raise AssertionError(f"nothing was refused, {code} was expected")


def wrong_call(function, *words, **named):
    try:
        function(*words, **named)
    except TypeError as e:
        return str(e)
    raise AssertionError("no TypeError")


path = os.path.join(work, "kernels.tile")
with open(path, "w") as f:
    f.write(TEXT)
M = tilec.load(path)
rng = np.random.default_rng(7)


def floats(*shape, type=np.float32):
    return rng.standard_normal(shape).astype(type)


@test
def a_matrix_product():
    k = tilec.kernel(path, "product")
    for m, n, depth in ((33, 17, 65), (1, 1, 1), (0, 5, 3), (4, 3, 0)):
        a, b = floats(m, depth, type=np.float16), floats(depth, n, type=np.float16)
        c = k(a, b)
        assert isinstance(c, np.ndarray) and c.shape == (m, n) and c.dtype == np.float32
        exact = a.astype(np.float64) @ b.astype(np.float64)
        scale = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
        assert (np.abs(c - exact) <= (depth + 1) * 2.0**-23 * scale + 1e-30).all()


@test
def keywords_symbols_and_schedules():
    x = np.arange(50, dtype=np.float32)
    part = M["part"]
    assert part(x).shape == (4,)
    s = part(x, CH=7)
    assert s.shape == (8,) and s[1] == x[7:14].sum()
    assert part(x=x, CH=7, BN=8)[7] == x[49]
    assert dict((s.name, s.value) for s in part.plan.symbols)["BN"] == 8
    assert refused("E0645", part, x, CH=7, S=9).line == 12
    assert "`QQ`" in wrong_call(part, x, QQ=3)
    assert "twice" in wrong_call(part, x, x=x)
    assert "`x`" in wrong_call(part)
    wrong_call(part, x, x)
    wrong_call(part, x, CH=2.5)


@test
def a_program():
    x = np.arange(1000, dtype=np.float32)
    total = M["total"]
    assert total.is_program and total(x)[0] == x.sum() and total(x, CH=3)[0] == x.sum()
    assert [s.kernel for s in total.plan.steps] == ["part", "rest"]
    assert total.plan.schedule["part"] and total(x, BC=5)[0] == x.sum()
    assert M.programs == ["total"] and tilec.kernel(path).name == "total"


@test
def results_given_and_named():
    x = np.arange(10, dtype=np.float32)
    both = M["both"]
    r = both(x, 2.5, -3)
    assert r.twice.dtype == np.float32 and (r.twice == 2.5 * x).all() and (r.shifted == x.astype(int) - 3).all() and len(r) == 2
    y = np.full(10, np.nan, np.float32)
    assert both(x, 2, 1, twice=y)[0] is y and (y == 2 * x).all()
    z = np.zeros(10, np.int32)
    r = both(x, np.float32(3), np.int64(4), out=(y, z))
    assert r.twice is y and r.shifted is z and z[9] == 13 and y[9] == 27
    r = both(x, np.array(1.5), 0, out={"shifted": z})
    assert r.shifted is z and r.twice is not y and r.twice[2] == 3
    assert "2 arrays" in wrong_call(both, x, 2, 1, out=y)
    wrong_call(both, x, 2, 1, out={"x": y})
    refused("E0647", both, x, 2, 1.5)
    refused("E0667", both, x, "2", 1)
    refused("E0647", both, x, 2, 2**70)


@test
def updated_arrays():
    cache, row = floats(5, 4), floats(4)
    before = cache.copy()
    put = M["put"]
    assert put(row, 3, cache) is cache
    assert (cache[3] == row).all() and (np.delete(cache, 3, 0) == np.delete(before, 3, 0)).all()
    put(row, pos=0, cache=cache)
    assert (cache[0] == row).all()
    e = refused("E0602", put, row, 5, cache)
    assert "5" in e.message
    assert "cache" in wrong_call(put, row, 3)


@test
def index_data():
    ids, table = np.array([2, 0, 2], np.int32), floats(3, 4)
    assert (M["rows"](ids, table) == table[ids]).all()
    assert (M["rows"](ids.astype(np.uint32), table) == table[ids]).all()
    ids[1] = 3
    e = refused("E0603", M["rows"], ids, table)
    assert "ids[1]" in e.message and e.file == path and e.line == 7
    e = refused("E0667", M["rows"], ids.astype(np.int64), table)
    assert "int32" in e.notes[0]


@test
def integers_and_bools():
    m, x, u = np.array([True, False, True]), np.array([-5, 6, 7], np.int8), np.array([200, 201, 202], np.uint8)
    y, b = M["choose"](True, m, x, u)
    assert y.tolist() == [-5, 201, 7] and b.dtype == np.bool_ and b.tolist() == [False, True, False]
    assert M["choose"](False, m, x, u)[0].tolist() == [200, 201, 202]


@test
def arrays_that_are_not_row_major():
    big = floats(12, 10)
    copy = M["copy"]
    for x in (big.T, big[::2, 1:7], big[::-1], np.asfortranarray(big), np.broadcast_to(big[0], (3, 10))):
        assert (copy(x) == x).all()
    odd = np.frombuffer(b"\0" + big.tobytes(), np.uint8)[1:].view(np.float32).reshape(12, 10)
    assert not odd.flags.aligned or odd.ctypes.data % 4 == 0
    assert (copy(odd) == big).all()
    for y in (np.empty((10, 12), np.float32).T, np.empty((12, 20), np.float32)[:, ::2]):
        e = refused("E0667", copy, big, out=y)
        assert "row-major" in e.message
    y = np.empty((12, 10), np.float32)
    y.flags.writeable = False
    assert "read-only" in refused("E0667", copy, big, out=y).message
    assert (copy(np.broadcast_to(np.float32(3), (2, 2))) == 3).all()  # an input may be read-only


@test
def arrays_of_other_types():
    x = np.arange(4, dtype=np.float32)
    e = refused("E0667", M["add"], x.astype(np.float64), x)
    assert (e.file, e.line) == (path, 2) and "float64" in e.message and "astype(np.float32)" in e.notes[0]
    assert "byte order" in refused("E0667", M["add"], x.astype(">f4"), x).message
    assert "masked" in refused("E0667", M["add"], np.ma.masked_array(x, [0, 1, 0, 0]), x).message
    assert "list" in refused("E0667", M["add"], [1.0, 2.0], x).message
    refused("E0667", M["add"], None, x)
    e = refused("E0642", M["add"], x.reshape(2, 2), x)
    e = refused("E0644", M["add"], x, x[:3])
    assert "`b`" in e.message and e.notes


@test
def aliasing():
    x = np.arange(8, dtype=np.float32)
    refused("E0649", M["add"], x, x, out=x)
    refused("E0649", M["add"], x[:4], x[:4], out=x[3:7])
    assert M["add"](x[:4], x[:4], out=x[4:])[3] == 6


@test
def located_errors():
    e = refused("E0301", tilec.compile, "kernel s(x: f32[N]) -> (y: f32[N]) {\n    for tile y[i: B] { y[i] = x[i + 1] }\n}", file="my.tile")
    assert (e.file, e.line, e.column) == ("my.tile", 2, 33) and e.witness == "N = 1, i = 0" and "else" in e.caret
    assert "my.tile:2:33: error E0301" in str(e) and "    for tile y[i: B]" in str(e) and "^" in str(e)
    again = pickle.loads(pickle.dumps(e))
    assert again.code == e.code and str(again) == str(e) and again.line == 2
    e = refused("E0104", tilec.compile, "kernel a(x: f32[N] -> (y: f32[N]) { }\nkernel b(x: f32[N] -> (y: f32[N]) { }\n")
    assert len(e.others) >= 1 and e.text.count("error") >= 2
    assert refused("E0880", tilec.kernel, os.path.join(work, "none.tile")).line == 0
    e = refused("E0646", tilec.kernel, path, "prodct")
    assert "product" in e.notes[0]
    assert "--" not in refused("E0643", tilec.compile("kernel f(x: f32[N]) -> (y: f32[N, M]) { for tile y[i: B, j: C] { y[i, j] = x[i] } }"),
                               np.zeros(3, np.float32)).text
    two = "kernel a(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] } }\n"
    refused("E0646", tilec.compile, two + two.replace(" a(", " b("))
    refused("E0802", tilec.kernel, path, "add", device="abacus")
    assert "operands = direct" in M["product"].compile(operands="direct").schedule
    assert "vector = 2" in M["product"].compile(vector=2).schedule
    assert "the nearest legal value is 2" in refused("E0504", M["product"].compile, vector=3).text
    refused("E0503", M["product"].compile, subgroups="2x2")
    e = refused("E0505", M["product"].compile, BM=4096, BN=4096)
    assert e.line == 3 and e.notes
    try:
        tilec.compile("kernel\0")
    except ValueError:
        pass
    else:
        raise AssertionError("a NUL was taken")
    assert tilec.explain("E9999") is None


@test
def inspection():
    k = tilec.compile("kernel heads(q: f16[KV*G, D], s: f32) -> (o: f32[KV*G, D]) static G, D = 8 where G <= 12 {\n"
                      "    for tile o[(h: 1, g: G), d: D] { o[(h, g), d] = f32(q[(h, g), d]) * s }\n}\n")
    assert k.declaration == "heads(q: f16[KV * G, D], s: f32) -> (o: f32[KV * G, D]) where G <= 12", k.declaration
    assert k.arguments[0].shape == ("KV * G", "D") and k.where == ["G <= 12"]
    assert refused("E0510", lambda: k.plan).line == 1  # nothing tells G yet
    q = floats(6, 8, type=np.float16)
    assert (k(q, 2, G=3) == q * np.float32(2)).all() and {x.name: x.value for x in k.plan.symbols}["KV"] == 2
    refused("E0600", k, floats(13, 8, type=np.float16), 2, G=13)
    k = M["put"]
    assert k.declaration == "put(row: f32[D], pos: 0..T - 1) -> (update cache: f32[T, D])", k.declaration
    assert [a.role for a in k.arguments] == ["in", "in", "update"] and k.arguments[1].is_scalar and k.arguments[1].most == "T - 1"
    assert k.arguments[0].shape == ("D",) and k.arguments[2].type == "f32"
    plan = k.plan  # compiled for all shapes, without arguments
    assert plan.steps[0].is_proved and "pos" in plan.checks[0] and plan.steps[0].variants[0].tasks
    assert all(v.judgement == "proved" for v in k.proof) and {"race", "bounds"} <= {v.property for v in k.proof}
    assert "put" in plan.steps[0].code and "schedule" in str(plan) and "proof" in str(plan)
    s = {x.name: x for x in M["part"].symbols}
    assert s["CH"].kind == "static" and s["CH"].default == 16 and s["S"].derived == "floor((N + CH - 1) / CH)" and s["BN"].kind == "tile"
    plan = M["part"].compile(CH=8, BN=4)
    assert {x.name: x.value for x in plan.symbols if x.kind != "extent"} == {"CH": 8, "BN": 4}
    assert "BN = 4" in plan.schedule and M["add"].where == [] and "E0644" not in repr(M["add"])
    wrong_call(M["part"].compile, N3=8)
    assert len(M) == len(M.names) and "add" in M and [k.name for k in M][0] == "total"
    for name in os.listdir(tilec.kernels_folder()):
        tilec.load(os.path.join(tilec.kernels_folder(), name))


@test
def values_are_checked():
    a, b = floats(20, 30, type=np.float16), floats(30, 10, type=np.float16)
    c, worst = M["product"].check(a, b)
    assert c.shape == (20, 10) and 0 <= worst <= 1


@test
def one_compile_serves_all_shapes():
    k = tilec.compile("kernel once(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] * 3.25 } }")
    before = tilec.compiler_calls()
    for n in range(0, 200, 9):
        assert (k(np.ones(n, np.float32)) == 3.25).all()
    assert tilec.compiler_calls() == before + 1


def bits(x):
    return x.view(np.uint16) if isinstance(x, np.ndarray) else x.words


def bf16_words(x):
    """To nearest even, of finite numbers."""
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


@test
def bf16_words_and_dlpack():
    x, w = bf16_words(floats(100)), bf16_words(floats(100))
    y = M["halves"](x, w)
    exact = (x.astype(np.uint32) << 16).view(np.float32) * (w.astype(np.uint32) << 16).view(np.float32)
    assert (bits(y) == bf16_words(exact)).all()
    if isinstance(y, tilec.Array):  # no ml_dtypes
        assert (y.to_float32() == (bf16_words(exact).astype(np.uint32) << 16).view(np.float32)).all()
    wrapped = tilec.Array("bf16", x)
    y = M["halves"](wrapped, w)
    assert (bits(y) == bf16_words(exact)).all()
    out = np.empty(100, np.uint16)
    assert M["halves"](x, w, out=out) is out and (out == bf16_words(exact)).all()

    class Producer:  # as another library would offer it
        def __dlpack__(self, **more):
            return wrapped.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    assert (bits(M["halves"](Producer(), w)) == bf16_words(exact)).all()
    gc.collect()
    assert not _dlpack._exported, "a tensor was not given back"
    refused("E0667", M["add"], Producer(), np.zeros(100, np.float32))
    assert not _dlpack._exported
    wrapped.__dlpack__()  # a capsule that nobody takes
    gc.collect()
    assert not _dlpack._exported


@test
def fp8_words():
    x = np.array([0, 1, -1.5, 448, 1000, -0.0625, 2.0**-9, 2.0**-16, 57344, 1e6, np.inf], np.float32)
    y, z = M["tiny"](x)
    as_words = lambda v: v.view(np.uint8) if isinstance(v, np.ndarray) else v.words  # noqa: E731
    p, q = M["widen"](as_words(y), as_words(z))
    assert p[:6].tolist() == [0, 1, -1.5, 448, 448, -0.0625] and q[:4].tolist() == [0, 1, -1.5, 448] and q[8] == 57344 and np.isinf(q[9])
    every = np.arange(256, dtype=np.uint8)
    p, q = M["widen"](every, every)
    for type_name, values in (("e4m3", p), ("e5m2", q)):
        own = tilec.Array(type_name, every).to_float32()
        assert ((own == values) | (np.isnan(own) & np.isnan(values))).all(), type_name


@test
def block_formats_as_bytes():
    scale = np.array([[0.5], [2.0]], np.float16).view(np.uint8).reshape(2, 1, 2)
    q = rng.integers(-127, 128, (2, 1, 32)).astype(np.int8)
    w = np.concatenate([scale, q.view(np.uint8)], axis=2).reshape(2, 34)
    y = M["blocks"](w)
    assert y.shape == (2, 32) and (y == q[:, 0] * np.array([[0.5], [2.0]], np.float32)).all()
    refused("E0644", M["blocks"], w[:, :33].copy())
    m, n, k = 5, 7, 96
    a = rng.standard_normal((m, k)).astype(np.float16)
    half = (rng.random((n, k // 32, 1)) / 16).astype(np.float16)
    bytes_of = lambda x: x.view(np.uint8).reshape(n, k // 32, -1)
    q8 = rng.integers(-127, 128, (n, k // 32, 32)).astype(np.int8)
    codes = rng.integers(0, 16, (n, k // 32, 32)).astype(np.uint8)
    packed = codes[..., :16] | codes[..., 16:] << 4
    power = rng.integers(120, 130, (n, k // 32, 1)).astype(np.uint8)
    e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
    given = [np.concatenate([s, x], axis=2).reshape(n, -1) for s, x in
             ((bytes_of(half), bytes_of(q8)), (bytes_of(half), packed), (power, packed))]
    weights = [(half.astype(np.float32) * q8).astype(np.float16), (half.astype(np.float32) * (codes.astype(np.float32) - 8)).astype(np.float16),
               e2m1[codes] * 2.0 ** (power.astype(int) - 127)]
    for got, w in zip(M["products"](a, *given), weights):
        x, y = a.astype(float), w.astype(float).reshape(n, k).T
        assert (abs(got - x @ y) <= (k + 1) * 2.0 ** -24 * (abs(x) @ abs(y))).all()


@test
def dlpack_of_numpy():
    class Tensor:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self):
            return self.x.__dlpack__()

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = floats(6, 8)
    before = sys.getrefcount(x)
    y = M["copy"](Tensor(x))
    assert (y == x).all()
    assert (M["copy"](Tensor(x.T)) == x.T).all()  # strided: copied
    assert (M["copy"](Tensor(x[::2, ::3])) == x[::2, ::3]).all()
    out = Tensor(np.zeros((6, 8), np.float32))
    assert M["copy"](x, out=out) is out and (out.x == x).all()
    refused("E0667", M["copy"], x, out=Tensor(np.zeros((8, 6), np.float32).T))
    assert "f64" in refused("E0667", M["copy"], Tensor(x.astype(np.float64))).message
    gc.collect()
    assert sys.getrefcount(x) == before, "the tensor is still held"
    assert (M["copy"](Tensor(np.zeros((0, 8), np.float32))).shape == (0, 8))
    y = M["copy"](x)
    assert (np.from_dlpack(y) == x).all()


@test
def dlpack_versioned_and_devices():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    gone = []

    @_dlpack.Deleter
    def deleter(address):
        gone.append(address)

    class Tensor:
        read_only = 1
        device = (1, 0)
        major = 1

        def __dlpack__(self, *, max_version=None):
            assert max_version >= (1, 0)
            self.managed = _dlpack.ManagedVersioned(major=self.major, minor=0, flags=self.read_only)
            self.managed.deleter = ctypes.cast(deleter, ctypes.c_void_p)
            self.shape = (ctypes.c_int64 * 2)(3, 4)
            t = self.managed.tensor
            t.data, t.byte_offset, t.device_type, t.rank = x.ctypes.data - 8, 8, 1, 2
            t.dtype.code, t.dtype.bits, t.dtype.lanes = 2, 32, 1
            t.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
            return _dlpack._new(ctypes.addressof(self.managed), _dlpack._NAME_VERSIONED, _dlpack._drop_capsule)

        def __dlpack_device__(self):
            return self.device

    t = Tensor()
    assert (M["copy"](t) == x).all() and len(gone) == 1
    assert "read-only" in refused("E0667", M["copy"], x, out=t).message and len(gone) == 2
    t.device = (2, 0)
    assert "device" in refused("E0667", M["copy"], t).message and len(gone) == 2
    t.device, t.major = (1, 0), 2
    assert "version" in refused("E0667", M["copy"], t).message

    class Nothing(Tensor):
        def __dlpack__(self, **more):
            return 3

    refused("E0667", M["copy"], Nothing())


@test
def threads_share_a_kernel():
    k = tilec.compile("kernel threads(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] - b[i] } }")
    problems = []

    def run(number):
        try:
            own = np.random.default_rng(number)
            for n in own.integers(0, 5000, 40):
                a, b = own.standard_normal((2, n)).astype(np.float32)
                if not (k(a, b) == a - b).all():
                    problems.append(f"thread {number}: wrong values at {n}")
            e = refused("E0301", tilec.compile, f"kernel t{number}(x: f32[N]) -> (y: f32[N]) {{ for tile y[i: B] {{ y[i] = x[i + {number + 1}] }} }}",
                        file=f"thread{number}.tile")
            if e.file != f"thread{number}.tile":
                problems.append(f"thread {number} was told of {e.file}")
        except Exception as e:
            problems.append(f"thread {number}: {e!r}")

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems, "\n".join(problems)


@test
def a_forked_child():
    x = np.arange(5000, dtype=np.float32)
    M["add"](x, x)
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = bool((M["add"](x, x) == 2 * x).all())
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (M["add"](x, x) == 2 * x).all()


@test
def modules_are_freed():
    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    source = "kernel freed(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] + 1 } }"
    x = np.arange(3, dtype=np.float32)
    for i in range(60):
        assert tilec.compile(source)(x)[2] == 3
        if i == 20:
            before = resident()
    gc.collect()
    assert resident() - before < 8 << 20, f"{(resident() - before) >> 20} MiB more after 40 modules"
    k = tilec.compile(source)
    for i in range(20000):
        k(x)
        if i == 2000:
            before = resident()
    assert resident() - before < 4 << 20, f"{(resident() - before) >> 20} MiB more after 18000 calls"


@test
def a_cache_that_cannot_be_written():
    with open(os.path.join(work, "file"), "w"):
        pass
    old = os.environ["TILEC_CACHE"]
    os.environ["TILEC_CACHE"] = os.path.join(work, "file")
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            k = tilec.compile("kernel uncached(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] + 17 } }")
            assert k(np.zeros(2, np.float32)).tolist() == [17, 17]
        assert len(told) == 1 and "E0844" in str(told[0].message) and told[0].filename == __file__, [str(t.filename) for t in told]
    finally:
        os.environ["TILEC_CACHE"] = old


def optional(name):
    try:
        return __import__(name)
    except Exception:
        print(f"skip python with {name} (it is not installed, or does not fit)")


if ml_dtypes := optional("ml_dtypes"):
    @test
    def bf16_and_fp8_of_ml_dtypes():
        x, w = floats(50).astype(ml_dtypes.bfloat16), floats(50).astype(ml_dtypes.bfloat16)
        y = M["halves"](x, w)
        assert y.dtype == ml_dtypes.bfloat16 and (y == (x.astype(np.float32) * w.astype(np.float32)).astype(ml_dtypes.bfloat16)).all()
        y, z = M["tiny"](x.astype(np.float32))
        assert y.dtype == ml_dtypes.float8_e4m3fn and z.dtype == ml_dtypes.float8_e5m2
        assert (M["widen"](y, z)[0] == y.astype(np.float32)).all()

if torch := optional("torch"):
    @test
    def tensors_of_torch():
        a, b = torch.randn(20, 30).half(), torch.randn(10, 30).half()
        c = M["product"](a, b.T)
        assert np.abs(c - (a.double() @ b.double().T).numpy()).max() < 1e-3
        out = torch.empty(20, 10)
        assert M["product"](a, b.T, out=out) is out and (out.numpy() == c).all()
        x, w = torch.randn(40).bfloat16(), torch.randn(40).bfloat16()
        y = M["halves"](x, w)
        assert (torch.from_dlpack(y) == x * w).all() if isinstance(y, tilec.Array) else True


def pip_install():
    """A stranger's `pip install` of the checkout into an environment of its own, the library built already."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        print("skip python installed by pip (no pip here)")
        return
    environment = os.path.join(work, "environment")
    done = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", environment], capture_output=True, text=True)
    if done.returncode != 0:
        print("skip python installed by pip (no venv here)")
        return
    python = os.path.join(environment, "bin", "python")
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TILEC_LIBRARY", "MAKEFLAGS", "MAKELEVEL")}
    clean["TILEC_BUILD"] = BUILD
    pip = [python, "-m", "pip"] if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0 else \
        [sys.executable, "-m", "pip", "--python", python]
    words = ["install", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "."]
    if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode != 0:  # ours stands outside the system's packages
        words.append("--no-deps")
        clean["PYTHONPATH"] = os.path.dirname(os.path.dirname(np.__file__))
    done = subprocess.run([*pip, *words], cwd=ROOT, env=clean, capture_output=True, text=True)
    report("pip install --no-build-isolation .", None if done.returncode == 0 else done.stdout + done.stderr)
    if done.returncode != 0:
        return
    script = ("import numpy as np, tilec, os\n"
              "assert tilec.__file__.startswith(os.environ['ENVIRONMENT']), tilec.__file__\n"
              "k = tilec.kernel(os.path.join(tilec.kernels_folder(), 'elementwise.tile'), 'vec_add')\n"
              "x = np.arange(9, dtype=k.inputs[0].type.replace('f', 'float'))\n"
              "assert (k(x, x) == 2 * x).all()\nprint('works', tilec.__version__)\n")
    done = subprocess.run([python, "-c", script], cwd=work, env=dict(clean, ENVIRONMENT=os.path.realpath(environment)), capture_output=True, text=True)
    report("the installed module works", None if done.returncode == 0 and "works" in done.stdout else done.stdout + done.stderr)
    done = subprocess.run([*pip, "uninstall", "-y", "tilec"], capture_output=True, text=True, env=clean)
    report("pip uninstall", None if done.returncode == 0 else done.stdout + done.stderr)


pip_install()
# Nothing of ours may be running when the folder goes.
shutil.rmtree(work, ignore_errors=True)
sys.exit(failed)
