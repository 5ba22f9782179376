// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   Call with an image -> skopeo inspect --raw, in a service of its own -> SHA-256 of what it prints ->
//   CallReply
//
// The digest is that of the manifest as the registry has it, which is the index if there is one: so hosts of
// several architectures find theirs. It is computed here, so no header of a registry is believed. What is no
// manifest, or longer than MANIFEST_MAX, is refused, and so is a question beyond ASKS_MAX. A registry that
// this host does not reach, or that does not answer it, is asked by another one.

#include "agent-image-asks.h"

#include <errno.h>
#include <inttypes.h>

#include "agent-command.h"
#include "agent-images.h"
#include "agent-registry-auth.h"
#include "content-image.h"
#include "registry-words.h"
#include "str.h"

#define SKOPEO "/usr/bin/skopeo"

enum {
        ASKS_MAX = 16,
        MANIFEST_MAX = 1 << 20, // bytes: they are hashed on the loop
        ASK_SEC = 15, // the leader asks another host after that (image-pinning.c)
};

typedef struct ImageAsk {
        ListNode link; // in Agent.images.asks
        Agent *agent;
        uint64_t id; // the leader's
        TransientCommand *command;
        char *auth_file; // agent-registry-auth.h; NULL: the registry is shown nothing
} ImageAsk;

static void ask_free(ImageAsk *ask) {
        list_unlink(&ask->link);
        ask->agent->images.n_asks--;
        ask->auth_file = agent_registry_auth_drop(ask->auth_file);
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
        _cleanup_free_ char *words = NULL, *whole = NULL;
        RegistryDenial denial = REGISTRY_DENIES_NOTHING;

        ask->command = NULL;
        if (result == -EIO)
                words = registry_words(said->data, said->len);
        if (words)
                denial = registry_words_denial(words);
        if (denial)
                whole = str_printf("%s%s", words, registry_denial_hint(denial, ask->auth_file, false));
        if (result == 0 && is_manifest(output))
                tell_digest(ask, output);
        else
                agent_images_answer(ask->agent, ask->id, "",
                       words                  ? whole ?: words
                       : result == -ETIMEDOUT ? AGENT_REGISTRY_SILENT_TEXT
                       : result == -EFBIG     ? "the manifest that the registry sent is longer than 1 MiB"
                       : result == 0          ? "what the registry sent is no manifest"
                                              : strerror(-result),
                       result == -ETIMEDOUT || (words && !denial));
        ask_free(ask);
}

static int show(ImageAsk *ask, const char *unit, const Argosy__ToHost__Call *call,
                char why[AGENT_ERROR_MAX]) {
        _cleanup_(secret_bytes_done) SecretBytes value = {};
        int r = agent_registry_auth_of_call(call, &value);

        if (r < 0 || value.len == 0)
                return r;
        return agent_registry_auth_write(ask->agent, unit, call->image, &value, &ask->auth_file, why);
}

static int begin(ImageAsk *ask, const Argosy__ToHost__Call *call, char why[AGENT_ERROR_MAX]) {
        _cleanup_free_ char *source = str_printf("docker://%s", call->image),
                            *unit = agent_command_unit(ask->agent),
                            *description = str_printf("Digest of the image %s", call->image);
        const char *const args[] = {SKOPEO, "inspect", "--raw", source, NULL};
        AgentCommand command = {.unit = unit,
                                .description = description,
                                .args = args,
                                .limit_sec = ASK_SEC,
                                .output_max = MANIFEST_MAX};
        int r = source && unit && description ? show(ask, unit, call, why) : -ENOMEM;

        command.auth_file = ask->auth_file;
        return r < 0 ? r : agent_command_start(ask->agent, &command, on_asked, ask, &ask->command);
}

void agent_image_asks_on_call(Agent *a, const Argosy__ToHost__Call *call) {
        ImageAsk *ask = a->images.n_asks < ASKS_MAX ? calloc(1, sizeof(*ask)) : NULL;
        char why[AGENT_ERROR_MAX] = "";
        int r;

        if (!ask) {
                agent_images_answer(a, call->id, "", "this host asks registries about many images already",
                                    true);
                return;
        }
        *ask = (ImageAsk){.agent = a, .id = call->id};
        list_append(&a->images.asks, &ask->link);
        a->images.n_asks++;
        r = begin(ask, call, why);
        if (r == 0)
                return;
        if (!*why)
                str_fit(why, sizeof(why), "%s", r == -ENOENT ? "skopeo is not installed" : strerror(-r));
        agent_images_answer(a, call->id, "", why, r != -EINVAL); // no host can make more of a bad secret
        ask_free(ask);
}

static void drop(ImageAsk *ask) {
        agent_command_cancel(ask->agent, &ask->command);
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
