// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether so many hosts are missing at once that their units are not moved: the network is the likelier
// cause. True: at least one host is lost, more than one is missing (lost or suspect), and these are more
// than `percent` of all. One missing host is never too many. A pure function; nothing fails.

#include "mass-loss-policy.h"

bool mass_loss_policy_holds(const MassLossView *v) {
        size_t missing = v->n_suspect + v->n_lost;

        return v->n_lost > 0 && missing > 1 && missing * 100 > v->n_hosts * v->percent;
}
