// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Fleet's API, by the thread.

#include "http-call.h"

extern const HttpWork http_fleet_work;

// Its target, when its method is known; 0, or the status with which it is refused.
unsigned http_fleet_parse(HttpCall *call, const char **ret_why);
// Its body, as it has come, and a NUL behind that.
unsigned http_fleet_read(HttpCall *call, char **ret_why);
// The type that its body must have; NULL: any.
const char *http_fleet_type(const HttpCall *call);
enum MHD_Result http_fleet_refuse(HttpCall *call, unsigned status, const char *why, bool last);
