// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   Attach -> the generator's file is another one -> the helper that looks at contents is asked -> another
// version -> a new Attach with that label
//
// No leader waits for a helper: until it answers, what it said last counts, which is kept on the disk
// (STATE_DIR/podman, "5.4\n"). Without that a restart of argosyd would be a moment without the label, in
// which the host's global containers end and others are started elsewhere. A generator that is not there is
// no podman at once; no answer changes nothing, and it is asked again with the next Attach.
//
//   the generator's folder changes -> is it another one? -> an Attach, also if its version is the same
//
// since that is what makes a leader forget which files the podman before has refused. A host that had no
// podman when argosyd began tells it with the next Attach, whatever that is for: it has no folder to watch.

#include "agent-podman.h"

#include <errno.h>
#include <fcntl.h>

#include "fileio.h"
#include "message-of.h"
#include "quadlet-generator.h"
#include "quadlet.h"
#include "str.h"
#include "unit-verifier.h"

#define FILE_NAME "podman" // in the state directory

enum {
        ANSWER_MS = 5000,
        LABELS_MAX = 64, // a leader takes no more of one host
};

// What cannot be read or written is asked for.
static void load_last(Agent *a) {
        _cleanup_free_ char *path = str_printf("%s/" FILE_NAME, a->state_dir);
        _cleanup_buf_ Buf text = {};

        a->podman.loaded = true;
        if (!path || file_read(AT_FDCWD, path, sizeof(a->podman.version), &text) < 0 ||
            buf_append(&text, "", 1) < 0)
                return;
        if (!quadlet_version((const char *) text.data, a->podman.version))
                *a->podman.version = 0;
}

static void save(const Agent *a) {
        _cleanup_free_ char *path = str_printf("%s/" FILE_NAME, a->state_dir),
                            *text = str_printf("%s\n", a->podman.version);

        if (path && text)
                (void) file_replace(AT_FDCWD, path, text, strlen(text), 0644, 0);
}

static void on_version(int error, const UnitVerdict *verdict, void *userdata) {
        Agent *a = userdata;

        // Asked about another one, which has gone meanwhile: there will be one more.
        if (a->podman.changed && (error < 0 || !*verdict->podman)) {
                a->podman.changed = false;
                return;
        }
        if (error == 0 && !streq(a->podman.version, verdict->podman) &&
            str_copy(a->podman.version, sizeof(a->podman.version), verdict->podman)) {
                a->podman.changed = true;
                save(a);
        }
        if (a->podman.changed) {
                a->podman.fresh = true;
                agent_attach_again(a);
        }
        a->podman.changed = false;
}

static int ask(Agent *a) {
        uint64_t number;

        return unit_verifier_ask_podman(a->verifier, ANSWER_MS, on_version, a, &number);
}

// One that is not there is perhaps being replaced, so the label stays until the next Attach.
static void on_folder_changed(uv_fs_event_t *watch, const char *file, int events, int status) {
        Agent *a = watch->data;

        if (a->verifier && ask(a) == 0)
                a->podman.changed = true; // its answer is awaited
}

// Without a watch, as without memory for one, a change is seen with the next Attach.
static void watch_folder(Agent *a) {
        _cleanup_free_ char *folder = strdup(quadlet_generator_path() ?: "");
        char *slash = folder ? strrchr(folder, '/') : NULL;

        if (a->podman.watched || !slash)
                return;
        *slash = 0;
        if (uv_fs_event_init(a->loop, &a->podman.watch) < 0)
                return;
        a->podman.watched = true;
        a->podman.watch.data = a;
        (void) uv_fs_event_start(&a->podman.watch, on_folder_changed, folder, 0);
}

void agent_podman_look(Agent *a) {
        if (!a->verifier || a->user)
                return;
        if (!a->podman.loaded)
                load_last(a);
        watch_folder(a);
        // While files are exchanged there may be none for a moment, in which this is not to be looked at.
        if (!a->podman.fresh && ask(a) == -ENOENT)
                *a->podman.version = 0;
        a->podman.fresh = false;
}

static void on_watch_closed(uv_handle_t *handle) {
        agent_close_step(handle->data);
}

void agent_podman_close(Agent *a) {
        if (!a->podman.watched)
                return;
        a->n_open++;
        uv_close((uv_handle_t *) &a->podman.watch, on_watch_closed);
}

// What somebody has configured under that name gives way to what is so.
int agent_podman_labels(Agent *a, Argosy__Label ***ret, size_t *ret_n) {
        Argosy__Label **list = calloc(a->n_labels + 1, sizeof(*list));
        size_t n = 0;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < a->n_labels; i++)
                if (!streq(a->labels[i]->key, QUADLET_LABEL))
                        list[n++] = a->labels[i];
        if (*a->podman.version && n < LABELS_MAX) {
                a->podman.label = (Argosy__Label) MESSAGE_OF(label, .key = (char *) QUADLET_LABEL,
                                                             .value = a->podman.version);
                list[n++] = &a->podman.label;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}
