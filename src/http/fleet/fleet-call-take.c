// SPDX-License-Identifier: LGPL-2.1-or-later

// What comes back of what a FleetCall has asked for: rows of the page that is wanted, and nothing of the
// others but how many there are; contents and reasons, each to its row; or what became of a change. The
// first error ends the call.
//
// A list that begins anew, since its leader went away in the middle, is taken from there.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "fleet-call-private.h"
#include "macro.h"
#include "message.h"
#include "str.h"

// of so many nodes it is said why they do not take a unit: the client prints it in one line
enum { FLEET_REFUSALS = 5 };

// 0 or -ENOMEM.
static int set(char **text, const char *value) {
        *text = strdup(value);
        return *text ? 0 : -ENOMEM;
}

static int take_machine(FleetCall *c, const Argosy__Response__NodeRow *row) {
        FleetMachine *m;

        if (ARRAY_RESERVE(c->machines, c->n_machines + 1) < 0)
                return -ENOMEM;
        m = &c->machines[c->n_machines++];
        *m = (FleetMachine){.is_machine = !*row->manager || streq(row->manager, "system"),
                            .is_gone = streq(row->state, "lost") || streq(row->state, "down")};
        if (set(&m->node, row->node) < 0 || set(&m->id, row->machine_id) < 0 ||
            set(&m->address, row->address) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < row->n_labels; i++) {
                if (ARRAY_RESERVE(m->labels, m->n_labels + 1) < 0)
                        return -ENOMEM;
                m->labels[m->n_labels] = message_copy(row->labels[i]);
                if (!m->labels[m->n_labels++])
                        return -ENOMEM;
        }
        return 0;
}

static const FleetMachine *machine_of(const FleetCall *c, const char *node) {
        for (size_t i = 0; i < c->n_machines; i++)
                if (streq(c->machines[i].node, node))
                        return &c->machines[i];
        return NULL;
}

// The place for one more row that fits; NULL: it is on another page.
static FleetRow *room_for(FleetCall *c) {
        size_t at = c->n_fitting++,
               first = fleet_call_is_one(c) ? 0 : (c->target.page - 1U) * (size_t) FLEET_PAGE_ROWS;

        return at >= first && c->n_rows < FLEET_PAGE_ROWS ? &c->rows[c->n_rows++] : NULL;
}

static int take_file(FleetCall *c, const Argosy__Response__UnitFileRow *from) {
        FleetRow *row = room_for(c);

        if (!row)
                return 0;
        row->global = from->global;
        return set(&row->name, from->unit) < 0 || set(&row->node, from->node) < 0 ||
                               set(&row->desired, from->desired) < 0 || set(&row->current, from->state) < 0
                       ? -ENOMEM
                       : 0;
}

// A list has the units that are on a machine, also on one that is not heard (their state is unknown), and
// those that wait for one. Of a single unit there is always a row, since fleet's client reads none as a
// crash: what is only submitted is inactive.
static bool fits(const FleetCall *c, const Argosy__Response__UnitRow *row) {
        const FleetMachine *m = machine_of(c, row->node);

        if (fleet_call_is_one(c))
                return true;
        if (row->waits)
                return !c->target.machine_id;
        return m && (!c->target.machine_id || streq(m->id, c->target.machine_id));
}

static bool is_heard(const FleetCall *c, const char *node) {
        const FleetMachine *m = machine_of(c, node);

        return m && !m->is_gone;
}

// A question about one unit that runs on several machines is answered with the first machine that is heard.
static FleetRow *room_for_state(FleetCall *c, const Argosy__Response__UnitRow *from) {
        if (!fits(c, from))
                return NULL;
        if (fleet_call_is_one(c) && c->n_rows > 0) {
                if (is_heard(c, c->rows[0].node) || !is_heard(c, from->node))
                        return NULL;
                fleet_call_drop_rows(c, 0);
        }
        return room_for(c);
}

// In systemd's words, where argosy has none yet: "-" is what no systemd has been told of.
static const char *load_of(const Argosy__Response__UnitRow *from) {
        return from->waits || !*from->load || streq(from->load, "-") ? "not-found" : from->load;
}

static int take_state(FleetCall *c, const Argosy__Response__UnitRow *from) {
        FleetRow *row = room_for_state(c, from);

        if (!row)
                return 0;
        row->waits = from->waits;
        return set(&row->name, from->unit) < 0 || set(&row->node, from->node) < 0 ||
                               set(&row->load, load_of(from)) < 0 || set(&row->active, from->active) < 0 ||
                               set(&row->sub, from->sub) < 0
                       ? -ENOMEM
                       : 0;
}

// A list begins anew with its first part.
static bool follows(FleetCall *c, size_t first) {
        if (first == 0) {
                fleet_call_drop_rows(c, c->rows_before);
                c->n_fitting = c->fitting_before;
                c->n_seen = 0;
        }
        if (first == c->n_seen)
                return true;
        fleet_call_end(c, 503, "the leader changed in the middle of the list: ask again");
        return false;
}

// False: no place of that name can be kept.
static bool note_last(FleetPlace *place, const char *unit, const char *node) {
        return str_copy(place->unit, sizeof(place->unit), unit) &&
               str_copy(place->node, sizeof(place->node), node);
}

bool fleet_call_page_ended(const FleetCall *c, FleetPlace *ret) {
        const FleetRow *row = c->n_rows > 0 ? &c->rows[c->n_rows - 1] : NULL;

        return c->status == 200 && fleet_call_reads(c) && row && fleet_call_is_whole(c) &&
               c->n_fitting >= fleet_call_wanted(c) &&
               note_last(ret, row->name, fleet_call_is_of_states(c) ? row->node : "");
}

void fleet_call_begin_behind(FleetCall *c, const FleetPlace *place) {
        c->last = *place;
        c->n_fitting = (c->target.page - 1U) * (size_t) FLEET_PAGE_ROWS;
}

static int take_list(FleetCall *c, const Argosy__Response *r) {
        bool states = r->what_case == ARGOSY__RESPONSE__WHAT_UNITS;
        size_t n = states                                              ? r->units->n_rows
                   : r->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES ? r->unit_files->n_rows
                                                                       : 0;
        int status = 0;

        if (n == 0 || !follows(c, states ? r->units->first : r->unit_files->first))
                return 0;
        c->more = states ? r->units->more : r->unit_files->more;
        if (!note_last(&c->last, states ? r->units->rows[n - 1]->unit : r->unit_files->rows[n - 1]->unit,
                       states ? r->units->rows[n - 1]->node : ""))
                c->more = false;
        for (size_t i = 0; i < n && status == 0; i++)
                status = states ? take_state(c, r->units->rows[i]) : take_file(c, r->unit_files->rows[i]);
        c->n_seen += n;
        return status;
}

static int take_content(FleetCall *c, const Argosy__Response__Cat *cat) {
        for (size_t i = 0; i < c->n_rows; i++) {
                FleetRow *row = &c->rows[i];

                if (!streq(row->name, cat->name) || row->has_content)
                        continue;
                if (fleet_options_read((const char *) cat->content.data, cat->content.len, &row->options) <
                    0)
                        return -ENOMEM;
                row->has_content = true;
        }
        return 0;
}

// In one line, to be freed; NULL: out of memory.
static char *describe_wait(const char *message, Argosy__Refusal *const *refusals, size_t n_refusals) {
        _cleanup_buf_ Buf why = {};
        size_t n = MIN_OF(n_refusals, (size_t) FLEET_REFUSALS);
        int r = buf_printf(&why, "%s", message);

        for (size_t i = 0; i < n && r >= 0; i++)
                r = buf_printf(&why, "%s%s: %s", i == 0 ? ": " : "; ", refusals[i]->node,
                               refusals[i]->reason);
        if (n < n_refusals && r >= 0)
                r = buf_printf(&why, "; and so on, %zu nodes in all", n_refusals);
        return r < 0 ? NULL : buf_take_string(&why);
}

// A unit that has got a place since it was listed waits for none.
static int take_why(FleetCall *c, const Argosy__Response__Status *s) {
        for (size_t i = fleet_call_find_waiting(c, 0); i < c->n_rows;
             i = fleet_call_find_waiting(c, i + 1)) {
                char *text;

                if (!s->row || !*s->why || !streq(c->rows[i].name, s->row->unit))
                        continue;
                text = describe_wait(s->why, s->refusals, s->n_refusals);
                if (!text)
                        return -ENOMEM;
                free(c->rows[i].sub);
                c->rows[i].sub = text;
        }
        return 0;
}

// What waits for a place was taken: its state says why it waits. A client that starts a unit before the one
// that it is to be with (MachineOf=) goes on to start that one.
static void take_change(FleetCall *c, const Argosy__Response__Change *change) {
        for (size_t i = 0; i < change->n_units; i++) {
                const Argosy__Response__UnitResult *u = change->units[i];

                c->revision = u->revision;
                if (u->status != 0)
                        fleet_call_fail(c, u->status, u->message);
        }
}

// A unit that has gone since it was listed has no content, and no row either, and waits for nothing.
static bool is_gone(const FleetCall *c, const Argosy__Response *r) {
        return r->status == ENOENT &&
               (c->step == FLEET_ASKS_WHY ||
                (c->step == FLEET_ASKS_CONTENTS && r->what_case == ARGOSY__RESPONSE__WHAT_CAT));
}

int fleet_call_take(FleetCall *c, const Argosy__Response *r) {
        if (c->status != 0 || c->step == FLEET_WAITS || is_gone(c, r)) // how it ended, states say
                return 0;
        if (r->status != 0 || r->no_leader) {
                fleet_call_fail(c, r->no_leader ? EHOSTUNREACH : r->status, r->message);
                return 0;
        }
        switch (c->step) {
        case FLEET_ASKS_MACHINES:
                fleet_call_drop_machines(c);
                for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_NODES && i < r->nodes->n_rows; i++)
                        if (take_machine(c, r->nodes->rows[i]) < 0)
                                return -ENOMEM;
                return 0;
        case FLEET_ASKS_LIST:
                return take_list(c, r);
        case FLEET_ASKS_CONTENTS:
                return r->what_case == ARGOSY__RESPONSE__WHAT_CAT ? take_content(c, r->cat) : 0;
        case FLEET_ASKS_WHY:
                return r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY ? take_why(c, r->status_reply)
                                                                           : 0;
        case FLEET_CHANGES:
                if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE)
                        take_change(c, r->change);
                return 0;
        default:
                return 0;
        }
}
