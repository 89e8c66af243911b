/* The numbers that addresses step by, where nothing else says what memory holds. */
#include "lift/lifter.h"

const lift_type *lift_integer_type(int64_t bytes) {
    static const lift_type types[] = {{.kind = LIFT_INTEGER, .bits = 8, .size = 1, .text = "i8"},
                                      {.kind = LIFT_INTEGER, .bits = 16, .size = 2, .text = "i16"},
                                      {.kind = LIFT_INTEGER, .bits = 32, .size = 4, .text = "i32"}};
    return bytes == 1 ? &types[0] : bytes == 2 ? &types[1] : bytes == 4 ? &types[2] : NULL;
}

int64_t lift_unit_of(const lifted *p, int64_t unit) {
    while (unit > 1 && p->offset % unit)
        unit /= 2;
    for (int i = 0; i < p->term_count; i++)
        while (unit > 1 && p->terms[i].stride % unit)
            unit /= 2;
    return unit;
}
