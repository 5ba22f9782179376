// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A certificate of which few days are left is renewed: a request goes to the leader, whose answer is saved
// and used from then on. Without a leader, or if it cannot be signed now, the next occasion asks again. An
// expired certificate ends nothing: members trust the key.

#include "renew.h"
#include "clock.h"
#include "daemon.h"
#include "log.h"
#include "mesh.h"
#include "tls-context.h"

void renew_if_due(Daemon *d) {
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__Renew renew = ARGOSY__TO_VOTER__RENEW__INIT;
        int days = identity_days_left(&d->identity, clock_wall_us()), r;
        _cleanup_buf_ Buf csr = {};

        if (days >= CERT_RENEW_DAYS)
                return;
        if (days < 0)
                log_warning("This host's certificate has expired. Members go on trusting its key; asking "
                            "for a new certificate.");
        r = identity_renew(&d->identity, d->config.name, &csr);
        if (r < 0) {
                log_error("Cannot ask for a new certificate: %s", strerror(-r));
                return;
        }
        renew.csr = (ProtobufCBinaryData){csr.len, csr.data};
        message.msg_case = ARGOSY__TO_VOTER__MSG_RENEW;
        message.renew = &renew;
        (void) mesh_to_leader(d->mesh, &message); // without a leader: asked again with the next Welcome
}

static void use(Daemon *d, int r) {
        if (r >= 0)
                r = tls_context_set_identity(d->tls, &d->identity);
        if (r < 0)
                log_error("The new certificate cannot be used: %s", strerror(-r));
        else
                log_info("The certificate was renewed.");
}

void renew_on_renewed(Daemon *d, const Argosy__ToHost__Renewed *message) {
        int r = identity_install(&d->identity, message->cert.data, message->cert.len, NULL, 0);

        if (r < 0)
                use(d, r);
        else
                state_writer_save_identity(d, use);
}
