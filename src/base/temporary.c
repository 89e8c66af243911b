/* What a signal that ends the program removes first. Handlers may call next to nothing: they wake a thread, which does it. */
#define _XOPEN_SOURCE 700
#include "base/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct temporary {
    struct temporary *next;
    char path[];
} temporary;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static temporary *noted;
static pid_t watched;
static int ends[2];

/* Made and noted in one, so that no signal comes between. Without memory it is made and not noted. */
static void note(const char *path) {
    int error = errno;
    size_t size = strlen(path) + 1;
    temporary *t = malloc(sizeof *t + size);
    if (t) {
        memcpy(t->path, path, size);
        t->next = noted;
        noted = t;
    }
    errno = error;
}

int temporary_file(char *pattern) {
    pthread_mutex_lock(&lock);
    int file = mkstemp(pattern);
    if (file >= 0)
        note(pattern);
    pthread_mutex_unlock(&lock);
    return file;
}

bool temporary_folder(char *pattern) {
    pthread_mutex_lock(&lock);
    bool made = mkdtemp(pattern);
    if (made)
        note(pattern);
    pthread_mutex_unlock(&lock);
    return made;
}

void temporary_keep(const char *path) {
    temporary *found = NULL;
    pthread_mutex_lock(&lock);
    for (temporary **at = &noted; *at && !found; at = found ? at : &(*at)->next)
        if (!strcmp((*at)->path, path)) {
            found = *at;
            *at = found->next;
        }
    pthread_mutex_unlock(&lock);
    int error = errno;
    free(found);
    errno = error;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *place) {
    (void)s, (void)kind, (void)place;
    remove(path);
    return 0;
}

/* Some times over: a child that the same signal ends may still make a file while its folder is emptied. */
static void remove_tree(const char *path) {
    enum { TRIES = 20, PAUSE_NANOSECONDS = 5000000 };
    int error = errno;
    struct stat s;
    for (int i = 0; i < TRIES && !lstat(path, &s); i++) {
        if (i)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    errno = error;
}

void temporary_remove(const char *path) {
    if (!path)
        return;
    remove_tree(path);
    temporary_keep(path);
}

static void die_of(int number) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, number);
    signal(number, SIG_DFL);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
}

static void caught(int number) {
    unsigned char byte = (unsigned char)number;
    int error = errno;
    if (getpid() != watched || write(ends[1], &byte, 1) != 1) /* a child that was forked has no such thread */
        die_of(number);
    errno = error;
}

/* Whoever is at work goes on until the end: what it would make waits for the lock, for ever. */
static void *watch(void *unused) {
    (void)unused;
    unsigned char byte;
    ssize_t got;
    while ((got = read(ends[0], &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1)
        return NULL;
    pthread_mutex_lock(&lock);
    for (temporary *t = noted; t; t = t->next)
        remove_tree(t->path);
    die_of(byte);
    return NULL;
}

void temporary_watch(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    pthread_t thread;
    sigset_t all, before;
    pthread_mutex_init(&lock, NULL);
    noted = NULL;
    if (pipe(ends))
        return;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    watched = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&thread, NULL, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started)
        return;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction now, handler = {.sa_handler = caught, .sa_flags = SA_RESTART};
        sigemptyset(&handler.sa_mask);
        if (!sigaction(signals[i], NULL, &now) && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &handler, NULL);
    }
}
