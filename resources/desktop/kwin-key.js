// Runs inside KWin and tells every Wisp that a key is pressed. Wisp puts `script` in front, the name of this script,
// `queue`, the name on the bus for which all queue that want to hear it, `member`, which is called there, `title`, and
// `keys` as Qt names them.
const bus = "org.freedesktop.DBus";

function leaveIfAlone(isThere) {
  if (!isThere) {
    callDBus("org.kde.KWin", "/Scripting", "org.kde.kwin.Scripting", "unloadScript", script);
    callDBus("org.kde.kglobalaccel", "/kglobalaccel", "org.kde.KGlobalAccel", "unregister", "kwin", title);
  }
}

registerShortcut(title, title, keys, () => {
  callDBus(bus, "/", bus, "ListQueuedOwners", queue, (wisps) => {
    for (const wisp of wisps) {
      callDBus(wisp, "/kwin", "wisp.Keys", member);
    }
  });
  // Those that were killed have not taken this script away.
  callDBus(bus, "/", bus, "NameHasOwner", queue, leaveIfAlone);
});
