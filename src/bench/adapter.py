"""The other side of a Python arm: maps the shared buffers, calls the function, and measures with the machine's monotonic clock.

Requests and replies are one JSON object a line, on descriptors 0 and 4; the buffers are descriptor 3. The user's module may define
    adopt(name, array)   called once for each array, outside the time: what the function is given instead (a tensor over the same memory)
    SHARES = False       what adopt gives is a copy; then fetch(name, adopted, array) copies results back, outside the time
    synchronize()        called inside the time, at the end of a submission
    CLOCK = ".."         the clock that measures, when it is not the machine's; then
    measure(function, calls, scalars)   runs function(**arrays, **scalars) for each of calls in one submission, and returns its nanoseconds
A function that returns arrays rather than filling the outputs has them copied after the time."""
import importlib.util
import json
import mmap
import os
import sys
import time
import traceback

out = os.fdopen(4, "w")
requests = os.fdopen(os.dup(0), "r")
os.dup2(2, 1)  # what the module prints goes to standard error

try:
    import numpy
except ImportError:
    numpy = None


def reply(**answer):
    out.write(json.dumps(answer) + "\n")
    out.flush()


def view(memory, array, offset):
    """The array at an offset: of NumPy where it is installed, otherwise a memoryview."""
    kind, shape = array["numpy"], array["shape"]
    if numpy is not None:
        count = 1
        for extent in shape:
            count *= extent
        return numpy.frombuffer(memory, dtype=kind, count=count, offset=offset).reshape(shape)
    codes = {"float32": "f", "int8": "b", "uint8": "B", "int32": "i", "uint32": "I", "bool": "?", "float16": "e", "uint16": "H"}
    flat = memoryview(memory)[offset:offset + array["bytes"]]
    return flat.cast(codes[kind], shape) if array["bytes"] else flat


def versions():
    found = {"python": sys.version.split()[0]}
    for name in ("numpy", "torch", "triton", "jax", "scipy"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = getattr(module, "__version__", "?")
    return found


class Arm:
    def __init__(self, setup):
        spec = importlib.util.spec_from_file_location("arm", setup["file"])
        self.module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, os.path.dirname(os.path.abspath(setup["file"])))
        spec.loader.exec_module(self.module)
        self.function = getattr(self.module, setup["function"], None)
        self.arrays, self.scalars, self.stride = setup["arrays"], setup["scalars"], setup["stride"]
        self.memory = mmap.mmap(3, setup["bytes"])
        self.sets = {}
        self.shares = getattr(self.module, "SHARES", True)
        self.clock = getattr(self.module, "CLOCK", None)
        self.synchronize = getattr(self.module, "synchronize", None)

    def arguments(self, number):
        if number not in self.sets:
            adopt = getattr(self.module, "adopt", lambda name, array: array)
            raw = {a["name"]: view(self.memory, a, a["offset"] + number * self.stride) for a in self.arrays}
            self.sets[number] = (raw, {name: adopt(name, array) for name, array in raw.items()})
        return self.sets[number]

    def refresh(self, number):
        """Copies do not see what the harness wrote: they are made anew, outside the time."""
        if not self.shares:
            self.sets.pop(number, None)

    def collect(self, number, returned):
        raw, adopted = self.arguments(number)
        outputs = [a["name"] for a in self.arrays if a["output"]]
        if returned is not None:
            returned = returned if isinstance(returned, tuple) else (returned,)
            for name, value in zip(outputs, returned, strict=True):
                if hasattr(value, "detach"):
                    value = value.detach().cpu().numpy()
                if tuple(value.shape) != tuple(raw[name].shape):  # or it would be broadcast
                    raise ValueError(f"{name} has shape {tuple(raw[name].shape)}, and {tuple(value.shape)} was returned")
                raw[name][...] = value
        elif not self.shares:
            for name in outputs:
                self.module.fetch(name, adopted[name], raw[name])

    def run(self, first, count, of):
        numbers = [(first + i) % of for i in range(count)] if of > 1 else [0]
        if self.clock is None or count == 1:  # what is checked; in between, other devices' copies stay where they are
            for number in set(numbers):
                self.refresh(number)
        calls = [self.arguments(number)[1] for number in numbers]
        if of == 1:
            calls = calls * count
        function, scalars, returned = self.function, self.scalars, None
        if self.clock is not None:
            took = self.module.measure(function, calls, scalars)
            if count == 1:
                self.collect(numbers[-1], None)
            return took, self.shares
        clock = time.CLOCK_MONOTONIC
        start = time.clock_gettime_ns(clock)
        for arrays in calls:
            returned = function(**arrays, **scalars)
        if self.synchronize is not None:
            self.synchronize()
        took = time.clock_gettime_ns(clock) - start
        self.collect(numbers[-1], returned)
        return took, returned is None and self.shares


arm = None
for line in requests:
    try:
        request = json.loads(line)
        if "file" in request:
            arm = Arm(request)
            reply(ok=True, has=arm.function is not None, versions=versions(), shares=bool(arm.shares), clock=arm.clock)
        else:
            took, in_place = arm.run(request["first"], request["count"], request["sets"])
            reply(ok=True, ns=took, in_place=in_place)
    except Exception:  # the harness prints it
        reply(ok=False, error=traceback.format_exc(limit=-3).strip())
