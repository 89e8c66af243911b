/* The list of facts of a matrix unit. */
#include "probe/find.h"

extern const matrix_fact_row fact_operand, fact_product, fact_order, fact_alignment, fact_result, fact_exponent, fact_subnormal,
    fact_special, fact_whole;
const matrix_fact_row *const matrix_fact_rows[] = {&fact_operand,  &fact_product,   &fact_order,   &fact_alignment, &fact_result,
                                                   &fact_exponent, &fact_subnormal, &fact_special, &fact_whole};
const int matrix_fact_count = sizeof matrix_fact_rows / sizeof *matrix_fact_rows;
