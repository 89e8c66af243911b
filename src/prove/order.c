/* Order below the task: barriers, copies, mbarriers, fragments. Not judged yet, so a kernel that needs it is not proved. */
#include "prove/model.h"

void judge_order(prover *p)
{
    prover_start(p);
    prover_beyond(p);
}
