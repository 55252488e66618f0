// What goes wrong, and how it is told.

class DOMException extends Error {
  #name;
  constructor(message = '', name = 'Error') {
    super(message);
    this.#name = `${name}`;
  }
  get name() { return this.#name; }
  get code() { return { AbortError: 20, TimeoutError: 23, DataCloneError: 25, QuotaExceededError: 22 }[this.#name] ?? 0; }
}

// An error as the gateway hears of it; whatever was thrown may itself throw when it is looked at.
function toldOf(error) {
  try {
    if (error instanceof Error) {
      const name = `${error.name}`;
      const message = `${error.message}`;
      return { message: message === '' ? name : name === 'Error' ? message : `${name}: ${message}`, stack: `${error.stack ?? ''}` };
    }
    const text = typeof error === 'object' && error !== null ? JSON.stringify(error) : `${String(error)}`;
    return { message: text ?? 'an error that cannot be shown', stack: '' };
  } catch {
    return { message: 'an error that cannot be shown', stack: '' };
  }
}

class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (listener == null) return;
    const list = this.#listeners.get(`${type}`) ?? [];
    if (list.some((entry) => entry.listener === listener)) return;
    list.push({ listener, once: options === Object(options) && !!options.once });
    this.#listeners.set(`${type}`, list);
  }
  removeEventListener(type, listener) {
    const list = this.#listeners.get(`${type}`) ?? [];
    this.#listeners.set(`${type}`, list.filter((entry) => entry.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = event.currentTarget = this;
    const handler = this[`on${event.type}`];
    if (typeof handler === 'function') handler.call(this, event);
    for (const entry of [...(this.#listeners.get(event.type) ?? [])]) {
      if (entry.once) this.removeEventListener(event.type, entry.listener);
      const { listener } = entry;
      if (typeof listener === 'function') listener.call(this, event);
      else listener.handleEvent(event);
    }
    return !event.defaultPrevented;
  }
}

class Event {
  constructor(type, init = {}) {
    this.type = `${type}`;
    this.cancelable = !!init.cancelable;
    this.defaultPrevented = false;
    this.target = this.currentTarget = null;
  }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
}

let makesSignal = false;
class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  #dependents = [];
  constructor() {
    super();
    if (!makesSignal) throw new TypeError('Illegal constructor');
    this.onabort = null;
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  static #make() {
    makesSignal = true;
    try { return new AbortSignal(); } finally { makesSignal = false; }
  }
  static make() { return AbortSignal.#make(); }
  static fire(signal, reason) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
    for (const dependent of signal.#dependents) fireSignal(dependent, signal.#reason);
    signal.dispatchEvent(new Event('abort'));
  }
  static abort(reason) {
    const signal = AbortSignal.#make();
    fireSignal(signal, reason);
    return signal;
  }
  static timeout(ms) {
    const signal = AbortSignal.#make();
    setTimeout(() => fireSignal(signal, new DOMException('The operation timed out', 'TimeoutError')), ms);
    return signal;
  }
  static any(signals) {
    const signal = AbortSignal.#make();
    for (const source of signals) {
      if (source.#aborted) { fireSignal(signal, source.#reason); break; }
      source.#dependents.push(signal);
    }
    return signal;
  }
}
const { make: makeSignal, fire: fireSignal } = AbortSignal;
delete AbortSignal.make;
delete AbortSignal.fire;

class AbortController {
  #signal = makeSignal();
  get signal() { return this.#signal; }
  abort(reason) { fireSignal(this.#signal, reason); }
}
