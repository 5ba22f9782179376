// SPDX-License-Identifier: LGPL-2.1-or-later

// A container's file that comes over HTTP, by whatever method and verb, is shown to a podman before it is
// stored: a whole leader is behind the thread and the loop, and hosts whose podman refuses "Unheard="
// (virtual-host-calls.c).

#include "printed.h"
#include "test.h"

#include <errno.h>

#include "api-answers.h"
#include "http-world.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"

#define BOX "[Container]\\nImage=localhost/box:1\\n"
#define UNHEARD BOX "Unheard=of\\n"
#define JOB(verb, content) \
        "{\"verb\":\"" verb "\",\"replace\":true,\"files\":{\"web.container\":\"" content "\"}}"
#define UPDATE(content) \
        "{\"verb\":\"update\",\"unit\":\"web.service\",\"files\":{\"web.container\":\"" content "\"}}"
#define FLEET(more)                                                                                \
        "{\"desiredState\":\"loaded\",\"options\":[{\"section\":\"Container\",\"name\":\"Image\"," \
        "\"value\":\"localhost/box:1\"}" more "]}"
#define FLEET_UNHEARD FLEET(",{\"section\":\"Container\",\"name\":\"Unheard\",\"value\":\"of\"}")

static Rig g;
static unsigned n_shown; // files that were shown to a podman
static Hash stored;      // of the unit's file before that; all zero: there was none

static Hash file_of_unit(void) {
        const Argosy__UnitRecord *r = rig_record(&g, "web.service");
        Hash hash = {};

        if (r && r->spec.len == sizeof(hash))
                memcpy(&hash, r->spec.data, sizeof(hash));
        return hash;
}

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        Hash now = file_of_unit();

        if (m->msg_case != ARGOSY__TO_HOST__MSG_CALL || !m->call->request ||
            m->call->request->what_case != ARGOSY__REQUEST__WHAT_VERIFY)
                return;
        n_shown++;
        assert_memory_equal(&now, &stored, sizeof(now));
}

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        const RigAnswer *a = rig_ask_and_settle(&g, request);

        assert_int_equal(a->error, 0);
        assert_true(a->final);
        for (size_t i = 0; i < a->n; i++)
                http_call_respond(call, a->responses[i]);
        message_free(request);
}

static const HttpApiOps ops = {.request = on_request, .admits = answer_admits, .is_ready = answer_is_ready};

FIXTURE(begin) {
        rig_start(&g, 3);
        g.author = NULL;
        g.on_host_message = on_host_message;
        for (uint32_t i = 2; i <= 3; i++) { // host 1 has no podman
                rig_host_set_labels(&g, i, "podman", "5.4");
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
        n_shown = 0;
        stored = (Hash){};
        world_begin_on_socket(state, 1, &ops);
}

static int end(void **state) {
        int r = world_end(state);

        rig_stop(&g);
        return r;
}

typedef struct Way {
        const char *method, *path, *type, *taken, *refused;
        bool changes, by_fleet; // there is a unit already; on the socket of fleet's API
} Way;

// From now on clients speak fleet's API, on a socket of its own.
static void listen_fleet(const char *dir) {
        int fd;

        free(world.path);
        world.path = str_printf("%s/fleet", dir);
        assert_int_equal(listener_bind_unix(world.path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(http_api_listen_fleet(world.api, fd), 0);
}

static const Client *asked(const Way *way, const char *body) {
        const Client *c = say(0, printed("%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n"
                                         "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                                         way->method, way->path, way->type, strlen(body), body));

        RUN_UNTIL(c->closed);
        return c;
}

static const Way ways[] = {
        {"POST", "/v1/jobs", "application/json", JOB("submit", BOX), JOB("submit", UNHEARD)},
        {"POST", "/v1/jobs", "application/json", JOB("load", BOX), JOB("load", UNHEARD)},
        {"POST", "/v1/jobs", "application/json", JOB("start", BOX), JOB("start", UNHEARD)},
        {"POST", "/v1/jobs", "application/x-ndjson", JOB("start", BOX) "\n", JOB("start", UNHEARD) "\n"},
        {"PUT", "/v1/unit-files/web.service", "text/plain", "[Container]\nImage=localhost/box:1\n",
         "[Container]\nImage=localhost/box:1\nUnheard=of\n"},
        {"PUT", "/fleet/v1/units/web.service", "application/json", FLEET(""), FLEET_UNHEARD,
         .by_fleet = true},
        {"POST", "/v1/jobs", "application/json", UPDATE(BOX "Exec=sleep 1\\n"), UPDATE(UNHEARD),
         .changes = true},
};

static void each(void (*check)(const Way *)) {
        void *dir;

        for (size_t i = 0; i < ELEMENTSOF(ways); i++) {
                assert_int_equal(begin(&dir), 0);
                if (ways[i].by_fleet)
                        listen_fleet(dir);
                if (ways[i].changes) {
                        rig_change(&g, ARGOSY__VERB__VERB_START, "web.service",
                                   "[Container]\nImage=localhost/box:1\n");
                        n_shown = 0;
                        stored = file_of_unit();
                }
                check(&ways[i]);
                assert_int_equal(end(&dir), 0);
        }
}

static void check_taken(const Way *way) {
        const Client *c = asked(way, way->taken);
        Hash now = file_of_unit();

        if (!has(c, "HTTP/1.1 20"))
                fail_msg("%s %s: %.*s", way->method, way->path, (int) c->got.len, (char *) c->got.data);
        assert_int_equal(n_shown, 1);
        assert_memory_not_equal(&now, &stored, sizeof(now));
}

static void check_refused(const Way *way) {
        const Client *c = asked(way, way->refused);
        Hash now = file_of_unit();

        if ((!has(c, "HTTP/1.1 400 ") && !has(c, "\"status\":400,")) || !has(c, "podman's generator on n") ||
            !has(c, "unsupported key 'Unheard'; nothing was changed"))
                fail_msg("%s %s: %.*s", way->method, way->path, (int) c->got.len, (char *) c->got.data);
        assert_int_equal(n_shown, 1);
        assert_memory_equal(&now, &stored, sizeof(now));
}

static void a_podman_is_asked_before_a_file_is_stored(void **state) {
        each(check_taken);
}

static void what_a_podman_refuses_is_not_stored_and_its_line_is_told(void **state) {
        each(check_refused);
}

RUN_TESTS(cmocka_unit_test(a_podman_is_asked_before_a_file_is_stored),
          cmocka_unit_test(what_a_podman_refuses_is_not_stored_and_its_line_is_told))
