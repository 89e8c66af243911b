"""The same as a Python callable: it is given NumPy arrays by the kernel's names and fills the output."""
import numpy as np


def vec_add(a, b, y):
    np.add(a, b, out=y)
