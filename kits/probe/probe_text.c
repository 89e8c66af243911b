/* See probe_text.h. */
#include "probe_text.h"
#include <stdio.h>
#include <stdlib.h>

char *probe_text_read(const char *path) {
    FILE *f = fopen(path, "rb");
    long length = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    char *text = length >= 0 ? calloc((size_t)length + 1, 1) : NULL;
    if (!text || fseek(f, 0, SEEK_SET) || fread(text, 1, (size_t)length, f) != (size_t)length) {
        perror(path);
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

void probe_text_print(const char *text) {
    for (; *text; text++)
        if (*text >= ' ' && *text < 127 && *text != '"' && *text != '\\')
            putchar(*text);
}
