// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The ledger's file, all integers little-endian:
//
//   0   8  "ARGLEDG1"
//   8      records, one behind the other:
//            0  4  length of the payload
//            4  4  CRC-32C of the payload
//            8     payload: 0  1  kind: 1 put, 2 forget, 3 put a return, 4 forget a return
//                           1     forget, forget a return: the unit's name
//                  return:  1  1  flags: 1 needs, 2 launched
//                           2  1  length of the name of the unit that it is stopped with
//                           3  1  and of the one through which
//                           4     these names, then the unit's name
//                  put:     1  1  flags: 1 from_template, 2 done, 4 failed, 8 pending, 16 interrupted,
//                                  32 owed, 64 unknown, 128 taking
//                           2  1  target, and in the upper half why it is down
//                           3  1  length of the slice's name
//                           4 32  spec
//                          36  8  revision, then start_rev, restart_rev, stop_rev
//                          68 16  invocation id
//                          84  1  load state; in the upper half what a reload for new files has come to,
//                                  128 unread
//                          85     slice's name, then the unit's name
//
// The last record of a name counts, and its last return. There is no sync: the file lives in /run, and the
// kernel keeps what was written when argosyd dies. A crash in the middle of a write leaves a torn tail that
// the next open cuts off. Writes go to a known offset, so that the rest of a failed write is overwritten by
// the next one.
//
// Nothing of the records stays in memory: their owner is asked for them when the file is written anew. That
// is when it has become HISTORY_MIN longer than twice what it was after the last time.

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "ledger.h"
#include "log.h"
#include "map.h"
#include "unit-name.h"

enum {
        KIND_PUT = 1,
        KIND_FORGET = 2,
        KIND_PUT_RETURN = 3,
        KIND_FORGET_RETURN = 4,
        RETURN_FIXED = 4,
        RETURN_NEEDS = 1,
        RETURN_LAUNCHED = 2,
        FLAG_FROM_TEMPLATE = 1,
        FLAG_DONE = 2,
        FLAG_FAILED = 4,
        FLAG_PENDING = 8,
        FLAG_INTERRUPTED = 16,
        FLAG_OWED = 32,
        FLAG_UNKNOWN = 64,
        FLAG_TAKING = 128,
        FLAG_UNREAD = 128, // of the load state
        MAGIC_SIZE = 8,
        HEAD_SIZE = 8,
        PUT_FIXED = 85,
        PAYLOAD_MAX = PUT_FIXED + 3 * UNIT_NAME_MAX,
        FILE_MAX_BYTES = 256 * 1024 * 1024,
        HISTORY_MIN = 1000,
};

static const uint8_t magic[MAGIC_SIZE] = {'A', 'R', 'G', 'L', 'E', 'D', 'G', '1'};

// While the file is read.
typedef struct Items {
        Map records, returns; // Item: the last of a unit so far
} Items;

typedef struct Item {
        uint16_t name_len;
        uint16_t payload_len;
        uint8_t payload[]; // the unit's name is at its end and is the key
} Item;

struct Ledger {
        char *path;
        int fd;
        bool renamed;       // `fd` is no longer the file at `path`: the next flush must compact
        uint64_t size;      // bytes of the file that are good
        uint64_t n_records; // in the file
        uint64_t n_fresh;   // of these, when it was opened or rewritten: one for each unit
        Buf queue;
        uint64_t n_queued;
        LedgerPutAll put_all;
        void *userdata;
};

static void put_u32(uint8_t *p, uint32_t v) {
        for (int i = 0; i < 4; i++)
                p[i] = (uint8_t) (v >> (8 * i));
}

static uint32_t get_u32(const uint8_t *p) {
        return p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

static void put_u64(uint8_t *p, uint64_t v) {
        put_u32(p, (uint32_t) v);
        put_u32(p + 4, (uint32_t) (v >> 32));
}

static uint64_t get_u64(const uint8_t *p) {
        return get_u32(p) | (uint64_t) get_u32(p + 4) << 32;
}

static uint8_t encode_flags(const LedgerRecord *r) {
        return (uint8_t) ((r->from_template ? FLAG_FROM_TEMPLATE : 0) | (r->done ? FLAG_DONE : 0) |
                          (r->failed ? FLAG_FAILED : 0) | (r->pending ? FLAG_PENDING : 0) |
                          (r->interrupted ? FLAG_INTERRUPTED : 0) | (r->owed ? FLAG_OWED : 0) |
                          (r->unknown ? FLAG_UNKNOWN : 0) | (r->taking ? FLAG_TAKING : 0));
}

static size_t encode_put(const LedgerRecord *r, size_t slice_len, size_t name_len, uint8_t *ret) {
        ret[0] = KIND_PUT;
        ret[1] = encode_flags(r);
        ret[2] = (uint8_t) (r->target | (unsigned) r->down << 4);
        ret[3] = (uint8_t) slice_len;
        memcpy(ret + 4, r->spec.bytes, HASH_SIZE);
        put_u64(ret + 36, r->revision);
        put_u64(ret + 44, r->start_rev);
        put_u64(ret + 52, r->restart_rev);
        put_u64(ret + 60, r->stop_rev);
        memcpy(ret + 68, r->invocation_id, 16);
        ret[84] = (uint8_t) ((unsigned) r->load | (unsigned) r->reload << 4 | (r->unread ? FLAG_UNREAD : 0));
        memcpy(ret + PUT_FIXED, r->slice, slice_len);
        memcpy(ret + PUT_FIXED + slice_len, r->name, name_len);
        return PUT_FIXED + slice_len + name_len;
}

// The name inside a payload, or NULL if the payload is malformed.
static const uint8_t *payload_name(const uint8_t *payload, size_t len, size_t *ret_len) {
        size_t at;

        if (len < 1)
                return NULL;
        if (payload[0] == KIND_FORGET || payload[0] == KIND_FORGET_RETURN)
                at = 1;
        else if (payload[0] == KIND_PUT_RETURN && len > RETURN_FIXED && payload[2] > 0 && payload[3] > 0)
                at = (size_t) RETURN_FIXED + payload[2] + payload[3];
        else if (payload[0] == KIND_PUT && len >= PUT_FIXED && payload[3] < LEDGER_SLICE_SIZE)
                at = PUT_FIXED + payload[3];
        else
                return NULL;
        if (len <= at || len - at > UNIT_NAME_MAX || memchr(payload + at, 0, len - at))
                return NULL;
        if (payload[0] == KIND_PUT_RETURN && memchr(payload + RETURN_FIXED, 0, at - RETURN_FIXED))
                return NULL;
        *ret_len = len - at;
        return payload + at;
}

static LedgerReload decode_reload(uint8_t byte) {
        unsigned reload = (byte & ~(unsigned) FLAG_UNREAD) >> 4;

        return reload <= LEDGER_RELOAD_FAILED ? (LedgerReload) reload : LEDGER_RELOAD_NONE;
}

static void decode_put(const Item *item, char *name, LedgerRecord *ret) {
        const uint8_t *p = item->payload;

        memcpy(name, p + item->payload_len - item->name_len, item->name_len);
        name[item->name_len] = 0;
        *ret = (LedgerRecord){
                .name = name,
                .from_template = p[1] & FLAG_FROM_TEMPLATE,
                .done = p[1] & FLAG_DONE,
                .failed = p[1] & FLAG_FAILED,
                .pending = p[1] & FLAG_PENDING,
                .interrupted = p[1] & FLAG_INTERRUPTED,
                .owed = p[1] & FLAG_OWED,
                .unknown = p[1] & FLAG_UNKNOWN,
                .taking = p[1] & FLAG_TAKING,
                .target = p[2] & 15,
                .down = p[2] >> 4,
                .load = (p[84] & 15) == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING ||
                                        (p[84] & 15) == ARGOSY__LOAD_STATE__LOAD_ERROR
                                ? (Argosy__LoadState) (p[84] & 15)
                                : ARGOSY__LOAD_STATE__LOAD_UNKNOWN,
                .reload = decode_reload(p[84]),
                .unread = p[84] & FLAG_UNREAD,
                .revision = get_u64(p + 36),
                .start_rev = get_u64(p + 44),
                .restart_rev = get_u64(p + 52),
                .stop_rev = get_u64(p + 60),
        };
        memcpy(ret->spec.bytes, p + 4, HASH_SIZE);
        memcpy(ret->invocation_id, p + 68, 16);
        memcpy(ret->slice, p + PUT_FIXED, p[3]);
}

static void get_name(const uint8_t *p, size_t len, char *ret) {
        memcpy(ret, p, len);
        ret[len] = 0;
}

// `names`: room for three.
static void decode_return(const Item *item, char (*names)[UNIT_NAME_MAX + 1], LedgerReturn *ret) {
        const uint8_t *p = item->payload;

        get_name(p + RETURN_FIXED, p[2], names[0]);
        get_name(p + RETURN_FIXED + p[2], p[3], names[1]);
        get_name(p + item->payload_len - item->name_len, item->name_len, names[2]);
        *ret = (LedgerReturn){.with = names[0],
                              .through = names[1],
                              .name = names[2],
                              .needs = p[1] & RETURN_NEEDS,
                              .launched = p[1] & RETURN_LAUNCHED};
}

static int append_record(Buf *b, const uint8_t *payload, size_t len) {
        uint8_t *p = buf_reserve(b, HEAD_SIZE + len);

        if (!p)
                return -ENOMEM;
        put_u32(p, (uint32_t) len);
        put_u32(p + 4, crc32c(0, payload, len));
        memcpy(p + HEAD_SIZE, payload, len);
        b->len += HEAD_SIZE + len;
        return 0;
}

static int remember(Map *items, const uint8_t *payload, size_t len) {
        size_t name_len;
        const uint8_t *name = payload_name(payload, len, &name_len);
        Item *item = malloc(sizeof(Item) + len);
        int r;

        if (!item)
                return -ENOMEM;
        item->name_len = (uint16_t) name_len;
        item->payload_len = (uint16_t) len;
        memcpy(item->payload, payload, len);
        free(map_take(items, name, name_len));
        r = map_add(items, item->payload + len - name_len, name_len, item);
        if (r < 0)
                free(item);
        return r;
}

static int take_in(Items *items, const uint8_t *payload, size_t len) {
        size_t name_len;
        const uint8_t *name = payload_name(payload, len, &name_len);

        switch (payload[0]) {
        case KIND_PUT:
                return remember(&items->records, payload, len);
        case KIND_PUT_RETURN:
                return remember(&items->returns, payload, len);
        case KIND_FORGET:
                free(map_take(&items->records, name, name_len));
                return 0;
        default:
                free(map_take(&items->returns, name, name_len));
                return 0;
        }
}

// Takes in the records of a file's bytes. Returns how many bytes are good: everything behind is torn.
static int64_t read_records(Ledger *l, const uint8_t *data, size_t size, Items *items) {
        size_t at = MAGIC_SIZE;

        while (size - at >= HEAD_SIZE) {
                size_t len = get_u32(data + at), name_len;
                const uint8_t *payload = data + at + HEAD_SIZE;
                int r;

                if (len > PAYLOAD_MAX || size - at - HEAD_SIZE < len ||
                    crc32c(0, payload, len) != get_u32(data + at + 4))
                        break;
                if (!payload_name(payload, len, &name_len))
                        break;
                r = take_in(items, payload, len);
                if (r < 0)
                        return r;
                at += HEAD_SIZE + len;
                l->n_records++;
        }
        return (int64_t) at;
}

static int write_at(int fd, const uint8_t *data, size_t len, uint64_t offset) {
        while (len > 0) {
                ssize_t n = pwrite(fd, data, len, (off_t) offset);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                data += n;
                len -= (size_t) n;
                offset += (size_t) n;
        }
        return 0;
}

static int load_file(Ledger *l, Items *items) {
        _cleanup_buf_ Buf b = {};
        int64_t good;
        int r;

        r = file_read(AT_FDCWD, l->path, FILE_MAX_BYTES, &b);
        if (r < 0)
                return r;
        if (memcmp(b.data ?: magic, magic, MIN_OF(b.len, sizeof(magic))) != 0)
                return -EBADMSG;
        if (b.len < MAGIC_SIZE) { // new, or torn in its first bytes
                l->size = MAGIC_SIZE;
                return write_at(l->fd, magic, MAGIC_SIZE, 0);
        }
        good = read_records(l, b.data, b.len, items);
        if (good < 0)
                return (int) good;
        l->size = (uint64_t) good;
        return l->size < b.len && ftruncate(l->fd, good) < 0 ? -errno : 0;
}

static int each_item(const Map *items, LedgerEach each, void *userdata) {
        map_foreach (slot, items) {
                char name[UNIT_NAME_MAX + 1];
                LedgerRecord record;
                int r;

                decode_put(slot->value, name, &record);
                r = each(&record, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int each_of_returns(const Map *items, LedgerEachReturn each, void *userdata) {
        map_foreach (slot, items) {
                char names[3][UNIT_NAME_MAX + 1];
                LedgerReturn back;
                int r;

                decode_return(slot->value, names, &back);
                r = each(&back, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}

int ledger_open(const char *path, LedgerEach each, LedgerEachReturn each_return, LedgerPutAll put_all,
                void *userdata, Ledger **ret) {
        _cleanup_(ledger_closep) Ledger *l = calloc(1, sizeof(*l));
        Items items = {};
        int r;

        if (!l)
                return -ENOMEM;
        *l = (Ledger){.fd = -1, .path = strdup(path), .put_all = put_all, .userdata = userdata};
        if (!l->path)
                return -ENOMEM;
        l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (l->fd < 0)
                return -errno;
        r = load_file(l, &items);
        l->n_fresh = items.records.count + items.returns.count;
        if (r >= 0)
                r = each_item(&items.records, each, userdata);
        if (r >= 0)
                r = each_of_returns(&items.returns, each_return, userdata);
        map_done_with(&items.records, free);
        map_done_with(&items.returns, free);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(l);
        return 0;
}

Ledger *ledger_close(Ledger *l) {
        if (!l)
                return NULL;
        if (l->fd >= 0)
                close(l->fd);
        buf_done(&l->queue);
        free(l->path);
        free(l);
        return NULL;
}

int ledger_put(Ledger *l, const LedgerRecord *record) {
        size_t name_len = strlen(record->name), slice_len = strnlen(record->slice, LEDGER_SLICE_SIZE), len;
        uint8_t payload[PAYLOAD_MAX];
        int r;

        if (name_len < 1 || name_len > UNIT_NAME_MAX || slice_len >= LEDGER_SLICE_SIZE ||
            record->target > 15 || record->down > 15)
                return -EINVAL;
        len = encode_put(record, slice_len, name_len, payload);
        r = append_record(&l->queue, payload, len);
        l->n_queued += r >= 0;
        return r;
}

static int queue_name(Ledger *l, uint8_t kind, const char *name) {
        uint8_t payload[1 + UNIT_NAME_MAX] = {kind};
        size_t len = strlen(name);
        int r;

        memcpy(payload + 1, name, len);
        r = append_record(&l->queue, payload, 1 + len);
        l->n_queued += r >= 0;
        return r;
}

int ledger_forget(Ledger *l, const char *name) {
        return queue_name(l, KIND_FORGET, name);
}

int ledger_put_return(Ledger *l, const LedgerReturn *back) {
        const char *names[] = {back->with, back->through, back->name};
        uint8_t flags =
                (uint8_t) ((back->needs ? RETURN_NEEDS : 0) | (back->launched ? RETURN_LAUNCHED : 0));
        uint8_t payload[RETURN_FIXED + 3 * UNIT_NAME_MAX] = {KIND_PUT_RETURN, flags};
        size_t at = RETURN_FIXED;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                size_t len = strlen(names[i]);

                if (len < 1 || len > UNIT_NAME_MAX)
                        return -EINVAL;
                memcpy(payload + at, names[i], len);
                at += len;
        }
        payload[2] = (uint8_t) strlen(back->with);
        payload[3] = (uint8_t) strlen(back->through);
        r = append_record(&l->queue, payload, at);
        l->n_queued += r >= 0;
        return r;
}

int ledger_forget_return(Ledger *l, const char *name) {
        return queue_name(l, KIND_FORGET_RETURN, name);
}

// The whole file as it is to be: each unit's record, put by its owner.
static int gather(Ledger *l, Buf *ret, uint64_t *ret_n) {
        Ledger whole = {};
        int r = buf_append(&whole.queue, magic, MAGIC_SIZE);

        if (r >= 0)
                r = l->put_all(&whole, l->userdata);
        if (r < 0) {
                buf_done(&whole.queue);
                return r;
        }
        *ret = whole.queue;
        *ret_n = whole.n_queued;
        return 0;
}

// Replaces the file by one with a record per unit. What was queued is part of that.
static int compact(Ledger *l) {
        _cleanup_buf_ Buf b = {};
        uint64_t n;
        int fd, r;

        r = gather(l, &b, &n);
        if (r < 0)
                return r;
        r = file_replace(AT_FDCWD, l->path, b.data, b.len, 0600, 0);
        if (r < 0)
                return r;
        l->renamed = true;
        fd = open(l->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        close(l->fd);
        l->renamed = false;
        l->fd = fd;
        l->size = b.len;
        l->n_records = l->n_fresh = n;
        return 0;
}

static int append_queue(Ledger *l) {
        int r = write_at(l->fd, l->queue.data, l->queue.len, l->size);

        if (r < 0) {
                if (ftruncate(l->fd, (off_t) l->size) < 0)
                        log_debug("Cannot cut off what a failed write to the ledger left, the next write or "
                                  "the next start does: %s",
                                  strerror(errno));
                return r;
        }
        l->size += l->queue.len;
        l->n_records += l->n_queued;
        return 0;
}

int ledger_flush(Ledger *l) {
        bool is_long = l->n_records + l->n_queued > 2 * l->n_fresh + HISTORY_MIN;
        int r;

        if (l->n_queued == 0)
                return 0;
        r = l->renamed || is_long ? compact(l) : append_queue(l);
        if (r < 0)
                return r;
        buf_done(&l->queue);
        l->n_queued = 0;
        return 0;
}
