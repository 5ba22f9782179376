// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See shrink.h. In this order, again until nothing more goes: what stands behind the step at which it is
// red, steps (delta debugging: halves, quarters, ... one by one), features, hosts and units, figures, and
// words (a small one says less). Every step draws from its own word, so what is taken out changes nothing
// about the others, but for what they find.
#include "shrink.h"

#include <string.h>

#include "macro.h"

enum { WORDS_TRIED = 4 };

static StoryPlan tried;

static bool take(Shrink *s) {
        size_t step;

        s->n_played++;
        if (!s->is_red(&tried, &step, s->userdata))
                return false;
        s->red_step = step;
        if (step + 1 < tried.n_steps)
                tried.n_steps = step + 1;
        *s->plan = tried;
        return true;
}

static bool without_steps(Shrink *s, size_t from, size_t n) {
        tried = *s->plan;
        memmove(&tried.steps[from], &tried.steps[from + n],
                (tried.n_steps - from - n) * sizeof(*tried.steps));
        tried.n_steps -= n;
        return take(s);
}

static bool shrink_steps(Shrink *s) {
        bool any = false;

        for (size_t n = MAX_OF(s->plan->n_steps / 2, (size_t) 1);; n /= 2) {
                size_t end = s->plan->n_steps;

                // from the end: what comes late needs more of what comes before than the other way round
                while (end > 0) {
                        size_t from = end > n ? end - n : 0;

                        any |= without_steps(s, from, end - from);
                        end = MIN_OF(from, s->plan->n_steps);
                }
                if (n <= 1)
                        return any;
        }
}

static bool shrink_weights(Shrink *s, unsigned *(*weights)(Swarm *swarm), size_t n) {
        bool any = false;

        for (size_t i = 0; i < n; i++) {
                if (weights(&s->plan->swarm)[i] == 0)
                        continue;
                tried = *s->plan;
                weights(&tried.swarm)[i] = 0;
                any |= take(s);
        }
        return any;
}

static unsigned *faults_of(Swarm *swarm) {
        return swarm->faults;
}

// Not all of them may go: somebody asks for something.
static unsigned *loads_of(Swarm *swarm) {
        return swarm->loads;
}

static bool lower(Shrink *s, unsigned *figure, unsigned to) {
        unsigned was = *figure;

        if (was <= to)
                return false;
        tried = *s->plan;
        *(unsigned *) ((char *) &tried + ((char *) figure - (char *) s->plan)) = to;
        return take(s);
}

static bool shrink_figures(Shrink *s) {
        Swarm *swarm = &s->plan->swarm;
        bool any = false;
        unsigned *to_0[] = {&swarm->events_bytes, &swarm->users,      &swarm->configs,  &swarm->start_ms,
                            &swarm->stop_ms,      &swarm->batch_max,  &swarm->parts,    &swarm->places,
                            &swarm->beside,       &swarm->named,      &swarm->fleet,    &swarm->activators,
                            &swarm->groups,       &swarm->turn_us,    &swarm->timed};

        for (unsigned n = MAX_OF(s->hosts_min, 1u); n < swarm->hosts; n++)
                any |= lower(s, &swarm->hosts, n);
        for (unsigned n = 1; n < swarm->units; n++)
                any |= lower(s, &swarm->units, n);
        for (unsigned n = 0; n < swarm->crowd; n = n * 2 + 1)
                any |= lower(s, &swarm->crowd, n);
        for (size_t i = 0; i < ELEMENTSOF(to_0); i++)
                any |= lower(s, to_0[i], 0);
        return any;
}

// All are the usual ones again, or each by itself.
static bool shrink_limits(Shrink *s) {
        bool any = false;

        for (size_t i = 0; i < swarm_n_limits; i++) {
                if (*swarm_limit(&s->plan->swarm.limits, i) == 0)
                        continue;
                tried = *s->plan;
                tried.swarm.limits = (LeaderLimits){};
                if (take(s))
                        return true;
                break;
        }
        for (size_t i = 0; i < swarm_n_limits; i++) {
                if (*swarm_limit(&s->plan->swarm.limits, i) == 0)
                        continue;
                tried = *s->plan;
                *swarm_limit(&tried.swarm.limits, i) = 0;
                any |= take(s);
        }
        return any;
}

static bool shrink_words(Shrink *s) {
        bool any = false;

        for (size_t i = 0; i < s->plan->n_steps; i++)
                for (uint64_t word = 0;
                     i < s->plan->n_steps && word < WORDS_TRIED && word < s->plan->steps[i].word; word++) {
                        tried = *s->plan;
                        tried.steps[i].word = word;
                        any |= take(s);
                }
        return any;
}

static bool has_loads(const Swarm *swarm) {
        unsigned n = 0;

        for (size_t i = 0; i < _LOADS; i++)
                n += swarm->loads[i] > 0;
        return n > 1;
}

void shrink(Shrink *s) {
        bool more = true;

        if (s->red_step + 1 < s->plan->n_steps)
                s->plan->n_steps = s->red_step + 1;
        (void) shrink_limits(s);
        (void) shrink_weights(s, faults_of, swarm_n_faults);
        while (more) {
                more = shrink_steps(s);
                more |= shrink_weights(s, faults_of, swarm_n_faults);
                if (has_loads(&s->plan->swarm))
                        more |= shrink_weights(s, loads_of, _LOADS);
                more |= shrink_limits(s);
                more |= shrink_figures(s);
                if (!more)
                        more = shrink_words(s);
        }
}
