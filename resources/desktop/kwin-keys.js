// Runs inside KWin and tells Wisp that its keys are pressed. Wisp puts `wisp` in front, the name of its connection to the
// bus, `script`, the name of this script, and `keys`, each with its title and its keys as Qt names them.
function leaveIfAlone(isThere) {
  if (!isThere) {
    callDBus("org.kde.KWin", "/Scripting", "org.kde.kwin.Scripting", "unloadScript", script);
  }
}

for (const key of keys) {
  registerShortcut(key.title, key.title, key.keys, () => {
    callDBus(wisp, "/kwin", "wisp.Keys", "Pressed", key.title);
    // A Wisp that was killed has not taken this script away.
    callDBus("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", wisp, leaveIfAlone);
  });
}
