"""llama.cpp's Metal kernels: launches as its host program (ggml-metal-ops.cpp) makes them, references from the mathematics."""
import os, re
import numpy as np

SIZES = {"int": 4, "uint": 4, "short": 2, "int32_t": 4, "uint32_t": 4, "float": 4, "uint64_t": 8, "int64_t": 8, "size_t": 8, "int16_t": 2, "uint16_t": 2, "bool": 1, "int8_t": 1, "uint8_t": 1}
f16, f32, i32 = np.float16, np.float32, np.int32
rng = np.random.default_rng(5)


def structs(folder):
    """name -> field -> (offset, type) of the structs of arguments, laid out as C does."""
    path, out = os.path.join(folder, "ggml-metal-impl.h"), {}
    text = re.sub(r"//[^\n]*", "", open(path).read()) if os.path.exists(path) else ""
    for body, name in re.findall(r"typedef struct\s*\{([^}]*)\}\s*(\w+);", text):
        at, fields = 0, {}
        for kind, field, count in re.findall(r"(\w+)\s+(\w+)\s*(?:\[(\d+)\])?;", body):
            size = SIZES[kind]
            at = (at + size - 1) // size * size
            for i in range(int(count or 1)):
                fields[field + ("[%d]" % i if count else "")] = (at, kind)
                at += size
        out[name] = fields
    return out


def normal(*shape):
    return rng.standard_normal(shape).astype(f32)


class Suite:
    def __init__(self, folder):
        self.folder, self.structs, self.list = folder, structs(folder), []

    def add(self, name, kernel, struct, fields, block, grid, arrays, want, constants=(), shared=None, **more):
        """fields: of the struct that the kernel reads, by name; others are not said."""
        layout, values = self.structs.get("ggml_metal_kargs_" + struct, {}), {}
        for field, value in fields.items():
            if field in layout:
                offset, kind = layout[field]
                values["args_%d" % offset] = float(value) if kind == "float" else int(value)
        contract = ["%s=%d" % s for s in (shared or {}).items()]
        self.list.append(dict(name=name, file=os.path.join(self.folder, "ggml-metal.metal"), kernel=kernel, block=block, grid=grid, values=values, arrays=arrays,
                              want=want, constant=["%s=%s" % c for c in constants], contract=contract + more.pop("contract", []), **more))


def strides(prefix, suffix, shape, size):
    """nb fields of a contiguous tensor; shape with ggml's first dimension (the fastest) first."""
    out, step = {}, size
    for d in range(4):
        out["%s%s%d" % (prefix, suffix, d)] = step
        step *= shape[d] if d < len(shape) else 1
    return out


def tensor(which, shape, size):
    """ne and nb of a tensor: which is "0" for src0, "1" for src1, "" for dst."""
    full = list(shape) + [1] * (4 - len(shape))
    out = {"ne%s%d" % (which, d): full[d] for d in range(4)}
    out.update(strides("nb", which, full, size))
    return out


def power_of_two(least, until):
    n = 32
    while until(n):
        n *= 2
    return max(n, least)


def unary(s):
    gelu = lambda x: 0.5 * x * (1 + np.tanh(0.79788456080286535588 * x * (1 + 0.044715 * x * x)))
    ops = {"gelu": (109, gelu), "silu": (111, lambda x: x / (1 + np.exp(-x)))}
    text = open(os.path.join(s.folder, "ggml-metal-impl.h")).read() if s.structs else ""
    for op, (number, f) in ops.items():
        m = re.search(r"#define OP_UNARY_NUM_%s\s+(\d+)" % op.upper(), text)
        number = int(m.group(1)) if m else number
        for ne0, rows, suffix, element in ((1024, 4, "f32_f32_4", f32), (301, 5, "f32_f32", f32), (7, 3, "f16_f16", f16)):
            x = normal(rows, ne0).astype(element)
            n = x.size // (4 if suffix.endswith("_4") else 1)
            want = f(x.astype(np.float64)).astype(element)
            s.add("%s %s %dx%d" % (op, suffix, rows, ne0), "kernel_unary_" + suffix, "unary", {}, (1,), (n, 1, 1), {"src0": x, "dst": np.zeros_like(x)}, {"dst": want},
                  [("FC_unary_op", number), ("FC_unary_cnt", "true")], rtol=1e-5 if element is f32 else 2e-3, atol=1e-6 if element is f32 else 1e-3)
        ne0, rows = 301, 5
        x = normal(rows, ne0)
        fields = {**tensor("0", (ne0, rows), 4), **tensor("", (ne0, rows), 4)}
        s.add("%s by rows %dx%d" % (op, rows, ne0), "kernel_unary_f32_f32", "unary", fields, (256,), (2 * rows, 1, 1), {"src0": x, "dst": np.zeros_like(x)},
              {"dst": f(x.astype(np.float64)).astype(f32)}, [("FC_unary_op", number), ("FC_unary_cnt", "false")])


def binary(s):
    for op, number, f in (("add", 0, np.add), ("mul", 2, np.multiply)):
        for ne0, rows, suffix in ((256, 6, "_4"), (77, 5, "")):
            x, y = normal(rows, ne0), normal(ne0)
            per = 4 if suffix else 1
            fields = {"ne00": ne0 // per, "ne0": ne0 // per, "ne10": ne0 // per, "o1[0]": 0}
            s.add("%s a row %dx%d%s" % (op, rows, ne0, suffix), "kernel_bin_fuse_f32_f32_f32" + suffix, "bin", fields, (1,), (ne0 // per, rows, 1),
                  {"src0": x, "src1": y, "dst": np.zeros_like(x)}, {"dst": f(x, y)}, [("FC_bin_op", number), ("FC_bin_f", 1), ("FC_bin_rb", "true"), ("FC_bin_cb", "false")])
        ne0, ne1, ne2 = 45, 7, 3
        x, y = normal(ne2, ne1, ne0), normal(ne2, ne1, ne0)
        fields = {**tensor("0", (ne0, ne1, ne2), 4), **tensor("1", (ne0, ne1, ne2), 4), **tensor("", (ne0, ne1, ne2), 4), "offs": 0, "o1[0]": 0}
        s.add("%s %dx%dx%d" % (op, ne2, ne1, ne0), "kernel_bin_fuse_f32_f32_f32", "bin", fields, (32,), (ne1, ne2, 1),
              {"src0": x, "src1": y, "dst": np.zeros_like(x)}, {"dst": f(x, y)}, [("FC_bin_op", number), ("FC_bin_f", 1), ("FC_bin_rb", "false"), ("FC_bin_cb", "false")])


def norms(s):
    eps = 1e-5
    for which in ("rms_norm", "norm"):
        for ne0, rows, suffix in ((1024, 3, "_4"), (100, 5, "_4"), (131, 4, ""), (7, 2, "")):
            per = 4 if suffix else 1
            t = ne0 // per
            nth = min(1024, power_of_two(32, lambda n: n < t), (t + 31) // 32 * 32)
            x = normal(rows, ne0)
            d = x.astype(np.float64)
            if which == "norm":
                d = d - d.mean(1, keepdims=True)
            want = d / np.sqrt((d * d).mean(1, keepdims=True) + eps)
            fields = {"ne00": ne0, "ne00_t": t, "eps": eps, "nb1": 4 * ne0, "nb2": 4 * x.size, "nb3": 4 * x.size, "nef1[0]": rows, "nef2[0]": 1, "nef3[0]": 1,
                      "nbf1[0]": 4 * ne0, "nbf2[0]": 4 * x.size, "nbf3[0]": 4 * x.size}
            for i in (1, 2):
                fields.update({"nef1[%d]" % i: 1, "nef2[%d]" % i: 1, "nef3[%d]" % i: 1, "nbf1[%d]" % i: 4 * ne0, "nbf2[%d]" % i: 4 * ne0, "nbf3[%d]" % i: 4 * ne0})
            s.add("%s %dx%d%s" % (which, rows, ne0, suffix), "kernel_%s_f32%s" % (which, suffix), "norm", fields, (nth,), (rows, 1, 1),
                  {"src0": x, "dst": np.zeros_like(x)}, {"dst": want.astype(f32)}, shared={"shmem_f32": 32}, atol=2e-5)
            if which == "rms_norm" and ne0 in (100, 131):
                w, b = normal(ne0), normal(ne0)
                s.add("%s, weighted, %dx%d%s" % (which, rows, ne0, suffix), "kernel_%s_mul_add_f32%s" % (which, suffix), "norm", fields, (nth,), (rows, 1, 1),
                      {"src0": x, "src1_0": w, "src1_1": b, "dst": np.zeros_like(x)}, {"dst": (want * w + b).astype(f32)}, shared={"shmem_f32": 32}, atol=3e-5)


def soft_max(s):
    for ne0, rows, suffix, mask in ((256, 4, "_4", f16), (100, 5, "_4", f32), (77, 3, "", f32), (20, 6, "", f16)):
        x, scale = normal(rows, ne0) * 3, 0.125
        m = np.where(rng.random((rows, ne0)) < 0.3, -10.0, 0.0).astype(mask)
        sink = np.full(1, -3.0, f32)
        v = scale * x.astype(np.float64) + m
        top = np.maximum(v.max(1, keepdims=True), -3.0)
        e = np.exp(v - top)
        want = e / (e.sum(1, keepdims=True) + np.exp(-3.0 - top))
        fields = {"ne00": ne0, "ne01": rows, "ne02": 1, "nb01": 4 * ne0, "nb02": 4 * x.size, "nb03": 4 * x.size, "ne11": rows, "ne12": 1, "ne13": 1,
                  "nb11": m.itemsize * ne0, "nb12": m.nbytes, "nb13": m.nbytes, "nb1": 4 * ne0, "nb2": 4 * x.size, "nb3": 4 * x.size,
                  "scale": scale, "max_bias": 0.0, "m0": 1.0, "m1": 1.0, "n_head_log2": 1}
        s.add("soft_max %dx%d%s, mask %s" % (rows, ne0, suffix, m.dtype), "kernel_soft_max_%s%s" % ("f16" if mask is f16 else "f32", suffix), "soft_max", fields, (32,),
              (rows, 1, 1), {"src0": x, "src1": m.view(np.uint8), "src2": sink, "dst": np.zeros_like(x)}, {"dst": want.astype(f32)}, shared={"buf": 32}, atol=1e-6)


def mul_mv(s):
    for kind, element in (("f32", f32), ("f16", f16)):
        for ne00, ne01, ne11 in ((128, 6, 1), (260, 5, 2), (67, 3, 1), (20, 40, 3)):
            short, four = ne00 < 32, ne00 % 4 == 0
            suffix = "_short" if short else "_4" if four else ""
            nsg, nr0 = (1, 32) if short else (min(4, (ne00 + 127) // 128), 2)
            whole = (ne01 + nr0 - 1) // nr0 * nr0
            # rows in groups of nr0: the kernels guard the store of the last ones, and read them all the same
            w = normal(ne01 if short else whole, ne00).astype(element)
            x = normal(ne11, ne00)
            want = x.astype(np.float64) @ w[:ne01].astype(np.float64).T
            size = w.itemsize
            fields = {**tensor("0", (ne00, ne01), size), **tensor("1", (ne00, ne11), 4), "ne0": ne01, "ne1": ne11, "nr0": nr0, "r2": 1, "r3": 1}
            s.add("mul_mv %s%s %dx%d, %d" % (kind, suffix, ne01, ne00, ne11), "kernel_mul_mv_%s_f32%s" % (kind, suffix), "mul_mv", fields, (32, nsg),
                  (whole // nr0, ne11, 1), {"src0": w, "src1": x, "dst": np.zeros((ne11, ne01), f32)}, {"dst": want.astype(f32)},
                  [("FC_mul_mv_nsg", nsg), ("FC_mul_mv_nxpsg", 8), ("FC_mul_mv_ne12", 1), ("FC_mul_mv_r2", 1), ("FC_mul_mv_r3", 1)],
                  shared={} if short else {"shmem": 32 * nr0}, atol=2e-4)


def q8_0(w):
    """Blocks of 32: a half, and 32 bytes; and what they stand for."""
    b = w.reshape(-1, 32).astype(np.float64)
    d = (abs(b).max(1, keepdims=True) / 127).astype(f16)
    q = np.rint(b / np.where(d == 0, 1, d)).clip(-127, 127).astype(np.int8)
    raw = np.concatenate([d.view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1)
    return raw, (d.astype(np.float64) * q).reshape(w.shape)


def q4_0(w):
    """Blocks of 32: a half, and 16 bytes whose low halves are the first 16."""
    b = w.reshape(-1, 32).astype(np.float64)
    d = (abs(b).max(1, keepdims=True) / 7).astype(f16)
    q = (np.rint(b / np.where(d == 0, 1, d)) + 8).clip(0, 15).astype(np.uint8)
    raw = np.concatenate([d.view(np.uint8).reshape(-1, 2), q[:, :16] | (q[:, 16:] << 4)], 1)
    return raw, (d.astype(np.float64) * (q.astype(np.float64) - 8)).reshape(w.shape)


def quantised(s):
    text = open(os.path.join(s.folder, "ggml-metal-impl.h")).read() if s.structs else ""
    for kind, pack, size in (("q8_0", q8_0, 34), ("q4_0", q4_0, 18)):
        number = lambda what: int(re.search(r"#define N_%s_%s (\d+)" % (what, kind.upper()), text).group(1)) if text else 4
        nsg, nr0 = number("SG"), number("R0")
        for ne00, ne01, ne11 in ((256, 8, 1), (96, 5, 2)):
            by = nr0 if kind == "q8_0" else nr0 * nsg
            whole = (ne01 + by - 1) // by * by
            raw, w = pack(normal(whole, ne00))
            x = normal(ne11, ne00)
            want = x.astype(np.float64) @ w[:ne01].T
            fields = {"ne00": ne00, "ne01": ne01, "ne02": 1, "nb00": size, "nb01": ne00 // 32 * size, "nb02": whole * ne00 // 32 * size, "nb03": whole * ne00 // 32 * size,
                      **tensor("1", (ne00, ne11), 4), "ne0": ne01, "ne1": ne11, "nr0": nr0, "r2": 1, "r3": 1}
            s.add("mul_mv %s %dx%d, %d" % (kind, ne01, ne00, ne11), "kernel_mul_mv_%s_f32" % kind, "mul_mv", fields, (32, nsg), (whole // by, ne11, 1),
                  {"src0": raw, "src1": x, "dst": np.zeros((ne11, ne01), f32)}, {"dst": want.astype(f32)},
                  [("FC_mul_mv_nsg", nsg), ("FC_mul_mv_nxpsg", 8), ("FC_mul_mv_ne12", 1), ("FC_mul_mv_r2", 1), ("FC_mul_mv_r3", 1)],
                  shared={"shmem": 32 * nr0} if kind == "q8_0" else {}, atol=2e-4)


def mul_mm(s):
    for m, n, k in ((64, 32, 64), (70, 37, 96), (65, 5, 72)):
        w, x = normal(m, k).astype(f16), normal(n, k)
        want = x.astype(f16).astype(np.float64) @ w.astype(np.float64).T
        fields = {"ne00": k, "ne02": 1, "nb01": 2 * k, "nb02": w.nbytes, "nb03": w.nbytes, "ne12": 1, "nb10": 4, "nb11": 4 * k, "nb12": x.nbytes, "nb13": x.nbytes,
                  "ne0": m, "ne1": n, "r2": 1, "r3": 1}
        bc_in, bc_out = k % 32 != 0, m % 64 != 0 or n % 32 != 0
        s.add("mul_mm f16 %dx%dx%d" % (m, n, k), "kernel_mul_mm_f16_f32", "mul_mm", fields, (128,), ((n + 31) // 32, (m + 63) // 64, 1),
              {"src0": w, "src1": x, "dst": np.zeros((n, m), f32).view(np.uint8)}, {"dst": want.astype(f32)},
              [("FC_mul_mm_bc_inp", str(bc_in).lower()), ("FC_mul_mm_bc_out", str(bc_out).lower()), ("FC_mul_mm_ne12", 1), ("FC_mul_mm_ne13", 1), ("FC_mul_mm_r2", 1),
               ("FC_mul_mm_r3", 1)], shared={"shmem": 8192 if bc_out else 6144}, rtol=1e-4, atol=1e-2)


def rope(s):
    for kind, element in (("norm", f32), ("neox", f32), ("norm", f16)):
        for ne0, heads, positions, dims in ((64, 3, 5, 64), (20, 2, 3, 12)):
            x = normal(positions, heads, ne0).astype(element)
            pos = rng.integers(0, 40, positions).astype(i32)
            base, half = 10000.0, dims // 2
            theta = pos[:, None].astype(np.float64) * base ** (-2.0 * np.arange(half) / dims)
            c, q = np.cos(theta)[:, None, :], np.sin(theta)[:, None, :]
            want, d = x.astype(np.float64), x.astype(np.float64)
            first, second = (slice(0, dims, 2), slice(1, dims, 2)) if kind == "norm" else (slice(0, half), slice(half, dims))
            want[..., first], want[..., second] = d[..., first] * c - d[..., second] * q, d[..., first] * q + d[..., second] * c
            fields = {**tensor("0", (ne0, heads, positions), x.itemsize), **tensor("", (ne0, heads, positions), x.itemsize), "n_past": 0, "n_dims": dims, "n_offs": 0,
                      "n_ctx_orig": 4096, "freq_base": base, "freq_scale": 1.0, "ext_factor": 0.0, "attn_factor": 1.0, "beta_fast": 32.0, "beta_slow": 1.0,
                      "sect_0": 0, "sect_1": 0, "sect_2": 0, "sect_3": 0, "src2": 0, "inplace": 0}
            s.add("rope %s %s %dx%dx%d, %d" % (kind, x.dtype, positions, heads, ne0, dims), "kernel_rope_%s_%s" % (kind, "f16" if element is f16 else "f32"), "rope", fields,
                  (min(1024, ne0),), (heads, positions, 1), {"src0": x, "src1": pos, "dst": np.zeros_like(x)},
                  {"dst": want.astype(element)}, [("FC_rope_is_imrope", "false"), ("FC_rope_is_back", "false")], rtol=2e-3 if element is f16 else 1e-4,
                  atol=2e-3 if element is f16 else 2e-4)


def moves(s):
    for kind, element, to in (("f32", f32, f32), ("f16", f16, f32)):
        for ne00, rows, take in ((64, 10, 4), (33, 7, 9)):
            table, which = normal(rows, ne00).astype(element), rng.integers(0, rows, take).astype(i32)
            fields = {"ne00t": ne00, "ne00": ne00, "nb01": table.itemsize * ne00, "nb02": table.nbytes, "nb03": table.nbytes, "ne10": take, "nb10": 4, "nb11": 4 * take,
                      "nb12": 4 * take, "nb1": 4 * ne00, "nb2": 4 * ne00 * take, "nb3": 4 * ne00 * take}
            s.add("get_rows %s %d of %dx%d" % (kind, take, rows, ne00), "kernel_get_rows_" + kind, "get_rows", fields, (ne00,), (take, 1, 1),
                  {"src0": table, "src1": which, "dst": np.zeros((take, ne00), f32)}, {"dst": table[which].astype(to)}, contract=["src1=i32[%d] below %d" % (take, rows)])
    for source, target in (("f32", "f16"), ("f32", "f32"), ("f16", "f32")):
        of = {"f32": f32, "f16": f16}
        for ne00, ne01 in ((128, 6), (37, 5)):
            x = normal(ne01, ne00).astype(of[source])
            fields = {"nk0": ne00, **tensor("0", (ne00, ne01), x.itemsize), **tensor("", (ne00, ne01), of[target](0).itemsize)}
            nth = min(ne00 * ne01, 256)
            nrptg = 1
            if nth > ne00:
                nrptg, nth = (nth + ne00 - 1) // ne00, ne00
                nrptg -= nrptg * nth > 256
            s.add("cpy %s to %s %dx%d" % (source, target, ne01, ne00), "kernel_cpy_%s_%s" % (source, target), "cpy", fields, (nth, nrptg), ((ne01 + nrptg - 1) // nrptg, 1, 1),
                  {"src0": x, "dst": np.zeros((ne01, ne00), of[target])}, {"dst": x.astype(of[target])})
    for ne00, rows in ((100, 3), (1000, 2), (20, 5)):
        x = normal(rows, ne00)
        nth = 32
        while nth < ne00 and nth * rows < 256:
            nth *= 2
        s.add("argmax %dx%d" % (rows, ne00), "kernel_argmax_f32", "argmax", {"ne00": ne00, "nb01": 4 * ne00}, (nth,), (rows, 1, 1),
              {"src0": x, "dst": np.zeros(rows, i32)}, {"dst": x.argmax(1).astype(i32)}, shared={"shmem": 64})


def cases(folder):
    s = Suite(folder)
    for part in (unary, binary, norms, soft_max, mul_mv, quantised, mul_mm, rope, moves):
        part(s)
    return s.list
