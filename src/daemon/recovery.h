// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's copy of the log becomes the cluster: the log's configuration and the peers file change
// together, whatever moment the power fails at. What is in /var/lib/argosy meanwhile (state-dir.h has the
// rest):
//
//   recovery.new/   being made; means nothing, and goes with the next attempt
//   recovery/       complete: takes the place of what is there at the next start
//     log/          copy of the log, rewritten for this server alone
//     peers         of the new generation
//     old/          the log as it was, once it has made room; goes last

#include "argosy.pb-c.h"

// Makes `recovery` of the log as it is and of `peers`. Until it returns 0 nothing has changed; then
// recovery_settle() does. Needs as much room as the log has. *ret_why (malloc'd, may be NULL) on failure.
int recovery_commit(const char *dir, const Argosy__PeersFile *peers, char **ret_why);
// Puts a committed one in place; may be interrupted and run any number of times. Before the log is opened,
// at every start.
int recovery_settle(const char *dir, char **ret_why);
