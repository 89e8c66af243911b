#!/usr/bin/env bash
# Which form of a kernel an OpenCL device is given: a work-item a task with vectors where it is a processor, blocks of work-items where that is wished for; told by
# --explain, seen in the schedule's route, right in either form.
TILEC=${TILEC:-build/tilec}
if ! "$TILEC" devices --json | grep -q '"opencl_cpu"'; then
    echo "skip opencl_form (no OpenCL device that is a processor)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
check() {
    if [ "$2" -eq 0 ]; then echo "ok $1"; else
        echo "FAIL $1"
        cat "$work/log"
        status=1
    fi
}
run() { "$TILEC" run kernels/projections.tile --kernel proj_bias --shape K=100,N=70 --arg x=random:1 --arg w=random:2 --arg b=random:3 --device opencl --check --explain > "$work/log" 2>&1; }
run && grep -q 'a work-item a task, with vectors: the device is a processor (refused: blocks' "$work/log" && ! grep -q 'shared memory' "$work/log"
check 'a processor takes vectors, and says why' $?
TILEC_OPENCL_FORM=vectors run && grep -q 'a work-item a task, with vectors: TILEC_OPENCL_FORM' "$work/log"
check 'vectors on request' $?
TILEC_OPENCL_FORM=blocks run && grep -q 'blocks of work-items: TILEC_OPENCL_FORM' "$work/log" && grep -q 'shared memory' "$work/log"
check 'blocks on request' $?
! TILEC_OPENCL_FORM=lanes run && grep -q 'E0850.*`lanes`' "$work/log"
check 'another word is refused' $?
! "$TILEC" build kernels/projections.tile --kernel proj_bias --target opencl -o "$work" --explain 2>&1 | grep -q 'the device' && ! grep -q float16 "$work/proj_bias.cl" && grep -q 'reqd_work_group_size(128' "$work/proj_bias.cl"
check 'build writes blocks' $?
"$TILEC" build kernels/projections.tile --kernel proj_bias --target opencl_cpu -o "$work" > "$work/log" 2>&1 && grep -q 'reqd_work_group_size(1, 1, 1)' "$work/proj_bias.cl" && ! grep -q 'barrier(' "$work/proj_bias.cl"
check 'or tasks of one work-item' $?
exit $status
