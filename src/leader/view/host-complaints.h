// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is wrong with a host.

#include "leader-core.h"

const char *host_name(const Leader *l, const Host *h);
// It said of itself what is not taken; its row says so until it says something else.
void host_complain(Leader *l, Host *h, const char *format, ...) _printf_(3, 4);
