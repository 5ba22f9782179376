# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian root file systems that nodes share: one of the host's release, and one of Debian 13 for nodes that run containers.

The first comes from the host's own apt sources, so the libraries in it are those that the build was linked with. The second has podman 5 and what
that needs, and libraries of the same sonames; of the host's own release it has only libraft. A root is kept in the cache as SUITE-HASH-DATE, HASH standing for everything that decides its contents; one that
is older than two weeks is replaced, and the old one removed as soon as no testbed uses it.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from . import host
from .host import Failure

MAX_AGE_DAYS = 14

# What a node is: systemd with its bus, what argosyd is linked with, and a little for services and tests to run.
PACKAGES = ["systemd", "systemd-sysv", "dbus", "iproute2", "procps", "busybox",
            "libuv1", "libgnutls30", "libprotobuf-c1", "libmicrohttpd12", "libcjson1", "libjemalloc2",
            "libasan8", "libubsan1", "libtsan2"]

# Boot in a third of a second: nothing here is of use in a container that shares its kernel, clock and devices.
MASKED = ["apt-daily.timer", "apt-daily-upgrade.timer", "console-getty.service", "dev-hugepages.mount",
          "dev-mqueue.mount", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer",
          "getty.target", "getty@.service", "kmod-static-nodes.service", "ldconfig.service", "modprobe@.service",
          "network-online.target", "networking.service", "systemd-firstboot.service", "systemd-hwdb-update.service",
          "systemd-journal-catalog-update.service", "systemd-logind.service", "systemd-machine-id-commit.service",
          "systemd-modules-load.service", "systemd-networkd.service", "systemd-networkd.socket",
          "systemd-pcrphase.service", "systemd-pcrphase-sysinit.service", "systemd-random-seed.service",
          "systemd-remount-fs.service", "systemd-sysctl.service", "systemd-timesyncd.service",
          "systemd-tmpfiles-clean.timer", "systemd-udev-trigger.service", "systemd-update-done.service",
          "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service", "systemd-user-sessions.service",
          "sys-kernel-config.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount"]
GENERATORS = ["systemd-bless-boot-generator", "systemd-cryptsetup-generator", "systemd-debug-generator",
              "systemd-fstab-generator", "systemd-getty-generator", "systemd-gpt-auto-generator",
              "systemd-hibernate-resume-generator", "systemd-integritysetup-generator", "systemd-rc-local-generator",
              "systemd-run-generator", "systemd-ssh-generator", "systemd-system-update-generator",
              "systemd-sysv-generator", "systemd-tpm2-generator", "systemd-veritysetup-generator"]

# What a node has besides to run containers: podman 5 with its generator, a registry, and a program to put into images.
CONTAINERS_SUITE = "trixie"
CONTAINERS_PACKAGES = ["systemd", "systemd-sysv", "dbus", "iproute2", "procps", "busybox-static",
                       "libuv1t64", "libgnutls30t64", "libprotobuf-c1", "libmicrohttpd12t64", "libcjson1", "libjemalloc2",
                       "libasan8", "libubsan1", "libtsan2",
                       "podman", "crun", "netavark", "aardvark-dns", "nftables", "skopeo", "docker-registry"]

# Overlays do not lie over each other, so images are on the node's disk; the rest is what a container in a container may not have.
CONTAINERS_FILES = {
    "etc/containers/containers.conf": "[containers]\npids_limit=0\nkeyring=false\ndefault_sysctls=[]\n",
    "etc/containers/storage.conf": '[storage]\ndriver="overlay"\ngraphroot="/var/lib/argosy/containers"\nrunroot="/run/containers/storage"\n',
}

APT_SOURCES = "$(ORIGIN)|$(CODENAME)|$(RELEASE)|$(COMPONENT)|$(CREATED_BY)|$(REPO_URI)"


def _suite():
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise Failure("/etc/os-release names no VERSION_CODENAME; the testbed runs on Debian")


def _apt_sources(suite, containers):
    """The host's Debian sources, as lines of a sources.list; with containers, of their release from the same place, and what has libraft."""
    lines = []
    for target in host.run(["apt-get", "indextargets", "--format", APT_SOURCES]).splitlines():
        origin, codename, release, component, created_by, uri = target.split("|")
        if origin.startswith("Debian") and codename.split("-")[0] == suite and component == "main" and created_by == "Packages":
            if containers and codename == suite:
                lines.append(f"deb {uri} {CONTAINERS_SUITE} main")
            if not containers or codename.endswith("-backports"):
                lines.append(f"deb {uri} {release} main")
    if not lines:
        raise Failure(f"apt knows no Debian source for '{suite}'; is `apt-get update` needed?")
    return sorted(set(lines), reverse=True)


def _proxy_options():
    dump = host.run(["apt-config", "dump", "Acquire::http", "--no-empty"]) if shutil.which("apt-config") else ""
    return [f"--aptopt={line}" for line in dump.splitlines() if "Proxy" in line]


def _raft_package():
    """libraft in the very version that the build was linked with, wherever apt got it from."""
    depends = host.run(["dpkg-query", "-W", "-f", "${Depends}", "libraft-dev"])
    found = re.search(r"\b(libraft\d\S*) \(= (\S+)\)", depends)
    if not found:
        raise Failure(f"cannot tell which library libraft-dev stands for; it depends on {depends}")
    return f"{found[1]}={found[2]}"


def _packages(containers):
    return [*(CONTAINERS_PACKAGES if containers else PACKAGES), _raft_package()]


def _strip(root):
    """What would only cost time at boot."""
    units = root / "etc/systemd/system"
    for unit in MASKED:
        link = units / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    generators = root / "etc/systemd/system-generators"
    generators.mkdir(parents=True)
    for name in GENERATORS:
        (generators / name).symlink_to("/dev/null")
    shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
    shutil.rmtree(root / "usr/share/doc", ignore_errors=True)
    for name in ["etc/machine-id", "etc/resolv.conf", "etc/hostname", "etc/fstab"]:
        (root / name).unlink(missing_ok=True)
    (root / "etc/machine-id").touch()
    (root / "etc/resolv.conf").touch()
    (root / "var/log/journal").mkdir(parents=True, exist_ok=True)
    (root / "var/lib/argosy").mkdir(parents=True, exist_ok=True)


def _make(suite, containers, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=".new-"))
    root = scratch / "root"
    try:
        host.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", *_proxy_options(), "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
                  f"--include={' '.join(_packages(containers))}", CONTAINERS_SUITE if containers else suite, root, "-"],
                 input="\n".join(_apt_sources(suite, containers)) + "\n", env=os.environ | {"LC_ALL": "C.UTF-8"})
        _strip(root)
        for name, text in CONTAINERS_FILES.items() if containers else ():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        root.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_unused(keep):
    """Removes older root file systems of its kind, but never one that a testbed has locked."""
    for root in keep.parent.glob(f"{keep.name.partition('-')[0]}-*-*"):
        if root == keep:
            continue
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(root, ignore_errors=True)
        os.close(fd)


def _age_days(root):
    return (time.time() - time.mktime(time.strptime(root.name.rpartition("-")[2], "%Y%m%d%H%M"))) / 86400


def obtain(say, containers=False):
    """The path of a fresh root file system, made if need be, and a descriptor that protects it while open."""
    suite = _suite()
    recipe = repr([_packages(containers), MASKED, GENERATORS, Path(__file__).read_text()])
    stem = f"{'containers' if containers else suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:10]}"
    host.CACHE.mkdir(parents=True, exist_ok=True)
    with open(host.CACHE / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        have = sorted(host.CACHE.glob(f"{stem}-*"))
        if not have or _age_days(have[-1]) > MAX_AGE_DAYS:
            root = host.CACHE / time.strftime(f"{stem}-%Y%m%d%H%M")
            say(f"making the nodes' root file system ({CONTAINERS_SUITE if containers else suite}, once every {MAX_AGE_DAYS} days)")
            try:
                _make(suite, containers, root)
                have.append(root)
            except (Failure, subprocess.SubprocessError) as reason:
                if not have:
                    raise
                say(f"cannot refresh the root file system, going on with an old one: {reason}")
        root = have[-1]
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(fd, fcntl.LOCK_SH)
        _remove_unused(root)
        return root, fd
