// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames between the daemon and a helper: a length of four bytes and one message. What a helper sends was
// perhaps written by the manager's owner: a longer frame than allowed is -EBADMSG, and a reply with an
// errno that is none is no reply. Neither is one of very many parts: they are counted before any of them is
// unpacked.

#include "helper-frame.h"

#include <errno.h>

#include "str.h"

static const char *const modes[] = {[HELPER_CONNECT] = "connect",
                                    [HELPER_WRITE] = "write",
                                    [HELPER_SEARCH] = "look",
                                    [HELPER_JOURNAL] = "journal",
                                    [HELPER_VERIFY] = "verify"};

const char *helper_mode_to_string(HelperMode mode) {
        return modes[mode];
}

bool helper_mode_from_string(const char *word, HelperMode *ret) {
        for (size_t i = 0; i < ELEMENTSOF(modes); i++)
                if (streq(word, modes[i])) {
                        *ret = (HelperMode) i;
                        return true;
                }
        return false;
}

int helper_frame_pack(const ProtobufCMessage *message, Buf *out) {
        size_t len = protobuf_c_message_get_packed_size(message);
        uint8_t *p;

        if (len > HELPER_FRAME_MAX)
                return -EMSGSIZE;
        p = buf_reserve(out, HELPER_HEADER + len);
        if (!p)
                return -ENOMEM;
        for (int i = 0; i < HELPER_HEADER; i++)
                p[i] = (uint8_t) (len >> (8 * (HELPER_HEADER - 1 - i)));
        protobuf_c_message_pack(message, p + HELPER_HEADER);
        out->len += HELPER_HEADER + len;
        return 0;
}

int helper_frame_cut(const uint8_t *data, size_t len, size_t max, const uint8_t **ret_payload,
                     size_t *ret_payload_len, size_t *ret_total) {
        size_t payload = 0;

        if (len < HELPER_HEADER)
                return 0;
        for (int i = 0; i < HELPER_HEADER; i++)
                payload = payload << 8 | data[i];
        if (payload > max)
                return -EBADMSG;
        if (len < HELPER_HEADER + payload)
                return 0;
        *ret_payload = data + HELPER_HEADER;
        *ret_payload_len = payload;
        *ret_total = HELPER_HEADER + payload;
        return 1;
}

static bool is_seen_in_directories(Argosy__LoadState load) {
        return load == ARGOSY__LOAD_STATE__LOAD_LOADED || load == ARGOSY__LOAD_STATE__LOAD_MASKED ||
               load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND;
}

static bool is_finding(Argosy__FindingKind kind) {
        return kind == ARGOSY__FINDING_KIND__FINDING_WARNING ||
               kind == ARGOSY__FINDING_KIND__FINDING_REFUSED ||
               kind == ARGOSY__FINDING_KIND__FINDING_MISSING;
}

// ---- parts: the wire format of protobuf, as far as it takes to count

enum {
        WIRE_VARINT = 0,
        WIRE_64 = 1,
        WIRE_BYTES = 2,
        WIRE_32 = 5,
        FIELD_RESULTS = 3,
        FIELD_LOADS = 185,
        FIELD_FINDINGS = 197
};

typedef struct Field {
        uint64_t number;
        const uint8_t *bytes; // of one that has a length
        size_t len;
} Field;

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret) {
        *ret = 0;
        for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
                uint8_t byte = *(*at)++;

                *ret |= (uint64_t) (byte & 0x7f) << shift;
                if (!(byte & 0x80))
                        return true;
        }
        return false;
}

static bool take_field(const uint8_t **at, const uint8_t *end, Field *ret) {
        uint64_t key, len;

        if (!take_varint(at, end, &key))
                return false;
        *ret = (Field){.number = key >> 3};
        switch (key & 7) {
        case WIRE_VARINT:
                return take_varint(at, end, &len);
        case WIRE_64:
        case WIRE_32:
                len = (key & 7) == WIRE_64 ? 8 : 4;
                break;
        case WIRE_BYTES:
                if (!take_varint(at, end, &len))
                        return false;
                ret->bytes = *at;
                ret->len = (size_t) len;
                break;
        default:
                return false;
        }
        if (len > (uint64_t) (end - *at))
                return false;
        *at += len;
        return true;
}

// -EBADMSG: it is no message, or has more than so many.
static int count_parts(const uint8_t *data, size_t len, bool whole, size_t *n) {
        const uint8_t *at = data, *end = data + len;

        while (at < end) {
                Field f;

                if (!take_field(&at, end, &f) || ++*n > HELPER_REPLY_PARTS)
                        return -EBADMSG;
                if (whole && f.number == FIELD_LOADS && (*n += f.len) > HELPER_REPLY_PARTS)
                        return -EBADMSG;
                if (whole && (f.number == FIELD_RESULTS || f.number == FIELD_FINDINGS) && f.bytes &&
                    count_parts(f.bytes, f.len, false, n) < 0)
                        return -EBADMSG;
        }
        return 0;
}

Argosy__HelperReply *helper_reply_parse(const uint8_t *data, size_t len) {
        size_t n = 0;
        Argosy__HelperReply *reply =
                count_parts(data, len, true, &n) < 0 ? NULL : argosy__helper_reply__unpack(NULL, len, data);
        bool good = reply && reply->error <= 0 && reply->error > -4096;

        for (size_t i = 0; good && i < reply->n_results; i++)
                good = reply->results[i]->error <= 0 && reply->results[i]->error > -4096;
        for (size_t i = 0; good && i < reply->n_loads; i++)
                good = is_seen_in_directories(reply->loads[i]);
        for (size_t i = 0; good && i < reply->n_findings; i++)
                good = reply->findings[i]->file < HELPER_VERIFY_FILES &&
                       is_finding(reply->findings[i]->kind);
        if (good)
                return reply;
        if (reply)
                argosy__helper_reply__free_unpacked(reply, NULL);
        return NULL;
}
