// Runs once inside KWin. Wisp puts `wisp` in front, the name of its connection to the bus, and `asked`: what to do, the
// window's number, and where to place it. KWin 6 and 5.27 name some things differently.
function windowOf(id) {
  return Array.from((workspace.windowList || workspace.clientList)()).find((one) => String(one.internalId) === id);
}

function focus(one) {
  one.minimized = false;
  if (!one.onAllDesktops && one.desktops && one.desktops.length && !one.desktops.includes(workspace.currentDesktop)) {
    workspace.currentDesktop = one.desktops[0];
  }
  if (workspace.raiseWindow) {
    workspace.raiseWindow(one);
    workspace.activeWindow = one;
  } else {
    workspace.activeClient = one;
  }
}

function place(one, area) {
  one.fullScreen = false;
  one.tile = null;
  one.setMaximize(false, false);
  one.frameGeometry = { x: area[0], y: area[1], width: area[2], height: area[3] };
}

const found = windowOf(asked.id);
if (asked.act === "pointer") {
  callDBus(wisp, "/kwin", "wisp.Windows", "Pointed", workspace.cursorPos.x, workspace.cursorPos.y);
} else if (found && asked.act === "focus") {
  focus(found);
} else if (found && asked.act === "close") {
  found.closeWindow();
} else if (found && asked.act === "place") {
  place(found, asked.area);
} else if (found && asked.act === "minimise") {
  found.minimized = true;
}
