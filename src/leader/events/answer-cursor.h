// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Answers to changes say where in the stream of events they are.

#include "leader-core.h"

// What the pending request asks for goes into the log's next entry.
void answer_cursor_note(const Leader *l, PendingRequest *t);
// Leader.on_answer. Without memory the answer has no cursor.
void answer_cursor_add(PendingRequest *t, Argosy__Response *response);
