#!/usr/bin/env python3
"""Several kernels of one text that make one computation, launched in order on the host's arrays: by the sidecar file's lines and by --step; and what is refused."""
import os, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip steps (no NumPy here)")
    sys.exit(0)

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
TEXT = """__kernel void partial(__global const float *in, __global float *out, int n)
{
    __local float part[64];
    int t = get_local_id(0), i = get_global_id(0);
    part[t] = i < n ? in[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 32; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        out[get_group_id(0)] = part[0];
}
__kernel void scale(__global float *y, __global const float *by, float f) { y[get_global_id(0)] *= by[0] * f; }
"""
STEPS = ["partial(in=x, out=sums)", "partial(in=sums, out=total, n=16)", "scale(y=x, by=total)"]
LAUNCH = """kernel partial
block 64
grid floor((n + 63) / 64)
arg n=1..100000
arg in=f32[n]
arg out=f32[floor((n + 63) / 64)]
kernel scale
block 1
grid m
arg y=f32[m]
arg by=f32[1]
"""


def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip steps (no LLVM here)")
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        path, given = os.path.join(folder, "sum.cl"), os.path.join(folder, "x.npy")
        x = np.random.default_rng(1).integers(-9, 9, 1000).astype(np.float32) # sums are exact in any order
        np.save(given, x)

        def run(*words):
            done = subprocess.run([tilec, "run", path, "--arg", "x=" + given] + list(words), capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

        def tell(name, why):
            nonlocal failed
            print("FAIL %s: %s" % (name, why) if why else "ok %s" % name)
            failed = failed or bool(why)

        with open(path, "w") as f:
            f.write(TEXT)
        for where, device in (("the sidecar file", "cpu"), ("flags", "sim")):
            with open(path[:-3] + ".launch", "w") as f:
                f.write("".join("step %s # of the host\n" % s for s in STEPS if where != "flags") + LAUNCH)
            out = os.path.join(folder, "out.npy")
            sums = os.path.join(folder, "sums.npy")
            code, said = run("--arg", "n=1000", "--arg", "f=0.5", "--device", device, "--out", "x=" + out, "--out", "sums=" + sums,
                             *(w for s in STEPS if where == "flags" for w in ("--step", s)))
            good = not code and np.array_equal(np.load(out), x * (x.sum() * np.float32(0.5))) and np.array_equal(np.load(sums), np.pad(x, (0, 24)).reshape(16, 64).sum(1))
            tell("steps by %s on %s" % (where, device), "" if good else said)
        for name, code, steps in (("one memory twice", "E0649", ["partial(in=x, out=x, n=9)"]), ("a number for an array", "E0860", ["partial(in=3, n=9)"]),
                                  ("more than a step before made", "E0644", ["partial(in=x, out=sums, n=1000)", "partial(in=sums, out=total, n=17)"]),
                                  ("what no step takes", "E0640", ["partial(n=9)"]), ("no form of a step", "E0860", ["partial(in=x, in=y)"])):
            status, said = run("--device", "sim", *(w for s in steps for w in ("--step", s)))
            tell("refused: %s" % name, "" if status and code in said else said)
    return failed


sys.exit(main())
