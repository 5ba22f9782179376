// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   asked -> [line] -> the pool looks at one path after the other -> the answer
//                                  '-> none in time: the answer is that its file system does not answer
//
// A look at a path may take for ever: its file system may be that of a server that is dead. The attributes that the kernel has will do, and no
// automount is begun, but the folders above are looked up, and a server is asked for those. So one look at a time is with the pool, in threads for
// what may hang (POOL_PLACES), and what is looked for in vain leaves the line to the others: its thread is lost to it until the kernel
// gives it back. That is one thread for each file system that does not answer, since no other path on it is looked at meanwhile (mount-point.h);
// with all threads lost nothing is looked at, which is said.
//
// The pool is handed a PlaceLook whole; only `at`, the path that it is at, is read meanwhile. A look that is with the pool at the agent's end
// belongs to nobody any more and is freed when it comes back.

#include "agent-places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "clock.h"
#include "log.h"
#include "mount-point.h"
#include "pool.h"
#include "str.h"

typedef struct PlaceLook {
        PoolWork work;
        ListNode link; // in Agent.places while it waits or is late
        Agent *agent;  // NULL: it has ended
        AgentPlaces places;
        void (*done)(const char *why, void *userdata); // NULL: it was called
        void *userdata;
        _Atomic size_t at;
        uint64_t begun_us;
        char *mount; // when it is late: what does not answer
        bool barred; // the pool's answer, with `why`
        char why[AGENT_ERROR_MAX];
} PlaceLook;

// ------------------------------------------------------------------------------------------------ places

void agent_places_done(AgentPlaces *p) {
        for (size_t i = 0; i < p->n; i++) {
                free(p->list[i].path);
                free(p->list[i].source);
        }
        free(p->list);
        *p = (AgentPlaces){};
}

int agent_places_of(const CarriedFiles *files, const FileSource *sources, size_t n_sources, const char *unit, AgentPlaces *ret) {
        AgentPlaces p = {.list = calloc(n_sources ?: 1, sizeof(*p.list))};

        for (size_t i = 0; p.list && i < n_sources; i++) {
                struct AgentPlace *place = &p.list[p.n];

                if (!sources[i].destination)
                        continue;
                p.n++;
                place->path = file_source_destination(&sources[i], unit);
                place->source = strdup(sources[i].source);
                place->is_file = carried_files_find(files, sources[i].source);
                if (place->path && place->source)
                        continue;
                agent_places_done(&p);
                return -ENOMEM;
        }
        *ret = p;
        return p.list ? 0 : -ENOMEM;
}

// ------------------------------------------------------------------------------------------------ in the pool

// systemd would make a missing place on the host itself, and what is of another type cannot be bound over.
static const char *what_bars(const struct AgentPlace *p) {
        struct statx st;

        if (statx(AT_FDCWD, p->path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
                return errno == ENOENT || errno == ENOTDIR ? "does not exist"
                       : errno == EACCES                   ? "lies in a folder that is closed to others, so that argosyd cannot see it"
                                                           : strerror(errno);
        if (p->is_file)
                return S_ISDIR(st.stx_mode) ? "is a folder, and the unit brings a file" : NULL;
        return S_ISDIR(st.stx_mode) ? NULL : "is no folder, and the unit brings one";
}

static void describe(const struct AgentPlace *p, const char *what, char ret[AGENT_ERROR_MAX]) {
        str_fit(ret, AGENT_ERROR_MAX, "%s, where File=%s is to be, %s on this node", p->path, p->source, what);
}

static void run(PoolWork *w) {
        PlaceLook *l = CONTAINER_OF(w, PlaceLook, work);

        for (size_t i = 0; i < l->places.n && !l->barred; i++) {
                const char *what;

                atomic_store(&l->at, i);
                what = what_bars(&l->places.list[i]);
                l->barred = what;
                if (what)
                        describe(&l->places.list[i], what, l->why);
        }
}

// ------------------------------------------------------------------------------------------------ answers

static void answer(PlaceLook *l, const char *why) {
        void (*done)(const char *, void *) = TAKE_PTR(l->done);

        if (done)
                done(why, l->userdata);
}

static void look_free(PlaceLook *l) {
        list_unlink(&l->link);
        agent_places_done(&l->places);
        free(l->mount);
        free(l);
}

static void end(PlaceLook *l, const char *why) {
        answer(l, why);
        look_free(l);
}

static void begin_next(Agent *a);

static void on_run(PoolWork *w) {
        PlaceLook *l = CONTAINER_OF(w, PlaceLook, work);
        Agent *a = l->agent;

        if (a && l == a->places.looking)
                a->places.looking = NULL;
        else if (a)
                a->places.n_late--;
        if (a && l->mount)
                log_notice("%s answers again.", l->mount);
        end(l, l->barred ? l->why : NULL);
        if (a) {
                begin_next(a);
                drain_mark(&a->drain);
        }
}

// ------------------------------------------------------------------------------------------------ the line

static bool is_on(const struct AgentPlace *p, const char *mount) {
        _cleanup_free_ char *own = mount_point_of(p->path);

        return own && streq(own, mount);
}

// Whether what it is to look at is known not to answer, by a look that is late; `why` says so.
static bool is_in_vain(const Agent *a, const PlaceLook *l, char why[AGENT_ERROR_MAX]) {
        const PlaceLook *late = NULL;

        list_foreach (n, &a->places.late) {
                late = CONTAINER_OF(n, PlaceLook, link);
                for (size_t i = 0; i < l->places.n; i++)
                        if (late->mount && is_on(&l->places.list[i], late->mount)) {
                                describe(&l->places.list[i], "lies on a file system that does not answer", why);
                                return true;
                        }
        }
        if (a->places.n_late < POOL_PLACES_MAX)
                return false;
        str_fit(why, AGENT_ERROR_MAX, "%s, where File=%s is to be, cannot be looked at, since %u file systems of this node do not answer, as that of %s",
                l->places.list[0].path, l->places.list[0].source, a->places.n_late, late->places.list[late->at].path);
        return true;
}

static void begin_next(Agent *a) {
        char why[AGENT_ERROR_MAX];

        while (!a->places.looking && !list_is_empty(&a->places.waiting)) {
                PlaceLook *l = CONTAINER_OF(a->places.waiting.next, PlaceLook, link);

                if (is_in_vain(a, l, why)) {
                        end(l, why);
                        continue;
                }
                list_unlink(&l->link);
                a->places.looking = l;
                l->begun_us = clock_boot_us();
                pool_add(a->loop, &l->work, POOL_PLACES, run, on_run);
        }
}

static void becomes_late(PlaceLook *l) {
        Agent *a = l->agent;
        const struct AgentPlace *p = &l->places.list[atomic_load(&l->at)];
        char why[AGENT_ERROR_MAX];

        a->places.looking = NULL;
        a->places.n_late++;
        list_append(&a->places.late, &l->link);
        l->mount = mount_point_of(p->path);
        log_warning("%s does not answer, on which units have files: %s.", l->mount ?: "A file system", p->path);
        describe(p, "lies on a file system that does not answer", why);
        answer(l, why);
}

int agent_places_look(Agent *a, AgentPlaces *places, void (*done)(const char *why, void *userdata), void *userdata) {
        PlaceLook *l = calloc(1, sizeof(*l));

        assert(places->n > 0);
        if (!l)
                return -ENOMEM;
        l->agent = a;
        l->places = *places;
        l->done = done;
        l->userdata = userdata;
        *places = (AgentPlaces){};
        list_init(&l->link);
        list_append(&a->places.waiting, &l->link);
        drain_mark(&a->drain);
        return 0;
}

void agent_places_turn(Agent *a) {
        begin_next(a);
}

static uint64_t due_us(const PlaceLook *l) {
        return l->begun_us + AGENT_PLACES_MS * USEC_PER_MSEC;
}

void agent_places_wake(Agent *a, uint64_t now_us) {
        if (a->places.looking && due_us(a->places.looking) <= now_us)
                becomes_late(a->places.looking);
}

uint64_t agent_places_next_wake(const Agent *a) {
        return a->places.looking ? due_us(a->places.looking) : 0;
}

static void let_go(PlaceLook *l) {
        answer(l, strerror(ECANCELED));
        list_unlink(&l->link);
        l->agent = NULL;
}

void agent_places_drop(Agent *a) {
        while (!list_is_empty(&a->places.waiting))
                end(CONTAINER_OF(a->places.waiting.next, PlaceLook, link), strerror(ECANCELED));
        if (a->places.looking)
                let_go(TAKE_PTR(a->places.looking));
        while (!list_is_empty(&a->places.late))
                let_go(CONTAINER_OF(a->places.late.next, PlaceLook, link));
}
