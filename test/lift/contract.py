#!/usr/bin/env python3
"""Functions that only the contract knows of, and lanes that it says go in lockstep (test/lift/contract.cl): what is proved, refuted, refused, and computed."""
import json, os, shutil, subprocess, sys, tempfile
import numpy as np

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contract.cl")
failed = 0

def tell(name, why):
    global failed
    print("FAIL %s: %s" % (name, why) if why else "ok " + name)
    failed += bool(why)

def check(kernel, *flags):
    out = subprocess.run([tilec, "check", source, "--kernel", kernel, "--json", "--witness", "--block", "64", *flags], capture_output=True, text=True)
    answer = json.loads(out.stdout)
    return (answer["kernels"] or [{"properties": [], "held": False}])[0], [d["code"] for d in answer["diagnostics"]]

def verdicts(kernel, what):
    return [p["verdict"] for p in kernel["properties"] if p["property"] == what]

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip contract (no LLVM here)")
        return 0
    own = ["--arg", "y=[groups_x * 64]"]
    k, codes = check("opaque_own", "--opaque", "go_on, pair", *own)
    tell("a function that gives anything, its caller proved", "" if k["held"] else "%s %s" % (codes, k["properties"]))
    k, codes = check("opaque_own", "--opaque", "go_on", *own)
    tell("a function that nobody speaks of", "" if codes == ["E1128"] else codes)
    k, codes = check("opaque_anywhere", "--opaque", "next_index", "--arg", "y=[64]")
    tell("an index that may be anything is no proof", "" if not k["held"] and "proved" not in verdicts(k, "race") else k["properties"])
    k, codes = check("opaque_pointer", "--opaque", "fill", "--arg", "y=[64]")
    tell("a function that takes a pointer", "" if codes == ["E1128"] else codes)
    k, codes = check("opaque_place", "--opaque", "place", *own)
    tell("a pointer that may lead nowhere", "" if "refuted" in verdicts(k, "bounds") and not codes.count("E1128") else "%s %s" % (codes, k["properties"]))
    k, codes = check("opaque_change", "--opaque", "change", "--arg", "y=[1]", "--grid", "1")
    tell("a variable that may hold anything afterwards", "" if set(verdicts(k, "bounds")) != {"proved"} and codes and "E1128" not in codes else "%s %s" % (codes, k["properties"]))
    out = subprocess.run([tilec, "run", source, "--kernel", "opaque_own", "--opaque", "go_on,pair", "--block", "64", "--grid", "1", "--device", "sim", *own],
                         capture_output=True, text=True)
    tell("it is not run", "" if out.returncode and "E1132" in out.stderr else out.stderr[:200])
    shape = ["--arg", "x=[groups_x * 64]"]
    k, codes = check("scan", "--lockstep", "32", *shape)
    tell("a scan in lockstep", "" if k["held"] else k["properties"])
    for flag, lanes in (("--subgroup", "32"), ("--lockstep", "16")):
        k, codes = check("scan", flag, lanes, *shape)
        seen = [w["simulator"] for w in k.get("witnesses", [])]
        tell("a scan with %s %s" % (flag, lanes), "" if "refuted" in verdicts(k, "race") and set(seen) == {"confirmed"} else "%s %s" % (k["properties"], seen))
    k, codes = check("by_data", "--lockstep", "32", "--arg", "a=[64]", *shape)
    tell("lanes that data chooses", "" if not k["held"] and set(verdicts(k, "race")) != {"proved"} else k["properties"])
    k, codes = check("together", "--lockstep", "32", "--arg", "x=[groups_x]")
    tell("one access of several lanes", "" if "refuted" in verdicts(k, "race") else k["properties"])
    flags = ["--kernel", "by_value", "--block", "64", "--grid", "1", "--arg", "a=[64]", "--arg", "y=[1]", "--json"]
    plain, run = (json.loads(subprocess.run([tilec, "check", source, *flags, *more], capture_output=True).stdout)["kernels"][0] for more in ([], ["--witness"]))
    tell("a race that data decides", "" if "not proved" in verdicts(plain, "race") and "refuted" in verdicts(run, "race") else "%s %s" % (plain, run))
    k, codes = check("by_table", "--grid", "1", "--arg", "y=[1]")
    tell("a table of one number decides", "" if k["held"] else k["properties"])
    k, codes = check("never_set", "--grid", "1", "--arg", "y=[64]")
    tell("an index that nothing has set", "" if set(verdicts(k, "bounds")) != {"proved"} and "refuted" in verdicts(k, "initialised") else k["properties"])
    x = np.arange(256, dtype=np.float32).reshape(8, 32) % 7
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/written.cu", "w") as f:
            f.write("__constant__ int limits[64];\n__global__ void set() { limits[threadIdx.x] = 1; }\n")
        out = subprocess.run([tilec, "check", folder + "/written.cu", "--block", "64"], capture_output=True, text=True)
        tell("constant memory that is written", "" if "written.cu:2:" in out.stderr and "E1133" in out.stderr else out.stderr[:200])
        d = np.array([0, 1.5, -np.inf, 7, np.nan, -1.5, 1.5, np.inf] * 8)
        np.save(folder + "/d.npy", d.view(np.int64)) # doubles in memory go by their bits
        out = subprocess.run([tilec, "run", source, "--kernel", "doubles", "--block", "64", "--grid", "1", "--device", "cpu", "--arg", "x=[64]", "--arg", "y=[64]", "--arg",
                              "inside=[64]", "--arg", "x=%s/d.npy" % folder, "--out", "y=%s/e.npy" % folder, "--out", "inside=%s/i.npy" % folder], capture_output=True, text=True)
        want = np.array([-2.5, 0.1, 3, 1e300, -2.5, *d[5:]]).view(np.int64)
        right = not out.returncode and np.array_equal(np.load(folder + "/e.npy"), want) and np.array_equal(np.load(folder + "/i.npy"), ((d == 1.5) | (d == -np.inf)).astype(int))
        tell("doubles that are copied and compared with constants", "" if right else out.stderr[:300])
        np.save(folder + "/x.npy", x.reshape(-1))
        for device in ("sim",): # on a CPU threads run one after another, and these barriers stand where only some come by
            out = subprocess.run([tilec, "run", source, "--kernel", "scan", "--lockstep", "32", "--block", "128", "--grid", "2", "--device", device, "--arg", "x=[256]",
                                  "--arg", "x=%s/x.npy" % folder, "--out", "x=%s/y.npy" % folder], capture_output=True, text=True)
            right = not out.returncode and np.array_equal(np.load(folder + "/y.npy").reshape(8, 32), np.cumsum(x, 1))
            tell("the scan on " + device, "" if right else out.stderr[:300])
    return failed > 0

sys.exit(main())
