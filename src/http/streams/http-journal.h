// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Lines of a unit's journal as they are streamed: as they are, or as JSON, one object on a line. Pure.
//
//      Nov 21 02:10:56 n1 web[17]: hello       {"unit":"web.service","node":"n1","line":"Nov 21 02:10:56 n1
//                                              web[17]: hello"}
//
// "node" is missing where a host answers that knows no leader, of its own units.

#include "http-body.h"
#include "http-stream-format.h"

// As the header Accept wants it; NULL: it has no wishes.
HttpStreamFormat http_journal_format(const char *accept);
// What one answer has: lines of that unit, or why one of its nodes has none (any more). 0, -EBADMSG: it is
// none, or -ENOMEM.
int http_journal_append(const HttpPart *part, const char *unit, HttpStreamFormat format, Buf *out);
