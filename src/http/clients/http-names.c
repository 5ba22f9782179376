// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Addresses are compared as text, but never as somebody wrote it: [::0001] and ::1 are one. What looks like
// neither name nor address (a blank, an @, a second port, bytes that are no ASCII) is refused and not
// repaired: a proxy between us and the client may have read it otherwise.

#include "http-names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "macro.h"
#include "str.h"

enum { PORT_MAX = 65535 };

static bool parse_address(int family, const char *text, HttpName *ret) {
        struct in6_addr address;

        return inet_pton(family, text, &address) == 1 &&
               inet_ntop(family, &address, ret->text, sizeof(ret->text));
}

static bool is_of_name(char c) {
        return isascii(c) && (isalnum(c) || c == '-' || c == '_' || c == '.');
}

bool http_name_parse(const char *text, size_t len, HttpName *ret) {
        char copy[HTTP_NAME_SIZE];

        if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
                len -= 2;
                text++;
                if (len > HTTP_NAME_MAX || memchr(text, 0, len))
                        return false;
                str_fit(copy, sizeof(copy), "%.*s", (int) len, text);
                return parse_address(AF_INET6, copy, ret);
        }
        if (len == 0 || len > HTTP_NAME_MAX || memchr(text, 0, len))
                return false;
        str_fit(copy, sizeof(copy), "%.*s", (int) len, text);
        if (parse_address(AF_INET, copy, ret) || parse_address(AF_INET6, copy, ret))
                return true;
        for (size_t i = 0; i < len; i++) {
                if (!is_of_name(text[i]))
                        return false;
                ret->text[i] = (char) tolower(text[i]);
        }
        if (len > 1 && text[len - 1] == '.')
                len--;
        ret->text[len] = 0;
        return ret->text[0] != '.' && ret->text[len - 1] != '.' && !strstr(ret->text, "..");
}

// An IPv6 address without brackets has no port that one could tell from it, so there is no such Host.
bool http_name_of_host(const char *host, HttpName *ret) {
        const char *end = *host == '[' ? strchr(host, ']') : strchr(host, ':');
        size_t len = end ? (size_t) (end - host) + (*host == '[') : strlen(host);
        uint64_t port;

        if (*host == '[' && !end)
                return false;
        if (host[len] && (host[len] != ':' || !parse_u64(host + len + 1, PORT_MAX, &port)))
                return false;
        return http_name_parse(host, len, ret);
}

bool http_name_is_address(const HttpName *name) {
        struct in6_addr address;

        return inet_pton(AF_INET, name->text, &address) == 1 ||
               inet_pton(AF_INET6, name->text, &address) == 1;
}

bool http_names_have(const HttpNames *names, const HttpName *name) {
        for (size_t i = 0; i < names->n; i++)
                if (streq(names->names[i].text, name->text))
                        return true;
        return false;
}

bool http_names_add(HttpNames *names, const HttpName *name) {
        size_t at = 0;

        if (http_names_have(names, name))
                return true;
        if (names->n == HTTP_NAMES_MAX)
                return false;
        while (at < names->n && strcmp(names->names[at].text, name->text) < 0)
                at++;
        memmove(&names->names[at + 1], &names->names[at], (names->n - at) * sizeof(*names->names));
        names->names[at] = *name;
        names->n++;
        return true;
}

bool http_names_are_equal(const HttpNames *a, const HttpNames *b) {
        for (size_t i = 0; i < a->n && i < b->n; i++)
                if (!streq(a->names[i].text, b->names[i].text))
                        return false;
        return a->n == b->n;
}

bool http_origin_is(const char *origin, bool tls, const char *host) {
        const char *scheme = tls ? "https://" : "http://";

        return str_has_prefix(origin, scheme) && strcasecmp(origin + strlen(scheme), host) == 0;
}
