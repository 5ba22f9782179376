// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One voter that we dial; lives while it is named, over any number of streams.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "finder.h"
#include "list.h"
#include "mesh-self.h"
#include "stream.h"

typedef struct Link Link;

typedef struct LinkOps { // none but `closed` when the link was abandoned, and none from inside a call
        void (*up)(Link *l, void *userdata); // its first Leader frame is here, and told next
        void (*announced)(Link *l, const Argosy__ToHost__Leader *leader, void *userdata);
        // It is no voter any more: it names those that it knows, and the stream ends.
        void (*guided)(Link *l, const Argosy__ToHost__Leader *guide, void *userdata);
        void (*message)(Link *l, const Argosy__ToHost *message, void *userdata); // any other frame
        void (*drained)(Link *l, void *userdata); // the voter has taken all that was queued for it
        int (*renew_request)(Link *l, Buf *ret_csr, void *userdata); // negative errno: nothing is asked
        void (*renewed)(Link *l, const Argosy__ToHost__Renewed *renewed, void *userdata);
        void (*down)(Link *l, void *userdata); // its stream is gone, up or not
        // Told once until the link was up again or the reason changes. `why` is for people.
        void (*failed)(Link *l, const char *why, void *userdata);
        // The exception, perhaps from inside a call: link_report_pending() has something to tell.
        void (*pending)(Link *l, void *userdata);
        void (*closed)(Link *l, void *userdata); // it is freed behind this
} LinkOps;

typedef struct LinkConfig {
        uv_loop_t *loop;
        TlsContext *tls;
        MeshSelf *self; // borrowed, as it is now
        unsigned redial_min_ms, redial_max_ms;
        const LinkOps *ops;
        void *userdata;
} LinkConfig;

struct Link {
        // The owner's
        ListNode node;
        uint64_t epoch; // of this stream's `up`
        bool hint;      // named by a voter, not by mesh_set_voters()

        LinkConfig config;
        MeshPeer peer;
        Finder finder;
        Stream *stream;   // NULL between two dials
        uv_timer_t timer; // next dial, or the patience with this one
        unsigned failures;
        bool up;      // its Leader frame was here
        bool renewing; // it was asked for a certificate, and takes us for nothing else
        bool leading; // as it says
        uint64_t term;
        bool abandoned;
        MeshRefusal refusal;
        bool reached;         // the stream's handshake is done: the voter is where we dialled
        bool to_found;        // we dialled where the finder found it
        bool found_in_vain;   // that was done, and it did not come up
        bool dial_now;        // when the stream is gone
        char reported_why[200]; // what `failed` said last
        char pending_why[96]; // for link_report_pending()
};

int link_new(const LinkConfig *config, const MeshPeer *peer, Link **ret);
// Forgets it; what was sent is still written if `flush`. `closed` follows.
void link_abandon(Link *l, bool flush);

void link_dial(Link *l);
// Leaves its stream and dials at once, with a Hello of now.
void link_dial_anew(Link *l);
// Dials anew if the key has changed, or the address to another one than the link is connected to.
void link_set_peer(Link *l, const MeshPeer *peer);
// This machine's addresses have changed: dials anew what is not up, or comes from an address that is ours no
// more.
void link_on_network(Link *l, bool (*is_ours)(const char *address, void *userdata), void *userdata);
// Where its voter may be: it dialled us from there, another one says so, somebody knows.
void link_on_seen(Link *l, const char *address);
void link_on_announced(Link *l, const Argosy__Voter *voter);
void link_on_given(Link *l, const MeshAddress *addresses, size_t n);

int link_send(Link *l, const ProtobufCMessage *message); // as stream_send(); -ENOTCONN unless it is up
int link_send_frame(Link *l, Buf *frame);                // likewise
void link_report_pending(Link *l);
// What it is connected to, or will be dialled at. Empty: not known.
MeshAddress link_where(const Link *l);
