#!/usr/bin/env python3
"""The simulator on the command line: as a device, on Kernel IR texts, and at the witnesses of refuted ones, which must misbehave there."""
import json
import os
import subprocess
import sys
import tempfile

tilec = os.path.abspath(os.environ.get("TILEC", "build/tilec"))
root = os.getcwd()
work = tempfile.mkdtemp(prefix="tilec-witness-")
environment = dict(os.environ, TILEC_CACHE=os.path.join(work, "cache"), NO_COLOR="1")
failed = False


def run(*words):
    return subprocess.run([tilec, *words], capture_output=True, text=True, cwd=work, env=environment, timeout=120)


def report(name, problem=None):
    global failed
    failed |= bool(problem)
    print(f"FAIL {name}\n    {problem}" if problem else f"ok {name}")


def expect(name, done, status, *present, absent=()):
    text = done.stdout + done.stderr
    problem = f"status {done.returncode}, not {status}: {text[-800:]}" if done.returncode != status else None
    for word in present:
        if word not in text:
            problem = problem or f"no `{word}` in: {text[-800:]}"
    for word in absent:
        if word in text:
            problem = problem or f"`{word}` in: {text[-800:]}"
    report(name, problem)


def text_of(name):
    with open(os.path.join(root, "test/kernel-ir", name + ".kir"), encoding="utf-8") as f:
        return f.read()


def write(name, text):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


# --- the device ---
source = write("add.tile", "kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }\n"
               "kernel rows(ids: index(V)[T], table: f32[V, D]) -> (x: f32[T, D]) { for tile x[t: BT, d: BD] { x[t, d] = table[ids[t], d] } }\n")
ones = ["--shape", "N=5", "--arg", "a=iota", "--arg", "b=iota"]
expect("devices lists it", run("devices"), 0, "sim ")
expect("run on sim", run("run", source, "--kernel", "add", "--device", "sim", *ones), 0, "on sim", "all 5 elements", "0, 2, 4, 6, 8")
expect("run on sim, nothing to do", run("run", source, "--kernel", "add", "--device", "sim", "--shape", "N=0", "--arg", "a=iota", "--arg", "b=iota"), 0, "f32[0]")
expect("launch checks come first", run("run", source, "--kernel", "rows", "--device", "sim", "--shape", "V=3,T=4,D=2", "--arg", "table=iota", "--arg",
                                       "ids=" + os.path.join(root, "nowhere.npy")), 1, "E08")
expect("corpus on sim takes small shapes", run("corpus", "--device", "sim", "--kernel", "softmax"), 0, "R=3 C=70", "1 of 1 rows held")
corpus = run("corpus", "--kernel", "residual_add", "--json")
report("corpus alone leaves sim out", None if all(row["device"] != "sim" for row in json.loads(corpus.stdout)["rows"]) else "it does not")

# --- texts ---
good = write("good.kir", text_of("packed_matmul"))
expect("check a text", run("check", good), 0, "packed_matmul", "ok")
expect("check a text that is none", run("check", write("bad.kir", "kernel k { store }")), 1, "bad.kir:1:", "error E0")
expect("run a text", run("run", good, "--device", "sim", "--shape", "M=13,N=70", "--shape", "K=33"), 0, "nothing misbehaved")
expect("run a text with an unknown symbol", run("run", good, "--device", "sim", "--shape", "Q=3"), 1, "E0640", "`Q`")
expect("run a text with no number", run("run", good, "--device", "sim", "--shape", "M=x"), 1, "E0726")
expect("run a text on the CPU", run("run", good, "--shape", "M=3"), 1, "E0873", "--device sim")
expect("run a text with an array", run("run", good, "--device", "sim", "--arg", "a=iota"), 1, "E0640", "made up")
expect("run a text for its results", run("run", good, "--device", "sim", "--out", "c=c.npy"), 1, "E0873")
twice = write("twice.kir", "kernel twice { symbol N task (i < N) global in x: f32[N] global out y: f32[N] store y[i] <- add(x[i], x[i]) }")
expect("run a text on data", run("run", twice, "--device", "cpu", "--arg", "x=iota", "--shape", "N=4"), 0, "proved", "4 elements = 0, 2, 4, 6")
expect("a witness of what is proved", run("run", good, "--witness"), 0, "ok", absent=["simulator"])

# --- refuted twins: the witness misbehaves, in the way that the prover says ---
twins = [
    ("packed_matmul", "for i in mi .. 12", "for i in mi + 1 .. 12", "initialised"),
    ("packed_matmul", "if 6 * p + r < mi", "if 6 * p + r <= mi", "contribution"),
    ("packed_matmul", "active nj - j <- total", "active nj - j + 1 <- total", "bounds"),
    ("packed_matmul", "for k0 in 0 .. K step 128", "for k0 in 0 .. K - 127 step 128", "contribution"),
    ("softmax_argmax", "max(n, 0) .. C", "max(n, 1) .. C", "coverage"),
    ("softmax_argmax", "store place[] <- 2147483647:i32\n", "\n", "initialised"),
    ("quantize", "for c in 0 .. 32 * B step 16 {\n        let v", "for c in 0 .. 32 * B - 16 step 16 {\n        let v", "coverage"),
    ("counter_random", "min(N, 1024 * t + 1024)", "min(N, 1024 * t + 1040)", "race"),
]
for index, (name, was, becomes, kind) in enumerate(twins):
    text = text_of(name)
    assert was in text, (name, was)
    path = write(f"{name}{index}.kir", text.replace(was, becomes, 1))
    done = run("check", path, "--witness", "--json")
    kernel = json.loads(done.stdout)["kernels"][0]
    seen = kernel.get("witnesses", [])
    outcomes = [w["simulator"] for w in seen]
    problem = None
    if done.returncode != 1 or kernel["held"]:
        problem = "not refuted"
    elif not seen or any(o != "confirmed" for o in outcomes):
        problem = f"the simulator: {seen}"
    elif kind not in " ".join(w["property"] for w in seen):
        problem = f"not of {kind}: {seen}"
    report(f"{name} with `{' '.join(becomes.split()) or 'a line less'}`", problem)
expect("for people", run("run", "--witness", os.path.join(work, "packed_matmul2.kir")), 1, "E0401", "simulator confirms: ", "E0712")
sys.exit(failed)
