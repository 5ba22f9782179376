// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// /var/lib/argosy: who this host is and how it finds its cluster again.
//
//   identity.pem   include/identity.h
//   voter-secrets  include/voter-secrets.h, on voters
//   peers          PeersFile: cluster, host number, raft id, voters; its presence means "initialised"
//   fence          FenceRecord, the agent's
//   log/           the replicated log, on voters, with a copy of `peers` that counts more than that file
//   next/          a new identity that is being written; complete only when it has been renamed to
//   commit/        a new identity that replaces everything at the next start (or nothing inside: become a
//                  fresh host)
//   recovery.new/, recovery/
//                  see recovery.h
//
// Joining and leaving replace all of it at once: whatever moment the power fails at, the host wakes up as
// either the old or the new member.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "identity.h"

// Takes the directory for this process, for as long as it lives: two that write to one log would ruin it.
// -EBUSY: another process has it.
int state_dir_lock(const char *dir);
// Whether anything can be changed there, e.g. -EROFS, and *ret_why (malloc'd, may be NULL).
int state_dir_is_writable(const char *dir, char **ret_why);

// Finishes a replacement that was committed. To be called at every start, after the lock. Blocks on the
// disk, like everything here.
int state_dir_settle(const char *dir, char **ret_why);

// -ENOENT: this host is fresh. -EBADMSG and *ret_why (malloc'd) for damage, with the way out.
int state_dir_load(const char *dir, Identity *ret_identity, Argosy__PeersFile **ret_peers, char **ret_why);
// Makes a fresh host the first of a new cluster.
int state_dir_create(const char *dir, const char *host_name, const char *address, uint16_t port,
                     char **ret_why);
int state_dir_save_peers(const char *dir, const Argosy__PeersFile *peers);
// It is the first host of its cluster and its log has never said anything, so that it may begin one. A host
// that was recovered, or has been alone for long, has the same voters.
bool state_dir_may_begin_log(const Argosy__PeersFile *peers);
// What is to be done about a voter's log that is gone, as a sentence (malloc'd; NULL: out of memory).
char *state_dir_lost_log(const char *dir, const char *log_dir, const char *host_name,
                         const Argosy__PeersFile *peers);

// Prepares and commits the replacement by a new identity; `identity` and `peers` NULL: by nothing. Takes
// effect with state_dir_settle().
int state_dir_replace(const char *dir, const Identity *identity, const Argosy__PeersFile *peers);
