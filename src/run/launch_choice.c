/* What launches choose for themselves: whether tasks are few, and tiles of products. Which choices a kernel has does not depend on the launch, so it is found
 * once in a session and kept; which of them a launch takes is a matter of its extents. */
#include "run/session_parts.h"
#include <string.h>

static bool step_symbol(void *context, const index_var *v, int64_t *value) {
    const binding *b = context;
    int at = v->has_value ? -1 : binding_find_symbol(b, v->name);
    if (!v->has_value && (at < 0 || !b->known[at]))
        return false;
    *value = v->has_value ? v->value : b->values[at];
    return true;
}

/* Speeds that nobody reports. Clocks of the device's own highest rate, at which probes keep it. */
static void take_probed(split_device *p, const device_description *d) {
    const unit_description *u = device_unit_find(d, "m16n8k16.f16");
    const double clocks_a_ns = (double)p->clock_khz * 1e-6;
    if (!d || p->clock_khz <= 0 || p->units < 1)
        return;
    p->probed = d->name;
    p->subgroup_multiplies = u ? (int64_t)(u->per_second * 1e-9 / clocks_a_ns / p->units) : 0;
    p->shared_bytes_a_clock = (int64_t)(d->shared_bytes_per_ns / clocks_a_ns + 0.5);
}

split_device session_processors(session *s) {
    if (!s->processors.units) {
        device_processor p = {0};
        if (s->runtime->streams && s->runtime->streams->processor)
            s->runtime->streams->processor(s->device, &p);
        s->processors = (split_device){.units = s->runtime->units(s->device),
                                       .blocks = s->target->machine()->subgroup_lanes > 0,
                                       .warpgroups = p.warpgroups,
                                       .shared_bytes = p.shared_bytes,
                                       .registers = p.registers,
                                       .threads = p.threads,
                                       .clock_khz = p.clock_khz};
        take_probed(&s->processors, session_description(s));
    }
    return s->processors;
}

/* Copies that last as long as the session. */
static schedule_setting *kept_settings(arena *a, const setting_list *from, const schedule_setting *more) {
    int count = from->count + (more != NULL);
    schedule_setting *to = NEW_ARRAY(a, schedule_setting, count + 1);
    for (int i = 0; i < count; i++) {
        const schedule_setting *x = i < from->count ? &from->at[i] : more;
        to[i] = (schedule_setting){arena_strdup(a, x->key), arena_strdup(a, x->value), x->span};
        to[i].span.file = x->span.file ? arena_strdup(a, x->span.file) : NULL;
    }
    return to;
}

const split_sizes *session_split_sizes(run_call *c) {
    session *s = c->session;
    text_buffer text = {0};
    for (int i = 0; i < c->settings.count; i++)
        text_add(&text, "%s:%s ", c->settings.at[i].key, c->settings.at[i].value);
    const char *key = text_get(&text);
    const kept_sizes *found = NULL;
    for (int i = 0; i < s->sizes.count && !found; i++)
        if (s->sizes.at[i].kernel == c->kernel && !strcmp(s->sizes.at[i].key, key))
            found = &s->sizes.at[i];
    if (!found) {
        setting_list given = {.at = c->settings.at, .count = c->settings.count};
        kept_sizes made = {c->kernel, arena_strdup(s->arena, key),
                           schedule_split_sizes(s->arena, c->module, c->kernel, s->target->machine(),
                                                kept_settings(s->arena, &given, NULL), given.count, session_processors(s))};
        VEC_PUSH(s->arena, s->sizes, made);
        found = &s->sizes.at[s->sizes.count - 1];
    }
    text_free(&text);
    return found->sizes;
}

static const schedule_setting few_tasks = {.key = "tasks", .value = "few"};

static const launch_choices *choices_of(run_call *c, const call_step *step, const tile_binding *statics, int static_count,
                                        const setting_list *settings, const char *key) {
    session *s = c->session;
    for (int i = 0; i < s->choices.count; i++)
        if (s->choices.at[i]->kernel == step->kernel && !strcmp(s->choices.at[i]->key, key))
            return s->choices.at[i];
    arena *a = s->arena;
    const machine_model *row = s->target->machine();
    split_device device = session_processors(s);
    launch_choices *made = NEW(a, launch_choices);
    *made = (launch_choices){.kernel = step->kernel, .key = arena_strdup(a, key)};
    const tile_kernel *bound = static_count ? tile_specialise(a, step->kernel, statics, static_count) : step->kernel;
    made->few = schedule_few(a, c->module, bound, row, kept_settings(a, settings, NULL), settings->count, device);
    made->tall = schedule_tall(a, c->module, bound, row, kept_settings(a, settings, NULL), settings->count, device);
    for (int few = 0; few <= (made->few != NULL); few++)
        made->products[few] = schedule_products(a, c->module, bound, row, kept_settings(a, settings, few ? &few_tasks : NULL),
                                                settings->count + few, device);
    VEC_PUSH(a, s->choices, made);
    return made;
}

void launch_settings(run_call *c, call_step *step, const tile_binding *statics, int static_count, setting_list *settings,
                     text_buffer *key) {
    const launch_choices *l = choices_of(c, step, statics, static_count, settings, text_get(key));
    schedule_setting more[1 + PRODUCT_SETTINGS + TALL_SETTINGS];
    int count = 0;
    step->choices = l;
    step->few = schedule_few_tasks(l->few, step_symbol, &step->binding);
    if (step->few)
        more[count++] = few_tasks;
    count += schedule_product_tiles(l->products[step->few], step_symbol, &step->binding, more + count);
    count += schedule_tall_tiles(l->tall, step_symbol, &step->binding, more + count);
    for (int i = 0; i < count; i++) {
        VEC_PUSH(c->arena, *settings, more[i]);
        text_add(key, "%s:%s ", more[i].key, more[i].value);
    }
}

const char *call_route(const run_call *c, int step, arena *a, const char *between) {
    const call_step *s = &c->steps.at[step];
    if (!s->choices)
        return NULL;
    binding *b = (binding *)&s->binding;
    const char *few = s->few ? schedule_few_route(a, s->choices->few, step_symbol, b) : NULL,
               *tiles = schedule_product_route(a, s->choices->products[s->few], step_symbol, b, between);
    const char *tall = schedule_tall_route(a, s->choices->tall, step_symbol, b);
    if (tall)
        return tall;
    return few && tiles ? arena_printf(a, "%s%s%s", few, between, tiles) : few ? few : tiles;
}
