// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Since when the leader has been silent, as this host sees it; after LEADER_CONTACT_MS it counts as lost.
//
//      leader_contact_on_leader(), leader_contact_on_beat() -> leader_contact_due_us()
//          -> leader_contact_is_lost()
//
// A leader that answered no beat stays silent when its link breaks, too: only another leader, or an answer,
// ends that. Pure functions in microseconds of the boot clock; nothing fails.

#include "leader-contact.h"

#include "clock.h"

void leader_contact_on_leader(LeaderContact *c, bool leads, uint64_t now_us) {
        c->leads = leads;
        if (leads)
                c->silent_us = 0;
        else if (c->silent_us == 0)
                c->silent_us = now_us;
}

void leader_contact_on_beat(LeaderContact *c, uint64_t unanswered_us) {
        if (c->leads)
                c->silent_us = unanswered_us;
}

uint64_t leader_contact_due_us(const LeaderContact *c) {
        return c->silent_us == 0 ? 0 : c->silent_us + LEADER_CONTACT_MS * USEC_PER_MSEC;
}

bool leader_contact_is_lost(const LeaderContact *c, uint64_t now_us) {
        return c->silent_us > 0 && now_us >= leader_contact_due_us(c);
}
