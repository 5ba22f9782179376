// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Options of a volume of podman: those that a unit of Quadlet makes it with, and those that one has which is
// there. Pure; see volume-options.c.

#include <stddef.h>

#include "macro.h"

typedef struct VolumeOptions {
        char *name; // "systemd-data"
        char *text; // its driver, and each option, a line each: "local\ndevice=tmpfs\ntype=tmpfs\n"
} VolumeOptions;

void volume_options_done(VolumeOptions *o);
// Of the unit that makes it ("data-volume.service"). 0; -ENOENT: it makes no volume that can be read;
// -ENOMEM. *ret is to be ended.
int volume_options_read(const void *unit, size_t len, VolumeOptions *ret) _warn_unused_;
// Whether a volume that was listed so (likewise, or nothing: there is none) is as it would be made. 0 and
// *ret_why NULL: it is; or a clause that names both. `file`: what says how it would be made. -ENOMEM.
int volume_options_compare(const VolumeOptions *wanted, const char *file, const void *seen, size_t len,
                           char **ret_why) _warn_unused_;
