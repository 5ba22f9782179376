// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a pull has ended, or a content has gone -> is a quarter of the disk of podman's images free?
//                    '-> no: the image that argosy pulled first, of those that nothing here needs
//                        -> podman image rm, in a service of its own -> the next look
//
// Nothing looks at the disk again and again: it is looked at when argosy itself has filled it, or may have
// made something superfluous. Kept are images that argosy has not pulled (image-record.h), those of contents
// that units here hold or are to hold, what a unit had before (image-record.c says why), and what a leader
// has asked for until its orders have come, or for an hour: those of an update come one after the other.
// podman keeps what any container uses, running or not, as it removes nothing by force; an image that
// somebody has given a tag is theirs from then on.
//
// No pull begins while an image is removed, and none is removed while there is a pull or one that waits for
// its turn. An image that is wanted meanwhile waits for the end of its removal and is pulled again.
//
// Failures: a record that is damaged is that of nothing, so nothing of before is removed. What podman
// refuses to remove is left until the next look. While a unit holds a content that is not known yet, as
// after a start of argosyd, nothing is removed.

#include "agent-image-removal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent-command.h"
#include "agent-images.h"
#include "clock.h"
#include "fileio.h"
#include "log.h"
#include "registry-words.h"
#include "str.h"

#define FILE_NAME "images" // in the state directory
#define CALLED_US (3600 * USEC_PER_SEC)

// Its words are what has become of the image.
#define GONE "gone"
#define TAGGED "tagged"
#define REMOVED "removed"
#define SCRIPT                                                                            \
        "podman image exists \"$1\" || { echo " GONE "; exit 0; }\n"                      \
        "tags=$(podman image inspect --format '{{len .RepoTags}}' \"$1\") || exit\n"      \
        "[ \"$tags\" = 0 ] || { echo " TAGGED "; exit 0; }\n"                             \
        "podman image rm --no-prune \"$1\" >/dev/null || exit\n"                          \
        "echo " REMOVED

enum {
        FREE_PART = 4, // of the disk, which is to be free
        REMOVE_SEC = 300,
};

// ----------------------------------------------------------------------------------------------- the record

void agent_image_removal_open(Agent *a) {
        _cleanup_free_ char *path = str_printf("%s/" FILE_NAME, a->state_dir);
        _cleanup_buf_ Buf text = {};
        int r = path ? file_read(AT_FDCWD, path, IMAGE_RECORD_BYTES_MAX, &text) : -ENOMEM;

        if (r == -ENOENT)
                return;
        if (r >= 0)
                r = image_record_parse(text.data, text.len, &a->images.record);
        if (r < 0)
                log_warning("%s/" FILE_NAME ": %s; no image that was pulled before is removed for want of "
                            "room.",
                            a->state_dir, r == -EBADMSG ? "it is damaged" : strerror(-r));
}

static void save(const Agent *a) {
        _cleanup_free_ char *path = str_printf("%s/" FILE_NAME, a->state_dir);
        _cleanup_buf_ Buf text = {};
        int r = path ? image_record_compose(&a->images.record, &text) : -ENOMEM;

        if (r == 0)
                r = file_replace(AT_FDCWD, path, text.data, text.len, 0644, 0);
        if (r < 0)
                log_warning("%s/" FILE_NAME ": %s", a->state_dir, strerror(-r));
}

void agent_image_removal_pulled(Agent *a, const char *image) {
        if (image_record_add(&a->images.record, image, clock_wall_us()) == 0)
                save(a);
}

bool agent_image_removal_knows(const Agent *a, const char *image) {
        return image_record_find(&a->images.record, image);
}

void agent_image_removal_replaced(Agent *a, const char *unit, const char *image) {
        if (image_record_set_former(&a->images.record, unit, image))
                save(a);
}

void agent_image_removal_store(Agent *a, const char *list) {
        if (image_record_set_store(&a->images.record, list))
                save(a);
}

// ----------------------------------------------------------------------------------------------- what stays

static void free_names(Map *names) {
        map_done_with(names, free);
}

static void add_name(Map *names, const char *image) {
        char *copy = map_find_str(names, image) ? NULL : strdup(image);

        if (copy && map_add_str(names, copy, copy) < 0)
                free(copy);
}

void agent_image_removal_called(Agent *a, const char *image) {
        if (a->images.called.count == 0)
                a->images.called_us = clock_boot_us();
        add_name(&a->images.called, image);
}

// All of them at once, an hour after the first: an update that takes longer pulls again.
static void forget_called(Agent *a) {
        if (a->images.called.count > 0 && clock_boot_us() >= a->images.called_us + CALLED_US)
                free_names(&a->images.called);
}

typedef struct Kept {
        const Agent *agent;
        Map contents; // images of contents that are held or wanted here
} Kept;

static bool is_kept(const char *image, void *userdata) {
        const Kept *k = userdata;

        return map_find_str(&k->contents, image) || map_find_str(&k->agent->images.called, image) ||
               map_find_str(&k->agent->images.left, image) ||
               image_record_is_former(&k->agent->images.record, image);
}

// False: there is a content that is not known, or no memory.
static bool collect_contents(const Agent *a, Map *ret) {
        map_foreach (slot, &a->specs) {
                const AgentSpec *s = slot->value;
                int r = !s->known ? -ENODATA : s->image ? map_add_str(ret, s->image, slot->value) : 0;

                if (r < 0 && r != -EEXIST)
                        return false;
        }
        return true;
}

static const PulledImage *choose(const Agent *a) {
        Kept kept = {.agent = a};
        const PulledImage *oldest =
                collect_contents(a, &kept.contents) ? image_record_oldest(&a->images.record, is_kept, &kept)
                                                    : NULL;

        map_done(&kept.contents);
        return oldest;
}

static bool has_room(const Agent *a) {
        _cleanup_free_ char *folder = strdup(a->images.record.store);
        char *slash = folder ? strrchr(folder, '/') : NULL;
        struct statvfs fs = {};
        bool known;
        int fd;

        if (!slash)
                return true;
        *slash = 0;
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        known = fd >= 0 && fstatvfs(fd, &fs) == 0;
        if (fd >= 0)
                close(fd);
        return !known || fs.f_bavail >= fs.f_blocks / FREE_PART;
}

// ------------------------------------------------------------------------------------------------ removing

static bool says(const Buf *output, const char *word) {
        return output->len > strlen(word) && memcmp(output->data, word, strlen(word)) == 0;
}

static void on_removed(int result, const Buf *output, const Buf *said, void *userdata) {
        Agent *a = userdata;
        _cleanup_free_ char *image = TAKE_PTR(a->images.removed),
                            *words = result == -EIO ? registry_words(said->data, said->len) : NULL;

        a->images.removal = NULL;
        if (result == 0 && says(output, REMOVED))
                log_info("The image %s was removed, since less than a quarter of podman's disk is free.",
                         image);
        else if (result != 0)
                log_info("The image %s, which no unit here needs, cannot be removed: %s", image,
                         words ?: strerror(-result));
        if (result == 0) {
                image_record_drop(&a->images.record, image);
                save(a);
        } else {
                add_name(&a->images.left, image);
        }
        a->images.goes_on = true;
        drain_mark(&a->drain);
}

static void remove_image(Agent *a, const char *image) {
        _cleanup_free_ char *description = str_printf("Removal of the image %s", image);
        const char *const args[] = {"/bin/sh", "-c", SCRIPT, "sh", image, NULL};
        const AgentCommand command = {
                .description = description, .args = args, .limit_sec = REMOVE_SEC, .output_max = 4096};

        a->images.removed = strdup(image);
        if (!a->images.removed || agent_command_start(a, &command, on_removed, a, &a->images.removal) < 0) {
                free(TAKE_PTR(a->images.removed));
                return; // until the next look
        }
        agent_images_forget(a, image);
}

void agent_image_removal_look(Agent *a) {
        a->images.look = true;
        drain_mark(&a->drain);
}

void agent_image_removal_turn(Agent *a) {
        const PulledImage *image;

        if ((!a->images.look && !a->images.goes_on) || a->images.removal ||
            !list_is_empty(&a->images.commands))
                return;
        if (a->images.look)
                free_names(&a->images.left); // podman may remove by now what it left
        a->images.look = a->images.goes_on = false;
        forget_called(a);
        if (!a->images.record.store || a->images.record.pulled.count == 0 || has_room(a))
                return;
        image = choose(a);
        if (image)
                remove_image(a, image->name);
}

void agent_image_removal_drop(Agent *a) {
        agent_command_cancel(a, &a->images.removal);
        free(TAKE_PTR(a->images.removed));
}

void agent_image_removal_done(Agent *a) {
        free_names(&a->images.called);
        free_names(&a->images.left);
        image_record_done(&a->images.record);
}
