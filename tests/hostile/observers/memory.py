"""The most memory this process has held at once, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


class MemoryWatch:
    """`grown_mb` is how far the peak since `forget` rose above what was held then."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self._before = _kilobytes("VmRSS")

    @property
    def grown_mb(self) -> int:
        return (_kilobytes("VmHWM") - self._before) // 1024


def _kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
