// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How long a lease is when voters' configurations differ. Pure.
//
// The log says how long a lease may be that some host holds. A host keeps the lease that a leader gave it,
// so the next leader counts with the longer one of its own and the log's before it takes a host for lost. It
// gives a longer one only when the log says so, and the log says a shorter one only when no lease of former
// leaders can last any more.
//
//      own > logged    counted: own     given: logged, until the log has own
//      own < logged    counted: logged  given: own; the log gets own when a lease of the logged length has
//                                       passed since this leader leads
//
// 0 of the log: it does not say.

#include <stdbool.h>
#include <stdint.h>

uint32_t lease_length_counted_ms(uint32_t own_ms, uint32_t logged_ms);
uint32_t lease_length_given_ms(uint32_t own_ms, uint32_t logged_ms);
// When the log is to say our own, in boot time; 0: it does. `leads_us`: since when this leader leads.
uint64_t lease_length_log_at_us(uint32_t own_ms, uint32_t logged_ms, uint64_t leads_us);
