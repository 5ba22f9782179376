// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every step is a change of the log, and none depends on what an earlier leader remembered. A key that was
// made by a leader that died before the log named it is of no use to anybody, so another one is made.
//
// The next key seals only when every voter has it on its disk: then each voter that can be elected can read
// what is sealed with it. The former keys go only when nothing that a voter would begin with after a
// restart, or after `cluster recover`, is sealed with them.

#include "secrets-key-policy.h"

static SecretsKeyStep hand_out(const SecretsKeyView *v) {
        if (!v->named)
                return v->making ? SECRETS_KEY_WAIT : SECRETS_KEY_MAKE;
        return v->all_have ? SECRETS_KEY_USE : SECRETS_KEY_WAIT;
}

SecretsKeyStep secrets_key_policy_step(const SecretsKeyView *v) {
        switch (v->phase) {
        case ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT:
                return hand_out(v);
        case ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL:
                return v->some_differ ? SECRETS_KEY_RESEAL : SECRETS_KEY_COMPACTS;
        case ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT:
                return v->all_compacted ? SECRETS_KEY_SETTLE : SECRETS_KEY_WAIT;
        default:
                return SECRETS_KEY_WAIT;
        }
}
