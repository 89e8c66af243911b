/* From emitted CUDA C++ to loaded functions: NVRTC, the cache, modules. */
#include "run/cuda.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LINES = 12 };

static void note_log(const nvrtc_api *api, void *program, diag_list *diags, diag *g) {
    size_t size = 0;
    if (api->GetProgramLogSize(program, &size) || size < 2)
        return;
    char *log = calloc(size + 1, 1);
    if (log && !api->GetProgramLog(program, log)) {
        int lines = 0;
        for (const char *at = log; *at && lines < LOG_LINES;) {
            int length = (int)strcspn(at, "\n");
            if (length) {
                diag_note(diags, g, "%.*s", length, at);
                lines++;
            }
            at += length + (at[length] == '\n');
        }
    }
    free(log);
}

bool cuda_compile_source(const cuda_source *s, const char *architecture, unsigned char **bytes, size_t *length,
                         diag_list *diags) {
    const char *name = s->name;
    const nvrtc_system *c = nvrtc_open_system();
    char option[64], file[128];
    /* Nothing is contracted or relaxed; no header is read. */
    const char *options[] = {option, "--fmad=false", "--disable-warnings"};
    void *program = NULL;
    if (!c->found) {
        diag *g = diag_error(diags, "E0854", (source_span){0}, "%s cannot be compiled for a CUDA device", name);
        diag_note(diags, g, "%s", c->why);
        return false;
    }
    snprintf(option, sizeof option, "--gpu-architecture=%.32s", architecture);
    snprintf(file, sizeof file, "%.100s.cu", name);
    int status = c->api.CreateProgram(&program, s->text, file, 0, NULL, NULL);
    if (!status)
        status = c->api.CompileProgram(program, sizeof options / sizeof *options, options);
    if (status) {
        diag *g = diag_error(diags, s->code, (source_span){0}, "%s: NVRTC %d.%d refused the %s for %s (status %d)", name,
                             c->major, c->minor, s->kind, architecture, status);
        if (program)
            note_log(&c->api, program, diags, g);
    }
    bool ptx = !strncmp(architecture, "compute", 7), ok = !status;
    *length = 0;
    *bytes = NULL;
    if (ok) {
        ok = !(ptx ? c->api.GetPTXSize(program, length) : c->api.GetCUBINSize(program, length)) && *length;
        *bytes = ok ? calloc(*length + 1, 1) : NULL;
        ok = *bytes && !(ptx ? c->api.GetPTX(program, (char *)*bytes) : c->api.GetCUBIN(program, (char *)*bytes));
        if (!ok)
            diag_error(diags, s->code, (source_span){0}, "%s: NVRTC gives no code for %s", name, architecture);
    }
    if (program)
        c->api.DestroyProgram(&program);
    if (!ok) {
        free(*bytes);
        *bytes = NULL;
    }
    return ok;
}

bool cuda_compile(const char *name, const char *text, const char *architecture, unsigned char **bytes, size_t *length,
                  diag_list *diags) {
    return cuda_compile_source(&(cuda_source){name, text, "emitted code", "E0856", false}, architecture, bytes, length, diags);
}

/* ---- modules ---- */

static bool load_bytes(device *d, const unsigned char *bytes, cu_handle *module, cu_status *status) {
    *status = d->system->api.ModuleLoadData(module, bytes);
    return *status == 0;
}

bool cuda_build_module(device *d, const cuda_source *s, const char *description, cu_handle *module, diag_list *diags) {
    size_t length;
    cu_status status = 0;
    char architecture[24], identity[512];
    snprintf(architecture, sizeof architecture, "%s%s", d->architecture, s->specific ? "a" : "");
    snprintf(identity, sizeof identity, "%s%s", d->identity, s->specific ? " | specific" : "");
    unsigned char *bytes = cache_find_binary(identity, s->text, &length);
    bool loaded = bytes && load_bytes(d, bytes, module, &status);
    if (!loaded) { /* not there, or of another driver whatever the key says */
        free(bytes);
        if (!cuda_compile_source(s, architecture, &bytes, &length, diags))
            return false;
        loaded = load_bytes(d, bytes, module, &status);
        if (loaded)
            cache_keep_binary(identity, s->text, description, bytes, length, diags);
    }
    free(bytes);
    if (!loaded) {
        cuda_fail(d, s->name, status, diags);
        if (nvrtc_open_system()->newer && diags->items.count)
            diag_note(diags, diags->items.at[diags->items.count - 1],
                      "NVRTC %d.%d is newer than the driver, which is for CUDA %d.%d: TILEC_NVRTC names another",
                      nvrtc_open_system()->major, nvrtc_open_system()->minor, d->system->driver / 1000,
                      d->system->driver % 1000 / 10);
    }
    return loaded;
}

static const gpu_entry *entry_of(const device_kernel *k, gpu_form form, int variant) {
    return &k->program.forms[form].at[variant];
}

static cuda_module *module_of(const device_kernel *k, gpu_form form, int variant) {
    return &k->modules[variant * GPU_FORMS + (int)form];
}

static bool build(device *d, device_kernel *k, gpu_form form, int variant, diag_list *diags) {
    const char *schedule = k->plan->variants.at[variant].kernel->schedule;
    const char *text = arena_printf(k->arena, "%s%s\n", k->program.prelude, entry_of(k, form, variant)->text);
    cuda_source s = {k->plan->name, text, "emitted code", "E0856", entry_of(k, form, variant)->warpgroups};
    text_buffer description = {0};
    text_add(&description, "%s, CUDA %s\nvariant %d: %s", s.name, d->architecture, variant, schedule ? schedule : "");
    bool loaded = cuda_build_module(d, &s, text_get(&description), &module_of(k, form, variant)->module, diags);
    text_free(&description);
    return loaded;
}

/* What the compiler made may still be more than the device runs: registers. */
static bool fits(device *d, const device_kernel *k, gpu_form form, int variant, diag_list *diags) {
    const gpu_entry *e = entry_of(k, form, variant);
    int threads = 0, registers = 0;
    cu_handle f = module_of(k, form, variant)->function;
    if (!d->system->api.FuncGetAttribute(&threads, CU_FUNCTION_MAX_THREADS_PER_BLOCK, f) && threads > 0 && threads < e->threads) {
        d->system->api.FuncGetAttribute(&registers, CU_FUNCTION_REGISTERS, f);
        diag_error(diags, "E0858", k->plan->variants.at[variant].kernel->span,
                   "%s needs blocks of %" PRId64 " threads, and with %d registers a thread the device allows %d", k->plan->name,
                   e->threads, registers, threads);
        return false;
    }
    cu_status given = e->dynamic_bytes > cuda_gpu.most_declared
                          ? d->system->api.FuncSetAttribute(f, CU_FUNCTION_DYNAMIC_SHARED_BYTES, (int)e->dynamic_bytes)
                          : 0;
    if (given)
        return cuda_fail(d, e->name, given, diags);
    return true;
}

static bool load_module(device *d, device_kernel *k, gpu_form form, int variant, diag_list *diags) {
    cuda_module *m = module_of(k, form, variant);
    if (m->function)
        return true;
    if (!m->module && !build(d, k, form, variant, diags))
        return false;
    const char *name = entry_of(k, form, variant)->name;
    cu_status status = d->system->api.ModuleGetFunction(&m->function, m->module, name);
    bool ok = status ? cuda_fail(d, name, status, diags) : fits(d, k, form, variant, diags);
    if (!ok)
        m->function = NULL;
    return ok;
}

static bool device_fits(const device *d, const device_kernel *k, diag_list *diags) {
    for (int i = 0; i < k->program.variants; i++) {
        const gpu_entry *e = gpu_module_entry(&k->program, 0, i);
        source_span span = k->plan->variants.at[i].kernel->span;
        if (e->threads > d->threads_limit)
            diag_error(diags, "E0858", span, "%s needs blocks of %" PRId64 " threads, and the device allows %d", k->plan->name,
                       e->threads, d->threads_limit);
        else if (e->shared_bytes > d->shared_limit)
            diag_error(diags, "E0858", span, "%s needs %" PRId64 " bytes of shared memory, and the device has %d for a block",
                       k->plan->name, e->shared_bytes, d->shared_limit);
        else if (e->warpgroups && !cuda_has_warpgroups(d))
            diag_error(
                diags, "E0858", span,
                "%s uses matrix instructions of warpgroups, which compute capability 9.0 alone has and NVRTC knows from 12.0 on; "
                "the device's is %d.%d, and NVRTC is %d.%d",
                k->plan->name, d->found->major, d->found->minor, nvrtc_open_system()->major, nvrtc_open_system()->minor);
        else if (e->parameters.count > CUDA_MOST_PARAMETERS)
            diag_error(diags, "E0858", span, "%s has %d parameters, and a launch takes %d", k->plan->name, e->parameters.count,
                       CUDA_MOST_PARAMETERS);
        else
            continue;
        return false;
    }
    return true;
}

device_kernel *cuda_load_plan(device *d, const launch_plan *plan, diag_list *diags) {
    device_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        diag_error(diags, "E0803", (source_span){0}, "no memory to load %s", plan->name);
        return NULL;
    }
    k->arena = arena_new();
    k->plan = plan;
    bool ok = gpu_plan_print(k->arena, plan, &cuda_gpu, &k->program, diags) && device_fits(d, k, diags);
    k->modules = NEW_ARRAY(k->arena, cuda_module, GPU_FORMS * (plan->variants.count + 1));
    /* Of several variants each is compiled once a launch takes it. */
    if (ok && plan->variants.count == 1 && (ok = cuda_enter(d, diags))) {
        ok = load_module(d, k, gpu_quickest_form(&k->program, 0), 0, diags);
        cuda_leave(d);
    }
    if (!ok) {
        cuda_unload(d, k);
        return NULL;
    }
    return k;
}

device_kernel *cuda_load(device *d, const proved_plan *p, diag_list *diags) {
    return cuda_load_plan(d, proved_plan_get(p), diags);
}

void cuda_unload(device *d, device_kernel *k) {
    if (!k)
        return;
    if (cuda_enter(d, NULL)) {
        for (int i = 0; i < GPU_FORMS * k->program.variants; i++)
            if (k->modules[i].module)
                d->system->api.ModuleUnload(k->modules[i].module);
        cuda_leave(d);
    }
    arena_free(k->arena);
    free(k);
}

static bool takes(const gpu_entry *e, void *const *arrays, const int64_t *integers) {
    for (int i = 0; i < e->divided.count; i++)
        if (integers[e->divided.at[i]] % e->multiple)
            return false;
    for (int i = 0; i < e->parameters.count; i++)
        if (e->parameters.at[i].kind == GPU_ARRAY && (uintptr_t)arrays[e->parameters.at[i].position] % GPU_ALIGNMENT)
            return false;
    return true;
}

cu_handle cuda_function(device *d, device_kernel *k, int variant, void *const *arrays, const int64_t *integers,
                        const gpu_entry **entry, diag_list *diags) {
    bool fits = launch_fits_narrow(k->plan, variant, integers);
    int form = 0;
    for (; form < GPU_PLAIN; form++) {
        const gpu_entry *e = &k->program.forms[form].at[variant];
        if (e->name && (fits || !e->narrow) && (!gpu_form_is_aligned((gpu_form)form) || takes(e, arrays, integers)) &&
            cuda_maps_fit(d, k, e, arrays, integers))
            break;
    }
    if (!load_module(d, k, (gpu_form)form, variant, diags))
        return NULL;
    *entry = entry_of(k, (gpu_form)form, variant);
    return module_of(k, (gpu_form)form, variant)->function;
}
