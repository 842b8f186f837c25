"""Read and write `settings.toml`. A wrong value is reported and its default used, so that a typo never stops Wisp."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.base import own_files, paths
from app.settings.catalog import NAME, Setting, T, every, renewed
from app.settings.providers import key_holders

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class Settings:
    """The person's settings. `settings[MAX_PASSES]` has the type of the setting's default."""

    def __init__(self, values: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._values = renewed(values or {})
        self._environment = dict(os.environ if environment is None else environment)
        self.problems: list[str] = []
        self._chosen: dict[str, Any] = {setting.key: self._choose(setting) for setting in every()}

    def __getitem__(self, setting: Setting[T]) -> T:
        if setting.key not in self._chosen:  # because its feature is switched off, or was declared since
            self._chosen[setting.key] = self._choose(setting)
        value: T = self._chosen[setting.key]
        return value

    def with_values(self, **values: Any) -> Settings:
        """Names have `__` for the dot (`chat__max_passes=3`)."""
        changes = {name.replace("__", "."): value for name, value in values.items()}
        environment = {k: v for k, v in self._environment.items() if not _overridden(k, changes)}
        return Settings({**self._values, **changes}, environment)

    def _choose(self, setting: Setting[Any]) -> Any:
        raw = self._environment.get(setting.env) if setting.env else None
        source = f"the environment variable {setting.env}"
        if raw is None or raw == "":
            raw, source = self._values.get(setting.key), f"{setting.key} in settings.toml"
        if raw is None:
            return setting.default
        try:
            return checked(setting, raw)
        except ValueError as error:  # Use the default, because a wrong value must not stop Wisp from starting.
            self.problems.append(f"{source}: {error} Wisp uses {setting.default!r}.")
            return setting.default


def _overridden(variable: str, changes: Mapping[str, Any]) -> bool:
    return any(setting.env == variable and setting.key in changes for setting in every())


def checked(setting: Setting[Any], raw: Any) -> Any:
    """Return the value in the setting's type. Raises ValueError with a sentence if it is invalid."""
    value = _converted(setting, raw)
    if setting.choices and value not in setting.choices:
        raise ValueError(f"{raw!r} is none of {', '.join(repr(choice) for choice in setting.choices)}.")
    if not isinstance(value, (bool, str)):
        if setting.minimum is not None and value < setting.minimum:
            raise ValueError(f"{raw!r} is below {setting.minimum:g}.")
        if setting.maximum is not None and value > setting.maximum:
            raise ValueError(f"{raw!r} is above {setting.maximum:g}.")
    return value


def _converted(setting: Setting[Any], raw: Any) -> Any:
    kind = type(setting.default)
    if kind is bool:
        word = str(raw).lower()
        if word not in _TRUE | _FALSE:
            raise ValueError(f"{raw!r} is neither true nor false.")
        return word in _TRUE
    if kind is str:
        return ", ".join(map(str, raw)) if isinstance(raw, list) else str(raw)
    try:
        if not math.isfinite(float(raw)):
            raise ValueError
        return kind(raw)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{raw!r} is not a number.") from None


def settings_file(of: str | None = None) -> Path:
    return paths.config_dir(of) / "settings.toml"


def load(environment: Mapping[str, str] | None = None, of: str | None = None) -> Settings:
    """Load the person's settings of this presence, or of the one with the id `of`. If the file cannot be read, use the
    defaults and add a sentence to `problems`.
    """
    path = settings_file(of)
    try:
        tree = tomllib.loads(paths.read_own(path)) if os.path.lexists(path) else {}
    except (OSError, ValueError) as error:
        settings = Settings({}, environment)
        settings.problems.insert(
            0, f"{path} cannot be read ({error}). Wisp uses the usual settings until you correct it."
        )
        return settings
    problems = [
        f"{path}: {group} is no section. Write [{group}], and its settings in the lines below."
        for group, table in tree.items()
        if not isinstance(table, dict)
    ]
    values = _by_key(tree)
    known = {setting.key for setting in every()}
    problems += [
        f"{path}: there is no setting {key}, so Wisp ignores it.{_near(key)}" for key in values if key not in known
    ]
    settings = Settings(values, environment)
    settings.problems[:0] = problems
    return settings


def _by_key(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{group}.{name}": value
        for group, table in tree.items()
        if isinstance(table, dict)
        for name, value in table.items()
    }


def _near(key: str) -> str:
    import difflib  # late, because only a wrong name needs it

    found = difflib.get_close_matches(key, [setting.key for setting in every()], 1)
    return f" Did you mean {found[0]}?" if found else ""


def names() -> dict[str, str]:
    """Return what each presence is called, by its id. The first one has the id "" and comes first."""
    return {own: load(of=own)[NAME] for own in ("", *paths.presences())}


def check_name(name: str, of: str) -> None:
    """Raise ValueError for a name of signs that cannot be seen, and if another presence than `of` is called so.

    A person tells presences apart by their names.
    """
    if not name.isprintable():
        raise ValueError("A name has letters and signs that can be seen, in one line.")
    plain = " ".join(name.split()).casefold()
    if any(one != of and " ".join(known.split()).casefold() == plain for one, known in names().items()):
        raise ValueError(f"Another presence is called {name.strip()} already. Choose another name.")


class Current:
    """The current settings. Reads the file again if it has changed."""

    def __init__(self) -> None:
        self._stamp: tuple[int, int] | None = None
        self._settings: Settings | None = None

    def __call__(self) -> Settings:
        stamp = _stamp(settings_file())
        if self._settings is None or stamp != self._stamp:
            self._settings, self._stamp = load(), stamp
        return self._settings


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:  # because the file need not exist
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def save(setting: Setting[Any], value: Any) -> None:
    """Write one setting, and keep everything else in the file as the person wrote it. Raises ValueError, OSError."""
    import tomlkit  # late, because only writing needs it and the first paint waits for the imports of this module

    if setting.key == NAME.key:
        check_name(str(value), paths.presence())
    path = settings_file()
    with own_files.locked(path):
        document = tomlkit.parse(paths.read_own(path)) if os.path.lexists(path) else tomlkit.document()
        there = _by_key(document)
        for key, new in {**renewed(there), setting.key: checked(setting, value)}.items():
            if key == setting.key or there.get(key) != new:
                group, _, name = key.partition(".")
                document.setdefault(group, tomlkit.table())[name] = new
        own_files.write(path, tomlkit.dumps(document))


_SERVICE = "wisp"


def key_of(provider: str) -> str:
    """Return the key, or "". It is never logged, and never put into a child's environment."""
    _, variable = key_holders().get(provider, ("", ""))
    return (os.environ.get(variable, "") if variable else "") or _from_keyring(provider) or _from_file(provider)


def keep(provider: str, key: str) -> str:
    """Store a key and return where: `keyring` or `file`."""
    import keyring
    import keyring.errors

    try:
        keyring.set_password(_SERVICE, provider, key)
    except keyring.errors.KeyringError:  # because a session need not have a keyring service
        with own_files.locked(_file()):
            _write_file({**_read_file(), provider: key})
        return "file"
    return "keyring"


def kept_keys() -> tuple[str, ...]:
    """Return whose keys are stored, in the keyring or the file."""
    return tuple(name for name in key_holders() if _from_keyring(name) or _from_file(name))


def forget(provider: str) -> None:
    """Delete a key from the keyring and the file."""
    import keyring
    import keyring.errors

    with suppress(keyring.errors.KeyringError):  # because it may be in the file, or nowhere
        keyring.delete_password(_SERVICE, provider)
    if _from_file(provider):
        with own_files.locked(_file()):
            _write_file({name: key for name, key in _read_file().items() if name != provider})


_taken_along: dict[str, str] = {}
"""Keys that were read before their places went out of reach."""


def take_keys_along() -> None:
    """Read all keys now, for a process that leaves the person's session bus or their home folder."""
    _taken_along.update({provider: key_of(provider) for provider in key_holders()})


def _from_keyring(provider: str) -> str:
    if provider in _taken_along:
        return _taken_along[provider]
    import keyring
    import keyring.errors

    try:
        return keyring.get_password(_SERVICE, provider) or ""
    except keyring.errors.KeyringError:  # because a session need not have a keyring service
        return ""


def _file() -> Path:
    return paths.keys_dir() / "keys.json"


def _read_file() -> dict[str, str]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _from_file(provider: str) -> str:
    return _read_file().get(provider, "")


def _write_file(keys: Mapping[str, str]) -> None:
    own_files.write(_file(), json.dumps(keys))
