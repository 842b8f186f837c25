(() => {
  'use strict';
  const outer = parent, waiting = new Map(), listeners = new Set(), repainters = new Set(), post = outer.postMessage.bind(outer);
  const about = Object.freeze(/*about*/{});
  const sheet = document.currentScript.previousElementSibling;
  let last = 0, theme = about.theme;
  const ask = (name, params) => new Promise((resolve, reject) => {
    const id = ++last;
    waiting.set(id, [resolve, reject]);
    post({ jsonrpc: '2.0', id, method: 'wisp/' + name, params }, '*');
  });
  addEventListener('message', (event) => {
    const said = event.data;
    if (event.source !== outer || !said || said.jsonrpc !== '2.0') return;
    if (said.method === 'wisp/theme') {
      sheet.textContent = said.params.css;
      theme = said.params.theme;
      repainters.forEach((listener) => listener(theme));
    }
    if (said.method === 'wisp/state') listeners.forEach((listener) => listener(said.params));
    const [resolve, reject] = waiting.get(said.id) || [];
    if (!resolve) return;
    waiting.delete(said.id);
    if (said.error) reject(new Error(said.error.message)); else resolve(said.result);
  });
  const text = (value) => String(value === undefined || value === null ? '' : value);
  const wisp = Object.freeze({
    id: about.id,
    get theme() { return theme; },
    language: about.language || navigator.language,
    getState: () => ask('getState', {}),
    setState: (value) => ask('setState', { value: JSON.parse(JSON.stringify(value === undefined ? {} : value)) }),
    onState: (listener) => { listeners.add(listener); return () => listeners.delete(listener); },
    onTheme: (listener) => { repainters.add(listener); return () => repainters.delete(listener); },
    askAI: (prompt, more = {}) => ask('askAI', { prompt: text(prompt), images: [...(more.images || [])].map(text), system: text(more.system) }),
    webSearch: (query) => ask('webSearch', { query: text(query) }),
    webFetch: (url) => ask('webFetch', { url: text(url) }),
    generateImage: (prompt, more = {}) => ask('generateImage', { prompt: text(prompt), size: text(more.size) }),
    launchApp: (id) => ask('launchApp', { id: text(id) }),
    cron: (schedule, task) => ask('cron', { schedule: text(schedule), task: text(task) }),
    notify: (title, body) => ask('notify', { title: text(title), text: text(body) }),
  });
  Object.defineProperty(globalThis, 'wisp', { value: wisp, writable: false, configurable: false });
  // A sandboxed frame without allow-forms sends no form and fires no submit event, which pages listen to.
  const submit = (form, submitter) => {
    if ((form.noValidate || form.reportValidity())) form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true, submitter }));
  };
  const isSubmit = (one) => one.type === 'submit' || one.type === 'image';
  HTMLFormElement.prototype.requestSubmit = function (submitter) { submit(this, submitter || null); };
  addEventListener('click', (event) => {
    const pressed = event.target instanceof Element && event.target.closest('button, input');
    if (!event.defaultPrevented && pressed && pressed.form && !pressed.disabled && isSubmit(pressed)) submit(pressed.form, pressed);
  });
  addEventListener('keydown', (event) => {
    const field = event.target;
    if (event.key !== 'Enter' || event.defaultPrevented || event.isComposing || !(field instanceof HTMLInputElement) || !field.form) return;
    if (![...field.form.elements].some(isSubmit)) submit(field.form, null);
  });
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport']) {
    try { Object.defineProperty(globalThis, name, { value: undefined, writable: false, configurable: false }); } catch {}
  }
})();
