// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See plan.h. A line that is not known is an error: a story that lacks a part of itself would be another
// one.
#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "str.h"

// They draw from a word of their own, so all other steps are what they would be without them.
static void add_steps(StoryPlan *p, StepKind kind, unsigned n, uint64_t word) {
        Draw d = draw_from(p->chance ^ word);

        for (unsigned i = 0; i < n && p->n_steps < STORY_STEPS_MAX; i++) {
                size_t at = draw_below(&d, (unsigned) p->n_steps);

                memmove(&p->steps[at + 1], &p->steps[at], (p->n_steps - at) * sizeof(*p->steps));
                p->steps[at] = (Step){kind, draw_word(&d)};
                p->n_steps++;
        }
}

void story_plan_draw(StoryPlan *ret, uint64_t seed) {
        Draw d = draw_from(seed);

        ret->seed = seed;
        ret->n_steps = 0;
        ret->chance = draw_word(&d);
        ret->swarm = swarm_draw(ret->chance);
        for (unsigned i = 0; i < ret->swarm.n_steps; i++)
                ret->steps[ret->n_steps++] =
                        (Step){(StepKind) draw_weighted(&d, ret->swarm.steps, _STEP_KINDS), draw_word(&d)};
        ret->steps[ret->n_steps++] = (Step){STEP_CALM, draw_word(&d)};
        add_steps(ret, STEP_MEMBER, ret->swarm.n_member_steps, UINT64_C(0x6d656d6265727321));
        add_steps(ret, STEP_RECOVER, ret->swarm.n_recover_steps, UINT64_C(0x7265636f76657221));
        add_steps(ret, STEP_AT, ret->swarm.n_at_steps, UINT64_C(0x6174206120686f73));
}

// ---------------------------------------------------------------------------------------- the swarm as text

static unsigned *find_weight(unsigned *weights, const char *const *names, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(names[i], name))
                        return &weights[i];
        return NULL;
}

static unsigned *find_limit(LeaderLimits *limits, const char *name) {
        for (size_t i = 0; i < swarm_n_limits; i++)
                if (streq(swarm_limits_table[i].name, name))
                        return swarm_limit(limits, i);
        return NULL;
}

// "fault.power", "load.units", "limit.watchers", "lease_ms"; NULL: not known.
static unsigned *find_figure(Swarm *s, const char *key) {
        if (str_has_prefix(key, "fault."))
                return find_weight(s->faults, swarm_fault_names, swarm_n_faults, key + strlen("fault."));
        if (str_has_prefix(key, "load."))
                return find_weight(s->loads, swarm_load_names, _LOADS, key + strlen("load."));
        if (str_has_prefix(key, "limit."))
                return find_limit(&s->limits, key + strlen("limit."));
#define FIGURE_FOUND(name, what) \
        if (streq(key, #name))   \
                return &s->name;
        SWARM_FIGURES(FIGURE_FOUND)
#undef FIGURE_FOUND
        return NULL;
}

static void write_weights(FILE *f, const char *kind, const unsigned *weights, const char *const *names,
                          size_t n) {
        for (size_t i = 0; i < n; i++)
                if (weights[i] > 0)
                        fprintf(f, "%s.%s %x\n", kind, names[i], weights[i]);
}

static void write_swarm(FILE *f, const Swarm *s) {
#define FIGURE_WRITTEN(name, what) fprintf(f, "%s %x\n", #name, s->name);
        SWARM_FIGURES(FIGURE_WRITTEN)
#undef FIGURE_WRITTEN
        write_weights(f, "fault", s->faults, swarm_fault_names, swarm_n_faults);
        write_weights(f, "load", s->loads, swarm_load_names, _LOADS);
        for (size_t i = 0; i < swarm_n_limits; i++) {
                LeaderLimits limits = s->limits;
                unsigned value = *swarm_limit(&limits, i);

                if (value > 0)
                        fprintf(f, "limit.%s %x\n", swarm_limits_table[i].name, value);
        }
}

static size_t describe_weights(char *ret, size_t size, const unsigned *weights, const char *const *names,
                               size_t n) {
        size_t len = 0;

        for (size_t i = 0; i < n && len < size; i++)
                if (weights[i] > 0)
                        len += (size_t) snprintf(ret + len, size - len, " %s %u", names[i], weights[i]);
        return MIN_OF(len, size);
}

static void describe_limits(char *ret, size_t size, LeaderLimits limits) {
        size_t len = 0;

        for (size_t i = 0; i < swarm_n_limits && len < size; i++)
                if (*swarm_limit(&limits, i) > 0)
                        len += (size_t) snprintf(ret + len, size - len, "%s %s %u",
                                                 len == 0 ? " | limits" : "", swarm_limits_table[i].name,
                                                 *swarm_limit(&limits, i));
}

void story_plan_describe(const StoryPlan *p, char *ret, size_t size) {
        const Swarm *s = &p->swarm;
        size_t len = 0;

#define FIGURE_TOLD(name, what) len += (size_t) snprintf(ret + len, size - len, "%s %u ", #name, s->name);
        SWARM_FIGURES(FIGURE_TOLD)
#undef FIGURE_TOLD
        len += (size_t) snprintf(ret + len, size - len, "| load");
        len += describe_weights(ret + len, size - len, s->loads, swarm_load_names, _LOADS);
        len += (size_t) snprintf(ret + len, size - len, " | faults");
        len += describe_weights(ret + len, size - len, s->faults, swarm_fault_names, swarm_n_faults);
        describe_limits(ret + len, size - len, s->limits);
}

// ------------------------------------------------------------------------------------------- a plan as text

static int add_step(StoryPlan *p, const char *kind, uint64_t word) {
        for (unsigned i = 0; i < _STEP_KINDS; i++)
                if (streq(step_kind_names[i], kind) && p->n_steps < STORY_STEPS_MAX) {
                        p->steps[p->n_steps++] = (Step){(StepKind) i, word};
                        return 0;
                }
        return -EINVAL;
}

static int read_line(StoryPlan *p, const char *line) {
        char key[32];
        uint64_t value;
        unsigned *figure;

        if (*line == '#' || *line == '\n')
                return 0;
        if (sscanf(line, "%31s %" SCNx64, key, &value) != 2)
                return -EINVAL;
        if (streq(key, "chance")) {
                p->chance = value;
                return 0;
        }
        figure = find_figure(&p->swarm, key);
        if (!figure)
                return add_step(p, key, value);
        *figure = (unsigned) value;
        return 0;
}

int story_plan_read(StoryPlan *ret, const char *path) {
        FILE *f = fopen(path, "re");
        char line[1024];
        int r = 0;

        if (!f) {
                r = -errno;
                fprintf(stderr, "%s: %s\n", path, strerror(-r));
                return r;
        }
        *ret = (StoryPlan){};
        for (unsigned n = 1; r == 0 && fgets(line, sizeof(line), f); n++) {
                r = read_line(ret, line);
                if (r < 0)
                        fprintf(stderr, "%s:%u: nothing that a story has\n", path, n);
        }
        fclose(f);
        if (r == 0 && (ret->swarm.hosts == 0 || ret->swarm.units == 0)) {
                fprintf(stderr, "%s: no story without hosts and units\n", path);
                r = -EINVAL;
        }
        return r;
}

int story_plan_write(const StoryPlan *p, const char *path, const char *heading) {
        FILE *f = fopen(path, "we");

        if (!f)
                return -errno;
        fprintf(f, "# %s\nchance %" PRIx64 "\n", heading, p->chance);
        write_swarm(f, &p->swarm);
        for (size_t i = 0; i < p->n_steps; i++)
                fprintf(f, "%s %" PRIx64 "\n", step_kind_names[p->steps[i].kind], p->steps[i].word);
        return fclose(f) == 0 ? 0 : -errno;
}
