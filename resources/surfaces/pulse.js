{
  // Answers the frame whenever it asks, which a page that hangs or has crashed cannot.
  const channel = new MessageChannel();
  channel.port1.onmessage = () => channel.port1.postMessage(0);
  parent.postMessage('wisp/pulse', '*', [channel.port2]);
}
