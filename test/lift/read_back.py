#!/usr/bin/env python3
"""What targets are given is what was proved: the texts of the corpus for metal, air, cuda and opencl are read again and give the same results as the Kernel
IR that they were printed from, bit for bit, every access checked. TILEC_EXHAUSTIVE=1: every kernel on every target, all forms."""
import glob, os, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
here = os.path.dirname(os.path.abspath(__file__))
exhaustive = bool(os.environ.get("TILEC_EXHAUSTIVE"))
TARGETS = ("opencl", "metal", "cuda", "air")
SHAPES = {"argmax": "N=300 S=1", "attention": "T=5 KV=2 G=3 D=32 S=1 H=2 B=2 P=9 N=11 len=4 pos=3", "elementwise": "N=137", "embedding": "T=5 V=7 D=21",
          "matmul": "M=5 N=9 K=24", "normalise": "R=3 C=21", "projections": "N=11 K=64", "stencil": "R=3 C=21"}
# Those that take a second or more have one target each.
LONG = {"flash_causal": "air", "attn_full_f32": "air", "rope": "opencl", "gemm_i8w": "opencl", "gemm_bias_gelu": "air", "matmul_tt_gelu": "opencl",
        "gemm": "metal", "gemm_f32": "metal", "matmul_f32": "opencl", "gemm_bias_f32": "metal", "matmul": "cuda"}

def rows():
    for path in sorted(glob.glob(os.path.join(here, "..", "..", "kernels", "*.tile"))):
        shape = SHAPES[os.path.basename(path)[:-5]]
        for name in re.findall(r"^kernel (\w+)", open(path).read(), re.M):
            for target in TARGETS:
                if exhaustive or LONG.get(name, target) == target:
                    yield path, name, target, shape
    chains = os.path.join(here, "..", "accept", "chains.tile")  # results a row are stored too
    yield chains, "windowed", "air", "T=9 H=1 window=4"
    yield chains, "lengths", "metal", "M=5 K=9"

def run(row):
    path, name, target, shape = row
    words = [tilec, "check", path, "--kernel", name, "--target", target, "--read-back", "all" if exhaustive else "quickest"]
    for text in shape.split():
        words += ["--shape", text]
    done = subprocess.run(words, capture_output=True, text=True)
    good = not done.returncode and "bit for bit" in done.stdout
    return name, target, "" if good else (done.stdout + done.stderr)[:1500]

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip read_back (no LLVM here)")
        return 0
    failed = False
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        for name, target, why in pool.map(run, rows()):
            print("FAIL %s for %s: %s" % (name, target, why) if why else "ok %s for %s" % (name, target))
            failed = failed or bool(why)
    return failed

sys.exit(main())
