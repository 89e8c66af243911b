#!/usr/bin/env python3
"""Target air: each kernel's LLVM IR, in both spellings and with matrices by Metal's functions and lane by lane, passes its LLVM's verifier, and what the reader
of other languages runs of it in the simulator is what the same kernel computes on the CPU. What the texts hold is counted."""
import json, math, os, re, shutil, subprocess, sys, tempfile
try:
    import numpy as np
except ImportError:
    print("skip air (no NumPy here)")
    sys.exit(0)

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
VERIFIERS = {"": "opt-19", "_typed": "opt-14"}

# File, kernel, extents, scalars, how matrices are reached: native, lanes, both in turn, or none.
ROWS = [
    ("kernels/matmul.tile", "matmul", {"M": 37, "N": 70, "K": 19}, {}, "both"),
    ("kernels/matmul.tile", "matmul_f32", {"M": 70, "N": 33, "K": 33}, {}, "both"),
    ("kernels/matmul.tile", "matmul", {"M": 1, "N": 1, "K": 1}, {}, "native"),
    ("kernels/matmul.tile", "matmul_f32", {"M": 3, "N": 5, "K": 0}, {}, "native"),
    ("kernels/matmul.tile", "matmul_tt_gelu", {"M": 33, "N": 40, "K": 17}, {}, "native"),
    ("test/accept/fragments.tile", "gated", {"M": 21, "N": 35, "K": 19}, {}, "native"),
    ("test/accept/fragments.tile", "masked", {"M": 18, "N": 34, "K": 29}, {"lo": 3, "hi": 25}, "native"),
    ("test/accept/fragments.tile", "heads", {"M": 9, "N": 17, "K": 21, "H": 3}, {}, "native"),
    ("test/accept/bf16.tile", "gemm_tf32", {"M": 17, "N": 9, "K": 21}, {}, "native"),
    ("kernels/elementwise.tile", "vec_exp", {"N": 301}, {}, None),
    ("kernels/normalise.tile", "softmax", {"R": 3, "C": 37}, {}, None),
    ("kernels/normalise.tile", "layer_norm", {"R": 2, "C": 45}, {"eps": 0.5}, None),
]

def integer(text, values):
    """An extent or a count of tasks as the plan prints it."""
    text = re.sub(r"floor\(", "(", text).replace(" / ", " // ")
    return int(eval(text, {"min": min, "max": max}, dict(values)))

def holds(text, values):
    return text == "always" or bool(eval(text, {}, dict(values)))

def made(element, shape, seed):
    x = np.random.default_rng(seed).standard_normal(shape)
    return {"f32": x.astype(np.float32), "f16": x.astype(np.float16), "i8": np.clip(x * 40, -127, 127).astype(np.int8)}[element]

def run(words):
    return subprocess.run([tilec] + words, capture_output=True, text=True)

def variant_of(explained, values):
    for line in explained.splitlines():
        found = re.match(r"\s+variant (\d+)\s+(.*); tasks (.*); \d+ bytes", line)
        if found and holds(found[2].removeprefix("when "), values):
            return int(found[1]), math.prod(integer(part, values) for part in found[3].split(" x "))
    raise LookupError("no variant for %s" % values)

def check(folder, file, name, extents, scalars, access):
    """One kernel, one way to matrices, both spellings; a text about what is wrong, or None."""
    into = os.path.join(folder, "%s_%s" % (name, access or "none"))
    values = dict(extents, **{k: v for k, v in scalars.items() if isinstance(v, int)})
    words = ["build", file, "--kernel", name, "--target", "air", "-o", into, "--explain", "--stat"]
    if access == "lanes":
        words += ["--set", "matrix_access=lanes"]
    built = run(words)
    if built.returncode:
        return built.stdout + built.stderr
    variant, tasks = variant_of(built.stdout, values)
    for ending, verifier in VERIFIERS.items():
        if shutil.which(verifier):
            with open(os.path.join(into, name + ending + ".ll")) as f: # whose triple is of no processor that they know
                text = "".join(line for line in f if not line.startswith("target triple"))
            judged = subprocess.run([verifier, "-passes=verify", "-disable-output", "-"], input=text, capture_output=True, text=True)
            if judged.returncode:
                return judged.stderr
    counts = {m[1]: [int(x) for x in m.groups()[1:]] for m in re.finditer(
        r"^  (\w+)\s+matrix loads (\d+), stores (\d+), products (\d+); shufflevectors (\d+), barriers (\d+), loads (\d+)", built.stdout, re.M)}
    loads, stores, products, shuffles, barriers, _ = counts["%s_variant_%d" % (name, variant)]
    straight = "loaded straight from memory, no copies" in built.stdout
    if access == "native" and not (loads and products) or access == "lanes" and (loads or stores or not shuffles or not products):
        return "matrices: %d loads, %d stores, %d products" % (loads, stores, products)
    if straight and "go on in single threads" not in built.stdout and (barriers or (access == "native" and shuffles)):
        return "%d barriers, %d shufflevectors" % (barriers, shuffles)
    # The same bytes on the CPU, by the C of the same kernel.
    with open(os.path.join(into, name + ".json")) as f:
        arguments = json.load(f)["arguments"]
    arrays, outs = {}, {}
    given = []
    for number, argument in enumerate(arguments):
        shape = re.match(r"(\w+)\[(.*)\]", argument["type"])
        if not shape or argument["is"] not in ("read", "written", "updated"):
            continue
        if argument["is"] == "written":
            outs[argument["name"]] = [integer(x, values) for x in shape[2].split(",")]
        else:
            arrays[argument["name"]] = [integer(x, values) for x in shape[2].split(",")]
            path = os.path.join(folder, "%s.npy" % argument["name"])
            np.save(path, made(shape[1], arrays[argument["name"]], number))
            given += ["--arg", "%s=%s" % (argument["name"], path)]
    numbers = [word for k, v in scalars.items() for word in ("--arg", "%s=%s" % (k, v))]
    shape = [word for k, v in extents.items() for word in ("--shape", "%s=%d" % (k, v))]
    wanted = run(["run", file, "--kernel", name] + given + numbers + shape +
                 [word for k in outs for word in ("--out", "%s=%s" % (k, os.path.join(folder, "cpu_%s.npy" % k)))])
    if wanted.returncode:
        return wanted.stdout + wanted.stderr
    for ending in VERIFIERS:
        launch = ["--block", "128", "--grid", str(tasks)]
        for k, v in list(extents.items()) + list(scalars.items()) + [("first_task", 0)]:
            launch += ["--arg", "%s_0=%s" % (k, v)]
        for k, dims in list(arrays.items()) + list(outs.items()):
            launch += ["--arg", "%s_length=%d" % (k, math.prod(dims))]
        done = run(["run", os.path.join(into, name + ending + ".ll"), "--kernel", "%s_variant_%d" % (name, variant), "--device", "sim"] + given + launch +
                   [word for k in outs for word in ("--out", "%s=%s" % (k, os.path.join(folder, "sim_%s.npy" % k)))])
        if done.returncode:
            return done.stdout + done.stderr
        for k, dims in outs.items():
            x, y = (np.load(os.path.join(folder, "%s_%s.npy" % (where, k))).reshape(-1) for where in ("cpu", "sim"))
            if x.dtype != y.dtype:
                y = y.view(x.dtype)
            x, y = x.astype(np.float64), y.astype(np.float64)
            if x.shape != y.shape or not np.allclose(x, y, rtol=2e-2 if "16" in str(np.load(os.path.join(folder, "cpu_%s.npy" % k)).dtype) else 1e-4, atol=1e-3):
                at = int(np.argmax(np.abs(x - y))) if x.shape == y.shape else 0
                return "%s[%d]%s is %s, not %s" % (k, at, ending, y[at], x[at])
    return None

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")):
        print("skip air (no LLVM here)")
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for file, name, extents, scalars, kind in ROWS:
            for access in ("native", "lanes") if kind == "both" else (kind or "none",):
                try:
                    why = check(folder, file, name, extents, scalars, access)
                except (LookupError, ValueError, NameError) as e:
                    why = repr(e)
                label = "%s, matrices %s, %s" % (name, access, " ".join("%s=%d" % e for e in extents.items()))
                print("FAIL %s: %s" % (label, why) if why else "ok " + label, flush=True)
                failed = failed or bool(why)
    return failed

sys.exit(main())
