// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What can be asked of argosy: one row for each kind of Request, with who answers it and what answering it
// means. Code that passes requests on, or takes them, asks this table instead of listing kinds. Pure.
//
//      by          effect    who has the answer
//      DAEMON      any       the daemon of the host that is asked (daemon/requests/router-local.c has a
//                            handler for each)
//      AGENT       any       the agent of that host
//      LEADER      READS     the leader; without one each voter, from its copy of the log, with its age
//      LEADER      WAITS     the leader, when something has come to pass
//      LEADER      CHANGES   the leader, when the log has it
//      NODES       READS     agents of the nodes that the request is about, which the leader asks; without a
//                            leader the agent of the host that is asked, about its own units

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

enum { CHANGE_UNITS_MAX = 20000 }; // units named in one request; who wants more asks several times

typedef enum RequestBy {
        REQUEST_BY_DAEMON,
        REQUEST_BY_AGENT,
        REQUEST_BY_LEADER,
        REQUEST_BY_NODES
} RequestBy;

typedef enum RequestEffect {
        // is over at once and changes nothing: may be answered with what was true a while ago
        REQUEST_READS,
        REQUEST_WAITS,   // changes nothing
        REQUEST_CHANGES, // without an answer it is not known whether it was done
} RequestEffect;

// What a request is about, for authors with a right for the units of some roles only.
typedef enum RequestAbout {
        REQUEST_ABOUT_NOTHING, // the leader is not asked
        REQUEST_ABOUT_ALL,     // it takes the right for all units
        REQUEST_ABOUT_SOME,    // the author sees, or gets, the part that its rights cover
        REQUEST_ABOUT_UNITS,   // the author needs the right for each unit that it names
        REQUEST_ABOUT_GROUP,   // the same; and each stands for its instances, too
} RequestAbout;

// What the queue of jobs means for a kind.
enum {
        REQUEST_PAST_QUEUE = 1 << 0,  // nothing: it mends the queue, or must not wait for anybody
        REQUEST_RULED = 1 << 1,       // the rules of the queue are for it
        REQUEST_LIMITED = 1 << 2,     // it is refused if its author has too many jobs that are open
        REQUEST_CAN_BE_HELD = 1 << 3, // it can be kept, and carried out when nobody waits for it any more
};

typedef bool RequestTest(const Argosy__Request *q);

// For a kind that the leader writes into the log: its request is a job. Each such kind has all members (a
// test compares).
typedef struct RequestJob {
        const char *verb; // as it is typed: "label", "cluster remove"; NULL:
        const char *(*verb_of)(const Argosy__Request *q);
        unsigned queue;    // bits of the above
        RequestTest *asks; // it is only a question, and there is nothing to hold
        RequestTest *ends; // it does nothing but end what another one has begun: no rule is for that
        RequestTest *runs; // something follows from it once the log has it; else its job is done then
        // by which it is known again; it may return NULL
        const ProtobufCBinaryData *(*id)(const Argosy__Request *q);
        bool nameless;     // there is nothing that it names (leader/messages/job-words.c)
        const char *moves; // what it is called if it moves units and asks nothing else of them; NULL: it
                           // does not
} RequestJob;

enum { REQUEST_JOB_ID_SIZE = 16 };

typedef struct RequestKind {
        const char *name; // as the field of the message is called
        RequestBy by;
        RequestEffect effect;
        bool streams; // has more responses than one
        Argosy__Right right; // that who asks must have at least
        RequestAbout about;  // BY_LEADER, BY_NODES
        const char *(*unit)(const Argosy__Request *q, size_t i); // ABOUT_UNITS, ABOUT_GROUP; NULL behind the
                                                                 // last
        RequestJob job;      // BY_LEADER CHANGES; else empty
        // BY_NODES: the node that it names, since nobody else can answer then; "": it is about units. NULL:
        // no such kind.
        const char *(*node)(const Argosy__Request *q);
} RequestKind;

// NULL: no kind that this build knows.
const RequestKind *request_kind(Argosy__Request__WhatCase what);

// What it is as a job; NULL: it becomes none.
const RequestJob *request_job(const Argosy__Request *q);
// Whether something follows from that once the log has its effect; else the job is done then.
bool request_job_runs(const Argosy__Request *q);
// The id by which the request is recognised when it comes again. NULL: it has none.
const ProtobufCBinaryData *request_job_id(const Argosy__Request *q);

// Whether a job that is called so, whatever its request says, is over when the log has all of it.
bool request_verb_never_runs(const char *verb);
// Whether it moves units and asks nothing else of them.
bool request_verb_only_moves(const char *verb);

// The same of one request, whose contents can make a difference:

RequestAbout request_about(const Argosy__Request *q);
// The units that it names; NULL behind the last.
const char *request_unit(const Argosy__Request *q, size_t i);

// The daemon or the agent of the host that is asked, and nobody else, answers it.
bool request_is_local(const Argosy__Request *q);
// The right that who asks must have, of all that it is about. A Change of a unit that is not there, which
// only the leader knows, brings content: DEPLOY then.
Argosy__Right request_right(const Argosy__Request *q);
// It needs no leader for an answer, only for a newer one.
bool request_is_read(const Argosy__Request *q);
// Copying it would take milliseconds.
bool request_is_long(const Argosy__Request *q);
// This host's agent can answer such a read, about its own units.
bool request_is_read_of_units(const Argosy__Request *q);
