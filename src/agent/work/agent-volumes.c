// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   plan: fetch -> a container's unit was made here, and volumes beside it -> podman volume inspect, in a
//   service of its own -> each is not there, or as it would be made -> the step ends
//
// podman takes a volume of that name as it is (--ignore), so one with other options would hold what nobody
// has asked for. Such a node refuses the unit, and says what is there and what the file says
// (volume-options.h); what runs goes on. Data of before, with the same options, is adopted.
//
// A podman that does not answer in time, or fails, says nothing of volumes: the start will tell.

#include "agent-volumes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent-barred.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "podman-look.h"
#include "quadlet.h"
#include "str.h"
#include "volume-options.h"

// Of each its name behind "= ", its driver, and its options; of one that is not there the name alone.
// systemd makes "$" of "$$".
#define INSPECT_SCRIPT                                                                  \
        "for v; do echo \"= $$v\"; podman volume inspect --format "                     \
        "'{{.Driver}}{{range $$k, $$o := .Options}}\n{{$$k}}={{$$o}}{{end}}' \"$$v\" " \
        "2>/dev/null; done; true"
#define VOLUME_SUFFIX "-volume.service"

enum {
        VOLUMES_MAX = 24, // of one container that are looked at
        INSPECT_SEC = 30,
        INSPECT_BYTES_MAX = 1 << 16,
};

typedef struct WantedVolume {
        VolumeOptions options;
        char *file; // "data.volume"
} WantedVolume;

typedef struct VolumeLook {
        PodmanLook look;
        WantedVolume list[VOLUMES_MAX];
        size_t n;
} VolumeLook;

static void free_list(PodmanLook *l) {
        VolumeLook *look = CONTAINER_OF(l, VolumeLook, look);

        for (size_t i = 0; i < look->n; i++) {
                volume_options_done(&look->list[i].options);
                free(look->list[i].file);
        }
}

// ---------------------------------------------------------------------------------------------- what is due

static bool has_volumes(const AgentUnitWork *work) {
        return agent_made_next(work->made, VOLUME_SUFFIX, &(size_t){0}, &(QuadletMade){});
}

bool agent_volumes_is_due(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return work->spec && work->spec->container && !work->volumes_seen && has_volumes(work) &&
               !agent_unit_is_written(u);
}

// ------------------------------------------------------------------------------------------------ the look

static int add_volume(VolumeLook *look, const QuadletMade *made) {
        WantedVolume *v = &look->list[look->n];
        int r = look->n < VOLUMES_MAX ? volume_options_read(made->unit, made->len, &v->options) : -ENOENT;

        if (r < 0) {
                if (look->n < VOLUMES_MAX)
                        volume_options_done(&v->options);
                return r == -ENOENT ? 0 : r;
        }
        v->file = str_printf("%.*s" QUADLET_VOLUME, (int) (strlen(made->name) - strlen(VOLUME_SUFFIX)),
                             made->name);
        look->n++;
        return v->file ? 0 : -ENOMEM;
}

static int read_made(VolumeLook *look, const AgentUnitWork *work) {
        QuadletMade made;
        size_t at = 0;
        int r = 0;

        while (r == 0 && agent_made_next(work->made, VOLUME_SUFFIX, &at, &made))
                r = add_volume(look, &made);
        return r;
}

// What is said behind "= NAME". NULL: nothing.
static const char *find_seen(const Buf *output, const char *name, size_t *ret_len) {
        _cleanup_free_ char *head = str_printf("= %s\n", name);
        const char *text = (const char *) output->data, *end = text + output->len,
                   *at = head && output->len > 0 ? memmem(text, output->len, head, strlen(head)) : NULL,
                   *next;

        if (!at || (at > text && at[-1] != '\n'))
                return NULL;
        at += strlen(head);
        if (at + 1 < end && memcmp(at, "= ", 2) == 0)
                next = at;
        else
                next = memmem(at, (size_t) (end - at), "\n= ", 3) ?: end;
        *ret_len = (size_t) (next - at);
        return at;
}

// 0, and of the first that does not do *ret_why; -ENOMEM.
static int compare(const VolumeLook *look, const Buf *output, char **ret_why) {
        int r = 0;

        for (size_t i = 0; i < look->n && r == 0 && !*ret_why; i++) {
                size_t len = 0;
                const char *seen = find_seen(output, look->list[i].options.name, &len);

                if (seen)
                        r = volume_options_compare(&look->list[i].options, look->list[i].file, seen, len,
                                                   ret_why);
        }
        return r;
}

static void settle(AgentUnit *u, const char *why) {
        if (!why) {
                u->work->volumes_seen = true;
                agent_step_prepared(u);
                return;
        }
        if (!u->has_held)
                agent_barred_refuse(u);
        agent_unit_report(u);
        agent_step_done(u, why);
}

static void on_said(PodmanLook *l, AgentUnit *u, const Buf *output) {
        const VolumeLook *look = CONTAINER_OF(l, VolumeLook, look);
        _cleanup_free_ char *why = NULL;
        int r = output ? compare(look, output, &why) : 0;

        if (u)
                settle(u, r < 0 ? strerror(-r) : why);
}

// Takes the look.
static int begin(VolumeLook *look) {
        const char *args[4 + VOLUMES_MAX + 1] = {"/bin/sh", "-c", INSPECT_SCRIPT, "volumes"};

        for (size_t i = 0; i < look->n; i++)
                args[4 + i] = look->list[i].options.name;
        return podman_look_begin(&look->look, &(AgentCommand){.description = "Look at volumes",
                                                              .args = args,
                                                              .limit_sec = INSPECT_SEC,
                                                              .output_max = INSPECT_BYTES_MAX});
}

void agent_volumes_see(AgentUnit *u) {
        VolumeLook *look = podman_look_new(u, sizeof(*look), on_said);
        int r = -ENOMEM;

        if (look) {
                look->look.free_rest = free_list;
                r = read_made(look, u->work);
        }
        if (r == 0 && look->n > 0) {
                r = begin(look);
                if (r == 0)
                        return;
        } else if (look) {
                podman_look_free(&look->look);
        }
        settle(u, r == -ENOMEM ? strerror(ENOMEM) : NULL); // who cannot be asked says nothing
}
