#!/usr/bin/env python3
"""Kernels of other languages: what is not read is named at its line, and what a proof needs and nobody said is found, and suffices."""
import json, os, shutil, subprocess, sys, tempfile

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "refused.cl")
UNREAD = {2: "E1129", 3: "E1128", 4: "E1128", 6: "E1127", 9: "E1125", 12: "E1124", 50: "E1134", 58: "E1135", 61: "E1111"}

def check(*words):
    out = subprocess.run([tilec, "check", source, "--json", "--block", "64"] + list(words), capture_output=True, text=True)
    return json.loads(out.stdout)

WHOLE = """#include <metal_stdlib>
using namespace metal;
kernel void copied(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i];
}
kernel void unknown(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = nobody_knows_this(i); }
kernel void past(device float *y [[buffer(0)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]],
                 threadgroup float *s [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]]) {
    s[t] = 1;
    if (i <= n) y[i] = s[t];
}
"""

def summary():
    """Every kernel of a text in one command, though one does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "whole.metal")
        with open(path, "w") as f:
            f.write(WHOLE)
        words = [tilec, "check", path, "--summary", "--json", "--block", "64", "--shared", "256", "--arg", "x=[n]", "--arg", "y=[n]"]
        out = json.loads(subprocess.run(words, capture_output=True, text=True).stdout)
    rows = [(k["kernel"], k["verdict"]) for k in out["kernels"]]
    counts = {k: out["summary"][k] for k in ("proved", "refuted", "open", "not read")}
    why = [k["diagnostics"][0]["code"] for k in out["kernels"] if k["diagnostics"]]
    if rows != [("copied", "proved"), ("unknown", "not read"), ("past", "refuted")] or why != ["E1102", "E0401"]:
        return str(rows) + str(why)
    return counts != {"proved": 1, "refuted": 1, "open": 0, "not read": 1} and str(counts)

def say(name, why):
    print("FAIL %s: %s" % (name, why) if why else "ok %s" % name)
    return bool(why)

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip refused (no LLVM here)")
        return 0
    whole = check()
    seen = {(d["line"], d["code"]) for d in whole["diagnostics"] if d["code"].startswith("E11")}
    failed = say("what is not read is named at its line", seen != set(UNREAD.items()) and "seen: %s" % sorted(seen))
    kernels = {k["kernel"]: k for k in whole["kernels"]}
    found = check("--kernel", "add").get("where", [])
    failed |= say("conditions are found", sorted(found) != ["n <= a_length", "n <= b_length", "n <= c_length"] and str(found))
    words = [w for c in found for w in ("--where", c)]
    failed |= say("conditions suffice", not check("--kernel", "add", *words)["kernels"][0]["held"] and "refused below them")
    shapes = ["--kernel", "rows", "--grid", "rows", "--arg", "x=[rows, cols]", "--arg", "y=[rows, cols]", "--arg", "rows=0..65535", "--arg", "cols=0..65535"]
    wide = check(*shapes)["kernels"][0]
    why = [p["explanation"] for p in wide["properties"] if p["verdict"] == "refuted"]
    failed |= say("a 32-bit row offset that overflows", not any("outside its stated range" in w for w in why) and str(why))
    failed |= say("not with fewer elements", not check(*shapes, "--where", "rows * cols <= 1073741824")["kernels"][0]["held"] and "refused")
    failed |= say("no condition that no launch meets", check("--kernel", "past", "--arg", "a=[n]").get("where") and "found one")
    zero = [p["witness"] for p in kernels["divides"]["properties"] if p["verdict"] == "refuted" and "divisor" in (p["subject"] or "")]
    failed |= say("a division by zero", not any("n = 0" in w for w in zero) and str(zero))
    both = check("--grid", "1", "--kernel", "strided", "--kernel", "meets")["kernels"]
    races = {k["kernel"]: [p["verdict"] for p in k["properties"] if p["property"] == "race"] for k in both}
    failed |= say("what the source assumes of the launch holds", set(races["strided"]) != {"proved"} and "a race")
    failed |= say("a barrier of flags that are not constant orders nothing", "refuted" not in races["meets"] and "no race")
    late = [p["explanation"] for k in check("--kernel", "past", "--limit", "0.0001")["kernels"] for p in k["properties"] if p["verdict"] == "not proved"]
    failed |= say("a proof that takes longer than it may says so", not any("not decided in 0.0001 s" in w for w in late) and str(late))
    failed |= say("all kernels of a text", summary())
    turns = {k: {p["verdict"] for p in kernels["turn_" + k]["properties"] if p["property"] == "race"} for k in ("group", "device", "item", "fence", "item_fence")}
    wrong = {k: v for k, v in turns.items() if ("refuted" in v) != (k not in ("group", "device"))}
    failed |= say("barriers order by their scopes, fences make nobody wait", str(wrong) if wrong else "")
    host = lambda x, y: [d["code"] for d in check("--kernel", "turn_group", "--grid", "1", "--arg", "x=%s[64]" % x, "--arg", "y=%s[64]" % y)["diagnostics"]]
    codes = [host("in ", "unread "), host("unread f32", ""), host("", "in f32"), host("unset ", "unset ")]
    failed |= say("memory that the host made read-only or write-only, or has not filled", codes != [[], ["E1133"], ["E1133"], ["E0403"]] and str(codes))
    some = lambda a: [d["code"] for d in check("--kernel", "elements", "--grid", "1", "--arg", a + "=unread[256]")["diagnostics"] if d["code"] == "E1133"]
    failed |= say("setting some elements of a vector reads none", (some("y"), some("z")) != ([], ["E1133"]) and str((some("y"), some("z"))))
    return failed

sys.exit(main())
