"""Telling from a file's status alone whether it is still what was read.

A record is trusted without reading when device, inode, size, both times in nanoseconds are the recorded
ones *and* the reading began clearly later than the last change of status: within the clock's granularity a
second change would leave the same times. Where the change time is not kept, or is another machine's, every
check reads. See `docs/decisions/0008-staleness-without-reading.md`.
"""

import os
import sys
from collections.abc import Mapping
from typing import Final

import msgspec
import psutil

NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
# Kernels stamp files with the time of the last timer tick: at most 10 ms old.
_FINE_GRAIN_NS: Final = 50 * NS_PER_MS
# Some file systems keep whole seconds, FAT two of them; such times are recognised by their zeros.
_COARSE_GRAIN_NS: Final = 2_500 * NS_PER_MS

# Where the change time is kept by another machine's clock, or not at all.
_UNTRUSTED_SYSTEMS: Final = frozenset(
    {
        "9p", "afs", "ceph", "cifs", "exfat", "fat", "fat32", "fuse", "fuseblk", "glusterfs", "lustre",
        "msdos", "ncpfs", "nfs", "nfs4", "ntfs", "ntfs3", "smb2", "smb3", "smbfs", "vboxsf", "vfat",
        "virtiofs", "vmhgfs", "webdav",
    }
)  # fmt: skip


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a file's status says of its content."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def mtime_ms(self) -> int | float:
        """As JavaScript gives it: milliseconds, with a fraction when there is one."""
        whole, rest = divmod(self.mtime_ns, NS_PER_MS)
        return whole + rest / NS_PER_MS if rest else whole

    def is_same_file(self, other: "Stamp") -> bool:
        """True for two stamps of one file, whatever was written in between."""
        return (self.device, self.inode) == (other.device, other.inode)

    def was_settled(self, read_began_ns: int) -> bool:
        """True when a change after a reading that began then must have left another stamp."""
        grain = _COARSE_GRAIN_NS if self.ctime_ns % _NS_PER_S == 0 else _FINE_GRAIN_NS
        return read_began_ns - self.ctime_ns > grain


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp in a file's status."""
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def keeps_change_times(places: Mapping[int, str]) -> bool:
    """True when the change times of all these file systems can be trusted; blocking.

    Args:
        places: Devices, each with the path of a file on it.
    """
    if sys.platform == "win32":
        return False
    return all(_system_on(device, path) not in _UNTRUSTED_SYSTEMS for device, path in places.items())


_systems: dict[int, str] = {}


def _system_on(device: int, path: str) -> str:
    """As `_system_of`, looked up once for each device."""
    if device not in _systems:
        _systems[device] = _system_of(path)
    return _systems[device]


def _system_of(path: str) -> str:
    """Type of the file system that a path lies on; empty when nobody says."""
    real = os.path.realpath(path)
    best, found = "", ""
    for part in psutil.disk_partitions(all=True):
        point = part.mountpoint.rstrip("/")
        if (real == point or real.startswith(f"{point}/")) and len(part.mountpoint) >= len(best):
            best, found = part.mountpoint, part.fstype.lower()
    return found.partition(".")[0]
