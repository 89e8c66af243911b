"""One kernel called again and again with other lengths: as many chunks as each has."""
import sys

sys.path.insert(0, "python")
import numpy as np
import tilec

T, KV, G, D = 200, 2, 3, 16
rng = np.random.default_rng(7)
q = rng.standard_normal((KV * G, D)).astype(np.float16)
k = rng.standard_normal((T, KV, D)).astype(np.float16)
v = rng.standard_normal((T, KV, D)).astype(np.float16)
attend = tilec.kernel("kernels/attention.tile", "attn_gqa", device=sys.argv[1])
for length in (10, 200, 65, 128, 129):
    o = attend(q, k, v, length, 0.2, G=G, D=D, split=64).astype(np.float32)
    for h in range(KV * G):
        s = 0.2 * k[:length, h // G].astype(np.float32) @ q[h].astype(np.float32)
        p = np.exp(s - s.max())
        want = p @ v[:length, h // G].astype(np.float32) / p.sum()
        if not np.allclose(o[h], want, atol=4e-3):
            sys.exit(f"length {length}, head {h}: {o[h][:4]} is not {want[:4]}")
print("lengths agree")
