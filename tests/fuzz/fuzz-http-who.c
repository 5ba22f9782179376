// SPDX-License-Identifier: LGPL-2.1-or-later

// What of a request over TCP says who asks, and whom: a Host, an Authorization, a Cookie, what a proxy says,
// a target, a login. The first byte says which.

#include <stdlib.h>
#include <string.h>

#include "http-bearer.h"
#include "http-listen.h"
#include "http-login.h"
#include "http-names.h"
#include "http-proxies.h"
#include "macro.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const HttpName *name) {
        HttpName again;

        if (!http_name_parse(name->text, strlen(name->text), &again) || !streq(name->text, again.text))
                abort(); // what it is called is what it is called
}

static void check_host(const char *text) {
        HttpName name;

        if (http_name_of_host(text, &name))
                check_name(&name);
        if (http_name_parse(text, strlen(text), &name))
                check_name(&name);
        if (http_origin_is(text, true, text))
                abort(); // there is a scheme in front of it
}

static void check_listen(const char *text) {
        HttpListen l, again;

        if (http_listen_parse(text, &l) &&
            (!http_listen_parse(l.text, &again) || !streq(l.text, again.text)))
                abort();
}

static void check_cookie(const char *text) {
        char id[HTTP_SECRET_SIZE];

        if (http_cookie_find(text, id) && (strlen(id) != HTTP_SECRET_CHARS || !strstr(text, id)))
                abort();
}

static void check_bearer(const char *text) {
        const char *token = strstr(text, ACCESS_TOKEN_PREFIX);
        Hash proof, other;

        if (http_bearer_proof(text, &proof) &&
            (!token || !access_token_proof(token, &other) || !hash_equal(&proof, &other)))
                abort();
}

static void check_proxies(const char *text) {
        struct sockaddr_storage client = {};
        HttpProxies all = {};
        HttpProxy proxy;
        bool found = false;

        if (http_proxy_parse(text, &proxy) && (proxy.bits == 0 || !http_proxies_add(&all, &proxy)))
                abort(); // nobody trusts everybody
        http_proxies_follow(&all, text, &client, &found);
        if (found && client.ss_family != AF_INET && client.ss_family != AF_INET6)
                abort();
}

static void check_login(char *body, size_t len) {
        const char *why = NULL;
        Hash proof;

        if (http_login_parse(body, len, &proof, &why) < 0 && !why)
                abort();
        for (size_t i = 0; i < len; i++)
                if (body[i])
                        abort(); // a token may stand there yet
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = calloc(1, size + 1);

        if (size == 0 || !text)
                return 0;
        memcpy(text, data + 1, size - 1);
        if (data[0] == 'h')
                check_host(text);
        else if (data[0] == 'l')
                check_listen(text);
        else if (data[0] == 'c')
                check_cookie(text);
        else if (data[0] == 'b')
                check_bearer(text);
        else if (data[0] == 'x')
                check_proxies(text);
        else if (data[0] == 'j')
                check_login(text, size - 1);
        else
                (void) http_target_has_token(text);
        return 0;
}
