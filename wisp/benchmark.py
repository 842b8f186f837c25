"""Wisp's private desktops for harnesses, such as OSWorld's."""

from app.base.errors import WispError
from app.features.fleet.benchmark import ActionFailed, CommandResult, Desktop, EpisodeEnded, Observation, Played
from app.features.fleet.client import DeskLost, DeskNotStarted, OverMemory
from app.features.fleet.osworld import DesktopEnv

__all__ = (
    "ActionFailed",
    "CommandResult",
    "DeskLost",
    "DeskNotStarted",
    "Desktop",
    "DesktopEnv",
    "EpisodeEnded",
    "Observation",
    "OverMemory",
    "Played",
    "WispError",
)
