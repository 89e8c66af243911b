"""Kernels of NVIDIA's CUDA samples: shared memory, barriers, cooperative groups, templates, constant memory."""
import os
import numpy as np

f32 = np.float32
rng = np.random.default_rng(21)


def normal(*shape):
    return rng.standard_normal(shape).astype(f32)


def black_scholes(s, x, t, r, v):
    from math import erf
    cdf = np.vectorize(lambda d: 0.5 * (1 + erf(d / 2 ** 0.5)))
    s, x, t = s.astype(np.float64), x.astype(np.float64), t.astype(np.float64)
    d1 = (np.log(s / x) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    discounted = x * np.exp(-r * t)
    return s * cdf(d1) - discounted * cdf(d2), discounted * cdf(-d2) - s * cdf(-d1)


def cases(folder):
    intro, concepts = os.path.join(folder, "Samples/0_Introduction"), os.path.join(folder, "Samples/2_Concepts_and_Techniques")
    common = [os.path.join(folder, "Common")]
    case = lambda name, file, kernel, block, grid, values, arrays, want, **more: dict(
        name=name, file=file, kernel=kernel, block=block, grid=grid, values=values, arrays=arrays, want=want, include=common, **more)
    n = 1000
    x, y = normal(n), normal(n)
    yield case("vectorAdd", intro + "/vectorAdd/vectorAdd.cu", "vectorAdd", (256,), (4,), {"numElements": n}, {"A": x, "B": y, "C": x * 0}, {"C": x + y})
    for size, rows, columns, inner in ((16, 3, 2, 4), (32, 1, 2, 2)):
        a, b = normal(rows * size, inner * size), normal(inner * size, columns * size)
        yield case("matrixMul<%d>, %dx%dx%d" % (size, rows * size, columns * size, inner * size), intro + "/matrixMul/matrixMul.cu", "MatrixMulCUDA<%d>" % size,
                   (size, size), (columns, rows), {"wA": inner * size, "wB": columns * size}, {"C": np.zeros((rows * size, columns * size), f32), "A": a, "B": b},
                   {"C": a.astype(np.float64) @ b}, rtol=1e-4, atol=1e-4)
    for kernel in ("transposeNaive", "transposeCoalesced", "transposeNoBankConflicts", "copy"):
        width, height = 64, 32
        m = normal(height, width)
        yield case("transpose: " + kernel, folder + "/Samples/6_Performance/transpose/transpose.cu", kernel, (32, 16), (width // 32, height // 32),
                   {"width": width, "height": height}, {"odata": np.zeros(m.size, f32), "idata": m}, {"odata": m if kernel == "copy" else m.T})
    vectors, elements = 5, 300
    a, b = normal(vectors, elements), normal(vectors, elements)
    yield case("scalarProd", concepts + "/scalarProd/scalarProd.cu", "scalarProdGPU", (64,), (3,), {"vectorN": vectors, "elementN": elements},
               {"d_C": np.zeros(vectors, f32), "d_A": a, "d_B": b}, {"d_C": (a.astype(np.float64) * b).sum(1)}, rtol=1e-4, atol=1e-4)
    options = 1000
    s, k, t = (rng.uniform(lo, hi, options).astype(f32) for lo, hi in ((5, 30), (1, 100), (0.25, 10)))
    call, put = black_scholes(s, k, t, 0.02, 0.3)
    # pairs of floats are stored as structs, and so as bits
    yield case("BlackScholes", folder + "/Samples/5_Domain_Specific/BlackScholes/BlackScholes.cu", "BlackScholesGPU", (128,), (4,),
               {"Riskfree": 0.02, "Volatility": 0.3, "optN": options},
               {"d_CallResult": (s * 0).view(np.int32), "d_PutResult": (s * 0).view(np.int32), "d_StockPrice": s, "d_OptionStrike": k, "d_OptionYears": t}, {"d_CallResult": call, "d_PutResult": put},
               rtol=1e-4, atol=1e-3)
    width, height, radius = 256, 8, 8
    image, taps = normal(height, width), normal(2 * radius + 1)
    padded = np.pad(image.astype(np.float64), ((0, 0), (radius, radius)))
    rows = sum(taps[2 * radius - j] * padded[:, j:j + width] for j in range(2 * radius + 1))
    yield case("convolutionSeparable, rows", concepts + "/convolutionSeparable/convolutionSeparable.cu", "convolutionRowsKernel", (16, 4), (width // 128, height // 4),
               {"imageW": width, "imageH": height, "pitch": width}, {"d_Dst": image * 0, "d_Src": image, "c_Kernel": taps}, {"d_Dst": rows}, rtol=1e-4, atol=1e-4)
    count = 700
    v = normal(count)
    for number in (0, 3):
        per = 128 * (2 if number == 3 else 1)
        blocks = (count + per - 1) // per
        whole = np.pad(v, (0, blocks * per - count)).reshape(blocks, per)
        yield case("reduction %d" % number, concepts + "/reduction/reduction_kernel.cu", "reduce%d<float>" % number, (128,), (blocks,), {"n": count},
                   {"g_idata": v, "g_odata": np.zeros(blocks, f32)}, {"g_odata": whole.astype(np.float64).sum(1)}, contract=["__smem=128"], rtol=1e-4, atol=1e-4)
