// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sends messages to hosts, for all parts of the leader. leader_to_host(): failure drops the host's link,
// since half a conversation is worse than none; it attaches anew and is sent everything.
// leader_to_host_in_passing(): a message that may be lost. A host without a link (-ENOTCONN) is no error, as
// it will attach; -EMSGSIZE would fail then, too, so the link stays.

#include "host-link.h"

#include <errno.h>

#include "tables.h"

void leader_to_host_in_passing(Leader *l, uint32_t host, Argosy__ToHost *message) {
        (void) l->ops.to_host(host, message, l->userdata);
}

int leader_to_host(Leader *l, Host *h, Argosy__ToHost *message) {
        int r = l->ops.to_host(h->number, message, l->userdata);

        // After the next Attach both sides know everything again.
        if (r < 0 && r != -ENOTCONN && r != -EMSGSIZE)
                l->ops.drop_host(h->number, l->userdata);
        return r;
}
