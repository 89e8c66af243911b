#!/usr/bin/env python3
"""The lab as a whole: its store under kills and company, shards and merging, reports, facts, and what is committed. No time decides anything."""
import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

tilec = os.path.abspath(os.environ.get("TILEC", "build/tilec"))
quick = ["--rounds", "6", "--sample-ms", "0.01", "--threads", "1"]
quicker = quick + ["--no-marginal", "--no-ceilings"]
failed = False
work = tempfile.TemporaryDirectory()
count = 0


def check(name, held, *details):
    global failed
    failed |= not held
    print(("ok " if held else "FAIL ") + name)
    if not held:
        for detail in details:
            print("    " + str(detail).replace("\n", "\n    ")[:3000])


def run(*arguments, **more):
    return subprocess.run([tilec, "bench", *arguments], capture_output=True, text=True, timeout=900, **more)


def new_store():
    global count
    count += 1
    return os.path.join(work.name, f"store{count}")


def rows(store, kind="arm"):
    found = []
    for name in sorted(os.listdir(store)) if os.path.isdir(store) else []:
        with open(os.path.join(store, name)) as f:
            found += [json.loads(line) for line in f]
    return [r for r in found if r["kind"] == kind]


# A sweep, with everything measured; the row of the run and of the ceilings.
store = new_store()
done = run("--kernel", "vec_add", "--shape", "N=100", "--shape", "N=5000", "--shape", "N=70000", "--store", store, "--threshold", "1.1", "ours", "ours:B=64",
           *quick)
check("a sweep", done.returncode == 0 and len(rows(store)) == 6, done.stderr, done.stdout)
check("the run tells of the machine", len(rows(store, "run")) == 1 and rows(store, "run")[0]["machine"]["processors"] >= 1)
check("the command is kept, but not where its rows went", all(r["command"].startswith("tilec bench --kernel vec_add") and "--sample-ms 0.01" in r["command"]
                                                                and store not in json.dumps(r) for r in rows(store) + rows(store, "run")))
ceilings = rows(store, "ceilings")
check("ceilings", len(ceilings) == 1 and all(ceilings[0][k] > 0 for k in ("launch_ns", "launch_all_ns", "fma_per_second")), ceilings)
measured = rows(store)
check("each row says what binds it", all(r["ceiling"]["binds"] in ("read", "copy", "fma", "launch") and r["ceiling"]["percent"] > 0 for r in measured), measured)
check("marginal costs", all(r["marginal"]["launches"][:3] == [1, 2, 4] and r["marginal"]["ns"] is not None for r in measured), measured)
thresholds = rows(store, "threshold")
with open(os.path.join(store, os.listdir(store)[0])) as f:
    kinds = [json.loads(line)["kind"] for line in f]
check("thresholds are written down before the rows they judge", len(thresholds) == 3 and kinds.index("threshold") < kinds.index("arm")
      and all(r["threshold"]["verdict"] in ("reached", "not reached", "inconclusive") for r in measured if r["ratio"]), kinds)
check("the terminal shows the verdict", "threshold 1.10x" in done.stdout, done.stdout)

# Reports from the same rows.
for form, words in [("text", ["vec_add", "A/A"]), ("markdown", ["| vec_add |", "geometric mean"]), ("html", ["<svg", "prefers-color-scheme", "viewport"]),
                    ("csv", ["kernel", "ratio.median"])]:
    first, again = run("--report", form, "--store", store), run("--report", form, "--store", store)
    check(f"report: {form}", first.returncode == 0 and all(w in first.stdout for w in words), first.stderr, first.stdout[:500])
    check(f"report: {form}, the same bytes again", first.stdout == again.stdout)
page = run("--report", "html", "--store", store).stdout
check("the page needs nothing from elsewhere", "<script" not in page and "src=" not in page and "@import" not in page and 'href="http' not in page)
check("the page has its four plots", all(f"<h2>{t}</h2>" in page for t in ("Ratios", "Sweeps", "Rooflines", "Marginal cost")))
check("an empty store is said", run("--report", "text", "--store", new_store()).returncode == 1)
check("an unknown form is said", "E1006" in run("--report", "pdf", "--store", store).stderr)

# The same machine after its system's kernel was renewed, and another machine.
for renewed, entries in (("kernel", 6), ("memory_gigabytes", 12)):
    two = new_store()
    with open(os.path.join(store, os.listdir(store)[0])) as f:
        lines = [json.loads(line) for line in f]
    for name in ("first", "second"):
        for row in lines:
            row["environment"] = name
            if "machine" in row:
                row["machine"][renewed] = name
        os.makedirs(two, exist_ok=True)
        with open(os.path.join(two, name + ".jsonl"), "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in lines)
    table = run("--report", "markdown", "--store", two).stdout
    check(f"rows of a machine whose {renewed} is another: {entries}", table.count("| vec_add |") == entries, table[:800])

# A kernel that means something else makes its rows stale.
kernels = os.path.join(work.name, "kernels")
shutil.copytree("kernels", kernels)
with open(os.path.join(kernels, "elementwise.tile")) as f:
    text = f.read()
with open(os.path.join(kernels, "elementwise.tile"), "w") as f:
    f.write("// another comment changes nothing\n" + text)
changed = dict(os.environ, TILEC_KERNELS=kernels)
check("a comment makes nothing stale", "stale: the kernel" not in run("--report", "text", "--store", store, env=changed).stdout)
with open(os.path.join(kernels, "elementwise.tile"), "w") as f:
    f.write(text.replace("a[i] + b[i]", "b[i] + a[i]"))
check("a changed kernel makes its rows stale", "stale: the kernel" in run("--report", "text", "--store", store, env=changed).stdout)

# Shards, and a lost one.
shapes = [w for n in (10, 20, 30, 40, 50) for w in ("--shape", f"N={n}")]
shards = [new_store() for _ in range(3)]
for i, shard in enumerate(shards):
    done = run("--kernel", "vec_add", *shapes, "--shard", f"{i + 1}/3", "--run", "spread", "--store", shard, "ours", *quicker)
    check(f"shard {i + 1}/3", done.returncode == 0, done.stderr)
spread = sorted(r["symbols"]["N"] for shard in shards for r in rows(shard))
check("shards share the cells out", spread == [10, 20, 30, 40, 50], spread)
whole = new_store()
done = run("--merge", shards[0], shards[2], "--store", whole)
check("a lost shard loses only its rows", done.returncode == 0 and len(rows(whole)) == 5 - len(rows(shards[1])), done.stdout, done.stderr)
run("--merge", *shards, "--store", whole)
check("merging again adds what was lacking", sorted(r["symbols"]["N"] for r in rows(whole)) == [10, 20, 30, 40, 50])
check("a share that cannot be is refused", run("--kernel", "vec_add", "--shape", "N=1", "--shard", "4/3", "--no-store", "ours").returncode == 1)

# Process launches of one run.
launched = new_store()
done = run("--kernel", "vec_add", "--shape", "N=100", "--launches", "3", "--store", launched, "ours", "ours:B=64", *quicker)
found = rows(launched)
check("three process launches", done.returncode == 0 and sorted({r["launch"] for r in found}) == [1, 2, 3] and len({r["run"] for r in found}) == 1, done.stderr)
check("the report joins them", "3 launches" in run("--report", "text", "--store", launched).stdout)

# A kernel beside another, each with data of its own; both are checked, and the second is compared with the first.
aside = new_store()
suite = os.path.join(work.name, "aside.json")
shutil.copy("bench/variations.tile", work.name)
beside = {"kernel": "sum_of_two", "file": "{here}/variations.tile", "shape": "U=1 L=300"}
cell = {"kernel": "vec_add", "shapes": ["N=300"], "threads": [1], "arms": ["ours", "ours:B=64"], "beside": [beside]}


def with_cell(**changes):
    with open(suite, "w") as f:
        json.dump({"cells": [dict(cell, **changes)]}, f)
    return run("--suite", suite, "--store", aside, *quicker[:4], *quicker[6:])


done = with_cell()
found = rows(aside)
check("a kernel beside another", done.returncode == 0 and [(r["kernel"], r["arm"], r["status"]) for r in found] ==
      [("vec_add", "ours", "pass"), ("vec_add", "ours:B=64", "pass"), ("sum_of_two", "ours", "pass")], done.stderr, found)
check("is compared with the first arm, by name", found[2]["ratio"]["first"] == "vec_add: ours" and found[2]["beside"] == "vec_add" and
      found[2]["compared"] and found[2]["output_hash"] != found[0]["output_hash"] and found[1]["ratio"]["first"] == "ours", found[2])
said = run("--report", "markdown", "--store", aside).stdout
check("and reported so, not stale", "ours, beside vec_add" in said and "stale" not in said, said)
os.remove(os.path.join(work.name, "variations.tile"))
check("rows of a file that is gone are stale", "| stale" in run("--report", "markdown", "--store", aside).stdout)
check("and measured no more", with_cell().returncode == 1)
check("beside several shapes there is none", "E1020" in with_cell(shapes=["N=300", "N=400"]).stderr)

# A tournament.
contest = new_store()
done = run("--kernel", "matmul_f32", "--shape", "M=48,N=48,K=48", "--lever", "tall:BM=16", "--lever", "deep:BK=32", "--store", contest, *quicker)
check("a tournament measures every stack", done.returncode == 0 and [r.get("lever") for r in rows(contest)] == ["", "tall", "deep", "tall+deep"], done.stderr)
verdicts = ("count", "compound", "cancel", "no more than the best", "alone", "lose", "made up")
verdict = next((l for l in done.stdout.splitlines() if l.startswith("    tall+deep ") and "product of the singles" in l), "")
check("and says which levers count", any(w in verdict for w in verdicts), done.stdout)

# Levers of all kinds; those that set one key are alternatives and never stacked.
contest = new_store()
family = ("--lever", "tall:BM=16,BN=32", "--lever", "narrow:vector=4", "--lever", "storage:operands=staged(f16)", "--lever", "direct:operands=direct")
done = run("--kernel", "matmul", "--shape", "M=48,N=48,K=48", *family, "--store", contest, *quicker)
found = rows(contest)
stacks = ["", "tall", "narrow", "storage", "direct", "tall+narrow", "tall+storage", "narrow+storage", "tall+direct", "narrow+direct",
          "tall+narrow+storage", "tall+narrow+direct"]
check("levers of all kinds, and their stacks", done.returncode == 0 and [r.get("lever") for r in found] == stacks and
      all(r["status"] == "pass" for r in found), done.stdout, done.stderr)
said = {"tall": "BM = 16, BN = 32", "narrow": "vector = 4", "storage": "operands = staged(f16)", "direct": "operands = direct"}
check("rows say what was pulled", all(said[l] in r["schedule"] for r in found if r["lever"] for l in r["lever"].split("+")) and
      not any(w in found[0]["schedule"] for w in ("vector", "operands")))
check("different levers, different code", len({r["code_hash"] for r in found}) >= 10)
lines = done.stdout[done.stdout.index("levers:"):].splitlines()[1:]
check("each has its verdict", len([l for l in lines if "x [" in l and any(v in l for v in verdicts)]) == 11 and "the best:" in lines[11], done.stdout)
contest = new_store()
done = run("--kernel", "matmul_f32", "--shape", "M=32,N=32,K=32", "--lever", "rounds:operands=staged(f16)", "--lever", "narrow:vector=4", "--store", contest,
           *quicker)
found = rows(contest)
check("an illegal lever is refused, the others are measured", done.returncode == 1 and [r["status"] for r in found] == ["pass", "fail", "pass", "fail"] and
      "E0504" in done.stderr and "not measured: " in done.stdout, done.stdout, done.stderr)
check("upon an arm of one's own", run("--kernel", "matmul_f32", "--shape", "M=32,N=32,K=32", "--lever", "narrow:vector=4", "--no-store", *quicker,
                                      "ours:BM=16").returncode == 0)
for wrong in (["--lever", "a:BM=1,BM=2"], ["--lever", "a:BM=1", "--lever", "a:BN=1"], ["--lever", "vector=4"], ["--lever", "a:vector=4", "openblas"]):
    done = run("--kernel", "matmul_f32", "--shape", "M=8,N=8,K=8", "--no-store", *wrong)
    check(f"refused: {' '.join(wrong)}", done.returncode == 1 and "E1010" in done.stderr, done.stderr)

# Two runs at once; runs killed at any moment.
both = new_store()
pair = [subprocess.Popen([tilec, "bench", "--kernel", "vec_add", *shapes, "--store", both, "ours", *quicker], stdout=subprocess.DEVNULL) for _ in range(2)]
check("two runs at once", [p.wait(timeout=600) for p in pair] == [0, 0] and len(rows(both)) == 10)
random.seed(5)
killed = new_store()
for _ in range(8):
    p = subprocess.Popen([tilec, "bench", "--kernel", "vec_add", *shapes, "--store", killed, "ours", *quicker], stdout=subprocess.DEVNULL,
                         start_new_session=True)
    time.sleep(random.uniform(0.02, 0.5))
    p.send_signal(signal.SIGKILL)
    p.wait()
done = run("--kernel", "vec_add", "--shape", "N=60", "--store", killed, "ours", *quicker)
report = run("--report", "text", "--store", killed)
check("killed runs leave a readable store", done.returncode == 0 and report.returncode == 0 and "N = 60" in report.stdout, report.stderr)

# A full disk.
full = new_store()
os.mkdir(full)
if os.path.exists("/dev/full"):
    environment = os.listdir(store)[0]
    os.symlink("/dev/full", os.path.join(full, environment))
    done = run("--kernel", "vec_add", "--shape", "N=60", "--store", full, "ours", *quicker)
    check("a full disk is said", done.returncode == 1 and "E1002" in done.stderr, done.stderr)
else:
    print("skip a full disk (no /dev/full)")

# Facts.
facts = os.path.join(work.name, "facts.json")


def verify(*list_of_facts):
    with open(facts, "w") as f:
        json.dump({"facts": list_of_facts}, f)
    return run("--verify", facts, "--store", store)


done = verify({"fact": "it runs", "kernel": "vec_add", "arm": "ours"}, {"fact": "not a thousand times slower", "kernel": "vec_add", "ratio_at_most": 1000})
check("facts that hold", done.returncode == 0 and "2 of 2 facts hold" in done.stdout, done.stdout, done.stderr)
done = verify({"fact": "a thousand times slower", "kernel": "vec_add", "arm": "ours:B=64", "ratio_at_least": 1000})
check("a fact that rows refute", done.returncode == 1 and "REFUTED" in done.stdout and "E1008" in done.stderr, done.stdout)
done = verify({"fact": "of nothing", "kernel": "none"})
check("a fact that no row tells", done.returncode == 1 and "NO ROW" in done.stdout, done.stdout)

# What is committed comes out of the committed rows, byte for byte, with no device: no compiler is found here.
tree = os.path.join(work.name, "tree")
os.mkdir(tree)
shutil.copytree("bench", os.path.join(tree, "bench"))
shutil.copytree("kernels", os.path.join(tree, "kernels"))
with open("README.md") as f:
    readme = f.read()
begin, end = readme.find("<!-- bench:begin -->\n"), readme.find("<!-- bench:end -->")
check("README.md has its table", 0 < begin < end and "| kernel |" in readme[begin:end])
with open(os.path.join(tree, "README.md"), "w") as f:
    f.write(readme[:begin] + "<!-- bench:begin -->\n" + readme[end:])
for figure in os.listdir("bench/figures"):
    os.remove(os.path.join(tree, "bench/figures", figure))
done = run("--reproduce", cwd=tree, env=dict(os.environ, TILEC_CC="/nonexistent", TILEC_KERNELS=os.path.join(tree, "kernels")))
check("reproduce", done.returncode == 0, done.stdout, done.stderr)
check("README.md to the byte", filecmp.cmp("README.md", os.path.join(tree, "README.md"), shallow=False))
for path in ["bench/report.html"] + [os.path.join("bench/figures", f) for f in sorted(os.listdir("bench/figures"))]:
    made = os.path.join(tree, path)
    check(f"{path} to the byte", os.path.exists(made) and filecmp.cmp(path, made, shallow=False))
done = run("--verify", "bench/expected.json")
check("the facts file is understood", "facts hold" in done.stdout, done.stdout, done.stderr)
sys.exit(failed)
