// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is wrong with a host.

#include "leader-core.h"

const char *host_name(const Leader *l, const Host *h);
// It said of itself what is not taken, or cannot have all that it is to have; its row says so until it says
// something else, or this is over.
void host_complain(Leader *l, Host *h, const char *format, ...) _printf_(3, 4);
void host_complaint_end(Host *h);
