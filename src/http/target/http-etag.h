// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Entity tags: the cursor of the document, in quotes; of a list what stands further below. Pure; it reads a
// client's bytes.

#include <stdbool.h>

#include "event-cursor.h"

enum { HTTP_ETAG_SIZE = EVENT_CURSOR_SIZE + 2 };

void http_etag_format(const EventCursor *c, char ret[HTTP_ETAG_SIZE]);
// Whether a cursor is at that place or behind it: who was told everything up to it knows all that was so at
// `place`.
bool http_etag_covers(const EventCursor *cursor, const EventCursor *place);
// Whether one of the tags of an If-None-Match is of the document at that place. "*" is of no document in
// particular, and matches none: who has any at all is not to be told that it is the newest.
bool http_etag_matches(const char *header, const EventCursor *place);

// A list's entity tag: the leader's tag, which is the same for all lists, and a number of the target. No
// cursor.
enum { HTTP_LIST_ETAG_SIZE = 128 };

// False: that is no tag.
bool http_list_etag_format(const char *tag, const char *target, char ret[HTTP_LIST_ETAG_SIZE]);
// Those of the header that are of that target, as the leader knows them, with spaces between them; "": none.
// NULL: out of memory.
char *http_list_etags(const char *header, const char *target);
