#!/usr/bin/env python3
"""Arms of every kind are checked before they are timed; planted wrong ones never are. No time decides anything here."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

tilec = os.environ.get("TILEC", "build/tilec")
os.environ.setdefault("TILEC_PYTHON", sys.executable)
quick = ["--rounds", "6", "--sample-ms", "0.01", "--no-marginal", "--no-ceilings", "--threads", "1"]
failed = False
work = tempfile.TemporaryDirectory()
os.environ["TILEC_CACHE"] = os.path.join(work.name, "cache")


def check(name, held, *details):
    global failed
    failed |= not held
    print(("ok " if held else "FAIL ") + name)
    if not held:
        for detail in details:
            print("    " + str(detail).replace("\n", "\n    ")[:3000])


def bench(*arguments, options=quick):
    command = [tilec, "bench", "--json", "--no-store", *options, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {"rows": [], "diagnostics": []}, done.stdout + done.stderr


def row(answer, arm):
    return next((r for r in answer["rows"] if r["arm"] == arm), {})


def write(name, text):
    path = os.path.join(work.name, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def drop_in(name, body, kernel="vec_add", arguments=("a", "b", "y", "N"), head="const float *a, const float *b, float *y, int64_t n", **more):
    write(name + ".c", "#include <stdint.h>\n#include <string.h>\n#include <math.h>\nvoid " + name + "(" + head + ")\n{\n" + body + "\n}\n")
    manifest = {"kernel": kernel, "source": name + ".c", "entry": name, "arguments": list(arguments), **more}
    return "file:" + write(name + ".json", json.dumps(manifest))


shape = ["--kernel", "vec_add", "--shape", "N=1000"]
right = drop_in("right", "for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];")

# The right ones are timed, with the columns that a row has.
status, answer, log = bench(*shape, "ours", "ours:B=64", right)
ours, mine = row(answer, "ours"), row(answer, right)
check("three arms are timed", status == 0 and all(r["status"] == "pass" and r["t_median_ns"] > 0 for r in answer["rows"]), log, answer)
wanted = """schema run utc commit dirty command kernel target schedule kernel_hash device driver compiler types shape layout seed recipe input_hash
output_hash reference error_max bound verdict repetitions t_min_ns t_median_ns t_p95_ns ratio clocks power temperature throttle environment status
expected registers spills shared_bytes private_bytes code_bytes compile_ms cache_hit state control""".split()
check("every column is there", all(c in ours and c in mine for c in wanted), [c for c in wanted if c not in ours or c not in mine])
check("a ratio has its interval", mine["ratio"]["low"] <= mine["ratio"]["median"] <= mine["ratio"]["high"] and mine["ratio"]["rounds"] == 6
      and mine["ratio"]["coverage"] >= 0.95 and ours["ratio"] is None, mine)
check("our own code is described", ours["code_bytes"] > 0 and ours["schedule"] and ours["compile_ms"] > 0, ours)
check("results agree to the bit", ours["output_hash"] == mine["output_hash"], ours["output_hash"], mine["output_hash"])
check("there is a control", ours["control"]["smallest_claim"] >= 0, ours)

# Planted faults, as drop-ins.
stale = """
    static float kept[100000];
    static int64_t seen;
    if (!seen++) for (int64_t i = 0; i < n; i++) kept[i] = a[i] + b[i];
    memcpy(y, kept, (size_t)n * 4);"""
late = """
    static float kept[100000];
    static int64_t calls;
    if (calls++ < 40) for (int64_t i = 0; i < n; i++) kept[i] = a[i] + b[i];
    memcpy(y, kept, (size_t)n * 4);"""
once = "static int calls; if (!calls++) for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];"
planted = {
    "one element off": "for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i]; y[617] += 1e-3f;",
    "the last element missing": "for (int64_t i = 0; i + 1 < n; i++) y[i] = a[i] + b[i];",
    "NaN in one place": "for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i]; y[3] = NAN;",
    "nothing written": "(void)a, (void)b, (void)y, (void)n;",
    "a result kept from the first data": stale,
    "written only once": once,
    "a result kept once the timing began": late,
}
for number, (name, body) in enumerate(planted.items()):
    arm = drop_in(f"wrong{number}", body)
    status, answer, log = bench(*shape, "ours", arm)
    bad, good = row(answer, arm), row(answer, "ours")
    check(f"never timed: {name}", status == 1 and bad["status"] == "fail" and bad["t_median_ns"] is None and bad["ratio"] is None
          and good["status"] == "pass" and good["t_median_ns"] > 0
          and any(d["code"] == "E1040" for d in answer["diagnostics"]), bad, log)

# A product: what is under a bound by the longest chain shows on whole numbers.
product = dict(kernel="matmul_f32", arguments=("a", "b", "c", "M", "N", "K"), head="const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k")
loops = "for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) { float s = 0; %s c[i * n + j] = s; }"
matmul = ["--kernel", "matmul_f32", "--shape", "M=17,N=19,K=300"]
good_product = drop_in("product", loops % "for (int64_t p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j];", **product)
status, answer, log = bench(*matmul, "ours", good_product)
check("a naive product is right", status == 0 and row(answer, good_product)["status"] == "pass", log, answer)
check("whole numbers were asked for to the bit", "to the bit" in row(answer, good_product)["reference"], answer)
for name, inner in {
    "a product that leaves one k out": "for (int64_t p = 0; p < k; p++) if (p != 123 || i != 5 || j != 7) s += a[i * k + p] * b[p * n + j];",
    "a row of a product missing": "for (int64_t p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j]; if (i == m - 1) continue;",
    "two rows swapped": "int64_t r = i < 2 ? 1 - i : i; for (int64_t p = 0; p < k; p++) s += a[r * k + p] * b[p * n + j];",
    "a sum in eleven bits": "for (int64_t p = 0; p < k; p++) s = (float)(_Float16)(s + a[i * k + p] * b[p * n + j]);",
}.items():
    arm = drop_in("wrong_product_" + re.sub(r"\W", "_", name), loops % inner, **product)
    status, answer, log = bench(*matmul, "ours", arm)
    if "_Float16" in inner and "_Float16" in log:
        print(f"skip never timed: {name} (this compiler has no _Float16)")
        continue
    check(f"never timed: {name}", status == 1 and row(answer, arm)["status"] == "fail" and row(answer, arm)["t_median_ns"] is None, log, answer)

# Arms that cannot be, each with its diagnostic, and no crash.
for name, arm, code in [
    ("no such kind of arm", "opneblas", "E1012"),
    ("no such manifest", "file:" + work.name + "/none.json", "E0880"),
    ("a manifest that is no JSON", "file:" + write("text.json", "{ no"), "E1020"),
    ("a manifest without a function", "file:" + write("short.json", '{"source": "right.c"}'), "E1021"),
    ("a function's name that is none", "file:" + write("evil.json", '{"source": "right.c", "entry": "f(); system"}'), "E1021"),
    ("an argument that the kernel lacks", drop_in("args", "", arguments=("a", "b", "z", "N")), "E1021"),
    ("a manifest of another kernel", good_product, "E1021"),
    ("a source that does not compile", drop_in("broken", "this is no C"), "E0843"),
    ("no such Python file", "python:" + work.name + "/none.py", "E1030"),
    ("a source of another target", "file:" + write("cuda.json", '{"source": "mine.cu", "entry": "mine"}'), "E1021"),
    ("a tile size that there is not", "ours:QQ=3", None),
]:
    status, answer, log = bench(*shape, "ours", arm)
    codes = [d["code"] for d in answer["diagnostics"]]
    check(f"refused: {name}", status == 1 and (code in codes if code else codes) and row(answer, arm).get("status") == "fail"
          and row(answer, "ours").get("status") == "pass", codes, log, answer)

# Python.
python = write("arms.py", '''
try:
    import numpy as np
except ImportError:
    np = None
def vec_add(a, b, y):
    print("what a module prints disturbs nothing")
    if np is None:
        for i in range(len(a)): y[i] = a[i] + b[i]
    else:
        np.add(a, b, out=y)
def off(a, b, y):
    vec_add(a, b, y)
    y[5] += 1e-3
def returns(a, b, y):
    return a + b
def broadcasts(a, b, y):
    return (a + b)[:1]
def raises(a, b, y):
    raise RuntimeError("on purpose")
def ends(a, b, y):
    import os
    os._exit(3)
''')
has_numpy = subprocess.run([os.environ["TILEC_PYTHON"], "-c", "import numpy"], capture_output=True).returncode == 0
arm = "python:" + python
status, answer, log = bench(*shape, "ours", arm)
check("a Python callable is timed", status == 0 and row(answer, arm)["status"] == "pass" and row(answer, arm)["buffers"] == "the same"
      and row(answer, arm)["clock"] == row(answer, "ours")["clock"], log, answer)
clocked = "python:" + write("clocked.py", '''
def vec_add(a, b, y):
    for i in range(len(a)): y[i] = a[i] + b[i]
def off(a, b, y):
    vec_add(a, b, y)
    y[5] += 1e-3
CLOCK = "calls, counted"
SHARES = False
def adopt(name, array): return list(array)
def fetch(name, adopted, array):
    for i in range(len(adopted)): array[i] = adopted[i]
def measure(function, calls, scalars):
    for arrays in calls: function(**arrays, **scalars)
    return 1000.0 * len(calls)
''')
status, answer, log = bench(*shape, f"{clocked}:vec_add", clocked)
check("a clock of the file's own", status == 0 and all(r["clock"] == "calls, counted" and r["status"] == "pass" and r["t_median_ns"] == 1000
                                                     for r in answer["rows"]), log, answer)
status, answer, log = bench(*shape, "ours", clocked)
check("two clocks are not compared", status == 1 and "E1042" in [d["code"] for d in answer["diagnostics"]], log, answer)
status, answer, log = bench(*shape, clocked, f"{clocked}:off")
check("never timed: wrong by a clock of its own", status == 1 and row(answer, f"{clocked}:off")["t_median_ns"] is None
      and any(d["code"] == "E1040" for d in answer["diagnostics"]), log, answer)
for function, code in [("off", "E1040"), ("raises", "E1031"), ("ends", "E1031")]:
    status, answer, log = bench(*shape, "ours", f"{arm}:{function}")
    check(f"never timed: Python, {function}", status == 1 and row(answer, f"{arm}:{function}")["t_median_ns"] is None
          and any(d["code"] == code for d in answer["diagnostics"]) and row(answer, "ours")["status"] == "pass", log, answer)
status, answer, log = bench(*shape, "ours", f"{arm}:none")
check("unsupported: a function that the file lacks", status == 0 and row(answer, f"{arm}:none")["status"] == "unsupported", log, answer)
if has_numpy:
    status, answer, log = bench(*shape, "ours", f"{arm}:returns")
    check("returned arrays are copied, and it is said", status == 0 and row(answer, f"{arm}:returns")["buffers"] != "the same", log, answer)
    status, answer, log = bench(*shape, "ours", f"{arm}:broadcasts")
    check("a result of another shape is no result", status == 1 and row(answer, f"{arm}:broadcasts")["status"] == "fail", log, answer)
else:
    print("skip returned arrays (no NumPy here)")

# OpenBLAS, where it is installed; where it has no call for the work, that is a row and no failure.
os.environ["OPENBLAS_CORETYPE"] = "Prescott"
status, answer, log = bench(*matmul, "ours", "openblas")
library = row(answer, "openblas")
if library.get("status") == "unsupported" and "cannot be opened" in library["reason"]:
    print("skip OpenBLAS (not installed)")
else:
    check("OpenBLAS says its kernel and version", status == 0 and library["status"] == "pass" and "kernels for" in library["chosen"] and library["version"],
          log, answer)
    check("OpenBLAS chooses its kernel itself", "Prescott" not in library["chosen"], library)
    for kernel, sizes in [("gemm_f32", "M=9,N=33,K=70"), ("proj_f32", "K=70,N=33")]:
        status, answer, log = bench("--kernel", kernel, "--shape", sizes, "ours", "openblas")
        check(f"OpenBLAS does {kernel}", status == 0 and row(answer, "openblas")["status"] == "pass", log, answer)
status, answer, log = bench(*shape, "ours", "openblas")
check("unsupported: OpenBLAS for a sum", status == 0 and row(answer, "openblas")["status"] == "unsupported" and row(answer, "openblas")["reason"], log)

status, answer, log = bench(*shape, "ours@cpu", "ours@cpu:B=64", "ours@abacus")
check("a device by its name", row(answer, "ours@cpu:B=64")["status"] == "pass", log, answer)
check("refused: no such device", status == 1 and row(answer, "ours@abacus")["status"] == "fail" and row(answer, "ours@cpu")["status"] == "pass", log, answer)
devices = subprocess.run([tilec, "devices"], capture_output=True, text=True).stdout
if any(line.startswith("opencl ") and "missing: " not in line for line in devices.splitlines()):
    status, answer, log = bench(*shape, "ours", "ours@opencl")
    other = row(answer, "ours@opencl")
    check("our kernel on OpenCL", status == 0 and other["status"] == "pass" and other["device"] == "opencl" and (other["buffers"] == "the same") == (other["target"] == "opencl_cpu" and other["launches_a_sample"] > 1), log, answer)
    status, answer, log = bench("--kernel", "argmax", "--shape", "N=100000", "--cold", "ours", "ours@opencl")
    other = row(answer, "ours@opencl")
    check("a program on OpenCL, launches in one submission over many sets", status == 0 and other["status"] == "pass" and other["ratio"] and
          other["clock"] == row(answer, "ours")["clock"], log, answer)
else:
    print("skip our kernel on OpenCL (no device here)")

# A kernel with a schedule, and without it.
scheduled = os.path.join(work.name, "scheduled.tile")
with open(scheduled, "w") as f:
    f.write("kernel twice(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] + x[i] } }\nschedule twice { B = 48 }\n")
status, answer, log = bench("--file", scheduled, "--kernel", "twice", "--shape", "N=1000", "ours", "ours:schedule=none", "ours:schedule=other")
kept, stripped, refused = (row(answer, a) for a in ("ours", "ours:schedule=none", "ours:schedule=other"))
check("a schedule is taken, or left out", kept["schedule"] == "B = 48" and "(chosen)" in stripped["schedule"] and stripped["status"] == "pass" and stripped["ratio"], log, answer)
check("refused: a schedule called otherwise", status == 1 and refused["status"] == "fail" and any(d["code"] == "E0504" for d in answer["diagnostics"]), log, answer)

# An update array, a program, cold data, threads.
status, answer, log = bench("--kernel", "residual_add", "--shape", "N=1000", "ours",
                            drop_in("adds", "for (int64_t i = 0; i < n; i++) h[i] += x[i];", kernel="residual_add", arguments=("x", "h", "N"),
                                    head="const float *x, float *h, int64_t n"))
check("an array updated in place", status == 0 and all(r["status"] == "pass" for r in answer["rows"]), log, answer)
status, answer, log = bench("--kernel", "argmax", "--shape", "N=10000", "ours")
check("a program of several kernels", status == 0 and answer["rows"][0]["status"] == "pass", log, answer)
status, answer, log = bench("--kernel", "argmax", "--shape", "N=10000", "ours",
                            drop_in("best", "uint32_t best = 0; for (int64_t j = 1; j < n; j++) if (x[j] > x[best]) best = (uint32_t)j; i[0] = best;", kernel="argmax",
                                    arguments=("x", "i", "N"), head="const float *x, uint32_t *i, int64_t n"))
check("a stranger with a program's results", status == 0 and all(r["status"] == "pass" for r in answer["rows"]), log, answer)
status, answer, log = bench("--kernel", "argmax", "--shape", "N=10000", "ours",
                            drop_in("last", "i[0] = (uint32_t)n - 1;", kernel="argmax", arguments=("x", "i", "N"), head="const float *x, uint32_t *i, int64_t n"))
check("a stranger without a program's results", status == 1 and row(answer, "ours")["status"] == "pass" and any(d["code"] == "E1041" for d in answer["diagnostics"]), log, answer)
folder = os.path.join(work.name, "built")
built = subprocess.run([tilec, "build", "kernels/matmul.tile", "--kernel", "matmul_f32", "-o", folder], capture_output=True, text=True)
arm = f"file:{folder}/matmul_f32.json"
status, answer, log = bench(*matmul, "ours", arm, options=quick[:-1] + ["2"])
check("what build writes is an arm, on several threads", built.returncode == 0 and status == 0 and row(answer, arm)["status"] == "pass"
      and row(answer, arm)["arm_threads"] == 2, log, answer, built.stderr)

# Kernels in other languages, alone and beside a suite's cell: judged like any stranger's; without anything to read with they are left out.
ROWS = """__kernel void rows(__global const float *x, __global float *y, int C)
{
    __local float part[16];
    int t = get_local_id(0), row = get_group_id(0);
    float sum = 0.0f;
    for (int c = t; c < C; c += 16)
        sum += %s;
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    float whole = 0.0f;
    for (int i = 0; i < 16; i++)
        whole += part[i];
    for (int c = t; c < C; c += 16)
        y[row * C + c] = exp(x[row * C + c]) / whole;
}
"""
contract = "block 16\ngrid R\narg C=1..65536\narg x=f32[R, C]\narg y=f32[R, C]\n"
for name, term, launch in (("rows", "exp(x[row * C + c])", contract), ("wrong", "x[row * C + c]", contract), ("larger", "exp(x[row * C + c])", contract.replace("x=f32[R", "x=f32[2 * R"))):
    write(name + ".cl", ROWS % term)
    write(name + ".launch", launch)
suite = write("foreign.json", json.dumps({"cells": [{"kernel": "softmax", "shapes": ["R=3 C=37"], "threads": [1], "arms": ["ours"],
                                                     "beside": [{"kernel": "rows", "file": "{here}/%s.cl" % name} for name in ("rows", "wrong", "larger")]}]}))
apart = write("apart.json", json.dumps({"cells": [{"kernel": "softmax", "shapes": ["R=3 C=37"], "arms": ["ours"],
                                                   "beside": [{"kernel": "rows", "file": "{here}/rows.cl", "shape": "R=4 C=37"}]}]}))
if os.path.exists(os.path.join(os.path.dirname(tilec), "tilec-lift.so")) and (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
    status, answer, log = bench("--suite", suite, options=quick[:-2])
    check("kernels in another language beside a cell: the right one is timed, another value and more memory are told", status == 1 and
          [r["status"] for r in answer["rows"]] == ["pass", "pass", "fail", "fail"] and answer["rows"][1]["t_median_ns"] > 0 and
          {"E1040", "E1023"} <= {d["code"] for d in answer["diagnostics"]}, log, answer)
else:
    print("skip kernels in other languages (no LLVM here)")
os.environ["TILEC_CLANG"] = "/nowhere/clang"
status, answer, log = bench("--suite", suite, options=quick[:-2])
check("without clang they are unsupported, and ours is measured", status == 0 and [r["status"] for r in answer["rows"]] == ["pass"] + ["unsupported"] * 3 and
      "TILEC_CLANG" in answer["rows"][1]["reason"], log, answer)
del os.environ["TILEC_CLANG"]
status, answer, log = bench("--suite", apart, options=quick[:-2])
check("they have no shape of their own", status == 1 and [d["code"] for d in answer["diagnostics"]] == ["E1020"], log, answer)

# The worked example of doc/bench.md, as a newcomer types it.
with open("doc/bench.md") as f:
    text = f.read()
lines = re.findall(r"^    (build/tilec bench .*examples/arm/.*)$", text, re.M)
check("the document shows the example", len(lines) >= 1)
for line in lines:
    arguments = line.split()[2:]
    if not has_numpy and "python:" in line:
        print("skip the example in Python (no NumPy here)")
        continue
    status, answer, log = bench(*[a for a in arguments if a != "--no-store"])
    check("example: " + line.split("/")[-1], status == 0 and len(answer["rows"]) >= 2 and all(r["status"] == "pass" for r in answer["rows"]), log, answer)
sys.exit(failed)
