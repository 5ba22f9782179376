// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Identity and peers file of this host. Each is replaced by one rename, synced; a new identity is prepared
// in next/, committed by renaming that to commit/, and moved into place by the next start, which may be
// interrupted and repeated. So there is no moment at which a power cut leaves half of each.
//
// Of a voter the peers file is there twice, also in the directory of its log: see save_copy().
//
// Damage is -EBADMSG with a sentence that says which file and what to do; it is never mended by itself.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ca.h"
#include "fileio.h"
#include "log.h"
#include "random.h"
#include "state-dir.h"
#include "store.h"
#include "str.h"
#include "voter-secrets.h"

enum { PEERS_FILE_MAX = 1024 * 1024 };

// Bytes that begin the peers file: a name and a format version, then CRC-32C (little-endian) of the message,
// then the message.
static const char peers_magic[8] = "argpeer1";

#define PATH_IN(dir, name)                                               \
        _cleanup_free_ char *name##_path = str_printf("%s/" #name, dir); \
        if (!name##_path)                                                \
        return -ENOMEM

static int explain(char **ret_why, int error, char *why) {
        *ret_why = why;
        return error;
}

int state_dir_lock(const char *dir) {
        int r, fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
                return 0; // never closed: the lock ends with the process, or when it executes itself again
        r = errno == EWOULDBLOCK ? -EBUSY : -errno;
        close(fd);
        return r;
}

int state_dir_is_writable(const char *dir, char **ret_why) {
        int r = access(dir, W_OK | X_OK) < 0 ? -errno : 0;

        return r == 0 ? 0
                      : explain(ret_why, r,
                                str_printf("The state directory %s cannot be written: %s", dir,
                                           strerror(-r)));
}

static int save_peers(const char *dir, const Argosy__PeersFile *peers) {
        size_t len = argosy__peers_file__get_packed_size(peers);
        _cleanup_buf_ Buf out = {};
        uint32_t crc;
        uint8_t *p;
        PATH_IN(dir, peers);

        p = buf_reserve(&out, sizeof(peers_magic) + sizeof(crc) + len);
        if (!p)
                return -ENOMEM;
        memcpy(p, peers_magic, sizeof(peers_magic));
        argosy__peers_file__pack(peers, p + sizeof(peers_magic) + sizeof(crc));
        crc = htole32(crc32c(0, p + sizeof(peers_magic) + sizeof(crc), len));
        memcpy(p + sizeof(peers_magic), &crc, sizeof(crc));
        return file_replace(AT_FDCWD, peers_path, p, sizeof(peers_magic) + sizeof(crc) + len, 0600,
                            FILE_SYNC);
}

// What a voter's log goes by stands in its directory, too, and is the first that is written and that goes:
// whatever else comes from a backup, the two belong to each other.
static int save_copy(const char *log_dir, const Argosy__PeersFile *peers) {
        _cleanup_free_ char *copy = str_printf("%s/peers", log_dir);

        if (!copy)
                return -ENOMEM;
        if (peers->raft_id > 0)
                return store_exists(log_dir) ? save_peers(log_dir, peers) : 0;
        if (unlink(copy) < 0)
                return errno == ENOENT ? 0 : -errno;
        return dir_sync(AT_FDCWD, log_dir);
}

int state_dir_save_peers(const char *dir, const Argosy__PeersFile *peers) {
        PATH_IN(dir, log);
        int r = save_copy(log_path, peers);

        return r < 0 ? r : save_peers(dir, peers);
}

static int load_peers(const char *dir, Argosy__PeersFile **ret) {
        enum { HEAD = sizeof(peers_magic) + sizeof(uint32_t) };
        _cleanup_buf_ Buf in = {};
        uint32_t crc;
        int r;
        PATH_IN(dir, peers);

        r = file_read(AT_FDCWD, peers_path, PEERS_FILE_MAX, &in);
        if (r < 0)
                return r;
        if (in.len < HEAD || memcmp(in.data, peers_magic, sizeof(peers_magic)) != 0)
                return -EBADMSG;
        memcpy(&crc, in.data + sizeof(peers_magic), sizeof(crc));
        if (le32toh(crc) != crc32c(0, in.data + HEAD, in.len - HEAD))
                return -EBADMSG;
        *ret = argosy__peers_file__unpack(NULL, in.len - HEAD, in.data + HEAD);
        return *ret && (*ret)->host > 0 && (*ret)->cluster_id.len == 16 ? 0 : -EBADMSG;
}

static bool are_of_one_host(const Argosy__PeersFile *a, const Argosy__PeersFile *b) {
        return a->host == b->host && memcmp(a->cluster_id.data, b->cluster_id.data, a->cluster_id.len) == 0;
}

// The log is older than what the host was when the file was written: it has forgotten its votes since.
static bool is_of_before(const Argosy__PeersFile *copy, const Argosy__PeersFile *file) {
        return copy->raft_id < file->raft_id || copy->generation < file->generation;
}

// What a voter does that has no log which it can go on with; %s: its state directory. Without the only voter
// nobody can remove a host.
#define BEGIN_ANEW \
        "move %s away, which begins a new cluster, and have the other hosts join that " \
        "('argosyctl cluster join')"

static bool is_only_voter(const Argosy__PeersFile *peers) {
        return peers->n_voters == 1 && peers->voters[0]->host == peers->host;
}

static char *way_out(const char *dir, const Argosy__PeersFile *peers) {
        return str_printf(is_only_voter(peers) ? BEGIN_ANEW
                                               : "remove this host from the cluster on another one, move %s "
                                                 "away, and join again",
                          dir);
}

// The copy beside the log counts more than the file, which may be a backup's.
static int prefer_copy(const char *dir, const char *log_dir, Argosy__PeersFile **peers, char **ret_why) {
        Argosy__PeersFile *copy = NULL, *file = *peers;
        _cleanup_free_ char *way = way_out(dir, file);
        int r = way ? load_peers(log_dir, &copy) : -ENOMEM;

        if (r == -ENOENT || !way)
                return r == -ENOENT ? 0 : r;
        if (r < 0)
                *ret_why =
                        str_printf("%s/peers cannot be read (%s). If %s/peers is no backup's, remove it and "
                                   "start argosyd again; else %s.",
                                   log_dir, r == -EBADMSG ? "it is damaged" : strerror(-r), dir, way);
        else if (!are_of_one_host(copy, file) || is_of_before(copy, file)) {
                *ret_why = str_printf(
                        "The log in %s is %s, by %s/peers. Restore both from one backup, or %s.", log_dir,
                        are_of_one_host(copy, file) ? "older than this host is" : "another host's", dir,
                        way);
                r = -EBADMSG;
        } else if (copy->raft_id != file->raft_id)
                log_notice("%s/peers is older than the log beside it: this host votes (raft id %u).", dir,
                           copy->raft_id);
        argosy__peers_file__free_unpacked(r < 0 ? copy : file, NULL);
        if (r >= 0)
                *peers = copy;
        return r;
}

int state_dir_load(const char *dir, Identity *ret_identity, Argosy__PeersFile **ret_peers, char **ret_why) {
        int r;
        PATH_IN(dir, log);

        r = load_peers(dir, ret_peers);
        if (r == -ENOENT && store_exists(log_path))
                return explain(ret_why, -EBADMSG,
                               str_printf("%s holds a log but %s/peers is missing. Restore it, or move %s "
                                          "away to start as a new host.",
                                          log_path, dir, dir));
        if (r == -ENOENT)
                return r;
        if (r < 0)
                return explain(ret_why, r,
                               str_printf("%s/peers cannot be read (%s). Restore it, or move %s away and "
                                          "join the cluster again.",
                                          dir, r == -EBADMSG ? "it is damaged" : strerror(-r), dir));
        r = prefer_copy(dir, log_path, ret_peers, ret_why);
        if (r < 0)
                return r;
        r = identity_load(dir, ret_identity, ret_why);
        if (r == -ENOENT)
                return explain(ret_why, -EBADMSG,
                               str_printf("%s has no identity.pem although this host is a member. Restore "
                                          "it, or move %s away and join the cluster again.",
                                          dir, dir));
        return r;
}

// A CA, whose key is the first secret of the voters, and an identity that it signs.
static int create_identity(const char *dir, const char *host_name, Identity *ret) {
        _cleanup_(voter_secrets_done) VoterSecrets secrets = {};
        _cleanup_(ca_done) Ca ca = {};
        int r;

        r = ca_create(&ca);
        if (r >= 0)
                r = identity_create(host_name, &ca, ret);
        if (r >= 0)
                r = voter_secrets_put(&secrets, VOTER_SECRET_CA, 1, ca.key.data, ca.key.len);
        if (r >= 0)
                r = voter_secrets_save(dir, &secrets);
        return r < 0 ? r : identity_save(dir, ret);
}

int state_dir_create(const char *dir, const char *host_name, const char *address, uint16_t port,
                     char **ret_why) {
        Argosy__PeersFile peers = ARGOSY__PEERS_FILE__INIT;
        Argosy__Voter self = ARGOSY__VOTER__INIT, *voters[] = {&self};
        Argosy__NodeRecord node = ARGOSY__NODE_RECORD__INIT, *nodes[] = {&node};
        uint8_t cluster_id[16];
        Identity identity = {};
        int r;

        random_bytes(cluster_id, sizeof(cluster_id));
        r = create_identity(dir, host_name, &identity);
        if (r >= 0) {
                self.host = self.raft_id = 1;
                self.address = (char *) address;
                self.port = port;
                self.key_pin = (ProtobufCBinaryData){HASH_SIZE, identity.pin.bytes};
                node.node = 1;
                node.manager = (char *) "system";
                peers.cluster_id = (ProtobufCBinaryData){sizeof(cluster_id), cluster_id};
                peers.generation = peers.host = peers.raft_id = 1;
                peers.n_voters = peers.n_nodes = 1;
                peers.voters = voters;
                peers.nodes = nodes;
                r = state_dir_save_peers(dir, &peers); // from here on this host is initialised
        }
        identity_done(&identity);
        if (r < 0)
                return explain(ret_why, r, str_printf("Cannot write to %s: %s", dir, strerror(-r)));
        return 0;
}

bool state_dir_may_begin_log(const Argosy__PeersFile *peers) {
        return peers->raft_id == 1 && peers->n_voters == 1 && peers->generation == 1 &&
               peers->feature_level == 0; // which comes from the log's first entry
}

char *state_dir_lost_log(const char *dir, const char *log_dir, const char *host_name,
                         const Argosy__PeersFile *peers) {
        if (is_only_voter(peers))
                return str_printf("The log under %s is missing, and no other host has one: this host is the "
                                  "only voter. Restore it, or " BEGIN_ANEW ".",
                                  log_dir, dir);
        return str_printf("The log under %s is missing although this host is a voter. Restore it, or "
                          "remove this host from the cluster on another one ('argosyctl cluster remove "
                          "%s'), move %s away, and join again.",
                          log_dir, host_name, dir);
}

int state_dir_replace(const char *dir, const Identity *identity, const Argosy__PeersFile *peers) {
        int r;
        PATH_IN(dir, next);
        PATH_IN(dir, commit);

        r = dir_empty(AT_FDCWD, next_path);
        if (r < 0)
                return r;
        if (mkdir(next_path, 0700) < 0 && errno != EEXIST)
                return -errno;
        if (identity)
                r = identity_save(next_path, identity);
        if (r >= 0 && peers)
                r = state_dir_save_peers(next_path, peers);
        if (r >= 0)
                r = dir_sync(AT_FDCWD, next_path);
        if (r < 0)
                return r;
        if (rename(next_path, commit_path) < 0)
                return -errno;
        return dir_sync(AT_FDCWD, dir);
}

// Moves one file from commit/ into place. -ENOENT: moved before, or the new identity has none.
static int settle_file(const char *dir, const char *name) {
        _cleanup_free_ char *from = str_printf("%s/commit/%s", dir, name),
                            *to = str_printf("%s/%s", dir, name);

        if (!from || !to)
                return -ENOMEM;
        if (rename(from, to) < 0)
                return -errno;
        return 0;
}

// May run any number of times: what was moved before is not moved again, and "remove what is missing" waits
// for the marker that everything old is gone.
int state_dir_settle(const char *dir, char **ret_why) {
        static const char *const old_files[] = {"peers", "identity.pem", "voter-secrets", "fence"};
        int r = 0;
        PATH_IN(dir, commit);
        PATH_IN(dir, next);
        PATH_IN(dir, log);
        _cleanup_free_ char *cleared = str_printf("%s/cleared", commit_path);

        if (!cleared)
                return -ENOMEM;
        if (access(commit_path, F_OK) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (access(cleared, F_OK) < 0) {
                for (size_t i = 0; r >= 0 && i < ELEMENTSOF(old_files); i++) {
                        _cleanup_free_ char *path = str_printf("%s/%s", dir, old_files[i]);

                        if (!path)
                                r = -ENOMEM;
                        else if (unlink(path) < 0 && errno != ENOENT)
                                r = -errno;
                }
                if (r >= 0)
                        r = dir_empty(AT_FDCWD, log_path);
                if (r >= 0) {
                        r = dir_sync(AT_FDCWD, log_path); // or what was there would be the next host's
                        r = r == -ENOENT ? 0 : r;
                }
                if (r >= 0)
                        r = dir_sync(AT_FDCWD, dir);
                if (r >= 0)
                        r = file_replace(AT_FDCWD, cleared, "", 0, 0600, FILE_SYNC);
        }
        if (r >= 0) {
                r = settle_file(dir, "identity.pem");
                r = r == -ENOENT ? 0 : r;
        }
        if (r >= 0) {
                r = settle_file(dir, "peers"); // last: its presence means "initialised"
                r = r == -ENOENT ? 0 : r;
        }
        if (r >= 0)
                r = dir_sync(AT_FDCWD, dir);
        // One rename ends it: emptying commit/ in place could lose `cleared` before the rest, and the next
        // start would clear again.
        if (r >= 0 && rename(commit_path, next_path) < 0)
                r = -errno;
        if (r >= 0)
                r = dir_sync(AT_FDCWD, dir);
        if (r >= 0)
                r = dir_empty(AT_FDCWD, next_path);
        if (r >= 0 && rmdir(next_path) < 0)
                r = -errno;
        if (r < 0)
                return explain(
                        ret_why, r,
                        str_printf("Cannot put the new identity in place under %s: %s", dir, strerror(-r)));
        return 0;
}
