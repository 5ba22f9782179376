// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is next on the way from one key of the secrets to another (`secret rotate-key`), by what the log says
// and what voters report. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"

typedef struct SecretsKeyView {
        Argosy__SecretsKeyPhase phase;
        bool making;       // this leader has made the next key, and the log does not name it yet
        bool named;        // the log names the next key, and a voter has it or may have it
        bool all_have;     // the log says that every voter has the next key on its disk
        bool some_differ;  // a version is sealed with another key than the one that seals now
        bool all_compacted; // every voter reports a snapshot in which no version is sealed with another key
} SecretsKeyView;

typedef enum SecretsKeyStep {
        SECRETS_KEY_WAIT,    // for a voter, or nothing is to be done
        SECRETS_KEY_MAKE,    // the next key
        SECRETS_KEY_USE,     // the next key seals from now on
        SECRETS_KEY_RESEAL,  // some versions, with the key that seals now
        SECRETS_KEY_COMPACTS, // every voter is to take a snapshot
        SECRETS_KEY_SETTLE,  // the former keys go
} SecretsKeyStep;

SecretsKeyStep secrets_key_policy_step(const SecretsKeyView *v);
