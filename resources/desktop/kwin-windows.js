// Runs inside KWin and tells Wisp all windows at each change. Wisp puts `wisp` in front, the name of its connection to the
// bus, and `script`, the name of this script. KWin 6 and 5.27 name some things differently.
const added = workspace.windowAdded || workspace.clientAdded;
const removed = workspace.windowRemoved || workspace.clientRemoved;
const activated = workspace.windowActivated || workspace.clientActivated;
const changes = [
  "captionChanged", "desktopsChanged", "desktopChanged", "frameGeometryChanged", "clientGeometryChanged",
  "minimizedChanged", "stackingOrderChanged", "fullScreenChanged", "transientChanged", "hiddenChanged",
];
let told = "";

function tell() {
  const all = Array.from((workspace.windowList || workspace.clientList)());
  const text = JSON.stringify(all.filter((one) => !one.deleted).map(described));
  if (text !== told) {
    told = text;
    callDBus(wisp, "/kwin", "wisp.Windows", "Listed", text);
  }
}

function described(one) {
  return {
    id: String(one.internalId),
    title: one.captionNormal || one.caption, // the first is without KWin's own "<2>"
    app: one.desktopFileName || String(one.resourceClass),
    pid: one.pid,
    order: one.stackingOrder,
    area: box(one.frameGeometry),
    content: box(one.clientGeometry || one.bufferGeometry), // the second: with the shadow that a program draws
    x: one.windowId === undefined ? null : one.windowId,
    owner: one.transientFor ? String(one.transientFor.internalId) : "",
    active: one === (workspace.activeWindow || workspace.activeClient),
    away: one.minimized || !isHere(one),
    desktop: one.desktops && workspace.desktops.indexOf ? workspace.desktops.indexOf(one.desktops[0]) : 0,
    kind: kindOf(one),
  };
}

function box(rect) {
  return [rect.x, rect.y, rect.width, rect.height];
}

function isHere(one) {
  const current = workspace.currentDesktop;
  return one.onAllDesktops || one.desktop === current || Boolean(one.desktops && one.desktops.includes(current));
}

function kindOf(one) {
  if (one.desktopWindow || one.outline || one.inputMethod || one.dndIcon) {
    return "backdrop";
  }
  if (one.managed === false) {
    return "unmanaged"; // a menu of an X11 program: XWayland tells more about it
  }
  if (one.tooltip) {
    return "tip";
  }
  if (one.popupWindow || one.specialWindow) {
    return "popup";
  }
  return one.dialog || one.transient || one.modal ? "dialog" : "window";
}

function watch(one) {
  for (const name of changes) {
    if (one[name] && one[name].connect) {
      one[name].connect(tell);
    }
  }
}

function leaveIfAlone(isThere) {
  if (!isThere) {
    callDBus("org.kde.KWin", "/Scripting", "org.kde.kwin.Scripting", "unloadScript", script);
  }
}

Array.from((workspace.windowList || workspace.clientList)()).forEach(watch);
added.connect((one) => {
  watch(one);
  tell();
  // A Wisp that was killed has not taken this script away.
  callDBus("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", wisp, leaveIfAlone);
});
removed.connect(tell);
activated.connect(tell);
workspace.currentDesktopChanged.connect(tell);
tell();
