"""Write docs/settings.md: every setting, as the settings window groups it. `python -m scripts.settings_page`

Titles and sentences come from `app/settings/catalog.py`, the features and `resources/preferences.toml` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.base import resources
from app.features import loading
from app.settings.catalog import Setting
from app.settings.providers import key_holders
from app.ui.preferences import fields

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
_BEGINNING = """\
<!-- Written by `python -m scripts.settings_page`. Do not change it by hand. -->

# Settings

After this page you can change everything about Wisp that can be changed.

The usual way is the settings window: click the orb with the right button, then Settings. The headings below are its \
pages. Most changes take effect at once.

The window writes the file `settings.toml` in the settings folder: `~/.config/wisp` on Linux, \
`~/Library/Application Support/wisp` on macOS, `%LOCALAPPDATA%\\wisp\\wisp` on Windows. You can edit it yourself. \
The word before the dot is the section:

```toml
# settings.toml
[chat]
max_passes = 20

[presence]
palette = "accent: #B3541E; paper: #FFF8F0"

[eyes]
private_windows = ["Thunderbird", "My Bank"]
```

A setting that holds several names takes a list, or one text with commas between. Colours and fonts are one text, as \
above. If a value is wrong, Wisp says so and uses the default.

For experts: if an environment variable and the file differ, Wisp uses the variable. Its name stands in the table \
below, under the name of the setting. These variables belong to no setting:

| variable | what it does |
|---|---|
| `WISP_DATA_DIR` | the folder for everything that Wisp keeps, settings included |
| `WISP_DRIVES` | folders that count as plugged-in drives, besides those in `/media`; with `:` between |
| `WISP_LOG` | `debug` writes more into the log |
| `WISP_PRESENCE` | the name of the assistant that a command acts for, if there are several |

You can also keep keys in environment variables. Wisp then uses that key, even if you saved another one in the window:

| variable | whose key |
|---|---|
"""


def page() -> str:
    """Return the whole page."""
    loading.everything()
    keys = sorted({f"| `{variable}` | {name} |" for name, variable in key_holders().values() if variable})
    sections = (line for group in fields.pages() for line in _section(group))
    return "\n".join([_BEGINNING + "\n".join(keys), "", *sections])


def _section(group: fields.PreferencesPage) -> Iterator[str]:
    if group.settings:
        yield from (f"## {group.title}", "", "| setting | default | what it does |", "|---|---|---|")
        yield from map(_row, group.settings)
        yield ""


def _row(setting: Setting[Any]) -> str:
    names = [f"`{setting.key}`", *([f"`{setting.env}`"] if setting.env else [])]
    about = setting.description
    if told := ", ".join(_choice(name) for name in setting.choices if name):
        about += f" One of {told}."
    cells = (f"**{fields.english_label(setting)}**<br>{'<br>'.join(names)}", _default(setting), about)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _choice(name: str) -> str:
    """Return a value as the file has it, and as the window calls it if that is another word."""
    label = fields.english_choice(name)
    return f"`{name}`" if label.casefold() in (name, name.replace("-", " ")) else f"`{name}` ({label})"


def _default(setting: Setting[Any]) -> str:
    """Return the default as it stands in the file, and in the unit of the window if that is another one."""
    value = setting.default
    if isinstance(value, bool | str):
        return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else ""
    unit = resources.table("preferences.toml", resources.Table)["units"].get(setting.key, {"text": "", "holds": 1})
    shown = f"({value / unit['holds']:,.10g} {unit['text']})" if unit["holds"] != 1 else unit["text"]
    return f"`{value:.10g}` {shown}".rstrip()


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
