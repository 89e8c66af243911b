#!/usr/bin/env bash
# The corpus as a benchmark kit for Macs: every kernel for target metal into one folder, with the corpus' shapes in shapes.txt.
#     scripts/metal_kit.sh OUT          then, on a Mac: cd OUT && make run && make bench
cd "$(dirname "$0")/.." || exit 1
out=${1:?where to? scripts/metal_kit.sh OUT}
tilec=${TILEC:-build/tilec}
[ -x "$tilec" ] || { echo "$tilec is not built: make" >&2; exit 1; }
# Extents that kernels are compiled for, as the corpus has them.
statics=(--shape D=128 --shape G=6)
status=0
for file in kernels/*.tile; do
    "$tilec" build "$file" --target metal "${statics[@]}" -o "$out" || status=1
done
# The corpus' rows: {"NAME", "N=4096", "eps=1e-6 x=positive", false}. Scalars go along; data are the kit's.
sed -n '/^const corpus_row corpus_table/,/^};/s/^ *{"\([a-z0-9_]*\)", "\([^"]*\)", "\([^"]*\)", false}.*/\1 \2 \3/p' src/command/corpus_table.c |
    while read -r name values; do
        [ -e "$out/${name}_metal.c" ] || continue
        line=$name
        for value in $values; do
            # what the kernel takes, and numbers only
            if [[ $value =~ ^([A-Za-z_]+)=[-0-9.e]+$ ]] && grep -q "{\"${BASH_REMATCH[1]}\", " "$out/${name}_metal.c"; then line+=" $value"; fi
        done
        echo "$line"
    done > "$out/shapes.txt"
# The projections are programs of the kernels proj and gate_up_silu.
printf 'proj K=1536 N=1536\nproj K=1536 N=256\nproj K=8960 N=1536\nproj K=1536 N=151936\n' >> "$out/shapes.txt"
echo "$(wc -l < "$out/shapes.txt") rows in $out/shapes.txt; on a Mac: cd $out && make run && make bench"
exit $status
