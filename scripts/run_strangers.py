#!/usr/bin/env python3
"""Runs kernels that other people wrote, from sources fetched beforehand, and compares what they compute with NumPy.

    scripts/run_strangers.py SUITE=FOLDER ... [--tilec BUILD/tilec] [--device cpu --device opencl:0 ..] [--only WORD] [--rows FILE]
    scripts/run_strangers.py SUITE=FOLDER .. --write PLACE, and on a machine without clang: scripts/run_strangers.py --replay PLACE --device cuda:0

SUITE is llama.cpp (a folder with ggml-metal.metal and the headers it includes), polybench, rodinia, cuda-samples, mlx or clblast (the repositories' roots).
scripts/strangers/ has a list for each: launches, arguments and references, written from the mathematics; the sources are not ours and are not here.
A line for each kernel, shape and device: `ok`, `FAIL` (values differ), `refused` (not proved) or `not read`, with the reason.
"""
import argparse, importlib, json, os, re, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
SUITES = {"llama.cpp": "llama", "polybench": "polybench", "rodinia": "rodinia", "cuda-samples": "samples", "mlx": "mlx", "clblast": "clblast"}


def words_of(case):
    """The launch as tilec takes it, without data."""
    words = []
    if "block" in case: # otherwise Kernel IR, which says it
        words = ["--kernel", case["kernel"], "--block", ",".join(map(str, case["block"])), "--grid", ",".join(map(str, case["grid"]))]
    for key in ("include", "define", "constant"):
        for text in case.get(key, []):
            words += [{"include": "-I", "define": "-D", "constant": "--constant"}[key], text]
    for name, value in case.get("values", {}).items():
        words += ["--arg", "%s=%s" % (name, repr(float(value)) if isinstance(value, float) else value)]
    for text in case.get("contract", []):
        words += ["--arg", text]
    for text in case.get("where", []):
        words += ["--where", text]
    return words


def write(tilec, suite, case, folder):
    """A folder with the kernel as Kernel IR, what it takes and what it must give: another machine needs no clang then."""
    name = re.sub(r"\W+", "_", suite + "_" + case["name"])
    place = os.path.join(folder, name)
    done = subprocess.run([tilec, "check", case["file"], "--dump=l"] + words_of(case), capture_output=True, text=True)
    m = re.search(r"^kernel .*?^\}\n", done.stdout, flags=re.S | re.M)
    if not m:
        return False
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "kernel.kir"), "w") as f:
        f.write(m.group())
    np.savez(os.path.join(place, "data.npz"), **{"in." + k: v for k, v in case["arrays"].items()}, **{"want." + k: v for k, v in case["want"].items()})
    numbers = dict(case.get("values", {}))
    named = re.findall(r"^    (?:scalar|symbol) (\w+)", m.group(), flags=re.M)
    with open(os.path.join(place, "case.json"), "w") as f:
        json.dump({"suite": suite, "name": case["name"], "kernel": case["kernel"], "values": {k: v for k, v in numbers.items() if k in named},
                   **{k: case[k] for k in ("rtol", "atol") if k in case}}, f)
    return True


def written(folder):
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        with open(os.path.join(place, "case.json")) as f:
            case = json.load(f)
        data = np.load(os.path.join(place, "data.npz"))
        case.update(file=os.path.join(place, "kernel.kir"), arrays={k[3:]: data[k] for k in data if k.startswith("in.")},
                    want={k[5:]: data[k] for k in data if k.startswith("want.")})
        yield case


def run(tilec, case, device, folder, limit):
    words = [tilec, "run", case["file"], "--device", device] + words_of(case)
    for name, array in case["arrays"].items():
        path = os.path.join(folder, name + ".npy")
        np.save(path, array)
        words += ["--arg", "%s=%s" % (name, path)]
    for name in case["want"]:
        words += ["--out", "%s=%s" % (name, os.path.join(folder, "out_%s.npy" % name))]
    start = time.time()
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "refused", "more than %d s" % limit, limit
    took = time.time() - start
    if done.returncode:
        text = done.stdout + done.stderr
        m = re.search(r"error (E\d+): ([^\n]*)", text)
        why = "%s: %s" % m.groups() if m else text.strip()[-200:]
        return ("not read" if re.search(r"error E11", text) else "refused"), why, took
    for name, value in case["want"].items():
        got = np.load(os.path.join(folder, "out_%s.npy" % name)).reshape(-1)
        value = np.asarray(value).reshape(-1)
        if got.dtype.kind != value.dtype.kind or got.dtype.itemsize < value.dtype.itemsize == 4: # accessed as bits, or by parts
            got = np.frombuffer(got.tobytes(), np.float32 if value.dtype.kind == "f" else value.dtype)
        got = got[:value.size]
        if value.dtype.kind in "iub":
            good = got == value
        else:
            scale = case.get("scale", 1.0)
            good = np.isclose(got.astype(np.float64), value.astype(np.float64), rtol=case.get("rtol", 1e-5), atol=case.get("atol", 1e-5) * scale)
        if not good.all():
            at = int(np.argmin(good))
            return "FAIL", "%s[%d] is %s, not %s; %d of %d differ" % (name, at, got[at], value[at], (~good).sum(), good.size), took
    return "ok", "", took


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("suites", nargs="*", metavar="SUITE=FOLDER")
    p.add_argument("--tilec", default="build/tilec")
    p.add_argument("--device", action="append")
    p.add_argument("--only", default="", help="cases whose names have this word")
    p.add_argument("--rows", help="a file for the rows, one JSON object a line")
    p.add_argument("--limit", type=int, default=60, help="seconds a kernel may take")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--write", metavar="FOLDER", help="write the kernels as Kernel IR with their data, for machines without clang, and run nothing")
    p.add_argument("--replay", metavar="FOLDER", help="run what --write wrote; no suites are needed then")
    p.add_argument("--commands", action="store_true", help="print the commands, the data's files left out, and run nothing")
    o = p.parse_args()
    devices = o.device or ["cpu"]
    work, tally, rows = [], {}, []
    for text in o.suites:
        suite, folder = text.split("=", 1)
        if suite not in SUITES:
            sys.exit("no suite `%s`; there are %s" % (suite, ", ".join(SUITES)))
        for case in importlib.import_module("strangers." + SUITES[suite]).cases(folder):
            if o.only in case["name"]:
                work += [(suite, case, d) for d in devices if not (d == "sim" and case.get("large"))]
    if o.replay:
        work += [(case["suite"], case, d) for case in written(o.replay) if o.only in case["name"] for d in devices]
    if o.write:
        print("%d of %d kernels written to %s" % (sum(write(o.tilec, suite, case, o.write) for suite, case, _ in work), len(work), o.write))
        return 0
    if o.commands:
        for suite, case, device in work:
            print(" ".join("'%s'" % w if re.search(r"[^-\w./=,]", w) else w for w in [o.tilec, "check", case["file"]] + words_of(case)))
        return 0

    def one(item):
        suite, case, device = item
        if not os.path.exists(case["file"]):
            return item, ("not here", case["file"], 0)
        with tempfile.TemporaryDirectory() as folder:
            return item, run(o.tilec, case, device, folder, o.limit)

    with ThreadPoolExecutor(o.jobs) as pool:
        for (suite, case, device), (verdict, why, took) in pool.map(one, work):
            tally[verdict] = tally.get(verdict, 0) + 1
            rows.append({"suite": suite, "case": case["name"], "kernel": case["kernel"], "device": device, "verdict": verdict, "why": why, "seconds": round(took, 2)})
            print("%-8s %-12s %-44s %-9s %5.1f s%s" % (verdict, suite, case["name"], device, took, "  " + why if why else ""), flush=True)
    print(", ".join("%d %s" % (n, v) for v, n in sorted(tally.items())))
    if o.rows:
        with open(o.rows, "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
    return 0 if set(tally) <= {"ok"} else 1


if __name__ == "__main__":
    sys.exit(main())
