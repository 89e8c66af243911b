/* As much of the C library as tilec_metal.m and metal_probe.m use. */
typedef struct file FILE;
extern FILE *stderr, *stdout;
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
int fflush(FILE *file);
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fscanf(FILE *file, const char *format, ...) __attribute__((format(scanf, 2, 3)));
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
