// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Files that come with units, to the hosts that ask for them.

#include "leader-core.h"

void file_pieces_on_ask(Leader *l, Host *h, const Argosy__ToVoter__FileAsk *ask);
void file_pieces_on_drained(Leader *l, Host *h); // it takes more again
void file_pieces_on_session_ended(Host *h);
void file_pieces_turn(Leader *l); // once in each turn
