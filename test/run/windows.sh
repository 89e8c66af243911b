#!/usr/bin/env bash
# Products of windows (test/accept/windows.tile) on the processor: windows are copied, so that lanes run along results, in tiles that stay in the cache; clamped
# indices are read as vectors where no lane is clamped. References: NumPy.
cd "$(dirname "$0")/../.." || exit 1
export TILEC=${TILEC:-${BUILD:-build}/tilec}
file=test/accept/windows.tile work=$(mktemp -d) failed=0
trap 'rm -rf "$work"' EXIT
for kernel in convolve filter; do
    if "$TILEC" check $file --kernel $kernel --explain > "$work/log" && grep -q 'operand 2 of dot is copied to private memory' "$work/log" &&
        grep -q 'dot: lanes along the result [jl], [0-9] vectors' "$work/log"; then
        echo "ok $kernel: windows are copied, lanes along results"
    else
        echo "FAIL $kernel: windows are copied, lanes along results"
        failed=1
    fi
done
if "$TILEC" check $file --kernel nearest --dump=l | grep -q 'x\[.*:16\|x\[.*:[48]'; then
    echo "ok nearest: vectors where no index is clamped"
else
    echo "FAIL nearest: vectors where no index is clamped"
    failed=1
fi
cat > "$work/values.py" << 'END'
import os, subprocess, sys
import numpy as np
work = sys.argv[1]
rng = np.random.default_rng(1)
fine = True
def hold(kernel, inputs, right):
    global fine
    arguments = []
    for name, array in inputs.items():
        np.save(f"{work}/{name}.npy", array)
        arguments += ["--arg", f"{name}={work}/{name}.npy"]
    done = subprocess.run([os.environ["TILEC"], "run", "test/accept/windows.tile", "--kernel", kernel, "--out", f"y={work}/y.npy", *arguments], capture_output=True, text=True)
    same = done.returncode == 0 and np.array_equal(np.load(f"{work}/y.npy"), right)
    print(f"{'ok' if same else 'FAIL'} {kernel} {'x'.join(map(str, right.shape))}")
    if not same:
        print(done.stdout + done.stderr)
        fine = False
for ci, co, h, w in ((1, 1, 1, 1), (5, 7, 19, 23), (9, 13, 26, 300)):
    x, k = rng.integers(-4, 5, (ci, h, w)).astype(np.float32), rng.integers(-4, 5, (co, ci, 3, 3)).astype(np.float32)
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    hold("convolve", {"x": x, "w": k}, sum(np.einsum("oc,chw->ohw", k[:, :, a, b], wide[:, a:a + h, b:b + w]) for a in range(3) for b in range(3)))
x, k = rng.integers(-4, 5, (2, 6, 77)).astype(np.float16), rng.integers(-4, 5, (11, 6, 5)).astype(np.float16)
wide = np.pad(x, ((0, 0), (0, 0), (4, 0))).astype(np.float32)
hold("filter", {"x": x, "w": k}, sum(np.einsum("oc,bcl->bol", k[:, :, t].astype(np.float32), wide[:, :, t:t + 77]) for t in range(5)))
for h, w in ((3, 1), (5, 83)):
    x = rng.integers(-4, 5, (h, w)).astype(np.float32)
    at = lambda i, j: x[np.clip(np.arange(h) + i, 0, h - 1)][:, np.clip(np.arange(w) + j, 0, w - 1)]
    above = np.where(np.arange(h)[:, None] < 2, 1, at(-2, 3))
    hold("nearest", {"x": x}, at(-1, -1) + 3 * at(1, 1) - 5 * at(0, 2) + 7 * above)
sys.exit(not fine)
END
python3 "$work/values.py" "$work" || failed=1
exit $failed
