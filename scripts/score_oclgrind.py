#!/usr/bin/env python3
"""Scores `tilec check` on a copy of Oclgrind's test kernels (tests/kernels of its source): what X.ref says that its simulator reports (a line ERROR, or none) against
what we find at the launch of X.sim, with its sizes and scalars and for any data.

    scripts/score_oclgrind.py FOLDER [--tilec build/tilec] [--only WORD] [--rows FILE]"""
import argparse
import json
import os
import re
import subprocess
import sys

SIZES = {"char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "unsigned": 4, "float": 4, "long": 8, "ulong": 8, "double": 8, "size_t": 8}

# Refusals of what is undefined whatever the data: a store to memory that is only read (and a load of what is only written), a wait for an event that no copy has given.
UNDEFINED = ("E1133", "E1135")

WIDTHS = {"u8": 1, "i8": 1, "u16": 2, "f16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8}


def read_launch(path):
    lines = [l.split("#")[0].strip() for l in open(path)]
    lines = [l for l in lines if l]
    sizes = [[int(n) for n in l.split()] for l in lines[2:4]]
    given = [] # arguments: <size=16 float>, and what it holds on the lines behind it where nothing fills it
    for line in lines[4:]:
        if line[0] == "<":
            given.append([line, []])
        elif given:
            given[-1][1] += line.split()
    return lines[0], lines[1], sizes[0], sizes[1], given


def arguments(kernel, given):
    """Flags for what the launch says of the kernel's arguments, in order."""
    flags = []
    for parameter, (text, data) in zip(kernel["parameters"], given):
        type_, name = parameter["type"], parameter["name"]
        size = re.search(r"size=(\d+)", text)
        word = re.sub(r"\b(global|local|constant|const|volatile|restrict|__\w+)\b|\*", " ", type_).split()
        scalar = re.sub(r"\d+$", "", word[-1]) if word else ""
        if size and "*" in type_ and scalar in SIZES:
            count = int(size.group(1)) // SIZES[scalar]
            host = "in " if re.search(r"\bro\b", text) else "unread " if re.search(r"\bwo\b", text) else \
                "unset " if re.search(r"\bnoinit\b", text) else "" # read-only, write-only for the kernel; not filled by the host
            flags += ["--arg", "%s=%d" % (name, count) if "buffer" not in parameter["kind"] else "%s=%s[%d]" % (name, host, count)]
        elif "*" not in type_ and len(data) == 1 and re.fullmatch(r"-?\d+", data[0]) and scalar in SIZES and scalar not in ("float", "double", "half"):
            flags += ["--arg", "%s=%s" % (name, data[0])]
    return flags


def judge(options, path):
    source, name, whole, block, given = read_launch(path)
    source = os.path.join(os.path.dirname(path), source)
    expected = "fail" if re.search(r"^ERROR", open(path[:-4] + ".ref").read(), re.M) else "pass"
    row = {"path": os.path.relpath(path[:-4], options.folder), "expected": expected}
    if any(w % b for w, b in zip(whole, block)):
        return dict(row, found="no launch", why="groups that are not whole")
    command = [options.tilec, "kernels", source, "--json"]
    listed = subprocess.run(command, capture_output=True)
    try:
        kernel = [k for k in json.loads(listed.stdout)["files"][0]["kernels"] if k["name"] == name][0]
    except (ValueError, LookupError, KeyError):
        return dict(row, found="not read", why=listed.stderr.decode(errors="replace").split("\n")[0])
    sizes = ["--block", ",".join(map(str, block)), "--grid", ",".join(str(w // b) for w, b in zip(whole, block)), *arguments(kernel, given)]
    command = [options.tilec, "check", source, "--kernel", name, *sizes]
    for form, words in (("%d", r"--arg (\w+)=COUNT says how many (\w+) it has"), ("[%d]", r"`(\w+)` has \w+_length elements of type (\w+)")):
        said = subprocess.run(command + ["--explain"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode(errors="replace")
        for array, element in re.findall(words, said): # structs and the like
            size = [re.search(r"size=(\d+)", g[0]) for p, g in zip(kernel["parameters"], given) if p["name"] == array]
            if size and size[0] and element in WIDTHS:
                command += ["--arg", "%s=%s" % (array, form % (int(size[0].group(1)) // WIDTHS[element]))]
    command += ["--json", "--witness"]
    try:
        answer = json.loads(subprocess.run(command, capture_output=True, timeout=options.limit).stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return dict(row, found="open", why="no answer in %d s" % options.limit)
    items = [p for k in answer["kernels"] for p in k["properties"]]
    by = {v: ["%s of %s" % (p["property"], p["subject"]) for p in items if p["verdict"] == v] for v in ("refuted", "not proved")}
    errors = ["%s %s" % (d["code"], d["message"]) for d in answer["diagnostics"] if d["severity"] == "error"]
    if by["refuted"] or any(e[:5] in UNDEFINED for e in errors):
        return dict(row, found="refuted", why=", ".join(by["refuted"]) or errors[0])
    if by["not proved"]:
        return dict(row, found="open", why=", ".join(by["not proved"]))
    return dict(row, found="proved" if items else "not read", why="" if items else (errors or ["nothing"])[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--tilec", default="build/tilec")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", help="a file for a line of JSON for each kernel")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a kernel")
    options = parser.parse_args()
    paths = [os.path.join(f, n) for f, _, names in os.walk(options.folder) for n in names if n.endswith(".sim") and options.only in os.path.join(f, n)]
    rows = [judge(options, p) for p in sorted(paths) if os.path.exists(p[:-4] + ".ref")]
    if options.rows:
        with open(options.rows, "w") as out:
            out.writelines(json.dumps(r) + "\n" for r in rows)
    right = {"pass": "proved", "fail": "refuted"}
    for expected in ("fail", "pass"):
        of = [r for r in rows if r["expected"] == expected]
        counts = {f: sum(r["found"] == f for r in of) for f in sorted({r["found"] for r in of})}
        print("should %s: %d of %d judged right (%s)" % (expected, counts.get(right[expected], 0), len(of), ", ".join("%d %s" % (n, f) for f, n in counts.items())))
    for r in rows:
        if r["found"] != right[r["expected"]]:
            print("  %s should %s, is %s: %s" % (r["path"], r["expected"], r["found"], r["why"][:150]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
