// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      "ZAACAA=="  <->  64 00 02 00  <->  page 2 of 100 rows each
//
// A token says nothing of what there was when it was made: as with fleet, a list that changes between two
// pages may have a row twice, or miss one.

#include "fleet-page.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum { BYTES = 4 };

void fleet_page_format(uint16_t page, char ret[FLEET_PAGE_SIZE]) {
        const uint8_t bytes[6] = {FLEET_PAGE_ROWS, 0, page & 0xff, page >> 8};

        for (size_t i = 0; i < 2; i++) {
                uint32_t three =
                        (uint32_t) bytes[3 * i] << 16 | (uint32_t) bytes[3 * i + 1] << 8 | bytes[3 * i + 2];

                for (size_t k = 0; k < 4; k++)
                        ret[4 * i + k] = digits[three >> (18 - 6 * k) & 63];
        }
        memcpy(ret + 6, "==", 3);
}

static int decode(const char *text, uint8_t ret[BYTES]) {
        uint64_t all = 0;

        if (strlen(text) != FLEET_PAGE_SIZE - 1 || strcmp(text + 6, "==") != 0)
                return -EINVAL;
        for (size_t i = 0; i < 6; i++) {
                const char *digit = strchr(digits, text[i]);

                if (!digit)
                        return -EINVAL;
                all = all << 6 | (uint64_t) (digit - digits);
        }
        all >>= 4; // which mean nothing
        for (size_t i = 0; i < BYTES; i++)
                ret[i] = (uint8_t) (all >> (24 - 8 * i));
        return 0;
}

int fleet_page_parse(const char *text, uint16_t *ret, const char **ret_why) {
        uint8_t bytes[BYTES];
        uint16_t page;

        *ret_why = "malformed page token";
        if (decode(text, bytes) < 0)
                return -EINVAL;
        *ret_why = "token limit must be 100";
        if ((bytes[0] | bytes[1] << 8) != FLEET_PAGE_ROWS)
                return -EINVAL;
        *ret_why = "token page must be greater than zero";
        page = (uint16_t) (bytes[2] | bytes[3] << 8);
        if (page == 0)
                return -EINVAL;
        *ret = page;
        return 0;
}
