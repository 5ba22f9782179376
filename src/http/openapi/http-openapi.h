// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What there is, as OpenAPI 3.1 says such things, for programs that make clients of it, and for tests. It is
// written from the tables by which requests are read and answers are made: paths and parameters of
// http-target.c, verbs of http-write.c and http-verbs.c, rows of row-fields.h, kinds of event-kind.h. Pure.

// The same whenever it is asked. NULL: out of memory. To be freed.
char *http_openapi(void);
