// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A member's certificate is good if a CA signed it that the log names: the one that signs, and while
// `cluster rotate-ca` is under way the next or the former one, too. The CA of this host's own certificate
// counts as well: the leader that gave it may have known more than the log of a voter that was away. A host
// without a log judges no certificates.
//
// A host with another certificate, but a member's key, was away for long enough to miss a rotation. Each
// voter gives it a new one, also without a leader: it may be the voter without which there can be none.

#include "daemon-ca.h"

#include <errno.h>
#include <string.h>

#include "ca.h"
#include "cluster-state.h"
#include "daemon.h"
#include "log.h"
#include "tls-context.h"

static const Argosy__CaRecord *ca_of_log(const Daemon *d) {
        const Argosy__ClusterRecord *cluster =
                d->state && d->store && !d->store_closing ? cluster_state_cluster(d->state) : NULL;

        return cluster ? cluster->ca : NULL;
}

void daemon_ca_update(Daemon *d) {
        const Argosy__CaRecord *ca = ca_of_log(d);
        Buf certs[TLS_CAS_MAX];
        size_t n = 0;
        int r;

        if (ca) {
                const ProtobufCBinaryData named[] = {ca->cert, ca->next_cert, ca->former_cert,
                                                     {d->identity.ca_cert.len, d->identity.ca_cert.data}};

                for (size_t i = 0; i < ELEMENTSOF(named); i++)
                        if (named[i].len > 0)
                                certs[n++] = (Buf){.data = named[i].data, .len = named[i].len};
        }
        r = tls_context_set_cas(d->tls, certs, n);
        if (r < 0)
                log_error("The cluster's CA cannot be used: %s", strerror(-r));
}

int daemon_ca_sign(uint32_t host, const Argosy__ToVoter__Renew *renew, Buf *ret_cert, Buf *ret_ca_cert,
                   void *userdata) {
        Daemon *d = userdata;
        const Argosy__CaRecord *ca = ca_of_log(d);
        const Argosy__HostRecord *record = ca ? cluster_state_find_host(d->state, host) : NULL;
        Hash pin;
        int r;

        if (!record)
                return -EACCES;
        r = ca_record_sign(ca, &d->secrets, renew->csr, record->name, ret_cert, &pin);
        if (r == 0 &&
            (record->key_pin.len != HASH_SIZE || memcmp(record->key_pin.data, pin.bytes, HASH_SIZE) != 0))
                r = -EKEYREJECTED;
        if (r == 0)
                r = buf_append(ret_ca_cert, ca->cert.data, ca->cert.len);
        if (r < 0)
                log_host(LOG_WARNING, record->name,
                         "Host %s, whose certificate is of a former CA, cannot get a new one here: %s",
                         record->name, strerror(-r));
        else
                log_host(LOG_INFO, record->name,
                         "Host %s, whose certificate is of a former CA, gets a new one.", record->name);
        return r;
}
