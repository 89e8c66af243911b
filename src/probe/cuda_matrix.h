/* CUDA's matrix instructions as black boxes: the instructions that can be probed, and kernels of hand-written PTX, made by the layout table. */
#ifndef TILEC_PROBE_CUDA_MATRIX_H
#define TILEC_PROBE_CUDA_MATRIX_H
#include "probe/box.h"
#include "probe/probe.h"
#include "target/fragment_layout.h"

typedef struct cuda_instruction {
    const char *name;            /* "m16n8k16.f16": as fragment_layout_find spells it */
    number_kind a, b, c;         /* tf32 is f32 here: which bits are read is a finding */
    int rows, k;                 /* of a tile; it has 8 columns */
    const char *mnemonic, *tail; /* PTX, and what stands behind the operands */
    int from;                    /* architecture: 80; 90 with warpgroups: that one alone */
    bool warpgroup;
} cuda_instruction;
extern const cuda_instruction cuda_instructions[];
extern const int cuda_instruction_count;
const cuda_instruction *cuda_instruction_find(const char *name); /* NULL when there is none */

/* A kernel `dots(a, b, c, d, tiles)`: a tile a warp (or a warpgroup, operands in shared memory). Heap text. */
char *cuda_dots_text(const cuda_instruction *i);
/* The same with operands elsewhere, of warpgroups alone: in shared memory without a swizzle or with the one of 128 bytes, a in registers; or with scale-d 0, which
 * takes no notice of c. Heap text. */
typedef enum cuda_place { PLACE_MEMORY, PLACE_SWIZZLED, PLACE_REGISTERS, PLACE_UNSCALED, PLACE_COUNT } cuda_place;
char *cuda_placed_text(const cuda_instruction *i, cuda_place place);
int cuda_dots_tiles_a_block(const cuda_instruction *i); /* each block has 128 threads */
/* A kernel `onehot(out, first, one_a, one_b)`: case `first` + block-wise number is a pair (position of a, position of b), one of each set; each lane gives
 * a byte whose bit e says that its result element e is not zero. Of warp instructions only. Heap text. */
char *cuda_onehot_text(const cuda_instruction *i);

/* A kernel `rate(out, n)`: each warp does CUDA_RATE_CHAINS x n instructions, chains of n that do not wait for each other; a warpgroup 2 x n of 128 columns. Heap
 * text. */
enum { CUDA_RATE_CHAINS = 8 };
char *cuda_rate_text(const cuda_instruction *i);
double cuda_rate_products(const cuda_instruction *i); /* multiply-adds of a block of 128 threads, n = 1 */
char *cuda_scalar_rate_text(void);                    /* the same of one multiply-add a thread, in f32 */

typedef struct cuda_box cuda_box;
/* Opens device "cuda:N" for an instruction: compiles the kernels and takes memory. NULL with a diagnostic. */
cuda_box *cuda_box_open(const char *device, const cuda_instruction *i, diag_list *diags);
void cuda_box_close(cuda_box *b);
const matrix_box *cuda_box_matrix(const cuda_box *b);
/* The box of the same instruction with operands placed so; the kernel is compiled when first asked for, and lives as long as `b`. False with a diagnostic. */
bool cuda_box_place(cuda_box *b, cuda_place place, matrix_box *out, diag_list *diags);
/* That of the older instruction for the same operands, which lives as long. False with a diagnostic. */
bool cuda_box_older(cuda_box *b, matrix_box *out, diag_list *diags);
/* cases x 32 bytes, as the kernel gives them. False with a diagnostic. */
bool cuda_box_onehot(cuda_box *b, int first, int cases, unsigned char *out, diag_list *diags);
/* Multiply-adds a second over some milliseconds. False with a diagnostic. */
bool cuda_box_rate(cuda_box *b, rate_of which, double *per_second, diag_list *diags);
/* The same over more than a second, and the watts that the only GPU of the machine draws at its end; 0: nobody tells, or there are several. */
bool cuda_box_sustained(cuda_box *b, rate_of which, double *per_second, double *watts, diag_list *diags);
/* The instruction whose speed is meant; NULL: none (one multiply-add a thread, or no older one). */
const cuda_instruction *cuda_rate_instruction(const cuda_instruction *i, rate_of which);
/* How often each matrix instruction and conversion stands in the machine code of `dots`, by CUDA's disassembler; NULL where that is missing. Arena. */
bool cuda_has_disassembler(void);
const char *cuda_opcodes(const cuda_instruction *i, int architecture, arena *a);
int cuda_box_architecture(const cuda_box *b); /* 90 */
/* What the device calls itself: name, architecture, memory. */
const char *cuda_box_device(const cuda_box *b);
#endif
