#!/usr/bin/env bash
# `tilec build --target c`: the files compile alone, without warnings, under each compiler found, and a stranger's program calls them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
cat > "$work/k.tile" << 'END'
kernel product(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {
    for tile c[i: BM, j: BN] {
        acc: f32[i, j] = 0
        for k: BK in K { acc += a[i, k] @ b[k, j] }
        c[i, j] = acc
    }
}
kernel gather(table: f32[V, D], ids: index(V)[T], len: 0..T, scale: f32) -> (y: f32[T, D]) where D >= 2 {
    for tile y[t: BT, d: BD] { y[t, d] = select(t < len, scale * table[ids[t], d], 0) }
}
kernel scatter(x: f32[T, D], slot: injective index(N)[T], n: i32, m: u32, twice: bool) -> (update y: f32[N, D]) {
    for tile y[slot[t: BT], d: BD] { y[slot[t], d] = y[slot[t], d] + f32(n) + f32(m) + select(twice, 2, 1) * x[t, d] }
}
kernel row_soft(x: f32[R, C]) -> (y: f32[R, C], s: f32[R]) {
    for tile y[r: BR, ..], s[r] {
        m: f32[r] = -inf
        for c: BC in C { m max= max[c](x[r, c]) }
        t: f32[r] = 0
        for c: BC in C { t += sum[c](exp(x[r, c] - m)) }
        for c: BC in C { y[r, c] = exp(x[r, c] - m) / t }
        s[r] = t
    }
}
END
cat > "$work/p.tile" << 'END'
kernel row_sums(x: f32[R, C]) -> (s: f32[R]) {
    for tile s[r: BR] {
        t: f32[r] = 0
        for c: BC in C { t += sum[c](x[r, c]) }
        s[r] = t
    }
}
kernel scale_rows(x: f32[R, C], w: f32[R], plus: f32) -> (y: f32[R, C]) {
    for tile y[r: BR, c: BC] { y[r, c] = x[r, c] * (w[r] + plus) }
}
kernel add_chunks(x: f32[N]) -> (update h: f32[S]) static CH = 4 where S == (N + CH - 1) / CH {
    for tile h[s: 1] {
        t: f32[s] = 0
        for n: BN in N where s * CH <= n and n < (s + 1) * CH { t += sum[n](x[n]) }
        h[s] = h[s] + t
    }
}
// The sums of scaled rows; three kernels, one of them twice and one for two chunk sizes.
program shares(x: f32[R, C], w: f32[K], plus: f32) -> (s: f32[R], update few: f32[A], update many: f32[B]) {
    t = row_sums(x)
    y = scale_rows(x, w, plus)
    s = row_sums(y)
    few = add_chunks(t, CH = 3)
    many = add_chunks(s, CH = 2)
}
END
if ! "${TILEC:-build/tilec}" build "$work/k.tile" --target c -o "$work/made" > "$work/log" 2>&1 ||
    ! "${TILEC:-build/tilec}" build "$work/p.tile" --kernel shares --target c -o "$work/made" >> "$work/log" 2>&1; then
    echo "FAIL tilec build"
    cat "$work/log"
    exit 1
fi
for cc in gcc clang; do
    if ! command -v $cc > /dev/null; then
        echo "skip built library, $cc (not installed)"
        continue
    fi
    # Without any machine's instructions, with this one's, and under the sanitizers.
    for flags in "-O2" "-O3 -march=native" "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"; do
        name="$cc $flags"
        for file in product gather scatter row_soft shares; do
            if ! $cc -std=gnu11 -ffp-contract=off -Wall -Wextra -Werror $flags -c "$work/made/$file.c" -o "$work/$file.o" > "$work/log" 2>&1; then
                echo "FAIL $name: $file.c does not compile without warnings"
                cat "$work/log"
                status=1
                continue 2
            fi
        done
        if $cc -std=gnu11 $flags -I"$work/made" test/run/_built_library.c "$work/product.o" "$work/gather.o" "$work/scatter.o" "$work/row_soft.o" "$work/shares.o" -lm -lpthread -o "$work/program" > "$work/log" 2>&1; then
            "$work/program" | sed "s|\$| ($name)|"
            [ "${PIPESTATUS[0]}" -eq 0 ] || status=1
        else
            echo "FAIL $name: the program does not link"
            cat "$work/log"
            status=1
        fi
    done
done
# C++ callers include the header as it is.
if command -v c++ > /dev/null; then
    printf '#include "gather.h"\n#include "shares.h"\n' > "$work/h.cpp"
    if c++ -std=c++17 -Wall -Wextra -Wpedantic -fsyntax-only -I"$work/made" "$work/h.cpp" > "$work/log" 2>&1; then echo "ok built header as C++"; else
        echo "FAIL built header as C++"
        cat "$work/log"
        status=1
    fi
fi
# A folder that cannot be made loses nothing.
if "${TILEC:-build/tilec}" build "$work/k.tile" --target c -o "$work/k.tile/below" > "$work/log" 2>&1; then
    echo "FAIL build into a file's place"
    status=1
else
    grep -q 'E0887' "$work/log" && echo "ok build into a file's place is refused" || { echo "FAIL message"; cat "$work/log"; status=1; }
fi
exit $status
