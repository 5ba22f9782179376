// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// libraft's way to its peers: TLS connections with ALPN_RAFT, certificates on both sides (guard 7: never
// plain TCP; one forged frame of 32 bytes can set the term to 2^64-1 and end all elections for good).
//
// Each server dials each peer that it wants to send to and reads from the connections that peers dialled, so
// there are two connections between two servers. Addresses in libraft's configuration are only the raft id
// in decimal: where a server really is and which key it has is asked of StoreOps.resolve() for each dial.
//
// Neither side of libraft asks whether the other is still a member. So who StoreOps.retired() says is none
// any more loses its connections, gets no new one, and is not dialled; libraft, which would try again for
// ever, is left waiting for that dial until it closes.
//
// What a peer that we dialled may know of us, and what one that dialled us says, are the marks (marks.h): a
// leader hands out the time, a follower hands back the newest that it held when it obeyed.

#include <raft.h>
#include <raft/uv.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "list.h"
#include "store.h"
#include "stream.h"

enum { TRANSPORT_BRIDGES_MAX = 32 }; // connections at a time, both directions

// The newest mark that we held when we took a message of this leader.
typedef struct SeenMark {
        uint32_t raft_id; // 0: free
        uint64_t term, mark_us;
} SeenMark;

// A voter obeyed in this term a message that we sent at `sent_us` or later, and follows nobody else for so
// long.
typedef void (*TransportAnswer)(uint32_t raft_id, uint64_t term, uint64_t sent_us, uint32_t promise_ms,
                                void *userdata);

// A peer has sent a part of a long message, which may take longer than an election over a slow link.
typedef void (*TransportPart)(uint32_t raft_id, void *userdata);
// A peer has sent marks and nothing else: it takes a long message of ours, of that term.
typedef void (*TransportTakes)(uint32_t raft_id, uint64_t term, void *userdata);
// Whether we lead: who does not sends no mark, also with what is left of a message of before.
typedef bool (*TransportLeads)(void *userdata);

typedef struct Transport {
        struct raft_uv_transport uv; // what libraft sees
        uv_loop_t *loop;
        TlsContext *tls;
        Store *store; // for resolve
        ListNode connects, bridges;
        size_t n_bridges;
        uint64_t n_connections; // that were ever made
        raft_uv_accept_cb accept;
        raft_uv_transport_close_cb closed;
        bool closing;

        SeenMark seen[STORE_MEMBERS_MAX];
        uint32_t promise_ms; // ours
        TransportAnswer answer;
        TransportPart part;
        TransportTakes takes;
        TransportLeads leads;
        void *answer_data;
} Transport;

enum { TRANSPORT_ADDRESS_SIZE = 16 };
// The address under which libraft knows a server.
void transport_address(uint32_t raft_id, char ret[TRANSPORT_ADDRESS_SIZE]);

// `tls` is borrowed and may be NULL: then nobody is dialled. The memory must stay until libraft has closed
// the transport.
void transport_init(Transport *t, uv_loop_t *loop, TlsContext *tls, Store *store);
// Takes the stream over in any case. A peer has one connection to us: a new one replaces the old.
void transport_accept(Transport *t, Stream *stream, uint32_t raft_id);
// Ends the connections and dials of those who are retired now.
void transport_recheck(Transport *t);
// Before the first connection: what we promise, and who gets what others answer.
void transport_set_marks(Transport *t, uint32_t promise_ms, TransportAnswer answer, TransportPart part,
                         TransportTakes takes, TransportLeads leads, void *userdata);
// Marks alone, to a peer whose message we are taking.
void transport_say_marks(Transport *t, uint32_t raft_id);
// libraft has just obeyed a message of this leader.
void transport_note_obeyed(Transport *t, uint32_t raft_id, uint64_t term);
// The connection on which this peer gets what we send: each has a number of its own; 0: there is none.
uint64_t transport_connection(const Transport *t, uint32_t raft_id);
// Loop time in ms when this peer last sent us something; 0: never, or its connection is gone.
uint64_t transport_received_ms(const Transport *t, uint32_t raft_id);
