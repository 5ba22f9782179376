// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Files that come with units, to the hosts that ask for them.

#include "leader-core.h"

enum {
        FILE_PIECE_BYTES = 64 * 1024, // of one message, so that beats are not held up long
        FILE_PIECES_PER_TURN = 16,    // to as many hosts: 1 MiB takes about 2 ms until the kernel has it
};

void file_pieces_on_ask(Leader *l, Host *h, const Argosy__ToVoter__FileAsk *ask);
void file_pieces_turn(Leader *l); // once in each turn
void file_pieces_clear(Leader *l); // a term is over: nobody is answered any more
