"""PyTorch's way of doing what some kernels mean, on a CUDA device: arms for `python:bench/arms/torch_arms.py`. Launches are captured in a graph
and replayed between two events of the device, as ours are."""
import numpy
import torch
import torch.nn.functional as F

CLOCK = "device, around recorded launches"
SHARES = False
MOST_RECORDED = 512
kept = {"key": None, "graph": None}


def adopt(name, array):
    if array.dtype == numpy.uint32:  # PyTorch's own indices are of 64 bits; the conversion is outside the time
        array = array.astype(numpy.int64)
    return torch.from_numpy(array).cuda()


def fetch(name, tensor, array):
    array[...] = tensor.cpu().numpy().reshape(array.shape).astype(array.dtype)


def record(function, recorded, scalars):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries make their workspaces before they are recorded
        function(**recorded[0], **scalars)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for arrays in recorded:
            function(**arrays, **scalars)
    return graph


def measure(function, calls, scalars):
    recorded = calls[:MOST_RECORDED]
    key = (function, tuple(t.data_ptr() for arrays in recorded for t in arrays.values()))
    if kept["key"] != key:
        kept.update(key=key, graph=None)  # its memory first
        kept["graph"] = record(function, recorded, scalars)
    graph = kept["graph"]
    graph.replay()  # the first brings it to the device
    torch.cuda.synchronize()
    times = (len(calls) + len(recorded) - 1) // len(recorded)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(times):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e6 * len(calls) / (times * len(recorded))


def vec_add(a, b, y):
    torch.add(a, b, out=y)


def vec_mul(a, b, y):
    torch.mul(a, b, out=y)


def vec_exp(a, y):
    torch.exp(a, out=y)


def argmax(x, i):
    torch.argmax(x, 0, keepdim=True, out=i)


def transpose(x, y):
    y.copy_(x.t())


def softmax(x, y):
    torch.softmax(x, 1, out=y)


def rms_norm(x, w, eps, y, rstd):
    torch.rsqrt(x.square().mean(1) + eps, out=rstd)
    torch.mul(x * rstd[:, None], w, out=y)


def layer_norm(x, w, b, eps, y):
    y.copy_(F.layer_norm(x, (x.shape[1],), w, b, eps))


def matrix_vector(x, w, y):
    if y.dtype == w.dtype:
        torch.mv(w, x, out=y)
    else:  # f16 operands, the sum kept in f32: what our kernel means
        torch.mm(x[None], w.t(), out_dtype=y.dtype, out=y[None])


def proj_f32(x, w, y):
    matrix_vector(x, w, y)


def o_proj(x, w, y):
    matrix_vector(x, w, y)


def down_proj(x, w, y):
    matrix_vector(x, w, y)


def lm_head(x, w, y):
    matrix_vector(x, w, y)


def q_proj(x, w, b, y):
    matrix_vector(x, w, y)
    y.add_(b)


k_proj = v_proj = q_proj


def gate_up_silu(x, wg, wu, y):
    g, u = (torch.empty(y.shape, dtype=torch.float32, device=y.device) for _ in "gu")
    matrix_vector(x, wg, g)
    matrix_vector(x, wu, u)
    y.copy_(F.silu(g) * u)


def attn_gqa(q, k, v, len, scale, o):
    heads, keys = k.shape[1], slice(0, len)
    queries = q.reshape(1, q.shape[0] * (q.shape[1] if q.dim() > 2 else 1), 1, q.shape[-1])
    out = F.scaled_dot_product_attention(queries, k[keys].permute(1, 0, 2)[None], v[keys].permute(1, 0, 2)[None], scale=scale,
                                         enable_gqa=queries.shape[1] != heads)
    o.copy_(out.reshape(o.shape))


def flash_causal(q, k, v, scale, o):
    queries = q.reshape(q.shape[0], q.shape[1], -1, q.shape[-1]).transpose(1, 2)
    keys, values = k.transpose(1, 2), v.transpose(1, 2)
    out = F.scaled_dot_product_attention(queries, keys, values, is_causal=True, scale=scale,
                                         enable_gqa=queries.shape[1] != keys.shape[1])
    o.copy_(out.transpose(1, 2).reshape(o.shape))


def product(a, b, c):
    if a.dtype == c.dtype:
        torch.mm(a, b, out=c)
    else:  # f16 operands, the sum kept in f32
        torch.mm(a, b, out_dtype=c.dtype, out=c)


def matmul(a, b, c):
    product(a, b, c)


matmul_f32 = matmul


def gemm(a, w, c):
    product(a, w.t(), c)


gemm_f32 = gemm
