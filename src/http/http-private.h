// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the loop and the thread of an HttpApi share, and how a call goes to and fro. Private to src/http.
//
// thread        who has a call        fields that it uses
// HTTP thread   from its first line   all but `data`
// loop          posted -> answered    all but `connection`'s own state: that is suspended, so it does not go away
// HTTP thread   answered -> completed
//
// Handing over is a mutex each time (ours on the way to the loop, libmicrohttpd's on the way back), so nobody sees half of
// one. The thread never calls the loop's functions, the loop of libmicrohttpd's only those that resume a connection and that end all.

#include <microhttpd.h>
#include <pthread.h>

#include "author-names.h"
#include "http-api.h"
#include "http-body.h"
#include "http-target.h"
#include "list.h"

typedef struct HttpThread HttpThread;

// Whoever is at the other end of a connection, as the kernel says.
typedef struct HttpPeer {
        ListNode link; // in HttpThread.peers
        uid_t uid;
        gid_t gid;
        gid_t *groups;
        size_t n_groups;
        bool one_too_many; // it is told so, and has to go
} HttpPeer;

typedef enum HttpStage {
        HTTP_CALL_NEW,     // its first line has come
        HTTP_CALL_READ,    // and its headers
        HTTP_CALL_ASKED,   // it was posted
        HTTP_CALL_REFUSED, // it is answered without
} HttpStage;

struct HttpCall {
        HttpApi *api;
        ListNode link; // in HttpApi.arrived, or `asked`
        struct MHD_Connection *connection;
        const HttpPeer *peer;
        HttpStage stage;
        char *text; // its target, as it came
        HttpTarget target;
        AuthorQuestion question;
        // the answer
        int status; // 0, or a positive errno
        char *message;
        HttpPart *parts;
        size_t n_parts, n_rows, n_bytes;
};

struct HttpApi {
        const HttpApiOps *ops;
        void *userdata;
        AuthorNames *names;
        int fd;
        uv_poll_t first;  // somebody connects: there is to be a thread
        uv_async_t async; // calls have arrived
        HttpThread *thread;
        ListNode asked; // calls that the loop has
        int closing;    // handles that are still open
        void (*closed)(void *userdata);
        void *closed_data;

        pthread_mutex_t lock; // of what follows
        ListNode arrived;     // at most HTTP_CONNECTIONS_MAX
        bool ended;           // nobody takes calls any more
        size_t held;          // bytes of answers that were not read to their end
};

// ---- by the thread: http-api.c

// The call is the loop's from here on, or (false) nobody takes it any more.
bool http_api_post(HttpCall *call);
// What it was answered was read, or is not to be.
void http_api_release(HttpApi *a, size_t bytes);

// ---- by the loop: http-thread.c

// On a listening socket, of which it uses a copy. 0 or negative errno.
int http_thread_start(HttpApi *a, int fd, HttpThread **ret);
// The call was answered: it is the thread's again.
void http_thread_take_back(HttpCall *call);
// All calls were taken back. Returns when the thread has ended.
void http_thread_stop(HttpThread *t);
