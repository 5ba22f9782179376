// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit files are written in batches by the pool, one batch of a node at a time, since each change of a unit
// directory costs PID 1 a new look at all of them. What is queued while a batch is under way makes up the
// next one, which leaves when files-pace.h says so. A name with a file that is not ours is left alone and
// refused. Whether that is so of a unit that runs is looked at before anything is recorded, by an item that
// changes nothing. A write that was to make a name ours, and left nothing of ours in its place, gives it
// back.
//
// While a batch is with the pool it alone uses the node's UnitDir; it works on copies and on specs that it
// holds references to.

#include <errno.h>
#include <unistd.h>

#include "agent-barred.h"
#include "agent-beside.h"
#include "agent-companions.h"
#include "agent-core.h"
#include "agent-files.h"
#include "agent-links.h"
#include "agent-network-made.h"
#include "agent-networks.h"
#include "agent-search.h"
#include "agent-secrets.h"
#include "agent-spec.h"
#include "agent-start-barrier.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "agent-writer.h"
#include "buf.h"
#include "carried-store.h"
#include "clock.h"
#include "files-pace.h"
#include "pool.h"
#include "process-name.h"
#include "quadlet.h"
#include "str.h"
#include "unit-name.h"
#include "unit-state.h"

typedef struct FileItem {
        ListNode link;
        uint64_t number; // of the unit's step
        uint64_t serial; // AgentNode.files_queued
        AgentFileJob job;
        int error; // out
        bool from_template, is_new, enable;
        bool check_again; // what is there may not be what we wrote
        bool claims;      // the name becomes ours with it
        bool takes_over;  // it runs, and becomes ours only if somebody has left it behind
        bool is_fleets;   // and fleet has not, since its program runs
        bool replaces;    // networks of before are gone: UnitDirItem.replaces
        bool down;        // UnitDirItem.beside_again
        bool untouched;   // out, if it failed: nothing of ours is there
        AgentSpec *spec; // a reference, NULL with AGENT_FILE_REMOVE
        AgentMade *made; // of a container's content: what is written for it; NULL: that is no container's
        char slice[LEDGER_SLICE_SIZE];
        char *foreign; // out: path of what is not ours
        Buf touched;   // out: units below which links changed
        char name[];
} FileItem;

typedef struct FileBatch {
        PoolWork work;
        AgentNode *node;
        FileItem **items;
        size_t n;
        Buf gone; // out: names of units that stood beside others, and that nobody needs any more
} FileBatch;

static void item_free(AgentNode *node, FileItem *it) {
        list_unlink(&it->link);
        agent_spec_unref(node->agent, it->spec);
        free(it->foreign);
        buf_done(&it->touched);
        agent_made_free(it->made);
        free(it);
}

int agent_files_queue(AgentUnit *u, AgentFileJob job) {
        AgentUnitWork *work = u->work;
        LedgerRecord held;
        FileItem *it = NEW_WITH_TEXT(FileItem, name, u->name);

        if (!it)
                return -ENOMEM;
        it->number = work->step_number;
        it->serial = ++u->node->files_queued;
        it->job = job;
        it->from_template = u->held.from_template;
        it->is_new = u->held.revision == 0 && !agent_unit_content(u);
        it->check_again = u->load_retried;
        it->claims = job == AGENT_FILE_WRITE && work->claims;
        it->takes_over = job == AGENT_FILE_LOOK || (it->claims && work->takes_over);
        agent_unit_fill_record(u, &held);
        it->enable =
                (job == AGENT_FILE_WRITE || job == AGENT_FILE_LINK) && plan_enables(&work->wanted, &held);
        it->spec = job == AGENT_FILE_REMOVE ? NULL : agent_spec_ref(work->spec);
        if (job == AGENT_FILE_WRITE) {
                it->made = TAKE_PTR(work->made);
                it->replaces = work->network_free;
                it->down = active_state_is_down(u->watch.runtime.active);
        }
        memcpy(it->slice, held.slice, sizeof(it->slice));
        list_init(&it->link);
        list_append(&u->node->writes, &it->link);
        u->node->n_writes++;
        return 0;
}

// ---- in the pool

// Asked once in a batch, and only if there is something of fleet's in it. Its program would stop what is
// taken from it, or start it elsewhere.
static bool fleet_runs(int *known) {
        if (*known < 0)
                *known = process_name_runs("fleetd");
        return *known;
}

static void find_foreign_names(FileBatch *b) {
        int fleet = -1;

        for (size_t i = 0; i < b->n; i++) {
                FileItem *it = b->items[i];

                if (it->job != AGENT_FILE_WRITE && it->job != AGENT_FILE_LOOK)
                        continue;
                if (it->takes_over && !unit_dir_is_left_behind(b->node->dir, it->name)) {
                        it->error = -EEXIST;
                        continue;
                }
                if (unit_dir_is_left_behind(b->node->dir, it->name) && fleet_runs(&fleet)) {
                        it->is_fleets = true;
                        it->error = -EBUSY;
                        continue;
                }
                it->foreign = unit_dir_foreign_or_alias(b->node->dir, it->name, it->spec->content,
                                                        it->spec->links ? it->spec->len : 0);
        }
}

static UnitDirItem item_of(const FileItem *it) {
        bool remove = it->job == AGENT_FILE_REMOVE;
        const Buf *made = it->made ? &it->made->text : NULL;

        return (UnitDirItem){
                .name = it->name,
                .remove = remove,
                .from_template = it->from_template,
                .content = remove ? NULL
                           : made ? made->data
                                  : it->spec->content,
                .len = remove ? 0
                       : made ? quadlet_made_len(made->data, made->len)
                              : it->spec->len,
                .made_len = made ? made->len : 0,
                .replaces = it->replaces,
                .beside_again = it->down,
                .spec = remove ? (Hash){} : it->spec->hash,
                .slice = *it->slice ? it->slice : NULL,
                .enable = it->enable,
        };
}

// A content's files are in their place before the unit file is.
static int put_folder(const FileBatch *b, const FileItem *it) {
        const AgentCarried *c = it->job == AGENT_FILE_WRITE ? it->spec->carried : NULL;
        CarriedFolder folder;

        if (!c)
                return 0;
        folder = (CarriedFolder){&c->files, c->sources, c->n_sources,
                                 c->change != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART};
        return carried_folder_put(b->node->agent->runtime_dir, it->name, &folder);
}

static bool leaves_no_folder(const FileItem *it) {
        return it->job == AGENT_FILE_REMOVE || (it->job == AGENT_FILE_WRITE && !it->spec->carried);
}

// Most hosts have no unit with files of its own: then this is one look for the whole batch.
static void remove_folders(const FileBatch *b) {
        int folders = carried_folders_open(b->node->agent->runtime_dir);

        if (folders == -ENOENT)
                return;
        for (size_t i = 0; i < b->n; i++) {
                FileItem *it = b->items[i];

                if (!it->foreign && it->error == 0 && leaves_no_folder(it))
                        it->error = folders < 0 ? folders : carried_folder_remove(folders, it->name);
        }
        if (folders >= 0)
                close(folders);
}

static int apply(FileBatch *b) {
        UnitDirItem *list = calloc(b->n, sizeof(*list));
        size_t *origin = calloc(b->n, sizeof(*origin)), n = 0;
        int r = 0;

        if (!list || !origin) {
                r = -ENOMEM;
                goto finish;
        }
        for (size_t i = 0; i < b->n; i++) {
                FileItem *it = b->items[i];

                if (it->foreign || it->error < 0 || it->job == AGENT_FILE_LOOK)
                        continue;
                it->error = put_folder(b, it);
                if (it->error < 0)
                        continue;
                if (it->check_again)
                        (void) unit_dir_check(b->node->dir, it->name);
                origin[n] = i;
                list[n++] = item_of(it);
        }
        unit_dir_apply(b->node->dir, list, n);
        for (size_t k = 0; k < n; k++) {
                FileItem *it = b->items[origin[k]];

                it->error = list[k].error;
                it->touched = list[k].touched;
        }
        remove_folders(b);
finish:
        free(list);
        free(origin);
        return r;
}

static void give_back(FileBatch *b) {
        for (size_t i = 0; i < b->n; i++) {
                FileItem *it = b->items[i];

                if (!it->claims || (!it->foreign && it->error == 0) ||
                    (!it->foreign && unit_dir_has_content(b->node->dir, it->name, &it->spec->hash)))
                        continue;
                unit_dir_disown(b->node->dir, it->name, &it->spec->hash);
                it->untouched = true;
        }
}

static void run_batch(PoolWork *work) {
        FileBatch *b = CONTAINER_OF(work, FileBatch, work);
        int r;

        if (b->n >= UNIT_DIR_SURVEY_FROM)
                unit_dir_survey_begin(b->node->dir);
        find_foreign_names(b);
        unit_dir_survey_end(b->node->dir);
        r = apply(b);
        for (size_t i = 0; r < 0 && i < b->n; i++)
                if (b->items[i]->error == 0)
                        b->items[i]->error = r;
        give_back(b);
        unit_dir_take_gone(b->node->dir, &b->gone);
}

// ---- back in the loop

static void on_written(AgentUnit *u, FileItem *it) {
        const UnitRuntime *rt = &u->watch.runtime;
        bool down = active_state_is_down(rt->active);
        AgentUnitWork *work = u->work;

        if (!work->before && !work->claims)
                u->node->agent->carried_is_left = true; // what was carried before is not known
        agent_spec_unref(u->node->agent, TAKE_PTR(work->before));
        work->replacing = false;
        u->content_known = u->file_present = true;
        agent_secrets_placed(u);
        u->enabled = it->enable;
        u->stale = work->new_content && down && rt->loaded && rt->load != ARGOSY__LOAD_STATE__LOAD_NOT_FOUND;
        // A unit that is up without a file can be stopped, but systemd neither restarts it nor reads its
        // file.
        u->stale |= it->check_again && u->held.pending && rt->loaded && !down;
        work->stale_since_us = clock_boot_us();
        if (down && !u->stale)
                (void) agent_unit_note_read(u); // recorded with what comes next
        u->refused = false;
        if (u->node->agent->fleet.units.count > 0)
                agent_fleet_search(u->node->agent);
        u->read_again = u->stale && u->node->read_again_us >= u->node->files_began_us;
        agent_search_written(u->node, u->name, it->from_template);
        agent_unit_report_step(u);
        agent_step_done(u, NULL);
}

// Something may pin it in systemd's memory, from where anybody can start it until systemd reads its files
// again.
static void on_removed(AgentUnit *u) {
        const UnitRuntime *rt = &u->watch.runtime;

        u->node->agent->carried_is_left |= !u->content_known;
        u->file_present = u->enabled = false;
        u->files_removed = true;
        u->stale = rt->loaded && rt->load != ARGOSY__LOAD_STATE__LOAD_NOT_FOUND &&
                   rt->load != ARGOSY__LOAD_STATE__LOAD_MASKED;
        u->work->stale_since_us = clock_boot_us();
        agent_step_done(u, NULL);
}

// It runs, and may become ours: that is planned next. As long as it has not, what failed before has failed.
// But what the reload would bind to a guard that is not there, and that only a start brings, systemd would
// stop.
static void on_left_behind(AgentUnit *u) {
        // NULL: nobody wants it any more since it was looked at
        if (u->work->spec && u->work->spec->cut_off_stop) {
                agent_barred_refuse(u);
                agent_step_done(
                        u, "it runs, and is not argosy's so far: with CutOff=stop it can be taken over only "
                           "when it is stopped");
                return;
        }
        u->work->left_behind = true;
        u->work->busy = PLAN_NOTHING;
        u->work->retry_us = 0;
        agent_unit_mark(u);
}

#define TAKEN_TEXT                                                                                        \
        "a volume or a network of that name is here with another file: it is a unit's of this node, and " \
        "stays as it is"
#define FOREIGN_TEXT "the name belongs to somebody else on this node: %s"

char *agent_file_foreign_text(const char *path) {
        char text[AGENT_ERROR_MAX];

        str_fit(text, sizeof(text), FOREIGN_TEXT, path);
        return strdup(text);
}

// The name belongs to somebody else. A unit that is not ours yet does not become ours.
static void on_foreign(AgentUnit *u, const FileItem *it) {
        char text[AGENT_ERROR_MAX];

        if (it->is_fleets)
                str_fit(text, sizeof(text),
                        "the unit is fleet's, and fleetd runs on this host: end it first, as "
                        "argosy-fleet(7) says");
        else if (it->takes_over && !it->foreign)
                str_fit(text, sizeof(text), AGENT_ACTIVE_TEXT);
        else if (it->error == -ENOTUNIQ)
                str_fit(text, sizeof(text), TAKEN_TEXT);
        else
                str_fit(text, sizeof(text), FOREIGN_TEXT, it->foreign ?: "a file that is not argosy's");
        if (it->is_new && !u->held.pending) {
                if (u->has_held)
                        agent_unit_give_back(u);
                agent_barred_refuse(u);
        }
        agent_step_done(u, text);
}

// What was made of the content is kept: the same is written when the network of before is gone.
static void on_network_in_way(AgentUnit *u, FileItem *it) {
        if (it->untouched) // and the name was to become ours with it
                agent_unit_give_back(u);
        if (!u->work->made)
                u->work->made = TAKE_PTR(it->made);
        agent_networks_in_way(u);
}

static const char *what_failed(AgentFileJob job) {
        switch (job) {
        case AGENT_FILE_LOOK:
                return "look whose its name is";
        case AGENT_FILE_LINK:
                return "change the links of its [Install] section";
        case AGENT_FILE_REMOVE:
                return "remove its file";
        default:
                return "write its file";
        }
}

static void on_item(AgentNode *node, FileItem *it) {
        AgentUnit *u = agent_step_find(node, it->name, it->number);
        char text[AGENT_ERROR_MAX];

        node->files_done = MAX_OF(node->files_done, it->serial);
        agent_links_touched(node, (const char *) it->touched.data, it->touched.len);
        if (!u)
                return;
        if (it->job == AGENT_FILE_WRITE)
                agent_networks_release(u);
        if (it->error == -EUCLEAN && !it->foreign) {
                on_network_in_way(u, it);
                return;
        }
        if (it->job == AGENT_FILE_WRITE && it->error == 0 && !it->foreign)
                agent_network_made_written(u, it->made);
        if (it->foreign || it->error == -EEXIST || it->error == -ENOTUNIQ || it->is_fleets) {
                on_foreign(u, it);
        } else if (it->error < 0) {
                if (it->claims && it->untouched)
                        agent_unit_give_back(u);
                if (it->error == -ENODATA) // a file of it has gone from the store meanwhile
                        u->work->files_ready = false;
                if (it->error == -ESTALE) // what was made of it is not there any more
                        agent_unit_doubt_file(u);
                str_fit(text, sizeof(text), "cannot %s in %s: %s", what_failed(it->job), node->dir_path,
                        strerror(-it->error));
                agent_step_done(u, text);
        } else if (it->job == AGENT_FILE_LOOK) {
                on_left_behind(u);
        } else if (it->job == AGENT_FILE_REMOVE) {
                on_removed(u);
        } else if (it->job == AGENT_FILE_LINK) {
                u->enabled = it->enable;
                agent_step_done(u, NULL);
        } else {
                on_written(u, it);
        }
}

static void batch_free(FileBatch *b) {
        for (size_t i = 0; i < b->n; i++)
                item_free(b->node, b->items[i]);
        free(b->items);
        buf_done(&b->gone);
        free(b);
}

static void batch_done(FileBatch *b) {
        AgentNode *node = b->node;

        node->writing = false;
        node->files_ended_us = clock_boot_us();
        for (size_t i = 0; i < b->n && !node->closing; i++)
                on_item(node, b->items[i]);
        agent_links_taken(node);
        if (!node->closing)
                agent_companions_look(node);
        if (!node->closing)
                agent_beside_gone(node, &b->gone);
        batch_free(b);
        if (!node->closing)
                agent_start_barrier_release(node);
        drain_mark(&node->agent->drain);
        agent_node_close_step(node);
}

static void on_batch(PoolWork *work) {
        batch_done(CONTAINER_OF(work, FileBatch, work));
}

// ---- by a helper

// Names, each with its NUL. What is none is left out.
static void take_touched(FileItem *it, const ProtobufCBinaryData *touched) {
        const char *p = (const char *) touched->data, *end = p + touched->len;

        while (p < end) {
                size_t len = strnlen(p, (size_t) (end - p));

                if (p + len == end)
                        return;
                if (unit_name_kind(p, NULL) != UNIT_NAME_INVALID)
                        (void) buf_append(&it->touched, p, len + 1);
                p += len + 1;
        }
}

// It says what it likes, so it is believed only as far as it goes: these are its own user's units.
static void on_helper_done(int error, const Argosy__HelperReply *reply, void *userdata) {
        FileBatch *b = userdata;

        if (error == 0 && reply->n_results != b->n)
                error = -EBADMSG;
        for (size_t i = 0; i < b->n; i++) {
                FileItem *it = b->items[i];
                AgentUnit *u = agent_step_find(b->node, it->name, it->number);

                it->error = error < 0 ? error : reply->results[i]->error;
                if (error == 0)
                        take_touched(it, &reply->results[i]->touched);
                if (error == 0 && *reply->results[i]->foreign)
                        it->foreign = str_printable(reply->results[i]->foreign, AGENT_ERROR_MAX);
                if (u && error < 0)
                        u->half_written = it->job != AGENT_FILE_REMOVE;
                else if (u && it->error == 0 && !it->foreign)
                        u->half_written = false; // else nothing has changed
        }
        batch_done(b);
}

static int hand_to_helper(FileBatch *b) {
        _cleanup_free_ UnitDirItem *list = calloc(b->n, sizeof(*list));
        _cleanup_free_ bool *look = calloc(b->n, sizeof(*look));

        if (!list || !look)
                return -ENOMEM;
        for (size_t i = 0; i < b->n; i++) {
                list[i] = item_of(b->items[i]);
                look[i] = b->items[i]->job == AGENT_FILE_WRITE;
                if (b->items[i]->check_again)
                        agent_writer_close(b->node); // the next one begins with what is there
        }
        return agent_writer_apply(b->node, list, look, b->n, on_helper_done, b);
}

// ---- batches

static FileBatch *batch_new(AgentNode *node) {
        FileBatch *b = calloc(1, sizeof(*b));
        size_t bytes = 0;

        if (b)
                b->items = calloc(FILES_PER_BATCH, sizeof(*b->items));
        if (!b || !b->items) {
                free(b);
                return NULL;
        }
        b->node = node;
        while (b->n < FILES_PER_BATCH && bytes < HELPER_BATCH_BYTES && !list_is_empty(&node->writes)) {
                b->items[b->n] = CONTAINER_OF(node->writes.next, FileItem, link);
                bytes += b->items[b->n]->spec ? b->items[b->n]->spec->len : 0;
                list_unlink(&b->items[b->n++]->link);
                node->n_writes--;
        }
        return b;
}

uint64_t agent_files_due(const AgentNode *node) {
        return node->writing ? 0 : files_pace_due(node->n_writes, node->n_jobs, node->files_ended_us);
}

void agent_files_start(AgentNode *node) {
        uint64_t due_us = agent_files_due(node);
        FileBatch *b;

        if (due_us == 0 || clock_boot_us() < due_us)
                return;
        b = batch_new(node);
        if (!b) {
                agent_files_fail(node, -ENOMEM);
                return;
        }
        agent_node_begin_writing(node);
        node->files_began_us = clock_boot_us();
        if (!node->dir) {
                int r = hand_to_helper(b);

                if (r < 0)
                        on_helper_done(r, NULL, b);
                return;
        }
        pool_add(node->agent->loop, &b->work, POOL_CLUSTER, run_batch, on_batch);
}

void agent_files_fail(AgentNode *node, int error) {
        while (!list_is_empty(&node->writes)) {
                FileItem *it = CONTAINER_OF(node->writes.next, FileItem, link);

                list_unlink(&it->link);
                node->n_writes--;
                it->error = error;
                it->untouched = true;
                if (!node->closing)
                        on_item(node, it);
                item_free(node, it);
        }
        if (!node->closing)
                agent_start_barrier_release(node);
}
