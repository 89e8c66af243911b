/* CUDA's matrix instructions as black boxes: the instructions that can be probed, and kernels of hand-written PTX, made by the layout table. */
#ifndef TILEC_PROBE_CUDA_MATRIX_H
#define TILEC_PROBE_CUDA_MATRIX_H
#include "probe/box.h"
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
int cuda_dots_tiles_a_block(const cuda_instruction *i); /* each block has 128 threads */
/* A kernel `onehot(out, first, one_a, one_b)`: case `first` + block-wise number is a pair (position of a, position of b), one of each set; each lane gives
 * a byte whose bit e says that its result element e is not zero. Of warp instructions only. Heap text. */
char *cuda_onehot_text(const cuda_instruction *i);

/* A kernel `rate(out, n)`: each warp (or warpgroup) does CUDA_RATE_CHAINS x n instructions, chains of n that do not wait for each other. Heap text. */
enum { CUDA_RATE_CHAINS = 8 };
char *cuda_rate_text(const cuda_instruction *i);

typedef struct cuda_box cuda_box;
/* Opens device "cuda:N" for an instruction: compiles the kernels and takes memory. NULL with a diagnostic. */
cuda_box *cuda_box_open(const char *device, const cuda_instruction *i, diag_list *diags);
void cuda_box_close(cuda_box *b);
const matrix_box *cuda_box_matrix(const cuda_box *b);
/* cases x 32 bytes, as the kernel gives them. False with a diagnostic. */
bool cuda_box_onehot(cuda_box *b, int first, int cases, unsigned char *out, diag_list *diags);
/* Multiply-adds a second of this instruction, or of the f16 one of its kind, over some milliseconds. False with a diagnostic. */
bool cuda_box_rate(cuda_box *b, bool twin, double *per_second, diag_list *diags);
const cuda_instruction *cuda_twin(const cuda_instruction *i);
/* How often each matrix instruction and conversion stands in the machine code of `dots`, by CUDA's disassembler; NULL where that is missing. Arena. */
const char *cuda_opcodes(const cuda_instruction *i, int architecture, arena *a);
int cuda_box_architecture(const cuda_box *b); /* 90 */
/* What the device calls itself: name, architecture, memory. */
const char *cuda_box_device(const cuda_box *b);
#endif
