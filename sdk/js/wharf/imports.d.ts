// The imports of the contract, for `import * as timers from 'wharf:provider/timers@0.1.0'`. What each function does and when it fails is in
// wit/deps/provider/provider.wit. None is `undefined` on SpiderMonkey and `null` on QuickJS.

declare module 'wharf:provider/announce@0.1.0' {
  export function updated(uris: string[]): void;
  export function listChanged(): void;
}

declare module 'wharf:provider/settings@0.1.0' {
  export function get(name: string): string | null | undefined;
  export function all(): [name: string, value: string][];
}

declare module 'wharf:provider/timers@0.1.0' {
  export function start(name: string, afterMs: number, everyMs: number | undefined): void;
  export function cancel(name: string): void;
}

declare module 'wharf:provider/file-watch@0.1.0' {
  export function watch(name: string, path: string, recursive: boolean): void;
  export function unwatch(name: string): void;
}

declare module 'wharf:provider/fetch@0.1.0' {
  export interface FetchRequest {
    method?: string;
    url: string;
    headers?: [name: string, value: string][];
    body?: Uint8Array;
    timeoutMs?: number;
  }
  export function start(name: string, request: FetchRequest): void;
  export function poll(name: string, request: FetchRequest, everyMs: number): void;
  export function cancel(name: string): void;
}

declare module 'wharf:provider/store@0.1.0' {
  export function get(key: string): Uint8Array | null | undefined;
  export function set(key: string, value: Uint8Array): void;
  export function remove(key: string): void;
  export function replace(key: string, expected: Uint8Array | undefined, value: Uint8Array | undefined): boolean;
  export function keys(prefix: string): string[];
}

declare module 'wharf:provider/shared-state@0.1.0' {
  export interface SharedValue {
    title?: string;
    description?: string;
    mimeType?: string;
    annotations?: { audience?: ('user' | 'assistant')[]; priority?: number; lastModified?: number };
    body: { tag: 'text'; val: string } | { tag: 'utf8' | 'blob'; val: Uint8Array };
  }
  export function set(key: string, value: SharedValue): void;
  export function remove(key: string): void;
}

declare module 'wasi:random/random@0.2.0' {
  export function getRandomBytes(length: number | bigint): Uint8Array;
}

declare module 'wasi:cli/stderr@0.2.0' {
  export interface OutputStream {
    /** At most 4096 bytes. */
    blockingWriteAndFlush(bytes: Uint8Array): void;
  }
  export function getStderr(): OutputStream;
}

/** To the log, which a person sees in `wharf dev`. Clients do not. (The engine's own on SpiderMonkey, the SDK's on QuickJS.) */
interface Console {
  log(...values: any[]): void;
  info(...values: any[]): void;
  debug(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
}
declare var console: Console;
