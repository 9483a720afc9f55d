// Preloaded into a server that has no setting for the address it listens on: it listens on the loopback interface alone.
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  // Called so by Express; anything else is not foreseen, and not let through.
  if (typeof port !== 'number' || typeof rest[0] === 'string') throw new Error('loopback.mjs knows listen(port, …) alone');
  return listen.call(this, port, '127.0.0.1', ...rest);
};
