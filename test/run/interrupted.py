"""A command that a signal ends leaves whole files or none, and nothing of its own beside them."""
import os, shutil, signal, subprocess, sys, tempfile, time

tilec = os.environ["TILEC"]
failed = False
with tempfile.TemporaryDirectory() as work:
    folders = {name: os.path.join(work, name) for name in ("tmp", "cache", "out")}
    for path in folders.values():
        os.mkdir(path)
    text = os.path.join(work, "k.cl")
    with open(text, "w") as f:
        f.write("__kernel void twice(__global const float *x, __global float *y, int n)"
                "{ int i = get_global_id(0); if (i < n) y[i] = 2 * x[i]; }\n")
    env = dict(os.environ, TMPDIR=folders["tmp"], TILEC_CACHE=folders["cache"])
    result = os.path.join(folders["out"], "c.npy")
    commands = {
        "run": ["run", "kernels/elementwise.tile", "--kernel", "vec_add", "--shape", "N=40000", "--arg", "a=random:1", "--arg", "b=random:2",
                "--out", f"y={result}", "--no-check"],
        "build": ["build", "kernels/matmul.tile", "--kernel", "matmul", "--target", "metal", "-o", folders["out"]],
        "check": ["check", text, "--block", "64", "--arg", "x=[n]", "--arg", "y=[n]"],
    }
    for name, words in commands.items():
        why = ""
        for number, delays in ((signal.SIGINT, (0.03, 0.12)), (signal.SIGTERM, (0.07, 0.2))):
            for delay in delays:
                shutil.rmtree(folders["cache"])  # so that there is something to compile
                os.mkdir(folders["cache"])
                # the whole group, as a terminal does
                child = subprocess.Popen([tilec] + words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                time.sleep(delay)
                os.killpg(child.pid, number)
                status = child.wait()
                left = [os.path.join(d, f) for d, _, files in os.walk(work) for f in files]
                odd = [d for d in os.listdir(folders["tmp"]) if d.startswith("tilec-")]  # compilers leave files of their own
                odd += [f for f in left if ".making-" in f or (f.startswith(folders["out"]) and f.count(".") > 1)]
                if odd or status not in (0, 1, -number):
                    why = f"{number.name} after {delay} s: status {status}, left {odd}"
                for f in left:
                    if f.startswith(folders["out"]) and os.path.getsize(f) == 0:
                        why = f"{f} is empty"
                if os.path.exists(result):
                    if os.path.getsize(result) < 40000 * 4:
                        why = "half a result"
                    os.remove(result)
        failed |= bool(why)
        print(f"FAIL {name}: {why}" if why else f"ok {name} is interrupted")
sys.exit(failed)
