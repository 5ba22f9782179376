// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls of GET /v1/events that ask the same: one of them asks the leader, and the answer serves all.
//
//      http_alike_join(): the first begins a group and asks -> the others join
//          -> http_alike_take() at the answer
//      http_alike_leave(): if the asking call goes, the next one of the group asks
//
// A group is found by the packed question, the author and the cursor. Without memory a call asks alone.

#include "work-alike.h"

#include <errno.h>

#include "macro.h"
#include "message.h"

struct HttpAlike {
        HttpCall *asks;
        ListNode others;
        Buf key; // in HttpApi.alike
};

static int append_packed(const ProtobufCMessage *m, Buf *out) {
        size_t len = protobuf_c_message_get_packed_size(m);

        if (!buf_reserve(out, len))
                return -ENOMEM;
        out->len += protobuf_c_message_pack(m, out->data + out->len);
        return 0;
}

static int make_wanted(HttpCall *call, Buf *out) {
        Argosy__Request *q =
                http_resource_events(&call->target, "", ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        int r = q ? append_packed(&q->base, out) : -ENOMEM;

        message_free(q);
        return r < 0 ? r : append_packed(&call->author->base, out);
}

// The key of the call's group. False: out of memory.
static bool make_key(HttpCall *call, Buf *ret) {
        Buf *wanted = &call->events.wanted;

        if (wanted->len == 0 && make_wanted(call, wanted) < 0) {
                buf_done(wanted);
                return false;
        }
        return buf_append(ret, wanted->data, wanted->len) == 0 &&
               buf_append(ret, &(char){call->events.knows_nobody}, 1) == 0 &&
               buf_append(ret, call->stream.cursor, strlen(call->stream.cursor)) == 0;
}

static void begin(HttpCall *call, Buf *key) {
        HttpAlike *g = calloc(1, sizeof(*g));

        if (!g)
                return;
        *g = (HttpAlike){.asks = call, .key = *key};
        list_init(&g->others);
        if (map_add(&call->api->alike, g->key.data, g->key.len, g) < 0) {
                free(g);
                return;
        }
        *key = (Buf){};
        call->events.of = g;
}

bool http_alike_join(HttpCall *call) {
        _cleanup_buf_ Buf key = {};
        HttpAlike *g;

        if (!make_key(call, &key))
                return false;
        g = map_find(&call->api->alike, key.data, key.len);
        if (!g) {
                begin(call, &key);
                return false;
        }
        list_append(&g->others, &call->events.link);
        call->events.of = g;
        return true;
}

static void group_free(HttpApi *a, HttpAlike *g) {
        (void) map_take(&a->alike, g->key.data, g->key.len);
        buf_done(&g->key);
        free(g);
}

HttpCall *http_alike_leave(HttpCall *call) {
        HttpAlike *g = TAKE_PTR(call->events.of);

        if (!g)
                return NULL;
        if (g->asks != call) {
                list_unlink(&call->events.link);
                return NULL;
        }
        if (list_is_empty(&g->others)) {
                group_free(call->api, g);
                return NULL;
        }
        g->asks = CONTAINER_OF(g->others.next, HttpCall, events.link);
        list_unlink(&g->asks->events.link);
        return g->asks;
}

void http_alike_take(HttpCall *call, ListNode *to) {
        HttpAlike *g = call->events.of;

        if (!g || g->asks != call)
                return;
        call->events.of = NULL;
        list_splice(to, &g->others);
        list_foreach (n, to)
                CONTAINER_OF(n, HttpCall, events.link)->events.of = NULL;
        group_free(call->api, g);
}
