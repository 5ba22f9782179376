// SPDX-License-Identifier: LGPL-2.1-or-later
//
// In memory, and as the text that STATE_DIR/images holds:
//
//      argosy images 1
//      store PATH
//      pulled NUMBER AT_US IMAGE
//      former UNIT IMAGE
//      end SHA-256 OF WHAT STANDS ABOVE
//
// The last line is what tells a whole record from one that is cut or was changed: of a damaged one nothing
// is believed, so no image is taken for one of argosy's. What argosy forgets stays on the host, which is
// the failure that costs the least. The order is that of numbers, not of a clock, which may go back.
//
// What a unit had before is what `undo` of its last change goes back to. That one is kept, so that the way
// back needs no registry, which may have lost the image, or be down when things go wrong. One step, and only
// on the node where the unit is: what a unit had before that, or what a unit that is gone had, is pulled
// again if it comes to that.

#include "image-record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "str.h"

#define FIRST_LINE "argosy images 1\n"
#define LAST_WORD "end "

typedef struct FormerImage {
        char *image;
        char unit[];
} FormerImage;

static void former_free(void *former) {
        free(((FormerImage *) former)->image);
        free(former);
}

void image_record_done(ImageRecord *r) {
        map_done_with(&r->pulled, free);
        map_done_with(&r->former, former_free);
        free(r->store);
        *r = (ImageRecord){};
}

// ------------------------------------------------------------------------------------------------ images

const PulledImage *image_record_find(const ImageRecord *r, const char *image) {
        return map_find_str(&r->pulled, image);
}

void image_record_drop(ImageRecord *r, const char *image) {
        free(map_take_str(&r->pulled, image));
}

static int put(ImageRecord *r, const char *image, uint64_t number, uint64_t at_us) {
        PulledImage *p = MAP_NEW_STR(&r->pulled, PulledImage, name, image);

        if (!p)
                return -ENOMEM;
        p->number = number;
        p->at_us = at_us;
        r->last = MAX_OF(r->last, number);
        return 0;
}

int image_record_add(ImageRecord *r, const char *image, uint64_t at_us) {
        image_record_drop(r, image);
        if (r->pulled.count >= IMAGE_RECORD_MAX)
                image_record_drop(r, image_record_oldest(r, NULL, NULL)->name);
        return put(r, image, r->last + 1, at_us);
}

const PulledImage *image_record_oldest(const ImageRecord *r,
                                       bool (*keeps)(const char *image, void *userdata), void *userdata) {
        const PulledImage *oldest = NULL;

        map_foreach (slot, &r->pulled) {
                const PulledImage *p = slot->value;

                if ((!oldest || p->number < oldest->number) && (!keeps || !keeps(p->name, userdata)))
                        oldest = p;
        }
        return oldest;
}

// ------------------------------------------------------------------------------------------------ units

static int put_former(ImageRecord *r, const char *unit, const char *image) {
        FormerImage *f = NEW_WITH_TEXT(FormerImage, unit, unit);

        if (f)
                f->image = strdup(image);
        if (f && f->image && r->former.count < IMAGE_RECORD_MAX && map_add_str(&r->former, f->unit, f) == 0)
                return 0;
        if (f)
                former_free(f);
        return -ENOMEM;
}

bool image_record_set_former(ImageRecord *r, const char *unit, const char *image) {
        FormerImage *f = map_find_str(&r->former, unit);

        if (image ? f && streq(f->image, image) : !f)
                return false;
        if (f)
                former_free(map_take_str(&r->former, unit));
        if (image)
                (void) put_former(r, unit, image); // else it is pulled again if it comes to that
        return true;
}

bool image_record_is_former(const ImageRecord *r, const char *image) {
        map_foreach (slot, &r->former)
                if (streq(((const FormerImage *) slot->value)->image, image))
                        return true;
        return false;
}

bool image_record_set_store(ImageRecord *r, const char *path) {
        char *copy = !path || (r->store && streq(r->store, path)) ? NULL : strdup(path);

        if (!copy)
                return false;
        free(r->store);
        r->store = copy;
        return true;
}

// ------------------------------------------------------------------------------------------------ the text

static int append_sum(Buf *text, size_t from) {
        char sum[HASH_HEX_SIZE];
        Hash hash = hash_of(text->data + from, text->len - from);

        hash_hex(&hash, HASH_SIZE, sum);
        return buf_printf(text, LAST_WORD "%s\n", sum);
}

int image_record_compose(const ImageRecord *r, Buf *ret) {
        size_t from = ret->len;
        int k = buf_printf(ret, "%s", FIRST_LINE);

        if (k == 0 && r->store)
                k = buf_printf(ret, "store %s\n", r->store);
        map_foreach (slot, &r->pulled) {
                const PulledImage *p = slot->value;

                if (k == 0)
                        k = buf_printf(ret, "pulled %" PRIu64 " %" PRIu64 " %s\n", p->number, p->at_us,
                                       p->name);
        }
        map_foreach (slot, &r->former) {
                const FormerImage *f = slot->value;

                if (k == 0)
                        k = buf_printf(ret, "former %s %s\n", f->unit, f->image);
        }
        return k < 0 ? k : append_sum(ret, from);
}

// Whether the last line has the sum of what stands above.
static bool is_whole(const char *text, size_t len) {
        size_t last = strlen(LAST_WORD) + HASH_HEX_SIZE; // with its line end
        _cleanup_buf_ Buf copy = {};

        return len >= strlen(FIRST_LINE) + last && buf_append(&copy, text, len - last) == 0 &&
               append_sum(&copy, 0) == 0 && copy.len == len && memcmp(copy.data, text, len) == 0 &&
               memcmp(text, FIRST_LINE, strlen(FIRST_LINE)) == 0;
}

static int take_line(ImageRecord *r, char *line) {
        char *words[4] = {}, *rest = line, *word;
        uint64_t number, at_us;
        size_t n = 0;

        if (str_has_prefix(line, "store /"))
                return image_record_set_store(r, strchr(line, '/')) ? 0 : -ENOMEM;
        while (n < ELEMENTSOF(words) && (word = strsep(&rest, " ")))
                words[n++] = word;
        if (n == 4 && !rest && streq(words[0], "pulled") && parse_u64(words[1], UINT64_MAX, &number) &&
            parse_u64(words[2], UINT64_MAX, &at_us))
                return put(r, words[3], number, at_us);
        if (n == 3 && streq(words[0], "former"))
                return put_former(r, words[1], words[2]);
        return -EBADMSG;
}

static int take_lines(ImageRecord *r, char *lines) {
        char *line;
        int k = 0;

        while (k == 0 && (line = strsep(&lines, "\n")) && *line)
                k = take_line(r, line);
        return k == -EEXIST ? -EBADMSG : k;
}

int image_record_parse(const void *text, size_t len, ImageRecord *r) {
        size_t first = strlen(FIRST_LINE), last = strlen(LAST_WORD) + HASH_HEX_SIZE;
        _cleanup_free_ char *lines = NULL;
        int k = -EBADMSG;

        *r = (ImageRecord){};
        if (is_whole(text, len)) {
                lines = strndup((const char *) text + first, len - first - last);
                k = lines ? take_lines(r, lines) : -ENOMEM;
        }
        if (k < 0)
                image_record_done(r);
        return k;
}
