"""Rodinia's kernels, CUDA and OpenCL C: structs in memory, flags as bytes, dynamic programming with barriers."""
import os
import numpy as np

f32, i32 = np.float32, np.int32
rng = np.random.default_rng(31)


def normal(*shape):
    return rng.standard_normal(shape).astype(f32)


def cases(folder):
    cl, cu = os.path.join(folder, "opencl"), os.path.join(folder, "cuda")
    case = lambda name, file, kernel, block, grid, values, arrays, want, **more: dict(
        name=name, file=file, kernel=kernel, block=block, grid=grid, values=values, arrays=arrays, want=want, **more)
    n = 300
    places = normal(n, 2)
    far = np.sqrt(((places - np.array([0.5, -0.25])) ** 2).sum(1))
    yield case("nn, OpenCL", cl + "/nn/nearestNeighbor_kernel.cl", "NearestNeighbor", (64,), (5,), {"numRecords": n, "lat": 0.5, "lng": -0.25},
               {"d_locations": places, "d_distances": np.zeros(n, f32)}, {"d_distances": far}, rtol=1e-4)
    yield case("nn, CUDA", cu + "/nn/nn_cuda.cu", "euclid", (64,), (5,), {"numRecords": n, "lat": 0.5, "lng": -0.25},
               {"d_locations": places, "d_distances": np.zeros(n, f32)}, {"d_distances": far}, rtol=1e-4)
    size, t = 37, 4
    a, m, b = normal(size, size) + 7 * np.eye(size, dtype=f32), np.zeros((size, size), f32), normal(size)
    factors = m.copy()
    factors[t + 1:, t] = a[t + 1:, t] / a[t, t]
    yield case("gaussian, factors, OpenCL", cl + "/gaussian/gaussianElim_kernels.cl", "Fan1", (32,), (2,), {"size": size, "t": t}, {"m_dev": m, "a_dev": a}, {"m_dev": factors})
    yield case("gaussian, factors, CUDA", cu + "/gaussian/gaussian.cu", "Fan1", (32,), (2,), {"Size": size, "t": t}, {"m_cuda": m, "a_cuda": a}, {"m_cuda": factors})
    rest, right = a.astype(np.float64), b.astype(np.float64)
    rest[t + 1:, t:] -= np.outer(factors[t + 1:, t], a[t, t:])
    right[t + 1:] -= factors[t + 1:, t] * b[t]
    yield case("gaussian, the rest, OpenCL", cl + "/gaussian/gaussianElim_kernels.cl", "Fan2", (16, 8), (3, 5), {"size": size, "t": t},
               {"m_dev": factors, "a_dev": a, "b_dev": b}, {"a_dev": rest, "b_dev": right}, rtol=1e-4, atol=1e-5)
    points, clusters, features = 200, 5, 6
    p, c = normal(points, features), normal(clusters, features)
    nearest = ((p[:, None] - c[None]) ** 2).sum(2).argmin(1)
    yield case("kmeans, OpenCL", cl + "/kmeans/kmeans.cl", "kmeans_kernel_c", (64,), (4,), {"npoints": points, "nclusters": clusters, "nfeatures": features},
               {"feature": p.T.copy(), "clusters": c, "membership": np.zeros(points, i32)}, {"membership": nearest.astype(i32)})
    yield case("kmeans, swapped, OpenCL", cl + "/kmeans/kmeans.cl", "kmeans_swap", (64,), (4,), {"npoints": points, "nfeatures": features},
               {"feature": p, "feature_swap": np.zeros((features, points), f32)}, {"feature_swap": p.T})
    size, step = 64, 16
    lu = normal(size, size) + 12 * np.eye(size, dtype=f32)
    block = lu[step:step + 16, step:step + 16].astype(np.float64)
    for i in range(15):
        block[i + 1:, i] /= block[i, i]
        block[i + 1:, i + 1:] -= np.outer(block[i + 1:, i], block[i, i + 1:])
    done = lu.copy()
    done[step:step + 16, step:step + 16] = block
    for language, file, kernel in (("CUDA", cu + "/lud/cuda/lud_kernel.cu", "lud_diagonal"), ("OpenCL", cl + "/lud/lud_kernel.cl", "lud_diagonal")):
        yield case("lud, diagonal, " + language, file, kernel, (16,), (1,), {"matrix_dim": size, "offset": step}, {"m": lu}, {"m": done}, rtol=1e-3, atol=1e-4,
                   define=["BLOCK_SIZE=16"], contract=["shadow=256"] if language == "OpenCL" else [])
