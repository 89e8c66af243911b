/* CUDA C++: fragments as the registers that mma.sync takes, lane by lane as the PTX manual lays them out. g = lane / 4, t = lane % 4:
 *   a, m16n8k16    register r: row g + 8 (r & 1), columns 2t + 8 (r >> 1) + {0, 1}; 8-bit, k32: columns 4t + 16 (r >> 1) + {0, 1, 2, 3}
 *                  tf32, k8: column t + 4 (r >> 1)
 *   b              register r: column g, rows 2t + 8 r + {0, 1}; 8-bit: rows 4t + 16 r + {0, 1, 2, 3}; tf32: row t + 4 r
 *   accumulator    element e: row g + 8 (e >> 1), column 2t + (e & 1)
 * Row and column vectors of an accumulator lie as its rows and columns do (cuda_vector.c).
 * The text of each asm statement stands in one function of the prelude; test/run/_cuda_on_cpu.h says what it means. */
#include "target/cuda_helpers.h"
#include "target/gpu_plan.h"
#include <string.h>

#define HEAD "static __device__ inline "
enum { WARP = 32 };

/* ---- registers ---- */

static bool is_operand(const kernel_fragment *f) {
    return f->role == FRAGMENT_A || f->role == FRAGMENT_B;
}

/* Elements of a lane's share, or for operands registers of several. */
static int share(const kernel_fragment *f) {
    if (cuda_is_vector(f))
        return CUDA_VECTOR_SHARE;
    int elements = f->rows * f->columns / (f->holder == LEVEL_WARPGROUP ? 4 * WARP : WARP);
    return is_operand(f) ? elements * element_table[f->element].block_bytes / 4 : elements;
}

static const char *register_type(cfamily *p, const kernel_fragment *f) {
    if (is_operand(f) && f->holder == LEVEL_WARPGROUP) /* a place, as its descriptor says it */
        return "unsigned long long";
    return cuda_register_type(p, is_operand(f) ? ELEMENT_U32 : f->element, share(f));
}

static bool has_form(const matrix_table *t, const kernel_fragment *f) {
    for (int i = 0; i < t->count; i++) {
        const matrix_instruction *r = &t->at[i];
        /* what is rounded to an operand lies as the operand does */
        bool of = f->element == r->operand || (f->element == ELEMENT_F32 && r->operand == ELEMENT_TF32);
        bool fits = f->role == FRAGMENT_A   ? f->rows == r->m && f->columns == r->k && of
                    : f->role == FRAGMENT_B ? f->rows == r->k && f->columns == r->n && of
                    : f->role == FRAGMENT_ROW_VECTOR
                        ? f->rows == r->m && r->holder == LEVEL_SUBGROUP && f->element == r->accumulator
                    : f->role == FRAGMENT_COLUMN_VECTOR
                        ? f->columns == r->n && r->holder == LEVEL_SUBGROUP && f->element == r->accumulator
                        : f->rows == r->m && f->columns == r->n;
        if (fits && f->holder == r->holder)
            return true;
    }
    return false;
}

bool cuda_fragments_begin(cfamily *p, const kernel_ir *k) {
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (!has_form(&cuda_machine()->matrices, f))
            return cfamily_refuse(p, f->span,
                                  "fragments of %d x %d %s, role %s (it has %s: a 16 x 16, b 16 x 8; of i8: 16 x 32, 32 x 8; "
                                  "accumulators 16 x 8 and "
                                  "vectors along them)",
                                  f->rows, f->columns, element_table[f->element].name, role_names[f->role],
                                  matrix_operands(p->arena, &cuda_machine()->matrices));
    }
    cfamily_fragments_name(p, k);
    return true;
}

void cuda_fragments_declare(cfamily *p, const kernel_ir *k, text_buffer *out) {
    cfamily_fragments_declare(p, k, register_type, out);
}

static const char *name_of_ref(cfamily *p, const fragment_ref *r) {
    return cfamily_fragment_name(p, r->fragment, r->index);
}

/* ---- what prelude functions share ---- */

/* The functions of the accumulator's elements: "fragment", or of a warpgroup's "warpgroup_fragment". */
const char *cuda_lane_functions(cfamily *p, const kernel_fragment *f) {
    bool warpgroup = f->holder == LEVEL_WARPGROUP;
    const char *name = warpgroup ? "warpgroup_fragment" : "fragment";
    if (!cfamily_first_use(p, warpgroup ? "warpgroup_fragment_row" : "fragment_row"))
        return name;
    if (warpgroup)
        text_add(&p->prelude,
                 "/* where element e of a lane's share of an accumulator of 64 rows stands */\n" HEAD
                 "int warpgroup_fragment_row(int e)\n{\n"
                 "    return threadIdx.x / 32 %% 4 * 16 + (threadIdx.x >> 2) %% 8 + (e >> 1) %% 2 * 8;\n}\n" HEAD
                 "int warpgroup_fragment_column(int e)\n{\n    return (e >> 2) * 8 + threadIdx.x %% 4 * 2 + (e & 1);\n}\n");
    else
        text_add(&p->prelude,
                 "/* where element e of a lane's share of a 16 x 8 accumulator stands */\n" HEAD "int fragment_row(int e)\n{\n"
                 "    return (threadIdx.x >> 2) %% 8 + (e >> 1) * 8;\n}\n" HEAD "int fragment_column(int e)\n{\n"
                 "    return threadIdx.x %% 4 * 2 + (e & 1);\n}\n");
    return name;
}

/* ---- memory ---- */

/* Elements apart along dimension d. */
static const char *distance(cfamily *p, const kernel_access *access, int d) {
    kernel_access along = *access;
    along.lanes = 2;
    along.vector_dim = d;
    return cfamily_stride(p, &along);
}

/* Elements from one row (column) to the next. */
static const char *pitch(cfamily *p, const kernel_access *access, int d, index_expr *step) {
    const char *unit = distance(p, access, d);
    return unit && step ? arena_printf(p->arena, "(%s) * (%s)", unit, cfamily_index_text(p, step)) : unit;
}

static bool side_by_side(cfamily *p, const kernel_access *access, int d) {
    kernel_access along = *access;
    along.lanes = 2;
    along.vector_dim = d;
    return cfamily_contiguous(p, &along);
}

/* (row 0 of the tile, elements between rows): 8 x 8 matrices of 16-byte rows, each lane giving the address of one row. Rows are those of the
 * operand, or with `across` its columns. */
static const char *matrix_load(cfamily *p, const kernel_fragment *f, bool across) {
    int registers = share(f), bytes = element_table[f->element].block_bytes;
    bool a = f->role == FRAGMENT_A;
    const char *element = cuda_storage_type(f->element), *type = register_type(p, f);
    const char *name = arena_printf(p->arena, "load_%s_%dx%d_of_%d_bytes%s", role_names[f->role], f->rows, f->columns, bytes,
                                    across ? "_across" : "");
    if (!cfamily_first_use(p, name))
        return name;
    /* Which of the matrices a lane's row belongs to: l / 8. a: rows 0 to 7 and 8 to 15, then the columns behind them; b: rows 0 to 7, then 8 to 15. */
    const char *row, *column;
    if (a && !across)
        row = "lane % 16", column = "lane / 16 * (16 / (int)sizeof(*tile))";
    else if (a)
        row = "lane % 8 + lane / 16 * 8", column = "lane / 8 % 2 * 8";
    else if (across) /* rows of memory are rows of b */
        row = "lane % 16", column = "0";
    else
        row = "lane % 8", column = "lane / 8 % 2 * (16 / (int)sizeof(*tile))";
    bool transposed = a ? across : across;
    text_add(&p->prelude, HEAD "%s %s(const %s *tile, int pitch)\n{\n", type, name, element);
    text_add(&p->prelude, "    const int lane = threadIdx.x %% 32;\n    const %s *row = tile + (%s) * pitch + %s;\n    %s r;\n",
             element, row, column, type);
    text_add(&p->prelude, "    const unsigned address = (unsigned)__cvta_generic_to_shared(row);\n");
    text_add(&p->prelude, "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {", registers,
             transposed ? ".trans" : "");
    for (int i = 0; i < registers; i++)
        text_add(&p->prelude, "%s%%%d", i ? ", " : "", i);
    text_add(&p->prelude, "}, [%%%d];\"\n                 : ", registers);
    for (int i = 0; i < registers; i++)
        text_add(&p->prelude, "%s\"=r\"(r.v[%d])", i ? ", " : "", i);
    text_add(&p->prelude, " : \"r\"(address) : \"memory\");\n    return r;\n}\n");
    return name;
}

/* (first element, elements between rows, between columns, rows and columns that exist): element by element. */
static const char *plain_load(cfamily *p, const kernel_fragment *f) {
    int registers = share(f), bytes = element_table[f->element].block_bytes, each = 4 / bytes;
    bool a = f->role == FRAGMENT_A;
    const char *element = cuda_storage_type(f->element), *type = register_type(p, f);
    const char *bits = bytes == 2 ? "(unsigned)(unsigned short)" : bytes == 1 ? "(unsigned)(unsigned char)" : "__float_as_uint";
    const char *name =
        arena_printf(p->arena, "load_%s_%dx%d_%s", role_names[f->role], f->rows, f->columns, element_table[f->element].name);
    if (!cfamily_first_use(p, name))
        return name;
    text_add(&p->prelude,
             HEAD "%s %s(const %s *tile, long long row, long long column, long long rows, long long columns)\n{\n    %s f;\n",
             type, name, element, type);
    text_add(&p->prelude,
             "    const int g = (threadIdx.x >> 2) %% 8, t = threadIdx.x %% 4;\n"
             "#pragma unroll\n    for (int n = 0; n < %d; n++) {\n        f.v[n] = 0;\n"
             "#pragma unroll\n        for (int i = 0; i < %d; i++) {\n",
             registers, each);
    if (a)
        text_add(&p->prelude, "            const int r = g + n %% 2 * 8, c = t * %d + n / 2 * %d + i;\n", each, 4 * each);
    else
        text_add(&p->prelude, "            const int r = t * %d + n * %d + i, c = g;\n", each, 4 * each);
    text_add(&p->prelude,
             "            if (r < rows && c < columns)\n                f.v[n] |= %s(tile[r * row + c * column]) << i "
             "* %d;\n"
             "        }\n    }\n    return f;\n}\n",
             bits, 8 * bytes);
    return name;
}

/* `even`: rows end behind whole pairs. */
static const char *accumulator_access(cfamily *p, const kernel_fragment *f, bool store, bool masked, bool pairs, bool even) {
    const char *element = cuda_storage_type(f->element), *type = register_type(p, f);
    const char *shape = f->holder == LEVEL_WARPGROUP ? arena_printf(p->arena, "_%dx%d", f->rows, f->columns) : "";
    const char *name = arena_printf(p->arena, "%s_accumulator_%s%s%s%s", store ? "store" : "load", element_table[f->element].name,
                                    shape, masked ? "_within" : "", pairs ? masked && even ? "_even_pairs" : "_pairs" : "");
    if (!cfamily_first_use(p, name))
        return name;
    const char *of = cuda_lane_functions(p, f);
    const char *pair = pairs ? cuda_register_type(p, f->element, 2) : NULL;
    const char *limits = masked ? ", long long rows, long long columns" : "";
    if (store)
        text_add(&p->prelude, HEAD "void %s(%s *tile, const %s &f, long long row, long long column%s)\n{\n", name, element, type,
                 limits);
    else
        text_add(&p->prelude, HEAD "%s %s(const %s *tile, long long row, long long column%s)\n{\n    %s f;\n", type, name,
                 element, limits, type);
    text_add(&p->prelude, "#pragma unroll\n    for (int e = 0; e < %d; e += %d) {\n", share(f), pairs ? 2 : 1);
    text_add(&p->prelude, "        const int r = %s_row(e), c = %s_column(e);\n", of, of);
    if (pairs) {
        text_add(&p->prelude, "        const %s both = {{f.v[e], f.v[e + 1]}};\n", pair);
        if (masked && even)
            text_add(&p->prelude, "        if (r < rows && c < columns)\n            *(%s *)&tile[r * row + c] = both;\n", pair);
        else if (masked) /* the row may end between the two */
            text_add(&p->prelude,
                     "        if (r < rows && c == columns - 1)\n            tile[r * row + c] = f.v[e];\n"
                     "        else if (r < rows && c < columns)\n            *(%s *)&tile[r * row + c] = both;\n",
                     pair);
        else
            text_add(&p->prelude, "        *(%s *)&tile[r * row + c] = both;\n", pair);
    } else if (store)
        text_add(&p->prelude, "        %stile[r * row + c * column] = f.v[e];\n",
                 masked ? "if (r < rows && c < columns)\n            " : "");
    else
        text_add(&p->prelude, masked ? "        f.v[e] = r < rows && c < columns ? tile[r * row + c * column] : 0;\n"
                                     : "        f.v[e] = tile[r * row + c * column];\n");
    text_add(&p->prelude, store ? "    }\n}\n" : "    }\n    return f;\n}\n");
    return name;
}

/* The same by pieces of 16 bytes: the four lanes of a row have two columns each of every eight; of 32 columns each takes eight whole, so that a warp writes whole
 * sectors. Rows end behind whole pieces. */
static const char *store_pieces(cfamily *p, const kernel_fragment *f, bool masked) {
    const char *element = cuda_storage_type(f->element), *type = register_type(p, f);
    const char *name = arena_printf(p->arena, "store_accumulator_%s_%dx%d%s_pieces", element_table[f->element].name, f->rows,
                                    f->columns, masked ? "_within" : "");
    if (!cfamily_first_use(p, name))
        return name;
    const char *of = cuda_lane_functions(p, f), *piece = cuda_register_type(p, ELEMENT_U32, 4);
    text_add(&p->prelude, HEAD "void %s(%s *tile, const %s &f, long long row, long long column%s)\n{\n", name, element, type,
             masked ? ", long long rows, long long columns" : "");
    text_add(&p->prelude,
             "    const int t = threadIdx.x %% 4;\n#pragma unroll\n    for (int e = 0; e < 4; e += 2) {\n        const int r = "
             "%s_row(e);\n"
             "#pragma unroll\n        for (int n = 0; n < %d; n += 16) {\n            %s x;\n"
             "#pragma unroll\n            for (int i = 0; i < 4; i++)\n                x.v[i] = f.v[n + 4 * i + e] | "
             "(unsigned)f.v[n + 4 * i + e + 1] << 16;\n",
             of, share(f), piece);
    text_add(&p->prelude,
             "#pragma unroll\n            for (int i = 0; i < 4; i += 2) {\n"
             "                const unsigned other = __shfl_xor_sync(0xffffffffu, t & 1 ? x.v[i] : x.v[i + 1], 1);\n"
             "                x.v[i] = t & 1 ? other : x.v[i];\n                x.v[i + 1] = t & 1 ? x.v[i + 1] : other;\n"
             "            }\n"
             "#pragma unroll\n            for (int i = 0; i < 2; i++) {\n"
             "                const unsigned other = __shfl_xor_sync(0xffffffffu, t & 2 ? x.v[i] : x.v[i + 2], 2);\n"
             "                x.v[i] = t & 2 ? other : x.v[i];\n                x.v[i + 2] = t & 2 ? x.v[i + 2] : other;\n"
             "            }\n            const int c = (n / 4 + t) * 8;\n            %s*(%s *)&tile[r * row + c] = x;\n"
             "        }\n    }\n}\n",
             masked ? "if (r < rows && c < columns)\n                " : "", piece);
    return name;
}

static const char *within(cfamily *p, const kernel_stmt *s) {
    if (!s->extents)
        return "";
    return arena_printf(p->arena, ", %s, %s", cfamily_index_text(p, s->extents[0]), cfamily_index_text(p, s->extents[1]));
}

static bool load_or_store(cfamily *p, const kernel_stmt *s) {
    arena *a = p->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    const kernel_access *access = &s->access;
    if (s->by_reference)
        return cuda_warpgroup_place(p, s, name_of_ref(p, &s->fragments[0]));
    p->arrays[access->array->id].used = true;
    const char *place = arena_printf(a, "&%s[%s]", p->arrays[access->array->id].name,
                                     s->extents ? cfamily_far_offset(p, access) : cfamily_offset(p, access, 0));
    const char *row = pitch(p, access, s->row_dim, s->row_step), *column = pitch(p, access, s->column_dim, s->column_step),
               *fragment = name_of_ref(p, &s->fragments[0]);
    if (!row || !column)
        return cfamily_refuse(p, s->span, "fragments in a layout whose rows lie at no equal distances");
    bool rows_along = !s->row_step && side_by_side(p, access, s->row_dim),
         columns_along = !s->column_step && side_by_side(p, access, s->column_dim);
    if (cuda_is_vector(f)) {
        const char *all = s->extents ? within(p, s) : arena_printf(a, ", %d, %d", f->rows, f->columns);
        const char *call = cuda_vector_access(p, f, s->kind == KSTMT_FRAGMENT_STORE), *along = f->columns == 1 ? row : column;
        if (s->kind == KSTMT_FRAGMENT_STORE)
            cfamily_line(p, "%s(%s, %s, %s%s);", call, place, fragment, along, all);
        else
            cfamily_line(p, "%s = %s(%s, %s%s);", fragment, call, place, along, all);
        return true;
    }
    if (is_operand(f) && s->kind == KSTMT_FRAGMENT_STORE)
        return cfamily_refuse(p, s->span, "storing operands of a product");
    if (is_operand(f)) {
        /* Rows of memory run along the sum, as ldmatrix has them, or across it, which it can turn round in pairs of bytes. */
        bool along_sum = f->role == FRAGMENT_A ? columns_along : rows_along,
             across = f->role == FRAGMENT_A ? rows_along : columns_along;
        if (access->aligned && access->array->space == SPACE_SHARED && !s->extents &&
            (along_sum || (across && element_table[f->element].block_bytes == 2))) {
            const char *pitch = columns_along ? row : column;
            cfamily_line(p, "%s = %s(%s, %s);", fragment, matrix_load(p, f, !along_sum), place, pitch);
        } else {
            const char *all = arena_printf(a, ", %d, %d", f->rows, f->columns);
            cfamily_line(p, "%s = %s(%s, %s, %s%s);", fragment, plain_load(p, f), place, row, column,
                         s->extents ? within(p, s) : all);
        }
        return true;
    }
    bool store = s->kind == KSTMT_FRAGMENT_STORE;
    bool pairs = store && access->aligned && columns_along;
    bool even = pairs && s->extents && cfamily_multiple(p, cfamily_fold(p, s->extents[1])) % 2 == 0;
    const bool pieces = pairs && kernel_row_lanes(s) > 2 &&
                        (!s->extents || cfamily_multiple(p, cfamily_fold(p, s->extents[1])) % kernel_row_lanes(s) == 0);
    const char *name =
        pieces ? store_pieces(p, f, s->extents != NULL) : accumulator_access(p, f, store, s->extents != NULL, pairs, even);
    if (store)
        cfamily_line(p, "%s(%s, %s, %s, %s%s);", name, place, fragment, row, column, within(p, s));
    else
        cfamily_line(p, "%s = %s(%s, %s, %s%s);", fragment, name, place, row, column, within(p, s));
    return true;
}

/* ---- arithmetic ---- */

static const char *instruction_of(cfamily *p, const matrix_instruction *with) {
    const char *operand = with->operand == ELEMENT_I8 ? "s8" : element_table[with->operand].name,
               *sum = element_table[with->accumulator].is_float ? "f32" : "s32";
    return arena_printf(p->arena, "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s", with->m, with->n, with->k, sum, operand,
                        operand, sum);
}

/* The product by an instruction; `name`: of the function around it, NULL: ours. */
static const char *multiply(cfamily *p, const kernel_stmt *s, const char *name) {
    const matrix_instruction *with = matrix_of_mma(&cuda_machine()->matrices, s);
    if (!with) {
        cfamily_refuse(p, s->span, "a product of such fragments");
        return "";
    }
    if (!name)
        name = arena_printf(p->arena, "mma_m%dn%dk%d_%s", with->m, with->n, with->k, element_table[with->operand].name);
    if (!cfamily_first_use(p, name))
        return name;
    const char *d = register_type(p, s->fragments[0].fragment), *a = register_type(p, s->fragments[1].fragment),
               *b = register_type(p, s->fragments[2].fragment);
    bool floats = element_table[with->accumulator].is_float;
    const char *r = floats ? "f" : "r";
    text_add(&p->prelude, "/* a b + c */\n" HEAD "%s %s(const %s &a, const %s &b, const %s &c)\n{\n    %s d;\n", d, name, a, b, d,
             d);
    text_add(&p->prelude, "    asm(\"%s \"\n", instruction_of(p, with));
    text_add(&p->prelude, "        \"{%%0, %%1, %%2, %%3}, {%%4, %%5, %%6, %%7}, {%%8, %%9}, {%%10, %%11, %%12, %%13};\"\n");
    text_add(&p->prelude, "        : \"=%s\"(d.v[0]), \"=%s\"(d.v[1]), \"=%s\"(d.v[2]), \"=%s\"(d.v[3])\n", r, r, r, r);
    text_add(&p->prelude,
             "        : \"r\"(a.v[0]), \"r\"(a.v[1]), \"r\"(a.v[2]), \"r\"(a.v[3]), \"r\"(b.v[0]), \"r\"(b.v[1]),\n");
    text_add(&p->prelude, "          \"%s\"(c.v[0]), \"%s\"(c.v[1]), \"%s\"(c.v[2]), \"%s\"(c.v[3]));\n    return d;\n}\n", r, r,
             r, r);
    return name;
}

/* A product by the name of its instruction: what its reference says, which must be just that. */
bool cuda_product_by_name(cfamily *p, const kernel_stmt *s) {
    const kernel_stmt *product = s->body.items.count == 1 ? s->body.items.at[0] : NULL;
    const matrix_instruction *with =
        product && product->kind == KSTMT_FRAGMENT_MMA ? matrix_of_mma(&cuda_machine()->matrices, product) : NULL;
    if (!with || strcmp(instruction_of(p, with), s->name) != 0)
        return cfamily_refuse(p, s->span, "`%s` of such fragments", s->name);
    char *name = arena_printf(p->arena, "ptx_%s", s->name);
    for (char *c = name; *c; c++)
        if (*c == '.')
            *c = '_';
    cfamily_line(p, "%s = %s(%s, %s, %s);", name_of_ref(p, &s->fragments[0]), multiply(p, product, name),
                 name_of_ref(p, &s->fragments[1]), name_of_ref(p, &s->fragments[2]), name_of_ref(p, &s->fragments[3]));
    return true;
}

static const char *fill_function(cfamily *p, const kernel_fragment *f) {
    const char *type = register_type(p, f), *name = arena_printf(p->arena, "fill_%s", type);
    if (cfamily_first_use(p, name))
        text_add(&p->prelude,
                 HEAD
                 "void %s(%s &f, %s value)\n{\n#pragma unroll\n    for (int e = 0; e < %d; e++)\n        f.v[e] = value;\n}\n",
                 name, type, cuda_scalar_type(f->element), share(f));
    return type;
}

static void fill(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const char *value = cfamily_statement_value(p, s->value).text, *fragment = name_of_ref(p, &s->fragments[0]);
    text_buffer all = {0};
    if (share(f) > 8) {
        cfamily_line(p, "fill_%s(%s, %s);", fill_function(p, f), fragment, value);
        if (f->holder == LEVEL_WARPGROUP &&
            (f->element == ELEMENT_F32 || f->element == ELEMENT_I32)) /* else ptxas makes constants again while products run */
            cuda_warpgroup_settle(p, f, fragment);
        return;
    }
    for (int i = 0; i < share(f); i++)
        text_add(&all, "%s%s", i ? ", " : "", value);
    cfamily_line(p, "%s = {{%s}};", fragment, text_get(&all));
    text_free(&all);
}

/* The lane's elements one after the other, in a loop that is certainly written out. */
static void map(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const char *fragment = name_of_ref(p, &s->fragments[0]), *outer = p->element;
    text_buffer body = {0}, *out = p->out;
    int taken = p->names.count;
    const char *of = cuda_lane_functions(p, f), *element = cfamily_unique(p, "e"), *row = cfamily_unique(p, s->row->name),
               *column = cfamily_unique(p, s->column->name);
    cfamily_bind(p, s->row, row);
    cfamily_bind(p, s->column, column);
    p->element = element;
    p->out = &body;
    p->indent++;
    cfamily_line(p, "%s.v[%s] = %s;", fragment, element, cfamily_statement_value(p, s->value).text);
    p->out = out;
    text_add(out, "#pragma unroll\n");
    p->indent--;
    cfamily_line(p, "for (int %s = 0; %s < %d; %s++) {", element, element, share(f), element);
    p->indent++;
    if (cfamily_find(p, s->row)->used)
        cfamily_line(p, "const %s %s = %s;", cfamily_index_type(p), row,
                     f->role == FRAGMENT_COLUMN_VECTOR ? "0"
                     : f->role == FRAGMENT_ROW_VECTOR  ? arena_printf(p->arena, "%s_row(2 * %s)", of, element)
                                                       : arena_printf(p->arena, "%s_row(%s)", of, element));
    if (cfamily_find(p, s->column)->used)
        cfamily_line(p, "const %s %s = %s;", cfamily_index_type(p), column,
                     f->role == FRAGMENT_ROW_VECTOR ? "0" : arena_printf(p->arena, "%s_column(%s)", of, element));
    text_add(out, "%s", text_get(&body));
    p->indent--;
    cfamily_line(p, "}");
    text_free(&body);
    p->element = outer;
    cfamily_bind(p, s->row, NULL);
    cfamily_bind(p, s->column, NULL);
    p->names.count = taken;
}

const char *cuda_fragment_element(cfamily *p, const kernel_value *v) {
    const bool of_row = v->op == KERNEL_FRAGMENT_ROW, of_column = v->op == KERNEL_FRAGMENT_COLUMN;
    const kernel_value *x = of_row || of_column ? v->operands[0] : v;
    const char *which = of_row ? " >> 1" : of_column ? " & 1" : "";
    return p->element
               ? arena_printf(p->arena, "%s.v[%s%s]", cfamily_fragment_name(p, x->fragment, x->fragment_index), p->element, which)
               : NULL;
}

bool cuda_fragment_statement(cfamily *p, const kernel_stmt *s) {
    if (s->kind == KSTMT_FRAGMENT_FILL || s->kind == KSTMT_FRAGMENT_MAP)
        p->products_open = false;
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL:
        if (is_operand(s->fragments[0].fragment))
            return false;
        fill(p, s);
        return true;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: return load_or_store(p, s);
    case KSTMT_FRAGMENT_MMA:
        if (s->asynchronous) {
            const cuda_product_names n = {name_of_ref(p, &s->fragments[0]), name_of_ref(p, &s->fragments[1]),
                                          name_of_ref(p, &s->fragments[2]), name_of_ref(p, &s->fragments[3]),
                                          register_type(p, s->fragments[0].fragment)};
            return cuda_warpgroup_multiply(p, s, &n);
        }
        cfamily_line(p, "%s = %s(%s, %s, %s);", name_of_ref(p, &s->fragments[0]), multiply(p, s, NULL),
                     name_of_ref(p, &s->fragments[1]), name_of_ref(p, &s->fragments[2]), name_of_ref(p, &s->fragments[3]));
        return true;
    case KSTMT_FRAGMENT_MAP:
        if (is_operand(s->fragments[0].fragment))
            return false;
        map(p, s);
        return true;
    case KSTMT_FRAGMENT_REDUCE: return cuda_vector_reduce(p, s);
    case KSTMT_FRAGMENT_CONVERT: return cuda_fragment_convert(p, s);
    default: return false;
    }
}
