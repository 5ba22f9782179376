// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A voter that does not answer where the log says is looked for elsewhere:
//
//   dial failed or takes long, or news of where it may be -> probe one place after the other (TLS with its
//   pinned key, nothing else) -> found: the link dials there anew, until the log names another address or
//   nobody
//   answers there
//
// A round of probes follows each such dial and runs beside the next one, so it has no pace of its own and
// delays nothing. A host that answers elsewhere with another key is not the voter.
#include "finder.h"

#include "str.h"
#include "tls-context.h"

void finder_init(Finder *f, uv_loop_t *loop, TlsContext *tls, const MeshPeer *peer, const FinderOps *ops,
                 void *userdata) {
        *f = (Finder){.loop = loop, .tls = tls, .peer = peer, .ops = ops, .userdata = userdata};
}

void finder_close(Finder *f) {
        f->closing = true;
        if (f->probe)
                stream_close(f->probe, 0, false);
}

bool finder_is_busy(const Finder *f) {
        return f->probe;
}

MeshAddress finder_where(const Finder *f) {
        return *f->found.text ? f->found : elsewhere_first(f->peer);
}

bool finder_has_found(const Finder *f) {
        return *f->found.text;
}

void finder_forget(Finder *f) {
        f->found = (MeshAddress){};
}

void finder_rest(Finder *f, bool resting) {
        f->resting = resting;
}

// ---- probes

static void probe_next(Finder *f);

static void on_probe_opened(Stream *s, void *userdata) {
        Finder *f = userdata;

        stream_close(s, 0, true); // flushed, so that it is a handshake there too
        if (f->closing || f->resting)
                return;
        f->found = f->probed;
        f->probe_again = false;
        f->ops->found(f->userdata);
}

static void on_probe_closed(Stream *s, int error, void *userdata) {
        Finder *f = userdata;

        f->probe = NULL;
        if (f->closing)
                f->ops->closed(f->userdata);
        else if (f->probe_again) {
                f->probe_again = false;
                finder_start(f);
        } else if (error < 0)
                probe_next(f);
}

static const StreamOps probe_ops = {.opened = on_probe_opened, .closed = on_probe_closed};

static void probe_next(Finder *f) {
        while (!f->resting && !f->probe && elsewhere_next(&f->elsewhere, f->peer, &f->probed_at, &f->probed))
                if (stream_dial(f->loop, f->probed.text, f->probed.port, f->tls, ALPN_MESH, &f->peer->pin,
                                &probe_ops, f, &f->probe) < 0)
                        f->probe = NULL;
}

void finder_start(Finder *f) {
        if (f->probe || f->resting)
                return;
        f->probed_at = 0;
        probe_next(f);
}

// There is news: from the beginning.
static void restart(Finder *f) {
        if (f->probe) {
                f->probe_again = true;
                stream_close(f->probe, 0, false);
        } else
                finder_start(f);
}

// ---- news of where the voter may be

static bool learn(Finder *f, MeshAddress *known, const char *text, uint16_t port) {
        bool new = !streq(known->text, text) || known->port != port;

        if (!str_copy(known->text, sizeof(known->text), text))
                return false;
        known->port = port;
        if (f->resting)
                return false;
        if (new)
                restart(f);
        return true;
}

bool finder_on_seen(Finder *f, const char *address) {
        HostAddressKind kind = host_address_kind(address);

        // Link-local: which link is not part of the text. Loopback is a host of this very machine.
        return kind != HOST_ADDRESS_LINK_LOCAL && kind != HOST_ADDRESS_NONE &&
               learn(f, &f->elsewhere.seen, address, f->peer->port);
}

bool finder_on_announced(Finder *f, const Argosy__Voter *voter) {
        bool elsewhere = !streq(voter->address, f->peer->address) || voter->port != f->peer->port;

        return elsewhere && host_address_may_be_announced(voter->address, true) &&
               voter->port <= UINT16_MAX &&
               learn(f, &f->elsewhere.announced, voter->address, (uint16_t) voter->port);
}

void finder_on_given(Finder *f, const MeshAddress *addresses, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(f->elsewhere.by_hand); i++) {
                MeshAddress *a = &f->elsewhere.by_hand[i];

                *a = (MeshAddress){};
                if (i < n && str_copy(a->text, sizeof(a->text), addresses[i].text))
                        a->port = addresses[i].port;
        }
        if (!f->resting)
                restart(f);
}
