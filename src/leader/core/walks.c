// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Walks over all of something that go in slices, slowed down after a start until turns are short (walks.h).
//
//      walk_slice(): how many this turn -> the walk -> walk_sliced()
//          -> walks_turned(): the CPU time sets the next slices
//
// CPU time is measured only while a walk is slow; a leader that has led for a while measures nothing.
// Nothing fails.

#include "walks.h"

#include "clock.h"
#include "macro.h"

static uint64_t cpu_us(const Leader *l) {
        return l->config.cpu_us ? l->config.cpu_us(l->userdata) : clock_thread_ns() / 1000;
}

void walk_resume(Leader *l, LeaderWalk *w) {
        l->walks.n_slow += w->pace.parts == 0;
        walk_pace_resume(&w->pace);
}

void walk_forget(Leader *l, LeaderWalk *w) {
        l->walks.n_slow -= w->pace.parts > 0;
        list_unlink(&w->used_up);
        w->pace = (WalkPace){};
}

void walks_begin(Leader *l) {
        l->walks.resumed = true;
        for (size_t i = 0; i < LEADER_WALKS; i++)
                walk_resume(l, &l->walks.of[i]);
}

void walks_end(Leader *l) {
        l->walks.resumed = false;
        for (size_t i = 0; i < LEADER_WALKS; i++)
                walk_forget(l, &l->walks.of[i]);
}

// Calls may nest: work that is applied within a turn is part of the turn.
void walks_work_begin(Leader *l) {
        if (l->walks.working++ == 0 && l->walks.n_slow > 0)
                l->walks.from_us = cpu_us(l);
}

void walks_work_end(Leader *l) {
        if (--l->walks.working > 0 || l->walks.from_us == 0)
                return;
        l->walks.took_us += cpu_us(l) - l->walks.from_us;
        l->walks.from_us = 0;
}

void walks_turned(Leader *l) {
        bool any = !list_is_empty(&l->walks.used_up);

        walks_work_end(l);
        while (!list_is_empty(&l->walks.used_up)) {
                LeaderWalk *w = CONTAINER_OF(l->walks.used_up.next, LeaderWalk, used_up);

                list_unlink(&w->used_up);
                walk_pace_turned(&w->pace, l->walks.took_us);
                l->walks.n_slow -= w->pace.parts == 0;
        }
        l->walks.took_us = 0;
        if (l->walks.resumed && l->leading && !any && l->n_hosts.unattached == 0)
                walks_end(l);
}
