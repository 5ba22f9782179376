// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What can be asked of argosy: one row for each kind of Request, with who answers it and what answering it
// means. Whoever passes requests on, or takes them, asks this table instead of listing kinds. Pure.
//
//      by          effect    who has the answer
//      DAEMON      any       the daemon of the host that is asked (daemon/requests/router.c has a handler for each)
//      AGENT       any       the agent of that host
//      LEADER      READS     the leader; without one each voter, from its copy of the log, with its age
//      LEADER      WAITS     the leader, when something has come to pass
//      LEADER      CHANGES   the leader, when the log has it
//      NODES       READS     agents of the nodes that the request is about, which the leader asks; without a
//                            leader the agent of the host that is asked, about its own units

#include <stdbool.h>

#include "argosy.pb-c.h"

enum { CHANGE_UNITS_MAX = 20000 }; // units named in one request; who wants more asks several times

typedef enum RequestBy { REQUEST_BY_DAEMON, REQUEST_BY_AGENT, REQUEST_BY_LEADER, REQUEST_BY_NODES } RequestBy;

typedef enum RequestEffect {
        REQUEST_READS,   // is over at once and changes nothing: may be answered with what was true a while ago
        REQUEST_WAITS,   // changes nothing
        REQUEST_CHANGES, // whoever gets no answer has to look what became of it
} RequestEffect;

typedef struct RequestKind {
        const char *name; // as the field of the message is called
        RequestBy by;
        RequestEffect effect;
        bool streams; // has more responses than one
        Argosy__Right right; // that who asks must have at least
        // BY_NODES: the node that it names, since nobody else can answer then; "": it is about units. NULL: no such
        // kind.
        const char *(*node)(const Argosy__Request *q);
} RequestKind;

// NULL: no kind that this build knows.
const RequestKind *request_kind(Argosy__Request__WhatCase what);

// The same of one request, whose contents can make a difference:

// The daemon or the agent of the host that is asked, and nobody else, answers it.
bool request_is_local(const Argosy__Request *q);
// The right that who asks must have, of all that it is about. A Change of a unit that is not there, which only the leader
// knows, brings content: DEPLOY then.
Argosy__Right request_right(const Argosy__Request *q);
// It needs no leader for an answer, only for a newer one.
bool request_is_read(const Argosy__Request *q);
// Copying it would take milliseconds.
bool request_is_long(const Argosy__Request *q);
// This host's agent can answer such a read, about its own units.
bool request_is_read_of_units(const Argosy__Request *q);
