/* Images and textures that a kernel reads: memory of its own that the host alone sets, and that no index leaves, so a read gives anything and disturbs nothing. A
 * kernel that reads one can be judged, and not run. Writes of images, and reads of what the kernel may write, are not read. */
#include "lift/lifter.h"
#include <string.h>

/* An image or a sampler: what is given on, and never accessed as memory. */
bool lift_is_handle(const lifter *l, const lift_value *v) {
    while (v->kind == LIFT_INSTRUCTION && (v->op == LIFT_ADDRSPACECAST || v->op == LIFT_BITCAST))
        v = v->operands[0];
    if (v->kind == LIFT_INSTRUCTION)
        return v->op == LIFT_CALL && v->callee && !strcmp(v->callee, "__translate_sampler_initializer");
    for (int i = 0; v->kind == LIFT_ARGUMENT && i < l->function->arguments.count; i++) {
        const char *type = l->function->notes[i].base_type;
        if (l->function->arguments.at[i] == v && type)
            return !strcmp(type, "sampler_t") || (!strncmp(type, "image", 5) && !strchr(type, '*'));
    }
    return false;
}

/* OpenCL's mangled names say what the kernel may do with an image: ocl_image2d_ro. */
static bool only_reads(const char *callee) {
    const char *image = strstr(callee, "ocl_image"), *may = image ? strchr(image + 4, '_') : NULL;
    for (; may && strncmp(may, "_ro", 3) && strncmp(may, "_wo", 3) && strncmp(may, "_rw", 3); may = strchr(may + 1, '_'))
        ;
    return may && !strncmp(may, "_ro", 3);
}

bool lift_image_call(lifter *l, const lift_value *v, const char *name) {
    if (!strcmp(name, "__translate_sampler_initializer")) {
        l->env[v->id] = lift_nowhere(l, v, "sampler");
        return true;
    }
    bool read = !strncmp(name, "read_image", 10) && only_reads(v->callee), asks = !strncmp(name, "get_image_", 10);
    bool texture = !strncmp(v->callee, "cuda.texture.", 13);
    if (!read && !asks && !texture)
        return false;
    l->out->opaque = texture ? "a texture" : "an image";
    lift_any_value(l, v, texture ? "texture" : name);
    return true;
}
