// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a list of fleet's API goes on: {limit, page}, two numbers of 16 bits each, the lower byte first, in
// base64 for URLs. Pure.

#include <stddef.h>
#include <stdint.h>

enum {
        FLEET_PAGE_ROWS = 100, // of each page: the only limit that a token may have
        FLEET_PAGE_SIZE = 9,   // bytes of a token
};

void fleet_page_format(uint16_t page, char ret[FLEET_PAGE_SIZE]);
// 0, or -EINVAL and *ret_why, borrowed. Pages are numbered from 1.
int fleet_page_parse(const char *text, uint16_t *ret, const char **ret_why);
