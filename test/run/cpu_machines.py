"""Products for processors of other kinds: files built with --machine, compiled for vectors of 32 bytes and run here, and for AArch64 and run by an emulator of it.

Sums of integers must be what NumPy has modulo 2^32, of floats within as many roundings; the instructions that a machine's row names must be in the code.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
TILEC = os.environ.get("TILEC", os.path.join(BUILD, "tilec"))
FORM = """kernel %s(a: %s[%s], b: %s[%s]) -> (c: %s[M, N]) {
    for tile c[i: BM, j: BN] {
        acc: %s[i, j] = 0
        for k: BK in K { acc += %s }
        c[i, j] = acc
    }
}
"""
# name: type of operands, of results, NumPy's of the operands, whether the right one lies along the sum
KERNELS = {"whole": ("i8", "i32", np.int8, False), "rows": ("i8", "i32", np.int8, True), "single": ("f32", "f32", np.float32, False),
           "halves": ("f16", "f32", np.float16, True), "brains": ("bf16", "f32", np.uint16, False)}
SHAPES = ((1, 1, 1), (33, 47, 61), (7, 18, 300))
MAIN = """#include <stdio.h>
#include <stdlib.h>
%(includes)s
static void *get(const char *name, size_t bytes)
{
    FILE *f = fopen(name, "rb");
    void *p = calloc(bytes + 1, 1);
    if (!f || fread(p, 1, bytes, f) != bytes)
        exit(2);
    fclose(f);
    return p;
}
#define RUN(kernel, of, to) do { char a[99], b[99], c[99]; \\
    snprintf(a, 99, #kernel ".%%d.a", n); snprintf(b, 99, #kernel ".%%d.b", n); snprintf(c, 99, #kernel ".%%d.c", n); \\
    to *sums = malloc(sizeof(to) * M * N); \\
    int code = kernel(get(a, sizeof(of) * M * K), get(b, sizeof(of) * K * N), sums, M, K, N); \\
    FILE *f = fopen(c, "wb"); \\
    if (code || fwrite(sums, sizeof(to), M * N, f) != (size_t)(M * N) || fclose(f)) return 3; } while (0)
int main(void)
{
    static const int shapes[][3] = {%(shapes)s};
    for (int n = 0; n < %(count)d; n++) {
        int64_t M = shapes[n][0], N = shapes[n][1], K = shapes[n][2];
        %(runs)s
    }
    return 0;
}
"""
C_TYPES = {"i8": "int8_t", "i32": "int32_t", "f32": "float", "f16": "uint16_t", "bf16": "uint16_t"}
FAILED = False


def say(good, name, why=""):
    global FAILED
    FAILED = FAILED or not good
    print(f"{'ok' if good else 'FAIL'} {name}" + ("" if good else f": {why[-900:]}"))


def wide(x, kind):
    return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) if kind == "bf16" else x.astype(np.float64 if kind[0] == "f" else np.int64)


def write_operands(work):
    random = np.random.default_rng(3)
    for name, (kind, _, of, along) in KERNELS.items():
        for n, (m, c, k) in enumerate(SHAPES):
            for operand, shape in (("a", (m, k)), ("b", (c, k) if along else (k, c))):
                x = random.integers(-128, 128, shape).astype(np.int8) if kind == "i8" else random.standard_normal(shape).astype(np.float32)
                if kind == "bf16" and n == 2: # products about 2^-126
                    x *= np.exp2(random.integers(-70, -56, shape)).astype(np.float32)
                x = (x.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else x.astype(of)
                x.tofile(f"{work}/{name}.{n}.{operand}")


def wrong(work, name):
    kind, to, of, along = KERNELS[name]
    for n, (m, c, k) in enumerate(SHAPES):
        a, b = (wide(np.fromfile(f"{work}/{name}.{n}.{operand}", of), kind) for operand in "ab")
        a, b = a.reshape(m, k), b.reshape(c, k).T if along else b.reshape(k, c)
        got = np.fromfile(f"{work}/{name}.{n}.c", np.int32 if to == "i32" else np.float32).reshape(m, c)
        good = np.array_equal(got, (a @ b).astype(np.int32)) if to == "i32" else np.all(np.abs(got - a @ b) <= np.abs(a) @ np.abs(b) * (k + 2) * (2.0**-22 if kind == "bf16" else 2.0**-24) + k * 2.0**-125)
        if not good:
            return f"{name} at {m} x {c} x {k}: {got[:2, :4]} for {(a @ b)[:2, :4]}"
    return ""


def run_machine(work, machine, kernels, told, compiler, runner, instructions, dump, again=None):
    """told: what is said of products of the first kernel's type; again: another compiler, whose program must give the same bits"""
    folder = os.path.join(work, machine)
    os.mkdir(folder)
    with open(f"{folder}/products.tile", "w") as out:
        for name in kernels:
            kind, to, _, along = KERNELS[name]
            out.write(FORM % (name, kind, "M, K", kind, "N, K" if along else "K, N", to, to, "a[i, k] @ b[j, k]" if along else "a[i, k] @ b[k, j]"))
    with open(f"{folder}/main.c", "w") as out:
        out.write(MAIN % {"includes": "\n".join(f'#include "{name}.h"' for name in kernels), "count": len(SHAPES),
                          "shapes": ", ".join("{%d, %d, %d}" % s for s in SHAPES),
                          "runs": "\n        ".join(f"RUN({name}, {C_TYPES[KERNELS[name][0]]}, {C_TYPES[KERNELS[name][1]]});" for name in kernels)})
    built = subprocess.run([TILEC, "build", f"{folder}/products.tile", "--machine", machine, "-o", folder, "--explain"], capture_output=True, text=True)
    say(built.returncode == 0 and built.stdout.count(told) == sum(KERNELS[name][0] == KERNELS[kernels[0]][0] or machine == "neon" for name in kernels), f"cpu machines: routes of {machine}", built.stdout + built.stderr)
    if built.returncode:
        return
    program, sources, results = f"{folder}/run", [f"{folder}/{name}.c" for name in kernels], []
    for by, on in [(compiler, runner)] + ([(again, [])] if again else []):
        made = subprocess.run([by[0], "-O1", *by[1:], "-std=gnu11", "-ffp-contract=off", "-w", "-Wno-psabi", f"-I{folder}", f"{folder}/main.c", *sources, "-o", program, "-lm"],
                              capture_output=True, text=True)
        ran = subprocess.run([*on, program], cwd=work, capture_output=True, text=True) if made.returncode == 0 else made
        say(ran.returncode == 0, f"cpu machines: {machine} compiled and run{' without' if results else ''}", f"{ran.returncode} {ran.stdout} {ran.stderr}")
        if ran.returncode:
            return
        problems = [wrong(work, name) for name in kernels]
        say(not any(problems), f"cpu machines: values on {machine}{' without' if results else ''}", " ".join(problems))
        if not results:
            code = subprocess.run([dump, "-d", "--no-show-raw-insn", program], capture_output=True, text=True).stdout
            say(all(re.search(i, code) for i in instructions), f"cpu machines: instructions of {machine}", str([i for i in instructions if not re.search(i, code)]))
        results.append([open(f"{work}/{name}.{n}.c", "rb").read() for name in kernels for n in range(len(SHAPES))])
    if again:
        say(results[0] == results[1], f"cpu machines: the same bits with and without on {machine}")


def main():
    with tempfile.TemporaryDirectory(prefix="tilec-machines-") as work:
        write_operands(work)
        with open(f"{work}/brains.tile", "w") as out:
            out.write(FORM % ("brains", "bf16", "M, K", "bf16", "K, N", "f32", "f32", "a[i, k] @ b[k, j]"))
        flags = open("/proc/cpuinfo").read() if platform.machine() == "x86_64" and os.path.exists("/proc/cpuinfo") else ""
        v3 = ["cc", "-march=x86-64-v3"]
        for machine, kernels, told, options, flag, instructions in (
                ("avx2", ("whole", "single"), "dot: by vpmaddwd", [], "avx2", ["vpmaddwd.*ymm", "vfmadd.*ymm"]),
                ("avx2+vnni", ("rows",), "dot: by vpdpbusd-vex", ["-mavxvnni"], "avx_vnni", ["vpdpbusd.*ymm"])):
            if re.search(rf"\b{flag}\b", flags):
                run_machine(work, machine, kernels, told, v3 + options, [], instructions, "objdump")
            else:
                print(f"skip cpu machines: {machine} (this processor has none)")
        compiler, emulator = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
        for machine, kernels, told, options, instructions in (
                ("neon", ("single", "halves"), " vectors of 4, blocks", ["-O3"], [r"fmla.*\.4s"]),
                ("neon+dotprod+bf16", ("whole", "brains"), "dot: by sdot", ["-march=armv8.6-a"], [r"sdot.*\.4s.*\.16b", r"bfdot.*\.4s.*\.8h"])):
            if compiler and emulator:
                run_machine(work, machine, kernels, told, [compiler, "-static", *options], [emulator, "-cpu", "max"], instructions, "aarch64-linux-gnu-objdump",
                            ["cc"] if "+" in machine else None)
            else:
                print(f"skip cpu machines: {machine} (no {'compiler' if not compiler else 'emulator'} for it: gcc-aarch64-linux-gnu, qemu-user)")
        with open(f"{work}/products.tile", "w") as out:
            out.write(FORM % ("single", "f32", "M, K", "f32", "K, N", "f32", "f32", "a[i, k] @ b[k, j]"))
        for operand, shape in (("a", (9, 37)), ("b", (37, 11))):
            x = np.random.default_rng(5).standard_normal(shape) * np.exp2(np.random.default_rng(6).integers(-70, -56, shape))
            np.save(f"{work}/{operand}.npy", (x.astype(np.float32).view(np.uint32) & 0xffff0000).view(np.float32))
        bits = []
        for device in ("cpu", "sim"):
            r = subprocess.run([TILEC, "run", f"{work}/brains.tile", "--machine", "neon+bf16", "--device", device, "--no-check", "--arg", f"a={work}/a.npy", "--arg",
                                f"b={work}/b.npy", "--out", f"c={work}/{device}.npy"], capture_output=True, text=True)
            bits.append(np.load(f"{work}/{device}.npy").view(np.uint32) if r.returncode == 0 else r.stderr)
        say(np.array_equal(*bits) and np.any(bits[0] != 0), "cpu machines: the simulator has bfdot's bits", str(bits))
        r = subprocess.run([TILEC, "run", f"{work}/brains.tile", "--machine", "neon+bf16", "--shape", "M=37,N=70,K=513", "--arg", "a=adversarial:3", "--arg", "b=adversarial:4",
                            "--explain"], capture_output=True, text=True)
        say(r.returncode == 0 and "dot: by bfdot" in r.stdout, "cpu machines: oracle of bfdot", r.stdout + r.stderr)
        for name in ("avx3", "neon+amx", "avx2+"):
            r = subprocess.run([TILEC, "build", f"{work}/products.tile", "--machine", name, "-o", work], capture_output=True, text=True)
            say(r.returncode == 2 and "E0860" in r.stderr and "neon+dotprod" in r.stderr, f"cpu machines: no {name}", r.stderr)
        r = subprocess.run([TILEC, "build", f"{work}/products.tile", "--machine", "avx2", "--target", "cuda", "-o", work], capture_output=True, text=True)
        say(r.returncode == 2 and "E0860" in r.stderr, "cpu machines: of another target", r.stderr)
    return FAILED


sys.exit(main())
