/* What the files about integers share: ranges, and the forms that an integer may have. Private to lift/. */
#ifndef TILEC_LIFT_INTEGER_H
#define TILEC_LIFT_INTEGER_H
#include "lift/lifter.h"

lift_range lift_type_range(int bits, bool is_signed);
bool lift_inside(lift_range x, lift_range y); /* x lies in y */
lift_range lift_range_product(lift_range x, lift_range y);
kernel_value *lift_number_value(lifter *l, int bits, int64_t n);
bool lift_holds_data(const index_expr *x, int nesting); /* a value from memory is in it */
lifted lift_bitwise(lifter *l, lift_opcode op, lifted x, lifted y);
#endif
