"""AT-SPI's numbers and names, from at-spi2-core's `atspi-constants.h`. Only tables."""

from __future__ import annotations

REGISTRY = "org.a11y.atspi.Registry"
ROOT = "/org/a11y/atspi/accessible/root"
NULL = "/org/a11y/atspi/null"
CACHE = "/org/a11y/atspi/cache"
ACCESSIBLE = "org.a11y.atspi.Accessible"
APPLICATION = "org.a11y.atspi.Application"
ACTION = "org.a11y.atspi.Action"
COMPONENT = "org.a11y.atspi.Component"
EDITABLE = "org.a11y.atspi.EditableText"
HYPERTEXT = "org.a11y.atspi.Hypertext"
SELECTION = "org.a11y.atspi.Selection"
TABLE = "org.a11y.atspi.Table"
TEXT = "org.a11y.atspi.Text"
VALUE = "org.a11y.atspi.Value"
ITEMS = "org.a11y.atspi.Cache"
PROPERTIES = "org.freedesktop.DBus.Properties"

ON_SCREEN, IN_WINDOW = 0, 1
"""AtspiCoordType: relative to the screen."""
ANYWHERE = 6
"""AtspiScrollType: to any place where it is visible."""
LABELLED_BY = 2
"""AtspiRelationType: the target labels this element."""
HIT_TESTING = frozenset({"qt", "chromium"})
"""Toolkits (in lower case) whose `GetAccessibleAtPoint` returns the topmost object; GTK returns the first child."""
NOWHERE = -(2**31)
"""The coordinate that GTK reports for an object that is not on the screen."""

# Position is the number on the wire. `push button` is called `button`, as newer releases of AT-SPI do.
ROLES: tuple[str, ...] = (
    "invalid",
    "accelerator label",
    "alert",
    "animation",
    "arrow",
    "calendar",
    "canvas",
    "check box",
    "check menu item",
    "color chooser",
    "column header",
    "combo box",
    "date editor",
    "desktop icon",
    "desktop frame",
    "dial",
    "dialog",
    "directory pane",
    "drawing area",
    "file chooser",
    "filler",
    "focus traversable",
    "font chooser",
    "frame",
    "glass pane",
    "html container",
    "icon",
    "image",
    "internal frame",
    "label",
    "layered pane",
    "list",
    "list item",
    "menu",
    "menu bar",
    "menu item",
    "option pane",
    "page tab",
    "page tab list",
    "panel",
    "password text",
    "popup menu",
    "progress bar",
    "button",
    "radio button",
    "radio menu item",
    "root pane",
    "row header",
    "scroll bar",
    "scroll pane",
    "separator",
    "slider",
    "spin button",
    "split pane",
    "status bar",
    "table",
    "table cell",
    "table column header",
    "table row header",
    "tearoff menu item",
    "terminal",
    "text",
    "toggle button",
    "tool bar",
    "tool tip",
    "tree",
    "tree table",
    "unknown",
    "viewport",
    "window",
    "extended",
    "header",
    "footer",
    "paragraph",
    "ruler",
    "application",
    "autocomplete",
    "editbar",
    "embedded",
    "entry",
    "chart",
    "caption",
    "document frame",
    "heading",
    "page",
    "section",
    "redundant object",
    "form",
    "link",
    "input method window",
    "table row",
    "tree item",
    "document spreadsheet",
    "document presentation",
    "document text",
    "document web",
    "document email",
    "comment",
    "list box",
    "grouping",
    "image map",
    "notification",
    "info bar",
    "level bar",
    "title bar",
    "block quote",
    "audio",
    "video",
    "definition",
    "article",
    "landmark",
    "log",
    "marquee",
    "math",
    "rating",
    "timer",
    "static",
    "math fraction",
    "math root",
    "subscript",
    "superscript",
    "description list",
    "description term",
    "description value",
    "footnote",
    "content deletion",
    "content insertion",
    "mark",
    "suggestion",
    "menu button",
    "switch",
)

# Position is the bit in the two words of a state set.
STATES: tuple[str, ...] = (
    "invalid",
    "active",
    "armed",
    "busy",
    "checked",
    "collapsed",
    "defunct",
    "editable",
    "enabled",
    "expandable",
    "expanded",
    "focusable",
    "focused",
    "has-tooltip",
    "horizontal",
    "iconified",
    "modal",
    "multi-line",
    "multiselectable",
    "opaque",
    "pressed",
    "resizable",
    "selectable",
    "selected",
    "sensitive",
    "showing",
    "single-line",
    "stale",
    "transient",
    "vertical",
    "visible",
    "manages-descendants",
    "indeterminate",
    "required",
    "truncated",
    "animated",
    "invalid-entry",
    "supports-autocompletion",
    "selectable-text",
    "is-default",
    "visited",
    "checkable",
    "has-popup",
    "read-only",
)
BITS: dict[str, int] = {name: 1 << place for place, name in enumerate(STATES)}

DIALOGS = frozenset({"dialog", "alert", "file chooser", "color chooser", "font chooser"})
WINDOWS = DIALOGS | {"frame", "window"}

OPERABLE = frozenset(
    {
        "button",
        "check box",
        "check menu item",
        "color chooser",
        "column header",
        "combo box",
        "date editor",
        "desktop icon",
        "dial",
        "entry",
        "icon",
        "link",
        "list item",
        "menu",
        "menu button",
        "menu item",
        "page tab",
        "password text",
        "radio button",
        "radio menu item",
        "slider",
        "spin button",
        "switch",
        "table cell",
        "table column header",
        "terminal",
        "text",
        "toggle button",
        "tree item",
    }
)
"""Roles that a person can press, choose or type into."""

IN_PLACE_OF_AN_OBJECT = "\ufffc"
"""The text that Chromium reports for a drop-down list: one placeholder character."""
TEXTS = frozenset(
    {"entry", "text", "password text", "spin button", "terminal", "document text", "editbar", "combo box"}
)
"""Roles whose content is their value rather than their name."""
LABELLED = (TEXTS - {"terminal", "document text", "editbar"}) | {"password text", "slider", "dial", "date editor"}
"""Roles of fields whose name may stand beside them as a label of its own."""
WRITTEN = frozenset({"icon", "table cell", "list item", "tree item"})
"""Roles that may carry their name as a text only (GTK 3's icon views)."""
ROOMY = frozenset({"table", "tree table", "tree", "list", "list box", "layered pane"})
"""Roles that may hold thousands of children of which a few show."""
VIEWS = frozenset({"scroll pane", "viewport"})
"""Roles that show a part of what they hold."""
PAGES = frozenset({"document web"})
"""Roles whose content is in screen pixels at any scale (Chromium)."""
FLAGS = frozenset({"check box", "check menu item", "radio button", "radio menu item", "switch"})
"""Roles that are on or off."""
HEADERS = frozenset({"column header", "table column header"})
MENUS = frozenset({"menu", "popup menu"})
"""Roles of what holds the entries of a menu."""
SECRET = "password text"
ROOT_PANE = "root pane"
"""The role of what holds all that LibreOffice draws itself in a window of GTK."""
COMBO_BOX = "combo box"
TOGGLE_BUTTON = "toggle button"
VALUES = frozenset({"slider", "spin button", "progress bar", "dial", "level bar", "rating"})
"""Roles whose value is a number."""
SURFACES = frozenset(
    {
        *WINDOWS,
        "animation",
        "application",
        "article",
        "block quote",
        "canvas",
        "client area",
        "directory pane",
        "document email",
        "document frame",
        "document presentation",
        "document spreadsheet",
        "document text",
        "document web",
        "drawing area",
        "embedded",
        "filler",
        "form",
        "glass pane",
        "grouping",
        "html container",
        "image",
        "image map",
        "internal frame",
        "landmark",
        "layered pane",
        "list",
        "list box",
        "page",
        "page tab list",
        "panel",
        "root pane",
        "scroll pane",
        "section",
        "split pane",
        "table",
        "tree",
        "tree table",
        "unknown",
        "viewport",
    }
)
"""Roles of containers and surfaces: that a program reports one says nothing about what it shows."""
