"""NumPy's way of doing what some kernels mean: arms for `python:bench/arms/numpy_arms.py`. Each function is called with the kernel's arrays and
scalars by name, and fills the outputs it is given."""
import numpy as np


def vec_add(a, b, y):
    np.add(a, b, out=y)


def vec_mul(a, b, y):
    np.multiply(a, b, out=y)


def vec_exp(a, y):
    np.exp(a, out=y)


def residual_add(x, h):
    np.add(h, x, out=h)


def matmul_f32(a, b, c):
    np.matmul(a, b, out=c)


def gemm_f32(a, w, c):
    np.matmul(a, w.T, out=c)


def proj_f32(x, w, y):
    np.matmul(w, x, out=y)


def softmax(x, y):
    np.subtract(x, x.max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)


def rms_norm(x, w, eps, y, rstd):
    np.divide(1, np.sqrt(np.mean(np.square(x), axis=1) + np.float32(eps)), out=rstd)
    np.multiply(x, rstd[:, None], out=y)
    y *= w


def layer_norm(x, w, b, eps, y):
    np.subtract(x, x.mean(axis=1, keepdims=True), out=y)
    y /= np.sqrt(np.mean(np.square(y), axis=1, keepdims=True) + np.float32(eps))
    y *= w
    y += b
