#!/usr/bin/env python3
"""Drop-in kernels for other devices: OpenCL C and CUDA C++ beside a manifest, checked before they are timed. No time decides anything here.
OpenCL needs a device behind the loader. CUDA takes a device of NVIDIA's where there is one, elsewhere the driver for the CPU of test/run."""
import json
import os
import subprocess
import sys
import tempfile

tilec = os.path.abspath(os.environ.get("TILEC", "build/tilec"))
quick = ["--rounds", "6", "--sample-ms", "0.01", "--no-marginal", "--no-ceilings", "--threads", "1"]
failed = False
work = tempfile.TemporaryDirectory()
os.environ["TILEC_CACHE"] = os.path.join(work.name, "cache")


def check(name, held, *details):
    global failed
    failed |= not held
    print(("ok " if held else "FAIL ") + name)
    if not held:
        for detail in details:
            print("    " + str(detail).replace("\n", "\n    ")[:3000])


def bench(*arguments, options=quick, environment=None):
    done = subprocess.run([tilec, "bench", "--json", "--no-store", *options, *arguments], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, **(environment or {})))
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {"rows": [], "diagnostics": []}, done.stdout + done.stderr


def row(answer, arm):
    return next((r for r in answer["rows"] if r["arm"] == arm), {})


def codes(answer):
    return [d["code"] for d in answer["diagnostics"]]


def has_device(name):
    lines = subprocess.run([tilec, "devices"], capture_output=True, text=True).stdout.splitlines()
    return any(line.startswith(name + " ") and "missing: " not in line for line in lines)


def write(name, text):
    path = os.path.join(work.name, name)
    with open(path, "w") as f:
        f.write(text)
    return path


INT32_N = ("a", "b", "y", {"name": "N", "type": "int32"})


def drop_in(name, ending, text, **more):
    """A manifest for vec_add: blocks of 64 threads, enough of them, the extent as an int. More fields replace these; None leaves one out."""
    write(name + ending, text)
    manifest = {"kernel": "vec_add", "source": name + ending, "entry": "mine", "arguments": INT32_N, "threads": 64, "blocks": "ceildiv(N, 64)", **more}
    return "file:" + write(name + ending + ".json", json.dumps({k: v for k, v in manifest.items() if v is not None}))


vec_add = ["--kernel", "vec_add", "--shape", "N=1000"]
# Kernels of vec_add, a scalar of f32, and one of whole numbers; sizes with and without the entries for aligned rows.
shipped = [("matmul.tile", "matmul_f32", ["M=17,N=19,K=300", "M=32,N=64,K=48"]), ("normalise.tile", "rms_norm", ["R=5,C=301", "R=5,C=512"]),
           ("attention.tile", "attn_full_f32", ["T=21,H=2,D=16"]), ("elementwise.tile", "vec_add", ["N=1000", "N=4096", "N=1"])]


def target_of(device, environment):
    """What the device is given: an OpenCL device that is a processor takes another form than others do."""
    found = subprocess.run([tilec, "devices", "--json"], capture_output=True, text=True, env=dict(os.environ, **environment))
    return next(d["target"] for d in json.loads(found.stdout)["devices"] if d["name"] == device)


def suite(device, ending, kernel_head, index, clock, environment):
    def text(body="y[i] = a[i] + b[i];", head=None, guard="i < n"):
        return f"{head or kernel_head}\n{{\n    int i = {index};\n    if ({guard}) {{ {body} }}\n}}\n"

    def run(*arguments, **more):
        return bench(*arguments, environment=environment, **more)

    # What build wrote, unchanged.
    for file, kernel, shapes in shipped:
        folder = os.path.join(work.name, "built-" + device)
        statics = ["--shape", "D=16"] if file == "attention.tile" else []
        built = subprocess.run([tilec, "build", "kernels/" + file, "--kernel", kernel, "--target", target_of(device, environment), "-o", folder, *statics], capture_output=True,
                               text=True)
        arm = f"file:{folder}/{kernel}.json"
        for shape in shapes:
            status, answer, log = run("--kernel", kernel, "--shape", shape, f"ours@{device}", arm)
            mine, ours = row(answer, arm), row(answer, f"ours@{device}")
            check(f"{device}: what build writes is an arm: {kernel}, {shape}", built.returncode == 0 and status == 0 and mine.get("status") == "pass"
                  and mine["t_median_ns"] > 0 and mine["ratio"] and mine["output_hash"] == ours["output_hash"], log, answer, built.stderr)
    check(f"{device}: the row says where and by which clock", mine.get("device") == device and clock in mine["clock"] and mine["clock"] == ours["clock"]
          and (mine["buffers"] == "the same") == (target_of(device, environment) == "opencl_cpu" and mine["launches_a_sample"] > 1) and mine["code_hash"] and mine["compile_ms"] > 0, mine)

    # With marginal costs and ceilings, in the first place too.
    status, answer, log = run(*vec_add, arm.replace(kernel + ".json", "vec_add.json"), options=[o for o in quick if not o.startswith("--no-")])
    check(f"{device}: marginal costs and ceilings", status == 0 and all(r["status"] == "pass" and r["marginal"] for r in answer["rows"]), log, answer)

    # By hand.
    right = drop_in("right", ending, text())
    status, answer, log = run(*vec_add, f"ours@{device}", right)
    check(f"{device}: a kernel by hand", status == 0 and row(answer, right).get("status") == "pass", log, answer)
    launches = [{"entry": "never", "when": "N mod 7 == 0", "threads": 1, "blocks": 1, "arguments": []},
                {"entry": "mine", "arguments": INT32_N, "threads": [64], "blocks": ["floor((N + 63) / 64)", 1]}]
    arm = drop_in("listed", ending, text(), entry=None, arguments=None, threads=None, blocks=None, launches=launches)
    status, answer, log = run(*vec_add, f"ours@{device}", arm)
    check(f"{device}: the launch for this shape is taken", status == 0 and row(answer, arm).get("status") == "pass", log, answer)

    # Wrong ones are never timed.
    for number, (name, source) in enumerate({
        "one element off": text("y[i] = a[i] + b[i] + (i == 617 ? 1e-3f : 0);"),
        "the last element missing": text(guard="i + 1 < n"),
        "nothing written": text(guard="i < 0"),
        "an input is the result": text("y[i] = a[i];"),
    }.items()):
        arm = drop_in(f"wrong{number}", ending, source)
        status, answer, log = run(*vec_add, "ours", arm)
        bad = row(answer, arm)
        check(f"{device}: never timed: {name}", status == 1 and bad["status"] == "fail" and bad["t_median_ns"] is None and bad["ratio"] is None
              and "E1040" in codes(answer) and row(answer, "ours")["t_median_ns"] > 0, bad, log)
    arm = drop_in("few", ending, text(), blocks="floor(N / 64)")
    status, answer, log = run(*vec_add, "ours", arm)
    check(f"{device}: never timed: a block too few", status == 1 and row(answer, arm)["t_median_ns"] is None and "E1040" in codes(answer), log)

    # Arms that cannot be.
    refused = [
        ("a source that does not compile", drop_in("broken", ending, text("y[i] = no_such_name;")), "E1022", "no_such_name"),
        ("a kernel that the source lacks", drop_in("lacks", ending, text(), entry="other"), "E1022", "other"),
        ("no threads", drop_in("threads", ending, text(), threads=None), "E1021", "threads"),
        ("no thread", drop_in("none", ending, text(), threads=0), "E1021", "0 threads"),
        ("blocks of a formula that is none", drop_in("formula", ending, text(), blocks="N //"), "E1021", "formula"),
        ("blocks by an extent that the kernel lacks", drop_in("extent", ending, text(), blocks="ceildiv(Z, 64)"), "E1021", "Z"),
        ("blocks without an end", drop_in("many", ending, text(), blocks="N * 1000000000"), "E1021", "blocks"),
        ("an argument that the kernel lacks", drop_in("argument", ending, text(), arguments=["a", "b", "z", "N"]), "E1021", "z"),
        ("an argument of no type", drop_in("type", ending, text(), arguments=["a", "b", "y", {"name": "N", "type": "int7"}]), "E1021", "int32"),
        ("an argument that is a number", drop_in("number", ending, text(), arguments=["a", 3]), "E1021", "arguments"),
        ("a fraction for a whole number", drop_in("half", ending, text(), arguments=["a", "b", "y", {"value": 1.5, "type": "int32"}]), "E1021", "1.5"),
        ("a number beyond every type", drop_in("huge", ending, text(), arguments=["a", "b", "y", {"value": 1e300}]), "E1021", "int64"),
        ("no launch for the shape", drop_in("when", ending, text(), when="N < 1000"), "E1021", "shape"),
        ("four dimensions", drop_in("four", ending, text(), blocks=[1, 1, 1, 1]), "E1021", "three"),
        ("launches that are none", drop_in("launches", ending, text(), launches=[]), "E1021", "launches"),
        ("a manifest of another kernel", drop_in("kernel", ending, text(), kernel="matmul_f32"), "E1021", "matmul_f32"),
        ("no such source", drop_in("there", ending, text(), source="not_there" + ending), "E0880", "not_there"),
    ]
    for first in range(0, len(refused), 6):
        some = refused[first:first + 6]
        status, answer, log = run(*vec_add, "ours", *[arm for _, arm, _, _ in some])
        for name, arm, code, said in some:
            told = [d for d in answer["diagnostics"] if d["code"] == code and said in json.dumps(d)]
            check(f"{device}: refused: {name}", status == 1 and told and row(answer, arm).get("status") == "fail"
                  and row(answer, arm)["t_median_ns"] is None and row(answer, "ours").get("status") == "pass", log, answer["diagnostics"])


if has_device("opencl"):
    suite("opencl", ".cl", "__kernel void mine(__global const float *a, __global const float *b, __global float *y, int n)", "(int)get_global_id(0)", "host", {})
    grid = drop_in("grid", ".cl", """__kernel void mine(__global const float *a, __global const float *b, __global float *y, long n, float one, int yes, int three)
{
    long i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
    if (i < n && one == 1.5f && yes == 1 && three == 3 && get_local_size(1) == 2) y[i] = a[i] + b[i];
}
""", threads=[4, 2, 1], blocks=["2", "1 + 1", "ceildiv(N, 32)"],
                   arguments=["a", "b", "y", "N", {"value": 1.5, "type": "f32"}, {"value": 1, "type": "bool"}, {"value": 3, "type": "int32"}])
    status, answer, log = bench(*vec_add, "ours@opencl", grid)
    check("opencl: blocks in three dimensions, and constants", status == 0 and row(answer, grid).get("status") == "pass", log, answer)
    empty = drop_in("empty", ".cl", "__kernel void mine(__global const float *a, __global const float *b, __global float *y, int n) { }")
    status, answer, log = bench("--kernel", "vec_add", "--shape", "N=0", "ours@opencl", empty)
    check("opencl: no blocks, no launch", status == 0 and row(answer, empty).get("status") == "pass", log, answer)
    arm = drop_in("long", ".cl", "__kernel void mine(__global const float *a, __global const float *b, __global float *y, int n) { }",
                  arguments=["a", "b", "y", "N"])
    status, answer, log = bench(*vec_add, "ours", arm)
    check("opencl: refused: an extent of another type", status == 1 and codes(answer) == ["E1022"] and "argument 4" in log + json.dumps(answer), log, answer)
else:
    print("skip drop-ins for OpenCL (no device here)")

fake = {}
if not has_device("cuda"):
    folder = os.path.join(work.name, "cuda-on-cpu")
    library = os.path.join(folder, "libcuda.so.1")
    made = subprocess.run(["bash", "-c", '. test/run/_cuda_on_cpu.sh && cuda_on_cpu "$0"', folder]).returncode == 0
    fake = {"LD_LIBRARY_PATH": folder, "TILEC_NVRTC": library} if made else None
    arm = drop_in("alone", ".cu", "")
    status, answer, log = bench(*vec_add, "ours", arm)
    check("cuda: a missing device is said", status == 1 and "E0802" in codes(answer) and row(answer, "ours")["status"] == "pass", log, answer)
if fake is None:
    print("skip drop-ins for CUDA (no device here, and its driver for the CPU needs a C++ compiler and a processor with F16C)")
else:
    suite("cuda", ".cu", 'extern "C" __global__ void __launch_bounds__(64) mine(const float *a, const float *b, float *y, int n)',
          "(int)(blockIdx.x * 64 + threadIdx.x)", "device", fake)
sys.exit(failed)
