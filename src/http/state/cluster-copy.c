// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: an event -> its row, found by its kind and names -> the row's text as JSON, which is kept
// until the block of rows that it is in is written -> one chunk of text for each block. Rows of a kind are
// in no order: one that goes is replaced by the last. A chunk is shared with all documents that it is part
// of, and rows that rest are nothing but a place in it, so what a document costs is what has changed since
// the one before.
//
// A unit that is told with a mark stands for all that nodes say of it, so each row of a unit has the list of
// those of its states. Between `begins` and `complete` rows that are told have another epoch than those that
// are left over.

#include "cluster-copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "buf.h"
#include "event-json.h"
#include "job-state.h"
#include "list.h"
#include "map.h"
#include "message.h"
#include "str.h"

enum {
        ROWS_PER_BLOCK = 1024,
        NOWHERE = UINT32_MAX, // place of a row that is none: a unit of which only states were told
        PLACE_BYTES = 64,     // of a row, about: where it stands in its table, and where it is found
};

typedef struct CopyRow {
        ListNode states; // of a unit: the head; of a state: among those of its unit
        char *text;      // not written yet; NULL: it stands in its block's chunk
        uint32_t offset; // there
        uint32_t len, place, epoch, key_len;
        uint8_t kind;
        bool gone, anew; // in what has changed: there is no such thing; all of its states were told
        char key[];      // the kind, and its names, each with a NUL
} CopyRow;

typedef struct CopyBlock {
        TextChunk *chunk; // NULL: there is none yet
        bool changed;     // it is not what the rows are now
} CopyBlock;

typedef struct CopyTable {
        CopyRow **rows;
        size_t n, allocated;
        CopyBlock *blocks;
        size_t n_blocks;
        uint32_t anew; // rows of an older epoch go with `complete`; 0: none do
} CopyTable;

struct ClusterCopy {
        bool changes, missed;
        _Atomic size_t *held;
        uint32_t anew; // kinds of which all was told, a set
        uint32_t epoch;
        Map by_key;
        CopyTable tables[EVENT_KINDS];
        Buf key;
        Json json;
        size_t bytes;
};

// In the order of the document. Kinds without names are one object and no list.
static const struct {
        Argosy__EventKind kind;
        const char *name;
} lists[] = {
        {ARGOSY__EVENT_KIND__EVENT_LEADER, "leader"},   {ARGOSY__EVENT_KIND__EVENT_QUEUE, "queue"},
        {ARGOSY__EVENT_KIND__EVENT_NODE, "nodes"},      {ARGOSY__EVENT_KIND__EVENT_DRAIN, "drains"},
        {ARGOSY__EVENT_KIND__EVENT_ROLE, "roles"},      {ARGOSY__EVENT_KIND__EVENT_POOL, "pools"},
        {ARGOSY__EVENT_KIND__EVENT_GRANT, "grants"},    {ARGOSY__EVENT_KIND__EVENT_RULE, "rules"},
        {ARGOSY__EVENT_KIND__EVENT_JOB, "jobs"},        {ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "rollouts"},
        {ARGOSY__EVENT_KIND__EVENT_UNIT, "unit_files"}, {ARGOSY__EVENT_KIND__EVENT_CONTENT, "contents"},
        {ARGOSY__EVENT_KIND__EVENT_STATE, "units"},
};
static_assert(ELEMENTSOF(lists) == EVENT_KINDS - 2, "each kind has a list, but EVENT_NONE and EVENT_STREAM");

const char *cluster_copy_list(Argosy__EventKind kind) {
        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                if (lists[i].kind == kind)
                        return lists[i].name;
        return NULL;
}

// ---- rows

static CopyTable *table_of(ClusterCopy *c, const CopyRow *row) {
        return &c->tables[row->kind];
}

static CopyBlock *block_of(CopyTable *t, size_t place) {
        return &t->blocks[place / ROWS_PER_BLOCK];
}

static const char *text_of(CopyTable *t, const CopyRow *row) {
        return row->text ? row->text : block_of(t, row->place)->chunk->text + row->offset;
}

// What is not written yet counts here, and what is, in the chunk.
static void drop_text(ClusterCopy *c, CopyRow *row) {
        if (!row->text)
                return;
        *c->held -= row->len;
        free(TAKE_PTR(row->text));
}

static size_t bytes_of(const CopyRow *row) {
        return sizeof(*row) + row->key_len + PLACE_BYTES;
}

static int set_text(ClusterCopy *c, CopyRow *row, const char *text, size_t len) {
        char *copy = malloc(MAX_OF(len, (size_t) 1));

        if (!copy)
                return -ENOMEM;
        memcpy(copy, text, len);
        c->bytes += len;
        c->bytes -= row->len;
        drop_text(c, row);
        *c->held += len;
        row->text = copy;
        row->len = (uint32_t) len;
        block_of(table_of(c, row), row->place)->changed = true;
        return 0;
}

static int give_place(ClusterCopy *c, CopyRow *row) {
        CopyTable *t = table_of(c, row);
        size_t n_blocks = t->n / ROWS_PER_BLOCK + 1;

        if (t->n == NOWHERE - 1 || ARRAY_GROW(t->rows, t->allocated, t->n + 1) < 0)
                return -ENOMEM;
        if (n_blocks > t->n_blocks) {
                if (ARRAY_RESERVE(t->blocks, n_blocks) < 0)
                        return -ENOMEM;
                t->blocks[t->n_blocks++] = (CopyBlock){.changed = true};
        }
        row->place = (uint32_t) t->n;
        t->rows[t->n++] = row;
        return 0;
}

// The last row takes its place.
static int take_place(ClusterCopy *c, CopyRow *row) {
        CopyTable *t = table_of(c, row);
        CopyRow *last = t->rows[t->n - 1];

        if (last != row && set_text(c, last, text_of(t, last), last->len) < 0)
                return -ENOMEM;
        block_of(t, last->place)->changed = true;
        block_of(t, row->place)->changed = true;
        last->place = row->place;
        t->rows[row->place] = last;
        t->n--;
        row->place = NOWHERE;
        c->bytes -= row->len;
        drop_text(c, row);
        row->len = 0;
        return 0;
}

static void row_free(void *value) {
        CopyRow *row = value;

        free(row->text);
        free(row);
}

static void forget(ClusterCopy *c, CopyRow *row) {
        list_unlink(&row->states);
        (void) map_take(&c->by_key, row->key, row->key_len);
        c->bytes -= bytes_of(row);
        *c->held -= bytes_of(row);
        drop_text(c, row);
        row_free(row);
}

// One of a unit stays as long as it has states.
static int drop(ClusterCopy *c, CopyRow *row) {
        CopyRow *unit = NULL;
        int r = row->place == NOWHERE ? 0 : take_place(c, row);

        if (r < 0)
                return r;
        if (row->kind == ARGOSY__EVENT_KIND__EVENT_UNIT && list_is_linked(&row->states))
                return 0;
        if (row->kind == ARGOSY__EVENT_KIND__EVENT_STATE && row->states.next == row->states.prev)
                unit = CONTAINER_OF(row->states.next, CopyRow, states);
        forget(c, row);
        if (unit && unit->place == NOWHERE && unit->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                forget(c, unit);
        return 0;
}

static int drop_states(ClusterCopy *c, CopyRow *unit) {
        while (list_is_linked(&unit->states)) {
                CopyRow *state = CONTAINER_OF(unit->states.next, CopyRow, states);
                int r = take_place(c, state);

                if (r < 0)
                        return r;
                forget(c, state);
        }
        return 0;
}

// ---- which one it is

static int make_key(ClusterCopy *c, Argosy__EventKind kind, const Argosy__Event *e, size_t n_names) {
        char first = (char) kind;
        int r;

        c->key.len = 0;
        r = buf_append(&c->key, &first, 1);
        for (size_t i = 0; i < n_names && r == 0; i++) {
                const char *name = event_value(e, i);

                r = buf_append(&c->key, name, strlen(name) + 1);
        }
        return r;
}

static CopyRow *find(const ClusterCopy *c) {
        return map_find(&c->by_key, c->key.data, c->key.len);
}

static CopyRow *add(ClusterCopy *c, Argosy__EventKind kind) {
        CopyRow *row = calloc(1, sizeof(*row) + c->key.len);

        if (!row)
                return NULL;
        list_init(&row->states);
        row->kind = (uint8_t) kind;
        row->place = NOWHERE;
        row->key_len = (uint32_t) c->key.len;
        memcpy(row->key, c->key.data, c->key.len);
        if (map_add(&c->by_key, row->key, row->key_len, row) < 0) {
                free(row);
                return NULL;
        }
        c->bytes += bytes_of(row);
        *c->held += bytes_of(row);
        return row;
}

// Adds the row of a unit's state to its unit.
static int add_to_unit(ClusterCopy *c, CopyRow *row, const Argosy__Event *e) {
        CopyRow *unit;

        if (make_key(c, ARGOSY__EVENT_KIND__EVENT_UNIT, e, 1) < 0)
                return -ENOMEM;
        unit = find(c) ?: add(c, ARGOSY__EVENT_KIND__EVENT_UNIT);
        if (!unit)
                return -ENOMEM;
        list_append(&unit->states, &row->states);
        return 0;
}

// ---- events

static uint32_t kinds_of(const char *words) {
        uint32_t kinds = 0;

        if (!*words)
                return UINT32_MAX;
        for (const char *p = words; *p; p += strspn(p, " ")) {
                char word[32];
                size_t len = strcspn(p, " ");

                str_fit(word, sizeof(word), "%.*s", (int) MIN_OF(len, sizeof(word)), p);
                kinds |= event_kind_bit(event_kind_from_string(word));
                p += len;
        }
        return kinds;
}

static void begin_anew(ClusterCopy *c, uint32_t kinds) {
        c->epoch++;
        c->anew |= kinds;
        for (unsigned k = 0; k < EVENT_KINDS; k++)
                if (kinds & event_kind_bit((Argosy__EventKind) k))
                        c->tables[k].anew = c->epoch;
}

static int drop_left_over(ClusterCopy *c, CopyTable *t) {
        int r = 0;

        for (size_t i = t->n; i-- > 0 && t->anew > 0 && r == 0;)
                if (t->rows[i]->epoch < t->anew)
                        r = drop(c, t->rows[i]);
        t->anew = 0;
        return r;
}

static int take_word(ClusterCopy *c, const Argosy__Event *e) {
        int r = 0;

        if (streq(event_value(e, EVENT_STREAM_WORD), EVENT_STREAM_BEGINS))
                begin_anew(c, kinds_of(event_value(e, EVENT_STREAM_KINDS)));
        else if (streq(event_value(e, EVENT_STREAM_WORD), EVENT_STREAM_COMPLETE))
                for (unsigned k = 0; k < EVENT_KINDS && r == 0; k++)
                        r = drop_left_over(c, &c->tables[k]);
        return r;
}

static bool is_open_job(const Argosy__Event *e) {
        enum { STATE = 5 };
        const char *word = event_value(e, STATE);
        Argosy__JobState state;

        return job_state_from_string(word, strlen(word), &state) &&
               (state == ARGOSY__JOB_STATE__JOB_RUNNING || state == ARGOSY__JOB_STATE__JOB_HELD);
}

static int write_row(ClusterCopy *c, CopyRow *row, const EventKindInfo *info, const Argosy__Event *e) {
        Json *j = &c->json;
        int r;

        json_begin(j, '{');
        event_fields_json(e, info, e->gone ? info->n_names : event_kind_n_fields(info), j);
        json_end(j, '}');
        r = j->failed ? -ENOMEM : set_text(c, row, (const char *) j->text.data, j->text.len);
        j->text.len = 0;
        j->used[0] = false;
        return r;
}

static int take_row(ClusterCopy *c, const EventKindInfo *info, const Argosy__Event *e) {
        bool whole = e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT && e->mark != ARGOSY__EVENT_MARK__EVENT_NEW,
             goes = !c->changes &&
                    (e->gone || (e->kind == ARGOSY__EVENT_KIND__EVENT_JOB && !is_open_job(e)));
        CopyRow *row;
        int r = make_key(c, e->kind, e, info->n_names);

        if (r < 0)
                return r;
        row = find(c);
        if (row && whole)
                r = drop_states(c, row);
        if (r < 0 || goes)
                return r == 0 && row ? drop(c, row) : r;
        if (!row && !(row = add(c, e->kind)))
                return -ENOMEM;
        if (row->place == NOWHERE)
                r = give_place(c, row);
        if (r == 0 && e->kind == ARGOSY__EVENT_KIND__EVENT_STATE && !list_is_linked(&row->states))
                r = add_to_unit(c, row, e);
        row->epoch = c->epoch;
        row->gone = e->gone;
        row->anew |= whole;
        return r == 0 ? write_row(c, row, info, e) : r;
}

int cluster_copy_take(ClusterCopy *c, const Argosy__Event *e) {
        const EventKindInfo *info = event_kind_info(e->kind);

        if (!info)
                return 0;
        for (size_t i = 0; i < info->n_names; i++)
                if (!*event_value(e, i))
                        return -EBADMSG;
        c->missed |= e->mark != ARGOSY__EVENT_MARK__EVENT_NEW;
        return e->kind == ARGOSY__EVENT_KIND__EVENT_STREAM ? take_word(c, e) : take_row(c, info, e);
}

int cluster_copy_take_packed(ClusterCopy *c, const ProtobufCBinaryData *packed) {
        Argosy__Event *e;
        int r = message_unpack(&argosy__event__descriptor, packed->data, packed->len, (void **) &e);

        if (r < 0)
                return r;
        r = cluster_copy_take(c, e);
        message_free(e);
        return r;
}

// ---- the whole

// The rows of a block as one chunk, each but the very first behind a comma.
static int write_block(ClusterCopy *c, CopyTable *t, size_t first, size_t n) {
        CopyBlock *b = block_of(t, first);
        size_t len = 0, at = 0;
        TextChunk *chunk;

        for (size_t i = first; i < first + n; i++)
                len += t->rows[i]->len + (i > 0);
        chunk = text_chunk_new(len, c->held);
        if (!chunk)
                return -ENOMEM;
        for (size_t i = first; i < first + n; i++) {
                CopyRow *row = t->rows[i];

                if (i > 0)
                        chunk->text[at++] = ',';
                memcpy(chunk->text + at, text_of(t, row), row->len);
                row->offset = (uint32_t) at; // the others are still found by theirs
                at += row->len;
                drop_text(c, row);
        }
        text_chunk_unref(b->chunk);
        b->chunk = chunk;
        b->changed = false;
        return 0;
}

static int write_blocks(ClusterCopy *c, CopyTable *t) {
        size_t n_blocks = (t->n + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;

        for (size_t i = n_blocks; i < t->n_blocks; i++)
                t->blocks[i] = (CopyBlock){.chunk = text_chunk_unref(t->blocks[i].chunk), .changed = true};
        for (size_t i = 0; i < n_blocks; i++) {
                size_t first = i * ROWS_PER_BLOCK;

                if (t->blocks[i].changed &&
                    write_block(c, t, first, MIN_OF(t->n - first, (size_t) ROWS_PER_BLOCK)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

typedef struct Pieces {
        TextPiece *pieces;
        size_t n, allocated;
        Buf between;  // what stands between the blocks
        size_t given; // of it
} Pieces;

static int add_piece(Pieces *p, TextChunk *chunk, size_t offset, size_t len) {
        if (ARRAY_GROW(p->pieces, p->allocated, p->n + 1) < 0)
                return -ENOMEM;
        p->pieces[p->n++] = (TextPiece){chunk, offset, len};
        return 0;
}

// Its chunk is made in the end.
static int end_between(Pieces *p) {
        size_t given = p->given;

        p->given = p->between.len;
        return add_piece(p, NULL, given, p->between.len - given);
}

static int add_list(ClusterCopy *c, size_t i, Pieces *p) {
        CopyTable *t = &c->tables[lists[i].kind];
        bool is_list = event_kind_info(lists[i].kind)->n_names > 0;
        int r = write_blocks(c, t);

        if (r == 0)
                r = buf_printf(&p->between, ",\"%s\":%s", lists[i].name,
                               is_list     ? "["
                               : t->n == 0 ? "null"
                                           : "");
        if (r == 0 && t->n > 0) {
                r = end_between(p);
                for (size_t b = 0; r == 0 && b * ROWS_PER_BLOCK < t->n; b++) {
                        TextChunk *chunk = t->blocks[b].chunk;

                        r = add_piece(p, chunk, 0, chunk->len);
                        if (r == 0)
                                text_chunk_ref(chunk);
                }
        }
        return r == 0 && is_list ? buf_append(&p->between, "]", 1) : r;
}

// What stands between is one chunk of all.
static int finish(const ClusterCopy *c, Pieces *p) {
        TextChunk *between;

        if (end_between(p) < 0 || !(between = text_chunk_new(p->between.len, c->held)))
                return -ENOMEM;
        memcpy(between->text, p->between.data, p->between.len);
        for (size_t i = 0; i < p->n; i++)
                if (!p->pieces[i].chunk)
                        p->pieces[i].chunk = text_chunk_ref(between);
        text_chunk_unref(between);
        return 0;
}

static int write_whole(ClusterCopy *c, const char *cursor, Pieces *p) {
        int r = buf_printf(&p->between, "{\"cursor\":\"%s\"", cursor);

        for (size_t i = 0; i < ELEMENTSOF(lists) && r == 0; i++)
                r = add_list(c, i, p);
        return r == 0 ? buf_append(&p->between, "}\n", 2) : r;
}

// ---- what has changed

static int add_row(Buf *b, CopyTable *t, const CopyRow *row, bool *first) {
        int r = *first ? 0 : buf_append(b, ",", 1);

        *first = false;
        return r == 0 ? buf_append(b, text_of(t, row), row->len) : r;
}

// Those that are gone, or the others. A list without any is left out.
static int add_rows(ClusterCopy *c, size_t i, bool gone, bool *first_list, Buf *b) {
        CopyTable *t = &c->tables[lists[i].kind];
        bool is_list = event_kind_info(lists[i].kind)->n_names > 0, first = true;
        int r = 0;

        for (size_t k = 0; k < t->n && r == 0; k++) {
                if (t->rows[k]->gone != gone)
                        continue;
                if (first)
                        r = buf_printf(b, "%s\"%s\":%s", *first_list ? "" : ",", lists[i].name,
                                       is_list ? "[" : "");
                *first_list = false;
                if (r == 0)
                        r = add_row(b, t, t->rows[k], &first);
        }
        return r == 0 && is_list && !first ? buf_append(b, "]", 1) : r;
}

static int add_all_rows(ClusterCopy *c, bool gone, bool first, Buf *b) {
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(lists) && r == 0; i++)
                r = add_rows(c, i, gone, &first, b);
        return r;
}

static void write_anew(ClusterCopy *c, Json *j) {
        CopyTable *units = &c->tables[ARGOSY__EVENT_KIND__EVENT_UNIT];

        json_member_begin(j, "anew", '{');
        json_member_begin(j, "lists", '[');
        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                if (c->anew & event_kind_bit(lists[i].kind))
                        json_string(j, lists[i].name);
        json_end(j, ']');
        json_member_begin(j, "units", '[');
        for (size_t i = 0; i < units->n; i++)
                if (units->rows[i]->anew)
                        json_string(j, units->rows[i]->key + 1);
        json_end(j, ']');
        json_end(j, '}');
}

static int write_changes(ClusterCopy *c, const char *cursor, Pieces *p) {
        Buf *b = &p->between;
        Json j = {};
        int r;

        json_begin(&j, '{');
        json_strings(&j, (const char *const[][2]){{"cursor", cursor}}, 1);
        json_member_bool(&j, "missed", c->missed);
        write_anew(c, &j);
        json_key(&j, "gone");
        r = j.failed ? -ENOMEM : buf_append(b, j.text.data, j.text.len);
        json_done(&j);
        if (r == 0)
                r = buf_append(b, "{", 1);
        if (r == 0)
                r = add_all_rows(c, true, true, b);
        if (r == 0)
                r = buf_append(b, "}", 1);
        if (r == 0)
                r = add_all_rows(c, false, false, b);
        return r == 0 ? buf_append(b, "}\n", 2) : r;
}

int cluster_copy_write(ClusterCopy *c, const char *cursor, TextPiece **ret, size_t *ret_n) {
        Pieces p = {};
        int r = c->changes ? write_changes(c, cursor, &p) : write_whole(c, cursor, &p);

        if (r == 0)
                r = finish(c, &p);
        buf_done(&p.between);
        if (r < 0) {
                text_pieces_free(p.pieces, p.n);
                return r;
        }
        *ret = p.pieces;
        *ret_n = p.n;
        return 0;
}

// ---- life

size_t cluster_copy_bytes(const ClusterCopy *c) {
        return c->bytes;
}

ClusterCopy *cluster_copy_new(bool changes, _Atomic size_t *held) {
        ClusterCopy *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->changes = changes;
        c->held = held;
        return c;
}

ClusterCopy *cluster_copy_free(ClusterCopy *c) {
        if (!c)
                return NULL;
        for (unsigned k = 0; k < EVENT_KINDS; k++) {
                CopyTable *t = &c->tables[k];

                for (size_t i = 0; i < t->n_blocks; i++)
                        text_chunk_unref(t->blocks[i].chunk);
                free(t->blocks);
                free(t->rows);
        }
        map_foreach(slot, &c->by_key) {
                CopyRow *row = slot->value;

                *c->held -= bytes_of(row);
                drop_text(c, row);
        }
        map_done_with(&c->by_key, row_free);
        buf_done(&c->key);
        json_done(&c->json);
        free(c);
        return NULL;
}
