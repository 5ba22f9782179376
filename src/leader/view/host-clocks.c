// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See host-clocks.h. A clock is kept as what it is ahead of our boot clock, so nothing has to be said again
// for it to go on.
//
// Warned of is each host once, when its clock is found to be wrong, and when it is right again; and of the
// voters, when so many do not agree that nobody knows what time it is. While that is so no clock is called
// wrong: against what?
#include "host-clocks.h"

#include <stdlib.h>

#include "clock.h"
#include "due.h"
#include "host-complaints.h"
#include "log.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "turn.h"

enum { SPAN_SIZE = 32 };

static int64_t wall_ahead_us(const Leader *l) {
        return (int64_t) (leader_wall(l) - leader_now(l));
}

bool host_clock_ahead(const Leader *l, const Host *h, int64_t *ret_us) {
        if (!h->clock.known || !leader_wall_is_agreed(l))
                return false;
        *ret_us = h->clock.offset_us - wall_ahead_us(l);
        return true;
}

bool host_clock_is_off(const Leader *l, const Host *h) {
        int64_t ahead_us;

        return host_clock_ahead(l, h, &ahead_us) &&
               (ahead_us > WALL_CLOCK_OFF_US || ahead_us < -WALL_CLOCK_OFF_US);
}

size_t host_clocks_n_off(const Leader *l) {
        size_t n = 0;

        map_foreach (slot, &l->hosts)
                n += host_clock_is_off(l, slot->value);
        return n;
}

static void say_span(uint64_t us, char ret[SPAN_SIZE]) {
        double sec = (double) us / USEC_PER_SEC;

        if (sec < 120)
                str_fit(ret, SPAN_SIZE, "%.1f s", sec);
        else if (sec < 2 * 3600)
                str_fit(ret, SPAN_SIZE, "%.0f min", sec / 60);
        else if (sec < 2 * 86400)
                str_fit(ret, SPAN_SIZE, "%.0f h", sec / 3600);
        else
                str_fit(ret, SPAN_SIZE, "%.0f days", sec / 86400);
}

static void warn(Leader *l, Host *h) {
        bool off = host_clock_is_off(l, h);
        int64_t ahead_us = 0;
        char span[SPAN_SIZE];

        if (off == h->clock.reported_off || !leader_wall_is_agreed(l))
                return;
        h->clock.reported_off = off;
        (void) host_clock_ahead(l, h, &ahead_us);
        say_span((uint64_t) llabs(ahead_us), span);
        if (off)
                log_host(LOG_WARNING, host_name(l, h), "The clock of host %s is %s %s the cluster's time.",
                         host_name(l, h), span, ahead_us > 0 ? "ahead of" : "behind");
        else
                log_host(LOG_NOTICE, host_name(l, h), "The clock of host %s is right again.",
                         host_name(l, h));
}

// What is dated by its clock, as seen by the cluster's; less than a message may take on its way is nothing.
static void judge_dates(const Leader *l, Host *h) {
        int64_t ahead_us = h->clock.dates_offset_us - wall_ahead_us(l);

        h->clock.dates_ahead_us =
                !h->clock.known || (ahead_us < WALL_CLOCK_OFF_US && ahead_us > -WALL_CLOCK_OFF_US)
                        ? 0
                        : ahead_us;
}

static bool has_heard_most(const WallClock *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->n_voters; i++)
                n += c->voters[i].heard;
        return n > c->n_voters / 2;
}

// Each is said once, with a beat: when a term begins the voters attach one after the other.
static void warn_of_voters(Leader *l) {
        bool disagree = !leader_wall_is_agreed(l) && has_heard_most(&l->wall_clock);

        if (disagree && !l->clocks_disagreed)
                log_warning("The clocks of most voters differ by more than a minute: the cluster's time "
                            "goes on from the log's.");
        else if (l->clocks_disagreed && leader_wall_is_agreed(l))
                log_notice("The clocks of most voters agree again.");
        else
                return;
        l->clocks_disagreed = disagree;
}

// The cluster's time is another one.
static void judge_all(Leader *l) {
        l->wall_judged_us = wall_ahead_us(l);
        leader_set_due(l, DUE_WALL);
        leader_mark(l);
        map_foreach (slot, &l->hosts) {
                judge_dates(l, slot->value);
                warn(l, slot->value);
        }
}

void host_clocks_on_hosts(Leader *l) {
        bool changed = false;

        for (size_t i = 0; i < l->wall_clock.n_voters; i++) {
                const WallClockVoter *v = &l->wall_clock.voters[i];
                const Host *h = v->heard ? NULL : host_find(l, v->host);

                if (h && h->clock.known)
                        changed |= leader_wall_hear(l, h->number, h->clock.offset_us);
        }
        if (changed)
                judge_all(l);
}

// Other voters, or a time that was set while these do not agree. Not what is left of rounding.
void host_clocks_on_applied(Leader *l) {
        int64_t moved_us = wall_ahead_us(l) - l->wall_judged_us;

        if (moved_us >= WALL_CLOCK_STEP_US || moved_us <= -WALL_CLOCK_STEP_US)
                judge_all(l);
}

void host_clocks_begin(Leader *l) {
        l->wall_judged_us = wall_ahead_us(l);
}

void host_clock_say(Leader *l, Host *h, uint64_t wall_us, bool attach) {
        if (attach)
                h->clock.dates_ahead_us = 0;
        if (wall_us == 0)
                return;
        h->clock.known = true;
        h->clock.offset_us = (int64_t) (wall_us - leader_now(l));
        if (attach)
                h->clock.dates_offset_us = h->clock.offset_us;
        if (leader_wall_hear(l, h->number, h->clock.offset_us))
                judge_all(l);
        else {
                if (attach)
                        judge_dates(l, h);
                warn(l, h);
        }
        if (!attach)
                warn_of_voters(l);
}

void host_clocks_retire(Leader *l) {
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                memset(&h->clock, 0, sizeof(h->clock));
        }
}
