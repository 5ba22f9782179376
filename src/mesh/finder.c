// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A voter that does not answer where the log says is looked for elsewhere:
//
//   dial failed or takes long, or news of where it may be -> probe one place after the other (TLS with its
//   pinned key, nothing else) -> found: the link dials there anew, until the log names another address or nobody answers there
//
// A round of probes follows each such dial and runs beside the next one, so it has no pace of its own and
// delays nothing. Whoever answers elsewhere with another key is not the one.
#include "mesh-internal.h"
#include "tls-context.h"

static void probe_next(Link *l);

static void on_probe_opened(Stream *s, void *userdata) {
        Link *l = userdata;

        stream_close(s, 0, true); // flushed, so that it is a handshake there too
        if (l->abandoned || l->up)
                return;
        l->found = l->probed;
        l->probe_again = false;
        link_dial_anew(l);
}

static void on_probe_closed(Stream *s, int error, void *userdata) {
        Link *l = userdata;

        l->probe = NULL;
        if (l->abandoned)
                link_finish(l);
        else if (l->probe_again) {
                l->probe_again = false;
                finder_look(l);
        } else if (error < 0)
                probe_next(l);
}

static const StreamOps probe_ops = {.opened = on_probe_opened, .closed = on_probe_closed};

static void probe_next(Link *l) {
        Mesh *m = l->mesh;

        while (!l->up && !l->probe && elsewhere_next(&l->elsewhere, &l->peer, &l->probed_at, &l->probed))
                if (stream_dial(m->loop, l->probed.text, l->probed.port, m->tls, ALPN_MESH, &l->peer.pin,
                                &probe_ops, l, &l->probe) < 0)
                        l->probe = NULL;
}

void finder_look(Link *l) {
        if (l->probe || l->up)
                return;
        l->probed_at = 0;
        probe_next(l);
}

// There is news: from the beginning.
static void look_anew(Link *l) {
        if (l->probe) {
                l->probe_again = true;
                stream_close(l->probe, 0, false);
        } else
                finder_look(l);
}

// News of where a voter may be. It is alive, or somebody believes so: that is worth a dial at once.
static void look_there(Link *l, MeshAddress *known, const char *text, uint16_t port) {
        bool new = !streq(known->text, text) || known->port != port;

        if (!str_copy(known->text, sizeof(known->text), text))
                return;
        known->port = port;
        if (l->up)
                return;
        if (!l->stream)
                link_dial_anew(l);
        if (new)
                look_anew(l);
}

void finder_on_heard(Mesh *m, uint32_t host, const char *address) {
        Link *l = link_find(m, host);
        HostAddressKind kind = host_address_kind(address);

        // Link-local: which link is not part of the text. Loopback is a host of this very machine.
        if (l && kind != HOST_ADDRESS_LINK_LOCAL && kind != HOST_ADDRESS_NONE)
                look_there(l, &l->elsewhere.heard, address, l->peer.port);
}

void finder_on_told(Mesh *m, const Argosy__Voter *voter) {
        Link *l = link_find(m, voter->host);

        if (l && !l->up && host_address_may_be_announced(voter->address, true) &&
            voter->port <= UINT16_MAX && !streq(voter->address, l->peer.address))
                look_there(l, &l->elsewhere.told, voter->address, (uint16_t) voter->port);
}

void mesh_look_at(Mesh *m, const MeshAddress *addresses, size_t n) {
        list_foreach (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                for (size_t i = 0; i < ELEMENTSOF(l->elsewhere.by_hand); i++) {
                        MeshAddress *a = &l->elsewhere.by_hand[i];

                        *a = (MeshAddress){};
                        if (i < n && str_copy(a->text, sizeof(a->text), addresses[i].text))
                                a->port = addresses[i].port;
                }
                if (l->up)
                        continue;
                link_dial_anew(l);
                look_anew(l);
        }
}
