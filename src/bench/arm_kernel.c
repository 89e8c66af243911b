/* Our own kernel as an arm: the compiler's schedule, or settings of it given. */
#include "base/hash.h"
#include "bench/arm.h"
#include "bench/clock.h"
#include "bench/recording.h"
#include "run/run.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel_arm {
    bench_work *work;
    run_call *call;
    session *other;      /* of a device that is not the work's; NULL: the work's own */
    recording recording; /* of a device that takes many launches to a submission */
    void **own;          /* what the call's arrays stand for while the recording's stand in; made at the first one */
} kernel_arm;

void arm_point_at(bench_arm *arm, int64_t set) {
    kernel_arm *k = arm->state;
    for (int n = 0; n < k->work->arrays.count; n++) {
        call_array *x = &k->call->arrays.at[n];
        x->host.data = work_at(k->work, n, set);
        if (!k->other)
            x->device = x->host.data;
    }
}

static void point_there(kernel_arm *k, void *const *there) {
    for (int n = 0; n < k->work->arrays.count; n++) {
        k->call->arrays.at[n].device = there[n];
        k->call->arrays.at[n].on_device = true;
    }
}

/* The call's arrays stand for host memory again. */
static void point_here(kernel_arm *k) {
    for (int n = 0; n < k->work->arrays.count; n++) {
        k->call->arrays.at[n].device = k->own[n];
        k->call->arrays.at[n].on_device = false;
    }
}

static bool enqueue(void *context, void *const *there, bool first, diag_list *diags) {
    kernel_arm *k = context;
    point_there(k, there);
    return first ? call_run_on(k->call, NULL, diags) : call_enqueue_again(k->call, diags); /* first: with the plan's checks */
}

static bool run_there(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    kernel_arm *k = arm->state;
    if (!k->own)
        k->own = NEW_ARRAY(k->call->arena, void *, k->work->arrays.count + 1);
    for (int n = 0; n < k->work->arrays.count; n++)
        k->own[n] = k->call->arrays.at[n].device;
    bool good = recording_run(&k->recording, first_set, count, nanoseconds, diags);
    point_here(k);
    arm->shares_buffers = !k->recording.copied;
    return good;
}

static bool run_kernel(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    kernel_arm *k = arm->state;
    bench_work *w = k->work;
    double start = clock_now_ns(), launches = 0;
    if (k->other && count > 1 && recording_fits(session_runtime(k->other)))
        return run_there(arm, first_set, count, nanoseconds, diags);
    arm->shares_buffers = !k->other;
    for (int64_t i = 0; i < count; i++) {
        if (w->sets > 1)
            arm_point_at(arm, (first_set + i) % w->sets);
        if (!call_run(k->call, diags))
            return false;
        for (int n = 0; k->other && n < k->call->steps.count; n++)
            launches += k->call->steps.at[n].milliseconds * 1e6;
    }
    /* Another device has copies of the arrays: its time is that of the launches, each to its end. */
    *nanoseconds = k->other ? launches : clock_now_ns() - start;
    return true;
}

static void close_kernel(bench_arm *arm) {
    kernel_arm *k = arm->state;
    recording_close(&k->recording);
    call_free(k->call);
    session_close(k->other);
    free(k);
}

static const bench_arm_kind kernel_kind = {"kernel", run_kernel, close_kernel};

run_call *arm_call(bench_arm *arm) {
    return arm->kind == &kernel_kind ? ((kernel_arm *)arm->state)->call : NULL;
}

static bool set_schedule(run_call *c, const char *words, diag_list *diags) {
    while (*words) {
        size_t n = strcspn(words, ","), key = strcspn(words, "=");
        if (!key || key + 1 >= n) {
            diag_error(diags, "E1012", (source_span){0}, "ours:%s is not ours:KEY=VALUE,..", words);
            return false;
        }
        if (!call_set_schedule(c, arena_strndup(c->arena, words, key), arena_strndup(c->arena, words + key + 1, n - key - 1),
                               diags))
            return false;
        words += n + (words[n] == ',');
    }
    return true;
}

/* Bytes of the object's code section; -1 when it is no 64-bit ELF file. */
static int64_t code_bytes(const char *path) {
    FILE *f = fopen(path, "rb");
    Elf64_Ehdr head;
    int64_t bytes = -1;
    if (f && fread(&head, sizeof head, 1, f) == 1 && !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
        head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shentsize == sizeof(Elf64_Shdr))
        for (int i = 0; i < head.e_shnum; i++) {
            Elf64_Shdr s;
            if (fseek(f, (long)(head.e_shoff + (Elf64_Off)i * sizeof s), SEEK_SET) || fread(&s, sizeof s, 1, f) != 1)
                break;
            if (s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_EXECINSTR) && (int64_t)s.sh_size > bytes)
                bytes = (int64_t)s.sh_size;
        }
    if (f)
        fclose(f);
    return bytes;
}

/* Schedule, hash and size of the code, time of its compilation. */
static void describe(bench_arm *arm, const kernel_arm *k, double prepare_ns, int64_t compiler_runs) {
    text_buffer schedule = {0}, code = {0};
    int64_t bytes = 0, private_bytes = 0;
    double passes_ms = 0;
    const runtime *r = session_runtime(k->call->session);
    kernel_resources most = {0};
    bool known = false;
    arena *a = arena_new();
    diag_list ignored;
    diag_init(&ignored, a);
    for (int i = 0; i < k->call->steps.count; i++) {
        const call_step *s = &k->call->steps.at[i];
        text_buffer text = {0};
        bool hit;
        text_add(&schedule, "%s%s", i ? "; " : "", s->compiled->schedule.text ? s->compiled->schedule.text : "");
        passes_ms += s->compiled->milliseconds;
        const launch_plan *plan = proved_plan_get(s->compiled->plan);
        for (int v = 0; v < plan->variants.count; v++) {
            int64_t one = kernel_private_bytes(plan->variants.at[v].kernel);
            private_bytes = one > private_bytes ? one : private_bytes;
        }
        char *path = NULL;
        kernel_resources one;
        if (r->streams && r->streams->resources(session_device(k->call->session), s->loaded, &one)) {
            known = true;
            most.registers = one.registers > most.registers ? one.registers : most.registers;
            most.local_bytes = one.local_bytes > most.local_bytes ? one.local_bytes : most.local_bytes;
            most.shared_bytes = one.shared_bytes > most.shared_bytes ? one.shared_bytes : most.shared_bytes;
        }
        if (session_target(k->call->session)->emit(s->compiled->plan, &text, &ignored) &&
            r->host_memory) /* C, for the system's compiler */
            path = cache_compile(text_get(&text), "", &hit, &ignored);
        int64_t one_step = path ? code_bytes(path) : -1;
        bytes = bytes >= 0 && one_step >= 0 ? bytes + one_step : -1;
        text_add(&code, "%s", text_get(&text));
        text_free(&text);
        free(path);
    }
    char digits[HASH_DIGITS + 1];
    hash_bytes(text_get(&code), code.length, digits);
    json_object_set_new(arm->description, "target", json_string(session_target(k->call->session)->name));
    json_object_set_new(arm->description, "device", json_string(session_device_name(k->call->session)));
    json_object_set_new(arm->description, "schedule", json_string(text_get(&schedule)));
    json_object_set_new(arm->description, "code_hash", json_string(digits));
    if (r->host_memory) {
        json_object_set_new(arm->description, "code_bytes", bytes >= 0 ? json_integer(bytes) : json_null());
        json_object_set_new(arm->description, "private_bytes", json_integer(private_bytes));
    }
    if (known) {
        json_object_set_new(arm->description, "registers", json_integer(most.registers));
        json_object_set_new(arm->description, "spills", json_integer(most.local_bytes));
        json_object_set_new(arm->description, "shared_bytes", json_integer(most.shared_bytes));
    }
    json_object_set_new(arm->description, "compile_ms", json_real(prepare_ns / 1e6));
    json_object_set_new(arm->description, "passes_ms", json_real(passes_ms));
    json_object_set_new(arm->description, "cache_hit", json_boolean(compiler_runs == 0));
    text_free(&schedule);
    text_free(&code);
    arena_free(a);
}

bool arm_open_kernel(bench_arm *arm, bench_work *w, const char *device, const char *words, diag_list *diags) {
    kernel_arm *k = calloc(1, sizeof *k);
    if (!k) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return false;
    }
    bool own = strcmp(device, session_device_name(w->session)) != 0;
    if (own && !(k->other = session_open(device, diags))) {
        free(k);
        return false;
    }
    if (!(k->call = call_new(own ? k->other : w->session, w->module, w->name, diags))) {
        session_close(k->other);
        free(k);
        return false;
    }
    arm->shares_buffers = !own;
    arm->threads = own ? 0 : w->threads; /* another device has its own */
    if (own)
        arm->clock = recording_clock(session_runtime(k->other));
    k->work = w;
    if (own)
        k->recording = (recording){.runtime = session_runtime(k->other),
                                   .device = session_device(k->other),
                                   .work = w,
                                   .enqueue = enqueue,
                                   .context = k};
    arm->kind = &kernel_kind;
    arm->state = k;
    bool good = set_schedule(k->call, words, diags);
    const signature *s = &w->call->binding.signature;
    for (int i = 0; good && i < s->symbol_count; i++)
        if (w->call->binding.fixed[i])
            good = call_set_symbol(k->call, s->symbols[i]->name, w->call->binding.values[i], diags);
    for (int i = 0; good && i < w->call->extra.count; i++)
        good = call_set_symbol(k->call, w->call->extra.at[i].name, w->call->extra.at[i].value, diags);
    for (int i = 0; good && i < w->scalars.count; i++)
        good = call_bind_scalar(k->call, w->scalars.at[i].name, w->scalars.at[i].value, diags);
    good = good && call_solve(k->call, diags);
    for (int i = 0; good && i < w->arrays.count; i++)
        k->call->arrays.at[i].host.data = work_at(w, i, 0);
    double start = clock_now_ns();
    int64_t runs = compiler_calls();
    good = good && call_prepare(k->call, diags);
    if (good)
        describe(arm, k, *words || own ? clock_now_ns() - start : w->prepare_ns,
                 *words || own ? compiler_calls() - runs : w->compiler_runs);
    return good;
}
