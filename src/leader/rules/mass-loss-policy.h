// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The mass-loss policy. When many hosts are lost at once it is rarely the hosts: it is a switch, a bad
// configuration, this leader's own network. To start all their units on the few that are left would make one
// failure into two. So nothing is moved then, until enough of them are back, are removed, or are drained by
// their owner. Pure.

#include <stdbool.h>
#include <stddef.h>

enum {
        MASS_LOSS_PERCENT_DEFAULT = 50,
        MASS_LOSS_WINDOW_SEC = 60, // hosts lost within so long are lost at once
};

typedef struct MassLossView {
        // Hosts that hold units and are expected to be here: not those in maintenance, shut down, or lost
        // earlier.
        size_t n_hosts;
        size_t n_suspect, n_lost; // of these
        unsigned percent;         // on if more than this part is missing; 100: never
} MassLossView;

// Suspects count as soon as one host is lost, since the leases of hosts that went away together end one
// after the other.
bool mass_loss_policy_holds(const MassLossView *v);
