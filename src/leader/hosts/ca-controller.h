// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// `cluster rotate-ca`: the log has another CA, and every member another certificate, while everything runs.
//
//   CA_SETTLED -> CA_HAND_OUT: the next CA is made, its key is a secret of the voters
//              -> CA_RENEW:    it signs; hosts are asked to renew their certificates, some at a time
//              -> CA_SETTLED:  the former one is trusted no more, and its key is gone from the voters' disks
//
// The phase is the log's, who has which certificate is what hosts say with each attach: so a new leader goes
// on where the last one was.

#include "batch-builder.h"
#include "leader-core.h"

CaController *ca_controller_new(void); // NULL: out of memory
CaController *ca_controller_free(CaController *c); // or NULL
void ca_controller_retire(Leader *l);              // it leads no more

// As handlers.h has it.
int ca_controller_plan(Leader *l, PendingRequest *t, BatchBuilder *b);
// The next step, into the entry; who is to renew its certificate is asked. 0 or -ENOMEM.
int ca_controller_decide(Leader *l, BatchBuilder *b);
// Of which CA a host's certificate is.
void ca_controller_on_certified(Leader *l, Host *h, const Argosy__ToVoter__Certified *certified);
// For people: how far a rotation is, and whom it waits for; empty: none is under way. 0 or -ENOMEM.
int ca_controller_notice(const Leader *l, char **notice);
