/* Whole files. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "base/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static source_span whole_file(const diag_list *diags, const char *path) {
    return (source_span){.file = arena_strdup(diags->arena, path)};
}

static void report_open(diag_list *diags, const char *path, int error) {
    source_span span = whole_file(diags, path);
    if (error == ENOENT || error == ENOTDIR)
        diag_error(diags, "E0880", span, "no such file");
    else if (error == EACCES || error == EPERM)
        diag_error(diags, "E0881", span, "this user may not read it");
    else
        diag_error(diags, "E0884", span, "cannot be read: %s", strerror(error));
}

static void report_size(diag_list *diags, const char *path, size_t limit) {
    diag_error(diags, "E0883", whole_file(diags, path), "larger than the %zu bytes allowed here", limit);
}

/* Reads to the end, whatever stat said: the file may be a pipe, or grow meanwhile. */
static bool read_all(int fd, const char *path, size_t limit, text_buffer *b, diag_list *diags) {
    char piece[65536];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            diag_error(diags, "E0884", whole_file(diags, path), "reading failed: %s", strerror(errno));
            return false;
        }
        if (got == 0)
            return true;
        if ((size_t)got > limit - b->length) {
            report_size(diags, path, limit);
            return false;
        }
        text_add_bytes(b, piece, (size_t)got);
    }
}

char *file_read(arena *a, const char *path, size_t limit, size_t *length, diag_list *diags) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        report_open(diags, path, errno);
        return NULL;
    }
    struct stat st;
    char *copy = NULL;
    text_buffer b = {0};
    if (fstat(fd, &st) != 0)
        report_open(diags, path, errno);
    else if (S_ISDIR(st.st_mode))
        diag_error(diags, "E0882", whole_file(diags, path), "this is a folder; a file is needed");
    else if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size > limit)
        report_size(diags, path, limit);
    else if (read_all(fd, path, limit, &b, diags)) {
        copy = arena_strndup(a, text_get(&b), b.length);
        if (length)
            *length = b.length;
    }
    text_free(&b);
    close(fd);
    return copy;
}

static bool write_all(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

static bool report_write(diag_list *diags, const char *path, int error) {
    source_span span = whole_file(diags, path);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        diag *g = diag_error(diags, "E0886", span, "not written: %s", strerror(error));
        diag_note(diags, g, "what was there before is unchanged");
    } else {
        diag_error(diags, "E0885", span, "cannot be written: %s", strerror(error));
    }
    return false;
}

/* A device or a pipe has no content to keep, and must not be replaced by a file. */
static bool write_directly(const char *path, const void *bytes, size_t length, diag_list *diags) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return report_write(diags, path, errno);
    bool good = write_all(fd, bytes, length);
    int error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    return good ? true : report_write(diags, path, error);
}

bool file_write(const char *path, const void *bytes, size_t length, diag_list *diags) {
    struct stat st;
    mode_t mode = 0;
    /* A link is followed, so that the file it names is replaced and not the link. */
    char *resolved = realpath(path, NULL);
    const char *place = resolved ? resolved : path;
    if (stat(place, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            free(resolved);
            return report_write(diags, path, EISDIR);
        }
        if (!S_ISREG(st.st_mode)) {
            bool good = write_directly(place, bytes, length, diags);
            free(resolved);
            return good;
        }
        if (access(place, W_OK) != 0) {
            int error = errno;
            free(resolved);
            return report_write(diags, path, error);
        }
        mode = st.st_mode & 07777;
    } else {
        mode_t mask = umask(0);
        umask(mask);
        mode = 0666 & ~mask;
    }
    text_buffer temporary = {0};
    text_add(&temporary, "%s.XXXXXX", place);
    int error = 0, fd = temporary_file(temporary.text);
    if (fd < 0) {
        error = errno;
    } else {
        if (!write_all(fd, bytes, length) || fchmod(fd, mode) != 0 || fsync(fd) != 0)
            error = errno;
        if (close(fd) != 0 && !error)
            error = errno;
        if (!error && rename(temporary.text, place) != 0)
            error = errno;
        if (error)
            unlink(temporary.text);
        temporary_keep(temporary.text);
    }
    text_free(&temporary);
    free(resolved);
    return error ? report_write(diags, path, error) : true;
}

bool file_make_folders(const char *path, diag_list *diags) {
    char *part = arena_strdup(diags->arena, path);
    for (char *p = part;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char kept = *p;
        *p = '\0';
        struct stat st;
        if (*part && mkdir(part, 0777) != 0) {
            int why = errno;
            bool there = stat(part, &st) == 0;
            if (!there || !S_ISDIR(st.st_mode)) {
                diag_error(diags, "E0887", whole_file(diags, path), "the folder cannot be made: %s",
                           strerror(there ? ENOTDIR : why));
                return false;
            }
        }
        *p = kept;
        if (!kept)
            return true;
    }
}

bool file_exists(const char *path) {
    return access(path, F_OK) == 0;
}
