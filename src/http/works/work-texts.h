// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Answers that are a word or a text.

#include "http-call.h"

extern const HttpWork http_open_work, http_metrics_work, http_openapi_work, http_login_work;
