/* "Did you mean": the known name nearest to a mistyped one. */
#ifndef TILEC_BASE_SUGGEST_H
#define TILEC_BASE_SUGGEST_H
/* The name at the smallest edit distance, when that is small enough to be a slip of the hand; NULL otherwise. */
const char *suggest_nearest(const char *word, const char *const *names, int count);
#endif
