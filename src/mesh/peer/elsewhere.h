// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where else a voter may be than where the log says. Pure.
//
// The log says where it was when a leader last heard it. Since then it may have got another address, and
// without a majority the log cannot learn of it. Whatever else is known is worth a try: its key says whether
// it is the one.

#include <stdbool.h>

#include "mesh-peer.h"

enum { ELSEWHERE_GIVEN_MAX = 4 };

typedef struct Elsewhere { // empty: not known
        MeshAddress seen;                            // whence it dialled us
        MeshAddress announced;                       // as another voter says
        MeshAddress by_hand[ELSEWHERE_GIVEN_MAX];    // `argosyctl cluster peers`
} Elsewhere;

// Where to dial it first: the name that it was configured to have, else its address. Empty: not known.
MeshAddress elsewhere_first(const MeshPeer *peer);
// The next of the other places, counted by *at, from 0; each once. False: that was all.
bool elsewhere_next(const Elsewhere *e, const MeshPeer *peer, unsigned *at, MeshAddress *ret);
