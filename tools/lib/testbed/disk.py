# SPDX-License-Identifier: LGPL-2.1-or-later
"""A node's disk: an image file, a loop device on it, an ext4 file system on that.

What is in the image file is what reached the "disk"; what is only in the page cache of the file system above is not. A
power cut that loses unsynced data therefore keeps the image as it is at that moment and throws the file system above away:
it is shut down without flushing anything, the image is copied, and only then is the old file system unmounted.

The loop device frees itself with the last mount (LO_FLAGS_AUTOCLEAR), so that a crashed testbed leaves none behind.
"""

import errno
import fcntl
import os
import stat
import struct
import subprocess

from . import host
from .host import Failure
from .keeper import WORK

SIZE_MB = 192

# <linux/loop.h>
LOOP_CONFIGURE = 0x4C0A
LOOP_CTL_GET_FREE = 0x4C82
LO_FLAGS_AUTOCLEAR = 4
LO_FLAGS_DIRECT_IO = 16
LOOP_CONFIG_FORMAT = "=II" + "QQQQQIIII64s64s32sQQ" + "64s"  # fd, block size, struct loop_info64, reserved

# <linux/fs.h>: nothing is written until it is thawed; who wants to waits
FIFREEZE = 0xC0045877
FITHAW = 0xC0045878

# <linux/ext4.h>: stop all I/O at once, losing what is only in memory or in the journal's running transaction
EXT4_IOC_SHUTDOWN = 0x8004587D
EXT4_GOING_FLAGS_NOLOGFLUSH = 2


class Disk:
    def __init__(self, keeper, image, name):
        self._keeper, self._image, self._name = keeper, image, name
        self._mountpoint = f"{WORK}/{name}/disk"

    @property
    def directory(self):
        """The directory, in the keeper's mounts, that becomes /var/lib/argosy."""
        return f"{self._mountpoint}/argosy"

    def create(self):
        self._image.parent.mkdir(parents=True, exist_ok=True)
        with open(self._image, "wb") as image:
            image.truncate(SIZE_MB << 20)
        host.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0", "-J", "size=4", self._image])
        self.mount()
        self._keeper.script(f"mkdir -m 0700 {self.directory}")

    def mount(self):
        """Journal commits are made rare: what nobody synced shall not reach the disk by chance."""
        loop = self._attach()
        try:
            self._keeper.script(f"""
                mkdir -p {self._mountpoint}
                mount -t ext4 -o commit=300 {WORK}/dev/{loop.name} {self._mountpoint}
            """)
        finally:
            loop.close()

    def cut_power(self):
        """Loses every byte that was not synced. No process of the node may run any more."""
        fd = os.open(self._keeper.path(self._name, "disk"), os.O_RDONLY)
        try:
            fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", EXT4_GOING_FLAGS_NOLOGFLUSH))
        finally:
            os.close(fd)
        survived = self._image.with_suffix(".survived")
        host.run(["cp", "--sparse=always", "--reflink=auto", self._image, survived])
        self._keeper.script(f"umount {self._mountpoint}")
        survived.rename(self._image)
        self.mount()

    def stall(self):
        """Writes hang from now on, as they do on a disk that does not answer. What is in memory is still read."""
        self._ioctl(FIFREEZE)

    def go_on(self):
        try:
            self._ioctl(FITHAW)
        except OSError as error:
            if error.errno != errno.EINVAL:  # it does not stall
                raise

    def _ioctl(self, request):
        fd = os.open(self._keeper.path(self._name, "disk"), os.O_RDONLY)
        try:
            fcntl.ioctl(fd, request, 0)
        finally:
            os.close(fd)

    def _attach(self):
        """An open loop device on the image. It goes away when it is closed and not mounted."""
        with open(self._image, "r+b") as image:
            config = _loop_config(image.fileno(), str(self._image))
            with _open_device(self._keeper, "loop-control", *_misc_number("loop-control")) as control:
                while True:
                    number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
                    loop = _open_device(self._keeper, f"loop{number}", 7, number)
                    try:
                        fcntl.ioctl(loop, LOOP_CONFIGURE, config)
                        return _Named(loop, f"loop{number}")
                    except OSError as error:
                        loop.close()
                        if error.errno != errno.EBUSY:  # somebody else took it meanwhile
                            raise Failure(f"cannot attach {self._image} to a loop device: {error.strerror}") from None


class _Named:
    def __init__(self, file, name):
        self.close, self.name = file.close, name


def _loop_config(fd, name):
    return struct.pack(LOOP_CONFIG_FORMAT, fd, 0,
                       0, 0, 0, 0, 0, 0, 0, 0, LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
                       name.encode()[-63:], b"", b"", 0, 0, b"")


def _misc_number(name):
    """Major and minor number of a miscellaneous device, after loading its module if that is not there yet."""
    for attempt in range(2):
        with open("/proc/misc") as misc:
            for line in misc:
                minor, found = line.split()
                if found == name:
                    return 10, int(minor)
        subprocess.run(["modprobe", "loop"], check=False, capture_output=True)
    raise Failure("this kernel has no loop devices, the nodes' disks need them")


def _open_device(keeper, name, major, minor):
    """Opens a device through a node of our own: /dev may be a container's, with nothing in it."""
    path = keeper.path("dev", name)
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        os.mknod(path, stat.S_IFBLK | 0o600 if name != "loop-control" else stat.S_IFCHR | 0o600, os.makedev(major, minor))
    try:
        return open(path, "r+b", buffering=0)
    except OSError as error:
        raise Failure(f"cannot open {name}: {error.strerror}; is this a container without device access?") from None
