// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a build can read. Hosts of one cluster run different builds while they are being upgraded; the
// feature level is what keeps the log and the mesh readable for all of them. There are three:
//
//      FEATURE_LEVEL                     of this build: everything up to it is understood
//      cluster_state_feature_level()     of the log: everything up to it may be written there. It rises when
//                                        all who are or may become voters understand more, and never falls
//      Host.feature_level (leader),      of the peer of a session: what may be said to it. A peer that does
//      mesh_leader_level() (host)        not name one in its first frame has FEATURE_BASE
//
// Each name below is one thing that came later than the first version, with the level that it came with.

#include <stdint.h>

enum {
        FEATURE_BASE = 1,
        FEATURE_ADDRESS_NAMES = 2, // hosts may be configured with a name, see HostRecord.address_name
        FEATURE_TOMBSTONES = 2,
        FEATURE_REVISION_FLOOR = 2, // ClusterRecord.revision_floor
        FEATURE_WELCOME_PARTS = 2, // a Welcome may come in parts
        FEATURE_MARKS = 2, // on the connections of the log: ALPN_RAFT_MARKED
        FEATURE_GOODBYE_RUNNING = 2, // the last Goodbye of a shutdown names what may still run
        FEATURE_MANAGER_WAIT = 2, // the request ManagerWait
        FEATURE_JOURNAL_WINDOW = 2, // Request.Journal.window, and the marks and Taken that come with it
        FEATURE_OUTCOME_UNKNOWN = 2, // Outcome.Kind UNKNOWN
        FEATURE_NODES_CHANGE = 2, // the request NodesChange
        FEATURE_STAYING = 2, // UnitOrder.stay, UnitReport.stays
        FEATURE_CHANGE_PARTS = 2, // a Change may be several entries of the log
        FEATURE_AUTHOR = 2, // Forward.author
        FEATURE_JOBS = 2, // LogOp.JobPut and what follows from it, LogOp.JobEnds, the requests ListJobs and JobWait
        FEATURE_ACCESS = 2, // LogOp.GrantRecord, the requests AccessChange and AccessList, ToHost.Access; tokens, Author.token_proof
        FEATURE_EVENTS = 2, // the request Events, Request.Wait.goal
        FEATURE_SETS = 2, // UnitRecord.set and JobUnits.set, the request Apply
        FEATURE_NAME_CHECK = 2, // ToHost.Call.names
        FEATURE_NEWEST = 2,
};

// FEATURE_NEWEST, unless the build option feature_level says less: an older build for tests of upgrades.
#define FEATURE_LEVEL feature_level_of_build
extern const uint32_t feature_level_of_build;
