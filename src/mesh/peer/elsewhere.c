// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a voter may be, in the order of likelihood: its name or address by the log, what a person said,
// whence it dialled us, what other voters say, and at last the address and the name of its host. Each place
// is offered once, however often it is known. false: there is no further one, and it begins anew.

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "elsewhere.h"
#include "macro.h"

static MeshAddress address_at(const char *text, uint16_t port) {
        MeshAddress a = {.port = port};

        snprintf(a.text, sizeof(a.text), "%s", text);
        return a;
}

MeshAddress elsewhere_first(const MeshPeer *peer) {
        return address_at(*peer->name ? peer->name : peer->address, peer->port);
}

// All places in the order of their likelihood; those that are not known are empty.
static MeshAddress place(const Elsewhere *e, const MeshPeer *peer, unsigned i) {
        enum { SEEN = 1 + ELSEWHERE_GIVEN_MAX, ANNOUNCED, ADDRESS, HOST_NAME };

        switch (i) {
        case 0:
                return elsewhere_first(peer);
        case SEEN:
                return e->seen;
        case ANNOUNCED:
                return e->announced;
        case ADDRESS:
                return address_at(peer->address, peer->port);
        case HOST_NAME:
                return address_at(peer->host_name, peer->port);
        default:
                return e->by_hand[i - 1];
        }
}

enum { PLACES = 5 + ELSEWHERE_GIVEN_MAX };

static bool is_one_of_the_first(const Elsewhere *e, const MeshPeer *peer, unsigned n, const MeshAddress *a) {
        for (unsigned i = 0; i < n; i++) {
                MeshAddress b = place(e, peer, i);

                if (a->port == b.port && strcasecmp(a->text, b.text) == 0)
                        return true;
        }
        return false;
}

bool elsewhere_next(const Elsewhere *e, const MeshPeer *peer, unsigned *at, MeshAddress *ret) {
        while (++*at < PLACES) {
                *ret = place(e, peer, *at);
                if (*ret->text && !is_one_of_the_first(e, peer, *at, ret))
                        return true;
        }
        return false;
}
