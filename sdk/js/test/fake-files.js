// wasi:filesystem as SpiderMonkey shows it: sizes are BigInts, errors have the code as their payload. `/d` is granted.
const PIECE = 3;
const FILES = new Map([['.', null], ['a.json', 'hello, 世界'], ['sub', null], ['sub/b', '\ufeffb']]);
const NO_ENTRY = () => Object.assign(new Error('no-entry'), { payload: 'no-entry' });

class Descriptor {
  constructor(path) {
    if (path === 'secret') throw Object.assign(new Error('access'), { payload: 'access' });
    if (!FILES.has(path)) throw NO_ENTRY();
    this.path = path;
  }
  openAt(_follow, path) { return new Descriptor(path); }
  statAt(_follow, path) {
    if (!FILES.has(path)) throw NO_ENTRY();
    const text = FILES.get(path);
    return { type: text === null ? 'directory' : 'regular-file', size: BigInt(text?.length ?? 0), dataModificationTimestamp: { seconds: 2n, nanoseconds: 5e6 } };
  }
  read(_length, offset) {
    const bytes = new TextEncoder().encode(FILES.get(this.path));
    return [bytes.subarray(offset, offset + PIECE), offset + PIECE >= bytes.length];
  }
  readDirectory() {
    const entries = [{ name: 'sub', type: 'directory' }, { name: 'a.json', type: 'regular-file' }];
    return { readDirectoryEntry: () => entries.shift() };
  }
}

export const getDirectories = () => [[new Descriptor('.'), '/d']];
