// SPDX-License-Identifier: LGPL-2.1-or-later
//
// HTTP for programs: its socket, and the router, which knows the way of a request from there.
//
//      [Http] Listen=unix         -> RUNTIME_DIR/http.sock -> HttpApi -> router_submit() -> the leader,
//                                 wherever it is
//             Listen=ADDRESS:PORT -> TCP, mostly with TLS  ->
//      [Fleet] Listen=PATH        -> that unix socket        -> fleet's API, by the same way
//                     ADDRESS:PORT       over TCP with TLS, to who shows a certificate that stands for a
//                                        token
//
// The socket is made here and not by systemd. No request is to wait in it while argosyd is away: a client of
// HTTP, a monitor above all, has to see that. Users that may use the local socket may use this one: it has
// the same group and mode (socket-access.h changes both). If it cannot be made that is a warning only, as
// argosyd works without it.
//
// Over TCP who asks shows a token, and we show a certificate: the administrator's, or our own, which is made
// anew here when it ends soon or Names= has changed. Without any there are no handshakes, and nothing is
// said in clear text instead.

#include "daemon-http.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "daemon.h"
#include "full-name.h"
#include "http-api.h"
#include "http-tls.h"
#include "local-api.h"
#include "log.h"
#include "machine.h"
#include "paths.h"
#include "router.h"
#include "router-lead.h"
#include "router-dispatch.h"
#include "socket-access.h"
#include "str.h"
#include "stream.h"
#include "web-certificate.h"

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
                http_call_fail(call, -r, strerror(-r));
        else
                http_call_set_route(call, route);
}

static void on_cancel(void *route, void *userdata) {
        router_cancel(route);
}

static void on_taken(void *route, void *userdata) {
        router_taken(route);
}

static bool is_ready(void *userdata) {
        const Daemon *d = userdata;

        return (d->leading || d->known_leader != 0) && !router_leader_is_silent(d->router);
}

static bool on_admits(const Argosy__Author *author, void *userdata) {
        return socket_access_admits(author, userdata) != LOCAL_API_MAY_NOTHING;
}

static const HttpApiOps http_ops = {
        .request = on_request,
        .cancel = on_cancel,
        .taken = on_taken,
        .admits = on_admits,
        .is_ready = is_ready,
};

static gid_t group_of_socket(const Daemon *d) {
        _cleanup_free_ char *path = str_printf("%s/argosy.sock", d->paths->runtime_dir);
        struct stat st;

        return path && stat(path, &st) == 0 ? st.st_gid : (gid_t) -1;
}

static int open_unix(Daemon *d, int *ret_fd) {
        _cleanup_free_ char *path = str_printf("%s/http.sock", d->paths->runtime_dir);

        *ret_fd = -1;
        if (!path)
                return -ENOMEM;
        if (d->config.http)
                return listener_bind_unix(path, d->paths->socket_mode, group_of_socket(d), ret_fd);
        (void) unlink(path); // of an argosyd that had one
        return 0;
}

// ---- of fleet

static void open_fleet_tcp(Daemon *d) {
        for (size_t i = 0; i < d->config.fleet_listen.n; i++) {
                const HttpListen *l = &d->config.fleet_listen.list[i];
                int r = http_api_listen_fleet_tcp(d->http, l);

                if (r < 0)
                        log_warning("The API of fleet is not answered at %s: %s.", l->text, strerror(-r));
                else
                        log_info("The API of fleet is spoken at https://%s, to whoever has a certificate.",
                                 l->text);
        }
}

static void open_fleet_unix(Daemon *d) {
        int fd = -1, r = listener_bind_unix(d->config.fleet, d->paths->socket_mode, group_of_socket(d), &fd);

        if (r == 0) {
                r = http_api_listen_fleet(d->http, fd);
                if (r < 0)
                        close(fd);
        }
        if (r < 0)
                log_warning("The API of fleet is not there, for want of %s: %s.", d->config.fleet,
                            strerror(-r));
        else
                log_info("The API of fleet is spoken on %s.", d->config.fleet);
}

// ---- over TCP

static void add_name(HttpNames *names, const char *text) {
        HttpName name;

        if (http_name_parse(text, strlen(text), &name))
                (void) http_names_add(names, &name);
}

static void add_names_of(const Daemon *d, const HttpListenList *all, HttpNames *ret) {
        for (size_t i = 0; i < all->n; i++) {
                const HttpListen *l = &all->list[i];

                if (l->loopback || l->wildcard)
                        add_name(ret, "localhost");
                if (!l->wildcard)
                        add_name(ret, l->address);
                else if (*d->own.text)
                        add_name(ret, d->own.text);
        }
}

// Where Names= does not say: our host name, and what leads to where we listen.
static void find_names(const Daemon *d, HttpNames *ret) {
        char host[MACHINE_NAME_SIZE];

        *ret = (HttpNames){};
        if (d->config.http_names) {
                *ret = *d->config.http_names;
                return;
        }
        if (machine_name(host))
                add_name(ret, host);
        add_name(ret, d->full_name);
        add_names_of(d, &d->config.http_listen, ret);
        add_names_of(d, &d->config.fleet_listen, ret);
}

static int own_certificate(const Daemon *d, const HttpNames *names, WebCertificate *ret) {
        const char *texts[HTTP_NAMES_MAX];
        WebCertificateMade made;
        int r;

        for (size_t i = 0; i < names->n; i++)
                texts[i] = names->names[i].text;
        r = web_certificate_own(d->paths->state_dir, texts, names->n, clock_wall_us(), ret, &made);
        if (r < 0)
                log_warning("There is no certificate for HTTP over TLS: %s.", strerror(-r));
        else if (made != WEB_CERTIFICATE_KEPT)
                log_info("Made a new %s for HTTP over TLS, signed by itself: %s/http.pem.",
                         made == WEB_CERTIFICATE_NEW ? "key and certificate"
                                                     : "certificate with the key of before",
                         d->paths->state_dir);
        return r;
}

static int given_certificate(const Daemon *d, WebCertificate *ret) {
        _cleanup_free_ char *why = NULL;
        int r = -EINVAL;

        if (!*d->config.http_certificate || !*d->config.http_key)
                log_warning("Certificate= and Key= of [Http] go together; there is no certificate for HTTP "
                            "over TLS.");
        else
                r = web_certificate_load(d->config.http_certificate, d->config.http_key, ret, &why);
        if (why)
                log_warning("There is no new certificate for HTTP over TLS: %s.", why);
        return r;
}

static int update_certificate(const Daemon *d, const HttpNames *names) {
        bool given = *d->config.http_certificate || *d->config.http_key;
        WebCertificate c = {};
        int r = given ? given_certificate(d, &c) : own_certificate(d, names, &c);

        if (r == 0)
                http_tls_set_certificate(&c);
        return r;
}

static bool has_tls(const Config *c) {
        for (size_t i = 0; i < c->http_listen.n; i++)
                if (config_http_has_tls(c, &c->http_listen.list[i]))
                        return true;
        return c->fleet_listen.n > 0;
}

void daemon_http_update_names(Daemon *d) {
        HttpNames names;

        if (!d->http || (d->config.http_listen.n == 0 && d->config.fleet_listen.n == 0))
                return;
        find_names(d, &names);
        http_api_set_names(d->http, &names, !d->config.http_names);
        http_api_set_proxies(d->http, d->config.http_proxies ?: &(HttpProxies){});
        if (has_tls(&d->config))
                (void) update_certificate(d, &names); // else the one before goes on
}

void daemon_http_update(Daemon *d) {
        if (d->http && has_tls(&d->config))
                full_name_look_up(d);
        daemon_http_update_names(d);
}

static void open_tcp(Daemon *d) {
        for (size_t i = 0; i < d->config.http_listen.n; i++) {
                const HttpListen *l = &d->config.http_listen.list[i];
                bool tls = config_http_has_tls(&d->config, l);
                int r = http_api_listen(d->http, l, tls);

                if (r < 0)
                        log_warning("HTTP is not answered at %s: %s.", l->text, strerror(-r));
                else
                        log_info("HTTP is answered at %s://%s, to whoever has a token.",
                                 tls ? "https" : "http", l->text);
        }
}

void daemon_http_open(Daemon *d) {
        int fd, r = open_unix(d, &fd);

        if (r == 0 &&
            (fd >= 0 || d->config.http_listen.n > 0 || d->config.fleet_listen.n > 0 || *d->config.fleet)) {
                r = http_api_new(d->loop, fd, d->accounts, local_api_names(d->api), &http_ops, d, &d->http);
                if (r < 0 && fd >= 0)
                        close(fd);
        }
        if (r < 0) {
                log_warning("HTTP is not answered, for want of its socket: %s.", strerror(-r));
                return;
        }
        if (!d->http)
                return;
        daemon_http_update(d);
        open_tcp(d);
        if (*d->config.fleet)
                open_fleet_unix(d);
        open_fleet_tcp(d);
}
