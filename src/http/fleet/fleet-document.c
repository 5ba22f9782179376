// SPDX-License-Identifier: LGPL-2.1-or-later

// What fleet's API answers, written from a call that has come to its end. As fleet has it, members that say
// nothing are not there: an empty list is {}, and a unit that is nowhere has no machineID.
//
//      {"units":[{"name":...,"options":[...],"desiredState":...,"currentState":...,"machineID":...},...],
//       "nextPageToken":"..."}

#include <stdlib.h>
#include <string.h>

#include "fleet-call.h"
#include "macro.h"
#include "str.h"

static char *finish(Json *j) {
        char *text;

        json_finish(j);
        text = j->failed ? NULL : buf_take_string(&j->text);
        json_done(j);
        return text;
}

char *fleet_error(unsigned status, const char *message) {
        Json j = {};

        json_begin(&j, '{');
        json_member_begin(&j, "error", '{');
        json_member_u64(&j, "code", status);
        json_strings(&j, (const char *const[][2]){{"message", message ?: ""}}, 1);
        json_end(&j, '}');
        json_end(&j, '}');
        return finish(&j);
}

static void text(Json *j, const char *name, const char *value) {
        if (value && *value)
                json_strings(j, (const char *const[][2]){{name, value}}, 1);
}

static const char *id_of(const FleetCall *c, const char *node) {
        for (size_t i = 0; i < c->n_machines; i++)
                if (streq(c->machines[i].node, node))
                        return c->machines[i].id;
        return NULL;
}

// The state in fleet's words, or the nearest one: a failed unit was launched, and one that is not heard is
// where it was.
static const char *current(const FleetRow *row) {
        static const char *const words[] = {"inactive", "loaded", "launched"};

        if (row->global)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(row->current, words[i]))
                        return row->current;
        return row->desired;
}

static void show_unit(const FleetCall *c, const FleetRow *row, Json *j) {
        json_begin(j, '{');
        text(j, "name", row->name);
        json_key(j, "options");
        fleet_options_show(&row->options, j);
        text(j, "desiredState", row->desired);
        text(j, "currentState", c->was_launched ? "launched" : current(row));
        text(j, "machineID", row->global ? NULL : id_of(c, row->node));
        json_end(j, '}');
}

static void show_state(const FleetCall *c, const FleetRow *row, Json *j) {
        char hash[FLEET_HASH_SIZE] = "";

        j->failed = fleet_options_hash(&row->options, hash) < 0 || j->failed;
        json_begin(j, '{');
        text(j, "name", row->name);
        text(j, "hash", hash);
        text(j, "machineID", id_of(c, row->node));
        text(j, "systemdLoadState", row->load);
        text(j, "systemdActiveState", row->active);
        text(j, "systemdSubState", row->sub);
        json_end(j, '}');
}

// "192.0.2.7:2379" -> "192.0.2.7", "[::1]:7" -> "::1"
static void show_address(const char *place, Json *j) {
        const char *colon = strrchr(place, ':');
        bool six = *place == '[' && colon && colon > place + 1 && colon[-1] == ']';
        size_t len = six ? (size_t) (colon - place) - 2 : colon ? (size_t) (colon - place) : strlen(place);
        char address[256];

        str_fit(address, sizeof(address), "%.*s", (int) MIN_OF(len, sizeof(address) - 1),
                six ? place + 1 : place);
        text(j, "primaryIP", address);
}

static void show_machine(const FleetMachine *m, Json *j) {
        json_begin(j, '{');
        text(j, "id", m->id);
        if (m->n_labels > 0) {
                json_member_begin(j, "metadata", '{');
                for (size_t i = 0; i < m->n_labels; i++)
                        json_strings(j, (const char *const[][2]){{m->labels[i]->key, m->labels[i]->value}},
                                     1);
                json_end(j, '}');
        }
        show_address(m->address, j);
        json_end(j, '}');
}

// Which of the page there are; returns how many there are in all.
static size_t show_machines(const FleetCall *c, Json *j) {
        size_t first = (c->target.page - 1U) * (size_t) FLEET_PAGE_ROWS, n = 0;

        for (size_t i = 0; i < c->n_machines; i++) {
                const FleetMachine *m = &c->machines[i];

                if (!m->is_machine || m->is_gone)
                        continue;
                if (n >= first && n < first + FLEET_PAGE_ROWS) {
                        if (n == first) {
                                json_member_begin(j, "machines", '[');
                        }
                        show_machine(m, j);
                }
                n++;
        }
        if (n > first)
                json_end(j, ']');
        return n;
}

static size_t show_rows(const FleetCall *c, Json *j) {
        bool states = c->target.resource == FLEET_STATES;
        size_t n = 0;

        for (size_t i = 0; i < c->n_rows; i++) {
                if (!c->rows[i].has_content)
                        continue;
                if (n++ == 0) {
                        json_member_begin(j, states ? "states" : "units", '[');
                }
                if (states)
                        show_state(c, &c->rows[i], j);
                else
                        show_unit(c, &c->rows[i], j);
        }
        if (n > 0)
                json_end(j, ']');
        return c->n_fitting;
}

static void show_page(const FleetCall *c, Json *j) {
        char token[FLEET_PAGE_SIZE];
        size_t n;

        json_begin(j, '{');
        n = c->target.resource == FLEET_MACHINES ? show_machines(c, j) : show_rows(c, j);
        if (n > c->target.page * (size_t) FLEET_PAGE_ROWS && c->target.page < UINT16_MAX) {
                fleet_page_format((uint16_t) (c->target.page + 1), token);
                text(j, "nextPageToken", token);
        }
        json_end(j, '}');
}

static char *show(const FleetCall *c) {
        Json j = {};

        switch (c->target.resource) {
        case FLEET_DISCOVERY:
                return fleet_discovery();
        case FLEET_UNIT:
                show_unit(c, &c->rows[0], &j);
                break;
        case FLEET_STATE:
                show_state(c, &c->rows[0], &j);
                break;
        default:
                show_page(c, &j);
        }
        return finish(&j);
}

unsigned fleet_call_answer(const FleetCall *c, char **ret) {
        *ret = NULL;
        if (c->status == 201 || c->status == 204)
                return c->status;
        *ret = c->status == 200 ? show(c) : fleet_error(c->status, c->message);
        return *ret ? c->status : 0;
}
