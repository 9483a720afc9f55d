// A table of any length, of which the rows near the screen exist.
//
// Invariants: all rows are of one height; what has the focus exists, wherever it was scrolled to; a row that says the same stays the same
// element, so that neither focus nor selection is lost when the list is fetched again. A screen reader is told the whole number of rows.

import { el, place, set } from './dom.js';

/** Rows beyond each edge of the window: so that the Tab key finds the next one. */
const BEYOND = 12;

export class Rows {
  /** `columns` are `{ name, class }`; `cells(item)` gives the children of each; `key(item)` tells items apart. */
  constructor({ label, columns, cells, key, empty }) {
    Object.assign(this, { cells, key, items: [], made: new Map(), waits: false, marked: null });
    const heads = columns.map((column) => el('th', { scope: 'col', role: 'columnheader', class: column.class }, column.name));
    this.columns = columns;
    this.before = el('tr', { class: 'space', 'aria-hidden': 'true' }, el('td'));
    this.after = this.before.cloneNode(true);
    this.body = el('tbody');
    this.table = el('table', { class: 'rows', 'aria-label': label }, el('thead', {}, el('tr', { 'aria-rowindex': 1 }, heads)), this.body);
    this.empty = el('p', { class: 'none' }, empty);
    this.element = el('div', {}, this.table, this.empty);
    this.table.addEventListener('keydown', (event) => this.step(event));
    const draw = () => this.wish();
    addEventListener('scroll', draw, { passive: true });
    addEventListener('resize', draw, { passive: true });
  }

  set(items) {
    this.items = items;
    this.table.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
    set(this.table, 'aria-rowcount', items.length + 1);
    this.draw();
  }

  /** The row of this key is the one that is open. */
  mark(key) {
    this.marked = key;
    for (const row of this.made.values()) set(row.element, 'aria-current', row.key === key ? 'true' : null);
  }

  wish() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
    });
  }

  height() {
    return Number.parseFloat(getComputedStyle(this.table).getPropertyValue('--row')) || 56;
  }

  draw() {
    if (this.table.offsetParent === null) return;
    const height = this.height();
    const top = this.body.getBoundingClientRect().top;
    const number = this.items.length;
    const first = Math.min(Math.max(0, Math.floor(-top / height) - BEYOND), Math.max(0, number - 1));
    const last = Math.min(number, Math.max(first, Math.ceil((innerHeight - top) / height) + BEYOND));
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest('tr') : null;
    const kept = new Map();
    const rows = [];
    for (let index = first; index < last; index++) {
      const row = this.row(this.items[index], index);
      kept.set(row.key, row);
      rows.push(row.element);
    }
    const lost = focused && !rows.includes(focused);
    const again = lost && kept.get(focused.dataset.key);
    this.before.firstChild.style.height = `${first * height}px`;
    this.after.firstChild.style.height = `${(number - last) * height}px`;
    // What has the focus stays, out of sight, until it is elsewhere.
    const apart = lost && !again && this.made.get(focused.dataset.key);
    if (apart) {
      kept.set(apart.key, apart);
      focused.classList.add('apart');
    }
    this.made = kept;
    place(this.body, [this.before, ...(apart ? [focused] : []), ...rows, this.after]);
    if (again) again.element.querySelector('a, button')?.focus({ preventScroll: true });
  }

  row(item, index) {
    const key = this.key(item);
    const says = JSON.stringify(item);
    let row = this.made.get(key);
    if (!row || row.says !== says) {
      const cells = this.cells(item).map((children, column) => el('td', { class: this.columns[column].class }, children));
      row = { key, says, element: el('tr', { 'data-key': key }, cells) };
    }
    row.element.classList.remove('apart');
    set(row.element, 'aria-rowindex', index + 2);
    set(row.element, 'aria-current', key === this.marked ? 'true' : null);
    return row;
  }

  step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const row = event.target.closest('tr[data-key]');
    if (!by || !row || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const index = Number(row.getAttribute('aria-rowindex')) - 2 + by;
    this.focus(Math.min(Math.max(0, index), this.items.length - 1));
  }

  /** Scrolls to the row of this number, and gives it the focus. */
  focus(index) {
    const height = this.height();
    const top = this.body.getBoundingClientRect().top + index * height;
    const margin = 3 * height;
    if (top < margin) scrollBy({ top: top - margin, behavior: 'instant' });
    if (top > innerHeight - margin) scrollBy({ top: top - innerHeight + margin, behavior: 'instant' });
    this.draw();
    const row = this.made.get(this.key(this.items[index]))?.element;
    row?.querySelector('a, button')?.focus({ preventScroll: true });
  }

  /** The element of this item, if it exists. */
  find(key) {
    return this.made.get(key)?.element ?? null;
  }
}
