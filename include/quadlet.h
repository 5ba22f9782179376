// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Quadlet files of podman: what of them argosy takes, and under which names. Pure; any thread.
//
//      web.container       -> web.service
//      work@.container     -> work@.service, of which there are instances: work@7.service
//
// A content is a container's if it has a section [Container]: the log, history and every reader so know it
// without the file's name. It is kept as
// it was handed in. A node makes the unit of it, with the generator of its own podman, each time that it
// writes the unit (unit-verifier.h); what
// comes out is the node's, and says in its first line of which content it was made (quadlet_made_head()).

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "hash.h"

#define QUADLET_CONTAINER ".container"
// The label of a host that can run containers: podman's version, "5.4". Hosts report it; see agent-podman.h.
#define QUADLET_LABEL "podman"

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

// Whether the content is a container's. `content` may be NULL if `len` is 0.
bool quadlet_is(const void *content, size_t len);
// Appends what a node's generator reads: the content with units for containers in [Unit]
// ("After=db.container"), without AutoUpdate=, for the
// image is the cluster's matter. 0 or -ENOMEM.
int quadlet_source(const void *content, size_t len, Buf *ret) _warn_unused_;
// Appends a list of names of units in which "db.container" stands for db.service. 0 or -ENOMEM.
int quadlet_units(const char *words, Buf *ret) _warn_unused_;

// What is worth a warning in a content that is taken. Calls `each` in the order of lines; what that returns
// below 0 ends it and is returned.
int quadlet_warnings(const void *content, size_t len,
                     int (*each)(unsigned line, const char *text, void *userdata),
                     void *userdata) _warn_unused_;

// "5.4" of "podman version 5.4.2" or "5.4.2". False: it is no version, or older than QUADLET_PODMAN_MIN.
bool quadlet_version(const char *text, char ret[static 16]);

// What a node's generator has made, as it is installed: a line that says of which content, behind it the
// unit without its SourcePath=, with which
// systemd would ask for a reload whenever the source is not where it was. `generated`: what the generator
// wrote. 0 or -ENOMEM.
int quadlet_made_compose(const Hash *content, const char *podman, const void *generated, size_t len,
                         Buf *ret) _warn_unused_;
// The content of which an installed file was made. False: it is none that quadlet_made_compose() made, or
// it was changed since.
bool quadlet_made_of(const void *file, size_t len, Hash *ret);
