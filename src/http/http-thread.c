// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The thread's side: libmicrohttpd's own thread, which calls all functions here but the last two. For each
// request it calls
//
//      on_target      the first line                    -> a call
//      on_request     the headers   HTTP_CALL_NEW       -> may be refused: then the connection ends
//                     the headers   HTTP_CALL_JUDGED    -> again, when the leader has said something of the
//                                                       token
//                     the end       HTTP_CALL_READ      -> what it asks for; refused, or to be posted
//                                   HTTP_CALL_DROPS     -> refused
//                     the next turn HTTP_CALL_READY     -> posted, and the connection suspended
//                     answered      HTTP_CALL_ASKED     -> HttpWork.send
//      on_completed   answered, or the client has gone  -> the call is freed
//
// A suspended connection has no idle time, and that its client has gone is seen when it was answered.
//
// Only what changes something has a body. It comes in pieces (on_upload()), between its headers and the end.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <strings.h>
#include <unistd.h>

#include "clock.h"
#include "http-etag.h"
#include "http-head.h"
#include "http-login.h"
#include "http-parameters.h"
#include "http-problem.h"
#include "http-thread.h"
#include "http-tls.h"
#include "http-write.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "work-bulk.h"
#include "work-fleet.h"
#include "work-send.h"
#include "work-session.h"
#include "work-state.h"
#include "work-stream.h"
#include "work-token.h"
#include "works.h"

enum { STACK_BYTES = 256 * 1024 };

struct HttpThread {
        HttpApi *api;
        const HttpListener *listener;
        struct MHD_Daemon *daemon;
        HttpHandshakes *handshakes; // NULL: without TLS
        size_t n_refused; // connections that are one too many and were not told so yet
        HttpMemos memos;
};

// ---- who connects

// The loop looks at who is late as long as there is anybody who may be.
static void watch_late(HttpApi *a, bool tell) {
        if (tell)
                uv_async_send(&a->async);
}

// What libmicrohttpd says of a connection is valid until it is asked for something else: since version 1.0
// all answers are in one place. So nothing but what is taken out at once is kept. -1: it does not say.
static int fd_of(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        return info ? info->connect_fd : -1;
}

// NULL: without TLS.
static gnutls_session_t session_of(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

        return info ? info->tls_session : NULL;
}

static HttpPeer *new_peer_tcp(HttpThread *t, struct MHD_Connection *connection, int fd) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        // No proxy has its clients' keys.
        bool by_proxy =
                info && !t->listener->fleet && http_auth_trusts(&t->api->auth, info->client_addr);
        HttpPeer *p =
                info ? http_peer_new_tcp(t->api->accounts, info->client_addr, fd, t->listener->tls, by_proxy)
                     : NULL;

        if (p && t->listener->fleet)
                http_tls_ask_for_certificate(session_of(connection));
        if (p && t->handshakes)
                http_handshake_begin(t->handshakes, &p->handshake, connection, session_of(connection), fd);
        return p;
}

static void complete(HttpCall *call);

static void end_peer(HttpThread *t, HttpPeer *p) {
        if (p->call)
                complete(p->call);
        http_pace_end(&t->api->pace, &p->paced);
        t->n_refused -= p->one_too_many;
        http_peer_free(t->api->accounts, p);
}

static HttpPeer *new_peer(HttpThread *t, int fd) {
        HttpPeer *p = http_peer_new(t->api->accounts, fd);

        if (!p || !p->one_too_many)
                return p;
        if (t->n_refused < HTTP_CONNECTIONS_REFUSED_MAX) {
                t->n_refused++;
                return p;
        }
        http_peer_free(t->api->accounts, p);
        return NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **peer,
                          enum MHD_ConnectionNotificationCode code) {
        HttpThread *t = userdata;

        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                int fd = fd_of(connection);

                *peer = fd < 0 ? NULL : t->listener->tcp ? new_peer_tcp(t, connection, fd) : new_peer(t, fd);
                if (*peer)
                        watch_late(t->api, http_pace_begin(&t->api->pace, &((HttpPeer *) *peer)->paced, fd,
                                                           clock_boot_us()));
                else if (fd >= 0)
                        (void) shutdown(fd, SHUT_RDWR); // before a handshake costs anything
        } else if (*peer) {
                end_peer(t, *peer);
                *peer = NULL;
        }
}

// ---- requests

static const char *header(const HttpCall *call, const char *name) {
        return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

static bool has_body(const HttpCall *call) {
        const char *length = header(call, "Content-Length");

        return (length && !streq(length, "0")) || header(call, "Transfer-Encoding");
}

// line: of the body; 0: of none.
static enum MHD_Result refuse_line(HttpCall *call, unsigned status, const char *why, unsigned line,
                                   bool last) {
        HttpProblem problem = {.status = status, .detail = why, .line = line};
        char methods[HTTP_METHODS_SIZE];

        call->stage = HTTP_CALL_REFUSED;
        if (call->fleet.call)
                return http_fleet_refuse(call, status, why, last);
        http_target_methods(call->text, methods);
        return http_send_problem(call->connection, &problem, status == 405 ? methods : NULL, last);
}

static enum MHD_Result refuse(HttpCall *call, unsigned status, const char *why, bool last) {
        return refuse_line(call, status, why, 0, last);
}

// Its body is wanted from now on; the one place where that is said.
static void await_body(HttpCall *call) {
        watch_late(call->api, http_pace_on_body(&call->api->pace, &call->peer->paced, clock_boot_us()));
}

// Before the body. Many clients do not look for an answer before they have sent all of it: so what is not
// long is let come. Then the connection ends all the same.
static enum MHD_Result refuse_body(HttpCall *call, unsigned status, const char *why) {
        const char *length = header(call, "Content-Length");
        uint64_t n;

        if (header(call, "Transfer-Encoding") || !length || !parse_u64(length, HTTP_BODY_MAX, &n))
                return refuse(call, status, why, true);
        call->stage = HTTP_CALL_DROPS;
        call->drop_status = status;
        call->drop_why = why;
        await_body(call);
        return MHD_YES;
}

// As RFC 9112 wants. What the header says is nothing to us on a unix socket.
static bool has_host(const HttpCall *call, const char *version) {
        return !streq(version, "HTTP/1.1") || header(call, "Host");
}

static const char foreign_origin[] = "a page of another origin changes nothing here";

static HttpClaim claim_of(const HttpCall *call) {
        HttpClaim claim = {call->connection, call->text, call->peer->fd, call->peer->by_proxy, call->secure};

        if (call->fleet.call) {
                claim.by_certificate = true;
                claim.certificate =
                        http_tls_certificate_of(session_of(call->connection), &claim.certificate_len);
        }
        return claim;
}

static void find_client(HttpCall *call) {
        const HttpPeer *p = call->peer;

        call->from = p->by_proxy ? http_auth_client(&call->api->auth, call->connection, &p->of) : p->of;
        call->secure = p->by_proxy ? http_auth_is_secure(call->connection, p->tls) : p->tls;
}

static bool is_foreign(const HttpCall *call) {
        HttpClaim claim = claim_of(call);

        if (call->peer->over_tcp)
                return call->method != HTTP_GET && http_auth_is_foreign(&claim, &call->principal);
        return call->method != HTTP_GET &&
               !http_origin_is_ours(header(call, "Origin"), header(call, "Host"));
}

// "text/plain" of "text/plain; charset=utf-8".
static bool is_type(const char *value, const char *type) {
        size_t len = strlen(type);

        return value && strncasecmp(value, type, len) == 0 &&
               (value[len] == 0 || value[len] == ';' || value[len] == ' ');
}

// To the loop, which lets the connection go on when it has answered.
static enum MHD_Result hand_over(HttpCall *call) {
        MHD_suspend_connection(call->connection);
        if (http_api_post(call))
                return MHD_YES;
        call->status = ESHUTDOWN;
        MHD_resume_connection(call->connection);
        return MHD_YES;
}

// A client with an invalid token must not take room from those with a valid one. libmicrohttpd calls this
// again after a suspended connection goes on.
static enum MHD_Result judge(HttpCall *call) {
        call->stage = HTTP_CALL_JUDGED;
        call->step = &http_token_step;
        return hand_over(call);
}

// A connection on which a body was refused ends, so nobody takes that for the next request.
static enum MHD_Result on_body_headers(HttpCall *call) {
        const char *length = header(call, "Content-Length"),
                   *type = call->fleet.call ? http_fleet_type(call)
                                            : http_resource(call->target.resource)->body,
                   *given = header(call, "Content-Type");
        uint64_t n;

        if (!length || !parse_u64(length, UINT64_MAX, &n))
                return refuse(call, 411, "a body comes with its Content-Length", true);
        call->lines = call->target.resource == HTTP_NEW_JOB && is_type(given, "application/x-ndjson");
        if (!call->lines && type && !is_type(given, type))
                return refuse_body(call, 415,
                                   call->fleet.call ? "only acceptable Content-Type is application/json"
                                                    : type);
        if (n > (call->lines ? HTTP_LINES_BYTES_MAX : HTTP_BODY_MAX))
                return refuse(call, 413, "the body is too long", true);
        if (call->target.resource == HTTP_LOGIN && n > HTTP_LOGIN_BODY_MAX)
                return refuse(call, 413, "the body is too long", true);
        call->announced = n;
        if (call->stage == HTTP_CALL_NEW &&
            n > (call->peer->over_tcp ? HTTP_TCP_UNJUDGED_MAX : HTTP_SMALL_BODY_MAX) && !call->peer->owner)
                return judge(call);
        call->upload_length = (size_t) n;
        call->upload.secret |=
                call->target.resource == HTTP_PUT_SECRET || call->target.resource == HTTP_LOGIN;
        call->stage = HTTP_CALL_READ;
        await_body(call);
        return MHD_YES;
}

// Headers again, when the leader has said something of the token.
static enum MHD_Result on_judged(HttpCall *call) {
        if (call->status == 0)
                return on_body_headers(call);
        http_call_note_refusal(call);
        // which lives as long as the call
        return refuse_body(call, http_status_of(call->status), call->message);
}

// 0, or the status with which it is refused.
static unsigned find_target(HttpCall *call, const char **ret_why) {
        int r = call->fleet.call ? 0 : http_target_parse(call->text, call->method, &call->target, ret_why);
        bool session = call->target.resource == HTTP_LOGIN || call->target.resource == HTTP_LOGOUT;

        if (call->fleet.call)
                return http_fleet_parse(call, ret_why);
        if (r == 0 && session && !call->secure) {
                *ret_why = "sessions are there for browsers, over TLS";
                return 403;
        }
        if (r == 0)
                call->work = http_work_of(call->target.resource);
        return r == 0 ? 0 : r == -EPERM ? 405 : http_status_of(-r);
}

static bool takes_body(const HttpCall *call) {
        return call->fleet.call ? fleet_target_has_body(&call->fleet.call->target)
                                : http_resource(call->target.resource)->body != NULL;
}

// What has no body is answered when its end has come: a connection on which libmicrohttpd has an answer
// before that is closed.
static enum MHD_Result on_headers(HttpCall *call, const char *url, const char *method, const char *version) {
        HttpHead head = {call->connection, method, url, version, call->text};
        const char *why;
        unsigned status = http_head_judge(&head, &why);

        http_pace_on_head(&call->api->pace, &call->peer->paced);

        call->method = http_method_from_string(method);
        // "" is as good as one that nobody knows
        (void) str_copy(call->fleet.method, sizeof(call->fleet.method), method);
        if (status > 0)
                return refuse(call, status, why, true);
        if (call->peer->one_too_many)
                return refuse(call, 429, "too many connections are open", true);
        if (!has_host(call, version))
                return refuse(call, 400, "the request has no Host", true);
        find_client(call);
        if (call->peer->over_tcp) {
                HttpClaim claim = claim_of(call);

                status = http_auth_judge(&call->api->auth, &claim, &call->principal, &why);
        }
        http_peer_asks(call->api->accounts, call->peer);
        if (!http_call_enter(call))
                return refuse(call, 429, "too many requests are under way", true);
        if (status == 0 && !has_body(call)) {
                call->stage = HTTP_CALL_READ;
                return MHD_YES;
        }
        if (status == 0)
                status = find_target(call, &why);
        if (status > 0)
                return refuse_body(call, status, why);
        if (is_foreign(call))
                return refuse_body(call, 403, foreign_origin);
        if (takes_body(call))
                return on_body_headers(call);
        return refuse_body(call, 400, "a request of that kind has no body");
}

static void release_upload(HttpCall *call) {
        http_api_release_body(call);
        buf_done(&call->upload);
}

// What was made of it is as long, and counts in its place until it is gone.
static void replace_upload(HttpCall *call) {
        buf_done(&call->upload); // and what was made of it is there
}

// What has come counts, and not what was announced: who says that much is coming, and sends nothing, takes
// room from nobody.
static void drop_upload(HttpCall *call) {
        release_upload(call);
        call->stage = HTTP_CALL_DROPS;
        call->drop_status = 503;
        call->drop_why = "too many long bodies and answers are under way";
}

// A piece of the body. MHD_NO: its connection ends; nothing else can be answered in the middle of one.
static enum MHD_Result on_upload(HttpCall *call, const char *data, size_t len) {
        if (call->stage == HTTP_CALL_DROPS)
                return MHD_YES;
        if (call->upload.len + len > call->upload_length)
                return MHD_NO;
        if (!http_api_hold_body(call, len)) {
                drop_upload(call);
                return MHD_YES;
        }
        return buf_append(&call->upload, data, len) == 0 ? MHD_YES : MHD_NO;
}

// What changes something is made of its body and headers; what reads is made by the loop, of its target.
static int make_request(HttpCall *call, char **ret_why, unsigned *ret_line) {
        HttpWriteHeaders headers = {header(call, "Idempotency-Key"), header(call, "If-Match"),
                                    header(call, "If-None-Match")};
        int r;

        *ret_why = NULL;
        *ret_line = 0;
        call->keyed = headers.key;
        if (!http_target_is(&call->target, HTTP_IS_WRITTEN))
                return 0;
        if (buf_append(&call->upload, "", 1) < 0)
                return -ENOMEM;
        if (call->lines)
                r = http_bulk_parse(&call->target, &headers, (char *) call->upload.data,
                                    call->upload.len - 1, &call->bulk.body, ret_why, ret_line);
        else
                r = http_write_parse(&call->target, &headers, (const char *) call->upload.data,
                                     call->upload.len - 1, &call->request, ret_why);
        if (call->bulk.body)
                call->work = &http_bulk_work;
        replace_upload(call);
        return r;
}

static int read_login(HttpCall *call, const char **ret_why) {
        int r = -ENOMEM;

        if (buf_append(&call->upload, "", 1) == 0)
                r = http_login_parse((char *) call->upload.data, call->upload.len - 1,
                                     &call->principal.proof, ret_why);
        release_upload(call);
        return r;
}

static unsigned read_fleet(HttpCall *call, char **ret_why) {
        unsigned status = buf_append(&call->upload, "", 1) == 0 ? http_fleet_read(call, ret_why) : 503;

        replace_upload(call);
        return status;
}

// *ret_known: the client's document is the newest, and the leader need not be asked. 0 or -ENOMEM.
static int take_condition(HttpCall *call, bool *ret_known) {
        const char *tags = header(call, "If-None-Match");

        *ret_known = tags && http_state_is_unchanged(call->api, call->peer, tags, &call->state.wanted);
        call->state.condition = tags ? strdup(tags) : NULL;
        return tags && !call->state.condition ? -ENOMEM : 0;
}

// The leader says whether a list is still as the client has it.
static int take_tags(HttpCall *call) {
        const char *tags =
                http_target_is(&call->target, HTTP_IS_TAGGED) ? header(call, "If-None-Match") : NULL;

        if (!tags)
                return 0;
        call->target.known = http_list_etags(tags, call->text);
        return call->target.known ? 0 : -ENOMEM;
}

// What is handed over here may be answered before this returns; then the connection goes on as soon as it
// has. When it does, libmicrohttpd reads from it if it was reading when it was suspended, and for the end of
// what its client says it closes the connection: so this is not done in the turn that has read the last
// byte. From a request that is there, and was neither suspended nor answered, it does not read.
static enum MHD_Result post(HttpCall *call) {
        call->stage = HTTP_CALL_ASKED;
        return hand_over(call);
}

static enum MHD_Result ask(HttpCall *call) {
        _cleanup_free_ char *why = NULL;
        const char *not_found, *id = header(call, "Last-Event-ID");
        unsigned status = has_body(call) ? 0 : find_target(call, &not_found), line;
        int r;

        if (status > 0)
                return refuse(call, status, not_found, false);
        if (!has_body(call) && takes_body(call))
                return refuse(call, 411, "it has no body", false);
        if (is_foreign(call))
                return refuse(call, 403, foreign_origin, false);
        if (call->fleet.call && has_body(call)) {
                status = read_fleet(call, &why);
                if (status > 0)
                        return refuse(call, status, why, false);
        }
        if (http_target_is(&call->target, HTTP_IS_STREAM))
                http_stream_choose(call, header(call, "Accept"));
        if (call->target.resource == HTTP_EVENTS && id && *id && !http_target_set_place(&call->target, id))
                return refuse(call, 400, "Last-Event-ID is none of ours", false);
        if (call->target.file)
                return http_static_send(call->target.file, call->connection, header(call, "If-None-Match"));
        if (call->target.resource == HTTP_LOGOUT)
                return http_send_logout(call);
        if (call->target.resource == HTTP_LOGIN) {
                r = read_login(call, &not_found);
                if (r < 0)
                        return refuse(call, http_status_of(-r), not_found, false);
        }
        r = call->fleet.call ? 0 : make_request(call, &why, &line);
        if (r < 0)
                return refuse_line(call, http_status_of(-r), why, line, false);
        if (call->target.resource == HTTP_STATE && !call->target.since) {
                bool known;

                r = take_condition(call, &known);
                if (r < 0)
                        return MHD_NO;
                if (known)
                        return http_state_send_unchanged(call);
        }
        if (take_tags(call) < 0)
                return MHD_NO;
        call->stage = HTTP_CALL_READY;
        return MHD_YES;
}

static void note_known(HttpCall *call) {
        if (call->is_known)
                http_peer_note_token(call->api->accounts, call->peer, &call->principal.proof);
}

static enum MHD_Result on_end(HttpCall *call) {
        http_pace_on_request(&call->api->pace, &call->peer->paced);
        return call->stage == HTTP_CALL_READ ? ask(call)
                                             : refuse(call, call->drop_status, call->drop_why, true);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *n_data,
                                  void **request) {
        HttpCall *call = *request;

        if (!call)
                return MHD_NO;
        switch (call->stage) {
        case HTTP_CALL_NEW:
                return on_headers(call, url, method, version);
        case HTTP_CALL_JUDGED:
                note_known(call);
                return on_judged(call);
        case HTTP_CALL_READ:
        case HTTP_CALL_DROPS:
                if (*n_data == 0)
                        return on_end(call);
                if (on_upload(call, data, *n_data) == MHD_NO)
                        return MHD_NO;
                *n_data = 0;
                return MHD_YES;
        case HTTP_CALL_READY:
                return post(call);
        case HTTP_CALL_ASKED:
                note_known(call);
                return call->work->send(call);
        case HTTP_CALL_REFUSED:
                break;
        }
        return MHD_NO;
}

static HttpPeer *peer_of(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return info ? info->socket_context : NULL;
}

static void *on_target(void *userdata, const char *text, struct MHD_Connection *connection) {
        HttpThread *t = userdata;
        HttpPeer *peer = peer_of(connection);
        HttpCall *call;

        if (!peer)
                return NULL;
        if (peer->call)
                complete(peer->call);
        call = calloc(1, sizeof(*call));
        if (!call)
                return NULL;
        call->connection = connection;
        call->peer = peer;
        call->api = t->api;
        call->memos = &t->memos;
        list_init(&call->link);
        call->text = strdup(text);
        http_head_hide_parameters(text);
        if (t->listener->fleet) {
                call->fleet.call = fleet_call_new();
                call->work = &http_fleet_work;
                call->target.resource = HTTP_UNITS; // nothing of which is done otherwise than of most
        }
        if (!call->text || (t->listener->fleet && !call->fleet.call)) {
                fleet_call_free(call->fleet.call);
                free(call->text);
                free(call);
                return NULL;
        }
        peer->call = call;
        http_api_call_begins(call->api);
        return call;
}

// The loop may still have something of a journal, which it has to take back before.
static void complete(HttpCall *call) {
        HttpApi *a = call->api;

        call->peer->call = NULL;
        watch_late(a, http_pace_on_answer(&a->pace, &call->peer->paced, clock_boot_us()));
        account_holding_idle(a->accounts, &call->peer->holding);
        release_upload(call);
        call->gone = call->work && call->work->is_kept && call->stage == HTTP_CALL_ASKED;
        if (!call->gone || !http_api_post(call))
                http_call_free(call);
        http_api_call_ends(a);
}

// Where libmicrohttpd has no memory for a request it may say nothing of its end: then there is that of the
// connection (end_peer()), or the next one.
static void on_completed(void *userdata, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code) {
        if (*request)
                complete(TAKE_PTR(*request));
}

// ---- by the loop

static struct MHD_Daemon *start_daemon(HttpThread *t, int fd) {
        unsigned n = (unsigned) account_limits[ACCOUNT_CONNECTIONS].all + HTTP_CONNECTIONS_REFUSED_MAX;
        unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                         (t->listener->tls ? MHD_USE_TLS : 0);

        return MHD_start_daemon(
                flags, 0, NULL, NULL, on_request, t, MHD_OPTION_LISTEN_SOCKET, fd,
                MHD_OPTION_URI_LOG_CALLBACK, on_target, t, MHD_OPTION_NOTIFY_COMPLETED, on_completed, t,
                MHD_OPTION_NOTIFY_CONNECTION, on_connection, t, MHD_OPTION_CONNECTION_LIMIT,
                n + 1 /* who is one too many is not to wait */, MHD_OPTION_CONNECTION_TIMEOUT,
                (unsigned) HTTP_IDLE_SEC, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) HTTP_HEADER_MAX,
                MHD_OPTION_THREAD_STACK_SIZE, (size_t) STACK_BYTES, MHD_OPTION_STRICT_FOR_CLIENT,
                http_head_strictness(),
                // MHD_OPTION_END ends this, whatever stands behind it.
                t->listener->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, HTTP_TLS_PRIORITIES,
                MHD_OPTION_HTTPS_CERT_CALLBACK2, http_tls_on_certificate, MHD_OPTION_END);
}

static int start_all(HttpThread *t, int fd) {
        int r = t->listener->tls ? http_handshakes_new(&t->handshakes) : 0;

        if (r < 0)
                return r;
        t->daemon = start_daemon(t, fd);
        if (t->daemon)
                return 0;
        if (t->handshakes)
                http_handshakes_stop(t->handshakes);
        http_handshakes_free(t->handshakes);
        return -EAGAIN; // libmicrohttpd does not say why
}

int http_thread_start(HttpListener *listener, HttpThread **ret) {
        HttpThread *t = calloc(1, sizeof(*t));
        sigset_t all, before;
        int copy, r;

        if (!t)
                return -ENOMEM;
        t->api = listener->api;
        t->listener = listener;
        copy = fcntl(listener->fd, F_DUPFD_CLOEXEC, 3); // libmicrohttpd closes its own
        if (copy < 0) {
                free(t);
                return -errno;
        }
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); // signals are the loop's
        r = start_all(t, copy);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r == 0) {
                *ret = t;
                return 0;
        }
        close(copy);
        free(t);
        return r;
}

void http_thread_stop(HttpThread *t) {
        if (t->handshakes)
                http_handshakes_stop(t->handshakes);
        MHD_stop_daemon(t->daemon);
        http_handshakes_free(t->handshakes);
        events_memo_free(t->memos.events);
        answers_memo_free(t->memos.answers);
        free(t);
}
