"""A kernel run by `tilec run` on NumPy arrays, and what it wrote held against what is wanted."""
import os, subprocess
import numpy as np

def run(command, arrays, wanted, folder, tolerance=3e-5):
    """command: the words of `tilec run` without arrays. None, or why it is wrong: whole numbers must be equal, floats within the tolerance."""
    words = list(command)
    for key, array in arrays.items():
        path = os.path.join(folder, key + ".npy")
        np.save(path, array)
        words += ["--arg", "%s=%s" % (key, path)]
    for key in wanted:
        words += ["--out", "%s=%s" % (key, os.path.join(folder, "out_%s.npy" % key))]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        return done.stdout + done.stderr
    for key, value in wanted.items():
        got = np.load(os.path.join(folder, "out_%s.npy" % key)).reshape(value.shape)
        exact = got.dtype.kind in "iu"
        if not (np.array_equal(got, value) if exact else np.allclose(got.astype(np.float32), value.astype(np.float32), rtol=tolerance, atol=tolerance)):
            at = np.argmax(np.abs(got.astype(np.float64) - value))
            return "%s[%d] is %s, not %s" % (key, at, got.reshape(-1)[at], value.reshape(-1)[at])
    return None
