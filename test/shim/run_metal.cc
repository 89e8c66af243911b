/* Runs emitted MSL on the processor, behind the kit's own door (tilec_kit.h): the threads of a block take turns; each runs on until it waits for others.
 * Included texts: metal_texts.inc, an MSL text a namespace; metal_entries.inc, {"NAME_variant_0", entry(kernel_NAME::NAME_variant_0)} a line. */
#include <metal_stdlib>
#include "metal_texts.inc"
#include <csetjmp>
#include <ucontext.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
extern "C" {
#include "tilec_kit.h"
}

namespace {
enum { LANES = 32, MOST = 1024, STACK = 64 * 1024, VALUE = 64 };

struct fiber {
    ucontext_t context; /* of its beginning; afterwards jumps, which ask nothing of the system */
    jmp_buf place;
    bool begun, done;
    long barriers, exchanges; /* how many it has come to */
    unsigned char held[2][VALUE];
};
fiber fibers[MOST];
std::vector<char> stacks;
jmp_buf scheduler;
int current, count;
bool moved; /* something happened in this round */
const struct launch_entry *running;
const tilec_argument *arguments;
int argument_count;
unsigned block;

template <typename P> struct parameter;
template <typename T> struct parameter<T *> {
    static T *get(int i) { return static_cast<T *>(arguments[i].bytes); }
};
template <typename T> struct parameter<const T &> {
    static const T &get(int i) { return *static_cast<const T *>(arguments[i].bytes); }
};
template <> struct parameter<uint> {
    static uint get(int i) { return i == argument_count ? block : i == argument_count + 1 ? unsigned(current / LANES) : unsigned(current % LANES); }
};

template <typename... P, size_t... I> void call_with(void (*f)(P...), std::index_sequence<I...>) {
    f(parameter<P>::get(int(I))...);
}
template <typename... P> void call(void (*f)(P...)) {
    call_with(f, std::index_sequence_for<P...>());
}
struct launch_entry {
    const char *name;
    void (*run)();
};
template <auto F> void call_entry() {
    call(F);
}
#define ENTRY(text, function) {text, call_entry<function>}
const launch_entry entries[] = {
#include "metal_entries.inc"
};

void give_way() {
    if (!_setjmp(fibers[current].place))
        _longjmp(scheduler, 1);
}
void begin() {
    running->run();
    fibers[current].done = true;
    moved = true;
    give_way();
}

void resume(fiber &f) {
    if (_setjmp(scheduler))
        return;
    if (f.begun)
        _longjmp(f.place, 1);
    f.begun = true;
    setcontext(&f.context);
}

bool run_block() {
    for (int t = 0; t < count; t++) {
        fiber &f = fibers[t];
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = &stacks[size_t(t) * STACK];
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = nullptr;
        f.begun = f.done = false;
        f.barriers = f.exchanges = 0;
        makecontext(&f.context, begin, 0);
    }
    for (int round = 0, left = count; left > 0; round++) {
        left = 0;
        moved = false;
        for (int i = 0; i < count; i++) {
            current = round % 2 ? count - 1 - i : i; /* no order is promised */
            if (fibers[current].done)
                continue;
            left++;
            resume(fibers[current]);
        }
        if (left && !moved) {
            fprintf(stderr, "%s: threads wait for others that do not come\n", running->name);
            return false;
        }
    }
    return true;
}
}

static bool planted(const char *fault) {
    const char *wanted = getenv("SHIM_FAULT");
    return wanted && !strcmp(wanted, fault);
}

namespace metal {
void shim_barrier(bool of_simdgroup) {
    static const bool fault = planted("barrier"); /* nobody waits */
    if (fault)
        return;
    int first = of_simdgroup ? current / LANES * LANES : 0, last = of_simdgroup ? first + LANES : count;
    long mine = ++fibers[current].barriers;
    moved = true;
    for (bool all = false; !all;) {
        all = true;
        for (int t = first; t < last; t++)
            all = all && fibers[t].barriers >= mine;
        if (!all)
            give_way();
    }
    moved = true;
}
unsigned shim_lane() {
    return unsigned(current % LANES);
}
const void *shim_exchange(const void *mine, unsigned size, unsigned lane) {
    fiber &f = fibers[current];
    int first = current / LANES * LANES;
    long turn = f.exchanges++;
    memcpy(f.held[turn % 2], mine, size);
    moved = true;
    for (bool all = false; !all;) {
        all = true;
        for (int t = first; t < first + LANES; t++)
            all = all && fibers[t].exchanges > turn;
        if (!all)
            give_way();
    }
    moved = true;
    static const bool fault = planted("exchange"); /* what a lane gets is its own */
    return fibers[fault ? current : first + int(lane % LANES)].held[turn % 2];
}
void shim_gather(const void *mine, unsigned size, void *all) {
    shim_exchange(mine, size, 0);
    long turn = fibers[current].exchanges - 1;
    for (int lane = 0; lane < LANES; lane++)
        memcpy(static_cast<char *>(all) + size_t(lane) * size, fibers[current / LANES * LANES + lane].held[turn % 2], size);
}
}

/* The tables of every kernel's program, as its renamed main hands them over. */
static const tilec_kernel *handed;
extern "C" int tilec_main(const tilec_kernel *k, int, char **) {
    handed = k;
    return 0;
}
extern "C" int tilec_kit_main(const tilec_kernel *k, int argc, char **argv);

extern "C" double tilec_device_run(const char *, const char *entry, int threads, int64_t tasks, const tilec_argument *given, int n, int) {
    running = nullptr;
    for (const launch_entry &e : entries)
        if (!strcmp(e.name, entry))
            running = &e;
    if (!running || threads > MOST || threads % LANES)
        return fprintf(stderr, "no entry %s\n", entry), -1;
    arguments = given;
    argument_count = n;
    count = threads;
    stacks.resize(size_t(MOST) * STACK);
    for (int64_t task = 0; task < tasks; task++) {
        block = unsigned(task);
        if (!run_block())
            return -1;
    }
    return 0;
}

extern "C" {
#define PROGRAM(name) int name(int argc, char **argv);
#include "metal_programs.inc"
#undef PROGRAM
}

/* Three shapes a kernel: ragged, multiples of 64 (which take the entries for aligned arrays), and long in the last extent. `values[].given` is restored, since
 * the tables outlive a run. */
int main() {
    int (*const programs[])(int, char **) = {
#define PROGRAM(name) name,
#include "metal_programs.inc"
    };
    int status = 0;
    for (auto program : programs) {
        program(0, nullptr);
        const tilec_kernel *k = handed;
        const char *only = getenv("SHIM_ONLY");
        if (only && strcmp(only, k->name))
            continue;
        int extents = 0, wrong = 0, ran = 0;
        for (int i = 0; i < k->value_count; i++)
            extents += k->values[i].extent;
        for (int shape = 0; shape < 3; shape++) {
            int each = shape == 0 ? (extents <= 3 ? 37 : 5) : shape == 1 ? (extents <= 3 ? 64 : 4) : 3;
            char text[32][64];
            char *words[33] = {text[0]};
            int n = 1;
            for (int i = 0, at = 0; i < k->value_count && n < 32; i++)
                if (k->values[i].extent) {
                    at++;
                    snprintf(text[n], sizeof text[n], "%s=%d", k->values[i].name, shape == 2 && at == extents && extents <= 3 ? 1300 : each);
                    words[n] = text[n];
                    n++;
                }
            int got = tilec_kit_main(k, n, words);
            ran += got == 0;
            wrong += got != 0 && got != TILEC_REFUSED;
            for (int i = 0; i < k->value_count; i++)
                k->values[i].given = false;
        }
        fflush(stdout);
        printf("%s %s\n", wrong || !ran ? "FAIL" : "ok", k->name);
        fflush(stdout);
        status |= wrong || !ran;
    }
    return status;
}
