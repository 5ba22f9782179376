// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   Call with an image -> skopeo inspect --raw, in a service of its own -> SHA-256 of what it prints ->
//   CallReply
//
// The digest is that of the manifest as the registry has it, which is the index if there is one: so hosts of
// several architectures find theirs. It is computed here, so no header of a registry is believed. What is no
// manifest, or longer than MANIFEST_MAX, is refused, and so is a question beyond ASKS_MAX. A registry that
// this host does not reach is asked by another one.

#include "agent-image-asks.h"

#include <errno.h>
#include <inttypes.h>

#include "agent-images.h"
#include "content-image.h"
#include "registry-words.h"
#include "str.h"
#include "transient-command.h"

#define SKOPEO "/usr/bin/skopeo"

enum {
        ASKS_MAX = 16,
        MANIFEST_MAX = 1 << 20, // bytes: they are hashed on the loop
        ASK_SEC = 30,
};

typedef struct ImageAsk {
        ListNode link; // in Agent.images.asks
        Agent *agent;
        uint64_t id; // the leader's
        TransientCommand *command;
} ImageAsk;

static void ask_free(ImageAsk *ask) {
        list_unlink(&ask->link);
        ask->agent->images.n_asks--;
        free(ask);
}

static bool is_manifest(const Buf *output) {
        return output->len > 0 && *output->data == '{' &&
               memmem(output->data, output->len, "schemaVersion", strlen("schemaVersion"));
}

static void tell_digest(const ImageAsk *ask, const Buf *output) {
        char digest[CONTENT_IMAGE_DIGEST_SIZE] = CONTENT_IMAGE_DIGEST;
        Hash hash = hash_of(output->data, output->len);

        hash_hex(&hash, HASH_SIZE, digest + strlen(CONTENT_IMAGE_DIGEST));
        agent_images_answer(ask->agent, ask->id, digest, "", false);
}

static void on_asked(int result, const Buf *output, const Buf *said, void *userdata) {
        ImageAsk *ask = userdata;
        _cleanup_free_ char *words = NULL;

        ask->command = NULL;
        if (result == -EIO)
                words = registry_words(said->data, said->len);
        if (result == 0 && is_manifest(output))
                tell_digest(ask, output);
        else
                agent_images_answer(ask->agent, ask->id, "",
                       words                  ? words
                       : result == -ETIMEDOUT ? AGENT_REGISTRY_SILENT_TEXT
                       : result == -EFBIG     ? "the manifest that the registry sent is longer than 1 MiB"
                       : result == 0          ? "what the registry sent is no manifest"
                                              : strerror(-result),
                       words && !registry_words_deny(words));
        ask_free(ask);
}

static int begin(ImageAsk *ask, const char *image) {
        _cleanup_free_ char *source = str_printf("docker://%s", image),
                            *unit = agent_images_unit(ask->agent),
                            *description = str_printf("Digest of the image %s", image);
        const char *const args[] = {SKOPEO, "inspect", "--raw", source, NULL};
        static const char *const environment[] = {"HOME=/root", NULL};
        const TransientConfig config = {.loop = ask->agent->loop,
                                        .runner = ask->agent->images.runner,
                                        .unit = unit,
                                        .description = description,
                                        .args = args,
                                        .environment = environment,
                                        .limit_sec = ASK_SEC,
                                        .output_max = MANIFEST_MAX};

        return source && unit && description ? transient_command_start(&config, on_asked, ask, &ask->command)
                                             : -ENOMEM;
}

void agent_image_asks_on_call(Agent *a, const Argosy__ToHost__Call *call) {
        ImageAsk *ask = a->images.n_asks < ASKS_MAX ? calloc(1, sizeof(*ask)) : NULL;
        int r;

        if (!ask) {
                agent_images_answer(a, call->id, "", "this host asks registries about many images already",
                                    true);
                return;
        }
        *ask = (ImageAsk){.agent = a, .id = call->id};
        list_append(&a->images.asks, &ask->link);
        a->images.n_asks++;
        r = begin(ask, call->image);
        if (r == 0)
                return;
        agent_images_answer(a, call->id, "", r == -ENOENT ? "skopeo is not installed" : strerror(-r), true);
        ask_free(ask);
}

static void on_closed(void *userdata) {
        agent_close_step(userdata);
}

static void drop(ImageAsk *ask) {
        ask->agent->n_open++;
        transient_command_cancel(ask->command, on_closed, ask->agent);
        ask_free(ask);
}

void agent_image_asks_on_cancel(Agent *a, uint64_t id) {
        list_foreach_safe (i, &a->images.asks) {
                ImageAsk *ask = CONTAINER_OF(i, ImageAsk, link);

                if (ask->id == id)
                        drop(ask);
        }
}

void agent_image_asks_drop(Agent *a) {
        list_foreach_safe (i, &a->images.asks)
                drop(CONTAINER_OF(i, ImageAsk, link));
}
