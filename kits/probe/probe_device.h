/* A device that takes kernels as texts: what the program that asks (probe_ask.c) needs of CUDA (cuda_probe.c) or OpenCL (opencl_probe.c). Each function says on standard
 * error what went wrong, and gives 0 or NULL then. */
#ifndef PROBE_DEVICE_H
#define PROBE_DEVICE_H
#include <stddef.h>
#include <stdint.h>

extern const char probe_target[], probe_extension[]; /* "cuda", ".cu" */
/* The device in words, and its architecture where it has a number (90; else 0). */
int probe_device_open(char *text, size_t size, int *architecture);
/* The function of that name in the file's text; specific: compiled for what this architecture alone has. */
void *probe_load(const char *path, const char *function, int specific);
void probe_unload(void *kernel);
int probe_has_banks(void);        /* whether shared memory is a memory of its own: not on processors */
void *probe_memory(size_t bytes); /* of the device */
void probe_release(void *memory);
int probe_copy_in(void *memory, const void *from, size_t bytes);
int probe_copy_out(void *to, void *memory, size_t bytes);
/* memory NULL: the number. */
typedef struct probe_argument {
    void *memory;
    int number;
} probe_argument;
enum { PROBE_MOST_ARGUMENTS = 8 };
/* quiet: a launch that may be refused, whose refusal is no failure. To its end only with probe_copy_out. */
int probe_launch(void *kernel, size_t blocks, size_t threads, const probe_argument *arguments, int count, int quiet);
#endif
