#!/usr/bin/env python3
"""Atomic updates give what NumPy says: a CUDA text in the simulator, on the CPU, on an OpenCL device and printed as CUDA; floats' extremes from Kernel IR."""
import os, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip updates (no NumPy here)")
    sys.exit(0)
import _run

tilec, build, here = os.environ["TILEC"], os.environ["BUILD"], os.path.dirname(os.path.abspath(__file__))
f32 = np.float32
rng = np.random.default_rng(3)
failed = False

# OpenCL C's functions, of both versions
CL = """kernel void exchanged(global const float *x, global int *a, global uint *b, global float *f, int n) {
    local int turn[1];
    int l = get_local_id(0), i = get_global_id(0);
    if (l == 0)
        atomic_store_explicit((volatile local atomic_int *)turn, 0, memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (atomic_cmpxchg(turn, 0, l + 1) == 0)
        atom_inc(a);
    if (i < n) {
        float xi = x[i];
        int old = atomic_add(a + 1, 0), was;
        do {
            was = old;
            old = atomic_cmpxchg(a + 1, was, as_int(as_float(was) + xi));
        } while (old != was);
        int e = 3 + 0 * atomic_load_explicit((volatile global atomic_int *)(a + 4), memory_order_acquire, memory_scope_device);
        if (atomic_compare_exchange_strong((volatile global atomic_int *)(a + 2), &e, 4))
            atomic_add(a + 3, 1);
        else if (e == 4)
            atomic_add(a + 4, 1);
        uint u = 9;
        atomic_compare_exchange_weak_explicit((volatile global atomic_uint *)b, &u, 7u, memory_order_relaxed, memory_order_relaxed, memory_scope_device);
        atom_xchg(b + 1, u);
        if (atomic_xchg(f, 2.0f) != 2.0f)
            atomic_exchange_explicit((volatile global atomic_float *)(f + 1), -1.5f, memory_order_relaxed, memory_scope_device);
    }
}
"""

EXTREMES = """kernel extremes {
    symbol n
    task (i < floor((n + 31) / 32))
    lane (l < 32)
    global in x: f32[n]
    global update least: f32[1] rewritable
    global update most: f32[1] rewritable
    if 32 * i + l < n {
        let v: f32 = x[32 * i + l]
        atomic min least[0] <- v scope task
        atomic max most[0] <- v scope task
    }
}
"""

def run(name, device, words, arrays, wanted, folder):
    global failed
    why = _run.run([tilec, "run"] + words + ["--device", device], arrays, wanted, folder, 1e-5)
    failed = failed or why is not None
    print("FAIL %s on %s: %s" % (name, device, why) if why else "ok %s on %s" % (name, device))

def devices():
    if "--device" in sys.argv:
        return sys.argv[2:]
    found = subprocess.run([tilec, "devices"], capture_output=True, text=True).stdout.splitlines()
    return ["cpu"] + [d + ":0" for d in ("opencl", "cuda") if any(line.startswith(d) and "missing" not in line for line in found)]

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "extremes.kir")
    with open(path, "w") as f:
        f.write(EXTREMES)
    x = rng.standard_normal(70).astype(np.float32)
    for device in devices():
        run("extremes", device, [path, "--shape", "n=70"], {"x": x, "least": np.full(1, 9, np.float32), "most": np.full(1, -9, np.float32)},
            {"least": x.min(keepdims=True), "most": x.max(keepdims=True)}, folder)
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip updates (no LLVM here)")
        sys.exit(failed)
    n, threads = 150, 3 * 64
    x, w = rng.integers(-1000, 1000, n).astype(np.int32), rng.standard_normal(n).astype(np.float32)
    u, low = x.view(np.uint32), x & 3
    sums = np.array([x[(x & 7) == k].sum() for k in range(8)] + [-x.sum()], np.int32)
    wanted = {"sums": sums, "least": np.array([x[low == k].min() for k in range(4)], np.int32), "most": np.array([u[low == k].max() for k in range(4)]).view(np.int32),
              "bits": np.array([np.bitwise_and.reduce(~(np.uint32(1) << (u & np.uint32(31)))), np.bitwise_or.reduce(np.uint32(1) << (u & np.uint32(31))),
                                np.bitwise_xor.reduce(u)], np.uint32).view(np.int32),
              "total": np.array([w[(x & 1) == k].sum() for k in range(2)]), "tickets": np.array([threads, 3 * sum(range(64)), threads - 1], np.int32)}
    arrays = {"x": x, "w": w, "sums": np.zeros(9, np.int32), "least": np.full(4, 5000, np.int32), "most": np.zeros(4, np.uint32),
              "bits": np.array([2 ** 32 - 1, 0, 0], np.uint32), "total": np.zeros(2, np.float32), "tickets": np.zeros(3, np.int32)}
    wanted = {k: v.view(np.uint32) if arrays[k].dtype == np.uint32 else v for k, v in wanted.items()}
    source = [os.path.join(here, "updates.cu"), "--kernel", "updates", "--block", "64", "--grid", "3", "--arg", "n=150"]
    for device in ([] if "--device" in sys.argv else ["sim"]) + devices():
        run("updates", device, source, arrays, wanted, folder)
    # functions that the launch chooses, and gives
    chosen = {"called_unset_mended": ["kind=1", f32(2)], "given_unknown_mended": ["f=2", f32(0.5)]}
    for kernel, (said, factor) in chosen.items():
        words = [os.path.join(here, "defects", "cuda.cu"), "--kernel", kernel, "--arg", said, "--arg", "n=150", "--shape", "groups_x=3"]
        for device in [d for d in ["sim"] + devices() if d != "cuda:0" or "--device" in sys.argv]:
            run(kernel, device, words, {"x": w}, {"x": w * factor}, folder)
    small = rng.integers(-50, 50, n).astype(np.float32)  # their sum is the same in any order
    whole = small.sum(keepdims=True).astype(np.float32).view(np.int32)
    arrays = {"w": small, "rings": np.zeros(2, np.uint32), "sum": np.zeros(1, np.int32), "first": np.array([0, 0, -1, 0], np.int32), "last": np.zeros(1, np.int32)}
    wanted = {"rings": np.array([n % 11, -n % 11], np.uint32), "sum": whole, "first": np.array([3, 1, 8, 1], np.int32), "last": np.array([7], np.float32).view(np.int32)}
    source[2] = "exchanges"
    path = os.path.join(folder, "exchanged.cl")
    with open(path, "w") as f:
        f.write(CL)
    for device in devices():
        run("exchanges", device, source, arrays, wanted, folder)
    if "--device" not in sys.argv:
        run("exchanges in OpenCL C", "sim", [path] + source[3:],
            {"x": small, "a": np.array([0, 0, 3, 0, 0], np.int32), "b": np.array([9, 0], np.int32), "f": np.zeros(2, np.float32)},
            {"a": np.array([3, whole[0], 4, 1, n - 1], np.int32), "f": np.array([2, -1.5], np.float32)}, folder)
    # all threads write one value to one cell: one after another on the CPU, with a warning; refused where there are threads
    with open(os.path.join(folder, "same.cl"), "w") as f:
        f.write("__kernel void same(__global int *y, int n) { y[get_group_id(0)] = n; }")
    for device, status in (("cpu", 0), ("opencl:0", 1)):
        if device not in devices():
            continue
        words = [tilec, "run", os.path.join(folder, "same.cl"), "--block", "8", "--grid", "2", "--arg", "n=7", "--arg", "y=zeros", "--shape", "y_length=2", "--device", device]
        done = subprocess.run(words, capture_output=True, text=True)
        good = done.returncode == status and ("E0402" if status else "E0553") in done.stderr + done.stdout
        failed = failed or not good
        print("%s one value for one cell on %s" % ("ok" if good else "FAIL", device), "" if good else done.stdout + done.stderr)
    # the lab's row of such a kernel carries the warning, and reports print it
    texts = {"firsts.tile": "kernel firsts(x: f32[R, C]) -> (y: f32[R]) where C >= 2 { for tile y[r: BR] { y[r] = x[r, 0] + x[r, 1] } }",
             "firsts.cl": "__kernel void firsts(__global const float *x, __global float *y, int C) { y[get_group_id(0)] = x[get_group_id(0) * C] + x[get_group_id(0) * C + 1]; }",
             "firsts.launch": "block 8\ngrid R\narg C=2..100\nwhere R <= 100\narg x=f32[R, C]\narg y=f32[R]\n"}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    store = ["--store", os.path.join(folder, "rows")]
    lab = [tilec, "bench", "--file", os.path.join(folder, "firsts.tile"), "--kernel", "firsts", "--shape", "R=5,C=3", "ours", "read:" + os.path.join(folder, "firsts.cl"),
           "--threads", "1", "--rounds", "6", "--sample-ms", "0.2", "--no-marginal", "--no-ceilings"] + store
    said = [subprocess.run(words, capture_output=True, text=True) for words in (lab, [tilec, "bench", "--report", "markdown"] + store, [tilec, "bench", "--report", "html"] + store)]
    good = all("firsts.cl, line 1: threads of firsts race on `y`: here they run one after another (E0553)" in x.stdout for x in said)
    failed = failed or not good
    print("%s one value for one cell in the lab's row and reports" % ("ok" if good else "FAIL"), "" if good else said)
sys.exit(failed)
