// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The voters that this host knows of, and whether it finds them: what a person has to know while nobody
// leads, and what they can tell this host about it.

#include "argosy.pb-c.h"

typedef struct Daemon Daemon;

enum { PEERS_GIVEN_MAX = 4 }; // addresses at a time

// What the voters that were reached say of this host, if none takes it.
typedef enum PeersVerdict {
        PEERS_SILENT,  // one takes it, or nothing is known
        PEERS_UNKNOWN, // they do not know its key, which happens also when they have not heard of it yet
        PEERS_REMOVED, // at least one says that it was removed, which is final
} PeersVerdict;
PeersVerdict peers_verdict(const Daemon *d);
// A sentence about that, or about the voters that are not found, and what helps. NULL: all are found, or out
// of memory.
char *peers_notice(const Daemon *d);
// `cluster status` of a host that keeps no log, from its peers file. Responds before it returns, once.
void peers_answer_status(const Daemon *d, void (*respond)(const Argosy__Response *response, void *userdata),
                         void *userdata);
// `cluster peers`: looks for voters at these addresses too. 0 or -EINVAL, and *ret_why, a sentence for
// people (NULL: out of memory).
int peers_try(Daemon *d, char *const *addresses, size_t n, char **ret_why);
