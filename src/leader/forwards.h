// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests that other hosts forward.

#include "leader-core.h"

void forwards_on_request(Leader *l, Host *h, const Argosy__ToVoter__Forward *forward);
void forwards_on_cancel(Leader *l, Host *h, const Argosy__ToVoter__ForwardCancel *cancel);
void forwards_on_taken(Leader *l, Host *h, const Argosy__ToVoter__ForwardTaken *taken);
void forwards_on_link_lost(Leader *l, Host *h);
// The host has taken what it was told.
void forwards_on_drained(Host *h);
// For one more that takes so many bytes of memory.
bool forwards_have_room(const Host *h, size_t bytes);
