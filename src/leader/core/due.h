// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is to be looked at again, of the leader as a whole. Code that notes a fact sets what is due by it;
// the pass that decides takes the mark, once a turn at most, and looks at the facts as they are then. No
// mark names an object: marks of hosts, nodes and units are in view.

#include "leader-core.h"

typedef enum LeaderDue {
        // a node came or changed, or has room: units that wait for one may have it
        DUE_PLACEMENT = 1 << 0,
        // some units that wait in the Placement for another node may stay where they are
        DUE_ENQUEUED = 1 << 1,
        DUE_WAITS = 1 << 2,          // every wait is to be judged
        DUE_MASS_LOSS = 1 << 3,      // whether too many hosts were lost at once
        DUE_PREVIOUS_NODES = 1 << 4, // a host was heard, lost or removed: orders that wait for the end of a
                                     // unit there may go
        DUE_GLOBALS = 1 << 5,        // on which nodes units run that run on all
        DUE_VOTERS = 1 << 6,         // there may be a next step of a membership change: all hosts are looked
                                     // at
        DUE_VOTER_SECRETS = 1 << 7,  // which voter has which secrets
        DUE_OLD_SECRETS = 1 << 8,    // an older version of a secret may be unused
        DUE_FEATURES = 1 << 9,       // whether the log's feature level may rise
        DUE_CA = 1 << 10,            // the CAs of hosts' certificates
        DUE_WALL = 1 << 11,          // what leader_wall() moves
        DUE_DATA = 1 << 12,          // a node went or changed its mode: data there may bind no unit any more
} LeaderDue;

void leader_set_due(Leader *l, unsigned due); // of LeaderDue, one or more
bool leader_is_due(const Leader *l, LeaderDue due);
bool leader_take_due(Leader *l, LeaderDue due); // true: it was due; it is not now
