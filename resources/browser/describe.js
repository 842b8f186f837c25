// What a page's element says of itself, for the policy and for receipts. `secret` marks fields whose values nobody reads.
(start) => {
  const SECRET = SECRETS;
  const ACTS = 'button,a[href],input,select,textarea,summary,label,option,area[href],canvas,iframe,embed,object,' +
    '[role],[onclick],[contenteditable=""],[contenteditable="true"]';
  const up = (node) => node.parentElement || (node.getRootNode && node.getRootNode().host) || null;
  const text = (node, most = 200) => ((node && (node.innerText || node.textContent)) || '').replace(/\s+/g, ' ').trim().slice(0, most);
  let found = start.nodeType === 1 ? start : start.parentElement;
  for (let node = found; node; node = up(node)) {
    if (node.matches(ACTS)) { found = node; break; }
  }
  if (found.tagName === 'LABEL' && found.control) found = found.control;
  const tag = found.tagName.toLowerCase();
  const type = (found.getAttribute('type') || '').toLowerCase();
  const said = [];
  const say = (words) => { words = (words || '').replace(/\s+/g, ' ').trim(); if (words && !said.includes(words)) said.push(words.slice(0, 200)); };
  for (const id of (found.getAttribute('aria-labelledby') || '').split(/\s+/)) {
    if (id) say(text(found.getRootNode().getElementById ? found.getRootNode().getElementById(id) : null));
  }
  say(found.getAttribute('aria-label'));
  const isField = ['input', 'textarea', 'select'].includes(tag);
  if (isField) for (const label of found.labels || []) say(text(label));
  if (!isField) say(text(found));
  if (tag === 'input' && ['submit', 'button', 'reset'].includes(type)) say(found.value || (type === 'submit' ? 'Submit' : type));
  if (!said.length || tag === 'input' && type === 'image') say(found.getAttribute('alt') || found.getAttribute('title') || found.getAttribute('placeholder'));
  if (!said.length && found.querySelector) say((found.querySelector('img[alt],svg title,[title],[aria-label]') || {}).alt || text(found.querySelector('svg title')));
  if (!said.length && isField) say(found.name || found.id);
  const area = found.getBoundingClientRect();
  const style = getComputedStyle(found);
  return {
    tag, type, role: (found.getAttribute('role') || '').toLowerCase().split(' ')[0],
    name: said.join(' / '),
    secret: found.matches(SECRET),
    editable: found.isContentEditable === true,
    pointer: style.cursor === 'pointer' || found.hasAttribute('onclick') || found.hasAttribute('tabindex'),
    submits: tag === 'button' && type !== 'button' && type !== 'reset' && !!found.form || tag === 'input' && ['submit', 'image'].includes(type),
    whole: found === document.body || found === document.documentElement,
    value: found.matches(SECRET) ? '' : String((isField && (type === 'checkbox' || type === 'radio' ? found.checked : found.value)) || '').slice(0, 200),
    href: tag === 'a' ? found.href : '',
    box: [area.x, area.y, area.width, area.height],
  };
}
