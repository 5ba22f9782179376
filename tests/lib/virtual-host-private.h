// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One VirtualHost in four files:
//
//   virtual-host.c         the session: Attach, Welcome, beats, the end of a lease, Goodbye
//   virtual-host-units.c   what it holds: orders, starts and stops, reports
//   virtual-host-files.c   files that contents name: asked for, and whose units wait
//   virtual-host-calls.c   what the leader asks it

#include "carried-files.h"
#include "virtual-host.h"

typedef struct VirtualContent {
        Hash hash;
        CarriedFiles files; // that it names
} VirtualContent;

// virtual-host.c
int virtual_host_send(VirtualHost *h, Argosy__ToVoter__MsgCase what, void *message);

// virtual-host-units.c
void virtual_host_learn(VirtualHost *h, Argosy__Spec *const *specs, size_t n);
void virtual_host_forget_contents(VirtualHost *h);
// Orders of a session that has been welcomed; or those of a Welcome, which name all that is to stay.
void virtual_host_obey(VirtualHost *h, Argosy__UnitOrder *const *orders, size_t n);
void virtual_host_obey_wanted(VirtualHost *h, Argosy__UnitOrder *const *orders, size_t n);
void virtual_host_drop_unnamed(VirtualHost *h);
void virtual_host_drop_final_reports(VirtualHost *h); // an Attach says the same
// One for each unit, in one piece of memory that begins at *ret[0].
void virtual_host_held(const VirtualHost *h, Argosy__UnitReport ***ret, size_t *ret_n);
void virtual_host_held_free(Argosy__UnitReport **held);
const char *virtual_unit_sub(const VirtualUnit *u);
bool virtual_unit_is_under_way(const VirtualUnit *u);

// virtual-host-calls.c
void virtual_host_answer(VirtualHost *h, const Argosy__ToHost__Call *call);

// virtual-host-files.c
bool virtual_host_has_files(const VirtualHost *h, const VirtualContent *c);
void virtual_host_fetch(VirtualHost *h, const VirtualContent *c); // those that it does not have
void virtual_host_ask_for_files(VirtualHost *h);                  // for what is next, once in a session
void virtual_host_on_piece(VirtualHost *h, const Argosy__ToHost__FilePiece *piece);
void virtual_host_forget_files(VirtualHost *h);
// virtual-host-units.c: a unit that waits for it, or NULL
const char *virtual_host_awaits(VirtualHost *h, const Hash *file, const char *but);
void virtual_host_on_file(VirtualHost *h); // virtual-host-units.c: one more is here
