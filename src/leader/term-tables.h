// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The tables of the leader: what each of them does in the life of a term.

#include "leader-core.h"

void term_tables_begin(Leader *l); // a term begins: nothing was followed yet
void term_tables_on_applied(
        Leader *l);                  // the log has applied an entry, and its hosts and units were followed
void term_tables_on_time(Leader *l); // something may be due
uint64_t term_tables_next_deadline(Leader *l, uint64_t now_us); // boot time; 0: nothing is due by time alone
// A term is over, and all requests were answered. Of what the tables had, that which is large goes to the
// pool (retired-tables.h).
void term_tables_retire(Leader *l);
