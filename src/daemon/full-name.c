// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Looks up this host's full name (FQDN) for the names under which HTTP is asked (full-name.h).
//
//      full_name_look_up() -> the resolver, in libuv's pool
//          -> on_name(): d->full_name, and HTTP's names are updated
//
// Only a name that begins with the host name counts, since the resolver may be under somebody else's
// control. A look-up that fails, or has no memory, changes nothing; one that is under way at the end frees
// itself.

#include "full-name.h"

#include <stdlib.h>
#include <strings.h>

#include "daemon-http.h"
#include "daemon.h"
#include "machine.h"
#include "str.h"

static bool is_ours(const char *full, const char *host) {
        size_t len = strlen(host);

        return len > 0 && strncasecmp(full, host, len) == 0 && full[len] == '.' && full[len + 1];
}

static void on_name(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found) {
        Daemon *d = lookup->data;
        char host[MACHINE_NAME_SIZE], before[sizeof(d->full_name)];

        if (d) {
                d->full_name_lookup = NULL;
                memcpy(before, d->full_name, sizeof(before));
                if (status == 0 && found->ai_canonname && machine_name(host) &&
                    is_ours(found->ai_canonname, host) &&
                    str_copy(d->full_name, sizeof(d->full_name), found->ai_canonname) &&
                    !streq(before, d->full_name))
                        daemon_http_update_names(d);
        }
        uv_freeaddrinfo(found);
        free(lookup);
}

void full_name_look_up(Daemon *d) {
        const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
        char host[MACHINE_NAME_SIZE];
        uv_getaddrinfo_t *lookup;

        if (d->full_name_lookup || !machine_name(host))
                return;
        lookup = calloc(1, sizeof(*lookup));
        if (!lookup)
                return;
        lookup->data = d;
        if (uv_getaddrinfo(d->loop, lookup, on_name, host, NULL, &hints) < 0)
                free(lookup);
        else
                d->full_name_lookup = lookup;
}

void full_name_close(Daemon *d) {
        if (!d->full_name_lookup)
                return;
        d->full_name_lookup->data = NULL;
        uv_cancel((uv_req_t *) TAKE_PTR(d->full_name_lookup)); // on_name() is called in any case
}
