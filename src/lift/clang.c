/* clang as a child process. */
#define _GNU_SOURCE
#include "lift/clang.h"
#include "base/file.h"
#include "base/process.h"
#include "base/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLDEST = 18, NEWEST = 22, TESTED = 19, OUTPUT_LIMIT = 1 << 30 };

/* What it says of itself: "19.1.7", and 0 for Apple's, whose numbers are its own. */
static bool ask_version(arena *a, clang *c, const char *folder) {
    const char *output = arena_printf(a, "%s/version", folder), *arguments[] = {c->path, "--version", NULL};
    diag_list ignored;
    diag_init(&ignored, a);
    const char *text = process_run(c->path, arguments, output) == 0 ? file_read(a, output, 1 << 16, NULL, &ignored) : NULL;
    const char *at = text ? strstr(text, "clang version ") : NULL;
    if (!at || strstr(text, "Apple"))
        return false;
    at += strlen("clang version ");
    c->version = arena_strndup(a, at, strspn(at, "0123456789."));
    c->major = atoi(c->version);
    return true;
}

bool clang_find(arena *a, clang *c, diag_list *diags) {
    const char *wanted = getenv("TILEC_CLANG");
    const char *folder = clang_folder(a, diags);
    if (!folder)
        return false;
    text_buffer seen = {0};
    bool found = false;
    for (int i = 0; i <= NEWEST - OLDEST + 2 && !found; i++) {
        const char *name = i == 0                     ? arena_printf(a, "clang-%d", TESTED)
                           : i <= NEWEST - OLDEST + 1 ? arena_printf(a, "clang-%d", NEWEST + 1 - i)
                                                      : "clang";
        if (wanted && *wanted) {
            if (i)
                break;
            name = wanted;
        }
        char *path = process_find(name);
        *c = (clang){.path = path ? arena_strdup(a, path) : NULL};
        free(path);
        if (!c->path)
            continue;
        found = ask_version(a, c, folder) && c->major >= OLDEST;
        if (!found)
            text_add(&seen, "%s%s is %s%s", seen.length ? ", " : "", c->path,
                     c->version ? "version " : "no clang that this knows", c->version ? c->version : "");
    }
    temporary_remove(folder);
    if (!found) {
        diag *g = wanted && *wanted
                      ? diag_error(diags, "E1100", (source_span){0}, "TILEC_CLANG is `%s`, which is not clang %d or newer",
                                   wanted, OLDEST)
                      : diag_error(diags, "E1100", (source_span){0}, "no clang %d or newer was found on PATH", OLDEST);
        if (seen.length)
            diag_note(diags, g, "%s", text_get(&seen));
        diag_note(diags, g, "install one (Debian, Ubuntu: apt-get install clang-%d), or set TILEC_CLANG to yours", TESTED);
    }
    text_free(&seen);
    return found;
}

const char *clang_folder(arena *a, diag_list *diags) {
    const char *tmp = getenv("TMPDIR");
    const char *const places[] = {tmp && *tmp ? tmp : "/tmp", "/tmp"};
    for (int i = 0; i < 2; i++) {
        char *folder = arena_printf(a, "%s/tilec-XXXXXX", places[i]);
        if (temporary_folder(folder))
            return folder;
    }
    diag_error(diags, "E1101", (source_span){0}, "no temporary folder can be made: %s", strerror(errno));
    return NULL;
}

bool clang_write(arena *a, const char *folder, const char *name, const char *text, size_t length, diag_list *diags) {
    char *path = arena_printf(a, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        int made = mkdir(path, 0700);
        *slash = '/';
        if (made && errno != EEXIST)
            break;
    }
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text, 1, length, f) == length;
    if (f)
        ok = !fclose(f) && ok;
    if (!ok)
        diag_error(diags, "E1101", (source_span){0}, "%s cannot be written: %s", path, strerror(errno));
    return ok;
}

int clang_run(arena *a, const clang *c, const char *folder, const char *const *arguments, int count, const char **messages,
              diag_list *diags) {
    const char **all = NEW_ARRAY(a, const char *, count + 6), *output = arena_printf(a, "%s/messages", folder);
    int n = 0;
    all[n++] = c->path;
    for (int i = 0; i < count; i++)
        all[n++] = arguments[i];
    all[n++] = "-fno-color-diagnostics";
    all[n++] = "-fno-caret-diagnostics";
    all[n++] = "-fno-diagnostics-show-option";
    int status = process_run(c->path, all, output);
    *messages = "";
    if (status < 0) {
        diag_error(diags, "E1101", (source_span){0}, "%s cannot be run: %s", c->path, strerror(errno));
        return -1;
    }
    diag_list ignored;
    diag_init(&ignored, a);
    const char *text = file_read(a, output, OUTPUT_LIMIT, NULL, &ignored);
    *messages = text ? text : "";
    return status;
}
