#!/usr/bin/env bash
# A kernel said otherwise (bench/variations.tile: other names, operands in the other order, a batch dimension and an operation more) takes the same routes on
# every target, and its meaning holds at ragged shapes.
cd "$(dirname "$0")/../.." || exit 1
tilec=${TILEC:-${BUILD:-build}/tilec}
failed=0
# The routes without names, lines and which operand is which.
routes() {
    "$tilec" check "$1" --kernel "$2" --target "$3" --explain | sed -n '/^  routes/,/^  variant/p' | grep -v '^  variant' |
        sed -E 's/^ +(routes)? *//; s/`[a-z]+`//; s/^(variant [0-9]+: )?line [0-9]+: //; s/operand [12] of/operand of/; s/operands [a-z]+, [a-z]+/operands/; s/(range|result) [a-z]+/\1/g; s/(^|; )[a-z]+ over/\1over/g' | sort
}
same() {
    local file=$1 kernel=$2 variation=$3 target as_written otherwise
    for target in c opencl cuda metal; do
        as_written=$(routes "$file" "$kernel" $target) otherwise=$(routes bench/variations.tile "$variation" $target)
        if [ -n "$as_written$otherwise" ] || [ $target = c ]; then
            [ "$as_written" = "$otherwise" ] && echo "ok same routes for $target: $kernel and $variation" && continue
        fi
        echo "FAIL same routes for $target: $kernel and $variation"
        diff <(echo "$as_written") <(echo "$otherwise") | sed 's/^/    /'
        failed=1
    done
}
# The library's kernels are measured and tested with what the scheduler chooses: none has a schedule that could be stripped.
if grep -n '^schedule' kernels/*.tile; then
    echo "FAIL schedules in the library"
    failed=1
else
    echo "ok no schedules in the library"
fi
same kernels/elementwise.tile vec_add sum_of_two
same kernels/normalise.tile softmax likelihoods
same kernels/normalise.tile rms_norm scaled_rows
same kernels/projections.tile proj_bias layer_of_one
same kernels/matmul.tile matmul products
holds() {
    local kernel=$1
    shift
    if "$tilec" run bench/variations.tile --kernel "$kernel" "$@" --check > /dev/null; then
        echo "ok values of $kernel"
    else
        echo "FAIL values of $kernel"
        failed=1
    fi
}
holds sum_of_two --shape U=3,L=1001 --arg first=random:1 --arg second=random:2
holds likelihoods --shape U=2,Q=3,V=333 --arg logits=random:1
holds scaled_rows --shape U=2,Q=3,V=333 --arg h=random:1 --arg gain=random:2 --arg small=1e-6
holds layer_of_one --shape U=2,P=130,O=33 --arg v=random:1 --arg m=random:2 --arg shift=random:3
holds products --shape U=2,P=70,O=33,Q=45 --arg right=random:1 --arg left=random:2
exit $failed
