// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Containers' files of a request, and what is known of their images, before the request is decided. See
// image-files.c. Private to image-*.c.

#include "cluster-state.h"
#include "content-image.h"
#include "pending-requests.h"
#include "request-deadlines.h"

enum { IMAGE_PIN_HOSTS_MAX = 4 }; // that are asked for one image, with those that are asked again

typedef struct ImagePin {
        size_t file; // of the request
        char *unit;  // whose Image= that is: the file's own name, or that of an instance
        char *image; // "docker.io/library/web:1"
        char digest[CONTENT_IMAGE_DIGEST_SIZE];
        char *why;                           // the registry's words; NULL: none
        bool is_wrong;                       // `why` is not of a registry: the file cannot be as it is
        char *here;                          // those of the last host that could not ask it; NULL: all could
        uint64_t call;                       // 0: nobody is asked
        uint64_t until_us;                   // for so long that host has time
        uint32_t asked[IMAGE_PIN_HOSTS_MAX]; // nodes
        size_t n_asked, n_tries;             // with those that said nothing
        uint32_t silent;                     // a node whose session ended while it was asked last; 0: none
        bool waits_for_attach;               // of that one's host, as nobody else can be asked
} ImagePin;

typedef struct ImagePinning {
        RequestWork work;
        ImagePin *pins;
        size_t n, allocated;
        bool listed; // `pins` are all that the request needs
        RequestDeadline deadline; // of the host that was asked first
        struct Pinned {
                Hash source, content;
        } * pinned; // of the files, those that got a digest
        size_t n_pinned, pinned_allocated;
} ImagePinning;

// Whether hosts are asked for digests, and none of the images can go on; `what` as of request_asks().
bool image_pinning_asks(const PendingRequest *t, const ImagePinning *p, Buf *what);

ImagePinning *image_files_work(
        const PendingRequest *t); // NULL: none of its files has an image to be asked for
int image_files_begin(PendingRequest *t);                // 0 or -ENOMEM
void image_pin_done(ImagePin *p);

// The files of the request, by their numbers.
Argosy__NamedFile *image_files_at(PendingRequest *t, size_t i);
size_t image_files_count(PendingRequest *t);
bool image_files_are_unpinned(PendingRequest *t); // they are taken as they are
// Whether it may bring some that units take.
bool image_files_are_brought(const PendingRequest *t);
// A node that may run `unit` by that file and can be asked, but for some by their numbers; NULL: none.
Node *image_files_find_node(Leader *l, const Argosy__NamedFile *f, const UnitFile *file, const char *unit,
                            const uint32_t *asked, size_t n_asked);
// The file has this content from now on. 0 or -ENOMEM.
int image_files_replace(PendingRequest *t, Argosy__NamedFile *f, const void *content, size_t len);
// A new file. NULL: out of memory.
Argosy__NamedFile *image_files_named(const char *unit, const char *path, const void *content, size_t len);

// Whether a file has a tag without a digest. 1, 0 or -ENOMEM; *ret is to be ended.
int image_files_needs_digest(const char *unit, const void *content, size_t len, ContentImage *ret);
// What the unit has; NULL: nothing.
SpecEntry *image_files_spec(const PendingRequest *t, const char *name);
// The name of a unit of the request, by its number; NULL: there are no more.
const char *image_files_name_at(const PendingRequest *t, size_t i);
// 1: the file has what units have. Of units of one template the first that has it is enough. 0 or -ENOMEM.
int image_files_adopt_one(PendingRequest *t, Argosy__NamedFile *f);
