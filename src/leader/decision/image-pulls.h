// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts have the image of an update before it begins. See image-pulls.c.

#include "tickets.h"

// Behind image_pinning_admit(): STEP_PASSED: hosts that will need the image have it, or are in
// Ticket.without; PLAN_SETTLED: hosts are asked, or the ticket was answered; -ENOMEM.
int image_pulls_admit(Ticket *t);
// Whether hosts are asked at present, so that nothing is to be decided.
bool image_pulls_wait(const Ticket *t);
