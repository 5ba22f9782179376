// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One stream that a host dialled to us. Its owner judges the Hello and takes the messages.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "list.h"
#include "stream.h"

typedef struct Session Session;

typedef struct SessionOps { // none but `closed` when the session was dropped
        // The first frame. The owner opens the session (session_open()), or drops it. Negative errno: as
        // dropped with that.
        int (*hello)(Session *s, const Argosy__ToVoter__Hello *hello, void *userdata);
        // Any further frame, behind session_open().
        void (*message)(Session *s, Argosy__ToVoter *message, void *userdata);
        // Instead of that, behind session_renew(): the one frame that it may send. As `hello`.
        int (*renew)(Session *s, const Argosy__ToVoter__Renew *renew, void *userdata);
        void (*drained)(Session *s, void *userdata); // the host has taken all that was queued for it
        void (*closed)(Session *s, void *userdata);  // it is freed behind this
} SessionOps;

struct Session {
        ListNode node; // the owner's
        const SessionOps *ops;
        void *userdata;
        Stream *stream;
        uint32_t host;
        // opened, and the owner's host_link() said that it is up, and not yet that it is down
        bool announced;
        bool renews;    // may ask for a certificate, and do nothing else
        bool is_guided; // is told which voters we know, and nothing else; `host` is 0, since we do not know
                        // whose key it has
        bool dropped;   // takes and gives nothing any more
};

// Takes the stream over, also on failure.
int session_new(Stream *stream, uint32_t host, const SessionOps *ops, void *userdata, Session **ret);
void session_open(Session *s);
void session_renew(Session *s); // may only ask for a certificate, within the time that a Hello has
int session_send(Session *s, const ProtobufCMessage *message); // as stream_send()
void session_drop(Session *s, int error, bool flush);
