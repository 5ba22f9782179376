// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of a virtual host: a content that names some comes -> units that are ordered with it wait -> one
// file after the other is asked for, piece by piece, of another leader from where the first one stopped ->
// when none is missing any more the unit does what was ordered. A file that is not what it is to be is a
// violation, and its units wait for good. What has come stays until the host forgets everything.
#include "virtual-host-private.h"

#include <stdio.h>

#include "oom.h"

typedef struct VirtualFile { // in VirtualHost.files by hash, and in .fetches until it is whole
        ListNode fetch;
        Hash hash;
        size_t size;
        Buf bytes;      // so far; empty once it is whole
        uint64_t asked; // VirtualHost.seq of the session in which the next piece was asked for; 0: in none
        char asked_for[256]; // the unit in whose name; it is refused that file if `refused`
        bool refused;
} VirtualFile;

static void file_free(void *value) {
        VirtualFile *f = value;

        list_unlink(&f->fetch);
        buf_done(&f->bytes);
        free(f);
}

void virtual_host_forget_files(VirtualHost *h) {
        map_done_with(&h->files, file_free);
        h->n_files = 0;
}

static VirtualFile *find(const VirtualHost *h, const Hash *hash) {
        return map_find(&h->files, hash->bytes, HASH_SIZE);
}

static void want(VirtualHost *h, const CarriedFile *file) {
        VirtualFile *f;

        if (find(h, &file->hash))
                return;
        f = oom_checked(calloc(1, sizeof(*f)));
        f->hash = file->hash;
        f->size = file->size;
        list_init(&f->fetch);
        (void) oom_check(map_add(&h->files, f->hash.bytes, HASH_SIZE, f));
        list_append(&h->fetches, &f->fetch);
}

bool virtual_host_has_file(const VirtualHost *h, const Hash *hash) {
        const VirtualFile *f = find(h, hash);

        return f && !list_is_linked(&f->fetch);
}

bool virtual_host_has_files(const VirtualHost *h, const VirtualContent *c) {
        for (size_t i = 0; i < c->files.n; i++)
                if (!virtual_host_has_file(h, &c->files.list[i].hash))
                        return false;
        return true;
}

void virtual_host_fetch(VirtualHost *h, const VirtualContent *c) {
        for (size_t i = 0; i < c->files.n; i++)
                want(h, &c->files.list[i]);
        virtual_host_ask_for_files(h);
}

static void drop(VirtualHost *h, VirtualFile *f) {
        (void) map_take(&h->files, f->hash.bytes, HASH_SIZE);
        file_free(f);
}

void virtual_host_ask_for_files(VirtualHost *h) {
        Argosy__ToVoter__FileAsk m = ARGOSY__TO_VOTER__FILE_ASK__INIT;
        const char *unit = NULL;

        if (list_is_empty(&h->fetches) || !h->welcomed)
                return;
        VirtualFile *f = CONTAINER_OF(h->fetches.next, VirtualFile, fetch);
        if (f->asked == h->seq)
                return;
        unit = virtual_host_awaits(h, &f->hash, f->refused ? f->asked_for : NULL);
        if (!unit) { // what waited for it has gone
                drop(h, f);
                virtual_host_ask_for_files(h);
                return;
        }
        m.hash = (ProtobufCBinaryData){HASH_SIZE, f->hash.bytes};
        m.from = f->bytes.len;
        m.unit = (char *) unit;
        if (virtual_host_send(h, ARGOSY__TO_VOTER__MSG_FILE_ASK, &m) < 0)
                return;
        f->asked = h->seq;
        f->refused = false;
        snprintf(f->asked_for, sizeof(f->asked_for), "%s", unit);
}

static bool fits(const VirtualFile *f, const Argosy__ToHost__FilePiece *piece) {
        return piece->from == f->bytes.len && piece->size == f->size &&
               piece->piece.len <= f->size - f->bytes.len &&
               (piece->piece.len > 0 || f->bytes.len == f->size);
}

static void end(VirtualHost *h, VirtualFile *f) {
        Hash hash = hash_of(f->bytes.data, f->bytes.len);

        if (!hash_equal(&hash, &f->hash)) {
                h->ops->violation("a file does not have the hash that it was asked for by", h->userdata);
                return;
        }
        list_unlink(&f->fetch);
        buf_done(&f->bytes);
        h->n_files++;
        virtual_host_on_file(h);
}

void virtual_host_on_piece(VirtualHost *h, const Argosy__ToHost__FilePiece *piece) {
        Hash hash;
        VirtualFile *f = hash_from_bytes(piece->hash.data, piece->hash.len, &hash) ? find(h, &hash) : NULL;

        if (!f || !list_is_linked(&f->fetch) || f->asked != h->seq)
                return;
        if (!piece->there) { // the unit is to have another content; others that wait ask as an agent would
                f->asked = 0;
                f->refused = true;
                virtual_host_ask_for_files(h);
                return;
        }
        if (!fits(f, piece)) {
                h->ops->violation("a piece of a file is not what was asked for", h->userdata);
                return;
        }
        f->asked = 0;
        (void) oom_check(buf_append(&f->bytes, piece->piece.data, piece->piece.len));
        if (f->bytes.len == f->size)
                end(h, f);
        virtual_host_ask_for_files(h);
}
