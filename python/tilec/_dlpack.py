"""DLPack, the exchange of arrays between libraries without copies, for memory of the CPU and, coming in, of CUDA devices (legacy and versioned capsules)."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

CPU, CUDA, PINNED = 1, 2, 3  # DLDeviceType; the CPU reads the first and the last
READ_ONLY = 1       # flag of a versioned tensor

# (DLDataTypeCode, bits) of the element types
CODES = {(2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 8): "i8", (1, 8): "u8", (0, 32): "i32", (1, 32): "u32", (6, 8): "bool",
         (10, 8): "e4m3", (12, 8): "e5m2", (1, 16): "u16", (0, 16): "i16", (0, 64): "i64", (1, 64): "u64", (2, 64): "f64"}
NAMES = {name: code for code, name in CODES.items()}

Deleter = CFUNCTYPE(None, c_void_p)


class DataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("rank", c_int32), ("dtype", DataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Managed(Structure):
    _fields_ = [("tensor", Tensor), ("manager", c_void_p), ("deleter", c_void_p)]


class ManagedVersioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager", c_void_p), ("deleter", c_void_p), ("flags", c_uint64), ("tensor", Tensor)]


def _api(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


# Capsules are passed by address too, for a destructor is given one that no longer counts as an object.
_is_valid = _api("PyCapsule_IsValid", c_int, ctypes.py_object, c_char_p)
_pointer = _api("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_set_name = _api("PyCapsule_SetName", c_int, ctypes.py_object, c_char_p)
_capsule_destructor = PYFUNCTYPE(None, c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, _capsule_destructor)(("PyCapsule_New", ctypes.pythonapi))
_is_valid_at = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_at = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

# Capsules keep a pointer to their name: these live as long as the module.
_NAME, _USED, _NAME_VERSIONED, _USED_VERSIONED = (ctypes.create_string_buffer(n) for n in (
    b"dltensor", b"used_dltensor", b"dltensor_versioned", b"used_dltensor_versioned"))


class Import:
    """An array of another library, held until release(); one elsewhere than asked for tells its device alone."""

    def __init__(self, producer, cuda=False):
        device = producer.__dlpack_device__()
        self.device = (int(device[0]), int(device[1]))
        self._deleter = None
        if self.device[0] not in ((CPU, PINNED, CUDA) if cuda else (CPU, PINNED)):
            return
        # 1: CUDA's default stream, with which kernels' launches are in order; the producer sees to it that the data are there by then.
        on = {"stream": 1} if self.device[0] == CUDA else {}
        try:
            capsule = producer.__dlpack__(max_version=(1, 0), **on)
        except TypeError:  # before the array API of 2023
            capsule = producer.__dlpack__(**on)
        if _is_valid(capsule, _NAME_VERSIONED):
            address = _pointer(capsule, _NAME_VERSIONED)
            managed = ManagedVersioned.from_address(address)
            if managed.major != 1:
                raise BufferError(f"DLPack of version {managed.major}.{managed.minor} is not known")
            self.read_only = bool(managed.flags & READ_ONLY)
            used = _USED_VERSIONED
        elif _is_valid(capsule, _NAME):
            address = _pointer(capsule, _NAME)
            managed = Managed.from_address(address)
            self.read_only = False  # a legacy tensor cannot say
            used = _USED
        else:
            raise BufferError("__dlpack__ gave no DLPack capsule")
        _set_name(capsule, used)  # from here on the memory is ours to give back
        self._address = address
        self._deleter = managed.deleter
        t = managed.tensor
        self.type = CODES.get((t.dtype.code, t.dtype.bits)) if t.dtype.lanes == 1 else None
        self.described = self.type or f"DLPack type ({t.dtype.code}, {t.dtype.bits} bits, {t.dtype.lanes} lanes)"
        self.item_bytes = (t.dtype.bits * t.dtype.lanes + 7) // 8
        self.shape = tuple(t.shape[d] for d in range(t.rank))
        self.data = (t.data or 0) + t.byte_offset
        if t.strides:
            self.strides = tuple(t.strides[d] for d in range(t.rank))
        else:
            strides, next_stride = [], 1
            for extent in reversed(self.shape):
                strides.append(next_stride)
                next_stride *= extent
            self.strides = tuple(reversed(strides))

    def release(self):
        if self._deleter:
            deleter, self._deleter = Deleter(self._deleter), None
            deleter(self._address)

    __del__ = release


_exported = {}  # address of each tensor that another library holds: what keeps it alive


@Deleter
def _forget(address):
    _exported.pop(address, None)


@_capsule_destructor
def _drop_capsule(capsule):
    if _is_valid_at(capsule, _NAME):  # nobody took it
        _forget(_pointer_at(capsule, _NAME))


def export(owner, type_name, address, shape):
    """A legacy capsule over row-major memory of `owner`, which lives as long as somebody holds the capsule's tensor."""
    managed = Managed()
    extents = (c_int64 * max(len(shape), 1))(*shape)
    t = managed.tensor
    t.data, t.device_type, t.device_id, t.rank = address, CPU, 0, len(shape)
    t.dtype.code, t.dtype.bits = NAMES[type_name]
    t.dtype.lanes = 1
    t.shape = ctypes.cast(extents, POINTER(c_int64))
    t.strides = None
    managed.deleter = ctypes.cast(_forget, c_void_p)
    where = ctypes.addressof(managed)
    _exported[where] = (managed, extents, owner)
    return _new(where, _NAME, _drop_capsule)
