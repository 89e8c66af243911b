/* What other languages have a word for, and how it is said here: for diagnostics. */
#ifndef TILEC_LANG_ELSEWHERE_H
#define TILEC_LANG_ELSEWHERE_H

const char *lang_function_elsewhere(
    const char *name); /* an expression in backquotes, `max(x, 0)` of relu, and what is to be known of it; NULL: not known */
const char *
lang_statement_elsewhere(const char *word); /* a sentence on what to do instead of `if`, `while`, ...; NULL: not known */
#endif
