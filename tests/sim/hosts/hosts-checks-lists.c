// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of what the list of units says when all is mended, against what the machines' PIDs 1 have: whatever
// was not told to argosyd, or was told twice,
// it has found out by then.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "fake-pid1.h"
#include "hash.h"
#include "hosts-checks.h"
#include "hosts-members.h"
#include "hosts-story.h"
#include "message.h"
#include "sim-client.h"
#include "sim-host.h"
#include "str.h"
#include "test.h"
#include "unit-state.h"

#define CALM_US (180 * USEC_PER_SEC) // by then what must come true has
#define ANSWER_US (30 * USEC_PER_SEC)
enum { WORDS_SIZE = 256 };

static bool is_final(void *data) {
        return ((const SimAsk *) data)->final;
}

// NULL: it is not answered whole, since the leader changes.
static const Argosy__Response *ask_for(const Argosy__Request *request, Argosy__Response__WhatCase what) {
        uint32_t at = members_or_next(1);
        SimAsk *ask;

        if (at == 0)
                return NULL;
        ask = sim_client_send(at, NULL, request);
        if (!sim_run_until(is_final, ask, ANSWER_US) || ask->error < 0 || !ask->last ||
            ask->last->what_case != what)
                return NULL;
        return ask->last;
}

static const Argosy__Response__Units *ask_list(void) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const Argosy__Response *r;

        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        r = ask_for(&request, ARGOSY__RESPONSE__WHAT_UNITS);
        return r ? r->units : NULL;
}

const Argosy__Response__Nodes *hosts_checks_ask_nodes(void) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const Argosy__Response *r;

        request.what_case = ARGOSY__REQUEST__WHAT_LIST_NODES;
        request.list_nodes = &list;
        r = ask_for(&request, ARGOSY__RESPONSE__WHAT_NODES);
        return r ? r->nodes : NULL;
}

uint32_t hosts_checks_place_of(const char *node) {
        unsigned number;

        if (sscanf(node, "n%u", &number) != 1 || !sim_machine(number))
                return 0;
        return number + (strchr(node, '/') ? SIM_USER_PLACE : 0);
}

static const Argosy__Response__UnitRow *find_row(const Argosy__Response__Units *list, const char *unit,
                                                 uint32_t place) {
        for (size_t i = 0; i < list->n_rows; i++)
                if (hosts_checks_place_of(list->rows[i]->node) == place && streq(list->rows[i]->unit, unit))
                        return list->rows[i];
        return NULL;
}

// What it runs now, if its list of units may say so.
static bool runs(uint32_t place, const char *unit) {
        FakePid1 *p = sim_place_pid1(place);

        return p && members_is_in(sim_place_number(place)) &&
               !active_state_is_down(pid1_active_state(p, unit));
}

static void compare_state(uint32_t place, unsigned i, const Argosy__Response__Units *list, char *ret) {
        const char *unit = asks.units[i].name,
                   *is = active_state_to_string(pid1_active_state(sim_place_pid1(place), unit));
        const Argosy__Response__UnitRow *row = find_row(list, unit, place);

        if (row && !streq(row->active, is))
                str_fit(ret, WORDS_SIZE, "%s is %s on %s, and the list says %s", unit, is,
                        sim_place_name(place), row->active);
        else if (!row && runs(place, unit))
                str_fit(ret, WORDS_SIZE, "%s is %s on %s, and the list does not have it", unit, is,
                        sim_place_name(place));
}

// A content that is not what runs is said to be newer than that.
static void compare_content(uint32_t place, unsigned i, const Argosy__Response__Units *list, char *ret) {
        const char *unit = asks.units[i].name, *content = pid1_running(sim_place_pid1(place), unit);
        const Argosy__Response__UnitRow *row = find_row(list, unit, place);
        char hex[HASH_HEX_SIZE];
        Hash hash;

        if (!row || !content || !runs(place, unit))
                return;
        check_says("contents-are-told");
        hash = hash_of(content, strlen(content));
        hash_hex(&hash, HASH_SIZE, hex);
        if (!row->file_stale && !streq(row->spec, hex))
                str_fit(ret, WORDS_SIZE, "%s runs with %.12s on %s, and the list says %.12s", unit, hex,
                        sim_place_name(place), row->spec);
}

typedef void (*Compare)(uint32_t place, unsigned i, const Argosy__Response__Units *list, char *ret);

// Empty: it is true.
static void compare_all(Compare compare, char *ret) {
        const Argosy__Response__Units *list = ask_list();

        *ret = 0;
        if (!list)
                str_fit(ret, WORDS_SIZE, "there is no list");
        sim_foreach_place(place) for (unsigned i = 0; list && i < asks.n_units && !*ret;
                                      i++) if (members_is_in(sim_place_number(place)) &&
                                               sim_place_pid1(place)) compare(place, i, list, ret);
}

static void check_all(const char *check, Compare compare) {
        uint64_t until_us = sim_now_us() + CALM_US;
        char words[WORDS_SIZE];

        for (compare_all(compare, words); *words && sim_now_us() < until_us; compare_all(compare, words))
                (void) sim_run_for(USEC_PER_SEC);
        if (*words)
                check_fail(check, "%s", words);
}

void lists_on_calm(void) {
        sim_foreach_place(place) for (unsigned i = 0; i < asks.n_units;
                                      i++) if (runs(place, asks.units[i].name)) check_says("lists-are-true");
        check_all("lists-are-true", compare_state);
}

void contents_on_calm(void) {
        check_all("contents-are-told", compare_content);
}

// ------------------------------------------------------------------------------------------------ addresses

// Empty: it is true.
static void compare_addresses(char *ret) {
        const Argosy__Response__Nodes *list = hosts_checks_ask_nodes();

        *ret = 0;
        if (!list)
                str_fit(ret, WORDS_SIZE, "there is no list of nodes");
        for (size_t i = 0; list && i < list->n_rows && !*ret; i++) {
                const SimMachine *m = sim_place_machine(hosts_checks_place_of(list->rows[i]->node));

                if (!m || !members_is_in(m->number))
                        continue;
                check_says("addresses-are-told");
                if (!streq(list->rows[i]->address, sim_machine_address(m)))
                        str_fit(ret, WORDS_SIZE, "n%u has %s, and the list of nodes says %s", m->number,
                                sim_machine_address(m),
                                *list->rows[i]->address ? list->rows[i]->address : "nothing");
        }
}

void addresses_on_calm(void) {
        uint64_t until_us = sim_now_us() + CALM_US;
        char words[WORDS_SIZE];

        for (compare_addresses(words); *words && sim_now_us() < until_us; compare_addresses(words))
                (void) sim_run_for(USEC_PER_SEC);
        if (*words)
                check_fail("addresses-are-told", "%s", words);
}
