/* Printing the table of diagnostic codes; the table itself is declared in diag.h. */
#ifndef TILEC_BASE_ERRORS_H
#define TILEC_BASE_ERRORS_H
#include "base/diag.h"

void error_print(FILE *out, const error_entry *e); /* what `tilec explain CODE` prints */
void error_print_markdown(FILE *out);              /* doc/errors.md, in order of the codes */
#endif
