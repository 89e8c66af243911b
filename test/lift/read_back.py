#!/usr/bin/env python3
"""What targets are given is what was proved: the texts of the corpus and of random programs for metal, air, cuda, opencl and c are read again and give the same
results as the Kernel IR that they were printed from, bit for bit, every access checked; texts with one thing altered do not. Each kernel has two of the targets in
turn, each target random programs of its own. TILEC_EXHAUSTIVE=1: every kernel on every target, all forms, more random programs."""
import glob, os, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
here = os.path.dirname(os.path.abspath(__file__))
exhaustive = bool(os.environ.get("TILEC_EXHAUSTIVE"))
TARGETS = ("opencl", "metal", "cuda", "air", "c")
ALL = ("opencl_cpu",) + TARGETS  # the printer of opencl, without threads
SHAPES = {"argmax": "N=300 S=1", "attention": "T=5 KV=2 G=3 D=32 S=1 H=2 B=2 P=9 N=11 len=4 pos=3", "elementwise": "N=137", "embedding": "T=5 V=7 D=21",
          "matmul": "M=5 N=9 K=24", "normalise": "R=3 C=21", "projections": "N=11 K=64", "stencil": "R=3 C=21"}
SHORT = 700 # bytes of a random program: longer ones take a second each
RANDOM_SHAPE = "M=3 N=4 K1=5 K2=4 K3=3 K4=5 V=4 H=2"
# Those that take a second or more have one target each.
LONG = {"flash_causal": "c", "attn_full_f32": "air", "rope": "opencl", "gemm_i8w": "opencl", "gemm_bias_gelu": "opencl", "matmul_tt_gelu": "opencl",
        "gemm": "metal", "gemm_f32": "metal", "matmul_f32": "opencl", "gemm_bias_f32": "metal", "matmul": "cuda"}
# One thing altered from a kernel's function on: what, target, file, kernel, and the text there before and after.
ALTERED = [("nothing", "opencl", "normalise", "rms_norm", "", ""),
           ("an operator", "opencl", "normalise", "rms_norm", "(float)C + eps", "(float)C - eps"),
           ("a constant", "opencl", "normalise", "rms_norm", "s = 0.0f;", "s = 0.5f;"),
           ("a barrier less", "opencl", "normalise", "softmax", "barrier(CLK_LOCAL_MEM_FENCE);", ""),
           ("a stride", "opencl", "normalise", "softmax", "* C", "* (C - 1)"),
           ("a bound", "opencl", "elementwise", "vec_add", "i_2 < i_count", "i_2 + 4 < i_count"),
           ("an operand", "opencl", "elementwise", "vec_add", "first_const_global(&b[", "first_const_global(&a["),
           ("an index", "metal", "elementwise", "vec_add", "lane * 4", "lane * 4 + 1"),
           ("an operator", "cuda", "normalise", "rms_norm", "+ eps", "* eps"),
           ("an operation", "air", "normalise", "rms_norm", "= fmul <4 x float>", "= fadd <4 x float>")]
# Programs: file, program, shape, the target that it is read for (each, with TILEC_EXHAUSTIVE).
PROGRAMS = [("accept/program_of_three", "chain", "N=137", "c"), ("accept/program_products", "f", "KV=2 G=3 D=7", None),
            ("../kernels/argmax", "argmax", "N=300", "cuda"), ("../kernels/attention", "attn_split", "KV=2 G=2 D=32 T=9 len=7", None)]
# The same of a program's own text in C, from its last function on; what is said of it.
ALTERED_PROGRAM = [("nothing", "", "", "its steps in order: the same"),
                   ("a step's argument", "chain_accumulate(x, y,", "chain_accumulate(z, y,", "NOT the same"),
                   ("a temporary's length", "(y_cells * 4) / 64", "(y_cells * 2) / 64", "E0876")]

def kernels(path):
    return re.findall(r"^kernel (\w+)", open(path).read(), re.M)


def check(words, forms, shape, target):
    words = [tilec, "check", *words, "--target", target, "--read-back", forms]
    for text in shape.split():
        words += ["--shape", text]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def rows():
    """Files with those of their kernels that a target has, and a shape."""
    for path in sorted(glob.glob(os.path.join(here, "..", "..", "kernels", "*.tile"))):
        for at, target in enumerate(ALL if exhaustive else TARGETS):
            names = [n for i, n in enumerate(kernels(path)) if exhaustive or not (target == "cuda" and n.startswith("argmax_")) and (LONG[n] == target if n in LONG else (at - i) % len(TARGETS) in (0, 2))]
            if names:
                yield path, target, names, SHAPES[os.path.basename(path)[:-5]]
    chains = os.path.join(here, "..", "accept", "chains.tile")  # vectors of columns; results a row are stored too
    yield chains, "air", ["biased"], "M=5 T=9 len=7"
    yield chains, "metal", ["lengths", "gated_twice"], "M=5 K=9"


def corpus(row):
    """All of a row's kernels are compiled together."""
    path, target, names, shape = row
    words = [path] + [w for n in names for w in ("--kernel", n)]
    code, said = check(words, "all" if exhaustive else "quickest", shape, target)
    return [(n, "" if not code and re.search(r"read back +%s_variant.*bit for bit" % n, said) else said[:1500]) for n in names]


def random_programs(paths, target):
    code, said = check(paths, "quickest", RANDOM_SHAPE, target)
    count = said.count("bit for bit")
    return "" if not code and count == len(paths) else "%d of %d the same: %s" % (count, len(paths), "\n".join(l for l in said.split("\n") if " ok " not in l)[:1500])


def altered(row):
    """Whether a text with this alteration is told apart from what was proved; one with none must not be."""
    what, target, file, kernel, before, after = row
    path = os.path.join(here, "..", "..", "kernels", file + ".tile")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tilec, "build", path, "--kernel", kernel, "--target", target, "-o", folder], capture_output=True, check=True)
        text_path = os.path.join(folder, kernel + {"opencl": ".cl", "metal": ".metal", "cuda": ".cu", "air": ".ll"}[target])
        text = open(text_path).read()
        at = re.search(r"\b%s_variant_\w+\s*\(" % kernel, text).end()
        assert before in text[at:], (before, text_path)
        open(text_path, "w").write(text[:at] + (text[at:].replace(before, after) if before else text[at:]))
        code, said = check([path, "--kernel", kernel], text_path, SHAPES[file], target)
    if what == "nothing":
        return "" if not code and "bit for bit" in said else said[:1500]
    return "" if code and "NOT the same" in said and "E1102" not in said else "it is not told apart: " + said[:1500]


def program(row):
    path, name, shape, target = row
    code, said = check([os.path.join(here, "..", path + ".tile"), "--kernel", name], "quickest", shape, target)
    good = not code and "%s, step 1:" % name in said and "NOT the same" not in said and ("%s, its steps in order: the same" % name in said) == (target == "c")
    return "" if good else said[:1500]


def altered_program(row):
    what, before, after, wanted = row
    path = os.path.join(here, "..", "accept", "program_of_three.tile")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tilec, "build", path, "--kernel", "chain", "--target", "c", "-o", folder], capture_output=True, check=True)
        text_path = os.path.join(folder, "chain.c")
        text = open(text_path).read()
        at = text.index("\nint chain(")
        assert before in text[at:], before
        open(text_path, "w").write(text[:at] + (text[at:].replace(before, after) if before else text[at:]))
        code, said = check([path, "--kernel", "chain"], text_path, "N=37", "c")
    return "" if wanted in said and bool(code) == bool(before) else "it is not told apart: " + said[:1500]


def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip read_back (no LLVM here)")
        return 0
    failed = False

    def tell(name, why):
        nonlocal failed
        print("FAIL %s: %s" % (name, why) if why else "ok %s" % name, flush=True)
        failed = failed or bool(why)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        subprocess.run([os.path.join(build, "values", "random_programs"), "--seed", "7", "--count", "150" if exhaustive else "50", "--texts", folder], check=True)
        paths = sorted((p for p in glob.glob(os.path.join(folder, "*.tile")) if exhaustive or os.path.getsize(p) < SHORT), key=lambda p: (len(p), p))
        shares = [paths[i::len(ALL)] for i in range(len(ALL))]
        programs = pool.map(random_programs, shares, ALL)
        files = list(rows())
        corpora, faults = pool.map(corpus, files), pool.map(altered, ALTERED)
        whole = [(path, name, shape, t) for path, name, shape, own in PROGRAMS for t in (TARGETS if exhaustive else (own,)) if t]
        orders, order_faults = pool.map(program, whole), pool.map(altered_program, ALTERED_PROGRAM)
        for share, target, why in zip(shares, ALL, programs):
            tell("%d random programs for %s" % (len(share), target), why)
        for file, kernels_of in zip(files, corpora):
            for name, why in kernels_of:
                tell("%s for %s" % (name, file[1]), why)
        for row, why in zip(ALTERED, faults):
            tell("%s altered in %s for %s" % (row[0], row[3], row[1]), why)
        for row, why in zip(whole, orders):
            tell("program %s for %s" % (row[1], row[3]), why)
        for row, why in zip(ALTERED_PROGRAM, order_faults):
            tell("%s altered in a program for c" % row[0], why)
    return failed


sys.exit(main())
