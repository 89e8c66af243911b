/* The C dialect: GCC and Clang vector extensions. */
#include "target/c_fragment.h"
#include "target/intrinsics.h"
#include <string.h>

/* Tasks run side by side. */
static const char *atomic_itself(arena *a, const char *update, element_type t, const char *place) {
    static const char *const fetched[] = {"add", "and", "or", "xor"};
    (void)place;
    if (!strcmp(update, "xchg") && t != ELEMENT_F32)
        return "__atomic_exchange_n(p, v, __ATOMIC_RELAXED)";
    if (!strcmp(update, "cmpxchg"))
        return "    __atomic_compare_exchange(p, &e, &v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);\n    return e;\n";
    for (size_t i = 0; t != ELEMENT_F32 && i < sizeof fetched / sizeof *fetched; i++)
        if (!strcmp(update, fetched[i]))
            return arena_printf(a, "__atomic_fetch_%s(p, v, __ATOMIC_RELAXED)", update);
    return NULL;
}

static const char *atomic_loop(arena *a, const char *next, element_type t, const char *place) {
    (void)t;
    (void)place;
    return arena_printf(a,
                        "    __typeof__(v) old, next;\n"
                        "    __atomic_load(p, &old, __ATOMIC_RELAXED);\n"
                        "    do\n"
                        "        next = %s;\n"
                        "    while (!__atomic_compare_exchange(p, &old, &next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));\n"
                        "    return old;\n",
                        next);
}

static const cfamily_atomics c_atomics = {
    .device = "",
    .shared = "",
    .itself = atomic_itself,
    .loop = atomic_loop,
    .least = "__builtin_fminf(old, v)",
    .greatest = "__builtin_fmaxf(old, v)",
};

static bool statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind == KSTMT_INTRINSIC)
        return cfamily_intrinsic(p, s, &c_intrinsics) || p->failed;
    return c_fragment_statement(p, s);
}

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
    .statement = statement,
    .atomics = &c_atomics,
};
