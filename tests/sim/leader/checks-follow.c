// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of events of all kinds, by two who watch: one from the beginning of the story, who dies now and then
// and goes on from where he was, and one who begins at a calm moment and is told of the whole state. What
// they have then is the same. Each has his own rights: root, and somebody who may see some of it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "author.h"
#include "checks-private.h"
#include "event-asks.h"
#include "test.h"

enum { OBJECTS_MAX = 16384, NAME_TEXT = 96, WORDS_TEXT = 160, FOLLOW_BYTES = 16384, FOLLOWERS = 2 };

typedef struct Object {
        Argosy__EventKind kind;
        uint64_t key;          // hash of the name
        char name[NAME_TEXT];
        uint64_t words;        // hash of all that was said of it
        char text[WORDS_TEXT]; // the beginning of it
        bool stale;            // from before the state that is being told
        bool seen;             // the other one has it, too
        bool own;              // a job that nobody asked for: nobody is told how often it has come again
} Object;

typedef struct Follower {
        Asked asked;
        Object *objects;
        size_t n;
        bool complete;
} Follower;

static Follower followers[FOLLOWERS], fresh;
static uint64_t n_drawn;
static Argosy__Author alice;

static void follower_begin(Follower *f, const Argosy__Author *author) {
        Object *objects = f->objects;

        *f = (Follower){.objects = objects ?: calloc(OBJECTS_MAX, sizeof(*objects))};
        assert_non_null(f->objects);
        f->asked.no_wait = true;
        f->asked.max_bytes = FOLLOW_BYTES;
        f->asked.author = author;
}

void follow_begin(void) {
        argosy__author__init(&alice);
        alice.host = world_author_host(AUTHOR_ALICE);
        alice.uid = WORLD_UID(AUTHOR_ALICE);
        alice.user = (char *) world_authors[AUTHOR_ALICE];
        alice.n_groups = world_author_groups(AUTHOR_ALICE, &alice.groups);
        n_drawn = 0;
        for (size_t i = 0; i < FOLLOWERS; i++)
                follower_begin(&followers[i], i == 0 ? NULL : &alice);
}

void follow_end(void) {
        for (size_t i = 0; i < FOLLOWERS; i++)
                asked_forget(&followers[i].asked);
        asked_forget(&fresh.asked);
}

// ------------------------------------------------------------------------------------------ what he is told

static uint64_t hashed(uint64_t h, const char *text) {
        do
                h = (h ^ (uint8_t) *text) * UINT64_C(0x100000001b3);
        while (*text++);
        return h;
}

// Dates are said by the clock of the moment, which may be set.
static uint64_t words_of(const Argosy__Event *e) {
        const EventKindInfo *info = event_kind_info(e->kind);
        uint64_t h = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < e->n_values; i++)
                h = hashed(h, info && info->fields[i].type != EVENT_TIME ? e->values[i] : "");
        return h;
}

static char *appended(char *at, const char *end, const char *text) {
        while (at < end && *text)
                *at++ = *text++;
        return at;
}

// The beginning of it, for who reads of a failure. It is kept of each event, so it is made without printf().
static void text_of(const Argosy__Event *e, char ret[WORDS_TEXT]) {
        const char *end = ret + WORDS_TEXT - 1;
        char *at = ret;

        for (size_t i = 0; i < e->n_values && at < end; i++) {
                at = appended(at, end, i > 0 ? " '" : "'");
                at = appended(at, end, e->values[i]);
                at = appended(at, end, "'");
        }
        *at = 0;
}

static void name_of(const Argosy__Event *e, char ret[NAME_TEXT]) {
        const EventKindInfo *info = event_kind_info(e->kind);
        const char *end = ret + NAME_TEXT - 1;
        char *at = ret;

        for (unsigned i = 0; info && i < info->n_names && at < end; i++) {
                at = appended(at, end, i > 0 ? " " : "");
                at = appended(at, end, event_value(e, i));
        }
        *at = 0;
}

static uint64_t key_of(const char *name) {
        return hashed(UINT64_C(0xcbf29ce484222325), name);
}

static Object *find(const Follower *f, Argosy__EventKind kind, const char *name) {
        uint64_t key = key_of(name);

        for (size_t i = 0; i < f->n; i++)
                if (f->objects[i].key == key && f->objects[i].kind == kind &&
                    strcmp(f->objects[i].name, name) == 0)
                        return &f->objects[i];
        return NULL;
}

// What nodes say of a unit that is told anew follows.
static void drop_states(Follower *f, const char *unit) {
        size_t len = strlen(unit);

        for (size_t i = f->n; i > 0; i--)
                if (f->objects[i - 1].kind == ARGOSY__EVENT_KIND__EVENT_STATE &&
                    strncmp(f->objects[i - 1].name, unit, len) == 0 && f->objects[i - 1].name[len] == ' ')
                        f->objects[i - 1] = f->objects[--f->n];
}

static void take_stream(Follower *f, const Argosy__Event *e) {
        if (event_is_word(e, EVENT_STREAM_BEGINS)) {
                f->complete = false;
                for (size_t i = 0; i < f->n; i++)
                        f->objects[i].stale |= event_begins(e, f->objects[i].kind);
        } else if (event_is_word(e, EVENT_STREAM_COMPLETE)) {
                f->complete = true;
                for (size_t i = f->n; i > 0; i--)
                        if (f->objects[i - 1].stale)
                                f->objects[i - 1] = f->objects[--f->n];
        }
}

static void take(Follower *f, const Argosy__Event *e) {
        char name[NAME_TEXT];
        Object *o;

        if (e->kind == ARGOSY__EVENT_KIND__EVENT_STREAM) {
                take_stream(f, e);
                return;
        }
        name_of(e, name);
        if (e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT && e->mark != ARGOSY__EVENT_MARK__EVENT_NEW)
                drop_states(f, name);
        o = find(f, e->kind, name);
        if (e->gone) {
                if (o)
                        *o = f->objects[--f->n];
                return;
        }
        if (!o) {
                assert_true(f->n < OBJECTS_MAX);
                o = &f->objects[f->n++];
        }
        *o = (Object){.kind = e->kind, .key = key_of(name), .words = words_of(e)};
        memcpy(o->name, name, sizeof(name));
        text_of(e, o->text);
        o->own =
                e->kind == ARGOSY__EVENT_KIND__EVENT_JOB && strcmp(event_field(e, "author"), "cluster") == 0;
}

// He goes on behind the event that he took last.
static void die_behind(Follower *f, size_t n) {
        const Argosy__Event *e = f->asked.events[n - 1];
        EventCursor c;

        assert_true(event_cursor_parse(f->asked.cursor, &c));
        c.seq = e->seq;
        c.index = e->index;
        c.mode = e->mark == ARGOSY__EVENT_MARK__EVENT_WHOLE    ? EVENT_CURSOR_STATE
                 : e->mark == ARGOSY__EVENT_MARK__EVENT_MISSED ? EVENT_CURSOR_MISSED
                                                               : EVENT_CURSOR_RING;
        event_cursor_format(&c, f->asked.cursor);
}

// Of what is not for him a leader with little time for each turn passes by little.
static bool pull(Follower *f) {
        enum { TURNS = 2000 };

        asked_ask(&world.rig, &f->asked);
        for (unsigned i = 0; i < TURNS && !f->asked.answered; i++)
                rig_turn(&world.rig);
        asked_cancel(&world.rig, &f->asked);
        return f->asked.answered && f->asked.status == 0;
}

// False: nobody answered, or there is nothing more.
static bool follow(Follower *f, bool may_die) {
        Draw d = draw_from(world.plan.chance ^ UINT64_C(0x666f6c6c6f77) ^ ++n_drawn);
        size_t n;

        if (!pull(f))
                return false;
        n = f->asked.n;
        if (may_die && n > 1 && draw_one_in(&d, 3)) {
                n = 1 + draw_below(&d, (unsigned) n - 1);
                die_behind(f, n);
        }
        for (size_t i = 0; i < n; i++)
                take(f, f->asked.events[i]);
        return n < f->asked.n || !f->asked.all;
}

void follow_on_settled(void) {
        Draw d = draw_from(world.plan.chance ^ ~n_drawn);

        if (draw_one_in(&d, 3))
                (void) follow(&followers[draw_below(&d, asks.swarm.loads[LOAD_access] ? FOLLOWERS : 1)],
                              true);
}

// ------------------------------------------------------------------------------------------------ both

// Of jobs that are over a leader keeps the newest, and tells of those.
static bool may_be_forgotten(const Object *o) {
        return o->kind == ARGOSY__EVENT_KIND__EVENT_JOB;
}

static void compare(const Follower *f, const char *who) {
        for (size_t i = 0; i < fresh.n; i++) {
                Object *o = find(f, fresh.objects[i].kind, fresh.objects[i].name);
                const char *kind = event_kind_info(fresh.objects[i].kind)->name;

                if (o)
                        o->seen = true;
                if (!o && !may_be_forgotten(&fresh.objects[i]))
                        check_fail("who-follows-has-all", "%s, who follows, has no %s %s, and there is one",
                                   who, kind, fresh.objects[i].name);
                if (o && !o->own && o->words != fresh.objects[i].words)
                        check_fail("who-follows-has-all",
                                   "%s, who follows, has %s %s, and who begins has %s", who, kind, o->text,
                                   fresh.objects[i].text);
        }
        for (size_t i = 0; i < f->n; i++)
                if (!f->objects[i].seen && !may_be_forgotten(&f->objects[i]))
                        check_fail("who-follows-has-all", "%s, who follows, has %s %s, and there is none",
                                   who, event_kind_info(f->objects[i].kind)->name, f->objects[i].name);
}

static void one_follower(Follower *f, const char *who) {
        enum { ANSWERS = 2000 };
        const Argosy__Author *author = f->asked.author;

        rig_settle(&world.rig);
        for (unsigned i = 0; i < ANSWERS && follow(f, false); i++)
                ;
        asked_forget(&fresh.asked);
        follower_begin(&fresh, author);
        for (unsigned i = 0; i < ANSWERS && follow(&fresh, false); i++)
                ;
        if (f->asked.status != 0 || fresh.asked.status != 0 || !f->complete || !fresh.complete)
                return; // there is no room for both, or he has not the right; others see that
        while (follow(f, false))
                ;
        for (size_t i = 0; i < f->n; i++)
                f->objects[i].seen = false;
        check_says("who-follows-has-all");
        compare(f, who);
}

void follow_on_calm(void) {
        one_follower(&followers[0], "root");
        if (asks.swarm.loads[LOAD_access])
                one_follower(&followers[1], "alice");
}

void follow_on_look(void) {
        follow_on_calm();
}
