// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which valid names argosy gives to no unit on any node, since they mean something else than one unit to the
// machine, to argosy or to systemd. What is asked is a name and nothing else: that a name belongs to
// somebody else on one node is found there.
//
//      the machine's and argosy's own     argosyd*, systemd-*, dbus*, user@*, the slices of the machine ...
//      of systemd.special(7)              systemd starts, stops or orders these by their names; those of
//                                         systemd 252 to 258
//      that end in '-'                    NAME.d, NAME.wants, NAME.requires and NAME.upholds count for all
//                                         units whose names begin
//                                         so, as systemd.unit(5) has it: probe-.service.d for
//                                         probe-1.service, and for the template
//                                         probe-@.service so for instances. A leading '-' stands for itself:
//                                         "-.mount" is the root
//      system-*.slice, app-*.slice        systemd puts instances of a template into system-TEMPLATE.slice,
//                                         those of a user into app-TEMPLATE.slice,
//                                         also ours, and stops them with it
//      longer than UNIT_NAME_MANAGED_MAX  names are made of it: argosy-pin@NAME.target, NAME.d, .#NAME.new
//
// The other directories of systemd, type.d (service.d) and X.wants, are no names of units: unit_name_kind()
// takes none without a type at its end, and what is made below X of a unit's [Install] is judged as X is
// (unit-install.c).
//
// Failures: none. Letters are those of ASCII.

#include <stdlib.h>

#include "str.h"
#include "unit-name.h"

// Sorted, for bsearch().
static const char *const special[] = {
        "app.slice",
        "background.slice",
        "basic.target",
        "bluetooth.target",
        "boot-complete.target",
        "capsule.slice",
        "cryptsetup-pre.target",
        "cryptsetup.target",
        "ctrl-alt-del.target",
        "default.target",
        "display-manager.service",
        "emergency.target",
        "exit.target",
        "factory-reset-now.target",
        "factory-reset.target",
        "final.target",
        "first-boot-complete.target",
        "getty-pre.target",
        "getty.target",
        "graphical-session-pre.target",
        "graphical-session.target",
        "graphical.target",
        "halt.target",
        "hibernate.target",
        "hybrid-sleep.target",
        "imports-pre.target",
        "imports.target",
        "initrd-fs.target",
        "initrd-root-device.target",
        "initrd-root-fs.target",
        "initrd-switch-root.target",
        "initrd-usr-fs.target",
        "initrd.target",
        "integritysetup-pre.target",
        "integritysetup.target",
        "kbrequest.target",
        "kexec.target",
        "local-fs-pre.target",
        "local-fs.target",
        "machine.slice",
        "machines.target",
        "multi-user.target",
        "network-online.target",
        "network-pre.target",
        "network.target",
        "nss-lookup.target",
        "nss-user-lookup.target",
        "paths.target",
        "poweroff.target",
        "printer.target",
        "reboot.target",
        "remote-cryptsetup.target",
        "remote-fs-pre.target",
        "remote-fs.target",
        "remote-integritysetup.target",
        "remote-veritysetup.target",
        "rescue.target",
        "rpcbind.target",
        "session.slice",
        "shutdown.target",
        "sigpwr.target",
        "sleep.target",
        "slices.target",
        "smartcard.target",
        "sockets.target",
        "soft-reboot.target",
        "sound.target",
        "ssh-access.target",
        "storage-target-mode.target",
        "suspend-then-hibernate.target",
        "suspend.target",
        "swap.target",
        "sysinit.target",
        "syslog.socket",
        "system-update-cleanup.service",
        "system-update-pre.target",
        "system-update.target",
        "time-set.target",
        "time-sync.target",
        "timers.target",
        "tpm2.target",
        "umount.target",
        "usb-gadget.target",
        "veritysetup-pre.target",
        "veritysetup.target",
        "xdg-desktop-autostart.target",
};

static int by_text(const void *key, const void *entry) {
        return strcmp(key, *(const char *const *) entry);
}

static bool is_special(const char *name) {
        // Instances of these are made by logind, by generators and by devices.
        static const char *const templates[] = {"autovt@",          "blockdev@", "capsule@",
                                                "container-getty@", "getty@",    "serial-getty@"};

        if (strchr(name, '@')) {
                for (size_t i = 0; i < ELEMENTSOF(templates); i++)
                        if (name[0] == templates[i][0] && str_has_prefix(name, templates[i]))
                                return true;
                return false;
        }
        return bsearch(name, special, ELEMENTSOF(special), sizeof(*special), by_text);
}

static bool is_of_the_machine(const char *name) {
        static const char *const prefixes[] = {"argosyd",  "argosy.", "argosy-", "argosy@",
                                               "systemd-", "dbus",    "user@",   "user-"};
        static const char *const names[] = {"-.slice", "-.mount", "user.slice", "system.slice",
                                            "machine.slice"};

        if (!strchr("adsum-", name[0])) // as none of them begins
                return false;
        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++)
                if (str_has_prefix(name, prefixes[i]))
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

bool unit_name_is_of_many(const char *name) {
        size_t len;
        const char *prefix = unit_name_prefix(name, &len);

        return len > 1 && prefix[len - 1] == '-';
}

static bool is_slice_of_instances(const char *name) {
        return (str_has_prefix(name, "system-") || str_has_prefix(name, "app-")) &&
               str_has_suffix(name, ".slice");
}

static_assert(UNIT_NAME_MANAGED_MAX == 237, "what is said of it names it");

const char *unit_name_reserved(const char *name) {
        if (is_of_the_machine(name))
                return "this name belongs to the system: argosy manages it on no node";
        if (is_special(name))
                return "systemd gives this name a meaning of its own (systemd.special(7)): argosy manages "
                       "it on no node";
        if (unit_name_is_of_many(name))
                return "the name ends in '-', and systemd takes what is said of such a name for all units "
                       "whose names begin so "
                       "(systemd.unit(5)): argosy manages it on no node";
        if (is_slice_of_instances(name))
                return "systemd puts instances of a template into a slice of such a name, whoever's they "
                       "are (Slice= in systemd.resource-control(5)): argosy manages it on no node";
        if (strlen(name) > UNIT_NAME_MANAGED_MAX)
                return "the name is longer than 237 bytes: argosy makes names of it that are longer, for "
                       "systemd and for files";
        return NULL;
}
