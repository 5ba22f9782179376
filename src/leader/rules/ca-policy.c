// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every step is a change of one record, and none depends on what an earlier leader remembered. If a leader
// that made a CA died before the log had its certificate, voters have no more than the key, so the CA is
// made anew.
//
// The next CA signs when no later leader can lack its key for long: most voters have it, and all that are
// there. A voter that is away gets it when it is back. The former CA goes when all hosts that are there have
// a certificate of the new one, and no host may come back in a moment; one that is away is let in for a new
// certificate alone.

#include "ca-policy.h"

static CaStep hand_out(const CaView *v) {
        if (!v->named)
                return v->made ? CA_NAME : v->making ? CA_WAIT : CA_MAKE;
        return 2 * v->n_keepers > v->n_voters && v->n_voters_without == 0 ? CA_SIGN : CA_WAIT;
}

CaStep ca_policy_step(const CaView *v) {
        switch (v->phase) {
        case ARGOSY__CA_PHASE__CA_HAND_OUT:
                return hand_out(v);
        case ARGOSY__CA_PHASE__CA_RENEW:
                return v->n_without == 0 && v->n_awaited == 0 ? CA_SETTLE : CA_WAIT;
        default:
                return CA_WAIT;
        }
}
