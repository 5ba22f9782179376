// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The names and addresses with which one may ask for this host over HTTP. A page of somebody else whose name
// suddenly leads here (DNS rebinding) still says its own name in Host, so what is not in this list is not
// answered. Pure; it reads a client's bytes.

#include <stdbool.h>
#include <stddef.h>

enum {
        HTTP_NAME_MAX = 253, // bytes of a name, or of an address as text
        HTTP_NAME_SIZE = HTTP_NAME_MAX + 1,
        HTTP_NAMES_MAX = 64,
};

typedef struct HttpName {
        char text[HTTP_NAME_SIZE]; // as http_name_parse() writes it
} HttpName;

typedef struct HttpNames {
        HttpName names[HTTP_NAMES_MAX];
        size_t n;
} HttpNames;

// A name in lower case and without the dot at its end, or an address as inet_ntop() writes it, so that what
// means the same is the same. `len` bytes; an IPv6 address may stand in brackets. False: it is neither.
bool http_name_parse(const char *text, size_t len, HttpName *ret);
// The name in a header Host: in front of its port, if there is one. False: that is none.
bool http_name_of_host(const char *host, HttpName *ret);
bool http_name_is_address(const HttpName *name);
bool http_names_have(const HttpNames *names, const HttpName *name);
// In the order of their bytes, and each once. False: there is no room.
bool http_names_add(HttpNames *names, const HttpName *name);
bool http_names_are_equal(const HttpNames *a, const HttpNames *b);
// Whether an Origin is that of pages which were asked for by this Host, with or without TLS.
bool http_origin_is(const char *origin, bool tls, const char *host);
