// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Verbs that agents answer (REQUEST_BY_NODES).

#include "leader-core.h"

typedef struct NodeCall NodeCall;
// What a node says of names (NULL: it says nothing, and will not any more). The call is gone afterwards.
typedef void NodeNamesAnswered(PendingRequest *t, Node *n, const Argosy__ToVoter__NameAnswer *answer,
                               uint64_t number, void *userdata);
// What a host says of an image, likewise.
typedef void NodeImageAnswered(PendingRequest *t, Node *n, const Argosy__ToVoter__ImageAnswer *answer,
                               uint64_t number, void *userdata);

// What a host says of a file, likewise; it may say that it could not.
typedef void NodeVerified(PendingRequest *t, Node *n, const Argosy__Response *answer, uint64_t number,
                          void *userdata);

struct NodeCall {
        uint64_t id;
        PendingRequest *pending; // NULL: it is over, and the node is to hear that
        struct NodeAsking *asking; // of that pending request
        Node *node;
        ListNode by_pending_request, by_node; // the first of what is over in Leader.calls_over
        char *unit;
        unsigned n_marks; // of its lines, that were not taken yet
        bool listens;     // counts as one of Node.questions.n_listeners
        bool unsent;      // the node is yet to be asked
        NodeNamesAnswered
                *answered; // of a question about names; both NULL: it is what the pending request asks
        NodeImageAnswered *image_answered; // of one about an image
        NodeVerified *verified;            // of one about a file
        void *userdata;
};

// What a pending request asks of a node: *ret, to be sent. NULL: it was told why not. 0 or -ENOMEM.
int node_call_begin(Leader *l, PendingRequest *t, const char *unit, Node *n, NodeCall **ret);
void node_call_send(Leader *l, NodeCall *c);
// Asks a node, which can be asked, about names. *ret: a number, with which the answer comes. 0 or -ENOMEM.
int node_calls_ask_names(Leader *l, PendingRequest *t, Node *n, const Argosy__ToHost__NameCheck *names,
                         NodeNamesAnswered *answered, void *userdata, uint64_t *ret);
// The same for an image: which digest it has, or with `pull`, that the host is to have it. `registry_auth`:
// what its registry is to see; NULL: nothing.
typedef struct NodeImageQuestion {
        const char *image;
        bool pull;
        Argosy__SecretValue *registry_auth;
} NodeImageQuestion;
int node_calls_ask_image(Leader *l, PendingRequest *t, Node *n, const NodeImageQuestion *question,
                         NodeImageAnswered *answered, void *userdata, uint64_t *ret);
// The same for files.
int node_calls_ask_verify(Leader *l, PendingRequest *t, Node *n, const Argosy__Request__Verify *question,
                          NodeVerified *answered, void *userdata, uint64_t *ret);
// Whether a node can be asked about names, an image or files, at present.
bool node_calls_knows_names(const Node *n);
void node_calls_on_reply(Leader *l, Host *h, const Argosy__ToVoter__CallReply *reply);
void node_calls_on_taken(Leader *l, PendingRequest *t, uint64_t mark);
void node_calls_on_node_lost(Leader *l, Node *n);
// Hosts whose sessions have ended answer nothing more; who watches all nodes watches those of hosts that
// were welcomed.
void node_calls_on_sessions_ended(Leader *l);
void node_calls_on_sessions_begun(Leader *l);
void node_calls_end(PendingRequest *t);   // what it asks nodes is over: they are told, some in each turn
void node_calls_retire(Leader *l); // who leads no more: all pending requests have ended
