#!/usr/bin/env python3
"""What becomes of a kernel of another language on the processor is said: which of its threads' loops go around the loop over threads, which reads of the block's
memory are made once before a loop, and why others are not; and the results are those of the simulator."""
import json, os, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip routes (no NumPy here)")
    sys.exit(0)

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
HEAD = "__kernel void %s(__global const float *x, __global float *y, int n, int m)\n{\n    __local float part[64];\n    int t = get_local_id(0);\n"
MEET = "    barrier(CLK_LOCAL_MEM_FENCE);\n"
LOOP = "    for (int c = t; c < n; c += 64)\n"
LAUNCH = "block 64\ngrid 1\narg n=64..1000\narg m=0..1000\narg x=f32[n]\narg y=f32[n]\n"
# A kernel's statements, what is said of it, and what is not.
KERNELS = {
    # behind a guard, where a compiler may not
    "scaled": ("    part[t] = x[t] + 1;\n" + MEET + LOOP + "        if (x[c] > 0)\n            y[c] = x[c] * part[3];\n",
               ["the loop over `c` goes around the loop over threads (refused: within it)", "`part[3]` is read once before the loop over `trip` (refused: in each trip)"],
               ["stays within", "is read in each trip"]),
    # nothing has been written there when the guard does not hold
    "unset": ("    if (m > 7)\n        part[t] = x[t];\n" + MEET + LOOP + "        y[c] = m > 7 ? x[c] * part[3] : 0;\n",
              ["reads of the block's memory stay in their loops (refused: before them, where initialised of `part` is not proved)"], ["read once"]),
    # the loop writes other cells of the same array, and a place that data say
    "written": ("    part[t] = x[t];\n" + MEET + "    for (int k = 0; k < n; k++)\n        if (t > 3)\n            part[t] = part[3] + k;\n" + MEET + LOOP + "        y[c] = c < 64 ? part[c] + part[m & 63] : 1;\n",
                ["`part[3]` is read in each trip of the loop over `k` (refused: once before it, the loop writes other cells there)",
                 "is read in each trip of the loop over `trip` (refused: once before it, its place is not inside for certain where no guard holds)"], ["`part[3]` is read once"]),
    # rows of memory by thread, and a loop that data end
    "apart": ("    float s = 0;\n    for (int k = 0; k < 40; k++)\n        s += x[(t * 40 + k) % n];\n    part[t] = s;\n" + MEET + "    for (int k = 0; k < part[t] * 0 + 3 && k < n; k++)\n        y[t] = s;\n" + LOOP + "        y[c] = s + part[63];\n",
              ["the loop over `k` stays within the loop over threads (refused: around it, neighbouring threads access cells that lie apart)"], []),
}


def run(words):
    done = subprocess.run([tilec] + words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip routes (no LLVM here)")
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.cl")
        with open(path, "w") as f:
            f.write("".join(HEAD % name + body + "}\n" for name, (body, _, _) in KERNELS.items()))
        with open(os.path.join(folder, "kernels.launch"), "w") as f:
            f.write(LAUNCH)
        _, said = run(["build", path, "--target", "c", "-o", folder, "--json"])
        built = {k["kernel"]: k for k in json.loads(said)["kernels"]}
        for name, (_, wanted, unwanted) in KERNELS.items():
            routes = built.get(name, {}).get("routes", [])
            results, text = [0, 0], "routes"
            for device in ("sim", "cpu") if name in ("scaled", "unset") else (): # reads moved, and reads that must not be
                code, text = run(["run", path, "--kernel", name, "--device", device, "--arg", "n=150", "--arg", "m=9", "--arg", "x=random:1", "--explain", "--out", "y=%s/%s.npy" % (folder, device)])
                results[device == "cpu"] = None if code else np.load("%s/%s.npy" % (folder, device))
            good = built.get(name, {}).get("held") and all(any(w in r for r in routes) for w in wanted) and not any(u in r for r in routes for u in unwanted)
            good = good and "routes" in text and all(r is not None for r in results) and np.array_equal(*results)
            failed = failed or not good
            print("%s routes of %s" % ("ok" if good else "FAIL", name), "" if good else (built.get(name, said[-800:]), text[-800:]))
    return failed


sys.exit(main())
