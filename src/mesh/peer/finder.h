// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Looks for a voter that does not answer where the log says; its owner is the link to that voter.

#include <stdbool.h>
#include <uv.h>

#include "elsewhere.h"
#include "mesh-peer.h"
#include "stream.h"

enum { FINDER_PATIENCE_MS = 500 }; // for a dial, before the voter is looked for elsewhere too

typedef struct FinderOps {
        void (*found)(void *userdata);  // finder_where() is another place: it answers there
        void (*closed)(void *userdata); // after finder_close(): nothing is under way any more
} FinderOps;

typedef struct Finder {
        uv_loop_t *loop;
        TlsContext *tls;
        const MeshPeer *peer; // the owner's
        const FinderOps *ops;
        void *userdata;
        MeshAddress found; // where it answered other than where it is dialled first; empty: nowhere
        Elsewhere elsewhere;
        Stream *probe; // to `probed`; NULL: none under way
        MeshAddress probed;
        unsigned probed_at;
        bool probe_again; // there is news: from the beginning, when this one has ended
        bool resting, closing;
} Finder;

void finder_init(Finder *f, uv_loop_t *loop, TlsContext *tls, const MeshPeer *peer, const FinderOps *ops,
                 void *userdata);
// Looks no more. `closed` follows if finder_is_busy().
void finder_close(Finder *f);
bool finder_is_busy(const Finder *f);

// Where to dial. Empty: not known.
MeshAddress finder_where(const Finder *f);
bool finder_has_found(const Finder *f); // and that is where
// It is not there any more where it was found: where to dial is what the log says.
void finder_forget(Finder *f);
// While its link is up nobody is looked for; what is learned is kept for later.
void finder_rest(Finder *f, bool resting);

void finder_start(Finder *f); // in all other places, unless a round is under way
// The voter dialled us from there; another voter says that it is there. True: it is alive, or somebody
// believes so, which is worth a dial at once.
bool finder_on_seen(Finder *f, const char *address);
bool finder_on_announced(Finder *f, const Argosy__Voter *voter);
// Somebody knows where voters are. Replaces what was said before.
void finder_on_given(Finder *f, const MeshAddress *addresses, size_t n);
