// SPDX-License-Identifier: LGPL-2.1-or-later
//
// HTTP for programs: its socket, and the router, which knows the way of a request from there.
//
//      [Http] Listen=unix -> RUNTIME_DIR/http.sock -> HttpApi -> router_submit() -> the leader, wherever it is
//
// The socket is made here and not by systemd. Nothing is to wait in it while argosyd is away: who asks over HTTP, a
// monitor above all, is to be told so. Whoever may use the local socket may use this one: it has the same group and mode
// (socket-access.h changes both). Without it argosyd is as useful as before, so that it cannot be had is a warning.

#include "daemon-http.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon.h"
#include "http-api.h"
#include "local-api.h"
#include "log.h"
#include "paths.h"
#include "router.h"
#include "socket-access.h"
#include "str.h"
#include "stream.h"

static void on_route_answer(const Argosy__Response *response, void *userdata) {
        http_call_respond(userdata, response);
}

// Its route ends with the call, or with all of them (run-end.c), so nobody has to know it.
static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        Daemon *d = userdata;
        Route *route;
        int r = router_submit(d->router, request, author, on_route_answer, call, &route);

        if (r < 0)
                http_call_fail(call, -r, r == -EBUSY ? "too many requests at the moment" : strerror(-r));
        else
                http_call_set_route(call, route);
}

static void on_cancel(void *route, void *userdata) {
        router_cancel(route);
}

static bool is_ready(void *userdata) {
        const Daemon *d = userdata;

        return d->leading || d->known_leader != 0;
}

static const HttpApiOps http_ops = {
        .request = on_request, .cancel = on_cancel, .admits = socket_access_admits, .is_ready = is_ready};

static gid_t group_of_socket(const Daemon *d) {
        _cleanup_free_ char *path = str_printf("%s/argosy.sock", d->paths->runtime_dir);
        struct stat st;

        return path && stat(path, &st) == 0 ? st.st_gid : (gid_t) -1;
}

static int open_socket(Daemon *d, const char *path) {
        int fd, r = listener_bind_unix(path, d->paths->socket_mode, group_of_socket(d), &fd);

        if (r < 0)
                return r;
        r = http_api_new(d->loop, fd, local_api_names(d->api), &http_ops, d, &d->http);
        if (r < 0)
                close(fd);
        return r;
}

void daemon_http_open(Daemon *d) {
        _cleanup_free_ char *path = str_printf("%s/http.sock", d->paths->runtime_dir);
        int r = path ? 0 : -ENOMEM;

        if (r == 0 && !d->config.http)
                (void) unlink(path); // of an argosyd that had one
        else if (r == 0)
                r = open_socket(d, path);
        if (r < 0)
                log_warning("HTTP is not answered, for want of its socket: %s.", strerror(-r));
}
