// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether somebody has changed a unit since a request was asked for, of requests that are several entries of
// the log.

#include "pending-requests.h"

enum { CHANGED_SINCE_LOOKS = 50000 }; // at records of jobs, for one request, at about 0.1 us each

// When the request is looked at first: what it is asked against is how the state is now, or, of one that an
// earlier leader has begun, what its first entry says. 0 or -ENOMEM.
int changed_since_begin(const Leader *l, PendingRequest *t);
// Nothing of it is in the log, and all that it is about is judged in this turn: it is asked against how the
// state is now.
void changed_since_renew(const Leader *l, PendingRequest *t);
// Whether somebody has changed the unit, or taken it away, behind that; not the pending request's own job,
// and not the cluster by itself, unless the request is bound to a revision.
bool changed_since(const Leader *l, PendingRequest *t, const char *unit);

typedef char ChangedPhrase[512];
// "was changed since by job 7 (stop, alice@n1)"; number 0: it is not known by which job.
void changed_since_phrase(const ClusterState *state, uint64_t number, ChangedPhrase ret);
// The job that changed the unit last; 0: that is not known.
uint64_t changed_since_by(const Leader *l, PendingRequest *t, const char *unit);
