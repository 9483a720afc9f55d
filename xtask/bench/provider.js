export const resources = {
  list() {
    return { resources: [{ uri: 'bench://js', name: 'js' }] };
  },
  templates() {
    return [];
  },
  read({ uri }) {
    if (uri !== 'bench://js') throw { tag: 'not-found' };
    return { contents: [{ body: { tag: 'text', val: 'js' } }] };
  },
};
