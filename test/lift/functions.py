#!/usr/bin/env python3
"""Functions that Kernel IR has not, made of those that it has: bits, angles, exchanges of lanes, in OpenCL C, Metal and CUDA, against NumPy."""
import os, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip functions (no NumPy here)")
    sys.exit(0)
import _run

tilec, here = os.environ["TILEC"], os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(1)
f32, u32, i32 = np.float32, np.uint32, np.int32
N = 128
ones = lambda v, n: np.array([bin(int(k) & (1 << n) - 1).count("1") for k in v])
leading = lambda v, n: np.array([n - (int(k) & (1 << n) - 1).bit_length() for k in v])
trailing = lambda v, n: np.array([n if not int(k) & (1 << n) - 1 else (int(k) & -int(k)).bit_length() - 1 for k in v])
first = lambda v, n: np.where(trailing(v, n) == n, 0, trailing(v, n) + 1)
wrapped = lambda columns: np.stack([np.asarray(c).astype(np.int64) & 0xffffffff for c in columns], 1).astype(u32).view(i32)

def turned(v, by, n):
    mask = (1 << n) - 1
    return np.array([((int(a) & mask) << (int(b) % n) | (int(a) & mask) >> (n - int(b) % n)) & mask for a, b in zip(v, by)])

def bits():
    x, y = (rng.integers(0, 2 ** 32, N, dtype=np.uint64) for _ in range(2))
    x >>= rng.integers(0, 32, N, dtype=np.uint64)
    w = rng.integers(0, 2 ** 63, N, dtype=np.uint64) * 2 + 1 >> rng.integers(0, 64, N, dtype=np.uint64)
    x[:4], w[:3] = [0, 1, 2 ** 31, 2 ** 32 - 1], [0, 1, 2 ** 63]
    x, y = x.astype(u32), y.astype(u32)
    upper = (x.astype(np.uint64) * y >> 32).astype(np.int64)
    short = lambda v: v.astype(np.int16).astype(i32)
    want = wrapped([ones(x, 32), leading(x, 32), trailing(x, 32), upper, x.astype(i32).astype(np.int64) * y.astype(i32) >> 32, turned(x, y, 32), ones(w, 64), leading(w, 64),
                    turned(x, y, 8), leading(x, 16), short(x) * short(y) >> 16, upper + x, ones(x, 8), trailing(x >> 24, 8), (x & 255) * (y & 255) >> 8, leading(np.arange(N) % 64, 32)])
    return {"x": x, "y": y, "w": w.view(np.int64), "out": want * 0}, {"out": want}

def angles():
    a, b = ((rng.uniform(-1, 1, N) * 10.0 ** rng.integers(-6, k, N)).astype(f32) for k in (1, 3))
    a[:8], b[:8] = [0, -0.0, 1, -1, 0.5, -0.5, 0.9999999, -0.9999999], [0, 0, -0.0, -1, 1, 2, -3, 1e5]
    x, y = a.astype(np.float64), b.astype(np.float64)
    over, small = (1 + abs(b)).astype(np.float64), (abs(b) - f32(0.5) * a).astype(np.float64)
    half = y - 2 * np.round(y / 2)
    with np.errstate(all="ignore"):
        want = np.stack([np.arcsin(x), np.arccos(x), np.arctan(y), np.arctan2(y, x), np.arcsinh(y), np.arccosh(over), np.arctanh(x), np.sin(np.pi * half), np.cos(np.pi * half),
                         np.where(abs(x) == 0.5, np.copysign(np.inf, x), np.tan(np.pi * x)), np.expm1(np.minimum(y, 80)), np.log1p(small), np.cbrt(y), np.copysign(x, y), np.isfinite(y), np.arctan2(x, y)], 1).astype(f32)
    want[b > 80, 10] = np.inf
    return {"x": a, "y": b, "out": np.zeros_like(want)}, {"out": want}

def parts(x, width):
    return x.reshape(-1, width).astype(np.int64)

def lanes():
    x, f = rng.integers(-2 ** 31, 2 ** 31, N).astype(i32), (rng.standard_normal(N).astype(f32).view(u32) & 0xffff0000).view(f32)
    whole, eight, four, at = parts(x, 32), parts(x, 8), parts(x, 4), np.arange(32)
    below, each = whole[:, (at - 3) % 32], lambda v: np.repeat(v, 32)
    product = np.concatenate([np.ones((N // 32, 1), np.int64), np.cumprod(whole & 3, 1)[:, :-1]], 1)
    narrow = lambda u: (u.astype(np.uint64) + 0x7fff + (u >> 16 & 1) & 0xffff0000).astype(u32).view(f32)
    want = wrapped([c.reshape(-1) for c in (
        np.where(at >= 3, below, -below), np.where(np.arange(8) < 3, eight[:, (np.arange(8) + 5) % 8], 7 * eight[:, (np.arange(8) + 5) % 8]), below, whole[:, (at + 3) % 32],
        each((whole & 0xffffffff).max(1) >> 1), each((whole & 255).min(1)), each(whole.astype(np.int16).max(1)), each(np.bitwise_and.reduce(whole | 255, 1)),
        each(np.bitwise_or.reduce(whole & 0xf0f0f0, 1)), each(np.bitwise_xor.reduce(whole, 1)), np.repeat(four.sum(1), 4), np.repeat(four.max(1), 4), product,
        each(((whole > 0) << at).sum(1)), four[:, [2, 3, 0, 1]] & 0xffff, np.concatenate([whole[:, 1:] & 1, whole[:, 31:] & 1], 1))])
    floats = np.stack([f.reshape(-1, 2)[:, ::-1].reshape(-1), abs(f), narrow(np.exp2(f.astype(np.float64)).astype(f32).view(u32)), np.full(N, 48)], 1).astype(f32)
    return {"x": x, "y": want * 0, "f": f, "g": floats * 0}, {"y": want, "g": floats}

def loops():
    x = rng.integers(0, 10 ** 6, N + 7).astype(i32)
    digits = sum((x[:N] // 3 ** k % 3 == 1).astype(np.int64) for k in range(8))
    runs = np.stack([x[k:N + k] for k in range(7)], 1)
    want = np.stack([digits + runs[:, :4].sum(1), runs[:, 3:].sum(1)], 1).astype(i32)
    h = rng.permutation(N).astype(np.float16)
    at = (parts(h, 32).argmax(1) + 32 * np.arange(N // 32)).astype(u32)
    return {"x": x, "y": want * 0, "h": h, "at": at * 0}, {"y": want, "at": at}

def words():
    x, y = (rng.integers(0, 2 ** 32, N, dtype=np.uint64).astype(u32) for _ in range(2))
    x[:3] = [0, 1, 2 ** 31]
    f = (rng.standard_normal(N) * 50).astype(f32)
    f[:4] = [0.5, 1.5, -2.5, 2.5]
    signed, byte = x.astype(i32), lambda v, t: v.view(t).reshape(-1, 4).astype(np.int64)
    mirrored = [int(format(int(k), "032b")[::-1], 2) for k in x]
    whole, eight, sixteen, at = parts(signed, 32), parts(signed, 8), parts(signed, 16), np.arange(16)
    bytes = np.concatenate([byte(x, np.uint8), byte(y, np.uint8)], 1)
    permuted = sum(b << 8 * i for i, b in enumerate((bytes[:, 1], bytes[:, 5], (bytes[:, 6] >> 7) * 255, bytes[:, 3]))).astype(np.uint64)
    want = wrapped([first(x, 32), mirrored, ones(x, 32) - leading(y, 32), 7 + (byte(x, np.int8) * byte(y, np.int8)).sum(1), 7 + (byte(x, np.uint8) * byte(y, np.uint8)).sum(1),
                    signed.astype(np.int64) * y.astype(i32) >> 32, first([(int(a) & 0xffff) << 32 | int(b) & 0xf0000000 for a, b in zip(x, y)], 64), leading(signed.astype(np.int64), 64),
                    eight[np.arange(N) // 8, y & 7], eight[:, [3, 4, 5, 6, 7, 5, 6, 7]].reshape(-1), sixteen[:, np.where(at < 3, at, at - 3)].reshape(-1),
                    parts(signed, 4)[:, [3, 2, 1, 0]].reshape(-1), np.repeat(((whole > 0) << np.arange(32)).sum(1), 32),
                    np.rint(f) + np.sign(f) * np.floor(abs(f) + f32(0.5)), np.repeat((whole & 0xffffffff).max(1) >> 1, 32),
                    (y.astype(np.uint64) << 5 | x >> 27) ^ permuted])
    return {"x": x, "y": y, "f": f, "out": want * 0}, {"out": want}

def longs():
    x, y = (rng.integers(0, 2 ** 32, N, dtype=np.uint64).astype(u32) for _ in range(2))
    long = parts(x.astype(np.int64) * 3 - y, 32)
    return {"x": x, "y": y, "out": np.zeros(N, np.int64)}, {"out": np.concatenate([long[:, 1:], long[:, 31:]], 1).reshape(-1)}

def sums():
    x = rng.standard_normal((N // 64, 150)).astype(f32)
    want = np.repeat(x.astype(np.float64).sum(1) * x[:, 0], 64).astype(f32)
    return {"x": x, "y": want * 0}, {"y": want}

failed = False
for name, kernel, ending, options, devices in (("bits", bits, "cl", [], ["cpu"]), ("angles", angles, "cl", [], ["cpu"]), ("lanes", lanes, "metal", [], ["cpu"]),
                                               ("loops", loops, "metal", ["--arg", "base=3", "--arg", "count=2"], ["cpu"]),
                                               ("words", words, "cu", [], ["cpu", "sim"]), ("longs", longs, "cu", [], ["sim"]), ("sums", sums, "cu", ["--arg", "n=150"], ["cpu"])):
    arrays, wanted = kernel()
    for device in devices:
        with tempfile.TemporaryDirectory() as folder:
            command = [tilec, "run", os.path.join(here, "functions." + ending), "--kernel", name, "--block", "64", "--grid", str(N // 64), "--device", device] + options
            why = _run.run(command, arrays, wanted, folder, 1e-4 if name == "sums" else 4e-7)
        if why and "E1120" in why:
            print("skip functions (no plugin)")
            sys.exit(0)
        failed = failed or why is not None
        print("FAIL %s on %s: %s" % (name, device, why) if why else "ok %s on %s" % (name, device))
sys.exit(failed)
