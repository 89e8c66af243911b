"""libtilec.so through ctypes: the structures and functions of include/tilec.h."""
import ctypes
import ctypes.util
import os
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

FOLDER = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(FOLDER))

# tilec_type, by number
TYPES = ("f32", "f16", "bf16", "i8", "u8", "i32", "u32", "bool", "e4m3", "e5m2", "q8_0", "q4_0", "mxfp4")
ROLES = ("in", "out", "update")
SYMBOL_KINDS = ("extent", "static", "tile")
JUDGEMENTS = ("proved", "refuted", "not proved")
SEVERITIES = ("error", "warning", "note")
MAX_RANK = 8


class Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class Diagnostic(Sized):
    _fields_ = [("size", c_size_t), ("severity", c_int), ("code", c_char_p), ("file", c_char_p), ("line", c_int), ("column", c_int),
                ("length", c_int), ("message", c_char_p), ("caret", c_char_p), ("note_count", c_int), ("notes", POINTER(c_char_p)),
                ("witness", c_char_p), ("text", c_char_p)]


class Argument(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("is_scalar", c_bool), ("role", c_int), ("type", c_int), ("rank", c_int),
                ("shape", POINTER(c_char_p)), ("index_bound", c_char_p), ("is_injective", c_bool), ("least", c_char_p), ("most", c_char_p),
                ("declaration", c_char_p), ("file", c_char_p), ("line", c_int), ("column", c_int)]


class Symbol(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("kind", c_int), ("kernel", c_char_p), ("derived", c_char_p),
                ("has_default", c_bool), ("default_value", c_int64), ("is_known", c_bool), ("value", c_int64)]


class Step(Sized):
    _fields_ = [("size", c_size_t), ("kernel", c_char_p), ("schedule", c_char_p), ("route_count", c_int), ("routes", POINTER(c_char_p)),
                ("variant_count", c_int), ("check_count", c_int), ("checks", POINTER(c_char_p)), ("is_proved", c_bool), ("proved", c_int),
                ("refuted", c_int), ("unknown", c_int), ("proof_milliseconds", c_double), ("compile_milliseconds", c_double),
                ("explanation", c_char_p), ("plan", c_char_p), ("code", c_char_p)]


class Variant(Sized):
    _fields_ = [("size", c_size_t), ("when", c_char_p), ("tasks", c_char_p), ("private_bytes", c_int64)]


class Verdict(Sized):
    _fields_ = [("size", c_size_t), ("property", c_char_p), ("subject", c_char_p), ("judgement", c_int), ("file", c_char_p),
                ("line", c_int), ("column", c_int), ("explanation", c_char_p), ("witness", c_char_p), ("milliseconds", c_double)]


class LibraryArray(Sized):
    _fields_ = [("size", c_size_t), ("type", c_int), ("rank", c_int), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("data", c_void_p),
                ("bytes", c_int64), ("memory", c_int), ("device", c_void_p)]


FUNCTIONS = {  # name: (result, arguments)
    "tilec_version": (c_char_p, []),
    "tilec_type_bytes": (c_int, [c_int]),
    "tilec_open": (c_void_p, [c_char_p]),
    "tilec_ready": (c_bool, [c_void_p]),
    "tilec_close": (None, [c_void_p]),
    "tilec_error": (c_char_p, [c_void_p]),
    "tilec_diagnostic_count": (c_int, [c_void_p]),
    "tilec_diagnostic_at": (c_bool, [c_void_p, c_int, POINTER(Diagnostic)]),
    "tilec_explain": (c_char_p, [c_char_p]),
    "tilec_load_file": (c_void_p, [c_void_p, c_char_p]),
    "tilec_load_text": (c_void_p, [c_void_p, c_char_p, c_char_p]),
    "tilec_module_free": (None, [c_void_p]),
    "tilec_kernel_count": (c_int, [c_void_p]),
    "tilec_kernel_name": (c_char_p, [c_void_p, c_int]),
    "tilec_kernel_is_program": (c_bool, [c_void_p, c_int]),
    "tilec_call_new": (c_void_p, [c_void_p, c_char_p]),
    "tilec_call_free": (None, [c_void_p]),
    "tilec_bind_array": (c_bool, [c_void_p, c_char_p, c_int, c_int, POINTER(c_int64), c_void_p]),
    "tilec_bind": (c_bool, [c_void_p, c_char_p, POINTER(LibraryArray)]),
    "tilec_bind_float": (c_bool, [c_void_p, c_char_p, c_double]),
    "tilec_bind_integer": (c_bool, [c_void_p, c_char_p, c_int64]),
    "tilec_set_symbol": (c_bool, [c_void_p, c_char_p, c_int64]),
    "tilec_set_tile": (c_bool, [c_void_p, c_char_p, c_int64]),
    "tilec_set_schedule": (c_bool, [c_void_p, c_char_p, c_char_p]),
    "tilec_solve": (c_bool, [c_void_p]),
    "tilec_shape": (c_bool, [c_void_p, c_char_p, POINTER(c_int), POINTER(c_int64)]),
    "tilec_compile": (c_bool, [c_void_p]),
    "tilec_launch": (c_bool, [c_void_p]),
    "tilec_launch_checked": (c_bool, [c_void_p, POINTER(c_double)]),
    "tilec_argument_count": (c_int, [c_void_p]),
    "tilec_argument_at": (c_bool, [c_void_p, c_int, POINTER(Argument)]),
    "tilec_symbol_count": (c_int, [c_void_p]),
    "tilec_symbol_at": (c_bool, [c_void_p, c_int, POINTER(Symbol)]),
    "tilec_where_at": (c_char_p, [c_void_p, c_int]),
    "tilec_step_count": (c_int, [c_void_p]),
    "tilec_step_at": (c_bool, [c_void_p, c_int, POINTER(Step)]),
    "tilec_variant_at": (c_bool, [c_void_p, c_int, c_int, POINTER(Variant)]),
    "tilec_verdict_count": (c_int, [c_void_p, c_int]),
    "tilec_verdict_at": (c_bool, [c_void_p, c_int, c_int, POINTER(Verdict)]),
    "tilec_compiler_calls": (c_int64, []),
}


def _find():
    """$TILEC_LIBRARY; else the one installed with the package; else the checkout's build; else the system's."""
    given = os.environ.get("TILEC_LIBRARY")
    if given:
        return given
    for path in (os.path.join(FOLDER, "libtilec.so"), os.path.join(CHECKOUT, "build", "libtilec.so")):
        if os.path.exists(path):
            return path
    return ctypes.util.find_library("tilec") or "libtilec.so"


def _open():
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"tilec: the library cannot be loaded ({e}); build it with `make`, or set TILEC_LIBRARY to its path") from e
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"tilec: {path} is of another version than this module: it has no {name}") from None
        function.restype = result
        function.argtypes = arguments
    return library


lib = _open()


def text(value):
    return None if value is None else value.decode("utf-8", "replace")


def encoded(name):
    return os.fsencode(name) if isinstance(name, str) else name
