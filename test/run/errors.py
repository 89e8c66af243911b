#!/usr/bin/env python3
"""Every code that the sources use has a row in src/base/errors/*.def, in one place only; every row is used or marked RESERVED."""
import glob
import os
import re
import subprocess
import sys

failed = False


def report(name, problems):
    global failed
    failed |= bool(problems)
    print(("FAIL " if problems else "ok ") + name)
    for problem in problems:
        print("    " + problem)


def without_comments(text):
    keep = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
    return keep.sub(lambda m: " " if m.group().startswith("/") else m.group(), text)


def read(path):
    with open(path, encoding="utf-8") as f:
        return without_comments(f.read())


rows = {}
problems = []
tables = sorted(glob.glob("src/base/errors/*.def"))
for path in tables:
    for kind, code in re.findall(r"\b(ERROR|RESERVED)\s*\(\s*(\w+)", read(path)):
        if not re.fullmatch(r"E(0[1-9]|1[0-2])\d\d", code):
            problems.append(f"{path}: {code} is no code")
        if code in rows:
            problems.append(f"{code} stands in {rows[code][0]} and in {path}")
        rows[code] = (path, kind)
included = read("src/base/errors.def")
problems += [f"src/base/errors.def does not include {t}" for t in tables if t.removeprefix("src/") not in included]
report("each code has one row", problems)

used = {}
for pattern in ("src/**/*.c", "src/**/*.h", "src/**/*.def", "python/tilec/*.py"):
    for path in glob.glob(pattern, recursive=True):
        if path not in tables:
            for code in re.findall(r'"(E\d{4})"', read(path)):
                used.setdefault(code, path)
report("each code used has a row", [f"{used[c]} uses {c}, which has no row" for c in sorted(used) if c not in rows])
report("each row is used", [f"{rows[c][0]}: nothing uses {c}; mend that, remove the row, or mark it RESERVED"
                            for c in sorted(rows) if rows[c][1] == "ERROR" and c not in used])
report("no reserved row is used", [f"{used[c]} uses {c}, which is marked RESERVED" for c in sorted(rows)
                                   if rows[c][1] == "RESERVED" and c in used])

tilec = os.environ.get("TILEC", "build/tilec")
if not os.path.exists(tilec):
    print("skip explain (no tilec program here)")
else:
    missing = [c for c in sorted(rows) if subprocess.run([tilec, "explain", c], capture_output=True).returncode != 0]
    report("tilec explain knows each code", missing)
    made = subprocess.run([tilec, "explain", "--all", "--markdown"], capture_output=True, text=True)
    try:
        with open("doc/errors.md", encoding="utf-8") as f:
            kept = f.read()
    except OSError:
        kept = None
    stale = made.returncode != 0 or kept != made.stdout
    report("doc/errors.md is what the table says", ["run `tilec explain --all --markdown > doc/errors.md`"] if stale else [])
sys.exit(failed)
