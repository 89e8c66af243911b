"""PolyBench/GPU's kernels, CUDA and OpenCL C: linear algebra and stencils, at small sizes that no block divides."""
import os
import numpy as np

f32 = np.float32
rng = np.random.default_rng(11)


def normal(*shape):
    return rng.standard_normal(shape).astype(f32)


def up(n, block):
    return (n + block - 1) // block


def kernels():
    """name, CUDA's folder and kernel, OpenCL's kernel, extents by macro and by argument, threads in each direction, other values, arrays, what they become.
    Names of arrays: CUDA's, with OpenCL's after a colon where they differ."""
    a64 = lambda x: x.astype(np.float64)
    alpha, beta = 1.5, 0.75
    ni, nj, nk = 37, 45, 29 # syrk's and syr2k's OpenCL kernels guard j by nj where c has ni columns: they are run at ni = nj
    a, b, c = normal(ni, nk), normal(nk, nj), normal(ni, nj)
    yield ("gemm", "GEMM/gemm", "gemm_kernel", "gemm", dict(NI=ni, NJ=nj, NK=nk), (nj, ni), dict(alpha=alpha, beta=beta), {"a": a, "b": b, "c": c},
           {"c": alpha * a64(a) @ b + beta * c})
    nl = 33
    d, e = normal(nj, nl), normal(ni, nl)
    yield ("2mm, first", "2MM/2mm", "mm2_kernel1", "mm2_kernel1", dict(NI=ni, NJ=nj, NK=nk, NL=nl), (nj, ni), dict(alpha=alpha, beta=beta),
           {"tmp": c * 0, "A": a, "B": b}, {"tmp": alpha * a64(a) @ b})
    yield ("2mm, second", "2MM/2mm", "mm2_kernel2", "mm2_kernel2", dict(NI=ni, NJ=nj, NK=nk, NL=nl), (nl, ni), dict(alpha=alpha, beta=beta),
           {"tmp": c, "C": d, "D": e}, {"D": a64(c) @ d + beta * e})
    yield ("3mm, first", "3MM/3mm", "mm3_kernel1", "mm3_kernel1", dict(NI=ni, NJ=nj, NK=nk, NL=nl, NM=31), (nj, ni), {}, {"A": a, "B": b, "E": c * 0},
           {"E": a64(a) @ b})
    nx, ny = 50, 41
    m, p, r = normal(nx, ny), normal(ny), normal(nx)
    yield ("atax, A x", "ATAX/atax", "atax_kernel1", "atax_kernel1", dict(NX=nx, NY=ny), (nx,), {}, {"A": m, "x": p, "tmp": r * 0}, {"tmp": a64(m) @ p})
    yield ("atax, A' t", "ATAX/atax", "atax_kernel2", "atax_kernel2", dict(NX=nx, NY=ny), (ny,), {}, {"A": m, "y": p * 0, "tmp": r}, {"y": a64(m).T @ r})
    yield ("bicg, r A", "BICG/bicg", "bicg_kernel1", "bicgKernel2", dict(NX=nx, NY=ny), (ny,), {}, {"A": m, "r": r, "s": p * 0}, {"s": r @ a64(m)})
    yield ("bicg, A p", "BICG/bicg", "bicg_kernel2", "bicgKernel1", dict(NX=nx, NY=ny), (nx,), {}, {"A": m, "p": p, "q": r * 0}, {"q": a64(m) @ p})
    n = 43
    s, t, x, y, z, u, v = normal(n, n), normal(n, n), normal(n), normal(n), normal(n), normal(n), normal(n)
    yield ("gesummv", "GESUMMV/gesummv", "gesummv_kernel", "gesummv_kernel", dict(N=n), (n,), dict(alpha=alpha, beta=beta),
           {"A:a": s, "B:b": t, "x": x, "y": y * 0, "tmp": z * 0}, {"y": alpha * a64(s) @ x + beta * (a64(t) @ x)})
    yield ("mvt, rows", "MVT/mvt", "mvt_kernel1", "mvt_kernel1", dict(N=n), (n,), {}, {"a": s, "x1": x, "y_1:y1": y}, {"x1": x + a64(s) @ y})
    yield ("mvt, columns", "MVT/mvt", "mvt_kernel2", "mvt_kernel2", dict(N=n), (n,), {}, {"a": s, "x2": x, "y_2:y2": y}, {"x2": x + a64(s).T @ y})
    g, h = normal(ni, ni), normal(ni, ni)
    yield ("syrk", "SYRK/syrk", "syrk_kernel", "syrk_kernel", dict(NI=ni, NJ=ni), (ni, ni), dict(alpha=alpha, beta=beta), {"a": g, "c": h},
           {"c": alpha * a64(g) @ g.T + beta * h})
    k = normal(ni, ni)
    yield ("syr2k", "SYR2K/syr2k", "syr2k_kernel", "syr2k_kernel", dict(NI=ni, NJ=ni), (ni, ni), dict(alpha=alpha, beta=beta), {"a": g, "b": k, "c": h},
           {"c": alpha * (a64(g) @ k.T + a64(k) @ g.T) + beta * h})
    yield ("gemver, A", "GEMVER/gemver", "gemver_kernel1", "gemver_kernel1", dict(N=n), (n, n), dict(alpha=alpha, beta=beta),
           {"a:A": s, "v1:V1": v, "v2:V2": y, "u1:U1": u, "u2:U2": z}, {"a:A": s + np.outer(u, a64(v)) + np.outer(z, a64(y))})
    yield ("gemver, x", "GEMVER/gemver", "gemver_kernel2", "gemver_kernel2", dict(N=n), (n,), dict(alpha=alpha, beta=beta),
           {"a:A": s, "x:X": x, "y:Y": y, "z:Z": z}, {"x:X": x + beta * (a64(s).T @ y) + z})
    yield ("gemver, w", "GEMVER/gemver", "gemver_kernel3", "gemver_kernel3", dict(N=n), (n,), dict(alpha=alpha, beta=beta),
           {"a:A": s, "x:X": x, "w": y}, {"w": y + alpha * (a64(s) @ x)})
    data = normal(nx, ny)
    yield ("covariance, means", "COVAR/covariance", "mean_kernel", "mean_kernel", dict(M=ny, N=nx), (ny,), dict(float_n=float(nx)), {"mean": p * 0, "data": data},
           {"mean": a64(data).sum(0) / nx})
    yield ("covariance, centred", "COVAR/covariance", "reduce_kernel", "reduce_kernel", dict(M=ny, N=nx), (ny, nx), dict(float_n=float(nx)), {"mean": p, "data": data},
           {"data": data - p})
    yield ("covariance", "COVAR/covariance", "covar_kernel", "covar_kernel", dict(M=ny, N=nx), (ny,), {}, {"symmat": np.zeros((ny, ny), f32), "data": data},
           {"symmat": a64(data).T @ data})
    ex, ey, hz, fict = normal(nx, ny), normal(nx, ny), normal(nx, ny), normal(9)
    rows = np.concatenate([np.full((1, ny), fict[4]), ey[1:] - 0.5 * (hz[1:] - hz[:-1])])
    yield ("fdtd, ey", "FDTD-2D/fdtd2d", "fdtd_step1_kernel", "fdtd_kernel1", dict(NX=nx, NY=ny), (ny, nx), dict(t=4), {"_fict_": fict, "ey": ey, "hz": hz}, {"ey": rows})
    columns = ex.copy()
    columns[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
    yield ("fdtd, ex", "FDTD-2D/fdtd2d", "fdtd_step2_kernel", "fdtd_kernel2", dict(NX=nx, NY=ny), (ny, nx), {}, {"ex": ex, "hz": hz}, {"ex": columns})
    inner = hz.copy()
    inner[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    yield ("fdtd, hz", "FDTD-2D/fdtd2d", "fdtd_step3_kernel", "fdtd_kernel3", dict(NX=nx, NY=ny), (ny, nx), {}, {"ex": ex, "ey": ey, "hz": hz}, {"hz": inner})
    u, v = normal(1000, 1000), normal(1000, 1000) # the CUDA source defines its own N
    star = v.copy()
    star[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
    yield ("jacobi 2d", "JACOBI2D/jacobi2D", "runJacobiCUDA_kernel1", "runJacobi2D_kernel1", dict(N=1000), (1000, 1000), {}, {"A": u, "B": v}, {"B": star})
    w = [[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.1]]
    conv = np.zeros((ni, nj))
    for i in range(3):
        for j in range(3):
            conv[1:-1, 1:-1] += w[j][i] * a64(c)[j:ni - 2 + j, i:nj - 2 + i]
    yield ("2d convolution", "2DCONV/2DConvolution", "convolution2D_kernel", "Convolution2D_kernel", dict(NI=ni, NJ=nj), (nj, ni), {}, {"A": c, "B": c * 0}, {"B": conv})
    lu = s + 9 * np.eye(n, dtype=f32)
    step = 5
    row = lu.copy()
    row[step, step + 1:] /= row[step, step]
    yield ("lu, a row", "LU/lu", "lu_kernel1", "lu_kernel1", dict(N=n), (n,), dict(k=step), {"A": lu}, {"A": row})
    rest = row.copy()
    rest[step + 1:, step + 1:] -= np.outer(row[step + 1:, step], row[step, step + 1:])
    yield ("lu, the rest", "LU/lu", "lu_kernel2", "lu_kernel2", dict(N=n), (n, n), dict(k=step), {"A": row}, {"A": rest})


def cases(folder):
    for name, path, cuda, opencl, extents, threads, values, arrays, want in kernels():
        block = (32,) if len(threads) == 1 else (32, 8)
        grid = [up(t, b) for t, b in zip(threads, block)]
        for language in ("CUDA", "OpenCL"):
            if name == "covariance, means" and language == "CUDA":
                continue # divides by a number of its own
            side = 0 if language == "CUDA" else -1
            of = lambda d: {k.split(":")[side]: v.astype(f32) for k, v in d.items()}
            file = os.path.join(folder, language, path + (".cu" if side == 0 else ".cl"))
            if side and os.path.basename(path) == "fdtd2d":
                file = os.path.join(folder, language, "FDTD-2D", "fdtd2d.cl")
            lower = {k.lower(): v for k, v in extents.items()}
            yield dict(name="%s, %s" % (name, language), file=file, kernel=cuda if side == 0 else opencl, block=block, grid=grid, values={**lower, **values},
                       arrays=of(arrays), want=of(want), rtol=1e-4, atol=2e-4, include=[os.path.dirname(file)] if side == 0 else [],
                       define=["%s=%d" % e for e in {"N": 1, "TSTEPS": 1, **extents}.items()] + ["POLYBENCH_LOOP_BOUND(x,y)=x"] if side == 0 else [])
