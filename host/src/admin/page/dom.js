// Makes elements. Text becomes text nodes, and addresses are fragments of this page or blobs of its own: there is no other way in.

const SVG = 'http://www.w3.org/2000/svg';

export const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [kind, listener] of Object.entries(value)) element.addEventListener(kind, listener);
    } else if ((name === 'href' || name === 'src') && !/^(#|blob:)/.test(value)) {
      throw new Error(`an address of elsewhere: ${value}`);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Leaves an element alone that says this already: what is selected in it stays so, and nobody hears it twice. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function set(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Puts these children into it. Those that stay in the same order are not moved, and so keep the focus. */
export function place(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  let next = parent.firstChild;
  for (const child of children) {
    if (child === next) next = next.nextSibling;
    else parent.insertBefore(child, next);
  }
}

/** Calls at once, then at most every so many milliseconds, never twice at a time, and once after the last wish. */
export function throttled(work, every) {
  let [busy, again] = [false, false];
  return async function wish() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      await work();
    } finally {
      setTimeout(() => {
        busy = false;
        if (again) {
          again = false;
          wish();
        }
      }, every);
    }
  };
}

/** A button that copies. Where the clipboard is closed, the text is selected instead. */
export function copier(text, source) {
  const button = el('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = 'Selected';
    }
    say(byId('said'), button.textContent);
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  return button;
}
