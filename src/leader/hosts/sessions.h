// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts: attach and welcome, beats, losing a host.

#include "leader-core.h"

void session_on_attach(Leader *l, Host *h, const Argosy__ToVoter__Attach *attach);
void session_on_attach_part(Leader *l, Host *h, const Argosy__ToVoter__AttachPart *part);
void session_on_beat(Leader *l, Host *h, const Argosy__ToVoter__Beat *beat);
// The host has taken what it was told.
void session_on_drained(Leader *l, Host *h);
// What waited for authority.
void sessions_acknowledge(Leader *l);
void session_on_goodbye(Leader *l, Host *h, const Argosy__ToVoter__Goodbye *goodbye);
void session_on_node_reports(Leader *l, Host *h, Argosy__NodeReport *const *reports, size_t n);
void session_on_admits(Leader *l, Host *h, const Argosy__ToVoter__Admits *admits);
void session_on_fleet_units(Leader *l, Host *h, const Argosy__FleetUnits *said);
void session_on_reports(Leader *l, Host *h, const Argosy__ToVoter__Reports *reports);
void session_on_link_lost(Leader *l, Host *h);
// Leases expire, in each turn those of hosts with so many units; Leader.leases_due_us: there may be more.
void sessions_on_time(Leader *l);
bool sessions_expire_some(Leader *l); // the rest of these; true: nothing is left
void sessions_start_barrier(Leader *l);
void host_lose(Leader *l, Host *h);
void sessions_retire(Leader *l); // a term is over: nothing is due any more
