// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A service of the C library that knows no user, and does not say so: who asks it for one waits as long as
// there is a file /run/hanging/UID. As /usr/lib/libnss_hangs.so.2, and with "passwd: files hangs" in
// /etc/nsswitch.conf, it is a directory that cannot be reached.
#include <errno.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC enum nss_status _nss_hangs_getpwuid_r(uid_t uid, struct passwd *account, char *buf, size_t size,
                                             int *ret_errno);

enum nss_status _nss_hangs_getpwuid_r(uid_t uid, struct passwd *account, char *buf, size_t size,
                                      int *ret_errno) {
        const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
        char path[64];

        snprintf(path, sizeof(path), "/run/hanging/%u", (unsigned) uid);
        while (access(path, F_OK) == 0)
                (void) nanosleep(&a_while, NULL);
        *ret_errno = ENOENT;
        return NSS_STATUS_NOTFOUND;
}
