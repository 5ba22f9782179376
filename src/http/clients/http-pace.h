// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Until when a client has to have said something: the head of a request, or its body. The same for all
// listeners, and decided here alone. How many connections there may be is the accounts' to say.
//
//      accepted     -> http_pace_begin()        HTTP_HEAD_SEC for the head of its first request, with the
//                                               handshake of TLS
//      head is here -> http_pace_on_head()      no limit: it waits for us
//      body wanted  -> http_pace_on_body()      HTTP_BODY_SEC for all of it
//      body is here -> http_pace_on_request()   no limit again, but that of slow readers
//      answered     -> http_pace_on_answer()    HTTP_IDLE_SEC for the head of the next one
//      closed       -> http_pace_end()
//
// Each deadline is set once and is from end to end: a byte now and then lengthens none of them. A late
// client's socket is shut down. The loop looks once a second, as long as a client is waited for
// (http_pace_end_late()).

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"

// One connection.
typedef struct HttpPaced {
        ListNode link; // in HttpPace.all
        int fd;        // borrowed
        uint64_t due_us; // boot time; 0: it waits for us
} HttpPaced;

typedef struct HttpPace {
        pthread_mutex_t lock; // of all
        ListNode all;
        size_t n_due;    // of which we wait for something
        bool is_watched; // the loop looks, or was told to
} HttpPace;

void http_pace_init(HttpPace *p);
// When there is no connection any more.
void http_pace_done(HttpPace *p);
// From here on until http_pace_end() the socket is ended when it is late. True, also of the others: the loop
// has to be told to look.
bool http_pace_begin(HttpPace *p, HttpPaced *c, int fd, uint64_t now_us);
void http_pace_on_head(HttpPace *p, HttpPaced *c);
bool http_pace_on_body(HttpPace *p, HttpPaced *c, uint64_t now_us);
void http_pace_on_request(HttpPace *p, HttpPaced *c);
bool http_pace_on_answer(HttpPace *p, HttpPaced *c, uint64_t now_us);
// Before its socket is closed.
void http_pace_end(HttpPace *p, HttpPaced *c);
// Whether anybody is waited for.
bool http_pace_is_due(HttpPace *p);
// False: nobody is waited for any more, and the loop need not look until it is told to.
bool http_pace_end_late(HttpPace *p, uint64_t now_us);
