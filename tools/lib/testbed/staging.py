# SPDX-License-Identifier: LGPL-2.1-or-later
"""The build under test, as an installation would place it.

`meson install` puts everything into a tree of its own, which lies over the root file system of every node. So what is
tested is what gets installed: binaries, unit files, their sandbox, users, tmpfiles.

Installing costs more than a second of a processor. Whoever makes many testbeds of one build does it once: shared() sets
ARGOSY_STAGE, and the testbeds of all processes below take that tree.
"""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from pathlib import Path

from . import host
from .host import Failure

# Sanitizers need rights that the daemon itself does not: LeakSanitizer traces its own process.
SANITIZER_DROP_IN = """\
[Service]
Environment=ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1:halt_on_error=1:print_stacktrace=1
MemoryDenyWriteExecute=no
SystemCallFilter=
"""

STAGE_PREFIX = "stage-"

ENABLED = ["argosyd.socket", "argosyd.service"]


def install(build, target):
    """Installs the build directory's result below `target`."""
    build = Path(build).resolve()
    if not (build / "build.ninja").exists():
        raise Failure(f"{build} is not a build directory; make it with `meson setup {build.name}`, "
                      f"or name another one in ARGOSY_BUILD")
    host.run(["ninja", "-C", build])
    host.run(["meson", "install", "-C", build, "--quiet", "--no-rebuild", "--destdir", target])
    if not (target / "usr/sbin/argosyd").exists():
        raise Failure(f"the build in {build} installs no /usr/sbin/argosyd (its prefix must be /usr)")
    _merge_usr(target)
    _enable(target)
    grant_sanitizer_rights(build, target)


@contextlib.contextmanager
def shared(build):
    """Installs the build directory's result for all testbeds that are made meanwhile."""
    with shared_tree() as stage:
        install(build, stage)
        os.environ["ARGOSY_STAGE"] = str(stage)
        try:
            yield
        finally:
            del os.environ["ARGOSY_STAGE"]


@contextlib.contextmanager
def shared_tree():
    """An empty tree below the cache. It goes at the end, or with one that is made later if a testbed still has it or this process was killed."""
    with _locked_cache():
        for left_behind in host.CACHE.glob(f"{STAGE_PREFIX}*"):
            _remove_unless_held(left_behind)
        stage = Path(tempfile.mkdtemp(dir=host.CACHE, prefix=STAGE_PREFIX))
        stage.chmod(0o755)  # it becomes the root directory of nodes
        held = _hold(stage)
    try:
        yield stage
    finally:
        with _locked_cache():
            os.close(held)
            _remove_unless_held(stage)


def hold_shared():
    """The tree that shared() made for this process, and a descriptor that protects it while open; None and None if there is no such tree."""
    if "ARGOSY_STAGE" not in os.environ:
        return None, None
    stage = Path(os.environ["ARGOSY_STAGE"])
    with _locked_cache():
        try:
            return stage, _hold(stage)
        except FileNotFoundError:
            raise Failure(f"{stage}, which ARGOSY_STAGE names, is gone: the check that made it has ended") from None


@contextlib.contextmanager
def _locked_cache():
    """Nobody else makes, holds or removes a tree meanwhile."""
    host.CACHE.mkdir(parents=True, exist_ok=True)
    with open(host.CACHE / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _hold(stage):
    fd = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def _remove_unless_held(stage):
    fd = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(stage, ignore_errors=True)
    os.close(fd)


def grant_sanitizer_rights(build, target):
    """For what is installed below `target`, if the build has a sanitizer in it."""
    if not is_sanitized(build):
        return
    for unit in ["system/argosyd", "system/argosy-helper", "user/argosyd"]:
        drop_in = target / f"usr/lib/systemd/{unit}.service.d/sanitizer.conf"
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text(SANITIZER_DROP_IN)


def is_sanitized(build):
    return _option(build, "b_sanitize") != "none"


def _merge_usr(root):
    """Debian's /lib is a link to /usr/lib; a directory of that name in an upper layer would hide it, and libc with it."""
    for name in ["bin", "sbin", "lib"]:
        if (root / name).is_dir():
            shutil.copytree(root / name, root / "usr" / name, dirs_exist_ok=True, symlinks=True)
            shutil.rmtree(root / name)


def _enable(root):
    """What the package's maintainer script does: units enabled, groups created at boot."""
    units = [unit for unit in ENABLED if (root / "usr/lib/systemd/system" / unit).exists()]
    if units:
        host.run(["systemctl", f"--root={root}", "enable", "--quiet", *units])


def _option(build, name):
    """The value of one of the build directory's options, for instance b_sanitize."""
    options = json.loads((Path(build) / "meson-info/intro-buildoptions.json").read_text())
    return next((entry["value"] for entry in options if entry["name"] == name), None)
