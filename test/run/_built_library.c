/* A stranger's program: calls what `tilec build --target c` wrote, compares with plain loops, splits tasks among threads. */
#include "gather.h"
#include "product.h"
#include "row_soft.h"
#include "scatter.h"
#include "shares.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void say(int good, const char *name) {
    printf("%s %s\n", good ? "ok" : "FAIL", name);
    failures += !good;
}

static float half_value(uint16_t h) /* normal numbers and zero only */
{
    return h & 0x7fff ? ldexpf((float)((h & 0x3ff) | 0x400), ((h >> 10) & 31) - 25) * (h & 0x8000 ? -1.0f : 1.0f) : 0;
}

static int product_is_right(int64_t m, int64_t k, int64_t n) {
    uint16_t *a = malloc((size_t)(m * k + 1) * 2), *b = malloc((size_t)(k * n + 1) * 2);
    float *c = malloc((size_t)(m * n + 1) * 4);
    unsigned seed = 1;
    for (int64_t i = 0; i < m * k; i++)
        a[i] = (uint16_t)(0x3800 + (seed = seed * 1103515245 + 12345) / 65536 % 1024);
    for (int64_t i = 0; i < k * n; i++)
        b[i] = (uint16_t)(0xb800 + (seed = seed * 1103515245 + 12345) / 65536 % 1024);
    memset(c, 0xff, (size_t)(m * n + 1) * 4);
    int good = product(a, b, c, m, k, n) == 0;
    for (int64_t i = 0; good && i < m; i++)
        for (int64_t j = 0; good && j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < k; l++) {
                double p = (double)half_value(a[i * k + l]) * (double)half_value(b[l * n + j]);
                sum += p;
                size += fabs(p);
            }
            good = fabs((double)c[i * n + j] - sum) <= size * 1e-6 * (1 + (double)k / 64);
        }
    free(a);
    free(b);
    free(c);
    return good;
}

static float *soft_x, *soft_y, *soft_s;
static int64_t soft_rows, soft_columns;
typedef struct share {
    int64_t first, last;
} share;

static void *run_share(void *argument) {
    share *s = argument;
    void *scratch = aligned_alloc(64, row_soft_scratch_bytes());
    row_soft_tasks(soft_x, soft_y, soft_s, soft_rows, soft_columns, s->first, s->last, scratch);
    free(scratch);
    return NULL;
}

/* The program against plain loops: small whole numbers, so that every order of summing gives the same. */
static int shares_is_right(int64_t rows, int64_t columns) {
    enum { LARGEST = 40 };
    float x[LARGEST * LARGEST], w[LARGEST], s[LARGEST], few[LARGEST], many[LARGEST], t[LARGEST], u[LARGEST];
    int64_t chunks_few = (rows + 2) / 3, chunks_many = (rows + 1) / 2;
    for (int64_t i = 0; i < rows * columns; i++)
        x[i] = (float)(i % 7 - 2);
    for (int64_t r = 0; r < LARGEST; r++) {
        w[r] = (float)(r % 5);
        few[r] = (float)r;
        many[r] = (float)-r;
        t[r] = u[r] = 0;
    }
    int good = shares(x, w, s, few, many, rows, columns, rows, chunks_few, chunks_many, 2.0f) == 0;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            t[r] += x[r * columns + c];
            u[r] += x[r * columns + c] * (w[r] + 2);
        }
        good = good && s[r] == u[r];
    }
    for (int64_t i = 0; i < LARGEST; i++) {
        float f = (float)i, m = (float)-i;
        for (int64_t r = 3 * i; r < 3 * i + 3 && r < rows && i < chunks_few; r++)
            f += t[r];
        for (int64_t r = 2 * i; r < 2 * i + 2 && r < rows && i < chunks_many; r++)
            m += u[r];
        good = good && few[i] == f && many[i] == m;
    }
    return good;
}

static void programs(void) {
    say(shares_is_right(1, 1) && shares_is_right(37, 29) && shares_is_right(40, 40), "built program");
    say(shares_is_right(0, 3) && shares_is_right(5, 0), "built program of nothing");
    float x[6] = {0}, w[2] = {0}, s[2], few[1] = {5}, many[1] = {6};
    say(strstr(shares_error(shares(x, w, s, few, many, 2, 3, 1, 1, 1, 0)), "fit together") &&
            strstr(shares_error(shares(x, w, s, few, many, 2, 3, 2, 2, 1, 0)), "where") && few[0] == 5,
        "extents that differ are refused");
    say(strstr(shares_error(shares(x, w, s, few, many, -2, 3, 2, 1, 1, 0)), "extent") &&
            strstr(shares_error(shares(x, NULL, s, few, many, 2, 3, 2, 1, 1, 0)), "memory") &&
            strstr(shares_error(shares(x, w, s, few, s, 2, 3, 2, 1, 1, 0)), "overlap") &&
            strstr(shares_error(shares(x, w, x + 1, few, many, 2, 3, 2, 1, 1, 0)), "overlap"),
        "a program checks its arguments");
    say(!strcmp(shares_error(0), "no error") && !strcmp(shares_error(17), "unknown code") &&
            !strcmp(shares_error(-1), "unknown code") && !strcmp(shares_error(9001), "unknown code") &&
            !strcmp(shares_error(4999), "unknown code"),
        "every code of a program has a text");
}

int main(void) {
    programs();
    say(product_is_right(1, 1, 1) && product_is_right(33, 65, 127) && product_is_right(100, 300, 257), "built product");
    say(product_is_right(0, 5, 7) && product_is_right(5, 0, 7) && product_is_right(5, 7, 0), "built product of nothing");

    float table[6], y[8], wanted[8] = {10, 12, 2, 4, 6, 8, 0, 0};
    int32_t ids[4] = {2, 0, 1, 2};
    for (int i = 0; i < 6; i++)
        table[i] = (float)(i + 1);
    say(!gather(table, ids, y, 3, 2, 4, 3, 2.0f) && !memcmp(y, wanted, sizeof y), "built gather");
    say(gather(table, ids, y, 3, 1, 4, 3, 2.0f) != 0 && strstr(gather_error(gather(table, ids, y, 3, 1, 4, 3, 2.0f)), "where"),
        "where is checked");
    say(strstr(gather_error(gather(table, ids, y, 3, 2, 4, 5, 2.0f)), "len") != NULL, "scalar range is checked");
    say(strstr(gather_error(gather(table, ids, y, 3, 2, -4, 0, 2.0f)), "extent") != NULL, "extents are checked");
    say(strstr(gather_error(gather(table, ids, NULL, 3, 2, 4, 0, 2.0f)), "memory") != NULL, "missing arrays are refused");
    say(strstr(gather_error(gather(table, ids, table, 3, 2, 3, 0, 2.0f)), "overlap") != NULL, "overlap is refused");
    int32_t bad[4] = {2, 0, 3, 2}, negative[4] = {2, -1, 0, 2};
    memcpy(y, wanted, sizeof y);
    say(strstr(gather_error(gather(table, bad, y, 3, 2, 4, 3, 2.0f)), "ids") &&
            strstr(gather_error(gather(table, negative, y, 3, 2, 4, 3, 2.0f)), "ids") && !memcmp(y, wanted, sizeof y),
        "index data is checked before anything is written");
    say(!strcmp(gather_error(0), "no error") && !strcmp(gather_error(99), "unknown code") &&
            !strcmp(gather_error(-1), "unknown code"),
        "every code has a text");

    int32_t slot[3] = {3, 0, 4}, again[3] = {3, 0, 3};
    float x[6] = {1, 2, 3, 4, 5, 6}, cache[10], after[10], untouched[10];
    for (int i = 0; i < 10; i++)
        untouched[i] = cache[i] = after[i] = (float)(i - 4);
    for (int t = 0; t < 3; t++)
        for (int d = 0; d < 2; d++)
            after[2 * slot[t] + d] += -3.0f + 7.0f + 2 * x[2 * t + d];
    say(strstr(scatter_error(scatter(x, again, cache, 3, 2, 5, -3, 7, true)), "slot") && !memcmp(cache, untouched, sizeof cache),
        "a scatter to one place twice is refused");
    say(strstr(scatter_error(scatter(x, slot, cache, 3, 2, 5, (int64_t)1 << 31, 7, true)), "i32") &&
            strstr(scatter_error(scatter(x, slot, cache, 3, 2, 5, 0, -1, true)), "u32") &&
            !memcmp(cache, untouched, sizeof cache),
        "integers beyond their types are refused");
    say(!scatter(x, slot, cache, 3, 2, 5, -3, 7, true) && !memcmp(cache, after, sizeof cache), "built scatter");

    soft_rows = 61;
    soft_columns = 100;
    size_t cells = (size_t)(soft_rows * soft_columns);
    soft_x = malloc(cells * 4);
    soft_y = malloc(cells * 4);
    soft_s = malloc((size_t)soft_rows * 4);
    float *whole = malloc(cells * 4), *sums = malloc((size_t)soft_rows * 4);
    for (size_t i = 0; i < cells; i++)
        soft_x[i] = (float)(i * 7 % 31) * 0.25f - 3;
    int good = row_soft(soft_x, whole, sums, soft_rows, soft_columns) == 0;
    for (int64_t r = 0; good && r < soft_rows; r++) {
        double sum = 0, max = -INFINITY;
        for (int64_t c = 0; c < soft_columns; c++)
            max = fmax(max, (double)soft_x[r * soft_columns + c]);
        for (int64_t c = 0; c < soft_columns; c++)
            sum += exp((double)soft_x[r * soft_columns + c] - max);
        for (int64_t c = 0; c < soft_columns; c++)
            good =
                good && fabs((double)whole[r * soft_columns + c] - exp((double)soft_x[r * soft_columns + c] - max) / sum) < 1e-6;
    }
    say(good, "built softmax");
    int64_t tasks = row_soft_task_count(soft_rows, soft_columns);
    share shares[3] = {{0, tasks / 3}, {tasks / 3, tasks / 2}, {tasks / 2, tasks}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run_share, &shares[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    say(!memcmp(whole, soft_y, cells * 4) && !memcmp(sums, soft_s, (size_t)soft_rows * 4),
        "threads of one's own give the same bits");
    free(soft_x);
    free(soft_y);
    free(soft_s);
    free(whole);
    free(sums);
    return failures != 0;
}
