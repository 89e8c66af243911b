/* Traits of the device itself, as numbers that tilec asks for. */
#ifndef PROBE_TRAITS_H
#define PROBE_TRAITS_H
/* Asks what the file (device.traits) lists, with the kernels beside it, and prints the row. 0, with a message, when something fails. */
int probe_traits(const char *path, const char *device);
#endif
