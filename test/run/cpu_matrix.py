"""Products by this processor's matrix instructions: the values, and that the portable form of each instruction gives its bits.

Kernels that the library does not have are built for each set of instructions that the processor has and called from here, as compiled for the processor and (one for
each instruction) without those instructions. Integers must be what NumPy sums modulo 2^32; floats the same bits in both forms, within n roundings of sums in f64, and not an
operand below 2^-126 may count. `tilec run` holds them against the oracle besides, on data made to be difficult.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
TILEC = os.environ.get("TILEC", os.path.join(BUILD, "tilec"))
SETS = (("tdpbf16ps", "tdpbssd"), ("vdpbf16ps", "vpdpbusd"))
FORM = """
schedule %(name)s { operands = fragments }
kernel %(name)s(a: %(type)s[%(a)s], b: %(type)s[%(b)s]%(more)s) -> (c: %(sum)s[%(c)s]) {
    for tile c[%(tile)s] {
        acc: %(sum)s[i, j] = 0
        for k: BK in K { acc += %(product)s }
        c[%(store)s] = %(result)s
    }
}
"""


def form(name, **changes):
    parts = dict(name=name, type="bf16", sum="f32", a="M, K", b="K, N", c="M, N", more="", tile="i: BM, j: BN", store="i, j",
                 product="a[i, k] @ b[k, j]", result="acc")
    return FORM % {**parts, **changes}


KERNELS = {
    "biased": form("biased", b="N, K", more=", bias: f32[N]", product="a[i, k] @ b[j, k]", result="acc * 2 + bias[j]"),
    "turned": form("turned", a="K, M", b="N, K", c="N, M", tile="j: BN, i: BM", store="j, i", product="a[k, i] @ b[j, k]"),
    "doubled": form("doubled", product="bf16(f32(a[i, k]) * 2) @ b[k, j]"),
    "whole": form("whole", type="i8", sum="i32"),
}
PORTABLE = ("biased", "whole")
FAILED = False


def say(good, name, why=""):
    global FAILED
    FAILED = FAILED or not good
    print(f"{'ok' if good else 'FAIL'} {name}" + ("" if good else f": {why}"))


def wide(bits):  # bf16 as f32
    return (bits.astype(np.uint32) << 16).view(np.float32)


def operand(random, shape, kind):
    if kind == "i8":
        return random.integers(-128, 128, shape).astype(np.int8)
    x = random.standard_normal(shape).astype(np.float32)
    if kind == "tiny":  # products about 2^-126, and operands below it
        x *= np.exp2(random.integers(-70, -56, shape)).astype(np.float32)
        x = np.where(random.random(shape) < 0.1, np.float32(2.0**-130), x)
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def called(library, name, arrays, sizes):
    function = getattr(library, name)
    return function(*[a.ctypes.data_as(ctypes.c_void_p) for a in arrays], *[ctypes.c_int64(s) for s in sizes])


def values(name, a, b, bias):
    """In f64, and the magnitudes that were added; operands below 2^-126 are nothing."""
    left, right = (x.astype(np.int64) if x.dtype == np.int8 else wide(x).astype(np.float64) for x in (a, b))
    left = left.T if name == "turned" else left
    right = right.T if name in ("biased", "turned") else right
    if a.dtype == np.int8:
        return (left @ right).astype(np.uint64).astype(np.uint32).view(np.int32), None
    left = left * 2 if name == "doubled" else left
    left, right = (np.where(np.abs(x) < 2.0**-126, 0, x) for x in (left, right))
    sums, sizes = left @ right, np.abs(left) @ np.abs(right)
    if name == "biased":
        sums, sizes = sums * 2 + bias, sizes * 2 + np.abs(bias)
    return (sums.T, sizes.T) if name == "turned" else (sums, sizes)


def check(native, portable, instructions):
    random = np.random.default_rng(7)
    for name in KERNELS:
        libraries = [native, portable] if name in PORTABLE else [native]
        kind, problem = "i8" if name == "whole" else None, ""
        for m, n, k, data in ((1, 1, 1, None), (33, 47, 61, None), (7, 18, 300, None), (97, 257, 259, None), (19, 21, 40, "tiny")):
            shape = (k, m) if name == "turned" else (m, k), (n, k) if name in ("biased", "turned") else (k, n)
            a, b = (operand(random, s, kind or data) for s in shape)
            bias = random.standard_normal(n).astype(np.float32)
            results = [np.full((n, m) if name == "turned" else (m, n), 77, np.int32 if kind else np.float32) for _ in libraries]
            for library, c in zip(libraries, results):
                sizes = (k, m, n) if name == "turned" else (m, k, n) # as its arrays name them first
                code = called(library, name, [a, b] + ([bias] if name == "biased" else []) + [c], sizes)
                problem = problem or (f"code {code} at {m} x {n} x {k}" if code else "")
            sums, size = values(name, a, b, bias)
            if any(not np.array_equal(results[0].view(np.uint32), c.view(np.uint32)) for c in results[1:]):
                problem = problem or f"the portable form gives other bits at {m} x {n} x {k} {data or ''}"
            off = results[0] != sums if kind else np.abs(results[0] - sums) > size * (k + 3) * 2.0**-24 + 2 * k * 2.0**-126
            if np.any(off):
                problem = problem or f"{np.argwhere(off)[0]} is {results[0][tuple(np.argwhere(off)[0])]} at {m} x {n} x {k}"
        say(not problem, f"cpu_matrix {name} by {','.join(instructions)}", problem)


def compiled(folder, name, options, kernels):
    path = os.path.join(folder, name)
    sources = [os.path.join(folder, kernel + ".c") for kernel in kernels]
    subprocess.run(["cc", "-std=gnu11", "-O1", "-ffp-contract=off", "-w", "-Wno-psabi", "-fPIC", "-shared", *options, *sources, "-o", path, "-lm"], check=True)
    return ctypes.CDLL(path)


def same_in_simulator(source, work, environment):
    """The simulator's products have the processor's bits, subnormals and all."""
    random, paths, results = np.random.default_rng(9), [], []
    for name, shape in (("a", (3, 37)), ("b", (18, 37))):
        paths += ["--arg", f"{name}={work}/{name}.npy"]
        np.save(f"{work}/{name}.npy", wide(operand(random, shape, "tiny")))
    for device in ("cpu", "sim"):
        command = [TILEC, "run", source, "--kernel", "biased", "--device", device, "--no-check", "--arg", "bias=zeros", "--out", f"c={work}/{device}.npy"]
        if subprocess.run(command + paths, stdout=subprocess.DEVNULL, env=environment).returncode:
            return False
        results.append(np.load(f"{work}/{device}.npy").view(np.uint32))
    return np.array_equal(*results) and np.any(results[0] != 0)


def main():
    listed = json.loads(subprocess.run([TILEC, "devices", "--json"], capture_output=True, text=True, check=True).stdout)
    cpu = next(d for d in listed["devices"] if d.get("device") == "cpu" or d.get("name") == "cpu")
    has = {row["instruction"] for row in cpu.get("matrices", [])}
    with tempfile.TemporaryDirectory(prefix="tilec-matrix-") as work:
        os.environ.setdefault("TILEC_CACHE", os.path.join(BUILD, "test-cache"))
        source = os.path.join(work, "products.tile")
        with open(source, "w") as out:
            out.write("".join(KERNELS.values()))
        for instructions in SETS:
            if not has.issuperset(instructions):
                print(f"skip cpu_matrix {','.join(instructions)} (this processor has none)")
                continue
            environment = {**os.environ, "TILEC_MATRICES": ",".join(instructions)}
            folder = os.path.join(work, instructions[0])
            built = subprocess.run([TILEC, "build", source, "-o", folder, "--explain"], capture_output=True, text=True, env=environment)
            told = built.stdout.count("dot: by " + instructions[0]), built.stdout.count("dot: by " + instructions[1])
            say(built.returncode == 0 and told == (3, 1), f"cpu_matrix routes of {','.join(instructions)}", f"{told} {built.stderr[-600:]}")
            if built.returncode == 0:
                check(compiled(folder, "native.so", ["-march=native"], KERNELS),
                      compiled(folder, "portable.so", ["-march=x86-64-v3"], PORTABLE), instructions)
            run = subprocess.run([TILEC, "run", source, "--kernel", "biased", "--shape", "M=37,N=70,K=513", "--arg", "a=adversarial:3", "--arg",
                                  "b=adversarial:4", "--arg", "bias=random:5"], capture_output=True, text=True, env=environment)
            say(run.returncode == 0, f"cpu_matrix oracle of {instructions[0]}", run.stdout + run.stderr)
            say(same_in_simulator(source, work, environment), f"cpu_matrix simulator of {instructions[0]}")
        plain = os.path.join(work, "plain.tile")
        with open(plain, "w") as out:
            out.write(KERNELS["biased"].replace("operands = fragments", "BM = 32"))
        without = subprocess.run([TILEC, "check", plain, "--explain"], capture_output=True, text=True, env={**os.environ, "TILEC_MATRICES": ""})
        say("no matrix instruction for operands of bf16" in without.stdout, "cpu_matrix without", without.stdout + without.stderr)
    return FAILED


sys.exit(main())
