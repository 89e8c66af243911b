/* Programs run as child processes, without a shell. */
#ifndef TILEC_BASE_PROCESS_H
#define TILEC_BASE_PROCESS_H

/* The executable of this name, on PATH where the name has no slash. Heap memory, the caller's; NULL: there is none. */
char *process_find(const char *name);
/* Runs it to its end, its input empty, its output of both kinds in the file `output`. `arguments` begin with the name and end with NULL. Its exit status, 128
 * and the signal's number where one ended it, or -1 with errno when it did not start. */
int process_run(const char *program, const char *const *arguments, const char *output);
#endif
