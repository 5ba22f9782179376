// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The mass-loss policy: on as soon as one host is lost and more than the configured part is missing,
// suspects counted. One missing host is never too many.

#include "mass-loss-policy.h"

bool mass_loss_policy_holds(const MassLossView *v) {
        size_t missing = v->n_suspect + v->n_lost;

        return v->n_lost > 0 && missing > 1 && missing * 100 > v->n_hosts * v->percent;
}
