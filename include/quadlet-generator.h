// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's generator of podman's, which makes a unit of a container's file (quadlet.h). It runs as
// nobody, in a folder that has that one file: a syntax error in one of several would leave it with nothing
// for all of them. Blocks; for a process of its own (helper-verify.h).

#include "quadlet.h"

// Appends what it makes of the content for the unit or template `unit`, as it is installed
// (quadlet_made_compose()), and behind it those of the volumes and networks that it names
// (quadlet_made_next()). 0; -EINVAL and *ret_why: it makes nothing of it, in its own words; -ENOENT: there
// is none that argosy can use; -ETIMEDOUT; other negative errno.
int quadlet_generate(const char *unit, const void *content, size_t len, unsigned timeout_ms, Buf *ret,
                     char **ret_why) _warn_unused_;
// The version of podman, "5.4". Asked once, and again when the generator is another file. False: there is
// none that argosy can use.
bool quadlet_generator_version(char ret[static 16]);
// The path of the generator; NULL: there is none.
const char *quadlet_generator_path(void);
