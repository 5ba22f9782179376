// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the files of src/agent show each other, all of it: for tests that look inside, and for nobody else.

#include "agent-calls-status.h"
#include "agent-calls.h"
#include "agent-core.h"
#include "agent-nodes.h"
#include "agent-search.h"
#include "agent-spec.h"
#include "agent-step.h"
#include "agent-steps.h"
#include "agent-systemd.h"
#include "agent-unit.h"
