// SPDX-License-Identifier: LGPL-2.1-or-later
//
// dashboard: serves the cluster's web page on 127.0.0.1 to a user with a shell on one of its hosts.
//
//      proxy_try(): argosyd's http.sock -> proxy_listen() -> the address with a secret is printed
//          -> proxy_run()
//
// It runs until Ctrl-C; the first browser that shows the secret gets in (door.h).
// Failures: an exit code after its message.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "proxy.h"
#include "str.h"
#include "verbs.h"

#define HTTP_SOCKET "http.sock" // beside argosyd's own

// The path of http.sock beside the socket of the argosyd that is asked. NULL: out of memory.
static char *find_socket(const Ctl *ctl) {
        const char *slash = strrchr(ctl->client.path, '/');

        return str_printf("%.*s" HTTP_SOCKET, slash ? (int) (slash - ctl->client.path + 1) : 0,
                          ctl->client.path);
}

static int fail_to_reach(Ctl *ctl, const char *path, int error) {
        char who[128];

        if (error == -EACCES || error == -EPERM) {
                client_say_who_may(path, who, sizeof(who));
                return ctl_fail(ctl, "dashboard: cannot reach %s: %s; %s", path, strerror(-error), who);
        }
        return ctl_fail(
                ctl, "dashboard: cannot reach %s: %s; is argosyd running, and Listen= of [Http] not none?",
                path, strerror(-error));
}

static int serve(Ctl *ctl, int listener, uint16_t port, const char *path) {
        Door door;
        int r;

        door_init(&door);
        fprintf(ctl->term.out, "http://%s:%u/?secret=%s\n", door.name, port, door.secret);
        fflush(ctl->term.out);
        if (ctl->term.err_tty && !ctl->opt.given[OPT_QUIET])
                fprintf(ctl->term.err,
                        "Open this in a browser; it is good for the first one. A browser that does not find "
                        "the name takes\n"
                        "127.0.0.1 in its place. From another machine: ssh -L %u:127.0.0.1:%u HOST. Ctrl-C "
                        "ends it.\n",
                        port, port);
        r = proxy_run(&door, listener, path);
        return r < 0 ? ctl_fail(ctl, "dashboard: %s", strerror(-r)) : EXIT_OK;
}

int verb_dashboard(Ctl *ctl, char **args, size_t n) {
        _cleanup_free_ char *path = find_socket(ctl);
        uint16_t port = ctl->opt.port;
        int r, listener, code;

        if (!path)
                return ctl_oom(ctl);
        r = proxy_try(path);
        if (r < 0)
                return fail_to_reach(ctl, path, r);
        listener = proxy_listen(&port);
        if (listener < 0)
                return ctl_fail(ctl, "dashboard: cannot listen on 127.0.0.1, port %u: %s", port,
                                strerror(-listener));
        code = serve(ctl, listener, port, path);
        close(listener);
        return code;
}
