// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this folder keeps in each Host. tables.h includes this header; only this folder goes into the struct.

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"
#include "message.h"

typedef struct HostMembership {
        // The session (sessions.c).
        bool attaching; // the host has begun to attach, and the rest follows in AttachParts
        uint64_t
                // until when the Attaches that it has sent since this leader leads would be spread out
                attaches_paid_us;
        uint64_t beat_seq; // of a beat that is not acknowledged yet
        bool beat_held;    // the host has to take what it was told before
        // The raft server (voters.c).
        bool opened_in_vain; // the host could not open one when it was asked last, or has not answered in
                             // time
        uint32_t number;      // raft id that is for it alone (voters-numbers.c)
        uint64_t number_term; // in which this leader gave it
        uint32_t opened_id;    // server that it opened on our order, which is not in its record yet
        uint32_t opened_after; // Host.n_raft_ids then: opened_id counts as long as that is so
        // Secrets of voters (voter-secrets-controller.c).
        Argosy__ToVoter__VoterSecretsKept *secrets_kept; // as the host said last; owned; NULL: it has not
        uint32_t secrets_reported;    // a hash of those that it was handed last in this session; 0: none
        uint64_t secrets_reported_us; // when
        // The certificate (ca-controller.c).
        bool ca_known; // the host has said since this leader leads of which CA its certificate is
        Hash ca_hash;  // the certificate of that CA
        uint64_t
                // when it was asked for another one, or its word was awaited first; 0: not, or it has
                // answered
                ca_asked_us;
        unsigned n_ca_asked; // times in this session since it answered
} HostMembership;

static inline void host_membership_done(HostMembership *m) {
        message_free(m->secrets_kept);
}
