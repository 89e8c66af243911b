"""Safe tile kernels: compiled, proved free of races and overruns for every shape, run on NumPy arrays.

    import tilec
    matmul = tilec.kernel("kernels/matmul.tile", "matmul")
    c = matmul(a, b)
    print(matmul.plan)

doc/python.md tells the rest."""
import os

from ._arrays import Array
from ._errors import Error
from ._kernel import Kernel, Module
from ._library import CHECKOUT, FOLDER, lib, text
from ._plan import Argument, Plan, Step, Symbol, Variant, Verdict

__all__ = ["kernel", "compile", "load", "explain", "kernels_folder", "compiler_calls", "Kernel", "Module", "Error", "Array", "Plan", "Step",
           "Argument", "Symbol", "Variant", "Verdict", "__version__"]
__version__ = text(lib.tilec_version())


def kernel(path, name=None, device="cpu"):
    """A kernel or program of a file; the name may be left out where there is only one (or one program)."""
    return Module(path, device=device).kernel(name)


def compile(text, name=None, file="text.tile", device="cpu"):
    """A kernel or program of a text; `file` stands for it in messages."""
    return Module(text=text, name=file, device=device).kernel(name)


def load(path, device="cpu"):
    """All kernels of a file: load("kernels/matmul.tile")["matmul"]."""
    return Module(path, device=device)


def explain(code):
    """What a diagnostic's code means; None for an unknown one."""
    return text(lib.tilec_explain(code.encode()))


def kernels_folder():
    """The folder of the kernels that come with tilec."""
    for folder in (os.environ.get("TILEC_KERNELS"), os.path.join(FOLDER, "kernels"), os.path.join(CHECKOUT, "kernels")):
        if folder and os.path.isdir(folder):
            return folder
    raise FileNotFoundError("the kernels that come with tilec were not installed; set TILEC_KERNELS to their folder")


def compiler_calls():
    """How often this process ran the system's C compiler."""
    return lib.tilec_compiler_calls()
