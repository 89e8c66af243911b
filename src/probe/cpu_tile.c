/* C texts that ask the processor's matrix unit (AMX): tiles of 16 rows of 64 bytes, which the system must be asked for. */
#include "probe/cpu_matrix.h"
#include <stdlib.h>

static const char head[] =
    "#if defined(%s) && defined(__AMX_TILE__) && defined(__linux__)\n"
    "#include <immintrin.h>\n"
    "#include <string.h>\n"
    "#include <sys/syscall.h>\n"
    "#include <unistd.h>\n"
    "static int begin(void) {\n"
    "    struct { unsigned char palette, start, reserved[14]; unsigned short bytes[16]; unsigned char rows[16]; } shapes;\n"
    "    if (syscall(SYS_arch_prctl, 0x1023L, 18L)) /* the right to the tiles' registers */\n"
    "        return 0;\n"
    "    memset(&shapes, 0, sizeof shapes);\n"
    "    shapes.palette = 1;\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        shapes.bytes[i] = 64;\n"
    "        shapes.rows[i] = 16;\n"
    "    }\n"
    "    __asm__ volatile(\"ldtilecfg %%0\" : : \"m\"(shapes));\n"
    "    return 1;\n"
    "}\n";

char *cpu_tile_text(const cpu_instruction *i) {
    text_buffer t = {0};
    text_add(&t, head, i->macro);
    text_add(
        &t,
        "int dots(long n, const char *a, const char *b, const char *c, char *d, unsigned control) {\n"
        "    unsigned before = _mm_getcsr();\n"
        "    char turned[1024];\n"
        "    if (!begin())\n"
        "        return 0;\n"
        "    _mm_setcsr(control);\n"
        "    for (long i = 0; i < n; i++) {\n"
        "        for (int column = 0; column < 16; column++) /* b's rows hold 4 bytes of k of each column */\n"
        "            for (int row = 0; row < 16; row++)\n"
        "                memcpy(turned + 64 * row + 4 * column, b + 1024 * i + 64 * column + 4 * row, 4);\n"
        "        __asm__ volatile(\"tileloadd (%%0,%%3,1), %%%%tmm0\\n\\ttileloadd (%%1,%%3,1), %%%%tmm1\\n\\t\"\n"
        "                         \"tileloadd (%%2,%%3,1), %%%%tmm2\\n\\t%s %%%%tmm2, %%%%tmm1, %%%%tmm0\\n\\t\"\n"
        "                         \"tilestored %%%%tmm0, (%%4,%%3,1)\"\n"
        "                         : : \"r\"(c + 1024 * i), \"r\"(a + 1024 * i), \"r\"(turned), \"r\"(64L), \"r\"(d + 1024 * i)\n"
        "                         : \"memory\");\n"
        "    }\n"
        "    __asm__ volatile(\"tilerelease\");\n"
        "    _mm_setcsr(before);\n"
        "    return 1;\n"
        "}\n" CPU_NO_DOTS,
        i->name);
    return t.text;
}

/* As cpu_rate_text: four sums that wait for nothing, over and over; beside them fma on vectors of f32. */
char *cpu_tile_rate_text(const cpu_instruction *i) {
    text_buffer t = {0};
    text_add(&t, head, i->macro);
    text_add(&t, "static int rate0(long n) {\n"
                 "    char zero[1024] = {0};\n"
                 "    if (!begin())\n"
                 "        return 0;\n");
    for (int tile = 0; tile < 8; tile++)
        text_add(&t, "    __asm__ volatile(\"tileloadd (%%0,%%1,1), %%%%tmm%d\" : : \"r\"(zero), \"r\"(64L) : \"memory\");\n",
                 tile);
    text_add(&t, "    for (long i = 0; i < n; i++)\n        __asm__ volatile(\"");
    for (int chain = 0; chain < CPU_CHAINS; chain++)
        text_add(&t, "%s %%%%tmm%d, %%%%tmm%d, %%%%tmm%d\\n\\t", i->name, 6 + chain % 2, 4 + chain / 2 % 2, chain % 4);
    text_add(&t, "\" : : : \"memory\");\n"
                 "    __asm__ volatile(\"tilerelease\");\n"
                 "    return 1;\n"
                 "}\n");
    cpu_rate_chains(&t, 1, "(__m512i)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z)");
    text_add(&t, "int rate(long n, int scalar) {\n    return scalar ? rate1(n) : rate0(n);\n}\n#endif\n");
    return t.text;
}
