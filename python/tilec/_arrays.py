"""From NumPy arrays and DLPack tensors to what the library binds, and memory for results.

Inputs that are not row-major, or not aligned, are copied; results and updated arrays never are, for the caller's array would not change.
Element types are never converted."""
import ctypes
import sys
from ctypes import c_int64

import numpy as np

from . import _dlpack
from ._errors import Error
from ._library import TYPES, LibraryArray, lib

try:
    import ml_dtypes
except Exception:  # missing, or of a version that does not fit this NumPy
    ml_dtypes = None

# The NumPy type of each element type; for those NumPy lacks, of the words they are stored in.
WORDS = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "u32": np.uint32,
         "bool": np.bool_, "e4m3": np.uint8, "e5m2": np.uint8, "q8_0": np.uint8, "q4_0": np.uint8,
         "mxfp4": np.uint8}
EXTENSIONS = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
NUMBERS = {name: number for number, name in enumerate(TYPES)}  # tilec_type
EXTENTS = [c_int64 * max(rank, 1) for rank in range(9)]
BLOCKS = {"q8_0": (32, 34), "q4_0": (32, 18), "mxfp4": (32, 17)}  # elements, bytes


class Array:
    """A result whose element type NumPy lacks (bf16, e4m3, e5m2), where the ml_dtypes package is missing: words, and what they mean.

    Any library with DLPack takes it without a copy: torch.from_dlpack(y)."""

    def __init__(self, type, words):
        self.type = type
        self.words = words  # NumPy array of uint16 or uint8
        self.shape = words.shape

    def __dlpack_device__(self):
        return (_dlpack.CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        words = self.words.copy() if copy else self.words
        return _dlpack.export(words, self.type, words.ctypes.data, words.shape)

    def to_float32(self):
        """The values, exactly, as a NumPy array."""
        if self.type == "bf16":
            return (self.words.astype(np.uint32) << 16).view(np.float32)
        w = self.words.astype(np.int32)
        exponent_bits, mantissa_bits, bias = (4, 3, 7) if self.type == "e4m3" else (5, 2, 15)
        exponent = (w >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = w & ((1 << mantissa_bits) - 1)
        value = np.ldexp(np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa).astype(np.float32),
                         np.maximum(exponent, 1) - bias - mantissa_bits)
        if self.type == "e4m3":
            value = np.where((w & 0x7F) == 0x7F, np.float32(np.nan), value)
        else:
            value = np.where(exponent == 31, np.where(mantissa > 0, np.float32(np.nan), np.float32(np.inf)), value)
        return np.where(w & 0x80, -value, value).astype(np.float32)

    def __repr__(self):
        return f"tilec.Array({self.type}, {self.to_float32()!r})"


class Bound:
    """One array as the library takes it, and what must live as long as it is bound."""

    __slots__ = ("type", "shape", "data", "keep", "released", "on_device")

    def __init__(self, type, shape, data, keep, released=None, on_device=False):
        self.type, self.shape, self.data, self.keep, self.released, self.on_device = type, shape, data, keep, released, on_device

    def bind(self, call, name):
        """False when the library refuses it."""
        rank = len(self.shape)
        extents = (EXTENTS[rank] if rank < len(EXTENTS) else c_int64 * rank)(*self.shape)
        if self.on_device:
            array = LibraryArray(type=NUMBERS[self.type], rank=rank, shape=extents, data=self.data, memory=1)
            return lib.tilec_bind(call, name, array)
        return lib.tilec_bind_array(call, name, NUMBERS[self.type], rank, extents, self.data)

    def release(self):
        if self.released is not None:
            self.released.release()
            self.released = None


def address(x):
    return x.__array_interface__["data"][0]  # several times as fast as x.ctypes.data


def refuse(argument, message, *notes):
    raise Error("E0667", f"argument `{argument.name}` {message}", argument.file, argument.line, argument.column, notes=notes)


def _type_of_numpy(argument, dtype):
    """The name under which the library takes this NumPy type for the argument; None when it does not."""
    declared = argument.type
    if declared in EXTENSIONS and dtype.name == EXTENSIONS[declared]:
        return declared
    if argument.index_bound is not None:  # index words of either sign
        return "i32" if dtype == np.int32 else "u32" if dtype == np.uint32 else None
    if dtype != WORDS[declared]:
        return None
    return "u8" if declared in BLOCKS else declared


def _from_numpy(argument, x, written):
    if isinstance(x, np.ma.MaskedArray):
        refuse(argument, "is a masked array, and kernels know no masks")
    if not x.dtype.isnative:
        refuse(argument, "has the other byte order", f"x.astype(x.dtype.newbyteorder('=')) has this machine's")
    type_name = _type_of_numpy(argument, x.dtype)
    if type_name is None:
        wanted = np.dtype(WORDS[argument.type]).name if argument.index_bound is None else "int32"
        words = f" (or its words, {wanted})" if argument.type in EXTENSIONS else f" as bytes, {wanted}" if argument.type in BLOCKS else ""
        declared = "an index array" if argument.index_bound is not None else argument.type
        refuse(argument, f"is {x.dtype.name}, but {declared} is declared{words}",
               f"nothing is converted silently: x.astype(np.{wanted}) says that rounding is meant" if not words else
               "nothing is converted silently")
    good = x.flags.c_contiguous and x.flags.aligned
    if written:
        if not x.flags.writeable:
            refuse(argument, "is written, but the array given is read-only")
        if not good:
            refuse(argument, "is written, but the array given is not row-major without gaps", "np.ascontiguousarray(x) is a copy that is")
    elif not good:
        x = np.array(x, order="C")  # aligned, unlike np.ascontiguousarray of what is contiguous already
    return Bound(type_name, x.shape, address(x), x)


def _from_dlpack(argument, x, written, device):
    try:
        tensor = _dlpack.Import(x, device.partition(":")[0] == "cuda")
    except BufferError as e:
        refuse(argument, f"cannot be had through DLPack: {e}")
    try:
        on_device = tensor.device[0] == _dlpack.CUDA and device.partition(":")[0] == "cuda"
        if tensor.device[0] not in (_dlpack.CPU, _dlpack.PINNED) and not on_device:
            refuse(argument, f"lies in memory of a device (DLPack device {tensor.device[0]}), not of the CPU", "copy it to the CPU first")
        declared = argument.type
        fits = {declared}
        if argument.index_bound is not None:
            fits = {"i32", "u32"}
        elif declared in BLOCKS:
            fits = {"u8"}
        elif declared in EXTENSIONS:
            fits.add("u16" if declared == "bf16" else "u8")
        if tensor.type not in fits:
            refuse(argument, f"is {tensor.described}, but {declared} is declared", "nothing is converted silently")
        if written and tensor.read_only:
            refuse(argument, "is written, but the array given is read-only")
        type_name = tensor.type if tensor.type in TYPES and declared not in EXTENSIONS else declared
        size, next_stride, dense = tensor.item_bytes, 1, True
        for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
            dense = dense and (extent == 1 or stride == next_stride)
            next_stride *= extent
        aligned = tensor.data % size == 0
        if next_stride == 0 or (dense and aligned):
            return Bound(type_name, tensor.shape, tensor.data, x, tensor, on_device)
        if on_device:
            refuse(argument, "is not row-major without gaps", "x.contiguous() is a copy that is")
        if written:
            refuse(argument, "is written, but the array given is not row-major without gaps")
        extent_bytes = size + sum((n - 1) * s * size for n, s in zip(tensor.shape, tensor.strides))
        words = np.ndarray(tensor.shape, f"V{size}", (ctypes.c_char * extent_bytes).from_address(tensor.data),
                           strides=[s * size for s in tensor.strides])
        copy = np.array(words, order="C")
        tensor.release()
        return Bound(type_name, copy.shape, address(copy), copy)
    except BaseException:
        tensor.release()
        raise


def take(argument, x, written, device="cpu"):
    """What the library binds for `x`; `written`: the kernel writes it; tensors of a CUDA device are taken where they are when the kernel's `device`
    is one. Raises Error when it cannot be."""
    if isinstance(x, np.ndarray):
        return _from_numpy(argument, x, written)
    if isinstance(x, Array):
        if x.type != argument.type:
            refuse(argument, f"is {x.type}, but {argument.type} is declared")
        bound = _from_numpy(argument, x.words, written)
        return bound
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _from_dlpack(argument, x, written, device)
    refuse(argument, f"is a Python {type(x).__name__}, not an array",
           f"np.array(x, np.{np.dtype(WORDS[argument.type]).name}) makes one")


TORCH = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i32": "int32", "u32": "uint32", "bool": "bool",
         "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def _empty_beside(argument, shape, values, device):
    """A tensor of PyTorch's on the device of the first one given; None when none is given there."""
    torch = sys.modules.get("torch")
    beside = [x for x in values if torch is not None and isinstance(x, torch.Tensor) and x.is_cuda]
    if not beside or argument.type not in TORCH:
        return None
    tensor = torch.empty(shape, dtype=getattr(torch, TORCH[argument.type]), device=beside[0].device)
    return tensor, take(argument, tensor, True, device)


def empty(argument, shape, values=(), device="cpu"):
    """Memory for a result: (what the caller gets, what the library binds). Beside tensors on a device (`values`: all that was given), a tensor there."""
    there = _empty_beside(argument, shape, values, device)
    if there is not None:
        return there
    type_name = argument.type
    if type_name in BLOCKS:
        elements, size = BLOCKS[type_name]
        words = np.empty((*shape[:-1], shape[-1] // elements * size), np.uint8)
        return words, Bound("u8", words.shape, address(words), words)
    words = np.empty(shape, WORDS[type_name])
    bound = Bound(type_name, words.shape, address(words), words)
    if type_name in EXTENSIONS:
        return (words.view(getattr(ml_dtypes, EXTENSIONS[type_name])) if ml_dtypes else Array(type_name, words)), bound
    return words, bound
