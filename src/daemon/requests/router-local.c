// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a daemon answers itself, about its host: a row of the table for each of its requests
// (REQUEST_BY_DAEMON). Whether who asks may have it is known by then.
//
// Joining, leaving and managers take their time: their callbacks answer, and the route waits for that as one
// that is LOCAL.
//
// Failures: those of the function that answers; -ENOMEM ends the request.

#include <errno.h>
#include <stdlib.h>

#include "agent.h"
#include "counters.h"
#include "daemon.h"
#include "error-response.h"
#include "feature-level.h"
#include "http-tls.h"
#include "join.h"
#include "managers.h"
#include "message-of.h"
#include "peers.h"
#include "route.h"
#include "router-local.h"

static void answer_version(Route *route) {
        Argosy__Response__Version version = ARGOSY__RESPONSE__VERSION__INIT;
        Argosy__Response response = RESPONSE_OF(VERSION, version, &version);

        version.version = (char *) ARGOSY_VERSION;
        version.feature_level = FEATURE_LEVEL;
        response.final = true;
        route_respond(route, &response);
}

// `times` and `counts` are filled and borrowed.
static void show_times(const TimeHistogram *h, Argosy__Response__TurnTimes *times,
                       uint64_t counts[static TIME_BOUNDS + 1]) {
        time_histogram_cumulate(h, counts);
        *times = (Argosy__Response__TurnTimes) MESSAGE_OF(
                response__turn_times, .bounds_us = (uint64_t *) time_bounds_us, .n_bounds_us = TIME_BOUNDS,
                .counts = counts, .n_counts = TIME_BOUNDS + 1, .sum_us = h->sum_us);
}

// A row as it is sent.
typedef struct CounterMessage {
        Argosy__Response__Counter row;
        Argosy__Label labels[COUNTER_LABELS_MAX], *label_pointers[COUNTER_LABELS_MAX];
} CounterMessage;

static Argosy__Response__Counter *show_counter(const Counter *c, CounterMessage *m) {
        m->row = (Argosy__Response__Counter) MESSAGE_OF(response__counter, .name = (char *) c->of.name,
                                                        .help = (char *) c->of.help, .gauge = c->of.gauge,
                                                        .value = c->value, .labels = m->label_pointers);
        for (size_t i = 0; i < COUNTER_LABELS_MAX && c->labels[i].key; i++) {
                m->labels[i] = (Argosy__Label) MESSAGE_OF(label, .key = (char *) c->labels[i].key,
                                                          .value = (char *) c->labels[i].value);
                m->label_pointers[m->row.n_labels++] = &m->labels[i];
        }
        return &m->row;
}

static void answer_with(Route *route, const CounterList *values, CounterMessage *messages,
                        Argosy__Response__Counter **pointers) {
        Argosy__Response__Counters counters = ARGOSY__RESPONSE__COUNTERS__INIT;
        Argosy__Response response = RESPONSE_OF(COUNTERS, counters, &counters);
        Argosy__Response__Times times[COUNTED_TIMES], *times_pointers[COUNTED_TIMES];
        Argosy__Response__TurnTimes turns, histograms[COUNTED_TIMES];
        uint64_t turn_counts[TIME_BOUNDS + 1], counts[COUNTED_TIMES][TIME_BOUNDS + 1];
        CountedTimes counted[COUNTED_TIMES];

        for (size_t i = 0; i < values->n; i++)
                pointers[i] = show_counter(&values->rows[i], &messages[i]);
        show_times(&route->router->daemon->turns, &turns, turn_counts);
        daemon_counted_times(route->router->daemon, counted);
        for (size_t i = 0; i < COUNTED_TIMES; i++) {
                argosy__response__times__init(&times[i]);
                show_times(&counted[i].times, &histograms[i], counts[i]);
                times[i].name = (char *) counted[i].name;
                times[i].help = (char *) counted[i].help;
                times[i].times = &histograms[i];
                times_pointers[i] = &times[i];
        }
        counters.turns = &turns;
        counters.times = times_pointers;
        counters.n_times = COUNTED_TIMES;
        counters.rows = pointers;
        counters.n_rows = values->n;
        response.final = true;
        route_respond(route, &response);
}

static void answer_counters(Route *route) {
        CounterList values = {};
        _cleanup_free_ CounterMessage *messages = NULL;
        _cleanup_free_ Argosy__Response__Counter **pointers = NULL;

        daemon_counters(route->router->daemon, &values);
        messages = calloc(values.n + 1, sizeof(*messages));
        pointers = calloc(values.n + 1, sizeof(*pointers));
        if (messages && pointers)
                answer_with(route, &values, messages, pointers);
        else
                route_fail(route, ENOMEM, "%s", strerror(ENOMEM));
        counter_list_done(&values);
}

static void answer_local_units(Route *route) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        agent_local_units(route->router->daemon->agent, &response);
        response.final = true;
        route_respond(route, &response);
}

static void answer_http_certificate(Route *route) {
        const Config *config = &route->router->daemon->config;
        Argosy__Response__HttpCertificate shown = ARGOSY__RESPONSE__HTTP_CERTIFICATE__INIT;
        Argosy__Response response = RESPONSE_OF(HTTP_CERTIFICATE, http_certificate, &shown);
        _cleanup_buf_ Buf pem = {};
        int r = http_tls_append_pem(&pem);

        if (r < 0) {
                route_fail(route, -r, "%s", strerror(-r));
                return;
        }
        if (pem.len == 0) {
                route_fail(route, ENOENT,
                           "this host shows no certificate: it answers nowhere over TLS (Listen= of [Http] "
                           "and [Fleet])");
                return;
        }
        shown.pem = (ProtobufCBinaryData){pem.len, pem.data};
        shown.own = !*config->http_certificate && !*config->http_key;
        response.final = true;
        route_respond(route, &response);
}

static void answer_peers(Route *route) {
        const Argosy__Request__ClusterPeers *q = route->request->cluster_peers;
        Argosy__Response response;
        _cleanup_free_ char *why = NULL;
        int r = peers_try(route->router->daemon, q->addresses, q->n_addresses, &why);

        response = error_response(-r, why ?: "");
        route_respond(route, &response);
}

static void join(Route *route) {
        route->place = ROUTE_LOCAL;
        join_start(route->router->daemon, route->request->cluster_join, route_on_answer, route);
}

// Leaves by force, or because the host was removed; otherwise router_submit() made a ClusterRemove of it.
static void leave(Route *route) {
        Daemon *d = route->router->daemon;

        route->place = ROUTE_LOCAL;
        if (d->joining)
                route_fail(route, EBUSY, "another join or leave is going on");
        else
                join_reset(d,
                           route->request->cluster_leave->force ? "asked to leave by force"
                                                                : "it was removed",
                           route_on_answer, route);
}

static void ask_managers(Route *route) {
        route->place = ROUTE_LOCAL;
        managers_request(route->router->daemon, route->request, route_on_answer, route);
}

// The daemon's own requests (REQUEST_BY_DAEMON).
static const struct {
        Argosy__Request__WhatCase what;
        void (*answer)(Route *route); // or lets somebody answer it later
} handlers[] = {
        {ARGOSY__REQUEST__WHAT_VERSION, answer_version},
        {ARGOSY__REQUEST__WHAT_COUNTERS, answer_counters},
        {ARGOSY__REQUEST__WHAT_HTTP_CERTIFICATE, answer_http_certificate},
        {ARGOSY__REQUEST__WHAT_LOCAL_UNITS, answer_local_units},
        {ARGOSY__REQUEST__WHAT_CLUSTER_PEERS, answer_peers},
        {ARGOSY__REQUEST__WHAT_CLUSTER_JOIN, join},
        {ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE, leave},
        {ARGOSY__REQUEST__WHAT_MANAGER_ATTACH, ask_managers},
        {ARGOSY__REQUEST__WHAT_MANAGER_DETACH, ask_managers},
        {ARGOSY__REQUEST__WHAT_MANAGER_LIST, ask_managers},
};

bool route_answer_local(Route *route) {
        for (size_t i = 0; i < ELEMENTSOF(handlers); i++)
                if (handlers[i].what == route->request->what_case) {
                        handlers[i].answer(route);
                        return true;
                }
        return false;
}
