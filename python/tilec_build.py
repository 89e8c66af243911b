"""Builds the Python package from a checkout (PEP 517): the shared library through make, then a wheel around it.

    pip install .                          # or: pip install --no-build-isolation .
    TILEC_LIBRARY=/usr/lib/libtilec.so pip install .      # around a library that is built already

TILEC_BUILD is make's build folder (build/ in the checkout unless that cannot be written)."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "python", "tilec")
PACKAGES_NEEDED = "gcc make libisl-dev libxxhash-dev libjansson-dev (their Debian names; scripts/setup.sh installs them)"


def version():
    with open(os.path.join(ROOT, "src", "command", "version.h")) as f:
        return re.search(r'TILEC_VERSION "([^"]+)"', f.read()).group(1)


def metadata():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return (f"Metadata-Version: 2.1\nName: tilec\nVersion: {version()}\nSummary: Safe tile kernels: compiled, proved, run\n"
            f"License: MIT\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.20\nDescription-Content-Type: text/markdown\n\n{readme}")


def library():
    """The path of libtilec.so, built unless TILEC_LIBRARY names one."""
    given = os.environ.get("TILEC_LIBRARY")
    if given:
        if not os.path.exists(given):
            raise SystemExit(f"tilec: TILEC_LIBRARY names {given}, which is not there")
        return given
    build = os.environ.get("TILEC_BUILD") or os.path.join(ROOT, "build")
    try:
        os.makedirs(build, exist_ok=True)
        with tempfile.TemporaryFile(dir=build):
            pass
    except OSError:
        build = tempfile.mkdtemp(prefix="tilec-build-")
    target = os.path.join(build, "libtilec.so")
    if shutil.which("make") is None:
        raise SystemExit(f"tilec: make was not found; building needs {PACKAGES_NEEDED}")
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-s", f"-j{os.cpu_count() or 2}", f"BUILD={build}", target], cwd=ROOT, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"tilec: the library could not be built (see above); building needs {PACKAGES_NEEDED}")
    return target


def wheel_tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def write_wheel(folder, files, tag):
    """files: (name in the wheel, bytes). Returns the wheel's name."""
    info = f"tilec-{version()}.dist-info"
    files = files + [
        (f"{info}/METADATA", metadata().encode()),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tilec_build\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()),
    ]
    record = []
    name = f"tilec-{version()}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, content in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
            z.writestr(path, content)
        z.writestr(f"{info}/RECORD", "\n".join(record + [f"{info}/RECORD,,"]) + "\n")
    return name


def read(path):
    with open(path, "rb") as f:
        return f.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = [(f"tilec/{n}", read(os.path.join(PACKAGE, n))) for n in sorted(os.listdir(PACKAGE)) if n.endswith((".py", ".pyi", ".typed"))]
    kernels = os.path.join(ROOT, "kernels")
    files += [(f"tilec/kernels/{n}", read(os.path.join(kernels, n))) for n in sorted(os.listdir(kernels)) if n.endswith(".tile")]
    files.append(("tilec/libtilec.so", read(library())))
    return write_wheel(wheel_directory, files, wheel_tag())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    library()
    return write_wheel(wheel_directory, [("tilec_checkout.pth", (os.path.dirname(PACKAGE) + "\n").encode())], wheel_tag())


def build_sdist(sdist_directory, config_settings=None):
    name = f"tilec-{version()}"
    path = os.path.join(sdist_directory, name + ".tar.gz")
    done = subprocess.run(["git", "archive", "--format=tar.gz", f"--prefix={name}/", "-o", path, "HEAD"], cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit("tilec: a source distribution is made from a git checkout")
    return name + ".tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel
