// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A handful of secrets by name and number: found by looking at each. Values are copied in and wiped on the
// way out, also what is left of them in the messages that the file is made of and read into.
//
// The file is as the peers file is: magic, checksum, message. What is damaged is never mended by itself, and
// nothing of it is used.

#include "voter-secrets.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fileio.h"
#include "message-of.h"
#include "message.h"
#include "str.h"

#define FILE_NAME "voter-secrets"

static const char magic[8] = "argsecr1";

enum {
        HEAD = sizeof(magic) + sizeof(uint32_t),
        FILE_MAX = VOTER_SECRETS_MAX * (VOTER_SECRET_VALUE_MAX + 64) + HEAD,
};

static void wipe(VoterSecret *s) {
        secret_bytes_done(&s->value);
        *s = (VoterSecret){};
}

void voter_secrets_done(VoterSecrets *s) {
        for (size_t i = 0; i < s->n; i++)
                wipe(&s->list[i]);
        s->n = 0;
}

static VoterSecret *find(const VoterSecrets *s, const char *name, uint32_t number) {
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].number == number && streq(s->list[i].name, name))
                        return (VoterSecret *) &s->list[i];
        return NULL;
}

const SecretBytes *voter_secrets_find(const VoterSecrets *s, const char *name, uint32_t number) {
        const VoterSecret *found = find(s, name, number);

        return found ? &found->value : NULL;
}

bool voter_secrets_has(const VoterSecrets *s, const Argosy__VoterSecretRecord *record) {
        const VoterSecret *found = find(s, record->name, record->number);

        return found && record->fingerprint.len == HASH_SIZE &&
               memcmp(found->fingerprint.bytes, record->fingerprint.data, HASH_SIZE) == 0;
}

static bool fits(const char *name, uint32_t number, size_t len) {
        return *name && strlen(name) <= VOTER_SECRET_NAME_MAX && number > 0 && len > 0 &&
               len <= VOTER_SECRET_VALUE_MAX;
}

int voter_secrets_put(VoterSecrets *s, const char *name, uint32_t number, const void *value, size_t len) {
        VoterSecret *place = find(s, name, number);
        SecretBytes copy = {};

        if (!fits(name, number, len))
                return -EINVAL;
        if (!place && s->n == VOTER_SECRETS_MAX)
                return -ENOSPC;
        if (secret_bytes_new(len, &copy) < 0)
                return -ENOMEM;
        memcpy(copy.data, value, len);
        if (!place)
                place = &s->list[s->n++];
        wipe(place);
        *place = (VoterSecret){.number = number, .value = copy, .fingerprint = hash_of(value, len)};
        (void) str_copy(place->name, sizeof(place->name), name);
        return 0;
}

static bool is_same(const VoterSecret *s, const Argosy__VoterSecret *m) {
        return s && s->value.len == m->value.len && memcmp(s->value.data, m->value.data, m->value.len) == 0;
}

int voter_secrets_put_all(VoterSecrets *s, Argosy__VoterSecret *const *secrets, size_t n,
                          bool *ret_changed) {
        int r = 0;

        *ret_changed = false;
        for (size_t i = 0; r == 0 && i < n; i++) {
                const Argosy__VoterSecret *m = secrets[i];

                if (is_same(find(s, m->name, m->number), m))
                        continue;
                r = voter_secrets_put(s, m->name, m->number, m->value.data, m->value.len);
                *ret_changed |= r == 0;
        }
        return r;
}

int voter_secrets_copy(const VoterSecrets *s, VoterSecrets *ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < s->n; i++)
                r = voter_secrets_put(ret, s->list[i].name, s->list[i].number, s->list[i].value.data,
                                      s->list[i].value.len);
        if (r < 0)
                voter_secrets_done(ret);
        return r;
}

void voter_secrets_drop(VoterSecrets *s, const char *name, uint32_t number) {
        VoterSecret *secret = find(s, name, number);

        if (!secret)
                return;
        wipe(secret);
        *secret = s->list[--s->n];
        s->list[s->n] = (VoterSecret){};
}

static bool is_old(const VoterSecret *s, Argosy__VoterSecretRecord *const *records, size_t n) {
        bool superseded = false;

        for (size_t i = 0; i < n; i++) {
                if (!streq(records[i]->name, s->name))
                        continue;
                if (records[i]->number == s->number)
                        return false;
                superseded |= records[i]->number > s->number;
        }
        return superseded;
}

bool voter_secrets_drop_old(VoterSecrets *s, Argosy__VoterSecretRecord *const *records, size_t n) {
        size_t kept = 0, before = s->n;

        for (size_t i = 0; i < before; i++) {
                VoterSecret *secret = &s->list[i];

                if (is_old(secret, records, n))
                        wipe(secret);
                else if (kept++ != i) {
                        s->list[kept - 1] = *secret;
                        *secret = (VoterSecret){};
                }
        }
        s->n = kept;
        return kept < before;
}

void voter_secrets_to_message(const VoterSecrets *s, Argosy__VoterSecret ret[VOTER_SECRETS_MAX]) {
        for (size_t i = 0; i < s->n; i++) {
                const VoterSecret *secret = &s->list[i];

                ret[i] = (Argosy__VoterSecret) MESSAGE_OF(
                        voter_secret, .name = (char *) secret->name, .number = secret->number,
                        .value = (ProtobufCBinaryData){secret->value.len, secret->value.data});
        }
}

// ---- the file

static int pack(const VoterSecrets *s, Buf *out) {
        Argosy__VoterSecret secrets[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];
        size_t len;
        uint32_t crc;

        voter_secrets_to_message(s, secrets);
        for (size_t i = 0; i < s->n; i++)
                pointers[i] = &secrets[i];
        Argosy__VoterSecretsFile file =
                MESSAGE_OF(voter_secrets_file, .secrets = pointers, .n_secrets = s->n);
        len = argosy__voter_secrets_file__get_packed_size(&file);
        if (!buf_reserve(out, HEAD + len))
                return -ENOMEM;
        argosy__voter_secrets_file__pack(&file, out->data + HEAD);
        crc = htole32(crc32c(0, out->data + HEAD, len));
        memcpy(out->data, magic, sizeof(magic));
        memcpy(out->data + sizeof(magic), &crc, sizeof(crc));
        out->len = HEAD + len;
        return 0;
}

static int remove_file(const char *dir, const char *path) {
        if (unlink(path) < 0)
                return errno == ENOENT ? 0 : -errno;
        return dir_sync(AT_FDCWD, dir);
}

int voter_secrets_save(const char *dir, const VoterSecrets *s) {
        _cleanup_free_ char *path = str_printf("%s/" FILE_NAME, dir);
        _cleanup_(buf_wipe) Buf out = {};
        int r;

        if (!path)
                return -ENOMEM;
        if (s->n == 0)
                return remove_file(dir, path);
        r = pack(s, &out);
        return r < 0 ? r : file_replace(AT_FDCWD, path, out.data, out.len, 0600, FILE_SYNC);
}

static void free_file(Argosy__VoterSecretsFile *file) {
        for (size_t i = 0; i < file->n_secrets; i++)
                if (file->secrets[i]->value.data)
                        explicit_bzero(file->secrets[i]->value.data, file->secrets[i]->value.len);
        message_free(file);
}

int voter_secrets_parse(const uint8_t *data, size_t len, VoterSecrets *ret) {
        void *message;
        uint32_t crc;
        bool changed;
        int r;

        if (len < HEAD || memcmp(data, magic, sizeof(magic)) != 0)
                return -EBADMSG;
        memcpy(&crc, data + sizeof(magic), sizeof(crc));
        if (le32toh(crc) != crc32c(0, data + HEAD, len - HEAD))
                return -EBADMSG;
        r = message_unpack(&argosy__voter_secrets_file__descriptor, data + HEAD, len - HEAD, &message);
        if (r < 0)
                return r;
        r = voter_secrets_put_all(ret, ((Argosy__VoterSecretsFile *) message)->secrets,
                                  ((Argosy__VoterSecretsFile *) message)->n_secrets, &changed);
        free_file(message);
        return r == -EINVAL || r == -ENOSPC ? -EBADMSG : r;
}

int voter_secrets_load(const char *dir, VoterSecrets *ret, char **ret_why) {
        _cleanup_free_ char *path = str_printf("%s/" FILE_NAME, dir);
        _cleanup_(voter_secrets_done) VoterSecrets read = {};
        _cleanup_(buf_wipe) Buf in = {};
        int r;

        *ret_why = NULL;
        if (!path)
                return -ENOMEM;
        r = file_read(AT_FDCWD, path, FILE_MAX, &in);
        if (r == -ENOENT)
                return 0;
        if (r == 0)
                r = voter_secrets_parse(in.data, in.len, &read);
        if (r == -EBADMSG || r == -EFBIG) {
                *ret_why = str_printf("%s is damaged. Restore it; or, if another voter has some, remove it: "
                                      "this host gets it from "
                                      "there.",
                                      path);
                return -EBADMSG;
        }
        if (r < 0) {
                if (r != -ENOMEM)
                        *ret_why = str_printf("%s cannot be read: %s", path, strerror(-r));
                return r;
        }
        *ret = read;
        read = (VoterSecrets){};
        return 0;
}
