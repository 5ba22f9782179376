// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The key that somebody gives a request, so that asking again does nothing twice. The cluster knows a
// request by 16 bytes; they are made of the key and of how many requests were sent under it before, so a
// client that sends the same requests again, from any host and by any way, sends the same bytes. Pure.

#include <stdbool.h>
#include <stdint.h>

enum {
        REQUEST_KEY_MAX = 64, // characters
        REQUEST_KEY_ID_SIZE = 16,
};

// 1 to REQUEST_KEY_MAX characters of plain text (str_is_plain()).
bool request_key_is_valid(const char *key);
// nth: 0 is the first that is sent under a valid key.
void request_key_id(const char *key, uint64_t nth, uint8_t ret[REQUEST_KEY_ID_SIZE]);
