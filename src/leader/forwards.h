// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests that other hosts forward.

#include "leader-core.h"

void forwards_on_request(Leader *l, Host *h, const Argosy__ToVoter__Forward *forward);
void forwards_on_cancel(Leader *l, Host *h, const Argosy__ToVoter__ForwardCancel *cancel);
void forwards_on_taken(Leader *l, Host *h, const Argosy__ToVoter__ForwardTaken *taken);
void forwards_on_link_lost(Leader *l, Host *h);
