#!/usr/bin/env python3
"""Scores `tilec check` on a copy of GPUVerify's test suite: what a program's first line says (pass, or xfail) against what we find at the launch that its second
line gives. Races, divergent barriers and null pointers count, as there; out-of-bounds accesses where its options ask for them.

    scripts/score_gpuverify.py SUITE [--tilec build/tilec] [--only WORD] [--rows FILE]

Plain programs are those without atomics, structs, vectors, asynchronous copies, annotations or asserts. Programs that must not compile are to be refused by clang; those that
must fail for GPUVerify's own command line, options or front end say nothing of a kernel, and are not counted."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ANNOTATION = re.compile(r"__(requires|ensures|invariant|global_invariant|assert|assume|candidate\w*|read\w*|write\w*|at|enabled|function_wide\w*|all|exists|"
                        r"barrier_invariant\w*|global_assert|global_assume|other\w*|same_group|implies|accessed|no_read|no_write|non_temporal\w*|add_noovfl\w*|"
                        r"distinct\w*|uniform\w*|array_snapshot|binary_barrier\w*|return_val\w*|old\w*|ite)\s*\(|\bassert\s*\(|\bassume\s*\(")
NOT_PLAIN = re.compile(r"\batom(ic)?_?\w*\s*\(|\batomic\w+|\bstruct\b|\bunion\b|\b(char|uchar|short|ushort|int|uint|long|ulong|float|double)(2|3|4|8|16)\b|async_work_group|curand|"
                       r"\bimage\dd_t\b|cooperative_groups")
# Annotations that say something about values at a place: asserted there, as a store to nothing unless they hold; what a kernel requires is assumed. A function's
# requirements are asserted where it is called, which inlining makes the same place. Those about what was accessed, or about other threads, are not read.
# Arrays of different arguments are apart for us, as __requires_fresh_array says. Candidates are hints, which may be wrong; what values atomics have had is not known.
ASSERTED = r"\b__(assert|invariant|requires|requires_fresh_array|candidate_invariant|function_wide_candidate_invariant|atomic_has_taken_value)\s*\("
PREAMBLE = """%s void annotation_fails(void) { *(volatile %s int *)0 = 0; }
#define __assert(c) ((c) ? (void)0 : annotation_fails())
#define __invariant(c) __assert(c)
#define __requires(c) __assert(c)
#define __assume(c) do { const bool holds = (c); __builtin_assume(holds); } while (0)
#define __implies(a, b) (!(a) || (b))
#define __enabled() 1
#define __requires_fresh_array(p) ((void)0)
#define __candidate_invariant(c) ((void)0)
#define __function_wide_candidate_invariant(c) ((void)0)
%s bool annotation_value(void);
#define __atomic_has_taken_value(p, offset, value) annotation_value()
"""
# Memory without an element: where null, a pointer to no function, and places that must not be reached lead.
NOWHERE = ("null", "no_function", "unreachable")
OF_RACES = ("race", "order", "uniform", "barrier")


def numbers(text):
    return ",".join(re.findall(r"\d+", text))


def launch(options):
    """The launch that the second line says: block and grid, or None."""
    said = dict(re.findall(r"--(local_size|num_groups|global_size|blockDim|gridDim)=(\[[\d,\s]+\]|[\d,]+)", options))
    block, grid = said.get("local_size") or said.get("blockDim"), said.get("num_groups") or said.get("gridDim")
    if block and not grid and "global_size" in said:
        sizes, whole = numbers(block).split(","), numbers(said["global_size"]).split(",")
        grid = ",".join(str(int(w) // int(s)) for w, s in zip(whole, sizes))
    return (numbers(block), numbers(grid)) if block and grid else None


def annotated(text, cuda):
    """The text with its annotations as code: what kernels require becomes an assumption; threads of which an axiom does not hold are none of the launch."""
    axioms = re.findall(r"^__axiom\((.*)\);", text, flags=re.M)
    text = re.sub(r"^__axiom\((.*)\);", "", text, flags=re.M)
    if axioms:
        text = re.sub(r"(\b(?:__kernel|kernel|__global__)\b[^{};]*\{)", r"\1 if (!(%s)) return; " % " && ".join(axioms), text)
    out, depth, head, at = [], 0, 0, 0
    for m in re.finditer(r"[{};]|//[^\n]*|/\*.*?\*/|\b__requires\s*\(", text, flags=re.S):
        word = m.group()
        if word[0] == "/":
            continue
        if word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
        elif word[0] == "_" and re.search(r"\b(__)?kernel\b|__global__", text[head:text.find("{", head) + 1]):
            out += [text[at:m.start()], "__assume("]
            at = m.end()
        if depth == 0 and word[0] != "_":
            head = m.end()
    return (PREAMBLE % (("static __device__", "", "__device__") if cuda else ("static", "__global", ""))) + "".join(out) + text[at:]


def judge(options, path):
    lines = open(path, encoding="latin-1").read().split("\n")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", "\n".join(lines), flags=re.S)
    here = os.path.dirname(path)
    row = {"path": os.path.relpath(path, options.suite), "expected": re.sub(r"^//\s*", "", lines[0]).strip(), "options": lines[1].strip("/ ").strip()}
    row["plain"] = not ANNOTATION.search(text) and not NOT_PLAIN.search(text)
    sizes = launch(lines[1])
    if not sizes:
        return dict(row, found="no launch", why="")
    folder, opaque = None, []
    if re.search(ASSERTED + r"|\b(__assume|__axiom)\s*\(", text):
        folder = tempfile.TemporaryDirectory()
        source = os.path.join(folder.name, os.path.basename(path))
        with open(source, "w", encoding="latin-1") as out:
            out.write(annotated("\n".join(lines), path.endswith(".cu")))
        path = source
        opaque = ["--opaque", "annotation_value"]
    command = [options.tilec, "check", path, *(["-I", here] if folder else []), "--json", "--block", sizes[0], "--grid", sizes[1], *opaque]
    for macro in re.findall(r"(?:^|\s)-D\s*(\w+(?:=\S+)?)", lines[1]):
        command += ["-D", macro if "=" in macro else macro + "=1"]
    warp = re.search(r"--warp-sync=(\d+)", lines[1])
    if warp:
        command += ["--lockstep", warp.group(1)]
    given = re.search(r"--kernel-args=(\w+)((?:,0x[0-9a-fA-F]+)+)", lines[1])
    if given: # of the kernel's scalars, in order
        head = re.search(r"\b%s\s*\(([^)]*)\)" % given.group(1), text)
        names = [re.search(r"(\w+)\s*$", a).group(1) for a in head.group(1).split(",") if "*" not in a and "struct" not in a]
        command += [w for n, v in zip(names, given.group(2)[1:].split(",")) for w in ("--arg", "%s=%d" % (n, int(v, 16)))]
    # Memory that comes with the launch has no size there: one that no index reaches the end of. Functions that the program declares and does not define touch
    # nothing there, and give anything.
    for _ in range(6):
        try:
            run = subprocess.run(command, capture_output=True, timeout=options.limit)
            answer = json.loads(run.stdout)
        except subprocess.TimeoutExpired:
            return dict(row, found="open", why="over %d s" % options.limit)
        except ValueError:
            return dict(row, found="crash", why=(run.stderr.decode(errors="replace").strip().split("\n") or [""])[-1])
        unsized = [re.match(r"the size of `(\w+)` comes with the launch", d["message"]) for d in answer["diagnostics"]]
        unsized = [m.group(1) for m in unsized if m]
        unknown = [m.group(1) for m in (re.match(r"`(\w+)`, a function that is not known", d["message"]) for d in answer["diagnostics"]) if m]
        unknown = [n for n in unknown if re.search(r"\b%s\s*\([^;{}()]*\)\s*;" % n, text) and n not in command]
        if unsized:
            command += ["--arg", "%s=8192" % unsized[0]]
        elif unknown:
            command += ["--opaque", unknown[0]]
        else:
            break
    row, unproved = found(row, answer, lines[1])
    if unproved: # a run may show it
        try:
            answer = json.loads(subprocess.run(command + ["--witness"], capture_output=True, timeout=options.limit).stdout)
            row, _ = found(row, answer, lines[1])
        except (subprocess.TimeoutExpired, ValueError):
            pass
    return row


def found(row, answer, options):
    """The row with what was found, and whether something is neither proved nor refuted."""
    bounds = "check-array-bounds" in options
    refuted, unproved, items = [], [], 0
    for kernel in answer["kernels"]:
        for item in kernel.get("properties", kernel.get("proof", [])) or []:
            items += 1
            said = item["explanation"] or ""
            groups = [re.findall(r"group_\w = \d+", half) for half in said.split("; the other: ")]
            between_groups = said.startswith("two tasks:") or (said.startswith("a run") and len(groups) == 2 and groups[0] != groups[1])
            if item["property"] == "race" and ("--only-divergence" in options or "--only-log" in options or (between_groups and "--only-intra-group" in options)):
                continue
            counts = any(word in item["property"] for word in OF_RACES) or (item["property"] == "bounds" and (bounds or item["subject"] in NOWHERE))
            if item["verdict"] == "refuted" and counts:
                refuted.append(item)
            elif item["verdict"] not in ("proved", "refuted") and counts:
                unproved.append(item)
    errors = [d for d in answer["diagnostics"] if d["severity"] == "error"]
    if "CLANG_ERROR" in row["expected"] and errors and errors[0]["code"] == "E1102": # it must not compile
        return dict(row, found="refuted", why=errors[0]["message"]), False
    constant = [d for d in errors if d["code"] == "E1133"] # constant memory is written: a defect, which it is refused for
    if constant:
        return dict(row, found="refuted", why=constant[0]["message"]), False
    if refuted:
        return dict(row, found="refuted", why="%s of %s: %s" % (refuted[0]["property"], refuted[0]["subject"], refuted[0].get("witness", ""))), False
    if unproved:
        return dict(row, found="open", why="%s of %s" % (unproved[0]["property"], unproved[0]["subject"])), True
    if not items:
        return dict(row, found="not read", why="%s %s" % (errors[0]["code"], errors[0]["message"]) if errors else "nothing"), False
    return dict(row, found="proved", why=""), False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite")
    parser.add_argument("--tilec", default="build/tilec")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", help="a file for a line of JSON for each program")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    paths = []
    for folder, _, names in os.walk(options.suite):
        paths += [os.path.join(folder, n) for n in names if n.endswith((".cl", ".cu")) and options.only in os.path.join(folder, n)]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda p: judge(options, p), sorted(paths)))
    if options.rows:
        with open(options.rows, "w") as out:
            out.writelines(json.dumps(r) + "\n" for r in rows)
    wrong = 0
    for plain in (True, False):
        counted = {}
        for r in rows:
            if r["plain"] != plain or not re.match(r"pass|xfail:(NOT_ALL_VERIFIED|CLANG_ERROR)", r["expected"], re.I):
                continue
            counted.setdefault("pass" if r["expected"].lower() == "pass" else "fail", {}).setdefault(r["found"], []).append(r)
        print("plain programs" if plain else "others (atomics, structs, vectors, annotations)")
        for expected, found in sorted(counted.items()):
            right = len(found.get("proved" if expected == "pass" else "refuted", []))
            total = sum(map(len, found.values()))
            print("  should %s: %d of %d judged right (%s)" % (expected, right, total, ", ".join("%d %s" % (len(v), k) for k, v in sorted(found.items()))))
        for r in counted.get("fail", {}).get("proved", []):
            print("  SHOULD FAIL, BUT IS PROVED: " + r["path"])
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
