// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is next on the way from one CA to another (`cluster rotate-ca`), by what the log says and what is
// seen of hosts.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

typedef struct CaView {
        Argosy__CaPhase phase;
        bool named;      // CA_HAND_OUT: the log has the certificate of the next CA
        bool made;       // this leader has made one, and its key is in the log's list of secrets
        bool making;     // it has made one
        size_t n_voters;
        size_t n_keepers;       // of these: the log says that they have the next CA's key
        size_t n_voters_without; // that are there, and have it not
        size_t n_awaited;  // hosts that are not there and may come back before they are lost
        size_t n_without;  // hosts that are there, and have no certificate of the CA that signs
} CaView;

typedef enum CaStep {
        CA_WAIT,   // for somebody, or nothing is to be done
        CA_MAKE,   // a key and a certificate
        CA_NAME,   // the certificate, in the log
        CA_SIGN,   // from now on by the next one
        CA_SETTLE, // the former one goes
} CaStep;

CaStep ca_policy_step(const CaView *v);
