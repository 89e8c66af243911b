"""Modules and kernels."""
import collections
import ctypes
import keyword
import operator
import os
import threading

import numpy as np

from . import _arrays
from ._errors import Error, failure, warn
from ._library import MAX_RANK, ROLES, TYPES, encoded, lib, text
from ._library import Argument as LibraryArgument
from ._plan import Argument, Plan, symbols_of

OPTIONS = ("vector", "subgroups", "operands", "split")  # of a schedule, beside tile sizes

_lock = threading.Lock()
_contexts = {}  # (process, device): the context its kernels share


def _context(device):
    """One context for a device and process: its threads and compiled kernels are shared. A forked child opens its own."""
    key = (os.getpid(), device)
    with _lock:
        context = _contexts.get(key)
        if context is None:
            context = lib.tilec_open(encoded(device))
            if not context:
                raise MemoryError("tilec: no memory for a context")
            if not lib.tilec_ready(context):
                error = failure(context)
                lib.tilec_close(context)
                raise error
            _contexts[key] = context
    return context


class Module:
    """The kernels and programs of one file or text."""

    def __init__(self, path=None, text=None, name="text.tile", device="cpu"):
        self._path = None if path is None else os.fspath(path)
        self._text = text
        self._name = name
        self.device = device
        self._handle = None
        self._process = None
        self._load()

    def _load(self):
        self._context = _context(self.device)
        if self._path is not None:
            handle = lib.tilec_load_file(self._context, os.fsencode(self._path))
        else:
            source = self._text.encode() if isinstance(self._text, str) else self._text
            if b"\0" in source:
                raise ValueError("a kernel's text has no NUL characters")
            handle = lib.tilec_load_text(self._context, os.fsencode(self._name), source)
        if not handle:
            raise failure(self._context)
        self._handle, self._process = handle, os.getpid()
        count = lib.tilec_kernel_count(handle)
        self.names = [text(lib.tilec_kernel_name(handle, i)) for i in range(count)]
        self.programs = [n for i, n in enumerate(self.names) if lib.tilec_kernel_is_program(handle, i)]

    def _live(self):
        """The context and handle of this process: after a fork the child, which has none of the parent's threads, loads anew."""
        if self._process != os.getpid():
            self._handle = None
            self._load()
        return self._context, self._handle

    def kernel(self, name=None):
        """A kernel or program by name; without a name, the only one."""
        return Kernel(self, name)

    def __getitem__(self, name):
        return Kernel(self, name)

    def __iter__(self):
        return (Kernel(self, n) for n in self.names)

    def __len__(self):
        return len(self.names)

    def __contains__(self, name):
        return name in self.names

    def __repr__(self):
        return f"<tilec module {self._path or self._name}: {', '.join(self.names)}>"

    def __del__(self):
        if getattr(self, "_handle", None) and self._process == os.getpid():
            lib.tilec_module_free(self._handle)
            self._handle = None


class _Call:
    """A call of the library's, freed at the end of a `with`."""

    def __init__(self, module, name):
        self._module = module
        self.context, handle = module._live()
        self.handle = lib.tilec_call_new(handle, None if name is None else name.encode())
        if not self.handle:
            raise failure(self.context)

    def must(self, good):
        if not good:
            raise failure(self.context)

    def shape(self, name):
        rank, shape = ctypes.c_int(), (ctypes.c_int64 * MAX_RANK)()
        self.must(lib.tilec_shape(self.handle, name, rank, shape))
        return tuple(shape[: rank.value])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tilec_call_free(self.handle)
        self.handle = None


class Kernel:
    """A kernel or program to be called with arrays: `c = kernel(a, b)`.

    Positional arguments are the inputs in declared order, then the arrays that are updated; every argument can be given by name, and so can
    results, for memory of one's own: kernel(a, b, c=c), or out=c, out=(c, d), out={"c": c}. Symbols that no shape tells, statics and tile
    sizes are given by name too: kernel(x, CH=4096, BN=64). It returns the result, or all results as a named tuple."""

    def __init__(self, module, name=None):
        self.module = module
        with _Call(module, name) as call:
            if name is None:
                name = module.names[0]  # the only one, or the only program: those come first
            self.name = name
            self.arguments, a = [], LibraryArgument()
            while lib.tilec_argument_at(call.handle, len(self.arguments), a):
                self.arguments.append(
                    Argument(text(a.name), text(a.declaration), ROLES[a.role], bool(a.is_scalar), TYPES[a.type],
                             tuple(text(a.shape[d]) for d in range(a.rank)), text(a.index_bound), bool(a.is_injective), text(a.least),
                             text(a.most), text(a.file), a.line, a.column))
            self.symbols = symbols_of(call.handle)
            self.where = []
            while (condition := lib.tilec_where_at(call.handle, len(self.where))) is not None:
                self.where.append(text(condition))
        self.is_program = name in module.programs
        self.inputs = [a for a in self.arguments if a.role == "in"]
        self.results = [a for a in self.arguments if a.role != "in"]
        self._by_name = {a.name: a for a in self.arguments}
        self._encoded = {a.name: a.name.encode() for a in self.arguments}
        self._positional = self.inputs + [a for a in self.results if a.role == "update"]
        self._kinds = {}
        for s in self.symbols:
            self._kinds.setdefault(s.name, s.kind)
        fields = [a.name if a.name.isidentifier() and not keyword.iskeyword(a.name) else f"result{i}" for i, a in enumerate(self.results)]
        self._tuple = collections.namedtuple(f"{name}_results", fields, rename=True) if len(fields) > 1 else None
        self._latest = None  # of the latest call: shapes of its arrays, settings

    @property
    def declaration(self):
        inputs = ", ".join(a.declaration for a in self.inputs)
        results = ", ".join(a.declaration for a in self.results)
        return f"{self.name}({inputs}) -> ({results})" + (f" where {' and '.join(self.where)}" if self.where else "")

    def __repr__(self):
        return f"<tilec {'program' if self.is_program else 'kernel'} {self.declaration}>"

    # ---- arguments ----

    def _sort(self, positional, named, out):
        """Splits what was given into (values by argument name, settings of symbols and tile sizes)."""
        if len(positional) > len(self._positional):
            raise TypeError(f"{self.name} takes {len(self._positional)} arguments ({len(positional)} given): {self.declaration}")
        values = {a.name: x for a, x in zip(self._positional, positional)}
        settings = {}
        for name, x in named.items():
            if name in self._by_name:
                if name in values:
                    raise TypeError(f"{self.name} was given `{name}` twice")
                values[name] = x
            elif name in self._kinds or name in OPTIONS:
                settings[name] = self._setting(name, x)
            else:
                raise TypeError(f"{self.name} has no argument, result, symbol or tile size `{name}`: {self.declaration}")
        if out is not None:
            fresh = [a.name for a in self.results if a.role == "out"]
            if isinstance(out, dict):
                given = out
            else:
                out = out if isinstance(out, (tuple, list)) else (out,)
                if len(out) != len(fresh):
                    raise TypeError(f"out= needs {len(fresh)} arrays, for {', '.join(fresh)}")
                given = dict(zip(fresh, out))
            for name, x in given.items():
                if name not in fresh:
                    raise TypeError(f"{self.name} has no result `{name}` to be given as out=")
                if x is not None:
                    if name in values:
                        raise TypeError(f"{self.name} was given `{name}` twice")
                    values[name] = x
        return values, settings

    def _setting(self, name, x):
        """Symbols and tile sizes are whole numbers, a schedule's options what a schedule says: 4, "2x2", "staged(f16)"."""
        return operator.index(x) if name in self._kinds or not isinstance(x, str) else x

    def _set(self, call, settings):
        for name, x in settings.items():
            if name not in self._kinds:
                call.must(lib.tilec_set_schedule(call.handle, name.encode(), str(x).encode()))
                continue
            f = lib.tilec_set_tile if self._kinds[name] == "tile" else lib.tilec_set_symbol
            call.must(f(call.handle, name.encode(), x))

    def _bind_scalar(self, call, argument, x):
        if isinstance(x, np.ndarray) and x.ndim == 0:
            x = x[()]
        name = argument.name.encode()
        if argument.type != "f32":
            try:
                x = operator.index(x)
            except TypeError:
                pass
        if isinstance(x, int) and argument.type != "f32":
            if not -(2**63) <= x < 2**63:
                raise Error("E0647", f"argument `{argument.name}` cannot be {x}", argument.file, argument.line, argument.column)
            call.must(lib.tilec_bind_integer(call.handle, name, x))
            return
        try:
            if isinstance(x, (str, bytes)):
                raise TypeError
            x = float(x)
        except (TypeError, ValueError):
            _arrays.refuse(argument, f"is a number, not a {type(x).__name__}")
        call.must(lib.tilec_bind_float(call.handle, name, x))

    def _bind(self, call, values, bound):
        """Binds all that was given. `bound` collects the arrays, by name, which must live until the call is freed."""
        for a in self.arguments:
            if a.name not in values:
                continue
            x = values[a.name]
            if a.is_scalar:
                self._bind_scalar(call, a, x)
                continue
            array = bound[a.name] = _arrays.take(a, x, a.role != "in", self.module.device)
            call.must(array.bind(call.handle, self._encoded[a.name]))

    def _check_given(self, values):
        missing = [a.name for a in self._positional if a.name not in values]
        if missing:
            raise TypeError(f"{self.name} was not given {', '.join(f'`{n}`' for n in missing)}: {self.declaration}")

    # ---- calls ----

    def _launch(self, positional, named, out, launch):
        values, settings = self._sort(positional, named, out)
        self._check_given(values)
        bound, fresh = {}, {}
        try:
            with _Call(self.module, self.name) as call:
                self._set(call, settings)
                self._bind(call, values, bound)
                call.must(lib.tilec_solve(call.handle))
                shapes = {a: call.shape(self._encoded[a.name]) for a in self.results if a.name not in values}
                for a, shape in shapes.items():
                    fresh[a.name], array = _arrays.empty(a, shape, values.values(), self.module.device)
                    bound[a.name] = array
                    call.must(array.bind(call.handle, self._encoded[a.name]))
                self._latest = ({n: (b.type, b.shape) for n, b in bound.items()}, settings)
                good = launch(call)
                call.must(good)
                warn(call.context, 4)
        finally:
            for array in bound.values():
                array.release()
        results = [values[a.name] if a.name in values else fresh[a.name] for a in self.results]
        return results[0] if self._tuple is None else self._tuple(*results)

    def __call__(self, *positional, out=None, **named):
        return self._launch(positional, named, out, lambda call: lib.tilec_launch(call.handle))

    def check(self, *positional, out=None, **named):
        """Calls and compares every element with an f64 evaluation of the kernel's meaning: (results, worst error as a share of its
        bound). Raises Error (E0790) when an element is outside."""
        worst = ctypes.c_double()
        results = self._launch(positional, named, out, lambda call: lib.tilec_launch_checked(call.handle, worst))
        return results, worst.value

    # ---- inspection ----

    def compile(self, **settings):
        """Compiles and proves, for all shapes, with these statics, tile sizes and options of a schedule; returns the Plan. Statics that arguments would tell
        must be given."""
        for name in settings:
            if name not in self._kinds and name not in OPTIONS:
                raise TypeError(f"{self.name} has no symbol or tile size `{name}`")
        settings = {n: self._setting(n, x) for n, x in settings.items()}
        plan = self._plan({}, settings)
        self._latest = ({}, settings)
        return plan

    def _plan(self, shapes, settings):
        with _Call(self.module, self.name) as call:
            self._set(call, settings)
            for name, (type_name, shape) in shapes.items():  # shapes alone: nothing is launched
                call.must(_arrays.Bound(type_name, shape, None, None).bind(call.handle, name.encode()))
            if shapes:
                call.must(lib.tilec_solve(call.handle))
            call.must(lib.tilec_compile(call.handle))
            warn(call.context, 4)
            return Plan(self.name, call.handle)

    @property
    def plan(self):
        """The Plan of the latest call or compile; before any, of one without arguments."""
        return self._plan(*(self._latest or ({}, {})))

    @property
    def proof(self):
        """The verdicts of that plan."""
        return self.plan.proof
