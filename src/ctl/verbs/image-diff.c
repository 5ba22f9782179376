// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What differs between two contents of a container, as a reader of its file knows it:
//
//      both without what argosy has noted of the image (content-image.h) -> diff_append()
//          -> "web.service: image registry/x:1  sha256:0123456789ab -> sha256:cdef01234567"
//
// Contents that are no containers' have no such line. A digest is shortened to what people compare by eye;
// `status` and `cat` have it whole. Nothing fails but for memory.

#include "image-diff.h"

#include <string.h>

#include "content-image.h"
#include "str.h"

enum { SHOWN = 7 + 12 }; // of "sha256:" and 64 digits

typedef struct Image {
        ContentImage is;
        bool there; // a content
} Image;

static int read_image(const char *unit, const DiffSide *side, Image *ret) {
        ret->there = side->data && side->len > 0;
        return content_image_read(unit, side->data, side->len, &ret->is);
}

static int append_digest(const ContentImage *image, bool pending, Buf *out) {
        if (*image->digest)
                return buf_printf(out, "%.*s", SHOWN, image->digest);
        return buf_printf(out, "%s",
                          pending && image->kind == CONTENT_IMAGE_TAG ? "(its registry is asked)"
                                                                      : "(not pinned)");
}

static int append_side(const ContentImage *image, bool pending, Buf *out) {
        return buf_printf(out, "%s  ", image->name) ?: append_digest(image, pending, out);
}

// Of one that is made what it has, if that is known; of one that goes nothing.
static int append_made(const char *unit, const ContentImage *image, Buf *out) {
        if (!image->name || !*image->digest)
                return 0;
        return buf_printf(out, "%s: image ", unit)
                ?: append_side(image, false, out)
                ?: buf_printf(out, "\n");
}

static int append_change(const char *unit, const ContentImage *from, const ContentImage *to, bool pending,
                         Buf *out) {
        bool same = streq(from->name, to->name);
        int r;

        if (same && streq(from->digest, to->digest))
                return 0;
        r = buf_printf(out, "%s: image ", unit) ?: append_side(from, false, out) ?: buf_printf(out, " -> ");
        if (r == 0)
                r = same ? append_digest(to, pending, out) : append_side(to, pending, out);
        return r ?: buf_printf(out, "\n");
}

static int append_images(const char *unit, const DiffSide *a, const DiffSide *b, bool pending, Buf *out) {
        Image from = {}, to = {};
        int r = read_image(unit, a, &from) ?: read_image(unit, b, &to);

        if (r == 0 && to.is.name && from.is.name)
                r = append_change(unit, &from.is, &to.is, pending, out);
        else if (r == 0 && !from.there)
                r = append_made(unit, &to.is, out);
        content_image_done(&from.is);
        content_image_done(&to.is);
        return r;
}

int image_diff_append(const char *unit, const DiffSide *from, const DiffSide *to, bool pending,
                      const TextStyle *style, bool clean, Buf *out) {
        _cleanup_buf_ Buf a = {}, b = {};
        int r = content_image_unpin(from->data, from->len, &a) ?: content_image_unpin(to->data, to->len, &b);

        if (r == 0)
                r = diff_append(&(DiffSide){from->name, a.data, a.len}, &(DiffSide){to->name, b.data, b.len},
                                style, clean, out);
        return r < 0 ? r : append_images(unit, from, to, pending, out);
}
