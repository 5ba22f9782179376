// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The properties of a unit in the words of `systemctl show`. Pure.

#include <stddef.h>
#include <systemd/sd-bus.h>

#include "argosy.pb-c.h"

enum {
        PROPERTY_TEXT_MAX = 4096, // bytes of one that are shown
        PROPERTIES_MAX = 2048,    // and of one unit so many: systemd has some 350
};

// The properties in a reply to GetAll, as `systemctl show` prints them.
int properties_format(sd_bus_message *reply, Argosy__Response__Property ***ret, size_t *ret_n);
void properties_free(Argosy__Response__Property **properties, size_t n);
