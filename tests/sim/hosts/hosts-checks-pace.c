// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of how often something is done: what comes right in the end may have been tried a thousand times a
// second until then. Each second the turns of each loop and the starts of each unit at each place are
// compared with those of before; a machine that was without power begins anew.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "fake-pid1.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "sim-host.h"
#include "test.h"

enum {
        TURNS_MAX = 5000,    // of a loop in a second; one that goes round takes 15,000 to 55,000
        START_SECONDS = 10,  // systemd's StartLimitIntervalSec=
        STARTS_MAX = 5,      // and StartLimitBurst=: of a unit at a place, besides what was asked for
        NEWS_SECONDS = 30,   // until what comes from outside has led to a start
        LOOKS = NEWS_SECONDS + 1,
};

static struct {
        unsigned n_looks;
        uint64_t turns[SIM_CLUSTER_MAX + 1];
        uint64_t news[LOOKS]; // ever, as of each of the last looks
        unsigned starts[LOOKS][2 * SIM_USER_PLACE][WORLD_UNITS_MAX];
} pace;

void pace_begin(void) {
        memset(&pace, 0, sizeof(pace));
}

// As of so many looks ago, or of the beginning.
static unsigned ago(unsigned n) {
        return (pace.n_looks + LOOKS - n) % LOOKS;
}

static void look_at_turns(uint32_t machine) {
        uint64_t now = sim_host_turns(sim_machine(machine)->host), n = now - pace.turns[machine];

        pace.turns[machine] = now;
        check_says("turns-are-few");
        if (n > TURNS_MAX)
                check_fail("turns-are-few", "n%u's loop has turned %" PRIu64 " times in a second", machine,
                           n);
}

// What somebody has asked for, or broken, and each start of an argosyd.
static uint64_t count_news(void) {
        uint64_t n = asks.n_asked + hosts_faults_count();

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                n += sim_machine(i)->n_starts;
        return n;
}

static void look_at_starts(uint32_t place, unsigned i, uint64_t news) {
        FakePid1 *p = sim_place_pid1(place);
        unsigned now = p ? pid1_runs(p, asks.units[i].name) : 0,
                 before = pace.starts[ago(START_SECONDS)][place][i];

        pace.starts[ago(0)][place][i] = now;
        if (now <= before)
                return;
        check_says("starts-are-paced");
        if (now - before > STARTS_MAX + news)
                check_fail("starts-are-paced",
                           "%s was started %u times in %d s on %s, and %" PRIu64
                           " times something came from outside",
                           asks.units[i].name, now - before, START_SECONDS, sim_place_name(place), news);
}

void pace_on_look(void) {
        uint64_t news = count_news();

        pace.n_looks++;
        pace.news[ago(0)] = news;
        // These first: whoever starts a unit without a pause goes round, too.
        sim_foreach_place(place) for (unsigned i = 0; i < asks.n_units; i++)
                look_at_starts(place, i, news - pace.news[ago(NEWS_SECONDS)]);
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                look_at_turns(i);
}
