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
// (agent-images.h). What runs has its name already, and is not looked at.
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

static void on_said(PodmanLook *l, AgentUnit *u, const Buf *output) {
        const NameLook *look = CONTAINER_OF(l, NameLook, look);
        _cleanup_free_ char *label = output ? strndup((const char *) output->data, output->len) : NULL;
        const char *owner = u && label ? other_owner(u->name, label) : NULL;
        char why[AGENT_ERROR_MAX];

        if (owner)
                str_fit(why, sizeof(why),
                        "there is a container %s on this host that is not argosy's (it is %s): podman would "
                        "replace it",
                        look->container, owner);
        if (u)
                settle(u, owner ? why : NULL);
}

// ------------------------------------------------------------------------------------------------ the look

// Takes the look.
static int ask_podman(NameLook *look) {
        _cleanup_free_ char *description = str_printf("Whose the container %s is", look->container);
        const char *const args[] = {PODMAN,          "container", "inspect", "--format", LABEL,
                                    look->container, NULL};

        return podman_look_begin(&look->look, &(AgentCommand){.description = description,
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
        return ask_podman(look);
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
