// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A connection to a container's systemd, which talks only to processes that it can see: so one of ours has
// to be born into the container's pid namespace, where root may take it over. See manager-connector.c for
// why it has nothing worth taking.

#include <stdint.h>
#include <sys/types.h>

enum { CONNECTOR_SEC = 10 }; // how long it may take

typedef enum ConnectorStep {
        CONNECTOR_PREPARES, // outside
        CONNECTOR_ENTERS,   // becomes the inside of the container
        CONNECTOR_CONNECTS,
} ConnectorStep;

typedef struct ConnectorWord { // all that is ever said about it, perhaps by a liar
        int32_t error;         // 0 or negative errno
        int32_t step;
} ConnectorWord;

// The calling process stays where it is and waits, CONNECTOR_SEC at most. Returns a descriptor of whatever
// kind (who is at its other end is the caller's to check), or negative errno and in *ret_step what failed.
// When it returns, the process inside is gone. `born` is the leader's process_birth(); `leader` -1: in no
// container, for tests.
int manager_connect(pid_t leader, uint64_t born, const char *path, ConnectorStep *ret_step);

// What is said on the link, once there is something: a part of the above. A short word, a missing descriptor
// or more than one, an error that is none (-EBADMSG): somebody has interfered.
int manager_connect_receive(int link, ConnectorStep *ret_step);
