// Two small charts of what was heard since the page was opened: calls a second, and how long they took.
//
// What is heard is kept for two minutes, and of each step of them a bounded number of times.

import { el, say, set, svg } from './dom.js';
import { count, number, took } from './text.js';

const STEP_MS = 2000;
const STEPS = 60;
/** Of one step; past that the first ones stand for all. */
const TIMES = 2000;
const [HEIGHT, TOP, BOTTOM, RIGHT] = [148, 10, 22, 58];
const DEEP = HEIGHT - TOP - BOTTOM;
/** Until it is known how wide it is. */
const WIDTH = 480;
/** What is no fault of the caller. */
const FAULTS = new Set(['failed', 'trap', 'deadline', 'memory', 'queue-full']);
/** From 10 µs to 10 s, a line for each power of ten. */
const [LEAST, DECADES] = [1, 6];

export function isFault(outcome) {
  return FAULTS.has(outcome);
}

function quantile(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function heightOf(us) {
  const part = (Math.log10(Math.max(us, 1)) - LEAST) / DECADES;
  return TOP + DEEP * (1 - Math.min(1, Math.max(0, part)));
}

class Chart {
  constructor(title, kinds) {
    this.now = el('strong');
    this.picture = svg('svg', { role: 'img', class: 'chart', height: HEIGHT });
    this.lines = svg('g', { class: 'grid' });
    this.end = svg('text', { y: HEIGHT - 4, class: 'tick', 'text-anchor': 'end' }, 'now');
    this.bars = Array.from({ length: STEPS }, () => kinds.map((kind) => svg('rect', { y: 0, height: 0, class: kind })));
    this.picture.append(this.lines, ...this.bars.flat(), svg('text', { x: 0, y: HEIGHT - 4, class: 'tick' }, '2 min ago'), this.end);
    this.element = el('figure', {}, el('figcaption', {}, title, ' ', this.now), this.picture);
    this.scale = [];
    this.wide(WIDTH);
    new ResizeObserver(([{ contentRect }]) => contentRect.width > RIGHT && this.wide(contentRect.width)).observe(this.picture);
  }

  /** Letters stay as large as they are, however wide the chart is. */
  wide(width) {
    this.inner = Math.round(width) - RIGHT;
    set(this.picture, 'viewBox', `0 0 ${Math.round(width)} ${HEIGHT}`);
    set(this.end, 'x', this.inner);
    const step = this.inner / STEPS;
    this.bars.forEach((bars, index) => {
      for (const bar of bars) {
        set(bar, 'x', (index * step + step * 0.12).toFixed(2));
        set(bar, 'width', (step * 0.76).toFixed(2));
      }
    });
    this.grid(this.scale);
  }

  /** Lines, each with a height and what it says. */
  grid(scale) {
    this.scale = scale;
    this.lines.replaceChildren(
      ...scale.flatMap(([y, text], index) => [
        svg('line', { x1: 0, x2: this.inner, y1: y, y2: y, class: index > 0 ? 'faint' : null }),
        svg('text', { x: this.inner + 8, y: y + 4, class: 'tick' }, text),
      ]),
    );
  }
}

export class Charts {
  constructor() {
    this.steps = new Map();
    this.calls = new Chart('Calls a second', ['bar', 'bar bad']);
    this.times = new Chart('How long they take', ['spread', 'median']);
    const powers = Array.from({ length: DECADES + 1 }, (_, power) => 10 ** (power + LEAST));
    this.times.grid(powers.map((us, power) => [heightOf(us), power % 2 ? '' : took(us).replace('.0', '')]));
    this.element = [this.calls.element, this.times.element];
  }

  /** A call was heard. */
  add({ tookUs, outcome }) {
    const at = Math.floor(Date.now() / STEP_MS);
    let step = this.steps.get(at);
    if (!step) {
      step = { calls: 0, bad: 0, times: [] };
      this.steps.set(at, step);
      for (const old of this.steps.keys()) if (old <= at - STEPS) this.steps.delete(old);
    }
    step.calls += 1;
    if (isFault(outcome)) step.bad += 1;
    if (step.times.length < TIMES) step.times.push(tookUs);
  }

  draw() {
    const now = Math.floor(Date.now() / STEP_MS);
    const steps = Array.from({ length: STEPS }, (_, index) => this.steps.get(now - STEPS + 1 + index));
    const seconds = STEP_MS / 1000;
    const most = nice(Math.max(2, ...steps.map((step) => (step?.calls ?? 0) / seconds)));
    if (this.most !== most) {
      this.most = most;
      this.calls.grid([0, 0.5, 1].map((part) => [TOP + DEEP * (1 - part), count(most * part)]));
    }
    const all = [];
    steps.forEach((step, index) => {
      const [[good, bad], [spread, median]] = [this.calls.bars[index], this.times.bars[index]];
      const tall = (calls) => (calls ? Math.max(2, (DEEP * calls) / seconds / most) : 0);
      const [whole, wrong] = [tall(step?.calls), tall(step?.bad)];
      stand(good, TOP + DEEP - whole, whole);
      stand(bad, TOP + DEEP - wrong, wrong);
      const times = step ? step.times.sort((a, b) => a - b) : [];
      if (times.length === 0) {
        stand(spread, 0, 0);
        stand(median, 0, 0);
        return;
      }
      all.push(...times);
      const [high, middle] = [heightOf(quantile(times, 0.95)), heightOf(quantile(times, 0.5))];
      stand(spread, high, Math.max(0, middle - high));
      stand(median, middle - 1.5, 3);
    });
    const calls = steps.reduce((sum, step) => sum + (step?.calls ?? 0), 0);
    const bad = steps.reduce((sum, step) => sum + (step?.bad ?? 0), 0);
    const last = (steps.at(-2)?.calls ?? 0) / seconds;
    say(this.calls.now, count(Math.round(last * 10) / 10));
    set(this.calls.picture, 'aria-label', `In two minutes ${number(calls, 'call')}, ${bad === 0 ? 'none failed' : `${count(bad)} failed`}`);
    all.sort((a, b) => a - b);
    const [middle, high] = all.length ? [took(quantile(all, 0.5)), took(quantile(all, 0.95))] : [];
    say(this.times.now, all.length ? `${middle}, 95 % within ${high}` : 'no call yet');
    set(
      this.times.picture,
      'aria-label',
      all.length ? `In two minutes half of the calls took ${middle} at most, 95 % ${high} at most` : 'No call yet',
    );
  }
}

function stand(bar, y, height) {
  set(bar, 'y', y.toFixed(1));
  set(bar, 'height', height.toFixed(1));
}
