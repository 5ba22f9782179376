// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   plan: fetch -> may the unit have them here (agent-places.h)? -> what of them is not in the store is
//   asked for, by hash -> piece after piece -> the pool
//   writes it -> when none is missing any more the step is done, and the content is written
//
// One piece is asked for at a time, so it is the link that sets the pace, and beats go out between two. A
// file is fetched once however many units wait for it. Another leader is asked for the rest of what was
// begun. Whatever is wrong with a file is the error of the units that wait for it, which are planned again
// after a while; a folder that cannot be bound is a refusal, as a name is that somebody else has.

#include "agent-carried.h"

#include <errno.h>

#include "agent-barred.h"
#include "agent-spec.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "carried-names.h"
#include "carried-store.h"
#include "log.h"
#include "manager-name.h"
#include "message-of.h"
#include "pool.h"
#include "str.h"
#include "unit-name.h"

#define NO_ROOM_TEXT "a quarter of the memory of /run has to stay free on this node"

typedef struct CarriedFetch {
        ListNode link; // in Agent.carried_fetches; the first is under way
        Agent *agent;
        Hash hash;
        bool executable;
        size_t size;
        Buf bytes;       // so far
        uint64_t asked;  // Agent.attach_seq of the session in which the next piece was asked for; 0: in none
        char asked_for[UNIT_NAME_MAX + 1]; // the unit in whose name
        bool writing;    // the pool has it
        PoolWork work;
        int error; // of the pool
} CarriedFetch;

static void fetch_free(CarriedFetch *f) {
        list_unlink(&f->link);
        buf_done(&f->bytes);
        free(f);
}

// ------------------------------------------------------------------------------------------------ whether

static bool bars(const AgentNode *node, const CarriedFiles *files, char ret[AGENT_ERROR_MAX]) {
        if (node != node->agent->system || node->agent->user) {
                str_fit(ret, AGENT_ERROR_MAX,
                        "a unit with files of its own (File=) runs under a host's system manager only");
                return true;
        }
        if (!carried_store_has_room(node->agent->runtime_dir, files)) {
                str_fit(ret, AGENT_ERROR_MAX, "its files: %s", NO_ROOM_TEXT);
                return true;
        }
        return false;
}

bool agent_carried_bars_content(const AgentNode *node, const char *name, const void *content, size_t len,
                                char ret[AGENT_ERROR_MAX], AgentPlaces *ret_places) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_carried_files_ CarriedFiles files = {};
        bool barred;

        *ret_places = (AgentPlaces){};
        if (carried_files_text_len(content, len) == len ||
            unit_file_parse(name, content, len, &file, NULL) < 0)
                return false;
        barred = carried_files_read(content, len, &files) == 0 && bars(node, &files, ret);
        if (!barred) // without memory the start sees it
                (void) agent_places_of(&files, file->file_sources,
                                       file->container ? 0 : file->n_file_sources, name, ret_places);
        return barred;
}

bool agent_carried_is_due(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return work->spec && work->spec->carried && !work->files_ready &&
               !agent_unit_is_written(u);
}

Argosy__FileChange agent_carried_change(const AgentUnit *u) {
        const AgentSpec *next = agent_unit_doing(u)->spec, *now = agent_unit_content(u);

        if (!next || !next->carried || !now || !now->carried)
                return ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
        return carried_files_change(now->content, now->len, next->carried->change, next->content, next->len);
}

// ---------------------------------------------------------------------------------------------- the fetches

static CarriedFetch *find(const Agent *a, const Hash *hash, bool executable) {
        list_foreach (i, &a->carried_fetches) {
                CarriedFetch *f = CONTAINER_OF(i, CarriedFetch, link);

                if (f->executable == executable && hash_equal(&f->hash, hash))
                        return f;
        }
        return NULL;
}

static int add(Agent *a, const CarriedFile *file) {
        CarriedFetch *f;

        if (find(a, &file->hash, file->executable))
                return 0;
        f = calloc(1, sizeof(*f));
        if (!f)
                return -ENOMEM;
        *f = (CarriedFetch){
                .agent = a, .hash = file->hash, .executable = file->executable, .size = file->size};
        list_init(&f->link);
        list_append(&a->carried_fetches, &f->link);
        return 0;
}

// How many are missing, each of which is being fetched then; or -ENOMEM.
static int fetch_missing(Agent *a, const CarriedFiles *files) {
        int n = 0;

        for (size_t i = 0; i < files->n; i++) {
                const CarriedFile *f = &files->list[i];

                if (carried_store_has(a->runtime_dir, &f->hash, f->executable))
                        continue;
                if (add(a, f) < 0)
                        return -ENOMEM;
                n++;
        }
        return n;
}

static void refuse(AgentUnit *u, const char *why) {
        if (!u->has_held) {
                u->refused = true;
                agent_barred_note(u);
        }
        agent_step_done(u, why);
}

// The step has one answer, also if a stop has overtaken it meanwhile.
static void look(AgentUnit *u, const AgentCarried *c, void (*done)(const char *why, void *userdata)) {
        AgentStepCall *call = agent_step_call_new(u);
        AgentPlaces places = {};
        int r = call ? agent_places_of(&c->files, c->sources, c->container ? 0 : c->n_sources, u->name,
                                       &places)
                     : -ENOMEM;

        if (r == 0)
                r = agent_places_look(u->node->agent, &places, done, call);
        if (r == 0)
                return;
        agent_places_done(&places);
        free(call);
        agent_step_done(u, strerror(-r));
}

static AgentUnit *find_seen(AgentStepCall *call) {
        return call->node->agent->closing ? NULL : agent_step_find(call->node, call->name, call->number);
}

static bool has_places(const AgentCarried *c) {
        for (size_t i = 0; i < c->n_sources && !c->container; i++)
                if (c->sources[i].destination)
                        return true;
        return false;
}

bool agent_carried_has_unseen_places(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        return content && content->carried && !agent_unit_doing(u)->places_seen &&
               has_places(content->carried);
}

static void on_seen_for_start(const char *why, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = find_seen(call);

        if (!u)
                return;
        u->work->places_seen = !why;
        if (why)
                agent_step_done(u, why);
        else
                agent_step_prepared(u);
}

void agent_carried_see_places(AgentUnit *u) {
        look(u, agent_unit_content(u)->carried, on_seen_for_start);
}

static void fetch(AgentUnit *u) {
        AgentUnitWork *work = u->work;
        int n = fetch_missing(u->node->agent, &work->spec->carried->files);

        if (n > 0) {
                list_append(&u->node->agent->carried_waiting, &work->files_wanted);
                drain_mark(&u->node->agent->drain);
                return;
        }
        work->files_ready = n == 0;
        agent_step_done(u, n < 0 ? strerror(-n) : NULL);
}

static void on_seen_for_fetch(const char *why, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = find_seen(call);

        if (u && why)
                refuse(u, why);
        else if (u)
                fetch(u);
}

void agent_carried_fetch(AgentUnit *u) {
        const AgentCarried *c = u->work->spec->carried;
        char why[AGENT_ERROR_MAX];

        if (bars(u->node, &c->files, why))
                refuse(u, why);
        else if (has_places(c))
                look(u, c, on_seen_for_fetch);
        else
                fetch(u);
}

void agent_carried_overtaken(AgentUnit *u) {
        if (!u->work || u->work->busy != PLAN_FETCH)
                return;
        list_unlink(&u->work->files_wanted);
        u->work->busy = PLAN_NOTHING;
}

static const CarriedFile *file_of(const AgentUnitWork *work, const CarriedFetch *f) {
        const CarriedFiles *files = &work->spec->carried->files;

        for (size_t i = 0; i < files->n; i++)
                if (files->list[i].executable == f->executable && hash_equal(&files->list[i].hash, &f->hash))
                        return &files->list[i];
        return NULL;
}

static bool is_complete(const AgentUnitWork *work) {
        const Agent *a = work->unit->node->agent;
        const CarriedFiles *files = &work->spec->carried->files;

        for (size_t i = 0; i < files->n; i++)
                if (find(a, &files->list[i].hash, files->list[i].executable))
                        return false;
        return true;
}

static void fail(AgentUnitWork *work, const CarriedFile *file, const char *why, bool refused) {
        char text[AGENT_ERROR_MAX];

        list_unlink(&work->files_wanted);
        work->files_ready = false;
        str_fit(text, sizeof(text), "its file %s: %s", file->name, why);
        if (refused)
                refuse(work->unit, text);
        else
                agent_step_done(work->unit, text);
}

// `why`: of those that it is a file of; `refused`: another node may take these. One that nobody is to have
// any more goes again.
static void end_fetch(CarriedFetch *fetch, const char *why, bool refused) {
        CarriedFetch f = *fetch;
        Agent *a = f.agent;

        fetch_free(fetch);
        list_foreach_safe (i, &a->carried_waiting) {
                AgentUnitWork *work = CONTAINER_OF(i, AgentUnitWork, files_wanted);
                const CarriedFile *file = file_of(work, &f);

                if (!file)
                        continue;
                if (why) {
                        fail(work, file, why, refused);
                } else if (is_complete(work)) {
                        list_unlink(i);
                        work->files_ready = true;
                        agent_step_done(work->unit, NULL);
                }
        }
        if (!carried_is_named(a, &f.hash, f.executable))
                carried_store_drop(a->runtime_dir, &f.hash, f.executable);
        drain_mark(&a->drain);
}

// ---------------------------------------------------------------------------------------------- on the disk

static void run_write(PoolWork *w) {
        CarriedFetch *f = CONTAINER_OF(w, CarriedFetch, work);

        f->error = carried_store_put(f->agent->runtime_dir, &f->hash, f->executable, f->bytes.data,
                                     f->bytes.len);
}

static const char *phrase(int error) {
        return error == 0          ? NULL
               : error == -ENOSPC  ? NO_ROOM_TEXT
               : error == -EBADMSG ? "what came is not what it is to be"
                                   : strerror(-error);
}

static void on_written(PoolWork *w) {
        CarriedFetch *f = CONTAINER_OF(w, CarriedFetch, work);
        Agent *a = f->agent;

        if (a->closing)
                fetch_free(f);
        else
                end_fetch(f, phrase(f->error), f->error == -ENOSPC);
        agent_close_step(a);
}

static void write_it(CarriedFetch *f) {
        f->writing = true;
        f->agent->n_open++;
        pool_add(f->agent->loop, &f->work, POOL_CLUSTER, run_write, on_written);
}

// ----------------------------------------------------------------------------------------------- the leader

// A unit that waits for it, that with this name if there is a name; NULL: none does any more.
static AgentUnitWork *find_waiting(const Agent *a, const CarriedFetch *f, const char *name) {
        list_foreach (i, &a->carried_waiting) {
                AgentUnitWork *work = CONTAINER_OF(i, AgentUnitWork, files_wanted);

                if (file_of(work, f) && (!name || streq(work->unit->name, name)))
                        return work;
        }
        return NULL;
}

static void ask(Agent *a, CarriedFetch *f, const AgentUnit *u) {
        Argosy__ToVoter__FileAsk q =
                MESSAGE_OF(to_voter__file_ask, .hash = (ProtobufCBinaryData){HASH_SIZE, f->hash.bytes},
                           .from = f->bytes.len, .unit = (char *) u->name);
        Argosy__ToVoter m = TO_VOTER_OF(FILE_ASK, file_ask, &q);

        if (a->ops.send(&m, a->userdata) < 0)
                return;
        f->asked = a->attach_seq;
        str_fit(f->asked_for, sizeof(f->asked_for), "%s", u->name);
}

void agent_carried_turn(Agent *a) {
        if (!a->attached || a->welcomed_seq != a->attach_seq)
                return;
        list_foreach_safe (i, &a->carried_fetches) {
                CarriedFetch *f = CONTAINER_OF(i, CarriedFetch, link);
                const AgentUnitWork *work = f->writing ? NULL : find_waiting(a, f, NULL);

                if (f->writing)
                        continue;
                if (f->asked == a->attach_seq)
                        return; // one at a time
                if (work) {
                        ask(a, f, work->unit);
                        return;
                }
                fetch_free(f);
        }
}

// That is said of the unit in whose name it was asked for. It is asked for again in the name of another one
// that waits.
static void on_refused(Agent *a, CarriedFetch *f) {
        AgentUnitWork *work = find_waiting(a, f, f->asked_for);

        if (work)
                fail(work, file_of(work, f), "the unit does not have it any more", false);
}

void agent_carried_on_piece(Agent *a, const Argosy__ToHost__FilePiece *piece) {
        Hash hash;

        if (!hash_from_bytes(piece->hash.data, piece->hash.len, &hash))
                return;
        list_foreach (i, &a->carried_fetches) {
                CarriedFetch *f = CONTAINER_OF(i, CarriedFetch, link);

                if (f->writing || f->asked != a->attach_seq || !hash_equal(&f->hash, &hash) ||
                    piece->from != f->bytes.len)
                        continue;
                f->asked = 0;
                if (!piece->there)
                        on_refused(a, f);
                else if (piece->size != f->size || piece->piece.len > f->size - f->bytes.len ||
                         (piece->piece.len == 0 && f->bytes.len < f->size))
                        end_fetch(f, "what came is not what it is to be", false);
                else if (buf_append(&f->bytes, piece->piece.data, piece->piece.len) < 0)
                        end_fetch(f, strerror(ENOMEM), false);
                else if (f->bytes.len == f->size)
                        write_it(f);
                break;
        }
        drain_mark(&a->drain);
}

// -------------------------------------------------------------------------------------------- begin and end

static bool is_held(const char *unit, void *userdata) {
        AgentNode *node = userdata;
        const AgentUnit *u = agent_unit_find(node, unit);

        return u && u->has_held;
}

void agent_carried_sweep(AgentNode *node) {
        carried_store_sweep(node->agent->runtime_dir, is_held, node);
}

// Those that the pool has end when it has done.
void agent_carried_drop(Agent *a) {
        list_foreach_safe (i, &a->carried_fetches) {
                CarriedFetch *f = CONTAINER_OF(i, CarriedFetch, link);

                if (!f->writing)
                        fetch_free(f);
        }
}
