// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a case of turn-cases.h asks the leader of the large cluster.

#include "leader-asks.h"

enum { TURNS = 400 }; // of the loop, that a question is given at least

extern uint64_t ask_if_revision; // that requests are bound to; 0: to none
extern bool ask_hold;            // requests are held back until somebody lets them go

ProtobufCBinaryData new_id(void); // of a request; valid until 64 more were made
// `message`: of the kind `what`. The answer is the rig's.
RigAnswer *ask(Argosy__Request__WhatCase what, void *message);
RigAnswer *ask_and_turn(Argosy__Request__WhatCase what, void *message);
// The first answer; a case about something that is refused at once measures nothing.
const Argosy__Response *taken(const RigAnswer *a);
Argosy__NamedFile *file_of(const char *name, const char *content); // valid until the next one
void change_access(void);
// Calls `f`, which asks as somebody who has a right for the units of one role.
void as_joe(void (*f)(void));
