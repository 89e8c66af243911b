/* The C dialect: GCC and Clang vector extensions. */
#include "target/cfamily.h"

const cfamily_dialect c_dialect = {
    .target = "c",
    .index_type = "int64_t",
    .vector_open = "{",
    .vector_close = "}",
    .function_head = "INLINE ",
    .cast_keeps_bits = true,
    .register_type = c_register_type,
    .storage_type = c_storage_type,
    .helper = c_helper,
    .constant = cfamily_constant,
    .nan = "__builtin_nanf(\"\")",
    .infinity = "__builtin_inff()",
    .least_i32 = "INT32_MIN",
    .value = cfamily_operation,
};
