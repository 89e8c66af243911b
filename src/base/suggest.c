#include "base/suggest.h"
#include <stddef.h>
#include <string.h>

enum { LONGEST = 48 };

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
static int distance(const char *x, const char *y) {
    int row[3][LONGEST + 2];
    int n = (int)strlen(x), m = (int)strlen(y);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *above2 = row[(i + 1) % 3], *above = row[(i - 1) % 3], *now = row[i % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = above[j - 1] + (x[i - 1] != y[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1] && above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            now[j] = best;
        }
    }
    return n ? row[n % 3][m] : m;
}

const char *suggest_nearest(const char *word, const char *const *names, int count) {
    const char *best = NULL;
    int length = (int)strlen(word), limit = length <= 2 ? 0 : length <= 4 ? 1 : length <= 8 ? 2 : 3, nearest = limit + 1;
    for (int i = 0; i < count; i++) {
        int d = distance(word, names[i]);
        if (d < nearest) {
            nearest = d;
            best = names[i];
        }
    }
    return best;
}
