// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The network of a world: stream.h and the Listener again, without sockets and without TLS. Linked before
// the room wire it takes the place of stream*.c and listener.c; frames are cut and made messages of by the
// same frame.c. And tls-context.h again: an identity's pin is all of it, each end knows the other's, and is
// judged by it as in a handshake.
//
//      stream_send -> queue -> [as much as there is room for on the way] -> pieces, each with a delay, in
//      order -> the other end's drain
//
// A host has one address, or none: then it reaches nobody and nobody reaches it. Beside that it may have
// SIM_BRIDGE_ADDRESS, which leads each host to itself. Of a way from one host to another there are faults;
// they hold for all connections that use it, also those that are made later:
//
//      delay        each piece takes so long, drawn log-uniformly
//      bytes_per_s  and the next one waits behind it
//      clogged      nothing arrives until it is opened. The kernels hear each other, so nobody gives up
//      cut          nothing arrives, not even of the kernels: after STREAM_USER_TIMEOUT_MS both ends have
//                   lost the connection. If it is
//                   mended before, nothing is lost
//
// What is left out: long messages are unpacked by the loop, not by the pool; turns are not shared
// (stream-share.c). A name is looked up in no time.

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim-world.h"

enum {
        SIM_NET_WINDOW = 64 * 1024, // bytes of a direction on the way, and not taken by their reader
        SIM_NET_DELAY_MIN_US = 20,
        SIM_NET_DELAY_MAX_US = 30000,
};

typedef struct SimWay {
        bool cut, clogged;
        uint64_t delay_min_us, delay_max_us;
        uint64_t bytes_per_s; // 0: any number
} SimWay;

// Behind sim_begin(), and before sim_end().
void sim_net_begin(void);
void sim_net_end(void);
#define SIM_BRIDGE_ADDRESS "172.17.0.1" // as a bridge of containers has it on every machine

// Numeric; empty: it has none. Connections from and to the one before are lost without a word.
void sim_net_set_address(SimHost *h, const char *address);
const char *sim_net_address(const SimHost *h);
// Whether "n1" is host 1, wherever it is. Not so at first.
void sim_net_know_names(bool known);
SimHost *sim_net_find(const char *address); // or name. NULL: nobody has it
SimWay sim_net_way(const SimHost *from, const SimHost *to);
void sim_net_set_way(SimHost *from, SimHost *to, SimWay way);
// What `from` sends next, and all that is on the way with it, is the last of its connection: it is read, and
// whoever sent it does not know.
void sim_net_lose_behind_next(SimHost *from, SimHost *to);
// All connections between the two are broken off, which both see.
void sim_net_reset(SimHost *a, SimHost *b);
// Who is told before each part of what a host says to another one goes on its way. NULL: nobody. It changes
// nothing but ways and what they lose.
void sim_net_on_message(void (*sent)(SimHost *from, SimHost *to));
// The host was killed, or is about to be. Its kernel closes its connections, or with `silent` (its power is
// gone) the others have to find out. To be called before it starts again.
void sim_net_host_gone(SimHost *h, bool silent);

// Whom the kernel names at local sockets that are dialled from now on. NULL: root, who is in no other group.
enum { SIM_USER_GROUPS_MAX = 4 };
typedef struct SimUser {
        uid_t uid;
        gid_t gid, groups[SIM_USER_GROUPS_MAX];
        size_t n_groups;
} SimUser;
void sim_net_dial_as(const SimUser *user);

typedef struct SimNetFigures {
        uint64_t pieces, bytes, connections, refused;
} SimNetFigures;
SimNetFigures sim_net_figures(void);
