// SPDX-License-Identifier: LGPL-2.1-or-later

// See fleet-call.h. What a step needs is there when it is asked for; a step that a request does not need is
// passed over. The first error ends it: nothing more is asked then. What comes back is taken by
// fleet-call-take.c.
//
// Whatever nobody leads is answered as by a fleet without etcd.

#include "fleet-call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet-call-private.h"
#include "macro.h"
#include "message-of.h"
#include "message.h"
#include "random.h"
#include "request-key.h"
#include "str.h"

static const char no_leader[] = "fleet server unable to communicate with etcd";

// ---- life

FleetCall *fleet_call_new(void) {
        return calloc(1, sizeof(FleetCall));
}

void fleet_call_drop_rows(FleetCall *c, size_t first) {
        for (size_t i = first; i < c->n_rows; i++) {
                FleetRow *row = &c->rows[i];
                char *texts[] = {row->name, row->node,   row->desired, row->current,
                                 row->load, row->active, row->sub};

                for (size_t k = 0; k < ELEMENTSOF(texts); k++)
                        free(texts[k]);
                fleet_options_done(&row->options);
                *row = (FleetRow){};
        }
        c->n_rows = first;
}

void fleet_call_drop_machines(FleetCall *c) {
        for (size_t i = 0; i < c->n_machines; i++) {
                FleetMachine *m = &c->machines[i];

                free(m->node);
                free(m->id);
                free(m->address);
                for (size_t k = 0; k < m->n_labels; k++)
                        message_free(m->labels[k]);
                free(m->labels);
        }
        free(c->machines);
        c->machines = NULL;
        c->n_machines = 0;
}

FleetCall *fleet_call_free(FleetCall *c) {
        if (!c)
                return NULL;
        fleet_call_drop_rows(c, 0);
        fleet_call_drop_machines(c);
        fleet_target_done(&c->target);
        fleet_unit_done(&c->unit);
        fleet_patches_done(&c->patches);
        free(c->message);
        free(c);
        return NULL;
}

// ---- what is asked for

unsigned fleet_call_parse(FleetCall *c, const char *target, const char *method, const char **ret_why) {
        return fleet_target_parse(target, method, &c->target, ret_why);
}

unsigned fleet_call_read(FleetCall *c, const cJSON *body, char **ret_why) {
        int r = c->target.method == FLEET_PUT ? fleet_body_read_unit(body, c->target.name, &c->unit, ret_why)
                                              : fleet_body_read_patches(body, &c->patches, ret_why);

        return r == 0 ? 0 : r == -EINVAL ? 400 : 503;
}

void fleet_call_end(FleetCall *c, unsigned status, const char *why) {
        if (c->status != 0)
                return;
        c->status = status;
        c->step = FLEET_ENDS;
        c->message = why ? strdup(why) : NULL;
}

static unsigned status_of(int error) {
        switch (error) {
        case EINVAL:
        case EBADMSG:
        case E2BIG:
                return 400;
        case EKEYREJECTED:
        case EKEYEXPIRED:
        case EKEYREVOKED:
                return 401;
        case EACCES:
        case EPERM:
                return 403;
        case ENOENT:
                return 404;
        case EBUSY:
        case EAGAIN:
        case ENOMEM:
        case ESHUTDOWN:
        case EHOSTUNREACH:
        case ETIMEDOUT:
        case EINPROGRESS:
        case ECONNRESET:
                return 503;
        default: // what the cluster does not do as it is
                return 409;
        }
}

void fleet_call_fail(FleetCall *c, int error, const char *why) {
        bool unreachable =
                error == EHOSTUNREACH || error == ETIMEDOUT || error == EINPROGRESS || error == ECONNRESET;

        fleet_call_end(c, status_of(error), unreachable ? no_leader : why);
}

// The leader takes patterns where fleet has names. A name of a unit has none of these.
static bool names_nothing(const FleetCall *c) {
        const char *name = fleet_call_is_one(c) ? c->target.name : c->target.unit_name;

        return name && strpbrk(name, "*?[");
}

// ---- what follows from what was seen

// Whether there is something to change, or else the answer.
static void judge_put(FleetCall *c) {
        const FleetRow *row = c->n_rows > 0 ? &c->rows[0] : NULL;
        int same = row && c->unit.options.n > 0 ? fleet_options_equal(&row->options, &c->unit.options) : 1;

        if (same < 0)
                fleet_call_fail(c, ENOMEM, "this host has no memory for the request");
        else if (!row && c->unit.options.n == 0)
                fleet_call_end(c, 409, "unit does not exist and options field empty");
        else if (row && same && !c->unit.has_desired)
                fleet_call_end(c, 409, "must provide DesiredState to update existing unit");
        else
                c->made = !row || !same;
}

static void judge(FleetCall *c) {
        if (c->target.method == FLEET_PUT)
                judge_put(c);
        else if (c->n_rows == 0 && c->target.method == FLEET_DELETE)
                fleet_call_end(c, 404, "unit does not exist");
}

bool fleet_call_stops(const FleetCall *c) {
        return c->target.method == FLEET_PUT && (c->status == 0 || c->status == 204) && c->n_rows > 0 &&
               !c->made && c->unit.has_desired && c->unit.desired == ARGOSY__TARGET__TARGET_LOADED &&
               streq(c->rows[0].desired, "launched") && !c->rows[0].global;
}

bool fleet_call_shows_loaded(const FleetCall *c) {
        return fleet_call_reads(c) && c->target.resource == FLEET_UNIT && c->n_rows > 0 &&
               streq(c->rows[0].desired, "loaded");
}

// ---- requests

static Argosy__Request *ask_machines(void) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request q = REQUEST_OF(LIST_NODES, list_nodes, &m);

        return message_copy(&q);
}

bool fleet_call_is_later_page(const FleetCall *c) {
        return fleet_call_reads(c) && c->target.resource != FLEET_DISCOVERY && fleet_call_is_whole(c) &&
               c->target.page > 1;
}

static Argosy__ListFilter *filter_of(FleetCall *c, Argosy__ListFilter *filter) {
        *filter = (Argosy__ListFilter) ARGOSY__LIST_FILTER__INIT;
        filter->limit = (uint32_t) (fleet_call_wanted(c) - c->n_fitting);
        filter->after = c->behind.unit;
        filter->after_node = c->behind.node;
        return fleet_call_is_whole(c) ? filter : NULL;
}

static Argosy__Request *ask_list(FleetCall *c) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__ListFilter filter;
        Argosy__Request__ListUnits units = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request__ListUnitFiles files = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        char *name = fleet_call_is_one(c) ? c->target.name : c->target.unit_name;

        c->behind = c->last;
        c->rows_before = c->n_rows;
        c->fitting_before = c->n_fitting;
        c->n_seen = 0;
        c->more = false;
        units.filter = files.filter = filter_of(c, &filter);
        if (fleet_call_is_of_states(c)) {
                q.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
                q.list_units = &units;
                units.patterns = &name;
                units.n_patterns = name != NULL;
                units.parts = true;
        } else {
                q.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
                q.list_unit_files = &files;
                files.patterns = &name;
                files.n_patterns = name != NULL;
                files.parts = true;
        }
        return message_copy(&q);
}

// Asks for contents, of states only for the hash. Units of one name stand behind each other.
static Argosy__Request *ask_contents(FleetCall *c) {
        Argosy__Request__Cat m = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request q = REQUEST_OF(CAT, cat, &m);
        char *names[FLEET_PAGE_ROWS];

        m.names = names;
        for (size_t i = 0; i < c->n_rows; i++)
                if (i == 0 || !streq(c->rows[i].name, c->rows[i - 1].name))
                        names[m.n_names++] = c->rows[i].name;
        return message_copy(&q);
}

// The first row from there on of a unit that waits for a place; n_rows: there is none.
size_t fleet_call_find_waiting(const FleetCall *c, size_t from) {
        while (from < c->n_rows && !c->rows[from].waits)
                from++;
        return from;
}

// Asks why, for at least one of the units that wait; the next request goes on behind them.
static Argosy__Request *ask_why(FleetCall *c) {
        Argosy__Request__Why m = ARGOSY__REQUEST__WHY__INIT;
        Argosy__Request q = REQUEST_OF(WHY, why, &m);
        size_t most = MAX_OF(FLEET_REASONS_MAX / MAX_OF(c->n_machines, (size_t) 1), (size_t) 1), i;
        char *names[FLEET_PAGE_ROWS];

        m.names = names;
        for (i = fleet_call_find_waiting(c, c->explained); i < c->n_rows && m.n_names < most;
             i = fleet_call_find_waiting(c, i + 1))
                names[m.n_names++] = c->rows[i].name;
        c->explained = i;
        return message_copy(&q);
}

static Argosy__Verb verb_of(const FleetCall *c) {
        const char *now = c->n_rows > 0 ? c->rows[0].desired : "inactive";

        if (c->target.method == FLEET_DELETE)
                return ARGOSY__VERB__VERB_DESTROY;
        // A new content of which nothing is said is to be inactive, also of a unit that runs: fleet's client
        // waits for that before it says what is to become of it.
        switch (c->unit.has_desired ? c->unit.desired : ARGOSY__TARGET__TARGET_INACTIVE) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return ARGOSY__VERB__VERB_START;
        case ARGOSY__TARGET__TARGET_LOADED:
                return streq(now, "launched") ? ARGOSY__VERB__VERB_STOP : ARGOSY__VERB__VERB_LOAD;
        default:
                return c->n_rows == 0 || (c->made && streq(now, "inactive")) ? ARGOSY__VERB__VERB_SUBMIT
                                                                             : ARGOSY__VERB__VERB_UNLOAD;
        }
}

static Argosy__Request *ask_change(const FleetCall *c) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request q = REQUEST_OF(CHANGE, change, &m);
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint8_t id[REQUEST_KEY_ID_SIZE];
        _cleanup_buf_ Buf text = {};
        char *name = c->target.name;

        random_bytes(id, sizeof(id));
        q.job = &job;
        job.targets = &name;
        job.n_targets = 1;
        m.id = (ProtobufCBinaryData){sizeof(id), id};
        m.verb = verb_of(c);
        m.names = &name;
        m.n_names = 1;
        if (c->made) {
                if (fleet_options_write(&c->unit.options, &text) < 0)
                        return NULL;
                file.name = file.path = name;
                file.content = (ProtobufCBinaryData){text.len, text.data};
                m.files = &files;
                m.n_files = 1;
                m.replace = true;
        }
        return message_copy(&q);
}

// fleet's client reads states to see what became of a request, so it never waits here for long: the owner of
// the call says when it was long enough.
static Argosy__Request *ask_wait(const FleetCall *c) {
        Argosy__Request__Wait m = MESSAGE_OF(request__wait, .verb = ARGOSY__VERB__VERB_STOP);
        Argosy__Request q = REQUEST_OF(WAIT, wait, &m);
        Argosy__Request__Wait__Item item = ARGOSY__REQUEST__WAIT__ITEM__INIT, *items = &item;

        m.items = &items;
        m.n_items = 1;
        item.name = c->target.name;
        item.revision = c->revision;
        return message_copy(&q);
}

static const FleetMachine *find_machine(const FleetCall *c, const char *id) {
        for (size_t i = 0; i < c->n_machines; i++)
                if (c->machines[i].is_machine && streq(c->machines[i].id, id))
                        return &c->machines[i];
        return NULL;
}

// All of them are known to be there before the first is made.
static void judge_patches(FleetCall *c) {
        for (size_t i = 0; i < c->patches.n; i++)
                if (!find_machine(c, c->patches.list[i].machine))
                        fleet_call_end(c, 404, "machine does not exist");
}

// Those of one machine that stand behind each other are one change.
static Argosy__Request *ask_labels(FleetCall *c) {
        Argosy__Request__LabelChange m = ARGOSY__REQUEST__LABEL_CHANGE__INIT;
        Argosy__Request q = REQUEST_OF(LABEL_CHANGE, label_change, &m);
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        const FleetPatch *p = &c->patches.list[c->patch++];
        Argosy__Label label = ARGOSY__LABEL__INIT, *labels = &label;
        char *key = p->key;
        uint8_t id[REQUEST_KEY_ID_SIZE];

        random_bytes(id, sizeof(id));
        q.job = &job;
        job.id = (ProtobufCBinaryData){sizeof(id), id};
        m.node = find_machine(c, p->machine)->node;
        if (p->value) {
                label.key = p->key;
                label.value = p->value;
                m.set = &labels;
                m.n_set = 1;
        } else {
                m.unset = &key;
                m.n_unset = 1;
        }
        return message_copy(&q);
}

// ---- one step after the other

static bool is_needed(const FleetCall *c, FleetStep step) {
        bool lists = !fleet_call_is_of_machines(c) && c->target.resource != FLEET_DISCOVERY;

        switch (step) {
        case FLEET_ASKS_MACHINES:
                return fleet_call_reads(c) ? c->target.resource != FLEET_DISCOVERY
                                           : fleet_call_is_of_machines(c);
        case FLEET_ASKS_LIST:
                return lists && !names_nothing(c);
        case FLEET_ASKS_CONTENTS:
                return lists && c->n_rows > 0 && (fleet_call_reads(c) || c->unit.options.n > 0);
        case FLEET_ASKS_WHY:
                return fleet_call_reads(c) && fleet_call_find_waiting(c, 0) < c->n_rows;
        case FLEET_CHANGES:
                return lists && !fleet_call_reads(c);
        case FLEET_WAITS:
                return fleet_call_stops(c);
        case FLEET_LABELS:
                return c->patch < c->patches.n;
        default:
                return true;
        }
}

static void end_well(FleetCall *c) {
        if (fleet_call_reads(c) && fleet_call_is_one(c) && c->n_rows == 0)
                fleet_call_end(c, 404,
                               fleet_call_is_of_states(c) ? "unit state does not exist"
                                                          : "unit does not exist");
        else
                fleet_call_end(c,
                               fleet_call_reads(c)                        ? 200
                               : c->target.method == FLEET_PUT && c->made ? 201
                                                                          : 204,
                               NULL);
}

static Argosy__Request *ask(FleetCall *c) {
        switch (c->step) {
        case FLEET_ASKS_MACHINES:
                return ask_machines();
        case FLEET_ASKS_LIST:
                return ask_list(c);
        case FLEET_ASKS_CONTENTS:
                return ask_contents(c);
        case FLEET_ASKS_WHY:
                return ask_why(c);
        case FLEET_CHANGES:
                return ask_change(c);
        case FLEET_WAITS:
                return ask_wait(c);
        default:
                return ask_labels(c);
        }
}

// A step that is not done with one request.
static bool goes_on(const FleetCall *c) {
        return (c->step == FLEET_LABELS && is_needed(c, FLEET_LABELS)) ||
               (c->step == FLEET_ASKS_LIST && c->more && c->n_fitting < fleet_call_wanted(c)) ||
               (c->step == FLEET_ASKS_WHY && fleet_call_find_waiting(c, c->explained) < c->n_rows);
}

int fleet_call_next(FleetCall *c, Argosy__Request **ret) {
        if (c->step < FLEET_ENDS && !goes_on(c))
                do
                        c->step++;
                while (!is_needed(c, c->step));
        if (c->step == FLEET_CHANGES)
                judge(c);
        if (c->step == FLEET_LABELS && c->patch == 0)
                judge_patches(c);
        if (c->step == FLEET_ENDS) {
                end_well(c);
                return 0;
        }
        *ret = ask(c);
        return *ret ? 1 : -ENOMEM;
}
