// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which images argosy has pulled to this host, since it removes no others; and which image a unit here had
// before the one that it has. See image-record.c.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "map.h"

enum {
        IMAGE_RECORD_MAX = 4096, // images, and likewise units; of more the oldest are forgotten, and stay
        IMAGE_RECORD_BYTES_MAX = 8 << 20,
};

typedef struct ImageRecord { // zero-initialised: nothing was pulled
        Map pulled;          // PulledImage, by its name
        Map former;          // names of images, by that of the unit
        uint64_t last;       // the highest PulledImage.number
        char *store;         // podman's list of its images, a file; NULL: not known
} ImageRecord;

typedef struct PulledImage {
        uint64_t number; // of the pull: the lowest was pulled first
        uint64_t at_us;  // when, by this host's clock: for people
        char name[];     // "docker.io/library/web@sha256:..."
} PulledImage;

void image_record_done(ImageRecord *r);
// Reads what image_record_compose() has made. 0; -EBADMSG: it is damaged, and *r is as if nothing was
// pulled; -ENOMEM likewise.
int image_record_parse(const void *text, size_t len, ImageRecord *r) _warn_unused_;
int image_record_compose(const ImageRecord *r, Buf *ret) _warn_unused_; // appends; 0 or -ENOMEM

const PulledImage *image_record_find(const ImageRecord *r, const char *image);
// 0 or -ENOMEM; then it is not argosy's to remove.
int image_record_add(ImageRecord *r, const char *image, uint64_t at_us) _warn_unused_;
void image_record_drop(ImageRecord *r, const char *image);
// The image that the unit had before; NULL: it is gone. Whether that changed anything.
bool image_record_set_former(ImageRecord *r, const char *unit, const char *image);
// Whether that changed anything.
bool image_record_set_store(ImageRecord *r, const char *path);
bool image_record_is_former(const ImageRecord *r, const char *image);
// The one that was pulled first of those that `keeps` does not keep; NULL: there is none.
const PulledImage *image_record_oldest(const ImageRecord *r,
                                       bool (*keeps)(const char *image, void *userdata), void *userdata);
