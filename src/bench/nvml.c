/* NVIDIA's management library, opened when it is there: the state of each GPU. */
#include "bench/machine.h"
#include <dlfcn.h>
#include <string.h>

typedef struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned length);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *text, unsigned length);
    int (*clock)(void *device, int type, unsigned *megahertz);
    int (*power)(void *device, unsigned *milliwatts);
    int (*limit)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int sensor, unsigned *degrees);
    int (*throttle)(void *device, unsigned long long *reasons);
} nvml;

/* dlsym gives a data pointer; the copy is how POSIX turns it into a function's. */
static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static const struct {
    unsigned long long bit;
    const char *name;
} reasons[] = {{0x1, "idle"},
               {0x2, "application clocks"},
               {0x4, "power cap"},
               {0x8, "hardware slowdown"},
               {0x10, "sync boost"},
               {0x20, "thermal (software)"},
               {0x40, "thermal (hardware)"},
               {0x80, "power brake"},
               {0x100, "display clocks"}};

static json_t *describe(const nvml *n, unsigned index, const char *driver) {
    void *device;
    char name[96] = "";
    if (n->handle(index, &device) || n->name(device, name, sizeof name))
        return NULL;
    json_t *o = json_pack("{s:s, s:s}", "name", name, "driver", driver);
    enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
    unsigned value;
    unsigned long long bits;
    if (n->clock && !n->clock(device, CLOCK_SM, &value))
        json_object_set_new(o, "sm_megahertz", json_integer(value));
    if (n->clock && !n->clock(device, CLOCK_MEMORY, &value))
        json_object_set_new(o, "memory_megahertz", json_integer(value));
    if (n->power && !n->power(device, &value))
        json_object_set_new(o, "watts", json_real(value / 1000.0));
    if (n->limit && !n->limit(device, &value))
        json_object_set_new(o, "watts_limit", json_real(value / 1000.0));
    if (n->temperature && !n->temperature(device, 0, &value))
        json_object_set_new(o, "celsius", json_integer(value));
    if (n->throttle && !n->throttle(device, &bits)) {
        json_t *list = json_array();
        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
            if (bits & reasons[i].bit)
                json_array_append_new(list, json_string(reasons[i].name));
        json_object_set_new(o, "throttle", list);
    }
    return o;
}

json_t *machine_gpus(void) {
    json_t *list = json_array();
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return list;
    nvml n = {0};
    bool good = find(library, "nvmlInit_v2", &n.init) && find(library, "nvmlDeviceGetCount_v2", &n.count) &&
                find(library, "nvmlDeviceGetHandleByIndex_v2", &n.handle) && find(library, "nvmlDeviceGetName", &n.name);
    find(library, "nvmlShutdown", &n.shutdown);
    find(library, "nvmlSystemGetDriverVersion", &n.driver);
    find(library, "nvmlDeviceGetClockInfo", &n.clock);
    find(library, "nvmlDeviceGetPowerUsage", &n.power);
    find(library, "nvmlDeviceGetEnforcedPowerLimit", &n.limit);
    find(library, "nvmlDeviceGetTemperature", &n.temperature);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n.throttle);
    unsigned count = 0;
    if (good && !n.init()) {
        char driver[96] = "?";
        if (n.driver && n.driver(driver, sizeof driver))
            memcpy(driver, "?", 2);
        for (unsigned i = 0; !n.count(&count) && i < count; i++) {
            json_t *o = describe(&n, i, driver);
            if (o)
                json_array_append_new(list, o);
        }
        if (n.shutdown)
            n.shutdown();
    }
    dlclose(library);
    return list;
}
