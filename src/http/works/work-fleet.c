// SPDX-License-Identifier: LGPL-2.1-or-later

// Fleet's API, on a socket of its own: the way of its requests. What they ask for, and what is answered, is
// in src/http/fleet.
//
//      thread   first line and body -> a FleetCall -> posted, as any call
//      loop     what it wants to be asked, one request after the other, each with the socket's peer as its
//               author -> given back
//      thread   its document, or its error in fleet's form
//
// Rights are those of the local socket. Contents of units that an answer has are counted, as all answers
// that wait to be read.

#include "work-fleet.h"

#include <errno.h>

#include "clock.h"
#include "http-json.h"
#include "macro.h"
#include "message.h"
#include "str.h"

#define SERVER "fleetd/1.0.0+argosy" // the newest that there is whose clients know no more than this

enum {
        WAITS_MS = 2000, // for a unit to stop: fleet's client gives an answer 3 seconds
        STOPPED_SEC = 2,
        PAGE_SEC = 10,
};

// ---- by the thread

unsigned http_fleet_parse(HttpCall *call, const char **ret_why) {
        return fleet_call_parse(call->fleet.call, call->text, call->fleet.method, ret_why);
}

const char *http_fleet_type(const HttpCall *call) {
        return call->fleet.call->target.method == FLEET_PUT ? "application/json" : NULL;
}

unsigned http_fleet_read(HttpCall *call, char **ret_why) {
        const char *text = (const char *) call->upload.data, *why = "this host has no memory for the body";
        bool list = call->fleet.call->target.method == FLEET_PATCH;
        cJSON *body = NULL;
        unsigned status;
        int r = (list ? http_json_parse_list : http_json_parse)(text, call->upload.len - 1, &body, &why);

        if (r < 0) {
                *ret_why = str_printf("unable to decode body: %s", why);
                return r == -ENOMEM ? 503 : 400;
        }
        status = fleet_call_read(call->fleet.call, body, ret_why);
        cJSON_Delete(body);
        return status;
}

// Takes the text; NULL: there is none.
static enum MHD_Result send_text(HttpCall *call, unsigned status, char *text, bool last) {
        struct MHD_Response *r =
                MHD_create_response_from_buffer(text ? strlen(text) : 0, text, MHD_RESPMEM_MUST_FREE);
        enum MHD_Result queued = MHD_NO;

        if (!r) {
                free(text);
                return MHD_NO;
        }
        if (MHD_add_response_header(r, "Server", SERVER) == MHD_YES &&
            (!text || MHD_add_response_header(r, "Content-Type", "application/json") == MHD_YES) &&
            (!last || MHD_add_response_header(r, "Connection", "close") == MHD_YES))
                queued = MHD_queue_response(call->connection, status, r);
        MHD_destroy_response(r);
        return queued;
}

enum MHD_Result http_fleet_refuse(HttpCall *call, unsigned status, const char *why, bool last) {
        char *text = fleet_error(status, why);

        return text ? send_text(call, status, text, last) : MHD_NO;
}

static enum MHD_Result send_answer(HttpCall *call) {
        unsigned status;
        char *text;

        if (call->status != 0)
                fleet_call_fail(call->fleet.call, call->status, call->message);
        status = fleet_call_answer(call->fleet.call, &text);
        return status > 0 ? send_text(call, status, text, call->status == ESHUTDOWN) : MHD_NO;
}

// ---- by the loop

// As fleet's client restarts a unit it says that it is to be loaded, and then waits for it to be launched,
// before it says that it is to be launched: of fleet, whose states came behind, it saw the one from before.
// So who looks at a unit for the first time after it was stopped here sees it launched. A unit that is not
// looked at is forgotten soon, and so are all but the last of many.
static void note_stopped(HttpApi *a, const char *name) {
        HttpFleetStop *s = &a->fleet.stops[a->fleet.n_stops++ % ELEMENTSOF(a->fleet.stops)];

        if (str_copy(s->name, sizeof(s->name), name))
                s->until_us = http_api_now_us(a) + STOPPED_SEC * (uint64_t) USEC_PER_SEC;
}

static bool take_stopped(HttpApi *a, const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(a->fleet.stops); i++) {
                HttpFleetStop *s = &a->fleet.stops[i];

                if (s->until_us > http_api_now_us(a) && streq(s->name, name)) {
                        s->until_us = 0;
                        return true;
                }
        }
        return false;
}

// All bearers of tokens have one name, as long as no leader was asked, and different rights.
static Hash reader_of(const Argosy__Author *author) {
        Hash who;

        return hash_from_bytes(author->token_proof.data, author->token_proof.len, &who)
                       ? who
                       : hash_of(&author->uid, sizeof(author->uid));
}

// The newest.
static HttpFleetPage *find_page(HttpApi *a, const FleetCall *c, const Hash *who) {
        HttpFleetPage *found = NULL;

        for (size_t i = 0; i < ELEMENTSOF(a->fleet.pages); i++) {
                HttpFleetPage *p = &a->fleet.pages[i];

                if (p->until_us > http_api_now_us(a) && p->next == c->target.page &&
                    p->resource == c->target.resource && hash_equal(&p->who, who) &&
                    (!found || p->until_us > found->until_us))
                        found = p;
        }
        return found;
}

// Each client has one place per list: each page that it reads moves the place on.
static void note_page(HttpApi *a, const FleetCall *c, const Hash *who, const FleetPlace *ended) {
        HttpFleetPage *p =
                find_page(a, c, who) ?: &a->fleet.pages[a->fleet.n_pages++ % ELEMENTSOF(a->fleet.pages)];

        *p = (HttpFleetPage){
                .who = *who,
                .resource = c->target.resource,
                .next = (uint16_t) (c->target.page + 1),
                .behind = *ended,
                .until_us = http_api_now_us(a) + PAGE_SEC * (uint64_t) USEC_PER_SEC,
        };
}

static void look_where_page_begins(HttpCall *call) {
        Hash who = reader_of(call->author);
        const HttpFleetPage *p = fleet_call_is_later_page(call->fleet.call)
                                         ? find_page(call->api, call->fleet.call, &who)
                                         : NULL;

        if (p)
                fleet_call_begin_behind(call->fleet.call, &p->behind);
}

static void end(HttpCall *call) {
        FleetCall *c = call->fleet.call;
        Hash who = reader_of(call->author);
        FleetPlace ended;

        if (fleet_call_page_ended(c, &ended))
                note_page(call->api, c, &who, &ended);
        if (fleet_call_stops(c))
                note_stopped(call->api, c->target.name);
        else if (fleet_call_shows_loaded(c))
                c->was_launched = take_stopped(call->api, c->target.name);
        http_call_give_back(call);
}

static void ask(HttpCall *call) {
        Argosy__Request *request;
        int r = fleet_call_next(call->fleet.call, &request);

        if (r > 0 && call->fleet.call->step == FLEET_WAITS &&
            http_call_arm(call, http_api_now_us(call->api) + WAITS_MS * (uint64_t) USEC_PER_MSEC) < 0)
                r = -ENOMEM;
        if (r == 0)
                end(call);
        else
                http_call_send(call, r > 0 ? request : NULL, call->author);
}

// It has waited for long enough.
static void on_due(HttpCall *call) {
        http_call_off(call);
        ask(call);
}

static void take(HttpCall *call, const Argosy__Response *response) {
        size_t len = response->what_case == ARGOSY__RESPONSE__WHAT_CAT ? response->cat->content.len : 0;

        if (!http_api_hold(call, len)) {
                fleet_call_fail(call->fleet.call, EBUSY, http_why_not_kept(EBUSY));
                return;
        }
        http_call_count(call, len);
        if (fleet_call_take(call->fleet.call, response) < 0)
                fleet_call_fail(call->fleet.call, ENOMEM, http_why_not_kept(ENOMEM));
}

static void respond(HttpCall *call, const Argosy__Response *response) {
        take(call, response);
        if (response->final)
                ask(call);
}

static void begin(HttpCall *call, const Argosy__Author *author) {
        static const HttpStep step = {.respond = respond, .on_due = on_due};

        http_call_set_step(call, &step);
        if (!http_call_keep_author(call, author))
                return;
        look_where_page_begins(call);
        ask(call);
}

static void done(HttpCall *call) {
        fleet_call_free(call->fleet.call);
}

const HttpWork http_fleet_work = {.begin = begin, .send = send_answer, .done = done};
