#!/usr/bin/env python3
"""Matrices of simdgroups: what test/lift/matrices.metal and matrices.ll (AIR, in both its forms) compute in the simulator, on the CPU and on an OpenCL device is what NumPy computes; what is wrong
with its last four kernels is found."""
import json, os, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip matrices (no NumPy here)")
    sys.exit(0)
import _run

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "matrices.metal")
f32, f16 = np.float32, np.float16
rng = np.random.default_rng(6)
normal = lambda *shape: rng.standard_normal(shape).astype(f32)
zeros = lambda *shape: np.zeros(shape, f32)

def bfloat(x):
    bits = x.view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(f32)

def carried(x, n):
    y = np.ones((8, 8), f32)
    for i in range(n):
        t = x @ y
        x, y = (x, t) if i % 2 == 0 else (t, y)
    return y

def rows():
    """name, values, arrays, wanted, block, grid, tolerance"""
    for M, N, K in ((16, 24, 40), (8, 8, 8), (8, 16, 0)):
        a, b = normal(M, K), normal(K, N)
        yield "product", ["N=%d" % N, "K=%d" % K], {"a": a, "b": b, "c": zeros(M, N)}, {"c": a @ b}, "32", "%d,%d" % (N // 8, M // 8), 1e-5
    for K in (21, 16):
        a, b = normal(64, K).astype(f16), normal(K, 16).astype(f16)
        yield "staged", ["K=%d" % K], {"a": a, "b": b, "c": zeros(64, 16)}, {"c": a.astype(f32) @ b.astype(f32)}, "64", "1,2", 1e-5
    a = normal(16, 16)
    yield "turned", [], {"a": a, "b": zeros(8, 8), "c": zeros(8, 8)}, {"b": a[:8, 8:].T, "c": a[:8, 8:].T}, "32", "1", 0
    a, b = normal(8, 8), normal(8, 8)
    r, c = np.indices((8, 8))
    yield "own", [], {"a": a, "b": b, "c": zeros(8, 8)}, {"c": (a @ b) * 2 + np.where(c % 2, c - 1, r)}, "32", "1", 1e-5
    a, b = normal(8, 8).astype(f16), normal(8, 8)
    p, w = bfloat(b), a.astype(f32)
    h = ((w @ w + f32(0.5)).astype(f16) * f16(2)).astype(f16)
    yield "types", [], {"a": a, "b": b, "c": zeros(2, 8, 8), "d": np.zeros((8, 8), f16)}, \
        {"c": np.stack([w @ b + 3 * np.eye(8, dtype=f32), p @ np.ones((8, 8), f32)]), "d": h}, "32", "1", 4e-3
    a = normal(8, 8) * f32(0.3)
    for n in (5, 0):
        yield "carried", ["n=%d" % n], {"a": a, "c": zeros(8, 8)}, {"c": carried(a, n)}, "32", "1", 1e-5

    a, b = normal(8, 24), normal(8, 24)
    yield "air_product", ["K_0=24"], {"a": a, "b": b, "c": zeros(8, 8)}, {"c": a @ b.T}, "32", "1", 1e-5
    a = normal(16, 16)
    yield "air_older", [], {"a": a, "c": zeros(8, 8)}, {"c": a[:8, 8:].T}, "32", "1", 0

SHAPES = {"air_product": ["a=[8, K_0]", "b=[8, K_0]"], "product": ["a=[M, K]", "b=[K, N]", "c=[M, N]"], "staged": ["a=[M, K]", "b=[K, 16]", "c=[M, 16]"]}
ON_OPENCL = {"product", "own"}
WRONG = {"past_the_end": (["--grid", "floor((M + 7) / 8)", "--arg", "a=[M, 8]", "--arg", "c=[M, 8]"], "bounds"),
         "no_barrier": (["--grid", "1", "--arg", "a=[64]", "--arg", "c=[64]"], "race"),
         "never_set": (["--grid", "1", "--arg", "c=[64]"], "initialised"), "some_lanes": (["--grid", "1", "--arg", "c=[64]"], "order")}

def run(folder, device, name, values, arrays, wanted, block, grid, tolerance):
    words = [tilec, "run", source if name[:4] != "air_" else source[:-5] + "ll", "--kernel", name, "--device", device, "--block", block, "--grid", grid]
    for text in values + SHAPES.get(name, []):
        words += ["--arg", text]
    return _run.run(words, arrays, wanted, folder, tolerance)

def wrong(name):
    words, prop = WRONG[name]
    out = subprocess.run([tilec, "check", source, "--kernel", name, "--block", "32", "--witness", "--json"] + words, capture_output=True, text=True)
    kernel = json.loads(out.stdout)["kernels"][0]
    refuted = {p["property"] for p in kernel["properties"] if p["verdict"] == "refuted"}
    seen = [w["simulator"] for w in kernel.get("witnesses", []) if w["property"] == prop]
    return None if refuted == {prop} and "confirmed" in seen and set(seen) <= {"confirmed", "not run"} else "refuted for %s, the simulator says %s" % (refuted, seen)

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip matrices (no LLVM here)")
        return 0
    devices = ["sim", "cpu"]
    for line in subprocess.run([tilec, "devices"], capture_output=True, text=True).stdout.splitlines():
        if line.startswith("opencl") and "missing" not in line:
            devices.append("opencl:0")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        seen = set()
        for row in rows():
            for device in devices:
                if device != "sim" and (row[0] in seen or (device == "opencl:0" and row[0] not in ON_OPENCL)):
                    continue
                why = run(folder, device, *row)
                print("FAIL %s on %s: %s" % (row[0], device, why) if why else "ok %s %s on %s" % (row[0], " ".join(row[1]), device))
                failed = failed or bool(why)
            seen.add(row[0])
    for name in WRONG:
        why = wrong(name)
        print("FAIL %s: %s" % (name, why) if why else "ok %s refuted" % name)
        failed = failed or bool(why)
    return failed

sys.exit(main())
