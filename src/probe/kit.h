/* Probing a device that somebody else has: a folder of kernels, questions and a host program goes out, its rows come back. */
#ifndef TILEC_PROBE_KIT_H
#define TILEC_PROBE_KIT_H
#include "base/hash.h"
#include "probe/conversion.h"
#include "probe/probe.h"
#include "probe/trait.h"

/* An instruction in a kit: its kernel `dots` (as cuda_matrix.h says of it) in the target's language. */
typedef struct kit_instruction {
    const char *name;
    number_kind a, b, c;
    int rows, k; /* of a tile, which has 8 columns */
    int tiles_a_block;
    bool specific; /* compiled for the device's architecture with what that one alone has */
} kit_instruction;
/* Metal's: simdgroup matrices (kit_metal.c). The text is heap memory. */
extern const kit_instruction kit_metal_instructions[];
extern const int kit_metal_instruction_count;
char *kit_metal_text(const kit_instruction *i);

/* Writes DIR: per instruction NAME.cu or NAME.metal and NAME.dots (every dot that probing asks with these options), per conversion NAME.cu or NAME.cl
 * and NAME.codes, the host program, a Makefile and a README. `names` NULL: every instruction and conversion of the target. False with a diagnostic: no such
 * target (E1206), instruction or conversion (E1203), or a file that can't be written; DIR then holds what was written before. */
bool kit_write(arena *a, const char *folder, const char *target, const char *const *names, int count, const probe_options *o,
               diag_list *diags);

/* Gets what each row becomes: a target, or a conversion, whose box answers from the row (a target with the options it was written for). False ends the reading. */
typedef struct kit_visitor {
    void *context;
    bool (*instruction)(void *context, const probe_target *t, const probe_options *o);
    bool (*conversion)(void *context, const conversion_box *box);
    bool (*layout)(void *context, const probe_target *t, const layout_finding *f);
    bool (*traits)(void *context, const trait_box *box);
} kit_visitor;
/* Reads the rows that a kit's program printed. False with a diagnostic (E1207) where a row is none, or answers other questions than this program asks. */
bool kit_read(arena *a, const char *path, const kit_visitor *visit, diag_list *diags);

/* ---- conversions (kit_conversion.c) ---- */
/* NAME.codes and the kernel. False with a diagnostic. */
bool kit_conversion_write(arena *a, const char *folder, const char *target, const char *name, const char *extension,
                          diag_list *diags);
/* False with a diagnostic, or with *why (NULL before: nothing said) where the row is none. */
bool kit_conversion_read(const json_t *row, const kit_visitor *visit, const char **why, diag_list *diags);

/* ---- layouts (kit_layout.c), traits (kit_traits.c) ---- */
/* NAME.layout and NAME.onehot.cu or NAME.holds.metal; nothing for operands that lie in memory. False with a diagnostic. */
bool kit_layout_write(arena *a, const char *folder, const char *target, const char *extension, const kit_instruction *i,
                      diag_list *diags);
/* device.traits and its kernels, for cuda and opencl. */
enum { KIT_MOST_BYTES = 128 << 20, KIT_LINE_BYTES = 8 << 20 };
bool kit_traits_write(arena *a, const char *folder, const char *target, const char *extension, diag_list *diags);
/* As kit_conversion_read. */
bool kit_layout_read(arena *a, const json_t *row, const kit_instruction *i, const kit_visitor *visit, const char **why,
                     diag_list *diags);
bool kit_traits_read(arena *a, const json_t *row, const kit_visitor *visit, const char **why, diag_list *diags);

/* ---- dots in order, for both (kit_dots.c) ---- */
typedef struct dot_list {
    matrix_box box;       /* of single dots; it records what is asked, and answers 0, until `answers` is there */
    unsigned char *bytes; /* heap: a dot's codes of a, of b, and 4 bytes of c, one behind the other */
    int64_t count, capacity;
    const uint32_t *answers; /* one a dot */
    int64_t *next;           /* heap: by dot, the next with the same codes, round and round */
    int64_t *table;          /* heap: by hash, the occurrence that answers next */
    int64_t slots;
    bool failed;
} dot_list;
void dot_list_begin(dot_list *l, const char *device, const char *instruction, number_kind a, number_kind b, number_kind c, int k);
void dot_list_free(dot_list *l);
size_t dot_list_size(const dot_list *l);                             /* bytes of a dot */
void dot_list_hash(const dot_list *l, char digits[HASH_DIGITS + 1]); /* of all dots */
/* Asks everything that probe_run asks. False with a diagnostic. */
bool dot_list_fill(arena *a, dot_list *l, const probe_options *o, diag_list *diags);
/* From now on the box answers; `answers` stays the caller's. False: no memory. */
bool dot_list_answer(dot_list *l, const uint32_t *answers);
#endif
