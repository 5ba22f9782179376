// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The answer of a call of rows, by the thread.

#include "http-call.h"

enum MHD_Result http_rows_send(HttpCall *call);
