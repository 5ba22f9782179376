// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader's surroundings and the fake hosts have of each other.

#include "leader-rig.h"

// leader-rig.c
void rig_host_clear_inbox(RigHost *h);
void rig_host_clear_outbox(RigHost *h);
void rig_loop_turn(Rig *g); // the leader's part of one
bool rig_loop_is_busy(Rig *g);

// leader-rig-counts.c
void rig_assert_hosts(const Leader *l); // and that the Placement knows all but those that are marked
void rig_assert_counts(const Rig *g);

// leader-rig-host.c
void rig_host_send(RigHost *h, Argosy__ToVoter__MsgCase what, void *message);
uint64_t rig_host_clock(const RigHost *h, uint64_t now_us);
void rig_give_up_the_lost(Rig *g);
bool rig_host_turn(RigHost *h);

// leader-rig-requests.c
void rig_free_answers(void);
