// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit file says about what happens when things go wrong. Part of a UnitFile; no specifiers, so it
// means the same for all names.
//
//      [X-Argosy]
//      NodeLost=move|keep|never        the node is lost: start elsewhere; wait for it; and wait also when it
//                                      is drained
//      NodeLostDelaySec=SPAN           how long after the loss it moves; 0
//      CutOff=keep|stop                the node is cut off from the leader: go on running, or stop
//      CutOffSec=SPAN                  how long after the end of the lease it stops; 30 s
//      RestartElsewhere=N              systemd has given the unit up N times on its node: start elsewhere;
//                                      not given: a failed unit stays as it is
//      RestartElsewhereDecaySec=SPAN   after this time a failure counts half; 10 min
//      OutcomeUnknown=keep|rerun       of a one-shot, when nobody can tell whether it ran
//
// Refused: what cannot be meant (see failing_finish()), and with CutOff=stop settings of [Service] under
// which nobody can say when it has certainly stopped.

#include <stdbool.h>
#include <stdint.h>

enum {
        NODE_LOST_DELAY_MAX_SEC = 30 * 24 * 3600,
        CUT_OFF_MAX_SEC = 24 * 3600,
        CUT_OFF_DEFAULT_SEC = 30,
        STOP_TIMEOUT_DEFAULT_SEC = 90, // systemd's own; a drop-in says it where the file does not
        STOP_TIMEOUT_MAX_SEC = 24 * 3600,
        RESTART_ELSEWHERE_MAX = 100,
        RESTART_DECAY_DEFAULT_SEC = 10 * 60,
        RESTART_DECAY_MAX_SEC = 30 * 24 * 3600,
};

typedef enum NodeLost {
        NODE_LOST_MOVE,
        NODE_LOST_KEEP,
        NODE_LOST_NEVER,
} NodeLost;

// What happens after a failure; a unit's drop-in depends on it, too.
typedef struct FailingOptions {
        NodeLost node_lost;
        bool has_data; // that is why: a container's, which is on its node (quadlet.h)
        uint64_t node_lost_delay_us;
        bool cut_off_stop;
        unsigned cut_off_sec;       // with cut_off_stop
        bool stop_timeout_is_given; // the file has a TimeoutStopSec= of its own
        uint64_t stop_us;           // with cut_off_stop: from being told to stop until it is killed, at most
        unsigned restart_elsewhere; // failures on one node; 0: it is not started again
        uint64_t restart_decay_us;  // half-life of a failure
        bool rerun_unknown;
} FailingOptions;
