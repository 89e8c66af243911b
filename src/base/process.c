/* Child processes. */
#define _GNU_SOURCE
#include "base/process.h"
#include "base/arena.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_executable(const char *path) {
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

char *process_find(const char *name) {
    if (strchr(name, '/'))
        return is_executable(name) ? strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        text_buffer b = {0};
        text_add(&b, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
        char *found = is_executable(text_get(&b)) ? strdup(text_get(&b)) : NULL;
        text_free(&b);
        if (found)
            return found;
        at += length + (at[length] == ':');
    }
    return NULL;
}

int process_run(const char *program, const char *const *arguments, const char *output) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int error = posix_spawn(&pid, program, &actions, NULL, (char *const *)arguments, environ), status = -1;
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
