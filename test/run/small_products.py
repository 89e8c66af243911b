"""Products whose sums are one tile, stored from registers, with what blocks leave over in smaller ones: values against the oracle, what is said of them, and what is refused."""
import os
import subprocess
import sys
import tempfile

TILEC = os.environ.get("TILEC", "build/tilec")
FORM = "kernel %s(%s) -> (%s) {\n    for tile %s {\n        acc: %s = %s\n        for k: BK in K { acc += %s }\n%s    }\n}\n"
ARRAYS = "a: f32[M, K], b: f32[K, N]"
KERNELS = {
    "plain": FORM % ("plain", ARRAYS, "c: f32[M, N]", "c[i: BM, j: BN]", "f32[i, j]", "0", "a[i, k] @ b[k, j]", "        c[i, j] = acc\n"),
    "started": FORM % ("started", ARRAYS + ", start: f32[N]", "c: f16[M, N]", "c[i: BM, j: BN]", "f32[i, j]", "start[j]", "a[i, k] @ b[k, j]",
                       "        y = acc * 2 + start[j]\n        z = y * y\n        c[i, j] = f16(y + z)\n"),
    "batched": FORM % ("batched", "a: f16[B, M, K], b: f16[B, N, K]", "c: f32[B, M, N]", "c[e: 1, i: BM, j: BN]", "f32[e, i, j]", "0",
                       "a[e, i, k] @ b[e, j, k]", "        c[e, i, j] = max(acc, 0)\n"),
    "residual": FORM % ("residual", ARRAYS, "update c: f32[M, N]", "c[i: BM, j: BN]", "f32[i, j]", "0", "a[i, k] @ b[k, j]",
                        "        c[i, j] = c[i, j] + acc\n"),
    "whole": FORM % ("whole", "a: i32[M, K], b: i32[K, N]", "c: i32[M, N]", "c[i: BM, j: BN]", "i32[i, j]", "3", "a[i, k] @ b[k, j]",
                     "        c[i, j] = acc - 1\n"),
}
OTHERS = {
    "read twice": (FORM % ("twice", ARRAYS, "c: f32[M, N], d: f32[M, N]", "c[i: BM, j: BN], d[i, j]", "f32[i, j]", "0", "a[i, k] @ b[k, j]",
                           "        c[i, j] = acc\n        d[i, j] = acc\n"), 1, "E0504"),
    "across its lanes": (FORM % ("across", ARRAYS, "c: f32[N, M]", "c[j: BN, i: BM]", "f32[i, j]", "0", "a[i, k] @ b[k, j]", "        c[j, i] = acc\n"), 0,
                         "sums are kept in private memory: what is stored does not run along"),
}
# A product times numbers at places that other numbers say: its lanes run along the results, where the numbers can't be read.
GATHERED = FORM % ("gathered", ARRAYS + ", at: index(V)[N], of: index(W)[V], w: f16[W, M]", "y: f32[M, N]", "y[i: BM, j: BN]", "f32[i, j]", "0",
                   "w[of[at[j]], i] * (a[i, k] @ b[k, j])", "        y[i, j] = acc\n")
FAILED = False


def run(*arguments):
    r = subprocess.run([TILEC, *arguments], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def say(good, name, why=""):
    global FAILED
    FAILED = FAILED or not good
    print(f"{'ok' if good else 'FAIL'} {name}" + ("" if good else f": {why[-900:]}"))


with tempfile.TemporaryDirectory(prefix="tilec-small-") as work:
    source = os.path.join(work, "small.tile")
    with open(source, "w") as out:
        out.write("".join(KERNELS.values()))
    settings = ["--set", "sums=registers", "--set", "edges=halved"]
    for kernel in KERNELS:
        shape = "M=45,N=107,K=41" + (",B=2" if kernel == "batched" else "")
        code, told = run("run", source, "--kernel", kernel, "--shape", shape, "--arg", "a=random:1", "--arg", "b=adversarial:2", "--explain", *settings,
                         *{"started": ["--arg", "start=random:3"], "residual": ["--arg", "c=random:3"]}.get(kernel, []))
        say(code == 0 and "sums are stored from registers" in told and "where K <= 256" in told, f"small products: {kernel}", told)
    for m, n, k in ((1, 1, 1), (7, 33, 256), (100, 65, 3), (0, 5, 4), (5, 4, 0)): # one text
        code, told = run("run", source, "--kernel", "plain", "--shape", f"M={m},N={n},K={k}", "--arg", "a=random:1", "--arg", "b=random:2", *settings)
        say(code == 0, f"small products: plain at {m} x {n} x {k}", told)
    code, told = run("run", source, "--kernel", "plain", "--shape", "M=4,N=5,K=257", "--arg", "a=random:1", "--arg", "b=random:2", *settings)
    say(code == 1 and "K <= 256" in told, "small products: a sum of more than a tile is refused", told)
    code, told = run("run", source, "--kernel", "plain", "--shape", "M=50,N=64,K=64", "--arg", "a=random:1", "--arg", "b=random:2", "--explain")
    say(code == 0 and "read in place" in told and "stored from registers" in told, "small products: a launch takes them", told)
    with open(source, "w") as out:
        out.write(GATHERED)
    code, told = run("run", source, "--kernel", "gathered", "--shape", "M=7,N=67,K=300,V=5,W=9", "--explain",
                     *(word for i, name in enumerate(("a", "b", "w", "at", "of")) for word in ("--arg", f"{name}=random:{i + 1}")))
    say(code == 0 and "dot is kept by itself" in told and "lanes along the result j" in told, "small products: times what is gathered", told)
    for name, (text, wanted, words) in OTHERS.items():
        with open(source, "w") as out:
            out.write(text)
        code, told = run("check", source, "--explain", *settings)
        say(code == wanted and (words or "") in told, f"small products: {name}", told)
sys.exit(FAILED)
