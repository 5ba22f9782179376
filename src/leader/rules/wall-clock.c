// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See wall-clock.h. Those that agree are found in the order of their clocks: some neighbours that are most
// of all voters, of which the first and the last differ by no more than a minute. The median of all that
// were heard is one of these, or between two of them, since they are more than half of them, too.

#include "wall-clock.h"

#include <stdlib.h>

#include "macro.h"

static int compare(const void *a, const void *b) {
        int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

        return (x > y) - (x < y);
}

static size_t heard(const WallClock *c, int64_t ret[WALL_CLOCK_VOTERS_MAX]) {
        size_t n = 0;

        for (size_t i = 0; i < c->n_voters; i++)
                if (c->voters[i].heard)
                        ret[n++] = c->voters[i].offset_us;
        qsort(ret, n, sizeof *ret, compare);
        return n;
}

static bool agree(const int64_t *sorted, size_t n, size_t most) {
        for (size_t i = 0; i + most <= n; i++)
                if (sorted[i + most - 1] - sorted[i] <= WALL_CLOCK_AGREE_US)
                        return true;
        return false;
}

static bool judge(WallClock *c) {
        bool agreed = c->agreed;
        int64_t sorted[WALL_CLOCK_VOTERS_MAX], median, moved;
        size_t n = heard(c, sorted);

        c->agreed = agree(sorted, n, c->n_voters / 2 + 1);
        if (!c->agreed)
                return agreed;
        median = n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] + (sorted[n / 2] - sorted[n / 2 - 1]) / 2;
        moved = median - c->offset_us;
        if (agreed && moved < WALL_CLOCK_STEP_US && moved > -WALL_CLOCK_STEP_US)
                return false;
        c->offset_us = median;
        return true;
}

static WallClockVoter *find(WallClock *c, uint32_t host) {
        for (size_t i = 0; i < c->n_voters; i++)
                if (c->voters[i].host == host)
                        return &c->voters[i];
        return NULL;
}

void wall_clock_set_voters(WallClock *c, const uint32_t *hosts, size_t n) {
        WallClock before = *c;

        c->n_voters = MIN_OF(n, (size_t) WALL_CLOCK_VOTERS_MAX);
        for (size_t i = 0; i < c->n_voters; i++) {
                const WallClockVoter *was = find(&before, hosts[i]);

                c->voters[i] = was ? *was : (WallClockVoter){.host = hosts[i]};
        }
        (void) judge(c);
}

void wall_clock_forget(WallClock *c) {
        for (size_t i = 0; i < c->n_voters; i++)
                c->voters[i].heard = false;
        c->agreed = false;
}

bool wall_clock_hear(WallClock *c, uint32_t host, int64_t offset_us) {
        WallClockVoter *v = find(c, host);

        if (!v)
                return false;
        v->heard = true;
        v->offset_us = offset_us;
        return judge(c);
}
