// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The image of a container's content (quadlet.h), and the digest that its tag was resolved to. Pure; any
// thread.
//
// A tag is resolved once, when the cluster takes the content over. The digest is part of the content from
// then on, as a drop-in that argosy writes:
//
//      # web.container.d/~0-image.conf
//      [X-Argosy]
//      ImagePin=docker.io/library/web:1@sha256:(64 hex digits)
//
// So the hash of the content is that of its image, too, and whoever knows the content knows the image:
// hosts, history, undo, every later leader. The content without that drop-in is its source: what somebody
// handed in. A pin counts only for the image that it names; beside another Image= there is none.

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "unit-parts.h"

#define CONTENT_IMAGE_DROP_IN "~0-image.conf" // sorts before CARRIED_FILES_DROP_IN, which has to be the last
#define CONTENT_IMAGE_DIGEST "sha256:"

enum { CONTENT_IMAGE_DIGEST_SIZE = 7 + 64 + 1, CONTENT_IMAGE_NAME_MAX = 512 };

typedef enum ContentImageKind {
        CONTENT_IMAGE_NONE,   // it is no container's content
        CONTENT_IMAGE_LOCAL,  // no registry has it: localhost/, an id, Rootfs=
        CONTENT_IMAGE_DIGEST_GIVEN, // Image= names a digest itself
        CONTENT_IMAGE_TAG,    // a registry knows what it is
        CONTENT_IMAGE_VARIES, // likewise, and each instance of the template has one of its own
} ContentImageKind;

typedef struct ContentImage {
        ContentImageKind kind;
        char *name; // "docker.io/library/web:1", specifiers filled in but for VARIES; NULL: none
        char digest[CONTENT_IMAGE_DIGEST_SIZE]; // that it runs with, "sha256:..."; "": not pinned
} ContentImage;

void content_image_done(ContentImage *i);
#define _cleanup_content_image_ _cleanup_(content_image_done)

// Of the unit or template `unit`. *ret is to be ended, also after an error. 0 or -ENOMEM.
int content_image_read(const char *unit, const void *content, size_t len, ContentImage *ret) _warn_unused_;
// Whether it is that drop-in.
bool content_image_is_pin(const UnitPart *part);
// Whether it is "sha256:" and 64 hex digits.
bool content_image_digest_is_valid(const char *digest);
// "docker.io/library/web:1" with a digest -> "docker.io/library/web@sha256:...". NULL: out of memory.
char *content_image_pulled(const char *name, const char *digest);
// Both: what podman is to have for the unit or template `unit`. 0 and *ret, NULL: nothing that a registry
// has, or no digest; -ENOMEM.
int content_image_of(const char *unit, const void *content, size_t len, char **ret) _warn_unused_;

// Appends what a node's generator reads for the unit or template `unit` (quadlet_source()), with the digest
// that its image is pinned to in place of a tag. 0 or -ENOMEM.
int content_image_for_generator(const char *unit, const void *content, size_t len, Buf *ret) _warn_unused_;
// Appends the content of the unit or template `unit` with this pin in place of any other. 0; -EINVAL and
// *ret_why, a sentence: it has no room for one; -ENOMEM.
int content_image_pin(const char *unit, const void *content, size_t len, const char *name,
                      const char *digest, Buf *ret, char **ret_why) _warn_unused_;
// Appends its source. 0 or -ENOMEM.
int content_image_unpin(const void *content, size_t len, Buf *ret) _warn_unused_;
// Whether two contents have the same source. 1, 0 or -ENOMEM.
int content_image_same_source(const void *a, size_t a_len, const void *b, size_t b_len) _warn_unused_;
