// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One response of libmicrohttpd, which counts its own users: each connection that it is sent to. We hold one of these as long as
// somebody of ours has the version; the pieces are freed with the response, when the last client has them.

#include "http-version.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "http-etag.h"
#include "macro.h"

struct HttpVersion {
        _Atomic unsigned refs;
        struct MHD_Response *response;
        EventCursor cursor;
        TextPiece *pieces;
        size_t n, bytes;
};

static void on_response_free(void *version) {
        HttpVersion *v = version;

        text_pieces_free(v->pieces, v->n);
        free(v);
}

static struct MHD_Response *make_response(HttpVersion *v) {
        _cleanup_free_ struct MHD_IoVec *vec = v->n <= INT_MAX ? malloc((v->n + 1) * sizeof(*vec)) : NULL;

        if (!vec)
                return NULL;
        for (size_t i = 0; i < v->n; i++) {
                vec[i] =
                        (struct MHD_IoVec){v->pieces[i].chunk->text + v->pieces[i].offset, v->pieces[i].len};
                v->bytes += v->pieces[i].len;
        }
        return MHD_create_response_from_iovec(vec, (unsigned) v->n, on_response_free, v);
}

static bool add_headers(const HttpVersion *v) {
        char tag[HTTP_ETAG_SIZE];

        http_etag_format(&v->cursor, tag);
        return MHD_add_response_header(v->response, "Content-Type", "application/json") == MHD_YES &&
               MHD_add_response_header(v->response, "ETag", tag) == MHD_YES &&
               MHD_add_response_header(v->response, "Cache-Control", "no-store") == MHD_YES &&
               MHD_add_response_header(v->response, "X-Content-Type-Options", "nosniff") == MHD_YES;
}

HttpVersion *http_version_new(const EventCursor *cursor, TextPiece *pieces, size_t n) {
        HttpVersion *v = calloc(1, sizeof(*v));

        if (!v) {
                text_pieces_free(pieces, n);
                return NULL;
        }
        atomic_init(&v->refs, 1);
        v->cursor = *cursor;
        v->pieces = pieces;
        v->n = n;
        v->response = make_response(v);
        if (!v->response)
                on_response_free(v);
        else if (!add_headers(v))
                MHD_destroy_response(v->response);
        else
                return v;
        return NULL;
}

HttpVersion *http_version_ref(HttpVersion *v) {
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
        return v;
}

HttpVersion *http_version_unref(HttpVersion *v) {
        if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1)
                MHD_destroy_response(v->response);
        return NULL;
}

const EventCursor *http_version_cursor(const HttpVersion *v) {
        return &v->cursor;
}

size_t http_version_bytes(const HttpVersion *v) {
        return v->bytes;
}

enum MHD_Result http_version_send(HttpVersion *v, struct MHD_Connection *connection) {
        return MHD_queue_response(connection, MHD_HTTP_OK, v->response);
}
