// The global names, and how what all calls of a script share is closed to changes.

const given = {
  AbortController, AbortSignal, DOMException, Event, EventTarget, Headers, Request, Response, TextDecoder, TextEncoder, URL, URLSearchParams,
  atob, btoa, callToolHandler, clearInterval: clearTimeout, clearTimeout, console, crypto, fetch, queueMicrotask, secrets, setInterval, setTimeout, structuredClone,
  performance: { now: () => native.now(), timeOrigin: Date.now() - native.now() },
};
for (const [name, value] of Object.entries(given)) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
}

// No code from strings: a text that came from elsewhere stays a text.
const compilers = [Function, (async () => {}).constructor, (function* () {}).constructor, (async function* () {}).constructor];
function refuseCode() { throw new EvalError('code cannot be made from a string here'); }
delete globalThis.eval;
for (const compiler of compilers) {
  const { prototype } = compiler;
  const stand = function () { refuseCode(); };
  Object.defineProperty(stand, 'prototype', { value: prototype });
  Object.defineProperty(stand, 'name', { value: compiler.name });
  Object.defineProperty(prototype, 'constructor', { value: stand, writable: true, configurable: true });
  if (compiler === Function) globalThis.Function = stand;
}

const { freeze, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { ownKeys } = Reflect;

// A frozen property of a prototype keeps those who inherit it from having their own by assignment. Libraries do that, so
// properties of prototypes become accessors that allow it.
function openToHeirs(prototype) {
  for (const key of ownKeys(prototype)) {
    const described = getOwnPropertyDescriptor(prototype, key);
    if (!described || !('value' in described) || !described.configurable || !described.writable) continue;
    const { value } = described;
    defineProperty(prototype, key, {
      enumerable: described.enumerable,
      configurable: false,
      get() { return value; },
      set(own) {
        if (this === prototype) throw new TypeError(`${String(key)} of a prototype that all calls share cannot be changed`);
        defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
      },
    });
  }
}

function freezeShared() {
  const heirs = [Object.prototype, Function.prototype, Error.prototype, EventTarget.prototype];
  for (const kind of [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, DOMException]) heirs.push(kind.prototype);
  const seen = new Set();
  const list = [];
  const add = (value) => {
    if ((typeof value === 'object' && value !== null) || typeof value === 'function') {
      if (!seen.has(value)) { seen.add(value); list.push(value); }
    }
  };
  for (const key of ownKeys(globalThis)) {
    const described = getOwnPropertyDescriptor(globalThis, key);
    if (described && 'value' in described && described.value !== globalThis) add(described.value);
  }
  for (const compiler of compilers) { add(compiler); add(compiler.prototype); }
  for (const hidden of [[][Symbol.iterator](), ''[Symbol.iterator](), new Map().entries(), new Set().entries(), /x/[Symbol.matchAll]('x'), (function* () {})(), (async function* () {})()]) add(getPrototypeOf(hidden));
  add(getPrototypeOf(Int8Array));
  // What they lead to, without running anything of theirs.
  for (let at = 0; at < list.length; at += 1) {
    const value = list[at];
    add(getPrototypeOf(value));
    for (const key of ownKeys(value)) {
      const described = getOwnPropertyDescriptor(value, key);
      if (!described) continue;
      if ('value' in described) add(described.value);
      else { add(described.get); add(described.set); }
    }
  }
  for (const prototype of heirs) openToHeirs(prototype);
  for (const value of list) { if (!ArrayBuffer.isView(value)) freeze(value); }
  for (const key of ownKeys(globalThis)) {
    const described = getOwnPropertyDescriptor(globalThis, key);
    if (described?.configurable && 'value' in described) defineProperty(globalThis, key, { writable: false, configurable: false });
  }
  Object.preventExtensions(globalThis);
}
