#!/usr/bin/env python3
"""Counts how many kernels of a Metal text become Kernel IR, by what stops the others, and with --prove what is found of them: what `tilec check --summary` says of it.

    scripts/score_metal.py FILE [--tilec build/tilec] [--block 32,4] [--only WORD] [--every N] [--prove] [--limit SECONDS] [--json] [--rows FILE]

Nothing is known of the launch but the threads of a block and that threadgroup memory whose size comes with the launch has 32 KiB, so what is counted is whether the text is
understood, not whether a launch is safe. What stops the others is counted by class, the first of CLASSES whose words the first error has."""
import argparse
import json
import re
import subprocess
import sys
from collections import Counter

CLASSES = (("matrices of a simdgroup", r"simdgroup_matrix|simdgroup_\w*(load|store|multiply)|matrix"),
           ("memory of several types", r"is accessed as .* and as |of several views|is read as .* and as "),
           ("elements that memory cannot hold", r"memory that holds|an integer of \d+ bits, in|bits of .* taken as"),
           ("addresses between elements", r"no multiples of"),
           ("a type of integer or float", r"double precision|64-bit integer|parameter of type"),
           ("pointers in memory, or not into one array", r"pointer"),
           ("functions that are not known", r"^E1128"),
           ("loops", r"^E1123|loop"),
           ("what the launch has to say", r"^E1131"),
           ("compilation", r"^E110"))
SHARED_BYTES = 32768


def class_of(row):
    errors = [d for d in row["diagnostics"] if d["severity"] == "error"] or [{"code": "", "message": "nothing was said"}]
    text = errors[0]["code"] + " " + errors[0]["message"]
    return next((name for name, words in CLASSES if re.search(words, text) or re.search(words, errors[0]["message"])), "other")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("-I", action="append", default=[], help="a folder with its headers")
    parser.add_argument("--tilec", default="build/tilec")
    parser.add_argument("--block", default="32,4")
    parser.add_argument("--only", default="", help="names with this word")
    parser.add_argument("--every", type=int, default=1, help="one of so many names")
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--json", action="store_true", help="the whole answer")
    parser.add_argument("--rows", help="a file for a line of JSON for each kernel")
    parser.add_argument("--limit", type=float, default=10, help="seconds for a kernel's proof")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folders = [w for folder in options.I for w in ("-I", folder)]
    command = [options.tilec, "check", options.file, "--summary", "--json", "--block", options.block, "--shared", str(SHARED_BYTES),
               "--jobs", str(options.jobs), "--limit", str(options.limit if options.prove else 0)] + folders
    if options.only or options.every > 1:
        listed = subprocess.run([options.tilec, "kernels", "--names", options.file] + folders, capture_output=True, text=True)
        for name in [n for n in listed.stdout.splitlines() if options.only in n][::options.every]:
            command += ["--kernel", name]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        sys.exit(done.stderr.strip() or "no answer")
    if options.json:
        print(done.stdout)
        return
    rows, summary = answer["kernels"], answer.get("summary")
    if not summary:
        sys.exit("\n".join(d["message"] for d in answer["diagnostics"]))
    if options.rows:
        with open(options.rows, "w") as out:
            for row in rows:
                out.write(json.dumps(row) + "\n")
    missed = [r for r in rows if r["verdict"] == "not read"]
    print("%d of %d kernels become Kernel IR in %.1f s, %.1f s of processors (clang %.1f, LLVM %.1f, lifting %.1f, proofs %.1f); the slowest took %.1f s: %s" % (
        len(rows) - len(missed), len(rows), *(summary[k] for k in ("seconds", "processor_seconds", "clang_seconds", "llvm_seconds", "lifting_seconds",
                                                                    "proof_seconds", "slowest_seconds", "slowest"))))
    for verdict in ("proved", "refuted", "open"):
        if options.prove:
            print("%6d  %s" % (summary[verdict], verdict))
            for x in summary["reasons"][verdict][:8]:
                print("    %4d  %s" % (x["kernels"], x["reason"]))
    for name, n in Counter(class_of(r) for r in missed).most_common():
        print("%6d  not read: %s" % (n, name))
    for x in summary["reasons"]["not read"][:8]:
        print("    %4d  %s" % (x["kernels"], x["reason"]))


if __name__ == "__main__":
    main()
