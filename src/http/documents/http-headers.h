// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What stands above every answer over HTTP.

#include <microhttpd.h>
#include <stdbool.h>

// What every answer says of itself: that it is of this moment and what it says it is, and that no page of
// others shows it as a part of itself.
bool http_headers_add(struct MHD_Response *r);
