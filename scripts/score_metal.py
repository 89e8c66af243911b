#!/usr/bin/env python3
"""Counts how many kernels of a Metal text are read: each host name of the text alone, up to Kernel IR, or with --prove up to the proof.

    scripts/score_metal.py FILE [--tilec build/tilec] [--block 32,4] [--only WORD] [--prove] [--json] [--rows FILE]

Nothing is known of the launch but the threads of a block, so what is counted is whether the text is understood, not whether a launch is safe. Threadgroup memory whose size
comes with the launch gets 32 KiB. What stops the others is counted by class, the first of CLASSES whose words the first error has."""
import argparse
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

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
BYTES = {"f32": 4, "i32": 4, "u32": 4, "index": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
SHARED_BYTES = 32768


def read(options, name):
    """A row: name, whether it became Kernel IR, seconds, and what stopped it."""
    command = [options.tilec, "check", options.file, "--kernel", name, "--block", options.block, "--dump", "l", "--json"]
    start = time.time()
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        timer = threading.Timer(options.limit, process.kill)
        timer.start()
        first = process.stderr.readline()
        reached = first.startswith("kernel ")
        if reached and not options.prove:
            process.kill()
        out, err = process.communicate()
        timer.cancel()
        row = {"name": name, "reached": reached, "seconds": round(time.time() - start, 2)}
        if reached and not options.prove:
            return row
        try:
            answer = json.loads(out)
        except ValueError:
            late = process.returncode == -9
            return dict(row, proof="over %d s" % options.limit if late else "crash", why="" if reached else "over %d s" % options.limit if late else
                        "crash: " + (first + err).strip()[-200:], code="")
        if reached:
            kernel = answer["kernels"][0] if answer["kernels"] else {}
            return dict(row, proof="proved" if answer.get("held") else "not proved", properties=len(kernel.get("properties", kernel.get("proof", [])) or []))
        errors = [d for d in answer["diagnostics"] if d["severity"] == "error"] or [{"code": "", "message": "nothing was said", "line": 0}]
        e = errors[0]
        unsized = re.match(r"the size of `\w+` comes with the launch: --arg (\S+)=COUNT says how many (\w+)", e["message"])
        if not unsized:
            return dict(row, code=e["code"], why=e["message"], line=e["line"])
        command += ["--arg", "%s=%d" % (unsized.group(1), SHARED_BYTES // BYTES.get(unsized.group(2), 1))]
    return dict(row, code="E1131", why="sizes that go on being asked for")


def class_of(row):
    for name, words in CLASSES:
        if re.search(words, row.get("code", "") + " " + row["why"]) or re.search(words, row["why"]):
            return name
    return "other"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--tilec", default="build/tilec")
    parser.add_argument("--block", default="32,4")
    parser.add_argument("--only", default="", help="names with this word")
    parser.add_argument("--every", type=int, default=1, help="one of so many names")
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rows", help="a file for a line of JSON for each kernel")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a kernel")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    listed = subprocess.run([options.tilec, "kernels", "--names", options.file], capture_output=True, text=True)
    if listed.returncode:
        sys.exit(listed.stderr.strip())
    names = [n.split()[0] for n in listed.stdout.splitlines() if n.strip() and options.only in n][::options.every]
    start = time.time()
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda n: read(options, n), names))
    if options.rows:
        with open(options.rows, "w") as out:
            for row in rows:
                out.write(json.dumps(row) + "\n")
    reached = [r for r in rows if r["reached"]]
    classes, reasons = Counter(), {}
    for r in rows:
        if not r["reached"]:
            c = class_of(r)
            classes[c] += 1
            reasons.setdefault(c, Counter())[re.sub(r"`[^`]*`", "`..`", r["code"] + " " + r["why"])[:150]] += 1
    proofs = Counter(r["proof"] for r in reached) if options.prove else {}
    if options.json:
        print(json.dumps({"kernels": len(rows), "reached": len(reached), "proofs": proofs, "classes": classes, "seconds": round(time.time() - start, 1)}))
        return
    print("%d of %d kernels become Kernel IR (%.1f s; the slowest took %.1f s)" % (len(reached), len(rows), time.time() - start,
                                                                               max((r["seconds"] for r in rows), default=0)))
    for what, n in sorted(proofs.items()):
        print("    %4d  %s" % (n, what))
    for c, n in classes.most_common():
        print("%6d  %s" % (n, c))
        for why, m in reasons[c].most_common(6):
            print("    %4d  %s" % (m, why))


if __name__ == "__main__":
    main()
