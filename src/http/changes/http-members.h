// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Members of changes. Pure.

#include "http-parameters.h"

// SHAPE_ANY: nothing is known of it.
HttpShape http_member_shape(const char *verb, const char *name);
