// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Secrets: one small table in the order of their names. A record has the versions of a secret, sealed, the
// oldest first; it is replaced and never changed, as a snapshot may have it.
//
// A version is put by its number, which is one more than that of the newest, so one that was sealed for a
// number that has gone meanwhile is refused (REFUSAL_TWICE). Which of the older versions units still have is
// for the leader to know: it says which nobody has, and the newest never goes but with its name.

#include <errno.h>
#include <string.h>

#include "cluster-state-private.h"
#include "message.h"
#include "secret-name.h"

static size_t bytes_of(const Argosy__SecretRecord *record) {
        size_t n = 0;

        for (size_t i = 0; i < record->n_versions; i++)
                n += record->versions[i]->sealed.len;
        return n;
}

const Argosy__SecretRecord *cluster_state_find_secret(const ClusterState *s, const char *name) {
        return named_find(s->secrets, s->n_secrets, name);
}

Argosy__SecretRecord *const *cluster_state_secrets(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_secrets;
        return s->secrets;
}

uint64_t cluster_state_secrets_revision(const ClusterState *s) {
        return s->secrets_revision;
}

size_t cluster_state_secrets_bytes(const ClusterState *s) {
        return s->secrets_bytes;
}

const Argosy__SecretVersion *secret_record_newest(const Argosy__SecretRecord *record) {
        return record->versions[record->n_versions - 1];
}

// A version that was dropped, since nobody had it, is followed by the next that is there.
const Argosy__SecretVersion *secret_record_at(const Argosy__SecretRecord *record, uint64_t revision) {
        size_t i = record->n_versions - 1;

        while (i > 0 && record->versions[i]->revision > revision)
                i--;
        return record->versions[i];
}

// ------------------------------------------------------------------------------------------------ changes

static bool version_fits(const Argosy__SecretVersion *v) {
        return v && v->version > 0 && v->sealed.len > 0 && v->sealed.len <= CLUSTER_SECRET_SEALED_MAX &&
               strlen(v->by) <= CLUSTER_SECRET_BY_MAX;
}

bool state_secret_fits(const Argosy__LogOp__SecretPut *put) {
        return secret_name_is_valid(put->name) && version_fits(put->version);
}

bool state_secret_follows(const ClusterState *s, const Argosy__LogOp__SecretPut *put) {
        const Argosy__SecretRecord *record = cluster_state_find_secret(s, put->name);

        return put->version->version == (record ? secret_record_newest(record)->version : 0) + 1;
}

static int insert(ClusterState *s, size_t i, Argosy__SecretRecord *record) {
        int r = state_insert_named(&s->secrets, &s->n_secrets, i, record);

        if (r == 0)
                s->secrets_bytes += bytes_of(record);
        return r;
}

static void replace(ClusterState *s, size_t i, Argosy__SecretRecord *record) {
        s->secrets_bytes += bytes_of(record);
        s->secrets_bytes -= bytes_of(s->secrets[i]);
        state_retire_message(s, s->secrets[i]);
        s->secrets[i] = record;
}

int state_put_secret(ClusterState *s, const Argosy__LogOp__SecretPut *put) {
        bool found;
        size_t i = named_index(s->secrets, s->n_secrets, put->name, &found);
        size_t n = found ? s->secrets[i]->n_versions : 0;
        _cleanup_free_ Argosy__SecretVersion **versions = calloc(n + 1, sizeof *versions);
        Argosy__SecretRecord next = ARGOSY__SECRET_RECORD__INIT, *copy;
        Argosy__SecretVersion newest = *put->version;
        int r = 0;

        if (!versions)
                return -ENOMEM;
        if (n > 0)
                memcpy(versions, s->secrets[i]->versions, n * sizeof *versions);
        newest.revision = s->revision + 1;
        versions[n] = &newest;
        next.name = put->name;
        next.versions = versions;
        next.n_versions = n + 1;
        copy = message_copy(&next);
        if (!copy)
                return -ENOMEM;
        if (found)
                replace(s, i, copy);
        else
                r = insert(s, i, copy);
        if (r < 0)
                message_free(copy);
        else
                s->secrets_revision = ++s->revision;
        return r;
}

static bool is_named(const Argosy__LogOp__SecretPrune *prune, uint64_t version) {
        for (size_t i = 0; i < prune->n_versions; i++)
                if (prune->versions[i] == version)
                        return true;
        return false;
}

// Nobody's wish: what units have is as it was, and no revision is given for it.
int state_prune_secret(ClusterState *s, const Argosy__LogOp__SecretPrune *prune) {
        bool found;
        size_t i = named_index(s->secrets, s->n_secrets, prune->name, &found);
        _cleanup_free_ Argosy__SecretVersion **versions = NULL;
        Argosy__SecretRecord next = ARGOSY__SECRET_RECORD__INIT, *copy;
        const Argosy__SecretRecord *record = found ? s->secrets[i] : NULL;

        if (!record)
                return 0;
        versions = calloc(record->n_versions, sizeof *versions);
        if (!versions)
                return -ENOMEM;
        next.name = record->name;
        next.versions = versions;
        for (size_t k = 0; k < record->n_versions; k++)
                if (k + 1 == record->n_versions || !is_named(prune, record->versions[k]->version))
                        versions[next.n_versions++] = record->versions[k];
        copy = next.n_versions < record->n_versions ? message_copy(&next) : NULL;
        if (!copy)
                return next.n_versions < record->n_versions ? -ENOMEM : 0;
        replace(s, i, copy);
        return 0;
}

static const Argosy__SecretVersion *find_version(Argosy__SecretVersion *const *versions, size_t n,
                                                 uint64_t version) {
        for (size_t i = 0; i < n; i++)
                if (versions[i]->version == version)
                        return versions[i];
        return NULL;
}

bool state_reseal_fits(const ClusterState *s, const Argosy__LogOp__SecretReseal *reseal) {
        const Argosy__SecretRecord *record = cluster_state_find_secret(s, reseal->name);

        for (size_t i = 0; i < reseal->n_versions; i++) {
                const Argosy__SecretVersion *next = reseal->versions[i],
                                            *v = record ? find_version(record->versions, record->n_versions,
                                                                       next->version)
                                                        : NULL;

                if (!v || next->sealed.len != v->sealed.len)
                        return false;
        }
        return true;
}

int state_reseal_secret(ClusterState *s, const Argosy__LogOp__SecretReseal *reseal) {
        bool found;
        size_t i = named_index(s->secrets, s->n_secrets, reseal->name, &found);
        const Argosy__SecretRecord *record = s->secrets[i];
        _cleanup_free_ Argosy__SecretVersion *versions = calloc(record->n_versions, sizeof *versions);
        _cleanup_free_ Argosy__SecretVersion **pointers = calloc(record->n_versions, sizeof *pointers);
        Argosy__SecretRecord next = *record, *copy;

        if (!versions || !pointers)
                return -ENOMEM;
        for (size_t k = 0; k < record->n_versions; k++) {
                const Argosy__SecretVersion *sealed =
                        find_version(reseal->versions, reseal->n_versions, record->versions[k]->version);

                versions[k] = *record->versions[k];
                pointers[k] = &versions[k];
                if (sealed) {
                        versions[k].key = sealed->key;
                        versions[k].sealed = sealed->sealed;
                }
        }
        next.versions = pointers;
        copy = message_copy(&next);
        if (!copy)
                return -ENOMEM;
        replace(s, i, copy);
        return 0;
}

void state_remove_secret(ClusterState *s, const char *name) {
        bool found;
        size_t i = named_index(s->secrets, s->n_secrets, name, &found);

        if (!found)
                return;
        s->secrets_bytes -= bytes_of(s->secrets[i]);
        state_drop_named(s, &s->secrets, &s->n_secrets, i);
        s->secrets_revision = ++s->revision;
}

// ------------------------------------------------------------------------------------------------ image

static bool record_fits(const ClusterState *s, const Argosy__SecretRecord *record) {
        uint64_t last = 0;

        if (!secret_name_is_valid(record->name) || record->n_versions == 0 ||
            record->n_versions > CLUSTER_SECRET_VERSIONS_MAX)
                return false;
        for (size_t i = 0; i < record->n_versions; i++) {
                const Argosy__SecretVersion *v = record->versions[i];

                if (!version_fits(v) || v->version <= last || v->revision > s->revision)
                        return false;
                last = v->version;
        }
        return true;
}

int state_load_secret(ClusterState *s, Argosy__SecretRecord *record) {
        if (!record_fits(s, record) || s->n_secrets >= CLUSTER_SECRETS_MAX ||
            (s->n_secrets > 0 && strcmp(s->secrets[s->n_secrets - 1]->name, record->name) >= 0))
                return -EBADMSG;
        return insert(s, s->n_secrets, record);
}
