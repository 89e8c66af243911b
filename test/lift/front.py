#!/usr/bin/env python3
"""Source texts of other languages become LLVM IR: every kernel with its arguments, errors at their lines, and our own emitted texts."""
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

tilec = os.environ["TILEC"]
failed = False
scratch = tempfile.mkdtemp(prefix="front-")
os.environ["TMPDIR"] = os.path.join(scratch, "tmp")
os.mkdir(os.environ["TMPDIR"])


def check(name, holds, detail=""):
    global failed
    failed |= not holds
    print(("ok " if holds else "FAIL ") + name)
    if not holds:
        print("    " + str(detail)[:1500].replace("\n", "\n    "))


def run(*arguments, **environment):
    return subprocess.run([tilec, "kernels", *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def kernels(path, *arguments):
    done = run(path, "--json", *arguments)
    try:
        files = json.loads(done.stdout)["files"]
    except (ValueError, KeyError):
        return None, done.stdout + done.stderr
    return {k["name"]: k for k in files[0]["kernels"]} if done.returncode == 0 else None, done.stdout + done.stderr


if run("test/lift/plain.cl").returncode and "E1100" in run("test/lift/plain.cl").stderr:
    print("skip lift/front (no clang 18 or newer)")
    sys.exit(0)

# What each text holds: kernel, line, then its parameters as name:kind. Kinds: b buffer, c constant buffer, t threadgroup memory, v value, o another,
# anything longer a builtin of Metal.
EXPECTED = {
    "host_main.cu": {"saxpy 26": "n:v a:v x:c y:b"},
    "template_chain.cu": {f"reduce<{t}, {n}U> 18": "in:c out:b n:v p:v" for t in ("float", "double") for n in (128, 256)},
    "dynamic_shared.cu": {"carve 6 256": "in:c out:b n:v rows:v"},
    "vector_types.cu": {"axpy4 7": "x:c y:b partial:b a:v n4:v", "interleave 19": "in:c out:b table:c n:v"},
    "half_math.cu": {"half_axpy 5": "x:c y:b a:v n2:v", "rms 12": "x:c w:c y:b columns:v epsilon:v"},
    "cooperative.cu": {"block_sums 12": "in:c out:b n:v"},
    "atomics.cu": {"histogram 15": "data:c bins:b total:b n:v"},
    "warp.cu": {"compact 18 128": "in:c out:b count:b wide:b n:v"},
    "classes.cu": {"map<math::silu<float>, 4> 15": "in:c out:b n:v f:v", "map<math::scale, 2> 15": "in:c out:b n:v f:v"},
    "constant_memory.cu": {"stencil 9": "in:c out:b"},
    "instantiations.metal": {
        "sum_f32 16": "x:b y:b args:c dynamic:t group:threadgroup_position_in_grid thread_index:thread_index_in_threadgroup "
        "place:thread_position_in_threadgroup",
        "sum_f16 16": "x:b y:b args:c dynamic:t group:threadgroup_position_in_grid thread_index:thread_index_in_threadgroup "
        "place:thread_position_in_threadgroup",
        "copy_f32_bf16 38": "args:c from:b to:b g:thread_position_in_grid",
        "copy_bf16_f16 38": "args:c from:b to:b g:thread_position_in_grid",
        "copy_i8_f32 38": "args:c from:b to:b g:thread_position_in_grid",
        "count 49 256": "counter:b i:thread_position_in_grid",
    },
    "features.metal": {
        "vectors 27": "in:b out:b bytes:b place:thread_position_in_grid size:threads_per_grid",
        "lanes 45": "data:b small:b partial:t lane:thread_index_in_simdgroup group:simdgroup_index_in_threadgroup t:thread_position_in_threadgroup",
        "matrices 58": "a:b b:b c:b n:c",
    },
    "plain.cl": {"blur 7": "in:c out:b row:t n:v o:v h:c", "picture 21": "image:o sampler:o out:b"},
    "typed.ll": {"scale 8": "x:c y:b n:c i:thread_position_in_grid"},
}


def kind(parameter):
    text = parameter["kind"]
    for start, short in (("buffer", "c" if "constant" in text else "b"), ("threadgroup memory", "t"), ("value", "v"), ("image", "o")):
        if text.startswith(start):
            return short
    return text


def summary(found):
    out = {}
    for k in found.values():
        limit = f" {k['threads_per_block']}" if k["threads_per_block"] else ""
        out[f"{k['name']} {k['line']}{limit}"] = " ".join(f"{p['name']}:{kind(p)}" for p in k["parameters"])
    return out


for text, expected in EXPECTED.items():
    ir = os.path.join(scratch, text + ".ll")
    found, said = kernels("test/lift/" + text, "--ir", ir)
    got = summary(found) if found else said
    check("lift/" + text, got == expected, f"{got}\n!= {expected}")
    # What came out is IR that reads as such: the kernels again, by their names in it (AIR's metadata keeps them; so does the convention of amdgcn's).
    if found and not text.endswith(".metal"):
        again, said = kernels(ir)
        check(f"lift/{text}: its IR", again is not None and {k["function"] for k in found.values()} <= set(again), said)
check("lift: the block of reqd_work_group_size", kernels("test/lift/plain.cl")[0]["blur"]["block"] == [64, 1, 1])
arguments = kernels("test/lift/features.metal", "--kernel", "vectors")[0]["vectors"]["parameters"]
check("lift: vectors of the launch come whole", all(p["count"] == 1 for p in arguments), arguments)

# One kernel, by its host name or by a template's arguments.
check("lift: one kernel", list(kernels("test/lift/instantiations.metal", "--kernel", "sum_f16")[0]) == ["sum_f16"])
check("lift: names alone", run("test/lift/instantiations.metal", "--names").stdout.split() ==
      ["sum_f32", "sum_f16", "copy_f32_bf16", "copy_bf16_f16", "copy_i8_f32", "count"])
check("lift: an instantiation asked for", list(kernels("test/lift/template_chain.cu", "--kernel", "reduce<int,64>")[0] or {}) == ["reduce<int, 64U>"])
check("lift: an instantiation in a namespace", list(kernels("test/lift/classes.cu", "--kernel", "math::map<math::scale, 8>")[0] or {}) == ["map<math::scale, 8>"])

# Function constants: values where given, else symbols whose names carry the index.
ir = os.path.join(scratch, "constants.ll")
run("test/lift/instantiations.metal", "--kernel", "sum_f32", "--ir", ir)
text = open(ir, encoding="utf-8").read()
check("lift: function constants without values", "@msl.function_constant.603.width" in text and "@msl.function_constant.derived.scale" in text)
run("test/lift/instantiations.metal", "--kernel", "sum_f32", "--ir", ir, "--constant", "width=7", "--constant", "604=true")
text = open(ir, encoding="utf-8").read()
check("lift: function constants with values", "msl.function_constant" not in text and "@_GLOBAL__sub_I" not in text)

# Errors stand at the source's own lines and columns, whatever was rewritten around them.
WRONG = {
    "undeclared.cl": ("kernel void f(global float *a)\n{\n    a[0] = missing;\n}\n", "undeclared.cl:3:12: error E1102: use of undeclared identifier 'missing'"),
    "undeclared.cu": ("#include <vector>\nstd::vector<int> v;\n__global__ void f(float *a)\n{\n    a[0] = missing;\n}\n",
                      "undeclared.cu:5:12: error E1102: use of undeclared identifier 'missing'"),
    "undeclared.metal": ("kernel void f(device float *a [[buffer(0)]], uint3 i [[thread_position_in_grid]])\n{\n    threadgroup float t[4];\n    a[0] = missing;\n}\n",
                         "undeclared.metal:4:12: error E1102: use of undeclared identifier 'missing'"),
    "none.cu": ("int main() { return 0; }\n", "none.cu: error E1104: there is no kernel in this CUDA text"),
    "header.metal": ('#include "nowhere.h"\nkernel void f(device float *a) {}\n', "header.metal:1:10: error E1102: 'nowhere.h' file not found"),
    "unclosed.metal": ("template <typename T kernel void f(device T *a [[buffer(0)]) {\n", "unclosed.metal"),
    "unclosed.cu": ("__global__ void f(float *a) { if (a) {\n", "unclosed.cu:1"),
}
for name, (text, expected) in WRONG.items():
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = run(path)
    check("lift: " + name, done.returncode == 1 and os.path.join(scratch, expected) in done.stderr, done.stderr)
path = os.path.join(scratch, "missing.cu")
with open(path, "w", encoding="utf-8") as f:
    f.write('#include <nowhere/a.h>\n#include "../../nowhere/b.h"\n__global__ void f(float *a)\n{\n    a[0] = 1;\n}\n')
done = run(path)
check("lift: headers that are not there", done.returncode == 0 and done.stderr.count("E1107") == 1 and "missing.cu:2:10" in done.stderr, done.stderr)
with open(path, "w", encoding="utf-8") as f:
    f.write("int width;\nstd::vector<int> sizes;\n__global__ void f(float *a)\n{\n    a[0] = width + sizes[0];\n}\n")
done = run(path)
check("lift: why a name is not there", done.returncode == 1 and "missing.cu:1: this was left out, as the host's" in done.stderr, done.stderr)
done = run("test/lift/instantiations.metal", "--kernel", "sum_f31")
check("lift: a kernel that is not there", done.returncode == 1 and "E1104" in done.stderr and "nearest name is sum_f" in done.stderr, done.stderr)
done = run("test/lift/plain.cl", TILEC_CLANG="/nowhere/clang")
check("lift: no clang", done.returncode == 1 and "E1100" in done.stderr and "apt-get install" in done.stderr, done.stderr)
done = run("test/lift/host_main.cu", "-I", "test/lift", "-DUNUSED=1")
check("lift: headers of the host's side", done.returncode == 0 and "E1107" not in done.stderr, done.stderr)

# A struct by value with an array in it, as each language passes it: the same verdict.
STRUCT = "struct options { float a; int b[3]; };\n"
BODY = "{ int i = %s; if (i < n) x[i] = o.a + o.b[1]; }\n"
for ending, text in (
    ("cl", STRUCT + "kernel void k(global float *x, struct options o, int n)\n" + BODY % "get_global_id(0)"),
    ("cu", STRUCT + "__global__ void k(float *x, options o, int n)\n" + BODY % "blockIdx.x * blockDim.x + threadIdx.x"),
    ("metal", STRUCT + "kernel void k(device float *x, constant options &o, constant int &n, uint t [[thread_position_in_grid]])\n" + BODY % "t"),
):
    path = os.path.join(scratch, "struct." + ending)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([tilec, "check", path, "--block", "64", "--arg", "x=f32[n]"], capture_output=True, text=True)
    if "E1120" in done.stderr:
        print("skip lift: a struct by value (no plugin)")
        break
    check(f"lift: a struct by value in .{ending}", done.returncode == 0 and "properties proved" in done.stdout, done.stdout + done.stderr)

# What tilec itself emits: every other file of kernels for one target in turn (read_back.py reads all of them), with TILEC_EXHAUSTIVE each for all three.
if not os.environ.get("TILEC_QUICK"):
    built = os.path.join(scratch, "built")
    every = bool(os.environ.get("TILEC_EXHAUSTIVE"))
    targets = ("metal", "cuda", "opencl")
    jobs = [(targets[t], path) for t in range(3) for i, path in enumerate(sorted(glob.glob("kernels/*.tile"))) if every or i % 6 == 2 * t]

    def build(job):
        target, path = job
        return subprocess.run([tilec, "build", path, "--target", target, "-o", f"{built}/{target}", "--shape", "G=4"], capture_output=True, text=True)

    def read(path):
        ir = path + ".ll"
        done = run(path, "--ir", ir)
        return None if done.returncode == 0 and "(line" in done.stdout else f"{path}: {done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(build, jobs))
        for target, ending in (("metal", "metal"), ("cuda", "cu"), ("opencl", "cl")):
            texts = sorted(glob.glob(f"{built}/{target}/*.{ending}"))
            wrong = [x for x in pool.map(read, texts) if x]
            check(f"lift: {len(texts)} texts for {target}", len(texts) > (25 if every else 3) and not wrong, "\n".join(wrong[:5]))

check("lift: nothing is left behind", not os.listdir(os.environ["TMPDIR"]), os.listdir(os.environ["TMPDIR"]))
shutil.rmtree(scratch)
sys.exit(failed)
