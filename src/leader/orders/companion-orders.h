// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Templates that hosts are to have beside units which need them (companions.h): who is told which.

#include "leader-core.h"
#include "tables.h"

// A record has changed: its unit needs other templates, or needs them elsewhere; or it is such a template. 0
// or -ENOMEM.
int companion_orders_on_unit(Leader *l, const UnitEntry *e) _warn_unused_;
// All that the host is to have: a message, freed by the caller with companion_orders_free(). NULL: out of
// memory.
Argosy__Companions *companion_orders_new(Leader *l, Host *h);
void companion_orders_free(Argosy__Companions *m);
