/* Finds the row of a table that points the way a query does, with the kernels of nearest.tile.
 *
 *     cc nearest.c $(pkg-config --cflags --libs tilec) -o nearest
 *     ./nearest nearest.tile
 *
 * It shows the whole round: load, inspect, bind memory of one's own, launch, read results, and what becomes of a mistake. */
#include <stdio.h>
#include <stdlib.h>
#include <tilec.h>

enum { ROWS = 5000, WIDTH = 96, WANTED = 1234 };

static int fail(const tilec_context *t) {
    fputs(tilec_error(t), stderr);
    return 1;
}

/* What the library knows of the call: its arguments, how each kernel was compiled, and what was proved. */
static void tell(tilec_call *c) {
    tilec_argument a = {.size = sizeof a};
    for (int i = 0; tilec_argument_at(c, i, &a); i++)
        printf("%s %s\n", a.role == TILEC_IN ? "takes" : "gives", a.declaration);
    tilec_step s = {.size = sizeof s};
    for (int i = 0; tilec_step_at(c, i, &s); i++)
        printf("%s: schedule %s; %d properties proved, %d checked at launch\n", s.kernel, s.schedule, s.proved, s.check_count);
}

static int run(tilec_context *t, const char *path) {
    tilec_module *m = tilec_load_file(t, path);
    tilec_call *c = m ? tilec_call_new(m, "nearest") : NULL;
    if (!c || !tilec_compile(c)) /* for every shape there is: arguments come later */
        return fail(t);
    tell(c);

    float *table = malloc(sizeof *table * ROWS * WIDTH), query[WIDTH];
    if (!table)
        return 1;
    uint32_t state = 1;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        state = state * 1664525 + 1013904223;
        table[i] = (float)(state >> 8) / (1 << 23) - 1;
    }
    for (int d = 0; d < WIDTH; d++)
        query[d] = 3 * table[WANTED * WIDTH + d]; /* another length, the same way */

    /* A mistake first: the table's rows are longer than the query. Nothing runs, and the message says why. */
    int64_t query_shape[] = {WIDTH}, table_shape[] = {ROWS, WIDTH}, wrong_shape[] = {WIDTH, ROWS};
    bool bound = tilec_bind_array(c, "query", TILEC_F32, 1, query_shape, query) &&
                 tilec_bind_array(c, "table", TILEC_F32, 2, wrong_shape, table);
    tilec_diagnostic d = {.size = sizeof d};
    if (bound && !tilec_launch(c) && tilec_diagnostic_at(t, 0, &d))
        printf("refused, as it should be: %s %s\n", d.code, d.message);

    int status = 1;
    if (!tilec_bind_array(c, "table", TILEC_F32, 2, table_shape, table) || !tilec_launch(c)) {
        fail(t);
    } else {
        const uint32_t *at = tilec_result(c, "at", NULL, NULL);
        const float *cosine = tilec_result(c, "cosine", NULL, NULL); /* a temporary of the program can be read too */
        printf("nearest row: %u\n", at[0]);
        status = at[0] != WANTED || !(cosine[at[0]] > 0);
    }
    tilec_call_free(c);
    tilec_module_free(m);
    free(table);
    return status;
}

int main(int count, char **words) {
    tilec_context *t = tilec_open(NULL);
    int status = t && tilec_ready(t) ? run(t, count > 1 ? words[1] : "nearest.tile") : t ? fail(t) : 1;
    tilec_close(t);
    return status;
}
