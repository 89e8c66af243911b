/* A program's C, compiled with a main function that reads its arrays from a file, calls it, and writes them back. */
#include "run/built.h"
#include "base/file.h"
#include "run/compiler.h"
#include <errno.h>
#include <string.h>

/* One memory block an array, so that what lies behind one is nobody's. */
static const char *main_text(arena *a, const built_call *call) {
    text_buffer b = {0};
    text_add(&b, "#include \"%s.h\"\n#include <stdio.h>\n#include <stdlib.h>\n\nstatic const long long bytes[] = {", call->name);
    for (int i = 0; i < call->array_count; i++)
        text_add(&b, "%lld, ", (long long)call->arrays[i].bytes);
    text_add(
        &b,
        "0};\nstatic void *arrays[%d];\n\nstatic int move(const char *folder, const char *name, int out)\n{\n"
        "    char path[4096];\n    snprintf(path, sizeof path, \"%%s/%%s\", folder, name);\n"
        "    FILE *f = fopen(path, out ? \"wb\" : \"rb\");\n    int good = f != NULL;\n"
        "    for (int i = 0; good && i < %d; i++) {\n"
        "        if (!out && !(arrays[i] = malloc((size_t)bytes[i])) && bytes[i])\n            good = 0;\n"
        "        size_t moved = !good || !bytes[i] ? 0\n"
        "                       : out ? fwrite(arrays[i], 1, (size_t)bytes[i], f) : fread(arrays[i], 1, (size_t)bytes[i], f);\n"
        "        good = good && moved == (size_t)bytes[i];\n    }\n    return f && !fclose(f) && good;\n}\n\n"
        "int main(int count, char **words)\n{\n    if (count != 2 || !move(words[1], \"given\", 0))\n        return 2;\n"
        "    int code = %s(",
        call->array_count + 1, call->array_count, call->name);
    for (int i = 0; i < call->array_count; i++)
        text_add(&b, "%sarrays[%d]", i ? ", " : "", i);
    text_add(&b,
             "%s%s);\n    if (code)\n        printf(\"%%d: %%s\\n\", code, %s_error(code));\n"
             "    int moved = move(words[1], \"made\", 1);\n    for (int i = 0; i < %d; i++)\n        free(arrays[i]);\n"
             "    return code ? 3 : moved ? 0 : 2;\n}\n",
             call->array_count && *call->values ? ", " : "", call->values, call->name, call->array_count);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

static bool give(arena *a, const built_call *call, diag_list *diags) {
    text_buffer b = {0};
    for (int i = 0; i < call->array_count; i++)
        if (call->arrays[i].bytes > 0)
            text_add_bytes(&b, call->arrays[i].data, (size_t)call->arrays[i].bytes);
    bool good = file_write(arena_printf(a, "%s/given", call->folder), text_get(&b), b.length, diags);
    text_free(&b);
    return good;
}

static bool take(arena *a, const built_call *call, diag_list *diags) {
    size_t length, at = 0;
    const char *made = file_read(a, arena_printf(a, "%s/made", call->folder), (size_t)1 << 30, &length, diags);
    for (int i = 0; made && i < call->array_count; i++) {
        const built_array *x = &call->arrays[i];
        if (x->written && x->bytes > 0 && at + (size_t)x->bytes <= length)
            memcpy(x->data, made + at, (size_t)x->bytes);
        at += (size_t)x->bytes;
    }
    return made != NULL;
}

char *built_folder(diag_list *diags) {
    char *folder = compiler_work_folder(NULL);
    if (!folder)
        diag_error(diags, "E0842", (source_span){0}, "no temporary folder can be made: %s", strerror(errno));
    return folder;
}

bool built_run(arena *a, const built_call *call, source_span span, bool *checked, diag_list *diags) {
    compiler *c = compiler_find(diags);
    const char *text = main_text(a, call), *const files[] = {arena_printf(a, "%s.c", call->name), "tilec_main.c", NULL};
    bool good = c && file_write(arena_printf(a, "%s/tilec_main.c", call->folder), text, strlen(text), diags) &&
                give(a, call, diags) && compiler_make_program(c, call->folder, files, checked, diags);
    compiler_free(c);
    int status = good ? compiler_run_program(call->folder) : 0;
    if (good && status) {
        diag *g = diag_error(diags, "E0876", span, "the text of %s ends with status %d", call->name, status);
        compiler_note_output(diags, g, call->folder);
        return false;
    }
    return good && take(a, call, diags);
}
