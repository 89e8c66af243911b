/* Compiled code on disk. An entry is KEY.so: the shared object as the compiler made it, then its description, then a footer with a checksum of
 * both. One file, so one rename makes it appear whole, and the loader does not mind what follows an object. */
#include "run/run.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/temporary.h"
#include "run/compiler.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct footer {
    char magic[8];
    uint64_t object_bytes, description_bytes;
    char sum[HASH_DIGITS];
} footer;
static const char magic[8] = {'t', 'i', 'l', 'e', 'c', 's', 'o', '1'};
enum { ENTRY_LIMIT = 256 * 1024 * 1024, STALE_SECONDS = 3600 };

static char *join(const char *directory, const char *name) {
    text_buffer b = {0};
    text_add(&b, "%s/%s", directory, name);
    return b.text;
}

char *cache_directory(text_buffer *why) {
    const char *own = getenv("TILEC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = own && *own          ? strdup(own)
                 : xdg && *xdg == '/' ? join(xdg, "tilec")
                 : home && *home      ? join(home, ".cache/tilec")
                                      : NULL;
    if (!path) {
        if (why)
            text_add(why, "neither TILEC_CACHE nor HOME names a folder");
        return NULL;
    }
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    if (!file_make_folders(path, &diags)) {
        if (why)
            text_add(why, "%s: %s", path, diags.items.at[0]->message);
        free(path);
        path = NULL;
    }
    arena_free(a);
    return path;
}

/* The whole file, in heap memory; NULL when it cannot be read. */
static char *read_all(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *bytes = NULL;
    struct stat s;
    if (!fstat(fileno(f), &s) && S_ISREG(s.st_mode) && s.st_size <= ENTRY_LIMIT && (bytes = malloc((size_t)s.st_size + 1))) {
        *length = fread(bytes, 1, (size_t)s.st_size, f);
        if (*length != (size_t)s.st_size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(f);
    return bytes;
}

/* Whether bytes are a whole entry; *description points into them (not terminated). */
static bool entry_valid(const char *bytes, size_t length, footer *out) {
    char digits[HASH_DIGITS + 1];
    if (length < sizeof *out)
        return false;
    memcpy(out, bytes + length - sizeof *out, sizeof *out);
    size_t rest = length - sizeof *out;
    if (memcmp(out->magic, magic, sizeof magic) || out->object_bytes > rest || out->description_bytes != rest - out->object_bytes)
        return false;
    hash_bytes(bytes, rest, digits);
    return !memcmp(digits, out->sum, HASH_DIGITS);
}

static bool entry_intact(const char *path) {
    size_t length;
    footer f;
    char *bytes = read_all(path, &length);
    bool valid = bytes && entry_valid(bytes, length, &f);
    free(bytes);
    return valid;
}

static bool write_all(int fd, const void *bytes, size_t length) {
    for (const char *at = bytes; length;) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : ENOSPC;
            return false;
        }
        at += n;
        length -= (size_t)n;
    }
    return true;
}

/* Puts an object (heap memory, taken) into the cache under its final name. False, with errno, when the folder can't take it. */
static bool publish_bytes(const char *directory, const char *final, char *bytes, size_t object_bytes, const char *description) {
    size_t description_bytes = strlen(description);
    size_t rest = object_bytes + description_bytes, length = rest + sizeof(footer);
    char *entry = realloc(bytes, length);
    if (!entry) {
        free(bytes);
        errno = ENOMEM;
        return false;
    }
    footer f = {.object_bytes = object_bytes, .description_bytes = description_bytes};
    char digits[HASH_DIGITS + 1];
    memcpy(f.magic, magic, sizeof magic);
    memcpy(entry + object_bytes, description, description_bytes);
    hash_bytes(entry, rest, digits);
    memcpy(f.sum, digits, HASH_DIGITS);
    memcpy(entry + rest, &f, sizeof f);
    text_buffer temporary = {0};
    text_add(&temporary, "%s/.making-XXXXXX", directory);
    int fd = temporary_file(temporary.text);
    bool made = fd >= 0;
    bool ok = made && write_all(fd, entry, length) && !fchmod(fd, 0644);
    int error = errno;
    if (made && close(fd) && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(temporary.text, final)) {
        ok = false;
        error = errno;
    }
    if (made && !ok)
        unlink(temporary.text);
    if (made)
        temporary_keep(temporary.text);
    text_free(&temporary);
    free(entry);
    errno = error;
    return ok;
}

static bool publish(const char *directory, const char *final, const char *object, const char *description) {
    size_t object_bytes;
    char *bytes = read_all(object, &object_bytes);
    if (!bytes) {
        errno = EIO;
        return false;
    }
    return publish_bytes(directory, final, bytes, object_bytes, description);
}

/* A folder without room costs a warning, nothing else. */
static void warn_unkept(const char *directory, diag_list *diags) {
    text_buffer why = {0};
    if (directory)
        text_add(&why, "%s: %s", directory, strerror(errno));
    else
        free(cache_directory(&why));
    diag *g = diag_warning(diags, "E0844", (source_span){0}, "compiled code cannot be kept in the cache: %s", text_get(&why));
    diag_note(diags, g, "it will be compiled again next time; set TILEC_CACHE to a folder that can be written");
    text_free(&why);
}

/* DIRECTORY/KEY.bin; NULL without a folder. */
static char *binary_path(const char *identity, const char *text) {
    char *directory = cache_directory(NULL), key[HASH_DIGITS + 1];
    text_buffer all = {0}, path = {0};
    if (!directory)
        return NULL;
    text_add(&all, "%s\n", identity);
    text_add_bytes(&all, text, strlen(text));
    hash_bytes(text_get(&all), all.length, key);
    text_add(&path, "%s/%s.bin", directory, key);
    text_free(&all);
    free(directory);
    return path.text;
}

unsigned char *cache_find_binary(const char *identity, const char *text, size_t *length) {
    char *path = binary_path(identity, text);
    footer f;
    char *bytes = path ? read_all(path, length) : NULL;
    if (bytes && entry_valid(bytes, *length, &f)) {
        utimensat(AT_FDCWD, path, NULL, 0);
        *length = f.object_bytes;
    } else {
        free(bytes);
        bytes = NULL;
    }
    free(path);
    return (unsigned char *)bytes;
}

void cache_keep_binary(const char *identity, const char *text, const char *description, const void *bytes, size_t length,
                       diag_list *diags) {
    char *path = binary_path(identity, text), *directory = cache_directory(NULL), *copy = malloc(length + 1);
    text_buffer full = {0};
    text_add(&full, "%s\n%s", description, identity);
    bool kept = path && directory && copy;
    if (kept) {
        memcpy(copy, bytes, length);
        kept = publish_bytes(directory, path, copy, length, text_get(&full));
        copy = NULL;
    }
    if (!kept)
        warn_unkept(directory, diags);
    text_free(&full);
    free(copy);
    free(path);
    free(directory);
}

char *cache_compile(const char *text, const char *description, bool *was_hit, diag_list *diags) {
    *was_hit = false;
    compiler *c = compiler_find(diags);
    if (!c)
        return NULL;
    char key[HASH_DIGITS + 1];
    text_buffer all = {0};
    text_add(&all, "%s\n", compiler_identity(c));
    text_add_bytes(&all, text, strlen(text));
    hash_bytes(text_get(&all), all.length, key);
    text_free(&all);

    char *directory = cache_directory(NULL), *final = NULL;
    if (directory) {
        text_buffer name = {0};
        text_add(&name, "%s/%s.so", directory, key);
        final = name.text;
        if (entry_intact(final)) {
            utimensat(AT_FDCWD, final, NULL, 0); /* used now; a read-only folder keeps its old time */
            *was_hit = true;
            compiler_free(c);
            free(directory);
            return final;
        }
    }
    text_buffer full = {0};
    text_add(&full, "%s\n%s", description, compiler_identity(c));
    char *work = compiler_work_folder(directory), *object = work ? compiler_run(c, work, text, diags) : NULL;
    if (!work)
        diag_error(diags, "E0842", (source_span){0}, "no folder for temporary files can be made: %s", strerror(errno));
    char *result = NULL;
    if (object && final && publish(directory, final, object, text_get(&full))) {
        result = final;
        final = NULL;
        temporary_remove(work);
    } else if (object) {
        warn_unkept(directory, diags);
        result = object;
        object = NULL;
        compiler_remove_at_exit(work);
    } else if (work)
        temporary_remove(work);
    text_free(&full);
    free(work);
    free(object);
    free(final);
    free(directory);
    compiler_free(c);
    return result;
}

static bool is_entry_name(const char *name) {
    return strspn(name, "0123456789abcdef") == HASH_DIGITS &&
           (!strcmp(name + HASH_DIGITS, ".so") || !strcmp(name + HASH_DIGITS, ".bin"));
}

static int by_use(const void *x, const void *y) {
    const cache_entry *a = x, *b = y;
    return a->used_at != b->used_at ? (a->used_at < b->used_at ? -1 : 1) : strcmp(a->key, b->key);
}

int cache_list(cache_entry **out) {
    *out = NULL;
    char *directory = cache_directory(NULL);
    DIR *d = directory ? opendir(directory) : NULL;
    int count = 0, capacity = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat s;
        if (!is_entry_name(e->d_name))
            continue;
        char *path = join(directory, e->d_name);
        if (!stat(path, &s)) {
            if (count == capacity) {
                int larger = capacity ? 2 * capacity : 32;
                cache_entry *grown = realloc(*out, (size_t)larger * sizeof **out);
                if (!grown) {
                    free(path);
                    break;
                }
                *out = grown;
                capacity = larger;
            }
            cache_entry *entry = &(*out)[count++];
            *entry = (cache_entry){.bytes = s.st_size, .used_at = s.st_mtime};
            memcpy(entry->key, e->d_name, HASH_DIGITS);
            entry->is_binary = !strcmp(e->d_name + HASH_DIGITS, ".bin");
            size_t length;
            footer f;
            char *bytes = read_all(path, &length);
            entry->description = bytes && entry_valid(bytes, length, &f) ? strndup(bytes + f.object_bytes, f.description_bytes)
                                                                         : strdup("(damaged: it will be made anew)");
            free(bytes);
        }
        free(path);
    }
    if (d)
        closedir(d);
    free(directory);
    if (count)
        qsort(*out, (size_t)count, sizeof **out, by_use);
    return count;
}

/* Temporaries that a killed process left behind. */
static void remove_stale(const char *directory) {
    DIR *d = opendir(directory);
    struct stat s;
    time_t now = time(NULL);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, ".making-", 8)) {
            char *path = join(directory, e->d_name);
            if (!stat(path, &s) && S_ISREG(s.st_mode) && now - s.st_mtime > STALE_SECONDS)
                unlink(path);
            free(path);
        }
    if (d)
        closedir(d);
}

int cache_prune(int64_t keep_bytes) {
    cache_entry *entries;
    int count = cache_list(&entries), gone = 0;
    char *directory = cache_directory(NULL);
    int64_t total = 0;
    for (int i = 0; i < count; i++)
        total += entries[i].bytes;
    for (int i = 0; i < count && directory; i++) {
        if (total > keep_bytes) {
            text_buffer path = {0};
            text_add(&path, "%s/%s.%s", directory, entries[i].key, entries[i].is_binary ? "bin" : "so");
            if (!unlink(path.text)) {
                total -= entries[i].bytes;
                gone++;
            }
            text_free(&path);
        }
    }
    for (int i = 0; i < count; i++)
        free(entries[i].description);
    if (directory)
        remove_stale(directory);
    free(entries);
    free(directory);
    return gone;
}
