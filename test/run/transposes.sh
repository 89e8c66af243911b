#!/usr/bin/env bash
# Loads whose memory lies across the results (test/accept/transposes.tile) go through shared memory on every target with threads, hold at ragged shapes, and
# are refused without the barrier behind the copy. References: NumPy.
cd "$(dirname "$0")/../.." || exit 1
export TILEC=${TILEC:-${BUILD:-build}/tilec}
file=test/accept/transposes.tile work=$(mktemp -d) failed=0
trap 'rm -rf "$work"' EXIT
for target in opencl cuda metal; do
    if [ "$("$TILEC" check $file --target $target --explain | grep -c 'turned round in shared memory: [0-9]* bytes (refused: read across its rows)')" = 6 ]; then
        echo "ok turned round for $target"
    else
        echo "FAIL turned round for $target"
        failed=1
    fi
done
cat > "$work/loop.tile" << 'END'
kernel looped(x: f32[D, T], slot: injective index(N)[T]) -> (update y: f32[N, D]) {
    for tile y[slot[..], d: BD] { for t: BT in T { y[slot[t], d] = y[slot[t], d] + x[d, t] } }
}
END
if "$TILEC" check "$work/loop.tile" --target cuda --set BD=32 --set BT=32 --explain |
    grep -q 'x is read across its rows (refused: turned round in shared memory, the load is in a loop)'; then
    echo "ok a load within a loop is not turned round, and it is said"
else
    echo "FAIL a load within a loop is not turned round, and it is said"
    failed=1
fi
# Every barrier in turn.
"$TILEC" check $file --kernel transpose --target cuda --dump=l | sed -n '/^ *kernel transpose/,/^        }/p' > "$work/whole.kir"
barriers=$(grep -c 'barrier block' "$work/whole.kir") refused=0
for ((n = 1; n <= barriers; n++)); do
    awk -v n=$n '/barrier block/ && ++seen == n { next } { print }' "$work/whole.kir" > "$work/without.kir"
    "$TILEC" check "$work/without.kir" > "$work/log" 2>&1 || { grep -q 'x_tile' "$work/log" && refused=$((refused + 1)); }
done
if [ "$barriers" -ge 2 ] && [ $refused = "$barriers" ] && "$TILEC" check "$work/whole.kir" > /dev/null; then
    echo "ok refused without a barrier ($barriers)"
else
    echo "FAIL refused without a barrier: $refused of $barriers"
    failed=1
fi
cat > "$work/values.py" << 'END'
import os, subprocess, sys
import numpy as np
work, device = sys.argv[1], sys.argv[2]
rng = np.random.default_rng(1)
def hold(kernel, inputs, right):
    arguments = []
    for name, array in inputs.items():
        np.save(f"{work}/{name}.npy", array)
        arguments += ["--arg", f"{name}={work}/{name}.npy"]
    done = subprocess.run([os.environ["TILEC"], "run", "test/accept/transposes.tile", "--kernel", kernel, "--device", device, "--out", f"y={work}/y.npy", *arguments],
                          capture_output=True, text=True)
    same = done.returncode == 0 and np.array_equal(np.load(f"{work}/y.npy"), right)
    print(f"{'ok' if same else 'FAIL'} {device} {kernel} {'x'.join(map(str, right.shape))}")
    if not same:
        print(done.stdout + done.stderr)
    return same
def numbers(*shape):
    return rng.integers(-8, 9, shape).astype(np.float32)
fine = True
for r, c in ((37, 70),) if device == "opencl:0" else ((1, 1), (32, 64), (37, 70)):
    x, z = numbers(r, c), numbers(c, r)
    fine &= hold("transpose", {"x": x}, x.T)
    fine &= hold("beside", {"x": x, "z": z}, x.T * z + x.T)
x = numbers(2, 33, 3, 40).astype(np.float16)
fine &= hold("heads", {"x": x}, x.transpose(0, 2, 3, 1))
x, s = rng.integers(-128, 128, (33, 3, 65)).astype(np.int8), numbers(65)
fine &= hold("scaled", {"x": x, "s": s}, x.transpose(2, 1, 0) * s[:, None, None])
keep, x = rng.integers(0, 2, (37, 70)).astype(bool), numbers(70, 37)
fine &= hold("chosen", {"keep": keep, "x": x}, np.where(keep.T, x, 0).astype(np.float32))
fine &= hold("twice", {"x": x}, 2 * x.T)
sys.exit(not fine)
END
for device in cpu sim; do python3 "$work/values.py" "$work" $device || failed=1; done
if "$TILEC" devices | grep -q '^opencl'; then
    python3 "$work/values.py" "$work" opencl:0 || failed=1
else
    echo "skip transposes on OpenCL (no device)"
fi
exit $failed
