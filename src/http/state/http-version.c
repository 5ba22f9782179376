// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One response of libmicrohttpd, which counts its own users: each connection that it is sent to. We hold one
// of these as long as somebody of ours has the version; the pieces are freed with the response, when the
// last client has them.
//
// Where there are few pieces, libmicrohttpd sends them as they are; it keeps a list of them for each
// connection, in the memory that this has for its header. With many pieces, or a long header, it is sent a
// block at a time, copied from where the client is.

#include "http-version.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "http-etag.h"
#include "http-headers.h"
#include "macro.h"
#include "sorted.h"

enum { BLOCK_BYTES = 128 * 1024 }; // that are written at a time

struct HttpVersion {
        _Atomic unsigned refs;
        struct MHD_Response *blocks, *whole; // as blocks, and as pieces, if they are few
        _Atomic unsigned responses;          // that there are yet
        EventCursor cursor;
        TextPiece *pieces;
        uint64_t *begins; // of each piece
        size_t n;
        uint64_t bytes;
};

static void on_response_free(void *version) {
        HttpVersion *v = version;

        if (atomic_fetch_sub_explicit(&v->responses, 1, memory_order_acq_rel) > 1)
                return;
        text_pieces_free(v->pieces, v->n);
        free(v->begins);
        free(v);
}

// The piece in which that byte of the document stands.
static size_t find_piece(const HttpVersion *v, uint64_t pos) {
        size_t n = SORTED_COUNT(v->n, i, v->begins[i] <= pos);

        return n > 0 ? n - 1 : 0;
}

static ssize_t on_read(void *version, uint64_t pos, char *buf, size_t max) {
        const HttpVersion *v = version;
        size_t n = 0;

        for (size_t i = find_piece(v, pos); i < v->n && n < max; i++) {
                const TextPiece *p = &v->pieces[i];
                size_t at = (size_t) (pos + n - v->begins[i]), len = MIN_OF(p->len - at, max - n);

                memcpy(buf + n, p->chunk->text + p->offset + at, len);
                n += len;
        }
        return n > 0 ? (ssize_t) n : MHD_CONTENT_READER_END_OF_STREAM;
}

static bool add_headers(const HttpVersion *v, struct MHD_Response *r) {
        char tag[HTTP_ETAG_SIZE];

        http_etag_format(&v->cursor, tag);
        return MHD_add_response_header(r, "Content-Type", "application/json") == MHD_YES &&
               MHD_add_response_header(r, "ETag", tag) == MHD_YES && http_headers_add(r);
}

// Without one there are blocks.
static void make_whole(HttpVersion *v) {
        struct MHD_IoVec vec[HTTP_VERSION_PIECES_MAX];

        if (v->n > HTTP_VERSION_PIECES_MAX)
                return;
        for (size_t i = 0; i < v->n; i++)
                vec[i] =
                        (struct MHD_IoVec){v->pieces[i].chunk->text + v->pieces[i].offset, v->pieces[i].len};
        v->whole = MHD_create_response_from_iovec(vec, (unsigned) v->n, on_response_free, v);
        if (!v->whole)
                return;
        v->responses++;
        if (!add_headers(v, v->whole))
                MHD_destroy_response(TAKE_PTR(v->whole));
}

static bool make_blocks(HttpVersion *v) {
        v->begins = malloc((v->n + 1) * sizeof(*v->begins));
        if (!v->begins)
                return false;
        for (size_t i = 0; i < v->n; i++) {
                v->begins[i] = v->bytes;
                v->bytes += v->pieces[i].len;
        }
        v->blocks = MHD_create_response_from_callback(v->bytes, BLOCK_BYTES, on_read, v, on_response_free);
        return v->blocks;
}

HttpVersion *http_version_new(const EventCursor *cursor, TextPiece *pieces, size_t n) {
        HttpVersion *v = calloc(1, sizeof(*v));

        if (!v) {
                text_pieces_free(pieces, n);
                return NULL;
        }
        atomic_init(&v->refs, 1);
        atomic_init(&v->responses, 1);
        v->cursor = *cursor;
        v->pieces = pieces;
        v->n = n;
        if (!make_blocks(v)) {
                on_response_free(v);
                return NULL;
        }
        if (!add_headers(v, v->blocks)) {
                MHD_destroy_response(v->blocks);
                return NULL;
        }
        make_whole(v);
        return v;
}

HttpVersion *http_version_ref(HttpVersion *v) {
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
        return v;
}

HttpVersion *http_version_unref(HttpVersion *v) {
        struct MHD_Response *whole;

        if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) > 1)
                return NULL;
        whole = v->whole;
        MHD_destroy_response(v->blocks); // with the last of them it is gone
        if (whole)
                MHD_destroy_response(whole);
        return NULL;
}

const EventCursor *http_version_cursor(const HttpVersion *v) {
        return &v->cursor;
}

enum MHD_Result http_version_send(HttpVersion *v, struct MHD_Connection *connection, bool has_room) {
        return MHD_queue_response(connection, MHD_HTTP_OK, v->whole && has_room ? v->whole : v->blocks);
}
