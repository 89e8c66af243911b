#!/usr/bin/env python3
"""`tilec build --target all` of each kernel that comes with tilec: lowering, proofs and text for a target beyond the first should cost less than 100 ms
(of the processor's time, which other programs disturb less). A time decides no test: kernels that take longer are told, and counted as skipped."""
import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

TILEC, LIMIT, TRIES = os.environ["TILEC"], 100.0, 4


def build(path, kernel, target, folder):
    """Milliseconds of the processor's time, and the rows."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([TILEC, "build", path, "--kernel", kernel, "--shape", "D=128", "--shape", "G=6", "--target", target, "--json", "-o", folder],
                          capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = json.loads(done.stdout).get("kernels", []) if done.returncode == 0 else []
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), rows, done.stdout + done.stderr


failed, over, slowest = 0, 0, []
with tempfile.TemporaryDirectory() as work:
    for path in sorted(glob.glob("kernels/*.tile")):
        for kernel in re.findall(r"^kernel (\w+)", open(path, encoding="utf-8").read(), re.M):
            best = None
            for _ in range(TRIES):
                everything, rows, said = build(path, kernel, "all", work)
                if len(rows) < 3:
                    print(f"FAIL {kernel}: not built for all\n{said}")
                    failed += 1
                    break
                first, _, _ = build(path, kernel, rows[0]["target"], work)
                each = (everything - first) / (len(rows) - 1)
                best = each if best is None else min(best, each)
                if best < LIMIT or best > 1.3 * LIMIT:  # what disturbs a measurement does not make so much of it
                    break
            if best is None:
                continue
            slowest.append((best, kernel))
            if best >= LIMIT:
                print(f"skip {kernel}: {best:.0f} ms a target beyond the first, over the {LIMIT:.0f} asked for")
                over += 1
print("slowest, ms a target beyond the first: " + ", ".join(f"{kernel} {ms:.0f}" for ms, kernel in sorted(slowest, reverse=True)[:6]))
if not failed:
    print(f"ok every kernel is built for all targets; {len(slowest) - over} of {len(slowest)} in less than {LIMIT:.0f} ms a target beyond the first")
sys.exit(1 if failed else 0)
