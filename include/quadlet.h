// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Quadlet files of podman: what of them argosy takes, and under which names. Pure; any thread.
//
//      web.container       -> web.service
//      work@.container     -> work@.service, of which there are instances: work@7.service
//
// A content is a container's if it has a section [Container]: the log, history and every reader so know it
// without the file's name. It is kept as it was handed in. A node makes the unit of it, with the generator
// of its own podman, each time that it writes the unit (unit-verifier.h); what comes out is the node's, and
// says in its first line of which content it was made (quadlet_made_head()).

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "hash.h"
#include "unit-parts.h"

#define QUADLET_CONTAINER ".container"
#define QUADLET_VOLUME ".volume"
#define QUADLET_NETWORK ".network"
#define QUADLET_NETWORK_UNIT "-network.service" // in its place in the name of the unit that makes it
// The label of a host that can run containers: podman's version, "5.4". Hosts report it; see agent-podman.h.
#define QUADLET_LABEL "podman"
// The label of a network that says of which file it was made: quadlet_beside_hash(), in hexadecimal digits.
#define QUADLET_NETWORK_OF "argosy.file"

enum { QUADLET_PODMAN_MIN = 5 }; // major version: templates, drop-ins and Notify=healthy

// Whether a file of this name, without a folder, makes a unit that argosy can have.
bool quadlet_is_container(const char *file);
// "web.container" -> "web.service", whatever stands before it; of any other word a copy. NULL: out of
// memory.
char *quadlet_unit(const char *file);
// The same in place: the name gets shorter.
void quadlet_unit_in_place(char *file);
// "web.service" -> "web.container". `unit` is a service's or its template's. NULL: out of memory.
char *quadlet_file(const char *unit);
// "work@7.container" -> "work@.container", and so with files of units; of what is no instance's file NULL
// in *ret. 0 or -ENOMEM.
int quadlet_file_template(const char *file, char **ret) _warn_unused_;

// Files that a container names and that go with it, as parts of its content (unit-parts.h): volumes and
// networks (Volume=data.volume, Network=front.network), and another container whose network it has
// (Network=db.container). Whether a file of a name of len bytes can be one.
bool quadlet_is_beside(const char *name, size_t len);
// False: none of the lines of the content can begin such a part.
bool quadlet_may_have_beside(const void *content, size_t len);
// The unit that is made of it: "data.volume" -> "data-volume.service". NULL: of a container's file, which is
// placed by itself, none; or out of memory.
char *quadlet_beside_unit(const char *name, size_t len);
// Calls `each` for every file that the container in `content` names, whether it came or not, each once. What
// that returns but 0 ends it and is returned. 0 or -ENOMEM.
int quadlet_beside_each(const void *content, size_t len, int (*each)(const char *file, void *userdata),
                        void *userdata) _warn_unused_;
// Equal if two files say the same: whether the last line ends does not matter.
Hash quadlet_beside_hash(const UnitPart *part);
// A volume that is there keeps what it was made with. 0; -EINVAL and in *ret_why a sentence about one of
// which the next content of a unit has another file than the content that it has; -ENOMEM.
int quadlet_beside_check_next(const void *content, size_t len, const void *next, size_t next_len,
                              char **ret_why);
// The part of that name.
bool quadlet_beside_find(const void *content, size_t len, const char *file, UnitPart *ret);
// Whether the content has a file of that name, and another one than that of which this is the hash.
bool quadlet_beside_is_other(const void *content, size_t len, const char *file, const Hash *of);
// The next of names with blanks between them, as UnitFile.networks has them; *at: behind it, at first the
// text, which may be NULL. False: there is none.
bool quadlet_beside_names_next(const char **at, const char **ret, size_t *ret_len);
// Calls `each` for every network of which the next content has another file than the content; what only one
// of them names is no change. What `each` returns but 0 ends it and is returned. 0 or -ENOMEM.
int quadlet_networks_changed(const void *content, size_t len, const void *next, size_t next_len,
                             int (*each)(const char *file, const UnitPart *part, void *userdata),
                             void *userdata) _warn_unused_;
// Appends the content with the lines of `part` for what it has of that name. 0; -ENOENT: it has none;
// -ENOMEM.
int quadlet_beside_put(const void *content, size_t len, const char *file, const UnitPart *part,
                       Buf *ret) _warn_unused_;

// Calls `each` for every volume with a name that the container `unit` has, as podman calls it. What that
// returns but 0 ends it and is returned. 0 or -ENOMEM.
int quadlet_volumes(const char *unit, const void *content, size_t len,
                    int (*each)(const char *volume, void *userdata), void *userdata) _warn_unused_;

// What podman calls the container of the unit: a new string; NULL in *ret: only a node knows. 0 or -ENOMEM.
int quadlet_container_name(const char *unit, const void *content, size_t len, char **ret) _warn_unused_;

// Whether the content is a container's. `content` may be NULL if `len` is 0.
bool quadlet_is(const void *content, size_t len);
// Whether a text is what a generator made of one.
bool quadlet_is_made(const void *content, size_t len);
// Appends lines that bring what a container has by File= and Secret= into it, for the copy that a generator
// reads: read-only Volume= of the unit's folders on the host, and $CREDENTIALS_DIRECTORY and $ARGOSY_FILES.
// 0 or -ENOMEM.
int quadlet_binds(const void *content, size_t len, Buf *ret) _warn_unused_;
// Appends what a node's generator reads: the content with units for containers in [Unit]
// ("After=db.container"), without AutoUpdate=, for the image is the cluster's matter, and with `image` in
// place of Image=, pulled if it is missing (content_image_for_generator()); NULL: as it is. 0 or -ENOMEM.
int quadlet_source(const void *content, size_t len, const char *image, Buf *ret) _warn_unused_;
// Appends a list of names of units in which "db.container" stands for db.service, and "data.volume" for
// data-volume.service. 0 or -ENOMEM.
int quadlet_units(const char *words, Buf *ret) _warn_unused_;

// What is worth a warning in a content that is taken. Calls `each` in the order of lines; what that returns
// below 0 ends it and is returned.
int quadlet_warnings(const void *content, size_t len,
                     int (*each)(unsigned line, const char *text, void *userdata),
                     void *userdata) _warn_unused_;

// "5.4" of "podman version 5.4.2" or "5.4.2". False: it is no version, or older than QUADLET_PODMAN_MIN.
bool quadlet_version(const char *text, char ret[static 16]);

// What a node's generator has made, as it is installed: a line that says of which content, behind it the
// unit without its SourcePath=, with which systemd would ask for a reload whenever the source is not where
// it was. `generated`: what the generator wrote. 0 or -ENOMEM.
int quadlet_made_compose(const Hash *content, const char *podman, const void *generated, size_t len,
                         Buf *ret) _warn_unused_;
// All that is made of one content is one text: the unit, and behind each NUL the name of a unit that it
// needs beside it, or the text of that. Appends such a one. 0 or -ENOMEM.
int quadlet_made_add(Buf *made, const char *name, const void *unit, size_t len) _warn_unused_;
// The bytes of the unit itself.
size_t quadlet_made_len(const void *made, size_t len);

typedef struct QuadletMade { // points into what was made
        const char *name;
        const void *unit;
        size_t len;
} QuadletMade;

// The units beside it, one after the other: *at begins as quadlet_made_len().
bool quadlet_made_next(const void *made, size_t len, size_t *at, QuadletMade *ret);
// The content of which an installed file was made. False: it is none that quadlet_made_compose() made, or
// it was changed since.
bool quadlet_made_of(const void *file, size_t len, Hash *ret);
