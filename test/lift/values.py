#!/usr/bin/env python3
"""Kernels of other languages run: what test/lift/values.cl computes in the simulator, on the CPU and on an OpenCL device is what NumPy computes."""
import os, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip values (no NumPy here)")
    sys.exit(0)
import _run

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.cl")
f32, i32, u32 = np.float32, np.int32, np.uint32
rng = np.random.default_rng(7)
normal = lambda *shape: rng.standard_normal(shape).astype(f32)

def erf(v):
    from math import erf
    return np.array([erf(x) for x in v])

def half_away(v):
    return np.sign(v) * np.floor(np.abs(v) + 0.5)

def functions(v):
    w = (v * f32(5)).astype(np.float64)
    v = v.astype(np.float64)
    return np.stack([2 ** v + np.log2(abs(v) + 1), abs(v) ** 1.5, half_away(v * 2) + np.trunc(v * 3) + np.ceil(v), np.sin(v) + np.cos(v) + np.tanh(v),
                     v + (2 - v) * 0.25 + (v >= 0) + np.sign(v), v * v + 1 + 2 * (w - np.floor(w)) + np.floor(w), abs(v), np.sqrt(v * v + 1) / np.sqrt(v * v + 2) + erf(v)], 1).reshape(-1)

def early(x, count):
    if (x > 2).any():
        return np.full(count, -1, f32)
    return x[x >= -1.5].sum(dtype=f32) + np.arange(count, dtype=f32)

def hashed(x):
    v = x.astype(np.uint64)
    for shift, factor in ((16, 0x7feb352d), (15, 0x846ca68b), (16, 1)):
        v = ((v ^ (v >> shift)) * factor) & 0xffffffff
    return v.astype(u32)

def collatz(v):
    n = 0
    while v > 1 and n < 100:
        v, n = (3 * v + 1 if v & 1 else v // 2), n + 1
    return n

def case(v, i):
    toward = lambda a, b: int(a / b)
    k = v & 7
    return {0: 5, 1: i, 3: toward(v, 3), 4: -i, 5: -i}.get(k, toward(v, 2))

def horner(x, n):
    s = 0
    for k in range(n - 1, -1, -3):
        s = s * 3 + int(x[k])
    return s

def rows():
    x = normal(100)
    yield "scale", ["a=1.5", "n=100"], {"x": x, "y": np.zeros(128, f32)}, {"y": np.concatenate([f32(1.5) * x, np.zeros(28, f32)])}, "64", "2"
    x = normal(7 * 64)
    yield "pointers", ["n=7"], {"x": x, "y": np.zeros(64, f32)}, {"y": x.reshape(7, 64).sum(0)}, "64", "1"
    x = rng.integers(-9, 9, 20).astype(i32)
    yield "downwards", ["n=20"], {"x": x, "y": np.zeros(32, i32)}, {"y": horner(x, 20) + np.arange(32)}, "32", "1"
    x = normal(32 * 9) + 1
    firsts = [next((k for k in range(9) if r[k] < 0), 9) for r in x.reshape(32, 9)]
    yield "first_negative", ["n=9"], {"x": x, "y": np.zeros(32, i32)}, {"y": np.array(firsts)}, "32", "1"
    x = rng.integers(-9, 9, 11).astype(i32)
    yield "do_while", ["n=11"], {"x": x, "y": np.zeros(32, i32)}, {"y": x[::2].sum() + 12 * np.arange(32)}, "32", "1"
    x = rng.integers(1, 1000, 64).astype(i32)
    yield "collatz", [], {"x": x, "y": np.zeros(64, i32)}, {"y": np.array([collatz(int(v)) for v in x])}, "32", "2"
    x = np.clip(normal(40), -2, 1.9).astype(f32)
    yield "early_return", ["n=40"], {"x": x, "y": np.zeros(32, f32)}, {"y": early(x, 32)}, "32", "1"
    longs = (normal(64) * f32(10) ** rng.integers(-3, 18, 64)).astype(f32)
    longs[:6] = -2.0 ** 63, 2.0 ** 62, -1, -3.75, 2.0 ** 32 - 256, -2.0 ** 31
    x = rng.integers(-1000, 1000, 64).astype(i32)
    sums = x.reshape(2, 32).cumsum(1).astype(i32)
    yield "scans", [], {"x": x, "far": longs, "y": np.zeros(64, i32), "z": np.zeros(64, f32), "w": np.zeros(64, np.int64)}, \
        {"y": sums, "z": (sums.reshape(-1) - x).astype(f32), "w": longs.astype(np.int64)}, "64", "1"
    x = rng.integers(-2 ** 63, 2 ** 63, 32)
    y = (x[:20].astype(np.uint64).sum() - np.uint64(16 + sum(range(20))) - x.astype(np.uint64)).astype(np.int64)
    yield "sums_of_64", ["n=20"], {"x": x, "y": np.zeros(32, np.int64)}, {"y": y}, "32", "1"
    x = rng.integers(0, 2 ** 32, 64, dtype=np.uint64).astype(u32)
    yield "hash", [], {"x": x, "y": np.zeros(64, u32)}, {"y": hashed(x)}, "64", "1"
    x = rng.integers(-50, 50, 64).astype(i32)
    yield "cases", [], {"x": x, "y": np.zeros(64, i32)}, {"y": np.array([case(int(v), i) for i, v in enumerate(x)])}, "64", "1"
    x = normal(32, 4)
    w = np.stack([x[:, 1], x[:, 0], np.ones(32, f32), x[:, 3]], 1) * 2
    w[:, 2] += (x * w).sum(1)
    yield "vectors", [], {"x": x, "y": np.zeros((32, 4), f32), "z": np.zeros(64, f32)}, \
        {"y": np.maximum(w, x[:, [0, 0, 1, 1]]), "z": w[:, [0, 2]].reshape(-1)}, "32", "1"
    x, v = rng.integers(0, 256, 64).astype(np.uint8), rng.integers(-128, 128, 64).astype(np.int8)
    s = x.astype(i32) * v.astype(i32)
    yield "narrow", [], {"x": x, "w": v, "h": np.zeros(64, np.float16), "y": np.zeros(64, np.uint8)}, \
        {"h": (s * f32(0.125)).astype(np.float16), "y": np.clip(s, 0, 255).astype(np.uint8)}, "64", "1"
    x = rng.integers(0, 100, 32).astype(i32)
    own = np.array([1, 8, 24, 22], f32)
    yield "tables", [], {"x": x, "y": np.zeros(32, f32)}, {"y": own[x & 3] + 16}, "32", "1"
    x = normal(13, 21)
    yield "transpose", ["rows=13", "cols=21"], {"x": x, "y": np.zeros((21, 13), f32)}, {"y": x.T}, "8,8", "3,2"
    x = rng.integers(0, 256, 500).astype(np.uint8)
    counts = np.bincount(x & 15, minlength=16)
    yield "histogram", ["n=500"], {"x": x, "counts": np.zeros(16, u32), "sums": np.zeros(2, np.int64)}, \
        {"counts": counts, "sums": np.array([counts[0::2].sum(), counts[1::2].sum()], np.int64) * 1000000007}, "32", "3"
    x = normal(2, 75)
    sums = np.stack([x[:, l::32].sum(1) for l in range(32)], 1)
    yield "strided", ["n=75"], {"x": x, "y": np.zeros((2, 75), f32)}, {"y": x - sums[:, 31 - np.arange(75) % 32]}, "32", "2"
    x = normal(128)
    a = x.reshape(2, 64)
    for _ in range(4):
        a = f32(0.5) * (a + np.roll(a, -1, 1))
    yield "neighbours", [], {"x": x, "y": np.zeros(128, f32)}, {"y": a.reshape(-1)}, "64", "2"
    x, y = normal(64), normal(64)
    a, b = x, y
    for k in range(5):
        a, b = a + f32(k), a
    yield "turns", ["n=5"], {"x": x, "y": y}, {"x": b, "y": a}, "32", "2"
    x, y = normal(64, 4), normal(65, 4)
    v = np.where((np.arange(64) % 3 == 0)[:, None], x, y[1:])
    yield "either", ["n=6"], {"x": x, "y": y, "o": np.zeros(128, f32)}, {"o": np.concatenate([np.zeros(64, f32), v[:, 1] + v[:, 3]])}, "32", "2"
    x, u = rng.integers(-2 ** 31, 2 ** 31, 64).astype(np.int64), rng.integers(0, 2 ** 32, 64).astype(np.int64)
    b, w, least, most = x[::-1], u[::-1], -2 ** 31, 2 ** 31 - 1
    yield "saturating", [], {"x": x.astype(i32), "u": u.astype(u32), "y": np.zeros(192, i32), "z": np.zeros(192, u32)}, \
        {"y": np.concatenate([np.clip(x + b, least, most), np.clip(x - b, least, most), (x + b) >> 1]).astype(i32),
         "z": np.concatenate([np.clip(u + w, 0, 2 ** 32 - 1), np.clip(u - w, 0, None), abs(x - b) ^ ((u + w + 1) >> 1)]).astype(u32)}, "64", "1"
    x = normal(32, 2)
    yield "circle", [], {"x": x, "y": np.zeros((32, 2), f32), "z": np.zeros((32, 2), f32)}, {"y": np.sin(x), "z": np.cos(x)}, "32", "1"
    x = normal(32)
    yield "functions", [], {"x": x, "y": np.zeros(256, f32)}, {"y": functions(x)}, "32", "1"

    x = normal(5, 64)
    yield "copied_ahead", ["tiles=5"], {"x": x, "y": np.zeros(64, f32)}, {"y": x[:, ::-1].sum(0)}, "64", "1"
    x = normal(32, 3, 2)
    yield "copied_columns", ["n=3"], {"x": x, "y": np.zeros((3, 64), f32)}, {"y": x.transpose(1, 0, 2).reshape(3, 64)[:, ::-1]}, "64", "3"
    x = rng.integers(-99, 99, (75, 4)).astype(i32)
    yield "copied_back", ["n=75"], {"x": x, "y": np.zeros((75, 4), i32)}, {"y": x + (np.arange(75) % 32)[:, None]}, "32", "3"
    x = normal(75)
    last = np.minimum(np.arange(96), 74)
    tile = np.arange(96) // 32 * 32 + np.maximum(np.arange(96) % 32, 3)
    inside = np.minimum(np.arange(96) % 32, np.minimum(75 - np.arange(96) // 32 * 32, 32) - 1)
    yield "clipped", ["n=75"], {"x": x, "y": np.zeros(96, f32)}, {"y": x[last][tile] - x[np.maximum(inside, 5)]}, "32", "3"
    x = normal(64)
    h = np.arange(64, dtype=np.int64) * 2654435761 % 2 ** 32
    yield "wrapped", [], {"x": x, "y": np.zeros(64, f32), "z": np.zeros(64, i32)}, \
        {"y": np.concatenate([[f32(0)], x[:-1]]) + x[h % 61] + h.astype(f32), "z": (np.arange(64) * 5 + 250) % 256 + (h.astype(np.int16) < 0) + (h < 2 ** 31)}, "64", "1"
    x = normal(2, 75)
    yield "shared_in_all", ["n=75"], {"x": x, "y": np.zeros((2, 75), f32)}, {"y": x * x[:, 3:4]}, "32", "2"
    x = normal(75)
    yield "shared_in_some", ["n=75"], {"x": x, "y": np.zeros(75, f32)}, {"y": np.full(75, x[3])}, "32", "1"

SHAPES = {"transpose": ["x=[rows, cols]", "y=[cols, rows]"], "first_negative": [], "vectors": [], "copied_columns": ["y=[n, 64]"]}
ON_OPENCL = {"first_negative", "transpose", "copied_columns"}

def run(folder, device, name, values, arrays, wanted, block, grid):
    words = [tilec, "run", source, "--kernel", name, "--device", device, "--block", block, "--grid", grid]
    for text in values + SHAPES.get(name, []):
        words += ["--arg", text]
    return _run.run(words, arrays, wanted, folder)

def any_launch(folder, name, grid, extents):
    """The text for every launch: a load that no trip changes stands before the loop only where the cell has surely been written."""
    words = [tilec, "build", source, "--kernel", name, "--target", "c", "-o", folder, "--block", "32", "--grid", grid, "--arg", "n=1..20000"]
    for array in "xy":
        words += ["--arg", "%s=f32[%s]" % (array, extents)]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip values (no LLVM here)")
        return 0
    devices = ["sim", "cpu"]
    for line in subprocess.run([tilec, "devices"], capture_output=True, text=True).stdout.splitlines():
        if line.startswith("opencl") and "missing" not in line:
            devices.append("opencl:0")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for row in rows():
            for device in devices:
                if device == "opencl:0" and row[0] not in ON_OPENCL:
                    continue
                why = run(folder, device, *row)
                print("FAIL %s on %s: %s" % (row[0], device, why) if why else "ok %s on %s" % (row[0], device))
                failed = failed or bool(why)
        for name, grid, extents in (("shared_in_all", "50", "50 * n"), ("shared_in_some", "1", "n")):
            why = any_launch(folder, name, grid, extents)
            print("FAIL %s for any launch: %s" % (name, why) if why else "ok %s for any launch" % name)
            failed = failed or bool(why)
    return failed

sys.exit(main())
