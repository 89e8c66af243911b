/* The store. */
#define _GNU_SOURCE
#include "bench/store.h"
#include "base/file.h"
#include "base/hash.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STORE_LIMIT = 512 << 20 };

static char *row_text(json_t *row) {
    return json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(7));
}

static void give_id(json_t *row) {
    if (json_object_get(row, "id"))
        return;
    char digits[HASH_DIGITS + 1], *text = row_text(row);
    hash_bytes(text ? text : "", text ? strlen(text) : 0, digits);
    digits[16] = 0;
    json_object_set_new(row, "id", json_string(digits));
    free(text);
}

/* One write of the whole text at the end of the file. A line that a killed writer left unfinished is ended first. */
static bool write_rows(int fd, const char *path, const text_buffer *lines, diag_list *diags) {
    struct stat s;
    char last = '\n';
    if (fstat(fd, &s)) {
        diag_error(diags, "E1001", (source_span){.file = path}, "the store cannot be read: %s", strerror(errno));
        return false;
    }
    bool regular = S_ISREG(s.st_mode);
    if (regular && s.st_size > 0 && pread(fd, &last, 1, s.st_size - 1) != 1)
        last = 0;
    text_buffer all = {0};
    text_add(&all, "%s", last == '\n' ? "" : "\n");
    text_add_bytes(&all, lines->text, lines->length);
    ssize_t n;
    do
        n = write(fd, all.text, all.length);
    while (n < 0 && errno == EINTR);
    bool whole = n == (ssize_t)all.length;
    int error = n < 0 ? errno : ENOSPC;
    if (whole && regular && fsync(fd)) {
        whole = false;
        error = errno;
    }
    if (!whole) {
        if (regular && ftruncate(fd, s.st_size)) /* half a row is worse than none; the reader skips it all the same */
            error = errno;
        diag *g = diag_error(diags, "E1002", (source_span){.file = path}, "the row could not be written: %s", strerror(error));
        diag_note(diags, g, "the rows before it are whole");
    }
    text_free(&all);
    return whole;
}

static int open_locked(const char *path, diag_list *diags) {
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644), locked = -1;
    if (fd >= 0)
        while ((locked = flock(fd, LOCK_EX)) && errno == EINTR)
            ;
    if (fd < 0 || locked) {
        diag_error(diags, "E1001", (source_span){.file = path}, "the store cannot be opened: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static bool append_text(const char *folder, const char *environment, const text_buffer *lines, diag_list *diags) {
    if (!file_make_folders(folder, diags))
        return false;
    const char *path = arena_printf(diags->arena, "%s/%s.jsonl", folder, environment);
    int fd = open_locked(path, diags);
    if (fd < 0)
        return false;
    bool good = write_rows(fd, path, lines, diags);
    if (close(fd) && good) {
        diag_error(diags, "E1002", (source_span){.file = path}, "the row could not be written: %s", strerror(errno));
        good = false;
    }
    return good;
}

bool store_append(const char *folder, const char *environment, json_t *row, diag_list *diags) {
    give_id(row);
    char *text = row_text(row);
    text_buffer line = {0};
    text_add(&line, "%s\n", text ? text : "{}");
    free(text);
    bool good = append_text(folder, environment, &line, diags);
    text_free(&line);
    return good;
}

static bool read_file(const char *path, json_t *rows, diag_list *diags) {
    size_t length;
    const char *text = file_read(diags->arena, path, STORE_LIMIT, &length, diags);
    if (!text)
        return false;
    int broken = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = stop ? (size_t)(stop - at) : (size_t)(end - at);
        json_t *row = n ? json_loadb(at, n, 0, NULL) : NULL;
        if (json_is_object(row))
            json_array_append(rows, row);
        else
            broken += n > 0;
        json_decref(row);
        at += n + 1;
    }
    if (broken)
        diag_warning(diags, "E1003", (source_span){.file = arena_strdup(diags->arena, path)}, "%d line%s of the store %s no row",
                     broken, broken == 1 ? "" : "s", broken == 1 ? "is" : "are");
    return true;
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

json_t *store_read(const char *path, diag_list *diags) {
    struct stat s;
    json_t *rows = json_array();
    bool good = true;
    if (!stat(path, &s) && S_ISDIR(s.st_mode)) {
        VEC(const char *) names = {0};
        DIR *d = opendir(path);
        for (struct dirent *e; d && (e = readdir(d));) {
            size_t n = strlen(e->d_name);
            if (n > 6 && !strcmp(e->d_name + n - 6, ".jsonl"))
                VEC_PUSH(diags->arena, names, arena_printf(diags->arena, "%s/%s", path, e->d_name));
        }
        if (d)
            closedir(d);
        if (names.count)
            qsort(names.at, (size_t)names.count, sizeof *names.at, by_name);
        for (int i = 0; good && i < names.count; i++)
            good = read_file(names.at[i], rows, diags);
    } else if (!stat(path, &s)) {
        good = read_file(path, rows, diags);
    }
    if (good)
        return rows;
    json_decref(rows);
    return NULL;
}

bool store_merge(const char *folder, const char *const *from, int count, int *added, int *known, diag_list *diags) {
    *added = *known = 0;
    json_t *present = store_read(folder, diags), *seen = json_object(), *row, *files = json_object();
    bool good = present != NULL;
    size_t i;
    json_array_foreach(present, i, row) {
        give_id(row);
        json_object_set_new(seen, json_string_value(json_object_get(row, "id")), json_true());
    }
    for (int f = 0; good && f < count; f++) {
        if (!file_exists(from[f])) {
            diag_error(diags, "E1004", (source_span){.file = from[f]}, "there is no store to merge");
            good = false;
            break;
        }
        json_t *rows = store_read(from[f], diags);
        good = rows != NULL;
        json_array_foreach(rows, i, row) {
            give_id(row);
            const char *id = json_string_value(json_object_get(row, "id")),
                       *environment = json_string_value(json_object_get(row, "environment"));
            environment = environment && *environment && !strchr(environment, '/') ? environment : "unknown";
            if (!id || json_object_get(seen, id)) {
                ++*known;
                continue;
            }
            json_object_set_new(seen, id, json_true());
            json_t *list = json_object_get(files, environment);
            if (!list)
                json_object_set_new(files, environment, list = json_array());
            json_array_append(list, row);
            ++*added;
        }
        json_decref(rows);
    }
    const char *environment;
    json_t *list;
    json_object_foreach(files, environment, list) {
        text_buffer lines = {0};
        json_array_foreach(list, i, row) {
            char *text = row_text(row);
            text_add(&lines, "%s\n", text ? text : "{}");
            free(text);
        }
        good = good && append_text(folder, environment, &lines, diags);
        text_free(&lines);
    }
    json_decref(present);
    json_decref(seen);
    json_decref(files);
    return good;
}

/* ---- comma-separated values ---- */

static void add_columns(json_t *columns, const char *prefix, const json_t *row, int depth) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)row, key, value) {
        text_buffer name = {0};
        text_add(&name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value) && depth < 8)
            add_columns(columns, text_get(&name), value, depth + 1);
        else
            json_object_set_new(columns, text_get(&name), json_true());
        text_free(&name);
    }
}

static const json_t *find_path(const json_t *row, const char *path) {
    const json_t *whole = json_object_get(row, path);
    if (whole)
        return whole;
    const char *dot = strchr(path, '.');
    if (!dot)
        return NULL;
    text_buffer head = {0};
    text_add(&head, "%.*s", (int)(dot - path), path);
    const json_t *inner = json_object_get(row, text_get(&head));
    text_free(&head);
    return inner ? find_path(inner, dot + 1) : NULL;
}

static void add_cell(text_buffer *out, const json_t *value) {
    if (!value || json_is_null(value))
        return;
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(7));
    bool quote = text && strpbrk(text, ",\"\n\r");
    text_add(out, "%s", quote ? "\"" : "");
    for (const char *c = text ? text : ""; *c; c++)
        text_add(out, "%s%c", quote && *c == '"' ? "\"" : "", *c);
    text_add(out, "%s", quote ? "\"" : "");
    free(text);
}

void store_csv(const json_t *rows, text_buffer *out) {
    json_t *columns = json_object(), *row, *ignored;
    size_t i;
    const char *key;
    json_array_foreach(rows, i, row) add_columns(columns, "", row, 0);
    bool first = true;
    json_object_foreach(columns, key, ignored) {
        text_add(out, "%s", first ? "" : ",");
        json_t *name = json_string(key);
        add_cell(out, name);
        json_decref(name);
        first = false;
    }
    text_add(out, "\n");
    json_array_foreach(rows, i, row) {
        first = true;
        json_object_foreach(columns, key, ignored) {
            text_add(out, "%s", first ? "" : ",");
            add_cell(out, find_path(row, key));
            first = false;
        }
        text_add(out, "\n");
    }
    json_decref(columns);
}
