#!/usr/bin/env python3
"""Defects met in real kernels, written anew (test/lift/defects): each `broken` is refuted with a witness that the simulator confirms, each `mended` proved. In OpenCL
C a file each, but those of copies by the work-group; in CUDA and in Metal all in one, as NAME_broken and NAME_mended."""
import glob, json, os, re, shutil, subprocess, sys

tilec, build = os.environ["TILEC"], os.environ["BUILD"]
here = os.path.dirname(os.path.abspath(__file__))
# What is broken, and at which line of the file.
WANTED = {
    "field_overrun": ("bounds", {11}),
    "loop_overwrites": ("race", {10, 11, 12, 14}), "mask_overwritten": ("race", {8, 10}), "norm_mean": ("race", {12, 14, 19}),
    "overflow": ("bounds", {3, 4}), "rows_unwritten": ("coverage", {0, 3, 4, 5, 6}), "scan_in_place": ("race", {8, 9}),
    "scratch_reused": ("race", {4, 6, 8, 12, 14}), "skipped_barrier": ("order", {7}), "slice_past_end": ("bounds", {5}),
    "stale_cells": ("initialised", {10}), "through_null": ("bounds", {7}), "unused_read": ("race", {2, 9}),
}
PROPERTY = dict({name: prop for name, (prop, _) in WANTED.items()}, warp_unmet="race", rows_past_end="bounds", read_early="race", copied_early="race", unlike_threads="order",
                tile_past_end="bounds", overlapping="race", slot_in_use="race", half_the_threads="order", own_half="order", called_unset="bounds", no_way_on="bounds", given_unknown="bounds", unset_stored="initialised", image_past_end="bounds", texel_past_end="bounds", pointer_overwritten="race",
                tail_below_start="bounds")
TOO_LARGE = {"overflow"}  # at its witness an array has 2^31 elements

def check(path):
    out = subprocess.run([tilec, "check", path, "--witness", "--json"], capture_output=True, text=True)
    return json.loads(out.stdout), out.stderr

def judge(name, prop, lines, broken, mended):
    """What is wrong with the two verdicts; "" where nothing is."""
    why = []
    refuted = [p for p in broken["properties"] if p["verdict"] == "refuted"]
    if broken["held"] or not any(p["property"] == prop for p in refuted):
        why.append("broken is not refuted for %s: %s" % (prop, [(p["property"], p["verdict"]) for p in broken["properties"]]))
    if not any(d.get("line") in lines for d in broken["diagnostics"]):
        why.append("no diagnostic stands at lines %s: %s" % (sorted(lines), [d.get("line") for d in broken["diagnostics"]]))
    seen = [w["simulator"] for w in broken.get("witnesses", []) if w["property"] == prop]
    if name not in TOO_LARGE and (not seen or any(s != "confirmed" for s in seen)):
        why.append("the simulator does not confirm: %s" % seen)
    if not mended["held"]:
        why.append("mended is not proved: %s" % [p for p in mended["properties"] if p["verdict"] != "proved"])
    return "; ".join(why)

def tell(name, why):
    print("FAIL %s: %s" % (name, why) if why else "ok %s refuted, mended proved" % name)
    return bool(why)

def together(path):
    """The pairs of one text; each is told by the lines from behind the pair before it to its own last kernel."""
    language = os.path.basename(path).split(".")[0]
    result, errors = check(path)
    kernels = {k["kernel"]: k for k in result["kernels"]}
    text = open(path).read()
    names = re.findall(r"(\w+)_broken\(", text)
    ends = [text[:re.search(name + r"_mended\(", text).start()].count("\n") + 2 for name in names]
    failed, begin = False, 1
    for name, end in zip(names, ends):
        broken, mended = kernels.get(name + "_broken"), kernels.get(name + "_mended")
        if not broken or not mended:
            why = "not both kernels were read: " + json.dumps(result.get("diagnostics", errors))[:400]
        else:
            why = judge(name, PROPERTY[name], set(range(begin, end + 1)), broken, mended)
        failed = tell("%s in %s" % (name, language), why) or failed
        begin = end
    return failed

def main():
    if not os.path.exists(os.path.join(build, "tilec-lift.so")) or not (os.environ.get("TILEC_CLANG") or shutil.which("clang-19")):
        print("skip defects (no LLVM here)")
        return 0
    failed = False
    for path in sorted(glob.glob(os.path.join(here, "defects", "*.cl"))):
        name = os.path.basename(path)[:-3]
        if name not in WANTED:
            continue
        result, errors = check(path)
        kernels = {k["kernel"]: k for k in result["kernels"]}
        broken, mended = kernels.get("broken"), kernels.get("mended")
        if not broken or not mended:
            why = "not both kernels were read: " + json.dumps(result.get("diagnostics", errors))[:400]
        else:
            why = judge(name, *WANTED[name], broken, mended)
        failed = tell(name, why) or failed
    for name in ("cuda.cu", "metal.metal", "copies.cl"):
        failed = together(os.path.join(here, "defects", name)) or failed
    return failed

sys.exit(main())
