#!/usr/bin/env python3
"""The commands as a person types them: good runs, every kind of bad input, exit statuses, JSON, nothing half-written."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

tilec = os.path.abspath(os.environ.get("TILEC", "build/tilec"))
root = os.getcwd()
work = tempfile.mkdtemp(prefix="tilec-commands-")
cache = os.path.join(work, "cache")
environment = dict(os.environ, TILEC_CACHE=cache, NO_COLOR="1")
failed = False

try:
    import numpy as np
except ImportError:
    np = None

KERNELS = """
kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }
kernel product(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {
    for tile c[i: BM, j: BN] {
        acc: f32[i, j] = 0
        for k: BK in K { acc += a[i, k] @ b[k, j] }
        c[i, j] = acc
    }
}
kernel scale(x: f32[N], s: f32) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] * s } }
kernel negate(x: i8[R, C]) -> (y: i32[R, C]) { for tile y[r: BR, c: BC] { y[r, c] = -x[r, c] } }
kernel widen(x: f16[R, C]) -> (y: f32[R, C]) { for tile y[r: BR, c: BC] { y[r, c] = x[r, c] } }
kernel copy(x: f32[R, C]) -> (y: f32[R, C]) { for tile y[r: BR, c: BC] { y[r, c] = x[r, c] } }
kernel rows(ids: index(V)[T], table: f32[V, D]) -> (x: f32[T, D]) { for tile x[t: BT, d: BD] { x[t, d] = table[ids[t], d] } }
kernel even(a: f32[N], b: f32[P]) -> (y: f32[N]) where P == 2*N { for tile y[i: B] { y[i] = a[i] } }
kernel put(row: f32[D], pos: 0..T-1) -> (update cache: f32[T, D]) { for tile cache[pos, d: BD] { cache[pos, d] = row[d] } }
"""
source = os.path.join(work, "kernels.tile")
with open(source, "w") as f:
    f.write(KERNELS)


def run(*words, env=None, **more):
    return subprocess.run([tilec, *words], capture_output=True, text=True, cwd=work, env={**environment, **(env or {})}, timeout=120, **more)


def report(name, problem=None):
    global failed
    if problem:
        failed = True
        print(f"FAIL {name}")
        for line in str(problem).splitlines():
            print("    " + line)
    else:
        print(f"ok {name}")


def expect(name, result, status, *texts, absent=()):
    """The exit status, and texts that stdout and stderr together must hold."""
    out = result.stdout + result.stderr
    for text in texts:
        if text not in out:
            return report(name, f"`{text}` is missing from:\n{out}")
    for text in absent:
        if text in out:
            return report(name, f"`{text}` should not be in:\n{out}")
    report(name, None if result.returncode == status else f"exit status {result.returncode}, not {status}:\n{out}")


def path(name):
    return os.path.join(work, name)


# --- help, version, mistakes of the hand ---
expect("version", run("--version"), 0, "tilec 0.")
expect("help", run("--help"), 0, "check", "build", "run", "corpus", "devices", "explain", "cache")
for command in ["check", "build", "run", "corpus", "devices", "explain", "cache"]:
    expect(f"help of {command}", run(command, "--help"), 0, f"tilec {command}", "--json", "--help")
expect("no command", run(), 2, "usage:")
expect("unknown command", run("chekc"), 2, "did you mean `check`?")
expect("unknown option", run("run", "--kernle", "x"), 2, "did you mean `--kernel`?")
expect("option without its value", run("run", source, "--arg"), 2, "--arg wants NAME=WHAT")
expect("flag with a value", run("check", source, "--explain=1"), 2, "takes no value")
expect("no file", run("check"), 2, "which file?")
expect("malformed shape", run("run", source, "--kernel", "add", "--shape", "N"), 2, "E0860")
expect("shape that is no number", run("run", source, "--kernel", "add", "--shape", "N=many"), 2, "E0860", "`many`")
expect("unknown pass", run("check", source, "--dump=q"), 2, "E0861", "p parse")
expect("unknown target", run("check", source, "--target", "abacus"), 2, "E0862")

# --- explain ---
expect("explain", run("explain", "E0214"), 0, "E0214")
expect("explain in lower case and without E", run("explain", "e0644", "214"), 0, "E0644", "E0214")
expect("explain an unknown code", run("explain", "E9999"), 1, "E0870")
listing = run("explain", "--all")
rows = [line for line in listing.stdout.splitlines() if re.match(r"E0\d{3}  \S", line)]
report("explain --all", None if listing.returncode == 0 and len(rows) > 60 else f"{len(rows)} rows")
expect("explain --all --markdown", run("explain", "--all", "--markdown"), 0, "E0214", "#")

# --- check ---
expect("check", run("check", source), 0, "add ", "product ", "ok", absent=["refused"])
expect("check one kernel", run("check", source, "--kernel", "add"), 0, "add ", absent=["product"])
expect("check an unknown kernel", run("check", source, "--kernel", "ad"), 1, "E0646")
expect("check a file that is not there", run("check", "nowhere.tile"), 1, "E0880")
expect("check a folder", run("check", work), 1, "E0882")
with open(path("bad.tile"), "w") as f:
    f.write("kernel add(a: f32[N], b: f32[M]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }\n")
expect("check a wrong kernel", run("check", "bad.tile"), 1, "bad.tile:1:", "error E0214", "^")
expect("check goes on after a wrong file", run("check", "bad.tile", source, "--kernel", "add"), 1, "E0214", "ok")
expect("check --explain", run("check", source, "--kernel", "product", "--explain"), 0, "schedule", "routes", "proof", "bounds")
dump = run("check", source, "--kernel", "add", "--dump=pslzve")
expect("dump of every pass", dump, 0, *[f"-- {letter} " for letter in "pslzve"])
expect("an illegal tile size", run("check", source, "--kernel", "add", "--set", "B=0"), 1, "E05")
expect("an unknown tile size", run("check", source, "--kernel", "add", "--set", "BQ=4"), 1, "E05", "BQ")

# --- devices ---
expect("devices", run("devices"), 0, "cpu")
expect("an unknown device", run("run", source, "--kernel", "add", "--device", "gpu9"), 1, "gpu9")

# --- run ---
ones = ["--shape", "N=5", "--arg", "a=iota", "--arg", "b=iota"]
expect("run on recipes", run("run", source, "--kernel", "add", *ones), 0, "add: N = 5, on cpu", "all 5 elements", "0, 2, 4, 6, 8")
expect("run with zero elements", run("run", source, "--kernel", "add", "--shape", "N=0", "--arg", "a=iota", "--arg", "b=iota"), 0, "f32[0]")
expect("run several kernels, none named", run("run", source), 1, "E0646", "product")
expect("run an unknown kernel", run("run", source, "--kernel", "prodcut"), 1, "E0646", "did you mean product?")
expect("run with an argument missing", run("run", source, "--kernel", "add", "--shape", "N=5", "--arg", "a=iota"), 1, "E0650", "`b`")
expect("run with an unknown argument", run("run", source, "--kernel", "product", "--arg", "q=zeros"), 1, "E0640", "`q`")
expect("run with an unknown symbol", run("run", source, "--kernel", "add", *ones, "--shape", "Q=5"), 1, "E0640", "`Q`")
expect("run with no shape", run("run", source, "--kernel", "add", "--arg", "a=iota", "--arg", "b=iota"), 1, "E0643", "N")
expect("run with a negative extent", run("run", source, "--kernel", "add", "--arg", "a=iota", "--arg", "b=iota", "--shape", "N=-5"), 1, "E0641")
expect("run with an extent too large", run("run", source, "--kernel", "add", "--arg", "a=zeros", "--arg", "b=zeros", "--shape", "N=9000000000000000000"),
       1, "E06")
expect("run with a misspelt recipe", run("run", source, "--kernel", "add", "--arg", "a=randon:1"), 1, "E0864", "did you mean random?")
expect("run with a scalar", run("run", source, "--kernel", "scale", "--shape", "N=3", "--arg", "x=iota", "--arg", "s=0.5"), 0, "0, 0.5, 1")
expect("run with a scalar that is no number", run("run", source, "--kernel", "scale", "--arg", "s=half"), 1, "E0864")
expect("a whole number with a fraction", run("run", source, "--kernel", "put", "--shape", "T=4,D=8", "--arg", "row=iota", "--arg", "cache=zeros",
                                             "--arg", "pos=1.5"), 1, "E0647", "whole number")
for value in ["nan", "1e300"]:
    expect(f"a whole number that is {value}", run("run", source, "--kernel", "put", "--shape", "T=4,D=8", "--arg", f"pos={value}"), 1, "E0647")
expect("an argument given twice", run("run", source, "--kernel", "add", *ones, "--arg", "a=zeros"), 2, "E0860", "given twice")
expect("a result as an argument", run("run", source, "--kernel", "add", *ones, "--arg", "y=zeros"), 1, "E0864", "--out")
expect("run with a scalar missing", run("run", source, "--kernel", "scale", "--shape", "N=3", "--arg", "x=iota"), 1, "E0650", "`s`")
expect("tile sizes by hand", run("run", source, "--kernel", "product", "--set", "BM=8,BN=16", "--set", "BK=4", "--shape", "M=13,N=17,K=9",
                                 "--arg", "a=random:1", "--arg", "b=random:2"), 0, "all 221 elements")
PRODUCT = ("--kernel", "product", "--shape", "M=13,N=37,K=9", "--arg", "a=random:1", "--arg", "b=random:2", "--check")
for setting in ("vector=1", "vector=2", "edges=halved", "operands=direct", "operands=staged", "operands=staged(f32)",
                "BM=8,BN=16,vector=2,operands=staged(f16)"):
    last = setting.rpartition(",")[2].replace("=", " = ")
    expect(f"--set {setting}", run("run", source, *PRODUCT, "--set", setting, "--explain"), 0, "all 481 elements", last)
expect("an option of other targets", run("run", source, *PRODUCT, "--set", "subgroups=2"), 1, "E0503", "vector, operands")
expect("an option's illegal value", run("run", source, *PRODUCT, "--set", "operands=staged(i8)"), 1, "E0504", "staged(f16)")
expect("an option without a use", run("check", source, "--kernel", "add", "--set", "operands=direct"), 1, "E0504", "no product")
expect("a setting without a value", run("check", source, "--kernel", "add", "--set", "operands"), 2, "E0860")
expect("unsatisfied where", run("run", source, "--kernel", "even", "--shape", "N=4,P=9", "--arg", "a=zeros", "--arg", "b=zeros"), 1, "E06", "P")
expect("a scalar out of its range", run("run", source, "--kernel", "put", "--shape", "T=4,D=8", "--arg", "row=iota", "--arg", "cache=zeros",
                                        "--arg", "pos=4"), 1, "E06", "pos")
expect("an update array", run("run", source, "--kernel", "put", "--shape", "T=4,D=8", "--arg", "row=iota", "--arg", "cache=zeros",
                              "--arg", "pos=0"), 0, "f32[4, 8]", "0, 1, 2, 3, 4, 5")
expect("adversarial data", run("run", source, "--kernel", "add", "--shape", "N=5000", "--arg", "a=adversarial:1", "--arg", "b=adversarial:2"), 0,
       "all 5000 elements")

# --- two runs give the same bits ---
bits = []
for i in range(2):
    words = ["run", source, "--kernel", "product", "--shape", "M=65,N=33,K=127", "--arg", "a=random:1", "--arg", "b=random:2", "--out", f"c=same{i}.npy"]
    result = run(*words)
    bits.append(open(path(f"same{i}.npy"), "rb").read() if result.returncode == 0 else result.stderr)
report("two runs give the same bits", None if bits[0] == bits[1] and isinstance(bits[0], bytes) else "they differ")


# --- one text for good and degenerate shapes ---
def emitted(shape):
    result = run("run", source, "--kernel", "product", "--shape", shape, "--arg", "a=random:1", "--arg", "b=random:2", "--dump=e")
    return result.stdout[result.stdout.find("-- e ") : result.stdout.find("product: ")] if result.returncode == 0 else result.stderr


texts = {emitted(shape) for shape in ["M=64,N=64,K=64", "M=1,N=1,K=1", "M=0,N=5,K=3", "M=1,N=1000,K=0", "M=31,N=1,K=33"]}
report("degenerate shapes give the same text", None if len(texts) == 1 and "product" in next(iter(texts)) else f"{len(texts)} texts")

# --- the output is whole or not at all ---
expect("output to a folder that is not there", run("run", source, "--kernel", "add", *ones, "--out", "y=nowhere/y.npy"), 1, "E0885")
expect("an unknown result", run("run", source, "--kernel", "add", *ones, "--out", "z=z.npy"), 1, "E0867", "`y`")
with open(path("kept.npy"), "w") as f:
    f.write("precious")
run("run", source, "--kernel", "put", "--shape", "T=4,D=8", "--arg", "row=iota", "--arg", "cache=zeros", "--arg", "pos=9", "--out", "cache=kept.npy")
report("a refused launch leaves the old output", None if open(path("kept.npy")).read() == "precious" else "it was overwritten")
if os.geteuid() == 0 and shutil.which("mount"):
    tiny = path("tiny")
    os.mkdir(tiny)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tiny], capture_output=True).returncode == 0:
        try:
            big = ["--shape", "N=100000", "--arg", "a=random:1", "--arg", "b=random:2"]
            expect("output to a full disk", run("run", source, "--kernel", "add", *big, "--out", "y=tiny/y.npy"), 1, "E0886")
            report("nothing half-written", None if os.listdir(tiny) == [] else str(os.listdir(tiny)))
            expect("cache on a full disk", run("run", source, "--kernel", "add", *ones, env={"TILEC_CACHE": tiny}), 0, "0, 2, 4, 6, 8")
        finally:
            subprocess.run(["umount", tiny], capture_output=True)
    else:
        print("skip output to a full disk (no tmpfs can be mounted here)")
else:
    print("skip output to a full disk (needs root)")

# --- the compiler and the cache ---
expect("no compiler", run("run", source, "--kernel", "add", *ones, env={"TILEC_CC": "no-such-compiler", "TILEC_CACHE": path("empty-cache")}), 1,
       "error E08", "no-such-compiler")
with open(path("file"), "w") as f:
    f.write("x")
expect("a cache folder that cannot be", run("run", source, "--kernel", "add", *ones, env={"TILEC_CACHE": path("file") + "/cache"}), 0, "0, 2, 4, 6, 8")
expect("cache list", run("cache"), 0, "compiled kernel")
entries = json.loads(run("cache", "list", "--json").stdout or "{}").get("entries", [])
report("cache entries as JSON", None if entries and all(len(e["key"]) == 32 for e in entries) else str(entries)[:200])
if entries:
    expect("cache explain", run("cache", "explain", entries[0]["key"]), 0, entries[0]["key"])
expect("cache explain an unknown key", run("cache", "explain", "zz"), 1, "E0871")
objects = [os.path.join(d, n) for d, _, names in os.walk(cache) for n in names]
for name in objects:
    with open(name, "r+b") as f:
        f.seek(0, 2)
        size = f.tell()
        f.seek(size // 2)
        f.write(b"\0garbage\0" * 4)
expect("corrupt cache entries are rebuilt", run("run", source, "--kernel", "add", *ones), 0, "0, 2, 4, 6, 8")
expect("cache prune", run("cache", "prune"), 0, "removed")
expect("the cache is empty then", run("cache", "list"), 0, "0 compiled kernels")
expect("cache misspelt", run("cache", "purge"), 2, "E0860")

# --- build ---
expect("build", run("build", source, "--kernel", "product", "-o", "built"), 0, "product")
report("build writes a source and a header", None if sorted(os.listdir(path("built"))) == ["product.c", "product.h", "product.json"] else str(os.listdir(path("built"))))
compiler = os.environ.get("CC", "cc")
compiled = subprocess.run([compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-c", path("built/product.c"), "-o", path("built/product.o")], capture_output=True, text=True)
report("what is built compiles without warnings", compiled.stderr if compiled.returncode or "warning" in compiled.stderr else None)
expect("build of a program without its statics", run("build", os.path.join(root, "kernels/attention.tile"), "--kernel", "attn_split", "-o", "built"), 1,
       "E0510", "--shape G=..")
expect("build of a program for a target that has no such form", run("build", os.path.join(root, "kernels/attention.tile"), "--kernel", "attn_split",
       "--shape", "G=2,D=16", "--target", "opencl", "-o", "built"), 1, "E0868", "attn_join")
expect("build to a folder that cannot be", run("build", source, "--kernel", "add", "-o", path("file") + "/x"), 1, "E08")

# --- JSON ---
for name, words, status in [
    ("check", ["check", source, "--kernel", "product"], 0), ("a refused check", ["check", "bad.tile"], 1), ("devices", ["devices"], 0),
    ("explain", ["explain", "E0214"], 0), ("run", ["run", source, "--kernel", "add", *ones], 0), ("cache", ["cache"], 0),
    ("build", ["build", source, "--kernel", "add", "-o", "built"], 0), ("a run without arguments", ["run", source, "--kernel", "add"], 1),
    ("a run with dumps", ["run", source, "--kernel", "add", *ones, "--dump=p", "--explain"], 0),
]:
    result = run(*words, "--json")
    try:
        value = json.loads(result.stdout)
        good = value["command"] == words[0] and value["held"] == (status == 0) and result.returncode == status
        good = good and (status == 0 or any(d["severity"] == "error" and d["code"].startswith("E0") for d in value["diagnostics"]))
        report(f"JSON of {name}", None if good else f"status {result.returncode}: {result.stdout}")
    except (ValueError, KeyError) as e:
        report(f"JSON of {name}", f"{e}: {result.stdout[:400]}{result.stderr[:400]}")

# --- an i32 or u32 has its type's own bounds, which are no condition of the kernel's; a launch passes no other all the same ---
with open(path("integers.tile"), "w", encoding="utf-8") as f:
    f.write("kernel k(x: f32[N], n: i32, m: u32, pos: 0..N) -> (y: f32[N]) {\n    for tile y[i: B] { y[i] = x[i] + f32(n) + f32(m) + f32(pos) }\n}\n")
listed = json.loads(run("check", "integers.tile", "--json").stdout)["kernels"][0]["launch_checks"]
report("scalars without bounds are no launch checks", None if listed == ["0 <= pos <= N"] else str(listed))
for n, m in (("2147483648", "0"), ("-2147483649", "0"), ("0", "-1"), ("0", "4294967296")):
    expect(f"n = {n}, m = {m}", run("run", "integers.tile", "--shape", "N=4", "--arg", "x=iota", "--arg", f"n={n}", "--arg", f"m={m}", "--arg", "pos=1"), 1, "E0602")

# --- the kernels that come with tilec: proved, and nothing left to launch but what is written here ---
LAUNCH_CHECKS = {
    "argmax_part": ["where S == floor((N + 4095) / 4096)"],
    "attn_gqa": ["0 <= len <= T"],
    "attn_part": ["where S == floor((T + 63) / 64)", "0 <= len <= T"],
    "attn_full_f32": ["0 <= len <= T"],
    "kv_append": ["0 <= pos <= T - 1"],
    "kv_scatter": ["every element of slot is in 0 .. N - 1", "no two elements of slot are equal"],
    "embedding": ["every element of ids is in 0 .. V - 1"],
    "embedding_f32": ["every element of ids is in 0 .. V - 1"],
    "proj_q8": ["where (K mod 32) == 0"],
}
for name in sorted(os.listdir(os.path.join(root, "kernels"))):
    if not name.endswith(".tile"):
        continue
    result = run("check", os.path.join(root, "kernels", name), "--json")
    try:
        for kernel in json.loads(result.stdout)["kernels"]:
            problem = None
            if not kernel["held"]:
                problem = "refused: " + json.dumps(kernel["diagnostics"])
            elif sorted(kernel["launch_checks"]) != sorted(LAUNCH_CHECKS.get(kernel["kernel"], [])):
                problem = f"launch checks {kernel['launch_checks']}"
            report(f"shipped kernel {kernel['kernel']} is proved", problem)
    except (ValueError, KeyError) as e:
        report(f"shipped kernels of {name}", f"{e}: {result.stdout[:400]}{result.stderr[:400]}")


# --- quick enough to be typed without thinking: processor time, so that a busy machine does not matter ---
def cpu_milliseconds(*words):
    best = 1e9
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*words)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best * 1e3


if "asan" in tilec:
    print("skip start-up and check times (a build with sanitizers)")
else:
    spent = cpu_milliseconds("--version")
    report("start-up under 10 ms", None if spent < 10 else f"{spent:.1f} ms")
    spent = cpu_milliseconds("check", os.path.join(root, "kernels", "matmul.tile"), "--kernel", "matmul")
    report("check of a matmul under 300 ms", None if spent < 300 else f"{spent:.0f} ms")

# --- files from NumPy ---
if np is None:
    print("skip .npy files from NumPy (NumPy is not installed)")
else:
    rng = np.random.default_rng(5)
    for kernel, dtype, out_dtype, meaning in [("widen", np.float16, np.float32, lambda x: x.astype(np.float32)),
                                              ("copy", np.float32, np.float32, lambda x: x), ("negate", np.int8, np.int32, lambda x: -x.astype(np.int32))]:
        x = (rng.standard_normal((7, 37)) * 50).astype(dtype)
        for order in "CF":
            np.save(path("x.npy"), np.array(x, order=order))
            result = run("run", source, "--kernel", kernel, "--arg", "x=x.npy", "--out", "y=y.npy")
            problem = result.stderr
            if result.returncode == 0:
                y = np.load(path("y.npy"))
                problem = None if y.dtype == out_dtype and y.shape == x.shape and (y == meaning(x)).all() else f"{y.dtype}{y.shape}"
            report(f".npy of {np.dtype(dtype).name} in {order} order", problem)
    a, b = rng.random((13, 21)).astype(np.float16), rng.random((21, 5)).astype(np.float16)
    np.save(path("a.npy"), a)
    np.save(path("b.npy"), b)
    result = run("run", source, "--kernel", "product", "--arg", "a=a.npy", "--arg", "b=b.npy", "--out", "c=c.npy")
    close = result.returncode == 0 and np.abs(np.load(path("c.npy")) - a.astype(float) @ b.astype(float)).max() < 1e-4
    report("a product of .npy files", None if close else result.stderr + result.stdout)
    np.save(path("big.npy"), a.astype(">f2"))
    expect("big-endian refused", run("run", source, "--kernel", "product", "--arg", "a=big.npy", "--arg", "b=b.npy"), 1, "endian")
    np.save(path("wide.npy"), a.astype(np.float64))
    expect("wrong element type", run("run", source, "--kernel", "product", "--arg", "a=wide.npy", "--arg", "b=b.npy"), 1, "E0647", "f64", "f16", ":convert")
    expect("conversion on request", run("run", source, "--kernel", "product", "--arg", "a=wide.npy:convert", "--arg", "b=b.npy"), 0, "all 65 elements")
    np.save(path("single.npy"), a.astype(np.float32))
    expect("another element type", run("run", source, "--kernel", "product", "--arg", "a=single.npy", "--arg", "b=b.npy"), 1, "E0647", "f32", "f16")
    expect("shapes that disagree", run("run", source, "--kernel", "product", "--arg", "a=a.npy", "--arg", "b=a.npy"), 1, "E0644", "dimension 0 of `b`", "K = 21")
    np.save(path("flat.npy"), a.ravel())
    expect("wrong rank", run("run", source, "--kernel", "product", "--arg", "a=flat.npy", "--arg", "b=b.npy"), 1, "E0642", "1 dimension")
    expect("a shape against a file's", run("run", source, "--kernel", "product", "--arg", "a=a.npy", "--arg", "b=b.npy", "--shape", "M=14"), 1, "E0644", "M")
    table = rng.random((11, 6)).astype(np.float32)
    np.save(path("table.npy"), table)
    np.save(path("ids.npy"), np.array([3, 0, 10, 3], dtype=np.int64)) # NumPy's own integers
    result = run("run", source, "--kernel", "rows", "--arg", "ids=ids.npy", "--arg", "table=table.npy", "--out", "x=x.npy")
    report("a gather with NumPy's integers", None if result.returncode == 0 and (np.load(path("x.npy")) == table[[3, 0, 10, 3]]).all() else result.stderr)
    for bad in [11, -1]:
        np.save(path("ids.npy"), np.array([3, bad], dtype=np.int32))
        expect(f"index {bad} out of range", run("run", source, "--kernel", "rows", "--arg", "ids=ids.npy", "--arg", "table=table.npy"), 1, "error E06", "ids", str(bad))
    np.save(path("ids.npy"), np.array([3, 2**40], dtype=np.int64))
    expect("an index that fits no word", run("run", source, "--kernel", "rows", "--arg", "ids=ids.npy", "--arg", "table=table.npy"), 1, "E0865")
    np.save(path("objects.npy"), np.array([{}, 1], dtype=object), allow_pickle=True)
    expect("objects refused", run("run", source, "--kernel", "add", "--arg", "a=objects.npy"), 1, "error E08")
    whole = open(path("a.npy"), "rb").read()
    for name, data in [("truncated", whole[:-7]), ("empty", b""), ("no magic", b"hello world, this is no array" * 4), ("header cut", whole[:40])]:
        with open(path("broken.npy"), "wb") as f:
            f.write(data)
        expect(f"a broken .npy: {name}", run("run", source, "--kernel", "product", "--arg", "a=broken.npy", "--arg", "b=b.npy"), 1, "error E08")
    expect("a missing .npy", run("run", source, "--kernel", "product", "--arg", "a=gone.npy", "--arg", "b=b.npy"), 1, "E0880", "gone.npy")

shutil.rmtree(work, ignore_errors=True)
sys.exit(failed)
