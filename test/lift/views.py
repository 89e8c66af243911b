#!/usr/bin/env python3
"""Memory seen as elements of several widths (test/lift/views.cl): what is computed is what NumPy computes, in the simulator, on the CPU and on an OpenCL device;
other targets print it; two threads that write one byte through different views race, and a block past the end is out of bounds."""
import json, os, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
try:
    import numpy as np
except ImportError:
    print("skip views (no NumPy here)")
    sys.exit(0)
import _run

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
here = os.path.dirname(os.path.abspath(__file__))
source = os.path.join(here, "views.cl")
f16, f32, u8, u16, i64 = np.float16, np.float32, np.uint8, np.uint16, np.int64
rng = np.random.default_rng(3)
normal = lambda *shape: rng.standard_normal(shape).astype(f32)

def blocks(scales, codes):
    """18 bytes each: a half, then 32 codes of 4 bits, the second 16 above the first."""
    low, high = codes[..., :16], codes[..., 16:]
    return np.concatenate([scales[..., None].view(u8), (low | high << 4).astype(u8)], -1)

def rows():
    scales, codes, y = normal(8, 3).astype(f16), rng.integers(0, 16, (8, 3, 32)), normal(3, 32)
    yield "dot4", ["blocks=3"], {"x": blocks(scales, codes).reshape(-1), "y": y.reshape(-1), "out": np.zeros(8, f32)}, \
        {"out": ((codes - 8) * scales.astype(f32)[..., None] * y).sum((1, 2)).astype(f32)}, "4", "2"
    x = normal(8, 32)
    d = (abs(x).max(1) / f32(7)).astype(f32)
    codes = np.floor(x / d[:, None] + f32(8.5)).astype(np.int64)
    yield "quantise", [], {"x": x.reshape(-1), "out": np.zeros(144, u8)}, {"out": blocks(d.astype(f16), codes).reshape(-1)}, "4", "2"
    x = normal(32)
    before = (x * 2)[::-1]
    halves = np.concatenate([before.astype(f16), (before + f32(1)).astype(f16)]).astype(f32)
    yield "half_sums", [], {"x": x, "out": np.zeros(32, f32)}, {"out": halves[::2] + halves[1::2]}, "32", "1"
    x = rng.integers(0, 2 ** 32, 16).astype(np.uint32)
    turned = x.astype(">u4").view(u8).reshape(16, 4)
    words = np.concatenate([turned, turned + np.arange(4, dtype=u8)], 1).reshape(-1).view("<u4")
    yield "own_bytes", [], {"x": x, "out": np.zeros(32, np.uint32)}, {"out": words}, "8", "2"
    records = rng.integers(0, 256, (16, 5)).astype(u8)
    word = np.ascontiguousarray(records[:, 1:]).reshape(-1).view("<u4")
    yield "between", [], {"records": records.reshape(-1), "out": np.zeros(16, np.uint32)}, {"out": word + records[:, 0]}, "8", "2"
    x, u = rng.integers(-2 ** 15, 2 ** 15, 16).astype(np.int16), rng.integers(0, 2 ** 16, 16).astype(u16)
    yield "shorts", [], {"x": x, "u": u, "out": np.zeros(16, np.int16)}, {"out": (x.astype(i64) * 3 + (u >> 3)).astype(u16)}, "8", "2"
    at, x = rng.integers(0, 50, 16).astype(i64), normal(50)
    yield "longs", ["n=50", "at=i64[16] below n", "x=f32[n]"], {"at": at, "x": x, "y": np.zeros(16, f32), "next": np.zeros(16, i64)}, \
        {"y": x[at] + 50, "next": at * 3 - 4000000000}, "8", "2"
    x = normal(16)
    out = x * 2
    parts = (out + f32(1)).view(u8).reshape(16, 4)
    yield "joined", [], {"x": x.view(u8), "out": np.zeros(16, f32), "parts": np.zeros(16, u8)}, {"out": out, "parts": parts[:, 3] ^ parts[:, 0]}, "8", "2"
    x = normal(16, 4)
    yield "pitched", ["pitch=20"], {"x": x.reshape(-1), "out": np.zeros(80, f32)}, {"out": np.pad(x, [(0, 0), (0, 1)])}, "8", "2"

def run(device, name, values, arrays, wanted, block, grid):
    words = [tilec, "run", source, "--kernel", name, "--device", device, "--block", block, "--grid", grid]
    for text in values:
        words += ["--arg", text]
    with tempfile.TemporaryDirectory() as folder:
        return _run.run(words, arrays, wanted, folder)

def printed(target, name, values, arrays, block, grid):
    """The text of a proved kernel for this target."""
    with tempfile.TemporaryDirectory() as folder:
        words = [tilec, "build", source, "--kernel", name, "--target", target, "--block", block, "--grid", grid, "-o", folder]
        sizes = ["%s=%s[%d]" % (k, {"uint8": "u8", "uint16": "u16", "int16": "u16", "uint32": "u32", "int64": "i64"}.get(str(a.dtype), "f32"), a.size)
                 for k, a in arrays.items() if not any(v.startswith(k + "=") for v in values)]
        for text in values + sizes:
            words += ["--arg", text]
        done = subprocess.run(words, capture_output=True, text=True)
        return None if done.returncode == 0 else done.stdout + done.stderr

DEFECTS = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef struct { half scale; uchar codes[16]; } block;
kernel void overlap%s(global float *out) {
    local float words[32];
    local half *halves = (local half *)words;
    int i = get_local_id(0);
    words[i] = 1;
    %s
    halves[i] = 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = words[31 - i];
}
kernel void past_end%s(global const block *x, global float *out, int rows) {
    int i = get_global_id(0);
    if (i %s rows)
        out[i] = (float)x[i].scale * x[i].codes[15];
}
"""

def defects():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "defects.cl")
        with open(path, "w") as out:
            out.write(DEFECTS % ("_broken", "", "_broken", "<=") + DEFECTS.split("block;")[1] % ("_mended", "barrier(CLK_LOCAL_MEM_FENCE);", "_mended", "<"))
        for name, prop, more in (("overlap", "race", ["--arg", "out=f32[32]"]), ("past_end", "bounds", ["--arg", "rows=1..100", "--arg", "x=u8[18*rows]", "--arg", "out=f32[rows+1]"])):
            why = ""
            for kind in ("_broken", "_mended"):
                words = [tilec, "check", path, "--kernel", name + kind, "--block", "32", "--grid", "1", "--json", "--witness"] + more
                answer = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
                kernel = answer["kernels"][0] if answer["kernels"] else {"held": False, "properties": []}
                refuted = [p["property"] for p in kernel["properties"] if p["verdict"] == "refuted"]
                confirmed = [w["property"] for w in kernel.get("witnesses", []) if w["simulator"] == "confirmed"]
                if kind == "_mended" and not kernel["held"]:
                    why += "mended is not proved: %s; " % [p for p in kernel["properties"] if p["verdict"] != "proved"]
                if kind == "_broken" and (prop not in refuted or prop not in confirmed):
                    why += "broken is refuted for %s, confirmed for %s; " % (refuted, confirmed)
            yield "%s refuted, mended proved" % name, why

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip views (no LLVM here)")
        return 0
    opencl = any(line.startswith("opencl") and "missing" not in line
                 for line in subprocess.run([tilec, "devices"], capture_output=True, text=True).stdout.splitlines())
    jobs = []
    with ThreadPoolExecutor(2) as pool:
        for row in rows():
            for device in ["sim", "cpu"] + (["opencl:0"] if opencl and row[0] in ("dot4", "half_sums", "own_bytes") else []):
                jobs.append(("%s on %s" % (row[0], device), pool.submit(run, device, *row)))
            for target in ("opencl", "cuda", "metal") if row[0] in ("quantise", "half_sums", "longs") else ():
                jobs.append(("%s printed for %s" % (row[0], target), pool.submit(printed, target, row[0], row[1], row[2], row[4], row[5])))
        results = [(name, job.result()) for name, job in jobs] + list(defects())
    for name, why in results:
        print("FAIL %s: %s" % (name, why) if why else "ok " + name)
    return any(why for _, why in results)

sys.exit(main())
