// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where the next page of a list begins, as programs keep it: letters and digits that mean nothing to them,
// and are no cursor. Pure.
//
//      'p', and as lower-case hex:
//      byte     version, 1
//      4 bytes  the question of which it is a page: what it is about and its filters (http-filter.h)
//      8 bytes  the number behind which a list of jobs goes on; 0: it is another list
//      texts    of another list the last unit of the page before, and its node, each with its NUL; of jobs
//               both are empty
//      4 bytes  CRC-32C of all before; all numbers are big-endian
//
// Nothing is kept for it, and it names what is in the log: so it is as good on every host, with every
// leader, and for as long as one likes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unit-name.h"

enum { HTTP_PAGE_NODE_MAX = 255 }; // bytes

// Zeroed is the first page.
typedef struct HttpPage {
        uint64_t before;
        char unit[UNIT_NAME_MAX + 1], node[HTTP_PAGE_NODE_MAX + 1];
} HttpPage;

#define HTTP_PAGE_BYTES_MAX (1 + 4 + 8 + sizeof((HttpPage){}.unit) + sizeof((HttpPage){}.node) + 4)
#define HTTP_PAGE_SIZE (1 + 2 * HTTP_PAGE_BYTES_MAX + 1)

// It is no first one.
void http_page_format(const HttpPage *page, uint32_t question, char ret[HTTP_PAGE_SIZE]);
// 0; -EINVAL: that is no page; -ESTALE: it is one of another question. *ret is untouched then.
int http_page_parse(const char *text, uint32_t question, HttpPage *ret);
// The number of the page's question; false: the text is not a page.
bool http_page_question(const char *text, uint32_t *ret);
// What follows the question mark of a target, if any, and its path, as the header Link has the next page;
// NULL: out of memory.
char *http_page_link(const char *target, const char *page);
