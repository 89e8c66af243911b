/* As much of the C library as tilec_metal.m uses. */
typedef struct file FILE;
extern FILE *stderr;
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
