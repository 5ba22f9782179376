// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   plan: fetch, or places -> is the image here? -> podman pull, in a service of its own -> the step ends
//                                '-> podman images, if the store has changed since it was asked last
//
// A pull so comes before anything is stopped for new content, and before the start job, whose time limit is
// not about registries. Units that need the same image wait for one pull; PULLS_MAX go on at a time. A pull
// that no unit waits for any more is stopped: its unit was stopped, or its job was cancelled. One that takes
// longer than PULL_SEC is stopped, too.
//
// A registry that wants to know who asks is shown RegistryAuth= (agent-registry-auth.h). Units that show it
// different things have pulls of their own.
//
// What is here podman says, and says it once: its list of images is a file (images.json in its store), and
// as long as that is the same file of the same time, no start asks anybody. What podman cannot list is
// pulled, which is nothing if it is here.
//
// Failures: the registry's words are the unit's error, and the step is tried again after a while, as any
// other. An image that the registry does not have or give (registry_words_denial()) is a refusal of a unit
// that is not here yet: another host may have it.

#include "agent-images.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent-barred.h"
#include "agent-command.h"
#include "agent-image-removal.h"
#include "agent-registry-auth.h"
#include "agent-secrets.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "clock.h"
#include "log.h"
#include "message-of.h"
#include "registry-words.h"
#include "str.h"
#include "unit-state.h"

#define PODMAN "/usr/bin/podman"
// Where the list is, and then each name by which an image can be asked for, one a line.
#define LIST_SCRIPT                                                                                     \
        "podman info --format '{{.Store.GraphRoot}}/{{.Store.GraphDriverName}}-images/images.json' && " \
        "podman images --format '{{.Repository}}:{{.Tag}}{{range .RepoDigests}}\n{{.}}{{end}}'"

enum {
        PULLS_MAX = 3,
        PULL_SEC = 15 * 60,
        LIST_SEC = 60,
        LIST_BYTES_MAX = 4 << 20,
};

// One command: a pull, or the list if it has no image.
typedef struct ImageCommand {
        ListNode link; // in Agent.images.commands
        Agent *agent;
        TransientCommand *command; // NULL: it waits for its turn
        ListNode waiters;          // ImageWaiter
        uint64_t begun_us;         // boot time; 0: it waits
        bool is_missing;           // podman has it not, as far as its list says
        SecretBytes auth;          // what the registry is to see; empty: nothing
        char *auth_file;           // that it is shown with (agent-registry-auth.h); NULL: none
        char image[];              // "": the list
} ImageCommand;

typedef struct ImageWaiter {
        ListNode link;
        Agent *agent;
        uint64_t call; // of the leader, which is to hear; 0: a unit's step waits
        char *image;
        SecretBytes auth; // as of its command, while it is in none
        bool for_start; // else for new content
        bool listed;    // the list was made for it already
        AgentNode *node;
        uint64_t step;
        char name[];
} ImageWaiter;

// ------------------------------------------------------------------------------------------------ whether

bool agent_images_is_due(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        // for a start that is to come as well: what runs elsewhere waits for it
        return work->spec && work->spec->image && !work->image_ready &&
               (work->wanted.target == ARGOSY__TARGET__TARGET_LAUNCHED ||
                work->wanted.revision == UNIT_REVISION_STAY) &&
               !agent_unit_is_written(u);
}

bool agent_images_is_unseen(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        return content && content->image && !agent_unit_doing(u)->image_seen;
}

// --------------------------------------------------------------------------------------------- what is here

static void forget_names(Agent *a) {
        map_foreach (slot, &a->images.here)
                free(slot->value);
        map_done(&a->images.here);
}

static bool store_is_as_it_was(const Agent *a) {
        struct stat st;

        return a->images.list && stat(a->images.list, &st) == 0 && st.st_ino == a->images.inode &&
               st.st_mtim.tv_sec == a->images.at.tv_sec && st.st_mtim.tv_nsec == a->images.at.tv_nsec;
}

static void note_store(Agent *a) {
        struct stat st;

        a->images.inode = 0;
        if (a->images.list && stat(a->images.list, &st) == 0) {
                a->images.inode = st.st_ino;
                a->images.at = st.st_mtim;
        }
}

static int add_name(Agent *a, const char *name, size_t len) {
        char *copy = strndup(name, len);
        int r = copy ? map_add_str(&a->images.here, copy, copy) : -ENOMEM;

        if (r < 0)
                free(copy);
        return r == -EEXIST ? 0 : r;
}

// The store may change while it is listed: what is noted is how it was before.
static void take_list(Agent *a, const Buf *output) {
        const char *at = (const char *) output->data, *end = at + output->len;
        bool first = true;
        int r = 0;

        forget_names(a);
        while (at < end && r == 0) {
                const char *lf = memchr(at, '\n', (size_t) (end - at)) ?: end;

                if (first) {
                        free(a->images.list);
                        a->images.list = strndup(at, (size_t) (lf - at));
                } else if (lf > at) {
                        r = add_name(a, at, (size_t) (lf - at));
                }
                first = false;
                at = lf + (lf < end);
        }
        note_store(a);
        agent_image_removal_store(a, a->images.list);
        if (r < 0)
                a->images.inode = 0;
}

void agent_images_forget(Agent *a, const char *image) {
        free(map_take_str(&a->images.here, image));
}

// ------------------------------------------------------------------------------------------------ waiters

// NULL: its step was overtaken, or it is no unit that waits.
static AgentUnit *find_unit(const ImageWaiter *w) {
        return w->call ? NULL : agent_step_find(w->node, w->name, w->step);
}

static void waiter_free(ImageWaiter *w) {
        list_unlink(&w->link);
        secret_bytes_done(&w->auth);
        free(w->image);
        free(w);
}

void agent_images_answer(Agent *a, uint64_t call, const char *digest, const char *why, bool here) {
        Argosy__ToVoter__CallReply reply = MESSAGE_OF(to_voter__call_reply, .id = call);
        Argosy__ToVoter message = TO_VOTER_OF(CALL_REPLY, call_reply, &reply);
        Argosy__ToVoter__ImageAnswer image = MESSAGE_OF(to_voter__image_answer, .digest = (char *) digest,
                                                        .error = (char *) why, .here = here);

        reply.image = &image;
        (void) a->ops.send(&message, a->userdata); // no link: the leader has forgotten the call
}

static void settle_one(AgentUnit *u, const ImageWaiter *w, const char *why, bool denied) {
        if (!*w->image) { // it has waited for the list alone
                agent_step_prepared(u);
                return;
        }
        if (why && denied && !u->has_held)
                agent_barred_refuse(u);
        if (!w->for_start)
                u->work->image_ready = !why;
        u->work->image_seen = !why;
        agent_unit_report(u);
        if (why)
                agent_step_done(u, why);
        else
                agent_step_prepared(u);
}

// Takes the waiter.
static void settle_waiter(ImageWaiter *w, const char *why, bool denied) {
        AgentUnit *u = find_unit(w);

        if (w->call)
                agent_images_answer(w->agent, w->call, "", why ?: "", false);
        else if (u)
                settle_one(u, w, why, denied);
        waiter_free(w);
}

// All that wait for it hear that it is here, or why not.
static void settle(ImageCommand *c, const char *why, bool denied) {
        while (!list_is_empty(&c->waiters))
                settle_waiter(CONTAINER_OF(c->waiters.next, ImageWaiter, link), why, denied);
}

static bool is_waited_for(const ImageCommand *c) {
        list_foreach (i, &c->waiters) {
                const ImageWaiter *w = CONTAINER_OF(i, ImageWaiter, link);

                if (w->call || find_unit(w))
                        return true;
        }
        return false;
}

// ------------------------------------------------------------------------------------------------ commands

static void command_free(ImageCommand *c) {
        while (!list_is_empty(&c->waiters))
                waiter_free(CONTAINER_OF(c->waiters.next, ImageWaiter, link));
        list_unlink(&c->link);
        if (c->command)
                c->agent->images.n_running--;
        secret_bytes_done(&c->auth);
        c->auth_file = agent_registry_auth_drop(c->auth_file);
        free(c);
}

static void wait_for(ImageWaiter *w);

static void on_listed(int result, const Buf *output, const Buf *said, void *userdata) {
        ImageCommand *c = userdata;
        Agent *a = c->agent;
        ListNode waiters = LIST_INIT(waiters);

        a->images.listed = true;
        if (result == 0)
                take_list(a, output);
        list_splice(&waiters, &c->waiters);
        command_free(c);
        while (!list_is_empty(&waiters)) {
                ImageWaiter *w = CONTAINER_OF(waiters.next, ImageWaiter, link);

                list_unlink(&w->link);
                w->listed = true;
                if (*w->image)
                        wait_for(w);
                else
                        settle_waiter(w, NULL, false);
        }
        drain_mark(&a->drain);
}

static void on_pulled(int result, const Buf *output, const Buf *said, void *userdata) {
        ImageCommand *c = userdata;
        Agent *a = c->agent;
        _cleanup_free_ char *words = result == -EIO ? registry_words(said->data, said->len) : NULL,
                            *why = NULL;
        RegistryDenial denial = words ? registry_words_denial(words) : REGISTRY_DENIES_NOTHING;

        if (result != 0)
                why = str_printf("%s could not be pulled: %s%s", c->image,
                                 words
                                         ?: result == -ETIMEDOUT ? "it took longer than 15 min"
                                                                 : strerror(-result),
                                 registry_denial_hint(denial, c->auth_file, strstr(c->image, "@sha256:")));
        if (result == 0 && add_name(a, c->image, strlen(c->image)) == 0)
                note_store(a);
        if (result == 0 && c->is_missing)
                agent_image_removal_pulled(a, c->image);
        agent_image_removal_look(a); // a pull that has failed may have left something, too
        if (result == 0)
                log_info("The image %s was pulled.", c->image);
        else
                log_warning("%s", why ?: strerror(ENOMEM));
        settle(c, result == 0 ? NULL : why ?: strerror(ENOMEM), denial != REGISTRY_DENIES_NOTHING);
        command_free(c);
        drain_mark(&a->drain);
}

static void report(const ImageCommand *c) {
        list_foreach (i, &c->waiters) {
                AgentUnit *u = find_unit(CONTAINER_OF(i, ImageWaiter, link));

                if (u)
                        agent_unit_report_state(u);
        }
}

static void on_heard(void *userdata) {
        report(userdata);
}

static int begin(ImageCommand *c, char why[AGENT_ERROR_MAX]) {
        static const char *const list_args[] = {"/bin/sh", "-c", LIST_SCRIPT, NULL};
        bool lists = !*c->image;
        const char *const pull_args[] = {PODMAN, "pull", "--quiet", c->image, NULL};
        _cleanup_free_ char *unit = agent_command_unit(c->agent),
                            *description = lists ? strdup("List of images")
                                                 : str_printf("Pull of the image %s", c->image);
        AgentCommand command = {.unit = unit,
                                .description = description,
                                .args = lists ? list_args : pull_args,
                                .limit_sec = lists ? LIST_SEC : PULL_SEC,
                                .output_max = LIST_BYTES_MAX,
                                .heard = lists ? NULL : on_heard};
        int r = unit && description ? 0 : -ENOMEM;

        if (r == 0 && c->auth.len > 0)
                r = agent_registry_auth_write(c->agent, unit, c->image, &c->auth, &c->auth_file, why);
        command.auth_file = c->auth_file;
        if (r == 0)
                r = agent_command_start(c->agent, &command, lists ? on_listed : on_pulled, c, &c->command);
        if (r == 0 && c->is_missing && agent_image_removal_knows(c->agent, c->image))
                log_info("The image %s was removed by somebody, and is pulled again.", c->image);
        if (r == 0) {
                c->begun_us = clock_boot_us();
                c->agent->images.n_running++;
                report(c);
        } else if (!*why)
                str_fit(why, AGENT_ERROR_MAX, "%s", r == -ENOENT ? "there is no podman" : strerror(-r));
        return r;
}

static bool may_pull(const Agent *a) {
        return a->images.n_running < PULLS_MAX && !a->images.removal;
}

static void begin_some(Agent *a) {
        list_foreach_safe (i, &a->images.commands) {
                ImageCommand *c = CONTAINER_OF(i, ImageCommand, link);
                char why[AGENT_ERROR_MAX] = "";

                if (c->command || (*c->image && !may_pull(a)) || begin(c, why) == 0)
                        continue;
                settle(c, why, false);
                command_free(c);
        }
}

static bool is_same(const SecretBytes *a, const SecretBytes *b) {
        return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static ImageCommand *find(const Agent *a, const char *image, const SecretBytes *auth) {
        list_foreach (i, &a->images.commands) {
                ImageCommand *c = CONTAINER_OF(i, ImageCommand, link);

                if (streq(c->image, image) && (!*image || is_same(&c->auth, auth)))
                        return c;
        }
        return NULL;
}

static ImageCommand *add(Agent *a, const char *image) {
        ImageCommand *c = NEW_WITH_TEXT(ImageCommand, image, image);

        if (!c)
                return NULL;
        c->agent = a;
        list_init(&c->link);
        list_init(&c->waiters);
        list_append(&a->images.commands, &c->link);
        return c;
}

// What the registry is to see for a unit is looked up when it is to be asked: what is here needs none.
static int take_auth(ImageWaiter *w, char why[AGENT_ERROR_MAX]) {
        const AgentUnit *u = find_unit(w);
        const AgentSpec *spec = !u             ? NULL
                                : w->for_start ? agent_unit_content(u)
                                               : u->work->spec;

        return spec && spec->registry_auth ? agent_secrets_registry_auth(u, &w->auth, why) : 0;
}

// Takes the waiter.
static void wait_for(ImageWaiter *w) {
        Agent *a = w->agent;
        bool known = store_is_as_it_was(a);
        const char *what = known || w->listed ? w->image : "";
        char why[AGENT_ERROR_MAX] = "";
        ImageCommand *c;

        if (known && map_find_str(&a->images.here, w->image)) {
                settle_waiter(w, NULL, false);
                return;
        }
        if (*what && take_auth(w, why) < 0) {
                settle_waiter(w, why, false);
                return;
        }
        c = find(a, what, &w->auth) ?: add(a, what);
        if (!c) {
                settle_waiter(w, strerror(ENOMEM), false);
                return;
        }
        if (*what && c->auth.len == 0) {
                c->auth = w->auth;
                w->auth = (SecretBytes){};
        }
        c->is_missing = *what && known;
        list_append(&c->waiters, &w->link);
        if (*what && find_unit(w))
                agent_unit_report(find_unit(w)); // that it is being pulled
        drain_mark(&a->drain);
}

static ImageWaiter *waiter_new(Agent *a, const char *image, const char *name) {
        ImageWaiter *w = NEW_WITH_TEXT(ImageWaiter, name, name);

        if (!w)
                return NULL;
        list_init(&w->link);
        w->agent = a;
        w->image = strdup(image);
        if (w->image)
                return w;
        free(w);
        return NULL;
}

// ------------------------------------------------------------------------------------ steps, and the leader

static void look(AgentUnit *u, const char *image, bool for_start) {
        ImageWaiter *w = waiter_new(u->node->agent, image, u->name);

        if (!w) {
                agent_step_done(u, strerror(ENOMEM));
                return;
        }
        w->for_start = for_start;
        w->node = u->node;
        w->step = u->work->step_number;
        wait_for(w);
}

void agent_images_fetch(AgentUnit *u) {
        look(u, u->work->spec->image, false);
}

void agent_images_list(AgentUnit *u) {
        look(u, "", true);
}

void agent_images_see(AgentUnit *u) {
        look(u, agent_unit_content(u)->image, true);
}

void agent_images_on_call(Agent *a, const Argosy__ToHost__Call *call) {
        ImageWaiter *w = waiter_new(a, call->image, "");

        if (!w) {
                agent_images_answer(a, call->id, "", strerror(ENOMEM), true);
                return;
        }
        w->call = call->id;
        agent_image_removal_called(a, call->image);
        if (agent_registry_auth_of_call(call, &w->auth) < 0)
                settle_waiter(w, strerror(ENOMEM), false);
        else
                wait_for(w);
}

// 0: all calls.
void agent_images_on_cancel(Agent *a, uint64_t call) {
        list_foreach (i, &a->images.commands)
                list_foreach_safe (k, &CONTAINER_OF(i, ImageCommand, link)->waiters) {
                        ImageWaiter *w = CONTAINER_OF(k, ImageWaiter, link);

                        if (w->call && (!call || w->call == call))
                                waiter_free(w);
                }
        drain_mark(&a->drain);
}

// NULL: none is, for the unit.
static const ImageCommand *find_pull(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        if (work->busy != PLAN_FETCH && work->busy != PLAN_PLACES)
                return NULL;
        list_foreach (i, &u->node->agent->images.commands) {
                ImageCommand *c = CONTAINER_OF(i, ImageCommand, link);

                if (!*c->image)
                        continue;
                list_foreach (k, &c->waiters)
                        if (find_unit(CONTAINER_OF(k, ImageWaiter, link)) == u)
                                return c;
        }
        return NULL;
}

// podman tries again by itself, and says why: NULL: it has said nothing.
static char *words_so_far(const ImageCommand *c) {
        const Buf *said = c->command ? transient_command_said(c->command) : NULL;

        return said && said->len > 0 ? registry_words(said->data, said->len) : NULL;
}

bool agent_images_pulls(const AgentUnit *u, char **ret, uint64_t *ret_since_us) {
        const ImageCommand *c = find_pull(u);
        _cleanup_free_ char *words = c ? words_so_far(c) : NULL;
        const char *before = c && !words && u->work->error ? u->work->error : "";
        char attempt[32] = "";

        *ret = NULL;
        if (!c)
                return false;
        *ret_since_us = c->begun_us;
        if (u->work->failures > 0)
                str_fit(attempt, sizeof(attempt), ", attempt %u", u->work->failures + 1);
        *ret = str_printf("%s%s%s%s%s", c->image, attempt,
                          c->command ? "" : ", when other pulls have ended",
                          words     ? "; podman has said: "
                          : *before ? "; before that: "
                                    : "",
                          words ?: before);
        return true;
}

// ------------------------------------------------------------------------------------------------ the end

static void drop(ImageCommand *c) {
        if (c->command)
                c->agent->images.n_running--;
        agent_command_cancel(c->agent, &c->command);
        command_free(c);
}

void agent_images_turn(Agent *a) {
        list_foreach_safe (i, &a->images.commands) {
                ImageCommand *c = CONTAINER_OF(i, ImageCommand, link);

                if (!is_waited_for(c))
                        drop(c);
        }
        begin_some(a);
}

void agent_images_drop(Agent *a) {
        list_foreach_safe (i, &a->images.commands)
                drop(CONTAINER_OF(i, ImageCommand, link));
}

void agent_images_done(Agent *a) {
        forget_names(a);
        free(a->images.list);
}
