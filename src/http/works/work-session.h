// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sessions of browsers, by the thread.

#include "http-call.h"

// id NULL: there is no session any more.
enum MHD_Result http_send_cookie(HttpCall *call, const char *id);
// Its session has ended from now on; nobody has to be asked for that.
enum MHD_Result http_send_logout(HttpCall *call);
