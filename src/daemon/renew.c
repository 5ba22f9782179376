// SPDX-License-Identifier: LGPL-2.1-or-later
//
// This host's certificate is renewed when few of its days are left, and when it is not of the cluster's CA:
//
//   few days, or the leader asks for it            -> Renew to the leader -> Renewed ->  the pool saves it
//                                                  -> used from then on
//   a voter trusts the CA of our certificate no more -> Renew to that one   -> Renewed /
//
// Without a leader, or if it cannot be signed now, the next occasion asks again. An expired certificate ends
// nothing: members trust the key. With each attach, and when there is another one, the leader is told which
// CA it is of.

#include "renew.h"

#include <errno.h>

#include "clock.h"
#include "daemon-ca.h"
#include "daemon.h"
#include "log.h"
#include "mesh.h"
#include "message-of.h"
#include "tls-context.h"

void renew_ask(Daemon *d) {
        Argosy__ToVoter__Renew renew = ARGOSY__TO_VOTER__RENEW__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(RENEW, renew, &renew);
        _cleanup_buf_ Buf csr = {};
        int r;

        r = identity_renew(&d->identity, d->config.name, &csr);
        if (r < 0) {
                log_error("Cannot ask for a new certificate: %s", strerror(-r));
                return;
        }
        renew.csr = (ProtobufCBinaryData){csr.len, csr.data};
        (void) mesh_to_leader(d->mesh, &message); // without a leader: asked again with the next Welcome
}

void renew_if_due(Daemon *d) {
        int days = identity_days_left(&d->identity, clock_wall_us());

        if (days >= CERT_RENEW_DAYS)
                return;
        if (days < 0)
                log_warning("This host's certificate has expired. Members go on trusting its key; asking "
                            "for a new certificate.");
        renew_ask(d);
}

// A host with a leader gets its certificate from the leader. A voter that was away may not know today's CA.
int renew_request(Buf *ret_csr, void *userdata) {
        Daemon *d = userdata;

        if (mesh_leader(d->mesh) != 0)
                return -EBUSY;
        return identity_renew(&d->identity, d->config.name, ret_csr);
}

void renew_report(Daemon *d) {
        Argosy__ToVoter__Certified certified = ARGOSY__TO_VOTER__CERTIFIED__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(CERTIFIED, certified, &certified);
        Hash hash = hash_of(d->identity.ca_cert.data, d->identity.ca_cert.len);

        certified.ca_hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
        (void) mesh_to_leader(d->mesh, &message); // lost with the link: told again with the next attach
}

static void use(Daemon *d, int r) {
        if (r >= 0)
                r = tls_context_set_identity(d->tls, &d->identity);
        if (r < 0) {
                log_error("The new certificate cannot be used: %s", strerror(-r));
                return;
        }
        log_info("The certificate was renewed.");
        daemon_ca_update(d);
        renew_report(d);
}

void renew_on_renewed(Daemon *d, const Argosy__ToHost__Renewed *message) {
        const ProtobufCBinaryData *ca = &message->ca_cert;
        int r = identity_install(&d->identity, message->cert.data, message->cert.len,
                                 ca->len ? ca->data : NULL, ca->len);

        if (r < 0)
                use(d, r);
        else
                state_writer_save_identity(d, use);
}
