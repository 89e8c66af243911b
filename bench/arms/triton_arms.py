"""Some kernels as they are commonly written in Triton, on a CUDA device: arms for `python:bench/arms/triton_arms.py`, recorded in graphs and timed as
PyTorch's are (torch_arms.py)."""
import os
import sys

import triton
import triton.language as tl

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from torch_arms import CLOCK, SHARES, adopt, fetch, measure  # noqa: E402, F401


@triton.jit
def add_tile(a, b, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = at < n
    tl.store(y + at, tl.load(a + at, mask=here) + tl.load(b + at, mask=here), mask=here)


def vec_add(a, b, y):
    add_tile[(triton.cdiv(y.numel(), 1024),)](a, b, y, y.numel(), BLOCK=1024)


@triton.jit
def exp_tile(a, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = at < n
    tl.store(y + at, tl.exp(tl.load(a + at, mask=here)), mask=here)


def vec_exp(a, y):
    exp_tile[(triton.cdiv(y.numel(), 1024),)](a, y, y.numel(), BLOCK=1024)


@triton.jit
def softmax_row(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row + c, mask=c < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row + c, e / tl.sum(e, 0), mask=c < columns)


def softmax(x, y):
    block = triton.next_power_of_2(x.shape[1])
    softmax_row[(x.shape[0],)](x, y, x.shape[1], BLOCK=block, num_warps=8 if block >= 2048 else 4)


@triton.jit
def rms_norm_row(x, w, y, rstd, eps, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    here = c < columns
    v = tl.load(x + row * columns + c, mask=here, other=0.0)
    r = 1 / tl.sqrt(tl.sum(v * v, 0) / columns + eps)
    tl.store(rstd + row, r)
    tl.store(y + row * columns + c, v * r * tl.load(w + c, mask=here), mask=here)


def rms_norm(x, w, eps, y, rstd):
    block = triton.next_power_of_2(x.shape[1])
    rms_norm_row[(x.shape[0],)](x, w, y, rstd, eps, x.shape[1], BLOCK=block, num_warps=8 if block >= 2048 else 4)


@triton.jit
def rows_of_product(x, w, b, y, n, k, HAS_BIAS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    there = rows < n
    acc = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for start in range(0, k, BLOCK):
        at = start + tl.arange(0, BLOCK)
        weights = tl.load(w + rows[:, None].to(tl.int64) * k + at[None, :], mask=there[:, None] & (at < k)[None, :], other=0.0)
        acc += weights.to(tl.float32) * tl.load(x + at, mask=at < k, other=0.0).to(tl.float32)[None, :]
    total = tl.sum(acc, 1)
    if HAS_BIAS:
        total += tl.load(b + rows, mask=there, other=0.0)
    tl.store(y + rows, total, mask=there)


def matrix_vector(x, w, y, b=None):
    rows_of_product[(triton.cdiv(w.shape[0], 4),)](x, w, x if b is None else b, y, w.shape[0], w.shape[1], HAS_BIAS=b is not None,
                                                   ROWS=4, BLOCK=512, num_warps=4)


def o_proj(x, w, y):
    matrix_vector(x, w, y)


down_proj = lm_head = o_proj


def q_proj(x, w, b, y):
    matrix_vector(x, w, y, b)


k_proj = v_proj = q_proj


@triton.jit
def product_tile(a, b, c, m, n, k, am, ak, bk, bn, PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        left = tl.load(a + i[:, None] * am + p[None, :] * ak, mask=(i < m)[:, None] & (p < k)[None, :], other=0.0)
        right = tl.load(b + p[:, None] * bk + j[None, :] * bn, mask=(p < k)[:, None] & (j < n)[None, :], other=0.0)
        acc = tl.dot(left, right, acc, input_precision=PRECISION)
    tl.store(c + i[:, None] * n + j[None, :], acc, mask=(i < m)[:, None] & (j < n)[None, :])


def product(a, b, c):
    m, n = c.shape
    narrow = a.element_size() < 4
    bm, bn, bk = (128, 128, 64) if narrow else (64, 64, 16)
    product_tile[(triton.cdiv(m, bm), triton.cdiv(n, bn))](a, b, c, m, n, a.shape[1], *a.stride(), *b.stride(), PRECISION="ieee",
                                                           BM=bm, BN=bn, BK=bk, num_warps=8 if narrow else 4, num_stages=3)


def matmul(a, b, c):
    product(a, b, c)


matmul_f32 = matmul


def gemm(a, w, c):
    product(a, w.t(), c)


gemm_f32 = gemm
