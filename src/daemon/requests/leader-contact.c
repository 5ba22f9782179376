// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A leader that answers no sign of life stays silent when its link breaks, too: only another leader, or an answer, ends that.
// Nothing here fails.

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
