// SPDX-License-Identifier: LGPL-2.1-or-later
//
// [Container] line by line: what argosy does not take is refused with one sentence, and what decides where
// the unit may run is noted. Every other key, and every value, is the generator's to judge: it is podman's
// that knows its version.
//
// Refused is what would not mean on another node what it means on this one (paths beside the file, images
// and pods that other files make), what would be a second truth (ServiceName=, podman's own secrets), and
// what argosy does not do so far.

#include "quadlet-parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "content-image.h"
#include "file-sources.h"
#include "quadlet-kind.h"
#include "quadlet-words.h"
#include "quadlet.h"
#include "specifier.h"
#include "str.h"
#include "unit-options-private.h"
#include "unit-parts.h"

#define CLAIM_PORT "port "
#define CLAIM_NAME "container "
#define DIGITS "0123456789"

enum { PORTS_MAX = 32 }; // of one range

#define NO_PATH                                                                                             \
        "%s=%.200s is beside the file, where no other node has it: File= in [X-Argosy] brings it, or name " \
        "an "                                                                                               \
        "absolute path that each node has"

// ------------------------------------------------------------------------------------------------ values

static bool is_relative(const char *path) {
        return *path && *path != '/' && *path != '%';
}

static bool is_file_of(const char *word, size_t len, const char *suffix) {
        const QuadletKind *kind = quadlet_kind(word, len);

        return kind && streq(kind->suffix, suffix);
}

// Files of images, which argosy does not take.
static bool is_image_file(const char *word, size_t len) {
        static const char *const suffixes[] = {".image", ".build"};

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                size_t n = strlen(suffixes[i]);

                if (len > n && memcmp(word + len - n, suffixes[i], n) == 0)
                        return true;
        }
        return false;
}

// Where a registry begins a name, it has a dot or a port, or is "localhost".
static bool is_qualified(const char *image) {
        size_t len = strcspn(image, "/");

        return image[len] && (memchr(image, '.', len) || memchr(image, ':', len) ||
                              (len == strlen("localhost") && memcmp(image, "localhost", len) == 0));
}

// Of letters, digits and what stands between them, and specifiers: nothing that podman would take for an
// option, or for another transport than a registry ("docker-archive:/file", "oci://...").
static bool is_image_name(const char *image) {
        static const char known[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%._-:/@[]";

        return strchr("._-:/@", *image) == NULL && image[strspn(image, known)] == 0 && !strstr(image, ":/");
}

// Podman on the node would refuse such a digest. What a specifier makes of it is known for each unit only.
static bool has_bad_digest(const char *image) {
        const char *at = strstr(image, "@" CONTENT_IMAGE_DIGEST);

        return at && !strchr(at, '%') && !content_image_digest_is_valid(at + 1);
}

static bool is_id(const char *image) {
        return str_has_prefix(image, "sha256:");
}

// ------------------------------------------------------------------------------------------------ keys

static int on_image(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        const char *value = line->value, *bad;
        bool depends;

        q->image_line = *value ? line->line : 0;
        if (is_image_file(value, strlen(value)))
                return option_refuse(
                        ret_why, path, line->line,
                        "Image=%.200s: argosy takes no .image and no .build files; name the image itself",
                        value);
        if (strchr(value, '$') || specifier_check(value, &depends, &bad) < 0)
                return option_refuse(
                        ret_why, path, line->line,
                        "Image=%.200s: an image with a '$', or a specifier other than %%i, %%j, %%n, "
                        "%%N and %%p, is one that only a node knows",
                        value);
        if (*value && !is_image_name(value))
                return option_refuse(ret_why, path, line->line,
                                     "Image=%.200s is no name of an image in a registry", value);
        if (*value && !is_qualified(value) && !is_id(value))
                return option_refuse(ret_why, path, line->line,
                                     "Image=%.200s is a short name, which each node looks for where its own "
                                     "settings say; write its registry, as in "
                                     "docker.io/library/NAME, or localhost/NAME",
                                     value);
        if (has_bad_digest(value))
                return option_refuse(ret_why, path, line->line,
                                     "Image=%.200s: a digest is sha256: and 64 of 0-9 and a-f", value);
        return 0;
}

static void note_data(unsigned *first, const IniLine *line, bool has_data) {
        if (has_data && !*first)
                *first = line->line;
}

static int on_volume(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        const char *value = line->value, *colon = strchr(value, ':');
        size_t len = colon ? (size_t) (colon - value) : 0;

        if (!*value) {
                q->volume_data_line = 0;
                quadlet_named_drop(q, "Volume");
        }
        if (!colon) // anonymous: podman makes a new one for each container
                return 0;
        if (*value == '.')
                return option_refuse(ret_why, path, line->line, NO_PATH, "Volume", value);
        note_data(&q->volume_data_line, line, quadlet_volume_has_data(value));
        return is_file_of(value, len, QUADLET_VOLUME) && *value != '/'
                       ? quadlet_named_add(q, path, line, "Volume", value, len, ret_why)
                       : 0;
}

typedef struct Words { // of one line
        QuadletParser *q;
        const char *path;
        const IniLine *line;
        char **ret_why;
} Words;

static int on_one_mount(const QuadletMount *mount, void *userdata) {
        const Words *w = userdata;
        const char *source = mount->source;
        size_t len = source ? strlen(source) : 0;

        if (!source || streq(mount->type, "tmpfs"))
                return 0;
        if (*source == '.')
                return option_refuse(w->ret_why, w->path, w->line->line, NO_PATH, "Mount", w->line->value);
        if (is_image_file(source, len))
                return option_refuse(
                        w->ret_why, w->path, w->line->line,
                        "Mount=%.200s: argosy takes no .image and no .build files; name the image itself",
                        w->line->value);
        note_data(&w->q->mount_data_line, w->line, quadlet_mount_has_data(mount));
        return is_file_of(source, len, QUADLET_VOLUME) && *source != '/'
                       ? quadlet_named_add(w->q, w->path, w->line, "Mount", source, len, w->ret_why)
                       : 0;
}

static int on_mount(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        Words w = {q, path, line, ret_why};

        if (!*line->value) {
                q->mount_data_line = 0;
                quadlet_named_drop(q, "Mount");
        }
        return quadlet_mounts(line->value, on_one_mount, &w);
}

static int on_arg(const char *key, char *word, void *userdata) {
        const Words *w = userdata;
        QuadletMount mount = streq(key, "Mount") ? quadlet_mount_of(word) : (QuadletMount){};

        note_data(&w->q->args_data_line, w->line,
                  streq(key, "Mount") ? quadlet_mount_has_data(&mount) : quadlet_volume_has_data(word));
        return 0;
}

static int on_args(QuadletParser *q, const IniLine *line) {
        Words w = {.q = q, .line = line};

        if (!*line->value)
                q->args_data_line = 0;
        return quadlet_args(line->value, on_arg, &w);
}

static int on_network(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        const char *value = line->value;
        size_t len = strcspn(value, ":");
        bool container = is_file_of(value, len, QUADLET_CONTAINER);

        if (!*value) {
                q->shares_line = 0;
                quadlet_named_drop(q, "Network");
        }
        if (container || str_has_prefix(value, "container:"))
                q->shares_line = line->line;
        return container || is_file_of(value, len, QUADLET_NETWORK)
                       ? quadlet_named_add(q, path, line, "Network", value, len, ret_why)
                       : 0;
}

static int on_environment_word(char *word, void *userdata) {
        const Words *w = userdata;

        return is_relative(word) ? option_refuse(w->ret_why, w->path, w->line->line, NO_PATH,
                                                 "EnvironmentFile", w->line->value)
                                 : 0;
}

static int on_environment_file(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        Words w = {q, path, line, ret_why};

        return quadlet_words(line->value, on_environment_word, &w);
}

// ------------------------------------------------------------------------------------------------ claims

void quadlet_parser_done(QuadletParser *q) {
        for (size_t i = 0; i < q->n_claims; i++)
                free(q->claims[i].what);
        free(q->claims);
        quadlet_named_drop(q, NULL);
        free(q->named);
}

static void drop_claims(QuadletParser *q, const char *kind) {
        size_t kept = 0;

        for (size_t i = 0; i < q->n_claims; i++)
                if (str_has_prefix(q->claims[i].what, kind))
                        free(q->claims[i].what);
                else
                        q->claims[kept++] = q->claims[i];
        q->n_claims = kept;
}

// What holds specifiers that only a node fills in is not known here, and claims nothing.
int quadlet_add_claim(QuadletParser *q, unsigned line, char *what) {
        _cleanup_free_ char *owned = what;
        const char *bad;
        bool depends;
        int r;

        if (!owned)
                return -ENOMEM;
        if (specifier_check(owned, &depends, &bad) < 0)
                return 0;
        r = ARRAY_GROW(q->claims, q->claims_allocated, q->n_claims + 1);
        if (r == 0)
                q->claims[q->n_claims++] = (QuadletClaim){TAKE_PTR(owned), line};
        return r;
}

static int on_name(QuadletParser *q, const IniLine *line) {
        drop_claims(q, CLAIM_NAME);
        return *line->value ? quadlet_add_claim(q, line->line, str_printf(CLAIM_NAME "%s", line->value)) : 0;
}

// "8000-8003": of more than PORTS_MAX none is claimed.
static int add_ports(QuadletParser *q, unsigned line, const char *ip, const char *ports,
                     const char *protocol) {
        unsigned first, last;
        int n = 0, r = 0;

        if (*ports && ports[strspn(ports, DIGITS)] == 0) // podman reads "0080" as 80
                ports += MIN_OF(strspn(ports, "0"), strlen(ports) - 1);
        if (sscanf(ports, "%5u-%5u%n", &first, &last, &n) != 2 || ports[n])
                return quadlet_add_claim(q, line, str_printf(CLAIM_PORT "%s%s/%s", ip, ports, protocol));
        for (unsigned port = first; port <= last && last - first < PORTS_MAX && r == 0; port++)
                r = quadlet_add_claim(q, line, str_printf(CLAIM_PORT "%s%u/%s", ip, port, protocol));
        return r;
}

// "[[IP:][PORT]:]PORT[/PROTOCOL]": without a port of the host podman takes one that is free.
static int on_port(QuadletParser *q, const IniLine *line) {
        _cleanup_free_ char *value = strdup(line->value), *ip = NULL;
        char *slash, *inner, *outer;

        if (!value)
                return -ENOMEM;
        if (!*value)
                drop_claims(q, CLAIM_PORT);
        slash = strchr(value, '/');
        for (char *at = slash; at && *at; at++) // "UDP" is "udp"
                *at = *at >= 'A' && *at <= 'Z' && at[-1] != '%' ? (char) (*at - 'A' + 'a') : *at;
        if (slash)
                *slash = 0;
        inner = strrchr(value, ':');
        if (!inner)
                return 0;
        *inner = 0;
        outer = strrchr(value, ':');
        if (outer && strcspn(value, ":") > 0 && !str_has_prefix(value, "0.0.0.0:") &&
            !str_has_prefix(value, "[::]:"))
                ip = strndup(value, (size_t) (outer + 1 - value));
        else
                ip = strdup("");
        if (!ip)
                return -ENOMEM;
        outer = outer ? outer + 1 : value;
        return *outer ? add_ports(q, line->line, ip, outer, slash ? slash + 1 : "tcp") : 0;
}

// ---------------------------------------------------------------------------------------------- the section

static const struct {
        const char *key, *why; // fits behind "KEY=: "
} refused[] = {
        {"Pod",
         "argosy takes no .pod files; MachineOf= and Network=container:NAME bring containers together"},
        {"Secret", "podman's own secrets are the node's, in plain text on its disk"},
        {"ServiceName", "the unit is called as its file is"},
};

// Keys of one value.
static int on_plain(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        _cleanup_free_ char *value = quadlet_plain(line->value);
        IniLine plain = *line;

        plain.value = value;
        if (!value)
                return -ENOMEM;
        if (streq(line->key, "Image"))
                return on_image(q, path, &plain, ret_why);
        if (streq(line->key, "ContainerName"))
                return on_name(q, &plain);
        q->rootfs_line = *value ? line->line : 0;
        return 0;
}

int quadlet_on_container(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        const char *key = line->key;

        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                if (streq(key, refused[i].key) && *line->value)
                        return option_refuse(ret_why, path, line->line, "%s=: %s", key, refused[i].why);
        if (streq(key, "Image") || streq(key, "ContainerName") || streq(key, "Rootfs"))
                return on_plain(q, path, line, ret_why);
        if (streq(key, "PublishPort"))
                return on_port(q, line);
        if (streq(key, "Volume"))
                return on_volume(q, path, line, ret_why);
        if (streq(key, "Mount"))
                return on_mount(q, path, line, ret_why);
        if (streq(key, "PodmanArgs"))
                return on_args(q, line);
        if (streq(key, "Network"))
                return on_network(q, path, line, ret_why);
        return streq(key, "EnvironmentFile") ? on_environment_file(q, path, line, ret_why) : 0;
}

int quadlet_on_section(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        static const char *const others[] = {"Pod", "Kube", "Volume", "Network", "Image", "Build"};

        q->was_container |= streq(line->section, "X-Container");
        for (size_t i = 0; q->is_container && i < ELEMENTSOF(others); i++)
                if (streq(line->section, others[i]))
                        return option_refuse(ret_why, path, line->line,
                                             "a container's file has no section [%s]", line->section);
        return 0;
}

int quadlet_on_volume_loss(QuadletParser *q, const char *path, const IniLine *line, char **ret_why) {
        const char *value = line->value;

        if (*value && !streq(value, "accept") && !streq(value, "refuse"))
                return option_refuse(ret_why, path, line->line,
                                     "VolumeLoss=%.64s is neither accept nor refuse", value);
        q->volume_loss_line = streq(value, "accept") ? line->line : 0;
        return 0;
}

// ------------------------------------------------------------------------------------------------ all of it

static const RawOption *find_raw(const QuadletOptions *o, RawKind kind) {
        for (size_t i = 0; i < o->n_raw; i++)
                if (o->raw[i].kind == kind)
                        return &o->raw[i];
        return NULL;
}

static int check_options(const char *path, const QuadletOptions *o, char **ret_why) {
        const RawOption *manager = find_raw(o, RAW_MANAGER);

        return manager ? option_refuse(ret_why, path, manager->line,
                                       "argosy runs containers under hosts' own managers only")
                       : 0;
}

static int check_container(const QuadletParser *q, const char *path, const QuadletOptions *o,
                           char **ret_why) {
        if (!q->image_line && !q->rootfs_line)
                return option_refuse(ret_why, path, 1, "[Container] has neither Image= nor Rootfs=");
        if (q->shares_line && !find_raw(o, RAW_SAME_NODE))
                return option_refuse(
                        ret_why, path, q->shares_line,
                        "a network that is another container's needs MachineOf= in [X-Argosy]: the two have "
                        "to be on one node");
        return 0;
}

// Of two lines the one above, 0: there is no such line.
static unsigned first_line(unsigned a, unsigned b) {
        return !a || (b && b < a) ? b : a;
}

// Data that stays on a node keeps the unit there: elsewhere it would begin with none.
static int keep_with_data(const QuadletParser *q, const char *path, const QuadletOptions *o,
                          FailingParser *failing, bool *stays, char **ret_why) {
        unsigned data_line = first_line(first_line(q->volume_data_line, q->mount_data_line),
                                        q->args_data_line);

        if (!data_line || q->volume_loss_line || o->global)
                return 0;
        if (failing_moves(failing))
                return option_refuse(ret_why, path, data_line,
                                     "a moved container would start empty: VolumeLoss=accept in [X-Argosy] "
                                     "says that it may, and without NodeLost= and "
                                     "RestartElsewhere= it stays on its node");
        failing->options.node_lost = NODE_LOST_NEVER;
        failing->options.has_data = true;
        *stays = true;
        return 0;
}

int quadlet_finish(const QuadletParser *q, const char *path, const QuadletOptions *options,
                   FailingParser *failing, bool *stays, char **ret_why) {
        int r;

        if (q->volume_loss_line && !q->is_container && !q->was_container)
                return option_refuse(ret_why, path, q->volume_loss_line, "VolumeLoss= is for containers");
        if (q->pin_line && !q->is_container && !q->was_container)
                return option_refuse(ret_why, path, q->pin_line, "ImagePin= is for containers");
        if (!q->is_container)
                return 0;
        r = check_options(path, options, ret_why) ?: check_container(q, path, options, ret_why);
        return r ?: keep_with_data(q, path, options, failing, stays, ret_why);
}

// ------------------------------------------------------------------------------------------------ warnings

typedef struct Warnings {
        int (*each)(unsigned line, const char *text, void *userdata);
        void *userdata;
} Warnings;

static int warn_image(const Warnings *w, const IniLine *line) {
        _cleanup_free_ char *text = NULL, *image = quadlet_plain(line->value);

        if (!image)
                return -ENOMEM;
        if (!str_has_prefix(image, "localhost/") && !is_id(image))
                return 0;
        text = str_printf(
                "Image=%.150s is not pinned: no registry has it, so each node runs what it has of that "
                "name, also after undo",
                image);
        return text ? w->each(line->line, text, w->userdata) : -ENOMEM;
}

static int warn_container(const Warnings *w, const IniLine *line) {
        if (streq(line->key, "Image"))
                return warn_image(w, line);
        if (streq(line->key, "Rootfs") && *line->value)
                return w->each(line->line,
                               "Rootfs= is not pinned: each node runs what it has there, also after undo",
                               w->userdata);
        if (streq(line->key, "AutoUpdate") && *line->value)
                return w->each(line->line,
                               "AutoUpdate= is left out: argosy decides when the unit gets another image",
                               w->userdata);
        if (streq(line->key, "UserNS") && str_has_prefix(line->value, "keep-id"))
                return w->each(line->line,
                               "UserNS=keep-id is for containers of a user; argosy runs this one as root",
                               w->userdata);
        if (strstr(line->value, "%h") || strstr(line->value, "%U"))
                return w->each(line->line,
                               "%h and %U are those of root: argosy runs the container under the host's own "
                               "manager",
                               w->userdata);
        return 0;
}

static int warn_line(const Warnings *w, const IniLine *line) {
        if (line->kind != INI_ASSIGNMENT)
                return 0;
        if (streq(line->section, "Container"))
                return warn_container(w, line);
        if (streq(line->section, "Install") && strstr(line->value, "default.target"))
                return w->each(
                        line->line,
                        "default.target is what users' managers start; the host's own has multi-user.target",
                        w->userdata);
        return 0;
}

int quadlet_warnings(const void *content, size_t len,
                     int (*each)(unsigned line, const char *text, void *userdata), void *userdata) {
        _cleanup_(ini_reader_done) IniReader reader = {};
        Warnings w = {each, userdata};
        IniLine line;
        int r = ini_reader_init(&reader, content, unit_parts_own_len(content, len)), more = 0;

        while (r >= 0 && (more = ini_reader_next(&reader, &line)) > 0)
                r = warn_line(&w, &line);
        return more == -ENOMEM ? more : MIN_OF(r, 0);
}
