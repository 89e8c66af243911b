#!/usr/bin/env python3
"""What the languages' own rules say of test/lift/rules.cu, where a reader may think otherwise: verdicts, places, and what is computed."""
import json, os, shutil, subprocess, sys, tempfile
import numpy as np
import _run

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.cu")
FLAGS = ["--block", "64", "--grid", "1", "--arg", "x=[n]", "--arg", "y=[320]", "--arg", "n=0..1000", "--shared", "256"]
failed = 0

def tell(name, why):
    global failed
    print("FAIL %s: %s" % (name, why) if why else "ok " + name)
    failed += bool(why)

def check(path, *flags):
    return json.loads(subprocess.run([tilec, "check", path, "--json", *flags], capture_output=True, text=True).stdout)

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip rules (no LLVM here)")
        return 0
    whole = check(source, *FLAGS, "--where", "64 <= n")
    refuted = {k["kernel"]: {p["property"] for p in k["properties"] if p["verdict"] == "refuted"} for k in whole["kernels"]}
    tell("two names of one dynamic array race", refuted["one_place"] != {"race"} and str(refuted["one_place"]))
    tell("and are ordered by barriers", refuted["in_turn"] and str(refuted["in_turn"]))
    held = [k["kernel"] for k in whole["kernels"] if k["held"]]
    tell("shuffles within parts, lanes counted modulo them, a text printed", "parts" not in held and str(refuted["parts"]))
    why = [p["explanation"] for k in whole["kernels"] if k["kernel"] == "too_far" for p in k["properties"] if p["verdict"] == "refuted"]
    tell("a shift by more bits than there are", not any("`shift` is 32" in w for w in why) and str(why))
    seen = [(d["line"], d["code"]) for d in whole["diagnostics"] if d["code"] == "E1123"]
    tell("a loop with two ways in has a place", seen != [(41, "E1123")] and str(seen))
    for most, held in ((255, True), (256, False)):
        k = check(source, "--kernel", "narrow_counter", "--block", "1", "--grid", "1", "--arg", "x=[1000]", "--arg", "n=0..%d" % most)["kernels"][0]
        tell("a counter of 8 bits up to %d" % most, k["held"] != held and str([p for p in k["properties"] if p["verdict"] != "proved"]))
    with tempfile.TemporaryDirectory() as folder:
        copied = os.path.join(folder, "copied.cu")
        with open(copied, "w") as f:
            f.write("struct quad { float v[4]; };\nextern \"C\" __global__ void k(const char *x, float *y, int stride, int j) {\n"
                    "struct quad q = *(const struct quad *)(x + threadIdx.x * stride); y[threadIdx.x] = q.v[j & 3]; }\n")
        x, out = os.path.join(folder, "x.npy"), os.path.join(folder, "q.npy")
        np.save(x, np.arange(16, dtype=np.float32))
        subprocess.run([tilec, "run", copied, "--block", "4", "--grid", "1", "--arg", "x=" + x, "--arg", "y=f32[4]", "--arg", "stride=16", "--arg", "j=2",
                        "--device", "sim", "--out", "y=" + out], capture_output=True)
        y = np.load(out).tolist() if os.path.exists(out) else None
        tell("copies of structs keep what memory holds", y != [2, 6, 10, 14] and str(y))
        begins = os.path.join(folder, "begins.cu")
        with open(begins, "w") as f:
            f.write("struct pair { float a; int b; };\n__constant__ struct pair pairs[2] = {{1.5f, 2}, {2.5f, 7}};\n__device__ short table[2][2] = {{1, 2}, {3, -4}};\n"
                    "extern \"C\" __global__ void k(int *y) { int i = threadIdx.x; y[i] = 100 * table[i & 1][i >> 1] + 10 * pairs[i & 1].b + (int)(2 * pairs[i & 1].a); }\n")
        out, flags = os.path.join(folder, "y.npy"), ["--block", "4", "--grid", "1", "--arg", "y=i32[4]", "--device", "sim"]
        subprocess.run([tilec, "run", begins, *flags, "--out", "y=" + out], capture_output=True)
        y = np.load(out).tolist() if os.path.exists(out) else None
        tell("variables that a host may set begin with their initialisers", y != [123, 375, 223, -325] and str(y))
        subprocess.run([tilec, "run", begins, *flags, "--out", "y=" + out, "--arg", "table=zeros"], capture_output=True)
        tell("and hold what the launch gives them", np.load(out).tolist() != [23, 75, 23, 75] and str(np.load(out)))
        cut = os.path.join(folder, "cut.ll")
        with open(cut, "w") as f:
            f.write("define amdgpu_kernel void @k(ptr addrspace(1) %y, i32 %n) {\n  %c = icmp sgt i32 %n, %m\n  ret void\n}\n")
        seen = [(d["line"], d["column"], d["code"]) for d in check(cut, "--block", "64")["diagnostics"]]
        tell("LLVM IR that is none has a place", seen != [(2, 25, "E1121")] and str(seen))
        with open(cut, "w") as f: # with this flag LLVM's reader would end the process
            f.write("define amdgpu_kernel void @k(ptr addrspace(1) %y) {\n  store i32 1, ptr addrspace(1) %y, !tbaa !1\n  ret void\n}\n"
                    '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n!1 = !{!2, !2, i64 0}\n!2 = !{i32 1}\n')
        seen = [d["code"] for d in check(cut, "--block", "64")["diagnostics"]]
        tell("LLVM IR whose notes are broken is refused", seen != ["E1121"] and str(seen))
        t, x = np.arange(64), np.random.default_rng(1).integers(-99, 99, 64).astype(np.int32)
        want = [t // 8 * 8 + (x & 7), np.where(t % 8 >= 3, t - 3, t), np.where(t % 16 < 13, t + 3, t),
                t ^ 3, t // 32 * 32 + 5]
        for device in ("sim", "cpu"):
            tell("shuffles within parts on " + device, _run.run([tilec, "run", source, "--kernel", "parts", "--block", "64", "--grid", "1", "--device", device, "--arg", "n=3"],
                 {"x": x, "y": np.zeros(320, np.int32)}, {"y": np.concatenate(want)}, folder))
    return failed > 0

sys.exit(main())
