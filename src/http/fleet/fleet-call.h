// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One request of fleet's API, from its first line to its answer. Pure: its owner asks the leader what it
// says, and hands it the responses.
//
//      fleet_call_parse() -> fleet_call_read(), if it has a body -> fleet_call_next() -> fleet_call_take()
//      ... -> fleet_call_answer()
//
// Machines are asked for first, since fleet calls them by their machine id; then the list, of which no more
// than one page is kept, and the contents of what stands on it, and why it waits, if it does. What changes
// something looks at the unit first, as fleet does: which status is answered depends on it. In between
// somebody else may change it; the change is judged by the leader, as any other.

#include <cjson/cJSON.h>

#include "argosy.pb-c.h"
#include "fleet-body.h"
#include "fleet-page.h"
#include "fleet-target.h"
#include "unit-name.h"

typedef enum FleetStep {
        FLEET_BEGINS,
        FLEET_ASKS_MACHINES,
        FLEET_ASKS_LIST,
        FLEET_ASKS_CONTENTS,
        FLEET_ASKS_WHY, // of what waits for a place
        FLEET_CHANGES,
        FLEET_WAITS, // until it has stopped
        FLEET_LABELS,
        FLEET_ENDS
} FleetStep;

typedef struct FleetMachine {
        char *node, *id, *address;
        bool is_machine; // and no manager of a user or a container on it
        bool is_gone;    // it is not heard, and so is none to fleet
        Argosy__Label **labels;
        size_t n_labels;
} FleetMachine;

// A row of the page that was asked for.
typedef struct FleetRow {
        char *name, *node;
        char *desired, *current;   // of a unit
        char *load, *active, *sub; // of a state
        bool global, has_content;
        bool waits; // for a place: `sub` says why
        FleetOptions options; // has_content
} FleetRow;

enum {
        FLEET_NODE_SIZE = 256,
        // A waiting unit has a reason of each node, and the leader makes all of one request in one turn: so
        // many in one request.
        FLEET_REASONS_MAX = 2048,
};

// A row of a list. Zero-initialised: none.
typedef struct FleetPlace {
        char unit[UNIT_NAME_MAX + 1], node[FLEET_NODE_SIZE];
} FleetPlace;

typedef struct FleetCall {
        FleetTarget target;
        FleetUnit unit;       // of a PUT
        FleetPatches patches; // of a PATCH
        FleetStep step;
        size_t patch; // that is made
        size_t explained; // rows of which it was asked why they wait, if they do
        FleetMachine *machines;
        size_t n_machines;
        FleetRow rows[FLEET_PAGE_ROWS];
        size_t n_rows;
        size_t n_seen;     // rows of the list as it comes, also those of other pages
        size_t n_fitting;  // rows that fit, those of the pages before among them
        FleetPlace behind; // the list is asked for from there on
        FleetPlace last;   // row that was seen
        size_t rows_before, fitting_before; // when it was asked for
        bool more;         // and there is more of it
        bool made;         // a unit, or its content
        uint64_t revision; // of what was changed
        bool was_launched; // and is to be shown so once more
        unsigned status;   // 0: not known yet
        char *message;     // of an error
} FleetCall;

// Pages have numbers, so a page begins where the one before it ended. Keeping the ends of pages spares the
// next one a walk through all of them.
//
// Whether it is answered with a page of a list of all there is, with rows behind it: *ret is where it ended.
bool fleet_call_page_ended(const FleetCall *c, FleetPlace *ret);
// Whether it is to be such a page, and not the first. If so, before anything is asked: it begins behind that
// row.
bool fleet_call_is_later_page(const FleetCall *c);
void fleet_call_begin_behind(FleetCall *c, const FleetPlace *place);
// Whether it has stopped a unit that was launched; and whether it shows one of that name as loaded.
bool fleet_call_stops(const FleetCall *c);
bool fleet_call_shows_loaded(const FleetCall *c);
FleetCall *fleet_call_new(void);
FleetCall *fleet_call_free(FleetCall *c); // NULL, and takes NULL

// Parses the request's first line. 0; or the status with which it is refused, and *ret_why, borrowed.
unsigned fleet_call_parse(FleetCall *c, const char *target, const char *method, const char **ret_why);
// The same by its body: that of a unit is an object, that of patches an array.
unsigned fleet_call_read(FleetCall *c, const cJSON *body, char **ret_why);
// 1 and a request, to be freed; 0: its answer is known; -ENOMEM.
int fleet_call_next(FleetCall *c, Argosy__Request **ret);
// One response to that. 0 or -ENOMEM.
int fleet_call_take(FleetCall *c, const Argosy__Response *r);
// It cannot be asked: a positive errno value.
void fleet_call_fail(FleetCall *c, int error, const char *why);
// The status, and the document, to be freed; *ret NULL: there is none. 0: out of memory.
unsigned fleet_call_answer(const FleetCall *c, char **ret);
// The document of an error, to be freed; NULL: out of memory.
char *fleet_error(unsigned status, const char *message);
// What there is, for programs that make clients of it; to be freed. NULL: out of memory.
char *fleet_discovery(void);
