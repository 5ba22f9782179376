// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A body with many operations.

#include "http-call.h"

extern const HttpWork http_bulk_work;
