// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See choices.h. The numbers are splitmix64's (Steele, Lea, Flood 2014: "Fast splittable pseudorandom number generators"), of which each
// word is a good seed, even the next one.
#include "choices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "str.h"

const char *const step_kind_names[_STEP_KINDS] = {
        [STEP_ASK] = "ask", [STEP_FAULT] = "fault", [STEP_TIME] = "time", [STEP_SETTLE] = "settle", [STEP_CALM] = "calm",
};

Draw draw_from(uint64_t word) {
        return (Draw){word};
}

uint64_t draw_word(Draw *d) {
        uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

unsigned draw_below(Draw *d, unsigned n) {
        return (unsigned) (((draw_word(d) >> 32) * n) >> 32);
}

bool draw_one_in(Draw *d, unsigned n) {
        return draw_below(d, n) == 0;
}

static unsigned bits_of(uint64_t n) {
        return n ? 64 - (unsigned) __builtin_clzll(n) : 0;
}

uint64_t draw_log(Draw *d, uint64_t lo, uint64_t hi) {
        unsigned bits = bits_of(lo) + draw_below(d, bits_of(hi) - bits_of(lo) + 1);
        uint64_t least = UINT64_C(1) << (bits - 1), n = least + (draw_word(d) & (least - 1));

        return n < lo ? lo : n > hi ? hi : n;
}

size_t draw_weighted(Draw *d, const unsigned *weights, size_t n) {
        unsigned all = 0, left;

        for (size_t i = 0; i < n; i++)
                all += weights[i];
        left = draw_below(d, all);
        for (size_t i = 0; i < n; i++) {
                if (left < weights[i])
                        return i;
                left -= weights[i];
        }
        return n - 1;
}

// ------------------------------------------------------------------------------------------------ as text

static int add_step(StoryPlan *p, const char *kind, uint64_t word) {
        for (unsigned i = 0; i < _STEP_KINDS; i++)
                if (streq(step_kind_names[i], kind) && p->n_steps < STORY_STEPS_MAX) {
                        p->steps[p->n_steps++] = (Step){(StepKind) i, word};
                        return 0;
                }
        return -EINVAL;
}

static int read_line(StoryPlan *p, const char *line) {
        char kind[32], value[128];
        uint64_t word;

        if (*line == '#' || *line == '\n')
                return 0;
        if (sscanf(line, "%31s %127s", kind, value) != 2)
                return -EINVAL;
        if (streq(kind, "without")) {
                size_t len = strlen(p->without);

                return (size_t) snprintf(p->without + len, sizeof(p->without) - len, "%s ", value) < sizeof(p->without) - len ? 0 : -E2BIG;
        }
        word = strtoull(value, NULL, 16);
        if (streq(kind, "swarm"))
                p->swarm = word;
        else if (streq(kind, "hosts"))
                p->hosts = (unsigned) word;
        else
                return add_step(p, kind, word);
        return 0;
}

int story_plan_read(StoryPlan *ret, const char *path) {
        FILE *f = fopen(path, "re");
        char line[256];
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
                        fprintf(stderr, "%s:%u: not a step of a story\n", path, n);
        }
        fclose(f);
        return r;
}

int story_plan_write(const StoryPlan *p, const char *path) {
        FILE *f = fopen(path, "we");
        const char *name = p->without;

        if (!f)
                return -errno;
        fprintf(f, "swarm %016" PRIx64 "\n", p->swarm);
        if (p->hosts)
                fprintf(f, "hosts %x\n", p->hosts);
        for (size_t len; (len = strcspn(name, " ")) > 0; name += len + 1)
                fprintf(f, "without %.*s\n", (int) len, name);
        for (size_t i = 0; i < p->n_steps; i++)
                fprintf(f, "%s %016" PRIx64 "\n", step_kind_names[p->steps[i].kind], p->steps[i].word);
        return fclose(f) == 0 ? 0 : -errno;
}
