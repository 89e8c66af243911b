/* Files and folders that stand while a piece of work goes on: when a signal ends the program, they go too. */
#ifndef TILEC_BASE_TEMPORARY_H
#define TILEC_BASE_TEMPORARY_H
#include <stdbool.h>

/* mkstemp and mkdtemp, whose `XXXXXX` they write over: a file descriptor, or -1 with errno; false with errno. */
int temporary_file(char *pattern);
bool temporary_folder(char *pattern);
/* It has another name now, or is to stay: forgets it. errno is left alone. */
void temporary_keep(const char *path);
/* Removes it, a folder with all that is in it, and forgets it. NULL does nothing; errno is left alone. */
void temporary_remove(const char *path);
/* From here on SIGINT, SIGTERM and SIGHUP remove what is noted before they end this process; those that it was started with
 * ignored stay so. Forgets what was noted before: a forked child calls it for itself. For programs alone, not for a library's host. */
void temporary_watch(void);
#endif
