// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   plan: fetch, or places -> what would its container be called? -> is that name in podman's lists?
//                                 '-> yes: podman says whose it is, in a service of its own
//                                          '-> another's: the node is none for the unit
//
// `podman run --replace`, which is what a unit of Quadlet does, would end that container. One that says of
// itself that it is of the unit (PODMAN_SYSTEMD_UNIT, a label that podman gives by itself) is what is left
// of a run that did not end well, and may be replaced. Nobody looks for such containers but before a start
// and before a unit comes to this node: what appears later, under the name of a unit that runs, podman
// refuses.
//
// Lists are two small files, beside that of images, and hold names of all containers; reading them costs
// some microseconds, so podman is asked only about a name that is there. Where they are podman has said once
// (agent-images.h). What runs has its name already, and is not looked at. A plan asks the same
// (agent-names.c), and takes for free what nobody can say.
//
// Failures: what cannot be read or said is no reason against the unit: podman will say what is wrong.

#include "agent-container-names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent-barred.h"
#include "agent-images.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "fileio.h"
#include "podman-look.h"
#include "quadlet.h"
#include "str.h"

#define PODMAN "/usr/bin/podman"
#define IMAGES "-images/images.json" // at the end of the path of the list of images
#define LABEL "{{index .Config.Labels \"PODMAN_SYSTEMD_UNIT\"}}"
#define NO_LABEL "<no value>"

enum {
        LIST_BYTES_MAX = 4 << 20,
        PLAN_LOOKS_MAX = 16,
        ASK_SEC = 60,
        OWNER_BYTES_MAX = 512,
};

typedef struct NameLook {
        PodmanLook look;
        char container[];
} NameLook;

// ------------------------------------------------------------------------------------------------ whether

bool agent_container_names_is_due(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return work->spec && work->spec->container && !u->has_held && !work->name_seen &&
               work->wanted.target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

bool agent_container_names_is_unseen(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        return content && content->container && !agent_unit_doing(u)->name_seen && agent_unit_is_down(u);
}

// ----------------------------------------------------------------------------------------------- the answer

static void settle(AgentUnit *u, const char *why) {
        u->work->name_seen = !why;
        if (why) // also of a unit that was here before: another node may take it
                agent_barred_refuse(u);
        if (why)
                agent_step_done(u, why);
        else
                agent_step_prepared(u);
}

// Ends at the line end. NULL: it is that unit's.
static const char *other_owner(const char *unit, char *label) {
        label[strcspn(label, "\n")] = 0;
        if (streq(label, unit))
                return NULL;
        return *label && !streq(label, NO_LABEL) ? label : "nobody's unit";
}

// Whether podman has said that it is somebody else's; then why the unit cannot be here.
static bool is_others(const char *unit, const char *container, const Buf *output,
                      char why[AGENT_ERROR_MAX]) {
        _cleanup_free_ char *label = output ? strndup((const char *) output->data, output->len) : NULL;
        const char *owner = label ? other_owner(unit, label) : NULL;

        if (owner)
                str_fit(why, AGENT_ERROR_MAX,
                        "there is a container %s on this host that is not argosy's (it is %s): podman would "
                        "replace it",
                        container, owner);
        return owner;
}

static void on_said(PodmanLook *l, AgentUnit *u, const Buf *output) {
        const NameLook *look = CONTAINER_OF(l, NameLook, look);
        char why[AGENT_ERROR_MAX];

        if (u)
                settle(u, is_others(u->name, look->container, output, why) ? why : NULL);
}

// ------------------------------------------------------------------------------------------------ the look

// Takes the look.
static int ask_podman(PodmanLook *look, const char *container) {
        _cleanup_free_ char *description = str_printf("Whose the container %s is", container);
        const char *const args[] = {PODMAN, "container", "inspect", "--format", LABEL, container, NULL};

        return podman_look_begin(look, &(AgentCommand){.description = description,
                                                       .args = args,
                                                       .limit_sec = ASK_SEC,
                                                       .output_max = OWNER_BYTES_MAX});
}

// 1: the name is in that list; 0: it is not; else negative errno.
static int is_in(const char *path, const char *container) {
        _cleanup_free_ char *word = str_printf("\"%s\"", container);
        _cleanup_buf_ Buf text = {};
        int r = word ? file_read(AT_FDCWD, path, LIST_BYTES_MAX, &text) : -ENOMEM;

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        return text.len > 0 && memmem(text.data, text.len, word, strlen(word));
}

// True also if nobody knows where the lists are: then podman could not say anything else either.
static bool is_free(const Agent *a, const char *container) {
        static const char *const lists[] = {"containers.json", "volatile-containers.json"};
        const char *store = a->images.record.store;

        if (!store || !str_has_suffix(store, IMAGES))
                return true;
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                _cleanup_free_ char *path = str_printf("%.*s-containers/%s",
                                                       (int) (strlen(store) - strlen(IMAGES)), store,
                                                       lists[i]);

                if (!path || is_in(path, container) != 0)
                        return false;
        }
        return true;
}

static int begin(AgentUnit *u, const char *container) {
        size_t size = strlen(container) + 1;
        NameLook *look = podman_look_new(u, sizeof(*look) + size, on_said);

        if (!look)
                return -ENOMEM;
        memcpy(look->container, container, size);
        return ask_podman(&look->look, look->container);
}

static void look_for(AgentUnit *u, const AgentSpec *content) {
        _cleanup_free_ char *container = NULL;
        int r;

        if (!u->node->agent->images.record.store && !u->node->agent->images.listed) {
                agent_images_list(u); // and then again
                return;
        }
        r = quadlet_container_name(u->name, content->content, content->len, &container);
        if (r == 0 && (!container || is_free(u->node->agent, container) || begin(u, container) < 0))
                settle(u, NULL);
        else if (r < 0)
                agent_step_done(u, strerror(-r));
}

void agent_container_names_fetch(AgentUnit *u) {
        look_for(u, u->work->spec);
}

void agent_container_names_see(AgentUnit *u) {
        look_for(u, agent_unit_content(u));
}

// ------------------------------------------------------------------------------------------------ of a plan

typedef struct PlanLook {
        PodmanLook look;
        ContainerNameSaid done; // NULL: it was not begun
        void *userdata;
        char *unit, *container;
        bool refused;
        char why[AGENT_ERROR_MAX];
} PlanLook;

static void on_said_of_plan(PodmanLook *l, AgentUnit *u, const Buf *output) {
        PlanLook *p = CONTAINER_OF(l, PlanLook, look);

        p->refused = is_others(p->unit, p->container, output, p->why);
}

// As the look ends, whatever of it.
static void end_plan_look(PodmanLook *l) {
        PlanLook *p = CONTAINER_OF(l, PlanLook, look);

        if (p->done)
                p->done(p->refused ? p->why : NULL, p->userdata);
        free(p->unit);
        free(p->container);
}

// Takes the container's name.
static int begin_of_plan(Agent *a, const char *unit, char *container, ContainerNameSaid done,
                         void *userdata) {
        PlanLook *p = podman_look_apart(a, sizeof(*p), on_said_of_plan);

        if (!p) {
                free(container);
                return -ENOMEM;
        }
        p->look.free_rest = end_plan_look;
        p->container = container;
        p->unit = strdup(unit);
        if (!p->unit) {
                podman_look_free(&p->look);
                return -ENOMEM;
        }
        if (ask_podman(&p->look, container) < 0) // it is free by then
                return 0;
        p->done = done;
        p->userdata = userdata;
        return 1;
}

// Where nobody knows the lists yet podman is asked at once, about a few at a time.
static bool may_be_taken(const Agent *a, const char *container) {
        size_t n = 0;

        if (a->images.record.store)
                return !is_free(a, container);
        list_foreach (i, &a->images.looks)
                n++;
        return n < PLAN_LOOKS_MAX;
}

int agent_container_names_ask(Agent *a, const char *unit, const void *content, size_t len,
                              ContainerNameSaid done, void *userdata) {
        char *container = NULL;
        int r = quadlet_is(content, len) ? quadlet_container_name(unit, content, len, &container) : 0;

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (container && may_be_taken(a, container))
                return begin_of_plan(a, unit, container, done, userdata);
        free(container);
        return 0;
}
