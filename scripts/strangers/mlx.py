"""MLX's Metal kernels: a value a thread, a row a threadgroup, sorts and scans over SIMD groups; references from the mathematics."""
import os
import numpy as np

f16, f32 = np.float16, np.float32
rng = np.random.default_rng(41)


def normal(*shape):
    return rng.standard_normal(shape).astype(f32)


def up(n, block):
    return (n + block - 1) // block


def cases(folder):
    place = os.path.join(folder, "mlx/backend/metal/kernels")
    case = lambda name, file, kernel, block, grid, values, arrays, want, **more: dict(
        name=name, file=os.path.join(place, file + ".metal"), kernel=kernel, block=block, grid=grid, values=values, arrays=arrays, want=want, include=[folder], **more)
    threads = lambda n, per: up(up(n, per), 32) * 32
    for rows, n in ((4, 512), (3, 301)):
        x, w, b = normal(rows, n), normal(n), normal(n)
        a = x.astype(np.float64)
        e = np.exp(a - a.max(1, keepdims=True))
        soft, log = e / e.sum(1, keepdims=True), np.log(e.sum(1)) + a.max(1)
        yield case("softmax, %dx%d" % (rows, n), "softmax", "block_softmax_float32", (threads(n, 4),), (rows,), {"axis_size": n}, {"in": x, "out": x * 0}, {"out": soft}, rtol=1e-4, atol=1e-6)
        yield case("softmax by loops, %dx%d" % (rows, n), "softmax", "looped_softmax_float32", (1024,), (rows,), {"axis_size": n}, {"in": x, "out": x * 0}, {"out": soft}, rtol=1e-4, atol=1e-6)
        h = x.astype(f16)
        eh = np.exp(h.astype(np.float64) - h.max(1, keepdims=True))
        yield case("softmax f16, %dx%d" % (rows, n), "softmax", "block_softmax_precise_float16", (threads(n, 4),), (rows,), {"axis_size": n}, {"in": h, "out": h * 0},
                   {"out": (eh / eh.sum(1, keepdims=True)).astype(f16)}, rtol=2e-3, atol=1e-6)
        yield case("logsumexp, %dx%d" % (rows, n), "logsumexp", "block_logsumexp_float32", (threads(n, 4),), (rows,), {"axis_size": n}, {"in": x, "out": np.zeros(rows, f32)}, {"out": log}, rtol=1e-5, atol=1e-5)
        rms = a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-5) * w
        args = {"eps": 1e-5, "axis_size": n, "w_stride": 1}
        yield case("rms_norm, %dx%d" % (rows, n), "rms_norm", "rmsfloat32", (threads(n, 4),), (rows,), args, {"x": x, "w": w, "out": x * 0}, {"out": rms}, rtol=1e-4, atol=1e-5)
        yield case("rms_norm by loops, %dx%d" % (rows, n), "rms_norm", "rms_loopedfloat32", (64,), (rows,), args, {"x": x, "w": w, "out": x * 0}, {"out": rms}, rtol=1e-4, atol=1e-5)
        norm = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * w + b
        # its last threads write before their own array where a row is not whole for them (doc/reading.md): it runs where rows are
        if n % 256 == 0:
            yield case("layer_norm, %dx%d" % (rows, n), "layer_norm", "layer_normfloat32", (threads(n, 8),), (rows,), dict(args, b_stride=1), {"x": x, "w": w, "b": b, "out": x * 0}, {"out": norm},
                       rtol=1e-4, atol=1e-5)
    n = 301 # threads that do not exist are not launched there: blocks of 43
    x, y = normal(n), normal(n)
    near = np.clip(x / 4, -1, 1).astype(f32)
    for op, f, v in (("Exp", np.exp, x), ("ArcSin", np.arcsin, near), ("ArcTan", np.arctan, x), ("ArcSinh", np.arcsinh, x), ("ArcTanh", np.arctanh, near * f32(0.99)), ("Expm1", np.expm1, x),
                     ("Log1p", np.log1p, abs(x)), ("Tan", np.tan, near), ("Sigmoid", lambda t: 1 / (1 + np.exp(-t)), x)):
        yield case("unary " + op, "unary", "v_%sfloat32float32" % op, (43,), (7,), {"size": n}, {"in": v, "out": v * 0}, {"out": f(v.astype(np.float64))}, rtol=2e-5, atol=1e-6)
    for op, f in (("Add", np.add), ("Divide", np.divide), ("Maximum", np.maximum), ("LogAddExp", np.logaddexp), ("ArcTan2", np.arctan2)):
        yield case("binary " + op, "binary", "vv_%sfloat32" % op, (43,), (7,), {"size": n}, {"a": x, "b": y, "c": x * 0}, {"c": f(x.astype(np.float64), y.astype(np.float64))}, rtol=2e-5, atol=1e-6)
    yield case("arange", "arange", "arangefloat32", (64,), (4,), {"start_0": 1.5, "step_0": 0.25}, {"out": np.zeros(256, f32)}, {"out": 1.5 + 0.25 * np.arange(256)})
    for rows, n in ((3, 256), (2, 301)):
        x = normal(rows, n)
        for how, want in (("inclusive", x.astype(np.float64).cumsum(1)), ("exclusive", x.astype(np.float64).cumsum(1) - x)):
            yield case("scan %s, %dx%d" % (how, rows, n), "scan", "contig_scan_%s_sum_float32_float32" % how, (1024, 1, 1), (1, rows, 1), {"axis_size": n}, {"in": x, "out": x * 0}, {"out": want}, rtol=1e-4, atol=1e-4)
