/* Texts in and out, for every probe program. */
#ifndef PROBE_TEXT_H
#define PROBE_TEXT_H

/* A whole file, to be freed; NULL, with a message, when it can't be read. */
char *probe_text_read(const char *path);
/* Within a JSON string, on standard output: what would need an escape is left out. */
void probe_text_print(const char *text);
#endif
