// Lists and handles the windows of other programs. Arguments: list | focus|close|minimise PID INDEX | place PID INDEX X Y W H
function run(argv) {
  const events = Application("System Events");
  const visible = events.processes.whose({ visible: true })();
  if (argv[0] === "list") {
    return JSON.stringify(visible.flatMap((process) => windowsOf(process)));
  }
  const process = events.processes.whose({ unixId: Number(argv[1]) })()[0];
  const window = process.windows()[Number(argv[2])];
  if (argv[0] === "focus") {
    process.frontmost = true;
    window.attributes.byName("AXMinimized").value = false;
    window.actions.byName("AXRaise").perform();
  } else if (argv[0] === "close") {
    window.attributes.byName("AXCloseButton").value().actions.byName("AXPress").perform();
  } else if (argv[0] === "minimise") {
    window.attributes.byName("AXMinimized").value = true;
  } else if (argv[0] === "place") {
    window.position = [Number(argv[3]), Number(argv[4])];
    window.size = [Number(argv[5]), Number(argv[6])];
  }
  return "";
}

function windowsOf(process) {
  const isFront = process.frontmost();
  return process.windows().map((window, index) => ({
    pid: process.unixId(),
    index: index,
    title: window.name() || "",
    app: process.name(),
    area: [...window.position(), ...window.size()],
    active: isFront && index === 0,
    minimised: window.attributes.byName("AXMinimized").value(),
  }));
}
