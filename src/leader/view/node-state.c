// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The state of a host and of a node, as lists show it (node-state.h), and its word. host_state(): lease,
// goodbye and attachment -> lost or down, leaving, unknown, suspect, online; node_state(): or offline. Pure
// functions; nothing fails.

#include "node-state.h"

#include "tables.h"

static const char *const words[NODE_STATES] = {
        [NODE_UNHEARD] = "unknown", [NODE_ONLINE] = "online",   [NODE_OFFLINE] = "offline",
        [NODE_SUSPECT] = "suspect", [NODE_LEAVING] = "leaving", [NODE_LOST] = "lost",
        [NODE_DOWN] = "down",
};

const char *node_state_to_string(NodeState state) {
        return words[state];
}

NodeState host_state(const Host *h) {
        if (h->lease.state == LEASE_LOST)
                return h->down ? NODE_DOWN : NODE_LOST;
        if (h->leaving)
                return NODE_LEAVING;
        if (!h->ever_attached)
                return NODE_UNHEARD; // no attach since this host leads
        return h->lease.state == LEASE_SUSPECT ? NODE_SUSPECT : NODE_ONLINE;
}

NodeState node_state(const Node *n) {
        NodeState state = host_state(n->host);

        return n->reason && state == NODE_ONLINE ? NODE_OFFLINE : state;
}
