// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   asked -> [line] -> the pool looks at one path after the other -> the answer
//                                  '-> none in time: the answer is that its file system does not answer
//
// A look at a path may take for ever: its file system may be that of a server that is dead. The attributes
// that the kernel has will do, and no automount is begun, but the folders above are looked up, and a server
// is asked for those. So one look at a time is with the pool, in threads for what may hang (POOL_PLACES),
// and what is looked for in vain leaves the line to the others: its thread is lost to it until the kernel
// gives it back. With all threads lost nothing is looked at, which is said.
//
// The look goes from folder to folder, so that it is known where it hangs:
//
//      at the root of a mount, or in a folder   the device of that (mount-point.h, statx()). No other path
//                                               on the device is looked at meanwhile: paths
//                                               that are on it by their names do not go to the pool, and one
//                                               that gets there by a link stops there
//      behind a link                            nobody knows on which device. No other path beneath the link
//                                               is looked at meanwhile
//
// The pool is handed a PlaceLook whole; only `at`, the place that it is at, is read meanwhile. A look that
// is with the pool at the agent's end belongs to nobody any more and is freed when it comes back.

#include "agent-places.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "clock.h"
#include "log.h"
#include "mount-point.h"
#include "pool.h"
#include "str.h"

#define NO_ANSWER "lies on a file system that does not answer"

enum { ANSWERS_PER_TURN = 16 };

typedef struct PlaceLook {
        PoolWork work;
        ListNode link; // in Agent.places while it waits or is late
        Agent *agent;  // NULL: it has ended
        AgentPlaces places;
        void (*done)(const char *why, void *userdata); // NULL: it was called
        void *userdata;
        struct {
                _Atomic size_t place, len; // so many bytes of its path
                _Atomic bool behind_link;  // not they themselves: what they lead to
                _Atomic dev_t folder;      // the device that they are on; 0: nobody knows
        } at;
        dev_t dead[POOL_PLACES_MAX]; // devices that do not answer, when it began
        size_t n_dead;
        uint64_t due_us;
        bool deferred;
        char *beneath, *mount; // when it is late: what does not answer
        dev_t device;          // likewise; 0: nobody knows
        bool barred;           // the pool's answer, with `why`
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

int agent_places_of(const CarriedFiles *files, const FileSource *sources, size_t n_sources, const char *unit,
                    AgentPlaces *ret) {
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

int agent_places_copy(const AgentPlaces *p, AgentPlaces *ret) {
        AgentPlaces copy = {.list = calloc(p->n ?: 1, sizeof(*copy.list))};

        for (; copy.list && copy.n < p->n; copy.n++) {
                const struct AgentPlace *from = &p->list[copy.n];
                struct AgentPlace *to = &copy.list[copy.n];

                *to = (struct AgentPlace){.path = strdup(from->path),
                                          .source = strdup(from->source),
                                          .is_file = from->is_file};
                if (to->path && to->source)
                        continue;
                copy.n++;
                agent_places_done(&copy);
                return -ENOMEM;
        }
        *ret = copy;
        return copy.list ? 0 : -ENOMEM;
}

// ---------------------------------------------------------------------------------------------- in the pool

static int look_at(const char *path, int flags, struct statx *ret) {
        return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | flags, STATX_TYPE, ret);
}

static bool is_dead(const PlaceLook *l, dev_t device) {
        for (size_t i = 0; i < l->n_dead; i++)
                if (l->dead[i] == device)
                        return true;
        return false;
}

// Whether somebody else answers for the file system: a server, a program, or who is to mount it first.
static bool is_of_others(const char *path) {
        static const uint32_t types[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,   CIFS_SUPER_MAGIC,
                                         SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC,  AFS_SUPER_MAGIC,
                                         AFS_FS_MAGIC,     CODA_SUPER_MAGIC,  V9FS_MAGIC,
                                         FUSE_SUPER_MAGIC, AUTOFS_SUPER_MAGIC};
        struct statfs fs;

        if (statfs(path, &fs) < 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if ((uint32_t) fs.f_type == types[i])
                        return true;
        return false;
}

// systemd's first process looks at what is to be bound over in /etc (carried-files.c), and hangs with it.
// That of /etc itself it needs anyway.
static bool would_hang_systemd(const char *path, const char *part, dev_t device) {
        struct statx etc;

        return str_has_prefix(path, "/etc/") && look_at("/etc", 0, &etc) == 0 &&
               makedev(etc.stx_dev_major, etc.stx_dev_minor) != device && is_of_others(part);
}

// A link that leads to /usr, say: its namespace would be set up, and the unit find no program in it.
static bool leads_to_system(const char *path) {
        _cleanup_free_ char *real = realpath(path, NULL);

        return real && file_destination_hides_system(real);
}

enum { LOOK_DEAD = 1, LOOK_WOULD_HANG_SYSTEMD, LOOK_LEADS_TO_SYSTEM };

// One folder after the other. 0, negative errno, or one of these: it leads to a device that does not answer,
// or that it must not lead to.
static int look_along(PlaceLook *l, const char *path, struct statx *ret) {
        char part[PATH_MAX];
        bool has_link = false;
        int r = 0;

        atomic_store(&l->at.folder, 0);
        for (size_t len = 1; r == 0 && path[len - 1] && len < sizeof(part); len++) {
                dev_t device;

                len += strcspn(path + len, "/");
                str_fit(part, sizeof(part), "%.*s", (int) len, path);
                atomic_store(&l->at.behind_link, false);
                atomic_store(&l->at.len, len);
                r = look_at(part, AT_SYMLINK_NOFOLLOW, ret);
                if (r == 0 && S_ISLNK(ret->stx_mode)) {
                        has_link = true;
                        atomic_store(&l->at.behind_link, true);
                        r = look_at(part, 0, ret);
                }
                if (r < 0)
                        return -errno;
                device = makedev(ret->stx_dev_major, ret->stx_dev_minor);
                r = is_dead(l, device) ? LOOK_DEAD : 0;
                atomic_store(&l->at.folder, device);
                if (r == 0 && would_hang_systemd(path, part, device))
                        r = LOOK_WOULD_HANG_SYSTEMD;
        }
        return r == 0 && has_link && leads_to_system(path) ? LOOK_LEADS_TO_SYSTEM : r;
}

// systemd would make a missing place on the host itself, and what is of another type cannot be bound over.
static const char *what_bars(PlaceLook *l, const struct AgentPlace *p) {
        struct statx st = {};
        int r = look_along(l, p->path, &st);

        if (r == LOOK_DEAD)
                return NO_ANSWER;
        if (r == LOOK_WOULD_HANG_SYSTEMD)
                return "is in /etc, where systemd itself looks, and lies on a file system of a server or of "
                       "a program";
        if (r == LOOK_LEADS_TO_SYSTEM)
                return "leads by a link to what no unit may hide";
        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR ? "does not exist"
                       : r == -EACCES
                               ? "lies in a folder that is closed to others, so that argosyd cannot see it"
                               : strerror(-r);
        if (p->is_file)
                return S_ISDIR(st.stx_mode) ? "is a folder, and the unit brings a file" : NULL;
        return S_ISDIR(st.stx_mode) ? NULL : "is no folder, and the unit brings one";
}

static void describe(const struct AgentPlace *p, const char *what, char ret[AGENT_ERROR_MAX]) {
        str_fit(ret, AGENT_ERROR_MAX, "%s, where File=%s is to be, %s on this node", p->path, p->source,
                what);
}

static void run(PoolWork *w) {
        PlaceLook *l = CONTAINER_OF(w, PlaceLook, work);

        for (size_t i = 0; i < l->places.n && !l->barred; i++) {
                const char *what;

                atomic_store(&l->at.place, i);
                what = what_bars(l, &l->places.list[i]);
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
        free(l->beneath);
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

// Whether a look that is late says that one at this place would be in vain.
static bool is_place_in_vain(const Agent *a, const struct AgentPlace *p, const char *table) {
        dev_t device;

        free(mount_point_find(table, p->path, &device));
        list_foreach (n, &a->places.late) {
                const PlaceLook *late = CONTAINER_OF(n, PlaceLook, link);

                if (late->device ? late->device == device
                                 : late->beneath && path_is_beneath(p->path, late->beneath))
                        return true;
        }
        return false;
}

static bool is_in_vain(const Agent *a, const PlaceLook *l, const char *table, char why[AGENT_ERROR_MAX]) {
        const PlaceLook *late;

        for (size_t i = 0; i < l->places.n; i++)
                if (is_place_in_vain(a, &l->places.list[i], table)) {
                        describe(&l->places.list[i], NO_ANSWER, why);
                        return true;
                }
        if (a->places.n_late < POOL_PLACES_MAX)
                return false;
        late = CONTAINER_OF(a->places.late.prev, PlaceLook, link);
        str_fit(why, AGENT_ERROR_MAX,
                "%s, where File=%s is to be, cannot be looked at, since %u looks at other places of this "
                "node get no answer, as that at %s",
                l->places.list[0].path, l->places.list[0].source, a->places.n_late,
                late->places.list[late->at.place].path);
        return true;
}

static void begin(Agent *a, PlaceLook *l) {
        list_unlink(&l->link);
        a->places.looking = l;
        list_foreach (n, &a->places.late) {
                dev_t device = CONTAINER_OF(n, PlaceLook, link)->device;

                if (device)
                        l->dead[l->n_dead++] = device;
        }
        l->due_us = clock_boot_us() + AGENT_PLACES_MS * USEC_PER_MSEC;
        pool_add(a->loop, &l->work, POOL_PLACES, run, on_run);
}

// The table of mounts is read once, and only where something does not answer. Without it there is no more to
// know than what the pool finds.
static void begin_next(Agent *a) {
        _cleanup_buf_ Buf table = {};
        char why[AGENT_ERROR_MAX];

        if (a->places.looking || list_is_empty(&a->places.waiting))
                return;
        if (a->places.n_late > 0 && mount_table_read(&table) < 0)
                buf_done(&table);
        for (unsigned n = 0; !a->places.looking && !list_is_empty(&a->places.waiting); n++) {
                PlaceLook *l = CONTAINER_OF(a->places.waiting.next, PlaceLook, link);

                if (n == ANSWERS_PER_TURN) {
                        drain_mark(&a->drain);
                        return;
                }
                if (a->places.n_late > 0 &&
                    is_in_vain(a, l, table.data ? (const char *) table.data : "", why))
                        end(l, why);
                else
                        begin(a, l);
        }
}

// The device that it hangs on. What hangs on none of a mount of its own hangs behind something that nobody
// has seen.
static void find_what_hangs(PlaceLook *l) {
        const char *path = l->places.list[l->at.place].path;
        _cleanup_free_ char *root = NULL;
        _cleanup_buf_ Buf table = {};
        dev_t device, of_root;

        l->beneath = strndup(path, l->at.len);
        if (!l->beneath || l->at.behind_link || mount_table_read(&table) < 0)
                return;
        l->mount = mount_point_find((const char *) table.data, l->beneath, &device);
        root = mount_point_find((const char *) table.data, "/", &of_root);
        if (!l->mount || !streq(l->mount, l->beneath))
                l->device = l->at.folder;
        else
                l->device = device;
        if (l->device != device) { // by a link above it
                free(l->mount);
                l->mount = NULL;
        }
        if (l->device == of_root)
                l->device = 0;
}

static void becomes_late(PlaceLook *l) {
        Agent *a = l->agent;
        const struct AgentPlace *p = &l->places.list[l->at.place];
        char why[AGENT_ERROR_MAX];

        a->places.looking = NULL;
        a->places.n_late++;
        list_append(&a->places.late, &l->link);
        find_what_hangs(l);
        log_warning("%s does not answer, on which units have files: %s.", l->mount ?: "A file system",
                    p->path);
        describe(p, NO_ANSWER, why);
        answer(l, why);
}

int agent_places_look(Agent *a, AgentPlaces *places, void (*done)(const char *why, void *userdata),
                      void *userdata) {
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

// Where the loop or the machine stood still the answer may have come: the loop takes it behind its timers.
void agent_places_wake(Agent *a, uint64_t now_us) {
        PlaceLook *l = a->places.looking;

        if (!l || l->due_us > now_us)
                return;
        if (l->deferred) {
                becomes_late(l);
                return;
        }
        l->deferred = true;
        l->due_us = now_us + USEC_PER_MSEC;
}

uint64_t agent_places_next_wake(const Agent *a) {
        return a->places.looking ? a->places.looking->due_us : 0;
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
