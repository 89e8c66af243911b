#define SIZE 1000 /* a header beside the file */
