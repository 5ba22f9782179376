// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A journal that is streamed. Unlike any other call, this one has its question open while the thread has it: lines come when they
// are written, and not when they are asked for. What comes meanwhile is kept here, and is no more than the window that was offered
// (flow-window.h): whoever reads the journal on its node waits until the client has read. Private to src/http.
//
//      the loop     asks -> lines -> hands them over, and says that they are taken
//      the thread   writes them -> the client has read them -> posts the call -> the loop hands over what has come, or waits for more
//      the thread   the client has gone, or all is said -> posts the call for the last time -> the loop drops and frees it

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "http-body.h"
#include "list.h"

typedef struct HttpApi HttpApi;
typedef struct HttpCall HttpCall;

// Of a call. All but `gone` is the loop's, also while the thread has the call.
typedef struct HttpJournalCall {
        ListNode link;      // in HttpApi.journals
        bool open;          // it was begun
        bool away;          // the thread has the call
        bool gone;          // the thread has it no more, and nobody else: it is to be freed
        bool began;         // its answer has, or can
        bool lost;          // and its client was told why nothing comes at present
        bool ended;         // nothing more comes
        int status;         // why, or why nothing has come; positive errno value
        char *message;      // and in words
        uint64_t again_us;  // by the loop's clock: it is asked for again; 0: it is not
        uint64_t silent_us; // and so long nothing need be said
        HttpPart *parts;    // that the thread has not got yet
        size_t n_parts, n_bytes;
} HttpJournalCall;

// ---- by the loop

void http_journal_begin(HttpCall *call, const Argosy__Author *author);
// What http_call_respond() and http_call_fail() say of one that has begun.
void http_journal_respond(HttpCall *call, const Argosy__Response *response);
void http_journal_fail(HttpCall *call, int status, const char *message);
// The thread has posted it again.
void http_journal_go_on(HttpCall *call);
void http_journal_on_due(HttpCall *call);
// Somebody has logged out: what he followed ends, and of one that the thread has nothing more comes than it has got.
void http_journals_on_logout(HttpApi *a);
// All of them are nobody's any more, nor are their questions.
void http_journals_forget(HttpApi *a);

// ---- by whoever frees a call

void http_journal_done(HttpCall *call);
