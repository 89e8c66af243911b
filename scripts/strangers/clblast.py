"""CLBlast's OpenCL kernels, put together as its library does: linear algebra with offsets and strides, by vectors and tiles where sizes allow."""
import atexit, os, re, shutil, tempfile
import numpy as np

f32 = np.float32
rng = np.random.default_rng(51)


def normal(*shape):
    return rng.standard_normal(shape).astype(f32)


def up(n, block):
    return (n + block - 1) // block


def together(folder, place, name, parts):
    """The parts are C++ literals each: what opens and closes them goes."""
    path = os.path.join(place, name + ".cl")
    with open(path, "w") as f:
        for part in ["common"] + parts:
            source = os.path.join(folder, "src/kernels", part + ".opencl")
            if not os.path.exists(source):
                return source # told as not here
            f.write(re.sub(r'^R"\(\s*$|^\)"\s*$', "", open(source).read(), flags=re.M))
    return path


def cases(folder):
    place = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, place, True)
    case = lambda name, parts, kernel, block, grid, values, arrays, want, **more: dict(
        name=name, file=together(folder, place, parts[-1].replace("/", "_"), parts), kernel=kernel, block=block, grid=grid, values=values, arrays=arrays, want=want,
        define=["PRECISION=32", "RELAX_WORKGROUP_SIZE=0"], **more)
    level1 = lambda name: ["level1/level1", "level1/" + name]
    wide = lambda x: x.astype(np.float64)
    for n in (256, 301):
        x, y = normal(2 * n), normal(n)
        z = y.copy()
        yield case("xaxpy, every other, %d" % n, level1("xaxpy"), "Xaxpy", (64,), (up(n, 64),), {"n": n, "arg_alpha": 1.5, "x_offset": 0, "x_inc": 2, "y_offset": 0, "y_inc": 1}, {"xgm": x, "ygm": z},
                   {"ygm": 1.5 * wide(x[::2]) + y})
        yield case("xscal, %d" % n, level1("xscal"), "Xscal", (64,), (up(n, 64),), {"n": n, "arg_alpha": -0.5, "x_offset": 0, "x_inc": 1}, {"xgm": y}, {"xgm": -0.5 * wide(y)})
        groups = 2
        sums = np.zeros(groups, f32)
        of_group = lambda v: np.stack([v[g * 64 + np.add.outer(np.arange(0, up(n, 128) * 128, 128), np.arange(64)).reshape(-1)].sum() for g in range(groups)])
        pad = lambda v: np.concatenate([wide(v), np.zeros(512)])
        yield case("xdot, %d" % n, level1("xdot"), "Xdot", (64,), (groups,), {"n": n, "x_offset": 0, "x_inc": 1, "y_offset": 0, "y_inc": 1, "do_conjugate": 0}, {"xgm": x[:n], "ygm": y, "output": sums},
                   {"output": of_group(pad(wide(x[:n]) * y))}, rtol=1e-4, atol=1e-4)
        yield case("xasum, %d" % n, level1("xasum"), "Xasum", (64,), (groups,), {"n": n, "x_offset": 0, "x_inc": 1}, {"xgm": y, "output": sums}, {"output": of_group(pad(abs(y)))}, rtol=1e-4, atol=1e-4)
    for m, n in ((64, 64), (77, 41)):
        a, x, y = normal(n, m), normal(n), normal(m) # columns one after another
        yield case("xgemv, %dx%d" % (m, n), ["level2/xgemv", "level2/xgemv_fast"], "Xgemv", (64,), (up(m, 64),),
                   {"m": m, "n": n, "arg_alpha": 1.5, "arg_beta": 0.75, "a_rotated": 0, "a_offset": 0, "a_ld": m, "x_offset": 0, "x_inc": 1, "y_offset": 0, "y_inc": 1, "do_conjugate": 0, "parameter": 0, "kl": 0,
                    "ku": 0}, {"agm": a, "xgm": x, "ygm": y}, {"ygm": 1.5 * (x @ wide(a)) + 0.75 * y}, rtol=1e-4, atol=1e-4)
        yield case("xger, %dx%d" % (m, n), ["level2/level2", "level2/xger"], "Xger", (8, 8), (up(m, 8), up(n, 8)),
                   {"max1": m, "max2": n, "arg_alpha": 1.5, "x_offset": 0, "x_inc": 1, "y_offset": 0, "y_inc": 1, "a_offset": 0, "a_ld": m, "is_rowmajor": 0}, {"xgm": y, "ygm": x, "agm": a},
                   {"agm": wide(a) + 1.5 * np.outer(x, y)}, rtol=1e-5, atol=1e-5)
        args = {"src_one": m, "src_two": n, "src_ld": m, "src_offset": 0, "dest_offset": 0, "arg_alpha": 2.0, "do_conjugate": 0}
        pads = dict(args, dest_one=m + 3, dest_two=n + 5, dest_ld=m + 3)
        padded = np.pad(2 * wide(a), ((0, 5), (0, 3)))
        yield case("copy with a margin, %dx%d" % (m, n), ["level3/level3", "level3/copy_pad"], "CopyPadMatrix", (8, 8), (up(m + 3, 8), up(n + 5, 8)), pads, {"src": a, "dest": np.zeros(padded.shape, f32)},
                   {"dest": padded})
        turns = dict(args, dest_one=n + 5, dest_two=m + 3, dest_ld=n + 5)
        yield case("transpose with a margin, %dx%d" % (m, n), ["level3/level3", "level3/transpose_pad"], "TransposePadMatrix", (8, 8), (up(n + 5, 8), up(m + 3, 8)), turns,
                   {"src": a, "dest": np.zeros(padded.T.shape, f32)}, {"dest": padded.T})
    for m, n, k in ((32, 24, 16), (64, 40, 24)): # others have barriers where each thread asks for its own place
        a, b, c = normal(k, m), normal(k, n), normal(n, m)
        yield case("xgemm direct, %dx%dx%d" % (m, n, k), ["level3/xgemm_direct_part%d" % i for i in (1, 2, 3)], "XgemmDirectNN", (8, 8), (up(m, 8), up(n, 8)),
                   {"kSizeM": m, "kSizeN": n, "kSizeK": k, "arg_alpha": 1.5, "arg_beta": 0.75, "a_offset": 0, "a_ld": m, "b_offset": 0, "b_ld": n, "c_offset": 0, "c_ld": m, "c_transpose": 0, "a_conjugate": 0,
                    "b_conjugate": 0}, {"agm": a, "bgm": b, "cgm": c}, {"cgm": 1.5 * (wide(b).T @ a) + 0.75 * c}, rtol=1e-4, atol=1e-4)
