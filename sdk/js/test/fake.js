// What the SDK imports by itself: `announce` and `settings`. What it was told is kept.
export const announced = [];
export const updated = (uris) => announced.push(...uris);
export const listChanged = () => announced.push('the list');
export const get = (name) => (name === 'greeting' ? 'hi' : null);
export const all = () => [['greeting', 'hi']];
