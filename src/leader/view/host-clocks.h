// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The wall clocks of hosts, as they say them now and then: what the voters' are makes the cluster's time
// (leader_wall()), and one that is wrong is told of.

#include "leader-core.h"

// What a host has said its wall clock was when that arrived; 0: it has not. With an Attach: what is dated by
// that host counts from then on as it says.
void host_clock_say(Leader *l, Host *h, uint64_t wall_us, bool attach);
// After the records of hosts: who votes now may have been heard before.
void host_clocks_on_hosts(Leader *l);
// After an entry of the log: leader_wall() may be another one without a word of a host.
void host_clocks_on_applied(Leader *l);
// By how much the host's clock is ahead of leader_wall(). False: that is not known.
bool host_clock_ahead(const Leader *l, const Host *h, int64_t *ret_us);
// It is, or is behind, by more than WALL_CLOCK_OFF_US.
bool host_clock_is_off(const Leader *l, const Host *h);
size_t host_clocks_n_off(const Leader *l); // looks at all hosts
void host_clocks_begin(Leader *l);         // a term: of the time as it is then
void host_clocks_retire(Leader *l);        // a term is over: nothing is known of them
