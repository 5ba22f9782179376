// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-rot.h. A host is down from when its file rots until argosyd is started again, so the file is
// what it was but for that bit, and has its name still.
//
//      rot -> start -> refused, and the words name the file -> mended -> start
//                   -> up: of the log only, where libraft does not read the place
#include "hosts-rot.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "buf.h"
#include "clock.h"
#include "daemon.h"
#include "fence.h"
#include "fileio.h"
#include "hosts-checks.h"
#include "hosts-members.h"
#include "macro.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "story.h"
#include "str.h"
#include "test.h"
#include "voter-secrets.h"

#define CALM_US (180 * USEC_PER_SEC) // by then what must come true has

// Files whose every byte is read at each start.
static const char *const whole_files[] = {"fence", "peers", "voter-secrets"};

static struct {
        uint32_t number; // of the host; 0: nothing is rotten
        char name[64];   // in its state directory
        off_t at;
        uint8_t was;
        unsigned n_starts;
        Hash pin;                          // of the host that it was
        bool removes;                      // where the words say so
        bool removed[SIM_CLUSTER_MAX + 1]; // secrets
} rot;

void hosts_rot_begin(void) {
        memset(&rot, 0, sizeof(rot));
}

static bool is_voter(uint32_t number) {
        const Argosy__HostRecord *r = members_record(number);

        return r && r->role == ARGOSY__HOST_ROLE__ROLE_VOTER && members_is_in(number);
}

static char *path_of(uint32_t number, const char *name) {
        char *path = str_printf("%s/state/%s", sim_machine(number)->dir, name);

        if (!path)
                abort();
        return path;
}

static bool has_secrets(uint32_t number) {
        _cleanup_(voter_secrets_done) VoterSecrets secrets = {};
        _cleanup_free_ char *dir = path_of(number, ""), *why = NULL;

        return voter_secrets_load(dir, &secrets, &why) == 0 &&
               voter_secrets_find(&secrets, VOTER_SECRET_CA, 1);
}

static bool another_has_secrets(uint32_t number) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != number && is_voter(i) && has_secrets(i))
                        return true;
        return false;
}

static bool another_votes(uint32_t number) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != number && is_voter(i))
                        return true;
        return false;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

// What rots there unnoticed (see ../README.md), and what is sim-store.c's.
static bool is_left_out(const char *name) {
        return *name == '.' || streq(name, "memory-log") || str_has_prefix(name, "metadata") ||
               str_has_prefix(name, "open-");
}

// Names of the files of the log in order, malloc'd each.
static char **list_log(uint32_t number, size_t *ret_n) {
        _cleanup_free_ char *path = path_of(number, "log");
        char **list = NULL;
        size_t room = 0;
        DIR *stream = opendir(path);

        *ret_n = 0;
        for (struct dirent *e; stream && (e = readdir(stream));) {
                if (is_left_out(e->d_name))
                        continue;
                if (ARRAY_GROW(list, room, *ret_n + 1) < 0 ||
                    !(list[(*ret_n)++] = str_printf("log/%s", e->d_name)))
                        abort();
        }
        if (stream)
                closedir(stream);
        if (*ret_n > 0)
                qsort(list, *ret_n, sizeof(*list), compare_names);
        return list;
}

static void draw_file(uint32_t number, Draw *d, char ret[static 64]) {
        size_t n = 0;
        char **log = another_votes(number) ? list_log(number, &n) : NULL;

        str_fit(ret, 64, "%s",
                n > 0 && draw_below(d, 2) ? log[draw_below(d, (unsigned) n)] : DRAW_PICK(d, whole_files));
        for (size_t i = 0; i < n; i++)
                free(log[i]);
        free(log);
}

// It is the disk that has another byte: the next power cut changes nothing of that.
static uint8_t exchange(const char *path, off_t at, uint8_t byte) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        uint8_t was;

        if (fd < 0 || pread(fd, &was, 1, at) != 1 || pwrite(fd, &byte, 1, at) != 1 || fsync(fd) < 0) {
                perror(path);
                abort();
        }
        close(fd);
        return was;
}

// Where something was written: what is reserved is zeros.
static bool draw_place(const char *path, Draw *d, off_t *ret, uint8_t *ret_byte) {
        _cleanup_buf_ Buf content = {};
        size_t len;

        if (file_read(AT_FDCWD, path, 16 << 20, &content) < 0)
                return false;
        for (len = content.len; len > 0 && content.data[len - 1] == 0; len--)
                ;
        if (len == 0)
                return false;
        *ret = (off_t) draw_below(d, (unsigned) len);
        *ret_byte = content.data[*ret] ^ (uint8_t) (1u << draw_below(d, 8));
        return true;
}

bool hosts_rot(uint32_t number, Draw *d) {
        _cleanup_free_ char *path = NULL;
        uint8_t byte;

        if (rot.number > 0 || sim_machine(number)->daemon || !members_is_in(number))
                return false;
        draw_file(number, d, rot.name);
        path = path_of(number, rot.name);
        // What is not on the disk yet does not rot there.
        if (!draw_place(path, d, &rot.at, &byte) || !sim_disk_is_synced(number, rot.name))
                return false;
        rot.number = number;
        rot.n_starts = sim_machine(number)->n_starts;
        rot.pin = sim_machine(number)->pin;
        rot.removes = draw_below(d, 2);
        rot.was = exchange(path, rot.at, byte);
        story_tell("n%u: byte %llu of %s has rotten, it was %02x and is %02x", number,
                   (unsigned long long) rot.at, rot.name, rot.was, byte);
        return true;
}

static bool others_are_up(uint32_t number) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != number && members_is_in(i) &&
                    (!sim_machine(i)->daemon || !sim_machine(i)->daemon->attached))
                        return false;
        return true;
}

// What the words say: a fence if the other hosts are up, secrets if another voter has some.
static bool may_be_removed(void) {
        return (streq(rot.name, "fence") && others_are_up(rot.number)) ||
               (streq(rot.name, "voter-secrets") && is_voter(rot.number) && another_has_secrets(rot.number));
}

static void mend(void) {
        _cleanup_free_ char *path = path_of(rot.number, rot.name);

        if (!rot.removes || !may_be_removed()) {
                story_tell("n%u: %s is given back", rot.number, rot.name);
                (void) exchange(path, rot.at, rot.was);
                return;
        }
        story_tell("n%u: %s is removed", rot.number, rot.name);
        if (unlink(path) < 0)
                abort();
        if (streq(rot.name, "fence"))
                disk_fence_is_lost(rot.number);
        else
                rot.removed[rot.number] = true;
}

bool hosts_rot_is_refused(uint32_t number, const char *why) {
        _cleanup_free_ char *path = NULL;

        if (number != rot.number || !why || !strstr(why, "damaged"))
                return false;
        path = path_of(number, str_has_prefix(rot.name, "log/") ? "log" : rot.name);
        check_says("rot-is-said");
        if (!strstr(why, path))
                check_fail("rot-is-said", "%s of n%u has rotten, and it says: %s", rot.name, number, why);
        mend();
        rot.number = 0;
        return true;
}

bool hosts_rot_is_pending(void) {
        return rot.number > 0;
}

void hosts_rot_on_look(void) {
        const SimMachine *m = rot.number > 0 ? sim_machine(rot.number) : NULL;

        if (!m || !m->daemon || m->n_starts == rot.n_starts)
                return;
        // A join or a leave that was under way has taken the files of another host.
        for (size_t i = 0; i < ELEMENTSOF(whole_files) && hash_equal(&m->pin, &rot.pin); i++)
                if (streq(rot.name, whole_files[i]) &&
                    (!streq(rot.name, "voter-secrets") || is_voter(rot.number)))
                        check_fail("rot-is-said", "n%u has started though its %s has rotten", rot.number,
                                   rot.name);
        story_tell("n%u has started though %s has rotten", rot.number, rot.name);
        rot.number = 0;
}

static bool all_have_secrets(void *data) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (rot.removed[i] && is_voter(i) && !has_secrets(i) && another_has_secrets(i))
                        return false;
        return true;
}

void hosts_rot_on_calm(void) {
        bool all = sim_run_until(all_have_secrets, NULL, CALM_US);

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                if (rot.removed[i] && is_voter(i)) {
                        check_says("secrets-come-back");
                        if (!all && !has_secrets(i) && another_has_secrets(i))
                                check_fail("secrets-come-back",
                                           "n%u has no secrets though other voters have them", i);
                }
                rot.removed[i] = false;
        }
}
